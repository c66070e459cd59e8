"""Correlation coefficients of two arrays, their tests, and their limits on Fisher's z scale."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from salstats.stats.engine.limits import LimitArrays


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


UNDEFINED_COEFFICIENT = Coefficient(np.nan, np.nan, np.nan, np.nan)


def coefficient(x: np.ndarray, y: np.ndarray, test: str) -> Coefficient:
    """Return the correlation of two arrays of shape (n,) with its test against zero.

    It is undefined for fewer than 3 pairs and if an array is constant. `test` is "spearman", "pearson" or
    "kendall"; average ranks and tau-b take care of ties.

    Pearson and Spearman: t = r sqrt((n - 2) / (1 - r²)) with n - 2 degrees of freedom. Kendall: the normal
    approximation without continuity correction, with a variance of S that is corrected for ties in both. At
    -1 or 1 ranks have the exact p-value of `_perfect_rank_p_value`. Pearson's r counts as -1 or 1 within n
    units of rounding.
    """
    if len(x) < FEWEST_PAIRS or np.ptp(x) == 0 or np.ptp(y) == 0:
        return UNDEFINED_COEFFICIENT
    if RECORDS[test].ranks:
        x = stats.rankdata(x)
        y = stats.rankdata(y)
        reversed_y = len(y) + 1 - y
        if np.array_equal(x, y):
            return perfect_correlation(1.0, p_value=_perfect_rank_p_value(x))
        if np.array_equal(x, reversed_y):
            return perfect_correlation(-1.0, p_value=_perfect_rank_p_value(x))
    if test == "kendall":
        return _kendall(x, y)
    x_deviations = x - x.mean()
    y_deviations = y - y.mean()
    # the root of the product, not the product of roots, gives exactly 1 for arrays that are equal up to sign
    scale = np.sqrt((x_deviations @ x_deviations) * (y_deviations @ y_deviations))
    if scale == 0:
        return UNDEFINED_COEFFICIENT
    r = float(np.clip(x_deviations @ y_deviations / scale, -1, 1))
    if test == "pearson" and is_perfect(r, len(x)):
        return perfect_correlation(r)
    return coefficient_with_t_test(r, df=len(x) - 2)


def is_perfect(r: float, n: int) -> bool:
    """Return True if a correlation of n pairs is -1 or 1 up to rounding."""
    return bool(1 - abs(r) <= n * np.finfo(np.float64).eps)


def perfect_correlation(r: float, p_value: float = np.nan) -> Coefficient:
    """Return a coefficient of -1 or 1, by the sign of r, which has no test statistic."""
    return Coefficient(estimate=float(np.sign(r)), statistic=np.nan, df=np.nan, p_value=p_value)


def coefficient_with_t_test(r: float, df: int) -> Coefficient:
    """Return a coefficient with its t test, t = r sqrt(df / (1 - r²))."""
    with np.errstate(divide="ignore"):
        # the divisor is 0 if r rounds to 1, as for more than 10,000 ranks of which a few differ
        t = float(r * np.sqrt(df / ((1 - r) * np.float64(1 + r))))
    p_value = float(2 * special.stdtr(df, -abs(t)))
    return Coefficient(estimate=r, statistic=t, df=float(df), p_value=p_value)


def _perfect_rank_p_value(ranks: np.ndarray) -> float:
    """Return the exact two-sided p-value of equal or reversed ranks, 2 t1! t2! ... / n!.

    t1, t2, ... are the sizes of groups of tied ranks: t1! t2! ... of the n! pairings are equal, and as many
    are reversed.
    """
    tie_sizes = np.unique(ranks, return_counts=True)[1]
    # gammaln(k + 1) is the logarithm of k!
    log_share = special.gammaln(tie_sizes + 1.0).sum() - special.gammaln(len(ranks) + 1.0)
    return float(2 * np.exp(log_share))


def _kendall(x: np.ndarray, y: np.ndarray) -> Coefficient:
    """Return Kendall's tau-b and its normal approximation.

    With t and u the sizes of groups of ties in x and y, the variance of S, the number of concordant pairs
    minus the number of discordant ones, is

        (n (n - 1) (2 n + 5) - sum t (t - 1) (2 t + 5) - sum u (u - 1) (2 u + 5)) / 18
        + sum t (t - 1) * sum u (u - 1) / (2 n (n - 1))
        + sum t (t - 1) (t - 2) * sum u (u - 1) (u - 2) / (9 n (n - 1) (n - 2))

    and tau-b is S over the geometric mean of the numbers of pairs that are not tied in x and in y, each
    n (n - 1) / 2 - sum t (t - 1) / 2.

    Kendall MG. The treatment of ties in ranking problems. Biometrika 1945;33:239-251.
    doi:10.1093/biomet/33.3.239, as in R's `cor.test(exact = FALSE)`.
    """
    n = len(x)
    tau = float(stats.kendalltau(x, y, method="asymptotic").statistic)
    t = np.unique(x, return_counts=True)[1].astype(np.float64)
    u = np.unique(y, return_counts=True)[1].astype(np.float64)
    t_pairs = (t * (t - 1)).sum()
    u_pairs = (u * (u - 1)).sum()
    t_triples = (t * (t - 1) * (t - 2)).sum()
    u_triples = (u * (u - 1) * (u - 2)).sum()
    untied_x_pairs = n * (n - 1) / 2 - t_pairs / 2
    untied_y_pairs = n * (n - 1) / 2 - u_pairs / 2
    # S is a whole number
    s = np.round(tau * np.sqrt(untied_x_pairs) * np.sqrt(untied_y_pairs))
    t_correction = (t * (t - 1) * (2 * t + 5)).sum()
    u_correction = (u * (u - 1) * (2 * u + 5)).sum()
    variance = (n * (n - 1) * (2 * n + 5) - t_correction - u_correction) / 18
    variance += t_pairs * u_pairs / (2 * n * (n - 1))
    variance += t_triples * u_triples / (9 * n * (n - 1) * (n - 2))
    z = float(s / np.sqrt(variance))
    p_value = float(2 * special.ndtr(-abs(z)))
    return Coefficient(estimate=tau, statistic=z, df=np.nan, p_value=p_value)


def fisher_z_std_error(r: np.ndarray, n: np.ndarray, test: str, interval: str) -> np.ndarray:
    """Return the standard error of atanh(r), shape (n_rows,), NaN for too few pairs.

    It is sqrt(c / (n - 3)), with c = 1 for `fisher`, 1 + r² / 2 for `bonett-wright` (Bonett and Wright 2000)
    and 1.06 for `fieller`; for Kendall's tau it is sqrt(0.437 / (n - 4)) (both Fieller et al. 1957).

    Bonett DG, Wright TA. Sample size requirements for estimating Pearson, Kendall and Spearman correlations.
    Psychometrika 2000;65:23-28. doi:10.1007/BF02294183

    Fieller EC, Hartley HO, Pearson ES. Tests for rank correlation coefficients. Biometrika 1957;44:470-481.
    doi:10.1093/biomet/44.3-4.470
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


