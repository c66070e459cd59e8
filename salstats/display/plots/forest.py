"""Forest plot of subgroups with columns of text at the right."""

import re
from collections.abc import Mapping
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_choice, check_count, quoted
from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, check_rows_are_distinct, read_estimates
from salstats.display.facts import (
    count_sentence,
    heading_with_interval,
    interval_caption,
    p_value_sentence,
)
from salstats.display.plots.decrease import contrast_axis_title, estimate_with_interval_texts
from salstats.display.plots.layout.axis_limits import Limits, arrows_note, limits_of_cut_axes
from salstats.display.plots.layout.axis_sides import better_side_signs_by_panel
from salstats.display.plots.layout.captions import (
    axis_title_text,
    effect_name,
    intervals_cut_to_log_axis,
    is_ratio,
    margin_notes,
    scope_note,
    undefined_and_not_drawn_note,
)
from salstats.display.plots.layout.estimate_drawing import (
    are_in_drawn_panels,
    check_drawable,
    chosen_or_recorded_references,
    labels_of_panel_titles,
    margin_lines,
    quantity_label,
    zero_or_chance_value,
)
from salstats.display.plots.layout.figure import Figure, first_page_with_further_pages, keep_call_in_figure
from salstats.display.plots.layout.figure_rows import PlacedRows, n_closing_summaries, row_layout
from salstats.display.plots.layout.legends import method_labels_references_first
from salstats.display.plots.layout.row_panels import (
    WIDE_PANEL_MM,
    FittedRows,
    fitting_rows_with_fewest_broken_words,
    panel_fits,
    row_figure,
)
from salstats.display.plots.layout.text_fit import LABEL_CHARS, crossed_labels, indented, short_labels
from salstats.display.plots.layout.theme import COLUMN_MM, PALETTE
from salstats.display.text.covariate_units import (
    coefficients_per_power_of_ten_units,
    has_coefficients,
    without_intercepts,
)
from salstats.display.text.format import (
    MINUS,
    STYLES,
    count_range_text,
    count_text,
    decimals_of,
    p_text_adjusted_if_any,
    p_value_adjusted_if_any,
)
from salstats.display.text.interactions import where_interacting_terms_hold_note
from salstats.display.text.labels import SUMMARY_LABELS, Labels
from salstats.display.text.margins import pairs_as_methods_if_several_references
from salstats.display.text.models import (
    has_marginal_estimates,
    marginal_estimates_heading,
    model_and_averaging_note,
    model_note,
    numeric_model_variables_with_one_value,
    only_outcome_text,
    variable_and_level_of_each_term,
    variances_as_standard_deviations,
)
from salstats.display.text.terms import with_reference_rows
from salstats.display.text.vocabulary import CONTRASTS, TERMS
from salstats.errors import SalstatsError, Setting, ValueRangeError
from salstats.stats.agreement.records import common_kind_label, is_agreement_frame

#: Decimals of ratios, and of terms that have no own number of decimals.
_RATIO_DIGITS = 2
_DEFAULT_DIGITS = 3
#: Names of the columns for the variable of a model's term, which is a heading, and its level, a row below it.
_VARIABLE = "_variable"
_LEVEL = "_level"
#: The values of the one or two columns that name a row; a heading has only that of the first of two.
_RowKey = tuple[Any, ...]


class _LabelledTermsAndReferences(NamedTuple):
    """Estimates whose terms are labels.

    Attributes
    ----------
    estimates : Estimates
        The estimates, and rows of reference levels, at the line of no effect.
    is_reference : ndarray of bool
        Whether each row is a reference level.
    reference_note : str
        Sentence on reference levels that have no row, or "".
    """

    estimates: Estimates
    is_reference: np.ndarray
    reference_note: str


class _RowLabel(NamedTuple):
    """Label of a row, and whether it is bold, as that of a heading or of a group with a single row."""

    text: str
    is_bold: bool


