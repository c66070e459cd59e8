"""Pickles run over an allow-list: data are rebuilt, everything else is refused before it is called."""

import collections
import io
import pickle

import numpy as np
import pytest
from tests_support import quick, raises
from torch_pickles import call, name, value, whole

from salstats.memory_limit import BYTES_PER_INSTRUCTION, LIMIT_VARIABLE
from salstats.readers.pickle_machine import (
    ARRAY_REPLACEMENTS,
    DamagedPickleError,
    Pending,
    UnsafePickleError,
    array_of_bytes,
    checked_keys_of_dict_or_set,
    checked_whole_numbers,
    read_allowed_pickle,
)

RECONSTRUCT = name("numpy.core.multiarray", "_reconstruct")


def read(content, allowed=ARRAY_REPLACEMENTS):
    """Run one pickle with the names of arrays and containers."""
    return read_allowed_pickle(io.BytesIO(content), allowed)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "content",
    [
        {"prob": 0.25, "gt": 1, "task": "Edema", "cxr_dims": (2828, 2320), "none": None, "yes": True},
        [1, -3, 2**70, 1.5, "é\n", b"\x00\xff", b"", {"a"}, frozenset({1}), 1j, ()],
        collections.OrderedDict([("b", [1, 2]), ("a", {})]),
        np.arange(6, dtype="f4").reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(3, dtype=">i2"),
        np.array(3.5),
        np.zeros((0, 3)),
        np.array(["ab", "c"]),
        [np.float64(0.3), np.bool_(True), np.int16(-2)],
    ],
    ids=str,
)
def test_containers_numbers_and_arrays_are_as_they_were(content, protocol):
    got = read(pickle.dumps(content, protocol))
    np.testing.assert_equal(got, content)
    if isinstance(content, np.ndarray):
        assert got.dtype == content.dtype
        assert got.shape == content.shape


def test_content_is_not_copied_over_and_over():
    encode = name("_codecs", "encode")
    text = value("x" * 100_000)
    many = (encode + b"h\x00" + b"\x8c\x06latin1" + b"\x86R") * 1000
    with raises(UnsafePickleError, value="_latin1_bytes"):
        read(whole(text + b"q\x00" + b"0" + b"(" + many + b"l"))


