"""Read pickles of arrays and torch tensors without running them, and without torch."""

import functools
import io
import math
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from salstats.errors import InputFileError
from salstats.files.inputs import read_bytes
from salstats.readers.cells import PathLike
from salstats.readers.pickle_machine import (
    ARRAYS,
    DamagedPickleError,
    UnsafePickleError,
    run,
    whole_numbers,
)

__all__ = ["UnsafePickleError", "read_pickle"]

#: First value of a file that torch.save wrote before it wrote zip archives, and of a storage's bytes.
_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
#: Pickles may be nested in the bytes of a storage to this depth.
_MAX_DEPTH = 2
#: An expanded tensor repeats the elements of its storage; one with more of them than this is refused.
_MAX_EXPANDED = 1 << 24
_BIG_ENDIAN = "it was written on a machine with the other order of bytes"
_KEY = re.compile(r"\w{1,40}", re.ASCII)

_ELEMENTS = {
    **{"Float": "<f4", "Double": "<f8", "Half": "<f2", "Long": "<i8", "Int": "<i4", "Short": "<i2"},
    **{"Char": "i1", "Byte": "u1", "Bool": "?", "Untyped": "u1"},
    # the upper half of a float32, which NumPy lacks
    "BFloat16": "bfloat16",
}


def read_pickle(path: PathLike, *, skip: int = 0) -> Any:
    """Read a pickle of arrays, tensors, containers, text and numbers; nothing in it is run.

    A pickle is a program, and the usual way of loading one runs whatever it says. This reader knows the few
    names that arrays and tensors need and refuses all others (UnsafePickleError), also in the pickles that
    lie within the bytes of a tensor's storage. Torch is not needed. Tensors, parameters and arrays come as
    NumPy arrays (of bfloat16, float32; they may be read-only), NumPy's numbers as Python's, an OrderedDict as
    a dict, and an array without axes that holds an object as that object. `skip` bytes come before the
    pickle, as in a .npy file.
    """
    file = Path(path)
    data = read_bytes(file)[skip:]
    try:
        if data.startswith(b"PK\x03\x04"):
            return _archive(data)
        if data.startswith(_HEAD):
            return _stream(data, depth=0)
        return run(io.BytesIO(data), _allow_list(0))
    except UnsafePickleError as error:
        raise UnsafePickleError(
            f"{file}: {error}",
            hint="a file of maps needs arrays, tensors, text and numbers only, and nothing of it was run",
            path=file,
        ) from error
    except DamagedPickleError as error:
        raise InputFileError(f"{file}: not a pickle, or a damaged one ({error})", path=file) from error


class _Storage:
    """A type of storage: the type of its elements; a pickle cannot call it."""

    def __init__(self, element: str) -> None:
        self.is_bfloat16 = element == _ELEMENTS["BFloat16"]
        self.stored = np.dtype("<u2" if self.is_bfloat16 else element)
        self.dtype = np.dtype("<f4" if self.is_bfloat16 else element)

    def numbers(self, content: bytes, numel: int) -> np.ndarray:
        """Return the elements of a storage, whose bytes must be exactly those of `numel` elements."""
        if len(content) != numel * self.stored.itemsize:
            raise DamagedPickleError(f"a storage of {numel} elements in it has {len(content)} bytes")
        if self.stored.kind == "b":
            return np.frombuffer(content, "u1") != 0
        numbers = np.frombuffer(content, self.stored)
        if self.is_bfloat16:
            return (numbers.astype("<u4") << 16).view("<f4")
        return numbers


def _allow_list(depth: int) -> dict[tuple[str, str], Any]:
    """Return the names that a pickle may use, at a depth of pickles within storages."""

    def load_from_bytes(data: bytes) -> np.ndarray:
        if depth >= _MAX_DEPTH:
            raise UnsafePickleError(f"refused to follow pickles more than {_MAX_DEPTH} deep in one another")
        storage = _stream(data, depth + 1)
        if not isinstance(storage, np.ndarray) or storage.ndim != 1:
            raise DamagedPickleError("the bytes of a storage in it hold something else")
        return storage

    return {**_TORCH, ("torch.storage", "_load_from_bytes"): load_from_bytes}


def _stream(data: bytes, depth: int) -> Any:
    """Read torch.save's older form: a header, a pickle, and the storages that it points to."""
    stream = io.BytesIO(data)
    magic = run(stream, {})
    protocol = run(stream, {})
    system = run(stream, {})
    if magic != _MAGIC or protocol != _PROTOCOL or not isinstance(system, dict):
        raise DamagedPickleError("a storage in it does not begin as torch writes one")
    if system.get("little_endian", True) is not True:
        raise DamagedPickleError(_BIG_ENDIAN)
    arrays: dict[str, np.ndarray] = {}
    kinds: dict[str, tuple[_Storage, int]] = {}
    n_free = len(data)

    def persistent(storage_id: Any) -> np.ndarray:
        nonlocal n_free
        key, kind, numel = _storage_id(storage_id)
        if kinds.setdefault(key, (kind, numel)) != (kind, numel):
            raise DamagedPickleError("one storage in it has two sizes")
        if key not in arrays:
            n_free -= numel * kind.stored.itemsize
            if n_free < 0:
                raise DamagedPickleError(f"a storage of {numel} elements in it has fewer bytes")
            # its bytes follow the pickle: tensors are views of this array, which is filled below
            arrays[key] = np.zeros(numel, kind.dtype)
        return arrays[key]

    result = run(stream, _allow_list(depth), persistent)
    keys = run(stream, {})
    if not isinstance(keys, list) or {k for k in keys if isinstance(k, str)} != {*arrays}:
        raise DamagedPickleError("the storages in it are not those that it points to")
    for key in keys:
        kind, numel = kinds[key]
        stated = int.from_bytes(stream.read(8), "little", signed=True)
        arrays[key][:] = kind.numbers(stream.read(numel * kind.stored.itemsize), numel)
        if stated != numel:
            raise DamagedPickleError(f"a storage of {numel} elements in it is said to have {stated}")
    return result


