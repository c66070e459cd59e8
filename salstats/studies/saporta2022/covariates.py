"""Localisation and features of the findings, or confidence: Tables 2 and 3 and Extended Data 8 to 10."""

import numpy as np
import pandas as pd
import plotnine as p9
from great_tables import GT

import salstats as ss
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.text_fit import wrapped
from salstats.display.tables.record import TableColumn
from salstats.display.text.format import MISSING, interval_text
from salstats.studies.declarations import ItemResult
from salstats.studies.result_tables import table_of
from salstats.studies.saporta2022.labels_and_notes import (
    LABELS,
    end_of_note_on_choice_of_cutoffs,
    feature_name,
    full_slice_text_with_cutoff_source,
    labels_with,
    standard_error_note,
)
from salstats.studies.saporta2022.script_inference import coefficient_texts_as_published
from salstats.studies.saporta2022.study_frames import (
    FEATURES,
    FULL_SLICE,
    SCALED_OVER_ALL_TASKS,
    SCALED_PER_TASK,
    TASK_EFFECTS,
    TASKS_POOLED,
    WITHIN_TASKS,
    StudyFrames,
    confidence_estimates,
    drop_absent_findings,
    feature_slopes,
    main_method_scores_to_regress_on_confidence,
)


def case_counts_and_feature_quartiles(frames: StudyFrames) -> ItemResult:
    """Extended Data 10: positives, patients and features per task, and the tasks left out."""
    counts = frames.counts
    assert counts is not None
    features = feature_statistics(frames.all_tasks or frames)
    left_out = _left_out_tasks_or_none_text(counts)
    return ItemResult(
        _add_feature_quartiles(counts, features),
        _summary_table(counts, features),
        _plot_cases_and_patients(counts, left_out),
        note=f"tasks left out of all that follows: {left_out}",
    )


def _left_out_tasks_or_none_text(counts: pd.DataFrame) -> str:
    """Name the tasks that are left out, with the number of cases and the reason."""
    texts = []
    for row in counts[counts["left_out"]].itertuples():
        texts.append(f"{row.task} (n = {row.n_positive}: {row.reason})")
    return "; ".join(texts) or "none"


def _add_feature_quartiles(counts: pd.DataFrame, features: pd.DataFrame) -> pd.DataFrame:
    """Add `FEATURE_median`, `FEATURE_q1` and `FEATURE_q3` of each feature to the counts of the tasks."""
    quartiles = features.pivot(index="task", columns="metric", values=["median", "q1", "q3"])
    # The columns have two levels, the quantity and the feature: area_ratio_median, area_ratio_q1, ...
    quantities = quartiles.columns.get_level_values(0)
    feature_names = quartiles.columns.get_level_values("metric")
    quartiles.columns = feature_names + "_" + quantities
    return counts.merge(quartiles.reset_index(), on="task", how="left")


def _summary_table(counts: pd.DataFrame, features: pd.DataFrame) -> GT:
    """Make a table of the counts of each task, and of median and quartiles of each feature with values."""
    texts = []
    for row in features.itertuples():
        digits = 3
        if row.metric == "n_instances":
            digits = 1
        texts.append(interval_text(row.median, row.q1, row.q3, digits, "brackets"))
    features_with_values = set(features.loc[features["median"].notna(), "metric"])
    shown_features = [name for name in FEATURES if name in features_with_values]
    text_of_task = features.assign(text=texts).pivot(index="task", columns="metric", values="text")
    # A task without findings has no row in `features`.
    text_of_task = text_of_task.reindex(counts["task"])[shown_features].fillna(MISSING).reset_index()

    columns: dict[str | TableColumn, str] = {"Cases": "n_cases", "Positive": "n_positive"}
    if "n_patients" in counts:
        columns["Patients with it"] = "n_patients"
    for name in shown_features:
        columns[TableColumn(feature_name(name), ("Median [Q1, Q3]",))] = name
    return table_of(counts.merge(text_of_task, on="task"), "saporta2022", {"Task": "task"}, columns)


def _plot_cases_and_patients(counts: pd.DataFrame, left_out: str) -> Figure:
    """Plot how many cases and how many patients have each finding."""
    names = {"n_positive": "Cases with the finding", "n_patients": "Patients with the finding"}
    columns = [column for column in names if column in counts]
    rows = counts.melt("task", columns, "method", "estimate").replace({"method": names})
    # `plot_intervals` draws limits as lines: here from 0 to the number.
    rows = rows.assign(conf_low=0, conf_high=rows["estimate"])
    figure = ss.plot_intervals(rows, labels={"method": [names[column] for column in columns]})
    caption = wrapped(f"Left out of all that follows: {left_out}.", line_chars=74)
    return figure + p9.labs(x="Number", caption=caption)


