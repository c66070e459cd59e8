"""Kenward and Roger's covariance against its formulas with all matrices written out."""

import numpy as np
from dense_mixed import THETA, four_terms, random_effects_matrix, relative_covariance

from salstats.stats.models.mixed.adjusted_covariance import adjusted_covariance
from salstats.stats.models.mixed.crossproducts import crossproducts
from salstats.stats.models.mixed.deviance import evaluate_deviance
from salstats.stats.models.mixed.terms import relative_covariance_factors


def _slopes_of_v(terms):
    """Derivatives of V by the residuals' variance, then by each variance and covariance of the terms."""
    slopes = [np.eye(len(terms[0].codes))]
    for term in terms:
        z = random_effects_matrix(term)
        n_effects = len(term.effects)
        for column in range(n_effects):
            for row in range(column, n_effects):
                if row != column and not term.correlated:
                    continue
                entry = np.zeros((n_effects, n_effects))
                entry[row, column] = 1
                entry[column, row] = 1
                slopes.append(z @ np.kron(np.eye(term.n_levels), entry) @ z.T)
    return slopes


def test_covariances_are_those_of_kenward_and_roger():
    x, response, terms = four_terms()
    factors = relative_covariance_factors(THETA, terms)
    products = crossproducts(np.column_stack([x, response]), terms)
    result = adjusted_covariance(products, terms, factors, evaluate_deviance(products, factors, reml=True))

    v = relative_covariance(terms, [factor @ factor.T for factor in factors])
    v_inverse = np.linalg.inv(v)
    c = np.linalg.inv(x.T @ v_inverse @ x)
    p = v_inverse - v_inverse @ x @ c @ x.T @ v_inverse
    slopes = _slopes_of_v(terms)
    p_slopes = [p @ slope for slope in slopes]
    information = np.array([[np.vdot(first, second.T) for second in p_slopes] for first in p_slopes])
    w = 2 * np.linalg.inv(information)
    np.testing.assert_allclose(result.unadjusted, c, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.parameter_covariance, w, rtol=1e-6, atol=1e-8)

    # Kenward and Roger (1997): Q_ij - P_i C P_j = X'V^-1 V_i P V_j V^-1 X
    total = np.zeros((3, 3))
    for i, first in enumerate(slopes):
        for j, second in enumerate(slopes):
            total += w[i, j] * x.T @ v_inverse @ first @ p @ second @ v_inverse @ x
    np.testing.assert_allclose(result.adjusted, c + 2 * c @ total @ c, rtol=1e-7, atol=1e-10)
    by_parameter = [c @ x.T @ v_inverse @ slope @ v_inverse @ x @ c for slope in slopes]
    np.testing.assert_allclose(result.slopes, by_parameter, rtol=1e-7, atol=1e-10)