def _archive(data: bytes) -> Any:
    """Read torch.save's zip archive. Nothing is unpacked to the disk."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            pickle_names = [n for n in entries if n == "data.pkl" or n.endswith("/data.pkl")]
            if len(pickle_names) != 1:
                raise DamagedPickleError("a zip archive, but not one that torch.save wrote")
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries.values()):
                raise DamagedPickleError("a compressed zip archive; torch.save does not compress")
            if sum(entry.file_size for entry in archive.infolist()) > len(data):
                raise DamagedPickleError("a zip archive whose files overlap")
            root = pickle_names[0].removesuffix("data.pkl")
            if f"{root}byteorder" in entries and archive.read(f"{root}byteorder") != b"little":
                raise DamagedPickleError(_BIG_ENDIAN)

            @functools.cache
            def storage(key: str, kind: _Storage, numel: int) -> np.ndarray:
                return kind.numbers(archive.read(f"{root}data/{key}"), numel)

            pickled = io.BytesIO(archive.read(pickle_names[0]))
            return run(pickled, _allow_list(0), lambda storage_id: storage(*_storage_id(storage_id)))
    except (UnsafePickleError, DamagedPickleError):
        raise
    # zipfile raises errors of several classes on damaged archives
    except Exception as error:
        raise DamagedPickleError(f"a zip archive that cannot be read: {error}") from error


def _storage_id(storage_id: Any) -> tuple[str, _Storage, int]:
    """Return the key, the element type and the number of elements of a storage that a pickle points to."""
    is_id = isinstance(storage_id, tuple) and len(storage_id) in (5, 6) and storage_id[0] == "storage"
    # a sixth part is a view of a storage, which torch has not written since 0.4
    if not is_id or any(storage_id[5:]):
        raise UnsafePickleError("refused to follow a persistent id that is no storage's")
    _, kind, key, _, numel, *_ = storage_id
    if not isinstance(kind, _Storage):
        raise UnsafePickleError("refused to follow a persistent id that is no storage's")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise UnsafePickleError(f"refused to follow the key {str(key)[:40]!r} of a storage")
    (size,) = whole_numbers((numel,), "the size of a storage")
    return key, kind, size


def _rebuild_tensor(storage: object, offset: object, size: object, stride: object, *_: object) -> np.ndarray:
    """Make a tensor as a view of its storage; further arguments concern gradients."""
    if not isinstance(storage, np.ndarray) or storage.ndim != 1:
        raise UnsafePickleError("refused to make a tensor of something that is no storage")
    sizes = whole_numbers(size, "the size of a tensor")
    steps = whole_numbers(stride, "the stride of a tensor")
    (start,) = whole_numbers((offset,), "the offset of a tensor")
    if len(sizes) != len(steps):
        raise DamagedPickleError(f"a tensor of size {sizes} in it has strides {steps}")
    if math.prod(sizes) == 0:
        return np.empty(sizes, storage.dtype)
    last = start + sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
    if last >= len(storage):
        raise DamagedPickleError(f"a tensor of size {sizes} in it reaches beyond its storage")
    if math.prod(sizes) > max(len(storage), _MAX_EXPANDED):
        raise UnsafePickleError(f"refused to make a tensor of size {sizes} of {len(storage)} stored elements")
    # in bounds by the check above; torch's strides count elements
    strides = tuple(step * storage.itemsize for step in steps)
    return np.lib.stride_tricks.as_strided(storage[start:], sizes, strides, writeable=False)


def _rebuild_parameter(tensor: object, *_: object) -> np.ndarray:
    """Return the tensor of a parameter."""
    if not isinstance(tensor, np.ndarray):
        raise UnsafePickleError("refused to make a parameter of something that is no tensor")
    return tensor


_STORAGES = {name: _Storage(element) for name, element in _ELEMENTS.items()}
#: Beginning of a file in torch.save's older form: the magic number as a pickle.
_HEAD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_TORCH: dict[tuple[str, str], Any] = {
    **ARRAYS,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch", "Size"): lambda sizes=(): whole_numbers(sizes, "a size"),
    ("torch.storage", "UntypedStorage"): _STORAGES["Untyped"],
    **{("torch", f"{name}Storage"): kind for name, kind in _STORAGES.items()},
}
