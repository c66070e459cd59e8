"""What localisation goes with: Tables 2 and 3 and Extended Data 8 to 10."""

import numpy as np
import pandas as pd
import plotnine as p9
from great_tables import GT

import salstats as ss
from salstats.display.plots.layout.text_fit import wrapped
from salstats.display.tables.record import Column
from salstats.display.text.format import MISSING, interval_text
from salstats.studies.engine import Result, table_of
from salstats.studies.saporta2022.labels_and_notes import (
    LABELS,
    cutoff_note,
    error_note,
    feature,
    full_name,
    labels_with,
)
from salstats.studies.saporta2022.script_inference import printed_as_published
from salstats.studies.saporta2022.study_frames import (
    ALL_TASKS,
    FEATURES,
    FULL_SLICE,
    PER_TASK,
    POOLED,
    TASK_EFFECTS,
    WITHIN,
    StudyFrames,
    confidence_of,
    confidence_rows,
    feature_slopes,
    present,
)


def summary_statistics(frames: StudyFrames) -> Result:
    """Extended Data 10: positives, patients and features per task, and the tasks left out."""
    counts = frames.counts
    assert counts is not None
    features = described_features(frames.everything or frames)
    left_out = _left_out(counts)
    return Result(
        _with_quartiles(counts, features),
        _summary_table(counts, features),
        _count_figure(counts, left_out),
        note=f"tasks left out of all that follows: {left_out}",
    )


def _left_out(counts: pd.DataFrame) -> str:
    """Name the tasks that are left out, with the number of cases and the reason."""
    tasks = [
        f"{row.task} (n = {row.n_positive}: {row.reason})" for row in counts[counts["left_out"]].itertuples()
    ]
    return "; ".join(tasks) or "none"


def _with_quartiles(counts: pd.DataFrame, features: pd.DataFrame) -> pd.DataFrame:
    """Put median and quartiles of each feature beside the counts of its task."""
    quartiles = features.pivot(index="task", columns="metric", values=["median", "q1", "q3"])
    quartiles.columns = [f"{feature_name}_{value}" for value, feature_name in quartiles.columns]
    return counts.merge(quartiles.reset_index(), on="task", how="left")


def _summary_table(counts: pd.DataFrame, features: pd.DataFrame) -> GT:
    """Show the counts of each task, and median and quartiles of the features that are known."""
    texts = []
    for row in features.itertuples():
        digits = 1 if row.metric == "n_instances" else 3
        texts.append(interval_text(row.median, row.q1, row.q3, digits, "brackets"))
    shown = features.assign(text=texts).pivot(index="task", columns="metric", values="text")
    known = [name for name in FEATURES if features.loc[features["metric"] == name, "median"].notna().any()]
    # a task without findings has no row
    shown = shown.reindex(counts["task"])[known].fillna(MISSING).reset_index()

    columns: dict[str | Column, str] = {"Cases": "n_cases", "Positive": "n_positive"}
    if "n_patients" in counts:
        columns["Patients with it"] = "n_patients"
    for name in known:
        columns[Column(feature(name), ("Median [Q1, Q3]",))] = name
    return table_of(counts.merge(shown, on="task"), "saporta2022", {"Task": "task"}, columns)


def _count_figure(counts: pd.DataFrame, left_out: str) -> p9.ggplot:
    """How many cases have each finding, and of how many patients they are."""
    named = {"n_positive": "Cases with the finding", "n_patients": "Patients with the finding"}
    held = [c for c in named if c in counts]
    long = counts.melt("task", held, "method", "estimate").replace({"method": named})
    # lines from 0 to the number
    long = long.assign(conf_low=0, conf_high=long["estimate"])
    figure = ss.plot_intervals(long, labels={"method": [named[c] for c in held]})
    return figure + p9.labs(x="Number", caption=wrapped(f"Left out of all that follows: {left_out}.", 74))


def described_features(frames: StudyFrames) -> pd.DataFrame:
    """Count, mean, median and quartiles of the features of each task's findings."""
    long = frames.positives.melt(["case", "task"], list(FEATURES), "metric", "score").assign(method="truth")
    return ss.describe(long.astype({"score": "float64"}), by=["metric", "task"])


def distributions(frames: StudyFrames) -> Result:
    """Extended Data 8: letter values of the features."""
    used = [f for f in FEATURES if frames.positives[f].notna().any()]
    values = ss.letter_values(frames.positives, used, by="task")
    # that a feature is 0 or 1 means nothing
    edges = ["n_zero", "share_zero", "n_one", "share_one"]
    described = described_features(frames).assign(binary=False, **dict.fromkeys(edges, 0))
    return Result(
        values,
        ss.table_describe(described, labels={"metric": {f: feature(f) for f in FEATURES}}),
        ss.plot_letter_values(values, labels=LABELS),
        note="relative size is of the whole finding; elongation and irrectangularity are of its dominant "
        "instance and the smallest rectangle around it",
    )


