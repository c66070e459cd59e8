"""Rows of a figure, each as high as it needs, and the figures of estimates put together from them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_count
from salstats.display.plots.axis_ticks import axis_breaks, log_breaks, log_texts, tick_texts
from salstats.display.plots.captions import has_limits
from salstats.display.plots.estimates import Drawing
from salstats.display.plots.legends import group_scales, legend_columns, legend_mm, legend_width
from salstats.display.plots.pages import on_pages
from salstats.display.plots.text_fit import (
    caption,
    caption_chars,
    caption_mm,
    chars_in,
    short_labels,
    text_mm,
    wrapped,
)
from salstats.display.plots.theme import (
    COLUMN_MM,
    GUIDE,
    LINE_MM,
    MM_PER_PT,
    PAGE_MM,
    PALETTE,
    TEXT_PT,
    figure_size,
    font,
    theme_salstats,
)
from salstats.display.text.labels import LAST, Labels

#: Sizes of a mark and of its bar, in points.
_MARK, _BAR = 1.4, 0.5
#: Fill of every other row, which leads the eye from the label to the marks and vanishes in a copy.
_STRIPE = "#F4F4F4"
#: Height of a mark, room around a row, and the gap before the rows that close a figure.
_MARK_MM, _PAD_MM, _GAP_MM = 2.6, 1.6, 1.6
#: Height of a panel's title, of its axis, of the axis's title, and of the margins.
_STRIP_MM, _AXIS_MM, _TITLE_MM, _MARGIN_MM = 6.0, 5.5, 4.0, 4.0
#: Text beside the panels: its size, the room before a column, and beside the last one.
_BESIDE_PT, _BEFORE_MM, _EDGE_MM = TEXT_PT - 0.5, 3.0, 1.5
#: Panel at least, beside text and side by side.
LEAST_MM, _PANEL_MM = 12.0, 20.0
#: What plotnine wants to know of a layer of our own.
_PLAIN: dict[str, Any] = {
    "stat": "identity",
    "position": "identity",
    "na_rm": False,
    "inherit_aes": False,
    "show_legend": False,
}


@dataclass(frozen=True)
class Rows:
    """Rows of a figure from the top down on an axis in mm: from 0 at the top to negative values.

    `values` are what stands in each row, `texts` their labels; `rules` are where a line sets the closing
    rows apart.
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

    def on(self, page: p9.ggplot) -> np.ndarray:
        """Which rows a page of the figure shows."""
        low, high = getattr(page.coordinates.limits, "y", None) or (-np.inf, np.inf)
        return (self.centres > low) & (self.centres < high)

    def layers(self, *, striped: bool = True) -> list[Any]:
        """Stripes that lead the eye along the rows, and the axis that names them."""
        middle, half = self.centres[1::2], self.heights[1::2] / 2
        stripes = pd.DataFrame({"ymin": middle - half, "ymax": middle + half})
        return [
            *([geom_stripe(p9.aes(ymin="ymin", ymax="ymax"), stripes)] if striped else []),
            p9.scale_y_continuous(
                breaks=[float(y) for y in self.centres],
                minor_breaks=[],
                labels=self.texts,
                limits=(-self.height, 0),
                expand=(0, 0),
            ),
        ]


