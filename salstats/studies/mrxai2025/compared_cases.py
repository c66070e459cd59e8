"""The cases that tools are compared on, explanations that failed, and the worst score of a failure."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_numeric, quoted
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, SalstatsError, Setting, ValueRangeError, warn
from salstats.frames import KEY_COLUMNS, check_scores, dataset_and_case_columns
from salstats.metrics.registry import METRICS, registered_metric
from salstats.scoring.cases import ABSENT, EMPTY, NO_MAP, NO_MASK, NOT_FINITE
from salstats.scoring.distances import DISTANCES

#: Says that the penalised Dice is a reconstruction, for every table and figure that shows one.
RECONSTRUCTION_NOTE = METRICS["pdc"].note
#: Tools and metrics in print; the last is the share of empty explanations.
NAMES = {"rex": "ReX", "empty_explanation": "Share of empty explanations"}
# Reasons why a case is left out, besides the finding that is absent.
FALSE_ALARM = "finding absent, and the model says otherwise"
MISSED = "the model misses the finding"
NO_PROB = "no probability of the model"
UNDEFINED_FOR_ALL = "undefined for every tool, no reason given"
EXCLUSION_REASONS = (ABSENT, FALSE_ALARM, MISSED, NO_PROB, UNDEFINED_FOR_ALL)
#: The reason of a row that a tool lacks.
NO_ROW = "no row"
#: The reason of an undefined score whose file gives none; the explanation counts as empty.
NO_REASON = "undefined, no reason given"
#: Reasons of scores of empty explanations.
EMPTY_REASONS = (EMPTY, NO_REASON)
#: Reasons of scores of explanations that a tool did not give.
NOT_GIVEN_REASONS = (NO_MAP, NO_MASK, NOT_FINITE, NO_ROW)
#: Columns that belong to a row and not to its case.
_ROW_COLUMNS = (
    "method", "metric", "score", "reason", "tp", "fp", "fn", "tn", "slice", "threshold", "cutoff", "smooth",
    "colormap", "distance_unit", "distance_options", "pdc_options", "undefined", "empty_mask",
)  # fmt: skip
#: Columns that must have a single value, since tools are compared on one data set, task, model and so on.
_SET_COLUMNS = ("dataset", "task", "model", "seed", "reader")


@dataclass(frozen=True)
class ComparedScores:
    """The scores that the tools are compared on."""

    #: The scores frame; those of cases left out are NaN, `reason` says why.
    all_scores: pd.DataFrame
    #: Scores of the other cases, a row for each tool, metric and case; a tool that lacks a row has NaN there,
    #: and `reason` "no row".
    compared: pd.DataFrame
    #: True where the model's probabilities are known, so that the cases that it gets wrong are left out.
    excludes_wrong_answers: bool
    #: Smallest probability at which the model says that the finding is there.
    probability_cutoff: float


def keep_present_and_correct_cases(
    scores: pd.DataFrame, *, reference: str | None = None, cutoff: float = 0.5
) -> ComparedScores:
    """Keep the scores of the cases that have the finding and that the model gets right.

    Scores of empty masks become undefined.
    """
    frame = check_scores(scores).reset_index(drop=True)
    _check_one_set_and_unit(frame)
    if reference is not None:
        check_choice(reference, [str(method) for method in frame["method"].unique()], "reference")
    if not 0 <= cutoff <= 1:
        raise ValueRangeError(
            Setting("cutoff"), f" must be a probability from 0 to 1, not {cutoff!r}", value=cutoff
        )
    if "empty_mask" in frame.columns:
        # An empty mask may have been scored, as with undefined="worst" or on the full slice.
        if "undefined" in frame.columns and frame["undefined"].notna().any():
            warn(
                "the worst scores that empty masks were given are removed; the sensitivity table gives them "
                "itself",
                column="undefined",
            )
        is_empty = frame["empty_mask"].astype("boolean").fillna(False).to_numpy(dtype=bool)
        frame["score"] = frame["score"].where(~is_empty)
    frame["reason"] = _reasons_of_undefined_scores(frame)
    case_reasons = frame["case"].map(_exclusion_reason_by_case(frame, cutoff)).astype(TEXT)
    is_compared = case_reasons.isna()
    scores_of_compared = frame["score"].where(is_compared)
    reasons = frame["reason"].where(is_compared, case_reasons)
    all_scores = frame.assign(score=scores_of_compared, reason=reasons)
    compared = _add_missing_rows(frame[is_compared])
    if compared.empty:
        raise SalstatsError(
            f"no case is left: of {frame['case'].nunique()} every one lacks the finding or is one that the "
            f"model gets wrong (probability below {cutoff:g})"
        )
    return ComparedScores(all_scores, compared, _has_values(frame, "prob"), cutoff)


def _check_one_set_and_unit(frame: pd.DataFrame) -> None:
    """Raise an error where scores have several data sets, tasks and so on, or several units."""
    for column in _SET_COLUMNS:
        if column in frame.columns and frame[column].nunique(dropna=False) > 1:
            raise SalstatsError(
                f"the scores have several values of {column!r} ({quoted(frame[column].unique())})",
                hint="keep the rows of one, tools are compared within it",
                column=column,
            )
    if "distance_unit" in frame.columns and frame["distance_unit"].nunique() > 1:
        units = quoted(frame["distance_unit"].dropna().unique())
        raise SalstatsError(
            f"the scores have distances in several units ({units})",
            hint="score all cases in one",
            column="distance_unit",
        )


def case_and_tool_rows_with_failure_flags(compared: pd.DataFrame) -> pd.DataFrame:
    """Return a row per case and tool that says whether its explanation is `empty` or `not_given`."""
    keys = [*dataset_and_case_columns(compared), "method"]
    if "patient" in compared.columns:
        keys.insert(-1, "patient")
    is_empty = compared["reason"].isin(EMPTY_REASONS)
    is_not_given = compared["reason"].isin(NOT_GIVEN_REASONS)
    failures = compared[keys].assign(empty=is_empty, not_given=is_not_given)
    # One metric shows that an explanation is empty; only if all metrics lack a score was it not given.
    groups = failures.groupby(keys, sort=False, dropna=False)[["empty", "not_given"]]
    return groups.agg({"empty": "any", "not_given": "all"}).reset_index()


def scores_at_worst(compared: pd.DataFrame, diagonals: pd.Series | None = None) -> pd.DataFrame:
    """Return scores in which failed explanations have the worst score, where the metric has one.

    The worst overlap and penalised Dice are 0, the worst distance is the diagonal of the image. Failures on
    other metrics stay undefined.

    Parameters
    ----------
    compared : DataFrame
        Scores of `keep_present_and_correct_cases`.
    diagonals : Series, optional
        Diagonals by case; by default those of the columns `height` and `width` in pixels. Where they are not
        known, distances stay undefined.
    """
    if diagonals is None:
        diagonals = _diagonal_px_by_case(compared)
    failure_reasons = (*EMPTY_REASONS, *NOT_GIVEN_REASONS)
    is_failed = compared["score"].isna() & compared["reason"].isin(failure_reasons)
    is_distance = compared["metric"].isin(DISTANCES)
    worst = compared["metric"].map(_worst_score_if_zero_else_nan)
    worst = worst.mask(is_distance, compared["case"].map(diagonals))
    scores = compared["score"].mask(is_failed, worst.astype(np.float64))
    return compared.assign(score=scores)


def _worst_score_if_zero_else_nan(metric_name: str) -> float:
    """Return 0 for a metric whose worst score is 0, else NaN."""
    metric = registered_metric(metric_name)
    if metric is None:
        return float("nan")
    if metric.larger_is_better and metric.low == 0 and metric.true_zero:
        return 0.0
    return float("nan")


def _diagonal_px_by_case(compared: pd.DataFrame) -> pd.Series:
    """Return the diagonal of each case's image in pixels; empty where sizes or units do not give it."""
    no_diagonals = pd.Series(dtype=np.float64)
    if not {"height", "width"} <= set(compared.columns):
        return no_diagonals
    if "distance_unit" in compared.columns and (compared["distance_unit"].dropna() != "px").any():
        return no_diagonals
    sizes = compared.dropna(subset=["height", "width"]).drop_duplicates("case").set_index("case")
    return pd.Series(np.hypot(sizes["height"], sizes["width"]), index=sizes.index, dtype=np.float64)


