"""Read a Parquet file as a plain table."""

import re
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import CELL, ColumnError, InputFileError, SalstatsError, check_size
from salstats.readers.cells import check_header

#: What pandas calls the row labels of a frame that has no name for them.
_ROW_LABELS = re.compile(r"__index_level_\d+__")


def read_parquet(file: Path, data: bytes) -> pd.DataFrame:
    """A Parquet file's columns: text as text, whole numbers exact even beside empty cells.

    Row labels that pandas stored without a name are no data and are left out.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # unknown extension types come back as their storage
        opened = parquet.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        pandas_made = bool(opened.schema_arrow.pandas_metadata)
        names = [n for n in opened.schema_arrow.names if not (pandas_made and _ROW_LABELS.fullmatch(n))]
        check_header(file, names)
        _check_columns(file, opened.schema_arrow)
        said = opened.metadata
        # a few bytes can stand for any number of rows
        size = said.num_rows * said.num_columns * CELL
        size += sum(said.row_group(i).total_byte_size for i in range(said.num_row_groups))
        check_size(size, f"{file}: its {said.num_rows} rows of {said.num_columns} columns")
        # and one text for any number of cells: they are not written out before their length is known
        texts = [f.name for f in opened.schema_arrow if _is_text(f.type)]
        source = pa.BufferReader(data)
        table = parquet.ParquetFile(source, page_checksum_verification=True, read_dictionary=texts).read()
        table.validate(full=True)
    except SalstatsError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = [*str(error).splitlines(), "damaged"][0]
        raise InputFileError(f"{file}: not a Parquet file, or damaged ({reason})") from error
    # metadata of pandas may be damaged too
    table = table.select(names).replace_schema_metadata()
    for position, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = table.column(position)
            size += _written_out(column)
            check_size(size, f"{file}: its {len(table)} rows, as far as column {field.name!r},")
            table = table.set_column(position, field.name, column.cast(field.type.value_type))
    exact = {
        **{getattr(pa, name.lower())(): getattr(pd, f"{name}Dtype")() for name in _WHOLE},
        pa.bool_(): pd.BooleanDtype(),
    }
    return table.to_pandas(ignore_metadata=True, types_mapper=exact.get)


def _check_columns(file: Path, schema: Any) -> None:
    """Raise where a column holds neither text nor numbers."""
    from pyarrow import types

    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if any(is_it(kind) for is_it in (types.is_nested, types.is_binary, types.is_large_binary)):
            raise ColumnError(
                f"{file}, column {field.name!r}: its cells are of type {kind}, not text or numbers; "
                "leave the column out of the file"
            )


def _is_text(kind: Any) -> bool:
    """Whether cells are text."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _written_out(column: Any) -> int:
    """The bytes of a column whose texts are stored once each, every cell with a text of its own."""
    from pyarrow import compute

    if not _is_text(column.type.value_type):
        return 0
    lengths = (compute.binary_length(part.dictionary).take(part.indices) for part in column.chunks)
    return sum(compute.sum(each).as_py() or 0 for each in lengths)


_WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
