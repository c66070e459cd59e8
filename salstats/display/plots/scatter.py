"""Scatter plot of scores and a covariate, with lines of fitted models and correlations."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_frame
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import (
    clustering_or_independence_sentence,
    interval_caption,
    interval_name_with_level,
)
from salstats.display.plots.layout.axis_ticks import axis_breaks, tick_texts, vertical_breaks
from salstats.display.plots.layout.captions import distinct_values_by_appearance, scope_note
from salstats.display.plots.layout.estimate_drawing import rows_with_both_limits, with_smaller_is_better
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.legends import group_scales
from salstats.display.plots.layout.panel_grid import MIN_PANEL_MM, PanelGrid, panel_grid
from salstats.display.plots.layout.points import CELL_POINTS, RASTER_POINTS, point_density_cell_layers
from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.display.plots.layout.theme import MM_PER_PT, REFERENCE_COLOUR, TEXT_PT, font
from salstats.display.plots.scatter_data import (
    ScatterData,
    correlation_coefficient_symbol,
    correlations_with_texts,
    fitted_lines_with_panel_and_group,
    points_of_other_groups,
    scatter_points_and_binned_rates,
)
from salstats.display.text.cautions import caution_note
from salstats.display.text.correlation import adjusted_for_covariates_note
from salstats.display.text.format import count_text, counted_range, joined
from salstats.display.text.labels import Labels
from salstats.display.text.terms import model_text
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.study import HUMAN

#: Colour of the points of other methods behind those of the method of a panel.
_BACKGROUND_COLOUR = "#DDDDDD"
#: Colour of cells with points of a single group, and of several groups.
_CELL_COLOUR = "#6699CC"
_MIXED_CELL_COLOUR = "#999999"
#: Opacity times the area of all points, as if none overlapped, as a share of the panel: more points are more
#: transparent, within bounds.
_INKED_SHARE = 0.35
_POINT_ALPHAS = (0.03, 0.7)
#: Height of a panel as a multiple of its width.
_HEIGHT_TO_WIDTH = 0.9
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


@keep_call_in_figure
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
        Columns whose combinations of values have a panel each; by default `task` where there is one. `()`
        draws a single panel, or one per method where there are more than four.
    colour : str, optional
        A column whose values share a panel and differ in colour, mark and type of line; by default `method`
        where there is one that is not in `by`. More than four methods would hide each other: by default each
        has panels of its own and no legend. `colour="method"` draws them in shared panels.
    fit : DataFrame, optional
        Result of `fit_line` for `y` along `x`, grouped by the columns of `by` and `colour` or by some of
        them; a line that is not grouped by a column of the panels is drawn in each of them. Lines of other
        covariates or outcomes, and of groups that are not drawn ("Overall"), are left out.
    correlations : DataFrame, optional
        Result of `correlate` for `x` and `y`, grouped by the same columns or by some of them. It is written
        into the panels: "ρ = 0.45 (0.30, 0.58)".
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
        All panels have the same axes. In panels of a single method, the points of the other methods stand
        behind its own in light grey, unless they are more than 5000. More than 2000 points are drawn as a
        bitmap inside a vector figure. If a panel has more than 5000 points, cells are drawn instead, darker
        the more points of any colour they hold; name the colour's column in `by` to tell colours apart.
        Where `x` is a few whole numbers, points of equal value are spread evenly to both sides of each so
        that none hides another, and are not drawn as cells.
        Where `y` is 0 or 1, such as a hit, rates with their intervals (those of `summarize`) are drawn
        instead of points: in up to five bins of `x` between its quantiles, the same for all colours of a
        panel, or at each whole number. The caption says how many rows miss `x` or `y` and are not drawn.

    Raises
    ------
    ColumnError
        A name is neither a column nor a metric, or is not numeric; `colour` is also in `by`.
    SalstatsError
        Nothing to draw; `x` and `y` are the same; an axis of several metrics; `fit` or `correlations`
        have other variables, or are grouped by other columns.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou'")
    >>> fit = ss.fit_line(scores, "iou ~ prob", by=["method", "task"])
    >>> figure = ss.plot_scatter(scores, "prob", "iou", fit=fit, labels={"prob": "Probability"})
    >>> figure.labels.x
    'Probability'
    """
    frame_labels = Labels(labels, check_frame(data, "data"))
    scatter = scatter_points_and_binned_rates(data, x, y, by, colour, frame_labels)
    lines = None
    if fit is not None:
        fitted = read_estimates(fit, "fit", ("formula", "covariate", "value", "estimate"))
        lines = fitted_lines_with_panel_and_group(fitted, x, y, scatter, data)
    drawn_correlations = None
    text_width = 0.0
    if correlations is not None:
        estimates = read_estimates(correlations, "correlations", ("x", "y", "estimate"))
        drawn_correlations = correlations_with_texts(estimates, x, y, scatter)
        texts = drawn_correlations.distinct_values("text")
        text_width = max(text_width_mm(_KEY_INDENT + text, _TEXT_PT) for text in texts)
    panels = list(scatter.points["panel"].cat.categories)
    n_together = len(panels)
    if scatter.has_panels_by_colour:
        # the panels of one task stand in rows of their own where they fit
        n_together = len(scatter.colour_labels)
    grid = panel_grid(
        panels, n_columns, width, min_width=max(text_width, MIN_PANEL_MM), n_together=n_together
    )
    height = grid.panel_height(_HEIGHT_TO_WIDTH)
    layers = _point_layers(scatter, grid, height)
    y_range = _y_range_without_line_bands(scatter, lines)
    if lines is not None and len(lines):
        lines = _with_bands_cut_far_beyond(lines, y_range)
        layers += _line_layers(lines.frame)
    text_height = 0.0
    if drawn_correlations is not None:
        stacked_texts = _texts_with_empty_lines_above(drawn_correlations.frame, grid.panel_width)
        n_lines = stacked_texts["text"].str.count("\n").max() + 1
        text_height = _LINE_MM * float(n_lines)
        # without points and lines the squares of the texts are the keys of the legend
        has_mark_keys = bool(_mapped_aesthetics(layers) & {"shape", "linetype"})
        layers += _correlation_text_layers(stacked_texts, squares_in_legend=not has_mark_keys)
    mapped = _mapped_aesthetics(layers)
    aesthetics = [name for name in ("color", "fill", "shape", "linetype") if name in mapped]
    scales = group_scales(
        scatter.colour_labels, [HUMAN], aesthetics, grid.width, labels=frame_labels, has_opaque_keys=True
    )
    groups = list(scatter.points["group"].cat.categories)
    legend = []
    if scatter.n_groups_in_panel > 1:
        legend += groups
    else:
        hidden_guides: dict[str, Any] = dict.fromkeys(aesthetics, "none")
        scales.append(p9.guides(**hidden_guides))
    has_cells = "alpha" in mapped
    if has_cells:
        # the legend of the counts takes as much room as one more key; the text itself is not drawn
        legend.append("cells")
    x_title = _axis_title(data, x, frame_labels)
    y_title = _axis_title(data, y, frame_labels)
    figure = (
        Figure(scatter.points)
        + layers
        + _axis_scales(scatter, y_range, grid, height, text_height)
        + grid.elements(
            height + text_height,
            x=x_title,
            y=y_title,
            notes=[
                scope_note(data, frame_labels, _columns_named_in_caption(scatter)),
                *scatter_notes(scatter, [x_title, y_title], lines, drawn_correlations, frame_labels),
            ],
            legend=legend,
        )
        + scales
    )
    if not legend:
        figure = figure + p9.theme(legend_position="none")
    return grid.divided_into_pages(figure, height + text_height)


