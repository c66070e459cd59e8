"""Intraclass correlations: three of single readings and three of means of readings.

Components of variance come from symmetric sums (Koch 1967, doi:10.1080/00401706.1967.10490444), half the mean
squared difference of two readings: of one case (A, the variance of raters and error), of one rater (B, cases
and error), and of different cases and raters (C, all three). If every rater read every case they equal those
of a two-way analysis of variance; if readings are missing they stay unbiased.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from salstats.stats.agreement.readings import (
    Coefficients,
    RaterReadings,
    RowWeightSets,
    equal_row_weights,
    estimate_and_leave_one_out,
    fisher_z,
    inverse_fisher_z,
    jackknife_df,
    jackknife_std_error,
    one_way_anova,
    t_or_normal_quantile,
    two_sided_p_value,
)
from salstats.stats.engine.estimands import quiet_ratio
from salstats.stats.engine.result_warnings import ROUNDING


class HalfMeanSquaresBySharedCaseOrRater(NamedTuple):
    """Half the mean squared differences of two readings, Koch's symmetric sums; arrays of shape (n_sets,)."""

    #: A, of two readings of one case: the variance of raters and error.
    same_case: np.ndarray
    #: B, of two readings of one rater: the variance of cases and error.
    same_rater: np.ndarray
    #: C, of two readings of different cases and raters: the variance of cases, raters and error.
    neither: np.ndarray


def half_mean_squares_by_shared_case_or_rater(
    readings: RaterReadings, weights: RowWeightSets
) -> HalfMeanSquaresBySharedCaseOrRater:
    """Return the symmetric sums of each set of weights.

    The sum of squared differences over all ordered pairs of n values y is 2 (n sum y² - (sum y)²). Below,
    `pairs_of_...` are numbers of ordered pairs and `squares_of_...` halves of their squared differences.
    """
    present = ~np.isnan(readings.values)
    values = _values_less_overall_mean(readings)
    # Of each row, (n_rows,)
    row_n = present.sum(axis=1).astype(np.float64)
    row_sum = values.sum(axis=1)
    row_squares = (values**2).sum(axis=1)
    pairs_of_case = weights @ (row_n * (row_n - 1))
    squares_of_case = weights @ (row_n * row_squares - row_sum**2)
    # Of each set and rater, (n_sets, n_raters)
    rater_n = weights @ present.astype(np.float64)
    rater_sum = weights @ values.astype(np.float64)
    rater_squares = weights @ (values**2).astype(np.float64)
    pairs_of_rater = (rater_n * (rater_n - 1)).sum(axis=1)
    squares_of_rater = (rater_n * rater_squares - rater_sum**2).sum(axis=1)
    # Of each set, (n_sets,); pairs of different cases and raters are all pairs less the pairs above.
    n = rater_n.sum(axis=1)
    grand_sum = rater_sum.sum(axis=1)
    grand_squares = rater_squares.sum(axis=1)
    pairs_of_neither = n * (n - 1) - pairs_of_case - pairs_of_rater
    squares_of_neither = n * grand_squares - grand_sum**2 - squares_of_case - squares_of_rater
    return HalfMeanSquaresBySharedCaseOrRater(
        same_case=quiet_ratio(squares_of_case, pairs_of_case),
        same_rater=quiet_ratio(squares_of_rater, pairs_of_rater),
        neither=quiet_ratio(squares_of_neither, pairs_of_neither),
    )


def _values_less_overall_mean(readings: RaterReadings) -> np.ndarray:
    """Return the readings less the mean of all of them, 0 where missing, shape (n_rows, n_raters).

    Sums of squares lose fewer digits about the mean.
    """
    present = ~np.isnan(readings.values)
    return np.where(present, readings.values - readings.values[present].mean(), 0.0)


def _one_way_icc1(readings: RaterReadings, weights: RowWeightSets) -> np.ndarray:
    """ICC(1,1) from the one-way analysis of variance, shape (n_sets,)."""
    values = _values_less_overall_mean(readings)
    row_n = (~np.isnan(readings.values)).sum(axis=1).astype(np.float64)
    # Each row is a case, so that sums over rows are sums over cases.
    within, between, n0 = one_way_anova(
        lambda rows: weights @ rows, row_n, values.sum(axis=1), (values**2).sum(axis=1)
    )
    # With unequal numbers of readings n0 takes the place of k in Shrout and Fleiss's formula.
    return quiet_ratio(between - within, between + (n0 - 1) * within)


