"""Uncertainty of a mixed model's variances, and how the coefficients' covariance changes with them."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_solve

from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.deviance import Evaluation, evaluate
from salstats.stats.models.mixed.information import hessian
from salstats.stats.models.mixed.terms import RandomTerm, lambdas

#: Eigenvalues of the second derivatives up to this size are rounding errors, as in lmerTest.
_ROUNDING = 1e-8


def parameter_covariance(
    products: Crossproducts, terms: Sequence[RandomTerm], theta: np.ndarray, sigma: float, *, reml: bool
) -> np.ndarray:
    """Return twice the inverse Hessian of the deviance by theta and sigma, (m + 1, m + 1).

    Directions in which the deviance does not rise get no variance: they are treated as known.
    """
    relative_factors = lambdas(theta, terms)
    evaluation = evaluate(products, relative_factors, reml=reml, sigma=sigma)
    second_derivatives = hessian(products, terms, relative_factors, evaluation, reml=reml, sigma=sigma)
    # Derivatives by the logarithm are used for thetas above 1, since those by a large theta vanish.
    scale = np.append(np.maximum(np.abs(theta), 1.0), 1.0)
    eigenvalues, eigenvectors = np.linalg.eigh(second_derivatives * np.outer(scale, scale))
    rising = eigenvalues > _ROUNDING
    root = scale[:, None] * eigenvectors[:, rising] / np.sqrt(eigenvalues[rising])
    return np.asarray(2 * root @ root.T)


def covariance_slopes(
    evaluation: Evaluation, terms: Sequence[RandomTerm], theta: np.ndarray, sigma: float
) -> np.ndarray:
    """Return the derivatives of sigma^2 (X'V^-1 X)^-1 by theta and sigma, (m + 1, p, p)."""
    n_coefficients = len(evaluation.cholesky_factor)
    inverse = cho_solve((evaluation.cholesky_factor, True), np.eye(n_coefficients))
    slopes = []
    for z_by_x, relative_factor, term in zip(
        evaluation.fixed_products, lambdas(theta, terms), terms, strict=True
    ):
        # A change dSigma of the term's covariance changes V by Z dSigma Z', and (X'V^-1 X)^-1 by
        # B' dSigma B, where B = Z'V^-1 X (X'V^-1 X)^-1.
        b = z_by_x @ inverse
        for row, column in zip(*term.theta_positions, strict=True):
            times_lambda = np.einsum("liu,i->lu", b, relative_factor[:, column])
            half = b[:, row].T @ times_lambda
            slopes.append(sigma**2 * (half + half.T))
    by_sigma = 2 * sigma * inverse
    return np.array([*slopes, by_sigma])
