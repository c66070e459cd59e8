"""Estimates with their intervals per task and method, one panel per metric."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import ColumnError, SalstatsError, check_choice, quoted
from salstats.display.estimates import Estimates, check_distinct, read_estimates
from salstats.display.facts import count_sentence, interval_caption
from salstats.display.plots.decrease import (
    check_contrasts,
    contrast_title,
    loss_order,
    significance_rule,
    sorted_note,
)
from salstats.display.plots.layout.captions import axis_text, margin_notes
from salstats.display.plots.layout.drawing import Drawing, guide_lines, margin_lines, prepare, quantity
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.figure_rows import place_rows
from salstats.display.plots.layout.row_panels import row_figure
from salstats.display.text.format import STYLES, fixed_text
from salstats.display.text.labels import Labels
from salstats.display.text.margins import pairs_as_methods
from salstats.display.text.models import is_marginal, marginal_text
from salstats.display.text.vocabulary import CONTRASTS
from salstats.metrics.registry import direction

SORTS = ("auto", "decrease", "estimate", "labels")
#: Panels side by side; more start a new line.
_MOST_COLUMNS = 3


@figures
def plot_intervals(
    estimates: pd.DataFrame,
    *,
    decrease: pd.DataFrame | None = None,
    auroc: pd.DataFrame | None = None,
    method: str | None = None,
    reference: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    sort: str = "auto",
    style: str = "nature",
    width: float | None = None,
) -> list[p9.ggplot]:
    """Estimates with their intervals: tasks as rows, methods by colour and mark, metrics as panels.

    With `decrease` and `auroc` it is Fig. 2 of saporta2022: tasks stand by significance and then by size of
    the decrease from the human benchmark, each with the AUROC of the classifier.

    Parameters
    ----------
    estimates : DataFrame
        From `summarize`, or any estimates frame of one term (of `mrmc`'s its means), grouped by any of
        `task`, `method`, `metric` and one further column, whose values become panels. Without `task` the
        first other grouping column, else the methods, are the rows. Intervals are drawn where there are
        any.
    decrease : DataFrame, optional
        From `percent_decrease` or `difference`: orders the tasks by the verdict (below the reference,
        inconclusive, above it) and then by the size of the loss, in its first metric.
    auroc : DataFrame, optional
        From `auroc(by="task")`: the estimate stands in parentheses after each task's name.
    method : str, optional
        The compared method of `decrease` that orders the tasks; by default its first.
    reference : str, optional
        The method drawn as black diamonds; by default that of `decrease`, else "human".
    labels : mapping, optional
        Names and order of tasks, methods and metrics, such as `{"gradcam": "Grad-CAM"}` or
        `{"task": ["Edema", "Atelectasis"]}`. Every figure takes colours of methods here too:
        `{"colours": {"gradcam": "#004488"}}`.
    sort : {"auto", "decrease", "estimate", "labels"}
        By `decrease`; by the estimate of the first metric and method, the best first, of an unknown metric
        the largest; in the labels' order. By default by `decrease` where it is given, else by labels.
    style : {"nature", "radiology", "ama", "brackets"}
        How numbers are written.
    width : float, optional
        Width of the figure in mm; by default 183 with panels side by side, else 89.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` are the rows that are drawn, with `panel`, `row_label` and
        `y` (mm from the top). "Overall" and "Average" stand last, set apart.

    Raises
    ------
    ColumnError
        No column `estimate`, or one that is not numeric.
    SalstatsError
        Several terms; estimates that are all missing; two rows for one place; more than one further
        grouping column; a `decrease` or `auroc` of other tasks; an unknown option or method.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> means = ss.summarize(scores, by=["metric", "method", "task"], n_replicates=100)
    >>> decrease = ss.percent_decrease(scores, reference="human", n_replicates=100)
    >>> areas = ss.auroc(scores, "prob", "label", by="task")
    >>> figure = ss.plot_intervals(means, decrease=decrease, auroc=areas)
    >>> list(figure.data["panel"].cat.categories)
    ['Mean IoU', 'Hit rate']
    """
    check_choice(sort, SORTS, "sort")
    check_choice(style, tuple(STYLES), "style")
    contrasts = None if decrease is None else check_contrasts(decrease)
    means = read_estimates(estimates).of_term("mean")
    if reference is None and contrasts is not None:
        reference = _reference(contrasts, means)
    named = Labels(labels, means.frame)
    drawing = prepare(pairs_as_methods(means, named), named, reference)
    order, how = None, ""
    if sort == "estimate":
        order = _by_estimate(drawing)
    elif sort == "decrease" or (sort == "auto" and contrasts is not None):
        order, how = _by_decrease(drawing, contrasts, method, style)
    suffixes = {} if auroc is None else _areas(drawing, auroc)
    frame, rows = place_rows(drawing, order, suffixes)
    guides = guide_lines(frame, drawing.term)
    chance = "Grey line: chance." if guides["guide"].gt(0).any() else ""
    areas = "In parentheses: AUROC of the classifier." if suffixes else ""
    return row_figure(
        frame,
        rows,
        x_title=_axis_title(drawing),
        notes=[
            interval_caption(drawing.estimates),
            count_sentence(drawing.estimates),
            how,
            areas,
            chance,
            *margin_notes(drawing.estimates, drawing.labels, style, marked=False),
            drawing.missing,
        ],
        guides=guides,
        margins=margin_lines(drawing.estimates, frame),
        methods=drawing.methods,
        references=drawing.references,
        labels=drawing.labels,
        legend=drawing.dodges,
        n_columns=_n_columns(drawing),
        width=width,
        # models or seeds of one metric are compared across panels
        common=drawing.facet is not None and len(drawing.estimates.values("metric")) <= 1,
    )


def _reference(contrasts: Estimates, means: Estimates) -> str | None:
    """Return the reference of the contrasts where the estimates have it as a method."""
    reference = contrasts.single("reference")
    return str(reference) if reference in means.values("method") else None


def _by_decrease(
    drawing: Drawing, contrasts: Estimates | None, method: str | None, style: str
) -> tuple[Any, str]:
    """Return what sorts the rows by the decrease, and the sentence that says so."""
    row, labels = drawing.row, drawing.labels
    if contrasts is None:
        raise SalstatsError("sort='decrease' needs decrease=, a frame from percent_decrease()")
    _check_rows(drawing, contrasts, "percent_decrease")
    further = [key for key in contrasts.keys if key not in (row, "metric", "method")]
    several = [key for key in further if len(contrasts.values(key)) > 1]
    if several:
        raise SalstatsError(f"decrease has several values of {quoted(several)}; keep one to sort by")
    methods = labels.order("method", contrasts.values("method"))
    if method is not None and method not in methods:
        raise SalstatsError(f"method={method!r} is not compared in decrease ({quoted(methods)})")
    # rows that are methods each have their own
    method = method or (None if row == "method" else next(iter(methods), None))
    order = loss_order(contrasts, labels, str(row), method)
    rule = significance_rule(contrasts, style)
    by = f"significance ({rule}), then size," if rule else "size"
    return order, sorted_note(contrasts, labels, by, method)


def _by_estimate(drawing: Drawing) -> Any:
    """What sorts the rows by the estimate of the first metric and method, the best first."""
    frame, row, labels = drawing.frame, drawing.row, drawing.labels
    for column in (c for c in ("metric", "method") if c in frame.columns and c != row):
        order = list(drawing.methods) if column == "method" else labels.order(column, frame[column])
        frame = frame[frame[column] == order[0]]
    sign = 1 if "metric" in frame.columns and direction(frame["metric"].iloc[0]) < 0 else -1
    sizes = dict(zip(frame[row], sign * frame["estimate"], strict=True)) if row else {}
    return lambda values: sorted(values, key=lambda v: sizes.get(v, np.inf))


def _areas(drawing: Drawing, auroc: object) -> dict[Any, str]:
    """What follows the label of each task: its AUROC in parentheses."""
    areas = read_estimates(auroc, "auroc")
    row = _check_rows(drawing, areas, "auroc")
    check_distinct(areas, [row])
    area_of = dict(zip(areas.frame[row], areas.numbers("estimate"), strict=True))
    return {value: f"({fixed_text(area, 2)})" for value, area in area_of.items() if not np.isnan(area)}


def _check_rows(drawing: Drawing, others: Estimates, source: str) -> str:
    """Return the column of the figure's rows, which other estimates have to share."""
    row, name = drawing.row, others.name
    if row is None:
        raise SalstatsError(f"{name} belongs to tasks, and estimates have no column 'task'")
    values = others.values(row)
    if not values:
        raise ColumnError(
            f"{name} has no column {row!r}, which names the rows; use {source}(..., by={row!r})"
        )
    if not set(values) & set(drawing.frame[row]):
        raise SalstatsError(f"{name} and estimates share no {row}: {quoted(values)}")
    return row


def _axis_title(drawing: Drawing) -> str:
    """Axis's title: what it shows, or the statistic where the panels say of what."""
    estimates, labels = drawing.estimates, drawing.labels
    if drawing.term in CONTRASTS:
        return contrast_title(estimates, labels, drawing.term)
    if is_marginal(estimates):
        return axis_text(marginal_text(estimates, labels), estimates)
    return axis_text(quantity(estimates.single("metric"), drawing.term, labels), estimates)


def _n_columns(drawing: Drawing) -> int:
    """How many panels stand side by side: those of one value of the further column."""
    metrics = len(drawing.estimates.values("metric")) if drawing.facet else drawing.n_panels
    if drawing.facet and metrics == 1:
        # three panels fit side by side, four make a square
        return 2 if drawing.n_panels in (2, 4) else _MOST_COLUMNS
    return min(max(metrics, 1), _MOST_COLUMNS)
