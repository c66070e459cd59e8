"""How alike several maps of one image are that should be the same: of other seeds, or other trainings."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from salstats.errors import ShapeError, ValueRangeError
from salstats.metrics.records import Metric

#: Pixels that are compared at a time, in float64: small enough for the processor's cache.
_STRIP = 65_536


class MapAgreement(NamedTuple):
    """How alike maps are."""

    sd: float  # mean over the pixels of the standard deviation between the maps, with divisor k - 1
    # mean overlap of two masks, over all pairs of which one marks anything; NaN where there is none
    iou: float
    # mean of Pearson's correlation of two maps over the pixels, over all pairs that both vary; NaN where
    # there is none
    ncc: float


def agreement(maps: Sequence[np.ndarray], masks: Sequence[np.ndarray]) -> MapAgreement:
    """How alike maps of one image are, and their masks.

    Parameters
    ----------
    maps : sequence of ndarray of float, shape (M, N)
        Two or more, finite, each from 0 to 1 as `images.map_steps.rescale` makes them.
    masks : sequence of ndarray of bool, shape (M, N)
        One for each map.

    Raises
    ------
    ShapeError, ValueRangeError
        Arrays differ in shape, there are not as many masks as maps, or fewer than two.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.repeats import agreement
    >>> one, other = np.array([[0.0, 0.5, 1.0, 0.5]]), np.array([[0.0, 0.5, 0.5, 1.0]])
    >>> found = agreement([one, other], [one > 0.6, other > 0.4])
    >>> round(found.sd, 4), round(found.iou, 4), round(found.ncc, 4)
    (0.1768, 0.3333, 0.5)
    """
    if len(maps) < 2:
        raise ValueRangeError(f"agreement needs two maps or more, not {len(maps)}")
    if len(masks) != len(maps) or len({np.shape(a) for a in (*maps, *masks)}) > 1:
        raise ShapeError(
            f"there must be one mask for each map, all of one shape, not {[np.shape(a) for a in maps]} and "
            f"{[np.shape(a) for a in masks]}"
        )
    flat, marked = ([np.asarray(a).reshape(-1) for a in group] for group in (maps, masks))
    n_pixels, k = flat[0].size, len(flat)
    means = np.array([a.mean(dtype=np.float64) for a in flat])
    spread, products, overlaps = 0.0, np.zeros((k, k)), np.zeros((k, k))
    # piece by piece: beside the maps there is no array of the image's size
    for first in range(0, n_pixels, _STRIP):
        part, pieces = (
            np.stack([a[first : first + _STRIP] for a in group]).astype(np.float64)
            for group in (flat, marked)
        )
        spread += float(part.std(axis=0, ddof=1).sum())
        part -= means[:, None]
        products += part @ part.T
        overlaps += pieces @ pieces.T
    areas = np.diag(overlaps)
    # a map that does not vary has a length of 0, but for the rounding of its mean
    lengths = np.where([a.min() == a.max() for a in flat], np.nan, np.sqrt(np.diag(products)))
    one, other = np.triu_indices(k, 1)
    with np.errstate(invalid="ignore"):
        ious = overlaps[one, other] / (areas[one] + areas[other] - overlaps[one, other])
    nccs = np.clip(products[one, other] / (lengths[one] * lengths[other]), -1, 1)
    return MapAgreement(spread / n_pixels, _mean(ious), _mean(nccs))


def _mean(values: np.ndarray) -> float:
    """Mean of what is defined; NaN where nothing is."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


_BETWEEN = "salstats: all pairs of maps of one case that differ in the seed"
_NEEDS = ("agreement",)
#: What all pairs have in common where there is no score.
WHY_UNDEFINED = {"map_iou": "empty masks", "map_ncc": "constant maps"}

MAP_SD = Metric("map_sd", "SD between maps", 0, 1, -1, True, _BETWEEN, _NEEDS, lambda alike: alike.sd)
MAP_IOU = Metric("map_iou", "IoU between maps", 0, 1, 1, True, _BETWEEN, _NEEDS, lambda alike: alike.iou)
MAP_NCC = Metric("map_ncc", "NCC between maps", -1, 1, 1, False, _BETWEEN, _NEEDS, lambda alike: alike.ncc)
