"""What is said of results that stand on little: few cases, limits at impossible values."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests_support import warns

import salstats as ss
from salstats.display import facts
from salstats.display.estimates import read_estimates
from salstats.errors import SalstatsWarning
from salstats.stats.engine.estimands import Estimand, Target, sum_cells
from salstats.stats.engine.intervals import choose_interval
from salstats.stats.engine.result_warnings import (
    has_limit_beyond_range,
    interval_recommendation,
    warn_degenerate_or_missing_limits,
    warn_undefined,
)


@pytest.fixture
def six():
    """Hits of six images by two methods, the first with a rate of 5/6, the second with one of 1/3."""
    one = pd.DataFrame({"case": list("abcdef"), "method": "human", "metric": "hit"})
    parts = [one.assign(score=[1, 1, 1, 1, 0, 1]), one.assign(method="cam", score=[0, 0, 1, 0, 0, 1])]
    return pd.concat(parts, ignore_index=True)


def said_by(call):
    """What a call warns of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in said]


def pairs(human, cam, metric="iou", **columns):
    """Scores of cases by two methods."""
    one = pd.DataFrame({"case": range(len(human)), "metric": metric, **columns})
    return pd.concat([one.assign(method="human", score=human), one.assign(method="cam", score=cam)])


@pytest.mark.parametrize(
    ("term", "estimate"),
    [
        ("mean", lambda s: ss.summarize(s, interval="percentile", n_replicates=40)),
        ("difference", lambda s: ss.difference(s, reference="human", test="bootstrap", n_replicates=40)),
    ],
)
def test_few_units_are_sent_to_the_interval_that_is_recommended(six, term, estimate):
    (text,) = [t for t in said_by(lambda: estimate(six)) if "rest on 6 units" in t]
    record = choose_interval(None, term)
    assert f"interval='recommended' ({record.short_label})" in text
    assert not [t for t in said_by(lambda: ss.summarize(six)) if "rest on" in t]


#: Numbers on which little can be said, and what is said of them.
LITTLE = {
    "two cases": ("rest on 1 degree of freedom", lambda: pairs([0.2, 0.6], [0.1, 0.2])),
    "one case": ("a single unit does not show how much units differ", lambda: pairs([0.2], [0.1])),
    "mostly zeros": (
        "only 3 of 10 units have",
        lambda: pairs([0.3, 0.5, 0.6, *[0.0] * 7], [0.2, 0.3, 0.1, *[0.0] * 7]),
    ),
    "next to nothing": (
        "next to nothing is left of the reference",
        lambda: pairs(np.linspace(0.4, 0.9, 20), np.linspace(0.01, 0.03, 20)),
    ),
    "a task of one": (
        "tasks of one or two units are in the averages",
        lambda: pairs(np.linspace(0.4, 0.9, 21), np.linspace(0.2, 0.6, 21), task=["a"] * 20 + ["b"]),
    ),
}


@pytest.mark.parametrize("case", LITTLE)
def test_what_stands_on_little_is_said_in_one_sentence(case):
    text, scores = LITTLE[case]
    average = "task" if "task" in scores() else None
    compared = ss.difference if case == "mostly zeros" else ss.percent_decrease
    said = said_by(lambda: compared(scores(), reference="human", average=average))
    assert sum(text in s for s in said) == 1


def test_large_units_are_said_where_the_interval_does_not_know_them():
    scores = pairs(np.linspace(0.2, 0.9, 60), np.linspace(0.1, 0.6, 60), patient=[0] * 35 + [*range(1, 26)])
    large = [said_by(lambda i=i: ss.difference(scores, reference="human", interval=i)) for i in ("t", "wild")]
    assert [any("differ so much in size" in s for s in said) for said in large] == [True, False]


def test_ordinary_scores_are_met_with_silence():
    scores = ss.datasets.load_simulated()
    for call in (
        lambda: ss.summarize(scores, average="task"),
        lambda: ss.difference(scores, reference="human", average="task"),
        lambda: ss.percent_decrease(scores, reference="human", average="task"),
    ):
        assert said_by(call) == []


