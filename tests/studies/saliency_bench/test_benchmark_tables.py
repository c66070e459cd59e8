"""The items: what their tables say, and that every figure draws what its frame holds."""

import html
import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bench_scores import drawn_scores
from display.plots.estimate_figures import scale

from salstats.datasets import load_published
from salstats.errors import SalstatsWarning
from salstats.studies.engine import made_items_whose_needs_are_met
from salstats.studies.saliency_bench import PRINTED_ITEMS, SCORE_ITEMS, needs_met
from salstats.studies.saliency_bench.cell_means import (
    MeanOptions,
    printed_benchmark,
    score_benchmark,
    scores_of_methods_but_human,
)
from salstats.studies.saliency_bench.table_consistency import INCONSISTENT_NOTE

OPTIONS = MeanOptions(n_replicates=60)


def items_of(means, items=SCORE_ITEMS):
    with warnings.catch_warnings():
        # of few data sets
        warnings.simplefilter("ignore", SalstatsWarning)
        met = set() if means.is_printed else needs_met(means.scores, means.scores)
        return {item.key: made for item, made in made_items_whose_needs_are_met(items, met, means)}


@pytest.fixture(scope="module")
def drawn():
    return items_of(score_benchmark(scores_of_methods_but_human(drawn_scores()), OPTIONS))


@pytest.fixture(scope="module")
def printed():
    return items_of(printed_benchmark(OPTIONS), PRINTED_ITEMS)


