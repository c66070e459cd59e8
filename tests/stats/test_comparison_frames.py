"""Frames of comparisons: checked options, verdicts and columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises, warns

import salstats as ss
from salstats.errors import SalstatsError
from salstats.frames import ESTIMATE_COLUMNS
from salstats.stats.comparison_frames import (
    HypothesisOptions,
    joint_levels,
    options_for_binary_scores_only,
    without_binary_defaults_if_wild_or_joint,
)
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.engine.joint_adjustment import NullDraws, joint_level
from salstats.stats.engine.paired_tests import PairedTestResult


def paired_scores(human, saliency, *, metric="iou", **columns):
    cases = [f"c{i:04d}" for i in range(len(human))]
    return pd.concat(
        [
            pd.DataFrame({"case": cases, "method": method, "metric": metric, "score": values, **columns})
            for method, values in (("gradcam", saliency), ("human", human))
        ],
        ignore_index=True,
    )


@pytest.mark.parametrize(
    ("human", "saliency", "verdict"),
    [(0.8, 0.4, "lower"), (0.4, 0.8, "higher"), (0.6, 0.6, "inconclusive")],
)
def test_verdict_says_where_the_method_stands(human, saliency, verdict):
    noise = np.random.default_rng(0).normal(0, 0.05, (2, 60))
    scores = paired_scores(human + noise[0], saliency + noise[1])
    for function in (ss.difference, ss.percent_decrease):
        assert function(scores, reference="human")["verdict"].item() == verdict


def test_verdict_of_a_decrease_from_a_negative_mean_is_not_turned_over():
    noise = np.random.default_rng(0).normal(0, 0.05, (2, 60))
    scores = paired_scores(-0.5 + noise[0], -0.2 + noise[1], metric="nss")
    got = ss.percent_decrease(scores, reference="human", force=True)
    assert got["conf_low"].item() > 0
    # nss rose from -0.5 to -0.2: a decrease of 60 % of a negative number, yet higher
    assert got["estimate"].item() > 0
    assert got["verdict"].item() == "higher"


@pytest.mark.parametrize("n_tasks", [3, 6])
def test_adjusted_verdict_demands_an_adjusted_p_value(n_tasks):
    # differences of about two standard errors: each excludes 0, none survives the family
    rng = np.random.default_rng(4)
    noise = rng.normal(0, 0.1, 40)
    noise -= noise.mean()
    shift = 2.2 * noise.std(ddof=1) / np.sqrt(40)
    scores = pd.concat(
        [paired_scores(np.full(40, 0.5), 0.5 - shift + noise).assign(task=f"t{i}") for i in range(n_tasks)]
    )
    plain = ss.difference(scores, reference="human", interval="t")
    corrected = ss.difference(scores, reference="human", interval="t", adjust="bonferroni")
    assert set(plain["verdict"]) == {"lower"}
    assert (corrected["p_adjusted"] > 0.05).all()
    assert set(corrected["verdict"]) == {"inconclusive"}


def test_columns_follow_the_contract(drawn_iou):
    got = ss.percent_decrease(drawn_iou, reference="human", average="task")
    columns = list(got.columns)
    assert columns[:4] == ["metric", "task", "method", "reference"]
    middle = [c for c in ESTIMATE_COLUMNS if c in columns]
    assert columns[4 : 4 + len(middle)] == middle
    assert columns[4 + len(middle) :] == [
        "reference_mean",
        "method_mean",
        "n_pairs",
        "verdict",
        "test",
        "n_replicates",
    ]
    assert got.iloc[-1]["task"] == "Average"
    assert (got["conf_low"] <= got["estimate"]).all()
    assert (got["estimate"] <= got["conf_high"]).all()


def hypothesis(**options):
    defaults = {"test": None, "adjust": "none", "simultaneous": None, "margin": None, "weights": None}
    return HypothesisOptions(**(defaults | options))


@pytest.mark.parametrize(
    ("options", "adjust", "simultaneous"),
    [
        ({}, "none", False),
        ({"adjust": "HOLM"}, "holm", False),
        ({"adjust": "max-t"}, "single-step", True),
        ({"adjust": "min-p", "simultaneous": False}, "min-p", False),
        ({"simultaneous": True}, "single-step", True),
    ],
)
def test_joint_adjustments_come_with_simultaneous_limits_unless_these_are_declined(
    options, adjust, simultaneous
):
    checked = hypothesis(**options).checked_with_adjustment("wild")
    assert (checked.adjust, checked.simultaneous) == (adjust, simultaneous)


@pytest.mark.parametrize(
    ("options", "test", "fields"),
    [
        ({"weights": "n"}, "wilcoxon", {"option": "test", "value": "wilcoxon"}),
        ({"weights": "n"}, "mcnemar", {"option": "test", "value": "mcnemar"}),
        ({"weights": "n", "effect_size": "g"}, "wild", {"option": "effect_size"}),
        ({"adjust": "holm", "simultaneous": True}, "wild", {"option": "simultaneous"}),
        ({"adjust": "max-t"}, "t", {"option": "adjust", "value": "max-t"}),
        ({"adjust": "max-t"}, "none", {"option": "adjust", "value": "max-t"}),
        ({"adjust": "holm"}, "none", {"option": "adjust", "value": "holm"}),
        ({"adjust": "max-t", "margin": 0.1}, "wild", {"option": "adjust", "value": "max-t"}),
        ({"adjust": "single-step", "simultaneous": False}, "wild", {"option": "adjust"}),
    ],
)
def test_options_that_exclude_each_other_are_an_error(options, test, fields):
    with raises(SalstatsError, **fields):
        hypothesis(**options).checked_with_adjustment(test)


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"interval": "tango", "pairs": "available"}, {"option": "interval", "value": "tango"}),
        ({"test": "score", "average": "task"}, {"option": "test", "value": "score"}),
        ({"test": "signflip", "pairs": "available"}, {"option": "test", "value": "signflip"}),
        ({"effect_size": "g", "pairs": "available"}, {"option": "effect_size"}),
        (
            {"weights": "unit", "overall": True, "pairs": "available"},
            {"option": "overall", "value": True},
        ),
    ],
)
def test_what_needs_complete_pairs_of_single_groups_says_so(options, fields):
    scores = paired_scores(np.ones(30), np.zeros(30), task="Edema")
    with raises(SalstatsError, **fields):
        ss.difference(scores, reference="human", **options)


def test_a_test_by_flips_flips_hits_too():
    options = checked_options("difference", None, 0.95, 100, 0, None)
    assert options.interval.binary_defaults == ("tango",)
    assert without_binary_defaults_if_wild_or_joint(options, "t", "holm") is options
    assert without_binary_defaults_if_wild_or_joint(options, "wild", "none").interval.binary_defaults == ()
    assert without_binary_defaults_if_wild_or_joint(options, None, "max-t").interval.binary_defaults == ()


def test_interval_and_test_of_hits_are_listed_with_their_option():
    tango = checked_options("difference", "tango", 0.95, 100, 0, None)
    assert options_for_binary_scores_only(tango, "score") == [("interval", "tango"), ("test", "score")]
    assert options_for_binary_scores_only(checked_options("difference", "t", 0.95, 100, 0, None), "t") == []


def test_tasks_and_their_average_have_joint_levels_of_their_own():
    rng = np.random.default_rng(0)
    draws = NullDraws(observed=np.abs(rng.normal(size=4)), draws=np.abs(rng.normal(size=(999, 4))))
    undefined = np.full(4, np.nan)
    tested = PairedTestResult(undefined, undefined, np.array([0.1, 0.2, np.nan, 0.3]), 0.001, draws)
    keys = pd.DataFrame({"task": ["a", "b", "c", "Average"], "method": "cam"})
    levels = joint_levels(tested, keys, 0.95)
    both = joint_level(draws.select_rows(np.array([0, 1])), 0.95)
    assert levels[:2].tolist() == [both, both]
    assert both > 0.95
    assert np.isnan(levels[2])
    assert levels[3] == joint_level(draws.select_rows(np.array([3])), 0.95)
    untested = PairedTestResult(undefined, undefined, undefined)
    assert np.isnan(joint_levels(untested, keys, 0.95)).all()


def test_statistic_and_degrees_of_freedom_are_those_of_the_test():
    rng = np.random.default_rng(1)
    scores = paired_scores(rng.uniform(0.5, 1, 40), rng.uniform(0, 0.6, 40))
    gaps = scores["score"].to_numpy()[:40] - scores["score"].to_numpy()[40:]
    row = ss.difference(scores, reference="human", interval="cr2", test="t").iloc[0]
    expected = stats.ttest_1samp(gaps, 0)
    assert (row["statistic"], row["df"]) == (pytest.approx(expected.statistic), 39)
    assert row["test"] == "t"
    # a test without degrees of freedom leaves those of the interval out, a test without statistic does not
    wilcoxon = ss.difference(scores, reference="human", interval="t", test="wilcoxon")
    assert "df" not in wilcoxon.columns
    flips = ss.difference(scores, reference="human", interval="t", test="signflip", n_replicates=200).iloc[0]
    assert flips["df"] == 39
    assert flips["n_replicates"] == 200


def test_flips_of_few_units_are_all_patterns_and_counted_as_such():
    scores = paired_scores(np.linspace(0.5, 0.9, 6), np.linspace(0.2, 0.7, 6))
    row = ss.difference(scores, reference="human").iloc[0]
    # one of two opposite patterns of each pair: 2^5
    assert row["n_replicates"] == 32


def test_the_side_of_an_average_of_decreases_is_that_of_the_average():
    noise = np.random.default_rng(0).normal(0, 0.002, (4, 60))
    rare = paired_scores(0.10 + noise[0], 0.01 + noise[1], task="A")
    frequent = paired_scores(0.80 + noise[2], 0.95 + noise[3], task="B")
    scores = pd.concat([rare, frequent])
    got = ss.percent_decrease(scores, reference="human", average="task_mean").set_index("task")
    # decreases of 90 % and -19 %; the averaged means rise from 0.45 to 0.48
    assert got.loc["Average", "conf_low"] > 0
    assert got.loc["Average", "method_mean"] > got.loc["Average", "reference_mean"]
    assert got["verdict"].to_dict() == {"A": "lower", "B": "higher", "Average": "lower"}
    of_means = ss.percent_decrease(scores, reference="human", average="task").set_index("task")
    assert of_means.loc["Average", "verdict"] == "higher"


def test_a_verdict_by_flips_goes_with_the_p_value_where_a_limit_is_0():
    # Five gaps are above 0 and two are 0. Of the 16 patterns of the five signs, up to reversal, only that of
    # the data is as far from 0 as the data, and it counts half: P is 1/32.
    human = np.array([0.5, 0.7, 0.9, 0.2, 0.8, 0.5, 0.3])
    gaps = np.array([0.3, 0.2, 0.0, 0.0, 0.3, 0.2, 0.2])
    row = ss.difference(paired_scores(human, human - gaps), reference="human").iloc[0]
    assert row["interval"] == "wild"
    assert row["p_value"] == pytest.approx(1 / 32)
    assert row["conf_high"] == pytest.approx(0, abs=1e-12)
    assert row["verdict"] == "lower"


def test_each_row_says_its_test():
    rng = np.random.default_rng(0)
    human, cam = rng.beta(90, 10, (2, 20))
    fails = np.where(np.arange(20) < 2, 0.0, cam)
    hits = paired_scores(1.0 * (human > 0.88), 1.0 * (cam > 0.92), metric="hit")
    scores = pd.concat([paired_scores(human, cam), paired_scores(human, fails, metric="dice"), hits])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ss.difference(scores, reference="human").set_index("metric")
        joint = ss.difference(scores, reference="human", adjust="max-t", by="metric").set_index("metric")
        plain = ss.difference(scores, reference="human", test="signflip").set_index("metric")
    assert found["test"].to_dict() == {"dice": "cr2", "hit": "score", "iou": "wild"}
    assert found["interval"].to_dict() == {"dice": "cr2", "hit": "tango", "iou": "wild"}
    # tests of one family share their flips
    assert set(joint["test"]) == {"wild"}
    assert set(plain["test"]) == {"signflip"}


def test_limits_beyond_the_largest_difference_of_a_metric_are_told():
    scores = paired_scores(np.array([0.0, 0.05, 0.0, 0.1, 0.0]), np.array([1.0, 0.9, 1.0, 0.95, 1.0]))
    with warns(option="interval", value="t", column="conf_high", rows=(0,)):
        row = ss.difference(scores, reference="human", interval="t").iloc[0]
    expected = stats.t.interval(0.95, 4, 0.94, stats.sem([1.0, 0.85, 1.0, 0.85, 1.0]))
    np.testing.assert_allclose(row[["conf_low", "conf_high"]].astype(float), expected)
