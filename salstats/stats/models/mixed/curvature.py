"""How well the variances of a mixed model are known, and how the coefficients' covariance moves with them."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_solve

from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.deviance import Evaluated, evaluate
from salstats.stats.models.mixed.information import hessian
from salstats.stats.models.mixed.terms import RandomTerm, lambdas

#: Size below which an eigenvalue of the second derivatives is rounding, as in lmerTest.
_ROUNDING = 1e-8


def parameter_covariance(
    products: Crossproducts, terms: Sequence[RandomTerm], theta: np.ndarray, sigma: float, *, reml: bool
) -> np.ndarray:
    """Twice the inverse of the second derivatives of the deviance by theta and sigma, (m + 1, m + 1).

    Directions that the deviance does not rise in have no variance: they are taken as known.
    """
    factors = lambdas(theta, terms)
    found = evaluate(products, factors, reml=reml, sigma=sigma)
    second = hessian(products, terms, factors, found, reml=reml, sigma=sigma)
    # large ones by their logarithms, whose second derivatives do not vanish
    unit = np.append(np.maximum(np.abs(theta), 1.0), 1.0)
    values, vectors = np.linalg.eigh(second * np.outer(unit, unit))
    kept = values > _ROUNDING
    root = unit[:, None] * vectors[:, kept] / np.sqrt(values[kept])
    return 2 * root @ root.T


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
