"""One truth out of several: the pixels that enough readers mark."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from numbers import Rational

import numpy as np

from salstats.checks import ShapeError, ValueRangeError
from salstats.images.masks import Rle, check_mask, decode


def consensus(masks: Sequence[np.ndarray | Rle], *, share: float | Fraction = 0.5) -> np.ndarray:
    """Pixels that at least a share of the masks marks.

    Parameters
    ----------
    masks : sequence of ndarray of bool or Rle, shape (M, N) each
        One for each reader, empty ones too: who marked nothing on a case he read counts as a reader.
    share : float or Fraction, default 0.5
        Above 0 and at most 1. The default is a majority, or half of an even number of readers; 1 is the
        pixels all agree on, and a very small share those that anyone marked.

    Returns
    -------
    ndarray of bool, shape (M, N)

    Raises
    ------
    ShapeError
        The masks differ in shape, or do not have two dimensions.
    ValueRangeError
        There are none, an array holds something else than 0 and 1, or the share is out of range.

    Notes
    -----
    A pixel is marked where `number of masks that mark it >= ceil(share * number of masks)`. A float is taken
    for the fraction nearest to it with a denominator of at most a million: 1/3 of three readers is one of
    them, and 0.7 of ten is seven.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.consensus import consensus
    >>> readers = [np.array([[1, 1, 1, 0]]), np.array([[0, 1, 1, 0]]), np.array([[0, 0, 1, 0]])]
    >>> consensus(readers).astype(int)
    array([[0, 1, 1, 0]])
    >>> consensus(readers, share=1).astype(int)
    array([[0, 0, 1, 0]])
    """
    if isinstance(masks, Rle):
        raise ValueRangeError("masks must be a sequence of masks, one for each reader, not one mask")
    least = ceil(_fraction(share) * len(masks))
    if not len(masks):
        raise ValueRangeError("a consensus needs at least one mask")
    votes = _pixels(masks[0], 0).astype(np.uint32)
    for number, mask in enumerate(masks[1:], 1):
        pixels = _pixels(mask, number)
        if pixels.shape != votes.shape:
            raise ShapeError(
                f"masks[0] {votes.shape} and masks[{number}] {pixels.shape} must have the same shape"
            )
        votes += pixels
    return votes >= least


def _pixels(mask: np.ndarray | Rle, number: int) -> np.ndarray:
    """A mask as an array of bool."""
    return decode(mask) if isinstance(mask, Rle) else check_mask(mask, f"masks[{number}]")


def _fraction(share: object) -> Fraction:
    """Share as the fraction that is meant."""
    if isinstance(share, Rational) and not isinstance(share, bool):
        exact = Fraction(share)
    elif isinstance(share, float | np.floating) and np.isfinite(share):
        # 0.7 * 10 and 7 * 0.1 are not 7 in binary
        exact = Fraction(float(share)).limit_denominator(1_000_000)
        exact = exact or Fraction(float(share))
    else:
        exact = Fraction(0)
    if not 0 < exact <= 1:
        raise ValueRangeError(f"share must lie above 0 and at most at 1, not {share!r}; 0.5 is a majority")
    return exact
