"""Units that are resampled: the patients of a frame, whatever their column is named, or else its cases."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_columns
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, Message, Setting, warn
from salstats.frames import KEY_COLUMNS, ColumnCodes, dataset_and_case_columns, first_rows, text_column
from salstats.stats.engine.patient_structure import (
    find_patient_column,
    numbered_names,
    numbering_restarts,
    patient_groups_in_case_names,
)

#: Values of `unit=`: the name of a column, or several columns whose values together identify a unit.
Unit = str | Sequence[str] | None
_ID_SUFFIX = r"[ _.-]?(id|ids|no|nr|num|number|uid|key|name|code|hash)?"
#: Common names of the column that is named `patient` here.
_PERSON = "(patients?|subjects?|participant|person|subj|pat|pt|mrn|pid)"
_PATIENT_COLUMN_NAME = re.compile(
    rf"((anon\w*|deid\w*|dicom|id)[ _.-]?)?{_PERSON}{_ID_SUFFIX}", re.IGNORECASE
)
#: Names of columns of a patient's examinations, each with a few images. "id" and "study" may also name other
#: things, which have more images.
_EXAMINATION_COLUMN_NAME = re.compile(
    rf"(id|study|exam|examination|accession|visit|session){_ID_SUFFIX}", re.IGNORECASE
)
#: Names of columns of places that may each number their patients from 1.
_SITE_COLUMN_NAME = re.compile(
    rf"(site|hospital|center|centre|institut\w*|clinic|cohort|database|source|collection|country){_ID_SUFFIX}",
    re.IGNORECASE,
)
#: Words that stand for an unknown patient.
_UNKNOWN = frozenset(["", "unknown", "na", "n/a", "none", "nan", "null", "?", "-"])
#: A case's name that begins with its patient's, as in patient10001_study1_view2 and sub-01_ses-02, or in the
#: files of MIMIC-CXR (p10/p10000032/s50414267/...) and ChestX-ray14 (00000013_005.png).
_PATIENT_IN_CASE = re.compile(
    r"(?:.*[/\\])?((?:patient|subject|participant|person|subj|sub|pat|pt|p(?=\d+/s\d))[-_ ]?\d+|"
    r"000\d{5}(?=_\d{3}(?:\.\w+)?$))[-_./ ].+$",
    re.IGNORECASE,
)
#: Largest number of cases of an examination; the values of a column with more are not examinations.
_LARGEST_EXAMINATION = 20


@dataclass(frozen=True)
class Units:
    """Units of a frame, which are resampled: the unit of each row."""

    #: The column that names the units; of several columns all names, with commas.
    name: str
    #: (n_rows,): Position of each row's unit among the distinct units in sorted order, from 0.
    codes: NDArray[np.integer]
    #: Number of distinct units.
    n: int
    #: Number of units that are single cases because their patient is unknown.
    n_alone: int = 0


class _Grouping(NamedTuple):
    """Units that have several cases, and the column that names them; "" for the names of the cases."""

    units: Units
    column: str


def resolve_unit(
    codes: ColumnCodes, unit: Unit, frame_name: str = "scores", *, independent: bool = True
) -> Units:
    """Find the units of a frame: those of the columns `unit`, or by default patients or else cases.

    By default units are the values of `patient`. Without this column they are those of a column with another
    common name of patients or their examinations, or else the patients that the names of cases begin with:
    the first of these of which some value has several cases. A warning names the source, unless it is
    `patient`. A case with an unknown patient ("unknown", "NA") is a unit by itself, with a warning.

    If none of these gives a unit several cases, the units are the cases; if they look like those of fewer
    patients, a warning says how to group them. If `unit` is "case" although patients have several cases, a
    warning gives the number of these patients, unless units need not be independent (`independent=False`).
    If there is a column `dataset`, the same id in two data sets is two units; a warning names sites that
    share ids.

    ColumnError where a column of `unit` is missing or has an empty cell, or the frame has neither cases nor
    patients; `frame_name` is the frame's name in messages.
    """
    frame = codes.frame
    if unit is None:
        return _default_units(codes, frame_name)
    columns = []
    if isinstance(unit, str):
        columns = [unit]
    elif isinstance(unit, Iterable):
        columns = list(unit)
    if not columns or not all(isinstance(column, str) for column in columns):
        raise ColumnError(Setting("unit", unit), " must name a column, or several that name a unit together")
    if columns == ["case"] and independent:
        _warn_of_patients_with_several_cases(codes)
    check_columns(frame, columns, frame_name)
    for column in columns:
        _check_filled(codes, column, frame_name)
    return _units_of_columns(codes, columns)


def _default_units(codes: ColumnCodes, frame_name: str) -> Units:
    """Find patients, or else cases, as `resolve_unit` does without `unit`."""
    frame = codes.frame
    cases = _cases_of_rows(codes)
    first_rows_of_cases = first_rows(cases)
    grouping = _find_grouped_units(codes, cases, first_rows_of_cases)
    if grouping is not None:
        _warn_of_source_of_units(frame, grouping.units, grouping.column, first_rows_of_cases)
        _warn_of_ids_shared_by_sites(frame, grouping.units, grouping.column, first_rows_of_cases)
        return grouping.units
    if "case" in frame.columns:
        _warn_that_cases_may_group_by_patient(frame, cases, first_rows_of_cases)
        check_columns(frame, ["case"], frame_name)
        _check_filled(codes, "case", frame_name)
        return _units_of_columns(codes, ["case"])
    candidates = _likely_patient_or_examination_columns(frame)
    if not candidates:
        raise ColumnError(
            f"{frame_name} has no column 'case' or 'patient'",
            hint=Message("name the unit with ", Setting("unit")),
            option="unit",
        )
    return _units_of_columns(codes, candidates[:1], cases)


def _cases_of_rows(codes: ColumnCodes) -> NDArray[np.integer]:
    """Return the code of each row's case, shape (n_rows,); in a frame without cases each row is one."""
    if "case" in codes.frame.columns:
        return codes.combined(dataset_and_case_columns(codes.frame))
    return np.arange(len(codes.frame))


