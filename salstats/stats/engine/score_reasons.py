"""Columns of scores that estimates repeat: reasons why scores are missing, and options of their metrics."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.coded_text import TEXT
from salstats.frames import KEY_COLUMNS, SCORES_COLUMNS
from salstats.stats.engine.grouping import AVERAGE, OVERALL

#: Reasons why a score is undefined: the finding is not in the image and nothing is scored, it is not in the
#: image and nothing was predicted, or any other.
ABSENT = "finding absent"
NEGATIVE = "true negative"
UNDEFINED = "undefined"
#: Reasons that mean that the finding is absent.
ABSENT_REASONS = (ABSENT, NEGATIVE)
#: Columns of a scores frame with options of metrics, each for some metrics.
METRIC_OPTION_COLUMNS = (
    "distance_unit", "distance_options", "pdc_options", "metric_options", "curve_options", "center_bias",
    "n_samples", "floor", "undefined", "human_label", "truth_rule", "threshold",
)  # fmt: skip
#: Value of such a column where scores of one metric were made with different options.
SEVERAL = "several"


def reasons_of_undefined_scores(scores: pd.DataFrame) -> np.ndarray:
    """Return the reason why the score of each row is undefined, "" for defined scores."""
    is_undefined = scores["score"].isna().to_numpy(dtype=bool)
    return np.where(is_undefined, _reasons_as_if_all_undefined(scores), "")


def _reasons_as_if_all_undefined(scores: pd.DataFrame) -> np.ndarray:
    """Return the reason that the score of each row would have if it was undefined; scores are ignored."""
    row_reasons = np.full(len(scores), UNDEFINED, dtype=object)
    if "label" in scores.columns:
        is_negative = (scores["label"] == 0).to_numpy(dtype=bool, na_value=False)
        row_reasons[is_negative] = ABSENT
    if "reason" in scores.columns:
        is_filled = scores["reason"].notna() & scores["reason"].ne("")
        has_reason = is_filled.to_numpy(dtype=bool, na_value=False)
        row_reasons[has_reason] = scores["reason"][has_reason].astype(TEXT).to_numpy(dtype=object)
    return row_reasons


def is_row_of_absent_finding(scores: pd.DataFrame) -> NDArray[np.bool_]:
    """Mask the rows whose own finding is absent by label or reason, even if they have a score."""
    if not {"label", "reason"} & set(scores.columns):
        return np.zeros(len(scores), dtype=bool)
    return np.isin(_reasons_as_if_all_undefined(scores), ABSENT_REASONS)


def is_missing_for_absent_finding(scores: pd.DataFrame) -> NDArray[np.bool_]:
    """Mask the rows that have no score because the finding is absent."""
    is_missing = scores["score"].isna().to_numpy(dtype=bool)
    if not is_missing.any():
        return is_missing
    return is_row_of_absent_finding(scores) & is_missing


def pair_lacks_score_of_absent_finding(pairs: pd.DataFrame) -> NDArray[np.bool_]:
    """Return True for pairs that lack a score because the finding is absent.

    `pairs` is a frame that `all_pairs_with_nan_for_missing_scores` returns.
    """
    columns = [c for c in ("score", "reason") if c in pairs.columns]
    reference_scores = pairs.assign(**{c: pairs[f"reference_{c}"] for c in columns})
    is_absent_pair: NDArray[np.bool_] = is_missing_for_absent_finding(pairs) | is_missing_for_absent_finding(
        reference_scores
    )
    return is_absent_pair


def n_absent_column_if_any(
    keys: pd.DataFrame, absent_row_keys: pd.DataFrame, data: pd.DataFrame
) -> dict[str, Any]:
    """Return the column `n_absent` of an estimates frame, or nothing if no finding is absent.

    It has the number of each estimate's missing scores whose finding is absent. Parameters are those of
    `count_rows_per_estimate`.
    """
    if not len(absent_row_keys):
        return {}
    return {"n_absent": count_rows_per_estimate(keys, absent_row_keys, data)}


def count_rows_per_estimate(
    estimate_keys: pd.DataFrame, keys_of_counted_rows: pd.DataFrame, scores: pd.DataFrame
) -> np.ndarray:
    """Count for each estimate the rows with the values of its grouping columns, shape (n_estimates,).

    Parameters
    ----------
    estimate_keys : DataFrame
        Grouping columns of the estimates.
    keys_of_counted_rows : DataFrame
        Grouping columns of the rows to be counted.
    scores : DataFrame
        The table of scores behind the estimates, see `estimate_masks_by_separating_columns`.
    """
    counts = np.zeros(len(estimate_keys), dtype=np.int64)
    for estimates, columns in estimate_masks_by_separating_columns(
        estimate_keys, list(keys_of_counted_rows.columns), scores
    ):
        combined = pd.concat(
            [keys_of_counted_rows[columns], estimate_keys.loc[estimates, columns]], ignore_index=True
        )
        combined = combined.astype("object")
        codes: NDArray[np.integer] = np.zeros(len(combined), dtype=np.int64)
        if columns:
            codes = combined.groupby(columns, dropna=False).ngroup().to_numpy()
        row_codes = codes[: len(keys_of_counted_rows)]
        estimate_codes = codes[len(keys_of_counted_rows) :]
        n_rows = np.bincount(row_codes, minlength=int(codes.max()) + 1)
        counts[estimates] = n_rows[estimate_codes]
    return counts


def estimate_masks_by_separating_columns(
    keys: pd.DataFrame, by: Sequence[str], data: pd.DataFrame
) -> Iterator[tuple[NDArray[np.bool_], list[str]]]:
    """Yield blocks of estimates, each with the columns of `by` that separate its estimates.

    A block is a mask of its rows of `keys`, shape (n_estimates,). A column does not separate estimates in
    which it is "Average" or "Overall", which stand for several values. If the column of `data` has such a
    value itself, it is a value like any other.
    """
    # (n_estimates, n_columns): True where an estimate pools the values of a column
    is_pooled = np.zeros((len(keys), len(by)), dtype=bool)
    for position, column in enumerate(by):
        if not keys[column].isin([AVERAGE, OVERALL]).any():
            continue
        pooled_labels = {AVERAGE, OVERALL}
        if column in data.columns:
            pooled_labels = pooled_labels.difference(data[column].unique())
        is_pooled[:, position] = keys[column].isin(pooled_labels)
    for pattern in np.unique(is_pooled, axis=0):
        block = (is_pooled == pattern).all(axis=1)
        separating_columns = [by[position] for position in np.flatnonzero(~pattern).tolist()]
        yield block, separating_columns


def by_columns_per_observation_of_absent_finding(
    data: pd.DataFrame, variables: Sequence[str], by: Sequence[str]
) -> pd.DataFrame:
    """Return the grouping columns of the rows of data that lack a variable because their finding is absent.

    Parameters
    ----------
    data : DataFrame
        A scores frame; for any other table no row is returned.
    variables : sequence of str
        The variables: columns of the frame, or metrics.
    by : sequence of str
        Grouping columns.

    Returns
    -------
    DataFrame
        The columns of `by`, with a row for each observation that lacks one of the variables.
    """
    if not set(SCORES_COLUMNS) <= set(data.columns):
        return data.iloc[:0][list(by)]
    rows = data[is_missing_for_absent_finding(data)]
    metrics = [n for n in variables if n not in data.columns]
    if metrics:
        # metrics are variables of one observation, and rows of absent findings have no score
        has_no_value = rows["metric"].isin(metrics)
        observation_columns = [c for c in KEY_COLUMNS if c in rows.columns and c != "metric"]
    elif "score" in variables:
        has_no_value = rows[list(variables)].isna().any(axis=1)
        observation_columns = [c for c in KEY_COLUMNS if c in rows.columns]
    else:
        # covariates are values of a case and task, which rows of several metrics and methods repeat
        has_no_value = rows[list(variables)].isna().any(axis=1)
        case_and_group_columns = dict.fromkeys(("dataset", "case", "task", *by))
        observation_columns = [c for c in case_and_group_columns if c in rows.columns]
    return rows[has_no_value.to_numpy()].drop_duplicates(observation_columns)[list(by)]


def count_missing_without_absent_findings(estimates: pd.DataFrame) -> np.ndarray:
    """Return the number of each estimate's missing scores, without absent findings; NaN if unknown."""
    n_missing = np.full(len(estimates), np.nan)
    if "n_missing" in estimates.columns:
        n_missing = estimates["n_missing"].to_numpy(dtype=np.float64, na_value=np.nan)
    n_absent = np.zeros(len(estimates))
    if "n_absent" in estimates.columns:
        n_absent = estimates["n_absent"].to_numpy(dtype=np.float64, na_value=np.nan)
    return n_missing - np.nan_to_num(n_absent)


