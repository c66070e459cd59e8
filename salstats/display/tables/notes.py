"""What stands below a table: sentences made from the columns of the frame it shows."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from salstats.display.tables.marks import Best, adjustment, is_adjusted, numbers
from salstats.display.tables.placement import grouping_columns, varies
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import (
    MISSING,
    count_range,
    count_text,
    counted_range,
    family_level,
    fixed_text,
    interval_name,
    joined,
    noun,
    of_quantile,
    p_text,
    plural,
    short_level_text,
)
from salstats.display.text.labels import LAST, Labels
from salstats.display.text.vocabulary import (
    ABBREVIATIONS,
    NO_INTERVAL,
    in_sentence,
    inference_text,
    limits_name,
)
from salstats.metrics.registry import METRICS
from salstats.stats.advice import beyond_range
from salstats.stats.carried import SEVERAL, missing_scores
from salstats.stats.design import AVERAGE, OVERALL
from salstats.stats.intervals import find_interval
from salstats.stats.mrmc.covariances import BY_NAME as COVARIANCES
from salstats.stats.mrmc.designs import PAIRED
from salstats.stats.paired_tests import RECORDS
from salstats.stats.weighting import MEMBERS, weights_text

#: Stands where limits hold impossible values.
BEYOND = "Limits beyond the range of what is estimated are impossible values: the interval does not fit."
#: What bounds of undefined scores are.
BOUNDS = "Bounds: the estimate if all undefined scores were the worst or best possible."


def single(frame: pd.DataFrame, column: str) -> object | None:
    """The only value of a column, or None where there is no such column or it varies."""
    if column not in frame.columns:
        return None
    values = frame[column].dropna().unique()
    return values[0] if len(values) == 1 else None


def ci_text(frame: pd.DataFrame) -> str:
    """The words "95% CI", or "CI" where levels differ, or nothing where no row has limits."""
    if not has_limits(frame).any():
        return ""
    return interval_name(frame[has_limits(frame)])


def with_interval(heading: str, frame: pd.DataFrame, *, beside_p: bool = False) -> str:
    """A heading with what stands in brackets behind the estimates: "Mean (95% CI)".

    Intervals that stand `beside_p`, P values that are adjusted where they are not, are said to be unadjusted.
    """
    interval, what = ci_text(frame), of_quantile(heading, frame)
    if interval and beside_p and is_adjusted(frame) and "family_level" not in frame.columns:
        interval += ", unadjusted"
    return f"{what} ({interval})" if interval else what


def has_limits(frame: pd.DataFrame) -> np.ndarray:
    """Which rows have limits."""
    return np.asarray(~(np.isnan(numbers(frame, "conf_low")) & np.isnan(numbers(frame, "conf_high"))))


def _known(values: np.ndarray) -> np.ndarray:
    """The values that are not missing."""
    return values[~np.isnan(values)]


def interval_note(frame: pd.DataFrame) -> str:
    """How the intervals were made, and what makes rows doubtful."""
    return paragraph(_limits_note(frame), caution_note(frame))


def _limits_note(frame: pd.DataFrame) -> str:
    """How the intervals were made: "95% CI: percentile bootstrap of patients, 1,000 replicates."."""
    limits = has_limits(frame)
    if not limits.any():
        return "No confidence intervals." if "conf_low" in frame.columns else ""
    rows = frame[limits]
    sentences = []
    levels = np.unique(_known(numbers(rows, "conf_level")))
    together = family_level(rows)
    if len(levels) > 1 and together is None:
        sentences.append(f"CI levels: {joined([f'{short_level_text(v)}%' for v in levels])}.")
    if "interval" in rows.columns:
        kinds = [_interval_kind(str(kind), rows) for kind in rows["interval"].dropna().unique()]
        name = ci_text(rows)
        name = name[:1].upper() + name[1:]
        sentences.append(f"{name}: {joined(kinds, 'or')}." if kinds else "")
    if limits_name(rows.get("term", ["mean"])) != "CI":
        sentences.append(f"Limits: {NO_INTERVAL}.")
    if (~limits & ~np.isnan(numbers(frame, "estimate"))).any():
        sentences.append("An estimate that stands alone has no interval.")
    if beyond_range(rows).any():
        sentences.append(BEYOND)
    if np.isinf(np.concatenate([numbers(rows, "conf_low"), numbers(rows, "conf_high")])).any():
        sentences.append("Infinite limits: the set is unbounded.")
    if together is not None:
        whose = "Those of a family" if len(_known(np.unique(numbers(rows, "n_tests")))) > 1 else "All of them"
        singly = joined([f"{short_level_text(v)}%" for v in levels], "and")
        sentences.append(f"{whose} hold together at {short_level_text(together)}%, singly at {singly}.")
    sentences.append(inference_text(rows.get("inference_to", ())))
    return " ".join(s for s in sentences if s)


def _interval_kind(kind: str, frame: pd.DataFrame) -> str:
    """What an interval is called, with what was resampled or clustered."""
    rows = frame[frame["interval"] == kind]
    unit = single(rows, "unit")
    known = find_interval(kind, single(rows, "term"))
    if known is not None and known.kind == "bootstrap":
        of = f" of {plural(str(unit))}" if unit is not None else ""
        return f"{known.label}{of}{_replicates(rows)}"
    name = kind if known is None else known.label
    if (covariance := COVARIANCES.get(str(single(rows, "covariance")))) is not None:
        name += f", {covariance.label} covariances"
    # a regression says what its errors are
    clustered = (
        known is not None
        and known.clustered
        and "errors" not in rows.columns
        and bool((numbers(rows, "n_units") < numbers(rows, "n")).any())
    )
    return f"{name}, clustered by {noun(str(unit))}" if clustered and unit is not None else name


def _replicates(frame: pd.DataFrame) -> str:
    """How many replicates there were, behind what they are of: ", 1,000 replicates"."""
    replicates = single(frame, "n_replicates")
    return "" if replicates is None else f", {count_text(float(str(replicates)))} replicates"


def without_last(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that are no averages and not pooled, unless there are no others."""
    rest = frame[~frame.isin(LAST).any(axis=1)]
    return frame if rest.empty else rest


