"""What is drawn on pictures of maps: outlines, marks, scale bars, texts and the colour scale."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.overlay_sheet import TAG_PT, Placed
from salstats.display.plots.layout.picture import colour_bar, scale_colours
from salstats.display.plots.layout.text_fit import plain
from salstats.display.plots.layout.theme import TEXT_PT, font
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels

#: Light lines on dark casings, which show on black and on white; their types tell them apart in grey.
_LINES: dict[str, tuple[str, Any]] = {
    "truth": ("#FFFFFF", "solid"),
    "human": ("#66D9FF", (0, (4, 1.6))),
    "mask": ("#FFE14D", (0, (1, 1))),
}
_MARKS = {"peak": "X", "marked": "o"}
_FIXED: dict[str, Any] = {"inherit_aes": False}
_CASING = "#000000"


def _on_paper(table: pd.DataFrame, number: int, points: np.ndarray, **columns: Any) -> pd.DataFrame:
    """Points (row, col) of a panel at their places, in mm."""
    at = table.iloc[number]
    return pd.DataFrame(
        {
            "x": at["left"] + points[:, 1] * at["mm_per_pixel"],
            "y": at["top"] - points[:, 0] * at["mm_per_pixel"],
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


def bar_layers(
    table: pd.DataFrame, spacing: float | Mapping[str, float] | None, labels: Labels
) -> tuple[list[Any], str]:
    """Scale bar in each picture, and the sentence that says how long they are.

    A single picture has its bar with a label, in mm where the size of a pixel is known and else in pixels.
    Several have bars, without labels, where that size is known.
    """
    bars = table.copy()
    small = len(table) > 1
    sizes = [spacing.get(c) if isinstance(spacing, Mapping) else spacing for c in table["case"]]
    # pixels of a unit: of a mm, or one
    bars["per_unit"] = [float("nan") if s is None else 1.0 / s for s in sizes]
    unit = "px" if bars["per_unit"].isna().all() else "mm"
    bars = bars[bars["per_unit"].notna()] if small else bars.fillna({"per_unit": 1.0})
    if bars.empty:
        return [], ""
    bars["length"] = [bar_length(w, u) for w, u in zip(bars["width"], bars["per_unit"], strict=True)]
    bars["label"] = [f"{length:,.10g} {unit}" for length in bars["length"]]
    inset = 1.2 if small else 2.0
    bars["x1"] = bars["right"] - inset
    bars["x0"] = bars["x1"] - bars["length"] * bars["per_unit"] * bars["mm_per_pixel"]
    bars["y0"] = bars["bottom"] + inset
    bars["text_y"] = bars["y0"] + 0.6
    line = p9.aes("x0", "y0", xend="x1", yend="y0")
    layers = [
        p9.geom_segment(line, bars, color=_CASING, size=1.5 if small else 2.0, alpha=0.7, **_FIXED),
        p9.geom_segment(line, bars, color="#FFFFFF", size=0.7 if small else 1.0, **_FIXED),
    ]
    if small:
        return layers, _bar_note(bars, labels)
    return [*layers, _label(p9.aes("x1", "text_y", label="label"), bars)], ""


def _bar_note(bars: pd.DataFrame, labels: Labels) -> str:
    """Sentence that says how long bars are, by case where they differ."""
    cases = {
        text: joined([labels.value("case", case) for case in dict.fromkeys(rows["case"])])
        for text, rows in bars.sort_values("length", kind="stable").groupby("label", sort=False)
    }
    if len(cases) == 1:
        return f"Bars: {next(iter(cases))}."
    return f"Bars: {'; '.join(f'{text} ({named})' for text, named in cases.items())}."


def text_layers(texts: pd.DataFrame) -> list[Any]:
    """Names of rows, titles of columns and tags, outside the pictures."""
    looks: dict[str, dict[str, Any]] = {
        "name": {"va": "top"},
        "title": {"va": "bottom", "fontweight": "bold"},
        "tag": {"va": "top", "size": TAG_PT},
    }
    return [
        p9.geom_text(
            p9.aes("x", "y", label="label"),
            texts[texts["kind"] == kind],
            **{"size": TEXT_PT, "ha": "left", "family": font(), "color": "#000000"} | look,
            **_FIXED,
        )
        for kind, look in looks.items()
        if (texts["kind"] == kind).any()
    ]


def _label(mapping: Any, rows: pd.DataFrame) -> Any:
    """White text on a dark box, which is read on any image."""
    return p9.geom_label(
        mapping,
        rows,
        size=TEXT_PT - 0.5,
        family=font(),
        color="#FFFFFF",
        # the opacity of the layer would be the text's too
        fill="#000000A6",
        label_size=0,
        label_padding=0.12,
        label_r=0.0,
        show_legend=False,
        va="bottom",
        ha="right",
        **_FIXED,
    )


def bar_length(width: float, per_unit: float = 1.0) -> float:
    """Round length, in units, of about a quarter of an image's width."""
    room = 0.3 * width / per_unit
    power = 10.0 ** np.floor(np.log10(room))
    return float(max(step * power for step in (1, 2, 5) if step * power <= room))


def joined_lines(lines: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Points of all lines below each other, and the number of each point's line."""
    if not lines:
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    return np.vstack(lines), np.repeat(np.arange(len(lines)), [len(line) for line in lines])
