"""Quantiles of scores that hang together by unit, on arrays, with limits that need no density there.

A value can be the quantile if the share of scores at or below it can be the probability: the interval of
that share is inverted (Woodruff), so that lumps of scores and gaps between them do no harm.
"""

from typing import NamedTuple

import numpy as np

from salstats.stats import limits
from salstats.stats.cr2 import cr2, spread_df

#: Numbers of a block of candidates by units.
_BLOCK = 1 << 21
#: Halvings of the level at which limits reach 0.
_HALVINGS = 50
#: P values below this are not told apart.
_LEAST = 1e-12


class Shares(NamedTuple):
    """The share of scores at or below each value that the quantile may have; at ties as near as it comes."""

    #: The probability, and the values in order, the ends of the range of scores outside of them.
    quantile: float
    values: np.ndarray
    share: np.ndarray
    variance: np.ndarray
    #: Satterthwaite's degrees of freedom, fewer where some units hold most of the variance at the quantile;
    #: and units with a score.
    df: float
    n_units: int
    #: (n_units,): What each unit has above its share at the quantile itself.
    residual: np.ndarray


def sample_quantile(ordered: np.ndarray, weights: np.ndarray, quantile: float) -> np.ndarray:
    """Quantiles of ordered scores that count `weights` (n, n_scores), the middle of two: R's type 2."""
    below = np.cumsum(weights, axis=1)
    # as sums of whole numbers are exact, so is the comparison but for the product
    wanted = below[:, -1:] * quantile
    least = np.abs(wanted) * 1e-12
    first, last = (below >= wanted - least).argmax(axis=1), (below > wanted + least).argmax(axis=1)
    return np.asarray((ordered[first] + ordered[last]) / 2)


def shares_of(
    scores: np.ndarray, units: np.ndarray, n_units: int, quantile: float, ends: tuple[float, float]
) -> Shares:
    """Shares of scores and their CR2 variances, `units` being codes 0 ... n_units - 1 of which some may lack.

    A value outside of all scores has none of them below, or all.
    """
    values, place = np.unique(scores, return_inverse=True)
    counts = np.bincount(units, minlength=n_units).astype(np.float64)
    there = counts > 0
    counts, unit = counts[there], (np.cumsum(there) - 1)[units]
    n, n_there = len(scores), len(counts)
    satterthwaite = float(cr2(counts[:, None], counts[:, None], np.ones((1, 1))).df[0])
    found = np.empty((2, len(values)))
    residual, of_spread = np.zeros(n_there), np.inf
    adjust = np.full(n_there, np.nan) if n_there < 2 else 1 / np.sqrt(1 - counts / n)
    middle = np.searchsorted(np.cumsum(np.bincount(place)), n * quantile * (1 - 1e-12))
    before, order = np.zeros(n_there), np.argsort(place, kind="stable")
    step, starts = max(1, _BLOCK // n_there), np.searchsorted(place[order], np.arange(len(values) + 1))
    for start in range(0, len(values), step):
        stop = min(start + step, len(values))
        rows = order[starts[start] : starts[stop]]
        at = np.zeros((stop - start, n_there))
        np.add.at(at, (place[rows] - start, unit[rows]), 1.0)
        below = before + np.cumsum(at, axis=0) - at
        before = below[-1] + at[-1]
        # of scores that are tied with a value as many are taken as bring the share nearest
        part = np.clip((n * quantile - below.sum(axis=1)) / at.sum(axis=1), 0, 1)
        taken = below + part[:, None] * at
        share = taken.sum(axis=1) / n
        apart = taken - share[:, None] * counts
        variance = ((apart * adjust) ** 2).sum(axis=1) / n**2
        found[:, start:stop] = share, variance
        if start <= middle < stop:
            residual = apart[middle - start]
            of_spread = float(spread_df((residual * adjust) ** 2, n_there))
    whole = np.zeros(n_units)
    whole[there] = residual
    outside = np.array([[0.0, 1.0], [0.0, 0.0]])
    share, variance = (np.concatenate([o[:1], f, o[1:]]) for o, f in zip(outside, found, strict=True))
    if n_there < 2:
        variance = np.full(len(share), np.nan)
    df = min(satterthwaite, of_spread)
    whole_range = np.array([ends[0], *values, ends[1]])
    return Shares(quantile, whole_range, share, variance, df, n_there, whole)


def inverted(shares: Shares, level: float) -> tuple[float, float]:
    """Least and largest value at which the share's interval holds the probability: Wilson's, as of a mean.

    References
    ----------
    Woodruff RS. Confidence intervals for medians and other position measures. J Am Stat Assoc
    1952;47:635-646. https://doi.org/10.1080/01621459.1952.10483443

    Korn EL, Graubard BI. Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 1998;24:193-201.
    """
    n_units = np.full(len(shares.share), shares.n_units)
    low, high = limits.wilson_t(shares.share, shares.variance, np.asarray(shares.df), n_units, level)
    held = np.flatnonzero((low <= shares.quantile) & (shares.quantile <= high))
    if not len(held):
        return float("nan"), float("nan")
    return float(shares.values[held[0]]), float(shares.values[held[-1]])


def of_difference(
    own: Shares, other: Shares, estimates: tuple[float, float], level: float
) -> tuple[float, float]:
    """Limits of the difference of two quantiles from those of each and how the two hang together (MOVER).

    l = d - sqrt((x - lx)^2 + (uy - y)^2 - 2 r (x - lx)(uy - y)), and u likewise, for quantiles x and y with
    limits lx, ux, ly and uy; r is the correlation of what units have above both shares.

    References
    ----------
    Zou GY, Donner A. Construction of confidence limits about effect measures: a general approach. Stat Med
    2008;27:1693-1702. https://doi.org/10.1002/sim.3095
    """
    (x, y), (lx, ux), (ly, uy) = estimates, inverted(own, level), inverted(other, level)
    size = np.sqrt((own.residual**2).sum() * (other.residual**2).sum())
    r = float((own.residual * other.residual).sum() / size) if size > 0 else 0.0

    def reach(one: float, two: float) -> float:
        if np.isinf(one) or np.isinf(two):
            return float("inf")
        return float(np.sqrt(max(one**2 + two**2 - 2 * r * one * two, 0.0)))

    return x - y - reach(x - lx, uy - y), x - y + reach(ux - x, y - ly)


def p_of_difference(own: Shares, other: Shares, estimates: tuple[float, float], level: float) -> float:
    """1 minus the highest level whose limits leave 0 out; NaN without limits.

    Limits of a higher level need not hold those of a lower one where the sides hang together closely: the
    levels that are looked at are those above `level` where its limits leave 0 out, else those below.
    """
    least, most, alpha = 0.0, 1.0, 1 - level
    if np.isnan(of_difference(own, other, estimates, level)[0]):
        return float("nan")
    for _ in range(_HALVINGS):
        low, high = of_difference(own, other, estimates, 1 - alpha)
        least, most = (least, alpha) if low > 0 or high < 0 else (alpha, most)
        alpha = (least + most) / 2 if least > 0.01 else np.sqrt(max(least, _LEAST) * most)
    # of limits that never leave 0 out the halving ends at 1
    return float(most)


def replicates_of(scores: np.ndarray, units: np.ndarray, weights: np.ndarray, quantile: float) -> np.ndarray:
    """Quantiles of units that count `weights` (n_replicates, n_units) times; NaN where no score does."""
    order = np.argsort(scores, kind="stable")
    of_rows = weights[:, units[order]]
    found = sample_quantile(scores[order], of_rows, quantile)
    return np.where(of_rows.sum(axis=1) > 0, found, np.nan)
