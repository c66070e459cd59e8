"""Unpacked sizes of the pages of a Parquet file, read from the headers of the pages themselves.

The footer of a file states sizes, too, but a reader allocates memory by the headers. Footer and
headers are structs in Thrift's compact protocol (https://github.com/apache/thrift,
doc/specs/thrift-compact-protocol.md), whose fields are numbered in https://github.com/apache/parquet-format,
src/main/thrift/parquet.thrift.
"""

from dataclasses import dataclass
from typing import Any

from salstats.errors import InputFileError

#: Encodings of text (enum Encoding) that pyarrow does not read as a dictionary.
DELTA_LENGTH_BYTE_ARRAY = 6
DELTA_BYTE_ARRAY = 7
_DELTA_ENCODINGS = (DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY)
#: Fields of the structs FileMetaData, RowGroup and ColumnChunk that lead from the footer to a column.
_ROW_GROUPS = 4
_COLUMNS = 1
_META_DATA = 3
#: Fields of the struct ColumnMetaData.
_NUM_VALUES = 5
_TOTAL_COMPRESSED_SIZE = 7
_DATA_PAGE_OFFSET = 9
_DICTIONARY_PAGE_OFFSET = 11
#: Fields of the struct PageHeader: the sizes of the page, and the headers of both versions of a data page.
_UNCOMPRESSED_PAGE_SIZE = 2
_COMPRESSED_PAGE_SIZE = 3
_DATA_PAGE_HEADER = 5
_DATA_PAGE_HEADER_V2 = 8
#: Field `encoding` of the header of a data page, by the field of PageHeader that holds this header.
_ENCODING_FIELDS = {_DATA_PAGE_HEADER: 2, _DATA_PAGE_HEADER_V2: 4}
#: A file ends with its footer, the footer's length in bytes, and the bytes "PAR1".
_FOOTER_LENGTH_BYTES = 4
_END_MARK_BYTES = 4
#: Types of Thrift's compact protocol.
_STOP = 0
_TRUE = 1
_FALSE = 2
_BYTE = 3
_INTEGERS = (4, 5, 6)
_DOUBLE = 7
_BINARY = 8
_LIST = 9
_SET = 10
_STRUCT = 12
_DOUBLE_BYTES = 8
#: Length in the first byte of a list that means that the length follows as a number of its own.
_LONG_LIST = 15
#: Largest depth of structs and lists within each other.
_MAX_DEPTH = 12


@dataclass
class PageSizes:
    """Sizes in bytes of a column's pages when they are unpacked, and the encodings of its text."""

    total_bytes: int = 0
    #: Size of the largest page.
    largest_bytes: int = 0
    #: Whether a page has one of the delta encodings of text.
    has_delta_text: bool = False
    #: Whether a page has the delta encoding in which texts share their beginnings.
    has_shared_beginnings: bool = False


def unpacked_page_totals_by_column(data: bytes | memoryview, n_columns: int) -> list[PageSizes]:
    """Return the sizes of each column's pages; raise where the footer or a page's header is damaged.

    The footer is read here and not by pyarrow, which some damage to a footer makes end the process.
    """
    sizes = [PageSizes() for _ in range(n_columns)]
    footer_end = len(data) - _END_MARK_BYTES - _FOOTER_LENGTH_BYTES
    footer_length = int.from_bytes(data[footer_end : footer_end + _FOOTER_LENGTH_BYTES], "little")
    file_metadata = _CompactReader(data, footer_end - footer_length).read_struct()
    for row_group in _list_of_structs(file_metadata, _ROW_GROUPS):
        for column_sizes, chunk in zip(sizes, _list_of_structs(row_group, _COLUMNS), strict=True):
            column = chunk.get(_META_DATA)
            if not isinstance(column, dict):
                raise InputFileError("its footer lacks the positions of columns")
            if column.get(_NUM_VALUES) == 0:
                # such a column has no page, and its positions may be any numbers
                continue
            start = _whole_number(column, _DATA_PAGE_OFFSET)
            dictionary_start = column.get(_DICTIONARY_PAGE_OFFSET)
            if isinstance(dictionary_start, int) and 0 < dictionary_start < start:
                start = dictionary_start
            end = start + _whole_number(column, _TOTAL_COMPRESSED_SIZE)
            _add_page_sizes(column_sizes, data, start, end)
    return sizes


def _list_of_structs(struct: dict[int, Any], field: int) -> list[dict[int, Any]]:
    """Return the list of structs in a field, empty where it is missing; raise where it is something else."""
    values = struct.get(field, [])
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise InputFileError("its footer lacks the positions of columns")
    return values


def _whole_number(struct: dict[int, Any], field: int) -> int:
    """Return the whole number in a field; raise where it is missing or below 0."""
    value = struct.get(field)
    if not isinstance(value, int) or value < 0:
        raise InputFileError("a size or a place of a page is missing", value=value)
    return value


