"""Spread of a planned estimate, and its uncertainty in a pilot."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from salstats.stats.engine.limits import wilson
from salstats.stats.planning.populations import MovedPilot, slope_and_intercept_of_method_on_reference

#: Level of the limits of an SD.
LIMITS_LEVEL = 0.95


@dataclass(frozen=True)
class SdWithLimitsAndDf:
    """Standard deviation of the units' contributions to an estimate.

    The estimate's standard error is this over the root of the number of units.
    """

    sd: float
    #: Lower and upper confidence limit of the SD, as ratios to the SD.
    limit_ratios: tuple[float, float]
    #: Degrees of freedom of the SD.
    df: float


def sd_of_unit_contributions_to_estimate(moved: MovedPilot, term: str, effect: float) -> SdWithLimitsAndDf:
    """Return the SD of units' contributions to an estimate in studies drawn from a moved pilot.

    For a percentage decrease it is that of the linear approximation (delta method).
    """
    pilot = moved.pilot
    slope, intercept = slope_and_intercept_of_method_on_reference(term, effect)
    residual = moved.expected_method_score_of_each_pair - slope * pilot.reference_scores - intercept
    unit_sums = pilot.unit_sums_of_complete_pairs(residual)
    squares = (
        unit_sums**2
        + pilot.unit_sums_of_complete_pairs(moved.score_variance_of_each_pair_by_flips)
        + moved.flip_covariance_sum_of_each_unit
    )
    # The estimate is the sum of the residuals over the number of pairs, or, for a decrease in percent, over
    # a hundredth of the sum of the reference's scores.
    if term == "percent_decrease":
        denominator_per_unit = pilot.unit_sums_of_complete_pairs(pilot.reference_scores).mean() / 100
    else:
        denominator_per_unit = pilot.unit_sums_of_complete_pairs(np.ones_like(residual)).mean()
    sd = float(np.sqrt(squares.mean()) / abs(denominator_per_unit))
    if sd > 0 and moved.flip_chances is not None and pilot.unit_sizes.max() == 1:
        return _sd_with_limit_ratios_for_binary_scores(moved, sd)
    df = df_of_sample_variance(unit_sums)
    return SdWithLimitsAndDf(sd, limits_of_true_to_estimated_error(df), df)


def df_of_sample_variance(values: np.ndarray) -> float:
    """Degrees of freedom of the chi-squared distribution that is as uncertain as a sample's variance.

    They are n - 1 for normal values, and fewer for values with long tails: 2 / (2 / (n - 1) + g / n), where g
    is the excess kurtosis, or 0 if it is negative.

    Shoemaker LH. Fixing the F test for equal variances. Am Stat 2003;57:105-114. doi:10.1198/0003130031441
    """
    n = len(values)
    deviation = values - values.mean()
    variance = (deviation**2).mean()
    if variance == 0:
        return float(n - 1)
    excess_kurtosis = float((deviation**4).mean() / variance**2 - 3)
    return 2 / (2 / (n - 1) + max(excess_kurtosis, 0.0) / n)


def limits_of_true_to_estimated_error(df: float) -> tuple[float, float]:
    """Return confidence limits of a true SD or standard error, as ratios to its estimate.

    df estimate² / SD² is chi-squared with `df` degrees of freedom.
    """
    tail = (1 - LIMITS_LEVEL) / 2
    low = np.sqrt(df / special.chdtri(df, tail))
    high = np.sqrt(df / special.chdtri(df, 1 - tail))
    return float(low), float(high)


def _sd_with_limit_ratios_for_binary_scores(moved: MovedPilot, sd: float) -> SdWithLimitsAndDf:
    """Return the SD for a difference of 0/1 scores, with Wilson's limits of the share of discordant pairs.

    The variance of one difference is that share less the square of the mean difference.
    """
    pilot = moved.pilot
    method_scores = moved.expected_method_score_of_each_pair[pilot.is_complete_pair]
    reference_scores = pilot.reference_scores[pilot.is_complete_pair]
    method_only = method_scores * (1 - reference_scores)
    reference_only = reference_scores * (1 - method_scores)
    discordant_share = float((method_only + reference_only).mean())
    mean_difference = float((method_scores - reference_scores).mean())
    n = len(method_scores)
    share_low, share_high = wilson(np.array([discordant_share]), np.array([n]), LIMITS_LEVEL)
    # A mean difference d needs a share of |d| of discordant pairs at least.
    lowest_share = max(float(share_low[0]), abs(mean_difference))
    highest_share = float(share_high[0])
    variance = discordant_share - mean_difference**2
    lowest_variance = max(lowest_share - mean_difference**2, 0.0)
    highest_variance = max(highest_share - mean_difference**2, 0.0)
    lower_limit = float(np.sqrt(lowest_variance / variance))
    upper_limit = float(np.sqrt(highest_variance / variance))
    # The squared relative error of a share p is (1 - p) / (n p), and that of a variance is 2 / df.
    df = 2 * n * discordant_share / max(1 - discordant_share, 1 / n)
    return SdWithLimitsAndDf(sd, (lower_limit, upper_limit), min(df, n - 1.0))
