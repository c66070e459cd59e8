"""Score tests and limits of the difference and of the ratio of two shares of the same units.

Units are independent, and each has one pair of 0/1 scores, of the method and of the reference. A score
statistic compares a difference or a ratio with a bound; its variance is estimated under the hypothesis that
the parameter is the bound. For equal shares both statistics are McNemar's without correction: the difference
of the numbers of the two kinds of discordant pairs over the root of their sum. Arrays have shape (n_rows,).
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from salstats.stats.engine.limits import LimitArrays
from salstats.stats.engine.one_sided_tests import PValuesAtOrBelowAndAbove

#: Number of bisections: more than a float has binary digits.
_BISECTIONS = 60
#: Numbers of units, and variances of these, below this share of all units are rounding.
_ROUNDING = 1e-13


def count_discordant_pairs(
    difference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of pairs where only the method scores 1, and where only the reference does.

    As shares of the n units, these two kinds of pairs differ by d, the difference of the shares of method and
    reference, and sum to (n - 1) se^2 + d^2, where se is the standard error of d with n - 1 in its variance.
    """
    discordant_share = (n_units - 1) * std_error**2 + difference**2
    only_method = np.rint(n_units * (discordant_share + difference) / 2)
    only_reference = np.rint(n_units * (discordant_share - difference) / 2)
    return only_method, only_reference


def difference_statistic(
    only_method: np.ndarray, only_reference: np.ndarray, n_units: np.ndarray, bound: np.ndarray | float
) -> np.ndarray:
    """Return the score statistic of a difference of two shares against a bound (Tango 1998, section 3).

    Tango T. Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design. Stat Med 1998.
    doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B
    """
    # If the difference is the bound, the maximum-likelihood share s of pairs where only the reference scores
    # 1 solves 2 n s² + linear s + constant = 0.
    linear = (2 * n_units - only_method + only_reference) * bound - only_method - only_reference
    constant = -only_reference * bound * (1 - bound)
    root = np.sqrt(np.maximum(linear**2 - 8 * n_units * constant, 0))
    share_only_reference = (root - linear) / (4 * n_units)
    variance = n_units * (2 * share_only_reference + bound * (1 - bound))
    return _difference_over_std_error(only_method - only_reference - n_units * bound, variance, n_units)


def ratio_statistic(
    n_method: np.ndarray,
    n_reference: np.ndarray,
    only_reference: np.ndarray,
    n_units: np.ndarray,
    bound: np.ndarray | float,
) -> np.ndarray:
    """Return the score statistic of the ratio method / reference of two shares against a bound.

    `n_method` and `n_reference` are the numbers of units in which method and reference score 1, and
    `only_reference` the number in which only the reference does. The variance of method - bound * reference
    is that of the maximum-likelihood shares if the ratio is the bound: with s the share of pairs where only
    the reference scores 1, and e the share where either does, it is n ((1 + bound) s + (bound - 1) e). Here
    n e is the observed number, and n (1 + bound) s is half of linear + root, by the solution of a quadratic
    equation for s.

    Tang NS, Tang ML, Chan ISF. On tests of equivalence via non-unity relative risk for matched-pair design.
    Stat Med 2003. doi:10.1002/sim.1213
    """
    n_either = n_method + only_reference
    linear = n_method + 2 * only_reference - bound**2 * n_reference
    root = np.sqrt(np.maximum(linear**2 + 4 * (bound**2 - 1) * only_reference * n_either, 0))
    variance = (linear + root) / 2 + (bound - 1) * n_either
    return _difference_over_std_error(n_method - bound * n_reference, variance, n_units)


def tango_limits_of_share_difference(
    difference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray, level: float
) -> LimitArrays:
    """Return Tango's limits of a difference of shares: those between which the score test does not reject."""
    only_method, only_reference = count_discordant_pairs(difference, std_error, n_units)
    statistic = partial(difference_statistic, only_method, only_reference, n_units)
    low = _furthest_accepted_bound(statistic, difference, end=-1.0, level=level)
    high = _furthest_accepted_bound(statistic, difference, end=1.0, level=level)
    return low, high


