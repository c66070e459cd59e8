"""The choices of saporta2022 that may change a conclusion, each beside another one: S1, S2, S3 and S7."""

import pandas as pd

from salstats.display.saporta2022.frames import (
    ALL_TASKS,
    BESIDE,
    FEATURES,
    HUMAN,
    OUTCOMES,
    POOLED,
    TASK_EFFECTS,
    WITHIN,
    Choice,
    Frames,
    beside,
    confidence,
    confidence_slices,
    decreases,
    feature_slopes,
    main_rows,
    means,
    metric_rows,
    scaled_features,
)
from salstats.stats.adjust import adjust
from salstats.stats.regression import regress

#: What each row asks.
QUESTIONS = {
    "S1": "Misses: left out of the mean IoU, or counted as 0",
    "S2": "Confidence and IoU: masks emptied below cut-offs, or masks as they are where the finding is there",
    "S3": "Rows for independent, or task effects and patients as clusters",
    "S7": "Hits: linear model, or logistic model with patients as clusters (log odds)",
}


RANKS = {"slope": "slope", "spearman": "Spearman correlation"}


def sensitivity(frames: Frames, n_replicates: int) -> pd.DataFrame:
    """Return published and other choice side by side, and whether the conclusion on the sign changes."""
    published, clustered = Choice(True, n_replicates), Choice(False, n_replicates)
    parts = [
        _misses(frames, published, clustered),
        *([_cutoffs(frames, published, clustered)] if frames.cut_off else []),
        _clusters(frames, published, clustered),
        _logistic(frames, published),
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows.insert(1, "question", rows["row"].map(QUESTIONS))
    return rows[["row", "question", "quantity", "of", *BESIDE]]


def _beside(
    row: str, quantity: str, published: pd.DataFrame, other: pd.DataFrame, keys: list[str]
) -> pd.DataFrame:
    """Return two frames of estimates beside each other, their keys as one text."""
    merged = beside(published, other, keys)
    of = merged[keys].astype("str").agg(", ".join, axis=1)
    return merged.drop(columns=keys).assign(row=row, quantity=quantity, of=of)


def _misses(frames: Frames, published: Choice, clustered: Choice) -> pd.DataFrame:
    """S1: an empty mask has no IoU, or IoU 0."""
    rows = metric_rows(main_rows(frames, frames.scores), "iou")
    empty = rows["reason"] == "empty mask"
    zero = rows.assign(score=rows["score"].mask(empty, 0.0))
    keys = ["method", "task"]
    return pd.concat(
        [
            _beside("S1", "mean IoU", means(rows, published), means(zero, clustered), keys),
            _beside(
                "S1", "decrease from human, %", decreases(rows, published), decreases(zero, clustered), keys
            ),
        ],
        ignore_index=True,
    )


def _cutoffs(frames: Frames, published: Choice, clustered: Choice) -> pd.DataFrame:
    """S2: a mask that is empty because confidence is low cannot but tie IoU to confidence."""
    there = frames.positives[["case", "task"]]
    full, uncut = (main_rows(frames, f) for f in (frames.full, frames.uncut))
    full, uncut = (f[f["method"] == frames.main] for f in (full, uncut))
    base = confidence(full, "iou", published)
    parts = []
    for name, rows, choice in (
        ("finding there, with cut-offs", full.merge(there, on=["case", "task"]), clustered),
        ("finding there, without cut-offs", uncut.merge(there, on=["case", "task"]), clustered),
    ):
        other = confidence(rows, "iou", choice)
        for term in ("slope", "spearman"):
            ours, theirs = (f[(f["term"] == term) & (f["task"] == "Overall")] for f in (base, other))
            parts.append(
                _beside("S2", f"{RANKS[term]} of IoU on confidence", ours, theirs, ["task"]).assign(of=name)
            )
    return pd.concat(parts, ignore_index=True)


def _clusters(frames: Frames, published: Choice, clustered: Choice) -> pd.DataFrame:
    """S3: rows pooled as if independent, or task effects and patients as clusters."""
    pooled = feature_slopes(frames, published, (POOLED,), (ALL_TASKS,))
    within = feature_slopes(frames, clustered, (POOLED,), (TASK_EFFECTS,))
    parts = [_beside("S3", "slope", pooled, within, ["outcome", "term"])]
    ours, theirs = (confidence_slices(frames, c) for c in (published, clustered))
    for metric, base in ours.items():
        overall = base[base["task"] == "Overall"].drop(columns="task")
        other = theirs[metric][theirs[metric]["task"] == WITHIN].drop(columns="task")
        for term in ("slope", "spearman"):
            one, two = (f[f["term"] == term] for f in (overall, other))
            quantity = f"{RANKS[term]} on confidence"
            parts.append(_beside("S3", quantity, one, two, ["metric"]))
    return pd.concat(parts, ignore_index=True)


def _logistic(frames: Frames, published: Choice) -> pd.DataFrame:
    """S7: a straight line through zeros and ones, or a logistic model."""
    rows = main_rows(frames, frames.scores)
    hits = metric_rows(rows[rows["method"] == frames.main], "hit").merge(
        scaled_features(frames.positives, POOLED), on=["case", "task"]
    )
    used = [f for f in (*FEATURES, "prob") if hits[f].notna().any()]
    logits = regress(hits, [f"hit ~ {f}" for f in used], family="binomial", errors="cluster")
    features = logits[logits["term"].isin(FEATURES)].reset_index(drop=True)
    features = adjust(features, procedure="bonferroni", n_tests=len(FEATURES))
    logits = pd.concat([features, logits[logits["term"] == "prob"]], ignore_index=True)
    linear = feature_slopes(frames, published, (POOLED,), (ALL_TASKS,))
    outcome = next(name for name, metric, reference in OUTCOMES if metric == "hit" and reference != HUMAN)
    linear = linear[linear["outcome"] == outcome]
    on_prob = confidence_slices(frames, published)["hit"]
    on_prob = on_prob[(on_prob["task"] == "Overall") & (on_prob["term"] == "slope")].assign(term="prob")
    base = pd.concat([linear, on_prob], ignore_index=True)
    # a slope and a log odds have no common scale
    return _beside("S7", "slope of hit", base, logits, ["term"]).assign(width_ratio=float("nan"))
