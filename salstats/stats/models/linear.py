"""Least squares, the kernel of the family `gaussian`."""

import numpy as np

from salstats.stats.models.error_kinds import FIXED_EFFECTS_ERRORS
from salstats.stats.models.family import Family, Link, Solution

#: A fit is perfect, up to rounding errors, if the residual variance is at most this share of the mean square
#: of the fitted values, as in R's `summary.lm`.
_PERFECT = 1e-30
#: Rounding errors grow with the number of rows n: above this number `_PERFECT` is multiplied by the square of
#: n / _FEW_ROWS.
_FEW_ROWS = 30


def least_squares(
    matrix: np.ndarray, response: np.ndarray, has_intercept: bool, sampling: np.ndarray | None = None
) -> Solution:
    """Fit a linear model by statsmodels' least squares; `sampling` are weights (n,) of the rows."""
    # Imported here, since it is slow to import and only models need it
    from statsmodels.regression.linear_model import WLS

    n = len(response)
    weights = np.ones(n) if sampling is None else sampling
    # Columns are scaled to equal length, as the pseudo-inverse treats singular values below 1e-15 of the
    # largest as zero.
    length = np.sqrt(np.einsum("ij,ij->j", matrix, matrix))
    # hasconst=False saves statsmodels' search for an intercept, which is not needed here.
    model = WLS(response, matrix / length, weights=weights, hasconst=False)
    result = model.fit()
    fitted = result.fittedvalues
    dispersion = result.scale
    perfect_share = _PERFECT * max(n / _FEW_ROWS, 1) ** 2
    mean_square = fitted.mean() ** 2 + fitted.var()
    if dispersion <= perfect_share * mean_square:
        dispersion = np.nan
    # With sampling weights there is no likelihood.
    log_likelihood = np.nan
    if sampling is None:
        with np.errstate(divide="ignore"):
            log_likelihood = result.llf
    null_deviance = result.centered_tss if has_intercept else result.uncentered_tss
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
        intercept=has_intercept,
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
