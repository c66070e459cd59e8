"""The covariance of a model's coefficients by its errors, and what cannot be estimated of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from salstats.stats.models.covariance import (
    bias_reduced,
    cluster_robust,
    heteroscedastic,
    unidentified,
    zero_variances,
)
from salstats.stats.models.errors import CLUSTERED, ERRORS
from salstats.stats.models.family import Solution, decomposed
from salstats.stats.models.models import Model, Notes

_SHOWN = 5
#: Clusters per tested coefficient below which CR1 rejects too often.
_FEW_CLUSTERS = 20


def covariance(
    model: Model, notes: Notes, tested: Sequence[int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The covariance of a model's estimated parameters, coefficients first, NaN where undefined; their df.

    Degrees of freedom of Student's t, infinite for the normal distribution. What cannot be estimated is
    added to `notes`, about the coefficients `tested` or all.
    """
    solution, errors = model.solution, model.errors
    assert solution is not None
    if solution.inference is not None:
        return solution.inference.covariance(errors), solution.inference.df(errors, np.eye(solution.rank))
    n_parameters = len(solution.bread)
    df = np.full(n_parameters, np.inf if model.family.normal else solution.df_residual)
    clusters = model.clusters if errors in CLUSTERED else None
    if np.isnan(solution.dispersion):
        return np.full_like(solution.bread, np.nan), df if clusters is None else np.full_like(df, np.nan)
    if errors == "classical":
        return solution.dispersion * solution.bread, df
    bread, free, power = solution.bread, solution.df_residual, ERRORS[errors].power
    if clusters is None:
        values = heteroscedastic(solution.scores, bread, solution.leverage, free, errors)
    elif power:
        values, df = bias_reduced(*least_squares(model), power=power)
    else:
        values = cluster_robust(solution.scores, bread, clusters, free, corrected=errors == "cluster")
        df = np.full(n_parameters, np.inf if errors == "cr0" else model.n_units - 1 or np.nan)
    if clusters is not None and model.n_units < 2:
        notes[f"no {errors} errors (NaN), since there is a single cluster,"].append(model.label)
        return values, df
    alone = unidentified(*_rows(solution, clusters))
    mean_square = float((solution.fitted**2).mean())
    zero = zero_variances(np.diag(values), bread, solution.dispersion, mean_square)
    unknown = alone | zero
    values[unknown] = values[:, unknown] = np.nan
    if power:
        df[unknown] = np.nan
    one = "row" if clusters is None else "cluster"
    kinds = {
        f"no {errors} errors (NaN), since one {one} determines a coefficient by itself,": alone,
        f"no {errors} errors (NaN), since they would be zero but for rounding,": zero & ~alone,
    }
    for kind, which in kinds.items():
        told = [i for i in (range(solution.rank) if tested is None else tested) if which[i]]
        names = [model.terms[i] for i in told]
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            notes[kind].append(f"{model.label}: {', '.join(names[:_SHOWN])}{more}")
    if errors in CLUSTERED and not power and tested is None and not np.isnan(values).all():
        note_few_clusters(model, 1, notes)
    return values, df


def note_few_clusters(model: Model, n_tested: int, notes: Notes) -> None:
    """Note a model with so few clusters that CR0 and CR1 reject too often."""
    if model.n_units >= _FEW_CLUSTERS * n_tested:
        return
    together = "" if n_tested == 1 else f" for {n_tested} coefficients"
    named = f"errors={model.errors!r}"
    kind = f"few clusters, with which {named} has p-values that are too small (errors='cr2' has not),"
    notes[kind].append(f"{model.label}: {model.n_units} clusters{together}")


def of_combinations(model: Model, combinations: np.ndarray, notes: Notes) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors of combinations (q, p) of a model's parameters and their df, NaN where undefined."""
    solution = model.solution
    assert solution is not None
    values, of_coefficients = covariance(model, notes)
    unknown = np.isnan(np.diag(values))
    variance = np.einsum("ij,jk,ik->i", combinations, np.where(np.isnan(values), 0.0, values), combinations)
    variance[(combinations[:, unknown] != 0).any(axis=1)] = np.nan
    if np.isfinite(solution.dispersion):
        scale = np.diag(np.einsum("ij,jk,ik->i", combinations, solution.bread, combinations))
        mean_square = float((solution.fitted**2).mean())
        variance[zero_variances(variance, scale, solution.dispersion, mean_square)] = np.nan
    known = np.isfinite(variance)
    df = np.full(len(combinations), np.nan)
    power = ERRORS[model.errors].power
    if solution.inference is not None:
        df[known] = solution.inference.df(model.errors, combinations[known])
    elif power is None:
        df[:] = of_coefficients[0]
    elif known.any():
        df[known] = bias_reduced(*least_squares(model), contrasts=combinations[known], power=power)[1]
    return np.sqrt(np.where(known, variance, np.nan)), df


def _rows(
    solution: Solution, clusters: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows whose sum of squares is the inverse of bread, bread, and the rows' clusters."""
    bread = solution.bread
    if solution.step is None:
        weights = solution.weights * (1.0 if solution.sampling is None else solution.sampling)
        return solution.matrix * np.sqrt(weights)[:, None], bread, clusters
    rows = solution.step[0]
    if len(rows) == solution.n:
        return rows, bread, clusters
    of_rows = np.arange(solution.n) if clusters is None else clusters
    return rows, bread, np.repeat(of_rows, len(rows) // solution.n)


def least_squares(
    model: Model,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """What CR2 is made of: the rows, errors, bread, clusters, spread and sampling of `bias_reduced`."""
    solution, clusters = model.solution, model.clusters
    assert solution is not None
    assert clusters is not None
    if solution.step is None:
        root = np.sqrt(solution.weights)
        rows = solution.matrix * root[:, None]
        errors = np.divide(solution.residual, root, where=root > 0, out=np.zeros(solution.n))
        return rows, errors, solution.bread, clusters, solution.weights, solution.sampling
    rows, errors = solution.step
    several = np.repeat(clusters, len(rows) // len(clusters))
    return rows, errors, decomposed(rows)[2], several, None, None


def inferred(estimate: np.ndarray, std_error: np.ndarray, df: np.ndarray, level: float) -> dict[str, Any]:
    """The columns of estimates that follow from their errors; df is infinite for the normal distribution."""
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = estimate / std_error
    half = special.stdtrit(df, (1 + level) / 2) * std_error
    return {
        "estimate": estimate,
        "std_error": std_error,
        "statistic": statistic,
        "df": np.where(np.isinf(df), np.nan, df),
        "p_value": 2 * special.stdtr(df, -np.abs(statistic)),
        "conf_low": estimate - half,
        "conf_high": estimate + half,
        "conf_level": float(level),
        "interval": np.where(np.isinf(df), "wald", "t"),
    }
