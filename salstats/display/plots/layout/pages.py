"""Pages of figures that are higher than a page; panels are divided only where one is higher than that."""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.theme import LINE_MM, MM_PER_INCH, figure_size
from salstats.display.text.packing import packed

#: Height of a journal's page in mm.
PAGE_HEIGHT_MM = 247.0
#: Aesthetics of positions along the horizontal and the vertical axis.
_X_AESTHETICS = ("x", "xmin", "xmax", "xend", "xintercept")
_Y_AESTHETICS = ("y", "ymin", "ymax", "yend", "yintercept")


@dataclass(frozen=True)
class _RowRange:
    """Rows of a divided panel that a page shows, from `top` to `bottom`: mm on an axis that falls from 0."""

    top: float
    bottom: float

    @property
    def height(self) -> float:
        """Height of these rows in mm."""
        return self.top - self.bottom


@dataclass(frozen=True)
class _Page:
    """Contents of a page: the titles of its panels, and its rows where the panels are divided."""

    titles: Sequence[str]
    rows: _RowRange | None


def on_pages(
    figure: p9.ggplot,
    panels: Sequence[str],
    n_columns: int,
    panel_mm: float,
    edges: Sequence[float] = (),
    ends: Sequence[float] = (),
) -> list[p9.ggplot]:
    """Divide a figure of panels into pages with about equal numbers of panels, all with the same axes.

    The frames of its layers have a column `panel` with the titles in `panels`. `panel_mm` is the height of a
    panel with its title, its axis and the room below it. A panel higher than a page is divided at `edges` of
    rows (mm below 0), if possible at the `ends` of groups of rows.
    """
    width, height = (side * MM_PER_INCH for side in figure.theme.getp("figure_size"))
    if height <= PAGE_HEIGHT_MM:
        return [figure]
    n_panel_rows = math.ceil(len(panels) / n_columns)
    # height of legend, margins and caption, which has one more line for the number of the page
    outside_mm = height - n_panel_rows * panel_mm + LINE_MM
    room = PAGE_HEIGHT_MM - outside_mm
    titles_of_pages = _split_titles(panels, n_columns, max(int(room // panel_mm), 1))
    ranges: list[_RowRange | None] = [None]
    if edges and panel_mm > room:
        # the last edge is the height of all rows, as a negative number
        ranges = [*_row_ranges(edges, ends, room - panel_mm - edges[-1])]
    contents = [_Page(titles, rows) for titles in titles_of_pages for rows in ranges]
    if len(contents) == 1:
        return [figure]
    axis_ends = _axis_ends(figure, panels)
    pages = []
    for number, content in enumerate(contents, 1):
        page = _page_copy(figure, content, has_titles=len(panels) > 1)
        omitted_mm = 0.0 if content.rows is None else -edges[-1] - content.rows.height
        text = f"{figure.labels.get('caption', '')}\nPage {number} of {len(contents)}."
        page += p9.labs(caption=text.strip())
        n_page_rows = math.ceil(len(content.titles) / n_columns)
        page += figure_size(width, outside_mm + n_page_rows * (panel_mm - omitted_mm))
        if content.rows is not None:
            page += p9.coord_cartesian(ylim=(content.rows.bottom, content.rows.top), expand=True)
        pages.append(page + _axis_end_layer(axis_ends, content.titles))
    return pages


def _split_titles(panels: Sequence[str], n_columns: int, max_rows: int) -> list[Sequence[str]]:
    """Titles of the panels of each page: whole rows of panels, at most `max_rows`, evenly divided."""
    n_panel_rows = math.ceil(len(panels) / n_columns)
    n_pages = math.ceil(n_panel_rows / max_rows)
    page_sizes = [len(rows) * n_columns for rows in np.array_split(range(n_panel_rows), n_pages)]
    return [panels[start:end] for start, end in pairwise([0, *np.cumsum(page_sizes)])]


def _row_ranges(edges: Sequence[float], ends: Sequence[float], room: float) -> list[_RowRange]:
    """Rows of each page, of about equal heights, divided at the ends of groups if each group fits a page."""
    group_heights = [top - bottom for top, bottom in pairwise([0.0, *ends])]
    groups_fit = bool(group_heights) and max(group_heights) <= room
    cuts = ends if groups_fit else edges
    counts = packed([top - bottom for top, bottom in pairwise([0.0, *cuts])], room)
    full_ends = [cuts[n - 1] for n in accumulate(counts)]
    full = [_RowRange(top, bottom) for top, bottom in pairwise([0.0, *full_ends])]
    even_ends = []
    for target in np.linspace(0, edges[-1], len(full) + 1)[1:-1]:
        distances = [abs(target - cut) for cut in cuts]
        even_ends.append(cuts[int(np.argmin(distances))])
    even = [_RowRange(top, bottom) for top, bottom in pairwise([0.0, *even_ends, edges[-1]])]
    return even if all(0 < rows.height <= room for rows in even) else full


def _page_copy(figure: p9.ggplot, content: _Page, *, has_titles: bool) -> p9.ggplot:
    """Copy of a figure whose frames have only the rows of one page."""
    page = deepcopy(figure)
    page.data = _page_data(page.data, page.mapping, content, has_titles=has_titles)
    for layer in page.layers:
        mapping = {**page.mapping, **layer.mapping}
        # plotnine has no public name for the frame that a layer was made with
        layer._data = _page_data(layer._data, mapping, content, has_titles=has_titles)
    return page


def _page_data(data: Any, mapping: dict[str, Any], content: _Page, *, has_titles: bool) -> Any:
    """Rows of a frame that belong to a page; anything but a frame with rows is returned as it is."""
    if not isinstance(data, pd.DataFrame) or data.empty:
        return data
    if has_titles and "panel" in data.columns:
        data = _in_panels(data, content.titles)
    if content.rows is not None:
        columns = [
            mapping[aesthetic] for aesthetic in _Y_AESTHETICS if mapping.get(aesthetic) in data.columns
        ]
        y = data[columns].mean(axis=1)
        data = data[y.isna() | y.between(content.rows.bottom, content.rows.top)]
    return data.reset_index(drop=True)


def _in_panels(data: pd.DataFrame, titles: Sequence[str]) -> pd.DataFrame:
    """Rows of some panels, whose titles become the categories of `panel`."""
    rows = data[data["panel"].isin(titles)]
    panel = pd.Categorical(rows["panel"].astype(str), list(titles), ordered=True)
    return rows.assign(panel=panel)


def _axis_ends(figure: p9.ggplot, panels: Sequence[str]) -> pd.DataFrame:
    """Both ends of the axes of each panel: two rows per panel with columns `panel`, `x`, `y`."""
    ends: dict[str, list[float]] = {"x": [], "y": []}
    for axis, aesthetics in (("x", _X_AESTHETICS), ("y", _Y_AESTHETICS)):
        numbers = _drawn_numbers(figure, aesthetics)
        of_figure = numbers["number"].agg(["min", "max"])
        of_panel = numbers.groupby("panel", sort=False)["number"].agg(["min", "max"])
        is_free = getattr(figure.facet, "free", {}).get(axis, False)
        for panel in panels:
            if is_free and panel in of_panel.index:
                ends[axis] += list(of_panel.loc[panel])
            else:
                ends[axis] += list(of_figure)
    return pd.DataFrame({"panel": np.repeat(list(panels), 2), **ends}).dropna()


def _drawn_numbers(figure: p9.ggplot, aesthetics: Sequence[str]) -> pd.DataFrame:
    """Finite numbers that some aesthetics of all layers show: columns `panel`, `number`."""
    frames = [pd.DataFrame({"panel": [], "number": []}, dtype=float)]
    for layer in figure.layers:
        data = figure.data if layer._data is None else layer._data
        if not isinstance(data, pd.DataFrame):
            continue
        panel = data["panel"].astype(str) if "panel" in data.columns else ""
        for aesthetic, column in {**figure.mapping, **layer.mapping}.items():
            is_drawn = aesthetic in aesthetics and column in data.columns
            if is_drawn and pd.api.types.is_numeric_dtype(data[column]):
                frames.append(pd.DataFrame({"panel": panel, "number": data[column].astype(float)}))
    return pd.concat(frames).replace([np.inf, -np.inf], np.nan)


def _axis_end_layer(axis_ends: pd.DataFrame, titles: Sequence[str]) -> list[Any]:
    """Invisible layer that gives the panels of a page the axes that they have in the whole figure."""
    if axis_ends.empty:
        return []
    # a single panel has no title
    if any(titles):
        axis_ends = _in_panels(axis_ends, titles)
    return [p9.geom_blank(p9.aes("x", "y"), axis_ends, inherit_aes=False)]
