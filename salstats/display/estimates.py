"""Estimates frames: their columns, read once for tables, figures, captions, notes and reports."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_columns, check_frame, quoted
from salstats.coded_text import TEXT
from salstats.display.text.format import LEVEL_TOLERANCE
from salstats.display.text.labels import SUMMARY_LABELS
from salstats.errors import ColumnError, Message, MessagePart, SalstatsError, Setting
from salstats.frames import ESTIMATE_COLUMNS, KEY_COLUMNS, as_booleans, salstats_names_by_dotted_r_name
from salstats.stats.adjust import checked_procedure
from salstats.stats.average_kinds import (
    AverageKind,
    averaged_column_mask,
    decrease_of_means_or_mean_of_decreases,
    member_rows_of_averages,
)
from salstats.study import HUMAN

#: The first of these columns ends the grouping columns of an estimates frame.
_COLUMNS_AFTER_KEYS = ("reference", "formula", *ESTIMATE_COLUMNS)
#: Columns that must hold numbers; a frame that another program made may have text in them.
_NUMERIC_COLUMNS = ("estimate", "conf_low", "conf_high", "conf_level", "p_value", "p_adjusted", "n")


@dataclass(frozen=True, eq=False)
class Estimates:
    """An estimates frame.

    A column that the frame lacks is treated as one without values, so that callers need not test for columns.

    Attributes
    ----------
    frame : DataFrame
        The rows, with a default index.
    name : str
        Name of the frame in messages.
    keys : tuple of str
        Its grouping columns.
    """

    frame: pd.DataFrame
    name: str
    keys: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def distinct_values(self, column: str) -> list[Any]:
        """Return the distinct values of a column without missing ones, in the order they come."""
        if column not in self.frame.columns:
            return []
        return list(self.frame[column].dropna().unique())

    def row_values(self, column: str) -> list[Any]:
        """Return the value of a column in each row, None throughout if the frame does not have it."""
        if column not in self.frame.columns:
            return [None] * len(self.frame)
        return list(self.frame[column])

    def existing_columns(self, columns: Sequence[str]) -> list[str]:
        """Return those of some columns that the frame has, with or without values."""
        return [column for column in columns if column in self.frame.columns]

    def only_non_missing_value(self, column: str) -> Any | None:
        """Return the only value of a column, None where it has several or none."""
        values = self.distinct_values(column)
        if len(values) != 1:
            return None
        return values[0]

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Return a column as float, all NaN if the frame does not have it; infinite limits are allowed."""
        if column not in self.frame.columns:
            return np.full(len(self.frame), np.nan)
        return numbers_of(self.frame[column], column, self.name)

    def non_missing_numbers(self, column: str) -> NDArray[np.float64]:
        """Return the numbers of a column that are not missing."""
        numbers = self.numbers(column)
        return numbers[~np.isnan(numbers)]

    def varies(self, column: str) -> bool:
        """Return whether a column has at least two values, a missing value counting as one."""
        return column in self.frame.columns and self.frame[column].nunique(dropna=False) > 1

    def subset(self, row_mask: Any) -> "Estimates":
        """Return the rows for which a mask is True."""
        return replace(self, frame=self.frame[np.asarray(row_mask, dtype=bool)].reset_index(drop=True))

    def take(self, positions: Any) -> "Estimates":
        """Return the rows at some positions, in the order of these."""
        rows = self.frame.iloc[np.asarray(positions, dtype=np.intp)]
        return replace(self, frame=rows.reset_index(drop=True))

    def without_metrics(self, metrics: Sequence[Any]) -> "Estimates":
        """Return the rows of other metrics."""
        if not metrics:
            return self
        return self.subset(~self.frame["metric"].isin(metrics))

    def with_columns(self, **columns: Any) -> "Estimates":
        """Return the same rows with some columns added or replaced."""
        return replace(self, frame=self.frame.assign(**columns))

    def with_other_frame(self, frame: pd.DataFrame) -> "Estimates":
        """Return the estimates of another frame, with its grouping columns."""
        rows = frame.reset_index(drop=True)
        return replace(self, frame=rows, keys=tuple(grouping_columns(rows)))

    def subset_of_term_if_mrmc(self, term: str) -> "Estimates":
        """Return the rows of one term of a frame of `mrmc`, which has several; all rows of any other."""
        terms = self.distinct_values("term")
        if "equal" not in terms or term not in terms:
            return self
        return self.subset(self.frame["term"] == term)

    @cached_property
    def varying_keys(self) -> tuple[str, ...]:
        """Grouping columns that have at least two values."""
        return tuple(key for key in self.keys if self.varies(key))

    @cached_property
    def metrics_without_scores(self) -> tuple[Any, ...]:
        """Metrics without a defined score in any row, where other metrics have estimates."""
        if not self.varies("metric") or not self.has_estimate.any():
            return ()
        has_no_scores = pd.Series(self.numbers("n") == 0).groupby(self.frame["metric"], observed=True).all()
        return tuple(metric for metric in self.distinct_values("metric") if has_no_scores[metric])

    @cached_property
    def has_estimate(self) -> NDArray[np.bool_]:
        """True for each row that has an estimate."""
        return ~np.isnan(self.numbers("estimate"))

    @cached_property
    def is_exponentiated(self) -> NDArray[np.bool_]:
        """True for each row whose estimate and limits are exponentiated, such as odds ratios."""
        return np.array([value is True for value in self.row_values("exponentiated")], dtype=bool)

    @cached_property
    def has_any_limit(self) -> NDArray[np.bool_]:
        """True for each row that has at least one of its two limits."""
        has_low = ~np.isnan(self.numbers("conf_low"))
        has_high = ~np.isnan(self.numbers("conf_high"))
        return has_low | has_high

    @cached_property
    def has_estimate_and_both_limits(self) -> NDArray[np.bool_]:
        """True for each row that has an estimate and both limits."""
        has_low = ~np.isnan(self.numbers("conf_low"))
        has_high = ~np.isnan(self.numbers("conf_high"))
        return self.has_estimate & has_low & has_high

    @cached_property
    def has_estimate_and_limit_or_p_value(self) -> NDArray[np.bool_]:
        """True for each row whose estimate has a limit or a P value, by which it may be significant."""
        return self.has_estimate & (self.has_any_limit | ~np.isnan(self.p_values_adjusted_if_any))

    @cached_property
    def is_over_tasks(self) -> NDArray[np.bool_]:
        """True for each row over all tasks: an average of the tasks' estimates, or all tasks pooled."""
        if "task" not in self.frame.columns:
            return np.zeros(len(self.frame), dtype=bool)
        return np.asarray(self.frame["task"].astype(TEXT).isin(SUMMARY_LABELS), dtype=bool)

    @cached_property
    def is_summary_row(self) -> NDArray[np.bool_]:
        """True for each row that averages others or pools all of them."""
        grouping = self.frame[self.existing_columns(self.keys)]
        return np.asarray(grouping.isin(SUMMARY_LABELS).any(axis=1), dtype=bool)

    @cached_property
    def average_kind_of_each_row(self) -> tuple[AverageKind | None, ...]:
        """Kind of each row that is an average of percentage decreases, None for the other rows."""
        frame = self.frame
        kinds: list[AverageKind | None] = [None] * len(frame)
        if not {"method_mean", "reference_mean"} <= set(frame.columns):
            return tuple(kinds)
        members = {}
        # with weights the members of an average do not contribute by their numbers of scores
        if {"n", "term"} <= set(frame.columns) and not self.distinct_values("weights"):
            members = member_rows_of_averages(frame, self.keys)
        is_average = averaged_column_mask(frame, self.keys).any(axis=1)
        for row, term in enumerate(self.row_values("term")):
            if is_average[row] and term == "percent_decrease":
                kinds[row] = decrease_of_means_or_mean_of_decreases(frame, row, members.get(row, ()))
        return tuple(kinds)

    @cached_property
    def only_term(self) -> str | None:
        """The only term, None where there are several or none."""
        term = self.only_non_missing_value("term")
        return None if term is None else str(term)

    @cached_property
    def family_level_if_simultaneous(self) -> float | None:
        """Family level at which all limits of a family hold together, None where each holds on its own."""
        family_level = self.only_non_missing_value("family_level")
        if family_level is None:
            return None
        # in a family of one test both levels are the same
        is_simultaneous = self.numbers("conf_level") > self.numbers("family_level") + LEVEL_TOLERANCE
        if not is_simultaneous.any():
            return None
        return float(family_level)

    @cached_property
    def adjustment_procedure(self) -> str | None:
        """The procedure behind `p_adjusted`, None where the frame has none or several."""
        procedure = self.only_non_missing_value("procedure")
        return None if procedure is None else str(procedure)

    @cached_property
    def has_adjusted_p_values(self) -> bool:
        """True if P values were adjusted."""
        return self.adjustment_procedure != "none" and len(self.non_missing_numbers("p_adjusted")) > 0

    @cached_property
    def has_p_values(self) -> bool:
        """True if there are P values."""
        return len(self.non_missing_numbers("p_value")) > 0

    @cached_property
    def p_values_adjusted_if_any(self) -> NDArray[np.float64]:
        """Adjusted P values if there are any, else the unadjusted ones."""
        if self.has_adjusted_p_values:
            return self.numbers("p_adjusted")
        return self.numbers("p_value")

    def with_procedure_column(self, procedure: str | None) -> "Estimates":
        """Return the estimates with the column `procedure` that a caller names; None leaves it as it is."""
        if procedure is None:
            return self
        checked = checked_procedure(procedure, "adjust", has_draws=True)
        return replace(self, frame=self.frame.assign(procedure=checked))


