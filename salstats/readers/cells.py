"""Options of reading a table file, and the meaning of its cells: names, numbers, text."""

import datetime
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import check_choice, invisibility_text
from salstats.coded_text import TEXT
from salstats.errors import InputFileError, Message, MessagePart, Setting, warn
from salstats.memory_limit import BYTES_PER_COLUMN, check_size

if TYPE_CHECKING:
    import pyarrow as pa

PathLike = str | os.PathLike[str]

#: Cells that stand for a missing number; identifiers are never compared with these.
NA_STRINGS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A")
#: Numbers of truth values, where a column holds no other cells.
_NUMBER_OF_TRUTH_VALUE = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
_DECIMAL_COMMA = r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?"
#: First characters of a number, of infinity and of "nan".
_NUMBER_BEGINNING = r"^\s*[+-]?[0-9.iInN]"
#: From this number on, a float no longer holds every whole number.
EXACT_FLOAT_LIMIT = 2.0**53
#: Text in errors of a number that is too large for a float.
BEYOND_FLOATS_TEXT = (
    "a whole number beyond 1.8e308, the largest that is read; write a smaller one, or text if it is a name"
)


class ParsedNumbers(NamedTuple):
    """The cells of a column read as numbers."""

    #: float64, NaN where a cell is missing or not a number
    numbers: pd.Series
    is_missing: np.ndarray
    is_no_number: np.ndarray


@dataclass(frozen=True)
class TableOptions:
    """Options of reading a table file; `read_scores` documents each.

    `is_fixed_format` is for readers of one format, which lack these options: no message may recommend one.
    """

    sep: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    na: Sequence[str] = NA_STRINGS
    sheet: str | None = None
    is_fixed_format: bool = False

    def __post_init__(self) -> None:
        check_choice(self.decimal, (".", ","), "decimal")
        if self.sep is not None and (len(self.sep) != 1 or self.sep in '"\r\n'):
            raise InputFileError(
                Setting("sep"),
                f" must be one character other than a quotation mark or line end, not {self.sep!r}",
                value=self.sep,
            )
        # a string is one value, not a list of letters; an empty cell is always missing
        na = [self.na] if isinstance(self.na, str) else list(self.na)
        object.__setattr__(self, "na", tuple(dict.fromkeys(["", *na])))

    def check_any_workbook_if_sheet_chosen(self, files: Iterable[Path]) -> None:
        """Raise where a sheet is chosen and none of the files is a workbook."""
        names = [str(file) for file in files]
        if self.sheet is not None and not any(name.lower().endswith(".xlsx") for name in names):
            raise InputFileError(
                f"{names[0]}: ",
                Setting("sheet", self.sheet),
                " chooses a sheet of a workbook, and only .xlsx files are workbooks",
                hint=Message("leave out ", Setting("sheet")),
                option="sheet",
                value=self.sheet,
                path=names[0],
            )

    def options_hint_unless_fixed_format(self, *parts_naming_options: MessagePart) -> Message:
        """Return a hint made of parts that name options; for a fixed format, the hint to save it as CSV."""
        if self.is_fixed_format:
            return Message("save it as CSV with commas, in UTF-8")
        return Message(*parts_naming_options)


