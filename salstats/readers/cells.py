"""What the cells of a table file mean: identifiers, numbers, covariates."""

import datetime
import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd

from salstats.checks import LARGEST, ColumnError, hidden, warn
from salstats.readers.table_options import TableOptions

_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
_DECIMAL_COMMA = r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?"
_LEADING_ZERO = r"0\d+"
#: Beyond this a float no longer holds every whole number.
_EXACT = 2.0**53
#: Beyond this they are measurements: no name has so many digits.
_NO_NAME = 2.0**64
_WHOLE = r"[+-]?\d+"
#: What a spreadsheet makes of a long number when it writes text.
_ROUNDED = r"\d(?:\.\d+)?[eE]\+\d\d"
#: From this share of numbers on, other cells of a column are more likely slips than names.
_MOSTLY = 0.5


def identifier_text(column: pd.Series, file: object, first_row: int = 2) -> pd.Series:
    """Return a column as text, cell by cell as it stands; whole numbers lose a trailing '.0'.

    A missing cell is "". Raises ColumnError for a date (a spreadsheet turns an id such as 1-2 into one),
    for a number too large to be exact (or written like 1.2E+16, with its digits lost), for blanks around a
    name and for characters nobody sees.
    """
    if isinstance(column.dtype, pd.StringDtype) or pd.api.types.is_integer_dtype(column):
        text = column.astype("str").fillna("")
    else:
        cells = [_name(value) for value in column.to_list()]
        for row, (cell, value) in enumerate(zip(cells, column.to_list(), strict=True), start=first_row):
            if cell is None:
                number = isinstance(value, float | np.floating)
                what = "is a number too large to be exact" if number else "is a date or time"
                raise ColumnError(
                    f"{file}, row {row}, column {column.name!r}: {value} {what}, not a name; "
                    "store the column as text"
                )
        text = pd.Series(cells, index=column.index, name=column.name, dtype="str")
    distinct = pd.Series(pd.unique(text), dtype="str")
    odd = distinct[distinct.str.fullmatch(_ROUNDED) | _look_alike(distinct)]
    if len(odd):
        position = int(np.flatnonzero(text.isin(odd).to_numpy())[0])
        value = text.iloc[position]
        what = hidden(value)
        said = f"{what}; remove it" if what else "is a number rounded by a spreadsheet; write all its digits"
        raise ColumnError(
            f"{file}, row {position + first_row}, column {column.name!r}: {value!r} {said} in the file"
        )
    return text


def _look_alike(distinct: pd.Series) -> pd.Series:
    """Return which names have something that nobody sees."""
    if hidden("".join(distinct)) or distinct.ne(distinct.str.strip()).any():
        return distinct.map(lambda name: bool(hidden(name))).astype(bool)
    return pd.Series(False, index=distinct.index)


