"""Second derivatives of the deviance against differences of the first."""

import numpy as np
import pytest
from dense_mixed import THETA, deviance, differences, four_terms, generalized_least_squares
from dense_mixed import relative_covariance as dense_covariance

from salstats.stats.models.mixed.crossproducts import crossproducts
from salstats.stats.models.mixed.deviance import evaluate_deviance, theta_gradient
from salstats.stats.models.mixed.information import (
    coefficient_covariance_slopes,
    covariance_entry_indicators,
    deviance_hessian,
    theta_and_sigma_covariance,
)
from salstats.stats.models.mixed.linear_mixed_model import scaled_model
from salstats.stats.models.mixed.terms import RandomTerm, relative_covariance_factors

#: Five-point differences with a step of 1e-3.
TOLERANCE = 1e-8


@pytest.fixture(scope="module")
def model():
    return scaled_model(*four_terms())


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
@pytest.mark.parametrize("sigma", [None, 0.8], ids=["profiled", "sigma"])
def test_second_derivatives_are_those_of_the_gradient(model, reml, sigma):
    def slope(theta, sigma=sigma):
        factors = relative_covariance_factors(theta, model.terms)
        return theta_gradient(
            evaluate_deviance(model.products, factors, reml=reml, sigma=sigma), factors, model.terms
        )

    factors = relative_covariance_factors(THETA, model.terms)
    evaluation = evaluate_deviance(model.products, factors, reml=reml, sigma=sigma)
    second = deviance_hessian(model.products, model.terms, factors, evaluation, reml=reml, sigma=sigma)
    m = len(THETA)
    tolerance = TOLERANCE * np.abs(second).max()
    np.testing.assert_allclose(differences(slope, THETA), second[:m, :m], atol=tolerance)
    if sigma is not None:
        by_sigma = differences(lambda s: slope(THETA, s.item()), np.array([sigma]))[0]
        np.testing.assert_allclose(by_sigma, second[m, :m], atol=tolerance)

        # -2 log likelihood is df log(sigma^2) + rss / sigma^2 + terms without sigma
        def by_sigma_alone(s):
            return evaluate_deviance(model.products, factors, reml=reml, sigma=s.item()).deviance

        def slope_by_sigma(s):
            return differences(by_sigma_alone, s)[0]

        twice = differences(slope_by_sigma, np.array([sigma]))[0]
        np.testing.assert_allclose(twice, second[m, m], rtol=1e-6)


def test_entries_are_symmetric_and_stand_in_the_order_of_theta(model):
    entries = covariance_entry_indicators(model.terms)
    assert [entry.term for entry in entries] == [0, 0, 0, 1, 1, 1, 2, 2, 3]
    reader = [entry.matrix.tolist() for entry in entries[:3]]
    assert reader == [[[1, 0], [0, 0]], [[0, 1], [1, 0]], [[0, 0], [0, 1]]]


def _v(theta, terms):
    return dense_covariance(
        terms, [factor @ factor.T for factor in relative_covariance_factors(theta, terms)]
    )


def test_slopes_of_the_coefficients_covariance_are_its_differences():
    matrix, response, terms = four_terms()
    products = crossproducts(np.column_stack([matrix, response]), terms)
    sigma = 0.8

    def covariance(parameters):
        v = _v(parameters[:-1], terms)
        return parameters[-1] ** 2 * generalized_least_squares(matrix, response, v)[1]

    evaluation = evaluate_deviance(
        products, relative_covariance_factors(THETA, terms), reml=True, sigma=sigma
    )
    slopes = coefficient_covariance_slopes(evaluation, terms, THETA, sigma)
    expected = differences(covariance, np.append(THETA, sigma))
    np.testing.assert_allclose(slopes, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("theta", [0.6, 0.0, 3.0])
@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
def test_covariance_of_variances_is_twice_the_inverse_of_the_curvature(theta, reml):
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(12), 4)
    matrix = np.column_stack([np.ones(48), rng.normal(size=48)])
    # a model whose deviance rises from theta in each direction
    response = theta * rng.normal(size=12)[codes] + rng.normal(size=48)
    term = RandomTerm("case", ("(Intercept)",), codes, 12, matrix[:, :1])
    products = crossproducts(np.column_stack([matrix, response]), [term])

    def dense(parameters):
        v = _v(parameters[:-1], [term])
        return deviance(matrix, response, v, reml=reml, sigma=float(parameters[-1]))

    at = np.array([theta, 1.0])
    curvature = differences(lambda point: differences(dense, point), at)
    eigenvalues, directions = np.linalg.eigh(curvature)
    # directions along which the deviance falls are treated as known
    inverse = np.where(eigenvalues > 1e-4, 1 / eigenvalues, 0)
    expected = 2 * (directions * inverse) @ directions.T
    result = theta_and_sigma_covariance(products, [term], np.array([theta]), 1.0, reml=reml)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-8)
