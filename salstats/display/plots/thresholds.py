"""Threshold sweeps: the mean score of every task at each threshold, the best one marked."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_columns, check_count, check_numeric, quoted
from salstats.display.plots.axis_ticks import axis_breaks, tick_texts, up_breaks
from salstats.display.plots.captions import distinct, has_limits, interval_note
from salstats.display.plots.estimates import check_distinct, check_estimates, quantity
from salstats.display.plots.panel_grid import PanelGrid, panel_grid
from salstats.display.plots.text_fit import (
    apart,
    caption,
    caption_chars,
    caption_mm,
    plain,
    width_mm,
    wrapped_text,
)
from salstats.display.plots.theme import (
    COLUMN_MM,
    GUIDE,
    MM_PER_PT,
    PAGE_MM,
    PALETTE,
    TEXT_PT,
    figure_size,
    font,
    line_types,
    theme_salstats,
)
from salstats.display.text.format import count_text, joined
from salstats.display.text.labels import Labels
from salstats.metrics.registry import direction

#: Tasks that share a single panel, and that share one of several: as many as there are colours.
_FEW_TASKS, _MOST_TASKS = 5, len(PALETTE)
#: Narrower panels have no room for the names beside the lines.
_PANEL_MM = 55.0
#: Height of a panel over its width.
_SHARE = 0.62
#: Part of a panel that names take at most, how far they stand from the lines, and lines of a name.
_NAMES, _SHIFT_MM, _KEY_MM, _NAME_LINES = 0.42, 3.0, 1.6, 3
_NAME_PT = TEXT_PT - 0.5
_NAME_MM = 1.2 * _NAME_PT * MM_PER_PT
#: Marks that have an inside, so that the large ones keep their colour.
_SHAPES = ("o", "s", "^", "v", "D", "<", ">", "p")
_NO_LEGEND: dict[str, Any] = {"inherit_aes": False, "show_legend": False}


def plot_thresholds(
    sweep: pd.DataFrame, *, labels: Any = None, n_panels: int | None = None, width: float | None = None
) -> p9.ggplot:
    """Figure of a threshold sweep: a line per task with its best threshold marked.

    Tasks stand in alphabetical order, or in that of `labels`, and share panels by halves, so that the lines
    can be told apart (extended data figure 1a of saporta2022). Each line ends at its name with the best
    threshold in brackets.

    Parameters
    ----------
    sweep : DataFrame
        Columns `task`, `threshold` and `estimate`, a row per task and threshold; with `method` there are
        panels for each method. `conf_low` and `conf_high` are drawn as bars, `metric` names the axis.
    labels : Mapping, optional
        Labels and order of tasks and methods; `{"estimate": "mIoU"}` and `{"threshold": ...}` name the axes.
    n_panels : int, optional
        Panels that the tasks of a method share; by default one for up to five tasks, two for up to
        16, and then as many as keep eight in each.
    width : float, optional
        Width of the figure in mm; by default 89 for a single panel, else 183.

    Returns
    -------
    ggplot
        Its `data` has a column `best`: the largest estimate of a task, at the smallest threshold where
        several are equal; the smallest estimate where the metric is known to be better so.

    Raises
    ------
    ColumnError
        A column is missing or holds text where numbers belong.
    SalstatsError
        Several metrics; two rows for one task and threshold; nothing but missing estimates.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> sweep = pd.DataFrame({"task": ["Edema"] * 3 + ["Atelectasis"] * 3,
    ...     "threshold": [0.2, 0.4, 0.6] * 2, "estimate": [0.4, 0.3, 0.2, 0.3, 0.35, 0.1]})
    >>> figure = ss.plot_thresholds(sweep, labels={"estimate": "mIoU"})
    >>> figure.data.loc[figure.data["best"], ["task", "threshold"]]
              task  threshold
    1  Atelectasis        0.4
    3        Edema        0.2
    """
    frame, metric, note = _checked(sweep)
    names = Labels(labels, frame)
    rows, keys = _in_panels(frame, names, n_panels)
    larger = direction(metric) >= 0
    rows["best"] = _best(rows, larger)
    chosen = width if width is not None else COLUMN_MM if len(keys) == 1 else PAGE_MM
    grid = panel_grid(keys, max(int(chosen // _PANEL_MM), 1) if len(keys) != 4 else 2, chosen)
    if "method" not in frame.columns or frame["method"].nunique() == 1:
        grid = replace(grid, titles=dict.fromkeys(keys, ""), strip=1.0)
    ends, span = _names(rows, grid)
    tall = _NAME_MM * (1 + ends["text"].str.count("\n"))
    height = max(grid.panel_height(_SHARE), float(tall.groupby(ends["panel"], observed=True).sum().max()))
    ends["place"] = _places(ends, tall / height, span)
    text = caption([_best_note(larger), _bars_note(rows), note], caption_chars(grid.width))
    return (
        p9.ggplot(rows, p9.aes("threshold", "estimate", color="slot"))
        + _layers(rows)
        + _end_layers(ends, span)
        + _scales(rows, span, height)
        + p9.labs(
            x=plain(names.column("threshold")),
            y=plain(_quantity(rows, metric, names)),
            caption=text,
        )
        + theme_salstats()
        # the axis ends where the lines do, before the names
        + p9.theme(axis_line_x=p9.element_blank(), legend_position="none")
        + grid.facets("panel")
        + figure_size(grid.width, grid.height(height) + caption_mm(text))
    )


@dataclass(frozen=True)
class _Span:
    """The axes: first and last threshold, panel's edges, units per mm, and the other axis's ends."""

    low: float
    high: float
    left: float
    right: float
    per_mm: float
    bottom: float
    top: float


def _checked(sweep: object) -> tuple[pd.DataFrame, str | None, str]:
    """Rows with an estimate, their metric, and a sentence about the others."""
    frame = check_estimates(sweep, "sweep")
    check_columns(frame, ["task", "threshold"], "sweep")
    frame["threshold"] = check_numeric(frame, "threshold", "sweep")
    keys = [c for c in ("method", "task", "threshold") if c in frame.columns]
    if frame[keys].isna().any(axis=None):
        raise SalstatsError(f"a row of sweep lacks {joined(keys, 'or')}; fill it or leave it out")
    metrics = distinct(frame, "metric")
    if len(metrics) > 1:
        raise SalstatsError(
            f"sweep holds {len(metrics)} metrics ({quoted(metrics)}), which share no axis; keep one of them"
        )
    check_distinct(frame, keys, "sweep")
    known = frame["estimate"].notna()
    if not known.any():
        raise SalstatsError(f"sweep has nothing to draw: every estimate is missing ({len(frame)} rows)")
    note = f"Undefined, not drawn: {count_text((~known).sum())} of {count_text(len(frame))} values."
    rows = frame[known].reset_index(drop=True)
    return rows, str(metrics[0]) if metrics else None, "" if known.all() else note


def _in_panels(frame: pd.DataFrame, names: Labels, n_panels: int | None) -> tuple[pd.DataFrame, list[str]]:
    """Rows with their `panel`, `slot` (place in it) and `name`, sorted, and the panels."""
    methods = [None] if "method" not in frame.columns else names.order("method", frame["method"])
    parts: list[pd.DataFrame] = []
    keys: list[str] = []
    for method in methods:
        rows = frame if method is None else frame[frame["method"] == method]
        tasks = names.order("task", rows["task"])
        if n_panels is None:
            n = 1 if len(tasks) <= _FEW_TASKS else max(2, -(-len(tasks) // _MOST_TASKS))
        else:
            n = min(check_count(n_panels, "n_panels"), len(tasks))
        for i, shared in enumerate(np.array_split(np.arange(len(tasks)), n)):
            own = "" if method is None else names.value("method", method)
            keys.append(f"{own}, {i + 1} of {n}" if n > 1 or not own else own)
            for slot, task in enumerate(shared):
                line = rows[rows["task"] == tasks[task]].sort_values("threshold")
                name = names.value("task", tasks[task])
                parts.append(line.assign(panel=keys[-1], slot=str(slot), name=name))
    result = pd.concat(parts, ignore_index=True)
    result["panel"] = pd.Categorical(result["panel"], keys, ordered=True)
    result["slot"] = pd.Categorical(result["slot"], sorted(set(result["slot"]), key=int), ordered=True)
    return result, keys


def _best(rows: pd.DataFrame, larger: bool) -> pd.Series:
    """Which rows are the best of their line; thresholds ascend, and the first of equal ones counts."""
    lines = rows.groupby(["panel", "slot"], observed=True)["estimate"]
    return pd.Series(rows.index.isin(lines.idxmax() if larger else lines.idxmin()), index=rows.index)


def _names(rows: pd.DataFrame, grid: PanelGrid) -> tuple[pd.DataFrame, _Span]:
    """End of each line with its name, and the axes, which leave room for the names."""
    best = rows[rows["best"]].set_index(["panel", "slot"])["threshold"]
    ends = rows.groupby(["panel", "slot"], observed=True).tail(1).reset_index(drop=True)
    most = _NAMES * grid.panel_width - _SHIFT_MM - _KEY_MM
    at = [best[key] for key in zip(ends["panel"], ends["slot"], strict=True)]
    lines = _NAME_LINES - (rows["slot"].nunique() > _FEW_TASKS)
    ends["text"] = [
        wrapped_text(name, most, lines, _NAME_PT, f" ({tick_texts([threshold])[0]})")
        for name, threshold in zip(ends["name"], at, strict=True)
    ]
    wide = max(width_mm(line, _NAME_PT) for text in ends["text"] for line in text.split("\n"))
    low, high = float(rows["threshold"].min()), float(rows["threshold"].max())
    room = _SHIFT_MM + _KEY_MM + wide + 1
    per_mm = (high - low or 1.0) / (grid.panel_width - room - 2)
    drawn = rows[["estimate", "conf_low", "conf_high"]]
    bottom, top = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    around = 0.05 * (top - bottom) or 0.1 * abs(top) or 0.5
    return ends, _Span(
        low, high, low - 2 * per_mm, high + room * per_mm, per_mm, bottom - around, top + around
    )


def _places(ends: pd.DataFrame, shares: pd.Series, span: _Span) -> pd.Series:
    """Where the names stand, which take shares of the height of their panels."""
    places = pd.Series(0.0, index=ends.index)
    for _, rows in ends.groupby("panel", observed=True):
        sizes = shares[rows.index].to_numpy() * (span.top - span.bottom)
        places[rows.index] = apart(rows["estimate"].to_numpy(), sizes, span.bottom, span.top)
    return places


def _layers(rows: pd.DataFrame) -> list[Any]:
    """Layers of lines, bars and marks."""
    several = rows.groupby(["panel", "slot"], observed=True)["estimate"].transform("size") > 1
    layers: list[Any] = []
    if has_limits(rows).any():
        limits = p9.aes("threshold", ymin="conf_low", ymax="conf_high", color="slot")
        layers.append(
            p9.geom_linerange(limits, rows[has_limits(rows)], size=0.3, alpha=0.6, inherit_aes=False)
        )
    if several.any():
        layers.append(p9.geom_line(p9.aes(linetype="slot"), rows[several], size=0.5))
    best = p9.aes("threshold", "estimate", fill="slot", shape="slot")
    return [
        *layers,
        p9.geom_point(p9.aes(shape="slot"), size=0.8, stroke=0),
        p9.geom_point(best, rows[rows["best"]], size=1.8, stroke=0.4, color="black", inherit_aes=False),
    ]


def _end_layers(ends: pd.DataFrame, span: _Span) -> list[Any]:
    """Layers of names behind their marks, of lines that lead there, and of the axis."""
    key = span.high + _SHIFT_MM * span.per_mm
    placed = ends.assign(
        key_at=key,
        lead_from=ends["threshold"] + 0.8 * span.per_mm,
        lead_to=key - 0.9 * span.per_mm,
        text_at=key + _KEY_MM * span.per_mm,
    )
    axis = ends.drop_duplicates("panel")[["panel"]].assign(
        start=span.left, end=span.high + span.per_mm, at=-np.inf
    )
    lead = p9.aes("lead_from", "estimate", xend="lead_to", yend="place")
    return [
        p9.geom_segment(lead, placed, color=GUIDE, size=0.3, **_NO_LEGEND),
        p9.geom_point(
            p9.aes("key_at", "place", color="slot", shape="slot"), placed, size=1.1, stroke=0, **_NO_LEGEND
        ),
        p9.geom_text(
            p9.aes("text_at", "place", label="text"),
            placed,
            size=_NAME_PT,
            ha="left",
            family=font(),
            lineheight=1.05,
            **_NO_LEGEND,
        ),
        p9.geom_segment(p9.aes("start", "at", xend="end", yend="at"), axis, size=0.4, **_NO_LEGEND),
    ]


def _scales(rows: pd.DataFrame, span: _Span, height: float) -> list[Any]:
    """Scales of the lines and of both axes."""
    slots = list(rows["slot"].cat.categories)
    n = len(slots)
    colours = [PALETTE[i % len(PALETTE)] for i in range(n)]
    room = (span.high - span.low) / span.per_mm
    return [
        p9.scale_color_manual(colours, limits=slots),
        p9.scale_fill_manual(colours, limits=slots),
        p9.scale_shape_manual([_SHAPES[i % len(_SHAPES)] for i in range(n)], limits=slots),
        p9.scale_linetype_manual(line_types(n), limits=slots),
        p9.scale_x_continuous(
            breaks=axis_breaks((span.low, span.high + 1e-9), room),
            minor_breaks=[],
            labels=tick_texts,
            limits=(span.left, span.right),
            expand=(0, 0),
        ),
        p9.scale_y_continuous(
            breaks=up_breaks((span.bottom, span.top), height),
            minor_breaks=[],
            labels=tick_texts,
            limits=(span.bottom, span.top),
            expand=(0, 0),
        ),
    ]


def _quantity(rows: pd.DataFrame, metric: str | None, names: Labels) -> str:
    """Title of the vertical axis: what `labels` calls the estimate, else the metric's mean."""
    given, own = names.column("estimate"), Labels().column("estimate")
    terms = distinct(rows, "term")
    return given if given != own else quantity(metric, str(terms[0]) if len(terms) == 1 else None, names)


def _best_note(larger: bool) -> str:
    """Sentence about the marks."""
    which = "largest" if larger else "smallest"
    return f"Large marks, numbers in brackets: threshold of the {which} value (the first of equal ones)."


def _bars_note(rows: pd.DataFrame) -> str:
    """Sentence about the bars, where there are some."""
    return interval_note(rows) if has_limits(rows).any() else ""
