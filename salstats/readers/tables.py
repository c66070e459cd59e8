"""Tables of files: every cell as the file has it, and each column as text, numbers or scores."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import LARGEST_NUMBER, did_you_mean, invisibility_text, quoted
from salstats.coded_text import (
    TEXT,
    arrow_dictionary_with_empty_as_missing,
    frame_with_sorted_dictionaries,
    is_arrow_text_dictionary,
    make_arrow_dictionary_text_plain,
    plain_text,
    sorted_distinct_values,
)
from salstats.errors import ColumnError, InputFileError, Message, MessagePart, SalstatsError, Setting, warn
from salstats.files.input_files import opened
from salstats.files.paths import check_is_regular_file_unless_missing
from salstats.frames import IDENTIFIER_COLUMNS, seed_without_decimal_zero
from salstats.memory_limit import check_size
from salstats.readers.cells import (
    EXACT_FLOAT_LIMIT,
    PathLike,
    TableOptions,
    all_have_decimal_commas,
    covariate_as_text,
    identifier_or_none_if_date_or_huge,
    is_numeric_or_bool,
    parse_numbers,
    warn_if_only_outer_blanks_differ,
    without_row_numbers,
)
from salstats.readers.delimited_text import CONTROL_CHARACTER, read_text
from salstats.readers.parquet import read_parquet
from salstats.readers.xlsx import read_xlsx_sheet_with_typed_columns
from salstats.score_checks import concatenated_bytes_of_texts

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx")


@dataclass(frozen=True)
class Signature:
    """First bytes of a file format, and the message where the ending of a file is of another format."""

    first_bytes: bytes
    #: The ending that such a file should have; None where no such file can be read.
    suffix: str | None
    #: Name of the format, for the message.
    format: str
    #: Hint of the message.
    remedy: str


_SIGNATURES = (
    Signature(
        b"PK\x03\x04", ".xlsx", "a zip archive, such as an XLSX workbook", "name it .xlsx if it is one"
    ),
    Signature(b"PAR1", ".parquet", "a Parquet file", "name it .parquet"),
    Signature(
        b"\xd0\xcf\x11\xe0",
        None,
        "an old Excel workbook (.xls) or one with a password",
        "save it as .xlsx without",
    ),
    Signature(b"\x1f\x8b", None, "compressed by gzip", "unpack it"),
)
#: Identifiers of which no cell may be empty.
REQUIRED_IDENTIFIERS = ("case", "method", "metric", "task")
#: Whole numbers from here on are measurements, as no name has so many digits.
_MEASUREMENT_LIMIT = 2.0**64
#: Form in which a spreadsheet writes a long number as text, such as 1.2E+16, or -1,2E+16 with decimal commas.
_ROUNDED_NUMBER = re.compile(r"-?\d(?:[.,]\d+)?[eE]\+\d{2,3}")
#: A name that needs a check of its own: it has blanks around it, a character beyond printable ASCII, or a
#: power of ten at its end.
_DOUBTFUL_NAME = r"^\s|\s$|[^ -~]|[eE]\+\d{2,3}$"
#: A column has such a name only if it has a byte up to the blank, one beyond "~", or a "+".
_BLANK = ord(" ")
_LAST_PRINTABLE = ord("~")
_PLUS = ord("+")
#: Digits that begin with a zero, which are a name and not a number.
_DIGITS_WITH_LEADING_ZERO = r"^0\d+$"
#: A carriage return without the line feed of a line end.
_LONE_RETURN = re.compile(r"\r(?!\n)")
#: Characters of which some are control characters; `CONTROL_CHARACTER` decides.
_MAYBE_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{feff}]"
#: From this share of numbers in a column on, its other cells are probably mistakes, not names.
_MIN_SHARE_OF_NUMBERS = 0.5


@dataclass(frozen=True)
class FileTable:
    """The cells of a table file as the file has them, under the names of its header."""

    file: Path
    #: Text, as Arrow dictionaries from `read_table_with_arrow_text`; in Parquet and XLSX also numbers. An
    #: empty cell is "" (text) or NaN. The index counts rows from 0.
    cells: pd.DataFrame
    #: Number of the first data row in the file: 2 below a header, 1 in Parquet.
    first_row_number: int = 2
    options: TableOptions = field(default_factory=TableOptions)
    #: Class of the errors about a missing column or an invalid cell.
    error_class: type[SalstatsError] = ColumnError

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.cells)

    @property
    def columns(self) -> list[str]:
        """The names of the header."""
        return list(self.cells.columns)

    @property
    def row_numbers(self) -> np.ndarray:
        """Number of each row in the file."""
        return self.cells.index.to_numpy() + self.first_row_number

    def location(self, position: int, column: str | None = None) -> str:
        """Return the file and row, and the column if there is one, as text for messages."""
        row = f"{self.file}, row {self.row_numbers[position]}"
        return row if column is None else f"{row}, column {column!r}"

    def with_cells(self, cells: pd.DataFrame) -> "FileTable":
        """Return a table of the same file with other cells."""
        return replace(self, cells=cells)

    def renamed(
        self, rename: Mapping[str, str], columns_of_joined_files: Collection[str] = ()
    ) -> "FileTable":
        """Return the table with columns renamed; `rename` may also name `columns_of_joined_files`."""
        self.check_columns_named_by_option(rename, "rename", columns_of_joined_files)
        cells = self.cells.rename(columns=dict(rename))
        repeated = cells.columns[cells.columns.duplicated()]
        if len(repeated):
            raise ColumnError(
                f"{self.file}: after ",
                Setting("rename"),
                f", column {repeated[0]!r} is there twice",
                column=str(repeated[0]),
                path=self.file,
            )
        return self.with_cells(cells)

    def check_columns_named_by_option(
        self, names: Iterable[str], option: str, joined_columns: Collection[str] = ()
    ) -> None:
        """Raise where an option names a column that the file lacks, unless it is one of `joined_columns`."""
        for name in names:
            if name not in self.cells.columns and name not in joined_columns:
                raise InputFileError(
                    f"{self.file}: ",
                    Setting(option),
                    f" names column {name!r}, which it lacks"
                    f"{did_you_mean(name, self.columns)} (columns: {quoted(self.columns)})",
                    column=name,
                    choices=self.columns,
                    path=self.file,
                )

    def check_columns(self, columns: Iterable[str], hint: str = "") -> None:
        """Raise where a column is missing, with this hint."""
        missing = [column for column in columns if column not in self.cells.columns]
        if missing:
            further_missing = ""
            if len(missing) > 1:
                further_missing = f", nor {quoted(missing[1:])}"
            raise self.error_class(
                f"{self.file} has no column {missing[0]!r}{further_missing} "
                f"(columns: {quoted(self.columns)})",
                hint=hint,
                column=missing[0],
                choices=self.columns,
                path=self.file,
            )

    def text_with_missing_as_empty(self, column: str) -> pd.Series:
        """Return a column of names as text, "" where a cell is missing or of blanks only.

        The number 7.0 of a workbook or Parquet file is "7"; text in a CSV stays as it is, except that the
        seed "7.0" is "7" (see `frames.seed_without_decimal_zero`). Raises ColumnError for a date of a
        workbook (a spreadsheet turns an id such as 1-2 into one), for a number too large to be exact (or
        written like 1.2E+16, with its digits lost), for blanks around a name and for invisible characters.
        """
        cells = plain_text(self.cells[column])
        if pd.api.types.is_integer_dtype(cells):
            # whole numbers need no check as names
            return _integers_as_text_with_missing_as_empty(cells)
        if isinstance(cells.dtype, pd.StringDtype):
            names = cells.fillna("")
            doubtful = _distinct_texts_to_check_for_odd_characters(names)
            if any(name.isspace() for name in doubtful):
                names = names.mask(names.str.strip() == "", "")
                doubtful = _distinct_texts_to_check_for_odd_characters(names)
        else:
            names = pd.Series(
                [identifier_or_none_if_date_or_huge(value) for value in cells], cells.index, object, column
            )
            doubtful = list(names.unique())
        self._refuse_invalid_names(column, names, doubtful)
        names = names.astype(TEXT)
        if column == "seed":
            names = names.replace({name: seed_without_decimal_zero(name) for name in names.unique()})
        return names

    def coded_text(self, column: str) -> pd.Series:
        """Return a column's `text_with_missing_as_empty` as an Arrow dictionary, with empty cells missing."""
        cells = self.cells[column]
        if pd.api.types.is_integer_dtype(cells):
            return arrow_dictionary_with_empty_as_missing(_integers_as_text_with_missing_as_empty(cells))
        if column == "seed" or not (
            isinstance(cells.dtype, pd.StringDtype) or is_arrow_text_dictionary(cells)
        ):
            cells = self.text_with_missing_as_empty(column)
        names = arrow_dictionary_with_empty_as_missing(cells)
        if _distinct_texts_to_check_for_odd_characters(sorted_distinct_values(names)):
            # cells of blanks only are missing
            names = arrow_dictionary_with_empty_as_missing(self.text_with_missing_as_empty(column))
        return names

    def _refuse_invalid_names(self, column: str, names: pd.Series, doubtful_names: Iterable[str]) -> None:
        """Raise ColumnError for the first cell whose name is invalid, among the distinct `doubtful_names`."""
        for name in doubtful_names:
            reason = _identifier_cell_problem_or_none(name)
            if reason:
                is_bad = np.array([cell == name for cell in names])
                raise self._cell_error(is_bad, column, reason, ColumnError)

    def _cell_error(
        self,
        is_bad: np.ndarray,
        column: str,
        reason: MessagePart,
        error_class: type[SalstatsError] | None = None,
        hint: MessagePart = "",
        option: str | None = None,
    ) -> SalstatsError:
        """Make the error of the first bad cell of a column."""
        position = int(np.argmax(is_bad))
        cell = str(self.cells[column].iloc[position])
        chosen_class = error_class or self.error_class
        return chosen_class(
            f"{self.location(position, column)}: {cell!r} ",
            reason,
            hint=hint,
            option=option,
            value=cell,
            column=column,
            rows=[position],
            path=self.file,
        )

    def nonempty_texts(self, column: str) -> list[str]:
        """Return a column of names as a list; raise where one is empty."""
        names = self.text_with_missing_as_empty(column).to_list()
        if "" in names:
            position = names.index("")
            raise self.error_class(
                f"{self.location(position, column)}: empty",
                hint="every row needs one",
                column=column,
                rows=[position],
                path=self.file,
            )
        return names

    def checked_distinct_case_of_each_row(self) -> list[str]:
        """Return the column `case` as a list; raise where a case is empty or in two rows."""
        names = self.text_with_missing_as_empty("case")
        for is_bad, reason in ((names.eq(""), "is empty"), (names.duplicated(), "is there twice")):
            if is_bad.any():
                position = int(np.flatnonzero(is_bad.to_numpy())[0])
                raise self.error_class(
                    f"{self.location(position)}: case {names.iloc[position]!r} {reason}",
                    column="case",
                    rows=[position],
                    path=self.file,
                )
        return names.to_list()

    def numbers(
        self,
        column: str,
        is_wrong: Callable[[np.ndarray], np.ndarray] | None = None,
        reason: str = "is not a number",
    ) -> np.ndarray:
        """Return a column as float64, NaN where a cell is empty.

        Raise with the `reason` where a cell is not a number, or `is_wrong` returns True for it.
        """
        numbers, _, is_bad = parse_numbers(self.cells[column], self.options)
        values = numbers.to_numpy(copy=True)
        if is_wrong is not None:
            is_bad = is_bad | is_wrong(values)
        if is_bad.any():
            raise self._cell_error(is_bad, column, reason)
        return values

    def finite_numbers(self, columns: Sequence[str]) -> np.ndarray:
        """Return columns as an array (n_rows, n_columns); raise where a cell is not a finite number."""
        self.check_columns(columns)
        n_rows = len(self)
        # all columns are parsed in one call, as one for each would take longer than reading a small file
        cells = pd.concat([self.cells[column] for column in columns], ignore_index=True)
        numbers, _, is_no_number = parse_numbers(cells, self.options)
        values = numbers.to_numpy()
        invalid = np.flatnonzero(is_no_number | ~np.isfinite(values))
        if invalid.size:
            # the columns lie one after the other
            column_index, row = divmod(int(invalid[0]), n_rows)
            column = columns[column_index]
            cell = str(cells.iloc[invalid[0]])
            raise self.error_class(
                f"{self.location(row, column)}: {cell!r} is not a finite number",
                column=column,
                value=cell,
                rows=[row],
                path=self.file,
            )
        return np.ascontiguousarray(values.reshape(len(columns), n_rows).T)

    def scores(self, column: str, remedy: MessagePart = "") -> pd.Series:
        """Return a column of scores: finite, or NaN where undefined.

        `remedy` is the hint about a cell that is not a number, unless its text suggests a better one.
        """
        cells = plain_text(self.cells[column])
        options = self.options
        numbers, _, is_no_number = parse_numbers(cells, options)
        is_too_large = np.abs(numbers.to_numpy()) > LARGEST_NUMBER
        if is_too_large.any():
            reason = f"is infinite or beyond {LARGEST_NUMBER:g}"
            raise self._cell_error(
                is_too_large, column, reason, ColumnError, hint="an undefined score is an empty cell"
            )
        if is_no_number.any():
            first = cells[is_no_number].iloc[[0]]
            option = None
            hint = Message(remedy)
            if options.decimal == "." and all_have_decimal_commas(first):
                hint, option = _decimal_comma_hint_and_possible_option(cells[~is_no_number])
            elif options.decimal == "," and "." in str(first.iloc[0]):
                hint = Message(
                    "with ", Setting("decimal", ","), " it must not hold a point (nor thousands separators)"
                )
                option = "decimal"
            elif "%" in str(first.iloc[0]):
                hint = Message("take the % signs out of the file and read it with ", Setting("scale", 0.01))
                option = "scale"
            missing = ", ".join(map(repr, options.na))
            na_note = Message(
                f" (missing is one of {missing}; ", Setting("na"), " names others in their place)"
            )
            problem = Message("is not a number")
            if hint:
                hint = Message(hint, na_note)
            else:
                problem = Message(problem, na_note)
            raise self._cell_error(is_no_number, column, problem, ColumnError, hint=hint, option=option)
        return numbers

    def covariate(self, column: str) -> pd.Series:
        """Return a column as numbers where every cell is one, else as text with NA strings as missing.

        A column with a cell such as "007" is text, as a number would lose the zeros. A column of whole
        numbers is text if one is beyond 2^53, where a float would lose its last digits (a warning names a
        number that a workbook has rounded already). Dates are text (ISO 8601), and so is a number too large
        for a float. Numbers with decimal commas are an error that names the option. Text among numbers gives
        a warning, and so does a whole number beyond 2^53 among fractions, which loses digits.
        """
        cells = plain_text(self.cells[column])
        numbers, missing, is_no_number = parse_numbers(cells, self.options)
        if is_numeric_or_bool(cells):
            inexact = np.flatnonzero(np.abs(numbers.to_numpy()) >= EXACT_FLOAT_LIMIT)
            if not inexact.size:
                return numbers
            if pd.api.types.is_integer_dtype(cells):
                return covariate_as_text(cells).mask(missing)
            first = int(inexact[0])
            are_whole = bool((numbers.dropna() % 1 == 0).all())
            if abs(numbers.iloc[first]) < _MEASUREMENT_LIMIT and are_whole:
                warn(
                    f"{self.location(first, column)}: {cells.iloc[first]} is rounded, as whole numbers "
                    "beyond 2^53 are",
                    hint="if it is a name, store the column as text",
                    column=column,
                    rows=[first],
                    path=self.file,
                )
            return numbers
        is_no_number = is_no_number | _is_beyond_largest_float(cells, numbers)
        are_names = _digits_are_names(cells, numbers)
        if not is_no_number.any() and not are_names:
            self._warn_of_lost_digits(column, cells, numbers)
            return numbers
        text = covariate_as_text(cells).mask(missing)
        self._refuse_control_characters(column, text)
        if not is_no_number.any():
            return text
        if self.options.decimal == "." and all_have_decimal_commas(cells[is_no_number]):
            hint, option = _decimal_comma_hint_and_possible_option(cells[~is_no_number])
            raise self._cell_error(
                is_no_number, column, "has a decimal comma", ColumnError, hint=hint, option=option
            )
        n_present = int((~missing).sum())
        n_numbers = n_present - int(is_no_number.sum())
        if n_numbers >= _MIN_SHARE_OF_NUMBERS * n_present and not are_names:
            position = int(np.argmax(is_no_number))
            warn(
                f"{self.location(position, column)}: {str(cells.iloc[position])!r} is not a number, though "
                f"{n_numbers} of {n_present} cells are",
                hint=Message(
                    "the column is read as text (name cells that stand for missing with ", Setting("na"), ")"
                ),
                option="na",
                column=column,
                rows=[position],
                path=self.file,
            )
        warn_if_only_outer_blanks_differ(text, self.file)
        return text

    def _warn_of_lost_digits(self, column: str, cells: pd.Series, numbers: pd.Series) -> None:
        """Warn of the first whole number in a column of text that loses digits as a float."""
        values = numbers.to_numpy()
        magnitudes = np.abs(values)
        for position in np.flatnonzero(
            (magnitudes >= EXACT_FLOAT_LIMIT) & (magnitudes < _MEASUREMENT_LIMIT)
        ).tolist():
            text = str(cells.iloc[position]).strip()
            # a text such as 7.221648081421175e+17 was a float before
            if text.lstrip("+-").isdigit() and int(text) != int(values[position]):
                warn(
                    f"{self.location(position, column)}: {text} is read as {values[position]:.0f}, as a "
                    "float holds no more digits",
                    hint="write fewer digits, or a letter before them if it is a name",
                    value=values[position],
                    column=column,
                    rows=[position],
                    path=self.file,
                )
                return

    def _refuse_control_characters(self, column: str, text: pd.Series) -> None:
        """Raise where a cell holds a control character, which is an error in text files as well."""
        import pyarrow as pa
        from pyarrow import compute

        distinct = compute.unique(pa.array(text))
        for cell in distinct.filter(compute.match_substring_regex(distinct, _MAYBE_CONTROL)).to_pylist():
            control = CONTROL_CHARACTER.search(cell) or _LONE_RETURN.search(cell)
            if control:
                reason = f"holds the control character U+{ord(control.group()):04X}"
                is_bad = text.eq(cell).to_numpy()
                raise self._cell_error(is_bad, column, reason, ColumnError, hint="remove it in the file")

    def typed_frame(self, text_columns: Sequence[str] = (), *, coded: bool = False) -> pd.DataFrame:
        """Return identifiers and text columns as text, scores as finite numbers, others as covariates.

        With `coded`, identifiers and text columns are Arrow dictionaries.
        """
        typed_columns = {}
        for column in self.cells.columns:
            is_name = column in IDENTIFIER_COLUMNS or column in text_columns
            if is_name and coded:
                typed_columns[column] = self.coded_text(column)
            elif is_name:
                text = self.text_with_missing_as_empty(column)
                # an empty reader or seed does not apply; later checks find other identifiers that are empty
                typed_columns[column] = text.where(text.ne(""))
            elif column == "score" and "case" in self.cells.columns:
                typed_columns[column] = self.scores(column)
            else:
                typed_columns[column] = self.covariate(column)
        return pd.DataFrame(typed_columns, index=self.cells.index)

    def first_text_column(self, excluded: Collection[str] = ()) -> str | None:
        """Return the first column of text; numbers with decimal commas are not text."""
        for name in self.columns:
            if name in excluded:
                continue
            _, _, is_no_number = parse_numbers(self.cells[name], self.options)
            if is_no_number.any() and not all_have_decimal_commas(self.cells[name][is_no_number]):
                return name
        return None


