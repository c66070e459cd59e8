"""Standardised effect sizes of paired differences, with limits clustered by unit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from salstats.stats.engine.comparisons import PairedTarget
from salstats.stats.engine.cr2 import cr2

#: Pairs below which an effect size is undefined.
_FEWEST_PAIRS = 3
#: Units below which an effect size has no limits.
_FEWEST_UNITS = 4
#: Decimals of scores divided by the largest score beyond which differences are rounding errors.
_DECIMALS = 12
#: Share of the largest score below which a standard deviation of differences is rounding error.
_SMALLEST_SD = 1e-11


class EffectWithInfluences(NamedTuple):
    """An effect size of pairs, and the influence of each pair on it, shape (n_pairs,), with sum 0."""

    estimate: float
    influences: np.ndarray


@dataclass(frozen=True)
class EffectSize:
    """An effect size of pairs of scores of a method and of the reference."""

    #: Value of `effect_size=`.
    name: str
    #: Name in tables and texts.
    label: str
    #: Definition in words.
    note: str
    #: Function of the scores of the method and of the reference, shape (n_pairs,) each.
    kernel: Callable[[np.ndarray, np.ndarray], EffectWithInfluences]
    #: True if limits are made on the logit scale, as those of a probability.
    logit: bool = False


def d_av(method: np.ndarray, reference: np.ndarray) -> EffectWithInfluences:
    """Return Cohen's d_av (Cumming 2012; pingouin's `cohen`).

    d_av = m / sqrt(v), with the mean difference m and the mean v of both variances. The influence of a pair
    is its influence on m over sqrt(v), less d_av / (2 v) times its influence on v.
    """
    variance = (method.var(ddof=1) + reference.var(ddof=1)) / 2
    difference = method - reference
    estimate = difference.mean() / np.sqrt(variance)
    method_squares = (method - method.mean()) ** 2
    reference_squares = (reference - reference.mean()) ** 2
    influences_on_variance = (
        method_squares - method_squares.mean() + reference_squares - reference_squares.mean()
    ) / 2
    through_mean = (difference - difference.mean()) / np.sqrt(variance)
    through_variance = -estimate / (2 * variance) * influences_on_variance
    return EffectWithInfluences(float(estimate), through_mean + through_variance)


def d_z(method: np.ndarray, reference: np.ndarray) -> EffectWithInfluences:
    """Return Cohen's d_z, the mean difference over the standard deviation of the differences.

    It is NaN if the differences vary by rounding errors only. The influence of a pair with the standardised
    difference z is z - d_z / 2 * (z^2 - mean z^2), with z centred.
    """
    difference = method - reference
    sd = difference.std(ddof=1)
    largest = max(np.abs(method).max(), np.abs(reference).max())
    if sd <= _SMALLEST_SD * largest:
        return EffectWithInfluences(np.nan, np.full(len(method), np.nan))
    estimate = difference.mean() / sd
    standardized = (difference - difference.mean()) / sd
    squares = standardized**2
    influences = standardized - estimate / 2 * (squares - squares.mean())
    return EffectWithInfluences(float(estimate), influences)


def g_av(method: np.ndarray, reference: np.ndarray) -> EffectWithInfluences:
    """Return Cohen's d_av times 1 - 3 / (8 n - 9), with n pairs (Lakens 2013; pingouin's `hedges`)."""
    factor = 1 - 3 / (8 * len(method) - 9)
    return _effect_times_factor(d_av(method, reference), factor)


def g_z(method: np.ndarray, reference: np.ndarray) -> EffectWithInfluences:
    """Return Cohen's d_z times Hedges' exact factor for n - 1 degrees of freedom.

    The factor is gamma(df / 2) / (gamma((df - 1) / 2) sqrt(df / 2)), as in R's `hedges_g(paired = TRUE)`.
    """
    df = len(method) - 1
    log_ratio = special.gammaln(df / 2) - special.gammaln((df - 1) / 2)
    factor = float(np.exp(log_ratio) / np.sqrt(df / 2))
    return _effect_times_factor(d_z(method, reference), factor)


def unpaired_cles(method: np.ndarray, reference: np.ndarray) -> EffectWithInfluences:
    """Return P(method > reference) + P(equal) / 2, for scores of two cases drawn independently.

    A pair influences it twice, by its method's score and by its reference's score: each time by the share of
    the scores of the other side that it exceeds, or is exceeded by, less the estimate.
    """
    share_below_method = _share_below_ties_half(reference, method)
    share_above_reference = 1 - _share_below_ties_half(method, reference)
    estimate = share_below_method.mean()
    return EffectWithInfluences(float(estimate), share_below_method + share_above_reference - 2 * estimate)


def _effect_times_factor(effect: EffectWithInfluences, factor: float) -> EffectWithInfluences:
    """Multiply an effect size and its influences by a factor."""
    return EffectWithInfluences(factor * effect.estimate, factor * effect.influences)


def _divided_by_largest_and_rounded(
    method: np.ndarray, reference: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return both scores divided by the largest absolute one, rounded to 12 decimals.

    The division changes no effect size. Scores that are all 0 are returned unchanged.
    """
    largest = max(np.abs(method).max(), np.abs(reference).max())
    if largest == 0:
        return method, reference
    return np.round(method / largest, _DECIMALS), np.round(reference / largest, _DECIMALS)


