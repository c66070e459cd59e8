"""Localisation by maps and by people: Table 1, Fig. 2, Extended Data 1 to 7 and Table S1."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.plots.decrease import sorter_by_loss
from salstats.display.plots.layout.figure import Figure
from salstats.stats.engine.grouping import AVERAGE
from salstats.studies.declarations import ItemResult
from salstats.studies.saporta2022.labels_and_notes import (
    LABELS,
    end_of_note_on_cases_also_tuned_on,
    end_of_note_on_choice_of_cutoffs,
    estimate_note,
    few_patients_note_ending,
    full_slice_text_with_cutoff_source,
    labels_with,
    published_inference_or_smallest_p_note,
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
    StudyInference,
    decreases,
    drop_absent_findings,
    full_slice_scores_of_main_and_people,
    image_or_patient_max_rows_for_auroc,
    means,
    metric_rows,
    rows_of_first_training_of_each_method,
    rows_of_first_trainings,
    rows_of_main_and_people,
    rows_with_first_value,
)
from salstats.studies.saporta2022.upright_panels import plot_means_by_task_with_upright_names
from salstats.study import HUMAN

#: The model that single checkpoints are compared with.
ENSEMBLE = "ensemble"


def table_1_means_of_every_method(frames: StudyFrames) -> ItemResult:
    """Table 1: every saliency method, and people where there are some."""
    inference = frames.inference
    scores = metric_rows(rows_of_first_training_of_each_method(frames.scores), "iou", "hit")
    estimates = means(scores, inference)
    percent_decreases = None
    if {MAPS, PEOPLE} <= frames.available:
        percent_decreases = decreases(scores, inference)
    return ItemResult(
        estimates,
        ss.table_estimates(
            estimates,
            differences=percent_decreases,
            exclude=_human_if_present(estimates),
            n=True,
            labels=LABELS,
        ),
        ss.plot_intervals(estimates, labels=LABELS),
        note="mean IoU is over cases with a mask (misses are left out, see S1 of the sensitivity table), the "
        f"hit rate over all with the finding; {estimate_note(inference, hits=True)}"
        f"{few_patients_note_ending(estimates)}",
    )


def figure_2_means_of_main_and_people(frames: StudyFrames) -> ItemResult:
    """Fig. 2: mean IoU (a) and hit rate (b), each with the tasks in its own order."""
    inference = frames.inference
    assert frames.main_method is not None
    metrics = []
    if SEGMENTATIONS in frames.available:
        metrics.append("iou")
    if POINTS in frames.available:
        metrics.append("hit")
    scores = metric_rows(rows_of_main_and_people(frames, frames.scores), *metrics)
    estimates = means(scores, inference)
    percent_decreases = decreases(scores, inference)
    areas = auroc_by_task_or_none(frames)
    frame = estimates
    # The AUROC stands in the frame and behind the names of the tasks, where it is known.
    note = (
        "tasks of each panel stand by whether the decrease of its metric is shown (its interval "
        "excludes 0), then by its size"
    )
    if areas is not None:
        auroc = areas[["task", "estimate"]].rename(columns={"estimate": "auroc"})
        frame = estimates.merge(auroc, "left", "task")
        note += "; in parentheses the AUROC of the classifier"
    return ItemResult(
        frame,
        ss.table_estimates(estimates, differences=percent_decreases, labels=LABELS),
        plot_means_by_task_with_upright_names(
            estimates, percent_decreases, areas, method=frames.main_method, labels=LABELS
        ),
        note=f"{note}; {estimate_note(inference, hits=True)}",
    )


def decreases_from_people(frames: StudyFrames, metric: str) -> ItemResult:
    """Extended Data 5 or 6: percentage decreases from people, tasks in the order of the main method's."""
    inference = frames.inference
    rows = decreases(metric_rows(rows_of_first_training_of_each_method(frames.scores), metric), inference)
    order = sorter_by_loss(read_estimates(rows), LABELS, "task", frames.main_method)
    tasks = order([task for task in dict.fromkeys(rows["task"]) if task != AVERAGE])
    labels = labels_with(task=tasks, method=[frames.main_method])
    note = (
        "tasks stand by whether the decrease is shown (its interval excludes 0), then by its size, "
        f"of the main saliency method; {published_inference_or_smallest_p_note(inference)}"
    )
    if not inference.published:
        note += few_patients_note_ending(rows)
    return ItemResult(
        rows,
        ss.table_decrease(rows, labels=labels),
        ss.plot_decrease(rows, sort="labels", labels=labels),
        note=note,
    )


