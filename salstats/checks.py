"""Argument checks, called on the first lines of public functions, and names as messages write them."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

# version 0.2 had errors here: code that imports them from here keeps working
from salstats.errors import (
    ColumnError,
    FormulaError,  # noqa: F401
    InputFileError,  # noqa: F401
    Part,
    SalstatsError,
    SalstatsWarning,  # noqa: F401
    Setting,
    ShapeError,
    ValueRangeError,
)


def quoted(names: Iterable[object]) -> str:
    """Names for a message: 'a', 'b', 'c'; a long list is cut after a dozen."""
    shown = [repr(str(n)) for n in names]
    rest = [f"and {len(shown) - 12} more"] if len(shown) > 13 else []
    return ", ".join([*shown[: 12 if rest else 13], *rest])


def and_more(names: Sequence[object]) -> str:
    """How many more there are than the first, behind its name: " (and 2 more)"; "" where there is one."""
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


#: Sums of squares of larger numbers are infinite, and so is every statistic made of them.
LARGEST = 1e150
#: Printable by Unicode, and drawn as nothing: fillers, joiners, variation selectors.
_SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def hidden(name: str) -> str:
    """What nobody sees of a name, for a message; "" where there is nothing of the kind.

    A name with a blank around it or a character without a shape is another name, and looks the same.
    """
    if name != name.strip():
        return "begins or ends with a blank"
    if name.isprintable() and (name.isascii() or not _SHAPELESS.search(name)):
        return ""
    odd = next(c for c in name if not c.isprintable() or _SHAPELESS.match(c))
    return f"holds a character that nobody sees, U+{ord(odd):04X}"


def did_you_mean(name: object, known: Iterable[object], n: int = 1) -> str:
    """Words "; did you mean 'iou'?" for a message, in whatever case it is written; "" where none is."""
    spelled = {str(k).casefold(): str(k) for k in known}
    close = [spelled[c] for c in get_close_matches(str(name).casefold(), spelled, n=n)]
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def printable(text: str) -> str:
    """Text without what a terminal would do rather than show, as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def check_frame(frame: object, name: str = "scores") -> pd.DataFrame:
    """The frame, checked to be a DataFrame with at least one row."""
    if not isinstance(frame, pd.DataFrame):
        reader = "read_scores" if name == "scores" else "read_data"
        raise SalstatsError(
            f"{name} must be a pandas DataFrame, not {type(frame).__name__}",
            hint=f"read a file with {reader}()",
            option=name,
        )
    if frame.empty:
        raise SalstatsError(f"{name} has no rows")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()]
        raise ColumnError(
            f"{name} has column {quoted(twice[:1])} twice", hint="rename one of them", column=str(twice[0])
        )
    return frame


def check_columns(
    frame: pd.DataFrame, columns: Iterable[str], name: str = "scores", remedy: Part = ""
) -> None:
    """Raise ColumnError when a column is missing, with the closest name there is or the remedy."""
    for column in columns:
        if column not in frame.columns:
            suggestion = "" if remedy else did_you_mean(column, frame.columns)
            raise ColumnError(
                f"{name} has no column {column!r}{suggestion} (columns: {quoted(frame.columns)})",
                hint=remedy,
                column=column,
                choices=map(str, frame.columns),
            )


def check_numeric(frame: pd.DataFrame, column: str, name: str = "scores") -> np.ndarray:
    """A column as float64, raising ColumnError where it is not numeric or holds infinity."""
    values = frame[column]
    if not (pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)):
        if pd.to_numeric(values, errors="coerce").notna().any():
            hint = "convert it with pandas.to_numeric"
        else:
            shown = values.dropna().astype("str").iloc[:1].tolist()
            hint = (
                f"it holds text, such as {quoted(shown)}; make 1 and 0 of a yes or no"
                if shown
                else "it is empty"
            )
        raise ColumnError(f"column {column!r} of {name} must be numeric", hint=hint, column=column)
    array: np.ndarray = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if (np.abs(array) > LARGEST).any():
        row = int(np.flatnonzero(np.abs(array) > LARGEST)[0])
        what = "infinite" if np.isinf(array[row]) else f"beyond {LARGEST:g}"
        raise ColumnError(
            f"column {column!r} of {name} is {what} in row {row}{_which_case(frame, row)}",
            hint="an undefined score is NaN",
            column=column,
            rows=[row],
        )
    return array


