"""Beta regression with a constant precision, the kernel of the family `beta`."""

from dataclasses import replace

import numpy as np
from scipy import special

from salstats.errors import Message, Setting, ValueRangeError
from salstats.stats.models.beta_models import (
    BoundaryProbabilitiesAndInteriorMean,
    beta_log_likelihood_with_expected_information,
    solution_at_maximum,
    starting_coefficients_and_log_precision,
    varying_interior_mask,
)
from salstats.stats.models.error_kinds import BETA_ERRORS
from salstats.stats.models.family import Family, MeanDerivatives, Solution, qr_and_leverage
from salstats.stats.models.fisher_scoring import SummedLikelihood, maximize_likelihood
from salstats.stats.models.logit import LOGIT, bernoulli_variance


def beta_regression(matrix: np.ndarray, response: np.ndarray, has_intercept: bool) -> Solution:
    """Fit a beta regression of scores strictly between 0 and 1 by maximum likelihood, with one precision.

    y has the beta distribution of mean mu, logit mu = x'b, and variance mu (1 - mu) / (1 + phi). The
    information is the expected one, as in R's betareg (statsmodels' BetaModel uses the observed one), and the
    leverage is that of least squares weighted by it.

    Ferrari SLP, Cribari-Neto F. Beta regression for modelling rates and proportions. J Appl Stat
    2004;31:799-815. https://doi.org/10.1080/0266476042000214501
    """
    label = BETA.label
    interior = varying_interior_mask(response, label)
    coefficients, log_precision = starting_coefficients_and_log_precision(matrix, response, interior)
    start = np.append(coefficients, log_precision)
    designs = [matrix, np.ones((len(response), 1))]

    def likelihood(predictors: np.ndarray) -> SummedLikelihood:
        logit_mean, log_precision = predictors.T
        return beta_log_likelihood_with_expected_information(response, interior, logit_mean, log_precision)

    mle = maximize_likelihood(designs, start, likelihood, label)
    solution = solution_at_maximum(
        mle,
        matrix,
        response,
        has_intercept,
        predictor_names=("",),
        mean_function=_mean_and_derivatives,
        boundary_probabilities_and_interior_mean=_zero_boundary_probabilities_and_mean,
        parameters={"precision": float(np.exp(mle.parameters[-1]))},
    )
    logit_mean = matrix @ solution.coefficients
    log_precisions = np.repeat(solution.nuisance_parameters, len(response))
    information = beta_log_likelihood_with_expected_information(
        response, interior, logit_mean, log_precisions
    ).information
    information_on_logit_mean = information[:, 0, 0]
    weighted_qr = qr_and_leverage(matrix * np.sqrt(information_on_logit_mean)[:, None])
    return replace(solution, leverage=weighted_qr.leverage)


def _zero_boundary_probabilities_and_mean(predictors: np.ndarray) -> BoundaryProbabilitiesAndInteriorMean:
    """Return P(0) and P(1), which are 0, and the mean of the scores at predictors (n, 2)."""
    mean = special.expit(predictors[:, 0])
    zero_probability = np.zeros_like(mean)
    return BoundaryProbabilitiesAndInteriorMean(
        zero=zero_probability, one=zero_probability, interior_mean=mean
    )


def _mean_and_derivatives(predictors: np.ndarray) -> MeanDerivatives:
    """Return the mean (n,), its first (n, 2) and second (n, 2, 2) derivatives by its logit and log phi."""
    mean = special.expit(predictors[:, 0])
    gradient = np.zeros((len(mean), 2))
    hessian = np.zeros((len(mean), 2, 2))
    gradient[:, 0] = bernoulli_variance(mean)
    hessian[:, 0, 0] = gradient[:, 0] * (1 - 2 * mean)
    return MeanDerivatives(mean, gradient, hessian)


def _check_strictly_between_0_and_1(response: np.ndarray, family: str) -> None:
    """Raise ValueRangeError for an outcome with values that are not strictly between 0 and 1."""
    invalid = response[(response <= 0) | (response >= 1)]
    if len(invalid):
        raise ValueRangeError(
            Setting("family", family),
            " needs an outcome strictly between 0 and 1, not ",
            f"{invalid[0]:g}",
            hint=Message(
                Setting("family", "ordered-beta"),
                " and ",
                Setting("family", "fractional"),
                " take exact 0 and 1",
            ),
        )


BETA = Family(
    name="beta",
    label="beta",
    link=LOGIT,
    variance=bernoulli_variance,
    check_outcome=_check_strictly_between_0_and_1,
    solve=beta_regression,
    errors=BETA_ERRORS,
    uses_normal=True,
    n_dispersion_parameters=0,
)
