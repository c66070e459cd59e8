"""Fitting one model on arrays: least squares, and the logit for 0/1 outcomes and fractions."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from salstats.checks import SalstatsError

FAMILIES = ("gaussian", "binomial", "fractional")
#: A column is aliased where what the earlier ones leave of it is smaller than this share: R's `lm`.
RANK_TOLERANCE = 1e-7
#: Residual mean square over mean square of the fit, below which a fit is perfect but for rounding (R's
#: `summary.lm`); rounding grows with the number of rows, so that this holds for up to _FEW_ROWS and grows.
_PERFECT = 1e-30
_FEW_ROWS = 30
#: The same of Pearson's dispersion, a logit model's residual variance over mu (1 - mu): IRLS leaves 1e-12.
_PERFECT_LOGIT = 1e-20
_CONVERGED = 1e-12
_MAX_ITERATIONS = 100
_NEARLY_CERTAIN = 1e-8


class NotEstimableError(SalstatsError):
    """A model has no estimates from these rows; the message says why."""


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Attributes
    ----------
    family : str
        `gaussian`, `binomial` or `fractional`.
    coefficients : ndarray of float, shape (k,)
        NaN for aliased columns.
    kept : ndarray of int, shape (r,)
        The columns that are not aliased.
    matrix : ndarray of float, shape (n, r)
        The model matrix of those columns.
    response, fitted : ndarray of float, shape (n,)
        Outcome and fitted mean.
    weights : ndarray of float, shape (n,)
        1, or mu (1 - mu) of the logit model.
    bread : ndarray of float, shape (r, r)
        Inverse of X'WX.
    leverage : ndarray of float, shape (n,)
        Diagonal of the hat matrix.
    dispersion : float
        Residual variance; 1 for binomial; Pearson's for fractional; NaN for a perfect fit.
    deviance, null_deviance, log_likelihood : float
        As in R's glm (a linear model's deviance is its residual sum of squares).
    intercept : bool
        Whether the first column is one.
    """

    family: str
    coefficients: np.ndarray
    kept: np.ndarray
    matrix: np.ndarray
    response: np.ndarray
    fitted: np.ndarray
    weights: np.ndarray
    bread: np.ndarray
    leverage: np.ndarray
    dispersion: float
    deviance: float
    null_deviance: float
    log_likelihood: float
    intercept: bool

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.response)

    @property
    def rank(self) -> int:
        """Number of coefficients that are estimated."""
        return len(self.kept)

    @property
    def residual(self) -> np.ndarray:
        """Outcome minus fitted mean, shape (n,)."""
        return np.asarray(self.response - self.fitted)


def fit_model(
    matrix: np.ndarray, response: np.ndarray, names: Sequence[str], family: str, *, intercept: bool
) -> Fit:
    """Fit a linear or logit model.

    Parameters
    ----------
    matrix : ndarray of float, shape (n, k)
        Model matrix; an intercept is its first column.
    response : ndarray of float, shape (n,)
        Outcome.
    names : sequence of str
        Names of the columns, for messages.
    family : str
        One of FAMILIES.
    intercept : bool
        Whether there is an intercept.

    Returns
    -------
    Fit
        Coefficients of columns that depend linearly on earlier ones are NaN, as in R.

    Raises
    ------
    NotEstimableError
        No more rows than coefficients; a constant 0/1 outcome or another separation of the logit model.
    """
    n, k = matrix.shape
    if n == 0:
        raise NotEstimableError("no complete rows")
    kept = estimable_columns(matrix)
    if n <= len(kept) or not len(kept):
        raise NotEstimableError(f"{n} complete row{'s' * (n != 1)} for {k} coefficient{'s' * (k != 1)}")
    reduced = matrix[:, kept]
    fit = _least_squares if family == "gaussian" else _logit
    return fit(reduced, response, kept, k, [names[i] for i in kept], family, intercept)


def estimable_columns(matrix: np.ndarray) -> np.ndarray:
    """Return the positions of the columns that do not depend linearly on earlier ones."""
    kept = list(range(matrix.shape[1]))
    lengths = np.sqrt((matrix**2).sum(axis=0))
    while kept:
        triangle = np.linalg.qr(matrix[:, kept], mode="r")
        left_over = np.zeros(len(kept))
        left_over[: len(triangle)] = np.abs(np.diag(triangle))
        dependent = np.flatnonzero(left_over <= RANK_TOLERANCE * lengths[kept])
        if not len(dependent):
            break
        # only the first is sure: what follows it was measured against a direction that is noise
        del kept[int(dependent[0])]
    return np.asarray(kept, dtype=np.int64)


def _expanded(values: np.ndarray, kept: np.ndarray, k: int) -> np.ndarray:
    """Return coefficients of all k columns, NaN for those that were left out."""
    full = np.full(k, np.nan)
    full[kept] = values
    return full


