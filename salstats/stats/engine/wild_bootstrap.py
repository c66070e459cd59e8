"""The wild cluster bootstrap of means and of ratios of means: units' signs are flipped under the hypothesis.

For one mean difference this is the sign-flip permutation test, which is exact where the differences of units
are symmetric about 0, however large some units are; for an average over tasks the residuals are those of the
model under the hypothesis. P value and interval are one procedure: the limits are where P crosses 1 - level.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salstats.stats.engine.draws import one_thread_if_small, sign_blocks
from salstats.stats.engine.joint_adjustment import NullDraws
from salstats.stats.engine.limits import LimitArrays

#: Statistics that differ by less than this share of their size are equal.
_EQUALITY_TOLERANCE = 1e-11
#: Rounding of a number of patterns.
_ROUNDING = 1e-9


class Contrast(NamedTuple):
    """A statistic `numerator - theta * denominator` of each estimate, and the influences of units on it.

    Numerator and denominator are the means of a ratio; for a difference they are the difference itself and 1.
    """

    #: (n_rows,)
    numerator: np.ndarray
    #: (n_rows,)
    denominator: np.ndarray
    #: (n_units, n_rows): Sums to 0 over units.
    numerator_influence: np.ndarray
    #: (n_units, n_rows): Sums to 0 over units.
    denominator_influence: np.ndarray
    #: (n_units, n_rows): Shares of the units in the estimate; sums to 1 over units.
    leverage: np.ndarray


class SignFlips(NamedTuple):
    """Sign flips of a contrast: the P value of `theta`, and the set of values of theta of each flip.

    The set of a flip has the values of theta at which the flipped statistic is at least as far from 0 as the
    statistic of the data. A pattern for which this holds at every theta, because it flips all units or none,
    has an empty set and is counted in `n_always` instead.
    """

    #: (n_rows,): Mid-P values of the hypothesis.
    p_value: np.ndarray
    null_draws: NullDraws
    #: (n_flips, n_rows): Lower end of each set.
    low: np.ndarray
    #: (n_flips, n_rows): Upper end of each set.
    high: np.ndarray
    #: (n_rows,): Number of patterns that are as far from 0 as the data at every theta.
    n_always: np.ndarray
    #: Number of patterns of signs, including the pattern of the data.
    n_patterns: int

    def mid_p_value_of(self, theta: np.ndarray, rounding: np.ndarray) -> np.ndarray:
        """Compute the mid-P value of another theta, shape (n_rows,).

        Sets with theta at an end, within `rounding`, count half.
        """
        inside = (self.low < theta - rounding) & (theta + rounding < self.high)
        at_end = ~inside & (self.low <= theta + rounding) & (theta - rounding <= self.high)
        n_as_far = inside.sum(axis=0) + (at_end.sum(axis=0) + self.n_always) / 2
        return np.asarray(n_as_far / self.n_patterns)

    def limits(self, level: float | np.ndarray) -> LimitArrays:
        """Return the lowest and highest theta with a P value above 1 - level, infinite if all have one.

        The P value of theta is its count / n_patterns. A flip counts 1 if theta lies between its `low` and
        `high`; the patterns of `n_always` are exactly as far from 0 as the data and count 1/2 at every theta.
        """
        # Beyond a limit theta lies in no more than k sets, k + n_always / 2 <= (1 - level) * n_patterns, so
        # the limit is the end of set k + 1, counted from outside.
        k = np.floor((1 - level) * self.n_patterns - self.n_always / 2 + _ROUNDING).astype(np.int64)
        position = np.clip(k, 0, len(self.low) - 1)[None]
        low = np.take_along_axis(np.sort(self.low, axis=0), position, axis=0)[0]
        negative_high = np.take_along_axis(np.sort(-self.high, axis=0), position, axis=0)[0]
        low = np.where(k < 0, -np.inf, low)
        high = np.where(k < 0, np.inf, -negative_high)
        return low, high


def all_signs_up_to_reversal(n_units: int) -> Iterator[np.ndarray]:
    """Yield every pattern of signs as one int8 array (n_patterns, n_units), the last unit's sign being +1.

    The opposite of a pattern is as far from 0 and is left out.
    """
    patterns = np.arange(2 ** (n_units - 1))[:, None]
    is_negative = (patterns >> np.arange(n_units)[None]) & 1
    yield (1 - 2 * is_negative).astype(np.int8)


class SignPatterns(NamedTuple):
    """Patterns of the signs of units."""

    #: Blocks (n_patterns, n_units) of signs, -1 or 1.
    blocks: Iterable[np.ndarray]
    #: True if they are all patterns, False if they are random ones.
    complete: bool


def sign_patterns_up_to_reversal(n_units: int, n_replicates: int, rng: np.random.Generator) -> SignPatterns:
    """Return all patterns of signs if there are no more than `n_replicates`, else as many random ones."""
    # there are 2 ** (n_units - 1) patterns, up to reversal
    if n_units <= np.log2(n_replicates) + 1:
        return SignPatterns(all_signs_up_to_reversal(n_units), complete=True)
    return SignPatterns(sign_blocks(n_replicates, n_units, rng), complete=False)


def sign_flips_of_contrast(
    contrast: Contrast, theta: np.ndarray | float, signs: Iterable[np.ndarray], *, complete: bool
) -> SignFlips:
    """Flip signs under the hypothesis `numerator - theta * denominator = 0`, for P values and limits.

    The P value is the mid-P: flips exactly as far from 0 as the data count half, the data among them. The
    pattern of the data is one of `signs` if these are `complete`, else it is added. Discrete scores, such as
    hits, make the P value that fully counts ties far too large; of two paired 0/1 scores this is McNemar's
    mid-P.

    Cameron AC, Gelbach JB, Miller DL. Bootstrap-based improvements for inference with clustered errors.
    Rev Econ Stat 2008. doi:10.1162/rest.90.3.414. Fagerland MW, Lydersen S, Laake P. The McNemar test for
    binary matched-pairs data: mid-p and asymptotic are better than exact conditional. BMC Med Res Methodol
    2013. doi:10.1186/1471-2288-13-91
    """
    numerator = contrast.numerator
    denominator = contrast.denominator
    numerator_influence = contrast.numerator_influence
    denominator_influence = contrast.denominator_influence
    leverage = contrast.leverage
    statistic = numerator - theta * denominator
    # size of the numbers that are added, to which rounding errors are relative
    size = np.abs(numerator) + np.abs(denominator * theta) + np.abs(numerator_influence).sum(axis=0)
    lows = []
    highs = []
    flipped_statistics = []
    n_always = np.zeros(len(numerator), dtype=np.int64)
    n_patterns = 0
    n_units, n_rows = numerator_influence.shape
    with one_thread_if_small(n_units, n_rows):
        for block in signs:
            flips = block.astype(np.float64)
            numerator_sum = flips @ numerator_influence
            leverage_sum = flips @ leverage
            # The denominator of a difference is 1, on which units have no influence.
            denominator_sum = np.zeros_like(numerator_sum)
            if denominator_influence.any():
                denominator_sum = flips @ denominator_influence
            flipped_statistics.append(numerator_sum - theta * denominator_sum + statistic * leverage_sum)
            low, high, is_always = _theta_sets_of_flips(
                contrast, numerator_sum, denominator_sum, leverage_sum, size
            )
            n_always += is_always.sum(axis=0)
            lows.append(low)
            highs.append(high)
            n_patterns += len(block)
    if not complete:
        # the pattern of the data, which is as far as itself at every theta
        n_always = n_always + 1
        n_patterns += 1
    # Flips do not change the sum of squares of the units' shares under the hypothesis.
    unit_shares = numerator_influence - theta * denominator_influence + statistic * leverage
    std_error = np.sqrt((unit_shares**2).sum(axis=0))
    null_draws = NullDraws.from_statistics(
        statistic,
        np.concatenate(flipped_statistics),
        std_error,
        std_error_rounding=_EQUALITY_TOLERANCE * size,
        tie_weight=0.5,
        complete=complete,
        unit_shares=unit_shares,
    )
    return SignFlips(
        p_value=null_draws.p_values(),
        null_draws=null_draws,
        low=np.concatenate(lows),
        high=np.concatenate(highs),
        n_always=n_always,
        n_patterns=n_patterns,
    )


class _ThetaSets(NamedTuple):
    """Sets of theta of a block of flips, each array of shape (n_flips, n_rows)."""

    #: Lower end, inf for an empty set.
    low: np.ndarray
    #: Upper end, -inf for an empty set.
    high: np.ndarray
    #: True where the flip is as far at every theta; the set is empty, as these flips are counted separately.
    is_always: NDArray[np.bool_]


def _theta_sets_of_flips(
    contrast: Contrast,
    numerator_sum: np.ndarray,
    denominator_sum: np.ndarray,
    leverage_sum: np.ndarray,
    size: np.ndarray,
) -> _ThetaSets:
    """Find the set of theta at which each flip is at least as far from 0 as the data.

    The three sums (n_flips, n_rows) are of the units' influences and leverages, with flipped signs.

    Whether |numerator - theta denominator| <= |flipped statistic| changes at two values of theta, each a
    ratio top / bottom: at one the flipped units sum to 0, at the other the units that are not flipped. Where
    a bottom is 0 the set is a half-line; where it is negative the set is two half-lines, and is replaced by
    the whole line.
    """
    numerator = contrast.numerator
    denominator = contrast.denominator
    tolerance = _EQUALITY_TOLERANCE * np.abs(denominator)
    ends = []
    is_always = np.zeros(numerator_sum.shape, dtype=bool)
    is_unbounded = np.zeros(numerator_sum.shape, dtype=bool)
    for sign in (-1, 1):
        # twice the sums over the units that are flipped, and then over the units that are not
        top = numerator * (1 + sign * leverage_sum) + sign * numerator_sum
        bottom = denominator * (1 + sign * leverage_sum) + sign * denominator_sum
        is_always |= (bottom <= tolerance) & (np.abs(top) <= _EQUALITY_TOLERANCE * size)
        is_unbounded |= bottom < -tolerance
        with np.errstate(divide="ignore", invalid="ignore"):
            end = np.where(np.abs(bottom) <= tolerance, np.copysign(np.inf, top), top / bottom)
        ends.append(end)
    low = np.where(is_unbounded, -np.inf, np.minimum(ends[0], ends[1]))
    high = np.where(is_unbounded, np.inf, np.maximum(ends[0], ends[1]))
    low = np.where(is_always, np.inf, low)
    high = np.where(is_always, -np.inf, high)
    return _ThetaSets(low, high, is_always)
