"""Sentences on slopes, correlations and areas under ROC curves."""

import re
from dataclasses import replace

import numpy as np
import pytest
from report_frames import SETTINGS, area_row, correlation_row, frame, said, slope_row

from salstats.display.report.results import result_sentences
from salstats.display.text.labels import Labels


def test_slopes_that_are_shown_are_told_by_covariate_and_those_that_are_not_are_counted():
    rows = [
        slope_row("gradcam", "area_ratio", 0.242, 0.031),
        slope_row("occlusion", "area_ratio", -0.4, 0.012),
        slope_row("gradcam", "elongation", 0.1, 0.3),
        slope_row("occlusion", "elongation", 0.1, 0.4),
    ]
    assert result_sentences("regression", frame(*rows), SETTINGS, Labels()) == (
        "2 of the 4 slopes of scores on covariates had a Holm-adjusted P below 0.05 (in a family of 4 "
        "tests).",
        "On IoU, scores were higher where relative size was larger, with a slope of 0.242 [95% CI 0.042, "
        "0.442, Holm-adjusted P = 0.031] for Grad-CAM; and lower where relative size was larger, with a "
        "slope of −0.400 [95% CI −0.600, −0.200, Holm-adjusted P = 0.012] for Occlusion.",
        "A slope is the mean difference in the same task between the largest and the smallest value of the "
        "covariate.",
        "A slope that was not shown to differ from 0 was not thereby shown to be 0.",
    )


def test_the_adjusted_p_value_decides_where_there_is_one():
    rows = [slope_row(m, "area_ratio", 0.1, 0.01, p_adjusted=0.2) for m in ("gradcam", "lime")]
    assert said("regression", frame(*rows)).startswith(
        "None of the 2 slopes of scores on covariates had a Holm"
    )
    bare = frame(*rows).drop(columns=["p_adjusted", "n_tests", "procedure"])
    assert said("regression", bare).startswith(
        "Both slopes of scores on covariates had an unadjusted P below"
    )


def test_slopes_of_gaps_are_counted_apart_and_their_sign_is_said():
    rows = [
        slope_row("gradcam", "area_ratio", 0.1, 0.3, task=False),
        slope_row("gradcam", "area_ratio", -0.2, 0.01, reference="human", task=False),
    ]
    text = said("regression", frame(*rows))
    assert "The only slope of scores on a covariate did not have a Holm-adjusted P below 0.05" in text
    assert (
        "The only slope of gaps (the human benchmark minus the method) on a covariate had a Holm-adjusted P"
        in text
    )
    assert "On IoU, the gap was lower where relative size was larger, with a slope of −0.200" in text
    assert "the same task" not in text


@pytest.mark.parametrize(
    ("p", "start"),
    [
        ((0.01, 0.02), "Both slopes of scores on covariates had"),
        ((0.01, 0.02, 0.03), "All 3 slopes of scores on covariates had"),
        ((0.2, 0.3, 0.4), "None of the 3 slopes of scores on covariates had"),
        ((np.nan, np.nan), "No slope of scores on a covariate could be tested."),
    ],
)
def test_slopes_are_counted_in_plain_words(p, start):
    rows = [slope_row(f"m{i}", "area_ratio", 0.1, value) for i, value in enumerate(p)]
    assert said("regression", frame(*rows)).startswith(start)


def test_few_clusters_are_a_caveat_of_cr1_and_not_of_cr2():
    few = {"n_units": 9}
    cr1 = said("regression", frame(slope_row("gradcam", "area_ratio", 0.1, 0.3, errors="cluster", **few)))
    assert "1 slope rests on only 9 patients; P values from so few are likely too small." in cr1
    assert "rests" not in said("regression", frame(slope_row("gradcam", "area_ratio", 0.1, 0.3, **few)))


def test_terms_that_are_no_covariates_are_not_counted():
    rows = [
        slope_row("gradcam", "area_ratio", 0.1, 0.3),
        slope_row("gradcam", "area_ratio", 0.9, 0.0001) | {"term": "taskEdema"},
    ]
    assert "0.9" not in said("regression", frame(*rows))
    assert "The only slope" in said("regression", frame(*rows))


