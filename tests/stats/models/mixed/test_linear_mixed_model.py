"""Mixed models against their definition and R's lme4, and what they are not to depend on."""

import numpy as np
import pytest
from lme4_oracle import ATOL_LIKELIHOOD, r_rows
from scipy.stats import multivariate_normal
from tests_support import raises

from salstats.errors import SalstatsError
from salstats.stats.models.mixed.linear_mixed_model import RandomTerm, fit_mixed


def _dense(matrix, terms, covariances, sigma):
    """Z and the covariance of the response, in full."""
    z = [np.zeros((len(matrix), t.n_levels, len(t.effects))) for t in terms]
    for part, term in zip(z, terms, strict=True):
        part[np.arange(len(matrix)), term.codes] = term.matrix
    spread = sigma**2 * np.eye(len(matrix))
    for part, covariance in zip(z, covariances, strict=True):
        spread += np.einsum("nli,ij,mlj->nm", part, covariance, part)
    return z, spread


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
def test_fit_meets_its_definition(slopes, reml):
    matrix, response, terms = slopes
    found = fit_mixed(matrix, response, terms, reml=reml)
    z, spread = _dense(matrix, terms, found.covariances, found.sigma)
    inverse = np.linalg.inv(spread)
    information = matrix.T @ inverse @ matrix
    coefficients = np.linalg.solve(information, matrix.T @ inverse @ response)
    residual = response - matrix @ coefficients
    np.testing.assert_allclose(found.coefficients, coefficients, rtol=1e-9)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(information), rtol=1e-9)
    expected = multivariate_normal(np.zeros(len(residual)), spread).logpdf(residual)
    if reml:
        expected += np.log(2 * np.pi) - np.linalg.slogdet(information)[1] / 2
    np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-11)
    for k in range(2):
        blups = np.einsum("nli,n->li", z[k], inverse @ residual) @ found.covariances[k]
        np.testing.assert_allclose(found.random_effects[k], blups, rtol=1e-8, atol=1e-10)
    fitted = response - found.sigma**2 * inverse @ residual
    np.testing.assert_allclose(found.fitted, fitted, rtol=1e-9)


def test_likelihoods_are_restricted_unless_that_is_declined(slopes):
    log_likelihood = fit_mixed(*slopes).log_likelihood
    assert log_likelihood == fit_mixed(*slopes, reml=True).log_likelihood
    assert log_likelihood != fit_mixed(*slopes, reml=False).log_likelihood


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
def test_the_errors_of_a_balanced_design_are_those_of_its_mean_squares(reml):
    # sigma^2 is the mean square within cases, here with 60 degrees of freedom, and its variance is 2 sigma^4
    # / 60, so that the error of sigma is sigma times the root of 1 / 120.
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(20), 4)
    matrix = np.ones((80, 1))
    response = 100 * (rng.normal(size=20)[codes] + rng.normal(size=80))
    term = RandomTerm("case", ("(Intercept)",), codes, 20, 7 * matrix)
    found = fit_mixed(matrix, response, [term], reml=reml)
    error = np.sqrt(found.scaled_parameter_covariance[-1, -1])
    np.testing.assert_allclose(error / found.scaled_sigma, np.sqrt(1 / 120), rtol=1e-6)


def test_variance_of_no_use_is_zero_and_said(slopes):
    matrix, response, terms = slopes
    # within a case all agree
    centred = response - np.array([response[terms[1].codes == c].mean() for c in range(40)])[terms[1].codes]
    found = fit_mixed(matrix, centred, terms)
    assert found.covariances[1].item() == 0.0
    assert found.is_singular
    assert found.converged
    without = fit_mixed(matrix, centred, terms[:1])
    np.testing.assert_allclose(found.log_likelihood, without.log_likelihood, rtol=1e-11)
    np.testing.assert_array_equal(found.random_effects[1], 0.0)


def test_units_of_effects_and_response_do_not_matter(slopes):
    matrix, response, terms = slopes
    first = fit_mixed(matrix, response, terms)
    factor = np.array([1.0, 1e4])
    rescaled = [
        RandomTerm("reader", terms[0].effects, terms[0].codes, 12, terms[0].matrix * factor),
        terms[1],
    ]
    second = fit_mixed(matrix * factor, 1000 * response, rescaled)
    np.testing.assert_allclose(second.coefficients * factor, 1000 * first.coefficients, rtol=1e-8)
    np.testing.assert_allclose(
        second.covariances[0] * np.outer(factor, factor), 1e6 * first.covariances[0], rtol=1e-7
    )


