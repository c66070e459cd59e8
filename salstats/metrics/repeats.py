"""Agreement of several maps of one image that differ in the seed or the training only."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from salstats.errors import ShapeError, ValueRangeError
from salstats.metrics.records import Metric

#: Pixels that are compared at a time, in float64: few enough for the processor's cache.
_BLOCK = 65_536


class MapAgreement(NamedTuple):
    """Agreement of k maps."""

    #: Mean over the pixels of the standard deviation between the maps, with divisor k - 1.
    sd: float
    #: Mean overlap of two masks, over all pairs of which one marks a pixel; NaN without such a pair.
    iou: float
    #: Mean of Pearson's correlation of two maps over the pixels, over all pairs without a constant map; NaN
    #: without such a pair.
    ncc: float


def agreement_among_maps(maps: Sequence[np.ndarray], masks: Sequence[np.ndarray]) -> MapAgreement:
    """Compute the agreement of maps of one image, and of their masks.

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
    >>> from salstats.metrics.repeats import agreement_among_maps
    >>> one, other = np.array([[0.0, 0.5, 1.0, 0.5]]), np.array([[0.0, 0.5, 0.5, 1.0]])
    >>> found = agreement_among_maps([one, other], [one > 0.6, other > 0.4])
    >>> round(found.sd, 4), round(found.iou, 4), round(found.ncc, 4)
    (0.1768, 0.3333, 0.5)
    """
    if len(maps) < 2:
        raise ValueRangeError(
            f"agreement needs two maps or more, not {len(maps)}", option="maps", value=len(maps)
        )
    map_shapes = [np.shape(array) for array in maps]
    mask_shapes = [np.shape(array) for array in masks]
    if len(masks) != len(maps) or len({*map_shapes, *mask_shapes}) > 1:
        raise ShapeError(
            f"there must be one mask for each map, all of one shape, not {map_shapes} and {mask_shapes}",
            option="masks",
            value=mask_shapes,
        )
    flat_maps = [np.asarray(array).reshape(-1) for array in maps]
    flat_masks = [np.asarray(array).reshape(-1) for array in masks]
    n_pixels = flat_maps[0].size
    n_maps = len(flat_maps)
    means = np.array([flat_map.mean(dtype=np.float64) for flat_map in flat_maps])
    sum_of_sds = 0.0
    # sums over the pixels for each two maps: products of their deviations, and pixels that both masks mark
    products = np.zeros((n_maps, n_maps))
    n_overlap = np.zeros((n_maps, n_maps))
    # block by block, so that no array of all maps at full size is made
    for start in range(0, n_pixels, _BLOCK):
        block = slice(start, start + _BLOCK)
        # rows are maps, columns pixels
        values = np.stack([flat_map[block] for flat_map in flat_maps]).astype(np.float64)
        marks = np.stack([flat_mask[block] for flat_mask in flat_masks]).astype(np.float64)
        sum_of_sds += float(values.std(axis=0, ddof=1).sum())
        values -= means[:, None]
        products += values @ values.T
        n_overlap += marks @ marks.T
    n_marked = np.diag(n_overlap)
    # a correlation with a constant map is undefined; rounding of its mean may give deviations above 0
    is_constant = [flat_map.min() == flat_map.max() for flat_map in flat_maps]
    norms = np.where(is_constant, np.nan, np.sqrt(np.diag(products)))
    # rows and columns of the pairs above the diagonal: each two maps once
    first, second = np.triu_indices(n_maps, k=1)
    pair_overlap = n_overlap[first, second]
    # 0 / 0, NaN, for two empty masks
    with np.errstate(invalid="ignore"):
        ious = pair_overlap / (n_marked[first] + n_marked[second] - pair_overlap)
    correlations = products[first, second] / (norms[first] * norms[second])
    return MapAgreement(
        sd=sum_of_sds / n_pixels,
        iou=_mean_of_defined(ious),
        # rounding may carry a perfect correlation past 1
        ncc=_mean_of_defined(np.clip(correlations, -1, 1)),
    )


def _mean_of_defined(values: np.ndarray) -> float:
    """Return the mean of the defined values; NaN if there is none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


def _sd(map_agreement: MapAgreement) -> float:
    """Return the standard deviation between maps."""
    return map_agreement.sd


def _mean_mask_iou(map_agreement: MapAgreement) -> float:
    """Return the mean overlap of two masks."""
    return map_agreement.iou


def _ncc(map_agreement: MapAgreement) -> float:
    """Return the mean correlation of two maps."""
    return map_agreement.ncc


_SOURCE = "salstats: all pairs of maps of one case that differ in the seed"
_NEEDS = ("agreement",)
#: Reason for a score that no pair of maps defines.
WHY_UNDEFINED = {"map_iou": "empty masks", "map_ncc": "constant maps"}

MAP_SD = Metric(
    name="map_sd",
    label="SD between maps",
    low=0,
    high=1,
    direction=-1,
    true_zero=True,
    source=_SOURCE,
    needs=_NEEDS,
    kernel=_sd,
)
MAP_IOU = Metric(
    name="map_iou",
    label="IoU between maps",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source=_SOURCE,
    needs=_NEEDS,
    kernel=_mean_mask_iou,
)
MAP_NCC = Metric(
    name="map_ncc",
    label="NCC between maps",
    low=-1,
    high=1,
    direction=1,
    true_zero=False,
    source=_SOURCE,
    needs=_NEEDS,
    kernel=_ncc,
)
