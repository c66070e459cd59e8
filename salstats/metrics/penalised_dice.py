"""Penalised Dice: overlap, distance of the centres and size in one score, defined without overlap too."""

from typing import Any, NamedTuple

import cv2
import numpy as np

from salstats.checks import ValueRangeError, check_choice
from salstats.images.boundaries import bounding_box
from salstats.images.masks import Rle, area
from salstats.metrics.distance import UNDEFINED, mask_pair
from salstats.metrics.overlap import Counts, dice_from_counts
from salstats.metrics.records import Metric

FORMS = ("product", "mean")
COMPONENTS = ("mean", "whole")


class PdcParts(NamedTuple):
    """What the Penalised Dice coefficient is made of; numbers, or arrays of them in one shape.

    Attributes
    ----------
    dice : float or ndarray
        Dice's coefficient with the truth, from 0 to 1.
    distance : float or ndarray
        Between the centre of the mask and that of the truth, in pixels.
    greatest : float or ndarray
        From the centre of the truth to the farthest outer corner of the image, in pixels.
    size_ratio : float or ndarray
        Area of the mask over that of the truth: below 1 where the mask is too small.
    """

    dice: Any
    distance: Any
    greatest: Any
    size_ratio: Any


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
    """Penalised Dice coefficient of a mask and the truth: a reconstruction.

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
        What an empty mask or truth gives: NaN, or 0 where exactly one is empty.

    Returns
    -------
    float
        From 0 to 1, and above 0 for every mask that marks something; NaN where mask or truth is empty.

    Raises
    ------
    ShapeError
        The shapes differ, or do not have two dimensions.
    ValueRangeError
        An array holds something else than 0 and 1, a penalty is negative or not finite, or an option is not
        known.

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
    check_choice(undefined, UNDEFINED, "undefined")
    parts = pdc_parts(mask, truth, components=components)
    values = pdc_from_parts(parts, alpha=alpha, beta=beta, form=form)
    if values.size and not np.isnan(values).any():
        return float(values.mean())
    one_is_empty = values.size > 0 or _marks(truth)
    return 0.0 if undefined == "worst" and one_is_empty else float("nan")


def pdc_parts(mask: np.ndarray | Rle, truth: np.ndarray | Rle, *, components: str = "mean") -> PdcParts:
    """What the Penalised Dice coefficient is made of, for each separate area of a mask.

    Parameters
    ----------
    mask, truth : ndarray of bool or Rle, shape (M, N)
    components : {"mean", "whole"}, default "mean"
        One entry for each area, 8 neighbours; or one for the mask.

    Returns
    -------
    PdcParts
        Arrays of float64 of one length: 0 where the mask is empty. NaN where the truth is.

    Raises
    ------
    ShapeError, ValueRangeError
        As in `pdc`.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.penalised_dice import pdc_parts
    >>> pdc_parts(np.array([[1, 1, 0, 0, 1]]), np.array([[1, 0, 0, 0, 0]])).size_ratio
    array([2., 1.])
    """
    check_choice(components, COMPONENTS, "components")
    predicted, reference = mask_pair(mask, truth)
    box = bounding_box(predicted)
    if box is None:
        return PdcParts(*np.zeros((4, 0)))
    part = np.ascontiguousarray(predicted[box]).view(np.uint8)
    if components == "mean":
        n_labels, labels, stats, centres = cv2.connectedComponentsWithStats(part, connectivity=8)
        areas = stats[1:, cv2.CC_STAT_AREA].astype(np.float64)
        centres = centres[1:, ::-1]
        both = np.bincount(labels[reference[box]], minlength=n_labels)[1:]
    else:
        areas = np.array([np.count_nonzero(part)], dtype=np.float64)
        centres = _centre(part)[np.newaxis]
        both = np.array([np.count_nonzero(part.view(bool) & reference[box])])
    where = bounding_box(reference)
    if where is None:
        return PdcParts(*np.full((4, len(areas)), np.nan))
    n_truth = np.count_nonzero(reference[where])
    centre = _centre(reference[where]) + _corner(where)
    distance = np.hypot(*(centres + _corner(box) - centre).T)
    dice = dice_from_counts(Counts(both, areas - both, n_truth - both, 0))
    greatest = np.full(len(areas), _greatest(centre, reference.shape))
    return PdcParts(dice, distance, greatest, areas / n_truth)


def _marks(mask: np.ndarray | Rle) -> bool:
    """Whether a mask marks any pixel."""
    return bool(area(mask)) if isinstance(mask, Rle) else bool(np.any(mask))


def _corner(box: tuple[slice, slice]) -> np.ndarray:
    """First row and column of a box."""
    return np.array([box[0].start, box[1].start], dtype=np.float64)


def _centre(mask: np.ndarray) -> np.ndarray:
    """Mean row and column of a mask's pixels."""
    rows, cols = np.count_nonzero(mask, axis=1), np.count_nonzero(mask, axis=0)
    return np.array([rows @ np.arange(len(rows)), cols @ np.arange(len(cols))]) / rows.sum()


