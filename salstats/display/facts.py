"""Facts about estimates as sentences: brief ones in captions, full ones in notes below tables."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from salstats.display.estimates import Estimates
from salstats.display.text.cautions import caution_note
from salstats.display.text.covariate_units import has_coefficients
from salstats.display.text.format import (
    capitalized,
    count_range_text,
    count_text,
    counted,
    counted_range,
    joined,
    level_text_without_percent_sign,
    noun_of_identifier,
    plural,
    rounded_level_text_without_percent_sign,
)
from salstats.display.text.labels import SUMMARY_LABELS, Labels
from salstats.display.text.models import count_of_models, has_marginal_estimates
from salstats.display.text.vocabulary import (
    RANK_TERMS,
    REPLICATE_LIMITS,
    TERMS,
    inference_population_sentence,
    limits_name_after_level,
)
from salstats.stats.adjust import find_procedure
from salstats.stats.engine.intervals import Interval, interval_by_name
from salstats.stats.engine.paired_tests import RECORDS as TESTS
from salstats.stats.engine.result_warnings import has_limit_beyond_range
from salstats.stats.engine.score_reasons import count_missing_without_absent_findings
from salstats.stats.engine.weighting import MEMBER_SEPARATOR, weights_note
from salstats.stats.mrmc.covariances import BY_NAME as COVARIANCES

#: Sentence on estimates without limits.
NO_LIMITS = "No confidence intervals."
#: Sentence on limits beyond the range of possible values.
IMPOSSIBLE_LIMITS = (
    "Limits beyond the range of what is estimated are impossible values: the interval does not fit."
)
#: Sentence on the bounds of estimates with undefined scores.
BOUNDS_NOTE = "Bounds: the estimate if all undefined scores were the worst or best possible."
#: Null hypotheses of terms for which they are not obvious.
_NULL_HYPOTHESES = {
    "auroc": "against 0.5",
    "calibration_intercept": "against an intercept of 0",
    "calibration_slope": "against a slope of 1",
}
#: Most estimates without a value that a caption names one by one.
_MAX_NAMED = 3
#: Most metrics or other values that are named after the kinds of intervals or tests that they have.
_MAX_NAMED_VALUES = 6


@dataclass(frozen=True)
class LimitFacts:
    """Facts on the limits of estimates.

    Attributes
    ----------
    rows : Estimates
        The estimates that have at least one limit.
    levels : tuple of float
        Their confidence levels.
    family_level_if_simultaneous : float or None
        The family level at which all limits of a family hold together, None where each holds on its own.
    n_without : int
        Number of estimates that have no limits.
    any_infinite, any_beyond : bool
        Whether a limit is infinite, or beyond the range of possible values.
    """

    rows: Estimates
    levels: tuple[float, ...]
    family_level_if_simultaneous: float | None
    n_without: int
    any_infinite: bool
    any_beyond: bool

    @property
    def name(self) -> str:
        """Name of the limits: "95% CI", "simultaneous 95% CI", or "CI" where levels differ."""
        name = limits_name_after_level(self.rows.distinct_values("term") or ["mean"])
        if self.family_level_if_simultaneous is not None:
            return (
                f"simultaneous {level_text_without_percent_sign(self.family_level_if_simultaneous)}% {name}"
            )
        if len(self.levels) != 1:
            return name
        return f"{rounded_level_text_without_percent_sign(self.levels[0])}% {name}"

    @property
    def is_no_confidence_interval(self) -> bool:
        """True if the limits contain replicates, and are not an interval for a true value."""
        return limits_name_after_level(self.rows.distinct_values("term") or ["mean"]) != "CI"

    @property
    def interval_column_values(self) -> list[str]:
        """Names of the intervals, as the column has them."""
        return [str(kind) for kind in self.rows.distinct_values("interval")]


def limit_facts(estimates: Estimates) -> LimitFacts:
    """Return facts on the limits of estimates."""
    rows = estimates.subset(estimates.has_any_limit)
    ends = np.concatenate([rows.numbers("conf_low"), rows.numbers("conf_high")])
    return LimitFacts(
        rows=rows,
        levels=tuple(float(level) for level in np.unique(rows.non_missing_numbers("conf_level"))),
        family_level_if_simultaneous=rows.family_level_if_simultaneous,
        n_without=int((estimates.has_estimate & ~estimates.has_any_limit).sum()),
        any_infinite=bool(np.isinf(ends).any()),
        any_beyond=bool(has_limit_beyond_range(rows.frame).any()),
    )


def interval_name_with_level(estimates: Estimates) -> str:
    """Return "95% CI", "CI" where levels differ, "" where no row has limits."""
    if not estimates.has_any_limit.any():
        return ""
    return limit_facts(estimates).name


def heading_with_interval(heading: str, estimates: Estimates, *, beside_p_values: bool = False) -> str:
    """Return a heading with the name of the interval in brackets: "Mean (95% CI)".

    Beside P values (`beside_p_values`) that are adjusted, intervals that are not are called unadjusted.
    """
    heading = heading_with_quantile_level(heading, estimates)
    name = interval_name_with_level(estimates)
    if not name:
        return heading
    if beside_p_values and _only_p_values_are_adjusted(estimates):
        name += ", unadjusted"
    return f"{heading} ({name})"


def heading_with_quantile_level(heading: str, estimates: Estimates) -> str:
    """Return a heading in which "quantile" has its level, where there is a single one: "25% quantile"."""
    level = estimates.only_non_missing_value("quantile")
    if level is None:
        return heading
    name = f"{level_text_without_percent_sign(float(level))}% quantile"
    return capitalized(re.sub("quantile", name, heading, flags=re.IGNORECASE))


def _only_p_values_are_adjusted(estimates: Estimates) -> bool:
    """Return whether P values are adjusted and limits are not."""
    return estimates.has_adjusted_p_values and not estimates.distinct_values("family_level")


def each_distinct_text_with_groups_or_counts(
    estimates: Estimates, texts_of_rows: Sequence[str], labels: Labels | None = None
) -> list[str]:
    """Return the distinct texts of rows, each with the metrics that have it: "Student's t (IoU and Dice)".

    Values of another grouping column are named where metrics have several texts each. Where no column
    separates the texts, or it has many values, the number of estimates follows instead: "Student's t (5 of
    20 estimates)". Without `labels` those of the package are used.
    """
    counts = Counter(texts_of_rows)
    if len(counts) < 2:
        return list(counts)
    if labels is None:
        labels = Labels(None, estimates.frame)
    # the metric first
    keys = sorted(estimates.varying_keys, key=lambda column: column != "metric")
    if estimates.varies("term"):
        keys.append("term")
    for key in keys:
        if estimates.frame[key].isna().any():
            continue
        texts_of_values: dict[Any, set[str]] = {}
        for value, text in zip(estimates.frame[key], texts_of_rows, strict=True):
            texts_of_values.setdefault(value, set()).add(text)
        has_one_text = all(len(texts) == 1 for texts in texts_of_values.values())
        if not has_one_text or len(texts_of_values) > _MAX_NAMED_VALUES:
            continue
        named_texts = []
        for text in counts:
            values = [value for value, texts in texts_of_values.items() if text in texts]
            names = [_value_or_term_label(key, value, labels) for value in labels.order(key, values)]
            named_texts.append(f"{text} ({joined(names)})")
        return named_texts
    total = counted(len(texts_of_rows), "estimate")
    return [f"{text} ({count_text(count)} of {total})" for text, count in counts.items()]


def _value_or_term_label(key: str, value: Any, labels: Labels) -> str:
    """Return the label of a value, for a kind of estimate its name: "calibration slope"."""
    if key == "term" and value in TERMS:
        return TERMS[value].name
    return labels.value(key, value)


def _joined_texts_with_groups_or_counts(
    estimates: Estimates, column: str, text_by_value: Mapping[str, str], labels: Labels | None
) -> str:
    """Return the texts of a column's values in one phrase, each with the metrics or number of its rows."""
    rows = estimates.subset(estimates.frame[column].notna())
    texts = [text_by_value[str(value)] for value in rows.row_values(column)]
    return joined(each_distinct_text_with_groups_or_counts(rows, texts, labels))


