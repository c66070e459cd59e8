"""Least squares, the kernel of the family `gaussian`."""

import numpy as np

from salstats.stats.models.error_kinds import FIXED_EFFECTS_ERRORS
from salstats.stats.models.family import Family, Link, Solution

#: Residual variance over mean square of the fit, up to which a fit is perfect but for rounding, as in R's
#: `summary.lm`. Rounding grows with the number of rows: above `_FEW_ROWS` this grows with their square.
_PERFECT = 1e-30
_FEW_ROWS = 30


def least_squares(
    matrix: np.ndarray, response: np.ndarray, intercept: bool, sampling: np.ndarray | None = None
) -> Solution:
    """Fit a linear model by statsmodels' least squares, weighted by `sampling`."""
    # imported here, so that what fits no model starts without it
    from statsmodels.regression.linear_model import WLS

    n = len(response)
    weights = np.ones(n) if sampling is None else sampling
    # Columns of equal length: the pseudo-inverse takes what is below 1e-15 of the largest for zero.
    length = np.sqrt(np.einsum("ij,ij->j", matrix, matrix))
    # hasconst=False, as nothing below asks statsmodels for the intercept and its search takes time.
    model = WLS(response, matrix / length, weights=weights, hasconst=False)
    result = model.fit()
    fitted = result.fittedvalues
    dispersion = result.scale
    perfect = _PERFECT * max(n / _FEW_ROWS, 1) ** 2
    mean_square = fitted.mean() ** 2 + fitted.var()
    if dispersion <= perfect * mean_square:
        dispersion = np.nan
    # Rows that stand for others have no likelihood.
    log_likelihood = np.nan
    if sampling is None:
        with np.errstate(divide="ignore"):
            log_likelihood = result.llf
    null_deviance = result.centered_tss if intercept else result.uncentered_tss
    return Solution(
        coefficients=result.params / length,
        matrix=matrix,
        response=response,
        fitted=fitted,
        weights=np.ones(n),
        bread=result.normalized_cov_params / np.outer(length, length),
        scores=matrix * (weights * result.resid)[:, None],
        leverage=np.einsum("ij,ji->i", model.wexog, model.pinv_wexog),
        dispersion=float(dispersion),
        df_residual=float(result.df_resid),
        deviance=float(result.ssr),
        null_deviance=float(null_deviance),
        log_likelihood=float(log_likelihood),
        intercept=intercept,
        sampling=sampling,
    )


def _accept_any_outcome(response: np.ndarray, family: str) -> None:
    """Do nothing, as a linear model takes any number."""


IDENTITY = Link(
    name="identity",
    mean=lambda predictor: predictor,
    first_derivative=np.ones_like,
    second_derivative=np.zeros_like,
    effect="Coefficient",
    ratio="Exponentiated coefficient",
)

GAUSSIAN = Family(
    name="gaussian",
    label="linear",
    link=IDENTITY,
    variance=np.ones_like,
    check_outcome=_accept_any_outcome,
    solve=least_squares,
    errors=FIXED_EFFECTS_ERRORS,
    uses_normal=False,
    n_dispersion_parameters=1,
    correlated=True,
    weighted=True,
)
