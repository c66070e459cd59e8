"""Densities of fixations that maps are compared with, and a saliency map read as one.

A density is an array (M, N) in the image's pixels, such as `images.fixations.fixation_map` gives: finite, not
negative, of any positive sum.
"""

from collections.abc import Sequence
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from salstats.checks import check_choice, check_number
from salstats.errors import ShapeError
from salstats.images.fixations import density_pixels
from salstats.images.pixel_values import PRODUCT_BLOCK, PixelShares, PixelValues, pixel_blocks

#: What a constant map is where maps are read as densities.
CONSTANT = ("nan", "uniform")


class Densities:
    """Densities on one image, checked and summed once for all the maps that are compared with them.

    They are (k, M, N) or (M, N) for maps of `shape`; `values` is the array itself where nothing has to
    change, and must not be changed. One that is of another shape, negative, not finite or 0 everywhere is an
    error.
    """

    def __init__(self, densities: Any, shape: tuple[int, int]):
        given = np.asarray(densities)
        if given.ndim not in (2, 3) or given.shape[-2:] != shape:
            raise ShapeError(
                f"map {shape} and densities {given.shape} do not fit together; densities have shape "
                f"(k, {shape[0]}, {shape[1]})"
            )
        stack = given.reshape(-1, *shape)
        self._each: list[PixelValues] = []
        for number, one in enumerate(stack, 1):
            name = f"density {number} of {len(stack)}" if len(stack) > 1 else "density"
            self._each.append(density_pixels(one, shape, name))
        self.values = stack.astype(np.float64, copy=False)
        self.flat = self.values.reshape(len(stack), shape[0] * shape[1])

    def __len__(self) -> int:
        """How many densities there are."""
        return len(self.values)

    @cached_property
    def sums(self) -> np.ndarray:
        """The sum of each density."""
        return np.array([density.total for density in self._each])

    def correlations(self, saliency: PixelValues) -> np.ndarray:
        """Pearson's correlations with a map; NaN for a constant density, and a constant map."""
        return correlations(saliency, self._each)


def correlations(saliency: PixelValues, densities: Sequence[PixelValues]) -> np.ndarray:
    """Pearson's correlations of a map with densities; NaN for a constant density, and a constant map."""
    if saliency.is_constant:
        return np.full(len(densities), np.nan)
    saliency, _ = saliency.scaled_up()
    products = np.zeros(len(densities))
    squares = 0.0
    for block in pixel_blocks(saliency.flat.size, PRODUCT_BLOCK):
        deviations = saliency.flat[block] - saliency.mean
        squares += float(deviations @ deviations)
        for place, density in enumerate(densities):
            # about its mean, too: a density that is nearly constant would lose its digits
            products[place] += (density.flat[block] - density.mean) @ deviations
    lengths = np.array([np.nan if density.is_constant else density.length for density in densities])
    # rounding may carry a perfect correlation past 1
    return np.clip(products / lengths / sqrt(squares), -1, 1)


def as_density(pixels: PixelValues, *, minimum: float = 0.0, constant: str = "nan") -> PixelShares | None:
    """A map read as a density of sum 1, or None where it says nothing.

    A map that is negative somewhere is raised until its smallest value is 0, as in pysaliency; one that is
    not stays where it is. A minimum is added to every pixel after that and before the division, in the map's
    own unit. A constant map says nothing, or is the uniform density (as in pysaliency; a map of zeros too).
    """
    check_choice(constant, CONSTANT, "constant")
    added = check_number(minimum, "minimum")
    if pixels.is_constant:
        return None if constant == "nan" else PixelShares(PixelValues(np.ones(pixels.shape)))
    return PixelShares(pixels, raised=-min(pixels.lowest, 0.0), minimum=added)