def count_note(frame: pd.DataFrame, what: str = "score", missing: str = "undefined") -> str:
    """How much each estimate rests on: "n, 136 to 140 scores of 109 to 114 patients each; ..."."""
    every = without_last(frame)
    # of people without points there is no hit, and a mean of none is no estimate
    empty = numbers(every, "n") == 0
    rows = every if empty.all() else every[~empty]
    n = _known(numbers(rows, "n"))
    if not len(n):
        return ""
    text = f"n, {counted_range(n, what)}"
    unit, n_units = single(rows, "unit"), _known(numbers(rows, "n_units"))
    if unit is not None and len(n_units):
        text += f" of {counted_range(n_units, str(unit))}"
    if "n_readers" in rows.columns:
        text += f" by {counted_range(numbers(rows, 'n_readers'), 'reader')}"
    text += " each" if len(rows) > 1 else ""
    text += ", where any is defined" if len(rows) < len(every) else ""
    if "n_positive" in rows.columns:
        text += f" ({count_range(numbers(rows, 'n_positive'))} positive)"
    n_missing = _known(missing_scores(rows))
    if len(n_missing):
        text += f"; {count_range(n_missing) if n_missing.max() else 'none'} {missing}"
    return f"{text}."


def weights_note(frame: pd.DataFrame) -> str:
    """How much scores count, where they do not count alike; of averages `last_note` says it."""
    if "weights" not in frame.columns:
        return ""
    said = [value for value in frame["weights"].dropna().unique() if MEMBERS not in value]
    return weights_text(said, noun(str(single(frame, "unit") or "unit")))


def undefined_note(frame: pd.DataFrame) -> str:
    """How many replicates were undefined, where any was."""
    undefined = _known(numbers(frame, "n_undefined"))
    if not len(undefined) or not undefined.max():
        return ""
    of = _replicates(frame).replace(",", " of", 1) or " replicates"
    return f"Up to {count_text(undefined.max())}{of} of an estimate were undefined."


