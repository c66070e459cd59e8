"""What a family of models is: a record beside its kernel, and what a kernel gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from salstats.checks import SalstatsError


class NotEstimableError(SalstatsError):
    """A model has no estimates from these rows; the message says why."""


@dataclass(frozen=True)
class Link:
    """How the mean hangs on the linear predictor.

    Attributes
    ----------
    name : str
        `identity` or `logit`.
    mean : callable
        The mean at values of the linear predictor.
    slope : callable
        Its derivative there.
    curve : callable
        Its second derivative there.
    effect, ratio : str
        What a coefficient is called in tables and figures, and what an exponentiated one is.
    """

    name: str
    mean: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    curve: Callable[[np.ndarray], np.ndarray]
    effect: str
    ratio: str


@dataclass(frozen=True)
class Solution:
    """A fitted model, as a family's kernel gives it.

    Attributes
    ----------
    coefficients : ndarray of float, shape (r,)
        Of the columns that can be estimated.
    matrix : ndarray of float, shape (n, r)
        The model matrix of those columns.
    response, fitted : ndarray of float, shape (n,)
        Outcome and fitted mean.
    weights : ndarray of float, shape (n,)
        W: 1, or what stands for it in a model that is fitted by weights.
    bread : ndarray of float, shape (r, r)
        The classical covariance over the dispersion: the inverse of X'WX, if nothing else is estimated.
    scores : ndarray of float, shape (n, r)
        What each row adds to the equations that the coefficients solve, such that bread times their sum of
        squares is the robust covariance: X (y - mu) for least squares and the logit.
    leverage : ndarray of float, shape (n,)
        Diagonal of the (weighted) hat matrix.
    dispersion : float
        Variance of the outcome over the family's variance function; NaN for a perfect fit.
    df_residual : float
        Rows minus parameters.
    deviance, null_deviance, log_likelihood : float
        As in R's glm (a linear model's deviance is its residual sum of squares); NaN where there is none.
    intercept : bool
        Whether the first column is one.
    parameters : mapping of str to float
        What is estimated beside the coefficients, such as a precision.
    kept : ndarray of int, shape (r,)
        Where the columns stand in the whole model matrix.
    """

    coefficients: np.ndarray
    matrix: np.ndarray
    response: np.ndarray
    fitted: np.ndarray
    weights: np.ndarray
    bread: np.ndarray
    scores: np.ndarray
    leverage: np.ndarray
    dispersion: float
    df_residual: float
    deviance: float
    null_deviance: float
    log_likelihood: float
    intercept: bool
    parameters: Mapping[str, float] = field(default_factory=dict)
    kept: np.ndarray = field(default_factory=lambda: np.arange(0))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.response)

    @property
    def rank(self) -> int:
        """Number of coefficients that are estimated."""
        return len(self.coefficients)

    @property
    def residual(self) -> np.ndarray:
        """Outcome minus fitted mean, shape (n,)."""
        return np.asarray(self.response - self.fitted)


@dataclass(frozen=True)
class Family:
    """A family of models; all that is said or checked of one is read from its record.

    Attributes
    ----------
    name : str
        What `family=` calls it.
    label : str
        What a table calls a regression of it, such as "linear".
    link : Link
        How its mean hangs on the linear predictor.
    variance : callable
        Variance of an outcome at a mean, over the dispersion.
    check : callable
        What is wrong with an outcome, None where nothing is.
    solve : callable
        The kernel: model matrix of full rank, outcome, and whether the first column is an intercept.
    errors : tuple of str
        The `errors=` that it has; the first stands for None.
    normal : bool
        Whether classical and heteroscedastic errors go with the normal distribution instead of Student's t.
    n_spread : int
        Parameters that AIC counts beside the coefficients.
    """

    name: str
    label: str
    link: Link
    variance: Callable[[np.ndarray], np.ndarray]
    check: Callable[[np.ndarray], str | None]
    solve: Callable[[np.ndarray, np.ndarray, bool], Solution]
    errors: tuple[str, ...]
    normal: bool
    n_spread: int

    @property
    def linear(self) -> bool:
        """Whether the mean is the linear predictor itself."""
        return self.link.name == "identity"


def decomposed(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Q, R, (X'X)^-1 and the leverages."""
    q, r = np.linalg.qr(matrix)
    inverse = np.linalg.solve(r, np.eye(len(r)))
    return q, r, inverse @ inverse.T, (q**2).sum(axis=1)
