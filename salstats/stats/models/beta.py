"""Beta regression with a constant precision, the kernel of the family `beta`."""

import numpy as np
from scipy import special

from salstats.stats.models.errors import OF_FIXED
from salstats.stats.models.family import Family, NotEstimableError, Solution, decomposed
from salstats.stats.models.logit import LOGIT, bernoulli_variance

_CONVERGED = 1e-11
_MAX_ITERATIONS = 200


def beta_regression(matrix: np.ndarray, response: np.ndarray, intercept: bool) -> Solution:
    """A model of scores strictly between 0 and 1 by maximum likelihood, with one precision for all.

    y has the beta distribution of mean mu, logit mu = x'b, and variance mu (1 - mu) / (1 + phi). Fisher's
    scoring finds b and log phi together. The covariance is the inverse of the expected information, as in
    R's betareg (statsmodels' BetaModel takes the observed one). Scores are b's when phi follows it: what
    b and phi share is taken out of both.

    References
    ----------
    Ferrari SLP, Cribari-Neto F. Beta regression for modelling rates and proportions. J Appl Stat
    2004;31:799-815. https://doi.org/10.1080/0266476042000214501
    """
    n, rank = matrix.shape
    if response.min() == response.max():
        raise NotEstimableError("the beta model has no finite precision, the outcome is constant")
    logits = special.logit(response)
    coefficients = np.linalg.lstsq(matrix, logits, rcond=None)[0]
    variance = bernoulli_variance(special.expit(matrix @ coefficients))
    squares = ((logits - matrix @ coefficients) ** 2).sum() / (n - rank)
    precision = max(float((1 / (variance * squares)).mean()) - 1, 0.1)
    likelihood, step, size = -np.inf, np.zeros(rank + 1), 1.0
    for _ in range(_MAX_ITERATIONS):
        tried = coefficients + size * step[:-1], precision * np.exp(size * step[-1])
        reached = _log_likelihood(response, special.expit(matrix @ tried[0]), tried[1])
        # near the top rounding may take a little of what a step gains
        if not reached >= likelihood - 1e-10 * abs(likelihood):
            size /= 2
            continue
        (coefficients, precision), likelihood = tried, reached
        rows, errors = _step(matrix, logits, response, coefficients, precision)
        information = rows.T @ rows
        step, size = np.linalg.solve(information, rows.T @ errors), 1.0
        if np.abs(step).max() <= _CONVERGED * max(1.0, np.abs(coefficients).max()):
            break
    else:
        raise NotEstimableError(f"the beta model did not converge in {_MAX_ITERATIONS} iterations")
    fitted = special.expit(matrix @ coefficients)
    dispersion = 1 / (1 + precision)
    shared = information[:-1, -1] / information[-1, -1]
    bread = np.linalg.inv(information[:-1, :-1] - np.outer(shared, information[:-1, -1]))
    weights = dispersion * _weights(fitted, precision)
    scores = (rows * errors[:, None]).reshape(n, 2, -1).sum(axis=1)
    return Solution(
        coefficients=coefficients,
        matrix=matrix,
        response=response,
        fitted=fitted,
        weights=weights,
        bread=bread / dispersion,
        scores=dispersion * (scores[:, :-1] - np.outer(scores[:, -1], shared)),
        leverage=decomposed(matrix * np.sqrt(weights)[:, None])[3],
        dispersion=dispersion,
        df_residual=float(n - rank - 1),
        deviance=float("nan"),
        null_deviance=float("nan"),
        log_likelihood=likelihood,
        intercept=intercept,
        parameters={"precision": precision},
        step=(rows, errors),
    )


def _log_likelihood(response: np.ndarray, mean: np.ndarray, precision: float) -> float:
    """The log-likelihood."""
    a, b = mean * precision, (1 - mean) * precision
    each = special.xlogy(a - 1, response) + special.xlog1py(b - 1, -response) - special.betaln(a, b)
    return float(each.sum())


def _weights(mean: np.ndarray, precision: float) -> np.ndarray:
    """What each row tells of its linear predictor."""
    curvature = special.polygamma(1, mean * precision) + special.polygamma(1, (1 - mean) * precision)
    return np.asarray((precision * bernoulli_variance(mean)) ** 2 * curvature)


def _step(
    matrix: np.ndarray,
    logits: np.ndarray,
    response: np.ndarray,
    coefficients: np.ndarray,
    precision: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The least squares of a step of scoring, two rows for each score: (2 n, r + 1) and (2 n,).

    What a score tells of its linear predictor and of log phi, the derivatives d of its log-likelihood, has
    the covariance LL' (Cholesky). Its rows are L'[x 0; 0 1], its errors L^-1 d.
    """
    mean = special.expit(matrix @ coefficients)
    a, b = mean * precision, (1 - mean) * precision
    first, second = special.polygamma(1, a), special.polygamma(1, b)
    apart = logits - special.digamma(a) + special.digamma(b)
    of_precision = precision * (
        mean * apart + np.log1p(-response) - special.digamma(b) + special.digamma(precision)
    )
    both = first + second
    root = precision * bernoulli_variance(mean) * np.sqrt(both)
    shared = precision * (first * mean - second * (1 - mean)) / np.sqrt(both)
    # not negative but for rounding: what is left of the variance of the second derivative
    left = precision * np.sqrt(np.maximum(first / both * second - special.polygamma(1, precision), 0))
    rows = np.zeros((len(response), 2, matrix.shape[1] + 1))
    rows[:, 0, :-1], rows[:, 0, -1], rows[:, 1, -1] = matrix * root[:, None], shared, left
    first_error = apart / np.sqrt(both)
    second_error = np.divide(
        of_precision - shared * first_error, left, where=left > 0, out=np.zeros_like(left)
    )
    errors = np.column_stack([first_error, second_error])
    return rows.reshape(2 * len(response), -1), errors.ravel()


def _not_between(response: np.ndarray) -> str | None:
    """What is not strictly between 0 and 1."""
    bad = response[(response <= 0) | (response >= 1)]
    if not len(bad):
        return None
    return (
        f"needs an outcome strictly between 0 and 1, not {bad[0]:g}; family='ordered-beta' and "
        "family='fractional' take exact 0 and 1"
    )


BETA = Family(
    name="beta",
    label="beta",
    link=LOGIT,
    variance=bernoulli_variance,
    check=_not_between,
    solve=beta_regression,
    errors=tuple(kind for kind in OF_FIXED if kind not in ("hc2", "hc3")),
    normal=True,
    n_spread=1,
)
