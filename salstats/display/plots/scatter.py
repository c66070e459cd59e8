"""Scores against a covariate, with the lines of fitted models and correlations given as frames."""

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
from salstats.display.plots.layout.drawing import barred_rows
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.legends import group_scales
from salstats.display.plots.layout.panel_grid import PANEL_MM, PanelGrid, panel_grid
from salstats.display.plots.layout.points import CELL_POINTS, RASTER_POINTS, cell_layers
from salstats.display.plots.layout.scatter_data import (
    Drawn,
    captions,
    correlation_texts,
    drawn_points,
    fitted_lines,
)
from salstats.display.plots.layout.text_fit import text_mm
from salstats.display.plots.layout.theme import MM_PER_PT, REFERENCE, TEXT_PT, font
from salstats.display.text.labels import Labels
from salstats.study import HUMAN

#: Colour of cells that hold points of one group and of several.
_CELL_COLOURS = ("#6699CC", "#999999")
#: Share of a panel that its points cover, each counted by itself; more of them are more transparent.
_COVERED = 0.35
#: Height of a panel over its width, share that the bands of an outcome take, and room around the points.
_SHARE, _BANDS, _ROOM = 0.9, 0.25, 0.04
#: Size of the correlations' text, height of its lines, and what stands before it in the colour of its group.
_TEXT_PT = TEXT_PT - 1
_LINE_MM = 1.15 * _TEXT_PT * MM_PER_PT
_KEY, _KEY_ROOM = "\u25aa", "\u2003"
#: How far bands may reach beyond points and lines, in heights of these.
_BEYOND = 0.5


@figures
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
) -> list[p9.ggplot]:
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
    drawn = drawn_points(data, x, y, by, colour, names)
    lines = None if fit is None else fitted_lines(fit, x, y, drawn, data)
    texts = None if correlations is None else correlation_texts(correlations, x, y, drawn)
    wide = 0.0 if texts is None else max(text_mm(_KEY_ROOM + text, _TEXT_PT) for text in texts["text"])
    panels = list(drawn.points["panel"].cat.categories)
    grid = panel_grid(panels, n_columns, width, least=max(wide, PANEL_MM))
    height, room = grid.panel_height(_SHARE), 0.0
    layers = _points(drawn, grid, height)
    # numbers end where the data do, below the correlations; the bands of an outcome have none
    seen = drawn.points["y"] if lines is None else pd.concat([drawn.points["y"], lines["estimate"]])
    numbers = (0.0, 1.0) if drawn.outcome else (float(seen.min()), float(seen.max()))
    if lines is not None and len(lines):
        lines = _within(lines, numbers)
        layers += _lines(lines)
    if texts is not None:
        texts = _stacked(texts, grid)
        room = _LINE_MM * float(texts["text"].str.count("\n").max() + 1)
        layers += _texts(texts, shown=not _mapped(layers) & {"shape", "linetype"})
    groups = list(drawn.points["group"].cat.categories)
    aesthetics = [a for a in ("color", "fill", "shape", "linetype") if a in _mapped(layers)]
    scales = group_scales(drawn.texts, [HUMAN], aesthetics, grid.width, labels=names, solid=True)
    cells = "alpha" in _mapped(layers)
    titles = [_title(_name(data, name, names)) for name in (x, y)]
    # one group needs no legend
    keys = groups if len(groups) > 1 else []
    if not keys:
        scales[-1] = p9.guides(**dict.fromkeys(aesthetics, "none"))
    values = sorted(drawn.points["x"].unique())
    across = partial(axis_breaks, length=grid.panel_width)
    figure = (
        p9.ggplot(drawn.points)
        + layers
        + p9.scale_x_continuous(
            breaks=values if drawn.few else across, minor_breaks=[], labels=tick_texts, expand=(_ROOM, 0)
        )
        + p9.scale_y_continuous(
            breaks=axis_breaks(numbers, 1.6 * height),
            minor_breaks=[],
            labels=tick_texts,
            expand=(_ROOM, 0, _ROOM + (1 + 2 * _ROOM) * room / height, 0),
        )
        + grid.look(
            height + room,
            x=titles[0],
            y=titles[1],
            notes=[scope_note(data, names, _unsaid(drawn)), *captions(drawn, titles, lines, texts, names)],
            legend=[*keys, *["cells"] * cells],
        )
        + scales
        + ([] if keys or cells else p9.theme(legend_position="none"))
    )
    return grid.pages(figure, height + room)


def _mapped(layers: Sequence[Any]) -> set[str]:
    """Aesthetics that some layer maps to a column."""
    return {name for layer in layers for name in getattr(layer, "mapping", ())}


