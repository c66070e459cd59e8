"""Table of means and other estimates: methods side by side, the best in bold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from great_tables import GT

from salstats.checks import check_columns
from salstats.display.estimates import Estimates, chosen_or_recorded_references, read_estimates
from salstats.display.facts import (
    BOUNDS_NOTE,
    heading_with_interval,
    metrics_without_scores_sentence,
    p_value_sentence,
    p_value_test_text,
    paragraph,
)
from salstats.display.tables import notes
from salstats.display.tables.great_table import great_table
from salstats.display.tables.grid import (
    TableQuantity,
    estimate_and_interval_texts,
    low_to_high_bounds_quantity_if_in_frame,
    p_value_and_margin_p_quantities_if_any,
    quantity_table,
    read_estimates_to_show,
)
from salstats.display.tables.marks import (
    best_estimates,
    estimates_differing_from_reference,
    rarer_rows,
    star_texts_and_note,
)
from salstats.display.tables.models import effect_measure_label
from salstats.display.tables.placement import (
    CellGrid,
    ColumnPlacement,
    Columns,
    choose_placement,
    grid_of_frame_row_numbers,
)
from salstats.display.text.correlation import (
    adjusted_for_covariates_note,
    has_variable_pairs,
    stratum_note,
    variables_shared_by_correlations_note,
)
from salstats.display.text.covariate_units import coefficients_per_power_of_ten_units, has_coefficients
from salstats.display.text.format import MISSING, capitalized, count_text, counted_range, joined
from salstats.display.text.interactions import where_interacting_terms_hold_note
from salstats.display.text.labels import Labels
from salstats.display.text.margins import margin_mark_note, margin_marks
from salstats.display.text.models import (
    has_marginal_estimates,
    marginal_estimates_heading,
    model_and_averaging_note,
    model_note,
    only_outcome_text,
)
from salstats.display.text.terms import distinct_term_and_factor_rows
from salstats.display.text.vocabulary import TERMS
from salstats.errors import Call, Message, SalstatsError
from salstats.stats.agreement.records import is_agreement_frame, short_label
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.stats.engine.fixed_factors import NOUN_OF_COLUMN, NOUNS_OF_FIXED_FACTORS

#: Terms of which neither a larger nor a smaller estimate is better.
_WITHOUT_DIRECTION = {*COEFFICIENTS, "observed_rate", "calibration_intercept", "calibration_slope", "tau"}


def table_estimates(
    estimates: pd.DataFrame,
    *,
    rows: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    groups: str | Sequence[str] | None = None,
    bold: bool | str | Sequence[str] = True,
    reference: str | None = None,
    exclude: str | Sequence[str] = (),
    directions: Mapping[str, str] | None = None,
    differences: pd.DataFrame | None = None,
    n: bool = False,
    stars: bool = False,
    n_tests: int | None = None,
    adjust: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int | None = None,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Tabulate estimates with their intervals for a paper.

    Each grouping column of the frame finds a place. By default tasks are rows, methods columns and
    metrics groups of rows; without tasks methods are rows and metrics columns; what else varies (a data
    set, a model, a way of mixing) stands above the columns, or beside the rows where only some rows have
    a value of it. What does not vary is said in a note. Rows "Average" and "Overall" are set apart. Where
    the table would be wider than a page, rows, columns and groups change places so that it fits.
    Contrasts and slopes of models have a column of P values; contrasts of all pairs have a row for each pair.

    Parameters
    ----------
    estimates : DataFrame
        An estimates frame, such as of `summarize` or `auroc`: grouping columns, `estimate`, and where
        they are there `conf_low, conf_high, p_value, n, ...`; `bound_low, bound_high` of `missing_bounds`
        stand in a column of their own. Of a frame of `mrmc` the means are shown, its differences are
        underlined (from a reference), and a note gives the test that all are equal.
    rows, columns, groups : str or sequence of str, optional
        Grouping columns that stand as rows, as columns (outermost first) and as groups of rows.
    bold : bool, str or sequence of str
        Print the best estimate in bold: among methods (True), or over the values of the columns named.
        The metric gives the direction; none is bold for an unknown metric without an entry in `directions`.
        Ties are all bold, compared unrounded. A reference is never the best.
    reference : str, optional
        Method that stands before the others; by default the one that `differences` are from, else `human`.
    exclude : str or sequence of str
        Further methods that may not be the best, such as baselines.
    directions : Mapping, optional
        Metric -> "larger" or "smaller", whichever of its scores are better; for metrics that the package
        does not know.
    differences : DataFrame, optional
        A frame of `difference` or `percent_decrease` with the same grouping columns: estimates whose
        paired difference from the reference is significant are underlined (where most are, those of which
        it is not), and those that lie inside its margin have a dagger.
    n : bool
        Give the number of scores: in one column where it is the same for all columns, else in each.
    stars : bool
        Stars for the p-values.
    n_tests : int, optional
        Number of tests that the levels of the stars are divided by. By default `p_adjusted` is used where
        the frame has it, else the levels are divided by the number of tests in the table.
    adjust : str, optional
        Procedure behind `p_adjusted`, for the notes, as `adjust()` spells it; by default what the
        column `procedure` says.
    labels : Mapping, optional
        Names and order of columns' values, see `Labels`.
    digits : int, optional
        Decimals of estimates and limits, and significant digits of small variances; by default 0 for
        whole ranks, 1 for other ranks, percentages and distances in pixels or mm, 2 for correlations and
        calibration, else 3.
    style : {"nature", "radiology", "ama", "brackets"}
        How the journal writes numbers.
    title : str, optional
        Heading of the table.

    Returns
    -------
    GT
        A great-tables table; notes say what the intervals are, n, missing scores and what marks mean.

    Raises
    ------
    ColumnError
        No column `estimate`; a column of an option is no grouping column; a grouping column has no place.
    SalstatsError
        A significance map; two estimates in one cell; labels that make two values the same.
    ValueRangeError
        An unknown style; `exclude` names what is not there, in a table that can have bold estimates.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> means = ss.summarize(ss.datasets.load_simulated(), by=["metric", "method"], n_replicates=200)
    >>> table = ss.table_estimates(means, exclude=["human"], labels={"gradcam": "Grad-CAM (ours)"})
    >>> isinstance(table, GT)
    True
    """
    required_columns = ("estimate", "n") if n else ("estimate",)
    all_rows = read_estimates_to_show(
        estimates, digits, style, "estimates", required_columns
    ).with_procedure_column(adjust)
    if all_rows.distinct_values("better"):
        raise SalstatsError(
            "estimates is a significance map",
            hint=Message(
                Call("plot_significance"), " draws it, and ", Call("rank_limits"), " makes estimates of it"
            ),
            column="better",
        )
    with_undefined = all_rows.subset_of_term_if_mrmc("mean")
    means = with_undefined.without_metrics(with_undefined.metrics_without_scores)
    if has_coefficients(means):
        means = coefficients_per_power_of_ten_units(means)
    tested_differences = _given_or_mrmc_differences(all_rows, differences, adjust)
    if reference is None and tested_differences is not None:
        reference = _reference_among(means, tested_differences)
    references = chosen_or_recorded_references(means, reference)
    names = Labels(labels, with_undefined.frame).with_references_first(references)
    if means.only_non_missing_value("figure") == "auc":
        # an area under the curve is better the larger, whatever its metric's direction
        directions = dict.fromkeys(means.distinct_values("metric"), "larger")
    keys = _grouping_columns_and_further_varying_columns(means)
    placement = choose_placement(
        means,
        keys,
        _row_columns_or_both_level_columns_without_options(means, rows, columns, groups),
        columns,
        groups,
    )
    grid = grid_of_frame_row_numbers(_frame_with_terms_as_printed(means, names), placement, names)
    best = _bold_estimates(means, keys, bold, references, exclude, names, directions)
    star_texts = star_texts_and_note(means, stars, n_tests)
    marks = [star + mark for star, mark in zip(star_texts.texts, margin_marks(means), strict=True)]
    margins = margin_mark_note(means, names, style)
    underlined_rows: set[int] = set()
    underline_note = ""
    if tested_differences is not None:
        differing = estimates_differing_from_reference(means, keys, tested_differences)
        underlined_rows = rarer_rows(differing.rows, differing.other_rows)
        marks = [mark + margin for mark, margin in zip(marks, differing.marks, strict=True)]
        underline_note = notes.underlining_meaning_note(tested_differences, differing, names)
        margins = margins or margin_mark_note(tested_differences, names, style)
    texts = estimate_and_interval_texts(means, digits, style, marks)
    p_values = p_value_and_margin_p_quantities_if_any(means, style) if has_marginal_estimates(means) else []
    p_values_note = _p_value_test_and_adjustment_note(
        means, names, has_column=bool(p_values), has_stars=bool(star_texts.note)
    )
    heading = _heading(means, placement, names, beside_p_values=bool(p_values))
    values = [TableQuantity(heading, texts, bold=best.rows, underline=underlined_rows)]
    bounds = low_to_high_bounds_quantity_if_in_frame(means, digits, style)
    values += bounds
    values += p_values
    row_values: list[TableQuantity] = []
    if n:
        counts = TableQuantity(
            names.column("n"), [count_text(count) for count in means.numbers("n")], "right"
        )
        if _varies_in_a_row(grid, means.numbers("n")):
            values = [counts, *values]
        else:
            row_values = [counts]
    table = quantity_table(grid, values, names, row_values, _text_in_cell_without_estimate(keys))

    constant = _constant_columns_for_note(means, placement)
    subject_note = paragraph(
        _raters_and_cases_note(means),
        _model_note(means, names),
        variables_shared_by_correlations_note(means, names),
        adjusted_for_covariates_note(means, names),
        stratum_note(means, names),
        _predictor_and_outcome_note(means, names),
        metrics_without_scores_sentence(with_undefined, names),
    )
    table_notes = notes.estimates_notes(
        means, names, constant, _counted_noun_and_missing_adjective(means), subject_note
    )
    bounds_note = BOUNDS_NOTE if bounds else ""
    statistics = paragraph(
        table_notes.statistics,
        bounds_note,
        p_values_note,
        notes.equal_methods_test_note(all_rows, names, style),
    )
    # that nothing is underlined is a result, which formats without marks must show as well
    uniform_note = ""
    if not underlined_rows:
        uniform_note = underline_note
        underline_note = ""
    symbol_note = paragraph(uniform_note, margins, star_texts.note, notes.dash_note(table.cells))
    table = replace(
        table,
        notes=(table_notes.subject, statistics),
        mark_note=paragraph(best.note, underline_note),
        symbol_note=symbol_note,
        title=title,
    )
    return great_table(table, "salstats-estimates")


