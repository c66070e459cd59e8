"""Densities of fixations that maps are compared with, and a saliency map read as one.

A density is an array (M, N) in the image's pixels, such as `images.fixations.fixation_density` gives: finite,
not negative, of any positive sum.
"""

from collections.abc import Sequence
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from salstats.checks import check_choice, check_number
from salstats.errors import ShapeError
from salstats.images.fixations import checked_density_pixels
from salstats.images.pixel_values import PRODUCT_BLOCK, PixelShares, PixelValues, pixel_blocks

#: Readings of a constant map as a density: undefined, or the uniform density.
CONSTANT_MAP_READINGS = ("nan", "uniform")


class Densities:
    """Densities on one image, checked and summed once for all the maps that are compared with them.

    `densities` is an array (k, M, N) or (M, N), where (M, N) is `shape`, that of the maps. ShapeError or
    ValueRangeError for a density of another shape, or one that is negative, not finite or 0 everywhere.
    """

    #: The densities, (k, M, N) in float64: the user's own array where it has this type, so never changed.
    values: np.ndarray
    #: The same with the pixels in row-major order, (k, M * N).
    flat: np.ndarray

    def __init__(self, densities: Any, shape: tuple[int, int]):
        """Check the densities, each to be of the maps' shape, finite, not negative and above 0 somewhere."""
        array = np.asarray(densities)
        if array.ndim not in (2, 3) or array.shape[-2:] != shape:
            raise ShapeError(
                f"map {shape} and densities {array.shape} do not fit together; densities have shape "
                f"(k, {shape[0]}, {shape[1]})",
                option="densities",
                value=array.shape,
            )
        stack = array.reshape(-1, *shape)
        self._pixels: list[PixelValues] = []
        for number, density in enumerate(stack, start=1):
            name = "density"
            if len(stack) > 1:
                name = f"density {number} of {len(stack)}"
            self._pixels.append(checked_density_pixels(density, shape, name))
        self.values = stack.astype(np.float64, copy=False)
        self.flat = self.values.reshape(len(stack), shape[0] * shape[1])

    def __len__(self) -> int:
        """Return the number of densities."""
        return len(self.values)

    @cached_property
    def sums(self) -> np.ndarray:
        """The sum of each density, (k,)."""
        return np.array([pixels.total for pixels in self._pixels])

    def correlations(self, saliency: PixelValues) -> np.ndarray:
        """Return Pearson's correlation of each density with a map, (k,); NaN where either is constant."""
        return correlations(saliency, self._pixels)


def correlations(saliency: PixelValues, densities: Sequence[PixelValues]) -> np.ndarray:
    """Return Pearson's correlation of a map with each density, (k,); NaN where map or density is constant.

    The sum of (m - mean m)(d - mean d) over the pixels, over the product of the norms of both deviations,
    for the values m of the map and d of a density.
    """
    if saliency.is_constant:
        return np.full(len(densities), np.nan)
    # values that hardly differ are scaled up, as their squared deviations would be 0 in float64
    saliency, _ = saliency.divided_by_tiny_spread()
    products = np.zeros(len(densities))
    squares = 0.0
    for block in pixel_blocks(saliency.flat.size, PRODUCT_BLOCK):
        deviations = saliency.flat[block] - saliency.mean
        squares += float(deviations @ deviations)
        for index, density in enumerate(densities):
            # deviations on both sides: the sum for a nearly constant density would lose its digits otherwise
            products[index] += (density.flat[block] - density.mean) @ deviations
    norms = np.array([density.deviation_norm for density in densities])
    norms[[density.is_constant for density in densities]] = np.nan
    # rounding may carry a perfect correlation past 1
    return np.asarray(np.clip(products / norms / sqrt(squares), -1, 1))


def as_density(
    pixels: PixelValues, *, added_to_each_pixel: float = 0.0, constant: str = "nan"
) -> PixelShares | None:
    """Return a map as a density of sum 1; None for a constant map that counts as undefined.

    A map that is negative somewhere is raised until its smallest value is 0, as in pysaliency; one that is
    not stays where it is. `added_to_each_pixel` is added after that and before the division, in the map's
    own unit. With `constant="uniform"` a constant map, even one of zeros, is the uniform density, as in
    pysaliency.
    """
    check_choice(constant, CONSTANT_MAP_READINGS, "constant")
    # metrics have it as an option called `minimum`
    minimum = check_number(added_to_each_pixel, "minimum")
    if not pixels.is_constant:
        return PixelShares(pixels, raised=-min(pixels.lowest, 0.0), minimum=minimum)
    if constant == "uniform":
        return PixelShares(PixelValues(np.ones(pixels.shape)))
    return None
