"""Models of several linear predictors by maximum likelihood: Fisher's scoring, and the mean of a score."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from salstats.stats.models.family import Link, NotEstimableError, Solution

_CONVERGED = 1e-11
_MAX_ITERATIONS = 500
#: Share of the largest eigenvalue of what a row tells that is zero but for rounding.
_NULL = 1e-14


class Told(NamedTuple):
    """What rows tell of their k predictors."""

    likelihood: float
    #: (n, k): Derivatives of each row's log-likelihood; (n, k, k): their covariance by the model.
    slopes: np.ndarray
    information: np.ndarray


class Maximum(NamedTuple):
    """A maximum of the likelihood, with the fields of a Solution that follow from it."""

    parameters: np.ndarray
    likelihood: float
    bread: np.ndarray
    scores: np.ndarray
    step: tuple[np.ndarray, np.ndarray]


def maximum(
    designs: Sequence[np.ndarray],
    start: np.ndarray,
    told: Callable[[np.ndarray], Told],
    label: str,
) -> Maximum:
    """The parameters at which the likelihood is largest, predictor j being `designs[j]` times its own.

    A step that does not gain is halved; `told` says so by a likelihood that is no number. The rows of
    `step` are k for each score, R Z with R'R its information, its errors R^-T times its slopes.
    """
    ends = np.cumsum([0, *(d.shape[1] for d in designs)])
    parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
    n, k = len(designs[0]), len(designs)
    parameters, likelihood, step, size = start, -np.inf, np.zeros(len(start)), 1.0
    for _ in range(_MAX_ITERATIONS):
        tried = parameters + size * step
        with np.errstate(all="ignore"):
            found = told(np.column_stack([d @ tried[p] for d, p in zip(designs, parts, strict=True)]))
        # near the top rounding may take a little of what a step gains
        if not found.likelihood >= likelihood - 1e-10 * abs(likelihood):
            size /= 2
            continue
        parameters, likelihood = tried, found.likelihood
        scores = np.concatenate([d * found.slopes[:, [j]] for j, d in enumerate(designs)], axis=1)
        information = np.block(
            [[a.T @ (found.information[:, i, [j]] * b) for j, b in enumerate(designs)]
             for i, a in enumerate(designs)]
        )  # fmt: skip
        # a covariate in other units is no worse known
        scale = np.sqrt(np.diag(information))
        scaled = information / np.outer(scale, scale)
        if not np.isfinite(scaled).all() or np.linalg.cond(scaled) > 1 / np.finfo(float).eps:
            raise NotEstimableError(f"the {label} model has no finite estimates")
        step, size = np.linalg.solve(information, scores.sum(axis=0)), 1.0
        if np.abs(step).max() <= _CONVERGED * max(1.0, np.abs(parameters).max()):
            break
    else:
        raise NotEstimableError(f"the {label} model did not converge in {_MAX_ITERATIONS} iterations")
    root, inverse = _roots(found.information)
    rows = np.concatenate([root[:, :, [j]] * d[:, None, :] for j, d in enumerate(designs)], axis=2)
    errors = np.einsum("nij,nj->ni", inverse, found.slopes)
    bread = np.linalg.inv(information)
    return Maximum(parameters, likelihood, bread, scores, (rows.reshape(n * k, -1), errors.ravel()))


def _roots(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R with R'R the information of each row, and R^-T; 0 in directions of which it tells nothing."""
    size = np.sqrt(np.einsum("nii->ni", information))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(information / (size[:, :, None] * size[:, None, :]))
    known = values > _NULL * values[:, -1:]
    root = np.sqrt(np.where(known, values, 0.0))
    inverse = np.divide(1.0, root, where=known, out=np.zeros_like(root))
    turned = vectors.transpose(0, 2, 1)
    return root[:, :, None] * turned * size[:, None, :], inverse[:, :, None] * turned / size[:, None, :]


def linear_at(solution: Solution, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The link of the mean at rows of the model matrix, and its derivatives by the parameters."""
    if solution.surface is None:
        return points @ solution.coefficients, points
    predictors = _predictors(solution, points)
    mean, slopes, _ = solution.surface(predictors)
    gradient = _by_parameters(solution, slopes, points) / (mean * (1 - mean))[:, None]
    return np.log(mean / (1 - mean)), gradient


def steepness_at(
    solution: Solution, link: Link, points: np.ndarray, slopes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How the mean moves where the model matrix moves by `slopes`, and its derivatives by the parameters."""
    if solution.surface is None:
        predictor, along = points @ solution.coefficients, slopes @ solution.coefficients
        steep = link.slope(predictor)
        return steep * along, steep[:, None] * slopes + (link.curve(predictor) * along)[:, None] * points
    moved = np.einsum("jr,nr->nj", _of_parts(solution), slopes)
    n_parts = moved.shape[1]
    _, first, second = solution.surface(_predictors(solution, points))
    turned = np.einsum("njk,nj->nk", second[:, :n_parts], moved)
    gradient = _by_parameters(solution, turned, points)
    gradient[:, : n_parts * points.shape[1]] += _by_parameters(solution, first[:, :n_parts], slopes)
    return (first[:, :n_parts] * moved).sum(axis=1), gradient


def _of_parts(solution: Solution) -> np.ndarray:
    """The coefficients, a row for each part."""
    return solution.coefficients.reshape(len(solution.parts), -1)


def _predictors(solution: Solution, points: np.ndarray) -> np.ndarray:
    """The predictors at rows of the model matrix: those of the parts, then what is alike in every row."""
    alike = np.tile(solution.others, (len(points), 1))
    return np.column_stack([points @ _of_parts(solution).T, alike])


def _by_parameters(solution: Solution, by_predictors: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Derivatives by the parameters from those by the predictors."""
    n_parts = len(solution.parts)
    of_parts = by_predictors[:, :n_parts, None] * points[:, None, :]
    return np.column_stack([of_parts.reshape(len(points), -1), by_predictors[:, n_parts:]])
