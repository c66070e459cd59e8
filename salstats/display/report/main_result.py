"""The first sentences of a report: the best method, its distance to the reference, and associations."""

from collections.abc import Sequence

import numpy as np

from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates
from salstats.display.report.analyses import ReportFrames
from salstats.display.report.associations import is_slope_of_gap_model, outcome_metric_of_rows
from salstats.display.report.comparisons import verdicts_or_missing_reasons
from salstats.display.report.ranking import (
    compared_means_of_any_metric_best_first,
    first_metric_of_compared_methods,
    is_mean_over_tasks_on_metric,
)
from salstats.display.report.wording import (
    Wording,
    decimals_by_magnitude,
    decimals_separating_limits_from_estimate,
    names_or_count_text,
)
from salstats.display.text.format import count_text, fixed_text, joined
from salstats.metrics.registry import direction

#: States of a contrast in which a method lies behind the reference.
_BEHIND = ("worse", "lower")
#: States of a contrast in which a method lies ahead of the reference.
_AHEAD = ("better", "higher")
#: Decimals of a share in percent, the same as of a decrease in tables.
_DECIMALS_OF_SHARE = 1


def main_sentences(frames: ReportFrames, wording: Wording) -> tuple[str, ...]:
    """Return the main results on the first metric on which a compared method has a mean.

    They name the best method with its mean, its difference from the reference or from the other methods, and
    what its scores are associated with.
    """
    means = frames.estimates("means")
    reference = wording.settings.reference
    # means on the first metric; `compared_means` has those that are defined, the best method first
    metric = first_metric_of_compared_methods(means, reference)
    all_means = means.subset(is_mean_over_tasks_on_metric(means, metric))
    compared_means = compared_means_of_any_metric_best_first(all_means, reference)
    if not len(compared_means):
        exception = ""
        if all_means.has_estimate.any():
            exception = f" but {wording.method(reference)}"
        return (f"On {wording.metric(metric)}, no method{exception} had a defined score.",)
    best_method = str(compared_means.frame["method"].iloc[0])
    associations = _covariate_associations_sentence(metric, frames, wording)
    if "correlation" in frames:
        associations += _model_confidence_sentence(metric, frames.estimates("correlation"), wording)
    return (
        _best_method_sentence(all_means, compared_means, frames, wording),
        _gap_to_reference_sentence(best_method, metric, frames, wording),
        associations,
    )


def _best_method_sentence(
    all_means: Estimates, compared_means: Estimates, frames: ReportFrames, wording: Wording
) -> str:
    """Say which method has the best mean, and whether the others were shown to be worse.

    `all_means` are the means of all methods, `compared_means` those of all but the reference, the best first.
    """
    metric = str(compared_means.frame["metric"].iloc[0])
    best_method = str(compared_means.frame["method"].iloc[0])
    reference = wording.settings.reference
    digits = decimals_by_magnitude(all_means.numbers("estimate"))
    over_tasks = ""
    if frames.estimates("means").is_over_tasks.any():
        over_tasks = " averaged over tasks"
    other_methods = []
    undefined_methods = []
    methods = all_means.frame["method"].astype(TEXT)
    for method in wording.labels.order("method", methods):
        if method in (reference, best_method):
            continue
        if all_means.has_estimate[methods == method].any():
            other_methods.append(method)
        else:
            undefined_methods.append(wording.method(method))
    best_mean = compared_means.numbers("estimate")[0]
    # several methods may share the best mean
    best_methods = compared_means.frame.loc[compared_means.numbers("estimate") == best_mean, "method"]
    names = names_or_count_text([wording.method(method) for method in best_methods], "methods")
    subject = f"On {wording.metric(metric)}, {names}"
    mean_text = wording.estimate_texts(compared_means.take([0]), digits, p_values=False)[0]
    if not other_methods:
        reference_rows = all_means.subset(all_means.frame["method"] == reference)
        if reference_rows.has_estimate.any():
            reference_text = wording.estimate_texts(reference_rows, digits, p_values=False)[0]
            return (
                f"{subject} had a mean score of {mean_text} and {wording.method(reference)} one of "
                f"{reference_text}{over_tasks}{_smaller_is_better_suffix(metric)}."
            )
        return (
            f"{subject} had a mean score of {mean_text}{over_tasks}{_smaller_is_better_suffix(metric)}; "
            "no other method had a mean score to compare it with."
        )
    superlative = "best" if direction(metric) else "highest"
    verb = "had"
    if len(best_methods) > 1:
        verb = "shared"
        mean_text = fixed_text(best_mean, digits)
    comparison = _others_compared_with_best_clause(other_methods, superlative, frames, wording)
    undefined = ""
    if undefined_methods:
        undefined = f"; {names_or_count_text(undefined_methods, 'methods')} had no defined mean score"
    return (
        f"{subject} {verb} the {superlative} mean score of {len(other_methods) + 1} methods, "
        f"{mean_text}{over_tasks}{_smaller_is_better_suffix(metric)}; {comparison}{undefined}."
    )


