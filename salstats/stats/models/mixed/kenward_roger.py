"""Kenward and Roger's covariance and degrees of freedom in linear mixed models, as pbkrtest has them.

Kenward MG, Roger JH. Small sample inference for fixed effects from restricted maximum likelihood. Biometrics
1997;53:983-997. doi:10.2307/2533558

Halekoh U, Hojsgaard S. A Kenward-Roger approximation and parametric bootstrap methods for tests in linear
mixed models: the R package pbkrtest. J Stat Softw 2014;59(9):1-32. doi:10.18637/jss.v059.i09
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import cho_solve

from salstats.checks import SalstatsError
from salstats.stats.models.mixed.crossproducts import Crossproducts
from salstats.stats.models.mixed.degrees import FTest, uncorrelated
from salstats.stats.models.mixed.deviance import Evaluated
from salstats.stats.models.mixed.information import (
    effects_times,
    entries,
    products_times,
    restricted_loadings,
    traces,
)
from salstats.stats.models.mixed.terms import RandomTerm

if TYPE_CHECKING:
    from salstats.stats.models.mixed.kernel import MixedSolution


class Adjustment(NamedTuple):
    """What is known of the coefficients' covariance over sigma^2, C = (X'V^-1 X)^-1."""

    # covariance, adjusted: (p, p), C, and what Kenward and Roger make of it
    covariance: np.ndarray
    adjusted: np.ndarray
    # (m + 1, p, p), derivatives of C by the variances and covariances, that of the residuals first
    changes: np.ndarray
    weights: np.ndarray  # (m + 1, m + 1), covariance of the estimates of those, by the expected information


class KenwardRoger(NamedTuple):
    """The coefficients' adjusted covariance (p, p), and tests of combinations of them."""

    covariance: np.ndarray  # (p, p)
    # (k,), degrees of freedom of each combination's t test, its standard error by the adjusted covariance
    df: np.ndarray
    test: FTest  # that all combinations are zero


def kenward_roger(solution: MixedSolution, contrasts: np.ndarray) -> KenwardRoger:
    """Tests of combinations of coefficients of a model by REML, their covariance adjusted for few levels."""
    if not solution.reml:
        raise SalstatsError("Kenward and Roger's tests need a fit by REML")
    contrasts = np.atleast_2d(contrasts)
    known = solution.adjustment
    df = np.array([_moments(known, solution.scaled_contrasts(row[None]))[1] for row in contrasts])
    back = solution.scaled.unit * solution.scaled.to_coefficients
    covariance = (solution.sigma / solution.scaled.unit) ** 2 * back @ known.adjusted @ back.T
    turned, _ = uncorrelated(contrasts, solution.covariance)
    if not len(turned):
        return KenwardRoger(covariance, df, FTest(np.nan, 0, np.nan))
    scaling, df_den = _moments(known, solution.scaled_contrasts(turned))
    values = turned @ solution.coefficients
    wald = values @ np.linalg.solve(turned @ covariance @ turned.T, values)
    return KenwardRoger(covariance, df, FTest(float(scaling * wald / len(turned)), len(turned), df_den))


def adjustment(
    products: Crossproducts, terms: Sequence[RandomTerm], factors: Sequence[np.ndarray], found: Evaluated
) -> Adjustment:
    """The adjusted covariance of a model by REML, and what its moments are made of.

    The residuals' matrix I is V less the terms' own, so that all of it is made of the terms' products.
    """
    given = entries(terms)
    rows, columns = zip(*(term.places for term in terms), strict=True)
    spread = [(f @ f.T)[r, c] for f, r, c in zip(factors, rows, columns, strict=True)]
    # from the terms' entries to those with the residuals first, I = V - sum of entry times its matrix
    turn = np.block(
        [[np.ones((1, 1)), -np.concatenate(spread)[None]], [np.zeros((len(given), 1)), np.eye(len(given))]]
    )
    loadings = restricted_loadings(found, reml=True)
    inverse = cho_solve((found.factor, True), np.eye(len(found.factor)))
    n_coefficients = len(inverse)
    variance = found.rss / (products.n_rows - n_coefficients)
    sums = [g + r.T @ r / variance for g, r in zip(found.gradients, found.residuals, strict=True)]
    single = [np.vdot(sums[entry.term], entry.matrix) for entry in given]
    trace = np.empty((len(turn), len(turn)))
    trace[0, 0] = products.n_rows - n_coefficients
    trace[0, 1:] = trace[1:, 0] = single
    trace[1:, 1:] = traces(products, found.reduced, loadings, given)
    weights = 2 * np.linalg.pinv(turn @ trace @ turn.T, rcond=1e-14, hermitian=True)
    design = found.reduced.outer[:, :-1]
    changed = [effects_times(products, entry, design) for entry in given]
    through = [products_times(products, found.reduced, loadings, part) for part in changed]
    information = [found.factor @ found.factor.T, *(design.T @ part for part in changed)]
    second = np.zeros((len(turn), len(turn), n_coefficients, n_coefficients))
    second[1:, 1:] = [[first.T @ other for other in through] for first in changed]
    second = np.einsum("ir,js,rsuv->ijuv", turn, turn, second, optimize=True)
    adjusted = inverse + 2 * inverse @ np.einsum("rs,rsuv->uv", weights, second) @ inverse
    changes = inverse @ np.einsum("ir,ruv->iuv", turn, information) @ inverse
    return Adjustment(inverse, adjusted, changes, weights)


def _moments(known: Adjustment, contrasts: np.ndarray) -> tuple[float, float]:
    """Scaling of the F statistic of combinations of full rank, and its denominator degrees of freedom."""
    n = len(contrasts)
    theta = contrasts.T @ np.linalg.solve(contrasts @ known.covariance @ contrasts.T, contrasts)
    parts = theta @ known.changes
    single = np.trace(parts, axis1=1, axis2=2)
    a1 = single @ known.weights @ single
    a2 = np.einsum("rs,ruv,svu->", known.weights, parts, parts, optimize=True)
    b = (a1 + 6 * a2) / (2 * n)
    g = ((n + 1) * a1 - (n + 4) * a2) / ((n + 2) * a2)
    c = np.array([g, n - g, n + 2 - g]) / (3 * n + 2 * (1 - g))
    v0, v1, v2 = 1 + c[0] * b, 1 - c[1] * b, 1 - c[2] * b
    # as pbkrtest: rounding is no difference from zero
    v1 = 0.0 if abs(v1) < 1e-10 else v1
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = ((1 - a2 / n) / v1) ** 2 * v0 / v2 / n
        df = float(4 + (n + 2) / (n * rho - 1))
    return (1.0 if abs(df - 2) < 1e-2 else float(df * (1 - a2 / n) / (df - 2))), df
