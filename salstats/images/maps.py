"""Saliency maps laid over images: peaks, masks, and counts against a truth."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import cv2
import numpy as np

from salstats.checks import LARGEST_NUMBER, check_choice, check_count, quoted
from salstats.errors import Message, Setting, ShapeError, ValueRangeError
from salstats.images.map_steps import box_filter, grey_levels_of_fractions, largest_float32_not_above, resize
from salstats.images.masks import Rle, run_starts_and_ends
from salstats.images.otsu import fill_holes_and_drop_single_pixels, inverted_grey_smoothed_through_jet
from salstats.images.peaks import RowColPoints, maximum_and_points
from salstats.images.pixel_values import PixelValues
from salstats.images.run_lengths import check_shape
from salstats.images.thresholds import OTSU, THRESHOLDS

#: How many columns of the image are compared at a time, so that they stay in the processor's cache.
_STRIP = 64
#: Side of a box filter at most: more than that of an image to look at; OpenCV fails on far larger ones.
LARGEST_FILTER_SIDE = 10_000


class _Extremes(NamedTuple):
    """Smallest and largest value of a map on an image, and its first maximum (row, col) if they differ."""

    lowest: float
    highest: float
    peak: tuple[int, int] | None


class SaliencyOnImage:
    """A saliency map laid over an image: its peak, its mask, and its counts against a truth.

    The map is resized to the image (bilinear, half-pixel centres, no antialiasing), stretched to [0, 1],
    smoothed where asked, and thresholded. A constant map points at nothing: it has no peak, and its mask is
    empty at every threshold. At most one map of the image's size is kept, and made only when it is needed.

    `smooth` is the side in pixels of a box filter over the stretched map, its border mirrored about its
    pixels; the result is not stretched again, and the peak is taken before. `colormap` "jet" smooths as the
    CheXlocalize scripts do, which marks mostly background (see
    `images.otsu.inverted_grey_smoothed_through_jet`). A map that is not finite, an impossible shape or option
    is a ShapeError or ValueRangeError.

    Computed in float64 at the map's own size and in float32 at the image's. Against the CheXlocalize
    scripts, whose float32 sums are fused on some processors, single pixels on the edge of a mask can differ.

    Saporta, A. et al. (2022). Benchmarking saliency methods for chest X-ray interpretation. Nature Machine
    Intelligence 4, 867-878. doi:10.1038/s42256-022-00536-x
    """

    def __init__(
        self,
        saliency: Any,
        shape: tuple[int, int],
        *,
        smooth: int | None = None,
        colormap: str | None = None,
    ) -> None:
        """Check the map and its options; nothing is computed yet."""
        self._saliency = check_saliency(saliency)
        self.shape = check_shape(shape)
        self.smooth = None if smooth is None else checked_filter_side_odd_or_even(smooth)
        self.colormap = None if colormap is None else check_choice(colormap, ("jet",), "colormap")
        if self.colormap is not None and self.smooth is None:
            raise ValueRangeError(
                Setting("colormap", colormap),
                " is a way to smooth",
                hint=Message("give ", Setting("smooth"), ", the side of the box, as well"),
            )

    @cached_property
    def _extremes_and_peak(self) -> _Extremes:
        """Smallest and largest value on the image's pixels, and the first maximum if they differ."""
        highest, highest_points = maximum_and_points(self._saliency, self.shape, every=False)
        negative_lowest, _ = maximum_and_points(-self._saliency, self.shape, every=False)
        lowest = -negative_lowest
        if highest - lowest <= PixelValues(self._saliency).largest_rounding_difference:
            return _Extremes(lowest, highest, None)
        row, col = highest_points[0].tolist()
        return _Extremes(lowest, highest, (row, col))

    @property
    def is_constant(self) -> bool:
        """True if the map has one value only on the image's pixels, but for rounding."""
        return self._extremes_and_peak.peak is None

    @property
    def peak(self) -> tuple[int, int] | None:
        """The first maximum in row-major order, as (row, col), before smoothing; None for a constant map."""
        return self._extremes_and_peak.peak

    @property
    def peaks(self) -> RowColPoints:
        """Every maximum before smoothing, (row, col) in row-major order, shape (k, 2); none if constant.

        Values that only rounding tells apart are equal; a plateau counts with all its pixels.
        """
        if self.is_constant:
            return np.empty((0, 2), np.int64)
        _, points = maximum_and_points(self._saliency, self.shape)
        return points

    def _transposed_image_sized_map_from_0_to(self, top: float) -> np.ndarray:
        """Return the map at the image's size, from 0 to `top`, transposed as run lengths count pixels."""
        height, width = self.shape
        # interpolation is linear, so the map is stretched at its own size, by its extremes on the image
        lowest, highest, peak = self._extremes_and_peak
        # a constant map, which has no peak, is never stretched
        assert peak is not None
        stretched = self._saliency - lowest
        stretched /= highest - lowest
        stretched *= top
        values = resize(stretched.T, (width, height))
        # rounding must not cost the peak its grey level
        values[peak[1], peak[0]] = top
        return values

    @cached_property
    def _smoothed_transposed(self) -> np.ndarray:
        """The map from 0 to 1, smoothed, transposed."""
        values = self._transposed_image_sized_map_from_0_to(1)
        if self.smooth is None or self.colormap is not None:
            return values
        return box_filter(values, self.smooth)

    def _transposed_mask(self, threshold: float | str) -> np.ndarray:
        """Return the mask, transposed; empty where the map has no peak, or at threshold 1."""
        threshold = check_threshold(threshold)
        if threshold != OTSU and self.colormap is not None:
            raise ValueRangeError(
                "with a colormap the ",
                Setting("threshold"),
                f" must be {OTSU!r}, not {threshold}",
                value=threshold,
            )
        # rounding may take the second of two peaks above 1
        if self.peak is None or threshold == 1:
            return np.zeros(self.shape[::-1], bool)
        if not isinstance(threshold, str):
            # the same pixels of a float32 map exceed both numbers
            return np.asarray(self._smoothed_transposed > largest_float32_not_above(threshold))
        above_level = THRESHOLDS[threshold].kernel
        return fill_holes_and_drop_single_pixels(above_level(self._transposed_grey_levels()))

    def _transposed_grey_levels(self) -> np.ndarray:
        """Return the map in 256 grey levels, smoothed, transposed."""
        if self.smooth is not None and self.colormap is None:
            return grey_levels_of_fractions(self._smoothed_transposed)
        grey = self._transposed_image_sized_map_from_0_to(255).astype(np.uint8)
        if self.smooth is None:
            return grey
        return inverted_grey_smoothed_through_jet(grey, self.smooth)

    def mask(self, threshold: float | str = "otsu") -> np.ndarray:
        """Return the mask at a threshold, an ndarray of bool of the image's shape.

        A number from 0 to 1 marks what lies strictly above it in the stretched map. A name of
        `images.thresholds.THRESHOLDS`, such as "otsu", marks what lies above the level that it finds in the
        map's grey levels, holes filled and single pixels dropped. With a colormap it must be "otsu".
        """
        transposed = self._transposed_mask(threshold)
        return np.asarray(cv2.transpose(transposed.view(np.uint8))).reshape(self.shape).view(bool)

    def tp_fp_fn_tn(self, truth: Rle, threshold: float | str = "otsu") -> tuple[int, int, int, int]:
        """Return (tp, fp, fn, tn), the numbers of pixels on which the mask agrees or not with the truth.

        The mask (see `mask`) is not encoded, and the truth, an `Rle` of the image's shape, is not decoded.
        """
        starts, ends = self._checked_run_starts_and_ends(truth)
        mask = self._transposed_mask(threshold).reshape(-1)
        tp = int(np.count_nonzero(_values_in_runs(mask, starts, ends)))
        n_mask = int(np.count_nonzero(mask))
        n_truth = int((ends - starts).sum())
        return tp, n_mask - tp, n_truth - tp, mask.size - n_mask - n_truth + tp

    def tp_fp_fn_tn_by_threshold(self, truth: Rle, thresholds: Sequence[float]) -> np.ndarray:
        """Return counts (tp, fp, fn, tn), a row for each threshold from 0 to 1, from one pass over the map.

        ValueRangeError for the name of a threshold, and where there is a colormap.
        """
        starts, ends = self._checked_run_starts_and_ends(truth)
        checked = [check_threshold(threshold) for threshold in thresholds]
        has_names = any(isinstance(threshold, str) for threshold in checked)
        if self.colormap is not None or has_names:
            raise ValueRangeError(
                "tp_fp_fn_tn_by_threshold takes fixed thresholds, and no colormap; for 'otsu' see "
                "tp_fp_fn_tn",
                option="thresholds",
                value=thresholds,
            )
        cuts = [largest_float32_not_above(float(threshold)) for threshold in checked]
        n_mask = np.zeros(len(cuts), np.int64)
        tp = np.zeros(len(cuts), np.int64)
        if not self.is_constant:
            truth_values = _values_in_runs(self._smoothed_transposed.reshape(-1), starts, ends)
            tp[:] = [np.count_nonzero(truth_values > cut) for cut in cuts]
            for start in range(0, len(self._smoothed_transposed), _STRIP):
                strip = self._smoothed_transposed[start : start + _STRIP]
                n_mask += np.array([np.count_nonzero(strip > cut) for cut in cuts], np.int64)
        # rounding may take the second of two peaks above 1, which no map exceeds
        is_one = np.array([threshold == 1 for threshold in checked], bool)
        n_mask[is_one] = 0
        tp[is_one] = 0
        n_truth = int((ends - starts).sum())
        n_pixels = self.shape[0] * self.shape[1]
        return np.stack([tp, n_mask - tp, n_truth - tp, n_pixels - n_mask - n_truth + tp], axis=1)

    def _checked_run_starts_and_ends(self, truth: Rle) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts and ends of the truth's runs, after a check of its shape."""
        if truth.shape != self.shape:
            raise ShapeError(
                f"truth {truth.shape} must have the image's shape, {self.shape}",
                option="truth",
                value=truth.shape,
            )
        return run_starts_and_ends(truth)


