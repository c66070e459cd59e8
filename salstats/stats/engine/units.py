"""Which rows belong together: those of a patient, under whatever name, or else those of a case."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, check_columns, warn
from salstats.frames import KEY_COLUMNS, ColumnCodes, case_key, first_rows, text_column
from salstats.stats.engine.patient_structure import begin_anew, column_of_groups, groups_in_names

#: What `unit=` takes: a column, or several that name a unit together.
Unit = str | Sequence[str] | None
_NUMBER = r"[ _.-]?(id|ids|no|nr|num|number|uid|key|name|code|hash)?"
#: What people call the column that we call `patient`.
_PERSON = "(patients?|subjects?|participant|person|subj|pat|pt|mrn|pid)"
_PATIENT = re.compile(rf"((anon\w*|deid\w*|dicom|id)[ _.-]?)?{_PERSON}{_NUMBER}", re.IGNORECASE)
#: Examinations of a patient, of which a case is one image; where each is small, as a data set is not.
_EXAMINATION = re.compile(rf"(id|study|exam|examination|accession|visit|session){_NUMBER}", re.IGNORECASE)
#: Where patients may be numbered anew.
_SITE = re.compile(
    rf"(site|hospital|center|centre|institut\w*|clinic|cohort|database|source|collection|country){_NUMBER}",
    re.IGNORECASE,
)
#: What stands where nobody knows whose a case is.
_UNKNOWN = frozenset(["", "unknown", "na", "n/a", "none", "nan", "null", "?", "-"])
#: A case's name that begins with its patient's, as in patient10001_study1_view2 and sub-01_ses-02, or in the
#: files of MIMIC-CXR (p10/p10000032/s50414267/...) and ChestX-ray14 (00000013_005.png).
_IN_CASE = re.compile(
    r"(?:.*[/\\])?((?:patient|subject|participant|person|subj|sub|pat|pt|p(?=\d+/s\d))[-_ ]?\d+|"
    r"000\d{5}(?=_\d{3}(?:\.\w+)?$))[-_./ ].+$",
    re.IGNORECASE,
)
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
    #: How many of them are cases of which nothing says whose they are.
    n_alone: int = 0


def resolve_unit(codes: ColumnCodes, unit: Unit, name: str = "scores") -> Units:
    """Units of a frame: what several cases belong to, else `case`; or those asked for.

    Cases belong together where they share a value of `patient`, or else of a column that is called as
    patients, or their examinations, are called elsewhere, or where their names begin with a patient's; of
    any but `patient` a warning says which it is. A case of which nothing says whose it is ("unknown", "NA")
    is a unit by itself, with a warning. Where cases only look like several patients' a warning says so, and
    how to take these for units. Choosing cases although patients have several warns with their number. Where
    there is a column `dataset`, the same id in two data sets is two units; of sites that share ids a warning
    says so.

    ColumnError where there is no such column, one asked for has an empty cell, or none could serve.
    """
    frame = codes.frame
    asked = [unit] if isinstance(unit, str) else None if unit is None else list(unit)
    if asked is not None and (not asked or not all(isinstance(c, str) for c in asked)):
        raise ColumnError(f"unit={unit!r} must name a column, or several that name a unit together")
    if asked is None or asked == ["case"]:
        key = case_key(frame) if "case" in frame.columns else []
        cases = codes.combined(key) if key else np.arange(len(frame))
        first = first_rows(cases)
        found = ((_units_of(codes, [column], cases), column) for column in _candidates(frame))
        grouping = [(units, column) for units, column in found if _groups(units, column, cases, first)][:1]
        if not grouping and key and "patient" not in _candidates(frame):
            people = _in_case_names(codes)
            named = None if people is None else _units_of(ColumnCodes(people), ["patient"], cases)
            grouping = [(named, "")] if named is not None and _groups(named, "", cases, first) else []
        if grouping:
            units, column = grouping[0]
            if asked is None:
                _say_source(frame, units, column, first)
                return units
            if column == "patient":
                several = int((np.bincount(units.codes[first]) > 1).sum())
                warn(
                    f"unit='case' treats cases as independent, but {several} patients have several; "
                    "unit='patient' keeps a patient's cases together"
                )
    if asked is None:
        asked = ["case"] if "case" in frame.columns else _candidates(frame)[:1]
        if not asked:
            raise ColumnError(f"{name} has no column 'case' or 'patient'; name the unit with unit=")
        if asked != ["case"]:
            return _units_of(codes, asked, cases)
        _propose_patients(frame, cases, first)
    check_columns(frame, asked, name)
    for column in asked:
        coded = codes.column(column)
        if not (coded.missing or coded.blank or _names_people(column)):
            continue
        lacking = _lacking(frame, column)
        if lacking.any():
            row = int(np.flatnonzero(lacking)[0])
            what = "empty"
            if not pd.isna(frame[column].iloc[row]) and frame[column].iloc[row] != "":
                what = f"{frame[column].iloc[row]!r}"
            raise ColumnError(f"column {column!r} of {name} is {what} in row {row}; every row needs its unit")
    return _units_of(codes, asked)


def says_units(frame: pd.DataFrame, unit: Unit = None) -> bool:
    """Whether anything says what the rows of a table are of."""
    return unit is not None or "case" in frame.columns or bool(_candidates(frame))


def unit_columns(frame: pd.DataFrame, unit: Unit) -> list[str]:
    """Columns that units may be told by, which a table made of a frame has to carry along."""
    asked = [unit] if isinstance(unit, str) else list(unit or ())
    called = [c for c in map(str, frame.columns) if _names_people(c)]
    if unit is None and "case" in frame.columns and not any(map(_PATIENT.fullmatch, called)):
        column = column_of_groups(frame, ColumnCodes(frame).combined(case_key(frame)))
        if column is not None:
            called.append(column.name)
    return [c for c in dict.fromkeys([*asked, *called]) if c in frame.columns]


def _units_of(codes: ColumnCodes, columns: list[str], cases: np.ndarray | None = None) -> Units:
    """Units named by columns; where a single one is empty, the `cases`.

    Ids of cases and patients may be used again in another data set; a reader or a site is the same there.
    """
    own = columns == ["case"] or any(map(_names_people, columns))
    apart = ["dataset"] if own and "dataset" in codes.frame.columns and "dataset" not in columns else []
    used = [*apart, *columns]
    if any(isinstance(codes.frame[c].dtype, pd.CategoricalDtype) for c in used):
        # draws count units in sorted order, whatever order the categories have
        codes = ColumnCodes(codes.frame[used].astype("object"))
    places, n_alone = codes.combined(used), 0
    if cases is not None:
        lacking = _lacking(codes.frame, columns[0])
        n_alone = len(np.unique(cases[lacking]))
        places = np.unique(np.where(lacking, len(places) + cases, places), return_inverse=True)[1]
    return Units(", ".join(columns), places, int(places.max()) + 1, n_alone)


def _candidates(frame: pd.DataFrame) -> list[str]:
    """Columns that may name patients, the surest first: `patient` alone where it is there."""
    names = [str(c) for c in frame.columns]
    if "patient" in names and not _lacking(frame, "patient").all():
        return ["patient"]
    called = [c for c in names if _PATIENT.fullmatch(c)]
    if "case" in names:
        called += [c for c in names if _EXAMINATION.fullmatch(c)]
    return [c for c in called if not _lacking(frame, c).all()]


def _lacking(frame: pd.DataFrame, column: str) -> np.ndarray:
    """Find the rows that have no value, or of a column of patients or examinations a word for none."""
    values = frame[column]
    lacking = values.isna() | values.eq("")
    if _names_people(column) and not pd.api.types.is_numeric_dtype(values):
        words = [v for v in values.unique() if isinstance(v, str) and v.strip().casefold() in _UNKNOWN]
        lacking |= values.isin(words)
    return lacking.to_numpy(dtype=bool, na_value=True)


def _names_people(column: str) -> bool:
    """Whether a column is called as patients, or their examinations, are."""
    return bool(_PATIENT.fullmatch(column) or _EXAMINATION.fullmatch(column))


def _groups(units: Units, column: str, cases: np.ndarray, first: np.ndarray) -> bool:
    """Whether several cases share a unit, and none has two; of two patients it is refused elsewhere."""
    if column != "patient" and (units.codes != units.codes[first][cases]).any():
        return False
    largest = int(np.bincount(units.codes[first]).max())
    return largest > 1 and not (_EXAMINATION.fullmatch(column) and largest > _LARGEST_EXAMINATION)


def _in_case_names(codes: ColumnCodes) -> pd.DataFrame | None:
    """Patients that the names of cases begin with, missing where they do not, beside the data set, if any."""
    # a case has many rows
    cases = codes.column("case")
    names = [found and found[1].lower() for found in map(_IN_CASE.match, map(str, cases.values.tolist()))]
    if not any(names):
        return None
    # the last code is that of rows without a case, if there are any
    patients = text_column([*names, None]).take(cases.codes)
    return codes.frame.filter(["dataset"]).assign(patient=patients)


def _say_source(frame: pd.DataFrame, units: Units, column: str, first: np.ndarray) -> None:
    """Warn which unit was taken, and how to take another."""
    codes = units.codes[first]
    several = np.bincount(codes)[codes] > 1
    if column != "patient" or units.n_alone:
        where = f"column {column!r}"
        if not column:
            where = f"the names of the cases, such as {frame['case'].iloc[first[several][0]]!r}"
        rows = "cases" if "case" in frame.columns else "rows"
        alone = f"; the {units.n_alone} {rows} without one are units of their own" if units.n_alone else ""
        other = "unit='case' takes cases for independent" if rows == "cases" else "unit= names another"
        n_several = len(np.unique(codes[several]))
        warn(
            f"units are told by {where}: {units.n} units of {len(first)} {rows}, {n_several} with several"
            f"{alone}; {other}"
        )
    for site in _sites(frame, column, codes, first):
        across = int((frame[site].iloc[first].groupby(codes).nunique() > 1).sum())
        if across:
            both = f"unit={[site, column]} (--unit {quote(f'{site},{column}')})"
            warn(
                f"{across} of {units.n} units told by {column!r} have cases of several {site!r}: where ids "
                f"begin anew in each, {both} tells them apart"
            )


def _sites(frame: pd.DataFrame, column: str, codes: np.ndarray, first: np.ndarray) -> list[str]:
    """List the columns in each of whose values patients may be numbered anew."""
    if not column:
        return []
    sites = []
    for name in map(str, frame.columns):
        if name in (*KEY_COLUMNS, "metric", "score", column):
            continue
        if _SITE.fullmatch(name) or begin_anew(frame[column].iloc[first], frame[name].iloc[first]):
            sites.append(name)
    return sites


def _propose_patients(frame: pd.DataFrame, cases: np.ndarray, first: np.ndarray) -> None:
    """Warn where cases, which are the units, look like those of fewer patients, with the option for these."""
    if any(_PATIENT.fullmatch(c) for c in _candidates(frame)):
        return
    independent = "unit='case' (--unit case) says that cases are independent"
    column = column_of_groups(frame, cases)
    if column is not None:
        warn(
            f"cases are the units, but {column.name!r} puts {column.n_grouped} of {column.n_cases} cases "
            f"into groups of a few, as patients do; unit={column.name!r} (--unit {quote(column.name)}) keeps "
            f"each of its {column.n_groups} groups together, {independent}"
        )
        return
    groups = groups_in_names(frame["case"].iloc[first].astype("str"))
    if groups is None:
        return
    extracted = f"scores['case'].astype('str').str.extract({groups.pattern!r}, expand=False)"
    warn(
        f"cases are the units, but the names of {groups.n_grouped} of {groups.n_cases} begin alike in groups "
        f"of a few, as {groups.example!r} with {groups.beginning!r}, as those of patients do; "
        f"scores['patient'] = {extracted} (--patient-from {quote(groups.pattern)}) keeps each of the "
        f"{groups.n_groups} groups together, {independent}"
    )
