"""Agreement of rankings against Kendall's tau in R, for every draw."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests_support import default_numbers_and_flags, raises, warns

import salstats as ss
from salstats.errors import ColumnError
from salstats.stats.engine.rank_schemes import SCHEMES

REFERENCE = Path(__file__).parents[1] / "reference" / "challenger"


#: R prints 15 digits.
EXACT = 1e-12


@pytest.fixture(scope="module")
def scores():
    return pd.read_csv(REFERENCE / "scores.csv")


@pytest.fixture(scope="module")
def draws():
    return pd.read_csv(REFERENCE / "draws.csv", header=None).to_numpy()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tau_between_tasks_is_that_of_r_for_every_draw(scores, draws, scheme):
    theirs = pd.read_csv(REFERENCE / "tau.csv").query("scheme == @scheme")
    found = ss.rank_agreement(scores, by=[], draws=draws, scheme=scheme)
    pairs = {frozenset((r.task, r.other_task)): r for r in found.itertuples()}
    assert len(pairs) == 3
    for pair, row in pairs.items():
        own = theirs[[frozenset(p) == pair for p in zip(theirs["task"], theirs["other_task"], strict=True)]]
        tau = own.sort_values("draw")["tau"].to_numpy()
        assert row.estimate == pytest.approx(tau[0], abs=EXACT)
        assert row.mean_tau == pytest.approx(tau[1:].mean(), abs=EXACT)
        assert row.share_positive == pytest.approx((tau[1:] > 0).mean())


def test_methods_may_be_numbers(scores, draws):
    found = ss.rank_agreement(scores, by=[], draws=draws)
    numbers = scores.assign(method=scores["method"].str[1:].astype(int))
    pd.testing.assert_frame_equal(ss.rank_agreement(numbers, by=[], draws=draws), found)


def test_limits_of_tau_count_orders_that_are_sure_in_both_rankings(scores, draws):
    # m0 and m1 apart from the others, in all tasks but one the other way round
    apart = scores["method"].map({"m0": 2, "m1": 1}).fillna(0) * np.where(scores["task"] == "mass", -1, 1)
    scores = scores.assign(metric="nss", score=scores["score"] + 3 * apart)
    found = ss.rank_agreement(scores, by=[], draws=draws)
    tests = ss.significance_map(scores, by="task", level=0.975)
    sure = {
        task: set(zip(own["method"], own["reference"], strict=True))
        for task, own in tests[tests["better"]].groupby("task")
    }
    for row in found.itertuples():
        one, other = sure[row.task], sure[row.other_task]
        same, turned = len(one & other), len(one & {(b, a) for a, b in other})
        n_pairs = row.n_methods * (row.n_methods - 1) / 2
        unsure = n_pairs - same - turned
        assert [row.conf_low, row.conf_high] == pytest.approx(
            [(same - turned - unsure) / n_pairs, (same - turned + unsure) / n_pairs]
        )
        assert row.conf_low <= row.estimate <= row.conf_high
    assert found["conf_low"].gt(-1).any()
    assert found["conf_high"].lt(1).any()


def test_methods_that_one_task_lacks_are_left_out(scores, draws):
    part = scores[(scores["method"] != "m4") | (scores["task"] != "mass")]
    with warns(column="method", value=4):
        found = ss.rank_agreement(part, by=[], draws=draws)
    assert sorted(found["n_methods"]) == [4, 4, 5]


def test_tau_of_three_methods_is_said_to_be_coarse(scores, draws):
    with warns(column="method", value=3, message="4"):
        ss.rank_agreement(scores[scores["method"].isin(["m0", "m1", "m2"])], by=[], draws=draws)


def test_rankings_agree_on_the_methods_that_both_have():
    rows = [
        {"case": case, "method": method, "metric": metric, "score": (case % 5 + 1) * value / 15}
        for metric, methods in (("iou", "abc"), ("dice", "bcd"))
        for value, method in enumerate(methods, start=1)
        for case in range(30)
    ]
    scores = pd.DataFrame(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ss.rank_agreement(scores, over="metric")
    # b and c, which both rank alike
    assert found["estimate"].tolist() == [1.0]
    one = scores[(scores["metric"] == "iou") | (scores["method"] != "b")]
    with (
        warnings.catch_warnings(),
        raises(ColumnError, column="metric", hint="leave one out"),
    ):
        warnings.simplefilter("ignore")
        ss.rank_agreement(one, over="metric")


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.rank_agreement) == {"level": 0.95, "n_replicates": 10_000, "rng": 0}
