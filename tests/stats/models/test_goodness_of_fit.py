"""Model statistics against broom, observations against statsmodels."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from regression_oracle import LINEAR, logit_model, rows_of
from tests_support import default_numbers_and_flags, raises, warns

import salstats as ss
from salstats.errors import ColumnError, ValueRangeError

# double precision on both sides; adj.r.squared near zero loses three digits to cancellation
RTOL = 1e-10
# what models give does not hang on what is pooled
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")
GLANCE = {
    "r_squared": "r.squared",
    "adj_r_squared": "adj.r.squared",
    "sigma": "sigma",
    "statistic": "statistic",
    "p_value": "p.value",
    "df": "df",
    "log_lik": "logLik",
    "aic": "AIC",
    "bic": "BIC",
    "deviance": "deviance",
    "df_residual": "df.residual",
    "nobs": "nobs",
}
GLM_GLANCE = {
    **{c: GLANCE[c] for c in ("log_lik", "aic", "bic", "deviance", "df_residual", "nobs")},
    "null_deviance": "null.deviance",
    "df_null": "df.null",
}


def _compare(result, row, columns):
    for ours, theirs in columns.items():
        if pd.isna(row[theirs]):
            assert pd.isna(result[ours]), ours
        else:
            assert result[ours] == pytest.approx(row[theirs], rel=RTOL), ours


def test_linear_models_equal_brooms_glance(synth1, r_expected):
    oracle = r_expected("lm_glance")
    assert len(oracle) == 38
    for _, row in oracle.iterrows():
        formula = LINEAR[row["model"].split("|")[0]]
        result = ss.fit_statistics(rows_of(synth1, row["model"]), formula, errors="classical")
        _compare(result.iloc[0], row, GLANCE)
        assert result[["null_deviance", "df_null"]].isna().all(axis=None)


def test_logit_models_equal_brooms_glance(synth1, r_expected):
    for _, row in r_expected("glm_glance").iterrows():
        formula, family = logit_model(row["model"])
        result = ss.fit_statistics(rows_of(synth1, row["model"]), formula, family=family).iloc[0]
        _compare(result, row, GLM_GLANCE)
        assert result[["r_squared", "sigma", "statistic"]].isna().all()


def test_the_f_test_is_the_joint_test_of_all_terms_by_the_errors_taken(drawn_table):
    formulas = ["iou ~ prob + task", "iou ~ prob * elongation"]
    ours, test = ss.fit_statistics(drawn_table, formulas), ss.joint_test(drawn_table, formulas)
    for name, theirs in {"statistic": "statistic", "p_value": "p_value", "df": "df"}.items():
        np.testing.assert_array_equal(ours[name], test[theirs])
    np.testing.assert_array_equal(ours["df_denominator"], test["df_residual"])
    assert set(ours["errors"]) == {"cr2"}
    assert set(ours["unit"]) == {"patient"}
    assert set(ours["n_units"]) == {180}


def test_models_without_intercept_or_slopes_follow_r(drawn_table):
    rows = rows_of(drawn_table, "uni|Edema")[["iou", "prob"]].dropna()
    theirs = sm.OLS(rows["iou"], rows["prob"]).fit()
    ours = ss.fit_statistics(rows, "iou ~ prob - 1", errors="classical").iloc[0]
    assert ours["r_squared"] == pytest.approx(theirs.rsquared, rel=RTOL)
    assert ours["adj_r_squared"] == pytest.approx(theirs.rsquared_adj, rel=RTOL)
    assert ours["statistic"] == pytest.approx(theirs.fvalue, rel=RTOL)
    assert ours["df"] == 1
    mean = ss.fit_statistics(rows, "iou ~ 1").iloc[0]
    assert (mean["r_squared"], mean["adj_r_squared"]) == (0, 0)
    assert mean[["statistic", "p_value", "df"]].isna().all()
    assert mean["sigma"] == pytest.approx(rows["iou"].std(), rel=RTOL)


def test_a_model_without_estimates_is_a_row_of_nan():
    rows = pd.DataFrame({"score": [0.1, 0.2], "x": [1.0, 2.0]})
    with warns(option=None, column="estimate"):
        result = ss.fit_statistics(rows, "score ~ x")
    assert result["nobs"].tolist() == [2]
    assert result["aic"].isna().all()


def test_observations_of_a_linear_model_equal_statsmodels_influence(drawn_table):
    rows = rows_of(drawn_table, "multi|POOLED")
    result = ss.augment(rows, LINEAR["multi"])
    used = rows.dropna(subset=["iou", "n_instances", "area_ratio", "elongation", "irrectangularity"])
    design = sm.add_constant(used[["n_instances", "area_ratio", "elongation", "irrectangularity"]])
    fit = sm.OLS(used["iou"], design).fit()
    influence = fit.get_influence()
    assert len(result) == len(used)
    np.testing.assert_allclose(result["fitted"], fit.fittedvalues, rtol=RTOL)
    np.testing.assert_allclose(result["residual"], fit.resid, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(result["leverage"], influence.hat_matrix_diag, rtol=RTOL)
    np.testing.assert_allclose(result["cooks_distance"], influence.cooks_distance[0], rtol=1e-9, atol=1e-18)
    standardised = influence.resid_studentized_internal
    np.testing.assert_allclose(result["std_residual"], standardised, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("family", ["binomial", "fractional"])
def test_observations_of_a_logit_model_equal_statsmodels_influence(drawn_table, family):
    outcome = "hit" if family == "binomial" else "iou"
    rows = rows_of(drawn_table, "logit|Edema")
    result = ss.augment(rows, f"{outcome} ~ prob + area_ratio", family=family)
    used = rows.dropna(subset=[outcome, "prob", "area_ratio"])
    design = sm.add_constant(used[["prob", "area_ratio"]])
    scale = None if family == "binomial" else "X2"
    fit = sm.GLM(used[outcome], design, family=sm.families.Binomial()).fit(tol=1e-14, scale=scale)
    influence = fit.get_influence()
    np.testing.assert_allclose(result["fitted"], fit.fittedvalues, rtol=1e-9)
    np.testing.assert_allclose(result["residual"], fit.resid_response, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result["leverage"], influence.hat_matrix_diag, rtol=1e-8)
    np.testing.assert_allclose(result["std_residual"], influence.resid_studentized, rtol=1e-8, atol=1e-11)
    # statsmodels divides by the number of coefficients too: Pearson's form
    np.testing.assert_allclose(result["cooks_distance"], influence.cooks_distance[0], rtol=1e-8, atol=1e-12)


def test_rows_keep_their_columns_and_order_and_those_with_missing_variables_are_left_out(drawn_table):
    rows = rows_of(drawn_table, "all|POOLED").sample(frac=1, random_state=4)
    result = ss.augment(rows, ["iou ~ prob", "iou ~ elongation"], by="task")
    assert list(result.columns) == [
        "formula",
        *rows.columns,
        *("fitted", "residual", "leverage", "cooks_distance", "std_residual"),
    ]
    first = result[result["formula"] == "iou ~ prob"].reset_index(drop=True)
    used = rows.dropna(subset=["iou", "prob"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(first[rows.columns], used)
    counts = ss.regress(rows, "iou ~ prob", by="task").query("term == 'prob'").set_index("task")
    assert first.groupby("task").size().to_dict() == counts["n"].to_dict()
    np.testing.assert_allclose(first.groupby("task")["residual"].sum(), 0, atol=1e-10)


def test_gap_rows_hold_reference_minus_method(drawn_table, drawn_scores):
    result = ss.augment(drawn_scores, "iou ~ prob", reference="human")
    gap = (drawn_table["human_iou"] - drawn_table["iou"])[drawn_table["prob"].notna()].dropna()
    np.testing.assert_allclose(np.sort(result["iou"]), np.sort(gap), rtol=1e-14)
    assert "score" not in result.columns


def test_a_column_that_would_be_overwritten_is_refused(drawn_table):
    rows = rows_of(drawn_table, "all|POOLED").assign(fitted=1.0)
    with raises(ColumnError, column="fitted"):
        ss.augment(rows, "iou ~ prob")


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.fit_statistics) == {"overall": False, "reml": True}


def test_rows_of_two_models_are_not_augmented(drawn_table):
    with raises(ValueRangeError, option="overall", value=True):
        ss.fit(drawn_table, "iou ~ prob", by="task", overall=True).augment()