def auroc_by_task_or_none(frames: StudyFrames) -> pd.DataFrame | None:
    """Return the AUROC of each task; None unless every task has probabilities, and both labels."""
    if not {FULL_SLICE, FULL_PROBABILITIES, FULL_LABELS} <= frames.available:
        return None
    rows = rows_of_main_and_people(frames, frames.uncut)
    rows = rows[rows["method"] == frames.main_method]
    if not {"prob", "label"} <= set(rows) or (rows.groupby("task")["label"].nunique() < 2).any():
        return None
    return ss.auroc(image_or_patient_max_rows_for_auroc(rows, frames.inference), "prob", "label", by="task")


def mean_iou_by_threshold(frames: StudyFrames) -> ItemResult:
    """Extended Data 1a: mean IoU by threshold."""
    assert frames.sweep is not None
    sweep = frames.sweep.assign(threshold=frames.sweep["threshold"].round(6)).reset_index(drop=True)
    table_rows = sweep[["task", "threshold", "metric", "estimate"]]
    return ItemResult(
        sweep,
        ss.table_estimates(table_rows, rows="task", columns="threshold", bold="threshold", labels=LABELS),
        ss.plot_thresholds(table_rows, labels=labels_with(estimate="Mean IoU")),
        note="the threshold with the largest mean is chosen, the smallest of equal ones"
        f"{_smoothed_for_otsu_only_note_ending(frames)}",
    )


def means_with_tuned_thresholds(frames: StudyFrames) -> ItemResult:
    """Extended Data 1b: mean IoU with the tuned thresholds, compared with people."""
    inference = frames.inference
    assert frames.tuned is not None
    scores = metric_rows(rows_of_main_and_people(frames, frames.tuned), "iou")
    estimates = means(scores, inference)
    percent_decreases = None
    if PEOPLE in frames.available:
        percent_decreases = decreases(scores, inference)
    source = "as given"
    if frames.threshold_source == "tuned":
        source = f"chosen on the validation study{end_of_note_on_cases_also_tuned_on(frames)}"
    return ItemResult(
        estimates,
        ss.table_estimates(
            estimates, differences=percent_decreases, exclude=_human_if_present(estimates), labels=LABELS
        ),
        ss.plot_intervals(estimates, decrease=percent_decreases, labels=LABELS),
        note=f"thresholds {source}{_smoothed_for_otsu_only_note_ending(frames)}; {estimate_note(inference)}",
    )


def difference_of_otsu_and_tuned(frames: StudyFrames) -> ItemResult:
    """Extended Data 1c: difference of mean IoU, Otsu's threshold minus the tuned one, on the same cases."""
    assert frames.tuned is not None
    otsu = _main_iou(frames, frames.scores).assign(method="otsu")
    tuned = _main_iou(frames, frames.tuned).assign(method="tuned")
    rows = ss.difference(
        drop_absent_findings(pd.concat([otsu, tuned], ignore_index=True)),
        reference="tuned",
        by=["metric", "task"],
        average="task",
        **frames.inference.interval_options,
    )
    return ItemResult(
        rows,
        ss.table_decrease(rows, labels=LABELS),
        ss.plot_decrease(rows, labels=LABELS),
        note="difference Otsu - tuned on the same cases; always with patients as clusters; Otsu's masks have "
        f"their holes filled and single pixels removed, the others not, as in the study"
        f"{_smoothed_for_otsu_only_note_ending(frames)}{end_of_note_on_cases_also_tuned_on(frames)}",
    )


def _main_iou(frames: StudyFrames, scores: pd.DataFrame) -> pd.DataFrame:
    """Keep the IoU of the main saliency method."""
    rows = metric_rows(rows_of_main_and_people(frames, scores), "iou")
    return rows[rows["method"] == frames.main_method]


