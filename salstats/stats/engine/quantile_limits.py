"""Quantiles of scores clustered by unit, with limits that need no estimate of the scores' density.

A value can be the quantile if the share of scores at or below it can be the probability. The interval of
that share is inverted (Woodruff), so that many equal scores and gaps between scores do no harm.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from salstats.stats.engine.cr2 import cr2, df_from_kurtosis_of_units
from salstats.stats.engine.limits import LimitArrays
from salstats.stats.engine.result_warnings import ROUNDING

#: Largest number of elements of an array of values by units that is computed at a time.
_MAX_ELEMENTS_OF_BLOCK = 2**21
#: Relative rounding of the product of a number of scores and a probability.
_ROUNDING = 1e-12


class SharesAtOrBelow(NamedTuple):
    """Shares of scores at or below each value that the quantile may have, with their variances.

    Of the scores equal to a value as many are counted as bring the share nearest to the probability.
    """

    #: Probability of the quantile.
    quantile: float
    #: (n_values,): Values, ascending; the first and the last are the ends of the scores' range.
    values: np.ndarray
    #: (n_values,): Share of the scores at or below each value.
    share: np.ndarray
    #: (n_values,): CR2 variance of each share, clustered by unit.
    variance: np.ndarray
    #: Satterthwaite's degrees of freedom, or fewer where a few units hold most of the variance at the
    #: quantile.
    df: float
    #: Number of units that have a score.
    n_units: int
    #: (n_all_units,): Each unit's number of scores at or below the quantile less the number expected of it.
    residual: np.ndarray


class DifferenceLimits(NamedTuple):
    """Confidence limits of a difference of two quantiles, and the P value of no difference."""

    low: float
    high: float
    p_value: float


def weighted_quantiles(ascending_scores: np.ndarray, weights: np.ndarray, quantile: float) -> np.ndarray:
    """Compute weighted quantiles of ascending scores, shape (n,): R's type 2, the middle of two scores.

    `weights` (n, n_scores) say how often each score counts.
    """
    at_or_below = np.cumsum(weights, axis=1)
    target = at_or_below[:, -1:] * quantile
    # sums of whole numbers are exact, so only the product `target` is rounded
    tolerance = np.abs(target) * _ROUNDING
    # the first scores at which the summed weights reach, and exceed, the target
    lower = (at_or_below >= target - tolerance).argmax(axis=1)
    upper = (at_or_below > target + tolerance).argmax(axis=1)
    return np.asarray((ascending_scores[lower] + ascending_scores[upper]) / 2)


def share_and_variance_at_or_below_distinct_scores(
    scores: np.ndarray, units: NDArray[np.integer], n_units: int, quantile: float, ends: tuple[float, float]
) -> SharesAtOrBelow:
    """Compute the share of all scores at or below each distinct score, with its CR2 variance.

    `units` (n_scores,) are codes below `n_units`, of which two at least have a score; `ends` are the lowest
    and the highest possible score, where the shares are 0 and 1 and the variances 0.
    """
    values, value_codes = np.unique(scores, return_inverse=True)
    sizes = np.bincount(units, minlength=n_units).astype(np.float64)
    has_scores = sizes > 0
    sizes = sizes[has_scores]
    # units without scores are left out, and the others numbered again from 0
    unit_codes = (np.cumsum(has_scores) - 1)[units]
    n_scores = len(scores)
    n_with_scores = len(sizes)

    # the quantile is the first value at which the number of scores reaches n q
    n_at_or_below = np.cumsum(np.bincount(value_codes))
    quantile_position = np.searchsorted(n_at_or_below, n_scores * quantile * (1 - _ROUNDING))
    # CR2 divides the residual of a unit by the root of 1 less its leverage (Bell and McCaffrey 2002).
    leverage = sizes / n_scores
    adjustment = 1 / np.sqrt(1 - leverage)
    share = np.empty(len(values))
    variance = np.empty(len(values))
    quantile_residual = np.zeros(n_with_scores)
    kurtosis_df = np.inf
    for start, below, equal in _blocks_of_counts_below_and_equal(
        value_codes, unit_codes, len(values), n_with_scores
    ):
        stop = start + len(below)
        # Of the scores equal to a value, the share that brings the number counted nearest to n q.
        n_from_ties = n_scores * quantile - below.sum(axis=1)
        tied_share = np.clip(n_from_ties / equal.sum(axis=1), 0, 1)
        counted = below + tied_share[:, None] * equal
        share[start:stop] = counted.sum(axis=1) / n_scores
        residuals = counted - share[start:stop, None] * sizes
        variance[start:stop] = ((residuals * adjustment) ** 2).sum(axis=1) / n_scores**2
        if start <= quantile_position < stop:
            quantile_residual = residuals[quantile_position - start]
            kurtosis_df = float(
                df_from_kurtosis_of_units((quantile_residual * adjustment) ** 2, n_with_scores)
            )

    # these degrees of freedom depend on the sizes of units only, so that the sums of scores can be any
    satterthwaite = float(cr2(sizes[:, None], sizes[:, None], np.ones((1, 1))).df[0])
    residual = np.zeros(n_units)
    residual[has_scores] = quantile_residual
    return SharesAtOrBelow(
        quantile=quantile,
        values=np.array([ends[0], *values, ends[1]]),
        share=np.concatenate([[0.0], share, [1.0]]),
        variance=np.concatenate([[0.0], variance, [0.0]]),
        df=min(satterthwaite, kurtosis_df),
        n_units=n_with_scores,
        residual=residual,
    )


class _CountsOfBlock(NamedTuple):
    """Numbers of scores of each unit below and equal to each value of a block of values."""

    #: Code of the first value of the block.
    start: int
    #: (n_values_of_block, n_units)
    below: np.ndarray
    #: (n_values_of_block, n_units)
    equal: np.ndarray


def _blocks_of_counts_below_and_equal(
    value_codes: NDArray[np.integer], unit_codes: NDArray[np.integer], n_values: int, n_units: int
) -> Iterator[_CountsOfBlock]:
    """Yield each unit's numbers of scores below and equal to each value, for blocks of ascending values."""
    order = np.argsort(value_codes, kind="stable")
    value_starts = np.searchsorted(value_codes[order], np.arange(n_values + 1))
    block_size = max(1, _MAX_ELEMENTS_OF_BLOCK // n_units)
    below_block = np.zeros(n_units)
    for start in range(0, n_values, block_size):
        stop = min(start + block_size, n_values)
        rows = order[value_starts[start] : value_starts[stop]]
        equal = np.zeros((stop - start, n_units))
        np.add.at(equal, (value_codes[rows] - start, unit_codes[rows]), 1.0)
        below = below_block + np.cumsum(equal, axis=0) - equal
        yield _CountsOfBlock(start, below, equal)
        below_block = below[-1] + equal[-1]


def wilson_p_values_as_quantile(shares: SharesAtOrBelow) -> np.ndarray:
    """Compute the P value of each value as the quantile, by the test that Wilson's interval inverts.

    t = |p - q| sqrt(m / (q (1 - q))), with the share p, the probability q and the effective number of
    independent scores m = p (1 - p) / variance; m is the number of units where the variance is 0.
    """
    q = shares.quantile
    p = shares.share
    has_variance = (p > 0) & (p < 1) & (shares.variance > 0)
    variance = np.where(has_variance, shares.variance, 1.0)
    effective_size = np.where(has_variance, p * (1 - p) / variance, shares.n_units)
    t = np.abs(p - q) * np.sqrt(effective_size / (q * (1 - q)))
    return np.asarray(2 * special.stdtr(shares.df, -t))


def quantile_limits_by_alpha(shares_of_one_sample: SharesAtOrBelow, alpha: float | np.ndarray) -> LimitArrays:
    """Return the lowest and the highest value that a test at `alpha` accepts as the quantile.

    These are the limits of level 1 - alpha, in the shape of `alpha`; NaN where no value is accepted.

    Woodruff RS. Confidence intervals for medians and other position measures. J Am Stat Assoc
    1952;47:635-646. https://doi.org/10.1080/01621459.1952.10483443

    Korn EL, Graubard BI. Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 1998;24:193-201.
    """
    p_value = wilson_p_values_as_quantile(shares_of_one_sample)
    order = np.argsort(-p_value, kind="stable")
    # p_value[order] descends, so that the values accepted are the first ones in `order`
    n_accepted = np.searchsorted(-p_value[order], -np.asarray(alpha), side="right")
    # limits after accepting the values of the n largest P values, n = 0, 1, ...
    low = np.append(np.nan, np.minimum.accumulate(shares_of_one_sample.values[order]))
    high = np.append(np.nan, np.maximum.accumulate(shares_of_one_sample.values[order]))
    return low[n_accepted], high[n_accepted]


def difference_limits(
    first: SharesAtOrBelow, second: SharesAtOrBelow, estimates: tuple[float, float], level: float
) -> DifferenceLimits:
    """Compute limits of the difference of two quantiles from the limits of each (MOVER).

    l = x - y - sqrt((x - lx)^2 + (uy - y)^2 - 2 r (x - lx)(uy - y)) and
    u = x - y + sqrt((ux - x)^2 + (y - ly)^2 - 2 r (ux - x)(y - ly)), for quantiles x and y with limits lx,
    ux, ly and uy; r is the correlation of the units' residuals. Where a limit is an end of the range, r is
    unknown and -1 is taken, which adds the distances. With a high r, a limit of a higher level may be nearer
    to the estimate; limits are therefore the furthest of their own and all lower levels. The P value is 1
    minus the highest level whose limits exclude 0.

    Zou GY, Donner A. Construction of confidence limits about effect measures: a general approach. Stat Med
    2008;27:1693-1702. https://doi.org/10.1002/sim.3095
    """
    p_first = wilson_p_values_as_quantile(first)
    p_second = wilson_p_values_as_quantile(second)
    # limits change only at these levels; alphas descend, so that levels ascend
    alphas = np.unique(np.concatenate([p_first, p_second]))[::-1]
    x, y = estimates
    lx, ux = quantile_limits_by_alpha(first, alphas)
    ly, uy = quantile_limits_by_alpha(second, alphas)

    correlation = _residual_correlation(first.residual, second.residual)
    # The first and the last value are the ends of the range; a limit is an end if its P value is at least
    # alpha. The low limit of the difference is made from lx and uy, the high one from ux and ly.
    low_is_end = alphas <= max(p_first[0], p_second[-1])
    high_is_end = alphas <= max(p_first[-1], p_second[0])
    r_low = np.where(low_is_end, -1.0, correlation)
    r_high = np.where(high_is_end, -1.0, correlation)

    distances_to_low = _mover_distances_by_ascending_level(x - lx, uy - y, r_low)
    distances_to_high = _mover_distances_by_ascending_level(ux - x, y - ly, r_high)
    low = _zero_where_rounding(x - y - distances_to_low)
    high = _zero_where_rounding(x - y + distances_to_high)
    includes_zero = (low <= 0) & (high >= 0)
    p_value = alphas[includes_zero.argmax()]
    # the limits at `level` are those at the highest of these levels, 1 - alpha, that is not above it
    n_levels_up_to_level = int(np.searchsorted(-alphas, level - 1, side="right"))
    position = max(n_levels_up_to_level - 1, 0)
    return DifferenceLimits(float(low[position]), float(high[position]), float(p_value))


def _residual_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Compute the correlation of two sets of residuals, 0 where one has no spread."""
    size = np.sqrt((first**2).sum() * (second**2).sum())
    if not size > 0:
        return 0.0
    return float((first * second).sum() / size)


def _mover_distances_by_ascending_level(
    first_distances: np.ndarray, second_distances: np.ndarray, correlations: np.ndarray
) -> np.ndarray:
    """Combine the distances of two limits from their estimates into the distances for their difference.

    All arrays have the shape (n_levels,), from the lowest level; distances do not fall from level to level.
    """
    first = np.fmax(first_distances, 0.0)
    second = np.fmax(second_distances, 0.0)
    with np.errstate(invalid="ignore"):
        squares = first**2 + second**2 - 2 * correlations * first * second
    is_infinite = np.isinf(first) | np.isinf(second)
    squares = np.where(is_infinite, np.inf, np.maximum(squares, 0.0))
    return np.asarray(np.maximum.accumulate(np.sqrt(squares)))


def _zero_where_rounding(limits: np.ndarray) -> np.ndarray:
    """Set limits to 0 that differ from it by rounding."""
    return np.where(np.abs(limits) <= ROUNDING, 0.0, limits)


def quantile_replicates(
    scores: np.ndarray, units: NDArray[np.integer], weights: np.ndarray, quantile: float
) -> np.ndarray:
    """Compute the quantile of each replicate of the units, shape (n_replicates,).

    `weights` (n_replicates, n_units) say how often each unit is drawn; a replicate without scores is NaN.
    """
    order = np.argsort(scores, kind="stable")
    score_weights = weights[:, units[order]]
    quantiles = weighted_quantiles(scores[order], score_weights, quantile)
    return np.where(score_weights.sum(axis=1) > 0, quantiles, np.nan)
