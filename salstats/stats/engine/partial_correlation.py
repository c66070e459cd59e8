"""Partial and semi-partial correlation: covariates are taken out of both variables, or of one."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from salstats.stats.engine.coefficients import Coefficient, is_perfect, perfect, tested

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
        for name, values in zip(names, self.left.T, strict=True):
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
    """Partial or semi-partial correlation, Pearson's r of what covariates leave, with its t test.

    pingouin's `partial_corr` inverts the covariance of all variables instead, and takes a pseudo-inverse
    where that is singular: of x, y and covariates that add up (size = inside + outside) it gives another
    number, even of the other sign.
    """
    x, y = found.correlated.T
    r = float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1, 1))
    if is_perfect(r, len(x)):
        return perfect(r)
    return tested(r, df)
