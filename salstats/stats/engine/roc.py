"""The area under the ROC curve of two arrays and its variance, for independent and for clustered rows."""

from typing import NamedTuple

import numpy as np
from scipy import special

from salstats.stats.engine.cr2 import cr2

#: Share of a variance's terms below which their sum is rounding.
_ROUNDING = 1e-12


class RocArea(NamedTuple):
    """An area, or the difference of two, its sampling variance and what that rests on.

    `n_least` is the fewer of the clusters with positives and those with negatives, `of_reference` the area
    that is taken off.
    """

    estimate: float
    variance: float
    df: float
    n_positive: int
    n_negative: int
    n_least: int
    of_reference: float = np.nan


def roc_area(
    scores: np.ndarray,
    labels: np.ndarray,
    clusters: np.ndarray | None = None,
    *,
    reference: np.ndarray | None = None,
    obuchowski: bool = False,
) -> RocArea:
    """Area under the ROC curve, less that of the scores of a `reference`, and its variance.

    Rows of one cluster may depend on each other. `estimate` is NaN without positives or negatives,
    `variance` and `df` where fewer than two clusters have positives or negatives. Placement values come from
    sorted scores (Sun and Xu 2014): V10 of a positive is the share of negatives below it, V01 of a
    negative the share of positives above it. The area is the mean of either; of a
    difference they are differences too.

    The variance is that of the mean of V10 plus the mean of V01: bias-reduced (CR2), with Satterthwaite's
    degrees of freedom where V10 and V01 have the variances that they have here. With every row its own
    cluster these are DeLong's variance and Welch's degrees of freedom.

    With `obuchowski`, of sums over clusters of V10 - A and of V01 - A, a_k and b_k, m positives in I10
    clusters, n negatives in I01, I clusters in all,

    variance = I10/(I10-1) sum a_k² / m² + I01/(I01-1) sum b_k² / n² + 2 I/(I-1) sum a_k b_k / (m n)

    (Obuchowski 1997). Negative dependence within clusters can take it to 0 and below. `df` is then
    min(I10, I01) - 1: as for means of two samples with unequal variances, the smaller one is the safe choice.

    Sun X, Xu W. Fast implementation of DeLong's algorithm. IEEE Signal Process Lett 2014;21:1389-1393.
    https://doi.org/10.1109/LSP.2014.2337313
    """
    positive = np.asarray(labels, dtype=bool)
    classes = np.column_stack([positive, ~positive])
    n_positive, n_negative = (int(n) for n in classes.sum(axis=0))
    if not n_positive or not n_negative:
        return RocArea(np.nan, np.nan, np.nan, n_positive, n_negative, 0)
    placement, of_reference = placements(scores, positive), np.nan
    if reference is not None:
        its = placements(reference, positive)
        placement, of_reference = placement - its, float(its[positive].mean())
    area = float(placement[positive].mean())
    codes = np.arange(len(positive)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1
    counts = np.column_stack([np.bincount(codes, one, n_clusters) for one in classes.T])
    deviations = (placement - area)[:, None] * classes
    sums = np.column_stack([np.bincount(codes, one, n_clusters) for one in deviations.T])
    n_with = (counts > 0).sum(axis=0)
    least = int(n_with.min())
    shares = sums / (n_positive, n_negative)
    own = n_with / np.maximum(n_with - 1, 1) * (shares**2).sum(axis=0)
    if least < 2:
        variance, df = np.nan, np.nan
    elif obuchowski:
        shared = 2 * n_clusters / (n_clusters - 1) * (shares[:, 0] @ shares[:, 1])
        variance, df = float(own.sum() + shared), float(least - 1)
    else:
        variance, df = _bias_reduced(sums, counts, deviations)
    # terms that cancel leave rounding, which is no variance
    variance = 0.0 if abs(variance) <= _ROUNDING * own.sum() else variance
    return RocArea(area, variance, df, n_positive, n_negative, least, of_reference)


def placements(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Share of the other class that each row is on the right side of, ties counting one half."""
    found = np.empty(len(positive))
    own, other = scores[positive], scores[~positive]
    found[positive] = _below(own, other) / len(other)
    found[~positive] = 1 - _below(other, own) / len(own)
    return found


def _below(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How many of the others are below each score, equal ones counting one half."""
    ordered = np.sort(others)
    return (np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")) / 2


def _bias_reduced(sums: np.ndarray, counts: np.ndarray, deviations: np.ndarray) -> tuple[float, float]:
    """CR2 variance of the sum of two means of different variances, and its degrees of freedom."""
    totals = counts.sum(axis=0)
    spread = np.sqrt((deviations**2).sum(axis=0) / np.maximum(totals - 1, 1))
    if not spread.any():
        return 0.0, np.nan
    # in units of their own spread both have the one variance of the working model
    found = cr2(sums / np.where(spread > 0, spread, 1.0), counts, spread[None])
    return float(found.variance[0]), float(found.df[0])


def separation_p_value(n_positive: np.ndarray, n_negative: np.ndarray) -> np.ndarray:
    """Exact two-sided Mann-Whitney p-value of complete separation, 2 / C(n, n_positive).

    Of the ways to choose the positives among n independent rows, one gives an area of 1 and one of 0,
    whatever ties there are within the classes.
    """
    ways: np.ndarray = special.binom(n_positive + n_negative, n_positive)
    return 2 / ways


def area_limits(
    area: np.ndarray, std_error: np.ndarray, quantile: np.ndarray | float, *, on_logit: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Limits of areas, NaN without a standard error above 0: area ± q se cut off at 0 and 1.

    With `on_logit` log(A / (1 - A)) ± q se / (A (1 - A)), which stays inside 0 to 1; NaN at 0 or 1.
    """
    half = quantile * np.where(std_error > 0, std_error, np.nan)
    if not on_logit:
        return np.clip(area - half, 0, 1), np.clip(area + half, 0, 1)
    inside = np.where((area > 0) & (area < 1), area, np.nan)
    half = half / (inside * (1 - inside))
    return special.expit(special.logit(inside) - half), special.expit(special.logit(inside) + half)
