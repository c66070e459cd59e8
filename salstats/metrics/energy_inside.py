"""Share of a map that lies in the truth: the energy-based pointing game."""

from typing import Any, NamedTuple

import numpy as np

from salstats.images.axes import InterpolationAxis
from salstats.images.maps import check_saliency
from salstats.images.masks import Rle, decode, encode, run_starts_and_ends
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
        The map is not finite, the truth is not a mask, or one of them does not have two dimensions.

    Notes
    -----
    The map is not stretched to [0, 1], as it is for masks: that would move its zero, and the share with it.
    So this is no score for a map whose zero means nothing (signed, shifted or in logarithms). Negative
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
    reference = truth
    if not isinstance(reference, Rle):
        reference = encode(reference)
    positive = np.maximum(check_saliency(saliency), 0.0)
    # runs of the truth's pixels, counted down the columns: the first pixel, and the one after the last
    starts, ends = run_starts_and_ends(reference)
    if not len(starts):
        return float("nan")
    height, width = reference.shape
    rows = InterpolationAxis.of(positive.shape[0], height)
    cols = InterpolationAxis.of(positive.shape[1], width)
    # the resized map's sum over all pixels, as a sum of the map's samples with their weights
    total = float(rows.sample_weight_sums @ positive @ cols.sample_weight_sums)
    # 0 where the map is nowhere positive, or only at samples that no pixel of a smaller image uses
    if not total > 0:
        return float("nan")
    if positive.shape == reference.shape:
        inside = float(positive[decode(reference)].sum())
    else:
        inside = _sum_inside_runs(positive, rows, cols, starts, ends)
    # the two sums add in different orders, so that rounding may carry their quotient past 1
    return float(min(max(inside / total, 0.0), 1.0))


class _ColumnPieces(NamedTuple):
    """Pieces of the runs of pixels of the truth, each within one column of the image."""

    #: Column of the image.
    col: np.ndarray
    #: First row.
    top: np.ndarray
    #: Row after the last.
    bottom: np.ndarray


def _runs_cut_at_column_ends(run_starts: np.ndarray, run_ends: np.ndarray, height: int) -> _ColumnPieces:
    """Cut runs of pixels, counted down the columns of an image of some height, where columns end.

    `run_starts` are the first pixels of the runs, `run_ends` the pixels after the last.
    """
    first_col = run_starts // height
    last_col = (run_ends - 1) // height
    n_pieces = last_col - first_col + 1
    run_of_piece = np.repeat(np.arange(len(run_starts)), n_pieces)
    first_piece_of_run = np.cumsum(n_pieces) - n_pieces
    number_in_run = np.arange(len(run_of_piece)) - first_piece_of_run[run_of_piece]
    col = first_col[run_of_piece] + number_in_run
    top = np.maximum(run_starts[run_of_piece] - col * height, 0)
    bottom = np.minimum(run_ends[run_of_piece] - col * height, height)
    return _ColumnPieces(col, top, bottom)


def _sum_inside_runs(
    positive_map: np.ndarray,
    rows: InterpolationAxis,
    cols: InterpolationAxis,
    starts: np.ndarray,
    ends: np.ndarray,
) -> float:
    """Return the sum of the resized map over runs of pixels, which are counted down the columns.

    The resized map is never made. Down a column of the image the pixel i has the value
    (1 - p_i) s[low_i] + p_i s[high_i], for the samples s of the map in this column. The sum from row 0 to
    a row is linear in s, and the sum over a segment is the difference of two such sums.
    """
    pieces = _runs_cut_at_column_ends(starts, ends, height=len(rows.low))
    # samples down the columns of the image that the truth touches, from the first that it needs to the last
    first_sample = int(rows.low[pieces.top.min()])
    last_sample = int(rows.high[pieces.bottom.max() - 1])
    used_samples = slice(first_sample, last_sample + 1)
    touched_cols, col_index = np.unique(pieces.col, return_inverse=True)
    map_columns = np.ascontiguousarray(positive_map[used_samples].T)
    high_share = cols.fraction[touched_cols, None]
    # (touched columns, used samples): interpolated between two columns of the map
    samples = map_columns[cols.high[touched_cols]]
    samples *= high_share
    samples += (1 - high_share) * map_columns[cols.low[touched_cols]]

    # for each sample the sum over the n pixels between it and the next: (n - sum p) s[low] + (sum p) s[high]
    first_pixel = rows.first_pixel_after_each_sample
    n_pixels = np.diff(first_pixel)[used_samples]
    sum_of_shares = np.bincount(rows.low, rows.fraction, minlength=rows.n_samples)[used_samples]
    pixel_sums = (n_pixels - sum_of_shares) * samples
    pixel_sums[:, :-1] += sum_of_shares[:-1] * samples[:, 1:]
    # sums over all pixels before each sample, and sums of p over all rows before each row
    sums_before_sample = np.zeros((len(touched_cols), len(n_pixels) + 1))
    np.cumsum(pixel_sums, axis=1, out=sums_before_sample[:, 1:])
    shares_before_row = np.append(0.0, np.cumsum(rows.fraction))

    def column_sums_above_row(row: np.ndarray, pixel: np.ndarray) -> np.ndarray:
        """Return the sum over the pixels above `row`, down from the top of the image, for each segment.

        `pixel` is a row between the same two samples as the last of these pixels.
        """
        sample = rows.low[pixel]
        n_remaining = row - first_pixel[sample]
        shares_remaining = shares_before_row[row] - shares_before_row[first_pixel[sample]]
        low_sample = samples[col_index, sample - first_sample]
        high_sample = samples[col_index, rows.high[pixel] - first_sample]
        sums: np.ndarray = sums_before_sample[col_index, sample - first_sample]
        sums += (n_remaining - shares_remaining) * low_sample
        sums += shares_remaining * high_sample
        return sums

    bottom_sums = column_sums_above_row(pieces.bottom, pieces.bottom - 1)
    top_sums = column_sums_above_row(pieces.top, pieces.top)
    return float((bottom_sums - top_sums).sum())


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
