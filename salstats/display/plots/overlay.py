"""Maps drawn over their images, with outlines, marks, scale bars, legends and captions."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.legends import legend_columns, legend_width
from salstats.display.plots.layout.overlay_layers import (
    bar_layers,
    line_layers,
    mark_layers,
    mark_rows,
    outline_rows,
    scale_layer,
    text_layers,
)
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import (
    EDGE_MM,
    GAP_MM,
    HIGHEST,
    Band,
    PictureSheet,
    PlacedPicture,
    lay_out,
)
from salstats.display.plots.layout.pages import PAGE_HEIGHT_MM
from salstats.display.plots.layout.picture_layer import GROUND, geom_picture, tinted
from salstats.display.plots.layout.text_fit import caption, caption_chars, caption_mm
from salstats.display.plots.layout.theme import LINE_MM, figure_size, picture_theme, theme_salstats
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.metrics.registry import threshold_label
from salstats.study import Series

_NAMES = {
    "truth": "Truth",
    "human": "Human benchmark",
    "mask": "Thresholded map",
    "peak": "Peak",
    "marked": "Marked point",
}
#: Grey behind the keys of the legend, on which light outlines are visible.
_KEY_COLOUR = "#5A5A5A"
#: Most absent findings, and most thresholds, that a caption names one by one.
_MAX_FINDINGS = 3
_MAX_THRESHOLDS = 6
#: Height in mm of a row of the legend and of the colour scale, and reserve for the estimated size of texts.
_LEGEND_MM = 4.4
_COLOUR_SCALE_MM = 8.5
_RESERVE_MM = 1.0
#: Width in mm of the strip around the pictures into which marks on their outermost pixels extend.
_MARK_MM = 0.9


class _LegendSize(NamedTuple):
    """Height in mm of the legends of outlines and of marks, and whether they stand side by side."""

    height: float
    is_horizontal: bool


def overlay(
    picture: Picture, labels: Labels, width: float, spacing: float | Mapping[str, float] | None
) -> Figure:
    """Figure of a single picture, `width` in mm."""
    names = [labels.value("case", picture.case), labels.value("task", picture.task)]
    if picture.series:
        names.append(method_label(labels, picture.series))
    note = f": {picture.note}" if picture.note else ""
    sentences = [
        f"{', '.join(names)}{note}.",
        absent_note([picture], labels),
        threshold_note([picture], labels),
        people_note([picture]),
        image_note([picture]),
    ]
    box = overlay_box(width)
    # a single row and column need neither keys nor names
    sheet = PictureSheet(
        width=width,
        box=box,
        column=box[0],
        rows={"": ""},
        columns={"": ""},
        side=0.0,
        stacks=[[Band(row="", columns=("",))]],
    )
    return overlay_figure(
        [PlacedPicture(picture, row="", column="", text="")],
        sheet,
        labels=labels,
        notes=sentences,
        spacing=spacing,
        names=mask_name([picture]),
    )


def overlay_box(width: float) -> tuple[float, float]:
    """Largest width and height of a single picture in a figure, all in mm."""
    picture_width = width - 2 * EDGE_MM
    page_room = PAGE_HEIGHT_MM - around_mm([], width) - 4 * LINE_MM
    return picture_width, min(HIGHEST * picture_width, page_room)


def around_mm(notes: Iterable[str], width: float) -> float:
    """Height in mm of the edges, a legend of everything, the colour scale and a caption."""
    text = caption(notes, caption_chars(width, left_mm=3))
    names = list(_NAMES.values())
    outlines = names[:3]
    marks = names[3:]
    legend = _legend_size(outlines, marks, width - 2 * EDGE_MM)
    return 2 * EDGE_MM + legend.height + _COLOUR_SCALE_MM + caption_mm(text) + _RESERVE_MM


def _legend_size(outlines: Sequence[str], marks: Sequence[str], inner_width: float) -> _LegendSize:
    """Size of the legends with texts for outlines and for marks in a width in mm."""
    texts = [*outlines, *marks]
    n_rows = [math.ceil(len(keys) / legend_columns(keys, inner_width)) for keys in (outlines, marks)]
    if not texts or legend_width(texts, len(texts)) <= inner_width:
        return _LegendSize(_LEGEND_MM * max(n_rows), is_horizontal=True)
    return _LegendSize(_LEGEND_MM * sum(n_rows), is_horizontal=False)


def overlay_figure(
    placed: Sequence[PlacedPicture],
    sheet: PictureSheet,
    *,
    labels: Labels,
    notes: Sequence[str],
    spacing: float | Mapping[str, float] | None,
    names: Mapping[str, str] | None = None,
    page: str = "",
) -> Figure:
    """Figure of the pictures of a sheet.

    `names` replaces names of outlines and marks in the legend, `spacing` is the size of a pixel in mm, and
    `page` the last sentence of the caption.
    """
    tables = lay_out(placed, sheet)
    table = tables.pictures
    inner_width = sheet.width - 2 * EDGE_MM
    is_single = len(placed) == 1
    outlines = outline_rows(table, placed)
    marks = mark_rows(table, placed)
    texts = _legend_texts(labels, names or {})
    outline_texts = _texts_of_kinds(outlines, texts)
    mark_texts = _texts_of_kinds(marks, texts)
    legend = _legend_size(outline_texts, mark_texts, inner_width)
    bars, bar_note = bar_layers(table, spacing, labels)
    note = caption([*notes, bar_note, page], caption_chars(sheet.width, left_mm=3))
    has_maps = any(picture.panel.saliency is not None for picture in placed)
    outside_mm = 2 * EDGE_MM + legend.height
    outside_mm += _COLOUR_SCALE_MM if has_maps else 0
    outside_mm = outside_mm + caption_mm(note) + _RESERVE_MM
    # one list, since each addition copies the whole figure
    elements: list[Any] = [
        geom_picture(
            p9.aes(xmin="left", xmax="right", ymin="bottom", ymax="top", label="picture"),
            pictures={str(number): _tinted(picture.panel) for number, picture in enumerate(placed)},
            show_legend=False,
        )
    ]
    if has_maps:
        elements += scale_layer(table)
    if outlines is not None:
        line_size = 0.5 if is_single else 0.35
        elements += line_layers(outlines, texts, line_size, legend_columns(outline_texts, inner_width))
    if marks is not None:
        elements += mark_layers(marks, texts, 1.8 if is_single else 1.3)
    elements += [
        *bars,
        *text_layers(tables.texts),
        # limits of a scale would drop what a rounding error puts outside, these only cut
        p9.coord_fixed(
            xlim=(-_MARK_MM, inner_width + _MARK_MM), ylim=(-tables.height - _MARK_MM, _MARK_MM), expand=False
        ),
        p9.labs(x="", y="", caption=note),
        theme_salstats(),
        picture_theme(sheet.width, GAP_MM, EDGE_MM - _MARK_MM),
        p9.theme(
            legend_key=p9.element_rect(fill=_KEY_COLOUR, color=_KEY_COLOUR),
            legend_key_width=12,
            legend_key_height=7,
            legend_box="horizontal" if legend.is_horizontal else "vertical",
            legend_box_just="left",
            legend_justification="left",
            legend_spacing=3,
        ),
        figure_size(sheet.width, tables.height + outside_mm),
    ]
    return Figure(table) + elements


def _legend_texts(labels: Labels, names: Mapping[str, str]) -> dict[str, str]:
    """Text of each kind of outline and mark: the user's label, else that of `names`, else the default."""
    unlabelled = Labels()
    texts = {**_NAMES, **names}
    for kind in _NAMES:
        label = labels.column(kind)
        if label != unlabelled.column(kind):
            texts[kind] = label
    return texts


