"""Run a pickle over an allow-list: containers, text, numbers, and what the caller's functions rebuild.

A pickle is a program. Here it may push values, collect them in containers, and call functions of a given
table, ours and not the ones it names. Every other name is refused before anything is called.
"""

import io
import pickletools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from salstats.checks import INSTRUCTION, InputFileError, limit, too_large


class UnsafePickleError(InputFileError):
    """A pickle that asks for something which data never need; it was not run."""


class DamagedPickleError(ValueError):
    """A pickle that is cut short, is none, or contradicts itself; its file is named further up."""


class Pending:
    """An object between its making and the state that follows it in the pickle."""

    def __init__(self, build: Callable[[Any], Any], value: Any = None) -> None:
        self.build = build
        self.value = value


#: What a name stands for: a function, or a token such as a storage's element type that nobody may call.
Table = Mapping[tuple[str, str], Any]

#: Protocol 5 is the latest there is.
_LATEST = 5
#: Copies that calls may make of a pickle's content, in bytes: ten times its size and some.
_COPIES, _SOME = 10, 1 << 22
_MARK = object()
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE"),
        *("BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    )
)
_EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_KEYS = str | bytes | int | float | None
#: Whole numbers below this have hashes of their own; beyond, any number of them can share one.
_LARGEST_KEY = sys.hash_info.modulus


def run(stream: io.BytesIO, table: Table, persistent: Callable[[Any], Any] | None = None) -> Any:
    """What one pickle holds; the stream is left behind its end.

    Parameters
    ----------
    stream : BytesIO
    table : dict
        (module, name) -> what it stands for here.
    persistent : callable, optional
        Gives the object of a persistent id; without it such an id is refused.

    Raises
    ------
    UnsafePickleError
        The pickle names something outside the table, or calls what may not be called. The message
        begins with "refused to"; the file is put before it further up.
    DamagedPickleError
        It is no pickle, or a damaged one.
    """
    machine = _Machine(table, persistent, _SOME + _COPIES * _left(stream))
    most = limit() // INSTRUCTION
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if count > most:
                raise UnsafePickleError(f"refused to go on: what it makes {too_large(count * INSTRUCTION)}")
            machine.step(opcode.name, argument)
    except (UnsafePickleError, DamagedPickleError):
        raise
    except MemoryError as error:
        raise DamagedPickleError("it asks for more memory than there is") from error
    except Exception as error:  # genops and our functions raise anything on bytes that are no pickle
        raise DamagedPickleError(" ".join(str(error).split())[:200] or type(error).__name__) from error
    return machine.result()