def bars_sentence(estimates: Estimates, *, mark: str = "Bars", labels: Labels | None = None) -> str:
    """Return briefly what the bars of a figure are: "Bars: 95% percentile intervals, unit: patient.".

    Where there are several kinds of intervals, `labels` name the metrics that have each. Intervals are called
    unadjusted if the P values of the estimates are adjusted, also in a figure without P values.
    """
    if not estimates.has_any_limit.any():
        return NO_LIMITS
    limits = limit_facts(estimates)
    level = joined([f"{level_text_without_percent_sign(value)}%" for value in limits.levels], "or")
    if limits.family_level_if_simultaneous is not None:
        level = f"simultaneous {level_text_without_percent_sign(limits.family_level_if_simultaneous)}%"
    if _only_p_values_are_adjusted(estimates):
        level = f"unadjusted {level}"
    interval_names = _interval_names_in_caption(limits, labels)
    if level:
        interval_names = f"{level} {interval_names}"
    sentence = f"{mark}: {interval_names}"
    units = limits.rows.distinct_values("unit")
    if units:
        sentence += f", unit: {joined([noun_of_identifier(str(unit)) for unit in units])}"
    if limits.n_without:
        sentence += "; marks without bar have none"
    if limits.any_infinite:
        sentence += "; a bar that ends with the axis has no limit there"
    if limits.is_no_confidence_interval:
        sentence += f"; {REPLICATE_LIMITS}"
    if limits.any_beyond:
        sentence += "; values beyond the range of what is estimated are impossible: the interval does not fit"
    return f"{sentence}."