# a figure is put together layer by layer; the branches are its optional parts
@keep_call_in_figure
def plot_forest(  # noqa: C901
    estimates: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    null: float | str | None = "auto",
    limits: Limits | None = None,
    p_values: bool = False,
    intercept: bool = False,
    digits: int | None = None,
    style: str = "nature",
    width: float = COLUMN_MM,
) -> Figure:
    """Draw a forest: a row per subgroup, with n, estimate and interval as text beside its mark.

    Parameters
    ----------
    estimates : DataFrame
        Any estimates frame of one term; of a frame from `mrmc`, the differences. Its grouping columns with
        more than one value name the rows; with two of them, values of the first are headings. Metrics become
        panels below each other. Of a model's effects each term has a row, levels below their factor, the
        reference level (column `reference_level`) with a hollow mark at the line of no effect; of
        `variance_components` each SD, in units of the score, with the number of groups.
    labels : mapping, optional
        Names and order of the subgroups, such as `{"size": {"small": "Small", "large": "Large"}}`.
    null : float, "auto" or None
        Where a vertical line stands: by default at 0 for differences, correlations and coefficients, at 1
        for ratios, at 0.5 for an AUROC, and nowhere for means.
    limits : pair of float or mapping, optional
        Ends of the axis of every panel, or by metric: `{"iou": (-0.4, 0.2)}`. A bar that goes on beyond them
        ends in an arrow; an estimate beyond them is an arrow alone. By default an axis of percentage
        decreases leaves out numbers more than ten times as far from 0 as half of its rows reach; other axes
        hold all numbers.
    p_values : bool
        Write the P values too, adjusted ones where the frame has them.
    intercept : bool
        Draw the intercepts of models too.
    digits : int, optional
        Decimals of estimate and limits; by default 1 for percent, 2 for ratios (more for those below 0.1,
        which have two significant digits), else 3.
    style : {"nature", "radiology", "ama", "brackets"}
        How numbers are written.
    width : float
        Width in mm that the text is laid out for, and the figure's own.

    Returns
    -------
    Figure
        The figure, or its first page. Where text would leave the marks less than 25 mm, labels are wrapped;
        if that is not enough, numbers of cases move to the caption, then intervals below their estimates. Its
        `data` are the rows of all panels, including those without an estimate and those of reference levels,
        with `panel`, `row_label` and `y` (in mm, 0 at the top and negative below).
        "Overall" and "Average" stand last, set apart, as diamonds.

    Raises
    ------
    ColumnError
        No column `estimate`, or one that should be numeric and is not.
    SalstatsError
        Three or more columns to name the rows; two rows for one place; estimates that are all missing;
        no P values where they are asked for; only intercepts; an unknown option.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou' and method == 'gradcam'")
    >>> scores = scores.assign(size=["large" if a > 0.15 else "small" for a in scores["area_ratio"]])
    >>> means = ss.summarize(scores, by=["size", "task"], n_replicates=100)
    >>> figure = ss.plot_forest(means, labels={"size": {"small": "Small", "large": "Large"}})
    >>> figure.labels.x
    'Mean (95% CI)'
    """
    check_choice(style, tuple(STYLES), "style")
    subgroup_estimates = read_estimates(estimates).subset_of_term_if_mrmc("difference")
    frame_labels = Labels(labels, subgroup_estimates.frame)
    if has_coefficients(subgroup_estimates):
        if not intercept:
            subgroup_estimates = without_intercepts(subgroup_estimates)
        subgroup_estimates = coefficients_per_power_of_ten_units(subgroup_estimates)
    # each of these changes estimates of one kind and returns others as they are
    with_deviations = variances_as_standard_deviations(subgroup_estimates, frame_labels)
    with_pairs = pairs_as_methods_if_several_references(with_deviations, frame_labels)
    labelled_terms = _estimates_with_labelled_terms_and_references(with_pairs, frame_labels)
    prepared = labelled_terms.estimates
    row_columns = _columns_naming_forest_rows(prepared)
    key_columns = list(row_columns)
    if prepared.distinct_values("metric"):
        key_columns.insert(0, "metric")
    check_rows_are_distinct(prepared, key_columns)
    are_ratios = is_ratio(prepared)
    cut_note = ""
    if are_ratios:
        prepared, cut_note = intervals_cut_to_log_axis(prepared)
    estimates_and_references = prepared
    # the notes describe what was estimated, which reference levels were not
    prepared = estimates_and_references.subset(~labelled_terms.is_reference)
    check_drawable(prepared)
    defined_estimates = prepared.subset(prepared.has_estimate)
    term = None
    if "term" not in row_columns:
        term = defined_estimates.only_term
    texts_of_panels = _labels_of_panel_titles(defined_estimates, frame_labels, row_columns, term)
    is_in_panel = are_in_drawn_panels(estimates_and_references, list(texts_of_panels))
    panel_estimates = estimates_and_references.subset(is_in_panel)
    is_reference = labelled_terms.is_reference[is_in_panel]
    frame = panel_estimates.frame.assign(panel=crossed_labels(panel_estimates.frame, texts_of_panels))
    methods: dict[Any, str] = {}
    references = chosen_or_recorded_references(prepared)
    if "method" in row_columns:
        # methods have the marks and colours that they have in other figures
        methods = method_labels_references_first(frame_labels, frame["method"], references)
        texts = frame["method"].map(methods)
        frame["method_label"] = pd.Categorical(texts, list(methods.values()), ordered=True)
    if is_reference.any():
        frame["fill"] = np.where(is_reference, "white", PALETTE[0])
    decimals = _n_decimals(digits, term, are_ratios)
    heading = _estimate_heading(defined_estimates, frame_labels, term, are_ratios)
    columns = _text_columns(
        panel_estimates,
        heading=heading,
        digits=_n_decimals_of_rows(panel_estimates, decimals, more_for_small=are_ratios and digits is None),
        p_values=p_values,
        style=style,
    )
    columns = _with_reference_texts(columns, heading, is_reference)
    frame, rows, fitted_columns = _fitted_rows(frame, frame_labels, row_columns, columns, heading, width)
    p_value_note = ""
    if p_values:
        p_value_note = p_value_sentence(prepared, frame_labels)
    axis_ends = limits_of_cut_axes(frame, limits, term, log=are_ratios)
    null_line = _null_position(null, defined_estimates, term, are_ratios)
    has_headings = len(row_columns) > 1
    is_summary: pd.Series | bool = False
    if row_columns:
        is_summary = frame[row_columns].astype(TEXT).isin(SUMMARY_LABELS).any(axis=1)
    # columns that no row names, so that the note of the scope does
    unnamed_columns = []
    if "task" not in row_columns:
        unnamed_columns.append("task")
    unnamed_columns += numeric_model_variables_with_one_value(prepared, row_columns)
    figure = row_figure(
        frame.assign(last=is_summary),
        rows,
        x_title=_axis_title(defined_estimates, frame_labels, term, are_ratios),
        notes=[
            scope_note(frame, frame_labels, unnamed_columns),
            interval_caption(prepared, labels=frame_labels),
            arrows_note(frame, axis_ends, decimals, style, names_beyond=False),
            _models_note(prepared, frame_labels),
            labelled_terms.reference_note,
            _heading_minus_reference_row_note(row_columns),
            where_interacting_terms_hold_note(subgroup_estimates, frame_labels),
            _observation_counts_note(
                prepared,
                panel_estimates.subset(~is_reference),
                is_n_column_left_out="n" in columns and "n" not in fitted_columns,
            ),
            p_value_note,
            *margin_notes(prepared, frame_labels, style, has_marks=True),
            cut_note,
            undefined_and_not_drawn_note(
                prepared, is_in_panel[~labelled_terms.is_reference], frame_labels, key_columns
            ),
        ],
        guides=frame[["panel"]].drop_duplicates().assign(guide=null_line).dropna(),
        margins=margin_lines(prepared, frame),
        sides=better_side_signs_by_panel(frame, term),
        limits=axis_ends,
        methods=methods,
        references=references,
        labels=frame_labels,
        legend=False,
        columns=fitted_columns,
        width=width,
        is_log=are_ratios,
        striped=not has_headings,
    )
    label_style: dict[str, Any] = {}
    if has_headings:
        label_style = {"ha": "left", "ma": "left"}
    entries = _row_labels(_row_keys(frame, row_columns), frame_labels, row_columns, LABEL_CHARS)
    weights = np.where([entry.is_bold for entry in entries.values()], "bold", "normal")
    pages = []
    for page in figure.pages:
        page_labels = p9.element_text(weight=list(weights[rows.is_row_on_page(page)]), **label_style)
        pages.append(page.alone() + p9.theme(axis_text_y=page_labels))
    return first_page_with_further_pages(pages)


