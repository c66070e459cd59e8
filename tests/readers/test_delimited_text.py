"""Text files: cells of any length are read, and files that would fill the memory are not."""

import csv

import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import InputFileError
from salstats.memory_limit import CELL, LIMIT

LONG = "x" * 200_000


@pytest.mark.parametrize(
    "content",
    [f"case,note\na,{LONG}\n", f'case,note\na,"{LONG}"\n', f"case,note\n\ra,{LONG}\n".replace("\n\r", "\r")],
    ids=["plain", "quoted", "lines end in a return"],
)
def test_a_long_cell_is_read(text_file, content):
    before = csv.field_size_limit()
    assert ss.read_data(text_file(content))["note"].tolist() == [LONG]
    assert csv.field_size_limit() == before


def test_a_long_name_of_a_column_is_read(text_file):
    assert ss.read_data(text_file(f"case,{LONG}\na,1\n")).columns.tolist() == ["case", LONG]


@pytest.mark.parametrize("line_end", ["\n", "\r"], ids=["regular", "irregular"])
def test_a_file_of_many_cells_is_held_to_the_limit(text_file, monkeypatch, line_end):
    file = text_file("case,note" + line_end + ("a," + line_end) * 30_000)
    assert len(ss.read_data(file)) == 30_000
    monkeypatch.setenv(LIMIT, str(2**20 / 2**30))
    # two cells in each line
    with raises(InputFileError, option=LIMIT, value=file.stat().st_size + 60_002 * CELL):
        ss.read_data(file)
