"""Pickles are data here: what they rebuild is right, what they would run is refused and not run."""

import builtins
import os
import pickle
import subprocess
import zipfile

import numpy as np
import pytest
from tests_support import exact_csv, quick, raises
from torch_pickles import archive, call, entries, name, storage_id, stored, stream, tensor, value, whole

from salstats.errors import InputFileError
from salstats.readers.pickles import UnsafePickleError, read_pickle

NUMBERS = np.arange(12, dtype="<f4")
RAW = NUMBERS.tobytes()


@pytest.fixture
def read(tmp_path):
    """A function that writes bytes to a file and reads them as a pickle."""

    def write_and_read(content):
        file = tmp_path / "case_Edema_map.pkl"
        file.write_bytes(content)
        return read_pickle(file)

    return write_and_read


# what is read


@pytest.mark.parametrize(
    ("element", "numbers"),
    [
        ("Float", np.array([0, 1.5, -2], "<f4")),
        ("Half", np.array([0, 1.5, -2], "<f2")),
        ("Long", np.array([0, 2**40, -2], "<i8")),
        ("Byte", np.array([0, 3, 255], "u1")),
        ("Bool", np.array([True, False, True])),
    ],
)
def test_tensors_of_a_type_come_as_arrays(read, element, numbers):
    storage = stored(numbers.tobytes(), 3, element=element, location="cuda:0")
    got = read(whole(tensor(storage, (3,), (1,))))
    np.testing.assert_array_equal(got, numbers)
    assert got.dtype == numbers.dtype


def test_bfloat16_comes_as_float32(read):
    # the upper halves of the float32 numbers 1.5 and -2
    raw = np.array([0x3FC0, 0xC000], "<u2").tobytes()
    got = read(whole(tensor(stored(raw, 2, element="BFloat16"), (2,), (1,))))
    assert got.tolist() == [1.5, -2]


def test_offset_and_strides_count_elements(read):
    # a transposed view that begins at element 2: row r, column c is element 2 + r + 4 c
    got = read(whole(tensor(stored(RAW, 12), (4, 2), (1, 4), offset=2)))
    assert got.tolist() == [[2, 6], [3, 7], [4, 8], [5, 9]]


def test_scalar_empty_and_expanded_tensors(read):
    assert read(whole(tensor(stored(RAW, 12), (), (), offset=3))).item() == 3
    assert read(whole(tensor(stored(b"", 0), (0, 3), (3, 1)))).shape == (0, 3)
    assert read(whole(tensor(stored(RAW, 12), (2, 3), (0, 1)))).tolist() == [[0, 1, 2], [0, 1, 2]]


def test_a_file_of_torch_save_in_its_older_form(read):
    content = entries(map=tensor(storage_id(12), (3, 4), (4, 1)), prob=value(0.5))
    got = read(stream(content, RAW, numel=12))
    assert got["prob"] == 0.5
    np.testing.assert_array_equal(got["map"], NUMBERS.reshape(3, 4))


def test_a_file_of_torch_save_as_a_zip_archive(read):
    content = entries(map=tensor(storage_id(12, key="7", view=()), (3, 4), (4, 1)), prob=value(0.5))
    got = read(archive(content, {"7": RAW}))
    assert got["prob"] == 0.5
    np.testing.assert_array_equal(got["map"], NUMBERS.reshape(3, 4))


@pytest.mark.parametrize(
    ("maps", "table"),
    [
        ("data/chexlocalize_sample/gradcam_maps_val", "oracles/chexlocalize/sample/per_map.csv"),
        ("oracles/chexlocalize/study/inputs/maps", "oracles/chexlocalize/study/expected/per_map.csv"),
    ],
)
def test_every_map_of_the_release_agrees_with_what_its_scripts_saw(shared, maps, table):
    expected = exact_csv(shared / table)
    for row in expected.itertuples():
        info = read_pickle(shared / maps / f"{row.img_id}_{row.task}_map.pkl")
        assert info["prob"] == row.prob
        assert info["task"] == row.task
        assert tuple(info["cxr_dims"]) == (row.w, row.h)
        assert info["gt"] == (row.gt_px > 0) or np.isnan(row.gt_px)
        saliency = info["map"]
        assert saliency.dtype == np.float32
        assert saliency.shape[:2] == (1, 1)
        # the scripts' extremes are those of the map after bilinear resizing, which lie between its own
        assert saliency.min() <= row.map_min
        assert saliency.max() >= row.map_max * (1 - 1e-6)  # two roundings in single precision
        assert row.map_max > 0.5 * saliency.max() or saliency.max() == 0
        assert info["cxr_img"].shape[0] == 3


# what is refused


