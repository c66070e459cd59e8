"""Power, or the width of an interval, by the number of cases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_choice
from salstats.display.plots.layout.axis_ticks import number_axes
from salstats.display.plots.layout.captions import distinct_values, scope_note
from salstats.display.plots.layout.figure import Figure, plot_function
from salstats.display.plots.layout.legends import group_scales
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import crossed_labels
from salstats.display.plots.layout.theme import GUIDE
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import count_text, joined, level_text
from salstats.display.text.labels import Labels
from salstats.display.text.planning import (
    check_plan,
    curve_text,
    curves_of,
    effect_text,
    grouping_of,
    limits_text,
    needed_text,
    spread_note,
)
from salstats.stats.planning.spreads import LIMITS_LEVEL

#: Quantities that can be drawn.
_QUANTITIES = ("power", "width")
#: Height of a panel as a multiple of its width.
_HEIGHT_SHARE = 0.7
#: Distance between the bars of two curves in percentage points of power.
_BAR_STEP = 2.5


@dataclass(frozen=True)
class _Curves:
    """Rows of a plan with their `panel`, `line` and the number `shown`.

    `target_marks` are the marks where curves reach the target, `texts` the texts of lines in the legend.
    """

    rows: pd.DataFrame
    target_marks: pd.DataFrame
    texts: dict[str, str]


@plot_function
def plot_power(
    plan: pd.DataFrame,
    *,
    show: str = "power",
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw power against the number of cases: a line per effect or number of readers.

    Parameters
    ----------
    plan : DataFrame
        A frame of `power`; groups have panels of their own. Simulated power has a band, its Wilson interval,
        and the needed cases a bar, their limits as the pilot's SD is uncertain.
    show : {"power", "width"}
        What is drawn: power with its target, or the mean width of the interval.
    labels : Mapping, optional
        Labels and order of metrics, tasks and methods; `{"n_cases": ...}` names the horizontal axis.
    n_columns : int, optional
        Panels side by side.
    width : float, optional
        Width of the figure in mm; by default 89 for up to four panels, else 183.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` has columns `panel`, `line` and `shown`, power in percent.

    Raises
    ------
    ColumnError
        A column of `power` is missing.
    ValueRangeError
        Something else to show.

    Examples
    --------
    >>> import salstats as ss
    >>> plan = ss.power({"sd": 0.2, "correlation": 0.5}, effect=[-0.04, -0.05])
    >>> ss.plot_power(plan).labels.y
    'Power (%)'
    """
    check_choice(show, _QUANTITIES, "show")
    frame = check_plan(plan)
    names = Labels(labels, frame)
    curves = _curves(frame, names, show)
    rows = curves.rows
    bars = _limit_bars(rows) if show == "power" else rows.iloc[:0]
    grid = panel_grid(list(rows["panel"].cat.categories), n_columns, width)
    height = grid.panel_height(_HEIGHT_SHARE)
    legend = list(curves.texts.values()) if len(curves.texts) > 1 else []
    n_points = rows.groupby(["panel", "line"], observed=True)["shown"].transform("size")
    # a curve of a single point has no line
    is_on_line = n_points > 1
    has_lines = bool(is_on_line.any())
    has_bands = show == "power" and "conf_low" in rows.columns
    has_point_intervals = has_bands and not is_on_line.all()
    layers = _target_layers(frame, show)
    interval = p9.aes(ymin="100 * conf_low", ymax="100 * conf_high", fill="line")
    aesthetics = ["color"]
    if has_lines:
        aesthetics.append("linetype")
    if has_bands:
        aesthetics.append("fill")
        layers.append(p9.geom_ribbon(interval, alpha=0.2, color="none", show_legend=False))
    if has_point_intervals:
        layers.append(p9.geom_linerange(interval, rows[~is_on_line], size=0.6, show_legend=False))
    if len(bars):
        bar = p9.aes(xend="limit", yend="shown")
        layers.append(p9.geom_segment(bar, bars, size=1.6, alpha=0.45, show_legend=False))
    if has_lines:
        layers.append(p9.geom_line(p9.aes(linetype="line"), rows[is_on_line], size=0.6))
    layers.append(p9.geom_point(size=0.9 if has_lines else 2.0, stroke=0, show_legend=not has_lines))
    if len(curves.target_marks):
        layers.append(
            p9.geom_point(
                data=curves.target_marks, shape="o", fill="white", size=2.2, stroke=0.4, show_legend=False
            )
        )
    layers.append(p9.expand_limits(y=[0, 100] if show == "power" else [0]))
    if rows["n_cases"].nunique() == 1:
        # a single number of cases would give the axis no length
        layers.append(p9.expand_limits(x=[0]))
    figure = (
        Figure(rows, p9.aes("n_cases", "shown", color="line"))
        + layers
        + number_axes(grid.panel_width, height)
        + grid.elements(
            height,
            x=_x_title(names),
            y=_y_title(frame, show),
            notes=[
                scope_note(frame, names, ("metric", "method", "reference", "task")),
                _effect_note(frame),
                _needed_note(frame, curves, legend, has_bars=len(bars) > 0) if show == "power" else "",
                spread_note(frame),
                *_simulation_notes(frame, show, has_point_intervals=has_point_intervals),
                _width_note(frame) if show == "width" else "",
                caution_note(frame),
            ],
            legend=legend,
        )
        + group_scales(curves.texts, (), aesthetics, grid.width, labels=names)
    )
    if not legend:
        figure = figure + p9.theme(legend_position="none")
    return grid.pages(figure, height)


