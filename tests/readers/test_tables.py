"""Reading files: what they hold arrives as it stands, what is wrong with them is said."""

import datetime
import gzip
import re
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests_support import quick, raises, warns

import salstats as ss
from salstats.errors import ColumnError, InputFileError, Setting, ValueRangeError
from salstats.files.frame_files import write_frame
from salstats.memory_limit import LIMIT
from salstats.readers.tables import read_table

HEADER = "case,task,method,metric,score"
GOOD = f"{HEADER}\n007,Edema,gradcam,iou,0.5\n"
SHEET = [["case", "method", "metric", "score"], ["007", "g", "iou", 0.5], ["008", "g", "iou", 0.25]]


def one_row(frame):
    """The single row of a frame as a dict."""
    assert len(frame) == 1
    return frame.iloc[0].to_dict()


EXPECTED = {"case": "007", "task": "Edema", "method": "gradcam", "metric": "iou", "score": 0.5}


@pytest.mark.parametrize(
    ("content", "options"),
    [
        pytest.param(GOOD, {}, id="plain"),
        pytest.param(GOOD.rstrip("\n"), {}, id="no end of line"),
        pytest.param("\ufeff" + GOOD, {}, id="byte-order mark"),
        pytest.param(GOOD.replace("\n", "\r\n"), {}, id="Windows"),
        pytest.param(GOOD.replace("\n", "\r"), {}, id="old Mac"),
        pytest.param(GOOD + "\n\r\n\n", {}, id="blank lines at the end"),
        pytest.param(GOOD.encode("utf-16"), {"encoding": "utf-16"}, id="utf-16"),
        pytest.param(GOOD.replace(",", ";").replace("0.5", "0,5"), {"sep": ";", "decimal": ","}, id="German"),
        pytest.param(GOOD.replace("0.5", '"0,5"'), {"decimal": ","}, id="quoted decimal comma"),
        pytest.param(
            "\n".join(",".join(f'"{c}"' for c in line.split(",")) for line in GOOD.splitlines()),
            {},
            id="all quoted, as R does",
        ),
        pytest.param(GOOD.replace("0.5", " 0.5 "), {}, id="blanks around a number"),
        pytest.param(GOOD.replace("0.5", "5e-1"), {}, id="exponent"),
    ],
)
def test_a_text_file_reads_the_same_however_it_is_written(text_file, content, options):
    assert one_row(ss.read_scores(text_file(content), **options)) == EXPECTED


@pytest.mark.parametrize("name", ["a.CSV", "a.tsv", "a.txt", "a b ü.csv"])
def test_the_ending_says_the_format_in_any_case(text_file, name):
    content = GOOD.replace(",", "\t") if name.lower().endswith("tsv") else GOOD
    assert one_row(ss.read_scores(text_file(content, name))) == EXPECTED


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_another_encoding_is_read_by_name_and_refused_without(text_file, encoding):
    file = text_file(GOOD.replace("Edema", "Ödem").encode(encoding))
    assert ss.read_scores(file, encoding=encoding)["task"].tolist() == ["Ödem"]
    with raises(InputFileError, option="encoding", value="utf-8", path=file, rows=(0,), match="0xd6"):
        ss.read_scores(file)


def test_quoted_cells_keep_separators_quotes_and_line_breaks(text_file):
    file = text_file(
        f'{HEADER},note\n1,"Edema, mild",g,iou,0.5,"he said ""no""\n\nand left"\n2,b,g,iou,0.25,5" wide\n'
    )
    frame = ss.read_scores(file)
    assert frame["task"].tolist() == ["Edema, mild", "b"]
    assert frame["note"].tolist() == ['he said "no"\n\nand left', '5" wide']


def test_rows_are_counted_from_the_top_of_the_file_below_blank_lines(text_file):
    with raises(ColumnError, option="na", column="score", rows=(1,)):
        ss.read_scores(text_file(f"\n\n{GOOD}8,a,g,iou,x\n"))


