"""Readings of one group as an array: a row per case (and repeat), a column per rater, NaN where missing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, special

from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.cr2 import spread_df
from salstats.stats.engine.estimands import ratio
from salstats.stats.engine.limits import wilson

#: Numbers of a block of left-out units that are held at a time.
_BLOCK = 10_000_000


@dataclass(frozen=True)
class Readings:
    """Scores by row and rater; rows of one case are its repeats, rows of one unit may depend."""

    #: (n_rows, n_raters): NaN where missing.
    values: np.ndarray
    #: (n_rows,): Case and unit of each row, from 0 without gaps.
    cases: np.ndarray
    units: np.ndarray

    @property
    def n_units(self) -> int:
        """Distinct units."""
        return int(self.units.max(initial=-1)) + 1

    @property
    def n_cases(self) -> int:
        """Distinct cases."""
        return int(self.cases.max(initial=-1)) + 1

    @property
    def n_raters(self) -> int:
        """Raters."""
        return self.values.shape[1]

    @property
    def per_case(self) -> float:
        """Mean number of readings of a row."""
        return float((~np.isnan(self.values)).sum() / max(len(self.values), 1))

    @property
    def complete(self) -> bool:
        """Whether every rater read every case."""
        return not np.isnan(self.values).any()


@dataclass(frozen=True)
class WithoutEach:
    """Weights (n_chosen, n_rows) of which each set leaves out the rows of one unit, for products only."""

    units: np.ndarray
    chosen: np.ndarray

    def __matmul__(self, features: Any) -> np.ndarray:
        """Sums of features (n_rows, ...) over the rows of each set: those of all less the unit's."""
        of_unit = sparse.coo_array(
            (np.ones(len(self.units)), (self.units, np.arange(len(self.units))))
        ).tocsr()
        flat = features if sparse.issparse(features) else features.reshape(len(features), -1)
        own = of_unit[self.chosen] @ flat
        sums = flat.sum(axis=0) - (own.toarray() if sparse.issparse(own) else own)
        return np.asarray(sums).reshape(len(self.chosen), *features.shape[1:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The weights, written out."""
        return (self.units[None] != self.chosen[:, None]).astype(dtype or np.float64)


#: Weights of rows (n_sets, n_rows), of which kernels make products with what rows have.
Weights = np.ndarray | WithoutEach
#: Takes readings and weights of their rows, gives coefficients (n_sets, n_coefficients).
Kernel = Callable[[Readings, Weights], np.ndarray]


class Found(NamedTuple):
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


def once(readings: Readings) -> np.ndarray:
    """Weights that take every row once."""
    return np.ones((1, len(readings.values)))


def without_each_unit(readings: Readings, kernel: Kernel) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (n_coefficients,) of all rows, and without each unit (n_units, n_coefficients), or NaN."""
    n_units, size = readings.n_units, max(1, _BLOCK // max(readings.values.size, 1))
    found = [
        kernel(readings, WithoutEach(readings.units, np.arange(start, min(start + size, n_units))))
        for start in range(0, n_units, size)
    ]
    each = np.concatenate(found)
    return kernel(readings, once(readings))[0], np.where(np.isfinite(each), each, np.nan)


def jackknife_error(replicates: np.ndarray) -> np.ndarray:
    """Standard error from estimates without each unit; NaN where one of them is not defined."""
    n = len(replicates)
    if n < 2:
        return np.full(replicates.shape[1], np.nan)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt((n - 1) * replicates.var(axis=0)))


def jackknife_df(replicates: np.ndarray) -> np.ndarray:
    """Degrees of freedom of a jackknife's variance: units - 1, or fewer where a few units hold most of it."""
    n = len(replicates)
    spread = spread_df((replicates - replicates.mean(axis=0)) ** 2, n)
    return np.asarray(np.maximum(np.minimum(spread, n - 1.0), 1.0))


def one_way(
    over: Callable[[np.ndarray], np.ndarray], m: np.ndarray, total: np.ndarray, squares: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean squares within cases and between them, and what unequal numbers `m` of values are worth.

    That is n0 = (N - sum m^2 / N) / (cases - 1). `total` and `squares` are of a case's values, about a number
    near their mean so that no digits are lost; `over` sums over cases.
    """
    n_cases, n, of_cases = over(np.ones(len(m))), over(m), over(ratio(total**2, m))
    inner = ratio(over(squares) - of_cases, n - n_cases)
    outer = ratio(of_cases - ratio(over(total) ** 2, n), n_cases - 1)
    return inner, outer, ratio(n - ratio(over(m**2), n), n_cases - 1)


def student(level: float, df: float | np.ndarray) -> np.ndarray:
    """Quantile of Student's t that leaves out 1 - level on both sides, the normal one where df is NaN."""
    upper = (1 + level) / 2
    return np.where(np.isnan(df), special.ndtri(upper), special.stdtrit(df, upper))


def two_sided(statistic: np.ndarray, df: np.ndarray) -> np.ndarray:
    """P value of Student's t, of the normal distribution where df is NaN."""
    return np.asarray(2 * special.stdtr(np.where(np.isnan(df), np.inf, df), -np.abs(statistic)))


def to_z(rho: np.ndarray, k: float) -> np.ndarray:
    """Fisher's z of an intraclass correlation of k readings, log((1 + (k - 1) rho) / (1 - rho)) / 2."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.log((1 + (k - 1) * rho) / (1 - rho)) / 2
    return np.where(np.isfinite(z), z, np.nan)


def from_z(z: np.ndarray, k: float) -> np.ndarray:
    """Coefficient of a z."""
    # exp(-2z) does not overflow where the coefficient is near 1
    small = np.exp(-2 * z)
    return np.asarray((1 - small) / (1 + (k - 1) * small))


def by_jackknife(readings: Readings, kernel: Kernel, level: float) -> Found:
    """Wilson's score limits of coefficients of k readings, with a jackknife of units and Student's t.

    A coefficient rho is a share (1 + (k - 1) rho) / k, of which the jackknife's variance says how many 0/1
    scores it is worth; where nothing varies, or a unit cannot be left out, see `_worth`. The test of no
    agreement is that which the limits invert.

    Wilson EB. Probable inference, the law of succession, and statistical inference. JASA 1927.
    doi:10.1080/01621459.1927.10502953

    Franco C, Little RJA, Louis TA, Slud EV. Comparative study of confidence intervals for proportions in
    complex sample surveys. J Surv Stat Methodol 2019. doi:10.1093/jssam/smy019
    """
    estimate, replicates = without_each_unit(readings, kernel)
    k, n = readings.per_case, readings.n_units
    error, share = jackknife_error(replicates), np.clip(_share(estimate, k), 0, 1)
    varies = (error > ROUNDING) & (share > 0) & (share < 1)
    of_variance = ratio(share * (1 - share), (error * (k - 1) / k) ** 2)
    size = np.where(varies, of_variance, _worth(readings, kernel) if n > 1 else np.nan)
    df = np.where(varies, jackknife_df(replicates), n - 1.0)
    low, high = ((k * limit - 1) / (k - 1) for limit in wilson(share, size, level, df))
    statistic = estimate * np.sqrt((k - 1) * size)
    return Found(
        estimate,
        error,
        statistic,
        np.where(np.isnan(statistic), np.nan, df),
        np.where(np.isnan(df), np.nan, two_sided(statistic, df)),
        # with gaps a coefficient may lie below what k readings allow
        np.minimum(low, estimate),
        high,
    )


def _share(rho: np.ndarray, k: float) -> np.ndarray:
    """A coefficient of k readings as a share: 1 of perfect agreement, 1 / k of none but by chance."""
    return np.asarray((1 + (k - 1) * rho) / k)


def _worth(readings: Readings, kernel: Kernel) -> np.ndarray:
    """How many 0/1 scores perfect agreement is worth: the odds of its share, if one unit more disagreed.

    n hits and a miss have the odds n. That unit is of average size, and its first reading is the largest that
    there is, the others the least. All are worth one score at least.
    """
    low, high = np.nanmin(readings.values), np.nanmax(readings.values)
    odd = np.full((1, readings.n_raters), low)
    odd[0, 0] = high if high > low else low + 1
    more = Readings(
        np.vstack([readings.values, odd]),
        np.append(readings.cases, readings.n_cases),
        np.append(readings.units, readings.n_units),
    )
    n_rows = len(readings.values)
    share = _share(kernel(more, np.append(np.ones(n_rows), n_rows / readings.n_units)[None])[0], len(odd[0]))
    return np.maximum(ratio(share, 1 - share), 1.0)


def by_normal(estimate: np.ndarray, std_error: np.ndarray, level: float) -> Found:
    """Limits estimate -+ normal quantile * standard error, and the test of 0 with it."""
    nothing = np.full(len(estimate), np.nan)
    reach = student(level, nothing) * std_error
    statistic = estimate / std_error
    p_value = two_sided(statistic, nothing)
    return Found(estimate, std_error, statistic, nothing, p_value, estimate - reach, estimate + reach)
