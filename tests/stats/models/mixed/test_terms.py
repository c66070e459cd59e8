"""Theta fills the relative covariance factors, and is read from them again."""

import numpy as np

from salstats.stats.models.mixed.terms import (
    RandomTerm,
    is_diagonal_entry,
    relative_covariance_factors,
    theta_entries,
)


def _terms():
    """A term with three correlated effects, and one with two independent effects."""
    codes = np.array([0, 1, 0, 1])
    matrix = np.ones((4, 3))
    return [
        RandomTerm("reader", ("a", "b", "c"), codes, 2, matrix),
        RandomTerm("case", ("a", "b"), codes, 2, matrix[:, :2], correlated=False),
    ]


def test_theta_fills_lower_triangles_by_columns_and_diagonals_of_independent_effects():
    correlated, independent = relative_covariance_factors(np.arange(1.0, 9.0), _terms())
    np.testing.assert_array_equal(correlated, [[1, 0, 0], [2, 4, 0], [3, 5, 6]])
    np.testing.assert_array_equal(independent, [[7, 0], [0, 8]])
    assert [term.n_parameters for term in _terms()] == [6, 2]


def test_theta_is_read_from_the_factors_that_it_filled():
    theta = np.arange(1.0, 9.0)
    np.testing.assert_array_equal(
        theta_entries(relative_covariance_factors(theta, _terms()), _terms()), theta
    )


def test_entries_on_diagonals_are_those_that_cannot_be_negative():
    expected = [True, False, False, True, False, True, True, True]
    np.testing.assert_array_equal(is_diagonal_entry(_terms()), expected)
