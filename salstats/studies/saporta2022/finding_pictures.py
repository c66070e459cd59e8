"""Findings with the geometry that is measured of them: Fig. 3 a and b."""

from dataclasses import replace

import numpy as np
import pandas as pd

from salstats.display.plots.overlay import (
    EDGE_MM,
    GAP_MM,
    STRIP_LINE_MM,
    Placed,
    Sheet,
    image_note,
    overlay_figure,
    ratio,
)
from salstats.display.plots.panel_grid import caption_chars
from salstats.display.plots.panels import caption
from salstats.display.plots.theme import COLUMN_MM
from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import fixed_text
from salstats.display.text.labels import Labels
from salstats.images.masks import decode
from salstats.images.shapes import dominant_rectangle
from salstats.readers.case_images import ImageSource, check_images
from salstats.scoring.masking import OTSU, mask_rule
from salstats.scoring.pictures import Look, picture
from salstats.studies.items import Item
from salstats.studies.saporta2022.frames import FEATURES, Frames
from salstats.studies.saporta2022.words import feature
from salstats.study import Picture, Study

ENDS = {"low": "Smallest", "high": "Largest"}
_SIDE_MM = STRIP_LINE_MM + 1.5


def extremes(frames: Frames) -> pd.DataFrame:
    """Return the findings whose features are smallest and largest: `feature, end, case, task, value`."""
    found = []
    for name in FEATURES:
        known = frames.positives.dropna(subset=[name]).sort_values([name, "case", "task"], kind="stable")
        for end, place in zip(ENDS, (0, -1), strict=True):
            if len(known):
                row = known.iloc[place]
                found.append((name, end, row["case"], row["task"], float(row[name])))
    return pd.DataFrame(found, columns=["feature", "end", "case", "task", "value"])


def figure_3(study: Study, frames: Frames, images: ImageSource | None) -> Item:
    """Return Fig. 3 a-b: the findings at both ends of each feature, in the rectangle that is measured."""
    rows, labels = extremes(frames), Labels()
    width = COLUMN_MM
    room = (width - 2 * EDGE_MM - _SIDE_MM - (len(ENDS) - 1) * GAP_MM) / len(ENDS)
    rule = mask_rule(study.select(methods=set()), threshold=OTSU)
    how = Look(rule, check_images(images), False, 1.25 * room)
    panels = [_with_rectangle(study, r.case, r.task, how) for r in rows.itertuples()]
    placed = [
        Placed(panel, r.feature, r.end, _corner(r.task, r.value, labels))
        for panel, r in zip(panels, rows.itertuples(), strict=True)
    ]
    share = ratio(panels)
    strips = {name: feature(name) for name in dict.fromkeys(rows["feature"])}
    texts = [[r.case, labels.value("task", r.task), fixed_text(r.value, 3)] for r in rows.itertuples()]
    table = Table(
        ("Feature",),
        [(f"{feature(r.feature)}, {ENDS[r.end].lower()}",) for r in rows.itertuples()],
        [Column("Case", align="left"), Column("Task", align="left"), Column("Value")],
        texts,
    )
    return Item(
        "figure_3",
        "Fig. 3a-b: features of the findings",
        rows,
        build(table, "saporta2022"),
        overlay_figure(
            placed,
            Sheet(width, (room, share * room), strips, ENDS, _SIDE_MM),
            labels=labels,
            note=caption([image_note(panels)], caption_chars(width, 3)),
            spacing=None,
            names={"mask": "Smallest rectangle"},
        ),
        slice="findings of the truth",
        note="the findings whose feature is smallest and largest; elongation and irrectangularity are of the "
        "dominant instance and the smallest rectangle around it, relative size of the whole finding",
    )


def _with_rectangle(study: Study, case: str, task: str, how: Look) -> Picture:
    """Return a finding on its image, with the smallest rectangle around its dominant instance."""
    found = study.select(cases=[case]).cases[0]
    panel = picture(found, task, None, (), how)
    corners: np.ndarray = dominant_rectangle(decode(found.truths[task].read()))
    return replace(panel, lines={**panel.lines, "mask": [corners]})


def _corner(task: str, value: float, labels: Labels) -> str:
    """Return the text in a panel's corner."""
    return f"{labels.value('task', task)} {fixed_text(value, 0 if value == round(value) else 2)}"
