"""Score tests and limits of two shares of the same units: of their difference and of their ratio.

Both are made from the pairs of independent units, each with a 0/1 score of the method and of the reference.
The statistics compare a difference or a ratio with a bound under which the shares are estimated; at equality
both are McNemar's without correction, the difference of the two kinds of discordant pairs over the root of
their sum. Arrays have shape (n_rows,).
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from salstats.stats.engine.limits import Limits
from salstats.stats.engine.tails import Tails

#: Bisections, each of which halves what is not known of a limit: more than a float has digits.
_BISECTIONS = 60
#: Numbers of units, and their variances, that are smaller than this share of all units are rounding.
_ROUNDING = 1e-13


def discordant_pairs(
    difference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of pairs where only the method scores 1, and where only the reference does.

    They are what the difference of the shares and its standard error, with n - 1, leave no choice about.
    """
    both_kinds = (n_units - 1) * std_error**2 + difference**2
    only_method = np.rint(n_units * (both_kinds + difference) / 2)
    only_reference = np.rint(n_units * (both_kinds - difference) / 2)
    return only_method, only_reference


def difference_statistic(
    only_method: np.ndarray, only_reference: np.ndarray, n_units: np.ndarray, bound: np.ndarray | float
) -> np.ndarray:
    """Return the score statistic of a difference of two shares against a bound (Tango 1998, section 3).

    Tango T. Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design. Stat Med 1998.
    doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B
    """
    linear = (2 * n_units - only_method + only_reference) * bound - only_method - only_reference
    constant = -only_reference * bound * (1 - bound)
    # the share of pairs where only the reference scores 1, if the difference is the bound
    root = np.sqrt(np.maximum(linear**2 - 8 * n_units * constant, 0))
    share_only_reference = (root - linear) / (4 * n_units)
    variance = n_units * (2 * share_only_reference + bound * (1 - bound))
    return _standardized(only_method - only_reference - n_units * bound, variance, n_units)


def ratio_statistic(
    method: np.ndarray,
    reference: np.ndarray,
    only_reference: np.ndarray,
    n_units: np.ndarray,
    bound: np.ndarray | float,
) -> np.ndarray:
    """Return the score statistic of the ratio method / reference of two shares against a bound.

    `method` and `reference` are numbers of units that score 1. The variance of method - bound * reference is
    that of the shares that are most likely if the ratio is the bound, the root of a quadratic equation.

    Tang NS, Tang ML, Chan ISF. On tests of equivalence via non-unity relative risk for matched-pair design.
    Stat Med 2003. doi:10.1002/sim.1213
    """
    either = method + only_reference
    linear = method + 2 * only_reference - bound**2 * reference
    root = np.sqrt(np.maximum(linear**2 + 4 * (bound**2 - 1) * only_reference * either, 0))
    variance = (linear + root) / 2 + (bound - 1) * either
    return _standardized(method - bound * reference, variance, n_units)


def difference_limits(
    difference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray, level: float
) -> Limits:
    """Return Tango's limits: the differences that the score test does not reject."""
    only_method, only_reference = discordant_pairs(difference, std_error, n_units)
    statistic = partial(difference_statistic, only_method, only_reference, n_units)
    low = _furthest_not_rejected(statistic, difference, -1.0, level)
    high = _furthest_not_rejected(statistic, difference, 1.0, level)
    return low, high


def ratio_limits(
    method: np.ndarray, reference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray, level: float
) -> Limits:
    """Return limits of the ratio of two shares, infinite where no ratio is too large.

    `std_error` is that of their difference.
    """
    statistic = _statistic_of_ratio(method, reference, std_error, n_units)

    def statistic_of_odds(share: np.ndarray) -> np.ndarray:
        return statistic(share / (1 - share))

    # a ratio r is searched for as r / (1 + r), which lies between 0 and 1
    estimate = method / np.where(reference > 0, method + reference, np.nan)
    just_below_1 = 1 - np.finfo(np.float64).eps
    low = _furthest_not_rejected(statistic_of_odds, estimate, 0.0, level)
    high = _furthest_not_rejected(statistic_of_odds, estimate, just_below_1, level)
    upper = np.where(high == just_below_1, np.inf, high / (1 - high))
    return low / (1 - low), upper


def equality_p_value(difference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray) -> np.ndarray:
    """Return two-sided P values of equal shares: McNemar's test without correction, 1 without discordance."""
    only_method, only_reference = discordant_pairs(difference, std_error, n_units)
    statistic = difference_statistic(only_method, only_reference, n_units, 0.0)
    return np.asarray(2 * special.ndtr(-np.abs(statistic)))


def difference_tails(
    difference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray, bound: np.ndarray
) -> Tails:
    """Return one-sided P values of a difference of shares at or below a bound, and at or above it."""
    only_method, only_reference = discordant_pairs(difference, std_error, n_units)
    # no difference lies beyond -1 and 1
    possible = np.clip(bound, -1.0, 1.0)
    statistic = difference_statistic(only_method, only_reference, n_units, possible)
    return special.ndtr(-statistic), special.ndtr(statistic)


def ratio_tails(
    method: np.ndarray, reference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray, bound: np.ndarray
) -> Tails:
    """Return one-sided P values of a ratio of shares at or below a bound, and at or above it."""
    # a bound without end is not tested, and any number stands for it
    possible = np.where(np.isfinite(bound), np.maximum(bound, 0.0), 1.0)
    statistic = _statistic_of_ratio(method, reference, std_error, n_units)(possible)
    return special.ndtr(-statistic), special.ndtr(statistic)


def _statistic_of_ratio(
    method: np.ndarray, reference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the score statistic of the ratio of two shares as a function of its bound."""
    _, only_reference = discordant_pairs(method - reference, std_error, n_units)
    return partial(ratio_statistic, n_units * method, n_units * reference, only_reference, n_units)


def _standardized(excess: np.ndarray, variance: np.ndarray, n_units: np.ndarray) -> np.ndarray:
    """Return an excess in standard errors: infinite where nothing varies, and 0 where there is none."""
    varies = variance > _ROUNDING * n_units
    with np.errstate(invalid="ignore"):
        statistic = excess / np.sqrt(np.where(varies, variance, np.nan))
    constant = np.where(np.abs(excess) > _ROUNDING * n_units, np.copysign(np.inf, excess), 0.0)
    unknown = np.isnan(excess) | np.isnan(variance)
    return np.where(varies | unknown, statistic, constant)


def _furthest_not_rejected(
    statistic: Callable[[np.ndarray], np.ndarray], estimate: np.ndarray, end: float, level: float
) -> np.ndarray:
    """Return the bound between the estimate and an end of its range at which the test begins to reject."""
    critical = special.ndtri((1 + level) / 2)
    # of a single unit nothing is known of how others vary
    kept = np.where(np.isnan(statistic(estimate)), np.nan, estimate)
    rejected = np.full_like(kept, end)
    all_kept = np.abs(statistic(rejected)) <= critical
    for _ in range(_BISECTIONS):
        middle = (kept + rejected) / 2
        is_kept = np.abs(statistic(middle)) <= critical
        kept = np.where(is_kept, middle, kept)
        rejected = np.where(is_kept, rejected, middle)
    return np.where(all_kept & ~np.isnan(kept), end, kept)
