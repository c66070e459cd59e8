"""Forest of the decrease, or difference, of methods from a reference."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_choice, check_count, warn
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import (
    count_sentence,
    interval_caption,
    of_quantile,
    p_value_sentence,
    with_interval,
)
from salstats.display.plots.layout.captions import margin_notes, p_below, significance_level
from salstats.display.plots.layout.drawing import guide_lines, margin_lines, prepare
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.figure_rows import place_rows
from salstats.display.plots.layout.legends import looks
from salstats.display.plots.layout.row_panels import figure_width, fitting_rows, row_figure
from salstats.display.plots.layout.theme import PALETTE
from salstats.display.text.format import MINUS, STYLES, interval_text, p_used
from salstats.display.text.labels import LAST, Labels
from salstats.display.text.margins import margin_marks, pairs_as_methods
from salstats.display.text.vocabulary import CONTRASTS, TERMS, in_sentence
from salstats.metrics.registry import direction
from salstats.stats.engine.equivalence import split_verdicts

SORTS = ("size", "significance", "labels")
#: Order of verdicts where rows are sorted by them: what is surely worse stands first.
_RANKS = {"lower": 0, "inconclusive": 1, "higher": 2}
_UNDECIDED = "inconclusive"


@figures
def plot_decrease(
    decrease: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    sort: str = "size",
    text: bool = True,
    digits: int | None = None,
    style: str = "nature",
    n_columns: int | None = None,
    width: float | None = None,
    ncol: int | None = None,
) -> list[p9.ggplot]:
    """Forest of the decrease, or difference, of each task and method from the reference.

    Rows are tasks, methods stand above each other in a row, metrics are panels. A filled mark is
    conclusive, a hollow one is not; the average over tasks is a diamond in a last row set apart. Margins
    are dotted lines, and the text of what lies inside one ends with a dagger. Every two methods of several
    references are compared as "B vs A" or "B − A".

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
        (below the reference, inconclusive, above it) and then by size; or in the labels' order.
    text : bool
        Write estimate and interval beside each mark.
    digits : int, optional
        Decimals of the text; by default 1 for percent and 3 for a difference.
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
        The figure, or its first page. Its `data` are the rows that are drawn, with `panel`, `row_label`,
        `y` (mm from the top) and `conclusive`.

    Raises
    ------
    ColumnError
        No column `estimate`, or one that is not numeric.
    SalstatsError
        Another term; estimates that are all missing; two rows for one place; more than one further
        grouping column; an unknown option.

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
    check_choice(style, tuple(STYLES), "style")
    contrasts = check_contrasts(decrease)
    named = Labels(labels, contrasts.frame)
    drawing = prepare(pairs_as_methods(contrasts, named), named)
    drawn = drawing.estimates.where(drawing.estimates.defined)
    row, order = drawing.row, None
    first = next(iter(drawing.methods), None) if drawing.row != "method" else None
    if sort != "labels" and row:
        order = loss_order(drawn, drawing.labels, row, first, by_verdict=sort == "significance")
    rule = significance_rule(drawing.estimates, style)
    term, columns = drawing.term or "percent_decrease", {}
    if text:
        decimals = TERMS[term].digits if digits is None else check_count(digits, "digits", 0)
        heading = with_interval(TERMS[term].heading, drawing.estimates)
        columns = {heading: interval_texts(drawn, decimals, style)}
    if ncol is not None:
        warn("ncol= of plot_decrease() is n_columns= now", FutureWarning)
        n_columns = ncol
    if n_columns is None:
        n_columns = 1 if text else drawing.n_panels
    check_count(n_columns, "n_columns")
    panels = list(drawing.frame["panel"].cat.categories)
    width = width or figure_width(n_columns, panels)
    frame, rows, shown = fitting_rows(partial(place_rows, drawing, order, None), columns, width)
    frame["conclusive"] = verdicts(drawn).to_numpy() != _UNDECIDED
    own = {m: look.colour for m, look in looks(drawing.methods, drawing.references, drawing.labels).items()}
    colours = frame["method"].astype(str).map(own) if own else PALETTE[0]
    frame["fill"] = np.where(frame["conclusive"], colours, "white")
    frame["last"] = frame[row].astype(str).isin(LAST) if row else False
    by = f"significance ({rule}), then size," if rule and sort == "significance" else "size"
    filled = f"Filled marks: {rule}; hollow marks: not." if rule else ""
    return row_figure(
        frame,
        rows,
        x_title=contrast_title(drawing.estimates, drawing.labels, term),
        notes=[
            interval_caption(drawing.estimates, beside_p=True),
            filled,
            sorted_note(drawing.estimates, drawing.labels, by, first) if order else "",
            count_sentence(drawing.estimates, "pair", "incomplete"),
            p_value_sentence(drawing.estimates),
            *margin_notes(drawing.estimates, drawing.labels, style, marked=text),
            drawing.missing,
        ],
        guides=guide_lines(frame, term),
        margins=margin_lines(drawing.estimates, frame),
        methods=drawing.methods,
        references=drawing.references,
        labels=drawing.labels,
        legend=drawing.dodges,
        columns=shown,
        n_columns=n_columns,
        width=width,
        common=term == "percent_decrease",
    )


