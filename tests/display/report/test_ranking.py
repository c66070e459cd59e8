"""Ranking of methods by their means."""

import numpy as np
import pytest
from report_frames import frame, mean_row

from salstats.display.estimates import read_estimates
from salstats.display.report.ranking import (
    compared_means_of_any_metric_best_first,
    first_metric_of_compared_methods,
    is_mean_over_tasks_on_metric,
)


def means_of(*rows):
    return read_estimates(frame(*rows))


@pytest.mark.parametrize(
    ("metric", "order"), [("iou", ["b", "a"]), ("hd95", ["a", "b"]), ("my_score", ["b", "a"])]
)
def test_the_best_is_the_largest_unless_smaller_is_better(metric, order):
    means = means_of(*(mean_row(name, mean, metric=metric) for name, mean in (("a", 0.2), ("b", 0.5))))
    assert compared_means_of_any_metric_best_first(means, None).distinct_values("method") == order


def test_the_reference_and_undefined_means_have_no_rank():
    means = means_of(mean_row("human", 0.9), mean_row("a", 0.2), mean_row("b", np.nan))
    assert compared_means_of_any_metric_best_first(means, "human").distinct_values("method") == ["a"]
    assert compared_means_of_any_metric_best_first(means, None).distinct_values("method") == ["human", "a"]


def test_means_that_tie_keep_their_order():
    means = means_of(*(mean_row(name, 0.5) for name in "cab"))
    assert compared_means_of_any_metric_best_first(means, None).distinct_values("method") == ["c", "a", "b"]


def test_ranked_means_are_averages_on_the_first_metric_with_a_compared_method():
    rows = [
        mean_row(method, mean, metric=metric, task=task)
        for metric, of_method in (("iou", np.nan), ("hit", 0.4))
        for method, mean in (("human", 0.8), ("gradcam", of_method))
        for task in ("Edema", "Average")
    ]
    means = means_of(*rows)
    assert first_metric_of_compared_methods(means, "human") == "hit"
    assert first_metric_of_compared_methods(means, None) == "iou"
    ranked = means.subset(is_mean_over_tasks_on_metric(means, "hit"))
    assert ranked.distinct_values("metric") == ["hit"]
    assert ranked.distinct_values("task") == ["Average"]
    without_averages = means_of(*(row for row in rows if row["task"] == "Edema"))
    assert is_mean_over_tasks_on_metric(without_averages, "hit").tolist() == [False, False, True, True]
