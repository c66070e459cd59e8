"""Saliency-Bench's four scores by the rules of its package `xaibenchmark`, for comparison with its numbers.

As metrics of `score` they are called `xaibenchmark_iou`, `xaibenchmark_precision`, `xaibenchmark_recall` and
`xaibenchmark_hit`, because their rules differ from those of the other metrics of these names:

=========  ==========================================  =============================================
name       here, as `xaibenchmark` has it              `metrics.overlap` and `metrics.pointing`
=========  ==========================================  =============================================
iou        map > 0, whatever its scale                 a mask is made first (Otsu, threshold, ...)
precision  map > 0                                     the same mask as iou
recall     map > 0.5: another mask than the others'    the same mask as iou
hit        any maximum; a constant map is a hit        the first maximum; a constant map is no hit
truth      cut to whole numbers, except by `hit`       a mask
empty      a truth that adds up to 0 is left out       NaN, counted
=========  ==========================================  =============================================

So a map without negative values and zeros has its truth's share of the image as `iou` and as `precision`,
whatever it shows. Every score is from 0 to 1, and more is better. The package's own number for several images
is the mean over those not left out, NaN where one of them is.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from salstats.errors import ShapeError, ValueRangeError
from salstats.images.map_steps import resize
from salstats.metrics.records import Metric

#: Values that a map exceeds where it is marked, and where it is marked for recall.
THRESHOLD = 0.0
RECALL_THRESHOLD = 0.5


def iou(saliency: np.ndarray, truth: np.ndarray) -> float:
    """Return intersection over union of the pixels where a map is positive and the truth, cut to integers.

    Parameters
    ----------
    saliency : ndarray of float, shape (M, N)
        The map at the truth's size, as it is: it is neither scaled nor resized. NaN is not positive.
    truth : ndarray of number, shape (M, N)
        Positive where it is not 0 after its fraction is cut off: 0.9 is background, -1 is not.

    Returns
    -------
    float
        From 0 to 1; NaN where neither marks anything.

    Raises
    ------
    ShapeError, ValueRangeError
        The shapes differ, or do not have two dimensions; the truth holds NaN or infinity.

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
    marked, positive = _map_and_truth_masks(saliency, truth, THRESHOLD)
    return _ratio_or_nan(np.count_nonzero(marked & positive), np.count_nonzero(marked | positive))


def precision(saliency: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of the pixels where a map is positive that lie in the truth, cut to whole numbers.

    Takes and raises what `iou` does; NaN where the map is positive nowhere.
    """
    marked, positive = _map_and_truth_masks(saliency, truth, THRESHOLD)
    return _ratio_or_nan(np.count_nonzero(marked & positive), np.count_nonzero(marked))


def recall(saliency: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of the truth, cut to whole numbers, on which a map exceeds 0.5.

    Takes and raises what `iou` does; 0 where cutting leaves nothing of the truth. A map of 0.5 everywhere
    has recall 0, although its precision counts every pixel.
    """
    marked, positive = _map_and_truth_masks(saliency, truth, RECALL_THRESHOLD)
    n_positive = int(np.count_nonzero(positive))
    return float(np.count_nonzero(marked & positive) / max(n_positive, 1))


def hit(saliency: np.ndarray, truth: np.ndarray) -> float:
    """Return 1 if any of a map's largest values lies where the truth is above 0, else 0.

    Takes and raises what `iou` does, except that the truth is not cut: 0.1 is enough. Every pixel of a
    constant map is largest, so that it hits any truth; a map with a NaN hits none.
    """
    values, reference = _as_numeric_arrays_of_one_shape(saliency, truth)
    is_maximum = values == values.max()
    return float((reference[is_maximum] > 0).any())


#: The scores by name.
SCORES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "iou": iou,
    "precision": precision,
    "recall": recall,
    "hit": hit,
}


def resized_to_truth(saliency: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return a map at its truth's size: resized bilinearly where they differ, and not rescaled."""
    if saliency.shape == truth.shape:
        return saliency
    return resize(saliency, (truth.shape[0], truth.shape[1]))


def has_pixel_sum_of_zero(truth: np.ndarray) -> bool:
    """Return True if a truth adds up to 0, as -1 and 1 do: `xaibenchmark` leaves its image out."""
    return bool(np.asarray(truth).sum() == 0)


def _as_numeric_arrays_of_one_shape(saliency: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a map and its truth as arrays of numbers of one shape; the map may hold NaN or infinity."""
    values = np.asarray(saliency)
    reference = np.asarray(truth)
    for array, name, option in ((values, "a map", "saliency"), (reference, "a truth", "truth")):
        if array.dtype.kind not in "biuf":
            raise ValueRangeError(
                f"{name} holds numbers, not {array.dtype}", option=option, value=array.dtype
            )
    if values.ndim != 2 or not values.size or values.shape != reference.shape:
        raise ShapeError(
            f"map {values.shape} and truth {reference.shape} must have one shape (height, width)",
            hint="resize with images.map_steps.resize",
            option="truth",
            value=reference.shape,
        )
    if not np.isfinite(reference).all():
        raise ValueRangeError("a truth holds NaN or infinity; it is what people marked", option="truth")
    return values, reference


def _map_and_truth_masks(
    saliency: np.ndarray, truth: np.ndarray, map_above: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels where a map exceeds a threshold, and where the truth, cut to integers, is not 0."""
    values, reference = _as_numeric_arrays_of_one_shape(saliency, truth)
    return values > map_above, np.trunc(reference) != 0


def _ratio_or_nan(numerator: Any, denominator: Any) -> float:
    """Return a quotient, NaN if the denominator is 0."""
    return float(numerator / denominator) if denominator else float("nan")


def _score_record(score_name: str, label: str, definition: str) -> Metric:
    """Return the record of a score, which `score` computes from a map of any size."""

    def kernel(saliency: np.ndarray, truth: np.ndarray) -> float:
        """Return the score of a map of any size, resized to its truth."""
        return SCORES[score_name](resized_to_truth(saliency, truth), truth)

    source = f"Saliency-Bench (XAIdataset/XAIdataset.github.io, commit c8641d9): {definition}"
    return Metric(
        name=f"xaibenchmark_{score_name}",
        label=label,
        low=0,
        high=1,
        direction=1,
        true_zero=True,
        source=source,
        needs=("saliency", "truth"),
        kernel=kernel,
    )


IOU = _score_record("iou", "IoU (map > 0)", "the pixels where the map is positive and the truth")
PRECISION = _score_record(
    "precision", "Precision (map > 0)", "share of the pixels where the map is positive that lie in the truth"
)
RECALL = _score_record("recall", "Recall (map > 0.5)", "share of the truth on which the map exceeds 0.5")
HIT = _score_record(
    "hit", "Hit rate (any maximum of any map)", "any maximum lies in the truth, also of a constant map"
)
