"""How far a mask's outline lies from the truth's: Hausdorff and surface distances, in pixels or mm.

Less is better, and 0 is perfect agreement. All three metrics come from the same two lists: from each point of
the mask the distance to the nearest point of the truth, and from each point of the truth to the mask's
nearest. They are undefined where a mask is empty, and only there:

================  ===================  =========================
empty             `undefined="nan"`    `undefined="worst"`
================  ===================  =========================
mask and truth    NaN                  NaN
one of them       NaN                  diagonal of the image
================  ===================  =========================

Libraries disagree here: where one is empty, SciPy, MONAI and surface-distance give infinity, which no mean
survives, or NaN, and medpy and SimpleITK raise an error; where both are, SciPy and scikit-image give 0.
"worst" is for sensitivity analyses: without it a method that draws nothing loses nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from salstats.checks import ShapeError, ValueRangeError, check_choice
from salstats.images.boundaries import boundary, bounding_box
from salstats.images.masks import Rle, check_mask, decode
from salstats.images.nearest import nearest
from salstats.metrics.records import Metric

POINTS = ("boundary", "boundary8", "foreground")
RULES = ("directed", "pooled")
UNDEFINED = ("nan", "worst")
#: What "nsd" lets pass where nobody says more, in pixels or mm.
TOLERANCE = 2.0


@dataclass(frozen=True, eq=False)
class SurfaceDistances:
    """The distances between the points of a mask and those of the truth, and the metrics made of them.

    Attributes
    ----------
    to_truth : ndarray of float64, shape (n_mask,)
        From each of the mask's points to the nearest of the truth's, in row-major order; NaN where the truth
        is empty. Its largest is the directed Hausdorff distance from mask to truth.
    to_mask : ndarray of float64, shape (n_truth,)
        From each of the truth's points to the nearest of the mask's.
    diagonal : float
        Diagonal of the image, longer than any distance in it, in the same unit.
    """

    to_truth: np.ndarray
    to_mask: np.ndarray
    diagonal: float

    def hausdorff(self, *, undefined: str = "nan") -> float:
        """Largest of all distances, as `hausdorff` gives it."""
        check_choice(undefined, UNDEFINED, "undefined")
        if self._is_empty:
            return self._of_nothing(undefined)
        return float(max(self.to_truth.max(), self.to_mask.max()))

    def hd95(self, *, rule: str = "directed", undefined: str = "nan") -> float:
        """95th percentile of the distances, as `hd95` gives it."""
        check_choice(rule, RULES, "rule")
        check_choice(undefined, UNDEFINED, "undefined")
        if self._is_empty:
            return self._of_nothing(undefined)
        if rule == "pooled":
            return float(np.percentile(np.concatenate([self.to_truth, self.to_mask]), 95))
        return float(max(np.percentile(self.to_truth, 95), np.percentile(self.to_mask, 95)))

    def assd(self, *, undefined: str = "nan") -> float:
        """Mean of all distances, as `assd` gives it."""
        check_choice(undefined, UNDEFINED, "undefined")
        if self._is_empty:
            return self._of_nothing(undefined)
        n_points = self.to_truth.size + self.to_mask.size
        return float((self.to_truth.sum() + self.to_mask.sum()) / n_points)

    def nsd(self, *, tolerance: float = TOLERANCE, undefined: str = "nan") -> float:
        """The share of the points that lie within a tolerance, as `nsd` gives it."""
        check_choice(undefined, UNDEFINED, "undefined")
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < inf:
            raise ValueRangeError(f"tolerance must be a finite number of at least 0, not {tolerance!r}")
        if self._is_empty:
            one_is_empty = self.to_truth.size or self.to_mask.size
            return 0.0 if undefined == "worst" and one_is_empty else float("nan")
        near = np.count_nonzero(self.to_truth <= tolerance) + np.count_nonzero(self.to_mask <= tolerance)
        return float(near / (self.to_truth.size + self.to_mask.size))

    @property
    def _is_empty(self) -> bool:
        """Whether mask or truth is empty."""
        return not (self.to_truth.size and self.to_mask.size)

    def _of_nothing(self, undefined: str) -> float:
        """What stands for the distance where mask or truth is empty."""
        one_is_empty = self.to_truth.size or self.to_mask.size
        return self.diagonal if undefined == "worst" and one_is_empty else float("nan")


def surface_distances(
    mask: np.ndarray | Rle,
    truth: np.ndarray | Rle,
    *,
    spacing: float | Sequence[float] | None = None,
    points: str = "boundary",
) -> SurfaceDistances:
    """Distances from the points of a mask to the truth's nearest, and the other way round.

    `hausdorff`, `hd95` and `assd` of one pair are best taken from here: the distances are computed once.

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
        With the methods `hausdorff`, `hd95` and `assd`.

    Raises
    ------
    ShapeError
        The shapes differ, or do not have two dimensions; `spacing` is not one number or two.
    ValueRangeError
        An array holds something else than 0 and 1, a spacing is not positive, or `points` is not known.

    Notes
    -----
    Distances are exact, and computed on the smallest box that holds both masks; see `images.nearest`.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.distance import surface_distances
    >>> found = surface_distances(np.array([[1, 1, 1, 0, 0]]), np.array([[0, 0, 1, 0, 1]]))
    >>> found.to_truth, found.to_mask
    (array([2., 1., 0.]), array([0., 2.]))
    >>> found.hausdorff(), found.assd()
    (2.0, 1.0)
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
    return SurfaceDistances(nearest(ours, theirs, size, steps), nearest(theirs, ours, size, steps), diagonal)


