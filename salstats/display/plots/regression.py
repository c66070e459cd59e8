"""Coefficients of regression models with their intervals."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError
from salstats.display.estimates import Estimates, check_distinct, read_estimates
from salstats.display.facts import count_sentence, interval_caption, not_drawn_sentence
from salstats.display.plots.decrease import reference_text
from salstats.display.plots.layout.captions import (
    axis_text,
    bars_on_log_axis,
    effect_text,
    is_ratio,
    scope_note,
)
from salstats.display.plots.layout.drawing import Drawing, drawn_rows, further_column
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.figure_rows import Rows, dodge_offsets, place_rows, row_layout
from salstats.display.plots.layout.legends import method_labels
from salstats.display.plots.layout.row_panels import row_figure
from salstats.display.plots.layout.text_fit import crossed, indented, short_labels, wrapped
from salstats.display.text.format import MINUS
from salstats.display.text.labels import Labels
from salstats.display.text.models import model_note, term_names
from salstats.display.text.terms import normalized_note, side_text, term_rows, with_reference_rows
from salstats.display.text.vocabulary import in_sentence
from salstats.stats.models.design import INTERCEPT
from salstats.stats.models.tidying import is_coefficient
from salstats.study import HUMAN

#: Panels side by side; more start a new line.
_MOST_COLUMNS = 3
#: With so few terms these are panels and the values of a further column rows; with more it is the reverse.
_FEW_TERMS = 3


@figures
def plot_regression(
    terms: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    intercept: bool = False,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Coefficients of regression models: terms as rows, models by colour and mark.

    Outcomes, the left sides of formulas, are panels. Models that differ in the method, or else in the
    right side of their formula, stand above each other in a row. Of models by one further column, such as
    tasks, up to three terms are panels with a row for each task; more terms are rows, and each task has a
    panel. Exponentiated estimates (odds ratios) stand on an axis of logarithms with a line at 1, others have
    a line at 0. A factor is a heading with its levels below it, the reference level (column
    `reference_level`) without a mark.

    Parameters
    ----------
    terms : DataFrame
        From `regress` or `tidy`: `term`, `estimate`, and what there is of `method`, `formula`,
        `reference`, `conf_low`, `conf_high`. Variances and other parameters (`effect`) are left out. Models
        of scores and of gaps (rows without and with a `reference`) have panels of their own. One further
        grouping column may have several values.
    labels : mapping, optional
        Names and order of terms, methods and outcomes, such as `{"area_ratio": "Relative size"}` or
        `{"term": ["elongation", "area_ratio"]}`.
    intercept : bool
        Draw the intercepts too.
    width : float, optional
        Width of the figure in mm; by default 183 with panels side by side, else 89.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` are the rows that are drawn, with `panel`, `row_label` and
        `y` (mm from the top).

    Raises
    ------
    ColumnError
        No column `estimate` or `term`, or one that should be numeric and is not.
    SalstatsError
        Only intercepts; estimates that are all missing; some exponentiated and some not; two rows for
        one place; more than one further grouping column.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> terms = ss.regress(scores, "iou ~ elongation + area_ratio", by="method")
    >>> figure = ss.plot_regression(terms)
    >>> figure.labels.x, sorted(set(figure.data["row_label"]))
    ('Coefficient, IoU (95% CI)', ['Elongation', 'Relative size'])
    """
    coefficients = read_estimates(terms, "terms", ("estimate", "term"))
    coefficients = coefficients.where(is_coefficient(coefficients.frame))
    if not intercept:
        coefficients = coefficients.where(coefficients.frame["term"] != INTERCEPT)
        if not len(coefficients):
            raise SalstatsError("terms holds only intercepts; pass intercept=True to draw them")
    ratio, cut = is_ratio(coefficients), ""
    if ratio:
        coefficients, cut = bars_on_log_axis(coefficients)
    named = Labels(labels, coefficients.frame)
    drawing = _prepare(coefficients, named)
    placed, rows, below = _place(drawing) if drawing.row == "term" else (*place_rows(drawing), False)
    guides = placed[["panel"]].drop_duplicates().assign(guide=1.0 if ratio else 0.0)
    pages = row_figure(
        placed,
        rows,
        x_title=_axis_title(drawing, ratio),
        notes=[
            scope_note(placed, named, [c for c in ("task",) if c != drawing.row]),
            model_note(drawing.estimates, named),
            interval_caption(drawing.estimates),
            count_sentence(drawing.estimates, "observation", "incomplete"),
            normalized_note(placed, named),
            _gap_note(drawing.estimates, named),
            # where terms are rows the reference is one of them
            "" if drawing.row == "term" else term_names(placed, [*coefficients.keys, "formula"], named)[1],
            cut,
            drawing.missing,
        ],
        guides=guides,
        methods=drawing.methods,
        references=drawing.references,
        labels=drawing.labels,
        n_columns=_n_columns(drawing),
        width=width,
        log=ratio,
        # the panels of one outcome are compared
        common=drawing.facet is not None and placed["outcome"].nunique() == 1,
    )
    left = p9.theme(axis_text_y=p9.element_text(ha="left", ma="left"))
    return [page + left for page in pages] if below else pages


