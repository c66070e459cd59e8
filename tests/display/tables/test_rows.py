"""Tables as text, with marks where a terminal shows them and without a word of them elsewhere."""

from salstats.display.tables.great_table import great_table, record_of
from salstats.display.tables.record import Table, TableColumn
from salstats.display.tables.rows import plain_text, table_to_rows


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
    return plain_text(table_to_rows(record_of(great_table(table, "t"))), **options)


def test_a_terminal_shows_marks_and_other_text_does_not_speak_of_them():
    assert "Bold" not in text()
    assert "\x1b" not in text()
    marked = text(escapes=True).splitlines()
    assert "Bold: best estimate." in marked
    assert marked[1] == "Edema   \x1b[1m0.5\x1b[0m  0.4"
    assert marked[2] == "Nodule  0.3  \x1b[1;4m0.6\x1b[0m"
    # the cells themselves are the same
    assert [line.split() for line in text().splitlines()[:3]] == [
        ["Task", "CAM", "LIME"],
        ["Edema", "0.5", "0.4"],
        ["Nodule", "0.3", "0.6"],
    ]
