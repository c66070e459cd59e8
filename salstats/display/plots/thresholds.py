"""Threshold sweeps: the mean score of each task at each threshold, with the best threshold marked."""

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_count, check_frame, check_numeric, quoted
from salstats.display.estimates import Estimates, check_rows_are_distinct, read_estimates
from salstats.display.facts import interval_caption, not_drawn_sentence
from salstats.display.plots.layout.axis_ticks import number_axes, tick_texts
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.estimate_drawing import (
    quantity_label,
    rows_with_both_limits,
    rows_with_estimate,
)
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.legends import group_scales
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import short_labels
from salstats.display.plots.layout.theme import COLUMN_MM, PAGE_MM, PALETTE
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.metrics.registry import direction

#: Most tasks of a single panel, and of one of several panels: as many as there are colours.
_MAX_SINGLE_PANEL_TASKS = 5
_MAX_PANEL_TASKS = len(PALETTE)
#: Characters of a task's label in the legend.
_LEGEND_CHARS = 32
#: Most panels side by side.
_MAX_COLUMNS = 3
#: Height of a panel as a multiple of its width.
_HEIGHT_TO_WIDTH = 0.62


class _EstimatesAndMissingNote(NamedTuple):
    """Rows of a sweep with an estimate, and a sentence that names the rows without one or ""."""

    estimates: Estimates
    missing_note: str


