"""What is drawn on pictures of maps: outlines, marks, scale bars, texts and the colour scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.overlay_picture import Picture
from salstats.display.plots.picture import colour_bar, scale_colours
from salstats.display.plots.text_fit import plain
from salstats.display.plots.theme import TEXT_PT, font

#: Light lines on dark casings, which show on black and on white; their types tell them apart in grey.
_LINES: dict[str, tuple[str, Any]] = {
    "truth": ("#FFFFFF", "solid"),
    "human": ("#66D9FF", (0, (4, 1.6))),
    "mask": ("#FFE14D", (0, (1, 1))),
}
_MARKS = {"peak": "X", "marked": "o"}
_FIXED: dict[str, Any] = {"inherit_aes": False}
_CASING = "#000000"


@dataclass(frozen=True)
class Placed:
    """A panel, the keys of its row and column, the text in its corner, and its score (NaN for none)."""

    panel: Picture
    row: str
    column: str
    text: str
    score: float = float("nan")


def _on_paper(table: pd.DataFrame, number: int, points: np.ndarray, **columns: Any) -> pd.DataFrame:
    """Points (row, col) of a panel at their places, in mm."""
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


def outline_rows(table: pd.DataFrame, placed: Sequence[Placed]) -> pd.DataFrame | None:
    """Outlines of all panels: `kind`, `line` (its own name), `x`, `y`."""
    parts = []
    for number, p in enumerate(placed):
        for kind, found in p.panel.lines.items():
            points, line = joined_lines(found)
            names = [f"{number} {kind} {i}" for i in line]
            parts.append(_on_paper(table, number, points, kind=kind, line=names))
    return _of_kinds(parts, list(_LINES))


def mark_rows(table: pd.DataFrame, placed: Sequence[Placed]) -> pd.DataFrame | None:
    """Peaks and marked points of all panels that lie on their images."""
    parts = []
    for number, p in enumerate(placed):
        for kind, found in p.panel.points.items():
            inside = ((found >= 0) & (found <= p.panel.shape)).all(axis=1)
            parts.append(_on_paper(table, number, found[inside], kind=kind))
    return _of_kinds([part for part in parts if len(part)], list(_MARKS))


def _of_kinds(parts: list[pd.DataFrame], order: list[str]) -> pd.DataFrame | None:
    """Parts below each other with `kind` a Categorical of those there are."""
    if not parts:
        return None
    frame = pd.concat(parts, ignore_index=True)
    there = [kind for kind in order if (frame["kind"] == kind).any()]
    frame["kind"] = pd.Categorical(frame["kind"], categories=there, ordered=True)
    return frame


def line_layers(lines: pd.DataFrame, texts: Mapping[str, str], size: float, n_columns: int) -> list[Any]:
    """Outlines, each on a casing, in the legend's order from the bottom up, and their scales."""
    kinds = list(lines["kind"].cat.categories)
    names = [plain(texts[k]) for k in kinds]
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
        scale: p9.guide_legend(order=1, position="top", ncol=n_columns, byrow=True)
        for scale in ("color", "linetype")
    }
    return [
        *layers,
        p9.scale_color_manual([_LINES[k][0] for k in kinds], limits=kinds, labels=names, name=""),
        p9.scale_linetype_manual([_LINES[k][1] for k in kinds], limits=kinds, labels=names, name=""),
        p9.guides(**guides),
    ]


def mark_layers(marks: pd.DataFrame, texts: Mapping[str, str], size: float) -> list[Any]:
    """Marks, white with a black edge, and their scale."""
    kinds = list(marks["kind"].cat.categories)
    names = [plain(texts[k]) for k in kinds]
    mark = p9.aes("x", "y", shape="kind")
    return [
        p9.geom_point(mark, marks, size=1.5 * size, fill=_CASING, stroke=0, show_legend=False, **_FIXED),
        p9.geom_point(mark, marks, size=size, fill="#FFFFFF", color="#FFFFFF", stroke=0, **_FIXED),
        p9.scale_shape_manual([_MARKS[k] for k in kinds], limits=kinds, labels=names, name=""),
        p9.guides(shape=p9.guide_legend(order=2, position="top")),
    ]


def scale_layer(table: pd.DataFrame) -> list[Any]:
    """Colour scale of the map; the layer that carries it has no extent."""
    at = table.iloc[[0, 0]].assign(value=[0.0, 1.0], x=0.0, y=0.0)
    return [
        p9.geom_rect(p9.aes(xmin="x", xmax="x", ymin="y", ymax="y", fill="value"), at, size=0, **_FIXED),
        p9.scale_fill_gradientn(scale_colours(), limits=(0, 1), breaks=[0, 0.5, 1], labels=["0", "0.5", "1"]),
        p9.guides(fill=colour_bar("Saliency (0 to 1 in each map)", 40)),
    ]


def bar_layers(table: pd.DataFrame, spacing: float | Mapping[str, float] | None, small: bool) -> list[Any]:
    """Scale bar in each picture, in mm where the size of a pixel is known."""
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


def text_layers(table: pd.DataFrame, small: bool) -> list[Any]:
    """Texts in the upper left corners."""
    rows = table[table["text"] != ""].copy()
    if rows.empty:
        return []
    rows["x"], rows["y"] = rows["left"] + 0.9, rows["top"] - 0.9
    return [_label(p9.aes("x", "y", label="text"), rows, small, va="top", ha="left")]


def _label(mapping: Any, rows: pd.DataFrame, small: bool, **aligned: str) -> Any:
    """White text on a dark box, which is read on any image."""
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
    """Round length, in units, of about a quarter of an image's width.

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
    """Points of all lines below each other, and the number of each point's line."""
    if not lines:
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    return np.vstack(lines), np.repeat(np.arange(len(lines)), [len(line) for line in lines])