def _grouping_columns_and_further_varying_columns(estimates: Estimates) -> list[str]:
    """Return the grouping columns of a table: the frame's, and others, such as the term, that vary in it."""
    keys = list(estimates.keys)
    for column in ("reference", "group", "term", "x", "y", "predictor", "response"):
        if column not in keys and estimates.varies(column):
            keys.append(column)
    return keys


def _row_columns_or_both_level_columns_without_options(
    estimates: Estimates, rows: Columns, columns: Columns, groups: Columns
) -> Columns:
    """Return the columns that stand as rows: without options, both levels of contrasts of all pairs.

    Each pair has a row of its own, as it has one estimate, one interval and one P value.
    """
    has_options = rows is not None or columns is not None or groups is not None
    if has_options or not has_marginal_estimates(estimates) or not estimates.varies("reference_level"):
        return rows
    # the compared level stands in the column before
    position = estimates.keys.index("reference_level")
    return estimates.keys[position - 1 : position + 1]


def _text_in_cell_without_estimate(keys: Sequence[str]) -> str:
    """Return the text of cells without an estimate: a dash, or "" in a triangle of pairs of tasks."""
    if "other_task" in keys:
        return ""
    return MISSING


def _constant_columns_for_note(estimates: Estimates, placement: ColumnPlacement) -> list[str]:
    """Return the columns with one value that a note names, without the metric, which the heading names."""
    columns = []
    for column in (*placement.constant, "reference"):
        is_in_table = column == "metric" or column in placement.shown_columns
        if estimates.distinct_values(column) and not is_in_table:
            columns.append(column)
    return columns


