"""Sentences and titles of figures of estimates: what the bars are, which P values, which coefficients."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from salstats.checks import SalstatsError
from salstats.display.estimates import Estimates
from salstats.display.facts import with_interval
from salstats.display.text.format import STYLES, count_text, joined
from salstats.display.text.labels import Labels
from salstats.display.text.margins import has_margins, margin_note, margin_text
from salstats.stats.models.families import FAMILIES, GAUSSIAN

#: On an axis of logarithms a bar reaches at most this far from the estimates.
_FARTHEST = 1000.0
#: Groups without a value that a caption names.
_NAMED = 4


def scope_note(frame: pd.DataFrame, labels: Labels, columns: Iterable[str]) -> str:
    """What a figure shows one of and says nowhere else: "Metric: IoU. Method: Grad-CAM."."""
    said = {c: values[0] for c in columns if len(values := distinct(frame, c)) == 1}
    return " ".join(f"{labels.column(c)}: {labels.value(c, value)}." for c, value in said.items())


def axis_text(what: str, estimates: Estimates) -> str:
    """Return the title of an axis of estimates, which says of a quantile which one it is."""
    families = [str(family) for family in estimates.values("family")]
    quantiles = [family for family in families if family.startswith("quantile")]
    return with_interval(", ".join([what, *quantiles]), estimates)


def significance_level(estimates: Estimates) -> float:
    """Return the level that goes with the intervals or their family, 0.05 where they say none."""
    levels = estimates.values("family_level") or estimates.values("conf_level")
    return round(1 - float(levels[0]), 10) if len(levels) == 1 else 0.05


def p_below(estimates: Estimates, style: str) -> str:
    """Return "P < 0.05" with the level that goes with the intervals, as a style writes it."""
    text = f"{significance_level(estimates):.10g}"
    return f"P < {text if STYLES[style].p_zero else text.removeprefix('0')}"


def margin_notes(estimates: Estimates, labels: Labels, style: str, *, marked: bool) -> list[str]:
    """Say what the lines of margins are and, where estimates stand as text, the mark of those inside."""
    if not has_margins(estimates):
        return []
    if marked:
        return ["Dotted lines: margins.", margin_note(estimates, labels, style)]
    return [f"Dotted lines: margins, {margin_text(estimates, labels)}."]


def distinct(frame: pd.DataFrame, column: str) -> list[Any]:
    """Distinct values of a column, none where there is no such column."""
    return list(frame[column].dropna().unique()) if column in frame.columns else []


def is_ratio(estimates: Estimates) -> bool:
    """Return whether estimates are exponentiated, which all have to be or none."""
    name = estimates.name
    known = {str(value).lower() == "true" for value in estimates.values("exponentiated")}
    if len(known) > 1:
        raise SalstatsError(
            f"{name} holds exponentiated estimates beside others, which share no axis; keep one kind, as in "
            f'{name}.query("exponentiated")'
        )
    return known == {True}


def bars_on_log_axis(estimates: Estimates) -> tuple[Estimates, str]:
    """Return ratios whose bars have an end on an axis of logarithms, and a sentence if one was cut."""
    ratios = estimates.known("estimate")
    if (ratios <= 0).any():
        raise SalstatsError(f"an exponentiated estimate is positive, not {ratios.min():g}")
    if not len(ratios):
        return estimates, ""
    limits = estimates.frame[["conf_low", "conf_high"]]
    cut = limits.clip(ratios.min() / _FARTHEST, ratios.max() * _FARTHEST)
    is_cut = (cut != limits) & limits.notna()
    note = "Bars that reach an end of the axis are cut there." if is_cut.to_numpy().any() else ""
    frame = estimates.frame.assign(conf_low=cut["conf_low"], conf_high=cut["conf_high"])
    return estimates.with_frame(frame), note


def effect_text(estimates: Estimates, ratio: bool) -> str:
    """Return what the coefficients of models are."""
    if estimates.values("average"):
        if estimates.values("term"):
            return "Average marginal effect"
        return "Difference" if estimates.values("reference_level") else "Mean"
    links = {FAMILIES.get(str(name), GAUSSIAN).link for name in estimates.values("family")}
    link = links.pop() if len(links) == 1 else GAUSSIAN.link
    return link.ratio if ratio else link.effect


def without(empty: pd.DataFrame, columns: Iterable[str], what: str, names: Labels) -> str:
    """Sentence that names the groups without a value, if there are any."""
    texts = [", ".join(names.value(c, row[c]) for c in columns) for row in empty.to_dict("records")]
    more = [f"{count_text(len(texts) - _NAMED)} more"] if len(texts) > _NAMED else []
    return f"Without {what}: {joined(['; '.join(texts[:_NAMED]), *more])}." if texts else ""