def _reasons_of_undefined_scores(frame: pd.DataFrame) -> pd.Series:
    """Return the reason of each undefined score; missing where the score is defined."""
    if "reason" in frame.columns:
        reasons = frame["reason"].astype(TEXT)
    else:
        reasons = pd.Series(pd.NA, frame.index, TEXT)
    reasons = reasons.where(reasons.ne(""), None)
    if "label" in frame.columns:
        reasons = reasons.mask(reasons.isna() & (frame["label"] == 0), ABSENT)
    if "empty_mask" in frame.columns:
        is_empty = frame["empty_mask"].astype("boolean").fillna(False)
        reasons = reasons.mask(reasons.isna() & is_empty, EMPTY)
    is_undefined = frame["score"].isna()
    return reasons.fillna(NO_REASON).where(is_undefined, None).astype(TEXT)


def _has_values(frame: pd.DataFrame, column: str) -> bool:
    """Tell whether a column is there and has a value in some row."""
    return column in frame.columns and bool(frame[column].notna().any())


def _exclusion_reason_by_case(frame: pd.DataFrame, cutoff: float) -> dict[str, str]:
    """Return the reason of each case that is not compared, by case."""
    labels = _values_by_case(frame, "label")
    probs = _values_by_case(frame, "prob")
    has_probs = _has_values(frame, "prob")
    is_absent = frame["reason"].eq(ABSENT).groupby(frame["case"]).any()
    is_undefined = frame["reason"].eq(NO_REASON).groupby(frame["case"]).all()
    reasons: dict[str, str] = {}
    for case in frame["case"].unique():
        prob = probs.get(case, np.nan)
        # A case without a label has the finding, unless a score says that it is absent.
        if labels.get(case, 1.0) == 0 or is_absent[case]:
            reasons[case] = ABSENT
            if prob >= cutoff:
                reasons[case] = FALSE_ALARM
        elif prob < cutoff:
            reasons[case] = MISSED
        elif np.isnan(prob) and has_probs:
            reasons[case] = NO_PROB
        elif is_undefined[case]:
            reasons[case] = UNDEFINED_FOR_ALL
    return reasons


