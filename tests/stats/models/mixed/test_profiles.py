"""Profile limits of variances against their definition and against lme4's deviance."""

import numpy as np
import pytest
from lme4_oracle import fit_model, r_table
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.stats import chi2

from salstats.stats.models.mixed.linear_mixed_model import RandomTerm, fit_mixed
from salstats.stats.models.mixed.profiles import variance_component_profile_limits

CUT = chi2.ppf(0.95, 1)
# the brute-force search over the other variances stops near this
ATOL_DEVIANCE = 1e-6
# Brent's root of a deviance that is searched by bobyqa
RTOL_LME4 = 1e-6


@pytest.fixture
def crossed():
    """6 readers and 15 cases, crossed."""
    rng = np.random.default_rng(8)
    reader, case = (a.ravel() for a in np.meshgrid(range(6), range(15), indexing="ij"))
    matrix = np.column_stack([np.ones(90), rng.normal(size=90)])
    response = 0.7 * rng.normal(size=6)[reader] + rng.normal(size=15)[case] + rng.normal(size=90)
    terms = [
        RandomTerm("reader", ("(Intercept)",), reader, 6, matrix[:, :1]),
        RandomTerm("case", ("(Intercept)",), case, 15, matrix[:, :1]),
    ]
    return matrix, response, terms


def _deviance(model, variances, reml):
    """Of variances of the terms and the residuals, from the covariance of the response in full."""
    matrix, response, terms = model
    spread = variances[-1] * np.eye(len(response))
    for term, variance in zip(terms, variances, strict=False):
        spread += variance * np.equal.outer(term.codes, term.codes)
    factor = cho_factor(spread)
    scaled = cho_solve(factor, matrix)
    information = matrix.T @ scaled
    residual = response - matrix @ np.linalg.solve(information, scaled.T @ response)
    # minus twice the logarithm of the normal density, up to a constant
    value = 2 * np.log(np.diag(factor[0])).sum() + residual @ cho_solve(factor, residual)
    return value + np.linalg.slogdet(information)[1] if reml else value


def _least(model, reml, of):
    """The least deviance over two free logarithms that `of` makes variances of."""
    options = {"xatol": 1e-9, "fatol": 1e-10, "maxiter": 4000}
    found = minimize(
        lambda at: _deviance(model, of(*np.exp(at)), reml), [0.0, 0.0], method="Nelder-Mead", options=options
    )
    return found.fun


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
def test_deviance_at_each_limit_is_as_far_above_its_least(crossed, reml):
    found = fit_mixed(*crossed, reml=reml)
    least = _deviance(crossed, [*(c.item() for c in found.covariances), found.sigma**2], reml)
    held = {
        (0, "sd"): lambda v: lambda a, b: [v**2, a, b],
        (1, "sd"): lambda v: lambda a, b: [a, v**2, b],
        (None, "sd"): lambda v: lambda a, b: [a, b, v**2],
        (0, "share"): lambda v: lambda a, b: [v / (1 - v) * (a + b), a, b],
        (1, "share"): lambda v: lambda a, b: [a, v / (1 - v) * (a + b), b],
        (None, "share"): lambda v: lambda a, b: [a, b, v / (1 - v) * (a + b)],
    }
    limits = variance_component_profile_limits(found)
    assert [(limit.term, limit.kind) for limit in limits] == list(held)
    for limit in limits:
        for end in (limit.conf_low, limit.conf_high):
            above = _least(crossed, reml, held[limit.term, limit.kind](end)) - least
            np.testing.assert_allclose(above, CUT, rtol=0, atol=ATOL_DEVIANCE)
        assert limit.conf_low < limit.estimate < limit.conf_high


def test_level_narrows_limits(crossed):
    found = fit_mixed(*crossed)
    for wide, narrow in zip(
        variance_component_profile_limits(found), variance_component_profile_limits(found, 0.5), strict=True
    ):
        assert wide.conf_low < narrow.conf_low < narrow.conf_high < wide.conf_high


