"""Sentences on mean scores."""

import warnings
from collections.abc import Iterator

import numpy as np

from salstats.display.estimates import Estimates
from salstats.display.report.caveats import caveat_sentences
from salstats.display.report.wording import (
    Wording,
    decimals_by_magnitude,
    named_values_or_extremes_text,
    names_or_count_text,
)
from salstats.display.text.format import counted, fixed_text, joined
from salstats.errors import SalstatsWarning
from salstats.stats.engine.score_reasons import count_missing_without_absent_findings
from salstats.stats.missing_bounds import missing_bounds


def mean_sentences(means: Estimates, wording: Wording) -> Iterator[str]:
    """Yield each metric's mean of every method, averaged over tasks where there are several."""
    for metric, rows in wording.rows_by_metric(means):
        yield from _mean_by_method_and_missing_task_sentences(wording.metric(metric), rows, wording)
    yield from undefined_score_bounds_sentences(means, wording)
    yield from caveat_sentences(means, wording)


def undefined_score_bounds_sentences(means: Estimates, wording: Wording) -> Iterator[str]:
    """Yield how much means could change at most if undefined scores were known, for metrics with bounds."""
    if means.distinct_values("weights"):
        # bounds of weighted means are not implemented
        return
    with warnings.catch_warnings():
        # metrics without a least or largest value have no bounds, which needs no warning here
        warnings.simplefilter("ignore", SalstatsWarning)
        bounded = means.with_other_frame(missing_bounds(means.frame))
    changes = []
    for metric, rows in wording.rows_by_metric(bounded):
        estimate = rows.numbers("estimate")
        loss = estimate - rows.numbers("bound_low")
        gain = rows.numbers("bound_high") - estimate
        if (loss > 0).any() or (gain > 0).any():
            digits = decimals_by_magnitude(estimate)
            largest_loss = fixed_text(np.nanmax(loss), digits)
            largest_gain = fixed_text(np.nanmax(gain), digits)
            changes.append(
                f"at most {largest_loss} lower or {largest_gain} higher on {wording.metric(metric)}"
            )
    exception = ""
    if (~means.has_estimate & (count_missing_without_absent_findings(means.frame) > 0)).any():
        # such a mean could be any, and averages over tasks leave the task out
        exception = "; this leaves out means without any defined score"
    if changes:
        yield (
            "Had every undefined score been the worst or the best possible, means would have been "
            f"{joined(changes)}{exception}."
        )


def _mean_by_method_and_missing_task_sentences(
    metric_name: str, means: Estimates, wording: Wording
) -> Iterator[str]:
    """Yield the mean of one metric by method, and the methods that lack tasks that others have."""
    has_averages = bool(means.is_over_tasks.any())
    rows = means
    if has_averages:
        rows = means.subset(means.is_over_tasks)
    rows = wording.sorted_by_method(rows)
    if not rows.has_estimate.any():
        yield f"On {metric_name}, no score was defined."
        return
    task_means = means.subset(~means.is_over_tasks & means.has_estimate)
    over_tasks = ""
    if has_averages:
        over_tasks = f" averaged over {counted(len(task_means.distinct_values('task')), 'task')}"
    defined = rows.subset(rows.has_estimate)
    text = named_values_or_extremes_text(
        wording.estimate_texts(defined, decimals_by_magnitude(means.numbers("estimate")), p_values=False),
        [wording.method(method) for method in defined.frame["method"]],
        defined.numbers("estimate"),
        "methods",
    )
    undefined = rows.subset(~rows.has_estimate)
    if len(undefined):
        names = [wording.method(method) for method in undefined.frame["method"]]
        text += f", and undefined for {names_or_count_text(names, 'methods')}"
    yield f"On {metric_name}, the mean score{over_tasks} was {text}."
    if has_averages:
        missing_tasks = _missing_task_texts(task_means, wording)
        if missing_tasks:
            yield (
                "Not every method has a defined score in each: "
                f"{names_or_count_text(missing_tasks, 'methods lack tasks')}."
            )


def _missing_task_texts(means: Estimates, wording: Wording) -> list[str]:
    """Return the tasks in which each method lacks a mean: ["Grad-CAM has none in Edema"]."""
    tasks = wording.labels.order("task", means.distinct_values("task"))
    texts = []
    for method in means.distinct_values("method"):
        tasks_of_method = means.subset(means.frame["method"] == method).distinct_values("task")
        missing = [task for task in tasks if task not in tasks_of_method]
        if missing:
            names = names_or_count_text(wording.task_labels(missing), "tasks")
            texts.append(f"{wording.method(method)} has none in {names}")
    return texts
