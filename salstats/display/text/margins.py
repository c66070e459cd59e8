"""Margins in print: the mark of estimates inside theirs, the sentence on it, and what a margin is called."""

import numpy as np
import pandas as pd

from salstats.display.estimates import Estimates
from salstats.display.text.format import MINUS, STYLES, joined
from salstats.display.text.labels import Labels
from salstats.display.text.vocabulary import CONTRASTS
from salstats.stats.engine.equivalence import CLAIMS, split_verdicts

#: Stands behind an estimate that lies inside its margin.
MARK = "\N{DAGGER}"


def has_margins(estimates: Estimates) -> bool:
    """Return whether estimates were tested against a margin."""
    return len(estimates.known("p_margin")) > 0


def margin_marks(estimates: Estimates) -> list[str]:
    """Return the mark of each row, "" where nothing is shown with a margin."""
    if not has_margins(estimates):
        return [""] * len(estimates)
    claims = split_verdicts(estimates.frame["verdict"])[1]
    return [MARK if claim else "" for claim in claims]


def margin_text(estimates: Estimates, labels: Labels) -> str:
    """Return "within −0.05 to 0.05" or "above −0.05", with the metrics where their margins differ."""
    percent = "%" if "percent_decrease" in estimates.values("term") else ""
    rows = estimates.where(~np.isnan(estimates.numbers("p_margin")))
    bounds = rows.frame[["margin_low", "margin_high"]]
    metrics = labels.order("metric", rows.values("metric"))
    if not metrics or len(bounds.drop_duplicates()) == 1:
        low, high = bounds.iloc[0]
        return span_text(low, high, percent)
    texts = []
    for metric in metrics:
        low, high = bounds[rows.frame["metric"] == metric].iloc[0]
        texts.append(f"{span_text(low, high, percent)} ({labels.value('metric', metric)})")
    return joined(texts)


def span_text(low: float, high: float, percent: str) -> str:
    """Return the text of one margin."""
    below, above = (f"{v:g}".replace("-", MINUS) for v in (low, high))
    if np.isinf(high):
        return f"above {below}{percent}"
    return f"below {above}{percent}" if np.isinf(low) else f"within {below} to {above}{percent}"


def margin_note(estimates: Estimates, labels: Labels, style: str) -> str:
    """Say what the mark means, or that nothing has it; "" where there is no margin."""
    if not has_margins(estimates):
        return ""
    claimed = split_verdicts(estimates.frame["verdict"])[1]
    # limits of several rows together are wider, their tests are not
    levels = estimates.numbers("family_level" if estimates.values("family_level") else "conf_level")
    level = f"{1 - np.nanmin(levels):.10g}"
    if not STYLES[style].p_zero:
        level = level.removeprefix("0")
    p_value = "adjusted P" if estimates.values("p_margin_adjusted") else "P"
    tests = "two one-sided tests" if _two_sided(estimates).any() else "one-sided test"
    shown = f"shown to lie {margin_text(estimates, labels)} ({tests}, {p_value} < {level})"
    claims = joined([claim for claim in CLAIMS if claim in claimed], "or")
    return f"{MARK}{claims[0].upper()}{claims[1:]}: {shown}." if claims else f"None was {shown}."


def _two_sided(estimates: Estimates) -> np.ndarray:
    """Return which margins have two bounds."""
    rows = estimates.where(~np.isnan(estimates.numbers("p_margin")))
    return np.isfinite(rows.numbers("margin_low")) & np.isfinite(rows.numbers("margin_high"))


def margin_heading(estimates: Estimates) -> str:
    """Return the heading of the P values of margins."""
    return "P, equivalence" if _two_sided(estimates).all() else "P, margin"


def pairs_as_methods(estimates: Estimates, labels: Labels) -> Estimates:
    """Return contrasts with several references with each pair as a method, "B − A" or "B vs A".

    Other estimates stay as they are.
    """
    terms = estimates.values("term")
    if len(estimates.values("reference")) < 2 or not terms or not set(terms) <= set(CONTRASTS):
        return estimates
    between = "vs" if "percent_decrease" in terms else MINUS

    def text(method: object, reference: object) -> str:
        return f"{labels.value('method', method)} {between} {labels.value('reference', reference)}"

    frame = estimates.frame
    texts = [text(m, r) for m, r in zip(frame["method"], frame["reference"], strict=True)]
    methods = labels.order("method", frame["method"])
    ordered = [text(m, r) for r in labels.order("reference", frame["reference"]) for m in methods]
    kept = [pair for pair in dict.fromkeys(ordered) if pair in set(texts)]
    paired = frame.assign(method=pd.Categorical(texts, kept, ordered=True)).drop(columns="reference")
    return estimates.with_frame(paired)
