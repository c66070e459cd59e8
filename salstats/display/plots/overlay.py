"""Pictures of maps as a figure: outlines, marks, scale bars, legends, and what is said of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots import panels as shared
from salstats.display.plots.panel_grid import caption_chars
from salstats.display.plots.picture import GROUND, geom_picture, scale_colours, tinted
from salstats.display.plots.theme import TEXT_PT, figure_size, font, theme_salstats
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.study import Picture, Series

#: Light lines on dark casings, which show on black and on white; their types tell them apart in grey.
_LINES: dict[str, tuple[str, Any]] = {
    "truth": ("#FFFFFF", "solid"),
    "human": ("#66D9FF", (0, (4, 1.6))),
    "mask": ("#FFE14D", (0, (1, 1))),
}
_MARKS = {"peak": "X", "marked": "o"}
_NAMES = {
    "truth": "Truth",
    "human": "Human benchmark",
    "mask": "Thresholded map",
    "peak": "Peak",
    "marked": "Marked point",
}
_CASING, _KEY = "#000000", "#5A5A5A"
#: Height over width of a panel, between which it follows its images.
_LOWEST, _HIGHEST = 0.5, 1.6
#: Absent findings that are named one by one.
_FEW = 3
#: Room of an edge of the figure, between panels, of a row of the legend and of the colour scale.
EDGE_MM, GAP_MM, _LEGEND_MM, _BAR_MM = 1.5, 1.5, 4.4, 8.5
#: What a key of the legend takes beside its text.
_KEY_MM = 7.5
STRIP_LINE_MM = 1.25 * TEXT_PT * shared.MM_PER_PT
_FIXED: dict[str, Any] = {"inherit_aes": False}


@dataclass(frozen=True)
class Placed:
    """A panel, the keys of its row and column, the text in its corner, and its score (NaN for none)."""

    panel: Picture
    row: str
    column: str
    text: str
    score: float = float("nan")


@dataclass(frozen=True)
class Sheet:
    """Sizes in mm, and what stands beside rows and above columns.

    Attributes
    ----------
    width : float
        Of the figure.
    box : tuple of float
        Width and height of a panel's box.
    rows, columns : dict of str to str
        The strip of each row and column, by its key; a strip is drawn where there are several rows, or
        several columns.
    top : float
        Room of the strips above the panels.
    """

    width: float
    box: tuple[float, float]
    rows: Mapping[str, str]
    columns: Mapping[str, str]
    top: float = 0.0


@dataclass(frozen=True)
class Legend:
    """How the legends of lines and marks stand: beside or above each other, and the columns of each."""

    box: str
    columns: tuple[int, int]
    height: float


def _legend(lines: Sequence[str], marks: Sequence[str], width: float) -> Legend:
    """Return the layout of the legends that fits the width of a figure, in mm."""
    room = width - 2 * EDGE_MM
    whole = sum(shared.text_mm(text) + _KEY_MM for text in (*lines, *marks))
    if whole <= room:
        return Legend("horizontal", (max(len(lines), 1), max(len(marks), 1)), _LEGEND_MM if whole else 0.0)
    columns = tuple(max(shared.legend_columns(texts, room), 1) for texts in (lines, marks))
    rows = sum(-(-len(texts) // n) for texts, n in zip((lines, marks), columns, strict=True))
    return Legend("vertical", (columns[0], columns[1]), rows * _LEGEND_MM + 1)


def overlay(
    shown: Picture, labels: Labels, width: float, spacing: float | Mapping[str, float] | None
) -> p9.ggplot:
    """Figure of a single picture, `width` in mm."""
    names = [labels.value("case", shown.case), labels.value("task", shown.task)]
    if shown.series:
        names.append(method_label(labels, shown.series))
    note = shared.caption(
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
    """Return the figure of some panels; `names` are the legend's texts that differ from the house's."""
    rows, columns = list(sheet.rows), list(sheet.columns)
    table = _table(placed, sheet)
    lines, marks = _lines(table, placed), _marks(table, placed)
    texts = {kind: labels.column(kind) for kind in _NAMES}
    texts = {k: t if t != Labels().column(k) else {**_NAMES, **(names or {})}[k] for k, t in texts.items()}
    mapped = any(p.panel.saliency is not None for p in placed)
    keys = [[] if f is None else [texts[k] for k in f["kind"].cat.categories] for f in (lines, marks)]
    legend = _legend(keys[0], keys[1], sheet.width)
    box_w, box_h = sheet.box
    small = len(columns) > 1
    height = (
        len(rows) * box_h
        + (len(rows) - 1) * GAP_MM
        + sheet.top
        + 2 * EDGE_MM
        + legend.height
        + (_BAR_MM if mapped else 0)
        + shared.caption_mm(note)
    )
    figure = (
        p9.ggplot(table)
        + geom_picture(
            p9.aes(xmin="left", xmax="right", ymin="bottom", ymax="top", label="picture"),
            pictures={str(i): _tinted(p.panel) for i, p in enumerate(placed)},
            show_legend=False,
        )
        + (_scale_layer(table) if mapped else [])
        + (_line_layers(lines, texts, 0.35 if small else 0.5, legend) if lines is not None else [])
        + (_mark_layers(marks, texts, 1.3 if small else 1.8) if marks is not None else [])
        + _bar_layers(table, spacing, small)
        + _text_layers(table, small)
        # limits of the coordinates only cut, those of a scale drop what a rounding error puts outside
        + p9.coord_fixed(xlim=(0, box_w), ylim=(0, box_h), expand=False)
        + p9.labs(x="", y="", caption=note)
        + theme_salstats()
        + p9.theme(
            axis_title=p9.element_blank(),
            axis_text=p9.element_blank(),
            axis_ticks=p9.element_blank(),
            axis_line=p9.element_blank(),
            panel_spacing=GAP_MM / sheet.width,
            plot_margin=EDGE_MM / sheet.width,
            plot_caption_position="plot",
            legend_key=p9.element_rect(fill=_KEY, color=_KEY),
            legend_key_width=12,
            legend_key_height=7,
            legend_box=legend.box,
            legend_box_just="left" if legend.box == "vertical" else "center",
            legend_box_spacing=1 / sheet.width,
            legend_spacing=6 if legend.box == "horizontal" else 3,
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
    """Return the image with the map over it; the ground is grey where there is no image."""
    return tinted(np.full(shown.printed, GROUND) if shown.grey is None else shown.grey, shown.saliency)


def _table(placed: Sequence[Placed], sheet: Sheet) -> pd.DataFrame:
    """Return one row per panel: what it shows, and where its picture stands in its box, in mm."""
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


def _on_paper(table: pd.DataFrame, number: int, points: np.ndarray, **columns: Any) -> pd.DataFrame:
    """Return points (row, col) of a panel at their places, in mm."""
    at = table.iloc[number]
    return pd.DataFrame(
        {
            "x": at["left"] + points[:, 1] * at["mm_per_pixel"],
            "y": at["top"] - points[:, 0] * at["mm_per_pixel"],
            "row": pd.Categorical([at["row"]] * len(points), dtype=table["row"].dtype),
            "column": pd.Categorical([at["column"]] * len(points), dtype=table["column"].dtype),
            **columns,
        }
    )


def _lines(table: pd.DataFrame, placed: Sequence[Placed]) -> pd.DataFrame | None:
    """Return the outlines of all panels: `kind`, `line` (its own name), `x`, `y`."""
    parts = []
    for number, p in enumerate(placed):
        for kind, found in p.panel.lines.items():
            points, line = joined_lines(found)
            names = [f"{number} {kind} {i}" for i in line]
            parts.append(_on_paper(table, number, points, kind=kind, line=names))
    return _of_kinds(parts, list(_LINES))


def _marks(table: pd.DataFrame, placed: Sequence[Placed]) -> pd.DataFrame | None:
    """Return the peaks and marked points of all panels that lie on their images."""
    parts = []
    for number, p in enumerate(placed):
        for kind, found in p.panel.points.items():
            inside = ((found >= 0) & (found <= p.panel.shape)).all(axis=1)
            parts.append(_on_paper(table, number, found[inside], kind=kind))
    return _of_kinds([part for part in parts if len(part)], list(_MARKS))


def _of_kinds(parts: list[pd.DataFrame], order: list[str]) -> pd.DataFrame | None:
    """Return the parts below each other with `kind` a Categorical of those there are."""
    if not parts:
        return None
    frame = pd.concat(parts, ignore_index=True)
    there = [kind for kind in order if (frame["kind"] == kind).any()]
    frame["kind"] = pd.Categorical(frame["kind"], categories=there, ordered=True)
    return frame


def _line_layers(lines: pd.DataFrame, texts: Mapping[str, str], size: float, legend: Legend) -> list[Any]:
    """Return the outlines, each on a casing, in the legend's order from the bottom up, and their scales."""
    kinds = list(lines["kind"].cat.categories)
    names = [shared.plain(texts[k]) for k in kinds]
    where = p9.aes("x", "y", group="line")
    styled = p9.aes("x", "y", group="line", color="kind", linetype="kind")
    layers: list[Any] = []
    for kind in kinds:
        rows = lines[lines["kind"] == kind]
        layers += [
            p9.geom_path(
                where, rows, color=_CASING, size=2.2 * size, alpha=0.55, show_legend=False, **_FIXED
            ),
            p9.geom_path(styled, rows, size=size, **_FIXED),
        ]
    # one guide each: a guide that two scales share keeps the keys of the last only
    guides = {
        scale: p9.guide_legend(order=1, position="top", ncol=legend.columns[0], byrow=True)
        for scale in ("color", "linetype")
    }
    return [
        *layers,
        p9.scale_color_manual([_LINES[k][0] for k in kinds], limits=kinds, labels=names, name=""),
        p9.scale_linetype_manual([_LINES[k][1] for k in kinds], limits=kinds, labels=names, name=""),
        p9.guides(**guides),
    ]


