"""Penalised Dice: overlap, distance of the centres and size in one score, defined without overlap too."""

from typing import NamedTuple

import cv2
import numpy as np
from scipy import ndimage

from salstats.checks import check_choice, check_number
from salstats.images.masks import Rle, bounding_box
from salstats.metrics.distance import UNDEFINED
from salstats.metrics.overlap import Counts, dice_from_counts, mask_pair
from salstats.metrics.records import Metric

FORMS = ("product", "mean")
COMPONENTS = ("mean", "whole")


def pdc(
    mask: np.ndarray | Rle,
    truth: np.ndarray | Rle,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    form: str = "product",
    components: str = "mean",
    undefined: str = "nan",
) -> float:
    """Return the penalised Dice coefficient of a mask and the truth: a reconstruction.

    The metric is described in Blake et al. 2025, but their printed equation (5) is not recoverable from the
    text at hand. What is computed here is rebuilt from their words, and may differ from what they computed.
    More is better, and two masks that both miss the truth are told apart by where they lie.

    Parameters
    ----------
    mask, truth : ndarray of bool or Rle, shape (M, N)
        Arrays of 0 and 1 are taken too.
    alpha, beta : float, default 1
        Penalty on a mask that is smaller than the truth, and on one that is larger; 0 is no penalty.
    form : {"product", "mean"}, default "product"
        How distance and size are put together with the overlap, see Notes.
    components : {"mean", "whole"}, default "mean"
        The mean over the mask's separate areas (8 neighbours), each compared alone with the whole truth; or
        the mask as one.
    undefined : {"nan", "worst"}, default "nan"
        Value for an empty mask or truth: NaN, or 0 where exactly one is empty.

    Returns
    -------
    float
        From 0 to 1, and above 0 if mask and truth mark something; else NaN, or 0 by `undefined`.

    Raises
    ------
    ShapeError, ValueRangeError
        As in `overlap.counts`; or a penalty is negative or not finite, or an option is not known.

    Notes
    -----
    With the areas `E` of the mask and `T` of the truth, and centres that are the means of the pixels' (row,
    col):

    - `d = 1 - distance of the centres / M`, where `M` is the distance from the truth's centre to the farthest
      outer corner of the image (rows from -0.5 to height - 0.5). The farthest pixel's centre is nearer than
      that, so `d` is above 0 for every mask;
    - `r = (E / T)**alpha` where the mask is smaller, `(T / E)**beta` where it is larger, 1 where as large;
    - "product" is `d * r * (1 + dice) / 2`, "mean" is `(d * r + dice) / 2`. They are one number where nothing
      overlaps, and "mean" is never the smaller one. Nothing in the text tells which of them is meant.

    What the text says of the metric holds with these limits:

    - Growing penalties take "product" to 0 (and to 0 itself where they are in the hundreds, as numbers of
      double precision end there), "mean" to `dice / 2` only.
    - 1 means perfect agreement. A truth of several areas is not reached with `components="mean"`: each area
      of the mask is compared with all of the truth, and is too small for it.
    - A stray pixel counts as much as the largest area. Remove specks first, or take "whole".
    - Of two places without overlap the farther one scores less. Where overlap comes back on the way, as for
      a comb moved by one tooth, so does the score.
    - `M` belongs to the image: the same two masks, apart, score more on a larger one.
    - Mask and truth cannot be exchanged.

    References
    ----------
    Blake N, et al. MRxaI. CEUR Workshop Proceedings, Vol-4059, paper 9, 2025. https://ceur-ws.org/Vol-4059/

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.penalised_dice import pdc
    >>> truth = np.array([[1, 1, 0, 0, 0, 0]])
    >>> [round(pdc(np.roll(truth, step), truth), 3) for step in range(5)]
    [1.0, 0.601, 0.301, 0.201, 0.102]
    """
    check_choice(form, FORMS, "form")
    check_choice(components, COMPONENTS, "components")
    check_choice(undefined, UNDEFINED, "undefined")
    for name, value in (("alpha", alpha), ("beta", beta)):
        check_number(value, name)
    predicted, reference = mask_pair(mask, truth)
    box = bounding_box(predicted | reference)
    if box is None:
        return float("nan")
    if not predicted.any() or not reference.any():
        if undefined == "worst":
            return 0.0
        return float("nan")
    areas = _mask_parts_sizes_centres_truth_overlaps(
        predicted[box], reference[box], split_mask=components == "mean"
    )
    n_truth = np.count_nonzero(reference)
    truth_centre = np.array(ndimage.center_of_mass(reference[box]))
    # on the image, of which pixel k covers k - 0.5 to k + 0.5
    centre_on_image = truth_centre + np.array([box[0].start, box[1].start])
    image_shape = np.array(reference.shape)
    farthest_edges = np.maximum(centre_on_image + 0.5, image_shape - 0.5 - centre_on_image)
    to_farthest_corner = np.hypot(farthest_edges[0], farthest_edges[1])

    # d, r and dice of the Notes, for each area
    offsets = areas.centres - truth_centre
    centre_distance = np.hypot(offsets[:, 0], offsets[:, 1])
    distance_factor = 1 - centre_distance / to_farthest_corner
    # ratio**alpha where the area is smaller than the truth, ratio**-beta where it is larger
    ratio = areas.n_pixels / n_truth
    size_factor = np.minimum(ratio, 1) ** alpha * np.maximum(ratio, 1) ** -float(beta)
    fp = areas.n_pixels - areas.n_overlap
    dice = dice_from_counts(Counts(tp=areas.n_overlap, fp=fp, fn=n_truth - areas.n_overlap, tn=0))
    placement = distance_factor * size_factor
    if form == "product":
        return float((placement * (1 + dice) / 2).mean())
    return float(((placement + dice) / 2).mean())


