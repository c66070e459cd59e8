"""The Methods section on regressions, correlations and ROC curves."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from salstats.display.report.associations import of_gaps, slope_rows, target_words, with_task
from salstats.display.report.inference_words import adjustment, errors_of_slopes
from salstats.display.report.model import Settings
from salstats.display.report.wording import (
    column_words,
    is_adjusted,
    method_words,
    metric_words,
    unit_words,
)
from salstats.display.text.format import MINUS, joined
from salstats.display.text.labels import Labels
from salstats.stats.intervals import find_interval


def regression_methods(frames: Mapping[str, pd.DataFrame], settings: Settings, labels: Labels) -> list[str]:
    """Models of scores, and of gaps to the reference, on covariates."""
    if "regression" not in frames:
        return []
    rows = slope_rows(frames["regression"], settings)
    if rows.empty:
        return []
    gaps = of_gaps(rows)
    found = [_models(rows, ~gaps, settings, labels)]
    if gaps.any():
        reference = method_words(str(rows["reference"][gaps].iloc[0]), labels)
        gap = f"the score of {reference} minus that of the method on the same case"
        if gaps.all():
            found.append(f"The gap was {gap}.")
        else:
            found.append(f"The same models were fitted to the gap, {gap}.")
    found.append(
        "Covariates were rescaled to run from 0 (the smallest value among the cases with a score) to 1 (the "
        "largest), so that a slope is the difference in the mean outcome between these two."
    )
    binary = _binary(frames, set(rows["outcome"]), labels)
    if binary:
        found.append(
            f"For {joined(binary)}, 0 or 1 for each case, this is a linear probability model, whose slopes "
            "are differences in rate."
        )
    found += errors_of_slopes(rows, settings)
    nouns = "slopes of scores and gaps" if gaps.any() and not gaps.all() else "slopes"
    again = _adjusted_before(frames, ("decrease", "difference"), settings)
    return [*found, adjustment({nouns: rows}, settings, again=again)]


def _models(rows: pd.DataFrame, of_scores: np.ndarray, settings: Settings, labels: Labels) -> str:
    """Which models were fitted."""
    present = list(dict.fromkeys([*(c for c in settings.covariates if c in set(rows["covariate"]))]))
    present += [c for c in dict.fromkeys(rows["covariate"]) if c not in present]
    what = "Scores" if of_scores.any() else "Gaps to the reference"
    each = ["covariate", "method", "metric"] if len(present) > 1 else ["method", "metric"]
    scored = set(rows["method"][of_scores])
    but = settings.reference is not None and bool(scored) and settings.reference not in scored
    apart = f" ({method_words(str(settings.reference), labels)} excepted)" if but else ""
    task = ", with task as a categorical covariate" if with_task(rows) else ""
    others = "; slopes are thus not adjusted for the other covariates" if len(present) > 1 else ""
    return (
        f"{what} were regressed on {joined([column_words(c, labels) for c in present])} by ordinary least "
        f"squares, in one model for each {joined(each)}{apart}{task}{others}."
    )


def _binary(frames: Mapping[str, pd.DataFrame], outcomes: set[str], labels: Labels) -> list[str]:
    """Outcomes whose scores are all 0 or 1."""
    if "describe" not in frames:
        return []
    table = frames["describe"]
    table = table[(table["n"] > 0) & table["metric"].isin(outcomes)]
    binary = table.groupby("metric")["binary"].all()
    return [metric_words(m, labels) for m in labels.order("metric", binary.index[binary])]


def confidence_methods(frames: Mapping[str, pd.DataFrame], settings: Settings, labels: Labels) -> list[str]:
    """How correlations with the model's confidence and its ROC curves were taken."""
    return [*_rank_correlations(frames, settings, labels), *_areas(frames, settings, labels)]


def _rank_correlations(frames: Mapping[str, pd.DataFrame], settings: Settings, labels: Labels) -> list[str]:
    """How correlations were taken."""
    if "correlation" not in frames:
        return []
    frame = frames["correlation"]
    by = joined([name for name in ("method", "task") if name in frame.columns and frame[name].nunique() > 1])
    separately = f", separately by {by}" if by else ""
    one = unit_words(settings.unit)[0]
    repeated = "n_units" in frame.columns and bool((frame["n"] > frame["n_units"]).any())
    alone = ""
    if repeated:
        alone = f"; rows of the same {one} were taken as independent"
    elif settings.unit != "case":
        alone = (
            f"; where a {one} had several cases, only the first with a score, in order of case identifier, "
            "was used"
        )
    y = column_words(str(frame["y"].iloc[0]), labels)
    name = str(frame["term"].iloc[0]).capitalize()
    found = [f"{name}'s correlations of each metric with {y} were computed{separately}{alone}."]
    if name in ("Spearman", "Pearson"):
        found.append(
            f"Their P values were from Student's t distribution with n {MINUS} 2 degrees of freedom, their "
            f"intervals from Fisher's z transformation with standard error {_fisher(frame)}."
        )
    again = _adjusted_before(frames, ("decrease", "difference", "regression"), settings)
    if (frame["estimate"].abs() == 1).any():
        found.append(f"At a correlation of {MINUS}1 or 1 the P value is exact and there is no interval.")
    found.append(adjustment({"correlations": frame}, settings, again=again))
    return found


def _fisher(frame: pd.DataFrame) -> str:
    """Standard error on Fisher's z scale."""
    record = find_interval(frame["interval"].iloc[0], frame["term"].iloc[0])
    assert record is not None
    return record.note


def _areas(frames: Mapping[str, pd.DataFrame], settings: Settings, labels: Labels) -> list[str]:
    """How areas under ROC curves and their intervals were computed."""
    if "auroc" not in frames:
        return []
    frame = frames["auroc"]
    predictor = column_words(str(frame["predictor"].iloc[0]), labels)
    by = " by task" if "task" in frame.columns and frame["task"].nunique() > 1 else ""
    kinds = set(frame.loc[frame["conf_low"].notna(), "interval"].astype("str"))
    one = unit_words(settings.unit)[0]
    ways = []
    if "logit" in kinds:
        # one interval for both designs: cases that are their own patients are clusters of one
        ways.append(
            f"Student's t distribution on the logit scale and a variance that knows the cases of one {one} "
            "(Obuchowski 1997)"
            if bool((frame["n"] > frame["n_units"]).any())
            else "the logit scale and a variance for independent cases (DeLong et al. 1988)"
        )
    if "delong" in kinds:
        ways.append("the normal distribution and a variance for independent cases (DeLong et al. 1988)")
    if "obuchowski" in kinds:
        where = f", where a {one} had several cases," if "delong" in kinds else ""
        ways.append(
            f"{where} Student's t distribution and a variance for clustered cases (Obuchowski 1997)".strip()
        )
    how = f", with intervals from {joined(ways)}" if ways else ""
    if (frame["conf_low"] == 0).any() or (frame["conf_high"] == 1).any():
        how += "; limits were cut off at 0 and 1"
    return [
        f"The area under the ROC curve (AUROC) of {predictor}{target_words(frame, labels)} was "
        f"computed{by}{how}."
    ]


def _adjusted_before(frames: Mapping[str, pd.DataFrame], keys: Iterable[str], settings: Settings) -> bool:
    """Whether P values of one of these frames were adjusted."""
    return any(is_adjusted(frames[k], settings) for k in keys if k in frames)
