"""Where an image's pixels lie among the samples of a map laid over it, along one axis."""

from typing import NamedTuple

import numpy as np
from scipy import sparse


class Axis(NamedTuple):
    """The pixels of one axis among a map's samples: bilinear interpolation with half-pixel centres."""

    # low, high: one per pixel, the samples before and after it; the last one twice at the end
    low: np.ndarray
    high: np.ndarray
    part: np.ndarray  # one per pixel, how far along it lies between them
    n_samples: int

    @classmethod
    def of(cls, n_samples: int, n_pixels: int, kept: range | None = None) -> "Axis":
        """The axis of so many samples on so many pixels, or on some of these.

        Pixel i is at `((2i + 1) n_samples - n_pixels) / (2 n_pixels)` among the samples, reckoned in whole
        numbers until the division, so that none falls a hair beside a sample.
        """
        pixel = np.arange(n_pixels) if kept is None else np.arange(kept.start, kept.stop)
        place = np.clip((2 * pixel + 1) * n_samples - n_pixels, 0, 2 * n_pixels * (n_samples - 1))
        low, rest = np.divmod(place, 2 * n_pixels)
        return cls(low, np.minimum(low + 1, n_samples - 1), rest / (2 * n_pixels), n_samples)

    @property
    def starts(self) -> np.ndarray:
        """The first pixel after each sample, and last the number of pixels."""
        return np.searchsorted(self.low, np.arange(self.n_samples + 1))

    @property
    def totals(self) -> np.ndarray:
        """What each sample counts for in the sum over all pixels."""
        before = np.bincount(self.low, 1 - self.part, minlength=self.n_samples)
        return before + np.bincount(self.high, self.part, minlength=self.n_samples)

    @property
    def weights(self) -> sparse.csr_array:
        """What each sample counts for in each pixel, (pixels, samples); weights of 0 stand there too."""
        pixel = np.arange(len(self.low))
        values = np.concatenate([1 - self.part, self.part])
        places = np.concatenate([pixel, pixel]), np.concatenate([self.low, self.high])
        return sparse.csr_array((values, places), shape=(len(pixel), self.n_samples))
