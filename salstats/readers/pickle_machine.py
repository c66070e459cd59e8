"""Run a pickle with an allow-list: containers, text, numbers, arrays, and objects that given functions make.

A pickle is a program for a stack of values (CPython, Lib/pickletools.py describes every instruction). Here
it may push values, collect them in containers, and call functions by name; a table replaces each allowed name
by a function of this package. Every other name is an error before anything is called.
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
    file_content_memory_limit_bytes,
    problem_text_if_too_large,
)


class UnsafePickleError(InputFileError):
    """A pickle that asks for something that data never need; that is not done."""


class DamagedPickleError(SalstatsError):
    """Bytes that are not a pickle, or one that is cut short or contradicts itself; callers name the file."""


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
_BYTE_OF_INSTRUCTION = {opcode.name: ord(opcode.code) for opcode in pickletools.opcodes}
#: Calls may copy this multiple of a pickle's size in bytes, and this number of bytes more.
_MAX_COPIES = 10
_MAX_COPIED_BYTES = 1 << 22
#: Types of a plain key of a dict or set.
_KEY_TYPES = str | bytes | int | float | None
#: Whole numbers below this have different hashes; any number of larger ones can share a hash.
_HASH_MODULUS = sys.hash_info.modulus
#: Largest number of axes of an array, as in NumPy before version 2.
_MAX_AXES = 32
#: Sizes and positions in a pickle must be below this, which is far more than any memory has.
_SIZE_LIMIT = 1 << 48


def read_allowed_pickle(
    stream: io.BytesIO, allowed: AllowList, object_of_persistent_id: Callable[[Any], Any] | None = None
) -> Any:
    """Read one pickle, and return its object; the stream is left at the pickle's end.

    `allowed` has the replacement of each allowed (module, name). `object_of_persistent_id` returns the object
    of a persistent id; without it such an id is an error. The message of an UnsafePickleError begins with
    "refused to"; the caller puts the file before it.
    """
    try:
        return _Unpickler(stream, allowed, object_of_persistent_id).load()
    except (UnsafePickleError, DamagedPickleError):
        raise
    # bytes that are not a pickle may raise any exception
    except Exception as error:
        raise DamagedPickleError(" ".join(str(error).split())[:200] or type(error).__name__) from error


class Pending:
    """An object that will be made when its state, which follows in the pickle, has been read."""

    def __init__(self, build: Callable[[Any], Any]) -> None:
        #: Function that makes the object from its state.
        self.build = build
        #: The object, None until its state has been read.
        self.value: Any = None


class _Memo(dict[int, Any]):
    """The unpickler's memo: values by index; a pending object that has been completed gives its value."""

    def __getitem__(self, index: int) -> Any:
        value = super().__getitem__(index)
        if isinstance(value, Pending) and value.value is not None:
            return value.value
        return value


class _Instructions:
    """Function of each allowed instruction, by its byte; other instructions, or too many, are errors.

    It replaces the dict `dispatch` of Python's unpickler, in which each instruction is looked up to be run.
    """

    def __init__(self) -> None:
        self.count = 0
        self.limit = file_content_memory_limit_bytes() // BYTES_PER_INSTRUCTION

    def __getitem__(self, code: int) -> Callable[["_Unpickler"], None]:
        self.count += 1
        if self.count > self.limit:
            n_bytes = self.count * BYTES_PER_INSTRUCTION
            reason = problem_text_if_too_large(n_bytes)
            raise UnsafePickleError(
                f"refused to go on: what it makes {reason}", option=LIMIT_VARIABLE, value=n_bytes
            )
        if code not in _FUNCTIONS:
            for name, byte in _BYTE_OF_INSTRUCTION.items():
                if byte == code:
                    raise UnsafePickleError(f"refused to follow the instruction {name}", value=name)
            raise DamagedPickleError(f"byte {code} is not an instruction", value=code)
        return _FUNCTIONS[code]


#: The unpickler written in Python, as the one in C hashes keys and takes memory before they can be checked.
_PythonUnpickler: Any = pickle._Unpickler


