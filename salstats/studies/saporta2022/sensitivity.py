"""Choices beside each other: as published and clustered, and those that may change a conclusion.

Between the published number and that of another choice stands the published choice with patients as clusters,
so that what the clusters change is not taken for what the choice changes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9
from great_tables import GT

import salstats as ss
from salstats.display.text.format import interval_text
from salstats.scoring.cases import EMPTY
from salstats.studies.engine import Cell, Result, if_possible, table_of
from salstats.studies.saporta2022.labels_and_notes import cutoff_note, feature, words
from salstats.studies.saporta2022.study_frames import (
    ALL_TASKS,
    FEATURES,
    FULL_PROBABILITIES,
    FULL_SLICE,
    HITS,
    MAPS,
    OUTCOMES,
    PEOPLE,
    POOLED,
    PROBABILITIES,
    SHAPES,
    TASK_EFFECTS,
    WITHIN,
    Inference,
    StudyFrames,
    all_of,
    confidence,
    confidence_of,
    decreases,
    feature_slopes,
    full_rows,
    main_rows,
    means,
    metric_rows,
    one_model,
    scaled_features,
)
from salstats.study import HUMAN

#: Columns of two choices beside each other.
LIMITS = ("low", "high")
VALUES = ("estimate", "conf_low", "conf_high", "p_adjusted", "n")
BESIDE = (
    "published_estimate", "published_low", "published_high", "p_published", "n_published", "estimate",
    "conf_low", "conf_high", "p_adjusted", "n", "width_ratio", "conclusion_published", "conclusion",
    "changed",
)  # fmt: skip
_MEANS, _SLOPES = ["metric", "method", "task"], ["metric", "task", "term"]
#: What is compared, what its rows are known by, what it needs, and how it is made.
HEADLINES: dict[str, tuple[list[str], set[str], Callable[[StudyFrames, Inference], pd.DataFrame]]] = {
    "Table 1": (_MEANS, set(), lambda f, c: means(_pairs(f), c)),
    "Extended Data 4": (_MEANS, {FULL_SLICE}, lambda f, c: means(metric_rows(full_rows(f, c), "iou"), c)),
    "Extended Data 5-6": (_MEANS, {MAPS, PEOPLE}, lambda f, c: decreases(_pairs(f), c)),
    "Table 2": (["outcome", "term"], {MAPS, SHAPES}, lambda f, c: _pooled_slopes(f, c)),
    "Table 3": (_SLOPES, {FULL_SLICE, FULL_PROBABILITIES}, lambda f, c: confidence_of(f, "iou", c)),
    "Extended Data 9": (_SLOPES, {PROBABILITIES, HITS}, lambda f, c: confidence_of(f, "hit", c)),
}
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


def comparison(frames: StudyFrames) -> Result:
    """Every headline number as published and with patients as clusters."""
    rows = side_by_side(frames, frames.inference.n_replicates)
    columns = [c for c in ("metric", "outcome", "method", "task", "term") if c in rows]
    stub = [_capital(" · ".join(dict.fromkeys(words(row)))) for row in rows[columns].itertuples(index=False)]
    signed = rows[rows["conclusion_published"] != ""]
    lost = rows[(rows["item"] == "Extended Data 5-6") & (rows["method"] == frames.main)]
    sides = {"published_": "As published", "": "Patients as clusters"}
    both = _sides(lost, lost[["metric", "task"]], sides)
    return Result(
        rows,
        _columns(
            rows,
            list(rows["item"]),
            stub,
            {side.rstrip("_"): name for side, name in sides.items()},
            rows["item"] == "Extended Data 5-6",
        ),
        ss.plot_intervals(both) + p9.labs(x="Decrease from human benchmark, % (95% CI)")
        if len(lost)
        else None,
        note=f"the sign shown changes in {int(signed['changed'].sum())} of the {len(signed)} rows that have "
        "one (a mean has none); as published: mean of the replicates, order statistics, pairs of what either "
        "has, cases or rows for independent; patients as clusters: mean of the scores, complete pairs, "
        "Wilson's interval of a hit rate, as in each table; Table 2: features scaled over all tasks, as the "
        f"scripts have it; both have the same cut-offs{cutoff_note(frames, frames.inference)}",
    )


def choices(frames: StudyFrames) -> Result:
    """The sensitivity table: what other choices change."""
    rows = sensitivity(frames, frames.inference.n_replicates)
    groups = [f"{row.row}. {row.question}" for row in rows.itertuples()]
    stub = [f"{_capital(r.quantity)}: {', '.join(words(r.of.split(', ')))}" for r in rows.itertuples()]
    signed = rows[rows["conclusion_published"] != ""]
    by_clusters = signed["conclusion_clustered"] != signed["conclusion_published"]
    counted = signed.assign(alone=by_clusters).groupby("row")[["changed", "alone"]].agg(["sum", "size"])
    said = ", ".join(
        f"{r} in {int(c['changed', 'sum'])} of {int(c['changed', 'size'])} rows "
        f"({int(c['alone', 'sum'])} with patients as clusters alone)"
        for r, c in counted.iterrows()
    )
    slopes = rows[(rows["row"] == "S3") & (rows["quantity"] == "slope")]
    return Result(
        rows,
        _columns(
            rows,
            groups,
            stub,
            {"published": "As published", "clustered": "The same, patients as clusters", "": "Other choice"},
            rows["quantity"].str.endswith("%"),
        ),
        _slopes_beside(slopes) if len(slopes) else None,
        note="the other choice has patients as clusters too, so that it differs from the column before it in "
        f"the choice alone; the sign shown changes for {said or 'no row'}",
    )


def _sides(rows: pd.DataFrame, frame: pd.DataFrame, sides: dict[str, str]) -> pd.DataFrame:
    """A frame of estimates with a method for each side, by what stands before its columns."""
    parts = [
        frame.assign(
            method=name,
            estimate=rows[f"{side}estimate"],
            conf_low=rows[f"{side or 'conf_'}low"],
            conf_high=rows[f"{side or 'conf_'}high"],
            conf_level=0.95,
        )
        for side, name in sides.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _slopes_beside(rows: pd.DataFrame) -> p9.ggplot:
    """The slopes of the features under both choices, a panel per outcome."""
    names = rows["of"].str.rpartition(", ")
    frame = pd.DataFrame({"outcome": names[0], "method": "", "task": names[2]})
    sides = {
        "published_": "As published",
        "clustered_": "Patients as clusters",
        "": "And task effects",
    }
    both = _sides(rows, frame, sides)
    labels = {"task": {f: feature(f) for f in FEATURES}, "outcome": list(dict.fromkeys(frame["outcome"]))}
    labels["method"] = list(sides.values())
    zero = p9.geom_vline(xintercept=0, color="#BBBBBB", size=0.4)
    said = "S3: features scaled over all tasks. Bars: 95% CI."
    return ss.plot_intervals(both, labels=labels) + zero + p9.labs(x="Slope (95% CI)", caption=said)


def _columns(
    rows: pd.DataFrame, groups: list[str], stub: list[str], heads: dict[str, str], percent: pd.Series
) -> GT:
    """A table of intervals beside each other, and the signs that they show where these differ."""

    def side(head: str) -> Cell:
        names = [f"{head}_estimate" if head else "estimate", *(f"{head or 'conf'}_{v}" for v in LIMITS)]

        def text(row: Any) -> str:
            estimate, low, high = (getattr(row, name) for name in names)
            return interval_text(estimate, low, high, row.digits)

        return text

    signs = ["conclusion" + (f"_{head}" if head else "") for head in heads]
    changes = [" → ".join(shown) if len(set(shown)) > 1 else "" for shown in rows[signs].to_numpy()]
    return table_of(
        rows.assign(of_row=stub, of_group=groups, changes=changes, digits=np.where(percent, 1, 3)),
        "saporta2022",
        {"": "of_row"},
        {heading: side(head) for head, heading in heads.items()}
        | {"Sign shown, where it changes": "changes"},
        groups="of_group",
        notes=[
            "Estimate (95% CI). A sign is shown where the interval excludes 0 (features: and P after "
            "Bonferroni's correction is below .05). That one shows it and the other does not is no evidence "
            "that the two differ."
        ],
    )


def _capital(text: str) -> str:
    """A text that begins with a capital."""
    return f"{text[:1].upper()}{text[1:]}"


def conclusion(rows: pd.DataFrame, low: str, high: str, p_adjusted: str) -> np.ndarray:
    """The sign that is shown: limits exclude 0, and P is below .05 where it is corrected."""
    shown = rows[p_adjusted].isna() | (rows[p_adjusted] < 0.05)
    positive, negative = (rows[low] > 0) & shown, (rows[high] < 0) & shown
    found: np.ndarray = np.where(positive, "positive", np.where(negative, "negative", "inconclusive"))
    return np.where(rows[low].isna() | rows[high].isna(), "", found)


def beside(published: pd.DataFrame, other: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Two frames of estimates beside each other by their keys, with what each says of the sign."""
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


