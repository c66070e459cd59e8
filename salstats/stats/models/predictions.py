"""Predicted means of models at values of their variables, and lines of them along a covariate."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from salstats.checks import check_count, check_level, quoted
from salstats.errors import Call, ColumnError, ColumnName, ColumnValue, Message, Setting, ValueRangeError
from salstats.frames import ESTIMATE_COLUMNS, estimates_frame
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.models.design import is_categorical, level_name
from salstats.stats.models.family import RANK_TOLERANCE
from salstats.stats.models.fisher_scoring import mean_on_link_scale_at
from salstats.stats.models.fitted_models import (
    Fitted,
    Model,
    count_and_caution_columns,
    family_and_error_columns,
    key_columns,
)
from salstats.stats.models.formulas import Factor
from salstats.stats.models.model_fitting import fit_models
from salstats.stats.models.model_notes import Notes
from salstats.stats.models.model_options import ModelOptions
from salstats.stats.models.random_effect_summaries import summed_random_effects
from salstats.stats.models.standard_errors import standard_errors_of_combinations

#: First step of the differences from which a slope is computed, as a share of the range of the covariate.
_FIRST_STEP = 1e-4
#: Weights of the values at -2, -1, 1 and 2 steps in a derivative, exact for polynomials up to degree four.
_DIFFERENCE_WEIGHTS = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
#: Largest number of times that the step is divided by ten until two slopes agree.
_MAX_SHRINKS = 12
#: Relative difference up to which two slopes agree.
_SLOPE_TOLERANCE = 1e-8
#: Relative error that is allowed for a slope that depends on others, since differences are inexact.
_DEPENDENCE_TOLERANCE = 1e-5
#: Values of columns, by name: numbers, or the codes of levels.
Codes = dict[str, np.ndarray]


class NumericColumnsAndFactorByColumn(NamedTuple):
    """The columns on the right side of a formula."""

    numeric: list[str]
    factor_by_column: dict[str, Factor]  # categorical columns, each with its factor in the formula


def prediction_rows(
    fitted: Fitted, at: Mapping[str, Any] | pd.DataFrame, *, level: float, random: bool = False
) -> pd.DataFrame:
    """Return the rows of `Fit.predict`."""
    check_level(level)
    if random and not fitted.is_mixed:
        raise ValueRangeError(
            Setting("random", True), " is for models with random effects, such as 'iou ~ 1 + (1|case)'"
        )
    notes = fitted.inference_notes.copy()
    means: list[dict[str, Any]] = []
    variables: list[pd.DataFrame] = []
    rows = _value_rows(at)
    if not len(rows):
        raise ValueRangeError(Setting("at"), f" has no values of {quoted(rows.columns) or 'any column'}")
    for model in fitted.models:
        grouping: list[str] = []
        if random:
            grouping_columns = (column for effect in model.formula.random for column in effect.groups)
            grouping = list(dict.fromkeys(grouping_columns))
        check_are_on_right_side(model, [column for column in rows.columns if column not in grouping])
        codes = _codes_of_rows(fitted, model, rows)
        model_means = predicted_mean_columns(model, codes, level, notes)
        displayed = {column: display_values(model, column, values) for column, values in codes.items()}
        model_variables = pd.DataFrame(displayed, index=range(len(rows)))
        if random:
            # a model without variables has one mean, which all rows share
            for name, values in model_means.items():
                model_means[name] = np.broadcast_to(values, len(rows))
            # There are no limits for a sum of coefficients and predicted random effects.
            for name in ("std_error", "conf_low", "conf_high"):
                model_means[name] = np.full(len(rows), np.nan)
            model_means["estimate"] = model_means["estimate"] + summed_random_effects(model, rows, codes)
            for column in grouping:
                if column in rows.columns and column not in codes:
                    model_variables[column] = rows[column]
        means.append(model_means)
        variables.append(model_variables)
    notes.warn()
    return prediction_frame(fitted, means, pd.concat(variables, ignore_index=True), last_columns={})


def _value_rows(at: Mapping[str, Any] | pd.DataFrame) -> pd.DataFrame:
    """Return the rows of values of `at`: those of a frame, or all combinations of the lists of a mapping."""
    if isinstance(at, pd.DataFrame):
        return at.reset_index(drop=True)
    value_lists = [values_as_list(values) for values in at.values()]
    return pd.DataFrame(list(itertools.product(*value_lists)), columns=list(at), dtype=object)


def values_as_list(values: Any) -> list[Any]:
    """Return one or several values of a variable as a list."""
    if np.ndim(values) == 0 or isinstance(values, str):
        return [values]
    return list(values)


def _codes_of_rows(fitted: Fitted, model: Model, rows: pd.DataFrame) -> Codes:
    """Return the codes of a model's columns in rows of values; columns without values have their default."""
    codes = {}
    for column, default in default_values(model).items():
        if column in rows.columns:
            row_codes = [value_code(fitted, model, column, value) for value in rows[column]]
            codes[column] = np.array(row_codes, dtype=np.float64)
        else:
            codes[column] = np.full(len(rows), default)
    return codes


