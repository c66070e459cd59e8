"""Partial and semi-partial correlation: of the residuals of both variables, or of one, on covariates."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from salstats.stats.engine.coefficients import (
    Coefficient,
    coefficient_with_t_test,
    is_perfect,
    perfect_correlation,
)

#: Variables that are replaced by their residuals: both in partial, one in semi-partial correlation.
COVARIATES_OF = ("both", "x", "y")
#: Share of a variable's standard deviation below which a residual is rounding.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Residuals:
    """Regression of two variables on k covariates, with all that the influences of rows need."""

    #: The regression is of ranks.
    ranks: bool
    #: One of `COVARIATES_OF`.
    covariates_of: str
    #: (n, 2 + k): The two variables, then the covariates.
    variables: np.ndarray
    #: (n, 2 + k): Standardized variables, or their standardized ranks.
    standardized: np.ndarray
    #: (n, 2): Residuals of the two variables.
    residuals: np.ndarray
    #: (k, 2): Slopes of the covariates.
    slopes: np.ndarray
    #: Number of covariates that are not linear combinations of others.
    rank: int

    @property
    def values_to_correlate(self) -> np.ndarray:
        """Centred values that are correlated, shape (n, 2): residuals, or standardized variables."""
        values = self.residuals.copy()
        if self.covariates_of == "y":
            values[:, 0] = self.standardized[:, 0]
        if self.covariates_of == "x":
            values[:, 1] = self.standardized[:, 1]
        return values

    def undefined_reason_and_column(self, names: tuple[str, str]) -> tuple[str, str | None]:
        """Return why the correlation is undefined, and the variable at fault if it is one.

        `names` are those of the variables. The reason is "" if the correlation is defined.
        """
        n_covariates = len(self.slopes)
        if self.rank < n_covariates:
            return "the covariates are collinear", None
        for name, values in zip(names, self.residuals.T, strict=True):
            if values.std() < _ROUNDING:
                return f"the covariates determine {name}", name
        return "", None


def residuals_on_covariates(variables: np.ndarray, *, ranks: bool, covariates_of: str) -> Residuals:
    """Regress the first two columns on the other columns, the covariates, all standardized.

    With `ranks` the columns are first replaced by their ranks. `covariates_of` is one of `COVARIATES_OF`.
    """
    values = stats.rankdata(variables, axis=0) if ranks else variables
    standardized = stats.zscore(values, axis=0)
    outcomes = standardized[:, :2]
    covariates = standardized[:, 2:]
    slopes, _, rank, _ = np.linalg.lstsq(covariates, outcomes, rcond=_ROUNDING)
    return Residuals(
        ranks=ranks,
        covariates_of=covariates_of,
        variables=variables,
        standardized=standardized,
        residuals=outcomes - covariates @ slopes,
        slopes=slopes,
        rank=int(rank),
    )


def partial_coefficient(regression: Residuals, df: int) -> Coefficient:
    """Compute the partial or semi-partial correlation, Pearson's r of residuals, with its t test.

    pingouin's `partial_corr` inverts the covariance of all variables instead, and takes a pseudo-inverse
    where that is singular: for x, y and covariates that add up (size = inside + outside) it gives a different
    number, even of the opposite sign.
    """
    x, y = regression.values_to_correlate.T
    scale = np.sqrt((x @ x) * (y @ y))
    r = float(np.clip(x @ y / scale, -1, 1))
    if is_perfect(r, len(x)):
        return perfect_correlation(r)
    return coefficient_with_t_test(r, df)
