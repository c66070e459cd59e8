"""Text as codes of its distinct values, whatever whole numbers a file has for codes."""

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import salstats as ss
from salstats.coded_text import (
    TEXT,
    as_arrow_dictionary,
    codes_and_values,
    frame_with_sorted_dictionaries,
    is_arrow_dictionary,
    plain_text,
    sorted_dictionary,
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
    coded = as_arrow_dictionary(text)
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
    assert [is_arrow_dictionary(frame[name]) for name in frame] == [False, True, False]
    assert codes_and_values(frame["site"])[1].tolist() == ["a", "b"]


@pytest.mark.parametrize("name", INDEX_TYPES)
def test_a_dictionary_of_a_parquet_file_is_read_with_codes_of_every_type(tmp_path, name):
    indices = pa.array([1, None, 0], getattr(pa, name)())
    site = pa.DictionaryArray.from_arrays(indices, pa.array(["b", "a"]))
    table = pa.table({"case": ["x", "y", "z"], "score": [0.25, 0.5, 0.75], "site": site})
    parquet.write_table(table, tmp_path / "scores.parquet")
    scores = ss.read_scores(tmp_path / "scores.parquet", method="g", metric="iou")
    assert scores["site"].fillna("none").tolist() == ["a", "none", "b"]
