"""Where a map laid over an image is largest, found without making the map at the image's size."""

import numpy as np

from salstats.images.axes import Axis
from salstats.images.pixel_values import PixelValues


def maxima(saliency: np.ndarray, shape: tuple[int, int], *, every: bool = True) -> tuple[float, np.ndarray]:
    """Largest value that a map takes on an image's pixels, and where.

    The map is interpolated as `images.map_steps.resize` does, but in float64. What ties on paper ties here:
    values that differ by what rounding can do (1e-14 of the map's largest magnitude) are equal. A pixel
    never exceeds the four samples around it, so only where these reach what is found already are pixels
    looked at.

    Of a finite map of float64 it gives the value and the points, (row, col) in row-major order, shape (k, 2):
    every maximum, or only the first.
    """
    rows, cols = Axis.of(saliency.shape[0], shape[0]), Axis.of(saliency.shape[1], shape[1])
    slack = PixelValues(saliency).rounding
    tops = saliency.max(axis=1)
    highest = tops.max()
    # what no pixel between a row of samples and the next exceeds
    bounds = np.maximum(tops, np.append(tops[1:], tops[-1]))
    bounds[bounds >= highest - slack] = highest
    starts = rows.starts
    bounds[starts[:-1] == starts[1:]] = -np.inf
    best = -np.inf
    found: list[tuple[np.ndarray, np.ndarray]] = []
    # rows of samples that promise the same come from top to bottom
    for row in np.argsort(-bounds, kind="stable"):
        if bounds[row] < best - slack:
            break
        above, below = saliency[row], saliency[min(row + 1, len(saliency) - 1)]
        promised = np.maximum(above, below)
        promised = np.maximum(promised[cols.low], promised[cols.high])
        down = rows.part[starts[row] : starts[row + 1], None]
        if not found:
            # the pixels that promise most give a first value to beat
            best = _values(above, below, down, cols, np.flatnonzero(promised == promised.max())).max()
        at_cols = np.flatnonzero(promised >= best - slack)
        if not len(at_cols):
            continue
        values = _values(above, below, down, cols, at_cols)
        best = max(best, values.max())
        at = np.argwhere(values >= best - slack)
        found.append((values[at[:, 0], at[:, 1]], np.stack([at[:, 0] + starts[row], at_cols[at[:, 1]]], 1)))
        if best >= highest - slack and not every:
            break
    values, points = (np.concatenate(parts) for parts in zip(*found, strict=True))
    points = points[values >= best - slack]
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    return float(best), points if every else points[:1]


def _values(
    above: np.ndarray, below: np.ndarray, down: np.ndarray, cols: Axis, at_cols: np.ndarray
) -> np.ndarray:
    """Values of pixels that lie between two rows of samples; exactly theirs where these are equal."""
    low, high, right = cols.low[at_cols], cols.high[at_cols], cols.part[at_cols]
    first = above[low] + right * (above[high] - above[low])
    second = below[low] + right * (below[high] - below[low])
    return np.asarray(first + down * (second - first))
