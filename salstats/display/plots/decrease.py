"""Forest of the decrease, or difference, of methods from a reference."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_choice, check_count, warn
from salstats.display.plots.captions import (
    distinct,
    has_limits,
    interval_note,
    margin_notes,
    p_below,
    significance_level,
    with_ci,
)
from salstats.display.plots.estimates import check_estimates, guide_lines, margin_lines, prepare
from salstats.display.plots.figure import figures
from salstats.display.plots.figure_rows import place_rows
from salstats.display.plots.legends import looks
from salstats.display.plots.row_panels import figure_width, fitting_rows, row_figure
from salstats.display.plots.theme import PALETTE
from salstats.display.tables.marks import is_adjusted
from salstats.display.tables.notes import count_note, tested_note
from salstats.display.tables.placement import rows_of_term
from salstats.display.text.format import MINUS, STYLES, interval_text, of_quantile, p_used
from salstats.display.text.labels import LAST, Labels
from salstats.display.text.margins import margin_marks, pairs_as_methods
from salstats.display.text.vocabulary import CONTRASTS, TERMS, in_sentence
from salstats.metrics.registry import direction
from salstats.stats.equivalence import split_verdicts

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
    named = Labels(labels, contrasts)
    drawing = prepare(pairs_as_methods(contrasts, named), "decrease", named)
    row, order = drawing.row, None
    first = next(iter(drawing.methods), None) if drawing.row != "method" else None
    if sort != "labels" and row:
        order = loss_order(drawing.frame, drawing.labels, row, first, by_verdict=sort == "significance")
    rule = significance_rule(drawing.frame, style)
    term, columns = drawing.term or "percent_decrease", {}
    if text:
        decimals = TERMS[term].digits if digits is None else check_count(digits, "digits", 0)
        heading = with_ci(TERMS[term].heading, drawing.frame)
        columns = {heading: interval_texts(drawing.frame, decimals, style)}
    if ncol is not None:
        warn("ncol= of plot_decrease() is n_columns= now", FutureWarning)
        n_columns = ncol
    if n_columns is None:
        n_columns = 1 if text else drawing.n_panels
    check_count(n_columns, "n_columns")
    panels = list(drawing.frame["panel"].cat.categories)
    width = width or figure_width(n_columns, panels)
    frame, rows, shown = fitting_rows(partial(place_rows, drawing, order, None), columns, width)
    frame["conclusive"] = verdicts(frame) != _UNDECIDED
    own = {m: look.colour for m, look in looks(drawing.methods, drawing.references, drawing.labels).items()}
    colours = frame["method"].astype(str).map(own) if own else PALETTE[0]
    frame["fill"] = np.where(frame["conclusive"], colours, "white")
    frame["last"] = frame[row].astype(str).isin(LAST) if row else False
    by = f"significance ({rule}), then size," if rule and sort == "significance" else "size"
    filled = f"Filled marks: {rule}; hollow marks: not." if rule else ""
    return row_figure(
        frame,
        rows,
        x_title=contrast_title(frame, drawing.labels, term),
        notes=[
            interval_note(frame, beside_p=True),
            filled,
            sorted_note(frame, drawing.labels, by, first) if order else "",
            count_note(frame, "pair", "incomplete"),
            tested_note(frame, None),
            *margin_notes(frame, drawing.labels, style, marked=text),
            drawing.missing,
        ],
        guides=guide_lines(frame, term),
        margins=margin_lines(frame),
        methods=drawing.methods,
        references=drawing.references,
        labels=drawing.labels,
        legend=drawing.dodges,
        columns=shown,
        n_columns=n_columns,
        width=width,
        common=term == "percent_decrease",
    )


def check_contrasts(decrease: object, name: str = "decrease") -> pd.DataFrame:
    """Copy of a frame of contrasts with a reference."""
    frame = rows_of_term(check_estimates(decrease, name), "difference")
    others = [str(t) for t in distinct(frame, "term") if t not in CONTRASTS]
    if others or "formula" in frame.columns:
        what = f"the term {others[0]!r}" if "formula" not in frame.columns else "coefficients of models"
        raise SalstatsError(
            f"{name} must come from percent_decrease() or difference(), not hold {what}; "
            "plot_intervals(), plot_forest() or plot_regression() may do"
        )
    return frame


def verdicts(frame: pd.DataFrame) -> pd.Series:
    """Side of each row's verdict: that of the column, else what interval and P value say."""
    if "verdict" in frame.columns:
        sides, _ = split_verdicts(frame["verdict"].fillna(_UNDECIDED))
        return pd.Series(sides, frame.index, dtype=str)
    sure = pd.Series(True, index=frame.index)
    if has_limits(frame).any():
        sure &= (frame["conf_low"] > 0) | (frame["conf_high"] < 0)
    p_values = pd.Series([p_used(row) for row in frame.to_dict("records")], index=frame.index)
    if p_values.notna().any():
        sure &= p_values < significance_level(frame)
    elif not has_limits(frame).any():
        sure &= False
    lower = losses(frame) > 0
    return lower.map({True: "lower", False: "higher"}).where(sure, _UNDECIDED)