def _decimal_comma_hint_and_possible_option(other_cells_of_column: pd.Series) -> tuple[Message, str | None]:
    """Return the hint about a cell with a decimal comma, and the name of the option for it.

    Where another cell of the column has a decimal point, or is a number in a workbook, the comma is a mistake
    in the file, and there is no option.
    """
    have_points = other_cells_of_column.astype(TEXT).str.contains(".", regex=False).fillna(False)
    are_numbers = other_cells_of_column.map(lambda cell: isinstance(cell, int | float) and not pd.isna(cell))
    if have_points.any() or are_numbers.any():
        return Message("write it with a decimal point, as other cells of the column are"), None
    return Message("read the file with ", Setting("decimal", ",")), "decimal"


def _integers_as_text_with_missing_as_empty(cells: pd.Series) -> pd.Series:
    """Return whole numbers as text, "" where a cell is missing."""
    import pyarrow as pa

    text = pa.array(cells).cast(pa.large_string()).fill_null("")
    return pd.Series(pd.array(text, dtype=TEXT), index=cells.index, name=cells.name)


def _digits_are_names(cells: pd.Series, numbers: pd.Series) -> bool:
    """Return whether numbers are names: one has leading zeros, or all are whole and one is beyond 2^53."""
    import pyarrow as pa
    from pyarrow import compute

    values = numbers.to_numpy()
    is_whole = np.isfinite(values) & (np.floor(values) == values)
    if not is_whole.any():
        return False
    whole_cells = cells if is_whole.all() else cells[is_whole]
    text = pa.array(whole_cells.astype(TEXT))
    has_leading_zero = compute.match_substring_regex(
        compute.utf8_trim_whitespace(text), _DIGITS_WITH_LEADING_ZERO
    )
    if compute.any(has_leading_zero).as_py():
        return True
    magnitudes = np.abs(values)
    is_inexact = (magnitudes >= EXACT_FLOAT_LIMIT) & (magnitudes < _MEASUREMENT_LIMIT)
    are_all_whole = is_whole[~np.isnan(values)].all()
    return bool(is_inexact.any() and are_all_whole)


