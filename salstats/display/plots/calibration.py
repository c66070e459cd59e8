"""Calibration of predicted probabilities: observed rates against mean predictions, a panel for each curve."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotnine as p9

from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import count_sentence, interval_caption
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.curve_panels import (
    MAX_HEIGHT_MM,
    diagonal_layer,
    estimate_texts_of_curves,
    first_point_of_curves,
    lines_with_bands,
    predictor_and_response_sentence,
    rate_axes,
    read_curves,
)
from salstats.display.plots.layout.estimate_drawing import rows_with_both_limits
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.display.plots.layout.theme import GUIDE, LINE_MM, font
from salstats.display.text.format import count_range_text
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message

#: Estimates that are written in the panels, with their names there.
_WRITTEN_TERMS = {"calibration_intercept": "Intercept", "calibration_slope": "Slope", "brier_score": "Brier"}
#: Size in points of these texts, and the share of a panel's width up to which limits are written, too.
_TEXT_PT = 6.0
_MAX_TEXT_SHARE = 0.55
#: Room in mm around the rates from 0 to 1, for marks at 0 and 1.
_MARGIN_MM = 1.0
#: Least width in mm of a panel.
_MIN_PANEL_MM = 34.0
#: Height in mm of the highest bar below a panel's rates, and least width of a bar.
_BARS_MM = 5.0
_MIN_BAR_MM = 0.4


@keep_call_in_figure
def plot_calibration(
    curves: pd.DataFrame,
    *,
    calibration: pd.DataFrame | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw observed rates against predicted probabilities: a panel per task, and per method or model.

    Calibrated predictions lie on the diagonal, findings that are more frequent than predicted above it. Bars
    at the bottom show the distribution of the predictions.

    Parameters
    ----------
    curves : DataFrame
        From `calibration_curve`. The first of `method`, `model` and `reader` with several values, and one
        further grouping column (`task`, `dataset`, ...), make panels.
    calibration : DataFrame, optional
        From `calibration` of the same rows: intercept, slope and Brier score are written in the panels, with
        their intervals where panels are wide enough.
    labels : mapping, optional
        Labels and order of methods and tasks.
    n_columns : int, optional
        Panels side by side.
    width : float, optional
        Width of the figure in mm; by default 89 for up to four panels, else 183.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` has columns `panel` and `method_label`.

    Raises
    ------
    ColumnError
        A column is missing, or holds text where numbers belong.
    SalstatsError
        Several further grouping columns; `calibration` without a row for some curve, or with two.

    References
    ----------
    Van Calster B, McLernon DJ, van Smeden M, Wynants L, Steyerberg EW. Calibration: the Achilles heel of
    predictive analytics. BMC Med 2019;17:230. https://doi.org/10.1186/s12916-019-1466-7

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> curves = ss.calibration_curve(scores, "prob", "label")
    >>> figure = ss.plot_calibration(curves, calibration=ss.calibration(scores, "prob", "label"))
    >>> figure.labels.y
    'Observed rate'
    """
    required = ("bin", "predicted", "estimate", "n", "bin_low", "bin_high")
    call = Call("calibration_curve", ("scores", "prob", "label"))
    points, columns, groups = read_curves(curves, labels, required, ("bin",), call)
    frame_labels = groups.labels
    rows = groups.with_line_and_panel(points.frame, own_panels=True)
    grid = panel_grid(list(rows["panel"].cat.categories), n_columns, width, min_width=_MIN_PANEL_MM)
    height = min(grid.panel_width, MAX_HEIGHT_MM)
    lines = lines_with_bands(rows, groups.texts, frame_labels, grid.width, has_bands=False, line_size=0.4)
    text_layers: list[Any] = []
    have_limits = False
    if calibration is not None:
        texts = _calibration_texts(calibration, first_point_of_curves(points, columns), columns)
        have_limits = _widest_text_mm(texts["full_text"]) <= _MAX_TEXT_SHARE * grid.panel_width
        if have_limits:
            texts["text"] = texts["full_text"]
        texts = groups.with_line_and_panel(texts, own_panels=True)
        text_layers = _calibration_text_layers(texts, rows, grid.panel_width, height)
    notes = [
        scope_note(rows, frame_labels, columns),
        predictor_and_response_sentence(points, frame_labels, "as a prediction of"),
        _points_and_histogram_bars_note(rows),
        interval_caption(points.subset(points.has_estimate_and_both_limits)),
        _panel_numbers_note(calibration, have_limits=have_limits),
        count_sentence(points, "row", "missing"),
    ]
    figure = (
        Figure(rows, p9.aes("predicted", "estimate", color="method_label"))
        + diagonal_layer()
        + lines.layers
        + p9.geom_linerange(p9.aes(ymin="conf_low", ymax="conf_high"), rows_with_both_limits(rows), size=0.4)
        + p9.geom_point(size=1.1)
        + p9.geom_rect(
            p9.aes(xmin="left", xmax="right", ymin="bottom", ymax="top"),
            _histogram_bars(rows, grid.panel_width, height),
            fill=GUIDE,
            inherit_aes=False,
        )
        + text_layers
        + rate_axes(grid.panel_width, height, _MARGIN_MM, _BARS_MM)
        + grid.elements(height + _BARS_MM, x="Predicted probability", y="Observed rate", notes=notes)
        + lines.scales
        + p9.theme(legend_position="none")
    )
    return grid.divided_into_pages(figure, height + _BARS_MM)


