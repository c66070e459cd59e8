"""Second derivatives of the deviance against differences of the first."""

import numpy as np
import pytest
from dense_mixed import THETA, differences, four_terms

from salstats.stats.models.mixed.deviance import evaluate, gradient
from salstats.stats.models.mixed.information import covariance_entries, hessian
from salstats.stats.models.mixed.linear_mixed_model import scale
from salstats.stats.models.mixed.terms import lambdas

#: Five-point differences with a step of 1e-3.
TOLERANCE = 1e-8


@pytest.fixture(scope="module")
def model():
    return scale(*four_terms())


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
@pytest.mark.parametrize("sigma", [None, 0.8], ids=["profiled", "sigma"])
def test_second_derivatives_are_those_of_the_gradient(model, reml, sigma):
    def slope(theta, sigma=sigma):
        factors = lambdas(theta, model.terms)
        return gradient(evaluate(model.products, factors, reml=reml, sigma=sigma), factors, model.terms)

    factors = lambdas(THETA, model.terms)
    evaluation = evaluate(model.products, factors, reml=reml, sigma=sigma)
    second = hessian(model.products, model.terms, factors, evaluation, reml=reml, sigma=sigma)
    m = len(THETA)
    tolerance = TOLERANCE * np.abs(second).max()
    np.testing.assert_allclose(differences(slope, THETA), second[:m, :m], atol=tolerance)
    if sigma is not None:
        by_sigma = differences(lambda s: slope(THETA, s.item()), np.array([sigma]))[0]
        np.testing.assert_allclose(by_sigma, second[m, :m], atol=tolerance)

        # -2 log likelihood is df log(sigma^2) + rss / sigma^2 + terms without sigma
        def by_sigma_alone(s):
            return evaluate(model.products, factors, reml=reml, sigma=s.item()).deviance

        def slope_by_sigma(s):
            return differences(by_sigma_alone, s)[0]

        twice = differences(slope_by_sigma, np.array([sigma]))[0]
        np.testing.assert_allclose(twice, second[m, m], rtol=1e-6)


def test_entries_are_symmetric_and_stand_in_the_order_of_theta(model):
    entries = covariance_entries(model.terms)
    assert [entry.term for entry in entries] == [0, 0, 0, 1, 1, 1, 2, 2, 3]
    reader = [entry.matrix.tolist() for entry in entries[:3]]
    assert reader == [[[1, 0], [0, 0]], [[0, 1], [1, 0]], [[0, 0], [0, 1]]]
