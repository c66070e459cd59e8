"""Read a Parquet file as a plain table."""

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from salstats.coded_text import in_threads, sorted_dictionary, text_dtype
from salstats.errors import ColumnError, InputFileError, SalstatsError
from salstats.memory_limit import BYTES_PER_CELL, check_size, file_content_memory_limit_bytes
from salstats.readers.cells import check_header_names_are_distinct_and_filled
from salstats.readers.parquet_pages import PageSizes, unpacked_page_totals_by_column

if TYPE_CHECKING:
    import pyarrow as pa

#: Column names under which pandas stores an index without a name.
_INDEX_NAME = re.compile(r"__index_level_\d+__")
_WHOLE_NUMBER_TYPES = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
#: Texts that share their beginnings may take much more memory than their pages. They are decoded in batches
#: of at most this number of rows and this share of the memory limit.
_MAX_BATCH_ROWS = 1 << 16
_MAX_BATCH_SHARE = 0.25


def read_parquet(file: Path, data: bytes | memoryview) -> pd.DataFrame:
    """Read the columns of a Parquet file: text as categories, whole numbers exact even beside empty cells."""
    import pyarrow as pa
    from pyarrow import parquet

    # type of pyarrow -> type of pandas that can hold missing cells, such as pa.int8() -> Int8Dtype()
    nullable_types = {}
    for name in _WHOLE_NUMBER_TYPES:
        arrow_type = getattr(pa, name.lower())()
        nullable_types[arrow_type] = getattr(pd, f"{name}Dtype")()
    nullable_types[pa.bool_()] = pd.BooleanDtype()

    def pandas_type(arrow_type: Any) -> Any:
        return nullable_types.get(arrow_type) or text_dtype(arrow_type)

    try:
        parquet_file = parquet.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        schema = parquet_file.schema_arrow
        names = schema.names
        if schema.pandas_metadata:
            names = [name for name in names if not _INDEX_NAME.fullmatch(name)]
        check_header_names_are_distinct_and_filled(file, names)
        _refuse_nested_and_binary_columns(file, schema)
        table = _decoded_table(file, data, schema, parquet_file.metadata)
        table = table.select(names).replace_schema_metadata()
        table = _sorted_text_dictionaries_and_float_decimals(file, data, table)
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, types_mapper=pandas_type)
    except SalstatsError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        lines = str(error).splitlines()
        raise _damaged_file_error(file, lines[0] if lines else "damaged") from error
    _check_years_of_dates(file, frame)
    return frame


def _damaged_file_error(file: Path, reason: str) -> InputFileError:
    """Make the error of a file that is damaged, or is not a Parquet file."""
    return InputFileError(
        f"{file}: not a Parquet file, or damaged ({reason})", hint="write the file again", path=file
    )


def _check_years_of_dates(file: Path, frame: pd.DataFrame) -> None:
    """Raise where a time lies outside the years 1 to 9999, for which Python has no date."""
    for name in frame.columns:
        dates = frame[name]
        if not pd.api.types.is_datetime64_any_dtype(dates):
            continue
        is_outside = dates.notna() & ~dates.dt.year.between(dt.MINYEAR, dt.MAXYEAR)
        if is_outside.any():
            position = int(is_outside.to_numpy().argmax())
            raise ColumnError(
                f"{file}, row {position + 1}, column {name!r}: a time outside the years 1 to 9999",
                hint="correct it or store the column as text",
                column=str(name),
                rows=[position],
                path=file,
            )


def _refuse_nested_and_binary_columns(file: Path, schema: Any) -> None:
    """Raise where a column holds lists, structs or bytes."""
    from pyarrow import types

    unreadable_types = (
        types.is_nested,
        types.is_binary,
        types.is_large_binary,
        types.is_binary_view,
        types.is_fixed_size_binary,
    )
    for field in schema:
        cell_type = field.type
        if types.is_dictionary(cell_type):
            cell_type = cell_type.value_type
        # the cells of an extension type are stored in another type
        stored_type = getattr(cell_type, "storage_type", cell_type)
        if any(is_unreadable(stored_type) for is_unreadable in unreadable_types):
            raise ColumnError(
                f"{file}, column {field.name!r}: its cells are of type {cell_type}, not text or numbers",
                hint="leave the column out of the file",
                column=field.name,
                path=file,
            )