def side_by_side(frames: StudyFrames, n_replicates: int) -> pd.DataFrame:
    """Every headline number as published and with patients as clusters."""
    published, clustered = Inference(True, n_replicates), Inference(False, n_replicates)
    parts = []
    for item, (keys, needs, make) in HEADLINES.items():
        if needs <= frames.available:
            with if_possible(f"{item} as published and clustered"):
                both = make(frames, published), make(frames, clustered)
                parts.append(beside(*both, keys).assign(item=item))
    rows = all_of(parts)
    return rows[["item", *(c for c in ("metric", "outcome", "method", "task", "term") if c in rows), *BESIDE]]


def _pooled_slopes(frames: StudyFrames, inference: Inference) -> pd.DataFrame:
    """Return Table 2 with features scaled over all tasks, rows of all tasks pooled."""
    return feature_slopes(frames, inference, (POOLED,), (ALL_TASKS,))


def _pairs(frames: StudyFrames) -> pd.DataFrame:
    """IoU and hits of the first model of each method, and of people."""
    return metric_rows(one_model(frames.scores), "iou", "hit")


def sensitivity(frames: StudyFrames, n_replicates: int) -> pd.DataFrame:
    """Published choice, the same clustered, and the other choice clustered, with their signs."""
    published, clustered = Inference(True, n_replicates), Inference(False, n_replicates)
    makers = {"S1": _misses, "S2": _cutoffs, "S3": _clusters, "S7": _logistic}
    for row in list(makers):
        if not _is_possible(row, frames):
            del makers[row]
    parts = []
    for row, make in makers.items():
        with if_possible(f"{row} of the sensitivity table"):
            parts.append(make(frames, published, clustered))
    rows = all_of(parts)
    rows.insert(1, "question", rows["row"].map(QUESTIONS))
    return rows[["row", "question", "quantity", "of", *BESIDE, *MIDDLE]]


