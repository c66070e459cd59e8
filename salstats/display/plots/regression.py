"""Coefficients of regression models with their intervals."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
import plotnine as p9

from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, check_rows_are_distinct, read_estimates
from salstats.display.facts import count_sentence, interval_caption, not_drawn_sentence
from salstats.display.plots.decrease import reference_label_in_sentence
from salstats.display.plots.layout.captions import (
    axis_title_text,
    effect_name,
    intervals_cut_to_log_axis,
    is_ratio,
    scope_note,
)
from salstats.display.plots.layout.estimate_drawing import (
    EstimateDrawing,
    only_varying_column,
    rows_with_estimate,
)
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.figure_rows import (
    PlacedRows,
    mark_distances_above_row_middle_mm,
    place_rows,
    row_layout,
)
from salstats.display.plots.layout.legends import method_labels_references_first
from salstats.display.plots.layout.row_panels import row_figure
from salstats.display.plots.layout.text_fit import crossed_labels, indented, short_labels, wrapped
from salstats.display.text.covariate_units import coefficients_per_power_of_ten_units, without_intercepts
from salstats.display.text.format import MINUS
from salstats.display.text.interactions import where_interacting_terms_hold_note
from salstats.display.text.labels import Labels
from salstats.display.text.models import model_note, variable_and_level_of_each_term
from salstats.display.text.terms import (
    distinct_term_and_factor_rows,
    min_max_scaled_covariates_note,
    right_side_text,
    with_reference_rows,
)
from salstats.display.text.vocabulary import method_label_in_sentence
from salstats.stats.models.tidying import is_coefficient
from salstats.study import HUMAN

#: Most panels side by side.
_MAX_COLUMNS = 3
#: Most terms that are panels, with rows for the values of a further column; more terms are rows.
_MAX_TERM_PANELS = 3
#: Longest label of a model in the legend: characters of a line, and lines.
_LEGEND_CHARS = 32
_LEGEND_LINES = 2


class _Models(NamedTuple):
    """Name of the model of each row, and the text of each model in the legend (none for a single model)."""

    model_of_row: list[str]
    texts: dict[str, str]


class _PlacedTerms(NamedTuple):
    """Rows of terms with their frame, and whether any factor is a heading above its levels."""

    placed_rows: PlacedRows
    has_factors: bool


class _RowAndPanelColumns(NamedTuple):
    """Columns that become the rows and the panels of a figure.

    `row_column` is that of the rows, `facet_column` that of further panels or None, and `panel_texts` has
    the labels that make up the titles of panels, by column and value.
    """

    row_column: str
    facet_column: str | None
    panel_texts: dict[str, dict[Any, str]]


@keep_call_in_figure
def plot_regression(
    terms: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    intercept: bool = False,
    width: float | None = None,
) -> Figure:
    """Draw coefficients of regression models: terms as rows, models by colour and mark.

    Outcomes, the left sides of formulas, are panels. Models that differ in the method, or else in the
    right side of their formula, stand above each other in a row. Of models by one further column, such as
    tasks, up to three terms are panels with a row for each task; more terms are rows, and each task has a
    panel. Exponentiated estimates (odds ratios) stand on an axis of logarithms with a line at 1, others have
    a line at 0. A factor is a heading with its levels below it, the reference level (column
    `reference_level`) without a mark. As in `table_regression`, coefficients that are zeros in print are
    those of 10, 100, 1,000 and so on of a covariate's unit, and their label says so.

    Parameters
    ----------
    terms : DataFrame
        From `regress` or `tidy`: `term`, `estimate` and, where the frame has them, `method`, `formula`,
        `reference`, `conf_low` and `conf_high`. Variances and other parameters (`effect`) are left out.
        Models of scores and models of gaps to a reference method (rows with a `reference`) have panels of
        their own. One further grouping column may have several values.
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
        `y` (in mm, 0 at the top and negative below). Where labels say that a coefficient is one of several
        units of a covariate, `covariate_units` has their number.

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
    coefficients = coefficients.subset(is_coefficient(coefficients.frame))
    if not intercept:
        coefficients = without_intercepts(coefficients)
    are_ratios = is_ratio(coefficients)
    coefficients = coefficients_per_power_of_ten_units(coefficients)
    cut_note = ""
    if are_ratios:
        coefficients, cut_note = intervals_cut_to_log_axis(coefficients)
    frame_labels = Labels(labels, coefficients.frame)
    drawing = _prepared_coefficients(coefficients, frame_labels)
    terms_are_rows = drawing.row_column == "term"
    has_factors = False
    reference_note = ""
    if terms_are_rows:
        placed_terms = _place_terms(drawing)
        frame, rows = placed_terms.placed_rows
        has_factors = placed_terms.has_factors
    else:
        frame, rows = place_rows(drawing)
        # where terms are rows the reference level is one of them
        names_of_terms = variable_and_level_of_each_term(
            drawing.estimates.with_other_frame(frame), [*coefficients.keys, "formula"], frame_labels
        )
        reference_note = names_of_terms.reference_note
    no_effect = 1.0 if are_ratios else 0.0
    null_lines = frame[["panel"]].drop_duplicates().assign(guide=no_effect)
    unnamed_columns = []
    if drawing.row_column != "task":
        unnamed_columns.append("task")
    figure = row_figure(
        frame,
        rows,
        x_title=_axis_title(drawing, are_ratios),
        notes=[
            scope_note(frame, frame_labels, unnamed_columns),
            model_note(drawing.estimates, frame_labels),
            interval_caption(drawing.estimates, labels=drawing.labels),
            count_sentence(drawing.estimates, "observation", "incomplete"),
            min_max_scaled_covariates_note(drawing.estimates, frame_labels),
            _outcome_gap_to_reference_method_note(drawing.estimates, frame_labels),
            reference_note,
            where_interacting_terms_hold_note(coefficients, frame_labels),
            cut_note,
            drawing.missing_note,
        ],
        guides=null_lines,
        methods=drawing.methods,
        references=drawing.references,
        labels=drawing.labels,
        n_columns=_n_columns(drawing),
        width=width,
        is_log=are_ratios,
        # panels of one outcome are compared with each other
        common_axis=drawing.facet_column is not None and frame["outcome"].nunique() == 1,
    )
    if has_factors:
        return figure + p9.theme(axis_text_y=p9.element_text(ha="left", ma="left"))
    return figure