class Run:
    """Pickles as a call of a function."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def attack(kind, file):
    """An object whose unpickling would create the file."""
    code = f"open({str(file)!r}, 'w').close()"
    return {
        "os.system": lambda: Run(os.system, f"touch {file}"),
        "eval": lambda: Run(builtins.eval, code),
        "exec": lambda: Run(builtins.exec, code),
        "open": lambda: Run(builtins.open, str(file), "w"),
        "Popen": lambda: Run(subprocess.Popen, ["touch", str(file)]),
    }[kind]()


ATTACKS = {
    "os.system": "posix.system",
    "eval": "builtins.eval",
    "exec": "builtins.exec",
    "open": "io.open",
    "Popen": "subprocess.Popen",
}


@pytest.mark.parametrize("protocol", [3, 5])
@pytest.mark.parametrize("kind", ATTACKS)
def test_a_malicious_pickle_is_refused_by_name_and_not_run(read, tmp_path, kind, protocol):
    hit = tmp_path / "hit"
    content = pickle.dumps({"map": 1, "prob": attack(kind, hit)}, protocol)
    with raises(UnsafePickleError, value=ATTACKS[kind]):
        read(content)
    assert not hit.exists()
    # the pickle is what it says: loaded the usual way it does what was refused
    process = pickle.loads(content)["prob"]
    if kind == "Popen":
        process.wait()
    elif kind == "open":
        process.close()
    assert hit.exists()


def bad_call(hit):
    """The instructions of os.system("touch HIT")."""
    return call(name("posix", "system"), value(f"touch {hit}"))


@pytest.mark.parametrize("place", ["object", "magic", "protocol", "system", "keys", "second", "numpy", "zip"])
def test_a_malicious_pickle_within_a_storage_is_refused_and_not_run(read, tmp_path, place):
    hit = tmp_path / "hit"
    load = name("torch.storage", "_load_from_bytes")
    evil = whole(bad_call(hit))
    good = stream(storage_id(12), RAW, numel=12)
    if place == "object":
        content = call(load, value(stream(bad_call(hit), RAW, numel=12)))
    elif place == "magic":
        content = call(load, value(evil + good))
    elif place == "protocol":
        content = call(load, value(pickle.dumps(0x1950A86A20F9469CFC6C, 2) + evil + good))
    elif place == "system":
        head = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2)
        content = call(load, value(head + evil + good))
    elif place == "keys":
        head = good[: good.index(whole(storage_id(12))) + len(whole(storage_id(12)))]
        content = call(load, value(head + evil))
    elif place == "second":
        within = stream(call(load, value(stream(bad_call(hit), RAW, numel=12))), RAW, numel=12)
        content = call(load, value(within))
    elif place == "numpy":
        # an array of objects holds pickled values
        content = pickle.dumps(np.array([Run(os.system, f"touch {hit}")], dtype=object), 3)[2:-1]
    else:
        with raises(UnsafePickleError, value="posix.system"):
            read(archive(bad_call(hit), {}))
        assert not hit.exists()
        return
    with raises(UnsafePickleError, value="posix.system"):
        read(whole(entries(prob=value(0.5), cxr_img=content)))
    assert not hit.exists()


@pytest.mark.parametrize(
    ("instructions", "refused"),
    {
        "attributes of a function": (
            name("torch._utils", "_rebuild_tensor_v2") + value({"__code__": 1}) + b"b",
            "function",
        ),
        "call of a type of storage": (call(name("torch", "FloatStorage"), value(10)), "_StorageType"),
        "bytes as objects": (
            call(
                name("numpy.core.numeric", "_frombuffer"),
                value(b"x" * 8) + call(name("numpy", "dtype"), value("O8")) + value((1,)) + value("C"),
            ),
            "bytes",
        ),
        "tensor on a number": (tensor(value(3), (1,), (1,)), "int"),
        "giant expanded tensor": (
            tensor(stored(RAW, 12), (1 << 20, 1 << 20), (0, 0)),
            (1 << 20, 1 << 20),
        ),
        "key that is a path": (
            call(
                name("torch.storage", "_load_from_bytes"),
                value(stream(storage_id(12, key="../../x"), RAW, numel=12)),
            ),
            "../../x",
        ),
        # of elements 0 to 5 of the storage, as torch wrote it before 0.4
        "view of a storage": (
            call(
                name("torch.storage", "_load_from_bytes"),
                value(stream(storage_id(12, view=("1", 0, 6)), RAW, numel=12)),
            ),
            "tuple",
        ),
    }.values(),
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_data_never_need_is_refused(read, instructions, refused):
    with raises(UnsafePickleError, value=refused):
        read(whole(instructions))


def test_pickles_are_not_followed_without_end(read):
    content = stored(RAW, 12)
    for _ in range(5):
        content = call(name("torch.storage", "_load_from_bytes"), value(stream(content, b"")))
    with raises(UnsafePickleError, value=2):
        read(whole(content))


# what is damaged


def torch_map(**changed):
    """A good map's pickle, in the release's form."""
    content = {"map": tensor(stored(RAW, 12), (1, 1, 3, 4), (12, 12, 4, 1)), "prob": value(0.5)}
    return whole(entries(**{**content, **changed}))


def test_a_pickle_cut_short_anywhere_is_a_named_error(read):
    content = torch_map()
    assert read(content)["map"].shape == (1, 1, 3, 4)
    for length in range(1, len(content)):
        with pytest.raises(InputFileError) as caught:
            read(content[:length])
        assert caught.value.path.name == "case_Edema_map.pkl"


@pytest.mark.parametrize(
    ("instructions", "option", "value"),
    [
        # the last element of the tensor
        (tensor(stored(RAW, 12), (13,), (1,)), None, 12),
        (tensor(stored(RAW, 12), (3, 4), (8, 1)), None, 2 * 8 + 3),
        (tensor(stored(RAW, 12), (-1,), (1,)), "the size of a tensor", -1),
        (tensor(stored(RAW, 12), (3,), (-1,), offset=5), "the stride of a tensor", -1),
        (tensor(stored(RAW, 12), (3,), (1, 1)), None, (1, 1)),
        (tensor(stored(RAW, 12), (1 << 60,), (1,)), "the size of a tensor", 1 << 60),
        # the bytes and the elements of a storage
        (stored(RAW, 13), None, 48),
        (stored(b"", 1 << 40), None, 1 << 40),
        (
            call(name("torch.storage", "_load_from_bytes"), value(stream(storage_id(12), RAW, numel=11))),
            *(None, 11),
        ),
        (
            call(
                name("torch.storage", "_load_from_bytes"),
                value(stream(storage_id(12), RAW, numel=12, keys=("1",))),
            ),
            *(None, ["1"]),
        ),
        (
            call(
                name("torch.storage", "_load_from_bytes"),
                value(stream(storage_id(12), RAW, numel=12, keys=("0", 1))),
            ),
            *(None, ["0", 1]),
        ),
        (
            call(
                name("torch.storage", "_load_from_bytes"),
                value(stream(storage_id(12), RAW, numel=12, little_endian=False)),
            ),
            *("little_endian", False),
        ),
        (call(name("torch.storage", "_load_from_bytes"), value(b"")), None, None),
        (b"}]" + value(1) + b"s", None, "list"),
        (b"}(" + value(1) + b"u", None, None),
        (b"h\x05", None, None),
        # a set that is filled as a dict would hash what nobody has looked at
        (b"\x8f" + value("k") + b")" + b"\x85" * 9 + b"s", None, "dict"),
    ],
)
def test_a_pickle_that_contradicts_itself_is_a_named_error(read, instructions, option, value):
    with raises(InputFileError, option=option, value=value):
        read(whole(instructions))


@pytest.mark.parametrize(
    "content", [b"Case,Task\n1,Edema\n", b'{"map": 1}', b"\xff\xd8\xff\xe0JPEG", b"\x1f\x8bgzip", b"."]
)
def test_a_file_of_another_kind_is_a_named_error(read, content):
    with raises(InputFileError) as caught:
        read(content)
    assert caught.value.path.name == "case_Edema_map.pkl"


@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
def test_a_pipe_or_a_device_is_refused_instead_of_waited_for(tmp_path, target):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "case_Edema_map.pkl").symlink_to(target)
    with raises(InputFileError, path=tmp_path / "case_Edema_map.pkl", hint="give a file"):
        read_pickle(tmp_path / "case_Edema_map.pkl")


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (archive(value(1), {}, compression=zipfile.ZIP_DEFLATED), "archive/data.pkl"),
        # a storage that is missing, that has too few bytes
        (archive(tensor(storage_id(12), (12,), (1,)), {}), None),
        (archive(tensor(storage_id(12), (12,), (1,)), {"0": RAW[:-4]}), 44),
        (archive(tensor(storage_id(12), (12,), (1,)), {"0": RAW})[:-30], None),
    ],
)
def test_a_damaged_zip_archive_is_a_named_error(read, content, value):
    with raises(InputFileError, value=value):
        read(content)


def test_a_damaged_byte_anywhere_is_a_named_error_or_other_data(read):
    content = torch_map()
    messages = []
    for position in range(len(content)):
        for flip in (1, 64, 255):
            damaged = bytearray(content)
            damaged[position] ^= flip
            try:
                read(bytes(damaged))
            except InputFileError as error:
                messages.append(str(error))
    assert len(messages) > len(content)
    assert not any("\n" in message for message in messages)


def test_many_storages_are_counted_in_linear_time(read):
    ids = b"".join(storage_id(0, key=str(number)) for number in range(20_000))
    keys = [str(number) for number in range(20_000)]
    with quick(10):
        found = read(stream(b"(" + ids + b"l", bytes(8 * len(keys)), keys=keys))
    assert len(found) == len(keys)


def test_a_parameter_is_its_tensor_and_nothing_else(read):
    rebuild = name("torch._utils", "_rebuild_parameter")
    hooks = call(name("collections", "OrderedDict"))
    parameter = call(rebuild, tensor(stored(RAW, 12), (3, 4), (4, 1)), value(True), hooks)
    np.testing.assert_array_equal(read(whole(parameter)), NUMBERS.reshape(3, 4))
    for content, kind in (([1.0], "list"), (1.0, "float"), (None, "NoneType")):
        with raises(UnsafePickleError, value=kind):
            read(whole(call(rebuild, value(content), value(True), hooks)))