def _is_beyond_largest_float(cells: pd.Series, numbers: pd.Series) -> np.ndarray:
    """Return True for each cell of digits whose number is too large for a float."""
    is_infinite = np.isinf(numbers.to_numpy())
    is_too_large = is_infinite.copy()
    # the word "inf" has no digits
    if is_infinite.any():
        is_too_large[is_infinite] = cells[is_infinite].astype(TEXT).str.contains(r"\d").to_numpy()
    return is_too_large


def _distinct_texts_to_check_for_odd_characters(texts: pd.Index | pd.Series) -> list[str]:
    """Return the distinct texts that need a check, see `_DOUBTFUL_NAME`."""
    import pyarrow as pa
    from pyarrow import compute

    # a quick look at all bytes, after which most columns need no check of each name
    content = concatenated_bytes_of_texts(texts)
    if not ((content <= _BLANK) | (content > _LAST_PRINTABLE) | (content == _PLUS)).any():
        return []
    distinct = compute.unique(pa.array(texts))
    return distinct.filter(compute.match_substring_regex(distinct, _DOUBTFUL_NAME)).to_pylist()


def _identifier_cell_problem_or_none(cell_text: str | None) -> str | None:
    """Return why a cell is not a name, as text; None where it is one."""
    if cell_text is None:
        return "is a date or time, or a number too large to be exact, not a name; store the column as text"
    if _ROUNDED_NUMBER.fullmatch(cell_text):
        return "is a number rounded by a spreadsheet; write all its digits in the file"
    problem = invisibility_text(cell_text)
    if problem:
        return f"{problem}; remove it in the file"
    return None


