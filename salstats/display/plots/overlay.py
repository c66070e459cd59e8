"""Maps drawn over their images, with outlines, marks, scale bars, legends and captions."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.legends import legend_width_mm, n_legend_columns
from salstats.display.plots.layout.overlay_layers import (
    map_colour_bar_layers,
    mark_layers,
    mark_rows,
    mm_or_px_bar_layers_and_note,
    outline_layers,
    outline_rows,
    sheet_text_layers,
)
from salstats.display.plots.layout.overlay_picture import Picture, picture_without_map_and_outlines
from salstats.display.plots.layout.overlay_sheet import (
    EDGE_MM,
    GAP_MM,
    MAX_HEIGHT_FACTOR,
    Band,
    PictureSheet,
    PlacedPicture,
    picture_and_text_tables_and_height,
)
from salstats.display.plots.layout.picture_layer import DEFAULT_STYLE, GROUND, MapStyle, geom_picture
from salstats.display.plots.layout.text_fit import caption, caption_chars, caption_height_mm
from salstats.display.plots.layout.theme import (
    LINE_MM,
    PAGE_HEIGHT_MM,
    figure_size,
    picture_theme,
    theme_salstats,
)
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.metrics.registry import threshold_label
from salstats.study import Series

#: Default texts in the legend, by kind of outline and of mark.
_OUTLINE_NAMES = {"truth": "Truth", "human": "Human benchmark", "mask": "Thresholded map"}
_MARK_NAMES = {"peak": "Peak", "marked": "Marked point"}
#: Grey behind the keys of the legend, on which light outlines are visible.
_KEY_COLOUR = "#5A5A5A"
#: Most absent findings, and most thresholds, that a caption names one by one.
_MAX_FINDINGS = 3
_MAX_THRESHOLDS = 6
#: Height in mm of a row of the legend and of the colour scale, and reserve for the estimated size of texts.
_LEGEND_ROW_MM = 4.4
_COLOUR_SCALE_MM = 8.5
_RESERVE_MM = 1.0
#: Width in mm of the strip around the pictures into which marks on their outermost pixels extend.
_MARK_MARGIN_MM = 0.9


@dataclass(frozen=True)
class _OverlayStyle:
    """Width of outlines and size of marks, as plotnine has them."""

    line_size: float
    mark_size: float


#: Styles of a figure of a single picture, and of several.
_SINGLE_STYLE = _OverlayStyle(line_size=0.5, mark_size=1.8)
_SMALL_STYLE = _OverlayStyle(line_size=0.35, mark_size=1.3)


class _LegendHeightAndDirection(NamedTuple):
    """Height in mm of the legends of outlines and of marks, and whether they stand side by side."""

    height: float
    is_horizontal: bool


def figure_of_single_picture(
    picture: Picture,
    labels: Labels,
    width: float,
    pixel_width_mm: float | Mapping[str, float] | None,
    style: MapStyle,
    *,
    beside_image: bool,
) -> Figure:
    """Return the figure of a single picture, beside the image alone if `beside_image`.

    `width` is that of the figure in mm, `pixel_width_mm` the width of a pixel, one for all
    cases or by case.
    """
    names = [labels.value("case", picture.case), labels.value("task", picture.task)]
    if picture.series:
        names.append(method_label(labels, picture.series))
    title = ", ".join(names)
    if picture.note:
        title += f": {picture.note}"
    sentences = [
        f"{title}.",
        findings_absent_in_truth_note([picture], labels),
        threshold_note([picture], labels),
        number_of_readers_note([picture]),
        missing_images_note([picture], labels),
    ]
    # the caption names the only map
    columns = {"map": ""}
    placed = [PlacedPicture(picture, row="", column="map", text="")]
    if beside_image:
        columns = {"image": "", **columns}
        placed.insert(
            0, PlacedPicture(picture_without_map_and_outlines(picture), row="", column="image", text="")
        )
    box = picture_box_mm(width, len(columns))
    sheet = PictureSheet(
        width=width,
        box=box,
        column_mm=box[0],
        rows={"": ""},
        columns=columns,
        names_mm=0.0,
        stacks=[[Band(row="", columns=tuple(columns))]],
    )
    return overlay_figure(
        placed,
        sheet,
        map_style=style,
        labels=labels,
        notes=sentences,
        spacing=pixel_width_mm,
        legend_texts=predicted_mask_legend_text_by_kind([picture]),
    )


def picture_box_mm(width: float, n_pictures: int = 1) -> tuple[float, float]:
    """Return the largest width and height of each of some pictures side by side in a figure, all in mm."""
    picture_width = (width - 2 * EDGE_MM - (n_pictures - 1) * GAP_MM) / n_pictures
    # the caption has about four lines
    page_room = PAGE_HEIGHT_MM - height_outside_pictures_mm([], width) - 4 * LINE_MM
    return picture_width, min(MAX_HEIGHT_FACTOR * picture_width, page_room)


def height_outside_pictures_mm(notes: Iterable[str], width: float) -> float:
    """Return the height in mm of everything outside the pictures: edges, full legend, colours, caption.

    `notes` are the sentences of the caption, `width` is that of the figure in mm.
    """
    text = caption(notes, caption_chars(width, left_mm=3))
    outlines = list(_OUTLINE_NAMES.values())
    marks = list(_MARK_NAMES.values())
    legend = _legend_height_and_direction(outlines, marks, width - 2 * EDGE_MM)
    return 2 * EDGE_MM + legend.height + _COLOUR_SCALE_MM + caption_height_mm(text) + _RESERVE_MM


def _legend_height_and_direction(
    outlines: Sequence[str], marks: Sequence[str], inner_width: float
) -> _LegendHeightAndDirection:
    """Return height and direction of the legends with texts for outlines and for marks in a width in mm."""
    texts = [*outlines, *marks]
    n_outline_rows = math.ceil(len(outlines) / n_legend_columns(outlines, inner_width))
    n_mark_rows = math.ceil(len(marks) / n_legend_columns(marks, inner_width))
    if not texts or legend_width_mm(texts, len(texts)) <= inner_width:
        return _LegendHeightAndDirection(
            _LEGEND_ROW_MM * max(n_outline_rows, n_mark_rows), is_horizontal=True
        )
    return _LegendHeightAndDirection(_LEGEND_ROW_MM * (n_outline_rows + n_mark_rows), is_horizontal=False)


def overlay_figure(
    placed: Sequence[PlacedPicture],
    sheet: PictureSheet,
    *,
    labels: Labels,
    notes: Sequence[str],
    spacing: float | Mapping[str, float] | None,
    legend_texts: Mapping[str, str] | None = None,
    page_note: str = "",
    map_style: MapStyle = DEFAULT_STYLE,
) -> Figure:
    """Return the figure of the pictures of a sheet.

    Parameters
    ----------
    placed : sequence of PlacedPicture
        The pictures, with their rows and columns.
    sheet : PictureSheet
        Layout of the pictures.
    labels : Labels
        Labels of cases, and of kinds of outlines and marks.
    notes : sequence of str
        Sentences of the caption.
    spacing : float or mapping, optional
        Size of a pixel in mm, or that of each case.
    legend_texts : mapping, optional
        Texts in the legend that replace the default ones, by kind of outline or mark.
    page_note : str
        Last sentence of the caption.
    map_style : MapStyle
        Colours of the maps.
    """
    tables = picture_and_text_tables_and_height(placed, sheet)
    table = tables.pictures
    inner_width = sheet.width - 2 * EDGE_MM
    style = _SINGLE_STYLE if len(placed) == 1 else _SMALL_STYLE
    outlines = outline_rows(table, placed)
    marks = mark_rows(table, placed)
    texts = _legend_text_of_kinds(labels, legend_texts or {})
    outline_texts = _texts_of_kinds(outlines, texts)
    mark_texts = _texts_of_kinds(marks, texts)
    legend = _legend_height_and_direction(outline_texts, mark_texts, inner_width)
    bars, bar_note = mm_or_px_bar_layers_and_note(table, spacing, labels)
    note = caption([*notes, bar_note, page_note], caption_chars(sheet.width, left_mm=3))
    has_colours = map_style.alpha > 0 and any(picture.content.saliency is not None for picture in placed)
    outside_mm = 2 * EDGE_MM + legend.height + caption_height_mm(note) + _RESERVE_MM
    if has_colours:
        outside_mm += _COLOUR_SCALE_MM
    # one list, since each addition copies the whole figure
    elements: list[Any] = [
        geom_picture(
            p9.aes(xmin="left", xmax="right", ymin="bottom", ymax="top", label="picture"),
            pictures={
                str(number): _tinted_image(picture.content, map_style)
                for number, picture in enumerate(placed)
            },
            show_legend=False,
        )
    ]
    if has_colours:
        elements += map_colour_bar_layers(table, map_style)
    if outlines is not None:
        n_columns = n_legend_columns(outline_texts, inner_width)
        elements += outline_layers(outlines, texts, style.line_size, n_columns)
    if marks is not None:
        elements += mark_layers(marks, texts, style.mark_size)
    elements += [
        *bars,
        *sheet_text_layers(tables.texts),
        # limits of a scale would drop what a rounding error puts outside, these only cut
        p9.coord_fixed(
            xlim=(-_MARK_MARGIN_MM, inner_width + _MARK_MARGIN_MM),
            ylim=(-tables.height - _MARK_MARGIN_MM, _MARK_MARGIN_MM),
            expand=False,
        ),
        p9.labs(x="", y="", caption=note),
        theme_salstats(),
        picture_theme(sheet.width, GAP_MM, EDGE_MM - _MARK_MARGIN_MM),
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


def _legend_text_of_kinds(labels: Labels, replacements: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each kind of outline and mark: the user's label, else its replacement or default."""
    default_texts = {**_OUTLINE_NAMES, **_MARK_NAMES}
    texts = {**default_texts, **replacements}
    for kind in default_texts:
        user_label = labels.user_column_label(kind)
        if user_label is not None:
            texts[kind] = user_label
    return texts


