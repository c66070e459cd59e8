"""Columns that can be estimated, and fitting a model of a family."""

import numpy as np
from tests_support import raises

from salstats.stats.models.families import FAMILIES
from salstats.stats.models.family import (
    NotEstimableError,
    estimable_column_positions,
    fit_model,
    qr_and_leverage,
)
from salstats.stats.models.linear import GAUSSIAN


def test_estimable_positions_are_those_of_the_first_of_those_that_depend_on_each_other():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 20))
    one = np.ones(20)
    matrix = np.column_stack([one, 5 * one, a, a + 2, b, a - b, 1e-8 * c, c + 3 * a - 1])
    assert estimable_column_positions(matrix).tolist() == [0, 2, 4, 6]
    assert estimable_column_positions(matrix[:3]).tolist() == [0, 2, 4]
    assert estimable_column_positions(np.zeros((5, 2))).tolist() == []


def test_a_model_needs_more_rows_than_coefficients():
    matrix = np.column_stack([np.ones(4), [1.0, 2, 4, 3], [2.0, 4, 8, 6]])
    response = np.array([0.1, 0.4, 0.2, 0.5])
    solution = fit_model(matrix[:3], response[:3], ["a", "b", "c"], GAUSSIAN, has_intercept=True)
    assert solution.column_positions.tolist() == [0, 1]
    assert solution.df_residual == 1
    with raises(NotEstimableError, value=2):
        fit_model(matrix[:2], response[:2], ["a", "b", "c"], GAUSSIAN, has_intercept=True)
    with raises(NotEstimableError, value=1):
        fit_model(matrix[:1, :1], response[:1], ["a"], GAUSSIAN, has_intercept=True)
    with raises(NotEstimableError, value=0):
        fit_model(matrix[:0], response[:0], ["a", "b", "c"], GAUSSIAN, has_intercept=True)


def test_a_model_of_columns_that_are_0_has_no_term():
    response = np.array([0.1, 0.4, 0.2, 0.5])
    with raises(NotEstimableError, value=4, column="term"):
        fit_model(np.zeros((4, 3)), response, ["a", "b", "c"], GAUSSIAN, has_intercept=False)


def test_leverages_are_the_diagonal_of_the_hat_matrix():
    matrix = np.column_stack([np.ones(4), [1.0, 2, 4, 3]])
    decomposition = qr_and_leverage(matrix)
    gram_inverse = np.linalg.inv(matrix.T @ matrix)
    np.testing.assert_allclose(decomposition.gram_inverse, gram_inverse, rtol=1e-12)
    np.testing.assert_allclose(decomposition.leverage, np.diag(matrix @ gram_inverse @ matrix.T), rtol=1e-12)


def test_families_with_the_identity_as_link_are_linear():
    linear = {name for name, family in FAMILIES.items() if family.is_linear}
    assert GAUSSIAN.is_linear
    assert linear.isdisjoint({"binomial", "fractional", "beta"})
