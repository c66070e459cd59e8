"""Where a mask lies and which of its pixels form its boundary."""

import cv2
import numpy as np

_NEIGHBOURS = {
    4: cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3)),
    8: cv2.getStructuringElement(cv2.MORPH_RECT, (3, 3)),
}


def boundary(mask: np.ndarray, *, neighbours: int = 4) -> np.ndarray:
    """Pixels of a mask that have a background pixel beside them.

    Parameters
    ----------
    mask : ndarray of bool, shape (M, N)
    neighbours : {4, 8}, default 4
        What beside means: above, below, left and right; or the diagonals too. Outside the image is
        background.

    Returns
    -------
    ndarray of bool, shape (M, N)

    Notes
    -----
    `mask & ~binary_erosion(mask)`, with a cross as medpy's `connectivity=1` and MONAI, or a square as
    `connectivity=2`.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.boundaries import boundary
    >>> boundary(np.ones((3, 4), dtype=bool)).astype(int)
    array([[1, 1, 1, 1],
           [1, 0, 0, 1],
           [1, 1, 1, 1]])
    """
    pixels = np.ascontiguousarray(mask).view(np.uint8)
    inside = cv2.erode(pixels, _NEIGHBOURS[neighbours], borderType=cv2.BORDER_CONSTANT, borderValue=0)
    return np.greater(pixels, inside)


def bounding_box(mask: np.ndarray) -> tuple[slice, slice] | None:
    """Rows and columns that hold a mask's pixels; None where it is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.boundaries import bounding_box
    >>> bounding_box(np.array([[0, 0, 0], [0, 1, 1]], dtype=bool))
    (slice(1, 2, None), slice(1, 3, None))
    """
    rows = np.flatnonzero(mask.any(axis=1))
    if not len(rows):
        return None
    top, bottom = int(rows[0]), int(rows[-1]) + 1
    cols = np.flatnonzero(mask[top:bottom].any(axis=0))
    return slice(top, bottom), slice(int(cols[0]), int(cols[-1]) + 1)
