"""Goodness of fit, one row per model (`glance`), and residuals and influence, one per row (`augment`)."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.errors import ColumnError, Setting, ValueRangeError
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.models.family import Family, Solution
from salstats.stats.models.fitted_models import (
    Fitted,
    Model,
    count_and_caution_columns,
    family_and_error_columns,
    key_columns,
)
from salstats.stats.models.joint_tests import joint_wald_test_of_marginal_effects
from salstats.stats.models.model_fitting import fit_models
from salstats.stats.models.model_notes import Notes
from salstats.stats.models.model_options import ModelOptions
from salstats.stats.models.random_effect_summaries import reml_singularity_and_group_count_columns

_STATISTICS = (
    "r_squared",
    "adj_r_squared",
    "sigma",
    "statistic",
    "p_value",
    "df",
    "df_denominator",
    "log_lik",
    "aic",
    "bic",
    "deviance",
    "df_residual",
    "null_deviance",
    "df_null",
)
#: Columns that `augment` adds to those of the rows.
_ADDED_COLUMNS = ("fitted", "residual", "leverage", "cooks_distance", "std_residual")


def fit_statistics(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    errors: str | None = None,
    unit: Unit = None,
    reference: str | None = None,
    overall: bool = False,
    correlation: str | None = None,
    reml: bool = True,
    weights: str | None = None,
) -> pd.DataFrame:
    """Goodness of fit of models, one row per model: `fit(...).glance()`, as broom's `glance` in R.

    Parameters
    ----------
    data, formula, by, family, errors, unit, reference, overall, correlation, reml, weights
        As for `regress`. Only the F test depends on `errors`.

    Returns
    -------
    DataFrame
        In order of formula and group, with columns

        `by`, reference, formula
            As in `regress`.
        r_squared, adj_r_squared
            Share of variance explained (about zero in a model without intercept, as in R); gaussian only.
        sigma
            Residual standard deviation, with denominator n - k; gaussian only.
        statistic, p_value, df, df_denominator
            The F test of all terms by `errors`, as `joint_test` makes it, and its degrees of freedom;
            gaussian only, NaN for an intercept alone. R's is classical: `errors="classical"`.
        log_lik, aic, bic
            For families with a likelihood. A linear model's sigma counts as a parameter, as in R (not in
            statsmodels), and so do variances and correlations of random effects.
        deviance, df_residual
            Residual sum of squares or deviance, and n - k.
        null_deviance, df_null
            The same for the model with an intercept alone; the null deviance is that of the logit families
            only, as in broom, and `df_null` that of all but gaussian.
        nobs, n_missing
            Rows used, and left out because a variable of the formula is missing.
        unit, n_units, errors
            As in `regress`.
        other parameters of a family
            A column for each, such as `precision` and the cutpoints of an ordered beta model; with
            `correlation` the `alpha` of two rows of a unit and the `scale`, the mean squared Pearson
            residual.
        reml, singular, `n_...`
            For mixed models: True for the restricted likelihood (`deviance` is minus twice the log likelihood
            used); True if a variance is 0 or effects are correlated by 1 or -1; the number of groups of each
            random effect, as `n_reader`.

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`.

    Notes
    -----
    With r estimated coefficients, RSS the residual sum of squares and l the log-likelihood, R^2 = 1 -
    RSS / TSS, adjusted 1 - (1 - R^2) (n - 1) / (n - r), l = -n/2 (log(2 pi RSS / n) + 1), AIC = -2 l + 2 p,
    BIC = -2 l + p log n with p = r + 1 (gaussian) or r (binomial).

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"score": [0.1, 0.3, 0.2, 0.5, 0.4, 0.6], "size": [1, 2, 3, 4, 5, 6]})
    >>> ss.fit_statistics(table, "score ~ size")[["r_squared", "sigma", "statistic", "aic", "nobs"]].round(3)
       r_squared  sigma  statistic   aic  nobs
    0      0.784  0.097     33.328 -7.39     6
    """
    options = ModelOptions(
        by=by,
        family=family,
        errors=errors,
        unit=unit,
        reference=reference,
        overall=overall,
        correlation=correlation,
        reml=reml,
        weights=weights,
    )
    return glance(fit_models(data, formula, options))


def glance(fitted: Fitted) -> pd.DataFrame:
    """Return the frame of `fit_statistics` for fitted models."""
    notes = Notes()
    rows: list[dict[str, float]] = []
    parameter_names: list[str] = []
    for model in fitted.models:
        if model.solution is None:
            rows.append({})
            continue
        rows.append(_goodness_statistics(model.solution, fitted.family) | _f_test_columns(model, notes))
        new_names = [name for name in model.solution.parameters if name not in parameter_names]
        parameter_names.extend(new_names)
    notes.warn()
    columns = [*_STATISTICS, *parameter_names]
    statistics = pd.DataFrame(rows, columns=columns, index=range(len(rows)), dtype=np.float64)
    counts = count_and_caution_columns(fitted)
    model_counts = {
        name: counts[name] for name in ("n_missing", "unit", "weights", "n_units") if name in counts
    }
    options = family_and_error_columns(fitted)
    options.pop("family")
    frame = pd.concat([key_columns(fitted), statistics[list(_STATISTICS)]], axis=1)
    return frame.assign(
        nobs=counts["n"],
        **model_counts,
        **options,
        **{name: statistics[name] for name in parameter_names},
        **reml_singularity_and_group_count_columns(fitted),
    )


def augment(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    reference: str | None = None,
) -> pd.DataFrame:
    """Rows that a model is fitted to, with fitted values, residuals and influence: `fit(...).augment()`.

    Parameters
    ----------
    data, formula, by, family, reference
        As for `regress`.

    Returns
    -------
    DataFrame
        One row per formula and row used, in the order of `data`, with default index. Rows in which a variable
        of the formula is missing, and rows of models without estimates, are left out. Columns

        formula
            As it was given.
        the columns of the model's rows
            Those of `data`. Metrics that the formula names are columns, in place of `score`, and with
            `reference` the left side is the gap reference - method.
        fitted, residual
            The fitted mean (a probability or fraction for the logit families, not its logit), and the left
            side minus it.
        leverage
            Diagonal of the hat matrix, of the weighted one for the logit families.
        cooks_distance
            Change of all fitted values if the row is left out (Cook 1977).
        std_residual
            Residual over its standard error (Pearson's for the logit families).

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`; `data` has a column of one of these names already.

    Notes
    -----
    With v_i = 1 or mu_i (1 - mu_i), phi the dispersion (as in `regress`), h_i the leverage and r
    coefficients: std_residual = e_i / sqrt(phi v_i (1 - h_i)) and
    cooks_distance = std_residual^2 h_i / ((1 - h_i) r). These are R's `rstandard` and `cooks.distance` of a
    linear model, and `rstandard(type = "pearson")` and `cooks.distance` of a glm. Both are NaN where a row
    has leverage 1. In models with a share of zeros or ones phi v_i is the variance of the whole distribution,
    and the leverage is the variance of the fitted mean over it. In mixed models and with `correlation` the
    leverage is unknown (NaN), and residuals are over sqrt(phi v_i); fitted values of mixed models include the
    random effects.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"score": [0.1, 0.3, 0.2, 0.5, 0.4], "size": [1, 2, 3, 4, None]})
    >>> ss.augment(table, "score ~ size")[["score", "size", "fitted", "residual", "leverage"]].round(3)
       score  size  fitted  residual  leverage
    0    0.1   1.0    0.11     -0.01       0.7
    1    0.3   2.0    0.22      0.08       0.3
    2    0.2   3.0    0.33     -0.13       0.3
    3    0.5   4.0    0.44      0.06       0.7
    """
    options = ModelOptions(by=by, family=family, reference=reference)
    return augmented_rows(fit_models(data, formula, options))


def augmented_rows(fitted: Fitted) -> pd.DataFrame:
    """Return the frame of `augment` for fitted models."""
    if fitted.overall:
        raise ValueRangeError(
            "with ",
            Setting("overall", True),
            " a row belongs to two models",
            hint="fit without it to augment",
        )
    models_by_formula: dict[str, list[Model]] = defaultdict(list)
    for model in fitted.models:
        models_by_formula[model.formula.text].append(model)
    frames = [_augmented_rows_of_formula(models, fitted.family) for models in models_by_formula.values()]
    return pd.concat(frames, ignore_index=True)


def _augmented_rows_of_formula(models: Sequence[Model], family: Family) -> pd.DataFrame:
    """Return the rows that the models of one formula use, in the order of their frame, with all columns."""
    frame = models[0].frame
    clashes = [column for column in ("formula", *_ADDED_COLUMNS) if column in frame.columns]
    if clashes:
        raise ColumnError(
            f"the data has a column {quoted(clashes)} already", hint="rename it", column=clashes[0]
        )
    values = np.full((len(frame), len(_ADDED_COLUMNS)), np.nan)
    is_used = np.zeros(len(frame), dtype=bool)
    for model in models:
        if model.solution is not None:
            statistics = _observation_statistics(model.solution, family)
            values[model.rows] = statistics[list(_ADDED_COLUMNS)].to_numpy()
            is_used[model.rows] = True
    rows = frame.loc[is_used].reset_index(drop=True)
    rows.insert(0, "formula", models[0].formula.text)
    used_values = pd.DataFrame(values[is_used], columns=list(_ADDED_COLUMNS))
    return pd.concat([rows, used_values], axis=1)


def _observation_statistics(solution: Solution, family: Family) -> pd.DataFrame:
    """Return the columns `_ADDED_COLUMNS` of the rows of a model.

    Leverages are NaN for mixed models and correlated rows, whose residuals are standardised without them.
    """
    leverage = solution.leverage
    residual = solution.residual
    # Undefined (NaN) for a row that determines its fitted value alone
    one_minus_leverage = np.where(1 - leverage > 1e-10, 1 - leverage, np.nan)
    variance = solution.variances
    if variance is None:
        variance = solution.dispersion * family.variance(solution.fitted)
    residual_variance = variance * np.where(np.isnan(leverage), 1.0, one_minus_leverage)
    weights = 1.0 if solution.sampling is None else solution.sampling
    standardised = residual * np.sqrt(weights) / np.sqrt(residual_variance)
    cooks_distance = standardised**2 * leverage / (one_minus_leverage * solution.rank)
    return pd.DataFrame(
        {
            "fitted": solution.fitted,
            "residual": residual,
            "leverage": leverage,
            "cooks_distance": cooks_distance,
            "std_residual": standardised,
        }
    )


def _goodness_statistics(solution: Solution, family: Family) -> dict[str, float]:
    """Return the goodness of fit of one model by column, without the F test."""
    n_parameters = solution.rank + family.n_dispersion_parameters + len(solution.nuisance_parameters)
    if solution.inference is not None:
        n_parameters += solution.inference.n_random_effect_parameters
    statistics = {
        "log_lik": solution.log_likelihood,
        "aic": -2 * solution.log_likelihood + 2 * n_parameters,
        "bic": -2 * solution.log_likelihood + n_parameters * np.log(solution.n_rows),
        "deviance": solution.deviance,
        "df_residual": solution.df_residual,
        **solution.parameters,
    }
    if family.is_linear:
        statistics["sigma"] = float(np.sqrt(solution.dispersion))
        return statistics | _r_squared_and_adjusted_of_linear_model(solution)
    statistics["null_deviance"] = solution.null_deviance
    statistics["df_null"] = float(solution.n_rows - int(solution.intercept))
    return statistics


def _r_squared_and_adjusted_of_linear_model(solution: Solution) -> dict[str, float]:
    """Return R squared and adjusted R squared of a linear model by column.

    The result is empty for mixed models and perfect fits.
    """
    n_rows = solution.n_rows
    n_intercepts = int(solution.intercept)
    if np.isnan(solution.null_deviance):
        return {}
    if solution.rank == n_intercepts:
        return {"r_squared": 0.0, "adj_r_squared": 0.0}
    if np.isnan(solution.dispersion):
        return {}
    weights = np.ones(n_rows) if solution.sampling is None else solution.sampling
    centre = 0.0
    if solution.intercept:
        centre = np.average(solution.fitted, weights=weights)
    explained = float((weights * (solution.fitted - centre) ** 2).sum())
    r_squared = explained / (explained + solution.deviance)
    adjusted = 1 - (1 - r_squared) * (n_rows - n_intercepts) / (n_rows - solution.rank)
    return {"r_squared": r_squared, "adj_r_squared": adjusted}


def _f_test_columns(model: Model, notes: Notes) -> dict[str, float]:
    """Return the F test of all terms of a linear model by column.

    The result is empty for other models, and for a linear model of an intercept alone.
    """
    solution = model.solution
    if solution is None or not model.family.is_linear:
        return {}
    n_intercepts = int(solution.intercept)
    if solution.rank == n_intercepts:
        return {}
    all_terms = range(len(model.formula.terms))
    test = joint_wald_test_of_marginal_effects(model, all_terms, notes)
    return {
        "statistic": test.statistic,
        "df": test.df_num,
        "df_denominator": test.df_den,
        "p_value": test.p_value,
    }
