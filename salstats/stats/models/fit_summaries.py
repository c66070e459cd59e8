"""The other two of broom's three: one row per model, and one row per observation."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import special

from salstats.checks import ColumnError, ValueRangeError, quoted
from salstats.stats.models.family import Family, Solution
from salstats.stats.models.models import Fitted, fit_models, model_keys

_STATISTICS = (
    "r_squared",
    "adj_r_squared",
    "sigma",
    "statistic",
    "p_value",
    "df",
    "log_lik",
    "aic",
    "bic",
    "deviance",
    "df_residual",
    "null_deviance",
    "df_null",
)
_OBSERVATION = ("fitted", "residual", "leverage", "cooks_distance", "std_residual")


def fit_statistics(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    reference: str | None = None,
    overall: bool = False,
) -> pd.DataFrame:
    """How well models fit, one row per model: `fit(...).glance()`, broom's, with R's conventions.

    Parameters
    ----------
    data, formula, by, family, reference, overall
        As for `regress`. None of the numbers depends on `errors`.

    Returns
    -------
    DataFrame
        In order of formula and group, with columns

        by..., reference, formula
            As in `regress`.
        r_squared, adj_r_squared
            Share of variance explained (about zero in a model without intercept, as in R); gaussian only.
        sigma
            Residual standard deviation, n - k; gaussian only.
        statistic, p_value, df
            The classical F test of all terms and its numerator degrees of freedom; gaussian only, NaN for
            an intercept alone. `joint_test` makes it with robust errors.
        log_lik, aic, bic
            Of families with a likelihood; a linear model's sigma counts as a parameter, as in R (statsmodels
            does not count it).
        deviance, df_residual
            Residual sum of squares or deviance, and n - k.
        null_deviance, df_null
            The same of the model with an intercept alone; logit families only, as in broom.
        nobs, n_missing
            Rows used, and left out because a variable of the formula is missing.
        what a family estimates beside its coefficients
            By its name, such as `precision`.

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`; its warnings of models without estimates come too.

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
    0      0.784  0.097     14.561 -7.39     6
    """
    fitted = fit_models(data, formula, by=by, family=family, reference=reference, overall=overall)
    return glance(fitted)


def glance(fitted: Fitted) -> pd.DataFrame:
    """The rows of `fit_statistics`, of models that are fitted."""
    family = fitted.family
    solutions = [model.solution for model in fitted.models]
    others = dict.fromkeys(name for one in solutions if one is not None for name in one.parameters)
    rows = pd.DataFrame(
        [{} if one is None else _statistics(one, family) for one in solutions],
        columns=[*_STATISTICS, *others],
        index=range(len(solutions)),
        dtype=np.float64,
    )
    counts = {"nobs": [len(m.rows) for m in fitted.models], "n_missing": [m.n_missing for m in fitted.models]}
    result = pd.concat([model_keys(fitted), rows[list(_STATISTICS)]], axis=1).assign(**counts)
    return result.assign(**{name: rows[name] for name in others})


def augment(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    reference: str | None = None,
) -> pd.DataFrame:
    """The rows a model used, with fitted values, residuals and influence: `fit(...).augment()`.

    Parameters
    ----------
    data, formula, by, family, reference
        As for `regress`.

    Returns
    -------
    DataFrame
        One row per formula and row used, rows in the order of `data`, default index; without rows in which a
        variable of the formula is missing and those of models without estimates. Columns

        formula
            As it was given.
        the columns of the model's rows
            Those of `data`; where the formula names metrics, these are columns in place of `score`, and with
            `reference` the left side holds the gap reference - method.
        fitted, residual
            The fitted mean (a probability or fraction for the logit families, not its logit), and the left
            side less it.
        leverage
            Diagonal of the hat matrix, of the weighted one for the logit families.
        cooks_distance
            How much all fitted values move when the row is left out (Cook 1977).
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
    has leverage 1.

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
    return observations(fit_models(data, formula, by=by, family=family, reference=reference))


def observations(fitted: Fitted) -> pd.DataFrame:
    """The rows of `augment`, of models that are fitted."""
    if fitted.overall:
        raise ValueRangeError("with overall=True a row belongs to two models; fit without it to augment")
    frames = {id(model.frame): model.frame for model in fitted.models}
    parts = []
    for number, frame in frames.items():
        models = [model for model in fitted.models if id(model.frame) == number]
        taken = [c for c in ("formula", *_OBSERVATION) if c in frame.columns]
        if taken:
            raise ColumnError(f"the data has a column {quoted(taken)} already; rename it")
        values = np.full((len(frame), len(_OBSERVATION)), np.nan)
        used = np.zeros(len(frame), dtype=bool)
        for model in models:
            if model.solution is not None:
                values[model.rows] = _influence(model.solution, fitted.family)
                used[model.rows] = True
        result = frame.loc[used].reset_index(drop=True)
        result.insert(0, "formula", models[0].formula.text)
        parts.append(pd.concat([result, pd.DataFrame(values[used], columns=list(_OBSERVATION))], axis=1))
    return pd.concat(parts, ignore_index=True)


def _influence(solution: Solution, family: Family) -> np.ndarray:
    """Fitted, residual, leverage, Cook's distance and standardised residual, shape (n, 5)."""
    leverage, residual = solution.leverage, solution.residual
    free = np.where(1 - leverage > 1e-10, 1 - leverage, np.nan)
    standardised = residual / np.sqrt(solution.dispersion * family.variance(solution.fitted) * free)
    cooks = standardised**2 * leverage / (free * solution.rank)
    return np.column_stack([solution.fitted, residual, leverage, cooks, standardised])


def _statistics(solution: Solution, family: Family) -> dict[str, float]:
    """The statistics of one model."""
    n, rank, intercept = solution.n, solution.rank, solution.intercept
    n_parameters = rank + family.n_spread
    row = {
        "log_lik": solution.log_likelihood,
        "aic": -2 * solution.log_likelihood + 2 * n_parameters,
        "bic": -2 * solution.log_likelihood + n_parameters * np.log(n),
        "deviance": solution.deviance,
        "df_residual": solution.df_residual,
        **solution.parameters,
    }
    if not family.linear:
        return row | {"null_deviance": solution.null_deviance, "df_null": float(n - intercept)}
    row["sigma"] = float(np.sqrt(solution.dispersion))
    df = rank - intercept
    if df == 0:
        return row | {"r_squared": 0.0, "adj_r_squared": 0.0}
    if np.isnan(solution.dispersion):
        return row
    centre = solution.fitted.mean() if intercept else 0.0
    explained = float(((solution.fitted - centre) ** 2).sum())
    share = explained / (explained + solution.deviance)
    statistic = explained / df / solution.dispersion
    return row | {
        "r_squared": share,
        "adj_r_squared": 1 - (1 - share) * (n - intercept) / (n - rank),
        "statistic": statistic,
        "p_value": float(special.fdtrc(df, n - rank, statistic)),
        "df": float(df),
    }
