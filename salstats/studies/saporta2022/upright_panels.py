"""Fig. 2 as it is printed: upright, tasks along the axis, each panel in the order of its own metric."""

import math
from collections.abc import Mapping

import pandas as pd
import plotnine as p9

from salstats.display.estimates import read_estimates
from salstats.display.facts import heading_with_interval, interval_caption
from salstats.display.plots.decrease import sorter_by_loss
from salstats.display.plots.layout.estimate_drawing import quantity_label
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.legends import (
    group_scales,
    legend_height_mm,
    method_labels_references_first,
)
from salstats.display.plots.layout.text_fit import (
    caption,
    caption_chars,
    caption_height_mm,
    text_width_mm,
    wrapped,
)
from salstats.display.plots.layout.theme import GUIDE, PAGE_MM, figure_size, theme_salstats
from salstats.display.text.format import fixed_text
from salstats.display.text.labels import SUMMARY_LABELS, Labels
from salstats.study import HUMAN

#: Letters of the panels by metric.
LETTERS = {"iou": "a", "hit": "b"}
#: Width of a task along the axis, for panels to stand side by side and for its name on two lines.
_TASK_MM = 6.4
#: Heights of a panel, of its title, and of the ticks below it.
_PANEL_MM = 45.0
_STRIP_MM = 5.0
_AXIS_MM = 3.0
#: Width of the axis to the left of a panel.
_LEFT_MM = 9.0
#: Margin of the figure.
_EDGE_MM = 1.5
#: Part of the distance between two tasks that the marks of one task share.
_DODGE = 0.55


