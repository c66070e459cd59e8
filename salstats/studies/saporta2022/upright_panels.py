"""Fig. 2 as it is printed: upright, tasks along the axis, each panel in the order of its own metric."""

import pandas as pd
import plotnine as p9

from salstats.display.estimates import read_estimates
from salstats.display.facts import interval_caption, with_interval
from salstats.display.plots.decrease import loss_order
from salstats.display.plots.layout.estimate_drawing import quantity_label
from salstats.display.plots.layout.figure import plot_function
from salstats.display.plots.layout.legends import group_scales, legend_mm, method_labels
from salstats.display.plots.layout.text_fit import caption, caption_chars, caption_mm, text_mm, wrapped
from salstats.display.plots.layout.theme import GUIDE, PAGE_MM, figure_size, theme_salstats
from salstats.display.text.format import fixed_text
from salstats.display.text.labels import LAST, Labels
from salstats.study import HUMAN

#: The panel of each metric.
LETTERS = {"iou": "a", "hit": "b"}
#: Room that a task takes along the axis for panels to stand side by side, and for its name on two lines.
_SLOT_MM = 6.4
_PANEL_MM, _STRIP_MM, _AXIS_MM, _LEFT_MM, _EDGE_MM = 45.0, 5.0, 3.0, 9.0, 1.5
_DODGE = 0.55


@plot_function
def plot_upright(
    means: pd.DataFrame,
    decrease: pd.DataFrame,
    auroc: pd.DataFrame | None,
    *,
    method: str,
    labels: Labels,
    width: float = PAGE_MM,
) -> p9.ggplot:
    """Means of a method and of people with their intervals, a panel for each metric.

    `means` has the metrics `iou`, `hit` or both; tasks stand by the verdict and then the size of `decrease`
    in the panel's metric, with their AUROC in parentheses, and the average last.
    """
    metrics = [m for m in LETTERS if m in set(means["metric"])]
    titles = {
        m: f"{LETTERS[m]}  {with_interval(quantity_label(m, 'mean', labels), read_estimates(means))}"
        for m in metrics
    }
    areas = {} if auroc is None else dict(zip(auroc["task"], auroc["estimate"], strict=True))
    slots = max(means.loc[means["metric"] == m, "task"].nunique() for m in metrics)
    aside = len(metrics) * (slots * _SLOT_MM + _LEFT_MM) <= width
    room = (width / (len(metrics) if aside else 1) - _LEFT_MM) / slots
    names, keys = {}, []
    for metric in metrics:
        tasks = list(means.loc[means["metric"] == metric, "task"].unique())
        order = loss_order(read_estimates(decrease[decrease["metric"] == metric]), labels, "task", method)
        keys += [(metric, t) for t in (*order([t for t in tasks if t not in LAST]), *LAST) if t in tasks]
    for metric, task in keys:
        area = areas.get(task, float("nan"))
        shown = f"{labels.value('task', task)}{f' ({fixed_text(area, 2)})' if area == area else ''}"
        names[f"{metric} {task}"] = wrapped(shown, 25, 2) if room >= _SLOT_MM else wrapped(shown, 40, 1)
    texts = method_labels(labels, means["method"], [HUMAN])
    of_row = pd.Series([f"{m} {t}" for m, t in zip(means["metric"], means["task"], strict=True)])
    drawn = means.reset_index(drop=True).assign(
        at=pd.Categorical(of_row, list(names), ordered=True),
        panel=pd.Categorical(means["metric"].map(titles), list(titles.values()), ordered=True),
        group=pd.Categorical(means["method"].map(texts), list(texts.values()), ordered=True),
    )
    lines = _before_average(drawn)
    notes = [
        interval_caption(read_estimates(means)),
        "In each panel tasks stand by whether the interval of the decrease of its metric from "
        "the human benchmark excludes 0, then by the size of the decrease.",
        "In parentheses: AUROC of the classifier." if areas else "",
    ]
    note = caption(notes, caption_chars(width, 3))
    below = max(map(text_mm, names.values())) + _AXIS_MM
    n_rows = 1 if aside else len(metrics)
    height = n_rows * (_STRIP_MM + _PANEL_MM + below) + caption_mm(note)
    dodge = p9.position_dodge(width=_DODGE)
    return (
        p9.ggplot(drawn, p9.aes("at", "estimate", color="group", shape="group"))
        + (p9.geom_vline(p9.aes(xintercept="at"), lines, color=GUIDE, size=0.4) if len(lines) else [])
        + p9.geom_linerange(
            p9.aes(ymin="conf_low", ymax="conf_high"),
            drawn.dropna(subset=["conf_low", "conf_high"]),
            position=dodge,
            size=0.5,
            show_legend=False,
        )
        + p9.geom_point(position=dodge, size=1.5, stroke=0.2)
        + p9.facet_wrap("panel", ncol=len(metrics) if aside else 1, scales="free_x")
        + p9.scale_x_discrete(labels=lambda found: [names[key] for key in found])
        + p9.scale_y_continuous(limits=(0, None), minor_breaks=[], expand=(0, 0, 0.04, 0))
        + group_scales(texts, [HUMAN], width=width)
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
        + figure_size(width, height + legend_mm(list(texts.values()), width) + 2 * _EDGE_MM)
    )


def _before_average(drawn: pd.DataFrame) -> pd.DataFrame:
    """Place a line before the average of each panel that has one: `panel, at`."""
    lines = []
    for panel, rows in drawn.groupby("panel", observed=True):
        is_average = rows["task"].isin(LAST)
        if is_average.any():
            lines.append((panel, rows.loc[~is_average, "task"].nunique() + 0.5))
    panels = pd.Categorical([panel for panel, _ in lines], drawn["panel"].cat.categories, ordered=True)
    return pd.DataFrame({"panel": panels, "at": [at for _, at in lines]})