def _which_case(frame: pd.DataFrame, row: int) -> str:
    """Words such as ' (case 017, task Edema)' for a message; empty where there is no case."""
    parts = [f"{c} {frame[c].iloc[row]}" for c in ("case", "task", "method", "metric") if c in frame.columns]
    return f" ({', '.join(parts)})" if parts else ""


def check_by(
    frame: pd.DataFrame, by: str | Sequence[str] | None, default: Sequence[str], name: str = "scores"
) -> list[str]:
    """The grouping columns as a list: those asked for, or those of `default` that are present."""
    if by is None:
        return [c for c in default if c in frame.columns]
    columns = [by] if isinstance(by, str) else list(by)
    if len(set(columns)) < len(columns):
        raise ColumnError(Setting("by"), f" names a column twice: {quoted(columns)}")
    check_columns(frame, columns, name)
    for column in columns:
        if frame[column].isna().any():
            row = int(np.flatnonzero(frame[column].isna().to_numpy())[0])
            raise ColumnError(
                f"grouping column {column!r} is empty in row {row}{_which_case(frame, row)}",
                hint="fill it or leave these rows out",
                column=column,
                rows=[row],
            )
    return columns


def check_choice(value: object, choices: Sequence[str], option: str) -> str:
    """The value, checked to be one of the choices."""
    if value not in choices:
        close = get_close_matches(str(value).lower(), choices, n=1, cutoff=0.7)
        # ig is integrated_gradients
        close = close or [
            c for c in choices if str(value).lower() == "".join(re.findall("(?<![a-z])[a-z]", c))
        ]
        suggestion = f"did you mean {close[0]!r}? It is one of" if close else "choose one of"
        raise ValueRangeError(
            Setting(option, value),
            " is not known",
            hint=f"{suggestion} {', '.join(choices)}",
            choices=choices,
        )
    return str(value)


def check_level(level: float, option: str = "level") -> float:
    """A confidence level strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        raise ValueRangeError(
            Setting(option),
            f" must lie strictly between 0 and 1, not {level!r}",
            hint="0.95 is usual" if option == "level" else "",
            value=level,
        )
    return float(level)


def check_count(value: int, option: str, low: int = 1) -> int:
    """A whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise ValueRangeError(
            Setting(option), f" must be a whole number of at least {low}, not {value!r}", value=value
        )
    return int(value)


def check_number(
    value: Any, option: str, high: float = np.inf, *, above: bool = False, below: bool = False
) -> float:
    """A finite number from 0, or only `above` it, to `high`, or only `below` that."""
    known = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    # written so that NaN is none
    if not (known and (value > 0 if above else value >= 0) and value < np.inf) or not (
        value < high if below else value <= high
    ):
        most = "" if high == np.inf else f" and {'below' if below else 'at most'} {high:g}"
        low = "above" if above else "of at least"
        raise ValueRangeError(Setting(option), f" must be a number {low} 0{most}, not {value!r}", value=value)
    return float(value)


def check_generator(rng: int | np.random.Generator) -> np.random.Generator:
    """A Generator from a seed or a Generator; the global generator is never used."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise ValueRangeError(
            Setting("rng"), f" must be a non-negative int or a numpy.random.Generator, not {rng!r}", value=rng
        )
    return np.random.default_rng(int(rng))


def check_draws(draws: Any, n_units: int) -> np.ndarray:
    """An index matrix (n_replicates, n_units) whose entries count the sorted units from 0."""
    array = np.asarray(draws)
    if array.ndim != 2 or array.shape[0] < 1 or array.shape[1] != n_units:
        raise ShapeError(
            Setting("draws"),
            f" must have shape (n_replicates, {n_units}), one column per unit, not {array.shape}",
        )
    if array.dtype.kind not in "iu":
        raise ValueRangeError(Setting("draws"), f" must hold integers, not {array.dtype}")
    if array.min() < 0 or array.max() >= n_units:
        raise ValueRangeError(
            Setting("draws"),
            f" must lie in 0 ... {n_units - 1}, not {array.min()} ... {array.max()}",
            hint="indices count the sorted units from 0 (an R index matrix counts from 1)",
        )
    return array
