"""Ranking schemes, significance maps and tau against challengeR's definitions, run in R."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsWarning, ValueRangeError
from salstats.stats.engine.inference import check_options
from salstats.stats.engine.rank_schemes import SCHEMES, TIES, kendall_tau, signed_rank_test
from salstats.stats.engine.rankings import RankingOptions, rank_methods

REFERENCE = Path(__file__).parents[2] / "reference" / "challenger"
#: R prints 15 digits.
EXACT = 1e-12


@pytest.fixture(scope="module")
def scores():
    return pd.read_csv(REFERENCE / "scores.csv")


@pytest.fixture(scope="module")
def draws():
    return pd.read_csv(REFERENCE / "draws.csv", header=None).to_numpy()


@pytest.fixture(scope="module")
def ranks():
    wide, keys = pd.read_csv(REFERENCE / "ranks.csv"), ["task", "scheme", "ties", "draw"]
    return pd.wide_to_long(wide, ["value", "rank"], keys, "method", ".", r"m\d").reset_index()


def frame(values, **columns):
    """A scores frame of an array (case, method)."""
    n_cases, n_methods = np.shape(values)
    index = pd.MultiIndex.from_product([range(n_cases), [f"m{j}" for j in range(n_methods)]])
    rows = index.set_names(["case", "method"]).to_frame(index=False)
    return rows.assign(metric="iou", score=np.ravel(values), **columns)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_values_and_ranks_of_every_draw_are_challengers(scores, draws, ranks, scheme, ties):
    options = check_options("rank", "percentile", 0.95, 10, 0, draws)
    asked = RankingOptions(["task"], "case", "complete", None, scheme, ties)
    found = rank_methods(scores, asked, options)
    theirs = ranks[(ranks["scheme"] == scheme) & (ranks["ties"] == ties)]
    wide = {
        name: theirs.pivot_table(index="draw", columns=["task", "method"], values=name)
        for name in ("value", "rank")
    }
    assert list(wide["value"].columns) == [*found.keys.itertuples(index=False, name=None)]
    every = np.vstack([found.values, found.drawn_values])
    np.testing.assert_allclose(every, wide["value"], rtol=0, atol=EXACT)
    for group in range(3):
        rows = found.rows_of(group)
        full, drawn = found.ranks(rows)
        np.testing.assert_array_equal(np.vstack([full, drawn]), wide["rank"].to_numpy()[:, rows])


def test_stability_has_the_ranks_of_the_scheme(scores, draws, ranks):
    found = ss.rank_stability(scores, by="task", draws=draws, scheme="mean-rank", ties="min")
    theirs = ranks.query("scheme == 'mean-rank' and ties == 'min'").sort_values(["task", "method"])
    own = theirs[theirs["draw"] == 0]
    np.testing.assert_array_equal(found["estimate"], own["rank"])
    np.testing.assert_allclose(found["value"], own["value"], atol=EXACT)
    drawn = theirs[theirs["draw"] > 0].groupby(["task", "method"])["rank"]
    np.testing.assert_allclose(found["mean_rank"], drawn.mean(), atol=EXACT)
    np.testing.assert_allclose(found["mean"], scores.groupby(["task", "method"])["score"].mean(), atol=EXACT)


def test_frequencies_count_the_draws(scores, draws, ranks):
    found = ss.rank_frequencies(scores, by="task", draws=draws)
    own = ranks.query("scheme == 'mean' and ties == 'average' and draw > 0")
    counted = own.groupby(["task", "method", "rank"]).size() / len(draws)
    ours = found.set_index(["task", "method", "rank"])["share"]
    pd.testing.assert_series_equal(ours, counted.loc[ours.index], check_names=False)
    assert len(ours) == len(counted)


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


def test_the_significance_map_is_challengers(scores):
    theirs = pd.read_csv(REFERENCE / "significance.csv").sort_values(["task", "method", "reference"])
    found = ss.significance_map(scores, by="task", test="wilcoxon", unit="case")
    assert found[["task", "method", "reference"]].to_numpy().tolist() == (
        theirs[["task", "method", "reference"]].to_numpy().tolist()
    )
    np.testing.assert_allclose(found["p_value"], theirs["p_value"], rtol=1e-9)
    np.testing.assert_allclose(found["p_adjusted"], theirs["p_holm"], rtol=1e-9)
    np.testing.assert_array_equal(found["better"], theirs["better"] == 1)


def test_a_one_sided_t_test_is_scipys(scores):
    own = scores[scores["task"] == "mass"]
    found = ss.significance_map(own, test="t", unit="case", adjust="none")
    wide = own.pivot(index="case", columns="method", values="score")
    for row in found.itertuples():
        expected = stats.ttest_rel(wide[row.method], wide[row.reference], alternative="greater").pvalue
        assert row.p_value == pytest.approx(expected, rel=1e-9)


def test_limits_of_ranks_count_who_is_significantly_better(scores):
    found = ss.significance_map(scores, by="task", test="wilcoxon", unit="case")
    limits = ss.rank_limits(found)
    theirs = pd.read_csv(REFERENCE / "significance.csv")
    for row in limits.itertuples():
        own = theirs[theirs["task"] == row.task]
        assert row.conf_low == 1 + own.loc[own["reference"] == row.method, "better"].sum()
        assert row.conf_high == 5 - own.loc[own["method"] == row.method, "better"].sum()
    means = scores.groupby(["task", "method"])["score"].mean()
    expected = means.groupby(level=0).rank(ascending=False)
    np.testing.assert_array_equal(limits["estimate"], expected)
    assert (limits["interval"] == "pairwise tests").all()


def test_limits_of_ranks_hold_jointly_where_methods_are_equal():
    # 300 studies of four equal methods: at most 5 % may exclude a rank that all of them share
    rng, missed = np.random.default_rng(12), 0
    for _ in range(10):
        # some studies at a time, whose units have the same names, are few sums
        own = frame(rng.random((900, 4)))
        own = own.assign(study=own["case"] // 30, patient=own["case"] % 30)
        limits = ss.rank_limits(ss.significance_map(own, by="study", test="t"))
        missed += (limits["conf_high"] - limits["conf_low"] < 3).groupby(limits["study"]).any().sum()
    # 15 expected at most, and 4 standard errors
    assert missed <= 15 + 4 * np.sqrt(300 * 0.05 * 0.95)


def test_limits_of_ranks_turn_with_the_metric(scores):
    own = scores[scores["task"] == "mass"]
    more = ss.rank_limits(ss.significance_map(own, test="t", unit="case"))
    less = ss.rank_limits(ss.significance_map(own.assign(metric="assd"), test="t", unit="case"))
    np.testing.assert_array_equal(less["estimate"], 6 - more["estimate"])
    np.testing.assert_array_equal(less["conf_low"], 6 - more["conf_high"])


def test_limits_of_ranks_need_tests_that_hold_together(scores):
    for procedure in ("none", "BH", "hochberg"):
        found = ss.significance_map(scores, by="task", test="t", unit="case", adjust=procedure)
        with raises(ValueRangeError, column="procedure", choices=("holm", "bonferroni")):
            ss.rank_limits(found)
    with raises(ColumnError, column="reference"):
        ss.rank_limits(ss.rank_stability(scores, n_replicates=50))


def test_less_is_better_turns_the_map(scores):
    own = scores[scores["task"] == "mass"]
    more = ss.significance_map(own, test="wilcoxon", unit="case")
    less = ss.significance_map(own.assign(metric="hausdorff"), test="wilcoxon", unit="case")
    keys = ["method", "reference"]
    turned = less.rename(columns={"method": "reference", "reference": "method"}).sort_values(keys)
    np.testing.assert_allclose(turned["p_value"], more["p_value"], atol=EXACT)
    assert not less["larger_is_better"].any()


def test_weights_of_the_signed_rank_test_are_repeated_rows():
    rng = np.random.default_rng(3)
    values = np.round(rng.normal(0.1, 1, 30), 1)
    drawn = rng.integers(0, 30, 30)
    greater, less = signed_rank_test(values)(np.bincount(drawn, minlength=30)[None].astype(float))
    for side, found in (("greater", greater), ("less", less)):
        expected = stats.wilcoxon(
            values[drawn], alternative=side, method="asymptotic", correction=True, zero_method="wilcox"
        )
        assert found[0] == pytest.approx(expected.pvalue, rel=1e-10)


def test_a_signed_rank_test_of_equal_methods_says_nothing():
    greater, less = signed_rank_test(np.zeros(5))(np.ones((2, 5)))
    assert np.isnan(greater).all()
    assert np.isnan(less).all()


def test_medians_of_draws_are_numpys():
    rng = np.random.default_rng(9)
    values, drawn = rng.random((21, 3)), rng.integers(0, 21, (50, 21))
    found = rank_methods(
        frame(values), RankingOptions(None, None, "complete", None, "median", "average"),
        check_options("rank", "percentile", 0.95, 10, 0, drawn),
    )  # fmt: skip
    np.testing.assert_array_equal(found.drawn_values, [np.median(values[d], axis=0) for d in drawn])


def test_patients_are_tested_by_their_mean_difference():
    rng = np.random.default_rng(2)
    values = 0.8 * rng.random((40, 2)) + [0, 0.15]
    own = frame(values, patient=np.repeat(np.arange(20), 4))
    found = ss.significance_map(own, test="wilcoxon", adjust="none")
    gaps = (values[:, 0] - values[:, 1]).reshape(20, 2).mean(axis=1)
    expected = stats.wilcoxon(gaps, alternative="greater", method="asymptotic", correction=True).pvalue
    assert found["p_value"].iloc[0] == pytest.approx(expected, rel=1e-10)
    assert (found["unit"] == "patient").all()


def test_tau_of_rankings_pairwise_is_scipys():
    rng = np.random.default_rng(1)
    one, other = rng.integers(1, 4, (2, 50, 6))
    expected = [stats.kendalltau(a, b).statistic for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose(kendall_tau(one, other), expected, atol=EXACT, equal_nan=True)


def test_methods_that_one_task_lacks_are_left_out(scores, draws):
    part = scores[(scores["method"] != "m4") | (scores["task"] != "mass")]
    with pytest.warns(SalstatsWarning, match="4 methods takes few values"):
        found = ss.rank_agreement(part, by=[], draws=draws)
    assert sorted(found["n_methods"]) == [4, 4, 5]


def test_tau_of_three_methods_is_said_to_be_coarse(scores, draws):
    with pytest.warns(SalstatsWarning, match=r"3 methods takes few values \(4 without ties\)"):
        ss.rank_agreement(scores[scores["method"].isin(["m0", "m1", "m2"])], by=[], draws=draws)


@pytest.mark.parametrize(
    ("call", "error", "fields"),
    [
        (
            lambda s: ss.rank_stability(s, scheme="podium"),
            ValueRangeError,
            {"option": "scheme", "value": "podium", "choices": SCHEMES},
        ),
        (
            lambda s: ss.rank_stability(s, ties="max"),
            ValueRangeError,
            {"option": "ties", "value": "max", "choices": TIES},
        ),
        (
            lambda s: ss.rank_stability(s, scheme="test", pairs="available"),
            ValueRangeError,
            {"option": "scheme", "value": "test", "match": "pairs='complete'"},
        ),
        (lambda s: ss.rank_agreement(s, over="method"), ColumnError, {"option": "over", "value": "method"}),
        (lambda s: ss.rank_agreement(s, over="dataset"), ColumnError, {"column": "dataset"}),
        (
            lambda s: ss.rank_agreement(s[s["task"] == "mass"]),
            ColumnError,
            {"option": "over", "column": "task", "match": "one value"},
        ),
        (
            lambda s: ss.significance_map(s, test="none"),
            ValueRangeError,
            {"option": "test", "value": "none"},
        ),
        (
            lambda s: ss.significance_map(s, test="wilcoxon", level=95),
            ValueRangeError,
            {"option": "level"},
        ),
        (
            lambda s: ss.significance_map(s, adjust="tukey"),
            ValueRangeError,
            {"value": "tukey", "match": "holm"},
        ),
    ],
)
def test_wrong_input_is_an_error_that_names_the_option(scores, call, error, fields):
    with raises(error, **fields):
        call(scores)
