"""Maxima of a map laid over an image, without making the map at the image's size."""

import numpy as np

from salstats.images.axes import InterpolationAxis
from salstats.images.pixel_values import PixelValues

#: Points (row, col) of pixels, shape (k, 2).
RowColPoints = np.ndarray


def maximum_and_points(
    saliency: np.ndarray, shape: tuple[int, int], *, every: bool = True
) -> tuple[float, RowColPoints]:
    """Return the largest value of a map on an image's pixels, and its points.

    The map is interpolated as `images.map_steps.resize` does, but in float64. Values that are equal in exact
    arithmetic are equal here: values that differ by what rounding can do (1e-14 of the map's largest
    magnitude) count as ties. A pixel never exceeds the four samples around it, so only pixels whose samples
    reach the largest value so far are computed.

    The points are (row, col) in row-major order, shape (k, 2): every maximum, or only the first.
    """
    if saliency.shape == shape:
        return _maximum_and_points_of_samples(saliency, every=every)
    rows = InterpolationAxis.of(saliency.shape[0], shape[0])
    cols = InterpolationAxis.of(saliency.shape[1], shape[1])
    tolerance = PixelValues(saliency).largest_rounding_difference
    row_maxima = saliency.max(axis=1)
    highest = row_maxima.max()
    # for each row of samples an upper bound of the pixels between it and the next row
    next_row_maxima = np.append(row_maxima[1:], row_maxima[-1])
    bounds = np.maximum(row_maxima, next_row_maxima)
    # bounds that only rounding tells apart are equal, so that their rows are taken from top to bottom
    bounds[bounds >= highest - tolerance] = highest
    # rows of pixels between a row of samples and the next: from starts[i] up to but without starts[i + 1]
    starts = rows.first_pixel_after_each_sample
    has_no_pixel = starts[:-1] == starts[1:]
    bounds[has_no_pixel] = -np.inf
    # the largest value so far
    largest = -np.inf
    candidate_values: list[np.ndarray] = []
    candidate_points: list[np.ndarray] = []
    # from the highest bound to the lowest; equal bounds from top to bottom
    for row in np.argsort(-bounds, kind="stable"):
        if bounds[row] < largest - tolerance:
            break
        low_row = saliency[row]
        high_row = saliency[min(row + 1, len(saliency) - 1)]
        sample_bounds = np.maximum(low_row, high_row)
        pixel_bounds = np.maximum(sample_bounds[cols.low], sample_bounds[cols.high])
        row_fraction = rows.fraction[starts[row] : starts[row + 1], None]
        if not candidate_values:
            # the pixels with the highest bound give a first value to compare with
            first_cols = np.flatnonzero(pixel_bounds == pixel_bounds.max())
            largest = _interpolated_values(low_row, high_row, row_fraction, cols, first_cols).max()
        candidate_cols = np.flatnonzero(pixel_bounds >= largest - tolerance)
        if not len(candidate_cols):
            continue
        values = _interpolated_values(low_row, high_row, row_fraction, cols, candidate_cols)
        largest = max(largest, values.max())
        row_index, col_index = np.nonzero(values >= largest - tolerance)
        candidate_values.append(values[row_index, col_index])
        candidate_points.append(np.stack([row_index + starts[row], candidate_cols[col_index]], axis=1))
        if largest >= highest - tolerance and not every:
            break
    is_maximum = np.concatenate(candidate_values) >= largest - tolerance
    points = np.concatenate(candidate_points)[is_maximum]
    row_major_order = np.lexsort((points[:, 1], points[:, 0]))
    points = points[row_major_order]
    if not every:
        points = points[:1]
    return float(largest), points


def _maximum_and_points_of_samples(saliency: np.ndarray, *, every: bool) -> tuple[float, RowColPoints]:
    """Return the largest value and its points of a map whose samples are the pixels of its image."""
    largest = saliency.max()
    is_maximum = saliency >= largest - PixelValues(saliency).largest_rounding_difference
    if every:
        return float(largest), np.argwhere(is_maximum)
    first_row, first_col = np.unravel_index(is_maximum.argmax(), saliency.shape)
    return float(largest), np.array([[first_row, first_col]])


def _interpolated_values(
    low_row: np.ndarray,
    high_row: np.ndarray,
    row_fraction: np.ndarray,
    cols: InterpolationAxis,
    pixel_cols: np.ndarray,
) -> np.ndarray:
    """Return the values of the pixels between two rows of samples in some columns, (n_rows, n_pixel_cols).

    `row_fraction`, (n_rows, 1), is the distance of each row of pixels from the first row of samples, as a
    share of the distance between the two. Between equal samples the value is exactly theirs.
    """
    low = cols.low[pixel_cols]
    high = cols.high[pixel_cols]
    col_fraction = cols.fraction[pixel_cols]
    low_values = low_row[low] + col_fraction * (low_row[high] - low_row[low])
    high_values = high_row[low] + col_fraction * (high_row[high] - high_row[low])
    return np.asarray(low_values + row_fraction * (high_values - low_values))
