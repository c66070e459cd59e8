"""Standardised sizes of paired differences, with limits that know units."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from salstats.stats.engine.comparisons import Compared
from salstats.stats.engine.cr2 import cr2

#: Pairs below which there is no standard deviation worth the name.
_FEWEST_PAIRS = 3
#: Units below which a variance of them says nothing.
_FEWEST_UNITS = 4
#: Digits of the largest score beyond which differences are rounding.
_DIGITS = 12
#: Share of the largest score below which a standard deviation of differences is rounding.
_SMALLEST_SD = 1e-11


class Effect(NamedTuple):
    """An effect size of pairs, and the influence of each pair on it, shape (n_pairs,)."""

    estimate: float
    influences: np.ndarray


@dataclass(frozen=True)
class EffectSize:
    """A standardised size of the difference between both scores of pairs."""

    #: What `effect_size=` takes.
    name: str
    #: In print.
    label: str
    #: Its definition, in words.
    note: str
    #: Takes the scores of the method and of the reference, shape (n_pairs,) each.
    kernel: Callable[[np.ndarray, np.ndarray], Effect]
    #: Whether limits are made on the logit scale, as of a probability.
    logit: bool = False


def d_av(own: np.ndarray, other: np.ndarray) -> Effect:
    """Mean difference by the root of the mean of both variances (Cumming 2012; pingouin's `cohen`)."""
    variance = (own.var(ddof=1) + other.var(ddof=1)) / 2
    difference = own - other
    estimate = difference.mean() / np.sqrt(variance)
    own_squares, other_squares = (own - own.mean()) ** 2, (other - other.mean()) ** 2
    squares = (own_squares - own_squares.mean() + other_squares - other_squares.mean()) / 2
    by_mean = (difference - difference.mean()) / np.sqrt(variance)
    by_variance = -estimate / (2 * variance) * squares
    return Effect(float(estimate), by_mean + by_variance)


def d_z(own: np.ndarray, other: np.ndarray) -> Effect:
    """Mean difference by the standard deviation of the differences."""
    difference = own - other
    sd = difference.std(ddof=1)
    if sd <= _SMALLEST_SD * max(np.abs(own).max(), np.abs(other).max()):
        return Effect(np.nan, np.full(len(own), np.nan))
    estimate = difference.mean() / sd
    standardized = (difference - difference.mean()) / sd
    squares = standardized**2
    return Effect(float(estimate), standardized - estimate / 2 * (squares - squares.mean()))


def g_av(own: np.ndarray, other: np.ndarray) -> Effect:
    """Cohen's d_av times 1 - 3 / (8 n - 9), n pairs (Lakens 2013; pingouin's `hedges`)."""
    return _corrected(d_av(own, other), 1 - 3 / (8 * len(own) - 9))


def g_z(own: np.ndarray, other: np.ndarray) -> Effect:
    """Cohen's d_z times Hedges' exact factor of n - 1 degrees of freedom (R's `hedges_g(paired = TRUE)`)."""
    df = len(own) - 1
    log_ratio = special.gammaln(df / 2) - special.gammaln((df - 1) / 2)
    return _corrected(d_z(own, other), float(np.exp(log_ratio) / np.sqrt(df / 2)))


def cles(own: np.ndarray, other: np.ndarray) -> Effect:
    """P(method > reference) + P(equal) / 2 of a score of each drawn apart, not of one case."""
    own_above, other_below = _share_below(other, own), 1 - _share_below(own, other)
    estimate = own_above.mean()
    return Effect(float(estimate), own_above + other_below - 2 * estimate)


def _corrected(effect: Effect, factor: float) -> Effect:
    """An effect size times a factor."""
    return Effect(factor * effect.estimate, factor * effect.influences)


def _without_rounding(own: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores by the largest of them, which changes no effect size, without the digits that are rounding."""
    largest = max(np.abs(own).max(), np.abs(other).max())
    if largest == 0:
        return own, other
    return _rounded(own / largest), _rounded(other / largest)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Values of at most 1 without the digits that are rounding."""
    return np.asarray(np.round(values, _DIGITS))


def _share_below(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Share of `values` below each of `at`, equal ones counting half."""
    ascending = np.sort(values)
    below = np.searchsorted(ascending, at, side="left")
    up_to = np.searchsorted(ascending, at, side="right")
    return np.asarray((below + up_to) / (2 * len(values)))


#: Every effect size by its name.
RECORDS = {
    record.name: record
    for record in (
        EffectSize("g", "Hedges' g", "the mean difference by the root of the mean variance, corrected", g_av),
        EffectSize("g_z", "Hedges' g_z", "the mean difference by its standard deviation, corrected", g_z),
        EffectSize("d_av", "Cohen's d_av", "the mean difference by the root of the mean variance", d_av),
        EffectSize("d_z", "Cohen's d_z", "the mean difference by its standard deviation", d_z),
        EffectSize(
            "cles",
            "Common language effect size",
            "the probability that a score of the method is above one of the reference",
            cles,
            logit=True,
        ),
    )
}
EFFECT_SIZES = tuple(RECORDS)


def effect_columns(compared: Compared, name: str, level: float) -> dict[str, object]:
    """Columns `effect_size`, `effect`, `effect_low` and `effect_high` of a frame of differences.

    Of each row's complete pairs; NaN for averages over others, which are of no pairs of their own.
    """
    record = RECORDS[name]
    n_rows = len(compared.target.keys)
    found = np.full((n_rows, 3), np.nan)
    for row, groups in enumerate(compared.members.T):
        pairs = groups[compared.groups]
        found[row] = _with_limits(
            record, compared.own[pairs], compared.other[pairs], compared.units[pairs], level
        )
    return {
        "effect_size": name,
        "effect": found[:, 0],
        "effect_low": found[:, 1],
        "effect_high": found[:, 2],
    }


def _with_limits(
    record: EffectSize, own: np.ndarray, other: np.ndarray, units: np.ndarray, level: float
) -> tuple[float, float, float]:
    """An effect size and its limits, clustered by unit."""
    if len(own) < _FEWEST_PAIRS:
        return np.nan, np.nan, np.nan
    own, other = _without_rounding(own, other)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate, influences = record.kernel(own, other)
    if not np.isfinite(estimate):
        return np.nan, np.nan, np.nan
    codes = np.unique(units, return_inverse=True)[1]
    sizes = np.bincount(codes)[:, None].astype(np.float64)
    sums = np.bincount(codes, influences)[:, None]
    robust = cr2(sums, sizes, np.ones((1, 1)))
    std_error = float(np.sqrt(robust.variance[0]))
    if len(sizes) < _FEWEST_UNITS or not std_error > 0:
        return estimate, np.nan, np.nan
    df = min(robust.df[0], robust.spread_df[0])
    reach = float(special.stdtrit(df, (1 + level) / 2)) * std_error
    if not record.logit:
        return estimate, estimate - reach, estimate + reach
    middle, reach = special.logit(estimate), reach / (estimate * (1 - estimate))
    return estimate, float(special.expit(middle - reach)), float(special.expit(middle + reach))
