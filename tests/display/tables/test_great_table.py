"""The look of tables: what is aligned, set apart, wrapped, and independent of the page."""

import pandas as pd
import pytest
from great_tables import GT, loc, style
from lxml import html
from tests_support import raises

from salstats.display.tables.great_table import great_table, record_of
from salstats.display.tables.record import Table, TableColumn
from salstats.errors import SalstatsError


def cells(gt):
    """Every cell of the body, row by row."""
    table = html.fromstring(gt.as_raw_html()).xpath("//table")[0]
    return [tr.xpath("./td") for tr in table.xpath("./tbody/tr")]


def table_of(column, **options):
    """A table of one column of texts."""
    return Table(
        ("Task",),
        [(f"t{i}",) for i in range(len(column))],
        [TableColumn("x")],
        [[c] for c in column],
        **options,
    )


def indents(gt):
    """How far each cell moves right, in digits."""
    styles = [row[0].get("style") or "" for row in cells(gt)]
    return [int(s.split("text-indent: ")[1].split("ch")[0]) if "text-indent" in s else 0 for s in styles]


def test_decimal_points_of_leading_numbers_stand_below_each_other():
    texts = ["0.566 (0.526, 0.606)***", "−12.1 (−20.0, 3.0)", "—", "<0.001", "", "7"]
    gt = great_table(table_of(texts), "t")
    assert indents(gt) == [2, 0, 2, 1, 0, 2]
    # alignment is style and never text, and an interval is not wrapped
    assert [row[0].text_content() for row in cells(gt)] == texts
    assert ["nowrap" in (row[0].get("style") or "") for row in cells(gt)] == [True, True, *[False] * 4]


def test_signs_in_front_and_marks_behind_do_not_move_the_point():
    assert indents(great_table(table_of(["<.001", ".042", ""]), "t")) == [0, 1, 0]
    assert indents(great_table(table_of(["−1†", "10*", "3"]), "t")) == [0, 0, 1]


def test_numbers_at_the_foot_begin_below_each_other():
    gt = great_table(table_of(["10.5", "−0.5", "1,234", "0.9", "−1,906.4"], foot_rows={2, 3, 4}), "t")
    assert indents(gt) == [0, 0, 1, 1, 0]


def test_marks_and_rules_are_styles_of_their_cells_only():
    gt = great_table(
        table_of(["1.0", "2.0", "3.0"], bold={(0, 0)}, underline={(1, 0)}, rows_with_rule_above={2}), "t"
    )
    styles = [row[0].get("style") or "" for row in cells(gt)]
    assert ["font-weight: bold" in s for s in styles] == [True, False, False]
    assert ["text-decoration: underline" in s for s in styles] == [False, True, False]
    assert ["border-top" in s for s in styles] == [False, False, True]
    stubs = html.fromstring(gt.as_raw_html()).xpath("//tbody/tr/th")
    assert ["border-top" in (s.get("style") or "") for s in stubs] == [False, False, True]


def test_neighbours_share_a_spanner_and_others_do_not():
    columns = [TableColumn("a", ("all", "x")), TableColumn("b", ("all", "x")), TableColumn("c", ("all", "y"))]
    gt = great_table(Table(("",), [("r",)], columns, [["1", "2", "3"]]), "t")
    spans = {
        " ".join(th.text_content().split()): th.get("colspan")
        for th in html.fromstring(gt.as_raw_html()).xpath("//th[contains(@class, 'spanner')]")
    }
    assert spans == {"all": "3", "x": "2", "y": "1"}


def test_equal_labels_below_each_other_are_merged_but_for_the_last_column():
    stub = [("a", "u"), ("a", "v"), ("b", "v")]
    gt = great_table(Table(("Method", "Mixing"), stub, [TableColumn("x")], [["1"], ["2"], ["3"]]), "t")
    rows = html.fromstring(gt.as_raw_html()).xpath("//tbody/tr")
    assert [[th.text_content() for th in row.xpath("./th")] for row in rows] == [
        ["a", "u"],
        ["v"],
        ["b", "v"],
    ]
    assert rows[0].xpath("./th")[0].get("rowspan") == "2"


