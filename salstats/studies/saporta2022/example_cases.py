"""Cases to look at: Fig. 1, Fig. 3, and the main saliency method at its worst, median, mean and best."""

from dataclasses import replace

import numpy as np
import pandas as pd
import plotnine as p9

import salstats as ss
from salstats.display.plots.layout.gallery_layout import gallery_layout
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import Placed
from salstats.display.plots.layout.theme import COLUMN_MM
from salstats.display.plots.overlay import image_note, overlay_figure
from salstats.display.text.format import number_text
from salstats.display.text.labels import Labels
from salstats.images.masks import decode
from salstats.images.shapes import dominant_rectangle
from salstats.readers.case_images import check_images
from salstats.scoring.masking import OTSU, mask_rule
from salstats.scoring.overlay_pictures import PictureOptions, overlay_picture
from salstats.studies.engine import Result, table_of
from salstats.studies.saporta2022.file_scoring import main_alone
from salstats.studies.saporta2022.labels_and_notes import LABELS, feature
from salstats.studies.saporta2022.study_frames import FEATURES, PEOPLE, StudyFrames, main_rows, metric_rows
from salstats.study import Study

ENDS = {"low": "Smallest", "high": "Largest"}


def figure_1(frames: StudyFrames) -> Result:
    """Fig. 1: the case of median IoU, with the map, people's outline and their scores."""
    frames = frames.everything or frames
    rows = metric_rows(main_rows(frames, frames.scores), "iou", "hit")
    picks = ss.pick_cases(metric_rows(rows, "iou"), method=frames.main, by="metric").query("pick == 'median'")
    shown = rows.merge(picks[["case", "task"]], on=["case", "task"])
    wide = shown.pivot_table(index="method", columns="metric", values="score", sort=False)
    metrics = [m for m in ("iou", "hit") if m in wide]
    return Result(
        shown,
        table_of(
            wide.reset_index(),
            "saporta2022",
            {"Method": lambda r: LABELS.value("method", r.method)},
            {LABELS.value("metric", m): (m, 3) for m in metrics},
        ),
        ss.plot_gallery(
            main_alone(_study(frames)), picks, scores=metric_rows(rows, "iou"), images=frames.images
        ),
        note="the case nearest to the median IoU of the main saliency method",
    )


def examples(frames: StudyFrames) -> Result:
    """The cases whose IoU is the worst, nearest the median and the mean, and the best, drawn."""
    frames = frames.everything or frames
    rows = metric_rows(main_rows(frames, frames.scores), "iou")
    picks = ss.pick_cases(rows, method=frames.main, by="metric")
    return Result(
        picks,
        table_of(
            picks,
            "saporta2022",
            {"Pick": lambda r: r.pick.capitalize()},
            {"Case": "case", "Task": "task", LABELS.value("metric", "iou"): ("score", 3)},
        ),
        ss.plot_gallery(
            main_alone(_study(frames)),
            picks,
            scores=rows,
            images=frames.images,
            human=PEOPLE in frames.available,
        ),
        note="the case nearest to the worst, median, mean and best IoU of the main saliency method; ties by "
        "name",
    )


def extremes(frames: StudyFrames) -> pd.DataFrame:
    """The findings whose features are smallest and largest: `feature, end, case, task, value`."""
    found = []
    for name in FEATURES:
        known = frames.positives.dropna(subset=[name]).sort_values([name, "case", "task"], kind="stable")
        for end, place in zip(ENDS, (0, -1), strict=True):
            if len(known):
                row = known.iloc[place]
                found.append((name, end, row["case"], row["task"], float(row[name])))
    return pd.DataFrame(found, columns=["feature", "end", "case", "task", "value"])


def figure_3(frames: StudyFrames) -> Result:
    """Fig. 3 a-b: the findings at both ends of each feature; of files in the rectangle that is measured."""
    whole = frames.everything or frames
    rows = extremes(whole)
    table = table_of(
        rows,
        "saporta2022",
        {"Feature": lambda r: f"{feature(r.feature)}, {ENDS[r.end].lower()}"},
        {"Case": "case", "Task": "task", "Value": ("value", 3)},
    )
    note = (
        "the findings whose feature is smallest and largest; elongation and irrectangularity are of the "
        "dominant instance and the smallest rectangle around it, relative size of the whole finding"
    )
    if frames.study is None:
        note += "; without images the figure shows the features of all findings, to these ends"
        return Result(rows, table, _all_findings(whole), note=note)
    return Result(rows, table, _extremes_drawn(frames, rows), note=note)


def _all_findings(frames: StudyFrames) -> p9.ggplot:
    """Draw the letter values of each feature over the findings of all tasks."""
    used = [name for name in FEATURES if frames.positives[name].notna().any()]
    values = ss.letter_values(frames.positives, used, by=())
    return ss.plot_letter_values(values, labels=LABELS)


def _extremes_drawn(frames: StudyFrames, rows: pd.DataFrame) -> p9.ggplot:
    """Draw the findings of `extremes` on their images, with the rectangle that is measured."""
    study, labels = _study(frames), Labels()
    names = {name: [feature(name)] for name in dict.fromkeys(rows["feature"])}
    layout = gallery_layout(names, [None] * len(names), ENDS, COLUMN_MM)
    rule = mask_rule(study.select(methods=set()), threshold=OTSU)
    how = PictureOptions(rule, check_images(frames.images), False, layout.box)
    panels = [_with_rectangle(study, r.case, r.task, how) for r in rows.itertuples()]
    placed = [
        Placed(panel, r.feature, r.end, _corner(r.task, r.value, labels))
        for panel, r in zip(panels, rows.itertuples(), strict=True)
    ]
    return overlay_figure(
        placed,
        layout.sheet([[band for name in names for band in layout.bands(name)]]),
        labels=labels,
        notes=[image_note(panels)],
        spacing=None,
        names={"mask": "Smallest rectangle"},
    )


def _with_rectangle(study: Study, case: str, task: str, how: PictureOptions) -> Picture:
    """A finding on its image, with the smallest rectangle around its dominant instance."""
    found = study.select(cases=[case]).cases[0]
    panel = overlay_picture(found, task, None, (), how)
    corners: np.ndarray = dominant_rectangle(decode(found.truths[task].read()))
    return replace(panel, lines={**panel.lines, "mask": [corners]})


def _corner(task: str, value: float, labels: Labels) -> str:
    """The text in a panel's corner."""
    # the smallest of relative sizes is no 0.00
    return f"{labels.value('task', task)} {number_text(int(value) if value == int(value) else value, 3)}"


def _study(frames: StudyFrames) -> Study:
    """The study behind the frames."""
    assert frames.study is not None
    return frames.study
