"""Scores of a map at fixations, as in saliency prediction: kernels of map and points.

The docstring of `fixation` describes what they have in common. Points are an array_like of number of shape
(n, 2), (row, col) in pixels; fractions are rounded down, and a pixel that was fixated twice counts twice.
"""

from math import inf, sqrt
from typing import Any

import numpy as np

from salstats.checks import check_choice, check_shape_of_points
from salstats.errors import ShapeError, ValueRangeError
from salstats.images.fixations import checked_density_pixels
from salstats.images.maps import checked_pixels
from salstats.images.pixel_values import PixelShares
from salstats.metrics.densities import Densities, as_density
from salstats.metrics.ranks import RankedMap, auc_of_values
from salstats.metrics.records import Metric

_NAN = float("nan")


def nss(saliency: Any, points: Any, *, form: str = "points") -> float:
    """Return how many standard deviations above its mean a map lies at the fixations.

    NaN for a constant map, and without points.

    Parameters
    ----------
    saliency : array_like of number, shape (M, N)
    points : array_like of number, shape (n, 2)
    form : {"points", "binary"}, default "points"
        "points" takes the mean over the fixations and the standard deviation of the pixels (division by
        M * N). "binary" is the MIT benchmark's code: each fixated pixel counts once, however often it was
        fixated, and the standard deviation divides by M * N - 1.

    Notes
    -----
    pysaliency (0.2.22) gives 0 for a constant map. That is the score of chance, which a method that failed
    has not earned.

    References
    ----------
    Peters RJ, Iyer A, Itti L, Koch C. Components of bottom-up gaze allocation in natural images. Vision
    Research 2005. https://doi.org/10.1016/j.visres.2005.03.019

    Examples
    --------
    >>> from salstats.metrics.fixation_points import nss
    >>> round(nss([[1, 1], [1, 5]], [(1, 1)]), 6)
    1.732051
    """
    saliency = checked_pixels(saliency)
    binary = check_choice(form, ("points", "binary"), "form") == "binary"
    pixels = _flat_pixel_indices(points, saliency.shape)
    if saliency.is_constant or not len(pixels):
        return _NAN
    divisor = saliency.flat.size
    if binary:
        pixels = np.unique(pixels)
        divisor -= 1
    # NSS = (mean of the map at the fixations - mean of the map) / SD of the map (Peters et al. 2005);
    # `deviation_norm` is the root of the sum of squared deviations
    standard_deviation = saliency.deviation_norm / sqrt(divisor)
    return float((saliency.flat[pixels].mean() - saliency.mean) / standard_deviation)


def auc_points(saliency: Any, points: Any, *, negatives: str = "all") -> float:
    """Return the exact area under the ROC curve of a map: fixations against pixels, by ranks.

    NaN for a constant map, without points, and where no pixel is left for the negatives.

    Parameters
    ----------
    saliency, points
        As for `nss`.
    negatives : {"all", "unfixated"}, default "all"
        All pixels of the image, or those that were never fixated.

    Notes
    -----
    Ties count half. With all pixels as negatives this is `auc` against the density of the fixated pixels,
    and the mean of the areas for the single fixations. pysaliency (`thresholds="all"`) gives the same, and
    0.5 for a constant map.

    References
    ----------
    Kümmerer M, Wallis TSA, Bethge M. Information-theoretic model comparison unifies saliency metrics. PNAS
    2015. https://doi.org/10.1073/pnas.1510393112

    Examples
    --------
    >>> from salstats.metrics.fixation_points import auc_points
    >>> auc_points([[0.1, 0.4], [0.4, 0.9]], [(1, 1)])
    0.875
    >>> auc_points([[0.1, 0.4], [0.4, 0.9]], [(1, 1)], negatives="unfixated")
    1.0
    """
    saliency = checked_pixels(saliency)
    check_choice(negatives, ("all", "unfixated"), "negatives")
    pixels = _flat_pixel_indices(points, saliency.shape)
    if saliency.is_constant:
        return _NAN
    positive_values = saliency.flat[pixels]
    negative_values = saliency.flat
    if negatives == "unfixated":
        negative_values = negative_values[_unfixated_flat_mask(pixels, saliency.flat.size)]
    return auc_of_values(positive_values, negative_values)


