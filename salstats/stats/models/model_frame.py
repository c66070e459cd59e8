"""The frame that a model is fitted to, with metrics as columns or the gap to a reference as the outcome."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import check_by, check_columns, quoted
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, FormulaError, Setting
from salstats.frames import KEY_COLUMNS, ColumnCodes, coded_scores_without_warnings
from salstats.stats.engine.comparisons import MISSING_SIDE, all_pairs_with_nan_for_missing_scores
from salstats.stats.engine.score_reasons import ABSENT, pair_lacks_score_of_absent_finding
from salstats.stats.engine.shared_cases import (
    advice_to_count_left_out_cases,
    warn_and_add_caution_of_incomplete_pairs,
)
from salstats.stats.engine.wide_tables import metric_columns, names_that_are_metrics_not_columns
from salstats.stats.models.formulas import Formula


def frame_with_metrics_as_columns(
    data: pd.DataFrame, formula: Formula, reference_to_subtract_methods_from: str | None
) -> pd.DataFrame:
    """Return the frame of a formula, in which each of its names is a column.

    It is `data` itself if `data` has all of these columns. Otherwise it has one row per case, task, method
    (and data set, reader, model, seed), with the scores of each metric as a column, NaN for missing ones, and
    the other columns from the row of the left side's metric if there is one. With a reference to subtract
    from, the left side is its score minus that of each other method on the same case.
    """
    metrics = _checked_metrics_of_formula(data, formula, reference_to_subtract_methods_from)
    if reference_to_subtract_methods_from is not None:
        return _reference_minus_method_response_frame(
            data, formula, metrics, reference_to_subtract_methods_from
        )
    if not metrics:
        return data.reset_index(drop=True)
    return _metrics_as_columns(data, metrics)


def formula_metrics_and_gap_response(
    data: pd.DataFrame, formula: Formula, reference: str | None
) -> tuple[str, ...]:
    """Return the metrics and, with a reference, the response: formulas that share these share their frame."""
    metrics = _checked_metrics_of_formula(data, formula, reference)
    if reference is not None:
        return (*metrics, formula.response.name)
    return tuple(metrics)


def _checked_metrics_of_formula(data: pd.DataFrame, formula: Formula, reference: str | None) -> list[str]:
    """Return the metrics of `data` that a formula names.

    A column in the formula that the frame drops or replaces raises FormulaError.
    """
    metrics = names_that_are_metrics_not_columns(data, formula.columns, f" in {formula.text!r}")
    _check_score_and_reference_score_not_named(formula, metrics, reference)
    return metrics


def _check_score_and_reference_score_not_named(
    formula: Formula, metrics: Sequence[str], reference: str | None
) -> None:
    """Raise FormulaError for a column in a formula that the frame drops, or fills with other values."""
    if not metrics and reference is None:
        return
    replaced = {"score"}
    if reference is not None:
        # The gap is the difference of these two columns. Without metrics `score` may be the left side itself.
        replaced = {"score", "reference_score"}
        if not metrics:
            replaced -= set(formula.response.columns)
    for column in formula.columns:
        if column in replaced:
            raise FormulaError(
                f"{formula.text!r} cannot use the column {column!r}, which the model makes of the scores",
                hint="name the metric instead, or rename a column of other values",
                column=column,
            )


def _metrics_as_columns(scores: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Return a row per combination of keys, a column per metric, and other columns of the first metric."""
    rows = scores[scores["metric"].isin(metrics)]
    # Rows of the first metric come first, so that the first row of each combination is one of its rows.
    rank_of_metric = {metric: rank for rank, metric in enumerate(metrics)}
    ranks = rows["metric"].astype(TEXT).map(rank_of_metric).to_numpy()
    ordered = rows.iloc[np.argsort(ranks, kind="stable")]
    keys = [column for column in KEY_COLUMNS if column in scores.columns and column != "metric"]
    codes = ColumnCodes(ordered).combined(keys)
    _, first_rows = np.unique(codes, return_index=True)
    first_rows = np.sort(first_rows)
    frame = ordered.iloc[first_rows].drop(columns="score").reset_index(drop=True)
    for metric, values in metric_columns(ordered, codes, metrics).items():
        frame[metric] = values[codes[first_rows]]
    frame["metric"] = metrics[0]
    return frame