def _interval_names_in_caption(limits: LimitFacts, labels: Labels | None) -> str:
    """Return the names of all kinds of intervals in a caption."""
    kinds = {kind: _interval_name_in_caption(kind) for kind in limits.interval_column_values}
    if not kinds:
        return "intervals"
    return _joined_texts_with_groups_or_counts(limits.rows, "interval", kinds, labels)


def _interval_name_in_caption(kind: str) -> str:
    """Return the name of a kind of intervals in a caption."""
    record = interval_by_name(kind)
    if record is None:
        return f"{kind} intervals"
    return f"{record.short_label or record.label} intervals"


def confidence_limits_method_sentences(estimates: Estimates, labels: Labels | None = None) -> str:
    """Return in full how confidence limits were computed.

    An example is "95% CI: percentile bootstrap of patients, 1,000 replicates.".
    Where there are several kinds of intervals, `labels` name the metrics that have each.
    """
    if not estimates.has_any_limit.any():
        return NO_LIMITS
    limits = limit_facts(estimates)
    sentences = []
    if len(limits.levels) > 1 and limits.family_level_if_simultaneous is None:
        levels = joined([f"{rounded_level_text_without_percent_sign(level)}%" for level in limits.levels])
        sentences.append(f"CI levels: {levels}.")
    if limits.interval_column_values:
        text_by_kind = {
            kind: _interval_name_in_note(kind, limits.rows) for kind in limits.interval_column_values
        }
        kinds = _joined_texts_with_groups_or_counts(limits.rows, "interval", text_by_kind, labels)
        sentences.append(f"{capitalized(limits.name)}: {kinds}.")
    if limits.is_no_confidence_interval:
        sentences.append(f"Limits: {REPLICATE_LIMITS}.")
    if limits.n_without:
        sentences.append("An estimate that stands alone has no interval.")
    if limits.any_beyond:
        sentences.append(IMPOSSIBLE_LIMITS)
    if limits.any_infinite:
        sentences.append("Infinite limits: the set is unbounded.")
    if limits.family_level_if_simultaneous is not None:
        sentences.append(_levels_held_together_and_singly_sentence(limits))
    return paragraph(*sentences)


def _interval_name_in_note(kind: str, estimates_with_limits: Estimates) -> str:
    """Return the name of an interval in a note, with its units and replicates or covariances."""
    rows = estimates_with_limits.subset(estimates_with_limits.frame["interval"] == kind)
    unit = rows.only_non_missing_value("unit")
    record = interval_by_name(kind, rows.only_term)
    text = kind
    if record is not None:
        text = record.label
    if record is not None and record.kind == "bootstrap":
        if unit is not None:
            text += f" of {plural(str(unit))}"
        return text + replicate_count_clause_ending(rows)
    covariance = COVARIANCES.get(str(rows.only_non_missing_value("covariance")))
    if covariance is not None:
        text += f", {covariance.label} covariances"
    if unit is not None and _interval_name_needs_clusters(record, rows):
        text += f", clustered by {noun_of_identifier(str(unit))}"
    return text


