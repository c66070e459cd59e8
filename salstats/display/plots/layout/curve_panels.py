"""Panels of curves: which columns are lines and panels, their lines and bands, and panels of two rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_columns
from salstats.display.estimates import Estimates, check_rows_are_distinct, read_estimates
from salstats.display.plots.layout.axis_ticks import tick_texts
from salstats.display.plots.layout.estimate_drawing import only_varying_column, rows_with_both_limits
from salstats.display.plots.layout.legends import group_scales, method_labels_references_first
from salstats.display.plots.layout.panel_grid import group_titles
from salstats.display.plots.layout.theme import GUIDE
from salstats.display.text.format import fixed_text, limits_text
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message, MessagePart, SalstatsError
from salstats.study import HUMAN

#: Largest height in mm of a panel of two rates, which is square below it.
MAX_HEIGHT_MM = 75.0
#: Length in mm from which an axis has a number at each fifth of it.
_LONG_AXIS_MM = 40.0
#: Decimals of estimates that are written in panels.
_DIGITS = 2
#: Columns whose values may be lines, the first that varies.
_LINE_COLUMNS = ("method", "model", "reader")


@dataclass(frozen=True)
class CurveGroups:
    """Grouping columns of curves: the one whose values are lines, and the one whose values are panels."""

    line_column: str
    #: None where all curves are in one panel.
    panel_column: str | None
    #: Text of each line in the legend.
    texts: dict[Any, str]
    labels: Labels

    def with_line_and_panel(self, frame: pd.DataFrame, *, own_panels: bool = False) -> pd.DataFrame:
        """Return rows with the text of their line, `method_label`, and the title of their panel, `panel`.

        With `own_panels` each line has a panel of its own.
        """
        if len(self.texts) == 1:
            texts = list(self.texts.values()) * len(frame)
        else:
            texts = [self.texts[value] for value in frame[self.line_column]]
        method_label = pd.Categorical(texts, list(self.texts.values()), ordered=True)
        panel_columns = []
        if own_panels and len(self.texts) > 1:
            panel_columns.append(self.line_column)
        if self.panel_column is not None:
            panel_columns.append(self.panel_column)
        return frame.assign(method_label=method_label, panel=group_titles(frame, self.labels, panel_columns))


def _line_and_panel_groups(points: Estimates, columns: Sequence[str], labels: Labels) -> CurveGroups:
    """Find the lines and the panels of curves, whose grouping columns are `columns`.

    The first of `method`, `model` and `reader` with several values makes lines, one further column panels;
    SalstatsError is raised where two further columns vary.
    """
    varying_columns = [column for column in _LINE_COLUMNS if len(points.distinct_values(column)) > 1]
    line_column = "method"
    if varying_columns:
        line_column = varying_columns[0]
    further_columns = [column for column in columns if column != line_column]
    return CurveGroups(
        line_column=line_column,
        panel_column=only_varying_column(points, further_columns, line_column),
        texts=method_labels_references_first(labels, points.distinct_values(line_column) or [""], [HUMAN]),
        labels=labels,
    )


class Curves(NamedTuple):
    """Points of curves that were read from a frame.

    Attributes
    ----------
    points : Estimates
        All points.
    columns : list of str
        The grouping columns, which tell curves apart.
    groups : CurveGroups
        Which of these are lines and panels.
    """

    points: Estimates
    columns: list[str]
    groups: CurveGroups


def read_curves(
    curves: pd.DataFrame,
    labels: Mapping[str, Any] | Labels | None,
    required: Sequence[str],
    positions: Sequence[str],
    call: Call,
) -> Curves:
    """Read the points of curves; raise unless there are some, each at another position of its curve.

    Parameters
    ----------
    curves : DataFrame
        The frame that the user gave.
    labels : mapping, optional
        Labels and order of methods and tasks.
    required : sequence of str
        Columns that the frame must have.
    positions : sequence of str
        Columns with the position of a point on its curve; no two points of a curve are equal in the first.
    call : Call
        The call that makes such frames, for messages.
    """
    points = read_estimates(curves, "curves", required, Message(call, " makes the frame"))
    columns = [column for column in points.keys if column not in positions]
    check_rows_are_distinct(points, [*columns, positions[0]])
    return Curves(points, columns, _line_and_panel_groups(points, columns, Labels(labels, curves)))


class Lines(NamedTuple):
    """Layers of lines and their bands, the scales that tell lines apart, and the texts of the legend."""

    layers: list[Any]
    scales: list[Any]
    #: Empty for a single line.
    legend: list[str]
    has_bands: bool


def lines_with_bands(
    rows: pd.DataFrame,
    texts: Mapping[Any, str],
    labels: Labels,
    width: float,
    *,
    has_bands: bool,
    line_size: float = 0.6,
) -> Lines:
    """Draw a line for each method or model, and its limits as a band.

    Parameters
    ----------
    rows : DataFrame
        Points of the lines, with the columns `method_label`, `conf_low` and `conf_high`.
    texts : mapping
        Text of each method or model in the legend.
    labels : Labels
        Labels and colours of methods.
    width : float
        Width of the figure in mm.
    has_bands : bool
        Whether bands are drawn, where any point has limits.
    line_size : float
        Width of the lines.
    """
    rows_with_limits = rows_with_both_limits(rows)
    has_bands = has_bands and len(rows_with_limits) > 0
    layers: list[Any] = []
    aesthetics = ["color", "linetype"]
    if has_bands:
        limits = p9.aes(ymin="conf_low", ymax="conf_high", fill="method_label")
        layers.append(p9.geom_ribbon(limits, rows_with_limits, alpha=0.2, color="none", show_legend=False))
        aesthetics.append("fill")
    layers.append(p9.geom_line(p9.aes(linetype="method_label"), size=line_size))
    scales = group_scales(texts, [HUMAN], aesthetics, width, labels=labels)
    legend = list(texts.values())
    if len(texts) == 1:
        legend = []
        scales.append(p9.theme(legend_position="none"))
    return Lines(layers, scales, legend, has_bands)


def diagonal_layer() -> Any:
    """Return the line on which both rates are equal."""
    return p9.annotate("segment", x=0, y=0, xend=1, yend=1, color=GUIDE, size=0.4)


def rate_axes(panel_width: float, height: float, margin_mm: float = 0.0, below_mm: float = 0.0) -> list[Any]:
    """Return the axes of two rates, from 0 to 1, in a panel of a width and a height in mm.

    There is a margin around them, and further room of `below_mm` below the lower margin.
    """
    x_margin = margin_mm / panel_width
    y_margin = margin_mm / height
    bottom = -(margin_mm + below_mm) / height
    return [
        p9.scale_x_continuous(breaks=_rate_breaks(panel_width), labels=tick_texts, minor_breaks=[]),
        p9.scale_y_continuous(breaks=_rate_breaks(height), labels=tick_texts, minor_breaks=[]),
        p9.coord_cartesian(xlim=(-x_margin, 1 + x_margin), ylim=(bottom, 1 + y_margin), expand=False),
    ]


def _rate_breaks(length_mm: float) -> list[float]:
    """Return the rates that are written at an axis of a length in mm."""
    n_steps = 5 if length_mm >= _LONG_AXIS_MM else 2
    return [step / n_steps for step in range(n_steps + 1)]


def first_point_of_curves(points: Estimates, curve_columns: Sequence[str]) -> Estimates:
    """Return the first point of each curve, whose grouping columns are `curve_columns`."""
    if not curve_columns:
        # all points are of one curve
        return points.subset(points.frame.index == 0)
    return points.subset(~points.frame.duplicated(list(curve_columns)))


def estimate_texts_of_curves(
    estimates: Estimates, curves: Estimates, curve_columns: Sequence[str], hint: MessagePart
) -> pd.DataFrame:
    """Return a row for each curve with its grouping columns, its estimate as `text` and its `limits` as text.

    `curves` has one point of each curve. Raises where a curve has no estimate, or several; `hint` names the
    call that makes one for each.
    """
    check_columns(estimates.frame, curve_columns, estimates.name)
    rows = estimates.frame
    texts_of_curves = rows[list(curve_columns)].assign(
        text=[fixed_text(estimate, _DIGITS) for estimate in rows["estimate"]],
        limits=[
            _limits_in_parentheses(low, high)
            for low, high in zip(rows["conf_low"], rows["conf_high"], strict=True)
        ],
    )
    if curve_columns:
        texts_of_curves = curves.frame[list(curve_columns)].merge(
            texts_of_curves, how="left", on=list(curve_columns)
        )
    if texts_of_curves["text"].isna().any() or len(texts_of_curves) != len(curves):
        raise SalstatsError(
            f"{estimates.name} must have one row for each curve",
            hint=hint,
            option=estimates.name,
            value=len(estimates),
        )
    return texts_of_curves


def _limits_in_parentheses(low: float, high: float) -> str:
    """Return limits as " (0.41, 0.63)", "" where there are none."""
    if np.isnan(low):
        return ""
    return f" ({limits_text(low, high, _DIGITS)})"


def predictor_and_response_sentence(points: Estimates, labels: Labels, relation: str) -> str:
    """Return a sentence like "Model confidence as a test of Finding present.", "" without its columns."""
    predictor = points.only_non_missing_value("predictor")
    response = points.only_non_missing_value("response")
    if predictor is None or response is None:
        return ""
    return f"{labels.column(str(predictor))} {relation} {labels.column(str(response))}."
