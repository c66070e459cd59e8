"""Irregular shapes drawn at any position and size, for masks whose scores are known."""

from typing import Any

import numpy as np
import skimage
from scipy import ndimage

from salstats.checks import as_generator, check_count
from salstats.errors import ShapeError, ValueRangeError
from salstats.images.masks import bounding_box
from salstats.images.run_lengths import check_shape

#: Largest spread: no corner comes nearer to the centre than a tenth of the radius.
_MAX_SPREAD = 0.9


def irregular_contour_row_col(
    *, n_points: int = 13, radius: float = 26.0, spread: float = 0.3, rng: int | np.random.Generator = 0
) -> np.ndarray:
    """Draw the corners of an irregular shape about a centre at (0, 0).

    They are (row, col) in pixels, at equal angles, the first to the right. Their distances from the centre
    are drawn uniformly between `(1 - spread) * radius` and `(1 + spread) * radius`.
    """
    check_count(n_points, "n_points", low=3)
    has_radius = radius > 0
    if not (has_radius and 0 <= spread <= _MAX_SPREAD):
        raise ValueRangeError(
            f"radius must lie above 0 and spread between 0 and {_MAX_SPREAD}, not {radius!r} and {spread!r}",
            option="spread" if has_radius else "radius",
            value=spread if has_radius else radius,
        )
    angle = 2 * np.pi * np.arange(n_points) / n_points
    distance = radius * (1 + as_generator(rng).uniform(-spread, spread, n_points))
    return np.column_stack([distance * np.sin(angle), distance * np.cos(angle)])


def draw_centred_contour(
    contour: Any,
    shape: tuple[int, int],
    *,
    shift: tuple[float, float] = (0.0, 0.0),
    scale: float = 1.0,
    smooth: int = 2,
) -> np.ndarray:
    """Draw the mask of a contour about the middle of an image.

    `contour` has the rows and columns of the corners, measured from the point that is put at the middle of
    the image (of 256 rows at 127.5). `scale` multiplies them, `shift` moves that point by rows and columns.
    The shape is drawn anew from the corners: no mask is resampled, so a shift of whole pixels gives the same
    shape and a scale a clean edge. A pixel is inside where its centre is, by the even-odd rule, or where an
    edge runs through its centre (`skimage.measure.grid_points_in_poly`).

    The shape is closed and then opened `smooth` times with a cross of 3 x 3 pixels, which rounds
    its corners, and its holes are filled. One that marks no pixel or leaves the image is a ValueRangeError,
    as its size would no longer be that of `scale`.
    """
    corners = np.asarray(contour, dtype=np.float64)
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
        raise ShapeError(
            f"contour must be three or more points (row, col), not shape {corners.shape}",
            option="contour",
            value=corners.shape,
        )
    size = check_shape(shape)
    check_count(smooth, "smooth", low=0)
    if not scale > 0:
        raise ValueRangeError(f"scale must be above 0, not {scale!r}", option="scale", value=scale)
    placed = (np.array(size) - 1) / 2 + np.asarray(shift, dtype=np.float64) + scale * corners
    # room around the shape, so that smoothing meets no border of the image
    margin = 2 * smooth + 1
    first_row, first_col = np.floor(placed.min(axis=0)).astype(int) - margin
    last_row, last_col = np.ceil(placed.max(axis=0)).astype(int) + margin
    canvas_shape = (last_row - first_row + 1, last_col - first_col + 1)
    shape_mask = skimage.measure.grid_points_in_poly(canvas_shape, placed - (first_row, first_col))
    if smooth:
        shape_mask = ndimage.binary_closing(shape_mask, iterations=smooth)
        shape_mask = ndimage.binary_opening(shape_mask, iterations=smooth)
    shape_mask = ndimage.binary_fill_holes(shape_mask)
    box = bounding_box(shape_mask)
    if box is None:
        raise ValueRangeError(
            f"the contour marks no pixel at scale {scale:g}; a larger one would do", option="contour"
        )
    canvas_rows, canvas_cols = box
    rows = slice(canvas_rows.start + first_row, canvas_rows.stop + first_row)
    cols = slice(canvas_cols.start + first_col, canvas_cols.stop + first_col)
    if min(rows.start, cols.start) < 0 or rows.stop > size[0] or cols.stop > size[1]:
        raise ValueRangeError(
            f"the contour leaves the image of {size[0]} x {size[1]} at scale {scale:g} and shift "
            f"({shift[0]:g}, {shift[1]:g}); a smaller contour or a larger image would do",
            option="shift",
            value=shift,
        )
    mask = np.zeros(size, dtype=bool)
    mask[rows, cols] = shape_mask[box]
    return mask
