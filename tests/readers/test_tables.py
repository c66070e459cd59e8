"""Reading files: what they hold arrives as it stands, what is wrong with them is said."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests_support import quick, raises, warns

import salstats as ss
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, InputFileError
from salstats.memory_limit import LIMIT_VARIABLE
from salstats.readers.cells import TableOptions
from salstats.readers.tables import FileTable, read_fixed_columns_table, read_table

HEADER = "case,task,method,metric,score"
GOOD = f"{HEADER}\n007,Edema,gradcam,iou,0.5\n"


def one_row(frame):
    """The single row of a frame as a dict."""
    assert len(frame) == 1
    return frame.iloc[0].to_dict()


EXPECTED = {"case": "007", "task": "Edema", "method": "gradcam", "metric": "iou", "score": 0.5}


@pytest.mark.parametrize("name", ["a.CSV", "a.tsv", "a.txt", "a b ü.csv"])
def test_the_ending_says_the_format_in_any_case(text_file, name):
    content = GOOD.replace(",", "\t") if name.lower().endswith("tsv") else GOOD
    assert one_row(ss.read_scores(text_file(content, name))) == EXPECTED


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


# XLSX


# what is too large or damaged


def test_a_column_of_numbers_stays_one_beside_a_long_one(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("case,a,b\nx,123456789012345678901234,1234567890123456\ny,1.5,2\n")
    frame = ss.read_data(file)
    assert frame["a"].tolist() == [123456789012345678901234.0, 1.5]
    assert frame["b"].tolist() == [1234567890123456, 2]


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


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx"])
def test_a_table_file_beyond_the_limit_is_not_read_into_memory(tmp_path, monkeypatch, suffix):
    file = tmp_path / f"scores{suffix}"
    with file.open("wb") as stream:
        stream.truncate(2**40)
    monkeypatch.setenv(LIMIT_VARIABLE, "0.5")
    with quick(5), raises(InputFileError, option=LIMIT_VARIABLE, value=2**40):
        read_table(file)


# columns of a table


FILE = Path("t.csv")


def table(decimal=".", **columns):
    """The table of a text file with these cells."""
    cells = pd.DataFrame(columns, dtype=TEXT)
    return FileTable(FILE, cells, options=TableOptions(decimal=decimal))


def test_columns_are_renamed_once_and_only_those_there_are():
    both = table(a=["1"], b=["2"])
    renamed = both.renamed({"a": "c", "joined": "d"}, columns_of_joined_files=["joined"])
    assert renamed.columns == ["c", "b"]
    assert (len(renamed), renamed.file, both.columns) == (1, FILE, ["a", "b"])
    with raises(ColumnError, column="b", path=FILE):
        both.renamed({"a": "b"})
    with raises(InputFileError, column="x", choices=("a", "b"), path=FILE):
        both.renamed({"x": "y"})


def test_missing_columns_are_named_with_those_there_are():
    both = table(a=["1"], b=["2"])
    both.check_columns(["b", "a"])
    with raises(ColumnError, column="c", choices=("a", "b"), path=FILE, hint="it has two", match="nor 'd'"):
        both.check_columns(["a", "c", "d"], "it has two")
    with raises(InputFileError, column="c") as caught:
        replace(both, error_class=InputFileError).check_columns(["c"])
    assert "nor" not in str(caught.value)


def test_rows_are_numbered_as_in_the_file():
    rows = table(a=["1", "2", "3"])
    assert rows.row_numbers.tolist() == [2, 3, 4]
    later = replace(rows.with_cells(rows.cells.iloc[1:]), first_row_number=5)
    assert later.row_numbers.tolist() == [6, 7]
    assert later.location(1) == "t.csv, row 7"
    assert later.location(0, "a") == "t.csv, row 6, column 'a'"


def test_every_row_needs_a_name_where_names_are_filled():
    assert table(task=["x", "y"]).nonempty_texts("task") == ["x", "y"]
    for empty in ("", "  "):
        with raises(ColumnError, column="task", rows=(1,), path=FILE):
            table(task=["x", empty, "y"]).nonempty_texts("task")


@pytest.mark.parametrize(("cases", "row"), [(["a", ""], 1), (["a", "b", "a"], 2)])
def test_cases_are_there_once(cases, row):
    with raises(ColumnError, column="case", rows=(row,), path=FILE):
        table(case=cases).checked_distinct_case_of_each_row()
    assert table(case=["b", "a"]).checked_distinct_case_of_each_row() == ["b", "a"]


def test_a_number_that_may_not_be_is_an_error_with_its_reason():
    assert table(x=["1", "2.5"]).numbers("x").tolist() == [1, 2.5]
    assert np.isnan(table(x=["1", ""]).numbers("x")[1])
    with raises(ColumnError, column="x", value="-2", rows=(1,), match="is below 0"):
        table(x=["1", "-2"]).numbers("x", lambda values: values < 0, "is below 0")
    with raises(ColumnError, column="x", value="b", rows=(0,)):
        table(x=["b", "2"]).numbers("x")


def test_finite_numbers_of_several_columns_are_an_array():
    numbers = table(x=["1", "2", "3"], y=["4", "5", "6"])
    found = numbers.finite_numbers(["y", "x"])
    assert found.tolist() == [[4, 1], [5, 2], [6, 3]]
    assert found.flags.c_contiguous
    for bad in ("", "inf", "b"):
        with raises(ColumnError, column="x", value=bad, rows=(2,), path=FILE):
            table(y=["4", "5", "6"], x=["1", "2", bad]).finite_numbers(["y", "x"])
    with raises(ColumnError, column="z"):
        numbers.finite_numbers(["x", "z"])


@pytest.mark.parametrize(
    ("decimal", "other", "cell", "hint", "option"),
    [
        (".", "1", "0,5", "decimal=','", "decimal"),
        (".", "0.25", "0,5", "point", None),
        (",", "0,25", "0.5", "decimal=','", "decimal"),
        (".", "0.25", "50%", "scale=0.01", "scale"),
        (".", "0.25", "half", "mine", None),
    ],
)
def test_the_hint_of_a_score_that_is_no_number_says_how_to_read_it(decimal, other, cell, hint, option):
    scores = table(decimal, score=[other, "", cell])
    with raises(ColumnError, column="score", value=cell, rows=(2,), option=option) as caught:
        scores.scores("score", "mine")
    assert hint in str(caught.value.hint)
    assert "na" in str(caught.value)
    assert table(score=["0.25", ""]).scores("score").isna().tolist() == [False, True]


@pytest.mark.parametrize("cell", ["inf", "-1e300"])
def test_a_score_that_is_infinite_or_too_large_is_an_error(cell):
    with raises(ColumnError, column="score", value=cell, rows=(1,)):
        table(score=["1", cell]).scores("score")


def test_text_among_numbers_is_a_warning_and_a_decimal_comma_an_error():
    with warns(column="x", rows=(1,), option="na", path=FILE, match="2 of 3 cells"):
        found = table(x=["1", "low", "3", ""]).covariate("x")
    assert found.fillna("missing").tolist() == ["1", "low", "3", "missing"]
    # half of them numbers is a warning, fewer are names
    with warns(column="x", rows=(0,)):
        table(x=["low", "3"]).covariate("x")
    assert table(x=["low", "3", "high"]).covariate("x").tolist() == ["low", "3", "high"]
    assert table(x=["low", "007", "3"]).covariate("x").tolist() == ["low", "007", "3"]
    with raises(ColumnError, column="x", option="decimal", value="1,5", rows=(0,)):
        table(x=["1,5", "2"]).covariate("x")


def test_the_first_column_of_text_is_found():
    mixed = table(case=["a", "b"], x=["1", "2"], y=["1,5", "2"], z=["1", "low"])
    assert mixed.first_text_column() == "case"
    assert mixed.first_text_column(["case"]) == "z"
    assert mixed.first_text_column(["case", "z"]) is None


def test_names_are_text_scores_numbers_and_the_rest_what_it_holds():
    cells = {
        "case": ["01", "02"],
        "seed": ["7.0", ""],
        "score": ["0.5", ""],
        "size": ["1", "2"],
        "arm": ["1", "2"],
    }
    for coded in (False, True):
        typed = table(**cells).typed_frame(["arm"], coded=coded)
        assert typed["case"].tolist() == ["01", "02"]
        assert typed["seed"].isna().tolist() == [False, True]
        assert typed["seed"].iloc[0] == "7"
        assert typed["score"].dtype == typed["size"].dtype == np.float64
        assert typed["arm"].tolist() == ["1", "2"]
    assert table(case=["a"], score=["0.5"]).typed_frame()["score"].dtype == np.float64
    # a frame without cases may have a column of that name that holds text
    assert table(score=["high"]).typed_frame()["score"].tolist() == ["high"]


@pytest.mark.parametrize("name", ["1.2E+16", "a\u200b", " a"])
def test_a_name_in_doubt_is_named_with_its_row(name):
    with raises(ColumnError, column="reader", rows=(1,), value=name):
        table(reader=["b", name]).text_with_missing_as_empty("reader")


def test_a_header_alone_is_an_error_unless_it_may_be(text_file):
    file = text_file("case,score\n")
    with raises(InputFileError, path=file):
        read_table(file)
    assert len(read_table(file, may_be_empty=True)) == 0


def test_a_file_that_is_another_format_than_its_ending_says_is_named(text_file, tmp_path):
    file = tmp_path / "a.csv"
    for content in (b"PK\x03\x04...", b"PAR1...", b"\xd0\xcf\x11\xe0", b"\x1f\x8b..."):
        file.write_bytes(content)
        with raises(InputFileError, path=file, value=".csv"):
            read_table(file)


@pytest.mark.parametrize("text", ["a\x07b", "a\x1b", "\x85a", "\ufeffa", "a\rb"])
def test_a_control_character_in_a_covariate_is_refused_with_its_row(parquet_file, text):
    file = parquet_file(note=pa.array(["good", text]))
    with raises(ColumnError, column="note", rows=(1,), path=file):
        ss.read_scores(file)


def test_a_line_break_and_a_tab_are_no_control_characters(parquet_file):
    notes = ["a\tb\nc", "d\r\ne"]
    assert ss.read_scores(parquet_file(note=pa.array(notes)))["note"].tolist() == notes


def test_stored_integers_beyond_a_float_are_names(parquet_file):
    sizes = pa.array([2**53 + 1, 7])
    assert ss.read_scores(parquet_file(size=sizes))["size"].tolist() == ["9007199254740993", "7"]
    assert ss.read_scores(parquet_file(size=pa.array([2**53 - 1, 7])))["size"].tolist() == [2**53 - 1, 7]


def test_stored_whole_floats_beyond_the_exact_ones_are_named_where_none_is_a_fraction(parquet_file):
    file = parquet_file(size=pa.array([7.0, 1e16]))
    with warns(column="size", rows=(1,), path=file):
        assert ss.read_scores(file)["size"].tolist() == [7.0, 1e16]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sizes", [[0.5, 1e16], [7.0, 2.0**64], [7.0, 2.0**53 - 1], [7.0, -np.inf]])
def test_stored_floats_that_are_measurements_or_exact_are_read_without_a_word(parquet_file, sizes):
    assert ss.read_scores(parquet_file(size=pa.array(sizes)))["size"].tolist() == sizes


def test_a_table_of_a_known_format_names_no_option_and_has_errors_of_the_given_class(text_file):
    file = text_file("case,size\na,1\nb,\n")
    of_file, of_column = (read_fixed_columns_table(file, kind) for kind in (InputFileError, ColumnError))
    for known, kind in ((read_fixed_columns_table(file), InputFileError), (of_file, InputFileError)):
        with raises(kind, column="size", path=file):
            known.nonempty_texts("size")
    with raises(ColumnError, column="size", path=file):
        of_column.nonempty_texts("size")
    assert known.options == TableOptions(is_fixed_format=True)
    header = text_file("case,size\n", "header.csv")
    with raises(InputFileError, path=header):
        read_fixed_columns_table(header)
    assert len(read_fixed_columns_table(header, may_be_empty=True)) == 0