def _mark_layers(marks: pd.DataFrame, texts: Mapping[str, str], size: float) -> list[Any]:
    """Return the marks, white with a black edge, and their scale."""
    kinds = list(marks["kind"].cat.categories)
    names = [shared.plain(texts[k]) for k in kinds]
    mark = p9.aes("x", "y", shape="kind")
    return [
        p9.geom_point(mark, marks, size=1.5 * size, fill=_CASING, stroke=0, show_legend=False, **_FIXED),
        p9.geom_point(mark, marks, size=size, fill="#FFFFFF", color="#FFFFFF", stroke=0, **_FIXED),
        p9.scale_shape_manual([_MARKS[k] for k in kinds], limits=kinds, labels=names, name=""),
        p9.guides(shape=p9.guide_legend(order=2, position="top")),
    ]


def _scale_layer(table: pd.DataFrame) -> list[Any]:
    """Return the colour scale of the map; the layer that carries it has no extent."""
    at = table.iloc[[0, 0]].assign(value=[0.0, 1.0], x=0.0, y=0.0)
    guide = p9.guide_colorbar(
        order=3,
        position="bottom",
        direction="horizontal",
        alpha=1,
        title="Saliency (0 to 1 in each map)",
        theme=p9.theme(
            legend_title=p9.element_text(size=TEXT_PT, va="top", margin={"r": 4, "unit": "pt"}),
            legend_title_position="left",
            legend_key_width=40,
            legend_key_height=6,
            legend_text=p9.element_text(size=TEXT_PT - 1),
        ),
    )
    return [
        p9.geom_rect(p9.aes(xmin="x", xmax="x", ymin="y", ymax="y", fill="value"), at, size=0, **_FIXED),
        p9.scale_fill_gradientn(scale_colours(), limits=(0, 1), breaks=[0, 0.5, 1], labels=["0", "0.5", "1"]),
        p9.guides(fill=guide),
    ]


