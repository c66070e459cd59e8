"""Read pickles of arrays and torch tensors without running their code, and without torch."""

import functools
import io
import math
import re
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from salstats.errors import InputFileError
from salstats.files.input_files import read_bytes
from salstats.readers.cells import PathLike
from salstats.readers.pickle_machine import (
    ARRAY_REPLACEMENTS,
    DamagedPickleError,
    UnsafePickleError,
    checked_whole_numbers,
    read_allowed_pickle,
)

__all__ = ["UnsafePickleError", "read_pickle"]

#: Before zip archives, torch.save wrote a stream of pickles (pytorch/pytorch, torch/serialization.py,
#: `_legacy_save`), and a storage that is pickled on its own still holds such a stream as bytes. The first two
#: pickles of a stream are these numbers.
_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_PROTOCOL_VERSION = 1001
#: First bytes of a stream: the magic number as a pickle.
_STREAM_BEGINNING = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
#: First bytes of a zip archive.
_ARCHIVE_BEGINNING = b"PK\x03\x04"
#: Bytes of the number of elements that precedes each storage in a stream.
_SIZE_BYTES = 8
#: Largest depth of pickles that lie in the bytes of storages.
_MAX_DEPTH = 2
#: An expanded tensor repeats the elements of its storage; one of more elements than this is an error.
_MAX_EXPANDED_ELEMENTS = 1 << 24
_BIG_ENDIAN_TEXT = "it was written on a machine with the other order of bytes"
#: Form of a storage's key.
_STORAGE_KEY = re.compile(r"\w{1,40}", re.ASCII)
#: Element type in the name of a class of storages, such as Float in FloatStorage -> type of NumPy.
_DTYPE_OF_ELEMENT = {
    "Float": "<f4",
    "Double": "<f8",
    "Half": "<f2",
    "Long": "<i8",
    "Int": "<i4",
    "Short": "<i2",
    "Char": "i1",
    "Byte": "u1",
    "Bool": "?",
    "Untyped": "u1",
    # NumPy has no such type; see `_StorageType`
    "BFloat16": "bfloat16",
}


def read_pickle(path: PathLike, *, skip_bytes: int = 0) -> Any:
    """Read a pickle of arrays, tensors, containers, text and numbers; no code in it is run.

    A pickle is a program, and the usual way of loading one runs it. This reader knows the few names that
    arrays and tensors need; all others raise UnsafePickleError, also in pickles that lie in the bytes of a
    tensor's storage. Torch is not needed. Tensors, parameters and arrays become NumPy arrays (float32 for
    bfloat16; they may be read-only), NumPy's numbers Python's, an OrderedDict a dict, and an array without
    axes that holds an object that object. `skip_bytes` is the number of bytes before the pickle, as in a .npy
    file.
    """
    file = Path(path)
    data = read_bytes(file)[skip_bytes:]
    try:
        if data.startswith(_ARCHIVE_BEGINNING):
            return _read_torch_archive(data)
        if data.startswith(_STREAM_BEGINNING):
            return _read_old_torch_stream(data, storage_depth=0)
        return read_allowed_pickle(io.BytesIO(data), _replacements_of_allowed_names(0))
    except UnsafePickleError as error:
        raise UnsafePickleError(
            f"{file}: {error}",
            option=error.option,
            value=error.value,
            hint="a file of maps needs arrays, tensors, text and numbers only, and no code in it was run",
            path=file,
        ) from error
    except DamagedPickleError as error:
        raise InputFileError(
            f"{file}: not a pickle, or a damaged one ({error})",
            option=error.option,
            value=error.value,
            path=file,
        ) from error


class _StorageType:
    """Class of torch's storages, such as FloatStorage: the type of the elements; a pickle cannot call it."""

    def __init__(self, element: str) -> None:
        self.is_bfloat16 = element == _DTYPE_OF_ELEMENT["BFloat16"]
        #: Type of the elements in the file.
        self.stored_dtype = np.dtype("<u2" if self.is_bfloat16 else element)
        #: Type of the elements in an array of them.
        self.dtype = np.dtype("<f4" if self.is_bfloat16 else element)

    def elements(self, content: bytes, n_elements: int) -> np.ndarray:
        """Return the elements of a storage, whose bytes must be exactly those of `n_elements` elements."""
        if len(content) != n_elements * self.stored_dtype.itemsize:
            raise DamagedPickleError(
                f"a storage of {n_elements} elements in it has {len(content)} bytes", value=len(content)
            )
        if self.stored_dtype.kind == "b":
            # every byte other than 0 is True
            return np.frombuffer(content, "u1") != 0
        stored = np.frombuffer(content, self.stored_dtype)
        if self.is_bfloat16:
            # the upper half of a float32
            return (stored.astype("<u4") << 16).view("<f4")
        return stored


