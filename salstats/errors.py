"""Errors and warnings that carry their facts as fields, and the messages written from these."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Self


class _NoValue(Enum):
    """Stand for the value of a setting that names its option alone; pickled errors keep it."""

    NO_VALUE = "no value"


NO_VALUE = _NoValue.NO_VALUE


@dataclass(frozen=True)
class Setting:
    """An option that a message names, with the value that it has or should have.

    Python writes `interval='t'`, the command line `--interval t`.
    """

    option: str
    value: object = NO_VALUE


@dataclass(frozen=True)
class Call:
    """A call of a public function that a message recommends.

    Python writes `summarize(scores, level=0.9)`, the command line `salstats summarize FILE --level 0.9`.
    """

    function: str
    arguments: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Advice:
    """Advice to evaluate a Python expression, and the same advice for readers who have no Python at hand.

    Attributes
    ----------
    python : str
        The advice with the expression.
    words : str
        The advice in words, which the command line and reports write.
    """

    python: str
    words: str


@dataclass(frozen=True)
class ColumnValue:
    """A value of a column that a message names, such as metric iou; a report writes its label."""

    column: str
    value: object


@dataclass(frozen=True)
class ColumnName:
    """A column that a message names; a report writes its label."""

    name: str


class Spelling:
    """Write the parts of a message as Python; the command line and reports write them in their own words."""

    def setting(self, setting: Setting) -> str:
        """Write an option: `interval='t'`, or `interval` without a value."""
        if setting.value is NO_VALUE:
            return setting.option
        return f"{setting.option}={setting.value!r}"

    def call(self, call: Call) -> str:
        """Write a call: `summarize(scores, level=0.9)`."""
        options = [self.setting(Setting(name, value)) for name, value in call.options.items()]
        return f"{call.function}({', '.join([*call.arguments, *options])})"

    def advice(self, advice: Advice) -> str:
        """Write advice to evaluate an expression, with the expression."""
        return advice.python

    def column_value(self, column_value: ColumnValue) -> str:
        """Write a value of a column: `metric iou`."""
        return f"{column_value.column} {column_value.value}"

    def column(self, column: ColumnName) -> str:
        """Write a column: its name."""
        return column.name


#: Part of a message that holds no other parts.
SimplePart = str | Setting | Call | Advice | ColumnValue | ColumnName
#: Options as `name='value'`, and calls of functions, as in Python.
PYTHON = Spelling()


class Message:
    """Text with options, calls and names in it, which are spelled where the message is shown.

    Parameters
    ----------
    *parts : str, Setting, Call, Advice, ColumnValue, ColumnName or Message
        Parts that follow each other without a blank between them.

    Examples
    --------
    >>> str(Message("the file exists; pass ", Setting("overwrite", True), " to replace it"))
    'the file exists; pass overwrite=True to replace it'
    """

    def __init__(self, *parts: "MessagePart") -> None:
        simple: list[SimplePart] = []
        for part in parts:
            if isinstance(part, Message):
                simple.extend(part.parts)
            else:
                simple.append(part)
        self.parts: tuple[SimplePart, ...] = tuple(simple)

    @classmethod
    def joined(cls, members: "Iterable[MessagePart]", separator: str) -> "Message":
        """Return several messages as one, with a separator between them."""
        parts: list[MessagePart] = []
        for member in members:
            if parts:
                parts.append(separator)
            parts.append(member)
        return cls(*parts)

    def __add__(self, other: "MessagePart") -> "Message":
        return Message(self, other)

    def __radd__(self, other: "MessagePart") -> "Message":
        return Message(other, self)

    def __bool__(self) -> bool:
        return any(part != "" for part in self.parts)

    def __str__(self) -> str:
        return self.spelled(PYTHON)

    def spelled(self, spelling: Spelling) -> str:
        """Write the message with a spelling."""
        texts = []
        for part in self.parts:
            match part:
                case Setting():
                    texts.append(spelling.setting(part))
                case Call():
                    texts.append(spelling.call(part))
                case Advice():
                    texts.append(spelling.advice(part))
                case ColumnValue():
                    texts.append(spelling.column_value(part))
                case ColumnName():
                    texts.append(spelling.column(part))
                case _:
                    texts.append(str(part))
        return "".join(texts)

    def settings(self) -> list[Setting]:
        """List the options that the message names."""
        return [part for part in self.parts if isinstance(part, Setting)]


MessagePart = SimplePart | Message


class _WithFacts(Exception):
    """Exception with a message in parts, and with the facts of the message as fields."""

    def __init__(
        self,
        *parts: MessagePart,
        hint: MessagePart = "",
        option: str | None = None,
        value: object = NO_VALUE,
        choices: Iterable[str] = (),
        column: str | None = None,
        rows: Iterable[int] = (),
        path: str | Path | None = None,
    ) -> None:
        problem = Message(*parts)
        #: Advice: what to do instead.
        self.hint = Message(hint)
        #: The problem and the hint.
        self.message = Message(problem, "; ", self.hint) if self.hint else problem
        settings = problem.settings()
        if option is None and settings:
            option = settings[0].option
            if value is NO_VALUE:
                value = settings[0].value
        self.option = option
        self.value = None if value is NO_VALUE else value
        self.choices = tuple(choices)
        self.column = column
        self.rows = tuple(rows)
        self.path = None if path is None else Path(path)
        self._problem = problem
        super().__init__(str(self.message))


class SalstatsError(_WithFacts, ValueError):
    """Bad input; the message says what is wrong and what to do instead.

    Parameters
    ----------
    *parts : str, Setting, Call, Advice, ColumnValue, ColumnName or Message
        The problem, in parts that follow each other without a blank between them.
    hint : str, Setting, Call, Advice or Message
        Advice what to do instead; it follows the problem after a semicolon.
    option, value : str, object
        Parameter that has to change and the value that it had; by default the first setting of the problem.
    choices : iterable of str
        Values that the option takes.
    column : str, optional
        Column of the frame or file that the problem lies in.
    rows : iterable of int
        Rows of the frame that the problem lies in, from 0.
    path : path, optional
        File or folder that the problem lies in.
    """

    def prefixed(self, *parts: MessagePart, **fields: Any) -> Self:
        """Return an error of this class with the same fields, and with other parts before its message.

        The caller of a check adds which case or file the error is about, and may replace fields.
        """
        own_fields: dict[str, Any] = {
            "hint": self.hint,
            "option": self.option,
            "value": NO_VALUE if self.value is None else self.value,
            "choices": self.choices,
            "column": self.column,
            "rows": self.rows,
            "path": self.path,
        }
        return type(self)(*parts, self._problem, **(own_fields | fields))


class ColumnError(SalstatsError):
    """A column is missing, of the wrong type, or holds a value it may not hold."""


class ShapeError(SalstatsError):
    """An array has the wrong shape, or two arrays do not fit together."""


class ValueRangeError(SalstatsError):
    """An option or a number lies outside what is allowed."""


class FormulaError(SalstatsError):
    """A formula cannot be read, or asks for something that a formula may not do."""


class InputFileError(SalstatsError):
    """A file is missing, unreadable, or not what its name says."""


class SalstatsWarning(_WithFacts, UserWarning):
    """The result is valid but deserves attention; the message says why.

    Parameters
    ----------
    *parts, **fields
        As those of `SalstatsError`.
    subject : hashable, optional
        What the warning is about, by default its own text: of several warnings about one thing, a command or
        a report shows the first.
    """

    def __init__(self, *parts: MessagePart, subject: object = None, **fields: Any) -> None:
        super().__init__(*parts, **fields)
        self.subject = str(self.message) if subject is None else subject


#: Names of packages for pip, where Python imports them by other names.
_NAMES_FOR_PIP = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "docx": "python-docx",
    "great_tables": "great-tables",
    "skimage": "scikit-image",
}


def missing_package_error(error: ModuleNotFoundError, use: str) -> SalstatsError:
    """Return the error that `use`, the subject of its message, needs a package that is not installed."""
    module = (error.name or str(error)).partition(".")[0]
    package = _NAMES_FOR_PIP.get(module, module)
    return SalstatsError(
        f"{use} needs the package {package}, which is not installed",
        hint=f"pip install {package} installs it",
    )


@contextlib.contextmanager
def needed_for(use: str) -> Iterator[None]:
    """Raise SalstatsError, which says what to install, where an import in the block fails.

    `use` is the subject of the message: what needs the package.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_package_error(error, use) from error


def first_warning_by_subject(caught: Iterable[warnings.WarningMessage]) -> dict[object, SalstatsWarning]:
    """Return the first of the package's own warnings about each subject."""
    first: dict[object, SalstatsWarning] = {}
    for record in caught:
        if isinstance(record.message, SalstatsWarning):
            first.setdefault(record.message.subject, record.message)
    return first


#: Starts of the files whose frames are not the caller's: the package's, and that of context managers.
_NOT_THE_CALLER = (f"{Path(__file__).parent}{os.sep}", contextlib.__file__)


def warn(*parts: MessagePart | Warning, **fields: Any) -> None:
    """Warn at the line that called the package, from any depth inside it.

    Parameters
    ----------
    *parts : str, Setting, Call, Advice, ColumnValue, ColumnName, Message or Warning
        The message in parts, or one warning object.
    **fields
        Keyword arguments of `SalstatsWarning`.
    """
    first = parts[0]
    warning = first if isinstance(first, Warning) else SalstatsWarning(*parts, **fields)  # type: ignore[arg-type]
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_NOT_THE_CALLER):
        frame = frame.f_back
        level += 1
    warnings.warn(warning, stacklevel=level)
