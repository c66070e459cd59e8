"""Which cases are picked to be shown: worked by hand."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

from salstats.errors import ColumnError, ColumnValue, SalstatsError
from salstats.stats.case_selection import pick_cases


def scores_of(values, *, metric="iou", method="gradcam", **columns):
    """A scores frame of cases a, b, c, ..."""
    cases = list("abcdefghijklmnop"[: len(values)])
    return pd.DataFrame({"case": cases, "method": method, "metric": metric, "score": values, **columns})


def picked(frame, **options):
    """The case of each pick."""
    return pick_cases(frame, **options).set_index("pick")["case"].to_dict()


def test_cases_stand_nearest_to_the_statistics():
    # median 0.3, mean 0.4
    frame = scores_of([0.9, 0.1, 0.3, 0.28, 0.42])
    assert picked(frame) == {"worst": "b", "median": "c", "mean": "e", "best": "a"}
    targets = pick_cases(frame).set_index("pick")["target"]
    np.testing.assert_allclose(targets[["worst", "median", "mean", "best"]], [0.1, 0.3, 0.4, 0.9])


def test_of_a_distance_the_largest_is_the_worst():
    frame = scores_of([5.0, 80.0, 20.0], metric="hd95")
    assert picked(frame, at=["worst", "best"]) == {"worst": "b", "best": "a"}
    targets = pick_cases(frame, at=["worst", "median", "best"])["target"]
    assert list(targets) == [80.0, 20.0, 5.0]
    # of an unknown metric larger scores are better
    own = scores_of([5.0, 80.0, 20.0], metric="own")
    assert picked(own, at=["worst", "best"]) == {"worst": "a", "best": "b"}


def test_ties_go_to_the_first_name_whatever_the_order_of_rows():
    # the median 0.35 lies between 0.2 and 0.5, and 0.35 - 0.2 is not 0.5 - 0.35 in floating point
    frame = scores_of([0.0, 0.5, 0.2, 1.0])
    assert picked(frame, at="median") == {"median": "b"}
    assert picked(frame.iloc[::-1], at="median") == {"median": "b"}
    hits = scores_of([1.0, 0.0, 1.0, 0.0], metric="hit")
    assert picked(hits.iloc[::-1], at=["worst", "best"]) == {"worst": "b", "best": "a"}


def test_no_case_is_picked_twice_while_others_are_left():
    # the median and the mean are both nearest to c; the extremes come before either
    frame = scores_of([0.0, 1.0, 0.5, 0.4, 0.6])
    assert picked(frame) == {"worst": "a", "median": "c", "mean": "d", "best": "b"}
    equal = scores_of([0.5] * 4)
    assert picked(equal) == {"worst": "a", "best": "b", "median": "c", "mean": "d"}


def test_each_group_has_its_picks_in_the_order_asked_for():
    frame = pd.concat(
        [scores_of([0.1, 0.2, 0.3], task="B"), scores_of([0.3, 0.2, 0.1], task="A")], ignore_index=True
    )
    got = pick_cases(frame, at=["best", "worst"])
    assert list(zip(got["task"], got["pick"], got["case"], strict=True)) == [
        ("A", "best", "a"),
        ("A", "worst", "c"),
        ("B", "best", "c"),
        ("B", "worst", "a"),
    ]
    pooled = pick_cases(frame, at="worst", by=["metric", "method"])
    assert list(pooled["case"] + pooled["task"]) == ["aB"]


def test_rows_of_one_metric_method_and_task_can_be_kept():
    frame = pd.concat(
        [
            scores_of([0.1, 0.9], task="A"),
            scores_of([0.8, 0.2], task="A", method="human"),
            scores_of([1.0, 0.0], task="A", metric="hit"),
            scores_of([0.5, 0.4], task="B"),
        ],
        ignore_index=True,
    )
    got = pick_cases(frame, metric="iou", method="human", task="A", at="worst")
    assert got[["case", "method", "metric", "task", "score"]].to_numpy().tolist() == [
        ["b", "human", "iou", "A", 0.2]
    ]


def test_a_group_without_scores_is_said():
    frame = pd.concat([scores_of([0.1, 0.9], task="A"), scores_of([np.nan] * 2, task="B")], ignore_index=True)
    with warns(column="score", message=ColumnValue("task", "B")):
        got = pick_cases(frame)
    assert set(got["task"]) == {"A"}
    with warns(column="score", message=ColumnValue("method", "gradcam")):
        assert pick_cases(scores_of([np.nan])).empty


@pytest.mark.parametrize(
    ("frame", "options", "error", "fields"),
    [
        (scores_of([0.1]), {"at": []}, SalstatsError, {"option": "at"}),
        (scores_of([0.1]), {"task": "A"}, ColumnError, {"option": "task", "value": "A", "column": "task"}),
        (
            scores_of([0.1]),
            {"method": "lime"},
            SalstatsError,
            {"option": "method", "value": "lime", "choices": ("gradcam",)},
        ),
        (
            pd.concat([scores_of([0.1]), scores_of([1.0], metric="hit")]),
            {"by": "method"},
            ColumnError,
            {"column": "metric"},
        ),
    ],
)
def test_a_selection_that_is_not_possible_is_an_error(frame, options, error, fields):
    with raises(error, **fields):
        pick_cases(frame, **options)
