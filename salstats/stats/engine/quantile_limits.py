"""Quantiles of scores that hang together by unit, on arrays, with limits that need no density there.

A value can be the quantile if the share of scores at or below it can be the probability: the interval of
that share is inverted (Woodruff), so that lumps of scores and gaps between them do no harm.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.cr2 import cr2, spread_df

#: Numbers of a block of candidates by units.
_BLOCK = 1 << 21


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
    """Shares of scores and their CR2 variances, `units` being codes below `n_units`, two at least."""
    values, place = np.unique(scores, return_inverse=True)
    counts = np.bincount(units, minlength=n_units).astype(np.float64)
    there = counts > 0
    counts, unit = counts[there], (np.cumsum(there) - 1)[units]
    n, n_there = len(scores), len(counts)
    satterthwaite = float(cr2(counts[:, None], counts[:, None], np.ones((1, 1))).df[0])
    found = np.empty((2, len(values)))
    residual, of_spread = np.zeros(n_there), np.inf
    adjust = 1 / np.sqrt(1 - counts / n)
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
    df = min(satterthwaite, of_spread)
    whole_range = np.array([ends[0], *values, ends[1]])
    return Shares(quantile, whole_range, share, variance, df, n_there, whole)


def p_values(shares: Shares) -> np.ndarray:
    """P value of each value as the quantile, by the test that Wilson's interval of its share inverts."""
    q, share, variance = shares.quantile, shares.share, shares.variance
    inside = (share > 0) & (share < 1) & (variance > 0)
    size = np.where(inside, share * (1 - share) / np.where(inside, variance, 1.0), shares.n_units)
    return np.asarray(2 * special.stdtr(shares.df, -np.abs(share - q) * np.sqrt(size / (q * (1 - q)))))


def inverted(shares: Shares, alpha: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value at which the share's interval of level 1 - alpha holds the probability.

    NaN where it does at none.

    Woodruff RS. Confidence intervals for medians and other position measures. J Am Stat Assoc
    1952;47:635-646. https://doi.org/10.1080/01621459.1952.10483443

    Korn EL, Graubard BI. Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 1998;24:193-201.
    """
    p = p_values(shares)
    order = np.argsort(-p, kind="stable")
    n_held = np.searchsorted(-p[order], -np.asarray(alpha), side="right")
    low, high = np.minimum.accumulate(shares.values[order]), np.maximum.accumulate(shares.values[order])
    return np.append(np.nan, low)[n_held], np.append(np.nan, high)[n_held]


def of_difference(
    own: Shares, other: Shares, estimates: tuple[float, float], level: float
) -> tuple[float, float, float]:
    """Limits of the difference of two quantiles from those of each and how the two hang together (MOVER).

    l = d - sqrt((x - lx)^2 + (uy - y)^2 - 2 r (x - lx)(uy - y)), and u likewise, for quantiles x and y with
    limits lx, ux, ly and uy; r is the correlation of what units have above both shares. As where r is high a
    limit may come nearer when one of these goes further away, it is the furthest of this and of all lower
    levels: limits are nested. Where a limit is an end of the range, nothing is known of r, and distances are
    added. The last number is 1 minus the highest level whose limits leave 0 out.

    Zou GY, Donner A. Construction of confidence limits about effect measures: a general approach. Stat Med
    2008;27:1693-1702. https://doi.org/10.1002/sim.3095
    """
    # the levels at which a limit moves, from the lowest
    of_x, of_y = p_values(own), p_values(other)
    alphas = np.unique(np.concatenate([of_x, of_y]))[::-1]
    size = np.sqrt((own.residual**2).sum() * (other.residual**2).sum())
    r = float((own.residual * other.residual).sum() / size) if size > 0 else 0.0
    (x, y), (lx, ux), (ly, uy) = estimates, inverted(own, alphas), inverted(other, alphas)

    def furthest(one: np.ndarray, two: np.ndarray, last: float) -> np.ndarray:
        one, two = np.fmax(one, 0.0), np.fmax(two, 0.0)
        with np.errstate(invalid="ignore"):
            squares = one**2 + two**2 - 2 * np.where(alphas <= last, -1.0, r) * one * two
        squares = np.where(np.isinf(one) | np.isinf(two), np.inf, np.maximum(squares, 0.0))
        return np.asarray(np.maximum.accumulate(np.sqrt(squares)))

    low = x - y - furthest(x - lx, uy - y, max(of_x[0], of_y[-1]))
    high = x - y + furthest(ux - x, y - ly, max(of_x[-1], of_y[0]))
    low, high = (np.where(np.abs(limit) <= ROUNDING, 0.0, limit) for limit in (low, high))
    held = (low <= 0) & (high >= 0)
    at = max(int(np.searchsorted(-alphas, level - 1, side="right")) - 1, 0)
    return float(low[at]), float(high[at]), float(alphas[held.argmax()])


def replicates_of(scores: np.ndarray, units: np.ndarray, weights: np.ndarray, quantile: float) -> np.ndarray:
    """Quantiles of units that count `weights` (n_replicates, n_units) times; NaN where no score does."""
    order = np.argsort(scores, kind="stable")
    of_rows = weights[:, units[order]]
    found = sample_quantile(scores[order], of_rows, quantile)
    return np.where(of_rows.sum(axis=1) > 0, found, np.nan)