OPEN_QUOTE_HINT = 'close it, or write it doubled ("")'
BAD_TEXT = {
    "no bytes": ("", {"hint": "", "rows": ()}),
    "blank lines only": ("\n\r\n \n", {"hint": "", "rows": ()}),
    "header only": (HEADER + "\n", {"hint": "", "rows": ()}),
    "semicolons": (
        GOOD.replace(",", ";"),
        {"option": "sep", "value": ",", "hint": Setting("sep", ";"), "match": "decimal=','"},
    ),
    "tabs": (GOOD.replace(",", "\t"), {"option": "sep", "value": ",", "hint": Setting("sep", "\t")}),
    "quoted semicolons": (
        '"case";"task";"score"\n"1";"a";"0,5"\n',
        {"option": "sep", "value": ",", "hint": Setting("sep", ";"), "match": "decimal=','"},
    ),
    "header twice": (GOOD.replace("task", "case"), {"column": "case", "hint": "rename one of them"}),
    "blank around a name": (
        GOOD.replace("task", "task "),
        {"column": "task ", "hint": "remove it in the header"},
    ),
    # the number of the column
    "no name": (GOOD.replace("task", ""), {"value": 2}),
    "row numbers": (
        GOOD.replace("case", '""'),
        {"value": 1, "hint": "write the file without them (index=False, row.names=FALSE)"},
    ),
    "separator ends each line": (
        GOOD.replace("\n", ",\n"),
        {"value": 6, "hint": "name it, or remove the separator at the end of every line"},
    ),
    "short row": (GOOD + "8,a,g,iou\n", {"rows": (1,), "value": ["8", "a", "g", "iou"]}),
    "long row": (GOOD + "8,a,b,g,iou,0.1\n", {"rows": (1,), "value": ["8", "a", "b", "g", "iou", "0.1"]}),
    "blank line within": (
        f"{GOOD}\n8,a,g,iou,0.1\n",
        {"rows": (1,), "hint": "remove it, or split the file where a second table begins"},
    ),
    "UTF-16": (
        GOOD.encode("utf-16"),
        {"option": "encoding", "value": "utf-8", "hint": Setting("encoding", "utf-16")},
    ),
    # control characters, which the message names
    "UTF-16 unmarked": (
        GOOD.encode("utf-16-le"),
        {"option": "encoding", "rows": (), "match": r"U\+0000\b.*utf-16"},
    ),
    "escape": (GOOD.replace("Ed", "E\x1bd"), {"option": "encoding", "rows": (0,), "match": r"U\+001B\b"}),
    "C1 control": (
        GOOD.replace("Ed", "E\x92d"),
        {"option": "encoding", "rows": (0,), "match": r"U\+0092\b.*cp1252"},
    ),
    "second mark": (f"{GOOD}\ufeff{GOOD}", {"option": "encoding", "rows": (1,), "match": r"U\+FEFF\b"}),
    "open quote": (
        f'{HEADER}\n1,"a,g,iou,0.5\n2,b,g,iou,0.6\n',
        {"rows": (0,), "hint": OPEN_QUOTE_HINT},
    ),
    "open quote before another": (
        f'{HEADER}\n1,"a,g,iou,0.5\n2,"b",g,iou,0.6\n',
        {"rows": (0,), "hint": OPEN_QUOTE_HINT},
    ),
    "text after a quoted cell": (
        GOOD.replace("0.5", '"0.5"7'),
        {"rows": (0,), "hint": OPEN_QUOTE_HINT},
    ),
    "open quote in the header": (f'"{GOOD}', {"rows": (), "hint": OPEN_QUOTE_HINT}),
    "zip named csv": (b"PK\x03\x04rest", {"value": ".csv", "hint": "name it .xlsx if it is one"}),
    "Parquet named csv": (b"PAR1rest", {"value": ".csv", "hint": "name it .parquet"}),
    "gzip named csv": (gzip.compress(b"case"), {"value": ".csv", "hint": "unpack it"}),
}


@pytest.mark.parametrize("kind", BAD_TEXT)
def test_a_bad_text_file_is_refused_by_name_and_place(text_file, kind):
    content, fields = BAD_TEXT[kind]
    file = text_file(content)
    with raises(InputFileError, path=file, **fields) as error:
        read_table(file)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("sep", ";;", InputFileError),
        ("sep", '"', InputFileError),
        ("decimal", "x", ValueRangeError),
        ("encoding", "utf-9", InputFileError),
        ("encoding", "hex", InputFileError),
    ],
)
def test_an_option_that_cannot_be_is_refused(text_file, option, value, error):
    with raises(error, option=option, value=value):
        ss.read_scores(text_file(GOOD), **{option: value})


