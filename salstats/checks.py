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
    MessagePart,
    SalstatsError,
    SalstatsWarning,  # noqa: F401
    Setting,
    ShapeError,
    ValueRangeError,
)


def quoted(names: Iterable[object]) -> str:
    """Write names for a message: 'a', 'b', 'c'; a long list is cut after a dozen."""
    texts = [repr(str(name)) for name in names]
    if len(texts) > 13:
        texts = [*texts[:12], f"and {len(texts) - 12} more"]
    return ", ".join(texts)


def and_n_more_after_first(names: Sequence[object]) -> str:
    """Write how many names follow the first: " (and 2 more)"; "" where there is only one."""
    if len(names) < 2:
        return ""
    return f" (and {len(names) - 1} more)"


#: Sums of squares of larger numbers are infinite, and so is every statistic made of them.
LARGEST_NUMBER = 1e150
#: Characters that Unicode calls printable although nothing is drawn: fillers, joiners, variation selectors.
_SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def invisibility_text(name: str) -> str:
    """Write which part of a name is invisible, for a message; "" where all of it is visible.

    Two names that differ in blanks around them or in invisible characters look the same.
    """
    if name != name.strip():
        return "begins or ends with a blank"
    if name.isprintable() and (name.isascii() or not _SHAPELESS.search(name)):
        return ""
    invisible = next(c for c in name if not c.isprintable() or _SHAPELESS.match(c))
    return f"holds an invisible character, U+{ord(invisible):04X}"


def did_you_mean(name: object, choices: Iterable[object], n: int = 1) -> str:
    """Write "; did you mean 'iou'?" with the closest choices, ignoring capitals; "" where none is close."""
    spelled = {str(choice).casefold(): str(choice) for choice in choices}
    close = [spelled[key] for key in get_close_matches(str(name).casefold(), spelled, n=n)]
    if not close:
        return ""
    return f"; did you mean {' or '.join(map(repr, close))}?"


def escape_unprintable(text: str) -> str:
    """Return text with its unprintable characters, which a terminal might obey, as escape sequences."""
    if text.isprintable():
        return text
    # `ascii` puts the escape sequence between quotation marks
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def check_frame(frame: object, frame_name: str = "scores") -> pd.DataFrame:
    """Return the frame; raise SalstatsError unless it is a DataFrame with rows and distinct columns."""
    if not isinstance(frame, pd.DataFrame):
        reader = "read_scores" if frame_name == "scores" else "read_data"
        raise SalstatsError(
            f"{frame_name} must be a pandas DataFrame, not {type(frame).__name__}",
            hint=f"read a file with {reader}()",
            option=frame_name,
        )
    if frame.empty:
        raise SalstatsError(f"{frame_name} has no rows", option=frame_name, value=0)
    if not frame.columns.is_unique:
        repeated = str(frame.columns[frame.columns.duplicated()][0])
        raise ColumnError(
            f"{frame_name} has column {repeated!r} twice", hint="rename one of them", column=repeated
        )
    return frame


def check_columns(
    frame: pd.DataFrame, columns: Iterable[str], frame_name: str = "scores", remedy: MessagePart = ""
) -> None:
    """Raise ColumnError when a column is missing, with the closest name there is or the remedy."""
    for column in columns:
        if column not in frame.columns:
            suggestion = "" if remedy else did_you_mean(column, frame.columns)
            raise ColumnError(
                f"{frame_name} has no column {column!r}{suggestion} (columns: {quoted(frame.columns)})",
                hint=remedy,
                column=column,
                choices=map(str, frame.columns),
            )


def check_numeric(frame: pd.DataFrame, column: str, frame_name: str = "scores") -> np.ndarray:
    """Return a column as float64; raise ColumnError where it is not numeric or beyond +-`LARGEST_NUMBER`."""
    values = frame[column]
    is_numeric = pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)
    if not is_numeric:
        raise ColumnError(
            f"column {column!r} of {frame_name} must be numeric",
            hint=_hint_to_make_numeric(values),
            column=column,
        )
    array: np.ndarray = values.to_numpy(dtype=np.float64, na_value=np.nan)
    is_too_large = np.abs(array) > LARGEST_NUMBER
    if is_too_large.any():
        row = int(np.flatnonzero(is_too_large)[0])
        raise ColumnError(
            f"column {column!r} of {frame_name} is {array[row]:g}, beyond {LARGEST_NUMBER:g}, in row "
            f"{row}{_case_in_parentheses_text(frame, row)}",
            hint="an undefined score is NaN",
            column=column,
            rows=[row],
        )
    return array


def object_numbers_to_numeric_dtype(column: pd.Series) -> pd.Series:
    """Return a column of dtype object whose cells are numbers or missing with a numeric dtype.

    Any other column is returned as it is. True and False are not numbers.
    """
    if column.dtype != object:
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind not in ("integer", "floating", "mixed-integer-float", "decimal"):
        return column
    # nullable dtypes keep all digits of whole numbers beside missing cells
    return pd.to_numeric(column, dtype_backend="numpy_nullable")


def _hint_to_make_numeric(values: pd.Series) -> str:
    """Propose how to make a column numeric."""
    if pd.to_numeric(values, errors="coerce").notna().any():
        return "convert it with pandas.to_numeric"
    texts = values.dropna().astype(str).iloc[:1].tolist()
    if not texts:
        return "it is empty"
    return f"it holds text, such as {quoted(texts)}; make 1 and 0 of a yes or no"


