"""Obuchowski and Rockette's analysis of variance of readers' figures, with Hillis' degrees of freedom."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from salstats.checks import SalstatsError, check_choice
from salstats.stats.engine.fixed_factors import THESE_READERS

#: What `readers=` and `cases=` take.
EFFECTS = ("random", "fixed")


@dataclass(frozen=True)
class Parts:
    """Mean squares of readers' figures, and covariances of these over the cases.

    `cov1` is of one reader with two methods, `cov2` of two readers with one method, `cov3` of both different;
    NaN where there are no such cells.
    """

    #: Figure of each method, averaged over its readers, and how many these are.
    means: np.ndarray
    n_readers: np.ndarray
    #: Whether every reader has one method only.
    nested: bool
    ms_method: float
    #: Of readers over all methods; NaN where they are nested.
    ms_reader: float
    #: Of readers by method, or within methods where they are nested, and its degrees of freedom.
    ms_within: float
    df_within: float
    var: float
    cov1: float
    cov2: float
    cov3: float

    @property
    def readers(self) -> float:
        """Readers of each method; of different numbers what takes their place in mean squares."""
        if len(self.n_readers) == 1:
            return float(self.n_readers[0])
        n = self.n_readers.sum()
        return float((n - (self.n_readers**2).sum() / n) / (len(self.n_readers) - 1))

    @property
    def gap(self) -> float:
        """cov2 - cov3 of several methods, cov2 of one: what cases add to a comparison, or to a mean."""
        return self.cov2 if np.isnan(self.cov3) else self.cov2 - self.cov3

    @property
    def used_gap(self) -> float:
        """The same, 0 where the estimate is below it (Hillis 2014)."""
        return max(self.gap, 0.0)


def parts_of(values: np.ndarray, covariance: np.ndarray, methods: np.ndarray, readers: np.ndarray) -> Parts:
    """Parts of cells (n_cells,) that are all pairs of methods and readers, or a method for each reader."""
    n_readers = np.bincount(methods)
    n_methods, several = len(n_readers), int(readers.max()) + 1
    nested = n_methods > 1 and len(values) == several
    means = np.bincount(methods, values) / n_readers
    same_method, same_reader = (np.equal.outer(of, of) for of in (methods, readers))

    def mean_of(cells: np.ndarray) -> float:
        return float(covariance[cells].mean()) if cells.any() else np.nan

    of_methods = (n_readers * (means - values.mean()) ** 2).sum()
    ms_method = of_methods / (n_methods - 1) if n_methods > 1 else np.nan
    rest, ms_reader = values - means[methods], np.nan
    df_within = float((n_readers - 1).sum())
    if not nested:
        of_readers = np.bincount(readers, values) / n_methods - values.mean()
        rest = rest - of_readers[readers] if n_methods > 1 else rest
        ms_reader = n_methods * (of_readers**2).sum() / (several - 1)
        df_within = float(max(n_methods - 1, 1) * (several - 1))
    return Parts(
        means, n_readers, nested, float(ms_method), float(ms_reader), float((rest**2).sum() / df_within),
        df_within, float(np.diag(covariance).mean()), mean_of(same_reader & ~same_method),
        mean_of(same_method & ~same_reader), mean_of(~same_method & ~same_reader),
    )  # fmt: skip


@dataclass(frozen=True)
class Analysis:
    """What is drawn from a population, readers or cases or both, and what follows."""

    #: What estimates speak of.
    inference_to: str
    #: Mean square that a method's is compared with (or that a mean has, times its readers), and its degrees
    #: of freedom, infinite where nothing of it is estimated from few readers.
    error: Callable[[Parts], tuple[float, float]]


def _both_random(p: Parts) -> tuple[float, float]:
    error = p.ms_within + p.readers * p.used_gap
    return error, error**2 / (p.ms_within**2 / p.df_within) if p.ms_within > 0 else np.inf


def _readers_fixed(p: Parts) -> tuple[float, float]:
    # of readers who are nested none is shared, as of one method
    shared = p.cov3 if p.nested else p.cov1
    return p.var - np.nan_to_num(shared) + (p.readers - 1) * p.used_gap, np.inf


def _cases_fixed(p: Parts) -> tuple[float, float]:
    return p.ms_within, p.df_within


#: By whether readers and cases are random.
ANALYSES = {
    (True, True): Analysis("readers and cases", _both_random),
    (False, True): Analysis(THESE_READERS, _readers_fixed),
    (True, False): Analysis("these cases", _cases_fixed),
}


def random_effects(readers: str, cases: str) -> tuple[bool, bool]:
    """Whether readers and cases are random, one of which has to be."""
    random = check_choice(readers, EFFECTS, "readers"), check_choice(cases, EFFECTS, "cases")
    if random == ("fixed", "fixed"):
        raise SalstatsError(
            "readers='fixed' and cases='fixed' leave nothing to chance; keep one of them 'random'"
        )
    return random[0] == "random", random[1] == "random"


@dataclass(frozen=True)
class Equality:
    """Test that all methods are equal: F, or chi-squared where `df_residual` is infinite."""

    statistic: float
    df: float
    df_residual: float
    p_value: float


def equality(p: Parts, analysis: Analysis, least: float = 0.0) -> Equality:
    """Global test of two methods and more; NaN where errors are no more than `least`."""
    error, residual = analysis.error(p)
    df = float(len(p.means) - 1)
    ratio = p.ms_method / error if error > least**2 else np.nan
    if np.isinf(residual):
        return Equality(df * ratio, df, residual, float(special.chdtrc(df, df * ratio)))
    return Equality(ratio, df, residual, float(special.fdtrc(df, residual, ratio)))


def error_of_difference(p: Parts, analysis: Analysis, one: int, other: int) -> tuple[float, float]:
    """Standard error of the difference of two methods' figures, and its degrees of freedom."""
    error, df = analysis.error(p)
    if not p.nested or len(set(p.n_readers)) == 1:
        return _root(2 / p.readers * error), df
    # methods of many readers are known better than those of few
    pair = Parts(
        p.means[[one, other]], p.n_readers[[one, other]], True, np.nan, np.nan, p.ms_within, p.df_within,
        p.var, p.cov1, p.cov2, p.cov3,
    )  # fmt: skip
    error, df = analysis.error(pair)
    return _root(2 / pair.readers * error), df


def error_of_mean(p: Parts, analysis: Analysis) -> tuple[float, float]:
    """Standard error of the figure of one method, of whose cells alone the parts are, and its df."""
    error, df = analysis.error(p)
    return _root(error / p.readers), df


def _root(variance: float) -> float:
    """Square root, NaN of what is below 0."""
    return float(np.sqrt(variance)) if variance >= 0 else np.nan


def components(p: Parts) -> dict[str, float]:
    """Variances and covariances of the model, as they are estimated, which may be below 0."""
    if len(p.means) == 1 or p.nested:
        found = {"reader": p.ms_within - p.var + p.cov2}
    else:
        found = {
            "reader": (p.ms_reader - p.ms_within) / len(p.means) - p.cov1 + p.cov3,
            "method:reader": p.ms_within - p.var + p.cov1 + p.gap,
        }
    found |= {"error": p.var, "cov1": p.cov1, "cov2": p.cov2, "cov3": p.cov3}
    return {name: value for name, value in found.items() if not np.isnan(value)}