def _models_note(estimates: Estimates, labels: Labels) -> str:
    """Return the sentence on the models of marginal estimates or of coefficients, "" for other estimates."""
    if has_coefficients(estimates) and not has_marginal_estimates(estimates):
        return model_note(estimates, labels)
    return model_and_averaging_note(estimates, labels)


def _observation_counts_note(
    estimates: Estimates, panel_estimates: Estimates, *, is_n_column_left_out: bool
) -> str:
    """Return the sentence on numbers of observations that the rows of a forest do not give.

    `panel_estimates` are the estimates with a row, and `is_n_column_left_out` is whether the column of their
    numbers has no room.
    """
    if has_marginal_estimates(estimates):
        return count_sentence(estimates)
    if estimates.distinct_values(_VARIABLE):
        # the rows are terms of one model, which have its n in common
        return count_sentence(estimates, "observation", "incomplete")
    if estimates.distinct_values("n_pairs") and (estimates.numbers("n") > estimates.numbers("n_units")).any():
        # n counts pairs, several of a unit; the caption gives both numbers
        return count_sentence(estimates, "pair", "incomplete")
    if is_n_column_left_out:
        return f"n = {count_range_text(panel_estimates.numbers('n'))}."
    return ""


def _estimates_with_labelled_terms_and_references(
    estimates: Estimates, labels: Labels
) -> _LabelledTermsAndReferences:
    """Return estimates of models with labelled terms in the order of the labels, and their reference levels.

    Where only the term tells rows apart, columns for its variable and its level are added, and rows of the
    reference levels. Other estimates are returned as they are.
    """
    if not estimates.distinct_values("formula") or not estimates.distinct_values("term"):
        return _LabelledTermsAndReferences(estimates, np.zeros(len(estimates), dtype=bool), "")
    model_columns = [*estimates.keys, "formula"]
    is_one_model = not any(estimates.varies(column) for column in model_columns)
    rows = estimates
    if is_one_model:
        rows = with_reference_rows(estimates, model_columns)
    # label of the variable and of the level of each term, in the order of the labels
    names_of_terms = variable_and_level_of_each_term(rows, model_columns, labels)
    order_of_terms = list(names_of_terms.variable_and_level)
    positions = rows.frame["term"].map(order_of_terms.index)
    ordered = rows.take(np.argsort(positions, kind="stable"))
    is_reference = ~ordered.frame["term"].isin(estimates.distinct_values("term")).to_numpy()
    variables = []
    levels = []
    terms = []
    for term in ordered.frame["term"]:
        variable, level = names_of_terms.variable_and_level[term]
        variables.append(variable)
        levels.append(level)
        # a term without a level is named by its variable alone
        terms.append(": ".join(text for text in (variable, level) if text))
    frame = ordered.frame.assign(term=terms)
    frame["estimate"] = frame["estimate"].mask(is_reference, 1.0 if is_ratio(ordered) else 0.0)
    if is_one_model and len(frame) > 1:
        frame = frame.assign(**{_VARIABLE: variables, _LEVEL: levels})
    return _LabelledTermsAndReferences(
        estimates.with_other_frame(frame), is_reference, names_of_terms.reference_note
    )


