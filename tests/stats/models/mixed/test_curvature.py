"""Uncertainty of variances against differences of the deviance with matrices written out."""

import numpy as np
import pytest
from dense_mixed import THETA, deviance, differences, four_terms, generalized_least_squares
from dense_mixed import relative_covariance as dense_covariance

from salstats.stats.models.mixed.crossproducts import crossproducts
from salstats.stats.models.mixed.curvature import covariance_slopes, parameter_covariance
from salstats.stats.models.mixed.deviance import evaluate
from salstats.stats.models.mixed.terms import RandomTerm, lambdas


def _v(theta, terms):
    return dense_covariance(terms, [factor @ factor.T for factor in lambdas(theta, terms)])


def test_slopes_of_the_coefficients_covariance_are_its_differences():
    matrix, response, terms = four_terms()
    products = crossproducts(np.column_stack([matrix, response]), terms)
    sigma = 0.8

    def covariance(parameters):
        v = _v(parameters[:-1], terms)
        return parameters[-1] ** 2 * generalized_least_squares(matrix, response, v)[1]

    evaluation = evaluate(products, lambdas(THETA, terms), reml=True, sigma=sigma)
    slopes = covariance_slopes(evaluation, terms, THETA, sigma)
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
    result = parameter_covariance(products, [term], np.array([theta]), 1.0, reml=reml)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-8)