def _place(drawing: Drawing) -> tuple[pd.DataFrame, Rows, bool]:
    """Frame with `y` and `row_label`, the rows, and whether some stand below a heading."""
    frame = drawing.frame
    drawn = set(frame["term"])
    entries = term_rows(with_reference_rows(frame, [*drawing.estimates.keys, "formula"]), drawing.labels)
    texts = [
        wrapped(row.text if row.term is None or row.term in drawn else f"{row.text} (reference)")
        for row in entries
    ]
    n_marks = len(drawing.methods) if drawing.dodges else 1
    rows = row_layout(
        [row.term or (row.text,) for row in entries],
        [indented(text) if row.level else text for row, text in zip(entries, texts, strict=True)],
        [n_marks if row.term in drawn else 1 for row in entries],
        heads=[not row.level for row in entries],
    )
    y = rows.centres_of(frame["term"])
    if drawing.dodges:
        y = y + dodge_offsets(frame["method_label"].cat.codes, n_marks)
    whole = {row.term: row.whole for row in entries}
    labelled = frame.assign(y=y, row_label=frame["term"].map(whole))
    return labelled, rows, any(row.level for row in entries)


def _prepare(coefficients: Estimates, labels: Labels) -> Drawing:
    """Make coefficients ready for a figure: models as marks, outcomes as panels."""
    groups = [key for key in coefficients.keys if key != "reference"]
    column = next((c for c in ("method", "model") if c in groups), None)
    others = [c for c in groups if c != column]
    facet = further_column(coefficients, others, column or "the term")
    frame = coefficients.frame.copy()
    formulas = frame["formula"].fillna("") if coefficients.values("formula") else [""] * len(frame)
    sides = [[side.strip() for side in str(formula).partition("~")[::2]] for formula in formulas]
    frame["outcome"] = [labels.term(left) if left else "" for left, _ in sides]
    frame["right"] = [right for _, right in sides]
    if _some_are_gaps(coefficients):
        # scores and gaps in one frame are different outcomes, each with a panel
        gap = frame["reference"].notna()
        names = frame.loc[gap, "reference"].map(lambda r: in_sentence(labels.value("reference", r)))
        frame.loc[gap, "outcome"] += ": gap to " + names
    place = [*groups, "outcome", "term"]
    by_formula = bool(frame.duplicated(place).any()) and frame["right"].nunique() > 1
    check_distinct(coefficients.with_frame(frame), [*place, "formula"] if by_formula else place)
    frame["term_label"] = frame["term"].map({row.term: row.whole for row in term_rows(frame, labels)})
    estimates = replace(coefficients, frame=frame)
    missing = not_drawn_sentence(estimates, labels, [*groups, "outcome", "term_label"])
    kept = drawn_rows(estimates)
    said, outcomes = term_names(kept, [*groups, "formula"], labels)[0], kept["outcome"].unique()
    whole = {term: ": ".join(filter(None, parts)) for term, parts in said.items()}
    # one outcome stands at the axis
    texts: dict[str, dict[Any, str]] = {"outcome": {o: o for o in outcomes}} if len(outcomes) > 1 else {}
    row = "term"
    if facet and len(whole) <= _FEW_TERMS:
        row, facet = facet, None
        texts |= {"term": whole} if len(whole) > 1 else {}
    elif facet:
        texts = {facet: labels.texts(facet, kept[facet])} | texts
    kept["panel"] = crossed(kept, texts)
    keys, marks_of = _models(kept, labels, column, by_formula)
    if marks_of:
        shown = [marks_of[key] for key in keys]
        kept["method_label"] = pd.Categorical(shown, categories=list(marks_of.values()), ordered=True)
    term = next(iter(whole.values())) if len(whole) == 1 else None
    return Drawing(estimates, kept, labels, row, facet, term, marks_of, [HUMAN], missing)


