"""The steps from a map to a mask on plain arrays: resized, stretched, smoothed, thresholded."""

from collections.abc import Sequence

import cv2
import numpy as np


def resize(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """A map at an image's size: bilinear, half-pixel centres, no antialiasing.

    Parameters
    ----------
    saliency : ndarray of float, shape (m, n)
    shape : tuple of int
        (height, width) of the image.

    Returns
    -------
    ndarray of float32, shape (height, width)

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.map_steps import resize
    >>> resize(np.array([[0.0, 4.0]]), (1, 4))
    array([[0., 1., 3., 4.]], dtype=float32)
    """
    height, width = shape
    # a value beyond single precision becomes infinite, which is found where scores are made
    with np.errstate(over="ignore"):
        source = np.ascontiguousarray(saliency, np.float32)
    resized = cv2.resize(source, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(resized).reshape(height, width)


def resize_in_range(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """A map at another size as `resize` does, in its own range, however large or far from 0 that is.

    Parameters
    ----------
    saliency : ndarray of number, shape (m, n)
        Finite.
    shape : tuple of int
        (height, width).

    Returns
    -------
    ndarray of float64, shape (height, width)
        It is resized between 0 and 1, where single precision loses no order worth the name.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.map_steps import resize_in_range
    >>> resize_in_range(1e8 + np.array([[0.0, 4.0]]), (1, 4)) - 1e8
    array([[0., 1., 3., 4.]])
    """
    values = np.asarray(saliency, np.float64)
    low, high = values.min(), values.max()
    if low == high:
        return np.full(shape, low)
    # halves, since the range of finite numbers may be none
    span = high / 2 - low / 2
    return np.asarray(resize((values / 2 - low / 2) / span, shape) * span * 2 + low)


def may_cover(grid: tuple[int, ...], shape: Sequence[int]) -> bool:
    """Whether a map of this grid can be of a whole image: its cells may then be square.

    Sides are whole numbers of cells, so that each may be almost one cell more or less.

    Examples
    --------
    >>> from salstats.images.map_steps import may_cover
    >>> may_cover((7, 7), (224, 200)), may_cover((224, 224), (224, 200)), may_cover((4, 6), (300, 200))
    (True, False, False)
    """
    fewest = [side / (cells + 1) for side, cells in zip(shape, grid, strict=True)]
    most = [side / max(cells - 1, 0.5) for side, cells in zip(shape, grid, strict=True)]
    return max(fewest) <= min(most)


def rescale(values: np.ndarray) -> np.ndarray:
    """A map stretched from its smallest and largest value to 0 and 1; a constant map becomes 0.

    Parameters
    ----------
    values : ndarray of float, shape (M, N)
        Finite.

    Returns
    -------
    ndarray of float32, shape (M, N)

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.map_steps import rescale
    >>> rescale(np.array([[-1.0, 0.0, 3.0]]))
    array([[0.  , 0.25, 1.  ]], dtype=float32)
    """
    shifted = values - values.min()
    highest = shifted.max()
    return np.asarray(shifted / highest if highest > 0 else shifted, np.float32)


def box_filter(values: np.ndarray, size: int) -> np.ndarray:
    """Mean of `size` x `size` pixels around each, the border mirrored about its pixels.

    Parameters
    ----------
    values : ndarray of float32, shape (M, N)
    size : int
        Where it is even, the box reaches one pixel further up and left.

    Returns
    -------
    ndarray of float32, shape (M, N)

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.map_steps import box_filter
    >>> box_filter(np.array([[0, 0, 0, 3, 0, 0]], np.float32), 3)
    array([[0., 0., 1., 1., 1., 0.]], dtype=float32)
    """
    smoothed = cv2.boxFilter(values, -1, (size, size), borderType=cv2.BORDER_REFLECT_101)
    return np.asarray(smoothed).reshape(values.shape)


def threshold_mask(values: np.ndarray, threshold: float) -> np.ndarray:
    """What lies strictly above a threshold, compared as in float64; nothing filled or dropped.

    Parameters
    ----------
    values : ndarray of float32, shape (M, N)
    threshold : float

    Returns
    -------
    ndarray of bool, shape (M, N)

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.map_steps import threshold_mask
    >>> threshold_mask(np.array([[0.3, 0.4, 0.5]], np.float32), 0.4)  # 0.4 in float32 is more than 0.4
    array([[False,  True,  True]])
    """
    return np.asarray(values > float32_below(threshold))


def float32_below(threshold: float) -> np.float32:
    """Largest float32 that is not above a number: the same float32 values exceed both."""
    nearest = np.float32(threshold)
    return nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf))