def test_a_task_of_one_patient_leaves_an_average_its_limits():
    n = 90
    human = np.random.default_rng(0).beta(4, 3, n)
    task = np.repeat(["a", "b", "c", "d"], [40, 30, 19, 1])
    scores = pairs(human, 0.7 * human + 0.01 * np.arange(n) % 0.05, task=task, patient=range(n))
    for call in (ss.summarize, *_COMPARED):
        with pytest.warns(SalstatsWarning):
            found = call(scores, average="task").set_index("task")
        assert found.loc["d", ["conf_low", "conf_high"]].isna().to_numpy().all()
        averages = found.loc[["Average"], ["conf_low", "estimate", "conf_high"]].to_numpy()
        assert np.isfinite(averages).all()
        assert (np.diff(averages) > 0).all()


_COMPARED = (partial(ss.difference, reference="human"), partial(ss.percent_decrease, reference="human"))


@pytest.mark.parametrize(
    ("estimate", "limit"),
    [
        (lambda s: ss.summarize(s, interval="t"), 1.262),
        (lambda s: ss.percent_decrease(s, reference="human", interval="fieller"), 131.9),
    ],
)
def test_limits_at_impossible_values_are_said_in_the_call_the_table_and_the_figure(six, estimate, limit):
    with warns(option="interval", column="conf_high"):
        found = estimate(six)
    assert found["conf_high"].max() == pytest.approx(limit, rel=1e-3)
    assert "impossible" in facts.limits_and_caution_note(read_estimates(found))
    assert "impossible" in facts.interval_caption(read_estimates(found))


@pytest.mark.parametrize(
    ("metric", "term", "limits", "beyond"),
    [
        ("iou", "mean", (0.0, 1.0), False),
        ("iou", "mean", (-0.01, 0.5), True),
        ("hd95", "mean", (0.5, 1e6), False),
        ("own", "mean", (-5.0, 5.0), False),
        ("ncc", "difference", (-1.9, 0.5), False),
        ("iou", "difference", (-1.1, 0.5), True),
        ("iou", "percent_decrease", (-250.0, 100.0), False),
        ("ncc", "percent_decrease", (-250.0, 150.0), False),
        ("iou", "percent_decrease", (-float("inf"), float("inf")), False),
        ("iou", "rank", (1.0, 6.0), False),
    ],
)
def test_what_is_impossible_depends_on_the_metric_and_on_what_is_estimated(metric, term, limits, beyond):
    low, high = limits
    frame = pd.DataFrame({"metric": [metric], "term": term, "conf_low": low, "conf_high": high})
    assert has_limit_beyond_range(frame).tolist() == [beyond]


@pytest.mark.parametrize("shift", [-0.5, -2.0])
def test_what_is_not_above_0_is_said_to_have_no_logarithm(shift):
    scores = pd.DataFrame({"case": range(30), "method": "cam", "metric": "nss"})
    scores["score"] = np.linspace(-1, 1, 30) + shift
    with warns(option="interval", value="bootstrap_t_log", column="estimate") as said:
        found = ss.summarize(scores, interval="bootstrap_t_log", n_replicates=40)
    assert found["conf_low"].isna().all()
    assert "n_units" not in [w.message.column for w in said]


def test_zeros_of_hits_are_no_matter():
    hits = pairs([1.0, 1, 1, *[0] * 37], [1.0, *[0] * 39], metric="hit")
    assert said_by(lambda: ss.difference(hits, reference="human")) == []


def test_a_mean_of_mostly_zeros_is_said_to_be_one():
    sparse = pairs([0.3, 0.5, 0.6, *[0.0] * 17], [0.4] * 20).query("method == 'human'")
    assert any("only 3 of 20 units have" in s for s in said_by(lambda: ss.summarize(sparse)))
    assert not said_by(lambda: ss.summarize(sparse.assign(score=(sparse["score"] > 0) * 1.0)))


def test_more_cases_are_the_remedy_where_the_default_is_made_of_replicates():
    assert [setting.value for setting in interval_recommendation("mean").settings()] == ["recommended"]
    assert interval_recommendation("rank").settings() == []


def test_frames_without_limits_have_none_at_impossible_values():
    frame = pd.DataFrame({"metric": ["iou", "iou"], "term": "mean", "conf_low": -1.0, "conf_high": 2.0})
    assert has_limit_beyond_range(frame).tolist() == [True, True]
    assert has_limit_beyond_range(frame.drop(columns="conf_high")).tolist() == [False, False]


