"""One map against many densities: areas under the ROC curve by ranks, and correlations.

The area under the ROC curve is the probability that a pixel drawn from the positives lies higher on the map
than one drawn from the negatives, ties counted half. It is the mean, over the positives, of the share of
negatives below plus half the share at the same height: a rank. Ranks depend on the map and the negatives
only, so one sort serves every density, and nothing has to be drawn.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from salstats.images.fixations import check_density
from salstats.images.maps import checked_pixels
from salstats.metrics.densities import Densities


class _SortedPixels(NamedTuple):
    """Pixels of a map from the lowest value to the highest."""

    #: Flat indices of the pixels, (n_pixels,).
    order: np.ndarray
    #: Number of pixels up to and with each distinct value, ascending; None if no two pixels tie.
    tie_ends: np.ndarray | None


class RankedMap:
    """A saliency map that is compared with many densities, and sorted once for all of them.

    Its methods take densities, an array (k, M, N) or (M, N), or `Densities`, which are checked once for many
    maps; they return a score for each, NaN for a constant map, and raise what `Densities` does. `values` is
    the map itself where nothing has to change, and must not be changed.

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
        """Return the area under the ROC curve for each density: its pixels against all pixels, (k,)."""
        return self._mean_rank_by_density(densities, None)

    def sauc(self, densities: Any, negative_density: Any) -> np.ndarray:
        """Return the area under the ROC curve for each density: its pixels against the centre bias, (k,)."""
        return self._mean_rank_by_density(
            densities, check_density(negative_density, self.shape, "center_bias")
        )

    def auc_against_all_pixels(self, positive_pixels: np.ndarray) -> float:
        """Return the area under the ROC curve of the map: some pixels as positives, all pixels as negatives.

        `positive_pixels` are flat indices, of which repeated ones count again.
        """
        if self.is_constant or not len(positive_pixels):
            return float("nan")
        return float(self._rank_share_of_each_pixel[positive_pixels].mean())

    def ncc(self, densities: Any) -> np.ndarray:
        """Return Pearson's correlation of the map with each density, (k,); NaN for a constant density."""
        return self._checked_densities(densities).correlations(self._pixels)

    def _checked_densities(self, densities: Any) -> Densities:
        """Return densities of the map's shape."""
        if not isinstance(densities, Densities):
            return Densities(densities, self.shape)
        if densities.values.shape[1:] != self.shape:
            return Densities(densities.values, self.shape)
        return densities

    @cached_property
    def _sorted(self) -> _SortedPixels:
        """The pixels in the order of their values."""
        flat = self.values.ravel()
        # values that single precision holds exactly can be sorted together with their positions, which is
        # quicker
        with np.errstate(over="ignore", under="ignore"):
            single = flat.astype(np.float32)
        if np.array_equal(single, flat):
            order, ordered = _order_and_sorted_value_bits(single)
        else:
            order = np.argsort(flat)
            ordered = flat.take(order)
        last_of_value = np.flatnonzero(ordered[1:] != ordered[:-1])
        if len(last_of_value) == flat.size - 1:
            return _SortedPixels(order, None)
        return _SortedPixels(order, np.append(last_of_value + 1, flat.size))

    @cached_property
    def _rank_share_of_each_pixel(self) -> np.ndarray:
        """For each pixel the share of all pixels below it, plus half of the share level with it."""
        n_pixels = self.values.size
        n_up_to_value = self._sorted.tie_ends
        if n_up_to_value is None:
            n_up_to_value = np.arange(1, n_pixels + 1)
        return self._pixel_ranks_among_negatives(n_up_to_value / n_pixels)

    def _pixel_ranks_among_negatives(self, cumulative_negative_shares: np.ndarray) -> np.ndarray:
        """Return the rank of each pixel, (n_pixels,): the share of negatives below plus half of those level.

        `cumulative_negative_shares` are those of negatives up to and with each distinct value, ascending.
        """
        order, tie_ends = self._sorted
        # half of (the share up to the value before + the share up to this value)
        ranks_of_values = cumulative_negative_shares.copy()
        ranks_of_values[1:] += cumulative_negative_shares[:-1]
        ranks_of_values /= 2
        if tie_ends is not None:
            n_ties = np.diff(tie_ends, prepend=0)
            ranks_of_values = np.repeat(ranks_of_values, n_ties)
        ranks = np.empty(self.values.size)
        ranks[order] = ranks_of_values
        return ranks

    def _mean_rank_by_density(self, densities: Any, negative_density: np.ndarray | None) -> np.ndarray:
        """Return the mean rank of the pixels of each density, (k,), which is the area under the ROC curve.

        Ranks are among all pixels, or among `negative_density`, a density (M, N), by its weight.
        """
        positives = self._checked_densities(densities)
        if self.is_constant:
            return np.full(len(positives), np.nan)
        if negative_density is None:
            ranks = self._rank_share_of_each_pixel
        else:
            order, tie_ends = self._sorted
            shares = negative_density.ravel().take(order)
            np.cumsum(shares, out=shares)
            if tie_ends is not None:
                shares = shares[tie_ends - 1]
            shares /= shares[-1]
            ranks = self._pixel_ranks_among_negatives(shares)
        # rounding may carry a perfect score past 1
        return np.asarray(np.minimum(positives.flat @ ranks / positives.sums, 1.0))


def _order_and_sorted_value_bits(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices that sort float32 values, and whole numbers in that order that tie as the values do.

    Value and index are joined to one whole number of 64 bits; sorting these takes a third of the time.
    """
    # the bits of a positive float32, read as a whole number, are in the order of the values;
    # adding 0 turns -0 into 0
    value_codes = (flat + np.float32(0)).view(np.int32)
    # those of negative values are in reverse order: all bits but the sign are inverted
    np.bitwise_xor(value_codes, 0x7FFFFFFF, out=value_codes, where=value_codes < 0)
    # the value in the upper 32 bits, the pixel in the lower
    keys = value_codes.astype(np.int64)
    keys <<= 32
    keys |= np.arange(flat.size)
    keys.sort()
    order = keys & 0xFFFFFFFF
    keys >>= 32
    return order, keys


def sampled_auc(saliency: Any, positive_pixels: Any, negative_pixels: Any) -> float:
    """Return the area under the ROC curve between pixels that were drawn: the study's estimate.

    Ties count half; NaN for a constant map, and where nothing was drawn. Values are compared as they are: the
    study puts them into an array of single precision, which changes nothing for its maps, but in which others
    could tie.

    Parameters
    ----------
    saliency : array_like of number, shape (M, N)
        Finite.
    positive_pixels, negative_pixels : array_like of int, shape (n,) and (m,)
        Flat indices of the pixels drawn, row by row; a pixel may be drawn more than once.

    References
    ----------
    As for `fixation.ncc`.
    """
    pixels = checked_pixels(saliency)
    if pixels.is_constant:
        return float("nan")
    positive_values = pixels.flat[np.asarray(positive_pixels, np.intp)]
    negative_values = pixels.flat[np.asarray(negative_pixels, np.intp)]
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
