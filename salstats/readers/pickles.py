"""Read pickles of arrays and torch tensors without running them, and without torch."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import InputFileError
from salstats.files.inputs import read_bytes
from salstats.readers.cells import PathLike
from salstats.readers.pickle_arrays import ARRAYS, product, whole_numbers
from salstats.readers.pickle_machine import DamagedPickleError, UnsafePickleError, run

__all__ = ["UnsafePickleError", "read_pickle"]

#: First value of a file that torch.save wrote before it wrote zip archives, and of a storage's bytes.
_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
#: Pickles may lie in the bytes of a storage, and in those once more; no further.
_DEEPEST = 2
#: An expanded tensor repeats the elements of its storage; one with more of them than this is refused.
_MOST_EXPANDED = 1 << 24
_KEY = re.compile(r"\w{1,40}", re.ASCII)

#: A type of 16 bits that NumPy lacks: the upper half of a float32.
_BFLOAT16 = "bfloat16"
_ELEMENTS: dict[str, Any] = {
    "Float": np.dtype("<f4"),
    "Double": np.dtype("<f8"),
    "Half": np.dtype("<f2"),
    "BFloat16": _BFLOAT16,
    "Long": np.dtype("<i8"),
    "Int": np.dtype("<i4"),
    "Short": np.dtype("<i2"),
    "Char": np.dtype("i1"),
    "Byte": np.dtype("u1"),
    "Bool": np.dtype("?"),
    "Untyped": np.dtype("u1"),
}


def read_pickle(path: PathLike, *, skip: int = 0) -> Any:
    """Read a pickle that holds arrays, tensors, containers, text and numbers; nothing in it is run.

    A pickle is a program, and the usual way of loading one runs whatever it says. This reader knows the
    few names that arrays and tensors need and refuses all others, also in the pickles that lie within
    the bytes of a tensor's storage. Torch is not needed.

    Parameters
    ----------
    path : path
        A file written by `pickle.dump` or `torch.save`.
    skip : int
        Bytes before the pickle, such as the header of a .npy file.

    Returns
    -------
    object
        Containers, text and numbers as they were. Tensors, parameters and arrays are NumPy arrays (of
        bfloat16, float32), NumPy's numbers are Python's, an OrderedDict is a dict, and an array without axes
        that holds an object is that object. Arrays may be read-only.

    Raises
    ------
    UnsafePickleError
        The file names something outside the list, calls or changes what data never do, or asks for far
        more memory than it has content. The message says which; nothing was run.
    InputFileError
        No such file, or no plain one; empty; no pickle; cut short; a tensor reaches beyond its storage.

    Examples
    --------
    >>> import pathlib, pickle, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "edema_map.pkl"
    ...     _ = file.write_bytes(pickle.dumps({"prob": 0.25, "cxr_dims": (2828, 2320)}))
    ...     read_pickle(file)
    {'prob': 0.25, 'cxr_dims': (2828, 2320)}
    """
    file = Path(path)
    data = read_bytes(file)[skip:]
    try:
        if data.startswith(b"PK\x03\x04"):
            return _archive(data)
        if data.startswith(_HEAD):
            return _stream(data, depth=0)
        return run(io.BytesIO(data), _table(0))
    except UnsafePickleError as error:
        raise UnsafePickleError(
            f"{file}: {error}; a file of maps needs arrays, tensors, text and numbers only, and nothing "
            "of it was run"
        ) from error
    except DamagedPickleError as error:
        raise InputFileError(f"{file}: not a pickle, or a damaged one ({error})") from error


def _table(depth: int) -> dict[tuple[str, str], Any]:
    """What a pickle may name, at a depth of pickles within storages."""

    def load_from_bytes(data: object) -> np.ndarray:
        if not isinstance(data, bytes):
            raise DamagedPickleError("a storage in it is not made of bytes")
        if depth >= _DEEPEST:
            raise UnsafePickleError(f"refused to follow pickles more than {_DEEPEST} deep in one another")
        storage = _stream(data, depth + 1)
        if not isinstance(storage, np.ndarray) or storage.ndim != 1:
            raise DamagedPickleError("the bytes of a storage in it hold something else")
        return storage

    return {**_TORCH, ("torch.storage", "_load_from_bytes"): load_from_bytes}


def _stream(data: bytes, depth: int) -> Any:
    """What torch.save's older form holds: header, a pickle, and the storages that it points to."""
    stream = io.BytesIO(data)
    magic, protocol, system = (run(stream, {}) for _ in range(3))
    if magic != _MAGIC or protocol != _PROTOCOL or not isinstance(system, dict):
        raise DamagedPickleError("a storage in it does not begin as torch writes one")
    if system.get("little_endian", True) is not True:
        raise DamagedPickleError("it was written on a machine with the other order of bytes")
    storages: dict[str, tuple[np.ndarray, Any, int]] = {}

    def persistent(given: Any) -> np.ndarray:
        key, element, numel = _storage_id(given)
        if key in storages:
            if storages[key][1] is not element or storages[key][2] != numel:
                raise DamagedPickleError("one storage in it has two sizes")
        else:
            n_bytes = sum(n * _width(e) for _, e, n in storages.values()) + numel * _width(element)
            if n_bytes > len(data):
                raise DamagedPickleError(f"a storage of {numel} elements in it has fewer bytes")
            # its bytes come after the pickle: tensors are views of this array, which is filled then
            storages[key] = (np.zeros(numel, _dtype(element)), element, numel)
        return _view(storages[key][0], given[5] if len(given) == 6 else None)

    result = run(stream, _table(depth), persistent)
    keys = run(stream, {})
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(storages):
        raise DamagedPickleError("the storages in it are not those that it points to")
    for key in keys:
        array, element, numel = storages[key]
        n_bytes = numel * _width(element)
        stated = int.from_bytes(stream.read(8), "little", signed=True)
        start = stream.tell()
        n_left = len(data) - start
        if stated != numel or n_left < n_bytes:
            raise DamagedPickleError(f"a storage of {numel} elements in it has {max(n_left, 0)} bytes")
        stream.seek(start + n_bytes)
        content = _numbers(memoryview(data)[start : start + n_bytes], element)
        if result is array:
            # a storage by itself, as within a tensor's pickle: no copy
            return content
        array[:] = content
    return result


