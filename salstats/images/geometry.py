"""Where an image lies in what a network was given, and its maps put back on it.

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
    """Where the pixels of an image lie in the input of a network.

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
        """That of an image which fills the input, each axis by its own factor."""
        image, network = check_shape(image_shape, "image_shape"), check_shape(network_shape, "network_shape")
        return cls(image, network, (network[0] / image[0], network[1] / image[1]))

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Edges of the image in the input, in its pixels: the upper left, the lower right."""
        first = np.asarray(self.offset, np.float64)
        return first, first + np.asarray(self.scale) * self.image_shape

    @property
    def fills(self) -> bool:
        """Whether the input shows the whole image and nothing else: a map of it is one of the image."""
        first, last = self._corners()
        return bool(np.allclose(first, 0, atol=1e-6) and np.allclose(last, self.network_shape, atol=1e-6))

    @property
    def frame_shape(self) -> tuple[int, int]:
        """(height, width) of the whole image in the pixels of the input, but never more than it has."""
        sides = zip(self.image_shape, self.scale, strict=True)
        height, width = (min(side, max(1, int(side * scale + 0.5))) for side, scale in sides)
        return height, width

    def to_network(self, points: Any) -> np.ndarray:
        """Where points of the image, (row, col) of shape (n, 2), lie in the input; outside it if cropped."""
        return (np.asarray(points) + 0.5) * self.scale + self.offset - 0.5

    def points_to_image(self, points: Any) -> np.ndarray:
        """Where points of the input, (row, col) of shape (n, 2), lie on the image; outside it if padding."""
        return (np.asarray(points) + 0.5 - self.offset) / self.scale - 0.5

    def to_image(
        self,
        saliency: Any,
        *,
        shape: tuple[int, int] | None = None,
        outside: float | str = "lowest",
    ) -> np.ndarray:
        """A map of the input as one of the image in float32, by one bilinear sampling.

        Beyond the outermost centres of the grid its values go on unchanged.

        Parameters
        ----------
        saliency : array_like of number, shape (m, n)
            Finite. A grid of any size that covers the network's input: 7 x 7 or 224 x 224.
        shape : tuple of int, optional
            (height, width) of the result, a grid that covers the image; by default the image's own.
        outside : float or "lowest", default "lowest"
            What pixels get that the network did not see, since they were cropped away. "lowest": the
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
        rows, cols = (self._places(axis, n, grid.shape[axis]) for axis, n in ((0, height), (1, width)))
        if not rows.seen.any() or not cols.seen.any():
            raise ValueRangeError(
                f"shape {height} x {width} is too coarse: no centre of its pixels lies in what the network "
                "saw of the image"
            )
        across = _between(grid.T, cols, slice(None)).T
        image = np.empty((height, width), np.float32)
        for first in range(0, height, _STRIP):
            strip = slice(first, first + _STRIP)
            image[strip] = _between(across, rows, strip)
        if not (rows.seen.all() and cols.seen.all()):
            top, bottom, left, right = (np.flatnonzero(p.seen)[i] for p in (rows, cols) for i in (0, -1))
            lowest = image[top : bottom + 1, left : right + 1].min()
            image[~rows.seen] = image[:, ~cols.seen] = lowest if outside == "lowest" else float(outside)
        return image

    def to_input(self, saliency: Any) -> np.ndarray:
        """A map of the image as one of the network's input; the padding is never salient.

        It is a grid of any size that covers the image, sampled as `to_image` does; what lies in the padding
        gets the smallest value. Raises what that does.

        Examples
        --------
        >>> from salstats.images.geometry import Geometry
        >>> Geometry((1, 2), (1, 4), (1, 1), (0, 1)).to_input([[3.0, 5.0]])
        array([[3., 3., 5., 3.]], dtype=float32)
        """
        (row, col), (top, left) = self.scale, self.offset
        back = Geometry(self.network_shape, self.image_shape, (1 / row, 1 / col), (-top / row, -left / col))
        return back.to_image(saliency)

    def _places(self, axis: int, n: int, n_grid: int) -> "_Places":
        """Where the centres of n pixels along the image fall among those of a grid over the input."""
        edge = (np.arange(n) + 0.5) * (self.image_shape[axis] / n) * self.scale[axis] + self.offset[axis]
        side = self.network_shape[axis]
        seen = (edge >= -_ROUNDING) & (edge <= side + _ROUNDING)
        place = np.clip(edge * (n_grid / side) - 0.5, 0, n_grid - 1)
        before = np.minimum(place.astype(np.int64), max(0, n_grid - 2))
        after = np.minimum(before + 1, n_grid - 1)
        return _Places(before, after, (place - before).astype(np.float32), seen)


class _Places(NamedTuple):
    """Of each pixel along an axis: the grid's centres before and after it, and the share of the second."""

    before: np.ndarray
    after: np.ndarray
    share: np.ndarray
    seen: np.ndarray


def _between(values: np.ndarray, places: _Places, which: slice) -> np.ndarray:
    """Values along the first axis at some of the places between its centres."""
    low, high = values[places.before[which]], values[places.after[which]]
    high -= low
    high *= places.share[which, None]
    low += high
    return np.asarray(low)
