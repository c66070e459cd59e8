"""Notes below a table: sentences made from the columns of the frame that it shows."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.display.estimates import Estimates
from salstats.display.facts import (
    adjustment_text,
    count_sentence,
    interval_name_with_level,
    limits_and_caution_note,
    paragraph,
    ranks_or_tests_pool_tasks_sentence,
    score_weights_sentence,
    undefined_replicates_sentence,
)
from salstats.display.tables.marks import BestEstimates, DifferingEstimates
from salstats.display.text.format import (
    MISSING,
    count_text,
    counted,
    fixed_text,
    joined,
    p_text,
    plural,
    rounded_level_text_without_percent_sign,
    significance_level_of_row,
)
from salstats.display.text.labels import Labels
from salstats.display.text.vocabulary import ABBREVIATIONS, method_label_in_sentence
from salstats.metrics.registry import METRICS, threshold_label
from salstats.stats.average_kinds import AverageKind
from salstats.stats.engine.grouping import AVERAGE, OVERALL
from salstats.stats.engine.score_reasons import SEVERAL
from salstats.stats.engine.weighting import MEMBER_SEPARATOR
from salstats.stats.mrmc.designs import PAIRED_DESIGNS


def equal_methods_test_note(estimates: Estimates, labels: Labels, style: str) -> str:
    """Say how `mrmc` tested that all methods are equal: "All equal: F(1, 15.3) = 4.46, P = 0.052."."""
    if "equal" not in estimates.distinct_values("term"):
        return ""
    texts = []
    keys = [key for key in estimates.varying_keys if key not in ("method", "reference")]
    rows = estimates.subset(estimates.frame["term"] == "equal")
    for row in rows.frame.to_dict("records"):
        p_value_text = p_text(
            row["p_value"], style, named=True, alpha=significance_level_of_row(row, "p_value")
        )
        text = f"{_f_or_chi_squared_text(row)}, {p_value_text}"
        group = ", ".join(labels.value(key, row[key]) for key in keys)
        if group:
            text += f" ({group})"
        texts.append(text)
    return f"All equal: {'; '.join(texts)}."


def _f_or_chi_squared_text(row: Mapping[Any, Any]) -> str:
    """Return a statistic with its degrees of freedom: "F(1, 15.3) = 4.46"."""
    df = count_text(row["df"])
    residual_df = row["df_residual"]
    if np.isnan(residual_df):
        distribution = f"χ²({df})"
    elif residual_df < 100:
        distribution = f"F({df}, {fixed_text(residual_df, 1)})"
    else:
        # decimals of large degrees of freedom do not matter
        distribution = f"F({df}, {count_text(residual_df)})"
    return f"{distribution} = {fixed_text(row['statistic'], 2)}"


def summary_rows_note(estimates: Estimates) -> str:
    """Return sentences on what the rows "Overall" and "Average" pool or average."""
    sentences = []
    for key in estimates.keys:
        values = estimates.distinct_values(key)
        if OVERALL in values:
            sentences.append(f"{OVERALL}: all {plural(key)} pooled.")
        if AVERAGE in values:
            rows = np.flatnonzero(estimates.frame[key] == AVERAGE)
            weights = estimates.take(rows).only_non_missing_value("weights")
            kinds = {estimates.average_kind_of_each_row[row] for row in rows}
            text = _average_name(str(weights or ""), kinds)
            sentences.append(f"{AVERAGE}: {text} over {plural(key)}.")
    return " ".join(sentences)


def _average_name(weights: str, kinds: set[AverageKind | None]) -> str:
    """Return the name of an average: "unweighted mean".

    `weights` is the text in the frame's column `weights`; `kinds` are those of average decreases, None for
    other estimates.
    """
    # the column averaged over, ": ", and the weights of its values; without weights all are equal
    _, _, shares = weights.partition(MEMBER_SEPARATOR)
    weighting = "unweighted"
    shares_text = ""
    if shares:
        weighting = "weighted"
        shares_text = f" (weights {shares})"
    # rows whose numbers agree with both kinds take the kind of the other rows
    certain_kinds = kinds - {AverageKind.EITHER}
    if certain_kinds == {AverageKind.OF_MEANS}:
        return f"decrease of the {weighting} means{shares_text}"
    if certain_kinds == {AverageKind.OF_DECREASES}:
        return f"{weighting} mean{shares_text} of the decreases"
    if kinds == {None}:
        return f"{weighting} mean{shares_text}"
    return f"{weighting} average{shares_text}"


def best_note(
    best: BestEstimates,
    compared_columns: Sequence[str],
    exclude: Sequence[str],
    labels: Labels,
    methods: Sequence[object] = (),
) -> str:
    """Return what bold means, and for which metrics none is bold; `methods` are the methods of the table."""
    unknown_note = ""
    if best.unknown:
        metrics = joined([labels.value("metric", metric) for metric in best.unknown])
        unknown_note = f"Which {metrics} is better is not known, so none is bold."
    if not best.rows:
        return unknown_note
    text = "Bold: best estimate"
    if best.smaller and not best.larger:
        text += " (the smallest)"
    if best.strata:
        text += f" per {joined([_heading_in_sentence(column, labels) for column in best.strata])}"
    if best.smaller and best.larger:
        metrics = joined([labels.value("metric", metric) for metric in best.smaller])
        text += f" (the smallest for {metrics})"
    if exclude:
        names = []
        for value in exclude:
            # methods can be excluded where another column is compared
            column = "method" if value in methods else compared_columns[0]
            names.append(labels.value(column, value))
        text += f", {joined(names)} not competing"
    return f"{text}. {unknown_note}".strip()


def _heading_in_sentence(column: str, labels: Labels) -> str:
    """Return a column's heading as it stands inside a sentence: "Task" as "task", "IoU" as it is."""
    heading = labels.column(column)
    is_word = heading[1:].partition(" ")[0].islower()
    if is_word:
        return heading[:1].lower() + heading[1:]
    return heading


