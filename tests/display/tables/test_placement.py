"""Where grouping columns stand: as options name them, the others by what varies."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.estimates import read_estimates
from salstats.display.tables.placement import (
    checked_columns_of_option,
    choose_placement,
    grid_of_frame_row_numbers,
    key_of,
    ordered_group_labels,
)
from salstats.display.text.labels import Labels
from salstats.errors import ColumnError, SalstatsError


def table(**columns):
    index = pd.MultiIndex.from_product(map(list, columns.values()), names=list(columns))
    return index.to_frame(index=False).assign(estimate=np.arange(len(index), dtype=float))


def placement(frame, **options):
    return choose_placement(read_estimates(frame), [*frame.columns[:-1]], **options)


@pytest.mark.parametrize(
    ("columns", "rows", "headings", "groups"),
    [
        ({"metric": ["iou", "hit"], "method": "ab", "task": "xy"}, ("task",), ("method",), ("metric",)),
        ({"metric": ["iou", "hit"], "method": "ab"}, ("method",), ("metric",), ()),
        ({"metric": ["iou"], "method": "ab"}, ("method",), (), ()),
        ({"metric": ["iou"], "method": "a"}, ("method",), (), ()),
        ({"model": "pq", "method": "ab", "task": "xy"}, ("task",), ("model", "method"), ()),
        ({"metric": ["iou", "hit"]}, ("metric",), (), ()),
        ({"metric": ["iou", "hit"], "model": "pq"}, ("model",), ("metric",), ()),
        ({"y": "uv", "pair": "cd", "task": "xy"}, ("y",), ("pair",), ("task",)),
        ({"pair": "cd", "metric": ["iou", "hit"]}, ("pair",), ("metric",), ()),
        (
            {"model": "pq", "layer": "12", "method": "ab", "metric": ["iou", "hit"], "task": "xy"},
            ("task",),
            ("model", "layer", "method"),
            ("metric",),
        ),
    ],
)
def test_columns_find_their_place_by_what_varies(columns, rows, headings, groups):
    result = placement(table(**columns))
    assert (result.rows, result.columns, result.groups) == (rows, headings, groups)


def test_a_column_with_one_value_stands_in_a_note():
    result = placement(table(metric=["iou"], method="ab", task="xy"))
    assert result.constant == ("metric",)
    assert result.shown_columns == ("task", "method")


def test_a_column_that_only_some_rows_have_is_a_further_label_of_rows():
    frame = table(method="ab", mixing=["given", None], task="xy")
    assert placement(frame).rows == ("task", "mixing")


def test_options_name_places_and_the_rest_follows():
    frame = table(metric=["iou", "hit"], method="ab", task="xy")
    result = placement(frame, rows="method", columns=["metric", "task"])
    assert (result.rows, result.columns, result.groups) == (("method",), ("metric", "task"), ())


def test_metrics_stand_above_methods_where_others_make_the_groups():
    frame = table(metric=["iou", "hit"], method="ab", task="xy", model="pq")
    result = placement(frame, rows="model", groups="task")
    assert (result.rows, result.columns, result.groups) == (("model",), ("metric", "method"), ("task",))
    # of several groups metrics are the outermost
    result = placement(frame, rows="model", columns="method")
    assert result.groups == ("metric", "task")


def test_tasks_that_are_no_rows_make_groups():
    result = placement(table(metric=["iou"], method="ab", task="xy"), rows="method")
    assert (result.rows, result.columns, result.groups) == (("method",), (), ("task",))


def test_a_column_without_a_place_named_twice_or_not_there_is_an_error():
    frame = table(metric=["iou", "hit"], method="ab", task="xy")
    with raises(ColumnError, column="metric"):
        placement(frame, rows="task", columns="method", groups=[])
    with raises(ColumnError, option="rows"):
        placement(frame, rows="task", columns="task")
    with raises(ColumnError, option="groups", value="reader", choices=("metric", "method", "task")):
        placement(frame, groups="reader")
    assert checked_columns_of_option(["task"], None, "rows") is None


def test_cells_hold_rows_of_the_frame_in_the_order_of_labels():
    frame = table(method="ab", task="xy").iloc[:3]
    grid = grid_of_frame_row_numbers(frame, placement(frame), Labels({"task": ["y", "x"]}, frame))
    assert grid.row_labels == [("y",), ("x",)]
    assert grid.column_labels == [("a",), ("b",)]
    assert grid.frame_rows.tolist() == [[1, -1], [0, 2]]
    assert grid.is_summary_row == [False, False]


def test_averages_and_pooled_rows_are_summaries():
    frame = table(method="ab", task=["x", "Average", "Overall"])
    grid = grid_of_frame_row_numbers(frame, placement(frame), Labels(None, frame))
    summaries = dict(zip([label for (label,) in grid.row_labels], grid.is_summary_row, strict=True))
    assert summaries == {"x": False, "Average": True, "Overall": True}


def test_rows_of_groups_are_labelled_by_group_and_row():
    frame = table(metric=["iou", "hit"], method="ab", task="xy")
    grid = grid_of_frame_row_numbers(frame, placement(frame), Labels(None, frame))
    assert grid.group_labels == [("IoU",), ("IoU",), ("Hit rate",), ("Hit rate",)]
    assert grid.row_labels == [("x",), ("y",), ("x",), ("y",)]
    assert grid.frame_rows.tolist() == [[0, 2], [1, 3], [4, 6], [5, 7]]


def test_two_estimates_in_one_cell_are_an_error_that_names_their_rows():
    frame = table(method="ab", task="xy")
    twice = pd.concat([frame, frame.iloc[[2]]], ignore_index=True)
    with raises(SalstatsError, rows=(2, 4)):
        grid_of_frame_row_numbers(twice, placement(frame), Labels())


def test_keys_are_texts_and_missing_values_are_empty():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [0.5, np.nan]})
    assert key_of(frame, 1, ["a", "b", "c"]) == ("2", "", "")


def test_groups_are_labelled_in_order():
    frame = table(metric=["iou", "hit"], task="xy")
    groups = ordered_group_labels(frame, ["metric"], Labels({"metric": ["hit", "iou"]}, frame))
    assert groups == {("hit",): "Hit rate", ("iou",): "IoU"}
    crossed = ordered_group_labels(frame, ["task", "metric"], Labels(None, frame))
    assert list(crossed.items()) == [
        (("x", "iou"), "x, IoU"),
        (("x", "hit"), "x, Hit rate"),
        (("y", "iou"), "y, IoU"),
        (("y", "hit"), "y, Hit rate"),
    ]
    assert ordered_group_labels(frame, [], Labels()) == {(): ""}
