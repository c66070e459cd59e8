"""Figures that are higher than a page, on as many as they need: panels stay whole where they fit one."""

import math
from collections.abc import Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.theme import LINE_MM, MM_PER_INCH, figure_size

#: Height of a journal's page in mm.
PAGE_HEIGHT_MM = 247.0
_ACROSS = ("x", "xmin", "xmax", "xend", "xintercept")


def on_pages(
    figure: p9.ggplot,
    panels: Sequence[str],
    n_columns: int,
    panel_mm: float,
    edges: Sequence[float] = (),
) -> list[p9.ggplot]:
    """A figure of panels on the pages that it needs, all with the same axes.

    Parameters
    ----------
    figure : ggplot
        Its layers' frames have `panel`; where it has rows, `y` or `ymin` and `ymax`, in mm below 0.
    panels : sequence of str
        Their titles in order.
    n_columns : int
        Panels side by side.
    panel_mm : float
        Height of a panel with its title and axis.
    edges : sequence of float
        Lower edges of rows from the top down, in mm below 0, where a panel may be divided.
    """
    width, height = (side * MM_PER_INCH for side in figure.theme.getp("figure_size"))
    if height <= PAGE_HEIGHT_MM:
        return [figure]
    n_down = math.ceil(len(panels) / n_columns)
    # without panels and with a further line of the caption
    around = height - n_down * panel_mm + LINE_MM
    room = PAGE_HEIGHT_MM - around
    fitting = max(int(room // panel_mm), 1) * n_columns
    shown = [panels[i : i + fitting] for i in range(0, len(panels), fitting)]
    cuts = _cuts(edges, room - panel_mm) if panel_mm > room else []
    several: list[tuple[float, float] | None] = [*cuts] or [None]
    parts = [(titles, part) for titles in shown for part in several]
    if len(parts) == 1:
        return [figure]
    ranges = _ranges(figure)
    pages = []
    for number, (titles, part) in enumerate(parts, 1):
        page = _part(figure, titles, part, len(panels) > 1)
        down = math.ceil(len(titles) / n_columns)
        cut_off = 0.0 if part is None else -edges[-1] - (part[0] - part[1])
        text = f"{figure.labels.get('caption', '')}\nPage {number} of {len(parts)}."
        page += p9.labs(caption=text.strip())
        page += figure_size(width, around + down * (panel_mm - cut_off))
        if part is not None:
            page += p9.coord_cartesian(ylim=(part[1], part[0]), expand=True)
        pages.append(page + _same_axes(ranges, titles, part))
    return pages


def _cuts(edges: Sequence[float], spare: float) -> list[tuple[float, float]]:
    """Top and bottom of each page's rows; `spare` is how much more of them a page holds, or less."""
    room = -edges[-1] + spare
    cuts, top = [], 0.0
    for edge, below in pairwise([*edges, -np.inf]):
        if top - below > room:
            cuts.append((top, edge))
            top = edge
    return cuts


def _part(
    figure: p9.ggplot, titles: Sequence[str], part: tuple[float, float] | None, titled: bool
) -> p9.ggplot:
    """Copy of a figure whose frames have only what one page shows."""
    page = deepcopy(figure)
    for holder, name in [(page, "data"), *((layer, "_data") for layer in page.layers)]:
        data = getattr(holder, name)
        if not isinstance(data, pd.DataFrame) or data.empty:
            continue
        if titled and "panel" in data.columns:
            data = data[data["panel"].isin(titles)]
            data = data.assign(panel=pd.Categorical(data["panel"].astype(str), list(titles), ordered=True))
        if part is not None:
            height = data[[c for c in ("y", "ymin", "ymax", "yintercept") if c in data.columns]].mean(axis=1)
            data = data[height.isna() | height.between(part[1], part[0])]
        setattr(holder, name, data.reset_index(drop=True))
    return page


def _ranges(figure: p9.ggplot) -> pd.DataFrame:
    """Smallest and largest number on the axis of each panel of a figure: columns `panel`, `x`."""
    found = []
    for layer in figure.layers:
        data = figure.data if layer._data is None else layer._data
        names = {key: value for key, value in {**figure.mapping, **layer.mapping}.items() if key in _ACROSS}
        for column in names.values():
            if isinstance(data, pd.DataFrame) and column in data.columns:
                panel = data["panel"].astype(str) if "panel" in data.columns else ""
                found.append(pd.DataFrame({"panel": panel, "x": data[column]}))
    numbers = [part for part in found if pd.api.types.is_numeric_dtype(part["x"])]
    if not numbers:
        return pd.DataFrame({"panel": [], "x": []})
    extremes = pd.concat(numbers).groupby("panel", sort=False)["x"].agg(["min", "max"])
    return extremes.stack().rename("x").reset_index("panel").dropna()


def _same_axes(ranges: pd.DataFrame, titles: Sequence[str], part: tuple[float, float] | None) -> list[Any]:
    """Layer that nothing is seen of and that gives a page's panels the axes that they have as a whole."""
    if part is None or ranges.empty:
        return []
    middle = ranges.assign(y=(part[0] + part[1]) / 2)
    # a single panel has no title
    if any(titles):
        middle = middle[middle["panel"].isin(titles)]
        middle = middle.assign(panel=pd.Categorical(middle["panel"], list(titles), ordered=True))
    return [p9.geom_blank(p9.aes("x", "y"), middle, inherit_aes=False)]
