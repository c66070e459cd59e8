"""What pickles call to rebuild NumPy arrays and plain containers, each checked and harmless by itself."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from salstats.readers.pickle_machine import DamagedPickleError, Pending, UnsafePickleError, check_keys

#: Element types by the name a pickle gives them; of objects (O) an array has one, and is it.
_DTYPE = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248]|c8|c16|[SU]\d{1,4}|\?|O[48]?)")
_NDARRAY = object()


def _encode(text: object, encoding: object = "") -> bytes:
    """Bytes that a pickle of protocol 2 holds as text."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise UnsafePickleError(f"refused to encode by {str(encoding)[:40]!r}; bytes are stored as latin1")
    return text.encode("latin-1")


def _no_bytes(*arguments: object) -> bytes:
    """The empty bytes, which a pickle of protocol 2 asks for by a call."""
    if arguments:
        raise UnsafePickleError("refused to make bytes of anything")
    return b""


def _dict(items: object = ()) -> dict[Any, Any]:
    """A dict from pairs."""
    if not isinstance(items, list | tuple):
        raise DamagedPickleError("a dict in it is not made of pairs")
    if not all(isinstance(item, list | tuple) and len(item) == 2 for item in items):
        raise DamagedPickleError("a dict in it is not made of pairs")
    check_keys([item[0] for item in items])
    return {key: value for key, value in items}


def _set(items: object = ()) -> set[Any]:
    """A set from a list of plain values."""
    if not isinstance(items, list | tuple):
        raise DamagedPickleError("a set in it is not made of plain values")
    return set(check_keys(items))


def _frozenset(items: object = ()) -> frozenset[Any]:
    """A frozen set from a list of plain values."""
    return frozenset(_set(items))


def _complex(real: object, imag: object) -> complex:
    """A complex number."""
    if not isinstance(real, float) or not isinstance(imag, float):
        raise DamagedPickleError("a complex number in it is not made of numbers")
    return complex(real, imag)


def _dtype(name: object, *flags: object) -> Pending:
    """An element type, to which the pickle may add the order of its bytes."""
    if not isinstance(name, str) or not _DTYPE.fullmatch(name) or len(flags) > 2:
        raise UnsafePickleError(
            f"refused to load an array of element type {str(name)[:40]!r}; numbers would do"
        )
    dtype = np.dtype(name)

    def build(state: Any) -> np.dtype:
        if not isinstance(state, tuple) or len(state) < 5 or state[1] not in ("<", ">", "=", "|"):
            raise DamagedPickleError("an element type in it has no order of bytes")
        if any(part is not None for part in state[2:5]):
            raise UnsafePickleError("refused to load an array of records; numbers would do")
        return dtype.newbyteorder(state[1])

    return Pending(build, dtype)


def _array(data: object, dtype: object, shape: object, fortran: bool) -> np.ndarray:
    """An array on the pickle's bytes, of which there must be exactly enough."""
    if isinstance(data, str):
        # a pickle written by Python 2
        data = data.encode("latin-1")
    if not isinstance(data, bytes | bytearray) or not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise UnsafePickleError("refused to load an array that is not made of bytes; numbers would do")
    sizes = whole_numbers(shape, "the shape of an array")
    if product(sizes) * dtype.itemsize != len(data):
        raise DamagedPickleError(f"an array of shape {sizes} in it has {len(data)} bytes")
    if not data:
        return np.empty(sizes, dtype)
    return np.frombuffer(data, dtype).reshape(sizes, order="F" if fortran else "C")


def _reconstruct(kind: object, shape: object, code: object) -> Pending:
    """An array without content; the state that follows brings it."""
    if kind is not _NDARRAY:
        raise UnsafePickleError("refused to load a subclass of an array")

    def build(state: Any) -> Any:
        if not isinstance(state, tuple) or len(state) != 5:
            raise DamagedPickleError("an array in it has no content")
        _, sizes, dtype, fortran, data = state
        if isinstance(data, list) and len(data) == 1 and sizes == ():
            # what NumPy makes of an object that is no array, as where a dict is saved
            return data[0]
        return _array(data, dtype, sizes, bool(fortran))

    return Pending(build)


def _frombuffer(data: object, dtype: object, shape: object, order: object) -> np.ndarray:
    """An array from its bytes, as protocol 5 has it."""
    return _array(data, dtype, shape, order == "F")


def _scalar(dtype: object, data: object = b"") -> Any:
    """A number of NumPy as one of Python."""
    return _array(data, dtype, (), False).item()


def whole_numbers(given: object, what: str) -> tuple[int, ...]:
    """A tuple of whole numbers from 0, at most 32 of them."""
    if not isinstance(given, tuple | list) or len(given) > 32:
        raise DamagedPickleError(f"{what} is not a tuple of whole numbers")
    if any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n < 1 << 48 for n in given):
        raise DamagedPickleError(f"{what} is {str(tuple(given))[:60]}, not whole numbers from 0")
    return tuple(given)


def product(sizes: tuple[int, ...]) -> int:
    """The number of elements of a shape, as a whole number of any size."""
    total = 1
    for size in sizes:
        total *= size
    return total


def _under_both_names(functions: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Functions of NumPy's core, which version 2 renamed."""
    table = {}
    for path, function in functions.items():
        module, _, name = path.rpartition(".")
        table[f"numpy.core.{module}", name] = table[f"numpy._core.{module}", name] = function
    return table


#: Names that pickles of arrays and containers use, and what is called in their place.
ARRAYS: dict[tuple[str, str], Any] = {
    **_under_both_names(
        {
            "multiarray._reconstruct": _reconstruct,
            "multiarray.scalar": _scalar,
            "numeric._frombuffer": _frombuffer,
        }
    ),
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _dtype,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): _dict,
    **{
        (module, name): function
        for module in ("builtins", "__builtin__")
        for name, function in {
            "set": _set,
            "frozenset": _frozenset,
            "complex": _complex,
            "bytes": _no_bytes,
        }.items()
    },
}