def _find_grouped_units(
    codes: ColumnCodes, cases: NDArray[np.integer], first_rows_of_cases: NDArray[np.integer]
) -> _Grouping | None:
    """Find the patients, or examinations, of whom some have several cases; None if there are none.

    `cases` are the cases of all rows, and `first_rows_of_cases` the first row of each case.
    """
    frame = codes.frame
    columns = _likely_patient_or_examination_columns(frame)
    for column in columns:
        units = _units_of_columns(codes, [column], cases)
        if _some_units_group_whole_cases(units, column, cases, first_rows_of_cases):
            return _Grouping(units, column)
    if "case" not in frame.columns or "patient" in columns:
        return None
    patients = _patient_in_case_name_and_dataset_if_any(codes)
    if patients is None:
        return None
    units = _units_of_columns(ColumnCodes(patients), ["patient"], cases)
    if _some_units_group_whole_cases(units, "", cases, first_rows_of_cases):
        return _Grouping(units, "")
    return None


def _warn_of_patients_with_several_cases(codes: ColumnCodes) -> None:
    """Warn if cases are chosen as units although the column `patient` gives several to some patients."""
    cases = _cases_of_rows(codes)
    first_rows_of_cases = first_rows(cases)
    grouping = _find_grouped_units(codes, cases, first_rows_of_cases)
    if grouping is None or grouping.column != "patient":
        return
    cases_per_patient = np.bincount(grouping.units.codes[first_rows_of_cases])
    n_repeated = int((cases_per_patient > 1).sum())
    patients_have = "patient has" if n_repeated == 1 else "patients have"
    warn(
        Setting("unit", "case"),
        f" treats cases as independent, but {n_repeated} {patients_have} several",
        hint=Message(Setting("unit", "patient"), " keeps a patient's cases together"),
    )


def _check_filled(codes: ColumnCodes, column: str, frame_name: str) -> None:
    """Raise ColumnError if a row has no value in a column of units: missing or "".

    In columns of patients or examinations a word for unknown counts as empty, see `_is_empty_or_unknown`.
    """
    coded = codes.column(column)
    if not (coded.has_missing or coded.has_blank or _names_patients_or_examinations(column)):
        return
    frame = codes.frame
    is_empty = _is_empty_or_unknown(frame, column)
    if not is_empty.any():
        return
    row = int(np.flatnonzero(is_empty)[0])
    value = frame[column].iloc[row]
    text = "empty" if pd.isna(value) or value == "" else repr(value)
    raise ColumnError(
        f"column {column!r} of {frame_name} is {text} in row {row}",
        hint="every row needs its unit",
        column=column,
        rows=np.flatnonzero(is_empty).tolist(),
    )


def has_units(frame: pd.DataFrame, unit: Unit = None) -> bool:
    """Return True if `unit`, or a column of cases or patients, gives the rows of a table their units."""
    return unit is not None or "case" in frame.columns or bool(_likely_patient_or_examination_columns(frame))


