"""Kenward and Roger's tests against R's lmerTest and pbkrtest."""

import numpy as np
import pandas as pd
import pytest

from salstats.checks import SalstatsError
from salstats.stats.models.mixed.kenward_roger import kenward_roger
from salstats.stats.models.mixed.kernel import fit_mixed
from tests.stats.models.mixed.conftest import MODELS

# as far as the variances agree that they are made of
RTOL_ERROR, RTOL_DF = 1e-7, 1e-6


# R was not asked for those of more than 1,500 rows
@pytest.mark.parametrize("name", [n for n, (data, *_) in MODELS.items() if data != "lanfredi2021"])
def test_errors_and_df_are_pbkrtests(name, shared, lme4_models):
    model = lme4_models[name]
    found = fit_mixed(model.matrix, model.response, model.terms)
    expected = pd.read_csv(shared / "oracles/r/expected/lmer_fixed.csv")
    expected = expected[(expected.model == name) & expected.REML].set_index("term").loc[model.names]
    tests = kenward_roger(found, np.eye(found.p))
    errors = np.sqrt(np.diag(tests.covariance))
    np.testing.assert_allclose(errors, expected["se_kr"], rtol=RTOL_ERROR)
    np.testing.assert_allclose(tests.df, expected["df_kr"], rtol=RTOL_DF)


def test_maximum_likelihood_is_refused(lme4_models):
    model = lme4_models["D2_case"]
    found = fit_mixed(model.matrix, model.response, model.terms, reml=False)
    with pytest.raises(SalstatsError, match="REML"):
        kenward_roger(found, np.eye(found.p))
