"""The case and the patient of a row, where the file has no column for them."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, quoted
from salstats.frames import IDENTIFIER_COLUMNS
from salstats.readers.cells import first_text_column, identifier_text
from salstats.readers.tables import TableOptions, check_mapping


def check_case_columns(case: str | Sequence[str] | None) -> list[str]:
    """Return the columns that together name a case; none where the file has a column `case`."""
    if case is None:
        return []
    parts = [case] if isinstance(case, str) else list(case)
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise SalstatsError(f"case={case!r} must name the columns that together name a case")
    if len(set(parts)) < len(parts):
        raise SalstatsError(f"case= names a column twice: {quoted(parts)}")
    return parts


def check_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """Return the regular expression of `patient_from=`, which must have one group."""
    if pattern is None:
        return None
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise SalstatsError(f"patient_from={pattern!r} is no regular expression ({error})") from error
    if compiled.groups != 1:
        raise SalstatsError(
            f"patient_from={pattern!r} has {compiled.groups or 'no'} groups; it needs one, in parentheses, "
            r"around the patient, as in '(patient\d+)' ('(?:...)' is no group)"
        )
    return compiled


def combine_case(raw: pd.DataFrame, parts: Sequence[str], file: object, first_row: int) -> pd.DataFrame:
    """Return a table with a column `case`, such as "1_2", before the columns that make it."""
    if not parts:
        return raw
    check_mapping(parts, raw, file, "case")
    if "case" in raw.columns and "case" not in parts:
        raise ColumnError(f"{file} has a column 'case' already; leave case= out or rename that column")
    texts = pd.DataFrame({part: identifier_text(raw[part], file, first_row) for part in parts})
    for part in parts:
        empty = texts[part].eq("").to_numpy()
        if empty.any():
            row = int(np.flatnonzero(empty)[0]) + first_row
            raise ColumnError(f"{file}, row {row}, column {part!r}: empty; every row needs one")
    case = texts[parts[0]]
    for part in parts[1:]:
        case = case + "_" + texts[part]
    distinct = texts.drop_duplicates()
    names = case.loc[distinct.index]
    alike = names[names.duplicated()]
    if len(alike):
        name = alike.iloc[0]
        first, second = distinct[names.eq(name)].iloc[:2].to_numpy().tolist()
        raise ColumnError(
            f"{file}: case {name!r} would stand for both {quoted(first)} and {quoted(second)} "
            f"of columns {quoted(parts)}; rename the values that hold '_'"
        )
    combined = raw.drop(columns="case", errors="ignore")
    first = next(position for position, name in enumerate(raw.columns) if name in parts)
    combined.insert(first, "case", case)
    return combined


def add_patient(
    raw: pd.DataFrame, pattern: re.Pattern[str] | None, file: object, first_row: int
) -> pd.DataFrame:
    """Return a table with a column `patient` after `case`, taken from the case id."""
    if pattern is None:
        return raw
    shown = f"patient_from={pattern.pattern!r}"
    if "patient" in raw.columns:
        raise ColumnError(f"{file} has a column 'patient' already; leave {shown} out or rename that column")
    case = identifier_text(raw["case"], file, first_row)
    patients: dict[str, str] = {}
    for name in pd.unique(case):
        found = pattern.search(name)
        if found is None or not found.group(1):
            row = int(np.flatnonzero(case.eq(name).to_numpy())[0]) + first_row
            if not name:
                raise ColumnError(f"{file}, row {row}, column 'case': empty; every row needs one")
            raise ColumnError(f"{file}, row {row}: {shown} finds no patient in case {name!r}")
        patients[name] = found.group(1)
    added = raw.copy(deep=False)
    added.insert(int(raw.columns.get_loc("case")) + 1, "patient", case.map(patients).astype("str"))
    return added


def lacks_case(
    raw: pd.DataFrame, file: object, options: TableOptions, tasks: Sequence[str] = (), joined: bool = False
) -> ColumnError:
    """Return the error of a table without `case`, with the column that may be it: the first of text."""
    guess = first_text_column(raw, options, leave={*IDENTIFIER_COLUMNS, *tasks}) or "..."
    reaches = " (it reaches joined files too)" if joined else ""
    return ColumnError(
        f"{file} has no column 'case' (columns: {quoted(raw.columns)}); "
        f"rename={{{guess!r}: 'case'}} says which column it is{reaches}"
    )
