"""Tables as text, with marks where a terminal shows them and without a word of them elsewhere."""

from salstats.display.tables.great_table import current_record_of, great_table
from salstats.display.tables.record import Table, TableColumn
from salstats.display.tables.rows import (
    cells_by_column,
    part_with_stub_and_columns,
    plain_text,
    table_to_rows,
)


def text(**options):
    table = Table(
        ("Task",),
        [("Edema",), ("Nodule",)],
        [TableColumn("CAM"), TableColumn("LIME")],
        [["0.5", "0.4"], ["0.3", "0.6"]],
        bold={(0, 0), (1, 1)},
        underline={(1, 1)},
        notes=("Mean scores.",),
        mark_note="Bold: best estimate.",
    )
    return plain_text(table_to_rows(current_record_of(great_table(table, "t"))), **options)


def test_a_terminal_shows_marks_and_other_text_does_not_speak_of_them():
    assert "Bold" not in text()
    assert "\x1b" not in text()
    marked = text(with_terminal_styles=True).splitlines()
    assert "Bold: best estimate." in marked
    assert marked[1] == "Edema   \x1b[1m0.5\x1b[0m  0.4"
    assert marked[2] == "Nodule  0.3  \x1b[1;4m0.6\x1b[0m"
    # the cells themselves are the same
    assert [line.split() for line in text().splitlines()[:3]] == [
        ["Task", "CAM", "LIME"],
        ["Edema", "0.5", "0.4"],
        ["Nodule", "0.3", "0.6"],
    ]


def grouped_table():
    """A table with two labels a row, groups of rows and headings that columns share."""
    return Table(
        ("Task", "Reader"),
        [("Edema", "ann"), ("Edema", "bob"), ("Nodule", "ann"), ("Nodule", "bob")],
        [
            TableColumn("n", spanners=("IoU",)),
            TableColumn("Mean", spanners=("IoU",)),
            TableColumn("Mean", spanners=("Dice",)),
            TableColumn("P"),
        ],
        [
            ["10", "0.5", "0.6", "1"],
            ["20", "0.4", "0.5", "2"],
            ["30", "0.3", "0.4", "3"],
            ["5", "0.2", "0.1", "4"],
        ],
        groups=["CAM", "CAM", "LIME", "LIME"],
        notes=("A note with several words.",),
        title="A title",
    )  # fmt: skip


def shapes(cells):
    """Text and number of columns of the cells of a row."""
    return [(cell.text, cell.n_columns) for cell in cells]


def test_neighbours_share_headings_and_equal_labels_become_one():
    rows = table_to_rows(grouped_table())
    assert rows.n_stub == 2
    assert shapes(rows.head[0]) == [("", 1), ("", 1), ("IoU", 2), ("Dice", 1), ("", 1)]
    assert rows.head[0][2].align == "center"
    assert shapes(rows.head[1]) == [(text, 1) for text in ("Task", "Reader", "n", "Mean", "Mean", "P")]
    assert [row.is_group_label for row in rows.body] == [True, False, False, True, False, False]
    assert shapes(rows.body[0].cells) == [("CAM", 6)]
    assert [row.cells[0].n_rows for row in rows.body] == [1, 2, 0, 1, 2, 0]
    # the last label of a row stays its own
    assert [row.cells[1].n_rows for row in rows.body if not row.is_group_label] == [1] * 4


def test_sides_are_those_of_columns_and_counts_stand_at_the_right():
    assert table_to_rows(grouped_table()).aligns == ("left",) * 6
    columns = [TableColumn("x", align="right"), TableColumn("y", align="left"), TableColumn("z")]
    rows = table_to_rows(Table(("Cases",), [("10",)], columns, [["1", "2", "3"]]))
    assert rows.aligns == ("right", "right", "left", "left")
    assert [cell.align for cell in rows.body[0].cells] == list(rows.aligns)


def test_labels_and_headings_are_headings_and_cells_are_not():
    rows = table_to_rows(grouped_table())
    assert [cell.is_heading for cell in rows.head[0]] == [False, False, True, True, False]
    assert all(cell.is_heading for cell in rows.head[1])
    assert [cell.is_heading for cell in rows.body[1].cells] == [True, True, False, False, False, False]
    assert rows.body[0].cells[0].is_heading


def test_a_single_row_keeps_its_labels_and_an_outer_heading_spans_inner_ones():
    columns = [TableColumn("a", ("all", "x")), TableColumn("b", ("all", "y"))]
    rows = table_to_rows(Table(("A", "B", "C"), [("p", "q", "r")], columns, [["1", "2"]]))
    assert [cell.n_rows for cell in rows.body[0].cells] == [1] * 5
    assert shapes(rows.head[0])[3:] == [("all", 2)]
    assert shapes(rows.head[1])[3:] == [("x", 1), ("y", 1)]


def test_texts_stand_on_one_line_without_signs_that_no_file_holds():
    rows = table_to_rows(Table(("A",), [("a\n  b ",)], [TableColumn("x")], [["1\x00"]], title=" T\t1 "))
    assert (rows.title, rows.subtitle) == ("T 1", "")
    assert [cell.text for cell in rows.body[0].cells] == ["a b", "1\ufffd"]


def test_some_columns_keep_the_labels_and_their_share_of_common_headings():
    rows = table_to_rows(grouped_table())
    part = part_with_stub_and_columns(rows, 3, 5)
    assert shapes(part.head[0]) == [("", 1), ("", 1), ("IoU", 1), ("Dice", 1)]
    assert [text for text, _ in shapes(part.head[1])] == ["Task", "Reader", "Mean", "Mean"]
    assert shapes(part.body[0].cells) == [("CAM", 4)]
    assert [cell.text for cell in part.body[1].cells] == ["Edema", "ann", "0.5", "0.6"]
    assert (part.title, part.notes, len(part.aligns)) == ("", (), 4)
    assert [column for column, _ in cells_by_column(rows.head[0])] == [0, 1, 2, 4, 5]


def test_text_has_numbers_below_each_other_and_notes_of_a_width():
    lines = plain_text(table_to_rows(grouped_table()), 12).splitlines()
    assert lines[0] == "A title"
    assert lines[1].split() == ["IoU", "Dice"]
    ends = [line.rstrip().rfind(number) for line, number in zip(lines[4:6], ("1", "2"), strict=True)]
    assert ends[0] == ends[1]
    assert lines[-3:] == ["A note with", "several", "words."]
    assert plain_text(table_to_rows(grouped_table())).splitlines()[-1] == "A note with several words."


def test_labels_that_are_set_in_and_numbers_of_other_lengths_are_padded():
    table = Table(
        ("Task",),
        [("Edema",), ("left",)],
        [TableColumn("n", align="right")],
        [["10"], ["5"]],
        indented_rows={1},
    )
    lines = plain_text(table_to_rows(table)).splitlines()
    assert lines[1].startswith("Edema")
    assert lines[2].startswith("  left")
    assert lines[1].index("10") + 1 == lines[2].index("5")
