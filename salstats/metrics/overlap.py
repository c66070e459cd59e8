"""How far a mask and the truth overlap: four counts, the rates made of them, and the overlap of outlines.

Each rate is a function of a mask and the truth, and a kernel of `Counts` (`iou_from_counts`) for many at
once. Each record says in which range a rate lies and which end is
better. A rate is NaN where its denominator is 0, and
only there:

=======================  =====  =====  =========  ======  ===========
empty or full            iou    dice   precision  recall  specificity
=======================  =====  =====  =========  ======  ===========
mask and truth empty     NaN    NaN    NaN        NaN     1
only the truth empty     0      0      0          NaN     tn / size
only the mask empty      0      0      NaN        0       1
truth full               iou    dice   1          recall  NaN
=======================  =====  =====  =========  ======  ===========

Libraries disagree here. These are medpy's answers, except that its Jaccard index of two empty masks is 1.
scikit-learn returns 0 for each NaN above; MONAI also leaves IoU and Dice undefined where only the truth is
empty.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import cv2
import numpy as np

from salstats.checks import check_number
from salstats.errors import ShapeError
from salstats.images import masks
from salstats.images.masks import Rle, check_mask
from salstats.metrics.records import Metric

#: Leaves undefined what has nothing to divide by, and only that.
_MEDPY = "medpy (medpy.metric.binary)"
_COUNTS = ("counts",)
#: Width of the band of `boundary_iou` where nobody says more, as a share of the image's diagonal.
DILATION = 0.02


class Counts(NamedTuple):
    """Pixels by what mask and truth say of them; numbers, or arrays of them in one shape."""

    # tp, fp, fn, tn: marked by both, by the mask only, by the truth only, by neither
    tp: Any
    fp: Any
    fn: Any
    tn: Any

    def emptied(self) -> "Counts":
        """Counts of an empty mask against the same truth."""
        return Counts(0 * self.tp, 0 * self.fp, self.tp + self.fn, self.fp + self.tn)


def counts(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> Counts:
    """Pixels that mask and truth share, that one of them marks, and that neither does.

    Parameters
    ----------
    mask, truth : ndarray of bool or Rle, shape (M, N)
        Arrays of 0 and 1 are taken too. Two run-length codes are compared without decoding them.

    Returns
    -------
    Counts
        `tp, fp, fn, tn`, which add up to M * N.

    Raises
    ------
    ShapeError
        The shapes differ, or do not have two dimensions.
    ValueRangeError
        An array holds something else than 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.overlap import counts
    >>> counts(np.array([[1, 1, 0, 0]]), np.array([[0, 1, 1, 0]]))
    Counts(tp=1, fp=1, fn=1, tn=1)
    """
    if isinstance(mask, Rle) or isinstance(truth, Rle):
        a, b = (m if isinstance(m, Rle) else masks.encode(m) for m in (mask, truth))
        _check_shapes(a.shape, b.shape)
        both, n_mask, n_truth = masks.intersection(a, b), masks.area(a), masks.area(b)
        size = a.shape[0] * a.shape[1]
    else:
        predicted, reference = mask_pair(mask, truth)
        both = int(np.count_nonzero(predicted & reference))
        n_mask, n_truth = int(np.count_nonzero(predicted)), int(np.count_nonzero(reference))
        size = predicted.size
    return Counts(both, n_mask - both, n_truth - both, size - n_mask - n_truth + both)


def mask_pair(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> tuple[np.ndarray, np.ndarray]:
    """Mask and truth as arrays of bool of one shape.

    Examples
    --------
    >>> from salstats.images.masks import Rle
    >>> from salstats.metrics.overlap import mask_pair
    >>> mask_pair(Rle((1, 3), b"12"), [[0, 1, 0]])
    (array([[False,  True,  True]]), array([[False,  True, False]]))
    """
    predicted = masks.decode(mask) if isinstance(mask, Rle) else check_mask(mask)
    reference = masks.decode(truth) if isinstance(truth, Rle) else check_mask(truth, "truth")
    _check_shapes(predicted.shape, reference.shape)
    return predicted, reference


def _check_shapes(mask: tuple[int, ...], truth: tuple[int, ...]) -> None:
    """Raise ShapeError unless both shapes are one."""
    if mask != truth:
        raise ShapeError(
            f"mask {mask} and truth {truth} must have the same shape; resize with images.map_steps.resize"
        )


def _rate(formula: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Callable[[Counts], np.ndarray]:
    """Kernel of a rate: part by whole of four counts in float64 (exact up to 2**53), NaN where that is 0."""

    def kernel(counted: Counts) -> np.ndarray:
        part, whole = formula(*(np.asarray(n, dtype=np.float64) for n in counted))
        return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole != 0)

    return kernel


iou_from_counts = _rate(lambda tp, fp, fn, tn: (tp, tp + fp + fn))
dice_from_counts = _rate(lambda tp, fp, fn, tn: (2 * tp, 2 * tp + fp + fn))
precision_from_counts = _rate(lambda tp, fp, fn, tn: (tp, tp + fp))
recall_from_counts = _rate(lambda tp, fp, fn, tn: (tp, tp + fn))
specificity_from_counts = _rate(lambda tp, fp, fn, tn: (tn, tn + fp))
# root by root: the product of four sums over a data set would leave the range of whole numbers
mcc_from_counts = _rate(
    lambda tp, fp, fn, tn: (
        tp * tn - fp * fn,
        np.sqrt((tp + fp) * (tn + fn)) * np.sqrt((tp + fn) * (tn + fp)),
    )
)


def iou(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> float:
    """Intersection over union, the Jaccard index: `tp / (tp + fp + fn)`; NaN where both are empty.

    Takes and raises what `counts` does.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.overlap import iou
    >>> iou(np.array([[1, 1, 0, 0]]), np.array([[0, 1, 0, 0]]))
    0.5
    """
    return float(iou_from_counts(counts(mask, truth)))


def dice(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> float:
    """Dice's coefficient, the F1 score: `2 tp / (2 tp + fp + fn)`; NaN where both are empty.

    Takes and raises what `counts` does; `dice = 2 iou / (1 + iou)`.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.overlap import dice
    >>> dice(np.array([[1, 1, 0, 0]]), np.array([[0, 1, 1, 0]]))
    0.5
    """
    return float(dice_from_counts(counts(mask, truth)))


def precision(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> float:
    """Share of a mask that is true: `tp / (tp + fp)`; NaN where the mask is empty.

    Takes and raises what `counts` does.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.overlap import precision
    >>> precision(np.array([[1, 1, 0, 0]]), np.array([[0, 1, 1, 1]]))
    0.5
    """
    return float(precision_from_counts(counts(mask, truth)))


def recall(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> float:
    """Share of the truth that a mask marks, the sensitivity: `tp / (tp + fn)`; NaN where the truth is empty.

    Takes and raises what `counts` does.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.overlap import recall
    >>> recall(np.array([[1, 1, 0, 0, 0]]), np.array([[0, 1, 1, 1, 1]]))
    0.25
    """
    return float(recall_from_counts(counts(mask, truth)))


def specificity(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> float:
    """Share of the background that a mask leaves unmarked: `tn / (tn + fp)`; NaN where the truth is full.

    Takes and raises what `counts` does.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.overlap import specificity
    >>> specificity(np.array([[1, 1, 0, 0]]), np.array([[0, 1, 0, 1]]))
    0.5
    """
    return float(specificity_from_counts(counts(mask, truth)))


def mcc(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> float:
    """Matthews' correlation of a mask and the truth over the pixels; NaN where either is empty or full.

    `(tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))`, from -1 to 1: 0 is chance. Takes and
    raises what `counts` does.

    References
    ----------
    Matthews BW. Comparison of the predicted and observed secondary structure of T4 phage lysozyme.
    Biochimica et Biophysica Acta 1975. https://doi.org/10.1016/0005-2795(75)90109-9

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.overlap import mcc
    >>> mcc(np.array([[1, 1, 0, 0]]), np.array([[1, 1, 0, 0]]))
    1.0
    """
    return float(mcc_from_counts(counts(mask, truth)))


def boundary_iou(mask: np.ndarray | Rle, truth: np.ndarray | Rle, *, dilation: float = DILATION) -> float:
    """Intersection over union of the pixels of mask and truth that lie near their own borders.

    From 0 to 1, and more is better; NaN where mask and truth are empty. IoU hardly sees the outline of a
    large area, which this looks at alone.

    Parameters
    ----------
    mask, truth : ndarray of bool or Rle, shape (M, N)
        Arrays of 0 and 1 are taken too.
    dilation : float, default 0.02
        Width of the band, as a share of the image's diagonal; rounded to whole pixels, one at least.

    Raises
    ------
    ShapeError, ValueRangeError
        As in `counts`; or the dilation is not a share above 0.

    Notes
    -----
    As in the authors' code (bowenc0221/boundary-iou-api): the band is what a mask loses when it is eroded
    by a square of 3 x 3 pixels as often as the band is wide, so that its width is counted in steps to any of
    8 neighbours; outside the image is background. Where no area is wider than two bands it is IoU.

    References
    ----------
    Cheng B, Girshick R, Dollár P, Berg AC, Kirillov A. Boundary IoU: improving object-centric image
    segmentation evaluation. CVPR 2021. https://doi.org/10.1109/CVPR46437.2021.01508

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.overlap import boundary_iou
    >>> truth = np.ones((5, 5), dtype=bool)
    >>> mask = truth.copy()
    >>> mask[2, 2] = False
    >>> boundary_iou(mask, truth, dilation=0.1)  # 8 pixels of the mask's border lie around the hole
    0.6666666666666666
    """
    check_number(dilation, "dilation", 1, exclude_low=True)
    predicted, reference = mask_pair(mask, truth)
    width = max(1, round(dilation * float(np.hypot(*predicted.shape))))
    return iou(_band(predicted, width), _band(reference, width))


def _band(mask: np.ndarray, width: int) -> np.ndarray:
    """The pixels of a mask within some steps of its background."""
    square = np.ones((3, 3), np.uint8)
    inner = cv2.erode(
        np.ascontiguousarray(mask).view(np.uint8), square, iterations=width,
        borderType=cv2.BORDER_CONSTANT, borderValue=0,
    )  # fmt: skip
    return mask & ~np.asarray(inner).reshape(mask.shape).view(bool)


IOU = Metric(
    "iou", "IoU", 0, 1, 1, True, "CheXlocalize (rajpurkarlab/cheXlocalize, eval.py, commit 2a79492)",
    _COUNTS, iou_from_counts, full="intersection over union",
)  # fmt: skip
DICE = Metric("dice", "Dice", 0, 1, 1, True, _MEDPY, _COUNTS, dice_from_counts)
PRECISION = Metric("precision", "Precision", 0, 1, 1, True, _MEDPY, _COUNTS, precision_from_counts)
RECALL = Metric("recall", "Recall", 0, 1, 1, True, _MEDPY, _COUNTS, recall_from_counts)
SPECIFICITY = Metric("specificity", "Specificity", 0, 1, 1, True, _MEDPY, _COUNTS, specificity_from_counts)
MCC = Metric(
    "mcc", "MCC", -1, 1, 1, False,
    "Matthews 1975, doi:10.1016/0005-2795(75)90109-9; Maier-Hein et al. 2024, "
    "doi:10.1038/s41592-023-02151-z", _COUNTS, mcc_from_counts, full="Matthews correlation coefficient",
)  # fmt: skip
BOUNDARY_IOU = Metric(
    "boundary_iou", "Boundary IoU", 0, 1, 1, True, "Cheng et al. 2021, doi:10.1109/CVPR46437.2021.01508",
    ("mask", "truth"), boundary_iou,
    words=lambda dilation: f"bands of {100 * dilation:g}% of the diagonal",
)  # fmt: skip
