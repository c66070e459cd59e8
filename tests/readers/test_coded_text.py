"""Text as codes of its distinct values, whatever whole numbers a file has for codes."""

import pyarrow as pa
import pytest
from pyarrow import parquet

import salstats as ss
from salstats.readers.coded_text import coded_text, sorted_dictionary

INDEX_TYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("name", INDEX_TYPES)
def test_codes_of_every_type_are_brought_into_order(name):
    indices = pa.array([2, None, 0, 2, 1], getattr(pa, name)())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["b", None, "a"]))
    coded = sorted_dictionary(column)
    assert coded.to_pylist() == ["a", None, "b", "a", None]
    assert coded.dictionary.to_pylist() == ["a", "b"]
    assert coded_text(coded.to_pandas()).cat.codes.tolist() == [0, -1, 1, 0, -1]


@pytest.mark.parametrize("name", INDEX_TYPES)
def test_a_dictionary_of_a_parquet_file_is_read_with_codes_of_every_type(tmp_path, name):
    indices = pa.array([1, None, 0], getattr(pa, name)())
    site = pa.DictionaryArray.from_arrays(indices, pa.array(["b", "a"]))
    table = pa.table({"case": ["x", "y", "z"], "score": [0.25, 0.5, 0.75], "site": site})
    parquet.write_table(table, tmp_path / "scores.parquet")
    scores = ss.read_scores(tmp_path / "scores.parquet", method="g", metric="iou")
    assert scores["site"].fillna("none").tolist() == ["a", "none", "b"]
