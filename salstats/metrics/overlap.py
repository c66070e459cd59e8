"""Overlap of a mask and the truth: four counts, the rates made of them, and the overlap of outlines.

Each rate is a function of a mask and the truth (`iou`), and one of `Counts` for many pairs at once
(`iou_from_counts`). A rate is NaN where its denominator is 0, and only there:

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

from typing import Any, NamedTuple

import cv2
import numpy as np

from salstats.checks import check_number
from salstats.errors import ShapeError
from salstats.images import masks
from salstats.images.masks import Rle, check_mask
from salstats.metrics.records import Metric

#: Source of the rates: medpy leaves a rate undefined if its denominator is 0, and only then.
_MEDPY = "medpy (medpy.metric.binary)"
_COUNTS = ("counts",)
#: Default width of the band of `boundary_iou`, as a share of the image's diagonal.
DILATION = 0.02


class Counts(NamedTuple):
    """Numbers of pixels that mask and truth, only the mask, only the truth, or neither marks.

    They are numbers, or arrays of one shape.
    """

    tp: Any
    fp: Any
    fn: Any
    tn: Any

    def with_empty_mask(self) -> "Counts":
        """Return the counts of an empty mask against the same truth."""
        return Counts(0 * self.tp, 0 * self.fp, self.tp + self.fn, self.fp + self.tn)


def counts(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> Counts:
    """Count the pixels that mask and truth share, that one of them marks, and that neither marks.

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
        mask_runs = mask if isinstance(mask, Rle) else masks.encode(mask)
        truth_runs = truth if isinstance(truth, Rle) else masks.encode(truth)
        _check_same_shape(mask_runs.shape, truth_runs.shape)
        tp = masks.intersection_area(mask_runs, truth_runs)
        n_mask = masks.area(mask_runs)
        n_truth = masks.area(truth_runs)
        n_pixels = mask_runs.shape[0] * mask_runs.shape[1]
    else:
        predicted, reference = mask_pair(mask, truth)
        tp = int(np.count_nonzero(predicted & reference))
        n_mask = int(np.count_nonzero(predicted))
        n_truth = int(np.count_nonzero(reference))
        n_pixels = predicted.size
    n_either = n_mask + n_truth - tp
    return Counts(tp=tp, fp=n_mask - tp, fn=n_truth - tp, tn=n_pixels - n_either)


