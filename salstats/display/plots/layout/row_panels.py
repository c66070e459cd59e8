"""Panels that share the rows of a figure of estimates, and their layers, axes and size."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_count
from salstats.display.plots.layout.axis_ticks import axis_breaks, log_breaks, log_texts, tick_texts
from salstats.display.plots.layout.estimate_drawing import barred_rows
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.figure_rows import PlacedRows, Rows
from salstats.display.plots.layout.legends import (
    EDGE_MM,
    centred_justification,
    group_scales,
)
from salstats.display.plots.layout.panel_grid import FacetScales, Panels
from salstats.display.plots.layout.text_columns import (
    COLUMN_GAP_MM,
    text_column_layers,
    text_columns_mm,
    wrap_headings,
)
from salstats.display.plots.layout.text_fit import (
    LABEL_CHARS,
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
    top_margin,
)
from salstats.display.text.labels import Labels
from salstats.errors import Message, SalstatsError, Setting

#: Size of a mark and width of its bar, in points.
_MARK_PT = 1.4
_BAR_PT = 0.5
#: Heights in mm of a panel's title, of its axis, of the axis's title, and of the margins of the figure.
_STRIP_MM = 6.0
_AXIS_MM = 5.5
_TITLE_MM = 4.0
_MARGIN_MM = 4.0
#: Least width in mm of a panel beside text, and the width beyond which labels are not wrapped for its sake.
_MIN_PANEL_MM = 12.0
_WIDE_PANEL_MM = 16.0
#: Least width in mm of panels side by side.
_MIN_SIDE_BY_SIDE_MM = 20.0
#: Height in mm of the rows beyond which vertical lines lead the eye to the axis, and the colour of the lines.
_TALL_MM = 100.0
_GRID_COLOUR = "#E4E4E4"
#: Characters of a line of the labels, tried in turn until the panel is wide enough.
_LABEL_CHARS_TRIED = (LABEL_CHARS, 18, 16, 14, 13, 12, 11)


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
) -> Figure:
    """Figure of estimates with their bars in rows, a panel for each value of `panel`.

    `frame` has columns `panel`, `y` and `estimate`; optional columns are `fill`, the colour inside each mark,
    and `last`, whether a mark is a diamond. `guides` has columns `panel` and `guide`, `margins` has `panel`
    and `bound`, both positions of vertical lines. `columns` are columns of text at the right of the panels,
    by their headings. Panels have the same axis if `common`, a logarithmic one if `log`.
    """
    methods = methods or {}
    columns = columns or {}
    grid = row_panels(rows, list(frame["panel"].cat.categories), n_columns, width, columns)
    if columns and grid.length < _MIN_PANEL_MM:
        sufficient_width = math.ceil(grid.width + _MIN_PANEL_MM - grid.length)
        raise SalstatsError(
            Setting("width", round(grid.width)),
            " has no room for marks between the labels and the text beside them",
            hint=Message("take ", Setting("width", sufficient_width), " or shorter ", Setting("labels")),
        )
    scales = group_scales(methods, references, width=grid.width, labels=labels) if methods else []
    figure = (
        p9.ggplot(frame, p9.aes("estimate", "y"))
        + rows.layers(striped=striped)
        + p9.geom_vline(p9.aes(xintercept="guide"), data=guides, color=GUIDE, size=0.4)
        + _margin_layers(margins)
        + p9.geom_hline(yintercept=rows.rules, color=GUIDE, size=0.4)
        + _mark_layers(frame, by_method=bool(methods))
        + text_column_layers(frame, columns)
        + scales
        + grid.elements(x_title, notes, list(methods.values()) if legend else [], log=log, common=common)
    )
    return grid.pages(figure)


class FittedRows(NamedTuple):
    """Frame, rows and columns of text whose labels and headings are wrapped to leave room for a panel."""

    frame: pd.DataFrame
    rows: Rows
    columns: Mapping[str, Sequence[str]]


def fitting_rows(
    rows_for_chars: Callable[[float], PlacedRows], columns: Mapping[str, Sequence[str]], width: float
) -> FittedRows:
    """Rows and columns of text that leave enough room for a panel and break the fewest words.

    `rows_for_chars` makes frame and rows for a number of characters in a line of the labels. First full
    headings are tried, then wrapped headings with shorter and shorter lines of labels.
    """
    narrow_columns = wrap_headings(columns)
    candidates = [FittedRows(*rows_for_chars(LABEL_CHARS), dict(columns))]
    candidates += [FittedRows(*rows_for_chars(chars), narrow_columns) for chars in _LABEL_CHARS_TRIED]
    fitting = [fitted for fitted in candidates if panel_fits(fitted.rows, fitted.columns, width)]
    if not fitting:
        return candidates[-1]
    unbroken_words = _label_words(rows_for_chars(np.inf).rows)

    def preference(fitted: FittedRows) -> tuple[int, float]:
        n_broken = len(_label_words(fitted.rows) - unbroken_words)
        panel_width = _panel_width(fitted.rows, width, text_columns_mm(fitted.columns))
        return -n_broken, min(panel_width, _WIDE_PANEL_MM)

    return max(fitting, key=preference)


def _label_words(rows: Rows) -> set[str]:
    """Distinct words of the labels of rows."""
    return {word for text in rows.texts for word in text.split()}


def panel_fits(rows: Rows, columns: Mapping[str, Sequence[str]], width: float) -> bool:
    """Return whether a panel has enough room between the labels of rows and columns of text."""
    return _panel_width(rows, width, text_columns_mm(columns)) >= _MIN_PANEL_MM


def figure_width(n_columns: int, panels: Sequence[str]) -> float:
    """Width in mm of a figure: a page for panels side by side, else a column."""
    return PAGE_MM if min(n_columns, len(panels)) > 1 else COLUMN_MM


class PanelTitles(NamedTuple):
    """Titles of panels, the title of their axis, and the number of panels side by side."""

    titles: list[str]
    axis_title: str
    n_columns: int


def panel_titles(panel: pd.Series, n_columns: int | None) -> PanelTitles:
    """Titles of the panels of a figure; that of a single panel is the title of its axis.

    By default two panels stand side by side, or all three.
    """
    titles = list(panel.cat.categories)
    if n_columns is None:
        n_columns = 3 if len(titles) == 3 else 2
    else:
        check_count(n_columns, "n_columns")
    if len(titles) == 1:
        return PanelTitles([""], titles[0], 1)
    return PanelTitles(titles, "", min(n_columns, len(titles)))


def _panel_width(rows: Rows, width: float, columns_mm: float = 0.0, n_columns: int = 1) -> float:
    """Width in mm of a panel between the labels and the columns of text, which take `columns_mm`."""
    return (width - max(map(text_mm, rows.texts))) / n_columns - columns_mm - COLUMN_GAP_MM


@dataclass(frozen=True)
class RowPanels(Panels):
    """Panels side by side that share the rows of a figure.

    Attributes
    ----------
    titles, width, n_columns
        See `Panels`.
    rows : Rows
        The rows, whose labels stand at the left of each line of panels.
    columns_mm : float
        Width in mm of the columns of text at the right of each panel.
    heading_lines : int
        Lines of the highest heading of these columns.
    """

    rows: Rows
    columns_mm: float
    heading_lines: int

    @property
    def length(self) -> float:
        """Width of a panel."""
        return _panel_width(self.rows, self.width, self.columns_mm, self.n_columns)

    @property
    def _has_titles(self) -> bool:
        """Return whether panels have titles."""
        return any(self.titles)

    @property
    def _head_mm(self) -> float:
        """Height of the titles of panels and the headings of columns of text."""
        title_lines = [title.count("\n") + 1 for title in self.titles.values() if title]
        n_lines = max([self.heading_lines, *title_lines])
        return max(_STRIP_MM, n_lines * 1.1 * LINE_MM + 2) if n_lines else 0.0

    @property
    def _panel_mm(self) -> float:
        """Height of a panel with its title and axis."""
        return self.rows.height + _AXIS_MM + self._head_mm

    def pages(self, figure: p9.ggplot) -> Figure:
        """Divide a figure with these elements into as many pages as it needs."""
        return self.divided(figure, self._panel_mm, edges=self.rows.edges, ends=self.rows.ends)

    def _padded_title(self, panel: str) -> str:
        """Title of a panel, below empty lines that make all titles equally high."""
        title = self.titles[panel]
        n_lines = max([self.heading_lines, *(text.count("\n") + 1 for text in self.titles.values())])
        return "\n" * (n_lines - 1 - title.count("\n")) + title

    def _x_scale(self, *, log: bool) -> Any:
        """Scale of the horizontal axis."""
        options: dict[str, Any] = {"minor_breaks": [], "expand": (0.03, 0)}
        if log:
            breaks = partial(log_breaks, length=self.length)
            return p9.scale_x_log10(breaks=breaks, labels=log_texts, **options)
        breaks = partial(axis_breaks, length=self.length)
        return p9.scale_x_continuous(breaks=breaks, labels=tick_texts, **options)

    def elements(
        self,
        x_title: str,
        notes: Iterable[str],
        legend: Sequence[str],
        *,
        log: bool = False,
        common: bool = False,
    ) -> list[Any]:
        """Axis, theme, titles, panels and size of the figure.

        `legend` are the texts of the legend, `notes` the sentences of the caption. The axis is logarithmic if
        `log`, and the same in all panels if `common`.
        """
        x_title = wrapped(x_title, chars_in(0.96 * self.width - EDGE_MM), 2)
        panels_height = self.n_rows * self._panel_mm + _MARGIN_MM
        if x_title:
            panels_height += _TITLE_MM
        elements = [
            self._x_scale(log=log),
            *self.figure_around(panels_height, x=x_title, y="", notes=notes, legend=legend),
            self._theme(x_title, legend),
        ]
        if self.rows.height > _TALL_MM:
            elements.append(p9.theme(panel_grid_major_x=p9.element_line(color=_GRID_COLOUR, size=0.25)))
        if not x_title:
            elements.append(p9.theme(axis_title_x=p9.element_blank()))
        if not legend:
            elements.append(p9.theme(legend_position="none"))
        if self._has_titles:
            scales: FacetScales = "fixed" if common else "free_x"
            elements.append(self.facet_wrap("panel", self._padded_title, scales))
        return elements

    def _theme(self, x_title: str, legend: Sequence[str]) -> p9.theme:
        """Theme with the room around and between panels, and the positions of axis title and legend."""
        width = self.width
        left = max(map(text_mm, self.rows.texts)) + COLUMN_GAP_MM
        justification = partial(
            centred_justification, left=left, panels=width - left - self.columns_mm - EDGE_MM, width=width
        )
        # titles have room of their own; headings without them stand in the margin or below the legend
        heading_mm = 0.0 if self._has_titles else self._head_mm
        top_mm = EDGE_MM if legend else max(EDGE_MM, heading_mm)
        blank = p9.element_blank()
        return p9.theme(
            axis_title_y=blank,
            axis_ticks_major_y=blank,
            axis_line_y=blank,
            axis_text_y=p9.element_text(ma="right"),
            axis_title_x=p9.element_text(ha=justification(text_mm(x_title)), margin=top_margin(1, width)),
            legend_justification_top=justification(self.legend_width(legend)),
            panel_spacing_x=max((self.columns_mm + 2 * COLUMN_GAP_MM) / width, 0.05),
            panel_spacing_y=2 / width,
            plot_margin_right=(self.columns_mm + EDGE_MM) / width,
            # plotnine takes the heights of these, too, as shares of the width
            plot_margin_top=top_mm / width,
            legend_box_spacing=max(2.0, heading_mm) / width,
        )


def row_panels(
    rows: Rows,
    panels: Sequence[str],
    n_columns: int = 1,
    width: float | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> RowPanels:
    """Panels of rows, at most `n_columns` side by side, fewer where they would become too narrow.

    `columns` are the columns of text at the right of each panel, by their headings.
    """
    columns = columns or {}
    n_columns = min(n_columns, len(panels))
    width = width or figure_width(n_columns, panels)
    columns_mm = text_columns_mm(columns)
    widest_word = max(text_mm(word, bold=True) for title in panels for word in [*title.split(), ""])
    # a title may extend over the columns of text
    min_width = max(_MIN_SIDE_BY_SIDE_MM, widest_word + COLUMN_GAP_MM - EDGE_MM - columns_mm)
    while n_columns > 1 and _panel_width(rows, width, columns_mm, n_columns) < min_width:
        n_columns -= 1
    heading_lines = max((heading.count("\n") + 1 for heading in columns), default=0)
    titles = {"": ""}
    if any(panels):
        panel_width = _panel_width(rows, width, columns_mm, n_columns)
        # the gaps between panels, as a share of each panel
        title_width = panel_width - COLUMN_GAP_MM + (COLUMN_GAP_MM - EDGE_MM) / n_columns
        titles = _wrapped_titles(panels, title_width, columns_mm, heading_lines, widest_word)
    return RowPanels(
        titles=titles,
        width=width,
        n_columns=n_columns,
        rows=rows,
        columns_mm=columns_mm,
        heading_lines=heading_lines,
    )


def _wrapped_titles(
    panels: Sequence[str], title_width: float, columns_mm: float, heading_lines: int, widest_word: float
) -> dict[str, str]:
    """Titles of panels, level with the headings of columns of text or, if that takes fewer lines, above."""
    level_titles = wrapped_texts(panels, chars_in(title_width, bold=True), None)
    raised_titles = {
        title: text + "\n" * heading_lines
        for title, text in wrapped_texts(panels, chars_in(title_width + columns_mm, bold=True), None).items()
    }
    n_breaks_level = max(text.count("\n") for text in level_titles.values())
    n_breaks_raised = max(text.count("\n") for text in raised_titles.values())
    if widest_word > title_width or n_breaks_level > n_breaks_raised:
        return raised_titles
    return level_titles


def _margin_layers(margins: pd.DataFrame | None) -> list[Any]:
    """Layer of dotted lines at the bounds of margins, none without margins."""
    if margins is None or margins.empty:
        return []
    bound = p9.aes(xintercept="bound")
    return [p9.geom_vline(bound, data=margins, color="black", size=0.4, linetype="dotted")]


def _mark_layers(frame: pd.DataFrame, *, by_method: bool) -> list[Any]:
    """Layers of bars and points, and of diamonds for rows that summarise others.

    Colour and shape of marks tell methods apart if `by_method`; else all are squares of one colour.
    """
    colour: dict[str, str] = {}
    shape: dict[str, str] = {}
    fixed_colour: dict[str, str] = {}
    fixed_shape: dict[str, str] = {}
    if by_method:
        colour["color"] = "method_label"
        shape["shape"] = "method_label"
    else:
        fixed_colour["color"] = PALETTE[0]
        fixed_shape["shape"] = "s"
    fill = {"fill": "fill"} if "fill" in frame.columns else {}
    is_summary = frame["last"] if "last" in frame.columns else pd.Series(False, index=frame.index)
    bar = p9.aes("conf_low", xend="conf_high", yend="y", **colour)
    point = p9.aes(**colour, **shape, **fill)
    layers: list[Any] = [
        p9.geom_segment(bar, barred_rows(frame), size=_BAR_PT, show_legend=False, **fixed_colour),
        p9.geom_point(point, frame[~is_summary], size=_MARK_PT, stroke=0.4, **fixed_colour, **fixed_shape),
    ]
    if is_summary.any():
        layers.append(
            p9.geom_point(
                p9.aes(**colour, **fill),
                frame[is_summary],
                shape="D",
                size=_MARK_PT + 0.3,
                stroke=0.4,
                show_legend=False,
                **fixed_colour,
            )
        )
    if fill:
        layers.append(p9.scale_fill_identity())
    return layers