def _curves(frame: pd.DataFrame, names: Labels, show: str) -> _Curves:
    """Rows of a plan with their panels and lines, and the marks and texts of lines."""
    varying = [column for column in grouping_of(frame) if frame[column].nunique() > 1]
    quantity = frame["width"]
    if show == "power":
        quantity = 100 * frame["power"]
    frame = frame.assign(
        shown=quantity,
        n_cases=frame["n_cases"].astype("float64"),
        panel=crossed_labels(frame, {column: names.texts(column, frame[column]) for column in varying}),
    )
    has_panels = frame["panel"].nunique() > 1
    # texts of the needed cases of each line, in the order of the panels
    n_needed_of_line: dict[str, list[str]] = {}
    line_of_row = pd.Series("", index=frame.index)
    for rows in sorted(curves_of(frame), key=lambda rows: rows["panel"].cat.codes.iloc[0]):
        line = curve_text(rows, frame)
        line_of_row[rows.index] = line
        n_needed_of_line.setdefault(line, []).append(_needed_text(rows, with_limits=not has_panels))
    texts = {}
    for line, n_needed in n_needed_of_line.items():
        texts[line] = f"{line} ({'; '.join(n_needed)})" if show == "power" else line
    frame["line"] = pd.Categorical(line_of_row.map(texts), list(texts.values()), ordered=True)
    target_marks = _target_marks(frame) if show == "power" else frame.iloc[:0]
    return _Curves(frame, target_marks, texts)


def _target_marks(frame: pd.DataFrame) -> pd.DataFrame:
    """Marks at the fewest cases that reach the target, for curves that reach it."""
    marks = [frame.iloc[:0]]
    for _, curve in frame.groupby(["panel", "line"], observed=True):
        n_needed = curve["n_needed"].iloc[0]
        if pd.isna(n_needed):
            continue
        if not curve["n_cases"].min() <= n_needed <= curve["n_cases"].max():
            continue
        target = 100 * curve["target"].iloc[0]
        # NaN unless a row has exactly this number of cases
        power_at_n = curve.loc[curve["n_cases"] == n_needed, "shown"].min()
        # a curve that begins above the target has its mark at its beginning
        y = np.fmax(target, power_at_n)
        marks.append(curve.head(1).assign(n_cases=float(n_needed), shown=y))
    return pd.concat(marks)


def _needed_text(rows: pd.DataFrame, *, with_limits: bool) -> str:
    """Number of cases that a curve needs, with its limits if it has any: "97 [67 to 152]"."""
    limits = limits_text(rows) if with_limits else ""
    return f"{needed_text(rows)} [{limits}]" if limits else needed_text(rows)


def _limit_bars(rows: pd.DataFrame) -> pd.DataFrame:
    """Bars from the lower to the upper limit of the needed cases, cut to the axis: a row for each."""
    if "n_low" not in rows.columns:
        return rows.iloc[:0]
    axis = (rows["n_cases"].min(), rows["n_cases"].max())
    bars = []
    for _, panel_rows in rows.groupby("panel", observed=True):
        for index, (_, curve) in enumerate(panel_rows.groupby("line", observed=True)):
            bars.append(_limit_bar(curve, index, axis))
    bars_on_axis = [bar for bar in bars if bar is not None]
    return pd.concat(bars_on_axis) if bars_on_axis else rows.iloc[:0]


