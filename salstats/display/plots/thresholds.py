"""Threshold sweeps: the mean score of every task at each threshold, the best one marked."""

from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_count, check_frame, check_numeric, quoted
from salstats.display.estimates import Estimates, check_distinct, read_estimates
from salstats.display.facts import interval_caption, not_drawn_sentence
from salstats.display.plots.layout.axis_ticks import number_axes, tick_texts
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.drawing import barred_rows, drawn_rows, quantity
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.legends import group_scales
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import short_labels
from salstats.display.plots.layout.theme import COLUMN_MM, PAGE_MM, PALETTE
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.metrics.registry import direction

#: Tasks that share a single panel, and that share one of several: as many as there are colours.
_FEW_TASKS, _MOST_TASKS = 5, len(PALETTE)
#: Panels of a page side by side, and height of a panel over its width.
_MOST_COLUMNS, _SHARE = 3, 0.62


@figures
def plot_thresholds(
    sweep: pd.DataFrame, *, labels: Any = None, n_panels: int | None = None, width: float | None = None
) -> list[p9.ggplot]:
    """Figure of a threshold sweep: a line per task with its best threshold marked.

    Tasks stand in alphabetical order, or in that of `labels`, and share panels by halves, so that the lines
    can be told apart (extended data figure 1a of saporta2022). With one method the legend has each task's
    best threshold in brackets.

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
    Figure
        The figure, or its first page. Its `data` has a column `best`: the largest estimate of a task, at the
        smallest threshold where several are equal; the smallest estimate where the metric is known to be
        better so.

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
    names = Labels(labels, check_frame(sweep, "sweep"))
    estimates, note = _checked(sweep, names)
    metric = estimates.single("metric")
    rows = _in_panels(estimates.frame, names, n_panels)
    larger = metric is None or direction(metric) >= 0
    lines = rows.groupby(["panel", "task"], observed=True)["estimate"]
    # thresholds ascend, and the first of equal ones counts
    rows["best"] = rows.index.isin(lines.idxmax() if larger else lines.idxmin())
    texts = _legend_texts(rows, names)
    rows["name"] = pd.Categorical(rows["task"].map(texts), list(texts.values()), ordered=True)
    keys = list(rows["panel"].cat.categories)
    width = width if width is not None else COLUMN_MM if len(keys) == 1 else PAGE_MM
    grid = panel_grid(keys, 2 if len(keys) == 4 else _MOST_COLUMNS, width)
    height = grid.panel_height(_SHARE)
    barred = barred_rows(rows)
    sentences = [
        scope_note(rows, names, ["method"]),
        _best_note(estimates, larger),
        interval_caption(estimates) if len(barred) else "",
        note,
    ]
    several = rows.groupby(["panel", "name"], observed=True)["estimate"].transform("size") > 1
    limits = p9.aes(ymin="conf_low", ymax="conf_high")
    figure = (
        p9.ggplot(rows, p9.aes("threshold", "estimate", color="name", shape="name"))
        + ([p9.geom_linerange(limits, barred, size=0.3, alpha=0.6, show_legend=False)] if len(barred) else [])
        + p9.geom_line(p9.aes(linetype="name"), rows[several], size=0.5)
        + p9.geom_point(p9.aes(fill="name"), size=1.2, stroke=0)
        + p9.geom_point(
            p9.aes(fill="name"), rows[rows["best"]], size=1.8, stroke=0.4, color="black", show_legend=False
        )
        + group_scales(texts, (), ("color", "shape", "linetype", "fill"), grid.width, labels=names)
        + number_axes(grid.panel_width, height)
        + grid.look(
            height,
            x=names.column("threshold"),
            y=_quantity(estimates, names),
            notes=sentences,
            legend=list(texts.values()),
        )
    )
    return grid.pages(figure, height)


def _checked(sweep: pd.DataFrame, names: Labels) -> tuple[Estimates, str]:
    """Return the rows with an estimate, and a sentence about the others."""
    estimates = read_estimates(sweep, "sweep", ("estimate", "task", "threshold"))
    frame = estimates.frame
    frame["threshold"] = check_numeric(frame, "threshold", "sweep")
    keys = [c for c in ("method", "task", "threshold") if c in frame.columns]
    if frame[keys].isna().any(axis=None):
        raise SalstatsError(f"a row of sweep lacks {joined(keys, 'or')}; fill it or leave it out")
    metrics = estimates.values("metric")
    if len(metrics) > 1:
        raise SalstatsError(
            f"sweep holds {len(metrics)} metrics ({quoted(metrics)}), which share no axis; keep one of them"
        )
    check_distinct(estimates, keys)
    # a line without any value is named once
    lines = [c for c in keys[:-1] if c == "task" or frame[c].nunique() > 1]
    whole = frame.groupby(keys[:-1])["estimate"].transform("count") == 0
    placed = estimates.with_frame(frame.assign(at=frame["threshold"].map(str).mask(whole, "")))
    note = not_drawn_sentence(placed, names, [*lines, "at"])
    return estimates.with_frame(drawn_rows(estimates)), note


def _in_panels(frame: pd.DataFrame, names: Labels, n_panels: int | None) -> pd.DataFrame:
    """Rows with their `panel`, sorted: tasks of a method share panels as evenly as can be."""
    methods = [None] if "method" not in frame.columns else names.order("method", frame["method"])
    parts: list[pd.DataFrame] = []
    for method in methods:
        rows = frame if method is None else frame[frame["method"] == method]
        tasks = names.order("task", rows["task"])
        if n_panels is None:
            n = 1 if len(tasks) <= _FEW_TASKS else max(2, -(-len(tasks) // _MOST_TASKS))
        else:
            n = min(check_count(n_panels, "n_panels"), len(tasks))
        own = "" if len(methods) == 1 else names.value("method", method)
        for i, shared in enumerate(np.array_split(np.array(tasks, dtype=object), n)):
            title = ", ".join([*([own] if own else []), *([f"{i + 1} of {n}"] if n > 1 else [])])
            parts += [rows[rows["task"] == task].assign(panel=title) for task in shared]
    result = pd.concat([part.sort_values("threshold") for part in parts], ignore_index=True)
    result["panel"] = pd.Categorical(result["panel"], list(dict.fromkeys(result["panel"])), ordered=True)
    return result


def _legend_texts(rows: pd.DataFrame, names: Labels) -> dict[Any, str]:
    """Each task's label, with its best threshold unless there are several methods."""
    labels = short_labels(names, "task", rows["task"], 32, 1)
    if "method" in rows.columns and rows["method"].nunique() > 1:
        return labels
    best = rows[rows["best"]].set_index("task")["threshold"]
    return {task: f"{text} ({tick_texts([best[task]])[0]})" for task, text in labels.items()}


def _quantity(estimates: Estimates, names: Labels) -> str:
    """Return the title of the vertical axis: what `labels` calls the estimate, else the metric's mean."""
    given = names.column("estimate")
    if given != Labels().column("estimate"):
        return given
    metric, term = estimates.single("metric"), estimates.term
    if metric is not None and not estimates.values("term"):
        # a sweep that says no term has the mean at each threshold
        term = "mean"
    return quantity(metric, term, names)


def _best_note(estimates: Estimates, larger: bool) -> str:
    """Say what large marks are."""
    which = "largest" if larger else "smallest"
    numbers = "" if len(estimates.values("method")) > 1 else ", numbers in brackets"
    return f"Large marks{numbers}: threshold of the {which} value (the first of equal ones)."