def _columns_naming_forest_rows(estimates: Estimates) -> list[str]:
    """Return the columns that name the rows, two at most: those with several values, else the first of all.

    Raises if three columns have several values; metrics are panels and do not count.
    """
    if estimates.distinct_values(_VARIABLE):
        return [_VARIABLE, _LEVEL]
    columns = [key for key in estimates.keys if key != "metric"]
    columns += [column for column in ("formula", "term") if estimates.distinct_values(column)]
    varying_columns = [column for column in columns if estimates.varies(column)]
    if len(varying_columns) > 2:
        raise SalstatsError(
            f"estimates is grouped by {quoted(varying_columns)}, and a forest has rows for two of them",
            hint=f"keep one value of the others, as in estimates.query(\"{varying_columns[0]} == '...'\")",
            column=varying_columns[0],
        )
    return varying_columns or columns[:1]


def _labels_of_panel_titles(
    defined_estimates: Estimates, labels: Labels, row_columns: list[str], term: str | None
) -> dict[str, dict[Any, str]]:
    """Return the labels that make up the titles of panels, by column and value."""
    further_columns = []
    if "method" not in row_columns and defined_estimates.only_non_missing_value("method") is not None:
        # no row and no legend names the method
        further_columns.append("method")
    return labels_of_panel_titles(defined_estimates, labels, None, term, *further_columns)