def scatter_notes(
    scatter: ScatterData,
    titles: Sequence[str],
    lines: Estimates | None,
    correlations: Estimates | None,
    labels: Labels,
) -> list[str]:
    """Return the sentences of the caption; `titles` are those of the horizontal and the vertical axis.

    `lines` and `correlations` are those that are drawn, None where there are none.
    """
    sentences = []
    _, y_title = titles
    if scatter.rates is not None:
        sentences += _rates_notes(scatter.rates, scatter, titles)
    elif scatter.has_few_x:
        sentences.append("Points of equal values are spread sideways.")
    if not points_of_other_groups(scatter).empty:
        sentences.append("Light grey points: the other methods.")
    if lines is not None:
        sentences.append(_lines_note(lines, y_title, labels))
    if correlations is not None:
        sentences += _correlation_notes(correlations, labels)
    for estimates in (lines, correlations):
        if estimates is not None:
            sentences.append(caution_note(estimates.frame.drop_duplicates(["panel", "group"])))
    if scatter.n_omitted:
        n_omitted = count_text(scatter.n_omitted)
        n_rows = count_text(scatter.n_omitted + len(scatter.points))
        sentences.append(f"Not drawn: {n_omitted} of {n_rows} rows, which miss {joined(titles, 'or')}.")
    return [sentence for sentence in sentences if sentence]


