"""The pointing game: a map, or a person, points into the truth or misses it.

Every score is 1 for a hit and 0 for a miss, more is better, and it is NaN where the truth is empty, and only
there: a constant map, or a reader who marked nothing, points nowhere and has missed.
"""

from typing import Any

import numpy as np

from salstats.checks import check_shape_of_points
from salstats.errors import ValueRangeError
from salstats.images.maps import SaliencyOnImage
from salstats.images.masks import Rle, area, contains, encode
from salstats.metrics.records import Metric


def hit(saliency: Any, truth: Rle | np.ndarray) -> float:
    """Return 1 if a map's first maximum lies in the truth, else 0: the pointing game.

    0 for a constant map, which points nowhere; NaN where the truth is empty.

    Parameters
    ----------
    saliency : array_like of float, shape (m, n)
        A map of any size, which is laid over the truth's image.
    truth : Rle or ndarray of bool, shape (M, N)

    Raises
    ------
    ShapeError, ValueRangeError
        The map or the truth does not have two dimensions, or the map holds NaN or infinity.

    Notes
    -----
    The first maximum in row-major order counts, that of the map after resizing and before any smoothing. As
    in the CheXlocalize scripts (`eval.py`, commit 2a79492); Saliency-Bench counts any maximum, see `hit_any`.

    References
    ----------
    Zhang, J. et al. (2018). Top-down neural attention by excitation backprop. International Journal of
    Computer Vision 126, 1084-1102. doi:10.1007/s11263-017-1059-x

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.pointing import hit
    >>> hit(np.array([[0.1, 0.9], [0.2, 0.3]]), np.array([[0, 1], [0, 0]]))
    1.0
    """
    reference = _as_rle(truth)
    peak = SaliencyOnImage(saliency, reference.shape).peak
    points = [] if peak is None else [peak]
    return any_point_hits(points, reference)


def hit_any(saliency: Any, truth: Rle | np.ndarray) -> float:
    """Return 1 if any of a map's maxima lies in the truth, else 0.

    0 for a constant map, which points nowhere; NaN where the truth is empty. Takes and raises what
    `hit` does, and is never less.

    Notes
    -----
    Saliency-Bench's rule (XAIdataset/XAIdataset.github.io, commit c8641d9), in which a constant map, whose
    every pixel is a maximum, is a hit. Maps are saturated often enough for it to matter: a plateau touches
    the truth more easily than its first pixel lies in it.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.pointing import hit, hit_any
    >>> saliency, truth = np.array([[0.9, 0.9], [0.2, 0.3]]), np.array([[0, 1], [0, 0]])
    >>> hit(saliency, truth), hit_any(saliency, truth)
    (0.0, 1.0)
    """
    reference = _as_rle(truth)
    return any_point_hits(SaliencyOnImage(saliency, reference.shape).peaks, reference)


def any_point_hits(points: Any, truth: Rle | np.ndarray) -> float:
    """Return 1 if any of the points that a person marked lies in the truth, else 0.

    0 without points; NaN where the truth is empty.

    Parameters
    ----------
    points : array_like of number, shape (n, 2)
        (row, col) in pixels; n may be 0. Fractions are cut off, toward zero.
    truth : Rle or ndarray of bool, shape (M, N)

    Raises
    ------
    ShapeError, ValueRangeError
        The points are not pairs of numbers.

    Notes
    -----
    A point outside the image lies in no truth. In the CheXlocalize scripts (`eval.py`, commit 2a79492) a
    negative coordinate counts from the other end, and one beyond the image stops the run.
    """
    array = check_shape_of_points(points, "points")
    if array.dtype.kind not in "iuf" or np.isnan(array).any():
        raise ValueRangeError("points must be numbers (row, col), without NaN", option="points")
    reference = _as_rle(truth)
    if not area(reference):
        return float("nan")
    rows, cols = np.trunc(array).T
    return float(contains(reference, rows, cols).any())


def _as_rle(truth: Rle | np.ndarray) -> Rle:
    """Return the truth as run lengths."""
    return truth if isinstance(truth, Rle) else encode(truth)


HIT = Metric(
    name="hit",
    label="Hit rate",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source="CheXlocalize (rajpurkarlab/cheXlocalize, eval.py, commit 2a79492): the first maximum",
    needs=("marked_points_or_peak", "runs"),
    kernel=any_point_hits,
)
HIT_ANY = Metric(
    name="hit_any",
    label="Hit rate (any maximum)",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source="Saliency-Bench (XAIdataset/XAIdataset.github.io, commit c8641d9): any maximum",
    needs=("marked_points_or_peaks", "runs"),
    kernel=any_point_hits,
)
