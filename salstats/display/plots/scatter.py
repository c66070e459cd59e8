"""Scatter plot of scores and a covariate, with lines of fitted models and correlations."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_frame
from salstats.display.plots.layout.axis_ticks import axis_breaks, tick_texts
from salstats.display.plots.layout.captions import distinct, scope_note
from salstats.display.plots.layout.estimate_drawing import barred_rows
from salstats.display.plots.layout.figure import Figure, plot_function
from salstats.display.plots.layout.legends import group_scales
from salstats.display.plots.layout.panel_grid import PANEL_MM, PanelGrid, panel_grid
from salstats.display.plots.layout.points import CELL_POINTS, RASTER_POINTS, cell_layers
from salstats.display.plots.layout.scatter_data import (
    ScatterData,
    correlation_texts,
    fitted_lines,
    scatter_notes,
    scatter_points,
)
from salstats.display.plots.layout.text_fit import text_mm
from salstats.display.plots.layout.theme import MM_PER_PT, REFERENCE, TEXT_PT, font
from salstats.display.text.labels import Labels
from salstats.study import HUMAN

#: Colour of cells with points of a single group, and of several groups.
_CELL_COLOUR = "#6699CC"
_MIXED_CELL_COLOUR = "#999999"
#: Area of all points, as if none overlapped, as a share of the panel. More points are more transparent.
_INKED_SHARE = 0.35
#: Height of a panel as a multiple of its width, and the share of it that bands of a binary outcome take.
_HEIGHT_SHARE = 0.9
_BANDS_SHARE = 0.25
#: Share of its length by which an axis is expanded at both ends.
_EXPANSION = 0.04
#: Size of the text of correlations in points, and height of its lines in mm.
_TEXT_PT = TEXT_PT - 1
_LINE_MM = 1.15 * _TEXT_PT * MM_PER_PT
#: Square before a text in the colour of its group, and the indentation that makes room for it.
_KEY = "\u25aa"
_KEY_INDENT = "\u2003"
#: Height by which bands may extend beyond points and lines, as a share of the range of these.
_BAND_EXCESS = 0.5


@plot_function
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
) -> Figure:
    """Draw scores against a covariate, a panel per task, a colour per method.

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
    Figure
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
    >>> fit = ss.fit_line(scores, "iou ~ prob", by=["method", "task"])
    >>> figure = ss.plot_scatter(scores, "prob", "iou", fit=fit, labels={"prob": "Probability"})
    >>> figure.labels.x
    'Probability'
    """
    names = Labels(labels, check_frame(data, "data"))
    scatter = scatter_points(data, x, y, by, colour, names)
    lines = None if fit is None else fitted_lines(fit, x, y, scatter, data)
    texts = None if correlations is None else correlation_texts(correlations, x, y, scatter)
    text_width = 0.0
    if texts is not None:
        text_width = max(text_mm(_KEY_INDENT + text, _TEXT_PT) for text in texts["text"])
    panels = list(scatter.points["panel"].cat.categories)
    grid = panel_grid(panels, n_columns, width, min_width=max(text_width, PANEL_MM))
    height = grid.panel_height(_HEIGHT_SHARE)
    layers = _point_layers(scatter, grid, height)
    data_range = _data_range(scatter, lines)
    if lines is not None and len(lines):
        lines = _with_cut_bands(lines, data_range)
        layers += _line_layers(lines)
    text_height = 0.0
    if texts is not None:
        texts = _stacked_texts(texts, grid)
        text_height = _LINE_MM * float(texts["text"].str.count("\n").max() + 1)
        has_other_keys = bool(_mapped_aesthetics(layers) & {"shape", "linetype"})
        layers += _text_layers(texts, show_legend=not has_other_keys)
    mapped = _mapped_aesthetics(layers)
    aesthetics = [name for name in ("color", "fill", "shape", "linetype") if name in mapped]
    scales = group_scales(scatter.texts, [HUMAN], aesthetics, grid.width, labels=names, solid=True)
    groups = list(scatter.points["group"].cat.categories)
    legend = groups if len(groups) > 1 else []
    if not legend:
        hidden_guides: dict[str, Any] = dict.fromkeys(aesthetics, "none")
        scales.append(p9.guides(**hidden_guides))
    has_cells = "alpha" in mapped
    if has_cells:
        legend = [*legend, "cells"]
    titles = [_axis_title(data, column, names) for column in (x, y)]
    figure = (
        p9.ggplot(scatter.points)
        + layers
        + _axes(scatter, data_range, grid, height, text_height)
        + grid.elements(
            height + text_height,
            x=titles[0],
            y=titles[1],
            notes=[
                scope_note(data, names, _unnamed_columns(scatter)),
                *scatter_notes(scatter, titles, lines, texts, names),
            ],
            legend=legend,
        )
        + scales
    )
    if not legend:
        figure = figure + p9.theme(legend_position="none")
    return grid.pages(figure, height + text_height)


def _data_range(scatter: ScatterData, lines: pd.DataFrame | None) -> tuple[float, float]:
    """Smallest and largest number of the vertical axis: that of points and lines, 0 and 1 for outcomes."""
    if scatter.is_binary:
        return 0.0, 1.0
    values = scatter.points["y"]
    if lines is not None:
        values = pd.concat([values, lines["estimate"]])
    return float(values.min()), float(values.max())


def _axes(
    scatter: ScatterData, data_range: tuple[float, float], grid: PanelGrid, height: float, text_height: float
) -> list[Any]:
    """Scales of both axes, with room in mm for texts above the numbers of the vertical one."""
    x_breaks: Any = partial(axis_breaks, length=grid.panel_width)
    if scatter.has_few_x:
        x_breaks = sorted(scatter.points["x"].unique())
    room_above = _EXPANSION + (1 + 2 * _EXPANSION) * text_height / height
    return [
        p9.scale_x_continuous(breaks=x_breaks, minor_breaks=[], labels=tick_texts, expand=(_EXPANSION, 0)),
        p9.scale_y_continuous(
            breaks=axis_breaks(data_range, 1.6 * height),
            minor_breaks=[],
            labels=tick_texts,
            expand=(_EXPANSION, 0, room_above, 0),
        ),
    ]


def _mapped_aesthetics(layers: Sequence[Any]) -> set[str]:
    """Aesthetics that any layer maps to a column."""
    return {aesthetic for layer in layers for aesthetic in getattr(layer, "mapping", ())}


def _point_layers(scatter: ScatterData, grid: PanelGrid, height: float) -> list[Any]:
    """Layer of points, smaller and more transparent the more there are; cells for very many."""
    points = scatter.points
    n_points = int(points["panel"].value_counts().max())
    # spread points are few at each position already, and cells would not match their lanes
    is_spread = scatter.is_binary or scatter.has_few_x
    if n_points > CELL_POINTS and not is_spread:
        has_groups = points["group"].nunique() > 1
        return cell_layers(points, _MIXED_CELL_COLOUR if has_groups else _CELL_COLOUR)
    if n_points <= 200:
        size = 0.9
    elif n_points <= 1500:
        size = 0.6
    else:
        size = 0.35
    # plotnine draws a mark of size s with a diameter of s * sqrt(pi) points
    point_area = np.pi / 4 * (size * np.pi**0.5 * MM_PER_PT) ** 2
    inked_area = _INKED_SHARE * grid.panel_width * height
    if scatter.is_binary:
        inked_area *= _BANDS_SHARE
    mapping = p9.aes("x_drawn", "y_drawn", color="group", shape="group")
    alpha = float(np.clip(inked_area / (n_points * point_area), 0.03, 0.7))
    raster = len(points) > RASTER_POINTS
    return [p9.geom_point(mapping, size=size, stroke=0, alpha=alpha, raster=raster)]


def _with_cut_bands(lines: pd.DataFrame, data_range: tuple[float, float]) -> pd.DataFrame:
    """Lines whose bands are cut not far beyond the data; `cut` is whether a row was."""
    low, high = data_range
    excess = _BAND_EXCESS * (high - low) or np.inf
    bands = lines[["conf_low", "conf_high"]].clip(low - excess, high + excess)
    is_cut = (bands != lines[bands.columns]) & bands.notna()
    return lines.assign(**bands, cut=is_cut.any(axis=1))


def _line_layers(lines: pd.DataFrame) -> list[Any]:
    """Layers of bands and lines, in the colours of groups, or black where they are of all groups together."""
    if lines["group"].isna().any():
        line = p9.aes("value", "estimate")
        band = p9.aes("value", ymin="conf_low", ymax="conf_high", group="panel")
        line_colour = {"color": REFERENCE}
        band_colour = {"fill": REFERENCE}
    else:
        line = p9.aes("value", "estimate", color="group", linetype="group")
        band = p9.aes("value", ymin="conf_low", ymax="conf_high", fill="group")
        line_colour = {}
        band_colour = {}
    layers: list[Any] = [p9.geom_line(line, lines, size=0.6, **line_colour)]
    banded = barred_rows(lines)
    if len(banded):
        layers.insert(0, p9.geom_ribbon(band, banded, alpha=0.2, show_legend=False, **band_colour))
    return layers


def _stacked_texts(texts: pd.DataFrame, grid: PanelGrid) -> pd.DataFrame:
    """Correlations in the order of the legend, each below empty lines for those above it in its panel.

    `key` has the square in the colour of the group, with the same empty lines.
    """
    has_keys = texts["group"].nunique() > 1
    indent = _KEY_INDENT if has_keys else ""
    texts = texts.sort_values(["panel", "group"], kind="stable")
    if max(text_mm(indent + text, _TEXT_PT) for text in texts["text"]) > grid.panel_width:
        texts["text"] = texts["text"].str.replace(" (", "\n(", regex=False)
    n_lines = texts["text"].str.count("\n") + 1
    n_lines_above = n_lines.groupby(texts["panel"], observed=True).cumsum() - n_lines
    empty_lines = [int(n) * "\n" for n in n_lines_above]
    stacked = []
    for lines_above, text in zip(empty_lines, texts["text"], strict=True):
        indented_text = indent + text.replace("\n", f"\n{indent}")
        stacked.append(lines_above + indented_text)
    keys = [lines_above + _KEY for lines_above in empty_lines] if has_keys else ""
    return texts.assign(text=stacked, key=keys)


def _text_layers(texts: pd.DataFrame, *, show_legend: bool) -> list[Any]:
    """Layers of correlations in the upper left corner, with squares in the colours of groups if several."""
    options: dict[str, Any] = {
        "data": texts,
        "x": -np.inf,
        "y": np.inf,
        "ha": "left",
        "va": "top",
        "size": _TEXT_PT,
        "family": font(),
        "lineheight": 1.1,
    }
    layers = [p9.geom_text(p9.aes(label="text"), show_legend=False, **options)]
    if texts["key"].any():
        key = p9.aes(label="key", color="group")
        layers.append(p9.geom_text(key, show_legend=show_legend, **options))
    return layers


def _unnamed_columns(scatter: ScatterData) -> list[str]:
    """Columns that neither titles of panels nor the legend name, for the caption."""
    varies = scatter.keys.nunique() > 1
    columns = [*scatter.by] if scatter.colour is None else [*scatter.by, scatter.colour]
    named = [column for column in columns if varies[column]]
    return [column for column in ("method", "task") if column not in named]


def _axis_title(data: pd.DataFrame, column: str, names: Labels) -> str:
    """Title of an axis: the column's label or the only metric of scores, a unit in brackets: "Area (px)"."""
    metrics = distinct(data, "metric") if column == "score" else []
    title = names.value("metric", metrics[0]) if len(metrics) == 1 else names.column(column)
    return re.sub(r" (px|mm)$", r" (\1)", title)
