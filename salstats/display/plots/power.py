"""Power, or the width of an interval, against the number of cases."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_choice
from salstats.display.plots.layout.axis_ticks import number_axes
from salstats.display.plots.layout.captions import distinct, scope_note
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.legends import group_scales
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import crossed
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

#: What can be drawn, and height of a panel over its width.
SHOWN, _SHARE = ("power", "width"), 0.7
#: Points of power between the bars of two curves, so that none hides another.
_BAR_STEP = 2.5


@figures
def plot_power(
    plan: pd.DataFrame,
    *,
    show: str = "power",
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of power against the number of cases: a line per effect or number of readers.

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
    check_choice(show, SHOWN, "show")
    frame = check_plan(plan)
    names = Labels(labels, frame)
    rows, needed, texts = _drawn(frame, names, show)
    limits = _limits(rows, show)
    grid = panel_grid(list(rows["panel"].cat.categories), n_columns, width)
    height = grid.panel_height(_SHARE)
    legend = list(texts.values()) if len(texts) > 1 else []
    band = p9.aes(ymin="100 * conf_low", ymax="100 * conf_high", fill="line")
    bar = p9.aes(xend="limit", yend="shown")
    with_band = show == "power" and "conf_low" in rows.columns
    several = rows.groupby(["panel", "line"], observed=True)["shown"].transform("size") > 1
    joined_up = bool(several.any())
    aesthetics = ["color", *(["linetype"] if joined_up else []), *(["fill"] if with_band else [])]
    wanted = _wanted(frame, show)
    with_bar = with_band and not several.all()
    figure = (
        p9.ggplot(rows, p9.aes("n_cases", "shown", color="line"))
        + (
            []
            if wanted is None
            else [p9.geom_hline(yintercept=wanted, color=GUIDE, size=0.4, linetype="dashed")]
        )
        + ([p9.geom_ribbon(band, alpha=0.2, color="none", show_legend=False)] if with_band else [])
        + ([p9.geom_linerange(band, rows[~several], size=0.6, show_legend=False)] if with_bar else [])
        + ([p9.geom_segment(bar, limits, size=1.6, alpha=0.45, show_legend=False)] if len(limits) else [])
        # a line of one point is none
        + ([p9.geom_line(p9.aes(linetype="line"), rows[several], size=0.6)] if joined_up else [])
        + p9.geom_point(size=0.9 if joined_up else 2.0, stroke=0, show_legend=not joined_up)
        + (
            [p9.geom_point(data=needed, size=2.2, stroke=0.4, shape="o", fill="white", show_legend=False)]
            if len(needed)
            else []
        )
        + p9.expand_limits(y=[0, 100] if show == "power" else [0])
        # one number of cases has no axis of its own
        + ([p9.expand_limits(x=[0])] if rows["n_cases"].nunique() == 1 else [])
        + number_axes(grid.panel_width, height)
        + grid.look(
            height,
            x=_axis(names),
            y=_shown_text(frame, show),
            notes=[
                scope_note(frame, names, ("metric", "method", "reference", "task")),
                *_notes(frame, rows, show, legend, ringed=len(needed) > 0, bars=with_bar),
                caution_note(frame),
            ],
            legend=legend,
        )
        + group_scales(texts, (), aesthetics, grid.width, labels=names)
        + ([] if legend else p9.theme(legend_position="none"))
    )
    return grid.pages(figure, height)


def _drawn(
    frame: pd.DataFrame, names: Labels, show: str
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Rows with their panel and line, the marks where the target is reached, and the legend's texts."""
    varying = [c for c in grouping_of(frame) if frame[c].nunique() > 1]
    frame = frame.assign(
        shown=100 * frame["power"] if show == "power" else frame["width"],
        n_cases=frame["n_cases"].astype("float64"),
        panel=crossed(frame, {c: names.texts(c, frame[c]) for c in varying}),
    )
    lines: dict[str, list[str]] = {}
    needed_of = _needed_writer(frame)
    line_of = pd.Series("", index=frame.index)
    for rows in sorted(curves_of(frame), key=lambda rows: rows["panel"].cat.codes.iloc[0]):
        text = curve_text(rows, frame)
        line_of[rows.index] = text
        lines.setdefault(text, []).append(needed_of(rows))
    # the cases that each line needs, in the panels' order
    needs = {text: f" ({'; '.join(of)})" if show == "power" else "" for text, of in lines.items()}
    texts = {text: f"{text}{of}" for text, of in needs.items()}
    frame["line"] = pd.Categorical(line_of.map(texts), list(texts.values()), ordered=True)
    marks = []
    for _, rows in frame.groupby(["panel", "line"], observed=True):
        needed = rows["n_needed"].iloc[0]
        if pd.notna(needed) and rows["n_cases"].min() <= needed <= rows["n_cases"].max():
            # where the smallest size is beyond the target the mark is there
            at = np.fmax(100 * rows["target"].iloc[0], rows.loc[rows["n_cases"] == needed, "shown"].min())
            marks.append(rows.head(1).assign(n_cases=float(needed), shown=at))
    return frame, pd.concat(marks) if marks and show == "power" else frame.iloc[:0], texts


