"""The line of a fitted model: its mean along one covariate, with a pointwise band."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from salstats.checks import ColumnError, ValueRangeError, check_count, check_level, quoted
from salstats.frames import ESTIMATE_COLUMNS, estimates_frame
from salstats.stats.models.covariance import bias_reduced, zero_variances
from salstats.stats.models.design import Variable, is_categorical, level_name, read_variable
from salstats.stats.models.fitting import RANK_TOLERANCE
from salstats.stats.models.formulas import Factor, Formula
from salstats.stats.models.models import (
    Model,
    Notes,
    covariance,
    fit_models,
    model_counts,
    model_keys,
    note_few_clusters,
    warn_of,
)
from salstats.stats.models.regression import student_quantile

_OWN_COLUMNS = ("covariate", "value", "family", "errors", *ESTIMATE_COLUMNS)


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
    unit: str | None = None,
    reference: str | None = None,
    level: float = 0.95,
    overall: bool = False,
) -> pd.DataFrame:
    """Return the fitted mean of models along one covariate, with pointwise confidence limits.

    The models, their errors and their degrees of freedom are those of `regress`; this is what
    `plot_scatter` draws. The limits are for the mean at each value by itself: not for the whole line at
    once, and not for a new observation.

    Parameters
    ----------
    data, formula, by, family, errors, unit, reference, overall
        As for `regress`. With `reference` the line is that of the gap reference - method.
    at : str, optional
        The covariate: a numeric column or metric on the right side. By default the first one there.
    hold : mapping, optional
        Values at which other variables of the right side are held: `{"prob": 0.5, "task": "Edema"}`. By
        default numbers (True and False are 1 and 0) are held at their mean over the rows of the model, and
        text, `C(...)` included, at its reference level, as R's `ggeffects::ggpredict` does.
    n_points : int
        Values along the line, equally spaced from the smallest to the largest of the model's own rows: a
        line never leaves its group's data.
    level : float
        Confidence level of each pair of limits.

    Returns
    -------
    DataFrame
        In order of formula, group (as in `regress`) and value, with columns

        by..., reference, formula
            As in `regress`.
        covariate, value
            The name of the covariate and its value. A group in which it does not vary has a single row,
            as has a model without estimates (`value` and all that follows from it NaN).
        estimate
            The fitted mean; for the logit families a probability or fraction. Of a transformed left side,
            such as `log(iou)`, on that scale.
        std_error
            Of the estimate; by the delta method for the logit families.
        df
            Degrees of freedom as in `regress`; with `cr2` Satterthwaite's of the mean at this value.
        conf_low, conf_high, conf_level, interval
            Limits, and `t` or `wald` as in `regress`; those of the logit families are made on the logit
            scale, and so lie between 0 and 1.
        unit, n, n_missing, n_units
            As in `regress`.
        family, errors
            As they were used.
        other variables of the right side
            The values at which they are held.

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`; `at` is not a numeric variable of the right side; `hold` names something else, or a
        level that is not there; a variable held has the name of a column of the result.

    Warns
    -----
    SalstatsWarning
        As `regress`. Also: means that cannot be estimated (NaN), since a covariate that depends on others
        cannot move while they are held.

    Notes
    -----
    With x the row of the model matrix at a value (`scale` and `center` with the mean and deviation of the
    model's own rows), b the coefficients and V their covariance by `errors`: the estimate is x'b, its
    standard error sqrt(x'V x), the limits x'b ± q sqrt(x'V x) with q the quantile of Student's t; for the
    logit families these are logits, transformed back, and the standard error is mu (1 - mu) sqrt(x'V x).
    This is R's `predict(lm, interval = "confidence")` and, for `glm`, `plogis` of `predict(type = "link")`
    and its limits.

    References
    ----------
    Lüdecke D. ggeffects: tidy data frames of marginal effects from regression models. J Open Source Softw
    2018;3(26):772. https://doi.org/10.21105/joss.00772

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"score": [0.1, 0.3, 0.2, 0.5, 0.4, 0.6], "size": [1, 2, 3, 4, 5, 6]})
    >>> line = ss.fit_line(table, "score ~ size", n_points=3)
    >>> line[["covariate", "value", "estimate", "std_error", "conf_low", "conf_high", "n"]].round(3)
      covariate  value  estimate  std_error  conf_low  conf_high  n
    0      size    1.0     0.129       0.07    -0.067      0.324  6
    1      size    3.5     0.350       0.04     0.240      0.460  6
    2      size    6.0     0.571       0.07     0.376      0.767  6
    """
    check_level(level)
    check_count(n_points, "n_points", 2)
    models, options, unit_name = fit_models(
        data, formula, by=by, family=family, errors=errors, unit=unit, reference=reference, overall=overall
    )
    notes: Notes = {}
    lines = [_line(model, options.errors, at, dict(hold or {}), n_points, level, notes) for model in models]
    warn_of(notes)
    columns = {name: np.concatenate([line[name] for line in lines]) for name in lines[0] if name != "held"}
    repeats = [len(line["value"]) for line in lines]
    keys = model_keys(models, options, repeats)
    keys["covariate"], keys["value"] = columns.pop("covariate"), columns.pop("value")
    normal = np.isinf(columns["df"])
    columns["interval"] = np.where(normal, "wald", "t")
    columns["df"] = np.where(normal, np.nan, columns["df"])
    held = pd.DataFrame([line["held"] for line in lines])
    _check_names(held, keys)
    return estimates_frame(
        keys,
        {**columns, "conf_level": float(level), **model_counts(models, repeats, unit_name)},
        {
            "family": family,
            "errors": options.errors,
            **{c: np.repeat(held[c].to_numpy(), repeats) for c in held.columns},
        },
    )


def _check_names(held: pd.DataFrame, keys: pd.DataFrame) -> None:
    """Raise where a variable that is held has the name of another column of the result."""
    taken = [c for c in held.columns if c in _OWN_COLUMNS or c in keys.columns]
    if taken:
        raise ColumnError(f"{quoted(taken)} is a column of the result and a variable that is held; rename it")


def _line(
    model: Model,
    errors: str,
    at: str | None,
    hold: dict[str, float | str],
    n_points: int,
    level: float,
    notes: Notes,
) -> dict[str, Any]:
    """Return the columns of one model's line; df is infinite for the normal distribution."""
    variables = {column: read_variable(model.frame, column) for column in model.formula.columns}
    numeric, factors = _right_side(model.formula, variables)
    covariate = _chosen(at, model.formula, numeric)
    held = _held(model, variables, [c for c in (*numeric, *factors) if c != covariate], factors, hold)
    observed = variables[covariate].values[model.rows]
    shown = {"covariate": covariate, "held": held}
    fit = model.fit
    if fit is None:
        empty = ("value", "estimate", "std_error", "df", "conf_low", "conf_high")
        return {**shown, **{name: np.array([np.nan]) for name in empty}, "covariate": [covariate]}
    constant = observed.min() == observed.max()
    values = np.linspace(observed.min(), observed.max(), 1 if constant else n_points)
    points = _points(model, variables, {**held, covariate: values}, len(values), notes)
    mean = points @ fit.coefficients[fit.kept]
    std_error, df = _deviations(model, points, errors, notes)
    half = student_quantile(df, (1 + level) / 2) * std_error
    low, high = mean - half, mean + half
    if fit.family != "gaussian":
        mean, low, high = special.expit(mean), special.expit(low), special.expit(high)
        std_error = std_error * mean * (1 - mean)
    return {
        **shown,
        "covariate": [covariate] * len(values),
        "value": values,
        "estimate": mean,
        "std_error": std_error,
        "df": df,
        "conf_low": low,
        "conf_high": high,
    }


def _right_side(formula: Formula, variables: Mapping[str, Variable]) -> tuple[list[str], dict[str, Factor]]:
    """Return the columns of the right side that are numbers, and those of a factor with that factor."""
    numeric: dict[str, None] = {}
    factors: dict[str, Factor] = {}
    for term in formula.terms:
        for factor in term:
            for column in factor.columns:
                if is_categorical(factor, variables):
                    factors.setdefault(column, factor)
                else:
                    numeric[column] = None
    return [column for column in numeric if column not in factors], factors


def _chosen(at: str | None, formula: Formula, numeric: list[str]) -> str:
    """Return the covariate of the line."""
    if not numeric:
        raise ValueRangeError(
            f"{formula.text!r} has no numeric covariate on its right side to draw a line along; "
            "summarize() gives the means of groups"
        )
    if at is not None and at not in numeric:
        raise ValueRangeError(
            f"at={at!r} is not a numeric variable on the right side of {formula.text!r}; "
            f"choose one of {quoted(numeric)}"
        )
    return at or numeric[0]


def _held(
    model: Model,
    variables: Mapping[str, Variable],
    others: list[str],
    factors: Mapping[str, Factor],
    hold: Mapping[str, float | str],
) -> dict[str, float | str]:
    """Return the value at which each other variable is held, text as text."""
    unknown = [name for name in hold if name not in others]
    if unknown:
        raise ValueRangeError(
            f"hold names {quoted(unknown)}, which {model.formula.text!r} does not hold"
            + (f"; it holds {quoted(others)}" if others else "; there is nothing else on its right side")
        )
    held: dict[str, float | str] = {}
    for column in others:
        variable = variables[column]
        values = variable.values[model.rows]
        if not len(values):
            held[column] = np.nan
        elif column in hold:
            held[column] = _given(column, hold[column], variable, values, column in factors, model.label)
        elif column not in factors:
            held[column] = float(values.mean())
        else:
            reference = model.design.levels[factors[column].key][:1]
            held[column] = float(reference[0]) if variable.levels is None else variable.names(reference)[0]
    return held


def _given(
    column: str, given: float | str, variable: Variable, values: np.ndarray, factor: bool, label: str
) -> float | str:
    """Return a value of `hold`, which a factor must have among its levels."""
    if not factor:
        if not isinstance(given, int | float | np.number) or not np.isfinite(given):
            raise ValueRangeError(f"hold must give a number for {column!r}, not {given!r}")
        return float(given)
    present = np.unique(values)
    levels = variable.names(present)
    if level_name(given) not in levels:
        raise ValueRangeError(f"{label}: {column!r} has no level {given!r} to hold; levels: {quoted(levels)}")
    position = levels.index(level_name(given))
    return float(present[position]) if variable.levels is None else levels[position]


def _points(
    model: Model,
    variables: Mapping[str, Variable],
    values: Mapping[str, Any],
    n_points: int,
    notes: Notes,
) -> np.ndarray:
    """Return the model matrix at the values given, its estimated columns; NaN where there is no mean."""
    fit = model.fit
    assert fit is not None
    given = {}
    for column, value in values.items():
        levels = variables[column].levels
        code = float(levels.index(value)) if levels is not None else value
        given[column] = Variable(np.broadcast_to(np.asarray(code, dtype=np.float64), n_points), levels)
    matrix = model.design.at(given, np.arange(n_points))
    points = matrix[:, fit.kept]
    aliased = np.setdiff1d(np.arange(matrix.shape[1]), fit.kept)
    if len(aliased):
        own = model.design.matrix[:, aliased]
        weights = np.linalg.lstsq(fit.matrix, own, rcond=None)[0]
        apart = np.abs(matrix[:, aliased] - points @ weights)
        size = np.maximum(np.abs(own).max(axis=0), np.abs(matrix[:, aliased]).max(axis=0))
        unknown = (apart > RANK_TOLERANCE * size).any(axis=1)
        if unknown.any():
            notes.setdefault(
                "means that cannot be estimated (NaN), as terms depend on each other,", []
            ).append(f"{model.label}: {int(unknown.sum())} of {n_points} values")
            points = np.where(unknown[:, None], np.nan, points)
    return np.asarray(points)


def _deviations(model: Model, points: np.ndarray, errors: str, notes: Notes) -> tuple[np.ndarray, np.ndarray]:
    """Return standard error (on the scale of the coefficients) and degrees of freedom at each point."""
    fit = model.fit
    assert fit is not None
    values, df = covariance(model, errors, notes)
    if errors == "cluster" and not np.isnan(values).all():
        note_few_clusters(model, 1, notes)
    unknown = np.isnan(np.diag(values))
    variance = np.einsum("ij,jk,ik->i", points, np.where(np.isnan(values), 0.0, values), points)
    variance[(points[:, unknown] != 0).any(axis=1)] = np.nan
    if np.isfinite(fit.dispersion):
        scale = np.diag(np.einsum("ij,jk,ik->i", points, fit.bread, points))
        zero = zero_variances(variance, scale, fit.dispersion, float((fit.fitted**2).mean()))
        variance[zero] = np.nan
    known = np.isfinite(variance)
    degrees = np.full(len(points), np.nan)
    if errors != "cr2":
        degrees[:] = df[0]
    elif known.any():
        assert model.clusters is not None
        degrees[known] = bias_reduced(fit.matrix, fit.residual, fit.bread, model.clusters, points[known])[1]
    return np.sqrt(np.where(known, variance, np.nan)), degrees