def row_layout(
    values: Sequence[Any], texts: Sequence[str], n_marks: int | Sequence[int] = 1, n_closing: int = 0
) -> Rows:
    """Rows for values of up to `n_marks` marks, the last `n_closing` of them set apart by a gap."""
    lines = np.array([text.count("\n") + 1 for text in texts])
    heights = np.maximum(_MARK_MM * np.broadcast_to(n_marks, len(texts)), LINE_MM * lines) + _PAD_MM
    gaps = np.zeros(len(texts))
    first = len(texts) - n_closing
    if 0 < first < len(texts):
        gaps[first] = _GAP_MM
    bottoms = np.cumsum(heights + gaps)
    rules = [float(-(bottoms[first] - heights[first] - _GAP_MM / 2))] if gaps.any() else []
    return Rows(list(values), list(texts), -(bottoms - heights / 2), heights, rules)


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
    frame, labels, row = drawing.frame, drawing.labels, drawing.row
    values = labels.order(row, frame[row]) if row else [""]
    texts = short_labels(labels, row, values) if row else {"": ""}
    n_last = closing(values)
    first, last = values[: len(values) - n_last], values[len(values) - n_last :]
    values = [*(order(first) if order else first), *last]
    shown = [f"{texts[v]} {(suffixes or {}).get(v, '')}".rstrip() for v in values]
    rows = row_layout(values, shown, len(drawing.methods) if drawing.dodges else 1, n_last)
    y = rows.of(frame[row]) if row else np.repeat(rows.centres, len(frame))
    if drawing.dodges:
        y = y + dodged(frame["method_label"].cat.codes, len(drawing.methods))
    return frame.assign(y=y, row_label=[labels.value(row, v) for v in frame[row]] if row else ""), rows


def row_figure(
    frame: pd.DataFrame,
    rows: Rows,
    *,
    x_title: str,
    notes: Iterable[str],
    guides: pd.DataFrame,
    margins: pd.DataFrame | None = None,
    methods: Mapping[Any, str] | None = None,
    references: Sequence[str] = (),
    labels: Labels | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    n_columns: int = 1,
    width: float | None = None,
    legend: bool = True,
    log: bool = False,
    common: bool = False,
    striped: bool = True,
) -> list[p9.ggplot]:
    """Pages of estimates with their bars in rows, a panel for each value of `panel`.

    `frame` may have `fill`, the inside of each mark, and `last`, which marks are diamonds; `guides` has
    columns `panel` and `guide`, `margins` `panel` and `bound`; `columns` are texts beside the panels by their
    heading; `common` panels have the same axis.
    """
    methods, panels = methods or {}, list(frame["panel"].cat.categories)
    beside, room = _beside(frame, columns or {})
    width = width or figure_width(n_columns, panels)
    while n_columns > 1 and room_for_panel(rows, width, room, n_columns) < _PANEL_MM:
        n_columns -= 1
    least = room + _BEFORE_MM + LEAST_MM + max(map(text_mm, rows.texts))
    if columns and least > width:
        raise SalstatsError(
            f"width={width:g} has no room for marks between the labels and the text beside them; take "
            f"width={np.ceil(least):.0f} or shorter labels="
        )
    shown = list(methods.values()) if legend else []
    figure = (
        p9.ggplot(frame, p9.aes("estimate", "y"))
        + rows.layers(striped=striped)
        + p9.geom_vline(p9.aes(xintercept="guide"), data=guides, color=GUIDE, size=0.4)
        + ([] if margins is None or margins.empty else _margins(margins))
        + p9.geom_hline(yintercept=rows.rules, color=GUIDE, size=0.4)
        + _marks(frame, bool(methods))
        + beside
        + (group_scales(methods, references, width=width, labels=labels) if methods else [])
        + row_look(
            rows, panels, x_title, notes, shown, n_columns, width=width, room=room, log=log, common=common
        )
    )
    return row_pages(figure, rows, panels, n_columns, headed=room > 0)


def row_pages(
    figure: p9.ggplot, rows: Rows, panels: Sequence[str], n_columns: int, *, headed: bool = False
) -> list[p9.ggplot]:
    """A figure with rows on as many pages as it needs."""
    panel = rows.height + _AXIS_MM + _STRIP_MM * (any(panels) or headed)
    return on_pages(figure, panels, min(n_columns, len(panels)), panel, list(rows.centres - rows.heights / 2))


def _margins(margins: pd.DataFrame) -> list[Any]:
    """Dotted lines at the bounds of margins."""
    return [
        p9.geom_vline(p9.aes(xintercept="bound"), data=margins, color="black", size=0.4, linetype="dotted")
    ]


