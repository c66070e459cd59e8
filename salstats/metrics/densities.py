"""What a density of fixations is: its checks, and a saliency map read as one."""

from functools import cached_property
from typing import Any

import numpy as np

from salstats.checks import ShapeError, ValueRangeError, check_choice
from salstats.images.peaks import rounding

#: What a constant map is where maps are read as densities.
CONSTANT = ("nan", "uniform")
#: Standard deviation, as a share of the mean, below which a density is taken about its mean before it is
#: multiplied: the difference of two products would lose more than three digits.
_NEARLY_CONSTANT = 1e-3


def is_constant(values: np.ndarray) -> bool:
    """Whether an array takes one value only, but for rounding (1e-14 of its largest magnitude).

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.densities import is_constant
    >>> is_constant(np.array([[0.3, 0.1 + 0.2]])), is_constant(np.array([[0.0, 1e-300]]))
    (True, False)
    """
    return bool(values.max() - values.min() <= rounding(values))


def check_density(density: Any, shape: tuple[int, int], name: str = "density") -> np.ndarray:
    """A density in float64: finite, not negative, with a positive sum, in the map's shape.

    Parameters
    ----------
    density : array_like of number, shape (M, N)
        Its sum need not be 1.
    shape : tuple of int
        (height, width) of the map.
    name : str
        For messages.

    Returns
    -------
    ndarray of float64, shape (M, N)
        The array itself where nothing has to change. It is divided by its maximum where that lies outside
        1e-200 ... 1e200, so that sums and quotients stay in range.

    Raises
    ------
    ShapeError
        The density does not have the map's shape.
    ValueRangeError
        It is negative or not finite somewhere, or nothing but 0.

    Examples
    --------
    >>> from salstats.metrics.densities import check_density
    >>> check_density([[0, 2]], (1, 2))
    array([[0., 2.]])
    """
    array = np.asarray(density)
    if array.shape != shape:
        raise ShapeError(
            f"map {shape} and {name} {array.shape} must have the same shape; "
            "resize the map with images.map_steps.resize"
        )
    if array.dtype.kind not in "biuf":
        raise ValueRangeError(f"{name} must hold real numbers, not {array.dtype}")
    array = array.astype(np.float64, copy=False)
    # NaN goes through both
    lowest, highest = float(array.min()), float(array.max())
    if not np.isfinite([lowest, highest]).all():
        n_bad = array.size - np.count_nonzero(np.isfinite(array))
        raise ValueRangeError(f"{n_bad} of {array.size} pixels of {name} are NaN or infinite")
    if lowest < 0:
        n_bad = np.count_nonzero(array < 0)
        raise ValueRangeError(
            f"{n_bad} of {array.size} pixels of {name} are negative, down to {lowest:g}; "
            "a density is 0 where nobody looked"
        )
    if highest == 0:
        raise ValueRangeError(f"{name} is 0 everywhere; a density has a positive sum")
    return array if 1e-200 < highest < 1e200 else array / highest


