"""Sentences on methods against a reference, worded by the direction of each metric."""

from collections.abc import Iterator, Sequence

import numpy as np

from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates
from salstats.display.report.caveats import NO_EVIDENCE_OF_EQUALITY, caveat_sentences
from salstats.display.report.wording import (
    MAX_ITEMS_IN_SENTENCE,
    Wording,
    better_or_worse_verdict,
    decimals_by_magnitude,
    family_and_n_tests_text,
    named_values_or_extremes_text,
    names_or_count_text,
    used_adjustment_procedure,
)
from salstats.display.text.format import joined
from salstats.display.text.margins import within_tested_margins_phrase
from salstats.display.text.vocabulary import TERMS
from salstats.metrics.registry import registered_metric
from salstats.stats.engine.equivalence import sides_and_claims

#: Decimals of percentage decreases.
_DECIMALS_OF_PERCENT = 1
#: Name of a percentage decrease below 0.
_PERCENTAGE_INCREASE = "percentage increase"
#: Predicates for methods by the state of their contrast, the same for one method and for several.
_PREDICATES = {
    "better": "scored better",
    "worse": "scored worse",
    "higher": "scored higher",
    "lower": "scored lower",
    "inconclusive": "did not show a difference",
    "undefined": "had no defined {noun}",
    "unpaired": "could not be compared",
}


def contrast_sentences(contrasts: Estimates, wording: Wording) -> Iterator[str]:
    """Yield the results of all methods, metric by metric, and notes on how to read them."""
    if contrasts.has_estimate.any():
        yield _significance_rule_sentence(contrasts, wording)
    for _, rows in wording.rows_by_metric(contrasts):
        yield methods_against_reference_sentence(rows, wording)
    yield from _interpretation_notes(contrasts, wording)
    yield from caveat_sentences(contrasts, wording)


def margin_sentences(contrasts: Estimates, wording: Wording) -> Iterator[str]:
    """Yield the results of the tests against a margin, metric by metric; nothing without a margin."""
    tested = contrasts.subset(~np.isnan(contrasts.numbers("p_margin")))
    for metric, rows in wording.rows_by_metric(tested):
        yield f"On {wording.metric(metric)}, {_margin_result_text(wording.sorted_by_method(rows), wording)}."


def _margin_result_text(contrasts: Estimates, wording: Wording) -> str:
    """Return which methods were shown, on one metric, to lie within a margin of the reference."""
    reference = wording.method(contrasts.frame["reference"].iloc[0])
    margin = f"a difference {within_tested_margins_phrase(contrasts, wording.labels)}"
    _, claims = sides_and_claims(contrasts.frame["verdict"])
    methods = contrasts.distinct_values("method")
    results = []
    for method in methods:
        is_of_method = (contrasts.frame["method"] == method).to_numpy()
        has_claim = is_of_method & (claims != "")
        if has_claim.any():
            claim = claims[has_claim][0]
            tasks = _claimed_tasks_phrase(
                contrasts.subset(has_claim), contrasts.subset(is_of_method), wording
            )
            results.append(f"{wording.method(method)} was {claim} to {reference}{tasks}")
    if not results:
        return f"no method was shown to have {margin} from {reference}"
    if len(results) > MAX_ITEMS_IN_SENTENCE:
        # on one metric a margin can lead to one claim only, such as "equivalent"
        claim = next(text for text in claims if text)
        result = f"{len(results)} of {len(methods)} methods were {claim} to {reference}"
        if len(contrasts.distinct_values("task")) > 1:
            result += " in some task"
        results = [result]
    return f"{'; '.join(results)} ({margin})"


def _claimed_tasks_phrase(claimed: Estimates, contrasts: Estimates, wording: Wording) -> str:
    """Return the tasks of one method's claims: " in A and B and averaged over tasks".

    `contrasts` are all rows of the method; with a single row, nothing is added.
    """
    if len(contrasts) == 1 or "task" not in contrasts.frame.columns:
        return ""
    n_tasks = int((~contrasts.is_over_tasks).sum())
    tasks = list(claimed.frame.loc[~claimed.is_over_tasks, "task"])
    phrases = []
    if tasks:
        names = names_or_count_text(wording.task_labels(tasks), f"of {n_tasks} tasks")
        if len(tasks) == n_tasks:
            names = f"all {n_tasks} tasks"
        phrases.append(f"in {names}")
    if claimed.is_over_tasks.any():
        phrases.append("averaged over tasks")
    return f" {joined(phrases)}"


