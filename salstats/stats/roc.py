"""The area under the ROC curve of two arrays and its variance, for independent and for clustered rows."""

from typing import NamedTuple

import numpy as np
from scipy import special, stats

#: Share of a variance's terms below which their sum is rounding.
_ROUNDING = 1e-12


class RocArea(NamedTuple):
    """An area, its sampling variance and what that rests on, and the numbers of positives and negatives."""

    estimate: float
    variance: float
    df: float
    n_positive: int
    n_negative: int


def roc_area(scores: np.ndarray, labels: np.ndarray, clusters: np.ndarray | None = None) -> RocArea:
    """Area under the ROC curve and its variance; with `clusters`, rows of one may depend on each other.

    `estimate` is NaN without positives or negatives, `variance` and `df` where fewer than two clusters
    have positives or negatives. Placement values come from midranks (Sun and Xu 2014): V10 of a positive
    is the share of negatives below it, V01 of a negative the share of positives above it. With sums over
    clusters of V10 - A and of V01 - A, a_k and b_k, m positives in I10 clusters, n negatives in I01, I
    clusters in all,

    variance = I10/(I10-1) sum a_k² / m² + I01/(I01-1) sum b_k² / n² + 2 I/(I-1) sum a_k b_k / (m n)

    (Obuchowski 1997). With every row its own cluster the last term is 0 and this is DeLong's variance.
    Negative dependence within clusters can take it to 0 and below. `df` is min(I10, I01) - 1: as for
    means of two samples with unequal variances, the smaller one is the safe choice.

    References
    ----------
    Sun X, Xu W. Fast implementation of DeLong's algorithm. IEEE Signal Process Lett 2014;21:1389-1393.
    https://doi.org/10.1109/LSP.2014.2337313
    """
    positive = np.asarray(labels, dtype=bool)
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return RocArea(np.nan, np.nan, np.nan, n_positive, n_negative)
    ranks = stats.rankdata(scores)
    placement = np.empty(len(ranks))
    placement[positive] = (ranks[positive] - stats.rankdata(scores[positive])) / n_negative
    placement[~positive] = 1 - (ranks[~positive] - stats.rankdata(scores[~positive])) / n_positive
    area = float(placement[positive].mean())
    codes = np.arange(len(ranks)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1
    deviation = placement - area
    of_positives = np.bincount(codes[positive], deviation[positive], n_clusters)
    of_negatives = np.bincount(codes[~positive], deviation[~positive], n_clusters)
    with_positives = len(np.unique(codes[positive]))
    with_negatives = len(np.unique(codes[~positive]))
    if with_positives < 2 or with_negatives < 2:
        return RocArea(area, np.nan, np.nan, n_positive, n_negative)
    own = (
        with_positives / (with_positives - 1) * (of_positives @ of_positives) / n_positive**2
        + with_negatives / (with_negatives - 1) * (of_negatives @ of_negatives) / n_negative**2
    )
    shared = 2 * n_clusters / (n_clusters - 1) * (of_positives @ of_negatives) / (n_positive * n_negative)
    # terms that cancel leave rounding, which is no variance
    variance = 0.0 if abs(own + shared) <= _ROUNDING * own else float(own + shared)
    return RocArea(area, variance, float(min(with_positives, with_negatives) - 1), n_positive, n_negative)


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
