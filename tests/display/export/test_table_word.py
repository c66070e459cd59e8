"""Tables as Word documents: real tables, with everything that the record says."""

import io

import pytest
from display.table_examples import EXAMPLES, estimates, long_names, one_cell, rich, stub_of_levels
from docx import Document
from docx.enum.section import WD_ORIENT
from docx.oxml.ns import qn

from salstats.display.export.table_files import table_rows
from salstats.display.export.table_word import word_document


def document(table):
    return Document(io.BytesIO(word_document(table_rows(table))))


def texts(table):
    """The texts of a Word table's cells; those that span columns once."""
    return [
        ["".join(t.text or "" for t in cell.iter(qn("w:t"))) for cell in row.tc_lst]
        for row in table._tbl.tr_lst
    ]


def runs(table):
    """Every run of text in a Word table, by its text."""
    cells = (cell for row in table.rows for cell in row.cells)
    return {run.text: run for cell in cells for p in cell.paragraphs for run in p.runs}


def has(element, name):
    """Whether there is such an element inside."""
    return element.find(".//" + qn(name)) is not None


@pytest.mark.parametrize("name", EXAMPLES)
def test_everything_in_the_table_is_in_the_document(name):
    rows = table_rows(EXAMPLES[name]())
    made = document(EXAMPLES[name]())
    cells = [text for table in made.tables for row in texts(table) for text in row]
    # a line may be broken before its interval
    flat = "".join("".join([*cells, *(p.text for p in made.paragraphs)]).split())
    wanted = [cell.text for line in (*rows.head, *(row.cells for row in rows.body)) for cell in line]
    for part in (rows.title, rows.subtitle, *wanted, *rows.notes):
        assert "".join(part.split()) in flat


def test_it_is_a_real_table_with_headings_that_repeat():
    table = document(rich()).tables[0]
    assert texts(table)[2][:4] == ["Finding", "a", "b", "N"]
    assert texts(table)[3] == ["Large & big"]
    assert [has(row._tr, "w:tblHeader") for row in table.rows] == [True] * 3 + [False] * 7
    assert all(has(row._tr, "w:cantSplit") for row in table.rows)


def test_what_spans_columns_or_rows_is_merged():
    table = document(rich()).tables[0]
    assert table.cell(0, 1)._tc is table.cell(0, 3)._tc
    assert table.cell(3, 0)._tc is table.cell(3, 4)._tc
    assert [has(table.cell(0, column)._tc, "w:pBdr") for column in (0, 1)] == [False, True]
    table = document(stub_of_levels()).tables[0]
    assert [row[0] for row in texts(table)] == ["Metric", "iou", "", "hit"]
    assert table.cell(1, 0)._tc is table.cell(2, 0)._tc
    assert table.cell(3, 0)._tc is not table.cell(1, 0)._tc


def test_marks_sides_and_indents_are_those_of_the_table():
    table = document(rich()).tables[0]
    assert [bool(runs(table)[text].bold) for text in ("0.57", "Large & big", "Edema <x>")] == [1, 1, 0]
    assert runs(table)["x & y"].underline
    sides = [table.cell(4, column).paragraphs[0].alignment for column in range(4)]
    assert [str(side).split()[0] for side in sides] == ["LEFT", "LEFT", "LEFT", "RIGHT"]
    assert table.cell(5, 0).paragraphs[0].paragraph_format.left_indent.pt > 5
    assert table.cell(4, 0).paragraphs[0].paragraph_format.left_indent is None
    # as wide as the minus below it
    assert table.cell(4, 1).text == "\u20070.57"


def test_only_the_rules_of_a_book_are_drawn():
    table = document(rich()).tables[0]
    drawn = {}
    for index, row in enumerate(table.rows):
        for borders in row._tr.iter(qn("w:tcBorders")):
            for side in borders:
                drawn.setdefault((index, side.tag.split("}")[1]), int(side.get(qn("w:sz"))))
    assert drawn == {(0, "top"): 8, (2, "bottom"): 4, (9, "top"): 4, (9, "bottom"): 8}


