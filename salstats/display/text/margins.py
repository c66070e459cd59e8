"""Margins in print: the mark of estimates inside theirs, the sentence on it, and what a margin is called."""

import numpy as np
import pandas as pd

from salstats.display.text.format import MINUS, STYLES, joined
from salstats.display.text.labels import Labels
from salstats.display.text.vocabulary import CONTRASTS
from salstats.stats.equivalence import CLAIMS, split_verdicts

#: Stands behind an estimate that lies inside its margin.
MARK = "\N{DAGGER}"


def has_margins(frame: pd.DataFrame) -> bool:
    """Whether estimates of a frame were tested against a margin."""
    return "p_margin" in frame.columns and bool(frame["p_margin"].notna().any())


def margin_marks(frame: pd.DataFrame) -> list[str]:
    """Mark of each row, "" where nothing is shown with a margin."""
    if not has_margins(frame):
        return [""] * len(frame)
    return [MARK if claim else "" for claim in split_verdicts(frame["verdict"])[1]]


def margin_text(frame: pd.DataFrame, labels: Labels) -> str:
    """Text such as "within −0.05 to 0.05" or "above −0.05", with the metrics where their margins differ."""
    percent = "%" if "term" in frame.columns and frame["term"].eq("percent_decrease").any() else ""
    rows = frame[frame["p_margin"].notna()]
    metrics = labels.order("metric", rows["metric"]) if "metric" in rows.columns else []
    bounds = rows[["margin_low", "margin_high"]].drop_duplicates()
    if not metrics or len(bounds) == 1:
        low, high = bounds.iloc[0]
        return span_text(low, high, percent)
    texts = []
    for metric in metrics:
        low, high = rows.loc[rows["metric"] == metric, ["margin_low", "margin_high"]].iloc[0]
        texts.append(f"{span_text(low, high, percent)} ({labels.value('metric', metric)})")
    return joined(texts)


def span_text(low: float, high: float, percent: str) -> str:
    """Text of one margin."""
    below, above = (f"{v:g}".replace("-", MINUS) for v in (low, high))
    if np.isinf(high):
        return f"above {below}{percent}"
    return f"below {above}{percent}" if np.isinf(low) else f"within {below} to {above}{percent}"


def margin_note(frame: pd.DataFrame, labels: Labels, style: str) -> str:
    """What the mark means, or that nothing has it; "" where there is no margin."""
    if not has_margins(frame):
        return ""
    claimed = split_verdicts(frame["verdict"])[1]
    # limits of several rows together are wider, their tests are not
    level = f"{1 - frame['family_level' if 'family_level' in frame.columns else 'conf_level'].min():.10g}"
    level = level if STYLES[style].p_zero else level.removeprefix("0")
    p_value = "adjusted P" if "p_margin_adjusted" in frame.columns else "P"
    tests = "two one-sided tests" if _two_sided(frame).any() else "one-sided test"
    shown = f"shown to lie {margin_text(frame, labels)} ({tests}, {p_value} < {level})"
    said = joined([claim for claim in CLAIMS if claim in claimed], "or")
    return f"{MARK}{said[0].upper()}{said[1:]}: {shown}." if said else f"None was {shown}."


def _two_sided(frame: pd.DataFrame) -> np.ndarray:
    """Which margins have two bounds."""
    bounds = frame.loc[frame["p_margin"].notna(), ["margin_low", "margin_high"]]
    return np.asarray(np.isfinite(bounds.to_numpy(dtype=np.float64)).all(axis=1))


def margin_heading(frame: pd.DataFrame) -> str:
    """Heading of the P values of margins."""
    return "P, equivalence" if _two_sided(frame).all() else "P, margin"


def pairs_as_methods(frame: pd.DataFrame, labels: Labels) -> pd.DataFrame:
    """Frame of several references with each pair as a method, "B − A" or "B vs A"; others as they are."""
    if "reference" not in frame.columns or frame["reference"].nunique() < 2:
        return frame
    if "term" not in frame.columns or not frame["term"].isin(CONTRASTS).all():
        return frame
    between = "vs" if frame["term"].eq("percent_decrease").any() else MINUS

    def text(method: object, reference: object) -> str:
        return f"{labels.value('method', method)} {between} {labels.value('reference', reference)}"

    texts = [text(m, r) for m, r in zip(frame["method"], frame["reference"], strict=True)]
    references = labels.order("reference", frame["reference"])
    ordered = [text(m, r) for r in references for m in labels.order("method", frame["method"])]
    kept = [t for t in dict.fromkeys(ordered) if t in set(texts)]
    return frame.assign(method=pd.Categorical(texts, kept, ordered=True)).drop(columns="reference")