def _frame_with_terms_as_printed(estimates: Estimates, labels: Labels) -> pd.DataFrame:
    """Return the frame of estimates with terms of models as tables of regressions print them, in their order.

    Such a text gives the number of units of the covariate: "Area, per 1,000 mm²".
    """
    if not has_coefficients(estimates):
        return estimates.frame
    texts = {
        row.term: row.full_text
        for row in distinct_term_and_factor_rows(estimates, labels)
        if row.term is not None
    }
    terms = [texts.get(str(term)) for term in estimates.frame["term"]]
    return estimates.frame.assign(term=pd.Categorical(terms, list(dict.fromkeys(texts.values()))))


def _given_or_mrmc_differences(
    all_rows: Estimates, differences: pd.DataFrame | None, adjust: str | None
) -> Estimates | None:
    """Return the differences by which estimates are underlined, None without any.

    These are the given ones, else the differences in a frame of `mrmc` if they have one reference.
    """
    if differences is not None:
        required_columns = ("method", "reference", "verdict")
        return read_estimates(differences, "differences", required_columns).with_procedure_column(adjust)
    is_of_mrmc = all_rows.subset_of_term_if_mrmc("mean") is not all_rows
    if not is_of_mrmc:
        return None
    contrasts = all_rows.subset_of_term_if_mrmc("difference")
    if len(contrasts.distinct_values("reference")) != 1:
        return None
    return contrasts