def _rates_notes(rates: Estimates, scatter: ScatterData, axis_titles: Sequence[str]) -> list[str]:
    """Return sentences on rates, their bins and their intervals."""
    x_title, y_title = axis_titles
    places = f"in bins of {x_title} between its quantiles"
    if scatter.has_few_x:
        places = f"at each value of {x_title}"
    n = counted_range(rates.numbers("n"), "row")
    note = f"Marks: {y_title}, the share of 1, {places}, {n} each."
    if scatter.n_groups_in_panel > 1:
        note += " Marks of a bin stand side by side."
    return [note, interval_caption(rates)]


def _lines_note(lines: Estimates, y_title: str, labels: Labels) -> str:
    """Return a sentence that names the models of the lines and the interval of the bands."""
    bands = ""
    if len(lines) and interval_name_with_level(lines):
        bands = f" and pointwise {interval_name_with_level(lines)}"
    if any(lines.distinct_values("cut")):
        bands += ", cut where it is wide"
    models = [model_text(str(formula), y_title, labels) for formula in lines.distinct_values("formula")]
    return f"Lines: fitted mean ({'; '.join(models)}){bands}."


def _correlation_notes(correlations: Estimates, labels: Labels) -> list[str]:
    """Return sentences on the coefficients, their interval, clusters and covariates."""
    coefficients = []
    for term in map(str, correlations.distinct_values("term")):
        label = term
        if term in COEFFICIENTS:
            label = COEFFICIENTS[term].label
        coefficients.append(f"{correlation_coefficient_symbol(term)}: {label}")
    names = "; ".join(coefficients) or "r: correlation"
    interval = interval_name_with_level(correlations)
    limits = f" ({interval})" if interval else ""
    return [
        f"{names}{limits}.",
        clustering_or_independence_sentence(correlations),
        adjusted_for_covariates_note(correlations, labels),
    ]


def _y_range_without_line_bands(scatter: ScatterData, lines: Estimates | None) -> tuple[float, float]:
    """Return the smallest and the largest `y` of points and lines, 0 and 1 for binary outcomes."""
    if scatter.is_binary:
        return 0.0, 1.0
    values = scatter.points["y"]
    if lines is not None:
        values = pd.concat([values, lines.frame["estimate"]])
    return float(values.min()), float(values.max())