def _archive(data: bytes) -> Any:
    """What torch.save's zip archive holds. Nothing is unpacked to the disk."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            tops = [n.removesuffix("data.pkl") for n in names if n == "data.pkl" or n.endswith("/data.pkl")]
            if len(tops) != 1:
                raise DamagedPickleError("a zip archive, but not one that torch.save wrote")
            if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
                raise DamagedPickleError("a compressed zip archive; torch.save does not compress")
            if sum(info.file_size for info in archive.infolist()) > len(data):
                raise DamagedPickleError("a zip archive whose files overlap")
            if f"{tops[0]}byteorder" in names and archive.read(f"{tops[0]}byteorder") != b"little":
                raise DamagedPickleError("it was written on a machine with the other order of bytes")

            def persistent(given: Any) -> np.ndarray:
                key, element, numel = _storage_id(given)
                content = archive.read(f"{tops[0]}data/{key}")
                if len(content) != numel * _width(element):
                    raise DamagedPickleError(f"a storage of {numel} elements in it has {len(content)} bytes")
                return _view(_numbers(content, element), None)

            return run(io.BytesIO(archive.read(f"{tops[0]}data.pkl")), _table(0), _once(persistent))
    except (UnsafePickleError, DamagedPickleError):
        raise
    # what zipfile raises on damaged archives is not all of one kind
    except Exception as error:
        raise DamagedPickleError(f"a zip archive that cannot be read: {error}") from error


def _once(persistent: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
    """A lookup of storages that reads each only once."""
    known: dict[str, tuple[list, np.ndarray]] = {}

    def lookup(given: Any) -> np.ndarray:
        key, *what = _storage_id(given)
        if key not in known:
            known[key] = what, persistent(given)
        if known[key][0] != what:
            raise DamagedPickleError("one storage in it has two sizes")
        return known[key][1]

    return lookup


def _storage_id(given: Any) -> tuple[str, Any, int]:
    """The key, the element type and the number of elements of a storage that a pickle points to."""
    if not isinstance(given, tuple) or len(given) not in (5, 6) or given[0] != "storage":
        raise UnsafePickleError("refused to follow a persistent id that is no storage's")
    _, kind, key, location, numel, *_ = given
    if not isinstance(kind, _Storage) or not isinstance(location, str):
        raise UnsafePickleError("refused to follow a persistent id that is no storage's")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise UnsafePickleError(f"refused to follow the key {str(key)[:40]!r} of a storage")
    (numel,) = whole_numbers((numel,), "the size of a storage")
    return key, kind.element, numel


def _view(storage: np.ndarray, part: object) -> np.ndarray:
    """The part of a storage that older versions of torch name by (key, offset, size)."""
    if part is None:
        return storage
    if not isinstance(part, tuple) or len(part) != 3:
        raise DamagedPickleError("a view of a storage in it is not (key, offset, size)")
    offset, size = whole_numbers(part[1:], "a view of a storage")
    if offset + size > len(storage):
        raise DamagedPickleError("a view in it reaches beyond its storage")
    return storage[offset : offset + size]


def _rebuild_tensor(storage: object, offset: object, size: object, stride: object, *_: object) -> np.ndarray:
    """A tensor as a view of its storage; what else comes along concerns gradients."""
    if not isinstance(storage, np.ndarray) or storage.ndim != 1:
        raise UnsafePickleError("refused to make a tensor of something that is no storage")
    sizes, steps = (
        whole_numbers(size, "the size of a tensor"),
        whole_numbers(stride, "the stride of a tensor"),
    )
    (start,) = whole_numbers((offset,), "the offset of a tensor")
    if len(sizes) != len(steps):
        raise DamagedPickleError(f"a tensor of size {sizes} in it has strides {steps}")
    n_elements = product(sizes)
    if n_elements == 0:
        return np.empty(sizes, storage.dtype)
    if start + sum((n - 1) * step for n, step in zip(sizes, steps, strict=True)) >= len(storage):
        raise DamagedPickleError(f"a tensor of size {sizes} in it reaches beyond its storage")
    if n_elements > max(len(storage), _MOST_EXPANDED):
        raise UnsafePickleError(f"refused to make a tensor of size {sizes} of {len(storage)} stored elements")
    width = storage.itemsize
    # in bounds by the check above; torch's strides count elements
    return np.lib.stride_tricks.as_strided(
        storage[start:], sizes, tuple(step * width for step in steps), writeable=False
    )


def _rebuild_parameter(tensor: object, *_: object) -> np.ndarray:
    """The tensor of a parameter."""
    if not isinstance(tensor, np.ndarray):
        raise UnsafePickleError("refused to make a parameter of something that is no tensor")
    return tensor


def _size(sizes: object = ()) -> tuple[int, ...]:
    """The size of a tensor as a tuple."""
    return whole_numbers(sizes, "a size")


class _Storage:
    """A type of storage: it says what the elements are and cannot be called."""

    def __init__(self, element: Any) -> None:
        self.element = element


def _dtype(element: Any) -> np.dtype:
    """The type that elements have here."""
    return np.dtype("<f4") if element is _BFLOAT16 else element


def _width(element: Any) -> int:
    """The bytes of an element in the file."""
    return 2 if element is _BFLOAT16 else int(element.itemsize)


def _numbers(content: bytes | memoryview, element: Any) -> np.ndarray:
    """The elements of a storage."""
    if element is _BFLOAT16:
        return (np.frombuffer(content, "<u2").astype("<u4") << 16).view("<f4")
    if element.kind == "b":
        return np.frombuffer(content, "u1") != 0
    return np.frombuffer(content, element)


#: How a file of torch.save's older form begins: the magic number as a pickle.
_HEAD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_TORCH: dict[tuple[str, str], Any] = {
    **ARRAYS,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch", "Size"): _size,
    ("torch.storage", "UntypedStorage"): _Storage(_ELEMENTS["Untyped"]),
    **{
        (module, f"{name}Storage"): _Storage(element)
        for module in ("torch", "torch.cuda")
        for name, element in _ELEMENTS.items()
    },
}
