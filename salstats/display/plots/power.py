"""Power, or the width of an interval, by the number of cases."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_choice
from salstats.display.plots.layout.axis_ticks import number_axes
from salstats.display.plots.layout.captions import distinct_values_by_appearance, scope_note
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.legends import group_scales, legend_chars
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import crossed_labels, wrapped_texts
from salstats.display.plots.layout.theme import GUIDE, LINE_MM, font
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import count_text, joined, level_text_without_percent_sign
from salstats.display.text.labels import Labels
from salstats.display.text.planning import (
    assumed_sd_note,
    checked_plan_with_all_columns,
    effect_text,
    grouping_columns_of_plan,
    n_cases_needed_limits_text,
    needed_case_count_text,
    readers_and_effect_text_of_curve,
    rows_of_each_curve,
)
from salstats.stats.planning.spreads import LIMITS_LEVEL

#: Quantities that can be drawn.
_QUANTITIES = ("power", "width")
#: Height of a panel as a multiple of its width.
_HEIGHT_TO_WIDTH = 0.7
#: Distance between the bars of two curves in percentage points of power.
_BAR_STEP = 2.5
#: Most lines whose numbers of cases have room in the corner of a panel.
_MAX_TEXT_LINES = 3
#: Size of these numbers.
_TEXT_PT = 6


@dataclass(frozen=True)
class _Curves:
    """Curves of a plan.

    Attributes
    ----------
    rows : DataFrame
        Rows of the plan with their `panel`, their `line` (its text in the legend) and the number `shown`:
        power in percent, or the width of an interval.
    target_marks : DataFrame
        Marks where curves reach the target, in the same columns.
    texts : dict
        Text of each line in the legend.
    """

    rows: pd.DataFrame
    target_marks: pd.DataFrame
    texts: dict[str, str]


# a figure is put together layer by layer; the branches are its optional parts
@keep_call_in_figure
def plot_power(  # noqa: C901, PLR0912
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
        What `power` returns. Groups have panels of their own, with the numbers of cases that up to three
        curves need in the corner. Simulated power has a band, its Wilson interval. Where the pilot's SD is
        uncertain, a bar shows the limits of the needed cases.
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
    frame = checked_plan_with_all_columns(plan)
    frame_labels = Labels(labels, frame)
    curves = _curves_of_plan(frame, frame_labels, show)
    grid = panel_grid(list(curves.rows["panel"].cat.categories), n_columns, width)
    curves = _with_wrapped_legend_texts(curves, grid.width)
    rows = curves.rows
    bars = rows.iloc[:0]
    if show == "power":
        bars = _n_needed_limit_bar_of_each_curve(rows)
    height = grid.panel_height(_HEIGHT_TO_WIDTH)
    legend: list[str] = []
    if len(curves.texts) > 1:
        legend += curves.texts.values()
    n_points = rows.groupby(["panel", "line"], observed=True)["shown"].transform("size")
    # a curve of a single point has no line
    is_on_line = n_points > 1
    has_lines = bool(is_on_line.any())
    has_bands = show == "power" and "conf_low" in rows.columns
    has_point_intervals = has_bands and not is_on_line.all()
    layers = _target_line_if_any(frame, show)
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
    # points without lines are larger, and are the keys of the legend
    point_size = 0.9 if has_lines else 2.0
    layers.append(p9.geom_point(size=point_size, stroke=0, show_legend=not has_lines))
    if len(curves.target_marks):
        layers.append(
            p9.geom_point(
                data=curves.target_marks, shape="o", fill="white", size=2.2, stroke=0.4, show_legend=False
            )
        )
    text_layers: list[Any] = []
    axis_ends = [0]
    if show == "power":
        text_layers = _sample_size_text_layers(rows, height)
        layers += text_layers
        # power is in percent
        axis_ends.append(100)
    layers.append(p9.expand_limits(y=axis_ends))
    if rows["n_cases"].nunique() == 1:
        # a single number of cases would give the axis no length
        layers.append(p9.expand_limits(x=[0]))
    notes = [
        scope_note(frame, frame_labels, ("metric", "method", "reference", "task")),
        _effect_note(frame),
    ]
    if show == "power":
        notes.append(
            _cases_needed_note(frame, curves, legend, has_bars=len(bars) > 0, has_texts=len(text_layers) > 0)
        )
    notes += [
        assumed_sd_note(frame),
        *_simulation_or_by_formula_notes(frame, show, has_point_intervals=has_point_intervals),
    ]
    if show == "width":
        notes.append(_planned_width_note(frame))
    notes.append(caution_note(frame))
    figure = (
        Figure(rows, p9.aes("n_cases", "shown", color="line"))
        + layers
        + number_axes(grid.panel_width, height)
        + grid.elements(
            height,
            x=_x_title(frame_labels),
            y=_y_title(frame, show),
            notes=notes,
            legend=legend,
        )
        + group_scales(curves.texts, (), aesthetics, grid.width, labels=frame_labels)
    )
    if not legend:
        figure = figure + p9.theme(legend_position="none")
    return grid.divided_into_pages(figure, height)


def _curves_of_plan(frame: pd.DataFrame, labels: Labels, show: str) -> _Curves:
    """Return the curves of a plan, which show "power" or "width"."""
    varying_columns = [column for column in grouping_columns_of_plan(frame) if frame[column].nunique() > 1]
    quantity = frame["width"]
    if show == "power":
        quantity = 100 * frame["power"]
    frame = frame.assign(
        shown=quantity,
        n_cases=frame["n_cases"].astype("float64"),
        panel=crossed_labels(
            frame, {column: labels.label_by_value(column, frame[column]) for column in varying_columns}
        ),
    )
    has_panels = frame["panel"].nunique() > 1
    texts: dict[str, str] = {}
    line_of_row = pd.Series("", index=frame.index)
    for curve in rows_of_each_curve(frame):
        line = readers_and_effect_text_of_curve(curve, frame)
        line_of_row[curve.index] = line
        texts[line] = line
        if show == "power" and not has_panels:
            texts[line] = f"{line} ({_sample_size_text(curve, show_limits=True)})"
    frame["line"] = pd.Categorical(line_of_row.map(texts), list(texts.values()), ordered=True)
    target_marks = frame.iloc[:0]
    if show == "power":
        target_marks = _target_marks(frame)
    return _Curves(frame, target_marks, texts)


def _with_wrapped_legend_texts(curves: _Curves, width: float) -> _Curves:
    """Return curves whose texts fit the legend of a figure of a width in mm."""
    texts = wrapped_texts(curves.texts.values(), legend_chars(width), None)
    rows = curves.rows
    marks = curves.target_marks
    return replace(
        curves,
        rows=rows.assign(line=rows["line"].cat.rename_categories(texts)),
        target_marks=marks.assign(line=marks["line"].cat.rename_categories(texts)),
        texts={line: texts[text] for line, text in curves.texts.items()},
    )


def _target_marks(plan: pd.DataFrame) -> pd.DataFrame:
    """Return marks at the fewest cases that reach the target: a row for each curve that reaches it."""
    marks = [plan.iloc[:0]]
    for _, curve in plan.groupby(["panel", "line"], observed=True):
        n_needed = curve["n_needed"].iloc[0]
        if pd.isna(n_needed):
            continue
        if not curve["n_cases"].min() <= n_needed <= curve["n_cases"].max():
            continue
        target = 100 * curve["target"].iloc[0]
        # NaN unless a row has exactly this number of cases
        power_at_n = curve.loc[curve["n_cases"] == n_needed, "shown"].min()
        # a curve that begins above the target has its mark at its beginning; fmax ignores NaN
        y = np.fmax(target, power_at_n)
        marks.append(curve.head(1).assign(n_cases=float(n_needed), shown=y))
    return pd.concat(marks)


def _sample_size_text(curve: pd.DataFrame, *, show_limits: bool) -> str:
    """Return the number of cases that a curve needs, with its limits if it has any: "97 [67 to 152]"."""
    if show_limits and n_cases_needed_limits_text(curve):
        return f"{needed_case_count_text(curve)} [{n_cases_needed_limits_text(curve)}]"
    return needed_case_count_text(curve)


def _sample_size_text_layers(rows: pd.DataFrame, height: float) -> list[Any]:
    """Return texts with the fewest cases of each curve, in the lower right corner of its panel.

    Panels have a height in mm. No text is returned for a single panel, whose numbers stand elsewhere, or for
    more lines than have room in the corner.
    """
    lines = list(rows["line"].cat.categories)
    if rows["panel"].nunique() == 1 or len(lines) > _MAX_TEXT_LINES:
        return []
    texts = []
    for _, curve in rows.groupby(["panel", "line"], observed=True):
        n_below = len(lines) - 1 - lines.index(curve["line"].iloc[0])
        text = curve.head(1).assign(
            text=_sample_size_text(curve, show_limits=False),
            x=rows["n_cases"].max(),
            # percentage points of power
            y=100 * n_below * LINE_MM / height,
        )
        texts.append(text)
    layer = p9.geom_text(
        p9.aes("x", "y", label="text", color="line"),
        pd.concat(texts),
        ha="right",
        va="bottom",
        size=_TEXT_PT,
        family=font(),
        show_legend=False,
        inherit_aes=False,
    )
    return [layer]


def _n_needed_limit_bar_of_each_curve(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a bar for each curve, from the lower to the upper limit of the needed cases, cut to the axis.

    The columns `n_cases` and `limit` are the ends of a bar, `shown` is its vertical position.
    """
    bars = [rows.iloc[:0]]
    axis_ends = (rows["n_cases"].min(), rows["n_cases"].max())
    for _, panel_rows in rows.groupby("panel", observed=True):
        for number, (_, curve) in enumerate(panel_rows.groupby("line", observed=True)):
            bar = _n_needed_limit_bar(curve, number, axis_ends)
            if bar is not None:
                bars.append(bar)
    return pd.concat(bars)