@keep_call_in_figure
def plot_means_by_task_with_upright_names(
    means: pd.DataFrame,
    ordering_decrease: pd.DataFrame,
    auroc: pd.DataFrame | None,
    *,
    method: str,
    labels: Labels,
    width: float = PAGE_MM,
) -> Figure:
    """Plot means of a method and of people with their intervals, a panel for each metric.

    Parameters
    ----------
    means : DataFrame
        Means of the metrics `iou`, `hit` or both.
    ordering_decrease : DataFrame
        Decreases from people; tasks stand by the verdict and then the size of that of `method`, the average
        last.
    auroc : DataFrame, optional
        AUROC of the tasks, written in parentheses behind their names.
    method : str
        The saliency method.
    labels : Labels
        Names of all values.
    width : float
        Width of the figure in mm.
    """
    metrics = [metric for metric in LETTERS if metric in set(means["metric"])]
    estimates = read_estimates(means)
    titles = {}
    tasks_of_metric = {}
    for metric in metrics:
        title = heading_with_interval(quantity_label(metric, "mean", labels), estimates)
        titles[metric] = f"{LETTERS[metric]}  {title}"
        metric_decrease = read_estimates(ordering_decrease[ordering_decrease["metric"] == metric])
        order = sorter_by_loss(metric_decrease, labels, "task", method)
        tasks = list(means.loc[means["metric"] == metric, "task"].unique())
        ordered = (*order([task for task in tasks if task not in SUMMARY_LABELS]), *SUMMARY_LABELS)
        tasks_of_metric[metric] = [task for task in ordered if task in tasks]
    n_tasks = max(len(tasks) for tasks in tasks_of_metric.values())
    n_columns = 1
    n_rows = len(metrics)
    fits_side_by_side = len(metrics) * (n_tasks * _TASK_MM + _LEFT_MM) <= width
    if fits_side_by_side:
        n_columns = len(metrics)
        n_rows = 1
    task_width = (width / n_columns - _LEFT_MM) / n_tasks
    auroc_by_task: dict[str, float] = {}
    if auroc is not None:
        auroc_by_task = dict(
            zip(
                auroc["task"],
                auroc["estimate"],
                strict=True,
            )
        )
    # Names of the tasks stand upright below the axis, on two lines where there is room.
    max_chars = 40
    max_lines = 1
    if task_width >= _TASK_MM:
        max_chars = 25
        max_lines = 2
    axis_texts = {}
    for metric, tasks in tasks_of_metric.items():
        for task in tasks:
            text = _task_text(task, auroc_by_task, labels)
            axis_texts[f"{metric} {task}"] = wrapped(text, max_chars, max_lines)
    method_texts = method_labels_references_first(labels, means["method"], [HUMAN])
    positions = [f"{metric} {task}" for metric, task in zip(means["metric"], means["task"], strict=True)]
    marks = means.reset_index(drop=True).assign(
        at=pd.Categorical(positions, list(axis_texts), ordered=True),
        panel=pd.Categorical(means["metric"].map(titles), list(titles.values()), ordered=True),
        group=pd.Categorical(means["method"].map(method_texts), list(method_texts.values()), ordered=True),
    )
    notes = [
        interval_caption(estimates),
        "In each panel tasks stand by whether the interval of the decrease of its metric from "
        "the human benchmark excludes 0, then by the size of the decrease.",
    ]
    if auroc_by_task:
        notes.append("In parentheses: AUROC of the classifier.")
    note = caption(notes, caption_chars(width, 3))
    axis_height = max(map(text_width_mm, axis_texts.values())) + _AXIS_MM
    height = n_rows * (_STRIP_MM + _PANEL_MM + axis_height) + caption_height_mm(note)
    height += legend_height_mm(list(method_texts.values()), width) + 2 * _EDGE_MM
    dodge = p9.position_dodge(width=_DODGE)
    lines = _separators_before_average(marks)
    line_marks = []
    if len(lines):
        line_marks.append(p9.geom_vline(p9.aes(xintercept="at"), lines, color=GUIDE, size=0.4))
    return (
        Figure(marks, p9.aes("at", "estimate", color="group", shape="group"))
        + line_marks
        + p9.geom_linerange(
            p9.aes(ymin="conf_low", ymax="conf_high"),
            marks.dropna(subset=["conf_low", "conf_high"]),
            position=dodge,
            size=0.5,
            show_legend=False,
        )
        + p9.geom_point(position=dodge, size=1.5, stroke=0.2)
        + p9.facet_wrap("panel", ncol=n_columns, scales="free_x")
        + p9.scale_x_discrete(labels=lambda keys: [axis_texts[key] for key in keys])
        + p9.scale_y_continuous(limits=(0, None), minor_breaks=[], expand=(0, 0, 0.04, 0))
        + group_scales(method_texts, [HUMAN], width=width)
        + p9.labs(x="", y="", caption=note)
        + theme_salstats()
        + p9.theme(
            axis_title=p9.element_blank(),
            axis_text_x=p9.element_text(rotation=90, va="top", ma="right"),
            panel_spacing_x=_LEFT_MM / width,
            panel_spacing_y=3 / width,
            plot_margin=_EDGE_MM / width,
            plot_caption_position="plot",
            legend_box_spacing=1 / width,
        )
        + figure_size(width, height)
    )


def _task_text(task: str, auroc_by_task: Mapping[str, float], labels: Labels) -> str:
    """Write the name of a task, with its AUROC in parentheses where that is known."""
    name = labels.value("task", task)
    auroc = auroc_by_task.get(task, float("nan"))
    if math.isnan(auroc):
        return name
    return f"{name} ({fixed_text(auroc, 2)})"


def _separators_before_average(marks: pd.DataFrame) -> pd.DataFrame:
    """Return the position of a line before the average in each panel that has one: `panel, at`."""
    panels = []
    positions = []
    for panel, rows in marks.groupby("panel", observed=True):
        is_average = rows["task"].isin(SUMMARY_LABELS)
        if is_average.any():
            panels.append(panel)
            positions.append(rows.loc[~is_average, "task"].nunique() + 0.5)
    return pd.DataFrame(
        {
            "panel": pd.Categorical(panels, marks["panel"].cat.categories, ordered=True),
            "at": positions,
        }
    )
