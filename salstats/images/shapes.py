"""Geometric features of a finding: number of parts, size, elongation, irrectangularity."""

from typing import Any

import cv2
import numpy as np
import skimage

from salstats.checks import check_count
from salstats.images.masks import bounding_box, check_mask

_NAN = float("nan")


def shape_features(mask: np.ndarray, *, n_instances: int | None = None) -> dict[str, Any]:
    """Compute geometric features of a finding.

    Elongation and irrectangularity are those of the dominant instance, the contour with the most boundary
    points as in the study's scripts, the first on ties; areas and the perimeter are those of the whole mask.
    `n_instances` is the number of outlines that the annotator drew. Without it, 8-connected components are
    counted, which are fewer where outlines touch or overlap. An empty mask has 0 instances in any case.

    The keys are described in `scoring.features`. Elongation and irrectangularity are NaN where the rectangle
    has no area (a single pixel, a straight line); these two and the perimeter are NaN where the mask is
    empty.

    Contours are OpenCV's with every boundary pixel (`RETR_LIST`, `CHAIN_APPROX_NONE`). They run through
    the centres of the boundary pixels: 10 x 20 pixels are a rectangle of 9 x 19, of elongation 19/9.
    Rectangles are computed in single precision, so elongation and irrectangularity have about six digits
    (a full rectangle at a slant may come out at -1e-7, which is not rounded to 0). Where two rectangles
    of different sides have the same area either may come.

    The contour with the most points need not enclose the largest part: a thin, long part, or the edge of
    a hole, may have more.

    The perimeter is the estimator of Benkrid and Crookes, `skimage.measure.perimeter` with 4
    neighbours: pixels with a background neighbour above, below, left or right (outside the image is
    background), linked with steps of 1 and sqrt(2). A single pixel has perimeter 0.

    Saporta A, Gui X, Agrawal A, et al. Benchmarking saliency methods for chest X-ray interpretation.
    Nature Machine Intelligence 2022. https://doi.org/10.1038/s42256-022-00536-x

    rajpurkarlab/cheXlocalize, compute_pathology_features.py at commit 2a79492 (where a rectangle without
    area is a ZeroDivisionError, and `rec_area_ratio` is 1 - irrectangularity).

    Benkrid K, Crookes D. Design and FPGA implementation of a perimeter estimator. The Queen's University
    of Belfast.
    """
    array = check_mask(mask)
    if n_instances is not None:
        check_count(n_instances, "n_instances", low=0)
    box = bounding_box(array)
    if box is None:
        return {
            "n_instances": 0,
            "area_ratio": 0.0,
            "elongation": _NAN,
            "irrectangularity": _NAN,
            "area_px": 0,
            "perimeter_px": _NAN,
        }
    # all features are measured on the part of the image that holds the finding
    finding = np.ascontiguousarray(array[box]).view(np.uint8)
    area = int(np.count_nonzero(finding))
    if n_instances is None:
        # the first label is the background
        n_labels, _ = cv2.connectedComponents(finding, connectivity=8)
        n_instances = int(n_labels) - 1
    elongation, irrectangularity = _elongation_and_irrectangularity(_contour_with_most_points(finding))
    return {
        "n_instances": n_instances,
        "area_ratio": area / array.size,
        "elongation": elongation,
        "irrectangularity": irrectangularity,
        "area_px": area,
        "perimeter_px": float(skimage.measure.perimeter(finding, neighborhood=4)),
    }


def longest_contour_min_rectangle_row_col(mask: np.ndarray) -> np.ndarray:
    """Return the smallest rectangle around the longest contour of a mask, as `shape_features` measures it.

    Corners (row, col), the first again at the end, shape (5, 2); pixel (0, 0) has its centre at (0.5, 0.5).
    It runs through the centres of the boundary pixels. Shape (0, 2) where the mask is empty.
    """
    array = np.ascontiguousarray(check_mask(mask))
    if not array.any():
        return np.empty((0, 2))
    rectangle = cv2.minAreaRect(_contour_with_most_points(array.view(np.uint8)))
    corners = cv2.boxPoints(rectangle)[:, ::-1] + 0.5
    return np.vstack([corners, corners[:1]]).astype(np.float64)


def _contour_with_most_points(mask: np.ndarray) -> np.ndarray:
    """Return the points (x, y) of the contour with the most points, of a mask in uint8."""
    contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    return np.asarray(max(contours, key=len))


def _elongation_and_irrectangularity(points: np.ndarray) -> tuple[float, float]:
    """Return elongation and irrectangularity of a contour (x, y); NaN if its rectangle has no area."""
    _, (width, height), _ = cv2.minAreaRect(points)
    if min(width, height) <= 0:
        return _NAN, _NAN
    elongation = max(width, height) / min(width, height)
    irrectangularity = 1 - cv2.contourArea(points) / (width * height)
    return elongation, irrectangularity