def _values_in_runs(flat: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the values from each start to its end, one run after the other."""
    runs_of_values = [flat[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    if not runs_of_values:
        return flat[:0]
    return np.concatenate(runs_of_values)


def is_finite(saliency: Any) -> bool:
    """Return True if no pixel of a map is NaN or infinite."""
    return bool(np.isfinite(np.asarray(saliency)).all())


def check_saliency(saliency: Any) -> np.ndarray:
    """Return a finite map of shape (M, N) as a new array of float64."""
    return checked_pixels(saliency, copy=True).values


def checked_pixels(saliency: Any, *, copy: bool = False) -> PixelValues:
    """Return the values of a finite map of shape (M, N) and their extremes; the map itself if it can be.

    With `copy` the values are a new array, which does not change with the map.
    """
    array = np.asarray(saliency)
    if array.ndim != 2 or not array.size:
        raise ShapeError(
            f"a saliency map must have shape (M, N) and at least one pixel, not {array.shape}",
            option="saliency",
            value=array.shape,
        )
    if array.dtype.kind not in "biuf":
        raise ValueRangeError(
            f"a saliency map must hold real numbers, not {array.dtype}", option="saliency", value=array.dtype
        )
    array = array.astype(np.float64, order="C", copy=copy)
    pixels = PixelValues(array)
    # a comparison with NaN is False
    if not (pixels.highest <= LARGEST_NUMBER and pixels.lowest >= -LARGEST_NUMBER):
        n_not_finite = array.size - np.count_nonzero(np.abs(array) <= LARGEST_NUMBER)
        raise ValueRangeError(
            f"{n_not_finite} of {array.size} pixels of the saliency map are NaN or infinite",
            option="saliency",
        )
    return pixels


def checked_filter_side_odd_or_even(side: Any) -> int:
    """Return the side of a box filter if it is a whole number of pixels that a filter can have."""
    if check_count(side, "smooth") > LARGEST_FILTER_SIDE:
        raise ValueRangeError(
            Setting("smooth"), f" must be {LARGEST_FILTER_SIDE} pixels at most, not {side!r}", value=side
        )
    return int(side)


def check_threshold(threshold: Any) -> float | str:
    """Return a threshold if it is one of `THRESHOLDS` by name or a number from 0 to 1."""
    if isinstance(threshold, str):
        return check_choice(threshold, tuple(THRESHOLDS), "threshold")
    is_number = isinstance(threshold, int | float | np.number) and not isinstance(threshold, bool)
    if not is_number or not 0 <= threshold <= 1:
        raise ValueRangeError(
            Setting("threshold"),
            f" must be {quoted(THRESHOLDS)} or a number from 0 to 1, not {threshold!r}",
            value=threshold,
            choices=THRESHOLDS,
        )
    return float(threshold)
