"""Correlation coefficients of two arrays, their tests, and their limits on Fisher's z scale."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special, stats


@dataclass(frozen=True)
class Record:
    """A coefficient of correlation: its names, its letter, its test of no correlation."""

    #: What `test=` takes.
    name: str
    #: In words, "Pearson correlation", and with its letter, "Pearson's r".
    label: str
    heading: str
    symbol: str
    test: str
    #: Whether it is of ranks.
    ranks: bool = False
    #: Whether covariates can be taken out of it.
    partial: bool = False


_RHO, _TAU = "\N{GREEK SMALL LETTER RHO}", "\N{GREEK SMALL LETTER TAU}-b"
#: Every coefficient by its name.
RECORDS = {
    record.name: record
    for record in (
        Record(
            "spearman", "Spearman correlation", f"Spearman's {_RHO}", _RHO, "t approximation",
            ranks=True, partial=True,
        ),
        Record("pearson", "Pearson correlation", "Pearson's r", "r", "t test", partial=True),
        Record(
            "kendall", "Kendall correlation", f"Kendall's {_TAU}", _TAU, "normal approximation", ranks=True
        ),
        Record("rm", "Repeated-measures correlation", "Repeated-measures r", "r", "t test"),
        Record(
            "percbend", "Percentage-bend correlation", "Percentage-bend r", "r", "t approximation"
        ),
        Record("bicor", "Biweight midcorrelation", "Biweight r", "r", "t approximation"),
    )
}  # fmt: skip
TESTS = tuple(RECORDS)
#: Pairs below which a coefficient is not given: two points always lie on a line.
FEWEST_PAIRS = 3


class Coefficient(NamedTuple):
    """A correlation and its test against zero; NaN where undefined, `df` NaN for a normal statistic.

    At a correlation of -1 or 1 only the estimate and, for ranks, an exact p-value are defined.
    """

    estimate: float
    statistic: float
    df: float
    p_value: float


UNDEFINED = Coefficient(np.nan, np.nan, np.nan, np.nan)


def coefficient(first: np.ndarray, second: np.ndarray, test: str) -> Coefficient:
    """Correlation of two arrays with its test against zero; undefined where one is constant or for 2 pairs.

    Average ranks and tau-b take care of ties. Pearson and Spearman: t = r sqrt((n - 2) / (1 - r²)) with n -
    2 degrees of freedom. Kendall: the normal approximation without continuity correction, the variance of S
    corrected for ties in both. At -1 or 1 the exact p-value of ranks counts pairings, with groups of t1,
    t2, ... equal ranks t1! t2! ... of n!; Pearson's r is taken for -1 or 1 within n units of rounding.
    """
    if len(first) < FEWEST_PAIRS or np.ptp(first) == 0 or np.ptp(second) == 0:
        return UNDEFINED
    if RECORDS[test].ranks:
        first, second = stats.rankdata(first), stats.rankdata(second)
        same = np.array_equal(first, second)
        if same or np.array_equal(first, len(second) + 1 - second):
            return Coefficient(1.0 if same else -1.0, np.nan, np.nan, _perfect_rank_p_value(first))
    if test == "kendall":
        return _kendall(first, second)
    first, second = first - first.mean(), second - second.mean()
    # one root of the product: exactly 1 for two arrays that are the same up to sign
    scale = np.sqrt((first @ first) * (second @ second))
    if scale == 0:
        return UNDEFINED
    r = float(np.clip(first @ second / scale, -1, 1))
    if test == "pearson" and is_perfect(r, len(first)):
        return perfect(r)
    return tested(r, len(first) - 2)


def is_perfect(r: float, n: int) -> bool:
    """Return whether a correlation of n pairs is -1 or 1 but for rounding."""
    return bool(1 - abs(r) <= n * np.finfo(np.float64).eps)


def perfect(r: float) -> Coefficient:
    """A correlation of -1 or 1, of which no test is known."""
    return Coefficient(float(np.sign(r)), np.nan, np.nan, np.nan)


def tested(r: float, df: int) -> Coefficient:
    """A correlation with its t test, t = r sqrt(df / (1 - r²))."""
    with np.errstate(divide="ignore"):
        # 0 below only for more than 10,000 ranks of which a few differ
        t = float(r * np.sqrt(df / ((1 - r) * np.float64(1 + r))))
    return Coefficient(r, t, float(df), float(2 * special.stdtr(df, -abs(t))))


def _perfect_rank_p_value(ranks: np.ndarray) -> float:
    """Exact two-sided p-value of ranks that agree (or oppose) completely."""
    ties = np.unique(ranks, return_counts=True)[1]
    share = np.exp(special.gammaln(ties + 1.0).sum() - special.gammaln(len(ranks) + 1.0))
    return float(2 * share)


def _kendall(first: np.ndarray, second: np.ndarray) -> Coefficient:
    """Kendall's tau-b and its normal approximation."""
    n = len(first)
    tau = float(stats.kendalltau(first, second, method="asymptotic").statistic)
    ties = [np.unique(a, return_counts=True)[1].astype(np.float64) for a in (first, second)]
    pairs = n * (n - 1) / 2
    untied = [pairs - (t * (t - 1)).sum() / 2 for t in ties]
    # S, concordant minus discordant pairs, is a whole number; tau-b is S over the geometric mean of `untied`
    s = np.round(tau * np.sqrt(untied[0]) * np.sqrt(untied[1]))
    by_sizes = [(t * (t - 1) * (2 * t + 5)).sum() for t in ties]
    by_pairs = [(t * (t - 1)).sum() for t in ties]
    by_triples = [(t * (t - 1) * (t - 2)).sum() for t in ties]
    variance = (n * (n - 1) * (2 * n + 5) - sum(by_sizes)) / 18
    variance += by_pairs[0] * by_pairs[1] / (2 * n * (n - 1))
    variance += by_triples[0] * by_triples[1] / (9 * n * (n - 1) * (n - 2))
    z = float(s / np.sqrt(variance))
    return Coefficient(tau, z, np.nan, float(2 * special.ndtr(-abs(z))))