def _decoded_table(file: Path, data: bytes | memoryview, schema: Any, metadata: Any) -> "pa.Table":
    """Decode a file into a pyarrow.Table within the memory limit, its text as dictionaries where possible."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        pages = unpacked_page_totals_by_column(data, metadata.num_columns)
    except InputFileError as error:
        raise _damaged_file_error(file, str(error)) from error
    # a file of a few bytes can have any number of rows, and its pages can unpack to any number of bytes
    size = metadata.num_rows * metadata.num_columns * BYTES_PER_CELL + sum(
        column.total_bytes for column in pages
    )
    content = f"{file}: its {metadata.num_rows} rows of {metadata.num_columns} columns"
    check_size(size, content, len(data))
    # any number of cells can repeat one text, so texts are read as dictionaries, whose size is known
    dictionary_columns = [
        field.name
        for field, column in zip(schema, pages, strict=True)
        if _is_string_or_large_string(field.type) and not column.has_delta_text
    ]
    parquet_file = parquet.ParquetFile(
        pa.BufferReader(data), page_checksum_verification=True, read_dictionary=dictionary_columns
    )
    if any(column.has_shared_beginnings for column in pages):
        batches = _batches_until_memory_limit(parquet_file, pages, size, content, len(data))
        table = pa.Table.from_batches(batches, parquet_file.schema_arrow)
    else:
        table = parquet_file.read()
    table.validate(full=True)
    return table


def _batches_until_memory_limit(
    parquet_file: Any, pages: list[PageSizes], cell_bytes: float, content: str, file_bytes: int
) -> Iterator["pa.RecordBatch"]:
    """Yield batches of decoded rows; raise where all together exceed the memory limit.

    Where texts share their beginnings, each text may be as long as its page. `cell_bytes` is the memory that
    the cells take at least; `content` names them in the message.
    """
    largest_row_bytes = sum(column.largest_bytes for column in pages if column.has_shared_beginnings)
    max_batch_bytes = _MAX_BATCH_SHARE * file_content_memory_limit_bytes(file_bytes)
    n_fitting_rows = int(max_batch_bytes / max(largest_row_bytes, 1))
    n_rows = min(max(n_fitting_rows, 1), _MAX_BATCH_ROWS)
    for batch in parquet_file.iter_batches(batch_size=n_rows):
        cell_bytes += batch.nbytes
        check_size(cell_bytes, content, file_bytes)
        yield batch


def _is_string_or_large_string(arrow_type: Any) -> bool:
    """Return whether a type of pyarrow is text, not coded as a dictionary."""
    from pyarrow import types

    return bool(types.is_string(arrow_type) or types.is_large_string(arrow_type))


def _sorted_text_dictionaries_and_float_decimals(
    file: Path, data: bytes | memoryview, table: "pa.Table"
) -> "pa.Table":
    """Return a table with text as sorted dictionaries, other dictionaries decoded, and decimals as floats."""
    import pyarrow as pa

    text_positions = []
    for position, field in enumerate(table.schema):
        column = table.column(position)
        if pa.types.is_decimal(field.type):
            table = table.set_column(position, field.name, column.cast(pa.float64()))
        elif pa.types.is_dictionary(field.type) and _is_string_or_large_string(field.type.value_type):
            text_positions.append(position)
        elif pa.types.is_dictionary(field.type):
            table = table.set_column(position, field.name, column.cast(field.type.value_type))
    text_columns = [table.column(position) for position in text_positions]
    sorted_columns = list(in_threads(sorted_dictionary, text_columns))
    text_sizes = in_threads(_total_text_bytes, sorted_columns)
    # memory in bytes of the columns up to here, with the text of every cell counted in full
    size = len(table) * table.num_columns * BYTES_PER_CELL
    for position, column, text_size in zip(text_positions, sorted_columns, text_sizes, strict=True):
        name = table.schema.names[position]
        size += text_size
        check_size(size, f"{file}: its {len(table)} rows, as far as column {name!r},", len(data))
        table = table.set_column(position, name, column)
    return table


def _total_text_bytes(column: Any) -> int:
    """Return the total length in bytes of the text in all cells of a dictionary column."""
    from pyarrow import compute

    lengths = compute.binary_length(column.dictionary)
    return compute.sum(lengths.take(column.indices)).as_py() or 0
