"""Readings of raters as an array, and inference for coefficients of agreement by the jackknife of units."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from salstats.stats.engine.cr2 import df_from_kurtosis_of_units
from salstats.stats.engine.estimands import quiet_ratio
from salstats.stats.engine.limits import wilson
from salstats.stats.engine.result_warnings import ROUNDING

#: Largest number of values in a block of leave-one-unit-out sets, which limits memory.
_BLOCK_SIZE = 10_000_000


@dataclass(frozen=True)
class RaterReadings:
    """Scores of one group by row and rater.

    A row is a case, or a repeat of it if raters read cases several times. Rows of one unit may be dependent.
    """

    #: (n_rows, n_raters): Scores, NaN where missing.
    values: np.ndarray
    #: (n_rows,): Case of each row, from 0 without gaps.
    cases: NDArray[np.integer]
    #: (n_rows,): Unit of each row, from 0 without gaps.
    units: NDArray[np.integer]

    @property
    def n_units(self) -> int:
        """Number of distinct units."""
        return int(self.units.max(initial=-1)) + 1

    @property
    def n_cases(self) -> int:
        """Number of distinct cases."""
        return int(self.cases.max(initial=-1)) + 1

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return int(self.values.shape[1])

    @property
    def readings_per_row(self) -> float:
        """Mean number of readings of a row."""
        return float((~np.isnan(self.values)).sum() / max(len(self.values), 1))

    @property
    def is_complete(self) -> bool:
        """True if every rater read every row."""
        return not np.isnan(self.values).any()


@dataclass(frozen=True)
class LeaveOneOutWeights:
    """Weights (n_sets, n_rows) that are 0 for the rows of one unit and 1 for all others.

    `weights @ features` is computed as the sum over all rows minus that over the unit's rows, without the
    array itself.
    """

    #: (n_rows,): Unit of each row.
    units: NDArray[np.integer]
    #: (n_sets,): Unit that each set leaves out.
    left_out: np.ndarray

    def __matmul__(self, features: Any) -> np.ndarray:
        """Sums of features (n_rows, ...), dense or sparse, over the rows of each set, shape (n_sets, ...)."""
        n_rows = len(self.units)
        # 1 where a row belongs to a unit, (n_units, n_rows)
        unit_rows = sparse.coo_array((np.ones(n_rows), (self.units, np.arange(n_rows)))).tocsr()
        is_sparse = sparse.issparse(features)
        flat = features
        if not is_sparse:
            flat = features.reshape(len(features), -1)
        left_out_sums: Any = unit_rows[self.left_out] @ flat
        if is_sparse:
            left_out_sums = left_out_sums.toarray()
        sums = flat.sum(axis=0) - left_out_sums
        return np.asarray(sums).reshape(len(self.left_out), *features.shape[1:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the weights as a dense array."""
        return np.asarray(self.units[None] != self.left_out[:, None]).astype(dtype or np.float64)


#: Weights of rows (n_sets, n_rows). Kernels multiply them with features of the rows, `weights @ features`,
#: and so compute the coefficients of several sets of rows at once.
RowWeightSets = np.ndarray | LeaveOneOutWeights
#: Function of readings and weights of their rows that returns coefficients (n_sets, n_coefficients).
Kernel = Callable[[RaterReadings, RowWeightSets], np.ndarray]


class Coefficients(NamedTuple):
    """Coefficients of one group with their inference; arrays of shape (n_terms,)."""

    estimate: np.ndarray
    std_error: np.ndarray
    statistic: np.ndarray
    df: np.ndarray
    p_value: np.ndarray
    conf_low: np.ndarray
    conf_high: np.ndarray
    #: Second degrees of freedom, of F tests.
    df_denominator: np.ndarray | None = None


def equal_row_weights(readings: RaterReadings) -> np.ndarray:
    """Weights that count every row once, shape (1, n_rows)."""
    return np.ones((1, len(readings.values)))


class LeaveOneOut(NamedTuple):
    """Coefficients of all rows, and without each unit."""

    #: (n_coefficients,)
    estimate: np.ndarray
    #: (n_units, n_coefficients), NaN in the place of infinite ones.
    replicates: np.ndarray