def _reference_among(means: Estimates, differences: Estimates) -> str | None:
    """Return the reference of differences if it is among the methods, else None."""
    reference = differences.only_non_missing_value("reference")
    if reference not in means.distinct_values("method"):
        return None
    return str(reference)


def _varies_in_a_row(grid: CellGrid, counts: np.ndarray) -> bool:
    """Return whether any row of a table has cells with different counts."""
    for frame_rows in grid.frame_rows:
        row_counts = counts[frame_rows[frame_rows >= 0]]
        if len(np.unique(row_counts[~np.isnan(row_counts)])) > 1:
            return True
    return False


def _heading(
    estimates: Estimates, placement: ColumnPlacement, labels: Labels, *, beside_p_values: bool
) -> str:
    """Return the heading of estimates with their interval: "IoU, mean (95% CI)".

    Beside adjusted P values (`beside_p_values`) it says so where the intervals are not adjusted.
    """
    if has_marginal_estimates(estimates):
        return heading_with_interval(
            marginal_estimates_heading(estimates, labels),
            estimates,
            beside_p_values=beside_p_values,
        )
    if has_coefficients(estimates):
        kinds = [effect_measure_label(row) for row in estimates.frame.to_dict("records")]
        kind = joined(list(dict.fromkeys(kinds)), "or").lower()
        outcome = only_outcome_text(estimates, labels)
        heading = f"{outcome}, {kind}" if outcome else capitalized(kind)
        return heading_with_interval(heading, estimates)
    name = _quantity_name_without_metric(estimates, labels)
    if "metric" in placement.constant:
        metric = estimates.distinct_values("metric")[0]
        name = f"{labels.value('metric', metric)}, {name}"
    return heading_with_interval(capitalized(name), estimates)


def _quantity_name_without_metric(estimates: Estimates, labels: Labels) -> str:
    """Return the name of the quantity that is estimated: "mean", "AUROC"."""
    term = estimates.only_term
    if term == "mean" and estimates.only_non_missing_value("figure") == "auc":
        term = "auroc"
    record = TERMS.get(str(term))
    if record is not None:
        return record.name
    parameters = [str(parameter) for parameter in estimates.distinct_values("parameter")]
    if parameters:
        return joined(parameters, "or")
    if term is not None:
        return labels.term(term)
    if is_agreement_frame(estimates.frame):
        return "agreement"
    return "estimate"


def _p_value_test_and_adjustment_note(
    estimates: Estimates, labels: Labels, *, has_column: bool, has_stars: bool
) -> str:
    """Return the test behind the P values of a column or of stars; for a column also their adjustment."""
    if has_column:
        return p_value_sentence(estimates, labels)
    source = p_value_test_text(estimates, labels)
    if has_stars and source:
        return f"{source}."
    return ""


def _raters_and_cases_note(estimates: Estimates) -> str:
    """Return the numbers of raters and cases, and which intervals hold for these raters only."""
    if not is_agreement_frame(estimates.frame) or not estimates.distinct_values("n_raters"):
        return ""
    rater = str(estimates.only_non_missing_value("over") or "rater")
    n_raters = counted_range(estimates.non_missing_numbers("n_raters"), rater)
    n_cases = counted_range(estimates.non_missing_numbers("n_cases"), "case")
    text = f"Agreement of {n_raters} on {n_cases}."
    if rater not in NOUN_OF_COLUMN or len(estimates.distinct_values("inference_to")) < 2:
        return text
    raters = NOUN_OF_COLUMN[rater]
    fixed_rows = estimates.subset(estimates.frame["inference_to"].isin(list(NOUNS_OF_FIXED_FACTORS)))
    fixed = joined([short_label(term) for term in fixed_rows.distinct_values("term")])
    return f"{text} Intervals of {fixed} apply to these {raters}, the others to {raters} in general."


def _model_note(estimates: Estimates, labels: Labels) -> str:
    """Return the note on the models of marginal estimates or coefficients, "" for other estimates."""
    if has_marginal_estimates(estimates):
        return model_and_averaging_note(estimates, labels)
    if has_coefficients(estimates):
        return paragraph(model_note(estimates, labels), where_interacting_terms_hold_note(estimates, labels))
    return ""


