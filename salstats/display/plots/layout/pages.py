"""Figures that are higher than a page, on as many as they need: panels stay whole where they fit one."""

import math
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.theme import LINE_MM, MM_PER_INCH, figure_size
from salstats.display.text.packing import packed

#: Height of a journal's page in mm.
PAGE_HEIGHT_MM = 247.0
_ACROSS = ("x", "xmin", "xmax", "xend", "xintercept")
_UP = ("y", "ymin", "ymax", "yend", "yintercept")


def on_pages(
    figure: p9.ggplot,
    panels: Sequence[str],
    n_columns: int,
    panel_mm: float,
    edges: Sequence[float] = (),
    ends: Sequence[float] = (),
) -> list[p9.ggplot]:
    """A figure of panels on the pages that it needs, as even as can be and all with the same axes.

    Its layers' frames have `panel`, of `titles` in order; `panel_mm` is the height of a panel with its title
    and axis, and the room to the next. A panel may be divided at `edges` of rows (in mm below 0), and is
    rather at `ends` of groups of rows.
    """
    width, height = (side * MM_PER_INCH for side in figure.theme.getp("figure_size"))
    if height <= PAGE_HEIGHT_MM:
        return [figure]
    n_down = math.ceil(len(panels) / n_columns)
    # without panels and with a further line of the caption
    around = height - n_down * panel_mm + LINE_MM
    room = PAGE_HEIGHT_MM - around
    n_pages = math.ceil(n_down / max(int(room // panel_mm), 1))
    lines = (len(part) * n_columns for part in np.array_split(range(n_down), n_pages))
    starts = [0, *np.cumsum([*lines])]
    shown = [panels[start:end] for start, end in pairwise(starts)]
    cuts = _cuts(edges, ends, room - panel_mm - edges[-1]) if edges and panel_mm > room else []
    several: list[tuple[float, float] | None] = [*cuts] or [None]
    parts = [(titles, part) for titles in shown for part in several]
    if len(parts) == 1:
        return [figure]
    corners = _corners(figure, panels)
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
        pages.append(page + _same_axes(corners, titles))
    return pages


def _cuts(edges: Sequence[float], ends: Sequence[float], room: float) -> list[tuple[float, float]]:
    """Top and bottom of each page's rows, as even as can be, at the ends of groups if these fit."""
    steps = [above - below for above, below in pairwise([0.0, *ends])]
    allowed = ends if steps and max(steps) <= room else edges
    counts = packed([above - below for above, below in pairwise([0.0, *allowed])], room)
    filled = list(pairwise([0.0, *(allowed[n - 1] for n in accumulate(counts))]))
    wanted = np.linspace(0, edges[-1], len(filled) + 1)[1:-1]
    nearest = [min(allowed, key=partial(_distance, at)) for at in wanted]
    even = list(pairwise([0.0, *nearest, edges[-1]]))
    return even if all(0 < top - below <= room for top, below in even) else filled


def _distance(one: float, other: float) -> float:
    """How far two places are from each other."""
    return abs(one - other)


def _part(
    figure: p9.ggplot, titles: Sequence[str], part: tuple[float, float] | None, titled: bool
) -> p9.ggplot:
    """Copy of a figure whose frames have only what one page shows."""
    page = deepcopy(figure)
    own = ((layer, "_data", {**page.mapping, **layer.mapping}) for layer in page.layers)
    for holder, name, mapping in [(page, "data", page.mapping), *own]:
        data = getattr(holder, name)
        if not isinstance(data, pd.DataFrame) or data.empty:
            continue
        if titled and "panel" in data.columns:
            data = data[data["panel"].isin(titles)]
            data = data.assign(panel=pd.Categorical(data["panel"].astype(str), list(titles), ordered=True))
        if part is not None:
            height = data[[mapping[a] for a in _UP if mapping.get(a) in data.columns]].mean(axis=1)
            data = data[height.isna() | height.between(part[1], part[0])]
        setattr(holder, name, data.reset_index(drop=True))
    return page


def _corners(figure: p9.ggplot, panels: Sequence[str]) -> pd.DataFrame:
    """Ends of the axes of each panel of a figure: columns `panel`, `x`, `y`."""
    sides = {}
    for axis, names in (("x", _ACROSS), ("y", _UP)):
        numbers = _numbers(figure, names)
        by_panel = numbers.groupby("panel", sort=False)["at"].agg(["min", "max"])
        whole = numbers["at"].agg(["min", "max"])
        free = getattr(figure.facet, "free", {}).get(axis, False)
        sides[axis] = [
            value for p in panels for value in (by_panel.loc[p] if free and p in by_panel.index else whole)
        ]
    return pd.DataFrame({"panel": np.repeat(list(panels), 2), **sides}).dropna()


def _numbers(figure: p9.ggplot, names: Sequence[str]) -> pd.DataFrame:
    """Numbers that are drawn along an axis: columns `panel`, `at`."""
    found = [pd.DataFrame({"panel": [], "at": []}, dtype=float)]
    for layer in figure.layers:
        data = figure.data if layer._data is None else layer._data
        for name, column in {**figure.mapping, **layer.mapping}.items():
            known = isinstance(data, pd.DataFrame) and column in data.columns
            if name in names and known and pd.api.types.is_numeric_dtype(data[column]):
                panel = data["panel"].astype(str) if "panel" in data.columns else ""
                found.append(pd.DataFrame({"panel": panel, "at": data[column].astype(float)}))
    return pd.concat(found).replace([np.inf, -np.inf], np.nan)


def _same_axes(corners: pd.DataFrame, titles: Sequence[str]) -> list[Any]:
    """Layer that nothing is seen of and that gives a page's panels the axes that they have as a whole."""
    if corners.empty:
        return []
    # a single panel has no title
    if any(titles):
        corners = corners[corners["panel"].isin(titles)]
        corners = corners.assign(panel=pd.Categorical(corners["panel"], list(titles), ordered=True))
    return [p9.geom_blank(p9.aes("x", "y"), corners, inherit_aes=False)]
