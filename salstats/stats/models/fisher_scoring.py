"""Models with several linear predictors: maximum likelihood by Fisher's scoring, and the mean of a score."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from salstats.stats.models.family import Link, NotEstimableError, Solution

#: Largest step, relative to the largest parameter, at which Fisher's scoring has converged.
_CONVERGED = 1e-11
_MAX_ITERATIONS = 500
#: Loss of the likelihood, as a share of it, that may be rounding error near the maximum.
_LIKELIHOOD_ROUNDING = 1e-10
#: Eigenvalues of a row's information up to this share of the largest one are rounding errors.
_NULL_EIGENVALUE = 1e-14


class SummedLikelihood(NamedTuple):
    """Log likelihood of a model, and its derivatives by the k linear predictors of each row."""

    log_likelihood: float
    gradients: np.ndarray  # (n, k), derivatives of each row's log likelihood
    information: np.ndarray  # (n, k, k), covariance of these derivatives under the model


class Maximum(NamedTuple):
    """Maximum of the likelihood; all fields but `parameters` are as in `Solution`."""

    parameters: np.ndarray
    log_likelihood: float
    bread: np.ndarray
    scores: np.ndarray
    scoring_problem: tuple[np.ndarray, np.ndarray]


def maximize_likelihood(
    designs: Sequence[np.ndarray],
    start: np.ndarray,
    derivatives_at: Callable[[np.ndarray], SummedLikelihood],
    label: str,
) -> Maximum:
    """Find the parameters of largest likelihood by Fisher's scoring, from the parameters `start`.

    Linear predictor j is `designs[j]` (n, p_j) times its own parameters; `derivatives_at` takes the
    predictors (n, k). A step that lowers the likelihood, or makes it NaN, is halved. `label` is the name of
    the model in errors.
    """
    n = len(designs[0])
    k = len(designs)
    # Positions of the parameters of each predictor
    boundaries = np.cumsum([0, *(design.shape[1] for design in designs)])
    slices = [slice(first, end) for first, end in itertools.pairwise(boundaries)]
    parameters = start
    likelihood = -np.inf
    step = np.zeros(len(start))
    step_size = 1.0
    for _ in range(_MAX_ITERATIONS):
        new_parameters = parameters + step_size * step
        with np.errstate(all="ignore"):
            predictors = np.column_stack(
                [design @ new_parameters[span] for design, span in zip(designs, slices, strict=True)]
            )
            derivatives = derivatives_at(predictors)
        if not derivatives.log_likelihood >= likelihood - _LIKELIHOOD_ROUNDING * abs(likelihood):
            step_size /= 2
            continue
        parameters = new_parameters
        likelihood = derivatives.log_likelihood
        scores = np.concatenate(
            [design * derivatives.gradients[:, [j]] for j, design in enumerate(designs)], axis=1
        )
        information = _parameter_information(designs, derivatives.information)
        # The condition number must not depend on the units of the covariates.
        scale = np.sqrt(np.diag(information))
        scaled = information / np.outer(scale, scale)
        if not np.isfinite(scaled).all() or np.linalg.cond(scaled) > 1 / np.finfo(float).eps:
            raise NotEstimableError(f"the {label} model has no finite estimates", column="term")
        step = np.linalg.solve(information, scores.sum(axis=0))
        step_size = 1.0
        if np.abs(step).max() <= _CONVERGED * max(1.0, np.abs(parameters).max()):
            break
    else:
        raise NotEstimableError(
            f"the {label} model did not converge in {_MAX_ITERATIONS} iterations", value=_MAX_ITERATIONS
        )
    # The last step is the least squares solution of errors on rows, k of each for every row of the data.
    roots, inverse_transposed_roots = _eigen_factors_and_inverse_transposed_factors(derivatives.information)
    rows = np.concatenate([roots[:, :, [j]] * design[:, None, :] for j, design in enumerate(designs)], axis=2)
    errors = np.einsum("nij,nj->ni", inverse_transposed_roots, derivatives.gradients)
    return Maximum(
        parameters=parameters,
        log_likelihood=likelihood,
        bread=np.linalg.inv(information),
        scores=scores,
        scoring_problem=(rows.reshape(n * k, -1), errors.ravel()),
    )


def _parameter_information(designs: Sequence[np.ndarray], information: np.ndarray) -> np.ndarray:
    """Return the information (p, p) on the parameters from the information (n, k, k) on the predictors."""
    blocks = []
    for i, first_design in enumerate(designs):
        row_of_blocks = [
            first_design.T @ (information[:, i, [j]] * second_design)
            for j, second_design in enumerate(designs)
        ]
        blocks.append(row_of_blocks)
    return np.block(blocks)


def _eigen_factors_and_inverse_transposed_factors(
    information_of_each_row: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return R and the inverse of its transpose, both (n, k, k), where R'R is the information of each row.

    Both come from the eigenvalues and eigenvectors of the information scaled to a diagonal of 1; in
    directions without information they are 0.
    """
    scale = np.sqrt(np.einsum("nii->ni", information_of_each_row))
    scale = np.where(scale > 0, scale, 1.0)
    scaled = information_of_each_row / (scale[:, :, None] * scale[:, None, :])
    eigenvalues, eigenvectors = np.linalg.eigh(scaled)
    nonzero = eigenvalues > _NULL_EIGENVALUE * eigenvalues[:, -1:]
    eigenvalue_roots = np.sqrt(np.where(nonzero, eigenvalues, 0.0))
    inverse_eigenvalue_roots = np.divide(
        1.0, eigenvalue_roots, where=nonzero, out=np.zeros_like(eigenvalue_roots)
    )
    transposed_vectors = eigenvectors.transpose(0, 2, 1)
    roots = eigenvalue_roots[:, :, None] * transposed_vectors * scale[:, None, :]
    inverse_transposed_roots = inverse_eigenvalue_roots[:, :, None] * transposed_vectors / scale[:, None, :]
    return roots, inverse_transposed_roots