def metric_option_columns_several_where_mixed(
    scores: pd.DataFrame, keys: pd.DataFrame, columns: Sequence[str] = METRIC_OPTION_COLUMNS
) -> dict[str, list[Any]]:
    """Return columns of an estimates frame with the options that the scores of each metric were made with.

    The value is "several" where scores of a metric were made with different options, and None where the
    metric has no such option. Without a column `metric` in `keys` all scores count. `columns` are the columns
    of the scores that are repeated if they are there.
    """
    options = {}
    for column in columns:
        if column not in scores.columns:
            continue
        values = scores.loc[scores[column].notna(), ["metric", column]].drop_duplicates()
        if values.empty:
            continue
        if "metric" in keys.columns:
            value_of_metric = {
                metric: _common_value_or_several(rows[column]) for metric, rows in values.groupby("metric")
            }
            options[column] = [value_of_metric.get(metric) for metric in keys["metric"]]
        else:
            options[column] = [_common_value_or_several(values[column])] * len(keys)
    return options


def human_label_column_if_one_label(data: pd.DataFrame) -> dict[str, str]:
    """Return the column `human_label` of estimates from all of `data`, or nothing unless it has one label."""
    if "human_label" not in data.columns:
        return {}
    labels = data["human_label"].dropna().unique()
    if len(labels) != 1:
        return {}
    return {"human_label": str(labels[0])}


def _common_value_or_several(values: pd.Series) -> Any:
    """Return the value if all are equal, else "several"."""
    distinct = values.unique()
    return distinct[0] if len(distinct) == 1 else SEVERAL
