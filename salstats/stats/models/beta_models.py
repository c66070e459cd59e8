"""Steps that the beta, ordered beta and zero-one-inflated beta models share."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from salstats.stats.models.family import MeanDerivatives, MeanFunction, NotEstimableError, Solution
from salstats.stats.models.fisher_scoring import Maximum, SummedLikelihood
from salstats.stats.models.logit import bernoulli_variance

#: Columns of the predictors of a beta distribution.
_LOGIT_MEAN = 0
_LOG_PRECISION = 1


class BoundaryProbabilitiesAndInteriorMean(NamedTuple):
    """Distribution of scores from 0 to 1: P(0), P(1), and the mean of the scores in between."""

    #: (n,): P(y = 0).
    zero: np.ndarray
    #: (n,): P(y = 1).
    one: np.ndarray
    #: (n,): E(y | 0 < y < 1).
    interior_mean: np.ndarray


def varying_interior_mask(response: np.ndarray, model_label: str) -> NDArray[np.bool_]:
    """Mask (n,) of the scores strictly between 0 and 1.

    NotEstimableError is raised if there are none or all are equal, which determines no precision.
    """
    interior = np.asarray((response > 0) & (response < 1))
    scores = response[interior]
    if not len(scores):
        raise NotEstimableError(
            f"the {model_label} model needs scores strictly between 0 and 1, all are 0 or 1"
        )
    if scores.min() == scores.max():
        raise NotEstimableError(
            f"the {model_label} model has no finite precision, scores strictly between 0 and 1 are constant",
            value=float(scores[0]),
        )
    return interior


def beta_log_likelihood_with_expected_information(
    response: np.ndarray, interior: NDArray[np.bool_], logit_mean: np.ndarray, log_precision: np.ndarray
) -> SummedLikelihood:
    """Return the log-likelihood of the interior scores, with derivatives and information by two predictors.

    The predictors (n,) are logit(mu) and log(phi): an interior score has the beta distribution with mean mu
    and precision phi, a = mu phi and b = (1 - mu) phi. Derivatives are 0 for scores of 0 or 1. The
    information is the expected one of an interior score, in every row.

    In the notation of Ferrari and Cribari-Neto (2004), y* = logit(y) and mu* = psi(a) - psi(b), the
    derivatives of a score's log-likelihood are

        by logit(mu):  phi mu (1 - mu) (y* - mu*)
        by log(phi):   phi (mu (y* - mu*) + log(1 - y) - psi(b) + psi(phi))
    """
    mean = special.expit(logit_mean)
    precision = np.exp(log_precision)
    a = mean * precision
    b = (1 - mean) * precision
    # Scores of 0 and 1, whose terms would be infinite, are replaced by 0.5 and have the weight 0.
    y = np.where(interior, response, 0.5)
    weight = interior.astype(np.float64)
    log_density = special.xlogy(a - 1, y) + special.xlog1py(b - 1, -y) - special.betaln(a, b)

    # y* - mu*
    deviation = special.logit(y) - special.digamma(a) + special.digamma(b)
    # Derivative of mu by its logit: mu (1 - mu)
    mean_slope = bernoulli_variance(mean)
    precision_slope = mean * deviation + np.log1p(-y) - special.digamma(b) + special.digamma(precision)
    slopes = np.empty((len(y), 2))
    slopes[:, _LOGIT_MEAN] = precision * (mean_slope * deviation) * weight
    slopes[:, _LOG_PRECISION] = precision * precision_slope * weight

    # Expected information, the covariance of the derivatives, divided by phi²
    trigamma_a = special.polygamma(1, a)
    trigamma_b = special.polygamma(1, b)
    trigamma_precision = special.polygamma(1, precision)
    cross = mean_slope * (mean * trigamma_a - (1 - mean) * trigamma_b)
    precision_information = mean**2 * trigamma_a + (1 - mean) ** 2 * trigamma_b - trigamma_precision
    information = np.empty((len(y), 2, 2))
    information[:, _LOGIT_MEAN, _LOGIT_MEAN] = mean_slope**2 * (trigamma_a + trigamma_b)
    information[:, _LOGIT_MEAN, _LOG_PRECISION] = cross
    information[:, _LOG_PRECISION, _LOGIT_MEAN] = cross
    # Rounding can make this difference of large terms negative.
    information[:, _LOG_PRECISION, _LOG_PRECISION] = np.maximum(precision_information, 0)
    scale = (precision**2)[:, None, None]
    return SummedLikelihood(float(log_density[interior].sum()), slopes, scale * information)


def starting_coefficients_and_log_precision(
    matrix: np.ndarray, response: np.ndarray, interior: NDArray[np.bool_]
) -> tuple[np.ndarray, float]:
    """Return coefficients (r,) and log precision to start from: least squares of the interior logits."""
    logits = special.logit(response[interior])
    coefficients = np.linalg.lstsq(matrix[interior], logits, rcond=None)[0]
    fitted = special.expit(matrix[interior] @ coefficients)
    # A beta distribution has the variance mu (1 - mu) / (1 + phi).
    relative_variance = ((response[interior] - fitted) ** 2).mean() / bernoulli_variance(fitted).mean()
    # The estimate by moments may be negative, and is infinite for a perfect fit.
    precision = np.clip(1 / relative_variance - 1, 0.1, 1e4)
    return coefficients, float(np.log(precision))


def full_predictors(predictors: np.ndarray, present_columns: list[int], defaults: np.ndarray) -> np.ndarray:
    """Return the predictors (n, k) of the full model from those of a model without zeros or without ones.

    `predictors` belong in the columns `present_columns`; the other columns have their `defaults` (k,).
    """
    full = np.tile(defaults, (len(predictors), 1))
    full[:, present_columns] = predictors
    return full


def likelihood_of_present_predictors(
    likelihood: Callable[[np.ndarray], SummedLikelihood], present_columns: list[int], defaults: np.ndarray
) -> Callable[[np.ndarray], SummedLikelihood]:
    """Return the likelihood as a function of the present predictors, the others held at `defaults`."""

    def likelihood_and_derivatives(predictors: np.ndarray) -> SummedLikelihood:
        full = likelihood(full_predictors(predictors, present_columns, defaults))
        information = full.information[:, present_columns][:, :, present_columns]
        return SummedLikelihood(full.log_likelihood, full.gradients[:, present_columns], information)

    return likelihood_and_derivatives


def mean_of_present_predictors(
    mean_function: MeanFunction, present_columns: list[int], defaults: np.ndarray
) -> MeanFunction:
    """Return the mean as a function of the present predictors, the others held at `defaults`."""

    def mean_and_derivatives(predictors: np.ndarray) -> MeanDerivatives:
        full = full_predictors(predictors, present_columns, defaults)
        mean, gradient, hessian = mean_function(full)
        return MeanDerivatives(
            mean, gradient[:, present_columns], hessian[:, present_columns][:, :, present_columns]
        )

    return mean_and_derivatives


def solution_at_maximum(
    maximum: Maximum,
    matrix: np.ndarray,
    response: np.ndarray,
    has_intercept: bool,
    predictor_names: tuple[str, ...],
    mean_function: MeanFunction,
    boundary_probabilities_and_interior_mean: Callable[[np.ndarray], BoundaryProbabilitiesAndInteriorMean],
    parameters: dict[str, float],
) -> Solution:
    """Return the Solution at the maximum of the likelihood.

    `predictor_names` are the names of the linear predictors (parts), each with a coefficient for each column
    of `matrix`. The parameters after their coefficients are constant predictors, the log precision last.
    `mean_function` and `boundary_probabilities_and_interior_mean` take all predictors (n, k).
    """
    n_rows, rank = matrix.shape
    n_parts = len(predictor_names)
    n_coefficients = n_parts * rank
    coefficients = maximum.parameters[:n_coefficients]
    nuisance_parameters = maximum.parameters[n_coefficients:]
    part_predictors = matrix @ coefficients.reshape(n_parts, rank).T
    predictors = np.column_stack([part_predictors, np.tile(nuisance_parameters, (n_rows, 1))])
    fitted, slopes, _ = mean_function(predictors)

    # Var(y) = E(y²) - E(y)², where E(y²) is P(1) + P(0 < y < 1) E(y² | 0 < y < 1)
    zero, one, interior_mean = boundary_probabilities_and_interior_mean(predictors)
    precision = np.exp(nuisance_parameters[-1])
    interior_square = interior_mean**2 + bernoulli_variance(interior_mean) / (1 + precision)
    variances = (1 - zero - one) * interior_square + one - fitted**2

    # Derivatives of the fitted mean by all parameters, (n, p). The leverage is Var(fitted) / Var(y).
    by_coefficients = (slopes[:, :n_parts, None] * matrix[:, None, :]).reshape(n_rows, n_coefficients)
    gradient = np.column_stack([by_coefficients, slopes[:, n_parts:]])
    mean_variances = np.einsum("ij,jk,ik->i", gradient, maximum.bread, gradient)
    return Solution(
        coefficients=coefficients,
        matrix=matrix,
        response=response,
        fitted=fitted,
        weights=np.ones(n_rows),
        bread=maximum.bread,
        scores=maximum.scores,
        leverage=mean_variances / variances,
        dispersion=1.0,
        df_residual=float(n_rows - len(maximum.parameters)),
        deviance=float("nan"),
        null_deviance=float("nan"),
        log_likelihood=maximum.log_likelihood,
        intercept=has_intercept,
        parameters=parameters,
        scoring_problem=maximum.scoring_problem,
        predictor_names=predictor_names,
        nuisance_parameters=nuisance_parameters,
        mean_function=mean_function,
        variances=variances,
    )
