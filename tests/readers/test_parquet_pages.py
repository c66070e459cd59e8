"""Headers of Parquet pages: what they state is checked against the bytes that are there."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests_support import quick, raises

from salstats.errors import InputFileError
from salstats.readers.parquet_pages import _MAX_DEPTH, _CompactReader, unpacked_page_totals_by_column

#: Heads of a field: its number is one more than that of the field before, its type the lower four bits.
DOUBLE, BINARY, LIST = b"\x17", b"\x18", b"\x19"
#: Heads of a list that says its length in the bytes behind, and of a list of one list.
LONG_LIST_OF = 0xF0
LIST_OF_ONE_LIST = b"\x19"
STOP = b"\x00"


def length(number):
    """A length as Thrift's compact protocol writes it."""
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


@pytest.mark.parametrize("kind", [1, 3, 5, 7, 8, 9, 12])
def test_a_list_longer_than_the_bytes_that_are_left_is_an_error_at_once(kind):
    header = LIST + bytes([LONG_LIST_OF | kind]) + length(2**60) + bytes(100)
    # the list has bytes of a length that is not there
    with quick(1), raises(InputFileError, value=2**60):
        _CompactReader(header, 0).read_struct()


@pytest.mark.parametrize(
    ("header", "n_bytes"),
    [(DOUBLE + bytes(7), 8), (BINARY + length(2**40), 2**40), (BINARY + length(2) + b"a", 2)],
)
def test_a_value_that_ends_behind_the_last_byte_is_an_error(header, n_bytes):
    reader = _CompactReader(header, position=1)
    with raises(InputFileError, value=n_bytes):
        reader._read_value_skipping_binary_and_float(header[0] & 0x0F, depth=0)


@pytest.mark.parametrize("depth", [_MAX_DEPTH + 1, 50_000])
def test_lists_that_lie_in_one_another_too_deeply_are_an_error(depth):
    header = LIST + LIST_OF_ONE_LIST * depth + STOP
    with raises(InputFileError, value=_MAX_DEPTH + 1):
        _CompactReader(header, 0).read_struct()


def test_values_are_read_up_to_the_last_byte():
    header = DOUBLE + bytes(8) + BINARY + length(2) + b"ab" + LIST + b"\x25\x02\x04" + STOP
    reader = _CompactReader(header, 0)
    assert reader.read_struct() == {1: None, 2: None, 3: [1, 2]}
    assert reader.position == len(header)


def parquet(encodings=None, **options):
    """A file of 600 rows in three row groups, and pyarrow's metadata of it."""
    table = pa.table({"n": list(range(600)), "text": [f"case-{i:05d}" for i in range(600)]})
    sink = io.BytesIO()
    options = {"row_group_size": 250, "compression": "zstd", **options}
    pq.write_table(table, sink, column_encoding=encodings, use_dictionary=encodings is None, **options)
    data = sink.getvalue()
    return data, pq.read_metadata(io.BytesIO(data))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_sizes_of_pages_sum_to_those_of_the_footer_but_for_the_headers(version):
    data, metadata = parquet(data_page_version=version, data_page_size=256, write_batch_size=20)
    sizes = unpacked_page_totals_by_column(data, 2)
    for column, column_sizes in enumerate(sizes):
        chunks = [metadata.row_group(group).column(column) for group in range(3)]
        with_headers = sum(chunk.total_uncompressed_size for chunk in chunks)
        # headers take a few dozen bytes each
        assert 0.5 * with_headers < column_sizes.total_bytes < with_headers
        assert 0 < column_sizes.largest_bytes < column_sizes.total_bytes
        assert not column_sizes.has_delta_text
    # 8 bytes for each of the 600 whole numbers in the dictionaries of three row groups, and codes
    assert sizes[0].total_bytes > 600 * 8


