"""Text files: cells of any length are read, and files that would fill the memory are not."""

import csv
import gzip

import numpy as np
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, InputFileError, Setting, ValueRangeError
from salstats.memory_limit import BYTES_PER_CELL, LIMIT_VARIABLE
from salstats.readers.tables import read_table

HEADER = "case,task,method,metric,score"
GOOD = f"{HEADER}\n007,Edema,gradcam,iou,0.5\n"
EXPECTED = {"case": "007", "task": "Edema", "method": "gradcam", "metric": "iou", "score": 0.5}

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
    monkeypatch.setenv(LIMIT_VARIABLE, str(2**20 / 2**30))
    # two cells in each line
    with raises(InputFileError, option=LIMIT_VARIABLE, value=file.stat().st_size + 60_002 * BYTES_PER_CELL):
        ss.read_data(file)


def one_row(frame):
    """The single row of a frame as a dict."""
    assert len(frame) == 1
    return frame.iloc[0].to_dict()


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


@pytest.mark.parametrize("line_end", ["\n", "\r"], ids=["regular", "irregular"])
def test_rows_have_the_numbers_of_their_lines(text_file, line_end):
    table = read_table(text_file(f"\n\n{GOOD}8,a,g,iou,1\n".replace("\n", line_end)))
    assert table.row_numbers.tolist() == [4, 5]


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
        {"value": 1, "hint": "name it, or write the file without them (index=False, row.names=FALSE)"},
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
    # U+2028 separates lines in some programs, but not the rows of a table
    "C0 control below a line separator": (
        GOOD.replace("Ed", "E\u2028d") + "8,\x01,g,iou,0.1\n",
        {"option": "encoding", "rows": (1,), "match": r"line 3: .*U\+0001\b"},
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


def test_floats_survive_text_to_the_last_bit(text_file):
    values = np.random.default_rng(0).random(2000) * 10.0 ** np.arange(-10, 10).repeat(100)
    lines = "\n".join(f"{i},a,g,my score,{float(v)!r}" for i, v in enumerate(values))
    frame = ss.read_scores(text_file(f"{HEADER}\n{lines}\n"))
    assert np.array_equal(frame["score"].to_numpy(), values)


def test_utf_32_is_read_when_asked_for(tmp_path):
    file = tmp_path / "scores.csv"
    file.write_bytes(GOOD.encode("utf-32"))
    assert one_row(ss.read_scores(file, encoding="utf-32")) == EXPECTED