def test_title_stands_above_and_stays_with_the_table_notes_below():
    made = document(rich())
    assert [child.tag.split("}")[1] for child in made.element.body][:4] == ["p", "p", "tbl", "p"]
    title, subtitle = made.paragraphs[:2]
    assert (title.text, subtitle.text) == ("Title & more", "Sub < title 100%")
    assert all(run.bold for run in title.runs)
    assert title.paragraph_format.keep_with_next
    assert subtitle.paragraph_format.keep_with_next
    # the title is that of the table, too, for those who hear it
    [caption] = made.element.body.iter(qn("w:tblCaption"))
    assert caption.get(qn("w:val")) == "Title & more"
    assert not has(document(one_cell()).element.body, "w:tblCaption")
    assert [p.text for p in made.paragraphs[3:]] == list(table_rows(rich()).notes)
    assert {run.font.size.pt for p in made.paragraphs[3:] for run in p.runs} == {8}


def test_the_table_is_set_in_nine_points_of_a_sans_serif():
    made = document(one_cell())
    assert made.styles["Normal"].font.name == "Arial"
    assert {run.font.size.pt for run in runs(made.tables[0]).values()} == {9}


@pytest.mark.parametrize(
    ("table", "turned"),
    [(estimates(5, 1), False), (estimates(5, 2), False), (estimates(5, 4), True), (long_names(), None)],
)
def test_a_wide_table_is_turned_and_none_is_wider_than_its_page(table, turned):
    made = document(table)
    section = made.sections[0]
    if turned is not None:
        assert (section.orientation == WD_ORIENT.LANDSCAPE) is turned
    assert (section.page_width > section.page_height) is (section.orientation == WD_ORIENT.LANDSCAPE)
    room = section.page_width - section.left_margin - section.right_margin
    assert sum(column.width for column in made.tables[0].columns) <= room


def test_widths_survive_another_font():
    rows = table_rows(estimates(5, 2))
    made = Document(io.BytesIO(word_document(rows)))
    table = made.tables[0]
    section = made.sections[0]
    line = section.page_width - section.left_margin - section.right_margin
    width = table._tbl.tblPr.find(qn("w:tblW"))
    assert width.get(qn("w:type")) == "pct"
    columns = [column.width for column in table.columns]
    # fiftieths of a percent
    assert int(width.get(qn("w:w"))) / 5000 == pytest.approx(sum(columns) / line, abs=1e-3)
    assert table.autofit
    assert not has(table._tbl, "w:trHeight")
    # widths of signs of DejaVu Sans in ems; the padding of a cell is 4 points at either side
    ems = dict.fromkeys("0123456789", 0.636) | dict.fromkeys(".,; \u00a0", 0.318) | dict.fromkeys("()", 0.39)
    lines = {text: run.font.size.pt for text, run in runs(table).items() if set(text) <= set(ems)}
    widths = [points * sum(ems[sign] for sign in text) for text, points in lines.items()]
    assert max(columns[1:]).pt >= 8 + max(widths)


def test_a_table_wider_than_a_turned_page_is_several_with_their_labels():
    made = document(estimates(5, 8))
    section = made.sections[0]
    room = section.page_width - section.left_margin - section.right_margin
    assert len(made.tables) > 1
    assert sum(len(table.columns) - 1 for table in made.tables) == 16
    for table in made.tables:
        assert sum(column.width for column in table.columns) <= room
        assert [row[0] for row in texts(table)][2:] == [
            f"Task {i}, with some 5% & more_words" for i in range(5)
        ]
    assert {run.font.size.pt for table in made.tables for run in runs(table).values()} <= {7, 8}


@pytest.mark.parametrize(("n_tasks", "is_kept"), [(30, True), (31, False)])
def test_a_short_table_stays_on_one_page_and_a_long_one_keeps_its_head_together(n_tasks, is_kept):
    table = document(estimates(n_tasks, 1)).tables[0]
    kept = [has(row._tr, "w:keepNext") for row in table.rows]
    assert kept == [True, True, *[is_kept] * n_tasks]


def test_a_table_without_a_title_is_the_first_in_its_document():
    made = document(one_cell())
    assert made.element.body[0].tag == qn("w:tbl")
    properties = made.core_properties
    assert (properties.title, properties.keywords, properties.comments) == ("", "", "")


def test_nothing_personal_is_said_and_no_time():
    properties = document(rich()).core_properties
    assert properties.title == "Title & more"
    assert (properties.author, properties.last_modified_by, properties.comments) == ("", "", "")
    assert properties.created.year == 2000
