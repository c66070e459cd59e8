"""The text of a table as CSV: one row of headings, and nothing that is not in its cells."""

import csv
import io

import pytest
from display.table_examples import ODD, estimates, rich, stub_of_levels

from salstats.display.export.table_csv import csv_text
from salstats.display.export.table_files import table_rows
from salstats.display.tables.layout import Column, Table, build


def rows_of(table):
    """The rows of a table's CSV."""
    return list(csv.reader(io.StringIO(csv_text(table_rows(table)))))


def test_csv_has_one_row_of_headings_with_spanners_before_them():
    assert rows_of(estimates(1, 1))[0] == ["", "Method 0: IoU", "Method 0: Hit rate"]
    over = "All & more: IoU & co"
    assert rows_of(rich())[0] == ["Group", "Finding", f"{over}: a", f"{over}: b", "All & more: N", ODD]


def test_csv_repeats_groups_and_leaves_out_title_and_notes():
    rows = rows_of(rich())
    assert [row[:3] for row in rows[1:]] == [
        ["Large & big", "Edema <x>", "0.57"],
        ["Large & big", "Airspace_Opacity 50%", "0.10"],
        ["Small_ones", "Atelectasis", "−0.20"],
        ["Small_ones", "Support\\Devices $5", "—"],
        ["Small_ones", "n", "1,234"],
    ]
    text = csv_text(table_rows(rich()))
    assert "Title" not in text
    assert "Note" not in text


def test_csv_repeats_what_spans_rows():
    assert [row[0] for row in rows_of(stub_of_levels())] == ["Metric", "iou", "iou", "hit"]


@pytest.mark.parametrize("text", ["=1+1", "+x", "@x"])
def test_a_spreadsheet_takes_no_cell_for_a_formula(text):
    table = build(Table(("a",), [(text,)], [Column("b")], [[text]]), "t")
    assert rows_of(table)[1] == [f"'{text}", f"'{text}"]


def test_a_group_that_comes_again_is_one_group():
    stub, cells = [("a",), ("b",), ("c",)], [["1"], ["2"], ["3"]]
    table = build(Table(("",), stub, [Column("v")], cells, groups=["x", "y", "x"], bold={(2, 0)}), "t")
    assert rows_of(table)[1:] == [["x", "a", "1"], ["x", "c", "3"], ["y", "b", "2"]]
    assert [cell.text for row in table_rows(table).body for cell in row.cells[1:] if cell.bold] == ["3"]
