"""Hausdorff and surface distances between a mask and the truth, in pixels or mm.

All metrics come from the same two lists: from each point of the mask the distance to the nearest point of the
truth, and from each point of the truth to the mask's nearest (`surface_distances`). A smaller distance is
better, and 0 is perfect agreement. The metrics are undefined where mask or truth is empty, and only there:

================  ===================  ============================================
empty             `undefined="nan"`    `undefined="worst"`
================  ===================  ============================================
mask and truth    NaN                  NaN
one of them       NaN                  diagonal of the image; 0 for the share `nsd`
================  ===================  ============================================

Libraries disagree here: where one is empty, SciPy, MONAI and surface-distance give infinity, which no mean
survives, or NaN, and medpy and SimpleITK raise an error; where both are, SciPy and scikit-image give 0.
"worst" is for sensitivity analyses: without it a method that draws nothing loses nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from salstats.checks import check_choice, check_number
from salstats.errors import Setting, ShapeError, ValueRangeError
from salstats.images.boundaries import boundary, nearest_distances
from salstats.images.masks import Rle, bounding_box
from salstats.metrics.overlap import mask_pair
from salstats.metrics.records import Metric

POINTS = ("boundary", "boundary8", "foreground")
HD95_RULES = ("directed", "pooled")
UNDEFINED = ("nan", "worst")
#: Default tolerance of "nsd", in pixels or mm.
TOLERANCE = 2.0


@dataclass(frozen=True, eq=False)
class SurfaceDistances:
    """Distances between the points of a mask and those of the truth, and the metrics made of them."""

    #: (n_mask,): from each of the mask's points to the nearest of the truth's, in row-major order; NaN if the
    #: truth is empty. The largest is the directed Hausdorff distance from mask to truth.
    to_truth: np.ndarray
    #: (n_truth,): from each of the truth's points to the nearest of the mask's.
    to_mask: np.ndarray
    #: Diagonal of the image, longer than any distance in it, in the same unit.
    diagonal: float

    def hausdorff(self, *, undefined: str = "nan") -> float:
        """Return the largest of all distances, as `hausdorff` does."""
        check_choice(undefined, UNDEFINED, "undefined")
        if not self._is_defined:
            return self._undefined_value(undefined, worst=self.diagonal)
        return float(max(self.to_truth.max(), self.to_mask.max()))

    def hd95(self, *, rule: str = "directed", undefined: str = "nan") -> float:
        """Return the 95th percentile of the distances, as `hd95` does."""
        check_choice(rule, HD95_RULES, "rule")
        check_choice(undefined, UNDEFINED, "undefined")
        if not self._is_defined:
            return self._undefined_value(undefined, worst=self.diagonal)
        if rule == "pooled":
            return float(np.percentile(self._pooled(), 95))
        return float(max(np.percentile(self.to_truth, 95), np.percentile(self.to_mask, 95)))

    def assd(self, *, undefined: str = "nan") -> float:
        """Return the mean of the distances of both directions together, as `assd` does."""
        check_choice(undefined, UNDEFINED, "undefined")
        if not self._is_defined:
            return self._undefined_value(undefined, worst=self.diagonal)
        n_points = self.to_truth.size + self.to_mask.size
        return float((self.to_truth.sum() + self.to_mask.sum()) / n_points)

    def nsd(self, *, tolerance: float = TOLERANCE, undefined: str = "nan") -> float:
        """Return the share of the points that lie within a tolerance, as `nsd` does."""
        check_number(tolerance, "tolerance")
        check_choice(undefined, UNDEFINED, "undefined")
        if not self._is_defined:
            return self._undefined_value(undefined, worst=0.0)
        return float(np.mean(self._pooled() <= tolerance))

    def _pooled(self) -> np.ndarray:
        """Return the distances of both directions together."""
        return np.concatenate([self.to_truth, self.to_mask])

    @property
    def _is_defined(self) -> bool:
        """True if mask and truth both mark a pixel."""
        return self.to_truth.size > 0 and self.to_mask.size > 0

    def _undefined_value(self, undefined: str, worst: float) -> float:
        """Return the worst value if it is asked for and one of the two masks marks a pixel, else NaN."""
        one_is_marked = self.to_truth.size > 0 or self.to_mask.size > 0
        if undefined == "worst" and one_is_marked:
            return worst
        return float("nan")


def surface_distances(
    mask: np.ndarray | Rle,
    truth: np.ndarray | Rle,
    *,
    spacing: float | Sequence[float] | None = None,
    points: str = "boundary",
) -> SurfaceDistances:
    """Compute the distance of each point of a mask to the truth's nearest, and the other way round.

    Several metrics of one pair are best taken from here: the distances are computed once.

    Parameters
    ----------
    mask, truth : ndarray of bool or Rle, shape (M, N)
        Arrays of 0 and 1 are taken too.
    spacing : float or (float, float), optional
        Size of a pixel, mm per pixel: one number, or that along rows (between one row and the next) and
        along columns. By default distances are in pixels.
    points : {"boundary", "boundary8", "foreground"}, default "boundary"
        Pixels of mask and truth that are compared: those with a background pixel above, below, left or
        right; those with one diagonally too; or all of them. Outside the image is background. Distances
        run from pixel centre to pixel centre.

    Returns
    -------
    SurfaceDistances
        With the methods `hausdorff`, `hd95`, `assd` and `nsd`.

    Raises
    ------
    ShapeError, ValueRangeError
        As in `overlap.counts`; `spacing` is not one positive number or two, or `points` is not known.

    Notes
    -----
    Distances are exact, and computed on the smallest box that holds both masks
    (`images.boundaries.nearest_distances`).
    """
    predicted, reference = mask_pair(mask, truth)
    pixel_size = _checked_pixel_size(spacing)
    check_choice(points, POINTS, "points")
    height, width = predicted.shape
    diagonal = float(np.hypot(height * pixel_size[0], width * pixel_size[1]))
    box = bounding_box(predicted | reference)
    if box is None:
        return SurfaceDistances(np.zeros(0), np.zeros(0), diagonal)
    # outside of the box is background, as outside of the image: the outlines do not change
    box_shape = (box[0].stop - box[0].start, box[1].stop - box[1].start)
    mask_points = _flat_indices_of_compared_pixels(predicted[box], points)
    truth_points = _flat_indices_of_compared_pixels(reference[box], points)
    return SurfaceDistances(
        to_truth=nearest_distances(mask_points, truth_points, box_shape, pixel_size),
        to_mask=nearest_distances(truth_points, mask_points, box_shape, pixel_size),
        diagonal=diagonal,
    )


def _checked_pixel_size(spacing: object) -> tuple[float, float]:
    """Return the size of a pixel along rows and along columns; 1 and 1 if none is given."""
    if spacing is None:
        return 1.0, 1.0
    values = np.asarray(spacing)
    if values.shape not in ((), (2,)):
        raise ShapeError(
            Setting("spacing"),
            f" must be one number or two (row, col), in mm per pixel, not {spacing!r}",
            value=spacing,
        )
    if values.dtype.kind not in "iuf" or not (np.isfinite(values) & (values > 0)).all():
        raise ValueRangeError(
            Setting("spacing"),
            f" must be positive and finite, in mm per pixel, not {spacing!r}",
            value=spacing,
        )
    row, col = np.broadcast_to(values, 2).tolist()
    return float(row), float(col)


def _flat_indices_of_compared_pixels(mask: np.ndarray, points: str) -> np.ndarray:
    """Return the flat indices of the pixels that are compared, in row-major order."""
    if points == "boundary":
        mask = boundary(mask, neighbours=4)
    elif points == "boundary8":
        mask = boundary(mask, neighbours=8)
    return np.flatnonzero(mask)


def hausdorff(
    mask: np.ndarray | Rle,
    truth: np.ndarray | Rle,
    *,
    spacing: float | Sequence[float] | None = None,
    points: str = "boundary",
    undefined: str = "nan",
) -> float:
    """Return the Hausdorff distance: the largest distance of a point of either outline from the other.

    One stray pixel decides it; `hd95` leaves out the worst twentieth.

    Parameters
    ----------
    mask, truth, spacing, points
        As for `surface_distances`.
    undefined : {"nan", "worst"}, default "nan"
        Value where mask or truth is empty, by the table at the top of this module.

    Returns
    -------
    float
        At least 0, in pixels or the unit of `spacing`; raises what `surface_distances` does.

    Notes
    -----
    The larger of the two directed distances, so that mask and truth may be exchanged. Boundary points are
    those of medpy (`hd`) and MONAI; `points="foreground"` compares all pixels, as SimpleITK does. The two
    differ where a mask has holes: the middle of a disk is far from a ring around it, the outline of the disk
    is not.

    DeepMind's surface-distance compares corners between pixels instead, weighted by the length of the outline
    around each. That is not offered: its points are not pixels of either mask, its percentiles do not
    interpolate, and its numbers differ from those of the libraries that agree.

    References
    ----------
    Huttenlocher DP, Klanderman GA, Rucklidge WJ. Comparing images using the Hausdorff distance. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 1993. https://doi.org/10.1109/34.232073

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.distance import hausdorff
    >>> mask, truth = np.array([[1, 1, 0, 0, 0]]), np.array([[1, 1, 0, 0, 1]])
    >>> hausdorff(mask, truth), hausdorff(mask, truth, spacing=0.5)
    (3.0, 1.5)
    """
    return surface_distances(mask, truth, spacing=spacing, points=points).hausdorff(undefined=undefined)


def hd95(
    mask: np.ndarray | Rle,
    truth: np.ndarray | Rle,
    *,
    spacing: float | Sequence[float] | None = None,
    points: str = "boundary",
    rule: str = "directed",
    undefined: str = "nan",
) -> float:
    """Return the 95th-percentile Hausdorff distance.

    Takes, returns and raises what `hausdorff` does. In addition `rule` is "directed", the larger of the 95th
    percentiles of the two lists of distances, or "pooled", the percentile of both lists put together.

    Notes
    -----
    "directed" is what Metrics Reloaded defines and MONAI computes, "pooled" what medpy (`hd95`) does. The
    latter is smaller where the longer outline is the better one: on a speckled mask 38 pixels instead of 47.
    Percentiles interpolate linearly between order statistics.

    References
    ----------
    Maier-Hein L, Reinke A, Godau P, et al. Metrics reloaded: recommendations for image analysis validation.
    Nature Methods 2024. https://doi.org/10.1038/s41592-023-02151-z

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.distance import hd95
    >>> truth = np.ones((1, 41), dtype=bool)
    >>> mask = truth.copy()
    >>> mask[0, 31:] = False
    >>> hd95(mask, truth)  # the truth's last ten pixels are 1, 2, ... 10 away
    8.0
    """
    distances = surface_distances(mask, truth, spacing=spacing, points=points)
    return distances.hd95(rule=rule, undefined=undefined)


def assd(
    mask: np.ndarray | Rle,
    truth: np.ndarray | Rle,
    *,
    spacing: float | Sequence[float] | None = None,
    points: str = "boundary",
    undefined: str = "nan",
) -> float:
    """Return the average symmetric surface distance.

    It is the mean distance of the points of both outlines from the other outline. Takes, returns and raises
    what `hausdorff` does; the value is never above the Hausdorff distance.

    Notes
    -----
    Both lists of distances are put together, so that the longer outline weighs more, as in medpy (`assd`)
    from 0.5.2 on, MONAI and Metrics Reloaded (reference in `hd95`). Earlier versions of medpy give the mean
    of the two lists' means, and so does SimpleITK's average Hausdorff distance, which takes all pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.distance import assd
    >>> assd(np.array([[1, 1, 1, 0, 0]]), np.array([[0, 0, 1, 0, 1]]))
    1.0
    """
    return surface_distances(mask, truth, spacing=spacing, points=points).assd(undefined=undefined)


def nsd(
    mask: np.ndarray | Rle,
    truth: np.ndarray | Rle,
    *,
    tolerance: float = TOLERANCE,
    spacing: float | Sequence[float] | None = None,
    points: str = "boundary",
    undefined: str = "nan",
) -> float:
    """Return the normalized surface distance: the share of both outlines within a tolerance of the other.

    From 0 to 1, and more is better. Also called surface Dice. Takes and raises what `hausdorff` does. In
    addition `tolerance` is the largest distance that counts as agreement, in pixels or the unit of `spacing`:
    a distance by which readers differ, or one that hardly matters.

    Notes
    -----
    The points of both outlines are counted alike, as in MONAI (`compute_surface_dice` without subvoxels,
    which gives the same numbers) and Metrics Reloaded (reference in `hd95`). Nikolov's implementation weights
    corners between pixels by the length of the outline.

    References
    ----------
    Nikolov S, Blackwell S, Zverovitch A, et al. Clinically applicable segmentation of head and neck anatomy
    for radiotherapy. Journal of Medical Internet Research 2021. https://doi.org/10.2196/26151

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.distance import nsd
    >>> mask, truth = np.array([[1, 1, 0, 0, 0]]), np.array([[1, 1, 0, 0, 1]])
    >>> nsd(mask, truth), nsd(mask, truth, tolerance=3)
    (0.8, 1.0)
    """
    distances = surface_distances(mask, truth, spacing=spacing, points=points)
    return distances.nsd(tolerance=tolerance, undefined=undefined)


_BOUNDARY = "boundary pixels (4 neighbours), as"
_RELOADED = "Maier-Hein et al. 2024, doi:10.1038/s41592-023-02151-z"
_NEEDS = ("distances",)
_OPTIONS_COLUMN = "distance_options"
_RULE_TEXTS = {
    "directed": "the larger of the two directed percentiles",
    "pooled": "the percentile of both directions together",
}


def _rule_text(rule: str) -> str:
    """Return the rule of "hd95" in words."""
    return _RULE_TEXTS[rule]


def _tolerance_text(tolerance: float) -> str:
    """Return the tolerance of "nsd" in words."""
    return f"tolerance {tolerance:g}"


HAUSDORFF = Metric(
    name="hausdorff",
    label="Hausdorff distance",
    low=0,
    high=inf,
    direction=-1,
    true_zero=True,
    source=f"{_BOUNDARY} medpy and MONAI; Huttenlocher et al. 1993, doi:10.1109/34.232073",
    needs=_NEEDS,
    kernel=SurfaceDistances.hausdorff,
    column=_OPTIONS_COLUMN,
)
HD95 = Metric(
    name="hd95",
    label="95th-percentile Hausdorff distance",
    low=0,
    high=inf,
    direction=-1,
    true_zero=True,
    source=f"the larger of two directed percentiles over {_BOUNDARY} MONAI; {_RELOADED}",
    needs=_NEEDS,
    kernel=SurfaceDistances.hd95,
    words=_rule_text,
    column=_OPTIONS_COLUMN,
)
ASSD = Metric(
    name="assd",
    label="Average symmetric surface distance",
    low=0,
    high=inf,
    direction=-1,
    true_zero=True,
    source=f"both directions pooled over {_BOUNDARY} medpy (from 0.5.2 on) and MONAI; {_RELOADED}",
    needs=_NEEDS,
    kernel=SurfaceDistances.assd,
    column=_OPTIONS_COLUMN,
)
NSD = Metric(
    name="nsd",
    label="NSD",
    low=0,
    high=1,
    direction=1,
    true_zero=True,
    source=f"over {_BOUNDARY} MONAI; Nikolov et al. 2021, doi:10.2196/26151; {_RELOADED}",
    needs=_NEEDS,
    kernel=SurfaceDistances.nsd,
    note=f"NSD at a tolerance of {TOLERANCE:g} pixels (mm where the size of a pixel is given) unless stated.",
    full="normalized surface distance",
    words=_tolerance_text,
    column=_OPTIONS_COLUMN,
)