def check_densities(densities: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return densities in float64, shape (k, M, N); one of shape (M, N) is taken too.

    Raises what `check_density` does, and names the density.

    Examples
    --------
    >>> from salstats.metrics.densities import check_densities
    >>> check_densities([[0, 2]], (1, 2)).shape
    (1, 1, 2)
    """
    arrays = np.asarray(densities)
    if arrays.ndim == 2:
        return check_density(arrays, shape)[None]
    if arrays.ndim != 3 or arrays.shape[1:] != shape:
        raise ShapeError(
            f"map {shape} and densities {arrays.shape} do not fit together; "
            f"densities have shape (k, {shape[0]}, {shape[1]})"
        )
    names = [f"density {number} of {len(arrays)}" for number in range(1, len(arrays) + 1)]
    checked = [check_density(one, shape, name) for one, name in zip(arrays, names, strict=True)]
    if all(np.may_share_memory(one, arrays) for one in checked):
        return arrays
    return np.array(checked)


class Densities:
    """Densities on one image, checked and summed once for all the maps that are compared with them.

    Parameters
    ----------
    densities : array_like of number, shape (k, M, N) or (M, N)
    shape : tuple of int
        (height, width) of the maps.

    Attributes
    ----------
    values : ndarray of float64, shape (k, M, N)
        The array itself where nothing has to change; it must not be changed afterwards.

    Raises
    ------
    ShapeError, ValueRangeError
        As in `check_densities`.

    Examples
    --------
    >>> from salstats.metrics.densities import Densities
    >>> Densities([[0, 2]], (1, 2)).sums
    array([2.])
    """

    def __init__(self, densities: Any, shape: tuple[int, int]):
        self.values = check_densities(densities, shape)
        self.flat = self.values.reshape(len(self.values), shape[0] * shape[1])

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
        return np.array([np.nan if is_constant(one) else _length(one) for one in self.flat])

    def correlations(self, standard: np.ndarray) -> np.ndarray:
        """Return Pearson's correlation of each density with values about their mean, of length 1.

        Parameters
        ----------
        standard : ndarray of float64, shape (M * N,)

        Returns
        -------
        ndarray of float64, shape (k,)
            NaN for a constant density.
        """
        means = self.sums / self.flat.shape[1]
        # what rounding leaves of the values' sum must not be multiplied by a mean
        found = (self.flat @ standard - means * standard.sum()) / self._lengths
        spreads = self._lengths / np.sqrt(self.flat.shape[1])
        for i in np.flatnonzero(spreads < _NEARLY_CONSTANT * means):
            found[i] = (self.flat[i] - means[i]) @ standard / self._lengths[i]
        # rounding may carry a perfect correlation past 1
        return np.clip(found, -1, 1)


def _length(flat: np.ndarray) -> float:
    """Length of values about their mean."""
    largest = float(flat.max())
    # squares of huge or tiny values would leave the range of float64
    unit = 1.0 if 1e-100 < largest < 1e100 else largest
    about = flat / unit if unit != 1 else flat
    about = about - about.mean()
    return float(np.sqrt(about @ about)) * unit


def as_density(values: np.ndarray, *, minimum: float = 0.0, constant: str = "nan") -> np.ndarray | None:
    """A map read as a density of sum 1, or None where it says nothing.

    Parameters
    ----------
    values : ndarray of float64, shape (M, N)
        Finite. A map that is negative somewhere is raised until its smallest value is 0, as in pysaliency;
        one that is not stays where it is.
    minimum : float, default 0
        Added to every pixel after that and before the division, in the map's own unit.
    constant : {"nan", "uniform"}, default "nan"
        What a constant map is: nothing, or the uniform density (as in pysaliency; a map of zeros too).

    Returns
    -------
    ndarray of float64, shape (M, N), or None
        None for a constant map, unless it counts as uniform.

    Raises
    ------
    ValueRangeError
        The minimum is negative or not finite, or the option is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.densities import as_density
    >>> as_density(np.array([[-1.0, 0.0, 2.0]]))
    array([[0.  , 0.25, 0.75]])
    >>> as_density(np.zeros((1, 2)), constant="uniform")
    array([[0.5, 0.5]])
    """
    check_choice(constant, CONSTANT, "constant")
    added = check_not_negative(minimum, "minimum")
    if is_constant(values):
        return None if constant == "nan" else np.full(values.shape, 1 / values.size)
    lowest, highest = float(values.min()), float(values.max())
    raised = values - min(lowest, 0.0)
    # the unit of the largest value, so that the sum stays in range
    unit = max(highest - min(lowest, 0.0), added)
    density = raised / unit + added / unit
    return np.asarray(density / density.sum())


def check_not_negative(value: Any, option: str) -> float:
    """A finite number that is not negative."""
    known = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not known or not 0 <= value < np.inf:
        raise ValueRangeError(f"{option} must be a number of at least 0, not {value!r}")
    return float(value)
