"""Sentences on cases, scores and undefined scores."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_frames import SETTINGS

import salstats as ss
from salstats.display.report.case_counts import count_sentences
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


def test_reasons_of_undefined_scores_are_given_where_they_are_known(small_scores):
    why = small_scores["score"].isna().map({True: "annotator failed", False: ""})
    text = sentences_of(ss.case_flow(small_scores.assign(reason=why), reference="human"))
    assert "1 (20.0%) was undefined (annotator failed: 1)." in text
    full = small_scores.dropna(subset="score")
    assert "No score was undefined." in sentences_of(ss.case_flow(full, reference="human"))
