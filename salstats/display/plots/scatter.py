"""Scores against a covariate, with the lines of fitted models and correlations given as frames."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_frame
from salstats.display.plots.axis_ticks import axis_breaks, tick_texts, up_breaks
from salstats.display.plots.captions import has_limits
from salstats.display.plots.legends import legend_columns, legend_mm
from salstats.display.plots.panel_grid import PanelGrid, panel_grid
from salstats.display.plots.points import CELL_POINTS, RASTER_POINTS, cell_layers
from salstats.display.plots.scatter_data import Drawn, captions, correlation_texts, drawn_points, fitted_lines
from salstats.display.plots.text_fit import caption, caption_chars, caption_mm, plain, width_mm
from salstats.display.plots.theme import (
    MM_PER_PT,
    PALETTE,
    REFERENCE,
    TEXT_PT,
    category_colours,
    category_shapes,
    figure_size,
    font,
    line_types,
    theme_salstats,
)
from salstats.display.text.labels import Labels

#: Colour of cells that hold points of one group and of several.
_CELL_COLOURS = ("#6699CC", "#999999")
#: Share of a panel that its points cover, each counted by itself; more of them are more transparent.
_COVERED = 0.35
#: Share of a panel that the bands of an outcome take.
_BANDS = 0.25
#: Size of the correlations' text, height of its lines, and width of the key before it.
_TEXT_PT = TEXT_PT - 1
_LINE_MM = 1.3 * _TEXT_PT * MM_PER_PT
_KEY_MM = 2.6


def plot_scatter(
    data: pd.DataFrame,
    x: str,
    y: str,
    *,
    by: str | Sequence[str] | None = None,
    colour: str | None = None,
    fit: pd.DataFrame | None = None,
    correlations: pd.DataFrame | None = None,
    labels: Any = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> p9.ggplot:
    """Figure of scores against a covariate, a panel per task, a colour per method.

    Nothing is fitted here: lines and bands are those of `fit_line`, coefficients those of `correlate`.

    Parameters
    ----------
    data : DataFrame
        A scores frame or any tidy table.
    x, y : str
        Columns or metrics, as in `correlate`: `plot_scatter(scores, "prob", "iou")`. A column that depends
        on the method needs `method` in `by` or as `colour`.
    by : str or sequence of str, optional
        Columns of which every combination has a panel; by default `task` where there is one. `()` is one
        panel.
    colour : str, optional
        A column whose values share panels, told apart by colour, mark and type of line; by default
        `method` where it is a column that is not in `by`.
    fit : DataFrame, optional
        What `fit_line` returns for `y` along `x`, by the columns of `by` and `colour` or fewer of them: a
        line that is not by a panel's column stands in every panel. Other covariates and outcomes in it are
        left out, as are groups that are not drawn ("Overall").
    correlations : DataFrame, optional
        What `correlate` returns for `x` and `y`, by the same columns or fewer: written into the panels,
        "ρ = 0.45 (0.30, 0.58)".
    labels : Mapping, optional
        Labels and order of columns and their values: `{"prob": "Model confidence"}`,
        `{"task": ["Edema", "Atelectasis"]}`.
    n_columns : int, optional
        Panels side by side; by default up to three in a column and five on a page.
    width : float, optional
        Width of the figure in mm; by default 89 for up to four panels, else 183.

    Returns
    -------
    ggplot
        All panels have the same axes. More than 2000 points are drawn as a bitmap inside a vector figure,
        and where a panel has more than 5000, cells are drawn instead, darker the more points of all colours
        they hold (name the colour's column in `by` to tell them apart).
        Outcomes of 0 and 1 stand in bands beyond 0 and 1, one per colour, and few whole numbers beside
        their value, so that equal ones do not hide each other; both are spread evenly, not at random. The
        caption says how many rows miss `x` or `y` and are not drawn.

    Raises
    ------
    ColumnError
        A name is neither a column nor a metric, or is not numeric.
    SalstatsError
        Nothing to draw; `fit` or `correlations` are of other variables, or grouped by other columns.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou'")
    >>> fit = ss.fit_line(scores, "iou ~ prob", by=["method", "task"], errors="cluster")
    >>> figure = ss.plot_scatter(scores, "prob", "iou", fit=fit, labels={"prob": "Probability"})
    >>> figure.labels.x
    'Probability'
    """
    names = Labels(labels, check_frame(data, "data"))
    drawn = drawn_points(data, x, y, by, colour, names)
    lines = None if fit is None else fitted_lines(fit, x, y, drawn, check_frame(data, "data"))
    texts = None if correlations is None else correlation_texts(correlations, x, y, drawn)
    grid = panel_grid(list(drawn.points["panel"].cat.categories), n_columns, width)
    window = _window(drawn, lines)
    groups = list(drawn.points["group"].cat.categories)
    room = 0.0
    if texts is not None:
        texts, room = _written(texts, grid)
    panel_height = grid.panel_height(0.9, room)
    layers = _points(drawn, grid, panel_height - room)
    if lines is not None:
        layers += _lines(lines)
    if texts is not None:
        texts, window = _above(texts, window, grid, panel_height, room)
        layers += _texts(texts, _mapped(layers))
    titles = [_title(names.column(name)) for name in (x, y)]
    text = caption(captions(drawn, titles, lines, texts), caption_chars(grid.width))
    height = grid.height(panel_height) + caption_mm(text)
    if len(groups) > 1 or "alpha" in _mapped(layers):
        height += legend_mm(groups)
    return (
        p9.ggplot(drawn.points)
        + layers
        + _scales(drawn, grid, _mapped(layers))
        + _axes(drawn, window, grid, panel_height - room)
        + p9.labs(x=plain(titles[0]), y=plain(titles[1]), caption=text)
        + theme_salstats()
        + grid.facets("panel")
        + figure_size(grid.width, height)
    )


def _mapped(layers: Sequence[Any]) -> set[str]:
    """Aesthetics that some layer maps to a column."""
    return {name for layer in layers for name in getattr(layer, "mapping", ())}


@dataclass(frozen=True)
class Window:
    """What a panel shows: the limits of both axes, and up to where the second has numbers."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    numbers: tuple[float, float]


def _window(drawn: Drawn, lines: pd.DataFrame | None) -> Window:
    """What the panels show: all points and lines, and as much of the bands as fits."""
    x, y = drawn.points["x_drawn"], drawn.points["y_drawn"]
    if lines is not None:
        y = pd.concat([y, lines["estimate"]])
    x_room, y_room = (0.04 * (v.max() - v.min()) or 0.2 * abs(v.max()) or 0.5 for v in (x, y))
    low, high = float(y.min() - y_room), float(y.max() + y_room)
    return Window(
        x_low=float(x.min() - x_room),
        x_high=float(x.max() + x_room),
        y_low=low,
        y_high=high,
        numbers=(0.0, 1.0) if drawn.outcome else (low, high),
    )


def _points(drawn: Drawn, grid: PanelGrid, height: float) -> list[Any]:
    """Layer of points: smaller and more transparent the more there are, in the end as counts."""
    points = drawn.points
    n_most = int(points["panel"].value_counts().max())
    # points in lanes are few per place already, and cells would not fit the lanes
    if n_most > CELL_POINTS and not (drawn.outcome or drawn.few):
        places = points[["panel", "x", "y"]]
        several = points["group"].nunique() > 1
        return cell_layers(places, grid.panel_width, height, _CELL_COLOURS[several])
    size = 0.9 if n_most <= 200 else 0.6 if n_most <= 1500 else 0.35
    # the diameter of a mark of size s is s * sqrt(pi) points
    area = np.pi / 4 * (size * np.pi**0.5 * MM_PER_PT) ** 2
    covered = _COVERED * grid.panel_width * height * (_BANDS if drawn.outcome else 1)
    alpha = float(np.clip(covered / (n_most * area), 0.03, 0.7))
    return [
        p9.geom_point(
            p9.aes("x_drawn", "y_drawn", color="group", shape="group"),
            size=size,
            stroke=0,
            alpha=alpha,
            raster=len(points) > RASTER_POINTS,
        )
    ]


def _lines(lines: pd.DataFrame) -> list[Any]:
    """Layers of bands and lines; those of all groups together are black."""
    if lines.empty:
        return []
    together = bool(lines["group"].isna().any())
    own: dict[str, Any] = {} if together else {"color": "group", "linetype": "group"}
    fill: dict[str, Any] = {"group": "panel"} if together else {"fill": "group"}
    black = {"color": REFERENCE} if together else {}
    layers = [p9.geom_line(p9.aes("value", "estimate", **own), lines, size=0.6, inherit_aes=False, **black)]
    banded = lines[has_limits(lines)]
    if len(banded):
        limits = p9.aes("value", ymin="conf_low", ymax="conf_high", **fill)
        black = {"fill": REFERENCE} if together else {}
        band = p9.geom_ribbon(limits, banded, alpha=0.2, inherit_aes=False, show_legend=False, **black)
        layers.insert(0, band)
    return layers


def _written(texts: pd.DataFrame, grid: PanelGrid) -> tuple[pd.DataFrame, float]:
    """Correlations as they fit a panel, lines above each of them, and the room that they take."""
    keyed = texts["group"].nunique() > 1
    width = max(width_mm(text, _TEXT_PT) for text in texts["text"]) + 1.5 + _KEY_MM * keyed
    if width > grid.panel_width:
        texts = texts.assign(text=texts["text"].str.replace(" (", "\n(", regex=False))
    texts = texts.iloc[np.argsort(texts["group"].cat.codes, kind="stable")]
    texts = texts.assign(n_lines=texts["text"].str.count("\n") + 1, key_mm=_KEY_MM * keyed)
    n_lines = texts.groupby("panel", observed=True)["n_lines"]
    return texts.assign(before=n_lines.cumsum() - texts["n_lines"]), float(n_lines.sum().max()) * _LINE_MM + 1


def _above(
    texts: pd.DataFrame, window: Window, grid: PanelGrid, panel_height: float, room: float
) -> tuple[pd.DataFrame, Window]:
    """Correlations with their places, and the window with the room for them above the points."""
    y_per_mm = (window.y_high - window.y_low) / (panel_height - room)
    x_per_mm = (window.x_high - window.x_low) / grid.panel_width
    top = window.y_high + room * y_per_mm
    placed = texts.assign(
        text_x=window.x_low + (0.8 + texts["key_mm"]) * x_per_mm,
        text_y=top - texts["before"] * _LINE_MM * y_per_mm,
        key_x=window.x_low + 0.8 * x_per_mm,
        key_end=window.x_low + (0.4 + texts["key_mm"]) * x_per_mm,
        key_middle=window.x_low + (0.6 + texts["key_mm"] / 2) * x_per_mm,
        key_y=top - (texts["before"] + 0.45) * _LINE_MM * y_per_mm,
    )
    return placed, replace(window, y_high=top)


def _texts(texts: pd.DataFrame, mapped: set[str]) -> list[Any]:
    """Layers of correlations, behind the key of their group where there are several."""
    own: dict[str, Any] = {"data": texts, "inherit_aes": False, "show_legend": False}
    text = p9.geom_text(
        p9.aes("text_x", "text_y", label="text"),
        size=_TEXT_PT,
        family=font(),
        ha="left",
        va="top",
        lineheight=1.1,
        **own,
    )
    if not texts["key_mm"].any():
        return [text]
    if "linetype" in mapped:
        mapping = p9.aes("key_x", "key_y", xend="key_end", yend="key_y", color="group", linetype="group")
        return [text, p9.geom_segment(mapping, size=0.6, **own)]
    mapping = p9.aes("key_middle", "key_y", color="group", shape="group")
    # cells have no colours of their own to tell in a legend
    own["show_legend"] = "shape" not in mapped
    return [text, p9.geom_point(mapping, size=1, stroke=0, **own)]


def _axes(drawn: Drawn, window: Window, grid: PanelGrid, height: float) -> list[Any]:
    """Axes; their numbers end where the data do, below the correlations."""
    # the bands of an outcome have no numbers
    y_breaks = up_breaks(window.numbers, height * (1 - _BANDS) - 2 if drawn.outcome else height)
    x_breaks = sorted(drawn.points["x"].unique())
    if not drawn.few:
        x_breaks = axis_breaks((window.x_low, window.x_high), grid.panel_width - 2)
    return [
        p9.scale_x_continuous(breaks=x_breaks, minor_breaks=[], labels=tick_texts),
        p9.scale_y_continuous(breaks=y_breaks, minor_breaks=[], labels=tick_texts),
        p9.coord_cartesian(
            xlim=(window.x_low, window.x_high), ylim=(window.y_low, window.y_high), expand=False
        ),
    ]


def _scales(drawn: Drawn, grid: PanelGrid, mapped: set[str]) -> list[Any]:
    """Scales of the groups for what layers map: colours, marks, types of line; the legend."""
    groups = list(drawn.points["group"].cat.categories)
    several = len(groups) > 1
    colours = category_colours(groups, drawn.references) if several else {groups[0]: PALETTE[0]}
    shapes = category_shapes(groups, drawn.references) if several else {groups[0]: "o"}
    made = {
        "color": (p9.scale_color_manual, list(colours.values())),
        "fill": (p9.scale_fill_manual, list(colours.values())),
        "shape": (p9.scale_shape_manual, list(shapes.values())),
        "linetype": (p9.scale_linetype_manual, line_types(len(groups))),
    }
    scales = {
        name: scale(values, limits=groups, name="")
        for name, (scale, values) in made.items()
        if name in mapped
    }
    guides: dict[str, Any] = dict.fromkeys(scales, False)
    key = next((name for name in ("linetype", "shape") if name in mapped), None)
    if several and key is not None:
        legend: dict[str, Any] = {"ncol": legend_columns(groups, grid.width), "byrow": True}
        solid = {"alpha": 1} if key == "linetype" else {"alpha": 1, "size": 1.2}
        guides |= {"color": p9.guide_legend(**legend), key: p9.guide_legend(**legend, override_aes=solid)}
    return [*scales.values(), p9.guides(**guides)]


def _title(label: str) -> str:
    """Title of an axis, a unit at its end in brackets: "Area (px)"."""
    return re.sub(r" (px|mm)$", r" (\1)", label)