def test_both_separator_and_decimal_mark_a_comma_is_named(text_file):
    with raises(InputFileError, option="sep", rows=(0,)):
        ss.read_scores(text_file(GOOD.replace("0.5", "0,5")), decimal=",")


@pytest.mark.parametrize("name", ["nothing.csv", "nothing.parquet", "no/folder.xlsx"])
def test_a_missing_file_is_named(tmp_path, name):
    with raises(InputFileError, path=tmp_path / name):
        read_table(tmp_path / name)


def test_a_folder_and_an_unknown_ending_are_refused(tmp_path, text_file):
    with raises(InputFileError, path=tmp_path, hint="give a file"):
        read_table(tmp_path)
    for name in ("scores.dat", "scores"):
        file = text_file(GOOD, name)
        with raises(InputFileError, path=file, hint="name it .csv, .tsv, .txt, .parquet, .xlsx"):
            read_table(file)


def test_floats_survive_text_to_the_last_bit(text_file):
    values = np.random.default_rng(0).random(2000) * 10.0 ** np.arange(-10, 10).repeat(100)
    lines = "\n".join(f"{i},a,g,my score,{float(v)!r}" for i, v in enumerate(values))
    frame = ss.read_scores(text_file(f"{HEADER}\n{lines}\n"))
    assert np.array_equal(frame["score"].to_numpy(), values)


# XLSX


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
        {"rows": (1,), "column": "score", "value": "0,25", "hint": Setting("decimal", ",")},
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


# what is too large or damaged


def test_a_row_number_no_sheet_has_does_not_hang(tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT, "0.05")
    frame = pd.DataFrame({"case": ["a", "b"], "method": "g", "metric": "iou", "score": [0.1, 0.2]})
    frame.to_excel(tmp_path / "good.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "good.xlsx") as good, zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as bad:
        for name in good.namelist():
            content = good.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b'<row r="3"', b'<row r="9223372036854775807"')
            bad.writestr(name, content)
    with raises(InputFileError, option=LIMIT, path=tmp_path / "bad.xlsx"):
        ss.read_scores(tmp_path / "bad.xlsx")


@pytest.mark.parametrize("column", ["patient", "case"])
def test_a_long_number_among_names_of_a_workbook_is_refused_with_its_row(workbook_file, column):
    rows = [["case", "patient", "method", "metric", "score"]]
    rows += [[f"c{i}", f"P{i}", "g", "iou", 0.5] for i in range(3)]
    rows[2][rows[0].index(column)] = 20210000000000001
    with raises(ColumnError, column=column, rows=(1,)):
        ss.read_scores(workbook_file(rows))


