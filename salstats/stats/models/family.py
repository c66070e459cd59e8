"""What a family of models is: a record beside its kernel, what a kernel gives, and how it is asked for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from salstats.checks import SalstatsError

#: A column is aliased where what the earlier ones leave of it is smaller than this share: R's `lm`.
RANK_TOLERANCE = 1e-7


class NotEstimableError(SalstatsError):
    """A model has no estimates from these rows; the message says why."""


Surface = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Link:
    """How the mean hangs on the linear predictor."""

    #: `identity` or `logit`.
    name: str
    #: The mean at values of the linear predictor.
    mean: Callable[[np.ndarray], np.ndarray]
    #: Its derivative there.
    slope: Callable[[np.ndarray], np.ndarray]
    #: Its second derivative there.
    curve: Callable[[np.ndarray], np.ndarray]
    #: What a coefficient is called in tables and figures, and what an exponentiated one is.
    effect: str
    ratio: str


class Inference(Protocol):
    """Errors and tests of a model that brings its own, by their names."""

    @property
    def n_variances(self) -> int:
        """Parameters of the likelihood beside coefficients and the residuals' variance."""

    def covariance(self, errors: str) -> np.ndarray:
        """The covariance of the coefficients."""

    def df(self, errors: str, contrasts: np.ndarray) -> np.ndarray:
        """Degrees of freedom of combinations (q, r) of the coefficients."""

    def joint(self, errors: str, contrasts: np.ndarray) -> tuple[float, int, float]:
        """F test that all combinations are zero: F and its two degrees of freedom."""


@dataclass(frozen=True)
class Solution:
    """A fitted model, as a family's kernel gives it."""

    #: (r,): Of the columns that can be estimated, in each part.
    coefficients: np.ndarray
    #: (n, columns): The model matrix of those columns.
    matrix: np.ndarray
    #: (n,): Outcome and fitted mean.
    response: np.ndarray
    fitted: np.ndarray
    #: (n,): W: 1, or what stands for it in a model that is fitted by weights.
    weights: np.ndarray
    #: (r, r): The classical covariance over the dispersion: the inverse of X'WX, if nothing else is
    #: estimated.
    bread: np.ndarray
    #: (n, r): What each row adds to the equations that the coefficients solve, such that bread times their
    #: sum of squares is the robust covariance: X (y - mu) for least squares and the logit.
    scores: np.ndarray
    #: (n,): Diagonal of the (weighted) hat matrix.
    leverage: np.ndarray
    #: Variance of the outcome over the family's variance function; NaN for a perfect fit.
    dispersion: float
    #: Rows minus parameters.
    df_residual: float
    #: As in R's glm (a linear model's deviance is its residual sum of squares); NaN where there is none.
    deviance: float
    null_deviance: float
    log_likelihood: float
    #: Whether the first column is one.
    intercept: bool
    #: What is estimated beside the coefficients, such as a precision.
    parameters: Mapping[str, float] = field(default_factory=dict)
    #: Rows and errors of the least squares that a last step of scoring solves, the errors' variance being 1
    #: by the model: (m, p) and (m,), m / n for each row, parameters behind the coefficients. None where they
    #: are X and y - mu times and over the root of W.
    step: tuple[np.ndarray, np.ndarray] | None = None
    #: Of a model with several linear predictors: the names of those that are made of the columns, whose
    #: coefficients stand one after the other; (p - r,) the parameters behind them in `bread`, `scores` and
    #: `step`; the mean at predictors (m, k), one for each part and for each other parameter, with its first
    #: and second derivatives; and (n,) the variance of each outcome.
    parts: tuple[str, ...] = ("",)
    others: np.ndarray = field(default_factory=lambda: np.empty(0))
    surface: Surface | None = None
    variances: np.ndarray | None = None
    #: What infers, of a model whose errors are none of least squares.
    inference: Inference | None = None
    #: (n,): How many cases each row stands for, 1 on average, where rows were taken with unequal probability;
    #: bread, scores and leverage know it.
    sampling: np.ndarray | None = None
    #: Where the columns stand in the whole model matrix.
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
    """A family of models; all that is said or checked of one is read from its record."""

    #: What `family=` calls it.
    name: str
    #: What a table calls a regression of it, such as "linear".
    label: str
    #: How its mean hangs on the linear predictor.
    link: Link
    #: Variance of an outcome at a mean, over the dispersion.
    variance: Callable[[np.ndarray], np.ndarray]
    #: What is wrong with an outcome, None where nothing is.
    check: Callable[[np.ndarray], str | None]
    #: The kernel: model matrix of full rank, outcome, and whether the first column is an intercept.
    solve: Callable[..., Solution]
    #: The `errors=` that it has; the first is recommended.
    errors: tuple[str, ...]
    #: Whether classical and heteroscedastic errors go with the normal distribution instead of Student's t.
    normal: bool
    #: Parameters that AIC counts beside the coefficients.
    n_spread: int
    #: Whether rows may have a working correlation: the mean alone is modelled, its variance follows.
    correlated: bool = False
    #: Whether the kernel takes `sampling`.
    weighted: bool = False

    @property
    def linear(self) -> bool:
        """Whether the mean is the linear predictor itself."""
        return self.link.name == "identity"


def decomposed(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Q, R, (X'X)^-1 and the leverages."""
    q, r = np.linalg.qr(matrix)
    inverse = np.linalg.solve(r, np.eye(len(r)))
    return q, r, inverse @ inverse.T, (q**2).sum(axis=1)


def fit_model(
    matrix: np.ndarray, response: np.ndarray, names: Sequence[str], family: Family, *, intercept: bool
) -> Solution:
    """A model of one family; columns that depend on earlier ones are left out (R gives them NA)."""
    n, k = matrix.shape
    if n == 0:
        raise NotEstimableError("no complete rows")
    kept = estimable_columns(matrix)
    if n <= len(kept) or not len(kept):
        raise NotEstimableError(f"{n} complete row{'s' * (n != 1)} for {k} coefficient{'s' * (k != 1)}")
    try:
        solution = family.solve(matrix[:, kept], response, intercept)
    except NotEstimableError as error:
        raise NotEstimableError(f"{error} ({', '.join(names[i] for i in kept)})") from None
    return replace(solution, kept=kept)


def estimable_columns(matrix: np.ndarray) -> np.ndarray:
    """The positions of the columns that do not depend linearly on earlier ones."""
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
