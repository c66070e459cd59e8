"""Models of scores with lumps at 0 and 1 against likelihoods written out, in R and here, and glmmTMB."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from regression_derivatives import assert_derivatives_are_slopes, scores_with_ends
from scipy import integrate, optimize, stats
from scipy.special import expit
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ValueRangeError
from salstats.stats.models.ordered_beta import ordered_beta

REFERENCE = Path(__file__).parents[2] / "reference" / "ordered_beta"
FORMULA = "{} ~ method * x"
FAMILY = {"ordered": "ordered-beta", "inflated": "zero-one-inflated-beta"}
#: Errors of units; all but the first have degrees of freedom of their own.
CLUSTERED_ERRORS = ("cluster", "cr2", "mancl-derouen")
MODELS = ("ordered", "ordered_no_ones", "inflated", "inflated_no_ones")
# R's derivatives are numerical: 1e-10 of scores, of which an information is made
RTOL = 2e-7
# Richardson's second differences, of a gradient that is a difference itself
SLOPE_RTOL = 1e-5
# what glmmTMB's optimiser leaves
THEIR_RTOL = 2e-5


@pytest.fixture(scope="module")
def scores():
    return pd.read_csv(REFERENCE / "scores.csv")


@pytest.fixture(scope="module")
def expected():
    return pd.read_csv(REFERENCE / "models.csv", keep_default_na=False, na_values={"estimate": ""})


def fitted(scores, model, errors):
    kind, _, no_ones = model.partition("_")
    formula = FORMULA.format("no_ones" if no_ones else "score")
    unit = "patient" if errors in CLUSTERED_ERRORS else None
    rows = scores if unit else scores.drop(columns="patient")
    return ss.fit(rows, formula, by=(), family=FAMILY[kind], errors=errors, unit=unit)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("errors", ["classical", "hc0", *CLUSTERED_ERRORS])
def test_coefficients_and_errors_are_those_of_the_likelihood_written_out_in_r(
    scores, expected, model, errors
):
    table = expected.query("model == @model and kind == 'parameter' and errors == @errors")
    fit = fitted(scores, model, errors)
    ours = fit.tidy()
    theirs = table.iloc[: len(ours)]
    # R stops at a gradient of 1e-7, which says how far in standard errors
    assert (np.abs(ours["estimate"] - theirs["estimate"].to_numpy()) < RTOL * ours["std_error"]).all()
    np.testing.assert_allclose(ours["std_error"], theirs["std_error"].astype(float), rtol=RTOL)
    if errors in CLUSTERED_ERRORS[1:]:
        np.testing.assert_allclose(ours["df"], theirs["df"].astype(float), rtol=RTOL)
    others = fit.glance().iloc[0].reindex(["cutpoint_zero", "cutpoint_one", "precision"]).dropna()
    found = [*others[:-1], np.log(others["precision"])]
    np.testing.assert_allclose(found, table["estimate"].iloc[len(ours) :], rtol=RTOL)
    likelihood = expected.query("model == @model and name == 'log_lik'")["estimate"].item()
    assert fit.glance()["log_lik"][0] == pytest.approx(likelihood, rel=1e-12)
    assert fit.glance()["aic"][0] == pytest.approx(2 * len(table) - 2 * likelihood, rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("errors", ["classical", "hc0", *CLUSTERED_ERRORS])
def test_averages_on_the_scores_scale_move_with_every_parameter(scores, expected, model, errors):
    table = expected.query("model == @model and kind == 'average' and errors == @errors").set_index("name")
    fit = fitted(scores, model, errors)
    means = fit.means("method", average="rows").set_index("method")
    slope = fit.slopes("x").iloc[0]
    contrast = fit.contrasts("method", average="rows").iloc[0]
    found = {
        "gradcam": means.loc["gradcam"],
        "human": means.loc["human"],
        "human - gradcam": contrast,
        "slope of x": slope,
    }
    for name, row in found.items():
        rtol = SLOPE_RTOL if name == "slope of x" else RTOL
        assert row["estimate"] == pytest.approx(table["estimate"][name], rel=rtol)
        assert row["std_error"] == pytest.approx(float(table["std_error"][name]), rel=rtol)
        if errors in CLUSTERED_ERRORS[1:]:
            assert row["df"] == pytest.approx(float(table["df"][name]), rel=rtol)


def test_ordered_beta_is_that_of_glmmtmb(scores, expected):
    table = expected.query("model == 'glmmTMB'").set_index(["kind", "name"])["estimate"]
    fit = fitted(scores, "ordered", "cr2")
    ours = fit.tidy().set_index("term")["estimate"]
    np.testing.assert_allclose(ours, table["parameter"][ours.index], rtol=THEIR_RTOL)
    assert fit.glance()["log_lik"][0] == pytest.approx(table["fit"]["log_lik"], rel=1e-9)
    assert fit.glance()["precision"][0] == pytest.approx(table["fit"]["precision"], rel=THEIR_RTOL)
    # glmmTMB 1.1.5 predicts the mean in between, not that of the score
    rows = scores.iloc[[int(row) - 1 for row in table["predict"].index]]
    terms = fit.tidy().set_index("term")["estimate"]
    human = rows["method"] == "human"
    slope = terms["x"] + human * terms["methodhuman:x"]
    eta = terms["(Intercept)"] + human * terms["methodhuman"] + slope * rows["x"]
    np.testing.assert_allclose(expit(eta), table["predict"], rtol=THEIR_RTOL)


def by_hand(scores):
    """The log-likelihood of an ordered beta model of one factor, as in the paper's equations 3 and 4."""
    y, human = scores["score"].to_numpy(), (scores["method"] == "human").to_numpy(dtype=float)

    def value(parameters):
        b0, b1, low, log_gap, log_precision = parameters
        eta, precision = b0 + b1 * human, np.exp(log_precision)
        above, top, mu = expit(eta - low), expit(eta - low - np.exp(log_gap)), expit(eta)
        inside = np.log(above - top) + stats.beta.logpdf(
            np.clip(y, 1e-9, 1 - 1e-9), mu * precision, (1 - mu) * precision
        )
        return -np.where(y == 0, np.log(1 - above), np.where(y == 1, np.log(top), inside)).sum()

    return value


