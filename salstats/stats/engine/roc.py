"""The area under the ROC curve of two arrays and its variance, for independent and for clustered rows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from salstats.stats.engine.cr2 import cr2
from salstats.stats.engine.draws import weight_blocks
from salstats.stats.engine.limits import LimitArrays

#: A variance whose share of the sum of its positive terms is no larger is rounding.
_ROUNDING = 1e-12


class RocArea(NamedTuple):
    """An area under the ROC curve, or the difference of two, with its sampling variance."""

    estimate: float
    variance: float
    #: Degrees of freedom of the variance.
    df: float
    #: Number of rows with label 1.
    n_positive: int
    #: Number of rows with label 0.
    n_negative: int
    #: Number of clusters with a positive, or with a negative, whichever is smaller.
    n_rarer: int
    #: Area of the reference; NaN unless `estimate` is a difference.
    reference_area: float = np.nan


def roc_area_or_difference(
    scores: np.ndarray,
    labels: np.ndarray,
    clusters: NDArray[np.integer] | None = None,
    *,
    reference: np.ndarray | None = None,
    obuchowski: bool = False,
) -> RocArea:
    """Compute the area under the ROC curve, or its difference from the area of a `reference`.

    The result also has the variance of the area, or of the difference.

    Rows of one cluster may depend on each other. `estimate` is NaN without positives or negatives, `variance`
    and `df` where fewer than two clusters have positives or negatives. Placement values come from sorted
    scores (Sun and Xu 2014): V10 of a positive is the share of negatives below it, V01 of a negative the
    share of positives above it. The mean of V10 is the area A, and so is the mean of V01. For a difference of
    areas, V10 and V01 are differences of placement values.

    The variance is the variance of the mean of V10 plus the mean of V01: bias-reduced (CR2), with
    Satterthwaite's degrees of freedom for V10 and V01 with their estimated variances. If each row is a
    cluster of its own, these are DeLong's variance and Welch's degrees of freedom.

    With `obuchowski` (Obuchowski 1997), where a_k and b_k are sums of V10 - A and of V01 - A over cluster k,
    m positives are in I10 clusters, n negatives in I01 clusters, and there are I clusters,

    variance = I10/(I10-1) sum a_k² / m² + I01/(I01-1) sum b_k² / n² + 2 I/(I-1) sum a_k b_k / (m n)

    This can be 0 or negative if rows of a cluster depend negatively on each other. `df` is then
    min(I10, I01) - 1: as for means of two samples with unequal variances, the smaller one is the safe choice.

    Sun X, Xu W. Fast implementation of DeLong's algorithm. IEEE Signal Process Lett 2014;21:1389-1393.
    https://doi.org/10.1109/LSP.2014.2337313
    """
    positive = np.asarray(labels, dtype=bool)
    n_positive = int(positive.sum())
    n_negative = int((~positive).sum())
    if not n_positive or not n_negative:
        return RocArea(np.nan, np.nan, np.nan, n_positive, n_negative, n_rarer=0)
    placement = concordant_share_of_each_score(scores, positive)
    reference_area = np.nan
    if reference is not None:
        reference_placement = concordant_share_of_each_score(reference, positive)
        reference_area = float(reference_placement[positive].mean())
        placement = placement - reference_placement
    area = float(placement[positive].mean())

    codes = np.arange(len(positive))
    if clusters is not None:
        codes = np.unique(clusters, return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1
    # All arrays have a column of the positives and one of the negatives. Rows of `is_class` and `deviations`
    # are rows of the data, those of `counts`, `sums` and `scaled_sums` are clusters.
    is_class = np.column_stack([positive, ~positive])
    # V10 - A of positives and V01 - A of negatives
    deviations = (placement - area)[:, None] * is_class
    counts = np.column_stack([np.bincount(codes, column, n_clusters) for column in is_class.T])
    sums = np.column_stack([np.bincount(codes, column, n_clusters) for column in deviations.T])
    # I10 and I01 of the docstring
    n_with_class = (counts > 0).sum(axis=0)
    n_rarer = int(n_with_class.min())
    # a_k / m and b_k / n
    scaled_sums = sums / np.array([n_positive, n_negative])
    class_variances = n_with_class / np.maximum(n_with_class - 1, 1) * (scaled_sums**2).sum(axis=0)
    if n_rarer < 2:
        variance = np.nan
        df = np.nan
    elif obuchowski:
        positive_sums, negative_sums = scaled_sums.T
        twice_covariance = 2 * n_clusters / (n_clusters - 1) * (positive_sums @ negative_sums)
        variance = float(class_variances.sum() + twice_covariance)
        df = float(n_rarer - 1)
    else:
        variance, df = _bias_reduced_area_variance_and_df(sums, counts, deviations)
    # Terms of opposite sign may cancel, and leave a rounding error.
    if abs(variance) <= _ROUNDING * class_variances.sum():
        variance = 0.0
    return RocArea(area, variance, df, n_positive, n_negative, n_rarer, reference_area)


def concordant_share_of_each_score(scores: np.ndarray, positive: NDArray[np.bool_]) -> np.ndarray:
    """Compute placement values, shape (n_rows,).

    The placement value of a positive is the share of negatives below it, and of a negative the share of
    positives above it; ties count one half.
    """
    values = np.empty(len(positive))
    positive_scores = scores[positive]
    negative_scores = scores[~positive]
    values[positive] = _count_below_with_ties_as_half(positive_scores, negative_scores) / len(negative_scores)
    values[~positive] = 1 - _count_below_with_ties_as_half(negative_scores, positive_scores) / len(
        positive_scores
    )
    return values


def _count_below_with_ties_as_half(scores: np.ndarray, reference_scores: np.ndarray) -> np.ndarray:
    """Count the reference scores below each score; equal ones count one half."""
    ordered = np.sort(reference_scores)
    n_below = np.searchsorted(ordered, scores, "left")
    n_at_or_below = np.searchsorted(ordered, scores, "right")
    return (n_below + n_at_or_below) / 2


def _bias_reduced_area_variance_and_df(
    sums: np.ndarray, counts: np.ndarray, deviations: np.ndarray
) -> tuple[float, float]:
    """Return the CR2 variance of the mean of V10 plus the mean of V01, and its degrees of freedom.

    The columns of all arrays are the positives and the negatives. `sums` and `counts` (n_clusters, 2) are the
    sums of a cluster's deviations and its numbers of rows; `deviations` (n_rows, 2) are V10 and V01 less the
    area, 0 in rows of the other class.
    """
    totals = counts.sum(axis=0)
    sd = np.sqrt((deviations**2).sum(axis=0) / np.maximum(totals - 1, 1))
    if not sd.any():
        return 0.0, np.nan
    # CR2 assumes equal variances of rows, which standardized values have. The sum of the two means is then
    # a linear combination of the means of standardized values with the standard deviations as its slopes.
    standardized_sums = sums / np.where(sd > 0, sd, 1.0)
    robust = cr2(standardized_sums, counts, slopes=sd[None])
    return float(robust.variance[0]), float(robust.df[0])


def exact_p_value_of_separation(n_positive: np.ndarray, n_negative: np.ndarray) -> np.ndarray:
    """Compute the exact two-sided Mann-Whitney P value of complete separation, 2 / C(n, n_positive).

    Of the ways to choose the positives among n independent rows, one gives an area of 1 and one of 0,
    whatever ties there are within the classes.
    """
    n_labellings: np.ndarray = special.binom(n_positive + n_negative, n_positive)
    return 2 / n_labellings


def area_limits(
    area: np.ndarray, std_error: np.ndarray, quantile: np.ndarray | float, *, on_logit: bool = False
) -> LimitArrays:
    """Return lower and upper limits of areas A, NaN without a standard error above 0.

    The limits are A ± q se, cut off at 0 and 1; with `on_logit` those of log(A / (1 - A)) are its value
    ± q se / (A (1 - A)), and the limits lie between 0 and 1, NaN for an area of 0 or 1.
    """
    half_width = quantile * np.where(std_error > 0, std_error, np.nan)
    if not on_logit:
        return np.clip(area - half_width, 0, 1), np.clip(area + half_width, 0, 1)
    inner_area = np.where((area > 0) & (area < 1), area, np.nan)
    logit = special.logit(inner_area)
    logit_half_width = half_width / (inner_area * (1 - inner_area))
    return special.expit(logit - logit_half_width), special.expit(logit + logit_half_width)


class RocCorners(NamedTuple):
    """Corners of an empirical ROC curve, from (0, 0) to (1, 1)."""

    #: Rows with this score or a larger one are taken for positive; infinite at (0, 0).
    thresholds: np.ndarray
    #: Share of the rows with label 0 at or above each threshold.
    false_positive_rate: np.ndarray
    #: Share of the rows with label 1 at or above each threshold.
    true_positive_rate: np.ndarray


def roc_corners(scores: np.ndarray, positive: NDArray[np.bool_]) -> RocCorners:
    """Compute the corners of an empirical ROC curve; points on the line between two others are left out.

    Positives and negatives of one score make one slanted step, so that the area below the line through the
    corners is the estimate of `roc_area_or_difference`. There must be a positive and a negative row.
    """
    order = np.argsort(-scores, kind="stable")
    last_rows = _last_rows_of_scores(scores[order])
    n_true = np.concatenate([[0], np.cumsum(positive[order])[last_rows]])
    n_false = np.concatenate([[0], np.cumsum(~positive[order])[last_rows]])
    thresholds = np.concatenate([[np.inf], scores[order][last_rows]])
    # two steps lie on one line where their cross product is 0
    true_steps = np.diff(n_true)
    false_steps = np.diff(n_false)
    turns = true_steps[:-1] * false_steps[1:] != true_steps[1:] * false_steps[:-1]
    is_corner = np.concatenate([[True], turns, [True]])
    return RocCorners(thresholds[is_corner], n_false[is_corner] / n_false[-1], n_true[is_corner] / n_true[-1])


def true_positive_rate_replicates(
    scores: np.ndarray,
    positive: NDArray[np.bool_],
    clusters: NDArray[np.integer],
    false_positive_rates: np.ndarray,
    n_replicates: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw clusters with replacement, and compute the true positive rates at some false positive rates.

    Parameters
    ----------
    scores, positive, clusters : ndarray, shape (n_rows,)
        Scores, True for label 1, and the cluster of each row.
    false_positive_rates : ndarray, shape (n_rates,)
        Where the curve of each replicate is read; where it is vertical, its upper end.
    n_replicates : int
        Number of replicates.
    rng : Generator
        Generator of the draws.

    Returns
    -------
    ndarray, shape (n_replicates, n_rates)
        NaN in replicates without positives or negatives.
    """
    order = np.argsort(-scores, kind="stable")
    last_rows = _last_rows_of_scores(scores[order])
    is_positive = positive[order]
    cluster_codes = np.unique(clusters, return_inverse=True)[1][order]
    n_clusters = int(cluster_codes.max()) + 1
    # a rate that is equal but for rounding counts as equal
    rates = false_positive_rates + _ROUNDING
    replicates = np.full((n_replicates, len(rates)), np.nan)
    for rows, weights in weight_blocks(n_clusters, n_replicates, rng, numbers_per_replicate=len(scores)):
        row_weights = weights[:, cluster_codes]
        n_true = np.cumsum(row_weights * is_positive, axis=1)[:, last_rows]
        n_false = np.cumsum(row_weights * ~is_positive, axis=1)[:, last_rows]
        for replicate, true_counts, false_counts in zip(
            range(rows.start, rows.stop), n_true, n_false, strict=True
        ):
            if true_counts[-1] and false_counts[-1]:
                curve_x = np.concatenate([[0.0], false_counts / false_counts[-1]])
                curve_y = np.concatenate([[0.0], true_counts / true_counts[-1]])
                # of points with the same false positive rate np.interp takes the last
                replicates[replicate] = np.interp(rates, curve_x, curve_y)
    return replicates


def _last_rows_of_scores(ordered_scores: np.ndarray) -> NDArray[np.integer]:
    """Return the position of the last row of each distinct score."""
    return np.append(np.flatnonzero(np.diff(ordered_scores)), len(ordered_scores) - 1)