def sauc_points(saliency: Any, points: Any, others: Any) -> float:
    """Return the area under the ROC curve of a map: fixations against those of other images.

    A map that is bright in the middle of every image gains nothing by that. `points` and `others` are (row,
    col) each; one outside the image raises ValueRangeError. `others` are fixations on other images in the
    pixels of this one: rows multiplied by this image's height over the other's, columns likewise. All of them
    count, even where they share a pixel. NaN for a constant map, and without points or others.

    Notes
    -----
    Ties count half, and nothing is drawn: pysaliency's `nonfixations="shuffled"`. The MIT benchmark draws
    as many of the others as there are fixations, several times over.

    References
    ----------
    Zhang L, Tong MH, Marks TK, Shan H, Cottrell GW. SUN: A Bayesian framework for saliency using natural
    statistics. Journal of Vision 2008. https://doi.org/10.1167/8.7.32

    Examples
    --------
    >>> from salstats.metrics.fixation_points import sauc_points
    >>> sauc_points([[0.1, 0.4], [0.4, 0.9]], [(1, 1), (0, 1)], others=[(1, 0), (0, 0)])
    0.875
    """
    saliency = checked_pixels(saliency)
    positives = _flat_pixel_indices(points, saliency.shape)
    negatives = _flat_pixel_indices(others, saliency.shape, "others")
    if saliency.is_constant:
        return _NAN
    return auc_of_values(saliency.flat[positives], saliency.flat[negatives])


def auc_judd(saliency: Any, points: Any, *, jitter: Any | None = None) -> float:
    """Return AUC-Judd: the area under an ROC curve that is known at the fixations' values only.

    NaN for a constant map, without points, and where every pixel is fixated.

    Parameters
    ----------
    saliency, points
        As for `nss`.
    jitter : array_like of number, shape (M, N), optional
        Added to the map, to break ties; uniform noise from 0 to 1e-7 in the MIT benchmark's code. Nothing is
        drawn here: give the noise. None, the default, leaves ties as they are. A constant map gives NaN all
        the same.

    Notes
    -----
    The negatives are the pixels that were never fixated. The curve has a corner at each distinct value that
    the map takes at a fixation, and straight lines between them: what lies between two such values counts
    half. **Few fixations bias it upwards**, and by a lot: with one fixation the score is (1 + AUC) / 2, so
    that chance is 0.75. Use `auc_points(..., negatives="unfixated")`, the area under the whole curve, unless
    the number has to compare with printed ones. The two agree where the map has few levels and each is
    fixated.

    This is pysaliency's definition. Without ties and pixels fixated twice the MIT benchmark's code gives the
    same. With ties its curve depends on the order in which the fixations come, which is why it jitters; and
    it counts each fixated pixel once. pysaliency draws normal noise.

    References
    ----------
    Judd T, Ehinger K, Durand F, Torralba A. Learning to predict where humans look. ICCV 2009.
    https://doi.org/10.1109/ICCV.2009.5459462

    Bylinskii Z, Judd T, Oliva A, Torralba A, Durand F. What do different evaluation metrics tell us about
    saliency models? IEEE TPAMI 2019. https://doi.org/10.1109/TPAMI.2018.2815601

    Examples
    --------
    >>> from salstats.metrics.fixation_points import auc_judd, auc_points
    >>> saliency, points = [[0.1, 0.4], [0.5, 0.9]], [(0, 1)]
    >>> round(auc_judd(saliency, points), 6), round(auc_points(saliency, points, negatives="unfixated"), 6)
    (0.666667, 0.333333)
    """
    saliency = checked_pixels(saliency)
    shape = saliency.shape
    pixels = _flat_pixel_indices(points, shape)
    if jitter is not None and np.shape(jitter) != shape:
        raise ShapeError(
            f"map {shape} and jitter {np.shape(jitter)} must have the same shape",
            option="jitter",
            value=np.shape(jitter),
        )
    if saliency.is_constant or not len(pixels):
        return _NAN
    flat = saliency.flat
    if jitter is not None:
        flat = flat + checked_pixels(jitter).flat
    negatives = np.sort(flat[_unfixated_flat_mask(pixels, flat.size)])
    if not len(negatives):
        return _NAN
    thresholds, n_fixations = np.unique(flat[pixels], return_counts=True)
    # shares of fixations and of other pixels at or above each threshold, from the highest to the lowest
    true_positive_rate = np.cumsum(n_fixations[::-1]) / len(pixels)
    false_positive_rate = 1 - np.searchsorted(negatives, thresholds[::-1]) / len(negatives)
    # the curve runs from (0, 0) to (1, 1)
    return float(np.trapezoid(np.r_[0, true_positive_rate, 1], np.r_[0, false_positive_rate, 1]))