def read_table(
    path: PathLike, options: TableOptions | None = None, *, may_be_empty: bool = False
) -> FileTable:
    """Read a CSV, TSV, Parquet or XLSX file, by its ending, with every cell as the file has it.

    A file that is not such a table raises InputFileError with file and row; so does a header without a data
    row, unless `may_be_empty`.
    """
    table = read_table_with_arrow_text(path, options, may_be_empty=may_be_empty)
    make_arrow_dictionary_text_plain(table.cells)
    return table


def read_table_with_arrow_text(
    path: PathLike, options: TableOptions | None = None, *, may_be_empty: bool = False
) -> FileTable:
    """Read a file as `read_table` does, but leave text as Arrow dictionaries where its reader makes them."""
    import pyarrow as pa

    options = options or TableOptions()
    file = Path(path)
    check_is_regular_file_unless_missing(file)
    suffix = file.suffix.lower()
    if suffix not in TABLE_SUFFIXES and file.exists():
        raise InputFileError(
            f"{file}: cannot tell what {suffix or 'a file without an ending'} is",
            hint=f"name it {', '.join(TABLE_SUFFIXES)}",
            path=file,
        )
    with opened(file, any_size=True) as stream:
        # the reader of a format checks how much memory the cells take, which is more than the file
        size = os.fstat(stream.fileno()).st_size
        check_size(size, f"{file}: its content", file_bytes=size)
        # a NumPy array uses large pages of memory, and so is filled several times as fast as bytes
        data = np.fromfile(stream, dtype=np.uint8).data
    for signature in _SIGNATURES:
        first_bytes = data[: len(signature.first_bytes)]
        if first_bytes == signature.first_bytes and suffix != signature.suffix:
            raise InputFileError(
                f"{file} is not what its ending says but {signature.format}",
                hint=signature.remedy,
                value=suffix,
                path=file,
            )
    if suffix == ".parquet":
        table = FileTable(file, read_parquet(file, data), 1, options)
    elif suffix == ".xlsx":
        table = FileTable(file, read_xlsx_sheet_with_typed_columns(file, bytes(data), options), 2, options)
    else:
        default_separator = "\t" if suffix == ".tsv" else ","
        cells, first_row_number = read_text(file, data, options, options.sep or default_separator)
        frame = frame_with_sorted_dictionaries(cells)
        # free the file's content and cells, which take more memory than the frame
        del data, cells
        pa.default_memory_pool().release_unused()
        table = FileTable(file, frame, first_row_number, options)
    if table.cells.empty and not may_be_empty:
        raise InputFileError(f"{file} has a header but no data rows", path=file)
    return table.with_cells(without_row_numbers(file, table.cells))


def read_fixed_columns_table(
    file: Path, error_class: type[SalstatsError] = InputFileError, *, may_be_empty: bool = False
) -> FileTable:
    """Read a table of a fixed format; `error_class` is the class of errors about its columns and cells."""
    return replace(
        read_table(file, TableOptions(is_fixed_format=True), may_be_empty=may_be_empty),
        error_class=error_class,
    )
