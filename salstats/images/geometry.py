"""Position of an image in the input of a network, and maps of the input put back on the image.

A network sees an image resized, padded or cropped. Points of both are (row, col) with the centre of the
first pixel at (0, 0); half a pixel further out is the edge, so that edges go to edges.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from salstats.errors import ValueRangeError
from salstats.images.maps import check_saliency
from salstats.images.run_lengths import check_shape

#: Rows of an image that are made at a time, so that beside it there is no second array of its size.
_STRIP = 64
#: How far beyond the network's edge a pixel's centre may lie by rounding alone, in pixels of the network.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Geometry:
    """Position of the pixels of an image in the input of a network.

    Along each axis the edge of a pixel at `x` of the image, counted from the image's edge, lies at
    `x * scale + offset` of the input, counted from the input's edge.

    Attributes
    ----------
    image_shape : tuple of int
        (height, width) of the image in pixels.
    network_shape : tuple of int
        (height, width) of the network's input in pixels.
    scale : tuple of float
        (row, col): pixels of the input for one of the image.
    offset : tuple of float
        (row, col): where the image's upper left corner lies in the input, in its pixels. Negative where
        the image was cropped, positive where it was padded.

    Raises
    ------
    ValueRangeError
        A shape is none, a scale is not positive, or the input holds nothing of the image.

    Examples
    --------
    >>> from salstats.images.geometry import Geometry
    >>> tall = Geometry((400, 200), (100, 100), (0.25, 0.25), (0, 25))
    >>> tall.to_network([(0, 0), (399, 199)])
    array([[-0.375, 24.625],
           [99.375, 74.375]])
    >>> tall.to_image([[0.0, 1.0]], shape=(1, 4))
    array([[0.125, 0.375, 0.625, 0.875]], dtype=float32)
    """

    image_shape: tuple[int, int]
    network_shape: tuple[int, int]
    scale: tuple[float, float]
    offset: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        check_shape(self.image_shape, "image_shape")
        check_shape(self.network_shape, "network_shape")
        if np.shape(self.scale) != (2,) or not min(self.scale) > 0:
            raise ValueRangeError(f"scale must be two positive numbers (row, col), not {self.scale!r}")
        first, last = self._corners()
        if not ((last > 0) & (first < self.network_shape)).all():
            raise ValueRangeError(
                f"offset={self.offset} leaves nothing of the image in the input of {self.network_shape}"
            )

    @classmethod
    def stretched(cls, image_shape: tuple[int, int], network_shape: tuple[int, int]) -> "Geometry":
        """Return the geometry of an image that fills the input, each axis by its own factor."""
        image = check_shape(image_shape, "image_shape")
        network = check_shape(network_shape, "network_shape")
        return cls(image, network, (network[0] / image[0], network[1] / image[1]))

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the upper left and the lower right corner of the image in the input, in its pixels."""
        first = np.asarray(self.offset, np.float64)
        return first, first + np.asarray(self.scale) * self.image_shape

    @property
    def fills(self) -> bool:
        """True if the input shows the whole image and nothing else: a map of it is one of the image."""
        first, last = self._corners()
        return bool(np.allclose(first, 0, atol=1e-6) and np.allclose(last, self.network_shape, atol=1e-6))

    @property
    def frame_shape(self) -> tuple[int, int]:
        """(height, width) of the whole image in the pixels of the input, but never more than it has."""
        return self._frame_side(axis=0), self._frame_side(axis=1)

    def _frame_side(self, axis: int) -> int:
        """Return the length of the whole image along an axis in the pixels of the input."""
        side = self.image_shape[axis]
        return min(side, max(1, int(side * self.scale[axis] + 0.5)))

    def to_network(self, points: Any) -> np.ndarray:
        """Return points of the image, (row, col) of shape (n, 2), in the input; outside it if cropped."""
        return np.asarray((np.asarray(points) + 0.5) * self.scale + self.offset - 0.5)

    def points_to_image(self, points: Any) -> np.ndarray:
        """Return points of the input, (row, col) of shape (n, 2), on the image; outside it if padding."""
        return np.asarray((np.asarray(points) + 0.5 - self.offset) / self.scale - 0.5)

    def to_image(
        self,
        saliency: Any,
        *,
        shape: tuple[int, int] | None = None,
        outside: float | str = "lowest",
    ) -> np.ndarray:
        """Return a map of the input as one of the image in float32, by one bilinear sampling.

        Beyond the outermost centres of the grid its values go on unchanged.

        Parameters
        ----------
        saliency : array_like of number, shape (m, n)
            Finite. A grid of any size that covers the network's input: 7 x 7 or 224 x 224.
        shape : tuple of int, optional
            (height, width) of the result, a grid that covers the image; by default the image's own.
        outside : float or "lowest", default "lowest"
            Value of pixels that the network did not see, since they were cropped away. "lowest": the
            smallest value of those it saw, so that they are never salient. NaN marks them.

        Raises
        ------
        ShapeError, ValueRangeError
            The map does not have two dimensions, or is not finite; no pixel of so coarse a `shape` has its
            centre in what the network saw.

        Notes
        -----
        Where the input is the whole image (`fills`), this is the resizing of `score`: half-pixel centres,
        no antialiasing. The weights are the same, the order of the sums is not: values agree to single
        precision.
        """
        grid = check_saliency(saliency).astype(np.float32)
        height, width = self.image_shape if shape is None else check_shape(shape)
        rows = self._samples(0, height, grid.shape[0])
        cols = self._samples(1, width, grid.shape[1])
        if not rows.is_seen.any() or not cols.is_seen.any():
            raise ValueRangeError(
                f"shape {height} x {width} is too coarse: no centre of its pixels lies in the part of the "
                "image that the network saw"
            )
        grid_rows = _interpolated(grid.T, cols, slice(None)).T
        image = np.empty((height, width), np.float32)
        for start in range(0, height, _STRIP):
            strip = slice(start, start + _STRIP)
            image[strip] = _interpolated(grid_rows, rows, strip)
        if rows.is_seen.all() and cols.is_seen.all():
            return image
        # the pixels that were seen are a rectangle
        lowest = image[rows.seen_range, cols.seen_range].min()
        fill = lowest if outside == "lowest" else float(outside)
        image[~rows.is_seen] = fill
        image[:, ~cols.is_seen] = fill
        return image

    def to_input(self, saliency: Any) -> np.ndarray:
        """Return a map of the image as one of the network's input; the padding is never salient.

        It is a grid of any size that covers the image, sampled as `to_image` does; what lies in the padding
        gets the smallest value. Raises what that does.

        Examples
        --------
        >>> from salstats.images.geometry import Geometry
        >>> Geometry((1, 2), (1, 4), (1, 1), (0, 1)).to_input([[3.0, 5.0]])
        array([[3., 3., 5., 3.]], dtype=float32)
        """
        row_scale, col_scale = self.scale
        top, left = self.offset
        inverse = Geometry(
            image_shape=self.network_shape,
            network_shape=self.image_shape,
            scale=(1 / row_scale, 1 / col_scale),
            offset=(-top / row_scale, -left / col_scale),
        )
        return inverse.to_image(saliency)

    def _samples(self, axis: int, n: int, n_grid: int) -> "_Samples":
        """Return the positions of n pixels along the image among the samples of a grid over the input."""
        edge = (np.arange(n) + 0.5) * (self.image_shape[axis] / n) * self.scale[axis] + self.offset[axis]
        side = self.network_shape[axis]
        is_seen = (edge >= -_ROUNDING) & (edge <= side + _ROUNDING)
        position = np.clip(edge * (n_grid / side) - 0.5, 0, n_grid - 1)
        low = np.minimum(position.astype(np.int64), max(0, n_grid - 2))
        high = np.minimum(low + 1, n_grid - 1)
        return _Samples(low, high, (position - low).astype(np.float32), is_seen)


class _Samples(NamedTuple):
    """For each pixel along an axis, the grid's samples before and after it, and the weight of the second."""

    low: np.ndarray
    high: np.ndarray
    weight: np.ndarray
    #: True for pixels that the network saw.
    is_seen: np.ndarray

    @property
    def seen_range(self) -> slice:
        """The pixels from the first to the last that the network saw."""
        seen_pixels = np.flatnonzero(self.is_seen)
        return slice(int(seen_pixels[0]), int(seen_pixels[-1]) + 1)


def _interpolated(values: np.ndarray, samples: _Samples, pixels: slice) -> np.ndarray:
    """Return values along the first axis at some of the pixels, interpolated between samples."""
    low = values[samples.low[pixels]]
    high = values[samples.high[pixels]]
    high -= low
    high *= samples.weight[pixels, None]
    low += high
    return np.asarray(low)
