"""Rows of a figure, each as high as it needs, and the figures of estimates put together from them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import ValueRangeError
from salstats.display.plots.captions import has_limits
from salstats.display.plots.estimates import Drawing
from salstats.display.plots.legends import legend_mm, legend_width_mm, mark_scales
from salstats.display.plots.panel_axis import PanelAxis
from salstats.display.plots.text_fit import caption_mm, short_labels, text_mm, with_suffix
from salstats.display.plots.theme import (
    COLUMN_MM,
    GUIDE,
    LINE_MM,
    PAGE_MM,
    PALETTE,
    figure_size,
    theme_salstats,
)
from salstats.display.text.labels import LAST

#: Sizes of a mark and of its bar, in points.
MARK, BAR = 1.4, 0.5
#: Fill of every other row, which leads the eye from the label to the marks and vanishes in a copy.
STRIPE = "#F4F4F4"
#: Height of a mark, room around a row, and the gap before the rows that close a figure.
_MARK_MM, _PAD_MM, _GAP_MM = 2.6, 1.6, 1.6
#: Height of a panel's title, of its axis, of the axis's title, and of the margins.
_STRIP_MM, _AXIS_MM, _TITLE_MM, _MARGIN_MM = 5.0, 4.5, 4.0, 4.0
#: Room above everything.
_EDGE_MM = 1.2
_PUSH_MM = 0.4


@dataclass(frozen=True)
class Rows:
    """Rows of a figure from the top down, each as high as it needs; their axis is in mm.

    Attributes
    ----------
    values : list
        What stands in each row.
    texts : list of str
        Their labels, wrapped.
    centres, heights : ndarray
        Middle of each row on the axis, from 0 at the top to negative values, and its height.
    rules : list of float
        Where a line sets the closing rows apart.
    """

    values: list[Any]
    texts: list[str]
    centres: np.ndarray
    heights: np.ndarray
    rules: list[float]

    @property
    def height(self) -> float:
        """Height of all rows together."""
        return float(self.heights[-1] / 2 - self.centres[-1])

    def of(self, values: Iterable[Any]) -> np.ndarray:
        """Middle of the rows of some values."""
        places = dict(zip(self.values, self.centres, strict=True))
        return np.array([places[v] for v in values], dtype=float)

    def scale(self, head: float = 0.0) -> Any:
        """Axis that names the rows, with some room above the first."""
        return p9.scale_y_continuous(
            breaks=[float(y) for y in self.centres],
            minor_breaks=[],
            labels=self.texts,
            limits=(-self.height, head),
            expand=(0, 0),
        )


def row_layout(
    values: Sequence[Any], texts: Sequence[str], n_marks: int | Sequence[int] = 1, n_closing: int = 0
) -> Rows:
    """Rows for values of up to `n_marks` marks, the last `n_closing` of them set apart by a gap."""
    marks = np.broadcast_to(n_marks, len(texts))
    heights = np.array([row_height_mm(n, t.count("\n") + 1) for n, t in zip(marks, texts, strict=True)])
    gaps = np.zeros(len(texts))
    first = len(texts) - n_closing
    if 0 < first < len(texts):
        gaps[first] = _GAP_MM
    bottoms = np.cumsum(heights + gaps)
    centres = -(bottoms - heights / 2)
    rules = [float(-(bottoms[first] - heights[first] - _GAP_MM / 2))] if gaps.any() else []
    return Rows(list(values), list(texts), centres, heights, rules)


def row_height_mm(n_marks: int = 1, n_lines: int = 1) -> float:
    """How high a row is that holds marks above each other and a label of some lines."""
    return max(_MARK_MM * n_marks, LINE_MM * n_lines) + _PAD_MM


def closing(values: Sequence[Any]) -> int:
    """How many of the values at the end close a figure: "Overall", "Average"."""
    n = 0
    while n < len(values) and str(values[len(values) - 1 - n]) in LAST:
        n += 1
    return n


def dodged(positions: Sequence[int] | np.ndarray, n_marks: int) -> np.ndarray:
    """By how much marks stand above or below the middle of their row, the first on top."""
    return ((n_marks - 1) / 2 - np.asarray(positions, dtype=float)) * _MARK_MM


def place_rows(
    drawing: Drawing,
    order: Callable[[list[Any]], list[Any]] | None = None,
    suffixes: Mapping[Any, str] | None = None,
) -> tuple[pd.DataFrame, Rows]:
    """Frame with each mark's height `y` and its row's label `row_label`, and the rows.

    `order` orders the rows before those that close the figure, by default as the labels have them;
    `suffixes` are what follows the label of a value.
    """
    frame, labels, row = drawing.frame, drawing.labels, drawing.role.row
    values = labels.order(row, frame[row]) if row else [""]
    texts = short_labels(labels, row, values) if row else {"": ""}
    n_last = closing(values)
    first, last = values[: len(values) - n_last], values[len(values) - n_last :]
    values = [*(order(first) if order else first), *last]
    shown = [with_suffix(texts[v], (suffixes or {}).get(v, "")) for v in values]
    rows = row_layout(values, shown, len(drawing.methods) if drawing.dodges else 1, n_last)
    y = rows.of(frame[row]) if row else np.repeat(rows.centres, len(frame))
    if drawing.dodges:
        y = y + dodged(frame["method_label"].cat.codes, len(drawing.methods))
    return frame.assign(y=y, row_label=[labels.value(row, v) for v in frame[row]] if row else ""), rows


def row_figure(
    frame: pd.DataFrame,
    rows: Rows,
    *,
    axis: PanelAxis,
    x_title: str,
    note: str,
    guides: pd.DataFrame,
    legend: Sequence[str] = (),
    ncol: int = 1,
    width: float | None = None,
    head: float = 0.0,
    stripes: bool = True,
) -> p9.ggplot:
    """Figure with rows, guides, panels, titles and size, to which its marks are added.

    `axis` is the horizontal one; `guides` has columns `panel` and `guide`; `legend` the texts above the
    panels; `head` is room in mm above the first row; `stripes` fill every other row.
    """
    panels = list(frame["panel"].cat.categories)
    ncol = min(ncol, len(panels))
    width = width or (PAGE_MM if ncol > 1 else COLUMN_MM)
    down = -(-len(panels) // ncol)
    titled = any(panels)
    height = (
        down * (rows.height + head + _AXIS_MM + (_STRIP_MM if titled else 0))
        + _TITLE_MM
        + _MARGIN_MM
        + caption_mm(note)
        + (legend_mm(legend) if legend else 0)
    )
    figure = (
        p9.ggplot(frame, p9.aes("estimate", "y"))
        + (_stripes(rows, axis.spans) if stripes else [])
        + p9.geom_vline(p9.aes(xintercept="guide"), data=guides, color=GUIDE, size=0.4)
        + p9.geom_hline(yintercept=rows.rules, color=GUIDE, size=0.4)
        + axis.scale()
        + rows.scale(head)
        + p9.labs(x=x_title, y="", caption=note)
        + theme_salstats()
        + figure_size(width, height)
        + p9.theme(
            axis_title_y=p9.element_blank(),
            axis_ticks_major_y=p9.element_blank(),
            axis_line_y=p9.element_blank(),
            axis_text_y=p9.element_text(ma="right"),
            panel_spacing_x=0.05,
            legend_box_spacing=0.015,
            plot_caption_position="plot",
            # titles of panels below push the first one up a little
            plot_margin_top=(_EDGE_MM + _PUSH_MM * (down - 1)) / height,
        )
        + _legend_side(rows, legend)
        + (_title_side(axis, x_title, panel_mm(rows, 1, width)) if axis.columns and ncol == 1 else [])
        + axis.layers(head / 2, -rows.height)
    )
    if titled:
        figure = figure + p9.facet_wrap("panel", ncol=ncol, scales="free_x")
    return figure


def check_width(width: float) -> float:
    """Figure's width in mm if one could be printed."""
    if isinstance(width, bool) or not isinstance(width, int | float) or not 40 <= width <= 1000:
        raise ValueRangeError(f"width must be a number of mm between 40 and 1000, not {width!r}")
    return float(width)


