"""Kinds of intervals: what their records say, and limits held against other implementations."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.facts import interval_note
from salstats.errors import ValueRangeError
from salstats.stats.engine.intervals import interval_by_name, interval_names

BOOT = Path(__file__).parents[2] / "reference" / "boot"
#: The same arithmetic in another order.
RTOL = 1e-10
#: boot.ci takes order statistics 10 and 390 of 399 pivots, which are these linear quantiles.
LEVEL_OF_BOOT_CI = 1 - 2 * 9 / 398


@pytest.fixture(scope="module")
def skewed():
    scores = pd.read_csv(BOOT / "scores.csv").assign(method="gradcam", metric="iou")
    draws = np.loadtxt(BOOT / "draws.csv", delimiter=",", dtype=np.int64)
    return scores, draws


@pytest.mark.filterwarnings("ignore:.*rest on 15 units")
@pytest.mark.parametrize("interval", ["bootstrap_t_log", "studentized"])
def test_bootstrap_t_limits_equal_those_of_boot_ci(skewed, interval):
    scores, draws = skewed
    got = ss.summarize(scores, interval=interval, draws=draws, level=LEVEL_OF_BOOT_CI)
    want = pd.read_csv(BOOT / "limits.csv").query("interval == @interval")
    columns = ["conf_low", "conf_high"]
    np.testing.assert_allclose(got[columns].to_numpy(), want[columns].to_numpy(), rtol=RTOL)


def pivot_limits(method, human, draws, level):
    """Limits of 100 * (1 - ratio of means) from first principles: one replicate at a time."""

    def log_ratio(rows):
        a, b = method[rows], human[rows]
        pull = (a - a.mean()) / a.mean() - (b - b.mean()) / b.mean()
        return np.log(a.mean() / b.mean()), np.sqrt((pull**2).sum() / (len(rows) - 1) / len(rows))

    centre, error = log_ratio(np.arange(len(method)))
    pivots = [(value - centre) / own for value, own in map(log_ratio, draws)]
    low, high = np.quantile(pivots, [(1 - level) / 2, (1 + level) / 2])
    return sorted(100 * (1 - np.exp(centre - error * q)) for q in (low, high))


def test_limits_of_a_decrease_are_those_of_the_log_ratio():
    rng = np.random.default_rng(3)
    human = rng.lognormal(-0.5, 0.3, 40)
    method = human * rng.lognormal(-0.4, 0.4, 40)
    draws = rng.integers(0, 40, (300, 40))
    cases = [f"c{i:02}" for i in range(40)]
    scores = pd.concat(
        pd.DataFrame({"case": cases, "method": name, "metric": "assd", "score": values})
        for name, values in (("gradcam", method), ("human", human))
    )
    got = ss.percent_decrease(
        scores.reset_index(drop=True), reference="human", interval="bootstrap_t_log", draws=draws
    )
    want = pivot_limits(method, human, draws, 0.95)
    np.testing.assert_allclose(got[["conf_low", "conf_high"]].to_numpy()[0], want, rtol=RTOL)


@pytest.mark.filterwarnings("ignore:.*rest on 15 units")
def test_log_limits_move_with_the_unit_of_the_score_and_stay_above_0(skewed):
    scores, draws = skewed
    one, many = (
        ss.summarize(scores.assign(score=scores["score"] * by, metric="assd"), interval="bootstrap_t_log",
                     draws=draws)
        for by in (1, 25.4)
    )  # fmt: skip
    assert one["conf_low"].item() > 0
    np.testing.assert_allclose(many["conf_low"], 25.4 * one["conf_low"], rtol=RTOL)


def test_what_is_not_positive_has_no_log_limits():
    scores = pd.DataFrame({"case": [f"c{i:02}" for i in range(30)], "method": "gradcam", "metric": "ncc"})
    scores["score"] = np.linspace(-1, 0.5, 30)
    with warns(option="interval", value="bootstrap_t_log", column="estimate"):
        got = ss.summarize(scores, interval="bootstrap_t_log", n_replicates=50)
    assert got[["conf_low", "conf_high"]].isna().all(axis=None)


def test_it_is_offered_named_and_noted_by_its_record():
    record = interval_by_name("bootstrap_t_log")
    assert "bootstrap_t_log" in interval_names("mean")
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    means = ss.summarize(scores, by="method", interval=record.name, n_replicates=100)
    assert f"{record.label} of patients, 100 replicates" in interval_note(read_estimates(means))
    with raises(ValueRangeError, option="interval", value=record.name, match="'?studentized"):
        ss.difference(scores, reference="human", interval=record.name)
