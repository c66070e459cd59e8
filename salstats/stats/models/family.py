"""Families of models: their records, the solution that a kernel returns, and fitting a model of a family."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from salstats.errors import Message, SalstatsError

#: A column is aliased (depends linearly on earlier ones) if its component orthogonal to these is shorter than
#: this share of its length, as in R's `lm`.
RANK_TOLERANCE = 1e-7


class NotEstimableError(SalstatsError):
    """A model has no estimates from these rows; the message says why."""


class MeanDerivatives(NamedTuple):
    """The mean of each row's outcome, and its derivatives by the k predictors of the row."""

    mean: np.ndarray  # (n,)
    gradient: np.ndarray  # (n, k), first derivatives
    hessian: np.ndarray  # (n, k, k), second derivatives


#: Function of predictors (n, k).
MeanFunction = Callable[[np.ndarray], MeanDerivatives]


@dataclass(frozen=True)
class Link:
    """Link function, by its inverse: the mean of the outcome as a function of the linear predictor."""

    #: Its name, such as `identity` or `logit`.
    name: str
    #: The mean at values of the linear predictor (the inverse link).
    mean: Callable[[np.ndarray], np.ndarray]
    #: First derivative of the mean by the linear predictor.
    first_derivative: Callable[[np.ndarray], np.ndarray]
    #: Second derivative of the mean by the linear predictor.
    second_derivative: Callable[[np.ndarray], np.ndarray]
    #: Name of a coefficient in tables and figures.
    effect: str
    #: Name of an exponentiated coefficient.
    ratio: str


class ModelInference(Protocol):
    """Standard errors and tests of models that do not use those of least squares, such as mixed models.

    `errors` is a kind of standard errors, `StandardErrorKind.name`.
    """

    @property
    def n_random_effect_parameters(self) -> int:
        """Number of likelihood parameters besides the coefficients and the residual variance."""

    def covariance(self, errors: str) -> np.ndarray:
        """Covariance (r, r) of the coefficients."""

    def df(self, errors: str, contrasts: np.ndarray) -> np.ndarray:
        """Degrees of freedom (q,) of linear combinations (q, r) of the coefficients."""

    def f_test(self, errors: str, contrasts: np.ndarray) -> tuple[float, int, float]:
        """F test that all contrasts are zero: F, its numerator and its denominator degrees of freedom."""


@dataclass(frozen=True)
class Solution:
    """A fitted model, as a family's kernel returns it."""

    #: (r,): Coefficients of the columns that can be estimated; with several linear predictors, those of one
    #: predictor after the other.
    coefficients: np.ndarray
    #: (n, columns): The model matrix of the columns that can be estimated.
    matrix: np.ndarray
    #: (n,): The outcome.
    response: np.ndarray
    #: (n,): The fitted mean.
    fitted: np.ndarray
    #: (n,): Diagonal of W, the weights of iteratively reweighted least squares; 1 in a linear model.
    weights: np.ndarray
    #: (p, p): The classical covariance of the parameters divided by the dispersion; (X'WX)^-1 if there are no
    #: parameters besides the coefficients.
    bread: np.ndarray
    #: (n, p): Contributions s_i of the rows to the estimating equations, x_i (y_i - mu_i) for least squares
    #: and the logit. The robust covariance is bread (sum of s_i s_i') bread.
    scores: np.ndarray
    #: (n,): Diagonal of the (weighted) hat matrix.
    leverage: np.ndarray
    #: Variance of the outcome divided by the family's variance function; NaN for a perfect fit.
    dispersion: float
    #: Rows minus parameters.
    df_residual: float
    #: Deviance as in R's glm, for a linear model the residual sum of squares; NaN for models without one.
    deviance: float
    #: Deviance of the model with an intercept alone, or without coefficients if there is no intercept.
    null_deviance: float
    #: NaN for models without a likelihood.
    log_likelihood: float
    #: True if the first column is the intercept.
    intercept: bool
    #: Estimates besides the coefficients by name, such as a precision.
    parameters: Mapping[str, float] = field(default_factory=dict)
    #: Rows (m, p) and errors (m,) of the least squares problem that the last step of Fisher's scoring solves,
    #: scaled to errors of variance 1, with m / n of them for each row of the model. None if they are
    #: sqrt(W) X and (y - mu) / sqrt(W).
    scoring_problem: tuple[np.ndarray, np.ndarray] | None = None
    #: Names of the linear predictors, "" for a single one.
    predictor_names: tuple[str, ...] = ("",)
    #: (p - r,): Parameters besides the coefficients, which they follow in `bread`, `scores` and
    #: `scoring_problem`.
    nuisance_parameters: np.ndarray = field(default_factory=lambda: np.empty(0))
    #: The mean as a function of all predictors, one for each of `predictor_names` and of
    #: `nuisance_parameters`; None for a single linear predictor, whose mean is given by the family's link.
    mean_function: MeanFunction | None = None
    #: (n,): Variance of each outcome; None if it is the dispersion times the family's variance function.
    variances: np.ndarray | None = None
    #: Standard errors and tests of a model to which those of least squares do not apply, else None.
    inference: ModelInference | None = None
    #: (n,): Number of cases that each row stands for, 1 on average, where rows were sampled with unequal
    #: probability; `bread`, `scores` and `leverage` take it into account.
    sampling: np.ndarray | None = None
    #: Positions of the columns in the full model matrix.
    column_positions: NDArray[np.integer] = field(default_factory=lambda: np.arange(0))

    @property
    def n_rows(self) -> int:
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
    """A family of models: its kernel, and the facts about it that checks, tables and texts use."""

    #: Its name as a value of `family=`.
    name: str
    #: Its name in a table, such as "linear" of linear regression.
    label: str
    link: Link
    #: Function that returns the variance of an outcome with some mean, divided by the dispersion.
    variance: Callable[[np.ndarray], np.ndarray]
    #: Function of the outcome and the family's name that raises ValueRangeError for impossible outcomes.
    check_outcome: Callable[[np.ndarray, str], None]
    #: Kernel: a function of a model matrix of full rank, the outcome, and a flag that is true if the first
    #: column is an intercept.
    solve: Callable[..., Solution]
    #: Values of `errors=` that it supports; the first is recommended.
    errors: tuple[str, ...]
    #: True if tests with classical or hc errors use the normal distribution instead of Student's t.
    uses_normal: bool
    #: Number of dispersion parameters, which AIC counts besides the coefficients.
    n_dispersion_parameters: int
    #: True if `correlation=` (GEE) is supported: the mean determines the variance up to the dispersion.
    correlated: bool = False
    #: True if the kernel supports `sampling`, weights of the rows.
    weighted: bool = False

    @property
    def is_linear(self) -> bool:
        """True where the mean is the linear predictor itself."""
        return self.link.name == "identity"