def methods_against_reference_sentence(contrasts: Estimates, wording: Wording) -> str:
    """Return all methods' results against the reference on one metric, averaged over tasks if several."""
    rows = contrasts
    if contrasts.is_over_tasks.any():
        rows = contrasts.subset(contrasts.is_over_tasks)
    rows = wording.sorted_by_method(rows)
    states = verdicts_or_missing_reasons(rows)
    n_methods = len(rows.distinct_values("method"))
    noun = TERMS[str(contrasts.frame["term"].iloc[0])].noun
    clauses = []
    for state, predicate in _PREDICATES.items():
        rows_of_state = rows.subset(states == state)
        if not len(rows_of_state):
            continue
        names = [wording.method(method) for method in rows_of_state.frame["method"]]
        subject = _subject(names, n_methods)
        sizes = _contrast_sizes_clause(rows_of_state, names, contrasts, wording)
        clauses.append(f"{subject} {predicate.format(noun=noun)}{sizes}")
    metric = str(contrasts.frame["metric"].iloc[0])
    reference = wording.method(contrasts.frame["reference"].iloc[0])
    start = f"On {wording.metric(metric)}, compared with {reference},"
    return f"{start}{_averaged_over_tasks_insertion(contrasts)} {'; '.join(clauses)}."


def _subject(names: Sequence[str], n_methods: int) -> str:
    """Return the methods as the subject of a clause: names, or "all 9 methods", or "7 of 9 methods"."""
    if len(names) <= MAX_ITEMS_IN_SENTENCE:
        return joined(names)
    if len(names) == n_methods:
        return f"all {n_methods} methods"
    return f"{len(names)} of {n_methods} methods"


def _averaged_over_tasks_insertion(contrasts: Estimates) -> str:
    """Return the tasks that contrasts are averaged over, "" where there are no averages."""
    if not contrasts.is_over_tasks.any():
        return ""
    has_pairs = contrasts.numbers("n_pairs")[~contrasts.is_over_tasks] > 0
    if has_pairs.all():
        return " averaged over tasks,"
    return " averaged over the tasks with pairs,"


def verdicts_or_missing_reasons(contrasts: Estimates) -> np.ndarray:
    """Return each row's state: its verdict in words, or the reason why it has none."""
    frame = contrasts.frame
    states = []
    sides, _ = sides_and_claims(frame["verdict"])
    for row, side in enumerate(sides):
        if not contrasts.numbers("n_pairs")[row] > 0:
            states.append("unpaired")
        elif not contrasts.has_estimate[row]:
            states.append("undefined")
        elif side in ("lower", "higher"):
            states.append(better_or_worse_verdict(str(frame["metric"].iloc[row]), side))
        else:
            states.append(side)
    return np.array(states, dtype=object)