def underlining_meaning_note(differences: Estimates, differing: DifferingEstimates, labels: Labels) -> str:
    """Say what underlined means, or that all or none differ: from what, at which level, by which correction.

    The rarer ones are underlined: estimates that differ, or those that were not shown to.
    """
    reference = method_label_in_sentence(labels.value("reference", differences.frame["reference"].iloc[0]))
    criterion = significance_criterion(differences, adjustment_text(differences))
    if has_paired_design(differences):
        reference = f"{reference} on the same cases"
    if not differing.rows:
        text = f"No difference from {reference} was shown (it would be underlined: {criterion})"
    elif not differing.other_rows:
        text = f"All differ from {reference} ({criterion})"
    elif len(differing.rows) > len(differing.other_rows):
        text = f"Underlined: not shown to differ from {reference}; all others differ ({criterion})"
    else:
        text = f"Underlined: differs from {reference} ({criterion})"
    if differing.n_untested:
        n_untested = counted(differing.n_untested, "estimate was", "estimates were")
        text += f"; {n_untested} not compared"
    return f"{text}."


def has_paired_design(estimates: Estimates) -> bool:
    """Return whether methods are compared on the same cases, as `mrmc` does where no reading is missing."""
    return set(estimates.distinct_values("design")) <= set(PAIRED_DESIGNS)


def significance_criterion(differences: Estimates, correction: str = "") -> str:
    """Return the criterion by which a verdict is significant: "95% CI of the difference excludes 0"."""
    criteria = []
    interval = interval_name_with_level(differences)
    if interval:
        criteria.append(f"{interval} of the {_contrast_noun(differences)} excludes 0")
    if differences.has_adjusted_p_values:
        p_name = "adjusted P"
        if correction:
            p_name += f" ({correction})"
        criterion = f"{p_name} is significant"
        level = differences.only_non_missing_value("family_level") or differences.only_non_missing_value(
            "conf_level"
        )
        if level is not None:
            criterion += f" at the {rounded_level_text_without_percent_sign(1 - float(level))}% level"
        criteria.append(criterion)
    return " and ".join(criteria) or "as its verdict says"


def _contrast_noun(differences: Estimates) -> str:
    """Return the noun for contrasts: "paired difference"."""
    if differences.only_term == "percent_decrease":
        return "decrease"
    if has_paired_design(differences):
        return "paired difference"
    return "difference"


def dash_note(
    cells: Iterable[Iterable[str]],
    n_reference_dashes: int = 0,
    reference_dash_meaning: str = "reference level",
) -> str:
    """Return what dashes mean, "" without any.

    `n_reference_dashes` of them stand for a `reference_dash_meaning`.
    """
    n_dashes = 0
    for row in cells:
        n_dashes += sum(MISSING in text for text in row)
    meanings = []
    if n_reference_dashes:
        meanings.append(reference_dash_meaning)
    if n_dashes > n_reference_dashes:
        meanings.append("not available")
    if not meanings:
        return ""
    return f"{MISSING}, {' or '.join(meanings)}."


def constant_note(estimates: Estimates, constant_columns: Iterable[str], labels: Labels) -> str:
    """Return the names and values of grouping columns that have one value only."""
    texts = []
    for column in constant_columns:
        values = estimates.distinct_values(column)
        if values:
            texts.append(labels.column_and_value_text(column, values[0]))
    if not texts:
        return ""
    return f"{'; '.join(texts)}."


