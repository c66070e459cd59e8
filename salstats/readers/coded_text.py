"""Columns of text as codes of their distinct values, so that a check looks at each value once."""

from typing import Any

import numpy as np
import pandas as pd

#: Cells as they stand.
TEXT = pd.StringDtype(na_value=np.nan)


def coded_text(column: pd.Series) -> pd.Series:
    """Return text as a Categorical of sorted values, each of them in a row; an empty cell is missing.

    A Categorical must be one of `sorted_dictionary`.
    """
    if not isinstance(column.dtype, pd.CategoricalDtype):
        coded = pd.Categorical.from_codes(*_codes_and_categories(column))
        column = pd.Series(coded, index=column.index, name=column.name)
    # the empty text sorts before every other
    if "" in column.cat.categories[:1]:
        column = column.cat.remove_categories("")
    return column


def _codes_and_categories(column: pd.Series) -> tuple[np.ndarray, pd.Index]:
    """Return the codes of a column of text, and what they stand for."""
    encoded = sorted_dictionary(_one_array(column).dictionary_encode())
    codes = encoded.indices.fill_null(-1).to_numpy()
    return codes, pd.Index(pd.array(encoded.dictionary, dtype=TEXT))


def plain_text(column: pd.Series) -> pd.Series:
    """Return a Categorical of text as text, cell by cell; any other column as it is."""
    import pyarrow as pa

    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    codes = column.cat.codes.to_numpy()
    is_missing = codes < 0
    coded = pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=is_missing if is_missing.any() else None), _one_array(column.cat.categories)
    )
    cells = pd.array(coded.cast(pa.large_string()), dtype=TEXT)
    return pd.Series(cells, index=column.index, name=column.name)


def make_text_plain(frame: pd.DataFrame) -> None:
    """Put `plain_text` in the place of each Categorical of a frame, one by one, so that each is freed."""
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            frame[name] = plain_text(frame[name])


def coded_frame(table: Any) -> pd.DataFrame:
    """Return a table of pyarrow as a frame, its text as it stands and its dictionaries as Categoricals."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, sorted_dictionary(table.column(place)))
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.large_string(): TEXT}.get)
    return frame


def sorted_dictionary(column: Any) -> Any:
    """Return a dictionary of pyarrow with sorted values that differ, each of them in a row."""
    import pyarrow as pa
    from pyarrow import compute

    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    indices = column.indices
    if pa.types.is_unsigned_integer(indices.type):
        # the code of a missing cell is negative
        indices = indices.cast(pa.int64())
    codes = indices.fill_null(-1).to_numpy()
    values = column.dictionary
    n_rows = np.bincount(codes[codes >= 0], minlength=len(values))
    order = np.flatnonzero((n_rows > 0) & values.is_valid().to_numpy(zero_copy_only=False))
    kept = values.take(pa.array(order))
    if not compute.all(compute.less(kept[:-1], kept[1:])).as_py():
        by_value = compute.array_sort_indices(kept)
        order = order[by_value.to_numpy()]
        kept = kept.take(by_value)
    # a file may hold a value twice in its dictionary
    is_new = np.ones(len(kept), dtype=bool)
    is_new[1:] = compute.not_equal(kept[1:], kept[:-1]).to_numpy(zero_copy_only=False)
    # the last place is that of code -1, a missing cell
    code_of = np.full(len(values) + 1, -1, dtype=np.int32)
    code_of[order] = np.cumsum(is_new) - 1
    sorted_codes = code_of[codes]
    return pa.DictionaryArray.from_arrays(
        pa.array(sorted_codes, mask=sorted_codes < 0), kept.filter(pa.array(is_new))
    )


def _one_array(text: pd.Series | pd.Index) -> Any:
    """Return text as one array of pyarrow; text put together of parts is held in parts."""
    import pyarrow as pa

    array = pa.array(text)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array
