"""Panels in rows and columns: the figure around them, and panels of equal size in a grid."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_count
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.legends import (
    EDGE_MM,
    justification_centred_on_panels,
    legend_height_mm,
    legend_width_mm,
    n_legend_columns,
)
from salstats.display.plots.layout.pages import figure_on_pages
from salstats.display.plots.layout.text_fit import (
    caption,
    caption_chars,
    caption_height_mm,
    chars_in,
    crossed_labels,
    text_width_mm,
    widest_word_mm,
    wrapped,
    wrapped_texts,
)
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    LINE_MM,
    PAGE_MM,
    figure_size,
    theme_salstats,
    top_margin,
)
from salstats.display.text.labels import Labels

#: Room in mm between panels, at the left of them for the numbers and the title of the vertical axis, and
#: below them for those of the horizontal axis.
GAP_MM = 5.0
LEFT_MM = 11.0
BOTTOM_MM = 10.0
#: Room in mm at the right of all panels, into which the last number of an axis may extend.
_RIGHT_MM = 2.0
#: Height in mm of the numbers of a panel's own horizontal axis, below each row of panels.
_AXIS_MM = 4.0
#: Width in mm of the title of the vertical axis, which only the first panel of a row has.
_AXIS_TITLE_MM = 2.0
#: Least width in mm of a panel, and limits of its height.
MIN_PANEL_MM = 20.0
_MIN_HEIGHT_MM = 13.0
_MAX_HEIGHT_MM = 48.0
#: Room in mm above panels without titles, and above and below the lines of titles together.
_NO_TITLE_MM = 1.0
_TITLE_PADDING_MM = 2.5
#: Height of a line of bold titles over that of a line of text.
_TITLE_LINE_FACTOR = 1.1
#: Lines of the longest title of a panel beyond which fewer panels stand side by side, by default.
_MAX_TITLE_LINES = 6
#: Most lines of the title of an axis.
_AXIS_TITLE_LINES = 2
#: Most panels in a journal's column, by default.
_MAX_PANELS_IN_COLUMN = 4
#: Most panels side by side, unless there are more than its square.
_MAX_COLUMNS = 5
#: Scales of panels, as plotnine's facets have them.
FacetScales = Literal["fixed", "free", "free_x", "free_y"]


@dataclass(frozen=True)
class Panels:
    """Panels in rows and columns, and the figure around them: its axis titles, caption, legend and size.

    Attributes
    ----------
    titles : dict of str
        Wrapped title of each panel, by its title without line breaks.
    width : float
        Width of the figure in mm.
    n_columns : int
        Number of panels side by side.
    """

    titles: dict[str, str]
    width: float
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Return the number of panels below each other."""
        return math.ceil(len(self.titles) / self.n_columns)

    def width_of_legend_above_panels(self, texts: Sequence[str]) -> float:
        """Return the width in mm of a legend with some texts, 0 without texts."""
        if not texts:
            return 0.0
        return legend_width_mm(texts, n_legend_columns(texts, self.width))

    def facet_wrap(self, column: str, title: Callable[[str], str], scales: FacetScales) -> p9.facet_wrap:
        """Return plotnine's panels by the values of a column; `title` returns the title of a value."""
        # plotnine accepts a function for titles, which its annotation does not say
        labeller = cast(Any, title)
        return p9.facet_wrap(column, ncol=self.n_columns, labeller=labeller, scales=scales)

    def elements_around_panels(
        self,
        panels_height: float,
        *,
        x: str,
        y: str,
        notes: Iterable[str],
        legend: Sequence[str],
        indent_mm: float = 0.0,
    ) -> list[Any]:
        """Return the axis titles, the caption, the theme and the size of a figure.

        Parameters
        ----------
        panels_height : float
            Height in mm of all panels with their axes, titles and margins.
        x, y : str
            Titles of the axes.
        notes : iterable of str
            Sentences of the caption.
        legend : sequence of str
            Texts of the legend.
        indent_mm : float
            Distance of the caption from the left edge of the figure.
        """
        note = caption(notes, caption_chars(self.width - indent_mm))
        # the height of the panels has room for one line of the axis title
        further_title_lines_mm = LINE_MM * x.count("\n")
        height = (
            panels_height
            + further_title_lines_mm
            + caption_height_mm(note)
            + legend_height_mm(legend, self.width)
        )
        return [p9.labs(x=x, y=y, caption=note), theme_salstats(), figure_size(self.width, height)]

    def figure_on_pages(
        self,
        figure: Figure,
        panel_row_height_mm: float,
        edges: Sequence[float] = (),
        group_ends: Sequence[float] = (),
    ) -> Figure:
        """Return a figure divided into as many pages as it needs.

        `panel_row_height_mm` is the height of a row of panels with their titles and axes; `edges` and
        `group_ends` are positions at which a panel may be divided, see `pages.figure_on_pages`.
        """
        return figure_on_pages(
            figure, list(self.titles), self.n_columns, panel_row_height_mm, edges=edges, group_ends=group_ends
        )


