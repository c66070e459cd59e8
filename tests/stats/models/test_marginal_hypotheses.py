"""Tests of terms in interactions are type III on sum contrasts, as car and lmerTest have them."""

from itertools import cycle, permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from tests_support import warns_too

import salstats as ss
from salstats.errors import ColumnName, SalstatsWarning

FOLDER = Path(__file__).parents[2] / "reference/type3"
FORMULAS = {
    "crossed": "score ~ method * site",
    "covariate": "score ~ method * size",
    "both": "score ~ method * site + method * size",
    "threeway": "score ~ method * site * size",
    "nested": "score ~ site + site:method",
    "means": "score ~ 0 + method + site",
    "hits": "hit ~ method * site",
    "mixed_covariate": "score ~ method * size + (1|case)",
    "mixed_both": "score ~ method * site + method * size + (1|case)",
}
#: lmerTest rounds its combinations to seven digits (`zapsmall`).
RTOL, RTOL_LMERTEST = 1e-9, 2e-6
METHODS, SITES = ("gradcam", "human", "occlusion"), ("east", "north", "south", "west")
NUMBERS = ["statistic", "df", "df_residual", "p_value"]
pytestmark = [
    pytest.mark.filterwarnings("ignore:rows of one unit taken as independent"),
    pytest.mark.filterwarnings("ignore:few clusters"),
]


@pytest.fixture(scope="module")
def scores():
    """Unbalanced scores of three methods at four sites."""
    return pd.read_csv(FOLDER / "scores.csv")


@pytest.fixture(scope="module")
def expected():
    """Tests by R."""
    return pd.read_csv(FOLDER / "tests.csv")


def _fit(scores, model, errors):
    family = "binomial" if model == "hits" else "gaussian"
    return ss.fit(scores, FORMULAS[model], by=(), family=family, errors=errors)


def _reordered(scores, methods, sites):
    """The same scores with other reference levels."""
    method = pd.Categorical(scores["method"], methods)
    site = pd.Categorical(scores["site"], sites)
    return scores.assign(method=method, site=site)


@pytest.mark.parametrize("model", FORMULAS)
def test_each_term_has_the_type_3_test_of_r(scores, expected, model):
    of_model = expected[expected["model"] == model]
    assert len(of_model) >= 2
    for errors, tests in of_model.groupby("errors", sort=False):
        found = _fit(scores, model, errors).joint(each=True)
        assert len(found) == len(tests)
        rtol = RTOL_LMERTEST if model.startswith("mixed") else RTOL
        np.testing.assert_allclose(found[NUMBERS], tests[NUMBERS], rtol=rtol)


@pytest.mark.parametrize("errors", ["classical", "hc3", "cluster", "cr2"])
def test_no_order_of_levels_changes_a_test(scores, errors):
    formula = "score ~ method * site + method * size"
    usual = ss.joint_test(scores, formula, by=(), errors=errors, unit=_unit(errors), each=True)
    # every order of the sites, and each order of the methods with four of them
    for sites, methods in zip(permutations(SITES), cycle(permutations(METHODS)), strict=False):
        rows = _reordered(scores, methods, sites)
        found = ss.joint_test(rows, formula, by=(), errors=errors, unit=_unit(errors), each=True)
        assert found["term"].tolist() == usual["term"].tolist()
        np.testing.assert_allclose(found[NUMBERS], usual[NUMBERS], rtol=1e-8)


def _unit(errors):
    return "case" if errors in ("cluster", "cr2") else None


@pytest.mark.parametrize(
    ("model", "errors"), [("hits", "classical"), ("mixed_both", "kenward-roger"), ("means", "cr2")]
)
def test_no_reference_level_changes_a_test_of_other_models(scores, model, errors):
    usual = _fit(scores, model, errors).joint(each=True)
    for number in range(4):
        sites = SITES[number:] + SITES[:number]
        found = _fit(_reordered(scores, METHODS[::-1], sites), model, errors).joint(each=True)
        np.testing.assert_allclose(found[NUMBERS], usual[NUMBERS], rtol=1e-6)


def test_f_of_satterthwaite_depends_on_no_reference_level_and_its_denominator_hardly(scores):
    # lmerTest's pooled degrees of freedom are those of the rows that it pools, which reference levels choose
    usual = _fit(scores, "mixed_both", "satterthwaite").joint(each=True)
    rows = _reordered(scores, METHODS[::-1], SITES[::-1])
    found = _fit(rows, "mixed_both", "satterthwaite").joint(each=True)
    np.testing.assert_allclose(found[["statistic", "df"]], usual[["statistic", "df"]], rtol=1e-7)
    np.testing.assert_allclose(found["df_residual"], usual["df_residual"], rtol=5e-3)
    np.testing.assert_allclose(found["p_value"], usual["p_value"], rtol=5e-3)


def test_a_linear_models_tests_are_statsmodels_anova_on_sum_contrasts(scores):
    columns = "C(method, Sum) * C(site, Sum) + C(method, Sum) * size"
    anova = anova_lm(ols(f"score ~ {columns}", scores).fit(), typ=3).drop(index=["Intercept", "Residual"])
    rows = scores.drop(columns="case")
    found = ss.joint_test(rows, FORMULAS["both"], by=(), errors="classical", each=True)
    by_term = found.set_index("term")["statistic"]
    assert len(by_term) == len(anova)
    for name, f in anova["F"].items():
        term = name.replace("C(", "").replace(", Sum)", "")
        assert by_term[term] == pytest.approx(f, rel=1e-9)


def test_a_term_and_its_interaction_together_are_tested_against_the_model_without_both(scores):
    rows = scores.drop(columns="case").rename(columns={"method": "tool"})
    pieces = ss.fit_statistics(rows, ["score ~ tool * site", "score ~ site"], errors="classical")
    full, reduced = pieces["deviance"]
    f = (reduced - full) / 8 / (full / pieces["df_residual"][0])
    found = ss.joint_test(rows, "score ~ tool * site", ["tool", "tool:site"], errors="classical")
    assert found["statistic"][0] == pytest.approx(f, rel=1e-9)


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
def test_main_effects_over_combinations_without_rows_have_no_test(scores):
    rows = scores[(scores["method"] != "human") | (scores["site"] != "west")].drop(columns="case")
    with pytest.warns(SalstatsWarning) as warned:
        found = ss.joint_test(rows, FORMULAS["both"], by=(), errors="classical", each=True)
    assert len(warned) == 2  # the coefficient that has no estimate, and the tests that are none
    without = found.set_index("term")
    assert without.loc[["method", "site"], "p_value"].isna().all()
    assert without["df"].tolist() == [0, 0, 1, 5, 2]
    # the interaction that is left is tested against the model without any
    fits = [
        ols(f"score ~ {right}", rows).fit()
        for right in ("method * site + method * size", "method * size + site")
    ]
    f = anova_lm(fits[1], fits[0])["F"][1]
    assert without.loc["method:site", "statistic"] == pytest.approx(f, rel=1e-9)


@pytest.mark.filterwarnings("ignore:terms that depend on earlier ones")
def test_a_term_that_another_one_holds_has_no_test(scores):
    rows = scores.assign(patient=scores["case"]).drop(columns="case")
    with warns_too(column="p_value", message=ColumnName("site")):
        found = ss.joint_test(rows, "score ~ site + patient + method", by=(), errors="classical", each=True)
    p_values = found.set_index("term")["p_value"]
    assert np.isnan(p_values["site"])
    assert p_values[["patient", "method"]].notna().all()
