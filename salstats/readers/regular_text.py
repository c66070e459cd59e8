"""Read a delimited text file with pyarrow where it is regular; `delimited_text` reads all others.

Both give the same cells of a regular file. Where a file is irregular, by a blank line or a quotation mark
inside a cell, this reader only says so; the strict one in `delimited_text` then names the row in its error.
"""

import codecs
import csv
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of a chunk: few enough that arrays of them stay in the processor's cache.
_CHUNK_BYTES = 1 << 20
_TAB = ord("\t")
_LINE_FEED = ord("\n")
_RETURN = ord("\r")
_QUOTE = ord('"')
#: The control character DELETE.
_DELETE = 0x7F
#: Smaller bytes are control characters.
_FIRST_PRINTABLE = 32
#: This byte and larger ones are parts of characters beyond ASCII.
_FIRST_BEYOND_ASCII = 128
#: Largest limit that Python's csv module accepts for the characters of a cell.
_MAX_CELL_CHARACTERS = 2**31 - 1
#: First byte in UTF-8 of the C1 control characters, but also of some letters.
_MAYBE_C1_CONTROL = b"\xc2"


class TextTable(NamedTuple):
    """The cells of a text file."""

    #: Columns of text.
    cells: "pa.Table"
    #: Number in the file of the first row of data.
    first_row_number: int


@contextmanager
def cells_of_any_length() -> Iterator[None]:
    """Let Python's csv module read cells of any length within the block."""
    earlier_limit = csv.field_size_limit(_MAX_CELL_CHARACTERS)
    try:
        yield
    finally:
        csv.field_size_limit(earlier_limit)


def read_regular_text(
    data: bytes | memoryview, encoding: str, sep: str, coded_columns: Collection[str] = ()
) -> TextTable | None:
    """Read a regular file's cells as text.

    Parameters
    ----------
    data : bytes or memoryview
        The file's content.
    encoding : str
        Its encoding; a file that is not in UTF-8 is not regular.
    sep : str
        Separator of its cells.
    coded_columns : collection of str
        Columns whose text is likely to repeat, which are read as dictionaries.

    Returns
    -------
    TextTable or None
        The columns as large_string, or dictionaries of strings, without a missing cell; None where the file
        is not regular.
    """
    if not _is_utf8(encoding) or not sep.isascii():
        return None
    start = 0
    if bytes(data[: len(codecs.BOM_UTF8)]) == codecs.BOM_UTF8:
        start = len(codecs.BOM_UTF8)
    if not _have_regular_characters_and_quotes(_chunks_of_whole_lines(data, start), sep):
        return None
    first_line = start
    while first_line < len(data) and data[first_line] in (_LINE_FEED, _RETURN):
        first_line += 1
    n_leading = bytes(data[start:first_line]).count(b"\n")
    end = len(data)
    while end > first_line and data[end - 1] in (_LINE_FEED, _RETURN):
        end -= 1
    content = memoryview(data)[first_line:end]
    header_line, line_feed, _ = bytes(next(_chunks_of_whole_lines(content), b"")).partition(b"\n")
    if not line_feed:
        return None
    try:
        with cells_of_any_length():
            header = next(csv.reader([header_line.decode()], delimiter=sep))
    except (UnicodeDecodeError, csv.Error):
        return None
    if len(header) < 2 or len(set(header)) < len(header):
        return None
    table = _parsed_table_or_none(content, header, sep, coded_columns)
    if table is None or _has_blank_line(table, content):
        return None
    return TextTable(table, 2 + n_leading)


def _is_utf8(encoding: str) -> bool:
    """Return whether a name of an encoding means UTF-8."""
    try:
        return codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        return False


def _chunks_of_whole_lines(data: bytes | memoryview, start: int = 0) -> Iterator[np.ndarray]:
    """Yield the bytes from `start` on in chunks of as many whole lines as fit, but at least one line."""
    content = np.frombuffer(data, dtype=np.uint8)
    while start < len(content):
        size = _CHUNK_BYTES
        text = bytes(content[start : start + size])
        while b"\n" not in text and start + size < len(content):
            # a line is longer than a chunk
            size *= 2
            text = bytes(content[start : start + size])
        end = start + size
        if end < len(content):
            end = start + text.rfind(b"\n") + 1
        yield content[start:end]
        start = end


