"""Read a delimited text file: every cell as text, without guesses, and with errors for damaged rows."""

import codecs
import csv
import io
import re
from pathlib import Path

from salstats.errors import InputFileError, Message, Setting
from salstats.frames import IDENTIFIER_COLUMNS
from salstats.memory_limit import BYTES_PER_CELL, check_size, problem_text_if_too_large
from salstats.readers.cells import TableOptions, check_header_names_are_distinct_and_filled
from salstats.readers.regular_text import TextTable, cells_of_any_length, read_regular_text

#: Characters that are errors in a table of text: NUL and other controls, C1 controls, into which a wrong
#: encoding turns quotes and dashes, and a second byte-order mark.
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff]")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Memory in bytes that a file takes for each of its bytes and for each of its cells, if read cell by cell.
_MEMORY_PER_BYTE_IF_STRICT = 4
_MEMORY_PER_CELL_IF_STRICT = 96
#: Separators to try on a header that seems to have one column only.
_SEPARATORS = (";", "\t", "|", ",")


def read_text(file: Path, data: bytes | memoryview, options: TableOptions, sep: str) -> TextTable:
    """Read the cells of a text file as text.

    A regular file is read fast, its columns of identifiers as Arrow dictionaries; others cell by cell.
    """
    _check_memory(file, data, sep, memory_per_byte=1, memory_per_cell=BYTES_PER_CELL)
    regular = read_regular_text(data, options.encoding, sep, IDENTIFIER_COLUMNS)
    if regular is None:
        _check_memory(
            file,
            data,
            sep,
            memory_per_byte=_MEMORY_PER_BYTE_IF_STRICT,
            memory_per_cell=_MEMORY_PER_CELL_IF_STRICT,
        )
        return _read_strictly(file, bytes(data), options, sep)
    check_header_names_are_distinct_and_filled(file, regular.cells.column_names)
    return regular


def _check_memory(
    file: Path, data: bytes | memoryview, sep: str, *, memory_per_byte: int, memory_per_cell: int
) -> None:
    """Raise where a file takes too much memory, given the bytes of memory for each of its bytes and cells."""
    # a file has at most as many cells as bytes; cells are only counted, which takes time, if that is too many
    if not problem_text_if_too_large(len(data) * (memory_per_byte + memory_per_cell), len(data)):
        return
    text = bytes(data)
    cell_ends = {sep.encode(errors="replace"), b"\n", b"\r"}
    n_cells = sum(text.count(end) for end in cell_ends)
    check_size(
        len(data) * memory_per_byte + n_cells * memory_per_cell, f"{file}: its {n_cells} cells", len(data)
    )


def _read_strictly(file: Path, data: bytes, options: TableOptions, sep: str) -> TextTable:
    """Read a file cell by cell; raise with the row where the file is damaged."""
    import pyarrow as pa

    text = _text_in_option_encoding(file, data, options)
    if not text.strip():
        raise InputFileError(f"{file} holds nothing but blank lines", path=file)
    n_leading_lines = len(text) - len(text.lstrip("\n"))
    header, *rows = _header_and_rows(file, text.strip("\n"), n_leading_lines, options, sep)
    check_header_names_are_distinct_and_filled(file, header)
    # row numbers as an editor counts lines: after blank lines and the header
    first_row_number = 2 + n_leading_lines
    for number, row in enumerate(rows, start=first_row_number):
        if len(row) != len(header):
            hint = Message("a cell that holds the separator must be quoted")
            option = None
            if sep == options.decimal:
                hint = Message(
                    Setting("sep"),
                    " and ",
                    Setting("decimal"),
                    " are both ','; numbers with decimal commas need another, such as ",
                    Setting("sep", ";"),
                )
                option = "sep"
            raise InputFileError(
                f"{file}, row {number}: {len(row)} cells where the header has {len(header)}: "
                f"{sep.join(row)[:60]!r}",
                hint=hint,
                option=option,
                value=row,
                rows=[number - first_row_number],
                path=file,
            )
    columns = list(zip(*rows, strict=True))
    if not rows:
        columns = [()] * len(header)
    cells = [pa.array(column, pa.large_string()) for column in columns]
    return TextTable(pa.table(cells, names=header), first_row_number)


