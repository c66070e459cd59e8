"""Estimates under two choices beside each other, and the sign that each shows."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from salstats.studies.items import made_if_possible
from salstats.studies.saporta2022.frames import (
    ALL_TASKS,
    POOLED,
    Choice,
    Frames,
    all_of,
    confidence_of,
    decreases,
    feature_slopes,
    full_rows,
    means,
    metric_rows,
    one_model,
)
from salstats.studies.saporta2022.needs import MAPS, PEOPLE, PROBABILITIES

#: Columns of two choices beside each other.
VALUES = ("estimate", "conf_low", "conf_high", "p_adjusted", "n")
BESIDE = (
    "published_estimate", "published_low", "published_high", "p_published", "n_published", "estimate",
    "conf_low", "conf_high", "p_adjusted", "n", "width_ratio", "conclusion_published", "conclusion",
    "changed",
)  # fmt: skip
_MEANS, _SLOPES = ["metric", "method", "task"], ["metric", "task", "term"]
#: What is compared, what its rows are known by, what it needs, and how it is made.
HEADLINES: dict[str, tuple[list[str], set[str], Callable[[Frames, Choice], pd.DataFrame]]] = {
    "Table 1": (_MEANS, set(), lambda f, c: means(_pairs(f), c)),
    "Extended Data 4": (_MEANS, set(), lambda f, c: means(metric_rows(full_rows(f, c), "iou"), c)),
    "Extended Data 5-6": (_MEANS, {MAPS, PEOPLE}, lambda f, c: decreases(_pairs(f), c)),
    "Table 2": (["outcome", "term"], {MAPS}, lambda f, c: feature_slopes(f, c, (POOLED,), (ALL_TASKS,))),
    "Table 3": (_SLOPES, {PROBABILITIES}, lambda f, c: confidence_of(f, "iou", c)),
    "Extended Data 9": (_SLOPES, {PROBABILITIES}, lambda f, c: confidence_of(f, "hit", c)),
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
    published, clustered = Choice(True, n_replicates), Choice(False, n_replicates)
    parts = []
    for item, (keys, needs, make) in HEADLINES.items():
        if needs <= frames.there:
            with made_if_possible(f"{item} as published and clustered"):
                both = make(frames, published), make(frames, clustered)
                parts.append(beside(*both, keys).assign(item=item))
    rows = all_of(parts)
    return rows[["item", *(c for c in ("metric", "outcome", "method", "task", "term") if c in rows), *BESIDE]]


def _pairs(frames: Frames) -> pd.DataFrame:
    """Return IoU and hits of the first model of each method, and of people."""
    return metric_rows(one_model(frames.scores), "iou", "hit")
