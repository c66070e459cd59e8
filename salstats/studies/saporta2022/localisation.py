"""How well maps and people localise: Table 1, Fig. 2, Extended Data 1 to 7 and Table S1."""

import numpy as np
import pandas as pd
import plotnine as p9

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.plots.decrease import loss_order
from salstats.stats.engine.design import AVERAGE
from salstats.studies.engine import Result
from salstats.studies.saporta2022.labels_and_notes import (
    LABELS,
    cutoff_note,
    decrease_note,
    estimate_note,
    few_patients,
    full_name,
    labels_with,
    shared_note,
)
from salstats.studies.saporta2022.study_frames import (
    FULL_LABELS,
    FULL_PROBABILITIES,
    FULL_SLICE,
    MAPS,
    PEOPLE,
    POINTS,
    SEGMENTATIONS,
    StudyFrames,
    classifier_rows,
    decreases,
    first_of,
    full_rows,
    main_rows,
    means,
    metric_rows,
    models,
    one_model,
    present,
)
from salstats.studies.saporta2022.upright_panels import plot_upright
from salstats.study import HUMAN

#: The model that single checkpoints are compared with.
ENSEMBLE = "ensemble"


def table_1(frames: StudyFrames) -> Result:
    """Table 1: every saliency method, and people where there are some."""
    inference = frames.inference
    scores = metric_rows(one_model(frames.scores), "iou", "hit")
    found = means(scores, inference)
    lost = decreases(scores, inference) if {MAPS, PEOPLE} <= frames.available else None
    return Result(
        found,
        ss.table_estimates(found, differences=lost, exclude=_people(found), n=True, labels=LABELS),
        ss.plot_intervals(found, labels=LABELS),
        note="mean IoU is over cases with a mask (misses are left out, see S1 of the sensitivity table), the "
        f"hit rate over all with the finding; {estimate_note(inference, hits=True)}{few_patients(found)}",
    )


def figure_2(frames: StudyFrames) -> Result:
    """Fig. 2: mean IoU (a) and hit rate (b), each with the tasks in its own order."""
    inference = frames.inference
    held = {"iou": SEGMENTATIONS, "hit": POINTS}
    metrics = [m for m, need in held.items() if need in frames.available]
    assert frames.main is not None
    scores = metric_rows(main_rows(frames, frames.scores), *metrics)
    known = found = means(scores, inference)
    lost, areas = decreases(scores, inference), classifier(frames)
    if areas is not None:
        known = found.merge(areas[["task", "estimate"]].rename(columns={"estimate": "auroc"}), "left", "task")
    return Result(
        known,
        ss.table_estimates(found, differences=lost, labels=LABELS),
        plot_upright(found, lost, areas, method=frames.main, labels=LABELS),
        note="tasks of each panel stand by whether the decrease of its metric is shown (its interval "
        "excludes 0), then by its size"
        + ("; in parentheses the AUROC of the classifier" if areas is not None else "")
        + f"; {estimate_note(inference, hits=True)}",
    )


def lost_to_people(frames: StudyFrames, metric: str) -> Result:
    """Extended Data 5 or 6: percentage decreases from people, the surest of the main method first."""
    inference = frames.inference
    lost = decreases(metric_rows(one_model(frames.scores), metric), inference)
    order = loss_order(read_estimates(lost), LABELS, "task", frames.main)
    tasks = order([t for t in dict.fromkeys(lost["task"]) if t != AVERAGE])
    labels = labels_with(task=tasks, method=[frames.main])
    return Result(
        lost,
        ss.table_decrease(lost, labels=labels),
        ss.plot_decrease(lost, sort="labels", labels=labels),
        note="tasks stand by whether the decrease is shown (its interval excludes 0), then by its size, "
        f"of the main saliency method; {decrease_note(inference)}"
        + ("" if inference.published else few_patients(lost)),
    )


def classifier(frames: StudyFrames) -> pd.DataFrame | None:
    """The AUROC of each task where probabilities and labels of both kinds are known."""
    if not {FULL_SLICE, FULL_PROBABILITIES, FULL_LABELS} <= frames.available:
        return None
    rows = main_rows(frames, frames.uncut)
    rows = rows[rows["method"] == frames.main]
    if not {"prob", "label"} <= set(rows) or (rows.groupby("task")["label"].nunique() < 2).any():
        return None
    return ss.auroc(classifier_rows(rows, frames.inference), "prob", "label", by="task")


