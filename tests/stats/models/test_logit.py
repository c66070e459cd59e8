"""Logit models against statsmodels, and outcomes that have no estimates."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import special, stats
from tests_support import raises

import salstats as ss
from salstats.errors import ValueRangeError
from salstats.stats.models.family import NotEstimableError
from salstats.stats.models.logit import BINOMIAL, FRACTIONAL, LOGIT, logit, terms_separate_outcomes


def test_separation_is_found_exactly():
    x = np.array([1.0, 2, 3, 4, 5, 6])
    matrix = np.column_stack([np.ones(6), x])
    assert terms_separate_outcomes(matrix, (x > 3).astype(float))
    assert terms_separate_outcomes(matrix, np.ones(6))
    assert terms_separate_outcomes(matrix, np.array([0, 0, 0, 1, 1, 1.0]))
    assert not terms_separate_outcomes(matrix, np.array([0, 1, 0, 1, 0, 1.0]))
    assert not terms_separate_outcomes(matrix, np.array([0.2, 0.3, 0.1, 0.9, 0.5, 0.4]))
    assert not terms_separate_outcomes(matrix, np.array([0, 0, 0.5, 1, 0.5, 0.9]))
    overlap_at_a_point = np.array([0, 0, 0, 1, 1, 1.0])
    assert terms_separate_outcomes(np.column_stack([np.ones(6), [1, 2, 3, 3, 4, 5.0]]), overlap_at_a_point)


def test_the_fit_reaches_the_maximum_whatever_the_scale_of_its_columns():
    rng = np.random.default_rng(5)
    matrix = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
    hit = (matrix @ [0.2, 0.5, -0.3] + rng.normal(size=40) > 0).astype(float)
    fit = logit(matrix, hit, True)
    np.testing.assert_allclose(matrix.T @ (hit - fit.fitted), 0, atol=1e-10)
    scale = np.array([1, 1e-6, 1e6])
    scaled = logit(matrix * scale, hit, True)
    np.testing.assert_allclose(scaled.coefficients * scale, fit.coefficients, rtol=1e-9)


def fitted_scores(n=40, seed=5):
    rng = np.random.default_rng(seed)
    matrix = np.column_stack([np.ones(n), rng.normal(size=n)])
    return matrix, (matrix @ [0.2, 0.5] + rng.normal(size=n) > 0).astype(float)


def test_deviances_and_likelihood_are_those_of_statsmodels():
    matrix, hit = fitted_scores()
    theirs = sm.GLM(hit, matrix, family=sm.families.Binomial()).fit()
    fit = logit(matrix, hit, has_intercept=True)
    for name, expected in (("deviance", theirs.deviance), ("null_deviance", theirs.null_deviance)):
        assert getattr(fit, name) == pytest.approx(expected)
    assert fit.log_likelihood == pytest.approx(theirs.llf)
    assert (fit.dispersion, fit.df_residual) == (1.0, 38.0)
    np.testing.assert_allclose(fit.bread, theirs.cov_params(), rtol=1e-5)
    np.testing.assert_allclose(fit.leverage, theirs.get_influence().hat_matrix_diag, rtol=1e-5)
    # without an intercept the null model has probability 1/2
    through_0 = logit(matrix[:, 1:], hit, has_intercept=False)
    assert through_0.null_deviance == pytest.approx(80 * np.log(2))


def test_fractions_have_pearsons_dispersion_and_no_likelihood():
    matrix, hit = fitted_scores()
    fraction = 0.2 + 0.5 * hit + 0.1 * np.sin(np.arange(40))
    fit = logit(matrix, fraction, has_intercept=True, quasi=True)
    residual = (fraction - fit.fitted) / np.sqrt(fit.fitted * (1 - fit.fitted))
    assert fit.dispersion == pytest.approx((residual**2).sum() / 38)
    assert np.isnan(fit.log_likelihood)
    exact = special.expit(matrix @ [0.3, 0.4])
    assert np.isnan(logit(matrix, exact, has_intercept=True, quasi=True).dispersion)


def test_whole_weights_are_repeated_rows_without_a_likelihood():
    matrix, hit = fitted_scores()
    weights = 1.0 + np.arange(40) % 3
    fit = logit(matrix, hit, True, weights)
    rows = np.repeat(np.arange(40), weights.astype(int))
    repeated = logit(matrix[rows], hit[rows], True)
    np.testing.assert_allclose(fit.coefficients, repeated.coefficients, rtol=1e-9)
    np.testing.assert_allclose(fit.bread, repeated.bread, rtol=1e-8)
    for name in ("deviance", "null_deviance"):
        assert getattr(fit, name) == pytest.approx(getattr(repeated, name))
    np.testing.assert_allclose(fit.scores.sum(axis=0), 0, atol=1e-9)
    assert np.isnan(fit.log_likelihood)


def test_outcomes_that_terms_separate_have_no_estimates():
    x = np.arange(8.0)
    matrix = np.column_stack([np.ones(8), x])
    with raises(NotEstimableError, column="term"):
        logit(matrix, (x > 3).astype(float), True)
    with raises(NotEstimableError, column=None, value=1):
        logit(matrix, np.ones(8), True)


def test_derivatives_of_the_link_are_slopes_of_small_steps():
    predictor, step = np.linspace(-4, 4, 9), 1e-5
    first = (LOGIT.mean(predictor + step) - LOGIT.mean(predictor - step)) / (2 * step)
    np.testing.assert_allclose(LOGIT.first_derivative(predictor), first, rtol=1e-7)
    second = (LOGIT.first_derivative(predictor + step) - LOGIT.first_derivative(predictor - step)) / (
        2 * step
    )
    np.testing.assert_allclose(LOGIT.second_derivative(predictor), second, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize(
    ("family", "scores", "is_valid"),
    [
        (BINOMIAL, [0.0, 1.0], True),
        (BINOMIAL, [0.0, 0.5], False),
        (FRACTIONAL, [0.0, 0.5, 1.0], True),
        (FRACTIONAL, [-0.1, 0.5], False),
        (FRACTIONAL, [0.5, 1.1], False),
    ],
)
def test_outcomes_of_a_family_lie_in_its_range(family, scores, is_valid):
    if is_valid:
        family.check_outcome(np.array(scores), family.name)
        return
    with raises(ValueRangeError, option="family", value=family.name):
        family.check_outcome(np.array(scores), family.name)


def test_coefficients_of_hits_are_tested_by_the_normal_distribution_and_those_of_fractions_by_students_t():
    matrix, hit = fitted_scores()
    rows = pd.DataFrame({"x": matrix[:, 1], "hit": hit, "share": 0.2 + 0.5 * hit})
    of_hits = ss.regress(rows, "hit ~ x", family="binomial", errors="classical").iloc[1]
    assert np.isnan(of_hits["df"])
    assert of_hits["p_value"] == pytest.approx(2 * stats.norm.sf(abs(of_hits["statistic"])))
    of_shares = ss.regress(rows, "share ~ x", family="fractional", errors="classical").iloc[1]
    quasi = sm.GLM(rows["share"], matrix, family=sm.families.Binomial()).fit(scale="X2")
    assert of_shares["std_error"] == pytest.approx(quasi.bse.iloc[1], rel=1e-6)
    assert of_shares["df"] == 38
    assert of_shares["p_value"] == pytest.approx(2 * stats.t.sf(abs(of_shares["statistic"]), 38))