def _interval_name_needs_clusters(record: Interval | None, rows: Estimates) -> bool:
    """Return whether the name of an interval has to include its clusters.

    A regression names them with its standard errors.
    """
    if record is None or not record.clustered or rows.distinct_values("errors"):
        return False
    return bool((rows.numbers("n_units") < rows.numbers("n")).any())


def _levels_held_together_and_singly_sentence(limits: LimitFacts) -> str:
    """Return the levels at which all limits of a family hold together, and at which each of them does."""
    assert limits.family_level_if_simultaneous is not None
    has_several_families = len(np.unique(limits.rows.non_missing_numbers("n_tests"))) > 1
    subject = "All of them"
    if has_several_families:
        subject = "Those of a family"
    family_level = rounded_level_text_without_percent_sign(limits.family_level_if_simultaneous)
    level_texts = dict.fromkeys(
        f"{rounded_level_text_without_percent_sign(level)}%" for level in limits.levels
    )
    levels = joined(list(level_texts), "and")
    return f"{subject} hold together at {family_level}%, singly at {levels}."


def replicate_count_clause_ending(estimates: Estimates) -> str:
    """Return the end of a clause with the number of replicates: ", 1,000 replicates"; "" where unknown."""
    n_replicates = estimates.only_non_missing_value("n_replicates")
    if n_replicates is None:
        return ""
    return f", {counted(float(n_replicates), 'replicate')}"


def population_and_caution_sentences(estimates: Estimates) -> str:
    """Return for which population limits hold, and what makes estimates doubtful."""
    with_limits = estimates.subset(estimates.has_any_limit)
    return paragraph(
        inference_population_sentence(with_limits.distinct_values("inference_to")),
        caution_note(estimates.frame),
    )


def limits_and_caution_note(estimates: Estimates, labels: Labels | None = None) -> str:
    """Return in full how intervals were computed, for which population, and what makes them doubtful."""
    return paragraph(
        confidence_limits_method_sentences(estimates, labels), population_and_caution_sentences(estimates)
    )


def interval_caption(estimates: Estimates, *, mark: str = "Bars", labels: Labels | None = None) -> str:
    """Return briefly what bars are, how scores are weighted, and for which population intervals hold.

    Cautions on doubtful estimates follow.
    """
    return paragraph(
        bars_sentence(estimates, mark=mark, labels=labels),
        score_weights_sentence(estimates.subset(estimates.has_any_limit)),
        population_and_caution_sentences(estimates),
    )


def score_weights_sentence(estimates: Estimates) -> str:
    """Return how scores are weighted, "" where all have the same weight."""
    weights = [value for value in estimates.distinct_values("weights") if MEMBER_SEPARATOR not in str(value)]
    return weights_note(weights, noun_of_identifier(str(estimates.only_non_missing_value("unit") or "unit")))


def ranks_or_tests_pool_tasks_sentence(estimates: Estimates) -> str:
    """Return that ranks, or pairwise tests of methods, pool all tasks; "" where each task has its own.

    Frames of `rank_stability`, `rank_limits` and `significance_map` pool tasks unless `task` is a grouping
    column; they do not hold the number of tasks.
    """
    terms = set(estimates.distinct_values("term"))
    are_ranks = len(terms) > 0 and terms <= RANK_TERMS
    are_pairwise_tests = bool(estimates.distinct_values("better"))
    if not (are_ranks or are_pairwise_tests) or "task" in estimates.keys:
        return ""
    return "Tasks are taken together where there are several."


def count_sentence(
    estimates: Estimates, observation_noun: str = "score", missing_adjective: str = "undefined"
) -> str:
    """Return how many observations an estimate has: "136 to 140 scores of 109 to 114 patients per estimate.".

    Averages and pooled rows are counted separately; estimates without observations add to the missing ones
    only. Coefficients and marginal estimates have the observations of their model: "334 observations in the
    model; 26 incomplete and left out.".
    """
    if has_marginal_estimates(estimates) or has_coefficients(estimates):
        return _model_observations_sentence(estimates)
    single_estimates = estimates.subset(~estimates.is_summary_row)
    if not len(single_estimates):
        single_estimates = estimates
    # an estimate of no observations has no value
    is_empty = single_estimates.numbers("n") == 0
    counted_rows = single_estimates
    if not is_empty.all():
        counted_rows = single_estimates.subset(~is_empty)
    if not len(counted_rows.non_missing_numbers("n")):
        return ""
    text = _observations_and_units_text(counted_rows, observation_noun)
    if counted_rows.distinct_values("n_readers"):
        text += f" by {counted_range(counted_rows.non_missing_numbers('n_readers'), 'reader')}"
    if len(counted_rows) > 1:
        text += " per estimate"
    text += _observations_of_summary_rows_text(
        estimates, observation_noun, with_units=_has_one_observation_per_unit(counted_rows)
    )
    if is_empty.any() and not is_empty.all():
        text += ", where any is defined"
    if counted_rows.distinct_values("n_positive"):
        text += f" ({count_range_text(counted_rows.non_missing_numbers('n_positive'))} positive)"
    return f"{text}{_missing_or_none_missing_sentence_ending(single_estimates, missing_adjective)}."