def thresholds(frames: StudyFrames) -> Result:
    """Extended Data 1a: the sweep."""
    assert frames.sweep is not None
    sweep = frames.sweep.assign(threshold=lambda f: f["threshold"].round(6)).reset_index(drop=True)
    shown = sweep[["task", "threshold", "metric", "estimate"]]
    return Result(
        sweep,
        ss.table_estimates(shown, rows="task", columns="threshold", bold="threshold", labels=LABELS),
        ss.plot_thresholds(shown, labels=labels_with(estimate="Mean IoU")),
        note="the threshold with the largest mean is chosen, the smallest of equal ones"
        f"{_without_filter(frames)}",
    )


def tuned_thresholds(frames: StudyFrames) -> Result:
    """Extended Data 1b and 1c: the tuned thresholds against people, and against Otsu's."""
    inference = frames.inference
    assert frames.tuned is not None
    tuned = metric_rows(main_rows(frames, frames.tuned), "iou")
    found = means(tuned, inference)
    lost = decreases(tuned, inference) if PEOPLE in frames.available else None
    chosen = "as given"
    if frames.thresholds == "tuned":
        chosen = f"chosen on the validation study{shared_note(frames)}"
    return Result(
        found,
        ss.table_estimates(found, differences=lost, exclude=_people(found), labels=LABELS),
        ss.plot_intervals(found, decrease=lost, labels=LABELS),
        note=f"thresholds {chosen}{_without_filter(frames)}; {estimate_note(inference)}",
    )


def otsu_and_tuned(frames: StudyFrames) -> Result:
    """Otsu's threshold against the tuned one, on the same cases."""
    inference = frames.inference
    assert frames.tuned is not None
    otsu, tuned = (metric_rows(main_rows(frames, f), "iou") for f in (frames.scores, frames.tuned))
    pair = [
        f[f["method"] == frames.main].assign(method=name) for f, name in ((otsu, "otsu"), (tuned, "tuned"))
    ]
    gap = ss.difference(
        present(pd.concat(pair, ignore_index=True)), reference="tuned", by=["metric", "task"], average="task",
        **inference.resampled,
    )  # fmt: skip
    return Result(
        gap,
        ss.table_decrease(gap, labels=LABELS),
        ss.plot_decrease(gap, labels=LABELS),
        note="difference Otsu - tuned on the same cases; always with patients as clusters; Otsu's masks have "
        f"their holes filled and single pixels removed, the others not, as in the study"
        f"{_without_filter(frames)}{shared_note(frames)}",
    )


def _without_filter(frames: StudyFrames) -> str:
    """Say that maps with another threshold than Otsu's are not smoothed, where the others are."""
    if not frames.smoothed_for_otsu:
        return ""
    return (
        "; --smooth is for Otsu's masks alone, as in the scripts: maps with these thresholds are not smoothed"
    )


def pooled(frames: StudyFrames) -> Result:
    """Extended Data 2: precision, recall and specificity of the pixels of all cases."""
    inference = frames.inference
    rows = main_rows(frames, frames.scores)
    rows = rows[rows["tp"].notna()].reset_index(drop=True)
    rates = ss.pooled_rates(rows, by=["method", "task"], **inference.resampled)
    gap = None
    if _has_both(rows):
        gap = ss.pooled_difference(rows, reference=HUMAN, by="task", **inference.resampled)
    note = (
        "pixels pooled over cases, so that large images and findings count more; cases without any finding "
        "are not in the truth, so specificity is not that of the data set"
    )
    if inference.published:
        # the script has no intervals
        rates = rates.assign(conf_low=np.nan, conf_high=np.nan)
        note += "; the study has no intervals here, and underlining is always with patients as clusters"
    return Result(
        rates,
        ss.table_estimates(rates, differences=gap, labels=LABELS),
        ss.plot_intervals(rates, labels=LABELS),
        note=note,
    )


def several_models(frames: StudyFrames) -> Result:
    """Extended Data 3: every method and model; people stand beside each model, for the pairs."""
    inference = frames.inference
    scores = metric_rows(models(frames.scores), "iou", "hit")
    people = scores[scores["method"] == HUMAN]
    known = [] if "model" not in scores else list(scores["model"].dropna().unique())
    note = estimate_note(inference, hits=True)
    if known:
        machine = scores[scores["method"] != HUMAN]
        unnamed = machine.loc[machine["model"].isna(), "method"].unique()
        if len(unnamed):
            note += f"; maps without a model are left out ({', '.join(unnamed)})"
        machine = machine[machine["model"].notna()]
        scores = pd.concat([machine, *(people.assign(model=m) for m in known)], ignore_index=True)
    by = ("metric", *(["model"] if known else []), "task")
    found, gap = means(scores, inference, (*by, "method")), None
    if PEOPLE in frames.available:
        parts = [scores[scores["model"] == m].drop(columns="model") for m in known] or [scores]
        lost = [decreases(part.reset_index(drop=True), inference) for part in parts]
        gap = pd.concat(lost, keys=known or [""], names=["model"]).reset_index("model").reset_index(drop=True)
    return Result(
        found,
        ss.table_estimates(
            found, rows=by[1:], groups="metric", differences=gap, exclude=_people(found), labels=LABELS,
            bold="model" if len(known) > 1 else "method",
        ),
        _model_figure(found, known),
        note=note,
    )  # fmt: skip


