"""Panels side by side: how many, how large, and their titles on lines that fit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_count
from salstats.display.plots.layout.legends import EDGE_MM, legend_columns, legend_mm, legend_width, side
from salstats.display.plots.layout.pages import on_pages
from salstats.display.plots.layout.text_fit import (
    caption,
    caption_chars,
    caption_mm,
    chars_in,
    crossed,
    text_mm,
    wrapped,
    wrapped_texts,
)
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    LINE_MM,
    PAGE_MM,
    above,
    figure_size,
    theme_salstats,
)
from salstats.display.text.labels import Labels

#: Room between panels, and for the numbers and title of the axes.
GAP_MM, LEFT_MM, BOTTOM_MM = 5.0, 11.0, 10.0
#: Room at the right of everything.
_RIGHT_MM = 2.0
#: Room that the numbers of a panel's own axis take below it; beside it they do without a title's.
_OWN_MM, _TITLE_MM = 4.0, 2.0
#: A panel's least width, and heights that it may have.
PANEL_MM, _LOWEST_MM, _HIGHEST_MM = 20.0, 13.0, 48.0
#: Panels side by side unless there are very many.
_MOST_COLUMNS = 5


@dataclass(frozen=True)
class PanelGrid:
    """Panels of one size, in mm: their titles as they are written, and whether each has its own axes."""

    titles: dict[str, str]
    width: float
    n_columns: int
    panel_width: float
    left: float
    free: bool

    def panel_height(self, share: float) -> float:
        """How high a panel is: a share of its width, within limits."""
        return float(np.clip(share * self.panel_width, _LOWEST_MM, _HIGHEST_MM))

    def height(self, panel_height: float) -> float:
        """Height of the figure without legend and caption."""
        n_rows = -(-len(self.titles) // self.n_columns)
        return n_rows * self._row(panel_height) - self._between + BOTTOM_MM

    @property
    def _between(self) -> float:
        """Room between two rows of panels."""
        return GAP_MM + self.free * _OWN_MM

    def _row(self, panel_height: float) -> float:
        """Height of a row of panels with their titles and the room to the next."""
        lines = max(title.count("\n") + 1 for title in self.titles.values())
        strip = 1.1 * LINE_MM * lines + 2.5 if len(self.titles) > 1 else 1.0
        return panel_height + strip + self._between

    def pages(self, figure: p9.ggplot, panel_height: float, edges: Sequence[float] = ()) -> list[p9.ggplot]:
        """A figure with this grid's look on as many pages as it needs; panels are divided at `edges` only."""
        return on_pages(figure, list(self.titles), self.n_columns, self._row(panel_height), edges, edges)

    def side(self, text: float) -> float:
        """Where a legend of a width is centred above the panels without leaving the figure."""
        return side(text, self.left, self.width - self.left - _RIGHT_MM, self.width)

    def look(
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
        """Theme, titles, caption, panels of a height and size of a figure with something `further` in mm."""
        note = caption(notes, caption_chars(self.width - indent))
        keys = legend_width(legend, legend_columns(legend, self.width)) if legend else 0.0
        x = wrapped(x, chars_in(self.width - self.left - 2), 2)
        y = wrapped(y, chars_in(self.height(height) - BOTTOM_MM), 2)
        whole = EDGE_MM + self.height(height) + further + caption_mm(note) + legend_mm(legend, self.width)
        whole += LINE_MM * x.count("\n")
        return [
            p9.labs(x=x, y=y, caption=note),
            theme_salstats(),
            p9.theme(
                plot_margin_top=EDGE_MM / self.width,
                plot_margin_right=_RIGHT_MM / self.width,
                legend_justification_top=self.side(keys),
                legend_box_spacing=2.5 / self.width,
                axis_title_x=p9.element_text(margin=above(1, self.width)),
            ),
            *self.facets("panel"),
            figure_size(self.width, whole),
        ]

    def facets(self, column: str) -> list[Any]:
        """Panels and their titles, to be added after the theme; nothing for a single one."""
        if len(self.titles) == 1:
            return []
        scales = "free" if self.free else "fixed"
        title = p9.element_text(ha="left", va="bottom", ma="left")
        return [
            p9.facet_wrap(column, ncol=self.n_columns, labeller=self.titles.__getitem__, scales=scales),
            p9.theme(panel_spacing=GAP_MM / self.width, strip_text=title),
        ]


def panel_grid(
    titles: Sequence[str],
    n_columns: int | None = None,
    width: float | None = None,
    *,
    left: float = LEFT_MM,
    free: bool = False,
    least: float = PANEL_MM,
) -> PanelGrid:
    """Grid for panels, at `least` so wide and so that no word of a title is broken; own axes if `free`.

    Up to four fit a column, more a page; not more than `n_columns` stand side by side.
    """
    n = len(titles)
    if width is None:
        width = COLUMN_MM if n <= 4 else PAGE_MM
    beside = GAP_MM + free * (left - _TITLE_MM)
    words = (text_mm(word, bold=True) for title in titles for word in title.split())
    least = max(least, min(max(words, default=0.0), width - left - _RIGHT_MM))
    fitting = max(int((width - left - _RIGHT_MM + beside) // (least + beside)), 1)
    if n_columns is None:
        # very many take all the room that there is
        most = 2 if n == 4 else _MOST_COLUMNS if n <= _MOST_COLUMNS**2 else n
        # as many as give the last row its share
        n_columns = -(-n // -(-n // min(most, fitting)))
    columns = min(check_count(n_columns, "n_columns"), n, fitting)
    panel_width = (width - left - (columns - 1) * beside - _RIGHT_MM) / columns
    texts = wrapped_texts(titles, chars_in(panel_width, bold=True), None)
    return PanelGrid(texts, width, columns, panel_width, left, free)


def group_titles(frame: pd.DataFrame, labels: Labels, columns: Sequence[str]) -> pd.Categorical:
    """Each row's title: the labels of its grouping columns, in the order they stand."""
    return crossed(frame, {c: labels.texts(c, frame[c]) for c in columns})