def test_variance_that_may_be_zero_has_zero_as_its_limit(crossed):
    matrix, response, terms = crossed
    noise = RandomTerm("noise", ("(Intercept)",), np.arange(90) % 7, 7, matrix[:, :1])
    found = fit_mixed(matrix, response, [*terms, noise])
    limits = {(limit.term, limit.kind): limit for limit in variance_component_profile_limits(found)}
    assert found.covariances[2].item() == 0.0
    assert limits[2, "sd"][3:5] == limits[2, "share"][3:5] == (0.0, 0.0)
    assert 0 < limits[2, "sd"].conf_high < 1
    # the others are as without it
    np.testing.assert_allclose(
        limits[0, "sd"][3:], variance_component_profile_limits(fit_mixed(*crossed))[0][3:], rtol=0.05
    )


def test_perfect_correlation_is_its_own_limit():
    rng = np.random.default_rng(2)
    reader, case, method = (a.ravel() for a in np.meshgrid(range(6), range(30), range(2), indexing="ij"))
    matrix = np.column_stack([np.ones(360), method])
    response = 0.5 * rng.normal(size=6)[reader] * (1 + 0.6 * method) + rng.normal(size=30)[case]
    terms = [
        RandomTerm("reader", ("(Intercept)", "method"), reader, 6, matrix),
        RandomTerm("case", ("(Intercept)",), case, 30, matrix[:, :1]),
    ]
    found = fit_mixed(matrix, response + rng.normal(size=360), terms)
    assert found.is_singular
    correlation = next(
        limit for limit in variance_component_profile_limits(found) if limit.kind == "correlation"
    )
    np.testing.assert_allclose(correlation.estimate, 1, rtol=1e-12)
    assert -1 < correlation.conf_low < 1
    assert correlation.conf_high == 1.0

    # at the lower limit: the deviance over what is left, Lambda of the readers and the cases' one
    def above(at, rho):
        first, second, cases, rest = np.exp(at)
        across = rho * first * second
        inside = np.array([[first**2, across], [across, second**2]])
        rows = np.column_stack([np.ones(360), method])
        spread = np.equal.outer(reader, reader) * (rows @ inside @ rows.T)
        spread = spread + cases**2 * np.equal.outer(case, case) + rest**2 * np.eye(360)
        inverse = np.linalg.inv(spread)
        information = matrix.T @ inverse @ matrix
        y = found.response
        residual = y - matrix @ np.linalg.solve(information, matrix.T @ inverse @ y)
        logs = np.linalg.slogdet(spread)[1] + np.linalg.slogdet(information)[1]
        return logs + residual @ inverse @ residual + 358 * np.log(2 * np.pi)

    sds = [*np.sqrt(np.diag(found.covariances[0])), np.sqrt(found.covariances[1].item()), found.sigma]
    best = minimize(above, np.log(sds), args=(correlation.conf_low,), method="BFGS", options={"gtol": 1e-3})
    np.testing.assert_allclose(best.fun + 2 * found.log_likelihood, CUT, rtol=0, atol=1e-3)


@pytest.mark.parametrize("name", ["crossed", "nested", "independent", "room"])
def test_limits_are_those_of_lme4s_deviance(name):
    _, solution = fit_model(name, reml=False)
    expected = r_table("limits").query("model == @name").set_index("parameter")
    limits = [limit for limit in variance_component_profile_limits(solution) if limit.kind != "share"]
    assert len(limits) == len(expected)
    for limit in limits:
        if limit.term is None:
            parameter = "sigma"
        elif limit.kind == "sd":
            parameter = f"sd_{limit.effects[0]}|{solution.terms[limit.term].name}"
        else:
            pair = f"{limit.effects[1]}.{limit.effects[0]}"
            parameter = f"cor_{pair}|{solution.terms[limit.term].name}"
        row = expected.loc[parameter]
        # lme4 has no lower root where the deviance does not rise so far down to a variance of zero
        low = 0.0 if np.isnan(row["conf_low"]) else row["conf_low"]
        expected_limits = [low, row["conf_high"]]
        np.testing.assert_allclose([limit.conf_low, limit.conf_high], expected_limits, rtol=RTOL_LME4)
