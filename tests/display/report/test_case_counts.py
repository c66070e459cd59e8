"""Sentences on cases, scores and undefined scores."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_frames import SETTINGS

import salstats as ss
from salstats.display.report.case_counts import (
    count_sentences,
    n_undefined_scores_by_reason_and_n_absent,
    parenthesised_reasons_suffix,
)
from salstats.display.report.wording import Wording
from salstats.display.text.labels import Labels


def sentences_of(flow, settings=SETTINGS):
    """The sentences on a flow of cases as one text."""
    return " ".join(count_sentences(flow, Wording(settings, Labels())))


@pytest.fixture(scope="module")
def small_scores():
    """Three cases of two patients; one score undefined, one row absent."""
    rows = [
        (patient, case, method, score)
        for patient, case in (("p1", "c1"), ("p1", "c2"), ("p2", "c3"))
        for method, score in (("human", 0.5), ("gradcam", 0.25))
    ]
    table = pd.DataFrame(rows, columns=["patient", "case", "method", "score"]).assign(metric="iou")
    table.loc[1, "score"] = np.nan
    return table.drop(index=3)


def test_counts_are_those_of_the_flow(small_scores):
    flow = ss.case_flow(small_scores, reference="human")
    assert tuple(count_sentences(flow, Wording(SETTINGS, Labels()))) == (
        "The analysis included 5 scores (4 of them defined) of 3 cases of 2 patients, "
        "for 2 methods and 1 metric.",
        "Of the scores, 1 (20.0%) was undefined.",
        "For 1 further score there was no row, although another method had one for the same case.",
        "Complete pairs of a score and one of the human benchmark: 1 per method and metric.",
    )
    settings = replace(SETTINGS, unit="case", reference=None)
    text = sentences_of(ss.case_flow(small_scores.drop(columns="patient")), settings)
    assert "5 scores (4 of them defined) of 3 cases, for" in text
    assert "Pairs" not in text


def test_tasks_are_those_of_the_file_although_a_method_lacks_some(small_scores):
    human = small_scores[small_scores["method"] == "human"]
    tasks = pd.concat([small_scores.assign(task="Edema"), human.assign(task="Lesion")], ignore_index=True)
    for methods in (["human", "gradcam"], ["gradcam", "human"]):
        in_order = tasks.sort_values("method", key=lambda names: names.map(methods.index), kind="stable")
        assert "for 2 tasks, 2 methods" in sentences_of(ss.case_flow(in_order, reference="human"))


def test_reasons_of_undefined_scores_are_given_where_they_are_known(small_scores):
    why = small_scores["score"].isna().map({True: "annotator failed", False: ""})
    text = sentences_of(ss.case_flow(small_scores.assign(reason=why), reference="human"))
    assert "1 (20.0%) was undefined (annotator failed: 1)." in text
    full = small_scores.dropna(subset="score")
    assert "No score was undefined." in sentences_of(ss.case_flow(full, reference="human"))


@pytest.fixture
def reasoned_flow():
    """Two tasks of eight cases: undefined for two reasons or none, absent in one task, of 15 rows."""
    scores = pd.DataFrame(
        {"case": list("abcdefgh") * 2, "task": ["Edema"] * 8 + ["Mass"] * 8, "method": "cam", "metric": "iou"}
    )
    scores["score"] = [0.5, 0.5, *[np.nan] * 6, *[0.5] * 5, *[np.nan] * 3]
    scores["reason"] = ["", "", "no map", "empty", "empty", "", "", "", *[""] * 5, *["finding absent"] * 3]
    return ss.case_flow(scores)


def test_undefined_scores_are_counted_by_reason_without_absent_findings(reasoned_flow):
    undefined, absent = n_undefined_scores_by_reason_and_n_absent(reasoned_flow)
    assert undefined.to_dict() == {"undefined": 3, "empty": 2, "no map": 1}
    assert undefined.is_monotonic_decreasing
    assert absent == 3
    assert parenthesised_reasons_suffix(undefined) == " (no reason given: 3; empty: 2; no map: 1)"
    assert parenthesised_reasons_suffix(undefined[["undefined"]]) == ""


def test_absent_findings_are_no_scores_and_tasks_are_counted(reasoned_flow):
    text = sentences_of(reasoned_flow, replace(SETTINGS, reference=None, unit="case"))
    assert text.startswith(
        "The analysis included 13 scores (7 of them defined) of 8 cases, for 2 tasks, 1 method and 1 metric."
    )
    assert "Of the scores, 6 (46.2%) were undefined (no reason given: 3; " in text
    assert "(3 further rows)." in text
    assert "there was no row" not in text
    assert "Complete pairs" not in text
