"""Beta regression against R's betareg and statsmodels' BetaModel."""

import numpy as np
import pandas as pd
import pytest
from regression_derivatives import assert_derivatives_are_slopes
from regression_oracle import FEATURES
from scipy import special, stats
from statsmodels.othermod.betareg import BetaModel
from tests_support import raises, warns

import salstats as ss
from salstats.errors import Setting, ValueRangeError
from salstats.stats.models.beta import beta_regression

# betareg was run to 1e-15 of its likelihood, which is flat there
RTOL = 1e-7
# statsmodels stops at a gradient of 1e-5
THEIR_RTOL = 1e-4
# what models give does not hang on what is pooled
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")


@pytest.fixture(scope="module")
def squeezed(r_data, synth1):
    """The rows of the oracle, iou squeezed into (0, 1)."""
    rows = r_data("betareg_sv").rename(columns={"case_id": "case", "patient_id": "patient"})
    return rows.merge(synth1.drop(columns="iou"), on=["case", "patient", "task"], validate="1:1")


@pytest.fixture(scope="module")
def drawn(drawn_table):
    """The rows of the study that is drawn here, iou squeezed into (0, 1)."""
    rows = drawn_table.dropna().reset_index(drop=True)
    return rows.assign(y_sv=(rows["iou"] * (len(rows) - 1) + 0.5) / len(rows))


def rows_and_formula(squeezed, model):
    if model == "sv":
        return squeezed, f"y_sv ~ {FEATURES}"
    inside = squeezed[(squeezed["iou"] > 0) & (squeezed["iou"] < 1)]
    return inside, f"iou ~ {FEATURES}" + (" + task" if model == "interior_task" else "")


@pytest.mark.parametrize("model", ["sv", "interior", "interior_task"])
def test_coefficients_and_errors_equal_betareg(squeezed, r_expected, model):
    table = r_expected("betareg_coef").query("type == 'ML' and `link.phi` == 'default' and model == @model")
    expected = table[table["term"] != "(phi)"].reset_index(drop=True)
    assert len(table) == len(expected) + 1
    rows, formula = rows_and_formula(squeezed, model)
    independent = rows.drop(columns=["case", "patient"])
    n, k = len(rows), len(expected)
    classical = ss.regress(independent, formula, family="beta", errors="classical")
    assert classical["term"].tolist() == expected["term"].tolist()
    names = {"estimate": "estimate", "std_error": "std.error", "statistic": "z", "conf_low": "lo"}
    for ours, theirs in names.items():
        np.testing.assert_allclose(classical[ours], expected[theirs], rtol=RTOL, err_msg=ours)
    np.testing.assert_allclose(classical["p_value"], expected["p"], rtol=1e-5)
    assert classical["df"].isna().all()
    robust = ss.regress(independent, formula, family="beta", errors="hc0")
    np.testing.assert_allclose(robust["std_error"], expected["se_sandwich"], rtol=RTOL)
    clustered = ss.regress(rows, formula, family="beta", errors="cluster", unit="patient")
    # R's vcovCL leaves (n - 1) / (n - k) out unless type = "HC1"; k counts the precision
    stata = np.sqrt((n - 1) / (n - k - 1))
    np.testing.assert_allclose(clustered["std_error"], stata * expected["se_cluster_patient"], rtol=RTOL)


@pytest.mark.parametrize("model", ["sv", "interior", "interior_task"])
def test_likelihood_and_precision_equal_betareg(squeezed, r_expected, model):
    only = "type == 'ML' and `link.phi` == 'default' and model == @model"
    expected = r_expected("betareg_fit").query(only).iloc[0]
    precision = r_expected("betareg_coef").query(only).query("term == '(phi)'")["estimate"].item()
    rows, formula = rows_and_formula(squeezed, model)
    ours = ss.fit_statistics(rows, formula, family="beta").iloc[0]
    assert ours["precision"] == pytest.approx(precision, rel=RTOL)
    for name, theirs in {"log_lik": "logLik", "aic": "AIC", "bic": "BIC", "nobs": "n"}.items():
        assert ours[name] == pytest.approx(expected[theirs], rel=1e-10)


def test_estimates_equal_statsmodels(drawn):
    theirs = BetaModel.from_formula(f"y_sv ~ {FEATURES}", drawn).fit(disp=0)
    fit = ss.fit(drawn.drop(columns=["case", "patient"]), f"y_sv ~ {FEATURES}", family="beta")
    np.testing.assert_allclose(fit.tidy()["estimate"], theirs.params[:-1], rtol=THEIR_RTOL)
    assert fit.glance()["precision"][0] == pytest.approx(np.exp(theirs.params.iloc[-1]), rel=THEIR_RTOL)
    assert fit.glance()["log_lik"][0] == pytest.approx(theirs.llf, rel=1e-8)


