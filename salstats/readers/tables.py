"""Tables of files, read strictly: every cell as it stands, and each column as what it is asked for."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import (
    LARGEST,
    ColumnError,
    InputFileError,
    SalstatsError,
    did_you_mean,
    hidden,
    quoted,
    warn,
)
from salstats.coded_text import (
    TEXT,
    coded_frame,
    coded_text,
    is_coded,
    make_text_plain,
    plain_text,
    values_of,
)
from salstats.files.inputs import opened
from salstats.files.paths import check_plain
from salstats.frames import IDENTIFIER_COLUMNS
from salstats.memory_limit import check_size
from salstats.readers.cells import (
    EXACT,
    PathLike,
    TableOptions,
    covariate_text,
    have_decimal_commas,
    is_number,
    name_of,
    parse_numbers,
    warn_of_blanks,
)
from salstats.readers.parquet import read_parquet
from salstats.readers.text import CONTROL, read_text
from salstats.readers.xlsx import read_xlsx
from salstats.score_checks import bytes_of_text

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx")
#: First bytes of files that are not what a name may say: bytes, the right ending, what it is.
_SIGNATURES = (
    (b"PK\x03\x04", ".xlsx", "a zip archive, such as an XLSX workbook; name it .xlsx if it is one"),
    (b"PAR1", ".parquet", "a Parquet file; name it .parquet"),
    (
        b"\xd0\xcf\x11\xe0",
        None,
        "an old Excel workbook (.xls) or one with a password; save it as .xlsx without",
    ),
    (b"\x1f\x8b", None, "compressed by gzip; unpack it"),
)
#: Identifiers of which no cell may be empty.
REQUIRED_TEXT = ("case", "method", "metric", "task")
#: Beyond this they are measurements: no name has so many digits.
_NO_NAME = 2.0**64
#: What a spreadsheet makes of a long number when it writes text.
_ROUNDED = re.compile(r"\d(?:\.\d+)?[eE]\+\d\d")
#: A name that has to be looked at: blanks around it, other than printable ASCII, a power of ten.
_DOUBTFUL = r"^\s|\s$|[^ -~]|[eE]\+\d\d$"
#: Bytes that tell whether there may be such a name.
_BLANK, _LAST_PRINTED, _PLUS = b" ~+"
#: Digits that are no number, as they begin with zeros.
_NAME = r"^0\d+$"
#: A return that ends no line, and all characters of which one may be a control.
_LONE_RETURN = re.compile(r"\r(?!\n)")
_MAYBE_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{feff}]"
#: From this share of numbers on, other cells of a column are more likely slips than names.
_MOSTLY = 0.5


@dataclass(frozen=True)
class Table:
    """The cells of a table file as they stand, under the names of its header."""

    file: Path
    #: Text, coded where `read_coded` reads it; numbers, too, in Parquet and XLSX. An empty cell is "" (text)
    #: or NaN. The index counts rows.
    cells: pd.DataFrame
    #: the file's number of the first data row: 2 below a header, 1 in Parquet
    first_row: int = 2
    options: TableOptions = field(default_factory=TableOptions)
    #: what is raised where a column or a cell is not what it should be
    error: type[SalstatsError] = ColumnError

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.cells)

    @property
    def columns(self) -> list[str]:
        """The names of the header."""
        return list(self.cells.columns)

    @property
    def rows(self) -> np.ndarray:
        """The file's number of each row."""
        return self.cells.index.to_numpy() + self.first_row

    def place(self, position: int, column: str | None = None) -> str:
        """What a row or a cell is called in messages."""
        named = "" if column is None else f", column {column!r}"
        return f"{self.file}, row {self.rows[position]}{named}"

    def with_cells(self, cells: pd.DataFrame) -> "Table":
        """The same file with other columns."""
        return replace(self, cells=cells)

    def renamed(self, rename: Mapping[str, str], elsewhere: Collection[str] = ()) -> "Table":
        """The table with columns renamed; `elsewhere` are columns that it may lack."""
        self.check_named(rename, "rename", elsewhere)
        cells = self.cells.rename(columns=dict(rename))
        twice = cells.columns[cells.columns.duplicated()]
        if len(twice):
            raise ColumnError(f"{self.file}: after rename, column {twice[0]!r} is there twice")
        return self.with_cells(cells)

    def check_named(self, names: Iterable[str], option: str, elsewhere: Collection[str] = ()) -> None:
        """Raise where an option names a column that the file lacks, unless it is one `elsewhere`."""
        for name in names:
            if name not in self.cells.columns and name not in elsewhere:
                raise InputFileError(
                    f"{self.file}: {option} names column {name!r}, which it lacks"
                    f"{did_you_mean(name, self.columns)} (columns: {quoted(self.columns)})"
                )

    def check_columns(self, columns: Iterable[str], wanted: str = "") -> None:
        """Raise where a column is missing; `wanted` says what the table has."""
        missing = [column for column in columns if column not in self.cells.columns]
        if missing:
            also = f", nor {quoted(missing[1:])}" if len(missing) > 1 else ""
            hint = f"; {wanted}" if wanted else ""
            raise self.error(
                f"{self.file} has no column {missing[0]!r}{also} (columns: {quoted(self.columns)}){hint}"
            )

    def text(self, column: str) -> pd.Series:
        """A column of names, cell by cell as it stands, "" where one is missing; 7.0 is "7".

        Raises ColumnError for a date (a spreadsheet turns an id such as 1-2 into one), for a number too large
        to be exact (or written like 1.2E+16, with its digits lost), for blanks and characters nobody sees.
        """
        cells = plain_text(self.cells[column])
        if pd.api.types.is_integer_dtype(cells):
            # digits are names as they stand
            return _digits(cells)
        if isinstance(cells.dtype, pd.StringDtype):
            names = cells.fillna("")
            doubtful = _doubtful_names(names)
        else:
            names = pd.Series([name_of(value) for value in cells], cells.index, object, column)
            doubtful = list(names.unique())
        self._check_names(column, names, doubtful)
        return names.astype("str")

    def coded(self, column: str) -> pd.Series:
        """A column of names, see `text`, coded, missing where one is empty."""
        cells = self.cells[column]
        if pd.api.types.is_integer_dtype(cells):
            return coded_text(_digits(cells))
        if not isinstance(cells.dtype, pd.StringDtype) and not is_coded(cells):
            cells = self.text(column)
        names = coded_text(cells)
        if _doubtful_names(values_of(names)):
            text = plain_text(names)
            self._check_names(column, text, _doubtful_names(text))
        return names

    def _check_names(self, column: str, names: pd.Series, doubtful: Iterable[str]) -> None:
        """Raise for the first cell of those names that are none."""
        for name in doubtful:
            if _no_name(name):
                same = [each == name for each in names]
                raise self._refusal(np.array(same), column, _no_name(name), ColumnError)

    def _refusal(
        self, bad: np.ndarray, column: str, said: str, error: type[SalstatsError] | None = None
    ) -> SalstatsError:
        """The error of the first bad cell of a column."""
        position = int(np.argmax(bad))
        cell = str(self.cells[column].iloc[position])
        return (error or self.error)(f"{self.place(position, column)}: {cell!r} {said}")

    def filled(self, column: str) -> list[str]:
        """A column of names, none of them empty."""
        names = self.text(column).to_list()
        if "" in names:
            raise self.error(f"{self.place(names.index(''), column)}: empty; every row needs one")
        return names

    def cases(self) -> list[str]:
        """The column `case`, no case of which is empty or stands twice."""
        names = self.text("case")
        for bad, what in ((names.eq(""), "is empty"), (names.duplicated(), "stands twice")):
            if bad.any():
                position = int(np.flatnonzero(bad.to_numpy())[0])
                raise self.error(f"{self.place(position)}: case {names.iloc[position]!r} {what}")
        return names.to_list()

    def numbers(
        self,
        column: str,
        wrong: Callable[[np.ndarray], np.ndarray] | None = None,
        said: str = "is not a number",
    ) -> np.ndarray:
        """A column as float64, NaN where it is empty; what is no number, or a wrong one, is an error."""
        numbers, _, odd = parse_numbers(self.cells[column], self.options)
        values = numbers.to_numpy(copy=True)
        bad = odd if wrong is None else odd | wrong(values)
        if bad.any():
            raise self._refusal(bad, column, said)
        return values

    def finite(self, columns: Sequence[str]) -> np.ndarray:
        """Columns of which every cell is a finite number, as (rows, columns)."""
        self.check_columns(columns)
        n = len(self)
        # all columns at once: a call for each takes longer than reading a small file
        cells = pd.concat([self.cells[column] for column in columns], ignore_index=True)
        numbers, _, odd = parse_numbers(cells, self.options)
        values = numbers.to_numpy()
        bad = np.flatnonzero(odd | ~np.isfinite(values))
        if bad.size:
            place = self.place(int(bad[0]) % n, columns[int(bad[0]) // n])
            raise self.error(f"{place}: {str(cells.iloc[bad[0]])!r} is no number")
        return np.ascontiguousarray(values.reshape(len(columns), n).T)

    def scores(self, column: str, hint: str = "") -> pd.Series:
        """A column of scores: finite, or NaN where undefined."""
        cells, options = plain_text(self.cells[column]), self.options
        numbers, _, odd = parse_numbers(cells, options)
        far = np.abs(numbers.to_numpy()) > LARGEST
        if far.any():
            said = f"is infinite or beyond {LARGEST:g}; an undefined score is an empty cell"
            raise self._refusal(far, column, said, ColumnError)
        if odd.any():
            if options.decimal == "." and have_decimal_commas(cells[odd].iloc[[0]]):
                hint = "; for decimal commas read it with decimal=','"
            elif options.decimal == "," and "." in str(cells[odd].iloc[0]):
                hint = "; with decimal=',' it may hold no point (nor thousands separators)"
            elif "%" in str(cells[odd].iloc[0]):
                hint = "; take the % signs out of the file and read it with scale=0.01"
            missing = ", ".join(map(repr, options.na))
            said = f"is not a number{hint} (missing is one of {missing}; na= says others)"
            raise self._refusal(odd, column, said, ColumnError)
        return numbers

    def covariate(self, column: str) -> pd.Series:
        """A column as numbers where every cell is one, else as text with NA strings as missing.

        A column with a cell such as "007" is text: a number would lose its zeros; so is one of whole numbers
        of which one is beyond 2^53 and would lose its last digits (a warning says where a workbook has lost
        them already). Dates are text (ISO 8601). Numbers with decimal commas are an error that names the
        option; text among numbers gives a warning, and so does a whole number beyond 2^53 that stands among
        fractions and loses digits. A number too large for a float is text.
        """
        cells = plain_text(self.cells[column])
        numbers, missing, odd = parse_numbers(cells, self.options)
        if is_number(cells):
            far = np.flatnonzero(np.abs(numbers.to_numpy()) >= EXACT)
            if pd.api.types.is_integer_dtype(cells):
                return covariate_text(cells).mask(missing) if far.size else numbers
            if far.size and abs(numbers.iloc[far[0]]) < _NO_NAME and (numbers.dropna() % 1 == 0).all():
                warn(
                    f"{self.place(far[0], column)}: {cells.iloc[far[0]]} is rounded, as whole numbers beyond "
                    "2^53 are; if it is a name, store the column as text"
                )
            return numbers
        odd = odd | _are_too_large(cells, numbers)
        is_name = _are_names(cells, numbers)
        if not odd.any() and not is_name:
            self._warn_of_lost_digits(column, cells, numbers)
            return numbers
        words = covariate_text(cells).mask(missing)
        self._check_characters(column, words)
        if not odd.any():
            return words
        if self.options.decimal == "." and have_decimal_commas(cells[odd]):
            said = "has a decimal comma; read the file with decimal=','"
            raise self._refusal(odd, column, said, ColumnError)
        n_present = int((~missing).sum())
        n_numbers = n_present - int(odd.sum())
        if n_numbers >= _MOSTLY * n_present and not is_name:
            said = f"is not a number, though {n_numbers} of {n_present} cells are; the column is read as text"
            warn(f"{self._refusal(odd, column, said)} (na= says what stands for missing)")
        warn_of_blanks(words, self.file)
        return words

    def _warn_of_lost_digits(self, column: str, cells: pd.Series, numbers: pd.Series) -> None:
        """Warn of a whole number of a text column that is read as another, as no float is so exact."""
        values = numbers.to_numpy()
        sizes = np.abs(values)
        for position in np.flatnonzero((sizes >= EXACT) & (sizes < _NO_NAME)).tolist():
            text = str(cells.iloc[position]).strip()
            # 7.221648081421175e+17 is how a float is written
            if text.lstrip("+-").isdigit() and int(text) != int(values[position]):
                warn(
                    f"{self.place(position, column)}: {text} is read as {values[position]:.0f}, as a float "
                    "holds no more digits; write fewer digits, or a letter before them if it is a name"
                )
                return

    def _check_characters(self, column: str, words: pd.Series) -> None:
        """Raise for a cell with a control character, which no text file may hold."""
        import pyarrow as pa
        from pyarrow import compute

        distinct = compute.unique(pa.array(words))
        for text in distinct.filter(compute.match_substring_regex(distinct, _MAYBE_CONTROL)).to_pylist():
            control = CONTROL.search(text) or _LONE_RETURN.search(text)
            if control:
                said = f"holds the control character U+{ord(control.group()):04X}; remove it in the file"
                raise self._refusal(words.eq(text).to_numpy(), column, said, ColumnError)

    def typed(self, names: Sequence[str] = (), *, coded: bool = False) -> pd.DataFrame:
        """Identifiers and `names` as text as it stands, scores as finite numbers, others as covariates.

        The text of identifiers and `names` is `coded` where that is asked for.
        """
        made = {}
        for column in self.cells.columns:
            is_name = column in IDENTIFIER_COLUMNS or column in names
            if is_name and coded:
                made[column] = self.coded(column)
            elif is_name:
                text = self.text(column)
                # an empty reader or seed is one that does not apply; the other keys are checked later
                made[column] = text if column in REQUIRED_TEXT else text.where(text.ne(""))
            elif column == "score" and "case" in self.cells.columns:
                made[column] = self.scores(column)
            else:
                made[column] = self.covariate(column)
        return pd.DataFrame(made, index=self.cells.index)

    def first_text_column(self, leave: Collection[str] = ()) -> str | None:
        """The first column that holds text, not numbers (also with decimal commas)."""
        for name in self.columns:
            if name not in leave:
                _, _, odd = parse_numbers(self.cells[name], self.options)
                if odd.any() and not have_decimal_commas(self.cells[name][odd]):
                    return name
        return None


def _digits(cells: pd.Series) -> pd.Series:
    """Return whole numbers as text, "" where a cell is missing."""
    import pyarrow as pa

    text = pa.array(cells).cast(pa.large_string()).fill_null("")
    return pd.Series(pd.array(text, dtype=TEXT), index=cells.index, name=cells.name)


def _are_names(cells: pd.Series, numbers: pd.Series) -> bool:
    """Whether digits are names: one has leading zeros, or all are whole and one is too long for a float."""
    import pyarrow as pa
    from pyarrow import compute

    values = numbers.to_numpy()
    whole = np.isfinite(values) & (np.floor(values) == values)
    if not whole.any():
        return False
    text = pa.array((cells if whole.all() else cells[whole]).astype("str"))
    if compute.any(compute.match_substring_regex(compute.utf8_trim_whitespace(text), _NAME)).as_py():
        return True
    sizes = np.abs(values)
    is_far = (sizes >= EXACT) & (sizes < _NO_NAME)
    return bool(is_far.any() and whole[~np.isnan(values)].all())


def _are_too_large(cells: pd.Series, numbers: pd.Series) -> np.ndarray:
    """Return which cells are digits that no float is large enough for."""
    too_large = np.isinf(numbers.to_numpy())
    if too_large.any():
        too_large[too_large] = cells[too_large].astype("str").str.contains(r"\d").to_numpy()
    return too_large


def _doubtful_names(names: pd.Series | pd.Index) -> list[str]:
    """Distinct names of a column of text that have more than plain characters, or look rounded."""
    import pyarrow as pa
    from pyarrow import compute

    # most columns are done here, without a look at each name
    content = bytes_of_text(names)
    if not ((content <= _BLANK) | (content > _LAST_PRINTED) | (content == _PLUS)).any():
        return []
    distinct = compute.unique(pa.array(names))
    return distinct.filter(compute.match_substring_regex(distinct, _DOUBTFUL)).to_pylist()


def _no_name(name: str | None) -> str:
    """Why a cell is no name; "" where it is one."""
    if name is None:
        return "is a date or time, or a number too large to be exact, not a name; store the column as text"
    if _ROUNDED.fullmatch(name):
        return "is a number rounded by a spreadsheet; write all its digits in the file"
    return f"{hidden(name)}; remove it in the file" if hidden(name) else ""


def read_table(path: PathLike, options: TableOptions | None = None, *, may_be_empty: bool = False) -> Table:
    """Read a CSV, TSV, Parquet or XLSX file, told by its ending, with every cell exactly as it stands.

    What is no such table is an InputFileError that names file and row; a header without a data row is one
    unless it `may_be_empty`.
    """
    table = read_coded(path, options, may_be_empty=may_be_empty)
    make_text_plain(table.cells)
    return table


def read_coded(path: PathLike, options: TableOptions | None = None, *, may_be_empty: bool = False) -> Table:
    """Read a file as `read_table` does, and leave text coded where its reader has codes."""
    import pyarrow as pa

    options = options or TableOptions()
    file = Path(path)
    check_plain(file)
    suffix = file.suffix.lower()
    if suffix not in TABLE_SUFFIXES and file.exists():
        raise InputFileError(
            f"{file}: cannot tell what {suffix or 'a file without an ending'} is; "
            f"name it {', '.join(TABLE_SUFFIXES)}"
        )
    with opened(file, in_parts=True) as stream:
        # the reader of a format checks how much memory the cells take, which is more than the file
        size = os.fstat(stream.fileno()).st_size
        check_size(size, f"{file}: its content", file_bytes=size)
        # an array of NumPy lies in large pages of memory, and so is filled several times as fast as bytes
        data = np.fromfile(stream, dtype=np.uint8).data
    for signature, right, what in _SIGNATURES:
        if data[: len(signature)] == signature and suffix != right:
            raise InputFileError(f"{file} is not what its ending says but {what}")
    if suffix == ".parquet":
        table = Table(file, read_parquet(file, data), 1, options)
    elif suffix == ".xlsx":
        table = Table(file, read_xlsx(file, bytes(data), options), 2, options)
    else:
        cells, first_row = read_text(file, data, options, options.sep or ("\t" if suffix == ".tsv" else ","))
        frame = coded_frame(cells)
        # the file and its cells take more memory than the frame, which alone is needed below
        del data, cells
        pa.default_memory_pool().release_unused()
        table = Table(file, frame, first_row, options)
    if table.cells.empty and not may_be_empty:
        raise InputFileError(f"{file} has a header but no data rows")
    return table


def read_known(
    file: Path, error: type[SalstatsError] = InputFileError, *, may_be_empty: bool = False
) -> Table:
    """Read a table of a known format; `error` is what a wrong column or cell of it raises."""
    return replace(read_table(file, TableOptions(known=True), may_be_empty=may_be_empty), error=error)