def figure_width(n_columns: int, panels: Sequence[str]) -> float:
    """Width in mm of a figure with panels side by side, or without."""
    return PAGE_MM if min(n_columns, len(panels)) > 1 else COLUMN_MM


def panels_of(panel: pd.Series, n_columns: int | None) -> tuple[list[str], str, int]:
    """Titles of panels, two side by side by default, or one's as that of its axis; how many side by side."""
    titles = list(panel.cat.categories)
    n_columns = min(check_count(2 if n_columns is None else n_columns, "n_columns"), len(titles))
    return (titles, "", n_columns) if len(titles) > 1 else ([""], titles[0], 1)


def room_for_panel(rows: Rows, width: float, room: float = 0.0, n_columns: int = 1) -> float:
    """About how wide a panel is in mm, between labels and the `room` for text beside it."""
    return (width - max(map(text_mm, rows.texts))) / n_columns - room - _BEFORE_MM


def _side(text: float, left: float, panels: float, width: float) -> float:
    """Where text is centred about panels without leaving the figure: 0 at their left to 1 at their right."""
    if abs(panels - text) < 1:
        return 0.5
    start = max(min(left + (panels - text) / 2, width - _EDGE_MM - text), _EDGE_MM)
    return float(np.clip((start - left) / (panels - text), 0, 1))