def last_note(frame: pd.DataFrame) -> str:
    """What an average and a pooled row are."""
    sentences = []
    for column in frame.columns:
        values = set(frame[column].unique()) if frame[column].dtype.kind not in "fib" else set()
        if OVERALL in values:
            sentences.append(f"{OVERALL}: all {plural(str(column))} pooled.")
        if AVERAGE in values:
            sentences.append(
                f"{AVERAGE}: {_average(frame[frame[column] == AVERAGE])} over {plural(str(column))}."
            )
    return " ".join(sentences)


def _average(rows: pd.DataFrame) -> str:
    """What was averaged, which for a percentage decrease can be one of two things."""
    shares = str(said).partition(MEMBERS)[2] if (said := single(rows, "weights")) is not None else ""
    how, by = ("weighted", f" (weights {shares})") if shares else ("unweighted", "")
    if single(rows, "term") != "percent_decrease" or "reference_mean" not in rows.columns:
        return f"{how} mean{by}"
    reference, method = numbers(rows, "reference_mean"), numbers(rows, "method_mean")
    with np.errstate(divide="ignore", invalid="ignore"):
        of_means = 100 * (reference - method) / reference
    # as a study printed it, to three digits, it is the same too
    same = np.isclose(of_means, numbers(rows, "estimate"), rtol=1e-9, atol=5e-4, equal_nan=True).all()
    return f"decrease of the {how} means{by}" if same else f"{how} mean{by} of the decreases"


def tested_note(frame: pd.DataFrame, adjust: str | None) -> str:
    """Which test the p-values come from and what they were adjusted by."""
    text = source_of_p(frame)
    if text and is_adjusted(frame):
        return f"{text}; adjusted ({adjustment(frame, adjust)})."
    return f"{text}; not adjusted for multiple tests." if text else ""


def source_of_p(frame: pd.DataFrame) -> str:
    """Which test the p-values come from, nothing where there are none."""
    if np.isnan(numbers(frame, "p_value")).all():
        return ""
    text = "P values: two-sided"
    if "test" not in frame.columns:
        return f"{text}, against 0.5" if single(frame, "term") == "auroc" else text
    tested = frame[~np.isnan(numbers(frame, "p_value"))]
    names = [_test_name(tested, str(test)) for test in tested["test"].dropna().unique()]
    return f"{text} {joined(names, 'or')}" if names else text


def _test_name(frame: pd.DataFrame, test: str) -> str:
    """Name of a test, with the number of its replicates where it has any."""
    known = RECORDS.get(test)
    if known is None:
        return test
    return f"{known.label}{_replicates(frame)}" if known.drawn else known.label


def equal_note(frame: pd.DataFrame, labels: Labels, style: str) -> str:
    """Tests that all methods are equal, of a frame of `mrmc`: "All equal: F(1, 15.3) = 4.46, P = 0.052."."""
    if "term" not in frame.columns:
        return ""
    texts, keys = [], [c for c in grouping_columns(frame) if c != "method" and varies(frame, c)]
    for row in frame[frame["term"] == "equal"].to_dict("records"):
        df, residual = count_text(row["df"]), row["df_residual"]
        second = fixed_text(residual, 1) if residual < 100 else count_text(round(np.nan_to_num(residual)))
        test = f"χ²({df})" if np.isnan(residual) else f"F({df}, {second})"
        of = ", ".join(labels.value(c, row[c]) for c in keys)
        said = f"{fixed_text(row['statistic'], 2)}, {p_text(row['p_value'], style, named=True)}"
        texts.append(f"{test} = {said}{f' ({of})' if of else ''}")
    return f"All equal: {'; '.join(texts)}." if texts else ""


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


def underline_note(
    differences: pd.DataFrame, n_marked: int, untested: int, labels: Labels, adjust: str | None = None
) -> str:
    """What underlined means, or that nothing is: against what, at which level, by which correction."""
    reference = in_sentence(labels.value("reference", differences["reference"].iloc[0]))
    when = significance(differences, adjustment(differences, adjust))
    same = " on the same cases" if is_paired(differences) else ""
    if not n_marked:
        return f"No difference from {reference}{same} was shown (it would be underlined: {when})."
    text = f"Underlined: differs from {reference}{same} ({when})"
    return f"{text}; {untested} estimates were not compared." if untested else f"{text}."


