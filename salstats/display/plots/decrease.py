"""Forest plot of the decrease, or difference, of methods from a reference."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_count
from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import (
    count_sentence,
    heading_with_interval,
    heading_with_quantile_level,
    interval_caption,
    p_value_sentence,
)
from salstats.display.plots.layout.axis_limits import Limits, arrows_note, limits_of_cut_axes
from salstats.display.plots.layout.axis_sides import better_side_signs_by_panel
from salstats.display.plots.layout.captions import margin_notes, p_below_level_text, significance_level
from salstats.display.plots.layout.empty_rows import NOT_DEFINED
from salstats.display.plots.layout.estimate_drawing import (
    EstimateDrawing,
    margin_lines,
    no_effect_lines,
    prepared_drawing,
)
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.figure_rows import place_rows
from salstats.display.plots.layout.legends import method_styles
from salstats.display.plots.layout.row_panels import (
    default_figure_width,
    fitting_rows_with_fewest_broken_words,
    row_figure,
)
from salstats.display.plots.layout.theme import PALETTE
from salstats.display.text.format import MINUS, STYLES, interval_text, p_value_adjusted_if_any
from salstats.display.text.labels import SUMMARY_LABELS, Labels
from salstats.display.text.margins import margin_marks, pairs_as_methods_if_several_references
from salstats.display.text.vocabulary import CONTRASTS, TERMS, method_label_in_sentence
from salstats.errors import Call, Message, SalstatsError, Setting, warn
from salstats.metrics.registry import direction
from salstats.stats.engine.equivalence import sides_and_claims

SORTS = ("size", "significance", "labels")
SCALES = ("linear", "log-ratio")
#: Decimals of ratios.
_RATIO_DIGITS = 2
#: Text in the row of a ratio that has no place on a logarithmic axis, and the sentence of the caption.
_NO_LOGARITHM = "no logarithm"
_RATIO_NOTE = "No logarithm: the ratio is 0 or less."
_INCONCLUSIVE = "inconclusive"
#: Order of verdicts, where larger scores are better: methods significantly below the reference are first.
_VERDICT_RANKS = {"lower": 0, _INCONCLUSIVE: 1, "higher": 2}


# a figure is put together layer by layer; the branches are its optional parts
@keep_call_in_figure
def plot_decrease(  # noqa: C901, PLR0912
    decrease: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    sort: str = "size",
    scale: str = "linear",
    limits: Limits | None = None,
    text: bool = True,
    digits: int | None = None,
    style: str = "nature",
    n_columns: int | None = None,
    width: float | None = None,
    ncol: int | None = None,
) -> Figure:
    """Draw a forest of the decrease, or difference, of each task and method from the reference.

    Rows are tasks, methods stand above each other in a row, metrics are panels, each with its own axis. Text
    below the axis says on which side of the reference a method is better, by the direction of the metric. A
    filled mark is conclusive, a hollow one is not; the average over tasks is a diamond in a last row set
    apart. Margins are dotted lines, and the text of what lies inside one ends with a dagger. A row without
    an estimate says so. Every two methods of several references are compared as "B vs A" or "B − A".

    Parameters
    ----------
    decrease : DataFrame
        From `percent_decrease` or `difference`, grouped by any of `task`, `method`, `metric` and one
        further column. Without `task` the first other grouping column, else the methods, are the rows.
    labels : mapping, optional
        Names and order of tasks, methods and metrics, such as `{"gradcam": "Grad-CAM"}` or
        `{"task": ["Edema", "Atelectasis"]}`.
    sort : {"size", "significance", "labels"}
        Rows by the size of the loss in the first metric of the first method, largest first; by verdict
        (worse than the reference, inconclusive, better) and then by size; or in the labels' order.
    scale : {"linear", "log-ratio"}
        Draw percentage decreases as they are, or as ratios of the means, method / reference, on a logarithmic
        axis: 1 - decrease / 100. A method of twice the mean is then as far from 1 as one of half of it. A
        ratio of 0 or less, a decrease of 100 % or more, has no logarithm, which its row says.
    limits : pair of float or mapping, optional
        Ends of the axis of every panel, or by metric: `{"iou": (-0.4, 0.2)}`. A bar that goes on beyond them
        ends in an arrow; an estimate beyond them is an arrow alone. By default an axis of percentage
        decreases leaves out numbers more than ten times as far from 0 as half of its rows reach; other axes
        hold all numbers.
    text : bool
        Write estimate and interval beside each mark.
    digits : int, optional
        Decimals of the text; by default 1 for percent, 2 for a ratio and 3 for a difference.
    style : {"nature", "radiology", "ama", "brackets"}
        How numbers are written.
    n_columns : int, optional
        Panels side by side; by default 1 with text, which fits 89 mm as well as 183 mm, else all.
    width : float, optional
        Width in mm that the text is laid out for, and the figure's own; by default 89 with panels below
        each other and 183 with panels side by side.
    ncol : int, optional
        Former name of `n_columns`, with a warning.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` are the rows of all panels, including those without an
        estimate, with `panel`, `row_label`, `y` (in mm, 0 at the top and negative below) and `conclusive`.
        With the scale "log-ratio" the numbers are the ratios.

    Raises
    ------
    ColumnError
        No column `estimate`, or one that is not numeric.
    SalstatsError
        Another term; estimates that are all missing; two rows for one place; more than one further
        grouping column; an unknown option; ratios of differences.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> decrease = ss.percent_decrease(scores, reference="human", average="task", n_replicates=100)
    >>> figure = ss.plot_decrease(decrease, labels={"Edema": "Pulmonary edema"})
    >>> figure.labels.x
    'Decrease from human benchmark (%)'
    """
    check_choice(sort, SORTS, "sort")
    check_choice(scale, SCALES, "scale")
    check_choice(style, tuple(STYLES), "style")
    contrasts = read_contrasts(decrease)
    frame_labels = Labels(labels, contrasts.frame)
    drawing = prepared_drawing(pairs_as_methods_if_several_references(contrasts, frame_labels), frame_labels)
    row_column = drawing.row_column
    sort_method = None
    if row_column != "method":
        # where methods are the rows, each has its own loss
        sort_method = next(iter(drawing.methods), None)
    sort_values = None
    if sort != "labels" and row_column:
        sort_values = sorter_by_loss(
            drawing.defined_estimates,
            drawing.labels,
            row_column,
            sort_method,
            by_verdict=sort == "significance",
        )
    # a frame without terms holds percentage decreases
    term = drawing.term or "percent_decrease"
    are_ratios = scale == "log-ratio"
    if are_ratios and term != "percent_decrease":
        raise SalstatsError(
            Setting("scale", scale),
            " needs percentage decreases",
            hint=Message("take ", Call("percent_decrease")),
        )
    heading = TERMS[term].heading
    default_digits = TERMS[term].digits
    written_estimates = drawing.panel_estimates
    if are_ratios:
        heading = "Ratio"
        default_digits = _RATIO_DIGITS
        written_estimates = written_estimates.with_other_frame(_as_ratios(written_estimates.frame))
    if digits is None:
        digits = default_digits
    check_count(digits, "digits", 0)
    columns = {}
    if text:
        columns[heading_with_interval(heading, drawing.estimates)] = estimate_with_interval_texts(
            written_estimates, digits, style
        )
    if ncol is not None:
        warn(FutureWarning("ncol= of plot_decrease() is n_columns= now"))
        n_columns = ncol
    if n_columns is None:
        n_columns = 1 if text else drawing.n_panels
    check_count(n_columns, "n_columns")
    panels = list(drawing.frame["panel"].cat.categories)
    width = width or default_figure_width(n_columns, panels)
    rows_for_chars = partial(place_rows, drawing, sort_values, None)
    frame, rows, fitted_columns = fitting_rows_with_fewest_broken_words(rows_for_chars, columns, width)
    frame["conclusive"] = lower_higher_or_inconclusive(drawing.panel_estimates).to_numpy() != _INCONCLUSIVE
    frame["fill"] = np.where(frame["conclusive"], _method_colours_of_marks(frame, drawing), "white")
    frame["last"] = False
    if row_column:
        frame["last"] = frame[row_column].astype(TEXT).isin(SUMMARY_LABELS)
    if are_ratios:
        drawn_contrasts = _drawn_ratios(frame, drawing, term)
    else:
        drawn_contrasts = _untransformed_contrasts_with_axis(frame, drawing, term)
    frame = drawn_contrasts.frame
    axis_ends = limits_of_cut_axes(frame, limits, term, log=are_ratios)
    rule = significance_rule_text(drawing.estimates, style, no_difference="1" if are_ratios else "0")
    fill_note = ""
    if rule:
        fill_note = f"Filled marks: {rule}; hollow marks: not."
    order_note = ""
    if sort_values:
        criterion = "size"
        if rule and sort == "significance":
            criterion = f"significance ({rule}), then size,"
        order_note = row_order_note(drawing.estimates, drawing.labels, criterion, sort_method)
    return row_figure(
        frame,
        rows,
        x_title=drawn_contrasts.title,
        notes=[
            interval_caption(drawing.estimates, labels=drawing.labels),
            arrows_note(frame, axis_ends, digits, style, names_beyond=not text),
            fill_note,
            order_note,
            count_sentence(drawing.estimates, "pair", "incomplete"),
            p_value_sentence(drawing.estimates, drawing.labels),
            *margin_notes(drawing.estimates, drawing.labels, style, has_marks=text),
            drawing.missing_note,
            drawn_contrasts.note,
        ],
        guides=drawn_contrasts.guides,
        margins=margin_lines(drawing.estimates, frame),
        sides=drawn_contrasts.sides,
        limits=axis_ends,
        methods=drawing.methods,
        references=drawing.references,
        labels=drawing.labels,
        legend=drawing.dodges,
        columns=fitted_columns,
        n_columns=n_columns,
        width=width,
        is_log=are_ratios,
    )


class _DrawnContrasts(NamedTuple):
    """Decreases, differences or ratios as they are drawn, with what belongs to their horizontal axis.

    `frame` has the numbers that are drawn, `sides` and `guides` are what `row_figure` takes, `title` is that
    of the axis, and `note` is a sentence of the caption or "".
    """

    frame: pd.DataFrame
    sides: pd.DataFrame
    guides: pd.DataFrame
    title: str
    note: str


def _untransformed_contrasts_with_axis(
    frame: pd.DataFrame, drawing: EstimateDrawing, term: str
) -> _DrawnContrasts:
    """Return decreases or differences as they are, with their axis."""
    return _DrawnContrasts(
        frame=frame,
        sides=better_side_signs_by_panel(frame, term),
        guides=no_effect_lines(drawing, term),
        title=contrast_axis_title(drawing.estimates, drawing.labels, term),
        note="",
    )


def _drawn_ratios(frame: pd.DataFrame, drawing: EstimateDrawing, term: str) -> _DrawnContrasts:
    """Return decreases as ratios of means with a logarithmic axis; ratios without a logarithm are NaN."""
    ratios = _as_ratios(frame)
    has_no_logarithm = ratios["estimate"] <= 0
    sides = better_side_signs_by_panel(frame, term)
    return _DrawnContrasts(
        frame=ratios.assign(
            estimate=ratios["estimate"].mask(has_no_logarithm),
            no_mark=np.where(has_no_logarithm, _NO_LOGARITHM, NOT_DEFINED),
        ),
        # a ratio above 1 is a decrease below 0
        sides=sides.assign(better=-sides["better"]),
        guides=no_effect_lines(drawing, term).assign(guide=1.0),
        title=f"Ratio of means, method / {reference_label_in_sentence(drawing.estimates, drawing.labels)}",
        note=_RATIO_NOTE if has_no_logarithm.any() else "",
    )


def _as_ratios(decreases: pd.DataFrame) -> pd.DataFrame:
    """Return percentage decreases, their limits and margins as ratios of the means, method / reference.

    The bounds of margins that have no logarithm are missing.
    """
    ratios = decreases.assign(
        estimate=1 - decreases["estimate"] / 100,
        conf_low=1 - decreases["conf_high"] / 100,
        conf_high=1 - decreases["conf_low"] / 100,
    )
    if {"margin_low", "margin_high"} <= set(decreases.columns):
        # the largest decrease inside a margin is the smallest ratio
        ratio_low = 1 - decreases["margin_high"] / 100
        ratio_high = 1 - decreases["margin_low"] / 100
        ratios["margin_low"] = ratio_low.where(ratio_low > 0)
        ratios["margin_high"] = ratio_high.where(ratio_high > 0)
    return ratios


def _method_colours_of_marks(frame: pd.DataFrame, drawing: EstimateDrawing) -> pd.Series | str:
    """Return the colour of the mark of each row, or of all marks if there are no methods."""
    styles = method_styles(drawing.methods, drawing.references, drawing.labels)
    if not styles:
        return PALETTE[0]
    colour_of = {method: style.colour for method, style in styles.items()}
    return frame["method"].astype(TEXT).map(colour_of)


def read_contrasts(contrasts_frame: object, name: str = "decrease") -> Estimates:
    """Read a frame of contrasts with a reference; raise if it holds anything else."""
    contrasts = read_estimates(contrasts_frame, name).subset_of_term_if_mrmc("difference")
    content = ""
    if contrasts.distinct_values("formula"):
        content = "coefficients of models"
    else:
        wrong_terms = [str(term) for term in contrasts.distinct_values("term") if term not in CONTRASTS]
        if wrong_terms:
            content = f"the term {wrong_terms[0]!r}"
    if content:
        raise SalstatsError(
            f"{name} must come from ",
            Call("percent_decrease"),
            " or ",
            Call("difference"),
            f", not hold {content}",
            hint=Message(
                "for other estimates use ",
                Call("plot_intervals"),
                ", ",
                Call("plot_forest"),
                " or ",
                Call("plot_regression"),
            ),
            option=name,
        )
    return contrasts


def lower_higher_or_inconclusive(contrasts: Estimates) -> pd.Series:
    """Return for each row whether the method is significantly "lower" or "higher" than the reference.

    Other rows are "inconclusive". The column `verdict` decides. Without this column a row is conclusive if
    its interval excludes 0 and its P value is below the level; if the frame has only one of the two, this
    decides, and with neither no row is conclusive.
    """
    if contrasts.distinct_values("verdict"):
        # claims, such as equivalence, say nothing of the side
        sides, _ = sides_and_claims(contrasts.frame["verdict"].fillna(_INCONCLUSIVE))
        return pd.Series(sides, dtype=TEXT)
    is_conclusive = np.ones(len(contrasts), dtype=bool)
    p_values = np.array([p_value_adjusted_if_any(row) for row in contrasts.frame.to_dict("records")])
    has_p_values = bool((~np.isnan(p_values)).any())
    has_limits = bool(contrasts.has_any_limit.any())
    if has_limits:
        is_conclusive &= (contrasts.numbers("conf_low") > 0) | (contrasts.numbers("conf_high") < 0)
    if has_p_values:
        is_conclusive &= p_values < significance_level(contrasts)
    if not has_limits and not has_p_values:
        is_conclusive[:] = False
    sides = np.where(decrease_from_reference(contrasts) > 0, "lower", "higher")
    return pd.Series(np.where(is_conclusive, sides, _INCONCLUSIVE), dtype=TEXT)


def decrease_from_reference(contrasts: Estimates) -> np.ndarray:
    """Return the decrease of each row from the reference, in the unit of its estimate."""
    terms = contrasts.distinct_values("term")
    # a frame without terms holds percentage decreases
    if not terms or "percent_decrease" in terms:
        return contrasts.numbers("estimate")
    # differences of means, medians and areas are method minus reference
    return -contrasts.numbers("estimate")


def sorter_by_loss(
    contrasts: Estimates,
    labels: Labels,
    row_column: str,
    method: str | None = None,
    *,
    by_verdict: bool = True,
) -> Callable[[list[Any]], list[Any]]:
    """Return a function that sorts the values of rows by loss, the largest first, values without one last.

    If `by_verdict`, rows are first sorted by verdict: worse than the reference, inconclusive, better than it.
    `row_column` is the column of the values. The loss is that of the first metric, and of one method if it is
    given; where smaller scores are better, it is the increase from the reference.
    """
    first_metric = _first_in_label_order(contrasts, labels, "metric")
    if row_column != "metric" and first_metric is not None:
        contrasts = contrasts.subset(contrasts.frame["metric"] == first_metric)
    if row_column != "method" and method is not None and contrasts.distinct_values("method"):
        contrasts = contrasts.subset(contrasts.frame["method"] == method)
    sides = lower_higher_or_inconclusive(contrasts)
    loss = decrease_from_reference(contrasts)
    metrics = contrasts.distinct_values("metric")
    # a larger area under the ROC curve is better whatever the metric
    are_areas = "auroc_difference" in contrasts.distinct_values("term")
    if metrics and direction(metrics[0]) < 0 and not are_areas:
        # where smaller scores are better, a score above the reference is a loss
        sides = sides.replace({"lower": "higher", "higher": "lower"})
        loss = -loss
    verdict_ranks = pd.Series(0, index=sides.index)
    if by_verdict:
        verdict_ranks = sides.map(_VERDICT_RANKS).fillna(_VERDICT_RANKS[_INCONCLUSIVE])
    sort_keys = {}
    for value, rank, row_loss in zip(contrasts.frame[row_column], verdict_ranks, loss, strict=True):
        if not np.isnan(row_loss):
            sort_keys[value] = (rank, -row_loss)
    last_key = (np.inf, 0.0)
    return lambda values: sorted(values, key=lambda value: sort_keys.get(value, last_key))


def row_order_note(contrasts: Estimates, labels: Labels, criterion: str, method: object = None) -> str:
    """Return a sentence on the order of rows that `sorter_by_loss` gives, by a criterion such as "size"."""
    metric = _first_in_label_order(contrasts, labels, "metric")
    quantity = "difference"
    if "percent_decrease" in contrasts.distinct_values("term"):
        quantity = "decrease"
    if metric:
        quantity += f" in {labels.value('metric', metric)}"
    comparison = f"from {reference_label_in_sentence(contrasts, labels)}"
    if method:
        comparison += f" to {method_label_in_sentence(labels.value('method', method))}"
    return f"Sorted by {criterion} of the {quantity} {comparison}."


def _first_in_label_order(contrasts: Estimates, labels: Labels, column: str) -> Any:
    """Return the first value of a column in the order of the labels, None if it has none."""
    if not contrasts.distinct_values(column):
        return None
    return labels.order(column, contrasts.frame[column])[0]


def reference_label_in_sentence(contrasts: Estimates, labels: Labels) -> str:
    """Return the label of the reference within a sentence."""
    reference = contrasts.only_non_missing_value("reference")
    if reference is None:
        return "reference"
    return method_label_in_sentence(labels.value("reference", reference))


def contrast_axis_title(contrasts: Estimates, labels: Labels, term: str) -> str:
    """Return the title of an axis of contrasts: "Decrease from human benchmark (%)".

    Where a mean is above that of the reference, it says that a decrease below 0 is an increase.
    """
    reference = reference_label_in_sentence(contrasts, labels)
    if term == "percent_decrease":
        unit = "%"
        if (contrasts.non_missing_numbers("estimate") < 0).any():
            unit += ", below 0: increase"
        return f"Decrease from {reference} ({unit})"
    difference = "Difference"
    if term.startswith(("median", "quantile")):
        difference = heading_with_quantile_level(TERMS[term].heading, contrasts)
    return f"{difference}, method {MINUS} {reference}"


def estimate_with_interval_texts(estimates: Estimates, digits: int | Sequence[int], style: str) -> list[str]:
    """Return estimate and interval of each row as text, with the mark of those inside a margin.

    `digits` are the decimals of all rows, or of each.
    """
    rows = zip(
        estimates.numbers("estimate"),
        estimates.numbers("conf_low"),
        estimates.numbers("conf_high"),
        np.broadcast_to(digits, len(estimates)).tolist(),
        margin_marks(estimates),
        strict=True,
    )
    texts = []
    for estimate, low, high, row_digits, mark in rows:
        texts.append(interval_text(estimate, low, high, row_digits, style, mark))
    return texts


def significance_rule_text(contrasts: Estimates, style: str, no_difference: str = "0") -> str:
    """Return the rule that makes a contrast conclusive, such as "interval excludes 0", "" without one.

    `no_difference` is the number that means no difference.
    """
    rules = []
    if contrasts.has_any_limit.any():
        rules.append(f"interval excludes {no_difference}")
    if contrasts.has_adjusted_p_values:
        rules.append(f"adjusted {p_below_level_text(contrasts, style)}")
    elif contrasts.has_p_values and not contrasts.distinct_values("verdict"):
        # a verdict rests on the interval alone, unless P values are adjusted
        rules.append(p_below_level_text(contrasts, style))
    return " and ".join(rules)