def _share_below_ties_half(values: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the share of `values` below each threshold, shape of `thresholds`; equal values count half."""
    ascending = np.sort(values)
    n_below = np.searchsorted(ascending, thresholds, side="left")
    n_below_or_equal = np.searchsorted(ascending, thresholds, side="right")
    return np.asarray((n_below + n_below_or_equal) / (2 * len(values)))


#: Every effect size by its name.
RECORDS = {
    record.name: record
    for record in (
        EffectSize(
            "g",
            "Hedges' g",
            "the mean difference divided by the root of the mean variance, corrected for small samples",
            g_av,
        ),
        EffectSize(
            "g_z",
            "Hedges' g_z",
            "the mean difference divided by its standard deviation, corrected for small samples",
            g_z,
        ),
        EffectSize(
            "d_av", "Cohen's d_av", "the mean difference divided by the root of the mean variance", d_av
        ),
        EffectSize("d_z", "Cohen's d_z", "the mean difference divided by its standard deviation", d_z),
        EffectSize(
            "cles",
            "Common language effect size",
            "the probability that a score of the method is above a score of the reference",
            unpaired_cles,
            logit=True,
        ),
    )
}
EFFECT_SIZES = tuple(RECORDS)


def effect_columns(paired_target: PairedTarget, name: str, level: float) -> dict[str, object]:
    """Return the columns `effect_size`, `effect`, `effect_low` and `effect_high` of a frame of differences.

    Effect sizes are those of the complete pairs of each row; rows that average other rows have no pairs of
    their own, and NaN.
    """
    record = RECORDS[name]
    n_rows = len(paired_target.target.keys)
    effect = np.full(n_rows, np.nan)
    low = np.full(n_rows, np.nan)
    high = np.full(n_rows, np.nan)
    # rows that average other rows come last, and are not in `members`
    for row, is_member in enumerate(paired_target.members.T):
        pairs = is_member[paired_target.groups]
        effect[row], low[row], high[row] = _effect_with_limits(
            record,
            paired_target.method_scores[pairs],
            paired_target.reference_scores[pairs],
            paired_target.units[pairs],
            level,
        )
    return {"effect_size": name, "effect": effect, "effect_low": low, "effect_high": high}


def _effect_with_limits(
    record: EffectSize, method: np.ndarray, reference: np.ndarray, units: NDArray[np.integer], level: float
) -> tuple[float, float, float]:
    """Return an effect size with its lower and upper limit, clustered by unit; NaN where undefined."""
    if len(method) < _FEWEST_PAIRS:
        return np.nan, np.nan, np.nan
    method, reference = _divided_by_largest_and_rounded(method, reference)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate, influences = record.kernel(method, reference)
    if not np.isfinite(estimate):
        return np.nan, np.nan, np.nan
    codes = np.unique(units, return_inverse=True)[1]
    sizes = np.bincount(codes)[:, None].astype(np.float64)
    sums = np.bincount(codes, influences)[:, None]
    # the effect size varies as the mean of the influences does
    robust = cr2(sums, sizes, slopes=np.ones((1, 1)))
    std_error = float(np.sqrt(robust.variance[0]))
    if len(sizes) < _FEWEST_UNITS or not std_error > 0:
        return estimate, np.nan, np.nan
    df = min(robust.df[0], robust.kurtosis_df[0])
    quantile = float(special.stdtrit(df, (1 + level) / 2))
    half_width = quantile * std_error
    if not record.logit:
        return estimate, estimate - half_width, estimate + half_width
    log_odds = special.logit(estimate)
    # delta method: the derivative of the log odds of p is 1 / (p (1 - p))
    half_width = half_width / (estimate * (1 - estimate))
    low = float(special.expit(log_odds - half_width))
    high = float(special.expit(log_odds + half_width))
    return estimate, low, high
