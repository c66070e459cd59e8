"""Where a reader looked: the fixations of one recording, and the map they make on the image."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from salstats.checks import ShapeError, ValueRangeError
from salstats.images.run_lengths import check_shape

#: Fixations multiplied at a time, so that a long recording needs no array larger than a few images.
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Fixations:
    """The fixations of one recording, checked when they are made; the arrays are copies, read-only.

    Attributes
    ----------
    points : ndarray of float64, shape (n, 2)
        (row, col) in pixels of the image, whose pixel k has its centre at k. A point may lie outside the
        image.
    duration : ndarray of float64, shape (n,)
        Seconds, 0 or more.
    sd : ndarray of float64, shape (n, 2)
        Pixels of the image per degree of visual angle along the rows (vertically) and along the columns,
        above 0.
    shown : ndarray of float64, shape (n, 4)
        Top, left, bottom, right of the part of the image that was on screen, in pixels; bottom and right
        are the first ones not shown. No extent is allowed, a negative one is not.

    Raises
    ------
    ShapeError
        The four do not have these shapes with one n.
    ValueRangeError
        A value is not finite or not in its range; the message counts fixations from 0.

    Examples
    --------
    >>> from salstats.images.fixations import Fixations
    >>> fixations = Fixations([[2, 1], [2, 3]], [0.2, 0.6], [[1, 1], [1, 1]], [[0, 0, 5, 5], [0, 0, 5, 5]])
    >>> len(fixations)
    2
    >>> Fixations([[2, 1]], [-0.2], [[1, 1]], [[0, 0, 5, 5]])
    Traceback (most recent call last):
    salstats.checks.ValueRangeError: fixation 0 has duration -0.2; it is in seconds, 0 or more
    """

    points: np.ndarray
    duration: np.ndarray
    sd: np.ndarray
    shown: np.ndarray

    def __post_init__(self) -> None:
        n = len(self.points) if np.ndim(self.points) else -1
        shapes = {"points": "(n, 2)", "duration": "(n,)", "sd": "(n, 2)", "shown": "(n, 4)"}
        for name, wanted in shapes.items():
            values = _numbers(getattr(self, name), name)
            if values.shape != ((n,) if name == "duration" else (n, int(wanted[-2]))):
                beside = f" beside {n} points" if name != "points" else ""
                raise ShapeError(f"{name} must have shape {wanted}, not {values.shape}{beside}")
            _refuse(~np.isfinite(values), values, name, "it must be finite")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        _refuse(self.duration < 0, self.duration, "duration", "it is in seconds, 0 or more")
        _refuse(self.sd <= 0, self.sd, "sd", "it is in pixels per degree, above 0")
        backwards = self.shown[:, 2:] < self.shown[:, :2]
        _refuse(backwards, self.shown, "shown", "top, left, bottom, right must not run backwards")

    def __len__(self) -> int:
        """Number of fixations."""
        return len(self.points)


def _numbers(values: Any, name: str) -> np.ndarray:
    """A new array of float64."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise ValueRangeError(f"{name} must hold real numbers, not {array.dtype}")
    return np.array(array, np.float64, order="C")


def _refuse(bad: np.ndarray, values: np.ndarray, name: str, rule: str) -> None:
    """Raise ValueRangeError for the first fixation that breaks a rule."""
    if bad.any():
        first = int(np.argwhere(bad)[0, 0])
        shown = " ".join(f"{value:g}" for value in np.atleast_1d(values[first]))
        raise ValueRangeError(f"fixation {first} has {name} {shown}; {rule}")


def fixation_map(fixations: Fixations, shape: tuple[int, int]) -> np.ndarray:
    """Where a reader looked as a density over an image's pixels.

    Each fixation adds a Gaussian of one degree of visual angle about its point, weighted by its duration,
    inside the part of the image that was on screen.

    Parameters
    ----------
    fixations : Fixations
    shape : tuple of int
        (height, width) of the image.

    Returns
    -------
    ndarray of float64, shape (height, width)
        0 or more, with sum 1.

    Raises
    ------
    ValueRangeError
        A part shown leaves the image, no fixation has a duration above 0, or no Gaussian reaches a pixel
        that was shown, so that there is no map. The shape is not two positive whole numbers.

    Notes
    -----
    The Gaussian is the density on the plane at the pixels' centres, and its part outside the image or the
    screen is lost: a fixation near the edge of the part shown weighs less. A point outside adds the tail
    that reaches inside. The part shown is from `round(top)` up to but without `round(bottom)`, halves to
    the even number, and likewise for columns.

    Gaussian and rectangle are products of a factor for rows and one for columns, so the map is a product
    of two matrices, (height, n) and (n, width): exact in float64, nothing is cut off.

    References
    ----------
    Bigolin Lanfredi R, Arora A, Drew T, Schroeder JD, Tasdizen T. Comparing radiologists' gaze and saliency
    maps generated by interpretability methods for chest x-rays. 2021.
    https://doi.org/10.48550/arXiv.2112.11716

    ricbl/etsaliencymaps, src/generate_heatmap_eyetracking.py at commit bd4b71d (which sums in float32).

    Examples
    --------
    >>> from salstats.images.fixations import Fixations, fixation_map
    >>> fixations = Fixations([[0, 1]], [0.2], [[1, 0.5]], [[0, 0, 2, 3]])
    >>> fixation_map(fixations, (2, 4)).round(3)
    array([[0.066, 0.49 , 0.066, 0.   ],
           [0.04 , 0.297, 0.04 , 0.   ]])
    """
    height, width = check_shape(shape)
    weight = fixations.duration
    if not (weight > 0).any():
        what = f"each of the {len(fixations)} fixations lasts 0 seconds" if len(fixations) else "no fixations"
        raise ValueRangeError(f"{what}; a fixation map needs one with a duration above 0")
    shown = np.rint(fixations.shown)
    leaves = (shown < 0) | (shown > np.array([height, width, height, width]))
    rule = f"top, left, bottom, right must lie within the image of {height} x {width} pixels"
    _refuse(leaves, fixations.shown, "shown", rule)

    weight = weight / weight.max()
    density, total = np.empty((height, width)), 0.0
    for start in range(0, len(fixations), _BLOCK):
        part = slice(start, start + _BLOCK)
        along_rows, along_cols = (
            _profiles(size, fixations.points[part, axis], fixations.sd[part, axis], shown[part, axis::2])
            for axis, size in enumerate((height, width))
        )
        along_rows *= weight[part]
        if start:
            density += along_rows @ along_cols.T
        else:
            np.matmul(along_rows, along_cols.T, out=density)
        total += along_rows.sum(axis=0) @ along_cols.sum(axis=0)
    if not np.finfo(np.float64).tiny < total < np.inf:
        raise ValueRangeError(
            f"the fixation map has sum {total:g} before it is made 1: no Gaussian reaches a pixel shown "
            "at its time; are points and sd in pixels of the image?"
        )
    density /= total
    return density


def _profiles(size: int, at: np.ndarray, sd: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Each fixation's Gaussian along one axis, 0 outside the pixels shown: (size, n)."""
    pixel = np.arange(size)[:, None]
    # a tiny sd puts every pixel infinitely far away, where the Gaussian is 0
    with np.errstate(over="ignore", divide="ignore"):
        gaussian = np.exp(-0.5 * ((pixel - at) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    gaussian[(pixel < shown[:, 0]) | (pixel >= shown[:, 1])] = 0
    return np.asarray(gaussian)
