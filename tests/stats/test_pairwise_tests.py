"""Tests of every two methods against challengeR and SciPy, and the limits of ranks from them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import default_numbers_and_flags, raises, warns

import salstats as ss
from salstats.errors import ColumnError, ValueRangeError
from salstats.stats.pairwise_tests import rank_limits, significance_map

REFERENCE = Path(__file__).parents[1] / "reference" / "challenger"


#: R prints 15 digits.
EXACT = 1e-12


@pytest.fixture(scope="module")
def scores():
    return pd.read_csv(REFERENCE / "scores.csv")


def frame(values, **columns):
    """A scores frame of an array (case, method)."""
    n_cases, n_methods = np.shape(values)
    index = pd.MultiIndex.from_product([range(n_cases), [f"m{j}" for j in range(n_methods)]])
    rows = index.set_names(["case", "method"]).to_frame(index=False)
    return rows.assign(metric="iou", score=np.ravel(values), **columns)


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


@pytest.mark.slow
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


def test_limits_of_ranks_read_flags_as_text(scores):
    found = ss.significance_map(scores.assign(metric="assd"), by="task", test="t", unit="case")
    as_text = found.astype({"larger_is_better": str, "better": str})
    pd.testing.assert_frame_equal(ss.rank_limits(as_text), ss.rank_limits(found))


def test_methods_are_no_groups_of_a_map_of_methods(scores):
    with raises(ColumnError, option="by", column="method"):
        ss.significance_map(scores, by=["task", "method"])


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


def test_patients_are_tested_by_their_mean_difference():
    rng = np.random.default_rng(2)
    values = 0.8 * rng.random((40, 2)) + [0, 0.15]
    own = frame(values, patient=np.repeat(np.arange(20), 4))
    found = ss.significance_map(own, test="wilcoxon", adjust="none")
    gaps = (values[:, 0] - values[:, 1]).reshape(20, 2).mean(axis=1)
    expected = stats.wilcoxon(gaps, alternative="greater", method="asymptotic", correction=True).pvalue
    assert found["p_value"].iloc[0] == pytest.approx(expected, rel=1e-10)
    assert (found["unit"] == "patient").all()


def test_differences_that_are_rounding_of_large_scores_are_ties():
    equal = [0.1 + 0.2, 0.3]
    values = 1e6 * np.array([equal] * 6 + [[0.5, 0.3], [0.7, 0.4], [0.2, 0.1], [0.9, 0.5], [0.4, 0.45]])
    found = ss.significance_map(frame(values).assign(metric="own"), test="wilcoxon", adjust="none",
                                directions={"own": "larger"})  # fmt: skip
    # without the six ties
    gaps = values[6:, 0] - values[6:, 1]
    expected = stats.wilcoxon(gaps, alternative="greater", method="asymptotic", correction=True).pvalue
    assert found["p_value"].iloc[0] == pytest.approx(expected, rel=1e-10)


def test_one_case_leaves_every_rank_open():
    with warns(option="interval", value="wild", column="n_units", rows=(0, 1, 2)):
        tests = significance_map(frame([[0.1, 0.2, 0.3]]))
    assert tests["p_value"].isna().all()
    limits = rank_limits(tests)
    assert limits["conf_low"].tolist() == [1, 1, 1]
    assert limits["conf_high"].tolist() == [3, 3, 3]


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(significance_map) == {"level": 0.95, "n_replicates": 10_000, "rng": 0}
