"""Pictures of maps as a figure: outlines, marks, scale bars, legends, and what is said of them."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import plotnine as p9

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
from salstats.display.plots.layout.overlay_sheet import EDGE_MM, GAP_MM, HIGHEST, Placed, Sheet, laid_out
from salstats.display.plots.layout.pages import PAGE_HEIGHT_MM
from salstats.display.plots.layout.picture import GROUND, geom_picture, tinted
from salstats.display.plots.layout.text_fit import caption, caption_chars, caption_mm
from salstats.display.plots.layout.theme import LINE_MM, figure_size, picture_look, theme_salstats
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
_KEY = "#5A5A5A"
#: Absent findings that are named one by one.
_FEW = 3
#: Thresholds that are named one by one.
_MOST = 6
#: Room of a row of the legend and of the colour scale, and what the sizes of texts may be off.
_LEGEND_MM, _BAR_MM, _SPARE_MM = 4.4, 8.5, 1.0
#: Part of the figure's edge that belongs to the pictures: a mark on their last pixel reaches into it.
_MARK_MM = 0.9


def overlay(
    shown: Picture, labels: Labels, width: float, spacing: float | Mapping[str, float] | None
) -> p9.ggplot:
    """Figure of a single picture, `width` in mm."""
    names = [labels.value("case", shown.case), labels.value("task", shown.task)]
    if shown.series:
        names.append(method_label(labels, shown.series))
    sentences = [
        f"{', '.join(names)}{f': {shown.note}' if shown.note else ''}.",
        absent_note([shown], labels),
        threshold_note([shown], labels),
        people_note([shown]),
        image_note([shown]),
    ]
    return overlay_figure(
        [Placed(shown, "", "", "")],
        Sheet(width, overlay_box(width), overlay_box(width)[0], {"": ""}, {"": ""}, 0.0, [[("", ("",))]]),
        labels=labels,
        notes=sentences,
        spacing=spacing,
        names=mask_name([shown]),
    )


def overlay_box(width: float) -> tuple[float, float]:
    """Largest (width, height) of a single picture in a figure of a width in mm."""
    room = width - 2 * EDGE_MM
    return room, min(HIGHEST * room, PAGE_HEIGHT_MM - around_mm([], width) - 4 * LINE_MM)


def around_mm(notes: Iterable[str], width: float) -> float:
    """Room that the edges, a legend of all there may be, the colour scale and a caption take."""
    text = caption(notes, caption_chars(width, 3))
    keys = list(_NAMES.values())
    legend = _legend([keys[:3], keys[3:]], width - 2 * EDGE_MM)[0]
    return 2 * EDGE_MM + legend + _BAR_MM + caption_mm(text) + _SPARE_MM


def _legend(keys: Sequence[Sequence[str]], room: float) -> tuple[float, bool]:
    """Height of the legends of outlines and of marks, and whether they stand beside each other."""
    together = [key for found in keys for key in found]
    beside = not together or legend_width(together, len(together)) <= room
    n_rows = [math.ceil(len(found) / legend_columns(found, room)) for found in keys]
    return _LEGEND_MM * (max(n_rows) if beside else sum(n_rows)), beside


def overlay_figure(
    placed: Sequence[Placed],
    sheet: Sheet,
    *,
    labels: Labels,
    notes: Sequence[str],
    spacing: float | Mapping[str, float] | None,
    names: Mapping[str, str] | None = None,
    page: str = "",
) -> p9.ggplot:
    """Figure of some pictures."""
    laid = laid_out(placed, sheet)
    table, small, room = laid.pictures, len(placed) > 1, sheet.width - 2 * EDGE_MM
    lines, marks = outline_rows(table, placed), mark_rows(table, placed)
    texts = {kind: labels.column(kind) for kind in _NAMES}
    texts = {k: t if t != Labels().column(k) else {**_NAMES, **(names or {})}[k] for k, t in texts.items()}
    mapped = any(p.panel.saliency is not None for p in placed)
    bars, bar_note = bar_layers(table, spacing, labels)
    note = caption([*notes, bar_note, page], caption_chars(sheet.width, 3))
    keys = [[] if f is None else [texts[k] for k in f["kind"].cat.categories] for f in (lines, marks)]
    legend, beside = _legend(keys, room)
    around = 2 * EDGE_MM + legend + (_BAR_MM if mapped else 0) + caption_mm(note) + _SPARE_MM
    # added at once: each addition copies what is there
    parts = [
        geom_picture(
            p9.aes(xmin="left", xmax="right", ymin="bottom", ymax="top", label="picture"),
            pictures={str(i): _tinted(p.panel) for i, p in enumerate(placed)},
            show_legend=False,
        ),
        *(scale_layer(table) if mapped else []),
        *(
            line_layers(lines, texts, 0.35 if small else 0.5, legend_columns(keys[0], room))
            if lines is not None
            else []
        ),
        *(mark_layers(marks, texts, 1.3 if small else 1.8) if marks is not None else []),
        *bars,
        *text_layers(laid.texts),
        # limits of the coordinates only cut, those of a scale drop what a rounding error puts outside
        p9.coord_fixed(
            xlim=(-_MARK_MM, room + _MARK_MM), ylim=(-laid.height - _MARK_MM, _MARK_MM), expand=False
        ),
        p9.labs(x="", y="", caption=note),
        theme_salstats(),
        picture_look(sheet.width, GAP_MM, EDGE_MM - _MARK_MM),
        p9.theme(
            legend_key=p9.element_rect(fill=_KEY, color=_KEY),
            legend_key_width=12,
            legend_key_height=7,
            legend_box="horizontal" if beside else "vertical",
            legend_box_just="left",
            legend_justification="left",
            legend_spacing=3,
        ),
        figure_size(sheet.width, laid.height + around),
    ]
    return p9.ggplot(table) + parts


def _tinted(shown: Picture) -> np.ndarray:
    """Image with the map over it; the ground is grey where there is no image."""
    return tinted(np.full(shown.printed, GROUND) if shown.grey is None else shown.grey, shown.saliency)


def method_label(names: Labels, series: Sequence[Series], apart_from: Collection[str] = ()) -> str:
    """What a method is called, with what tells its series from others, apart from what these share."""
    one = series[0]
    parts = [getattr(one, part) for part in ("model", "seed", "reader") if part not in apart_from]
    rest = [] if len(series) > 1 else [part for part in parts if part is not None]
    return ", ".join([names.value("method", one.method), *rest])


def threshold_note(pictures: Sequence[Picture], names: Labels) -> str:
    """Sentence that says where the maps were cut; stored masks have no threshold."""
    cut = {(p.task, p.series[0]): p for p in pictures if p.threshold is not None}
    if not cut:
        return ""
    texts = {key: _threshold_text(p) for key, p in cut.items()}
    above = next(iter(texts.values()))
    if len(set(texts.values())) > 1 and len(texts) > _MOST:
        numbers = [p.threshold for p in cut.values() if isinstance(p.threshold, int | float)]
        named = [text for key, text in texts.items() if isinstance(cut[key].threshold, str)]
        levels = list(dict.fromkeys(named))
        if numbers:
            ends = dict.fromkeys((f"{min(numbers):g}", f"{max(numbers):g}"))
            levels.insert(0, " to ".join(ends))
        above = f"{joined(levels, 'or')}, by task and method"
    elif len(set(texts.values())) > 1:
        several = len({series for _, series in cut}) > 1
        whose = {s: f", {method_label(names, [s])}" if several else "" for _, s in cut}
        above = joined([f"{text} ({names.value('task', t)}{whose[s]})" for (t, s), text in texts.items()])
    sizes = sorted({int(p.smooth) for p in cut.values() if p.smooth})
    smoothed = f", of means over {joined([f'{k} x {k}' for k in sizes])} pixels" if sizes else ""
    if any(p.colormap for p in cut.values()):
        smoothed += " of the grey levels of its colours (jet)"
    emptied = any(p.cutoff is not None for p in cut.values())
    below = "; masks below the probability cut-off are empty" if emptied else ""
    return f"Threshold: {above}{smoothed}{below}."


def _threshold_text(picture: Picture) -> str:
    """Threshold of a picture's map in a caption: a number, or whose level it is."""
    if isinstance(picture.threshold, str):
        return f"{threshold_label(picture.threshold)} level"
    return f"{picture.threshold:g}"


