"""Steps of beta models against scipy's beta distribution, by differences and by integration."""

import numpy as np
import pytest
from scipy import integrate, special, stats
from tests_support import raises

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
from salstats.stats.models.family import NotEstimableError
from salstats.stats.models.fisher_scoring import Maximum

SCORES = np.array([0.0, 0.02, 0.4, 0.75, 0.99, 1.0])
LOGIT_MEANS = np.array([0.3, -1.0, 0.2, 1.5, 2.0, -0.4])
LOG_PRECISIONS = np.array([1.0, 0.5, 2.0, -0.5, 1.2, 0.1])
INTERIOR = np.array([False, True, True, True, True, False])


def _log_density(score, logit_mean, log_precision):
    mean = special.expit(logit_mean)
    precision = np.exp(log_precision)
    return stats.beta.logpdf(score, mean * precision, (1 - mean) * precision)


def test_scores_of_0_and_1_are_not_interior():
    np.testing.assert_array_equal(varying_interior_mask(SCORES, "beta"), INTERIOR)


def test_interior_scores_must_exist_and_differ():
    with raises(NotEstimableError, value=None):
        varying_interior_mask(np.array([0.0, 1.0, 1.0]), "beta")
    with raises(NotEstimableError, value=0.4):
        varying_interior_mask(np.array([0.0, 0.4, 0.4]), "beta")


def test_likelihood_and_its_derivatives_are_those_of_the_beta_distribution():
    likelihood = beta_log_likelihood_with_expected_information(SCORES, INTERIOR, LOGIT_MEANS, LOG_PRECISIONS)
    densities = _log_density(SCORES[INTERIOR], LOGIT_MEANS[INTERIOR], LOG_PRECISIONS[INTERIOR])
    assert likelihood.log_likelihood == pytest.approx(densities.sum(), rel=1e-12)
    step = 1e-5
    for row in range(len(SCORES)):
        if not INTERIOR[row]:
            np.testing.assert_array_equal(likelihood.gradients[row], 0)
            continue
        at = (SCORES[row], LOGIT_MEANS[row], LOG_PRECISIONS[row])
        by_mean = _log_density(at[0], at[1] + step, at[2]) - _log_density(at[0], at[1] - step, at[2])
        by_precision = _log_density(at[0], at[1], at[2] + step) - _log_density(at[0], at[1], at[2] - step)
        expected = np.array([by_mean, by_precision]) / (2 * step)
        np.testing.assert_allclose(likelihood.gradients[row], expected, rtol=1e-6, atol=1e-8)


def test_information_is_the_covariance_of_the_derivatives():
    logit_mean = 0.4
    log_precision = 1.6
    mean = special.expit(logit_mean)
    precision = np.exp(log_precision)

    def products(score):
        at = beta_log_likelihood_with_expected_information(
            np.array([score]), np.array([True]), np.array([logit_mean]), np.array([log_precision])
        )
        density = stats.beta.pdf(score, mean * precision, (1 - mean) * precision)
        return np.outer(at.gradients[0], at.gradients[0]).ravel() * density

    expected = integrate.quad_vec(products, 0, 1, epsabs=1e-9)[0].reshape(2, 2)
    row = beta_log_likelihood_with_expected_information(
        np.array([0.5]), np.array([True]), np.array([logit_mean]), np.array([log_precision])
    )
    np.testing.assert_allclose(row.information[0], expected, rtol=1e-6)


def test_search_starts_near_the_parameters_that_made_the_scores():
    rng = np.random.default_rng(4)
    matrix = np.column_stack([np.ones(4000), rng.normal(size=4000)])
    mean = special.expit(matrix @ [0.2, 0.5])
    scores = rng.beta(mean * 30, (1 - mean) * 30)
    scores[:5] = 0
    coefficients, log_precision = starting_coefficients_and_log_precision(matrix, scores, scores > 0)
    np.testing.assert_allclose(coefficients, [0.2, 0.5], atol=0.05)
    assert np.exp(log_precision) == pytest.approx(30, rel=0.1)


