"""Positions of an image's pixels among the samples of a map laid over it, along one axis."""

from typing import NamedTuple

import numpy as np
from scipy import sparse


class Axis(NamedTuple):
    """Pixels of one axis among a map's samples: bilinear interpolation with half-pixel centres."""

    #: For each pixel the sample before it.
    low: np.ndarray
    #: For each pixel the sample after it; at the end the last sample is both.
    high: np.ndarray
    #: For each pixel its distance from the sample before it, as a share of the distance between the two.
    part: np.ndarray
    n_samples: int

    @classmethod
    def of(cls, n_samples: int, n_pixels: int, pixels: range | None = None) -> "Axis":
        """Return the axis of so many samples on so many pixels, or on a range of these.

        Pixel i is at `((2i + 1) n_samples - n_pixels) / (2 n_pixels)` among the samples, computed in whole
        numbers until the division, so that no rounding moves it off a sample.
        """
        if pixels is None:
            pixels = range(n_pixels)
        pixel = np.arange(pixels.start, pixels.stop)
        unit = 2 * n_pixels
        position = np.clip((2 * pixel + 1) * n_samples - n_pixels, 0, unit * (n_samples - 1))
        low, remainder = np.divmod(position, unit)
        return cls(low, np.minimum(low + 1, n_samples - 1), remainder / unit, n_samples)

    @property
    def starts(self) -> np.ndarray:
        """The first pixel after each sample, and last the number of pixels."""
        return np.searchsorted(self.low, np.arange(self.n_samples + 1))

    @property
    def totals(self) -> np.ndarray:
        """The weight of each sample in the sum over all pixels."""
        low_weights = np.bincount(self.low, 1 - self.part, minlength=self.n_samples)
        high_weights = np.bincount(self.high, self.part, minlength=self.n_samples)
        return low_weights + high_weights

    @property
    def weights(self) -> sparse.csr_array:
        """The weight of each sample in each pixel, (pixels, samples); weights of 0 are stored too."""
        pixel = np.arange(len(self.low))
        values = np.concatenate([1 - self.part, self.part])
        rows = np.concatenate([pixel, pixel])
        columns = np.concatenate([self.low, self.high])
        return sparse.csr_array((values, (rows, columns)), shape=(len(pixel), self.n_samples))
