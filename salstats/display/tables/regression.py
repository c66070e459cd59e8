"""Table of regressions: outcomes side by side, terms below each other, the fit at the foot."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from great_tables import GT

from salstats.checks import check_choice, check_count
from salstats.display.estimates import Estimates, chosen_or_recorded_references
from salstats.display.facts import (
    count_sentence,
    heading_with_interval,
    limits_and_caution_note,
    paragraph,
    score_weights_sentence,
)
from salstats.display.tables import notes
from salstats.display.tables.great_table import great_table
from salstats.display.tables.grid import estimate_and_interval_texts
from salstats.display.tables.marks import p_heading, star_texts_and_note
from salstats.display.tables.model_tests import (
    factor_p_text_of_each_row_and_note,
    p_value_tests_note,
    p_value_texts,
)
from salstats.display.tables.models import (
    FRAME_NAME_COLUMN,
    FootRows,
    Frames,
    ModelCell,
    ModelColumns,
    columns_identifying_models,
    first_row_of_each_model_by_cell,
    foot_texts,
    hidden_variables_of_each_formula,
    is_row_of_gap_model,
    models_to_columns,
    read_and_stack,
    terms_shown,
)
from salstats.display.tables.placement import (
    Key,
    checked_columns_of_option,
    key_of,
    ordered_group_labels,
)
from salstats.display.tables.record import Table, TableColumn
from salstats.display.text.covariate_units import coefficients_per_power_of_ten_units
from salstats.display.text.format import MINUS, STYLES, joined
from salstats.display.text.interactions import (
    reference_levels_by_slope_term,
    where_interacting_terms_hold_note,
)
from salstats.display.text.labels import SUMMARY_LABELS, Labels
from salstats.display.text.models import model_kind_text, standard_errors_clause
from salstats.display.text.terms import (
    distinct_term_and_factor_rows,
    min_max_scaled_covariates_note,
    right_side_text,
    with_reference_rows,
)
from salstats.stats.adjust import INTERCEPT
from salstats.stats.models.tidying import is_coefficient

#: Note on models with more random effects than the data can estimate.
_SINGULAR_FIT_NOTE = (
    "Singular fit: a variance of random effects is 0, or two are correlated by 1 or \N{MINUS SIGN}1."
)


class TermCell(NamedTuple):
    """The position of an estimate in a table: key of its group of rows, its term, and its model's column."""

    group: Key
    term: str
    model: int


#: Texts of each cell: the estimate, and P where it has a column.
CellTexts: TypeAlias = Mapping[TermCell, list[str]]


