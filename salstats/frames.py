"""Frames of scores and of estimates: their columns, their checks, their columns as codes."""

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import check_columns, check_frame, check_numeric, did_you_mean, quoted
from salstats.coded_text import TEXT, codes_and_values, is_arrow_text_dictionary
from salstats.errors import ColumnError, Message, Setting
from salstats.score_checks import (
    Names,
    RowName,
    check_names_for_invisible_characters_and_numbers,
    warn_of_column_ranges,
    warn_of_near_names,
    warn_of_ranges,
)

#: Columns that together identify an observation, as far as a frame has them.
KEY_COLUMNS = ("dataset", "case", "task", "method", "metric", "reader", "other_reader", "model", "seed")
#: Columns that are names, never numbers: "007" stays "007".
IDENTIFIER_COLUMNS = (*KEY_COLUMNS, "patient")
#: A scores frame has at least these.
SCORES_COLUMNS = ("case", "method", "metric", "score")
#: A whole number as a table writes it that holds it as a float.
_WHOLE_FLOAT = re.compile(r"(\d+)\.0+")
#: Default grouping columns; those that a frame lacks are left out.
DEFAULT_BY = ("metric", "method", "task")
#: Columns that an estimates frame may have after its grouping columns, in their order.
ESTIMATE_COLUMNS = (
    "term",
    "estimate",
    "std_error",
    "statistic",
    "df",
    "p_value",
    "p_adjusted",
    "conf_low",
    "conf_high",
    "conf_level",
    "interval",
    "unit",
    "inference_to",
    "weights",
    "n",
    "n_missing",
    "n_units",
    "n_shared",
    "n_undefined",
    "bias",
    "n_absent",
    "p_floor",
    "caution",
)
#: Columns of estimates by the names that R gives them, with dots: "conf.low" is `conf_low`.
_DOTTED_NAMES = {
    name.replace("_", "."): name
    for name in (*ESTIMATE_COLUMNS, "reference_level", "human_label")
    if "_" in name
}
#: Columns that a frame of `augment` has.
_AUGMENT_COLUMNS = {"formula", "fitted", "residual"}
#: Other names for the columns `patient` and `case`.
_ID_COLUMN_NAME = re.compile(
    r"(patient|subject|pat|case|image|img|study)[ _.-]?(id|no|nr|number|uid|name)?", re.IGNORECASE
)


def salstats_names_by_dotted_r_name(columns: Iterable[str]) -> dict[str, str]:
    """Return our names of the columns that are called as in R, with dots: `{"conf.low": "conf_low"}`.

    A column is left out if the table also has the name without dots; so are all without a column `estimate`.
    """
    present = set(columns)
    if "estimate" not in present:
        return {}
    return {
        dotted: name for dotted, name in _DOTTED_NAMES.items() if dotted in present and name not in present
    }


def seed_without_decimal_zero(text: str) -> str:
    """Return the name of a seed, "3" for "3.0": a table with empty cells holds whole numbers as floats.

    >>> [seed_without_decimal_zero(text) for text in ("3.0", "03", "3.5", "a")]
    ['3', '03', '3.5', 'a']
    """
    whole_number = _WHOLE_FLOAT.fullmatch(text)
    return text if whole_number is None else whole_number[1]


class CodedColumn(NamedTuple):
    """A column as integer codes of its sorted values, missing cells last."""

    codes: np.ndarray
    #: The values that are not missing, sorted; those of a Categorical also where no row has them.
    values: pd.Index
    n_codes: int
    #: True where a cell is missing.
    has_missing: bool
    #: True where a cell is an empty text.
    has_blank: bool