def _texts_of_kinds(rows: pd.DataFrame | None, texts: Mapping[str, str]) -> list[str]:
    """Return the texts of the kinds of outlines or marks that occur in a frame, [] without a frame."""
    if rows is None:
        return []
    return [texts[kind] for kind in rows["kind"].cat.categories]


def _tinted_image(picture: Picture, style: MapStyle) -> np.ndarray:
    """Return the image with the map over it; without an image the ground is grey."""
    grey = picture.grey
    if grey is None:
        grey = np.full(picture.printed_shape, GROUND)
    if picture.saliency is None:
        return style.tinted_image(grey, None)
    return style.tinted_image(grey, style.scaled_to_limits(picture.saliency))


def method_label(labels: Labels, series: Sequence[Series], omitted_columns: Collection[str] = ()) -> str:
    """Return the label of a method with model, seed and reader of its series: "Grad-CAM, ResNet".

    The columns in `omitted_columns` are not named. Several series of one method have only its label.
    """
    first = series[0]
    texts = [labels.value("method", first.method)]
    if len(series) == 1:
        values = {"model": first.model, "seed": first.seed, "reader": first.reader}
        for column, value in values.items():
            if column not in omitted_columns and value is not None:
                texts.append(labels.value(column, value))
    return ", ".join(texts)