def table_regression(
    terms: Frames,
    *,
    fit: Frames | None = None,
    components: Frames | None = None,
    joint: Frames | None = None,
    columns: str | Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    intercept: bool = False,
    p_values: bool = False,
    stars: bool = False,
    n_tests: int | None = None,
    adjust: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int = 3,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Tabulate regressions for a paper: terms as rows, models as columns.

    Columns are the outcomes, within them the methods, and the gap "reference − method" of models with a
    reference. Models of one outcome with different terms (one model for each feature) share a column;
    where two models have a term in common, each formula has a column of its own, "Model 1" and so on.
    Other grouping columns, such as tasks, make groups of rows. A factor is a heading with its levels below
    it, the reference level (column `reference_level`) with a dash. Coefficients of a covariate that are all
    zeros at three decimals are those of 10, 100, 1,000 and so on of its unit, and their label says so:
    "Area, per 1,000 mm²". Where the table would be wider than a page, outcomes become groups, and terms
    stand in columns with methods and tasks in rows if need be.

    Parameters
    ----------
    terms : DataFrame, list of DataFrame or dict of str to DataFrame
        Frames of `regress` or `tidy`. Names in a dict become the headings. Variances and other parameters
        that are no coefficients (`effect`) stand at the foot, under the rule of `fit`.
    fit : DataFrame, list of DataFrame or dict of str to DataFrame, optional
        The frames of `fit_statistics` of the same models: R², adjusted R² and residual SD of linear
        models, correlation and scale of GEE, the precision of beta models, log-likelihood and AIC of others
        are added at the foot. They, and n, stand in columns
        with one model only; of a column with several a note gives the range of n.
    components : DataFrame, list of DataFrame or dict of str to DataFrame, optional
        The frames of `variance_components` of the same models: at the foot stand the SD of each random
        effect, its share of the variance (ICC) and the number of its groups.
    joint : DataFrame, list of DataFrame or dict of str to DataFrame, optional
        The frames of `Fit.joint(each=True)` of the same models: P of each factor as a whole, and of each
        interaction with one, stands beside its name (type III tests on sum contrasts).
    columns : str or sequence of str, optional
        Grouping columns that stand beside each other; by default `method`.
    keep : sequence of str, optional
        Terms to show, in this order; a note names variables without a row.
    intercept : bool
        Show intercepts; with `keep` only those that it names.
    p_values : bool
        Give P in a column beside the estimates, adjusted where the frame has `p_adjusted`.
    stars : bool
        Stars for the p-values.
    digits : int
        Decimals of coefficients, limits and fit statistics.
    n_tests, adjust, labels, style, title
        As for `table_estimates`.

    Returns
    -------
    GT
        A great-tables table; notes say what the models are, n, left-out rows, interval and correction.

    Raises
    ------
    SalstatsError
        No column `term` or `estimate`; `columns` or `keep` names what is not there; two estimates in one
        cell; `fit`, `components` or `joint` of other models; with `stars`, frames of which only some have
        `p_adjusted`.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> scores = ss.normalize(ss.datasets.load_simulated(), ["elongation", "area_ratio"])
    >>> models = ["iou ~ elongation + task", "iou ~ area_ratio + task"]
    >>> terms = ss.regress(scores, models)
    >>> isinstance(ss.table_regression(terms, fit=ss.fit_statistics(scores, models)), GT)
    True
    """
    check_count(digits, "digits", 0)
    check_choice(style, tuple(STYLES), "style")
    all_rows = read_and_stack(terms, ("term", "estimate"), "terms").with_procedure_column(adjust)
    names = Labels(labels, all_rows.frame).with_references_first(chosen_or_recorded_references(all_rows))
    is_term = is_coefficient(all_rows.frame)
    coefficients = all_rows.subset(is_term)
    parameters = all_rows.subset(~is_term)
    shown_terms = terms_shown(coefficients.frame, keep, intercept)
    estimates = coefficients_per_power_of_ten_units(
        coefficients.subset(coefficients.frame["term"].isin(shown_terms))
    )
    keys = [key for key in estimates.keys if key not in (FRAME_NAME_COLUMN, "reference")]
    column_keys = checked_columns_of_option(keys, columns, "columns")
    if column_keys is None:
        column_keys = [key for key in keys if key == "method"]
    groups = [key for key in keys if key not in column_keys and estimates.varies(key)]
    random_effects = None if components is None else read_and_stack(components, ("group",), "components")

    has_foot = fit is not None or random_effects is not None or len(parameters) > 0
    has_one_term = bool(groups) and len(shown_terms) == 1 and not has_foot
    n_references = 0
    if not has_one_term:
        with_references_first = with_reference_rows(estimates, columns_identifying_models(estimates))
        n_references = len(with_references_first) - len(estimates)
        estimates = with_references_first
    frame = estimates.frame
    model_columns = models_to_columns(estimates, column_keys, groups, names)
    star_texts = star_texts_and_note(estimates, stars, n_tests)
    cells = _term_cells(frame, groups, model_columns)
    estimate_texts = estimate_and_interval_texts(estimates, digits, style, star_texts.texts)
    texts = {cell: [text] for cell, text in zip(cells, estimate_texts, strict=True)}
    if p_values:
        for cell, text in zip(cells, p_value_texts(estimates, style), strict=True):
            texts[cell].append(text)
    tests_of_factors = factor_p_text_of_each_row_and_note(estimates, joint, style, named=not p_values)
    first_rows_by_cell = first_row_of_each_model_by_cell(estimates, model_columns.column_of_row, groups)
    if has_one_term:
        headings = _table_columns(
            model_columns, estimates, p_values, _heading_ending_of_term_vs_references(estimates, names)
        )
        table = _one_term_table_by_group(frame, headings, groups, names, texts)
    else:
        headings = _table_columns(model_columns, estimates, p_values)
        foot = foot_texts(
            estimates, first_rows_by_cell, fit, parameters, random_effects, names, digits, style
        )
        factor_p = dict(zip(cells, tests_of_factors.texts, strict=True))
        levels_of_terms = reference_levels_by_slope_term(coefficients, names)
        kept_terms = [] if keep is None else shown_terms
        table = _terms_table(
            estimates, headings, groups, names, texts, factor_p, foot, levels_of_terms, kept_terms
        )

    constant = [key for key in keys if not estimates.varies(key)]
    gap_note = ""
    if is_row_of_gap_model(estimates).any():
        # the headings of a gap name the method
        constant = [key for key in constant if key not in column_keys]
        gap_note = f"A {MINUS} B: the difference of the two scores of a case is the outcome."
    general = paragraph(
        _model_note(
            coefficients,
            first_rows_by_cell.values(),
            _adjusted_for_variables_without_rows_phrase(estimates, model_columns, names),
            names,
        ),
        notes.constant_note(estimates, constant, names),
        _formula_note(estimates, model_columns, names),
        gap_note,
        min_max_scaled_covariates_note(estimates, names),
        where_interacting_terms_hold_note(coefficients, names, shown_terms),
        notes.metric_notes(coefficients.frame),
    )
    first_rows = list(chain.from_iterable(first_rows_by_cell.values()))
    one_row_of_each = estimates.subset(np.isin(np.arange(len(frame)), first_rows))
    p_value_note = ""
    if star_texts.note or p_values:
        p_value_note = p_value_tests_note(estimates, in_column=p_values)
    factor_test_note = ""
    if not has_one_term:
        # one term stands in the heading, without a row for its factor
        factor_test_note = tests_of_factors.note
    statistics = paragraph(
        limits_and_caution_note(estimates, names),
        score_weights_sentence(estimates),
        count_sentence(one_row_of_each, "observation", "incomplete and left out"),
        _components_estimation_note(random_effects),
        p_value_note,
        factor_test_note,
    )
    groups_heading = ", ".join(names.column(key) for key in groups)
    columns_heading = ""
    if not p_values:
        columns_heading = ", ".join(names.column(key) for key in column_keys)
    table = replace(
        table,
        notes=(general, statistics),
        symbol_note=paragraph(star_texts.note, notes.dash_note(table.cells, n_references)),
        title=title,
        may_rearrange=True,
        axis_headings=(groups_heading, columns_heading),
    )
    return great_table(table, "salstats-regression")


def _term_cells(frame: pd.DataFrame, groups: Sequence[str], model_columns: ModelColumns) -> list[TermCell]:
    """Return the cell of the term in each row of a frame."""
    cells = []
    for row, term in enumerate(frame["term"]):
        cells.append(TermCell(key_of(frame, row, groups), str(term), model_columns.column_of_row[row]))
    return cells


def _components_estimation_note(components: Estimates | None) -> str:
    """Return how random effects and their limits were estimated; "" without components."""
    if components is None:
        return ""
    estimation = ""
    is_restricted = components.only_non_missing_value("reml")
    if is_restricted is not None:
        estimation = "maximum likelihood, limits by "
        if is_restricted:
            estimation = f"restricted {estimation}"
    return f"SDs and shares of random effects: {estimation}profile likelihood."


class _TermRows:
    """Rows of a table of terms, added one below the other.

    `n_models` models stand side by side, each in `columns_per_model` columns.
    """

    def __init__(self, n_models: int, columns_per_model: int) -> None:
        self.n_models = n_models
        self.columns_per_model = columns_per_model
        self.stub: list[Key] = []
        self.cells: list[list[str]] = []
        self.first_foot_rows: set[int] = set()
        self.level_rows: set[int] = set()
        self.foot_rows: set[int] = set()

    def __len__(self) -> int:
        """Return the number of rows so far."""
        return len(self.stub)

    def add_row(self, label: str, texts_of_models: Sequence[Sequence[str]]) -> None:
        """Add a row with the texts of each model."""
        self.stub.append((label,))
        self.cells.append(list(chain.from_iterable(texts_of_models)))

    def add_heading(self, label: str) -> None:
        """Add the row of a factor, whose levels are added next."""
        self.add_row(label, [[""] * self.columns_per_model] * self.n_models)

    def add_factor_p(self, row: int, model: int, text: str) -> None:
        """Set P of a factor in its row, in the last of a model's columns, unless that has a text already."""
        column = (model + 1) * self.columns_per_model - 1
        if not self.cells[row][column]:
            self.cells[row][column] = text

    def add_foot(self, group: Key, foot: FootRows) -> None:
        """Add the statistics of the models of a group, in the first of each model's columns."""
        if foot:
            self.first_foot_rows.add(len(self))
        blanks = [""] * (self.columns_per_model - 1)
        for heading, texts in foot.items():
            self.foot_rows.add(len(self))
            texts_of_models = []
            for model in range(self.n_models):
                texts_of_models.append([texts.get(ModelCell(group, model), ""), *blanks])
            self.add_row(heading, texts_of_models)


def _terms_table(
    estimates: Estimates,
    headings: Sequence[TableColumn],
    groups: Sequence[str],
    labels: Labels,
    texts: CellTexts,
    factor_p: Mapping[TermCell, str],
    foot: FootRows,
    levels_of_terms: Mapping[str, str],
    kept_terms: Sequence[str],
) -> Table:
    """Return the terms of each group, levels below their factor, and the foot.

    Terms stand in the order of `kept_terms`, or where it is empty in that of labels.

    `factor_p` holds P of the whole factor for each of its levels' cells. A term with an entry in
    `levels_of_terms` is a number in an interaction, whose coefficient holds at these levels.
    """
    n_models, columns_per_model = _n_models_and_columns_per_model(headings, texts)
    rows = _TermRows(n_models, columns_per_model)
    group_labels: list[str] = []
    for group, group_label in ordered_group_labels(estimates.frame, groups, labels).items():
        n_rows_before = len(rows)
        factor = ""
        factor_row = -1
        for term_row in distinct_term_and_factor_rows(estimates, labels, kept_terms):
            if term_row.term is None:
                # the heading is added with the first of its levels that this group has
                factor = term_row.text
                continue
            cells = [TermCell(group, term_row.term, model) for model in range(n_models)]
            texts_of_models = [texts.get(cell, [""] * columns_per_model) for cell in cells]
            has_text = any(any(texts_of_model) for texts_of_model in texts_of_models)
            if not has_text:
                continue
            if term_row.is_level:
                if factor:
                    factor_row = len(rows)
                    rows.add_heading(factor)
                    factor = ""
                rows.level_rows.add(len(rows))
                for model, cell in enumerate(cells):
                    rows.add_factor_p(factor_row, model, factor_p.get(cell, ""))
            label = term_row.text
            if term_row.term in levels_of_terms:
                label += f", at {levels_of_terms[term_row.term]}"
            rows.add_row(label, texts_of_models)
        rows.add_foot(group, foot)
        if groups:
            group_labels += [group_label] * (len(rows) - n_rows_before)
    return Table(
        stubhead=("Term",),
        stub=rows.stub,
        columns=list(headings),
        cells=rows.cells,
        groups=group_labels,
        rows_with_rule_above=rows.first_foot_rows,
        indented_rows=rows.level_rows,
        foot_rows=rows.foot_rows,
    )


def _n_models_and_columns_per_model(headings: Sequence[TableColumn], texts: CellTexts) -> tuple[int, int]:
    """Return how many models stand side by side, and how many columns each of them has."""
    columns_per_model = len(next(iter(texts.values()), [""]))
    return len(headings) // columns_per_model, columns_per_model


def _heading_ending_of_term_vs_references(estimates: Estimates, labels: Labels) -> str:
    """Return the end of the heading of a table of one term: " of Task: Edema vs Atelectasis"."""
    term = str(estimates.frame["term"].iloc[0])
    with_references_first = with_reference_rows(estimates, columns_identifying_models(estimates))
    names = []
    references = []
    for row in distinct_term_and_factor_rows(with_references_first, labels):
        if row.term == term:
            names.append(row.full_text)
        elif row.term is not None:
            references.append(row.text)
    return f" of {' vs '.join([*names, *references])}"


def _one_term_table_by_group(
    frame: pd.DataFrame,
    headings: Sequence[TableColumn],
    groups: Sequence[str],
    labels: Labels,
    texts: CellTexts,
) -> Table:
    """Return a table of one term, which the heading names, with a row per group."""
    term = str(frame["term"].iloc[0])
    n_models, columns_per_model = _n_models_and_columns_per_model(headings, texts)
    group_labels = ordered_group_labels(frame, groups, labels)
    cells = []
    for group in group_labels:
        row: list[str] = []
        for model in range(n_models):
            row += texts.get(TermCell(group, term, model), [""] * columns_per_model)
        cells.append(row)
    # averages and pooled rows are the last, below a rule
    summary_rows = [
        row for row, group in enumerate(group_labels) if not set(SUMMARY_LABELS).isdisjoint(group)
    ]
    rows_with_rule_above = set()
    if summary_rows and summary_rows[0] > 0:
        rows_with_rule_above.add(summary_rows[0])
    return Table(
        stubhead=(", ".join(labels.column(column) for column in groups),),
        stub=[(label,) for label in group_labels.values()],
        columns=list(headings),
        cells=cells,
        rows_with_rule_above=rows_with_rule_above,
    )


def _table_columns(
    model_columns: ModelColumns, estimates: Estimates, p_values: bool, heading_ending: str = ""
) -> list[TableColumn]:
    """Return the columns of a table, whose outermost heading is the kind of estimate.

    With `p_values` each model has a column of its estimates and one of P.
    """
    columns = []
    for column, (kind, *inner_headings) in enumerate(model_columns.headings):
        rows = estimates.subset([row_column == column for row_column in model_columns.column_of_row])
        estimate_heading = heading_with_interval(f"{kind}{heading_ending}", rows, beside_p_values=p_values)
        if p_values:
            columns += [
                TableColumn(estimate_heading, tuple(inner_headings)),
                TableColumn(p_heading(rows), tuple(inner_headings)),
            ]
        else:
            *outer, innermost = [estimate_heading, *inner_headings]
            columns.append(TableColumn(innermost, tuple(outer)))
    return columns


def _model_note(
    coefficients: Estimates, model_rows_of_cells: Iterable[Sequence[int]], adjusted_for: str, labels: Labels
) -> str:
    """Return the kind of model, whether it has one term or all, its other variables, and standard errors.

    `model_rows_of_cells` holds the rows of each cell's models, `adjusted_for` the text on variables without
    a row.
    """
    text = model_kind_text(coefficients, labels)
    terms = coefficients.subset(coefficients.frame["term"] != INTERCEPT).frame
    columns = columns_identifying_models(coefficients)
    n_terms = Counter(key_of(terms, row, columns) for row in range(len(terms)))
    if n_terms and max(n_terms.values()) == 1:
        if terms["term"].nunique() > 1:
            text += ", one model for each term"
    elif all(len(rows) == 1 for rows in model_rows_of_cells):
        text += ", all terms in one model"
    text += adjusted_for
    if coefficients.distinct_values("average"):
        text += "; effects on the mean, averaged over the rows of the model"
    text += standard_errors_clause(coefficients)
    if True in coefficients.distinct_values("singular"):
        text += f" {_SINGULAR_FIT_NOTE}"
    return text


def _adjusted_for_variables_without_rows_phrase(
    estimates: Estimates, model_columns: ModelColumns, labels: Labels
) -> str:
    """Return the variables that all models have and no row shows, "" where a note gives the formulas."""
    hidden = hidden_variables_of_each_formula(estimates)
    if model_columns.formulas or len(set(hidden.values())) != 1:
        return ""
    # all formulas have the same ones
    variables = [labels.column(name) for name in next(iter(hidden.values()))]
    if not variables:
        return ""
    return f", adjusted for {joined(variables)}"


def _formula_note(estimates: Estimates, model_columns: ModelColumns, labels: Labels) -> str:
    """Give the formulas of Model 1 and so on, or of all models where they adjust for different variables."""
    if model_columns.formulas:
        models = [
            f"Model {number}: {formula}" for number, formula in enumerate(model_columns.formulas, start=1)
        ]
        return f"{'; '.join(models)}."
    hidden = hidden_variables_of_each_formula(estimates)
    if len(set(hidden.values())) < 2:
        return ""
    right_sides = dict.fromkeys(right_side_text(formula, labels) for formula in hidden)
    return f"Models: {'; '.join(right_sides)}."
