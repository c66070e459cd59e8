"""Read a table file strictly: every cell as text, nothing guessed, nothing dropped in silence."""

import csv
import io
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import InputFileError, SalstatsWarning, check_choice, quoted

#: What stands for a missing number; identifiers are never compared with these.
NA_STRINGS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A")
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx")

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
_LEADING_ZERO = re.compile(r"0\d+")
_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}


@dataclass(frozen=True)
class TableOptions:
    """How to read a table file; see `read_scores` for what each means."""

    sep: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    na: Sequence[str] = NA_STRINGS
    sheet: str | None = None


def read_table(path: str | os.PathLike[str], options: TableOptions | None = None) -> pd.DataFrame:
    """Read a CSV, TSV, Parquet or XLSX file with every cell as text, exactly as it stands.

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
        `frame.attrs["first_row"]` is the file's row number of the first data row.

    Raises
    ------
    InputFileError
        No such file; a folder; empty; another ending; another encoding; control characters; no data
        rows; a row with more or fewer cells than the header; a header that stands twice or is empty.
    """
    options = options or TableOptions()
    check_choice(options.decimal, (".", ","), "decimal")
    if options.sep is not None and len(options.sep) != 1:
        raise InputFileError(f"sep must be one character, not {options.sep!r}")
    file = Path(path)
    if file.is_dir():
        raise InputFileError(f"{file} is a folder; give the path of a file")
    if not file.exists():
        raise InputFileError(f"{file}: no such file")
    suffix = file.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise InputFileError(
            f"{file}: cannot tell what {suffix or 'a file without an ending'} is; "
            f"name it {', '.join(TABLE_SUFFIXES)}"
        )
    if file.stat().st_size == 0:
        raise InputFileError(f"{file} is empty")
    if suffix == ".parquet":
        frame = _read_parquet(file)
    elif suffix == ".xlsx":
        frame = _read_xlsx(file, options)
    else:
        frame = _read_text(file, options, default_sep="\t" if suffix == ".tsv" else ",")
    if frame.empty:
        raise InputFileError(f"{file} has a header but no data rows")
    return frame


def _read_text(file: Path, options: TableOptions, default_sep: str) -> pd.DataFrame:
    """Read a delimited text file."""
    from pyarrow import csv as arrow_csv
    from pyarrow import lib as arrow_lib
    from pyarrow import string

    data = file.read_bytes()
    text_bytes = _utf8(file, data, options.encoding)
    found = _CONTROL.search(text_bytes)
    if found:
        line = text_bytes.count(b"\n", 0, found.start()) + 1
        raise InputFileError(
            f"{file}, line {line}: control character 0x{found.group()[0]:02x}; damaged, or not a table"
        )
    sep = options.sep or default_sep
    header_line = text_bytes.lstrip(b"\r\n").split(b"\n", 1)[0].decode("utf-8")
    try:
        header = next(csv.reader(io.StringIO(header_line), delimiter=sep, strict=True))
    except (csv.Error, StopIteration) as error:
        raise InputFileError(f"{file}: cannot read the header ({error})") from error
    _check_header(file, header, sep)
    bad_rows: list = []

    def remember(row: object) -> str:
        bad_rows.append(row)
        return "skip"

    try:
        table = arrow_csv.read_csv(
            io.BytesIO(text_bytes),
            # one thread: only then does a bad row know its number
            read_options=arrow_csv.ReadOptions(
                use_threads=False, column_names=header, skip_rows=1, block_size=1 << 24
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=sep, newlines_in_values=True, invalid_row_handler=remember
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(header, string()), strings_can_be_null=False
            ),
        )
    except arrow_lib.ArrowInvalid as error:
        raise InputFileError(f"{file}: cannot be read as a table ({error})") from error
    if bad_rows:
        row = bad_rows[0]
        raise InputFileError(
            f"{file}, row {row.number}: {row.actual_columns} cells where the header has "
            f"{row.expected_columns}: {str(row.text)[:60]!r}"
        )
    frame = table.to_pandas(types_mapper={string(): pd.StringDtype(na_value=np.nan)}.get)
    _check_quotes(file, frame)
    frame.attrs["first_row"] = 2
    return frame


def _check_quotes(file: Path, frame: pd.DataFrame) -> None:
    """Raise when a cell spans lines: nearly always a quote that was never closed."""
    for column in frame.columns:
        broken = frame[column].str.contains("\n", regex=False)
        if broken.any():
            row = int(np.flatnonzero(broken.to_numpy())[0])
            raise InputFileError(
                f"{file}, row {row + 2}, column {column!r}: the cell spans several lines; "
                "is a quotation mark left open?"
            )


