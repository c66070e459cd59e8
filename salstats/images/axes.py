"""Positions of an image's pixels among the samples of a map laid over it, along one axis."""

from typing import NamedTuple

import numpy as np
from scipy import sparse


class InterpolationAxis(NamedTuple):
    """Pixels along one axis among a map's samples: linear interpolation with half-pixel centres."""

    #: For each pixel the index of the sample before it.
    low: np.ndarray
    #: For each pixel the index of the sample after it; at the end the last sample is both.
    high: np.ndarray
    #: For each pixel its distance from the sample before it, as a share of the distance between the two.
    fraction: np.ndarray
    n_samples: int

    @classmethod
    def of(cls, n_samples: int, n_pixels: int, pixels: range | None = None) -> "InterpolationAxis":
        """Return the axis of `n_samples` samples on `n_pixels` pixels, or on a range of these pixels.

        Pixel i is at `((2i + 1) n_samples - n_pixels) / (2 n_pixels)` among the samples, which is
        `(i + 1/2) n_samples / n_pixels - 1/2`. It is computed in whole numbers, so that no rounding moves it
        off a sample.
        """
        if pixels is None:
            pixels = range(n_pixels)
        pixel = np.arange(pixels.start, pixels.stop)
        # a position p is p / denominator samples from the first
        denominator = 2 * n_pixels
        position = np.clip((2 * pixel + 1) * n_samples - n_pixels, 0, denominator * (n_samples - 1))
        low, remainder = np.divmod(position, denominator)
        high = np.minimum(low + 1, n_samples - 1)
        return cls(low, high, remainder / denominator, n_samples)

    @property
    def first_pixel_after_each_sample(self) -> np.ndarray:
        """First pixel at or after each sample, 0 for the first sample; last the number of pixels."""
        return np.searchsorted(self.low, np.arange(self.n_samples + 1))

    @property
    def sample_weight_sums(self) -> np.ndarray:
        """The weight of each sample in the sum over all pixels."""
        low_weights = np.bincount(self.low, 1 - self.fraction, minlength=self.n_samples)
        high_weights = np.bincount(self.high, self.fraction, minlength=self.n_samples)
        return low_weights + high_weights

    @property
    def weights(self) -> sparse.csr_array:
        """The weight of each sample in each pixel, (pixels, samples); weights of 0 are stored too."""
        pixel = np.arange(len(self.low))
        values = np.concatenate([1 - self.fraction, self.fraction])
        rows = np.concatenate([pixel, pixel])
        columns = np.concatenate([self.low, self.high])
        return sparse.csr_array((values, (rows, columns)), shape=(len(pixel), self.n_samples))
