"""Pages of figures that are higher than a page; panels are divided only where one is higher than that."""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.coded_text import TEXT
from salstats.display.plots.layout.figure import Figure, first_page_with_further_pages, page_sentence
from salstats.display.plots.layout.theme import LINE_MM, MM_PER_INCH, PAGE_HEIGHT_MM, figure_size
from salstats.display.text.packing import packed_slices

#: Aesthetics of positions along the horizontal and the vertical axis.
_X_AESTHETICS = ("x", "xmin", "xmax", "xend", "xintercept")
_Y_AESTHETICS = ("y", "ymin", "ymax", "yend", "yintercept")


@dataclass(frozen=True)
class _RowRange:
    """Rows of a divided panel that a page shows, from `top` to `bottom`.

    Both are positions in mm on a vertical axis that is 0 at the top of the panel and negative below.
    """

    top: float
    bottom: float

    @property
    def height(self) -> float:
        """Return the height of these rows in mm."""
        return self.top - self.bottom


@dataclass(frozen=True)
class _Page:
    """Contents of a page: the titles of its panels, and its rows where panels are divided, else None."""

    titles: Sequence[str]
    rows: _RowRange | None


def figure_on_pages(
    figure: Figure,
    panels: Sequence[str],
    n_columns: int,
    panel_height_mm: float,
    edges: Sequence[float] = (),
    group_ends: Sequence[float] = (),
) -> Figure:
    """Divide a figure of panels into pages with about equal numbers of panels, all with the same axes.

    Parameters
    ----------
    figure : Figure
        The figure with all panels. The frames of its layers have a column `panel`, the title of the panel.
    panels : sequence of str
        Titles of the panels, in order.
    n_columns : int
        Number of panels side by side.
    panel_height_mm : float
        Height of a panel with its title, its axis and the room below it.
    edges : sequence of float
        Vertical positions in mm of the lower edges of the rows of a panel, at which one higher than a page
        is divided; the axis is 0 at the top of the panel and negative below.
    group_ends : sequence of float
        Those edges at which a group of rows ends; panels are divided only there if every group fits a page.

    Returns
    -------
    Figure
        The first page, which holds the others; the figure itself if it fits a page or cannot be divided.
    """
    width, height = (side * MM_PER_INCH for side in figure.theme.getp("figure_size"))
    if height <= PAGE_HEIGHT_MM:
        return figure
    n_panel_rows = math.ceil(len(panels) / n_columns)
    # height of legend, margins and caption, which has one more line for the number of the page
    outside_mm = height - n_panel_rows * panel_height_mm + LINE_MM
    available_mm = PAGE_HEIGHT_MM - outside_mm
    max_panel_rows = max(int(available_mm // panel_height_mm), 1)
    titles_of_pages = _titles_of_pages(panels, n_columns, max_panel_rows)
    rows_mm = 0.0
    row_ranges: list[_RowRange | None] = [None]
    if edges and panel_height_mm > available_mm:
        # the last edge is the lower end of all rows
        rows_mm = -edges[-1]
        title_and_axis_mm = panel_height_mm - rows_mm
        row_ranges = [*_row_ranges_of_pages(edges, group_ends, available_mm - title_and_axis_mm)]
    contents = [_Page(titles, rows) for titles in titles_of_pages for rows in row_ranges]
    if len(contents) == 1:
        return figure
    axis_ends = _two_rows_of_axis_ends_per_panel(figure, panels)
    pages = []
    for number, content in enumerate(contents, 1):
        page = _page_copy(figure, content, has_several_panels=len(panels) > 1)
        note = f"{figure.labels.get('caption', '')}\n{page_sentence(number, len(contents))}"
        page += p9.labs(caption=note.strip())
        page_panel_height_mm = panel_height_mm
        if content.rows is not None:
            page_panel_height_mm -= rows_mm - content.rows.height
            page += p9.coord_cartesian(ylim=(content.rows.bottom, content.rows.top), expand=True)
        n_page_rows = math.ceil(len(content.titles) / n_columns)
        page += figure_size(width, outside_mm + n_page_rows * page_panel_height_mm)
        pages.append(page + _axis_end_layer(axis_ends, content.titles))
    return first_page_with_further_pages(pages)


def _titles_of_pages(panels: Sequence[str], n_columns: int, max_rows: int) -> list[Sequence[str]]:
    """Return the titles of the panels of each page: about equal numbers of whole rows of panels."""
    n_panel_rows = math.ceil(len(panels) / n_columns)
    n_pages = math.ceil(n_panel_rows / max_rows)
    page_sizes = [len(rows) * n_columns for rows in np.array_split(range(n_panel_rows), n_pages)]
    page_ends = np.cumsum(page_sizes)
    return [panels[start:end] for start, end in pairwise([0, *page_ends])]


def _row_ranges_of_pages(
    edges: Sequence[float], group_ends: Sequence[float], available_mm: float
) -> list[_RowRange]:
    """Return the rows of each page, of about equal heights if all of these fit `available_mm`.

    Pages end at the ends of groups of rows if each group fits a page, else at any edge of a row.
    """
    groups_fit = (
        bool(group_ends) and max(group.height for group in _ranges_between(group_ends)) <= available_mm
    )
    cuts = group_ends if groups_fit else edges
    full_pages = _full_pages(cuts, available_mm)
    even_pages = _even_pages(cuts, len(full_pages))
    if all(0 < page.height <= available_mm for page in even_pages):
        return even_pages
    return full_pages


def _ranges_between(cuts: Sequence[float]) -> list[_RowRange]:
    """Return consecutive ranges of rows, the first from the top of the panel to the first cut."""
    return [_RowRange(top, bottom) for top, bottom in pairwise([0.0, *cuts])]


def _full_pages(cuts: Sequence[float], available_mm: float) -> list[_RowRange]:
    """Return the rows of each page, where each page takes as many rows or groups as fit it."""
    heights = [rows.height for rows in _ranges_between(cuts)]
    page_ends = [cuts[page.stop - 1] for page in packed_slices(heights, available_mm)]
    return _ranges_between(page_ends)


def _even_pages(cuts: Sequence[float], n_pages: int) -> list[_RowRange]:
    """Return the rows of each page, which ends at the cut nearest to an even division of the height."""
    page_ends = []
    for even_end in np.linspace(0, cuts[-1], n_pages + 1)[1:]:
        distances = np.abs(np.asarray(cuts) - even_end)
        page_ends.append(cuts[int(np.argmin(distances))])
    return _ranges_between(page_ends)


def _page_copy(figure: Figure, content: _Page, *, has_several_panels: bool) -> Figure:
    """Return a copy of a figure whose frames have only the rows of one page."""
    page = deepcopy(figure)
    page.data = _data_of_page(page.data, page.mapping, content, has_several_panels=has_several_panels)
    for number, layer in enumerate(page.layers):
        mapping = {**page.mapping, **layer.mapping}
        geom = layer.geom
        geom.data = _data_of_page(geom.data, mapping, content, has_several_panels=has_several_panels)
        # a layer keeps the frame that its geom had when the layer was made
        page.layers[number] = geom.to_layer()
    return page


def _data_of_page(data: Any, mapping: dict[str, Any], content: _Page, *, has_several_panels: bool) -> Any:
    """Return the rows of a layer's frame that belong to a page; data of a layer without a frame stay as is.

    `mapping` is from aesthetics to columns, and `has_several_panels` whether the figure has several panels.
    """
    if not isinstance(data, pd.DataFrame) or data.empty:
        return data
    if has_several_panels and _has_panel_column(data):
        data = _rows_of_panels(data, content.titles)
    if content.rows is not None:
        mapped_columns = [mapping.get(aesthetic) for aesthetic in _Y_AESTHETICS]
        columns = [column for column in mapped_columns if column in data.columns]
        # a mark with two ends, such as a bar, belongs to the page of its middle
        y = data[columns].mean(axis=1)
        # a mark without a vertical position, such as a vertical line, is on every page
        is_on_page = y.isna() | y.between(content.rows.bottom, content.rows.top)
        data = data[is_on_page]
    return data.reset_index(drop=True)


def _has_panel_column(data: pd.DataFrame) -> bool:
    """Return whether the rows of a layer's frame belong to panels; if not, they are drawn in each panel."""
    return "panel" in data.columns


def _rows_of_panels(data: pd.DataFrame, titles: Sequence[str]) -> pd.DataFrame:
    """Return the rows of some panels, whose titles become the categories of `panel`."""
    rows = data[data["panel"].isin(titles)]
    panel = pd.Categorical(rows["panel"].astype(TEXT), list(titles), ordered=True)
    return rows.assign(panel=panel)


def _two_rows_of_axis_ends_per_panel(figure: Figure, panels: Sequence[str]) -> pd.DataFrame:
    """Return the smallest and the largest number of both axes of each panel.

    The frame has two rows per panel, with columns `panel`, `x` and `y`.
    """
    x_ends = _low_and_high_of_each_panel(figure, panels, _X_AESTHETICS, is_free=_has_free_axis(figure, "x"))
    y_ends = _low_and_high_of_each_panel(figure, panels, _Y_AESTHETICS, is_free=_has_free_axis(figure, "y"))
    return pd.DataFrame(
        {"panel": np.repeat(list(panels), 2), "x": np.ravel(x_ends), "y": np.ravel(y_ends)}
    ).dropna()


def _has_free_axis(figure: Figure, axis: Literal["x", "y"]) -> bool:
    """Return whether each panel has its own limits of an axis."""
    return isinstance(figure.facet, p9.facet_wrap) and figure.facet.free[axis]


def _low_and_high_of_each_panel(
    figure: Figure, panels: Sequence[str], aesthetics: Sequence[str], *, is_free: bool
) -> list[tuple[float, float]]:
    """Return the smallest and the largest number that some aesthetics show in each panel.

    Unless `is_free`, all panels have those of the whole figure, as do panels without numbers in any case.
    """
    numbers = _drawn_numbers_with_panel(figure, aesthetics)
    smallest = numbers["number"].min()
    largest = numbers["number"].max()
    ends_of_panel = numbers.groupby("panel", sort=False)["number"].agg(["min", "max"])
    ends: list[tuple[float, float]] = []
    for panel in panels:
        if is_free and panel in ends_of_panel.index:
            ends.append((ends_of_panel["min"][panel], ends_of_panel["max"][panel]))
        else:
            ends.append((smallest, largest))
    return ends


def _drawn_numbers_with_panel(figure: Figure, aesthetics: Sequence[str]) -> pd.DataFrame:
    """Return the finite numbers that some aesthetics of all layers show: columns `panel` and `number`.

    `panel` is "" for layers that are drawn in each panel; infinite numbers are NaN.
    """
    frames = []
    for layer in figure.layers:
        data = layer.geom.data
        if data is None:
            data = figure.data
        if not isinstance(data, pd.DataFrame):
            continue
        panel: pd.Series | str = ""
        if _has_panel_column(data):
            panel = data["panel"].astype(TEXT)
        mapping = dict(layer.mapping)
        if layer.inherit_aes:
            mapping = {**figure.mapping, **layer.mapping}
        for aesthetic in aesthetics:
            column = mapping.get(aesthetic)
            if column in data.columns and len(data) and pd.api.types.is_numeric_dtype(data[column]):
                numbers = data[column].astype(float)
                frames.append(pd.DataFrame({"panel": panel, "number": numbers}))
    if not frames:
        return pd.DataFrame({"panel": [], "number": []}, dtype=float)
    return pd.concat(frames).replace([np.inf, -np.inf], np.nan)


def _axis_end_layer(axis_ends: pd.DataFrame, titles: Sequence[str]) -> list[Any]:
    """Return an invisible layer that gives the panels of a page the axes of the whole figure."""
    if axis_ends.empty:
        return []
    # a single panel has no title
    if any(titles):
        axis_ends = _rows_of_panels(axis_ends, titles)
    return [p9.geom_blank(p9.aes("x", "y"), axis_ends, inherit_aes=False)]