def _smaller_is_better_suffix(metric: str) -> str:
    """Return a note in brackets where smaller is better."""
    if direction(metric) < 0:
        return " (smaller is better)"
    return ""


def _others_compared_with_best_clause(
    other_methods: Sequence[str], superlative: str, frames: ReportFrames, wording: Wording
) -> str:
    """Say whether methods other than the best were shown to score worse, or could not be compared with it."""
    if "best" not in frames:
        return "whether others score worse could not be tested"
    contrasts = frames.estimates("best")
    worse_word = "worse"
    better_word = "better"
    if {"lower", "higher"} & set(verdicts_or_missing_reasons(contrasts)):
        # the direction of the metric is not known
        worse_word = "lower"
        better_word = "higher"
    names = _names_by_result(other_methods, contrasts, wording)
    better_methods = names["better"]
    inconclusive_methods = names["inconclusive"]
    uncompared_methods = names["uncompared"]
    if better_methods:
        subject = names_or_count_text(better_methods, "methods")
        return (
            f"but {subject} {_was_or_were(better_methods)} shown to score {better_word} on the cases that "
            f"both have, so it is open which is {superlative}"
        )
    if len(other_methods) > 1 and len(inconclusive_methods) == len(other_methods):
        return f"none of the others was shown to score {worse_word}, so it is open which is {superlative}"
    clauses = []
    if inconclusive_methods:
        verb = _was_or_were(inconclusive_methods)
        clauses.append(
            f"{names_or_count_text(inconclusive_methods, 'methods')} {verb} not shown to score {worse_word}"
        )
    if uncompared_methods:
        clauses.append(
            f"{names_or_count_text(uncompared_methods, 'methods')} could not be compared on the same cases"
        )
    if clauses:
        return f"{joined(clauses)}, so it is open which of them is {superlative}"
    subject = "each of the others"
    if len(other_methods) == 1:
        subject = wording.method(other_methods[0])
    return f"{subject} was shown to score {worse_word}"


def _names_by_result(methods: Sequence[str], contrasts: Estimates, wording: Wording) -> dict[str, list[str]]:
    """Return the names of methods by what their contrasts show.

    Results are "better" and "worse" (than the reference of the contrasts), "inconclusive", and "uncompared"
    without a defined contrast.
    """
    states = verdicts_or_missing_reasons(contrasts)
    state_of_method = dict(zip(contrasts.frame["method"].astype(TEXT), states, strict=True))
    names: dict[str, list[str]] = {"better": [], "worse": [], "inconclusive": [], "uncompared": []}
    for method in methods:
        state = state_of_method.get(method)
        if state in _AHEAD:
            result = "better"
        elif state in _BEHIND:
            result = "worse"
        elif state == "inconclusive":
            result = "inconclusive"
        else:
            result = "uncompared"
        names[result].append(wording.method(method))
    return names


def _was_or_were(names: Sequence[str]) -> str:
    """Return "was" for one name and "were" for several."""
    return "was" if len(names) == 1 else "were"


def _gap_to_reference_sentence(method: str, metric: str, frames: ReportFrames, wording: Wording) -> str:
    """Say how far the best method is from the reference: its share of that mean, or the difference."""
    reference = wording.settings.reference
    if reference is None:
        return "No human benchmark was named to compare methods with."
    name = wording.method(method)
    reference_name = wording.method(reference)
    start = f"The mean score of {name}"
    decrease = _defined_contrast("decrease", method, metric, frames)
    if decrease is not None and _has_interpretable_share(decrease):
        digits = decimals_separating_limits_from_estimate(decrease, _DECIMALS_OF_SHARE)
        share = wording.estimate_texts(_remaining_percentages(decrease, digits), digits, p_values=False)[0]
        return (
            f"{start} was {share} of that of {reference_name}{_smaller_is_better_suffix(metric)}; {name} was "
            f"{_first_contrast_shown_phrase(decrease)}."
        )
    difference = _defined_contrast("difference", method, metric, frames)
    if difference is not None:
        gap = wording.estimate_texts(difference, p_values=False)[0]
        result = _first_contrast_shown_phrase(difference)
        return f"{start} minus that of {reference_name} was {gap}; {name} was {result}."
    return f"No mean score of {name} could be compared with that of {reference_name}."


def _defined_contrast(key: str, method: str, metric: str, frames: ReportFrames) -> Estimates | None:
    """Return the contrasts of one method on one metric, over tasks if there are any; None if undefined."""
    if key not in frames:
        return None
    contrasts = frames.estimates(key)
    is_of_method = contrasts.frame["method"].astype(TEXT) == method
    is_of_metric = contrasts.frame["metric"].astype(TEXT) == metric
    rows = contrasts.subset(is_of_method & is_of_metric)
    if rows.is_over_tasks.any():
        rows = rows.subset(rows.is_over_tasks)
    if not len(rows) or not rows.has_estimate.all():
        return None
    return rows


