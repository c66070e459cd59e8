"""Power and widths by formula, from the standard error that a study will have and its degrees of freedom."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from salstats.stats.mrmc.anova import ANALYSES, AnovaTable, std_error_of_method_difference

#: Numbers, or arrays of numbers that broadcast together.
Numbers = Any
#: Nodes and weights of the integral over the SD of a study.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
#: Probability that the integral of `margin_power` leaves out at either end.
_TAIL = 1e-15
#: Degrees of freedom beyond which t and F are computed as normal and chi-squared.
_LARGEST_DF = 1e7
#: Largest number of units that `smallest_size_reaching_power` tries, about.
_MOST_UNITS = 1_000_000


class Precision(NamedTuple):
    """Standard error of a planned estimate, and the degrees of freedom it will be estimated with."""

    std_error: Numbers
    df: Numbers


def precision_of_units(sd: float, n_units: Numbers) -> Precision:
    """Return the precision of the mean of independent units, each with the standard deviation `sd`."""
    n = np.asarray(n_units, float)
    return Precision(sd / np.sqrt(n), n - 1)


def t_power(effect: Numbers, precision: Precision, level: float) -> np.ndarray:
    """Power of a two-sided t test at significance level 1 - `level`, by the noncentral F of its square.

    Rejections on the wrong side of 0 count too, as in R's pwr::pwr.t.test.
    """
    noncentrality = np.abs(np.asarray(effect, float) / precision.std_error)
    noncentrality, df = np.broadcast_arrays(noncentrality, np.asarray(precision.df, float))
    # t² with df degrees of freedom is F with 1 and df; scipy's noncentral t is NaN at some large effects.
    finite_df = np.minimum(df, _LARGEST_DF)
    critical_f = special.fdtri(1, finite_df, level)
    type_2_error = special.ncfdtr(1, finite_df, noncentrality**2, critical_f)
    z = special.ndtri((1 + level) / 2)
    normal_power = special.ndtr(noncentrality - z) + special.ndtr(-noncentrality - z)
    return np.where(df > _LARGEST_DF, normal_power, 1 - type_2_error)


def margin_power(effect: float, precision: Precision, low: float, high: float, level: float) -> np.ndarray:
    """Chance that one-sided t tests at 1 - `level` show an effect to lie above `low` and below `high`.

    It is the integral over r of density(r) P(low + q r se < estimate < high - q r se), where se is the true
    standard error, r the estimated over the true standard error, and q the quantile of Student's t.

    Phillips KF. Power of the two one-sided tests procedure in bioequivalence. J Pharmacokinet Biopharm
    1990;18:137-144. doi:10.1007/BF01063556
    """
    # The last axis is that of the nodes of the integral.
    se = np.asarray(precision.std_error, float)[..., None]
    df = np.asarray(precision.df, float)[..., None]
    df = np.minimum(df, _LARGEST_DF)
    q = special.stdtrit(df, level)
    smallest = np.sqrt(special.chdtri(df, 1 - _TAIL) / df)
    largest = np.sqrt(special.chdtri(df, _TAIL) / df)
    # With a larger r the interval is wider than the margin, which no estimate then lies inside.
    largest = np.minimum(largest, (high - low) / (2 * q * se))
    smallest = np.minimum(smallest, largest)
    # Gauss-Legendre nodes lie in -1 ... 1.
    r = smallest + (largest - smallest) * (_NODES + 1) / 2
    # df r² is chi-squared with df degrees of freedom.
    density = 2 * df * r * stats.chi2.pdf(df * r**2, df)
    z_high = (high - effect) / se - q * r
    z_low = (low - effect) / se + q * r
    chance_inside = np.maximum(special.ndtr(z_high) - special.ndtr(z_low), 0)
    integral = (density * chance_inside * _WEIGHTS).sum(axis=-1)
    return np.asarray(integral * (largest - smallest)[..., 0] / 2)


def mean_interval_width(precision: Precision, level: float) -> np.ndarray:
    """Expected width of a t interval."""
    df = np.minimum(precision.df, _LARGEST_DF)
    # Mean of the estimated over the true standard error: sqrt(2 / df) gamma((df + 1) / 2) / gamma(df / 2)
    mean_ratio = np.sqrt(2 / df) * special.poch(df / 2, 0.5)
    t_quantile = special.stdtrit(df, (1 + level) / 2)
    return np.asarray(2 * t_quantile * mean_ratio * precision.std_error)


def width_power(width: float, precision: Precision, level: float) -> np.ndarray:
    """Chance that a t interval is no wider than `width`."""
    df = np.minimum(precision.df, _LARGEST_DF)
    t_quantile = special.stdtrit(df, (1 + level) / 2)
    # Largest allowed ratio of the estimated to the true standard error, whose square times df is chi-squared
    largest_ratio = width / (2 * t_quantile * precision.std_error)
    return np.asarray(special.chdtr(df, df * largest_ratio**2))


def smallest_size_reaching_power(power: Callable[[int], float], target: float, minimum: int) -> int | None:
    """Smallest number from `minimum` on at which a power that never decreases reaches the target.

    None if no number up to about a million does.
    """
    if power(minimum) >= target:
        return minimum
    # Power is below the target at `low`, and reaches it at `high`.
    low = minimum
    high = 2 * minimum
    # A power that is NaN does not reach it.
    while not power(high) >= target:
        low = high
        high = 2 * high
        if low > _MOST_UNITS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if power(middle) >= target:
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True)
class MrmcComponents:
    """Variance components of the Obuchowski-Rockette model of readers' figures."""

    #: Variance of a reader's figure with a method over samples of `n_cases` cases.
    var: float
    #: Covariance over the cases of one reader with two methods.
    cov1: float
    #: Covariance of two readers with one method.
    cov2: float
    #: Covariance of two readers with two methods.
    cov3: float
    #: Variance of the interaction of readers and methods.
    var_tr: float
    #: Cases behind `var` and the covariances, which shrink in proportion to their number.
    n_cases: float


