"""What models of scores from 0 to 1 share: the beta distribution between the ends."""

from collections.abc import Callable

import numpy as np
from scipy import special

from salstats.stats.models.family import NotEstimableError, Solution, Surface
from salstats.stats.models.logit import bernoulli_variance
from salstats.stats.models.predictors import Maximum, Told

#: (P(0), P(1), mean in between) of each score.
Shares = tuple[np.ndarray, np.ndarray, np.ndarray]


def between(response: np.ndarray, label: str) -> np.ndarray:
    """Which scores lie strictly between 0 and 1; NotEstimableError where these say nothing of a precision."""
    inside = np.asarray((response > 0) & (response < 1))
    found = response[inside]
    if not len(found):
        raise NotEstimableError(f"the {label} model needs scores strictly between 0 and 1, all are 0 or 1")
    if found.min() == found.max():
        what = "scores strictly between 0 and 1 are constant"
        raise NotEstimableError(f"the {label} model has no finite precision, {what}")
    return inside


def beta_told(
    response: np.ndarray, inside: np.ndarray, predictor: np.ndarray, log_precision: np.ndarray
) -> Told:
    """What scores in between tell of the logit of their mean and of the log of their precision.

    The slopes are 0 for the others; the information is that of a score which lies in between.
    """
    mean, precision = special.expit(predictor), np.exp(log_precision)
    a, b = mean * precision, (1 - mean) * precision
    y = np.where(inside, response, 0.5)
    each = special.xlogy(a - 1, y) + special.xlog1py(b - 1, -y) - special.betaln(a, b)
    apart = special.logit(y) - special.digamma(a) + special.digamma(b)
    of_precision = mean * apart + np.log1p(-y) - special.digamma(b) + special.digamma(precision)
    steep, first, second = bernoulli_variance(mean), special.polygamma(1, a), special.polygamma(1, b)
    slopes = precision[:, None] * np.column_stack([steep * apart, of_precision]) * inside[:, None]
    information = np.empty((len(y), 2, 2))
    information[:, 0, 0] = steep**2 * (first + second)
    information[:, 0, 1] = information[:, 1, 0] = steep * (mean * first - (1 - mean) * second)
    of_both = mean**2 * first + (1 - mean) ** 2 * second - special.polygamma(1, precision)
    information[:, 1, 1] = np.maximum(of_both, 0)
    return Told(float(each[inside].sum()), slopes, (precision**2)[:, None, None] * information)


def start_of_beta(matrix: np.ndarray, response: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, float]:
    """Coefficients and log precision near those of the scores in between."""
    logits = special.logit(response[inside])
    coefficients = np.linalg.lstsq(matrix[inside], logits, rcond=None)[0]
    fitted = special.expit(matrix[inside] @ coefficients)
    spread = ((response[inside] - fitted) ** 2).mean() / bernoulli_variance(fitted).mean()
    return coefficients, float(np.log(np.clip(1 / spread - 1, 0.1, 1e4)))


def filled(surface: Surface, present: list[int], absent: np.ndarray) -> Surface:
    """The mean at those predictors that are there, the others being held at `absent`."""

    def at(predictors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        mean, slopes, curves = surface(fill(predictors, present, absent))
        return mean, slopes[:, present], curves[:, present][:, :, present]

    return at


def fill(predictors: np.ndarray, present: list[int], absent: np.ndarray) -> np.ndarray:
    """All predictors from those that are there."""
    whole = np.tile(absent, (len(predictors), 1))
    whole[:, present] = predictors
    return whole


def solved(
    found: Maximum,
    matrix: np.ndarray,
    response: np.ndarray,
    intercept: bool,
    parts: tuple[str, ...],
    surface: Surface,
    shares: Callable[[np.ndarray], Shares],
    parameters: dict[str, float],
) -> Solution:
    """A maximum as a Solution; `shares` are P(0), P(1) and the mean in between at predictors."""
    n, rank = len(parts) * matrix.shape[1], matrix.shape[1]
    coefficients, others = found.parameters[:n], found.parameters[n:]
    alike = np.tile(others, (len(response), 1))
    predictors = np.column_stack([matrix @ coefficients.reshape(len(parts), rank).T, alike])
    fitted, slopes, _ = surface(predictors)
    zero, one, mean = shares(predictors)
    squared = mean**2 + bernoulli_variance(mean) / (1 + np.exp(others[-1]))
    variances = (1 - zero - one) * squared + one - fitted**2
    of_parts = (slopes[:, : len(parts), None] * matrix[:, None, :]).reshape(len(response), -1)
    gradient = np.column_stack([of_parts, slopes[:, len(parts) :]])
    return Solution(
        coefficients=coefficients,
        matrix=matrix,
        response=response,
        fitted=fitted,
        weights=np.ones(len(response)),
        bread=found.bread,
        scores=found.scores,
        leverage=np.einsum("ij,jk,ik->i", gradient, found.bread, gradient) / variances,
        dispersion=1.0,
        df_residual=float(len(response) - len(found.parameters)),
        deviance=float("nan"),
        null_deviance=float("nan"),
        log_likelihood=found.likelihood,
        intercept=intercept,
        parameters=parameters,
        step=found.step,
        parts=parts,
        others=others,
        surface=surface,
        variances=variances,
    )