def mask_pair(mask: np.ndarray | Rle, truth: np.ndarray | Rle) -> tuple[np.ndarray, np.ndarray]:
    """Return mask and truth as arrays of bool.

    Raises
    ------
    ShapeError
        The shapes differ, or do not have two dimensions.
    ValueRangeError
        An array holds something else than 0 and 1.

    Examples
    --------
    >>> from salstats.images.masks import Rle
    >>> from salstats.metrics.distance import mask_pair
    >>> mask_pair(Rle((1, 3), b"12"), [[0, 1, 0]])
    (array([[False,  True,  True]]), array([[False,  True, False]]))
    """
    predicted = decode(mask) if isinstance(mask, Rle) else check_mask(mask)
    reference = decode(truth) if isinstance(truth, Rle) else check_mask(truth, "truth")
    if predicted.shape != reference.shape:
        raise ShapeError(
            f"mask {predicted.shape} and truth {reference.shape} must have the same shape; "
            "resize with images.map_steps.resize"
        )
    return predicted, reference


def _check_spacing(spacing: object) -> tuple[float, float]:
    """Size of a pixel along rows and along columns; 1 and 1 where none is given."""
    if spacing is None:
        return 1.0, 1.0
    values = np.asarray(spacing)
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

    Less is better. One stray pixel decides it; `hd95` leaves out the worst twentieth.

    Parameters
    ----------
    mask, truth, spacing, points
        As for `surface_distances`.
    undefined : {"nan", "worst"}, default "nan"
        What an empty mask or truth gives: NaN, or the diagonal of the image where exactly one is empty.

    Returns
    -------
    float
        At least 0, in pixels or the unit of `spacing`; NaN where mask or truth is empty.

    Raises
    ------
    ShapeError, ValueRangeError
        As in `surface_distances`, or `undefined` is not known.

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
    >>> hausdorff(mask, truth)
    3.0
    >>> hausdorff(mask, truth, spacing=0.5)
    1.5
    """
    check_choice(undefined, UNDEFINED, "undefined")
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

    Less is better.

    Parameters
    ----------
    mask, truth, spacing, points
        As for `surface_distances`.
    rule : {"directed", "pooled"}, default "directed"
        The larger of the 95th percentiles of the two lists of distances, or the percentile of both lists put
        together.
    undefined : {"nan", "worst"}, default "nan"
        As for `hausdorff`.

    Returns
    -------
    float
        At least 0 and at most the Hausdorff distance, in pixels or the unit of `spacing`; NaN where mask or
        truth is empty.

    Raises
    ------
    ShapeError, ValueRangeError
        As in `hausdorff`, or `rule` is not known.

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
    check_choice(rule, RULES, "rule")
    check_choice(undefined, UNDEFINED, "undefined")
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

    Less is better.

    Parameters
    ----------
    mask, truth, spacing, points
        As for `surface_distances`.
    undefined : {"nan", "worst"}, default "nan"
        As for `hausdorff`.

    Returns
    -------
    float
        At least 0 and at most the Hausdorff distance, in pixels or the unit of `spacing`; NaN where mask or
        truth is empty.

    Raises
    ------
    ShapeError, ValueRangeError
        As in `hausdorff`.

    Notes
    -----
    Both lists of distances are put together, so that the longer outline weighs more, as in medpy (`assd`),
    MONAI and Metrics Reloaded. SimpleITK's average Hausdorff distance is another number: the mean of the two
    lists' means over all pixels.

    References
    ----------
    Maier-Hein L, Reinke A, Godau P, et al. Metrics reloaded: recommendations for image analysis validation.
    Nature Methods 2024. https://doi.org/10.1038/s41592-023-02151-z

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.metrics.distance import assd
    >>> assd(np.array([[1, 1, 1, 0, 0]]), np.array([[0, 0, 1, 0, 1]]))
    1.0
    """
    check_choice(undefined, UNDEFINED, "undefined")
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

    More is better. Also called surface Dice: the tolerance is what readers differ by, and lets pass what
    hardly matters.

    Parameters
    ----------
    mask, truth, spacing, points
        As for `surface_distances`.
    tolerance : float, default 2
        Largest distance that counts as agreement, in pixels or the unit of `spacing`.
    undefined : {"nan", "worst"}, default "nan"
        What an empty mask or truth gives: NaN, or 0 where exactly one is empty.

    Returns
    -------
    float
        From 0 to 1; NaN where mask or truth is empty.

    Raises
    ------
    ShapeError, ValueRangeError
        As in `hausdorff`, or the tolerance is negative or not finite.

    Notes
    -----
    The points of both outlines are counted alike, as in MONAI (`compute_surface_dice` without subvoxels,
    which gives the same numbers). Nikolov's implementation weights corners between pixels by the length of
    the outline.

    References
    ----------
    Nikolov S, Blackwell S, Zverovitch A, et al. Clinically applicable segmentation of head and neck anatomy
    for radiotherapy. Journal of Medical Internet Research 2021. https://doi.org/10.2196/26151

    Maier-Hein L, Reinke A, Godau P, et al. Metrics reloaded: recommendations for image analysis validation.
    Nature Methods 2024. https://doi.org/10.1038/s41592-023-02151-z

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