def panel_mm(rows: Rows, ncol: int = 1, width: float = COLUMN_MM) -> float:
    """About how wide a panel is in a figure of some width."""
    labels = max(text_mm(text) for text in rows.texts)
    return max((width - labels - 5) / ncol - 3, 15)


def _title_side(axis: PanelAxis, title: str, panel: float) -> Any:
    """Place of the axis's title: below the axis, not below the text beside it too."""
    room = panel - text_mm(title)
    left = (panel * (1 - axis.share) - text_mm(title)) / 2
    return p9.theme(axis_title_x=p9.element_text(ha=min(max(left / room, 0.0), 0.5) if room > 0 else 0.0))


def _stripes(rows: Rows, spans: pd.DataFrame) -> Any:
    """Fill of every other row."""
    shaded = slice(1, None, 2)
    middle, half = rows.centres[shaded], rows.heights[shaded] / 2
    stripes = pd.DataFrame({"ymin": middle - half, "ymax": middle + half}).merge(spans, how="cross")
    return p9.geom_rect(
        p9.aes(xmin="low", xmax="right", ymin="ymin", ymax="ymax"),
        data=stripes,
        fill=STRIPE,
        inherit_aes=False,
    )


def _legend_side(rows: Rows, legend: Sequence[str]) -> Any:
    """Place of a legend: above the panels, or to the right where it is wider than these."""
    wide = legend_width_mm(legend) > panel_mm(rows)
    return p9.theme(legend_justification_top=1.0 if wide else 0.5)


def bars(frame: pd.DataFrame, axis: PanelAxis, colour: str | None = None) -> list[Any]:
    """Intervals of the rows that have one, in one colour or by method, without a legend."""
    if not has_limits(frame).any():
        return []
    mapping = p9.aes("conf_low", xend="conf_high", yend="y", **({} if colour else {"color": "method_label"}))
    fixed = {"color": colour} if colour else {}
    data = axis.within(frame[has_limits(frame)])
    return [p9.geom_segment(mapping, data=data, size=BAR, show_legend=False, **fixed)]


def marks(drawing: Drawing, frame: pd.DataFrame, axis: PanelAxis) -> list[Any]:
    """Bars and points by method, with their scales."""
    if not drawing.methods:
        return [*bars(frame, axis, PALETTE[0]), p9.geom_point(size=MARK, color=PALETTE[0])]
    layers = [
        *bars(frame, axis),
        p9.geom_point(p9.aes(color="method_label", shape="method_label"), size=MARK),
        *mark_scales(drawing.methods, drawing.references),
    ]
    return layers if drawing.dodges else [*layers, p9.theme(legend_position="none")]