def _values_by_case(frame: pd.DataFrame, column: str) -> dict[str, float]:
    """Return the value of each case; raise an error where rows of a case have different values."""
    if column not in frame.columns:
        return {}
    check_numeric(frame, column)
    values = frame[["case", column]].dropna().drop_duplicates()
    is_repeated = values["case"].duplicated()
    if is_repeated.any():
        case = values.loc[is_repeated, "case"].iloc[0]
        case_values = values.loc[values["case"] == case, column]
        raise ColumnError(
            f"case {case!r} has several values of {column!r} ({quoted(case_values)})",
            hint="keep one model",
            column=column,
            rows=np.flatnonzero(frame["case"] == case).tolist(),
        )
    return dict(zip(values["case"], values[column].astype(np.float64), strict=True))


def _add_missing_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Add an undefined score for each case, tool and metric without a row."""
    if frame.empty:
        return frame
    case_columns = [column for column in frame.columns if column not in _ROW_COLUMNS]
    cases = frame.drop_duplicates("case")[case_columns]
    tools_and_metrics = frame[["method", "metric"]].drop_duplicates()
    all_rows = cases.merge(tools_and_metrics, how="cross")
    keys = [column for column in KEY_COLUMNS if column in frame.columns]
    all_rows = all_rows.merge(frame[keys].assign(has_row=True), on=keys, how="left")
    missing_rows = all_rows[all_rows["has_row"].isna()].drop(columns="has_row")
    if missing_rows.empty:
        return frame.reset_index(drop=True)
    undefined_rows = missing_rows.assign(score=np.nan, reason=NO_ROW)
    return pd.concat([frame, undefined_rows], ignore_index=True)


def note_text(*sentences: str) -> str:
    """Join sentences to a note, which begins with a small letter and ends without a full stop."""
    text = " ".join(sentence for sentence in sentences if sentence).rstrip(".")
    starts_with_word = text[1:2].islower()
    if not starts_with_word:
        return text
    return f"{text[:1].lower()}{text[1:]}"