def _header_and_rows(
    file: Path, text: str, n_blank_lines_above: int, options: TableOptions, sep: str
) -> list[list[str]]:
    """Read the header and the rows; raise where a quotation mark is left open, or a line is blank.

    `text` lacks the blank lines at the beginning and end of the file; `n_blank_lines_above` counts those at
    the beginning.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True)
    rows: list[list[str]] = []
    try:
        line = 1
        with cells_of_any_length():
            for row in reader:
                if not row:
                    blank_line = reader.line_num + n_blank_lines_above
                    raise InputFileError(
                        f"{file}, line {blank_line}: a blank line with data below it",
                        hint="remove it, or split the file where a second table begins",
                        rows=_data_row_of_line_empty_for_header(blank_line),
                        path=file,
                    )
                rows.append(row)
                if line == 1:
                    _check_separator(file, text, len(row), options, sep)
                # the first line of the next row, for the message of an open quotation mark
                line = reader.line_num + 1
    except csv.Error as error:
        if not rows:
            # a quoted header with another separator, "case";"task", is an error of the csv module
            _check_separator(file, text, 0, options, sep)
        first_line_of_row = line + n_blank_lines_above
        raise InputFileError(
            f"{file}, line {first_line_of_row}: a quotation mark is left open or stands inside a quoted "
            f"cell ({error})",
            hint='close it, or write it doubled ("")',
            rows=_data_row_of_line_empty_for_header(first_line_of_row),
            path=file,
        ) from error
    return rows


def _data_row_of_line_empty_for_header(line: int) -> list[int]:
    """Return the index of the data row in a line, if each row is one line; an empty list for the header."""
    if line < 2:
        return []
    return [line - 2]


def _check_separator(file: Path, text: str, n_columns: int, options: TableOptions, sep: str) -> None:
    """Raise where a header of less than two columns holds another common separator."""
    if n_columns >= 2:
        return
    line = text.partition("\n")[0]
    for separator in _SEPARATORS:
        if separator == sep or separator not in line:
            continue
        decimal_hint = Message()
        if separator == ";":
            decimal_hint = Message(" (and ", Setting("decimal", ","), " if its numbers have decimal commas)")
        raise InputFileError(
            f"{file}: the header is one column {line[:50]!r}",
            hint=options.options_hint_unless_fixed_format(
                "read it with ", Setting("sep", separator), decimal_hint
            ),
            option="sep",
            value=sep,
            path=file,
        )


def _text_in_option_encoding(file: Path, data: bytes, options: TableOptions) -> str:
    """Return the file's content as text without a byte-order mark, with lines that end in a line feed."""
    encoding = options.encoding
    # the encoding of the byte-order mark
    marked_encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    try:
        if marked_encoding and not codecs.lookup(encoding).name.startswith(marked_encoding):
            raise InputFileError(
                f"{file} is {marked_encoding.upper()}, not {encoding}",
                hint=options.options_hint_unless_fixed_format("use ", Setting("encoding", marked_encoding)),
                option="encoding",
                value=encoding,
                path=file,
            )
        text = data.decode(encoding).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        hint = options.options_hint_unless_fixed_format(
            "read the file with ",
            Setting("encoding", "latin-1"),
            " or ",
            Setting("encoding", "cp1252"),
            " if that is what it is",
        )
        line = len(data[: error.start + 1].splitlines())
        raise InputFileError(
            f"{file}, line {line}: byte 0x{data[error.start]:02x} is not {encoding}",
            hint=hint,
            option="encoding",
            value=encoding,
            rows=_data_row_of_line_empty_for_header(line),
            path=file,
        ) from error
    except (LookupError, UnicodeError) as error:
        raise InputFileError(
            Setting("encoding", encoding),
            " is not an encoding of text",
            hint="utf-8, latin-1 and cp1252 are usual",
        ) from error
    control = CONTROL_CHARACTER.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        hint = options.options_hint_unless_fixed_format(
            "is ",
            Setting("encoding", encoding),
            " right (cp1252 is usual on Windows, some programs write utf-16)?",
        )
        raise InputFileError(
            f"{file}, line {line}: control character U+{ord(control.group()):04X}; damaged, or not a table",
            hint=hint,
            option="encoding",
            value=encoding,
            rows=_data_row_of_line_empty_for_header(line),
            path=file,
        )
    return text