def _limit_bar(curve: pd.DataFrame, index: int, axis: tuple[float, float]) -> pd.DataFrame | None:
    """Bar of one curve, a step below that of the curve before; None where it is outside the axis."""
    first, last = axis
    low = curve["n_low"].iloc[0]
    if pd.isna(low) or low >= last:
        return None
    high = curve["n_high"].iloc[0]
    # an upper limit that is missing lies beyond every number of cases
    bar_end = last if pd.isna(high) else min(float(high), last)
    if bar_end <= first:
        return None
    bar_start = max(float(low), first)
    y = 100 * curve["target"].iloc[0] - index * _BAR_STEP
    return curve.head(1).assign(n_cases=bar_start, limit=bar_end, shown=y)


def _target_layers(frame: pd.DataFrame, show: str) -> list[Any]:
    """Dashed line at the power or the width that is planned for; none where power is planned for."""
    first = frame.iloc[0]
    if show == "power":
        target = 100 * first["target"]
    elif first["goal"] == "width":
        target = first["widest"]
    else:
        return []
    return [p9.geom_hline(yintercept=float(target), color=GUIDE, size=0.4, linetype="dashed")]


def _x_title(names: Labels) -> str:
    """Title of the horizontal axis: the user's label, else "Cases"."""
    label = names.column("n_cases")
    return label if label != Labels().column("n_cases") else "Cases"


def _y_title(frame: pd.DataFrame, show: str) -> str:
    """Title of the vertical axis."""
    first = frame.iloc[0]
    interval = f"{level_text(first['level'])}% interval"
    if show == "width":
        return f"Mean width of the {interval}"
    if first["goal"] == "width":
        return f"{interval} within {effect_text(first['widest'], first['term'])} (%)"
    return "Power (%)"


def _effect_note(frame: pd.DataFrame) -> str:
    """Sentence on a single effect that is planned for; "" for several effects or a plan for a width."""
    first = frame.iloc[0]
    effects = distinct_values(frame, "effect")
    if len(effects) != 1 or first["goal"] == "width":
        return ""
    return f"Effect: {effect_text(effects[0], first['term'])}."


def _needed_note(frame: pd.DataFrame, curves: _Curves, legend: list[str], *, has_bars: bool) -> str:
    """Sentence on rings, bars and the numbers in the legend, or with these numbers if there is none."""
    marks = []
    if len(curves.target_marks):
        marks.append("rings")
    if has_bars:
        marks.append("thick lines")
    fewest = f"{' and '.join(marks)}: fewest".capitalize() if marks else "Fewest"
    has_panels = curves.rows["panel"].nunique() > 1
    numbers = "in brackets"
    if not legend:
        numbers = joined([_needed_text(rows, with_limits=not has_panels) for rows in curves_of(frame)])
    limits = ""
    if any(limits_text(rows) for rows in curves_of(frame)):
        level = level_text(LIMITS_LEVEL)
        limits = f" and their {level}% limits, as the pilot's spread is uncertain"
    panels = ", in the panels' order" if has_panels else ""
    target = level_text(frame.iloc[0]["target"])
    return f"{fewest} cases for {target}%{limits} ({numbers}{panels})."


def _simulation_notes(frame: pd.DataFrame, show: str, *, has_point_intervals: bool) -> list[str]:
    """Sentences on the simulated studies and the intervals of simulated power, or on the formula."""
    first = frame.iloc[0]
    if first["approach"] != "simulation":
        return ["By formula."]
    notes = [f"Points: {count_text(first['n_studies'])} simulated studies each."]
    if show == "power":
        marks = "Bars" if has_point_intervals else "Bands"
        notes.append(f"{marks}: 95% intervals of the power (Monte-Carlo error).")
    return notes


def _width_note(frame: pd.DataFrame) -> str:
    """Sentence on the dashed line of a plan for a width."""
    first = frame.iloc[0]
    if first["goal"] != "width":
        return ""
    return f"Dashed: the width planned for, {effect_text(first['widest'], first['term'])}."