def _texts_of_kinds(rows: pd.DataFrame | None, texts: Mapping[str, str]) -> list[str]:
    """Texts of the kinds of outlines or marks that occur in a frame."""
    return [] if rows is None else [texts[kind] for kind in rows["kind"].cat.categories]


def _tinted(picture: Picture) -> np.ndarray:
    """Image with the map over it; the ground is grey where there is no image."""
    grey = np.full(picture.printed, GROUND) if picture.grey is None else picture.grey
    return tinted(grey, picture.saliency)


def method_label(names: Labels, series: Sequence[Series], omitted_columns: Collection[str] = ()) -> str:
    """Label of a method with model, seed and reader of its series, without the columns in `omitted_columns`.

    Several series of one method have only its label.
    """
    first = series[0]
    label = names.value("method", first.method)
    if len(series) > 1:
        return label
    columns = [column for column in ("model", "seed", "reader") if column not in omitted_columns]
    values = [getattr(first, column) for column in columns]
    return ", ".join([label, *(value for value in values if value is not None)])


def threshold_note(pictures: Sequence[Picture], names: Labels) -> str:
    """Sentence on the thresholds of the maps, "" for stored masks, which have none."""
    thresholded = {(p.task, p.series[0]): p for p in pictures if p.threshold is not None}
    if not thresholded:
        return ""
    texts = {key: _threshold_text(picture) for key, picture in thresholded.items()}
    n_distinct = len(set(texts.values()))
    if n_distinct == 1:
        thresholds = next(iter(texts.values()))
    elif len(texts) > _MAX_THRESHOLDS:
        thresholds = f"{_threshold_range(list(thresholded.values()))}, by task and method"
    else:
        thresholds = _listed_thresholds(texts, names)
    sizes = sorted({int(p.smooth) for p in thresholded.values() if p.smooth})
    of_map = ""
    if sizes:
        of_map = f", of means over {joined([f'{size} x {size}' for size in sizes])} pixels"
    if any(p.colormap for p in thresholded.values()):
        of_map += " of the grey levels of its colours (jet)"
    has_cutoff = any(p.cutoff is not None for p in thresholded.values())
    cutoff = "; masks below the probability cut-off are empty" if has_cutoff else ""
    return f"Threshold: {thresholds}{of_map}{cutoff}."


