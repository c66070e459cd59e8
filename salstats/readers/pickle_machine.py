"""Run a pickle over an allow-list: containers, text, numbers, arrays, and what a caller's functions rebuild.

A pickle is a program. Here it may push values, collect them in containers, and call functions of a given
table, ours and not the ones it names. Every other name is refused before anything is called.
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

from salstats.errors import InputFileError
from salstats.memory_limit import INSTRUCTION, limit, too_large


class UnsafePickleError(InputFileError):
    """A pickle that asks for something which data never need; it was not run."""


class DamagedPickleError(ValueError):
    """A pickle that is cut short, is none, or contradicts itself; its file is named further up."""


#: What a name stands for: a function, or a token such as a storage's element type that nobody may call.
AllowList = Mapping[tuple[str, str], Any]

#: Instructions that data need, by the names of `pickletools`.
_NAMES = (
    "PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE",
    "GET", "BINGET", "LONG_BINGET", "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2",
    "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE",
    "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
    "EMPTY_LIST", "EMPTY_TUPLE", "EMPTY_DICT", "EMPTY_SET", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "LIST",
    "DICT", "FROZENSET", "APPEND", "APPENDS", "ADDITEMS", "SETITEM", "SETITEMS", "GLOBAL", "STACK_GLOBAL",
    "REDUCE", "BUILD", "PERSID", "BINPERSID",
)  # fmt: skip
_CODES = {each.name: ord(each.code) for each in pickletools.opcodes}
#: Copies that calls may make of a pickle's content, in bytes: ten times its size and some.
_COPIES, _SOME = 10, 1 << 22
_KEYS = str | bytes | int | float | None
#: Whole numbers below this have hashes of their own; beyond, any number of them can share one.
_LARGEST_KEY = sys.hash_info.modulus


def run(stream: io.BytesIO, allowed: AllowList, persistent: Callable[[Any], Any] | None = None) -> Any:
    """What one pickle holds; the stream is left behind its end.

    `allowed` says what a (module, name) stands for here; `persistent` gives the object of a persistent id,
    which is refused without it. The message of an UnsafePickleError begins with "refused to"; the file is put
    before it further up.
    """
    try:
        return _Unpickler(stream, allowed, persistent).load()
    except (UnsafePickleError, DamagedPickleError):
        raise
    # bytes that are no pickle raise anything
    except Exception as error:
        raise DamagedPickleError(" ".join(str(error).split())[:200] or type(error).__name__) from error


class Pending:
    """An object between its making and the state that follows it in the pickle."""

    def __init__(self, build: Callable[[Any], Any]) -> None:
        self.build, self.value = build, None


class _Memo(dict[int, Any]):
    """Values by their place; one that was pending is what it has become."""

    def __getitem__(self, place: int) -> Any:
        held = super().__getitem__(place)
        return held.value if isinstance(held, Pending) and held.value is not None else held


class _Instructions:
    """What each instruction does; those that are not listed are refused, and so are too many."""

    def __init__(self) -> None:
        self.count, self.most = 0, limit() // INSTRUCTION

    def __getitem__(self, code: int) -> Callable[["_Unpickler"], None]:
        self.count += 1
        if self.count > self.most:
            raise UnsafePickleError(f"refused to go on: what it makes {too_large(self.count * INSTRUCTION)}")
        if code not in _DO:
            name = next((name for name, known in _CODES.items() if known == code), None)
            if name is None:
                raise DamagedPickleError(f"byte {code} is no instruction")
            raise UnsafePickleError(f"refused to follow the instruction {name}")
        return _DO[code]


#: Python's own reader in Python: the one in C hashes keys and takes memory before we can look.
_Python: Any = pickle._Unpickler


class _Unpickler(_Python):
    """The reader of one pickle."""

    def __init__(
        self, stream: io.BytesIO, allowed: AllowList, persistent: Callable[[Any], Any] | None
    ) -> None:
        super().__init__(stream, encoding="latin1")
        self.allowed, self.persistent = allowed, persistent
        self.dispatch, self.memo = _Instructions(), _Memo()
        self.budget = _SOME + _COPIES * (len(stream.getbuffer()) - stream.tell())

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for."""
        # the pair as a whole: a name with dots would reach through an allowed module to another
        if (module, name) not in self.allowed:
            full = f"{module}.{name}"
            shown = full if full.isprintable() and len(full) < 100 else repr(full[:100])
            raise UnsafePickleError(f"refused to load {shown}")
        return self.allowed[module, name]

    def persistent_load(self, given: Any) -> Any:
        """The object of a persistent id."""
        if self.persistent is None:
            raise UnsafePickleError("refused to follow a persistent id, which points out of the file")
        return self.persistent(given)

    def reduce(self) -> None:
        """Call a function of the table."""
        arguments = self.stack.pop()
        function = self.stack[-1]
        if not callable(function):
            raise UnsafePickleError(f"refused to call a value of type {type(function).__name__}")
        self.budget -= sum(len(a) for a in arguments if isinstance(a, str | bytes | bytearray | list | tuple))
        if self.budget < 0:
            raise UnsafePickleError("refused to copy its content over and over")
        self.stack[-1] = function(*arguments)

    def build(self) -> None:
        """Complete an array or an element type with its state."""
        state = self.stack.pop()
        pending = self.stack[-1]
        if not isinstance(pending, Pending):
            raise UnsafePickleError(
                f"refused to set the attributes of a value of type {type(pending).__name__}"
            )
        pending.value = self.stack[-1] = pending.build(state)

    def set_item(self) -> None:
        """Put one item into a dict."""
        value, key = self.stack.pop(), self.stack.pop()
        self.fill([key, value])

    def set_items(self) -> None:
        """Put items into a dict."""
        self.fill(self.pop_mark())

    def make_dict(self) -> None:
        """A new dict of items."""
        items = self.pop_mark()
        self.append({})
        self.fill(items)

    def fill(self, items: list[Any]) -> None:
        """Put keys and values, in turn, into the dict on top."""
        self.top(dict).update(zip(check_keys(items[::2]), items[1::2], strict=True))

    def add_items(self) -> None:
        """Put values into a set."""
        items = self.pop_mark()
        self.top(set).update(check_keys(items))

    def top(self, kind: type) -> Any:
        """The container on top; another one would hash what is put into it unchecked."""
        if not isinstance(self.stack[-1], kind):
            raise DamagedPickleError(f"it fills a {kind.__name__} where there is none")
        return self.stack[-1]

    def make_frozenset(self) -> None:
        """A new frozen set of values."""
        items = self.pop_mark()
        self.append(frozenset(check_keys(items)))

    def byte_array(self) -> None:
        """Bytes, of which there may be fewer than the pickle says."""
        self.append(self.read(int.from_bytes(self.read(8), "little")))