def _smoothed_for_otsu_only_note_ending(frames: StudyFrames) -> str:
    """Return the end of a note, which says that maps with other thresholds than Otsu's are not smoothed."""
    if not frames.smoothed_for_otsu_only:
        return ""
    return (
        "; --smooth is for Otsu's masks alone, as in the scripts: maps with these thresholds are not smoothed"
    )


def pooled_pixel_rates(frames: StudyFrames) -> ItemResult:
    """Extended Data 2: precision, recall and specificity of the pixels of all cases."""
    options = frames.inference.interval_options
    rows = rows_of_main_and_people(frames, frames.scores)
    rows = rows[rows["tp"].notna()].reset_index(drop=True)
    rates = ss.pooled_rates(rows, by=["method", "task"], **options)
    differences = None
    if _has_maps_and_people(rows):
        differences = ss.pooled_difference(rows, reference=HUMAN, by="task", **options)
    note = (
        "pixels pooled over cases, so that large images and findings count more; cases without any finding "
        "are not in the truth, so specificity is not that of the data set"
    )
    if frames.inference.published:
        # the script has no intervals
        rates = rates.assign(conf_low=np.nan, conf_high=np.nan)
        note += "; the study has no intervals here, and underlining is always with patients as clusters"
    return ItemResult(
        rates,
        ss.table_estimates(rates, differences=differences, labels=LABELS),
        ss.plot_intervals(rates, labels=LABELS),
        note=note,
    )


def means_by_method_and_model(frames: StudyFrames) -> ItemResult:
    """Extended Data 3: every method and model, each model compared with the same people."""
    inference = frames.inference
    scores = metric_rows(rows_of_first_trainings(frames.scores), "iou", "hit")
    model_names: list[str] = []
    if "model" in scores:
        model_names = list(scores["model"].dropna().unique())
    note = estimate_note(inference, hits=True)
    by = ["metric", "task"]
    if model_names:
        by = ["metric", "model", "task"]
        people = scores[scores["method"] == HUMAN]
        maps = scores[scores["method"] != HUMAN]
        unnamed = maps.loc[maps["model"].isna(), "method"].unique()
        if len(unnamed):
            note += f"; maps without a model are left out ({', '.join(unnamed)})"
        maps = maps[maps["model"].notna()]
        # People's scores are repeated for each model, so that its maps can be paired with them.
        people_of_models = [people.assign(model=model) for model in model_names]
        scores = pd.concat([maps, *people_of_models], ignore_index=True)
    estimates = means(scores, inference, (*by, "method"))
    percent_decreases = None
    if PEOPLE in frames.available:
        percent_decreases = _decreases_by_model_task_and_method(scores, inference, model_names)
    compared_column = "method"
    if len(model_names) > 1:
        compared_column = "model"
    table = ss.table_estimates(
        estimates,
        rows=tuple(by[1:]),
        groups="metric",
        differences=percent_decreases,
        exclude=_human_if_present(estimates),
        labels=LABELS,
        bold=compared_column,
    )
    return ItemResult(
        estimates, table, _figure_of_model_averages_or_task_means(estimates, model_names), note=note
    )


def _decreases_by_model_task_and_method(
    scores: pd.DataFrame, inference: StudyInference, model_names: Sequence[str]
) -> pd.DataFrame:
    """Return each model's decreases from people by metric, task and method; without models, of all scores."""
    parts = []
    for model in model_names:
        model_scores = scores[scores["model"] == model].drop(columns="model").reset_index(drop=True)
        parts.append(decreases(model_scores, inference))
    if not model_names:
        parts.append(decreases(scores.reset_index(drop=True), inference))
    keys = list(model_names) or [""]
    rows = pd.concat(parts, keys=keys, names=["model"])
    return rows.reset_index("model").reset_index(drop=True)


def _figure_of_model_averages_or_task_means(estimates: pd.DataFrame, model_names: Sequence[str]) -> Figure:
    """Plot means over tasks where models are named, else means per task."""
    average = estimates[estimates["task"] == AVERAGE].drop(columns="task")
    # As published there is no average over tasks.
    if not model_names or average.empty:
        return ss.plot_intervals(estimates, labels=LABELS)
    return ss.plot_intervals(average.rename(columns={"model": "task"}), labels=LABELS)


