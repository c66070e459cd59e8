"""Standard errors and degrees of freedom of a model's coefficients."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from salstats.errors import Message, Setting
from salstats.stats.models.covariance import (
    CovarianceAndDf,
    are_zero_variances,
    bias_reduced_covariance,
    cluster_robust_covariance,
    has_no_sandwich_variance,
    heteroscedastic_covariance,
)
from salstats.stats.models.error_kinds import CLUSTERED_ERRORS, ERRORS
from salstats.stats.models.family import Solution, qr_and_leverage
from salstats.stats.models.fitted_models import Model
from salstats.stats.models.model_notes import Notes, column_or_text

#: Number of coefficients that a note names.
_MAX_NAMES = 5
#: Clusters per tested coefficient below which CR1 rejects too often.
_FEW_CLUSTERS = 20


class LeastSquares(NamedTuple):
    """Least squares problem that CR2 is computed from: the model itself, or its last step of scoring."""

    rows: np.ndarray  # (m, p), the model matrix times the root of the weights
    errors: np.ndarray  # (m,), the residuals divided by the root of the weights
    bread: np.ndarray  # (p, p)
    clusters: NDArray[np.integer]  # (m,), codes
    weights: np.ndarray | None  # (m,); None where all are 1
    sampling: np.ndarray | None  # (m,), sampling weights


def covariance_and_df(
    model: Model, notes: Notes, coefficients_to_note: Sequence[int] | None = None
) -> CovarianceAndDf:
    """Return the covariance (p, p) of a model's parameters, coefficients first, and degrees of freedom (p,).

    Undefined entries are NaN. Degrees of freedom are those of Student's t, infinite for the normal
    distribution. Undefined standard errors are added to `notes`: those of `coefficients_to_note` (positions),
    by default of all coefficients.
    """
    solution = model.solution
    errors = model.errors
    assert solution is not None
    # Mixed models have a covariance of their own.
    if solution.inference is not None:
        df = solution.inference.df(errors, np.eye(solution.rank))
        return CovarianceAndDf(solution.inference.covariance(errors), df)
    clusters = model.clusters if errors in CLUSTERED_ERRORS else None
    bread = solution.bread
    # A perfect fit leaves no residuals to estimate a covariance from.
    if np.isnan(solution.dispersion):
        df = np.full(len(bread), np.nan)
        if clusters is None:
            df = _residual_df_of_parameters(model)
        return CovarianceAndDf(np.full_like(bread, np.nan), df)
    if errors == "classical":
        return CovarianceAndDf(solution.dispersion * bread, _residual_df_of_parameters(model))

    covariance, df = _sandwich_covariance(model, solution, clusters)
    if clusters is not None and model.n_units < 2:
        notes.add(
            f"no {errors} errors (NaN), since there is a single cluster,",
            model.label,
            option="errors",
            value=errors,
            column="n_units",
        )
        return CovarianceAndDf(covariance, df)
    rows, row_clusters = _root_weighted_rows_and_optional_clusters(solution, clusters)
    has_no_sandwich = has_no_sandwich_variance(rows, bread, row_clusters)
    mean_square = float((solution.fitted**2).mean())
    is_zero = are_zero_variances(np.diag(covariance), bread, solution.dispersion, mean_square)
    is_undefined = has_no_sandwich | is_zero
    covariance[is_undefined] = np.nan
    covariance[:, is_undefined] = np.nan
    is_bias_reduced = ERRORS[errors].hat_exponent is not None
    if is_bias_reduced:
        df[is_undefined] = np.nan

    positions = range(solution.rank) if coefficients_to_note is None else coefficients_to_note
    row_or_cluster = "row" if clusters is None else "cluster"
    problem = f"no {errors} errors (NaN), since one {row_or_cluster} determines a coefficient by itself,"
    _note_coefficients(model, [i for i in positions if has_no_sandwich[i]], problem, "term", notes)
    problem = f"no {errors} errors (NaN), since they would be zero but for rounding,"
    is_zero_alone = is_zero & ~has_no_sandwich
    _note_coefficients(model, [i for i in positions if is_zero_alone[i]], problem, "std_error", notes)
    needs_many_clusters = errors in CLUSTERED_ERRORS and not is_bias_reduced
    if needs_many_clusters and coefficients_to_note is None and not np.isnan(covariance).all():
        note_few_clusters(model, 1, notes)
    return CovarianceAndDf(covariance, df)


def _residual_df_of_parameters(model: Model) -> np.ndarray:
    """Return the residual degrees of freedom for each parameter, infinite for the normal distribution."""
    solution = model.solution
    assert solution is not None
    df = np.inf if model.family.uses_normal else solution.df_residual
    return np.full(len(solution.bread), df)


def _sandwich_covariance(
    model: Model, solution: Solution, clusters: NDArray[np.integer] | None
) -> CovarianceAndDf:
    """Return the robust covariance (p, p) of the parameters, and their degrees of freedom (p,)."""
    errors = model.errors
    hat_exponent = ERRORS[errors].hat_exponent
    if clusters is None:
        covariance = heteroscedastic_covariance(
            solution.scores, solution.bread, solution.leverage, solution.df_residual, errors
        )
        return CovarianceAndDf(covariance, _residual_df_of_parameters(model))
    if hat_exponent is not None:
        return _bias_reduced_covariance(model, hat_exponent)
    is_corrected = errors == "cluster"
    covariance = cluster_robust_covariance(
        solution.scores, solution.bread, clusters, solution.df_residual, corrected=is_corrected
    )
    df = float(model.n_units - 1)
    if errors == "cr0":
        df = np.inf
    elif df == 0:
        df = np.nan
    return CovarianceAndDf(covariance, np.full(len(solution.bread), df))


def _bias_reduced_covariance(
    model: Model, hat_exponent: float, contrasts: np.ndarray | None = None
) -> CovarianceAndDf:
    """Return the bias-reduced covariance of a model's parameters, and degrees of freedom of combinations."""
    problem = working_least_squares(model)
    return bias_reduced_covariance(
        problem.rows,
        problem.errors,
        problem.bread,
        problem.clusters,
        problem.weights,
        problem.sampling,
        contrasts=contrasts,
        exponent=hat_exponent,
    )


