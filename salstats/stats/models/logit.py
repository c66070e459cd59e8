"""The logit model by maximum (quasi-)likelihood, the kernel of the families `binomial` and `fractional`."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize, special

from salstats.stats.models.errors import OF_FIXED
from salstats.stats.models.family import Family, Link, NotEstimableError, Solution, decomposed

#: Pearson's dispersion, residual variance over mu (1 - mu), of a perfect fit: IRLS leaves 1e-12.
_PERFECT = 1e-20
_CONVERGED = 1e-12
_MAX_ITERATIONS = 100
_NEARLY_CERTAIN = 1e-8


def logit(
    matrix: np.ndarray,
    response: np.ndarray,
    intercept: bool,
    sampling: np.ndarray | None = None,
    *,
    quasi: bool = False,
) -> Solution:
    """A logit model of zeros and ones; NotEstimableError where it is separated or does not converge.

    With `quasi` of fractions, with Pearson's dispersion and no likelihood.
    """
    n, rank = matrix.shape
    each = np.ones(n) if sampling is None else sampling
    # columns of equal size, so that one tolerance means the same for each coefficient
    size = np.abs(matrix).max(axis=0)
    result = _iterated(matrix / size, response, each)
    coefficients = np.asarray(result.params) / size
    # expit, as statsmodels' own mean overflows where terms separate the outcome
    fitted = special.expit(matrix @ coefficients)
    converged = bool(result.converged and np.isfinite(fitted).all())
    extreme = fitted.min() < _NEARLY_CERTAIN or fitted.max() > 1 - _NEARLY_CERTAIN
    if (not converged or extreme) and separates(matrix, response):
        what = "the outcome is constant" if response.min() == response.max() else "terms separate it"
        raise NotEstimableError(f"the logit model has no finite estimates, {what}")
    if not converged:
        raise NotEstimableError(f"the logit model did not converge in {_MAX_ITERATIONS} iterations")
    weights = bernoulli_variance(fitted)
    _, _, bread, leverage = decomposed(matrix * np.sqrt(each * weights)[:, None])
    dispersion = result.pearson_chi2 / (n - rank) if quasi else 1.0
    # not statsmodels' null deviance, whose model always has an intercept
    null = np.full(n, np.average(response, weights=each) if intercept else 0.5)
    # a quasi-likelihood is none, and rows that stand for others have none
    has_likelihood = not quasi and sampling is None
    return Solution(
        coefficients=coefficients,
        matrix=matrix,
        response=response,
        fitted=fitted,
        weights=weights,
        bread=bread,
        scores=matrix * (each * (response - fitted))[:, None],
        leverage=leverage,
        dispersion=float(dispersion) if dispersion > _PERFECT else float("nan"),
        df_residual=float(n - rank),
        deviance=float(result.deviance),
        null_deviance=float(result.family.deviance(response, null, var_weights=each)),
        log_likelihood=float(result.llf) if has_likelihood else float("nan"),
        intercept=intercept,
        sampling=sampling,
    )


def _iterated(matrix: np.ndarray, response: np.ndarray, weights: np.ndarray) -> Any:
    """Iterate statsmodels' logit model until its coefficients stand still but for rounding."""
    # imported here, so that what fits no model starts without it
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # what they would say (separation, no convergence) is diagnosed from the result
        warnings.simplefilter("ignore")
        return GLM(response, matrix, family=Binomial(), var_weights=weights).fit(
            maxiter=_MAX_ITERATIONS, tol=_CONVERGED, rtol=_CONVERGED, tol_criterion="params"
        )


def separates(matrix: np.ndarray, response: np.ndarray) -> bool:
    """Whether some direction puts all ones on one side and all zeros on the other: no finite maximum.

    A linear program finds b with x'b >= 0 for y = 1, x'b <= 0 for y = 0, x'b = 0 for fractions between, and
    not all x'b = 0.

    Konis K. Linear programming algorithms for detecting separated data in binary logistic regression
    models. DPhil thesis, University of Oxford 2007.
    https://ora.ox.ac.uk/objects/uuid:8f9ee0d0-d78e-4101-9ab4-f9cbceed2a2a
    """
    scaled = matrix / np.abs(matrix).max(axis=0)
    sign = np.where(response == 1, 1.0, -1.0)
    between = (response > 0) & (response < 1)
    outward = (scaled * sign[:, None])[~between]
    return bool(len(outward)) and bool(receding(outward, scaled[between]).any())


def receding(outward: np.ndarray, level: np.ndarray | None = None) -> np.ndarray:
    """A direction b within ±1 with `outward` b >= 0, not all 0, and `level` b = 0; 0 where there is none."""
    held = None if level is None or not len(level) else level
    program = optimize.linprog(
        -outward.sum(axis=0),
        A_ub=-outward,
        b_ub=np.zeros(len(outward)),
        A_eq=held,
        b_eq=None if held is None else np.zeros(len(held)),
        bounds=(-1, 1),
    )
    found = program.status == 0 and -program.fun > 1e-6
    return np.asarray(program.x if found else np.zeros(outward.shape[1]))


def _not_binary(response: np.ndarray) -> str | None:
    """What is not 0 or 1."""
    bad = response[~np.isin(response, (0, 1))]
    if not len(bad):
        return None
    return f"needs an outcome of 0 and 1, not {bad[0]:g}; for scores in [0, 1] use family='fractional'"


def _no_fraction(response: np.ndarray) -> str | None:
    """What lies outside 0 to 1."""
    bad = response[(response < 0) | (response > 1)]
    return f"needs an outcome in [0, 1], not {bad[0]:g}" if len(bad) else None


def bernoulli_variance(mean: np.ndarray) -> np.ndarray:
    """Mu (1 - mu)."""
    return np.asarray(mean * (1 - mean))


LOGIT = Link(
    name="logit",
    mean=special.expit,
    slope=lambda predictor: bernoulli_variance(special.expit(predictor)),
    curve=lambda predictor: -bernoulli_variance(special.expit(predictor)) * np.tanh(predictor / 2),
    effect="Log odds ratio",
    ratio="Odds ratio",
)

BINOMIAL = Family(
    name="binomial",
    label="logistic",
    link=LOGIT,
    variance=bernoulli_variance,
    check=_not_binary,
    solve=logit,
    errors=OF_FIXED,
    normal=True,
    n_spread=0,
    correlated=True,
    weighted=True,
)

FRACTIONAL = Family(
    name="fractional",
    label="fractional logistic",
    link=LOGIT,
    variance=bernoulli_variance,
    check=_no_fraction,
    solve=partial(logit, quasi=True),
    errors=OF_FIXED,
    normal=False,
    n_spread=0,
    correlated=True,
    weighted=True,
)