def metric_notes(frame: pd.DataFrame) -> str:
    """Return the notes of metrics that a frame or one of its formulas names."""
    texts: list[str] = []
    for column in frame.columns:
        is_numeric = frame[column].dtype.kind in "iufb"
        if not is_numeric:
            texts += map(str, frame[column].unique())
    words = set(re.findall(r"\w+", " ".join(texts)))
    return paragraph(*[metric.note for metric in METRICS.values() if metric.name in words])


#: Columns that say how scores were computed, and the sentence about each.
_SCORING_SENTENCE_BY_COLUMN = {
    "distance_options": "{metrics}: {value}.",
    "pdc_options": "{metrics}: {value}.",
    "metric_options": "{metrics}: {value}.",
    "curve_options": "{metrics}: {value}.",
    "center_bias": "{metrics}: corrected by the centre bias of {value} images.",
    "n_samples": "{metrics}: sampled, {value} pixels drawn on either side.",
    "undefined": "{metrics}: an empty mask has the {value} score, 0 or the image's diagonal.",
    "floor": "{metrics}: {value} of a map's maximum added to every pixel.",
    "truth_rule": "{metrics}: the truth is the {value} of several readers' masks.",
    "threshold": "{metrics}: masks are made of maps with {value}.",
}
#: Words for values of these columns.
_SCORING_WORDS = {"others": "the other", "staple": "STAPLE consensus"}


def scoring_note(estimates: Estimates, labels: Labels) -> str:
    """Say how the scores of the metrics shown were computed, where the frame has such columns."""
    sentences = []
    for column in _SCORING_SENTENCE_BY_COLUMN:
        for value in estimates.distinct_values(column):
            rows = estimates.subset(estimates.frame[column] == value)
            ordered = labels.order("metric", rows.distinct_values("metric"))
            metrics = joined([labels.value("metric", metric) for metric in ordered])
            if metrics:
                sentences.append(_scoring_sentence(metrics, column, value))
    return " ".join(sentences)


def _scoring_sentence(metrics: str, column: str, value: Any) -> str:
    """Say how the scores of some metrics were computed, from one value of one column."""
    if value == SEVERAL and column == "threshold":
        return f"{metrics}: masks are made of maps with several thresholds."
    if value == SEVERAL:
        return f"{metrics}: scored in several ways ({column.replace('_', ' ')})."
    if column == "floor" and value == 0:
        return f"{metrics}: undefined where a map is 0 at a fixation."
    text = _SCORING_WORDS.get(str(value), str(value))
    if column == "threshold":
        text = f"{threshold_label(text)} threshold"
    elif isinstance(value, float):
        # a whole number is a float in a column with missing values
        text = str(int(value)) if value.is_integer() else f"{value:g}"
    return _SCORING_SENTENCE_BY_COLUMN[column].format(metrics=metrics, value=text)


def abbreviation_note(texts: Iterable[str]) -> str:
    """Return the abbreviations that occur in some texts, spelled out in alphabetical order."""
    # the first alternative that matches counts: "Insertion AUC" must be tried before "AUC"
    pattern = "|".join(sorted(ABBREVIATIONS, key=len, reverse=True))
    present_abbreviations = set(re.findall(rf"\b(?:{pattern})\b", " ".join(texts)))
    if not present_abbreviations:
        return ""
    entries = [f"{short}, {full}" for short, full in ABBREVIATIONS.items() if short in present_abbreviations]
    return f"{'; '.join(sorted(entries, key=str.casefold))}."


class CountedNounAndMissingAdjective(NamedTuple):
    """The noun that n counts, "pair", and the adjective for missing ones, "incomplete"."""

    counted: str
    missing: str


class EstimatesNotes(NamedTuple):
    """Two paragraphs: the scores that estimates describe, and their intervals and numbers of scores."""

    subject: str
    statistics: str


def estimates_notes(
    estimates: Estimates,
    labels: Labels,
    constant: Iterable[str],
    nouns: CountedNounAndMissingAdjective,
    subject_note: str = "",
) -> EstimatesNotes:
    """Return the notes on estimates.

    `constant` are grouping columns with one value; `subject_note` is a further text for the first paragraph.
    """
    subject = paragraph(
        constant_note(estimates, constant, labels),
        subject_note,
        ranks_or_tests_pool_tasks_sentence(estimates),
        summary_rows_note(estimates),
        scoring_note(estimates, labels),
        metric_notes(estimates.frame),
    )
    statistics = paragraph(
        limits_and_caution_note(estimates, labels),
        count_sentence(estimates, nouns.counted, nouns.missing),
        undefined_replicates_sentence(estimates),
        score_weights_sentence(estimates),
    )
    return EstimatesNotes(subject, statistics)
