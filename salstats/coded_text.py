"""Columns of text as codes of their distinct values, so that a check looks at each value once.

Such a column is a dictionary of pyarrow: a pandas Categorical makes a Python object of each value.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd

#: The pandas type of text whose cells stand as they are in the file; a missing cell is NaN.
TEXT = pd.StringDtype(na_value=np.nan)


def is_arrow_text_dictionary(column: pd.Series) -> bool:
    """Return whether a column is a dictionary of text of pyarrow."""
    if not isinstance(column.dtype, pd.ArrowDtype):
        return False
    from pyarrow import types

    arrow_type = column.dtype.pyarrow_dtype
    if not types.is_dictionary(arrow_type):
        return False
    value_type = arrow_type.value_type
    return bool(types.is_string(value_type) or types.is_large_string(value_type))


def arrow_dictionary_with_empty_as_missing(column: pd.Series) -> pd.Series:
    """Return text, coded or not, as a dictionary of sorted values; an empty cell is missing."""
    coded = _sorted_dictionary_of(column)
    values = coded.dictionary
    # the empty text sorts before every other: its code is 0, which becomes -1, as that of a missing cell
    if len(values) and values[0].as_py() == "":
        codes = coded.indices.fill_null(0).to_numpy() - 1
        coded = type(coded).from_arrays(_dictionary_indices(codes), values[1:])
    return pd.Series(pd.array(coded, dtype=pd.ArrowDtype(coded.type)), index=column.index, name=column.name)


def codes_and_values(column: pd.Series) -> tuple[np.ndarray, pd.Index]:
    """Return the codes of text, coded or not, -1 where a cell is missing, and its sorted values."""
    coded = _sorted_dictionary_of(column)
    return coded.indices.fill_null(-1).to_numpy(), _pandas_index(coded.dictionary)


def sorted_distinct_values(column: pd.Series) -> pd.Index:
    """Return the sorted values of text, coded or not."""
    return _pandas_index(_sorted_dictionary_of(column).dictionary)


def plain_text(column: pd.Series) -> pd.Series:
    """Return a coded column as text, cell by cell; any other column as it is."""
    import pyarrow as pa

    if not is_arrow_text_dictionary(column):
        return column
    cells = pd.array(_unchunked_arrow_array(column).cast(pa.large_string()), dtype=TEXT)
    return pd.Series(cells, index=column.index, name=column.name)


def make_arrow_dictionary_text_plain(frame: pd.DataFrame) -> None:
    """Replace each coded column of a frame by its `plain_text`, one by one, so that its memory is freed."""
    names = [name for name in frame.columns if is_arrow_text_dictionary(frame[name])]
    plain_columns = in_threads(plain_text, (frame[name] for name in names))
    for name, column in zip(names, plain_columns, strict=True):
        frame[name] = column


def frame_with_sorted_dictionaries(arrow_table: Any) -> pd.DataFrame:
    """Return a pyarrow.Table as a frame: its text as it stands, its dictionary-encoded columns sorted."""
    import pyarrow as pa

    positions = [
        position
        for position, arrow_type in enumerate(arrow_table.schema.types)
        if pa.types.is_dictionary(arrow_type)
    ]
    columns = in_threads(sorted_dictionary, (arrow_table.column(position) for position in positions))
    for position, column in zip(positions, columns, strict=True):
        arrow_table = arrow_table.set_column(position, arrow_table.schema.names[position], column)
    frame: pd.DataFrame = arrow_table.to_pandas(types_mapper=text_dtype)
    return frame


def text_dtype(arrow_type: Any) -> Any:
    """Return the pandas type for a pyarrow type of text, coded or not; None for any other type."""
    import pyarrow as pa

    if pa.types.is_dictionary(arrow_type):
        return pd.ArrowDtype(arrow_type)
    if pa.types.is_large_string(arrow_type):
        return TEXT
    return None


def sorted_dictionary(column: Any) -> Any:
    """Return a pyarrow dictionary as one array; its values are sorted, distinct, and each in some cell."""
    import pyarrow as pa
    from pyarrow import compute

    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    indices = column.indices
    values = column.dictionary
    if values.null_count == 0 and indices.type == pa.int32() and _is_strictly_ascending(values):
        return column
    if pa.types.is_unsigned_integer(indices.type):
        # the code of a missing cell is negative
        indices = indices.cast(pa.int64())
    codes = indices.fill_null(-1).to_numpy()
    n_rows = np.bincount(codes[codes >= 0], minlength=len(values))
    is_valid = values.is_valid().to_numpy(zero_copy_only=False)
    # positions in `values` of those that are kept, in the order of the sorted values
    order = np.flatnonzero((n_rows > 0) & is_valid)
    sorted_values = values.take(pa.array(order))
    if not _is_strictly_ascending(sorted_values):
        by_value = compute.array_sort_indices(sorted_values)
        order = order[by_value.to_numpy()]
        sorted_values = sorted_values.take(by_value)
    # a file may hold a value twice in its dictionary
    is_first = np.ones(len(sorted_values), dtype=bool)
    is_first[1:] = compute.not_equal(sorted_values[1:], sorted_values[:-1]).to_numpy(zero_copy_only=False)
    # the last element is for code -1, a missing cell
    sorted_code_of_code = np.full(len(values) + 1, -1, dtype=np.int32)
    sorted_code_of_code[order] = np.cumsum(is_first) - 1
    distinct_values = sorted_values.filter(pa.array(is_first))
    return pa.DictionaryArray.from_arrays(_dictionary_indices(sorted_code_of_code[codes]), distinct_values)


def _sorted_dictionary_of(column: pd.Series) -> Any:
    """Return text, coded or not, as a dictionary of sorted values."""
    array = _unchunked_arrow_array(column)
    if not is_arrow_text_dictionary(column):
        array = array.dictionary_encode()
    return sorted_dictionary(array)


def in_threads(function: Callable[[Any], Any], columns: Iterable[Any]) -> Iterator[Any]:
    """Apply a function to columns in as many threads as pyarrow uses, and yield the results in order."""
    import pyarrow as pa

    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        yield from threads.map(function, columns)


def _is_strictly_ascending(values: Any) -> bool:
    """Return whether each value of an array is smaller than the next."""
    from pyarrow import compute

    return compute.all(compute.less(values[:-1], values[1:])).as_py() is not False


def _dictionary_indices(codes: np.ndarray) -> Any:
    """Return codes as the indices of a dictionary, missing where they are negative."""
    import pyarrow as pa

    indices = codes.astype(np.int32, copy=False)
    is_missing = codes < 0
    if is_missing.any():
        return pa.array(indices, mask=is_missing)
    return pa.array(indices)


def _pandas_index(values: Any) -> pd.Index:
    """Return an array of text as an index of pandas."""
    return pd.Index(pd.array(values, dtype=TEXT))


def _unchunked_arrow_array(text: pd.Series) -> Any:
    """Return text as one array of pyarrow; after a concatenation pandas holds it in chunks."""
    import pyarrow as pa

    array = pa.array(text)
    if isinstance(array, pa.ChunkedArray):
        if pa.types.is_dictionary(array.type):
            array = array.unify_dictionaries()
        array = array.combine_chunks()
    return array