def feature_statistics(frames: StudyFrames) -> pd.DataFrame:
    """Return count, mean, quartiles and so on of each feature and task's findings, as `describe` has them."""
    rows = frames.positives.melt(["case", "task"], list(FEATURES), "metric", "score").assign(method="truth")
    return ss.describe(rows.astype({"score": "float64"}), by=["metric", "task"])


def feature_distributions(frames: StudyFrames) -> ItemResult:
    """Extended Data 8: letter values of the features."""
    features = [feature for feature in FEATURES if frames.positives[feature].notna().any()]
    values = ss.letter_values(frames.positives, features, by="task")
    # `table_describe` would show how many values are 0 and 1, which matters for scores and not for features.
    edge_counts = dict.fromkeys(["n_zero", "share_zero", "n_one", "share_one"], 0)
    described = feature_statistics(frames).assign(binary=False, **edge_counts)
    names = {feature: feature_name(feature) for feature in FEATURES}
    return ItemResult(
        values,
        ss.table_describe(described, labels={"metric": names}),
        ss.plot_letter_values(values, labels=LABELS),
        note="relative size is of the whole finding; elongation and irrectangularity are of its dominant "
        "instance and the smallest rectangle around it",
    )


def table_2_slopes_on_features(frames: StudyFrames) -> ItemResult:
    """Table 2: slopes of localisation on the features of the findings, scaled per task and over all tasks."""
    inference = frames.inference
    slopes = feature_slopes(frames, inference)
    if inference.published:
        slopes["script_text"] = coefficient_texts_as_published(slopes, n_tests=len(FEATURES))
    return ItemResult(
        slopes,
        _slope_table(slopes),
        _slope_figure_by_feature_scale(slopes),
        note="one model per outcome and feature; a slope is the change from the smallest to the largest "
        "value, in a task (as the study's text has it) or over all tasks (as its scripts have it); "
        f"{effect_of_feature_scale_on_slopes_note(slopes)}; stars after Bonferroni's correction for the 4 "
        "features of an outcome, not for the 16 tests of a block, and intervals are not corrected; "
        f"{standard_error_note(inference)}",
    )


def _slope_figure_by_feature_scale(slopes: pd.DataFrame) -> Figure:
    """Plot the slopes of IoU and hit rate without task effects, a colour for each scale of the features."""
    is_drawn = (slopes["pool"] != TASK_EFFECTS) & slopes["outcome"].isin(("IoU", "Hit rate"))
    rows = slopes[is_drawn]
    rows = rows.assign(method=rows["scale"])
    rows = rows.drop(columns=["outcome", "scale", "pool", "script_text"], errors="ignore")
    return ss.plot_regression(rows, labels={"term": list(FEATURES)})


