"""What scores lack is named, by item, before anything is computed."""

import pytest
from bench_scores import drawn_scores

from salstats.errors import Setting
from salstats.studies import declarations, engine


def missing_of(scores, tmp_path, *given):
    """The sentences on what is missing."""
    file = tmp_path / "scores.csv"
    scores.to_csv(file, index=False)
    declared = declarations.study("saliency_bench")
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