def table_2(frames: StudyFrames) -> Result:
    """Table 2: what makes localisation worse, features scaled both ways."""
    inference = frames.inference
    slopes = feature_slopes(frames, inference)
    if inference.published:
        slopes["script_text"] = printed_as_published(slopes, n_tests=len(FEATURES))
    table = _slope_table(slopes)
    pooled_only = slopes[slopes["pool"] != TASK_EFFECTS]
    # an outcome is a panel, and the two scales stand above each other
    figure = ss.plot_regression(
        pooled_only[pooled_only["outcome"].isin(("IoU", "Hit rate"))]
        .assign(method=pooled_only["scale"])
        .drop(columns=["outcome", "scale", "pool", "script_text"], errors="ignore"),
        labels={"term": list(FEATURES)},
    )
    return Result(
        slopes,
        table,
        figure,
        note="one model per outcome and feature; a slope is the change from the smallest to the largest "
        "value, in a task (as the study's text has it) or over all tasks (as its scripts have it); "
        f"{scale_matters(slopes)}; stars after Bonferroni's correction for the 4 features of an outcome, not "
        f"for the 16 tests of a block, and intervals are not corrected; {error_note(inference)}",
    )


def _slope_table(slopes: pd.DataFrame) -> GT:
    """Show a block of slopes for each scale of the features, without and with task effects."""
    blocks = {}
    for scale, source in ((PER_TASK, "as the study's text has it"), (POOLED, "as its scripts have it")):
        blocks[scale] = f"{scale} ({source})"
        blocks[f"{scale}, {TASK_EFFECTS}"] = f"{scale}, {TASK_EFFECTS}"
    block = slopes["scale"].where(slopes["pool"] != TASK_EFFECTS, slopes["scale"] + f", {TASK_EFFECTS}")
    not_shown = ["scale", "pool", "method", "formula", "errors", "script_text"]
    rows = slopes.drop(columns=not_shown, errors="ignore")
    rows.insert(0, "block", block)
    return ss.table_estimates(
        rows,
        rows="term",
        columns="outcome",
        groups="block",
        bold=False,
        stars=True,
        labels={
            "block": blocks,
            "outcome": list(dict.fromkeys(slopes["outcome"])),
            "term": list(FEATURES),
        },
    )


def scale_matters(slopes: pd.DataFrame) -> str:
    """What the scale of the features changes: the slope of size, and signs that intervals show."""
    rows = slopes[slopes["pool"] == ALL_TASKS].set_index(["outcome", "term"])
    sides = [rows[rows["scale"] == s] for s in (PER_TASK, POOLED)]
    parts = []
    if all(("IoU", "area_ratio") in side.index for side in sides):
        one, all_ = (side.loc[("IoU", "area_ratio"), "estimate"] for side in sides)
        parts.append(
            f"the slope of IoU on {feature('area_ratio').lower()} is {one:.3f} scaled per task and "
            f"{all_:.3f} over all tasks"
        )
    signs = [np.sign(s["conf_low"]).where(s["conf_low"] * s["conf_high"] > 0) for s in sides]
    turned = signs[0].index[(signs[0] * signs[1].reindex(signs[0].index) < 0).to_numpy()]
    names = ", ".join(f"{feature(term).lower()} ({outcome})" for outcome, term in turned)
    where = "where both intervals exclude 0"
    parts.append(f"{where} the sign turns for {names}" if names else f"no sign turns {where}")
    return "which one matters: " + ", and ".join(parts)


def by_confidence(frames: StudyFrames, metric: str) -> Result:
    """Table 3 (IoU) or Extended Data 9 (hits): localisation and the model's confidence."""
    inference = frames.inference
    rows, found = present(confidence_rows(frames, metric)), confidence_of(frames, metric, inference)
    tasks = [t for t in dict.fromkeys(found["task"]) if t not in ("Overall", WITHIN)]
    errors = "classical" if inference.published else None
    lines = ss.fit_line(rows, f"{metric} ~ prob", by="task", errors=errors)
    ranks = found[(found["term"] == "spearman") & found["task"].isin(tasks)].assign(x=metric, y="prob")
    # tasks of two cases have neither
    drawn = [part if part["estimate"].notna().any() else None for part in (lines, ranks)]
    shown = found.drop(columns=["statistic", "df", "formula", "errors", "bias"], errors="ignore")
    if inference.published:
        found = found.assign(script_text=printed_as_published(found))
    slice_name, slice_note = None, ""
    if metric == "iou" and FULL_SLICE in frames.available:
        slice_name, slice_note = full_name(frames), cutoff_note(frames, inference)
    elif metric == "iou":
        slice_note = "; of findings that are there, where the study's table is of the full slice"
    return Result(
        found,
        ss.table_estimates(
            shown,
            rows="task",
            columns="term",
            bold=False,
            stars=True,
            n_tests=1,
            n=True,
            labels=labels_with(task=[*tasks, "Overall", WITHIN]),
        ),
        ss.plot_scatter(rows, "prob", metric, by="task", fit=drawn[0], correlations=drawn[1], labels=LABELS),
        slice=slice_name,
        note="Overall pools all tasks, whose confidence and scores differ; Within tasks is the slope "
        "with task effects, and Spearman's correlations within tasks combined as Taylor (1987) does, on "
        f"Fisher's z; {overall_against_tasks(found)}; stars are not corrected for the number of tasks; "
        + error_note(inference, ranks=True)
        + slice_note,
    )


def overall_against_tasks(found: pd.DataFrame) -> str:
    """Where the slope over all rows lies among those of the tasks."""
    slopes = found[found["term"] == "slope"].set_index("task")["estimate"]
    tasks = slopes.drop(["Overall", WITHIN], errors="ignore")
    if "Overall" not in slopes or len(tasks) < 2:
        return "there is one task"
    low, high, overall = tasks.min(), tasks.max(), slopes["Overall"]
    place = "below all" if overall < low else "above all" if overall > high else "within those"
    return f"the overall slope, {overall:.3f}, lies {place} of the tasks, {low:.3f} to {high:.3f}"
