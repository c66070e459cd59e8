"""The logit model by maximum (quasi-)likelihood, the kernel of the families `binomial` and `fractional`."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize, special

from salstats.errors import Message, Setting, ValueRangeError
from salstats.stats.models.error_kinds import FIXED_EFFECTS_ERRORS
from salstats.stats.models.family import Family, Link, NotEstimableError, Solution, qr_and_leverage

#: Pearson's dispersion (residual variance over mu (1 - mu)) up to which a fit is perfect but for rounding.
_PERFECT = 1e-20
#: Change of the coefficients at which iterations stop.
_CONVERGED = 1e-12
_MAX_ITERATIONS = 100
#: Fitted probability, or its complement, below which terms may separate the outcome.
_NEARLY_CERTAIN = 1e-8


def logit(
    matrix: np.ndarray,
    response: np.ndarray,
    has_intercept: bool,
    sampling: np.ndarray | None = None,
    *,
    quasi: bool = False,
) -> Solution:
    """Fit a logit model of zeros and ones by maximum likelihood.

    NotEstimableError is raised if terms separate the outcome or the iterations do not converge. With `quasi`
    the outcome is a fraction, with Pearson's dispersion and no likelihood. `sampling` are weights (n,) of the
    rows.
    """
    n_rows, rank = matrix.shape
    row_weights = np.ones(n_rows) if sampling is None else sampling
    # Columns of equal size, so that one tolerance applies to all coefficients
    column_sizes = np.abs(matrix).max(axis=0)
    result = _statsmodels_logit_result(matrix / column_sizes, response, row_weights)
    coefficients = np.asarray(result.params) / column_sizes
    # scipy's expit, since statsmodels' mean overflows if terms separate the outcome
    fitted = special.expit(matrix @ coefficients)
    converged = bool(result.converged and np.isfinite(fitted).all())
    nearly_certain = fitted.min() < _NEARLY_CERTAIN or fitted.max() > 1 - _NEARLY_CERTAIN
    # Only these fits can be separated, and the linear program is slow.
    if (not converged or nearly_certain) and terms_separate_outcomes(matrix, response):
        problem = "the logit model has no finite estimates"
        if response.min() == response.max():
            raise NotEstimableError(f"{problem}, the outcome is constant", value=float(response[0]))
        raise NotEstimableError(f"{problem}, terms separate it", column="term")
    if not converged:
        raise NotEstimableError(
            f"the logit model did not converge in {_MAX_ITERATIONS} iterations", value=_MAX_ITERATIONS
        )
    weights = bernoulli_variance(fitted)
    weighted_qr = qr_and_leverage(matrix * np.sqrt(row_weights * weights)[:, None])
    dispersion = 1.0
    if quasi:
        dispersion = float(result.pearson_chi2 / (n_rows - rank))
        if not dispersion > _PERFECT:
            dispersion = float("nan")
    # A quasi-likelihood is not a likelihood, and rows that stand for others have none.
    log_likelihood = float("nan")
    if not quasi and sampling is None:
        log_likelihood = float(result.llf)
    # Not statsmodels' null deviance, whose model always has an intercept
    null_mean = np.average(response, weights=row_weights) if has_intercept else 0.5
    null_fitted = np.full(n_rows, null_mean)
    null_deviance = result.family.deviance(response, null_fitted, var_weights=row_weights)
    return Solution(
        coefficients=coefficients,
        matrix=matrix,
        response=response,
        fitted=fitted,
        weights=weights,
        bread=weighted_qr.gram_inverse,
        scores=matrix * (row_weights * (response - fitted))[:, None],
        leverage=weighted_qr.leverage,
        dispersion=dispersion,
        df_residual=float(n_rows - rank),
        deviance=float(result.deviance),
        null_deviance=float(null_deviance),
        log_likelihood=log_likelihood,
        intercept=has_intercept,
        sampling=sampling,
    )


def _statsmodels_logit_result(matrix: np.ndarray, response: np.ndarray, weights: np.ndarray) -> Any:
    """Return the result of statsmodels' logit model, iterated until coefficients change by rounding only."""
    # Imported here, since it is slow to import and only models need it
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # statsmodels warns of separation and of no convergence; `logit` checks the result for both.
        warnings.simplefilter("ignore")
        return GLM(response, matrix, family=Binomial(), var_weights=weights).fit(
            maxiter=_MAX_ITERATIONS, tol=_CONVERGED, rtol=_CONVERGED, tol_criterion="params"
        )


