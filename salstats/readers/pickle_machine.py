"""Run a pickle over an allow-list: containers, text, numbers, arrays, and objects that given functions make.

A pickle is a program for a stack of values (CPython, Lib/pickletools.py describes every instruction). Here
it may push values, collect them in containers, and call functions of a given table, ours and not the ones
that it names. Every other name is an error before anything is called.
"""

import io
import math
import pickle
import pickletools
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from salstats.errors import InputFileError, SalstatsError
from salstats.memory_limit import (
    BYTES_PER_INSTRUCTION,
    LIMIT_VARIABLE,
    memory_limit_bytes,
    problem_text_if_too_large,
)


class UnsafePickleError(InputFileError):
    """A pickle that asks for something which data never need; it is not run."""


class DamagedPickleError(SalstatsError):
    """A pickle that is cut short, is none, or contradicts itself; the caller names the file."""


#: (module, name) -> its replacement: a function, or a token such as a storage's element type, never called.
AllowList = Mapping[tuple[str, str], Any]

#: Instructions that data need, by the names of `pickletools`.
_ALLOWED_INSTRUCTIONS = (
    "PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE",
    "GET", "BINGET", "LONG_BINGET", "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2",
    "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE",
    "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
    "EMPTY_LIST", "EMPTY_TUPLE", "EMPTY_DICT", "EMPTY_SET", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "LIST",
    "DICT", "FROZENSET", "APPEND", "APPENDS", "ADDITEMS", "SETITEM", "SETITEMS", "GLOBAL", "STACK_GLOBAL",
    "REDUCE", "BUILD", "PERSID", "BINPERSID",
)  # fmt: skip
#: Name of an instruction -> the byte that stands for it in a pickle.
_CODES = {opcode.name: ord(opcode.code) for opcode in pickletools.opcodes}
#: Bytes of a pickle's content that calls may copy: `_COPIES` times its size and `_COPIED_BYTES` more.
_COPIES = 10
_COPIED_BYTES = 1 << 22
_KEYS = str | bytes | int | float | None
#: Whole numbers below this have different hashes; any number of larger ones can share one.
_HASH_MODULUS = sys.hash_info.modulus
#: Largest number of axes of an array, as in NumPy before version 2.
_MAX_AXES = 32
#: Sizes and positions are below this, far more than any memory has.
_SIZE_LIMIT = 1 << 48


def read_allowed_pickle(
    stream: io.BytesIO, allowed: AllowList, object_of_persistent_id: Callable[[Any], Any] | None = None
) -> Any:
    """Read one pickle; the stream is left at its end.

    `allowed` gives the replacement of each (module, name); without
    `object_of_persistent_id` such an id is an error. The message of an UnsafePickleError begins with "refused
    to"; the caller puts the file before it.
    """
    try:
        return _Unpickler(stream, allowed, object_of_persistent_id).load()
    except (UnsafePickleError, DamagedPickleError):
        raise
    # bytes that are no pickle raise anything
    except Exception as error:
        raise DamagedPickleError(" ".join(str(error).split())[:200] or type(error).__name__) from error


class Pending:
    """An object that is completed by the state that follows it in the pickle."""

    def __init__(self, build: Callable[[Any], Any]) -> None:
        #: Makes the object of its state.
        self.build = build
        #: The object, None until its state was read.
        self.value: Any = None


class _Memo(dict[int, Any]):
    """Values by their index; a pending one that has been completed is replaced by its value."""

    def __getitem__(self, index: int) -> Any:
        value = super().__getitem__(index)
        if isinstance(value, Pending) and value.value is not None:
            return value.value
        return value


