"""Maxima of a map laid over an image, without making the map at the image's size."""

import numpy as np

from salstats.images.axes import Axis
from salstats.images.pixel_values import PixelValues


def maxima(saliency: np.ndarray, shape: tuple[int, int], *, every: bool = True) -> tuple[float, np.ndarray]:
    """Return the largest value of a map on an image's pixels, and its points.

    The map is interpolated as `images.map_steps.resize` does, but in float64. Values that are equal in exact
    arithmetic are equal here: values that differ by what rounding can do (1e-14 of the map's largest
    magnitude) count as ties. A pixel never exceeds the four samples around it, so only pixels whose samples
    reach the largest value so far are computed.

    The points are (row, col) in row-major order, shape (k, 2): every maximum, or only the first.
    """
    rows = Axis.of(saliency.shape[0], shape[0])
    cols = Axis.of(saliency.shape[1], shape[1])
    slack = PixelValues(saliency).rounding
    row_maxima = saliency.max(axis=1)
    highest = row_maxima.max()
    # upper bounds of the pixels between a row of samples and the next
    bounds = np.maximum(row_maxima, np.append(row_maxima[1:], row_maxima[-1]))
    bounds[bounds >= highest - slack] = highest
    starts = rows.starts
    bounds[starts[:-1] == starts[1:]] = -np.inf
    largest = -np.inf
    candidate_values: list[np.ndarray] = []
    candidate_points: list[np.ndarray] = []
    # from the highest bound to the lowest; equal bounds from top to bottom
    for row in np.argsort(-bounds, kind="stable"):
        if bounds[row] < largest - slack:
            break
        low_row = saliency[row]
        high_row = saliency[min(row + 1, len(saliency) - 1)]
        sample_bounds = np.maximum(low_row, high_row)
        pixel_bounds = np.maximum(sample_bounds[cols.low], sample_bounds[cols.high])
        part = rows.part[starts[row] : starts[row + 1], None]
        if not candidate_values:
            # the pixels with the highest bound give a first value to compare with
            first_cols = np.flatnonzero(pixel_bounds == pixel_bounds.max())
            largest = _values(low_row, high_row, part, cols, first_cols).max()
        candidate_cols = np.flatnonzero(pixel_bounds >= largest - slack)
        if not len(candidate_cols):
            continue
        values = _values(low_row, high_row, part, cols, candidate_cols)
        largest = max(largest, values.max())
        row_index, col_index = np.nonzero(values >= largest - slack)
        candidate_values.append(values[row_index, col_index])
        candidate_points.append(np.stack([row_index + starts[row], candidate_cols[col_index]], axis=1))
        if largest >= highest - slack and not every:
            break
    points = np.concatenate(candidate_points)[np.concatenate(candidate_values) >= largest - slack]
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    return float(largest), points if every else points[:1]


def _values(
    low_row: np.ndarray, high_row: np.ndarray, part: np.ndarray, cols: Axis, pixel_cols: np.ndarray
) -> np.ndarray:
    """Return the values of pixels between two rows of samples; of equal samples exactly theirs."""
    low = cols.low[pixel_cols]
    high = cols.high[pixel_cols]
    col_part = cols.part[pixel_cols]
    low_values = low_row[low] + col_part * (low_row[high] - low_row[low])
    high_values = high_row[low] + col_part * (high_row[high] - high_row[low])
    return np.asarray(low_values + part * (high_values - low_values))
