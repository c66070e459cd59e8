"""Quantile regressions against R's quantreg, and their limits against the test written out."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from tests_support import default_numbers_and_flags, raises, warns

import salstats as ss
from salstats.errors import FormulaError, ValueRangeError
from salstats.stats.engine.intervals import interval_by_name

REFERENCE = Path(__file__).parents[2] / "reference" / "quantreg"
FORMULA = "score ~ method + x"


@pytest.fixture(scope="module")
def rows():
    return pd.read_csv(REFERENCE / "rows.csv")


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.9])
def test_coefficients_are_those_of_quantreg(rows, quantile):
    expected = pd.read_csv(REFERENCE / "regressions.csv").query("quantile == @quantile")
    ours = ss.quantile_regress(rows, FORMULA, by=(), unit="patient", quantile=quantile)
    assert ours["term"].tolist() == expected["term"].tolist()
    np.testing.assert_allclose(ours["estimate"], expected["estimate"], rtol=1e-9)


def test_limits_of_independent_rows_are_near_the_rank_limits_of_quantreg(rows):
    # theirs take the variance of scores for known and the normal distribution, and lie between two scores
    expected = pd.read_csv(REFERENCE / "regressions.csv").query("quantile == 0.5")
    ours = ss.quantile_regress(rows.drop(columns="patient"), FORMULA, by=())
    width = (expected["rank_high"] - expected["rank_low"]).to_numpy()
    for column, theirs in {"conf_low": "rank_low", "conf_high": "rank_high"}.items():
        assert (np.abs(ours[column].to_numpy() - expected[theirs].to_numpy()) < 0.15 * width).all()


def test_the_statistic_does_not_depend_on_the_unit_of_a_covariate(rows):
    given = ss.quantile_regress(rows, FORMULA, by=(), unit="patient")
    tiny = ss.quantile_regress(rows.assign(x=rows["x"] * 1e-8), FORMULA, by=(), unit="patient")
    np.testing.assert_allclose(tiny["statistic"], given["statistic"], rtol=1e-6)


def statistic(rows, column, value, quantile):
    """Student's t from the primal linear program, and scores by the sign of what it leaves."""
    matrix = np.column_stack([np.ones(len(rows)), rows["method"] == "human", rows["x"]]).astype(float)
    others = np.delete(matrix, column, axis=1)
    y = rows["score"].to_numpy() - value * matrix[:, column]
    n, k = others.shape
    cost = np.concatenate([np.zeros(k), np.full(n, quantile), np.full(n, 1 - quantile)])
    bounds = [(None, None)] * k + [(0, None)] * (2 * n)
    program = optimize.linprog(
        cost, A_eq=np.hstack([others, np.eye(n), -np.eye(n)]), b_eq=y, bounds=bounds, method="highs"
    )
    left = y - others @ program.x[:k]
    on = np.abs(left) < 1e-9
    scores = np.where(left > 0, quantile, quantile - 1.0)
    # on the plane: what makes the scores orthogonal to the columns
    scores[on] = np.linalg.lstsq(others[on].T, -others[~on].T @ scores[~on], rcond=None)[0]
    apart = matrix[:, column] - others @ np.linalg.lstsq(others, matrix[:, column], rcond=None)[0]
    sums = pd.Series(apart * scores).groupby(rows["patient"]).sum()
    return stats.ttest_1samp(sums, 0).statistic


@pytest.mark.parametrize("quantile", [0.25, 0.5])
def test_limits_are_where_the_test_begins_to_reject(rows, quantile):
    found = ss.quantile_regress(rows, FORMULA, by=(), unit="patient", quantile=quantile)
    critical = stats.t.ppf(0.975, 29)
    for column in range(3):
        row = found.iloc[column]
        at_0 = statistic(rows, column, 0.0, quantile)
        assert row["statistic"] == pytest.approx(at_0, abs=1e-7)
        assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(at_0), 29), rel=1e-6)
        apart = 1e-4 * (row["conf_high"] - row["conf_low"])
        for limit, side in ((row["conf_low"], -1), (row["conf_high"], 1)):
            assert abs(statistic(rows, column, limit + side * apart, quantile)) > critical
            assert abs(statistic(rows, column, limit - side * apart, quantile)) <= critical


def test_a_limit_far_away_is_looked_for_without_end():
    rng = np.random.default_rng(14)
    n = rng.integers(8, 30)
    x, group = rng.normal(size=n), rng.choice(["u", "v"], n)
    score = 0.4 + 0.1 * x + 0.05 * (group == "v") + rng.standard_t(3, n) * 0.1
    case = np.arange(n).astype(str)
    scores = pd.DataFrame({"case": case, "method": "m", "metric": "s", "score": score, "x": x, "g": group})
    with warns(column="conf_high"):
        found = ss.quantile_regress(scores, "s ~ x + g", by=(), quantile=0.8)
    assert (found["n_units"] == 11).all()
    assert (found["conf_low"] <= found["estimate"]).all()
    assert np.isinf(found["conf_high"]).any() or np.isinf(found["conf_low"]).any()


def test_a_regression_on_nothing_is_the_quantile(rows):
    cam = rows[rows["method"] == "cam"]
    found = ss.quantile_regress(cam, "score ~ 1", by=(), unit="patient", quantile=0.3).iloc[0]
    ordered = np.sort(cam["score"])
    assert found["estimate"] in ordered
    assert (ordered < found["estimate"]).mean() <= 0.3 <= (ordered <= found["estimate"]).mean()
    assert found["conf_low"] <= found["estimate"] <= found["conf_high"]


def test_it_has_the_frame_of_regress_and_its_tables(rows):
    found = ss.quantile_regress(rows, FORMULA, by=(), unit="patient", adjust="holm")
    linear = ss.regress(rows, FORMULA, by=(), unit="patient", adjust="holm")
    assert [c for c in linear.columns if c in found.columns] == list(found.columns)
    assert found["family"].unique().tolist() == ["median"]
    interval = interval_by_name("rank_score")
    assert found["interval"].unique().tolist() == [interval.name]
    html = ss.table_regression(found, stars=True).as_raw_html()
    assert "Median regression" in html
    assert f"{interval.short_label} tests" in html
    assert "Wald" not in html


def test_few_units_have_no_limits_and_random_effects_are_refused(rows):
    few = rows[rows["patient"].isin(["p01", "p02", "p03", "p04"])]
    with warns(column="conf_high"):
        found = ss.quantile_regress(few, FORMULA, by=(), unit="patient")
    assert (found["n_units"] == 4).all()
    assert (found["conf_low"] == -np.inf).all()
    assert (found["conf_high"] == np.inf).all()
    assert (found["p_value"] >= 1 / 16).all()
    with raises(FormulaError, option="formula"):
        ss.quantile_regress(rows, FORMULA + " + (1|patient)", by=(), unit="patient")
    with raises(ValueRangeError, option="quantile", value=0):
        ss.quantile_regress(rows, FORMULA, by=(), quantile=0)


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.quantile_regress) == {
        "quantile": 0.5,
        "level": 0.95,
        "overall": False,
    }