def _place_terms(drawing: EstimateDrawing) -> _PlacedTerms:
    """Return rows of terms, factors above their levels, and the frame with the position of each mark."""
    frame = drawing.frame
    drawn_terms = set(frame["term"])
    n_marks = len(drawing.methods) if drawing.dodges else 1
    drawn_estimates = drawing.estimates.with_other_frame(frame)
    with_references_first = with_reference_rows(drawn_estimates, [*drawing.estimates.keys, "formula"])
    # terms, reference levels and headings of factors from the top down
    entries = distinct_term_and_factor_rows(with_references_first, drawing.labels)
    values: list[Any] = []
    texts = []
    marks_per_row = []
    for entry in entries:
        is_heading = entry.term is None
        is_drawn = entry.term in drawn_terms
        label = entry.text
        if not is_heading and not is_drawn:
            label = f"{entry.text} (reference)"
        text = wrapped(label)
        if entry.is_level:
            text = indented(text)
        texts.append(text)
        if is_heading:
            # a tuple, so that no term equals a heading
            values.append((entry.text,))
        else:
            values.append(entry.term)
        marks_per_row.append(n_marks if is_drawn else 1)
    rows = row_layout(values, texts, marks_per_row, starts_group=[not entry.is_level for entry in entries])
    y = rows.centres_mm_of(frame["term"])
    if drawing.dodges:
        y = y + mark_distances_above_row_middle_mm(frame["method_label"].cat.codes, n_marks)
    label_of_term = {entry.term: entry.full_text for entry in entries}
    frame = frame.assign(y=y, row_label=frame["term"].map(label_of_term))
    return _PlacedTerms(PlacedRows(frame, rows), has_factors=any(entry.is_level for entry in entries))


