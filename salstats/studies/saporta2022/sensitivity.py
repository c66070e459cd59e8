"""The choices of saporta2022 that may change a conclusion, each beside another one: S1, S2, S3 and S7.

Between the published number and that of another choice stands the published choice with patients as clusters,
so that what the clusters change is not taken for what the choice changes.
"""

import pandas as pd

from salstats.scoring.cases import EMPTY
from salstats.stats.adjust import adjust
from salstats.stats.models.regression import regress
from salstats.studies.items import made_if_possible
from salstats.studies.saporta2022.beside import BESIDE, beside
from salstats.studies.saporta2022.frames import (
    ALL_TASKS,
    FEATURES,
    OUTCOMES,
    POOLED,
    TASK_EFFECTS,
    WITHIN,
    Choice,
    Frames,
    all_of,
    confidence,
    confidence_of,
    decreases,
    feature_slopes,
    main_rows,
    means,
    metric_rows,
    scaled_features,
)
from salstats.studies.saporta2022.needs import PEOPLE, PROBABILITIES
from salstats.study import HUMAN

#: What each row asks.
QUESTIONS = {
    "S1": "Misses: left out of the mean IoU, or counted as 0",
    "S2": "Confidence and IoU: all but true negatives, with cut-offs; or only findings that are there",
    "S3": "Tasks pooled, or with task effects",
    "S7": "Hits: linear model, or logistic model (log odds)",
}
#: The published choice with patients as clusters.
IN_MIDDLE = {
    "estimate": "clustered_estimate",
    "conf_low": "clustered_low",
    "conf_high": "clustered_high",
    "conclusion": "conclusion_clustered",
}
MIDDLE = tuple(IN_MIDDLE.values())
RANKS = {"slope": "slope", "spearman": "Spearman correlation"}


def sensitivity(frames: Frames, n_replicates: int) -> pd.DataFrame:
    """Return published choice, the same clustered, and the other choice clustered, with their signs."""
    published, clustered = Choice(True, n_replicates), Choice(False, n_replicates)
    makers = {"S1": _misses, "S2": _cutoffs, "S3": _clusters, "S7": _logistic}
    if not (frames.cut_off and PROBABILITIES in frames.there):
        del makers["S2"]
    parts = []
    for row, make in makers.items():
        with made_if_possible(f"{row} of the sensitivity table"):
            parts.append(make(frames, published, clustered))
    rows = all_of(parts)
    rows.insert(1, "question", rows["row"].map(QUESTIONS))
    return rows[["row", "question", "quantity", "of", *BESIDE, *MIDDLE]]


def _beside(row: str, quantity: str, keys: list[str], *sides: pd.DataFrame) -> pd.DataFrame:
    """Return three frames of estimates (published, clustered, other) side by side, their keys as one text."""
    published, clustered, other = sides
    merged = beside(published, other, keys)
    middle = beside(published, clustered, keys).rename(columns=IN_MIDDLE)[[*keys, *MIDDLE]]
    merged = merged.merge(middle, on=keys, validate="1:1")
    of = merged[keys].astype("str").agg(", ".join, axis=1)
    return merged.drop(columns=keys).assign(row=row, quantity=quantity, of=of)


def _misses(frames: Frames, published: Choice, clustered: Choice) -> pd.DataFrame:
    """S1: an empty mask has no IoU, or IoU 0."""
    rows = metric_rows(main_rows(frames, frames.scores), "iou")
    empty = rows["reason"] == EMPTY
    zero = rows.assign(score=rows["score"].mask(empty, 0.0))
    keys = ["method", "task"]
    return pd.concat(
        [
            _beside("S1", name, keys, of(rows, published), of(rows, clustered), of(zero, clustered))
            for name, of in (("mean IoU", means), ("decrease from human, %", decreases))
            if of is means or PEOPLE in frames.there
        ],
        ignore_index=True,
    )