def _bar_layers(table: pd.DataFrame, spacing: float | Mapping[str, float] | None, small: bool) -> list[Any]:
    """Return a scale bar in each picture, in mm where the size of a pixel is known."""
    bars = table.copy()
    sizes = [spacing.get(c) if isinstance(spacing, Mapping) else spacing for c in table["case"]]
    # pixels of a unit: of a mm, or one
    per_unit = np.array([1.0 if s is None else 1.0 / s for s in sizes])
    lengths = [bar_length(w, u) for w, u in zip(table["width"], per_unit, strict=True)]
    units = ["px" if s is None else "mm" for s in sizes]
    bars["label"] = [f"{length:,.10g} {unit}" for length, unit in zip(lengths, units, strict=True)]
    inset = 1.2 if small else 2.0
    bars["x1"] = bars["right"] - inset
    bars["x0"] = bars["x1"] - np.array(lengths) * per_unit * bars["mm_per_pixel"]
    bars["y0"] = bars["bottom"] + inset
    bars["text_y"] = bars["y0"] + 0.6
    line = p9.aes("x0", "y0", xend="x1", yend="y0")
    return [
        p9.geom_segment(line, bars, color=_CASING, size=1.5 if small else 2.0, alpha=0.7, **_FIXED),
        p9.geom_segment(line, bars, color="#FFFFFF", size=0.7 if small else 1.0, **_FIXED),
        _label(p9.aes("x1", "text_y", label="label"), bars, small, va="bottom", ha="right"),
    ]