def text_of(item):
    """The words of an item's table."""
    page = re.sub(r"<style.*?</style>", " ", item.table.as_raw_html(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def bold_cells(item):
    """The texts of the cells in bold of a table's body, by row."""
    body = re.search(r"<tbody.*?</tbody>", item.table.as_raw_html(), flags=re.DOTALL)[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL)
    found = [re.findall(r"<td style=\"[^\"]*font-weight: bold[^\"]*\"[^>]*>([^<]*)<", row) for row in rows]
    return [cells for cells in found if cells]


class TestScores:
    def test_the_best_of_each_row_is_bold(self, drawn):
        item = drawn["table_2"]
        best = item.frame.groupby(["model", "dataset", "metric"], sort=False)["estimate"].max()
        assert [f"{v:.3f}" for v in best] == [cells[0] for cells in bold_cells(item)]

    def test_of_a_distance_the_smallest_is_bold(self):
        scores = drawn_scores(n_sets=1).query("metric == 'insertion'").assign(metric="deletion")
        item = items_of(score_benchmark(scores_of_methods_but_human(scores, ["deletion"]), OPTIONS))[
            "table_2"
        ]
        least = item.frame.groupby("model", sort=False)["estimate"].min()
        assert [f"{v:.3f}" for v in least] == [cells[0] for cells in bold_cells(item)]

    def test_table_4_holds_the_model_with_one_explanation(self, drawn):
        assert set(drawn["table_4"].frame["method"]) == {"attention"}
        assert "vit, attention" in text_of(drawn["table_4"])
        assert "attention" not in text_of(drawn["table_2"])

    def test_table_3_says_of_how_many_data_sets_it_is(self, drawn):
        item = drawn["table_3"]
        holding = int(((item.frame["conf_low"] < 0) & (item.frame["conf_high"] > 0)).sum())
        width = (item.frame["conf_high"] - item.frame["conf_low"]).median()
        assert f"n = 6 data sets: the median interval is {width:.2f} wide" in text_of(item)
        assert f"{holding} of {len(item.frame)} hold 0." in text_of(item)
        assert "n is 6 data sets" in item.note

    def test_three_data_sets_have_correlations_without_intervals(self):
        items = items_of(score_benchmark(scores_of_methods_but_human(drawn_scores(n_sets=3)), OPTIONS))
        assert "n = 3 data sets: too few for an interval" in text_of(items["table_3"])
        assert items["table_3"].frame["conf_low"].isna().all()
        assert "CI" not in text_of(items["table_3"])
        assert items["table_3"].note == "n is 3 data sets: too few for intervals"
        # of three data sets there are ten draws
        assert "ranks_data_sets" not in items

    def test_as_published_means_and_correlations_have_no_limits(self, drawn):
        options = MeanOptions(as_published=True)
        items = items_of(score_benchmark(scores_of_methods_but_human(drawn_scores()), options))
        for key in ("table_2", "table_3"):
            assert "conf_low" not in items[key].frame
            np.testing.assert_allclose(items[key].frame["estimate"], drawn[key].frame["estimate"], rtol=1e-12)
            assert "CI" not in text_of(items[key])
            assert "as published" in items[key].note
            assert "as published" not in drawn[key].note
        assert "n = 6 data sets." in text_of(items["table_3"])

    def test_one_data_set_and_model_have_table_2_and_a_ranking(self):
        one = drawn_scores(n_sets=1).query("model == 'vgg'").drop(columns=["dataset", "model"])
        items = items_of(score_benchmark(scores_of_methods_but_human(one), OPTIONS))
        assert list(items) == ["table_2", "ranks"]

    def test_ranks_are_written_with_limits_and_first_places(self, drawn):
        item = drawn["ranks"]
        row = item.frame.iloc[0]
        low, high = (f"{row[c]:.1f}".removesuffix(".0") for c in ("conf_low", "conf_high"))
        rank, share = f"{row['estimate']:.1f}".removesuffix(".0"), f"{100 * row['share_first']:.0f}%"
        assert f"{rank} ({low}, {high}; {share})" in text_of(item)
        assert "rests on 25 cases" in text_of(item)

    @pytest.mark.parametrize(
        ("key", "by"), [("ranks", ["metric", "dataset", "model"]), ("ranks_data_sets", ["metric", "model"])]
    )
    def test_the_method_that_is_first_most_often_is_bold(self, drawn, key, by):
        item = drawn[key]
        is_first = item.frame["share_first"] == item.frame.groupby(by)["share_first"].transform("max")
        expected = [f"{100 * share:.0f}%" for share in item.frame.loc[is_first, "share_first"]]
        bold = [cell for row in bold_cells(item) for cell in row]
        assert sorted(re.search(r"; (\d+%)", cell)[1] for cell in bold) == sorted(expected)

    @pytest.mark.filterwarnings("ignore:percentile intervals rest on 4:salstats.errors.SalstatsWarning")
    @pytest.mark.parametrize(
        ("n_methods", "breaks"),
        [(2, [1, 2]), (3, [1, 2, 3]), (10, list(range(1, 11))), (11, [1, 5, 11]), (12, [1, 6, 12])],
    )
    def test_up_to_ten_ranks_are_on_the_axis_and_of_more_the_first_a_middle_and_the_last(
        self, n_methods, breaks
    ):
        scores = drawn_scores(n_sets=1, n_cases=4).query("metric == 'iou' and model == 'vgg'")
        one = scores[scores["method"] == "gradcam"]
        parts = [one.assign(method=f"m{i:02}", score=one["score"] * 0.9**i) for i in range(n_methods)]
        several = scores_of_methods_but_human(pd.concat(parts, ignore_index=True))
        figure = items_of(score_benchmark(several, OPTIONS))["ranks"].figure
        assert list(scale(figure, "x").breaks) == breaks
        assert tuple(scale(figure, "x").limits) == (1, n_methods)

    @pytest.mark.parametrize("key", ["table_2", "table_3", "ranks", "ranks_data_sets"])
    def test_figures_show_every_row_of_their_frame(self, drawn, key):
        item = drawn[key]
        data = item.figure.data
        np.testing.assert_array_equal(data["estimate"], item.frame["estimate"])
        assert data["across"].nunique() == 3
        shown = item.figure.draw()
        assert len(shown.axes) == 3 * (6 if "down" in data.columns else 1)
        plt.close(shown)

    @pytest.mark.filterwarnings("ignore:.*lies? outside its range:salstats.errors.SalstatsWarning")
    @pytest.mark.parametrize(
        ("values", "ends"), [([0.2, 1.0], (0, 1)), ([0.2, 1.5], (0.2, 1.5)), ([-0.1, 0.5], (-0.1, 0.5))]
    )
    def test_shares_have_an_axis_from_zero_to_one(self, values, ends):
        scores = drawn_scores(n_sets=1, n_cases=4).query("metric == 'hit' and model == 'vgg'")
        is_first = scores["method"] == "gradcam"
        scores = scores.assign(score=np.where(is_first, *values))
        options = MeanOptions(n_replicates=60, as_published=True)
        items = items_of(score_benchmark(scores_of_methods_but_human(scores), options))
        figure = items["table_2"].figure
        assert tuple(scale(figure, "x").limits) == ends

    @pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
    def test_a_data_set_of_one_case_has_ranks_without_limits(self):
        scores = drawn_scores(n_sets=2)
        one = scores[(scores["dataset"] != "set 0") | (scores["case"] == scores["case"].iloc[0])]
        item = items_of(score_benchmark(scores_of_methods_but_human(one.reset_index(drop=True)), OPTIONS))[
            "ranks"
        ]
        assert "(\u2014; \u2014)" in text_of(item)
        assert "rests on 1 to 25 cases" in text_of(item)
        lone = item.frame[item.frame["dataset"] == "set 0"]
        assert lone["conf_low"].isna().all()
        assert lone["estimate"].notna().all()
        plt.close(item.figure.draw())


class TestPrinted:
    def test_table_2_has_the_printed_numbers_in_the_printed_order(self, printed):
        table = load_published("saliency_bench_table2")
        words = text_of(printed["table_2"])
        assert all(f"{value:.4f}" in words for value in table["value"])
        places = [words.index(name) for name in dict.fromkeys(table["dataset"])]
        assert places == sorted(places)

    def test_the_check_counts_what_agrees(self, printed):
        words = text_of(printed["table_3_check"])
        assert "Agree: 12 of 36 (mIoU–PG: 0 of 12; mIoU–iAUC: 12 of 12; PG–iAUC: 0 of 12)" in words
        assert INCONSISTENT_NOTE in words

    def test_the_change_is_what_the_search_found(self, printed):
        item = printed["table_3_change"]
        words = text_of(item)
        (one,) = item.frame[["dataset", "metric", "place"]].drop_duplicates().to_dict("records")
        assert f"All change the same place: PG of {one['dataset']}, the first decimal (12 values)" in words
        assert "35 of 36 correlations then are the printed ones" in words
        assert words.count(INCONSISTENT_NOTE) == 1
