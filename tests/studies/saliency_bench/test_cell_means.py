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
    CELL_COLUMNS,
    MeanOptions,
    abbreviation_note,
    labels_with_metric_headings,
    means_by_dataset_model_method_and_metric,
    method_ranks_by_mean_over_data_sets,
    method_ranks_with_limits_by_data_set_and_model,
    pearson_over_data_sets,
    printed_benchmark,
    printed_means,
    score_benchmark,
    scores_of_methods_but_human,
    sorted_by_labels,
    split_by_several_or_single_method,
)

#: Sums of the same numbers in another order.
EXACT = 1e-12
CHOICE = MeanOptions(n_replicates=60)


@pytest.fixture(scope="module")
def scores():
    return scores_of_methods_but_human(drawn_scores())


@pytest.fixture(scope="module")
def means(scores):
    return means_by_dataset_model_method_and_metric(scores, CHOICE)


class TestKept:
    def test_people_are_left_out_and_the_frame_stays(self):
        given = drawn_scores(n_sets=1)
        before = given.copy()
        assert "human" not in set(scores_of_methods_but_human(given)["method"])
        pd.testing.assert_frame_equal(given, before)

    def test_metrics_are_those_of_the_study_or_those_asked_for(self):
        given = drawn_scores(n_sets=1)
        more = pd.concat([given, given[given["metric"] == "iou"].assign(metric="dice")], ignore_index=True)
        assert set(scores_of_methods_but_human(more)["metric"]) == {"iou", "hit", "insertion"}
        assert set(scores_of_methods_but_human(more, ["dice"])["metric"]) == {"dice"}
        with raises(ColumnError, option="metrics", value="energy", column="metric"):
            scores_of_methods_but_human(more, ["energy"])

    def test_of_two_pointing_games_the_first_maximum_is_taken(self):
        given = drawn_scores(n_sets=1)
        other = given[given["metric"] == "hit"].assign(metric="hit_any")
        assert "hit_any" not in set(
            scores_of_methods_but_human(pd.concat([given, other], ignore_index=True))["metric"]
        )
        alone = pd.concat([given[given["metric"] != "hit"], other], ignore_index=True)
        assert "hit_any" in set(scores_of_methods_but_human(alone)["metric"])

    def test_a_model_that_is_missing_in_some_rows_is_named(self):
        given = drawn_scores(n_sets=1)
        given.loc[0, "model"] = None
        with raises(ColumnError, column="model", rows=(0,)):
            scores_of_methods_but_human(given)
        # rows are those of the frame, also where people stand above the methods
        people = given.head(2).assign(method="human", model="")
        with raises(ColumnError, column="model", rows=(2,)):
            scores_of_methods_but_human(pd.concat([people, given], ignore_index=True))

    def test_means_over_different_seeds_are_said(self):
        given = drawn_scores(n_sets=2).assign(seed="0")
        again = given[(given["dataset"] == "set 1") & (given["metric"] == "iou")].assign(seed="mean")
        seeds = {"set 0, vit, hit": ("0",), "set 1, vit, iou": ("0", "mean")}
        with warns(column="seed", value=seeds):
            scores_of_methods_but_human(pd.concat([given, again], ignore_index=True))
        # two seeds everywhere, or of a random method only, are no reason
        scores_of_methods_but_human(pd.concat([given, given.assign(seed="1")], ignore_index=True))
        rise = given[given["method"] == "rise"].assign(seed="1")
        scores_of_methods_but_human(pd.concat([given, rise], ignore_index=True))

    def test_people_alone_are_no_comparison(self):
        given = drawn_scores(n_sets=1).query("method == 'human'")
        with raises(ColumnError, column="method"):
            scores_of_methods_but_human(given)


