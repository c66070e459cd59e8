"""Workbooks: what unpacks to more than the file promises is refused."""

import datetime
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from openpyxl import Workbook
from openpyxl.chart import BarChart
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, InputFileError
from salstats.files.frame_files import write_frame
from salstats.memory_limit import BYTES_PER_SHEET_CELL, LIMIT_VARIABLE
from salstats.readers.tables import read_table
from salstats.readers.xlsx import sheet_names

HEADER = "case,task,method,metric,score"
GOOD = f"{HEADER}\n007,Edema,gradcam,iou,0.5\n"
SHEET = [["case", "method", "metric", "score"], ["007", "g", "iou", 0.5], ["008", "g", "iou", 0.25]]

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
    monkeypatch.setenv(LIMIT_VARIABLE, str(32 * 2**20 / 2**30))
    assert len(ss.read_data(good.rename(tmp_path / "good.xlsx"))) == 2
    with raises(InputFileError, option=LIMIT_VARIABLE, path=tmp_path / "bad.xlsx") as caught:
        ss.read_data(tmp_path / "bad.xlsx")
    assert caught.value.value > least_bytes


@pytest.mark.parametrize(
    ("ranges", "n_cells"),
    [
        # 16,384 columns
        (["A1:XFD20000"], 16_384 * 20_000),
        (["B2:B90001"], 90_000),
        (["B2:D90001", "F7:F7", "A90010:C90011"], 3 * 90_000 + 1 + 3 * 2),
    ],
)
def test_every_cell_of_merged_ranges_counts(workbook_file, tmp_path, monkeypatch, ranges, n_cells):
    def merge(content):
        cells = "".join(f'<mergeCell ref="{cells}"/>' for cells in ranges)
        return content.replace(b"</sheetData>", f"</sheetData><mergeCells>{cells}</mergeCells>".encode())

    changed(workbook_file(ROWS), tmp_path / "merged.xlsx", {"xl/worksheets/sheet1.xml": merge})
    monkeypatch.setenv(LIMIT_VARIABLE, str(32 * 2**20 / 2**30))
    with raises(InputFileError, option=LIMIT_VARIABLE, value=n_cells * BYTES_PER_SHEET_CELL):
        ss.read_data(tmp_path / "merged.xlsx")


def test_sheets_are_not_listed_of_a_workbook_that_unpacks_to_more(workbook_file, tmp_path, monkeypatch):
    good = workbook_file(ROWS)
    changed(good, tmp_path / "bad.xlsx", {"xl/workbook.xml": lambda content: content + b" " * LONG})
    monkeypatch.setenv(LIMIT_VARIABLE, str(32 * 2**20 / 2**30))
    with raises(InputFileError, option="SALSTATS_LIMIT_GB") as caught:
        sheet_names(tmp_path / "bad.xlsx")
    assert caught.value.value > LONG


def set_cell(place, value, number_format=None):
    """An edit that sets one cell."""

    def edit(book, sheet):
        sheet[place] = value
        if number_format:
            sheet[place].number_format = number_format

    return edit


def test_a_workbook_reads_text_as_text_and_numbers_as_numbers(workbook_file):
    frame = ss.read_scores(
        workbook_file([*SHEET, [9, "g", "iou", None], [10, "g", "iou", "0.75"], [None] * 4])
    )
    assert frame["case"].tolist() == ["007", "008", "9", "10"]
    assert np.array_equal(frame["score"], [0.5, 0.25, np.nan, 0.75], equal_nan=True)


def test_a_number_of_a_workbook_is_one_whatever_the_decimal_mark_of_text(workbook_file):
    file = workbook_file([*SHEET, ["9", "g", "iou", "0,75"]])
    assert ss.read_scores(file, decimal=",")["score"].tolist() == [0.5, 0.25, 0.75]


def add_hidden_sheet(book, sheet):
    """An edit that adds a sheet nobody sees."""
    book.create_sheet("h").sheet_state = "hidden"


FORMULA_HINT = "open and save the file in a spreadsheet program, or store values"


BAD_WORKBOOKS = {
    # cells as a spreadsheet calls them
    "formula": (SHEET, set_cell("D3", "=1/4"), {"value": "D3", "hint": FORMULA_HINT, "match": "=1/4"}),
    "error": (
        SHEET,
        set_cell("D3", "#DIV/0!"),
        {"value": "D3", "hint": "mend it or empty the cell", "match": "#DIV/0!"},
    ),
    "#N/A as id": (SHEET, set_cell("A3", "#N/A"), {"rows": (1,), "column": "case", "value": None}),
    "date as id": (
        SHEET,
        set_cell("A3", datetime.date(2020, 1, 2)),
        {"rows": (1,), "column": "case", "value": "2020-01-02 00:00:00"},
    ),
    "merged ids": (
        SHEET,
        lambda b, s: s.merge_cells("A2:A3"),
        {"value": "A2:A3", "hint": "unmerge them and fill each"},
    ),
    "title above": ([["Table 1"], *SHEET], None, {"value": "B2", "hint": ""}),
    "empty above": ([[None], *SHEET], None, {"hint": "it must hold the column names"}),
    "empty row": ([*SHEET[:2], [None], SHEET[2]], None, {"rows": (1,), "column": None, "hint": ""}),
    "extra cell": ([*SHEET, ["9", "g", "iou", 0.1, "x"]], None, {"value": "E4", "hint": ""}),
    "hidden sheet": (SHEET, add_hidden_sheet, {"option": "sheet", "choices": ("Sheet", "h")}),
    "nothing": ([], None, {"hint": "it must hold the column names"}),
    "decimal comma": (
        SHEET,
        set_cell("D3", "0,25"),
        {"rows": (1,), "column": "score", "value": "0,25", "option": None},
    ),
}


