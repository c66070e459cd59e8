"""Second derivatives of the deviance against differences of the first, and those of the deviance."""

import numpy as np
import pytest

from salstats.stats.models.mixed.deviance import evaluate, gradient
from salstats.stats.models.mixed.information import hessian
from salstats.stats.models.mixed.linear_mixed_model import RandomTerm, scale
from salstats.stats.models.mixed.terms import lambdas

# five-point differences with a step of 1e-3
TOLERANCE = 1e-8
THETA = np.array([0.5, 0.2, 0.3, 0.4, -0.1, 0.6, 0.3, 0.2, 0.35])


@pytest.fixture(scope="module")
def model():
    """Slopes of crossed and nested factors, correlated and not, in blocks and dense."""
    rng = np.random.default_rng(3)
    n = 300
    reader, case, method = rng.integers(0, 12, n), rng.integers(0, 40, n), rng.integers(0, 2, n)
    matrix = np.column_stack([np.ones(n), method, rng.normal(size=n)])
    terms = [
        RandomTerm("reader", ("a", "b"), reader, 12, matrix[:, :2]),
        RandomTerm("case", ("a", "b"), case, 40, matrix[:, :2]),
        RandomTerm("patient", ("a", "b"), case // 4, 10, matrix[:, [0, 2]], correlated=False),
        RandomTerm("group", ("a",), method * 3 + reader // 4, 6, matrix[:, :1]),
    ]
    return scale(matrix, rng.normal(size=n), terms)


def _differences(function, at):
    """Derivatives by each element, exact for polynomials of degree four."""
    steps = 1e-3 * np.eye(len(at))
    near = [8 * (function(at + h) - function(at - h)) for h in steps]
    far = [function(at + 2 * h) - function(at - 2 * h) for h in steps]
    return (np.array(near) - np.array(far)) / 12e-3


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
@pytest.mark.parametrize("sigma", [None, 0.8], ids=["profiled", "sigma"])
def test_derivatives_are_those_of_the_deviance(model, reml, sigma):
    def value(theta):
        return evaluate(model.products, lambdas(theta, model.terms), reml=reml, sigma=sigma).deviance

    def slope(theta, sigma=sigma):
        factors = lambdas(theta, model.terms)
        return gradient(evaluate(model.products, factors, reml=reml, sigma=sigma), factors, model.terms)

    first = slope(THETA)
    np.testing.assert_allclose(_differences(value, THETA), first, atol=TOLERANCE * np.abs(first).max())
    factors = lambdas(THETA, model.terms)
    found = evaluate(model.products, factors, reml=reml, sigma=sigma)
    second = hessian(model.products, model.terms, factors, found, reml=reml, sigma=sigma)
    m = len(THETA)
    np.testing.assert_allclose(
        _differences(slope, THETA), second[:m, :m], atol=TOLERANCE * np.abs(second).max()
    )
    if sigma is not None:
        by_sigma = _differences(lambda s: slope(THETA, s.item()), np.array([sigma]))[0]
        np.testing.assert_allclose(by_sigma, second[m, :m], atol=TOLERANCE * np.abs(second).max())


def test_both_parts_of_the_layout_are_met(model):
    assert model.products.dense == (0, 3)
    assert model.products.batches[0].products.shape[:2] == (10, 10)
