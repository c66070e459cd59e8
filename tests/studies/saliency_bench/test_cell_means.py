"""What is compared, and the frames behind the tables, against plain pandas and SciPy."""

import numpy as np
import pandas as pd
import pytest
from bench_scores import METHODS, MODELS, drawn_scores
from scipy import stats
from tests_support import raises, warns

from salstats.datasets import load_published
from salstats.errors import ColumnError
from salstats.studies.saliency_bench.cell_means import (
    MeanOptions,
    cell_means,
    pearson_over_data_sets,
    printed_means,
    ranks_over_cases,
    scores_of_saliency_methods,
    split_by_number_of_methods,
)

#: Sums of the same numbers in another order.
EXACT = 1e-12
CHOICE = MeanOptions(n_replicates=60)


@pytest.fixture(scope="module")
def scores():
    return scores_of_saliency_methods(drawn_scores())


@pytest.fixture(scope="module")
def means(scores):
    return cell_means(scores, CHOICE)


class TestKept:
    def test_people_are_left_out_and_the_frame_stays(self):
        given = drawn_scores(n_sets=1)
        before = given.copy()
        assert "human" not in set(scores_of_saliency_methods(given)["method"])
        pd.testing.assert_frame_equal(given, before)

    def test_metrics_are_those_of_the_study_or_those_asked_for(self):
        given = drawn_scores(n_sets=1)
        more = pd.concat([given, given[given["metric"] == "iou"].assign(metric="dice")], ignore_index=True)
        assert set(scores_of_saliency_methods(more)["metric"]) == {"iou", "hit", "insertion"}
        assert set(scores_of_saliency_methods(more, ["dice"])["metric"]) == {"dice"}
        with raises(ColumnError, option="metrics", value="energy", column="metric"):
            scores_of_saliency_methods(more, ["energy"])

    def test_of_two_pointing_games_the_first_maximum_is_taken(self):
        given = drawn_scores(n_sets=1)
        other = given[given["metric"] == "hit"].assign(metric="hit_any")
        assert "hit_any" not in set(
            scores_of_saliency_methods(pd.concat([given, other], ignore_index=True))["metric"]
        )
        alone = pd.concat([given[given["metric"] != "hit"], other], ignore_index=True)
        assert "hit_any" in set(scores_of_saliency_methods(alone)["metric"])

    def test_a_model_that_is_missing_in_some_rows_is_named(self):
        given = drawn_scores(n_sets=1)
        given.loc[0, "model"] = None
        with raises(ColumnError, column="model", rows=(0,)):
            scores_of_saliency_methods(given)
        # rows are those of the frame, also where people stand above the methods
        people = given.head(2).assign(method="human", model="")
        with raises(ColumnError, column="model", rows=(2,)):
            scores_of_saliency_methods(pd.concat([people, given], ignore_index=True))

    def test_means_over_different_seeds_are_said(self):
        given = drawn_scores(n_sets=2).assign(seed="0")
        again = given[(given["dataset"] == "set 1") & (given["metric"] == "iou")].assign(seed="mean")
        seeds = {"set 0, vit, hit": ("0",), "set 1, vit, iou": ("0", "mean")}
        with warns(column="seed", value=seeds):
            scores_of_saliency_methods(pd.concat([given, again], ignore_index=True))
        # two seeds everywhere, or of a random method only, are no reason
        scores_of_saliency_methods(pd.concat([given, given.assign(seed="1")], ignore_index=True))
        rise = given[given["method"] == "rise"].assign(seed="1")
        scores_of_saliency_methods(pd.concat([given, rise], ignore_index=True))

    def test_people_alone_are_no_comparison(self):
        given = drawn_scores(n_sets=1).query("method == 'human'")
        with raises(ColumnError, column="method"):
            scores_of_saliency_methods(given)


class TestMeans:
    def test_they_are_plain_means(self, scores, means):
        plain = scores.groupby(["dataset", "model", "method", "metric"])["score"].mean()
        found = means.set_index(["dataset", "model", "method", "metric"])["estimate"]
        pd.testing.assert_series_equal(found, plain, check_names=False, rtol=EXACT)

    def test_printed_means_are_the_published_tables(self):
        found = printed_means()
        assert len(found) == 288 + 24
        table = load_published("saliency_bench_table2").query("metric == 'pg'")
        ours = found[(found["metric"] == "hit_any") & (found["model"] != "ViT-B/16")]
        assert ours["estimate"].tolist() == table["value"].tolist()


class TestCorrelations:
    def test_they_are_pearsons_over_data_sets(self, means):
        found = pearson_over_data_sets(means, ["iou", "hit", "insertion"])
        assert len(found) == 3 * 7
        for row in found.itertuples():
            own = means[(means["model"] == row.model) & (means["method"] == row.method)]
            wide = own.pivot(index="dataset", columns="metric", values="estimate")
            assert row.estimate == pytest.approx(
                stats.pearsonr(wide[row.x], wide[row.y]).statistic, abs=EXACT
            )
            assert row.n == 6

    def test_intervals_of_the_printed_eight_are_fishers(self):
        found = pearson_over_data_sets(
            split_by_number_of_methods(printed_means())[0], ["iou", "hit_any", "insertion"]
        )
        assert set(found["n"]) == {8}
        half = stats.norm.ppf(0.975) / np.sqrt(8 - 3)
        z = np.arctanh(found["estimate"])
        np.testing.assert_allclose(found["conf_low"], np.tanh(z - half), atol=EXACT)
        np.testing.assert_allclose(found["conf_high"], np.tanh(z + half), atol=EXACT)


class TestRanks:
    def test_every_data_set_and_model_has_a_ranking_of_its_own(self, scores, means):
        found = ranks_over_cases(scores, CHOICE)
        assert len(found) == 3 * 6 * len(MODELS) * len(METHODS)
        several, _ = split_by_number_of_methods(means)
        order = ["metric", "dataset", "model", "method"]
        plain = several.set_index(order)["estimate"].groupby(level=[0, 1, 2]).rank(ascending=False)
        np.testing.assert_array_equal(found.set_index(order)["estimate"].sort_index(), plain.sort_index())
