"""Estimates under two choices beside each other, and the sign that each shows."""

import numpy as np
import pandas as pd

from salstats.display.saporta2022.frames import (
    ALL_TASKS,
    POOLED,
    Choice,
    Frames,
    confidence_slices,
    decreases,
    feature_slopes,
    full_rows,
    means,
    metric_rows,
    one_model,
)
from salstats.display.saporta2022.needs import MAPS, PEOPLE, PROBABILITIES

#: Columns of two choices beside each other.
VALUES = ("estimate", "conf_low", "conf_high", "p_adjusted", "n")
BESIDE = (
    "published_estimate", "published_low", "published_high", "p_published", "n_published", "estimate",
    "conf_low", "conf_high", "p_adjusted", "n", "width_ratio", "conclusion_published", "conclusion",
    "changed",
)  # fmt: skip
#: What is compared, and what its rows are known by.
HEADLINES = {
    "Table 1": ["metric", "method", "task"],
    "Extended Data 4": ["metric", "method", "task"],
    "Extended Data 5-6": ["metric", "method", "task"],
    "Table 2": ["outcome", "term"],
    "Table 3": ["metric", "task", "term"],
    "Extended Data 9": ["metric", "task", "term"],
}


def conclusion(rows: pd.DataFrame, low: str, high: str, p_adjusted: str) -> np.ndarray:
    """Return the sign that is shown: limits exclude 0, and P is below .05 where it is corrected."""
    shown = rows[p_adjusted].isna() | (rows[p_adjusted] < 0.05)
    positive, negative = (rows[low] > 0) & shown, (rows[high] < 0) & shown
    found: np.ndarray = np.where(positive, "positive", np.where(negative, "negative", "inconclusive"))
    return np.where(rows[low].isna() | rows[high].isna(), "", found)


def beside(published: pd.DataFrame, other: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return two frames of estimates beside each other by their keys, with what each says of the sign.

    A mean has no sign to speak of.
    """
    names = {"n": "n_published", "p_adjusted": "p_published"}
    names |= {v: f"published_{v.removeprefix('conf_')}" for v in ("estimate", "conf_low", "conf_high")}
    sides = [f.reindex(columns=[*keys, *VALUES]) for f in (published, other)]
    rows = sides[0].rename(columns=names).merge(sides[1], on=keys, validate="1:1")
    width = rows["published_high"] - rows["published_low"]
    rows["width_ratio"] = (rows["conf_high"] - rows["conf_low"]) / width.where(width > 0)
    rows["conclusion_published"] = conclusion(rows, "published_low", "published_high", "p_published")
    rows["conclusion"] = conclusion(rows, "conf_low", "conf_high", "p_adjusted")
    if (published["term"] == "mean").all():
        rows[["conclusion_published", "conclusion"]] = ""
    rows["changed"] = rows["conclusion_published"] != rows["conclusion"]
    return rows


def side_by_side(frames: Frames, n_replicates: int) -> pd.DataFrame:
    """Return every headline number as published and with patients as clusters."""
    published, clustered = (_headlines(frames, Choice(flag, n_replicates)) for flag in (True, False))
    parts = [
        beside(published[item], clustered[item], keys).assign(item=item)
        for item, keys in HEADLINES.items()
        if len(published.get(item, ()))
    ]
    rows = pd.concat(parts, ignore_index=True)
    return rows[["item", *(c for c in ("metric", "outcome", "method", "task", "term") if c in rows), *BESIDE]]


def _headlines(frames: Frames, choice: Choice) -> dict[str, pd.DataFrame]:
    """Return the frames of the headline numbers under one kind of inference."""
    rows = metric_rows(one_model(frames.scores), "iou", "hit")
    found = {
        "Table 1": means(rows, choice),
        "Extended Data 4": means(metric_rows(full_rows(frames, choice), "iou"), choice),
    }
    if {MAPS, PEOPLE} <= frames.there:
        found["Extended Data 5-6"] = decreases(rows, choice)
    if MAPS in frames.there:
        found["Table 2"] = feature_slopes(frames, choice, (POOLED,), (ALL_TASKS,))
    if PROBABILITIES in frames.there:
        by_confidence = confidence_slices(frames, choice)
        found |= {"Table 3": by_confidence["iou"], "Extended Data 9": by_confidence["hit"]}
    return found