def information_gain(
    saliency: Any, points: Any, baseline: Any | None, *, minimum: float = 0.0, constant: str = "nan"
) -> float:
    """Return the information gain of a map, read as a density, over a baseline, in bits per fixation.

    The mean over the fixations of log2(map / baseline); 0 is as good as the baseline. -inf if the map is 0 at
    a fixation (a minimum prevents that), inf if only the baseline is, NaN if both are 0 at one fixation, or
    the map at one and the baseline at another. NaN also without points, and for a constant map that counts as
    undefined.

    Parameters
    ----------
    saliency, points
        As for `nss`.
    baseline : array_like of number, shape (M, N), or None
        Density to beat, such as the centre bias. None is the uniform one.
    minimum : float, default 0
        Added to every pixel of the map before it is divided by its sum, in the map's own unit. The same for
        all maps that are compared.
    constant : {"nan", "uniform"}, default "nan"
        Reading of a constant map: undefined, or the uniform density.

    Notes
    -----
    It measures a *density*: unlike ranks it changes when the map is stretched. Scores are comparable only
    between maps made densities in the same way, and are bits only where the map was meant as a density. A
    mean with one score of -inf is -inf, and a mean without these scores flatters maps with zeros: give a
    minimum to compare such maps.

    As pysaliency's `SaliencyMapNormalizingModel`, which takes a constant map for the uniform density
    (reference in `auc_points`). The MIT benchmark's code stretches map and baseline to [0, 1] first, and adds
    2.2e-16 inside the logarithm.

    Examples
    --------
    >>> from salstats.metrics.fixation_points import information_gain
    >>> information_gain([[1, 1], [2, 4]], [(1, 1)], None)
    1.0
    >>> information_gain([[1, 1], [2, 4]], [(1, 1)], [[0, 0], [1, 1]])
    0.0
    """
    saliency = checked_pixels(saliency)
    shape = saliency.shape
    pixels = _flat_pixel_indices(points, shape)
    baseline_shares = None
    if baseline is not None:
        baseline_shares = PixelShares(checked_density_pixels(baseline, shape, "baseline"))
    density = as_density(saliency, added_to_each_pixel=minimum, constant=constant)
    if density is None or not len(pixels):
        return _NAN
    # shares of the baseline at the fixated pixels; the uniform density has one share everywhere
    expected = np.asarray(1 / saliency.flat.size)
    if baseline_shares is not None:
        expected = baseline_shares.shares_at(pixels)
    # log2(0) is -inf, and -inf minus -inf is NaN: no warning, the docstring says so
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = np.log2(density.shares_at(pixels)) - np.log2(expected)
        return float(np.mean(gains))


