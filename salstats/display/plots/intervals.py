"""Estimates with their intervals by task and method, a panel for each metric."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice, quoted
from salstats.display.estimates import Estimates, check_rows_are_distinct, read_estimates
from salstats.display.facts import count_sentence, interval_caption
from salstats.display.plots.decrease import (
    contrast_axis_title,
    read_contrasts,
    row_order_note,
    significance_rule_text,
    sorter_by_loss,
)
from salstats.display.plots.layout.axis_limits import Limits, arrows_note, limits_of_cut_axes
from salstats.display.plots.layout.axis_sides import better_side_signs_by_panel
from salstats.display.plots.layout.captions import axis_title_text, margin_notes, scope_note
from salstats.display.plots.layout.estimate_drawing import (
    EstimateDrawing,
    margin_lines,
    no_effect_lines,
    prepared_drawing,
    quantity_label,
)
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.figure_rows import place_rows
from salstats.display.plots.layout.row_panels import row_figure
from salstats.display.tables.marks import better_sign
from salstats.display.text.format import STYLES, fixed_text
from salstats.display.text.labels import Labels
from salstats.display.text.margins import pairs_as_methods_if_several_references
from salstats.display.text.models import (
    has_marginal_estimates,
    marginal_estimates_heading,
    model_and_averaging_note,
    numeric_model_variables_with_one_value,
)
from salstats.display.text.vocabulary import CONTRASTS, TERMS
from salstats.errors import Call, ColumnError, Message, SalstatsError, Setting

SORTS = ("auto", "decrease", "estimate", "labels")
#: Most panels side by side.
_MAX_COLUMNS = 3
#: Decimals of a term that has no own number of decimals.
_DEFAULT_DIGITS = 3


@keep_call_in_figure
def plot_intervals(
    estimates: pd.DataFrame,
    *,
    decrease: pd.DataFrame | None = None,
    auroc: pd.DataFrame | None = None,
    method: str | None = None,
    reference: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    sort: str = "auto",
    limits: Limits | None = None,
    style: str = "nature",
    width: float | None = None,
) -> Figure:
    """Draw estimates with their intervals: tasks as rows, methods by colour and mark, metrics as panels.

    With `decrease` and `auroc` it is Fig. 2 of saporta2022: tasks stand by significance and then by size of
    the decrease from the human benchmark, each with the AUROC of the classifier.

    Parameters
    ----------
    estimates : DataFrame
        From `summarize`, or any estimates frame of one term (of a frame from `mrmc`, the means), grouped by
        any of `task`, `method`, `metric` and one further column, whose values become panels. Without `task`
        the first other grouping column, else the methods, are the rows. Intervals are drawn where there are
        any.
    decrease : DataFrame, optional
        From `percent_decrease` or `difference`: orders the tasks by the verdict (worse than the reference,
        inconclusive, better) and then by the size of the loss, in its first metric.
    auroc : DataFrame, optional
        From `auroc(by="task")`: the estimate stands in parentheses after each task's name.
    method : str, optional
        The compared method of `decrease` that orders the tasks; by default its first. Other orders of tasks
        do not use it.
    reference : str, optional
        The method drawn as black diamonds; by default that of `decrease`, else "human".
    labels : mapping, optional
        Names and order of tasks, methods and metrics, such as `{"gradcam": "Grad-CAM"}` or
        `{"task": ["Edema", "Atelectasis"]}`. Every figure takes colours of methods here too:
        `{"colours": {"gradcam": "#004488"}}`.
    sort : {"auto", "decrease", "estimate", "labels"}
        By `decrease`; by the estimate of the first metric and method, the best first, of an unknown metric
        the largest; in the labels' order. By default by `decrease` where it is given, else by labels.
    limits : pair of float or mapping, optional
        Ends of the axis of every panel, or by metric: `{"iou": (-0.4, 0.2)}`. A bar that goes on beyond them
        ends in an arrow; an estimate beyond them is an arrow alone. By default an axis of percentage
        decreases leaves out numbers more than ten times as far from 0 as half of its rows reach; other axes
        hold all numbers.
    style : {"nature", "radiology", "ama", "brackets"}
        How numbers are written.
    width : float, optional
        Width of the figure in mm; by default 183 with panels side by side, else 89.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` are the rows of all panels, including those without an
        estimate, with `panel`, `row_label` and `y` (in mm, 0 at the top and negative below).
        "Overall" and "Average" stand last, set apart.

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
    contrasts = None
    if decrease is not None:
        contrasts = read_contrasts(decrease)
    means = read_estimates(estimates).subset_of_term_if_mrmc("mean")
    if reference is None and contrasts is not None:
        reference = _reference_among_methods(contrasts, means)
    frame_labels = Labels(labels, means.frame)
    drawing = prepared_drawing(
        pairs_as_methods_if_several_references(means, frame_labels), frame_labels, reference
    )
    sort_values = None
    sort_note = ""
    if sort == "estimate":
        sort_values = _sorter_by_estimate(drawing)
    elif sort == "decrease" or (sort == "auto" and contrasts is not None):
        sort_values, sort_note = _row_sorter_by_verdict_loss_and_note(drawing, contrasts, method, style)
    suffixes = {}
    auroc_note = ""
    if auroc is not None:
        suffixes = _auroc_suffixes(drawing, read_estimates(auroc, "auroc"))
    if suffixes:
        auroc_note = "In parentheses: AUROC of the classifier."
    frame, rows = place_rows(drawing, sort_values, suffixes)
    axis_ends = limits_of_cut_axes(frame, limits, drawing.term)
    digits = _DEFAULT_DIGITS
    if drawing.term in TERMS:
        digits = TERMS[drawing.term].digits
    guides = no_effect_lines(drawing, drawing.term)
    chance_note = ""
    # a line at zero needs no explanation
    if guides["guide"].gt(0).any():
        chance_note = "Grey line: chance."
    unnamed_columns = numeric_model_variables_with_one_value(
        drawing.estimates, [drawing.row_column, drawing.facet_column]
    )
    return row_figure(
        frame,
        rows,
        x_title=_axis_title(drawing),
        notes=[
            interval_caption(drawing.estimates, labels=drawing.labels),
            arrows_note(frame, axis_ends, digits, style, names_beyond=True),
            scope_note(drawing.frame, drawing.labels, unnamed_columns),
            model_and_averaging_note(drawing.estimates, drawing.labels),
            count_sentence(drawing.estimates),
            sort_note,
            auroc_note,
            chance_note,
            *margin_notes(drawing.estimates, drawing.labels, style, has_marks=False),
            drawing.missing_note,
        ],
        guides=guides,
        margins=margin_lines(drawing.estimates, frame),
        sides=better_side_signs_by_panel(frame, drawing.term),
        limits=axis_ends,
        methods=drawing.methods,
        references=drawing.references,
        labels=drawing.labels,
        legend=drawing.dodges,
        n_columns=_n_columns(drawing),
        width=width,
        # panels of one metric, such as models or seeds, are compared with each other
        common_axis=drawing.facet_column is not None
        and len(drawing.estimates.distinct_values("metric")) <= 1,
    )


def _reference_among_methods(contrasts: Estimates, means: Estimates) -> str | None:
    """Return the reference of the contrasts if it is a method of the estimates."""
    reference = contrasts.only_non_missing_value("reference")
    if reference not in means.distinct_values("method"):
        return None
    return str(reference)


def _row_sorter_by_verdict_loss_and_note(
    drawing: EstimateDrawing, contrasts: Estimates | None, method: str | None, style: str
) -> tuple[Callable[[list[Any]], list[Any]], str]:
    """Return a function that sorts rows by their decrease, and the sentence on this order."""
    row_column = drawing.row_column
    labels = drawing.labels
    if contrasts is None:
        raise SalstatsError(
            Setting("sort", "decrease"),
            " needs ",
            Setting("decrease"),
            ", a frame from ",
            Call("percent_decrease"),
        )
    _shared_row_column(drawing, contrasts, "percent_decrease")
    further_keys = [key for key in contrasts.keys if key not in (row_column, "metric", "method")]
    varying_columns = [key for key in further_keys if len(contrasts.distinct_values(key)) > 1]
    if varying_columns:
        raise SalstatsError(
            f"decrease has several values of {quoted(varying_columns)}",
            hint="keep one to sort by",
            option="decrease",
            column=varying_columns[0],
        )
    methods = labels.order("method", contrasts.distinct_values("method"))
    if method is not None and method not in methods:
        raise SalstatsError(
            Setting("method", method), f" is not compared in decrease ({quoted(methods)})", choices=methods
        )
    # where methods are the rows, each has its own decrease
    if method is None and row_column != "method":
        method = next(iter(methods), None)
    sort_values = sorter_by_loss(contrasts, labels, str(row_column), method)
    rule = significance_rule_text(contrasts, style)
    criterion = "size"
    if rule:
        criterion = f"significance ({rule}), then size,"
    return sort_values, row_order_note(contrasts, labels, criterion, method)


def _sorter_by_estimate(drawing: EstimateDrawing) -> Callable[[list[Any]], list[Any]]:
    """Return a function that sorts the values of rows by their estimate, the best first.

    The estimates are those of the first metric and method; values without one are last. Where it is not known
    which estimates are better, the largest are first.
    """
    estimates = drawing.defined_estimates
    row_column = drawing.row_column
    if estimates.distinct_values("metric") and row_column != "metric":
        first_metric = drawing.labels.order("metric", estimates.frame["metric"])[0]
        estimates = estimates.subset(estimates.frame["metric"] == first_metric)
    if drawing.methods and row_column != "method":
        first_method = next(iter(drawing.methods))
        estimates = estimates.subset(estimates.frame["method"] == first_method)
    sort_keys = {}
    if row_column:
        records = zip(
            estimates.frame[row_column],
            estimates.numbers("estimate"),
            estimates.row_values("metric"),
            strict=True,
        )
        for value, estimate, metric in records:
            is_smaller_better = better_sign(metric, estimates.only_term) < 0
            sort_keys[value] = estimate if is_smaller_better else -estimate
    return lambda values: sorted(values, key=lambda value: sort_keys.get(value, np.inf))


def _auroc_suffixes(drawing: EstimateDrawing, areas: Estimates) -> dict[Any, str]:
    """Return the AUROC in parentheses for the label of each row that has one, by the row's value."""
    row_column = _shared_row_column(drawing, areas, "auroc")
    check_rows_are_distinct(areas, [row_column])
    area_of = dict(zip(areas.frame[row_column], areas.numbers("estimate"), strict=True))
    return {value: f"({fixed_text(area, 2)})" for value, area in area_of.items() if not np.isnan(area)}


def _shared_row_column(drawing: EstimateDrawing, further_estimates: Estimates, source: str) -> str:
    """Return the column of the figure's rows; raise unless further estimates share it and a value of it.

    `source` is the public function that makes the further estimates.
    """
    row_column = drawing.row_column
    name = further_estimates.name
    if row_column is None:
        raise SalstatsError(
            f"{name} belongs to tasks, and estimates have no column 'task'", option=name, column="task"
        )
    values = further_estimates.distinct_values(row_column)
    if not values:
        raise ColumnError(
            f"{name} has no column {row_column!r}, which names the rows",
            hint=Message("use ", Call(source, ("scores",), {"by": row_column})),
            option=name,
            column=row_column,
        )
    if not set(values) & set(drawing.frame[row_column]):
        raise SalstatsError(
            f"{name} and estimates share no {row_column}: {quoted(values)}",
            option=name,
            choices=values,
            column=row_column,
        )
    return row_column


def _axis_title(drawing: EstimateDrawing) -> str:
    """Return the title of the horizontal axis: the quantity with its metric, unless panels name this."""
    estimates = drawing.estimates
    labels = drawing.labels
    if drawing.term in CONTRASTS:
        return contrast_axis_title(estimates, labels, drawing.term)
    if has_marginal_estimates(estimates):
        return axis_title_text(marginal_estimates_heading(estimates, labels), estimates)
    return axis_title_text(
        quantity_label(estimates.only_non_missing_value("metric"), drawing.term, labels), estimates
    )


def _n_columns(drawing: EstimateDrawing) -> int:
    """Return the number of panels side by side: the metrics, or the values of the further column."""
    n_metrics = len(drawing.estimates.distinct_values("metric"))
    has_both = drawing.facet_column is not None and n_metrics > 1
    if has_both:
        # the metrics of a value stand in a row
        return min(n_metrics, _MAX_COLUMNS)
    if drawing.n_panels == 4:
        # four panels make a square
        return 2
    # as many as there are, and fit
    return _MAX_COLUMNS