def test_a_column_of_numbers_stays_one_beside_a_long_one(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("case,a,b\nx,123456789012345678901234,1234567890123456\ny,1.5,2\n")
    frame = ss.read_data(file)
    assert frame["a"].tolist() == [123456789012345678901234.0, 1.5]
    assert frame["b"].tolist() == [1234567890123456, 2]


def test_dates_of_a_written_workbook_read_back_as_from_csv(tmp_path):
    frame = pd.DataFrame({"case": ["a", "b"], "day": pd.to_datetime(["2020-01-01", "2021-06-05"])})
    read = []
    for suffix in (".csv", ".xlsx"):
        write_frame(frame, tmp_path / f"table{suffix}")
        read.append(ss.read_data(tmp_path / f"table{suffix}")["day"].tolist())
    assert read == [["2020-01-01", "2021-06-05"]] * 2


def test_utf_32_is_read_when_asked_for(tmp_path):
    file = tmp_path / "scores.csv"
    file.write_bytes(GOOD.encode("utf-32"))
    assert one_row(ss.read_scores(file, encoding="utf-32")) == EXPECTED


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_a_cell_of_blanks_is_an_empty_cell(tmp_path, suffix):
    file = tmp_path / f"table{suffix}"
    rows = {"case": ["a", "b"], "method": "g", "metric": "iou", "score": ["0.5", " "]}
    optional = {"reader": ["r", "  "], "site": ["x", " "], "size": ["1", " "]}
    frame = pd.DataFrame(rows | optional)
    write = {".csv": frame.to_csv, ".xlsx": frame.to_excel, ".parquet": frame.to_parquet}[suffix]
    write(file, index=False)
    scores = ss.read_scores(file)
    assert scores.loc[1, ["score", *optional]].isna().all()
    assert scores.loc[0, ["score", *optional]].tolist() == [0.5, "r", "x", 1.0]
    frame.assign(case=["a", " "]).pipe(lambda f: f.to_csv(tmp_path / "case.csv", index=False))
    with raises(ColumnError, column="case", rows=(1,), hint="every row needs one"):
        ss.read_scores(tmp_path / "case.csv")


def test_a_method_of_blanks_is_refused(text_file):
    with raises(ColumnError, option="method", value=" "):
        ss.read_scores(text_file("case,metric,score\na,iou,0.5\n"), method=" ")


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_a_covariate_too_large_for_a_float_is_text(text_file, workbook_file, number):
    text = text_file(f"case,size\na,{number}\nb,2.5\n")
    book = workbook_file([["case", "size"], ["a", number], ["b", 2.5]])
    for file in (text, book):
        with warns(column="size", rows=(0,), path=file):
            assert ss.read_data(file)["size"].tolist() == [number, "2.5"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["02139", "10115"], ["02139", "10115"]),
        (["9007199254740993", "2"], ["9007199254740993", "2"]),
        (["0.5", "0"], [0.5, 0.0]),
        (["12", "0"], [12.0, 0.0]),
    ],
)
def test_digits_with_a_leading_zero_or_beyond_a_float_are_names(text_file, cells, expected):
    file = text_file(f"case,code\na,{cells[0]}\nb,{cells[1]}\n")
    assert ss.read_data(file)["code"].tolist() == expected


@pytest.mark.parametrize("number", ["9007199254740993", "-9007199254740993"])
def test_a_covariate_that_loses_digits_beside_a_fraction_is_named(text_file, parquet_file, number):
    text = text_file(f"case,size\na,2.5\nb,{number}\n")
    table = parquet_file(size=pa.array(["2.5", number]))
    for file in (text, table):
        # the number as it is read
        with warns(column="size", rows=(1,), path=file, value=float(number)):
            assert ss.read_data(file)["size"].tolist() == [2.5, float(number)]


@pytest.mark.filterwarnings("error")
def test_a_covariate_that_a_float_holds_is_a_number_without_a_word(text_file):
    file = text_file("case,size\na,2.5\nb,9007199254740992\nc,7.221648081421175e+17\nd,-inf\n")
    sizes = ss.read_data(file)["size"]
    assert sizes.tolist() == [2.5, 9007199254740992, 7.221648081421175e17, -np.inf]


def test_one_of_many_names_is_refused_where_it_first_stands(text_file):
    rows = "\n".join(f"{case},m,iou,0.5" for case in ("z", "y\u200b", "a", "b\u200b"))
    with raises(ColumnError, column="case", rows=(1,)):
        ss.read_scores(text_file(f"case,method,metric,score\n{rows}\n"))


def test_a_whole_number_of_a_workbook_that_no_float_holds_is_named_with_its_cell(tmp_path):
    file = write_frame(pd.DataFrame({"case": ["a"], "n": [7]}), tmp_path / "a.xlsx")
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content.replace(b"<v>7</v>", b"<v>%s</v>" % (b"9" * 400)))
    with raises(InputFileError, path=file, value="B2"):
        read_table(file)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx"])
def test_a_table_file_beyond_the_limit_is_not_read_into_memory(tmp_path, monkeypatch, suffix):
    file = tmp_path / f"scores{suffix}"
    with file.open("wb") as stream:
        stream.truncate(2**40)
    monkeypatch.setenv(LIMIT, "0.5")
    with quick(5), raises(InputFileError, option=LIMIT, value=2**40):
        read_table(file)