def estimate_and_leave_one_out(readings: RaterReadings, kernel: Kernel) -> LeaveOneOut:
    """Return the coefficients of all rows, and those without each unit in turn."""
    n_units = readings.n_units
    units_at_once = max(1, _BLOCK_SIZE // max(readings.values.size, 1))
    blocks = []
    for start in range(0, n_units, units_at_once):
        left_out = np.arange(start, min(start + units_at_once, n_units))
        blocks.append(kernel(readings, LeaveOneOutWeights(readings.units, left_out)))
    replicates = np.concatenate(blocks)
    estimate = kernel(readings, equal_row_weights(readings))[0]
    return LeaveOneOut(estimate, np.where(np.isfinite(replicates), replicates, np.nan))


def jackknife_std_error(replicates: np.ndarray) -> np.ndarray:
    """Jackknife standard errors (n_coefficients,) from estimates without each unit (n_units, n_coefficients).

    NaN for one unit, or if any estimate is NaN.
    """
    n = len(replicates)
    if n < 2:
        return np.full(replicates.shape[1], np.nan)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt((n - 1) * replicates.var(axis=0)))


def jackknife_df(replicates: np.ndarray) -> np.ndarray:
    """Degrees of freedom of a jackknife variance: units - 1, or fewer if a few units cause most of it.

    Valliant R, Rust KF. J Off Stat 2010;26:585-602.
    """
    n = len(replicates)
    satterthwaite = df_from_kurtosis_of_units((replicates - replicates.mean(axis=0)) ** 2, n)
    return np.asarray(np.maximum(np.minimum(satterthwaite, n - 1.0), 1.0))


class OneWayAnova(NamedTuple):
    """One-way analysis of variance of values by case; arrays of shape (n_sets,)."""

    #: Mean square within cases.
    within: np.ndarray
    #: Mean square between cases.
    between: np.ndarray
    #: n0 = (N - sum m² / N) / (cases - 1) for cases of m values each, N in all; it takes the place of m in
    #: formulas for cases of equal size.
    effective_size: np.ndarray


def one_way_anova(
    weighted_sums_over_cases: Callable[[np.ndarray], np.ndarray],
    m: np.ndarray,
    total: np.ndarray,
    squares: np.ndarray,
) -> OneWayAnova:
    """Return the one-way analysis of variance of cases with `m` (n_cases,) values each.

    `total` and `squares` (n_cases,) are sums of a case's values and of their squares, after a number near the
    mean was subtracted; `weighted_sums_over_cases` sums an array (n_cases,) over the cases of each set of
    weights.
    """
    n_cases = weighted_sums_over_cases(np.ones(len(m)))
    n_values = weighted_sums_over_cases(m)
    sum_between = weighted_sums_over_cases(quiet_ratio(total**2, m))
    within = quiet_ratio(weighted_sums_over_cases(squares) - sum_between, n_values - n_cases)
    between = quiet_ratio(
        sum_between - quiet_ratio(weighted_sums_over_cases(total) ** 2, n_values), n_cases - 1
    )
    effective_size = quiet_ratio(
        n_values - quiet_ratio(weighted_sums_over_cases(m**2), n_values), n_cases - 1
    )
    return OneWayAnova(within, between, effective_size)


def t_or_normal_quantile(level: float, df: float | np.ndarray) -> np.ndarray:
    """Quantile (1 + level) / 2 of Student's t, for two-sided limits; of the normal if df is NaN."""
    upper = (1 + level) / 2
    return np.where(np.isnan(df), special.ndtri(upper), special.stdtrit(df, upper))


