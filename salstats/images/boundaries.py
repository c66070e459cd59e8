"""The boundary of a mask, and how far pixels lie from the nearest of others."""

import cv2
import numpy as np
from scipy import ndimage
from scipy.spatial import KDTree

_NEIGHBOURS = {
    4: cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3)),
    8: cv2.getStructuringElement(cv2.MORPH_RECT, (3, 3)),
}
#: Pixels for each point compared, from which on a search among the points is quicker than a transform.
_PIXELS_PER_POINT = 100
#: OpenCV's distances are of single precision. Their squares are whole numbers, and rounding finds the right
#: one below this distance (wrong ones begin at 885 where Intel's library takes the root, else at 2048).
_ROUNDED_BELOW = 512
#: Diagonal of an array, squared, up to which sums of squares are whole numbers of single precision.
_SQUARES_UP_TO = 2**24


def boundary(mask: np.ndarray, *, neighbours: int = 4) -> np.ndarray:
    """Pixels of a mask that have a background pixel beside them; outside the image is background.

    `neighbours` says what beside means: 4 (above, below, left and right) or 8 (the diagonals too). It is
    `mask & ~binary_erosion(mask)`, with a cross as medpy's `connectivity=1` and MONAI, or a square as
    `connectivity=2`.
    """
    pixels = np.ascontiguousarray(mask).view(np.uint8)
    inside = cv2.erode(pixels, _NEIGHBOURS[neighbours], borderType=cv2.BORDER_CONSTANT, borderValue=0)
    return np.greater(pixels, inside)


def nearest_distances(
    asked: np.ndarray, held: np.ndarray, shape: tuple[int, int], steps: tuple[float, float]
) -> np.ndarray:
    """How far each of some pixels is from the nearest of others, from centre to centre.

    Pixels are flat positions in an array of a shape, `steps` the distance from one row to the next and from
    one column to the next. NaN where none are held.

    By a Euclidean distance transform, looked up at the pixels asked; or, where the points are few for the
    array (under one pixel in a hundred, as the outlines of large areas are), by a search in a k-d tree.

    Squared distances in pixels are whole numbers, which OpenCV's single precision gives exactly below 512
    pixels; farther points are searched for. Where the diagonal is over 4096 pixels, or rows and columns are
    spaced differently, the transforms are SciPy's, in double precision.
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
