"""Columns of text as codes of their distinct values, so that a check looks at each value once, not at each row."""

from typing import Any

import numpy as np
import pandas as pd

#: Cells as they stand.
TEXT = pd.StringDtype(na_value=np.nan)


def coded_text(column: pd.Series) -> pd.Series:
    """Return text as a Categorical of sorted values, each of them in a row; an empty cell is missing."""
    import pyarrow as pa

    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        values = _one_array(column.cat.categories)
    else:
        encoded = _one_array(column).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy()
        values = encoded.dictionary
    codes, values = _sorted_codes(codes, values, empty_is_missing=True)
    categories = pd.Index(pd.array(values, dtype=TEXT))
    coded = pd.Categorical.from_codes(codes, categories)
    return pd.Series(coded, index=column.index, name=column.name)


def plain_text(column: pd.Series) -> pd.Series:
    """Return a Categorical of text as text, cell by cell; any other column as it is."""
    import pyarrow as pa

    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    codes = pa.array(column.cat.codes.to_numpy(), mask=column.isna().to_numpy())
    cells = pa.DictionaryArray.from_arrays(codes, _one_array(column.cat.categories)).cast(pa.large_string())
    return pd.Series(pd.array(cells, dtype=TEXT), index=column.index, name=column.name)


def with_plain_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with `plain_text` in the place of each Categorical."""
    coded = [name for name in frame.columns if isinstance(frame[name].dtype, pd.CategoricalDtype)]
    return frame.assign(**{name: plain_text(frame[name]) for name in coded})


def sorted_dictionary(column: Any) -> Any:
    """Return a dictionary column of pyarrow with sorted values that differ, each of them in a row."""
    import pyarrow as pa

    whole = column.unify_dictionaries().combine_chunks()
    codes = whole.indices.fill_null(-1).to_numpy()
    codes, values = _sorted_codes(codes, whole.dictionary, empty_is_missing=False)
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), values)


def _one_array(text: pd.Series | pd.Index) -> Any:
    """Return text as one array of pyarrow; text put together of parts is held in parts."""
    import pyarrow as pa

    array = pa.array(text)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array


def _sorted_codes(codes: np.ndarray, values: Any, *, empty_is_missing: bool) -> tuple[np.ndarray, Any]:
    """Return the codes and values of text in order, without values that no row has; a missing cell is -1."""
    import pyarrow as pa
    from pyarrow import compute

    n_rows = np.bincount(codes[codes >= 0], minlength=len(values))
    is_kept = (n_rows > 0) & values.is_valid().to_numpy(zero_copy_only=False)
    if empty_is_missing:
        is_kept &= compute.not_equal(values, "").fill_null(False).to_numpy(zero_copy_only=False)
    order = np.flatnonzero(is_kept)
    kept = values.take(pa.array(order))
    if not compute.all(compute.less(kept[:-1], kept[1:])).as_py():
        by_value = compute.array_sort_indices(kept)
        order = order[by_value.to_numpy()]
        kept = kept.take(by_value)
    # a file may hold a value twice in its dictionary
    is_new = np.ones(len(kept), dtype=bool)
    is_new[1:] = compute.not_equal(kept[1:], kept[:-1]).to_numpy(zero_copy_only=False)
    # the last place is that of code -1
    code_of = np.full(len(values) + 1, -1, dtype=np.int32)
    code_of[order] = np.cumsum(is_new) - 1
    return code_of[codes], kept.filter(pa.array(is_new))
