"""Margins in print: the mark of estimates inside their margin, the note on the mark, and margins as text."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.display.estimates import Estimates
from salstats.display.text.format import MINUS, STYLES, joined
from salstats.display.text.labels import Labels
from salstats.display.text.vocabulary import CONTRASTS
from salstats.stats.engine.equivalence import CLAIMS, sides_and_claims

#: Text after an estimate that was shown to lie inside its margin.
MARGIN_MARK = "\N{DAGGER}"


def has_margins(estimates: Estimates) -> bool:
    """Return whether estimates were tested against a margin."""
    return len(estimates.non_missing_numbers("p_margin")) > 0


def margin_marks(estimates: Estimates) -> list[str]:
    """Return the mark of each row, "" for rows that were not shown to lie inside a margin."""
    if not has_margins(estimates):
        return [""] * len(estimates)
    _, claims = sides_and_claims(estimates.frame["verdict"])
    return [MARGIN_MARK if claim else "" for claim in claims]


def within_tested_margins_phrase(estimates: Estimates, labels: Labels) -> str:
    """Return the margins of tests of equivalence, "within −0.05 to 0.05", or non-inferiority, "above −0.05".

    They are by metric where these differ. At least one estimate must have a margin.
    """
    percent_sign = ""
    if "percent_decrease" in estimates.distinct_values("term"):
        percent_sign = "%"
    rows = _rows_with_tested_margin(estimates)
    bounds = rows.frame[["margin_low", "margin_high"]]
    metrics = labels.order("metric", rows.distinct_values("metric"))
    if not metrics or len(bounds.drop_duplicates()) == 1:
        low, high = bounds.iloc[0]
        return within_above_or_below_phrase(low, high, percent_sign)
    texts = []
    for metric in metrics:
        metric_bounds = bounds[rows.frame["metric"] == metric].drop_duplicates()
        spans = [
            within_above_or_below_phrase(low, high, percent_sign) for low, high in metric_bounds.to_numpy()
        ]
        texts.append(f"{' or '.join(spans)} ({labels.value('metric', metric)})")
    return joined(texts)


def within_above_or_below_phrase(low: float, high: float, percent_sign: str) -> str:
    """Return the text of one margin, its numbers followed by `percent_sign`: "within −0.05 to 0.05"."""
    low_text = f"{low:g}".replace("-", MINUS)
    high_text = f"{high:g}".replace("-", MINUS)
    if np.isinf(high):
        return f"above {low_text}{percent_sign}"
    if np.isinf(low):
        return f"below {high_text}{percent_sign}"
    return f"within {low_text} to {high_text}{percent_sign}"


def margin_mark_note(estimates: Estimates, labels: Labels, style: str) -> str:
    """Return what the mark means, or that no estimate has it; "" where there is no margin."""
    if not has_margins(estimates):
        return ""
    level_column = "conf_level"
    if estimates.distinct_values("family_level"):
        # simultaneous limits have higher levels of their own; tests are at the level of the family
        level_column = "family_level"
    alpha = f"{1 - np.nanmin(estimates.numbers(level_column)):.10g}"
    if not STYLES[style].p_has_leading_zero:
        alpha = alpha.removeprefix("0")
    p_name = "P"
    if estimates.distinct_values("p_margin_adjusted"):
        p_name = "adjusted P"
    tests = "one-sided test"
    if _is_margin_two_sided(_rows_with_tested_margin(estimates)).any():
        tests = "two one-sided tests"
    result = f"shown to lie {within_tested_margins_phrase(estimates, labels)} ({tests}, {p_name} < {alpha})"
    _, claims = sides_and_claims(estimates.frame["verdict"])
    meaning = joined([claim for claim in CLAIMS if claim in claims], "or")
    if not meaning:
        return f"None was {result}."
    return f"{MARGIN_MARK}{meaning[0].upper()}{meaning[1:]}: {result}."


def _rows_with_tested_margin(estimates: Estimates) -> Estimates:
    """Return the rows that were tested against a margin."""
    return estimates.subset(~np.isnan(estimates.numbers("p_margin")))


def _is_margin_two_sided(estimates: Estimates) -> NDArray[np.bool_]:
    """Return, for each row, whether its margin has two bounds."""
    return np.isfinite(estimates.numbers("margin_low")) & np.isfinite(estimates.numbers("margin_high"))


def margin_p_heading(estimates: Estimates) -> str:
    """Return the heading of the P values of margins."""
    if _is_margin_two_sided(_rows_with_tested_margin(estimates)).all():
        return "P, equivalence"
    return "P, margin"


def pairs_as_methods_if_several_references(estimates: Estimates, labels: Labels) -> Estimates:
    """Return contrasts in which each pair of method and reference is a method: "B − A" or "B vs A".

    Contrasts with one reference and other estimates stay as they are.
    """
    terms = estimates.distinct_values("term")
    if len(estimates.distinct_values("reference")) < 2 or not terms or not set(terms) <= set(CONTRASTS):
        return estimates
    sign = "vs" if "percent_decrease" in terms else MINUS

    def pair_text(method: object, reference: object) -> str:
        return f"{labels.value('method', method)} {sign} {labels.value('reference', reference)}"

    frame = estimates.frame
    pairs = []
    for method, reference in zip(frame["method"], frame["reference"], strict=True):
        pairs.append(pair_text(method, reference))
    # pairs in the order of references, then of methods; many combinations are not in the frame
    categories: list[str] = []
    methods = labels.order("method", frame["method"])
    for reference in labels.order("reference", frame["reference"]):
        for method in methods:
            pair = pair_text(method, reference)
            if pair in pairs and pair not in categories:
                categories.append(pair)
    pairs_of_rows = pd.Categorical(pairs, categories, ordered=True)
    return estimates.with_other_frame(frame.assign(method=pairs_of_rows).drop(columns="reference"))