def _have_regular_characters_and_quotes(chunks: Iterable[np.ndarray], sep: str) -> bool:
    """Return whether all chunks of lines have regular characters and regular quotation marks."""
    import pyarrow as pa

    def is_regular(lines: np.ndarray) -> bool:
        return _lacks_control_characters(lines) and _has_regular_quotes(lines, sep)

    # NumPy lets other threads run while it compares bytes
    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        return all(threads.map(is_regular, chunks))


def _lacks_control_characters(lines: np.ndarray) -> bool:
    """Return whether lines hold no control character but tabs and line ends, nor a second byte-order mark."""
    n_returns = np.count_nonzero(lines == _RETURN)
    n_line_feeds = np.count_nonzero(lines == _LINE_FEED)
    n_tabs = np.count_nonzero(lines == _TAB)
    n_controls = np.count_nonzero(lines < _FIRST_PRINTABLE)
    if n_controls > n_line_feeds + n_tabs + n_returns or (lines == _DELETE).any():
        return False
    # a carriage return without a line feed ends a line, too; such files are left to the strict reader
    if n_returns and n_returns != bytes(lines).count(b"\r\n"):
        return False
    if not (lines >= _FIRST_BEYOND_ASCII).any():
        return True
    text = bytes(lines)
    return _MAYBE_C1_CONTROL not in text and codecs.BOM_UTF8 not in text


def _has_regular_quotes(lines: np.ndarray, sep: str) -> bool:
    """Return whether each pair of quotation marks encloses a cell in one line, or is doubled inside one."""
    marks = np.flatnonzero(lines == _QUOTE)
    if not marks.size:
        return True
    if len(marks) % 2:
        return False
    # line ends are put before the first byte and after the last, so that each mark has two neighbours
    line_feed = np.array([_LINE_FEED], dtype=np.uint8)
    padded = np.concatenate([line_feed, lines, line_feed])
    # padded[i] is the byte before lines[i], and padded[i + 2] the byte after it
    before_opening = padded[marks[0::2]]
    after_closing = padded[marks[1::2] + 2]
    # a doubled mark counts as the end of a cell and the beginning of another, so marks may be neighbours
    neighbours = np.array([ord(sep), _LINE_FEED, _RETURN, _QUOTE], dtype=np.uint8)
    encloses_cells = np.isin(before_opening, neighbours).all() and np.isin(after_closing, neighbours).all()
    if not encloses_cells:
        return False
    # a line that ends inside a cell has an odd number of marks before its end
    line_ends = np.flatnonzero(lines == _LINE_FEED)
    n_marks_before = np.searchsorted(marks, line_ends)
    return not (n_marks_before % 2).any()


def _has_blank_line(table: "pa.Table", content: memoryview) -> bool:
    """Return whether a line is blank; pyarrow makes it a row of empty cells."""
    import pyarrow as pa
    from pyarrow import compute

    # without an empty cell in the first column no line is blank, and none need be searched
    first = table.column(0)
    if pa.types.is_dictionary(first.type):
        has_empty = any("" in chunk.dictionary.to_pylist() for chunk in first.chunks)
    else:
        has_empty = compute.any(compute.equal(first, "")).as_py()
    if not has_empty:
        return False
    for lines in _chunks_of_whole_lines(content):
        # the line end before the chunk, by which a blank first line is found
        text = b"\n" + bytes(lines)
        if b"\n\n" in text or b"\n\r" in text:
            return True
    return False


def _parsed_table_or_none(
    content: memoryview, header: list[str], sep: str, coded_columns: Collection[str]
) -> "pa.Table | None":
    """Parse the lines below a header with pyarrow; None where one has another width or is not UTF-8."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = dict.fromkeys(header, pa.large_string())
    for name in coded_columns:
        types[name] = pa.dictionary(pa.int32(), pa.string())
    try:
        return arrow_csv.read_csv(
            pa.BufferReader(content),
            read_options=arrow_csv.ReadOptions(column_names=header, skip_rows=1),
            parse_options=arrow_csv.ParseOptions(delimiter=sep, ignore_empty_lines=False),
            convert_options=arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        return None