_DO: dict[int, Callable[[_Unpickler], None]] = {
    **{_CODES[name]: _Python.dispatch[_CODES[name]] for name in _NAMES},
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
    """Keys of a dict or set: plain values, or flat tuples of text and one number at most.

    Hashing a deep tuple would overflow C's stack, and keys whose hashes anyone can make equal would take a
    time that grows with the square of their number; the hashes of text are secret.
    """
    for item in items:
        parts = item if isinstance(item, tuple) else (item,)
        numbers = [part for part in parts if not isinstance(part, str | bytes)]
        plain = len(numbers) < 2 and all(isinstance(number, _KEYS) for number in numbers)
        if not plain or (numbers and isinstance(numbers[0], int) and abs(numbers[0]) >= _LARGEST_KEY):
            raise DamagedPickleError(
                f"a key in it is a value of type {type(item).__name__}, not text or a number that is one"
            )
    return items


# what pickles call to rebuild NumPy's arrays and plain containers

#: Element types by the name a pickle gives them; of objects (O) an array has one, and is it.
_DTYPE = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248]|c8|c16|[SU]\d{1,4}|\?|O[48]?)")
_NDARRAY = object()


def _encode(text: str, encoding: str = "") -> bytes:
    """Bytes that a pickle of protocol 2 holds as text."""
    if encoding not in ("latin1", "latin-1"):
        raise UnsafePickleError(f"refused to encode by {str(encoding)[:40]!r}; bytes are stored as latin1")
    return text.encode("latin-1")


