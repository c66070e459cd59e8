"""Bland and Altman's limits of agreement of two raters, who may read a case several times."""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from salstats.stats.agreement.readings import (
    Coefficients,
    RaterReadings,
    RowWeightSets,
    equal_row_weights,
    estimate_and_leave_one_out,
    jackknife_df,
    jackknife_std_error,
    one_way_anova,
    t_or_normal_quantile,
    two_sided_p_value,
)
from salstats.stats.engine.estimands import quiet_ratio

#: Standard deviations from the bias to a limit of agreement, so that limits hold 95 % of normal differences.
_LIMIT_SDS = float(special.ndtri(0.975))


def bias_and_sd(readings: RaterReadings, weights: RowWeightSets, *, linked: bool = True) -> np.ndarray:
    """Bias and SD of the difference of two single readings, shape (n_sets, 2).

    If a case has several readings and these are linked, each row is a pair. The variance of a difference is
    the sum of the variance within and that between cases, from a one-way analysis of variance (Bland and
    Altman 2007, section 3). For readings in any order see `_bias_and_sd_of_unlinked_rater_differences`. The
    bias is over all readings.

    Bland JM, Altman DG. J Biopharm Stat 2007;17:571-582. doi:10.1080/10543400701329422
    """
    n_cases = readings.n_cases
    first_rows = np.unique(readings.cases, return_index=True)[1]

    def weighted_sums_over_cases(case_values: np.ndarray) -> np.ndarray:
        """Sum values (n_cases,) over the cases of each set of weights; all rows of a case have one weight."""
        rows = np.zeros(len(readings.cases))
        rows[first_rows] = case_values
        return weights @ rows

    n_cases_of_sets = weighted_sums_over_cases(np.ones(n_cases))
    if not linked:
        return _bias_and_sd_of_unlinked_rater_differences(readings, weighted_sums_over_cases, n_cases_of_sets)
    differences = readings.values[:, 0] - readings.values[:, 1]
    center = differences.mean()
    # Sums of squares lose fewer digits about the mean.
    centered = differences - center
    # Number of pairs of each case, sum of their differences, and sum of the squares
    m = np.bincount(readings.cases, np.ones_like(centered), n_cases)
    total = np.bincount(readings.cases, centered, n_cases)
    squares = np.bincount(readings.cases, centered**2, n_cases)
    n_pairs = weighted_sums_over_cases(m)
    grand_total = weighted_sums_over_cases(total)
    anova = one_way_anova(weighted_sums_over_cases, m, total, squares)
    between_cases = np.maximum(quiet_ratio(anova.between - anova.within, anova.effective_size), 0.0)
    # With one pair per case the mean square between cases is the whole variance.
    one_pair_each = np.isclose(n_pairs, n_cases_of_sets)
    variance = np.where(one_pair_each, anova.between, anova.within + between_cases)
    return np.column_stack([center + quiet_ratio(grand_total, n_pairs), np.sqrt(variance)])


def _bias_and_sd_of_unlinked_rater_differences(
    readings: RaterReadings,
    weighted_sums_over_cases: Callable[[np.ndarray], np.ndarray],
    n_cases_of_sets: np.ndarray,
) -> np.ndarray:
    """Bias and SD of the difference of two raters whose readings of a case are in any order, (n_sets, 2).

    The variance is that of the differences of case means, plus (1 - mean of 1 / m) s² of each rater, where m
    are the readings of a case and s² is the variance within cases (Bland and Altman 2007, section 2).
    """
    added_variance = np.zeros(len(n_cases_of_sets))
    case_means = []
    rater_means = []
    for values in readings.values.T:
        present = ~np.isnan(values)
        rater_cases = readings.cases[present]
        rater_values = values[present]
        m = np.bincount(rater_cases, minlength=readings.n_cases).astype(np.float64)
        mean = quiet_ratio(np.bincount(rater_cases, rater_values, readings.n_cases), m)
        squares = np.bincount(rater_cases, (rater_values - mean[rater_cases]) ** 2, readings.n_cases)
        df = weighted_sums_over_cases(m - 1)
        within_cases = np.where(df > 0, quiet_ratio(weighted_sums_over_cases(squares), df), 0.0)
        mean_inverse_m = quiet_ratio(weighted_sums_over_cases(1 / m), n_cases_of_sets)
        added_variance = added_variance + (1 - mean_inverse_m) * within_cases
        case_means.append(mean)
        rater_means.append(quiet_ratio(weighted_sums_over_cases(m * mean), weighted_sums_over_cases(m)))
    differences = case_means[0] - case_means[1]
    # Sums of squares lose fewer digits about the mean.
    centered = differences - differences.mean()
    squares_about_mean = (
        weighted_sums_over_cases(centered**2) - weighted_sums_over_cases(centered) ** 2 / n_cases_of_sets
    )
    variance = quiet_ratio(squares_about_mean, n_cases_of_sets - 1)
    bias = rater_means[0] - rater_means[1]
    return np.column_stack([bias, np.sqrt(variance + added_variance)])


