"""Tables as CSV, Markdown and JSON: what a reader of each format finds in them."""

import csv
import io
import json
from dataclasses import replace

import pytest
from display.table_examples import EXAMPLES, ODD, estimates, rich, stub_of_levels

from salstats.display.export.table_files import table_rows
from salstats.display.export.table_html import html_page
from salstats.display.export.table_text import csv_text, json_document_text, markdown_text
from salstats.display.tables.great_table import great_table
from salstats.display.tables.record import Table, TableColumn
from salstats.display.tables.rows import table_to_rows


def csv_rows(table):
    """The rows of a table's CSV."""
    return list(csv.reader(io.StringIO(csv_text(table_rows(table)))))


def test_csv_has_one_row_of_headings_with_spanners_before_them():
    assert csv_rows(estimates(1, 1))[0] == ["", "Method 0: IoU", "Method 0: Hit rate"]
    over = "All & more: IoU & co"
    assert csv_rows(rich())[0] == ["Group", "Finding", f"{over}: a", f"{over}: b", "All & more: N", ODD]


def test_no_line_ends_inside_an_interval_and_csv_has_plain_spaces():
    table = Table(("Task",), [("Edema",)], [TableColumn("Mean (95% CI)")], [["0.5"]])
    rows = table_rows(great_table(table, "t"))
    assert rows.head[-1][1].text == "Mean (95%\xa0CI)"
    assert csv_text(rows).startswith("Task,Mean (95% CI)\n")
    assert "Mean (95%\xa0CI)" in html_page(great_table(table, "t"))


def test_csv_repeats_groups_and_what_spans_rows_and_has_nothing_but_cells():
    rows = csv_rows(rich())
    assert [row[:3] for row in rows[1:]] == [
        ["Large & big", "Edema <x>", "0.57"],
        ["Large & big", "Airspace_Opacity 50%", "0.10"],
        ["Small_ones", "Atelectasis", "−0.20"],
        ["Small_ones", "Support\\Devices $5", "—"],
        ["Small_ones", "n", "1,234"],
    ]
    assert [row[0] for row in csv_rows(stub_of_levels())] == ["Metric", "iou", "iou", "hit"]


@pytest.mark.parametrize("text", ["=1+1", "+x", "@x"])
def test_a_spreadsheet_takes_no_cell_for_a_formula(text):
    table = great_table(Table(("a",), [(text,)], [TableColumn("b")], [[text]]), "t")
    assert csv_rows(table)[1] == [f"'{text}", f"'{text}"]


def test_a_group_that_comes_again_is_one_group():
    stub, cells = [("a",), ("b",), ("c",)], [["1"], ["2"], ["3"]]
    table = great_table(
        Table(("",), stub, [TableColumn("v")], cells, groups=["x", "y", "x"], bold={(2, 0)}), "t"
    )
    assert csv_rows(table)[1:] == [["x", "a", "1"], ["x", "c", "3"], ["y", "b", "2"]]
    assert [cell.text for row in table_rows(table).body for cell in row.cells[1:] if cell.bold] == ["3"]


def cells_of_markdown(text):
    """The texts of a table as another program reads them, row by row, and its tags of marks."""
    markdown_it = pytest.importorskip("markdown_it")
    tokens = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    rows = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and token.level == 4:
            rows[-1].append("".join(child.content for child in token.children if child.type == "text"))
        elif token.type == "inline" and token.level == 1:
            rows.append(["".join(child.content for child in token.children if child.type == "text")])
    return rows


@pytest.mark.parametrize("name", EXAMPLES)
def test_markdown_is_read_as_the_texts_of_the_table(name):
    rows = table_rows(EXAMPLES[name]())
    found = cells_of_markdown(markdown_text(rows))
    paragraphs = [text.replace("\u00a0", " ") for text in (rows.title, rows.subtitle) if text]
    assert [row[0] for row in found[: len(paragraphs)]] == paragraphs
    assert len(found) == len(paragraphs) + 1 + len(rows.body) + len(rows.notes)
    for line, row in zip(found[len(paragraphs) + 1 :], rows.body, strict=False):
        texts = [cell.text.replace("\u00a0", " ") if cell.n_rows else "" for cell in row.cells]
        assert [text.lstrip("\u2003") for text in line][: len(texts)] == texts
        assert len(line) == len(rows.aligns)


def test_markdown_marks_what_is_bold_and_underlined():
    text = markdown_text(table_rows(rich()))
    assert "| **0.57** |" in text
    assert "| **Large \\& big** |  |" in text
    assert "<u>x \\& y</u>" in text
    assert "0.566 (0.526, 0.606)\\*\\*\\*" in text


def test_markdown_is_paragraphs_with_a_table_between_them():
    columns = [TableColumn("x", align="right"), TableColumn("y")]
    table = Table(("A",), [("a",), ("b",)], columns, [["1", "2"], ["3", ""]], title="T", notes=["N."])
    table = replace(table, groups=["G", "G"], indented_rows={1})
    assert markdown_text(table_to_rows(table)) == (
        "**T**\n\n"
        "| A | x | y |\n| :--- | ---: | :--- |\n| **G** |  |  |\n| a | 1 | 2 |\n| &emsp;b | 3 |  |\n\n"
        "N.\n"
    )
    assert markdown_text(table_to_rows(replace(table, title=None, groups=[], notes=[]))).startswith("| A |")


def test_json_holds_texts_groups_and_marks():
    text = json_document_text(table_rows(rich()))
    assert "β é − ± ²" in text
    read = json.loads(text)
    assert (read["title"], read["subtitle"]) == ("Title & more", "Sub < title 100%")
    assert read["columns"][:2] == [["Finding"], ["All & more", "IoU & co", "a"]]
    assert read["n_label_columns"] == 1
    assert [row["group"] for row in read["rows"]] == ["Large & big"] * 2 + ["Small_ones"] * 3
    assert read["rows"][0]["cells"] == ["Edema <x>", "0.57", "0.566 (0.526, 0.606)***", "1", ODD]
    assert [row["bold"] for row in read["rows"]] == [[1], [], [], [], []]
    assert [row["underlined"] for row in read["rows"]] == [[], [2], [], [], []]
    plain = json.loads(json_document_text(table_rows(stub_of_levels())))
    assert {row["group"] for row in plain["rows"]} == {None}
    assert plain["title"] is None