def _needed_writer(frame: pd.DataFrame) -> Callable[[pd.DataFrame], str]:
    """Writer of the cases that a curve needs: there is no room for the limits of several panels."""
    return needed_text if frame["panel"].nunique() > 1 else _needed_with_limits


def _needed_with_limits(rows: pd.DataFrame) -> str:
    """Cases that a curve needs with their limits: "97 [67 to 152]"."""
    limits = limits_text(rows)
    return f"{needed_text(rows)} [{limits}]" if limits else needed_text(rows)


def _limits(rows: pd.DataFrame, show: str) -> pd.DataFrame:
    """Ends of the bars from the lower to the upper limit of the cases needed, as far as the axis reaches."""
    bars = []
    if show == "power" and "n_low" in rows.columns:
        axis = rows["n_cases"].min(), rows["n_cases"].max()
        for _, of_panel in rows.groupby("panel", observed=True):
            for place, (_, curve) in enumerate(of_panel.groupby("line", observed=True)):
                bars.append(_bar(curve, place, axis))
    bars = [bar for bar in bars if bar is not None]
    return pd.concat(bars) if bars else rows.iloc[:0]


def _bar(curve: pd.DataFrame, place: int, axis: tuple[float, float]) -> pd.DataFrame | None:
    """Bar of one curve at the target, each a little below the one before; None where the axis has none."""
    first, last = axis
    low, high = curve["n_low"].iloc[0], curve["n_high"].iloc[0]
    if pd.isna(low) or low >= last:
        return None
    high = last if pd.isna(high) else min(float(high), last)
    if high <= first:
        return None
    height = 100 * curve["target"].iloc[0] - place * _BAR_STEP
    return curve.head(1).assign(n_cases=max(float(low), first), limit=high, shown=height)


def _axis(names: Labels) -> str:
    """Title of the horizontal axis."""
    given = names.column("n_cases")
    return given if given != Labels().column("n_cases") else "Cases"


def _shown_text(frame: pd.DataFrame, show: str) -> str:
    """Title of the vertical axis."""
    first = frame.iloc[0]
    interval = f"{level_text(first['level'])}% interval"
    if show == "width":
        return f"Mean width of the {interval}"
    if first["goal"] == "width":
        return f"{interval} within {effect_text(first['widest'], first['term'])} (%)"
    return "Power (%)"


def _wanted(frame: pd.DataFrame, show: str) -> float | None:
    """Where the dashed line stands: the power, or the width, that is planned for."""
    first = frame.iloc[0]
    if show == "power":
        return float(100 * first["target"])
    return float(first["widest"]) if first["goal"] == "width" else None


def _notes(
    frame: pd.DataFrame, rows: pd.DataFrame, show: str, legend: list[str], *, ringed: bool, bars: bool
) -> list[str]:
    """Sentences under the figure."""
    first, effects = frame.iloc[0], distinct(frame, "effect")
    where = "in brackets" if legend else joined(list(map(_needed_writer(rows), curves_of(frame))))
    heading = "Rings: fewest" if ringed else "Fewest"
    limits = ""
    if any(limits_text(curve) for curve in curves_of(frame)):
        level = level_text(LIMITS_LEVEL)
        limits = f" and their {level}% limits, as the pilot's spread is uncertain"
    if len(_limits(rows, show)):
        heading = "Rings and thick lines: fewest" if ringed else "Thick lines: fewest"
    panels = ", in the panels' order" if rows["panel"].nunique() > 1 else ""
    of_power = show == "power"
    simulated = first["approach"] == "simulation"
    told = len(effects) == 1 and first["goal"] != "width"
    return [
        f"Effect: {effect_text(effects[0], first['term'])}." if told else "",
        f"{heading} cases for {level_text(first['target'])}%{limits} ({where}{panels})." if of_power else "",
        spread_note(frame),
        f"Points: {count_text(first['n_studies'])} simulated studies each." if simulated else "By formula.",
        f"{'Bars' if bars else 'Bands'}: 95% intervals of the power (Monte-Carlo error)."
        if simulated and of_power
        else "",
        f"Dashed: the width planned for, {effect_text(first['widest'], first['term'])}."
        if not of_power and first["goal"] == "width"
        else "",
    ]
