"""Whether a map, or a person, points into the truth.

Every score is 1 for a hit and 0 for none, more is better, and it is NaN where the truth is empty, and only
there: who points nowhere (a constant map, a reader who marked nothing) has missed.
"""

from typing import Any

import numpy as np

from salstats.checks import ShapeError, ValueRangeError
from salstats.images.maps import SaliencyOnImage
from salstats.images.masks import Rle, contains, encode, runs
from salstats.metrics.records import Metric


def hit(saliency: SaliencyOnImage | np.ndarray | tuple[int, int] | None, truth: Rle | np.ndarray) -> float:
    """Whether a map's first maximum lies in the truth: the pointing game.

    Parameters
    ----------
    saliency : SaliencyOnImage or ndarray of float, shape (m, n), or tuple of int, or None
        A map laid over the image; a map of any size, which is laid over it here; or its peak, (row, col),
        None where it has none.
    truth : Rle or ndarray of bool, shape (M, N)

    Returns
    -------
    float
        1 where the first maximum in row-major order lies in the truth, else 0; 0 for a constant map; NaN
        where the truth is empty.

    Raises
    ------
    ShapeError
        The map is laid over an image of another shape, or is no map.
    ValueRangeError
        The map or the peak holds NaN, or the map infinity.

    Notes
    -----
    The maximum is that of the map after resizing and before any smoothing. As in the CheXlocalize scripts
    (`eval.py`, commit 2a79492); Saliency-Bench counts any maximum, see `hit_any`.

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
    >>> hit(None, np.array([[0, 1], [0, 0]]))
    0.0
    """
    reference = _reference(truth)
    if saliency is None or isinstance(saliency, tuple):
        return _any_inside(np.reshape([] if saliency is None else saliency, (-1, 2)), reference)
    peak = _laid(saliency, reference).peak
    return hit(peak, reference)


def hit_any(saliency: SaliencyOnImage | np.ndarray, truth: Rle | np.ndarray) -> float:
    """Whether any of a map's maxima lies in the truth.

    Parameters
    ----------
    saliency : SaliencyOnImage or ndarray of float, shape (m, n)
        A map laid over the image, or one of any size, which is laid over it here.
    truth : Rle or ndarray of bool, shape (M, N)

    Returns
    -------
    float
        1 where a pixel at which the resized map is largest lies in the truth, else 0; 0 for a constant map,
        whose every pixel is a maximum; NaN where the truth is empty. Never less than `hit`.

    Raises
    ------
    ShapeError, ValueRangeError
        As in `hit`.

    Notes
    -----
    Saliency-Bench's rule (XAIdataset/XAIdataset.github.io, commit c8641d9), in which a constant map is a
    hit. Maps are saturated often enough for it to matter: a plateau touches the truth more easily than its
    first pixel lies in it.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.pointing import hit, hit_any
    >>> saliency, truth = np.array([[0.9, 0.9], [0.2, 0.3]]), np.array([[0, 1], [0, 0]])
    >>> hit(saliency, truth), hit_any(saliency, truth)
    (0.0, 1.0)
    """
    reference = _reference(truth)
    return _any_inside(_laid(saliency, reference).peaks, reference)


def points_hit(points: Any, truth: Rle | np.ndarray) -> float:
    """Whether any of the points that a person marked lies in the truth.

    Parameters
    ----------
    points : array_like of number, shape (n, 2)
        (row, col) in pixels; n may be 0. Fractions are cut off, toward zero.
    truth : Rle or ndarray of bool, shape (M, N)

    Returns
    -------
    float
        1 where a point lies in the truth, else 0; 0 where no point is marked; NaN where the truth is empty.

    Raises
    ------
    ShapeError
        The points are not pairs.
    ValueRangeError
        A coordinate is not a number.

    Notes
    -----
    A point outside the image lies in no truth. In the CheXlocalize scripts (`eval.py`, commit 2a79492) a
    negative coordinate counts from the other end, and one beyond the image stops the run.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.pointing import points_hit
    >>> points_hit([(0.9, 1.2), (5, 5)], np.array([[0, 1], [0, 0]]))
    1.0
    >>> points_hit([], np.array([[0, 1], [0, 0]]))
    0.0
    """
    array = np.asarray(points)
    if array.size == 0:
        array = np.empty((0, 2))
    if array.ndim != 2 or array.shape[1] != 2:
        raise ShapeError(f"points must have shape (n, 2), a row and a column each, not {array.shape}")
    if array.dtype.kind not in "iuf" or np.isnan(array).any():
        raise ValueRangeError("points must be numbers (row, col), without NaN")
    return _any_inside(np.trunc(array), _reference(truth))


def _any_inside(points: np.ndarray, truth: Rle) -> float:
    """Return 1.0 where any point lies in the truth, else 0.0; NaN where the truth is empty."""
    if not len(runs(truth)[0]):
        return float("nan")
    return float(contains(truth, points[:, 0], points[:, 1]).any())


def _reference(truth: Rle | np.ndarray) -> Rle:
    """Truth as run lengths."""
    return truth if isinstance(truth, Rle) else encode(truth)


def _laid(saliency: SaliencyOnImage | np.ndarray, truth: Rle) -> SaliencyOnImage:
    """Map laid over the truth's image."""
    if not isinstance(saliency, SaliencyOnImage):
        return SaliencyOnImage(saliency, truth.shape)
    if saliency.shape != truth.shape:
        raise ShapeError(f"truth {truth.shape} must have the image's shape, {saliency.shape}")
    return saliency


HIT = Metric(
    "hit", "Hit rate", 0, 1, 1, True,
    "CheXlocalize (rajpurkarlab/cheXlocalize, eval.py, commit 2a79492): the first maximum",
    ("peak", "runs"), points_hit,
)  # fmt: skip
HIT_ANY = Metric(
    "hit_any", "Hit rate (any maximum)", 0, 1, 1, True,
    "Saliency-Bench (XAIdataset/XAIdataset.github.io, commit c8641d9): any maximum",
    ("peaks", "runs"), points_hit,
)  # fmt: skip
