"""Mixed models against R's lme4."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from salstats.checks import SalstatsError
from salstats.stats.models.mixed.kernel import RandomTerm, fit_mixed
from tests.stats.models.mixed.conftest import MODELS

# the oracle's own search stops at this: Newton's steps on differences of its deviance
RTOL_ESTIMATE, RTOL_ERROR, RTOL_VARIANCE, ATOL_LIKELIHOOD = 1e-8, 1e-7, 1e-6, 1e-8


@pytest.fixture(scope="module")
def lme4(shared):
    """What lme4 found: coefficients, variances, and fits."""
    folder = shared / "oracles/r/expected"
    return {kind: pd.read_csv(folder / f"lmer_{kind}.csv") for kind in ("fixed", "varcomp", "fit")}


def _of(frame, name, reml):
    return frame[(frame.model == name) & (frame.REML == reml)]


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
@pytest.mark.parametrize("name", MODELS)
def test_fit_is_lme4s(name, reml, lme4, lme4_models):
    model = lme4_models[name]
    found = fit_mixed(model.matrix, model.response, model.terms, reml=reml)
    fixed = _of(lme4["fixed"], name, reml).set_index("term").loc[model.names]
    np.testing.assert_allclose(found.coefficients, fixed["estimate"], rtol=RTOL_ESTIMATE)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), fixed["std.error"], rtol=RTOL_ERROR)
    variances = _of(lme4["varcomp"], name, reml).set_index("group")["variance"]
    expected = [variances[term.name] for term in model.terms] + [variances["Residual"]]
    mine = [covariance.item() for covariance in found.covariances] + [found.sigma**2]
    np.testing.assert_allclose(mine, expected, rtol=RTOL_VARIANCE)
    fit = _of(lme4["fit"], name, reml).iloc[0]
    np.testing.assert_allclose(found.log_likelihood, fit["logLik"], rtol=0, atol=ATOL_LIKELIHOOD)
    np.testing.assert_allclose(2 * (found.n_parameters - found.log_likelihood), fit["AIC"], atol=2e-8)
    assert found.converged
    assert found.singular == fit["singular"]


@pytest.fixture
def slopes():
    """12 readers and 40 cases, crossed, with 2 methods; readers differ in the methods, too."""
    rng = np.random.default_rng(3)
    reader, case, method = (a.ravel() for a in np.meshgrid(range(12), range(40), range(2), indexing="ij"))
    kept = rng.uniform(size=reader.size) < 0.8
    reader, case, method = reader[kept], case[kept], method[kept]
    effects = rng.multivariate_normal([0, 0], [[0.3, 0.1], [0.1, 0.2]], size=12)
    response = 1 + 0.3 * method + rng.normal(size=40)[case] + effects[reader, 0] + effects[reader, 1] * method
    matrix = np.column_stack([np.ones(len(reader)), method])
    terms = [
        RandomTerm("reader", ("(Intercept)", "method"), reader, 12, matrix),
        RandomTerm("case", ("(Intercept)",), case, 40, matrix[:, :1]),
    ]
    return matrix, response + rng.normal(size=len(reader)), terms


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


def test_variance_of_no_use_is_zero_and_said(slopes):
    matrix, response, terms = slopes
    # within a case all agree
    centred = response - np.array([response[terms[1].codes == c].mean() for c in range(40)])[terms[1].codes]
    found = fit_mixed(matrix, centred, terms)
    assert found.covariances[1].item() == 0.0
    assert found.singular
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
    with pytest.raises(SalstatsError, match="fit the response exactly"):
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
    with pytest.raises(SalstatsError, match=r"coefficients say already .* of 'method'"):
        fit_mixed(matrix, response, [*terms, method])