def two_sided_p_value(statistic: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Two-sided P value of Student's t, of the normal distribution if df is NaN."""
    df = np.where(np.isnan(df), np.inf, df)
    return np.asarray(2 * special.stdtr(df, -np.abs(statistic)))


def fisher_z(rho: np.ndarray, k: float) -> np.ndarray:
    """Fisher's z of an intraclass correlation of k readings, log((1 + (k - 1) rho) / (1 - rho)) / 2."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.log((1 + (k - 1) * rho) / (1 - rho)) / 2
    return np.where(np.isfinite(z), z, np.nan)


def inverse_fisher_z(z: np.ndarray, k: float) -> np.ndarray:
    """Intraclass correlation of k readings from Fisher's z, (1 - exp(-2z)) / (1 + (k - 1) exp(-2z))."""
    # exp(2z) would overflow for coefficients near 1.
    exp_of_minus_2z = np.exp(-2 * z)
    return np.asarray((1 - exp_of_minus_2z) / (1 + (k - 1) * exp_of_minus_2z))


def coefficients_with_wilson_limits(readings: RaterReadings, kernel: Kernel, level: float) -> Coefficients:
    """Return coefficients with Wilson's score limits, from a jackknife of units and Student's t.

    A coefficient rho of k readings is treated as a share p = (1 + (k - 1) rho) / k, with the effective sample
    size p (1 - p) / variance of p from the jackknife (Franco et al. 2019). Where the jackknife's variance is
    0 or undefined, the size is that of `_effective_size_of_perfect_agreement`. The test of no agreement is
    the one that corresponds to the limits.

    Wilson EB. Probable inference, the law of succession, and statistical inference. JASA 1927.
    doi:10.1080/01621459.1927.10502953

    Franco C, Little RJA, Louis TA, Slud EV. Comparative study of confidence intervals for proportions in
    complex sample surveys. J Surv Stat Methodol 2019. doi:10.1093/jssam/smy019
    """
    estimate, replicates = estimate_and_leave_one_out(readings, kernel)
    k = readings.readings_per_row
    n_units = readings.n_units
    std_error = jackknife_std_error(replicates)
    share = np.clip(_coefficient_as_share(estimate, k), 0, 1)
    varies = (std_error > ROUNDING) & (share > 0) & (share < 1)
    # The share is linear in the coefficient, with slope (k - 1) / k.
    share_error = std_error * (k - 1) / k
    size_by_variance = quiet_ratio(share * (1 - share), share_error**2)
    size_without_variance = np.full(1, np.nan)
    if n_units > 1:
        size_without_variance = _effective_size_of_perfect_agreement(readings, kernel)
    size = np.where(varies, size_by_variance, size_without_variance)
    df = np.where(varies, jackknife_df(replicates), n_units - 1.0)
    share_low, share_high = wilson(share, size, level, df)
    low = (k * share_low - 1) / (k - 1)
    high = (k * share_high - 1) / (k - 1)
    # Score test of share 1 / k: (share - 1 / k) / sqrt(1 / k (1 - 1 / k) / size)
    statistic = estimate * np.sqrt((k - 1) * size)
    return Coefficients(
        estimate=estimate,
        std_error=std_error,
        statistic=statistic,
        df=np.where(np.isnan(statistic), np.nan, df),
        p_value=np.where(np.isnan(df), np.nan, two_sided_p_value(statistic, df)),
        # With missing readings a coefficient may lie below -1 / (k - 1), the lowest limit for k readings.
        conf_low=np.minimum(low, estimate),
        conf_high=high,
    )


def _coefficient_as_share(rho: np.ndarray, k: float) -> np.ndarray:
    """Express a coefficient of k readings as a share: 1 if all agree, 1 / k if they agree by chance."""
    return np.asarray((1 + (k - 1) * rho) / k)


def _effective_size_of_perfect_agreement(readings: RaterReadings, kernel: Kernel) -> np.ndarray:
    """Effective sample size of perfect agreement (n_coefficients,), at least 1.

    It is the odds of the share after a unit is added that disagrees, as n hits and a miss have the odds n.
    The added unit has average size; its first rater gives the highest score, the others the lowest.
    """
    lowest = np.nanmin(readings.values)
    highest = np.nanmax(readings.values)
    disagreeing_row = np.full((1, readings.n_raters), lowest)
    disagreeing_row[0, 0] = highest if highest > lowest else lowest + 1
    extended = RaterReadings(
        values=np.vstack([readings.values, disagreeing_row]),
        cases=np.append(readings.cases, readings.n_cases),
        units=np.append(readings.units, readings.n_units),
    )
    n_rows = len(readings.values)
    average_unit_size = n_rows / readings.n_units
    weights = np.append(np.ones(n_rows), average_unit_size)[None]
    share = _coefficient_as_share(kernel(extended, weights)[0], readings.n_raters)
    return np.asarray(np.maximum(quiet_ratio(share, 1 - share), 1.0))


def coefficients_with_normal_limits(
    estimate: np.ndarray, std_error: np.ndarray, level: float
) -> Coefficients:
    """Return coefficients with limits estimate -+ normal quantile * standard error, and the test of 0."""
    df = np.full(len(estimate), np.nan)
    # A standard error of 0, as where all agree, says nothing about other cases.
    std_error_of_limits = np.where(std_error > 0, std_error, np.nan)
    half_width = t_or_normal_quantile(level, df) * std_error_of_limits
    statistic = estimate / std_error_of_limits
    return Coefficients(
        estimate=estimate,
        std_error=std_error,
        statistic=statistic,
        df=df,
        p_value=two_sided_p_value(statistic, df),
        conf_low=estimate - half_width,
        conf_high=estimate + half_width,
    )