def _points(drawn: Drawn, grid: PanelGrid, height: float) -> list[Any]:
    """Layer of points: smaller and more transparent the more there are, in the end as counts."""
    points = drawn.points
    n_most = int(points["panel"].value_counts().max())
    # points in lanes are few per place already, and cells would not fit the lanes
    if n_most > CELL_POINTS and not (drawn.outcome or drawn.few):
        return cell_layers(points, _CELL_COLOURS[points["group"].nunique() > 1])
    size = 0.9 if n_most <= 200 else 0.6 if n_most <= 1500 else 0.35
    # the diameter of a mark of size s is s * sqrt(pi) points
    area = np.pi / 4 * (size * np.pi**0.5 * MM_PER_PT) ** 2
    covered = _COVERED * grid.panel_width * height * (_BANDS if drawn.outcome else 1)
    mapping = p9.aes("x_drawn", "y_drawn", color="group", shape="group")
    alpha = float(np.clip(covered / (n_most * area), 0.03, 0.7))
    raster = len(points) > RASTER_POINTS
    return [p9.geom_point(mapping, size=size, stroke=0, alpha=alpha, raster=raster)]


def _within(lines: pd.DataFrame, ends: tuple[float, float]) -> pd.DataFrame:
    """Lines whose bands end not far beyond points and lines, and which of these, `cut`, would not."""
    room = _BEYOND * (ends[1] - ends[0]) or np.inf
    bands = lines[["conf_low", "conf_high"]].clip(ends[0] - room, ends[1] + room)
    cut = (bands != lines[bands.columns]) & bands.notna()
    return lines.assign(**bands, cut=cut.any(axis=1))


def _lines(lines: pd.DataFrame) -> list[Any]:
    """Layers of bands and lines; those of all groups together are black."""
    together = bool(lines["group"].isna().any())
    own: dict[str, Any] = {} if together else {"color": "group", "linetype": "group"}
    fill: dict[str, Any] = {"group": "panel"} if together else {"fill": "group"}
    black: dict[str, Any] = {"color": REFERENCE} if together else {}
    layers = [p9.geom_line(p9.aes("value", "estimate", **own), lines, size=0.6, **black)]
    banded = barred_rows(lines)
    if len(banded):
        limits = p9.aes("value", ymin="conf_low", ymax="conf_high", **fill)
        black = {"fill": REFERENCE} if together else {}
        layers.insert(0, p9.geom_ribbon(limits, banded, alpha=0.2, show_legend=False, **black))
    return layers


def _stacked(texts: pd.DataFrame, grid: PanelGrid) -> pd.DataFrame:
    """Correlations in the order of the legend, each with the empty lines that set it below those before."""
    keyed = texts["group"].nunique() > 1
    texts = texts.sort_values(["panel", "group"], kind="stable")
    room = _KEY_ROOM if keyed else ""
    if max(text_mm(room + t, _TEXT_PT) for t in texts["text"]) > grid.panel_width:
        texts["text"] = texts["text"].str.replace(" (", "\n(", regex=False)
    n_lines = texts["text"].str.count("\n") + 1
    before = n_lines.groupby(texts["panel"], observed=True).cumsum() - n_lines
    above = [int(n) * "\n" for n in before]
    return texts.assign(
        text=[a + (room + t.replace("\n", f"\n{room}")) for a, t in zip(above, texts["text"], strict=True)],
        key=[a + _KEY if keyed else "" for a in above],
    )


def _texts(texts: pd.DataFrame, shown: bool) -> list[Any]:
    """Layers of correlations from the upper left corner down, behind keys of their groups if several."""
    look: dict[str, Any] = {"x": -np.inf, "y": np.inf, "ha": "left", "va": "top", "size": _TEXT_PT}
    look |= {"data": texts, "family": font(), "lineheight": 1.1}
    text = p9.geom_text(p9.aes(label="text"), show_legend=False, **look)
    if not texts["key"].any():
        return [text]
    return [text, p9.geom_text(p9.aes(label="key", color="group"), show_legend=shown, **look)]


def _unsaid(drawn: Drawn) -> list[str]:
    """Columns that neither an axis nor a title nor the legend says."""
    several = drawn.keys.nunique() > 1
    said = {column for column in (*drawn.by, drawn.colour) if column and several[column]}
    return [c for c in ("method", "task") if c not in said]


def _name(data: pd.DataFrame, column: str, names: Labels) -> str:
    """What an axis shows: of scores of one metric, that metric."""
    metrics = distinct(data, "metric") if column == "score" else []
    return names.value("metric", metrics[0]) if len(metrics) == 1 else names.column(column)


def _title(label: str) -> str:
    """Title of an axis, a unit at its end in brackets: "Area (px)"."""
    return re.sub(r" (px|mm)$", r" (\1)", label)