def is_paired(frame: pd.DataFrame) -> bool:
    """Whether methods are compared on the same cases, which `mrmc` does not do where readings are missing."""
    return "design" not in frame.columns or bool(frame["design"].isin(PAIRED).all())


def significance(differences: pd.DataFrame, correction: str = "") -> str:
    """When a verdict is reached."""
    level = single(differences, "family_level") or single(differences, "conf_level")
    interval = ci_text(differences) or "interval"
    what = "decrease" if single(differences, "term") == "percent_decrease" else "difference"
    what = f"paired {what}" if what == "difference" and is_paired(differences) else what
    text = f"{interval} of the {what} excludes 0"
    if not is_adjusted(differences):
        return text
    at = f" at the {short_level_text(1 - float(str(level)))}% level" if level is not None else ""
    return f"{text} and adjusted P{f' ({correction})' if correction else ''} is significant{at}"


def dash_note(cells: Iterable[Iterable[str]], references: int = 0) -> str:
    """What a dash means where there is one; `references` of them are reference levels."""
    dashes = sum(MISSING in text for row in cells for text in row)
    meanings = ["reference level"] * bool(references) + ["not available"] * (dashes > references)
    return f"{MISSING}, {' or '.join(meanings)}." if meanings else ""


def constant_note(frame: pd.DataFrame, columns: Iterable[str], labels: Labels) -> str:
    """The grouping columns that have one value only, and it."""
    parts = [
        f"{labels.column(c)}: {labels.value(c, frame[c].iloc[0])}" for c in columns if frame[c].notna().any()
    ]
    return f"{'; '.join(parts)}." if parts else ""


def metric_note(frame: pd.DataFrame) -> str:
    """What must be said of a metric wherever it stands: as a value, or in a formula."""
    columns = [frame[c] for c in frame.columns if frame[c].dtype.kind not in "iufb"]
    words = {word for column in columns for text in column.unique() for word in re.findall(r"\w+", str(text))}
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


def how_note(frame: pd.DataFrame, labels: Labels) -> str:
    """How the scores of the metrics shown were made, where the frame says it."""
    if "metric" not in frame.columns:
        return ""
    sentences = []
    for column, sentence in _HOW.items():
        if column not in frame.columns:
            continue
        for value, own in frame[frame[column].notna()].groupby(column, sort=False):
            names = [labels.value("metric", m) for m in labels.order("metric", own["metric"])]
            if value == SEVERAL:
                sentences.append(f"{joined(names)}: scored in several ways ({column.replace('_', ' ')}).")
                continue
            if column == "floor" and value == 0:
                sentences.append(f"{joined(names)}: undefined where a map is 0 at a fixation.")
                continue
            text = f"{value:g}" if isinstance(value, float) else _HOW_VALUES.get(str(value), str(value))
            sentences.append(sentence.format(metrics=joined(names), value=text))
    return " ".join(sentences)


def abbreviation_note(texts: Iterable[str]) -> str:
    """The abbreviations that occur in the texts, spelled out in alphabetical order."""
    # the longer first: "Insertion AUC" is no AUC
    shorts = "|".join(sorted(ABBREVIATIONS, key=len, reverse=True))
    found = set(re.findall(rf"\b(?:{shorts})\b", " ".join(texts)))
    known = [f"{short}, {long}" for short, long in ABBREVIATIONS.items() if short in found]
    return f"{'; '.join(sorted(known, key=str.casefold))}." if known else ""


def estimates_note(
    frame: pd.DataFrame, labels: Labels, constant: Iterable[str], nouns: tuple[str, str], also: str = ""
) -> tuple[str, str]:
    """What estimates are of, then how their intervals were made and what they rest on."""
    of = (constant_note(frame, constant, labels), also, last_note(frame), how_note(frame, labels))
    rests = (interval_note(frame), count_note(frame, *nouns), undefined_note(frame), weights_note(frame))
    return paragraph(*of, metric_note(frame)), paragraph(*rests)


def paragraph(*sentences: str) -> str:
    """Sentences as one paragraph."""
    return " ".join(s for s in sentences if s)
