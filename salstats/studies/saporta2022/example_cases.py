"""Example cases: Fig. 1, Fig. 3, and the main saliency method at its worst, median, mean and best."""

from dataclasses import replace

import numpy as np
import pandas as pd

import salstats as ss
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.gallery_layout import gallery_layout
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import PlacedPicture
from salstats.display.plots.layout.theme import COLUMN_MM
from salstats.display.plots.overlay import missing_images_note, overlay_figure
from salstats.display.text.format import number_text
from salstats.display.text.labels import Labels
from salstats.images.masks import decode
from salstats.images.shapes import longest_contour_min_rectangle_row_col
from salstats.readers.background_images import check_images
from salstats.scoring.masking import OTSU, mask_rule
from salstats.scoring.overlay_pictures import PictureOptions, overlay_picture
from salstats.studies.declarations import ItemResult
from salstats.studies.result_tables import table_of
from salstats.studies.saporta2022.file_scoring import study_of_main_series_and_people
from salstats.studies.saporta2022.labels_and_notes import LABELS, feature_name
from salstats.studies.saporta2022.study_frames import (
    FEATURES,
    PEOPLE,
    StudyFrames,
    metric_rows,
    rows_of_main_and_people,
)
from salstats.study import Study

#: Printed names of the ends of a feature's range.
ENDS = {"low": "Smallest", "high": "Largest"}


def figure_1_case_of_median_iou(frames: StudyFrames) -> ItemResult:
    """Fig. 1: the case of median IoU, with the map, people's outline and their scores."""
    frames = frames.all_tasks or frames
    scores = metric_rows(rows_of_main_and_people(frames, frames.scores), "iou", "hit")
    iou = metric_rows(scores, "iou")
    picks = ss.pick_cases(iou, method=frames.main_method, by="metric").query("pick == 'median'")
    case_scores = scores.merge(picks[["case", "task"]], on=["case", "task"])
    wide = case_scores.pivot_table(index="method", columns="metric", values="score", sort=False)
    metrics = [metric for metric in ("iou", "hit") if metric in wide]
    table = table_of(
        wide.reset_index(),
        "saporta2022",
        {"Method": lambda r: LABELS.value("method", r.method)},
        {LABELS.value("metric", metric): (metric, 3) for metric in metrics},
    )
    return ItemResult(
        case_scores,
        table,
        ss.plot_gallery(
            study_of_main_series_and_people(_study(frames)), picks, scores=iou, images=frames.images
        ),
        note="the case nearest to the median IoU of the main saliency method",
    )


def example_cases_by_iou(frames: StudyFrames) -> ItemResult:
    """Show the cases with the worst and best IoU of the main method and those nearest its median and mean."""
    # single cases are shown, so that tasks with few positive cases stay
    frames = frames.all_tasks or frames
    iou = metric_rows(rows_of_main_and_people(frames, frames.scores), "iou")
    picks = ss.pick_cases(iou, method=frames.main_method, by="metric")
    table = table_of(
        picks,
        "saporta2022",
        {"Pick": lambda r: r.pick.capitalize()},
        {"Case": "case", "Task": "task", LABELS.value("metric", "iou"): ("score", 3)},
    )
    figure = ss.plot_gallery(
        study_of_main_series_and_people(_study(frames)),
        picks,
        scores=iou,
        images=frames.images,
        human=PEOPLE in frames.available,
    )
    return ItemResult(
        picks,
        table,
        figure,
        note="the case nearest to the worst, median, mean and best IoU of the main saliency method; ties by "
        "name",
    )


def findings_with_extreme_features(frames: StudyFrames) -> pd.DataFrame:
    """Return the findings whose features are smallest and largest: `feature, end, case, task, value`."""
    extreme_rows = []
    for feature in FEATURES:
        positives = frames.positives.dropna(subset=[feature])
        positives = positives.sort_values([feature, "case", "task"], kind="stable")
        if positives.empty:
            continue
        findings = {"low": positives.iloc[0], "high": positives.iloc[-1]}
        for end, finding in findings.items():
            extreme_rows.append((feature, end, finding["case"], finding["task"], float(finding[feature])))
    return pd.DataFrame(extreme_rows, columns=["feature", "end", "case", "task", "value"])