def test_margins_and_predictions_are_on_the_scores_scale(drawn):
    fit = ss.fit(drawn.drop(columns=["case", "patient"]), "y_sv ~ prob + task", family="beta")
    used = fit.augment()
    mean = used["fitted"]
    prob = fit.tidy().set_index("term")["estimate"]["prob"]
    slope = fit.slopes("prob").iloc[0]
    assert slope["estimate"] == pytest.approx((mean * (1 - mean)).mean() * prob, rel=1e-7)
    assert fit.means("task", average="rows")["estimate"].between(0, 1).all()
    # a hat matrix of the expected information's weights, as betareg's
    assert used["leverage"].sum() == pytest.approx(len(fit.tidy()), rel=1e-10)
    precision = fit.glance()["precision"][0]
    pearson = used["residual"] / np.sqrt(mean * (1 - mean) / (1 + precision) * (1 - used["leverage"]))
    np.testing.assert_allclose(used["std_residual"], pearson, rtol=1e-10)


def test_outcomes_of_0_or_1_and_errors_it_does_not_have_are_refused(drawn_table):
    rows = drawn_table.drop(columns=["case", "patient"]).assign(iou=lambda d: d["iou"].clip(0, 1))
    with raises(
        ValueRangeError, option="family", value="beta", message="0", hint=Setting("family", "fractional")
    ):
        ss.regress(rows.assign(iou=[0.0, *rows["iou"][1:]]), "iou ~ prob", family="beta")
    with raises(ValueRangeError, option="errors", value="hc3"):
        ss.regress(rows, "iou ~ prob", family="beta", errors="hc3")


def test_a_constant_outcome_has_no_estimates():
    rows = pd.DataFrame({"score": 0.4, "x": np.arange(9.0)})
    with warns(option=None, column="estimate"):
        assert ss.regress(rows, "score ~ x", family="beta")["estimate"].isna().all()


def test_scores_near_0_and_1_are_fitted_though_means_go_there_on_the_way():
    x = np.array([-2.05, 0.41, -0.53, 0.15, -0.27, -0.95, -0.42, 0.40, 0.77])
    rows = pd.DataFrame({"score": [0.001, 0.001, 0.999, 0.999, 0.001, 0.001, 0.001, 0.999, 0.999], "x": x})
    rows["site"] = list("bbcaaaaab")
    fit = ss.fit(rows, "score ~ site + x", family="beta", errors="classical")
    mean, precision = fit.augment()["fitted"], fit.glance()["precision"][0]
    likelihood = [
        stats.beta.logpdf(rows["score"], mean * phi, (1 - mean) * phi).sum()
        for phi in (0.999 * precision, precision, 1.001 * precision)
    ]
    assert likelihood[1] == max(likelihood)


def test_leverages_and_variances_are_those_of_the_fitted_distribution():
    rng = np.random.default_rng(3)
    matrix = np.column_stack([np.ones(50), rng.normal(size=50)])
    mean = special.expit(matrix @ [0.2, 0.5])
    solution = beta_regression(matrix, rng.beta(mean * 8, (1 - mean) * 8), True)
    # The trace of a hat matrix is the number of coefficients.
    assert solution.leverage.sum() == pytest.approx(2, rel=1e-10)
    fitted = special.expit(matrix @ solution.coefficients)
    np.testing.assert_allclose(solution.fitted, fitted, rtol=1e-12)
    precision = solution.parameters["precision"]
    np.testing.assert_allclose(solution.variances, fitted * (1 - fitted) / (1 + precision), rtol=1e-10)
    assert solution.df_residual == 50 - 3


def test_derivatives_of_the_mean_are_slopes_of_small_steps():
    rng = np.random.default_rng(3)
    matrix = np.column_stack([np.ones(30), rng.normal(size=30)])
    solution = beta_regression(matrix, rng.beta(3, 2, 30), has_intercept=True)
    predictors = np.column_stack([np.linspace(-3, 3, 7), np.linspace(0, 2, 7)])
    assert_derivatives_are_slopes(solution.mean_function, predictors)
    np.testing.assert_allclose(solution.mean_function(predictors).mean, special.expit(predictors[:, 0]))


@pytest.mark.parametrize("end", [0.0, 1.0, -0.1, 1.1])
def test_scores_of_0_or_1_and_beyond_are_named(end):
    rows = pd.DataFrame({"score": [0.2, end, 0.5, 0.6, 0.4], "x": np.arange(5.0)})
    with raises(ValueRangeError, option="family", value="beta", message=f"{end:g}"):
        ss.regress(rows, "score ~ x", family="beta")