def _text_layers(table: pd.DataFrame, small: bool) -> list[Any]:
    """Return the texts in the upper left corners."""
    rows = table[table["text"] != ""].copy()
    if rows.empty:
        return []
    rows["x"], rows["y"] = rows["left"] + 0.9, rows["top"] - 0.9
    return [_label(p9.aes("x", "y", label="text"), rows, small, va="top", ha="left")]


def _label(mapping: Any, rows: pd.DataFrame, small: bool, **aligned: str) -> Any:
    """Return white text on a dark box, which is read on any image."""
    return p9.geom_label(
        mapping,
        rows,
        size=TEXT_PT - 1.5 if small else TEXT_PT - 0.5,
        family=font(),
        color="#FFFFFF",
        # the opacity of the layer would be the text's too
        fill="#000000A6",
        label_size=0,
        label_padding=0.12,
        label_r=0.0,
        show_legend=False,
        **aligned,
        **_FIXED,
    )


def bar_length(width: float, per_unit: float = 1.0) -> float:
    """Return a round length, in units, of about a quarter of an image's width.

    Parameters
    ----------
    width : float
        Of the image, in pixels.
    per_unit : float
        Pixels of a unit.
    """
    room = 0.3 * width / per_unit
    power = 10.0 ** np.floor(np.log10(room))
    return float(max(step * power for step in (1, 2, 5) if step * power <= room))


def joined_lines(lines: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of all lines below each other, and the number of each point's line."""
    if not lines:
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    return np.vstack(lines), np.repeat(np.arange(len(lines)), [len(line) for line in lines])


def method_label(names: Labels, series: Sequence[Series]) -> str:
    """Return what a method is called, with what tells its series from others."""
    one = series[0]
    rest = [] if len(series) > 1 else [p for p in (one.model, one.seed, one.reader) if p is not None]
    return ", ".join([names.value("method", one.method), *rest])


def ratio(pictures: Sequence[Picture]) -> float:
    """Return the height over the width of the panels: that of their highest image, within reason."""
    return float(np.clip(max(p.shape[0] / p.shape[1] for p in pictures), _LOWEST, _HIGHEST))


def threshold_note(pictures: Sequence[Picture], names: Labels) -> str:
    """Return the sentence that says where the maps were cut; stored masks have no threshold."""
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
    """Return the sentence that says which findings the truth does not have."""
    absent = [p for p in pictures if "truth" not in p.lines]
    shown = dict.fromkeys(f"{names.value('task', p.task)} of {names.value('case', p.case)}" for p in absent)
    if len(shown) > _FEW:
        return f"Absent in the truth: {len(shown)} of the findings shown."
    return f"Absent in the truth: {joined(list(shown))}." if shown else ""


def mask_name(pictures: Sequence[Picture]) -> dict[str, str]:
    """Return what the outline of a method is called where it is not that of a map above a threshold."""
    from_maps = all(p.saliency is not None for p in pictures if "mask" in p.lines)
    return {} if from_maps else {"mask": "Predicted mask"}


def image_note(pictures: Sequence[Picture]) -> str:
    """Return the sentence that says which cases have no image."""
    without = dict.fromkeys(p.case for p in pictures if p.grey is None)
    if not without:
        return ""
    if all(p.grey is None for p in pictures):
        return "Grey ground: no image was given."
    return f"Grey ground: no image was given of {joined(list(without))}."
