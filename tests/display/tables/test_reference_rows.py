"""Rows of the reference in a table of contrasts."""

import numpy as np
import pandas as pd
import pytest

from salstats.display.estimates import read_estimates
from salstats.display.tables.reference_rows import (
    has_one_reference_mean_per_group,
    is_reference_row,
    with_reference_row_per_group,
)


@pytest.fixture
def contrasts():
    """Two methods in each of two tasks, compared with people."""
    frame = pd.DataFrame(
        {
            "metric": "iou",
            "method": ["a", "b"] * 2,
            "task": ["y", "y", "x", "x"],
            "reference": "human",
            "term": "difference",
            "estimate": [-0.1, -0.2, -0.3, -0.4],
            "reference_mean": [0.6, 0.6, 0.7, 0.7],
            "method_mean": [0.5, 0.4, 0.4, 0.3],
            "n_pairs": [10, 10, 12, 12],
        }
    )
    return read_estimates(frame)


def test_a_group_has_one_reference_mean_of_as_many_pairs(contrasts):
    assert has_one_reference_mean_per_group(contrasts)
    for column, values in (
        ("reference_mean", [0.6, 0.6, 0.7, 0.6]),
        ("reference_mean", [0.6, np.nan, 0.7, 0.7]),
        ("n_pairs", [10, 10, 12, 11]),
        ("reference", ["human", "human", "lime", "lime"]),
    ):
        assert not has_one_reference_mean_per_group(contrasts.with_columns(**{column: values}))
    # sums in another order
    assert has_one_reference_mean_per_group(contrasts.with_columns(reference_mean=[0.1 + 0.2, 0.3, 0.7, 0.7]))


def test_contrasts_without_other_columns_are_one_group(contrasts):
    of_task = contrasts.with_other_frame(contrasts.frame.drop(columns=["metric", "task"]))
    assert not has_one_reference_mean_per_group(of_task)
    one_task = of_task.subset([True, True, False, False])
    assert has_one_reference_mean_per_group(one_task)
    assert with_reference_row_per_group(one_task).frame["method"].tolist() == ["human", "a", "b"]


def test_terms_are_groups(contrasts):
    terms = contrasts.with_columns(task="x", term=["difference"] * 2 + ["percent_decrease"] * 2)
    assert has_one_reference_mean_per_group(terms)
    assert with_reference_row_per_group(terms).frame["term"].tolist()[:2] == [
        "difference",
        "percent_decrease",
    ]


def test_each_group_has_a_row_of_its_reference_without_anything_estimated(contrasts):
    rows = with_reference_row_per_group(contrasts)
    frame = rows.frame
    assert frame["method"].tolist() == ["human", "human", "a", "b", "a", "b"]
    assert frame["task"].tolist() == ["y", "x", "y", "y", "x", "x"]
    assert is_reference_row(rows).tolist() == [True] * 2 + [False] * 4
    references = frame.head(2)
    assert references["method_mean"].tolist() == [0.6, 0.7]
    assert references["reference_mean"].tolist() == [0.6, 0.7]
    assert references["n_pairs"].tolist() == [10, 12]
    assert references["estimate"].isna().all()
    assert frame.columns.tolist() == contrasts.frame.columns.tolist()
    pd.testing.assert_frame_equal(frame.tail(4).reset_index(drop=True), contrasts.frame, check_dtype=False)


def test_groups_without_a_value_are_groups_of_their_other_columns(contrasts):
    without_task = contrasts.with_columns(metric=["iou", "iou", "hit", "hit"], task=None)
    assert has_one_reference_mean_per_group(without_task)
    assert with_reference_row_per_group(without_task).frame["metric"].tolist()[:2] == ["iou", "hit"]
