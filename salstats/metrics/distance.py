"""How far a mask's outline lies from the truth's: Hausdorff and surface distances, in pixels or mm.

All metrics come from the same two lists: from each point of the mask the distance to the nearest point of the
truth, and from each point of the truth to the mask's nearest (`surface_distances`). Of a distance less is
better, and 0 is perfect agreement. They are undefined where a mask is empty, and only there:

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from salstats.checks import check_choice, check_number
from salstats.errors import ShapeError, ValueRangeError
from salstats.images.boundaries import boundary, nearest_distances
from salstats.images.masks import Rle, bounding_box
from salstats.metrics.overlap import mask_pair
from salstats.metrics.records import Metric

POINTS = ("boundary", "boundary8", "foreground")
HD95_RULES = ("directed", "pooled")
UNDEFINED = ("nan", "worst")
#: What "nsd" lets pass where nobody says more, in pixels or mm.
TOLERANCE = 2.0


@dataclass(frozen=True, eq=False)
class SurfaceDistances:
    """The distances between the points of a mask and those of the truth, and the metrics made of them."""

    # (n_mask,), from each of the mask's points to the nearest of the truth's, in row-major order; NaN where
    # the truth is empty. Its largest is the directed Hausdorff distance from mask to truth.
    to_truth: np.ndarray
    to_mask: np.ndarray  # (n_truth,), from each of the truth's points to the nearest of the mask's
    diagonal: float  # diagonal of the image, longer than any distance in it, in the same unit

    def hausdorff(self, *, undefined: str = "nan") -> float:
        """Largest of all distances, as `hausdorff` gives it."""
        return self._value(lambda: max(self.to_truth.max(), self.to_mask.max()), undefined, self.diagonal)

    def hd95(self, *, rule: str = "directed", undefined: str = "nan") -> float:
        """95th percentile of the distances, as `hd95` gives it."""
        both = [self.to_truth, self.to_mask]
        lists = both if check_choice(rule, HD95_RULES, "rule") == "directed" else [np.concatenate(both)]
        return self._value(lambda: max(np.percentile(d, 95) for d in lists), undefined, self.diagonal)

    def assd(self, *, undefined: str = "nan") -> float:
        """Mean of all distances, as `assd` gives it."""
        n_points = self.to_truth.size + self.to_mask.size
        return self._value(
            lambda: (self.to_truth.sum() + self.to_mask.sum()) / n_points, undefined, self.diagonal
        )

    def nsd(self, *, tolerance: float = TOLERANCE, undefined: str = "nan") -> float:
        """The share of the points that lie within a tolerance, as `nsd` gives it."""
        check_number(tolerance, "tolerance")
        return self._value(
            lambda: np.mean(np.concatenate([self.to_truth, self.to_mask]) <= tolerance), undefined, 0.0
        )

    def _value(self, value: Callable[[], Any], undefined: str, worst: float) -> float:
        """A value where mask and truth mark something; else NaN, or the worst where one of them does."""
        check_choice(undefined, UNDEFINED, "undefined")
        if self.to_truth.size and self.to_mask.size:
            return float(value())
        return worst if undefined == "worst" and (self.to_truth.size or self.to_mask.size) else float("nan")


def surface_distances(
    mask: np.ndarray | Rle,
    truth: np.ndarray | Rle,
    *,
    spacing: float | Sequence[float] | None = None,
    points: str = "boundary",
) -> SurfaceDistances:
    """Distances from the points of a mask to the truth's nearest, and the other way round.

    Several metrics of one pair are best taken from here: the distances are computed once.

    Parameters
    ----------
    mask, truth : ndarray of bool or Rle, shape (M, N)
        Arrays of 0 and 1 are taken too.
    spacing : float or (float, float), optional
        Size of a pixel, mm per pixel: one number, or that along rows (between one row and the next) and
        along columns. By default distances are in pixels.
    points : {"boundary", "boundary8", "foreground"}, default "boundary"
        Which pixels are compared: those of the mask with a background pixel above, below, left or right;
        diagonals counted too; or all pixels of the mask. Outside the image is background. Distances run
        from pixel centre to pixel centre.

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
    steps = _check_spacing(spacing)
    check_choice(points, POINTS, "points")
    diagonal = float(np.hypot(predicted.shape[0] * steps[0], predicted.shape[1] * steps[1]))
    box = bounding_box(predicted | reference)
    if box is None:
        return SurfaceDistances(np.zeros(0), np.zeros(0), diagonal)
    # background all round the box, as round the image
    ours, theirs = (_points(array[box], points) for array in (predicted, reference))
    size = box[0].stop - box[0].start, box[1].stop - box[1].start
    to_truth = nearest_distances(ours, theirs, size, steps)
    to_mask = nearest_distances(theirs, ours, size, steps)
    return SurfaceDistances(to_truth, to_mask, diagonal)


