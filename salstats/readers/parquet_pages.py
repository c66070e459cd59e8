"""Sizes that the pages of a Parquet file unpack to, read from the headers of the pages themselves.

The sizes in a file's footer are only stated; those in the headers are what a reader allocates. A header is a
struct in Thrift's compact protocol (https://github.com/apache/thrift, doc/specs/thrift-compact-protocol.md),
laid out as in https://github.com/apache/parquet-format, src/main/thrift/parquet.thrift.
"""

from dataclasses import dataclass
from typing import Any

#: Codes of the encodings whose texts pyarrow does not read as a dictionary.
DELTA_LENGTH, DELTA_TEXT = 6, 7
_DELTAS = (DELTA_LENGTH, DELTA_TEXT)
#: Fields of a page header: size when unpacked, size in the file, and the headers of both kinds of data page
#: with the field of each that is the encoding.
_UNPACKED, _PACKED = 2, 3
_ENCODING_FIELDS = ((5, 2), (8, 4))
#: Fields of the footer down to a column of a row group, and the fields of a column that locate its pages.
_ROW_GROUPS, _COLUMNS, _CHUNK = 4, 1, 3
_N_VALUES, _PACKED_TOTAL, _FIRST_DATA_PAGE, _DICTIONARY_PAGE = 5, 7, 9, 11
#: Types of Thrift's compact protocol.
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
#: Structs and lists lie in one another no deeper than this.
_DEEPEST = 12
_DOUBLE_BYTES = 8


@dataclass
class PageSizes:
    """Sizes of a column's pages in bytes, when they are unpacked."""

    total: int = 0
    largest: int = 0
    #: One of the delta encodings of text is used.
    has_delta: bool = False
    #: The delta encoding is used in which texts share their beginnings.
    has_shared_beginnings: bool = False


def page_sizes(data: bytes | memoryview, n_columns: int) -> list[PageSizes]:
    """Return the sizes of each column's pages; ValueError where the headers of the pages are damaged.

    The footer is read here, as pyarrow ends the process where it is damaged in some places.
    """
    sizes = [PageSizes() for _ in range(n_columns)]
    footer_length = int.from_bytes(data[-8:-4], "little")
    footer = _CompactReader(data, len(data) - 8 - footer_length).struct()
    for group in _structs(footer, _ROW_GROUPS):
        for column_sizes, chunk in zip(sizes, _structs(group, _COLUMNS), strict=True):
            (column,) = _structs({_CHUNK: [chunk.get(_CHUNK)]}, _CHUNK)
            if column.get(_N_VALUES) == 0:
                # no page is read, and the positions of pages may be anything
                continue
            start = _whole_number(column, _FIRST_DATA_PAGE)
            dictionary = column.get(_DICTIONARY_PAGE)
            if isinstance(dictionary, int) and 0 < dictionary < start:
                start = dictionary
            _add_pages(column_sizes, data, start, start + _whole_number(column, _PACKED_TOTAL))
    return sizes


def _structs(struct: dict[int, Any], field: int) -> list[dict[int, Any]]:
    """Return the structs of a field that is a list of them."""
    values = struct.get(field, [])
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise ValueError("its footer lacks the positions of columns")
    return values


def _whole_number(struct: dict[int, Any], field: int) -> int:
    """Return the whole number of a field, which is 0 or more."""
    value = struct.get(field)
    if not isinstance(value, int) or value < 0:
        raise ValueError("a size or a place of a page is missing")
    return value


def _add_pages(sizes: PageSizes, data: bytes | memoryview, start: int, end: int) -> None:
    """Add the pages that lie between two positions of a file."""
    if end > len(data):
        raise ValueError("a column lies outside the file")
    while start < end:
        reader = _CompactReader(data, start)
        header = reader.struct()
        unpacked = _whole_number(header, _UNPACKED)
        sizes.total += unpacked
        sizes.largest = max(sizes.largest, unpacked)
        for kind, field in _ENCODING_FIELDS:
            page = header.get(kind)
            encoding = page.get(field) if isinstance(page, dict) else None
            sizes.has_delta |= encoding in _DELTAS
            sizes.has_shared_beginnings |= encoding == DELTA_TEXT
        start = reader.position + _whole_number(header, _PACKED)


class _CompactReader:
    """Values of Thrift's compact protocol, one after the other."""

    def __init__(self, data: bytes | memoryview, position: int) -> None:
        self.data = data
        self.position = position

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read the fields of a struct by their numbers."""
        self._check_depth(depth)
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            kind = head & 0x0F
            if kind == _STOP:
                return fields
            step = head >> 4
            # a field's number is given as the step from the one before, or, beyond 15, on its own
            number = number + step if step else self._integer()
            fields[number] = self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> Any:
        """Read a value of a type; binary values and floats are skipped."""
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in _INTEGERS:
            return self._integer()
        if kind == _DOUBLE:
            self._skip(_DOUBLE_BYTES)
            return None
        if kind == _BINARY:
            self._skip(self._varint())
            return None
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"a header has a field of type {kind}")

    def _list(self, depth: int) -> list[Any]:
        """Read the values of a list."""
        self._check_depth(depth)
        head = self._byte()
        length = head >> 4
        kind = head & 0x0F
        if length == 15:
            length = self._varint()
        # every value takes a byte at least
        self._check_left(length)
        if kind in (_TRUE, _FALSE):
            # alone among the types a truth value takes a byte in a list and none in a struct
            kind = _BYTE
        return [self._value(kind, depth) for _ in range(length)]

    def _check_depth(self, depth: int) -> None:
        """Raise where structs and lists lie in one another too deeply."""
        if depth > _DEEPEST:
            raise ValueError("a header is nested too deeply")

    def _check_left(self, n_bytes: int) -> None:
        """Raise where fewer bytes are left."""
        if self.position < 0 or n_bytes > len(self.data) - self.position:
            raise ValueError("a header is cut short")

    def _skip(self, n_bytes: int) -> None:
        """Skip some bytes."""
        self._check_left(n_bytes)
        self.position += n_bytes

    def _byte(self) -> int:
        """Read one byte."""
        self._check_left(1)
        value = self.data[self.position]
        self.position += 1
        return value

    def _varint(self) -> int:
        """Read a whole number, seven bits a byte, the lowest first."""
        value = 0
        shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number of a header has too many bytes")

    def _integer(self) -> int:
        """Read a signed whole number, whose lowest bit is the sign."""
        value = self._varint()
        # "zigzag" code: 0, -1, 1, -2, 2 are stored as 0, 1, 2, 3, 4
        return (value >> 1) ^ -(value & 1)