def single_reading_icc1_icc2_icc3(readings: RaterReadings, weights: RowWeightSets) -> np.ndarray:
    """ICC(1,1), ICC(2,1) = (C - A) / C and ICC(3,1) = (C - A) / B, shape (n_sets, 3)."""
    sums = half_mean_squares_by_shared_case_or_rater(readings, weights)
    case_variance = sums.neither - sums.same_case
    icc2 = quiet_ratio(case_variance, sums.neither)
    icc3 = quiet_ratio(case_variance, sums.same_rater)
    return np.column_stack([_one_way_icc1(readings, weights), icc2, icc3])


def spearman_brown(rho: np.ndarray, k: float) -> np.ndarray:
    """Intraclass correlation of a mean of k readings from that of one, by the Spearman-Brown formula."""
    return quiet_ratio(k * rho, 1 + (k - 1) * rho)


def iccs_with_jackknife_limits(readings: RaterReadings, level: float) -> Coefficients:
    """Return all six ICCs with limits on Fisher's z of k readings, from a jackknife of units and Student's t.

    ICC(1) and ICC(2) generalise to other raters: the distance to a limit is the root of the sum of squares of
    the distance from the jackknife and that from the limits of the raters' variance s², (raters - 1) s² /
    chi² (Zou GY, Donner A. Stat Med 2008;27:1693-1702. doi:10.1002/sim.3095). Order: ICC(1,1), (2,1), (3,1),
    (1,k), (2,k), (3,k).
    """
    k = readings.readings_per_row
    estimate, replicates = estimate_and_leave_one_out(readings, single_reading_icc1_icc2_icc3)
    z = fisher_z(estimate, k)
    z_replicates = fisher_z(replicates, k)
    z_error = jackknife_std_error(z_replicates)
    z_error = np.where(z_error > ROUNDING, z_error, np.nan)
    df = jackknife_df(z_replicates)
    half_width = t_or_normal_quantile(level, df) * z_error
    raters_below, raters_above = _icc2_z_distances_by_rater_variance(readings, level, icc2_z=float(z[1]))
    # ICC(1) and ICC(2) generalise to other raters, ICC(3) does not.
    low = z - np.hypot(half_width, [raters_below, raters_below, 0.0])
    high = z + np.hypot(half_width, [raters_above, raters_above, 0.0])
    statistic = z / z_error
    mean_replicates = spearman_brown(replicates, k)
    return Coefficients(
        estimate=np.concatenate([estimate, spearman_brown(estimate, k)]),
        std_error=np.concatenate([jackknife_std_error(replicates), jackknife_std_error(mean_replicates)]),
        statistic=np.tile(statistic, 2),
        df=np.tile(np.where(np.isnan(statistic), np.nan, df), 2),
        p_value=np.tile(two_sided_p_value(statistic, df), 2),
        # If z is that of a single reading, the coefficient of a mean of k readings is 1 - exp(-2z).
        conf_low=np.concatenate([inverse_fisher_z(low, k), 1 - np.exp(-2 * low)]),
        conf_high=np.concatenate([inverse_fisher_z(high, k), 1 - np.exp(-2 * high)]),
    )


class _DistancesToLimits(NamedTuple):
    """Distances from an estimate down to its lower limit and up to its upper limit."""

    below: float
    above: float


def _icc2_z_distances_by_rater_variance(
    readings: RaterReadings, level: float, icc2_z: float
) -> _DistancesToLimits:
    """Distances from Fisher's z of ICC(2,1) down and up to z at the limits of the raters' variance.

    In ICC(2,1) = (C - A) / C a change of the raters' variance changes A and C alike.
    """
    same_case, same_rater, neither = (
        values[0]
        for values in half_mean_squares_by_shared_case_or_rater(readings, equal_row_weights(readings))
    )
    rater_variance = max(neither - same_rater, 0.0)
    df = readings.n_raters - 1
    limits = []
    # The lower tail of chi-squared gives the largest variance, and so the lowest coefficient.
    for probability in ((1 - level) / 2, (1 + level) / 2):
        variance_change = rater_variance * (df / stats.chi2.ppf(probability, df) - 1)
        rho = quiet_ratio(neither - same_case, neither + variance_change)
        limits.append(float(fisher_z(rho, readings.readings_per_row)))
    lower, upper = limits
    return _DistancesToLimits(below=icc2_z - lower, above=upper - icc2_z)


