"""Panels of rows side by side, and the figures of estimates put together from them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_count
from salstats.display.plots.layout.axis_ticks import axis_breaks, log_breaks, log_texts, tick_texts
from salstats.display.plots.layout.beside import BEFORE_MM, beside_layers, columns_mm, narrowed
from salstats.display.plots.layout.drawing import barred_rows
from salstats.display.plots.layout.figure_rows import Rows
from salstats.display.plots.layout.legends import (
    EDGE_MM,
    group_scales,
    legend_columns,
    legend_mm,
    legend_width,
    side,
)
from salstats.display.plots.layout.pages import on_pages
from salstats.display.plots.layout.text_fit import (
    LABEL_CHARS,
    caption,
    caption_chars,
    caption_mm,
    chars_in,
    text_mm,
    wrapped,
    wrapped_texts,
)
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    GUIDE,
    LINE_MM,
    PAGE_MM,
    PALETTE,
    above,
    figure_size,
    theme_salstats,
)
from salstats.display.text.labels import Labels

#: Sizes of a mark and of its bar, in points.
_MARK, _BAR = 1.4, 0.5
#: Height of a panel's title, of its axis, of the axis's title, and of the margins.
_STRIP_MM, _AXIS_MM, _TITLE_MM, _MARGIN_MM = 6.0, 5.5, 4.0, 4.0
#: Panel beside text at least, and better; side by side; and the height from which lines lead to its axis.
_LEAST_MM, _ENOUGH_MM, _PANEL_MM, _TALL_MM = 12.0, 16.0, 20.0, 100.0
#: Colour of those lines.
_LINE = "#E4E4E4"
#: Characters of labels' lines where longer ones leave no room for a panel.
_NARROWER = (LABEL_CHARS, 18, 16, 14, 13, 12, 11)


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
    grid = row_panels(rows, panels, n_columns, width, columns or {})
    if columns and grid.length < _LEAST_MM:
        least = np.ceil(grid.width + _LEAST_MM - grid.length)
        raise SalstatsError(
            f"width={grid.width:g} has no room for marks between the labels and the text beside them; take "
            f"width={least:.0f} or shorter labels="
        )
    figure = (
        p9.ggplot(frame, p9.aes("estimate", "y"))
        + rows.layers(striped=striped)
        + p9.geom_vline(p9.aes(xintercept="guide"), data=guides, color=GUIDE, size=0.4)
        + ([] if margins is None or margins.empty else _margins(margins))
        + p9.geom_hline(yintercept=rows.rules, color=GUIDE, size=0.4)
        + _marks(frame, bool(methods))
        + beside_layers(frame, columns or {})
        + (group_scales(methods, references, width=grid.width, labels=labels) if methods else [])
        + grid.look(x_title, notes, list(methods.values()) if legend else [], log=log, common=common)
    )
    return grid.pages(figure)


def fitting_rows(
    place: Callable[[float], tuple[pd.DataFrame, Rows]], columns: Mapping[str, Sequence[str]], width: float
) -> tuple[pd.DataFrame, Rows, dict[str, Sequence[str]]]:
    """Frame, rows and columns of text as they leave room for a panel.

    `place` makes frame and rows with so many characters in a line of a label; headings of columns and then
    labels take more lines where they have to.
    """
    whole = dict(columns)
    tried = [(*place(LABEL_CHARS), whole), *((*place(chars), narrowed(whole)) for chars in _NARROWER)]
    fitting = [one for one in tried if fits(*one[1:], width)]
    words = _words(place(np.inf)[1])

    def worth(one: tuple[pd.DataFrame, Rows, dict[str, Sequence[str]]]) -> tuple[int, float]:
        """As few words broken as can be, then a panel that is wide enough."""
        room = _room_for_panel(one[1], width, columns_mm(one[2]))
        return -len(_words(one[1]) - words), min(room, _ENOUGH_MM)

    return max(fitting, key=worth) if fitting else tried[-1]


def _words(rows: Rows) -> set[str]:
    """Words of rows' labels."""
    return {word for text in rows.texts for word in text.split()}


def fits(rows: Rows, columns: Mapping[str, Sequence[str]], width: float) -> bool:
    """Whether a panel has room between rows' labels and columns of text."""
    return _room_for_panel(rows, width, columns_mm(columns)) >= _LEAST_MM