def read_estimates(
    frame: object,
    name: str = "estimates",
    required_columns: Sequence[str] = ("estimate",),
    source: MessagePart = "",
) -> Estimates:
    """Read an estimates frame.

    Parameters
    ----------
    frame : DataFrame
        An estimates frame, of this package or in its columns.
    name : str
        Name of the frame in messages.
    required_columns : sequence of str
        Columns that it must have.
    source : str or Message
        The call that makes such a frame, for the message where a column is missing.

    Returns
    -------
    Estimates
        Its numbers are floats, its flag `exponentiated` is True or False, and it has columns of limits, which
        are NaN where the frame has none.

    Raises
    ------
    ColumnError
        A column is missing, has a name with R's dots, or holds text where numbers belong.
    SalstatsError
        Not a frame.
    """
    rows = check_frame(frame, name).reset_index(drop=True)
    check_columns(rows, required_columns, name, source)
    dotted_names = salstats_names_by_dotted_r_name(rows.columns)
    if dotted_names:
        dotted, own_name = next(iter(dotted_names.items()))
        raise ColumnError(
            f"column {dotted!r} of {name} must be called {own_name!r}",
            hint=Message(
                "rename ", quoted(dotted_names), " as ", quoted(dotted_names.values()), ", as read_data does"
            ),
            column=dotted,
        )
    for column in _NUMERIC_COLUMNS:
        if column in rows.columns:
            rows[column] = numbers_of(rows[column], column, name)
        elif column in ("conf_low", "conf_high"):
            rows[column] = np.nan
    if "exponentiated" in rows.columns:
        rows["exponentiated"] = as_booleans(rows["exponentiated"])
    return Estimates(rows, name, tuple(grouping_columns(rows)))