class _Machine:
    """The stack, the marks and the memo of a pickle that runs."""

    def __init__(self, table: Table, persistent: Callable[[Any], Any] | None, budget: int) -> None:
        self.table = table
        self.persistent = persistent
        self.budget = budget
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.pending: list[Pending] = []

    def step(self, name: str, argument: Any) -> None:
        """Do one instruction."""
        if name in _VALUES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            self.stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            count = _TUPLES[name]
            items = tuple(self.pop() for _ in range(count))
            self.stack.append(items[::-1])
        else:
            method = getattr(self, f"do_{name.lower()}", None)
            if method is None:
                raise UnsafePickleError(f"refused to follow the instruction {name}")
            method(argument)

    def result(self) -> Any:
        """The value that is left, once everything in it is complete."""
        if len(self.stack) != 1:
            raise DamagedPickleError("it ends with a stack that is not one value")
        if any(p.value is None for p in self.pending):
            raise DamagedPickleError("it ends with an array that has no content")
        return self.pop()

    def pop(self) -> Any:
        """The value on top."""
        if not self.stack or self.stack[-1] is _MARK:
            raise DamagedPickleError("it takes a value where there is none")
        return _complete(self.stack.pop())

    def pop_mark(self) -> list[Any]:
        """The values above the last mark."""
        items: list[Any] = []
        while True:
            if not self.stack:
                raise DamagedPickleError("it looks for a mark where there is none")
            item = self.stack.pop()
            if item is _MARK:
                return items[::-1]
            items.append(_complete(item))

    def top(self, kind: type) -> Any:
        """The container on top without taking it."""
        if not self.stack or not isinstance(self.stack[-1], kind):
            raise DamagedPickleError(f"it fills a {kind.__name__} where there is none")
        return self.stack[-1]

    # what follows is called by the instruction's name

    def do_proto(self, version: int) -> None:
        if version > _LATEST:
            raise DamagedPickleError(f"its protocol is {version}, and {_LATEST} is the latest known")

    def do_frame(self, _: int) -> None:
        """Skip a frame's length: frames only speed reading up."""

    def do_stop(self, _: None) -> None:
        """Leave the result to the caller."""

    def do_mark(self, _: None) -> None:
        self.stack.append(_MARK)

    def do_pop(self, _: None) -> None:
        if not self.stack:
            raise DamagedPickleError("it takes a value where there is none")
        self.stack.pop()

    def do_pop_mark(self, _: None) -> None:
        self.pop_mark()

    def do_dup(self, _: None) -> None:
        value = self.pop()
        self.stack += [value, value]

    def do_put(self, place: int) -> None:
        if not self.stack or self.stack[-1] is _MARK:
            raise DamagedPickleError("it stores a value where there is none")
        self.memo[place] = self.stack[-1]

    do_binput = do_long_binput = do_put

    def do_memoize(self, _: None) -> None:
        self.do_put(len(self.memo))

    def do_get(self, place: int) -> None:
        if place not in self.memo:
            raise DamagedPickleError("it recalls a value that was not stored")
        self.stack.append(_complete(self.memo[place]))

    do_binget = do_long_binget = do_get

    def do_list(self, _: None) -> None:
        self.stack.append(self.pop_mark())

    def do_tuple(self, _: None) -> None:
        self.stack.append(tuple(self.pop_mark()))

    def do_dict(self, _: None) -> None:
        items = self.pop_mark()
        self.stack.append({})
        self._set_items(items)

    def do_frozenset(self, _: None) -> None:
        self.stack.append(frozenset(check_keys(self.pop_mark())))

    def do_append(self, _: None) -> None:
        value = self.pop()
        self.top(list).append(value)

    def do_appends(self, _: None) -> None:
        items = self.pop_mark()
        self.top(list).extend(items)

    def do_additems(self, _: None) -> None:
        items = check_keys(self.pop_mark())
        self.top(set).update(items)

    def do_setitem(self, _: None) -> None:
        value, key = self.pop(), self.pop()
        self._set_items([key, value])

    def do_setitems(self, _: None) -> None:
        self._set_items(self.pop_mark())

    def _set_items(self, items: list[Any]) -> None:
        if len(items) % 2:
            raise DamagedPickleError("a dict has a key without a value")
        self.top(dict).update(zip(check_keys(items[::2]), items[1::2], strict=True))

    def do_global(self, names: str) -> None:
        module, _, name = names.partition(" ")
        self._push_global(module, name)

    def do_stack_global(self, _: None) -> None:
        name, module = self.pop(), self.pop()
        if not (isinstance(name, str) and isinstance(module, str)):
            raise DamagedPickleError("a name in it is no text")
        self._push_global(module, name)

    def _push_global(self, module: str, name: str) -> None:
        # the pair as a whole: a name with dots would reach through an allowed module to another
        if (module, name) not in self.table:
            raise _refused(module, name)
        self.stack.append(self.table[module, name])

    def do_inst(self, names: str) -> None:
        module, _, name = names.partition(" ")
        if (module, name) not in self.table:
            raise _refused(module, name)
        raise UnsafePickleError(f"refused to make an object of {module}.{name} by the instruction INST")

    def do_reduce(self, _: None) -> None:
        arguments, function = self.pop(), self.pop()
        if not isinstance(arguments, tuple):
            raise DamagedPickleError("a call in it has no arguments")
        if not callable(function):
            raise UnsafePickleError(f"refused to call {_shown(function)}")
        for argument in arguments:
            if isinstance(argument, str | bytes | bytearray | list | tuple):
                self.budget -= len(argument)
        if self.budget < 0:
            raise UnsafePickleError("refused to copy its content over and over")
        try:
            made = function(*arguments)
        except TypeError as error:
            raise DamagedPickleError("a call in it has other arguments than it takes") from error
        if isinstance(made, Pending):
            self.pending.append(made)
        self.stack.append(made)

    def do_build(self, _: None) -> None:
        state = self.pop()
        if not self.stack or not isinstance(self.stack[-1], Pending):
            what = _shown(self.stack[-1]) if self.stack else "nothing"
            raise UnsafePickleError(f"refused to set the attributes of {what}")
        pending = self.stack[-1]
        pending.value = pending.build(state)

    def do_persid(self, given: Any) -> None:
        if self.persistent is None:
            raise UnsafePickleError("refused to follow a persistent id, which points out of the file")
        self.stack.append(self.persistent(given))

    def do_binpersid(self, _: None) -> None:
        self.do_persid(self.pop())


def _left(stream: io.BytesIO) -> int:
    """How many bytes a stream has left."""
    here = stream.tell()
    end = stream.seek(0, io.SEEK_END)
    stream.seek(here)
    return end - here


def _complete(value: Any) -> Any:
    """What a pending object has become, or itself while it waits for its state."""
    return value.value if isinstance(value, Pending) and value.value is not None else value


def check_keys(items: Sequence[Any]) -> Sequence[Any]:
    """Keys of a dict or set: plain values, or flat tuples of text and one number at most.

    Hashing a deep tuple would overflow C's stack, and keys whose hashes anyone can make equal would take a
    time that grows with the square of their number; the hashes of text are secret.
    """
    for item in items:
        parts = item if isinstance(item, tuple) else (item,)
        numbers = [part for part in parts if not isinstance(part, str | bytes)]
        plain = len(numbers) < 2 and all(isinstance(number, _KEYS) for number in numbers)
        if not plain or (numbers and isinstance(numbers[0], int) and abs(numbers[0]) >= _LARGEST_KEY):
            raise DamagedPickleError(f"a key in it is {_shown(item)}, not text or a number that is one")
    return items


def _refused(module: str, name: str) -> UnsafePickleError:
    """The error of a name outside the table."""
    full = f"{module}.{name}"
    shown = full if full.isprintable() and len(full) < 100 else repr(full[:100])
    return UnsafePickleError(f"refused to load {shown}")


def _shown(value: Any) -> str:
    """What a value is, for a message."""
    return f"a value of type {type(value).__name__}"