class _MaskAreas(NamedTuple):
    """Connected areas of a mask that are compared with the truth one by one."""

    #: Number of pixels of each area, (n_areas,).
    n_pixels: np.ndarray
    #: Mean (row, col) of the pixels of each, (n_areas, 2).
    centres: np.ndarray
    #: Number of pixels that each shares with the truth, (n_areas,).
    n_overlap: np.ndarray


def _mask_parts_sizes_centres_truth_overlaps(
    mask: np.ndarray, truth: np.ndarray, *, split_mask: bool
) -> _MaskAreas:
    """Return the areas of a mask with their overlap with the truth.

    A mask that is split has its separate areas (8 neighbours), else the whole mask is one area.
    """
    if not split_mask:
        return _MaskAreas(
            n_pixels=np.array([np.count_nonzero(mask)], dtype=np.float64),
            centres=np.array([ndimage.center_of_mass(mask)]),
            n_overlap=np.array([np.count_nonzero(mask & truth)]),
        )
    pixels = np.ascontiguousarray(mask).view(np.uint8)
    n_labels, labels, stats, centres = cv2.connectedComponentsWithStats(pixels, connectivity=8)
    # label 0 is the background; OpenCV's centres are (x, y), which is (col, row)
    return _MaskAreas(
        n_pixels=stats[1:, cv2.CC_STAT_AREA].astype(np.float64),
        centres=centres[1:, ::-1],
        n_overlap=np.bincount(labels[truth], minlength=n_labels)[1:],
    )


def _options_text(alpha: float, beta: float, form: str, components: str) -> str:
    """Return the options in words, for the column of the scores."""
    text = f"{form} form, penalties {alpha:g} (too small) and {beta:g} (too large)"
    if components == "whole":
        text += ", mask as a whole"
    return text


PDC = Metric(
    name="pdc",
    label="Penalised Dice (rebuilt)",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source="a reconstruction of Blake et al. 2025 (MRxaI, CEUR-WS Vol-4059, paper 9)",
    needs=("mask", "truth"),
    kernel=pdc,
    note="Penalised Dice is a reconstruction from the text of Blake et al. 2025 (MRxaI, CEUR-WS Vol-4059, "
    "paper 9); the printed equation is not at hand.",
    words=_options_text,
    column="pdc_options",
)