def terms_separate_outcomes(matrix: np.ndarray, response: np.ndarray) -> bool:
    """Return True if terms separate zeros and ones, so that the likelihood has no finite maximum.

    A linear program finds b with x'b >= 0 for y = 1, x'b <= 0 for y = 0, x'b = 0 for fractions between, and
    not all x'b = 0.

    Konis K. Linear programming algorithms for detecting separated data in binary logistic regression
    models. DPhil thesis, University of Oxford 2007.
    https://ora.ox.ac.uk/objects/uuid:8f9ee0d0-d78e-4101-9ab4-f9cbceed2a2a
    """
    is_fraction = (response > 0) & (response < 1)
    if is_fraction.all():
        return False
    scaled = matrix / np.abs(matrix).max(axis=0)
    sign = np.where(response == 1, 1.0, -1.0)
    signed_rows = (scaled * sign[:, None])[~is_fraction]
    return bool(recession_direction(signed_rows, scaled[is_fraction]).any())


def recession_direction(nonnegative_rows: np.ndarray, zero_rows: np.ndarray | None = None) -> np.ndarray:
    """Return a direction of recession b (r,), along which the log-likelihood never falls; 0 if there is none.

    x'b >= 0, and not always 0, for the rows x of `nonnegative_rows` (m, r), and x'b = 0 for those of
    `zero_rows`. The entries of b lie between -1 and 1.
    """
    equalities = None
    zeros = None
    if zero_rows is not None and len(zero_rows) > 0:
        equalities = zero_rows
        zeros = np.zeros(len(zero_rows))
    program = optimize.linprog(
        -nonnegative_rows.sum(axis=0),
        A_ub=-nonnegative_rows,
        b_ub=np.zeros(len(nonnegative_rows)),
        A_eq=equalities,
        b_eq=zeros,
        bounds=(-1, 1),
    )
    # The program maximises the sum of x'b, which is 0 if b = 0 is the only solution.
    if program.status == 0 and program.fun is not None and -program.fun > 1e-6:
        return np.asarray(program.x)
    return np.zeros(nonnegative_rows.shape[1])


def _check_binary(response: np.ndarray, family: str) -> None:
    """Raise ValueRangeError for an outcome with values other than 0 and 1."""
    invalid = response[~np.isin(response, (0, 1))]
    if len(invalid):
        raise ValueRangeError(
            Setting("family", family),
            " needs an outcome of 0 and 1, not ",
            f"{invalid[0]:g}",
            hint=Message("for scores in [0, 1] use ", Setting("family", "fractional")),
        )


def check_fractions(response: np.ndarray, family: str) -> None:
    """Raise ValueRangeError for an outcome with values outside [0, 1]."""
    invalid = response[(response < 0) | (response > 1)]
    if len(invalid):
        raise ValueRangeError(
            Setting("family", family), " needs an outcome in [0, 1], not ", f"{invalid[0]:g}"
        )


def bernoulli_variance(mean: np.ndarray) -> np.ndarray:
    """Variance mu (1 - mu) of zeros and ones with mean mu; also the derivative of mu by its logit."""
    return np.asarray(mean * (1 - mean))


LOGIT = Link(
    name="logit",
    mean=special.expit,
    first_derivative=lambda predictor: bernoulli_variance(special.expit(predictor)),
    # mu (1 - mu) (1 - 2 mu), where 2 mu - 1 = tanh(eta / 2)
    second_derivative=lambda predictor: (
        -bernoulli_variance(special.expit(predictor)) * np.tanh(predictor / 2)
    ),
    effect="Log odds ratio",
    ratio="Odds ratio",
)

BINOMIAL = Family(
    name="binomial",
    label="logistic",
    link=LOGIT,
    variance=bernoulli_variance,
    check_outcome=_check_binary,
    solve=logit,
    errors=FIXED_EFFECTS_ERRORS,
    uses_normal=True,
    n_dispersion_parameters=0,
    correlated=True,
    weighted=True,
)

FRACTIONAL = Family(
    name="fractional",
    label="fractional logistic",
    link=LOGIT,
    variance=bernoulli_variance,
    check_outcome=check_fractions,
    solve=partial(logit, quasi=True),
    errors=FIXED_EFFECTS_ERRORS,
    uses_normal=False,
    n_dispersion_parameters=0,
    correlated=True,
    weighted=True,
)
