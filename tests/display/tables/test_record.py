"""A table's record: digits that lack in front of numbers, and labels that are counts."""

import pytest

from salstats.display.tables.record import Table, TableColumn, decimal_point_pads, has_whole_number_row_labels


def table_of(texts, stub=("a", "b", "c", "d"), **options):
    labels = [(label,) for label in stub[: len(texts)]]
    align = options.pop("align", "point")
    return Table(("Task",), labels, [TableColumn("x", align=align)], [[text] for text in texts], **options)


@pytest.mark.parametrize(
    ("texts", "pads"),
    [
        (["1.0", "10.0", "100.0"], ["10", "1", ""]),
        (["−1.0", "2.0"], ["", "−"]),
        (["1.0", "", "10.0"], ["1", "", ""]),
        (["1.0*", "10.0†"], ["1", ""]),
        (["<0.001", "0.5"], ["", "<"]),
        (["5 (10)", "10"], ["1", ""]),
        (["5%", "10"], ["1", ""]),
    ],
)
def test_pads_put_decimal_points_below_each_other(texts, pads):
    assert decimal_point_pads(table_of(texts), 0) == pads


def test_numbers_at_the_foot_lack_a_sign_at_most():
    assert decimal_point_pads(table_of(["−1.5", "10.5", "7"], foot_rows={2}), 0) == ["", "", "−"]
    # numbers above do not align with longer ones of the foot, and a cell without text needs no room
    texts = ["1.5", "10.5", "1,234", ""]
    assert decimal_point_pads(table_of(texts, foot_rows={2, 3}), 0) == ["1", "", "", ""]
    assert decimal_point_pads(table_of(["−1.5", "−3", "4"], foot_rows={1, 2}), 0) == ["", "", "−"]


def test_columns_that_are_aligned_otherwise_have_no_pads():
    assert decimal_point_pads(table_of(["1", "100"], align="right"), 0) == ["", ""]


@pytest.mark.parametrize(("stub", "expected"), [(("10", "1,000"), True), (("10", "ten"), False)])
def test_labels_are_counts_if_all_are_whole_numbers(stub, expected):
    assert has_whole_number_row_labels(table_of(["1", "2"], stub)) is expected
