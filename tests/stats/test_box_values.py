"""What a box plot draws, worked by hand after R's rules."""

import pandas as pd
import pytest

import salstats as ss
from salstats.stats.summaries import box_values


def scores_of(values, **columns):
    cases = [f"c{i:02d}" for i in range(len(values))]
    return pd.DataFrame({"case": cases, "method": "gradcam", "metric": "iou", "score": values, **columns})


def test_whiskers_end_at_the_furthest_score_within_one_and_a_half_ranges():
    # quartiles of type 7 are 3.5 and 8.5, so the fences are at -4 and 16
    boxes, outside = box_values(scores_of([*map(float, range(1, 11)), 30.0]))
    row = boxes.iloc[0]
    assert row[["whisker_low", "q1", "median", "q3", "whisker_high"]].tolist() == [1, 3.5, 6, 8.5, 10]
    assert row["n_outside"] == 1
    assert outside["score"].tolist() == [30.0]


def test_a_score_on_the_fence_is_not_outside():
    boxes, outside = box_values(scores_of([*map(float, range(1, 11)), 16.0]))
    assert boxes["whisker_high"].iloc[0] == 16
    assert outside.empty


def test_a_whisker_never_ends_inside_the_box():
    # q3 = 2.5 and the fence 6.25: ggplot2 keeps the whisker at the box although the next score is 0
    boxes, outside = box_values(scores_of([0.0, 0.0, 0.0, 10.0]))
    assert boxes["whisker_high"].iloc[0] == boxes["q3"].iloc[0] == 2.5
    assert outside["score"].tolist() == [10.0]


def test_undefined_scores_are_counted_and_never_outside():
    boxes, outside = box_values(scores_of([1.0, 2.0, None]))
    assert boxes[["n", "n_missing", "n_outside"]].iloc[0].tolist() == [2, 1, 0]
    assert outside.empty


def test_a_group_without_scores_has_no_whiskers():
    boxes, outside = box_values(scores_of([float("nan")] * 2))
    assert boxes[["q1", "whisker_low", "whisker_high"]].isna().all(axis=None)
    assert outside.empty


def test_groups_are_those_of_describe():
    scores = ss.datasets.load_simulated()
    boxes, outside = box_values(scores, ["metric", "method"])
    described = ss.describe(scores, by=["metric", "method"])
    pd.testing.assert_frame_equal(boxes[described.columns], described)
    for row in boxes.itertuples():
        group = scores.query("metric == @row.metric and method == @row.method")["score"].dropna()
        beyond = group[(group < row.whisker_low) | (group > row.whisker_high)]
        shown = outside.query("metric == @row.metric and method == @row.method")["score"]
        assert sorted(shown) == sorted(beyond)
        assert row.n_outside == len(beyond)


@pytest.mark.parametrize("value", [0.0, 0.4])
def test_equal_scores_make_a_box_without_height(value):
    boxes, outside = box_values(scores_of([value] * 5))
    assert (boxes[["whisker_low", "q1", "median", "q3", "whisker_high"]] == value).all(axis=None)
    assert outside.empty
