"""What regress does where standard errors cannot be estimated, or are not to be trusted."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from regression_oracle import assert_columns_equal
from scipy import stats
from tests_support import warns

import salstats as ss
from salstats.errors import ColumnName, ColumnValue
from salstats.stats.models.standard_errors import (
    correlation_of_combinations,
    standard_errors_of_combinations,
)

# both sides solve by QR in double precision
LINEAR_RTOL = 1e-10
# IRLS stops at 1e-12 of a coefficient here and at 1e-14 of the deviance in R; df feel twice of that
LOGIT_RTOL = 1e-8
REFERENCE = Path(__file__).parents[2] / "reference"
INFERENCE = ["std_error", "statistic", "p_value", "conf_low", "conf_high"]


def named_terms(caught):
    """The terms that a warning about one model names after the model."""
    parts = caught[0].message.message.parts
    names = [part for part in parts[parts.index(": ") + 1 :] if part != ", "]
    return [name.name if isinstance(name, ColumnName) else name for name in names]


@pytest.mark.parametrize("unit", ["patient", "row"])
@pytest.mark.parametrize("family", ["gaussian", "binomial", "fractional", "beta"])
# patients of the oracle's data go to several sites
@pytest.mark.filterwarnings("ignore:39 of 40 units named by 'patient' have cases of several 'site'")
def test_cr2_is_clubsandwichs_with_satterthwaites_df_and_is_recommended(family, unit):
    of_r = pd.read_csv(REFERENCE / "clubsandwich" / "cr2_models.csv").query(
        "model == @family and unit == @unit"
    )
    scores = pd.read_csv(REFERENCE / "emmeans" / "scores.csv")
    # without a column that says so, no rows belong together
    rows = scores if unit == "patient" else scores.drop(columns="patient")
    outcome = "hit" if family == "binomial" else "score"
    fit = ss.fit(rows, f"{outcome} ~ method + site + x", by=(), family=family, errors="cr2")
    terms = of_r[of_r["what"] == "term"]
    found = fit.tidy()
    assert found["term"].tolist() == terms["name"].tolist()
    for name in ("estimate", "std_error", "df"):
        np.testing.assert_allclose(found[name], terms[name], rtol=LOGIT_RTOL, err_msg=name)
    np.testing.assert_allclose(found["p_value"], terms["p_value"], rtol=1e-6)
    joint, of_joint = fit.joint(["method", "site"]).iloc[0], of_r[of_r["what"] == "joint"].iloc[0]
    told = joint[["statistic", "df_residual"]].tolist()
    assert told == pytest.approx(of_joint[["estimate", "df"]].tolist(), rel=LOGIT_RTOL)
    assert joint["p_value"] == pytest.approx(of_joint["p_value"], rel=1e-6)
    (model,) = fit.models
    half = np.zeros((1, len(model.solution.bread)))
    half[0, :2] = 0.5
    std_error, df = standard_errors_of_combinations(model, half, defaultdict(list))
    combination = of_r[of_r["what"] == "combination"].iloc[0]
    assert std_error[0] == pytest.approx(combination["std_error"], rel=LOGIT_RTOL)
    assert df[0] == pytest.approx(combination["df"], rel=LOGIT_RTOL)
    for frame in (found, fit.predict({"x": 1.0}), fit.means("method")):
        assert set(frame["errors"]) == {"cr2"}
        assert set(frame["unit"]) == {unit}
        assert set(frame["n_units"]) == {scores[unit].nunique() if unit == "patient" else len(scores)}
        assert set(frame["interval"]) == {"t"}
    for asked in (None, "recommended"):
        taken = ss.fit(rows, f"{outcome} ~ method + site + x", by=(), family=family, errors=asked).errors
        # beta models have parameters beside a line's, with which CR2 is too small
        assert taken == ("mancl-derouen" if family == "beta" else "cr2")


def test_a_mean_alone_has_the_t_interval_of_its_units():
    values = np.random.default_rng(4).normal(size=14)
    rows = pd.DataFrame({"score": values, "case": np.repeat(list("abcdefg"), 2)})
    each = stats.ttest_1samp(values, 0)
    of_pairs = stats.ttest_1samp(values.reshape(7, 2).mean(axis=1), 0)
    for frame, test in ((rows.drop(columns="case"), each), (rows, of_pairs)):
        mean = ss.regress(frame, "score ~ 1").iloc[0]
        assert (mean["statistic"], mean["df"]) == pytest.approx((test.statistic, test.df), rel=LINEAR_RTOL)
        limits = test.confidence_interval()
        assert (mean["conf_low"], mean["conf_high"]) == pytest.approx(tuple(limits), rel=LINEAR_RTOL)


@pytest.mark.parametrize("errors", ["classical", "hc1"])
@pytest.mark.parametrize("family", ["gaussian", "fractional"])
@pytest.mark.parametrize("n", [6, 5000])
def test_a_constant_outcome_leaves_nothing_to_infer_from(family, n, errors):
    rows = pd.DataFrame({"score": np.full(n, 0.3), "x": np.arange(n) / n})
    with warns(option=None, column="std_error"):
        result = ss.regress(rows, "score ~ x", family=family, errors=errors)
    constant = 0.3 if family == "gaussian" else np.log(0.3 / 0.7)
    assert result["estimate"].tolist() == pytest.approx([constant, 0.0], abs=1e-13)
    assert result[INFERENCE].isna().all(axis=None)


@pytest.fixture
def one_treated():
    """30 clusters of 6 rows, of which one has the treatment."""
    rng = np.random.default_rng(8)
    centre = np.repeat(np.arange(30), 6)
    outcome = rng.normal(size=30)[centre] + rng.normal(size=180)
    hit = (rng.random(180) < 0.5).astype(float)
    rows = pd.DataFrame({"score": outcome, "hit": hit, "centre": centre, "x": rng.normal(size=180)})
    return rows.assign(treated=(centre == 4).astype(float))


@pytest.mark.parametrize("errors", ["cluster", "cr2"])
def test_clusters_that_are_the_levels_of_a_term_have_no_errors(errors):
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"score": rng.normal(size=30), "site": np.repeat(list("abc"), 10)})
    with warns(option="errors", value=errors, column="term") as caught:
        result = ss.regress(rows, "score ~ site", errors=errors, unit="site")
    assert named_terms(caught) == ["(Intercept)", "siteb", "sitec"]
    assert result["estimate"].notna().all()
    assert result[INFERENCE].isna().all(axis=None)


@pytest.mark.parametrize(
    ("errors", "outcome", "family"),
    [
        (None, "hit", "binomial"),
        (None, "score", "gaussian"),
        ("cluster", "score", "gaussian"),
        ("cr2", "score", "gaussian"),
        ("cluster", "hit", "binomial"),
        ("cluster", "hit", "fractional"),
    ],
)
def test_one_treated_cluster_gives_no_error_of_the_treatment(one_treated, errors, outcome, family):
    options = {"errors": errors, "unit": "centre", "family": family}
    with warns(option="errors", column="term") as caught:
        result = ss.regress(one_treated, f"{outcome} ~ treated + x", **options)
    assert named_terms(caught) == ["treated"]
    assert result.set_index("term")[INFERENCE].isna().all(axis=1).tolist() == [False, True, False]
    two = one_treated.assign(treated=one_treated["centre"].isin([4, 5]).astype(float))
    assert ss.regress(two, f"{outcome} ~ treated + x", **options)[INFERENCE].notna().all(axis=None)


def test_fixed_effects_of_the_clusters_leave_the_slope(one_treated):
    with warns(option="errors", value="cluster", column="term", message="25"):
        result = ss.regress(one_treated, "score ~ x + C(centre)", errors="cluster", unit="centre")
    assert result.index[result["std_error"].notna()].tolist() == [1]
    # the slope of what is left of both sides within clusters, by the sum over clusters
    within = one_treated.groupby("centre")[["score", "x"]].transform(lambda v: v - v.mean())
    slope = (within["x"] * within["score"]).sum() / (within["x"] ** 2).sum()
    score = within["x"] * (within["score"] - slope * within["x"])
    meat = (score.groupby(one_treated["centre"]).sum() ** 2).sum()
    variance = 30 / 29 * 179 / (180 - 31) * meat / (within["x"] ** 2).sum() ** 2
    assert result["estimate"][1] == pytest.approx(slope, rel=LINEAR_RTOL)
    assert result["std_error"][1] == pytest.approx(np.sqrt(variance), rel=LINEAR_RTOL)


@pytest.mark.parametrize("family", ["gaussian", "fractional"])
@pytest.mark.parametrize("errors", ["hc0", "hc1", "hc2", "hc3"])
def test_a_level_of_one_row_has_no_robust_error_and_leaves_the_others(errors, family):
    rng = np.random.default_rng(9)
    score = rng.uniform(0.1, 0.9, size=41)
    rows = pd.DataFrame({"score": score, "task": [*list("ab") * 20, "only"], "x": rng.normal(size=41)})
    for formula in ("score ~ task + x", "score ~ 0 + task + x"):
        with warns(option="errors", value=errors, column="term") as caught:
            result = ss.regress(rows, formula, family=family, errors=errors).set_index("term")
        assert named_terms(caught) == ["taskonly"]
        assert result.loc["taskonly", INFERENCE].isna().all()
        assert result["estimate"].notna().all()
        others = result.drop(index="taskonly")
        without = ss.regress(rows.drop(index=40), formula, family=family, errors=errors)
        # n / (n - k) of hc1: 41 / 37 and 40 / 37
        factor = np.sqrt(41 / 40) if errors == "hc1" else 1.0
        expected = without.assign(std_error=without["std_error"] * factor)
        assert_columns_equal(others, expected, {"estimate": "estimate", "std_error": "std_error"}, 1e-8)


def test_residuals_that_sum_to_zero_in_every_cluster_give_no_error_of_zero():
    # every cluster has the mean 2: CR1 of the mean is the sum of squares of 0, but for rounding
    rows = pd.DataFrame({"score": np.tile([1.1, 2.0, 2.9], 25), "case": np.repeat(np.arange(25), 3)})
    for errors in ("cluster", "cr2"):
        with warns(option="errors", value=errors, column="std_error") as caught:
            result = ss.regress(rows, "score ~ 1", errors=errors, unit="case")
        assert named_terms(caught) == ["(Intercept)"]
        assert result[INFERENCE].isna().all(axis=None)


def test_few_clusters_are_told_with_cr1_only(one_treated):
    few = one_treated[one_treated["centre"] < 19]
    for family, outcome in (("gaussian", "score"), ("binomial", "hit")):
        with warns(option="errors", value="cluster", column="n_units"):
            result = ss.regress(few, f"{outcome} ~ x", family=family, errors="cluster", unit="centre")
        assert (result["n_units"] == 19).all()
    ss.regress(few, "score ~ x", errors="cr2", unit="centre")
    enough = one_treated[one_treated["centre"] < 20]
    ss.regress(enough, "score ~ x", errors="cluster", unit="centre")


def test_a_reference_level_that_shifts_between_groups_warns():
    rng = np.random.default_rng(12)
    rows = pd.DataFrame({"score": rng.normal(size=90), "site": list("abc") * 30})
    rows["method"] = np.repeat(["p", "q", "r"], 30)
    lacking = rows[(rows["method"] != "q") | (rows["site"] != "a")]
    for formula, factor in (("score ~ site", ColumnName("site")), ("score ~ C(site)", "C(site)")):
        with warns(column="reference_level", message=factor) as caught:
            ss.regress(lacking, formula)
        assert len(caught) == 1
        parts = caught[0].message.message.parts
        assert [part for part in parts if isinstance(part, ColumnValue)] == [ColumnValue("method", "q")]
        assert [part for part in parts if part in ("'a'", "'b'")] == ["'b'", "'a'"]
    # without contrasts nothing is compared; a level named as reference, or that is no reference, may lack
    ss.regress(lacking, "score ~ 0 + site")
    ss.regress(lacking, 'score ~ C(site, Treatment("b"))')
    ss.regress(rows[(rows["method"] != "q") | (rows["site"] != "b")], "score ~ site")
    # the fit is the same whatever the terms are against
    ss.fit_statistics(lacking, "score ~ site")
    ss.augment(lacking, "score ~ site")


def test_a_single_cluster_has_no_standard_error(drawn_table):
    rows = drawn_table.query("task == 'Edema'").assign(site="one")
    for errors in ("cluster", "cr2"):
        with warns(option="errors", value=errors, column="n_units"):
            result = ss.regress(rows, "iou ~ prob", errors=errors, unit="site")
        assert result["estimate"].notna().all()
        assert result[["std_error", "p_value", "conf_low"]].isna().all(axis=None)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("errors", ["cluster", "cr0", "cr2"])
def test_rows_of_one_unit_have_estimates_without_errors(errors):
    rng = np.random.default_rng(0)
    x = rng.normal(size=10)
    rows = pd.DataFrame(
        {"score": x + rng.normal(size=10), "x": x, "patient": "p", "case": list("abcdefghij")}
    )
    found = ss.regress(rows, "score ~ x", errors=errors, unit="patient")
    np.testing.assert_allclose(found["estimate"], np.polyfit(x, rows["score"], 1)[::-1])
    assert found[["std_error", "df", "statistic", "p_value", "conf_low", "conf_high"]].isna().all(axis=None)


def test_classical_errors_share_one_variance_of_residuals():
    rng = np.random.default_rng(11)
    rows = pd.DataFrame({"x": rng.normal(size=25), "y": rng.normal(size=25)})
    fit = ss.fit(rows, "y ~ x", errors="classical")
    matrix = np.column_stack([np.ones(25), rows["x"]])
    residuals = rows["y"] - matrix @ np.linalg.lstsq(matrix, rows["y"], rcond=None)[0]
    covariance = (residuals**2).sum() / 23 * np.linalg.inv(matrix.T @ matrix)
    terms = fit.tidy()
    np.testing.assert_allclose(terms["std_error"], np.sqrt(np.diag(covariance)), rtol=LINEAR_RTOL)
    assert terms["df"].tolist() == [23, 23]
    means = fit.predict({"x": [-1.0, 0.0, 2.0]})
    at = np.array([[1.0, -1.0], [1.0, 0.0], [1.0, 2.0]])
    np.testing.assert_allclose(means["std_error"], np.sqrt(np.diag(at @ covariance @ at.T)), rtol=LINEAR_RTOL)
    assert means["df"].tolist() == [23, 23, 23]


def test_correlations_of_combinations_are_those_of_their_covariance():
    rng = np.random.default_rng(12)
    rows = pd.DataFrame({"x": rng.uniform(1, 2, size=25), "y": rng.normal(size=25)})
    fit = ss.fit(rows, "y ~ x", errors="classical")
    # of the intercept and of the means at 1 and 1.5: the variance of residuals cancels
    at = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.5]])
    matrix = np.column_stack([np.ones(25), rows["x"]])
    covariance = at @ np.linalg.inv(matrix.T @ matrix) @ at.T
    expected = covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    np.testing.assert_allclose(correlation_of_combinations(fit.models[0], at), expected, rtol=LINEAR_RTOL)