def iccs_with_mcgraw_wong_limits(readings: RaterReadings, level: float) -> Coefficients:
    """Return all six ICCs with the F tests and limits of McGraw and Wong, for readings without gaps.

    msr, msc, msw and mse are the mean squares of cases (rows), raters (columns), within cases and error, of n
    cases and k raters. With rho = ICC(2,1), a = k rho / (n (1 - rho)) and b = 1 + a (n - 1), the degrees of
    freedom v of a msc + b mse are Satterthwaite's. With the (1 + level)/2 quantiles F_low of F(n - 1, v) and
    F_high of F(v, n - 1), ICC(2,1) lies between n (msr - F_low mse) / (F_low c + n msr) and
    n (F_high msr - mse) / (c + n F_high msr), where c = k msc + (kn - k - n) mse. Order as in
    `iccs_with_jackknife_limits`.

    McGraw KO, Wong SP. Forming inferences about some intraclass correlation coefficients. Psychol Methods
    1996;1:30-46.
    """
    values = readings.values
    n, k = values.shape
    grand_mean = values.mean()
    case_means = values.mean(axis=1)
    rater_means = values.mean(axis=0)
    df_cases = n - 1
    df_raters = k - 1
    df_within = n * (k - 1)
    df_error = (n - 1) * (k - 1)
    msr = k * ((case_means - grand_mean) ** 2).sum() / df_cases
    msc = n * ((rater_means - grand_mean) ** 2).sum() / df_raters
    msw = ((values - case_means[:, None]) ** 2).sum() / df_within
    mse = ((values - case_means[:, None] - rater_means + grand_mean) ** 2).sum() / df_error
    estimate = single_reading_icc1_icc2_icc3(readings, equal_row_weights(readings))[0]
    icc2 = estimate[1]

    def f_quantile(df_numerator: float, df_denominator: float) -> float:
        """Return the (1 + level)/2 quantile of F."""
        return float(stats.f.ppf((1 + level) / 2, df_numerator, df_denominator))

    def icc_limits_from_f(f: float, df_denominator: float) -> tuple[float, float]:
        """Lower and upper limit of ICC(1,1) or ICC(3,1) from its F ratio."""
        f_low = f / f_quantile(df_cases, df_denominator)
        f_high = f * f_quantile(df_denominator, df_cases)
        return (f_low - 1) / (f_low + k - 1), (f_high - 1) / (f_high + k - 1)

    # F ratios of ICC(1), and of ICC(2) and ICC(3). They are undefined where the readings of each case are all
    # equal, and where raters differ by a constant.
    f_within = msr / msw if msw > 0 else np.nan
    f_error = msr / mse if mse > 0 else np.nan
    a = k * icc2 / (n * (1 - icc2)) if icc2 < 1 else np.nan
    b = 1 + a * (n - 1)
    a_msc = a * msc
    b_mse = b * mse
    df_both = (a_msc + b_mse) ** 2 / (a_msc**2 / df_raters + b_mse**2 / df_error)
    quantile_low = f_quantile(df_cases, df_both)
    quantile_high = f_quantile(df_both, df_cases)
    c = k * msc + (k * n - k - n) * mse
    icc1_limits = icc_limits_from_f(f_within, df_within)
    icc2_limits = (
        n * (msr - quantile_low * mse) / (quantile_low * c + n * msr),
        n * (quantile_high * msr - mse) / (c + n * quantile_high * msr),
    )
    icc3_limits = icc_limits_from_f(f_error, df_error)
    low, high = np.array([icc1_limits, icc2_limits, icc3_limits]).T
    f = np.tile([f_within, f_error, f_error], 2)
    df_denominator = np.tile([df_within, df_error, df_error], 2).astype(np.float64)
    return Coefficients(
        estimate=np.concatenate([estimate, spearman_brown(estimate, k)]),
        std_error=np.full(6, np.nan),
        statistic=f,
        df=np.full(6, float(df_cases)),
        p_value=np.asarray(stats.f.sf(f, df_cases, df_denominator)),
        conf_low=np.concatenate([low, spearman_brown(low, k)]),
        conf_high=np.concatenate([high, spearman_brown(high, k)]),
        df_denominator=df_denominator,
    )
