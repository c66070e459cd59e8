"""Widths of columns, and how they share a page."""

import pytest
from display.table_examples import LONG, estimates, long_names, one_cell

from salstats.display.export.table_files import table_rows
from salstats.display.tables.great_table import great_table
from salstats.display.tables.record import Table, TableColumn
from salstats.display.tables.rows import Cell
from salstats.display.tables.widths import (
    PageLayout,
    Paper,
    TypeSetting,
    cell_text_width_em,
    natural_and_minimal_column_widths_em,
    number_lines,
    page_layout,
    parts_with_layouts,
    text_width_em,
    word_pieces,
)

#: Widths of Helvetica in ems are met within this.
NEAR = 0.1


def of_columns(headings, *rows, n_breaks=0):
    """What the columns of a table want and need."""
    table = Table(
        ("",), [("t",)] * len(rows), [TableColumn(h) for h in headings], [list(row) for row in rows]
    )
    natural, least = natural_and_minimal_column_widths_em(table_rows(great_table(table, "t")), n_breaks)
    return natural[1:], least[1:]


def plan(table, upright, turned=600.0):
    return page_layout(table_rows(table), Paper((upright, turned), dict.fromkeys((9, 8, 7), 4.0), 1.0))


def test_widths_are_about_those_of_helvetica():
    # Adobe's metrics of Helvetica: 0 to 9 are 0.556 em, a space 0.278, an m 0.833, an i 0.222
    assert text_width_em("0123456789") == pytest.approx(5.56)
    assert text_width_em("mi ") == pytest.approx(0.833 + 0.222 + 0.278, abs=NEAR)
    assert text_width_em("漢字") == 2.0
    assert text_width_em("e\u0301") == text_width_em("e")


@pytest.mark.parametrize("limits", ["(0.526, 0.606)***", "(−0.497 to −0.354)", "[—, 0.5]", "(28.8%)"])
def test_an_interval_goes_below_its_estimate_in_one_piece_unless_there_is_no_room(limits):
    whole = limits.replace(" ", "\u00a0")
    assert number_lines(f"0.5 {limits}", 0) == [f"0.5 {whole}"]
    assert number_lines(f"0.5 {limits}", 1) == ["0.5", whole]
    assert number_lines(f"0.5 {limits}", 2) == ["0.5", *limits.split(" ")]


@pytest.mark.parametrize("text", ["Lung (upper, left)", "a (b) c", "2 of 3 methods (both)"])
def test_words_in_brackets_are_no_interval(text):
    assert number_lines(text, 2) == [text]


def test_numbers_need_less_broken_before_their_interval_and_text_at_spaces():
    cells = ["0.566 (0.526, 0.606)", "some words that are a label"]
    (number, text), (needed, wrapped) = of_columns(["v", "w"], cells)
    assert number == needed
    assert wrapped < text
    assert of_columns(["v", "w"], cells, n_breaks=2)[1][0] < of_columns(["v", "w"], cells, n_breaks=1)[1][0]
    needed_broken, wrapped_broken = of_columns(["v", "w"], cells, n_breaks=1)[1]
    assert needed_broken < needed
    # as wide as its widest word
    assert wrapped_broken == pytest.approx(text_width_em("words"))


def test_headings_are_wrapped_over_numbers():
    (natural,), (least,) = of_columns(["Percentage decrease from the benchmark"], ["1.5"], ["2.5"])
    assert least < natural / 2


def test_a_spanner_has_room_where_it_is_short_and_labels_of_groups_take_none():
    assert natural_and_minimal_column_widths_em(table_rows(long_names()), 0)[0][-1] < text_width_em(LONG) / 3
    natural, _ = natural_and_minimal_column_widths_em(table_rows(estimates(3, 2)), 0)
    assert len(natural) == 5
    assert sum(natural[1:3]) >= text_width_em("Method 0")


def test_the_first_setting_that_fits_is_taken_and_its_columns_fit_the_line():
    settings = []
    for line in (700, 575, 450, 350, 300):
        found = plan(estimates(), line, turned=1.2 * line)
        settings.append((found.points, found.turned, found.n_breaks))
        assert sum(found.column_widths_em) * found.points_per_em + 2 * found.gap_points * len(
            found.column_widths_em
        ) <= found.line_width_points * (1 + 1e-9)
    assert settings == [(9, False, 0), (8, False, 0), (8, False, 1), (8, True, 1), (7, True, 1)]


