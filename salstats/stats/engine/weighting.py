"""How much each row counts: weights of cases, units that count alike, weights of what is averaged over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, ValueRangeError, check_columns, check_numeric, quoted
from salstats.frames import ColumnCodes, case_key, first_rows, text_column
from salstats.stats.engine.units import Units

#: What `weights=` takes: a column, the word, or weights of the values that are averaged over.
Weighting = str | Mapping[Any, float] | None
#: Says that each unit counts as one; stands between a column that is averaged over and its weights.
UNIT, MEMBERS = "unit", ": "


@dataclass(frozen=True)
class Weights:
    """How much rows, units and members of an average count."""

    #: (n_rows,): Weights of rows, above 0; None where each counts as one.
    of_rows: np.ndarray | None = field(default=None, repr=False)
    #: Whether each unit counts as one: means are of units' means.
    each_unit: bool = False
    #: Weights of the values of the column that is averaged over.
    of_members: Mapping[Any, float] | None = None
    #: The column of the weights of rows, or the one that is averaged over.
    column: str = ""

    def columns(self, averaged: np.ndarray) -> dict[str, Any]:
        """Column `weights` of an estimates frame; `averaged` says which rows are averages."""
        if self.of_members is not None:
            shares = ", ".join(f"{value} {weight:g}" for value, weight in self.of_members.items())
            return {
                "weights": text_column(f"{self.column}{MEMBERS}{shares}" if row else None for row in averaged)
            }
        said = UNIT if self.each_unit else self.column
        return {"weights": text_column([said] * len(averaged))} if said else {}

    def averaged_rows(self, frame: pd.DataFrame) -> np.ndarray | None:
        """Return which rows enter averages (bool, one per row); None where all do."""
        if self.of_members is None:
            return None
        shares = frame[self.column].astype("object").map(self.of_members)
        return np.asarray(shares.to_numpy(dtype=np.float64) > 0)


#: Each row counts as one.
EQUAL = Weights()


def weighted(
    codes: ColumnCodes, units: Units, weights: Weighting, average: str | None
) -> tuple[ColumnCodes, Units, Weights]:
    """The rows of scores that count, their units, and how much they count.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        No column of numbers, or weights that differ within a case, are empty, negative or all 0; weights of
        tasks that are not averaged over, or lack one.
    """
    if weights is None:
        return codes, units, EQUAL
    if isinstance(weights, Mapping):
        return codes, units, Weights(of_members=_of_members(codes, weights, average), column=str(average))
    if weights in (UNIT, units.name):
        return codes, units, Weights(each_unit=True)
    values = row_weights(codes, weights, units.name)
    if (used := np.flatnonzero(values > 0)).size < len(values):
        codes, units = codes.take(used), replace(units, codes=units.codes[used])
    return codes, units, Weights(of_rows=values[used], column=weights)


def row_weights(codes: ColumnCodes, column: str, unit: str, name: str = "scores") -> np.ndarray:
    """Weights of rows, checked: from 0, one for each case, not all 0."""
    frame = codes.frame
    if not isinstance(column, str):
        raise SalstatsError(f"weights={column!r} is no column, 'unit', or weights of what is averaged over")
    check_columns(frame, [column], name)
    if not pd.api.types.is_numeric_dtype(frame[column]):
        raise ColumnError(
            f"weights={column!r} is no column of numbers; weights='unit' counts each unit (here {unit}) alike"
        )
    values = check_numeric(frame, column, name)
    for wrong, what in ((np.isnan(values), "empty"), (values < 0, "negative")):
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ColumnError(f"weights={column!r} is {what} in row {row} of {name}; a weight is 0 or more")
    if not (values > 0).any():
        raise ValueRangeError(f"weights={column!r} of {name} is 0 in every row")
    cases = codes.combined(case_key(frame)) if "case" in frame.columns else np.arange(len(frame))
    first = first_rows(cases)
    if (differs := values != values[first][cases]).any():
        row = int(np.flatnonzero(differs)[0])
        raise ColumnError(
            f"weights={column!r} differs between rows of case {frame['case'].iloc[row]!r}; a weight says how "
            "many cases a case stands for, whatever the task or method"
        )
    return values


def _of_members(codes: ColumnCodes, weights: Mapping[Any, float], average: str | None) -> dict[Any, float]:
    """Weights of the values of a column that is averaged over, checked."""
    if average is None:
        raise SalstatsError(
            "weights of values weigh the members of an average: name their column with average=, as 'task'"
        )
    check_columns(codes.frame, [average])
    there = list(pd.unique(codes.frame[average]))
    if unknown := [value for value in weights if value not in there]:
        raise ValueRangeError(f"weights name {quoted(unknown)}, and {average!r} holds {quoted(there)}")
    if lacking := [value for value in there if value not in weights]:
        raise ValueRangeError(f"weights lack {quoted(lacking)} of {average!r}; 0 leaves it out")
    numbers = np.asarray(pd.to_numeric([*weights.values()], errors="coerce"), np.float64)
    if not (np.isfinite(numbers) & (numbers >= 0)).all() or not numbers.any():
        raise ValueRangeError(
            "weights of what is averaged over must be numbers of 0 or more, finite, and not all 0"
        )
    return dict(zip(weights, numbers.tolist(), strict=True))


def worth_units(sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """How many units of equal weight units are worth, from sums and squares of their weights, by Kish.

    A unit's weight is that of its scores, whatever their number.

    Kish L. Survey Sampling. Wiley 1965, section 11.7.
    """
    weight = squares / np.where(sums > 0, sums, 1.0)
    total = (weight**2).sum(axis=0)
    # of equal weights the number itself
    return np.round(weight.sum(axis=0) ** 2 / np.where(total > 0, total, 1.0), 9)


def weights_text(said: Sequence[object], unit: str) -> str:
    """Sentences on what a column `weights` says."""
    sentences = []
    for value in dict.fromkeys(str(value) for value in said):
        column, members, shares = value.partition(MEMBERS)
        if value == UNIT:
            sentences.append(f"Each {unit} counts as one, whatever its number of scores.")
        elif members:
            sentences.append(f"Averages over {column} are weighted: {shares}.")
        else:
            sentences.append(f"Scores are weighted by {value}.")
    return " ".join(sentences)