class _Unpickler(_PythonUnpickler):
    """Unpickler with an allow-list; the list `stack` holds the values that instructions push, top last."""

    def __init__(
        self, stream: io.BytesIO, allowed: AllowList, object_of_persistent_id: Callable[[Any], Any] | None
    ) -> None:
        super().__init__(stream, encoding="latin1")
        self.allowed = allowed
        self.object_of_persistent_id = object_of_persistent_id
        self.dispatch = _Instructions()
        self.memo = _Memo()
        n_bytes = len(stream.getbuffer()) - stream.tell()
        #: Bytes that calls may still copy.
        self.copy_budget = _MAX_COPIED_BYTES + _MAX_COPIES * n_bytes

    def find_class(self, module: str, name: str) -> Any:
        """Return the replacement of a name in a module; raise where it is not allowed."""
        # module and name are looked up together, as a name with dots could reach into another module
        if (module, name) not in self.allowed:
            full_name = f"{module}.{name}"
            if not full_name.isprintable() or len(full_name) >= 100:
                full_name = repr(full_name[:100])
            raise UnsafePickleError(f"refused to load {full_name}", value=full_name)
        return self.allowed[module, name]

    def persistent_load(self, persistent_id: Any) -> Any:
        """Return the object of a persistent id."""
        if self.object_of_persistent_id is None:
            raise UnsafePickleError(
                "refused to follow a persistent id, which points out of the file",
                value=type(persistent_id).__name__,
            )
        return self.object_of_persistent_id(persistent_id)

    def call_function(self) -> None:
        """Pop the arguments, and replace the function below them on the stack by the result of its call."""
        arguments = self.stack.pop()
        function = self.stack[-1]
        if not callable(function):
            raise UnsafePickleError(
                f"refused to call a value of type {type(function).__name__}", value=type(function).__name__
            )
        # the function may copy its arguments
        for argument in arguments:
            if isinstance(argument, str | bytes | bytearray | list | tuple):
                self.copy_budget -= len(argument)
        if self.copy_budget < 0:
            raise UnsafePickleError(
                "refused to copy its content over and over", value=getattr(function, "__name__", None)
            )
        self.stack[-1] = function(*arguments)

    def pop_state_and_build_pending_below(self) -> None:
        """Pop a state, and replace the pending array or element type below it by the completed one."""
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

    def set_dict_item(self) -> None:
        """Pop a value and a key, and put them into the dict below them."""
        value = self.stack.pop()
        key = self.stack.pop()
        self.fill_dict([key, value])

    def set_dict_items(self) -> None:
        """Pop the items above the mark, and put them into the dict below it."""
        self.fill_dict(self.pop_mark())

    def push_dict_of_items_above_mark(self) -> None:
        """Pop the items above the mark, and push a new dict of them."""
        items = self.pop_mark()
        self.append({})
        self.fill_dict(items)

    def fill_dict(self, keys_and_values: list[Any]) -> None:
        """Put a list of key, value, key, value, ... into the dict on top of the stack."""
        keys = checked_keys_of_dict_or_set(keys_and_values[::2])
        values = keys_and_values[1::2]
        self.container_on_top(dict).update(zip(keys, values, strict=True))

    def add_to_set(self) -> None:
        """Pop the values above the mark, and put them into the set below it."""
        items = self.pop_mark()
        self.container_on_top(set).update(checked_keys_of_dict_or_set(items))

    def container_on_top(self, container_type: type) -> Any:
        """Return the container on top of the stack; raise where it has another type."""
        if not isinstance(self.stack[-1], container_type):
            raise DamagedPickleError(
                f"it fills a {container_type.__name__} where there is none", value=container_type.__name__
            )
        return self.stack[-1]

    def push_frozenset(self) -> None:
        """Pop the values above the mark, and push a new frozenset of them."""
        items = self.pop_mark()
        self.append(frozenset(checked_keys_of_dict_or_set(items)))

    def push_byte_array(self) -> None:
        """Push bytes, which follow their number in eight bytes; fewer where the pickle ends before."""
        n_bytes = int.from_bytes(self.read(8), "little")
        self.append(self.read(n_bytes))


#: Byte of an instruction -> its function: Python's own, or one above that checks.
_FUNCTIONS: dict[int, Callable[[_Unpickler], None]] = {
    **{
        _BYTE_OF_INSTRUCTION[name]: _PythonUnpickler.dispatch[_BYTE_OF_INSTRUCTION[name]]
        for name in _ALLOWED_INSTRUCTIONS
    },
    _BYTE_OF_INSTRUCTION["REDUCE"]: _Unpickler.call_function,
    _BYTE_OF_INSTRUCTION["BUILD"]: _Unpickler.pop_state_and_build_pending_below,
    _BYTE_OF_INSTRUCTION["SETITEM"]: _Unpickler.set_dict_item,
    _BYTE_OF_INSTRUCTION["SETITEMS"]: _Unpickler.set_dict_items,
    _BYTE_OF_INSTRUCTION["DICT"]: _Unpickler.push_dict_of_items_above_mark,
    _BYTE_OF_INSTRUCTION["ADDITEMS"]: _Unpickler.add_to_set,
    _BYTE_OF_INSTRUCTION["FROZENSET"]: _Unpickler.push_frozenset,
    _BYTE_OF_INSTRUCTION["BYTEARRAY8"]: _Unpickler.push_byte_array,
}


def checked_keys_of_dict_or_set(keys: list[Any]) -> list[Any]:
    """Return keys of a dict or set; raise where one is neither a plain value nor a flat tuple of such.

    Hashing a deeply nested tuple would overflow C's stack. Keys that were chosen to have equal hashes would
    take a time that grows with the square of their number. The hashes of text cannot be foreseen, so a tuple
    may hold text and at most one number, which must be small enough to have a hash of its own.
    """
    for key in keys:
        parts = key if isinstance(key, tuple) else (key,)
        numbers = [part for part in parts if not isinstance(part, str | bytes)]
        is_plain = len(numbers) < 2 and all(isinstance(number, _KEY_TYPES) for number in numbers)
        is_large = any(isinstance(number, int) and abs(number) >= _HASH_MODULUS for number in numbers)
        if not is_plain or is_large:
            raise DamagedPickleError(
                f"a key in it is a value of type {type(key).__name__}, not text or a number that is one",
                value=type(key).__name__,
            )
    return keys


