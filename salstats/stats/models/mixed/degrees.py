"""Satterthwaite's degrees of freedom in linear mixed models, as lmerTest has them.

Kuznetsova A, Brockhoff PB, Christensen RHB. lmerTest package: tests in linear mixed effects models. J Stat
Softw 2017;82(13):1-26. doi:10.18637/jss.v082.i13
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from salstats.stats.models.mixed.kernel import MixedSolution

#: Share of the largest eigenvalue below which one is rounding, as in lmerTest.
_ROUNDING = 1e-8


class FTest(NamedTuple):
    """F test that combinations of coefficients are all zero; NaN where there are none."""

    statistic: float
    df_num: int
    df_den: float


def satterthwaite(solution: MixedSolution, contrasts: np.ndarray) -> np.ndarray:
    """Degrees of freedom of the t test of each combination of coefficients, (k,): 2 v^2 / (g'A g).

    v is the variance of the combination, g its derivatives by theta and sigma, and A their covariance, twice
    the inverse of the second derivatives of the deviance. A variance that is estimated as zero is taken as
    known.
    """
    contrasts = np.atleast_2d(contrasts)
    variances = np.einsum("ku,uv,kv->k", contrasts, solution.covariance, contrasts)
    slopes = np.einsum("ku,tuv,kv->kt", contrasts, solution.covariance_slopes, contrasts)
    spread = np.einsum("ki,ij,kj->k", slopes, solution.parameter_covariance, slopes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 2 * variances**2 / spread


def satterthwaite_f(solution: MixedSolution, contrasts: np.ndarray) -> FTest:
    """F test that all combinations of coefficients are zero, with Satterthwaite's degrees of freedom.

    The combinations are turned into uncorrelated ones, whose squared t values F averages; those that repeat
    others are left out.
    """
    turned, variances = uncorrelated(np.atleast_2d(contrasts), solution.covariance)
    if not len(turned):
        return FTest(np.nan, 0, np.nan)
    squares = (turned @ solution.coefficients) ** 2 / variances
    return FTest(float(squares.mean()), len(turned), _pooled(satterthwaite(solution, turned)))


def uncorrelated(contrasts: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Uncorrelated combinations that say the same as those given, and their variances."""
    values, vectors = np.linalg.eigh(contrasts @ covariance @ contrasts.T)
    kept = values > _ROUNDING * values[-1]
    return vectors[:, kept].T @ contrasts, values[kept]


def _pooled(df: np.ndarray) -> float:
    """Degrees of freedom of the mean of squared t values: those of an F of the same expectation."""
    if len(df) == 1 or np.ptp(df) < _ROUNDING:
        return float(df.mean())
    if (df <= 2).any():
        return 2.0
    expected = (df / (df - 2)).sum()
    return float(2 * expected / (expected - len(df)))
