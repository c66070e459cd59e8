"""The deviance by elimination of blocks against the normal density with its covariance written out."""

import numpy as np
import pytest
from dense_mixed import THETA, differences, four_terms, generalized_least_squares, relative_covariance
from dense_mixed import deviance as dense_deviance

from salstats.stats.models.mixed.crossproducts import crossproducts
from salstats.stats.models.mixed.deviance import (
    evaluate_deviance,
    theta_gradient,
    z_by_z_per_level_weighted_by_blocked_terms,
)
from salstats.stats.models.mixed.terms import RandomTerm, relative_covariance_factors

RTOL = 1e-10


def _covariance(theta, terms):
    return relative_covariance(
        terms, [factor @ factor.T for factor in relative_covariance_factors(theta, terms)]
    )


@pytest.fixture(scope="module")
def model():
    return four_terms()


@pytest.mark.parametrize("theta", [THETA, 0 * THETA, np.where(np.arange(9) < 3, 0, THETA)])
@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
@pytest.mark.parametrize("sigma", [None, 0.8], ids=["profiled", "sigma"])
def test_deviance_is_that_of_the_normal_density_also_without_variances(model, theta, reml, sigma):
    matrix, response, terms = model
    products = crossproducts(np.column_stack([matrix, response]), terms)
    evaluation = evaluate_deviance(
        products, relative_covariance_factors(theta, terms), reml=reml, sigma=sigma
    )
    v = _covariance(theta, terms)
    expected = dense_deviance(matrix, response, v, reml=reml, sigma=sigma)
    assert evaluation.deviance == pytest.approx(expected, rel=RTOL)
    coefficients, inverse, rss = generalized_least_squares(matrix, response, v)
    np.testing.assert_allclose(evaluation.coefficients, coefficients, rtol=1e-8)
    information = evaluation.cholesky_factor @ evaluation.cholesky_factor.T
    np.testing.assert_allclose(information @ inverse, np.eye(3), atol=1e-10)
    assert evaluation.rss == pytest.approx(rss, rel=RTOL)
    assert evaluation.df == (297 if reml else 300)
    assert evaluation.variance == pytest.approx(rss / evaluation.df if sigma is None else sigma**2, rel=RTOL)


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
@pytest.mark.parametrize("sigma", [None, 0.8], ids=["profiled", "sigma"])
def test_gradient_is_that_of_the_deviance(model, reml, sigma):
    matrix, response, terms = model
    products = crossproducts(np.column_stack([matrix, response]), terms)
    factors = relative_covariance_factors(THETA, terms)
    slopes = theta_gradient(evaluate_deviance(products, factors, reml=reml, sigma=sigma), factors, terms)

    def dense(theta):
        return dense_deviance(matrix, response, _covariance(theta, terms), reml=reml, sigma=sigma)

    expected = differences(dense, THETA)
    np.testing.assert_allclose(slopes, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_products_of_levels_are_weighted_by_the_covariance(model):
    matrix, response, terms = model
    products = crossproducts(np.column_stack([matrix, response]), terms)
    evaluation = evaluate_deviance(products, relative_covariance_factors(THETA, terms), reml=False)
    v_inverse = np.linalg.inv(_covariance(THETA, terms))
    coefficients, _, _ = generalized_least_squares(matrix, response, np.linalg.inv(v_inverse))
    residual = response - matrix @ coefficients
    for position, term in enumerate(terms):
        blocks = z_by_z_per_level_weighted_by_blocked_terms(products, evaluation.weighted, position)
        columns = products.term_columns[position]
        for level in range(term.n_levels):
            z = term.matrix * (term.codes == level)[:, None]
            loadings = evaluation.weighted.loadings[:, columns[level]]
            block = blocks[level] - loadings.T @ loadings
            np.testing.assert_allclose(block, z.T @ v_inverse @ z, atol=1e-9)
            z_by_residual = evaluation.residual_products[position][level]
            np.testing.assert_allclose(z_by_residual, z.T @ v_inverse @ residual, atol=1e-9)
            z_by_x = evaluation.fixed_products[position][level]
            np.testing.assert_allclose(z_by_x, z.T @ v_inverse @ matrix, atol=1e-9)


def test_blocks_of_one_column_need_no_matrices_and_give_the_same():
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(10), 3)
    matrix = np.ones((30, 1))
    response = rng.normal(size=30)
    term = RandomTerm("case", ("(Intercept)",), codes, 10, matrix)
    products = crossproducts(np.column_stack([matrix, response]), [term])
    assert products.batches[0].products.shape[1] == 1
    evaluation = evaluate_deviance(products, [np.array([[0.7]])], reml=True)
    v = relative_covariance([term], [np.array([[0.49]])])
    assert evaluation.deviance == pytest.approx(dense_deviance(matrix, response, v, reml=True), rel=RTOL)