def test_more_than_1_in_100_undefined_replicates_are_told():
    keys = pd.DataFrame({"method": ["a", "b", "c"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_undefined(np.array([0, 10, 2]), 1000, keys)
    with warns(column="n_undefined", rows=(0, 2), value=40):
        warn_undefined(np.array([11, 10, 40]), 1000, keys)
    with warns(column="n_undefined", rows=(1,), value=11):
        warn_undefined(np.array([0, 11, 0]), 1000, keys)


def test_limits_of_no_width_are_told_with_the_rows():
    scores = pairs(np.linspace(0.3, 0.7, 30), np.linspace(0.3, 0.7, 30) - 0.1)
    flat = scores.assign(score=scores["score"].where(scores["method"] == "cam", 0.5))
    with warns(option="interval", value="percentile", column="score", rows=(1,)) as said:
        ss.summarize(flat, interval="percentile", n_replicates=50)
    recommended = [setting.value for setting in said[0].message.hint.settings()]
    assert recommended == ["recommended"]
    with warns(
        option="interval", value="percentile", column="score", rows=(0,), hint="more cases are needed"
    ):
        ss.difference(scores, reference="human", interval="percentile", n_replicates=50)


def test_undefined_comparisons_are_told_with_their_reason():
    no_pair = pairs([0.2, 0.4, 0.5, np.nan, np.nan, np.nan], [np.nan, np.nan, np.nan, 0.1, 0.2, 0.3])
    with pytest.warns(SalstatsWarning) as said:
        ss.difference(no_pair, reference="human")
    assert ("score", (0,)) in [(w.message.column, w.message.rows) for w in said]
    zeros = pairs(np.zeros(30), np.linspace(0, 0.5, 30))
    with pytest.warns(SalstatsWarning) as said:
        found = ss.percent_decrease(zeros, reference="human", interval="delta")
    assert ("reference_mean", (0,)) in [(w.message.column, w.message.rows) for w in said]
    assert found["estimate"].isna().all()


def told_of_limits(call, interval):
    """The columns and rows of what a call warns of its limits."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = call()
    told = [(w.message.column, w.message.rows) for w in said if w.message.value == interval]
    return found, told


def test_a_decrease_of_100_percent_and_more_has_no_logarithm():
    human = np.linspace(1, 2, 30)
    for scale, column in ((0.5, None), (-0.5, "estimate")):
        scores = pairs(human, scale * human + 0.1 * np.sin(np.arange(30)), metric="nss")
        found, told = told_of_limits(
            lambda scores=scores: ss.percent_decrease(
                scores, reference="human", interval="bootstrap_t_log", n_replicates=50, force=True
            ),
            "bootstrap_t_log",
        )
        assert found["conf_low"].isna().all() == (column is not None)
        assert told == ([] if column is None else [(column, (0,))])


def test_limits_that_need_variance_are_missing_without_it():
    rng = np.random.default_rng(0)
    cells = sum_cells(rng.uniform(size=30), np.arange(30), 30, np.zeros(30, dtype=int), 1)
    keys = pd.DataFrame({"method": ["cam"]})
    target = Target("mean", cells, Estimand("mean", np.ones((1, 1))), keys, np.zeros(1, dtype=int))
    missing = (np.array([np.nan]), np.array([0.4]))
    estimate, scale = np.array([0.2]), np.ones(1)
    for interval in ("cr2", "bca"):
        with warns(option="interval", value=interval, column="std_error", rows=(0,)):
            warn_degenerate_or_missing_limits(
                interval, target, missing, estimate, scale, np.zeros(1, dtype=bool)
            )
    with warns(option="interval", value="cr2", column="n_units", rows=(0,)):
        warn_degenerate_or_missing_limits("cr2", target, missing, estimate, scale, np.ones(1, dtype=bool))


def test_unbounded_limits_are_told_with_their_reason():
    human = np.tile([1.0, -0.9], 15)
    scores = pairs(human, np.linspace(0.2, 0.4, 30), metric="nss")
    for interval in ("fieller", "wild"):
        found, told = told_of_limits(
            lambda interval=interval: ss.percent_decrease(
                scores, reference="human", interval=interval, force=True
            ),
            interval,
        )
        assert np.isinf(found["conf_high"]).all()
        assert told == [("reference_mean", (0,))]
