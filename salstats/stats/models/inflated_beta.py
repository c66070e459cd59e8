"""Beta regression inflated at 0 and 1, the kernel of the family `zero-one-inflated-beta`."""

import itertools

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
from salstats.stats.models.family import (
    Family,
    MeanDerivatives,
    NotEstimableError,
    Solution,
    estimable_column_positions,
)
from salstats.stats.models.fisher_scoring import SummedLikelihood, maximize_likelihood
from salstats.stats.models.logit import LOGIT, bernoulli_variance, check_fractions, recession_direction

#: Columns of the predictors of a full model, with zeros and ones.
_LOGIT_MEAN = 0
_LOG_ODDS_ZERO = 1
_LOG_ODDS_ONE = 2
_LOG_PRECISION = 3
_N_PREDICTORS = 4
#: Names of the predictors that are made of the model matrix.
_PART_NAMES = ("mean", "zero", "one")
#: Predictors of a model without zeros and ones, whose log odds are minus infinity.
_NO_BOUNDARIES = np.array([0.0, -np.inf, -np.inf, 0.0])


def inflated_beta(matrix: np.ndarray, response: np.ndarray, has_intercept: bool) -> Solution:
    """Fit a beta regression inflated at 0 and 1 by maximum likelihood, with a linear predictor for each part.

    Part `mean` is the logit of the mean of the scores strictly between 0 and 1, which are beta with one
    precision; parts `zero` and `one` are the logs of P(0) / P(0 < y < 1) and of P(1) / P(0 < y < 1). All have
    the same columns. If no score is 0, or none is 1, that part is left out, which gives a one-inflated, a
    zero-inflated or a plain beta model. The information is the expected one.

    Ospina R, Ferrari SLP. Inflated beta distributions. Statistical Papers 2010;51:111-126.
    https://doi.org/10.1007/s00362-008-0125-4
    """
    label = INFLATED_BETA.label
    interior = varying_interior_mask(response, label)
    if len(estimable_column_positions(matrix[interior])) < matrix.shape[1]:
        raise NotEstimableError(
            f"the {label} model needs scores strictly between 0 and 1 that determine all coefficients"
        )
    # For each predictor of a boundary, the rows with this score
    boundaries = {}
    if (response == 0).any():
        boundaries[_LOG_ODDS_ZERO] = response == 0
    if (response == 1).any():
        boundaries[_LOG_ODDS_ONE] = response == 1
    _check_separation(matrix, boundaries, label)
    part_columns = [_LOGIT_MEAN, *boundaries]
    present_columns = [*part_columns, _LOG_PRECISION]

    def likelihood(predictors: np.ndarray) -> SummedLikelihood:
        return _inflated_beta_likelihood(response, interior, predictors)

    coefficients, log_precision = starting_coefficients_and_log_precision(matrix, response, interior)
    n_boundary_coefficients = len(boundaries) * matrix.shape[1]
    start = np.concatenate([coefficients, np.zeros(n_boundary_coefficients), [log_precision]])
    constant = np.ones((len(response), 1))
    designs = [matrix] * len(part_columns) + [constant]
    mle = maximize_likelihood(
        designs,
        start,
        likelihood_of_present_predictors(likelihood, present_columns, _NO_BOUNDARIES),
        label,
    )

    def boundary_probabilities_and_interior_mean(
        predictors: np.ndarray,
    ) -> BoundaryProbabilitiesAndInteriorMean:
        return _inflated_boundary_probabilities_and_interior_mean(
            full_predictors(predictors, present_columns, _NO_BOUNDARIES)
        )

    return solution_at_maximum(
        mle,
        matrix,
        response,
        has_intercept,
        predictor_names=tuple(_PART_NAMES[column] for column in part_columns),
        mean_function=mean_of_present_predictors(
            _inflated_beta_mean_and_derivatives, present_columns, _NO_BOUNDARIES
        ),
        boundary_probabilities_and_interior_mean=boundary_probabilities_and_interior_mean,
        parameters={"precision": float(np.exp(mle.parameters[-1]))},
    )


def _inflated_beta_likelihood(
    response: np.ndarray, interior: NDArray[np.bool_], predictors: np.ndarray
) -> SummedLikelihood:
    """Log-likelihood at predictors (n, 4), with its derivatives and their expected information."""
    n_rows = len(response)
    zero = response == 0
    one = response == 1
    logit_mean, log_odds_zero, log_odds_one, log_precision = predictors.T
    beta = beta_log_likelihood_with_expected_information(response, interior, logit_mean, log_precision)
    # log(1 + exp(log_odds_zero) + exp(log_odds_one)), which is -log P(0 < y < 1)
    log_total = np.logaddexp(np.logaddexp(0, log_odds_zero), log_odds_one)
    likelihood = log_odds_zero[zero].sum() + log_odds_one[one].sum() - log_total.sum() + beta.log_likelihood

    prob_zero = np.exp(log_odds_zero - log_total)
    prob_one = np.exp(log_odds_one - log_total)
    prob_interior = np.exp(-log_total)
    beta_columns = [_LOGIT_MEAN, _LOG_PRECISION]
    slopes = np.empty((n_rows, _N_PREDICTORS))
    slopes[:, beta_columns] = beta.gradients
    slopes[:, _LOG_ODDS_ZERO] = zero - prob_zero
    slopes[:, _LOG_ODDS_ONE] = one - prob_one

    # The information on the log odds is diag(p) - pp', the covariance of the indicators of 0 and 1.
    covariance = -prob_zero * prob_one
    information = np.zeros((n_rows, _N_PREDICTORS, _N_PREDICTORS))
    information[:, _LOG_ODDS_ZERO, _LOG_ODDS_ZERO] = prob_zero * (1 - prob_zero)
    information[:, _LOG_ODDS_ZERO, _LOG_ODDS_ONE] = covariance
    information[:, _LOG_ODDS_ONE, _LOG_ODDS_ZERO] = covariance
    information[:, _LOG_ODDS_ONE, _LOG_ODDS_ONE] = prob_one * (1 - prob_one)
    beta_block = np.ix_(range(n_rows), beta_columns, beta_columns)
    information[beta_block] = prob_interior[:, None, None] * beta.information
    return SummedLikelihood(float(likelihood), slopes, information)


