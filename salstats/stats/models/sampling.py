"""Sampling weights of the rows of a model: a column of weights, or the same weight for each unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import quoted
from salstats.errors import Message, SalstatsError, Setting
from salstats.frames import ColumnCodes
from salstats.stats.engine.resampling_units import Units
from salstats.stats.engine.weighting import UNIT, checked_row_weights_equal_within_cases
from salstats.stats.models.error_kinds import ERRORS
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.family import Family
from salstats.stats.models.formulas import Formula

#: Errors that need a likelihood or a working correlation, neither of which exists with sampling weights.
_ERRORS_WITHOUT_WEIGHTS = tuple(
    error.name
    for error in ERRORS.values()
    if error.mixed or error.hat_exponent == -1 or error.name == "classical"
)


@dataclass(frozen=True)
class Sampling:
    """Sampling weights of the rows of a frame."""

    row_weights: np.ndarray | None  # (n_rows,), at least 0; None if each unit has the same weight
    units: NDArray[np.integer]  # (n_rows,), code of each row's unit

    def rows_with_positive_weight(self, rows: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return those of some rows whose weight is above 0."""
        if self.row_weights is None:
            return rows
        return np.asarray(rows[self.row_weights[rows] > 0])

    def weights_with_mean_one(self, rows: NDArray[np.integer]) -> np.ndarray:
        """Return the weights of the rows of a model, 1 on average."""
        if self.row_weights is None:
            _, unit_codes, n_rows = np.unique(self.units[rows], return_inverse=True, return_counts=True)
            weights = 1 / n_rows[unit_codes]
        else:
            weights = self.row_weights[rows]
        if not len(weights):
            return weights
        return np.asarray(weights / weights.mean())


def sampling_weights(frame: pd.DataFrame, weights: str | None, units: Units | None) -> Sampling | None:
    """Return the sampling weights of a model frame's rows, checked; None without `weights`."""
    if weights is None:
        return None
    unit_name = "row"
    unit_codes: NDArray[np.integer] = np.arange(len(frame))
    if units is not None:
        unit_name = units.name
        unit_codes = units.codes
    if weights not in (UNIT, unit_name):
        return Sampling(
            checked_row_weights_equal_within_cases(ColumnCodes(frame), weights, unit_name, "data"), unit_codes
        )
    if unit_name == "row":
        raise SalstatsError(
            Setting("weights", weights),
            " needs units",
            hint=Message("name their column with ", Setting("unit")),
        )
    return Sampling(None, unit_codes)


def check_weights_are_supported(
    weights: str | None, family: Family, errors: str, correlation: str | None, formulas: Sequence[Formula]
) -> None:
    """Raise SalstatsError if family, errors, correlation or random effects do not support `weights`."""
    if weights is None:
        return
    if isinstance(weights, Mapping):
        raise SalstatsError(
            "weights of a model are a column or 'unit'; those of tasks are for averages",
            option="weights",
            value=weights,
        )
    if correlation is not None or any(formula.random for formula in formulas):
        raise SalstatsError(
            Setting("weights", weights),
            " does not go with random effects or ",
            Setting("correlation"),
            hint=Message(Setting("errors", "cr2"), " lets rows of a unit depend on each other without them"),
        )
    if not family.weighted:
        weighted_families = quoted(record.name for record in FAMILIES.values() if record.weighted)
        raise SalstatsError(
            Setting("weights", weights),
            " does not go with ",
            Setting("family", family.name),
            hint=f"the families with weights are {weighted_families}",
        )
    if errors in _ERRORS_WITHOUT_WEIGHTS:
        raise SalstatsError(
            Setting("errors", errors),
            " takes weights for precisions, and ",
            Setting("weights"),
            " are those of sampling",
            hint=Message("use ", Setting("errors", "cr2")),
        )
