"""Pictures of maps as a figure: outlines, marks, scale bars, legends, and what is said of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.legends import legend_columns, legend_width
from salstats.display.plots.overlay_layers import (
    Placed,
    bar_layers,
    line_layers,
    mark_layers,
    mark_rows,
    outline_rows,
    scale_layer,
    text_layers,
)
from salstats.display.plots.overlay_picture import Picture
from salstats.display.plots.picture import GROUND, geom_picture, tinted
from salstats.display.plots.text_fit import caption, caption_chars, caption_mm
from salstats.display.plots.theme import MM_PER_PT, TEXT_PT, figure_size, picture_look, theme_salstats
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.study import Series

_NAMES = {
    "truth": "Truth",
    "human": "Human benchmark",
    "mask": "Thresholded map",
    "peak": "Peak",
    "marked": "Marked point",
}
_KEY = "#5A5A5A"
#: Height over width of a panel, between which it follows its images.
_LOWEST, _HIGHEST = 0.5, 1.6
#: Absent findings that are named one by one.
_FEW = 3
#: Room of an edge of the figure, between panels, of a row of the legend and of the colour scale.
EDGE_MM, GAP_MM, _LEGEND_MM, _BAR_MM = 1.5, 1.5, 4.4, 8.5
STRIP_LINE_MM = 1.25 * TEXT_PT * MM_PER_PT


@dataclass(frozen=True)
class Sheet:
    """Width of a figure and box (width, height) of a panel in mm, and what stands beside and above panels.

    `rows` and `columns` have the strip of each by its key; strips are drawn where there are several. `top` is
    the room of the strips above.
    """

    width: float
    box: tuple[float, float]
    rows: Mapping[str, str]
    columns: Mapping[str, str]
    top: float = 0.0


def overlay(
    shown: Picture, labels: Labels, width: float, spacing: float | Mapping[str, float] | None
) -> p9.ggplot:
    """Figure of a single picture, `width` in mm."""
    names = [labels.value("case", shown.case), labels.value("task", shown.task)]
    if shown.series:
        names.append(method_label(labels, shown.series))
    note = caption(
        [
            f"{', '.join(names)}{f': {shown.note}' if shown.note else ''}.",
            absent_note([shown], labels),
            threshold_note([shown], labels),
            image_note([shown]),
        ],
        caption_chars(width, 3),
    )
    room = width - 2 * EDGE_MM
    return overlay_figure(
        [Placed(shown, "", "", "")],
        Sheet(width, (room, ratio([shown]) * room), {"": ""}, {"": ""}),
        labels=labels,
        note=note,
        spacing=spacing,
        names=mask_name([shown]),
    )


def overlay_figure(
    placed: Sequence[Placed],
    sheet: Sheet,
    *,
    labels: Labels,
    note: str,
    spacing: float | Mapping[str, float] | None,
    names: Mapping[str, str] | None = None,
) -> p9.ggplot:
    """Figure of some panels; `names` are the legend's texts that differ from the house's."""
    rows, columns = list(sheet.rows), list(sheet.columns)
    table = _table(placed, sheet)
    lines, marks = outline_rows(table, placed), mark_rows(table, placed)
    texts = {kind: labels.column(kind) for kind in _NAMES}
    texts = {k: t if t != Labels().column(k) else {**_NAMES, **(names or {})}[k] for k, t in texts.items()}
    mapped = any(p.panel.saliency is not None for p in placed)
    keys = [[] if f is None else [texts[k] for k in f["kind"].cat.categories] for f in (lines, marks)]
    n_keys = [legend_columns(found, sheet.width - 2 * EDGE_MM) for found in keys]
    box_w, box_h = sheet.box
    together = [key for found in keys for key in found]
    beside = legend_width(together, len(together)) <= box_w * len(columns)
    lines_of_keys = [-(-len(found) // n) for found, n in zip(keys, n_keys, strict=True)]
    legend = _LEGEND_MM * (max(lines_of_keys) if beside else sum(lines_of_keys))
    small = len(columns) > 1
    height = (
        len(rows) * box_h
        + (len(rows) - 1) * GAP_MM
        + sheet.top
        + 2 * EDGE_MM
        + legend
        + (_BAR_MM if mapped else 0)
        + caption_mm(note)
    )
    figure = (
        p9.ggplot(table)
        + geom_picture(
            p9.aes(xmin="left", xmax="right", ymin="bottom", ymax="top", label="picture"),
            pictures={str(i): _tinted(p.panel) for i, p in enumerate(placed)},
            show_legend=False,
        )
        + (scale_layer(table) if mapped else [])
        + (line_layers(lines, texts, 0.35 if small else 0.5, n_keys[0]) if lines is not None else [])
        + (mark_layers(marks, texts, 1.3 if small else 1.8) if marks is not None else [])
        + bar_layers(table, spacing, small)
        + text_layers(table, small)
        # limits of the coordinates only cut, those of a scale drop what a rounding error puts outside
        + p9.coord_fixed(xlim=(0, box_w), ylim=(0, box_h), expand=False)
        + p9.labs(x="", y="", caption=note)
        + theme_salstats()
        + picture_look(sheet.width, GAP_MM, EDGE_MM)
        + p9.theme(
            legend_key=p9.element_rect(fill=_KEY, color=_KEY),
            legend_key_width=12,
            legend_key_height=7,
            legend_box="horizontal" if beside else "vertical",
            legend_box_just="left",
            legend_spacing=3,
            strip_text_x=p9.element_text(ha="left", va="bottom", ma="left"),
            strip_text_y=p9.element_text(ha="center", va="center", ma="center", weight="normal"),
        )
        + figure_size(sheet.width, height)
    )
    strips = p9.labeller(rows=lambda key: sheet.rows[key], cols=lambda key: sheet.columns[key])
    if len(rows) > 1:
        return figure + p9.facet_grid("row", "column", labeller=strips)
    return figure + p9.facet_grid(cols="column", labeller=strips) if len(columns) > 1 else figure


def _tinted(shown: Picture) -> np.ndarray:
    """Image with the map over it; the ground is grey where there is no image."""
    return tinted(np.full(shown.printed, GROUND) if shown.grey is None else shown.grey, shown.saliency)


def _table(placed: Sequence[Placed], sheet: Sheet) -> pd.DataFrame:
    """One row per panel: what it shows, and where its picture stands in its box, in mm."""
    box_w, box_h = sheet.box
    found = []
    for number, p in enumerate(placed):
        height, width = p.panel.shape
        mm = min(box_w / width, box_h / height)
        left, bottom = (box_w - width * mm) / 2, (box_h - height * mm) / 2
        found.append(
            {
                "case": p.panel.case,
                "task": p.panel.task,
                "method": p.panel.method,
                "row": p.row,
                "column": p.column,
                "score": p.score,
                "text": p.text,
                "note": p.panel.note,
                "height": height,
                "width": width,
                "picture": str(number),
                "mm_per_pixel": mm,
                "left": left,
                "right": left + width * mm,
                "bottom": bottom,
                "top": bottom + height * mm,
            }
        )
    table = pd.DataFrame(found)
    for column, keys in (("row", sheet.rows), ("column", sheet.columns)):
        table[column] = pd.Categorical(table[column], categories=list(keys), ordered=True)
    return table


def method_label(names: Labels, series: Sequence[Series]) -> str:
    """What a method is called, with what tells its series from others."""
    one = series[0]
    rest = [] if len(series) > 1 else [p for p in (one.model, one.seed, one.reader) if p is not None]
    return ", ".join([names.value("method", one.method), *rest])


def ratio(pictures: Sequence[Picture]) -> float:
    """Height over the width of the panels: that of their highest image, within reason."""
    return float(np.clip(max(p.shape[0] / p.shape[1] for p in pictures), _LOWEST, _HIGHEST))


def threshold_note(pictures: Sequence[Picture], names: Labels) -> str:
    """Sentence that says where the maps were cut; stored masks have no threshold."""
    cut = {(p.task, p.series[0]): p for p in pictures if p.threshold is not None}
    if not cut:
        return ""
    texts = {
        key: "Otsu's level" if isinstance(p.threshold, str) else f"{p.threshold:g}" for key, p in cut.items()
    }
    above = next(iter(texts.values()))
    if len(set(texts.values())) > 1:
        several = len({series for _, series in cut}) > 1
        whose = {s: f", {method_label(names, [s])}" if several else "" for _, s in cut}
        above = joined([f"{text} ({names.value('task', t)}{whose[s]})" for (t, s), text in texts.items()])
    sizes = sorted({int(p.smooth) for p in cut.values() if p.smooth})
    smoothed = f", of means over {joined([f'{k} x {k}' for k in sizes])} pixels" if sizes else ""
    emptied = any(p.cutoff is not None for p in cut.values())
    below = "; masks below the probability cut-off are empty" if emptied else ""
    return f"Threshold: {above}{smoothed}{below}."


def absent_note(pictures: Sequence[Picture], names: Labels) -> str:
    """Sentence that says which findings the truth does not have."""
    absent = [p for p in pictures if "truth" not in p.lines]
    shown = dict.fromkeys(f"{names.value('task', p.task)} of {names.value('case', p.case)}" for p in absent)
    if len(shown) > _FEW:
        return f"Absent in the truth: {len(shown)} of the findings shown."
    return f"Absent in the truth: {joined(list(shown))}." if shown else ""


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
