"""How much the rows of a model count: weights of cases, or units that count alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError, quoted
from salstats.frames import ColumnCodes
from salstats.stats.engine.units import Units
from salstats.stats.engine.weighting import UNIT, row_weights
from salstats.stats.models.errors import ERRORS
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.family import Family
from salstats.stats.models.formulas import Formula

#: Errors that are those of a likelihood, or of a working correlation, which weights of sampling have not.
_NOT_WEIGHTED = tuple(e.name for e in ERRORS.values() if e.mixed or e.power == -1 or e.name == "classical")


@dataclass(frozen=True)
class Sampling:
    """Weights of the rows of a frame."""

    #: (n_rows,): From 0; None where each unit counts as one.
    of_frame: np.ndarray | None
    #: (n_rows,): Unit of each row.
    units: np.ndarray

    def used(self, rows: np.ndarray) -> np.ndarray:
        """Those of some rows that count."""
        return rows if self.of_frame is None else rows[self.of_frame[rows] > 0]

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Weights of the rows of a model, 1 on average."""
        if self.of_frame is not None:
            each = self.of_frame[rows]
        else:
            _, places, counts = np.unique(self.units[rows], return_inverse=True, return_counts=True)
            each = 1 / counts[places]
        return np.asarray(each / each.mean()) if len(each) else each


def sampling_of(frame: pd.DataFrame, weights: str | None, units: Units | None) -> Sampling | None:
    """Weights of a model frame's rows, checked; None where each counts as one."""
    if weights is None:
        return None
    name = "row" if units is None else units.name
    codes = np.arange(len(frame)) if units is None else units.codes
    if weights not in (UNIT, name):
        return Sampling(row_weights(ColumnCodes(frame), weights, name, "data"), codes)
    if name == "row":
        raise SalstatsError("weights='unit' needs units; name their column with unit=")
    return Sampling(None, codes)


def check_weights(
    weights: str | None, family: Family, errors: str, correlation: str | None, formulas: Sequence[Formula]
) -> None:
    """Raise where models do not take weights."""
    if weights is None:
        return
    if isinstance(weights, Mapping):
        raise SalstatsError("weights of a model are a column or 'unit'; those of tasks are for averages")
    if correlation is not None or any(one.random for one in formulas):
        raise SalstatsError(
            "weights= is not for random effects or correlation=; errors='cr2' knows units, too"
        )
    if not family.weighted:
        others = quoted(f.name for f in FAMILIES.values() if f.weighted)
        raise SalstatsError(f"weights= is there for family={others}, not for family={family.name!r}")
    if errors in _NOT_WEIGHTED:
        raise SalstatsError(
            f"errors={errors!r} takes weights for precisions, and weights= are of sampling; take errors='cr2'"
        )