def _margins(margins: pd.DataFrame) -> list[Any]:
    """Dotted lines at the bounds of margins."""
    return [
        p9.geom_vline(p9.aes(xintercept="bound"), data=margins, color="black", size=0.4, linetype="dotted")
    ]


def figure_width(n_columns: int, panels: Sequence[str]) -> float:
    """Width in mm of a figure with panels side by side, or without."""
    return PAGE_MM if min(n_columns, len(panels)) > 1 else COLUMN_MM


def panels_of(panel: pd.Series, n_columns: int | None) -> tuple[list[str], str, int]:
    """Titles of panels, or one's as that of its axis; how many side by side, by default two or all three."""
    titles = list(panel.cat.categories)
    n_columns = 2 + (len(titles) == 3) if n_columns is None else check_count(n_columns, "n_columns")
    n_columns = min(n_columns, len(titles))
    return (titles, "", n_columns) if len(titles) > 1 else ([""], titles[0], 1)


def _room_for_panel(rows: Rows, width: float, room: float = 0.0, n_columns: int = 1) -> float:
    """About how wide a panel is in mm, between labels and the `room` for text beside it."""
    return (width - max(map(text_mm, rows.texts))) / n_columns - room - BEFORE_MM


@dataclass(frozen=True)
class RowPanels:
    """Panels side by side that have the same rows, in mm: `room` is that for text beside each.

    `titles` are the panels' as they are written, `heads` how many lines the headings of that text have.
    """

    rows: Rows
    titles: dict[str, str]
    n_columns: int
    width: float
    room: float
    heads: int

    @property
    def length(self) -> float:
        """Width of a panel."""
        return _room_for_panel(self.rows, self.width, self.room, self.n_columns)

    @property
    def _titled(self) -> bool:
        """Whether panels have titles."""
        return any(self.titles)

    @property
    def _head(self) -> float:
        """Room above a panel for its title and the headings of text."""
        lines = max(self.heads, *(t.count("\n") + 1 for t in self.titles.values() if t), 0, 0)
        return max(_STRIP_MM, lines * 1.1 * LINE_MM + 2) if lines else 0.0

    @property
    def _panel(self) -> float:
        """Height of a panel with its title and axis."""
        return self.rows.height + _AXIS_MM + self._head

    def pages(self, figure: p9.ggplot) -> list[p9.ggplot]:
        """A figure with this look on as many pages as it needs."""
        return on_pages(
            figure, list(self.titles), self.n_columns, self._panel, self.rows.edges, self.rows.ends
        )

    def _title(self, panel: str) -> str:
        """Title of a panel as it is written, as high as all are."""
        text = self.titles[panel]
        lines = max(self.heads, *(t.count("\n") + 1 for t in self.titles.values()))
        return "\n" * (lines - 1 - text.count("\n")) + text

    def look(
        self,
        x_title: str,
        notes: Iterable[str],
        legend: Sequence[str],
        *,
        log: bool = False,
        common: bool = False,
    ) -> list[Any]:
        """Axis, theme, titles, panels and size of a figure with rows, and room for text beside the panels."""
        width, room = self.width, self.room
        x_title = wrapped(x_title, chars_in(0.96 * width - EDGE_MM), 2)
        note = caption(notes, caption_chars(width))
        height = -(-len(self.titles) // self.n_columns) * self._panel + _MARGIN_MM
        height += _TITLE_MM + LINE_MM * x_title.count("\n") if x_title else 0
        height += caption_mm(note) + legend_mm(legend, width)
        # without titles headings need room of their own
        head = 0.0 if self._titled else self._head
        left = max(map(text_mm, self.rows.texts)) + BEFORE_MM
        place = partial(side, left=left, panels=width - left - room - EDGE_MM, width=width)
        keys = legend_width(legend, legend_columns(legend, width)) if legend else 0.0
        look: dict[str, Any] = {"minor_breaks": [], "expand": (0.03, 0)}
        nothing = p9.element_blank()
        lines = p9.element_line(color=_LINE, size=0.25)
        scales = "fixed" if common else "free_x"
        return [
            p9.scale_x_log10(breaks=partial(log_breaks, length=self.length), labels=log_texts, **look)
            if log
            else p9.scale_x_continuous(
                breaks=partial(axis_breaks, length=self.length), labels=tick_texts, **look
            ),
            p9.labs(x=x_title, y="", caption=note),
            theme_salstats(),
            p9.theme(
                axis_title_y=nothing,
                axis_ticks_major_y=nothing,
                axis_line_y=nothing,
                axis_text_y=p9.element_text(ma="right"),
                axis_title_x=p9.element_text(ha=place(text_mm(x_title)), margin=above(1, width)),
                legend_justification_top=place(keys),
                panel_spacing_x=max((room + 2 * BEFORE_MM) / width, 0.05),
                panel_spacing_y=2 / width,
                plot_margin_right=(room + EDGE_MM) / width,
                # plotnine takes these as parts of the width too
                plot_margin_top=max(EDGE_MM, 0.0 if legend else head) / width,
                legend_box_spacing=max(2.0, head) / width,
            ),
            *([p9.theme(panel_grid_major_x=lines)] if self.rows.height > _TALL_MM else []),
            *([] if x_title else [p9.theme(axis_title_x=nothing)]),
            *([] if legend else [p9.theme(legend_position="none")]),
            *(
                [p9.facet_wrap("panel", ncol=self.n_columns, scales=scales, labeller=self._title)]
                if self._titled
                else []
            ),
            figure_size(width, height),
        ]


def row_panels(
    rows: Rows,
    panels: Sequence[str],
    n_columns: int = 1,
    width: float | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> RowPanels:
    """Panels of rows, as many side by side as have room beside the columns of text, `n_columns` at most."""
    n_columns, width = min(n_columns, len(panels)), width or figure_width(n_columns, panels)
    room = columns_mm(columns or {})
    word = max(text_mm(word, bold=True) for title in panels for word in [*title.split(), ""])
    least = max(_PANEL_MM, word + BEFORE_MM - EDGE_MM - room)
    while n_columns > 1 and _room_for_panel(rows, width, room, n_columns) < least:
        n_columns -= 1
    length = _room_for_panel(rows, width, room, n_columns)
    heads = max((heading.count("\n") + 1 for heading in columns or {}), default=0)
    if not any(panels):
        return RowPanels(rows, {"": ""}, n_columns, width, room, heads)
    # panels are narrower by the gaps between them
    own = length - BEFORE_MM + (BEFORE_MM - EDGE_MM) / n_columns
    titles = wrapped_texts(panels, chars_in(own, bold=True), None)
    # titles that are higher beside the headings of text stand above these
    over = wrapped_texts(panels, chars_in(own + room, bold=True), None)
    over = {title: text + "\n" * heads for title, text in over.items()}
    if word > own or max(t.count("\n") for t in titles.values()) > max(t.count("\n") for t in over.values()):
        titles = over
    return RowPanels(rows, titles, n_columns, width, room, heads)


def _marks(frame: pd.DataFrame, by_method: bool) -> list[Any]:
    """Bars, points, and diamonds for what sums others up."""
    colour: dict[str, Any] = {"color": "method_label"} if by_method else {}
    shape: dict[str, Any] = {"shape": "method_label"} if by_method else {}
    fill: dict[str, Any] = {"fill": "fill"} if "fill" in frame.columns else {}
    fixed: dict[str, Any] = {} if by_method else {"color": PALETTE[0]}
    square: dict[str, Any] = {} if by_method else {"shape": "s"}
    last = frame["last"] if "last" in frame.columns else pd.Series(False, index=frame.index)
    limited = barred_rows(frame)
    ends = p9.aes("conf_low", xend="conf_high", yend="y", **colour)
    own, closed = p9.aes(**colour, **shape, **fill), p9.aes(**colour, **fill)
    diamond = {"shape": "D", "size": _MARK + 0.3, "show_legend": False, "stroke": 0.4}
    return [
        p9.geom_segment(ends, limited, size=_BAR, show_legend=False, **fixed),
        p9.geom_point(own, frame[~last], size=_MARK, stroke=0.4, **fixed, **square),
        *([p9.geom_point(closed, frame[last], **diamond, **fixed)] if last.any() else []),
        *([p9.scale_fill_identity()] if fill else []),
    ]