class _StorageReference(NamedTuple):
    """Storage to which a pickle refers: its key, the type and the number of its elements."""

    key: str
    storage_type: _StorageType
    n_elements: int

    @property
    def n_bytes(self) -> int:
        """Number of bytes of the storage in the file."""
        return self.n_elements * self.storage_type.stored_dtype.itemsize


def _replacements_of_allowed_names(storage_depth: int) -> dict[tuple[str, str], Any]:
    """Return the replacement of each (module, name) that a pickle may use.

    `storage_depth` is the number of storages, one within the other, in which the pickle lies.
    """

    def load_torch_storage_from_bytes(data: bytes) -> np.ndarray:
        if storage_depth >= _MAX_DEPTH:
            raise UnsafePickleError(
                f"refused to follow pickles more than {_MAX_DEPTH} deep in one another", value=storage_depth
            )
        storage = _read_old_torch_stream(data, storage_depth + 1)
        if not isinstance(storage, np.ndarray) or storage.ndim != 1:
            raise DamagedPickleError("the bytes of a storage in it hold something else")
        return storage

    return {**_TORCH_REPLACEMENTS, ("torch.storage", "_load_from_bytes"): load_torch_storage_from_bytes}


def _read_old_torch_stream(data: bytes, storage_depth: int) -> Any:
    """Read torch.save's older form: five pickles, then the storages to which the fourth of them refers.

    The pickles are a magic number, the version of the form, facts of the machine, the content, and the keys
    of the storages in their order. Each storage is its number of elements and their bytes.
    """
    stream = io.BytesIO(data)
    magic_number = read_allowed_pickle(stream, {})
    version = read_allowed_pickle(stream, {})
    system = read_allowed_pickle(stream, {})
    if magic_number != _MAGIC_NUMBER or version != _PROTOCOL_VERSION or not isinstance(system, dict):
        raise DamagedPickleError("a storage in it does not begin as torch writes one")
    if system.get("little_endian", True) is not True:
        raise DamagedPickleError(_BIG_ENDIAN_TEXT, option="little_endian", value=system["little_endian"])
    # by key: each storage to which the content refers, and the array that is to hold its elements
    references: dict[str, _StorageReference] = {}
    arrays: dict[str, np.ndarray] = {}
    n_bytes_left = len(data)

    def array_to_fill_with_storage(storage_id: Any) -> np.ndarray:
        nonlocal n_bytes_left
        reference = _storage_reference(storage_id)
        key = reference.key
        if references.setdefault(key, reference) != reference:
            raise DamagedPickleError("one storage in it has two sizes", value=key)
        if key not in arrays:
            n_bytes_left -= reference.n_bytes
            if n_bytes_left < 0:
                raise DamagedPickleError(
                    f"a storage of {reference.n_elements} elements in it has fewer bytes",
                    value=reference.n_elements,
                )
            # tensors are views of this array; it is filled below with the bytes that follow the pickles
            arrays[key] = np.zeros(reference.n_elements, reference.storage_type.dtype)
        return arrays[key]

    content = read_allowed_pickle(
        stream, _replacements_of_allowed_names(storage_depth), array_to_fill_with_storage
    )
    keys = read_allowed_pickle(stream, {})
    are_keys = isinstance(keys, list) and all(isinstance(key, str) for key in keys)
    if not are_keys or set(keys) != set(arrays):
        raise DamagedPickleError("the storages in it are not those that it points to", value=keys)
    for key in keys:
        reference = references[key]
        n_elements = reference.n_elements
        stated_size = int.from_bytes(stream.read(_SIZE_BYTES), "little", signed=True)
        arrays[key][:] = reference.storage_type.elements(stream.read(reference.n_bytes), n_elements)
        if stated_size != n_elements:
            raise DamagedPickleError(
                f"a storage of {n_elements} elements in it is said to have {stated_size}", value=stated_size
            )
    return content