def ensemble_and_checkpoints(frames: StudyFrames) -> ItemResult:
    """Extended Data 7: means of an ensemble and of its single trainings, which stand in the place of methods.

    The table marks trainings by their percentage decrease from the ensemble.
    """
    inference = frames.inference
    rows = metric_rows(frames.scores, "iou", "hit")
    rows = rows[rows["method"] == frames.main_method]
    # Trainings are those of one model: the first where there are several.
    rows = rows[rows["model"] == rows["model"].iloc[0]]
    # The rows of the ensemble have no seed.
    checkpoint_names = "checkpoint " + rows["seed"].astype("object")
    names = checkpoint_names.where(rows["seed"].notna(), ENSEMBLE)
    rows = rows.assign(method=names).reset_index(drop=True)
    rows = rows.drop(columns=["model", "seed"])
    estimates = means(rows, inference)
    percent_decreases = decreases(rows, inference, ENSEMBLE)
    return ItemResult(
        estimates,
        ss.table_estimates(estimates, differences=percent_decreases, labels=LABELS),
        ss.plot_intervals(estimates, reference=ENSEMBLE, labels=LABELS),
        note=estimate_note(inference, hits=True),
    )


def classifier_auroc_by_model_and_task(frames: StudyFrames) -> ItemResult | None:
    """Supplementary Table S1: the AUROC of each model and task; None where no task has both labels."""
    rows = rows_of_first_trainings(frames.uncut)
    rows = rows[rows["method"] != HUMAN]
    if "model" in rows and rows["model"].notna().any():
        # The maps of all methods of a model have the probabilities of one classifier.
        rows = rows_with_first_value(rows, "method", ["model"])
        by = ["model", "task"]
        table_columns = "model"
    else:
        rows = rows[rows["method"] == frames.main_method]
        by = ["task"]
        table_columns = None
    if "label" not in rows:
        return None
    has_both_labels = rows.groupby(by)["label"].transform("nunique") > 1
    rows = rows[has_both_labels & rows["prob"].notna()].reset_index(drop=True)
    if not len(rows):
        return None
    areas = ss.auroc(image_or_patient_max_rows_for_auroc(rows, frames.inference), "prob", "label", by=by)
    table_rows = areas.drop(columns=["x", "y"], errors="ignore")
    note = "labels are those of the truth; tasks without a negative or without a positive case have none"
    if frames.inference.by_patient:
        note += "; a patient has the largest probability of its views"
    return ItemResult(
        areas,
        ss.table_estimates(table_rows, rows="task", columns=table_columns, labels=LABELS),
        ss.plot_intervals(table_rows.rename(columns={"model": "method"}), labels=LABELS),
        note=note,
    )


def mean_iou_on_full_slice(frames: StudyFrames) -> ItemResult:
    """Extended Data 4: mean IoU on the full slice, where false positives and misses count as 0."""
    inference = frames.inference
    rows = metric_rows(full_slice_scores_of_main_and_people(frames, inference), "iou")
    estimates = means(rows, inference)
    differences = None
    if _has_maps_and_people(rows):
        differences = ss.difference(
            drop_absent_findings(rows_of_main_and_people(frames, frames.full)),
            reference=HUMAN,
            by=["metric", "task"],
            average="task",
            test="none",
            **inference.interval_options,
        )
        differences = differences[differences["task"].isin(estimates["task"])].reset_index(drop=True)
    return ItemResult(
        estimates,
        ss.table_estimates(
            estimates, differences=differences, exclude=_human_if_present(estimates), n=True, labels=LABELS
        ),
        ss.plot_intervals(estimates, labels=LABELS),
        slice=full_slice_text_with_cutoff_source(frames),
        note="true negatives are left out, false positives and misses are 0; underlining compares the cases "
        "that count for both, so a false positive where the other rightly marked nothing has no part in it; "
        f"{estimate_note(inference)}{end_of_note_on_choice_of_cutoffs(frames, inference)}",
    )


def _has_maps_and_people(rows: pd.DataFrame) -> bool:
    """Tell whether there are rows of people and of a saliency method."""
    methods = set(rows["method"])
    return HUMAN in methods and len(methods) > 1


def _human_if_present(estimates: pd.DataFrame) -> list[str]:
    """Return the methods that do not compete for the best score of a table: people, if there are any."""
    if HUMAN in set(estimates["method"]):
        return [HUMAN]
    return []
