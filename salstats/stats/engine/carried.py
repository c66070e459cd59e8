"""What scores say beside their values, carried into estimates: why some are missing, how they were made."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.frames import KEY_COLUMNS, SCORES_COLUMNS
from salstats.stats.engine.design import AVERAGE, OVERALL

ABSENT, NEGATIVE, UNDEFINED = "finding absent", "true negative", "undefined"
#: Reasons of a score that there is nothing to give for.
NOTHING_THERE = (ABSENT, NEGATIVE)
#: Columns of a scores frame that say it, each for its own metrics.
HOW_SCORED = (
    "distance_unit", "distance_options", "pdc_options", "metric_options", "curve_options", "center_bias",
    "n_samples", "floor", "undefined", "human_label", "truth_rule",
)  # fmt: skip
#: Stands where scores of a metric were made in more than one way.
SEVERAL = "several"


def reasons(scores: pd.DataFrame, *, scored: bool = True) -> np.ndarray:
    """Why the score of each row is undefined; "" where it is defined, unless `scored` is False."""
    found = np.full(len(scores), UNDEFINED, dtype=object)
    if "label" in scores.columns:
        found[(scores["label"] == 0).to_numpy(dtype=bool, na_value=False)] = ABSENT
    if "reason" in scores.columns:
        stated = (scores["reason"].notna() & scores["reason"].ne("")).to_numpy(dtype=bool, na_value=False)
        found[stated] = scores["reason"][stated].astype("str").to_numpy(dtype=object)
    return np.where(scores["score"].isna().to_numpy(dtype=bool), found, "") if scored else found


def nothing_there(scores: pd.DataFrame) -> np.ndarray:
    """Which rows have no score, if they have none, since the finding is absent."""
    if not {"label", "reason"} & set(scores.columns):
        return np.zeros(len(scores), dtype=bool)
    return np.isin(reasons(scores, scored=False), NOTHING_THERE)


def is_absent(scores: pd.DataFrame) -> np.ndarray:
    """Which rows have no score since the finding is absent."""
    missing = scores["score"].isna().to_numpy(dtype=bool)
    return nothing_there(scores) & missing if missing.any() else missing


def absent_pairs(pairs: pd.DataFrame) -> np.ndarray:
    """Which pairs of `pair_with_reference` lack a score of either side as the finding is absent."""
    sides = [c for c in ("score", "reason") if c in pairs.columns]
    return is_absent(pairs) | is_absent(pairs.assign(**{c: pairs[f"reference_{c}"] for c in sides}))


def absent_column(keys: pd.DataFrame, rows: pd.DataFrame, data: pd.DataFrame) -> dict[str, Any]:
    """How many of each estimate's missing scores are of absent findings, where any is.

    `rows` are the grouping columns of the rows without a finding; "Average" and "Overall" stand for several
    values of a column of `data` that holds no such value.
    """
    if not len(rows):
        return {}
    return {"n_absent": counts_of_rows(keys, rows, data)}


def counts_of_rows(keys: pd.DataFrame, rows: pd.DataFrame, data: pd.DataFrame) -> np.ndarray:
    """Count for each estimate the `rows` with its grouping columns; see `pooled_columns`."""
    counts = np.zeros(len(keys), dtype=np.int64)
    for here, own in pooled_columns(keys, list(rows.columns), data):
        both = pd.concat([rows[own], keys.loc[here, own]], ignore_index=True).astype("object")
        codes = both.groupby(own, dropna=False).ngroup().to_numpy() if own else np.zeros(len(both), np.int64)
        sizes = np.bincount(codes[: len(rows)], minlength=int(codes.max()) + 1)
        counts[here] = sizes[codes[len(rows) :]]
    return counts


def pooled_columns(
    keys: pd.DataFrame, by: Sequence[str], data: pd.DataFrame
) -> Iterator[tuple[np.ndarray, list[str]]]:
    """Yield the estimates (bool, one per row) that are of the same grouping columns, and these columns.

    "Average" and "Overall" stand for several values of a column of `data` that holds no such value, so that
    the column separates no rows of such an estimate.
    """
    pooled = np.zeros((len(keys), len(by)), dtype=bool)
    for place, column in enumerate(by):
        if not keys[column].isin([AVERAGE, OVERALL]).any():
            continue
        held = data[column].unique() if column in data.columns else ()
        pooled[:, place] = keys[column].isin({AVERAGE, OVERALL}.difference(held))
    for over in np.unique(pooled, axis=0):
        own = [c for c, is_over in zip(by, over, strict=True) if not is_over]
        yield (pooled == over).all(axis=1), own


def absent_observations(data: pd.DataFrame, names: Sequence[str], by: Sequence[str]) -> pd.DataFrame:
    """Grouping columns of the observations that lack one of `names` as the finding is absent.

    `names` are columns of a scores frame or metrics; in any other table no finding is known.
    """
    if not set(SCORES_COLUMNS) <= set(data.columns):
        return data.iloc[:0][list(by)]
    rows = data[is_absent(data)]
    metrics = [n for n in names if n not in data.columns]
    lacks = rows["metric"].isin(metrics) if metrics else rows[list(names)].isna().any(axis=1)
    whose = KEY_COLUMNS if metrics else ("dataset", "case", "task", *by)
    key = [c for c in dict.fromkeys(whose) if c in rows.columns and (c != "metric" or not metrics)]
    return rows[lacks.to_numpy()].drop_duplicates(key)[list(by)]


def missing_scores(estimates: pd.DataFrame) -> np.ndarray:
    """How many scores each estimate misses, which it does not of absent findings; NaN if not known."""
    n_missing, n_absent = (
        estimates[c].to_numpy(dtype=np.float64, na_value=np.nan) if c in estimates.columns else np.nan
        for c in ("n_missing", "n_absent")
    )
    return np.broadcast_to(n_missing - np.nan_to_num(n_absent), len(estimates))


def how_scored(
    scores: pd.DataFrame, keys: pd.DataFrame, columns: Sequence[str] = HOW_SCORED
) -> dict[str, list[Any]]:
    """How the scores of its metric were made, for each row of an estimates frame.

    "several" where they were made in more than one way, None where nothing is said of the metric; without a
    column `metric` all scores count.
    """
    found = {}
    for column in columns:
        if column not in scores.columns:
            continue
        said = scores.loc[scores[column].notna(), ["metric", column]].drop_duplicates()
        if said.empty:
            continue
        if "metric" in keys.columns:
            ways = {metric: _one(rows[column]) for metric, rows in said.groupby("metric")}
            found[column] = [ways.get(metric) for metric in keys["metric"]]
        else:
            found[column] = [_one(said[column])] * len(keys)
    return found


def _one(values: pd.Series) -> Any:
    """The one value there is, or that there are several."""
    distinct = values.unique()
    return distinct[0] if len(distinct) == 1 else SEVERAL