def numeric_columns_and_factor_by_column(model: Model) -> NumericColumnsAndFactorByColumn:
    """Return the numeric and the categorical columns on the right side of a model's formula."""
    numeric: dict[str, None] = {}
    factors: dict[str, Factor] = {}
    for term in model.formula.terms:
        for factor in term:
            for column in factor.columns:
                if is_categorical(factor, model.variables):
                    factors.setdefault(column, factor)
                else:
                    numeric[column] = None
    # A column that is categorical in one term, as C(x), counts as a factor.
    return NumericColumnsAndFactorByColumn([column for column in numeric if column not in factors], factors)


def default_values(model: Model) -> dict[str, float]:
    """Return the default of each column on the right side: a number's mean, the code of a factor's reference.

    It is NaN in a model without rows.
    """
    columns = numeric_columns_and_factor_by_column(model)
    defaults = {}
    for column in columns.numeric:
        values = model.variables[column].values[model.rows]
        defaults[column] = float(values.mean()) if len(values) else np.nan
    for column, factor in columns.factor_by_column.items():
        levels = model.design.levels[factor]
        defaults[column] = float(levels[0]) if len(levels) else np.nan
    return defaults


def value_code(fitted: Fitted, model: Model, column: str, value: object) -> float:
    """Return a value that a user gives as a number, or as the code of its level.

    A factor must have this level in some model. The code is NaN if the level does not occur in the frame of
    this model's formula.
    """
    variable = model.variables[column]
    if variable.levels is None and isinstance(value, bool | np.bool_):
        # Columns of True and False are 1 and 0 in a model.
        value = int(value)
    if column not in numeric_columns_and_factor_by_column(model).factor_by_column:
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise ValueRangeError(f"{column!r} must be a number, not {value!r}", column=column, value=value)
        return float(value)
    levels: list[str] = []
    for fitted_model in fitted.models:
        factor = numeric_columns_and_factor_by_column(fitted_model).factor_by_column.get(column)
        if factor is not None:
            levels += fitted_model.variables[column].printed_names(fitted_model.design.levels[factor])
    level = level_name(value)
    if level not in levels:
        distinct_levels = list(dict.fromkeys(levels))
        raise ValueRangeError(
            f"{model.formula.text!r}: {column!r} has no level {value!r}",
            hint=f"levels: {quoted(distinct_levels)}",
            column=column,
            value=value,
            choices=distinct_levels,
        )
    codes = np.unique(variable.values[~np.isnan(variable.values)])
    names = variable.printed_names(codes)
    if level not in names:
        return np.nan
    return float(codes[names.index(level)])


def display_values(model: Model, column: str, codes: np.ndarray) -> list[Any]:
    """Return the values of a column as results show them: numbers, or levels, None for a code of NaN."""
    variable = model.variables[column]
    if variable.levels is None:
        return list(codes.tolist())
    levels: list[str | None] = []
    for code in codes:
        levels.append(None if np.isnan(code) else variable.levels[int(code)])
    return levels


