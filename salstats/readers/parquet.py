"""Read a Parquet file as a plain table."""

import re
from pathlib import Path

import pandas as pd

from salstats.checks import ColumnError, InputFileError
from salstats.readers.table_options import check_header

#: What pandas calls the row labels of a frame that has no name for them.
_ROW_LABELS = re.compile(r"__index_level_\d+__")


def read_parquet(file: Path) -> pd.DataFrame:
    """Return a Parquet file's columns: text as text, whole numbers exact even beside empty cells.

    Row labels that pandas stored without a name are no data and are left out.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # ParquetFile reads this one file only; unknown extension types come back as their storage
        table = parquet.ParquetFile(file, page_checksum_verification=True).read()
        table.validate(full=True)
        pandas_made = bool(table.schema.pandas_metadata)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = [*str(error).splitlines(), "damaged"][0]
        raise InputFileError(f"{file}: not a Parquet file, or damaged ({reason})") from error
    if pandas_made:
        table = table.select([i for i, n in enumerate(table.column_names) if not _ROW_LABELS.fullmatch(n)])
    check_header(file, table.column_names)
    for position, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_dictionary(kind):
            table = table.set_column(position, field.name, table.column(position).cast(kind.value_type))
            kind = kind.value_type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise ColumnError(
                f"{file}, column {field.name!r}: its cells are of type {kind}, not text or numbers; "
                "leave the column out of the file"
            )
    exact = {
        **{getattr(pa, name.lower())(): getattr(pd, f"{name}Dtype")() for name in _WHOLE},
        pa.bool_(): pd.BooleanDtype(),
    }
    return table.to_pandas(ignore_metadata=True, types_mapper=exact.get)


_WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
