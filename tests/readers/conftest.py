"""Small files: writers that return the path, and a study in the CheXlocalize format."""

import pyarrow as pa
import pytest
from chexlocalize_files import write_two_cases
from openpyxl import Workbook
from pyarrow import parquet


@pytest.fixture
def text_file(tmp_path):
    """A function that writes text or bytes to a file."""

    def write(content, name="scores.csv"):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    return write


@pytest.fixture
def workbook_file(tmp_path):
    """A function that writes rows to a sheet, then lets `edit(book, sheet)` change it."""

    def write(rows, edit=None, name="scores.xlsx"):
        book = Workbook()
        sheet = book.active
        for row in rows:
            sheet.append(row)
        if edit is not None:
            edit(book, sheet)
        book.save(tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def parquet_file(tmp_path):
    """A function that writes two observations to Parquet with some columns replaced or added."""

    def write(name="scores.parquet", **columns):
        table = {"case": ["a", "b"], "method": ["g", "g"], "metric": ["iou", "iou"], "score": [0.5, 0.25]}
        parquet.write_table(pa.table({**table, **columns}), tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def folder(tmp_path):
    """A study of two cases; the second has no finding and so is not in the truth."""
    return write_two_cases(tmp_path)