def _model_observations_sentence(estimates: Estimates) -> str:
    """Return how many observations the models of estimates have, and how many they leave out."""
    if not len(estimates.non_missing_numbers("n")):
        return ""
    models = "in the model"
    if count_of_models(estimates) > 1:
        models = "per model"
    text = f"{_observations_and_units_text(estimates, 'observation')} {models}"
    return f"{text}{_missing_or_none_missing_sentence_ending(estimates, 'incomplete and left out')}."


def _has_one_observation_per_unit(estimates: Estimates) -> bool:
    """Return whether each unit has one observation."""
    return np.array_equal(estimates.non_missing_numbers("n"), estimates.non_missing_numbers("n_units"))


def _observations_and_units_text(estimates: Estimates, observation_noun: str) -> str:
    """Return the observations of estimates with their units: "136 to 140 scores of 109 to 114 patients".

    Where each unit has one observation, only the units are named: "64 patients".
    """
    text = counted_range(estimates.non_missing_numbers("n"), observation_noun)
    unit = estimates.only_non_missing_value("unit")
    n_units = estimates.non_missing_numbers("n_units")
    if unit is None or not len(n_units):
        return text
    units_text = counted_range(n_units, str(unit))
    if _has_one_observation_per_unit(estimates):
        return units_text
    return f"{text} of {units_text}"


def _missing_or_none_missing_sentence_ending(estimates: Estimates, missing_adjective: str) -> str:
    """Return the end of a sentence with the numbers of missing observations: "; 0 to 3 undefined".

    It is "; none undefined" where none is missing, and "" where the numbers are unknown.
    """
    n_missing = count_missing_without_absent_findings(estimates.frame)
    n_missing = n_missing[~np.isnan(n_missing)]
    if not len(n_missing):
        return ""
    if not n_missing.any():
        return f"; none {missing_adjective}"
    return f"; {count_range_text(n_missing)} {missing_adjective}"


def _observations_of_summary_rows_text(
    estimates: Estimates, observation_noun: str, *, with_units: bool
) -> str:
    """Return the counts of averages and pooled rows, "" if there are no other rows: " (Average, 1,000)".

    `with_units` names observations and units, as the text before names units only: " (Average, 549 pairs of
    200 cases)".
    """
    if estimates.is_summary_row.all():
        return ""
    texts = []
    for name in SUMMARY_LABELS:
        rows = estimates.subset((estimates.frame[list(estimates.keys)] == name).any(axis=1))
        if not len(rows.non_missing_numbers("n")):
            continue
        counts = count_range_text(rows.non_missing_numbers("n"))
        if with_units:
            counts = _observations_and_units_text(rows, observation_noun)
        texts.append(f"{name}, {counts}")
    if not texts:
        return ""
    return f" ({'; '.join(texts)})"


def clustering_or_independence_sentence(estimates: Estimates, pair_noun: str = "pair") -> str:
    """Return whether limits and P values are clustered by unit, "" unless some unit has several pairs."""
    unit = estimates.only_non_missing_value("unit")
    if unit is None or not (estimates.numbers("n_units") < estimates.numbers("n")).any():
        return ""
    if estimates.distinct_values("interval") == ["cr2"]:
        return f"Limits and P values are clustered by {noun_of_identifier(str(unit))}."
    return (
        f"{capitalized(plural(pair_noun))} of one {noun_of_identifier(str(unit))} are taken as independent."
    )


