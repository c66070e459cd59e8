"""Spread of a planned estimate, and its uncertainty in a pilot."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from salstats.stats.engine.limits import wilson
from salstats.stats.planning.populations import Population, line_of

#: Level of the limits of an SD.
LIMITS_LEVEL = 0.95


@dataclass(frozen=True)
class Spread:
    """Standard deviation of a unit's contribution to an estimate.

    The estimate's standard error is this over the root of the number of units.
    """

    sd: float
    #: Limits of the SD over the SD.
    limits: tuple[float, float]
    #: Degrees of freedom of the SD.
    df: float


def spread_of(population: Population, term: str, effect: float) -> Spread:
    """Spread of an estimate among studies of a population, clustered by unit.

    For a percentage decrease it is that of the linear approximation (delta method).
    """
    pilot = population.pilot
    slope, intercept = line_of(term, effect)
    residual = population.method_scores - slope * pilot.reference_scores - intercept
    unit_sums = pilot.sums(residual)
    squares = unit_sums**2 + pilot.sums(population.flip_variance) + population.flip_covariance
    scale = pilot.sums(np.ones_like(residual)).mean()
    if term == "percent_decrease":
        scale = pilot.sums(pilot.reference_scores).mean() / 100
    sd = float(np.sqrt(squares.mean()) / abs(scale))
    if population.flip is not None and pilot.sizes.max() == 1:
        return _spread_of_discordant_pairs(population, sd)
    df = variance_df(unit_sums)
    return Spread(sd, error_limits_of(df), df)


def variance_df(values: np.ndarray) -> float:
    """Degrees of freedom of the variance of a sample: those of the chi-squared distribution as uncertain.

    They are n - 1 where the values are normal, and fewer where their tails are longer, so that few of them
    carry the variance; shorter tails count as normal.

    Shoemaker LH. Fixing the F test for equal variances. Am Stat 2003;57:105-114. doi:10.1198/0003130031441
    """
    n = len(values)
    deviation = values - values.mean()
    variance = (deviation**2).mean()
    if variance == 0:
        return float(n - 1)
    excess = float((deviation**4).mean() / variance**2 - 3)
    return 2 / (2 / (n - 1) + max(excess, 0.0) / n)


def error_limits_of(df: float) -> tuple[float, float]:
    """Limits of an SD, or a standard error, over its estimate, from the chi-squared distribution."""
    tail = (1 - LIMITS_LEVEL) / 2
    low = np.sqrt(df / special.chdtri(df, tail))
    high = np.sqrt(df / special.chdtri(df, 1 - tail))
    return float(low), float(high)


def _spread_of_discordant_pairs(population: Population, sd: float) -> Spread:
    """Spread of a difference of 0/1 scores, with Wilson's limits of the share of discordant pairs.

    The variance of one difference is that share less the square of the mean difference.
    """
    pilot = population.pilot
    method_scores = population.method_scores[pilot.complete]
    reference_scores = pilot.reference_scores[pilot.complete]
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
    limits = (float(np.sqrt(lowest_variance / variance)), float(np.sqrt(highest_variance / variance)))
    # The relative variance of the share is (1 - share) / (n share), that of a variance is 2 / df.
    df = 2 * n * discordant_share / max(1 - discordant_share, 1 / n)
    return Spread(sd, limits, min(df, n - 1.0))
