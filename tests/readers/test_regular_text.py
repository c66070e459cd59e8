"""A regular file is read by pyarrow, and its cells are those that the strict reader gives."""

import codecs
import random
from pathlib import Path

import pytest

from salstats.readers.cells import TableOptions
from salstats.readers.delimited_text import _read_strictly, read_text
from salstats.readers.regular_text import read_regular_text

FILE = Path("scores.csv")
#: What cells are drawn from: text, numbers, blanks, quotation marks, letters beyond ASCII.
PIECES = ("a", "b", "0.5", '"', "é", " ", "日本", "NA", "")


def drawn_file(rng):
    """Draw a small file, one in thirty with a row that is too long."""
    n_columns = rng.randint(1, 4)
    line_end = rng.choice(["\n", "\r\n"])
    lines = [",".join(f"c{i}" for i in range(n_columns))]
    for _ in range(rng.randint(0, 5)):
        n_cells = n_columns if rng.random() < 0.97 else n_columns + 1
        cells = ["".join(rng.choices(PIECES, k=rng.randint(0, 3))) for _ in range(n_cells)]
        lines.append(",".join(quoted(cell, rng) for cell in cells))
    start = rng.choice(["", "", "\ufeff", line_end])
    end = rng.choice(["", line_end, line_end * 2])
    return (start + line_end.join(lines) + end).encode()


def quoted(cell, rng):
    """Quote a cell where it has to be, and sometimes where it need not."""
    if '"' in cell or rng.random() < 0.3:
        return '"' + cell.replace('"', '""') + '"'
    return cell


@pytest.mark.parametrize("n_files", [500, pytest.param(3000, marks=pytest.mark.slow)])
def test_both_readers_give_the_same_cells(n_files):
    rng = random.Random(0)
    n_regular = 0
    for _ in range(n_files):
        data = drawn_file(rng)
        if read_regular_text(data, "utf-8", ",") is None:
            continue
        n_regular += 1
        cells, first_row_number = read_text(FILE, data, TableOptions(), ",")
        expected, expected_row = _read_strictly(FILE, data, TableOptions(), ",")
        assert cells.equals(expected), data
        assert first_row_number == expected_row, data
    assert n_regular > n_files / 3


@pytest.mark.parametrize("n_files", [500, pytest.param(3000, marks=pytest.mark.slow)])
def test_files_of_several_chunks_give_the_same_cells(n_files, monkeypatch):
    monkeypatch.setattr("salstats.readers.regular_text._CHUNK_BYTES", 4)
    test_both_readers_give_the_same_cells(n_files)


@pytest.mark.parametrize("coded_columns", [(), ("a",), ("a", "b")])
@pytest.mark.parametrize(
    ("data", "cells", "first_row_number"),
    [
        (b"a,b\n1,2\n3,4\n", {"a": ["1", "3"], "b": ["2", "4"]}, 2),
        # cells without text, also the first of a line, make no blank line
        (b"a,b\n,2\n3,", {"a": ["", "3"], "b": ["2", ""]}, 2),
        (b'a,b\r\n"",""\r\n', {"a": [""], "b": [""]}, 2),
        # blank lines before and after the rows are no part of the table
        (b"\n\na,b\n1,2\n\n", {"a": ["1"], "b": ["2"]}, 4),
        (codecs.BOM_UTF8 + b'a,b\n"1, 2",3\n', {"a": ["1, 2"], "b": ["3"]}, 2),
    ],
)
def test_a_regular_file_is_read_with_the_number_of_its_first_row(
    data, cells, first_row_number, coded_columns
):
    table, number = read_regular_text(data, "utf-8", ",", coded_columns)
    assert table.to_pydict() == cells
    assert number == first_row_number


def test_a_blank_line_is_found_also_where_the_first_column_is_coded():
    for coded_columns in ((), ("a",)):
        assert read_regular_text(b"a,b\n1,2\n\n3,4\n", "utf-8", ",", coded_columns) is None


IRREGULAR = {
    "line ends alone": b"\n\n",
    "a byte-order mark alone": codecs.BOM_UTF8,
    "a byte-order mark in the second line": b"a,b\n" + codecs.BOM_UTF8 + b"1,2\n",
    "a ragged row": b"a,b\n1,2,3\n",
    "a blank line": b"a,b\n1,2\n\n3,4\n",
    "a return alone": b"a,b\n1,2\r3,4\n",
    "a control character": b"a,b\n1,\x002\n",
    "a C1 control": "a,b\n1,\x85\n".encode(),
    "another encoding": "a,b\n1,é\n".encode("latin-1"),
    "an open quotation mark": b'a,b\n"1,2\n',
    "a quotation mark inside a cell": b'a,b\n1"x",2\n',
    "a cell of two lines": b'a,b\n"1\n2",3\n',
    "one column": b"a\n1\n2\n",
    "a name twice": b"a,a\n1,2\n",
}


@pytest.mark.parametrize("kind", IRREGULAR)
def test_an_irregular_file_is_left_to_the_strict_reader(kind):
    assert read_regular_text(IRREGULAR[kind], "utf-8", ",") is None


@pytest.mark.parametrize(
    ("encoding", "is_regular"),
    [("utf-8", True), ("UTF8", True), ("utf_8", True), ("latin-1", False), ("utf-16", False), ("?", False)],
)
def test_only_a_file_in_utf_8_is_regular_whatever_its_bytes(encoding, is_regular):
    assert (read_regular_text(b"a,b\n1,2\n", encoding, ",") is not None) == is_regular


@pytest.mark.parametrize(
    ("sep", "is_regular"), [(",", True), (";", True), ("\t", True), ("§", False), ("、", False)]
)
def test_only_a_file_with_an_ascii_separator_is_regular(sep, is_regular):
    table = read_regular_text(f"a{sep}b\n1{sep}2\n".encode(), "utf-8", sep)
    assert (table is not None) == is_regular
    if is_regular:
        assert table.cells.to_pydict() == {"a": ["1"], "b": ["2"]}