def given_and_possible_unit_columns(frame: pd.DataFrame, unit: Unit) -> list[str]:
    """Return the columns of a frame by which `resolve_unit` may find units, the given ones first.

    They are to be kept in a table that is made from the frame.
    """
    unit_names = [unit] if isinstance(unit, str) else list(unit or ())
    names = [str(column) for column in frame.columns]
    people_columns = [name for name in names if _names_patients_or_examinations(name)]
    has_patient_column = any(_PATIENT_COLUMN_NAME.fullmatch(name) for name in people_columns)
    if unit is None and "case" in names and not has_patient_column:
        cases = ColumnCodes(frame).combined(dataset_and_case_columns(frame))
        proposed_column = find_patient_column(frame, cases)
        if proposed_column is not None:
            people_columns.append(proposed_column.name)
    candidates = dict.fromkeys([*unit_names, *people_columns])
    return [column for column in candidates if column in frame.columns]


def _units_of_columns(
    codes: ColumnCodes, columns: list[str], cases_where_empty: np.ndarray | None = None
) -> Units:
    """Make units of the values of columns.

    With `cases_where_empty`, the cases of all rows, rows without a value have their case as unit.
    An id of a case or a patient may occur in two data sets, and is two units there; a reader or a site is the
    same in all data sets.
    """
    are_ids = columns == ["case"] or any(_names_patients_or_examinations(column) for column in columns)
    key = list(columns)
    if are_ids and "dataset" in codes.frame.columns and "dataset" not in columns:
        key = ["dataset", *columns]
    if any(isinstance(codes.frame[column].dtype, pd.CategoricalDtype) for column in key):
        # Units are numbered in the sorted order of the values, not in the order of categories.
        codes = ColumnCodes(codes.frame[key].astype("object"))
    unit_codes = codes.combined(key)
    n_alone = 0
    if cases_where_empty is not None:
        is_empty = _is_empty_or_unknown(codes.frame, columns[0])
        n_alone = len(np.unique(cases_where_empty[is_empty]))
        # Codes of cases begin after those of units.
        unit_codes = np.where(is_empty, len(unit_codes) + cases_where_empty, unit_codes)
        unit_codes = np.unique(unit_codes, return_inverse=True)[1]
    return Units(", ".join(columns), unit_codes, int(unit_codes.max()) + 1, n_alone)


def _likely_patient_or_examination_columns(frame: pd.DataFrame) -> list[str]:
    """List columns that may name patients, the likeliest first; only `patient` if there is such a column."""
    names = [str(column) for column in frame.columns]
    if "patient" in names and not _is_empty_or_unknown(frame, "patient").all():
        return ["patient"]
    columns = [name for name in names if _PATIENT_COLUMN_NAME.fullmatch(name)]
    if "case" in names:
        columns += [name for name in names if _EXAMINATION_COLUMN_NAME.fullmatch(name)]
    return [column for column in columns if not _is_empty_or_unknown(frame, column).all()]


def _is_empty_or_unknown(frame: pd.DataFrame, column: str) -> NDArray[np.bool_]:
    """Find rows without a value, shape (n_rows,), or with a word for an unknown patient or examination."""
    values = frame[column]
    is_empty = values.isna() | values.eq("")
    if _names_patients_or_examinations(column) and not pd.api.types.is_numeric_dtype(values):
        texts = [value for value in values.unique() if isinstance(value, str)]
        unknown = [text for text in texts if text.strip().casefold() in _UNKNOWN]
        is_empty |= values.isin(unknown)
    return is_empty.to_numpy(dtype=bool, na_value=True)


def _names_patients_or_examinations(column: str) -> bool:
    """Return True if a column has a common name of patients or their examinations."""
    return bool(_PATIENT_COLUMN_NAME.fullmatch(column) or _EXAMINATION_COLUMN_NAME.fullmatch(column))


def _some_units_group_whole_cases(
    units: Units, unit_column: str, cases: NDArray[np.integer], first_rows_of_cases: NDArray[np.integer]
) -> bool:
    """Return True if units have several cases, and each case has one unit.

    A case with two values of `patient` passes here, because other checks raise an error for it.
    """
    case_units = units.codes[first_rows_of_cases]
    if unit_column != "patient" and (units.codes != case_units[cases]).any():
        return False
    largest = int(np.bincount(case_units).max())
    if _EXAMINATION_COLUMN_NAME.fullmatch(unit_column) and largest > _LARGEST_EXAMINATION:
        return False
    return largest > 1


def _patient_in_case_name_and_dataset_if_any(codes: ColumnCodes) -> pd.DataFrame | None:
    """Return each row's `patient`, from the beginning of its case's name, and `dataset`, if there is one.

    A patient is missing where the name does not begin with one; None if no name does.
    """
    cases = codes.column("case")
    patients: list[str | None] = []
    for case in cases.values.tolist():
        match = _PATIENT_IN_CASE.match(str(case))
        patients.append(None if match is None else match[1].lower())
    if not any(patients):
        return None
    # Rows without a case, if any, have the code after the last case.
    patient_of_row = text_column([*patients, None]).take(cases.codes)
    return codes.frame.filter(["dataset"]).assign(patient=patient_of_row)