def _axis_scales(
    scatter: ScatterData, y_range: tuple[float, float], grid: PanelGrid, height: float, text_height: float
) -> list[Any]:
    """Return the scales of both axes of panels.

    `height` is that of a panel in mm without the texts at its top, and `text_height` that of the texts.
    `y_range` are the smallest and the largest number of the vertical axis.
    """
    x_breaks: Any = partial(axis_breaks, length_mm=grid.panel_width)
    if scatter.has_few_x:
        x_breaks = sorted(scatter.points["x"].unique())
    # the data range and its expansions at both ends take `height`, the texts in proportion
    room_above = _EXPANSION + (1 + 2 * _EXPANSION) * text_height / height
    return [
        p9.scale_x_continuous(breaks=x_breaks, minor_breaks=[], labels=tick_texts, expand=(_EXPANSION, 0)),
        p9.scale_y_continuous(
            breaks=vertical_breaks(y_range, height),
            minor_breaks=[],
            labels=tick_texts,
            expand=(_EXPANSION, 0, room_above, 0),
        ),
    ]


def _mapped_aesthetics(layers: Sequence[Any]) -> set[str]:
    """Return the aesthetics that any layer maps to a column."""
    geoms = [layer for layer in layers if isinstance(layer, p9.geoms.geom.geom)]
    return {aesthetic for geom in geoms for aesthetic in geom.mapping}


def _point_layers(scatter: ScatterData, grid: PanelGrid, height: float) -> list[Any]:
    """Return a layer of points, smaller and more transparent the more there are; cells for very many.

    `height` is that of a panel in mm.
    """
    if scatter.rates is not None:
        return _rate_layers(scatter.rates)
    points = scatter.points
    n_points = int(points["panel"].value_counts().max())
    # points of a few whole numbers are spread over lanes, which cells would not match
    if n_points > CELL_POINTS and not scatter.has_few_x:
        if scatter.n_groups_in_panel > 1:
            return point_density_cell_layers(points, _MIXED_CELL_COLOUR)
        return point_density_cell_layers(points, _CELL_COLOUR)
    # sizes at which so many points do not run together
    if n_points <= 200:
        size = 0.9
    elif n_points <= 1500:
        size = 0.6
    else:
        size = 0.35
    # plotnine draws a mark of size s with a diameter of s * sqrt(pi) points
    diameter_mm = size * np.pi**0.5 * MM_PER_PT
    point_area = np.pi / 4 * diameter_mm**2
    inked_area = _INKED_SHARE * grid.panel_width * height
    alpha = float(np.clip(inked_area / (n_points * point_area), *_POINT_ALPHAS))
    mapping = p9.aes("x_drawn", "y_drawn", color="group", shape="group")
    raster = len(points) > RASTER_POINTS
    own_points = p9.geom_point(mapping, size=size, stroke=0, alpha=alpha, raster=raster)
    other_points = points_of_other_groups(scatter)
    if other_points.empty:
        return [own_points]
    background = p9.geom_point(
        p9.aes("x_drawn", "y_drawn"),
        other_points,
        color=_BACKGROUND_COLOUR,
        size=size,
        stroke=0,
        raster=len(other_points) > RASTER_POINTS,
    )
    return [background, own_points]


def _rate_layers(rates: Estimates) -> list[Any]:
    """Return layers of rates and of their intervals."""
    bar = p9.aes("x_drawn", ymin="conf_low", ymax="conf_high", color="group")
    mark = p9.aes("x_drawn", "estimate", color="group", shape="group")
    return [
        p9.geom_linerange(bar, rows_with_both_limits(rates.frame), size=0.5, show_legend=False),
        p9.geom_point(mark, rates.frame, size=1.5, stroke=0),
        # invisible points at 0 and 1, so that the axis has both
        p9.geom_blank(p9.aes("x_drawn", "y"), rates.frame.assign(y=0.0)),
        p9.geom_blank(p9.aes("x_drawn", "y"), rates.frame.assign(y=1.0)),
    ]


def _with_bands_cut_far_beyond(lines: Estimates, y_range: tuple[float, float]) -> Estimates:
    """Return lines whose bands are cut far beyond the data; the column `cut` says whether a row was cut."""
    low, high = y_range
    # where `y` does not vary, bands are not cut
    excess = _BAND_EXCESS * (high - low) or np.inf
    limits = lines.frame[["conf_low", "conf_high"]]
    cut_limits = limits.clip(low - excess, high + excess)
    is_cut = (cut_limits != limits) & cut_limits.notna()
    return lines.with_columns(
        conf_low=cut_limits["conf_low"], conf_high=cut_limits["conf_high"], cut=is_cut.any(axis=1)
    )


