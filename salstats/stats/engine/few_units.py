"""Checks that an estimate rests on too few units: of equal size, or with the rarer of two outcomes."""

from collections.abc import Sequence

import numpy as np

#: Degrees of freedom, or units of equal size, below which Student's t is rough (Pustejovsky and Tipton 2018).
FEW_DF = 4
#: Units with the rarer of two outcomes below which limits are rough.
_FEW_EVENTS = 10
#: Units of the rarer label times the share of pairs that are ordered wrongly, 1 - AUC, below which the limits
#: of an AUC are rough.
_FEW_MISRANKED = 0.75
#: The same for the difference of two AUCs, if it holds for both.
_FEW_MISRANKED_BY_BOTH = 1.25


def few_equal_units(sizes: np.ndarray) -> np.ndarray:
    """Find rows whose units, of `sizes` (n_units, n_rows), are worth fewer than four of equal size.

    Units are worth (sum of sizes)^2 / sum of squared sizes (Kish).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        effective_n_units = sizes.sum(axis=0) ** 2 / (sizes**2).sum(axis=0)
    return np.asarray(effective_n_units < FEW_DF)


def few_units_of_rows(units: Sequence[np.ndarray]) -> np.ndarray:
    """Find estimates whose units are worth fewer than four of equal size, shape (n_estimates,).

    `units` has for each estimate the units of its rows, as codes.
    """
    is_few = []
    for codes in units:
        sizes = np.unique(codes, return_counts=True)[1]
        is_few.append(bool(few_equal_units(sizes)))
    return np.array(is_few)


def count_units_with_rarer_value(values: np.ndarray, units: np.ndarray) -> float:
    """Count the units that have the rarer of two values; infinite unless there are exactly two values."""
    distinct = np.unique(values)
    if len(distinct) != 2:
        return np.inf
    return min(len(np.unique(units[values == value])) for value in distinct)


def few_events(n_units: np.ndarray) -> np.ndarray:
    """Find rows in which fewer than ten units have the rarer of two outcomes."""
    return np.asarray(n_units < _FEW_EVENTS)


def few_misranked(area: np.ndarray, n_least: np.ndarray) -> np.ndarray:
    """Find AUCs so near 0 or 1 that next to none of the `n_least` units of the rarer label is misranked."""
    return np.asarray(_expected_misranked(area, n_least) < _FEW_MISRANKED)


def few_misranked_by_both(area: np.ndarray, reference: np.ndarray, n_least: np.ndarray) -> np.ndarray:
    """Find pairs of AUCs of a method and the reference that are both so near 0 or 1; see `few_misranked`."""
    larger = np.maximum(_expected_misranked(area, n_least), _expected_misranked(reference, n_least))
    return np.asarray(larger < _FEW_MISRANKED_BY_BOTH)


def _expected_misranked(area: np.ndarray, n_least: np.ndarray) -> np.ndarray:
    """Return the units of the rarer label times the share of misranked pairs, min(AUC, 1 - AUC)."""
    return np.asarray(n_least * np.minimum(area, 1 - area))
