"""Satterthwaite's degrees of freedom in linear mixed models, as in lmerTest.

Kuznetsova A, Brockhoff PB, Christensen RHB. lmerTest package: tests in linear mixed effects models. J Stat
Softw 2017;82(13):1-26. doi:10.18637/jss.v082.i13
"""

from typing import NamedTuple

import numpy as np

from salstats.stats.models.mixed.linear_mixed_model import MixedSolution

#: Eigenvalues up to this share of the largest one are rounding errors, as in lmerTest.
_ROUNDING = 1e-8
#: Degrees of freedom whose range is below this are equal, as in lmerTest.
_EQUAL_DF = 1e-8


class FTest(NamedTuple):
    """F test that combinations of coefficients are all zero; NaN, with df_num 0, if there are none."""

    statistic: float
    df_num: int
    df_den: float


def satterthwaite_df(solution: MixedSolution, contrasts: np.ndarray) -> np.ndarray:
    """Return the degrees of freedom of the t test of each contrast of the coefficients, (k,).

    They are 2 v^2 / (g'A g), where v is the variance of the contrast, g its derivatives by theta and sigma,
    and A the covariance of theta and sigma: twice the inverse Hessian of the deviance. A variance component
    that is estimated as zero is treated as known.
    """
    contrasts = np.atleast_2d(contrasts)
    variances = np.einsum("ku,uv,kv->k", contrasts, solution.covariance, contrasts)
    slopes = np.einsum(
        "ku,tuv,kv->kt", contrasts, solution.coefficient_covariance_slopes_by_scaled_parameters, contrasts
    )
    variances_of_variances = np.einsum("ki,ij,kj->k", slopes, solution.scaled_parameter_covariance, slopes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(2 * variances**2 / variances_of_variances)


def satterthwaite_f(solution: MixedSolution, contrasts: np.ndarray) -> FTest:
    """Test that all contrasts of the coefficients are zero, with Satterthwaite's degrees of freedom.

    The contrasts are transformed to uncorrelated ones, and F is the mean of their squared t values. Contrasts
    that depend linearly on others are left out.
    """
    independent, variances = uncorrelated_contrasts_and_variances(
        np.atleast_2d(contrasts), solution.covariance
    )
    if not len(independent):
        return FTest(statistic=np.nan, df_num=0, df_den=np.nan)
    squared_t = (independent @ solution.coefficients) ** 2 / variances
    df_den = _f_denominator_df(satterthwaite_df(solution, independent))
    return FTest(statistic=float(squared_t.mean()), df_num=len(independent), df_den=df_den)


def uncorrelated_contrasts_and_variances(
    contrasts: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return uncorrelated contrasts that span the same space as the given ones, and their variances."""
    eigenvalues, eigenvectors = np.linalg.eigh(contrasts @ covariance @ contrasts.T)
    nonzero = eigenvalues > _ROUNDING * eigenvalues[-1]
    return eigenvectors[:, nonzero].T @ contrasts, eigenvalues[nonzero]


def _f_denominator_df(df: np.ndarray) -> float:
    """Return the denominator degrees of freedom of F, a mean of squared t values.

    A squared t value with df degrees of freedom has the expectation df / (df - 2). The result is that of the
    F distribution whose expectation is the mean of these; lmerTest does the same, and takes 2 where an
    expectation is infinite.
    """
    if len(df) == 1 or np.ptp(df) < _EQUAL_DF:
        return float(df.mean())
    if (df <= 2).any():
        return 2.0
    expected_sum = (df / (df - 2)).sum()
    return float(2 * expected_sum / (expected_sum - len(df)))
