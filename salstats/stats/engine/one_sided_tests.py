"""One-sided P values of the tests that intervals invert; `intervals.RECORDS` names them.

Each function takes a bound per estimate. If a P value is below alpha, the bound lies outside the limits of
level 1 - 2 alpha.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from salstats.stats.engine.wild_bootstrap import SignFlips


class PValuesAtOrBelowAndAbove(NamedTuple):
    """P values of the two one-sided hypotheses about a bound, shape (n_rows,) each."""

    #: P values of the hypothesis that the parameter is at or below the bound.
    at_or_below: np.ndarray
    #: P values of the hypothesis that the parameter is at or above the bound.
    at_or_above: np.ndarray


def one_sided_p_values_of_t_test(
    estimate: np.ndarray, std_error: np.ndarray, df: np.ndarray, bound: np.ndarray
) -> PValuesAtOrBelowAndAbove:
    """One-sided P values of Student's t test, or of the z test where `df` is infinite.

    NaN where the standard error is 0 or undefined, or `df` is below 1.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = (estimate - bound) / np.where(std_error > 0, std_error, np.nan)
    df = np.where(np.asarray(df) >= 1, df, np.nan)
    at_or_below = np.asarray(stats.t.sf(statistic, df))
    at_or_above = np.asarray(stats.t.cdf(statistic, df))
    return PValuesAtOrBelowAndAbove(at_or_below, at_or_above)


def one_sided_p_values_of_replicates(
    replicates: np.ndarray, rounding: np.ndarray, bound: np.ndarray
) -> PValuesAtOrBelowAndAbove:
    """One-sided P values (1 + k) / (B + 1), with k of B defined replicates at or beyond the bound."""
    n_defined = (~np.isnan(replicates)).sum(axis=0)
    n_at_or_below = (replicates <= bound + rounding).sum(axis=0)
    n_at_or_above = (replicates >= bound - rounding).sum(axis=0)
    return PValuesAtOrBelowAndAbove(
        at_or_below=(1 + n_at_or_below) / (1 + n_defined), at_or_above=(1 + n_at_or_above) / (1 + n_defined)
    )


def one_sided_p_values_of_sign_flips(
    sign_flips: SignFlips, estimate: np.ndarray, rounding: np.ndarray, bound: np.ndarray
) -> PValuesAtOrBelowAndAbove:
    """One-sided P values from sign flips: half the two-sided P value, and 1 minus that.

    Each pattern of signs has an opposite one, so that the distribution of the statistic is symmetric.
    """
    half = sign_flips.mid_p_value_of(bound, rounding) / 2
    at_or_below = np.where(estimate > bound, half, 1 - half)
    at_or_above = np.where(estimate < bound, half, 1 - half)
    return PValuesAtOrBelowAndAbove(at_or_below, at_or_above)


def one_sided_p_values_of_fieller_decrease(
    method: np.ndarray, reference: np.ndarray, covariance: np.ndarray, df: np.ndarray, bound: np.ndarray
) -> PValuesAtOrBelowAndAbove:
    """One-sided P values of a percentage decrease, by the t test of method - theta * reference.

    theta is 1 - bound / 100; `covariance` (n_rows, 2, 2) is the covariance of the means of method and
    reference.
    """
    # An infinite bound is not tested; any number may replace it.
    theta = np.where(np.isfinite(bound), 1 - bound / 100, 0.0)
    method_variance = covariance[:, 0, 0]
    reference_variance = covariance[:, 1, 1]
    variance = method_variance - 2 * theta * covariance[:, 0, 1] + theta**2 * reference_variance
    # The decrease is above the bound if theta * reference exceeds method, for a reference above 0.
    difference = (theta * reference - method) * np.sign(reference)
    std_error = np.sqrt(np.maximum(variance, 0))
    return one_sided_p_values_of_t_test(difference, std_error, df, bound=np.zeros_like(difference))
