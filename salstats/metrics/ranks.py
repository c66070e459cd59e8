"""One map against many densities: areas under the ROC curve by ranks, and correlations.

The area under the ROC curve is the probability that a pixel drawn from the positives lies higher on the map
than one drawn from the negatives, ties counted half. It is the mean, over the positives, of the share of
negatives below plus half the share at the same height: a rank. Ranks depend on the map and the negatives
only, so one sort serves every density, and nothing has to be drawn.
"""

from functools import cached_property
from typing import Any

import numpy as np

from salstats.checks import ShapeError, ValueRangeError
from salstats.images.maps import check_saliency
from salstats.metrics.densities import Densities, check_density, is_constant


class RankedMap:
    """A saliency map that is compared with many densities, and sorted once for all of them.

    Parameters
    ----------
    saliency : array_like of number, shape (M, N)
        Finite; larger means more salient.

    Attributes
    ----------
    values : ndarray of float64, shape (M, N)
    shape : tuple of int
        (height, width).

    Raises
    ------
    ShapeError
        The map does not have two dimensions, or no pixel.
    ValueRangeError
        It holds NaN or infinity.

    Notes
    -----
    Densities are arrays (k, M, N), or one of (M, N): finite, not negative, each with a positive sum, which
    need not be 1; or `Densities`, which are checked once for many maps. Sorting takes O(P log P) for P
    pixels, each density then O(P).

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.ranks import RankedMap
    >>> ranked = RankedMap([[0.1, 0.4], [0.4, 0.9]])
    >>> ranked.auc(np.array([[[0, 0], [0, 1]], [[1, 0], [0, 0]], [[1, 1], [1, 1]]]))
    array([0.875, 0.125, 0.5  ])
    """

    def __init__(self, saliency: Any):
        self.values = check_saliency(saliency)
        self.shape: tuple[int, int] = (self.values.shape[0], self.values.shape[1])

    @cached_property
    def is_constant(self) -> bool:
        """Whether the map takes one value only, but for rounding (1e-14 of its largest magnitude)."""
        return is_constant(self.values)

    def auc(self, densities: Any) -> np.ndarray:
        """Areas under the ROC curve of the map, all pixels being negatives.

        Parameters
        ----------
        densities : array_like of number, shape (k, M, N) or (M, N)
            The positives.

        Returns
        -------
        ndarray of float64, shape (k,)
            From 0 to 1, chance is 0.5; NaN for a constant map.

        Raises
        ------
        ShapeError
            The densities do not have the map's shape.
        ValueRangeError
            A density is negative or not finite somewhere, or nothing but 0.
        """
        return self._mean_rank(self._checked(densities), None)

    def sauc(self, densities: Any, negatives: Any) -> np.ndarray:
        """Areas under the ROC curve of the map, the negatives being drawn from a density.

        Parameters
        ----------
        densities : array_like of number, shape (k, M, N) or (M, N)
            The positives.
        negatives : array_like of number, shape (M, N)
            Where one looks whatever the image: the centre bias.

        Returns
        -------
        ndarray of float64, shape (k,)
            From 0 to 1, chance is 0.5; NaN for a constant map.

        Raises
        ------
        ShapeError, ValueRangeError
            As in `auc`; for the negatives too.
        """
        positives = self._checked(densities)
        return self._mean_rank(positives, check_density(negatives, self.shape, "center_bias"))

    def auc_at(self, pixels: Any) -> float:
        """Area under the ROC curve of the map, some pixels being positives, all of them negatives.

        Parameters
        ----------
        pixels : array_like of int, shape (n,)
            Flat indices, row by row, such as of fixations; one that stands twice counts twice.

        Returns
        -------
        float
            From 0 to 1, chance is 0.5, as `auc_points` has it; NaN for a constant map and for no pixel.

        Raises
        ------
        ShapeError, ValueRangeError
            As in `sampled_auc`.
        """
        at = _check_indices(pixels, self.values.size, "pixels")
        return float("nan") if self.is_constant or not at.size else float(self._uniform_ranks[at].mean())

    def ncc(self, densities: Any) -> np.ndarray:
        """Correlations of the map with densities: Pearson's, over the pixels.

        Parameters
        ----------
        densities : array_like of number, shape (k, M, N) or (M, N)

        Returns
        -------
        ndarray of float64, shape (k,)
            From -1 to 1; NaN for a constant map, and for a constant density.

        Raises
        ------
        ShapeError, ValueRangeError
            As in `auc`.
        """
        checked = self._checked(densities)
        return np.full(len(checked), np.nan) if self.is_constant else checked.correlations(self._standard)

    def _checked(self, densities: Any) -> Densities:
        """Return densities that fit the map."""
        if isinstance(densities, Densities) and densities.values.shape[1:] == self.shape:
            return densities
        return Densities(densities.values if isinstance(densities, Densities) else densities, self.shape)

    @cached_property
    def _standard(self) -> np.ndarray:
        """The map about its mean, of length 1."""
        return _standard(self.values)

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The pixels from the lowest to the highest, and where in that order each value of the map ends.

        None for the ends where no two pixels tie.
        """
        flat = self.values.ravel()
        with np.errstate(over="ignore", under="ignore"):
            single = flat.astype(np.float32)
        if flat.size <= 2**32 and np.array_equal(single, flat):
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
    def _uniform_ranks(self) -> np.ndarray:
        """For each pixel the share of all pixels below it, plus half of the share level with it."""
        size, ends = self.values.size, self._sorted[1]
        shares = np.arange(1.0, size + 1) if ends is None else ends.astype(np.float64)
        shares /= size
        return self._ranks(shares)

    def _ranks(self, shares: np.ndarray) -> np.ndarray:
        """Each pixel's rank from the share of negatives up to the end of each value of the map."""
        order, ends = self._sorted
        middle = shares.copy()
        middle[1:] += shares[:-1]
        middle /= 2
        ranks = np.empty(self.values.size)
        ranks[order] = middle if ends is None else np.repeat(middle, np.diff(ends, prepend=0))
        return ranks

    def _mean_rank(self, positives: Densities, negatives: np.ndarray | None) -> np.ndarray:
        """Mean rank of each density; NaN for a constant map."""
        if self.is_constant:
            return np.full(len(positives), np.nan)
        if negatives is None:
            ranks = self._uniform_ranks
        else:
            order, ends = self._sorted
            below = negatives.ravel().take(order)
            np.cumsum(below, out=below)
            if ends is not None:
                below = below[ends - 1]
            below /= below[-1]
            ranks = self._ranks(below)
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

    Parameters
    ----------
    saliency : array_like of number, shape (M, N)
    positives, negatives : array_like of int, shape (n,) and (m,)
        Flat indices of the pixels drawn, row by row; a pixel may be drawn more than once.

    Returns
    -------
    float
        From 0 to 1; NaN for a constant map, and where nothing was drawn.

    Raises
    ------
    ShapeError
        The map does not have two dimensions, or the indices more than one.
    ValueRangeError
        The map holds NaN or infinity, or an index is no pixel of it.

    Notes
    -----
    Ties count half. Values are compared as they are. The study puts them into an array of single precision,
    which changes nothing there since its maps are of single precision; others could tie or overflow in it.

    References
    ----------
    Bigolin Lanfredi R, Arora A, Drew T, Schroeder JD, Tasdizen T. Comparing radiologists' gaze and saliency
    maps generated by interpretability methods for chest x-rays. 2021.
    https://doi.org/10.48550/arXiv.2112.11716 (ricbl/etsaliencymaps at commit bd4b71d).

    Examples
    --------
    >>> from salstats.metrics.ranks import sampled_auc
    >>> sampled_auc([[0.1, 0.4], [0.4, 0.9]], positives=[3, 1], negatives=[0, 2])
    0.875
    """
    values = check_saliency(saliency)
    above = _check_indices(positives, values.size, "positives")
    below = _check_indices(negatives, values.size, "negatives")
    if is_constant(values):
        return float("nan")
    return auc_of_values(*(values.ravel()[drawn] for drawn in (above, below)))


def auc_of_values(positives: np.ndarray, negatives: np.ndarray) -> float:
    """How often a positive value exceeds a negative one, ties counted half; NaN where one is empty.

    Parameters
    ----------
    positives, negatives : ndarray of float, shape (n,) and (m,)

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.ranks import auc_of_values
    >>> auc_of_values(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    if not len(positives) or not len(negatives):
        return float("nan")
    ordered = np.sort(negatives)
    # a pair in order counts two, a tie one: whole numbers until the division
    won = sum(int(np.searchsorted(ordered, positives, side).sum()) for side in ("left", "right"))
    return won / (2 * len(positives) * len(negatives))


def _standard(values: np.ndarray) -> np.ndarray:
    """Values about their mean, of length 1 in one dimension; NaN where they are constant."""
    if is_constant(values):
        return np.full(values.size, np.nan)
    flat, largest = values.ravel(), max(float(values.max()), -float(values.min()))
    # squares of huge or tiny values would leave the range of float64
    if not 1e-100 < largest < 1e100:
        flat = flat / largest
    part = flat - flat.mean()
    part /= np.sqrt(part @ part)
    return np.asarray(part)


def _check_indices(pixels: Any, size: int, name: str) -> np.ndarray:
    """Flat indices of pixels, if they are that."""
    array = np.asarray(pixels)
    if not array.size:
        return np.empty(0, dtype=np.intp)
    if array.ndim != 1:
        raise ShapeError(f"{name} must have shape (n,), a flat index each, not {array.shape}")
    if array.dtype.kind not in "iu":
        raise ValueRangeError(f"{name} must be flat indices of pixels, whole numbers, not {array.dtype}")
    if array.min() < 0 or array.max() >= size:
        raise ValueRangeError(f"{name} must lie in 0 ... {size - 1}, not {array.min()} ... {array.max()}")
    return array
