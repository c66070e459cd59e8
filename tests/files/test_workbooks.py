"""Workbooks of one sheet, read back by openpyxl."""

import datetime as dt
import io
import time
import zipfile

import numpy as np
import pandas as pd
import pytest
from openpyxl import load_workbook
from tests_support import raises

from salstats.errors import SalstatsError
from salstats.files.workbooks import workbook

#: A value of every kind, and what a reader gets of it where that is another.
VALUES = [
    "=1+1", " blank ", "<&>\"'", "two\nlines\r\tand a tab", "\u00e4\U0001f600", "",
    0, -3, 2**53 - 1, 0.1 + 0.2, 5e-324, -1.7976931348623157e308, True, False,
    np.float32(0.1), np.int64(7), np.bool_(True),
]  # fmt: skip
READ_AS = {
    2**53: str(2**53), 2**60: str(2**60), np.inf: "inf",
    pd.Timestamp(2020, 1, 2, 3): "2020-01-02T03:00:00", pd.Timestamp(2020, 1, 2): "2020-01-02",
    pd.Timestamp(2020, 1, 3, tz="UTC"): "2020-01-03T00:00:00+00:00",
    dt.date(2020, 1, 4): "2020-01-04", dt.time(3, 30): "03:30:00", dt.timedelta(days=1): "1 day, 0:00:00",
}  # fmt: skip


def cells(content):
    """The values of a workbook's sheet, row by row."""
    return [list(row) for row in load_workbook(io.BytesIO(content))["Sheet1"].values]


def test_every_value_is_read_as_what_it_was():
    values = [*VALUES, *READ_AS]
    found = cells(workbook([["name", "value"], *(("x", value) for value in values)]))[1:]
    for value, (_, read) in zip(values, found, strict=True):
        expected = READ_AS.get(value, value)
        assert read == expected, value
        assert isinstance(read, str) == isinstance(expected, str)


def test_a_cell_without_a_value_is_empty_and_its_neighbours_stay_where_they_are():
    wide = [None, *range(800)]
    assert cells(workbook([["c"] * 801, wide]))[1] == wide


def test_the_same_rows_are_the_same_bytes_at_any_time(monkeypatch):
    before = workbook([("a", 1.5)])
    for name in ("time", "localtime", "gmtime"):
        now = getattr(time, name)(1e9) if name != "time" else 1e9
        monkeypatch.setattr(time, name, lambda *given, now=now: now)
    assert workbook([("a", 1.5)]) == before
    with zipfile.ZipFile(io.BytesIO(before)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert not [name for name in archive.namelist() if "docProps" in name]


@pytest.mark.parametrize("value", ["a\x01", "\ud800", "x" * 32_768, {"b"}, b"bytes", 1j])
def test_a_value_that_no_cell_holds_is_named(value):
    with raises(SalstatsError, value=value):
        workbook([("name",), (value,)])


def test_the_limits_of_a_sheet_are_those_of_excel():
    # 1,048,576 rows and 32,767 characters a cell, says Microsoft's page of specifications and limits
    assert cells(workbook([("x" * 32_767,)])) == [["x" * 32_767]]
    assert workbook([()] * 1_048_576)
    with raises(SalstatsError, value=1_048_576):
        workbook([()] * 1_048_577)