def test_a_far_place_in_the_memo_and_a_wide_frame_take_no_memory():
    assert read(b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x40\x88r\xff\xff\xff\x7f.") is True


def test_deep_nesting_neither_crashes_nor_stops_the_reader():
    n = 100_000
    assert read(whole(b"]" * n + b"a" * (n - 1))) is not None
    # as a key a deep tuple would be hashed, level by level
    with raises(DamagedPickleError, value="tuple"):
        read(whole(b"})" + b"\x85" * n + value(1) + b"s"))


def test_keys_whose_hashes_anyone_can_make_equal_are_refused():
    shared = [(i * (2**61 - 1)).to_bytes(10, "little") for i in range(20_000)]
    filled = b"".join(b"\x8a\x0a" + number + b"N" for number in shared)
    pairs = b"".join(b"\x8a\x0a" + number + b"N\x86" for number in shared)
    ordered = name("collections", "OrderedDict") + b"((" + pairs + b"lt" + b"R"
    tuples = b"}" + value((1, 2)) + b"Ns"
    with quick(2):
        for content, key_type in ((b"}(" + filled + b"u", "int"), (ordered, "int"), (tuples, "tuple")):
            with raises(DamagedPickleError, value=key_type):
                read(whole(content))


def test_keys_that_files_have_are_read():
    content = {"map": 1, 7: 2, -1: 3, 0.5: 4, None: 5, ("a", "Edema"): 6, ("a", 3): 7, b"x": 8, True: 9}
    assert read(pickle.dumps(content)) == content


def test_instructions_without_end_are_stopped_at_the_limit(monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, repr(50 * BYTES_PER_INSTRUCTION / 2**30))
    assert read(whole(value([[]] * 20))) == [[]] * 20
    with raises(UnsafePickleError, option=LIMIT_VARIABLE, value=51 * BYTES_PER_INSTRUCTION):
        read(whole(b"(" + b"]" * 100 + b"l"))


def stacked(module, attribute):
    """The instructions that push a global of protocol 4, whose name may hold dots."""
    parts = [pickle.SHORT_BINUNICODE + bytes([len(text)]) + text.encode() for text in (module, attribute)]
    return b"".join(parts) + pickle.STACK_GLOBAL


REFUSED = {
    "another module": (name("posix", "system"), "posix.system"),
    "another name of a module": (name("numpy", "load"), "numpy.load"),
    "dotted name": (stacked("numpy", "ndarray.tofile"), "numpy.ndarray.tofile"),
    "dotted method": (stacked("collections", "OrderedDict.fromkeys"), "collections.OrderedDict.fromkeys"),
    "unprintable name": (stacked("numpy", "a\x00"), repr("numpy.a\x00")),
    "attributes": (
        call(name("collections", "OrderedDict")) + value({"__class__": 1}) + b"b",
        "dict",
    ),
    "attributes of a function": (
        name("numpy", "dtype") + value({"__code__": 1}) + b"b",
        "function",
    ),
    "extension": (b"\x82\x01", "EXT1"),
    "instance of protocol 0": (b"(" + value("touch x") + b"iposix\nsystem\n", "INST"),
    "object of protocol 1": (b"(" + name("collections", "OrderedDict") + b"o", "OBJ"),
    "object of protocol 2": (
        name("collections", "OrderedDict") + b")\x81",
        "NEWOBJ",
    ),
    "buffer out of band": (b"\x97", "NEXT_BUFFER"),
    "persistent id": (value(("storage", 1)) + b"Q", "tuple"),
    "call of text": (call(value("abc")), "str"),
    "other encoding": (call(name("_codecs", "encode"), value("x"), value("rot13")), "rot13"),
    "bytes of a size": (call(name("builtins", "bytes"), value(1 << 40)), (1 << 40,)),
    "subclass of array": (
        call(RECONSTRUCT, name("numpy", "dtype"), value((0,)) + value(b"b")),
        "_pending_dtype",
    ),
    "array of objects": (
        pickle.dumps(np.array([{}, {}], dtype=object), 3)[2:-1],
        "list",
    ),
    "array of records": (call(name("numpy", "dtype"), value("i4,i4")), "i4,i4"),
    "records by their state": (
        pickle.dumps(np.zeros(1, dtype=[("a", "i4")]), 3)[2:-1],
        "V4",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_data_never_need_is_refused(kind):
    instructions, value_that_is_refused = REFUSED[kind]
    with raises(UnsafePickleError, value=value_that_is_refused):
        read(whole(instructions))


def test_nothing_is_called_before_a_name_is_refused():
    calls = []
    allowed = {("a", "note"): calls.append}
    assert read(whole(call(name("a", "note"), value(1))), allowed) is None
    assert calls == [1]
    with raises(UnsafePickleError, value="b.note"):
        read(whole(name("b", "note") + call(name("a", "note"), value(2))), allowed)
    assert calls == [1]


def test_a_persistent_id_gives_the_object_of_the_function():
    content = whole(value(("storage", 1)) + b"Q")
    assert read_allowed_pickle(io.BytesIO(content), {}, lambda persistent_id: [persistent_id]) == [
        ("storage", 1)
    ]


def test_the_stream_is_left_at_the_end_of_the_pickle():
    stream = io.BytesIO(pickle.dumps(1) + pickle.dumps([2]) + b"rest")
    assert read_allowed_pickle(stream, {}) == 1
    assert read_allowed_pickle(stream, {}) == [2]
    assert stream.read() == b"rest"


def test_a_pending_object_is_its_value_wherever_it_is_used_after_its_state():
    # memo 0 holds the pending object; it is completed, dropped, and taken from the memo again
    allowed = {("a", "make"): lambda: Pending(lambda state: [state])}
    content = whole(call(name("a", "make")) + b"q\x00" + value("state") + b"b" + b"0" + b"h\x00")
    assert read(content, allowed) == ["state"]


@pytest.mark.parametrize(
    "instructions",
    [
        b"}]" + value(1) + b"s",
        b"}(" + value(1) + b"u",
        b"h\x05",
        b"\xff",
        b"",
        # a set that is filled as a dict, and a dict that is filled as a set
        b"\x8f" + value("k") + value("v") + b"s",
        b"}(" + value("k") + b"\x90",
    ],
)
def test_a_pickle_that_contradicts_itself_is_damaged(instructions):
    with pytest.raises(DamagedPickleError):
        read(whole(instructions))


def test_a_pickle_cut_short_anywhere_is_damaged():
    content = pickle.dumps({"a": np.arange(3), "b": [1.5, "x"]}, 4)
    for length in range(len(content)):
        with pytest.raises(DamagedPickleError):
            read(content[:length])


# keys, arrays and whole numbers


@pytest.mark.parametrize(
    "key", ["a", b"a", 3, -0.5, None, True, 2**61 - 2, ("a", "b"), ("a", 3), (), (b"a", None)]
)
def test_keys_that_hash_quickly_are_keys(key):
    assert checked_keys_of_dict_or_set([key]) == [key]


@pytest.mark.parametrize(
    "key", [2**61 - 1, -(2**61 - 1), 1j, (1, 2), ("a", 1, None), (("a",),), ("a", 2**61), frozenset()]
)
def test_keys_whose_hashes_can_be_chosen_are_none(key):
    with pytest.raises(DamagedPickleError):
        checked_keys_of_dict_or_set(["a", key])


def test_an_array_has_exactly_the_bytes_of_its_shape():
    numbers = np.arange(6, dtype="<i2")
    raw = numbers.tobytes()
    np.testing.assert_array_equal(array_of_bytes(raw, numbers.dtype, (2, 3), "C"), [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(array_of_bytes(raw, numbers.dtype, [2, 3], "F"), [[0, 2, 4], [1, 3, 5]])
    np.testing.assert_array_equal(array_of_bytes(raw.decode("latin-1"), numbers.dtype, (6,), "C"), numbers)
    assert array_of_bytes(b"", numbers.dtype, (0, 4), "C").shape == (0, 4)
    for shape in ((5,), (7,), (2, 2), ()):
        with pytest.raises(DamagedPickleError):
            array_of_bytes(raw, numbers.dtype, shape, "C")
    for data, dtype in (([1], numbers.dtype), (raw, "<i2"), (raw, np.dtype(object))):
        with raises(UnsafePickleError, value=type(data).__name__):
            array_of_bytes(data, dtype, (6,), "C")


def test_an_array_without_axes_that_holds_an_object_is_the_object():
    assert read(pickle.dumps(np.array({"map": 1}, dtype=object))) == {"map": 1}
    for objects in ([{}], [{}, {}]):
        with raises(UnsafePickleError, value="list"):
            read(pickle.dumps(np.array(objects, dtype=object)))


def test_whole_numbers_are_32_from_0():
    assert checked_whole_numbers([0, 2**48 - 1], "the size") == (0, 2**48 - 1)
    assert checked_whole_numbers((1,) * 32, "the size") == (1,) * 32
    for numbers in ((1,) * 33, (-1,), (2**48,), (1.0,), (True,), "12", 3):
        with raises(DamagedPickleError, option="the size"):
            checked_whole_numbers(numbers, "the size")