def _case_in_parentheses_text(frame: pd.DataFrame, row: int) -> str:
    """Write the case of a row for a message, as in " (case 017, task Edema)"; "" where there is none."""
    parts = []
    for column in ("case", "task", "method", "metric"):
        if column in frame.columns:
            parts.append(f"{column} {frame[column].iloc[row]}")
    if not parts:
        return ""
    return f" ({', '.join(parts)})"


def check_by(
    frame: pd.DataFrame, by: str | Sequence[str] | None, default: Sequence[str], frame_name: str = "scores"
) -> list[str]:
    """Return the grouping columns as a list, by default those of `default` that the frame has."""
    if by is None:
        return [c for c in default if c in frame.columns]
    columns = [by] if isinstance(by, str) else list(by)
    if len(set(columns)) < len(columns):
        raise ColumnError(Setting("by"), f" names a column twice: {quoted(columns)}")
    check_columns(frame, columns, frame_name)
    for column in columns:
        if frame[column].isna().any():
            row = int(np.flatnonzero(frame[column].isna().to_numpy())[0])
            raise ColumnError(
                f"grouping column {column!r} is empty in row {row}{_case_in_parentheses_text(frame, row)}",
                hint="fill it or leave these rows out",
                column=column,
                rows=[row],
            )
    return columns


def check_not_in_by(column: str, option: str, by: Sequence[str]) -> None:
    """Raise ColumnError where the column that an option names is a grouping column, too."""
    if column in by:
        raise ColumnError(
            Setting(option, column),
            " is also in ",
            Setting("by", by),
            hint="leave it out of one of them",
            column=column,
        )


def check_choice(value: object, choices: Sequence[str], option: str) -> str:
    """Return the value as text; raise ValueRangeError unless it is one of the choices."""
    if value in choices:
        return str(value)
    close = get_close_matches(str(value).lower(), choices, n=1, cutoff=0.7)
    if not close:
        # initials, such as ig for integrated_gradients
        close = [c for c in choices if str(value).lower() == "".join(re.findall("(?<![a-z])[a-z]", c))]
    suggestion = "choose one of"
    if close:
        suggestion = f"did you mean {close[0]!r}? It is one of"
    raise ValueRangeError(
        Setting(option, value),
        " is not known",
        hint=f"{suggestion} {', '.join(choices)}",
        choices=choices,
    )


def check_level(level: float, option: str = "level") -> float:
    """Return a confidence level as float; raise ValueRangeError unless 0 < level < 1."""
    is_number = isinstance(level, int | float | np.floating) and not isinstance(level, bool)
    if not is_number or not 0 < level < 1:
        raise ValueRangeError(
            Setting(option),
            f" must lie strictly between 0 and 1, not {level!r}",
            hint="0.95 is usual" if option == "level" else "",
            value=level,
        )
    return float(level)


def check_count(value: int, option: str, low: int = 1) -> int:
    """Return a whole number as int; raise ValueRangeError for another value, or one below `low`."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < low:
        raise ValueRangeError(
            Setting(option), f" must be a whole number of at least {low}, not {value!r}", value=value
        )
    return int(value)


def check_number(
    value: Any, option: str, high: float = np.inf, *, exclude_zero: bool = False, exclude_high: bool = False
) -> float:
    """Return a finite number as float; raise ValueRangeError unless 0 <= value <= high.

    `exclude_zero` excludes 0 and `exclude_high` excludes `high`.
    """
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    # comparisons with NaN are False, so that it is never in the range
    is_in_range = False
    if is_number and value < np.inf:
        is_above_low = value > 0 if exclude_zero else value >= 0
        is_below_high = value < high if exclude_high else value <= high
        is_in_range = bool(is_above_low and is_below_high)
    if is_in_range:
        return float(value)
    low_text = "above 0" if exclude_zero else "of at least 0"
    high_text = ""
    if high != np.inf:
        high_text = f" and below {high:g}" if exclude_high else f" and at most {high:g}"
    raise ValueRangeError(
        Setting(option), f" must be a number {low_text}{high_text}, not {value!r}", value=value
    )


def as_generator(rng: int | np.random.Generator) -> np.random.Generator:
    """Return a Generator made from a seed, or the Generator itself; the global one is never used."""
    if isinstance(rng, np.random.Generator):
        return rng
    is_whole = isinstance(rng, int | np.integer) and not isinstance(rng, bool)
    if not is_whole:
        raise ValueRangeError(
            Setting("rng"), f" must be an int or a numpy.random.Generator, not {rng!r}", value=rng
        )
    if rng < 0:
        raise ValueRangeError(Setting("rng"), f" must be a whole number of at least 0, not {rng}", value=rng)
    return np.random.default_rng(int(rng))


def check_shape_of_points(points: Any, option: str, subject: str = "") -> np.ndarray:
    """Return points as an array of shape (n, 2), where n may be 0; raise ShapeError for another shape.

    `subject` names the points in the message; by default the option does.
    """
    array = np.asarray(points)
    if array.size == 0:
        return np.empty((0, 2))
    if array.ndim != 2 or array.shape[1] != 2:
        raise ShapeError(
            f"{subject or option} must have shape (n, 2), a row and a column each, not {array.shape}",
            option=option,
            value=array.shape,
        )
    return array


def check_draw_indices(draws: Any, n_units: int) -> np.ndarray:
    """Return draws as an index matrix (n_replicates, n_units); raise unless it holds 0 to n_units - 1."""
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
