"""Pages of figures that are higher than a page; panels are divided only where one is higher than that."""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.figure import Figure, paged_figure
from salstats.display.plots.layout.theme import LINE_MM, MM_PER_INCH, figure_size
from salstats.display.text.packing import packed_slices

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
) -> Figure:
    """Divide a figure of panels into pages with about equal numbers of panels, all with the same axes.

    Parameters
    ----------
    figure : ggplot
        The figure with all panels. The frames of its layers have a column `panel`.
    panels : sequence of str
        Titles of the panels, in order.
    n_columns : int
        Number of panels side by side.
    panel_mm : float
        Height of a panel with its title, its axis and the room below it.
    edges : sequence of float
        Lower edges of rows (mm below 0), at which a panel higher than a page is divided.
    ends : sequence of float
        Those edges at which a group of rows ends; panels are divided there if every group fits a page.
    """
    width, height = (side * MM_PER_INCH for side in figure.theme.getp("figure_size"))
    if height <= PAGE_HEIGHT_MM:
        return paged_figure([figure])
    n_panel_rows = math.ceil(len(panels) / n_columns)
    # height of legend, margins and caption, which has one more line for the number of the page
    outside_mm = height - n_panel_rows * panel_mm + LINE_MM
    available_mm = PAGE_HEIGHT_MM - outside_mm
    titles_of_pages = _split_titles(panels, n_columns, max(int(available_mm // panel_mm), 1))
    ranges: list[_RowRange | None] = [None]
    if edges and panel_mm > available_mm:
        # the last edge is the height of all rows, as a negative number
        available_for_rows = available_mm - (panel_mm + edges[-1])
        ranges = [*_row_ranges(edges, ends, available_for_rows)]
    contents = [_Page(titles, rows) for titles in titles_of_pages for rows in ranges]
    if len(contents) == 1:
        return paged_figure([figure])
    axis_ends = _axis_ends(figure, panels)
    pages = []
    for number, content in enumerate(contents, 1):
        page = _page_copy(figure, content, has_titles=len(panels) > 1)
        omitted_mm = 0.0 if content.rows is None else -edges[-1] - content.rows.height
        note = f"{figure.labels.get('caption', '')}\n{page_sentence(number, len(contents))}"
        page += p9.labs(caption=note.strip())
        n_page_rows = math.ceil(len(content.titles) / n_columns)
        page += figure_size(width, outside_mm + n_page_rows * (panel_mm - omitted_mm))
        if content.rows is not None:
            page += p9.coord_cartesian(ylim=(content.rows.bottom, content.rows.top), expand=True)
        pages.append(page + _axis_end_layer(axis_ends, content.titles))
    return paged_figure(pages)


def page_sentence(number: int, n_pages: int) -> str:
    """Last sentence of the caption of a page, "" where there is a single page."""
    if n_pages == 1:
        return ""
    return f"Page {number} of {n_pages}."


def _split_titles(panels: Sequence[str], n_columns: int, max_rows: int) -> list[Sequence[str]]:
    """Titles of the panels of each page: whole rows of panels, at most `max_rows`, evenly divided."""
    n_panel_rows = math.ceil(len(panels) / n_columns)
    n_pages = math.ceil(n_panel_rows / max_rows)
    page_sizes = [len(rows) * n_columns for rows in np.array_split(range(n_panel_rows), n_pages)]
    return [panels[start:end] for start, end in pairwise([0, *np.cumsum(page_sizes)])]


def _row_ranges(edges: Sequence[float], ends: Sequence[float], available_mm: float) -> list[_RowRange]:
    """Rows of each page, of about equal heights, divided at the ends of groups if each group fits a page."""
    groups_fit = bool(ends) and max(group.height for group in _ranges_above(ends)) <= available_mm
    cuts = ends if groups_fit else edges
    full_pages = _full_pages(cuts, available_mm)
    even_pages = _even_pages(cuts, len(full_pages))
    if all(0 < page.height <= available_mm for page in even_pages):
        return even_pages
    return full_pages


def _ranges_above(cuts: Sequence[float]) -> list[_RowRange]:
    """Ranges of rows above each other, each of which ends at a cut."""
    return [_RowRange(top, bottom) for top, bottom in pairwise([0.0, *cuts])]


def _full_pages(cuts: Sequence[float], available_mm: float) -> list[_RowRange]:
    """Ranges that fill each page as far as whole rows or groups do."""
    heights = [rows.height for rows in _ranges_above(cuts)]
    page_ends = [cuts[part.stop - 1] for part in packed_slices(heights, available_mm)]
    return _ranges_above(page_ends)


def _even_pages(cuts: Sequence[float], n_pages: int) -> list[_RowRange]:
    """Ranges of about equal heights, each of which ends at the cut nearest to its share of the height."""
    page_ends = []
    for even_end in np.linspace(0, cuts[-1], n_pages + 1)[1:]:
        distances = np.abs(np.asarray(cuts) - even_end)
        page_ends.append(cuts[int(np.argmin(distances))])
    return _ranges_above(page_ends)


def _page_copy(figure: p9.ggplot, content: _Page, *, has_titles: bool) -> p9.ggplot:
    """Copy of a figure whose frames have only the rows of one page."""
    page = deepcopy(figure)
    page.data = _page_data(page.data, page.mapping, content, has_titles=has_titles)
    for number, layer in enumerate(page.layers):
        mapping = {**page.mapping, **layer.mapping}
        geom = layer.geom
        geom.data = _page_data(geom.data, mapping, content, has_titles=has_titles)
        # a layer keeps the frame that its geom had when the layer was made
        page.layers[number] = geom.to_layer()
    return page


def _page_data(data: Any, mapping: dict[str, Any], content: _Page, *, has_titles: bool) -> Any:
    """Rows of a frame that belong to a page; anything but a frame with rows is returned as it is."""
    if not isinstance(data, pd.DataFrame) or data.empty:
        return data
    if has_titles and "panel" in data.columns:
        data = _in_panels(data, content.titles)
    if content.rows is not None:
        mapped_columns = [mapping.get(aesthetic) for aesthetic in _Y_AESTHETICS]
        columns = [column for column in mapped_columns if column in data.columns]
        y = data[columns].mean(axis=1)
        # a mark without a position, such as a vertical line, is on every page
        is_on_page = y.isna() | y.between(content.rows.bottom, content.rows.top)
        data = data[is_on_page]
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
        figure_ends = numbers["number"].agg(["min", "max"])
        panel_ends = numbers.groupby("panel", sort=False)["number"].agg(["min", "max"])
        is_free = getattr(figure.facet, "free", {}).get(axis, False)
        for panel in panels:
            if is_free and panel in panel_ends.index:
                ends[axis] += [panel_ends["min"][panel], panel_ends["max"][panel]]
            else:
                ends[axis] += list(figure_ends)
    return pd.DataFrame({"panel": np.repeat(list(panels), 2), **ends}).dropna()


def _drawn_numbers(figure: p9.ggplot, aesthetics: Sequence[str]) -> pd.DataFrame:
    """Finite numbers that some aesthetics of all layers show: columns `panel`, `number`."""
    frames = [pd.DataFrame({"panel": [], "number": []}, dtype=float)]
    for layer in figure.layers:
        data = layer.geom.data
        if data is None:
            data = figure.data
        if not isinstance(data, pd.DataFrame):
            continue
        panel: pd.Series | str = ""
        if "panel" in data.columns:
            panel = data["panel"].astype(str)
        mapping = {**figure.mapping, **layer.mapping}
        for aesthetic in aesthetics:
            column = mapping.get(aesthetic)
            if column in data.columns and pd.api.types.is_numeric_dtype(data[column]):
                numbers = data[column].astype(float)
                frames.append(pd.DataFrame({"panel": panel, "number": numbers}))
    return pd.concat(frames).replace([np.inf, -np.inf], np.nan)


def _axis_end_layer(axis_ends: pd.DataFrame, titles: Sequence[str]) -> list[Any]:
    """Invisible layer that gives the panels of a page the axes that they have in the whole figure."""
    if axis_ends.empty:
        return []
    # a single panel has no title
    if any(titles):
        axis_ends = _in_panels(axis_ends, titles)
    return [p9.geom_blank(p9.aes("x", "y"), axis_ends, inherit_aes=False)]
