"""The rows of a model: metrics as columns, the gap to a reference, and the groups."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import (
    ColumnError,
    FormulaError,
    check_by,
    check_columns,
    quoted,
)
from salstats.frames import KEY_COLUMNS, ColumnCodes, valid_scores
from salstats.stats.engine.carried import ABSENT, absent_pairs
from salstats.stats.engine.comparisons import LACKING, pair_with_reference
from salstats.stats.engine.shared_cases import flow_call, mark_incomplete_pairs
from salstats.stats.engine.wide import metric_columns, metrics_among
from salstats.stats.models.formulas import Formula


def model_frame(data: pd.DataFrame, formula: Formula, reference: str | None) -> pd.DataFrame:
    """The rows a formula speaks of, with its metrics as columns.

    `data` as it is where every name is a column; else one row per case, task, method (and data set,
    reader, model, seed) with the scores of the metrics named, NaN where there is none, and the other
    columns from the row of the left side's metric where there is one. With `reference` the left side is
    its score minus that of each other method on the same case.
    """
    metrics = metrics_among(data, formula.columns, f" in {formula.text!r}")
    if reference is not None:
        return _gap_frame(data, formula, metrics, reference)
    if not metrics:
        return data.reset_index(drop=True)
    return _metrics_as_columns(data, metrics)


def _metrics_as_columns(scores: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """One row per key with a column per metric."""
    of_metrics = scores[scores["metric"].isin(metrics)]
    rank = of_metrics["metric"].astype("str").map({m: i for i, m in enumerate(metrics)}).to_numpy()
    ordered = of_metrics.iloc[np.argsort(rank, kind="stable")]
    codes = ColumnCodes(ordered).combined([c for c in KEY_COLUMNS if c in scores.columns and c != "metric"])
    first = np.sort(np.unique(codes, return_index=True)[1])
    frame = ordered.iloc[first].drop(columns="score").reset_index(drop=True)
    found = metric_columns(ordered, codes, metrics)
    return frame.assign(**{m: values[codes[first]] for m, values in found.items()}, metric=metrics[0])


def _gap_frame(data: pd.DataFrame, formula: Formula, metrics: Sequence[str], reference: str) -> pd.DataFrame:
    """The model frame whose left side is reference - method."""
    if not formula.response.is_column:
        raise FormulaError(
            f"reference={reference!r} needs a metric by itself on the left side, since the gap is "
            f"formed first; {formula.response.name} is not one"
        )
    left = formula.response.columns[0]
    check_columns(data, ["case", "method"], "data")
    if left in metrics:
        # what only the reference has, as readers, tells gaps apart, and not other metrics of a method
        its_own = data["metric"].eq(left) | (data["metric"].isin(metrics) & data["method"].ne(reference))
        scores = _metrics_as_columns(data[its_own], [left, *(m for m in metrics if m != left)])
        scores["score"] = scores[left]
    else:
        scores = data.assign(score=data[left])
        if "metric" not in scores.columns:
            scores = scores.assign(metric=left)
        valid_scores(scores, "data")
    paired = pair_with_reference(scores.reset_index(drop=True), reference)
    gap = paired["reference_score"] - paired["score"]
    _warn_incomplete_gaps(paired, gap.notna(), reference)
    if "reason" in paired.columns:
        # a gap is missing for what either side says, the absence of the finding before all
        stated = paired["reason"].where(paired["reason"].notna() & paired["reason"].ne(""))
        of_gap = stated.astype("object").fillna(paired["reference_reason"]).mask(absent_pairs(paired), ABSENT)
        paired = paired.drop(columns="reference_reason").assign(reason=of_gap)
    paired = paired.assign(**{"score": gap, left: gap})
    if left in metrics:
        return paired.drop(columns=["score", "reference_score"])
    if metrics:
        raise FormulaError(
            f"with reference={reference!r}, {formula.text!r} cannot use the column {left!r} and the metrics "
            f"{quoted(metrics)} together; name a metric on the left side"
        )
    return paired[list(data.columns)]


def _warn_incomplete_gaps(paired: pd.DataFrame, complete: pd.Series, reference: str) -> None:
    """Warn where a method or the reference lacks many cases of the other."""
    one_sided = paired["reference_score"].isna() != paired["score"].isna()
    one_sided &= ~absent_pairs(paired)
    sides = np.where(paired["score"].isna(), "method", "reference")
    pairs = pd.DataFrame({"method": paired["method"], LACKING: sides})[one_sided]
    n_pairs = paired.loc[complete, "method"].value_counts()
    methods = pd.DataFrame({"method": paired["method"].unique()})
    compared = methods.assign(n_pairs=methods["method"].map(n_pairs).fillna(0).astype(np.int64))
    mark_incomplete_pairs(compared, pairs, paired, flow_call(reference))


def grouping_columns(
    data: pd.DataFrame, formulas: Sequence[Formula], by: str | Sequence[str] | None
) -> list[str]:
    """The grouping columns: those asked for, or `method` where it is a column that no formula uses."""
    if by is None and any("method" in formula.columns for formula in formulas):
        return []
    columns = check_by(data, by, ("method",), "data")
    for formula in formulas:
        both = [c for c in columns if c in formula.columns]
        if both:
            raise ColumnError(
                f"{quoted(both)} is in by and in {formula.text!r}; within a group it does not vary"
            )
    return columns