def _contrast_sizes_clause(
    rows: Estimates, names: Sequence[str], contrasts_of_metric: Estimates, wording: Wording
) -> str:
    """Return the sizes of some contrasts as a clause: ", with a difference in mean score of 0.2 [...]".

    `contrasts_of_metric` are all rows of the metric, whose magnitude gives the decimals.
    """
    if not rows.has_estimate.any():
        return ""
    term = str(contrasts_of_metric.frame["term"].iloc[0])
    noun = TERMS[term].noun
    nouns = TERMS[term].nouns
    digits = decimals_by_magnitude(contrasts_of_metric.numbers("estimate"))
    is_increase = np.zeros(len(rows), dtype=bool)
    if term == "percent_decrease":
        digits = _DECIMALS_OF_PERCENT
        is_increase = _are_increases(rows)
    value_names = names
    if len(names) == 1:
        # a single method is the subject of the sentence already
        value_names = [""]
    if is_increase.all():
        rows = _as_increases(rows, is_increase)
        noun = _PERCENTAGE_INCREASE
        nouns = f"{_PERCENTAGE_INCREASE}s"
    elif is_increase.any():
        sizes = wording.estimate_texts(_as_increases(rows, is_increase), digits)
        nouns_of_rows = np.where(is_increase, _PERCENTAGE_INCREASE, noun)
        texts = [f"a {noun} of {size}" for noun, size in zip(nouns_of_rows, sizes, strict=True)]
        sizes_text = named_values_or_extremes_text(texts, value_names, rows.numbers("estimate"))
        if len(value_names) > MAX_ITEMS_IN_SENTENCE:
            return f", with changes {sizes_text}"
        return f", with {sizes_text}"
    sizes_text = named_values_or_extremes_text(
        wording.estimate_texts(rows, digits), value_names, rows.numbers("estimate")
    )
    if len(value_names) > MAX_ITEMS_IN_SENTENCE:
        return f", with {nouns} {sizes_text}"
    return f", with a {noun} of {sizes_text}"


def _are_increases(decreases: Estimates) -> np.ndarray:
    """Return whether each percentage decrease is an increase of a mean above 0."""
    return (decreases.numbers("estimate") < 0) & (decreases.numbers("reference_mean") > 0)


def _as_increases(decreases: Estimates, is_increase: np.ndarray) -> Estimates:
    """Return percentage decreases below 0 as the increases that they are; other rows stay as they are."""
    estimate = decreases.numbers("estimate")
    low = decreases.numbers("conf_low")
    high = decreases.numbers("conf_high")
    return decreases.with_columns(
        estimate=np.where(is_increase, -estimate, estimate),
        conf_low=np.where(is_increase, -high, low),
        conf_high=np.where(is_increase, -low, high),
    )


def _significance_rule_sentence(contrasts: Estimates, wording: Wording) -> str:
    """Return the sentence on when a difference is taken as shown."""
    interval = f"{wording.level_text_without_percent_sign}% confidence interval"
    rule = f"A difference is taken as shown where the {interval} excludes 0"
    if used_adjustment_procedure(contrasts) is None:
        return f"{rule}; nothing is adjusted for multiple tests."
    p_name = wording.p_name(contrasts)
    return f"{rule} and {p_name} is below {wording.alpha} ({family_and_n_tests_text(contrasts)})."


def _interpretation_notes(contrasts: Estimates, wording: Wording) -> Iterator[str]:
    """Yield notes on inconclusive contrasts, signs, directions, and reference means of 0 or below."""
    term = str(contrasts.frame["term"].iloc[0])
    is_decrease = term == "percent_decrease"
    noun = TERMS[term].noun
    reference = wording.method(contrasts.frame["reference"].iloc[0])
    is_inconclusive = contrasts.frame["verdict"].astype(TEXT) == "inconclusive"
    if (contrasts.has_estimate & is_inconclusive).any():
        yield NO_EVIDENCE_OF_EQUALITY
    if is_decrease and _are_increases(contrasts).any():
        yield f"A percentage decrease below 0 is an increase: a mean above that of {reference}."
    smaller_is_better = []
    without_direction = []
    for metric, _ in wording.rows_by_metric(contrasts):
        record = registered_metric(metric)
        if record is None:
            without_direction.append(metric)
        elif not record.larger_is_better:
            smaller_is_better.append(metric)
    if smaller_is_better:
        loss = _PERCENTAGE_INCREASE if is_decrease else f"positive {noun}"
        yield f"Smaller is better on {wording.metrics(smaller_is_better)}, where a {loss} is a worse score."
    if without_direction:
        yield (
            f"Whether larger is better is not known of {wording.metrics(without_direction)}, so lower and "
            "higher are not judged."
        )
    reference_means = contrasts.numbers("reference_mean")
    if is_decrease and (reference_means == 0).any():
        yield f"Where the mean of {reference} is 0 there is no percentage decrease."
    if is_decrease and (reference_means < 0).any():
        yield (
            f"Where the mean of {reference} is below 0, a percentage decrease has no plain reading and only "
            "the difference should be read."
        )
