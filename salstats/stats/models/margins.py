"""Marginal means, contrasts and slopes of models, on the scale of the score."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_level, quoted
from salstats.errors import ColumnError, Message, Setting, ValueRangeError
from salstats.frames import text_column
from salstats.stats.adjust import MULTIVARIATE_T, SIDAK, TUKEY, adjust_unless_none, checked_procedure
from salstats.stats.adjust import adjust as adjusted
from salstats.stats.engine.comparisons import ALL_PAIRS
from salstats.stats.engine.equivalence import (
    Margin,
    MarginTest,
    is_strictly_below,
    lower_or_higher_verdicts,
    margin_bounds,
    margin_columns,
    margin_p_value,
)
from salstats.stats.engine.one_sided_tests import one_sided_p_values_of_t_test
from salstats.stats.models.all_pairs import tukey_frame
from salstats.stats.models.contrast_families import multivariate_t_frame
from salstats.stats.models.design import level_name
from salstats.stats.models.fisher_scoring import mean_on_link_scale_at, slope_of_mean_on_score_scale_at
from salstats.stats.models.fitted_models import Fitted, Model
from salstats.stats.models.formulas import columns_of_terms
from salstats.stats.models.model_notes import Notes
from salstats.stats.models.predictions import (
    Codes,
    check_are_on_right_side,
    default_values,
    design_points,
    design_slopes,
    display_values,
    numeric_columns_and_factor_by_column,
    prediction_frame,
    value_code,
    values_as_list,
)
from salstats.stats.models.standard_errors import (
    correlation_of_combinations,
    inference_columns,
    standard_errors_of_combinations,
)

#: Kinds of averages: over a grid of all combinations of levels, or over the rows of the model.
AVERAGES = ("grid", "rows")
#: Scales of marginal means: that of the score, or that of the linear predictor.
SCALES = ("score", "link")
#: Procedures of `adjust` whose P values agree with simultaneous limits.
_WITH_SIMULTANEOUS_LIMITS = ("bonferroni", SIDAK)
#: Column of the level that a contrast is compared with.
_REFERENCE_LEVEL = "reference_level"
#: A combination of levels: the code of each factor's level.
Cell = dict[str, float]


@dataclass(frozen=True)
class MarginalOptions:
    """Options that marginal means, contrasts and slopes have in common, checked."""

    #: A name of `AVERAGES`.
    average: str
    #: Confidence level.
    level: float
    #: A name of `SCALES`.
    scale: str = "score"
    #: Values of columns, one or several of each.
    at: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_choice(self.average, AVERAGES, "average")
        check_choice(self.scale, SCALES, "scale")
        check_level(self.level)
        if self.at is not None and not isinstance(self.at, Mapping):
            raise ValueRangeError(
                Setting("at"),
                " must be a dictionary of columns and their values",
                hint=Message("such as ", Setting("at", {"prob": [0.2, 0.8]})),
                option="at",
                value=self.at,
            )

    def codes_of_at_values_by_column(self, fitted: Fitted, model: Model) -> dict[str, list[float]]:
        """Return the distinct values of each column of `at` as numbers or codes of levels."""
        codes: dict[str, list[float]] = {}
        if self.at is None:
            return codes
        check_are_on_right_side(model, list(self.at))
        for column, one_or_several in self.at.items():
            values = values_as_list(one_or_several)
            if not values:
                raise ValueRangeError(
                    Setting("at"), f" has no value of {column!r}", option="at", column=column
                )
            distinct_codes = dict.fromkeys(value_code(fitted, model, column, value) for value in values)
            codes[column] = list(distinct_codes)
        return codes

    def option_columns(self, cell_columns: Sequence[str]) -> dict[str, str]:
        """Return `average`, and the options `scale` and `at` unless they are the default, as columns.

        `at` does not name the values of `cell_columns`, which are columns of the result themselves.
        """
        columns = {"average": self.average}
        if self.scale != "score":
            columns["scale"] = self.scale
        texts = []
        for column, one_or_several in (self.at or {}).items():
            if column not in cell_columns:
                values = ", ".join(level_name(value) for value in values_as_list(one_or_several))
                texts.append(f"{column} = {values}")
        if texts:
            columns["at"] = "; ".join(texts)
        return columns


class MarginalEstimate(NamedTuple):
    """A marginal mean, slope or contrast."""

    value: float
    #: (p,): Derivatives by the parameters of the model; empty for a model without estimates.
    gradient: np.ndarray


class _ModelMargins(NamedTuple):
    """The marginal estimates of one model."""

    model: Model
    #: Columns that identify the estimates, a row for each.
    keys: pd.DataFrame
    estimates: list[MarginalEstimate]


class _RowsToAverage(NamedTuple):
    """The rows over which a mean is averaged."""

    #: (n,) each: Values or codes of all columns on the right side.
    codes: Codes
    #: (n,): Weights of the rows.
    weights: np.ndarray


def marginal_means(fitted: Fitted, term: str, by: Sequence[str], options: MarginalOptions) -> pd.DataFrame:
    """Return the rows of `Fit.means`."""
    columns = [*by, term]
    notes = fitted.inference_notes.copy()
    margins = []
    for model in fitted.models:
        at = options.codes_of_at_values_by_column(fitted, model)
        cells = _level_combinations(model, columns, at)
        row_sets = [_rows_to_average(model, cell, by, options.average, at) for cell in cells]
        keys = _level_columns(model, cells, {column: column for column in columns})
        means = _average_means_or_slopes_with_gradients(fitted, model, row_sets, notes, scale=options.scale)
        margins.append(_ModelMargins(model, keys, means))
    frame = _marginal_frame(fitted, margins, options, notes)
    return frame.drop(columns=["statistic", "p_value"])


def marginal_contrasts(
    fitted: Fitted,
    term: str,
    by: Sequence[str],
    reference: object,
    options: MarginalOptions,
    adjust: str,
    margin: Margin | None,
) -> pd.DataFrame:
    """Return the rows of `Fit.contrasts`."""
    columns = [*by, term]
    if _REFERENCE_LEVEL in columns:
        raise ColumnError(
            f"{_REFERENCE_LEVEL!r} is a column of the result and of the model",
            hint="rename it",
            column=_REFERENCE_LEVEL,
        )
    compares_all = reference is None or (reference == ALL_PAIRS and not _has_level(fitted, term, ALL_PAIRS))
    procedure = _checked_contrast_procedure(adjust, margin, compares_all=compares_all)
    notes = fitted.inference_notes.copy()
    margins = []
    for model in fitted.models:
        at = options.codes_of_at_values_by_column(fitted, model)
        _check_are_factors_or_in_at(model, columns, at)
        reference_code = None if compares_all else value_code(fitted, model, term, reference)
        cells = _level_combinations(model, columns, at, reference_code)
        row_sets = [_rows_to_average(model, cell, by, options.average, at) for cell in cells]
        means = _average_means_or_slopes_with_gradients(fitted, model, row_sets, notes, scale=options.scale)
        compared_cells = []
        contrasts = []
        for position, reference_position in _contrasted_pairs(cells, term, by, reference_code):
            reference_level = cells[reference_position][term]
            compared_cells.append(cells[position] | {_REFERENCE_LEVEL: reference_level})
            contrasts.append(_estimate_difference(means[position], means[reference_position]))
        factor_of_column = {column: column for column in columns} | {_REFERENCE_LEVEL: term}
        keys = _level_columns(model, compared_cells, factor_of_column)
        if reference_code is not None and np.isnan(reference_code):
            # The model lacks the reference level and has no name for its code.
            keys[_REFERENCE_LEVEL] = level_name(reference)
        margins.append(_ModelMargins(model, keys, contrasts))
    frame = _marginal_frame(fitted, margins, options, notes)
    if margin is not None:
        responses = [
            model_margins.model.formula.response.columns[0]
            for model_margins in margins
            for _ in model_margins.estimates
        ]
        # In models of gaps, reference - method, a larger estimate is a lower score of the method.
        score_sign = -1 if fitted.reference else 1
        frame = frame.assign(
            **_equivalence_verdict_and_margin_p_value_columns(frame, margin, np.array(responses), score_sign)
        )
    family_columns = [column for column in (*fitted.by, "formula", *columns) if column != term]
    if procedure == TUKEY:
        return tukey_frame(frame, family_columns, term)
    if procedure == MULTIVARIATE_T:
        return multivariate_t_frame(frame, family_columns, partial(_correlations_of_estimates, margins))
    if procedure == "none":
        return frame
    return adjusted(frame, procedure=procedure, intervals=procedure in _WITH_SIMULTANEOUS_LIMITS)


def _correlations_of_estimates(margins: Sequence[_ModelMargins], rows_of_one_model: np.ndarray) -> np.ndarray:
    """Return the correlations of the estimates in some rows of the frame of `margins`.

    The rows are positions of estimates of one model.
    """
    starts = np.cumsum([0] + [len(model_margins.estimates) for model_margins in margins])
    position = int(np.searchsorted(starts, rows_of_one_model[0], side="right")) - 1
    model, _, estimates = margins[position]
    rows_of_estimates = rows_of_one_model - starts[position]
    gradients = np.array([estimates[row].gradient for row in rows_of_estimates])
    return correlation_of_combinations(model, gradients)


def _checked_contrast_procedure(adjust: str, margin: Margin | None, *, compares_all: bool) -> str:
    """Return the name of the procedure `adjust`; raise if it is unknown or does not suit the contrasts."""
    procedure = checked_procedure(adjust, "adjust", of_contrasts=True)
    if procedure == TUKEY and not compares_all:
        raise ValueRangeError(
            Setting("adjust", TUKEY),
            " is for all pairs of levels, not for differences from one level",
            hint=Message("take ", Setting("adjust", MULTIVARIATE_T)),
            option="adjust",
            value=adjust,
        )
    if procedure in (TUKEY, MULTIVARIATE_T) and margin is not None:
        raise ValueRangeError(
            Setting("adjust", procedure),
            " is not for tests against a ",
            Setting("margin"),
            hint=Message("take ", Setting("adjust", "bonferroni")),
            option="adjust",
            value=adjust,
        )
    return procedure


def _has_level(fitted: Fitted, term: str, level: str) -> bool:
    """Return True if a factor has a level of this name in some model."""
    for model in fitted.models:
        if term in model.variables and level in (model.variables[term].levels or ()):
            return True
    return False


def _contrasted_pairs(
    cells: Sequence[Cell], term: str, by: Sequence[str], reference_code: float | None
) -> list[tuple[int, int]]:
    """Return the positions of two cells for each contrast; the second one is subtracted.

    Cells are compared within the levels of `by`: with the reference level, or, without one, each level of
    `term` with all earlier ones.
    """
    pairs = []
    for i, j in itertools.combinations(range(len(cells)), 2):
        if any(cells[i][column] != cells[j][column] for column in by):
            continue
        if reference_code is None:
            pairs.append((j, i))
        elif _is_same_level_or_both_missing(cells[j][term], reference_code):
            pairs.append((i, j))
        elif _is_same_level_or_both_missing(cells[i][term], reference_code):
            pairs.append((j, i))
    return pairs


def _is_same_level_or_both_missing(code: float, reference_code: float) -> bool:
    """Return True for the code of the reference level, which is NaN in a model that lacks the level."""
    return bool(code == reference_code or (np.isnan(code) and np.isnan(reference_code)))


def _estimate_difference(estimate: MarginalEstimate, reference: MarginalEstimate) -> MarginalEstimate:
    """Return the difference of two estimates of one model."""
    return MarginalEstimate(estimate.value - reference.value, estimate.gradient - reference.gradient)


def _equivalence_verdict_and_margin_p_value_columns(
    frame: pd.DataFrame, margin: Margin, responses: np.ndarray, estimate_sign: int
) -> dict[str, Any]:
    """Return the columns of verdict, equivalence margin and P value of the contrasts.

    `responses` (n,) are the metrics of the left sides. `estimate_sign` is 1 where a larger estimate is a
    higher score, and -1 where it is a lower one.
    """
    estimate = frame["estimate"].to_numpy(dtype=np.float64)
    std_error = frame["std_error"].to_numpy(dtype=np.float64)
    df = frame["df"].to_numpy(dtype=np.float64)
    df = np.where(frame["interval"] == "wald", np.inf, df)
    low, high = margin_bounds(margin, responses)
    p_value = margin_p_value(
        lambda bound: one_sided_p_values_of_t_test(estimate, std_error, df, bound), low, high
    )
    alpha = 1 - frame["conf_level"].to_numpy()
    is_different = is_strictly_below(frame["p_value"].to_numpy(), alpha)
    is_inside_margin = is_strictly_below(p_value, alpha)
    side = lower_or_higher_verdicts(estimate, is_different)
    return margin_columns(side, responses, MarginTest(low, high, p_value), is_inside_margin, estimate_sign)


def marginal_slopes(
    fitted: Fitted, covariate: str, by: Sequence[str], average: str, level: float, adjust: str
) -> pd.DataFrame:
    """Return the rows of `Fit.slopes`."""
    options = MarginalOptions(average, level)
    checked_procedure(adjust, "adjust")
    notes = fitted.inference_notes.copy()
    margins = []
    for model in fitted.models:
        numeric = numeric_columns_and_factor_by_column(model).numeric
        if covariate not in numeric:
            choices = f"choose one of {quoted(numeric)}" if numeric else "it has none"
            raise ValueRangeError(
                f"{covariate!r} is not a column of numbers on the right side of {model.formula.text!r}, so "
                "that there is no slope along it",
                hint=choices,
                option="covariate",
                value=covariate,
                choices=numeric,
            )
        cells = _level_combinations(model, by, at={})
        row_sets = [_rows_to_average(model, cell, by, average, at={}) for cell in cells]
        slopes = _average_means_or_slopes_with_gradients(fitted, model, row_sets, notes, covariate=covariate)
        keys = _level_columns(model, cells, {column: column for column in by})
        margins.append(_ModelMargins(model, keys, slopes))
    frame = _marginal_frame(fitted, margins, options, notes)
    frame.insert(list(frame.columns).index("estimate"), "term", covariate)
    return adjust_unless_none(frame, adjust)


def marginal_effects(fitted: Fitted, level: float, adjust: str) -> pd.DataFrame:
    """Return the rows of `Fit.effects`."""
    options = MarginalOptions("rows", level)
    checked_procedure(adjust, "adjust")
    notes = fitted.inference_notes.copy()
    margins = []
    term_names: list[str] = []
    reference_levels: list[str | None] = []
    for model in fitted.models:
        numeric, factors = numeric_columns_and_factor_by_column(model)
        effects: list[MarginalEstimate] = []
        for column in columns_of_terms(model.formula.terms):
            if column in numeric:
                all_rows = _rows_to_average(model, cell={}, by=(), average="rows", at={})
                effects += _average_means_or_slopes_with_gradients(
                    fitted, model, [all_rows], notes, covariate=column
                )
                term_names.append(column)
                reference_levels.append(None)
                continue
            cells = _level_combinations(model, [column], at={})
            if not cells:
                # A model without rows has no levels.
                continue
            row_sets = [_rows_to_average(model, cell, by=(), average="rows", at={}) for cell in cells]
            reference_mean, *level_means = _average_means_or_slopes_with_gradients(
                fitted, model, row_sets, notes
            )
            effects += [_estimate_difference(mean, reference_mean) for mean in level_means]
            codes = np.array([cell[column] for cell in cells])
            reference_level, *levels = display_values(model, column, codes)
            term_names += [f"{factors[column].name}{compared_level}" for compared_level in levels]
            reference_levels += [reference_level] * len(levels)
        margins.append(_ModelMargins(model, pd.DataFrame(index=range(len(effects))), effects))
    frame = _marginal_frame(fitted, margins, options, notes)
    terms = pd.Series(text_column(term_names), index=frame.index)
    frame.insert(list(frame.columns).index("estimate"), "term", terms)
    if any(reference_levels):
        frame = frame.assign(reference_level=text_column(reference_levels))
    return adjust_unless_none(frame, adjust)


def _check_are_factors_or_in_at(
    model: Model, columns: Sequence[str], at: Mapping[str, Sequence[float]]
) -> None:
    """Raise if columns are repeated, or are neither factors on the right side nor have values in `at`."""
    factors = numeric_columns_and_factor_by_column(model).factor_by_column
    repeated = {column for column in columns if columns.count(column) > 1}
    if repeated:
        raise ValueRangeError(
            f"{quoted(repeated)} is named twice",
            hint=Message("name other factors than the term in ", Setting("by")),
            option="by",
        )
    for column in columns:
        if column not in factors and column not in at:
            choices = f"choose from {quoted(factors)}" if factors else "it has none"
            raise ValueRangeError(
                f"{column!r} is not a factor (a column of text, or C(...)) on the right side of "
                f"{model.formula.text!r}",
                hint=choices,
                value=column,
                choices=factors,
            )


def _level_combinations(
    model: Model,
    columns: Sequence[str],
    at: Mapping[str, Sequence[float]],
    extra_level_of_last_column: float | None = None,
) -> list[Cell]:
    """Return all combinations of the values of some columns; those of the last one vary fastest.

    Columns have the values of `at`, other factors all their levels. `extra_level_of_last_column` is the code
    of a level that the model or `at` may lack.
    """
    _check_are_factors_or_in_at(model, columns, at)
    factors = numeric_columns_and_factor_by_column(model).factor_by_column
    levels = []
    for column in columns:
        if column in at:
            levels.append(list(at[column]))
        else:
            levels.append(model.design.levels[factors[column]].tolist())
    if extra_level_of_last_column is not None and extra_level_of_last_column not in levels[-1]:
        levels[-1].append(extra_level_of_last_column)
    return [dict(zip(columns, codes, strict=True)) for codes in itertools.product(*levels)]


def _rows_to_average(
    model: Model, cell: Cell, by: Sequence[str], average: str, at: Mapping[str, Sequence[float]]
) -> _RowsToAverage:
    """Return the rows over which the mean of a cell is averaged.

    For the average "grid" they are all combinations of levels and values, which weigh alike; for "rows" the
    model's rows with their sampling weights.
    """
    if average == "grid":
        return _grid_rows(model, cell, at)
    return _matching_rows_set_to_cell(model, cell, by, at)


def _grid_rows(model: Model, cell: Cell, at: Mapping[str, Sequence[float]]) -> _RowsToAverage:
    """Return all combinations of the values of columns outside of the cell.

    Columns have the values of `at`; other factors have all their levels, and numbers their mean.
    """
    factors = numeric_columns_and_factor_by_column(model).factor_by_column
    values_of_columns: dict[str, Sequence[float]] = {}
    for column, default in default_values(model).items():
        if column in cell:
            values_of_columns[column] = [cell[column]]
        elif column in at:
            values_of_columns[column] = at[column]
        elif column in factors:
            values_of_columns[column] = model.design.levels[factors[column]].tolist()
        else:
            values_of_columns[column] = [default]
    grids = np.meshgrid(*values_of_columns.values(), indexing="ij")
    codes = {column: grid.ravel() for column, grid in zip(values_of_columns, grids, strict=True)}
    n = math.prod(len(values) for values in values_of_columns.values())
    return _RowsToAverage(codes, np.ones(n))


def _matching_rows_set_to_cell(
    model: Model, cell: Cell, by: Sequence[str], at: Mapping[str, Sequence[float]]
) -> _RowsToAverage:
    """Return the model's rows that have the cell's levels of `by`, their other factors set to the cell's.

    Columns of `at` are set to its values: the rows are repeated for each combination of these.
    """
    observed = {column: model.variables[column].values[model.rows] for column in default_values(model)}
    is_inside = np.ones(len(model.rows), dtype=bool)
    for column in by:
        if column not in at:
            is_inside &= observed[column] == cell[column]
    weights = np.ones(len(is_inside))
    if model.solution is not None and model.solution.sampling is not None:
        weights = model.solution.sampling
    weights = weights[is_inside]
    varied = {column: values for column, values in at.items() if column not in cell}
    combinations = list(itertools.product(*varied.values()))
    codes = {}
    for column, values in observed.items():
        if column in cell:
            codes[column] = np.full(len(weights) * len(combinations), cell[column])
        else:
            codes[column] = np.tile(values[is_inside], len(combinations))
    for position, column in enumerate(varied):
        combination_values = [combination[position] for combination in combinations]
        codes[column] = np.repeat(combination_values, len(weights))
    return _RowsToAverage(codes, np.tile(weights, len(combinations)))


def _average_means_or_slopes_with_gradients(
    fitted: Fitted,
    model: Model,
    row_sets: Sequence[_RowsToAverage],
    notes: Notes,
    *,
    covariate: str | None = None,
    scale: str = "score",
) -> list[MarginalEstimate]:
    """Return the average of the mean, or of its slope along a covariate, over each set of rows.

    On the scale "link" it is the average of the linear predictor.
    """
    solution = model.solution
    link = fitted.family.link
    if solution is None:
        return [MarginalEstimate(np.nan, np.empty(0))] * len(row_sets)
    # All sets of rows are computed at once.
    codes = {}
    for column in row_sets[0].codes:
        codes[column] = np.concatenate([rows.codes[column] for rows in row_sets])
    points = design_points(model, codes, notes)
    if covariate is None:
        predictor, combinations = mean_on_link_scale_at(solution, points)
        if scale == "link":
            values = predictor
            gradients = combinations
        else:
            values = link.mean(predictor)
            gradients = link.first_derivative(predictor)[:, None] * combinations
    else:
        slopes = design_slopes(model, covariate, codes, notes)
        values, gradients = slope_of_mean_on_score_scale_at(solution, link, points, slopes)
    averages = []
    start = 0
    for _, weights in row_sets:
        end = start + len(weights)
        if len(weights):
            value = float(np.average(values[start:end], weights=weights))
            gradient = np.average(gradients[start:end], axis=0, weights=weights)
        else:
            value = np.nan
            gradient = np.full(gradients.shape[1], np.nan)
        averages.append(MarginalEstimate(value, gradient))
        start = end
    return averages


def _level_columns(model: Model, cells: Sequence[Cell], factor_of_column: Mapping[str, str]) -> pd.DataFrame:
    """Return the levels of cells as columns; `factor_of_column` names the factor that each column shows."""
    columns = {}
    for column, factor in factor_of_column.items():
        codes = np.array([cell[column] for cell in cells])
        columns[column] = display_values(model, factor, codes)
    return pd.DataFrame(columns, index=range(len(cells)))


def _marginal_frame(
    fitted: Fitted, margins: Sequence[_ModelMargins], options: MarginalOptions, notes: Notes
) -> pd.DataFrame:
    """Return the marginal estimates of several models as one frame, and warn of the notes."""
    columns: list[dict[str, Any]] = []
    for model, _, estimates in margins:
        n = len(estimates)
        std_error = np.full(n, np.nan)
        df = np.full(n, np.nan)
        if model.solution is not None and n:
            gradients = np.array([estimate.gradient for estimate in estimates])
            std_error, df = standard_errors_of_combinations(model, gradients, notes)
        values = np.array([estimate.value for estimate in estimates])
        model_columns = inference_columns(values, std_error, df, options.level)
        # `prediction_frame` expects an infinite df for the normal distribution.
        model_columns["df"] = df
        model_columns["conf_level"] = np.full(n, options.level)
        columns.append(model_columns)
    notes.warn()
    keys = pd.concat([model_margins.keys for model_margins in margins], ignore_index=True)
    frame = prediction_frame(fitted, columns, keys, options.option_columns(keys.columns.tolist()))
    # Grouping columns and levels are keys, which come before the formula.
    first_columns = [*fitted.by, *keys.columns]
    remaining_columns = [column for column in frame.columns if column not in first_columns]
    return frame[first_columns + remaining_columns]
