"""Detection of a few outlying units that contribute most of a variance, as complete failures do."""

import numpy as np
from numpy.typing import NDArray

#: Smallest distance of an outlying unit from the median, in median absolute deviations that are scaled to the
#: standard deviation of a normal distribution.
_OUTLYING_DISTANCE = 4.0
#: The same if units are few and their median is therefore imprecise.
_OUTLYING_DISTANCE_OF_FEW = 6.0
#: Number of units below which a median is imprecise.
_FEW_UNITS = 20
#: Largest number of outlying units that are few.
_MAX_OUTLYING = 5
#: Largest share of all units that are few.
_MAX_OUTLYING_SHARE = 0.25
#: Smallest share of the variance by which outlying units decide.
_SHARE_OF_VARIANCE = 0.5
#: A spread below this share of the largest distance is rounding error.
_ROUNDING = 1e-9
#: Median absolute deviation of the normal distribution, in standard deviations.
_NORMAL_MAD = 0.6745


def variance_depends_on_few_outlying_units(
    influence: np.ndarray, unit_scores: np.ndarray
) -> NDArray[np.bool_]:
    """Find estimates whose variance comes mostly from a few outlying units.

    A method that fails completely on one case in twelve scores 0 there and as usual elsewhere. With 20 cases
    one or two failures decide the variance, although so few say little about the frequency of failures.

    Parameters
    ----------
    influence : ndarray, shape (n_units, n_rows)
        Influence of each unit on each estimate; influences sum to 0.
    unit_scores : ndarray, shape (n_units, n_rows)
        Score of each unit on a common scale, whatever the unit's size; NaN where a unit does not
        enter an estimate.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
    """
    n_units = (~np.isnan(unit_scores)).sum(axis=0)
    depends = np.zeros(influence.shape[1], dtype=bool)
    for row in np.flatnonzero(_may_depend_on_few_units(influence)):
        distance = np.abs(unit_scores[:, row] - np.nanmedian(unit_scores[:, row]))
        spread = np.nanmedian(distance) / _NORMAL_MAD
        # No unit is an outlier if most units are equal, as most are 0 in sparse scores.
        if not spread > _ROUNDING * np.nanmax(distance):
            continue
        threshold = _OUTLYING_DISTANCE
        if n_units[row] < _FEW_UNITS:
            threshold = _OUTLYING_DISTANCE_OF_FEW
        is_outlying = distance > threshold * spread
        n_outlying = is_outlying.sum()
        if n_outlying == 0 or n_outlying > min(_MAX_OUTLYING, _MAX_OUTLYING_SHARE * n_units[row]):
            continue
        squares = influence[:, row] ** 2
        depends[row] = squares[is_outlying].sum() >= _SHARE_OF_VARIANCE * squares.sum()
    return depends


def _may_depend_on_few_units(influence: np.ndarray) -> NDArray[np.bool_]:
    """Find estimates whose largest influences contribute half of the variance, shape (n_rows,)."""
    squares = np.nan_to_num(influence) ** 2
    n_largest = min(_MAX_OUTLYING, len(squares))
    largest = np.partition(squares, len(squares) - n_largest, axis=0)[len(squares) - n_largest :]
    total = squares.sum(axis=0)
    is_enough = largest.sum(axis=0) >= _SHARE_OF_VARIANCE * total
    return np.asarray((total > 0) & is_enough)
