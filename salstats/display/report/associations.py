"""Sentences on slopes, correlations and areas under ROC curves."""

from collections.abc import Iterator, Sequence

import numpy as np

from salstats.display.estimates import Estimates
from salstats.display.report.wording import (
    MAX_ITEMS_IN_SENTENCE,
    Wording,
    named_values_or_extremes_text,
    names_or_count_text,
    used_adjustment_procedure,
)
from salstats.display.text.format import counted
from salstats.stats.models.formulas import parse_formula

#: Decimals of correlations and areas.
_DECIMALS = 3
#: Area under the ROC curve of a classifier that guesses.
_CHANCE_AREA = 0.5


def significant_slope_count_sentences(slopes: Estimates, wording: Wording) -> Iterator[str]:
    """Yield how many slopes, of scores and of gaps, significantly differ from 0, and how to read them."""
    for rows in (slopes.subset(~is_slope_of_gap_model(slopes)), slopes.subset(is_slope_of_gap_model(slopes))):
        if not np.isnan(rows.p_values_adjusted_if_any).all():
            yield _significant_slope_count_sentence(rows, wording)
    if wording.is_significant(slopes).any():
        condition = ""
        if has_task_term(slopes):
            condition = " in the same task"
        yield (
            f"A slope is the mean difference{condition} between the largest and the smallest value of the "
            "covariate."
        )
    if wording.is_not_significant(slopes).any():
        yield "A slope that was not shown to differ from 0 was not thereby shown to be 0."
    n_untested = int(np.isnan(slopes.p_values_adjusted_if_any).sum())
    if n_untested:
        yield f"{counted(n_untested, 'slope')} could not be tested."


def is_slope_of_gap_model(slopes: Estimates) -> np.ndarray:
    """Return, for each row, whether the outcome of its model is the gap to a reference, not a score."""
    if "reference" not in slopes.frame.columns:
        return np.zeros(len(slopes), dtype=bool)
    return np.asarray(slopes.frame["reference"].notna(), dtype=bool)


def outcome_metric_of_rows(slopes: Estimates) -> list[str]:
    """Return the metric that is the outcome of each row's model."""
    metrics = {formula: parse_formula(formula).response.name for formula in slopes.distinct_values("formula")}
    return [metrics[formula] for formula in slopes.frame["formula"]]


def has_task_term(slopes: Estimates) -> bool:
    """Return whether a model has the task among its covariates."""
    return any("task" in parse_formula(formula).columns for formula in slopes.distinct_values("formula"))


def _significant_slope_count_sentence(slopes: Estimates, wording: Wording) -> str:
    """Return how many of the tested slopes, of scores or of gaps alone, have a P value below the level."""
    n_tested = int((~np.isnan(slopes.p_values_adjusted_if_any)).sum())
    outcome = "scores"
    if is_slope_of_gap_model(slopes).any():
        outcome = f"gaps ({wording.method(slopes.frame['reference'].iloc[0])} minus the method)"
    n_significant = int(wording.is_significant(slopes).sum())
    family = ""
    if used_adjustment_procedure(slopes) is not None:
        family = f" (one family of {counted(slopes.non_missing_numbers('n_tests').max(), 'test')})"
    return (
        f"Of {counted(n_tested, 'slope')} of {outcome} on covariates, {n_significant or 'none'} had "
        f"{wording.significance_condition_phrase(slopes)}{family}."
    )


def correlation_sentences(correlations: Estimates, wording: Wording) -> Iterator[str]:
    """Yield the correlations of each metric, and which of them were shown to differ from 0."""
    for _, rows in wording.rows_by_metric(correlations, "x"):
        yield _correlation_sentence_of_metric(rows, wording)
    if wording.is_not_significant(correlations).any():
        yield "A correlation that was not shown to differ from 0 was not thereby shown to be 0."


