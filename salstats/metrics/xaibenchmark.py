"""Saliency-Bench's four scores by the rules of its package `xaibenchmark`, to compare with its numbers.

They are kept apart from the metrics of this package because the rules differ and the names do not:

=========  ==========================================  =============================================
name       here, as `xaibenchmark` has it              `metrics.overlap` and `metrics.pointing`
=========  ==========================================  =============================================
iou        map > 0, whatever its scale                 a mask is made first (Otsu, threshold, ...)
precision  map > 0                                     the same mask as iou
recall     map > 0.5: another mask than the others'    the same mask as iou
hit        any maximum; a constant map is a hit        the first maximum; a constant map is no hit
truth      cut to whole numbers, but not by `hit`      a mask
empty      a truth that adds up to 0 is left out       NaN, counted
=========  ==========================================  =============================================

So a map without negative values and zeros has its truth's share of the image as `iou` and as `precision`,
whatever it shows. Every score is from 0 to 1, and more is better.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from salstats.checks import ShapeError, ValueRangeError, check_choice

#: What a map must exceed to be marked: recall has a rule of its own.
ABOVE, ABOVE_RECALL = 0.0, 0.5


def iou(saliency: np.ndarray, truth: np.ndarray) -> float:
    """Intersection over union of the pixels where a map is positive and the truth, cut to whole.

    Parameters
    ----------
    saliency : ndarray of float, shape (M, N)
        The map at the truth's size, as it is: it is neither scaled nor resized.
    truth : ndarray of number, shape (M, N)
        Positive where it is not 0 after its fraction is cut off: 0.9 is background, -1 is not.

    Returns
    -------
    float
        From 0 to 1; NaN where neither marks anything.

    Raises
    ------
    ShapeError
        The shapes differ, or do not have two dimensions.
    ValueRangeError
        An array does not hold numbers, or the truth holds NaN or infinity.

    Notes
    -----
    A NaN in the map is not positive, as in NumPy. See the module's table for the rules that differ from
    `metrics.overlap.iou`.

    References
    ----------
    Saliency-Bench, doi:10.48550/arXiv.2310.08537; XAIdataset/XAIdataset.github.io, commit c8641d9,
    `xaibenchmark/iou.py`.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics import xaibenchmark
    >>> xaibenchmark.iou(np.array([[0.1, 0.9, 0.0]]), np.array([[0, 1, 0]]))
    0.5
    """
    marked, positive = _marked(saliency, truth, ABOVE)
    return _ratio(np.count_nonzero(marked & positive), np.count_nonzero(marked | positive))


def precision(saliency: np.ndarray, truth: np.ndarray) -> float:
    """Share of the pixels where a map is positive that lie in the truth, cut to whole numbers.

    Takes and raises what `iou` does; NaN where the map is positive nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics import xaibenchmark
    >>> xaibenchmark.precision(np.array([[0.1, 0.9, 0.0]]), np.array([[0, 1, 1]]))
    0.5
    """
    marked, positive = _marked(saliency, truth, ABOVE)
    return _ratio(np.count_nonzero(marked & positive), np.count_nonzero(marked))


def recall(saliency: np.ndarray, truth: np.ndarray) -> float:
    """Share of the truth, cut to whole numbers, on which a map exceeds 0.5.

    Takes and raises what `iou` does; 0 where cutting leaves nothing of the truth. A map of 0.5 everywhere
    has recall 0 beside a precision that counts all of it.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics import xaibenchmark
    >>> xaibenchmark.recall(np.array([[0.5, 0.9, 0.0]]), np.array([[1, 1, 0]]))
    0.5
    """
    marked, positive = _marked(saliency, truth, ABOVE_RECALL)
    found = _ratio(np.count_nonzero(marked & positive), np.count_nonzero(positive))
    return 0.0 if np.isnan(found) else found


def hit(saliency: np.ndarray, truth: np.ndarray) -> float:
    """Return 1 where any of a map's largest values lies where the truth is above 0, else 0.

    Takes and raises what `iou` does, except that the truth is not cut: 0.1 is enough. Every pixel of a
    constant map is largest, so that it hits any truth; a map with a NaN hits none.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics import xaibenchmark
    >>> xaibenchmark.hit(np.array([[0.9, 0.9, 0.0]]), np.array([[0, 1, 0]]))
    1.0
    """
    shown, reference = _checked(saliency, truth)
    return float(bool((reference[shown == shown.max()] > 0).any()))


#: The scores by name.
SCORES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "iou": iou,
    "precision": precision,
    "recall": recall,
    "hit": hit,
}


def is_left_out(truth: np.ndarray) -> bool:
    """Whether `xaibenchmark` leaves an image out: its truth adds up to 0, as -1 beside 1 does.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics import xaibenchmark
    >>> xaibenchmark.is_left_out(np.array([[1, -1]])), xaibenchmark.is_left_out(np.array([[1, 0]]))
    (True, False)
    """
    return bool(np.asarray(truth).sum() == 0)


def score_stack(metric: str, saliencies: Any, truths: Any) -> np.ndarray:
    """A score of every image of a stack.

    Parameters
    ----------
    metric : {"iou", "precision", "recall", "hit"}
    saliencies, truths : ndarray, shape (n, M, N)
        Or any sequence of arrays of shape (M, N), a map and its truth at the same place.

    Returns
    -------
    ndarray of float64, shape (n,)
        NaN where the image is left out (`is_left_out`) or the score is 0 / 0.

    Raises
    ------
    ShapeError
        There are not as many maps as truths, or one has another shape than its truth.
    ValueRangeError
        An unknown metric; and as for `iou`.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics import xaibenchmark
    >>> maps, truths = np.ones((2, 1, 4)), np.array([[[1, 0, 0, 0]], [[0, 0, 0, 0]]])
    >>> xaibenchmark.score_stack("iou", maps, truths)
    array([0.25,  nan])
    """
    return _scores(metric, saliencies, truths)[0]


def mean_score(metric: str, saliencies: Any, truths: Any) -> float:
    """Number that `xaibenchmark` gives for a stack: the mean over the images not left out.

    Takes and raises what `score_stack` does.

    Returns
    -------
    float
        NaN where every image is left out, and where a single one that is not has 0 / 0: one map that is
        positive nowhere makes the precision of the whole stack NaN.

    Notes
    -----
    A mean over the defined scores, as `summarize` gives it of `score`, differs there; it says how many
    were undefined.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics import xaibenchmark
    >>> maps, truths = np.array([[[1.0, 0.0]], [[0.0, 0.0]]]), np.array([[[1, 1]], [[1, 0]]])
    >>> [xaibenchmark.mean_score(m, maps, truths) for m in ("iou", "precision", "hit")]
    [0.25, nan, 1.0]
    """
    scores, kept = _scores(metric, saliencies, truths)
    return float(scores[kept].mean()) if kept.any() else float("nan")


def _scores(metric: str, saliencies: Any, truths: Any) -> tuple[np.ndarray, np.ndarray]:
    """Score of each image, and which images are not left out."""
    kernel = SCORES[check_choice(metric, tuple(SCORES), "metric")]
    if len(saliencies) != len(truths):
        raise ShapeError(f"{len(saliencies)} maps and {len(truths)} truths; every map needs its truth")
    kept = np.array([not is_left_out(truth) for truth in truths], dtype=bool)
    pairs = zip(saliencies, truths, kept, strict=True)
    scores = [kernel(saliency, truth) if keep else np.nan for saliency, truth, keep in pairs]
    return np.array(scores, dtype=np.float64), kept


def _checked(saliency: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A map and its truth as arrays of one shape."""
    shown, reference = np.asarray(saliency), np.asarray(truth)
    for array, what in ((shown, "a map"), (reference, "a truth")):
        if array.dtype.kind not in "biuf":
            raise ValueRangeError(f"{what} holds numbers, not {array.dtype}")
        if array.ndim != 2 or not array.size:
            raise ShapeError(f"{what} has shape (height, width), not {array.shape}")
    if shown.shape != reference.shape:
        raise ShapeError(
            f"map {shown.shape} and truth {reference.shape} must have the same shape; "
            "resize with images.map_steps.resize"
        )
    if not np.isfinite(reference).all():
        raise ValueRangeError("a truth holds NaN or infinity; it is what people marked")
    return shown, reference


def _marked(saliency: np.ndarray, truth: np.ndarray, above: float) -> tuple[np.ndarray, np.ndarray]:
    """Where a map exceeds a number, and where the truth is not 0 when it is cut to whole numbers."""
    shown, reference = _checked(saliency, truth)
    return shown > above, np.trunc(reference) != 0


def _ratio(part: Any, whole: Any) -> float:
    """Return part / whole, NaN where the whole is 0."""
    return float(part / whole) if whole else float("nan")