def _warn_of_source_of_units(
    frame: pd.DataFrame, units: Units, column: str, first_rows_of_cases: NDArray[np.integer]
) -> None:
    """Warn which column names the units, unless it is `patient` and names all of them."""
    if column == "patient" and not units.n_alone:
        return
    codes = units.codes[first_rows_of_cases]
    has_siblings = np.bincount(codes)[codes] > 1
    source = f"column {column!r}"
    if not column:
        first_sibling = first_rows_of_cases[has_siblings][0]
        source = f"the names of the cases, such as {frame['case'].iloc[first_sibling]!r}"
    rows = "rows"
    remedy = Message(Setting("unit"), " names another")
    if "case" in frame.columns:
        rows = "cases"
        remedy = Message(Setting("unit", "case"), " treats cases as independent")
    unknown = ""
    if units.n_alone:
        unknown = f"; the {units.n_alone} {rows} without one are units of their own"
        if units.n_alone == 1:
            unknown = f"; the only one of the {rows} without one is a unit of its own"
    n_groups = len(np.unique(codes[has_siblings]))
    if column:
        has_no_unit = _is_empty_or_unknown(frame, column)
    else:
        has_no_unit = np.array([_PATIENT_IN_CASE.match(str(case)) is None for case in frame["case"]])
    warn(
        f"units are named by {source}: {units.n} units of {len(codes)} {rows}, {n_groups} with several"
        f"{unknown}",
        hint=remedy,
        option="unit",
        column=column or "case",
        rows=np.flatnonzero(has_no_unit).tolist(),
    )


def _warn_of_ids_shared_by_sites(
    frame: pd.DataFrame, units: Units, column: str, first_rows_of_cases: NDArray[np.integer]
) -> None:
    """Warn of sites that may each number their patients from 1, so that patients of several share an id."""
    codes = units.codes[first_rows_of_cases]
    for site in _site_columns_that_may_number_patients(frame, column, first_rows_of_cases):
        sites_per_unit = frame[site].iloc[first_rows_of_cases].groupby(codes).nunique()
        is_shared = (sites_per_unit > 1).to_numpy()
        n_shared = int(is_shared.sum())
        if n_shared:
            warn(
                f"{n_shared} of {units.n} units named by {column!r} have cases of several {site!r}: where "
                "ids begin anew in each, ",
                Setting("unit", [site, column]),
                " tells them apart",
                column=site,
                rows=np.flatnonzero(is_shared[units.codes]).tolist(),
            )


def _site_columns_that_may_number_patients(
    frame: pd.DataFrame, patient_column: str, first_rows_of_cases: NDArray[np.integer]
) -> list[str]:
    """List the columns of sites that may each number the patients of a column from 1."""
    if not patient_column:
        return []
    patients = numbered_names(frame[patient_column].iloc[first_rows_of_cases])
    sites = []
    for name in map(str, frame.columns):
        if name in (*KEY_COLUMNS, "metric", "score", patient_column):
            continue
        if _SITE_COLUMN_NAME.fullmatch(name) or numbering_restarts(
            patients, frame[name].iloc[first_rows_of_cases]
        ):
            sites.append(name)
    return sites


def _warn_that_cases_may_group_by_patient(
    frame: pd.DataFrame, cases: NDArray[np.integer], first_rows_of_cases: NDArray[np.integer]
) -> None:
    """Warn if cases, which are the units, look like those of fewer patients, and say how to group them."""
    if any(
        _PATIENT_COLUMN_NAME.fullmatch(column) for column in _likely_patient_or_examination_columns(frame)
    ):
        return
    independent = Message(Setting("unit", "case"), " says that cases are independent")
    column = find_patient_column(frame, cases)
    if column is not None:
        warn(
            f"cases are the units, but {column.name!r} puts {column.n_grouped} of {column.n_cases} cases "
            "into groups of a few, as patients do",
            hint=Message(
                Setting("unit", column.name),
                f" keeps each of its {column.n_groups} groups together, ",
                independent,
            ),
            column=column.name,
        )
        return
    groups = patient_groups_in_case_names(frame["case"].iloc[first_rows_of_cases].astype(TEXT))
    if groups is None:
        return
    extracted = f"scores['case'].astype('str').str.extract({groups.pattern!r}, expand=False)"
    warn(
        f"cases are the units, but the names of {groups.n_grouped} of {groups.n_cases} begin alike in groups "
        f"of a few, as {groups.example!r} with {groups.beginning!r}, as those of patients do",
        hint=Message(
            f"scores['patient'] = {extracted} or reading the scores with ",
            Setting("patient_from", groups.pattern),
            f" keeps each of the {groups.n_groups} groups together, ",
            independent,
        ),
        column="case",
    )
