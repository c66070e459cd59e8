"""Distances from pixels to the nearest of others."""

import cv2
import numpy as np
from scipy import ndimage
from scipy.spatial import KDTree

#: Pixels for each point compared, from which on a search among the points is quicker than a transform.
_PIXELS_PER_POINT = 100
#: OpenCV's distances are of single precision. Their squares are whole numbers, and rounding finds the right
#: one below this distance (wrong ones begin at 885 where Intel's library takes the root, else at 2048).
_ROUNDED_BELOW = 512
#: Diagonal of an array, squared, up to which sums of squares are whole numbers of single precision.
_SQUARES_UP_TO = 2**24


def nearest(
    asked: np.ndarray, held: np.ndarray, shape: tuple[int, int], steps: tuple[float, float]
) -> np.ndarray:
    """How far each of some pixels is from the nearest of others.

    Parameters
    ----------
    asked, held : ndarray of int, shape (n,) and (m,)
        Flat positions, row by row.
    shape : tuple of int
        (height, width) of the array that they are positions in.
    steps : tuple of float
        Distance from one row to the next, and from one column to the next.

    Returns
    -------
    ndarray of float64, shape (n,)
        From centre to centre; NaN where `held` is empty.

    Notes
    -----
    By a Euclidean distance transform, looked up at the pixels asked; or, where the points are few for the
    array (under one pixel in a hundred, as the outlines of large areas are), by a search for the nearest in
    a k-d tree, which is quicker.

    Squared distances in pixels are whole numbers, which OpenCV's single precision gives exactly below 512
    pixels; farther points are searched for. Where the diagonal is over 4096 pixels, or rows and columns are
    spaced differently, the transforms are SciPy's, in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.nearest import nearest
    >>> nearest(np.array([0, 5]), np.array([2]), (2, 3), (1.0, 1.0))
    array([2., 1.])
    """
    if not held.size:
        return np.full(asked.shape, np.nan)
    height, width = shape
    if _PIXELS_PER_POINT * (asked.size + held.size) < height * width:
        return _searched(asked, held, width, steps)
    others = np.ones(shape, np.uint8)
    others.reshape(-1)[held] = 0
    if steps[0] != steps[1] or height**2 + width**2 > _SQUARES_UP_TO:
        return np.asarray(ndimage.distance_transform_edt(others, sampling=steps).ravel()[asked])
    transform = cv2.distanceTransform(others, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    found = transform.reshape(-1)[asked].astype(np.float64)
    squares = np.rint(found * found)
    distances = np.sqrt(squares) * steps[0]
    far = np.flatnonzero(squares >= _ROUNDED_BELOW**2)
    if far.size:
        distances[far] = _searched(asked[far], held, width, steps)
    return distances


def _searched(asked: np.ndarray, held: np.ndarray, width: int, steps: tuple[float, float]) -> np.ndarray:
    """The same by a search in a tree."""
    # whole numbers of pixels where steps are equal, so that squares are exact
    scale = np.array(steps) / steps[0]
    places = (np.column_stack(np.divmod(at, width)) * scale for at in (held, asked))
    # made quickly rather than well: it is asked once
    tree = KDTree(next(places), leafsize=32, balanced_tree=False, compact_nodes=False)
    return np.asarray(tree.query(next(places))[0] * steps[0])