# replacements of the functions that pickles call to rebuild NumPy's arrays and plain containers

#: Allowed element types, by the name that a pickle has for them. An array of objects (O) must hold a single
#: one, which is returned in its place.
_DTYPE_NAME = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248]|c8|c16|[SU]\d{1,4}|\?|O[48]?)")
#: Replacement of the class ndarray, which pickles pass to `_reconstruct` and never call.
_NDARRAY = object()


def _latin1_bytes(text: str, encoding: str = "") -> bytes:
    """Return the bytes that a pickle of protocol 2 holds as text (`_codecs.encode`)."""
    if encoding not in ("latin1", "latin-1"):
        raise UnsafePickleError(
            f"refused to encode by {str(encoding)[:40]!r}; bytes are stored as latin1",
            value=str(encoding)[:40],
        )
    return text.encode("latin-1")


def _empty_bytes_refusing_arguments(*arguments: object) -> bytes:
    """Return empty bytes, which a pickle of protocol 2 makes by calling `bytes` without arguments."""
    if arguments:
        raise UnsafePickleError("refused to make bytes of anything", value=arguments)
    return b""


def _checked_dict(items: Iterable[Any] = ()) -> dict[Any, Any]:
    """Make a dict of pairs whose keys are checked."""
    pairs = [(key, value) for key, value in items]
    checked_keys_of_dict_or_set([key for key, _ in pairs])
    return dict(pairs)


def _pending_dtype(name: object, *_: object) -> Pending:
    """Return an element type that its state will complete (NumPy's `dtype.__setstate__`)."""
    if not isinstance(name, str) or not _DTYPE_NAME.fullmatch(name):
        raise UnsafePickleError(
            f"refused to load an array of {str(name)[:40]!r}; numbers would do", value=str(name)[:40]
        )

    def dtype_of_state(state: Any) -> np.dtype:
        _, byte_order, subarray, field_names, fields, *_ = state
        if subarray is not None or field_names is not None or fields is not None:
            raise UnsafePickleError(
                "refused to load an array of records; numbers would do", value=field_names
            )
        return np.dtype(name).newbyteorder(byte_order)

    return Pending(dtype_of_state)


def array_of_bytes(data: object, dtype: object, shape: object, order: str) -> np.ndarray:
    """Make an array of a pickle's bytes without a copy; raise where there are more or fewer than it needs."""
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
    """Return an array that its state will complete (`numpy.ndarray.__setstate__`)."""
    if array_class is not _NDARRAY:
        raise UnsafePickleError(
            "refused to load a subclass of an array", value=getattr(array_class, "__name__", None)
        )

    def array_or_single_object_of_state(state: Any) -> Any:
        _, shape, dtype, is_fortran_order, data = state
        if isinstance(data, list) and len(data) == 1 and shape == ():
            # an array of one object is how NumPy saves a dict
            return data[0]
        return array_of_bytes(data, dtype, shape, "F" if is_fortran_order else "C")

    return Pending(array_or_single_object_of_state)


def _python_number(dtype: object, data: object = b"") -> Any:
    """Return a number of NumPy as one of Python."""
    return array_of_bytes(data, dtype, (), "C").item()


def checked_whole_numbers(numbers: object, name: str) -> tuple[int, ...]:
    """Return a tuple of at most 32 whole numbers from 0; raise for anything else, which `name` describes."""
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
    """Make a set of checked values."""
    return set(checked_keys_of_dict_or_set(list(items)))


def _checked_frozenset(items: Iterable[Any] = ()) -> frozenset[Any]:
    """Make a frozenset of checked values."""
    return frozenset(checked_keys_of_dict_or_set(list(items)))


def _complex(real: Any, imaginary: Any) -> complex:
    """Make a complex number of two real numbers."""
    return complex(float(real), float(imaginary))


#: (module, name) in pickles of arrays and containers -> the function called in its place.
ARRAY_REPLACEMENTS: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _pending_dtype,
    ("_codecs", "encode"): _latin1_bytes,
    ("collections", "OrderedDict"): _checked_dict,
}
# NumPy 1 and NumPy 2
for _package in ("numpy.core", "numpy._core"):
    ARRAY_REPLACEMENTS[f"{_package}.multiarray", "_reconstruct"] = _pending_array
    ARRAY_REPLACEMENTS[f"{_package}.multiarray", "scalar"] = _python_number
    ARRAY_REPLACEMENTS[f"{_package}.numeric", "_frombuffer"] = array_of_bytes
# Python 3 and Python 2
for _module in ("builtins", "__builtin__"):
    ARRAY_REPLACEMENTS[_module, "set"] = _checked_set
    ARRAY_REPLACEMENTS[_module, "frozenset"] = _checked_frozenset
    ARRAY_REPLACEMENTS[_module, "complex"] = _complex
    ARRAY_REPLACEMENTS[_module, "bytes"] = _empty_bytes_refusing_arguments