def fisher_std_error(r: np.ndarray, n: np.ndarray, test: str, interval: str) -> np.ndarray:
    """Standard error of atanh(r) as in the table of `correlate`, NaN where there are too few pairs."""
    r, n = np.asarray(r, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if test == "kendall":
        numerator, freedom = np.full_like(r, 0.437), n - 4
    else:
        freedom = n - 3
        numerator = {
            "fisher": np.ones_like(r),
            "bonett-wright": 1 + r**2 / 2,
            "fieller": np.full_like(r, 1.06),
        }[interval]
    return np.sqrt(numerator / np.where(freedom > 0, freedom, np.nan))


def fisher_limits(r: np.ndarray, std_error: np.ndarray, quantile: float) -> tuple[np.ndarray, np.ndarray]:
    """Limits tanh(atanh(r) ± quantile × std_error), NaN at -1 and 1 (R gives the correlation itself)."""
    z = np.arctanh(np.where(np.abs(r) < 1, r, np.nan))
    return np.tanh(z - quantile * std_error), np.tanh(z + quantile * std_error)


class Pooled(NamedTuple):
    """Correlations of strata combined on Fisher's z, and how much they differ."""

    estimate: float
    std_error: float
    q: float
    q_df: float
    q_p_value: float


def pool_fisher_z(r: np.ndarray, std_error: np.ndarray) -> Pooled:
    """Correlations combined with weights 1 / std_error², and Cochran's Q, NaN where there is none."""
    if not len(r):
        return Pooled(np.nan, np.nan, np.nan, np.nan, np.nan)
    z, weights = np.arctanh(r), std_error**-2
    mean = float((weights * z).sum() / weights.sum())
    q, q_df = float((weights * (z - mean) ** 2).sum()), float(len(r) - 1)
    q_p_value = float(special.chdtrc(q_df, q)) if q_df > 0 else np.nan
    return Pooled(float(np.tanh(mean)), float(weights.sum() ** -0.5), q, q_df, q_p_value)


def weighted_spearman(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Spearman's correlation of the rows, each taken as often as its weight says, shape (n_replicates,).

    `weights` (n_replicates, n) are whole numbers; NaN where `x` or `y` does not vary.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])
    >>> weighted_spearman(x, y, np.array([[1, 1, 1, 1], [2, 0, 0, 2], [4, 0, 0, 0]])).round(6)
    array([0.8, 1. , nan])
    """
    total = weights.sum(axis=1)
    (codes_x, ranks_x, variance_x), (codes_y, ranks_y, variance_y) = (
        _centred_ranks(values, weights, total) for values in (x, y)
    )
    products = ranks_x[:, codes_x]
    products *= ranks_y[:, codes_y]
    covariance = np.einsum("ij,ij->i", products, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        r: np.ndarray = np.where(
            (variance_x > 0) & (variance_y > 0), covariance / np.sqrt(variance_x * variance_y), np.nan
        )
    return np.clip(r, -1, 1)


def _centred_ranks(
    values: np.ndarray, weights: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each row's value code, the mean rank of each value less the mean of all, and their variance."""
    codes = np.unique(values, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks = np.cumsum(sizes, axis=1) - (sizes + total[:, None]) / 2
    return codes, ranks, np.einsum("ij,ij,ij->i", sizes, ranks, ranks)