class _Instructions:
    """Function of each allowed instruction, by its byte; other instructions and too many are errors.

    It stands in the place of the dict `dispatch` of Python's unpickler, which looks up each instruction here.
    """

    def __init__(self) -> None:
        self.count = 0
        self.limit = memory_limit_bytes() // BYTES_PER_INSTRUCTION

    def __getitem__(self, code: int) -> Callable[["_Unpickler"], None]:
        self.count += 1
        if self.count > self.limit:
            n_bytes = self.count * BYTES_PER_INSTRUCTION
            reason = problem_text_if_too_large(n_bytes)
            raise UnsafePickleError(
                f"refused to go on: what it makes {reason}", option=LIMIT_VARIABLE, value=n_bytes
            )
        if code not in _FUNCTIONS:
            for name, code_of_name in _CODES.items():
                if code_of_name == code:
                    raise UnsafePickleError(f"refused to follow the instruction {name}", value=name)
            raise DamagedPickleError(f"byte {code} is no instruction", value=code)
        return _FUNCTIONS[code]


#: Python's unpickler in Python: the one in C hashes keys and takes memory before they can be checked.
_PythonUnpickler: Any = pickle._Unpickler


class _Unpickler(_PythonUnpickler):
    """The reader of one pickle; `stack` holds the values that its instructions push, the top last."""

    def __init__(
        self, stream: io.BytesIO, allowed: AllowList, persistent: Callable[[Any], Any] | None
    ) -> None:
        super().__init__(stream, encoding="latin1")
        self.allowed = allowed
        self.persistent = persistent
        self.dispatch = _Instructions()
        self.memo = _Memo()
        n_bytes = len(stream.getbuffer()) - stream.tell()
        #: Bytes that calls may still copy.
        self.copy_budget = _COPIED_BYTES + _COPIES * n_bytes

    def find_class(self, module: str, name: str) -> Any:
        """Return the replacement of a name."""
        # the pair as a whole: a name with dots would reach through an allowed module to another
        if (module, name) not in self.allowed:
            full_name = f"{module}.{name}"
            if not full_name.isprintable() or len(full_name) >= 100:
                full_name = repr(full_name[:100])
            raise UnsafePickleError(f"refused to load {full_name}", value=full_name)
        return self.allowed[module, name]

    def persistent_load(self, persistent_id: Any) -> Any:
        """Return the object of a persistent id."""
        if self.persistent is None:
            raise UnsafePickleError(
                "refused to follow a persistent id, which points out of the file",
                value=type(persistent_id).__name__,
            )
        return self.persistent(persistent_id)

    def reduce(self) -> None:
        """Call the function of the table below the arguments on top of the stack; push the result."""
        arguments = self.stack.pop()
        function = self.stack[-1]
        if not callable(function):
            raise UnsafePickleError(
                f"refused to call a value of type {type(function).__name__}", value=type(function).__name__
            )
        for argument in arguments:
            if isinstance(argument, str | bytes | bytearray | list | tuple):
                self.copy_budget -= len(argument)
        if self.copy_budget < 0:
            raise UnsafePickleError(
                "refused to copy its content over and over", value=getattr(function, "__name__", None)
            )
        self.stack[-1] = function(*arguments)

    def build(self) -> None:
        """Complete an array or an element type with its state."""
        state = self.stack.pop()
        pending = self.stack[-1]
        if not isinstance(pending, Pending):
            raise UnsafePickleError(
                f"refused to set the attributes of a value of type {type(pending).__name__}",
                value=type(pending).__name__,
            )
        value = pending.build(state)
        # the memo holds the pending object, which knows its value from now on
        pending.value = value
        self.stack[-1] = value

    def set_item(self) -> None:
        """Put one item into a dict."""
        value = self.stack.pop()
        key = self.stack.pop()
        self.fill([key, value])

    def set_items(self) -> None:
        """Put items into a dict."""
        self.fill(self.pop_mark())

    def make_dict(self) -> None:
        """Push a new dict of items."""
        items = self.pop_mark()
        self.append({})
        self.fill(items)

    def fill(self, keys_and_values: list[Any]) -> None:
        """Put items, key and value in turn, into the dict on top."""
        keys = check_keys(keys_and_values[::2])
        values = keys_and_values[1::2]
        self.top(dict).update(zip(keys, values, strict=True))

    def add_items(self) -> None:
        """Put values into a set."""
        items = self.pop_mark()
        self.top(set).update(check_keys(items))

    def top(self, container_type: type) -> Any:
        """Return the container on top; one of another type would hash unchecked values."""
        if not isinstance(self.stack[-1], container_type):
            raise DamagedPickleError(
                f"it fills a {container_type.__name__} where there is none", value=container_type.__name__
            )
        return self.stack[-1]

    def make_frozenset(self) -> None:
        """Push a new frozen set of values."""
        items = self.pop_mark()
        self.append(frozenset(check_keys(items)))

    def byte_array(self) -> None:
        """Push bytes, whose number precedes them in eight bytes; there may be fewer."""
        n_bytes = int.from_bytes(self.read(8), "little")
        self.append(self.read(n_bytes))


