"""The steps from a map to a mask on plain arrays: resized, stretched, smoothed, thresholded."""

from collections.abc import Sequence

import cv2
import numpy as np


def resize(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Resize a map to (height, width) in float32: bilinear, half-pixel centres, no antialiasing."""
    height, width = shape
    # a value beyond single precision becomes infinite, which scoring reports
    with np.errstate(over="ignore"):
        source = np.ascontiguousarray(saliency, np.float32)
    resized = cv2.resize(source, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(resized).reshape(height, width)


def resize_in_float64(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Resize a finite map as `resize` does, in float64 and its own range, however far from 0.

    The map is stretched to 0 to 1 before and back afterwards, as single precision could not tell apart values
    that are close to each other and far from 0.
    """
    values = np.asarray(saliency, np.float64)
    low = values.min()
    high = values.max()
    if low == high:
        return np.full(shape, low)
    stretched = (values - low) / (high - low)
    return np.asarray(resize(stretched, shape) * (high - low) + low)


def may_cover_whole_image(grid_shape: tuple[int, ...], image_shape: Sequence[int]) -> bool:
    """Return True if a map of this grid can be of a whole image: its cells may then be square.

    Sides are whole numbers of cells, so that each may be almost one cell more or less.

    Examples
    --------
    >>> from salstats.images.map_steps import may_cover_whole_image
    >>> may_cover_whole_image((7, 7), (224, 200)), may_cover_whole_image((224, 224), (224, 200))
    (True, False)
    >>> may_cover_whole_image((4, 6), (300, 200))
    False
    """
    smallest_cells = [side / (cells + 1) for side, cells in zip(image_shape, grid_shape, strict=True)]
    largest_cells = [side / max(cells - 1, 0.5) for side, cells in zip(image_shape, grid_shape, strict=True)]
    return max(smallest_cells) <= min(largest_cells)


def rescale(values: np.ndarray) -> np.ndarray:
    """Stretch a finite map from its smallest and largest value to 0 and 1, in float32; 0 if constant."""
    shifted = values - values.min()
    highest = shifted.max()
    if highest > 0:
        shifted = shifted / highest
    return np.asarray(shifted, np.float32)


def box_filter(values: np.ndarray, size: int) -> np.ndarray:
    """Return means of `size` x `size` pixels, of float32 or bytes; the border is mirrored about its pixels.

    Where the size is even, the box reaches one pixel further up and left.
    """
    smoothed = cv2.boxFilter(values, -1, (size, size), borderType=cv2.BORDER_REFLECT_101)
    return np.asarray(smoothed).reshape(values.shape)


def largest_float32_not_above(threshold: float) -> np.float32:
    """Return the largest float32 that is not above a number: the same float32 values exceed both."""
    nearest = np.float32(threshold)
    if float(nearest) <= threshold:
        return nearest
    return np.float32(np.nextafter(nearest, np.float32(-np.inf)))


def grey_levels_of_fractions(fractions: np.ndarray) -> np.ndarray:
    """Return fractions, from 0 to 1, as grey levels: `uint8(255 * x)`, truncated."""
    grey = np.empty(fractions.shape, np.uint8)
    np.multiply(fractions, np.float32(255), out=grey, casting="unsafe")
    return grey