@dataclass(frozen=True)
class PanelGrid(Panels):
    """Panels of one size in rows and columns.

    Attributes
    ----------
    titles, width, n_columns
        See `Panels`.
    panel_width : float
        Width of a panel in mm.
    left_mm : float
        Room at the left of the first panel.
    free_axes : bool
        Whether each panel has its own axes.
    """

    panel_width: float
    left_mm: float
    free_axes: bool

    def panel_height(self, height_to_width: float) -> float:
        """Return the height of a panel in mm: its width times `height_to_width`, within limits."""
        return float(np.clip(height_to_width * self.panel_width, _MIN_HEIGHT_MM, _MAX_HEIGHT_MM))

    def height_without_legend_and_caption(self, panel_height: float) -> float:
        """Return the height of the figure in mm without legend and caption, for a height of its panels."""
        return self.n_rows * self.panel_row_height_mm(panel_height) - self._row_gap_mm + BOTTOM_MM

    @property
    def _row_gap_mm(self) -> float:
        """Return the room between two rows of panels."""
        if self.free_axes:
            return GAP_MM + _AXIS_MM
        return GAP_MM

    def panel_row_height_mm(self, panel_height: float) -> float:
        """Return the height of a row of panels with their titles and the room below it."""
        common_titles_mm = _NO_TITLE_MM
        if len(self.titles) > 1:
            n_lines = max(title.count("\n") + 1 for title in self.titles.values())
            common_titles_mm = _TITLE_LINE_FACTOR * LINE_MM * n_lines + _TITLE_PADDING_MM
        return panel_height + common_titles_mm + self._row_gap_mm

    def divided_into_pages(self, figure: Figure, panel_height: float, edges: Sequence[float] = ()) -> Figure:
        """Return a figure with these panels, divided into as many pages as it needs.

        Pages end between rows of panels. A panel that is higher than a page is cut too, at `edges`, vertical
        positions in mm that are 0 at its top and negative below; without them it is not cut.
        """
        return self.figure_on_pages(
            figure, self.panel_row_height_mm(panel_height), edges=edges, group_ends=edges
        )

    def legend_justification(self, legend_width_mm: float) -> float:
        """Return the justification, from 0 to 1, that centres a legend of a width in mm above the panels."""
        panels_width = self.width - self.left_mm - _RIGHT_MM
        return justification_centred_on_panels(legend_width_mm, self.left_mm, panels_width, self.width)

    def elements(
        self,
        panel_height: float,
        *,
        x: str = "",
        y: str = "",
        notes: Iterable[str] = (),
        legend: Sequence[str] = (),
        further_mm: float = 0.0,
        indent_mm: float = 0.0,
    ) -> list[Any]:
        """Return the theme, axis titles, caption, panels and size of a figure.

        Parameters
        ----------
        panel_height : float
            Height of a panel in mm.
        x, y : str
            Titles of the axes.
        notes : iterable of str
            Sentences of the caption.
        legend : sequence of str
            Texts of the legend.
        further_mm : float
            Height of anything else above or below the panels.
        indent_mm : float
            Distance of the caption from the left edge of the figure.
        """
        panels_height = self.height_without_legend_and_caption(panel_height)
        return [
            *self.elements_around_panels(
                EDGE_MM + panels_height + further_mm,
                x=wrapped(x, chars_in(self.width - self.left_mm - _RIGHT_MM), _AXIS_TITLE_LINES),
                y=wrapped(y, chars_in(panels_height - BOTTOM_MM), _AXIS_TITLE_LINES),
                notes=notes,
                legend=legend,
                indent_mm=indent_mm,
            ),
            p9.theme(
                # plotnine takes the heights of margins, too, as shares of the width
                plot_margin_top=EDGE_MM / self.width,
                plot_margin_right=_RIGHT_MM / self.width,
                legend_justification_top=self.legend_justification(self.width_of_legend_above_panels(legend)),
                legend_box_spacing=2.5 / self.width,
                axis_title_x=p9.element_text(margin=top_margin(1, self.width)),
            ),
            *self.facet_elements("panel"),
        ]

    def facet_elements(self, column: str) -> list[Any]:
        """Return panels by the values of a column, to be added after the theme; no element for one panel."""
        if len(self.titles) == 1:
            return []
        scales: FacetScales = "free" if self.free_axes else "fixed"
        title = p9.element_text(ha="left", va="bottom", ma="left")
        return [
            self.facet_wrap(column, self.titles.__getitem__, scales),
            p9.theme(panel_spacing=GAP_MM / self.width, strip_text=title),
        ]


