"""What scores lack is named, by item, before anything is computed."""

import pytest
from bench_scores import drawn_scores

from salstats.errors import Setting
from salstats.studies import declarations, engine
from salstats.studies.saliency_bench import (
    DATASET_COLUMN,
    ENOUGH_DATA_SETS,
    ENOUGH_DRAWN_DATA_SETS,
    METRIC_NEEDS,
    MODEL_COLUMN,
    ONE_METHOD,
    SEVERAL_METHODS,
    TWO_METRICS,
    needs_met,
)
from salstats.studies.saliency_bench.cell_means import scores_of_methods_but_human

BOTH = {ENOUGH_DATA_SETS, ENOUGH_DRAWN_DATA_SETS}


def missing_of(scores, tmp_path, *given):
    """The sentences on what is missing."""
    file = tmp_path / "scores.csv"
    scores.to_csv(file, index=False)
    declared = declarations.declaration_of("saliency_bench")
    options = engine.parser_of(declared, output=False).parse_args(["--scores", str(file), *given])
    opened = engine.open_study(declared, options)
    messages = engine.unmet_need_messages(opened.items, opened.available)
    return [str(message) for message in messages if Setting("study") not in message.settings()]


@pytest.fixture
def scores():
    return drawn_scores(n_sets=5, n_cases=2)


def test_whole_scores_miss_nothing(scores, tmp_path):
    assert missing_of(scores, tmp_path) == []


def test_columns_that_are_not_there(scores, tmp_path):
    one = scores[(scores["dataset"] == "set 0") & (scores["model"] == "vgg")]
    assert missing_of(one.drop(columns=["dataset", "model"]), tmp_path) == [
        "Table 1; Table 2: made in part, needs a column 'dataset'",
        "Table 2: made in part, needs a column 'model'",
        "Table 3: not made, needs 3 data sets of one model and method",
        "Table 4: not made, needs a model with one method only",
        "Rank of each method when data sets are drawn again: not made, needs 5 data sets of a model with "
        "several methods",
    ]


def test_one_metric_only(scores, tmp_path):
    one = scores[scores["metric"] == "iou"]
    assert missing_of(one, tmp_path) == [
        "Table 2; Table 4: made in part, needs scores of hit_any, or hit",
        "Table 2; Table 4: made in part, needs scores of insertion",
        "Table 3: not made, needs scores of two metrics",
    ]
    # metrics that were chosen are all that is wanted
    assert missing_of(scores, tmp_path, "--metrics", "iou,hit") == []


def test_one_method_only(scores, tmp_path):
    said = missing_of(scores[scores["method"].isin(["rise", "human"])], tmp_path)
    ranks = "Rank of each method when cases are drawn again"
    assert said[0] == f"Table 2; {ranks}: not made, needs a model with several methods"


@pytest.mark.parametrize(("n_sets", "met"), [(2, set()), (3, {ENOUGH_DATA_SETS}), (5, BOTH)])
def test_correlations_and_drawn_data_sets_need_enough_of_them(n_sets, met):
    compared = scores_of_methods_but_human(drawn_scores(n_sets=n_sets, n_cases=1))
    assert needs_met(compared, compared) & BOTH == met
    # those of the model with one method are not drawn
    single = compared[compared["model"] == "vit"]
    assert needs_met(single, single) & BOTH == met & {ENOUGH_DATA_SETS}


def test_needs_follow_from_columns_metrics_and_methods(scores):
    compared = scores_of_methods_but_human(scores, ["iou"])
    met = needs_met(scores.drop(columns="model"), compared)
    assert met & {DATASET_COLUMN, MODEL_COLUMN, TWO_METRICS} == {DATASET_COLUMN}
    assert met & set(METRIC_NEEDS) == {"scores of iou"}
    assert {SEVERAL_METHODS, ONE_METHOD} <= met
    assert set(METRIC_NEEDS) <= needs_met(scores, compared, metrics_chosen=True)
    assert TWO_METRICS in needs_met(scores, scores_of_methods_but_human(scores, ["iou", "hit"]))
