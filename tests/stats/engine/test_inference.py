"""Inference about a target: estimates with limits, and cautions where these are doubtful."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises, warns, warns_too

import salstats as ss
from salstats.errors import ShapeError
from salstats.stats.engine.estimands import Estimand, Target, sum_cells
from salstats.stats.engine.inference import estimates_at_row_levels, infer
from salstats.stats.engine.inference_options import checked_options


def mean_of_units(scores, units):
    """The target of one mean."""
    cells = sum_cells(scores, units, int(units.max()) + 1, np.zeros(len(units), dtype=int), 1)
    keys = pd.DataFrame({"method": ["cam"]})
    return Target("mean", cells, Estimand("mean", np.ones((1, 1))), keys, np.zeros(1, dtype=int))


@pytest.fixture(scope="module")
def target():
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(25), rng.integers(1, 4, 25))
    return mean_of_units(rng.beta(2, 3, len(units)), units)


def test_t_limits_are_those_of_the_standard_error_and_of_another_level(target):
    options = checked_options("mean", "t", 0.95, 10_000, 0, None)
    estimates = infer(target, options)
    assert estimates.estimate[0] == pytest.approx(target.cells.sums.sum() / target.cells.counts.sum())
    for level, frame in ((0.95, estimates), (0.8, estimates_at_row_levels(estimates, np.array([0.8])))):
        reach = stats.t.ppf((1 + level) / 2, 24) * estimates.std_error[0]
        assert frame.conf_low[0] == pytest.approx(estimates.estimate[0] - reach)
        assert frame.conf_high[0] == pytest.approx(estimates.estimate[0] + reach)
        assert frame.conf_level.tolist() == [level]
    unchanged = estimates_at_row_levels(estimates, np.array([np.nan]))
    assert unchanged.conf_low[0] == estimates.conf_low[0]


def test_constant_scores_are_certain_only_if_that_is_said():
    options = checked_options("mean", "cr2", 0.95, 10_000, 0, None)
    constant = mean_of_units(np.full(30, 0.4), np.arange(30))
    certain = infer(constant, options, allow_constant_scores=True)
    assert certain.conf_low[0] == certain.conf_high[0] == certain.estimate[0]
    with warns(option="interval", value="cr2", column="std_error"):
        uncertain = infer(constant, options)
    assert np.isnan(uncertain.conf_low).all()


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_a_spread_that_is_rounding_of_the_scores_is_none(scale):
    scores = scale * np.repeat([0.1 + 0.2, 0.3], 15)
    with warns(option="interval", value="cr2", column="std_error"):
        found = infer(mean_of_units(scores, np.arange(30)), checked_options("mean", "cr2", 0.95, 50, 0, None))
    assert found.std_error[0] == 0
    assert np.isnan(found.conf_low[0])


def test_limits_from_replicates_are_those_of_the_replicates_and_the_jackknife(target):
    draws = np.random.default_rng(2).integers(0, 25, (400, 25))
    found = infer(target, checked_options("mean", "bca", 0.9, 50, 0, draws))
    sums, counts = target.cells.sums[:, 0], target.cells.counts[:, 0]
    means = np.array([sums[draw].sum() / counts[draw].sum() for draw in draws])
    mean = sums.sum() / counts.sum()
    influence = mean - (sums.sum() - sums) / (counts.sum() - counts)
    bias = stats.norm.ppf((means < mean).mean())
    acceleration = (influence**3).sum() / (6 * (influence**2).sum() ** 1.5)
    z = bias + stats.norm.ppf([0.05, 0.95])
    expected = np.quantile(means, stats.norm.cdf(bias + z / (1 - acceleration * z)))
    np.testing.assert_allclose([found.conf_low[0], found.conf_high[0]], expected)
    columns = found.columns("patient")
    assert columns["bias"] == pytest.approx(means.mean() - mean)
    assert columns["std_error"] == pytest.approx(means.std(ddof=1))
    assert columns["n_undefined"].tolist() == [0]
    assert "df" not in columns


def test_an_average_of_order_statistics_leaves_out_what_a_draw_lacks():
    scores, units = np.array([0.2, 0.4, 0.9]), np.array([0, 1, 2])
    cells = sum_cells(scores, units, 3, np.array([0, 0, 1]), 2)
    keys = pd.DataFrame({"task": ["Average"]})
    average = Target("mean", cells, Estimand("mean", np.ones((2, 1))), keys, np.zeros(1, dtype=int))
    # half of the draws lack the unit of the second task
    draws = np.tile([[0, 1, 2], [0, 0, 1]], (20, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lacking, skipping = (
            infer(average, checked_options("mean", interval, 0.95, 50, 0, draws))
            for interval in ("percentile", "order")
        )
    assert lacking.n_undefined.tolist() == [20]
    assert skipping.n_undefined.tolist() == [0]
    # (0.3 + 0.9) / 2 with both tasks, and 0.8 / 3 with the first alone
    np.testing.assert_allclose(np.unique(skipping.replicates.round(12)), [0.8 / 3, 0.6])


def test_draws_are_checked_against_the_units_by_any_interval(target):
    for interval in ("t", "percentile"):
        options = checked_options("mean", interval, 0.95, 50, 0, np.zeros((60, 24), dtype=int))
        with raises(ShapeError, option="draws"):
            infer(target, options)


def test_shares_have_limits_and_no_degrees_of_freedom():
    hits = mean_of_units(np.repeat([1.0, 0.0], [9, 3]), np.arange(12))
    found = infer(hits, checked_options("mean", "wilson", 0.95, 50, 0, None))
    expected = stats.binomtest(9, 12).proportion_ci(method="wilson")
    np.testing.assert_allclose([found.conf_low[0], found.conf_high[0]], expected)
    assert "df" not in found.columns("case")
    # one trial has limits, too
    one = infer(mean_of_units(np.ones(1), np.zeros(1, dtype=int)), found.options)
    assert one.conf_low[0] == pytest.approx(stats.binomtest(1, 1).proportion_ci(method="wilson").low)


@pytest.mark.parametrize(
    ("metric", "values", "interval"),
    [
        ("hit", [0.0, 1, 1], "exact"),
        ("iou", [0.2, 0.7, 1], "wilson_t"),
        # 0/1 scores of a metric that may lie elsewhere are no trials
        ("nss", [0.0, 1, 1], "cr2"),
    ],
)
def test_the_default_limits_of_a_mean_depend_on_its_scores(metric, values, interval):
    scores = pd.DataFrame(
        {"case": [f"c{i:02d}" for i in range(30)], "method": "cam", "metric": metric, "score": values * 10}
    )
    assert ss.summarize(scores)["interval"].tolist() == [interval]


@pytest.fixture(scope="module")
def compared():
    """Scores of a method and of a reference, 30 patients with one to three cases."""
    rng = np.random.default_rng(5)
    patients = np.repeat(np.arange(30), rng.integers(1, 4, 30))
    human = rng.uniform(0.3, 0.9, len(patients))
    cam = 0.8 * human + rng.normal(0, 0.1, len(patients))
    one = pd.DataFrame({"case": np.arange(len(patients)), "patient": patients, "metric": "own"})
    return pd.concat([one.assign(method="human", score=human), one.assign(method="cam", score=cam)])


def target_of(scores, kind):
    """The target of the one comparison of two methods."""
    is_human = (scores["method"] == "human").to_numpy()
    cells = sum_cells(scores["score"].to_numpy(), scores["patient"].to_numpy(), 30, is_human.astype(int), 2)
    estimand = Estimand(kind, np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]]))
    return Target(kind, cells, estimand, pd.DataFrame({"method": ["cam"]}), np.zeros(1, dtype=int))


@pytest.mark.parametrize(
    ("kind", "interval"),
    [
        ("difference", "wild"),
        ("difference", "percentile"),
        ("percent_decrease", "wild"),
        ("percent_decrease", "delta"),
        ("percent_decrease", "fieller"),
        ("percent_decrease", "studentized"),
    ],
)
def test_limits_at_another_level_are_those_computed_at_that_level(compared, kind, interval):
    target = target_of(compared, kind)
    wide, narrow = (
        infer(target, checked_options(kind, interval, level, 500, np.random.default_rng(0), None))
        for level in (0.95, 0.8)
    )
    moved = estimates_at_row_levels(wide, np.array([0.8]))
    assert moved.conf_level.tolist() == [0.8]
    np.testing.assert_allclose([moved.conf_low, moved.conf_high], [narrow.conf_low, narrow.conf_high])
    assert wide.conf_low < narrow.conf_low < narrow.estimate < narrow.conf_high < wide.conf_high


def test_fieller_sets_at_another_level_say_what_they_contain(compared):
    # the reference's mean is about 1.5 standard errors above 0
    scores = compared.assign(score=compared["score"] - np.where(compared["method"] == "human", 0.56, 0.0))
    options = checked_options("percent_decrease", "fieller", 0.5, 500, 0, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounded = infer(target_of(scores, "percent_decrease"), options)
    assert bounded.conf_set.tolist() == ["bounded"]
    unbounded = estimates_at_row_levels(bounded, np.array([0.99]))
    assert unbounded.conf_set[0].startswith("all but ")
    assert np.isinf(unbounded.conf_high).all()
    # the gap between both methods is far from 0
    assert bounded.zero_in_gap.tolist() == [False]
    assert unbounded.zero_in_gap.tolist() == [True]


@pytest.mark.parametrize("sign", [1, -1])
def test_wild_limits_of_a_decrease_are_where_the_method_equals_a_share_of_the_reference(compared, sign):
    options = {"reference": "human", "n_replicates": 2000}
    scores = compared.assign(score=sign * compared["score"])
    row = ss.percent_decrease(scores, force=True, **options).iloc[0]
    assert row["interval"] == "wild"
    is_human = scores["method"] == "human"
    for limit, outward in ((row["conf_low"], -1), (row["conf_high"], 1)):
        for step, rejected in ((0.01, True), (-0.01, False)):
            share = 1 - (limit + outward * step) / 100
            shrunken = scores.assign(score=scores["score"].where(~is_human, share * scores["score"]))
            p_value = ss.difference(shrunken, **options)["p_value"].item()
            assert (p_value <= 0.05) == rejected


def test_weighted_units_are_worth_as_many_equal_ones_as_kish_says():
    scores = pd.DataFrame({"case": [f"c{i:02d}" for i in range(40)], "method": "cam", "metric": "iou"})
    scores["score"] = 0.5 + 0.3 * np.sin(np.arange(40))
    scores["w"] = np.where(np.arange(40) < 10, 9.0, 1.0)
    # (10 * 9 + 30)^2 / (10 * 81 + 30) = 17.1
    with warns(column="unit", rows=(0,), value=pytest.approx(120**2 / 840)):
        ss.summarize(scores, weights="w", interval="t")
    # without a warning for limits that rest on the units' own spread
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = ss.summarize(scores, weights="w", interval="wilson_t").iloc[0]
    assert row["estimate"] == pytest.approx(np.average(scores["score"], weights=scores["w"]))


def test_next_to_nothing_left_of_the_reference_is_a_caution_of_decreases(compared):
    is_cam = compared["method"] == "cam"
    lost = compared.assign(
        metric="iou", score=compared["score"].where(~is_cam, 0.01 * compared["score"].abs())
    )
    with warns_too(column="estimate", rows=(0,)):
        found = ss.percent_decrease(lost, reference="human")
    assert found["caution"].eq("nearly all lost").all()


def test_few_units_with_other_scores_than_0_have_a_caution():
    scores = pd.DataFrame({"case": [f"c{i:02d}" for i in range(40)], "method": "cam", "metric": "iou"})
    with warns(column="score", rows=(0,), match=r"\b6 of 40\b"):
        few = ss.summarize(scores.assign(score=np.where(np.arange(40) < 6, 0.5, 0.0)))
    assert few["caution"].tolist() == ["mostly zeros"]
    many = ss.summarize(scores.assign(score=np.where(np.arange(40) < 30, 0.5, 0.0)))
    assert "caution" not in many


def test_an_average_of_tasks_is_no_set_of_trials():
    hits = pd.DataFrame({"case": [f"c{i:02d}" for i in range(40)], "method": "cam", "metric": "hit"})
    hits["score"] = (np.arange(40) % 3 == 0) * 1.0
    hits["task"] = np.where(np.arange(40) < 20, "a", "b")
    found = ss.summarize(hits, average="task").set_index("task")
    assert found["interval"].to_dict() == {"a": "exact", "b": "exact", "Average": "wilson_t"}
    assert found.loc["a", "df"] != found.loc["a", "df"]
    assert found.loc["Average", "df"] > 20
    weighted = ss.summarize(hits.assign(w=1.0 + np.arange(40) % 2), by="method", weights="w")
    assert weighted["interval"].tolist() == ["wilson_t"]


def test_few_discordant_pairs_have_a_caution_unless_their_limits_are_of_scores_of_trials():
    human = np.repeat([1.0, 0.0], 20)
    cam = human.copy()
    cam[[0, 1, 2, 25]] = 1 - cam[[0, 1, 2, 25]]
    one = pd.DataFrame({"case": [f"c{i:02d}" for i in range(40)], "metric": "hit"})
    hits = pd.concat([one.assign(method="human", score=human), one.assign(method="cam", score=cam)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        default = ss.difference(hits, reference="human")
        by_t = ss.difference(hits, reference="human", interval="t")
        tasks = pd.concat([hits.assign(task=task) for task in ("a", "b")])
        options = {"reference": "human", "by": "task", "interval": "delta"}
        by_task = ss.percent_decrease(tasks, **options)
        of_decreases = ss.percent_decrease(tasks, average="task_mean", **options)
    assert default["interval"].tolist() == ["tango"]
    assert "caution" not in default
    assert by_t["caution"].tolist() == ["few events"]
    assert by_task["caution"].tolist() == ["few events"] * 2
    # a mean of decreases is of no set of pairs
    assert "caution" not in of_decreases


def test_two_units_have_t_limits_and_one_has_none():
    scores = pd.DataFrame({"case": ["a", "b"], "method": "cam", "metric": "own", "score": [0.2, 0.6]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        two = ss.summarize(scores, interval="t").iloc[0]
        one = ss.summarize(scores.iloc[:1], interval="t").iloc[0]
    # the standard error is 0.2, and t has 1 degree of freedom
    expected = stats.t.interval(0.95, 1, loc=0.4, scale=0.2)
    np.testing.assert_allclose([two["conf_low"], two["conf_high"]], expected)
    assert one["estimate"] == 0.2
    assert np.isnan(one["conf_low"])


def test_one_pair_of_hits_is_no_set_of_trials():
    hits = pd.DataFrame({"case": "a", "method": ["cam", "human"], "metric": "hit", "score": [0.0, 1.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = ss.difference(hits, reference="human").iloc[0]
    assert row["interval"] != "tango"
    assert np.isnan(row["conf_low"])