@pytest.mark.parametrize("kind", BAD_WORKBOOKS)
def test_a_bad_workbook_is_refused_by_name_and_cell(workbook_file, kind):
    rows, edit, fields = BAD_WORKBOOKS[kind]
    file = workbook_file(rows, edit)
    error_class = ColumnError if fields.get("column") else InputFileError
    with raises(error_class, path=file, **fields) as error:
        ss.read_scores(file)
    assert str(file) in str(error.value)


def test_an_na_cell_is_a_missing_score(workbook_file):
    frame = ss.read_scores(workbook_file(SHEET, set_cell("D3", "#N/A")))
    assert frame["score"].isna().tolist() == [False, True]


def test_one_of_several_sheets_is_read_by_name(workbook_file):
    file = workbook_file(SHEET, lambda book, sheet: book.create_sheet("other"))
    assert len(ss.read_scores(file, sheet="Sheet")) == 2
    with raises(InputFileError, option="sheet", value="x", choices=("Sheet", "other"), path=file):
        ss.read_scores(file, sheet="x")


def test_a_wrong_extent_in_a_sheet_does_not_cut_it(workbook_file, tmp_path):
    source, lying = workbook_file(SHEET), tmp_path / "lying.xlsx"
    with zipfile.ZipFile(source) as good, zipfile.ZipFile(lying, "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            changed = re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1"', content)
            assert (changed != content) == name.endswith("sheet1.xml")
            bad.writestr(name, changed)
    pd.testing.assert_frame_equal(ss.read_scores(lying), ss.read_scores(source))


def test_other_files_named_xlsx_are_refused(text_file, workbook_file):
    whole = workbook_file(SHEET).read_bytes()
    for content, ending, hint in (
        (GOOD.encode(), None, "a text file must be named .csv"),
        # an old workbook, or one with a password
        (b"\xd0\xcf\x11\xe0 old", ".xlsx", "save it as .xlsx without"),
        (whole[: len(whole) // 2], None, "a text file must be named .csv"),
    ):
        file = text_file(content, "other.xlsx")
        with raises(InputFileError, path=file, value=ending, hint=hint):
            read_table(file)
    file = text_file(whole, "book.csv")
    with raises(InputFileError, path=file, value=".csv", hint="name it .xlsx if it is one"):
        read_table(file)


def test_a_row_number_no_sheet_has_does_not_hang(tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "0.05")
    frame = pd.DataFrame({"case": ["a", "b"], "method": "g", "metric": "iou", "score": [0.1, 0.2]})
    frame.to_excel(tmp_path / "good.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "good.xlsx") as good, zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b'<row r="3"', b'<row r="9223372036854775807"')
            bad.writestr(name, content)
    with raises(InputFileError, option=LIMIT_VARIABLE, path=tmp_path / "bad.xlsx"):
        ss.read_scores(tmp_path / "bad.xlsx")


@pytest.mark.parametrize("column", ["patient", "case"])
def test_a_long_number_among_names_of_a_workbook_is_refused_with_its_row(workbook_file, column):
    rows = [["case", "patient", "method", "metric", "score"]]
    rows += [[f"c{i}", f"P{i}", "g", "iou", 0.5] for i in range(3)]
    rows[2][rows[0].index(column)] = 20210000000000001
    with raises(ColumnError, column=column, rows=(1,)):
        ss.read_scores(workbook_file(rows))


def test_dates_of_a_written_workbook_read_back_as_from_csv(tmp_path):
    frame = pd.DataFrame({"case": ["a", "b"], "day": pd.to_datetime(["2020-01-01", "2021-06-05"])})
    read = []
    for suffix in (".csv", ".xlsx"):
        write_frame(frame, tmp_path / f"table{suffix}")
        read.append(ss.read_data(tmp_path / f"table{suffix}")["day"].tolist())
    assert read == [["2020-01-01", "2021-06-05"]] * 2


def test_a_whole_number_of_a_workbook_that_no_float_holds_is_named_with_its_cell(tmp_path):
    file = write_frame(pd.DataFrame({"case": ["a"], "n": [7]}), tmp_path / "a.xlsx")
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content.replace(b"<v>7</v>", b"<v>%s</v>" % (b"9" * 400)))
    with raises(InputFileError, path=file, value="B2"):
        read_table(file)


def test_sheets_are_listed_in_their_order_without_charts(tmp_path):
    book = Workbook()
    book.active.title = "scores"
    book.create_chartsheet("figure", 0).add_chart(BarChart())
    book.create_sheet("a b ü")
    book.save(tmp_path / "book.xlsx")
    assert sheet_names(tmp_path / "book.xlsx") == ["scores", "a b ü"]


def test_sheets_of_a_file_that_is_no_workbook_are_an_error(tmp_path):
    (tmp_path / "book.xlsx").write_bytes(b"PK")
    with raises(InputFileError, path=tmp_path / "book.xlsx"):
        sheet_names(tmp_path / "book.xlsx")
