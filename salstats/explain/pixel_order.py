"""In which order a map inserts or deletes an image's pixels, and after how many the model is asked."""

import numpy as np

from salstats.checks import check_count
from salstats.images.map_steps import resize
from salstats.images.maps import SaliencyOnImage, check_saliency

#: Why a map has no order.
CONSTANT = "constant map"


def pixel_ranks(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray | None:
    """Return each pixel's place in the order of salience; None for a constant map, which has no order.

    Parameters
    ----------
    saliency : ndarray of float, shape (m, n)
        Finite; larger means more salient. Laid over the image as `score` does: bilinear, half-pixel centres.
    shape : tuple of int
        (height, width) of the image.

    Returns
    -------
    ndarray of int32, shape (height, width), or None
        0 for the most salient pixel, which comes first. Equal values follow each other in row-major order.

    Raises
    ------
    ShapeError, ValueRangeError
        The map does not have two dimensions, or is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.explain.pixel_order import pixel_ranks
    >>> pixel_ranks(np.array([[0.1, 0.9], [0.5, 0.5]]), (2, 2))
    array([[3, 0],
           [1, 2]], dtype=int32)
    """
    values = check_saliency(saliency)
    if SaliencyOnImage(values, shape).is_constant:
        return None
    if values.shape != shape:
        # stretched first, so that single precision neither overflows nor loses a small difference
        lowest = values.min()
        values = resize((values - lowest) / (values.max() - lowest), shape)
    order = np.argsort(-values.ravel(), kind="stable")
    ranks = np.empty(order.size, np.int32)
    ranks[order] = np.arange(order.size, dtype=np.int32)
    return ranks.reshape(shape)


def step_sizes(n_pixels: int, steps: int, chunk: int | None) -> np.ndarray:
    """Return after how many pixels the model is asked: from 0 to all of them.

    Parameters
    ----------
    n_pixels : int
        Of the image.
    steps : int
        Number of steps; no more than there are pixels are taken.
    chunk : int, optional
        Pixels of a step instead; the last step takes what is left.

    Returns
    -------
    ndarray of int64, shape (n_steps + 1,)

    Examples
    --------
    >>> from salstats.explain.pixel_order import step_sizes
    >>> step_sizes(10, 4, None), step_sizes(10, 4, 4)
    (array([ 0,  2,  5,  7, 10]), array([ 0,  4,  8, 10]))
    """
    if chunk is not None:
        return np.append(np.arange(0, n_pixels, check_count(chunk, "chunk")), n_pixels)
    n_steps = min(check_count(steps, "steps"), n_pixels)
    return np.arange(n_steps + 1) * n_pixels // n_steps
