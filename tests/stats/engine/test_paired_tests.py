"""Tests of paired scores, against R."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, SalstatsWarning, Setting, ValueRangeError
from salstats.stats.engine import paired_tests as paired

RTOL = 1e-9
# R's sets are small on purpose
pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than (20|4) gives:salstats.errors.SalstatsWarning")


@pytest.fixture(scope="session")
def small_sets(r_data):
    return dict(iter(r_data("paired_small").groupby("set")))


def as_scores(x, y, metric="iou"):
    cases = [f"c{i:04d}" for i in range(len(x))]
    return pd.concat(
        pd.DataFrame({"case": cases, "method": m, "metric": metric, "score": v})
        for m, v in (("x", x), ("y", y))
    )


def test_paired_t_equals_r(small_sets, r_expected):
    for want in r_expected("paired_t").itertuples():
        if want.set not in small_sets:
            continue
        rows = small_sets[want.set]
        got = ss.difference(as_scores(rows["x"], rows["y"]), reference="y", test="t", interval="t").iloc[0]
        np.testing.assert_allclose(
            [got["estimate"], got["std_error"], got["statistic"], got["df"], got["p_value"]],
            [want.mean_diff, want.se, want.t, want.df, want.p],
            rtol=RTOL,
        )
        np.testing.assert_allclose([got["conf_low"], got["conf_high"]], [want.lo, want.hi], rtol=RTOL)


def test_wilcoxon_equals_the_default_of_r(small_sets, r_expected):
    table = r_expected("paired_wilcoxon").query("variant == 'wilcox_default'")
    tested = 0
    for want in table.itertuples():
        if want.set in small_sets:
            rows = small_sets[want.set]
            statistic, p = paired.wilcoxon((rows["x"] - rows["y"]).to_numpy())
            np.testing.assert_allclose([statistic, p], [want.statistic, want.p], rtol=RTOL, err_msg=want.set)
            tested += 1
    assert tested == len(small_sets)


def test_wilcoxon_of_the_real_readings_equals_r(r_data, r_expected):
    means = r_data("gaze_case_means_ag_io")
    table = r_expected("real_pairwise").query("a == 'interobserver' and b == 'ag'").set_index("metric")
    for metric, rows in means.groupby("metric"):
        scores = as_scores(rows["io"].to_numpy(), rows["ag"].to_numpy(), metric)
        got = ss.difference(scores, reference="y", test="wilcoxon").iloc[0]
        want = table.loc[metric]
        np.testing.assert_allclose(
            [got["statistic"], got["p_value"]], [want["V"], want["p_w_default"]], rtol=RTOL
        )
        got = ss.difference(scores, reference="y", test="t").iloc[0]
        np.testing.assert_allclose([got["statistic"], got["p_value"]], [want["t"], want["p_t"]], rtol=RTOL)


@pytest.mark.filterwarnings("ignore:unit='case' treats cases as independent:salstats.errors.SalstatsWarning")
def test_exact_mcnemar_equals_r_on_every_set(synth1_scores, r_expected):
    hits = synth1_scores[(synth1_scores["metric"] == "hit")]
    got = ss.difference(hits, reference="human", test="mcnemar", unit="case").set_index("task")
    table = r_expected("mcnemar").set_index("set")
    tasks = [s for s in table.index if s in got.index]
    assert len(tasks) == 6
    np.testing.assert_allclose(got.loc[tasks, "p_value"], table.loc[tasks, "p_exact"], rtol=RTOL)
    # the statistic counts pairs where only the method hits: R's n01 (human misses, saliency hits)
    np.testing.assert_array_equal(got.loc[tasks, "statistic"], table.loc[tasks, "n01"])


def test_mcnemar_refuses_several_pairs_per_unit(drawn_scores):
    hits = drawn_scores[drawn_scores["metric"] == "hit"]
    with raises(SalstatsError, option="test", value="mcnemar", hint=Setting("test", "signflip")):
        ss.difference(hits, reference="human", test="mcnemar")


def test_mcnemar_refuses_scores_that_are_not_0_or_1(sixty):
    with raises(ValueRangeError, option="test", value="mcnemar", column="score"):
        ss.difference(sixty[sixty["metric"] == "iou"], reference="human", test="mcnemar")


def test_sign_flip_equals_r_on_its_signs(boot60, r_data, r_expected):
    wide = boot60[boot60["metric"] == "iou"].pivot(index="case", columns="method", values="score")
    signs = r_data("signflip_n60_R999").drop(columns="rep").to_numpy()
    sums = ((wide["human"] - wide["gradcam"]) / 60).to_numpy()[:, None]
    want = r_expected("signflip").iloc[0]
    np.testing.assert_allclose(
        paired.null_draws_of_sign_flips(sums, [signs], np.ones(1)).p_values(), [want["p_plus1"]], rtol=1e-12
    )
    np.testing.assert_allclose(sums.sum(), want["t0"], rtol=1e-12)


def test_sign_flip_keeps_the_pairs_of_a_unit_together():
    # one patient, many cases: only two flips exist and neither is rarer than 1/2
    scores = as_scores(np.linspace(0.7, 0.9, 12), np.full(12, 0.5)).assign(patient="p1")
    scores.loc[scores["case"].isin(["c0000"]), "patient"] = "p2"
    got = ss.difference(scores, reference="y", test="signflip", interval="t").iloc[0]
    assert got["n_units"] == 2
    assert got["p_value"] > 0.4


def test_wilcoxon_takes_one_difference_per_unit():
    rng = np.random.default_rng(5)
    x, y = rng.random((2, 40))
    # units of one, two and three cases count alike
    units = np.repeat(np.arange(20), np.tile([1, 3, 2, 2], 5))
    scores = as_scores(x, y)
    scores["patient"] = scores["case"].map(lambda c: f"p{units[int(c[1:])]:02d}")
    got = ss.difference(scores, reference="y", test="wilcoxon").iloc[0]
    means = pd.Series(x - y).groupby(units).mean().to_numpy()
    np.testing.assert_allclose([got["statistic"], got["p_value"]], paired.wilcoxon(means), rtol=1e-12)


def test_average_rows_have_p_values_only_where_the_test_is_defined(drawn_iou):
    got = ss.difference(drawn_iou, reference="human", average="task", test="wilcoxon")
    assert np.isnan(got.iloc[-1]["p_value"])
    assert got.iloc[:-1]["p_value"].notna().all()
    for test in ("bootstrap", "t", "signflip"):
        got = ss.difference(drawn_iou, reference="human", average="task", test=test)
        assert got["p_value"].notna().all()


def test_tests_of_a_decrease_are_those_of_the_difference(drawn_iou):
    for test in ("bootstrap", "t", "wilcoxon", "signflip"):
        pd.testing.assert_series_equal(
            ss.percent_decrease(drawn_iou, reference="human", test=test)["p_value"],
            ss.difference(drawn_iou, reference="human", test=test)["p_value"],
        )


def test_mcnemar_tests_tasks_and_leaves_out_what_pools_them():
    rng = np.random.default_rng(0)
    scores = pd.concat(
        [as_scores(*rng.integers(0, 2, (2, 30)).astype(float), "hit").assign(task=t) for t in "ab"]
    )
    got = ss.difference(scores, reference="y", test="mcnemar", overall=True, interval="t")
    assert got["p_value"].isna().tolist() == [False, False, True]


def test_mcnemar_pools_tasks_of_different_cases():
    rng = np.random.default_rng(0)
    scores = as_scores(*rng.integers(0, 2, (2, 60)).astype(float), "hit")
    is_first_half = scores["case"] < "c0030"
    tasks = scores.assign(task=np.where(is_first_half, "a", "b"))
    pooled = ss.difference(tasks, reference="y", test="mcnemar", overall=True).iloc[-1]
    without_tasks = ss.difference(scores, reference="y", test="mcnemar")["p_value"].item()
    assert 0 < without_tasks < 1
    assert pooled["task"] == "Overall"
    assert pooled["p_value"] == pytest.approx(without_tasks, rel=1e-12)


def test_the_score_test_is_mcnemars_without_correction():
    method, reference = np.repeat([1, 0, 1, 0], [9, 3, 6, 12]), np.repeat([0, 1, 1, 0], [9, 3, 6, 12])
    scores = as_scores(method.astype(float), reference.astype(float), "hit")
    expected = stats.chi2.sf((9 - 3) ** 2 / (9 + 3), 1)
    for options in ({}, {"test": "score"}):
        got = ss.difference(scores, reference="y", **options)
        assert got["test"].tolist() == ["score"]
        assert got["p_value"].item() == pytest.approx(expected, rel=1e-10)
    # an average over tasks is of no single pair of shares and keeps the test of its limits
    tasks = pd.concat([scores.assign(task=task) for task in "ab"])
    averaged = ss.difference(tasks, reference="y", average="task", by=["task"]).set_index("task")
    assert averaged["test"].to_dict() == {"a": "score", "b": "score", "Average": "wild"}
    assert averaged.loc["a", "p_value"] == pytest.approx(expected, rel=1e-10)
    assert averaged.loc["Average", "p_value"] != averaged.loc["a", "p_value"]
    assert averaged["p_value"].notna().all()


def test_the_cr2_test_of_independent_cases_is_students():
    x, y = np.random.default_rng(3).random((2, 15))
    for interval in ("cr2", "t"):
        got = ss.difference(as_scores(x, y), reference="y", test="cr2", interval=interval).iloc[0]
        want = stats.ttest_rel(x, y)
        np.testing.assert_allclose(
            [got["statistic"], got["df"], got["p_value"]], [want.statistic, 14, want.pvalue], rtol=RTOL
        )


def test_the_wild_test_counts_every_pattern_of_signs_ties_half():
    gaps = np.array([0.3, -0.1, 0.2, 0.25, 0.15, 0.05, 0.22])
    got = ss.difference(as_scores(0.4 + gaps, np.full(7, 0.4)), reference="y", test="wild", interval="wild")
    flipped = np.abs([gaps @ signs for signs in product([1, -1], repeat=7)])
    observed = abs(gaps.sum())
    p = (flipped > observed + 1e-9).mean() + (np.abs(flipped - observed) <= 1e-9).mean() / 2
    assert got["p_value"].item() == pytest.approx(p)
    # every pattern is listed, so that no P value is a floor
    assert got.get("p_floor", pd.Series([np.nan])).isna().all()


def test_rows_of_few_units_and_of_shares_have_the_test_of_their_limits():
    rng = np.random.default_rng(4)
    few = as_scores(*rng.random((2, 4))).assign(task="few")
    many = as_scores(*rng.random((2, 30))).assign(task="many")
    got = ss.difference(pd.concat([few, many]), reference="y").set_index("task")
    assert got["test"].to_dict() == {"few": "cr2", "many": "wild"}
    x, y = few["score"].to_numpy().reshape(2, 4)
    assert got.loc["few", "p_value"] == pytest.approx(stats.ttest_rel(x, y).pvalue)
    alone = ss.difference(many, reference="y")
    assert got.loc["many", "p_value"] == pytest.approx(alone["p_value"].item(), abs=0.02)


def test_without_a_test_there_is_no_p_value():
    got = ss.difference(as_scores(*np.random.default_rng(3).random((2, 15))), reference="y", test="none")
    assert "p_value" not in got.columns
    assert got[["conf_low", "conf_high"]].notna().all(axis=None)


def test_pairs_that_are_all_equal_have_no_evidence():
    statistic, p_value = paired.wilcoxon(np.zeros(5))
    assert statistic == 0
    assert np.isnan(p_value)
    assert tuple(paired.mcnemar(np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0]))) == (0.0, 1.0)
    assert tuple(paired.mcnemar(np.array([1.0, 0, 1]), np.array([0.0, 0, 0]))) == (2.0, 0.5)


def test_wilcoxon_is_exact_without_ties_and_leaves_out_equal_pairs():
    gaps = np.array([0.3, -0.1, 0.2, 0.5])
    # ranks 1 2 3 4 of .1 .2 .3 .5; 9 or more has P = (1 + 1) / 16 on either side
    assert tuple(paired.wilcoxon(gaps)) == (9, pytest.approx(2 * 2 / 16))
    with_equal_pairs = paired.wilcoxon(np.append(gaps, [0.0, 0.0]))
    # by the normal distribution, then: mean 5, variance 4 * 5 * 9 / 24, corrected for continuity
    p_value = 2 * stats.norm.sf((9 - 5 - 0.5) / np.sqrt(4 * 5 * 9 / 24))
    assert tuple(with_equal_pairs) == (9, pytest.approx(p_value))


@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize(
    ("test", "p_value"),
    [("bootstrap", 1), ("signflip", 1), ("wild", 1), ("t", np.nan), ("cr2", np.nan), ("wilcoxon", np.nan)],
)
@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_differences_that_are_rounding_are_none_whatever_the_size_of_scores(test, p_value, scale):
    x = np.repeat([0.1 + 0.2, 0.3], [7, 5])
    scores = as_scores(scale * x, np.full(12, scale * 0.3), "own")
    row = ss.difference(scores, reference="y", test=test, n_replicates=200).iloc[0]
    np.testing.assert_equal(row.get("p_value", np.nan), p_value)


def test_a_task_without_a_complete_pair_has_no_test():
    x, y = np.random.default_rng(3).random((2, 15))
    scores = pd.concat([as_scores(x, y).assign(task="a"), as_scores(np.full(15, np.nan), y).assign(task="b")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        found = ss.difference(scores, reference="y", test="wilcoxon").set_index("task")["p_value"]
    assert found["a"] == pytest.approx(stats.wilcoxon(x - y).pvalue)
    assert np.isnan(found["b"])
