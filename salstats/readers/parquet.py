"""Read a Parquet file as a plain table."""

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import CELL, ColumnError, InputFileError, SalstatsError, check_size
from salstats.readers.cells import check_header

#: What pandas calls the row labels of a frame that has no name for them.
_ROW_LABELS = re.compile(r"__index_level_\d+__")
_WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")


def read_parquet(file: Path, data: bytes) -> pd.DataFrame:
    """A Parquet file's columns: text as text, whole numbers exact even beside empty cells."""
    import pyarrow as pa
    from pyarrow import compute, parquet

    exact = {getattr(pa, name.lower())(): getattr(pd, f"{name}Dtype")() for name in _WHOLE}
    try:
        said = parquet.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        schema, made_of = said.schema_arrow, said.metadata
        names = [n for n in schema.names if not (schema.pandas_metadata and _ROW_LABELS.fullmatch(n))]
        check_header(file, names)
        _check_columns(file, schema)
        # a few bytes can stand for any number of rows
        size = made_of.num_rows * made_of.num_columns * CELL
        size += sum(made_of.row_group(i).total_byte_size for i in range(made_of.num_row_groups))
        check_size(size, f"{file}: its {made_of.num_rows} rows of {made_of.num_columns} columns")
        # and one text for any number of cells: their length is known before they are written out
        texts = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
        source = pa.BufferReader(data)
        table = parquet.ParquetFile(source, page_checksum_verification=True, read_dictionary=texts).read()
        table.validate(full=True)
        table = table.select(names).replace_schema_metadata()
        for place, field in enumerate(table.schema):
            column = table.column(place)
            if pa.types.is_dictionary(field.type):
                if not pa.types.is_integer(field.type.value_type):
                    for part in column.chunks:
                        lengths = compute.binary_length(part.dictionary).take(part.indices)
                        size += compute.sum(lengths).as_py() or 0
                check_size(size, f"{file}: its {len(table)} rows, as far as column {field.name!r},")
                table = table.set_column(place, field.name, column.cast(field.type.value_type))
            elif pa.types.is_decimal(field.type):
                table = table.set_column(place, field.name, column.cast(pa.float64()))
        frame: pd.DataFrame = table.to_pandas(
            ignore_metadata=True, types_mapper={**exact, pa.bool_(): pd.BooleanDtype()}.get
        )
    except SalstatsError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = [*str(error).splitlines(), "damaged"][0]
        raise InputFileError(f"{file}: not a Parquet file, or damaged ({reason})") from error
    _check_dates(file, frame)
    return frame


def _check_dates(file: Path, frame: pd.DataFrame) -> None:
    """Raise where a time lies outside the years that Python has; such a cell has no text."""
    for name in frame.columns:
        dates = frame[name]
        if not pd.api.types.is_datetime64_any_dtype(dates):
            continue
        odd = dates.notna() & ~dates.dt.year.between(dt.MINYEAR, dt.MAXYEAR)
        if odd.any():
            row = int(odd.to_numpy().argmax()) + 1
            raise ColumnError(f"{file}, row {row}, column {name!r}: a time outside the years 1 to 9999")


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