def threshold_note(pictures: Sequence[Picture], labels: Labels) -> str:
    """Return a sentence on the thresholds of the maps, their smoothing, colours and cut-off.

    It is "" where all masks are stored ones, which have no threshold.
    """
    # one picture for each threshold: the maps of a series share that of their task
    thresholded = {}
    for picture in pictures:
        if picture.threshold is not None:
            thresholded[picture.task, picture.series[0]] = picture
    if not thresholded:
        return ""
    masks = list(thresholded.values())
    texts = {key: _threshold_text(picture) for key, picture in thresholded.items()}
    distinct_texts = list(dict.fromkeys(texts.values()))
    if len(distinct_texts) == 1:
        note = f"Threshold: {distinct_texts[0]}"
    elif len(texts) > _MAX_THRESHOLDS:
        note = f"Threshold: {_threshold_range_text(masks)}, by task and method"
    else:
        note = f"Threshold: {_text_with_threshold_per_task_and_series(texts, labels)}"
    # sides in pixels of the squares over which maps were averaged
    sizes = sorted({int(mask.smooth) for mask in masks if mask.smooth})
    if sizes:
        note += f", of means over {joined([f'{size} x {size}' for size in sizes])} pixels"
    if any(mask.colormap for mask in masks):
        note += " of the grey levels of its colours (jet)"
    if sizes and not all(mask.smooth for mask in masks):
        note += " for some of the maps"
    if any(mask.cutoff is not None for mask in masks):
        note += "; masks below the probability cut-off are empty"
    return f"{note}."


