"""A table with one row per observation and a column per metric, from a scores frame or from a tidy table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import (
    ColumnError,
    ValueRangeError,
    check_by,
    check_columns,
    check_frame,
    check_numeric,
    did_you_mean,
    quoted,
)
from salstats.frames import KEY_COLUMNS, SCORES_COLUMNS, ColumnCodes, check_table, coded_scores
from salstats.stats.engine.label_columns import warn_of_correlated_labels
from salstats.stats.engine.units import Unit, unit_columns


def is_scores_frame(frame: pd.DataFrame) -> bool:
    """Whether a frame has the columns of a scores frame."""
    return all(c in frame.columns for c in SCORES_COLUMNS)


def wide_table(data: pd.DataFrame, names: Sequence[str], keep: Sequence[str] = ()) -> pd.DataFrame:
    """Table in which every one of `names` is a column; see `wide_codes`."""
    return wide_codes(data, names, keep).frame


def wide_codes(data: pd.DataFrame, names: Sequence[str], keep: Sequence[str] = ()) -> ColumnCodes:
    """Table in which every one of `names` is a column, with the columns of `keep`, coded.

    A tidy table comes back as it is, as does a scores frame with the name "score". Of another scores
    frame, where a name that is not a column is a metric: one row per data set, case, task, method,
    reader, model and seed that has a score of a metric wanted, NaN where it lacks another; without a
    metric among the names, one row per data set, case, task and combination of `keep`, so that a
    covariate that stands beside every metric and method is used once. A covariate that is missing in some
    rows of an observation is taken from the others.
    """
    frame = check_frame(data, "data")
    if not is_scores_frame(frame):
        check_columns(frame, names, "data")
        return check_table(frame, names)
    coded = coded_scores(frame, "data")
    wanted = metrics_among(frame, names)
    if wanted and ("score" in names or "metric" in keep):
        clash = "the column 'score'" if "score" in names else "by='metric'"
        raise ColumnError(
            f"{clash} and the metric {wanted[0]!r} cannot go together, as 'score' holds the scores of every "
            "metric; name metrics only, or use 'score' with by='metric'"
        )
    if "score" in names:
        return coded
    if wanted:
        coded = coded.take(np.flatnonzero(frame["metric"].isin(wanted).to_numpy()))
        key = [c for c in KEY_COLUMNS if c in frame.columns and c != "metric"]
    else:
        key = list(dict.fromkeys([c for c in ("dataset", "case", "task") if c in frame.columns] + [*keep]))
    rows, codes = coded.frame, coded.combined(key)
    found = coded.take(np.unique(codes, return_index=True)[1], key)
    table = found.frame
    for column in dict.fromkeys([*names, *keep]):
        if column not in key and column not in wanted:
            table[column] = one_value(rows, codes, key, column)
    for metric, values in metric_columns(rows, codes, wanted).items():
        table[metric] = values
    return found


def metrics_among(frame: pd.DataFrame, names: Sequence[str], where: str = "") -> list[str]:
    """Those of `names` that are metrics of a frame, in their order; the others have to be columns."""
    has_metrics = {"metric", "score"} <= set(frame.columns)
    known = [str(m) for m in pd.unique(frame["metric"].dropna())] if has_metrics else []
    metrics = [name for name in names if name not in frame.columns]
    for name in metrics:
        if name not in known:
            hint = did_you_mean(name, [*frame.columns, *known])
            also = f"; metrics: {quoted(known)}" if known else ""
            raise ColumnError(
                f"{name!r}{where} is neither a column nor a metric of data{hint} "
                f"(columns: {quoted(frame.columns)}{also})"
            )
    return metrics


def metric_columns(rows: pd.DataFrame, codes: np.ndarray, metrics: Sequence[str]) -> dict[str, np.ndarray]:
    """Scores of each metric by the codes of observations, NaN where there is none."""
    scores, names = rows["score"].to_numpy(dtype=np.float64), rows["metric"].to_numpy()
    found = {metric: np.full(int(codes.max()) + 1, np.nan) for metric in metrics}
    for metric, values in found.items():
        values[codes[names == metric]] = scores[names == metric]
    return found


def one_value(rows: pd.DataFrame, codes: np.ndarray, key: list[str], column: str) -> Any:
    """Value of a covariate for each observation, which its rows must agree on."""
    groups = rows[column].groupby(codes)
    several = np.flatnonzero((groups.nunique() > 1).to_numpy())
    if len(several):
        here = np.flatnonzero(codes == several[0])
        values = pd.unique(rows[column].iloc[here].dropna())
        shown = ", ".join(f"{c} {rows[c].iloc[here[0]]}" for c in key)
        others = [
            c for c in ("method", "model", "seed", "reader", "metric") if c in rows.columns and c not in key
        ]
        hint = f"; if it depends on {' or '.join(others)}, name that in by=" if others else ""
        raise ColumnError(
            f"column {column!r} has {len(values)} values for one observation "
            f"({shown}: {values[0]}, {values[1]}){hint}"
        )
    return groups.first().array


def columns_to_correlate(
    data: pd.DataFrame,
    x: str,
    y: str,
    by: str | Sequence[str] | None,
    stratified: str | None,
    unit: Unit,
    covariates: Sequence[str] = (),
) -> tuple[list[str], list[str], ColumnCodes, np.ndarray, np.ndarray]:
    """Grouping columns, strata, the coded table of all columns, and both columns' numbers, NaN where missing.

    Covariates are columns of the table, too.
    """
    frame = check_frame(data, "data")
    if x == y:
        raise ValueRangeError(f"x and y are both {x!r}; name two columns or metrics")
    groups = check_by(frame, by, ("method",), "data")
    strata = check_by(frame, stratified or (), (), "data")
    if stratified in groups:
        raise ColumnError(f"stratified={stratified!r} is also in by={groups}; leave it out of one of them")
    carried = unit_columns(frame, unit)
    codes = wide_codes(frame, [x, y, *covariates], [*groups, *strata, *carried])
    first, second = (check_numeric(codes.frame, name, "data") for name in (x, y))
    others = {name: check_numeric(codes.frame, name, "data") for name in covariates}
    warn_of_correlated_labels({x: first, y: second, **others})
    return groups, strata, codes, first, second
