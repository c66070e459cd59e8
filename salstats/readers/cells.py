"""How a table file is to be read, and what its cells mean: names, numbers, text."""

import datetime
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import (
    COLUMN,
    InputFileError,
    check_choice,
    check_size,
    hidden,
    warn,
)

PathLike = str | os.PathLike[str]

#: What stands for a missing number; identifiers are never compared with these.
NA_STRINGS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A")
_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
_DECIMAL_COMMA = r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?"
#: Beyond this a float no longer holds every whole number.
EXACT = 2.0**53
_WHOLE = r"[+-]?\d+"


@dataclass(frozen=True)
class TableOptions:
    """How a table file is to be read; see `read_scores` for what each option means.

    `known` is for files of a known format, about which no message may name an option.
    """

    sep: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    na: Sequence[str] = NA_STRINGS
    sheet: str | None = None
    known: bool = False

    def __post_init__(self) -> None:
        check_choice(self.decimal, (".", ","), "decimal")
        if self.sep is not None and (len(self.sep) != 1 or not self.sep.isascii() or self.sep in '"\r\n'):
            raise InputFileError(
                f"sep must be one ASCII character that is no quotation mark or line end, not {self.sep!r}"
            )
        # one string would be taken letter by letter; an empty cell is always missing
        given = (self.na,) if isinstance(self.na, str) else tuple(self.na)
        object.__setattr__(self, "na", tuple(dict.fromkeys(("", *given))))

    def advice(self, text: str) -> str:
        """What would do, for the end of a message."""
        return "; save it as CSV with commas, in UTF-8" if self.known else f"; {text}"


def check_header(file: Path, header: list[str]) -> None:
    """Raise when a header is too long, or holds a name twice, none, or one with what nobody sees."""
    check_size(len(header) * COLUMN, f"{file}: its {len(header)} columns")
    first = {name: position for position, name in reversed([*enumerate(header)])}
    for position, name in enumerate(header):
        if not name.strip():
            hint = "; name it"
            if position == 0:
                hint = (
                    " (row numbers, written by pandas or R?); write the file without them "
                    "(index=False, row.names=FALSE)"
                )
            elif position == len(header) - 1:
                hint = "; name it, or remove the separator at the end of every line"
            raise InputFileError(f"{file}: column {position + 1} has no name in the header{hint}")
        if first[name] != position:
            raise InputFileError(f"{file}: column {name!r} is twice in the header; rename one of them")
        if hidden(name):
            raise InputFileError(f"{file}: column {name!r} {hidden(name)}; remove it in the header")


def parse_numbers(column: pd.Series, options: TableOptions) -> tuple[pd.Series, np.ndarray, np.ndarray]:
    """A column as float64, which of its cells are missing, and which are no number."""
    if is_number(column):
        numbers = column.astype("float64")
        return numbers, numbers.isna().to_numpy(), np.zeros(len(column), dtype=bool)
    known = np.zeros(len(column), dtype=bool)
    if isinstance(column.dtype, pd.StringDtype):
        text = column.fillna("").str.strip()
    else:
        values = column.to_list()
        # numbers of a workbook are numbers already, whatever the decimal mark of its text
        known = np.array([isinstance(v, Real | Decimal | np.bool_) and v == v for v in values], dtype=bool)
        cells = ["" if k or name_of(v) == "" else str(v) for v, k in zip(values, known, strict=True)]
        text = pd.Series(cells, index=column.index, dtype="str").str.strip()
    missing = text.isin(list(options.na)).to_numpy()
    if options.decimal == ",":
        # no thousands separators: in 1.000 nobody can tell a thousand from a one
        pointed = text.str.contains(".", regex=False)
        text = text.str.replace(",", ".", regex=False).mask(pointed, "a point")
    numbers = _cast(text.mask(missing))
    odd = numbers.isna().to_numpy() & ~missing
    if odd.any() and (text[~missing].isin(list(_TRUTH))).all():
        numbers = text.map(_TRUTH).astype("float64")
        odd = np.zeros(len(column), dtype=bool)
    if known.any():
        exact = [float(v) if k else np.nan for v, k in zip(column.to_list(), known, strict=True)]
        numbers = numbers.where(~known, pd.Series(exact, index=column.index, dtype="float64"))
        missing = missing & ~known
    # pandas reads "inf" and "Infinity" as numbers; that is for the caller to judge, but 1e400 is none
    infinite = np.flatnonzero(np.isinf(numbers.to_numpy()))
    odd[infinite] = known[infinite] | text.iloc[infinite].str.contains(r"\d").to_numpy(dtype=bool)
    return numbers, missing, odd