def _predictor_and_outcome_note(estimates: Estimates, labels: Labels) -> str:
    """Name the predictor and the outcome of areas under curves and of calibration where all share them."""
    texts = []
    for column, name in {"predictor": "Predictor", "response": "Outcome"}.items():
        value = estimates.only_non_missing_value(column)
        if value is not None:
            texts.append(f"{name}: {labels.value(column, value)}.")
    return " ".join(texts)


def _counted_noun_and_missing_adjective(estimates: Estimates) -> notes.CountedNounAndMissingAdjective:
    """Return the noun that n counts, and the adjective for missing ones."""
    if is_agreement_frame(estimates.frame):
        return notes.CountedNounAndMissingAdjective("reading", "missing or the only one of a case")
    if estimates.distinct_values("n_pairs") or has_variable_pairs(estimates):
        return notes.CountedNounAndMissingAdjective("pair", "incomplete")
    if estimates.distinct_values("n_positive"):
        return notes.CountedNounAndMissingAdjective("case", "incomplete")
    if estimates.distinct_values("n_repeats"):
        return notes.CountedNounAndMissingAdjective("repeated case", "scored once")
    if estimates.distinct_values("formula"):
        # a covariate is missing, or the score is undefined
        return notes.CountedNounAndMissingAdjective("score", "missing")
    return notes.CountedNounAndMissingAdjective("score", "undefined")


class _BoldEstimates(NamedTuple):
    """Rows of the frame that are printed in bold, and the note that says why."""

    rows: set[int]
    note: str


def _bold_estimates(
    estimates: Estimates,
    keys: Sequence[str],
    bold: bool | str | Sequence[str],
    references: Sequence[str],
    exclude: str | Sequence[str],
    labels: Labels,
    directions: Mapping[str, str] | None,
) -> _BoldEstimates:
    """Return the estimates that are the best over the columns that `bold` names, none where it is False.

    True stands for the methods, where estimates can be ordered.
    """
    if isinstance(bold, str):
        compared_columns = [bold]
    elif not isinstance(bold, bool):
        compared_columns = list(bold)
    elif bold and "method" in keys and _has_better_direction(estimates):
        compared_columns = ["method"]
    else:
        compared_columns = []
    if not isinstance(bold, bool):
        check_columns(estimates.frame[list(keys)], compared_columns, "the grouping columns")
    if not compared_columns:
        return _BoldEstimates(set(), "")
    excluded = [exclude] if isinstance(exclude, str) else list(exclude)
    if "method" in compared_columns:
        methods = estimates.distinct_values("method")
        excluded += [name for name in references if name in methods and name not in excluded]
    best = best_estimates(estimates, keys, compared_columns, excluded, directions)
    note = notes.best_note(best, compared_columns, excluded, labels, estimates.distinct_values("method"))
    term = TERMS.get(str(estimates.only_term))
    is_contrast = term is not None and term.contrast
    has_paired_differences = notes.has_paired_design(estimates) and not is_contrast
    if best.rows and has_paired_differences and _n_varies_within_strata(estimates, list(best.strata)):
        plural_name = "estimates"
        if term is not None:
            plural_name = f"{term.name}s"
        note += f" Where n differs, {plural_name} are of other cases; paired differences compare them fairly."
    return _BoldEstimates(best.rows, note)


def _has_better_direction(estimates: Estimates) -> bool:
    """Return whether one of the estimates may be better than another.

    Estimates of agreement are not ordered: larger is better for a correlation, smaller for an error.
    Correlations, coefficients and slopes of models, variances and calibration have no better direction.
    Contrasts of a model can be ordered if they compare methods with one reference.
    """
    if has_marginal_estimates(estimates) and estimates.distinct_values("reference_level"):
        # the compared level stands in the column before
        position = estimates.keys.index("reference_level")
        if estimates.keys[position - 1] != "method" or estimates.varies("reference_level"):
            return False
    is_variance = bool(estimates.distinct_values("parameter"))
    if is_agreement_frame(estimates.frame) or has_coefficients(estimates) or is_variance:
        return False
    return _WITHOUT_DIRECTION.isdisjoint(estimates.distinct_values("term"))


def _n_varies_within_strata(estimates: Estimates, strata: Sequence[str]) -> bool:
    """Return whether n differs between estimates that have the same values of some columns."""
    if not estimates.distinct_values("n"):
        return False
    counts = estimates.frame["n"]
    if not strata:
        return counts.nunique() > 1
    n_distinct_counts = estimates.frame.groupby(list(strata))["n"].nunique()
    return bool((n_distinct_counts > 1).any())
