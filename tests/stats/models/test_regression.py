"""Coefficients against R, and what regress does with frames and options."""

import warnings

import numpy as np
import pandas as pd
import pytest
from regression_oracle import LINEAR, assert_columns_equal, logit_model, rows_of
from tests_support import default_numbers_and_flags, raises, warns, warns_too

import salstats as ss
from salstats.errors import ValueRangeError
from salstats.stats.models.regression import n_coefficient_rows

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")
# both sides solve by QR in double precision; condition numbers here are below 1e3
LINEAR_RTOL = 1e-10
# IRLS run to rounding on both sides
LOGIT_RTOL = 1e-10
# R's summary.glm takes the weights of the last iteration but one: up to 4e-10 off here
LOGIT_ERROR_RTOL = 1e-9
# and a p-value feels an error of its z about z^2 times over (z up to 10)
LOGIT_P_RTOL = 1e-7
EXACT = 1e-12

ERRORS = [
    ("classical", "const", "t_resid"),
    ("hc0", "HC0", "t_resid"),
    ("hc1", "HC1", "t_resid"),
    ("hc2", "HC2", "t_resid"),
    ("hc3", "HC3", "t_resid"),
    ("cluster", "CL_HC1", "t_G1"),
    ("cr2", "clubSandwich_CR2", "satt"),
]
LOGIT_ERRORS = [("hc0", "HC0"), ("hc1", "HC1"), ("hc2", "HC2"), ("hc3", "HC3"), ("cluster", "CL_HC1")]


@pytest.mark.parametrize(("errors", "vcov", "kind"), ERRORS)
def test_linear_models_equal_lm_with_sandwich_and_clubsandwich(synth1, r_expected, errors, vcov, kind):
    oracle = r_expected("lm_robust")
    oracle = oracle[oracle["vcov"] == vcov]
    assert oracle["model"].nunique() >= 9
    columns = {
        "estimate": "estimate",
        "std_error": "std.error",
        "statistic": "statistic",
        "p_value": f"p_{kind}",
        "conf_low": f"lo_{kind}",
        "conf_high": f"hi_{kind}",
    }
    columns |= {"df": "df_satt"} if errors == "cr2" else {}
    for model, expected in oracle.groupby("model"):
        rows = rows_of(synth1, model)
        if errors in ("cluster", "cr2"):
            rows = rows.join(synth1[["case", "patient"]])
        result = ss.regress(rows, LINEAR[model.split("|")[0]], errors=errors)
        assert result["term"].tolist() == expected["term"].tolist()
        assert_columns_equal(result, expected, columns, LINEAR_RTOL)
        if errors == "cluster":
            assert (result["n_units"].to_numpy() == expected["G"].to_numpy()).all()
            assert (result["df"].to_numpy() == expected["G"].to_numpy() - 1).all()
            assert (result["unit"] == "patient").all()
        assert (result["interval"] == "t").all()


def test_cluster_of_cases_equals_vcovcl_by_case(synth1, r_expected):
    oracle = r_expected("lm_robust").query("vcov == 'CL_by_case_HC1'")
    assert oracle["model"].nunique() >= 7
    for model, expected in oracle.groupby("model"):
        rows = rows_of(synth1, model).join(synth1["case"])
        result = ss.regress(rows, LINEAR[model.split("|")[0]], errors="cluster")
        columns = {"std_error": "std.error", "p_value": "p_t_G1", "conf_low": "lo_t_G1"}
        assert_columns_equal(result, expected, columns, LINEAR_RTOL)
        assert (result["unit"] == "case").all()


def test_terms_equal_broom_for_every_task_in_one_call(synth1, r_expected):
    oracle = r_expected("lm_tidy")
    rows = synth1.drop(columns=["case", "patient"])
    formulas = [
        LINEAR[k] for k in LINEAR if k.startswith(("uni", "multi")) and k not in ("multi_task", "multi_int")
    ]
    result = ss.regress(rows, formulas, by="task", errors="classical", overall=True)
    kinds = {text: kind for kind, text in LINEAR.items()}
    ids = result["formula"].map(kinds) + "|" + result["task"].replace("Overall", "POOLED")
    assert ids.nunique() == 35
    for model, ours in result.groupby(ids):
        expected = oracle[oracle["model"] == model]
        assert ours["term"].tolist() == expected["term"].tolist()
        columns = {"estimate": "estimate", "std_error": "std.error", "p_value": "p.value"}
        columns |= {"statistic": "statistic", "conf_low": "conf.low", "conf_high": "conf.high"}
        assert_columns_equal(ours, expected, columns, LINEAR_RTOL)


