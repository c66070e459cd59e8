"""Values of a frame in the cells of a table, with the decimals that they need."""

import pandas as pd
import pytest
from tests_support import raises

from salstats.display.estimates import read_estimates
from salstats.display.tables.grid import (
    Value,
    decimals_of_rows,
    interval_texts,
    missing_bounds_value_if_any,
    read_estimates_to_show,
    value_table,
)
from salstats.display.tables.placement import ColumnPlacement, frame_row_grid
from salstats.display.text.format import MISSING
from salstats.display.text.labels import Labels
from salstats.errors import ValueRangeError

FRAME = pd.DataFrame({"task": ["a", "a", "b"], "method": ["x", "y", "x"], "estimate": [0.1, 0.2, 0.3]})
METHODS_IN_COLUMNS = ColumnPlacement(rows=("task",), columns=("method",), groups=())


def test_options_of_numbers_are_checked():
    with raises(ValueRangeError, option="digits", value=-1):
        read_estimates_to_show(FRAME, -1, "nature", "estimates")
    with raises(ValueRangeError, option="style", value="bmj"):
        read_estimates_to_show(FRAME, 2, "bmj", "estimates")


def test_estimates_have_their_interval_and_stars():
    frame = FRAME.assign(conf_low=0.05, conf_high=0.15)
    texts = interval_texts(read_estimates(frame), 2, "nature", ["*", "", ""])
    assert texts == ["0.10 (0.05, 0.15)*", "0.20 (0.05, 0.15)", "0.30 (0.05, 0.15)"]


def test_coefficients_of_a_term_have_the_decimals_of_their_narrowest_interval():
    frame = pd.DataFrame(
        {
            "formula": ["y ~ a", "z ~ a", "y ~ b"],
            "term": ["a", "a", "b"],
            "estimate": [0.5, 0.00012, 0.5],
            "conf_low": [0.4, 0.00010, 0.4],
            "conf_high": [0.6, 0.00014, 0.6],
        }
    )
    texts = interval_texts(read_estimates(frame), 2, "nature")
    assert texts[:2] == ["0.500000 (0.400000, 0.600000)", "0.000120 (0.000100, 0.000140)"]
    assert texts[2] == "0.50 (0.40, 0.60)"


def test_a_limit_that_is_tiny_beside_its_interval_needs_no_decimals_of_its_own():
    frame = pd.DataFrame(
        {"formula": "y ~ a", "term": ["a"], "estimate": 0.5, "conf_low": 1e-9, "conf_high": 1.0}
    )
    assert interval_texts(read_estimates(frame), 2, "nature") == ["0.50 (0.00, 1.00)"]


def test_small_variances_have_significant_digits():
    frame = pd.DataFrame({"parameter": ["variance", "icc"], "estimate": [0.000123, 0.000123]})
    assert interval_texts(read_estimates(frame), 2, "nature") == ["0.00012", "0.00"]


def test_a_cell_without_a_row_has_a_dash_and_marks_go_with_their_cells():
    value = Value("Mean", ["0.1", "0.2", "0.3"], bold={2}, underline={1})
    table = value_table(frame_row_grid(FRAME, METHODS_IN_COLUMNS, Labels()), [value], Labels())
    assert table.cells == [["0.1", "0.2"], ["0.3", MISSING]]
    assert (table.bold, table.underline) == ({(1, 0)}, {(0, 1)})
    assert [column.heading for column in table.columns] == ["x", "y"]
    assert {column.spanners for column in table.columns} == {("Mean",)}


def test_values_of_a_row_stand_once_before_the_others():
    count = Value("n", ["5", "5", "6"], "right")
    values = [Value("Mean", ["0.1", "0.2", "0.3"]), Value("P", ["0.01", "0.02", "0.03"])]
    table = value_table(frame_row_grid(FRAME, METHODS_IN_COLUMNS, Labels()), values, Labels(), [count])
    assert table.cells[0] == ["5", "0.1", "0.01", "0.2", "0.02"]
    assert [column.spanners for column in table.columns] == [(), ("x",), ("x",), ("y",), ("y",)]


def test_the_first_average_of_each_group_with_other_rows_has_a_rule_above():
    frame = pd.DataFrame(
        {"metric": ["iou", "iou", "hit"], "task": ["a", "Average", "Average"], "estimate": 1.0}
    )
    placement = ColumnPlacement(rows=("task",), columns=(), groups=("metric",))
    table = value_table(frame_row_grid(frame, placement, Labels()), [Value("Mean", ["1"] * 3)], Labels())
    assert table.rows_with_rule_above == {table.stub.index(("Average",), 1)}


def test_bounds_have_a_column_where_the_frame_has_them():
    bounds = missing_bounds_value_if_any(
        read_estimates(FRAME.assign(bound_low=0.0, bound_high=1.0)), 1, "nature"
    )
    assert [value.texts[0] for value in bounds] == ["0.0, 1.0"]
    assert missing_bounds_value_if_any(read_estimates(FRAME), 1, "nature") == []


def test_decimals_are_those_of_the_metric_unless_they_are_given():
    rows = pd.DataFrame(
        {
            "metric": ["iou", "hd95", "hd95", "own"],
            "term": ["mean", "mean", "rank", "mean"],
            "estimate": 12.3456,
        }
    )
    estimates = read_estimates(rows.assign(estimate=12.3456))
    assert interval_texts(estimates, None, "nature") == ["12.346", "12.3", "12.3", "12.346"]
    assert interval_texts(estimates, 2, "nature") == ["12.35"] * 4
    assert decimals_of_rows(estimates, None) == [3, 1, 1, 3]


@pytest.mark.parametrize(
    ("term", "decimals"),
    [("percent_decrease", 1), ("spearman", 2), ("calibration_slope", 2), ("auroc", 3), ("area_ratio", 3)],
)
def test_what_is_in_no_unit_of_a_metric_has_the_decimals_of_its_term(term, decimals):
    estimates = read_estimates(pd.DataFrame({"metric": ["hd95"], "term": [term], "estimate": [1 / 3]}))
    assert interval_texts(estimates, None, "nature") == [f"{1 / 3:.{decimals}f}"]


@pytest.mark.parametrize("term", ["rank", "true_rank"])
def test_ranks_are_whole_numbers_unless_one_of_them_or_of_their_limits_is_not(term):
    ranks = pd.DataFrame({"term": term, "estimate": [1.0, 2.0], "conf_low": 1.0, "conf_high": [1.0, 3.0]})
    assert interval_texts(read_estimates(ranks), None, "nature") == ["1 (1, 1)", "2 (1, 3)"]
    tied = ranks.assign(conf_high=[1.5, 3.0])
    assert interval_texts(read_estimates(tied), None, "nature") == ["1.0 (1.0, 1.5)", "2.0 (1.0, 3.0)"]