def _text_with_threshold_per_task_and_series(
    text_of_task_and_series: Mapping[tuple[str, Series], str], labels: Labels
) -> str:
    """Return the threshold of each task and series: "0.3 (Edema, Grad-CAM) and 0.5 (Edema, LRP)"."""
    has_several_series = len({series for _, series in text_of_task_and_series}) > 1
    threshold_texts = []
    for (task, series), text in text_of_task_and_series.items():
        group = labels.value("task", task)
        if has_several_series:
            group += f", {method_label(labels, [series])}"
        threshold_texts.append(f"{text} ({group})")
    return joined(threshold_texts)


def _threshold_range_text(pictures: Sequence[Picture]) -> str:
    """Return the range of the numeric thresholds, and the named ones: "0.2 to 0.6 or Otsu's level"."""
    numbers = []
    rules = []
    for picture in pictures:
        if isinstance(picture.threshold, str):
            rules.append(_threshold_text(picture))
        elif picture.threshold is not None:
            numbers.append(picture.threshold)
    texts = list(dict.fromkeys(rules))
    if numbers:
        texts.insert(0, _range_text(f"{min(numbers):g}", f"{max(numbers):g}"))
    return joined(texts, "or")


def _range_text(low: str, high: str) -> str:
    """Return the text of a range: "2 to 5", or "2" where both ends are equal."""
    if low == high:
        return low
    return f"{low} to {high}"


def _threshold_text(picture: Picture) -> str:
    """Return the threshold of a picture's map: a number, or the name of the rule that gives the level."""
    if isinstance(picture.threshold, str):
        return f"{threshold_label(picture.threshold)} level"
    return f"{picture.threshold:g}"


def findings_absent_in_truth_note(pictures: Sequence[Picture], labels: Labels) -> str:
    """Return a sentence that names the findings that are absent in the truth, "" if there are none."""
    findings: list[str] = []
    for picture in pictures:
        finding = f"{labels.value('task', picture.task)} of {labels.value('case', picture.case)}"
        if "truth" not in picture.outlines and finding not in findings:
            findings.append(finding)
    if not findings:
        return ""
    if len(findings) > _MAX_FINDINGS:
        return f"Absent in the truth: {len(findings)} of the findings shown."
    return f"Absent in the truth: {joined(findings)}."


def number_of_readers_note(pictures: Sequence[Picture]) -> str:
    """Return a sentence on the number of readers outlined in each picture, "" unless any has several."""
    n_readers = [picture.n_readers for picture in pictures if "human" in picture.outlines]
    if max(n_readers, default=1) == 1:
        return ""
    return f"Outlines of {_range_text(str(min(n_readers)), str(max(n_readers)))} readers."


def predicted_mask_legend_text_by_kind(pictures: Sequence[Picture]) -> dict[str, str]:
    """Return the legend's text of stored masks by the outline kind "mask", {} where no mask is stored."""
    has_stored_mask = any("mask" in picture.outlines and picture.saliency is None for picture in pictures)
    if not has_stored_mask:
        return {}
    return {"mask": "Predicted mask"}


def missing_images_note(pictures: Sequence[Picture], labels: Labels) -> str:
    """Return a sentence that names the cases without an image, "" if there are none."""
    without_image = [picture for picture in pictures if picture.grey is None]
    cases = list(dict.fromkeys(labels.value("case", picture.case) for picture in without_image))
    if not cases:
        return ""
    if len(without_image) == len(pictures):
        return "Grey ground: no image was given."
    return f"Grey ground: no image was given for {joined(cases)}."
