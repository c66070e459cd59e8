"""Sentences on the cases and scores of a report, and on the scores that are undefined."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from salstats.display.report.wording import Wording
from salstats.display.text.format import count_range_text, count_text, counted, joined, percent_text
from salstats.stats.case_flow import DEFINED, FILE, PAIRS, ROWS
from salstats.stats.engine.score_reasons import ABSENT_REASONS, UNDEFINED


def count_sentences(flow: pd.DataFrame, wording: Wording) -> Iterator[str]:
    """Yield the numbers of cases, units, scores, undefined scores and complete pairs.

    Parameters
    ----------
    flow : DataFrame
        A frame of `case_flow`.
    wording : Wording
        Names of the report.
    """
    n_undefined_by_reason, n_absent = n_undefined_scores_by_reason_and_n_absent(flow)
    # the first stage counts all rows of the scores
    file = flow[flow["stage"] == FILE].iloc[0]
    n_scores = int(file["n_rows"]) - n_absent
    n_undefined = int(n_undefined_by_reason.sum())
    defined_note = ""
    if n_undefined:
        defined_note = f" ({count_text(n_scores - n_undefined)} of them defined)"
    cases = _case_and_unit_counts_text(file, wording)
    groups = joined(_task_method_metric_count_texts(flow))
    yield f"The analysis included {counted(n_scores, 'score')}{defined_note} of {cases}, for {groups}."
    if n_undefined:
        share = percent_text(100 * n_undefined / n_scores)
        verb = "was" if n_undefined == 1 else "were"
        reasons = parenthesised_reasons_suffix(n_undefined_by_reason)
        yield f"Of the scores, {count_text(n_undefined)} ({share}) {verb} undefined{reasons}."
    else:
        yield "No score was undefined."
    if n_absent:
        yield f"Findings that are absent have no score ({counted(n_absent, 'further row')})."
    is_excluded = flow["excluded"].astype(bool)
    n_without_row = int(flow.loc[is_excluded & (flow["stage"] == ROWS), "n_rows"].sum())
    if n_without_row:
        yield (
            f"For {counted(n_without_row, 'further score')} there was no row, although another method had "
            "one for the same case."
        )
    n_pairs = flow.loc[~is_excluded & (flow["stage"] == PAIRS), "n_rows"]
    if len(n_pairs):
        reference = wording.method(wording.settings.reference)
        yield (
            f"Complete pairs of a score and one of {reference}: {count_range_text(n_pairs)} per method and "
            "metric."
        )


def _case_and_unit_counts_text(flow_row: pd.Series, wording: Wording) -> str:
    """Return the numbers of cases and of their units: "194 cases of 140 patients"."""
    text = counted(flow_row["n_cases"], "case")
    if wording.settings.unit == "case":
        return text
    return f"{text} of {counted(flow_row['n_units'], wording.unit)}"


def _task_method_metric_count_texts(flow: pd.DataFrame) -> list[str]:
    """Return the numbers of tasks, methods and metrics: ["5 tasks", "3 methods", "2 metrics"]."""
    texts = []
    if "n_tasks" in flow.columns:
        n_tasks = flow.loc[flow["stage"] == FILE, "n_tasks"].iloc[0]
        texts.append(counted(n_tasks, "task"))
    branches = flow[~flow["excluded"].astype(bool) & (flow["stage"] == ROWS)]
    for column in ("method", "metric"):
        if column in branches.columns:
            texts.append(counted(branches[column].nunique(), column))
    return texts


class UndefinedByReasonAndAbsent(NamedTuple):
    """Numbers of rows without a score.

    Attributes
    ----------
    n_undefined_by_reason : Series of int
        Number of undefined scores by reason, the most frequent reason first.
    n_absent : int
        Number of rows of findings that are absent, which need no score.
    """

    n_undefined_by_reason: pd.Series
    n_absent: int


def n_undefined_scores_by_reason_and_n_absent(flow: pd.DataFrame) -> UndefinedByReasonAndAbsent:
    """Count undefined scores and rows of absent findings in a frame of `case_flow`."""
    is_undefined = flow["excluded"].astype(bool) & (flow["stage"] == DEFINED)
    n_rows = flow[is_undefined].groupby("reason", sort=False)["n_rows"].sum()
    n_rows = n_rows.sort_values(ascending=False, kind="stable")
    is_absent = n_rows.index.isin(ABSENT_REASONS)
    # reasons without a score are left out
    return UndefinedByReasonAndAbsent(
        n_undefined_by_reason=n_rows[~is_absent & (n_rows > 0)], n_absent=int(n_rows[is_absent].sum())
    )


def parenthesised_reasons_suffix(n_undefined_by_reason: pd.Series) -> str:
    """Return the reasons of undefined scores in brackets, "" where no reason is given."""
    if set(n_undefined_by_reason.index) <= {UNDEFINED}:
        return ""
    texts = []
    for reason, n_undefined in n_undefined_by_reason.items():
        name = "no reason given" if reason == UNDEFINED else reason
        texts.append(f"{name}: {count_text(n_undefined)}")
    return f" ({'; '.join(texts)})"