def _check_separation(matrix: np.ndarray, boundaries: dict[int, np.ndarray], label: str) -> None:
    """Raise if terms separate the zeros or the ones; `boundaries` are masks of their rows by predictor."""
    if not boundaries:
        return
    infinite = _are_boundaries_separated(matrix, list(boundaries.values()))
    separated = [
        f"{_PART_NAMES[column]}s"
        for column, is_infinite in zip(boundaries, infinite, strict=True)
        if is_infinite
    ]
    if separated:
        raise NotEstimableError(
            f"the {label} model has no finite estimates, terms separate {' and '.join(separated)} from the "
            "rest",
            column="term",
            value=separated,
        )


def _are_boundaries_separated(matrix: np.ndarray, boundaries: list[np.ndarray]) -> NDArray[np.bool_]:
    """Mask (n_boundaries,) of the boundaries whose log odds have no finite estimates.

    The outcomes are one or two boundaries (0 and 1) and, as the baseline, the scores in between. They are
    separated in the direction b if (b_k - b_l)'x >= 0 for each row x of outcome k and each other outcome l,
    where b is 0 for the baseline.
    """
    n_boundaries = len(boundaries)
    rank = matrix.shape[1]
    interior = ~np.any(boundaries, axis=0)
    outcomes = [*boundaries, interior]
    constraints = []
    for outcome, alternative in itertools.permutations(range(len(outcomes)), 2):
        rows = matrix[outcomes[outcome]]
        # Coefficients of b in (b_k - b_l)'x for each row of outcome k
        constraint = np.zeros((len(rows), len(outcomes), rank))
        constraint[:, outcome] += rows
        constraint[:, alternative] -= rows
        without_baseline = constraint[:, :n_boundaries]
        constraints.append(without_baseline.reshape(len(rows), -1))
    direction = recession_direction(np.concatenate(constraints)).reshape(n_boundaries, rank)
    # Smaller values are rounding errors of the linear program.
    return np.asarray((np.abs(direction) > 1e-6).any(axis=1))


def _inflated_boundary_probabilities_and_interior_mean(
    predictors: np.ndarray,
) -> BoundaryProbabilitiesAndInteriorMean:
    """Return P(0), P(1) and the mean of the scores in between at predictors (n, 4)."""
    logit_mean, log_odds_zero, log_odds_one, _ = predictors.T
    log_total = np.logaddexp(np.logaddexp(0, log_odds_zero), log_odds_one)
    return BoundaryProbabilitiesAndInteriorMean(
        zero=np.exp(log_odds_zero - log_total),
        one=np.exp(log_odds_one - log_total),
        interior_mean=special.expit(logit_mean),
    )


def _inflated_beta_mean_and_derivatives(predictors: np.ndarray) -> MeanDerivatives:
    """Return the mean (n,) of scores, its first (n, 4) and second (n, 4, 4) derivatives by the predictors.

    With mu the mean of the scores strictly between 0 and 1, the mean is P(0 < y < 1) mu + P(1).
    """
    zero, one, mu = _inflated_boundary_probabilities_and_interior_mean(predictors)
    interior = 1 - zero - one
    mu_slope = bernoulli_variance(mu)
    mean = interior * mu + one

    gradient = np.zeros((len(mean), _N_PREDICTORS))
    gradient[:, _LOGIT_MEAN] = interior * mu_slope
    gradient[:, _LOG_ODDS_ZERO] = -zero * mean
    gradient[:, _LOG_ODDS_ONE] = one * (1 - mean)

    mean_by_zero = -zero * interior * mu_slope
    mean_by_one = -one * interior * mu_slope
    zero_by_one = zero * one * (2 * mean - 1)
    hessian = np.zeros((len(mean), _N_PREDICTORS, _N_PREDICTORS))
    hessian[:, _LOGIT_MEAN, _LOGIT_MEAN] = interior * mu_slope * (1 - 2 * mu)
    hessian[:, _LOGIT_MEAN, _LOG_ODDS_ZERO] = mean_by_zero
    hessian[:, _LOG_ODDS_ZERO, _LOGIT_MEAN] = mean_by_zero
    hessian[:, _LOGIT_MEAN, _LOG_ODDS_ONE] = mean_by_one
    hessian[:, _LOG_ODDS_ONE, _LOGIT_MEAN] = mean_by_one
    hessian[:, _LOG_ODDS_ZERO, _LOG_ODDS_ZERO] = -zero * mean * (1 - 2 * zero)
    hessian[:, _LOG_ODDS_ZERO, _LOG_ODDS_ONE] = zero_by_one
    hessian[:, _LOG_ODDS_ONE, _LOG_ODDS_ZERO] = zero_by_one
    hessian[:, _LOG_ODDS_ONE, _LOG_ODDS_ONE] = one * (1 - mean) * (1 - 2 * one)
    return MeanDerivatives(mean, gradient, hessian)


INFLATED_BETA = Family(
    name="zero-one-inflated-beta",
    label="zero-one-inflated beta",
    link=LOGIT,
    variance=bernoulli_variance,
    check_outcome=check_fractions,
    solve=inflated_beta,
    errors=BETA_ERRORS,
    uses_normal=True,
    n_dispersion_parameters=0,
)
