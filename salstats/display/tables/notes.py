"""What stands below a table: sentences made from the columns of the frame it shows."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.display.estimates import Estimates
from salstats.display.facts import (
    adjustment_text,
    count_sentence,
    interval_name,
    interval_note,
    paragraph,
    undefined_sentence,
    weights_sentence,
)
from salstats.display.tables.marks import Best
from salstats.display.text.format import (
    MISSING,
    count_text,
    fixed_text,
    joined,
    p_text,
    plural,
    short_level_text,
)
from salstats.display.text.labels import Labels
from salstats.display.text.vocabulary import ABBREVIATIONS, in_sentence
from salstats.metrics.registry import METRICS
from salstats.stats.engine.carried import SEVERAL
from salstats.stats.engine.design import AVERAGE, OVERALL
from salstats.stats.engine.weighting import MEMBERS
from salstats.stats.mrmc.designs import PAIRED


def equal_note(estimates: Estimates, labels: Labels, style: str) -> str:
    """Say how `mrmc` tested that all methods are equal: "All equal: F(1, 15.3) = 4.46, P = 0.052."."""
    if "equal" not in estimates.values("term"):
        return ""
    texts = []
    keys = [key for key in estimates.varying if key not in ("method", "reference")]
    rows = estimates.where(estimates.frame["term"] == "equal")
    for row in rows.frame.to_dict("records"):
        text = f"{_statistic_text(row)}, {p_text(row['p_value'], style, named=True)}"
        of = ", ".join(labels.value(key, row[key]) for key in keys)
        texts.append(f"{text} ({of})" if of else text)
    return f"All equal: {'; '.join(texts)}."


def _statistic_text(row: Mapping[Any, Any]) -> str:
    """Return a statistic with its degrees of freedom: "F(1, 15.3) = 4.46"."""
    df, residual_df = count_text(row["df"]), row["df_residual"]
    if np.isnan(residual_df):
        distribution = f"χ²({df})"
    elif residual_df < 100:
        distribution = f"F({df}, {fixed_text(residual_df, 1)})"
    else:
        distribution = f"F({df}, {count_text(residual_df)})"
    return f"{distribution} = {fixed_text(row['statistic'], 2)}"


def last_note(estimates: Estimates) -> str:
    """Say what an average and a pooled row are."""
    sentences = []
    for key in estimates.keys:
        values = estimates.values(key)
        if OVERALL in values:
            sentences.append(f"{OVERALL}: all {plural(key)} pooled.")
        if AVERAGE in values:
            averages = estimates.where(estimates.frame[key] == AVERAGE)
            sentences.append(f"{AVERAGE}: {_average_text(averages)} over {plural(key)}.")
    return " ".join(sentences)


def _average_text(averages: Estimates) -> str:
    """Return what was averaged, which for a percentage decrease can be one of two things."""
    weights = averages.single("weights")
    shares = "" if weights is None else str(weights).partition(MEMBERS)[2]
    how = "weighted" if shares else "unweighted"
    by = f" (weights {shares})" if shares else ""
    if averages.term != "percent_decrease" or not averages.values("reference_mean"):
        return f"{how} mean{by}"
    reference, method = averages.numbers("reference_mean"), averages.numbers("method_mean")
    with np.errstate(divide="ignore", invalid="ignore"):
        of_means = 100 * (reference - method) / reference
    # as a study printed it, to three digits, it is the same too
    is_same = np.isclose(of_means, averages.numbers("estimate"), rtol=1e-9, atol=5e-4, equal_nan=True)
    return f"decrease of the {how} means{by}" if is_same.all() else f"{how} mean{by} of the decreases"


def best_note(best: Best, over: Sequence[str], exclude: Sequence[str], labels: Labels) -> str:
    """What bold means, or nothing where nothing is bold."""
    unknown = joined([labels.value("metric", m) for m in best.unknown]) if best.unknown else ""
    untold = f"Which {unknown} is better is not known, so none is bold." if unknown else ""
    if not best.rows:
        return untold
    per = joined([_noun(c, labels) for c in best.within])
    text = f"Bold: best estimate{f' per {per}' if per else ''}"
    if best.smaller:
        text += f" (the smallest for {joined([labels.value('metric', m) for m in best.smaller])})"
    if exclude:
        text += f", {joined([labels.value(over[0], e) for e in exclude])} not competing"
    return f"{text}. {untold}".strip()


def _noun(column: str, labels: Labels) -> str:
    """A column's heading inside a sentence."""
    heading = labels.column(column)
    return heading[:1].lower() + heading[1:] if heading[1:2].islower() else heading


def underline_note(differences: Estimates, n_marked: int, untested: int, labels: Labels) -> str:
    """Say what underlined means, or that nothing is: against what, at which level, by which correction."""
    reference = in_sentence(labels.value("reference", differences.frame["reference"].iloc[0]))
    when = significance(differences, adjustment_text(differences))
    same = " on the same cases" if is_paired(differences) else ""
    if not n_marked:
        return f"No difference from {reference}{same} was shown (it would be underlined: {when})."
    text = f"Underlined: differs from {reference}{same} ({when})"
    return f"{text}; {untested} estimates were not compared." if untested else f"{text}."


