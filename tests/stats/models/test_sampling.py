"""Models of weighted rows: those of sandwich, survey and clubSandwich, and what weights are by definition."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError
from salstats.stats.models import covariance
from salstats.stats.models.sampling import Sampling
from tests.weights_oracle import WEIGHTS, by_r, weighted_scores

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")
FORMULA = "score ~ method * task + x"
LOGIT = {"hit": "binomial", "score": "fractional"}


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    return weighted_scores()


def _close(found: pd.DataFrame, told: pd.DataFrame, rtol: float = 1e-10) -> None:
    for column in ("estimate", "std_error", "df", "p_value"):
        if told[column].notna().any():
            np.testing.assert_allclose(found[column], told[column], rtol=rtol, err_msg=column)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("direct", [100, 0])
def test_linear_models_are_those_of_clubsandwich(scores, weights, direct, monkeypatch) -> None:
    monkeypatch.setattr(covariance, "_MAX_DIRECT_CLUSTERS", direct)
    fit = ss.fit(scores, FORMULA, weights=weights)
    found = fit.tidy()
    _close(found, by_r("lm cr2", weights), 1e-9)
    assert (found["weights"] == weights).all()
    together = fit.joint(["method", "x", "method:task"]).iloc[0]
    told = by_r("lm joint", weights).iloc[0]
    assert together["statistic"] == pytest.approx(told["estimate"], rel=1e-9)
    assert together["df_residual"] == pytest.approx(told["df"], rel=1e-9)
    assert together["p_value"] == pytest.approx(told["p_value"], rel=1e-8)


@pytest.mark.filterwarnings("ignore:rows of one unit taken as independent", "ignore:few clusters")
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("errors", ["hc0", "hc1", "hc2", "hc3", "cluster"])
def test_linear_models_are_those_of_sandwich(scores, weights, errors) -> None:
    found = ss.fit(scores, FORMULA, weights=weights, errors=errors)
    _close(found.tidy(), by_r(f"lm {errors}", weights))
    shares = found.glance()[["r_squared", "adj_r_squared"]].iloc[0]
    np.testing.assert_allclose(shares, by_r("lm r_squared", weights)["estimate"], rtol=1e-10)
    assert found.glance()["aic"].isna().all()


@pytest.mark.parametrize("weights", WEIGHTS)
def test_linear_models_have_the_standard_errors_of_surveys(scores, weights) -> None:
    found, told = (
        ss.regress(scores, FORMULA, weights=weights, errors="cluster"),
        by_r("svyglm", weights),
    )
    n = found["n"].iloc[0]
    np.testing.assert_allclose(found["estimate"], told["estimate"], rtol=1e-10)
    # survey has G / (G - 1) alone
    without = found["std_error"] / np.sqrt((n - 1) / (n - len(found)))
    np.testing.assert_allclose(without, told["std_error"], rtol=1e-10)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("outcome", list(LOGIT))
def test_logit_models_are_those_of_sandwich_and_clubsandwich(scores, weights, outcome) -> None:
    options = {"family": LOGIT[outcome], "weights": weights, "unit": "patient"}
    table = scores.dropna(subset="score")
    for errors in ("cluster", "cr2"):
        found = ss.regress(table, f"{outcome} ~ method + x", errors=errors, **options)
        _close(found, by_r(f"glm {errors} {outcome}", weights), 1e-9)


def _same(found: pd.DataFrame, told: pd.DataFrame) -> None:
    shared = [c for c in found.columns if c not in ("weights", "log_lik", "aic", "bic")]
    pd.testing.assert_frame_equal(found[shared], told[shared], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("family", ["gaussian", "fractional"])
def test_weights_of_one_change_nothing_and_only_ratios_count(scores, family) -> None:
    ones = scores.assign(w=1.0, w7=7 * scores["sampling"])
    for weights, other in (("w", None), ("w7", "sampling")):
        found = ss.fit(ones, FORMULA, family=family, weights=weights)
        told = ss.fit(ones, FORMULA, family=family, weights=other)
        _same(found.tidy(), told.tidy())
        _same(found.glance(), told.glance())
        _same(found.augment(), told.augment())
        _same(found.means("method"), told.means("method"))
        _same(found.slopes("x", "task"), told.slopes("x", "task"))


@pytest.mark.parametrize("family", ["gaussian", "fractional"])
def test_whole_weights_have_the_estimates_of_repeated_rows(scores, family) -> None:
    rows = scores.loc[scores.index.repeat(scores["sampling"].astype(int))].reset_index(drop=True)
    rows["case"] += "_" + rows.groupby(["case", "task", "method"]).cumcount().astype(str)
    options = {"family": family, "unit": "patient"}
    found = ss.fit(scores, FORMULA, weights="sampling", **options)
    told = ss.fit(rows, FORMULA, **options)
    np.testing.assert_allclose(found.tidy()["estimate"], told.tidy()["estimate"], rtol=1e-9)
    for asked in ({"average": "rows"}, {"average": "rows", "by": "task"}):
        own, other = (fit.means("method", **asked)["estimate"] for fit in (found, told))
        np.testing.assert_allclose(own, other, rtol=1e-9)
    np.testing.assert_allclose(found.slopes("x")["estimate"], told.slopes("x")["estimate"], rtol=1e-9)


def test_averages_over_rows_are_weighted(scores) -> None:
    used = scores.dropna(subset="score")
    centre = np.average(used["task"] == "nodule", weights=used["sampling"])
    moved = scores.assign(t=(scores["task"] == "nodule") - centre)
    told = (
        ss.regress(moved, "score ~ method * t + x", weights="sampling").set_index("term").loc["methodhuman"]
    )
    contrast = ss.fit(scores, FORMULA, weights="sampling").contrasts("method", average="rows").iloc[0]
    for column in ("estimate", "std_error", "df", "p_value"):
        assert contrast[column] == pytest.approx(told[column], rel=1e-8)


def test_a_weight_of_zero_leaves_a_case_out(scores) -> None:
    kept = scores.assign(w=np.where(scores["sampling"] == 4, 0.0, scores["sampling"]))
    found = ss.regress(kept, FORMULA, weights="w")
    _same(found, ss.regress(kept[kept["w"] > 0].reset_index(drop=True), FORMULA, weights="w"))


def test_units_that_count_alike_have_their_mean(scores) -> None:
    table = scores[(scores["method"] == "human") & (scores["task"] == "edema")]
    found = ss.regress(table, "score ~ 1", weights="unit").iloc[0]
    assert found["estimate"] == pytest.approx(table.groupby("patient")["score"].mean().mean(), rel=1e-12)
    assert found["weights"] == "unit"
    _same(ss.regress(table, "score ~ 1", weights="patient"), ss.regress(table, "score ~ 1", weights="unit"))


@pytest.mark.parametrize(
    ("options", "error", "fields"),
    [
        (
            {"family": "beta", "weights": "sampling"},
            SalstatsError,
            {"option": "weights", "match": "family='beta'"},
        ),
        (
            {"errors": "classical", "weights": "sampling"},
            SalstatsError,
            {"option": "errors", "value": "classical"},
        ),
        (
            {"errors": "mancl-derouen", "weights": "sampling"},
            SalstatsError,
            {"option": "errors", "value": "mancl-derouen"},
        ),
        (
            {"correlation": "exchangeable", "weights": "sampling"},
            SalstatsError,
            {"option": "weights", "value": "sampling", "match": "correlation"},
        ),
        ({"weights": {"edema": 1.0}}, SalstatsError, {"option": "weights", "value": {"edema": 1.0}}),
        ({"weights": "x"}, ColumnError, {"match": "differs between rows"}),
    ],
)
def test_models_that_know_no_weights_are_refused(scores, options, error, fields) -> None:
    table = scores.assign(x=np.arange(len(scores)))
    with raises(error, **fields):
        ss.regress(table, "score ~ method", **options)


def test_units_that_count_alike_need_units() -> None:
    table = pd.DataFrame({"score": [0.1, 0.2, 0.4], "size": [1.0, 2.0, 4.0]})
    with raises(SalstatsError, option="weights", value="unit"):
        ss.regress(table, "score ~ size", weights="unit")


@pytest.mark.filterwarnings("ignore:rows of one unit taken as independent")
@pytest.mark.filterwarnings("ignore:units are named by column")
@pytest.mark.parametrize("weights", ["unit", "patient"])
def test_units_that_count_alike_are_patients_where_one_patient_is_missing(weights) -> None:
    table = pd.DataFrame(
        {
            "case": list("abcdef"),
            "patient": ["p", "p", "p", "q", "q", None],
            "score": [0.1, 0.2, 0.3, 0.5, 0.7, 0.9],
        }
    )
    mean = ss.regress(table, "score ~ 1", weights=weights, errors="hc1")["estimate"].iloc[0]
    # The means of p and q, and the score of the case without a patient, which is a unit by itself
    assert mean == pytest.approx((0.2 + 0.6 + 0.9) / 3, rel=1e-12)


def test_weights_of_a_models_rows_are_1_on_average() -> None:
    of_rows = Sampling(np.array([0.0, 1.0, 3.0, 2.0]), np.arange(4))
    np.testing.assert_array_equal(of_rows.rows_with_positive_weight(np.array([2, 0, 1])), [2, 1])
    np.testing.assert_array_equal(of_rows.weights_with_mean_one(np.array([1, 2])), [0.5, 1.5])
    # Rows of a unit share its weight; only those that are used count.
    of_units = Sampling(None, np.array([7, 7, 7, 4]))
    np.testing.assert_array_equal(of_units.rows_with_positive_weight(np.array([0, 3])), [0, 3])
    np.testing.assert_allclose(of_units.weights_with_mean_one(np.array([0, 1, 3])), [0.75, 0.75, 1.5])
    assert len(of_units.weights_with_mean_one(np.array([], dtype=int))) == 0
