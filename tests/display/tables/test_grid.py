"""Values of a frame in the cells of a table, with the decimals that they need."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.estimates import read_estimates
from salstats.display.tables.grid import (
    TableQuantity,
    decimals_by_metric_of_rows,
    estimate_and_interval_texts,
    low_to_high_bounds_quantity_if_in_frame,
    p_value_and_margin_p_quantities_if_any,
    quantity_table,
    read_estimates_to_show,
)
from salstats.display.tables.placement import ColumnPlacement, grid_of_frame_row_numbers
from salstats.display.text.format import MISSING
from salstats.display.text.labels import Labels
from salstats.errors import Call, ColumnError, SalstatsError, ValueRangeError

FRAME = pd.DataFrame({"task": ["a", "a", "b"], "method": ["x", "y", "x"], "estimate": [0.1, 0.2, 0.3]})
METHODS_IN_COLUMNS = ColumnPlacement(rows=("task",), columns=("method",), groups=())


def test_options_of_numbers_are_checked():
    with raises(ValueRangeError, option="digits", value=-1):
        read_estimates_to_show(FRAME, -1, "nature", "estimates")
    with raises(ValueRangeError, option="style", value="bmj"):
        read_estimates_to_show(FRAME, 2, "bmj", "estimates")


@pytest.mark.parametrize(
    ("column", "function"), [("average", "table_estimates"), ("term", "table_regression")]
)
def test_estimates_of_models_are_an_error_that_names_their_table(column, function):
    of_model = FRAME.assign(formula="iou ~ method", **{column: "rows"})
    with raises(SalstatsError, option="contrasts", column="formula", hint=Call(function)):
        read_estimates_to_show(of_model, None, "nature", "contrasts", ["reference"])
    assert len(read_estimates_to_show(of_model, None, "nature", "contrasts")) == 3
    # a frame of nothing but the columns that a table needs is its own
    columns = ["formula", column, "estimate"]
    assert len(read_estimates_to_show(of_model[columns], None, "nature", "contrasts", columns)) == 3
    with raises(ColumnError, column="reference"):
        read_estimates_to_show(FRAME, None, "nature", "contrasts", ["reference"])


def test_estimates_have_their_interval_and_stars():
    frame = FRAME.assign(conf_low=0.05, conf_high=0.15)
    texts = estimate_and_interval_texts(read_estimates(frame), 2, "nature", ["*", "", ""])
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
    texts = estimate_and_interval_texts(read_estimates(frame), 2, "nature")
    assert texts[:2] == ["0.500000 (0.400000, 0.600000)", "0.000120 (0.000100, 0.000140)"]
    assert texts[2] == "0.50 (0.40, 0.60)"


def test_a_limit_that_is_tiny_beside_its_interval_needs_no_decimals_of_its_own():
    frame = pd.DataFrame(
        {"formula": "y ~ a", "term": ["a"], "estimate": 0.5, "conf_low": 1e-9, "conf_high": 1.0}
    )
    assert estimate_and_interval_texts(read_estimates(frame), 2, "nature") == ["0.50 (0.00, 1.00)"]


@pytest.mark.parametrize(
    ("limits", "columns", "text"),
    [
        # a width of 0.0002 around a ratio of 1
        ((0.9999, 1.0001), {"estimate": 1.0, "exponentiated": True}, "1.00000 (0.99990, 1.00010)"),
        # a limit of 0.004 is above 0
        ((0.004, 0.5), {}, "0.300 (0.004, 0.500)"),
        ((0.006, 0.5), {}, "0.30 (0.01, 0.50)"),
        ((-np.inf, 0.5), {}, "0.30 (−∞, 0.50)"),
        ((0.3, 0.3), {}, "0.30 (0.30, 0.30)"),
    ],
)
def test_decimals_of_a_coefficient_show_its_width_and_the_side_of_its_limits(limits, columns, text):
    row = {"formula": "y ~ a", "term": "a", "estimate": 0.3, "conf_low": limits[0], "conf_high": limits[1]}
    assert estimate_and_interval_texts(read_estimates(pd.DataFrame([row | columns])), 2, "nature") == [text]


@pytest.mark.parametrize(
    ("limits", "digits", "text"),
    [
        ((0.4, 50.0), 0, "15.0 (0.4, 50.0)"),
        ((0.6, 50.0), 0, "15 (1, 50)"),
        ((0.04, 20.0), 1, "15.00 (0.04, 20.00)"),
        ((0.06, 20.0), 1, "15.0 (0.1, 20.0)"),
        # less than a thousandth of the width
        ((0.04, 50.0), 1, "15.0 (0.0, 50.0)"),
    ],
)
def test_limits_keep_their_side_of_0_whatever_the_least_number_of_decimals(limits, digits, text):
    row = {"formula": "y ~ a", "term": "a", "estimate": 15.0, "conf_low": limits[0], "conf_high": limits[1]}
    assert estimate_and_interval_texts(read_estimates(pd.DataFrame([row])), digits, "nature") == [text]


def test_a_covariance_of_0_has_the_decimals_of_its_limit():
    frame = pd.DataFrame(
        {"parameter": ["covariance"], "estimate": 0.0, "conf_low": -0.00034, "conf_high": 0.5}
    )
    assert estimate_and_interval_texts(read_estimates(frame), 2, "nature") == ["0.00000 (−0.00034, 0.50000)"]
    above = read_estimates(frame.assign(conf_low=0.0, conf_high=0.00034))
    assert estimate_and_interval_texts(above, 2, "nature") == ["0.00000 (0.00000, 0.00034)"]
    of_rounding = read_estimates(frame.assign(conf_low=-1e-9))
    assert estimate_and_interval_texts(of_rounding, None, "nature") == ["0.000 (0.000, 0.500)"]
    large = read_estimates(frame.assign(estimate=12.0, conf_low=1.0))
    assert estimate_and_interval_texts(large, 2, "nature") == ["12.00 (1.00, 0.50)"]


def test_small_variances_have_significant_digits():
    frame = pd.DataFrame({"parameter": ["variance", "icc"], "estimate": [0.000123, 0.000123]})
    assert estimate_and_interval_texts(read_estimates(frame), 2, "nature") == ["0.00012", "0.00"]


def test_a_cell_without_a_row_has_a_dash_and_marks_go_with_their_cells():
    value = TableQuantity("Mean", ["0.1", "0.2", "0.3"], bold={2}, underline={1})
    table = quantity_table(grid_of_frame_row_numbers(FRAME, METHODS_IN_COLUMNS, Labels()), [value], Labels())
    assert table.cells == [["0.1", "0.2"], ["0.3", MISSING]]
    assert (table.bold, table.underline) == ({(1, 0)}, {(0, 1)})
    assert [column.heading for column in table.columns] == ["x", "y"]
    assert {column.spanners for column in table.columns} == {("Mean",)}


def test_values_of_a_row_stand_once_before_the_others():
    count = TableQuantity("n", ["5", "5", "6"], "right")
    values = [TableQuantity("Mean", ["0.1", "0.2", "0.3"]), TableQuantity("P", ["0.01", "0.02", "0.03"])]
    table = quantity_table(
        grid_of_frame_row_numbers(FRAME, METHODS_IN_COLUMNS, Labels()), values, Labels(), [count]
    )
    assert table.cells[0] == ["5", "0.1", "0.01", "0.2", "0.02"]
    assert [column.spanners for column in table.columns] == [(), ("x",), ("x",), ("y",), ("y",)]


def test_the_first_average_of_each_group_with_other_rows_has_a_rule_above():
    frame = pd.DataFrame(
        {"metric": ["iou", "iou", "hit"], "task": ["a", "Average", "Average"], "estimate": 1.0}
    )
    placement = ColumnPlacement(rows=("task",), columns=(), groups=("metric",))
    table = quantity_table(
        grid_of_frame_row_numbers(frame, placement, Labels()), [TableQuantity("Mean", ["1"] * 3)], Labels()
    )
    assert table.rows_with_rule_above == {table.stub.index(("Average",), 1)}


def test_p_values_are_followed_by_those_of_margins():
    assert p_value_and_margin_p_quantities_if_any(read_estimates(FRAME), "nature") == []
    tested = FRAME.assign(p_value=[0.2, 0.03, np.nan])
    (p_value,) = p_value_and_margin_p_quantities_if_any(read_estimates(tested), "nature")
    assert (p_value.heading, p_value.texts) == ("P", ["0.200", "0.030", MISSING])
    margin = {"p_margin": [0.01, 0.02, 0.04], "margin_low": -0.1, "margin_high": 0.1, "conf_level": 0.9}
    _, of_margin = p_value_and_margin_p_quantities_if_any(read_estimates(tested.assign(**margin)), "ama")
    assert (of_margin.heading, of_margin.texts) == ("P, equivalence", [".01", ".02", ".04"])
    adjusted = read_estimates(FRAME.assign(**margin, p_margin_adjusted=[0.2, 0.3, 0.4]))
    (of_margin,) = p_value_and_margin_p_quantities_if_any(adjusted, "nature")
    assert of_margin.texts == ["0.200", "0.300", "0.400"]


def test_groups_and_columns_have_the_names_of_what_they_are_values_of():
    frame = pd.DataFrame(
        {"metric": "iou", "task": ["a", "b"] * 2, "x": ["prob", "prob", "age", "age"], "estimate": 1.0}
    )
    placement = ColumnPlacement(rows=("x",), columns=("task",), groups=("metric", "task"))
    labels = Labels({"task": "Finding"})
    table = quantity_table(
        grid_of_frame_row_numbers(frame, placement, labels),
        [TableQuantity("Mean", ["1"] * 4)],
        labels,
        absent_text="",
    )
    assert table.stubhead == ("Variable",)
    assert table.axis_headings == ("Metric, Finding", "Finding")
    assert table.groups == ["IoU, a"] * 2 + ["IoU, b"] * 2
    assert table.cells[0] == ["1", ""]
    assert table.may_rearrange
    of_pairs = pd.DataFrame({"y": ["prob", "age"], "estimate": 1.0})
    grid = grid_of_frame_row_numbers(of_pairs, ColumnPlacement(rows=("y",), columns=(), groups=()), labels)
    assert quantity_table(grid, [TableQuantity("Mean", ["1", "2"])], labels).stubhead == ("Variable",)


def test_a_table_without_grouping_columns_has_one_row():
    placement = ColumnPlacement(rows=(), columns=("method",), groups=())
    values = [
        TableQuantity("Mean", ["0.1", "0.2"], heading_by_column={"y": "Average"}),
        TableQuantity("n", ["5", "6"], "right"),
    ]
    table = quantity_table(grid_of_frame_row_numbers(FRAME.head(2), placement, Labels()), values, Labels())
    assert (table.stubhead, table.stub, table.groups) == (("",), [("All",)], [])
    assert [column.heading for column in table.columns] == ["Mean", "n", "Average", "n"]
    assert [column.align for column in table.columns] == ["point", "right"] * 2


def test_bounds_have_a_column_where_the_frame_has_them():
    bounds = low_to_high_bounds_quantity_if_in_frame(
        read_estimates(FRAME.assign(bound_low=0.0, bound_high=1.0)), 1, "nature"
    )
    assert [value.texts[0] for value in bounds] == ["0.0, 1.0"]
    assert low_to_high_bounds_quantity_if_in_frame(read_estimates(FRAME), 1, "nature") == []


def test_decimals_are_those_of_the_metric_unless_they_are_given():
    rows = pd.DataFrame(
        {
            "metric": ["iou", "hd95", "hd95", "own"],
            "term": ["mean", "mean", "rank", "mean"],
            "estimate": 12.3456,
        }
    )
    estimates = read_estimates(rows.assign(estimate=12.3456))
    assert estimate_and_interval_texts(estimates, None, "nature") == ["12.346", "12.3", "12.3", "12.346"]
    assert estimate_and_interval_texts(estimates, 2, "nature") == ["12.35"] * 4
    assert decimals_by_metric_of_rows(estimates, None) == [3, 1, 1, 3]


@pytest.mark.parametrize(
    ("term", "decimals"),
    [("percent_decrease", 1), ("spearman", 2), ("calibration_slope", 2), ("auroc", 3), ("area_ratio", 3)],
)
def test_what_is_in_no_unit_of_a_metric_has_the_decimals_of_its_term(term, decimals):
    estimates = read_estimates(pd.DataFrame({"metric": ["hd95"], "term": [term], "estimate": [1 / 3]}))
    assert estimate_and_interval_texts(estimates, None, "nature") == [f"{1 / 3:.{decimals}f}"]


@pytest.mark.parametrize("term", ["rank", "true_rank"])
def test_ranks_are_whole_numbers_unless_one_of_them_or_of_their_limits_is_not(term):
    ranks = pd.DataFrame({"term": term, "estimate": [1.0, 2.0], "conf_low": 1.0, "conf_high": [1.0, 3.0]})
    assert estimate_and_interval_texts(read_estimates(ranks), None, "nature") == ["1 (1, 1)", "2 (1, 3)"]
    tied = ranks.assign(conf_high=[1.5, 3.0])
    assert estimate_and_interval_texts(read_estimates(tied), None, "nature") == [
        "1.0 (1.0, 1.5)",
        "2.0 (1.0, 3.0)",
    ]