def without_row_numbers(file: Path, cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells without a first column of row numbers, which pandas and R write without a name.

    It is left out with a warning. A column without a name that holds anything else is an error.
    """
    if cells.columns[0].strip():
        return cells
    numbers = pd.to_numeric(cells.iloc[:, 0].astype(str), errors="coerce").to_numpy()
    is_count = any(np.array_equal(numbers, np.arange(start, start + len(cells))) for start in (0, 1))
    if not is_count:
        raise InputFileError(
            f"{file}: column 1 has no name in the header (row names, written by pandas or R?)",
            hint="name it, or write the file without them (index=False, row.names=FALSE)",
            value=1,
            path=file,
        )
    warn(
        f"{file}: column 1 has no name and counts the rows, as pandas and R write it; it is left out", value=1
    )
    return cells.iloc[:, 1:]


def check_header_names_are_distinct_and_filled(file: Path, header: Sequence[str]) -> None:
    """Raise where a header is too long, holds a name twice, or lacks the name of a column after the first.

    The first column may hold row numbers, for which `without_row_numbers` checks it.
    """
    check_size(len(header) * BYTES_PER_COLUMN, f"{file}: its {len(header)} columns")
    for position, name in enumerate(header):
        if position > 0 and not name.strip():
            hint = "name it"
            if position == len(header) - 1:
                hint = "name it, or remove the separator at the end of every line"
            raise InputFileError(
                f"{file}: column {position + 1} has no name in the header",
                hint=hint,
                value=position + 1,
                path=file,
            )
        if invisibility_text(name):
            raise InputFileError(
                f"{file}: column {name!r} {invisibility_text(name)}",
                hint="remove it in the header",
                column=name,
                path=file,
            )
    names = pd.Index(header)
    if not names.is_unique:
        repeated = str(names[names.duplicated()][0])
        raise InputFileError(
            f"{file}: column {repeated!r} is twice in the header",
            hint="rename one of them",
            column=repeated,
            path=file,
        )


def parse_numbers(column: pd.Series, options: TableOptions) -> ParsedNumbers:
    """Read the cells of a column as numbers; a column of truth values alone as 1 and 0."""
    if is_numeric_or_bool(column):
        numbers = column.astype("float64")
        return ParsedNumbers(numbers, numbers.isna().to_numpy(), np.zeros(len(column), dtype=bool))
    if isinstance(column.dtype, pd.StringDtype) and options.decimal == ".":
        text_numbers = _numbers_or_none_if_any_is_text(column, options.na)
        if text_numbers is not None:
            is_missing = text_numbers.isna().to_numpy()
            return ParsedNumbers(text_numbers, is_missing, np.zeros(len(column), dtype=bool))
    # such a column often repeats a few values; each is parsed once
    codes, values = pd.factorize(column.astype(TEXT).fillna(""))
    parsed = _parse_numbers_of_text(pd.Series(values), options)
    numbers = pd.Series(parsed.numbers.to_numpy()[codes], index=column.index, name=column.name)
    return ParsedNumbers(numbers, parsed.is_missing[codes], parsed.is_no_number[codes])


def _parse_numbers_of_text(cells: pd.Series, options: TableOptions) -> ParsedNumbers:
    """Read cells of text as `parse_numbers` does."""
    text = cells.astype(TEXT).str.strip()
    missing = text.isin(list(options.na)).to_numpy()
    if options.decimal == ",":
        # a point may separate thousands or decimals, so 1.000 becomes text that is not a number
        has_point = text.str.contains(".", regex=False)
        text = text.str.replace(",", ".", regex=False).mask(has_point, "a point")
    numbers = _floats_or_nan(text.mask(missing))
    is_no_number = np.isnan(numbers) & ~missing
    if is_no_number.any() and text[~missing].isin(list(_NUMBER_OF_TRUTH_VALUE)).all():
        truth_values = text.map(_NUMBER_OF_TRUTH_VALUE).astype("float64")
        return ParsedNumbers(truth_values, missing, np.zeros(len(text), dtype=bool))
    return ParsedNumbers(pd.Series(numbers), missing, is_no_number)


def _numbers_or_none_if_any_is_text(column: pd.Series, na: Sequence[str]) -> pd.Series | None:
    """Return a column of text as numbers, NaN where a cell is missing; None where one is neither."""
    import pyarrow as pa
    from pyarrow import compute

    text = pa.array(column)
    numbers = _numbers_or_none_if_any_text_or_missing(text, na)
    if numbers is None:
        missing = compute.is_in(text, pa.array(list(na), text.type))
        try:
            numbers = compute.if_else(missing, None, text).cast(pa.float64())
        except pa.ArrowInvalid:
            return None
        # pyarrow reads "nan" as a number, which it is not here unless `na` has it
        if compute.any(compute.is_nan(numbers)).as_py():
            return None
    return pd.Series(numbers.to_numpy(zero_copy_only=False), index=column.index, name=column.name)


def _numbers_or_none_if_any_text_or_missing(text: "pa.Array", na: Sequence[str]) -> "pa.Array | None":
    """Return cells of text as a pyarrow array of floats; None where one is missing or not a number."""
    import pyarrow as pa

    try:
        numbers = text.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    values = numbers.to_numpy(zero_copy_only=False)
    # a number such as "-99" may stand for a missing cell, and "nan" is a number to pyarrow
    na_numbers = _floats_or_nan(pd.Series(na, dtype=TEXT))
    na_numbers = na_numbers[~np.isnan(na_numbers)]
    if np.isnan(values).any() or np.isin(values, na_numbers).any():
        return None
    return numbers


def _floats_or_nan(text: pd.Series) -> np.ndarray:
    """Return text as float64, NaN where it is not a number."""
    import pyarrow as pa
    from pyarrow import compute

    cells = pa.array(text)
    try:
        return np.asarray(cells.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        # pandas is slow for each cell, so it parses only those that may be a number
        may_be_number = compute.fill_null(compute.match_substring_regex(cells, _NUMBER_BEGINNING), False)
        numbers = np.full(len(text), np.nan)
        rows = np.flatnonzero(may_be_number.to_numpy(zero_copy_only=False))
        numbers[rows] = pd.to_numeric(text.iloc[rows], errors="coerce").to_numpy(dtype=np.float64)
        return numbers


def covariate_as_text(column: pd.Series) -> pd.Series:
    """Return a column as text: dates in ISO form, whole numbers without '.0', missing cells missing."""
    if isinstance(column.dtype, pd.StringDtype) or pd.api.types.is_integer_dtype(column):
        return column.astype(TEXT).where(column.notna())
    return pd.Series(
        [_covariate_cell_text(v) for v in column], index=column.index, name=column.name, dtype=TEXT
    )


def all_have_decimal_commas(cells: pd.Series) -> bool:
    """Return whether all cells look like numbers with a decimal comma."""
    distinct = pd.Series(cells.unique(), dtype=object).astype(TEXT)
    return bool(distinct.str.strip().str.fullmatch(_DECIMAL_COMMA).fillna(False).all())


def identifier_or_none_if_date_or_huge(value: Any) -> str | None:
    """Return one cell as an identifier, "" where it is empty or blank.

    None for a date or time, and for a float that is too large to be exact.
    """
    if pd.isna(value):
        return ""
    if is_date_or_time(value):
        return None
    if isinstance(value, float | np.floating):
        if abs(float(value)) >= EXACT_FLOAT_LIMIT:
            return None
        if float(value).is_integer():
            return str(int(value))
    text = str(value)
    return "" if text.isspace() else text


def is_date_or_time(value: object) -> bool:
    """Return whether a cell is a date or time."""
    return isinstance(value, datetime.date | datetime.time | datetime.timedelta)


def _covariate_cell_text(value: object) -> str | None:
    """Return one cell of a covariate as text: a date in ISO form, 7.0 as "7", None where empty."""
    name = identifier_or_none_if_date_or_huge(value)
    if name is not None:
        return name or None
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def warn_if_only_outer_blanks_differ(text: pd.Series, file: Path) -> None:
    """Warn where two values of a column differ only by blanks around them, and so are two groups."""
    distinct = pd.Series(text.dropna().unique(), dtype=TEXT)
    stripped = distinct.str.strip()
    if stripped.duplicated().any():
        repeated = stripped[stripped.duplicated()].iloc[0]
        first, second, *_ = distinct[stripped.eq(repeated)]
        warn(
            f"{file}, column {text.name!r}: {first!r} and {second!r} look the same and are two values",
            value=[first, second],
            column=str(text.name),
            path=file,
        )


def is_numeric_or_bool(column: pd.Series) -> bool:
    """Return whether the dtype of a column is of numbers or bool, not text."""
    return bool(pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))
