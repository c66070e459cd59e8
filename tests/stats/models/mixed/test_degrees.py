"""Satterthwaite's degrees of freedom against R's lmerTest."""

import numpy as np
import pandas as pd
import pytest

from salstats.stats.models.mixed.degrees import satterthwaite, satterthwaite_f
from salstats.stats.models.mixed.kernel import fit_mixed
from tests.stats.models.mixed.conftest import MODELS

# lmerTest's derivatives are differences of the deviance
RTOL_DF = 1e-5


@pytest.mark.parametrize("reml", [True, False], ids=["REML", "ML"])
@pytest.mark.parametrize("name", MODELS)
def test_df_of_coefficients_are_lmertests(name, reml, shared, lme4_models):
    model = lme4_models[name]
    found = fit_mixed(model.matrix, model.response, model.terms, reml=reml)
    expected = pd.read_csv(shared / "oracles/r/expected/lmer_fixed.csv")
    expected = expected[(expected.model == name) & (expected.REML == reml)].set_index("term").loc[model.names]
    np.testing.assert_allclose(satterthwaite(found, np.eye(found.p)), expected["df_satt"], rtol=RTOL_DF)


@pytest.mark.parametrize("name", ["D1_case_task", "D1_nested"])
def test_f_of_a_factor_is_lmertests(name, shared, lme4_models):
    model = lme4_models[name]
    found = fit_mixed(model.matrix, model.response, model.terms)
    expected = pd.read_csv(shared / "oracles/r/expected/lmer_anova.csv")
    expected = expected[(expected.model == name) & expected.REML & (expected.term == "task")].iloc[0]
    rows = np.eye(found.p)[[n.startswith("task") for n in model.names]]
    test = satterthwaite_f(found, rows)
    np.testing.assert_allclose(test.statistic, expected["F"], rtol=1e-7)
    assert test.df_num == expected["NumDF"]
    np.testing.assert_allclose(test.df_den, expected["DenDF"], rtol=RTOL_DF)
    # one that repeats others adds nothing, but to the choice of the uncorrelated ones
    again = satterthwaite_f(found, np.vstack([rows, rows[:2] - rows[1:3]]))
    np.testing.assert_allclose(again[:2], test[:2], rtol=1e-10)
    np.testing.assert_allclose(again.df_den, test.df_den, rtol=1e-2)


def test_no_combination_has_no_test(lme4_models):
    model = lme4_models["D2_case"]
    found = fit_mixed(model.matrix, model.response, model.terms)
    assert np.isnan(satterthwaite_f(found, np.zeros((1, found.p))).statistic)