def _utf8(file: Path, data: bytes, encoding: str) -> bytes:
    """Return the file's bytes as UTF-8 without a byte-order mark."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        raise InputFileError(f"{file} is UTF-16, not utf-8; read it with encoding='utf-16'")
    try:
        text = data.decode(encoding)
    except LookupError as error:
        raise InputFileError(
            f"encoding={encoding!r} is not known; utf-8, latin-1 and cp1252 are usual"
        ) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputFileError(
            f"{file}, line {line}: byte 0x{data[error.start]:02x} is not {encoding}; "
            "read the file with encoding='latin-1' or encoding='cp1252' if that is what it is"
        ) from error
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").encode("utf-8")


def _check_header(file: Path, header: list[str], sep: str) -> None:
    """Raise when the header is a wrong separator's, or holds a name twice or none."""
    if len(header) == 1:
        for other, name in ((";", "';'"), ("\t", "'\\t'"), ("|", "'|'"), (",", "','")):
            if other != sep and other in header[0]:
                raise InputFileError(
                    f"{file}: the header is one column {header[0][:50]!r}; read it with sep={name}"
                    + (" (and decimal=',' if its numbers have decimal commas)" if other == ";" else "")
                )
    for position, name in enumerate(header):
        if header.index(name) != position:
            raise InputFileError(f"{file}: column {name!r} is twice in the header; rename one of them")
        if not name.strip() and position > 0:
            raise InputFileError(f"{file}: column {position + 1} has no name in the header")
        if name != name.strip():
            raise InputFileError(
                f"{file}: column {name!r} has a blank around its name; remove it in the file"
            )
    if not header[0]:
        raise InputFileError(
            f"{file}: column 1 has no name in the header (row numbers, written by pandas or R?); "
            "write the file without them (index=False, row.names=FALSE)"
        )


def _read_parquet(file: Path) -> pd.DataFrame:
    """Read a Parquet file."""
    from pyarrow import lib as arrow_lib
    from pyarrow import parquet

    try:
        # ParquetFile reads this one file only; unknown extension types come back as their storage
        table = parquet.ParquetFile(file).read()
    except (arrow_lib.ArrowException, OSError) as error:
        raise InputFileError(f"{file}: not a Parquet file ({str(error).splitlines()[0]})") from error
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise InputFileError(f"{file}: column {name!r} is twice; rename one of them")
    frame = table.to_pandas(ignore_metadata=True)
    frame.attrs["first_row"] = 1
    return frame


def _read_xlsx(file: Path, options: TableOptions) -> pd.DataFrame:
    """Read one sheet of a workbook, numbers as numbers and text as text."""
    from zipfile import BadZipFile

    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with warnings.catch_warnings():
            # openpyxl warns of styles and validations it leaves out; cell values are all that is read
            warnings.simplefilter("ignore", UserWarning)
            book = load_workbook(file, read_only=True, data_only=True)
    except (BadZipFile, InvalidFileException, KeyError, OSError) as error:
        raise InputFileError(f"{file}: not an XLSX workbook ({error})") from error
    try:
        if options.sheet is None and len(book.sheetnames) > 1:
            raise InputFileError(
                f"{file} has several sheets; choose one with sheet=: {quoted(book.sheetnames)}"
            )
        sheet = options.sheet or book.sheetnames[0]
        if sheet not in book.sheetnames:
            raise InputFileError(f"{file} has no sheet {sheet!r}; it has {quoted(book.sheetnames)}")
        rows = book[sheet].iter_rows()
        head = [cell.value for cell in next(rows, ())]
        while head and head[-1] is None:
            head.pop()
        if not head:
            raise InputFileError(
                f"{file}, sheet {sheet!r}: the first row is empty; it must hold the column names"
            )
        header = ["" if value is None else str(value) for value in head]
        _check_header(file, header, sep=",")
        columns: list[list] = [[] for _ in header]
        zeros: dict[str, tuple[str, str]] = {}
        blank = 0
        for number, row in enumerate(rows, start=2):
            cells = list(row)
            if all(cell.value is None for cell in cells):
                blank += 1
                continue
            if blank:
                raise InputFileError(
                    f"{file}, sheet {sheet!r}, row {number - blank}: an empty row in the middle"
                )
            extra = [cell for cell in cells[len(header) :] if cell.value is not None]
            if extra:
                raise InputFileError(
                    f"{file}, sheet {sheet!r}, cell {extra[0].coordinate}: more cells than the header has"
                )
            for position, name in enumerate(header):
                cell = cells[position] if position < len(cells) else None
                value = None if cell is None else cell.value
                columns[position].append(value)
                if isinstance(value, int | float) and not isinstance(value, bool):
                    shown = str(cell.number_format)  # type: ignore[union-attr]
                    if name not in zeros and re.fullmatch(r"0{2,}", shown):
                        zeros[name] = (cell.coordinate, f"{value:0{len(shown)}.0f}")  # type: ignore[union-attr]
    finally:
        book.close()
    for name, (coordinate, shown) in zeros.items():
        warnings.warn(
            f"{file}, cell {coordinate}: column {name!r} holds numbers shown as {shown}; their leading zeros "
            "are not in the file and are lost; store the column as text to keep them",
            SalstatsWarning,
            stacklevel=4,
        )
    frame = pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in zip(header, columns, strict=True)})
    frame.attrs["first_row"] = 2
    return frame