def _calibration_texts(
    calibration: pd.DataFrame, curves: Estimates, curve_columns: list[str]
) -> pd.DataFrame:
    """Return a row for each curve with its three estimates as `text`, and with their limits as `full_text`.

    `curves` has one point of each curve. Raises where a curve has no estimate of a term, or two.
    """
    estimates = read_estimates(calibration, "calibration", ("term", "estimate"))
    hint = Message("take ", Call("calibration", ("scores", "prob", "label")), " of the same rows")
    lines = []
    full_lines = []
    for term, name in _WRITTEN_TERMS.items():
        texts = estimate_texts_of_curves(
            estimates.subset(estimates.frame["term"] == term), curves, curve_columns, hint
        )
        line = f"{name} " + texts["text"]
        lines.append(line)
        full_lines.append(line + texts["limits"])
    # the rows of all three terms are in the order of the curves
    return texts.assign(
        text=["\n".join(lines_of_curve) for lines_of_curve in zip(*lines, strict=True)],
        full_text=["\n".join(lines_of_curve) for lines_of_curve in zip(*full_lines, strict=True)],
    )


def _widest_text_mm(texts: pd.Series) -> float:
    """Return the width of the widest of some texts in mm."""
    return max(text_width_mm(line, _TEXT_PT) for text in texts for line in text.split("\n"))


def _calibration_text_layers(
    texts: pd.DataFrame, points: pd.DataFrame, panel_width: float, height: float
) -> list[Any]:
    """Return layers of texts in the lower right or upper left corner of each panel, where fewer marks are.

    `texts` has a row for each panel, `points` a row for each point; a panel has a width and a height in mm.
    """
    # as shares of the axes, which go from 0 to 1
    text_width = _widest_text_mm(texts["text"]) / panel_width
    text_height = len(_WRITTEN_TERMS) * LINE_MM / height
    is_lower_right_emptier = _is_lower_right_no_fuller_by_panel(points, text_width, text_height)
    stands_at_right = texts["panel"].map(is_lower_right_emptier).astype("bool")
    at_lower_right = texts[stands_at_right].assign(x=1.0, y=0.0)
    at_upper_left = texts[~stands_at_right].assign(x=0.0, y=1.0)
    place = p9.aes("x", "y", label="text", color="method_label")
    style: dict[str, Any] = {"size": _TEXT_PT, "family": font(), "show_legend": False, "inherit_aes": False}
    layers = []
    if len(at_lower_right):
        layers.append(p9.geom_text(place, at_lower_right, ha="right", va="bottom", **style))
    if len(at_upper_left):
        layers.append(p9.geom_text(place, at_upper_left, ha="left", va="top", **style))
    return layers


def _is_lower_right_no_fuller_by_panel(
    points: pd.DataFrame, corner_width: float, corner_height: float
) -> pd.Series:
    """Return by panel whether its lower right corner has at most as many marks as its upper left one.

    A mark is a point with its bar. The size of the corners is given in shares of the axes.
    """
    lowest = points["conf_low"].fillna(points["estimate"])
    highest = points["conf_high"].fillna(points["estimate"])
    is_lower_right = (points["predicted"] > 1 - corner_width) & (lowest < corner_height)
    is_upper_left = (points["predicted"] < corner_width) & (highest > 1 - corner_height)
    n_lower_right = is_lower_right.groupby(points["panel"], observed=True).sum()
    n_upper_left = is_upper_left.groupby(points["panel"], observed=True).sum()
    return n_lower_right <= n_upper_left


def _histogram_bars(bins: pd.DataFrame, panel_width: float, height: float) -> pd.DataFrame:
    """Return the bars of the distribution of the predictions: a histogram with the bins of the points.

    A bar extends from the smallest to the largest prediction of its bin, and its area is proportional to the
    number of predictions in the bin; the highest bar of each panel has the same height.

    Parameters
    ----------
    bins : DataFrame
        The bins, with their `panel`.
    panel_width, height : float
        Lengths in mm of the axes of predictions and of rates.

    Returns
    -------
    DataFrame
        `panel`, `left` and `right` (predicted probabilities), `bottom` and `top` (observed rates below 0).
    """
    middle = (bins["bin_low"] + bins["bin_high"]) / 2
    bar_width = (bins["bin_high"] - bins["bin_low"]).clip(lower=_MIN_BAR_MM / panel_width)
    density = bins["n"] / bar_width
    highest = density.groupby(bins["panel"], observed=True).transform("max")
    bottom = -(_MARGIN_MM + _BARS_MM) / height
    return bins[["panel"]].assign(
        left=middle - bar_width / 2,
        right=middle + bar_width / 2,
        bottom=bottom,
        top=bottom + density / highest * _BARS_MM / height,
    )


def _points_and_histogram_bars_note(bins: pd.DataFrame) -> str:
    """Return a sentence on the points, and on the bars of the bins."""
    n_bins = bins.groupby("panel", observed=True)["bin"].nunique()
    return (
        f"Points: {count_range_text(n_bins)} bins between quantiles of the prediction, at their mean. Grey "
        "bars at the bottom: distribution of the predictions (area of a bar: number of predictions in its "
        "bin)."
    )


def _panel_numbers_note(calibration: pd.DataFrame | None, *, have_limits: bool) -> str:
    """Return a sentence on the numbers in the panels, "" if there are none."""
    if calibration is None:
        return ""
    names = "calibration intercept, calibration slope and Brier score"
    if not have_limits:
        return f"Numbers: {names}."
    return interval_caption(read_estimates(calibration, "calibration"), mark=f"Numbers, {names}")
