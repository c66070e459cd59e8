"""Polygons drawn as the CheXlocalize release draws them, on a canvas no larger than they need."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from salstats.errors import ValueRangeError
from salstats.images.masks import Rle, bounding_box, empty, encode_box
from salstats.images.run_lengths import check_shape, shortened

#: Pillow computes with C ints and 32-bit floats, which are exact for whole numbers up to here.
FARTHEST = 2**24


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
    vertices = vertices_of(polygons, source)
    if not vertices:
        return empty((height, width))
    low = np.min([points.min(axis=0) for points in vertices], axis=0)
    high = np.max([points.max(axis=0) for points in vertices], axis=0)
    if (high < 0).any() or low[0] >= width or low[1] >= height:
        return empty((height, width))
    # Only differences of y enter, so rows above can be left out. Positions x are rounded to 32-bit floats,
    # so column 0 must stay where it is. Joining corners may step a pixel aside: hence a margin to the right.
    top = max(int(low[1]), 0)
    bottom = min(int(high[1]) + 1, height)
    canvas = Image.new("L", (min(int(high[0]) + 3, width), bottom - top))
    pen = ImageDraw.Draw(canvas)
    for points in vertices:
        pen.polygon((points - (0, top)).ravel().tolist(), fill=1, outline=1)
    mask = np.array(canvas).view(bool)
    box = bounding_box(mask)
    if box is None:
        return empty((height, width))
    return encode_box(mask[box], (top + box[0].start, box[1].start), (height, width))


def vertices_of(polygons: Sequence[Any], source: str) -> list[np.ndarray]:
    """Return each polygon's vertices (x, y), cut to whole pixels towards zero as Pillow does."""
    if not isinstance(polygons, Sequence | np.ndarray):
        raise ValueRangeError(f"{source} must be a list of polygons, not {shortened(polygons)}")
    vertices = []
    for number, polygon in enumerate(polygons, start=1):
        try:
            points = np.asarray(polygon)
        except ValueError:
            points = np.empty(0, object)
        name = f"{source}: polygon {number} of {len(polygons)}"
        if points.dtype.kind not in "iuf" or points.ndim != 2 or points.shape[1] != 2:
            raise ValueRangeError(f"{name} must be a list of points (x, y), not {shortened(polygon)}")
        if len(points) < 2:
            raise ValueRangeError(
                f"{name} has fewer than two vertices ({points.tolist()}); two are a line, three an area"
            )
        is_possible = ((points >= -FARTHEST) & (points <= FARTHEST)).all(axis=1)
        if not is_possible.all():
            vertex = points[~is_possible][0].tolist()
            raise ValueRangeError(f"{name} has a vertex at {vertex}, which is not a place on an image")
        vertices.append(np.trunc(points).astype(np.int64))
    return vertices
