"""Generalised estimating equations with an exchangeable working correlation, for any family."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from salstats.errors import Message, Setting
from salstats.stats.models.error_kinds import CLUSTERED_ERRORS
from salstats.stats.models.family import Family, NotEstimableError, Solution

#: Values of `correlation=`.
CORRELATIONS = ("exchangeable",)
_RECOMMENDED = "mancl-derouen"
#: Change of the coefficients, relative to the largest, at which iterations stop.
_CONVERGED = 1e-12
_MAX_ITERATIONS = 200
#: Mean squared Pearson residual up to which a fit is perfect but for rounding.
_PERFECT = 1e-20


def gee_family(family: Family) -> Family:
    """Return the family with the standard errors and tests of models of correlated rows (GEE).

    Its errors are clustered, and its tests use Student's t distribution.
    """
    other_errors = [kind for kind in CLUSTERED_ERRORS if kind != _RECOMMENDED]
    return replace(family, errors=(_RECOMMENDED, *other_errors), uses_normal=False)


def exchangeable_gee(
    matrix: np.ndarray,
    response: np.ndarray,
    has_intercept: bool,
    *,
    family: Family,
    clusters: NDArray[np.integer],
) -> Solution:
    """Fit a model in which any two rows of a cluster (codes 0 ... G - 1) have the correlation alpha.

    It solves sum D'V^-1 (y - mu) = 0, D the derivatives of mu by the coefficients, V = phi A^(1/2) R(alpha)
    A^(1/2), A the family's variances and R the correlations. Moments are as in R's geepack: with Pearson
    residuals e, phi = sum e^2 / n, and alpha is the mean product of two residuals of a cluster over phi.
    (R's gee and statsmodels subtract the number of coefficients from both denominators.) Rows may have any
    order; geepack needs the rows of a cluster next to each other.

    `scoring_problem` of the solution has the rows D and the errors y - mu, both multiplied by the root of
    R^-1 A^-1. These errors are uncorrelated under the model, so that the covariances of least squares apply.

    Liang KY, Zeger SL. Longitudinal data analysis using generalized linear models. Biometrika
    1986;73:13-22. https://doi.org/10.1093/biomet/73.1.13

    Højsgaard S, Halekoh U, Yan J. The R package geepack for generalized estimating equations. J Stat Softw
    2006;15(2):1-11. https://doi.org/10.18637/jss.v015.i02
    """
    sizes = np.bincount(clusters)
    if len(sizes) < 2:
        raise NotEstimableError("all rows belong to one unit, which does not show how units differ")
    if sizes.max() < 2:
        raise NotEstimableError(
            "each unit has a single row, so that nothing is correlated",
            hint=Message("leave ", Setting("correlation"), " out"),
            option="correlation",
        )
    independent = family.solve(matrix, response, has_intercept)
    coefficients = independent.coefficients
    for _ in range(_MAX_ITERATIONS):
        predictor = matrix @ coefficients
        fitted = family.link.mean(predictor)
        std_dev = np.sqrt(family.variance(fitted))
        pearson = (response - fitted) / std_dev
        alpha, scale = _correlation_and_scale(pearson, clusters, sizes)
        if scale <= _PERFECT:
            return replace(independent, dispersion=float("nan"))
        # Only within these bounds is the correlation matrix of the largest unit positive definite.
        if not -1 / (sizes.max() - 1) < alpha < 1:
            raise NotEstimableError(
                f"rows of a unit are correlated by {alpha:.3g}, which units of ",
                f"{sizes.max()}",
                " rows cannot be",
                hint=Message("leave ", Setting("correlation"), " out"),
                option="correlation",
            )
        derivative = matrix * (family.link.first_derivative(predictor) / std_dev)[:, None]
        rows = _whiten(derivative, alpha, clusters, sizes)
        errors = _whiten(pearson[:, None], alpha, clusters, sizes)[:, 0]
        bread = np.linalg.inv(rows.T @ rows)
        change = bread @ (rows.T @ errors)
        if np.abs(change).max() <= _CONVERGED * max(1.0, np.abs(coefficients).max()):
            break
        coefficients = coefficients + change
    else:
        raise NotEstimableError(f"the estimating equations did not converge in {_MAX_ITERATIONS} iterations")
    undefined = float("nan")
    return replace(
        independent,
        coefficients=coefficients,
        fitted=fitted,
        weights=std_dev**2,
        bread=bread,
        scores=rows * errors[:, None],
        leverage=np.full(len(response), undefined),
        dispersion=scale,
        deviance=undefined,
        null_deviance=undefined,
        log_likelihood=undefined,
        parameters={"alpha": alpha, "scale": scale},
        scoring_problem=(rows, errors),
    )


def _correlation_and_scale(
    pearson: np.ndarray, clusters: NDArray[np.integer], sizes: np.ndarray
) -> tuple[float, float]:
    """Moment estimates of alpha, the correlation of two rows of a cluster, and of the scale phi."""
    scale = float((pearson**2).mean())
    # The sum over pairs i != j of a cluster is the square of the sum minus the sum of squares.
    pair_products = np.bincount(clusters, pearson) ** 2 - np.bincount(clusters, pearson**2)
    n_pairs = (sizes * (sizes - 1.0)).sum()
    with np.errstate(invalid="ignore"):
        alpha = float(pair_products.sum() / n_pairs / scale)
    return alpha, scale


def _whiten(rows: np.ndarray, alpha: float, clusters: NDArray[np.integer], sizes: np.ndarray) -> np.ndarray:
    """Return R^(-1/2) times rows (n, k), with the symmetric root; `sizes` (G,) are those of the clusters.

    The eigenvectors of an exchangeable R are the constant, with eigenvalue 1 + (size - 1) alpha, and the
    deviations from a cluster's mean, with eigenvalue 1 - alpha.
    """
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, clusters, rows)
    means = (sums / sizes[:, None])[clusters]
    mean_factor = 1 / np.sqrt(1 + (sizes[clusters] - 1) * alpha)
    return np.asarray((rows - means) / np.sqrt(1 - alpha) + means * mean_factor[:, None])