def check_contrasts(decrease: object, name: str = "decrease") -> Estimates:
    """Read a frame of contrasts with a reference."""
    contrasts = read_estimates(decrease, name).of_term("difference")
    others = [str(term) for term in contrasts.values("term") if term not in CONTRASTS]
    if others or contrasts.values("formula"):
        what = f"the term {others[0]!r}" if not contrasts.values("formula") else "coefficients of models"
        raise SalstatsError(
            f"{name} must come from percent_decrease() or difference(), not hold {what}; "
            "plot_intervals(), plot_forest() or plot_regression() may do"
        )
    return contrasts


def verdicts(contrasts: Estimates) -> pd.Series:
    """Return the side of each row's verdict: that of the column, else what interval and P value say."""
    frame = contrasts.frame
    if "verdict" in frame.columns:
        sides, _ = split_verdicts(frame["verdict"].fillna(_UNDECIDED))
        return pd.Series(sides, dtype=str)
    is_sure = np.ones(len(contrasts), dtype=bool)
    p_values = np.array([p_used(row) for row in frame.to_dict("records")])
    has_p_values = bool((~np.isnan(p_values)).any())
    if contrasts.limited.any():
        is_sure &= (contrasts.numbers("conf_low") > 0) | (contrasts.numbers("conf_high") < 0)
    if has_p_values:
        is_sure &= p_values < significance_level(contrasts)
    if not contrasts.limited.any() and not has_p_values:
        is_sure[:] = False
    sides = np.where(losses(contrasts) > 0, "lower", "higher")
    return pd.Series(np.where(is_sure, sides, _UNDECIDED), dtype=str)


def losses(contrasts: Estimates) -> np.ndarray:
    """Return how far each row lies below the reference, in its own unit."""
    sign = -1 if "difference" in contrasts.values("term") else 1
    return sign * contrasts.numbers("estimate")


def loss_order(
    contrasts: Estimates, labels: Labels, row: str, method: str | None = None, *, by_verdict: bool = True
) -> Callable[[list[Any]], list[Any]]:
    """Return what sorts rows by loss, largest first, and before that by verdict if `by_verdict`.

    The loss is that of the first metric and of one method; rows without one follow.
    """
    for column, kept in (("metric", _first(contrasts, labels, "metric")), ("method", method)):
        if kept is not None and contrasts.values(column) and column != row:
            contrasts = contrasts.where(contrasts.frame[column] == kept)
    sides, lost = verdicts(contrasts), losses(contrasts)
    metrics = contrasts.values("metric")
    if metrics and direction(metrics[0]) < 0:
        # of a metric that is better the smaller, what lies above the reference is the loss
        sides = sides.replace({"lower": "higher", "higher": "lower"})
        lost = -lost
    ranks = sides.map(_RANKS).fillna(_RANKS[_UNDECIDED]) * by_verdict
    places = dict(zip(contrasts.frame[row], zip(ranks, -lost, strict=True), strict=True))
    return lambda values: sorted(values, key=lambda v: places.get(v, (np.inf, 0.0)))


def sorted_note(contrasts: Estimates, labels: Labels, by: str, method: object = None) -> str:
    """Say how `loss_order` sorted the rows."""
    metric = _first(contrasts, labels, "metric")
    what = "decrease" if "percent_decrease" in contrasts.values("term") else "difference"
    of = f" in {labels.value('metric', metric)}" if metric else ""
    to = f" to {in_sentence(labels.value('method', method))}" if method else ""
    return f"Sorted by {by} of the {what}{of} from {reference_text(contrasts, labels)}{to}."


def _first(contrasts: Estimates, labels: Labels, column: str) -> Any:
    """Return the value of a column that stands first, None where it has none."""
    values = contrasts.values(column)
    return labels.order(column, contrasts.frame[column])[0] if values else None


def reference_text(contrasts: Estimates, labels: Labels) -> str:
    """Return the reference inside a sentence."""
    reference = contrasts.single("reference")
    return "reference" if reference is None else in_sentence(labels.value("reference", reference))


def contrast_title(contrasts: Estimates, labels: Labels, term: str) -> str:
    """Return the title of an axis of contrasts, with its unit."""
    reference = reference_text(contrasts, labels)
    if term == "percent_decrease":
        return f"Decrease from {reference} (%)"
    what = "Difference"
    if term.startswith(("median", "quantile")):
        what = of_quantile(TERMS[term].heading, contrasts)
    return f"{what}, method {MINUS} {reference}"


def interval_texts(estimates: Estimates, digits: int, style: str) -> list[str]:
    """Return estimate and interval of each row as text."""
    columns = (estimates.numbers(column) for column in ("estimate", "conf_low", "conf_high"))
    rows = zip(*columns, margin_marks(estimates), strict=True)
    return [interval_text(estimate, low, high, digits, style, mark) for estimate, low, high, mark in rows]


def significance_rule(contrasts: Estimates, style: str) -> str:
    """Return what makes a contrast conclusive, "" where nothing does."""
    rules = ["interval excludes 0"] if contrasts.limited.any() else []
    if contrasts.is_adjusted:
        rules.append(f"adjusted {p_below(contrasts, style)}")
    elif not contrasts.values("verdict") and contrasts.is_tested:
        rules.append(p_below(contrasts, style))
    return " and ".join(rules)