def test_outcomes_with_odd_names_are_read_from_their_quotes():
    row = slope_row("gradcam", "size mm", 0.3, 0.01) | {"formula": 'Q("my score") ~ Q("size mm") + task'}
    text = said("regression", frame(row), replace(SETTINGS, covariates=("size mm",)))
    assert "On my score, scores were higher where size mm was larger" in text


def test_one_correlation_is_given_with_its_p_value():
    text = said("correlation", frame(correlation_row("gradcam", 0.114, 0.186)))
    assert text.startswith(
        "Spearman's correlation of IoU with model confidence was 0.114 [95% CI 0.014, 0.214, unadjusted P = "
        "0.186] for Grad-CAM."
    )
    assert "was not thereby shown to be 0" in text


def test_several_correlations_are_a_range_and_those_shown_are_named():
    rows = [
        correlation_row("gradcam", e, p, task=t)
        for t, e, p in (("A", 0.3, 0.01), ("B", 0.1, 0.4), ("C", -0.2, 0.2))
    ]
    text = said("correlation", frame(*rows))
    assert (
        "lay in the range −0.200 to 0.300 in 3 tasks, of which 1 had an unadjusted P below 0.05: 0.300 "
        "[95% CI 0.200, 0.400, unadjusted P = 0.010] for Grad-CAM in A."
    ) in text


def test_correlations_of_several_methods_and_tasks_are_counted_as_what_they_are():
    rows = [correlation_row(m, 0.1, 0.5, task=t) for m in ("gradcam", "lime") for t in ("A", "B")]
    assert "in 4 combinations of method and task, of which none" in said("correlation", frame(*rows))


def test_correlations_that_cannot_be_computed_are_counted():
    rows = [
        correlation_row("gradcam", e, p, task=t)
        for t, e, p in (("A", 0.3, 0.2), ("B", np.nan, np.nan), ("C", 0.1, 0.2), ("D", 0.2, 0.2))
    ]
    text = said("correlation", frame(*rows))
    assert (
        "in 3 tasks, of which none had an unadjusted P below 0.05; 1 correlation could not be computed."
        in text
    )
    only = frame(correlation_row("gradcam", np.nan, np.nan))
    assert (
        said("correlation", only)
        == "Spearman's correlation of IoU with model confidence could not be computed."
    )


def test_areas_are_given_by_task_and_guessing_is_named():
    table = frame(area_row("A", 0.9, 0.8, 0.97), area_row("B", 0.55, 0.4, 0.7), area_row("C", np.nan))
    assert result_sentences("auroc", table, SETTINGS, Labels()) == (
        "The AUROC of model confidence for the presence of the finding was 0.900 [95% CI 0.800, 0.970] in "
        "A and 0.550 [95% CI 0.400, 0.700] in B.",
        "It was undefined in C, where only one class was present.",
        "The interval held 0.5, the area of guessing, in B.",
    )


def test_an_area_without_tasks_stands_alone():
    text = said("auroc", frame(area_row(None, 0.5, 0.3, 0.7)))
    assert text == (
        "The AUROC of model confidence for the presence of the finding was 0.500 [95% CI 0.300, 0.700]. The "
        "interval held 0.5, the area of guessing."
    )
    assert said("auroc", frame(area_row(None, np.nan))).endswith(
        "was undefined, since only one class was present."
    )


def test_a_perfect_area_has_no_interval():
    text = said("auroc", frame(area_row("A", 1.0), area_row("B", 0.9, 0.8, 1.0)))
    assert "1.000 in A and 0.900 [95% CI 0.800, 1.000] in B. No interval could be given in A." in text


def test_many_areas_are_a_range():
    table = frame(*(area_row(f"t{i}", 0.6 + i / 100, 0.55, 0.9) for i in range(8)))
    assert re.search(
        r"of 8 tasks lay between 0\.600 \[.*?\] in t0 and 0\.670 \[.*?\] in t7\.", said("auroc", table)
    )


def test_another_label_than_a_finding_is_named():
    table = frame(area_row("A", 0.9, 0.8, 0.97)).assign(response="malignant")
    assert "for malignant was" in said("auroc", table)