def _name(value: object) -> str | None:
    """Return one cell as an identifier: "" where it is empty, None where it cannot be one."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return ""
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return None
    if isinstance(value, float | np.floating):
        if abs(float(value)) >= _EXACT:
            return None
        return str(int(value)) if float(value).is_integer() else str(value)
    return str(value)


def parse_numbers(column: pd.Series, options: TableOptions) -> tuple[pd.Series, np.ndarray, np.ndarray]:
    """Return a column as float64, and which of its cells are missing and which are no number."""
    if _is_number(column):
        numbers = column.astype("float64")
        return numbers, numbers.isna().to_numpy(), np.zeros(len(column), dtype=bool)
    known = np.zeros(len(column), dtype=bool)
    if isinstance(column.dtype, pd.StringDtype):
        text = column.fillna("").str.strip()
    else:
        values = column.to_list()
        # numbers of a workbook are numbers already, whatever the decimal mark of its text
        known = np.array([isinstance(v, Real | Decimal | np.bool_) and v == v for v in values], dtype=bool)
        cells = ["" if k or _name(v) == "" else str(v) for v, k in zip(values, known, strict=True)]
        text = pd.Series(cells, index=column.index, dtype="str").str.strip()
    missing = text.isin(list(options.na)).to_numpy()
    if options.decimal == ",":
        # no thousands separators: in 1.000 nobody can tell a thousand from a one
        pointed = text.str.contains(".", regex=False)
        text = text.str.replace(",", ".", regex=False).mask(pointed, "a point")
    numbers = _numbers(text.mask(missing))
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


def _numbers(text: pd.Series) -> pd.Series:
    """Return text as float64, NaN where it is no number."""
    import pyarrow as pa

    try:
        parsed = pa.array(text).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return pd.Series(parsed, index=text.index, name=text.name)
    except pa.ArrowInvalid:
        return pd.to_numeric(text, errors="coerce").astype("float64")


def number_column(column: pd.Series, options: TableOptions) -> tuple[pd.Series, int | None]:
    """Return a column as float64 and the position of the first cell that is no number, or None."""
    numbers, _, odd = parse_numbers(column, options)
    return numbers, int(np.flatnonzero(odd)[0]) if odd.any() else None


def score_column(
    column: pd.Series, file: object, options: TableOptions, first_row: int = 2, hint: str = ""
) -> pd.Series:
    """Return a column as finite float64 or NaN, or raise naming the row."""
    numbers, _, odd = parse_numbers(column, options)
    far = np.flatnonzero(np.abs(numbers.to_numpy()) > LARGEST)
    if far.size:
        what = "infinite" if np.isinf(numbers.iloc[far[0]]) else f"beyond {LARGEST:g}"
        raise ColumnError(
            f"{file}, row {far[0] + first_row}, column {column.name!r}: the score is {what}; "
            "an undefined score is an empty cell"
        )
    if odd.any():
        position = int(np.flatnonzero(odd)[0])
        cell = f"{file}, row {position + first_row}, column {column.name!r}"
        value = str(column.iloc[position])
        if _is_decimal_comma(column.iloc[[position]]).all() and options.decimal == ".":
            hint = "; for decimal commas read it with decimal=','"
        elif options.decimal == "," and "." in value:
            hint = "; with decimal=',' it may hold no point (nor thousands separators)"
        raise ColumnError(
            f"{cell}: {value!r} is not a number{hint} "
            f"(missing is one of {', '.join(repr(s) for s in options.na)})"
        )
    return numbers


def first_text_column(frame: pd.DataFrame, options: TableOptions, leave: Iterable[str] = ()) -> str | None:
    """Return the first column that holds text, not numbers (also with decimal commas), or None."""
    for name in frame.columns:
        if name not in leave:
            _, _, odd = parse_numbers(frame[name], options)
            if odd.any() and not _is_decimal_comma(frame[name][odd]).all():
                return str(name)
    return None


def covariate(column: pd.Series, file: object, options: TableOptions, first_row: int = 2) -> pd.Series:
    """Return a column as numbers where every cell is one, else as text with NA strings as missing.

    A column with a cell such as "007" is text: a number would lose its zeros; so is one of whole numbers
    beyond 2^53, which would lose their last digits (a warning says where the file has lost them already).
    Dates are text (ISO 8601). Numbers with decimal commas are an error that names the option, and so are
    those beyond what a float holds; text among numbers gives a warning.
    """
    numbers, missing, odd = parse_numbers(column, options)
    sizes = np.abs(numbers.to_numpy())
    if (odd & np.isinf(sizes)).any():
        position = int(np.flatnonzero(odd & np.isinf(sizes))[0])
        raise ColumnError(
            f"{file}, row {position + first_row}, column {column.name!r}: {str(column.iloc[position])!r} is "
            "beyond what a number can be (1.8e308); an undefined value is an empty cell"
        )
    long = np.flatnonzero((sizes >= _EXACT) & (sizes < _NO_NAME))
    if len(long) and (sizes[np.isfinite(sizes)] % 1 == 0).all():
        if _are_exact(column.iloc[long]):
            return covariate_text(column).mask(missing)
        warn(
            f"{file}, row {long[0] + first_row}, column {column.name!r}: {column.iloc[long[0]]} is rounded, "
            "as whole numbers beyond 2^53 are; if it is a name, store the column as text"
        )
    zeros_lead = not _is_number(column) and bool(_strings(column).str.fullmatch(_LEADING_ZERO).any())
    if not odd.any():
        return covariate_text(column).mask(missing) if zeros_lead else numbers
    present = ~missing
    if options.decimal == "." and _is_decimal_comma(column[odd]).all():
        position = int(np.flatnonzero(odd)[0])
        raise ColumnError(
            f"{file}, row {position + first_row}, column {column.name!r}: {column.iloc[position]!r} has a "
            "decimal comma; read the file with decimal=','"
        )
    if (present & ~odd).sum() >= _MOSTLY * present.sum() and not zeros_lead:
        position = int(np.flatnonzero(odd)[0])
        warn(
            f"{file}, row {position + first_row}, column {column.name!r}: {str(column.iloc[position])!r} is "
            f"not a number, though {(present & ~odd).sum()} of {present.sum()} cells are; the column is read "
            "as text (na= says what stands for missing)"
        )
    words = covariate_text(column).mask(missing)
    _warn_of_look_alikes(words, file)
    return words


def _warn_of_look_alikes(words: pd.Series, file: object) -> None:
    """Warn where two values of a column differ by what nobody sees: grouped by it, they are two groups."""
    distinct = pd.Series(words.dropna().unique(), dtype="str")
    if not _look_alike(distinct).any():
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


def covariate_text(column: pd.Series) -> pd.Series:
    """Return a column as text: dates in ISO form, whole numbers without '.0', missing where they are."""
    if isinstance(column.dtype, pd.StringDtype):
        return column.astype("str")
    if pd.api.types.is_integer_dtype(column):
        return column.astype("string").astype("str")
    return pd.Series([_text(v) for v in column], index=column.index, name=column.name, dtype="str")


def _are_exact(numbers: pd.Series) -> bool:
    """Return whether whole numbers have all their digits: integers of a file, or text; no double has."""
    if pd.api.types.is_integer_dtype(numbers):
        return True
    exact = numbers.map(lambda v: isinstance(v, str | Decimal) and re.fullmatch(_WHOLE, str(v).strip()))
    return bool(exact.astype(bool).all())


def _is_number(column: pd.Series) -> bool:
    """Return whether a column holds numbers or truth values, not cells of text."""
    return bool(pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))


def _strings(column: pd.Series) -> pd.Series:
    """Return the cells of a column that are text in the file."""
    if isinstance(column.dtype, pd.StringDtype):
        return column
    return pd.Series([v for v in column.to_list() if isinstance(v, str)], dtype="str")


def _is_decimal_comma(cells: pd.Series) -> pd.Series:
    """Return which cells look like a number with a decimal comma."""
    return cells.astype("str").str.strip().str.fullmatch(_DECIMAL_COMMA).fillna(False)


def _text(value: object) -> str | None:
    """Return one cell of a covariate as text: a date in ISO form, a whole number without '.0'."""
    name = _name(value)
    if name is not None:
        return name or None
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