def _unfixated_flat_mask(pixels: np.ndarray, n_pixels: int) -> np.ndarray:
    """Return an array of bool in row-major order, True for each of `n_pixels` that is not among `pixels`."""
    is_unfixated = np.ones(n_pixels, dtype=bool)
    is_unfixated[pixels] = False
    return is_unfixated


def _flat_pixel_indices(points: Any, shape: tuple[int, ...], name: str = "points") -> np.ndarray:
    """Return the flat index, in row-major order, of the pixel in which each point lies.

    ShapeError if points are not (row, col); ValueRangeError if one is not finite or lies outside the image.
    """
    array = check_shape_of_points(points, name)
    if not len(array):
        return np.empty(0, dtype=np.intp)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise ValueRangeError(f"{name} must be finite numbers (row, col)", option=name)
    cells = np.floor(array)
    outside = ((cells < 0) | (cells >= shape)).any(axis=1)
    if outside.any():
        row, col = array[outside][0].tolist()
        raise ValueRangeError(
            f"{np.count_nonzero(outside)} of {len(array)} {name} lie outside the image {shape}, the first at "
            f"({row:g}, {col:g}); points are (row, col), leave out and count those beyond the image",
            option=name,
            value=(row, col),
            rows=np.flatnonzero(outside).tolist(),
        )
    indices = cells.astype(np.intp)
    return np.asarray(indices[:, 0] * shape[1] + indices[:, 1])


def _auc_points_of_ranked_map(ranked: RankedMap, points: np.ndarray) -> float:
    """Return `auc_points` of a map that is sorted already."""
    return ranked.auc_against_all_pixels(_flat_pixel_indices(points, ranked.shape))


def _information_gain_over_center_bias(
    saliency: np.ndarray, points: Any, center_bias: Densities, *, floor: float = 0.0
) -> float:
    """Return `information_gain` over the centre bias; `floor` is `minimum` as a share of the map's range.

    The range is that of the map as a density: from 0, or from its smallest value where that is negative.
    """
    low = min(float(saliency.min()), 0.0)
    high = float(saliency.max())
    return information_gain(saliency, points, center_bias.values[0], minimum=floor * (high - low))


_BYLINSKII = "pysaliency; Bylinskii et al. 2019, doi:10.1109/TPAMI.2018.2815601"

AUC_POINTS = Metric(
    name="auc_points",
    label="AUC of points",
    low=0,
    high=1,
    direction=1,
    true_zero=False,
    source=_BYLINSKII,
    needs=("ranked", "points"),
    kernel=_auc_points_of_ranked_map,
)
SAUC_POINTS = Metric(
    name="sauc_points",
    label="sAUC of points",
    low=0,
    high=1,
    direction=1,
    true_zero=False,
    source=_BYLINSKII,
    needs=("map_on_image", "points", "others"),
    kernel=sauc_points,
)
AUC_JUDD = Metric(
    name="auc_judd",
    label="AUC-Judd",
    low=0,
    high=1,
    direction=1,
    true_zero=False,
    source=_BYLINSKII,
    needs=("map_on_image", "points"),
    kernel=auc_judd,
)
NSS = Metric(
    name="nss",
    label="NSS",
    low=-inf,
    high=inf,
    direction=1,
    true_zero=False,
    source="pysaliency; Peters et al. 2005, doi:10.1016/j.visres.2005.03.019",
    needs=("map_on_image", "points"),
    kernel=nss,
    full="normalized scanpath saliency",
)
INFORMATION_GAIN = Metric(
    name="information_gain",
    label="Information gain",
    low=-inf,
    high=inf,
    direction=1,
    true_zero=False,
    source="pysaliency; Kümmerer et al. 2015, doi:10.1073/pnas.1510393112",
    needs=("map_on_image", "points", "center_bias"),
    kernel=_information_gain_over_center_bias,
    note="Information gain in bits per fixation over the baseline.",
)