#: Byte of an instruction -> its function: Python's own, or one above that checks.
_FUNCTIONS: dict[int, Callable[[_Unpickler], None]] = {
    **{_CODES[name]: _PythonUnpickler.dispatch[_CODES[name]] for name in _ALLOWED_INSTRUCTIONS},
    _CODES["REDUCE"]: _Unpickler.reduce,
    _CODES["BUILD"]: _Unpickler.build,
    _CODES["SETITEM"]: _Unpickler.set_item,
    _CODES["SETITEMS"]: _Unpickler.set_items,
    _CODES["DICT"]: _Unpickler.make_dict,
    _CODES["ADDITEMS"]: _Unpickler.add_items,
    _CODES["FROZENSET"]: _Unpickler.make_frozenset,
    _CODES["BYTEARRAY8"]: _Unpickler.byte_array,
}


def check_keys(items: list[Any]) -> list[Any]:
    """Return keys of a dict or set: plain values, or flat tuples of text and one number at most.

    Hashing a deep tuple would overflow C's stack, and keys whose hashes anyone can make equal would take a
    time that grows with the square of their number; the hashes of text are secret.
    """
    for item in items:
        parts = item if isinstance(item, tuple) else (item,)
        numbers = [part for part in parts if not isinstance(part, str | bytes)]
        is_plain = len(numbers) < 2 and all(isinstance(number, _KEYS) for number in numbers)
        is_large = any(isinstance(number, int) and abs(number) >= _HASH_MODULUS for number in numbers)
        if not is_plain or is_large:
            raise DamagedPickleError(
                f"a key in it is a value of type {type(item).__name__}, not text or a number that is one",
                value=type(item).__name__,
            )
    return items


# replacements of the functions that pickles call to rebuild NumPy's arrays and plain containers

#: Element types by the name that a pickle gives them. An array of objects (O) must have one, which is
#: returned in its place.
_DTYPE = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248]|c8|c16|[SU]\d{1,4}|\?|O[48]?)")
#: Replacement of the class ndarray.
_NDARRAY = object()


def _latin1_bytes(text: str, encoding: str = "") -> bytes:
    """Return bytes that a pickle of protocol 2 holds as text."""
    if encoding not in ("latin1", "latin-1"):
        raise UnsafePickleError(
            f"refused to encode by {str(encoding)[:40]!r}; bytes are stored as latin1",
            value=str(encoding)[:40],
        )
    return text.encode("latin-1")


def _empty_bytes_refusing_arguments(*arguments: object) -> bytes:
    """Return empty bytes, which a pickle of protocol 2 makes by a call."""
    if arguments:
        raise UnsafePickleError("refused to make bytes of anything", value=arguments)
    return b""


def _checked_dict(items: Iterable[Any] = ()) -> dict[Any, Any]:
    """Make a dict of pairs."""
    pairs = [(key, value) for key, value in items]
    check_keys([key for key, _ in pairs])
    return dict(pairs)


def _pending_dtype(name: object, *_: object) -> Pending:
    """Make an element type, to which the pickle adds its state (NumPy's `dtype.__setstate__`)."""
    if not isinstance(name, str) or not _DTYPE.fullmatch(name):
        raise UnsafePickleError(
            f"refused to load an array of {str(name)[:40]!r}; numbers would do", value=str(name)[:40]
        )

    def build(state: Any) -> np.dtype:
        _, byte_order, subarray, field_names, fields, *_ = state
        if subarray is not None or field_names is not None or fields is not None:
            raise UnsafePickleError(
                "refused to load an array of records; numbers would do", value=field_names
            )
        return np.dtype(name).newbyteorder(byte_order)

    return Pending(build)


