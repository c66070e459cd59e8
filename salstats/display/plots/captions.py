"""Sentences and titles of figures of estimates: what the bars are, which P values, which coefficients."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError
from salstats.display.tables.marks import is_adjusted
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import (
    STYLES,
    count_text,
    family_level,
    interval_name,
    joined,
    level_text,
    noun,
    of_quantile,
)
from salstats.display.text.labels import Labels
from salstats.display.text.margins import has_margins, margin_note, margin_text
from salstats.display.text.vocabulary import NO_INTERVAL, inference_text, limits_name
from salstats.stats.advice import beyond_range
from salstats.stats.intervals import find_interval
from salstats.stats.models.families import FAMILIES, GAUSSIAN
from salstats.stats.weighting import MEMBERS, weights_text

#: On an axis of logarithms a bar reaches at most this far from the estimates.
_FARTHEST = 1000.0
#: Groups without a value that a caption names.
_NAMED = 4


def scope_note(frame: pd.DataFrame, labels: Labels, columns: Iterable[str]) -> str:
    """What a figure shows one of and says nowhere else: "Metric: IoU. Method: Grad-CAM."."""
    said = {c: values[0] for c in columns if len(values := distinct(frame, c)) == 1}
    return " ".join(f"{labels.column(c)}: {labels.value(c, value)}." for c, value in said.items())


def has_limits(frame: pd.DataFrame) -> pd.Series:
    """Which rows have both limits of an interval."""
    if not {"conf_low", "conf_high"} <= set(frame.columns):
        return pd.Series(False, index=frame.index)
    return frame["conf_low"].notna() & frame["conf_high"].notna()


def interval_note(frame: pd.DataFrame, *, beside_p: bool = False) -> str:
    """Sentence that says what the bars are: level, kind, unit, beside adjusted P unadjusted."""
    rows = frame[has_limits(frame)]
    if rows.empty:
        return " ".join(text for text in ("No intervals were given.", caution_note(frame)) if text)
    kinds = [_intervals(str(k)) for k in distinct(rows, "interval")] or ["intervals"]
    levels = joined([f"{level_text(v)}%" for v in distinct(rows, "conf_level")], "or")
    together = family_level(rows)
    if together is not None:
        levels = f"simultaneous {level_text(together)}%"
    units = joined([noun(str(unit)) for unit in distinct(rows, "unit")])
    of_unit = f", unit: {units}" if units else ""
    without = "; marks without bar have none" if len(rows) < len(frame) else ""
    if np.isinf(rows[["conf_low", "conf_high"]]).to_numpy().any():
        without += "; a bar that ends with the axis has no limit there"
    if limits_name(rows.get("term", ["mean"])) != "CI":
        without += f"; {NO_INTERVAL}"
    if beyond_range(rows).any():
        without += "; values beyond the range of what is estimated are impossible: the interval does not fit"
    weighted = weights_text([w for w in distinct(rows, "weights") if MEMBERS not in w], units or "unit")
    alone = "unadjusted" if beside_p and is_adjusted(frame) and "family_level" not in frame.columns else ""
    bars = f"Bars: {' '.join(t for t in (alone, levels, joined(kinds, 'or')) if t)}{of_unit}{without}."
    inference = inference_text(rows.get("inference_to", ()))
    return " ".join(text for text in (bars, weighted, inference, caution_note(frame)) if text)


def _intervals(kind: str) -> str:
    """What intervals of a kind are called."""
    record = find_interval(kind)
    return f"{kind if record is None else record.brief or record.label} intervals"


def ci_text(frame: pd.DataFrame) -> str:
    """Text such as "95% CI", or "CI" where the level is not the same throughout or not known."""
    return interval_name(frame)


def with_ci(what: str, frame: pd.DataFrame) -> str:
    """What estimates are, and their interval where there are any: "Mean IoU (95% CI)"."""
    return f"{what} ({ci_text(frame)})" if has_limits(frame).any() else what


def axis_text(what: str, frame: pd.DataFrame) -> str:
    """Title of an axis of estimates, which says of a quantile which one it is."""
    families = [f for f in map(str, distinct(frame, "family")) if f.startswith("quantile")]
    return with_ci(", ".join([of_quantile(what, frame), *families]), frame)


def significance_level(frame: pd.DataFrame) -> float:
    """Level that goes with the intervals or the family that they hold for, 0.05 where they say none."""
    levels = distinct(frame, "family_level") or distinct(frame, "conf_level")
    return round(1 - float(levels[0]), 10) if len(levels) == 1 else 0.05


def p_below(frame: pd.DataFrame, style: str) -> str:
    """Text such as "P < 0.05" with the level that goes with the intervals, as a style writes it."""
    text = f"{significance_level(frame):.10g}"
    return f"P < {text if STYLES[style].p_zero else text.removeprefix('0')}"


def margin_notes(frame: pd.DataFrame, labels: Labels, style: str, *, marked: bool) -> list[str]:
    """Sentences on the lines of margins and, where estimates stand as text, on the mark of those inside."""
    if not has_margins(frame):
        return []
    lines = "Dotted lines: margins" + ("" if marked else f", {margin_text(frame, labels)}")
    return [f"{lines}.", *([margin_note(frame, labels, style)] if marked else [])]


def distinct(frame: pd.DataFrame, column: str) -> list[Any]:
    """Distinct values of a column, none where there is no such column."""
    return list(frame[column].dropna().unique()) if column in frame.columns else []


def formulas_of(frame: pd.DataFrame) -> list[str]:
    """Formula of each row, empty where there is none."""
    if "formula" not in frame.columns:
        return [""] * len(frame)
    return [str(f) for f in frame["formula"].fillna("")]


def is_ratio(frame: pd.DataFrame, name: str) -> bool:
    """Whether estimates are exponentiated, which all have to be or none."""
    known = {str(v).lower() == "true" for v in distinct(frame, "exponentiated")}
    if len(known) > 1:
        raise SalstatsError(
            f"{name} holds exponentiated estimates beside others, which share no axis; keep one kind, as in "
            f'{name}.query("exponentiated")'
        )
    return known == {True}


def bars_on_log_axis(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Ratios whose bars have an end on an axis of logarithms, and a sentence if one was cut."""
    estimates = frame["estimate"].dropna()
    if (estimates <= 0).any():
        raise SalstatsError(f"an exponentiated estimate is positive, not {estimates.min():g}")
    if estimates.empty:
        return frame, ""
    ends = estimates.min() / _FARTHEST, estimates.max() * _FARTHEST
    limits = frame[["conf_low", "conf_high"]]
    cut = limits.clip(*ends)
    note = (
        "Bars that reach an end of the axis are cut there."
        if ((cut != limits) & limits.notna()).to_numpy().any()
        else ""
    )
    return frame.assign(conf_low=cut["conf_low"], conf_high=cut["conf_high"]), note


def effect_text(frame: pd.DataFrame, ratio: bool) -> str:
    """What the coefficients of models are."""
    if distinct(frame, "average"):
        if "term" in frame.columns:
            return "Average marginal effect"
        return "Difference" if "reference_level" in frame.columns else "Mean"
    links = {FAMILIES.get(str(name), GAUSSIAN).link for name in distinct(frame, "family")}
    link = links.pop() if len(links) == 1 else GAUSSIAN.link
    return link.ratio if ratio else link.effect


def without(empty: pd.DataFrame, columns: Iterable[str], what: str, names: Labels) -> str:
    """Sentence that names the groups without a value, if there are any."""
    texts = [", ".join(names.value(c, row[c]) for c in columns) for row in empty.to_dict("records")]
    more = [f"{count_text(len(texts) - _NAMED)} more"] if len(texts) > _NAMED else []
    return f"Without {what}: {joined(['; '.join(texts[:_NAMED]), *more])}." if texts else ""
