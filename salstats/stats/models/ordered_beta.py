"""Ordered beta regression, the kernel of the family `ordered-beta`."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from salstats.stats.models.beta_models import (
    BoundaryProbabilitiesAndInteriorMean,
    beta_log_likelihood_with_expected_information,
    full_predictors,
    likelihood_of_present_predictors,
    mean_of_present_predictors,
    solution_at_maximum,
    starting_coefficients_and_log_precision,
    varying_interior_mask,
)
from salstats.stats.models.error_kinds import BETA_ERRORS
from salstats.stats.models.family import Family, MeanDerivatives, NotEstimableError, Solution
from salstats.stats.models.fisher_scoring import SummedLikelihood, maximize_likelihood
from salstats.stats.models.logit import LOGIT, bernoulli_variance, check_fractions, terms_separate_outcomes

#: Columns of the predictors of a full model, with zeros and ones.
_ETA = 0
_CUTPOINT_ZERO = 1
_CUTPOINT_ONE = 2
_LOG_PRECISION = 3
_N_PREDICTORS = 4
#: Predictors of a model without zeros and ones, whose probabilities are 0 with infinite cutpoints.
_NO_BOUNDARIES = np.array([0.0, -np.inf, np.inf, 0.0])


def ordered_beta(matrix: np.ndarray, response: np.ndarray, has_intercept: bool) -> Solution:
    """Fit an ordered beta regression of scores from 0 to 1 by maximum likelihood, with one linear predictor.

    With eta = x'b, cutpoints c0 < c1 and F the logistic distribution, P(0) = 1 - F(eta - c0) and P(1) =
    F(eta - c1); strictly between 0 and 1 the score has the beta distribution with mean F(eta) and one
    precision. A covariate moves the three parts together, so that its effect is one coefficient. If no score
    is 0, or none is 1, that boundary has no cutpoint. The information is the expected one.

    Kubinec R. Ordered beta regression: a parsimonious, well-fitting model for continuous data with lower
    and upper bounds. Political Analysis 2023;31:519-536. https://doi.org/10.1017/pan.2022.20
    """
    label = ORDERED_BETA.label
    interior = varying_interior_mask(response, label)
    if terms_separate_outcomes(matrix, response):
        raise NotEstimableError(f"the {label} model has no finite estimates, terms separate zeros and ones")
    present_columns = [_ETA]
    if (response == 0).any():
        present_columns.append(_CUTPOINT_ZERO)
    if (response == 1).any():
        present_columns.append(_CUTPOINT_ONE)
    present_columns.append(_LOG_PRECISION)

    def likelihood(predictors: np.ndarray) -> SummedLikelihood:
        return _ordered_beta_likelihood(response, interior, predictors)

    # Cutpoints and log precision are constants.
    constant = np.ones((len(response), 1))
    designs = [matrix] + [constant] * (len(present_columns) - 1)
    mle = maximize_likelihood(
        designs,
        _ordered_beta_starting_parameters(matrix, response, interior, present_columns),
        likelihood_of_present_predictors(likelihood, present_columns, _NO_BOUNDARIES),
        label,
    )

    def boundary_probabilities_and_interior_mean(
        predictors: np.ndarray,
    ) -> BoundaryProbabilitiesAndInteriorMean:
        return _ordered_boundary_probabilities_and_interior_mean(
            full_predictors(predictors, present_columns, _NO_BOUNDARIES)
        )

    # The parameters after the coefficients: cutpoints, NaN for a boundary without scores, and log precision
    constants = mle.parameters[None, matrix.shape[1] :]
    estimates = full_predictors(constants, present_columns[1:], _NO_BOUNDARIES)[0]
    finite = np.where(np.isfinite(estimates), estimates, np.nan)
    return solution_at_maximum(
        mle,
        matrix,
        response,
        has_intercept,
        predictor_names=("",),
        mean_function=mean_of_present_predictors(
            _ordered_beta_mean_and_derivatives, present_columns, _NO_BOUNDARIES
        ),
        boundary_probabilities_and_interior_mean=boundary_probabilities_and_interior_mean,
        parameters={
            "cutpoint_zero": float(finite[_CUTPOINT_ZERO]),
            "cutpoint_one": float(finite[_CUTPOINT_ONE]),
            "precision": float(np.exp(estimates[_LOG_PRECISION])),
        },
    )


def _ordered_beta_starting_parameters(
    matrix: np.ndarray, response: np.ndarray, interior: NDArray[np.bool_], present_columns: list[int]
) -> np.ndarray:
    """Parameters to start from: those of the interior scores, and cutpoints from the shares of 0 and 1.

    `present_columns` are those of the full predictors that the model has, that of eta first.
    """
    coefficients, log_precision = starting_coefficients_and_log_precision(matrix, response, interior)
    mean_eta = float((matrix @ coefficients).mean())
    # Cutpoints at which P(y > 0) = F(eta - c0) and P(y = 1) = F(eta - c1) are the shares
    share_positive = 1 - (response == 0).mean()
    share_one = (response == 1).mean()
    constants = np.zeros(_N_PREDICTORS)
    with np.errstate(divide="ignore"):
        constants[_CUTPOINT_ZERO] = mean_eta - special.logit(share_positive)
        constants[_CUTPOINT_ONE] = mean_eta - special.logit(share_one)
    constants[_LOG_PRECISION] = log_precision
    return np.concatenate([coefficients, constants[present_columns[1:]]])


def _ordered_beta_likelihood(
    response: np.ndarray, interior: NDArray[np.bool_], predictors: np.ndarray
) -> SummedLikelihood:
    """Log-likelihood at predictors (n, 4), with its derivatives and their expected information.

    The probability of a score strictly between 0 and 1 is F(u) - F(v) = F(u) (1 - F(v)) (1 - exp(v - u)) with
    u = eta - c0 and v = eta - c1; this product is exact where the difference would be rounding error. The
    likelihood is NaN if the cutpoints are not in order.
    """
    n_rows = len(response)
    eta, c0, c1, log_precision = predictors.T
    if (c0 >= c1).any():
        return SummedLikelihood(
            float("nan"),
            np.full((n_rows, _N_PREDICTORS), np.nan),
            np.full((n_rows, _N_PREDICTORS, _N_PREDICTORS), np.nan),
        )
    zero = response == 0
    one = response == 1
    above_zero = special.expit(eta - c0)
    at_one = special.expit(eta - c1)
    between = above_zero * (1 - at_one) * -np.expm1(c0 - c1)
    log_between = special.log_expit(eta - c0) + special.log_expit(c1 - eta) + np.log(-np.expm1(c0 - c1))
    log_boundary = np.select([zero, one], [special.log_expit(c0 - eta), special.log_expit(eta - c1)], 0.0)
    beta = beta_log_likelihood_with_expected_information(response, interior, eta, log_precision)
    likelihood = log_boundary.sum() + log_between[interior].sum() + beta.log_likelihood

    # Derivatives of log P(y = 0), log P(0 < y < 1) and log P(y = 1) by the predictors
    score_zero = np.zeros((n_rows, _N_PREDICTORS))
    score_zero[:, _ETA] = -above_zero
    score_zero[:, _CUTPOINT_ZERO] = above_zero
    # log(1 - exp(c0 - c1)) has the derivative -1 / (exp(c1 - c0) - 1) by c0, and its negative by c1.
    distance_slope = 1 / np.expm1(c1 - c0)
    score_between = np.zeros((n_rows, _N_PREDICTORS))
    score_between[:, _ETA] = 1 - above_zero - at_one
    score_between[:, _CUTPOINT_ZERO] = above_zero - 1 - distance_slope
    score_between[:, _CUTPOINT_ONE] = at_one + distance_slope
    score_one = np.zeros((n_rows, _N_PREDICTORS))
    score_one[:, _ETA] = 1 - at_one
    score_one[:, _CUTPOINT_ONE] = at_one - 1

    # The expected information is the mean of the outer products of these derivatives over the three outcomes.
    information = np.zeros((n_rows, _N_PREDICTORS, _N_PREDICTORS))
    outcomes = [(1 - above_zero, score_zero), (between, score_between), (at_one, score_one)]
    for probability, score in outcomes:
        information += probability[:, None, None] * score[:, :, None] * score[:, None, :]
    slopes = np.select([zero[:, None], one[:, None]], [score_zero, score_one], score_between)

    beta_columns = [_ETA, _LOG_PRECISION]
    slopes[:, beta_columns] += beta.gradients
    beta_block = np.ix_(range(n_rows), beta_columns, beta_columns)
    information[beta_block] += between[:, None, None] * beta.information
    return SummedLikelihood(float(likelihood), slopes, information)


def _ordered_boundary_probabilities_and_interior_mean(
    predictors: np.ndarray,
) -> BoundaryProbabilitiesAndInteriorMean:
    """Return P(0), P(1) and the mean of the scores in between at predictors (n, 4)."""
    eta, c0, c1, _ = predictors.T
    return BoundaryProbabilitiesAndInteriorMean(
        zero=special.expit(c0 - eta), one=special.expit(eta - c1), interior_mean=special.expit(eta)
    )


def _ordered_beta_mean_and_derivatives(predictors: np.ndarray) -> MeanDerivatives:
    """Return the mean (n,) of scores, its first (n, 4) and second (n, 4, 4) derivatives by the predictors.

    With mu = F(eta), a = F(eta - c0) = P(y > 0) and t = F(eta - c1) = P(y = 1) the mean is (a - t) mu + t.
    """
    eta, c0, c1, _ = predictors.T
    mu = special.expit(eta)
    a = special.expit(eta - c0)
    t = special.expit(eta - c1)
    # F' = F (1 - F) and F'' = F' (1 - 2 F)
    mu_first = bernoulli_variance(mu)
    a_first = bernoulli_variance(a)
    t_first = bernoulli_variance(t)
    mu_second = mu_first * (1 - 2 * mu)
    a_second = a_first * (1 - 2 * a)
    t_second = t_first * (1 - 2 * t)
    between = a - t

    gradient = np.zeros((len(eta), _N_PREDICTORS))
    gradient[:, _ETA] = (a_first - t_first) * mu + between * mu_first + t_first
    gradient[:, _CUTPOINT_ZERO] = -a_first * mu
    gradient[:, _CUTPOINT_ONE] = -t_first * (1 - mu)

    eta_by_zero = -a_second * mu - a_first * mu_first
    eta_by_one = t_first * mu_first - t_second * (1 - mu)
    hessian = np.zeros((len(eta), _N_PREDICTORS, _N_PREDICTORS))
    hessian[:, _ETA, _ETA] = (
        (a_second - t_second) * mu + 2 * (a_first - t_first) * mu_first + between * mu_second + t_second
    )
    hessian[:, _ETA, _CUTPOINT_ZERO] = eta_by_zero
    hessian[:, _CUTPOINT_ZERO, _ETA] = eta_by_zero
    hessian[:, _ETA, _CUTPOINT_ONE] = eta_by_one
    hessian[:, _CUTPOINT_ONE, _ETA] = eta_by_one
    hessian[:, _CUTPOINT_ZERO, _CUTPOINT_ZERO] = a_second * mu
    hessian[:, _CUTPOINT_ONE, _CUTPOINT_ONE] = t_second * (1 - mu)
    return MeanDerivatives(between * mu + t, gradient, hessian)


ORDERED_BETA = Family(
    name="ordered-beta",
    label="ordered beta",
    link=LOGIT,
    variance=bernoulli_variance,
    check_outcome=check_fractions,
    solve=ordered_beta,
    errors=BETA_ERRORS,
    uses_normal=True,
    n_dispersion_parameters=0,
)