def check_are_on_right_side(model: Model, columns: Sequence[str]) -> None:
    """Raise if values are given for columns that are not on the right side."""
    numeric, factors = numeric_columns_and_factor_by_column(model)
    unknown = [column for column in columns if column not in numeric and column not in factors]
    if unknown:
        raise ValueRangeError(
            Setting("at"),
            f" names {quoted(unknown)}, which is not on the right side of {model.formula.text!r}",
            hint=f"choose from {quoted([*numeric, *factors])}",
            column=unknown[0],
            choices=[*numeric, *factors],
        )


def design_points(model: Model, codes: Codes, notes: Notes) -> np.ndarray:
    """Return the estimated columns (m, r) of the model matrix at values; NaN in rows without a mean.

    `codes` are the values of all columns of the right side, (m,) each.
    """
    matrix = model.design.matrix_at(codes)
    largest_entries = np.maximum(np.abs(model.design.matrix).max(axis=0), np.abs(matrix).max(axis=0))
    points = _estimated_columns_with_nan_in_inestimable_rows(
        model, matrix, RANK_TOLERANCE * largest_entries, "means", notes
    )
    for column, factor in numeric_columns_and_factor_by_column(model).factor_by_column.items():
        is_unknown = ~np.isin(codes[column], model.design.levels[factor])
        if is_unknown.any():
            points = np.where(is_unknown[:, None], np.nan, points)
            values = display_values(model, column, np.unique(codes[column][is_unknown]))
            levels = Message.joined([ColumnValue(column, value) for value in values], ", ")
            notes.add(
                "no means (NaN) at levels that do not occur",
                Message(model.label, ": ", levels),
                column=column,
            )
    return points


def design_slopes(model: Model, covariate: str, codes: Codes, notes: Notes) -> np.ndarray:
    """Return the derivatives (m, r) of `design_points` along a covariate; NaN in rows without one."""
    spread = np.ptp(model.variables[covariate].values[model.rows])
    slopes, n_unresolved = _model_matrix_slopes_and_unresolved_count(
        model, covariate, codes, _FIRST_STEP * spread
    )
    if n_unresolved:
        notes.add(
            Message(
                "slopes that are not known (NaN), as ",
                ColumnName(covariate),
                " or its transform does not vary smoothly,",
            ),
            Message(model.label, f": {n_unresolved} of {len(slopes)} values"),
            column=covariate,
        )
    # The tolerance is relative to slopes, not to values: columns with large values and small slopes would
    # pass any test of their values.
    matrix_slopes = np.ptp(model.design.matrix, axis=0) / (spread or 1)
    tolerance = _DEPENDENCE_TOLERANCE * np.abs(slopes) + RANK_TOLERANCE * matrix_slopes
    return _estimated_columns_with_nan_in_inestimable_rows(model, slopes, tolerance, "slopes", notes)


class _SlopesAndUnresolvedCount(NamedTuple):
    """Slopes of the columns of a model matrix along a covariate."""

    slopes: np.ndarray  # (m, n_columns), NaN in rows in which no two slopes agree
    n_unresolved: int  # number of these rows


def _model_matrix_slopes_and_unresolved_count(
    model: Model, covariate: str, codes: Codes, first_step: float
) -> _SlopesAndUnresolvedCount:
    """Return the slopes of the model matrix at rows of values, and the number of rows without a slope.

    The step is made smaller until the slopes of two steps agree.
    """
    values = codes[covariate]
    slopes = np.full((len(values), model.design.matrix.shape[1]), np.nan)
    if not first_step:
        # A covariate that does not vary has no step.
        return _SlopesAndUnresolvedCount(slopes, len(values))
    step = first_step
    # Rows in which no two slopes agree yet
    unresolved = np.arange(len(values))
    wide_slopes, _ = _difference_quotients_and_largest_entries(model, covariate, codes, step)
    for _ in range(_MAX_SHRINKS):
        step = step / 10
        unresolved_codes = {column: column_codes[unresolved] for column, column_codes in codes.items()}
        narrow_slopes, sizes = _difference_quotients_and_largest_entries(
            model, covariate, unresolved_codes, step
        )
        # Rounding errors of the matrix, and of the covariate, whose step is inexact
        rounded_sizes = sizes + np.abs(narrow_slopes * values[unresolved, None])
        rounding = 100 * np.finfo(float).eps * rounded_sizes / step
        tolerance = _SLOPE_TOLERANCE * np.abs(narrow_slopes) + rounding
        agree = (np.abs(wide_slopes - narrow_slopes) <= tolerance).all(axis=1)
        slopes[unresolved[agree]] = wide_slopes[agree]
        unresolved = unresolved[~agree]
        wide_slopes = narrow_slopes[~agree]
        if not len(unresolved):
            break
    return _SlopesAndUnresolvedCount(slopes, len(unresolved))