def test_logit_and_fractional_logit_equal_glm(synth1, r_expected):
    for model, expected in r_expected("glm_tidy").groupby("model"):
        formula, family = logit_model(model)
        result = ss.regress(rows_of(synth1, model), formula, family=family, errors="classical")
        assert result["term"].tolist() == expected["term"].tolist()
        assert_columns_equal(result, expected, {"estimate": "estimate"}, LOGIT_RTOL)
        columns = {"std_error": "std.error", "statistic": "statistic"}
        assert_columns_equal(result, expected, columns, LOGIT_ERROR_RTOL)
        assert_columns_equal(result, expected, {"p_value": "p.value"}, LOGIT_P_RTOL)
        if family == "binomial":
            wald = {"conf_low": "wald.low", "conf_high": "wald.high"}
            assert_columns_equal(result, expected, wald, LOGIT_ERROR_RTOL)
            assert (result["interval"] == "wald").all()
            assert result["df"].isna().all()
        else:
            # R's summary takes t for quasi families, its confint z
            assert (result["interval"] == "t").all()
            assert (result["df"] == result["n"] - len(result)).all()


@pytest.mark.parametrize(("errors", "vcov"), LOGIT_ERRORS)
def test_robust_errors_of_the_logit_families_equal_sandwich(synth1, r_expected, errors, vcov):
    oracle = r_expected("glm_robust")
    oracle = oracle[oracle["vcov"] == vcov]
    assert oracle["model"].nunique() == 10
    for model, expected in oracle.groupby("model"):
        formula, family = logit_model(model)
        rows = rows_of(synth1, model)
        if errors == "cluster":
            rows = rows.join(synth1["patient"])
        unit = "patient" if errors == "cluster" else None
        result = ss.regress(rows, formula, family=family, errors=errors, unit=unit)
        columns = {"std_error": "std.error", "statistic": "statistic"}
        p_value = {"p_value": "p_t_G1"} if errors == "cluster" else {}
        if family == "binomial" and errors != "cluster":
            columns |= {"conf_low": "lo_z", "conf_high": "hi_z"}
            p_value = {"p_value": "p_z"}
        assert_columns_equal(result, expected, columns, LOGIT_ERROR_RTOL)
        assert_columns_equal(result, expected, p_value, LOGIT_P_RTOL)


def test_exponentiated_logit_gives_odds_ratios_and_keeps_std_error_on_the_log_scale(synth1, r_expected):
    expected = r_expected("glm_tidy").query("model == 'logit|POOLED'")
    formula, family = logit_model("logit|POOLED")
    rows = rows_of(synth1, "logit|POOLED")
    result = ss.regress(rows, formula, family=family, errors="classical", exponentiate=True)
    columns = {"estimate": "or", "conf_low": "or.wald.low", "conf_high": "or.wald.high"}
    unchanged = {"std_error": "std.error", "statistic": "statistic"}
    assert_columns_equal(result, expected, columns | unchanged, LOGIT_ERROR_RTOL)
    assert_columns_equal(result, expected, {"p_value": "p.value"}, LOGIT_P_RTOL)


def test_exponentiating_a_linear_model_warns_unless_its_left_side_is_a_log(drawn_table):
    rows = drawn_table.drop(columns=["case", "patient"])
    with warns_too(option="exponentiate", value=True, message="'iou ~ prob'"):
        ss.regress(rows, "iou ~ prob", exponentiate=True)
    plain = ss.regress(rows, "log1p(iou) ~ prob")
    ratio = ss.regress(rows, "log1p(iou) ~ prob", exponentiate=True)
    np.testing.assert_allclose(ratio["conf_low"], np.exp(plain["conf_low"]), rtol=EXACT)


