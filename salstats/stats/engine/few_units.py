"""Checks that an estimate rests on too few units: of equal size, or with the rarer of two outcomes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Degrees of freedom, or units of equal size, below which Student's t is rough (Pustejovsky and Tipton 2018).
FEW_DF = 4
#: Units with the rarer of two outcomes below which limits are rough.
_FEW_EVENTS = 10
#: Units of the rarer label times the share of pairs in the rarer order, the smaller of AUC and 1 - AUC, below
#: which the limits of an AUC are rough.
_FEW_MISRANKED = 0.75
#: The same for the difference of two AUCs, if it holds for both.
_FEW_MISRANKED_BY_BOTH = 1.25


def has_few_effective_units(unit_sizes: np.ndarray) -> NDArray[np.bool_]:
    """Find rows whose units, of `unit_sizes` (n_units, n_rows), are worth fewer than four of equal size.

    Units are worth (sum of sizes)^2 / sum of squared sizes (Kish).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        effective_n_units = unit_sizes.sum(axis=0) ** 2 / (unit_sizes**2).sum(axis=0)
    return np.asarray(effective_n_units < FEW_DF)


def has_few_effective_units_by_estimate(
    units_of_estimates: Sequence[NDArray[np.integer]],
) -> NDArray[np.bool_]:
    """Find estimates whose units are worth fewer than four of equal size, shape (n_estimates,).

    `units_of_estimates` has for each estimate the units of its rows, as codes.
    """
    is_few = []
    for codes in units_of_estimates:
        sizes = np.unique(codes, return_counts=True)[1]
        is_few.append(bool(has_few_effective_units(sizes)))
    return np.array(is_few)


def count_units_with_rarer_value(values: np.ndarray, units: NDArray[np.integer]) -> float:
    """Count the units that have the rarer of two values; infinite unless there are exactly two values."""
    distinct = np.unique(values)
    if len(distinct) != 2:
        return np.inf
    return min(len(np.unique(units[values == value])) for value in distinct)


def are_few_events(n_units_with_rarer_outcome: np.ndarray) -> NDArray[np.bool_]:
    """Find rows in which fewer than ten units have the rarer of two outcomes."""
    return np.asarray(n_units_with_rarer_outcome < _FEW_EVENTS)


def are_few_misranked(auc: np.ndarray, n_rarer: np.ndarray) -> NDArray[np.bool_]:
    """Return True for AUCs so near 0 or 1 that next to no unit of the rarer label is misranked.

    `n_rarer` (n_rows,) are the numbers of units of the rarer label.
    """
    return np.asarray(_expected_n_misranked(auc, n_rarer) < _FEW_MISRANKED)


def are_both_near_0_or_1(
    auc: np.ndarray, reference_auc: np.ndarray, n_rarer: np.ndarray
) -> NDArray[np.bool_]:
    """Return True where the AUCs of a method and the reference are both near 0 or 1 (`are_few_misranked`)."""
    of_method = _expected_n_misranked(auc, n_rarer)
    of_reference = _expected_n_misranked(reference_auc, n_rarer)
    return np.asarray(np.maximum(of_method, of_reference) < _FEW_MISRANKED_BY_BOTH)


def _expected_n_misranked(auc: np.ndarray, n_rarer: np.ndarray) -> np.ndarray:
    """Return the units of the rarer label times the share of misranked pairs, min(AUC, 1 - AUC)."""
    return np.asarray(n_rarer * np.minimum(auc, 1 - auc))