class _DifferenceQuotients(NamedTuple):
    """Slopes of a model matrix by differences; both arrays have the shape (m, n_columns)."""

    slopes: np.ndarray
    sizes: np.ndarray  # largest absolute entries of the matrices that were subtracted


def _difference_quotients_and_largest_entries(
    model: Model, covariate: str, codes: Codes, step: float
) -> _DifferenceQuotients:
    """Return slopes of the model matrix along a covariate by differences of a step."""
    weighted_matrices = []
    sizes = []
    for n_steps, weight in _DIFFERENCE_WEIGHTS.items():
        moved_codes = codes | {covariate: codes[covariate] + n_steps * step}
        matrix = model.design.matrix_at(moved_codes)
        weighted_matrices.append(weight * matrix)
        sizes.append(np.abs(matrix))
    return _DifferenceQuotients(slopes=np.asarray(sum(weighted_matrices)) / step, sizes=np.max(sizes, axis=0))


def _estimated_columns_with_nan_in_inestimable_rows(
    model: Model, matrix: np.ndarray, tolerance: np.ndarray, noun: str, notes: Notes
) -> np.ndarray:
    """Return the estimated columns (m, r) of a matrix with all columns of the model matrix.

    A row is NaN, with a note, if its aliased columns do not depend on the estimated ones as they do in the
    model's rows up to `tolerance`, (n_columns,) or (m, n_columns). `noun` names in the note what cannot be
    estimated.
    """
    solution = model.solution
    assert solution is not None
    points = matrix[:, solution.column_positions]
    aliased = np.setdiff1d(np.arange(matrix.shape[1]), solution.column_positions)
    if not len(aliased):
        return np.asarray(points)
    # In the model's rows the aliased columns are the estimated ones times these weights.
    weights = np.linalg.lstsq(solution.matrix, model.design.matrix[:, aliased], rcond=None)[0]
    differences = np.abs(matrix[:, aliased] - points @ weights)
    not_estimable = (differences > tolerance[..., aliased]).any(axis=1)
    if not_estimable.any():
        notes.add(
            f"{noun} that cannot be estimated (NaN), as terms depend on each other,",
            Message(model.label, f": {int(not_estimable.sum())} of {len(matrix)} values"),
            option="formula",
            column="estimate",
        )
        points = np.where(not_estimable[:, None], np.nan, points)
    return np.asarray(points)


def predicted_mean_columns(model: Model, codes: Codes, level: float, notes: Notes) -> dict[str, np.ndarray]:
    """Return the columns of predicted means at values, (m,) each.

    Limits are computed on the scale of the linear predictor. `df` is infinite for the normal distribution.
    """
    solution = model.solution
    link = model.family.link
    # A model without variables has one mean.
    n = 1
    if codes:
        n = len(next(iter(codes.values())))
    conf_level = np.full(n, level)
    if solution is None:
        names = ("estimate", "std_error", "df", "conf_low", "conf_high")
        undefined = {name: np.full(n, np.nan) for name in names}
        return undefined | {"conf_level": conf_level}
    points = design_points(model, codes, notes)
    predictor, combinations = mean_on_link_scale_at(solution, points)
    std_error, df = standard_errors_of_combinations(model, combinations, notes)
    half_width = special.stdtrit(df, (1 + level) / 2) * std_error
    return {
        "estimate": link.mean(predictor),
        "std_error": std_error * link.first_derivative(predictor),
        "df": df,
        "conf_low": link.mean(predictor - half_width),
        "conf_high": link.mean(predictor + half_width),
        "conf_level": conf_level,
    }