class QrAndLeverage(NamedTuple):
    """QR decomposition of a matrix X, and what follows from it."""

    q: np.ndarray  # (n, k)
    r: np.ndarray  # (k, k)
    gram_inverse: np.ndarray  # (k, k), (X'X)^-1
    leverage: np.ndarray  # (n,), diagonal of the hat matrix


def qr_and_leverage(matrix: np.ndarray) -> QrAndLeverage:
    """Return Q and R of the QR decomposition of X, (X'X)^-1, and the leverages (n,)."""
    q, r = np.linalg.qr(matrix)
    r_inverse = np.linalg.solve(r, np.eye(len(r)))
    gram_inverse = r_inverse @ r_inverse.T
    leverage = (q**2).sum(axis=1)
    return QrAndLeverage(q, r, gram_inverse, leverage)


def fit_model(
    matrix: np.ndarray, response: np.ndarray, names: Sequence[str], family: Family, *, has_intercept: bool
) -> Solution:
    """Fit a model of a family, without columns that depend on earlier ones (R gives them NA).

    `names` are those of the columns of `matrix`.
    """
    n_rows, n_columns = matrix.shape
    if n_rows == 0:
        raise NotEstimableError("no complete rows", value=0)
    estimable = estimable_column_positions(matrix)
    if len(estimable) == 0:
        raise NotEstimableError("no column of the model matrix differs from 0", value=n_rows, column="term")
    if n_rows <= len(estimable):
        rows = "row" if n_rows == 1 else "rows"
        coefficients = "coefficient" if n_columns == 1 else "coefficients"
        raise NotEstimableError(f"{n_rows} complete {rows} for {n_columns} {coefficients}", value=n_rows)
    try:
        solution = family.solve(matrix[:, estimable], response, has_intercept)
    except NotEstimableError as error:
        terms = Message.joined([names[i] for i in estimable], ", ")
        raise NotEstimableError(error.message, " (", terms, ")", option=error.option) from None
    return replace(solution, column_positions=estimable)


def estimable_column_positions(matrix: np.ndarray) -> NDArray[np.integer]:
    """Return the int64 positions of the columns that do not depend linearly on earlier ones."""
    positions = list(range(matrix.shape[1]))
    lengths = np.sqrt((matrix**2).sum(axis=0))
    while positions:
        # |r_jj| of the QR decomposition is the length of column j's component orthogonal to earlier columns.
        r = np.linalg.qr(matrix[:, positions], mode="r")
        orthogonal_lengths = np.zeros(len(positions))
        orthogonal_lengths[: len(r)] = np.abs(np.diag(r))
        dependent = np.flatnonzero(orthogonal_lengths <= RANK_TOLERANCE * lengths[positions])
        if len(dependent) == 0:
            break
        # Beyond the first dependent column the diagonal is relative to that column's orthogonal component,
        # which is rounding error, so that only the first is certain.
        del positions[int(dependent[0])]
    return np.asarray(positions, dtype=np.int64)