def _reference_minus_method_response_frame(
    data: pd.DataFrame, formula: Formula, metrics: Sequence[str], reference: str
) -> pd.DataFrame:
    """Return the model frame whose left side is the gap, the score of the reference minus a method's."""
    if not formula.response.is_column:
        raise FormulaError(
            Setting("reference", reference),
            " needs a metric by itself on the left side, since the gap is formed first; ",
            formula.response.name,
            " is not one",
        )
    response = formula.response.columns[0]
    check_columns(data, ["case", "method"], "data")
    if response in metrics:
        scores = _unpaired_response_scores_with_metric_covariate_columns(data, response, metrics, reference)
    else:
        scores = data.assign(score=data[response])
        if "metric" not in scores.columns:
            scores = scores.assign(metric=response)
        coded_scores_without_warnings(scores, "data")
    paired = all_pairs_with_nan_for_missing_scores(scores.reset_index(drop=True), reference)
    gap = paired["reference_score"] - paired["score"]
    _warn_many_cases_scored_by_one_side(paired, gap.notna(), reference)
    if "reason" in paired.columns:
        paired = paired.drop(columns="reference_reason").assign(reason=_gap_reasons(paired))
    paired = paired.assign(**{"score": gap, response: gap})
    if response in metrics:
        return paired.drop(columns=["score", "reference_score"])
    if metrics:
        raise FormulaError(
            "with ",
            Setting("reference", reference),
            f", {formula.text!r} cannot use the column {response!r} together with the metrics "
            f"{quoted(metrics)}",
            hint="name a metric on the left side",
            column=response,
        )
    return paired[list(data.columns)]


def _unpaired_response_scores_with_metric_covariate_columns(
    data: pd.DataFrame, response: str, metrics: Sequence[str], reference: str
) -> pd.DataFrame:
    """Return the scores of the metric on the left side, with the other metrics as columns."""
    # Other metrics become columns before methods are paired with the reference. Afterwards rows have the
    # reader of the reference, and no longer match the method's rows of other metrics.
    is_response = data["metric"].eq(response)
    is_covariate = data["metric"].isin(metrics) & data["method"].ne(reference)
    covariates = [metric for metric in metrics if metric != response]
    scores = _metrics_as_columns(data[is_response | is_covariate], [response, *covariates])
    scores["score"] = scores[response]
    return scores


def _gap_reasons(paired: pd.DataFrame) -> pd.Series:
    """Return why each gap is missing: absence of the finding, else the reason of the method or reference."""
    reasons = paired["reason"]
    stated = reasons.where(reasons.notna() & reasons.ne("")).astype(TEXT)
    return stated.fillna(paired["reference_reason"]).mask(pair_lacks_score_of_absent_finding(paired), ABSENT)


def _warn_many_cases_scored_by_one_side(paired: pd.DataFrame, complete: pd.Series, reference: str) -> None:
    """Warn if a method or the reference lacks scores for many cases of the other.

    `complete` (n_pairs,) is True for the pairs with a gap.
    """
    method_is_missing = paired["score"].isna()
    reference_is_missing = paired["reference_score"].isna()
    is_one_sided = (reference_is_missing != method_is_missing) & ~pair_lacks_score_of_absent_finding(paired)
    one_sided = pd.DataFrame(
        {
            "method": paired["method"],
            MISSING_SIDE: np.where(method_is_missing, "method", "reference"),
        }
    )[is_one_sided]
    comparisons = pd.DataFrame({"method": paired["method"].unique()})
    n_pairs = comparisons["method"].map(paired.loc[complete, "method"].value_counts())
    comparisons["n_pairs"] = n_pairs.fillna(0).astype(np.int64)
    warn_and_add_caution_of_incomplete_pairs(
        comparisons, one_sided, paired, remedy=advice_to_count_left_out_cases(reference)
    )


def by_columns_or_method(
    data: pd.DataFrame, formulas: Sequence[Formula], by: str | Sequence[str] | None
) -> list[str]:
    """Return the columns of `by`, for None `method` if it is a column that no formula uses.

    A column that is also in a formula raises ColumnError.
    """
    if by is None and any("method" in formula.columns for formula in formulas):
        return []
    columns = check_by(data, by, ("method",), "data")
    for formula in formulas:
        repeated = [column for column in columns if column in formula.columns]
        if repeated:
            raise ColumnError(
                f"{quoted(repeated)} is in ",
                Setting("by"),
                f" and in {formula.text!r}; within a group it does not vary",
                column=repeated[0],
            )
    return columns
