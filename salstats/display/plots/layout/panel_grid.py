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
    centred_justification,
    legend_columns,
    legend_mm,
    legend_width,
)
from salstats.display.plots.layout.pages import on_pages
from salstats.display.plots.layout.text_fit import (
    caption,
    caption_chars,
    caption_mm,
    chars_in,
    crossed_labels,
    text_mm,
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

#: Room in mm between panels, and for the numbers and the title of the vertical and of the horizontal axis.
GAP_MM = 5.0
LEFT_MM = 11.0
BOTTOM_MM = 10.0
#: Room in mm at the right of all panels.
_RIGHT_MM = 2.0
#: Height in mm of the numbers of a panel's own axis below it.
_AXIS_MM = 4.0
#: Width in mm of the title of the vertical axis, which only the first panel of a row has.
_TITLE_MM = 2.0
#: Least width in mm of a panel, and limits of its height.
PANEL_MM = 20.0
_MIN_HEIGHT_MM = 13.0
_MAX_HEIGHT_MM = 48.0
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
        Title of each panel as it is wrapped.
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
        """Number of panels below each other."""
        return math.ceil(len(self.titles) / self.n_columns)

    def legend_width(self, legend: Sequence[str]) -> float:
        """Width in mm of a legend with some texts, 0 without texts."""
        if not legend:
            return 0.0
        return legend_width(legend, legend_columns(legend, self.width))

    def facet_wrap(self, column: str, title: Callable[[str], str], scales: FacetScales) -> p9.facet_wrap:
        """Panels by the values of a column; `title` returns the title of a value."""
        # plotnine takes a function for titles, which its annotation leaves out
        labeller = cast(Any, title)
        return p9.facet_wrap(column, ncol=self.n_columns, labeller=labeller, scales=scales)

    def figure_around(
        self,
        panels_height: float,
        *,
        x: str,
        y: str,
        notes: Iterable[str],
        legend: Sequence[str],
        indent: float = 0.0,
    ) -> list[Any]:
        """Axis titles, caption, theme and size of a figure.

        `panels_height` is the height in mm of all panels with their axes, titles and margins. `notes` are the
        sentences of the caption, which begins `indent` mm from the left, `legend` the texts of the legend.
        """
        note = caption(notes, caption_chars(self.width - indent))
        # the height of the panels has room for one line of the axis title
        further_title_lines = LINE_MM * x.count("\n")
        height = panels_height + further_title_lines + caption_mm(note) + legend_mm(legend, self.width)
        return [p9.labs(x=x, y=y, caption=note), theme_salstats(), figure_size(self.width, height)]

    def divided(
        self,
        figure: p9.ggplot,
        row_height: float,
        edges: Sequence[float] = (),
        ends: Sequence[float] = (),
    ) -> Figure:
        """Figure with as many pages as it needs; `row_height` is that of a row of panels, see `on_pages`."""
        return on_pages(figure, list(self.titles), self.n_columns, row_height, edges=edges, ends=ends)


@dataclass(frozen=True)
class PanelGrid(Panels):
    """Panels of one size in rows and columns.

    Attributes
    ----------
    titles, width, n_columns
        See `Panels`.
    panel_width : float
        Width of a panel in mm.
    left : float
        Room in mm at the left of the first panel.
    free : bool
        Whether each panel has its own axes.
    """

    panel_width: float
    left: float
    free: bool

    def panel_height(self, share: float) -> float:
        """Height of a panel in mm: a share of its width, within limits."""
        return float(np.clip(share * self.panel_width, _MIN_HEIGHT_MM, _MAX_HEIGHT_MM))

    def height(self, panel_height: float) -> float:
        """Height of the figure in mm without legend and caption."""
        return self.n_rows * self._row_height(panel_height) - self._row_gap + BOTTOM_MM

    @property
    def _row_gap(self) -> float:
        """Room between two rows of panels."""
        return GAP_MM + _AXIS_MM if self.free else GAP_MM

    def _row_height(self, panel_height: float) -> float:
        """Height of a row of panels with their titles and the room below it."""
        title_height = 1.0
        if len(self.titles) > 1:
            n_lines = max(title.count("\n") + 1 for title in self.titles.values())
            title_height = 1.1 * LINE_MM * n_lines + 2.5
        return panel_height + title_height + self._row_gap

    def pages(self, figure: p9.ggplot, panel_height: float, edges: Sequence[float] = ()) -> Figure:
        """Divide a figure with these elements into pages; panels are divided only at `edges`."""
        return self.divided(figure, self._row_height(panel_height), edges=edges, ends=edges)

    def legend_justification(self, legend: float) -> float:
        """Justification, from 0 to 1, that centres a legend of a width in mm above the panels."""
        panels = self.width - self.left - _RIGHT_MM
        return centred_justification(legend, self.left, panels, self.width)

    def elements(
        self,
        height: float,
        *,
        x: str = "",
        y: str = "",
        notes: Iterable[str] = (),
        legend: Sequence[str] = (),
        further: float = 0.0,
        indent: float = 0.0,
    ) -> list[Any]:
        """Theme, axis titles, caption, panels and size of a figure whose panels have a height in mm.

        `legend` are the texts of the legend, `further` is room in mm for anything else, and `indent` the room
        at the left of the caption.
        """
        panels_height = self.height(height)
        return [
            *self.figure_around(
                EDGE_MM + panels_height + further,
                x=wrapped(x, chars_in(self.width - self.left - 2), 2),
                y=wrapped(y, chars_in(panels_height - BOTTOM_MM), 2),
                notes=notes,
                legend=legend,
                indent=indent,
            ),
            p9.theme(
                plot_margin_top=EDGE_MM / self.width,
                plot_margin_right=_RIGHT_MM / self.width,
                legend_justification_top=self.legend_justification(self.legend_width(legend)),
                legend_box_spacing=2.5 / self.width,
                axis_title_x=p9.element_text(margin=top_margin(1, self.width)),
            ),
            *self.facets("panel"),
        ]

    def facets(self, column: str) -> list[Any]:
        """Panels by the values of a column, to be added after the theme; an empty list for one panel."""
        if len(self.titles) == 1:
            return []
        scales: FacetScales = "free" if self.free else "fixed"
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
    left: float = LEFT_MM,
    free: bool = False,
    min_width: float = PANEL_MM,
) -> PanelGrid:
    """Grid of panels with given titles, each at least `min_width` mm wide and as wide as a word of its title.

    At most `n_columns` panels stand side by side. By default up to four panels are in a column, more on a
    page. Each panel has its own axes if `free`.
    """
    n = len(titles)
    if width is None:
        width = COLUMN_MM if n <= 4 else PAGE_MM
    available_mm = width - left - _RIGHT_MM
    gap = GAP_MM
    if free:
        gap += left - _TITLE_MM
    words = (text_mm(word, bold=True) for title in titles for word in title.split())
    widest_word = max(words, default=0.0)
    min_width = max(min_width, min(widest_word, available_mm))
    n_fitting = max(int((available_mm + gap) // (min_width + gap)), 1)
    if n_columns is None:
        n_columns = _even_columns(n, n_fitting)
    n_columns = min(check_count(n_columns, "n_columns"), n, n_fitting)
    panel_width = (width - left - (n_columns - 1) * gap - _RIGHT_MM) / n_columns
    wrapped_titles = wrapped_texts(titles, chars_in(panel_width, bold=True), None)
    return PanelGrid(
        titles=wrapped_titles,
        width=width,
        n_columns=n_columns,
        panel_width=panel_width,
        left=left,
        free=free,
    )


def _even_columns(n: int, n_fitting: int) -> int:
    """Number of panels side by side that spreads `n` panels evenly over the rows, `n_fitting` at most."""
    if n == 4:
        n_max = 2
    elif n <= _MAX_COLUMNS**2:
        n_max = _MAX_COLUMNS
    else:
        n_max = n
    n_rows = math.ceil(n / min(n_max, n_fitting))
    return math.ceil(n / n_rows)


def group_titles(frame: pd.DataFrame, labels: Labels, columns: Sequence[str]) -> pd.Categorical:
    """Title of the panel of each row of a frame: the labels of its grouping columns."""
    return crossed_labels(frame, {column: labels.texts(column, frame[column]) for column in columns})