def _read_torch_archive(data: bytes) -> Any:
    """Read torch.save's zip archive: a pickle NAME/data.pkl, and a file NAME/data/KEY for each storage.

    Nothing is unpacked to the disk.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            pickle_names = [name for name in entries if name == "data.pkl" or name.endswith("/data.pkl")]
            if len(pickle_names) != 1:
                raise DamagedPickleError(
                    "a zip archive, but not one that torch.save wrote", value=pickle_names
                )
            compressed = [
                name for name, entry in entries.items() if entry.compress_type != zipfile.ZIP_STORED
            ]
            if compressed:
                raise DamagedPickleError(
                    "a compressed zip archive; torch.save does not compress", value=compressed[0]
                )
            if sum(entry.file_size for entry in archive.infolist()) > len(data):
                raise DamagedPickleError("a zip archive whose files overlap")
            root = pickle_names[0].removesuffix("data.pkl")
            if f"{root}byteorder" in entries and archive.read(f"{root}byteorder") != b"little":
                raise DamagedPickleError(_BIG_ENDIAN_TEXT, option="byteorder")

            @functools.cache
            def elements(reference: _StorageReference) -> np.ndarray:
                content = archive.read(f"{root}data/{reference.key}")
                return reference.storage_type.elements(content, reference.n_elements)

            pickled = io.BytesIO(archive.read(pickle_names[0]))
            return read_allowed_pickle(
                pickled,
                _replacements_of_allowed_names(0),
                lambda storage_id: elements(_storage_reference(storage_id)),
            )
    except (UnsafePickleError, DamagedPickleError):
        raise
    # zipfile raises errors of several classes on damaged archives
    except Exception as error:
        raise DamagedPickleError(f"a zip archive that cannot be read: {error}") from error


def _storage_reference(storage_id: Any) -> _StorageReference:
    """Return the storage of a persistent id: ("storage", class, key, device, number of elements[, view])."""
    is_id = isinstance(storage_id, tuple) and len(storage_id) in (5, 6) and storage_id[0] == "storage"
    # a sixth part is a view of a storage, which torch has not written since 0.4
    if not is_id or any(storage_id[5:]):
        raise UnsafePickleError(
            "refused to follow a persistent id that is not a storage's", value=type(storage_id).__name__
        )
    _, storage_type, key, _, n_elements, *_ = storage_id
    if not isinstance(storage_type, _StorageType):
        raise UnsafePickleError(
            "refused to follow a persistent id that is not a storage's", value=type(storage_type).__name__
        )
    if not isinstance(key, str) or not _STORAGE_KEY.fullmatch(key):
        raise UnsafePickleError(
            f"refused to follow the key {str(key)[:40]!r} of a storage", value=str(key)[:40]
        )
    (size,) = checked_whole_numbers((n_elements,), "the size of a storage")
    return _StorageReference(key, storage_type, size)


def _rebuild_tensor(storage: object, offset: object, size: object, stride: object, *_: object) -> np.ndarray:
    """Make a tensor as a view of its storage, as `torch._utils._rebuild_tensor_v2` does.

    `offset` and `stride` count elements; the other arguments of a pickle are about gradients.
    """
    if not isinstance(storage, np.ndarray) or storage.ndim != 1:
        raise UnsafePickleError(
            "refused to make a tensor of something that is not a storage", value=type(storage).__name__
        )
    sizes = checked_whole_numbers(size, "the size of a tensor")
    steps = checked_whole_numbers(stride, "the stride of a tensor")
    (start,) = checked_whole_numbers((offset,), "the offset of a tensor")
    if len(sizes) != len(steps):
        raise DamagedPickleError(f"a tensor of size {sizes} in it has strides {steps}", value=steps)
    if math.prod(sizes) == 0:
        return np.empty(sizes, storage.dtype)
    last_element = start + sum((n - 1) * step for n, step in zip(sizes, steps, strict=True))
    if last_element >= len(storage):
        raise DamagedPickleError(
            f"a tensor of size {sizes} in it reaches beyond its storage", value=last_element
        )
    if math.prod(sizes) > max(len(storage), _MAX_EXPANDED_ELEMENTS):
        raise UnsafePickleError(
            f"refused to make a tensor of size {sizes} from {len(storage)} stored elements", value=sizes
        )
    # in bounds by the check above; NumPy's strides count bytes
    byte_strides = tuple(step * storage.itemsize for step in steps)
    return np.lib.stride_tricks.as_strided(storage[start:], sizes, byte_strides, writeable=False)


def _rebuild_parameter(tensor: object, *_: object) -> np.ndarray:
    """Return the tensor of a parameter."""
    if not isinstance(tensor, np.ndarray):
        raise UnsafePickleError(
            "refused to make a parameter of something that is not a tensor", value=type(tensor).__name__
        )
    return tensor


_STORAGE_TYPES = {name: _StorageType(element) for name, element in _DTYPE_OF_ELEMENT.items()}
#: (module, name) in pickles of tensors -> its replacement.
_TORCH_REPLACEMENTS: dict[tuple[str, str], Any] = {
    **ARRAY_REPLACEMENTS,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch", "Size"): lambda sizes=(): checked_whole_numbers(sizes, "a size"),
    ("torch.storage", "UntypedStorage"): _STORAGE_TYPES["Untyped"],
    **{("torch", f"{name}Storage"): storage_type for name, storage_type in _STORAGE_TYPES.items()},
}