def _prepared_coefficients(coefficients: Estimates, labels: Labels) -> EstimateDrawing:
    """Prepare coefficients for a figure whose marks are models and whose panels are outcomes.

    Models differ in the method, else in the column `model`, else in their formula.
    """
    groups = [key for key in coefficients.keys if key != "reference"]
    model_column = None
    if "method" in groups:
        model_column = "method"
    elif "model" in groups:
        model_column = "model"
    further_groups = [column for column in groups if column != model_column]
    facet_column = only_varying_column(
        coefficients, further_groups, used_columns_text=model_column or "the term"
    )
    frame = _with_outcome_and_right_side(coefficients, labels)
    key_columns = [*groups, "outcome", "term"]
    differ_by_formula = bool(frame.duplicated(key_columns).any()) and frame["right"].nunique() > 1
    if differ_by_formula:
        key_columns.append("formula")
    check_rows_are_distinct(coefficients.with_other_frame(frame), key_columns)
    label_of_term = {
        entry.term: entry.full_text
        for entry in distinct_term_and_factor_rows(coefficients.with_other_frame(frame), labels)
    }
    frame["term_label"] = frame["term"].map(label_of_term)
    # the new columns are not grouping columns
    estimates = replace(coefficients, frame=frame)
    defined_rows = rows_with_estimate(estimates)
    names_of_terms = variable_and_level_of_each_term(
        estimates.with_other_frame(defined_rows), [*groups, "formula"], labels
    )
    term_texts = {}
    for term, (variable, level) in names_of_terms.variable_and_level.items():
        # a term without a level is named by its variable alone
        term_texts[term] = ": ".join(text for text in (variable, level) if text)
    row_column, facet_column, panel_texts = _row_and_panel_columns(
        defined_rows, labels, facet_column, term_texts
    )
    defined_rows["panel"] = crossed_labels(defined_rows, panel_texts)
    models = _model_of_each_row(defined_rows, labels, model_column, differ_by_formula)
    if models.texts:
        model_labels = [models.texts[model] for model in models.model_of_row]
        categories = list(models.texts.values())
        defined_rows["method_label"] = pd.Categorical(model_labels, categories=categories, ordered=True)
    only_term_label = None
    if len(term_texts) == 1:
        only_term_label = next(iter(term_texts.values()))
    return EstimateDrawing(
        estimates=estimates,
        frame=defined_rows,
        labels=labels,
        row_column=row_column,
        facet_column=facet_column,
        term=only_term_label,
        methods=models.texts,
        references=[HUMAN],
        missing_note=not_drawn_sentence(estimates, labels, [*groups, "outcome", "term_label"]),
    )


def _with_outcome_and_right_side(coefficients: Estimates, labels: Labels) -> pd.DataFrame:
    """Return a copy of the frame with the label of each formula's `outcome`, and its `right` side.

    Both are "" for rows without a formula. The outcome of a gap to a reference names the reference.
    """
    frame = coefficients.frame.copy()
    formulas = pd.Series("", index=frame.index)
    if coefficients.distinct_values("formula"):
        formulas = frame["formula"].fillna("").astype(TEXT)
    outcomes = []
    right_sides = []
    for formula in formulas:
        left_side, _, right_side = formula.partition("~")
        outcome = left_side.strip()
        if outcome:
            outcome = labels.term(outcome)
        outcomes.append(outcome)
        right_sides.append(right_side.strip())
    frame["outcome"] = outcomes
    frame["right"] = right_sides
    if _has_models_of_scores_and_of_gaps(coefficients):
        # a gap to a reference is another outcome than a score
        is_gap = frame["reference"].notna()
        references = frame.loc[is_gap, "reference"]
        gaps = [
            f": gap to {method_label_in_sentence(labels.value('reference', reference))}"
            for reference in references
        ]
        frame.loc[is_gap, "outcome"] += gaps
    return frame