def _no_bytes(*arguments: object) -> bytes:
    """The empty bytes, which a pickle of protocol 2 asks for by a call."""
    if arguments:
        raise UnsafePickleError("refused to make bytes of anything")
    return b""


def _dict(items: Iterable[Any] = ()) -> dict[Any, Any]:
    """A dict from pairs."""
    pairs = [(key, value) for key, value in items]
    check_keys([key for key, _ in pairs])
    return dict(pairs)


def _dtype(name: object, *_: object) -> Pending:
    """An element type, to which the pickle adds the order of its bytes."""
    if not isinstance(name, str) or not _DTYPE.fullmatch(name):
        raise UnsafePickleError(f"refused to load an array of {str(name)[:40]!r}; numbers would do")

    def build(state: Any) -> np.dtype:
        if any(part is not None for part in state[2:5]):
            raise UnsafePickleError("refused to load an array of records; numbers would do")
        return np.dtype(name).newbyteorder(state[1])

    return Pending(build)


def array_of(data: object, dtype: object, shape: object, order: str) -> np.ndarray:
    """An array on the pickle's bytes, of which there must be exactly enough."""
    if isinstance(data, str):
        # a pickle written by Python 2
        data = data.encode("latin-1")
    if not isinstance(data, bytes | bytearray) or not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise UnsafePickleError("refused to load an array that is not made of bytes; numbers would do")
    sizes = whole_numbers(shape, "the shape of an array")
    if math.prod(sizes) * dtype.itemsize != len(data):
        raise DamagedPickleError(f"an array of shape {sizes} in it has {len(data)} bytes")
    return np.frombuffer(data, dtype).reshape(sizes, order=order) if data else np.empty(sizes, dtype)  # type: ignore[call-overload]


def _reconstruct(kind: object, *_: object) -> Pending:
    """An array without content; the state that follows brings it."""
    if kind is not _NDARRAY:
        raise UnsafePickleError("refused to load a subclass of an array")

    def build(state: Any) -> Any:
        _, sizes, dtype, fortran, data = state
        if isinstance(data, list) and len(data) == 1 and sizes == ():
            # what NumPy makes of an object that is no array, as where a dict is saved
            return data[0]
        return array_of(data, dtype, sizes, "F" if fortran else "C")

    return Pending(build)


def _scalar(dtype: object, data: object = b"") -> Any:
    """A number of NumPy as one of Python."""
    return array_of(data, dtype, (), "C").item()


def whole_numbers(given: object, what: str) -> tuple[int, ...]:
    """A tuple of whole numbers from 0, at most 32 of them."""
    if not isinstance(given, tuple | list) or len(given) > 32:
        raise DamagedPickleError(f"{what} is not a tuple of whole numbers")
    if any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n < 1 << 48 for n in given):
        raise DamagedPickleError(f"{what} is {str(tuple(given))[:60]}, not whole numbers from 0")
    return tuple(given)


#: Names that pickles of arrays and containers use, and what is called in their place.
ARRAYS: dict[tuple[str, str], Any] = {
    **{
        (f"{package}.{module}", name): function
        for package in ("numpy.core", "numpy._core")
        for module, name, function in (
            ("multiarray", "_reconstruct", _reconstruct),
            ("multiarray", "scalar", _scalar),
            ("numeric", "_frombuffer", array_of),
        )
    },
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _dtype,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): _dict,
    **{
        (module, name): function
        for module in ("builtins", "__builtin__")
        for name, function in {
            "set": lambda items=(): set(check_keys(list(items))),
            "frozenset": lambda items=(): frozenset(check_keys(list(items))),
            "complex": lambda real, imag: complex(float(real), float(imag)),
            "bytes": _no_bytes,
        }.items()
    },
}
