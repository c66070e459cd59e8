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
from salstats.metrics.densities import check_densities, check_density, is_constant


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
    need not be 1. Sorting takes O(P log P) for P pixels, each density then O(P).

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
        """Return the areas under the ROC curve of the map, all pixels being negatives.

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
        return self._mean_rank(check_densities(densities, self.shape), None)

    def sauc(self, densities: Any, negatives: Any) -> np.ndarray:
        """Return the areas under the ROC curve of the map, the negatives being drawn from a density.

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
        positives = check_densities(densities, self.shape)
        return self._mean_rank(positives, check_density(negatives, self.shape, "center_bias"))

    def ncc(self, densities: Any) -> np.ndarray:
        """Return the correlations of the map with densities: Pearson's, over the pixels.

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
        checked = check_densities(densities, self.shape)
        if self.is_constant:
            return np.full(len(checked), np.nan)
        # rounding may carry a perfect correlation past 1
        return np.array([np.clip(_standard(d) @ self._standard, -1, 1) for d in checked], dtype=np.float64)

    @cached_property
    def _standard(self) -> np.ndarray:
        """The map about its mean, of length 1."""
        return _standard(self.values)

    @cached_property
    def _order(self) -> np.ndarray:
        """The pixels from the lowest to the highest."""
        return np.argsort(self.values, axis=None)

    @cached_property
    def _ends(self) -> np.ndarray | None:
        """Where in the order each value of the map ends; None where no two pixels tie."""
        ordered = self.values.ravel().take(self._order)
        ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, ordered.size)
        return None if len(ends) == ordered.size else ends

    @cached_property
    def _uniform_ranks(self) -> np.ndarray:
        """For each pixel the share of all pixels below it, plus half of the share level with it."""
        size = self.values.size
        return self._ranks(np.arange(1, size + 1) / size)

    def _ranks(self, shares: np.ndarray) -> np.ndarray:
        """Return each pixel's rank from the share of negatives up to each place in the order."""
        if self._ends is not None:
            shares = shares[self._ends - 1]
        middle = shares.copy()
        middle[1:] += shares[:-1]
        middle /= 2
        ranks = np.empty(self.values.size)
        ranks[self._order] = (
            middle if self._ends is None else np.repeat(middle, np.diff(self._ends, prepend=0))
        )
        return ranks

    def _mean_rank(self, positives: np.ndarray, negatives: np.ndarray | None) -> np.ndarray:
        """Return the mean rank of each density; NaN for a constant map."""
        if self.is_constant:
            return np.full(len(positives), np.nan)
        if negatives is None:
            ranks = self._uniform_ranks
        else:
            below = np.cumsum(negatives.ravel().take(self._order))
            ranks = self._ranks(below / below[-1])
        flat = positives.reshape(len(positives), self.values.size)
        # rounding may carry a perfect score past 1
        return np.minimum(flat @ ranks / flat.sum(axis=1), 1.0)


def sampled_auc(saliency: Any, positives: Any, negatives: Any) -> float:
    """Return the area under the ROC curve between pixels that were drawn: the study's estimate.

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
    The map is rounded to single precision first, as in the study, which makes ties of values that differ
    by less. Ties count half.

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
    return auc_of_values(*(values.ravel()[drawn].astype(np.float32) for drawn in (above, below)))


def auc_of_values(positives: np.ndarray, negatives: np.ndarray) -> float:
    """Return how often a positive value exceeds a negative one, ties counted half; NaN where one is empty.

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
    """Return values about their mean, of length 1 in one dimension; NaN where they are constant."""
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
    """Return flat indices of pixels, if they are that."""
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
