"""How much of a map lies in the truth: the energy-based pointing game."""

from typing import Any

import numpy as np

from salstats.images.axes import Axis
from salstats.images.maps import check_saliency
from salstats.images.masks import Rle, decode, encode, runs
from salstats.metrics.records import Metric


def energy(saliency: Any, truth: Rle | np.ndarray) -> float:
    """Share of a map's positive values that lies in the truth.

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
    rows, cols = Axis.of(positive.shape[0], height), Axis.of(positive.shape[1], width)
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
    """Sum of the resized map over runs of pixels, which are counted down the columns."""
    height = len(rows.low)
    first_col, last_col = starts // height, (ends - 1) // height
    # a run that reaches into further columns is cut at their edges
    n_pieces = last_col - first_col + 1
    of_run = np.repeat(np.arange(len(starts)), n_pieces)
    col = first_col[of_run] + np.arange(len(of_run)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    top = np.maximum(starts[of_run] - col * height, 0)
    bottom = np.minimum(ends[of_run] - col * height, height)
    # the samples down each column of pixels that the truth touches, from its first row to its last
    first = int(rows.low[top.min()])
    samples_of = slice(first, int(rows.high[bottom.max() - 1]) + 1)
    touched, at = np.unique(col, return_inverse=True)
    across = np.ascontiguousarray(positive[samples_of].T)
    samples = across[cols.high[touched]]
    samples *= cols.part[touched, None]
    samples += (1 - cols.part[touched, None]) * across[cols.low[touched]]
    # the sum over the pixels that follow each sample; between two samples they lie on a line
    first_pixel = rows.starts
    n_pixels = np.diff(first_pixel)[samples_of]
    parts = np.bincount(rows.low, rows.part, minlength=rows.n_samples)[samples_of]
    following = (n_pixels - parts) * samples
    following[:, :-1] += parts[:-1] * samples[:, 1:]
    above = np.zeros((len(touched), len(n_pixels) + 1))
    np.cumsum(following, axis=1, out=above[:, 1:])
    part_before = np.append(0.0, np.cumsum(rows.part))

    def down_to(row: np.ndarray, beside: np.ndarray) -> np.ndarray:
        # `beside` is a pixel of the same sample, in the truth
        sample = rows.low[beside]
        n_more = row - first_pixel[sample]
        part_more = part_before[row] - part_before[first_pixel[sample]]
        here, after = samples[at, sample - first], samples[at, rows.high[beside] - first]
        return np.asarray(above[at, sample - first] + (n_more - part_more) * here + part_more * after)

    return float((down_to(bottom, bottom - 1) - down_to(top, top)).sum())


ENERGY = Metric(
    "energy", "Energy inside", 0, 1, 1, True,
    "Wang et al. 2020 (Score-CAM), doi:10.1109/CVPRW50498.2020.00020: of the map's positive part, cut "
    "before the resize", ("saliency", "runs"), energy,
)  # fmt: skip
