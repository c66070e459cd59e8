"""Tables as Word documents: real tables, with everything that the HTML says."""

import io

import pandas as pd
import pytest
from display.table_examples import EXAMPLES, estimates, grouped_by_column, long_names, rich
from docx import Document
from docx.enum.section import WD_ORIENT
from docx.oxml.ns import qn
from great_tables import GT, html

from salstats.display.export.table_grid import plain
from salstats.display.export.table_markup import table_grid
from salstats.display.export.table_word import grid_docx


def document(table):
    return Document(io.BytesIO(grid_docx(table_grid(table))))


def texts(table):
    """The texts of a Word table's cells; those that span columns once."""
    found = []
    for row in table._tbl.tr_lst:
        found.append(["".join(t.text or "" for t in cell.iter(qn("w:t"))) for cell in row.tc_lst])
    return found


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
def test_everything_in_the_grid_is_in_the_document(name):
    grid = table_grid(EXAMPLES[name]())
    made = document(EXAMPLES[name]())
    cells = [text for table in made.tables for row in texts(table) for text in row]
    paragraphs = [paragraph.text for paragraph in made.paragraphs]
    flat = "\n".join(cells + paragraphs).replace("\u00a0", " ")
    wanted = [cell.runs for row in grid.head + grid.body for cell in row.cells]
    for part in (grid.title, grid.subtitle, *wanted, *grid.notes):
        for line in plain(part).replace("\u00a0", " ").split("\n"):
            # a line may be broken before its interval
            assert line in flat or line.replace(" (", "(") in flat


def test_it_is_a_real_table_with_headings_that_repeat():
    table = document(rich()).tables[0]
    shown = texts(table)
    assert shown[2] == ["Finding", "a", "b", "Nxcases2", "m23"]
    assert shown[3] == ["Large & big"]
    assert shown[4][:2] == ["Edema <x>", "4 0.57"]
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
    table = document(grouped_by_column()).tables[0]
    assert [row[0] for row in texts(table)] == ["", "a", "", "", "b", ""]
    assert table.cell(1, 0)._tc is table.cell(3, 0)._tc
    assert table.cell(4, 0)._tc is not table.cell(1, 0)._tc


def test_styles_of_cells_are_kept():
    table = document(rich()).tables[0]
    assert run_of(table, " 0.57").bold
    assert run_of(table, "Atelectasis").bold
    assert not run_of(table, "Edema <x>").bold
    slanted = run_of(table, "x & y")
    assert slanted.italic
    assert slanted.underline
    assert run_of(table, "Large & big").italic
    assert str(table.cell(7, 3).paragraphs[0].runs[0].font.color.rgb) == "AA0000"
    mark = run_of(table, "4")
    assert mark.font.superscript
    assert table.cell(5, 3)._tc.find(".//" + qn("w:shd")).get(qn("w:fill")) == "E0FFFF"
    struck = document(GT(pd.DataFrame({"a": [1]})).tab_source_note(html("<s>gone</s><sub>x</sub>")))
    last = struck.paragraphs[-1].runs
    assert last[0].font.strike
    assert last[1].font.subscript


def test_the_label_of_a_group_is_in_italics_unless_it_is_bold():
    frame = pd.DataFrame({"g": ["one"], "t": ["a"], "v": [1]})
    table = GT(frame, rowname_col="t", groupname_col="g")
    label = run_of(document(table).tables[0], "one")
    assert (label.italic, label.bold) == (True, None)
    label = run_of(document(table.tab_options(row_group_font_weight="bold")).tables[0], "one")
    assert (label.italic, label.bold) == (None, True)


def test_text_is_aligned_and_indented_as_in_the_table():
    table = document(rich()).tables[0]
    sides = [table.cell(4, column).paragraphs[0].alignment for column in range(4)]
    assert [str(side).split()[0] for side in sides] == ["LEFT", "RIGHT", "LEFT", "RIGHT"]
    assert table.cell(5, 0).paragraphs[0].paragraph_format.left_indent.pt > 5
    assert table.cell(4, 0).paragraphs[0].paragraph_format.left_indent is None


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
    assert title.text == "Title bold & slanted1"
    assert all(run.bold for run in title.runs)
    assert subtitle.text == "Sub < title 100%"
    assert title.paragraph_format.keep_with_next
    assert subtitle.paragraph_format.keep_with_next
    notes = [p.text for p in made.paragraphs[3:]]
    assert notes == [plain(note) for note in table_grid(rich()).notes]
    assert {run.font.size.pt for p in made.paragraphs[3:] for run in p.runs} == {8}


def test_the_table_is_set_in_nine_points_of_a_sans_serif():
    made = document(EXAMPLES["one_cell"]())
    assert made.styles["Normal"].font.name == "Arial"
    assert {run.font.size.pt for run in runs(made.tables[0])} == {9}


@pytest.mark.parametrize(("n_methods", "turned"), [(1, False), (2, False), (4, True)])
def test_a_table_of_many_columns_is_turned(n_methods, turned):
    section = document(estimates(5, n_methods)).sections[0]
    assert (section.orientation == WD_ORIENT.LANDSCAPE) is turned
    assert (section.page_width > section.page_height) is turned


@pytest.mark.parametrize("name", ["estimates", "long_names", "rich"])
def test_a_table_is_never_wider_than_its_page(name):
    made = document(EXAMPLES[name]())
    section = made.sections[0]
    room = section.page_width - section.left_margin - section.right_margin
    table = made.tables[0]
    assert sum(column.width for column in table.columns) <= room
    assert table.autofit is False


def test_long_names_wrap_instead_of_being_cut():
    table = document(long_names()).tables[0]
    assert any("y" * 120 in text for row in texts(table) for text in row)


def test_nothing_personal_is_said_and_no_time():
    properties = document(rich()).core_properties
    assert properties.title == "Title bold & slanted"
    assert (properties.author, properties.last_modified_by, properties.comments) == ("", "", "")
    assert properties.created.year == 2000
    assert grid_docx(table_grid(rich())) == grid_docx(table_grid(rich()))


def test_a_document_without_table_or_text_opens():
    made = document(GT(pd.DataFrame()))
    assert made.tables == []
    assert len(made.paragraphs) == 1


def test_a_table_without_notes_is_followed_by_a_paragraph():
    made = document(EXAMPLES["one_cell"]())
    assert [child.tag.split("}")[1] for child in made.element.body] == ["tbl", "p", "sectPr"]