class ValuesAndGradients(NamedTuple):
    """A quantity of m rows, and its derivatives by the p parameters of a model."""

    values: np.ndarray  # (m,)
    gradients: np.ndarray  # (m, p)


def mean_on_link_scale_at(solution: Solution, points: np.ndarray) -> ValuesAndGradients:
    """Return the linked mean at rows (m, r) of the model matrix, and its derivatives (m, p).

    The derivatives are by the parameters. The linked mean is the linear predictor of a generalized linear
    model, and the logit of the mean in the beta models.
    """
    if solution.mean_function is None:
        return ValuesAndGradients(points @ solution.coefficients, points)
    mean, slopes, _ = solution.mean_function(_linear_and_nuisance_predictors(solution, points))
    mean_gradient = _derivatives_by_parameters(solution, slopes, points)
    variance = mean * (1 - mean)
    return ValuesAndGradients(np.log(mean / (1 - mean)), mean_gradient / variance[:, None])


def slope_of_mean_on_score_scale_at(
    solution: Solution, link: Link, points: np.ndarray, point_slopes: np.ndarray
) -> ValuesAndGradients:
    """Return the slope of the mean along a covariate (m,), and its derivatives by the parameters (m, p).

    `points` (m, r) are rows of the model matrix, `point_slopes` (m, r) their derivatives by the covariate.
    """
    if solution.mean_function is None:
        predictor = points @ solution.coefficients
        predictor_slope = point_slopes @ solution.coefficients
        link_slope = link.first_derivative(predictor)
        by_points = (link.second_derivative(predictor) * predictor_slope)[:, None] * points
        return ValuesAndGradients(
            link_slope * predictor_slope, link_slope[:, None] * point_slopes + by_points
        )
    coefficients = _coefficients_by_part(solution)
    n_parts = len(coefficients)
    predictor_slopes = np.einsum("jr,nr->nj", coefficients, point_slopes)
    _, first, second = solution.mean_function(_linear_and_nuisance_predictors(solution, points))
    first_of_parts = first[:, :n_parts]
    # The slope of the mean is the sum over predictors j of d mean / d j times the slope of j. By the product
    # rule its derivatives have two parts, since both factors depend on the parameters.
    by_predictors = np.einsum("njk,nj->nk", second[:, :n_parts], predictor_slopes)
    gradient = _derivatives_by_parameters(solution, by_predictors, points)
    gradient[:, : n_parts * points.shape[1]] += _derivatives_by_parameters(
        solution, first_of_parts, point_slopes
    )
    return ValuesAndGradients((first_of_parts * predictor_slopes).sum(axis=1), gradient)


def _coefficients_by_part(solution: Solution) -> np.ndarray:
    """Return the coefficients of each linear predictor, (n_parts, r)."""
    return solution.coefficients.reshape(len(solution.predictor_names), -1)


def _linear_and_nuisance_predictors(solution: Solution, model_matrix_rows: np.ndarray) -> np.ndarray:
    """Return all predictors at m rows of the model matrix: the linear ones, then the nuisance parameters.

    The shape is (m, number of predictors).
    """
    constant = np.tile(solution.nuisance_parameters, (len(model_matrix_rows), 1))
    return np.column_stack([model_matrix_rows @ _coefficients_by_part(solution).T, constant])


def _derivatives_by_parameters(
    solution: Solution, by_predictors: np.ndarray, points: np.ndarray
) -> np.ndarray:
    """Return derivatives by the parameters (m, p) from derivatives by all predictors (m, k)."""
    n_parts = len(solution.predictor_names)
    by_coefficients = by_predictors[:, :n_parts, None] * points[:, None, :]
    return np.column_stack([by_coefficients.reshape(len(points), -1), by_predictors[:, n_parts:]])