def is_paired(estimates: Estimates) -> bool:
    """Return whether methods are compared on the same cases, as `mrmc` does where no reading is missing."""
    return set(estimates.values("design")) <= set(PAIRED)


def significance(differences: Estimates, correction: str = "") -> str:
    """Return when a verdict is reached."""
    rules = []
    interval = interval_name(differences)
    if interval:
        rules.append(f"{interval} of the {_contrast_noun(differences)} excludes 0")
    if differences.is_adjusted:
        level = differences.single("family_level") or differences.single("conf_level")
        rule = f"adjusted P{f' ({correction})' if correction else ''} is significant"
        rules.append(rule if level is None else f"{rule} at the {short_level_text(1 - float(level))}% level")
    return " and ".join(rules) or "as its verdict says"


def _contrast_noun(differences: Estimates) -> str:
    """Return what a contrast is called: "paired difference"."""
    if differences.term == "percent_decrease":
        return "decrease"
    return "paired difference" if is_paired(differences) else "difference"


def dash_note(cells: Iterable[Iterable[str]], references: int = 0) -> str:
    """What a dash means where there is one; `references` of them are reference levels."""
    dashes = sum(MISSING in text for row in cells for text in row)
    meanings = ["reference level"] * bool(references) + ["not available"] * (dashes > references)
    return f"{MISSING}, {' or '.join(meanings)}." if meanings else ""


def constant_note(estimates: Estimates, columns: Iterable[str], labels: Labels) -> str:
    """Name the grouping columns that have one value only, and it."""
    parts = []
    for column in columns:
        values = estimates.values(column)
        if values:
            parts.append(f"{labels.column(column)}: {labels.value(column, values[0])}")
    return f"{'; '.join(parts)}." if parts else ""


def metric_note(frame: pd.DataFrame) -> str:
    """Say what must be said of a metric wherever it stands: as a value, or in a formula."""
    columns = [frame[c] for c in frame.columns if frame[c].dtype.kind not in "iufb"]
    texts = [str(text) for column in columns for text in column.unique()]
    words = set(re.findall(r"\w+", " ".join(texts)))
    return " ".join(m.note for m in METRICS.values() if m.note and m.name in words)


#: Columns that say how scores were made, and the sentence about each.
_HOW = {
    "distance_options": "{metrics}: {value}.",
    "pdc_options": "{metrics}: {value}.",
    "metric_options": "{metrics}: {value}.",
    "curve_options": "{metrics}: {value}.",
    "center_bias": "{metrics}: corrected by the centre bias of {value} images.",
    "n_samples": "{metrics}: sampled, {value} pixels drawn on either side.",
    "undefined": "{metrics}: an empty mask has the {value} score, 0 or the image's diagonal.",
    "floor": "{metrics}: {value} of a map's maximum added to every pixel.",
    "truth_rule": "{metrics}: the truth is the {value} of several readers' masks.",
}
_HOW_VALUES = {"others": "the other", "staple": "STAPLE consensus"}


def how_note(estimates: Estimates, labels: Labels) -> str:
    """Say how the scores of the metrics shown were made, where the frame says it."""
    sentences = []
    for column, sentence in _HOW.items():
        for value in estimates.values(column):
            rows = estimates.where(estimates.frame[column] == value)
            ordered = labels.order("metric", rows.values("metric"))
            metrics = joined([labels.value("metric", metric) for metric in ordered])
            if not metrics:
                continue
            if value == SEVERAL:
                sentences.append(f"{metrics}: scored in several ways ({column.replace('_', ' ')}).")
            elif column == "floor" and value == 0:
                sentences.append(f"{metrics}: undefined where a map is 0 at a fixation.")
            else:
                text = f"{value:g}" if isinstance(value, float) else _HOW_VALUES.get(str(value), str(value))
                sentences.append(sentence.format(metrics=metrics, value=text))
    return " ".join(sentences)


def abbreviation_note(texts: Iterable[str]) -> str:
    """The abbreviations that occur in the texts, spelled out in alphabetical order."""
    # the longer first: "Insertion AUC" is no AUC
    shorts = "|".join(sorted(ABBREVIATIONS, key=len, reverse=True))
    found = set(re.findall(rf"\b(?:{shorts})\b", " ".join(texts)))
    known = [f"{short}, {long}" for short, long in ABBREVIATIONS.items() if short in found]
    return f"{'; '.join(sorted(known, key=str.casefold))}." if known else ""


def estimates_note(
    estimates: Estimates, labels: Labels, constant: Iterable[str], nouns: tuple[str, str], also: str = ""
) -> tuple[str, str]:
    """Say what estimates are of, then how their intervals were made and what they rest on."""
    of = paragraph(
        constant_note(estimates, constant, labels),
        also,
        last_note(estimates),
        how_note(estimates, labels),
        metric_note(estimates.frame),
    )
    what, missing = nouns
    rests = paragraph(
        interval_note(estimates),
        count_sentence(estimates, what, missing),
        undefined_sentence(estimates),
        weights_sentence(estimates),
    )
    return of, rests
