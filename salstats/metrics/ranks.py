"""One map against many densities: areas under the ROC curve by ranks, and correlations.

The area under the ROC curve is the probability that a pixel drawn from the positives lies higher on the map
than one drawn from the negatives, ties counted half. It is the mean, over the positives, of the share of
negatives below plus half the share at the same height: a rank. Ranks depend on the map and the negatives
only, so one sort serves every density, and nothing has to be drawn.
"""

from functools import cached_property
from typing import Any

import numpy as np

from salstats.images.fixations import check_density
from salstats.images.maps import checked_pixels
from salstats.metrics.densities import Densities


class RankedMap:
    """A saliency map that is compared with many densities, and sorted once for all of them.

    Its methods take densities, an array (k, M, N) or (M, N), or `Densities`, which are checked once for many
    maps; they give a score for each, NaN for a constant map, and raise what `Densities` does. `values` is the
    map itself where nothing has to change, and must not be changed.

    Sorting takes O(P log P) for P pixels, each density then O(P).
    """

    def __init__(self, saliency: Any):
        self._pixels = checked_pixels(saliency)
        self.values = self._pixels.values
        self.shape: tuple[int, int] = (self.values.shape[0], self.values.shape[1])

    @property
    def is_constant(self) -> bool:
        """Whether the map takes one value only, but for rounding."""
        return self._pixels.is_constant

    def auc(self, densities: Any) -> np.ndarray:
        """Areas under the ROC curve of the map: densities as positives, all pixels as negatives."""
        return self._mean_rank(densities, None)

    def sauc(self, densities: Any, negatives: Any) -> np.ndarray:
        """Areas under the ROC curve of the map: densities against the centre bias, a density too."""
        return self._mean_rank(densities, check_density(negatives, self.shape, "center_bias"))

    def auc_at(self, pixels: np.ndarray) -> float:
        """Area of some pixels (flat indices, each as often as it stands there) against all; NaN of none."""
        return float("nan") if self.is_constant or not len(pixels) else float(self._ranks[pixels].mean())

    def ncc(self, densities: Any) -> np.ndarray:
        """Pearson's correlations of the map with densities, over the pixels; NaN for a constant density."""
        return self._checked(densities).correlations(self._pixels)

    def _checked(self, densities: Any) -> Densities:
        """Densities that fit the map."""
        if isinstance(densities, Densities) and densities.values.shape[1:] == self.shape:
            return densities
        return Densities(densities.values if isinstance(densities, Densities) else densities, self.shape)

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Pixels from lowest to highest, and where there each value ends; None if no two pixels tie."""
        flat = self.values.ravel()
        with np.errstate(over="ignore", under="ignore"):
            single = flat.astype(np.float32)
        if np.array_equal(single, flat):
            order, ordered = _sorted_single(single)
        else:
            order = np.argsort(flat)
            ordered = flat.take(order)
        changes = np.flatnonzero(ordered[1:] != ordered[:-1])
        if len(changes) == flat.size - 1:
            return order, None
        changes += 1
        return order, np.append(changes, flat.size)

    @cached_property
    def _ranks(self) -> np.ndarray:
        """For each pixel the share of all pixels below it, plus half of the share level with it."""
        size, ends = self.values.size, self._sorted[1]
        shares = np.arange(1.0, size + 1) if ends is None else ends.astype(np.float64)
        shares /= size
        return self._ranked(shares)

    def _ranked(self, shares: np.ndarray) -> np.ndarray:
        """Each pixel's rank from the share of negatives up to the end of each value of the map."""
        order, ends = self._sorted
        middle = shares.copy()
        middle[1:] += shares[:-1]
        middle /= 2
        ranks = np.empty(self.values.size)
        ranks[order] = middle if ends is None else np.repeat(middle, np.diff(ends, prepend=0))
        return ranks

    def _mean_rank(self, densities: Any, negatives: np.ndarray | None) -> np.ndarray:
        """Mean rank of each density among all pixels, or among negatives by their weight."""
        positives = self._checked(densities)
        if self.is_constant:
            return np.full(len(positives), np.nan)
        if negatives is None:
            ranks = self._ranks
        else:
            order, ends = self._sorted
            below = negatives.ravel().take(order)
            np.cumsum(below, out=below)
            if ends is not None:
                below = below[ends - 1]
            below /= below[-1]
            ranks = self._ranked(below)
        # rounding may carry a perfect score past 1
        return np.minimum(positives.flat @ ranks / positives.sums, 1.0)


def _sorted_single(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order of values of single precision, and numbers in that order that tie where they do.

    Value and pixel make one whole number of 64 bits each; sorting these takes a third of the time.
    """
    # 0 and -0 are one value
    bits = (flat + np.float32(0)).view(np.int32)
    # as whole numbers, negative values run backwards
    np.bitwise_xor(bits, 0x7FFFFFFF, out=bits, where=bits < 0)
    keys = bits.astype(np.int64)
    keys <<= 32
    keys |= np.arange(flat.size)
    keys.sort()
    order = keys & 0xFFFFFFFF
    keys >>= 32
    return order, keys


def sampled_auc(saliency: Any, positives: Any, negatives: Any) -> float:
    """Area under the ROC curve between pixels that were drawn: the study's estimate.

    Ties count half; NaN for a constant map, and where nothing was drawn. Values are compared as they are: the
    study puts them into an array of single precision, which changes nothing for its maps, but in which others
    could tie.

    Parameters
    ----------
    saliency : array_like of number, shape (M, N)
        Finite.
    positives, negatives : array_like of int, shape (n,) and (m,)
        Flat indices of the pixels drawn, row by row; a pixel may be drawn more than once.

    References
    ----------
    As for `fixation.ncc`.
    """
    pixels = checked_pixels(saliency)
    if pixels.is_constant:
        return float("nan")
    return auc_of_values(*(pixels.flat[np.asarray(at, np.intp)] for at in (positives, negatives)))


def auc_of_values(positives: np.ndarray, negatives: np.ndarray) -> float:
    """How often a positive value exceeds a negative one, ties counted half; NaN where one is empty."""
    if not len(positives) or not len(negatives):
        return float("nan")
    ordered = np.sort(negatives)
    # a pair in order counts two, a tie one: whole numbers until the division
    won = sum(int(np.searchsorted(ordered, positives, side).sum()) for side in ("left", "right"))
    return won / (2 * len(positives) * len(negatives))
