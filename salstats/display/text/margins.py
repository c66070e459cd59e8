"""Margins in print: the mark of estimates inside their margin, the note on it, and the text of a margin."""

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
    return len(estimates.non_missing("p_margin")) > 0


def margin_marks(estimates: Estimates) -> list[str]:
    """Return the mark of each row, "" where nothing is shown with a margin."""
    if not has_margins(estimates):
        return [""] * len(estimates)
    claims = split_verdicts(estimates.frame["verdict"])[1]
    return [MARK if claim else "" for claim in claims]


def margin_text(estimates: Estimates, labels: Labels) -> str:
    """Return margins as text: "within −0.05 to 0.05" or "above −0.05", by metric where these differ."""
    percent = "%" if "percent_decrease" in estimates.values("term") else ""
    rows = estimates.subset(~np.isnan(estimates.numbers("p_margin")))
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
    """Return the text of one margin, its numbers followed by `percent`: "within −0.05 to 0.05"."""
    low_text = f"{low:g}".replace("-", MINUS)
    high_text = f"{high:g}".replace("-", MINUS)
    if np.isinf(high):
        return f"above {low_text}{percent}"
    if np.isinf(low):
        return f"below {high_text}{percent}"
    return f"within {low_text} to {high_text}{percent}"


def margin_note(estimates: Estimates, labels: Labels, style: str) -> str:
    """Say what the mark means, or that no estimate has it; "" where there is no margin."""
    if not has_margins(estimates):
        return ""
    # limits of several rows together are wider, their tests are not
    level_column = "family_level" if estimates.values("family_level") else "conf_level"
    alpha = f"{1 - np.nanmin(estimates.numbers(level_column)):.10g}"
    if not STYLES[style].p_zero:
        alpha = alpha.removeprefix("0")
    p_value = "adjusted P" if estimates.values("p_margin_adjusted") else "P"
    tests = "two one-sided tests" if _is_two_sided(estimates).any() else "one-sided test"
    result = f"shown to lie {margin_text(estimates, labels)} ({tests}, {p_value} < {alpha})"
    claims_of_rows = split_verdicts(estimates.frame["verdict"])[1]
    claims = joined([claim for claim in CLAIMS if claim in claims_of_rows], "or")
    if not claims:
        return f"None was {result}."
    return f"{MARK}{claims[0].upper()}{claims[1:]}: {result}."


def _is_two_sided(estimates: Estimates) -> np.ndarray:
    """Return, for each row with a margin, whether the margin has two bounds."""
    rows = estimates.subset(~np.isnan(estimates.numbers("p_margin")))
    return np.isfinite(rows.numbers("margin_low")) & np.isfinite(rows.numbers("margin_high"))


def margin_heading(estimates: Estimates) -> str:
    """Return the heading of the P values of margins."""
    return "P, equivalence" if _is_two_sided(estimates).all() else "P, margin"


def pairs_as_methods(estimates: Estimates, labels: Labels) -> Estimates:
    """Return contrasts with several references with each pair as a method, "B − A" or "B vs A".

    Other estimates stay as they are.
    """
    terms = estimates.values("term")
    if len(estimates.values("reference")) < 2 or not terms or not set(terms) <= set(CONTRASTS):
        return estimates
    sign = "vs" if "percent_decrease" in terms else MINUS

    def pair_text(method: object, reference: object) -> str:
        return f"{labels.value('method', method)} {sign} {labels.value('reference', reference)}"

    frame = estimates.frame
    pairs = [pair_text(*pair) for pair in zip(frame["method"], frame["reference"], strict=True)]
    methods = labels.order("method", frame["method"])
    # all pairs in the order of references, then of methods; most of them are not in the frame
    ordered: list[str] = []
    for reference in labels.order("reference", frame["reference"]):
        ordered += [pair_text(method, reference) for method in methods]
    categories = [pair for pair in dict.fromkeys(ordered) if pair in set(pairs)]
    methods_of_rows = pd.Categorical(pairs, categories, ordered=True)
    return estimates.with_frame(frame.assign(method=methods_of_rows).drop(columns="reference"))
