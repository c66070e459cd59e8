"""Kenward and Roger's tests against R's pbkrtest."""

import numpy as np
import pytest
from lme4_oracle import r_rows
from tests_support import raises

from salstats.errors import SalstatsError
from salstats.stats.models.mixed.kenward_roger import kenward_roger_covariance_df_and_f_test
from salstats.stats.models.mixed.linear_mixed_model import fit_mixed


def _contrasts(model, row):
    """The contrasts of a row of R's tests: the coefficients of the method, or all but the intercept."""
    if row["set"] == "method":
        is_tested = ["method" in term for term in model.terms]
    else:
        is_tested = [term != "(Intercept)" for term in model.terms]
    return np.eye(len(model.terms))[is_tested]


@pytest.mark.parametrize("reml", [True], indirect=True, ids=["REML"])
def test_errors_and_degrees_of_freedom_are_pbkrtests(lme4_model):
    expected = r_rows("fixed", lme4_model.name, True).set_index("term").loc[lme4_model.terms]
    tests = kenward_roger_covariance_df_and_f_test(lme4_model.solution, np.eye(len(lme4_model.terms)))
    errors = np.sqrt(np.diag(tests.covariance))
    np.testing.assert_allclose(errors, expected["kr_error"], rtol=lme4_model.rtol["error"])
    np.testing.assert_allclose(tests.df, expected["kr_df"], rtol=lme4_model.rtol["df"])


@pytest.mark.parametrize("reml", [True], indirect=True, ids=["REML"])
def test_f_tests_are_pbkrtests(lme4_model):
    rows = r_rows("tests", lme4_model.name, True).query("test == 'kenward-roger'")
    assert len(rows) == 2
    for _, row in rows.iterrows():
        test = kenward_roger_covariance_df_and_f_test(lme4_model.solution, _contrasts(lme4_model, row)).test
        rtol = lme4_model.rtol
        np.testing.assert_allclose(test.statistic, row["statistic"], rtol=10 * rtol["error"])
        assert test.df_num == row["df_num"]
        np.testing.assert_allclose(test.df_den, row["df_den"], rtol=rtol["df"])


def test_a_contrast_of_zeros_has_no_test(slopes):
    tests = kenward_roger_covariance_df_and_f_test(fit_mixed(*slopes), np.zeros((1, 2)))
    assert np.isnan(tests.df).all()
    assert tests.test.df_num == 0
    assert np.isnan([tests.test.statistic, tests.test.df_den]).all()


def test_kenward_and_rogers_tests_of_maximum_likelihood_are_errors(slopes):
    with raises(SalstatsError, option="reml", value=False):
        kenward_roger_covariance_df_and_f_test(fit_mixed(*slopes, reml=False), np.eye(2))