def test_exact_fit_is_refused(slopes):
    matrix, _, terms = slopes
    with raises(SalstatsError, option="formula", column=None):
        fit_mixed(matrix, matrix @ [1.0, 2.0], terms)


def test_origin_of_a_slope_does_not_matter():
    rng = np.random.default_rng(5)
    reader, year = rng.integers(0, 30, 600), rng.integers(2010, 2021, 600).astype(float)
    response = 1e4 + rng.normal(size=30)[reader] + 0.2 * rng.normal(size=30)[reader] * (year - 2015)
    response += rng.normal(size=600)

    def fitted(years):
        matrix = np.column_stack([np.ones(600), years])
        return fit_mixed(matrix, response, [RandomTerm("reader", ("a", "b"), reader, 30, matrix)])

    raw, centred = fitted(year), fitted(year - 2015)
    assert raw.converged
    np.testing.assert_allclose(raw.log_likelihood, centred.log_likelihood, rtol=1e-11)
    turn = np.array([[1.0, -2015.0], [0.0, 1.0]])
    np.testing.assert_allclose(turn @ centred.covariances[0] @ turn.T, raw.covariances[0], rtol=1e-6)
    np.testing.assert_allclose(raw.fitted, centred.fitted, rtol=1e-10)


def test_levels_that_the_coefficients_tell_apart_are_refused(slopes):
    matrix, response, terms = slopes
    method = RandomTerm("method", ("(Intercept)",), matrix[:, 1].astype(int), 2, matrix[:, :1])
    with raises(SalstatsError, option="formula", column="method"):
        fit_mixed(matrix, response, [*terms, method])


def test_coefficients_are_lme4s(lme4_model, reml):
    expected = r_rows("fixed", lme4_model.name, reml).set_index("term").loc[lme4_model.terms]
    solution = lme4_model.solution
    rtol = lme4_model.rtol
    np.testing.assert_allclose(solution.coefficients, expected["estimate"], rtol=rtol["estimate"])
    errors = np.sqrt(np.diag(solution.covariance))
    np.testing.assert_allclose(errors, expected["std_error"], rtol=rtol["error"])


def test_variances_are_lme4s(lme4_model, reml):
    solution = lme4_model.solution
    rtol = lme4_model.rtol["variance"]
    rows = r_rows("variances", lme4_model.name, reml).fillna("")
    # lme4 calls the second of the independent terms of one factor reader.1
    rows["group"] = rows["group"].str.replace(r"\.1$", "", regex=True)
    expected = rows.set_index(["group", "first", "second"])["covariance"]
    assert len(expected) == len(solution.theta) + 1
    np.testing.assert_allclose(solution.sigma**2, expected["Residual", "", ""], rtol=rtol)
    for term, covariance in zip(solution.terms, solution.covariances, strict=True):
        for i, first in enumerate(term.effects):
            np.testing.assert_allclose(covariance[i, i], expected[term.name, first, ""], rtol=rtol)
            if not term.correlated:
                continue
            for j in range(i + 1, len(term.effects)):
                size = np.sqrt(covariance[i, i] * covariance[j, j])
                theirs = expected[term.name, first, term.effects[j]]
                np.testing.assert_allclose(covariance[i, j], theirs, rtol=0, atol=rtol * size)
    fit = r_rows("fits", lme4_model.name, reml).iloc[0]
    np.testing.assert_allclose(solution.log_likelihood, fit["log_likelihood"], rtol=0, atol=ATOL_LIKELIHOOD)
    assert solution.is_singular == fit["singular"]
    assert solution.converged


def test_random_effects_are_lme4s(lme4_model, reml):
    rows = r_rows("effects", lme4_model.name, reml)
    solution = lme4_model.solution
    rtol = lme4_model.rtol
    for k, term in enumerate(solution.terms):
        for e, effect in enumerate(term.effects):
            expected = rows[(rows["group"] == term.name) & (rows["effect"] == effect)].sort_values("level")
            np.testing.assert_allclose(
                solution.random_effects[k][:, e],
                expected["estimate"],
                rtol=100 * rtol["estimate"],
                atol=10 * rtol["estimate"],
            )
            errors = np.sqrt(solution.conditional_covariances[k][:, e, e])
            np.testing.assert_allclose(errors, expected["std_error"], rtol=10 * rtol["error"])
