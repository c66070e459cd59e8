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
        """True if the map has one value only, but for rounding."""
        return self._pixels.is_constant

    def auc(self, densities: Any) -> np.ndarray:
        """Return areas under the ROC curve of the map: densities as positives, all pixels as negatives."""
        return self._mean_rank(densities, None)

    def sauc(self, densities: Any, negatives: Any) -> np.ndarray:
        """Return areas under the ROC curve of the map: densities against the centre bias, a density too."""
        return self._mean_rank(densities, check_density(negatives, self.shape, "center_bias"))

    def auc_at(self, pixels: np.ndarray) -> float:
        """Return the area of some pixels (flat indices, repeated ones count again) against all pixels."""
        if self.is_constant or not len(pixels):
            return float("nan")
        return float(self._ranks[pixels].mean())

    def ncc(self, densities: Any) -> np.ndarray:
        """Return Pearson's correlations of the map with densities; NaN for a constant density."""
        return self._checked(densities).correlations(self._pixels)

    def _checked(self, densities: Any) -> Densities:
        """Return densities that fit the map."""
        if not isinstance(densities, Densities):
            return Densities(densities, self.shape)
        if densities.values.shape[1:] != self.shape:
            return Densities(densities.values, self.shape)
        return densities

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Pixels from lowest to highest, and the end of each value among them; None if no two pixels tie."""
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
        _, ends = self._sorted
        n_pixels = self.values.size
        shares = np.arange(1.0, n_pixels + 1) if ends is None else ends.astype(np.float64)
        shares /= n_pixels
        return self._ranked(shares)

    def _ranked(self, shares: np.ndarray) -> np.ndarray:
        """Return each pixel's rank from the share of negatives up to the end of each value of the map."""
        order, ends = self._sorted
        middle = shares.copy()
        middle[1:] += shares[:-1]
        middle /= 2
        ranks = np.empty(self.values.size)
        ranks[order] = middle if ends is None else np.repeat(middle, np.diff(ends, prepend=0))
        return ranks

    def _mean_rank(self, densities: Any, negatives: np.ndarray | None) -> np.ndarray:
        """Return the mean rank of each density among all pixels, or among negatives by their weight."""
        positives = self._checked(densities)
        if self.is_constant:
            return np.full(len(positives), np.nan)
        if negatives is None:
            ranks = self._ranks
        else:
            order, ends = self._sorted
            shares = negatives.ravel().take(order)
            np.cumsum(shares, out=shares)
            if ends is not None:
                shares = shares[ends - 1]
            shares /= shares[-1]
            ranks = self._ranked(shares)
        # rounding may carry a perfect score past 1
        return np.asarray(np.minimum(positives.flat @ ranks / positives.sums, 1.0))


def _sorted_single(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of values of single precision, and whole numbers in that order that tie where they do.

    Value and pixel make one whole number of 64 bits each; sorting these takes a third of the time.
    """
    # adding 0 makes one value of 0 and -0
    value_codes = (flat + np.float32(0)).view(np.int32)
    # the bits of negative values, read as whole numbers, are in reverse order
    np.bitwise_xor(value_codes, 0x7FFFFFFF, out=value_codes, where=value_codes < 0)
    keys = value_codes.astype(np.int64)
    keys <<= 32
    keys |= np.arange(flat.size)
    keys.sort()
    order = keys & 0xFFFFFFFF
    keys >>= 32
    return order, keys


def sampled_auc(saliency: Any, positives: Any, negatives: Any) -> float:
    """Return the area under the ROC curve between pixels that were drawn: the study's estimate.

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
    positive_values = pixels.flat[np.asarray(positives, np.intp)]
    negative_values = pixels.flat[np.asarray(negatives, np.intp)]
    return auc_of_values(positive_values, negative_values)


def auc_of_values(positives: np.ndarray, negatives: np.ndarray) -> float:
    """Return the share of pairs in which the positive value is larger; ties count half, NaN without pairs."""
    if not len(positives) or not len(negatives):
        return float("nan")
    ordered = np.sort(negatives)
    n_smaller = int(np.searchsorted(ordered, positives, "left").sum())
    n_smaller_or_tied = int(np.searchsorted(ordered, positives, "right").sum())
    # whole numbers until the division
    return (n_smaller + n_smaller_or_tied) / (2 * len(positives) * len(negatives))
