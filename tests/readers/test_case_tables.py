"""Tables with a row per case: what is said of a wrong cell."""

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ColumnError
from salstats.readers.case_tables import (
    read_point_table_as_row_col,
    read_prob_and_label_by_case,
    read_spacing_mm_by_case,
)


@pytest.mark.parametrize(
    ("read", "text", "fields"),
    [
        (read_prob_and_label_by_case, "name,prob\na,0.5\n", {"column": "case", "choices": ("name", "prob")}),
        (read_prob_and_label_by_case, "case,prob\na,0.5\na,0.6\n", {"column": "case", "rows": (1,)}),
        (read_prob_and_label_by_case, "case,prob\n,0.5\n", {"column": "case", "rows": (0,)}),
        (read_prob_and_label_by_case, "case,prob\na,1.5\n", {"column": "prob", "rows": (0,)}),
        (read_prob_and_label_by_case, "case,prob,label\na,0.5,2\n", {"column": "label", "rows": (0,)}),
        (read_spacing_mm_by_case, "case,row_mm\na,1\n", {"column": "col_mm", "rows": ()}),
        (read_spacing_mm_by_case, "case,row_mm,col_mm\na,0,1\n", {"column": "row_mm", "rows": (0,)}),
        (read_spacing_mm_by_case, "case,row_mm,col_mm\na,1,\n", {"column": "col_mm", "rows": (0,)}),
        (read_point_table_as_row_col, "case,x,y\na,1,1\n", {"column": "task", "choices": ("case", "x", "y")}),
        (read_point_table_as_row_col, "case,task,x\na,e,1\n", {"column": "y"}),
        (read_point_table_as_row_col, "case,task,x,y\na,e,1,1\na,e,1,\n", {"column": "x", "rows": (1,)}),
        (read_point_table_as_row_col, "case,task,x,y\na,e,one,1\n", {"column": "x", "rows": (0,)}),
    ],
)
def test_a_wrong_cell_is_named(tmp_path, read, text, fields):
    (tmp_path / "a.csv").write_text(text)
    with raises(ColumnError, path=tmp_path / "a.csv", **fields):
        read(tmp_path / "a.csv")


def test_points_are_rows_and_columns_by_case_and_task(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("case,task,x,y\na,e,3,1\nb,e,,\na,m,5,6\na,e,4,2.5\n")
    points = read_point_table_as_row_col(file)
    assert points.values["a"]["e"].tolist() == [[1, 3], [2.5, 4]]
    assert points.values["a"]["m"].tolist() == [[6, 5]]
    assert points.values["b"]["e"].shape == (0, 2)
    file.write_text("case,x,y\na,3,1\n")
    assert read_point_table_as_row_col(file, "e").values["a"]["e"].tolist() == [[1, 3]]


def test_probabilities_and_labels_run_from_0_to_1_and_may_be_missing(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("case,prob,label\na,0,1\nb,1,0\nc,,\n")
    predictions = read_prob_and_label_by_case(file)
    assert (predictions["a"], predictions["b"]) == ((0, 1), (1, 0))
    assert np.isnan(predictions["c"]).all()
    file.write_text("case,prob\na,0.25\n")
    np.testing.assert_array_equal(read_prob_and_label_by_case(file)["a"], (0.25, np.nan))


def test_a_spacing_is_that_of_rows_and_then_of_columns(tmp_path):
    (tmp_path / "a.csv").write_text("case,col_mm,row_mm\na,0.5,2\n")
    assert read_spacing_mm_by_case(tmp_path / "a.csv") == {"a": (2, 0.5)}
