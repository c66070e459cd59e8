"""Which rows belong together: those of a patient, under whatever name, or else those of a case."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, check_columns, warn
from salstats.frames import ColumnCodes, case_key

#: What `unit=` takes: a column, or several that name a unit together.
Unit = str | Sequence[str] | None
_NUMBER = r"[ _.-]?(id|ids|no|nr|num|number|uid|key|name|code|hash)?"
#: What people call the column that we call `patient`.
_PATIENT = re.compile(rf"(patient|subject|participant|person|subj|pat|pt|mrn){_NUMBER}", re.IGNORECASE)
#: Examinations of a patient, of which a case is one image; where each is small, as a data set is not.
_EXAMINATION = re.compile(rf"(study|exam|examination|accession|visit|session){_NUMBER}", re.IGNORECASE)
#: A case's name that begins with its patient's, as in patient10001_study1_view2 and sub-01_ses-02.
_IN_CASE = r"^((?:patient|subject|participant|person|subj|sub|pat|pt)[-_ ]?\d+)[-_./ ].+$"
#: Cases of an examination at most; a column of more is of another kind.
_LARGEST_EXAMINATION = 20


@dataclass(frozen=True)
class Units:
    """What is resampled."""

    #: The column that names the units; several with a comma.
    name: str
    #: (n_rows,): Position of each row's unit among the distinct units in sorted order, from 0.
    codes: np.ndarray
    #: Number of distinct units.
    n: int


def resolve_unit(codes: ColumnCodes, unit: Unit, name: str = "scores") -> Units:
    """Units of a frame: what several cases belong to, else `case`; or those asked for.

    Cases belong together where they share a value of `patient`, or else of a column that is called as
    patients, or their examinations, are called elsewhere, or where their names begin with a patient's; of
    any but `patient` a warning says which it is. Choosing cases although patients have several warns with
    their number. Where there is a column `dataset`, the same id in two data sets is two units.

    Raises
    ------
    ColumnError
        There is no such column, an empty cell in it, or no column that could serve.
    """
    frame = codes.frame
    asked = [unit] if isinstance(unit, str) else None if unit is None else list(unit)
    if asked is not None and (not asked or not all(isinstance(c, str) for c in asked)):
        raise ColumnError(f"unit={unit!r} must name a column, or several that name a unit together")
    found = _grouped_cases(codes)
    if asked is None:
        if found is not None:
            if found.source:
                _say_source(codes, found)
            return found.units
        if "case" not in frame.columns:
            raise ColumnError(f"{name} has no column 'case' or 'patient'; name the unit with unit=")
        asked = ["case"]
    check_columns(frame, asked, name)
    for column in asked:
        if codes.column(column).missing:
            row = int(np.flatnonzero(frame[column].isna().to_numpy())[0])
            raise ColumnError(f"column {column!r} of {name} is empty in row {row}; every row needs its unit")
    if asked == ["case"] and found is not None and not found.source:
        warn(
            f"unit='case' treats cases as independent, but {found.n_several} {found.units.name}s have "
            f"several; unit={found.units.name!r} keeps those of one together"
        )
    return _units_of(codes, asked)


def find_units(codes: ColumnCodes, unit: Unit) -> Units | None:
    """Units of a table; None where nothing says what its rows are of."""
    table = codes.frame
    if unit is not None or "case" in table.columns:
        return resolve_unit(codes, unit, "data")
    found = _grouped_rows(codes)
    if found is not None and found.source:
        _say_source(codes, found)
    return None if found is None else found.units


def unit_columns(frame: pd.DataFrame, unit: Unit) -> list[str]:
    """Columns that units may be told by, which a table made of a frame has to carry along."""
    asked = [unit] if isinstance(unit, str) else list(unit or ())
    called = [c for c in map(str, frame.columns) if _PATIENT.fullmatch(c) or _EXAMINATION.fullmatch(c)]
    return [c for c in dict.fromkeys([*asked, *called]) if c in frame.columns]


@dataclass(frozen=True)
class _Found:
    """Units that nobody asked for: how many hold several cases, and where they were found ("": `patient`)."""

    units: Units
    n_several: int
    source: str


def _units_of(codes: ColumnCodes, columns: list[str]) -> Units:
    """Units named by columns.

    Ids of cases and patients may be used again in another data set; a reader or a site is the same there.
    """
    own = columns == ["case"] or any(_PATIENT.fullmatch(c) or _EXAMINATION.fullmatch(c) for c in columns)
    apart = ["dataset"] if own and "dataset" in codes.frame.columns and "dataset" not in columns else []
    used = [*apart, *columns]
    if any(isinstance(codes.frame[c].dtype, pd.CategoricalDtype) for c in used):
        # draws count units in sorted order, whatever order the categories have
        codes = ColumnCodes(codes.frame[used].astype("object"))
    places = codes.combined(used)
    return Units(", ".join(columns), places, int(places.max()) + 1)


def _candidates(codes: ColumnCodes) -> list[str]:
    """Columns that may name patients, the surest first."""
    names = [str(c) for c in codes.frame.columns]
    called = [c for c in names if _PATIENT.fullmatch(c)] + [c for c in names if _EXAMINATION.fullmatch(c)]
    ordered = sorted(dict.fromkeys(called), key=lambda c: c != "patient")
    # with `patient` there nothing else is asked
    ordered = ["patient"] if "patient" in names else ordered
    return [c for c in ordered if not codes.frame[c].isna().all()]


def _grouped_cases(codes: ColumnCodes) -> _Found | None:
    """What several cases belong to; None where each stands alone, or nothing says otherwise."""
    frame = codes.frame
    if "case" not in frame.columns:
        return _grouped_rows(codes)
    cases = codes.combined(case_key(frame))
    first = np.unique(cases, return_index=True)[1]
    for column in _candidates(codes):
        if column != "patient" and frame[column].isna().any():
            continue
        units = _units_of(codes, [column])
        sizes = np.bincount(units.codes[first])
        # a case of two of them is not theirs; that of two patients is refused elsewhere
        if column != "patient" and (units.codes != units.codes[first][cases]).any():
            continue
        if _EXAMINATION.fullmatch(column) and sizes.max() > _LARGEST_EXAMINATION:
            continue
        if (sizes > 1).any():
            source = "" if column == "patient" else f"column {column!r}"
            return _Found(units, int((sizes > 1).sum()), source)
    return None if "patient" in frame.columns else _in_case_names(codes, first)


def _in_case_names(codes: ColumnCodes, first: np.ndarray) -> _Found | None:
    """Patients that the names of all cases begin with."""
    names = codes.frame["case"].astype("str")
    found = names.iloc[first].str.extract(_IN_CASE, flags=re.IGNORECASE)[0]
    if found.isna().any() or not found.duplicated().any():
        return None
    every = names.str.extract(_IN_CASE, flags=re.IGNORECASE)[0]
    own = ColumnCodes(codes.frame.filter(["dataset"]).assign(patient=every.str.lower().to_numpy()))
    units = _units_of(own, ["patient"])
    sizes = np.bincount(units.codes[first])
    example = f"{found.iloc[0]!r} of {names.iloc[first[0]]!r}"
    return _Found(units, int((sizes > 1).sum()), f"the names of the cases ({example})")


def _grouped_rows(codes: ColumnCodes) -> _Found | None:
    """Patients of a table without cases."""
    for column in _candidates(codes):
        if not _PATIENT.fullmatch(column) or codes.frame[column].isna().any():
            continue
        units = _units_of(codes, [column])
        n_several = int((np.bincount(units.codes) > 1).sum())
        if n_several or column == "patient":
            return _Found(units, n_several, "" if column == "patient" else f"column {column!r}")
    return None


def _say_source(codes: ColumnCodes, found: _Found) -> None:
    """Warn which unit was taken, and how to take another."""
    frame, units = codes.frame, found.units
    rows = "cases" if "case" in frame.columns else "rows"
    n = int(codes.combined(case_key(frame)).max()) + 1 if "case" in frame.columns else len(frame)
    warn(
        f"units are told by {found.source}: {units.n} units of {n} {rows}, {found.n_several} with several; "
        + ("unit='case' takes cases for independent" if rows == "cases" else "unit= names another")
    )