def undefined_replicates_sentence(estimates: Estimates) -> str:
    """Return how many replicates were undefined, "" where all were defined."""
    n_undefined = estimates.non_missing_numbers("n_undefined")
    if not len(n_undefined) or not n_undefined.max():
        return ""
    replicates = "replicates"
    n_replicates = estimates.only_non_missing_value("n_replicates")
    if n_replicates is not None:
        replicates = f"of {counted(float(n_replicates), 'replicate')}"
    return f"Up to {count_text(n_undefined.max())} {replicates} of an estimate were undefined."


def metrics_without_scores_sentence(estimates: Estimates, labels: Labels) -> str:
    """Return which metrics have no defined score, or for contrasts no complete pair of scores."""
    metrics = labels.order("metric", estimates.metrics_without_scores)
    if not metrics:
        return ""
    names = joined([labels.value("metric", metric) for metric in metrics], "or")
    if estimates.distinct_values("n_pairs"):
        return f"No pair of scores is complete for {names}."
    return f"No score is defined for {names}."


def not_drawn_sentence(estimates: Estimates, labels: Labels, columns: Sequence[str]) -> str:
    """Return which estimates have no value and are not drawn in a figure."""
    rows = estimates.subset(~estimates.has_estimate).frame[list(columns)].to_dict("records")
    names: dict[str, None] = {}
    for row in rows:
        texts = [labels.value(str(column), value) for column, value in row.items()]
        names["/".join(text for text in texts if text)] = None
    if not names:
        return ""
    listed = list(names)[:_MAX_NAMED]
    if len(names) > _MAX_NAMED:
        listed.append(f"{len(names) - _MAX_NAMED} more")
    return f"Undefined, not drawn: {joined(listed)}."


def p_value_sentence(estimates: Estimates, labels: Labels | None = None) -> str:
    """Return the test behind P values and the procedure that adjusted them, "" without P values."""
    source = p_value_test_text(estimates, labels)
    if not source:
        return ""
    if estimates.has_adjusted_p_values:
        return f"{source}; adjusted ({adjustment_text(estimates)})."
    return f"{source}; not adjusted for multiple tests."


def p_value_test_text(estimates: Estimates, labels: Labels | None = None) -> str:
    """Return the test behind P values, "" where there are none: "P values: two-sided t test".

    Where there are several tests, `labels` name the metrics that have each.
    """
    if not estimates.has_p_values:
        return ""
    text = "P values: two-sided"
    tested = estimates.subset(~np.isnan(estimates.numbers("p_value")))
    names = {
        str(test): _test_name_with_replicates(tested, str(test)) for test in tested.distinct_values("test")
    }
    if names:
        return f"{text} {_joined_texts_with_groups_or_counts(tested, 'test', names, labels)}"
    hypotheses = [
        _NULL_HYPOTHESES[term] for term in estimates.distinct_values("term") if term in _NULL_HYPOTHESES
    ]
    if hypotheses:
        return f"{text}, {joined(hypotheses)}"
    return text


def _test_name_with_replicates(tested: Estimates, test: str) -> str:
    """Return the name of a test, with the number of its replicates where it has any."""
    record = TESTS.get(test)
    if record is None:
        return test
    if record.resampled:
        return record.label + replicate_count_clause_ending(tested)
    return record.label


def adjustment_text(adjusted_estimates: Estimates) -> str:
    """Return the procedure by which P values were adjusted, and the tests of a family: "Holm, 24 tests"."""
    texts = []
    if adjusted_estimates.adjustment_procedure is not None:
        texts.append(procedure_name(adjusted_estimates.adjustment_procedure))
    sizes = np.unique(adjusted_estimates.non_missing_numbers("n_tests"))
    if len(sizes) == 1:
        texts.append(counted(sizes[0], "test"))
    elif len(sizes) == 2:
        texts.append(f"families of {count_text(sizes[0])} and {count_text(sizes[1])} tests")
    elif len(sizes):
        texts.append(f"families of {count_range_text(sizes)} tests")
    return ", ".join(texts) or "for multiplicity"


def procedure_name(procedure: str) -> str:
    """Return the name of a procedure in print."""
    record = find_procedure(procedure)
    if record is None:
        return procedure
    return record.label or record.name


def paragraph(*sentences: str) -> str:
    """Return sentences as one paragraph; empty ones are left out."""
    return " ".join(sentence for sentence in sentences if sentence)
