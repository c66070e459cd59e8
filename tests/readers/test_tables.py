"""Reading files: what they hold arrives as it stands, what is wrong with them is said."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests_support import quick, raises, warns

import salstats as ss
from salstats.errors import ColumnError, InputFileError
from salstats.memory_limit import LIMIT
from salstats.readers.tables import read_table

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
    monkeypatch.setenv(LIMIT, "0.5")
    with quick(5), raises(InputFileError, option=LIMIT, value=2**40):
        read_table(file)
