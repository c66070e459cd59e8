"""ROC curves: a line and a band for each method, a panel for each task, and the areas below the lines."""

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
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.panel_grid import PanelGrid, panel_grid
from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.display.plots.layout.theme import LINE_MM, font
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message

#: Least width in mm of a panel.
_MIN_PANEL_MM = 25.0
#: Most lines whose bands can be told apart.
_MAX_BANDS = 2
#: Size in points of the areas in the panels, and the room in mm beside them.
_AREA_PT = 6.0
_AREA_MARGIN_MM = 2.5


@keep_call_in_figure
def plot_roc(
    curves: pd.DataFrame,
    *,
    auroc: pd.DataFrame | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    bands: bool | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw ROC curves: a line per method or model, a panel per task.

    Parameters
    ----------
    curves : DataFrame
        From `roc_curve`. The first of `method`, `model` and `reader` with several values makes lines, one
        further grouping column (`task`, `dataset`, ...) makes panels.
    auroc : DataFrame, optional
        From `auroc` of the same rows: areas with their intervals are written in the panels.
    labels : mapping, optional
        Labels and order of methods and tasks.
    bands : bool, optional
        Whether to draw the limits of the true positive rate as bands; by default for up to two lines.
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
        Several further grouping columns; nothing but missing curves; `auroc` without a row for some curve,
        or with two.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> curves = ss.roc_curve(scores, "prob", "label", n_replicates=200)
    >>> figure = ss.plot_roc(curves, auroc=ss.auroc(scores, "prob", "label"))
    >>> figure.labels.x
    'False positive rate'
    """
    positions = ("threshold", "false_positive_rate")
    curve_call = Call("roc_curve", ("scores", "score", "label"))
    points, columns, groups = read_curves(curves, labels, (*positions, "estimate"), positions, curve_call)
    frame_labels = groups.labels
    rows = groups.with_line_and_panel(points.frame)
    panels = list(rows["panel"].cat.categories)
    areas = pd.DataFrame()
    area_width = 0.0
    if auroc is not None:
        area_call = Call("auroc", ("scores", "score", "label"))
        hint = Message("take ", area_call, " of the same rows")
        estimates = read_estimates(auroc, "auroc")
        texts = estimate_texts_of_curves(estimates, first_point_of_curves(points, columns), columns, hint)
        areas = groups.with_line_and_panel(texts.assign(text=texts["text"] + texts["limits"]))
        area_width = max(text_width_mm(text, _AREA_PT) for text in areas["text"]) + 2 * _AREA_MARGIN_MM
    grid = panel_grid(panels, n_columns, width, min_width=max(area_width, _MIN_PANEL_MM))
    height = min(grid.panel_width, MAX_HEIGHT_MM)
    if bands is None:
        bands = len(groups.texts) <= _MAX_BANDS
    lines = lines_with_bands(rows, groups.texts, frame_labels, grid.width, has_bands=bands)
    n_written = _n_area_texts_below_diagonal(grid.panel_width, height, text_width=area_width)
    are_written = auroc is not None and len(groups.texts) <= n_written
    area_layers: list[Any] = []
    if are_written:
        area_layers = _area_text_layers(areas, grid, height)
    notes = [
        scope_note(rows, frame_labels, columns),
        predictor_and_response_sentence(points, frame_labels, "as a test of"),
        _band_note_if_drawn(points, has_bands=lines.has_bands),
        _area_note(auroc, are_written=are_written, n_written=n_written),
        count_sentence(first_point_of_curves(points, columns), "row", "missing"),
    ]
    figure = (
        Figure(rows, p9.aes("false_positive_rate", "estimate", color="method_label"))
        + diagonal_layer()
        + lines.layers
        + area_layers
        + rate_axes(grid.panel_width, height)
        + grid.elements(
            height, x="False positive rate", y="True positive rate", notes=notes, legend=lines.legend
        )
        + lines.scales
    )
    return grid.divided_into_pages(figure, height)


def _n_area_texts_below_diagonal(panel_width: float, height: float, *, text_width: float) -> int:
    """Return the number of areas, written below each other, that fit below the diagonal, lengths in mm."""
    diagonal_mm = height * (1 - min(text_width / panel_width, 1.0))
    return max(int(diagonal_mm // LINE_MM), 1)


def _area_text_layers(areas: pd.DataFrame, grid: PanelGrid, height: float) -> list[Any]:
    """Return layers of areas at the lower right of the panels, in the order of the legend."""
    legend_positions = areas["method_label"].cat.codes
    n_lines = int(legend_positions.max()) + 1
    line_height = LINE_MM / height
    margin = _AREA_MARGIN_MM / 2
    placed_areas = areas.assign(
        x=1 - margin / grid.panel_width,
        y=margin / height + line_height * (n_lines - 1 - legend_positions),
    )
    text = p9.aes("x", "y", label="text", color="method_label")
    style: dict[str, Any] = {"size": _AREA_PT, "family": font(), "ha": "right", "va": "bottom"}
    return [p9.geom_text(text, placed_areas, show_legend=False, inherit_aes=False, **style)]


def _band_note_if_drawn(points: Estimates, *, has_bands: bool) -> str:
    """Return a sentence on the bands, "" if none are drawn."""
    if not has_bands:
        return ""
    points_with_limits = points.subset(points.has_estimate_and_both_limits)
    return interval_caption(points_with_limits, mark="Bands, at each false positive rate")


def _area_note(auroc: pd.DataFrame | None, *, are_written: bool, n_written: int) -> str:
    """Return a sentence on the areas in the panels, "" if there are none to write."""
    if auroc is None:
        return ""
    if not are_written:
        return f"Areas under the curves are left out: panels have room for {n_written}."
    return interval_caption(read_estimates(auroc, "auroc"), mark="Numbers, areas under the curves")
