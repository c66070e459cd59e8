"""Slopes, nested, independent and singular terms against R's lme4, lmerTest and pbkrtest."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import salstats as ss
from salstats.errors import SalstatsWarning
from salstats.stats.models.mixed.kenward_roger import kenward_roger
from salstats.stats.models.mixed.profiles import variance_limits
from salstats.stats.models.mixed.ratio_tests import likelihood_ratio
from salstats.stats.models.mixed.satterthwaite import satterthwaite, satterthwaite_f

FOLDER = Path(__file__).parents[3] / "reference/lme4"
FIXED = "score ~ method + prob"
#: Models of mixed.R.
MODELS = {
    "crossed": f"{FIXED} + (1|reader) + (1|case)",
    "slopes": f"{FIXED} + (1 + method|reader) + (1|case)",
    "nested": "score ~ method * prob + (1 + prob|reader) + (1|patient) + (1|case:patient)",
    "independent": f"{FIXED} + (1 + prob||reader) + (1|case)",
    "room": f"{FIXED} + (1|reader) + (1|case) + (1|room)",
    "perfect": f"{FIXED} + (1 + method|room) + (1|case)",
}
# the oracle's search stops at this; on the boundary bobyqa ends it, some 1e-6 away; df are of differences
RTOL = {"estimate": 1e-8, "error": 1e-7, "variance": 1e-6, "df": 1e-5}
ON_BOUNDARY = {"estimate": 1e-6, "error": 1e-5, "variance": 1e-5, "df": 1e-4}
ATOL_LIKELIHOOD = 1e-8
# Brent's root of a deviance that is searched by bobyqa
RTOL_LIMIT = 1e-6


def _read(what):
    return pd.read_csv(FOLDER / f"{what}.csv")


def _of(what, name, reml):
    frame = _read(what)
    return frame[(frame.model == name) & (frame.reml == reml)]


def _model(name, reml):
    """Names of the coefficients of a model, and its solution."""
    data = _read("scores").astype({"method": pd.CategoricalDtype(["human", "gradcam", "occlusion"])})
    with warnings.catch_warnings():
        # singular ones, and patients without an effect of their own
        warnings.simplefilter("ignore", SalstatsWarning)
        model = ss.fit(data, MODELS[name], reml=reml, by=[]).models[0]
    return model.terms, model.solution.inference.solution


@pytest.fixture(scope="module", params=[True, False], ids=["REML", "ML"])
def reml(request):
    """By REML, by ML."""
    return request.param


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, reml):
    """Each model: its name, the names of its coefficients, the solution, and tolerances."""
    names, found = _model(request.param, reml)
    return request.param, names, found, ON_BOUNDARY if found.singular else RTOL


def test_coefficients_are_lme4s(fitted, reml):
    name, names, found, rtol = fitted
    expected = _of("fixed", name, reml).set_index("term").loc[names]
    np.testing.assert_allclose(found.coefficients, expected["estimate"], rtol=rtol["estimate"])
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), expected["std_error"], rtol=rtol["error"])
    np.testing.assert_allclose(satterthwaite(found, np.eye(found.p)), expected["df"], rtol=rtol["df"])
    if reml:
        tests = kenward_roger(found, np.eye(found.p))
        errors = np.sqrt(np.diag(tests.covariance))
        np.testing.assert_allclose(errors, expected["kr_error"], rtol=rtol["error"])
        np.testing.assert_allclose(tests.df, expected["kr_df"], rtol=rtol["df"])


def test_variances_are_lme4s(fitted, reml):
    name, _, found, rtol = fitted
    expected = _of("variances", name, reml).assign(
        group=lambda f: f["group"].str.replace(r"\.1$", "", regex=True)
    )
    expected = expected.fillna("").set_index(["group", "first", "second"])["covariance"]
    assert len(expected) == len(found.theta) + 1
    np.testing.assert_allclose(found.sigma**2, expected["Residual", "", ""], rtol=rtol["variance"])
    for term, covariance in zip(found.terms, found.covariances, strict=True):
        for i, first in enumerate(term.effects):
            mine = float(covariance[i, i])
            np.testing.assert_allclose(mine, expected[term.name, first, ""], rtol=rtol["variance"])
            for j in range(i + 1, len(term.effects) if term.correlated else 0):
                other = expected[term.name, first, term.effects[j]]
                size = np.sqrt(covariance[i, i] * covariance[j, j])
                np.testing.assert_allclose(covariance[i, j], other, rtol=0, atol=rtol["variance"] * size)
    fit = _of("fits", name, reml).iloc[0]
    np.testing.assert_allclose(found.log_likelihood, fit["log_likelihood"], rtol=0, atol=ATOL_LIKELIHOOD)
    assert found.singular == fit["singular"]
    assert found.converged


def test_random_effects_are_lme4s(fitted, reml):
    name, _, found, rtol = fitted
    expected = _of("effects", name, reml)
    for k, term in enumerate(found.terms):
        for e, effect in enumerate(term.effects):
            own = expected[(expected.group == term.name) & (expected.effect == effect)]
            own = own.sort_values("level")
            close = {"rtol": 100 * rtol["estimate"], "atol": 10 * rtol["estimate"]}
            np.testing.assert_allclose(found.random_effects[k][:, e], own["estimate"], **close)
            errors = np.sqrt(found.conditional_variances[k][:, e, e])
            np.testing.assert_allclose(errors, own["std_error"], rtol=10 * rtol["error"])


def test_f_tests_are_lmertests_and_pbkrtests(fitted, reml):
    name, names, found, rtol = fitted
    sets = {"method": ["method" in n for n in names], "all": [n != "(Intercept)" for n in names]}
    for _, row in _of("tests", name, reml).iterrows():
        contrasts = np.eye(found.p)[sets[row["set"]]]
        by_satterthwaite = row["test"] == "satterthwaite"
        mine = satterthwaite_f(found, contrasts) if by_satterthwaite else kenward_roger(found, contrasts).test
        np.testing.assert_allclose(mine.statistic, row["statistic"], rtol=10 * rtol["error"])
        assert mine.df_num == row["df_num"]
        np.testing.assert_allclose(mine.df_den, row["df_den"], rtol=rtol["df"])


def test_ratio_tests_are_lmertests(fitted, reml):
    name, _, found, _ = fitted
    for _, row in _of("drops", name, reml).iterrows():
        effects, factor = row["dropped"].strip("()").split(" | ")
        k = next(k for k, term in enumerate(found.terms) if term.name == factor)
        slope = (
            {"0 + prob": [1], "1": [0]}.get(effects) if name == "independent" and factor == "reader" else None
        )
        mine = likelihood_ratio(found, k, slope)
        np.testing.assert_allclose(mine.statistic, row["statistic"], rtol=0, atol=4 * ATOL_LIKELIHOOD)
        assert mine.df == row["df"]
        np.testing.assert_allclose(chi2.sf(mine.statistic, mine.df), row["p_value"], rtol=1e-6)
        if row["df"] == 1:
            np.testing.assert_allclose(mine.p_value, row["p_value"] / 2, rtol=1e-6)


@pytest.mark.parametrize("name", ["crossed", "nested", "independent", "room"])
def test_profile_limits_are_those_of_lme4s_deviance(name):
    _, found = _model(name, reml=False)
    limits = variance_limits(found)
    expected = _read("limits")
    expected = expected[expected.model == name].set_index("parameter")
    mine = [limit for limit in limits if limit.kind != "share"]
    assert len(mine) == len(expected)
    for limit in mine:
        factor = "" if limit.term is None else f"|{found.terms[limit.term].name}"
        row = expected.loc[
            "sigma" if limit.term is None
            else f"sd_{limit.effects[0]}{factor}" if limit.kind == "sd"
            else f"cor_{limit.effects[1]}.{limit.effects[0]}{factor}"
        ]  # fmt: skip
        # no root: the deviance does not rise so far down to a variance of zero
        low = 0.0 if np.isnan(row["conf_low"]) else row["conf_low"]
        np.testing.assert_allclose(
            [limit.conf_low, limit.conf_high], [low, row["conf_high"]], rtol=RTOL_LIMIT
        )