class ColumnCodes:
    """Integer codes of a frame's columns; each column is coded once."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        #: Columns coded so far.
        self._columns: dict[str, CodedColumn] = {}
        #: Names of the identifier columns, made on first use.
        self._names: list[Names] | None = None

    def column(self, name: str) -> CodedColumn:
        """Return a column as integer codes."""
        if name in self._columns:
            return self._columns[name]
        column = self.frame[name]
        codes: np.ndarray
        if is_arrow_text_dictionary(column) or isinstance(column.dtype, pd.StringDtype):
            codes_32, values = codes_and_values(column)
            codes = codes_32.astype(np.int64)
            # the empty text sorts before every other
            has_blank = len(values) > 0 and values[0] == "" and bool((codes == 0).any())
        elif isinstance(column.dtype, pd.CategoricalDtype):
            codes = column.cat.codes.to_numpy(dtype=np.int64)
            values = column.cat.categories
            has_blank = bool((values == "").any()) and bool((column == "").any())
        else:
            factor_codes, values = pd.factorize(column, sort=True)
            codes = np.asarray(factor_codes, dtype=np.int64)
            # the empty text sorts before every other
            has_blank = len(values) > 0 and isinstance(values[0], str) and values[0] == ""
        n_codes = len(values)
        has_missing = bool((codes < 0).any())
        if has_missing:
            # missing cells get a code of their own after the values
            codes = np.where(codes < 0, n_codes, codes)
            n_codes += 1
        # a column without rows counts as one code, so that products of numbers of codes are not 0
        n_codes = max(n_codes, 1)
        # `combined` may return this array itself, so nothing may write in it
        codes.flags.writeable = False
        self._columns[name] = CodedColumn(codes, pd.Index(values), n_codes, has_missing, has_blank)
        return self._columns[name]

    def identifier_names(self) -> list[Names]:
        """Return the names in every column of identifiers that the frame has."""
        if self._names is None:
            columns = [column for column in IDENTIFIER_COLUMNS if column in self.frame.columns]
            coded = [self.column(column) for column in columns]
            self._names = [
                Names(column, codes.values, codes.codes) for column, codes in zip(columns, coded, strict=True)
            ]
        return self._names

    def take(self, rows: np.ndarray, columns: Sequence[str] | None = None) -> "ColumnCodes":
        """Return the codes of some rows (and columns) without coding them again."""
        names = list(self.frame.columns if columns is None else columns)
        subset = ColumnCodes(self.frame[names].take(rows).reset_index(drop=True))
        for name in self._columns.keys() & set(names):
            column = self._columns[name]
            codes = column.codes[rows]
            codes.flags.writeable = False
            has_missing = column.has_missing and bool((codes == column.n_codes - 1).any())
            subset._columns[name] = column._replace(codes=codes, has_missing=has_missing)
        return subset

    def with_scores(self, scores: pd.Series) -> "ColumnCodes":
        """Return the codes of the same rows with other scores."""
        rescored = ColumnCodes(self.frame.assign(score=scores))
        rescored._columns = {name: column for name, column in self._columns.items() if name != "score"}
        return rescored

    def combined(self, columns: Sequence[str]) -> np.ndarray:
        """Return one dense integer code per row for columns combined, in sorted order; missing is a value.

        The codes may be those of a column, which are read-only: copy them before writing in them.
        """
        codes = np.zeros(len(self.frame), dtype=np.int64)
        n_codes = 1
        for column in columns:
            coded = self.column(column)
            # the codes so far are the leading digit of the new ones, those of the column the last
            if n_codes == 1:
                codes = coded.codes
            elif coded.n_codes > 1:
                codes = codes * coded.n_codes
                # in place, as the codes take much of the memory of a large study
                codes += coded.codes
            n_codes *= coded.n_codes
            # Codes that no row has are left out when there are far more codes than rows, to avoid overflow.
            if n_codes > 4 * len(self.frame):
                codes, n_codes = _dense_codes_and_number(codes, n_codes)
        dense_codes, _ = _dense_codes_and_number(codes, n_codes)
        return dense_codes


def combined_codes(frame: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """Return one dense integer code per row for a combination of columns; see `ColumnCodes.combined`."""
    return ColumnCodes(frame).combined(columns)


def distinct_codes(codes: np.ndarray, n_codes: int) -> np.ndarray:
    """Return the distinct values of codes from 0 to `n_codes` - 1, ascending."""
    is_used = _is_used_by_code_unless_too_many_codes(codes, n_codes)
    if is_used is None:
        return np.unique(codes)
    return np.flatnonzero(is_used)


def first_rows(codes: np.ndarray) -> np.ndarray:
    """Return the first row of each code that some row has, codes ascending; they are dense, or nearly."""
    first = np.full(int(codes.max(initial=-1)) + 1, -1, dtype=np.int64)
    # the last assignment wins, so that going backwards leaves the first row
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first[first >= 0]


def _is_used_by_code_unless_too_many_codes(codes: np.ndarray, n_codes: int) -> np.ndarray | None:
    """Return True for each code that a row has; None where sorting the rows is cheaper (very many codes)."""
    if n_codes > 50 * max(len(codes), 1):
        return None
    is_used = np.zeros(n_codes, dtype=bool)
    is_used[codes] = True
    return is_used


def _dense_codes_and_number(codes: np.ndarray, n_codes: int) -> tuple[np.ndarray, int]:
    """Return codes renumbered without gaps, in their order, and how many there are."""
    is_used = _is_used_by_code_unless_too_many_codes(codes, n_codes)
    if is_used is None:
        values, dense = np.unique(codes, return_inverse=True)
        return dense.astype(np.int64), len(values)
    if is_used.all():
        return codes, n_codes
    renumbered = np.cumsum(is_used) - 1
    return renumbered[codes], int(is_used.sum())


def check_scores(scores: object, frame_name: str = "scores") -> pd.DataFrame:
    """Return the scores, checked to be a valid scores frame.

    ColumnError where a column is missing, a key or patient cell is empty, `score` is not numeric or is
    infinite, an observation appears twice, a name begins or ends with a blank, or a case belongs to two
    patients; messages call it `frame_name`. A warning says which known metric has scores outside its range,
    and which names differ in capitals only or may be misspelt.
    """
    return coded_scores(scores, frame_name).frame


def coded_scores(scores: object, frame_name: str = "scores") -> ColumnCodes:
    """Return a frame that `check_scores` accepts with the codes of its columns; warn of doubtful scores."""
    coded = coded_scores_without_warnings(scores, frame_name)
    warn_of_doubtful_scores(coded, frame_name=frame_name)
    return coded


def coded_scores_without_warnings(scores: object, frame_name: str = "scores") -> ColumnCodes:
    """Return a frame as `coded_scores` does, without a warning: for scores that were derived from others."""
    frame = check_frame(scores, frame_name)
    for column in SCORES_COLUMNS:
        if column in frame.columns:
            continue
        remedy = f"rename the one that holds it, with {frame_name}.rename(columns={{'...': {column!r}}})"
        if column in ("method", "metric"):
            remedy += f", or set it for all rows with {frame_name}.assign({column}='...')"
        if did_you_mean(column, frame.columns):
            # `check_columns` then proposes the similar name.
            remedy = ""
        check_columns(frame, [column], frame_name, remedy)
    check_numeric(frame, "score", frame_name)
    keys = [c for c in KEY_COLUMNS if c in frame.columns]
    coded = ColumnCodes(frame)
    _check_names_of_identifiers(coded, frame_name)
    for column in ("case", "method", "metric", "task"):
        if column in frame.columns and (coded.column(column).has_missing or coded.column(column).has_blank):
            row = int(np.flatnonzero(frame[column].isna() | frame[column].eq(""))[0])
            raise ColumnError(
                f"column {column!r} of {frame_name} is empty in row {row}",
                hint="every row needs one",
                column=column,
                rows=[row],
            )
    _check_no_name_is_empty_text(coded, frame_name)
    codes = coded.combined(keys)
    if np.bincount(codes).max(initial=0) > 1:
        first, second = earlier_row_and_first_repeat(codes)
        observation = row_keys_text(frame, keys, first)
        raise ColumnError(
            f"rows {first} and {second} of {frame_name} are the same observation ({observation})",
            hint=hint_to_distinguish_repeated_rows(frame, keys, first, second),
            value=frame[list(keys)].iloc[first].dropna().to_dict(),
            rows=[first, second],
        )
    check_cases_have_one_patient(frame, frame_name, coded)
    return coded


def warn_of_doubtful_scores(
    coded: ColumnCodes, row_name: RowName | None = None, frame_name: str = "scores"
) -> None:
    """Warn of scores outside the range of a known metric, and of names that are nearly other names.

    A message names a row by `row_name`, or calls the frame `frame_name` and gives the row's keys.
    """
    frame = coded.frame
    keys = [c for c in KEY_COLUMNS if c in frame.columns]

    def row_of_frame(row: int) -> str:
        return f"row {row} of {frame_name} ({row_keys_text(frame, keys, row)})"

    row_name = row_name or row_of_frame
    _warn_of_names(coded, row_name, frame_name)
    metrics = coded.column("metric")
    scores = frame["score"].to_numpy(dtype=np.float64, na_value=np.nan)
    warn_of_ranges(scores, metrics.codes, metrics.values, row_name, frame_name)


def checked_table_codes(
    table: pd.DataFrame, range_checked_columns: Sequence[str], frame_name: str = "data"
) -> ColumnCodes:
    """Return the codes of a table that need not be a scores frame, with names and some ranges checked.

    A name with a blank around it is a ColumnError. A warning says which names are nearly others, and which
    of `range_checked_columns` has the name of a known metric and numbers outside the metric's range.
    """
    coded = ColumnCodes(table)
    _check_names_of_identifiers(coded, frame_name)
    _check_no_name_is_empty_text(coded, frame_name)
    if {"metric", "score"} <= set(table.columns):
        check_numeric(table, "score", frame_name)
        warn_of_doubtful_scores(coded, frame_name=frame_name)
    else:
        _warn_of_names(coded, lambda row: f"row {row} of {frame_name}", frame_name)
        # Scores in a frame of `augment` were checked by the fit, and may since have become differences.
        if not _AUGMENT_COLUMNS.issubset(table.columns):
            warn_of_column_ranges(table, range_checked_columns, frame_name)
    return coded


def _check_names_of_identifiers(coded: ColumnCodes, frame_name: str) -> None:
    """Raise ColumnError where a name in a column of identifiers is not what it looks like."""
    for names in coded.identifier_names():
        check_names_for_invisible_characters_and_numbers(names, frame_name)


def _check_no_name_is_empty_text(coded: ColumnCodes, frame_name: str) -> None:
    """Raise ColumnError where a name is an empty text, which counts as a name of its own, unlike NaN.

    Patients of empty text are unknown, as some other texts are (see `resampling_units`).
    """
    for column in KEY_COLUMNS:
        if column in coded.frame.columns and coded.column(column).has_blank:
            row = int(np.flatnonzero(coded.frame[column].eq(""))[0])
            raise ColumnError(
                f"column {column!r} of {frame_name} is an empty text in row {row}, which is not a missing "
                "name",
                hint=f"make it missing with {frame_name}.replace({{{column!r}: {{'': None}}}})",
                column=column,
                rows=[row],
            )


def _warn_of_names(coded: ColumnCodes, row_name: RowName, frame_name: str) -> None:
    """Warn of names in columns of identifiers that are nearly other names."""
    for names in coded.identifier_names():
        warn_of_near_names(names, row_name, frame_name)


def check_cases_have_one_patient(
    frame: pd.DataFrame, frame_name: str = "scores", codes: ColumnCodes | None = None
) -> None:
    """Raise ColumnError when a case belongs to two patients."""
    if "patient" not in frame.columns or "case" not in frame.columns:
        return
    codes = codes or ColumnCodes(frame)
    cases = codes.combined(dataset_and_case_columns(frame))
    patients = codes.column("patient")
    # in most frames the rows of a case follow each other and have one patient
    follows_same_case = cases[1:] == cases[:-1]
    follows_other_patient = patients.codes[1:] != patients.codes[:-1]
    is_sorted = not (cases[1:] < cases[:-1]).any()
    if is_sorted and not (follows_same_case & follows_other_patient).any():
        return
    # else each row is compared with the patient of the last row of its case
    patient_of_case = np.zeros(len(cases), dtype=np.int64)
    patient_of_case[cases] = patients.codes
    if np.array_equal(patient_of_case[cases], patients.codes):
        return
    # the first row of each pair of a case and a patient, and with it the number of patients of each case
    pairs = cases * patients.n_codes + patients.codes
    _, first_of_pair = np.unique(pairs, return_index=True)
    n_patients = np.bincount(cases[first_of_pair])
    if n_patients.max(initial=0) > 1:
        row = int(np.flatnonzero(cases == int(n_patients.argmax()))[0])
        raise ColumnError(
            f"case {str(frame['case'].iloc[row])!r} of {frame_name} belongs to {n_patients.max()} patients",
            hint=Message(
                "a case is one image of one patient (case ids reused across data sets need a column "
                "'dataset'; ",
                _two_column_case_hint("patient"),
                ")",
            ),
            column="patient",
            value=str(frame["case"].iloc[row]),
            rows=[row],
        )


def row_keys_text(frame: pd.DataFrame, keys: Iterable[str], row: int) -> str:
    """Write the keys of a row that are filled: "case 017, task Edema"."""
    return ", ".join(f"{c} {frame[c].iloc[row]}" for c in keys if pd.notna(frame[c].iloc[row]))


def hint_to_distinguish_repeated_rows(
    frame: pd.DataFrame, keys: Iterable[str], first: int, second: int
) -> Message:
    """Propose how to distinguish two rows that are the same observation by its keys."""
    for column in frame.columns:
        if column in keys or not _ID_COLUMN_NAME.fullmatch(str(column)):
            continue
        if not are_equal_cells(frame[column], first, second):
            first_value, second_value = frame[column].iloc[[first, second]]
            return Message(
                f"the first is of {column} {first_value}, the second of {second_value}: ",
                _two_column_case_hint(column),
            )
    if frame.iloc[first].equals(frame.iloc[second]):
        return Message("score and all else are equal, too: drop one")
    unused_keys = [key for key in ("task", "reader", "model", "seed", "dataset") if key not in keys]
    if not unused_keys:
        return Message("drop one")
    differing = _differing_category_columns(frame, first, second)
    if differing:
        return Message(
            f"they differ in {quoted(differing[:2])}: rename it to what it is, {' or '.join(unused_keys)}"
        )
    return Message(f"if they differ by {' or '.join(unused_keys)}, add that column")


def _differing_category_columns(frame: pd.DataFrame, first: int, second: int) -> list[str]:
    """List the columns, neither identifiers nor real numbers, in which two rows differ."""
    columns = []
    for column in frame.columns:
        if column in (*IDENTIFIER_COLUMNS, "score") or frame[column].dtype.kind in "fcb":
            continue
        if not are_equal_cells(frame[column], first, second):
            columns.append(column)
    return columns


def are_equal_cells(column: pd.Series, first: int, second: int) -> bool:
    """Return True if two cells of a column are equal, or both missing."""
    cells = column.reset_index(drop=True)
    return bool(cells.iloc[[first]].equals(cells.iloc[[second]].set_axis([first])))


def _two_column_case_hint(column: str) -> Message:
    """Propose to read cases that are named by another column and `case` together."""
    return Message(f"where case ids repeat over {column!r}, read with ", Setting("case", [column, "case"]))


def dataset_and_case_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that identify a case: `case`, with `dataset` where there is one."""
    return [c for c in ("dataset", "case") if c in frame.columns]