def _row_and_panel_columns(
    defined_rows: pd.DataFrame, labels: Labels, facet_column: str | None, term_texts: dict[Any, str]
) -> _RowAndPanelColumns:
    """Return the columns of rows and panels: terms are rows, or panels where a further column names rows.

    `facet_column` is the further grouping column, if there is one, and `term_texts` the label of each term.
    """
    outcomes = defined_rows["outcome"].unique()
    texts: dict[str, dict[Any, str]] = {}
    if len(outcomes) > 1:
        # the axis names a single outcome
        texts["outcome"] = {outcome: outcome for outcome in outcomes}
    if facet_column is None:
        return _RowAndPanelColumns("term", facet_column=None, panel_texts=texts)
    if len(term_texts) > _MAX_TERM_PANELS:
        facet_texts = {facet_column: labels.label_by_value(facet_column, defined_rows[facet_column])}
        return _RowAndPanelColumns("term", facet_column, panel_texts=facet_texts | texts)
    if len(term_texts) > 1:
        texts["term"] = term_texts
    return _RowAndPanelColumns(facet_column, facet_column=None, panel_texts=texts)


def _has_models_of_scores_and_of_gaps(coefficients: Estimates) -> bool:
    """Return whether there are both models of scores and models of gaps to a reference."""
    references = coefficients.distinct_values("reference")
    return bool(references) and bool(coefficients.frame["reference"].isna().any())


def _model_of_each_row(
    frame: pd.DataFrame, labels: Labels, model_column: str | None, differ_by_formula: bool
) -> _Models:
    """Return the models by the values of a column, and by right sides of formulas if `differ_by_formula`."""
    model_names = [""] * len(frame)
    if model_column is not None:
        model_names = [str(value) for value in frame[model_column]]
    if differ_by_formula:
        return _models_by_formula(frame, labels, model_column, model_names)
    if model_column is None:
        return _Models(model_names, {})
    if model_column == "method":
        return _Models(model_names, method_labels_references_first(labels, model_names, [HUMAN]))
    return _Models(model_names, short_labels(labels, model_column, model_names, _LEGEND_CHARS, _LEGEND_LINES))


def _models_by_formula(
    frame: pd.DataFrame, labels: Labels, model_column: str | None, names: list[str]
) -> _Models:
    """Return the models by the right sides of their formulas, and by their names if these differ.

    `names` is the name of the model of each row, from `model_column`.
    """
    right_sides = list(frame["right"])
    # "y" stands for any outcome, since only the right side is written
    text_of_side = {right_side: right_side_text(f"y ~ {right_side}", labels) for right_side in right_sides}
    models = right_sides
    texts = text_of_side
    if len(set(names)) > 1:
        column = str(model_column)
        models = [f"{name}: {right_side}" for name, right_side in zip(names, right_sides, strict=True)]
        texts = {}
        for name in labels.order(column, names):
            for row_name, right_side, model in zip(names, right_sides, models, strict=True):
                if row_name == name:
                    texts[model] = f"{labels.value(column, name)}: {text_of_side[right_side]}"
    model_labels = Labels({"model": texts})
    return _Models(models, short_labels(model_labels, "model", models, _LEGEND_CHARS, _LEGEND_LINES))


def _n_columns(drawing: EstimateDrawing) -> int:
    """Return the number of panels side by side: the terms of an outcome, or as many as spread them evenly."""
    n_terms = drawing.frame["term"].nunique()
    if drawing.row_column != "term" and n_terms > 1:
        return n_terms
    n_panel_rows = math.ceil(drawing.n_panels / _MAX_COLUMNS)
    return math.ceil(drawing.n_panels / n_panel_rows)


def _axis_title(drawing: EstimateDrawing, are_ratios: bool) -> str:
    """Return the title of the horizontal axis: the effect, its term if no row names it, the only outcome."""
    title = effect_name(drawing.estimates, are_ratios)
    if drawing.term and drawing.row_column != "term":
        title += f" of {drawing.term}"
    outcomes = [outcome for outcome in drawing.estimates.distinct_values("outcome") if outcome]
    if len(outcomes) == 1:
        title += f", {outcomes[0]}"
    return axis_title_text(title, drawing.estimates)


def _outcome_gap_to_reference_method_note(coefficients: Estimates, labels: Labels) -> str:
    """Return a sentence that explains gaps to a reference, "" where there are none."""
    if not coefficients.distinct_values("reference"):
        return ""
    subject = "Outcome"
    if _has_models_of_scores_and_of_gaps(coefficients):
        subject = "Gap"
    return f"{subject}: {reference_label_in_sentence(coefficients, labels)} {MINUS} method."
