"""Read a delimited text file strictly: every cell as text, nothing guessed, nothing dropped."""

import codecs
import csv
import io
import re
from pathlib import Path
from typing import Any

from salstats.errors import InputFileError
from salstats.frames import IDENTIFIER_COLUMNS
from salstats.memory_limit import CELL, check_size, too_large
from salstats.readers.cells import TableOptions, check_header
from salstats.readers.regular_text import cells_of_any_length, read_regular_text

#: What no table of text holds: NUL and other controls, C1 controls, which a wrong encoding makes of quotes
#: and dashes, and a second byte-order mark.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff]")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Bytes of memory for one of a file that is read cell by cell, and for each of its cells beside these.
_STRICT_BYTES, _STRICT_CELL = 4, 96
#: Separators that a header of one column may really have, and how to write them.
_OTHER_SEPARATORS = {";": "';'", "\t": "'\\t'", "|": "'|'", ",": "','"}


def read_text(file: Path, data: bytes | memoryview, options: TableOptions, sep: str) -> tuple[Any, int]:
    """Read the cells of a delimited text file as a pyarrow.Table, and its number of the first data row.

    Columns of identifiers are dictionaries where the file is regular.
    """
    _check_cells(file, data, sep, 1, CELL)
    regular = read_regular_text(data, options.encoding, sep, IDENTIFIER_COLUMNS)
    if regular is None:
        _check_cells(file, data, sep, _STRICT_BYTES, _STRICT_CELL)
        return _read_strictly(file, bytes(data), options, sep)
    check_header(file, regular[0].column_names)
    return regular


def _check_cells(file: Path, data: bytes | memoryview, sep: str, of_byte: int, of_cell: int) -> None:
    """Raise where a file takes too much memory, so much for each of its bytes and so much for each cell."""
    # no file has more cells than bytes, and counting them takes time
    if not too_large(len(data) * (of_byte + of_cell), len(data)):
        return
    text = bytes(data)
    n_cells = sum(text.count(mark) for mark in {sep.encode(errors="replace"), b"\n", b"\r"})
    check_size(len(data) * of_byte + n_cells * of_cell, f"{file}: its {n_cells} cells", len(data))


def _read_strictly(file: Path, data: bytes, options: TableOptions, sep: str) -> tuple[Any, int]:
    """Read a file cell by cell; what is wrong with it is an error that names its row."""
    import pyarrow as pa

    text = _decoded(file, data, options)
    if not text.strip():
        raise InputFileError(f"{file} holds nothing but blank lines")
    leading = len(text) - len(text.lstrip("\n"))
    header, *rows = _records(file, text.strip("\n"), leading, options, sep)
    check_header(file, header)
    for number, row in enumerate(rows, start=2 + leading):
        if len(row) != len(header):
            hint = "a cell that holds the separator must be quoted"
            if sep == options.decimal:
                hint = (
                    "sep and decimal are both ','; numbers with decimal commas need another sep, such as ';'"
                )
            raise InputFileError(
                f"{file}, row {number}: {len(row)} cells where the header has {len(header)}: "
                f"{sep.join(row)[:60]!r}; {hint}"
            )
    columns = zip(*rows, strict=True) if rows else ((),) * len(header)
    cells = [pa.array(column, pa.large_string()) for column in columns]
    return pa.table(cells, names=header), 2 + leading


def _records(file: Path, text: str, leading: int, options: TableOptions, sep: str) -> list[list[str]]:
    """The header and the rows; an error where a quotation mark is left open, or a line is blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True)
    rows: list[list[str]] = []
    try:
        line = 1
        with cells_of_any_length():
            for row in reader:
                if not row:
                    raise InputFileError(
                        f"{file}, line {reader.line_num + leading}: a blank line with data below it; "
                        "remove it, or split the file where a second table begins"
                    )
                rows.append(row)
                if line == 1:
                    _check_separator(file, text, len(row), options, sep)
                line = reader.line_num + 1
    except csv.Error as error:
        if not rows:
            # of "case";"task" the csv module says that a ',' was expected
            _check_separator(file, text, 0, options, sep)
        raise InputFileError(
            f"{file}, line {line + leading}: a quotation mark is left open or stands inside a quoted cell "
            f'({error}); close it, or write it doubled ("")'
        ) from error
    return rows


def _check_separator(file: Path, text: str, n_columns: int, options: TableOptions, sep: str) -> None:
    """Raise where the header is one column that another separator would divide."""
    line = text.partition("\n")[0]
    found = next((each for each in _OTHER_SEPARATORS if each != sep and each in line), None)
    if n_columns < 2 and found is not None:
        decimal = " (and decimal=',' if its numbers have decimal commas)" if found == ";" else ""
        advice = options.advice(f"read it with sep={_OTHER_SEPARATORS[found]}{decimal}")
        raise InputFileError(f"{file}: the header is one column {line[:50]!r}{advice}")


def _decoded(file: Path, data: bytes, options: TableOptions) -> str:
    """The file's content without a byte-order mark, lines ending in a line feed."""
    encoding = options.encoding
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    try:
        if marked and not codecs.lookup(encoding).name.startswith(marked):
            advice = options.advice(f"use encoding={marked!r}")
            raise InputFileError(f"{file} is {marked.upper()}, not {encoding}{advice}")
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        advice = options.advice(
            "read the file with encoding='latin-1' or encoding='cp1252' if that is what it is"
        )
        line = len(data[: error.start + 1].splitlines())
        raise InputFileError(
            f"{file}, line {line}: byte 0x{data[error.start]:02x} is not {encoding}{advice}"
        ) from error
    except (LookupError, UnicodeError) as error:
        raise InputFileError(
            f"encoding={encoding!r} is no encoding of text; utf-8, latin-1 and cp1252 are usual"
        ) from error
    found = CONTROL.search(text)
    if found:
        line = len(text[: found.start() + 1].splitlines())
        raise InputFileError(
            f"{file}, line {line}: control character U+{ord(found.group()):04X}; damaged, or not a table"
            + options.advice(
                f"is encoding={encoding!r} right (cp1252 is usual on Windows, some programs write utf-16)?"
            )
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