def _correlation_sentence_of_metric(correlations: Estimates, wording: Wording) -> str:
    """Return one metric's correlations by method and task; of many, their range and the significant ones."""
    first = correlations.frame.iloc[0]
    variables = f"{wording.metric(first['x'])} with {wording.column(first['y'])}"
    subject = f"{str(first['term']).capitalize()}'s correlation of {variables}"
    defined = correlations.subset(correlations.has_estimate)
    if not len(defined):
        return f"{subject} could not be computed."
    has_tasks = len(correlations.distinct_values("task")) > 1
    names = _method_and_task_text_of_each_row(defined, wording, is_task_named=has_tasks)
    texts = wording.estimate_texts(defined, _DECIMALS)
    values = named_values_or_extremes_text(texts, names, defined.numbers("estimate"), "correlations")
    sentence = f"{subject} was {values}"
    if len(defined) > MAX_ITEMS_IN_SENTENCE:
        significant_rows = np.flatnonzero(wording.is_significant(defined))
        condition = wording.significance_condition_phrase(correlations)
        sentence += f"; {len(significant_rows) or 'none'} of these had {condition}"
        if 0 < len(significant_rows) <= MAX_ITEMS_IN_SENTENCE:
            significant_texts = [texts[row] for row in significant_rows]
            significant_names = [names[row] for row in significant_rows]
            sentence += f": {named_values_or_extremes_text(significant_texts, significant_names, [])}"
    n_undefined = len(correlations) - len(defined)
    if n_undefined:
        sentence += f"; {counted(n_undefined, 'correlation')} could not be computed"
    return f"{sentence}."


def _method_and_task_text_of_each_row(
    correlations: Estimates, wording: Wording, *, is_task_named: bool
) -> list[str]:
    """Return the method of each row, and its task if `is_task_named`: "Grad-CAM in Edema"."""
    methods = [wording.method(method) for method in correlations.frame["method"]]
    if not is_task_named:
        return methods
    tasks = wording.task_labels(correlations.frame["task"])
    return [f"{method} in {task}" for method, task in zip(methods, tasks, strict=True)]


def sentences_on_auroc_of_each_task(areas: Estimates, wording: Wording) -> Iterator[str]:
    """Yield areas by task, and the tasks in which they are undefined or their interval holds 0.5."""
    predictor = wording.column(str(areas.frame["predictor"].iloc[0]))
    subject = f"The AUROC of {predictor}{for_outcome_suffix(areas, wording)}"
    # without tasks there is one area
    tasks = np.array([""], dtype=object)
    if "task" in areas.frame.columns:
        tasks = np.array(wording.task_labels(areas.frame["task"]), dtype=object)
    is_defined = areas.has_estimate
    if not is_defined.any():
        yield f"{subject} was undefined, since only one class was present."
        return
    defined = areas.subset(is_defined)
    texts = wording.estimate_texts(defined, _DECIMALS, p_values=False)
    values = named_values_or_extremes_text(
        texts, list(tasks[is_defined]), defined.numbers("estimate"), "tasks", preposition="in"
    )
    yield f"{subject} was {values}."
    if not is_defined.all():
        undefined_tasks = names_or_count_text(list(tasks[~is_defined]), "tasks")
        yield f"It was undefined in {undefined_tasks}, where only one class was present."
    holds_chance = (areas.numbers("conf_low") <= _CHANCE_AREA) & (areas.numbers("conf_high") >= _CHANCE_AREA)
    if holds_chance.any():
        yield f"The interval held 0.5 (the area of guessing){_in_tasks_phrase(tasks[holds_chance])}."
    has_no_interval = is_defined & ~areas.has_estimate_and_both_limits
    if has_no_interval.any():
        yield f"No interval could be given{_in_tasks_phrase(tasks[has_no_interval])}."


def _in_tasks_phrase(tasks: Sequence[str] | np.ndarray) -> str:
    """Return tasks after "in", " in Edema"; "" where the scores have no tasks."""
    if not tasks[0]:
        return ""
    return f" in {names_or_count_text(list(tasks), 'tasks')}"


def for_outcome_suffix(areas_under_curve: Estimates, wording: Wording) -> str:
    """Return what areas discriminate: " for the presence of the finding", or for a column by its label."""
    response = str(areas_under_curve.frame["response"].iloc[0])
    if response == "label" and wording.labels.user_column_label("label") is None:
        return " for the presence of the finding"
    return f" for {wording.column(response)}"