@pytest.mark.parametrize(("n_methods", "sizes"), [(3, [6]), (8, [4, 6, 6]), (9, [6, 6, 6])])
def test_table_parts_a_table_that_fits_nowhere_fit_with_their_labels(n_methods, sizes):
    rows = table_rows(estimates(3, n_methods))
    parts = parts_with_layouts(rows, Paper((400.0, 600.0), dict.fromkeys((9, 8, 7), 4.0), 1.0))
    assert [len(part.aligns) - 1 for part, _ in parts] == sizes
    for part, found in parts:
        assert sum(found.column_widths_em) * found.points_per_em + 2 * found.gap_points * len(
            found.column_widths_em
        ) <= found.line_width_points * (1 + 1e-9)
        assert [row.cells[0] for row in part.body] == [row.cells[0] for row in rows.body]
    cells = [cell.text for i in range(3) for part, _ in parts for cell in part.body[i].cells[1:]]
    assert cells == [cell.text for row in rows.body for cell in row.cells[1:]]
    assert [(bool(part.title), bool(part.notes)) for part, _ in parts] == [
        (part is parts[0][0], part is parts[-1][0]) for part, _ in parts
    ]


def test_columns_that_fit_have_their_natural_width():
    assert (
        plan(one_cell(), 400).column_widths_em
        == natural_and_minimal_column_widths_em(table_rows(one_cell()), 0)[0]
    )


def layout_of(*widths):
    """A layout of columns of some widths in ems, at 10 points per em with 2 points at each side."""
    return PageLayout(
        points=10,
        turned=False,
        n_breaks=1,
        line_width_points=400.0,
        gap_points=2.0,
        points_per_em=10.0,
        column_widths_em=list(widths),
    )


def test_columns_side_by_side_have_the_space_between_them():
    layout = layout_of(3.0, 4.0, 5.0)
    assert layout.width_points(1) == 40.0
    assert layout.width_points(0, 2) == 30.0 + 40.0 + 4.0
    assert layout.width_points(0, 3) == 120.0 + 8.0


def test_a_row_has_the_lines_of_its_highest_cell():
    # ten digits take 5.56 em
    digits = "0" * 10
    layout = layout_of(6.0, 3.0)
    assert layout.n_lines([Cell(digits), Cell("0")]) == 1
    assert layout.n_lines([Cell(digits), Cell(digits)]) == 2
    assert layout.n_lines([Cell(""), Cell("")]) == 1
    # over both columns there is room, and below an estimate stands its interval
    assert layout.n_lines([Cell(digits + "000", n_columns=2)]) == 1
    assert layout.n_lines([Cell("0.5 (0.4, 0.6)"), Cell("0")]) == 2
    assert layout.wraps(Cell("0.5 (0.4, 0.6)"), 0)
    assert not layout.wraps(Cell(digits), 0)
    assert not layout_of(5.56).wraps(Cell(digits), 0)
    assert layout.wraps(Cell(digits), 1)


def test_bold_and_indented_texts_are_wider():
    plain, bold, indented = (
        cell_text_width_em(Cell(**marks), "Edema") for marks in ({}, {"bold": True}, {"indent": True})
    )
    assert plain == text_width_em("Edema")
    assert plain < bold < 1.2 * plain
    assert plain < indented < plain + 2


def test_columns_that_fit_in_no_setting_share_the_line_in_proportion():
    table = Table(("",), [("t",)], [TableColumn("v"), TableColumn("w")], [["0" * 200, "0" * 100]])
    found = page_layout(
        table_rows(great_table(table, "t")), Paper((90.0, 100.0), dict.fromkeys((9, 8, 7), 4.0), 1.0)
    )
    assert (found.points, found.turned) == (7, True)
    room = (100.0 - 3 * 8.0) / found.points_per_em
    assert sum(found.column_widths_em) == pytest.approx(room)
    assert found.column_widths_em[1] == pytest.approx(2 * found.column_widths_em[2])