def _decomposed(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return Q, R, (X'X)^-1 and the leverages."""
    q, r = np.linalg.qr(matrix)
    inverse = np.linalg.solve(r, np.eye(len(r)))
    return q, r, inverse @ inverse.T, (q**2).sum(axis=1)


def _least_squares(
    matrix: np.ndarray,
    response: np.ndarray,
    kept: np.ndarray,
    k: int,
    names: list[str],
    family: str,
    intercept: bool,
) -> Fit:
    """Fit by ordinary least squares."""
    n, rank = matrix.shape
    q, r, bread, leverage = _decomposed(matrix)
    coefficients = np.linalg.solve(r, q.T @ response)
    fitted = matrix @ coefficients
    residual_squares = float(((response - fitted) ** 2).sum())
    dispersion = residual_squares / (n - rank)
    if dispersion <= _PERFECT * max(n / _FEW_ROWS, 1) ** 2 * (fitted.mean() ** 2 + fitted.var()):
        dispersion = float("nan")
    centre = response.mean() if intercept else 0.0
    with np.errstate(divide="ignore"):
        log_likelihood = -n / 2 * (np.log(2 * np.pi) + np.log(residual_squares / n) + 1)
    return Fit(
        family=family,
        coefficients=_expanded(coefficients, kept, k),
        kept=kept,
        matrix=matrix,
        response=response,
        fitted=fitted,
        weights=np.ones(n),
        bread=bread,
        leverage=leverage,
        dispersion=dispersion,
        deviance=residual_squares,
        null_deviance=float(((response - centre) ** 2).sum()),
        log_likelihood=float(log_likelihood),
        intercept=intercept,
    )


def _logit(
    matrix: np.ndarray,
    response: np.ndarray,
    kept: np.ndarray,
    k: int,
    names: list[str],
    family: str,
    intercept: bool,
) -> Fit:
    """Fit the logit model by maximum (quasi-)likelihood."""
    n, rank = matrix.shape
    coefficients, fitted, converged = _iterated(matrix, response)
    extreme = fitted.min() < _NEARLY_CERTAIN or fitted.max() > 1 - _NEARLY_CERTAIN
    if not converged or extreme:
        if separates(matrix, response):
            what = "the outcome is constant" if response.min() == response.max() else "terms separate it"
            raise NotEstimableError(f"the logit model has no finite estimates, {what} ({', '.join(names)})")
        if not converged:
            raise NotEstimableError(f"the logit model did not converge in {_MAX_ITERATIONS} iterations")
    weights = fitted * (1 - fitted)
    _, _, bread, leverage = _decomposed(matrix * np.sqrt(weights)[:, None])
    dispersion, log_likelihood = 1.0, float("nan")
    if family == "fractional":
        dispersion = float(((response - fitted) ** 2 / weights).sum() / (n - rank))
        if dispersion <= _PERFECT_LOGIT:
            dispersion = float("nan")
    else:
        log_likelihood = float(
            (special.xlogy(response, fitted) + special.xlog1py(1 - response, -fitted)).sum()
        )
    centre = response.mean() if intercept else 0.5
    return Fit(
        family=family,
        coefficients=_expanded(coefficients, kept, k),
        kept=kept,
        matrix=matrix,
        response=response,
        fitted=fitted,
        weights=weights,
        bread=bread,
        leverage=leverage,
        dispersion=dispersion,
        deviance=_deviance(response, fitted),
        null_deviance=_deviance(response, np.full(n, centre)),
        log_likelihood=log_likelihood,
        intercept=intercept,
    )


def _iterated(matrix: np.ndarray, response: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return coefficients, fitted means and whether statsmodels' IRLS converged to rounding."""
    # imported here: it takes a second, and linear models do without
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    # columns of equal size, so that one tolerance means the same for each coefficient
    size = np.abs(matrix).max(axis=0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # what they would say (separation, no convergence) is diagnosed from the result
        warnings.simplefilter("ignore")
        result = GLM(response, matrix / size, family=Binomial()).fit(
            maxiter=_MAX_ITERATIONS, tol=_CONVERGED, rtol=_CONVERGED, tol_criterion="params"
        )
    coefficients = np.asarray(result.params) / size
    fitted = special.expit(matrix @ coefficients)
    return coefficients, fitted, bool(result.converged) and bool(np.isfinite(fitted).all())


def _deviance(response: np.ndarray, fitted: np.ndarray) -> float:
    """Return the binomial deviance, for fractions too."""
    saturated = special.xlogy(response, response) + special.xlog1py(1 - response, -response)
    reached = special.xlogy(response, fitted) + special.xlog1py(1 - response, -fitted)
    return float(2 * (saturated - reached).sum())


def separates(matrix: np.ndarray, response: np.ndarray) -> bool:
    """Return whether some direction puts all ones on one side and all zeros on the other.

    Parameters
    ----------
    matrix : ndarray of float, shape (n, k)
        Model matrix.
    response : ndarray of float, shape (n,)
        Outcome in [0, 1].

    Returns
    -------
    bool
        True where the likelihood has no finite maximum: a linear program finds b with x'b >= 0 for
        y = 1, x'b <= 0 for y = 0, x'b = 0 for fractions between, and not all x'b = 0.

    References
    ----------
    Konis K. Linear programming algorithms for detecting separated data in binary logistic regression
    models. DPhil thesis, University of Oxford 2007.
    https://ora.ox.ac.uk/objects/uuid:8f9ee0d0-d78e-4101-9ab4-f9cbceed2a2a
    """
    scaled = matrix / np.abs(matrix).max(axis=0)
    sign = np.where(response == 1, 1.0, -1.0)
    between = (response > 0) & (response < 1)
    outward = (scaled * sign[:, None])[~between]
    if not len(outward):
        return False
    program = optimize.linprog(
        -outward.sum(axis=0),
        A_ub=-outward,
        b_ub=np.zeros(len(outward)),
        A_eq=scaled[between] if between.any() else None,
        b_eq=np.zeros(int(between.sum())) if between.any() else None,
        bounds=(-1, 1),
    )
    return bool(program.status == 0 and -program.fun > 1e-6)