def row_look(
    rows: Rows,
    panels: Sequence[str],
    x_title: str,
    notes: Iterable[str],
    legend: Sequence[str],
    n_columns: int = 1,
    *,
    width: float | None = None,
    room: float = 0.0,
    log: bool = False,
    common: bool = False,
) -> list[Any]:
    """Axis, theme, titles, panels and size of a figure with rows, and room for text beside the panels."""
    n_columns = min(n_columns, len(panels))
    width = width or figure_width(n_columns, panels)
    x_title = wrapped(x_title, chars_in(width - 2 * _EDGE_MM), 2)
    titled, headed = any(panels), room > 0
    note = caption(notes, caption_chars(width, 3))
    height = -(-len(panels) // n_columns) * (rows.height + _AXIS_MM + _STRIP_MM * (titled or headed))
    height += (
        (_TITLE_MM + LINE_MM * x_title.count("\n") if x_title else 0)
        + _MARGIN_MM
        + caption_mm(note)
        + legend_mm(legend, width)
    )
    # without titles headings need room of their own
    head = _STRIP_MM if headed and not titled else 0.0
    length = room_for_panel(rows, width, room, n_columns)
    left = max(map(text_mm, rows.texts)) + _BEFORE_MM
    place = partial(_side, left=left, panels=width - left - room - _EDGE_MM, width=width)
    keys = legend_width(legend, legend_columns(legend, width)) if legend else 0.0
    numbers = {"breaks": partial(axis_breaks, length=length), "labels": tick_texts}
    look = {"minor_breaks": [], "expand": (0.03, 0)}
    nothing = p9.element_blank()
    return [
        p9.scale_x_log10(breaks=log_breaks, labels=log_texts, **look)
        if log
        else p9.scale_x_continuous(**numbers, **look),
        p9.labs(x=x_title, y="", caption=note),
        theme_salstats(),
        p9.theme(
            axis_title_y=nothing,
            axis_ticks_major_y=nothing,
            axis_line_y=nothing,
            axis_text_y=p9.element_text(ma="right"),
            plot_caption_position="plot",
            axis_title_x=p9.element_text(ha=place(text_mm(x_title))),
            legend_justification_top=place(keys),
            panel_spacing_x=max((room + 2 * _BEFORE_MM) / width, 0.05),
            panel_spacing_y=2 / width,
            plot_margin_right=(room + _EDGE_MM) / width,
            # plotnine takes these as parts of the width too
            plot_margin_top=max(_EDGE_MM, 0.0 if legend else head) / width,
            legend_box_spacing=max(1.0, head) / width,
        ),
        *([] if x_title else [p9.theme(axis_title_x=nothing)]),
        *([] if legend else [p9.theme(legend_position="none")]),
        *([p9.facet_wrap("panel", ncol=n_columns, scales="fixed" if common else "free_x")] if titled else []),
        figure_size(width, height),
    ]


def _marks(frame: pd.DataFrame, by_method: bool) -> list[Any]:
    """Bars, points, and diamonds for what sums others up."""
    colour: dict[str, Any] = {"color": "method_label"} if by_method else {}
    shape: dict[str, Any] = {"shape": "method_label"} if by_method else {}
    fill: dict[str, Any] = {"fill": "fill"} if "fill" in frame.columns else {}
    fixed: dict[str, Any] = {} if by_method else {"color": PALETTE[0]}
    square: dict[str, Any] = {} if by_method else {"shape": "s"}
    last = frame["last"] if "last" in frame.columns else pd.Series(False, index=frame.index)
    ends = p9.aes("conf_low", xend="conf_high", yend="y", **colour)
    own, closed = p9.aes(**colour, **shape, **fill), p9.aes(**colour, **fill)
    diamond = {"shape": "D", "size": _MARK + 0.3, "show_legend": False, "stroke": 0.4}
    return [
        p9.geom_segment(ends, frame[has_limits(frame)], size=_BAR, show_legend=False, **fixed),
        p9.geom_point(own, frame[~last], size=_MARK, stroke=0.4, **fixed, **square),
        *([p9.geom_point(closed, frame[last], **diamond, **fixed)] if last.any() else []),
        *([p9.scale_fill_identity()] if fill else []),
    ]


def beside_mm(columns: Mapping[str, Sequence[str]]) -> float:
    """Room in mm that columns of text take beside a panel."""
    return sum(
        max(1.15 * text_mm(heading, _BESIDE_PT), *(text_mm(text, _BESIDE_PT) for text in texts)) + _BEFORE_MM
        for heading, texts in columns.items()
    )


def _beside(frame: pd.DataFrame, columns: Mapping[str, Sequence[str]]) -> tuple[list[Any], float]:
    """Layers of text beside the panels, and the room that it takes in mm."""
    layers, room = [], 0.0
    for heading, texts in columns.items():
        room += beside_mm({heading: texts})
        data = frame.assign(text=list(texts))
        layers.append(geom_beside(p9.aes(y="y", label="text"), data, heading=heading, right=room / MM_PER_PT))
    return layers, room


class geom_stripe(p9.geoms.geom.geom):
    """Fill of rows over the whole width of a panel, whatever its axis."""

    REQUIRED_AES = {"ymin", "ymax"}  # noqa: RUF012 (plotnine's own attribute)
    DEFAULT_PARAMS = _PLAIN

    def draw_panel(self, data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any) -> None:
        """Add the stripes of one panel."""
        for low, high in zip(data["ymin"], data["ymax"], strict=True):
            ax.axhspan(low, high, color=_STRIPE, linewidth=0, zorder=self.params["zorder"])


class geom_beside(p9.geoms.geom.geom):
    """Column of text at the right of a panel.

    It ends `right` points beyond the panel, whatever the panel's axis, and has its heading above.
    """

    REQUIRED_AES = {"y", "label"}  # noqa: RUF012 (plotnine's own attribute)
    DEFAULT_PARAMS = _PLAIN | {"heading": "", "right": 0.0}

    def draw_panel(self, data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any) -> None:
        """Add the texts of one panel."""
        placed = coord.transform(data, panel_params)
        look = {"textcoords": "offset points", "ha": "right", "family": font(), "fontsize": _BESIDE_PT}
        right = self.params["right"]
        for y, text in zip(placed["y"], placed["label"], strict=True):
            at = {"xy": (1, y), "xycoords": ("axes fraction", "data"), "annotation_clip": False}
            ax.annotate(text, xytext=(right, 0), va="center_baseline", **at, **look)
        at = {"xy": (1, 1), "xycoords": "axes fraction", "annotation_clip": False}
        ax.annotate(self.params["heading"], xytext=(right, 2), va="bottom", weight="bold", **at, **look)
