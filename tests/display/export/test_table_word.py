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
    """Every run of text in a Word table."""
    return [run for row in table.rows for cell in row.cells for p in cell.paragraphs for run in p.runs]


def run_of(table, text):
    """The run of a Word table that holds this text."""
    return next(run for run in runs(table) if run.text == text)


def has(element, *names):
    """Whether there is such an element inside."""
    return all(element.find(".//" + qn(name)) is not None for name in names)


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
    shown = texts(table)
    assert shown[2][:4] == ["Finding", "a", "b", "N"]
    assert shown[3] == ["Large & big"]
    repeats = [has(row._tr, "w:tblHeader") for row in table.rows]
    assert repeats == [True] * 3 + [False] * 7
    assert all(has(row._tr, "w:cantSplit") for row in table.rows)


def test_spanners_and_labels_of_groups_are_merged_cells():
    table = document(rich()).tables[0]
    assert table.cell(0, 1)._tc is table.cell(0, 3)._tc
    assert table.cell(3, 0)._tc is table.cell(3, 4)._tc
    assert has(table.cell(0, 1)._tc, "w:pBdr")
    assert not has(table.cell(0, 0)._tc, "w:pBdr")


def test_cells_that_span_rows_are_merged_downwards():
    table = document(stub_of_levels()).tables[0]
    assert [row[0] for row in texts(table)] == ["Metric", "iou", "", "hit"]
    assert table.cell(1, 0)._tc is table.cell(2, 0)._tc
    assert table.cell(3, 0)._tc is not table.cell(1, 0)._tc


def test_marks_of_cells_are_kept():
    table = document(rich()).tables[0]
    assert run_of(table, "0.57").bold
    assert run_of(table, "Large & big").bold
    assert not run_of(table, "Edema <x>").bold
    assert run_of(table, "x & y").underline


def test_text_is_aligned_and_indented_as_in_the_table():
    table = document(rich()).tables[0]
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
    names = [child.tag.split("}")[1] for child in made.element.body]
    assert names[:4] == ["p", "p", "tbl", "p"]
    title, subtitle = made.paragraphs[:2]
    assert title.text == "Title & more"
    assert all(run.bold for run in title.runs)
    assert subtitle.text == "Sub < title 100%"
    assert title.paragraph_format.keep_with_next
    assert subtitle.paragraph_format.keep_with_next
    assert [p.text for p in made.paragraphs[3:]] == list(table_rows(rich()).notes)
    assert {run.font.size.pt for p in made.paragraphs[3:] for run in p.runs} == {8}


def test_the_table_is_set_in_nine_points_of_a_sans_serif():
    made = document(one_cell())
    assert made.styles["Normal"].font.name == "Arial"
    assert {run.font.size.pt for run in runs(made.tables[0])} == {9}


@pytest.mark.parametrize(("n_methods", "turned"), [(1, False), (2, False), (4, True)])
def test_a_table_of_many_columns_is_turned(n_methods, turned):
    section = document(estimates(5, n_methods)).sections[0]
    assert (section.orientation == WD_ORIENT.LANDSCAPE) is turned
    assert (section.page_width > section.page_height) is turned


@pytest.mark.parametrize("make", [estimates, long_names, rich])
def test_a_table_is_never_wider_than_its_page(make):
    made = document(make())
    section = made.sections[0]
    room = section.page_width - section.left_margin - section.right_margin
    table = made.tables[0]
    assert sum(column.width for column in table.columns) <= room
    assert table.autofit is False


def test_nothing_personal_is_said_and_no_time():
    properties = document(rich()).core_properties
    assert properties.title == "Title & more"
    assert (properties.author, properties.last_modified_by, properties.comments) == ("", "", "")
    assert properties.created.year == 2000
