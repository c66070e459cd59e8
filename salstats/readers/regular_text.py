"""Read a delimited text file with pyarrow where it is regular; the strict reader answers for all others.

Both readers give the same cells of a regular file. What makes a file irregular, such as a blank line or a
quotation mark inside a cell, is found here only as far as to leave the file to the strict reader, whose
messages name row and column.
"""

import codecs
import csv
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

#: Bytes looked at together, so that what is made of them stays in the processor's cache.
_CHUNK = 1 << 20
_TAB, _LINE_FEED, _RETURN, _QUOTE, _DELETE = b'\t\n\r"\x7f'
#: Smaller bytes are control characters, larger ones parts of characters beyond ASCII.
_FIRST_PRINTABLE, _FIRST_BEYOND_ASCII = 32, 128
#: Characters of a cell that Python's csv module may read, the most that it can be told.
_LONGEST = 2**31 - 1
#: First byte of the C1 controls in UTF-8, and of some letters.
_MAYBE_CONTROL = b"\xc2"


@contextmanager
def cells_of_any_length() -> Iterator[None]:
    """Let Python's csv module read cells of any length within the block."""
    before = csv.field_size_limit(_LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def read_regular_text(
    data: bytes, encoding: str, sep: str, coded: Collection[str] = ()
) -> tuple[Any, int] | None:
    """Read a regular file's cells as text.

    Parameters
    ----------
    data : bytes
        The file's content.
    encoding : str
        Its encoding; a file that is not in UTF-8 is not regular.
    sep : str
        What separates its cells.
    coded : collection of str
        Columns whose text is likely to repeat, which are read as dictionaries.

    Returns
    -------
    tuple of pyarrow.Table and int, or None
        The columns as large_string, or dictionaries of strings, without a missing cell, and the file's number
        of the first data row; None where the file is not regular.
    """
    if not _is_utf8(encoding) or not sep.isascii():
        return None
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    if not _has_known_characters(data, start):
        return None
    first_line = start
    while first_line < len(data) and data[first_line] in (_LINE_FEED, _RETURN):
        first_line += 1
    n_leading = data.count(b"\n", start, first_line)
    end = len(data)
    while end > first_line and data[end - 1] in (_LINE_FEED, _RETURN):
        end -= 1
    content = memoryview(data)[first_line:end]
    quoted = b'"' in data
    if quoted and not _has_regular_quotes(data, first_line, end, sep):
        return None
    header_end = data.find(b"\n", first_line, end)
    if header_end < 0:
        return None
    try:
        header_line = data[first_line:header_end].decode()
    except UnicodeDecodeError:
        return None
    try:
        with cells_of_any_length():
            header = next(csv.reader([header_line], delimiter=sep))
    except csv.Error:
        return None
    if len(header) < 2 or len(set(header)) < len(header):
        return None
    table = _parsed(content, header, sep, coded, quoted=quoted)
    if table is None or _has_blank_line(table, data, first_line, end):
        return None
    return table, 2 + n_leading


def _is_utf8(encoding: str) -> bool:
    """Whether text in an encoding is UTF-8 as it stands."""
    try:
        return codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        return False


def _has_known_characters(data: bytes, start: int) -> bool:
    """Whether there is no control character but tabs and ends of lines, nor a second byte-order mark."""
    content = np.frombuffer(data, dtype=np.uint8)
    n_returns = 0
    beyond_ascii = False
    for first in range(start, len(content), _CHUNK):
        chunk = content[first : first + _CHUNK]
        n_known = int(np.count_nonzero(chunk == _LINE_FEED) + np.count_nonzero(chunk == _TAB))
        n_returns_here = int(np.count_nonzero(chunk == _RETURN))
        n_controls = int(np.count_nonzero(chunk < _FIRST_PRINTABLE))
        if n_controls > n_known + n_returns_here or (chunk == _DELETE).any():
            return False
        n_returns += n_returns_here
        beyond_ascii = beyond_ascii or bool((chunk >= _FIRST_BEYOND_ASCII).any())
    # a return alone ends a line, too, and is left to the strict reader
    if n_returns and n_returns != data.count(b"\r\n"):
        return False
    return not beyond_ascii or (_MAYBE_CONTROL not in data and data.find(codecs.BOM_UTF8, start) < 0)


def _has_regular_quotes(data: bytes, start: int, end: int, sep: str) -> bool:
    """Return whether every quotation mark encloses a cell of one line, or is doubled inside one."""
    content = np.frombuffer(data, dtype=np.uint8)
    while start < end:
        # whole lines together, as many as a chunk holds, and at least one
        line_end = data.rfind(b"\n", start, min(start + _CHUNK, end))
        if line_end < 0:
            line_end = data.find(b"\n", start, end)
        next_start = end if line_end < 0 else line_end + 1
        if not _are_regular_lines(content[start:next_start], sep):
            return False
        start = next_start
    return True


def _are_regular_lines(lines: np.ndarray, sep: str) -> bool:
    """Return whether the quotation marks of whole lines are as `_has_regular_quotes` has them."""
    marks = np.flatnonzero(lines == _QUOTE)
    if len(marks) % 2:
        return False
    # before the first cell and after the last there is the end of a line
    edge = np.array([_LINE_FEED], dtype=np.uint8)
    padded = np.concatenate([edge, lines, edge])
    before_opening = padded[marks[0::2]]
    after_closing = padded[marks[1::2] + 2]
    # a doubled mark closes and opens again
    neighbours = np.array([ord(sep), _LINE_FEED, _RETURN, _QUOTE], dtype=np.uint8)
    if not np.isin(before_opening, neighbours).all() or not np.isin(after_closing, neighbours).all():
        return False
    line_ends = np.flatnonzero(lines == _LINE_FEED)
    n_marks_before = np.searchsorted(marks, line_ends)
    return not (n_marks_before % 2).any()


def _has_blank_line(table: Any, data: bytes, start: int, end: int) -> bool:
    """Whether a line is blank, of which pyarrow makes a row of empty cells."""
    import pyarrow as pa
    from pyarrow import compute

    first = table.column(0)
    if pa.types.is_dictionary(first.type):
        has_empty = any("" in part.dictionary.to_pylist() for part in first.chunks)
    else:
        has_empty = compute.any(compute.equal(first, "")).as_py()
    if not has_empty:
        return False
    return data.find(b"\n\n", start, end) >= 0 or data.find(b"\n\r", start, end) >= 0


def _parsed(content: memoryview, header: list[str], sep: str, coded: Collection[str], *, quoted: bool) -> Any:
    """Parse the lines below a header with pyarrow; None where they are not as wide as it, or no UTF-8."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = dict.fromkeys(header, pa.large_string())
    for name in coded:
        types[name] = pa.dictionary(pa.int32(), pa.string())
    try:
        return arrow_csv.read_csv(
            pa.BufferReader(content),
            read_options=arrow_csv.ReadOptions(column_names=header, skip_rows=1),
            parse_options=arrow_csv.ParseOptions(
                delimiter=sep, quote_char='"' if quoted else False, ignore_empty_lines=False
            ),
            convert_options=arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        return None
