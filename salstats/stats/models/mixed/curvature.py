"""How well the variances of a mixed model are known, and how the coefficients' covariance moves with them."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_solve

from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.deviance import Evaluated, evaluate, gradient
from salstats.stats.models.mixed.terms import RandomTerm, lambdas

#: Size below which an eigenvalue of the second derivatives is rounding, as in lmerTest.
_ROUNDING = 1e-8


def parameter_covariance(
    products: Crossproducts, terms: Sequence[RandomTerm], theta: np.ndarray, sigma: float, *, reml: bool
) -> np.ndarray:
    """Twice the inverse of the second derivatives of the deviance by theta and sigma, (m + 1, m + 1).

    Directions that the deviance does not rise in have no variance: they are taken as known.
    """

    def slope(at: np.ndarray) -> np.ndarray:
        factors = lambdas(at, terms)
        return gradient(evaluate(products, factors, reml=reml, sigma=sigma), factors, terms)

    hessian = np.zeros((len(theta) + 1, len(theta) + 1))
    for k in range(len(theta)):
        # five points: exact for polynomials of degree four
        step = np.zeros_like(theta)
        step[k] = 1e-3 * max(abs(theta[k]), 1e-2)
        near, far = (
            slope(theta + step) - slope(theta - step),
            slope(theta + 2 * step) - slope(theta - 2 * step),
        )
        hessian[k, :-1] = (8 * near - far) / (12 * step[k])
    hessian = (hessian + hessian.T) / 2
    factors = lambdas(theta, terms)
    found = evaluate(products, factors, reml=reml, sigma=sigma)
    taken = [(2 * r.T @ r @ f)[t.places] for r, f, t in zip(found.residuals, factors, terms, strict=True)]
    hessian[-1, :-1] = hessian[:-1, -1] = 2 * np.concatenate(taken) / sigma**3
    df = products.n_rows - len(found.factor) if reml else products.n_rows
    hessian[-1, -1] = 6 * found.rss / sigma**4 - 2 * df / sigma**2
    values, vectors = np.linalg.eigh(hessian)
    kept = values > _ROUNDING
    return 2 * (vectors[:, kept] / values[kept]) @ vectors[:, kept].T


def covariance_slopes(
    found: Evaluated, terms: Sequence[RandomTerm], theta: np.ndarray, sigma: float
) -> np.ndarray:
    """Derivatives of sigma^2 (X'V^-1 X)^-1 by theta and sigma, (m + 1, p, p)."""
    inverse = cho_solve((found.factor, True), np.eye(len(found.factor)))
    slopes = []
    for design, factor, term in zip(found.design, lambdas(theta, terms), terms, strict=True):
        # (X'V^-1 X)^-1 X'V^-1 Z, by which a change of V by Z dSigma Z' goes into the covariance
        through = design @ inverse
        for row, column in zip(*term.places, strict=True):
            half = through[:, row].T @ np.einsum("liu,i->lu", through, factor[:, column])
            slopes.append(sigma**2 * (half + half.T))
    return np.array([*slopes, 2 * sigma * inverse])
