"""The boundary of a mask, and distances of pixels from the nearest of other pixels."""

import cv2
import numpy as np
from scipy import ndimage
from scipy.spatial import KDTree

_NEIGHBOURS = {
    4: cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3)),
    8: cv2.getStructuringElement(cv2.MORPH_RECT, (3, 3)),
}
#: A search among the points is quicker than a transform if the array has more pixels for each point.
_PIXELS_PER_POINT = 100
#: OpenCV's distances are of single precision. Their squares are whole numbers, and rounding finds the right
#: one below this distance (wrong ones begin at 885 where Intel's library takes the root, else at 2048).
_EXACT_DISTANCE = 512
#: Sums of squares up to this are exact in single precision.
_EXACT_SQUARE = 2**24


def boundary(mask: np.ndarray, *, neighbours: int = 4) -> np.ndarray:
    """Return the pixels of a mask with a background neighbour; outside the image is background.

    `neighbours` is 4 (above, below, left and right) or 8 (the diagonals too). The boundary is
    `mask & ~binary_erosion(mask)`, with a cross as medpy's `connectivity=1` and MONAI, or a square as
    `connectivity=2`.
    """
    pixels = np.ascontiguousarray(mask).view(np.uint8)
    inside = cv2.erode(pixels, _NEIGHBOURS[neighbours], borderType=cv2.BORDER_CONSTANT, borderValue=0)
    return np.asarray(np.greater(pixels, inside))


def nearest_distances(
    pixel_indices: np.ndarray,
    target_indices: np.ndarray,
    shape: tuple[int, int],
    pixel_size: tuple[float, float],
) -> np.ndarray:
    """Return the distance of each pixel from the nearest of the targets, from centre to centre.

    Pixels and targets are flat positions in an array of a shape, `pixel_size` the distance from one row to
    the next and from one column to the next. NaN if there are no targets.

    By a Euclidean distance transform, looked up at the pixels; or, where there are few pixels and targets for
    the array (under one in a hundred, as the outlines of large areas are), by a search in a k-d tree.

    Squared distances in pixels are whole numbers, which OpenCV's single precision gives exactly below 512
    pixels; farther pixels are searched for. Where the diagonal is over 4096 pixels, or rows and columns are
    spaced differently, the transforms are SciPy's, in double precision.
    """
    if not target_indices.size:
        return np.full(pixel_indices.shape, np.nan)
    height, width = shape
    if _PIXELS_PER_POINT * (pixel_indices.size + target_indices.size) < height * width:
        return _tree_distances(pixel_indices, target_indices, width, pixel_size)
    # the transforms measure each pixel's distance from the nearest pixel of value 0
    is_no_target = np.ones(shape, np.uint8)
    is_no_target.reshape(-1)[target_indices] = 0
    if pixel_size[0] != pixel_size[1] or height**2 + width**2 > _EXACT_SQUARE:
        transform = ndimage.distance_transform_edt(is_no_target, sampling=pixel_size)
        return np.asarray(transform.ravel()[pixel_indices])
    transform = cv2.distanceTransform(is_no_target, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    single_distances = transform.reshape(-1)[pixel_indices].astype(np.float64)
    squares = np.rint(single_distances * single_distances)
    distances = np.sqrt(squares) * pixel_size[0]
    inexact = np.flatnonzero(squares >= _EXACT_DISTANCE**2)
    if inexact.size:
        distances[inexact] = _tree_distances(pixel_indices[inexact], target_indices, width, pixel_size)
    return np.asarray(distances)


def _tree_distances(
    pixel_indices: np.ndarray, target_indices: np.ndarray, width: int, pixel_size: tuple[float, float]
) -> np.ndarray:
    """Return the distance of each pixel from the nearest of the targets, by a search in a k-d tree."""
    # in whole numbers of pixels where both sizes are equal, so that squares are exact
    scale = np.array(pixel_size) / pixel_size[0]
    target_points = np.column_stack(np.divmod(target_indices, width)) * scale
    pixel_points = np.column_stack(np.divmod(pixel_indices, width)) * scale
    # the tree is searched once: a tree that is quick to make is better than a balanced one
    tree = KDTree(target_points, leafsize=32, balanced_tree=False, compact_nodes=False)
    distances, _ = tree.query(pixel_points)
    return np.asarray(distances * pixel_size[0])
