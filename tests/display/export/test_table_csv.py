"""The text of a table as CSV: one row of headings, and nothing that is not in its cells."""

import csv
import io

import pandas as pd
from display.table_examples import EXAMPLES, ODD, estimates, grouped_by_column, rich, stub_of_levels
from great_tables import GT

from salstats.display.export.table_csv import grid_csv
from salstats.display.export.table_markup import table_grid


def rows_of(table):
    """The rows of a table's CSV."""
    return list(csv.reader(io.StringIO(grid_csv(table_grid(table)))))


def test_csv_has_one_row_of_headings_with_spanners_before_them():
    assert rows_of(estimates(1, 1))[0] == ["", "Method 0: IoU", "Method 0: Hit rate"]
    assert rows_of(rich())[0] == [
        "Group",
        "Finding",
        "All m²: IoU & co: a",
        "All m²: IoU & co: b",
        "All m²: Nx cases",
        "m₂³",
    ]


def test_csv_repeats_groups_and_leaves_out_title_notes_and_marks():
    rows = rows_of(rich())
    assert [row[:3] for row in rows[1:]] == [
        ["Large & big", "Edema <x>", "0.57"],
        ["Large & big", "Airspace_Opacity 50%", "0.10"],
        ["Small_ones", "Atelectasis", "−0.20"],
        ["Small_ones", "Support\\Devices $5", "—"],
        ["", "Mean", rows[-1][2]],
    ]
    text = grid_csv(table_grid(rich()))
    assert "Title" not in text
    assert "free note" not in text


def test_csv_repeats_what_spans_rows():
    assert [row[0] for row in rows_of(stub_of_levels())] == ["Metric", "iou", "iou", "hit"]
    assert [row[0] for row in rows_of(grouped_by_column())] == ["", "a", "a", "a", "b", "b"]


def test_csv_holds_the_text_as_it_is():
    frame = pd.DataFrame({"a, b": ['say "x"', ODD], "c": ["line\nbreak", "β"]})
    assert rows_of(GT(frame)) == [["a, b", "c"], ['say "x"', "line break"], [" ".join(ODD.split()), "β"]]


def test_csv_of_headings_alone_and_of_rows_alone():
    assert rows_of(EXAMPLES["without_rows"]()) == [["a", "b"]]
    assert rows_of(EXAMPLES["without_headings"]())[0] == ["[x]", "[1]"]