@keep_call_in_figure
def plot_thresholds(
    sweep: pd.DataFrame, *, labels: Any = None, n_panels: int | None = None, width: float | None = None
) -> Figure:
    """Draw a threshold sweep: a line per task with its best threshold marked.

    Tasks stand in alphabetical order, or in that of `labels`, and are divided among panels, so that the lines
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
        The figure, or its first page. Its `data` has a column `best`: whether a row has the largest estimate
        of its task, at the smallest threshold where several are equal; the smallest estimate if smaller
        values of the metric are known to be better.

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
    frame_labels = Labels(labels, check_frame(sweep, "sweep"))
    estimates, missing_note = _read_sweep(sweep, frame_labels)
    metric = estimates.only_non_missing_value("metric")
    larger_is_better = metric is None or direction(metric) >= 0
    rows = _sorted_rows_with_panels(estimates, frame_labels, n_panels)
    rows["best"] = _is_best_of_line(rows, larger_is_better)
    texts = _task_texts_in_legend(estimates, rows, frame_labels)
    rows["name"] = pd.Categorical(rows["task"].map(texts), list(texts.values()), ordered=True)
    panels = list(rows["panel"].cat.categories)
    if width is None:
        width = COLUMN_MM if len(panels) == 1 else PAGE_MM
    # four panels make a square
    n_columns = 2 if len(panels) == 4 else _MAX_COLUMNS
    grid = panel_grid(panels, n_columns, width)
    height = grid.panel_height(_HEIGHT_TO_WIDTH)
    rows_with_limits = rows_with_both_limits(rows)
    bar_layers: list[Any] = []
    interval_note = ""
    if len(rows_with_limits):
        limits = p9.aes(ymin="conf_low", ymax="conf_high")
        bar_layers.append(p9.geom_linerange(limits, rows_with_limits, size=0.3, alpha=0.6, show_legend=False))
        interval_note = interval_caption(estimates)
    notes = [
        scope_note(rows, frame_labels, ["method"]),
        _best_threshold_marks_note(estimates, larger_is_better),
        interval_note,
        missing_note,
    ]
    n_points = rows.groupby(["panel", "name"], observed=True)["estimate"].transform("size")
    best_mark = {"size": 1.8, "stroke": 0.4, "color": "black"}
    figure = (
        Figure(rows, p9.aes("threshold", "estimate", color="name", shape="name"))
        + bar_layers
        + p9.geom_line(p9.aes(linetype="name"), rows[n_points > 1], size=0.5)
        + p9.geom_point(p9.aes(fill="name"), size=1.2, stroke=0)
        + p9.geom_point(p9.aes(fill="name"), rows[rows["best"]], show_legend=False, **best_mark)
        + group_scales(texts, (), ("color", "shape", "linetype", "fill"), grid.width, labels=frame_labels)
        + number_axes(grid.panel_width, height)
        + grid.elements(
            height,
            x=frame_labels.column("threshold"),
            y=_y_title(estimates, frame_labels),
            notes=notes,
            legend=list(texts.values()),
        )
    )
    return grid.divided_into_pages(figure, height)


def _read_sweep(sweep: pd.DataFrame, labels: Labels) -> _EstimatesAndMissingNote:
    """Read a sweep; raise for several metrics, an empty key, or two rows of one line and threshold."""
    estimates = read_estimates(sweep, "sweep", ("estimate", "task", "threshold"))
    frame = estimates.frame
    frame["threshold"] = check_numeric(frame, "threshold", "sweep")
    key_columns = [column for column in ("method", "task", "threshold") if column in frame.columns]
    if frame[key_columns].isna().any(axis=None):
        has_gap = frame[key_columns].isna()
        raise SalstatsError(
            f"a row of sweep lacks {joined(key_columns, 'or')}",
            hint="fill it or leave it out",
            column=str(has_gap.any().idxmax()),
            rows=np.flatnonzero(has_gap.any(axis=1)).tolist(),
        )
    metrics = estimates.distinct_values("metric")
    if len(metrics) > 1:
        raise SalstatsError(
            f"sweep holds {len(metrics)} metrics ({quoted(metrics)}), which share no axis",
            hint="keep one of them",
            choices=map(str, metrics),
            column="metric",
        )
    check_rows_are_distinct(estimates, key_columns)
    line_columns = [column for column in key_columns if column != "threshold"]
    named_columns = [column for column in line_columns if column == "task" or frame[column].nunique() > 1]
    # a line without any estimate is named once, instead of once for each threshold
    is_empty_line = frame.groupby(line_columns)["estimate"].transform("count") == 0
    threshold_texts = frame["threshold"].map(str).mask(is_empty_line, "")
    with_texts = estimates.with_other_frame(frame.assign(at=threshold_texts))
    note = not_drawn_sentence(with_texts, labels, [*named_columns, "at"])
    defined = estimates.with_other_frame(rows_with_estimate(estimates))
    return _EstimatesAndMissingNote(defined, missing_note=note)


def _is_best_of_line(sweep_rows: pd.DataFrame, larger_is_better: bool) -> np.ndarray:
    """Return whether each row has the best estimate of its line, the first row if there are equal ones."""
    lines = sweep_rows.groupby(["panel", "task"], observed=True)["estimate"]
    best_rows = lines.idxmax() if larger_is_better else lines.idxmin()
    return sweep_rows.index.isin(best_rows)


def _sorted_rows_with_panels(estimates: Estimates, labels: Labels, n_panels: int | None) -> pd.DataFrame:
    """Return the rows of estimates with their `panel`, sorted by panel, task and threshold.

    The tasks of a method share its panels evenly; there are `n_panels` for each method, by default as many as
    keep lines apart.
    """
    frame = estimates.frame
    rows_of_method = {"": frame}
    if estimates.distinct_values("method"):
        rows_of_method = {}
        for method in labels.order("method", frame["method"]):
            rows_of_method[labels.value("method", method)] = frame[frame["method"] == method]
    task_frames: list[pd.DataFrame] = []
    for method_label, rows in rows_of_method.items():
        tasks = labels.order("task", rows["task"])
        n_task_panels = _n_panels_shared_by_tasks(len(tasks), n_panels)
        tasks_of_panels = np.array_split(np.array(tasks, dtype=object), n_task_panels)
        for number, panel_tasks in enumerate(tasks_of_panels, 1):
            title_parts = []
            if len(rows_of_method) > 1:
                title_parts.append(method_label)
            if n_task_panels > 1:
                title_parts.append(f"{number} of {n_task_panels}")
            for task in panel_tasks:
                task_rows = rows[rows["task"] == task].assign(panel=", ".join(title_parts))
                task_frames.append(task_rows.sort_values("threshold"))
    sorted_rows = pd.concat(task_frames, ignore_index=True)
    sorted_rows["panel"] = pd.Categorical(
        sorted_rows["panel"], list(dict.fromkeys(sorted_rows["panel"])), ordered=True
    )
    return sorted_rows


def _n_panels_shared_by_tasks(n_tasks: int, chosen_n_panels: int | None) -> int:
    """Return the number of panels that share the tasks of a method."""
    if chosen_n_panels is not None:
        return min(check_count(chosen_n_panels, "n_panels"), n_tasks)
    if n_tasks <= _MAX_SINGLE_PANEL_TASKS:
        return 1
    return max(2, math.ceil(n_tasks / _MAX_PANEL_TASKS))


def _task_texts_in_legend(estimates: Estimates, rows: pd.DataFrame, labels: Labels) -> dict[Any, str]:
    """Return the label of each task, with its best threshold in brackets unless there are several methods.

    `rows` are the rows of the estimates; `best` is whether a row has the best estimate of its line.
    """
    task_labels = short_labels(labels, "task", rows["task"], line_chars=_LEGEND_CHARS, max_lines=1)
    if len(estimates.distinct_values("method")) > 1:
        return task_labels
    best_thresholds = rows[rows["best"]].set_index("task")["threshold"]
    return {task: f"{label} ({_number_text(best_thresholds[task])})" for task, label in task_labels.items()}


def _number_text(number: float) -> str:
    """Return the text of a number, with as many decimals as it needs."""
    return tick_texts([number])[0]


def _y_title(estimates: Estimates, labels: Labels) -> str:
    """Return the title of the vertical axis: the user's label, else the mean of the metric."""
    user_label = labels.user_column_label("estimate")
    if user_label is not None:
        return user_label
    metric = estimates.only_non_missing_value("metric")
    term = estimates.only_term
    if metric is not None and not estimates.distinct_values("term"):
        # estimates of a sweep without a column `term` are means
        term = "mean"
    return quantity_label(metric, term, labels)


def _best_threshold_marks_note(estimates: Estimates, larger_is_better: bool) -> str:
    """Return a sentence on the large marks."""
    extreme = "largest" if larger_is_better else "smallest"
    marks = "Large marks"
    if len(estimates.distinct_values("method")) <= 1:
        marks += ", numbers in brackets"
    return f"{marks}: threshold of the {extreme} value (the first of equal ones)."