def prediction_frame(
    fitted: Fitted,
    estimates: Sequence[Mapping[str, Any]],
    keys: pd.DataFrame,
    last_columns: Mapping[str, Any],
) -> pd.DataFrame:
    """Return the estimates of several models as one frame.

    `estimates` are the columns of each model, with `df` infinite for the normal distribution. `keys`, with a
    row for each estimate, follow the grouping columns; `last_columns` are arrays or constants.
    """
    repeats = [len(columns["estimate"]) for columns in estimates]
    columns = {}
    for name in estimates[0]:
        columns[name] = np.concatenate([model_columns[name] for model_columns in estimates])
    is_normal = np.isinf(columns["df"])
    columns["interval"] = np.where(is_normal, "wald", "t")
    columns["df"] = np.where(is_normal, np.nan, columns["df"])
    group_keys = key_columns(fitted, repeats)
    options = family_and_error_columns(fitted)
    names = [*group_keys.columns, *keys.columns, *last_columns]
    result_columns = {*ESTIMATE_COLUMNS, *options}
    duplicates = {name for name in names if name in result_columns or names.count(name) > 1}
    if duplicates:
        raise ColumnError(
            f"{quoted(duplicates)} is a column of the result and of the model",
            hint="rename it",
            column=min(duplicates),
        )
    counts = count_and_caution_columns(fitted, repeats)
    all_keys = pd.concat([group_keys, keys], axis=1)
    return estimates_frame(all_keys, {**columns, **counts}, options | dict(last_columns))


def fit_line(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    at: str | None = None,
    hold: Mapping[str, float | str] | None = None,
    n_points: int = 50,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    errors: str | None = None,
    unit: Unit = None,
    reference: str | None = None,
    level: float = 0.95,
    overall: bool = False,
) -> pd.DataFrame:
    """Fitted mean of models along one covariate, with pointwise confidence limits.

    The models, their errors and their degrees of freedom are those of `regress`; `plot_scatter` draws these
    lines. The limits are for the mean at each value by itself, not for the whole line at once, and not for a
    new observation.

    Parameters
    ----------
    data, formula, by, family, errors, unit, reference, level, overall
        As for `regress`. With `reference` the line is that of the gap reference - method.
    at : str, optional
        The covariate: a numeric column or metric on the right side. By default the first one there.
    hold : mapping, optional
        Values at which other variables of the right side are held: `{"prob": 0.5, "task": "Edema"}`. By
        default numbers (True and False are 1 and 0) are held at their mean over the rows of the model, and
        text, `C(...)` included, at its reference level, as R's `ggeffects::ggpredict` does.
    n_points : int
        Number of values along the line, equally spaced from the smallest to the largest value in the rows of
        the model, so that no line leaves the data of its group.

    Returns
    -------
    DataFrame
        In order of formula, group (as in `regress`) and value, with columns

        by..., reference, formula
            As in `regress`.
        covariate, value
            The name of the covariate and its value. A group in which it does not vary has a single row, and
            so has a model without estimates, with NaN.
        estimate, std_error
            The fitted mean, for the logit families a probability or fraction, and its standard error, there
            by the delta method. For a transformed left side, such as `log(iou)`, on that scale.
        df, conf_low, conf_high, conf_level, interval
            As in `regress`, with `cr2` for the mean at this value; limits of the logit families are computed
            on the logit scale, and so lie between 0 and 1.
        unit, n, n_missing, n_units, family, errors
            As in `regress`.
        other variables of the right side
            The values at which they are held. Means at a level that a group lacks are NaN, with a warning.

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`; `at` is not a numeric variable of the right side; `hold` names a variable that is
        not there, or a level that no group has; a held variable has the name of a column of the result.

    Notes
    -----
    With x the row of the model matrix at a value (`scale` and `center` with the mean and deviation of the
    model's own rows), b the coefficients and V their covariance by `errors`: the estimate is x'b, its
    standard error sqrt(x'V x), the limits x'b ± q sqrt(x'V x) with q the quantile of Student's t; for the
    logit families these are logits, transformed back, and the standard error is mu (1 - mu) sqrt(x'V x).
    This is R's `predict(lm, interval = "confidence")` and, for `glm`, `plogis` of `predict(type = "link")`
    and its limits. A covariate that depends on others cannot move while they are held: NaN, with a warning.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"score": [0.1, 0.3, 0.2, 0.5, 0.4, 0.6], "size": [1, 2, 3, 4, 5, 6]})
    >>> line = ss.fit_line(table, "score ~ size", n_points=3)
    >>> line[["covariate", "value", "estimate", "std_error", "conf_low", "conf_high", "n"]].round(3)
      covariate  value  estimate  std_error  conf_low  conf_high  n
    0      size    1.0     0.129      0.054    -0.115      0.372  6
    1      size    3.5     0.350      0.037     0.245      0.455  6
    2      size    6.0     0.571      0.054     0.328      0.815  6
    """
    check_level(level)
    check_count(n_points, "n_points", 2)
    options = ModelOptions(
        by=by, family=family, errors=errors, unit=unit, reference=reference, overall=overall
    )
    fitted = fit_models(data, formula, options)
    notes = fitted.inference_notes.copy()
    means = []
    lines = []
    held_variables = []
    for model in fitted.models:
        covariate = _given_or_first_numeric_covariate(model, at)
        line = _line_values(model, covariate, n_points)
        values = default_values(model) | _checked_codes_of_hold(fitted, model, covariate, dict(hold or {}))
        codes = {column: np.full(len(line), value) for column, value in values.items()}
        codes[covariate] = line
        means.append(predicted_mean_columns(model, codes, level, notes))
        lines.append(pd.DataFrame({"covariate": covariate, "value": line}))
        held_columns = {
            column: display_values(model, column, column_codes)
            for column, column_codes in codes.items()
            if column != covariate
        }
        held_variables.append(pd.DataFrame(held_columns))
    notes.warn()
    all_lines = pd.concat(lines, ignore_index=True)
    all_held_variables = pd.concat(held_variables, ignore_index=True)
    held_columns_by_name = {str(name): values for name, values in all_held_variables.items()}
    return prediction_frame(fitted, means, all_lines, last_columns=held_columns_by_name)


