"""One-sided P values of the tests that intervals invert; `intervals.RECORDS` names them.

Each takes a bound per estimate and gives two arrays of shape (n_rows,): P values of the hypotheses that what
is estimated lies at or below the bound, and at or above it. With P below alpha the bound lies outside the
limits of level 1 - 2 alpha.
"""

import numpy as np
from scipy import stats

from salstats.stats.engine.wild import Flipped

Tails = tuple[np.ndarray, np.ndarray]


def t_tails(estimate: np.ndarray, std_error: np.ndarray, df: np.ndarray, bound: np.ndarray) -> Tails:
    """Of Student's t, of the normal distribution where `df` is infinite; NaN without a standard error."""
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = (estimate - bound) / np.where(std_error > 0, std_error, np.nan)
    df = np.where(np.asarray(df) >= 1, df, np.nan)
    return stats.t.sf(statistic, df), stats.t.cdf(statistic, df)


def percentile_tails(replicates: np.ndarray, rounding: np.ndarray, bound: np.ndarray) -> Tails:
    """Shares (1 + k) / (B + 1) of k replicates at or beyond the bound, of the B that are defined."""
    n = 1 + (~np.isnan(replicates)).sum(axis=0)
    at_or_below, at_or_above = replicates <= bound + rounding, replicates >= bound - rounding
    return (1 + at_or_below.sum(axis=0)) / n, (1 + at_or_above.sum(axis=0)) / n


def flip_tails(flipped: Flipped, estimate: np.ndarray, rounding: np.ndarray, bound: np.ndarray) -> Tails:
    """Half the two-sided P value of the bound on the side of the estimate, as signs are flipped in pairs."""
    half = flipped.p_value_of(bound, rounding) / 2
    return np.where(estimate > bound, half, 1 - half), np.where(estimate < bound, half, 1 - half)


def fieller_tails(
    method: np.ndarray, reference: np.ndarray, covariance: np.ndarray, df: np.ndarray, bound: np.ndarray
) -> Tails:
    """Of a percentage decrease, by the t test of method - theta * reference, theta being 1 - bound / 100."""
    theta = np.where(np.isfinite(bound), 1 - bound / 100, 0.0)
    (own, both), (_, other) = covariance[:, 0].T, covariance[:, 1].T
    variance = own - 2 * theta * both + theta**2 * other
    # the decrease is the larger the smaller the method's mean, if the reference's is above 0
    gap = (theta * reference - method) * np.sign(reference)
    return t_tails(gap, np.sqrt(np.maximum(variance, 0)), df, np.zeros_like(gap))
