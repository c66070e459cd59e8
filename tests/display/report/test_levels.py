"""Sentences on counts and means."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_frames import SETTINGS, frame, mean_row, said

import salstats as ss
from salstats.display.report.results import result_sentences
from salstats.display.report.wording import Words
from salstats.display.text.labels import Labels


def test_means_are_averaged_over_tasks_where_there_are_several():
    rows = [
        mean_row(m, e, e - 0.1, e + 0.1, task=t)
        for m, e in (("gradcam", 0.3), ("human", 0.5))
        for t in ("A", "B", "Average")
    ]
    assert said("means", frame(*rows)) == (
        "On IoU, the mean score averaged over 2 tasks was 0.300 [95% CI 0.200, 0.400] for Grad-CAM and 0.500 "
        "[95% CI 0.400, 0.600] for the human benchmark."
    )
    rows[1] |= {"estimate": np.nan, "conf_low": np.nan, "conf_high": np.nan}
    text = said("means", frame(*rows))
    assert "Not every method has a defined score in each: Grad-CAM has none in B." in text


def test_means_of_one_task_are_not_called_averages():
    text = said("means", frame(mean_row("gradcam", 0.3, 0.2, 0.4, task="Edema", metric="hit")))
    assert text == "On hit rate, the mean score was 0.300 [95% CI 0.200, 0.400] for Grad-CAM."


def test_means_without_any_defined_score_say_so():
    text = said("means", frame(mean_row("gradcam", np.nan), mean_row("human", np.nan)))
    assert text == "On IoU, no score was defined."
    text = said("means", frame(mean_row("gradcam", 0.4, 0.3, 0.5), mean_row("human", np.nan)))
    assert "for Grad-CAM, and undefined for the human benchmark." in text


def test_means_of_many_methods_are_a_range():
    rows = [mean_row(f"m{i}", 0.1 * i, 0.1 * i - 0.05, 0.1 * i + 0.05) for i in range(1, 9)]
    text = said("means", frame(*rows))
    assert re.search(r"was between 0\.100 \[.*?\] for m1 and 0\.800 \[.*?\] for m8 among 8 methods", text)


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
    assert result_sentences("flow", flow, Words(SETTINGS, Labels())) == (
        "The analysis included 5 scores (4 of them defined) of 3 cases of 2 patients, "
        "for 2 methods and 1 metric.",
        "Of the scores, 1 (20.0%) was undefined.",
        "For 1 further score there was no row, although another method had one for the same case.",
        "Scores of a method beside a defined one of the human benchmark: 1 per method and metric.",
    )
    settings = replace(SETTINGS, unit="case", reference=None)
    text = said("flow", ss.case_flow(small_scores.drop(columns="patient")), settings)
    assert "5 scores (4 of them defined) of 3 cases, for" in text
    assert "Pairs" not in text


def test_reasons_of_undefined_scores_are_given_where_they_are_known(small_scores):
    why = small_scores["score"].isna().map({True: "annotator failed", False: ""})
    text = said("flow", ss.case_flow(small_scores.assign(reason=why), reference="human"))
    assert "1 (20.0%) was undefined (annotator failed: 1)." in text
    full = small_scores.dropna(subset="score")
    assert "No score was undefined." in said("flow", ss.case_flow(full, reference="human"))
