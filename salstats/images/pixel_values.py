"""Values of an image's pixels with their extremes, and sums over pixels without arrays of the image's size.

An array of a million pixels that is made anew in each step costs more than the sums that are taken of it:
sums go through blocks of pixels that stay in the processor's cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

#: What rounding in float64 can make of equal values, as a share of their largest magnitude.
ROUNDING = 1e-14
#: Values that differ by less are divided by their spread before deviations are squared.
_SMALLEST_SPREAD = 1e-140
#: Pixels of a block: few enough for the cache, many enough that calls cost little.
_BLOCK = 32768
#: The same of blocks that are multiplied as vectors: OpenBLAS starts threads beyond 10,000 numbers.
PRODUCT_BLOCK = 8192


def pixel_blocks(n_pixels: int, size: int = _BLOCK) -> Iterator[slice]:
    """Yield the blocks that pixels in row-major order are summed in."""
    for start in range(0, n_pixels, size):
        yield slice(start, start + size)


@dataclass(frozen=True, eq=False)
class PixelValues:
    """Values of at least one pixel in float64, with their extremes and sums; they must not be changed."""

    values: np.ndarray

    @cached_property
    def lowest(self) -> float:
        """The smallest value, NaN where one is."""
        return float(self.values.min())

    @cached_property
    def highest(self) -> float:
        """The largest value, NaN where one is."""
        return float(self.values.max())

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image."""
        return self.values.shape

    @property
    def largest_rounding_difference(self) -> float:
        """The largest difference that rounding can make of equal values."""
        return ROUNDING * max(self.highest, -self.lowest)

    @property
    def is_constant(self) -> bool:
        """True where the pixels have one value only, but for rounding."""
        return self.highest - self.lowest <= self.largest_rounding_difference

    @cached_property
    def flat(self) -> np.ndarray:
        """The values in row-major order."""
        return self.values.reshape(-1)

    @cached_property
    def total(self) -> float:
        """The sum of the values, infinite where it is too large for a float."""
        with np.errstate(over="ignore"):
            return float(self.values.sum())

    @cached_property
    def mean(self) -> float:
        """The mean of the values."""
        return self.total / self.flat.size

    def divided_by_tiny_spread(self) -> tuple["PixelValues", float]:
        """Return scaled values and the divisor: their product is the values here.

        Where values differ by so little that their squared deviations would be 0 in float64, the values are
        divided by their spread; else, and where all are equal, they are returned as they are, with 1.
        """
        spread = self.highest - self.lowest
        if spread == 0 or spread > _SMALLEST_SPREAD:
            return self, 1.0
        return PixelValues(self.values / spread), spread

    @cached_property
    def deviation_norm(self) -> float:
        """The norm of the deviations from the mean: the root of the sum of their squares."""
        scaled, factor = self.divided_by_tiny_spread()
        if factor != 1:
            return factor * scaled.deviation_norm
        squares = 0.0
        mean = self.mean
        buffer = np.empty(PRODUCT_BLOCK)
        for block in pixel_blocks(self.flat.size, PRODUCT_BLOCK):
            values = self.flat[block]
            deviations = np.subtract(values, mean, out=buffer[: len(values)])
            squares += float(deviations @ deviations)
        return sqrt(squares)


class PixelShares:
    """Values of pixels as shares of their sum, after a number was added to each.

    Where nothing is added to values of 0 or more they are divided by their sum.
    """

    def __init__(self, pixels: PixelValues, *, raised: float = 0.0, minimum: float = 0.0) -> None:
        """Sum the values of the pixels after `raised` and then `minimum` were added to each."""
        self._flat = pixels.flat
        self._raised = raised
        self._minimum = minimum
        #: The sum of the raised values.
        self.total = pixels.total
        if raised or minimum:
            self.total = sum(
                float(self.raised_values_before_division_by_total(block).sum())
                for block in pixel_blocks(len(self._flat))
            )

    def shares_at(self, pixels: slice | np.ndarray) -> np.ndarray:
        """Return the shares of some pixels, which are flat indices in row-major order of the image."""
        return self.raised_values_before_division_by_total(pixels) / self.total

    def raised_values_before_division_by_total(self, pixels: slice | np.ndarray) -> np.ndarray:
        """Return the values of some pixels with what is added to each, before they are shares."""
        values = self._flat[pixels]
        if self._raised:
            values = values + self._raised
        if self._minimum:
            values = values + self._minimum
        return values
