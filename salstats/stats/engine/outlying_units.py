"""A few units that lie far from all others and hold most of a variance, as complete failures do."""

import numpy as np

#: A unit is outlying where its deviation from the median is more than this many median absolute deviations,
#: scaled to the standard deviation of a normal distribution; with few units medians are rough, and it takes
#: more.
_FAR = 4.0
_FAR_AMONG_FEW = 6.0
#: Units below which medians are rough.
_FEW = 20
#: Outlying units are few where they are no more than this, and no more than this share of all units.
_MOST = 5
_MOST_SHARE = 0.25
#: They decide where they hold at least this share of the variance.
_SHARE_OF_VARIANCE = 0.5
#: A spread of less than this share of the largest distance is rounding error.
_EQUAL = 1e-9
#: Median absolute deviation of the normal distribution, in standard deviations.
_NORMAL_MAD = 0.6745


def few_units_decide(influence: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Find estimates most of whose variance is held by a few units that lie far from all others.

    A method that fails completely on one case in twelve scores 0 there and as usual elsewhere. With 20 cases
    one or two of them decide: the failures that were met say little of how frequent failures are.

    Parameters
    ----------
    influence : ndarray, shape (n_units, n_rows)
        Influence of each unit on each estimate; they sum to 0.
    position : ndarray, shape (n_units, n_rows)
        Where each unit lies by its scores, whatever its size; NaN where it has no part in an estimate.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
    """
    n_units = (~np.isnan(position)).sum(axis=0)
    decided = np.zeros(influence.shape[1], dtype=bool)
    for row in np.flatnonzero(_could_decide(influence, n_units)):
        distance = np.abs(position[:, row] - np.nanmedian(position[:, row]))
        spread = np.nanmedian(distance) / _NORMAL_MAD
        # where most units are alike, as most are 0 in sparse scores, none is an exception
        if not spread > _EQUAL * np.nanmax(distance):
            continue
        far = _FAR if n_units[row] >= _FEW else _FAR_AMONG_FEW
        outlying = distance > far * spread
        squares = influence[:, row] ** 2
        few = 0 < outlying.sum() <= min(_MOST, _MOST_SHARE * n_units[row])
        decided[row] = few and squares[outlying].sum() >= _SHARE_OF_VARIANCE * squares.sum()
    return decided


def _could_decide(influence: np.ndarray, n_units: np.ndarray) -> np.ndarray:
    """Find estimates whose largest influences hold enough of the variance, whatever the other units are."""
    squares = np.nan_to_num(influence) ** 2
    most = min(_MOST, len(squares))
    largest = np.partition(squares, len(squares) - most, axis=0)[len(squares) - most :]
    total = squares.sum(axis=0)
    return np.asarray((n_units > 1) & (total > 0) & (largest.sum(axis=0) >= _SHARE_OF_VARIANCE * total))
