"""Cells of a table: which are numbers, missing, names or text, however the column is stored."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

from salstats.errors import InputFileError, ValueRangeError
from salstats.memory_limit import BYTES_PER_COLUMN, LIMIT_VARIABLE
from salstats.readers.cells import (
    EXACT_FLOAT_LIMIT,
    TableOptions,
    all_have_decimal_commas,
    check_header_names_are_distinct_and_filled,
    covariate_as_text,
    identifier_or_none_if_date_or_huge,
    is_date_or_time,
    is_numeric_or_bool,
    parse_numbers,
    warn_if_only_outer_blanks_differ,
    without_row_numbers,
)

FILE = Path("scores.csv")
PLAIN = TableOptions()


def text_column(cells):
    """A column as a text file is read."""
    return pd.Series(cells, dtype="str", name="score", index=range(10, 10 + len(cells)))


def parsed(column, options=PLAIN):
    """Numbers, missing cells and cells that are no number, as lists; the index stays."""
    numbers, missing, is_no_number = parse_numbers(column, options)
    assert numbers.index.equals(column.index)
    assert numbers.dtype == np.float64
    return numbers.tolist(), missing.tolist(), is_no_number.tolist()


# options


def test_an_empty_cell_is_always_missing_and_one_string_is_one_mark():
    assert TableOptions(na="-99").na == ("", "-99")
    assert TableOptions(na=["NA", "", "NA"]).na == ("", "NA")


@pytest.mark.parametrize("sep", ["", ";;", '"', "\n", "\r"])
def test_a_separator_is_one_character_that_separates(sep):
    with raises(InputFileError, value=sep):
        TableOptions(sep=sep)
    assert TableOptions(sep="|").sep == "|"


def test_a_decimal_mark_is_a_point_or_a_comma():
    with raises(ValueRangeError, option="decimal", value="'"):
        TableOptions(decimal="'")


def test_a_file_of_one_format_recommends_none_of_the_options():
    assert "CSV" in str(TableOptions(is_fixed_format=True).options_hint_unless_fixed_format("pass sep"))
    assert str(PLAIN.options_hint_unless_fixed_format("pass ", "sep")) == "pass sep"


# header


def test_a_column_without_a_name_is_an_error_with_a_guess_why():
    check_header_names_are_distinct_and_filled(FILE, ["case", "score"])
    with raises(InputFileError, path=FILE, hint="name it", value=2):
        check_header_names_are_distinct_and_filled(FILE, ["case", " ", "score"])
    hint = "name it, or remove the separator at the end of every line"
    with raises(InputFileError, path=FILE, hint=hint, value=2):
        check_header_names_are_distinct_and_filled(FILE, ["case", ""])


def test_a_first_column_that_counts_the_rows_needs_no_name():
    scores = pd.DataFrame({"case": list("abc"), "score": [0.1, 0.2, 0.3]})
    check_header_names_are_distinct_and_filled(FILE, ["", *scores.columns])
    for numbers in ([0, 1, 2], ["1", "2", "3"]):
        with warns(value=1):
            cells = without_row_numbers(FILE, pd.concat({"": pd.Series(numbers)}, axis=1).join(scores))
        pd.testing.assert_frame_equal(cells, scores)
    for numbers in ([1, 3, 4], ["p1", "p2", "p3"]):
        with raises(InputFileError, path=FILE, value=1):
            without_row_numbers(FILE, pd.concat({" ": pd.Series(numbers)}, axis=1).join(scores))
    assert without_row_numbers(FILE, scores) is scores


def test_a_column_that_is_twice_there_or_holds_what_nobody_sees_is_named():
    with raises(InputFileError, column="case", path=FILE, hint="rename one of them"):
        check_header_names_are_distinct_and_filled(FILE, ["score", "case", "case"])
    with raises(InputFileError, column="case ", path=FILE):
        check_header_names_are_distinct_and_filled(FILE, ["score", "case "])


def test_a_header_of_too_many_columns_is_an_error_before_a_table_is_made(monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, repr(10 * BYTES_PER_COLUMN / 2**30))
    check_header_names_are_distinct_and_filled(FILE, [str(number) for number in range(10)])
    with raises(InputFileError, option="SALSTATS_LIMIT_GB", value=11 * BYTES_PER_COLUMN):
        check_header_names_are_distinct_and_filled(FILE, [str(number) for number in range(11)])


# numbers


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "-2.5e3", " 7 ", "+.5", "1."],
        ["1", "", "0.25"],
        ["0.1", "NA", "nan", "None", "#N/A"],
        ["inf", "-inf", "Infinity"],
        ["1e308", "1e-320", "0.1"],
    ],
)
def test_text_is_read_as_python_reads_numbers(cells):
    is_missing = [cell in PLAIN.na for cell in cells]
    numbers, missing, is_no_number = parsed(text_column(cells))
    expected = [
        np.nan if cell_is_missing else float(cell)
        for cell, cell_is_missing in zip(cells, is_missing, strict=True)
    ]
    np.testing.assert_array_equal(numbers, expected)
    assert missing == is_missing
    assert not any(is_no_number)


def test_each_cell_that_is_no_number_is_marked_among_numbers_and_missing_ones():
    cells = ["0.5", "high", "", "1,5", "0.5", "--1", "NA"]
    numbers, missing, is_no_number = parsed(text_column(cells))
    assert missing == [False, False, True, False, False, False, True]
    assert is_no_number == [False, True, False, True, False, True, False]
    np.testing.assert_array_equal(numbers, [0.5, np.nan, np.nan, np.nan, 0.5, np.nan, np.nan])


def test_a_mark_for_missing_may_be_a_number_and_nan_may_be_no_mark():
    options = TableOptions(na=("-99",))
    numbers, missing, _ = parsed(text_column(["1", "-99", ""]), options)
    np.testing.assert_array_equal(numbers, [1, np.nan, np.nan])
    assert missing == [False, True, True]
    assert parsed(text_column(["1", "nan"]), options)[1:] == ([False, False], [False, True])


def test_a_decimal_comma_is_read_and_a_point_beside_it_is_no_number():
    options = TableOptions(decimal=",")
    numbers, missing, is_no_number = parsed(text_column(["0,5", "-1,25e1", "3", "1.000", "", ","]), options)
    np.testing.assert_array_equal(numbers, [0.5, -12.5, 3, np.nan, np.nan, np.nan])
    assert missing == [False, False, False, False, True, False]
    assert is_no_number == [False, False, False, True, False, True]
    assert parsed(text_column(["1.000", "2.500"]), options)[2] == [True, True]


def test_truth_values_are_numbers_only_among_themselves():
    numbers, missing, is_no_number = parsed(text_column(["True", "false", "", "TRUE"]))
    np.testing.assert_array_equal(numbers, [1, 0, np.nan, 1])
    assert missing == [False, False, True, False]
    assert not any(is_no_number)
    assert parsed(text_column(["True", "0.5"]))[2] == [True, False]


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float32", "bool", "boolean"])
def test_columns_of_numbers_are_taken_as_they_are(dtype):
    column = pd.Series([1, 0, 1]).astype(dtype)
    assert is_numeric_or_bool(column)
    assert parsed(column) == ([1, 0, 1], [False] * 3, [False] * 3)
    if dtype[0] in "If":
        column[1] = None
        assert parsed(column)[1] == [False, True, False]


def test_a_column_of_objects_is_read_cell_by_cell():
    column = pd.Series([1, "0.5", None, "x"], dtype=object)
    assert not is_numeric_or_bool(column)
    numbers, missing, is_no_number = parsed(column)
    np.testing.assert_array_equal(numbers, [1, 0.5, np.nan, np.nan])
    assert missing == [False, False, True, False]
    assert is_no_number == [False, False, False, True]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["0,5", "-1,25", ",5e-3"], True),
        (["0,5", "1"], False),
        (["0,5", "0.5"], False),
        (["1,5x", "0,5"], False),
        (["1,"], False),
        (["0,5", None], False),
    ],
)
def test_decimal_commas_are_those_of_every_cell(cells, expected):
    assert all_have_decimal_commas(pd.Series(cells, dtype=object)) is expected


# names and text


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("007", "007"),
        (7, "7"),
        (7.0, "7"),
        (np.float64(-3), "-3"),
        (7.5, "7.5"),
        (None, ""),
        (float("nan"), ""),
        (EXACT_FLOAT_LIMIT - 1, "9007199254740991"),
        (EXACT_FLOAT_LIMIT, None),
        (-EXACT_FLOAT_LIMIT, None),
        (2**53, "9007199254740992"),
        (dt.date(2020, 1, 2), None),
        (dt.time(1, 2), None),
    ],
)
def test_a_name_is_text_that_its_cell_gives_without_doubt(cell, name):
    assert identifier_or_none_if_date_or_huge(cell) == name


def test_dates_and_times_are_dates():
    moments = [dt.date(2020, 1, 2), dt.datetime(2020, 1, 2), dt.time(1), dt.timedelta(1), pd.Timestamp(0)]
    assert all(is_date_or_time(moment) for moment in moments)
    assert not any(is_date_or_time(value) for value in ("2020-01-02", 1, None))


def test_covariates_are_text_with_dates_in_iso_form():
    cells = [dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4), dt.time(3, 4), 2.0, 2.5, "x", None, 2e16]
    text = covariate_as_text(pd.Series(cells, dtype=object, name="age"))
    assert text.name == "age"
    expected = ["2020-01-02", "2020-01-02T03:04:00", "03:04:00", "2", "2.5", "x", None, "2e+16"]
    assert text.astype(object).where(text.notna(), None).tolist() == expected
    whole = covariate_as_text(pd.Series([1, None, 2**60], dtype="Int64"))
    assert whole.astype(object).where(whole.notna(), None).tolist() == ["1", None, str(2**60)]


def test_values_that_differ_by_a_blank_are_a_warning(recwarn):
    warn_if_only_outer_blanks_differ(pd.Series(["a", "b", "a", None], name="site", dtype="str"), FILE)
    assert not recwarn.list
    with warns(column="site", path=FILE, value=["b ", "b"]):
        warn_if_only_outer_blanks_differ(pd.Series(["a", "b ", "b", None], name="site", dtype="str"), FILE)


def test_a_sheet_is_chosen_of_a_workbook():
    chosen = TableOptions(sheet="two")
    chosen.check_any_workbook_if_sheet_chosen([Path("a.csv"), Path("b.XLSX")])
    TableOptions().check_any_workbook_if_sheet_chosen([Path("a.csv")])
    with raises(InputFileError, option="sheet", value="two", path="a.csv"):
        chosen.check_any_workbook_if_sheet_chosen([Path("a.csv"), Path("b.tsv")])