def mask_pair(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> tuple[np.ndarray, np.ndarray]:
    """Return mask and truth as arrays of bool; ShapeError if their shapes differ.

    Examples
    --------
    >>> from salstats.images.masks import Rle
    >>> from salstats.metrics.overlap import mask_pair
    >>> mask_pair(Rle((1, 3), b"12"), [[0, 1, 0]])
    (array([[False,  True,  True]]), array([[False,  True, False]]))
    """
    predicted = masks.decode(mask) if isinstance(mask, Rle) else check_mask(mask)
    reference = masks.decode(truth) if isinstance(truth, Rle) else check_mask(truth, "truth")
    _check_same_shape(predicted.shape, reference.shape)
    return predicted, reference


def _check_same_shape(mask: tuple[int, ...], truth: tuple[int, ...]) -> None:
    """Raise ShapeError if the shapes differ."""
    if mask != truth:
        raise ShapeError(
            f"mask {mask} and truth {truth} must have the same shape; resize with images.map_steps.resize",
            option="truth",
            value=truth,
        )


def _ratio_or_nan(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return a quotient, NaN where the denominator is 0."""
    undefined = np.full(np.shape(denominator), np.nan)
    return np.asarray(np.divide(numerator, denominator, out=undefined, where=denominator != 0))


def _as_float(counts: Counts) -> Counts:
    """Return counts in float64, which is exact up to 2**53."""
    return Counts(*(np.asarray(n, dtype=np.float64) for n in counts))


def iou_from_counts(counted: Counts) -> np.ndarray:
    """Return intersection over union from counts: `tp / (tp + fp + fn)`."""
    tp, fp, fn, _ = _as_float(counted)
    return _ratio_or_nan(tp, tp + fp + fn)


def dice_from_counts(counted: Counts) -> np.ndarray:
    """Return Dice's coefficient from counts: `2 tp / (2 tp + fp + fn)`."""
    tp, fp, fn, _ = _as_float(counted)
    return _ratio_or_nan(2 * tp, 2 * tp + fp + fn)


def precision_from_counts(counted: Counts) -> np.ndarray:
    """Return the precision from counts: `tp / (tp + fp)`."""
    tp, fp, _, _ = _as_float(counted)
    return _ratio_or_nan(tp, tp + fp)


def recall_from_counts(counted: Counts) -> np.ndarray:
    """Return the recall from counts: `tp / (tp + fn)`."""
    tp, _, fn, _ = _as_float(counted)
    return _ratio_or_nan(tp, tp + fn)


def specificity_from_counts(counted: Counts) -> np.ndarray:
    """Return the specificity from counts: `tn / (tn + fp)`."""
    _, fp, _, tn = _as_float(counted)
    return _ratio_or_nan(tn, tn + fp)


def mcc_from_counts(counted: Counts) -> np.ndarray:
    """Return Matthews' correlation from counts, by the formula in `mcc`."""
    tp, fp, fn, tn = _as_float(counted)
    # two roots, as the product of all four sums may exceed what float64 holds exactly
    denominator = np.sqrt((tp + fp) * (tn + fn)) * np.sqrt((tp + fn) * (tn + fp))
    return _ratio_or_nan(tp * tn - fp * fn, denominator)


def iou(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> float:
    """Return intersection over union, the Jaccard index: `tp / (tp + fp + fn)`; NaN where both are empty.

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
    """Return Dice's coefficient, the F1 score: `2 tp / (2 tp + fp + fn)`; NaN where both are empty.

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
    """Return the share of a mask that is true: `tp / (tp + fp)`; NaN where the mask is empty.

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
    """Return the sensitivity, the share of the truth that a mask marks: `tp / (tp + fn)`.

    NaN where the truth is empty.

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
    """Return the share of the background that a mask leaves unmarked: `tn / (tn + fp)`.

    NaN where the truth is full.

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
    """Return Matthews' correlation of a mask and the truth; NaN where either is empty or full.

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
    """Return intersection over union of the pixels of mask and truth near their own borders.

    From 0 to 1, and more is better; NaN where mask and truth are empty. The IoU of large areas hardly depends
    on their outlines; this depends on nothing else.

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
    check_number(dilation, "dilation", high=1, exclude_zero=True)
    predicted, reference = mask_pair(mask, truth)
    diagonal = float(np.hypot(predicted.shape[0], predicted.shape[1]))
    width = max(1, round(dilation * diagonal))
    return iou(_inner_band(predicted, width), _inner_band(reference, width))


def _inner_band(mask: np.ndarray, width: int) -> np.ndarray:
    """Return the pixels of a mask within `width` steps, to any of 8 neighbours, of its background."""
    square = np.ones((3, 3), np.uint8)
    pixels = np.ascontiguousarray(mask).view(np.uint8)
    eroded = cv2.erode(pixels, square, iterations=width, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    is_interior = np.asarray(eroded).reshape(mask.shape).view(bool)
    return np.asarray(mask & ~is_interior)


def _dilation_text(dilation: float) -> str:
    """Return the width of the band of "boundary_iou" in words."""
    return f"bands of {100 * dilation:g}% of the diagonal"


IOU = Metric(
    name="iou",
    label="IoU",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source="CheXlocalize (rajpurkarlab/cheXlocalize, eval.py, commit 2a79492)",
    needs=_COUNTS,
    kernel=iou_from_counts,
    full="intersection over union",
)
DICE = Metric(
    name="dice",
    label="Dice",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source=_MEDPY,
    needs=_COUNTS,
    kernel=dice_from_counts,
)
PRECISION = Metric(
    name="precision",
    label="Precision",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source=_MEDPY,
    needs=_COUNTS,
    kernel=precision_from_counts,
)
RECALL = Metric(
    name="recall",
    label="Recall",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source=_MEDPY,
    needs=_COUNTS,
    kernel=recall_from_counts,
)
SPECIFICITY = Metric(
    name="specificity",
    label="Specificity",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source=_MEDPY,
    needs=_COUNTS,
    kernel=specificity_from_counts,
)
MCC = Metric(
    name="mcc",
    label="MCC",
    low=-1,
    high=1,
    direction=1,
    true_zero=False,
    source="Matthews 1975, doi:10.1016/0005-2795(75)90109-9; Maier-Hein et al. 2024, "
    "doi:10.1038/s41592-023-02151-z",
    needs=_COUNTS,
    kernel=mcc_from_counts,
    full="Matthews correlation coefficient",
)
BOUNDARY_IOU = Metric(
    name="boundary_iou",
    label="Boundary IoU",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source="Cheng et al. 2021, doi:10.1109/CVPR46437.2021.01508",
    needs=("mask", "truth"),
    kernel=boundary_iou,
    words=_dilation_text,
)