def _is_possible(row: str, frames: StudyFrames) -> bool:
    """Say whether there is what a row of the sensitivity table needs."""
    if row == "S2":
        # with and without cut-offs: scores of a file have them or not
        known = {FULL_SLICE, FULL_PROBABILITIES} <= frames.available
        return known and frames.cut_off in ("tuned", "given")
    needs = {"S3": {SHAPES}, "S7": {SHAPES, HITS}}
    return needs.get(row, set()) <= frames.available


def _beside(row: str, quantity: str, keys: list[str], *sides: pd.DataFrame) -> pd.DataFrame:
    """Three frames of estimates (published, clustered, other) side by side, their keys as one text."""
    published, clustered, other = sides
    merged = beside(published, other, keys)
    middle = beside(published, clustered, keys).rename(columns=IN_MIDDLE)[[*keys, *MIDDLE]]
    merged = merged.merge(middle, on=keys, validate="1:1")
    of = merged[keys].astype("str").agg(", ".join, axis=1)
    return merged.drop(columns=keys).assign(row=row, quantity=quantity, of=of)


def _misses(frames: StudyFrames, published: Inference, clustered: Inference) -> pd.DataFrame:
    """S1: an empty mask has no IoU, or IoU 0."""
    rows = metric_rows(main_rows(frames, frames.scores), "iou")
    empty = rows["reason"] == EMPTY
    zero = rows.assign(score=rows["score"].mask(empty, 0.0))
    keys = ["method", "task"]
    return pd.concat(
        [
            _beside("S1", name, keys, of(rows, published), of(rows, clustered), of(zero, clustered))
            for name, of in (("mean IoU", means), ("decrease from human, %", decreases))
            if of is means or PEOPLE in frames.available
        ],
        ignore_index=True,
    )


