"""Models in the columns of a regression table: their headings, and the statistics at the foot."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.tables.grid import reject_model_estimates_without_required_columns
from salstats.display.tables.placement import Key, key_of
from salstats.display.text.format import (
    MINUS,
    MISSING,
    count_text,
    fixed_text,
    interval_text,
    is_missing,
    number_text,
    plural,
)
from salstats.display.text.labels import Labels
from salstats.display.text.terms import (
    COVARIATE_UNITS,
    distinct_term_and_factor_rows,
    random_group_text,
    right_side_columns,
    right_side_text,
)
from salstats.errors import Call, ColumnError, Message, SalstatsError, Setting
from salstats.stats.adjust import INTERCEPT
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.linear import GAUSSIAN
from salstats.stats.models.random_effect_summaries import RESIDUAL

Frames: TypeAlias = pd.DataFrame | Sequence[pd.DataFrame] | Mapping[str, pd.DataFrame]
#: Column with the name of each row's frame, where frames were given by name.
FRAME_NAME_COLUMN = "_name"
_RESIDUAL_SD = "Residual SD"


class ModelCell(NamedTuple):
    """The position of a model in a table: key of its group of rows, and its column."""

    group: Key
    column: int


#: Rows at the foot: texts by heading and by the model's cell.
FootRows: TypeAlias = dict[str, dict[ModelCell, str]]


class Statistic(NamedTuple):
    """A column of `fit_statistics` that is shown at the foot.

    Statistics of the likelihood have one decimal, and are shown only of models without R².
    """

    column: str
    heading: str
    of_likelihood: bool = False


_STATISTICS = (
    Statistic("r_squared", "R²"),
    Statistic("adj_r_squared", "Adjusted R²"),
    Statistic("sigma", _RESIDUAL_SD),
    Statistic("alpha", "Correlation within units"),
    Statistic("scale", "Scale"),
    Statistic("precision", "Precision"),
    Statistic("log_lik", "Log-likelihood", of_likelihood=True),
    Statistic("aic", "AIC", of_likelihood=True),
)


def read_and_stack(frames: Frames, required_columns: Sequence[str], name: str) -> Estimates:
    """Return the rows of one or several frames as one; names of frames stand in a first column."""
    reject_model_estimates_without_required_columns(frames, name, required_columns)
    readings: list[Estimates] = []
    if isinstance(frames, Mapping):
        for key, frame in frames.items():
            reading = read_estimates(frame, name, required_columns)
            readings.append(reading.with_other_frame(reading.frame.assign(**{FRAME_NAME_COLUMN: str(key)})))
    elif isinstance(frames, pd.DataFrame):
        readings.append(read_estimates(frames, name, required_columns))
    elif isinstance(frames, Sequence) and not isinstance(frames, str):
        readings += [read_estimates(frame, name, required_columns) for frame in frames]
    else:
        raise SalstatsError(
            f"{name} must be a frame, a list of frames or a mapping from names to frames, "
            f"not {type(frames).__name__}",
            option=name,
        )
    if not readings:
        raise SalstatsError(f"{name} holds no frame", option=name)
    joined_frame = pd.concat([reading.frame for reading in readings], ignore_index=True)
    first_columns = []
    if FRAME_NAME_COLUMN in joined_frame.columns:
        first_columns.append(FRAME_NAME_COLUMN)
    for reading in readings:
        first_columns += [key for key in reading.keys if key != "reference"]
    columns = list(dict.fromkeys([*first_columns, *joined_frame.columns]))
    return readings[0].with_other_frame(joined_frame[columns])


def terms_shown(frame: pd.DataFrame, keep: Sequence[str] | None, intercept: bool) -> list[str]:
    """Return the terms that a table shows: those of `keep`, else all, without the intercept by default."""
    terms = [str(term) for term in dict.fromkeys(frame["term"])]
    if keep is None:
        return [term for term in terms if term != INTERCEPT or intercept]
    selection = [keep] if isinstance(keep, str) else list(keep)
    unknown = [term for term in selection if term not in terms]
    if unknown:
        raise ColumnError(
            Setting("keep"),
            f" names {unknown[0]!r}, which is no term of the models: {quoted(terms)}",
            value=unknown[0],
            choices=terms,
        )
    return selection


def columns_identifying_models(estimates: Estimates) -> list[str]:
    """Return the columns whose values together identify a model."""
    columns = list(estimates.keys)
    for column in estimates.existing_columns(["reference", "formula"]):
        if column not in columns:
            columns.append(column)
    return columns


def hidden_variables_of_each_formula(estimates: Estimates) -> dict[str, tuple[str, ...]]:
    """Return, for each formula, its variables that occur in no term of its rows."""
    if not estimates.distinct_values("formula"):
        return {}
    hidden = {}
    for formula, rows in estimates.frame.groupby("formula", sort=False):
        all_variables = right_side_columns(str(formula))
        shown_variables = right_side_columns(str(formula), rows["term"].astype(TEXT).tolist())
        hidden[str(formula)] = tuple(name for name in all_variables if name not in shown_variables)
    return hidden


def is_row_of_gap_model(estimates: Estimates) -> NDArray[np.bool_]:
    """Return, for each row, whether its model is a gap model: of the gap between a reference and a method."""
    references = estimates.row_values("reference")
    return np.array([not is_missing(reference) for reference in references], dtype=bool)


class ModelColumns(NamedTuple):
    """The columns of a regression table that models stand in.

    Attributes
    ----------
    column_of_row : list of int
        The column of each row of a frame of terms.
    headings : list of tuple of str
        The headings of each column from the outermost.
    formulas : list of str
        The right sides of "Model 1" and so on, empty where formulas are not among the headings.
    """

    column_of_row: list[int]
    headings: list[Key]
    formulas: list[str]


def models_to_columns(
    estimates: Estimates, column_keys: Sequence[str], groups: Sequence[str], labels: Labels
) -> ModelColumns:
    """Return the columns of models: one for each name, outcome, values of `column_keys`, and formula.

    Models that differ in the formula only share a column unless they have a term in common, which would
    stand twice in one cell.
    """
    frame = estimates.frame
    levels = _row_heading_texts_by_level(estimates, column_keys, labels)
    rows_of_table = [key_of(frame, row, [*groups, "term"]) for row in range(len(frame))]
    headings = _column_headings_by_frame_row(levels)
    formulas: list[str] = []
    distinct_cells = set(zip(headings, rows_of_table, strict=True))
    if len(distinct_cells) < len(frame) and estimates.distinct_values("formula"):
        right_sides = [right_side_text(str(formula), labels) for formula in estimates.row_values("formula")]
        formulas = list(dict.fromkeys(right_sides))
        levels["formula"] = [f"Model {formulas.index(side) + 1}" for side in right_sides]
        headings = _column_headings_by_frame_row(levels)
    _check_cells_hold_one_estimate(frame, headings, rows_of_table)

    ordered_texts = {level: list(dict.fromkeys(texts)) for level, texts in levels.items()}
    ordered_texts["grouping"] = _distinct_model_texts_in_label_order(
        estimates, levels["grouping"], column_keys, labels
    )

    def sort_key(heading: Key) -> list[int]:
        """Return the position of the text of each level among the texts of that level."""
        return [ordered_texts[level].index(text) for level, text in zip(levels, heading, strict=True)]

    columns = sorted(set(headings), key=sort_key)
    is_shown = [_is_heading_level_shown(estimates, level, levels) for level in levels]
    shown_headings = [tuple(compress(heading, is_shown)) for heading in columns]
    column_of_row = [columns.index(heading) for heading in headings]
    return ModelColumns(column_of_row, shown_headings, formulas)


def _column_headings_by_frame_row(levels: Mapping[str, list[str]]) -> list[Key]:
    """Return a tuple of the texts of all levels for each row."""
    return list(zip(*levels.values(), strict=True))


def _check_cells_hold_one_estimate(
    frame: pd.DataFrame, headings: Sequence[Key], rows_of_table: Sequence[Key]
) -> None:
    """Raise SalstatsError where two estimates would stand in one cell."""
    first_rows: dict[Hashable, int] = {}
    for row, cell in enumerate(zip(headings, rows_of_table, strict=True)):
        first_row = first_rows.setdefault(cell, row)
        if first_row == row:
            continue
        heading, row_of_table = cell
        # the first text of a heading is the kind of estimate
        description = ", ".join(text for text in (*heading[1:], *row_of_table) if text)
        raise SalstatsError(
            f"two estimates in one cell: term {frame['term'].iloc[row]!r} of rows {first_row} and {row} "
            f"({description})",
            hint="keep one of them, or name the frames as in {'Model 1': terms, ...}",
            column="term",
            rows=(first_row, row),
        )


def _distinct_model_texts_in_label_order(
    estimates: Estimates, grouping_texts: Sequence[str], column_keys: Sequence[str], labels: Labels
) -> list[str]:
    """Return the distinct texts of grouping values in the order of labels, those of gap models last."""
    codes_of_columns = [labels.categorical(estimates.frame, column).codes for column in column_keys]
    is_gap_row = is_row_of_gap_model(estimates)

    def sort_key(row: int) -> tuple[int, ...]:
        return (int(is_gap_row[row]), *(int(codes[row]) for codes in codes_of_columns))

    rows = sorted(range(len(estimates)), key=sort_key)
    return list(dict.fromkeys(grouping_texts[row] for row in rows))


def _row_heading_texts_by_level(
    estimates: Estimates, grouping_columns: Sequence[str], labels: Labels
) -> dict[str, list[str]]:
    """Return the heading text of each row by level, the outermost level first.

    Levels are the "kind" of estimate, the "name" of a frame and the "outcome" where frames have them, and the
    "grouping", which are the values of `grouping_columns`.
    """
    rows = estimates.frame.to_dict("records")
    levels = {"kind": [effect_measure_label(row) for row in rows]}
    if estimates.distinct_values(FRAME_NAME_COLUMN):
        levels["name"] = [str(name) for name in estimates.row_values(FRAME_NAME_COLUMN)]
    if estimates.distinct_values("formula"):
        outcomes = [str(formula).partition("~")[0].strip() for formula in estimates.row_values("formula")]
        levels["outcome"] = [labels.term(outcome) for outcome in outcomes]
    has_one_kind = len(set(levels["kind"])) == 1
    has_one_outcome = len(set(levels.get("outcome", []))) == 1
    if has_one_kind and has_one_outcome:
        # a single outcome stands in front of the kind of estimate
        outcome = levels.pop("outcome")[0]
        kind = levels["kind"][0]
        levels["kind"] = [f"{outcome}, {kind[0].lower()}{kind[1:]}"] * len(estimates)
    levels["grouping"] = [_grouping_values_text(row, grouping_columns, labels) for row in rows]
    return levels


def effect_measure_label(coefficient_row: Mapping[Any, Any]) -> str:
    """Return the kind of effect in a row of coefficients: "Coefficient", "Odds ratio"."""
    if isinstance(coefficient_row.get("average"), str):
        return "Average marginal effect"
    link = FAMILIES.get(str(coefficient_row.get("family")), GAUSSIAN).link
    if coefficient_row.get("exponentiated") is True:
        return link.ratio
    return link.effect


def _grouping_values_text(row: Mapping[Any, Any], column_keys: Sequence[str], labels: Labels) -> str:
    """Return the values of grouping columns in a row, a method with a reference as their difference."""
    texts = {}
    for column in column_keys:
        value = row[column]
        if not is_missing(value):
            texts[column] = labels.value(column, value)
    reference = row.get("reference")
    if "method" in texts and not is_missing(reference):
        texts["method"] = f"{labels.value('reference', reference)} {MINUS} {texts['method']}"
    return ", ".join(texts.values())


def _is_heading_level_shown(
    estimates: Estimates, heading_level: str, texts_by_heading_level: Mapping[str, list[str]]
) -> bool:
    """Return whether headings show the texts of a level.

    Outcomes are left out where each frame has a name and one outcome; grouping values where all rows have
    the same, unless it is a gap.
    """
    texts = texts_by_heading_level[heading_level]
    if heading_level == "outcome" and "name" in texts_by_heading_level:
        names = texts_by_heading_level["name"]
        names_and_outcomes = set(zip(names, texts, strict=True))
        return len(names_and_outcomes) > len(set(names))
    if heading_level == "grouping":
        return len(set(texts)) > 1 or bool(is_row_of_gap_model(estimates).any())
    return True


def first_row_of_each_model_by_cell(
    estimates: Estimates, column_of_row: Sequence[int], groups: Sequence[str]
) -> dict[ModelCell, list[int]]:
    """Return, for each group and column, the first row of each model in it."""
    frame = estimates.frame
    columns = columns_identifying_models(estimates)
    first_rows: dict[ModelCell, dict[Key, int]] = {}
    for row, column in enumerate(column_of_row):
        cell = ModelCell(key_of(frame, row, groups), column)
        model = key_of(frame, row, columns)
        first_rows.setdefault(cell, {}).setdefault(model, row)
    return {cell: list(rows.values()) for cell, rows in first_rows.items()}


def foot_texts(
    estimates: Estimates,
    rows_by_model_cell: Mapping[ModelCell, Sequence[int]],
    fit: Frames | None,
    parameters: Estimates,
    components: Estimates | None,
    labels: Labels,
    digits: int,
    style: str,
) -> FootRows:
    """Return the rows at the foot; columns with several models have no texts there.

    Parameters
    ----------
    estimates : Estimates
        The terms.
    rows_by_model_cell : Mapping of ModelCell to sequence of int
        One row of `estimates` for each model in a cell.
    fit : DataFrame, list of DataFrame or dict of str to DataFrame, optional
        Frames of `fit_statistics`.
    parameters : Estimates
        Rows of `tidy` that are not coefficients, such as variances.
    components : Estimates, optional
        Rows of `variance_components`.
    labels, digits, style
        See `table_regression`.
    """
    # a column with several models has no statistics
    row_by_model_cell = {cell: rows[0] for cell, rows in rows_by_model_cell.items() if len(rows) == 1}
    foot = _parameter_texts(estimates, parameters, row_by_model_cell, labels, digits)
    if components is not None:
        foot |= _component_texts(estimates, components, row_by_model_cell, labels, digits, style)
    n_heading = labels.column("n")
    n = estimates.numbers("n")
    foot[n_heading] = {cell: count_text(n[row]) for cell, row in row_by_model_cell.items()}
    unit = estimates.only_non_missing_value("unit")
    n_units = estimates.numbers("n_units")
    if unit is not None and (n_units < n).any():
        # units have several observations
        unit_heading = plural(str(unit)).capitalize()
        foot[unit_heading] = {cell: count_text(n_units[row]) for cell, row in row_by_model_cell.items()}
    if fit is not None:
        fit_estimates = read_and_stack(fit, required_columns=(), name="fit")
        statistics = _statistic_texts(estimates, fit_estimates, row_by_model_cell, n_heading, digits)
        # n of `fit` counts all rows of a model; a model without a row in `fit` keeps the n of its terms
        n_texts_of_fit = statistics.pop(n_heading)
        for cell, n_text in n_texts_of_fit.items():
            if n_text != MISSING:
                foot[n_heading][cell] = n_text
        for heading, texts in statistics.items():
            # the residual SD of `components` stays, since it has limits
            foot.setdefault(heading, texts)
    rows_with_values: FootRows = {}
    for heading, texts in foot.items():
        has_value = any(text not in (MISSING, "") for text in texts.values())
        if has_value:
            rows_with_values[heading] = texts
    return rows_with_values


def _parameter_texts(
    estimates: Estimates,
    parameters: Estimates,
    row_by_model_cell: Mapping[ModelCell, int],
    labels: Labels,
    digits: int,
) -> FootRows:
    """Return variances and other parameters by term, with significant digits as they may be small."""
    # the column `group` of broom.mixed has values for variances only, and does not identify models
    columns = [
        column for column in columns_identifying_models(estimates) if estimates.distinct_values(column)
    ]
    parameter_keys = [key for key in estimates.keys if key not in columns]
    cells = {key_of(estimates.frame, row, columns): cell for cell, row in row_by_model_cell.items()}
    values = parameters.numbers("estimate")
    foot: FootRows = {}
    for row, term in enumerate(parameters.frame["term"]):
        cell = cells.get(key_of(parameters.frame, row, columns))
        if cell is None:
            continue
        # broom.mixed writes "sd__Observation"
        term_label = labels.value("term", term).replace("__", " ")
        names = [*key_of(parameters.frame, row, parameter_keys), term_label]
        heading = ", ".join(name for name in names if name)
        foot.setdefault(heading, {})[cell] = number_text(values[row], digits).replace("-", MINUS)
    return foot


def _component_texts(
    estimates: Estimates,
    components: Estimates,
    row_by_model_cell: Mapping[ModelCell, int],
    labels: Labels,
    digits: int,
    style: str,
) -> FootRows:
    """Return SDs and shares of random effects with their limits, then the numbers of groups."""
    columns = components.existing_columns(columns_identifying_models(estimates))
    cells = {key_of(estimates.frame, row, columns): cell for cell, row in row_by_model_cell.items()}
    term_labels = {row.term: row.full_text for row in distinct_term_and_factor_rows(estimates, labels)}
    covariate_units_by_term = dict(
        zip(estimates.frame["term"], estimates.row_values(COVARIATE_UNITS), strict=True)
    )
    deviations: FootRows = {}
    residual_deviations: dict[ModelCell, str] = {}
    shares: FootRows = {}
    group_counts: FootRows = {}
    for row_number, row in enumerate(components.frame.to_dict("records")):
        cell = cells.get(key_of(components.frame, row_number, columns))
        if cell is None:
            continue
        if row["parameter"] == "variance":
            covariate_units = covariate_units_by_term.get(row["term"]) or 1.0
            deviation = covariate_units * row["std_dev"]
            # the limits are those of the variance
            sd_low = covariate_units * np.sqrt(row["conf_low"])
            sd_high = covariate_units * np.sqrt(row["conf_high"])
            estimate_text = interval_text(deviation, sd_low, sd_high, digits, style)
            parameter = "SD"
        else:
            estimate_text = interval_text(row["estimate"], row["conf_low"], row["conf_high"], digits, style)
            parameter = "Correlation"
        if row["group"] == RESIDUAL:
            residual_deviations[cell] = estimate_text
            continue
        # nested groups are written "site:patient"
        group = random_group_text(str(row["group"]).split(":"), labels)
        effect = group + _slope_terms_suffix(row["term"], term_labels, labels)
        deviations.setdefault(f"{parameter}, {effect}", {})[cell] = estimate_text
        if not is_missing(row["share"]):
            text = interval_text(row["share"], row["share_low"], row["share_high"], digits, style)
            shares.setdefault(f"Share of variance (ICC), {group}", {})[cell] = text
        group_counts.setdefault(f"n, {group}", {})[cell] = count_text(row["n_groups"])
    if not (deviations or residual_deviations):
        raise SalstatsError(
            "components have no row of these models",
            hint=Message("give ", Call("variance_components"), " of the same models"),
            option="components",
        )
    return deviations | {_RESIDUAL_SD: residual_deviations} | shares | group_counts


def _slope_terms_suffix(term: Any, term_labels: Mapping[str | None, str], labels: Labels) -> str:
    """Return the terms of a random slope as they follow its group, ", Area and Task"; "" for an intercept."""
    if is_missing(term) or term == INTERCEPT:
        return ""
    texts = [term_labels.get(name, labels.term(name)) for name in term.split(", ")]
    return f", {' and '.join(texts)}"


def _statistic_texts(
    estimates: Estimates,
    fit: Estimates,
    row_by_model_cell: Mapping[ModelCell, int],
    n_heading: str,
    digits: int,
) -> FootRows:
    """Return n and the statistics of each model, a dash where `fit` has no row of the model."""
    fit_row_of_cell = _fit_row_by_cell(estimates, fit, row_by_model_cell)

    def texts_by_cell(texts_of_fit: Sequence[str]) -> dict[ModelCell, str]:
        """Return the texts of the rows of `fit` by the cells of their models."""
        texts = {}
        for cell, fit_row in fit_row_of_cell.items():
            texts[cell] = MISSING if fit_row is None else texts_of_fit[fit_row]
        return texts

    has_r_squared = ~np.isnan(fit.numbers("r_squared"))
    foot = {n_heading: texts_by_cell([count_text(n) for n in fit.numbers("nobs")])}
    for statistic in _STATISTICS:
        values = fit.numbers(statistic.column)
        is_shown = ~np.isnan(values)
        decimals = digits
        if statistic.of_likelihood:
            is_shown &= ~has_r_squared
            decimals = 1
        texts_of_fit = [""] * len(fit)
        for fit_row in np.flatnonzero(is_shown):
            texts_of_fit[fit_row] = fixed_text(values[fit_row], decimals)
        foot[statistic.heading] = texts_by_cell(texts_of_fit)
    return foot


def _fit_row_by_cell(
    estimates: Estimates, fit: Estimates, row_by_model_cell: Mapping[ModelCell, int]
) -> dict[ModelCell, int | None]:
    """Return the row of `fit` of each model, None where it has none."""
    shared = fit.existing_columns(columns_identifying_models(estimates))
    rows: dict[Key, int] = {}
    repeated_rows = []
    for row in range(len(fit)):
        key = key_of(fit.frame, row, shared)
        if key in rows:
            repeated_rows.append(row)
        rows[key] = row
    if repeated_rows:
        raise SalstatsError(
            "fit has two rows for one model",
            hint=Message("give the frame of ", Call("fit_statistics"), " of these models"),
            option="fit",
            rows=repeated_rows,
        )
    matches = {
        cell: rows.get(key_of(estimates.frame, row, shared)) for cell, row in row_by_model_cell.items()
    }
    if row_by_model_cell and not any(row is not None for row in matches.values()):
        raise SalstatsError(
            "fit has no row of these models",
            hint=Message("call ", Call("fit_statistics"), " with the same arguments as ", Call("regress")),
            option="fit",
        )
    return matches