def test_long_headings_and_labels_are_kept_whole_and_wrap():
    label = "a finding with a name that is much longer than any column of numbers ought to be wide " * 2
    gt = great_table(Table(("Task",), [(label,)], [TableColumn(label)], [["1"]]), "t")
    page = html.fromstring(gt.as_raw_html())
    heading, stub = page.xpath("//thead//th")[-1], page.xpath("//tbody//th")[0]
    for cell in (heading, stub):
        assert cell.text_content() == label
        assert "max-width" in cell.get("style")


def test_colours_are_those_of_the_page():
    page = great_table(table_of(["1"]), "t").as_raw_html()
    look = page.split(".gt_table {")[1].split("}")[0]
    assert "background-color: inherit" in look
    assert " color: inherit" in look
    assert "background-color: #FFFFFF" not in page


def test_empty_notes_are_left_out_and_the_version_closes(read):
    seen = read(great_table(table_of(["1"], notes=["First.", "", "Second."]), "t"))
    assert seen.notes[:2] == ["First.", "Second."]
    assert seen.notes[-1].startswith("salstats ")
    assert len(seen.notes) == 3


STRONG = style.text(weight="bold")


@pytest.mark.parametrize(
    ("rows", "columns", "cells"),
    [
        (None, None, {(0, 0), (1, 0), (2, 0)}),
        ([0, -1, 9], "cell0", {(0, 0), (2, 0)}),
        ("t1", ["cell0"], {(1, 0)}),
        (["t0", 2], -1, {(0, 0), (2, 0)}),
    ],
)
def test_the_record_marks_the_cells_that_great_tables_marks(rows, columns, cells):
    gt = great_table(table_of(["1", "2", "3"]), "t").tab_style(STRONG, loc.body(columns, rows))
    assert record_of(gt).bold == cells
    shown = {(row, 0) for row, line in enumerate(body_styles(gt)) if "bold" in line}
    assert shown == cells


def body_styles(gt):
    """The style of the one cell of each row."""
    return [row[0].get("style") or "" for row in cells(gt)]


@pytest.mark.parametrize(
    "change",
    [
        lambda gt: gt.fmt_integer("cell0"),
        lambda gt: gt.cols_hide("cell0"),
        lambda gt: gt.tab_spanner("Over", columns="cell0"),
        lambda gt: gt.rm_stubhead(),
        lambda gt: gt.tab_style(STRONG, loc.body(rows=lambda frame: frame["cell0"] == "1")),
        lambda gt: gt.tab_style(STRONG, loc.stub()),
        lambda gt: gt.tab_style(style.fill("red"), loc.body()),
    ],
)
def test_a_change_that_the_record_does_not_hold_is_an_error_that_names_the_method(change):
    gt = great_table(table_of(["1", "2"]), "t")
    changed = change(gt)
    assert repr(changed).startswith("<GT: .tex, .docx, .csv, .md, .json cannot show")
    with raises(SalstatsError, choices=(".html", ".png")) as error:
        record_of(changed)
    assert hasattr(gt, error.value.value)
    # the table itself is not changed
    assert record_of(gt).bold == set()


def test_every_method_of_great_tables_is_kept_or_noted():
    """A method of a later great-tables that belongs to no group has to be looked at."""
    kept = ("as_", "opt_", "with_", "gtsave", "pipe", "render", "save", "show", "write_", "from_data")
    changing = ("cols_", "data_", "fmt", "grand_", "rm_", "row_", "sub_", "summary_", "tab_", "text_")
    public = [name for name in dir(GT) if not name.startswith("_")]
    assert [name for name in public if not name.startswith((*kept, *changing))] == []


def test_a_table_of_somebody_else_has_no_record():
    with raises(SalstatsError, choices=(".html", ".png")):
        record_of(GT(pd.DataFrame({"a": [1]})))
