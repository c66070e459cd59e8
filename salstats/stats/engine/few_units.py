"""How few units an estimate rests on: of equal size, or with the rarer of two outcomes."""

from collections.abc import Sequence

import numpy as np

#: Degrees of freedom, or units of equal size, below which Student's t is rough (Pustejovsky and Tipton 2018).
FEW_DF = 4
#: Units with the rarer of two outcomes below which limits are rough.
_FEW_EVENTS = 10
#: Units of the rarer label times the share of pairs that an area orders wrongly, below which it is rough; of
#: the difference of two areas that of both.
_FEW_MISRANKED = 0.75
_FEW_MISRANKED_BY_BOTH = 1.25


def few_equal_units(sizes: np.ndarray) -> np.ndarray:
    """Find rows whose units, of `sizes` (n_units, n_rows), are worth fewer than four of equal size.

    Units are worth (sum of sizes)^2 / sum of squared sizes (Kish).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = sizes.sum(axis=0) ** 2 / (sizes**2).sum(axis=0)
    return np.asarray(worth < FEW_DF)


def few_units_of_rows(units: Sequence[np.ndarray]) -> np.ndarray:
    """Find estimates whose rows, each with a code of its unit, are of fewer than four units of equal size."""
    return np.array([bool(few_equal_units(np.unique(own, return_counts=True)[1])) for own in units])


def units_with_rarer_value(values: np.ndarray, units: np.ndarray) -> float:
    """Count the units with the rarer of two values; infinite where values are not two."""
    both = np.unique(values)
    if len(both) != 2:
        return np.inf
    return min(len(np.unique(units[values == value])) for value in both)


def few_events(n_units: np.ndarray) -> np.ndarray:
    """Find rows in which fewer than ten units have the rarer of two outcomes."""
    return np.asarray(n_units < _FEW_EVENTS)


def few_misranked(area: np.ndarray, n_least: np.ndarray) -> np.ndarray:
    """Find areas so near 0 or 1 that next to none of the `n_least` units of the rarer label tells of them."""
    return np.asarray(_misranked(area, n_least) < _FEW_MISRANKED)


def few_misranked_by_both(area: np.ndarray, reference: np.ndarray, n_least: np.ndarray) -> np.ndarray:
    """Find pairs of areas both of which are so near 0 or 1."""
    most = np.maximum(_misranked(area, n_least), _misranked(reference, n_least))
    return np.asarray(most < _FEW_MISRANKED_BY_BOTH)


def _misranked(area: np.ndarray, n_least: np.ndarray) -> np.ndarray:
    """Multiply the units of the rarer label by the share of pairs in the wrong order."""
    return np.asarray(n_least * np.minimum(area, 1 - area))
