"""The wild cluster bootstrap of means and of ratios of means: units' signs are flipped under the hypothesis.

For one mean difference this is the sign-flip permutation test, which is exact where the differences of units
are symmetric about 0, however large some units are; for an average over tasks the residuals are those of the
model under the hypothesis. P value and interval are one procedure: the limits are where P crosses 1 - level.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from salstats.stats.engine.draws import few_threads, sign_blocks
from salstats.stats.engine.max_t import Drawn

#: Statistics that differ by less than this share of their size are equal.
_EQUAL = 1e-11


class Contrast(NamedTuple):
    """What is compared, per estimate: `own - theta * other`, whose units' parts are flipped."""

    # own, other: (n_rows,), means; of a difference `own` is the difference itself and `other` is 1
    own: np.ndarray
    other: np.ndarray
    # own_parts, other_parts: (n_units, n_rows), influences of the units on them, which sum to 0
    own_parts: np.ndarray
    other_parts: np.ndarray
    leverage: np.ndarray  # (n_units, n_rows), shares of the units, which sum to 1


class Flipped(NamedTuple):
    """What flips say: `p_value` of `theta`, what it was counted from, and the ends of each flip's set.

    `low, high` (n_flips, n_rows) bound the values of theta at which a flip is at least as far from 0 as the
    data; one that is so everywhere, as it flips all or nothing, is counted in `n_always` instead.
    """

    p_value: np.ndarray
    drawn: Drawn
    low: np.ndarray
    high: np.ndarray
    n_always: np.ndarray
    n_patterns: int

    def p_value_of(self, theta: np.ndarray, rounding: np.ndarray) -> np.ndarray:
        """Mid-P of other values of theta, as `flip` would find it; ends within `rounding` of it are at it."""
        inside = (self.low < theta - rounding) & (theta + rounding < self.high)
        at_end = ~inside & (self.low <= theta + rounding) & (theta - rounding <= self.high)
        counted = inside.sum(axis=0) + (at_end.sum(axis=0) + self.n_always) / 2
        return np.asarray(counted / self.n_patterns)

    def limits(self, level: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The interval of theta whose P value is above 1 - level; infinite where none is below."""
        # of the flips that hold a value half of those count that hold every value
        k = np.floor((1 - level) * self.n_patterns - self.n_always / 2 + 1e-9).astype(np.int64)
        place = np.clip(k, 0, len(self.low) - 1)
        low = np.take_along_axis(np.sort(self.low, axis=0), place[None], axis=0)[0]
        high = np.take_along_axis(np.sort(-self.high, axis=0), place[None], axis=0)[0]
        return np.where(k < 0, -np.inf, low), np.where(k < 0, np.inf, -high)


def all_signs(n_units: int) -> Iterator[np.ndarray]:
    """Every pattern of signs once, up to that of all together, as int8 (n_patterns, n_units)."""
    codes = np.arange(2 ** (n_units - 1))[:, None] >> np.arange(n_units)[None] & 1
    yield (1 - 2 * codes).astype(np.int8)


def signs_of(n_units: int, n_replicates: int, rng: np.random.Generator) -> tuple[Iterable[np.ndarray], bool]:
    """Signs to flip by, and whether they are all there are."""
    if n_units <= np.log2(n_replicates) + 1:
        return all_signs(n_units), True
    return sign_blocks(n_replicates, n_units, rng), False


def flip(
    contrast: Contrast, theta: np.ndarray | float, signs: Iterable[np.ndarray], *, complete: bool
) -> Flipped:
    """P values of `own - theta * other = 0` and the sets that limits are read from.

    The P value is the mid-P: flips exactly as far from 0 as the data count half, the data among them
    (`complete` signs hold the data themselves, drawn ones do not). Discrete scores, such as hits, make the
    P value that counts them whole far too large; of two paired 0/1 scores this is McNemar's mid-P.

    Cameron AC, Gelbach JB, Miller DL. Bootstrap-based improvements for inference with clustered errors.
    Rev Econ Stat 2008. doi:10.1162/rest.90.3.414. Fagerland MW, Lydersen S, Laake P. The McNemar test for
    binary matched-pairs data: mid-p and asymptotic are better than exact conditional. BMC Med Res Methodol
    2013. doi:10.1186/1471-2288-13-91
    """
    own, other, own_parts, other_parts, leverage = contrast
    lows, highs, reached = [], [], []
    always = np.zeros(len(own), dtype=np.int64)
    null = own - theta * other
    size = np.abs(own) + np.abs(other * theta) + np.abs(own_parts).sum(axis=0)
    n = 0
    with few_threads(*own_parts.shape):
        for block in signs:
            flips = block.astype(np.float64)
            own_sum, kept = flips @ own_parts, flips @ leverage
            # of a difference there is nothing to flip
            other_sum = flips @ other_parts if other_parts.any() else np.zeros_like(own_sum)
            reached.append(own_sum - theta * other_sum + null * kept)
            low, high, everywhere = _set_of_flip(contrast, own_sum, other_sum, kept, size)
            always += everywhere.sum(axis=0)
            lows.append(low)
            highs.append(high)
            n += len(block)
    n_patterns = n if complete else n + 1
    extra = 0 if complete else 1
    # flips leave the sum of squares under the hypothesis as it is
    parts = own_parts - theta * other_parts + null * leverage
    spread = np.sqrt((parts**2).sum(axis=0))
    drawn = Drawn.of(
        null, np.concatenate(reached), spread, _EQUAL * size, 0.5, complete=complete, parts=parts
    )
    return Flipped(
        drawn.p_values(), drawn, np.concatenate(lows), np.concatenate(highs), always + extra, n_patterns
    )


def _set_of_flip(
    contrast: Contrast, own_sum: np.ndarray, other_sum: np.ndarray, kept: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends of the set of theta at which each flip is at least as far from 0, and whether it is so everywhere.

    |own - theta other| <= |flipped| turns at the two values at which the parts that are flipped, or those
    that are not, are 0 in sum. Where one of them has no `other` the set is a half-line; where it has less
    than none it is two, which are taken for the whole.
    """
    own, other = contrast.own, contrast.other
    ends = []
    nothing = np.zeros(own_sum.shape, dtype=bool)
    unbounded = np.zeros(own_sum.shape, dtype=bool)
    for sign in (-1, 1):
        top, bottom = own * (1 + sign * kept) + sign * own_sum, other * (1 + sign * kept) + sign * other_sum
        least = _EQUAL * np.abs(other)
        nothing |= (bottom <= least) & (np.abs(top) <= _EQUAL * size)
        unbounded |= bottom < -least
        with np.errstate(divide="ignore", invalid="ignore"):
            ends.append(np.where(np.abs(bottom) <= least, np.copysign(np.inf, top), top / bottom))
    low, high = (
        np.where(unbounded, -np.inf, np.minimum(*ends)),
        np.where(unbounded, np.inf, np.maximum(*ends)),
    )
    # one that is so everywhere is counted by half, and apart
    return np.where(nothing, np.inf, low), np.where(nothing, -np.inf, high), nothing