def figure_3_findings_with_extreme_features(frames: StudyFrames) -> ItemResult:
    """Fig. 3 a-b: the findings with each feature's smallest and largest value, on their images if known."""
    all_frames = frames.all_tasks or frames
    rows = findings_with_extreme_features(all_frames)
    table = table_of(
        rows,
        "saporta2022",
        {"Feature": lambda r: f"{feature_name(r.feature)}, {ENDS[r.end].lower()}"},
        {"Case": "case", "Task": "task", "Value": ("value", 3)},
    )
    note = (
        "the findings whose feature is smallest and largest; elongation and irrectangularity are of the "
        "dominant instance and the smallest rectangle around it, relative size of the whole finding"
    )
    if frames.study is None:
        note += "; without images the figure shows the features of all findings, to these ends"
        return ItemResult(rows, table, _plot_feature_letter_values_over_all_tasks(all_frames), note=note)
    return ItemResult(rows, table, _extreme_features_figure(frames, rows), note=note)


def _plot_feature_letter_values_over_all_tasks(frames: StudyFrames) -> Figure:
    """Plot the letter values of each feature over the findings of all tasks."""
    features = [feature for feature in FEATURES if frames.positives[feature].notna().any()]
    values = ss.letter_values(frames.positives, features, by=())
    return ss.plot_letter_values(values, labels=LABELS)


def _extreme_features_figure(frames: StudyFrames, rows: pd.DataFrame) -> Figure:
    """Draw the rows of `findings_with_extreme_features` on their images, with the measured rectangle."""
    study = _study(frames)
    labels = Labels()
    names = {feature: [feature_name(feature)] for feature in dict.fromkeys(rows["feature"])}
    layout = gallery_layout(names, image_shapes=[None] * len(names), column_titles=ENDS, width=COLUMN_MM)
    rule = mask_rule(study.select(methods=set()), threshold=OTSU)
    options = PictureOptions(rule, check_images(frames.images), shows_human=False, box_mm=layout.box)
    panels = []
    placed = []
    for finding in rows.to_dict("records"):
        panel = _picture_with_smallest_rectangle_outlined(study, finding["case"], finding["task"], options)
        panels.append(panel)
        text = _task_and_feature_text(finding["task"], finding["value"], labels)
        placed.append(PlacedPicture(panel, row=finding["feature"], column=finding["end"], text=text))
    bands = []
    for feature in names:
        bands += layout.bands_of_row(feature)
    return overlay_figure(
        placed,
        layout.sheet([bands]),
        labels=labels,
        notes=[missing_images_note(panels, labels)],
        spacing=None,
        legend_texts={"mask": "Smallest rectangle"},
    )


def _picture_with_smallest_rectangle_outlined(
    study: Study, case_name: str, task: str, options: PictureOptions
) -> Picture:
    """Return the picture of a finding with the smallest rectangle around its dominant instance."""
    case = study.select(cases=[case_name]).cases[0]
    panel = overlay_picture(case, task, method=None, series=(), options=options)
    corners: np.ndarray = longest_contour_min_rectangle_row_col(decode(case.truths[task].read()))
    # The rectangle is drawn like the outline of a mask; the legend of the figure names it.
    return replace(panel, outlines={**panel.outlines, "mask": [corners]})


def _task_and_feature_text(task: str, feature_value: float, labels: Labels) -> str:
    """Write the task and the value of a feature, with three digits since the smallest sizes would be 0.00."""
    number = feature_value
    if feature_value == int(feature_value):
        # Counts of instances are whole numbers.
        number = int(feature_value)
    return f"{labels.value('task', task)} {number_text(number, 3)}"


def _study(frames: StudyFrames) -> Study:
    """Return the study behind the frames."""
    assert frames.study is not None
    return frames.study
