"""Tables with one row per observation and a column per metric, from a scores frame or from a tidy table."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import (
    check_by,
    check_columns,
    check_frame,
    check_not_in_by,
    check_numeric,
    did_you_mean,
    quoted,
)
from salstats.errors import ColumnError, Message, MessagePart, Setting, ValueRangeError
from salstats.frames import KEY_COLUMNS, SCORES_COLUMNS, ColumnCodes, checked_table_codes, coded_scores
from salstats.stats.engine.label_columns import warn_of_labels_taken_as_numbers
from salstats.stats.engine.resampling_units import Unit, given_and_possible_unit_columns


def is_scores_frame(frame: pd.DataFrame) -> bool:
    """Return True if a frame has the columns of a scores frame."""
    return all(column in frame.columns for column in SCORES_COLUMNS)


def wide_table(data: pd.DataFrame, names: Sequence[str], keep: Sequence[str] = ()) -> pd.DataFrame:
    """Make a table in which every one of `names` is a column; see `coded_wide_table`."""
    return coded_wide_table(data, names, keep).frame


def coded_wide_table(data: pd.DataFrame, names: Sequence[str], keep: Sequence[str] = ()) -> ColumnCodes:
    """Make a table that has `names` and `keep` as columns, and code it.

    A tidy table is returned unchanged, and so is a scores frame if "score" is one of the names. In any other
    scores frame, a name that is not a column is a metric. If there are metrics among the names, the table has
    a row for each data set, case, task, method, reader, model and seed with a score of one of them, and NaN
    for the metrics without a score. If there are none, it has a row for each data set, case, task and
    combination of `keep`, so that a covariate that the frame repeats for every metric and method counts once.
    A covariate that is empty in some rows of an observation is taken from the rows that have it.
    """
    frame = check_frame(data, "data")
    if not is_scores_frame(frame):
        check_columns(frame, names, "data")
        return checked_table_codes(frame, names)
    scores = coded_scores(frame, "data")
    metrics = names_that_are_metrics_not_columns(frame, names)
    if metrics and ("score" in names or "metric" in keep):
        clash: MessagePart = Setting("by", "metric")
        if "score" in names:
            clash = "the column 'score'"
        raise ColumnError(
            clash,
            f" and the metric {metrics[0]!r} cannot go together, as 'score' holds the scores of every metric",
            hint=Message("name metrics only, or use 'score' with ", Setting("by", "metric")),
            column="score",
        )
    if "score" in names:
        return scores
    row_numbers = np.arange(len(frame))
    if metrics:
        row_numbers = np.flatnonzero(frame["metric"].isin(metrics).to_numpy())
        scores = scores.take(row_numbers)
        key = [column for column in KEY_COLUMNS if column in frame.columns and column != "metric"]
    else:
        key = [column for column in ("dataset", "case", "task") if column in frame.columns]
        key += [column for column in dict.fromkeys(keep) if column not in key]
    rows = scores.frame
    observations = scores.combined(key)
    first_rows = np.unique(observations, return_index=True)[1]
    wide = scores.take(first_rows, key)
    table = wide.frame
    for column in dict.fromkeys([*names, *keep]):
        if column not in key and column not in metrics:
            table[column] = values_of_observations(rows, observations, key, column, row_numbers)
    for metric, values in metric_columns(rows, observations, metrics).items():
        table[metric] = values
    return wide


def names_that_are_metrics_not_columns(
    frame: pd.DataFrame, names: Sequence[str], where: str = ""
) -> list[str]:
    """Return the names that are metrics of a frame, without its columns; any other name is an error.

    `where` follows a name in the message of an error.
    """
    metrics_of_frame = []
    if {"metric", "score"} <= set(frame.columns):
        metrics_of_frame = [str(metric) for metric in pd.unique(frame["metric"].dropna())]
    metrics = [name for name in names if name not in frame.columns]
    for name in metrics:
        if name not in metrics_of_frame:
            hint = did_you_mean(name, [*frame.columns, *metrics_of_frame])
            metrics_text = f"; metrics: {quoted(metrics_of_frame)}" if metrics_of_frame else ""
            raise ColumnError(
                f"{name!r}{where} is neither a column nor a metric of data{hint} "
                f"(columns: {quoted(frame.columns)}{metrics_text})",
                column=name,
                choices=map(str, [*frame.columns, *metrics_of_frame]),
            )
    return metrics


def metric_columns(
    rows: pd.DataFrame, observations: NDArray[np.integer], metrics: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return each metric's scores, shape (n_observations,), NaN where an observation has none.

    `observations` are codes of the rows, shape (n_rows,).
    """
    scores = rows["score"].to_numpy(dtype=np.float64)
    metric_of_row = rows["metric"].to_numpy()
    n_observations = int(observations.max()) + 1
    columns = {}
    for metric in metrics:
        is_metric = metric_of_row == metric
        columns[metric] = np.full(n_observations, np.nan)
        columns[metric][observations[is_metric]] = scores[is_metric]
    return columns