def fisher_limits(r: np.ndarray, std_error: np.ndarray, quantile: float) -> LimitArrays:
    """Return limits tanh(atanh(r) ± quantile × std_error), NaN at -1 and 1 (in R the correlation itself)."""
    z = np.arctanh(np.where(np.abs(r) < 1, r, np.nan))
    low = np.tanh(z - quantile * std_error)
    high = np.tanh(z + quantile * std_error)
    return low, high


class PooledCorrelation(NamedTuple):
    """Correlation pooled over strata on the scale of Fisher's z, and Cochran's Q test of equality."""

    estimate: float
    #: Standard error of Fisher's z.
    std_error: float
    q: float
    q_df: float
    q_p_value: float


def pooled_correlation_and_heterogeneity_test(r: np.ndarray, z_std_error: np.ndarray) -> PooledCorrelation:
    """Return the mean of correlations on Fisher's z scale, with weights 1 / std_error², and Cochran's Q.

    Without correlations all is NaN.
    `r` and `z_std_error`, the standard errors of Fisher's z, have shape (n_strata,).
    """
    if not len(r):
        return PooledCorrelation(np.nan, np.nan, np.nan, np.nan, np.nan)
    z = np.arctanh(r)
    weights = z_std_error**-2
    mean = float((weights * z).sum() / weights.sum())
    q = float((weights * (z - mean) ** 2).sum())
    q_df = float(len(r) - 1)
    q_p_value = float(special.chdtrc(q_df, q)) if q_df > 0 else np.nan
    return PooledCorrelation(
        estimate=float(np.tanh(mean)),
        std_error=float(weights.sum() ** -0.5),
        q=q,
        q_df=q_df,
        q_p_value=q_p_value,
    )


def spearman_of_replicates(x: np.ndarray, y: np.ndarray, row_counts: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation of rows that count several times, shape (n_replicates,).

    `x` and `y` have shape (n,); `row_counts` (n_replicates, n) are whole numbers that say how often each row
    is in a replicate. The correlation is NaN where `x` or `y` does not vary.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])
    >>> spearman_of_replicates(x, y, np.array([[1, 1, 1, 1], [2, 0, 0, 2], [4, 0, 0, 0]])).round(6)
    array([0.8, 1. , nan])
    """
    x_ranks = _centred_ranks(x, row_counts)
    y_ranks = _centred_ranks(y, row_counts)
    # (n_replicates, n): product of the two ranks of each row
    products = x_ranks.ranks[:, x_ranks.codes]
    products *= y_ranks.ranks[:, y_ranks.codes]
    sum_of_products = np.einsum("ij,ij->i", products, row_counts)
    varies = (x_ranks.sum_of_squares > 0) & (y_ranks.sum_of_squares > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = sum_of_products / np.sqrt(x_ranks.sum_of_squares * y_ranks.sum_of_squares)
    bounded_r: np.ndarray = np.clip(np.where(varies, r, np.nan), -1, 1)
    return bounded_r


class _CentredRanks(NamedTuple):
    """Ranks of values that are repeated by weights, less their mean."""

    #: (n,): Position of each value among the distinct values.
    codes: NDArray[np.integer]
    #: (n_replicates, n_distinct): Average rank of each distinct value, less the mean rank.
    ranks: np.ndarray
    #: (n_replicates,): Sum of the squared ranks of all repetitions.
    sum_of_squares: np.ndarray


def _centred_ranks(values: np.ndarray, row_counts: np.ndarray) -> _CentredRanks:
    """Rank values (n,) that count `row_counts` (n_replicates, n) times, and subtract the mean rank."""
    codes = np.unique(values, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    # (n_replicates, n_distinct): number of repetitions of each distinct value
    sizes = np.add.reduceat(row_counts[:, order], starts, axis=1)
    total = row_counts.sum(axis=1)[:, None]
    # average rank cumsum(sizes) - (sizes - 1) / 2 less the mean rank (total + 1) / 2
    ranks = np.cumsum(sizes, axis=1) - (sizes + total) / 2
    sum_of_squares = np.einsum("ij,ij,ij->i", sizes, ranks, ranks)
    return _CentredRanks(codes, ranks, sum_of_squares)