def _bias_and_limits_of_agreement(bias: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Bias, lower limit and upper limit of agreement, along a new last axis."""
    return np.stack([bias, bias - _LIMIT_SDS * sd, bias + _LIMIT_SDS * sd], axis=-1)


def bias_and_limits_of_agreement_by_jackknife(
    readings: RaterReadings, level: float, linked: bool = True
) -> Coefficients:
    """Return bias and limits of agreement with limits from a jackknife of units.

    The jackknife is applied to the bias and to the logarithm of the SD. A limit of agreement is as far from
    its confidence limit as the root of the sum of both squared distances (Zou 2013).

    Zou GY. Stat Methods Med Res 2013;22:630-642. doi:10.1177/0962280211402548
    """
    estimate, replicates = estimate_and_leave_one_out(readings, partial(bias_and_sd, linked=linked))
    bias, sd = estimate
    bias_replicates, sd_replicates = replicates.T
    log_sd_replicates = np.log(np.where(sd_replicates > 0, sd_replicates, np.nan))
    transformed = np.column_stack([bias_replicates, log_sd_replicates])
    bias_error, log_sd_error = jackknife_std_error(transformed)
    bias_df, log_sd_df = jackknife_df(transformed)
    bias_half_width = t_or_normal_quantile(level, bias_df) * bias_error
    log_sd_half_width = t_or_normal_quantile(level, log_sd_df) * log_sd_error
    # Distances from a limit of agreement to its confidence limits that come from the SD
    sd_decrease = _LIMIT_SDS * sd * (1 - np.exp(-log_sd_half_width))
    sd_increase = _LIMIT_SDS * sd * np.expm1(log_sd_half_width)
    # The lower limit of agreement is lowest with the largest SD, the upper one with the smallest.
    outward = np.hypot(bias_half_width, sd_increase)
    inward = np.hypot(bias_half_width, sd_decrease)
    points = _bias_and_limits_of_agreement(bias, sd)
    statistic = np.nan
    df = np.nan
    if bias_error > 0:
        statistic = bias / bias_error
    if not np.isnan(statistic):
        df = bias_df
    p_value = float(two_sided_p_value(np.array(statistic), bias_df))
    return Coefficients(
        estimate=points,
        std_error=jackknife_std_error(_bias_and_limits_of_agreement(bias_replicates, sd_replicates)),
        statistic=np.array([statistic, np.nan, np.nan]),
        df=np.array([df, np.nan, np.nan]),
        p_value=np.array([p_value, np.nan, np.nan]),
        # Places: bias, lower limit of agreement, upper limit of agreement
        conf_low=points - np.array([bias_half_width, outward, inward]),
        conf_high=points + np.array([bias_half_width, inward, outward]),
    )


def bias_and_limits_of_agreement_by_student_t(
    readings: RaterReadings, level: float, linked: bool = True
) -> Coefficients:
    """Return bias and limits of agreement of independent pairs, with Student's t (Bland and Altman 1999).

    Standard errors are s sqrt(1/n) of the bias and s sqrt(1/n + z²/(2(n - 1))) of a limit of agreement, with
    s the SD of the differences of n pairs and z = 1.96.

    Bland JM, Altman DG. Stat Methods Med Res 1999;8:135-160. doi:10.1177/096228029900800204
    """
    bias, sd = bias_and_sd(readings, equal_row_weights(readings), linked=linked)[0]
    n = readings.n_cases
    bias_error = sd / np.sqrt(n)
    limit_error = sd * np.sqrt(1 / n + _LIMIT_SDS**2 / (2 * (n - 1)))
    std_error = np.array([bias_error, limit_error, limit_error])
    df = float(n - 1)
    points = _bias_and_limits_of_agreement(bias, sd)
    # Differences that do not vary say nothing about other cases.
    half_width = t_or_normal_quantile(level, df) * np.where(std_error > 0, std_error, np.nan)
    statistic = np.array([bias / bias_error if bias_error > 0 else np.nan, np.nan, np.nan])
    return Coefficients(
        estimate=points,
        std_error=std_error,
        statistic=statistic,
        df=np.array([df, np.nan, np.nan]),
        p_value=two_sided_p_value(statistic, np.array(df)),
        conf_low=points - half_width,
        conf_high=points + half_width,
    )
