"""Sentences on slopes, correlations and areas under ROC curves."""

import re

import numpy as np
import pytest
from report_frames import SETTINGS, area_row, correlation_row, frame, said, slope_row

from salstats.display.estimates import read_estimates
from salstats.display.report.associations import outcome_metric_of_rows
from salstats.display.report.result_sentences import result_sentences
from salstats.display.report.wording import Wording
from salstats.display.text.labels import Labels

WORDS = Wording(SETTINGS, Labels())


def test_slopes_that_are_shown_are_counted():
    rows = [
        slope_row("gradcam", "area_ratio", 0.242, 0.031),
        slope_row("occlusion", "area_ratio", -0.4, 0.012),
        slope_row("gradcam", "elongation", 0.1, 0.3),
        slope_row("occlusion", "elongation", 0.1, 0.4),
    ]
    assert result_sentences("regression", read_estimates(frame(*rows)), WORDS) == (
        "Of 4 slopes of scores on covariates, 2 had a Holm-adjusted P below 0.05 (one family of 4 tests).",
        "A slope is the mean difference in the same task between the largest and the smallest value of the "
        "covariate.",
        "A slope that was not shown to differ from 0 was not thereby shown to be 0.",
    )


def test_the_adjusted_p_value_decides_where_there_is_one():
    rows = [slope_row(m, "area_ratio", 0.1, 0.01, p_adjusted=0.2) for m in ("gradcam", "lime")]
    assert "none had a Holm-adjusted P below 0.05" in said("regression", frame(*rows))
    bare = frame(*rows).drop(columns=["p_adjusted", "procedure", "n_tests"])
    assert "Of 2 slopes of scores on covariates, 2 had an unadjusted P below" in said("regression", bare)


def test_slopes_of_gaps_are_counted_apart():
    rows = [
        slope_row("gradcam", "area_ratio", 0.1, 0.3, task=False),
        slope_row("gradcam", "area_ratio", -0.2, 0.01, reference="human", task=False),
    ]
    text = said("regression", frame(*rows))
    assert "Of 1 slope of scores on covariates, none had" in text
    assert "Of 1 slope of gaps (the human benchmark minus the method) on covariates, 1 had" in text
    assert "the same task" not in text


def test_slopes_that_could_not_be_tested_are_counted():
    rows = [slope_row(f"m{i}", "area_ratio", 0.1, np.nan) for i in range(2)]
    assert said("regression", frame(*rows)) == "2 slopes could not be tested."


def test_outcomes_with_odd_names_are_read_from_their_quotes():
    row = slope_row("gradcam", "size mm", 0.3, 0.01) | {"formula": 'Q("my score") ~ Q("size mm") + task'}
    assert outcome_metric_of_rows(read_estimates(frame(row))) == ["my score"]


def test_few_correlations_are_given_one_by_one():
    text = said("correlation", frame(correlation_row("gradcam", 0.114, 0.186)))
    assert text.startswith(
        "Spearman's correlation of IoU with model confidence was 0.114 [95% CI 0.014, 0.214, unadjusted P = "
        "0.186] for Grad-CAM."
    )
    assert "was not thereby shown to be 0" in text


def test_many_correlations_are_a_range_and_those_shown_are_named():
    values = enumerate((0.3, 0.1, -0.2, 0, 0, 0, 0))
    rows = [correlation_row("gradcam", e, 0.01 if e == 0.3 else 0.4, task=f"t{i}") for i, e in values]
    text = said("correlation", frame(*rows))
    assert re.search(r"was between −0\.200 \[.*?\] for .* in t2 and 0\.300 .* among 7 correlations;", text)
    assert "; 1 of these had an unadjusted P below 0.05: 0.300 [95% CI 0.200, 0.400, unadj" in text


def test_correlations_that_cannot_be_computed_are_counted():
    rows = [correlation_row("gradcam", e, e, task=t) for t, e in (("A", 0.3), ("B", np.nan))]
    assert "for Grad-CAM in A; 1 correlation could not be computed." in said("correlation", frame(*rows))
    only = said("correlation", frame(correlation_row("gradcam", np.nan, np.nan)))
    assert only == "Spearman's correlation of IoU with model confidence could not be computed."


def test_areas_are_given_by_task_and_guessing_is_named():
    table = frame(area_row("A", 0.9, 0.8, 0.97), area_row("B", 0.55, 0.4, 0.7), area_row("C", np.nan))
    assert result_sentences("auroc", read_estimates(table), WORDS) == (
        "The AUROC of model confidence for the presence of the finding was 0.900 [95% CI 0.800, 0.970] in "
        "A and 0.550 [95% CI 0.400, 0.700] in B.",
        "It was undefined in C, where only one class was present.",
        "The interval held 0.5 (the area of guessing) in B.",
    )


def test_an_area_without_tasks_stands_alone():
    text = said("auroc", frame(area_row(None, 0.5, 0.3, 0.7)))
    assert text == (
        "The AUROC of model confidence for the presence of the finding was 0.500 [95% CI 0.300, 0.700]. The "
        "interval held 0.5 (the area of guessing)."
    )
    undefined = said("auroc", frame(area_row(None, np.nan)))
    assert undefined.endswith("was undefined, since only one class was present.")


def test_a_perfect_area_has_no_interval():
    text = said("auroc", frame(area_row("A", 1.0), area_row("B", 0.9, 0.8, 1.0)))
    assert "1.000 in A and 0.900 [95% CI 0.800, 1.000] in B. No interval could be given in A." in text


@pytest.mark.parametrize(("response", "what"), [("label", "the presence of the finding"), ("malignant",) * 2])
def test_what_an_area_is_for_is_named(response, what):
    assert f"for {what} was" in said("auroc", frame(area_row("A", 0.9, 0.8, 0.97)).assign(response=response))
