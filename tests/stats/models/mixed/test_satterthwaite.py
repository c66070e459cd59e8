"""Tests with Satterthwaite's degrees of freedom against R's lmerTest."""

import numpy as np
import pytest
from lme4_oracle import r_rows

from salstats.stats.models.mixed.linear_mixed_model import fit_mixed
from salstats.stats.models.mixed.satterthwaite import _f_denominator_df, satterthwaite_df, satterthwaite_f


def _contrasts(model, row):
    """The contrasts of a row of R's tests: the coefficients of the method, or all but the intercept."""
    if row["set"] == "method":
        is_tested = ["method" in term for term in model.terms]
    else:
        is_tested = [term != "(Intercept)" for term in model.terms]
    return np.eye(len(model.terms))[is_tested]


def test_degrees_of_freedom_are_lmertests(lme4_model, reml):
    expected = r_rows("fixed", lme4_model.name, reml).set_index("term").loc[lme4_model.terms]
    df = satterthwaite_df(lme4_model.solution, np.eye(len(lme4_model.terms)))
    np.testing.assert_allclose(df, expected["df"], rtol=lme4_model.rtol["df"])


def test_f_tests_are_lmertests(lme4_model, reml):
    rows = r_rows("tests", lme4_model.name, reml).query("test == 'satterthwaite'")
    assert len(rows) == 2
    for _, row in rows.iterrows():
        test = satterthwaite_f(lme4_model.solution, _contrasts(lme4_model, row))
        rtol = lme4_model.rtol
        np.testing.assert_allclose(test.statistic, row["statistic"], rtol=10 * rtol["error"])
        assert test.df_num == row["df_num"]
        np.testing.assert_allclose(test.df_den, row["df_den"], rtol=rtol["df"])


def test_combinations_that_repeat_others_add_nothing(slopes):
    matrix, response, terms = slopes
    found = fit_mixed(np.column_stack([matrix, np.sin(response)]), response, terms)
    once, twice = np.eye(3)[1:], np.array([[0, 1.0, 0], [0, 0, 1.0], [0, 1.0, -1.0]])
    # but to the choice of the uncorrelated ones, by which the degrees of freedom are
    np.testing.assert_allclose(
        satterthwaite_f(found, twice)[:2], satterthwaite_f(found, once)[:2], rtol=1e-10
    )
    assert np.isnan(satterthwaite_f(found, np.zeros((1, 3))).statistic)


@pytest.mark.parametrize(
    ("df", "expected"),
    [
        ([1.5], 1.5),
        ([1.5, 1.5], 1.5),
        # a squared t has no finite expectation at 2 degrees of freedom or fewer
        ([2.0, 9.0], 2.0),
        ([1.5, 9.0], 2.0),
        # expectations 2 and 4 / 3, whose mean is that of F at 5: 5 / 3
        ([4.0, 8.0], 5.0),
    ],
)
def test_denominator_degrees_of_freedom_are_those_of_the_mean_of_squared_t_values(df, expected):
    np.testing.assert_allclose(_f_denominator_df(np.array(df)), expected, rtol=1e-12)
