"""Ranking of methods by their means on the first metric."""

import numpy as np

from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates
from salstats.display.text.labels import Labels
from salstats.metrics.registry import direction


def is_mean_on_first_metric(means: Estimates, reference: str | None) -> np.ndarray:
    """Find the means by which methods are ranked.

    They are of the first metric on which a method other than the reference has a mean, else of the first
    metric, and over tasks where there are several.
    """
    is_candidate = np.ones(len(means), dtype=bool)
    if means.is_over_tasks.any():
        is_candidate = means.is_over_tasks
    candidates = means.subset(is_candidate)
    compared = compared_means_best_first(candidates, reference)
    first_rows = compared if len(compared) else candidates
    metric = Labels().order("metric", first_rows.frame["metric"])[0]
    return np.asarray(is_candidate & (means.frame["metric"] == metric))


def compared_means_best_first(means: Estimates, reference: str | None) -> Estimates:
    """Return the defined means of all methods but the reference, the best first.

    On a metric without a known direction the largest is the first.
    """
    is_reference = means.frame["method"].astype(TEXT) == reference
    rows = means.subset(means.has_estimate & ~is_reference)
    is_smaller_better = np.array([direction(metric) < 0 for metric in rows.frame["metric"]], dtype=bool)
    estimates = rows.numbers("estimate")
    order = np.where(is_smaller_better, estimates, -estimates).argsort(kind="stable")
    return rows.take(order)