def _cast(text: pd.Series) -> pd.Series:
    """Text as float64, NaN where it is no number."""
    import pyarrow as pa

    try:
        parsed = pa.array(text).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return pd.Series(parsed, index=text.index, name=text.name)
    except pa.ArrowInvalid:
        return pd.to_numeric(text, errors="coerce").astype("float64")


def covariate_text(column: pd.Series) -> pd.Series:
    """A column as text: dates in ISO form, whole numbers without '.0', missing where they are."""
    if isinstance(column.dtype, pd.StringDtype):
        return column.astype("str")
    if pd.api.types.is_integer_dtype(column):
        return column.astype("string").astype("str")
    return pd.Series([_text(v) for v in column], index=column.index, name=column.name, dtype="str")


def is_decimal_comma(cells: pd.Series) -> pd.Series:
    """Which cells look like a number with a decimal comma."""
    return cells.astype("str").str.strip().str.fullmatch(_DECIMAL_COMMA).fillna(False)


def name_of(value: object) -> str | None:
    """One cell as an identifier: "" where it is empty, None where it cannot be one."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return ""
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return None
    if isinstance(value, float | np.floating):
        if abs(float(value)) >= EXACT:
            return None
        return str(int(value)) if float(value).is_integer() else str(value)
    return str(value)


def _text(value: object) -> str | None:
    """One cell of a covariate as text: a date in ISO form, a whole number without '.0'."""
    name = name_of(value)
    if name is not None:
        return name or None
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


def look_alike(distinct: pd.Series) -> pd.Series:
    """Which names have something that nobody sees."""
    if hidden("".join(distinct)) or distinct.ne(distinct.str.strip()).any():
        return distinct.map(lambda name: bool(hidden(name))).astype(bool)
    return pd.Series(False, index=distinct.index)


def warn_of_look_alikes(words: pd.Series, file: Path) -> None:
    """Warn where two values of a column differ by what nobody sees: grouped by it, they are two groups."""
    distinct = pd.Series(words.dropna().unique(), dtype="str")
    if not look_alike(distinct).any():
        return
    seen = distinct.map(lambda word: "".join(c for c in word if not hidden(f"-{c}-")).strip())
    twice = distinct[seen.duplicated(keep=False)]
    if len(twice):
        first = twice.iloc[0]
        other = twice[seen[twice.index].eq(seen[twice.index[0]])].iloc[1]
        warn(
            f"{file}, column {words.name!r}: {first!r} and {other!r} look the same and are two values; one "
            f"{hidden(first) or hidden(other)}"
        )


def are_exact(numbers: pd.Series) -> bool:
    """Whether whole numbers have all their digits: integers of a file, or text; no double has."""
    if pd.api.types.is_integer_dtype(numbers):
        return True
    exact = numbers.map(lambda v: isinstance(v, str | Decimal) and re.fullmatch(_WHOLE, str(v).strip()))
    return bool(exact.astype(bool).all())


def is_number(column: pd.Series) -> bool:
    """Whether a column holds numbers or truth values, not cells of text."""
    return bool(pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))


def strings(column: pd.Series) -> pd.Series:
    """The cells of a column that are text in the file."""
    if isinstance(column.dtype, pd.StringDtype):
        return column
    return pd.Series([v for v in column.to_list() if isinstance(v, str)], dtype="str")
