"""Read a delimited text file strictly: every cell as text, nothing guessed, nothing dropped."""

import codecs
import csv
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import InputFileError
from salstats.readers.cells import TableOptions, check_header

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: Beyond ASCII: C1 controls, which a wrong encoding makes of quotes and dashes, and a stray byte-order mark.
_CONTROL_BEYOND_ASCII = re.compile("[\x80-\x9f\ufeff]")
_BLANK_LINE = re.compile(rb"\n\n+[^\n]")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Separators a one-column header may really have, and how to write them.
_OTHER_SEPARATORS = ((";", "';'"), ("\t", "'\\t'"), ("|", "'|'"), (",", "','"))


def read_text(file: Path, data: bytes, options: TableOptions, sep: str) -> tuple[pd.DataFrame, int]:
    """The cells of a delimited text file, and its number of the first data row."""
    from pyarrow import csv as arrow_csv
    from pyarrow import lib as arrow_lib
    from pyarrow import string

    content = _utf8(file, data, options)
    leading = len(content) - len(content.lstrip(b"\n"))
    if not content.strip():
        raise InputFileError(f"{file} holds nothing but blank lines")
    # pyarrow takes a header without its line end for no file at all
    content = content.strip(b"\n") + b"\n"
    header = _header(file, content.split(b"\n", 1)[0].decode("utf-8"), sep, options)
    check_header(file, header)
    _check_quotes(file, content, sep)
    _check_blank_lines(file, content, leading)
    bad_rows: list = []

    def remember(row: object) -> str:
        bad_rows.append(row)
        return "skip"

    try:
        table = arrow_csv.read_csv(
            io.BytesIO(content),
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
        where = f"{file}, row {row.number + leading}"
        hint = "a cell that holds the separator must be quoted"
        if sep == options.decimal:
            hint = "sep and decimal are both ','; numbers with decimal commas need another sep, such as ';'"
        raise InputFileError(
            f"{where}: {row.actual_columns} cells where the header has {row.expected_columns}: "
            f"{str(row.text)[:60]!r}; {hint}"
        )
    cells = table.to_pandas(types_mapper={string(): pd.StringDtype(na_value=np.nan)}.get)
    return cells, 2 + leading


def _utf8(file: Path, data: bytes, options: TableOptions) -> bytes:
    """The file's content as UTF-8 without a byte-order mark, lines ending in a line feed."""
    encoding = options.encoding
    try:
        known = codecs.lookup(encoding).name
    except (LookupError, UnicodeError) as error:
        raise InputFileError(
            f"encoding={encoding!r} is not known; utf-8, latin-1 and cp1252 are usual"
        ) from error
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), known)
    if not known.startswith(marked):
        advice = options.advice(f"use encoding={marked!r}")
        raise InputFileError(f"{file} is {marked.upper()}, not {encoding}{advice}")
    try:
        text = data.decode(encoding)
    except LookupError as error:
        raise InputFileError(f"encoding={encoding!r} is not a text encoding") from error
    except UnicodeDecodeError as error:
        advice = options.advice(
            "read the file with encoding='latin-1' or encoding='cp1252' if that is what it is"
        )
        raise InputFileError(
            f"{file}, line {_line(data, error.start)}: byte 0x{data[error.start]:02x} is not {encoding}"
            f"{advice}"
        ) from error
    except UnicodeError as error:
        raise InputFileError(f"encoding={encoding!r} cannot be read ({error})") from error
    text = text.removeprefix("\ufeff")
    content = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "surrogatepass")
    found = _CONTROL.search(content)
    if found:
        advice = options.advice("is it UTF-16 (encoding='utf-16')?") if found.group() == b"\x00" else ""
        raise InputFileError(
            f"{file}, line {_line(content, found.start())}: control character 0x{found.group()[0]:02x}; "
            f"damaged, or not a table{advice}"
        )
    beyond = None if content.isascii() else _CONTROL_BEYOND_ASCII.search(text)
    if beyond:
        advice = options.advice(f"is encoding={encoding!r} right (cp1252 is usual on Windows)?")
        raise InputFileError(
            f"{file}, line {len(text[: beyond.start() + 1].splitlines())}: control character "
            f"U+{ord(beyond.group()):04X}{advice}"
        )
    return content


def _line(data: bytes, position: int) -> int:
    """The number of the line that a position lies in."""
    return len(data[: position + 1].splitlines())


def _header(file: Path, line: str, sep: str, options: TableOptions) -> list[str]:
    """The column names; an error where they are of another separator."""
    unreadable: csv.Error | None = None
    try:
        header = next(csv.reader([line], delimiter=sep, strict=True))
    except csv.Error as error:
        # of "case";"task" the csv module says that a ',' was expected
        header, unreadable = [], error
    for other, name in _OTHER_SEPARATORS if len(header) < 2 else ():
        if other != sep and _n_columns(line, other) > 1:
            decimal = " (and decimal=',' if its numbers have decimal commas)" if other == ";" else ""
            advice = options.advice(f"read it with sep={name}{decimal}")
            raise InputFileError(f"{file}: the header is one column {line[:50]!r}{advice}")
    if unreadable is not None:
        raise InputFileError(
            f"{file}: the header cannot be read ({unreadable}); is a quotation mark left open?"
        ) from unreadable
    return header


def _n_columns(line: str, sep: str) -> int:
    """How many columns a header has with a separator; 0 where it cannot be read."""
    try:
        return len(next(csv.reader([line], delimiter=sep, strict=True)))
    except csv.Error:
        return 0


def _check_quotes(file: Path, content: bytes, sep: str) -> None:
    """Raise when a quotation mark is left open or stands where none may: the parser would join cells."""
    data = np.frombuffer(content, dtype=np.uint8)
    marks = np.flatnonzero(data == ord('"'))
    if not marks.size:
        return
    # RFC 4180: marks open and close in turn, at the edges of a cell or doubled inside it
    edges = [ord(sep), ord("\n"), ord('"')]
    opening, closing = marks[0::2], marks[1::2]
    opens = (opening == 0) | np.isin(data[opening - 1], edges)
    closes = (closing == len(data) - 1) | np.isin(data[np.minimum(closing + 1, len(data) - 1)], edges)
    if len(opening) == len(closing) and opens.all() and closes.all():
        return
    # a mark inside an unquoted cell, as in 5" wide, is harmless: let a full parser judge
    reader = csv.reader(io.StringIO(content.decode("utf-8")), delimiter=sep, strict=True)
    line = 1
    try:
        for _ in reader:
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputFileError(
            f"{file}, line {line}: a quotation mark is left open or stands inside a quoted cell ({error}); "
            'close it, or write it doubled ("")'
        ) from error


def _check_blank_lines(file: Path, content: bytes, leading: int) -> None:
    """Raise when a blank line has data below it, unless it lies inside a quoted cell."""
    n_quotes = seen = 0
    for found in _BLANK_LINE.finditer(content):
        n_quotes += content.count(b'"', seen, found.start())
        seen = found.start()
        if n_quotes % 2 == 0:
            line = _line(content, found.start()) + leading + 1
            raise InputFileError(
                f"{file}, line {line}: a blank line with data below it; "
                "remove it, or split the file where a second table begins"
            )