def _cutoffs(frames: Frames, published: Choice, clustered: Choice) -> pd.DataFrame:
    """S2: a mask that is empty because confidence is low cannot but tie IoU to confidence."""
    there = frames.positives[["case", "task"]]
    full, uncut = (main_rows(frames, f) for f in (frames.full, frames.uncut))
    full, uncut = (f[f["method"] == frames.main] for f in (full, uncut))
    base, middle = (confidence(full, "iou", choice) for choice in (published, clustered))
    parts = []
    for name, rows, choice in (
        ("finding there, with cut-offs", full.merge(there, on=["case", "task"]), clustered),
        ("finding there, without cut-offs", uncut.merge(there, on=["case", "task"]), clustered),
    ):
        other = confidence(rows, "iou", choice)
        for term in ("slope", "spearman"):
            rows_of = [f[(f["term"] == term) & (f["task"] == "Overall")] for f in (base, middle, other)]
            quantity = f"{RANKS[term]} of IoU on confidence"
            parts.append(_beside("S2", quantity, ["task"], *rows_of).assign(of=name))
    return pd.concat(parts, ignore_index=True)


def _clusters(frames: Frames, published: Choice, clustered: Choice) -> pd.DataFrame:
    """S3: rows pooled as if independent; patients as clusters; and with task effects."""
    pooled, middle = (feature_slopes(frames, c, (POOLED,), (ALL_TASKS,)) for c in (published, clustered))
    within = feature_slopes(frames, clustered, (POOLED,), (TASK_EFFECTS,))
    parts = [_beside("S3", "slope", ["outcome", "term"], pooled, middle, within)]
    if PROBABILITIES not in frames.there:
        return parts[0]
    for metric in ("iou", "hit"):
        ours, theirs = (confidence_of(frames, metric, c) for c in (published, clustered))
        chosen = ((ours, "Overall"), (theirs, "Overall"), (theirs, WITHIN))
        rows_of = [f[f["task"] == task].drop(columns="task") for f, task in chosen]
        for term in ("slope", "spearman"):
            quantity = f"{RANKS[term]} on confidence"
            parts.append(_beside("S3", quantity, ["metric"], *(f[f["term"] == term] for f in rows_of)))
    return pd.concat(parts, ignore_index=True)


def _logistic(frames: Frames, published: Choice, clustered: Choice) -> pd.DataFrame:
    """S7: a straight line through zeros and ones, or a logistic model."""
    rows = main_rows(frames, frames.scores)
    hits = metric_rows(rows[rows["method"] == frames.main], "hit").merge(
        scaled_features(frames.positives, POOLED), on=["case", "task"]
    )
    known = PROBABILITIES in frames.there
    used = [f for f in (*FEATURES, *(["prob"] if known else [])) if hits[f].notna().any()]
    logits = regress(hits, [f"hit ~ {f}" for f in used], family="binomial", errors="cluster")
    features = logits[logits["term"].isin(FEATURES)].reset_index(drop=True)
    features = adjust(features, procedure="bonferroni", n_tests=len(FEATURES))
    logits = pd.concat([features, logits[logits["term"] == "prob"]], ignore_index=True)
    outcome = next(name for name, metric, reference in OUTCOMES if metric == "hit" and reference != HUMAN)
    lines = []
    for choice in (published, clustered):
        linear = feature_slopes(frames, choice, (POOLED,), (ALL_TASKS,))
        own = [linear[linear["outcome"] == outcome]]
        if known:
            on_prob = confidence_of(frames, "hit", choice)
            overall = (on_prob["task"] == "Overall") & (on_prob["term"] == "slope")
            own.append(on_prob[overall].assign(term="prob"))
        lines.append(pd.concat(own, ignore_index=True))
    # a slope and a log odds have no common scale
    return _beside("S7", "slope of hit", ["term"], *lines, logits).assign(width_ratio=float("nan"))
