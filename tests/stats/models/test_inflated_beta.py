"""Zero-one-inflated beta models."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from regression_derivatives import assert_derivatives_are_slopes, scores_with_ends
from scipy import special, stats
from statsmodels.discrete.discrete_model import MNLogit
from tests_support import raises

import salstats as ss
from salstats.errors import ValueRangeError
from salstats.stats.models.family import NotEstimableError
from salstats.stats.models.inflated_beta import inflated_beta

REFERENCE = Path(__file__).parents[2] / "reference" / "ordered_beta"


@pytest.fixture(scope="module")
def scores():
    return pd.read_csv(REFERENCE / "scores.csv")


def test_parts_of_an_inflated_model_are_logits_of_their_own(scores):
    scores = scores.drop(columns="patient")
    fit = ss.fit(scores, "score ~ method + x", by=(), family="zero-one-inflated-beta", errors="classical")
    terms = fit.tidy()
    assert terms["part"].drop_duplicates().tolist() == ["mean", "zero", "one"]
    inside = scores[scores["score"].between(0, 1, inclusive="neither")]
    mean = ss.regress(inside, "score ~ method + x", by=(), family="beta", errors="classical")
    own = terms[terms["part"] == "mean"]
    np.testing.assert_allclose(own["estimate"], mean["estimate"], rtol=1e-8)
    # without ones the part of the zeros is a logit of zero against all else
    rows = scores.assign(zero=(scores["no_ones"] == 0).astype(float))
    logit = ss.regress(rows, "zero ~ method + x", by=(), family="binomial", errors="classical")
    only = ss.regress(
        rows, "no_ones ~ method + x", by=(), family="zero-one-inflated-beta", errors="classical"
    )
    assert only["part"].drop_duplicates().tolist() == ["mean", "zero"]
    zero = only[only["part"] == "zero"]
    np.testing.assert_allclose(zero["estimate"], logit["estimate"], rtol=1e-8)
    np.testing.assert_allclose(zero["std_error"], logit["std_error"], rtol=1e-7)
    assert fit.joint("x")["df"].item() == 3


def inflated_solution(*, zeros=True, ones=True):
    """The solution of 80 scores, of which some are 0 and 1."""
    matrix, response = scores_with_ends(zeros=zeros, ones=ones)
    return inflated_beta(matrix, response, has_intercept=True), response


@pytest.mark.parametrize(("zeros", "ones"), [(True, True), (True, False), (False, True), (False, False)])
def test_derivatives_of_the_mean_are_slopes_of_small_steps(zeros, ones):
    solution, _ = inflated_solution(zeros=zeros, ones=ones)
    n_predictors = len(solution.predictor_names) + len(solution.nuisance_parameters)
    predictors = np.random.default_rng(5).normal(size=(9, n_predictors))
    assert_derivatives_are_slopes(solution.mean_function, predictors)


def test_the_likelihood_and_the_mean_are_those_of_the_mixture():
    solution, response = inflated_solution()
    matrix = solution.matrix
    parts = dict(zip(solution.predictor_names, solution.coefficients.reshape(3, 2), strict=True))
    odds_zero, odds_one = np.exp(matrix @ parts["zero"]), np.exp(matrix @ parts["one"])
    interior = 1 / (1 + odds_zero + odds_one)
    mu, phi = special.expit(matrix @ parts["mean"]), solution.parameters["precision"]
    inside = np.clip(response, 1e-9, 1 - 1e-9)
    density = interior * stats.beta.pdf(inside, mu * phi, (1 - mu) * phi)
    density = np.where(response == 0, odds_zero * interior, density)
    density = np.where(response == 1, odds_one * interior, density)
    assert solution.log_likelihood == pytest.approx(np.log(density).sum())
    np.testing.assert_allclose(solution.fitted, interior * mu + odds_one * interior)
    # E(y^2) - E(y)^2
    square = interior * (mu**2 + mu * (1 - mu) / (1 + phi)) + odds_one * interior
    np.testing.assert_allclose(solution.variances, square - solution.fitted**2)
    # at the maximum the scores sum to 0
    np.testing.assert_allclose(solution.scores.sum(axis=0), 0, atol=1e-6)


def test_the_information_on_the_parts_is_that_of_a_multinomial_logit():
    solution, response = inflated_solution()
    category = np.where(response == 0, 1, np.where(response == 1, 2, 0))
    multinomial = MNLogit(category, solution.matrix).fit(disp=0, tol=1e-12)
    # parts: mean, zero, one
    np.testing.assert_allclose(solution.coefficients[2:], multinomial.params.T.ravel(), rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(solution.bread)[2:6]), multinomial.bse.T.ravel(), rtol=1e-5)


@pytest.mark.parametrize(("score", "part"), [(0.0, "zeros"), (1.0, "ones")])
def test_terms_that_separate_zeros_or_ones_have_no_estimates(score, part):
    x = np.arange(20.0)
    matrix = np.column_stack([np.ones(20), x])
    response = np.where(x < 6, score, 0.5 + 0.01 * (x % 7))
    with raises(NotEstimableError, column="term", value=[part]):
        inflated_beta(matrix, response, has_intercept=True)
    overlapping = np.where(x % 3 == 0, score, response.clip(0.2, 0.8))
    assert np.isfinite(inflated_beta(matrix, overlapping, has_intercept=True).coefficients).all()


def test_a_term_without_scores_in_between_has_no_mean():
    group = np.repeat([0.0, 1.0], 10)
    response = np.where(group == 1, np.arange(20) % 2, 0.3 + 0.02 * np.arange(20))
    with raises(NotEstimableError):
        inflated_beta(np.column_stack([np.ones(20), group]), response, has_intercept=True)


def test_scores_outside_0_and_1_are_an_error():
    table = pd.DataFrame({"score": [0.0, 0.2, 1.2, 0.7, 0.6], "x": [1.0, 2, 4, 3, 5]})
    with raises(ValueRangeError, option="family", value="zero-one-inflated-beta"):
        ss.regress(table, "score ~ x", family="zero-one-inflated-beta")