def _cutoffs(frames: StudyFrames, published: Inference, clustered: Inference) -> pd.DataFrame:
    """S2: a mask that is empty because confidence is low cannot but tie IoU to confidence."""
    there = frames.positives[["case", "task"]]
    full, uncut = (main_rows(frames, f) for f in (frames.full, frames.uncut))
    full, uncut = (f[f["method"] == frames.main] for f in (full, uncut))
    base, middle = (confidence(full, "iou", inference) for inference in (published, clustered))
    parts = []
    for name, rows, inference in (
        ("finding there, with cut-offs", full.merge(there, on=["case", "task"]), clustered),
        ("finding there, without cut-offs", uncut.merge(there, on=["case", "task"]), clustered),
    ):
        other = confidence(rows, "iou", inference)
        for term in ("slope", "spearman"):
            rows_of = [f[(f["term"] == term) & (f["task"] == "Overall")] for f in (base, middle, other)]
            quantity = f"{RANKS[term]} of IoU on confidence"
            parts.append(_beside("S2", quantity, ["task"], *rows_of).assign(of=name))
    return pd.concat(parts, ignore_index=True)


def _clusters(frames: StudyFrames, published: Inference, clustered: Inference) -> pd.DataFrame:
    """S3: rows pooled as if independent; patients as clusters; and with task effects."""
    pooled, middle = (feature_slopes(frames, c, (POOLED,), (ALL_TASKS,)) for c in (published, clustered))
    within = feature_slopes(frames, clustered, (POOLED,), (TASK_EFFECTS,))
    parts = [_beside("S3", "slope", ["outcome", "term"], pooled, middle, within)]
    needs = {"iou": {FULL_SLICE, FULL_PROBABILITIES}, "hit": {PROBABILITIES, HITS}}
    for metric in needs:
        if not needs[metric] <= frames.available:
            continue
        ours, theirs = (confidence_of(frames, metric, c) for c in (published, clustered))
        chosen = ((ours, "Overall"), (theirs, "Overall"), (theirs, WITHIN))
        rows_of = [f[f["task"] == task].drop(columns="task") for f, task in chosen]
        for term in ("slope", "spearman"):
            quantity = f"{RANKS[term]} on confidence"
            parts.append(_beside("S3", quantity, ["metric"], *(f[f["term"] == term] for f in rows_of)))
    return pd.concat(parts, ignore_index=True)


def _logistic(frames: StudyFrames, published: Inference, clustered: Inference) -> pd.DataFrame:
    """S7: a straight line through zeros and ones, or a logistic model."""
    rows = main_rows(frames, frames.scores)
    hits = metric_rows(rows[rows["method"] == frames.main], "hit").merge(
        scaled_features(frames.positives, POOLED), on=["case", "task"]
    )
    known = PROBABILITIES in frames.available
    used = [f for f in (*FEATURES, *(["prob"] if known else [])) if hits[f].notna().any()]
    logits = ss.regress(hits, [f"hit ~ {f}" for f in used], by="method", family="binomial")
    features = logits[logits["term"].isin(FEATURES)].reset_index(drop=True)
    features = ss.adjust(features, procedure="bonferroni", n_tests=len(FEATURES))
    logits = pd.concat([features, logits[logits["term"] == "prob"]], ignore_index=True)
    outcome = next(name for name, metric, reference in OUTCOMES if metric == "hit" and reference != HUMAN)
    lines = []
    for inference in (published, clustered):
        linear = feature_slopes(frames, inference, (POOLED,), (ALL_TASKS,))
        own = [linear[linear["outcome"] == outcome]]
        if known:
            on_prob = confidence_of(frames, "hit", inference)
            overall = (on_prob["task"] == "Overall") & (on_prob["term"] == "slope")
            own.append(on_prob[overall].assign(term="prob"))
        lines.append(pd.concat(own, ignore_index=True))
    # a slope and a log odds have no common scale
    return _beside("S7", "slope of hit", ["term"], *lines, logits).assign(width_ratio=float("nan"))