def identifier_text(column: pd.Series, where: str) -> pd.Series:
    """Return a column as text, cell by cell as it stands; whole numbers lose a trailing '.0'.

    Raises InputFileError for a date (a spreadsheet turns an id such as 1-2 into one).
    """
    if isinstance(column.dtype, pd.StringDtype):
        return column.astype("str")
    if pd.api.types.is_integer_dtype(column):
        return column.astype("str")
    values = column.to_list()
    out: list[str | None] = []
    for row, value in enumerate(values):
        if value is None or (isinstance(value, float) and np.isnan(value)) or value is pd.NA:
            out.append("")
        elif isinstance(value, float | np.floating) and float(value).is_integer():
            out.append(str(int(value)))
        elif hasattr(value, "isoformat"):
            raise InputFileError(
                f"{where}: row {row} is a date ({value}), not a name; store the column as text"
            )
        else:
            out.append(str(value))
    return pd.Series(out, index=column.index, dtype="str")


def number_column(column: pd.Series, options: TableOptions) -> tuple[pd.Series, int | None]:
    """Return a column as float64 and the position of the first cell that is no number, or None."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return column.astype("float64"), None
    if isinstance(column.dtype, pd.StringDtype):
        text = column.fillna("").str.strip()
    else:
        text = (
            column.map(lambda v: "" if v is None or v is pd.NA or v != v else str(v))
            .astype("str")
            .str.strip()
        )
    if options.decimal == ",":
        text = text.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    missing = text.isin(list(options.na))
    numbers = pd.to_numeric(text.where(~missing), errors="coerce").astype("float64")
    odd = numbers.isna().to_numpy() & ~missing.to_numpy()
    if odd.any():
        numbers = numbers.where(~odd, text.map(_TRUTH).astype("float64"))
        odd = numbers.isna().to_numpy() & ~missing.to_numpy()
    # pandas reads "inf" and "Infinity" as numbers; that is for the caller to judge
    return numbers, int(np.flatnonzero(odd)[0]) if odd.any() else None


def is_decimal_comma(value: object) -> bool:
    """Return whether a cell looks like a number with a decimal comma."""
    return _DECIMAL_COMMA.fullmatch(str(value).strip()) is not None


def covariate(column: pd.Series, options: TableOptions) -> pd.Series:
    """Return a column as numbers where every cell is one, else as text with NA strings as missing.

    A column with a cell such as "007" is text: a number would lose its zeros.
    """
    numbers, bad = number_column(column, options)
    if isinstance(column.dtype, pd.StringDtype):
        zeros = bool(column.str.fullmatch(_LEADING_ZERO.pattern).any())
    else:
        zeros = any(isinstance(v, str) and _LEADING_ZERO.fullmatch(v) for v in column)
    if bad is None and not zeros:
        return numbers
    text = identifier_text(column, f"column {column.name!r}")
    return text.where(~text.isin(list(options.na)))


def check_mapping(
    mapping: Mapping[str, object] | None, frame: pd.DataFrame, file: object, option: str
) -> None:
    """Raise when an option names a column that the file lacks."""
    for name in mapping or {}:
        if name not in frame.columns:
            raise InputFileError(
                f"{file}: {option} names column {name!r}, which it lacks (columns: {quoted(frame.columns)})"
            )