def test_absent_predictors_have_their_defaults():
    predictors = np.array([[1.0, 2.0], [3.0, 4.0]])
    full = full_predictors(predictors, [2, 0], np.array([7.0, 8.0, 9.0]))
    np.testing.assert_array_equal(full, [[2, 8, 1], [4, 8, 3]])


def test_functions_of_present_predictors_are_those_of_all_at_the_defaults():
    present = [0, 2]
    defaults = np.array([0.0, -0.7, 0.0])
    predictors = np.column_stack([LOGIT_MEANS, LOG_PRECISIONS])
    full = np.column_stack([LOGIT_MEANS, np.full(6, -0.7), LOG_PRECISIONS])

    def likelihood(values):
        two = beta_log_likelihood_with_expected_information(
            SCORES, INTERIOR, values[:, 0] + values[:, 1], values[:, 2]
        )
        gradients = two.gradients[:, [0, 0, 1]]
        information = two.information[:, [0, 0, 1]][:, :, [0, 0, 1]]
        return two._replace(gradients=gradients, information=information)

    some = likelihood_of_present_predictors(likelihood, present, defaults)(predictors)
    every = likelihood(full)
    assert some.log_likelihood == every.log_likelihood
    np.testing.assert_array_equal(some.gradients, every.gradients[:, present])
    np.testing.assert_array_equal(some.information, every.information[:, present][:, :, present])

    def mean(values):
        gradient = values * [1, 2, 3]
        return values.sum(axis=1), gradient, gradient[:, :, None] * [10, 20, 30]

    value, gradient, hessian = mean_of_present_predictors(mean, present, defaults)(predictors)
    np.testing.assert_allclose(value, full.sum(axis=1))
    np.testing.assert_allclose(gradient, predictors * [1, 3])
    np.testing.assert_allclose(hessian, (predictors * [1, 3])[:, :, None] * [10, 30])


def test_solution_has_the_variance_of_scores_with_both_ends():
    rng = np.random.default_rng(6)
    matrix = np.column_stack([np.ones(6), rng.normal(size=6)])
    parameters = np.array([0.3, -0.8, np.log(4.0)])
    bread = np.diag([0.2, 0.3, 0.1])
    maximum = Maximum(parameters, -3.5, bread, np.ones((6, 3)), (np.ones((6, 3)), np.ones(6)))
    zero = np.full(6, 0.1)
    one = np.full(6, 0.25)

    def mean_function(predictors):
        interior = special.expit(predictors[:, 0])
        slopes = np.zeros((6, 2))
        slopes[:, 0] = 0.65 * interior * (1 - interior)
        return 0.65 * interior + 0.25, slopes, np.zeros((6, 2, 2))

    solution = solution_at_maximum(
        maximum,
        matrix,
        SCORES,
        True,
        ("",),
        mean_function,
        lambda predictors: BoundaryProbabilitiesAndInteriorMean(zero, one, special.expit(predictors[:, 0])),
        {"precision": 4.0},
    )
    interior = special.expit(matrix @ parameters[:2])
    np.testing.assert_allclose(solution.fitted, 0.65 * interior + 0.25)
    between = stats.beta(interior * 4, (1 - interior) * 4)
    square = 0.65 * (between.var() + between.mean() ** 2) + 0.25
    np.testing.assert_allclose(solution.variances, square - solution.fitted**2, rtol=1e-12)
    gradient = np.column_stack([matrix * (0.65 * interior * (1 - interior))[:, None], np.zeros(6)])
    fitted_variances = np.diag(gradient @ bread @ gradient.T)
    np.testing.assert_allclose(solution.leverage, fitted_variances / solution.variances, rtol=1e-12)
    np.testing.assert_array_equal(solution.coefficients, parameters[:2])
    np.testing.assert_array_equal(solution.nuisance_parameters, parameters[2:])
    assert solution.df_residual == 3