def absent_note(pictures: Sequence[Picture], names: Labels) -> str:
    """Sentence that says which findings the truth does not have."""
    absent = [p for p in pictures if "truth" not in p.lines]
    shown = dict.fromkeys(f"{names.value('task', p.task)} of {names.value('case', p.case)}" for p in absent)
    if len(shown) > _FEW:
        return f"Absent in the truth: {len(shown)} of the findings shown."
    return f"Absent in the truth: {joined(list(shown))}." if shown else ""


def people_note(pictures: Sequence[Picture]) -> str:
    """Sentence that says how many people's outlines a picture has, where it is more than one's."""
    numbers = [p.people for p in pictures if "human" in p.lines]
    if max(numbers, default=1) == 1:
        return ""
    ends = dict.fromkeys(map(str, (min(numbers), max(numbers))))
    return f"Outlines of {' to '.join(ends)} readers."


def mask_name(pictures: Sequence[Picture]) -> dict[str, str]:
    """What the outline of a method is called where it is not that of a map above a threshold."""
    from_maps = all(p.saliency is not None for p in pictures if "mask" in p.lines)
    return {} if from_maps else {"mask": "Predicted mask"}


def image_note(pictures: Sequence[Picture]) -> str:
    """Sentence that says which cases have no image."""
    without = dict.fromkeys(p.case for p in pictures if p.grey is None)
    if not without:
        return ""
    if all(p.grey is None for p in pictures):
        return "Grey ground: no image was given."
    return f"Grey ground: no image was given of {joined(list(without))}."
