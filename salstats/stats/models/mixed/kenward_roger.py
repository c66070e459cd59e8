"""Kenward and Roger's tests in linear mixed models, as in pbkrtest.

Kenward MG, Roger JH. Small sample inference for fixed effects from restricted maximum likelihood. Biometrics
1997;53:983-997. doi:10.2307/2533558

Halekoh U, Hojsgaard S. A Kenward-Roger approximation and parametric bootstrap methods for tests in linear
mixed models: the R package pbkrtest. J Stat Softw 2014;59(9):1-32. doi:10.18637/jss.v059.i09
"""

from typing import NamedTuple

import numpy as np

from salstats.errors import SalstatsError
from salstats.stats.models.mixed.adjusted_covariance import AdjustedCovariance
from salstats.stats.models.mixed.linear_mixed_model import MixedSolution
from salstats.stats.models.mixed.satterthwaite import FTest, uncorrelated_contrasts_and_variances

#: Differences of the intermediate results below this are rounding errors, as in pbkrtest.
_ROUNDING = 1e-10
#: Distance from 2 degrees of freedom within which the statistic is not scaled, as in pbkrtest.
_NEAR_TWO = 1e-2


class KenwardRogerInference(NamedTuple):
    """The adjusted covariance of the coefficients, the df of contrasts of them, and their joint test."""

    covariance: np.ndarray  # (p, p)
    df: np.ndarray  # (k,), of each contrast's t test with the adjusted covariance; NaN for one of zeros
    test: FTest  # that all contrasts are zero


def kenward_roger_covariance_df_and_f_test(
    solution: MixedSolution, contrasts: np.ndarray
) -> KenwardRogerInference:
    """Return the adjusted covariance of a model's coefficients, and tests of contrasts (k, p) of them.

    SalstatsError is raised for a model that was not fitted by REML.
    """
    if not solution.reml:
        raise SalstatsError("Kenward and Roger's tests need a fit by REML", option="reml", value=False)
    contrasts = np.atleast_2d(contrasts)
    # Covariance of the coefficients of the rescaled model
    scaled_covariance = solution.adjusted_covariance_of_scaled_model
    df = np.full(len(contrasts), np.nan)
    for position, contrast in enumerate(contrasts):
        # A contrast of zeros has no variance, and so no degrees of freedom.
        if contrast.any():
            _, df[position] = _scaling_and_df(scaled_covariance, solution.scaled_contrasts(contrast[None]))
    scaled = solution.scaled
    transform = scaled.response_scale * scaled.coefficient_basis
    relative_covariance = transform @ scaled_covariance.adjusted @ transform.T
    covariance = solution.scaled_sigma**2 * relative_covariance
    independent, _ = uncorrelated_contrasts_and_variances(contrasts, solution.covariance)
    df_num = len(independent)
    if not df_num:
        return KenwardRogerInference(covariance, df, FTest(statistic=np.nan, df_num=0, df_den=np.nan))
    scaling, df_den = _scaling_and_df(scaled_covariance, solution.scaled_contrasts(independent))
    estimates = independent @ solution.coefficients
    wald = estimates @ np.linalg.solve(independent @ covariance @ independent.T, estimates)
    test = FTest(statistic=float(scaling * wald / df_num), df_num=df_num, df_den=df_den)
    return KenwardRogerInference(covariance, df, test)


def _scaling_and_df(covariance: AdjustedCovariance, contrasts: np.ndarray) -> tuple[float, float]:
    """Return the factor of the F statistic of linearly independent contrasts, and its denominator df.

    Both are chosen so that mean and variance of the scaled statistic are those of an F distribution. With
    C the covariance of the coefficients (`AdjustedCovariance.unadjusted`), C_i its derivatives, W the
    covariance of the parameters and L the n contrasts, Theta = L'(L C L')^-1 L and

        a1 = sum of W_ij trace(Theta C_i) trace(Theta C_j)
        a2 = sum of W_ij trace(Theta C_i Theta C_j)

    The other names are those of Kenward and Roger (1997) and of pbkrtest, in capitals there: b, g, c1 to c3;
    v0 to v2 are the factors of the approximate variance of the statistic, and rho is that variance over
    twice the square of the approximate mean, 1 / (1 - a2 / n).
    """
    n = len(contrasts)
    contrast_covariance = contrasts @ covariance.unadjusted @ contrasts.T
    theta = contrasts.T @ np.linalg.solve(contrast_covariance, contrasts)
    theta_slopes = theta @ covariance.slopes
    weights = covariance.parameter_covariance
    slope_traces = np.trace(theta_slopes, axis1=1, axis2=2)
    a1 = slope_traces @ weights @ slope_traces
    a2 = np.einsum("rs,ruv,svu->", weights, theta_slopes, theta_slopes, optimize=True)
    b = (a1 + 6 * a2) / (2 * n)
    g = ((n + 1) * a1 - (n + 4) * a2) / ((n + 2) * a2)
    denominator = 3 * n + 2 * (1 - g)
    c1 = g / denominator
    c2 = (n - g) / denominator
    c3 = (n + 2 - g) / denominator
    v0 = 1 + c1 * b
    v1 = 1 - c2 * b
    v2 = 1 - c3 * b
    # As in pbkrtest, a difference that is only rounding error counts as zero.
    if abs(v1) < _ROUNDING:
        v1 = 0.0
    inverse_mean = 1 - a2 / n
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = (inverse_mean / v1) ** 2 * v0 / v2 / n
        df = float(4 + (n + 2) / (n * rho - 1))
    # The factor is df (1 - a2 / n) / (df - 2), which has no value at 2 degrees of freedom; pbkrtest takes 1.
    if abs(df - 2) < _NEAR_TWO:
        return 1.0, df
    return float(df * inverse_mean / (df - 2)), df
