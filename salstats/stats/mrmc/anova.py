"""Obuchowski and Rockette's analysis of variance of readers' figures, with Hillis' degrees of freedom."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from salstats.checks import check_choice
from salstats.errors import SalstatsError, Setting
from salstats.stats.engine.fixed_factors import THESE_READERS

#: Choices of the options `readers` and `cases`.
EFFECTS = ("random", "fixed")


@dataclass(frozen=True)
class AnovaTable:
    """Mean squares of readers' figures, and their variance and covariances over the cases.

    A cell is a reader with a method. Covariances are NaN where there are no such cells.
    """

    #: (n_methods,): Figure of each method, averaged over its readers.
    means: np.ndarray
    #: (n_methods,): Number of readers of each method.
    n_readers: np.ndarray
    #: True if every reader has one method only.
    nested: bool
    ms_method: float
    #: Mean square of readers over all methods; NaN where they are nested.
    ms_reader: float
    #: Mean square of readers by methods, or of readers within methods where they are nested.
    ms_within: float
    df_within: float
    #: Mean variance of a cell's figure.
    var: float
    #: Mean covariance of one reader with two methods.
    cov1: float
    #: Mean covariance of two readers with one method.
    cov2: float
    #: Mean covariance of two readers with two methods.
    cov3: float

    @property
    def effective_readers_per_method(self) -> float:
        """Readers per method; for unequal numbers n0 = (N - sum n_i² / N) / (t - 1).

        n_i are the readers of method i, N is their sum, t the number of methods: the effective group size of
        an unbalanced one-way analysis of variance.
        """
        if len(self.n_readers) == 1:
            return float(self.n_readers[0])
        n = self.n_readers.sum()
        return float((n - (self.n_readers**2).sum() / n) / (len(self.n_readers) - 1))

    @property
    def covariance_gap(self) -> float:
        """Covariance that cases add to a difference (cov2 - cov3), or to the mean of one method (cov2)."""
        if np.isnan(self.cov3):
            return self.cov2
        return self.cov2 - self.cov3

    @property
    def nonnegative_covariance_gap(self) -> float:
        """The covariance gap, or 0 if the estimate is below 0 (Hillis 2014, doi:10.1002/sim.5926)."""
        return max(self.covariance_gap, 0.0)


def anova_table(
    values: np.ndarray, covariance: np.ndarray, methods: np.ndarray, readers: np.ndarray
) -> AnovaTable:
    """Return mean squares of the cells' figures of merit, and their mean variance and covariances.

    A cell is a reader with a method (Obuchowski and Rockette). `values` (n_cells,) are the figures and
    `covariance` (n_cells, n_cells) is their covariance over the cases. `methods` and `readers` (n_cells,) are
    the codes of each cell: all pairs of a method and a reader, or one method for each reader. Formulas are in
    the notes of `mrmc`.
    """
    n_readers = np.bincount(methods)
    n_methods = len(n_readers)
    n_all_readers = int(readers.max()) + 1
    nested = n_methods > 1 and len(values) == n_all_readers
    means = np.bincount(methods, values) / n_readers
    ms_method = np.nan
    if n_methods > 1:
        ms_method = (n_readers * (means - values.mean()) ** 2).sum() / (n_methods - 1)
    residuals = values - means[methods]
    ms_reader = np.nan
    df_within = float((n_readers - 1).sum())
    if not nested:
        reader_effects = np.bincount(readers, values) / n_methods - values.mean()
        # With one method the mean square within is that of its readers.
        if n_methods > 1:
            residuals = residuals - reader_effects[readers]
        ms_reader = n_methods * (reader_effects**2).sum() / (n_all_readers - 1)
        df_within = float(max(n_methods - 1, 1) * (n_all_readers - 1))
    same_method = np.equal.outer(methods, methods)
    same_reader = np.equal.outer(readers, readers)
    return AnovaTable(
        means=means,
        n_readers=n_readers,
        nested=nested,
        ms_method=float(ms_method),
        ms_reader=float(ms_reader),
        ms_within=float((residuals**2).sum() / df_within),
        df_within=df_within,
        var=float(np.diag(covariance).mean()),
        cov1=_mean_of_masked_covariances_or_nan(covariance, same_reader & ~same_method),
        cov2=_mean_of_masked_covariances_or_nan(covariance, same_method & ~same_reader),
        cov3=_mean_of_masked_covariances_or_nan(covariance, ~same_method & ~same_reader),
    )


def _mean_of_masked_covariances_or_nan(covariance: np.ndarray, cells: NDArray[np.bool_]) -> float:
    """Mean of the covariances where `cells` (n_cells, n_cells) is true, NaN if it is nowhere."""
    if not cells.any():
        return np.nan
    return float(covariance[cells].mean())


class ErrorTerm(NamedTuple):
    """Denominator of the F statistic, and its degrees of freedom."""

    mean_square: float
    df: float


@dataclass(frozen=True)
class Analysis:
    """Analysis with random readers, random cases, or both."""

    #: Value of the column `inference_to`: the population that estimates generalise to.
    inference_to: str
    #: Function that returns the error and its degrees of freedom.
    #:
    #: The error is the denominator of F, with the mean square of methods as its numerator, and the number of
    #: readers times the variance of a mean. Its degrees of freedom are infinite if no part of it is estimated
    #: from the spread of readers.
    error_term: Callable[[AnovaTable], ErrorTerm]


def _error_mean_square_both_random(table: AnovaTable) -> ErrorTerm:
    """Error MS_within + r max(Cov2 - Cov3, 0), with Hillis' degrees of freedom.

    They are error² / (MS_within² / df_within) (Hillis 2007, doi:10.1002/sim.2532). r: number of readers.
    """
    error = table.ms_within + table.effective_readers_per_method * table.nonnegative_covariance_gap
    if table.ms_within > 0:
        return ErrorTerm(error, error**2 / (table.ms_within**2 / table.df_within))
    return ErrorTerm(error, np.inf)


def _error_readers_fixed(table: AnovaTable) -> ErrorTerm:
    """Error Var - Cov1 + (r - 1) max(Cov2 - Cov3, 0), which has a normal distribution.

    Nested readers have one method each, so that Cov3 takes the place of Cov1.
    """
    between_methods = table.cov3 if table.nested else table.cov1
    # With one method there is no covariance between methods (NaN).
    error = (
        table.var
        - np.nan_to_num(between_methods)
        + (table.effective_readers_per_method - 1) * table.nonnegative_covariance_gap
    )
    return ErrorTerm(error, np.inf)


def _error_cases_fixed(table: AnovaTable) -> ErrorTerm:
    """Error MS_within."""
    return ErrorTerm(table.ms_within, table.df_within)


#: Analyses by (readers are random, cases are random).
ANALYSES = {
    (True, True): Analysis("readers and cases", _error_mean_square_both_random),
    (False, True): Analysis(THESE_READERS, _error_readers_fixed),
    (True, False): Analysis("these cases", _error_cases_fixed),
}


def are_readers_and_cases_random(readers: str, cases: str) -> tuple[bool, bool]:
    """Return two flags: readers are random, cases are random; both fixed raises an error."""
    check_choice(readers, EFFECTS, "readers")
    check_choice(cases, EFFECTS, "cases")
    if readers == "fixed" and cases == "fixed":
        raise SalstatsError(
            Setting("readers", "fixed"),
            " and ",
            Setting("cases", "fixed"),
            " leave nothing to chance",
            hint="keep one of them 'random'",
        )
    return readers == "random", cases == "random"


@dataclass(frozen=True)
class GlobalTest:
    """Test that all methods are equal: F, or chi-squared if `df_residual` is infinite."""

    statistic: float
    df: float
    df_residual: float
    p_value: float


def global_test(table: AnovaTable, analysis: Analysis, nan_up_to_error: float = 0.0) -> GlobalTest:
    """Test that two or more methods are equal.

    The result is NaN if the root of the error is no larger than `nan_up_to_error`.
    """
    error, df_residual = analysis.error_term(table)
    df = float(len(table.means) - 1)
    f = np.nan
    if error > nan_up_to_error**2:
        f = table.ms_method / error
    if np.isinf(df_residual):
        # df F is chi-squared with df degrees of freedom.
        return GlobalTest(df * f, df, df_residual, p_value=float(special.chdtrc(df, df * f)))
    return GlobalTest(f, df, df_residual, p_value=float(special.fdtrc(df, df_residual, f)))


class StandardError(NamedTuple):
    """Standard error of an estimate, and its degrees of freedom; infinite for the normal distribution."""

    std_error: float
    df: float


def std_error_of_method_difference(
    table: AnovaTable, analysis: Analysis, first_method: int, second_method: int
) -> StandardError:
    """Standard error of the difference of two methods' figures, and its degrees of freedom.

    The variance is 2 error / effective readers per method. `first_method` and `second_method`, positions of
    methods, matter only where methods have readers of their own, in unequal numbers.
    """
    if table.nested and len(set(table.n_readers)) > 1:
        # A mean over many readers is more precise, so only the numbers of readers of these two methods count.
        pair = [first_method, second_method]
        table = replace(
            table,
            means=table.means[pair],
            n_readers=table.n_readers[pair],
            # these are of all methods, and no error term needs them
            ms_method=np.nan,
            ms_reader=np.nan,
        )
    error, df = analysis.error_term(table)
    return StandardError(_square_root_or_nan(2 / table.effective_readers_per_method * error), df)


def std_error_of_mean(table: AnovaTable, analysis: Analysis) -> StandardError:
    """Standard error of the figure of the only method of a table, and its degrees of freedom."""
    error, df = analysis.error_term(table)
    return StandardError(_square_root_or_nan(error / table.effective_readers_per_method), df)


def _square_root_or_nan(variance: float) -> float:
    """Square root of a variance, NaN if it is below 0."""
    if variance < 0:
        return np.nan
    return float(np.sqrt(variance))


def variances_and_covariances_of_table(table: AnovaTable) -> dict[str, float]:
    """Return the estimated variances and covariances of the model by name; they may be below 0.

    Those that the design has no cells for are left out. Formulas are in the notes of `mrmc_components`.
    """
    if len(table.means) == 1 or table.nested:
        estimates = {"reader": table.ms_within - table.var + table.cov2}
    else:
        reader = (table.ms_reader - table.ms_within) / len(table.means) - table.cov1 + table.cov3
        estimates = {
            "reader": reader,
            "method:reader": table.ms_within - table.var + table.cov1 + table.covariance_gap,
        }
    estimates |= {"error": table.var, "cov1": table.cov1, "cov2": table.cov2, "cov3": table.cov3}
    return {name: estimate for name, estimate in estimates.items() if not np.isnan(estimate)}