def test_a_block_that_is_wider_than_a_page_is_cut_between_its_columns():
    columns = [TableColumn(f"v{i}", spanners=("One heading",)) for i in range(6)]
    table = Table(("",), [("t",)], columns, [["0" * 20] * 6])
    rows = table_rows(great_table(table, "t"))
    parts = parts_with_layouts(rows, Paper((200.0, 300.0), dict.fromkeys((9, 8, 7), 4.0), 1.0))
    assert len(parts) > 1
    assert sum(len(part.aligns) - 1 for part, _ in parts) == 6


GAPS = dict.fromkeys((9, 8, 7), 4.0)


def test_two_outer_headings_that_are_wider_than_a_page_are_cut_between_their_columns():
    columns = [TableColumn(f"v{i}", spanners=("AB"[i // 3],)) for i in range(6)]
    rows = table_rows(great_table(Table(("",), [("t",)], columns, [["0" * 20] * 6]), "t"))
    # a column takes 20 digits of 0.556 em at 8 points, and 4 points at each side: 97 points
    parts = parts_with_layouts(rows, Paper((200.0, 250.0), GAPS, 1.0))
    assert [len(part.aligns) - 1 for part, _ in parts] == [2, 2, 2]
    # with room for three columns the cut is between the headings
    parts = parts_with_layouts(rows, Paper((200.0, 340.0), GAPS, 1.0))
    assert [len(part.aligns) - 1 for part, _ in parts] == [3, 3]


def test_a_heading_above_all_columns_is_no_place_for_a_cut():
    columns = [TableColumn(f"v{i}", spanners=("All", "AABBB"[i])) for i in range(5)]
    rows = table_rows(great_table(Table(("",), [("t",)], columns, [["0" * 20] * 5]), "t"))
    parts = parts_with_layouts(rows, Paper((200.0, 340.0), GAPS, 1.0))
    assert [len(part.aligns) - 1 for part, _ in parts] == [2, 3]


def test_a_table_as_wide_as_its_line_fits():
    rows = table_rows(one_cell())
    setting = TypeSetting(9, turned=False, n_breaks=0)
    minimal = natural_and_minimal_column_widths_em(rows, 0).minimal
    widths = Paper((1.0, 1.0), GAPS, 1.2).column_widths_with_gaps_points(minimal, 9)
    assert widths == pytest.approx([width * 9 * 1.2 + 8 for width in minimal])
    assert Paper((sum(widths), 1.0), GAPS, 1.2).fits(rows, setting)
    assert not Paper((sum(widths) - 0.01, 1000.0), GAPS, 1.2).fits(rows, setting)


def test_a_room_a_little_wider_than_needed_leaves_numbers_their_width():
    table = Table(("",), [("t",)], [TableColumn("v"), TableColumn("w")], [["0.5", "words " * 20]])
    rows = table_rows(great_table(table, "t"))
    minimal = natural_and_minimal_column_widths_em(rows, 0).minimal
    paper = Paper((1.0, 1.0), GAPS, 1.0)
    line = sum(paper.column_widths_with_gaps_points(minimal, 9)) + 0.5 * 9
    found = page_layout(rows, Paper((line, line), GAPS, 1.0))
    assert found.column_widths_em == pytest.approx([minimal[0], minimal[1], minimal[2] + 0.5])


def test_a_heading_above_several_columns_widens_each_of_them():
    columns = [TableColumn("v", ("Wide heading",)), TableColumn("w", ("Wide heading",))]
    rows = table_rows(great_table(Table(("",), [("t",)], columns, [["1", "2"]]), "t"))
    natural, minimal = natural_and_minimal_column_widths_em(rows, 0)
    assert sum(natural[1:]) == pytest.approx(text_width_em("Wide heading"))
    # heading "v" is as wide as a digit
    assert minimal[1] == pytest.approx(text_width_em("1"))


def test_headings_that_are_numbers_are_not_wrapped():
    natural, minimal = of_columns(["2 (1, 3)"], ["1"])
    assert natural == minimal == [pytest.approx(text_width_em("2 (1, 3)"))]


def test_a_word_of_twenty_signs_is_not_broken():
    assert word_pieces("abcdefghi_abcdefghij") == ["abcdefghi_abcdefghij"]
    assert word_pieces("abcdefghi_abcdefghijk") == ["abcdefghi_", "abcdefghijk"]