def _some_are_gaps(coefficients: Estimates) -> bool:
    """Return whether there are models of scores and models of gaps to a reference."""
    references = coefficients.values("reference")
    return bool(references) and bool(coefficients.frame["reference"].isna().any())


def _models(
    frame: pd.DataFrame, labels: Labels, column: str | None, by_formula: bool
) -> tuple[list[str], dict[str, str]]:
    """Each row's model, and the legend's text of each; none where there is one without a name.

    Models are told apart by a column, and where terms repeat by the right side of their formulas.
    """
    names = [""] * len(frame) if column is None else [str(v) for v in frame[column]]
    if not by_formula:
        if column == "method":
            return names, method_labels(labels, names, [HUMAN])
        return names, {} if column is None else short_labels(labels, column, names, 32, 2)
    keys = list(frame["right"])
    shown = {right: side_text(f"y ~ {right}", labels) for right in keys}
    if len(set(names)) > 1:
        keys = [f"{name}: {right}" for name, right in zip(names, keys, strict=True)]
        order = labels.order(str(column), names)
        pairs = sorted(zip(names, frame["right"], keys, strict=True), key=lambda p: order.index(p[0]))
        shown = {key: f"{labels.value(str(column), name)}: {shown[right]}" for name, right, key in pairs}
    texts = Labels({"model": shown})
    return keys, short_labels(texts, "model", keys, 32, 2)


def _n_columns(drawing: Drawing) -> int:
    """Panels side by side: the terms of an outcome, or lines of panels as even as can be, four two by two."""
    n_terms = drawing.frame["term"].nunique()
    if drawing.row != "term" and n_terms > 1:
        return n_terms
    return math.ceil(drawing.n_panels / math.ceil(drawing.n_panels / _MOST_COLUMNS))


def _axis_title(drawing: Drawing, ratio: bool) -> str:
    """Axis's title: what the coefficients are, of which term where no row says it, and of which outcome."""
    effect = effect_text(drawing.estimates, ratio)
    if drawing.term and drawing.row != "term":
        effect += f" of {drawing.term}"
    outcomes = [outcome for outcome in drawing.estimates.values("outcome") if outcome]
    if len(outcomes) == 1:
        effect += f", {outcomes[0]}"
    return axis_text(effect, drawing.estimates)


def _gap_note(coefficients: Estimates, labels: Labels) -> str:
    """Say that the outcome is a gap to a reference."""
    if not coefficients.values("reference"):
        return ""
    what = "Gap" if _some_are_gaps(coefficients) else "Outcome"
    return f"{what}: {reference_text(coefficients, labels)} {MINUS} method."
