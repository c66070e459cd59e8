"""Read a table file strictly: every cell as text, nothing guessed, nothing dropped in silence."""

from collections.abc import Collection, Iterable
from pathlib import Path

import pandas as pd

from salstats.checks import InputFileError, check_plain, did_you_mean, quoted
from salstats.readers.cells import number_column
from salstats.readers.parquet import read_parquet
from salstats.readers.table_options import NA_STRINGS, PathLike, TableOptions
from salstats.readers.text import read_text
from salstats.readers.xlsx import read_xlsx

__all__ = [
    "NA_STRINGS",
    "TABLE_SUFFIXES",
    "PathLike",
    "TableOptions",
    "check_mapping",
    "number_column",
    "read_table",
]

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx")
#: First bytes of files that are not what a name may say: bytes, the right ending, what it is.
_SIGNATURES = (
    (b"PK\x03\x04", ".xlsx", "a zip archive, such as an XLSX workbook; name it .xlsx if it is one"),
    (b"PAR1", ".parquet", "a Parquet file; name it .parquet"),
    (
        b"\xd0\xcf\x11\xe0",
        None,
        "an old Excel workbook (.xls) or one with a password; save it as .xlsx without",
    ),
    (b"\x1f\x8b", None, "compressed by gzip; unpack it"),
)


def read_table(path: PathLike, options: TableOptions | None = None) -> pd.DataFrame:
    """Read a CSV, TSV, Parquet or XLSX file with every cell exactly as it stands.

    Parameters
    ----------
    path : str or path
        The file; its ending says what it is.
    options : TableOptions, optional
        Separator, encoding, sheet.

    Returns
    -------
    DataFrame
        Text columns; numeric columns too from Parquet and XLSX. An empty cell is "" (text) or NaN.
        `frame.attrs["first_row"]` is the file's row number of the first data row: 2 below a header,
        1 in Parquet.

    Raises
    ------
    InputFileError
        No such file; a folder; empty; another ending; another encoding; control characters; no data
        rows; a row with more or fewer cells than the header; a blank line in the middle; a quotation
        mark left open; a header that stands twice or is empty; a formula without a value.
    """
    options = options or TableOptions()
    file = Path(path)
    suffix = _check_file(file)
    if suffix == ".parquet":
        frame = read_parquet(file)
    elif suffix == ".xlsx":
        frame = read_xlsx(file, options)
    else:
        frame = read_text(file, options, default_sep="\t" if suffix == ".tsv" else ",")
    frame.attrs.setdefault("first_row", 1 if suffix == ".parquet" else 2)
    if frame.empty:
        raise InputFileError(f"{file} has a header but no data rows")
    return frame


def _check_file(file: Path) -> str:
    """Return the ending of a file that is there, is not empty, and is what its name says."""
    try:
        if not file.exists():
            raise InputFileError(f"{file}: no such file")
        check_plain(file)
        suffix = file.suffix.lower()
        if suffix not in TABLE_SUFFIXES:
            raise InputFileError(
                f"{file}: cannot tell what {suffix or 'a file without an ending'} is; "
                f"name it {', '.join(TABLE_SUFFIXES)}"
            )
        if file.stat().st_size == 0:
            raise InputFileError(f"{file} is empty")
        with file.open("rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise InputFileError(f"{file}: cannot be read ({error.strerror or error})") from error
    for signature, right, what in _SIGNATURES:
        if start.startswith(signature) and suffix != right:
            raise InputFileError(f"{file} is not what its ending says but {what}")
    return suffix


def check_mapping(
    names: Iterable[str] | None,
    frame: pd.DataFrame,
    file: object,
    option: str,
    elsewhere: Collection[str] = (),
) -> None:
    """Raise when an option names a column that the file lacks, unless it is a column `elsewhere`."""
    for name in names or ():
        if name not in frame.columns and name not in elsewhere:
            hint = did_you_mean(name, frame.columns)
            raise InputFileError(
                f"{file}: {option} names column {name!r}, which it lacks{hint} "
                f"(columns: {quoted(frame.columns)})"
            )