def _model_figure(found: pd.DataFrame, known: list[str]) -> p9.ggplot:
    """Means over tasks where models are known, else means per task."""
    average = found[found["task"] == AVERAGE].drop(columns="task")
    # the scripts have no average
    if not known or average.empty:
        return ss.plot_intervals(found, labels=LABELS)
    return ss.plot_intervals(average.rename(columns={"model": "task"}), labels=LABELS)


def ensemble_and_checkpoints(frames: StudyFrames) -> Result:
    """Extended Data 7: an ensemble, and its single trainings in the place of methods."""
    inference = frames.inference
    rows = metric_rows(frames.scores, "iou", "hit")
    rows = rows[rows["method"] == frames.main]
    rows = rows[rows["model"] == rows["model"].iloc[0]]
    names = "checkpoint " + rows["seed"].astype("object")
    rows = rows.assign(method=names.where(rows["seed"].notna(), ENSEMBLE)).reset_index(drop=True)
    rows = rows.drop(columns=["model", "seed"])
    found, gap = means(rows, inference), decreases(rows, inference, ENSEMBLE)
    return Result(
        found,
        ss.table_estimates(found, differences=gap, labels=LABELS),
        ss.plot_intervals(found, reference=ENSEMBLE, labels=LABELS),
        note=estimate_note(inference, hits=True),
    )


def classifiers(frames: StudyFrames) -> Result | None:
    """Supplementary Table S1: the AUROC of each model and task."""
    rows = models(frames.uncut)
    rows = rows[rows["method"] != HUMAN]
    if "model" in rows and rows["model"].notna().any():
        # every method of a model was made of the same classifier
        rows = first_of(rows, "method", ["model"])
        by = ["model", "task"]
    else:
        rows, by = rows[rows["method"] == frames.main], ["task"]
    both = rows.groupby(by)["label"].transform("nunique") > 1 if "label" in rows else False
    rows = rows[both & rows["prob"].notna()].reset_index(drop=True)
    if not len(rows):
        return None
    found = ss.auroc(classifier_rows(rows, frames.inference), "prob", "label", by=by)
    shown = found.drop(columns=["x", "y"], errors="ignore")
    return Result(
        found,
        ss.table_estimates(shown, rows="task", columns="model" if "model" in by else None, labels=LABELS),
        ss.plot_intervals(shown.rename(columns={"model": "method"}), labels=LABELS),
        note="labels are those of the truth; tasks without a negative or without a positive case have none"
        + ("; a patient has the largest probability of its views" if frames.inference.by_patient else ""),
    )


def full_slice(frames: StudyFrames) -> Result:
    """Extended Data 4: false positives and misses count as 0."""
    inference = frames.inference
    rows = metric_rows(full_rows(frames, inference), "iou")
    found = means(rows, inference)
    gap = None
    if _has_both(rows):
        gap = ss.difference(
            present(main_rows(frames, frames.full)), reference=HUMAN, by=["metric", "task"], average="task",
            test="none", **inference.resampled,
        )  # fmt: skip
        gap = gap[gap["task"].isin(found["task"])].reset_index(drop=True)
    return Result(
        found,
        ss.table_estimates(found, differences=gap, exclude=_people(found), n=True, labels=LABELS),
        ss.plot_intervals(found, labels=LABELS),
        slice=full_name(frames),
        note="true negatives are left out, false positives and misses are 0; underlining compares the cases "
        "that count for both, so a false positive where the other rightly marked nothing has no part in it; "
        f"{estimate_note(inference)}{cutoff_note(frames, inference)}",
    )


def _has_both(rows: pd.DataFrame) -> bool:
    """Say whether rows are of people and of a saliency method."""
    methods = set(rows["method"])
    return HUMAN in methods and len(methods) > 1


def _people(found: pd.DataFrame) -> list[str]:
    """Name who does not compete for the best score of a table."""
    return [HUMAN] if HUMAN in set(found["method"]) else []