def _n_needed_limit_bar(
    curve: pd.DataFrame, number: int, axis_ends: tuple[float, float]
) -> pd.DataFrame | None:
    """Return the bar of one curve, None where it is outside the axis.

    `number` counts the curves of a panel from 0; each bar is a step below that of the curve before.
    """
    first, last = axis_ends
    low = curve["n_low"].iloc[0]
    if pd.isna(low) or low >= last:
        return None
    high = curve["n_high"].iloc[0]
    # an upper limit that is missing lies beyond every number of cases
    bar_end = last
    if pd.notna(high):
        bar_end = min(float(high), last)
    if bar_end <= first:
        return None
    bar_start = max(float(low), first)
    y = 100 * curve["target"].iloc[0] - number * _BAR_STEP
    return curve.head(1).assign(n_cases=bar_start, limit=bar_end, shown=y)


def _target_line_if_any(plan: pd.DataFrame, show: str) -> list[Any]:
    """Return a dashed line at the target: the power, or the width if the plan is for a width, else none."""
    first = plan.iloc[0]
    if show == "power":
        target = 100 * first["target"]
    elif first["goal"] == "width":
        target = first["widest"]
    else:
        return []
    return [p9.geom_hline(yintercept=float(target), color=GUIDE, size=0.4, linetype="dashed")]


