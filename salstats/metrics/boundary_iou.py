"""Overlap of outlines: intersection over union of the bands along the borders of mask and truth."""

import cv2
import numpy as np

from salstats.checks import ValueRangeError
from salstats.images.masks import Rle
from salstats.metrics.overlap import iou, mask_pair
from salstats.metrics.records import Metric

#: Width of the band where nobody says more, as a share of the image's diagonal.
DILATION = 0.02


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
        As in `overlap.counts`; or the dilation is not a share above 0.

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
    >>> from salstats.metrics.boundary_iou import boundary_iou
    >>> truth = np.ones((5, 5), dtype=bool)
    >>> mask = truth.copy()
    >>> mask[2, 2] = False
    >>> boundary_iou(mask, truth, dilation=0.1)  # 8 pixels of the mask's border lie around the hole
    0.6666666666666666
    """
    if isinstance(dilation, bool) or not isinstance(dilation, int | float) or not 0 < dilation <= 1:
        raise ValueRangeError(f"dilation must be a share of the diagonal above 0, not {dilation!r}")
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


BOUNDARY_IOU = Metric(
    "boundary_iou", "Boundary IoU", 0, 1, 1, True, "Cheng et al. 2021, doi:10.1109/CVPR46437.2021.01508",
    ("mask", "truth"), boundary_iou,
    words=lambda dilation: f"bands of {100 * dilation:g}% of the diagonal",
)  # fmt: skip