def earlier_row_and_first_repeat(codes: np.ndarray) -> tuple[int, int]:
    """Return two rows with one code: the first row that repeats an earlier one, after the earlier row."""
    is_repeat = pd.Series(codes).duplicated().to_numpy()
    second = int(np.flatnonzero(is_repeat)[0])
    first = int(np.flatnonzero(codes == codes[second])[0])
    return first, second


def estimates_frame(
    keys: pd.DataFrame,
    columns: Mapping[str, Any],
    extra_columns: Mapping[str, Any] | None = None,
    order: np.ndarray | None = None,
) -> pd.DataFrame:
    """Make an estimates frame: the columns `keys`, then `columns` in their order, then `extra_columns`.

    `keys` are grouping columns, `columns` some of ESTIMATE_COLUMNS, `extra_columns` any others. `order` holds
    positions of rows; by default it is that of `keys`.
    ColumnError if a grouping column has the name of another column of the result.
    """
    unknown = set(columns) - set(ESTIMATE_COLUMNS)
    assert not unknown, f"not columns of an estimates frame: {unknown}"
    ordered = {name: columns[name] for name in ESTIMATE_COLUMNS if name in columns}
    ordered |= dict(extra_columns or {})
    check_names_of_groups(keys.columns, ordered)
    grouping = {name: keys[name].array for name in keys.columns}
    frame = pd.DataFrame(grouping | ordered, index=pd.RangeIndex(len(keys)))
    if order is None or (order[1:] > order[:-1]).all():
        return frame
    return frame.take(order).reset_index(drop=True)


