"""Least squares against the normal equations."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import salstats as ss
from salstats.stats.models.linear import GAUSSIAN, least_squares


@pytest.fixture(scope="module")
def rows():
    """Model matrix and response, with columns of very different sizes."""
    rng = np.random.default_rng(9)
    matrix = np.column_stack([np.ones(25), 1e-6 * rng.normal(size=25), 1e6 * rng.normal(size=25)])
    return matrix, matrix @ [1.0, 5e5, -1e-6] + rng.normal(size=25)


def test_estimates_solve_the_normal_equations_whatever_the_scale_of_columns(rows):
    matrix, response = rows
    solution = least_squares(matrix, response, True)
    scale = np.array([1, 1e-6, 1e6])
    scaled = matrix / scale
    inverse = np.linalg.inv(scaled.T @ scaled)
    coefficients = inverse @ scaled.T @ response
    np.testing.assert_allclose(solution.coefficients * scale, coefficients, rtol=1e-10)
    np.testing.assert_allclose(solution.bread * np.outer(scale, scale), inverse, rtol=1e-10)
    np.testing.assert_allclose(solution.fitted, scaled @ coefficients, rtol=1e-10)
    np.testing.assert_allclose(solution.leverage, np.diag(scaled @ inverse @ scaled.T), rtol=1e-10)
    np.testing.assert_allclose(solution.scores, matrix * solution.residual[:, None], rtol=1e-10)
    np.testing.assert_array_equal(solution.weights, 1)


def test_statistics_of_fit_are_those_of_the_normal_density(rows):
    matrix, response = rows
    solution = least_squares(matrix, response, True)
    rss = float(np.sum((response - solution.fitted) ** 2))
    assert solution.deviance == pytest.approx(rss, rel=1e-12)
    assert solution.df_residual == 22
    assert solution.dispersion == pytest.approx(rss / 22, rel=1e-12)
    density = stats.norm.logpdf(response, solution.fitted, np.sqrt(rss / 25))
    assert solution.log_likelihood == pytest.approx(density.sum(), rel=1e-12)
    centered = np.sum((response - response.mean()) ** 2)
    assert solution.null_deviance == pytest.approx(centered, rel=1e-12)
    without_intercept = least_squares(matrix[:, 1:], response, False)
    assert without_intercept.null_deviance == pytest.approx(np.sum(response**2), rel=1e-12)
    assert (solution.intercept, without_intercept.intercept) == (True, False)


def test_sampling_weights_count_rows_as_often_as_they_stand_for(rows):
    matrix, response = rows
    weights = np.tile([1.0, 2.0, 3.0, 1.0, 1.0], 5)
    weighted = least_squares(matrix, response, True, weights)
    repeats = np.repeat(np.arange(25), weights.astype(int))
    repeated = least_squares(matrix[repeats], response[repeats], True)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-9)
    np.testing.assert_allclose(weighted.bread, repeated.bread, rtol=1e-9)
    assert weighted.deviance == pytest.approx(repeated.deviance, rel=1e-9)
    expected_scores = matrix * (weights * weighted.residual)[:, None]
    np.testing.assert_allclose(weighted.scores, expected_scores, rtol=1e-9)
    # leverages of equal rows add up
    leverage = np.bincount(repeats, repeated.leverage)
    np.testing.assert_allclose(weighted.leverage, leverage, rtol=1e-9)
    assert np.isnan(weighted.log_likelihood)


@pytest.mark.parametrize("n", [10, 3000])
def test_a_perfect_fit_has_no_dispersion(n):
    matrix = np.column_stack([np.ones(n), np.linspace(0, 1, n)])
    line = matrix @ [1.0, 2.0]
    assert np.isnan(least_squares(matrix, line, True).dispersion)
    noise = 1e-9 * np.random.default_rng(0).normal(size=n)
    assert least_squares(matrix, line + noise, True).dispersion == pytest.approx(1e-18, rel=1)


@pytest.mark.parametrize(
    ("n", "n_spacings", "is_perfect"),
    [(20, 4, True), (20, 12, False), (3000, 600, True), (3000, 1300, False)],
)
def test_a_fit_is_perfect_up_to_the_limit_of_r_which_grows_with_squared_rows(n, n_spacings, is_perfect):
    # Values that differ by s spacings of doubles have residuals of variance (s/2)^2 * 4.9e-32 around the
    # fitted 1. The limit is 1e-30 for up to 30 rows, and 100^2 times as much for 3000.
    response = 1 + n_spacings * np.finfo(float).eps * np.tile([0, 1], n // 2)
    dispersion = least_squares(np.ones((n, 1)), response, True).dispersion
    assert np.isnan(dispersion) == is_perfect


def test_any_outcome_suits_a_linear_model():
    GAUSSIAN.check_outcome(np.array([-1e9, 0.5, 7.0]), "gaussian")
    np.testing.assert_array_equal(GAUSSIAN.variance(np.array([0.1, 5.0])), 1)
    assert GAUSSIAN.is_linear


def test_sigma_counts_as_a_parameter_as_in_r():
    # R's AIC(lm(c(1, 3, 2, 5) ~ c(1, 2, 3, 4))) by definition: RSS 2.7, three parameters
    table = pd.DataFrame({"y": [1.0, 3.0, 2.0, 5.0], "x": [1.0, 2.0, 3.0, 4.0]})
    log_likelihood = -4 / 2 * (np.log(2 * np.pi * 2.7 / 4) + 1)
    found = ss.fit_statistics(table, "y ~ x", errors="classical").iloc[0]
    assert found["log_lik"] == pytest.approx(log_likelihood)
    assert found["aic"] == pytest.approx(-2 * log_likelihood + 2 * 3)
    assert found["bic"] == pytest.approx(-2 * log_likelihood + np.log(4) * 3)