def panel_grid(
    titles: Sequence[str],
    n_columns: int | None = None,
    width: float | None = None,
    *,
    left_mm: float = LEFT_MM,
    free_axes: bool = False,
    min_width: float = MIN_PANEL_MM,
    n_together: int | None = None,
) -> PanelGrid:
    """Return a grid of panels, each at least `min_width` mm wide and as wide as the longest word of a title.

    Parameters
    ----------
    titles : sequence of str
        Titles of the panels.
    n_columns : int, optional
        Most panels side by side; by default the panels are spread evenly over the rows.
    width : float, optional
        Width of the figure in mm; by default a journal's column for up to four panels, else a page.
    left_mm : float
        Room at the left of the first panel, for the vertical axis.
    free_axes : bool
        Whether each panel has its own axes.
    min_width : float
        Least width of a panel in mm.
    n_together : int, optional
        Number of consecutive panels that belong together, such as those of a task; by default all do. They
        are spread evenly over rows of their own where this leaves no place of a row empty.
    """
    n = len(titles)
    if width is None:
        width = COLUMN_MM if n <= _MAX_PANELS_IN_COLUMN else PAGE_MM
    available_mm = width - left_mm - _RIGHT_MM
    gap_mm = GAP_MM
    if free_axes:
        # each panel has the numbers of its vertical axis, but only the first of a row has the axis title
        gap_mm += left_mm - _AXIS_TITLE_MM
    min_width = max(min_width, min(widest_word_mm(titles, bold=True), available_mm))
    n_fitting = max(int((available_mm + gap_mm) // (min_width + gap_mm)), 1)
    if n_columns is None:
        # a title of many lines would be higher than its panel
        longest_title = max((text_width_mm(title, bold=True) for title in titles), default=0.0)
        title_width = min(longest_title / _MAX_TITLE_LINES, available_mm)
        n_fitting = min(n_fitting, max(int((available_mm + gap_mm) // (title_width + gap_mm)), 1))
        n_columns = _n_even_columns(n, n_fitting)
        if n_together is not None and n_together < n:
            n_rows_together = math.ceil(n_together / n_fitting)
            n_columns_together = math.ceil(n_together / n_rows_together)
            if n_together % n_columns_together == 0:
                n_columns = n_columns_together
    n_columns = min(check_count(n_columns, "n_columns"), n, n_fitting)
    panel_width = (available_mm - (n_columns - 1) * gap_mm) / n_columns
    wrapped_titles = wrapped_texts(titles, chars_in(panel_width, bold=True), None)
    return PanelGrid(
        titles=wrapped_titles,
        width=width,
        n_columns=n_columns,
        panel_width=panel_width,
        left_mm=left_mm,
        free_axes=free_axes,
    )


def _n_even_columns(n: int, n_fitting: int) -> int:
    """Return the number of panels side by side that spreads `n` panels evenly over the rows.

    At most `n_fitting` panels fit side by side.
    """
    if n == 4:
        # two rows of two
        n_max = 2
    elif n <= _MAX_COLUMNS**2:
        n_max = _MAX_COLUMNS
    else:
        n_max = n
    n_rows = math.ceil(n / min(n_max, n_fitting))
    return math.ceil(n / n_rows)


def group_titles(frame: pd.DataFrame, labels: Labels, columns: Sequence[str]) -> pd.Categorical:
    """Return the title of the panel of each row of a frame: the labels of its grouping columns."""
    return crossed_labels(frame, {column: labels.label_by_value(column, frame[column]) for column in columns})
