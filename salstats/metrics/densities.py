"""Densities of fixations that maps are compared with, and a saliency map read as one.

A density is an array (M, N) in the image's pixels, such as `images.fixations.fixation_map` gives: finite, not
negative, of any positive sum.
"""

from functools import cached_property
from typing import Any

import numpy as np

from salstats.checks import ShapeError, check_choice, check_number
from salstats.images.fixations import check_density
from salstats.images.peaks import rounding

#: What a constant map is where maps are read as densities.
CONSTANT = ("nan", "uniform")
#: Standard deviation, as a share of the mean, below which a density is taken about its mean before it is
#: multiplied: the difference of two products would lose more than three digits.
_NEARLY_CONSTANT = 1e-3


def is_constant(values: np.ndarray) -> bool:
    """Whether an array takes one value only, but for rounding (1e-14 of its largest magnitude)."""
    return bool(values.max() - values.min() <= rounding(values))


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
        for number, one in enumerate(stack, 1):
            check_density(one, shape, f"density {number} of {len(stack)}" if len(stack) > 1 else "density")
        self.values = stack.astype(np.float64, copy=False)
        self.flat = self.values.reshape(len(stack), shape[0] * shape[1])

    def __len__(self) -> int:
        """How many densities there are."""
        return len(self.values)

    @cached_property
    def sums(self) -> np.ndarray:
        """The sum of each density."""
        return np.asarray(self.flat.sum(axis=1))

    @cached_property
    def _lengths(self) -> np.ndarray:
        """The length of each density about its mean; NaN where it is constant."""
        return np.array(
            [np.nan if is_constant(one) else np.linalg.norm(one - one.mean()) for one in self.flat]
        )

    def correlations(self, standard: np.ndarray) -> np.ndarray:
        """Pearson's correlations with values about their mean, of length 1; NaN for a constant density."""
        means = self.sums / self.flat.shape[1]
        # what rounding leaves of the values' sum must not be multiplied by a mean
        found = (self.flat @ standard - means * standard.sum()) / self._lengths
        spreads = self._lengths / np.sqrt(self.flat.shape[1])
        for i in np.flatnonzero(spreads < _NEARLY_CONSTANT * means):
            found[i] = (self.flat[i] - means[i]) @ standard / self._lengths[i]
        # rounding may carry a perfect correlation past 1
        return np.clip(found, -1, 1)


def as_density(values: np.ndarray, *, minimum: float = 0.0, constant: str = "nan") -> np.ndarray | None:
    """A map read as a density of sum 1, or None where it says nothing.

    A map that is negative somewhere is raised until its smallest value is 0, as in pysaliency; one that is
    not stays where it is. A minimum is added to every pixel after that and before the division, in the map's
    own unit. A constant map says nothing, or is the uniform density (as in pysaliency; a map of zeros too).
    """
    check_choice(constant, CONSTANT, "constant")
    added = check_number(minimum, "minimum")
    if is_constant(values):
        return None if constant == "nan" else np.full(values.shape, 1 / values.size)
    raised = values - min(float(values.min()), 0.0) + added
    return np.asarray(raised / raised.sum())