def values_of_observations(
    rows: pd.DataFrame,
    observations: NDArray[np.integer],
    observation_columns: list[str],
    column: str,
    row_numbers_for_errors: NDArray[np.integer],
) -> Any:
    """Return a covariate's value for each observation, an array; ColumnError where the rows of one disagree.

    The value is missing where all rows of an observation lack it.

    `observations` are codes of the rows, shape (n_rows,), and `observation_columns` the columns that tell
    observations apart. `row_numbers_for_errors` (n_rows,) are the places of the rows in the user's frame.
    """
    groups = rows[column].groupby(observations)
    conflicts = np.flatnonzero((groups.nunique() > 1).to_numpy())
    if len(conflicts):
        rows_of_first = np.flatnonzero(observations == conflicts[0])
        first_row = rows_of_first[0]
        values = pd.unique(rows[column].iloc[rows_of_first].dropna())
        observation = ", ".join(
            f"{key_column} {rows[key_column].iloc[first_row]}" for key_column in observation_columns
        )
        candidates = []
        for candidate in ("method", "model", "seed", "reader", "metric"):
            if candidate in rows.columns and candidate not in observation_columns:
                candidates.append(candidate)
        hint = Message()
        if candidates:
            hint = Message(f"if it depends on {' or '.join(candidates)}, name that in ", Setting("by"))
        raise ColumnError(
            f"column {column!r} has {len(values)} values for one observation "
            f"({observation}: {values[0]}, {values[1]})",
            hint=hint,
            column=column,
            rows=row_numbers_for_errors[rows_of_first].tolist(),
        )
    return groups.first().array


class CorrelationTable(NamedTuple):
    """Table of two variables to be correlated, with a row per observation."""

    #: The table, which also has the grouping columns, the strata and the covariates.
    codes: ColumnCodes
    #: Grouping columns.
    groups: list[str]
    #: Columns of the strata.
    strata: list[str]
    #: (n_rows,): Values of the first variable, NaN where missing.
    x: np.ndarray
    #: (n_rows,): Values of the second variable, NaN where missing.
    y: np.ndarray
    #: (n_rows, n_covariates): Values of the covariates, NaN where missing.
    covariates: np.ndarray


def correlation_table(
    data: pd.DataFrame,
    x: str,
    y: str,
    by: str | Sequence[str] | None,
    stratified: str | None,
    unit: Unit,
    covariates: Sequence[str] = (),
) -> CorrelationTable:
    """Check the columns of a correlation and make the table that has them."""
    frame = check_frame(data, "data")
    if x == y:
        raise ValueRangeError(
            Setting("x"),
            " and ",
            Setting("y"),
            f" are both {x!r}",
            hint="name two columns or metrics",
            option="x",
            value=x,
        )
    groups = check_by(frame, by, ("method",), "data")
    strata = check_by(frame, stratified or (), (), "data")
    if stratified is not None:
        check_not_in_by(stratified, "stratified", groups)
    columns_of_units = given_and_possible_unit_columns(frame, unit)
    codes = coded_wide_table(frame, [x, y, *covariates], [*groups, *strata, *columns_of_units])
    x_values = check_numeric(codes.frame, x, "data")
    y_values = check_numeric(codes.frame, y, "data")
    covariate_values = np.empty((len(codes.frame), len(covariates)))
    for position, name in enumerate(covariates):
        covariate_values[:, position] = check_numeric(codes.frame, name, "data")
    values_by_name = dict(zip(covariates, covariate_values.T, strict=True))
    warn_of_labels_taken_as_numbers({x: x_values, y: y_values, **values_by_name})
    return CorrelationTable(codes, groups, strata, x_values, y_values, covariate_values)