class TestMeans:
    def test_they_are_plain_means(self, scores, means):
        plain = scores.groupby(["dataset", "model", "method", "metric"])["score"].mean()
        found = means.set_index(["dataset", "model", "method", "metric"])["estimate"]
        pd.testing.assert_series_equal(found, plain, check_names=False, rtol=EXACT)
        assert set(means["interval"]) == {"percentile"}

    def test_as_published_they_have_no_interval(self, scores, means):
        plain = means_by_dataset_model_method_and_metric(scores, MeanOptions(as_published=True))
        assert list(plain) == [*CELL_COLUMNS, "term", "estimate", "n", "n_missing"]
        assert set(plain["term"]) == {"mean"}
        assert set(plain["n"]) == {25}
        np.testing.assert_allclose(plain["estimate"], means["estimate"], rtol=EXACT)

    def test_a_benchmark_divides_models_by_the_number_of_their_methods(self, scores):
        benchmark = score_benchmark(scores, MeanOptions(as_published=True))
        assert not benchmark.is_printed
        assert set(benchmark.means_of_several_methods["model"]) == set(MODELS)
        assert set(benchmark.means_of_single_method["model"]) == {"vit"}
        printed = printed_benchmark(CHOICE)
        assert printed.is_printed
        assert printed.labels["method"] == list(dict.fromkeys(printed.means["method"]))

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
            split_by_several_or_single_method(printed_means())[0], ["iou", "hit_any", "insertion"]
        )
        assert set(found["n"]) == {8}
        half = stats.norm.ppf(0.975) / np.sqrt(8 - 3)
        z = np.arctanh(found["estimate"])
        np.testing.assert_allclose(found["conf_low"], np.tanh(z - half), atol=EXACT)
        np.testing.assert_allclose(found["conf_high"], np.tanh(z + half), atol=EXACT)

    def test_they_need_three_data_sets_and_two_metrics(self, means):
        for n_sets in (2, 3):
            some = means[means["dataset"].isin([f"set {i}" for i in range(n_sets)])]
            rows = pearson_over_data_sets(some, ["iou", "hit"])
            assert set(rows["n"]) == ({3} if n_sets == 3 else set())
        empty = pearson_over_data_sets(means, ["iou", "nss"])
        assert len(empty) == 0
        assert {"model", "method", "estimate", "n", "x", "y"} <= set(empty)


class TestNames:
    def test_metrics_have_the_names_and_the_order_of_the_study(self):
        frame = pd.DataFrame({"metric": ["nss", "insertion", "hit_any", "iou"]})
        names = labels_with_metric_headings(frame, {"model": {"vgg": "VGG"}})
        assert names.order("metric", frame["metric"]) == ["iou", "hit_any", "insertion", "nss"]
        # the only rule of the pointing game needs no other name
        assert names.value("metric", "hit_any") == "PG"
        assert names.value("model", "vgg") == "VGG"
        both = labels_with_metric_headings(pd.DataFrame({"metric": ["hit_any", "hit"]}))
        assert both.value("metric", "hit_any") == "PG (any maximum)"
        assert (
            labels_with_metric_headings(pd.DataFrame({"method": ["a"]})).value("method", "gradcam")
            == "Grad-CAM"
        )

    def test_abbreviations_are_explained_once(self):
        names = labels_with_metric_headings(pd.DataFrame({"metric": ["iou", "hit", "nss"]}))
        note = abbreviation_note(["iou", "hit", "iou", "nss"], names)
        assert note.count("mIoU,") == 1
        assert "PG, pointing game" in note
        assert "NSS" not in note
        assert abbreviation_note(["nss"], names) == ""

    def test_rows_have_the_order_of_the_labels_of_each_column_in_turn(self):
        frame = pd.DataFrame({"metric": ["hit", "iou", "hit", "iou"], "dataset": ["b", "b", "a", "a"]})
        names = labels_with_metric_headings(frame, {"dataset": ["b", "a"]})
        ordered = sorted_by_labels(frame, ["metric", "dataset"], names)
        assert ordered.index.tolist() == [1, 3, 0, 2]
        assert sorted_by_labels(frame, ["dataset", "metric"], names).index.tolist() == [1, 0, 3, 2]


class TestRanks:
    @pytest.mark.filterwarnings("ignore:rankings rest on few units")
    def test_data_sets_drawn_again_rank_their_means(self, means):
        found = method_ranks_by_mean_over_data_sets(means, CHOICE)
        assert set(found["unit"]) == {"dataset"}
        assert set(found["n_units"]) == {6}
        several, _ = split_by_several_or_single_method(means)
        order = ["metric", "model", "method"]
        plain = several.groupby(order)["estimate"].mean().groupby(level=[0, 1]).rank(ascending=False)
        np.testing.assert_array_equal(found.set_index(order)["estimate"].sort_index(), plain.sort_index())

    def test_every_data_set_and_model_has_a_ranking_of_its_own(self, scores, means):
        found = method_ranks_with_limits_by_data_set_and_model(scores, CHOICE)
        assert len(found) == 3 * 6 * len(MODELS) * len(METHODS)
        several, _ = split_by_several_or_single_method(means)
        order = ["metric", "dataset", "model", "method"]
        plain = several.set_index(order)["estimate"].groupby(level=[0, 1, 2]).rank(ascending=False)
        np.testing.assert_array_equal(found.set_index(order)["estimate"].sort_index(), plain.sort_index())
