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

#: Rows of an image that are interpolated at a time, so that no second array of its size is made.
_STRIP = 64
#: Largest distance, in pixels of the network, by which rounding may put a pixel's centre beyond its edge.
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
        A shape is not (height, width), a scale is not positive, or the input shows no part of the image.

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
        """Raise ValueRangeError for an impossible shape or scale, or an input without any of the image."""
        check_shape(self.image_shape, "image_shape")
        check_shape(self.network_shape, "network_shape")
        if np.shape(self.scale) != (2,) or not min(self.scale) > 0:
            raise ValueRangeError(
                f"scale must be two positive numbers (row, col), not {self.scale!r}",
                option="scale",
                value=self.scale,
            )
        upper_left, lower_right = self._corners_in_input()
        if not ((lower_right > 0) & (upper_left < self.network_shape)).all():
            raise ValueRangeError(
                f"offset={self.offset} leaves nothing of the image in the input of {self.network_shape}",
                option="offset",
                value=self.offset,
            )

    @classmethod
    def stretched(cls, image_shape: tuple[int, int], network_shape: tuple[int, int]) -> "Geometry":
        """Return the geometry of an image that fills the input, each axis by its own factor."""
        image = check_shape(image_shape, "image_shape")
        network = check_shape(network_shape, "network_shape")
        return cls(image, network, (network[0] / image[0], network[1] / image[1]))

    def _corners_in_input(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the upper left and the lower right corner (row, col) of the image in pixels of the input."""
        upper_left = np.asarray(self.offset, np.float64)
        lower_right = upper_left + np.asarray(self.scale) * self.image_shape
        return upper_left, lower_right

    @property
    def shows_exactly_whole_image(self) -> bool:
        """True if the input shows the whole image without padding: a map of the input is one of the image."""
        upper_left, lower_right = self._corners_in_input()
        fills_start = np.allclose(upper_left, 0, atol=1e-6)
        fills_end = np.allclose(lower_right, self.network_shape, atol=1e-6)
        return bool(fills_start and fills_end)

    @property
    def image_shape_in_input(self) -> tuple[int, int]:
        """(height, width) of the whole image in the pixels of the input, but never more than it has."""
        return self._image_side_in_input(axis=0), self._image_side_in_input(axis=1)

    def _image_side_in_input(self, axis: int) -> int:
        """Return the length of the image along an axis in pixels of the input; at most its own pixels."""
        side = self.image_shape[axis]
        return min(side, max(1, int(side * self.scale[axis] + 0.5)))

    def to_network(self, points: Any) -> np.ndarray:
        """Return points of the image in pixels of the input, both as (row, col) of shape (n, 2).

        Points that were cropped away lie outside the input.
        """
        return np.asarray((np.asarray(points) + 0.5) * self.scale + self.offset - 0.5)

    def points_to_image(self, points: Any) -> np.ndarray:
        """Return points of the input in pixels of the image, both as (row, col) of shape (n, 2).

        Points of the padding lie before the first or beyond the last pixel of the image.
        """
        return np.asarray((np.asarray(points) + 0.5 - self.offset) / self.scale - 0.5)

    def to_image(
        self,
        saliency: Any,
        *,
        shape: tuple[int, int] | None = None,
        outside: float | str = "lowest",
    ) -> np.ndarray:
        """Return a map of the input as one of the image in float32, by one bilinear sampling.

        Beyond the outermost centres of the grid, the outermost values are repeated.

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
            The map does not have two dimensions or is not finite, or `shape` is so coarse that no pixel has
            its centre in the part of the image that the network saw.

        Notes
        -----
        Where the input is the whole image (`shows_exactly_whole_image`), this is the resizing of `score`:
        half-pixel centres, no antialiasing. The weights are the same, the order of the sums is not: values
        agree to single precision.
        """
        grid = check_saliency(saliency).astype(np.float32)
        height, width = self.image_shape if shape is None else check_shape(shape)
        rows = self._neighbour_samples_of_image_pixels(0, height, grid.shape[0])
        cols = self._neighbour_samples_of_image_pixels(1, width, grid.shape[1])
        if not rows.is_visible.any() or not cols.is_visible.any():
            raise ValueRangeError(
                f"shape {height} x {width} is too coarse: no centre of its pixels lies in the part of the "
                "image that the network saw",
                option="shape",
                value=(height, width),
            )
        # along the columns first: every row of the grid at the width of the image
        grid_rows = _interpolated(grid.T, cols, slice(None)).T
        image = np.empty((height, width), np.float32)
        for start in range(0, height, _STRIP):
            strip = slice(start, start + _STRIP)
            image[strip] = _interpolated(grid_rows, rows, strip)
        if rows.is_visible.all() and cols.is_visible.all():
            return image
        # the pixels that the network saw are a rectangle
        lowest = image[rows.visible_range, cols.visible_range].min()
        fill_value = lowest if outside == "lowest" else float(outside)
        image[~rows.is_visible] = fill_value
        image[:, ~cols.is_visible] = fill_value
        return image

    def to_network_input(self, saliency: Any) -> np.ndarray:
        """Return a map of the image as one of the network's input; the padding is never salient.

        The map is a grid of any size that covers the image, sampled as by `to_image`, whose errors it raises.
        The padding gets the smallest value of the rest.

        Examples
        --------
        >>> from salstats.images.geometry import Geometry
        >>> Geometry((1, 2), (1, 4), (1, 1), (0, 1)).to_network_input([[3.0, 5.0]])
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

    def _neighbour_samples_of_image_pixels(
        self, axis: int, n_image_pixels: int, n_samples_of_input: int
    ) -> "_NeighbourSamples":
        """Return the neighbours of the image's pixels along an axis among samples that cover the input."""
        # the pixels' centres in pixels of the image, then of the input, each from the edge
        image_position = (np.arange(n_image_pixels) + 0.5) * (self.image_shape[axis] / n_image_pixels)
        input_position = image_position * self.scale[axis] + self.offset[axis]
        side = self.network_shape[axis]
        is_visible = (input_position >= -_ROUNDING) & (input_position <= side + _ROUNDING)
        # in samples, from the centre of the first
        position = np.clip(input_position * (n_samples_of_input / side) - 0.5, 0, n_samples_of_input - 1)
        before = np.minimum(position.astype(np.int64), max(0, n_samples_of_input - 2))
        after = np.minimum(before + 1, n_samples_of_input - 1)
        return _NeighbourSamples(before, after, (position - before).astype(np.float32), is_visible)


class _NeighbourSamples(NamedTuple):
    """For each pixel along an axis, the samples that it lies between and the weight of the second."""

    #: Index of the sample before the pixel.
    before: np.ndarray
    #: Index of the sample after the pixel.
    after: np.ndarray
    #: Weight of the sample after the pixel, from 0 to 1.
    weight: np.ndarray
    #: True for pixels that the network saw.
    is_visible: np.ndarray

    @property
    def visible_range(self) -> slice:
        """The pixels from the first to the last that the network saw."""
        visible_pixels = np.flatnonzero(self.is_visible)
        return slice(int(visible_pixels[0]), int(visible_pixels[-1]) + 1)


def _interpolated(samples: np.ndarray, neighbours: _NeighbourSamples, pixels: slice) -> np.ndarray:
    """Return samples along the first axis interpolated at some of the pixels."""
    # before + weight * (after - before), in place
    values = samples[neighbours.before[pixels]]
    differences = samples[neighbours.after[pixels]]
    differences -= values
    differences *= neighbours.weight[pixels, None]
    values += differences
    return np.asarray(values)
