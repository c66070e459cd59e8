"""Share of a map that lies in the truth: the energy-based pointing game."""

from typing import Any

import numpy as np

from salstats.images.axes import Axis
from salstats.images.maps import check_saliency
from salstats.images.masks import Rle, decode, encode, runs
from salstats.metrics.records import Metric


def energy(saliency: Any, truth: Rle | np.ndarray) -> float:
    """Return the share of a map's positive values that lies in the truth.

    The map's positive part is resized to the image (bilinear, half-pixel centres) and summed over the truth
    and over the image. More is better; a constant positive map scores the truth's share of the image.

    Parameters
    ----------
    saliency : array_like of number, shape (m, n)
        Finite; of any size that covers the image. What is negative counts as 0.
    truth : Rle or ndarray of bool, shape (M, N)

    Returns
    -------
    float
        From 0 to 1. NaN where the truth is empty, and where the map is nowhere positive on the image's
        pixels: there is nothing to take a share of.

    Raises
    ------
    ShapeError, ValueRangeError
        The map is not finite, the truth is no mask, or one does not have two dimensions.

    Notes
    -----
    The map is not stretched to [0, 1], as it is for masks: that would move its zero, and the share with it.
    So a map whose zero means nothing (signed, shifted or in logarithms) should not be scored so. Negative
    values are cut before the resize, at the map's own resolution, where the ReLU of a class activation map
    is. Multiplying a map changes nothing.

    Resizing is linear, so that the sum over a run of pixels follows from sums over the map's own samples:
    the map is never made at the image's size. Computed in float64.

    References
    ----------
    Wang, H. et al. (2020). Score-CAM: score-weighted visual explanations for convolutional neural networks.
    CVPR Workshops, 111-119. doi:10.1109/CVPRW50498.2020.00020

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.energy_inside import energy
    >>> truth = np.array([[0, 1], [0, 0]])
    >>> energy(np.array([[1.0, 3.0], [-2.0, 0.0]]), truth)
    0.75
    >>> energy(np.ones((7, 7)), truth)
    0.25
    >>> energy(np.zeros((7, 7)), truth)
    nan
    """
    reference = truth if isinstance(truth, Rle) else encode(truth)
    positive = np.maximum(check_saliency(saliency), 0.0)
    starts, ends = runs(reference)
    if not len(starts):
        return float("nan")
    height, width = reference.shape
    rows = Axis.of(positive.shape[0], height)
    cols = Axis.of(positive.shape[1], width)
    total = float(rows.totals @ positive @ cols.totals)
    # nothing is positive, or nothing that a pixel of a smaller image lies near
    if not total > 0:
        return float("nan")
    if positive.shape == reference.shape:
        inside = float(positive[decode(reference)].sum())
    else:
        inside = _sum_inside(positive, rows, cols, starts, ends)
    # sums in another order differ by rounding
    return float(min(max(inside / total, 0.0), 1.0))


def _sum_inside(positive: np.ndarray, rows: Axis, cols: Axis, starts: np.ndarray, ends: np.ndarray) -> float:
    """Return the sum of the resized map over runs of pixels, which are counted down the columns.

    A sum over the first pixels of a column is a linear function of the map's samples, so that a run is the
    difference of two such sums and the map is never made at the image's size.
    """
    height = len(rows.low)
    first_col = starts // height
    last_col = (ends - 1) // height
    # a run that reaches into further columns is cut at their edges
    n_segments = last_col - first_col + 1
    run_of_segment = np.repeat(np.arange(len(starts)), n_segments)
    first_segment = np.repeat(np.cumsum(n_segments) - n_segments, n_segments)
    col = first_col[run_of_segment] + np.arange(len(run_of_segment)) - first_segment
    top = np.maximum(starts[run_of_segment] - col * height, 0)
    bottom = np.minimum(ends[run_of_segment] - col * height, height)
    # the samples down each column of pixels that the truth touches, from its first row to its last
    first_sample = int(rows.low[top.min()])
    last_sample = int(rows.high[bottom.max() - 1])
    used_samples = slice(first_sample, last_sample + 1)
    touched_cols, touched_index = np.unique(col, return_inverse=True)
    columns = np.ascontiguousarray(positive[used_samples].T)
    samples = columns[cols.high[touched_cols]]
    samples *= cols.part[touched_cols, None]
    samples += (1 - cols.part[touched_cols, None]) * columns[cols.low[touched_cols]]
    # the sum over the pixels that follow each sample; between two samples they lie on a line
    first_pixel = rows.starts
    n_pixels = np.diff(first_pixel)[used_samples]
    parts = np.bincount(rows.low, rows.part, minlength=rows.n_samples)[used_samples]
    following_sums = (n_pixels - parts) * samples
    following_sums[:, :-1] += parts[:-1] * samples[:, 1:]
    sums_to_sample = np.zeros((len(touched_cols), len(n_pixels) + 1))
    np.cumsum(following_sums, axis=1, out=sums_to_sample[:, 1:])
    parts_to_pixel = np.append(0.0, np.cumsum(rows.part))

    def sum_to(row: np.ndarray, pixel: np.ndarray) -> np.ndarray:
        """Return the sums down to a row; `pixel` is a row of the run with the same sample before it."""
        sample = rows.low[pixel]
        n_more = row - first_pixel[sample]
        parts_more = parts_to_pixel[row] - parts_to_pixel[first_pixel[sample]]
        low_sample = samples[touched_index, sample - first_sample]
        high_sample = samples[touched_index, rows.high[pixel] - first_sample]
        whole_samples = sums_to_sample[touched_index, sample - first_sample]
        return np.asarray(whole_samples + (n_more - parts_more) * low_sample + parts_more * high_sample)

    return float((sum_to(bottom, bottom - 1) - sum_to(top, top)).sum())


ENERGY = Metric(
    name="energy",
    label="Energy inside",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source="Wang et al. 2020 (Score-CAM), doi:10.1109/CVPRW50498.2020.00020: of the map's positive part, cut "
    "before the resize",
    needs=("saliency", "runs"),
    kernel=energy,
)