def _has_interpretable_share(decreases: Estimates) -> bool:
    """Return whether means can be read as shares of the reference's: its mean is above 0, limits finite."""
    has_infinite_limit = np.isinf(decreases.numbers("conf_low")) | np.isinf(decreases.numbers("conf_high"))
    return bool((decreases.numbers("reference_mean") > 0).all() and not has_infinite_limit.any())


def _remaining_percentages(decreases: Estimates, digits: int) -> Estimates:
    """Return the method's mean in percent of the reference's: 100 minus the decrease as it is printed."""
    return decreases.with_columns(
        estimate=100 - decreases.numbers("estimate").round(digits),
        conf_low=100 - decreases.numbers("conf_high").round(digits),
        conf_high=100 - decreases.numbers("conf_low").round(digits),
    )


def _first_contrast_shown_phrase(contrasts: Estimates) -> str:
    """Return what was shown of the first contrast: "shown to score worse"."""
    state = verdicts_or_missing_reasons(contrasts)[0]
    if state in (*_BEHIND, *_AHEAD):
        return f"shown to score {state}"
    return "not shown to differ"


def _covariate_associations_sentence(metric: str, frames: ReportFrames, wording: Wording) -> str:
    """Say with which covariates the scores rose or fell, and for how many methods this was shown.

    Without covariates, a regression or P values the sentence says that this was not tested.
    """
    metric_name = wording.metric(metric)
    covariates = wording.settings.covariates or ()
    if not covariates:
        return "The scores came without covariates, so what they depend on was not examined."
    names = names_or_count_text([wording.column(covariate) for covariate in covariates], "covariates", "or")
    untested = f"Whether {metric_name} rises or falls with {names} could not be tested."
    if "regression" not in frames:
        return untested
    all_slopes = frames.estimates("regression")
    is_of_metric = np.array([outcome == metric for outcome in outcome_metric_of_rows(all_slopes)], dtype=bool)
    slopes = all_slopes.subset(is_of_metric & ~is_slope_of_gap_model(all_slopes))
    if np.isnan(slopes.p_values_adjusted_if_any).all():
        return untested
    n_methods = slopes.frame["term"].value_counts()
    clauses = []
    for verb, is_significant in _significant_row_masks_by_verb(slopes, wording).items():
        n_significant = slopes.frame.loc[is_significant, "term"].value_counts()
        phrases = []
        for covariate in covariates:
            if covariate in n_significant:
                share = _parenthesised_count_suffix_unless_single_group(
                    n_significant[covariate], n_methods[covariate], "methods"
                )
                phrases.append(f"{wording.column(covariate)}{share}")
        if phrases:
            clauses.append(f"{verb} with {joined(phrases)}")
    if clauses:
        return f"From case to case, {metric_name} {', and '.join(clauses)}."
    return f"From case to case, {metric_name} was not shown to rise or fall with {names}."


def _parenthesised_count_suffix_unless_single_group(n_significant: int, n_groups: int, groups: str) -> str:
    """Return how many groups have a low P value, to end a phrase, " (3 of 8 methods)"; "" for one group."""
    if n_groups == 1:
        return ""
    return f" ({n_significant} of {count_text(n_groups)} {groups})"


def _significant_row_masks_by_verb(associations: Estimates, wording: Wording) -> dict[str, np.ndarray]:
    """Return which rows have a low P value and an estimate above 0 ("rose") or below 0 ("fell")."""
    is_significant = wording.is_significant(associations)
    estimate = associations.numbers("estimate")
    return {"rose": is_significant & (estimate > 0), "fell": is_significant & (estimate < 0)}


def _model_confidence_sentence(metric: str, all_correlations: Estimates, wording: Wording) -> str:
    """Say for how many methods and tasks scores were shown to rise or fall with the model's confidence.

    The sentence follows the one on slopes and has the same form; it is "" where nothing was tested.
    """
    correlations = all_correlations.subset(all_correlations.frame["x"] == metric)
    if np.isnan(correlations.p_values_adjusted_if_any).all():
        return ""
    confidence = wording.column(str(correlations.frame["y"].iloc[0]))
    groups = "methods"
    if len(correlations.distinct_values("task")) > 1:
        groups = "combinations of method and task"
    clauses = []
    for verb, is_significant in _significant_row_masks_by_verb(correlations, wording).items():
        if is_significant.any():
            share = _parenthesised_count_suffix_unless_single_group(
                int(is_significant.sum()), len(correlations), groups
            )
            clauses.append(f"{verb} with {confidence}{share}")
    # unlike slopes, which hold tasks fixed, correlations are computed within each task
    start = f" By correlation, {wording.metric(metric)}"
    if clauses:
        return f"{start} {', and '.join(clauses)}."
    return f"{start} was not shown to rise or fall with {confidence}."