def test_the_likelihood_is_at_its_top(scores):
    fit = ss.fit(scores, "score ~ method", by=(), family="ordered-beta")
    start = [0, 0, -1, 0, 1]
    best = optimize.minimize(by_hand(scores), start, method="Nelder-Mead", options={"maxiter": 9000})
    assert fit.glance()["log_lik"][0] >= -best.fun - 1e-9
    assert fit.glance()["log_lik"][0] == pytest.approx(-best.fun, rel=1e-6)
    # Nelder and Mead's simplex stops at 1e-4
    np.testing.assert_allclose(fit.tidy()["estimate"], best.x[:2], atol=1e-3)


@pytest.mark.parametrize("family", FAMILY.values())
def test_fitted_values_and_residuals_are_of_the_whole_distribution(scores, family):
    rows = scores.drop(columns="patient")
    fit = ss.fit(rows, "score ~ method", by=(), family=family, errors="classical")
    row, glance = fit.augment().iloc[0], fit.glance().iloc[0]
    terms = fit.tidy()
    if family == "ordered-beta":
        eta = terms["estimate"][0]
        zero, one = expit(glance["cutpoint_zero"] - eta), expit(eta - glance["cutpoint_one"])
    else:
        of = terms[terms["term"] == "(Intercept)"].set_index("part")["estimate"]
        eta, total = of["mean"], 1 + np.exp(of["zero"]) + np.exp(of["one"])
        zero, one = np.exp(of["zero"]) / total, np.exp(of["one"]) / total
    shape = expit(eta) * glance["precision"], expit(-eta) * glance["precision"]
    moments = [
        one + (1 - zero - one) * integrate.quad(lambda y, k=k: y**k * stats.beta.pdf(y, *shape), 0, 1)[0]
        for k in (1, 2)
    ]
    assert row["method"] == "gradcam"
    assert row["fitted"] == pytest.approx(moments[0], rel=1e-7)
    deviation = np.sqrt(moments[1] - moments[0] ** 2)
    expected = row["residual"] / (deviation * np.sqrt(1 - row["leverage"]))
    assert row["std_residual"] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("family", FAMILY.values())
def test_separation_is_said(scores, family):
    # site b has scores strictly between only (inflated), or zeros only (ordered)
    some = np.flatnonzero((scores["score"] > 0) & (scores["score"] < 1))[:12]
    chosen = np.flatnonzero(scores["score"] == 0) if family == "ordered-beta" else some
    rows = scores.assign(site=np.where(np.isin(np.arange(len(scores)), chosen), "b", "a"))
    with warns(option=None, column="estimate", message="siteb"):
        assert (
            ss.regress(rows.drop(columns="patient"), "score ~ method + site", by=(), family=family)[
                "estimate"
            ]
            .isna()
            .all()
        )


def test_scores_that_say_nothing_in_between_have_no_estimates(scores):
    ends = scores.assign(score=scores["score"].round())
    with warns(option=None, column="estimate"):
        ss.regress(ends, "score ~ method", by=(), family="ordered-beta")
    one = scores.assign(score=scores["score"].where(scores["score"].isin((0, 1)), 0.5))
    with warns(option=None, column="estimate"):
        ss.regress(one, "score ~ method", by=(), family="zero-one-inflated-beta")
    with raises(ValueRangeError, option="family", value="ordered-beta", message="2"):
        ss.regress(scores.assign(score=2.0), "score ~ method", by=(), family="ordered-beta")
    with raises(ValueRangeError, option="errors", value="hc3"):
        ss.regress(scores, "score ~ method", by=(), family="ordered-beta", errors="hc3")


@pytest.mark.parametrize("family", [*FAMILY.values(), "beta"])
def test_the_unit_of_a_covariate_does_not_matter(scores, family):
    inside = scores.assign(score=scores["score"].clip(0.01, 0.99)) if family == "beta" else scores
    own = ss.regress(inside, "score ~ method + x", by=(), family=family, unit="patient")
    rows = inside.assign(x=inside["x"] * 1e9)
    found = ss.regress(rows, "score ~ method + x", by=(), family=family, unit="patient")
    for column in ("statistic", "df", "p_value"):
        np.testing.assert_allclose(found[column], own[column], rtol=1e-6)


def test_without_lumps_both_are_beta_models(scores):
    inside = scores[scores["score"].between(0, 1, inclusive="neither")]
    beta = ss.regress(inside, "score ~ method + x", by=(), family="beta", unit="patient")
    for family in FAMILY.values():
        ours = ss.regress(inside, "score ~ method + x", by=(), family=family, unit="patient")
        for column in ("estimate", "std_error", "df"):
            np.testing.assert_allclose(ours[column], beta[column], rtol=1e-8)


@pytest.mark.parametrize(("zeros", "ones"), [(True, True), (True, False), (False, True), (False, False)])
def test_derivatives_of_the_mean_are_slopes_of_small_steps(zeros, ones):
    matrix, response = scores_with_ends(zeros=zeros, ones=ones)
    solution = ordered_beta(matrix, response, has_intercept=True)
    nuisance = np.tile(solution.nuisance_parameters, (7, 1))
    assert_derivatives_are_slopes(solution.mean_function, np.column_stack([np.linspace(-3, 3, 7), nuisance]))