def _given_or_first_numeric_covariate(model: Model, at: str | None) -> str:
    """Return the name of the covariate of a line, by default the first numeric column."""
    numeric = numeric_columns_and_factor_by_column(model).numeric
    if not numeric:
        raise ValueRangeError(
            f"{model.formula.text!r} has no numeric covariate on its right side to draw a line along",
            hint=Message(Call("summarize"), " gives the means of groups"),
            option="formula",
            value=model.formula.text,
        )
    if at is not None and at not in numeric:
        raise ValueRangeError(
            Setting("at", at),
            f" is not a numeric variable on the right side of {model.formula.text!r}",
            hint=f"choose one of {quoted(numeric)}",
            choices=numeric,
        )
    return at or numeric[0]


def _line_values(model: Model, covariate: str, n_points: int) -> np.ndarray:
    """Return `n_points` values of a covariate along a line.

    There is a single one for a covariate that does not vary, and a single NaN in a model without estimates.
    """
    if model.solution is None:
        return np.array([np.nan])
    observed = model.variables[covariate].values[model.rows]
    lowest = observed.min()
    highest = observed.max()
    if lowest == highest:
        return np.array([lowest])
    return np.linspace(lowest, highest, n_points)


def _checked_codes_of_hold(
    fitted: Fitted, model: Model, covariate: str, hold: Mapping[str, float | str]
) -> dict[str, float]:
    """Return the values in `hold` as numbers or codes of levels, checked."""
    columns = [column for column in default_values(model) if column != covariate]
    unknown = [name for name in hold if name not in columns]
    if unknown:
        hint = f"choose from {quoted(columns)}" if columns else "there is nothing else on its right side"
        raise ValueRangeError(
            Setting("hold"),
            f" names {quoted(unknown)}, which {model.formula.text!r} does not hold constant",
            hint=hint,
            column=unknown[0],
            choices=columns,
        )
    return {name: value_code(fitted, model, name, value) for name, value in hold.items()}
