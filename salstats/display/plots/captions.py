"""Sentences under the figures of estimates: what the bars are, what a filled mark means, which P values."""

from typing import Any

import numpy as np
import pandas as pd

from salstats.display.plots.panels import has_limits
from salstats.display.text.format import STYLES, count_text, joined, level_text
from salstats.display.text.vocabulary import NO_INTERVAL, limits_name, procedure_name
from salstats.stats.advice import beyond_range
from salstats.stats.intervals import find_interval

#: Labels of methods that are no names.
_COMMON_NOUNS = ("Human benchmark", "Saliency method", "Interobserver", "Occlusion")


def interval_note(frame: pd.DataFrame) -> str:
    """Return the sentence that says what the bars are: level, kind, unit."""
    rows = frame[has_limits(frame)]
    if rows.empty:
        return "No intervals were given."
    kinds = [_intervals(str(k)) for k in distinct(rows, "interval")] or ["intervals"]
    levels = joined([f"{level_text(v)}%" for v in distinct(rows, "conf_level")], "or")
    units = joined(distinct(rows, "unit"))
    of_unit = f", unit: {units}" if units else ""
    without = "; marks without bar have none" if len(rows) < len(frame) else ""
    if np.isinf(rows[["conf_low", "conf_high"]]).to_numpy().any():
        without += "; a bar that ends with the axis has no limit there"
    if limits_name(rows.get("term", ["mean"])) != "CI":
        without += f"; {NO_INTERVAL}"
    if beyond_range(rows).any():
        without += "; values beyond the range of what is estimated are impossible: the interval does not fit"
    return f"Bars: {' '.join(t for t in (levels, joined(kinds, 'or')) if t)}{of_unit}{without}."


def _intervals(kind: str) -> str:
    """Return what intervals of a kind are called."""
    record = find_interval(kind)
    return f"{kind if record is None else record.brief or record.label} intervals"


def in_sentence(label: str) -> str:
    """Return a method's label as it stands inside a sentence."""
    return label.lower() if label in _COMMON_NOUNS else label


def ci_text(frame: pd.DataFrame) -> str:
    """Return "95% CI", or "CI" where the level is not the same throughout or not known."""
    levels = distinct(frame, "conf_level")
    name = limits_name(frame.get("term", ["mean"]))
    return f"{level_text(levels[0])}% {name}" if len(levels) == 1 else name


def significance_level(frame: pd.DataFrame) -> float:
    """Return the level that goes with the intervals, 0.05 where they say none."""
    levels = distinct(frame, "conf_level")
    return round(1 - float(levels[0]), 10) if len(levels) == 1 else 0.05


def p_below(frame: pd.DataFrame, style: str) -> str:
    """Return "P < 0.05" with the level that goes with the intervals, as a style writes it."""
    text = f"{significance_level(frame):.10g}"
    return f"P < {text if STYLES[style].p_zero else text.removeprefix('0')}"


def adjusted_note(frame: pd.DataFrame) -> str:
    """Return the sentence that says how the adjusted P values were adjusted, if there are any."""
    if "p_adjusted" not in frame.columns or frame["p_adjusted"].isna().all():
        return ""
    tests = [f"{count_text(n)} tests" for n in distinct(frame, "n_tests")]
    names = [str(p) for p in distinct(frame, "procedure")]
    if names == ["none"]:
        return "P values not adjusted."
    named = [procedure_name(p) or p for p in names]
    how = ", ".join([*named, joined(tests, "or")] if tests else named)
    return f"P values adjusted ({how})." if how else "P values adjusted."


def distinct(frame: pd.DataFrame, column: str) -> list[Any]:
    """Return the distinct values of a column, none where there is no such column."""
    return list(frame[column].dropna().unique()) if column in frame.columns else []