def ratio_limits(
    method: np.ndarray, reference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray, level: float
) -> LimitArrays:
    """Return limits of the ratio of two shares, infinite where no ratio is too large.

    `std_error` is the standard error of the difference of the shares. A limit r is searched as r / (1 + r),
    which lies between 0 and 1.
    """
    ratio_statistic_of = _ratio_statistic_function(method, reference, std_error, n_units)

    def statistic(transformed: np.ndarray) -> np.ndarray:
        """Return the score statistic against the ratios r of which `transformed` are r / (1 + r)."""
        return ratio_statistic_of(transformed / (1 - transformed))

    estimate = method / np.where(reference > 0, method + reference, np.nan)
    just_below_1 = 1 - np.finfo(np.float64).eps
    low = _furthest_accepted_bound(statistic, estimate, end=0.0, level=level)
    high = _furthest_accepted_bound(statistic, estimate, end=just_below_1, level=level)
    ratio_low = low / (1 - low)
    ratio_high = np.where(high == just_below_1, np.inf, high / (1 - high))
    return ratio_low, ratio_high


def equality_p_value(difference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray) -> np.ndarray:
    """Return two-sided P values of McNemar's test without correction, 1 without discordant pairs."""
    only_method, only_reference = count_discordant_pairs(difference, std_error, n_units)
    statistic = difference_statistic(only_method, only_reference, n_units, 0.0)
    return np.asarray(2 * special.ndtr(-np.abs(statistic)))


def difference_tails(
    difference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray, bound: np.ndarray
) -> PValuesAtOrBelowAndAbove:
    """Return one-sided P values of a difference of shares at or below a bound, and at or above it."""
    only_method, only_reference = count_discordant_pairs(difference, std_error, n_units)
    # No difference of shares lies beyond -1 and 1.
    possible_bound = np.clip(bound, -1.0, 1.0)
    statistic = difference_statistic(only_method, only_reference, n_units, possible_bound)
    return PValuesAtOrBelowAndAbove(at_or_below=special.ndtr(-statistic), at_or_above=special.ndtr(statistic))


def ratio_tails(
    method: np.ndarray, reference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray, bound: np.ndarray
) -> PValuesAtOrBelowAndAbove:
    """Return one-sided P values of a ratio of shares at or below a bound, and at or above it."""
    # An infinite bound is not tested; any number may replace it.
    possible_bound = np.where(np.isfinite(bound), np.maximum(bound, 0.0), 1.0)
    ratio_statistic_of = _ratio_statistic_function(method, reference, std_error, n_units)
    statistic = ratio_statistic_of(possible_bound)
    return PValuesAtOrBelowAndAbove(at_or_below=special.ndtr(-statistic), at_or_above=special.ndtr(statistic))


def _ratio_statistic_function(
    method: np.ndarray, reference: np.ndarray, std_error: np.ndarray, n_units: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the score statistic of the ratio of two shares as a function of its bound."""
    _, only_reference = count_discordant_pairs(method - reference, std_error, n_units)
    return partial(ratio_statistic, n_units * method, n_units * reference, only_reference, n_units)


def _difference_over_std_error(
    difference: np.ndarray, squared_std_error: np.ndarray, n_units_for_rounding: np.ndarray
) -> np.ndarray:
    """Divide a difference by its standard error; without variance it is infinite, or 0 for no difference."""
    varies = squared_std_error > _ROUNDING * n_units_for_rounding
    with np.errstate(invalid="ignore"):
        statistic = difference / np.sqrt(np.where(varies, squared_std_error, np.nan))
    differs = np.abs(difference) > _ROUNDING * n_units_for_rounding
    statistic_without_variance = np.where(differs, np.copysign(np.inf, difference), 0.0)
    undefined = np.isnan(difference) | np.isnan(squared_std_error)
    return np.where(varies | undefined, statistic, statistic_without_variance)


def _furthest_accepted_bound(
    statistic: Callable[[np.ndarray], np.ndarray], estimate: np.ndarray, end: float, level: float
) -> np.ndarray:
    """Find the bound furthest from the estimate, towards an end of its range, that a test does not reject.

    `statistic` computes the test statistic of bounds, which is normal; NaN where it is undefined.
    """
    critical = special.ndtri((1 + level) / 2)
    accepted = np.where(np.isnan(statistic(estimate)), np.nan, estimate)
    rejected = np.full_like(accepted, end)
    accepts_end = np.abs(statistic(rejected)) <= critical
    for _ in range(_BISECTIONS):
        middle = (accepted + rejected) / 2
        accepts_middle = np.abs(statistic(middle)) <= critical
        accepted = np.where(accepts_middle, middle, accepted)
        rejected = np.where(accepts_middle, rejected, middle)
    return np.where(accepts_end & ~np.isnan(accepted), end, accepted)