def chosen_or_recorded_references(estimates: Estimates, chosen_reference: str | None = None) -> list[str]:
    """Return the reference methods: the chosen one, else those of the column `reference`, else `human`.

    Raise SalstatsError if `chosen_reference` is no method of the estimates.
    """
    if chosen_reference is None:
        return [str(method) for method in estimates.distinct_values("reference")] or [HUMAN]
    methods = sorted({str(method) for method in estimates.distinct_values("method")})
    if chosen_reference not in methods:
        raise SalstatsError(
            Setting("reference", chosen_reference),
            f" is no method of the estimates ({quoted(methods)})",
            choices=methods,
        )
    return [chosen_reference]


def grouping_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that identify the rows of an estimates frame.

    These are the columns before the estimates, the package's key columns wherever they stand, and the
    reference where there are several.
    """
    columns = [str(column) for column in frame.columns]
    positions = [columns.index(column) for column in _COLUMNS_AFTER_KEYS if column in columns]
    keys = columns[: min(positions, default=0)]
    keys += [column for column in KEY_COLUMNS if column in columns and column not in keys]
    if "reference" in columns and frame["reference"].nunique() > 1:
        keys.append("reference")
    return keys


def numbers_of(column: pd.Series, column_name: str, frame_name: str) -> NDArray[np.float64]:
    """Return a column as float; raise ColumnError where a value cannot be read as a number."""
    try:
        values = pd.to_numeric(column)
    except (ValueError, TypeError):
        raise ColumnError(
            f"column {column_name!r} of {frame_name} must be numeric",
            hint="it holds text",
            column=column_name,
        ) from None
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))


def check_rows_are_distinct(estimates: Estimates, columns: Sequence[str]) -> None:
    """Raise SalstatsError where two estimates have the same values of some columns."""
    rows = estimates.frame
    # without columns that distinguish them, all rows but the first are repeated
    is_repeated = pd.Series(np.arange(len(rows)) > 0)
    if columns:
        is_repeated = rows.duplicated(list(columns))
    if is_repeated.any():
        row = rows[is_repeated].iloc[0]
        values = ", ".join(f"{column} {row[column]}" for column in columns) or "one place"
        raise SalstatsError(
            f"{estimates.name} has more than one row for {values}; keep one of them, or put what tells them "
            "apart in a column before 'term'",
            option=estimates.name,
            rows=np.flatnonzero(is_repeated).tolist(),
        )