def _row_keys(frame: pd.DataFrame, row_columns: list[str]) -> list[_RowKey]:
    """Return the values of the columns that name the row of each estimate, "" where one is missing."""
    if not row_columns:
        return [()] * len(frame)
    values = [frame[column].astype(object).where(frame[column].notna(), "") for column in row_columns]
    return list(zip(*values, strict=True))


def _fitted_rows(
    frame: pd.DataFrame,
    labels: Labels,
    row_columns: list[str],
    columns: Mapping[str, list[str]],
    heading: str,
    width: float,
) -> FittedRows:
    """Return rows and columns of text that leave 25 mm for the marks if possible.

    Where labels on several lines leave them less, the column of numbers of cases is left out, since the
    caption can have them; then the intervals in the column `heading` stand below their estimates.
    """
    rows_for_chars = partial(_place_rows, frame, labels, row_columns)
    fitted = fitting_rows_with_fewest_broken_words(rows_for_chars, columns, width)
    if "n" in columns and not panel_fits(fitted.rows, fitted.columns, width, WIDE_PANEL_MM):
        columns = {name: texts for name, texts in columns.items() if name != "n"}
        fitted = fitting_rows_with_fewest_broken_words(rows_for_chars, columns, width)
    if not panel_fits(fitted.rows, fitted.columns, width, WIDE_PANEL_MM):
        columns = {**columns, heading: _texts_with_interval_below(columns[heading])}
        rows_for_chars = partial(_place_rows, frame, labels, row_columns, text_lines=2)
        fitted = fitting_rows_with_fewest_broken_words(rows_for_chars, columns, width)
    return fitted


def _texts_with_interval_below(texts: list[str]) -> list[str]:
    """Return texts of estimates whose interval, in brackets, stands on a line of its own."""
    space_before_bracket = r" (?=[(\[])"
    return [re.sub(space_before_bracket, "\n", text, count=1) for text in texts]


def _place_rows(
    frame: pd.DataFrame, labels: Labels, row_columns: list[str], line_chars: float, *, text_lines: int = 1
) -> PlacedRows:
    """Return rows of a forest and its frame with positions.

    `line_chars` is the length of a line of a label, and `text_lines` the number of lines of the text beside
    the label.
    """
    keys = _row_keys(frame, row_columns)
    entries = _row_labels(keys, labels, row_columns, line_chars)
    has_headings = len(row_columns) > 1
    # a figure of a single row has no columns that name it
    first_values = [key[0] for key in entries if key]
    # headings have no text beside them
    lines_of_rows = [1] * len(entries)
    for position, key in enumerate(entries):
        if key in keys:
            lines_of_rows[position] = text_lines
    rows = row_layout(
        list(entries),
        [entry.text for entry in entries.values()],
        n_closing_rows=n_closing_summaries(first_values),
        text_lines=lines_of_rows,
        starts_group=[entry.is_bold or not has_headings for entry in entries.values()],
    )
    row_labels = []
    for key in keys:
        named_values = [
            (column, value) for column, value in zip(row_columns, key, strict=True) if value != ""
        ]
        row_labels.append(", ".join(labels.value(column, value) for column, value in named_values))
    return PlacedRows(frame.assign(y=rows.centres_mm_of(keys), row_label=row_labels), rows)