def _add_page_sizes(sizes: PageSizes, data: bytes | memoryview, start: int, end: int) -> None:
    """Add the sizes and encodings of the pages from byte `start` of a file to byte `end`."""
    if end > len(data):
        raise InputFileError("a column lies outside the file", value=end)
    position = start
    while position < end:
        reader = _CompactReader(data, position)
        page_header = reader.read_struct()
        unpacked_bytes = _whole_number(page_header, _UNCOMPRESSED_PAGE_SIZE)
        sizes.total_bytes += unpacked_bytes
        sizes.largest_bytes = max(sizes.largest_bytes, unpacked_bytes)
        for header_field, encoding_field in _ENCODING_FIELDS.items():
            data_page_header = page_header.get(header_field)
            if not isinstance(data_page_header, dict):
                continue
            encoding = data_page_header.get(encoding_field)
            if encoding in _DELTA_ENCODINGS:
                sizes.has_delta_text = True
            if encoding == DELTA_BYTE_ARRAY:
                sizes.has_shared_beginnings = True
        # the content of a page follows its header, and the next page follows the content
        position = reader.position + _whole_number(page_header, _COMPRESSED_PAGE_SIZE)


class _CompactReader:
    """Reader of the values of Thrift's compact protocol, one after the other, from a position in bytes."""

    def __init__(self, data: bytes | memoryview, position: int) -> None:
        self.data = data
        self.position = position

    def read_struct(self, depth: int = 0) -> dict[int, Any]:
        """Read a struct of Thrift's compact protocol: its values by field number; `depth` is its nesting."""
        self._check_depth(depth)
        fields: dict[int, Any] = {}
        number = 0
        while True:
            field_header = self._read_byte()
            # high four bits: the step from the previous field's number; low four bits: the type
            number_step = field_header >> 4
            value_type = field_header & 0x0F
            if value_type == _STOP:
                return fields
            if number_step:
                number += number_step
            else:
                # a step of 0 stands for one that does not fit into four bits: the number itself follows
                number = self._read_signed_integer()
            fields[number] = self._read_value_skipping_binary_and_float(value_type, depth)

    def _read_value_skipping_binary_and_float(self, value_type: int, depth: int) -> Any:
        """Read a value of a type; binary values and floats are skipped and returned as None."""
        if value_type in (_TRUE, _FALSE):
            # in a struct the type of the field is its value
            return value_type == _TRUE
        if value_type == _BYTE:
            return self._read_byte()
        if value_type in _INTEGERS:
            return self._read_signed_integer()
        if value_type == _DOUBLE:
            self._skip(_DOUBLE_BYTES)
            return None
        if value_type == _BINARY:
            self._skip(self._read_varint())
            return None
        if value_type in (_LIST, _SET):
            return self._read_list_skipping_binary_and_float(depth + 1)
        if value_type == _STRUCT:
            return self.read_struct(depth + 1)
        raise InputFileError(f"a header has a field of type {value_type}", value=value_type)

    def _read_list_skipping_binary_and_float(self, depth: int) -> list[Any]:
        """Read the values of a list, as `_read_value_skipping_binary_and_float` reads each.

        Truth values are numbers here: 1 is true.
        """
        self._check_depth(depth)
        list_header = self._read_byte()
        # four bits: the length; four bits: the type of the values
        length = list_header >> 4
        value_type = list_header & 0x0F
        if length == _LONG_LIST:
            length = self._read_varint()
        # every value takes at least a byte
        self._check_remaining(length)
        if value_type in (_TRUE, _FALSE):
            # in a list, unlike in a struct, a truth value takes a byte of its own
            value_type = _BYTE
        return [self._read_value_skipping_binary_and_float(value_type, depth) for _ in range(length)]

    def _check_depth(self, depth: int) -> None:
        """Raise where structs and lists are nested too deeply."""
        if depth > _MAX_DEPTH:
            raise InputFileError("a header is nested too deeply", value=depth)

    def _check_remaining(self, n_bytes: int) -> None:
        """Raise where fewer than `n_bytes` bytes remain."""
        if self.position < 0 or n_bytes > len(self.data) - self.position:
            raise InputFileError("a header is cut short", value=n_bytes)

    def _skip(self, n_bytes: int) -> None:
        """Move the position on by `n_bytes`."""
        self._check_remaining(n_bytes)
        self.position += n_bytes

    def _read_byte(self) -> int:
        """Read one byte."""
        self._check_remaining(1)
        value = self.data[self.position]
        self.position += 1
        return value

    def _read_varint(self) -> int:
        """Read a whole number, seven bits a byte, the lowest first; the eighth bit means that more follow."""
        value = 0
        shift = 0
        while True:
            byte = self._read_byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise InputFileError("a number of a header has too many bytes", value=shift // 7)

    def _read_signed_integer(self) -> int:
        """Read a signed whole number in the "zigzag" code: 0, -1, 1, -2, 2 are stored as 0, 1, 2, 3, 4."""
        code = self._read_varint()
        magnitude = code >> 1
        if code & 1:
            return -magnitude - 1
        return magnitude
