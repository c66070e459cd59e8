"""Panels side by side: how many, how large, and their titles broken into lines that fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_count
from salstats.display.plots.text_fit import crossed, wrapped_texts
from salstats.display.plots.theme import COLUMN_MM, MM_PER_PT, PAGE_MM, TEXT_PT
from salstats.display.text.labels import Labels

#: Room between panels and for the numbers and title of the axes; height of a page.
GAP_MM, LEFT_MM, BOTTOM_MM = 5.0, 11.0, 10.0
#: Room that the numbers of a panel's own axes take, beside and below it.
_OWN_MM = (9.0, 4.0)
#: Where a title begins, beside the panel's edge.
_TITLE_MM = 1.6
_PAGE_HEIGHT_MM = 240.0
#: Widths that a figure may have, and a panel should.
_NARROWEST_MM, _WIDEST_MM, _PANEL_MM, _MOST_COLUMNS = 40.0, 500.0, 29.0, 5
_LOWEST_MM, _HIGHEST_MM = 13.0, 48.0
#: Lines of a panel's title.
_TITLE_LINES = 4


@dataclass(frozen=True)
class PanelGrid:
    """Panels of one size, in mm.

    Attributes
    ----------
    titles : dict of str to str
        The whole title of each panel and how it is written.
    width : float
        Of the figure.
    n_columns, n_rows : int
        Panels side by side and above each other.
    panel_width, strip : float
        Width of a panel and height of its title.
    own : tuple of float
        Room for the numbers of a panel's own axes, beside and below it; 0 where panels share them.
    """

    titles: dict[str, str]
    width: float
    n_columns: int
    n_rows: int
    panel_width: float
    strip: float
    own: tuple[float, float] = (0.0, 0.0)

    def panel_height(self, share: float, further: float = 0.0) -> float:
        """How high a panel is: a share of its width, less where all panels have to fit a page."""
        fits = (_PAGE_HEIGHT_MM - BOTTOM_MM) / self.n_rows - self.strip - GAP_MM - self.own[1]
        height = float(np.clip(min(share * self.panel_width, fits - further), _LOWEST_MM, _HIGHEST_MM))
        return height + further

    def height(self, panel_height: float) -> float:
        """Height of the figure without legend and caption."""
        between = GAP_MM + self.own[1]
        return self.n_rows * (panel_height + self.strip) + (self.n_rows - 1) * between + BOTTOM_MM

    def facets(self, column: str) -> list[Any]:
        """Panels and their titles, to be added after the theme; nothing for a single one."""
        if len(self.titles) == 1:
            return []
        titles = self.titles
        wrap = p9.facet_wrap(
            column,
            ncol=self.n_columns,
            labeller=lambda title: titles[title],
            scales="free" if any(self.own) else "fixed",
        )
        title = p9.element_text(ha="left", va="bottom", ma="left")
        return [
            wrap,
            p9.theme(panel_spacing=GAP_MM / self.width, strip_text=title),
        ]


def panel_grid(
    titles: Sequence[str],
    n_columns: int | None = None,
    width: float | None = None,
    *,
    left: float = LEFT_MM,
    free: bool = False,
) -> PanelGrid:
    """Grid for panels, with axes of their own if `free`: up to four fit a column, more a page."""
    n = len(titles)
    if width is None:
        width = COLUMN_MM if n <= 4 else PAGE_MM
    elif not _NARROWEST_MM <= width <= _WIDEST_MM:
        raise SalstatsError(
            f"width={width} is not between {_NARROWEST_MM:.0f} and {_WIDEST_MM:.0f} mm; "
            f"{COLUMN_MM:.0f} is a column, {PAGE_MM:.0f} a page"
        )
    if n_columns is None:
        most = 2 if n == 4 else int(np.clip(width // _PANEL_MM, 1, _MOST_COLUMNS))
        # as many as give the last row its share
        n_columns = -(-n // -(-n // most))
    columns = min(check_count(n_columns, "n_columns"), n)
    own = _OWN_MM if free else (0.0, 0.0)
    panel_width = (width - left - (columns - 1) * (GAP_MM + own[0]) - 1) / columns
    texts = wrapped_titles(titles, panel_width - _TITLE_MM)
    lines = max(text.count("\n") + 1 for text in texts.values())
    strip = lines * 1.3 * TEXT_PT * MM_PER_PT + 2 if n > 1 else 1.0
    return PanelGrid(texts, width, columns, -(-n // columns), panel_width, strip, own)


def wrapped_titles(titles: Sequence[str], width: float) -> dict[str, str]:
    """Titles of panels on lines that fit a width in mm."""
    return wrapped_texts(titles, width, _TITLE_LINES, TEXT_PT, bold=True)


def group_titles(frame: pd.DataFrame, labels: Labels, columns: Sequence[str]) -> pd.Categorical:
    """Each row's title: the whole labels of its grouping columns, in the order they stand."""
    return crossed(frame, {c: _whole_labels(labels, frame, c) for c in columns})


def _whole_labels(labels: Labels, table: pd.DataFrame, column: str) -> dict[Any, str]:
    """Label of each value of a column in full, in the order they stand."""
    texts = {v: labels.value(column, v) for v in labels.order(column, table[column])}
    if len(set(texts.values())) < len(texts):
        raise SalstatsError(f"labels give two values of column {column!r} the same label")
    return texts