def _slope_table(slopes: pd.DataFrame) -> GT:
    """Make a table with a block of slopes for each scale of the features, without and with task effects."""
    source_by_scale = {
        SCALED_PER_TASK: "as the study's text has it",
        SCALED_OVER_ALL_TASKS: "as its scripts have it",
    }
    # Headings of the blocks by the value of the column `block`.
    blocks = {}
    for scale, source in source_by_scale.items():
        blocks[scale] = f"{scale} ({source})"
        blocks[f"{scale}, {TASK_EFFECTS}"] = f"{scale}, {TASK_EFFECTS}"
    block = slopes["scale"].where(slopes["pool"] != TASK_EFFECTS, slopes["scale"] + f", {TASK_EFFECTS}")
    omitted_columns = ["scale", "pool", "method", "formula", "errors", "script_text"]
    rows = slopes.drop(columns=omitted_columns, errors="ignore")
    rows.insert(0, "block", block)
    return ss.table_estimates(
        rows,
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


def effect_of_feature_scale_on_slopes_note(slopes: pd.DataFrame) -> str:
    """Write how the scale of features changes the slope of IoU on size, and the signs of slopes."""
    rows = slopes[slopes["pool"] == TASKS_POOLED].set_index(["outcome", "term"])
    per_task = rows[rows["scale"] == SCALED_PER_TASK]
    pooled = rows[rows["scale"] == SCALED_OVER_ALL_TASKS]
    facts = []
    size = ("IoU", "area_ratio")
    if size in per_task.index and size in pooled.index:
        facts.append(
            f"the slope of IoU on {feature_name('area_ratio').lower()} is "
            f"{per_task['estimate'][size]:.3f} scaled per task and "
            f"{pooled['estimate'][size]:.3f} over all tasks"
        )
    signs = _significant_sign_or_nan(per_task)
    pooled_signs = _significant_sign_or_nan(pooled).reindex(signs.index)
    has_opposite_signs = (signs * pooled_signs < 0).to_numpy()
    names = []
    for outcome, term in signs.index[has_opposite_signs]:
        names.append(f"{feature_name(term).lower()} ({outcome})")
    if names:
        facts.append(f"where both intervals exclude 0 the sign turns for {', '.join(names)}")
    else:
        facts.append("no sign turns where both intervals exclude 0")
    return f"which one matters: {', and '.join(facts)}"


def _significant_sign_or_nan(slopes: pd.DataFrame) -> pd.Series:
    """Return the sign of each slope whose interval excludes 0 (-1 or 1), NaN for the others."""
    excludes_zero = slopes["conf_low"] * slopes["conf_high"] > 0
    return np.sign(slopes["conf_low"]).where(excludes_zero)


def localisation_regressed_on_confidence(frames: StudyFrames, metric: str) -> ItemResult:
    """Table 3 (IoU) or Extended Data 9 (hits): slopes of localisation on the model's confidence."""
    inference = frames.inference
    rows = drop_absent_findings(main_method_scores_to_regress_on_confidence(frames, metric))
    estimates = confidence_estimates(frames, metric, inference)
    tasks = [task for task in dict.fromkeys(estimates["task"]) if task not in ("Overall", WITHIN_TASKS)]
    table_rows = estimates.drop(columns=["statistic", "df", "formula", "errors", "bias"], errors="ignore")
    table = ss.table_estimates(
        table_rows,
        rows="task",
        columns="term",
        bold=False,
        stars=True,
        # The note says that stars are not corrected for the number of tasks.
        n_tests=1,
        n=True,
        labels=labels_with(task=[*tasks, "Overall", WITHIN_TASKS]),
    )
    errors = "classical" if inference.published else None
    lines = ss.fit_line(rows, f"{metric} ~ prob", by="task", errors=errors)
    is_correlation = (estimates["term"] == "spearman") & estimates["task"].isin(tasks)
    correlations = estimates[is_correlation].assign(x=metric, y="prob")
    figure = ss.plot_scatter(
        rows,
        "prob",
        metric,
        by="task",
        fit=_rows_or_none_if_all_unestimated(lines),
        correlations=_rows_or_none_if_all_unestimated(correlations),
        labels=LABELS,
    )
    if inference.published:
        estimates = estimates.assign(script_text=coefficient_texts_as_published(estimates))
    note = (
        "Overall pools all tasks, whose confidence and scores differ; Within tasks is the slope "
        "with task effects, and Spearman's correlations within tasks combined as Taylor (1987) does, on "
        f"Fisher's z; {overall_slope_relative_to_tasks_note(estimates)}; stars are not corrected for the "
        f"number of tasks; {standard_error_note(inference, correlations=True)}"
    )
    case_slice = None
    if metric == "iou" and FULL_SLICE in frames.available:
        case_slice = full_slice_text_with_cutoff_source(frames)
        note += end_of_note_on_choice_of_cutoffs(frames, inference)
    elif metric == "iou":
        note += "; on findings that are present, where the study's table uses the full slice"
    return ItemResult(estimates, table, figure, slice=case_slice, note=note)


def _rows_or_none_if_all_unestimated(rows: pd.DataFrame) -> pd.DataFrame | None:
    """Return the rows, or None where all estimates are missing: two cases have no line or correlation."""
    if rows["estimate"].notna().any():
        return rows
    return None


def overall_slope_relative_to_tasks_note(estimates: pd.DataFrame) -> str:
    """Write whether the slope over all rows lies below, within or above those of the tasks."""
    slopes = estimates[estimates["term"] == "slope"].set_index("task")["estimate"]
    task_slopes = slopes.drop(["Overall", WITHIN_TASKS], errors="ignore")
    if "Overall" not in slopes or len(task_slopes) < 2:
        return "there is one task"
    low = task_slopes.min()
    high = task_slopes.max()
    overall = slopes["Overall"]
    position = "within those"
    if overall < low:
        position = "below all"
    elif overall > high:
        position = "above all"
    return f"the overall slope, {overall:.3f}, lies {position} of the tasks, {low:.3f} to {high:.3f}"