def check_names_of_groups(names: Iterable[Hashable], result_columns: Collection[str]) -> None:
    """Raise ColumnError if a grouping column has the name of another column of the result."""
    for name in names:
        if name in result_columns:
            raise ColumnError(
                f"column {name!r} cannot be a grouping column: the result has a column of that name",
                hint="rename it",
                column=str(name),
            )


def with_estimate_column_added(estimates: pd.DataFrame, name: str, values: Any) -> pd.DataFrame:
    """Return an estimates frame with one of ESTIMATE_COLUMNS added, in its place among them.

    Without a column that precedes it in ESTIMATE_COLUMNS it is the last.
    """
    preceding = ESTIMATE_COLUMNS[: ESTIMATE_COLUMNS.index(name)]
    position = len(estimates.columns)
    for i, column in enumerate(estimates.columns):
        if column in preceding:
            position = i + 1
    frame = estimates.copy()
    frame.insert(position, name, values)
    return frame


def text_column(values: Iterable[str | None]) -> pd.api.extensions.ExtensionArray:
    """Return names as a column of text, None as missing."""
    return pd.array(list(values), dtype=TEXT)


def integer_column(values: Iterable[int | None]) -> pd.api.extensions.ExtensionArray:
    """Return whole numbers as a column that may have missing ones."""
    return pd.array(list(values), dtype="Int64")


def as_booleans(column: pd.Series) -> pd.Series:
    """Return a column as True and False, which files may hold as 1 and 0 or as text."""
    return column.astype(str).str.lower().isin(["true", "1", "1.0"])