def _line_layers(lines: pd.DataFrame) -> list[Any]:
    """Return layers of lines and bands in the colours of groups, black for lines of all groups together."""
    if lines["group"].isna().any():
        line = p9.aes("value", "estimate")
        band = p9.aes("value", ymin="conf_low", ymax="conf_high", group="panel")
        line_colour = {"color": REFERENCE_COLOUR}
        band_colour = {"fill": REFERENCE_COLOUR}
    else:
        line = p9.aes("value", "estimate", color="group", linetype="group")
        band = p9.aes("value", ymin="conf_low", ymax="conf_high", fill="group")
        line_colour = {}
        band_colour = {}
    layers: list[Any] = [p9.geom_line(line, lines, size=0.6, **line_colour)]
    rows_with_limits = rows_with_both_limits(lines)
    if len(rows_with_limits):
        layers.insert(0, p9.geom_ribbon(band, rows_with_limits, alpha=0.2, show_legend=False, **band_colour))
    return layers


def _texts_with_empty_lines_above(correlations: pd.DataFrame, panel_width: float) -> pd.DataFrame:
    """Return correlations whose column `text` can be drawn at the top of a panel, one below the other.

    They are in the order of the legend, and each text begins with empty lines where the texts above it in its
    panel stand. The column `key` has the square in the colour of the group, with the same empty lines; it is
    "" where there is one group. `panel_width` is in mm.
    """
    has_keys = bool((correlations.groupby("panel", observed=True)["group"].nunique() > 1).any())
    indent = _KEY_INDENT if has_keys else ""
    rows = correlations.sort_values(["panel", "group"], kind="stable")
    if max(text_width_mm(indent + text, _TEXT_PT) for text in rows["text"]) > panel_width:
        # the interval goes on a line of its own
        rows["text"] = rows["text"].str.replace(" (", "\n(", regex=False)
    n_lines = rows["text"].str.count("\n") + 1
    n_lines_above = n_lines.groupby(rows["panel"], observed=True).cumsum() - n_lines
    stacked_texts = []
    keys = []
    for n_above, text in zip(n_lines_above, rows["text"], strict=True):
        empty_lines = int(n_above) * "\n"
        stacked_texts.append(empty_lines + indent + text.replace("\n", f"\n{indent}"))
        keys.append(empty_lines + _KEY)
    if not has_keys:
        keys = [""] * len(rows)
    return rows.assign(text=stacked_texts, key=keys)


def _correlation_text_layers(texts: pd.DataFrame, *, squares_in_legend: bool) -> list[Any]:
    """Return layers of stacked correlations in the upper left corner, and of the squares before them.

    `squares_in_legend` is whether the squares are also the keys of the legend.
    """
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
        layers.append(p9.geom_text(key, show_legend=squares_in_legend, **options))
    return layers


def _columns_named_in_caption(scatter: ScatterData) -> list[str]:
    """Return `method` and `task` unless titles of panels or the legend name their values."""
    columns = list(scatter.panel_columns)
    if scatter.colour_column is not None:
        columns.append(scatter.colour_column)
    named_columns = [column for column in columns if scatter.keys[column].nunique() > 1]
    return [column for column in ("method", "task") if column not in named_columns]


def _axis_title(data: pd.DataFrame, column: str, labels: Labels) -> str:
    """Return the title of an axis: the label of its column, or of the only metric of a column of scores."""
    title = labels.column(column)
    metric = column
    metrics = distinct_values_by_appearance(data, "metric")
    if column == "score" and len(metrics) == 1:
        metric = metrics[0]
        title = labels.value("metric", metric)
    # a unit stands in brackets: "Area (px)"
    return with_smaller_is_better(re.sub(r" (px|mm)$", r" (\1)", title), metric)