def array_of_bytes(data: object, dtype: object, shape: object, order: str) -> np.ndarray:
    """Make an array on the pickle's bytes, of which there must be exactly enough."""
    if isinstance(data, str):
        # a pickle written by Python 2
        data = data.encode("latin-1")
    if not isinstance(data, bytes | bytearray) or not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise UnsafePickleError(
            "refused to load an array that is not made of bytes; numbers would do", value=type(data).__name__
        )
    sizes = checked_whole_numbers(shape, "the shape of an array")
    if math.prod(sizes) * dtype.itemsize != len(data):
        raise DamagedPickleError(f"an array of shape {sizes} in it has {len(data)} bytes", value=sizes)
    if not data:
        return np.empty(sizes, dtype)
    return np.frombuffer(data, dtype).reshape(sizes, order=order)  # type: ignore[call-overload]


def _pending_array(array_class: object, *_: object) -> Pending:
    """Make an array without content, completed by the state that follows (`numpy.ndarray.__setstate__`)."""
    if array_class is not _NDARRAY:
        raise UnsafePickleError(
            "refused to load a subclass of an array", value=getattr(array_class, "__name__", None)
        )

    def build(state: Any) -> Any:
        _, shape, dtype, is_fortran_order, data = state
        if isinstance(data, list) and len(data) == 1 and shape == ():
            # an array of one object is how NumPy saves a dict
            return data[0]
        return array_of_bytes(data, dtype, shape, "F" if is_fortran_order else "C")

    return Pending(build)


def _python_number(dtype: object, data: object = b"") -> Any:
    """Return a number of NumPy as one of Python."""
    return array_of_bytes(data, dtype, (), "C").item()


def checked_whole_numbers(numbers: object, name: str) -> tuple[int, ...]:
    """Return a tuple of at most 32 whole numbers from 0; anything else is an error that names it `name`."""
    if not isinstance(numbers, tuple | list) or len(numbers) > _MAX_AXES:
        raise DamagedPickleError(f"{name} is not a tuple of whole numbers", option=name)
    for number in numbers:
        is_whole = isinstance(number, int) and not isinstance(number, bool)
        if not is_whole or not 0 <= number < _SIZE_LIMIT:
            raise DamagedPickleError(
                f"{name} is {str(tuple(numbers))[:60]}, not whole numbers from 0", option=name, value=number
            )
    return tuple(numbers)


def _checked_set(items: Iterable[Any] = ()) -> set[Any]:
    """Make a set."""
    return set(check_keys(list(items)))


def _checked_frozenset(items: Iterable[Any] = ()) -> frozenset[Any]:
    """Make a frozen set."""
    return frozenset(check_keys(list(items)))


def _complex(real: Any, imaginary: Any) -> complex:
    """Make a complex number."""
    return complex(float(real), float(imaginary))


#: Names that pickles of arrays and containers use, and the functions called in their place.
ARRAYS: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _pending_dtype,
    ("_codecs", "encode"): _latin1_bytes,
    ("collections", "OrderedDict"): _checked_dict,
}
# NumPy 1 and NumPy 2
for _package in ("numpy.core", "numpy._core"):
    ARRAYS[f"{_package}.multiarray", "_reconstruct"] = _pending_array
    ARRAYS[f"{_package}.multiarray", "scalar"] = _python_number
    ARRAYS[f"{_package}.numeric", "_frombuffer"] = array_of_bytes
# Python 3 and Python 2
for _module in ("builtins", "__builtin__"):
    ARRAYS[_module, "set"] = _checked_set
    ARRAYS[_module, "frozenset"] = _checked_frozenset
    ARRAYS[_module, "complex"] = _complex
    ARRAYS[_module, "bytes"] = _empty_bytes_refusing_arguments