def _note_coefficients(
    model: Model, positions: Sequence[int], problem: str, result_column: str, notes: Notes
) -> None:
    """Note a problem of the coefficients at `positions`, if there are any.

    `result_column` is the column of the result that shows the problem.
    """
    if not positions:
        return
    coefficient_names = model.coefficient_names
    names = [column_or_text(coefficient_names[i], model.variables) for i in positions[:_MAX_NAMES]]
    more = Message()
    if len(positions) > _MAX_NAMES:
        more = Message(" and ", f"{len(positions) - _MAX_NAMES}", " more")
    notes.add(
        problem,
        Message(model.label, ": ", Message.joined(names, ", "), more),
        option="errors",
        value=model.errors,
        column=result_column,
    )


def note_few_clusters(model: Model, n_tested: int, notes: Notes) -> None:
    """Note a model with so few clusters that CR0 and CR1 reject too often."""
    if model.n_units >= _FEW_CLUSTERS * n_tested:
        return
    tested = "" if n_tested == 1 else f" for {n_tested} coefficients"
    notes.add(
        Message(
            "few clusters, with which ", Setting("errors", model.errors), " has p-values that are too small,"
        ),
        Message(model.label, f": {model.n_units} clusters{tested}"),
        hint=Message("p-values of ", Setting("errors", "cr2"), " are not"),
        column="n_units",
    )


class StandardErrors(NamedTuple):
    """Standard errors of estimates and degrees of freedom, infinite for the normal distribution."""

    std_error: np.ndarray
    df: np.ndarray


