"""Weights of cases, of units, and of the members of averages such as tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_columns, check_numeric, quoted
from salstats.errors import ColumnError, Message, SalstatsError, Setting, ValueRangeError
from salstats.frames import ColumnCodes, dataset_and_case_columns, first_rows, text_column
from salstats.stats.engine.resampling_units import Units

#: Values of `weights=`: the name of a column, "unit", or weights of the values that are averaged over.
Weighting = str | Mapping[Any, float] | None
#: The value of `weights=` that gives each unit the same weight.
UNIT = "unit"
#: Text in a column `weights` between the column that is averaged over and the weights of its values.
MEMBER_SEPARATOR = ": "


@dataclass(frozen=True)
class Weights:
    """Weights of rows, units and members of an average."""

    #: (n_rows,): Weights of rows, above 0; None where all are equal.
    of_rows: np.ndarray | None = field(default=None, repr=False)
    #: Units have equal weights: means are means of the units' means.
    equal_unit_weights: bool = False
    #: Weights of the values of the column that is averaged over.
    of_members: Mapping[Any, float] | None = None
    #: The column of the weights of rows, or the one that is averaged over.
    column: str = ""

    def weights_column_if_any(self, has_member_weights: NDArray[np.bool_]) -> dict[str, Any]:
        """Make the column `weights` of an estimates frame, if any row or unit is weighted.

        `has_member_weights` (n_estimates,) is True for the rows that are averages.
        """
        if self.of_members is not None:
            member_weights = [f"{value} {weight:g}" for value, weight in self.of_members.items()]
            text = f"{self.column}{MEMBER_SEPARATOR}{', '.join(member_weights)}"
            texts: list[str | None] = [None] * len(has_member_weights)
            for row in np.flatnonzero(has_member_weights):
                texts[row] = text
            return {"weights": text_column(texts)}
        text = UNIT if self.equal_unit_weights else self.column
        if not text:
            return {}
        return {"weights": text_column([text] * len(has_member_weights))}

    def mask_of_rows_that_enter_averages(self, scores: pd.DataFrame) -> NDArray[np.bool_] | None:
        """Find the rows that enter averages with a weight above 0 (bool, one per row); None if all do."""
        if self.of_members is None:
            return None
        weights = scores[self.column].astype("object").map(self.of_members)
        return np.asarray(weights.to_numpy(dtype=np.float64) > 0)


#: Equal weights of all rows.
EQUAL_WEIGHTS = Weights()


class WeightedScores(NamedTuple):
    """Rows of scores with a weight above 0, their units and their weights."""

    codes: ColumnCodes
    units: Units
    weights: Weights


def rows_with_positive_weight(
    codes: ColumnCodes, units: Units, weights: Weighting, average: str | None
) -> WeightedScores:
    """Leave out the rows of scores with a weight of 0; return the others, their units, and their weights.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        `weights` is not a column of numbers; weights differ within a case, are empty, negative or all 0;
        weights are of values that are not averaged over, or lack one that is.
    """
    if weights is None:
        return WeightedScores(codes, units, EQUAL_WEIGHTS)
    if isinstance(weights, Mapping):
        member_weights = _checked_member_weights(codes, weights, average)
        return WeightedScores(codes, units, Weights(of_members=member_weights, column=str(average)))
    if isinstance(weights, str) and weights in (UNIT, units.name):
        return WeightedScores(codes, units, Weights(equal_unit_weights=True))
    values = checked_row_weights_equal_within_cases(codes, weights, units.name)
    rows = np.flatnonzero(values > 0)
    if len(rows) < len(values):
        codes = codes.take(rows)
        units = replace(units, codes=units.codes[rows])
    return WeightedScores(codes, units, Weights(of_rows=values[rows], column=weights))


def checked_row_weights_equal_within_cases(
    codes: ColumnCodes, column: str, unit_in_message: str, frame_name: str = "scores"
) -> np.ndarray:
    """Return the weights of rows, shape (n_rows,), from a column of the frame.

    They are checked to be 0 or more, equal within a case, and not all 0. `unit_in_message` and
    `frame_name` are the names of the unit and the frame in messages.
    """
    frame = codes.frame
    if not isinstance(column, str):
        raise SalstatsError(
            Setting("weights", column),
            " must be a column, 'unit', or weights of the values that are averaged over",
        )
    check_columns(frame, [column], frame_name)
    if not pd.api.types.is_numeric_dtype(frame[column]):
        raise ColumnError(
            Setting("weights", column),
            " is not a column of numbers",
            hint=Message(Setting("weights", "unit"), f" counts each unit (here {unit_in_message}) alike"),
            column=column,
        )
    values = check_numeric(frame, column, frame_name)
    for invalid, problem in ((np.isnan(values), "empty"), (values < 0, "negative")):
        if invalid.any():
            row = int(np.flatnonzero(invalid)[0])
            raise ColumnError(
                Setting("weights", column),
                f" is {problem} in row {row} of {frame_name}",
                hint="a weight is 0 or more",
                column=column,
                rows=np.flatnonzero(invalid).tolist(),
            )
    if not (values > 0).any():
        raise ValueRangeError(
            Setting("weights", column), f" of {frame_name} is 0 in every row", column=column
        )
    if "case" not in frame.columns:
        return values
    cases = codes.combined(dataset_and_case_columns(frame))
    case_values = values[first_rows(cases)]
    differs = values != case_values[cases]
    if differs.any():
        row = int(np.flatnonzero(differs)[0])
        raise ColumnError(
            Setting("weights", column),
            f" differs between rows of case {frame['case'].iloc[row]!r}",
            hint="a weight says how many cases a case stands for, whatever the task or method",
            column=column,
            rows=np.flatnonzero(differs).tolist(),
        )
    return values


def _checked_member_weights(
    codes: ColumnCodes, weights: Mapping[Any, float], average: str | None
) -> dict[Any, float]:
    """Return the weights of the values of a column that is averaged over, checked to be complete."""
    if average is None:
        raise SalstatsError(
            Setting("weights"),
            " of values weigh the members of an average",
            hint=Message("name their column with ", Setting("average"), ", as 'task'"),
        )
    check_columns(codes.frame, [average])
    members = list(pd.unique(codes.frame[average]))
    unknown = [value for value in weights if value not in members]
    if unknown:
        raise ValueRangeError(
            Setting("weights"),
            f" name {quoted(unknown)}, and {average!r} holds {quoted(members)}",
            column=average,
            choices=map(str, members),
        )
    unweighted = [value for value in members if value not in weights]
    if unweighted:
        raise ValueRangeError(
            Setting("weights"),
            f" lack {quoted(unweighted)} of {average!r}",
            hint="0 leaves it out",
            column=average,
        )
    numbers = np.asarray(pd.to_numeric([*weights.values()], errors="coerce"), np.float64)
    are_valid = (np.isfinite(numbers) & (numbers >= 0)).all()
    if not are_valid or not numbers.any():
        raise ValueRangeError(
            Setting("weights"),
            " of what is averaged over must be numbers of 0 or more, finite, and not all 0",
        )
    return dict(zip(weights, numbers.tolist(), strict=True))


def kish_n_units(sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Compute Kish's effective number of units, (sum w)^2 / sum w^2, shape (n_rows,).

    `sums` and `squares` (n_units, n_rows) are sums of the weights of a unit's scores and of their squares.
    The weight w of a unit is squares / sums: the weight of its scores, whatever their number.

    Kish L. Survey Sampling. Wiley 1965, section 11.7.
    """
    weight = squares / np.where(sums > 0, sums, 1.0)
    sum_of_squares = (weight**2).sum(axis=0)
    effective_number = weight.sum(axis=0) ** 2 / np.where(sum_of_squares > 0, sum_of_squares, 1.0)
    # Rounding gives the exact number of units where all weights are equal.
    return np.asarray(np.round(effective_number, 9))


def weights_note(values: Sequence[object], unit: str) -> str:
    """Write a sentence for each distinct value of a column `weights`."""
    sentences = []
    for value in dict.fromkeys(str(value) for value in values):
        column, separator, member_weights = value.partition(MEMBER_SEPARATOR)
        if value == UNIT:
            sentences.append(f"Each {unit} counts as one, whatever its number of scores.")
        elif separator:
            sentences.append(f"Averages over {column} are weighted: {member_weights}.")
        else:
            sentences.append(f"Scores are weighted by {value}.")
    return " ".join(sentences)