def test_pages_without_a_dictionary_have_the_bytes_of_their_values():
    data, _ = parquet(dict.fromkeys(("n", "text"), "PLAIN"))
    numbers, texts = unpacked_page_totals_by_column(data, 2)
    # a few bytes say which values are missing
    assert 600 * 8 <= numbers.total_bytes < 600 * 8 + 100
    assert 250 * 8 <= numbers.largest_bytes < 250 * 8 + 50
    # four bytes for the length of each text of ten characters
    assert 600 * 14 <= texts.total_bytes < 600 * 14 + 100


def test_delta_encodings_of_text_are_told_apart():
    lengths, shared = (
        unpacked_page_totals_by_column(parquet({"n": "PLAIN", "text": encoding})[0], 2)[1]
        for encoding in ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")
    )
    assert (lengths.has_delta_text, lengths.has_shared_beginnings) == (True, False)
    assert (shared.has_delta_text, shared.has_shared_beginnings) == (True, True)


def test_a_file_without_rows_has_no_pages():
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": pa.array([], pa.int64())}), sink)
    assert [sizes.total_bytes for sizes in unpacked_page_totals_by_column(sink.getvalue(), 1)] == [0]


def test_a_footer_without_its_pages_is_an_error():
    data, _ = parquet()
    footer_length = int.from_bytes(data[-8:-4], "little")
    with raises(InputFileError):
        unpacked_page_totals_by_column(data[-footer_length - 8 :], 2)


def test_truth_values_structs_and_negative_numbers_are_read():
    reader = _CompactReader(b"\x11\x12\x13\x07\x15\x03\x1c\x15\x08\x00\x29\x21\x01\x02" + STOP, 0)
    assert reader.read_struct() == {1: True, 2: False, 3: 7, 4: -2, 5: {1: 4}, 7: [1, 2]}
    # a field far from the one before has its number behind its type
    assert _CompactReader(b"\x05\x50\x06" + STOP, 0).read_struct() == {40: 3}


def test_types_that_there_are_not_and_numbers_without_an_end_are_errors():
    with raises(InputFileError, value=14):
        _CompactReader(b"\x1e\x00", 0).read_struct()
    # ten bytes of seven bits each exceed 64 bits
    with raises(InputFileError, value=10):
        _CompactReader(b"\x15" + b"\xff" * 12 + STOP, 0).read_struct()


def file_of_one_page(page_bytes, column_bytes):
    """A file that states the lengths, below 64, of its only column and of the page at the column's start.

    The column begins with the file, and the page with a header of 5 bytes.
    """
    # PageHeader: fields 2 and 3, the unpacked and the packed size; numbers are stored doubled
    page = bytes([0x25, 2 * 7, 0x15, 2 * (page_bytes - 5), 0])
    # ColumnMetaData: one value (field 5), the size of the column (7) and its place (9)
    column = bytes([0x56, 2 * 1, 0x26, 2 * column_bytes, 0x26, 0, 0])
    # FileMetaData, its field 4: a list of one RowGroup, whose field 1 is a list of one ColumnChunk
    footer = b"\x49\x1c" + b"\x19\x1c" + b"\x3c" + column + STOP + STOP + STOP
    return page + footer + bytes([len(footer), 0, 0, 0]) + b"PAR1"


def test_a_column_may_end_with_the_file_and_no_further():
    size = len(file_of_one_page(5, 5))
    assert size < 64
    (sizes,) = unpacked_page_totals_by_column(file_of_one_page(size, size), 1)
    assert (sizes.total_bytes, sizes.largest_bytes) == (7, 7)
    with raises(InputFileError, value=size + 1):
        unpacked_page_totals_by_column(file_of_one_page(size, size + 1), 1)


def test_a_column_has_pages_up_to_its_end():
    (sizes,) = unpacked_page_totals_by_column(file_of_one_page(5, 5), 1)
    assert sizes.total_bytes == 7
    # a column of no bytes has no page
    (sizes,) = unpacked_page_totals_by_column(file_of_one_page(5, 0), 1)
    assert sizes.total_bytes == 0
