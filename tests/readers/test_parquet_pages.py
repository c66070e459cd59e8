"""Headers of Parquet pages: what they state is checked against the bytes that are there."""

import pytest
from tests_support import quick

from salstats.readers.parquet_pages import _DEEPEST, _CompactReader

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
    with quick(1), pytest.raises(ValueError, match="cut short"):
        _CompactReader(header, 0).struct()


@pytest.mark.parametrize("header", [DOUBLE + bytes(7), BINARY + length(2**40), BINARY + length(2) + b"a"])
def test_a_value_that_ends_behind_the_last_byte_is_an_error(header):
    reader = _CompactReader(header, position=1)
    with pytest.raises(ValueError, match="cut short"):
        reader._value(header[0] & 0x0F, depth=0)


@pytest.mark.parametrize("depth", [_DEEPEST + 1, 50_000])
def test_lists_that_lie_in_one_another_too_deeply_are_an_error(depth):
    header = LIST + LIST_OF_ONE_LIST * depth + STOP
    with pytest.raises(ValueError, match="nested too deeply"):
        _CompactReader(header, 0).struct()


def test_values_are_read_up_to_the_last_byte():
    header = DOUBLE + bytes(8) + BINARY + length(2) + b"ab" + LIST + b"\x25\x02\x04" + STOP
    reader = _CompactReader(header, 0)
    assert reader.struct() == {1: None, 2: None, 3: [1, 2]}
    assert reader.position == len(header)