def precision_of_readers(
    components: MrmcComponents,
    n_readers: int,
    n_cases: Numbers,
    *,
    random_readers: bool = True,
    random_cases: bool = True,
) -> Precision:
    """Precision of the difference of two methods that the same readers used on the same cases.

    Readers, or cases, that are not random are fixed: results are about these readers, or these cases. With
    fixed readers the degrees of freedom are infinite. A negative `var_tr` or cov2 - cov3 counts as 0.

    Hillis SL, Obuchowski NA, Berbaum KS. Power estimation for multireader ROC methods: an updated and unified
    approach. Acad Radiol 2011. doi:10.1016/j.acra.2010.09.007
    """
    std_errors = []
    dfs = []
    for n in np.ravel(n_cases):
        var = components.var * components.n_cases / n
        cov1 = components.cov1 * components.n_cases / n
        cov2 = components.cov2 * components.n_cases / n
        cov3 = components.cov3 * components.n_cases / n
        # Expected mean square of readers by methods (Hillis 2011)
        ms_within = max(components.var_tr, 0.0) + var - cov1 - max(cov2 - cov3, 0.0)
        table = AnovaTable(
            means=np.zeros(2),
            n_readers=np.full(2, n_readers),
            nested=False,
            ms_method=np.nan,
            ms_reader=np.nan,
            ms_within=ms_within,
            df_within=n_readers - 1,
            var=var,
            cov1=cov1,
            cov2=cov2,
            cov3=cov3,
        )
        analysis = ANALYSES[random_readers, random_cases]
        std_error, df = std_error_of_method_difference(table, analysis, first_method=0, second_method=1)
        std_errors.append(std_error)
        dfs.append(df)
    shape = np.shape(n_cases)
    return Precision(np.reshape(std_errors, shape), np.reshape(dfs, shape))
