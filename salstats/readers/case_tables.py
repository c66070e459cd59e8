"""Tables whose format is known, so that no message may name an option to read them otherwise."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, InputFileError, quoted
from salstats.readers.cells import identifier_text
from salstats.readers.table_options import TableOptions
from salstats.readers.tables import number_column, read_table
from salstats.readers.text import read_text

#: Advice to use an option of `read_scores`, at the end of a message.
_ADVICE = re.compile(r"; (?:read it with sep=|read the file with |use |is it UTF-16 \(|is )(?:encoding=)?.*$")


def read_plain(file: Path, *, may_be_empty: bool = False) -> pd.DataFrame:
    """Return a table as `read_table` does; a CSV that `may_be_empty` has a header at least."""
    try:
        return read_text(file, TableOptions(), ",") if may_be_empty else read_table(file)
    except InputFileError as error:
        raise InputFileError(_ADVICE.sub("; save it as CSV with commas, in UTF-8", str(error))) from error


def read_case_table(file: Path, columns: Sequence[str], wanted: str) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with a row per case, and the cases.

    Raises ColumnError where a column is missing (`wanted` says what the table has) and where a case is
    empty or stands twice.
    """
    table = read_plain(file)
    for column in ("case", *columns):
        if column not in table.columns:
            raise ColumnError(f"{file} has no column {column!r} (columns: {quoted(table.columns)}); {wanted}")
    first_row = int(table.attrs["first_row"])
    cases = identifier_text(table["case"], file, first_row)
    for bad, what in ((cases.eq(""), "is empty"), (cases.duplicated(), "stands twice")):
        if bad.any():
            row = int(np.flatnonzero(bad.to_numpy())[0])
            raise ColumnError(f"{file}, row {row + first_row}: case {cases.iloc[row]!r} {what}")
    return table, [str(case) for case in cases]


def numbers_of(
    table: pd.DataFrame, column: str, file: Path, wrong: Callable[[np.ndarray], np.ndarray], said: str
) -> np.ndarray:
    """Return a column as float64; raise ColumnError for a cell that is no number, or a wrong one."""
    found, at = number_column(table[column], TableOptions())
    values = found.to_numpy(dtype=np.float64, na_value=np.nan)
    if at is None and wrong(values).any():
        at = int(np.flatnonzero(wrong(values))[0])
    if at is not None:
        row = at + int(table.attrs["first_row"])
        raise ColumnError(f"{file}, row {row}, column {column!r}: {str(table[column].iloc[at])!r} {said}")
    return values
