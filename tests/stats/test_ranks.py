"""Rankings under resampling: ranks and tau against SciPy, shares against counting by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import default_numbers_and_flags, raises, warns

from salstats.errors import ColumnError, ColumnValue, Setting, ValueRangeError
from salstats.stats.engine.rank_schemes import kendall_tau, ranks_of
from salstats.stats.pairwise_tests import significance_map
from salstats.stats.ranks import rank_frequencies, rank_stability

#: The same sums in the same order, or rounding of a few of them.
EXACT = 1e-12


def frame(values, metric="iou", **columns):
    """A scores frame of an array (case, method)."""
    n_cases, n_methods = np.shape(values)
    rows = pd.DataFrame(
        {
            "case": np.repeat([f"c{i:03d}" for i in range(n_cases)], n_methods),
            "method": np.tile([f"m{j}" for j in range(n_methods)], n_cases),
            "metric": metric,
            "score": np.ravel(values),
        }
    )
    return rows.assign(**columns)


@pytest.fixture(scope="module")
def values():
    """Scores of five methods that differ a little."""
    rng = np.random.default_rng(5)
    return rng.random((40, 5)) * 0.5 + rng.random((40, 1)) * 0.4 + np.arange(5) * 0.02


@pytest.fixture(scope="module")
def draws():
    """Which cases are drawn."""
    return np.random.default_rng(6).integers(0, 40, (200, 40))


class TestKernels:
    def test_ranks_are_scipys_with_the_largest_first(self, values):
        expected = [stats.rankdata(-row, method="average") for row in values]
        np.testing.assert_array_equal(ranks_of(values, np.ones(5)), expected)

    def test_ties_share_the_average_also_where_rounding_splits_them(self):
        sums = np.array([[0.1 + 0.2, 0.3, 0.5]])
        assert sums[0, 0] != sums[0, 1]
        assert ranks_of(sums, np.ones(3)).tolist() == [[2.5, 2.5, 1]]
        assert ranks_of(np.zeros((1, 3)), np.ones(3)).tolist() == [[2, 2, 2]]

    def test_tau_is_scipys_with_ties(self):
        rng = np.random.default_rng(7)
        others = rng.integers(1, 4, (100, 6))
        one = rng.integers(1, 5, 6)
        expected = [stats.kendalltau(one, row).statistic for row in others]
        np.testing.assert_allclose(kendall_tau(one, others), expected, atol=EXACT, equal_nan=True)


class TestFrame:
    def test_every_number_is_that_of_a_plain_loop(self, values, draws):
        found = rank_stability(frame(values), draws=draws)
        full = stats.rankdata(-values.mean(axis=0))
        drawn = np.array([stats.rankdata(-values[d].mean(axis=0)) for d in draws])
        tau = np.array([stats.kendalltau(full, row).statistic for row in drawn])
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        for column, expected in {
            "estimate": full,
            "mean": values.mean(axis=0),
            "mean_rank": drawn.mean(axis=0),
            "conf_low": low,
            "conf_high": high,
            "share_first": (drawn == 1).mean(axis=0),
            "share_same": (drawn == full).mean(axis=0),
            "tau": np.full(5, tau.mean()),
            "tau_low": np.full(5, np.quantile(tau, 0.025)),
            "tau_high": np.full(5, np.quantile(tau, 0.975)),
        }.items():
            np.testing.assert_allclose(found[column], expected, atol=EXACT, err_msg=column)
        assert set(found["n"]) == {40}
        assert set(found["n_replicates"]) == {200}

    def test_equal_methods_are_both_first_in_every_replicate(self, values):
        twice = values[:, [0, 0]]
        found = rank_stability(frame(twice), n_replicates=50)
        assert found["estimate"].tolist() == [1.5, 1.5]
        assert found["share_first"].tolist() == [1, 1]
        assert found["tau"].isna().all()

    def test_direction_comes_from_the_registry(self, values):
        rows = [frame(values, metric) for metric in ("iou", "deletion")]
        found = rank_stability(pd.concat(rows, ignore_index=True), n_replicates=50).set_index("metric")
        iou, deletion = (found.loc[m, "estimate"].to_numpy() for m in ("iou", "deletion"))
        assert (iou + deletion == 6).all()
        assert not found.loc["deletion", "larger_is_better"].any()

    def test_patients_are_drawn_whole(self, values, draws):
        patients = np.repeat([f"p{i // 2:02d}" for i in range(40)], 5)
        by_patient = rank_stability(frame(values, patient=patients), draws=draws[:, :20] % 20)
        assert set(by_patient["unit"]) == {"patient"}
        assert set(by_patient["n_units"]) == {20}
        rows = [np.concatenate([np.arange(2 * p, 2 * p + 2) for p in d % 20]) for d in draws[:, :20]]
        drawn = np.array([stats.rankdata(-values[r].mean(axis=0)) for r in rows])
        np.testing.assert_allclose(by_patient["mean_rank"], drawn.mean(axis=0), atol=EXACT)

    def test_whole_data_sets_can_be_drawn(self, values):
        parts = [frame(values + i * 0.1).assign(metric="nss", dataset=f"d{i}") for i in range(4)]
        scores = pd.concat(parts, ignore_index=True)
        with warns(column="dataset", value=4, rows=(0,)):
            found = rank_stability(scores, by="metric", unit="dataset", n_replicates=50)
        assert set(found["n_units"]) == {4}
        assert len(rank_stability(scores, n_replicates=50)) == 4 * 5

    @pytest.mark.filterwarnings("ignore:cases that a method lacks:salstats.errors.SalstatsWarning")
    @pytest.mark.filterwarnings("ignore:methods have scores of different:salstats.errors.SalstatsWarning")
    def test_ranks_are_of_cases_that_all_methods_have(self, values):
        holed = values.copy()
        holed[:10, 0] = np.nan
        complete = rank_stability(frame(holed), n_replicates=50)
        assert set(complete["n"]) == {30}
        assert complete["n_missing"].tolist() == [10] * 5
        np.testing.assert_allclose(complete["mean"], values[10:].mean(axis=0), atol=EXACT)
        own = rank_stability(frame(holed), n_replicates=50, pairs="available")
        assert own["n"].tolist() == [30, 40, 40, 40, 40]

    def test_one_case_drawn_again_says_nothing(self, values):
        with warns(column="case", value=1):
            found = rank_stability(frame(values[:1]), n_replicates=40)
        np.testing.assert_array_equal(found["estimate"], stats.rankdata(-values[0]))
        of_replicates = ["conf_low", "conf_high", "mean_rank", "share_first", "share_same", "tau", "tau_low"]
        assert found[of_replicates].isna().all(axis=None)

    def test_a_method_made_once_stands_beside_another_made_by_several_seeds(self, values):
        once = frame(values[:, :1])
        seeds = [frame(values[:, 1:2] + 0.1 * s).assign(method="rise", seed=str(s)) for s in range(3)]
        scores = pd.concat([once, *seeds], ignore_index=True).assign(metric="nss")
        found = rank_stability(scores, n_replicates=50)
        assert found["n"].tolist() == [40, 120]
        assert found["n_missing"].tolist() == [0, 0]
        np.testing.assert_allclose(
            found["mean"], [values[:, 0].mean(), (values[:, 1] + 0.1).mean()], atol=EXACT
        )

    def test_where_all_have_seeds_scores_meet_seed_by_seed(self, values):
        parts = [frame(values[:, :2]).assign(seed=str(s)) for s in range(2)]
        scores = pd.concat(parts, ignore_index=True)
        hole = (scores["seed"] == "1") & (scores["method"] == "m1") & (scores["case"] < "c010")
        with warns(column="case", rows=(0, 1), value=["seed"]):
            found = rank_stability(scores.assign(score=scores["score"].mask(hole)), n_replicates=50)
        assert found["n"].tolist() == [70, 70]


@pytest.mark.parametrize("scheme", ["mean", "median", "mean-rank", "median-rank", "test"])
def test_a_single_method_is_the_first(values, scheme):
    found = rank_stability(frame(values[:, :1]), scheme=scheme, n_replicates=50)
    assert found[["estimate", "conf_low", "conf_high", "share_first"]].to_numpy().tolist() == [[1, 1, 1, 1]]


class TestBadInput:
    def test_a_metric_without_direction_needs_one(self, values):
        with raises(ValueRangeError, option="directions", column="metric", value="rating"):
            rank_stability(frame(values, "rating"))
        found = rank_stability(frame(values, "rating"), directions={"rating": "smaller"}, n_replicates=50)
        np.testing.assert_array_equal(found["estimate"], stats.rankdata(values.mean(axis=0)))

    @pytest.mark.parametrize("rank", [rank_stability, rank_frequencies, significance_map])
    def test_a_direction_of_a_metric_that_is_not_there_is_an_error(self, rank, values):
        directions = {"iou": "larger", "IoU": "smaller"}
        with raises(ValueRangeError, option="directions", value="IoU", choices=("iou",)):
            rank(frame(values), directions=directions, n_replicates=50)

    def test_methods_without_a_common_case_have_no_ranking(self):
        apart = np.array([[0.1, np.nan], [np.nan, 0.2]])
        pairs = Setting("pairs", "available")
        with raises(ColumnError, column="score", value=None, rows=(0, 1, 2, 3), hint=pairs) as error:
            rank_stability(frame(apart))
        assert ColumnValue("metric", "iou") in error.value.message.parts

    def test_a_method_without_any_score_is_named(self, values):
        holed = values.copy()
        holed[:, 3] = np.nan
        for pairs in ("complete", "available"):
            with raises(ColumnError, column="score", value=["m3"], message=ColumnValue("metric", "iou")):
                rank_stability(frame(holed), pairs=pairs)

    def test_people_are_of_no_model(self, values):
        scores = frame(values[:, :2]).assign(model="net")
        people = frame(values[:, 2:3]).assign(method="human")
        both = pd.concat([scores, people], ignore_index=True)
        human = tuple(range(80, 120))
        with raises(ColumnError, column="model", rows=human, hint=Setting("by", ["metric"])):
            rank_stability(both)
        assert set(rank_stability(both, by=["metric"], n_replicates=50)["n"]) == {40}
        empty = scores.assign(model=None)
        assert "model" not in rank_stability(empty, n_replicates=50).columns


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(rank_stability) == {"level": 0.95, "n_replicates": 10_000, "rng": 0}
    assert default_numbers_and_flags(rank_frequencies) == {"n_replicates": 10_000, "rng": 0}