def test_the_level_that_a_level_is_compared_with_stands_beside_it():
    rows = pd.DataFrame({"site": list("abc") * 4, "x": np.arange(12.0) % 5, "y": np.arange(12.0) ** 2})
    table = ss.regress(rows, ['y ~ x * C(site, Treatment("b"))', "y ~ 0 + site", "y ~ x"])
    told = table.loc[table["reference_level"].notna(), ["term", "reference_level"]]
    assert told.to_numpy().tolist() == [["C(site)a", "b"], ["C(site)c", "b"]]
    assert "reference_level" not in ss.regress(rows, "y ~ x")
    assert "normalized" not in table


def test_coefficients_of_covariates_from_0_to_1_are_marked():
    x = np.arange(12.0) % 5
    rows = pd.DataFrame({"share": x / 4, "x": x**2, "y": np.arange(12.0) ** 2})
    table = ss.regress(rows, ["y ~ share + x", "y ~ 0 + share", "y ~ x"])
    marked = table.loc[table["normalized"], ["formula", "term"]]
    assert marked.to_numpy().tolist() == [["y ~ share + x", "share"], ["y ~ 0 + share", "share"]]


def test_the_parts_of_a_model_follow_the_groups():
    random = np.random.default_rng(0)
    x = random.uniform(size=120)
    y = np.where(random.uniform(size=120) < 0.2, 0.0, random.uniform(0.1, 0.9, size=120))
    rows = pd.DataFrame({"site": ["a", "b"] * 60, "x": x, "y": y})
    table = ss.regress(rows, "y ~ x", by="site", family="zero-one-inflated-beta", errors="classical")
    assert table[["site", "part", "term"]].to_numpy().tolist() == [
        [site, part, term] for site in "ab" for part in ("mean", "zero") for term in ("(Intercept)", "x")
    ]
    assert list(table.columns[:2]) == ["site", "part"]


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.regress) == {
        "level": 0.95,
        "exponentiate": False,
        "overall": False,
        "reml": True,
    }


def test_marginal_effects_are_not_exponentiated(drawn_table):
    with raises(ValueRangeError, option="exponentiate", value=True):
        ss.regress(drawn_table, "hit ~ prob", by=(), effects="marginal", exponentiate=True)


def test_a_group_without_estimates_has_a_row_of_nan_for_each_term():
    rows = pd.DataFrame({"site": list("aaaabbbb"), "x": np.arange(8.0) ** 2, "y": np.arange(8.0) % 3})
    rows.loc[rows["site"] == "a", "y"] = np.nan
    with warns(option=None, column="estimate"):
        table = ss.regress(rows, "y ~ x", by="site", errors="classical")
    assert table[["site", "term"]].to_numpy().tolist() == [
        [site, term] for site in "ab" for term in ("(Intercept)", "x")
    ]
    estimates = table[["estimate", "std_error", "df", "p_value", "conf_low", "conf_high"]]
    assert estimates.isna().all(axis=1).tolist() == [True, True, False, False]
    assert estimates.iloc[2:].notna().all(axis=None)
    assert table["n"].tolist() == [0, 0, 4, 4]


@pytest.mark.parametrize(("absent", "n_rows"), [(None, [4, 4]), ("a", [2, 4])])
def test_a_model_has_a_row_for_each_term_of_each_part_or_of_one_without_estimates(absent, n_rows):
    random = np.random.default_rng(0)
    y = np.where(random.uniform(size=120) < 0.2, 0.0, random.uniform(0.1, 0.9, size=120))
    rows = pd.DataFrame({"site": ["a", "b"] * 60, "x": random.uniform(size=120), "y": y})
    rows.loc[rows["site"] == absent, "y"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = ss.fit(rows, "y ~ x", by="site", family="zero-one-inflated-beta", errors="classical")
        table = fit.tidy()
    assert [n_coefficient_rows(model) for model in fit.models] == n_rows
    assert table.groupby("site").size().tolist() == n_rows
