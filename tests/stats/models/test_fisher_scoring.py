"""Maximum likelihood by Fisher's scoring, and derivatives of the mean."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special
from tests_support import raises

from salstats.stats.models.beta import beta_regression
from salstats.stats.models.family import NotEstimableError
from salstats.stats.models.fisher_scoring import (
    SummedLikelihood,
    maximize_likelihood,
    mean_on_link_scale_at,
    slope_of_mean_on_score_scale_at,
)
from salstats.stats.models.inflated_beta import inflated_beta
from salstats.stats.models.logit import LOGIT, logit
from salstats.stats.models.ordered_beta import ordered_beta


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    matrix = np.column_stack([np.ones(50), rng.normal(size=50)])
    return matrix, (rng.random(50) < special.expit(matrix @ [0.2, 0.8])).astype(float)


def bernoulli_likelihood(response):
    def likelihood(predictors):
        mean = special.expit(predictors[:, 0])
        log_likelihood = float(
            special.xlogy(response, mean).sum() + special.xlog1py(1 - response, -mean).sum()
        )
        return SummedLikelihood(
            log_likelihood, (response - mean)[:, None], (mean * (1 - mean))[:, None, None]
        )

    return likelihood


def test_the_maximum_of_a_bernoulli_likelihood_is_that_of_the_logit_model(rows):
    matrix, response = rows
    maximum = maximize_likelihood([matrix], np.zeros(2), bernoulli_likelihood(response), "logit")
    solution = logit(matrix, response, has_intercept=True)
    np.testing.assert_allclose(maximum.parameters, solution.coefficients, rtol=1e-10)
    np.testing.assert_allclose(maximum.bread, solution.bread, rtol=1e-8)
    np.testing.assert_allclose(maximum.scores, solution.scores, atol=1e-10)
    assert maximum.log_likelihood == pytest.approx(solution.log_likelihood, rel=1e-12)


def test_the_last_step_is_a_least_squares_problem_with_the_same_information(rows):
    matrix, response = rows
    maximum = maximize_likelihood([matrix], np.zeros(2), bernoulli_likelihood(response), "logit")
    problem_rows, errors = maximum.scoring_problem
    np.testing.assert_allclose(np.linalg.inv(problem_rows.T @ problem_rows), maximum.bread, rtol=1e-9)
    np.testing.assert_allclose(problem_rows.T @ errors, maximum.scores.sum(axis=0), atol=1e-9)


def test_columns_that_depend_on_each_other_have_no_finite_estimates(rows):
    matrix, response = rows
    with raises(NotEstimableError, column="term"):
        maximize_likelihood(
            [np.column_stack([matrix, matrix[:, 1]])], np.zeros(3), bernoulli_likelihood(response), "logit"
        )


@pytest.mark.parametrize("kernel", [logit, beta_regression])
def test_derivatives_are_those_of_small_steps(rows, kernel):
    matrix, response = rows
    if kernel is beta_regression:
        response = 0.2 + 0.5 * response + 0.1 * special.expit(matrix[:, 1])
    solution = kernel(matrix, response, has_intercept=True)
    points = np.array([[1.0, 0.3], [1.0, -0.7]])
    slopes = np.array([[0.0, 1.0], [0.0, 1.0]])
    step = 1e-6
    above, _ = mean_on_link_scale_at(solution, points + step * slopes)
    below, _ = mean_on_link_scale_at(solution, points - step * slopes)
    steepness, _ = slope_of_mean_on_score_scale_at(solution, LOGIT, points, slopes)
    np.testing.assert_allclose(steepness, (LOGIT.mean(above) - LOGIT.mean(below)) / (2 * step), rtol=1e-7)


@pytest.mark.parametrize("kernel", [logit, beta_regression, inflated_beta, ordered_beta])
def test_gradients_are_those_of_small_steps_of_all_parameters(rows, kernel):
    matrix, response = rows
    if kernel is not logit:
        response = 0.2 + 0.5 * response + 0.1 * special.expit(matrix[:, 1])
    if kernel in (inflated_beta, ordered_beta):
        response[[3, 8, 20, 31]] = 0.0
        response[[5, 14, 26, 40]] = 1.0
    solution = kernel(matrix, response, has_intercept=True)
    points = np.array([[1.0, 0.3], [1.0, -0.7]])
    slopes = np.array([[0.0, 1.0], [0.0, 1.0]])
    n_coefficients = len(solution.coefficients)
    parameters = np.concatenate([solution.coefficients, solution.nuisance_parameters])

    def with_parameters(moved):
        return replace(
            solution, coefficients=moved[:n_coefficients], nuisance_parameters=moved[n_coefficients:]
        )

    for quantity, further_arguments in (
        (mean_on_link_scale_at, (points,)),
        (slope_of_mean_on_score_scale_at, (LOGIT, points, slopes)),
    ):
        _, gradient = quantity(solution, *further_arguments)
        assert gradient.shape == (len(points), len(parameters))
        for position, step in enumerate(1e-6 * np.eye(len(parameters))):
            above, _ = quantity(with_parameters(parameters + step), *further_arguments)
            below, _ = quantity(with_parameters(parameters - step), *further_arguments)
            np.testing.assert_allclose(gradient[:, position], (above - below) / 2e-6, rtol=1e-6, atol=1e-9)


def test_a_start_from_which_full_steps_overshoot_reaches_the_maximum(rows):
    matrix, response = rows
    far = maximize_likelihood([matrix], np.array([0.0, 3.0]), bernoulli_likelihood(response), "logit")
    near = maximize_likelihood([matrix], np.zeros(2), bernoulli_likelihood(response), "logit")
    np.testing.assert_allclose(far.parameters, near.parameters, rtol=1e-9)