def _row_labels(
    keys: list[_RowKey], labels: Labels, row_columns: list[str], line_chars: float
) -> dict[_RowKey, _RowLabel]:
    """Return the label of each row from the top down, by the values that name it.

    `keys` are the values that name the row of each estimate. With two columns, values of the first are
    headings, which are rows of their own with a key of one value, and values of the second are indented. A
    group without levels of its own, or a summary of a single row, has a bold row instead.
    """
    if not row_columns or not keys:
        return {(): _RowLabel("", is_bold=False)}
    values_of_columns: list[Any] = [list(values) for values in zip(*keys, strict=True)]
    if row_columns == [_VARIABLE, _LEVEL]:
        # terms are in the order of their labels already, and texts would be sorted by the alphabet
        values_of_columns = [
            pd.Categorical(values, list(dict.fromkeys(values))) for values in values_of_columns
        ]
    outer_labels = short_labels(labels, row_columns[0], values_of_columns[0], line_chars)
    if len(row_columns) == 1:
        return {
            (value,): _RowLabel(text, is_bold=str(value) in SUMMARY_LABELS)
            for value, text in outer_labels.items()
        }
    inner_labels = short_labels(labels, row_columns[1], values_of_columns[1], line_chars)
    if row_columns[1] == "reference_level":
        # each level is subtracted from the one in the heading
        inner_labels = {value: f"{MINUS} {text}" for value, text in inner_labels.items()}
    entries: dict[_RowKey, _RowLabel] = {}
    for group, text in outer_labels.items():
        members = [value for value in inner_labels if (group, value) in keys]
        is_summary = str(group) in SUMMARY_LABELS and len(members) == 1
        # the only row of such a group has no level, or one of the same name
        is_undivided = all(str(value) in ("", str(group)) for value in members)
        if is_summary or is_undivided:
            for value in members:
                entries[group, value] = _RowLabel(text, is_bold=True)
        else:
            entries[(group,)] = _RowLabel(text, is_bold=True)
            for value in members:
                entries[group, value] = _RowLabel(indented(inner_labels[value]), is_bold=False)
    return entries


def _null_position(
    null: float | str | None, estimates: Estimates, term: str | None, are_ratios: bool
) -> float:
    """Return the position of the vertical line, NaN for no line; raise unless `null` is a valid position."""
    if null is None:
        return float("nan")
    if isinstance(null, str):
        check_choice(null, ("auto",), "null")
        return _no_effect_value(estimates, term, are_ratios)
    is_number = isinstance(null, Real) and not isinstance(null, bool)
    is_finite_number = is_number and abs(null) < float("inf")
    if not is_finite_number or (are_ratios and null <= 0):
        condition = ""
        if are_ratios:
            condition = " above 0"
        raise ValueRangeError(
            Setting("null"),
            f" must be a number{condition}, 'auto' or None, not {null!r}",
            value=null,
        )
    return float(null)


def _no_effect_value(estimates: Estimates, term: str | None, are_ratios: bool) -> float:
    """Return the value of estimates that means no effect, NaN where there is none."""
    if are_ratios:
        return 1.0
    if has_marginal_estimates(estimates) and not _has_slopes_or_contrasts(estimates):
        return float("nan")
    if estimates.distinct_values("formula"):
        return 0.0
    return zero_or_chance_value("", term)


def _has_slopes_or_contrasts(estimates: Estimates) -> bool:
    """Return whether marginal estimates are slopes or contrasts, not means."""
    return bool(estimates.distinct_values("term") or estimates.distinct_values("reference_level"))