def losses(frame: pd.DataFrame) -> pd.Series:
    """How far each row lies below the reference, in its own unit."""
    up = "term" in frame.columns and frame["term"].eq("difference").any()
    return -frame["estimate"] if up else frame["estimate"]


def loss_order(
    frame: pd.DataFrame, labels: Labels, row: str, method: str | None = None, *, by_verdict: bool = True
) -> Callable[[list[Any]], list[Any]]:
    """What sorts rows by loss, largest first, and before that by verdict if asked.

    The loss is that of the first metric and of one method; rows without one follow.
    """
    for column, kept in (("metric", _first(frame, labels, "metric")), ("method", method)):
        if kept is not None and column in frame.columns and column != row:
            frame = frame[frame[column] == kept]
    # of a metric that is better the smaller, what lies above the reference is the loss
    smaller = "metric" in frame.columns and direction(frame["metric"].iloc[0]) < 0
    sign = -1 if smaller else 1
    shown = verdicts(frame).replace({"lower": "higher", "higher": "lower"} if smaller else {})
    ranks = shown.map(_RANKS).fillna(_RANKS[_UNDECIDED]) * by_verdict
    places = dict(zip(frame[row], zip(ranks, -sign * losses(frame), strict=True), strict=True))
    return lambda values: sorted(values, key=lambda v: places.get(v, (np.inf, 0.0)))


def sorted_note(contrasts: pd.DataFrame, labels: Labels, by: str, method: object = None) -> str:
    """Sentence on rows that `loss_order` sorted."""
    metric = _first(contrasts, labels, "metric")
    what = "decrease" if "percent_decrease" in distinct(contrasts, "term") else "difference"
    of = f" in {labels.value('metric', metric)}" if metric else ""
    to = f" to {in_sentence(labels.value('method', method))}" if method else ""
    return f"Sorted by {by} of the {what}{of} from {reference_text(contrasts, labels)}{to}."


def _first(frame: pd.DataFrame, labels: Labels, column: str) -> Any:
    """Value of a column that stands first, None where there is no such column."""
    return labels.order(column, frame[column])[0] if column in frame.columns else None


def reference_text(frame: pd.DataFrame, labels: Labels) -> str:
    """Reference inside a sentence."""
    texts = [labels.value("reference", r) for r in distinct(frame, "reference")]
    return in_sentence(texts[0]) if len(texts) == 1 else "reference"


def contrast_title(frame: pd.DataFrame, labels: Labels, term: str) -> str:
    """Title of an axis of contrasts, with its unit."""
    reference = reference_text(frame, labels)
    if term == "percent_decrease":
        return f"Decrease from {reference} (%)"
    named = term.startswith(("median", "quantile"))
    what = of_quantile(TERMS[term].heading, frame) if named else "Difference"
    return f"{what}, method {MINUS} {reference}"


def interval_texts(frame: pd.DataFrame, digits: int, style: str) -> list[str]:
    """Estimate and interval of each row."""
    rows = zip(frame["estimate"], frame["conf_low"], frame["conf_high"], margin_marks(frame), strict=True)
    return [interval_text(estimate, low, high, digits, style, mark) for estimate, low, high, mark in rows]


def significance_rule(frame: pd.DataFrame, style: str) -> str:
    """What makes a contrast conclusive, empty where nothing does."""
    rules = ["interval excludes 0"] if has_limits(frame).any() else []
    if is_adjusted(frame):
        rules.append(f"adjusted {p_below(frame, style)}")
    elif "verdict" not in frame.columns and distinct(frame, "p_value"):
        rules.append(p_below(frame, style))
    return " and ".join(rules)
