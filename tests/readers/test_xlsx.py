"""Workbooks: what unpacks to more than the file promises is refused."""

import zipfile

import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import InputFileError
from salstats.memory_limit import LIMIT
from salstats.readers.xlsx import sheet_names

ROWS = [["case", "size"], ["a", 1.0], ["b", 2.0]]
LONG = 4_000_000
STRINGS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def changed(source, target, changes):
    """Copy a workbook with some of its parts made anew, or added."""
    with zipfile.ZipFile(source) as good, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bad:
        for name in good.namelist():
            change = changes.get(name, lambda content: content)
            bad.writestr(name, change(good.read(name)))
        for name in changes.keys() - set(good.namelist()):
            bad.writestr(name, changes[name](b""))


def repeated_text(_):
    """Rows that all refer to the first shared text."""
    cells = "".join(f'<row r="{i}"><c r="A{i}" t="s"><v>0</v></c></row>' for i in range(2, 5000))
    header = '<row r="1"><c r="A1" t="inlineStr"><is><t>note</t></is></c></row>'
    return f'<worksheet xmlns="{STRINGS}"><sheetData>{header}{cells}</sheetData></worksheet>'.encode()


def one_long_text(_):
    """Shared texts of which there is one."""
    return f'<sst xmlns="{STRINGS}"><si><t>{"x" * 100_000}</t></si></sst>'.encode()


def listed_texts(content):
    """Types of a workbook's parts, of which the shared texts are one."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    return content.replace(b"</Types>", part.encode())


def merged(content):
    """A sheet with an empty cell and a merged range of three hundred million cells."""
    ranges = b'<mergeCells count="1"><mergeCell ref="A1:XFD20000"/></mergeCells>'
    return content.replace(b"<v>2</v>", b"").replace(b"</sheetData>", b"</sheetData>" + ranges)


BOMBS = {
    # the smallest number of bytes that the content would take
    "a range of merged cells": ({"xl/worksheets/sheet1.xml": merged}, 300_000_000),
    "a sheet of another ending": ({"xl/worksheets/bomb.bin": lambda _: bytes(LONG)}, LONG),
    "blanks among relations": (
        {"xl/_rels/workbook.xml.rels": lambda content: content.replace(b"><", b">" + b" " * LONG + b"<", 1)},
        LONG,
    ),
    "a picture that packs": ({"xl/media/image1.png": lambda _: bytes(LONG)}, LONG),
    "one text in all cells": (
        {
            "xl/worksheets/sheet1.xml": repeated_text,
            "xl/sharedStrings.xml": one_long_text,
            "[Content_Types].xml": listed_texts,
        },
        32 * 2**20,
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_workbook_that_becomes_much_more_is_refused(workbook_file, tmp_path, monkeypatch, kind):
    changes, least_bytes = BOMBS[kind]
    good = workbook_file(ROWS)
    changed(good, tmp_path / "bad.xlsx", changes)
    assert (tmp_path / "bad.xlsx").stat().st_size < 50_000
    monkeypatch.setenv(LIMIT, str(32 * 2**20 / 2**30))
    assert len(ss.read_data(good.rename(tmp_path / "good.xlsx"))) == 2
    with raises(InputFileError, option=LIMIT, path=tmp_path / "bad.xlsx") as caught:
        ss.read_data(tmp_path / "bad.xlsx")
    assert caught.value.value > least_bytes


def test_sheets_are_not_listed_of_a_workbook_that_unpacks_to_more(workbook_file, tmp_path, monkeypatch):
    good = workbook_file(ROWS)
    changed(good, tmp_path / "bad.xlsx", {"xl/workbook.xml": lambda content: content + b" " * LONG})
    monkeypatch.setenv(LIMIT, str(32 * 2**20 / 2**30))
    with raises(InputFileError, option="SALSTATS_LIMIT_GB") as caught:
        sheet_names(tmp_path / "bad.xlsx")
    assert caught.value.value > LONG