def _check_spacing(spacing: object) -> tuple[float, float]:
    """Size of a pixel along rows and along columns; 1 and 1 where none is given."""
    values = np.asarray(1.0 if spacing is None else spacing)
    if values.shape not in ((), (2,)):
        raise ShapeError(f"spacing must be one number or two (row, col), in mm per pixel, not {spacing!r}")
    if values.dtype.kind not in "iuf" or not (np.isfinite(values) & (values > 0)).all():
        raise ValueRangeError(f"spacing must be positive and finite, in mm per pixel, not {spacing!r}")
    row, col = np.broadcast_to(values, 2).tolist()
    return float(row), float(col)


def _points(mask: np.ndarray, points: str) -> np.ndarray:
    """Flat positions of the pixels that are compared."""
    if points != "foreground":
        mask = boundary(mask, neighbours=4 if points == "boundary" else 8)
    return np.flatnonzero(mask)


def hausdorff(
    mask: np.ndarray | Rle,
    truth: np.ndarray | Rle,
    *,
    spacing: float | Sequence[float] | None = None,
    points: str = "boundary",
    undefined: str = "nan",
) -> float:
    """Hausdorff distance: how far the worst point of either outline lies from the other.

    One stray pixel decides it; `hd95` leaves out the worst twentieth.

    Parameters
    ----------
    mask, truth, spacing, points
        As for `surface_distances`.
    undefined : {"nan", "worst"}, default "nan"
        What an empty mask or truth gives, see the table of the module.

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
    around each. That is not offered: its points are no pixels of either mask, its percentiles do not
    interpolate, and it gives other numbers than the libraries that agree.

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
    """95th percentile of the Hausdorff distance.

    Takes, returns and raises what `hausdorff` does, and `rule`: "directed", the larger of the 95th
    percentiles of the two lists of distances, or "pooled", the percentile of both lists put together.

    Notes
    -----
    "directed" is what Metrics Reloaded defines and MONAI computes, "pooled" what medpy (`hd95`) does. The
    latter is smaller where the longer outline is the better one: on the oracle's speckled mask 38 pixels
    instead of 47. Percentiles interpolate linearly between order statistics.

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
    found = surface_distances(mask, truth, spacing=spacing, points=points)
    return found.hd95(rule=rule, undefined=undefined)


def assd(
    mask: np.ndarray | Rle,
    truth: np.ndarray | Rle,
    *,
    spacing: float | Sequence[float] | None = None,
    points: str = "boundary",
    undefined: str = "nan",
) -> float:
    """Average symmetric surface distance: the mean over the points of both outlines.

    Takes, returns and raises what `hausdorff` does; never more than that.

    Notes
    -----
    Both lists of distances are put together, so that the longer outline weighs more, as in medpy (`assd`),
    MONAI and Metrics Reloaded (reference in `hd95`). SimpleITK's average Hausdorff distance is another
    number: the mean of the two lists' means over all pixels.

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
    """Normalized surface distance: the share of both outlines that lies within a tolerance of the other.

    From 0 to 1, and more is better. Also called surface Dice. Takes and raises what `hausdorff` does, and
    `tolerance`: the largest distance that counts as agreement, in pixels or the unit of `spacing`. It is what
    readers differ by, and lets pass what hardly matters.

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
    found = surface_distances(mask, truth, spacing=spacing, points=points)
    return found.nsd(tolerance=tolerance, undefined=undefined)


_BOUNDARY = "boundary pixels (4 neighbours), as"
_RELOADED = "Maier-Hein et al. 2024, doi:10.1038/s41592-023-02151-z"
_NEEDS, _SAID = ("distances",), "distance_options"
#: The rules of "hd95" in words.
_RULES_SAID = {
    "directed": "the larger of the two directed percentiles",
    "pooled": "the percentile of both directions together",
}

HAUSDORFF = Metric(
    "hausdorff", "Hausdorff distance", 0, inf, -1, True,
    f"{_BOUNDARY} medpy and MONAI; Huttenlocher et al. 1993, doi:10.1109/34.232073",
    _NEEDS, SurfaceDistances.hausdorff, column=_SAID,
)  # fmt: skip
HD95 = Metric(
    "hd95", "95th-percentile Hausdorff distance", 0, inf, -1, True,
    f"the larger of two directed percentiles over {_BOUNDARY} MONAI; {_RELOADED}",
    _NEEDS, SurfaceDistances.hd95, words=lambda rule: _RULES_SAID[rule], column=_SAID,
)  # fmt: skip
ASSD = Metric(
    "assd", "Average symmetric surface distance", 0, inf, -1, True,
    f"both directions pooled over {_BOUNDARY} medpy and MONAI; {_RELOADED}",
    _NEEDS, SurfaceDistances.assd, column=_SAID,
)  # fmt: skip
NSD = Metric(
    "nsd", "NSD", 0, 1, 1, True,
    f"over {_BOUNDARY} MONAI; Nikolov et al. 2021, doi:10.2196/26151; {_RELOADED}",
    _NEEDS, SurfaceDistances.nsd,
    f"NSD at a tolerance of {TOLERANCE:g} pixels (mm where the size of a pixel is given), or as said.",
    full="normalized surface distance", words=lambda tolerance: f"tolerance {tolerance:g}", column=_SAID,
)  # fmt: skip
