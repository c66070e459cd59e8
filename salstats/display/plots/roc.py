"""ROC curves: a line and a band for each method, a panel for each task, and the areas below the lines."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_columns
from salstats.display.estimates import Estimates, check_distinct, read_estimates
from salstats.display.facts import count_sentence, interval_caption
from salstats.display.plots.layout.axis_ticks import tick_texts
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.estimate_drawing import barred_rows, further_column
from salstats.display.plots.layout.figure import Figure, plot_function
from salstats.display.plots.layout.legends import group_scales, method_labels
from salstats.display.plots.layout.panel_grid import PanelGrid, group_titles, panel_grid
from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.display.plots.layout.theme import GUIDE, LINE_MM, font
from salstats.display.text.format import fixed_text, limits_text
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message, SalstatsError
from salstats.study import HUMAN

#: Largest height in mm of a panel, which is square below it.
_MAX_HEIGHT_MM = 75.0
#: Most lines whose bands can be told apart.
_MAX_BANDS = 2
#: Size in points of the areas in the panels, and the room in mm beside them.
_AREA_PT = 6.0
_AREA_MARGIN_MM = 2.5
#: Length in mm from which an axis has a number at each fifth of it.
_LONG_AXIS_MM = 40.0
#: Columns whose values may be lines, the first that varies.
_LINE_COLUMNS = ("method", "model", "reader")


@plot_function
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
    points = read_estimates(
        curves,
        "curves",
        ("threshold", "false_positive_rate", "estimate"),
        Message(Call("roc_curve", ("scores", "score", "label")), " makes the frame"),
    )
    names = Labels(labels, curves)
    groups = [column for column in points.keys if column not in ("threshold", "false_positive_rate")]
    check_distinct(points, [*groups, "threshold"])
    if not len(points):
        raise SalstatsError("curves has no rows", option="curves")
    varying_line_columns = [column for column in _LINE_COLUMNS if len(points.values(column)) > 1]
    line_column = next(iter(varying_line_columns), "method")
    facet = further_column(points, [column for column in groups if column != line_column], line_column)
    panel_columns = [facet] if facet else []
    line_texts = method_labels(names, points.values(line_column) or [""])
    rows = _with_lines(points.frame, names, line_column, line_texts, panel_columns)
    panels = list(rows["panel"].cat.categories)
    areas = pd.DataFrame()
    min_width = 0.0
    if auroc is not None:
        areas = _area_texts(auroc, points, groups)
        areas = _with_lines(areas, names, line_column, line_texts, panel_columns)
        min_width = max(text_width_mm(text, _AREA_PT) for text in areas["text"]) + 2 * _AREA_MARGIN_MM
    grid = panel_grid(panels, n_columns, width, min_width=max(min_width, 25.0))
    height = min(grid.panel_width, _MAX_HEIGHT_MM)
    if bands is None:
        bands = len(line_texts) <= _MAX_BANDS
    banded = barred_rows(rows)
    if not bands:
        banded = banded.iloc[:0]
    aesthetics = ["color", "linetype"]
    band_layers: list[Any] = []
    if len(banded):
        limits = p9.aes(ymin="conf_low", ymax="conf_high", fill="method_label")
        band_layers = [p9.geom_ribbon(limits, banded, alpha=0.2, color="none", show_legend=False)]
        aesthetics.append("fill")
    legend = list(line_texts.values()) if len(line_texts) > 1 else []
    n_written = _n_fitting_lines(grid.panel_width, height, text_width=min_width)
    are_written = auroc is not None and len(line_texts) <= n_written
    notes = [
        scope_note(rows, names, [column for column in groups if column != facet]),
        _score_note(points, names),
        _band_note(points, has_bands=bool(len(banded))),
        _area_note(auroc, are_written=are_written, n_written=n_written),
        count_sentence(_first_points(points, groups), "row", "missing"),
    ]
    figure = (
        Figure(rows, p9.aes("false_positive_rate", "estimate", color="method_label"))
        + p9.geom_abline(intercept=0, slope=1, color=GUIDE, size=0.4)
        + band_layers
        + p9.geom_line(p9.aes(linetype="method_label"), size=0.6)
        + (_area_layers(areas, grid, height) if are_written else [])
        + p9.scale_x_continuous(breaks=_rate_breaks(grid.panel_width), labels=tick_texts, minor_breaks=[])
        + p9.scale_y_continuous(breaks=_rate_breaks(height), labels=tick_texts, minor_breaks=[])
        + p9.coord_cartesian(xlim=(0, 1), ylim=(0, 1), expand=False)
        + grid.elements(height, x="False positive rate", y="True positive rate", notes=notes, legend=legend)
        + group_scales(line_texts, [HUMAN], aesthetics, grid.width, labels=names)
    )
    if not legend:
        figure = figure + p9.theme(legend_position="none")
    return grid.pages(figure, height)


def _with_lines(
    frame: pd.DataFrame,
    names: Labels,
    line_column: str,
    line_texts: Mapping[Any, str],
    panel_columns: list[str],
) -> pd.DataFrame:
    """Return rows with the text of their line and the title of their panel."""
    texts = [next(iter(line_texts.values()))] * len(frame)
    if len(line_texts) > 1:
        texts = [line_texts[value] for value in frame[line_column]]
    method_label = pd.Categorical(texts, list(line_texts.values()), ordered=True)
    return frame.assign(method_label=method_label, panel=group_titles(frame, names, panel_columns))


def _area_texts(auroc: pd.DataFrame, points: Estimates, groups: list[str]) -> pd.DataFrame:
    """Return a row for each curve with its grouping columns and the `text` of its area.

    Raises where an area is missing, or where there are several for one curve.
    """
    areas = read_estimates(auroc, "auroc")
    check_columns(areas.frame, groups, "auroc")
    curve_keys = _first_points(points, groups).frame[groups]
    texts = []
    for estimate, low, high in areas.frame[["estimate", "conf_low", "conf_high"]].itertuples(index=False):
        text = fixed_text(estimate, 2)
        if not np.isnan(low):
            text += f" ({limits_text(low, high, 2)})"
        texts.append(text)
    areas_of_keys = areas.frame[groups].assign(text=texts)
    areas_of_curves = areas_of_keys
    if groups:
        areas_of_curves = curve_keys.merge(areas_of_keys, how="left", on=groups)
    if areas_of_curves["text"].isna().any() or len(areas_of_curves) != len(curve_keys):
        raise SalstatsError(
            "auroc must have one row for each curve",
            hint=Message("take ", Call("auroc", ("scores", "score", "label")), " of the same rows"),
            option="auroc",
        )
    return areas_of_curves


def _rate_breaks(length: float) -> list[float]:
    """Return the rates that are written at an axis of a length in mm."""
    n_steps = 5 if length >= _LONG_AXIS_MM else 2
    return [step / n_steps for step in range(n_steps + 1)]


def _n_fitting_lines(panel_width: float, height: float, *, text_width: float) -> int:
    """Return the number of areas, written below each other, that fit below the diagonal, lengths in mm."""
    diagonal_mm = height * (1 - min(text_width / panel_width, 1.0))
    return max(int(diagonal_mm // LINE_MM), 1)


def _area_layers(areas: pd.DataFrame, grid: PanelGrid, height: float) -> list[Any]:
    """Return layers of areas at the lower right of the panels, in the order of the legend."""
    order = areas["method_label"].cat.codes
    n_lines = int(order.max()) + 1
    line_height = LINE_MM / height
    margin = _AREA_MARGIN_MM / 2
    placed = areas.assign(
        x=1 - margin / grid.panel_width,
        y=margin / height + line_height * (n_lines - 1 - order),
    )
    text = p9.aes("x", "y", label="text", color="method_label")
    style: dict[str, Any] = {"size": _AREA_PT, "family": font(), "ha": "right", "va": "bottom"}
    return [p9.geom_text(text, placed, show_legend=False, inherit_aes=False, **style)]


def _first_points(points: Estimates, groups: list[str]) -> Estimates:
    """Return the first point of each curve."""
    if not groups:
        return points.subset(points.frame.index == 0)
    return points.subset(~points.frame.duplicated(groups))


def _score_note(points: Estimates, names: Labels) -> str:
    """Sentence such as "Model confidence as a test of Finding present.", "" if the columns are not known."""
    predictor = points.only_value("predictor")
    response = points.only_value("response")
    if predictor is None or response is None:
        return ""
    return f"{names.column(str(predictor))} as a test of {names.column(str(response))}."


def _band_note(points: Estimates, *, has_bands: bool) -> str:
    """Sentence on the bands, "" if none are drawn."""
    if not has_bands:
        return ""
    banded = points.subset(points.has_both_limits)
    return interval_caption(banded, mark="Bands, at each false positive rate")


def _area_note(auroc: pd.DataFrame | None, *, are_written: bool, n_written: int) -> str:
    """Sentence on the areas in the panels, "" if there are none to write."""
    if auroc is None:
        return ""
    if not are_written:
        return f"Areas under the curves are left out: panels have room for {n_written}."
    return interval_caption(read_estimates(auroc, "auroc"), mark="Numbers: areas under the curves with")
