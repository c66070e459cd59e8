"""Tables with a row for each row of a frame."""

import re

import pandas as pd

from salstats.display.tables.record import TableColumn
from salstats.studies.result_tables import table_of

ROWS = pd.DataFrame({"task": ["a", "b"], "n": [1200, 3], "share": [0.12345, 0.5], "kind": ["x", "y"]})


def html_of(**options):
    columns = {"n": "n", "Share": ("share", 2), "Double": lambda row: str(2 * row.n), "Kind": "kind"}
    return table_of(ROWS, "t", {"Task": "task"}, columns, **options).as_raw_html()


def test_cells_are_columns_columns_with_decimals_and_functions_of_the_row():
    html = html_of()
    for text in (">1,200<", ">0.12<", ">0.50<", ">2400<", ">x<"):
        assert text in html


def test_numbers_are_aligned_to_the_right_and_text_to_the_left():
    html = html_of()
    assert re.search(r"gt_right[^>]*>1,200<", html)
    assert re.search(r"gt_left[^>]*>x<", html)
    heading = TableColumn("Kind", align="right")
    html = table_of(ROWS, "t", {"Task": "task"}, {heading: "kind"}).as_raw_html()
    assert re.search(r"gt_right[^>]*>x<", html)


def test_rows_are_grouped_by_a_heading_and_notes_stand_below():
    html = html_of(groups="kind", notes=["Counts of cases."])
    assert html.count("gt_group_heading") >= 2
    assert "Counts of cases." in html