def _n_decimals(digits: int | None, term: str | None, are_ratios: bool) -> int:
    """Return the number of decimals of estimates and limits as text, by default that of the term."""
    if digits is not None:
        return check_count(digits, "digits", 0)
    if are_ratios:
        return _RATIO_DIGITS
    if term in CONTRASTS:
        return TERMS[term].digits
    return _DEFAULT_DIGITS


def _n_decimals_of_rows(estimates: Estimates, digits: int, *, more_for_small: bool) -> list[int]:
    """Return the decimals of each row; with `more_for_small` two significant digits below 0.1."""
    decimals = []
    for number in estimates.numbers("estimate"):
        n_decimals = digits
        if more_for_small and 0 < number < 0.1:
            n_decimals = decimals_of(number, 2)
        decimals.append(n_decimals)
    return decimals


def _heading_minus_reference_row_note(row_columns: list[str]) -> str:
    """Return the sentence on the direction of differences between levels that are headings and rows."""
    if row_columns[1:] == ["reference_level"]:
        return "Differences are the heading minus the row."
    return ""


def _estimate_heading(estimates: Estimates, labels: Labels, term: str | None, are_ratios: bool) -> str:
    """Return the heading of the column of estimates."""
    if estimates.distinct_values("formula") or are_ratios:
        heading = effect_name(estimates, are_ratios)
    elif term in CONTRASTS:
        heading = TERMS[term].heading
    else:
        heading = quantity_label(None, term, labels)
    return heading_with_interval(heading, estimates)


def _text_columns(
    estimates: Estimates, heading: str, digits: list[int], p_values: bool, style: str
) -> dict[str, list[str]]:
    """Return columns of text by heading: n, estimate with interval, and P values if `p_values`."""
    columns = {}
    # marginal means, and terms of one model, all have the n of the model
    is_of_model = has_marginal_estimates(estimates) or bool(estimates.distinct_values(_VARIABLE))
    if estimates.distinct_values("n") and not is_of_model:
        columns["n"] = [count_text(n) for n in estimates.numbers("n")]
    columns[heading] = estimate_with_interval_texts(estimates, digits, style)
    if p_values:
        rows = estimates.frame.to_dict("records")
        if all(np.isnan(p_value_adjusted_if_any(row)) for row in rows):
            raise SalstatsError(
                Setting("p_values", True),
                " needs a column p_value or p_adjusted with values",
                column="p_value",
            )
        columns["P"] = [p_text_adjusted_if_any(row, style) for row in rows]
    return columns


def _with_reference_texts(
    columns: Mapping[str, list[str]], heading: str, is_reference: np.ndarray
) -> dict[str, list[str]]:
    """Return columns of text in which rows of reference levels have "Reference" below `heading` alone."""
    texts_of_columns = {}
    for name, texts in columns.items():
        text_of_reference = "Reference" if name == heading else ""
        texts_of_columns[name] = list(np.where(is_reference, text_of_reference, texts))
    return texts_of_columns


def _axis_title(estimates: Estimates, labels: Labels, term: str | None, are_ratios: bool) -> str:
    """Return the title of the horizontal axis: quantity, outcome or reference, and interval."""
    if term in CONTRASTS:
        return contrast_axis_title(estimates, labels, term)
    if has_marginal_estimates(estimates) and not estimates.distinct_values("term"):
        return axis_title_text(marginal_estimates_heading(estimates, labels), estimates)
    if estimates.distinct_values("formula") or are_ratios:
        effect = effect_name(estimates, are_ratios)
        if term:
            effect += f" of {labels.term(term)}"
        # metrics are named by the titles of panels
        if not estimates.distinct_values("metric") and only_outcome_text(estimates, labels):
            effect += f", {only_outcome_text(estimates, labels)}"
        return axis_title_text(effect, estimates)
    if term is None and is_agreement_frame(estimates.frame):
        return axis_title_text(common_kind_label(estimates.distinct_values("term")) or "Agreement", estimates)
    return axis_title_text(
        quantity_label(estimates.only_non_missing_value("metric"), term, labels), estimates
    )
