"""Text as codes of its distinct values, whatever whole numbers a file has for codes."""

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import salstats as ss
from salstats.coded_text import (
    TEXT,
    arrow_dictionary_with_empty_as_missing,
    codes_and_values,
    frame_with_sorted_dictionaries,
    in_threads,
    is_arrow_text_dictionary,
    make_arrow_dictionary_text_plain,
    plain_text,
    sorted_dictionary,
    sorted_distinct_values,
    text_dtype,
)

CODED = pa.dictionary(pa.int32(), pa.string())
INDEX_TYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("name", INDEX_TYPES)
def test_codes_of_every_type_are_brought_into_order(name):
    indices = pa.array([2, None, 0, 2, 1], getattr(pa, name)())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["b", None, "a"]))
    coded = sorted_dictionary(column)
    assert coded.to_pylist() == ["a", None, "b", "a", None]
    assert coded.dictionary.to_pylist() == ["a", "b"]


@pytest.mark.parametrize("cells", [["b", None, "a", "b"], ["", "b", None, "a", "b", ""], [], [None], [""]])
def test_an_empty_cell_is_missing_and_all_others_are_as_before(cells):
    text = pd.Series(cells, dtype=TEXT, name="task")
    coded = arrow_dictionary_with_empty_as_missing(text)
    pd.testing.assert_series_equal(plain_text(coded), text.mask(text.eq("")))
    codes, values = codes_and_values(coded)
    expected, distinct = pd.factorize(text.mask(text.eq("")), sort=True)
    assert codes.tolist() == expected.tolist()
    assert values.tolist() == distinct.tolist()


def test_dictionaries_put_below_each_other_are_one():
    parts = [pd.Series(cells, dtype=pd.ArrowDtype(CODED)) for cells in (["b", "a"], ["c", None, "a"])]
    codes, values = codes_and_values(pd.concat(parts, ignore_index=True))
    assert codes.tolist() == [1, 0, 2, -1, 0]
    assert values.tolist() == ["a", "b", "c"]


def test_text_of_a_table_stays_text_and_its_dictionaries_stay_codes():
    coded = pa.array(["b", None, "a"]).dictionary_encode()
    table = pa.table({"note": pa.array(["x", None, ""], pa.large_string()), "site": coded, "n": [1, 2, 3]})
    frame = frame_with_sorted_dictionaries(table)
    assert frame["note"].dtype == TEXT
    assert frame["n"].dtype == "int64"
    assert [is_arrow_text_dictionary(frame[name]) for name in frame] == [False, True, False]
    assert codes_and_values(frame["site"])[1].tolist() == ["a", "b"]


@pytest.mark.parametrize("name", INDEX_TYPES)
def test_a_dictionary_of_a_parquet_file_is_read_with_codes_of_every_type(tmp_path, name):
    indices = pa.array([1, None, 0], getattr(pa, name)())
    site = pa.DictionaryArray.from_arrays(indices, pa.array(["b", "a"]))
    table = pa.table({"case": ["x", "y", "z"], "score": [0.25, 0.5, 0.75], "site": site})
    parquet.write_table(table, tmp_path / "scores.parquet")
    scores = ss.read_scores(tmp_path / "scores.parquet", method="g", metric="iou")
    assert scores["site"].fillna("none").tolist() == ["a", "none", "b"]


def test_only_dictionaries_of_text_are_coded():
    numbers = pa.array([1, 2]).dictionary_encode()
    large = pa.array(["a"], pa.large_string()).dictionary_encode()
    columns = [
        pd.Series(["a"], dtype=pd.ArrowDtype(CODED)),
        pd.Series(pd.array(large, dtype=pd.ArrowDtype(large.type))),
        pd.Series(pd.array(numbers, dtype=pd.ArrowDtype(numbers.type))),
        pd.Series(["a"], dtype=pd.ArrowDtype(pa.string())),
        pd.Series(["a"], dtype="category"),
        pd.Series(["a"], dtype=TEXT),
    ]
    assert [is_arrow_text_dictionary(column) for column in columns] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert plain_text(columns[4]) is columns[4]


def test_coded_columns_of_a_frame_become_text_in_place():
    frame = pd.DataFrame({"site": pd.Series(["b", None], dtype=pd.ArrowDtype(CODED)), "n": [1, 2]})
    make_arrow_dictionary_text_plain(frame)
    assert frame["site"].dtype == TEXT
    assert frame["site"].isna().tolist() == [False, True]
    assert frame["n"].tolist() == [1, 2]


def test_types_of_text_in_a_table_become_those_of_pandas():
    assert text_dtype(CODED) == pd.ArrowDtype(CODED)
    assert text_dtype(pa.large_string()) == TEXT
    assert text_dtype(pa.string()) is None
    assert text_dtype(pa.int64()) is None


def test_results_of_threads_are_in_the_order_of_the_columns():
    assert list(in_threads(lambda number: -number, range(20))) == [-number for number in range(20)]
    assert sorted_distinct_values(pd.Series(["b", "a", "b"], dtype=TEXT)).tolist() == ["a", "b"]


def test_a_dictionary_that_is_sorted_is_kept_and_values_that_stand_twice_or_nowhere_are_not():
    ordered = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), pa.array(["a", "b"]))
    assert sorted_dictionary(ordered) is ordered
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 2, 3], pa.int32()), pa.array(["b", "x", "b", "a"]))
    coded = sorted_dictionary(twice)
    assert coded.dictionary.to_pylist() == ["a", "b"]
    assert coded.indices.to_pylist() == [1, 1, 0]