def _x_title(labels: Labels) -> str:
    """Return the title of the horizontal axis: the user's label, else "Cases"."""
    user_label = labels.user_column_label("n_cases")
    return "Cases" if user_label is None else user_label


def _y_title(plan: pd.DataFrame, show: str) -> str:
    """Return the title of the vertical axis."""
    first = plan.iloc[0]
    interval = f"{level_text_without_percent_sign(first['level'])}% interval"
    if show == "width":
        return f"Mean width of the {interval}"
    if first["goal"] == "width":
        return f"Chance of {interval} up to {effect_text(first['widest'], first['term'])} wide (%)"
    return "Power (%)"


def _effect_note(plan: pd.DataFrame) -> str:
    """Return a sentence on the only effect that is planned for, "" for several or a plan for a width."""
    first = plan.iloc[0]
    effects = distinct_values_by_appearance(plan, "effect")
    if len(effects) != 1 or first["goal"] == "width":
        return ""
    return f"Effect: {effect_text(effects[0], first['term'])}."


def _cases_needed_note(
    plan: pd.DataFrame, curves: _Curves, legend: list[str], *, has_bars: bool, has_texts: bool
) -> str:
    """Return a sentence on rings, bars and the numbers of cases, with these numbers if none is drawn."""
    marks = []
    if len(curves.target_marks):
        marks.append("rings")
    if has_bars:
        marks.append("thick lines")
    beginning = "Fewest"
    if marks:
        beginning = f"{' and '.join(marks)}: fewest".capitalize()
    has_panels = curves.rows["panel"].nunique() > 1
    if has_texts:
        where_sizes_stand = "at the lower right"
    elif has_panels:
        where_sizes_stand = "in the table of the plan"
    elif legend:
        where_sizes_stand = "in brackets"
    else:
        where_sizes_stand = joined(
            [_sample_size_text(curve, show_limits=True) for curve in rows_of_each_curve(plan)]
        )
    limits_text = ""
    if (has_bars or not has_panels) and any(
        n_cases_needed_limits_text(curve) for curve in rows_of_each_curve(plan)
    ):
        level = level_text_without_percent_sign(LIMITS_LEVEL)
        limits_text = f" and their {level}% limits, as the pilot's spread is uncertain"
    target_text = level_text_without_percent_sign(plan.iloc[0]["target"])
    return f"{beginning} cases for {target_text}%{limits_text} ({where_sizes_stand})."


def _simulation_or_by_formula_notes(plan: pd.DataFrame, show: str, *, has_point_intervals: bool) -> list[str]:
    """Return sentences on the simulated studies and the intervals of simulated power, or on the formula."""
    first = plan.iloc[0]
    if first["approach"] != "simulation":
        return ["By formula."]
    notes = [f"Points: {count_text(first['n_studies'])} simulated studies each."]
    if show == "power":
        marks = "Bands"
        if has_point_intervals:
            marks = "Bars"
        notes.append(f"{marks}: 95% intervals of the power (Monte-Carlo error).")
    return notes


def _planned_width_note(plan: pd.DataFrame) -> str:
    """Return a sentence on the dashed line of a plan for a width, "" for other plans."""
    first = plan.iloc[0]
    if first["goal"] != "width":
        return ""
    return f"Dashed: the width planned for, {effect_text(first['widest'], first['term'])}."