def _listed_thresholds(texts: Mapping[tuple[str, Series], str], names: Labels) -> str:
    """Threshold of each task and series: "0.3 (Edema, Grad-CAM) and 0.5 (Edema, LRP)"."""
    has_several_series = len({series for _, series in texts}) > 1
    listed = []
    for (task, series), text in texts.items():
        group = names.value("task", task)
        if has_several_series:
            group += f", {method_label(names, [series])}"
        listed.append(f"{text} ({group})")
    return joined(listed)


def _threshold_range(pictures: Sequence[Picture]) -> str:
    """Range of the numeric thresholds, and the named ones: "0.2 to 0.6 or Otsu's level"."""
    numbers = [p.threshold for p in pictures if isinstance(p.threshold, int | float)]
    named = [_threshold_text(p) for p in pictures if isinstance(p.threshold, str)]
    levels = list(dict.fromkeys(named))
    if numbers:
        levels.insert(0, _range_text(f"{min(numbers):g}", f"{max(numbers):g}"))
    return joined(levels, "or")


def _range_text(low: str, high: str) -> str:
    """Text of a range: "2 to 5", or "2" where both ends are equal."""
    return low if low == high else f"{low} to {high}"


def _threshold_text(picture: Picture) -> str:
    """Threshold of a picture's map: a number, or the name of the rule that gives the level."""
    if isinstance(picture.threshold, str):
        return f"{threshold_label(picture.threshold)} level"
    return f"{picture.threshold:g}"


def absent_note(pictures: Sequence[Picture], names: Labels) -> str:
    """Sentence that names the findings that are absent in the truth, "" if there are none."""
    absent = [p for p in pictures if "truth" not in p.lines]
    findings = [f"{names.value('task', p.task)} of {names.value('case', p.case)}" for p in absent]
    findings = list(dict.fromkeys(findings))
    if len(findings) > _MAX_FINDINGS:
        return f"Absent in the truth: {len(findings)} of the findings shown."
    return f"Absent in the truth: {joined(findings)}." if findings else ""


def people_note(pictures: Sequence[Picture]) -> str:
    """Sentence on the number of readers whose outlines pictures have, "" where none has several."""
    numbers = [p.people for p in pictures if "human" in p.lines]
    if max(numbers, default=1) == 1:
        return ""
    return f"Outlines of {_range_text(str(min(numbers)), str(max(numbers)))} readers."


def mask_name(pictures: Sequence[Picture]) -> dict[str, str]:
    """Name of the outlines `mask` in the legend where any of them is not a thresholded map."""
    are_from_maps = all(p.saliency is not None for p in pictures if "mask" in p.lines)
    return {} if are_from_maps else {"mask": "Predicted mask"}


def image_note(pictures: Sequence[Picture]) -> str:
    """Sentence that names the cases without an image, "" if there are none."""
    cases = dict.fromkeys(p.case for p in pictures if p.grey is None)
    if not cases:
        return ""
    if all(p.grey is None for p in pictures):
        return "Grey ground: no image was given."
    return f"Grey ground: no image was given of {joined(list(cases))}."
