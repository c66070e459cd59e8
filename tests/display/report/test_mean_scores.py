"""Sentences on counts and means."""

import re

import numpy as np
import pytest
from report_frames import frame, mean_row, said


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


def test_tasks_without_a_mean_are_in_the_order_of_labels():
    undefined = {"estimate": np.nan, "conf_low": np.nan, "conf_high": np.nan}
    rows = []
    for task in ("Task 2", "Task 10", "Task 11", "Average"):
        rows += [mean_row(method, 0.5, 0.4, 0.6, task=task) for method in ("gradcam", "human")]
    rows[0] |= undefined
    rows[2] |= undefined
    assert "Grad-CAM has none in Task 2 and Task 10." in said("means", frame(*rows))


def test_means_of_one_task_are_not_called_averages():
    text = said("means", frame(mean_row("gradcam", 0.3, 0.2, 0.4, task="Edema", metric="hit")))
    assert text == "On hit rate, the mean score was 0.300 [95% CI 0.200, 0.400] for Grad-CAM."
    # a test of a mean against 0 says nothing
    assert "P =" not in said("means", frame(mean_row("gradcam", 0.3, 0.2, 0.4, p_value=0.02)))


def test_means_without_any_defined_score_say_so():
    text = said("means", frame(mean_row("gradcam", np.nan), mean_row("human", np.nan)))
    assert text == "On IoU, no score was defined."
    text = said("means", frame(mean_row("gradcam", 0.4, 0.3, 0.5), mean_row("human", np.nan)))
    assert "for Grad-CAM, and undefined for the human benchmark." in text


def test_bounds_are_the_largest_changes_that_undefined_scores_could_make():
    # of 50 scores 10 are undefined: the mean 0.5 of 40 becomes 0.4 where these are 0 and 0.6 where they are
    # 1, and 0.25 becomes 0.2 or 0.4
    missing = {"n": 40, "n_missing": 10}
    rows = [mean_row("human", 0.25, **missing), mean_row("gradcam", 0.5, **missing), mean_row("lime", 0.9)]
    changes = "at most 0.100 lower or 0.150 higher on IoU"
    text = said("means", frame(*rows))
    assert f"means would have been {changes}." in text
    # the mean of a distance may have risen without bound, of which nothing is said
    distance = mean_row("gradcam", 12.0, metric="hd95", **missing)
    hits = mean_row("gradcam", 0.25, metric="hit", n=10, n_missing=40)
    text = said("means", frame(*rows, distance, hits))
    assert f"{changes} and at most 0.200 lower or 0.600 higher on hit rate." in text
    # a task without any defined score is no part of an average, which could be anything with it
    undefined = mean_row("lime", np.nan, n=0, n_missing=50)
    assert f"means would have been {changes}; this leaves out" in said("means", frame(*rows[:2], undefined))
    without_scores = mean_row("lime", np.nan, n=0, n_missing=0)
    assert "this leaves out" not in said("means", frame(*rows[:2], without_scores))
    assert "Had every undefined score" not in said("means", frame(*rows[2:]))
    assert "Had every undefined score" not in said("means", frame(*rows).assign(weights="unit"))


def test_caveats_of_means_stand_last():
    text = said("means", frame(mean_row("gradcam", 0.3, 0.2, 0.4, n_units=5)))
    assert "Intervals of 1 estimate rest on only 5 patients" in text


def test_means_of_many_methods_are_a_range():
    rows = [mean_row(f"m{i}", 0.1 * i, 0.1 * i - 0.05, 0.1 * i + 0.05) for i in range(1, 9)]
    text = said("means", frame(*rows))
    assert re.search(r"was between 0\.100 \[.*?\] for m1 and 0\.800 \[.*?\] for m8 among 8 methods", text)


@pytest.mark.parametrize(
    ("estimate", "change"),
    [(0.0, "at most 0.000 lower or 0.200 higher"), (1.0, "at most 0.200 lower or 0.000 higher")],
)
def test_a_mean_at_the_worst_or_best_value_could_change_in_one_direction(estimate, change):
    # 10 of 50 scores are undefined: a mean of 0 could have been 10 / 50, a mean of 1 could have been 40 / 50
    text = said("means", frame(mean_row("gradcam", estimate, n=40, n_missing=10)))
    assert change in text
