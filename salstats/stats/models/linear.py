"""Least squares, the kernel of the family `gaussian`."""

import numpy as np

from salstats.stats.models.errors import OF_FIXED
from salstats.stats.models.family import Family, Link, Solution, decomposed

#: Residual mean square over mean square of the fit, below which a fit is perfect but for rounding (R's
#: `summary.lm`); rounding grows with the number of rows, so that this holds for up to _FEW_ROWS and grows.
_PERFECT = 1e-30
_FEW_ROWS = 30


def least_squares(
    matrix: np.ndarray, response: np.ndarray, intercept: bool, sampling: np.ndarray | None = None
) -> Solution:
    """A linear model by least squares, weighted by `sampling`."""
    n, rank = matrix.shape
    each = np.ones(n) if sampling is None else sampling
    root = np.sqrt(each)
    q, r, bread, leverage = decomposed(matrix * root[:, None])
    coefficients = np.linalg.solve(r, q.T @ (response * root))
    fitted = matrix @ coefficients
    residual = response - fitted
    residual_squares = float((each * residual**2).sum())
    dispersion = residual_squares / (n - rank)
    if dispersion <= _PERFECT * max(n / _FEW_ROWS, 1) ** 2 * (fitted.mean() ** 2 + fitted.var()):
        dispersion = float("nan")
    centre = np.average(response, weights=each) if intercept else 0.0
    with np.errstate(divide="ignore"):
        log_likelihood = -n / 2 * (np.log(2 * np.pi) + np.log(residual_squares / n) + 1)
    return Solution(
        coefficients=coefficients,
        matrix=matrix,
        response=response,
        fitted=fitted,
        weights=np.ones(n),
        bread=bread,
        scores=matrix * (each * residual)[:, None],
        leverage=leverage,
        dispersion=dispersion,
        df_residual=float(n - rank),
        deviance=residual_squares,
        null_deviance=float((each * (response - centre) ** 2).sum()),
        # of rows that stand for others there is none
        log_likelihood=float(log_likelihood) if sampling is None else float("nan"),
        intercept=intercept,
        sampling=sampling,
    )


def any_number(response: np.ndarray) -> str | None:
    """Nothing is wrong with any number."""
    return None


IDENTITY = Link(
    name="identity",
    mean=lambda predictor: predictor,
    slope=np.ones_like,
    curve=np.zeros_like,
    effect="Coefficient",
    ratio="Exponentiated coefficient",
)

GAUSSIAN = Family(
    name="gaussian",
    label="linear",
    link=IDENTITY,
    variance=np.ones_like,
    check=any_number,
    solve=least_squares,
    errors=OF_FIXED,
    normal=False,
    n_spread=1,
    correlated=True,
    weighted=True,
)