def _greatest(centre: np.ndarray, shape: tuple[int, ...]) -> float:
    """Distance from a point to the farthest outer corner of the image."""
    # pixel k covers k - 0.5 to k + 0.5
    return float(np.hypot(*np.maximum(centre + 0.5, np.array(shape) - 0.5 - centre)))


def pdc_from_parts(
    parts: PdcParts, *, alpha: float = 1.0, beta: float = 1.0, form: str = "product"
) -> np.ndarray:
    """Penalised Dice coefficient of its parts: a reconstruction, see `pdc`.

    Parameters
    ----------
    parts : PdcParts
        Numbers or arrays.
    alpha, beta, form
        As for `pdc`.

    Returns
    -------
    ndarray of float64
        From 0 to 1, in the shape of the parts, NaN where they are.

    Raises
    ------
    ValueRangeError
        A penalty is negative or not finite, or the form is not known.

    Examples
    --------
    >>> from salstats.metrics.penalised_dice import PdcParts, pdc_from_parts
    >>> parts = PdcParts(dice=0.5, distance=10, greatest=100, size_ratio=0.5)
    >>> pdc_from_parts(parts), pdc_from_parts(parts, alpha=0), pdc_from_parts(parts, form="mean")
    (array(0.3375), array(0.675), array(0.475))
    """
    check_choice(form, FORMS, "form")
    small, large = _check_penalty(alpha, "alpha"), _check_penalty(beta, "beta")
    dice, distance, greatest, ratio = (np.asarray(part, dtype=np.float64) for part in parts)
    size = np.minimum(ratio, 1) ** small * np.maximum(ratio, 1) ** -large
    placed = (1 - distance / greatest) * size
    return np.asarray(placed * (1 + dice) / 2 if form == "product" else (placed + dice) / 2)


def _check_penalty(value: object, name: str) -> float:
    """A penalty as a float that is finite and not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise ValueRangeError(f"{name} must be a finite number of at least 0 (no penalty), not {value!r}")
    return float(value)


def _in_words(alpha: float, beta: float, form: str, components: str) -> str:
    """The options in words, as they stand beside scores."""
    whole = ", mask as a whole" if components == "whole" else ""
    return f"{form} form, penalties {alpha:g} (too small) and {beta:g} (too large){whole}"


PDC = Metric(
    "pdc", "Penalised Dice (rebuilt)", 0, 1, 1, True,
    "a reconstruction of Blake et al. 2025 (MRxaI, CEUR-WS Vol-4059, paper 9)", ("mask", "truth"), pdc,
    "Penalised Dice is a reconstruction from the text of Blake et al. 2025 (MRxaI, CEUR-WS Vol-4059, "
    "paper 9); the printed equation is not at hand.",
    words=_in_words, column="pdc_options",
)  # fmt: skip
