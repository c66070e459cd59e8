"""Ranking of methods by their means on the first metric."""

import numpy as np

from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates
from salstats.display.text.labels import Labels
from salstats.metrics.registry import direction


def first_metric_of_compared_methods(means: Estimates, reference: str | None) -> str:
    """Return the first metric on which a method other than the reference has a mean, else the first."""
    candidates = means.subset(_is_mean_over_tasks_or_only_task(means))
    compared = compared_means_of_any_metric_best_first(candidates, reference)
    first_rows = compared if len(compared) else candidates
    return str(Labels().order("metric", first_rows.frame["metric"])[0])


def is_mean_over_tasks_on_metric(means: Estimates, metric: str) -> np.ndarray:
    """Return, for each row, whether it is a metric's mean over tasks, by which methods are ranked.

    Means in the only task count as well.
    """
    return np.asarray(_is_mean_over_tasks_or_only_task(means) & (means.frame["metric"] == metric))


def _is_mean_over_tasks_or_only_task(means: Estimates) -> np.ndarray:
    """Return, for each row, whether it is a mean over tasks; True for all rows where there is one task."""
    if means.is_over_tasks.any():
        return means.is_over_tasks
    return np.ones(len(means), dtype=bool)


def compared_means_of_any_metric_best_first(means: Estimates, reference: str | None) -> Estimates:
    """Return the defined means of all methods but the reference, the best first.

    On a metric without a known direction the largest is the first.
    """
    is_reference = means.frame["method"].astype(TEXT) == reference
    rows = means.subset(means.has_estimate & ~is_reference)
    is_smaller_better = np.array([direction(metric) < 0 for metric in rows.frame["metric"]], dtype=bool)
    estimates = rows.numbers("estimate")
    order = np.where(is_smaller_better, estimates, -estimates).argsort(kind="stable")
    return rows.take(order)