def standard_errors_of_combinations(
    model: Model, parameter_combinations: np.ndarray, notes: Notes
) -> StandardErrors:
    """Return standard errors and degrees of freedom of combinations (q, p) of a model's parameters.

    Undefined ones are NaN; degrees of freedom are infinite for the normal distribution.
    """
    solution = model.solution
    assert solution is not None
    covariance, parameter_df = covariance_and_df(model, notes)
    is_undefined = np.isnan(np.diag(covariance))
    defined_covariance = np.where(np.isnan(covariance), 0.0, covariance)
    variance = np.einsum("ij,jk,ik->i", parameter_combinations, defined_covariance, parameter_combinations)
    uses_undefined = (parameter_combinations[:, is_undefined] != 0).any(axis=1)
    variance[uses_undefined] = np.nan
    if np.isfinite(solution.dispersion):
        combination_bread = np.einsum(
            "ij,jk,ik->i", parameter_combinations, solution.bread, parameter_combinations
        )
        mean_square = float((solution.fitted**2).mean())
        is_zero = are_zero_variances(variance, np.diag(combination_bread), solution.dispersion, mean_square)
        variance[is_zero] = np.nan
    is_defined = np.isfinite(variance)
    df = np.full(len(parameter_combinations), np.nan)
    hat_exponent = ERRORS[model.errors].hat_exponent
    if solution.inference is not None:
        df[is_defined] = solution.inference.df(model.errors, parameter_combinations[is_defined])
    elif hat_exponent is None:
        # All parameters have the same degrees of freedom.
        df[:] = parameter_df[0]
    elif is_defined.any():
        _, df[is_defined] = _bias_reduced_covariance(model, hat_exponent, parameter_combinations[is_defined])
    return StandardErrors(np.sqrt(np.where(is_defined, variance, np.nan)), df)


def correlation_of_combinations(model: Model, parameter_combinations: np.ndarray) -> np.ndarray:
    """Return the correlations (q, q) of combinations (q, p) of a model's parameters.

    The combinations must have standard errors.
    """
    # `standard_errors_of_combinations` notes problems of the covariance.
    covariance, _ = covariance_and_df(model, Notes())
    defined_covariance = np.where(np.isnan(covariance), 0.0, covariance)
    combination_covariance = parameter_combinations @ defined_covariance @ parameter_combinations.T
    std_error = np.sqrt(np.diag(combination_covariance))
    return np.asarray(combination_covariance / np.outer(std_error, std_error))


class _RowsAndClusters(NamedTuple):
    """Rows (m, p) of a least squares problem, and the clusters (m,) of these rows."""

    rows: np.ndarray
    clusters: np.ndarray | None


def _root_weighted_rows_and_optional_clusters(
    solution: Solution, clusters: NDArray[np.integer] | None
) -> _RowsAndClusters:
    """Return the design's rows times the roots of the weights, or the scoring problem's rows, with clusters.

    The crossproduct of the rows is the inverse of bread.
    """
    if solution.scoring_problem is None:
        sampling = 1.0 if solution.sampling is None else solution.sampling
        weights = solution.weights * sampling
        return _RowsAndClusters(solution.matrix * np.sqrt(weights)[:, None], clusters)
    rows, _ = solution.scoring_problem
    if len(rows) == solution.n_rows:
        return _RowsAndClusters(rows, clusters)
    if clusters is None:
        clusters = np.arange(solution.n_rows)
    return _RowsAndClusters(rows, np.repeat(clusters, len(rows) // solution.n_rows))


def working_least_squares(model: Model) -> LeastSquares:
    """Return the least squares problem that CR2 of a model with clusters is computed from."""
    solution = model.solution
    clusters = model.clusters
    assert solution is not None
    assert clusters is not None
    if solution.scoring_problem is None:
        root = np.sqrt(solution.weights)
        return LeastSquares(
            rows=solution.matrix * root[:, None],
            errors=np.divide(solution.residual, root, where=root > 0, out=np.zeros(solution.n_rows)),
            bread=solution.bread,
            clusters=clusters,
            weights=solution.weights,
            sampling=solution.sampling,
        )
    rows, errors = solution.scoring_problem
    return LeastSquares(
        rows=rows,
        errors=errors,
        bread=qr_and_leverage(rows).gram_inverse,
        clusters=np.repeat(clusters, len(rows) // len(clusters)),
        weights=None,
        sampling=None,
    )


def inference_columns(
    estimate: np.ndarray, std_error: np.ndarray, df: np.ndarray, level: float
) -> dict[str, Any]:
    """Return the columns of an estimates frame that follow from estimates, standard errors and df.

    `df` is infinite for the normal distribution.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = estimate / std_error
    half_width = special.stdtrit(df, (1 + level) / 2) * std_error
    is_normal = np.isinf(df)
    return {
        "estimate": estimate,
        "std_error": std_error,
        "statistic": statistic,
        "df": np.where(is_normal, np.nan, df),
        "p_value": 2 * special.stdtr(df, -np.abs(statistic)),
        "conf_low": estimate - half_width,
        "conf_high": estimate + half_width,
        "conf_level": float(level),
        "interval": np.where(is_normal, "wald", "t"),
    }
