"""Likelihood-ratio tests of variances against their definition and R's lmerTest."""

import numpy as np
import pytest
from dense_mixed import deviance, relative_covariance
from lme4_oracle import ATOL_LIKELIHOOD, r_rows
from scipy.optimize import minimize_scalar
from scipy.stats import chi2

from salstats.stats.models.mixed.linear_mixed_model import RandomTerm, fit_mixed
from salstats.stats.models.mixed.ratio_tests import likelihood_ratio, log_likelihood_with_terms


def _one_factor(deviation):
    """Model matrix, response and term of 20 cases with 3 rows each."""
    rng = np.random.default_rng(11)
    codes = np.repeat(np.arange(20), 3)
    matrix = np.column_stack([np.ones(60), rng.normal(size=60)])
    response = deviation * rng.normal(size=20)[codes] + rng.normal(size=60)
    return matrix, response, RandomTerm("case", ("(Intercept)",), codes, 20, matrix[:, :1])


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
def test_statistic_is_the_difference_of_deviances_and_p_that_of_the_mixture(reml):
    matrix, response, term = _one_factor(0.5)

    def deviance_at(variance):
        v = relative_covariance([term], [np.array([[variance]])])
        return deviance(matrix, response, v, reml=reml)

    least = minimize_scalar(deviance_at, bounds=(0, 5), method="bounded", options={"xatol": 1e-9}).fun
    solution = fit_mixed(matrix, response, [term], reml=reml)
    ratio = likelihood_ratio(solution, 0)
    assert ratio.statistic == pytest.approx(deviance_at(0.0) - least, abs=1e-7)
    assert ratio.statistic > 1
    assert ratio.df == 1
    # half the time the estimate is zero, and so is the statistic
    assert ratio.p_value == pytest.approx(chi2.sf(ratio.statistic, 1) / 2, rel=1e-12)
    assert log_likelihood_with_terms(solution, []) == pytest.approx(-deviance_at(0.0) / 2, rel=1e-12)


def test_a_variance_of_zero_has_statistic_0_and_p_1():
    matrix, response, term = _one_factor(0.0)
    centred = response - np.repeat(response.reshape(20, 3).mean(axis=1), 3)
    solution = fit_mixed(matrix, centred, [term])
    assert likelihood_ratio(solution, 0) == (0.0, 1, 1.0)


@pytest.mark.parametrize(("excess", "is_zero"), [(5e-5, True), (5e-4, False)])
def test_a_statistic_within_rounding_of_the_log_likelihood_is_0(excess, is_zero):
    # cases' means such that the mean square between cases is 1 + excess times that within
    matrix, response, term = _one_factor(0.0)
    means = response.reshape(20, 3).mean(axis=1)
    within = response - means.repeat(3)
    mean_square_within = (within**2).sum() / 40
    mean_square_between = (1 + excess) * mean_square_within
    means = (means - means.mean()) * np.sqrt(mean_square_between / (3 * means.var(ddof=1)))
    solution = fit_mixed(matrix[:, :1], within + means.repeat(3), [term])
    ratio = likelihood_ratio(solution, 0)
    pooled = (19 * mean_square_between + 40 * mean_square_within) / 59
    expected = 59 * np.log(pooled) - 19 * np.log(mean_square_between) - 40 * np.log(mean_square_within)
    # 1e-9 of a log likelihood of about 90 lies between 2e-8 and 2e-6
    assert 80 < abs(solution.log_likelihood) < 100
    if is_zero:
        assert ratio == (0.0, 1, 1.0)
    else:
        assert ratio.statistic == pytest.approx(expected, rel=1e-4)
        assert ratio.p_value == pytest.approx(chi2.sf(expected, 1) / 2, rel=1e-6)


def test_an_effect_and_its_covariance_are_tested_against_the_model_without(slopes):
    matrix, response, terms = slopes
    solution = fit_mixed(matrix, response, terms)
    ratio = likelihood_ratio(solution, 0, [1])
    intercept = RandomTerm("reader", ("(Intercept)",), terms[0].codes, 12, matrix[:, :1])
    smaller = fit_mixed(matrix, response, [intercept, terms[1]])
    difference = solution.log_likelihood - smaller.log_likelihood
    assert ratio.statistic == pytest.approx(2 * difference, rel=1e-8)
    assert ratio.df == 2
    expected = (chi2.sf(ratio.statistic, 1) + chi2.sf(ratio.statistic, 2)) / 2
    assert ratio.p_value == pytest.approx(expected, rel=1e-12)
    # without a term of two effects there is no mixture of two distributions, and P is conservative
    whole = likelihood_ratio(solution, 0)
    assert whole.df == 3
    assert whole.p_value == pytest.approx(chi2.sf(whole.statistic, 3), rel=1e-12)


def test_tests_of_terms_are_lmertests(lme4_model, reml):
    solution = lme4_model.solution
    names = [term.name for term in solution.terms]
    for _, row in r_rows("drops", lme4_model.name, reml).iterrows():
        effect, factor = row["dropped"].strip("()").split(" | ")
        dropped = None
        if lme4_model.name == "independent" and factor == "reader":
            dropped = {"0 + prob": [1], "1": [0]}[effect]
        ratio = likelihood_ratio(solution, names.index(factor), dropped)
        np.testing.assert_allclose(ratio.statistic, row["statistic"], rtol=0, atol=4 * ATOL_LIKELIHOOD)
        assert ratio.df == row["df"]
        np.testing.assert_allclose(chi2.sf(ratio.statistic, ratio.df), row["p_value"], rtol=1e-6)
        if row["df"] == 1:
            np.testing.assert_allclose(ratio.p_value, row["p_value"] / 2, rtol=1e-6)
