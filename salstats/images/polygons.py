"""Polygons drawn as the CheXlocalize release draws them, on a canvas no larger than they need."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from salstats.errors import ValueRangeError
from salstats.images.masks import Rle, bounding_box, empty, encode_box
from salstats.images.run_lengths import check_shape, shortened_repr

#: Pillow computes with C ints and 32-bit floats, which are exact for whole numbers up to here.
FARTHEST = 2**24
#: Column of y in an array of vertices (x, y).
_Y = 1
#: Columns right of the last vertex on the canvas: where Pillow joins corners it may step a pixel aside.
_MARGIN = 2


def polygons_rle(polygons: Sequence[Any], shape: tuple[int, int], *, source: str = "polygons") -> Rle:
    """Return the mask of a set of polygons, drawn as the CheXlocalize release draws them.

    A pixel is marked where any polygon holds it; within one polygon that crosses itself, where it is
    inside an odd number of times. Parts outside the image are cut off.

    Vertices are (x, y) in pixels, columns first, as the release has them; two are a line, fewer an error that
    begins with `source`: file, case and task.

    Pillow draws (`ImageDraw.polygon`), and its releases differ: from 11.2.1 on they give the masks that
    the data set was published with. Vertices are cut to whole pixels towards zero, and the outline
    belongs to the mask. OpenCV's `fillPoly` and pycocotools' `frPyObjects` draw other masks (68 to 270
    pixels away, on average, on polygons of the size of findings).
    """
    height, width = check_shape(shape)
    vertices = whole_pixel_vertices_xy(polygons, source)
    if not vertices:
        return empty((height, width))
    all_vertices = np.concatenate(vertices)
    min_x, min_y = all_vertices.min(axis=0).tolist()
    max_x, max_y = all_vertices.max(axis=0).tolist()
    if max_x < 0 or max_y < 0 or min_x >= width or min_y >= height:
        return empty((height, width))
    # Pillow computes with differences of y, so that the rows above the polygons can be left out; it rounds
    # each x to a 32-bit float, so that column 0 must stay where it is
    top = max(min_y, 0)
    bottom = min(max_y + 1, height)
    canvas_width = min(max_x + 1 + _MARGIN, width)
    canvas = Image.new("L", (canvas_width, bottom - top))
    pen = ImageDraw.Draw(canvas)
    for points in vertices:
        on_canvas = points.copy()
        on_canvas[:, _Y] -= top
        pen.polygon(on_canvas.ravel().tolist(), fill=1, outline=1)
    mask = np.array(canvas).view(bool)
    box = bounding_box(mask)
    if box is None:
        return empty((height, width))
    rows, cols = box
    return encode_box(mask[box], (top + rows.start, cols.start), (height, width))


def whole_pixel_vertices_xy(polygons: Sequence[Any], source: str) -> list[np.ndarray]:
    """Return each polygon's vertices (x, y), cut to whole pixels towards zero as Pillow does.

    A ValueRangeError about one polygon has its index in `rows`.
    """
    if not isinstance(polygons, Sequence | np.ndarray):
        raise ValueRangeError(
            f"{source} must be a list of polygons, not {shortened_repr(polygons)}", value=polygons
        )
    vertices = []
    for number, polygon in enumerate(polygons, start=1):
        try:
            points = np.asarray(polygon)
        except ValueError:
            points = np.empty(0, object)
        name = f"{source}: polygon {number} of {len(polygons)}"
        if points.dtype.kind not in "iuf" or points.ndim != 2 or points.shape[1] != 2:
            raise ValueRangeError(
                f"{name} must be a list of points (x, y), not {shortened_repr(polygon)}", rows=[number - 1]
            )
        if len(points) < 2:
            raise ValueRangeError(
                f"{name} has fewer than two vertices ({points.tolist()}); two are a line, three an area",
                value=points.tolist(),
                rows=[number - 1],
            )
        is_possible = ((points >= -FARTHEST) & (points <= FARTHEST)).all(axis=1)
        if not is_possible.all():
            vertex = points[~is_possible][0].tolist()
            raise ValueRangeError(
                f"{name} has a vertex at {vertex}, which is not a place on an image",
                value=vertex,
                rows=[number - 1],
            )
        vertices.append(np.trunc(points).astype(np.int64))
    return vertices
