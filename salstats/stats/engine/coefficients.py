"""Correlation coefficients of two arrays, their tests, and their limits on Fisher's z scale."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special, stats


@dataclass(frozen=True)
class CoefficientRecord:
    """A correlation coefficient: its names, its symbol and its test of no correlation."""

    #: Value of `test=`.
    name: str
    #: Name in words, such as "Pearson correlation".
    label: str
    #: Name with the symbol, such as "Pearson's r".
    heading: str
    #: Symbol, such as "r".
    symbol: str
    #: Name of the test of no correlation.
    test: str
    #: True if it is a coefficient of ranks.
    ranks: bool = False
    #: True if it can be adjusted for covariates.
    partial: bool = False


_RHO = "\N{GREEK SMALL LETTER RHO}"
_TAU = "\N{GREEK SMALL LETTER TAU}-b"
#: Every coefficient by its name.
RECORDS = {
    record.name: record
    for record in (
        CoefficientRecord(
            "spearman", "Spearman correlation", f"Spearman's {_RHO}", _RHO, "t approximation",
            ranks=True, partial=True,
        ),
        CoefficientRecord("pearson", "Pearson correlation", "Pearson's r", "r", "t test", partial=True),
        CoefficientRecord(
            "kendall", "Kendall correlation", f"Kendall's {_TAU}", _TAU, "normal approximation", ranks=True
        ),
        CoefficientRecord("rm", "Repeated-measures correlation", "Repeated-measures r", "r", "t test"),
        CoefficientRecord(
            "percbend", "Percentage-bend correlation", "Percentage-bend r", "r", "t approximation"
        ),
        CoefficientRecord("bicor", "Biweight midcorrelation", "Biweight r", "r", "t approximation"),
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
    """Return the correlation of two arrays with its test against zero.

    It is undefined for fewer than 3 pairs and if an array is constant. `test` is "spearman", "pearson" or
    "kendall"; average ranks and tau-b take care of ties.

    Pearson and Spearman: t = r sqrt((n - 2) / (1 - r²)) with n - 2 degrees of freedom. Kendall: the normal
    approximation without continuity correction, with a variance of S that is corrected for ties in both. At
    -1 or 1 ranks have an exact p-value: the share of pairings, t1! t2! ... of n! with groups of t1, t2, ...
    equal ranks. Pearson's r counts as -1 or 1 within n units of rounding.
    """
    if len(first) < FEWEST_PAIRS or np.ptp(first) == 0 or np.ptp(second) == 0:
        return UNDEFINED
    if RECORDS[test].ranks:
        first = stats.rankdata(first)
        second = stats.rankdata(second)
        reversed_second = len(second) + 1 - second
        if np.array_equal(first, second):
            return Coefficient(1.0, np.nan, np.nan, _perfect_rank_p_value(first))
        if np.array_equal(first, reversed_second):
            return Coefficient(-1.0, np.nan, np.nan, _perfect_rank_p_value(first))
    if test == "kendall":
        return _kendall(first, second)
    first = first - first.mean()
    second = second - second.mean()
    # the root of the product, not the product of roots, gives exactly 1 for arrays that are equal up to sign
    scale = np.sqrt((first @ first) * (second @ second))
    if scale == 0:
        return UNDEFINED
    r = float(np.clip(first @ second / scale, -1, 1))
    if test == "pearson" and is_perfect(r, len(first)):
        return perfect_correlation(r)
    return with_t_test(r, len(first) - 2)


def is_perfect(r: float, n: int) -> bool:
    """Return True if a correlation of n pairs is -1 or 1 up to rounding."""
    return bool(1 - abs(r) <= n * np.finfo(np.float64).eps)


def perfect_correlation(r: float) -> Coefficient:
    """Return a coefficient of -1 or 1, by the sign of r, without a test."""
    return Coefficient(float(np.sign(r)), np.nan, np.nan, np.nan)


def with_t_test(r: float, df: int) -> Coefficient:
    """Return a coefficient with its t test, t = r sqrt(df / (1 - r²))."""
    with np.errstate(divide="ignore"):
        # the divisor is 0 if r rounds to 1, as for more than 10,000 ranks of which a few differ
        t = float(r * np.sqrt(df / ((1 - r) * np.float64(1 + r))))
    p_value = float(2 * special.stdtr(df, -abs(t)))
    return Coefficient(r, t, float(df), p_value)


def _perfect_rank_p_value(ranks: np.ndarray) -> float:
    """Return the exact two-sided p-value of equal or reversed ranks, 2 t1! t2! ... / n!.

    t1, t2, ... are the sizes of groups of equal ranks.
    """
    tie_sizes = np.unique(ranks, return_counts=True)[1]
    log_share = special.gammaln(tie_sizes + 1.0).sum() - special.gammaln(len(ranks) + 1.0)
    return float(2 * np.exp(log_share))


def _kendall(first: np.ndarray, second: np.ndarray) -> Coefficient:
    """Return Kendall's tau-b and its normal approximation.

    With t and u the sizes of groups of ties in the first and second array, the variance of S, the number of
    concordant less that of discordant pairs, is

        (n (n - 1) (2 n + 5) - sum t (t - 1) (2 t + 5) - sum u (u - 1) (2 u + 5)) / 18
        + sum t (t - 1) * sum u (u - 1) / (2 n (n - 1))
        + sum t (t - 1) (t - 2) * sum u (u - 1) (u - 2) / (9 n (n - 1) (n - 2))
    """
    n = len(first)
    tau = float(stats.kendalltau(first, second, method="asymptotic").statistic)
    t = np.unique(first, return_counts=True)[1].astype(np.float64)
    u = np.unique(second, return_counts=True)[1].astype(np.float64)
    t_pairs = (t * (t - 1)).sum()
    u_pairs = (u * (u - 1)).sum()
    n_pairs = n * (n - 1) / 2
    untied_first = n_pairs - t_pairs / 2
    untied_second = n_pairs - u_pairs / 2
    # tau-b is S over the geometric mean of the untied pairs, and S is a whole number
    s = np.round(tau * np.sqrt(untied_first) * np.sqrt(untied_second))
    t_triples = (t * (t - 1) * (t - 2)).sum()
    u_triples = (u * (u - 1) * (u - 2)).sum()
    tie_correction = (t * (t - 1) * (2 * t + 5)).sum() + (u * (u - 1) * (2 * u + 5)).sum()
    variance = (n * (n - 1) * (2 * n + 5) - tie_correction) / 18
    variance += t_pairs * u_pairs / (2 * n * (n - 1))
    variance += t_triples * u_triples / (9 * n * (n - 1) * (n - 2))
    z = float(s / np.sqrt(variance))
    p_value = float(2 * special.ndtr(-abs(z)))
    return Coefficient(tau, z, np.nan, p_value)


def fisher_std_error(r: np.ndarray, n: np.ndarray, test: str, interval: str) -> np.ndarray:
    """Return the standard error of atanh(r), shape (n_rows,), NaN for too few pairs.

    It is sqrt(c / (n - 3)), with c = 1 for `fisher`, 1 + r² / 2 for `bonett-wright` and 1.06 for `fieller`;
    for Kendall's tau it is sqrt(0.437 / (n - 4)).
    """
    r = np.asarray(r, dtype=np.float64)
    n = np.asarray(n, dtype=np.float64)
    if test == "kendall":
        numerator = np.full_like(r, 0.437)
        denominator = n - 4
    else:
        numerators = {
            "fisher": np.ones_like(r),
            "bonett-wright": 1 + r**2 / 2,
            "fieller": np.full_like(r, 1.06),
        }
        numerator = numerators[interval]
        denominator = n - 3
    return np.sqrt(numerator / np.where(denominator > 0, denominator, np.nan))


def fisher_limits(r: np.ndarray, std_error: np.ndarray, quantile: float) -> tuple[np.ndarray, np.ndarray]:
    """Return limits tanh(atanh(r) ± quantile × std_error), NaN at -1 and 1 (in R the correlation itself)."""
    z = np.arctanh(np.where(np.abs(r) < 1, r, np.nan))
    low = np.tanh(z - quantile * std_error)
    high = np.tanh(z + quantile * std_error)
    return low, high


class Pooled(NamedTuple):
    """Correlation pooled over strata on the scale of Fisher's z, and Cochran's Q test of equality."""

    estimate: float
    #: Standard error of Fisher's z.
    std_error: float
    q: float
    q_df: float
    q_p_value: float


def pool_fisher_z(r: np.ndarray, std_error: np.ndarray) -> Pooled:
    """Return the mean of correlations with weights 1 / std_error², and Cochran's Q; NaN without correlations.

    `r` and `std_error`, which is that of Fisher's z, have shape (n_strata,).
    """
    if not len(r):
        return Pooled(np.nan, np.nan, np.nan, np.nan, np.nan)
    z = np.arctanh(r)
    weights = std_error**-2
    mean = float((weights * z).sum() / weights.sum())
    q = float((weights * (z - mean) ** 2).sum())
    q_df = float(len(r) - 1)
    q_p_value = float(special.chdtrc(q_df, q)) if q_df > 0 else np.nan
    return Pooled(
        estimate=float(np.tanh(mean)),
        std_error=float(weights.sum() ** -0.5),
        q=q,
        q_df=q_df,
        q_p_value=q_p_value,
    )


def weighted_spearman(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation of rows that are repeated by weights, shape (n_replicates,).

    `weights` (n_replicates, n) are whole numbers, and `x` and `y` have shape (n,). The correlation is NaN
    where `x` or `y` does not vary.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])
    >>> weighted_spearman(x, y, np.array([[1, 1, 1, 1], [2, 0, 0, 2], [4, 0, 0, 0]])).round(6)
    array([0.8, 1. , nan])
    """
    total = weights.sum(axis=1)
    codes_x, ranks_x, squares_x = _centred_ranks(x, weights, total)
    codes_y, ranks_y, squares_y = _centred_ranks(y, weights, total)
    products = ranks_x[:, codes_x]
    products *= ranks_y[:, codes_y]
    sum_of_products = np.einsum("ij,ij->i", products, weights)
    varies = (squares_x > 0) & (squares_y > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        r: np.ndarray = np.where(varies, sum_of_products / np.sqrt(squares_x * squares_y), np.nan)
    bounded_r: np.ndarray = np.clip(r, -1, 1)
    return bounded_r


def _centred_ranks(
    values: np.ndarray, weights: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rank values that are repeated by weights, with ranks less their mean.

    Returns
    -------
    codes : ndarray of int, shape (n,)
        Position of each value among the distinct values.
    ranks : ndarray, shape (n_replicates, n_distinct)
        Average rank of each distinct value, less the mean rank.
    squares : ndarray, shape (n_replicates,)
        Sum of the squared ranks of all repetitions.
    """
    codes = np.unique(values, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    # average rank cumsum(sizes) - (sizes - 1) / 2 less the mean rank (total + 1) / 2
    ranks = np.cumsum(sizes, axis=1) - (sizes + total[:, None]) / 2
    squares = np.einsum("ij,ij,ij->i", sizes, ranks, ranks)
    return codes, ranks, squares
