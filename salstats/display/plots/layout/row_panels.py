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
from salstats.display.plots.layout.axis_limits import (
    arrow_layers,
    vertical_lines_within_axes,
    with_bars_cut_at_limits,
)
from salstats.display.plots.layout.axis_sides import SIDES_MM, axis_side_layers
from salstats.display.plots.layout.axis_ticks import axis_breaks, log_breaks, log_texts, tick_texts
from salstats.display.plots.layout.empty_rows import empty_row_layers, empty_row_texts
from salstats.display.plots.layout.estimate_drawing import rows_with_both_limits
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.figure_rows import FigureRows, PlacedRows
from salstats.display.plots.layout.legends import (
    EDGE_MM,
    group_scales,
    justification_centred_on_panels,
    method_styles,
)
from salstats.display.plots.layout.panel_grid import FacetScales, Panels
from salstats.display.plots.layout.text_columns import (
    COLUMN_GAP_MM,
    text_column_layers,
    text_columns_width_mm,
    with_wrapped_headings,
)
from salstats.display.plots.layout.text_fit import (
    LABEL_CHARS,
    TEXT_SHARE,
    chars_in,
    text_width_mm,
    widest_word_mm,
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

#: Size of a mark, of the diamond of a summary (larger, since it is pointed), and width of a bar, in the unit
#: of plotnine's `size`, which is sqrt(pi) points.
_MARK_SIZE = 1.4
_DIAMOND_SIZE = 1.7
_BAR_SIZE = 0.5
#: Heights in mm of a panel's title, of its axis, of the axis's title, and of the margins of the figure.
_MIN_TITLE_MM = 6.0
_AXIS_MM = 5.5
_AXIS_TITLE_MM = 4.0
_MARGIN_MM = 4.0
#: Height of a line of bold titles over that of a line of text, and room in mm above and below the lines.
_TITLE_LINE_FACTOR = 1.1
_TITLE_PADDING_MM = 2.0
#: Least width in mm of a panel beside text, the width up to which labels are shortened for its sake, and that
#: up to which they are wrapped.
_MIN_PANEL_MM = 12.0
_USUAL_PANEL_MM = 16.0
WIDE_PANEL_MM = 25.0
#: Least width in mm of panels side by side.
_MIN_SIDE_BY_SIDE_MM = 25.0
#: Height in mm of the rows beyond which vertical lines lead the eye to the axis, and the colour of the lines.
_TALL_MM = 100.0
_GRID_COLOUR = "#E4E4E4"
#: Characters of a line of the labels, tried in turn until the panel is wide enough.
_LABEL_CHARS_TRIED = (LABEL_CHARS, 18, 16, 14, 13, 12, 11)


def row_figure(
    frame: pd.DataFrame,
    rows: FigureRows,
    *,
    x_title: str,
    notes: Iterable[str],
    guides: pd.DataFrame,
    margins: pd.DataFrame | None = None,
    sides: pd.DataFrame | None = None,
    limits: pd.DataFrame | None = None,
    methods: Mapping[Any, str] | None = None,
    references: Sequence[str] = (),
    labels: Labels | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    n_columns: int = 1,
    width: float | None = None,
    legend: bool = True,
    is_log: bool = False,
    common_axis: bool = False,
    striped: bool = True,
) -> Figure:
    """Return a figure of estimates with their bars in rows, with a panel for each value of `panel`.

    Parameters
    ----------
    frame : DataFrame
        A row per mark, with columns `panel`, `y` (vertical position in mm), `estimate`, `conf_low` and
        `conf_high`; optional columns are `method_label`, `fill` (the colour inside each mark) and `last`
        (whether a mark is of a summary, drawn as a diamond). A text stands instead of a mark where the
        estimate is NaN (the one in the column `no_mark`, if there is one), and in rows of a panel that have
        marks in other panels only.
    rows : FigureRows
        The rows of the figure with their labels.
    x_title : str
        Title of the horizontal axis.
    notes : iterable of str
        Sentences of the caption.
    guides, margins : DataFrame
        Positions of grey and of dotted vertical lines in each panel: columns `panel` and `guide`, and `panel`
        and `bound`.
    sides : DataFrame, optional
        The sign of better methods in each panel, which texts below its axis show; see
        `better_side_signs_by_panel`.
    limits : DataFrame, optional
        The ends of the axes, as `limits_of_cut_axes` returns them.
    methods : mapping, optional
        Text of each method in the legend; without it all marks look alike.
    references : sequence of str
        The methods drawn in black.
    labels : Labels, optional
        Labels with the colours of methods.
    columns : mapping, optional
        Columns of text at the right of the panels, by their headings.
    n_columns : int
        Most panels side by side.
    width : float, optional
        Width of the figure in mm.
    legend : bool
        Whether there is a legend of methods.
    is_log : bool
        Whether the horizontal axis is logarithmic.
    common_axis : bool
        Whether all panels have the same horizontal axis.
    striped : bool
        Whether every second row has a grey stripe.
    """
    methods = methods or {}
    columns = columns or {}
    has_sides = sides is not None and not sides.empty
    grid = row_panels(
        rows, list(frame["panel"].cat.categories), n_columns, width, columns, has_sides=has_sides
    )
    if columns and grid.panel_width < _MIN_PANEL_MM:
        sufficient_width = math.ceil(grid.width + _MIN_PANEL_MM - grid.panel_width)
        raise SalstatsError(
            Setting("width", round(grid.width)),
            " has no room for marks between the labels and the text beside them",
            hint=Message("take ", Setting("width", sufficient_width), " or shorter ", Setting("labels")),
        )
    scales: list[Any] = []
    colours: dict[str, str] = {}
    if methods:
        scales = group_scales(methods, references, width=grid.width, labels=labels)
        styles = method_styles(methods, references, labels).values()
        colours = {text: style.colour for text, style in zip(methods.values(), styles, strict=True)}
    legend_texts = list(methods.values()) if legend else []
    if limits is None:
        limits = pd.DataFrame({"panel": [], "low": [], "high": []})
    guides = vertical_lines_within_axes(guides, "guide", limits)
    if margins is not None:
        margins = vertical_lines_within_axes(margins, "bound", limits)
    figure = (
        Figure(frame, p9.aes("estimate", "y"))
        + rows.axis_and_stripe_layers(striped=striped)
        + p9.geom_vline(p9.aes(xintercept="guide"), data=guides, color=GUIDE, size=0.4)
        + _margin_layers(margins)
        + p9.geom_hline(yintercept=rows.rules, color=GUIDE, size=0.4)
        + _mark_layers(with_bars_cut_at_limits(frame, limits, log=is_log), limits, by_method=bool(methods))
        + empty_row_layers(empty_row_texts(frame, rows, colours, striped=striped))
        + text_column_layers(frame, columns)
        + axis_side_layers(sides, grid.panel_width)
        + scales
        + grid.elements(x_title, notes, legend_texts, log=is_log, common_axis=common_axis)
    )
    return grid.divided_into_pages(figure)


class FittedRows(NamedTuple):
    """Frame, rows and columns of text of a figure, with texts wrapped to leave room for a panel.

    `frame` has a row per mark, `columns` the texts of each column by its wrapped heading.
    """

    frame: pd.DataFrame
    rows: FigureRows
    columns: Mapping[str, Sequence[str]]


def fitting_rows_with_fewest_broken_words(
    rows_for_chars: Callable[[float], PlacedRows], columns: Mapping[str, Sequence[str]], width: float
) -> FittedRows:
    """Return rows and columns of text that leave enough room for a panel and break the fewest words.

    `rows_for_chars` makes frame and rows for a number of characters in a line of the labels, `columns` are
    the texts of each column by its heading, and `width` is that of the figure in mm. First full headings are
    tried, then wrapped headings with shorter and shorter lines of labels. If nothing fits, the narrowest rows
    are returned.
    """
    placed_rows = rows_for_chars(LABEL_CHARS)
    candidates = [FittedRows(placed_rows.frame, placed_rows.rows, dict(columns))]
    narrow_columns = with_wrapped_headings(columns)
    for chars in _LABEL_CHARS_TRIED:
        placed_rows = rows_for_chars(chars)
        candidates.append(FittedRows(placed_rows.frame, placed_rows.rows, narrow_columns))
    fitting_candidates = [fitted for fitted in candidates if panel_fits(fitted.rows, fitted.columns, width)]
    if not fitting_candidates:
        return candidates[-1]
    unbroken_words = _distinct_words_of_labels(rows_for_chars(np.inf).rows)

    def goodness_key(fitted: FittedRows) -> tuple[int, float, int, float]:
        """Return a sort key: the fewest broken words, a usual panel width, the most words, a wide panel."""
        words = _distinct_words_of_labels(fitted.rows)
        n_broken = len(words - unbroken_words)
        n_left_out = len(unbroken_words - words)
        panel_width = _panel_width(fitted.rows, width, text_columns_width_mm(fitted.columns))
        return -n_broken, min(panel_width, _USUAL_PANEL_MM), -n_left_out, min(panel_width, WIDE_PANEL_MM)

    return max(fitting_candidates, key=goodness_key)


def _distinct_words_of_labels(rows: FigureRows) -> set[str]:
    """Return the distinct words of the labels of rows."""
    return {word for text in rows.texts for word in text.split()}


def panel_fits(
    rows: FigureRows, columns: Mapping[str, Sequence[str]], width: float, min_width: float = _MIN_PANEL_MM
) -> bool:
    """Return whether a panel is `min_width` mm wide between the labels of rows and columns of text."""
    return _panel_width(rows, width, text_columns_width_mm(columns)) >= min_width


def default_figure_width(n_columns: int, panels: Sequence[str]) -> float:
    """Return the width in mm of a figure: a page for panels side by side, else a journal's column."""
    if min(n_columns, len(panels)) > 1:
        return PAGE_MM
    return COLUMN_MM


class PanelTitles(NamedTuple):
    """Titles of panels, the title of their axis, and the number of panels side by side."""

    titles: list[str]
    axis_title: str
    n_columns: int


def panel_and_axis_titles(panel: pd.Series, n_columns: int | None) -> PanelTitles:
    """Return the titles of the panels of a figure, the categories of `panel`.

    The title of a single panel becomes the title of its axis. By default two panels stand side by side, or
    three if there are just three.
    """
    titles = list(panel.cat.categories)
    if n_columns is None:
        n_columns = 3 if len(titles) == 3 else 2
    else:
        check_count(n_columns, "n_columns")
    if len(titles) == 1:
        return PanelTitles([""], axis_title=titles[0], n_columns=1)
    return PanelTitles(titles, axis_title="", n_columns=min(n_columns, len(titles)))


def _panel_width(rows: FigureRows, width: float, columns_mm: float = 0.0, n_columns: int = 1) -> float:
    """Return the width in mm of a panel between labels and columns of text, which take `columns_mm`."""
    labels_mm = max(map(text_width_mm, rows.texts))
    return (width - labels_mm) / n_columns - columns_mm - COLUMN_GAP_MM


@dataclass(frozen=True)
class RowPanels(Panels):
    """Panels side by side that share the rows of a figure.

    Attributes
    ----------
    titles, width, n_columns
        See `Panels`.
    rows : FigureRows
        The rows, whose labels stand at the left of each row of panels.
    columns_mm : float
        Width of the columns of text at the right of each panel.
    heading_lines : int
        Lines of the highest heading of these columns.
    sides_mm : float
        Height of the texts below the axes.
    """

    rows: FigureRows
    columns_mm: float
    heading_lines: int
    sides_mm: float

    @property
    def panel_width(self) -> float:
        """Return the width of a panel in mm."""
        return _panel_width(self.rows, self.width, self.columns_mm, self.n_columns)

    @property
    def _has_titles(self) -> bool:
        """Return whether panels have titles."""
        return any(self.titles)

    @property
    def _titles_and_headings_mm(self) -> float:
        """Return the height of the titles of panels and the headings of columns of text."""
        title_lines = [title.count("\n") + 1 for title in self.titles.values() if title]
        n_lines = max([self.heading_lines, *title_lines])
        if n_lines == 0:
            return 0.0
        return max(_MIN_TITLE_MM, n_lines * _TITLE_LINE_FACTOR * LINE_MM + _TITLE_PADDING_MM)

    @property
    def _panel_with_title_and_axis_mm(self) -> float:
        """Return the height of a panel with its title and axis."""
        return self.rows.height + _AXIS_MM + self.sides_mm + self._titles_and_headings_mm

    def divided_into_pages(self, figure: Figure) -> Figure:
        """Return a figure with these panels, divided into as many pages as it needs.

        Pages end between rows of panels. A panel that is higher than a page is cut too: below groups of rows
        if every group fits a page, else below any row.
        """
        return self.figure_on_pages(
            figure,
            self._panel_with_title_and_axis_mm,
            edges=self.rows.lower_edges,
            group_ends=self.rows.group_ends,
        )

    def _padded_title(self, panel: str) -> str:
        """Return the title of a panel, below empty lines that make all titles equally high."""
        title = self.titles[panel]
        title_lines = [text.count("\n") + 1 for text in self.titles.values()]
        n_lines = max([self.heading_lines, *title_lines])
        n_empty_lines = n_lines - 1 - title.count("\n")
        return "\n" * n_empty_lines + title

    def _x_scale(self, *, log: bool) -> Any:
        """Return the scale of the horizontal axis."""
        options: dict[str, Any] = {"minor_breaks": [], "expand": (0.03, 0)}
        if log:
            breaks = partial(log_breaks, length_mm=self.panel_width)
            return p9.scale_x_log10(breaks=breaks, labels=log_texts, **options)
        breaks = partial(axis_breaks, length_mm=self.panel_width)
        return p9.scale_x_continuous(breaks=breaks, labels=tick_texts, **options)

    def elements(
        self,
        x_title: str,
        notes: Iterable[str],
        legend: Sequence[str],
        *,
        log: bool = False,
        common_axis: bool = False,
    ) -> list[Any]:
        """Return the horizontal axis, the theme, the titles, the panels and the size of the figure.

        `legend` are the texts of the legend, `notes` the sentences of the caption. The axis is logarithmic if
        `log`, and the same in all panels if `common_axis`.
        """
        x_title = wrapped(x_title, chars_in(TEXT_SHARE * self.width - EDGE_MM), 2)
        panels_height = self.n_rows * self._panel_with_title_and_axis_mm + _MARGIN_MM
        if x_title:
            panels_height += _AXIS_TITLE_MM
        elements = [
            self._x_scale(log=log),
            *self.elements_around_panels(panels_height, x=x_title, y="", notes=notes, legend=legend),
            self._spacing_theme(x_title, legend),
        ]
        if self.rows.height > _TALL_MM:
            elements.append(p9.theme(panel_grid_major_x=p9.element_line(color=_GRID_COLOUR, size=0.25)))
        if not x_title:
            elements.append(p9.theme(axis_title_x=p9.element_blank()))
        if not legend:
            elements.append(p9.theme(legend_position="none"))
        if self._has_titles:
            scales: FacetScales = "fixed" if common_axis else "free_x"
            elements.append(self.facet_wrap("panel", self._padded_title, scales))
        return elements

    def _spacing_theme(self, x_title: str, legend: Sequence[str]) -> p9.theme:
        """Return the theme with the room around panels and the places of axis title and legend."""
        width = self.width
        left_mm = max(map(text_width_mm, self.rows.texts)) + COLUMN_GAP_MM
        panels_width = width - left_mm - self.columns_mm - EDGE_MM
        justification = partial(
            justification_centred_on_panels, left_mm=left_mm, panels_width=panels_width, figure_width=width
        )
        top_mm = EDGE_MM
        if not legend and not self._has_titles:
            # headings of columns of text stand in the margin
            top_mm = max(EDGE_MM, self._titles_and_headings_mm)
        legend_gap_mm = 2.0
        if not self._has_titles:
            # headings of columns of text stand below the legend
            legend_gap_mm = max(legend_gap_mm, self._titles_and_headings_mm)
        blank = p9.element_blank()
        return p9.theme(
            axis_title_y=blank,
            axis_ticks_major_y=blank,
            axis_line_y=blank,
            axis_text_y=p9.element_text(ma="right"),
            axis_title_x=p9.element_text(
                ha=justification(text_width_mm(x_title)), margin=top_margin(1 + self.sides_mm, width)
            ),
            legend_justification_top=justification(self.width_of_legend_above_panels(legend)),
            panel_spacing_x=(self.columns_mm + 2 * COLUMN_GAP_MM) / width,
            panel_spacing_y=(2 + self.sides_mm) / width,
            plot_margin_right=(self.columns_mm + EDGE_MM) / width,
            # plotnine takes the heights of these, too, as shares of the width
            plot_margin_top=top_mm / width,
            legend_box_spacing=legend_gap_mm / width,
        )


def row_panels(
    rows: FigureRows,
    panels: Sequence[str],
    n_columns: int = 1,
    width: float | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    *,
    has_sides: bool = False,
) -> RowPanels:
    """Return panels of rows, at most `n_columns` side by side, fewer where they would become too narrow.

    Parameters
    ----------
    rows : FigureRows
        The rows that all panels share.
    panels : sequence of str
        Titles of the panels.
    n_columns : int
        Most panels side by side.
    width : float, optional
        Width of the figure in mm; by default a page for panels side by side, else a journal's column.
    columns : mapping, optional
        Columns of text at the right of each panel, by their headings.
    has_sides : bool
        Whether there is a line of texts below the axis of a panel.
    """
    columns = columns or {}
    n_columns = min(n_columns, len(panels))
    width = width or default_figure_width(n_columns, panels)
    columns_mm = text_columns_width_mm(columns)
    widest_word = widest_word_mm(panels, bold=True)
    # a title may extend over the columns of text
    min_width = max(_MIN_SIDE_BY_SIDE_MM, widest_word + COLUMN_GAP_MM - EDGE_MM - columns_mm)
    while n_columns > 1 and _panel_width(rows, width, columns_mm, n_columns) < min_width:
        n_columns -= 1
    if len(panels) == 3 and n_columns == 2:
        # three panels stand in one row or in one column
        n_columns = 1
    heading_lines = max((heading.count("\n") + 1 for heading in columns), default=0)
    titles = {"": ""}
    if any(panels):
        panel_width = _panel_width(rows, width, columns_mm, n_columns)
        # the gap at the right of the last panel, where nothing follows, is shared by all panels
        gap_share_mm = (COLUMN_GAP_MM - EDGE_MM) / n_columns
        title_width = panel_width - COLUMN_GAP_MM + gap_share_mm
        titles = _wrapped_titles(panels, title_width, columns_mm, heading_lines, widest_word)
    return RowPanels(
        titles=titles,
        width=width,
        n_columns=n_columns,
        rows=rows,
        columns_mm=columns_mm,
        heading_lines=heading_lines,
        sides_mm=SIDES_MM if has_sides else 0.0,
    )


def _wrapped_titles(
    panels: Sequence[str], title_width: float, columns_mm: float, heading_lines: int, widest_word: float
) -> dict[str, str]:
    """Return the wrapped title of each panel.

    Titles stand beside the headings of columns of text. They stand above these headings, where they may
    extend over the columns, if that takes fewer lines or if a word would be broken otherwise. Widths are in
    mm; `widest_word` is that of the widest word of all titles, and `heading_lines` the number of lines of
    the highest heading.
    """
    level_titles = wrapped_texts(panels, chars_in(title_width, bold=True), None)
    raised_titles = {}
    for title, text in wrapped_texts(panels, chars_in(title_width + columns_mm, bold=True), None).items():
        raised_titles[title] = text + "\n" * heading_lines
    n_breaks_level = max(text.count("\n") for text in level_titles.values())
    n_breaks_raised = max(text.count("\n") for text in raised_titles.values())
    if widest_word > title_width or n_breaks_level > n_breaks_raised:
        return raised_titles
    return level_titles


def _margin_layers(margins: pd.DataFrame | None) -> list[Any]:
    """Return a layer of dotted lines at the bounds of margins, none without margins."""
    if margins is None or margins.empty:
        return []
    bound = p9.aes(xintercept="bound")
    return [p9.geom_vline(bound, data=margins, color="black", size=0.4, linetype="dotted")]


def _mark_layers(frame: pd.DataFrame, limits: pd.DataFrame, *, by_method: bool) -> list[Any]:
    """Return layers of bars and points, of diamonds for rows that summarise others, and of arrows.

    `frame` is from `with_bars_cut_at_limits`, and `limits` are the ends of the axes. Colour and shape of
    marks tell methods apart if `by_method`; else all are squares of one colour.
    """
    # aesthetics that are columns of the frame, and those that all marks share
    colour: dict[str, str] = {}
    shape: dict[str, str] = {}
    fill: dict[str, str] = {}
    fixed_colour: dict[str, str] = {}
    fixed_shape: dict[str, str] = {}
    if by_method:
        colour["color"] = "method_label"
        shape["shape"] = "method_label"
    else:
        fixed_colour["color"] = PALETTE[0]
        fixed_shape["shape"] = "s"
    if "fill" in frame.columns:
        fill["fill"] = "fill"
    frame = frame[frame["estimate"].notna()]
    within = frame[~frame["is_beyond"]]
    is_summary = pd.Series(False, index=within.index)
    if "last" in frame.columns:
        is_summary = within["last"]
    bar = p9.aes("conf_low", xend="conf_high", yend="y", **colour)
    point = p9.aes(**colour, **shape, **fill)
    layers: list[Any] = [
        p9.geom_segment(bar, rows_with_both_limits(frame), size=_BAR_SIZE, show_legend=False, **fixed_colour),
        p9.geom_point(point, within[~is_summary], size=_MARK_SIZE, stroke=0.4, **fixed_colour, **fixed_shape),
    ]
    if is_summary.any():
        layers.append(
            p9.geom_point(
                p9.aes(**colour, **fill),
                within[is_summary],
                shape="D",
                size=_DIAMOND_SIZE,
                stroke=0.4,
                show_legend=False,
                **fixed_colour,
            )
        )
    layers += arrow_layers(frame, limits, colour, fixed_colour)
    if fill:
        # values of `fill` are colours
        layers.append(p9.scale_fill_identity())
    return layers
