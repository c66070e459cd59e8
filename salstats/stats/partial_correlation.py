"""Partial and semi-partial correlation: covariates are taken out of both variables, or of one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from salstats.stats.coefficients import Coefficient, is_perfect, perfect, tested

#: What covariates are taken out of: of both is partial correlation, of one is semi-partial.
COVARIATES_OF = ("both", "x", "y")
#: Share of a variable's standard deviation below which a residual is rounding.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Residuals:
    """Both variables and what covariates leave of them, with what it takes to differentiate by any value."""

    ranks: bool
    covariates_of: str
    #: (n, 2 + k): Both variables and the covariates as given, and standardized (of ranks their ranks).
    given: np.ndarray
    variables: np.ndarray
    #: (n, 2): Both variables without their part in the covariates, whose slopes are (k, 2).
    left: np.ndarray
    slopes: np.ndarray
    #: Number of covariates that are no linear combination of others.
    rank: int

    @property
    def correlated(self) -> np.ndarray:
        """The two variables that are correlated, centred, shape (n, 2): residuals, or as they were."""
        chosen = self.left.copy()
        if self.covariates_of == "y":
            chosen[:, 0] = self.variables[:, 0]
        if self.covariates_of == "x":
            chosen[:, 1] = self.variables[:, 1]
        return chosen

    def undefined_reason(self, names: tuple[str, str]) -> str:
        """Say why there is no partial correlation; empty where there is one."""
        n_covariates = len(self.slopes)
        if self.rank < n_covariates:
            return "the covariates are collinear"
        for name, values in zip(names, self.correlated.T, strict=True):
            if values.std() < _ROUNDING:
                return f"the covariates determine {name}"
        return ""


def residuals(variables: np.ndarray, *, ranks: bool, covariates_of: str) -> Residuals:
    """Regress both variables, the first two columns, on the covariates, the others; of ranks, their ranks."""
    values = stats.rankdata(variables, axis=0) if ranks else variables
    standardized = stats.zscore(values, axis=0)
    both, covariates = standardized[:, :2], standardized[:, 2:]
    slopes, _, rank, _ = np.linalg.lstsq(covariates, both, rcond=_ROUNDING)
    left = both - covariates @ slopes
    return Residuals(ranks, covariates_of, variables, standardized, left, slopes, int(rank))


def partial_coefficient(found: Residuals, df: int) -> Coefficient:
    """Partial or semi-partial correlation by pingouin, with its t test."""
    import pingouin

    x, y = found.correlated.T
    r = float(x @ y / np.sqrt((x @ x) * (y @ y)))
    if is_perfect(r, len(x)):
        # pingouin would invert a singular matrix
        return perfect(r)
    names = ["x", "y", *(f"covariate_{i}" for i in range(len(found.slopes)))]
    option = {"both": "covar", "x": "x_covar", "y": "y_covar"}[found.covariates_of]
    # standardized, as pingouin takes small numbers for equal ones; and ranked before
    table = pd.DataFrame(found.variables, columns=names)
    with _unrounded():
        result = pingouin.partial_corr(table, "x", "y", **{option: names[2:]}, method="pearson")
    return tested(float(result["r"].iloc[0]), df)


@contextmanager
def _unrounded() -> Iterator[None]:
    """Switch off whatever rounding the user has set in pingouin."""
    import pingouin

    before = dict(pingouin.options)
    pingouin.options.clear()
    pingouin.options["round"] = None
    try:
        yield
    finally:
        pingouin.options.clear()
        pingouin.options.update(before)
