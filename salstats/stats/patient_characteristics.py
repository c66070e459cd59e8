"""Characteristics of patients: their covariates, described once per patient, by group and over all."""

import datetime
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import (
    and_n_more_after_first,
    check_by,
    check_columns,
    check_frame,
    check_numeric,
    object_numbers_to_numeric_dtype,
    quoted,
)
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, Message, Setting
from salstats.frames import ColumnCodes, checked_table_codes, integer_column, row_keys_text, text_column
from salstats.stats.engine.grouping import OVERALL, append_key_rows, index_groups, pool_over
from salstats.stats.engine.resampling_units import Unit, Units, resolve_unit

#: Kinds of covariates.
CONTINUOUS = "continuous"
CATEGORICAL = "categorical"
DICHOTOMOUS = "dichotomous"
#: Whole numbers with fewer distinct values are levels, as in gtsummary.
_FEWEST_CONTINUOUS = 10
#: Types of values that are neither numbers nor levels.
_TIMES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)
#: Columns of the result after the group.
COLUMNS = (
    *("covariate", "kind", "level", "unit", "n_units", "n", "n_missing", "n_level", "percent"),
    *("mean", "sd", "median", "q1", "q3", "min", "max"),
)


def describe_patients(
    data: pd.DataFrame,
    covariates: str | Sequence[str],
    *,
    by: str | None = None,
    unit: Unit = None,
    continuous: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Describe covariates of patients by group and over all: the first table of a clinical paper.

    Each patient counts once, in however many rows of the table.

    Parameters
    ----------
    data : DataFrame
        A scores frame, or any table with one or more rows per patient.
    covariates : str or sequence of str
        Columns to describe, in the order of the result, such as `["age", "sex"]`.
    by : str, optional
        Column of the groups, such as the arm or the data set. Each patient is in one group.
    unit : str or list of str, optional
        Columns that name the patients or other units that are counted; by default `patient` if there is such
        a column, else patients by another name or cases, see `summarize`.
    continuous : str or sequence of str
        Covariates that are described as numbers although they have few distinct values.
    categorical : str or sequence of str
        Covariates whose values are levels although they are numbers or yes and no.

    Returns
    -------
    DataFrame
        Group by group, sorted, all patients last; in each the covariates in their order, with a row for
        each level.

        the column of `by`
            The group, "Overall" for all patients; only with `by`.
        covariate, kind, level
            Name and kind of the covariate, see Notes, and the level that the row counts; missing for
            continuous covariates.
        unit, n_units
            What is counted, and number of patients in the group.
        n, n_missing
            Patients of the group whose value is known, and those whose value is missing.
        n_level, percent
            Patients with the level, and in percent of n; missing for continuous covariates.
        mean, sd, median, q1, q3, min, max
            Statistics of continuous covariates, NaN for others; `sd` with divisor n - 1, quartiles by
            NumPy's linear rule (R's type 7), as in `describe`. gtsummary has type 2 since version 2.0.

    Raises
    ------
    ColumnError
        A column is missing; a covariate or the group differs between rows of a patient; a covariate holds
        dates; a group or patient is empty.

    Notes
    -----
    Kinds are those of gtsummary's `tbl_summary`:

    dichotomous
        True and False, 1 and 0, or yes and no, with one row that counts True, 1 or yes.
    categorical
        Text and Categoricals, and whole numbers with fewer than 10 distinct values (gtsummary counts
        fractions, too). Levels are the categories of a Categorical, also those that no patient has, else the
        distinct values, sorted.
    continuous
        All other numbers.

    A value that is empty in some rows of a patient and the same in all others is known.

    References
    ----------
    Sjoberg et al., Reproducible summary tables with the gtsummary package, The R Journal 13, 2021.
    https://doi.org/10.32614/RJ-2021-053

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> images = pd.DataFrame({
    ...     "patient": ["a", "a", "b", "c"], "arm": ["x", "x", "x", "y"],
    ...     "age": [61.5, 61.5, 70.1, None], "smoker": ["yes", "yes", "no", "yes"],
    ... })
    >>> described = ss.describe_patients(images, ["age", "smoker"], by="arm")
    >>> described[["arm", "covariate", "n_units", "n", "n_missing", "n_level", "percent", "median"]].round(1)
           arm covariate  n_units  n  n_missing  n_level  percent  median
    0        x       age        2  2          0     <NA>      NaN    65.8
    1        x    smoker        2  2          0        1     50.0     NaN
    2        y       age        1  0          1     <NA>      NaN     NaN
    3        y    smoker        1  1          0        1    100.0     NaN
    4  Overall       age        3  2          1     <NA>      NaN    65.8
    5  Overall    smoker        3  3          0        2     66.7     NaN
    """
    names = _checked_covariates(data, covariates, by)
    chosen_kinds = {
        **dict.fromkeys(_checked_covariates_of_option(continuous, names, "continuous"), CONTINUOUS),
        **dict.fromkeys(_checked_covariates_of_option(categorical, names, "categorical"), CATEGORICAL),
    }
    codes = checked_table_codes(data, names, "data")
    data = data.assign(**{name: object_numbers_to_numeric_dtype(data[name]) for name in names})
    if unit is None and "patient" in data.columns:
        unit = "patient"
    # Units are only counted here, so that they need not be independent.
    units = resolve_unit(codes, unit, "data", independent=False)
    keys, members = _keys_and_units_of_groups_and_overall(data, by, units)
    rows = []
    for name in names:
        values = _values_by_unit(data, name, units)
        kind = _continuous_dichotomous_or_categorical(values, name, chosen_kinds.get(name))
        if kind == CONTINUOUS and values.notna().any():
            check_numeric(data, name, "data")
        for group, units_of_group in enumerate(members):
            for row in _one_statistics_row_or_row_per_level(values, kind, units_of_group):
                rows.append({"group": group, "covariate": name, "kind": kind, **row})
    described = pd.DataFrame(rows, columns=["group", *COLUMNS])
    described = described.sort_values("group", kind="stable", ignore_index=True).assign(unit=units.name)
    described["level"] = text_column(described["level"])
    described["n_level"] = integer_column(described["n_level"])
    keys_of_rows = keys.take(described.pop("group").to_numpy()).reset_index(drop=True)
    return pd.concat([keys_of_rows, described], axis=1)


def _checked_covariates(data: object, covariates: str | Sequence[str], by: str | None) -> list[str]:
    """Return the covariates as a list; raise an error unless they and the group are columns of the data."""
    frame = check_frame(data, "data")
    names = _column_list(covariates)
    if not names:
        raise ColumnError("describe_patients needs at least one column in ", Setting("covariates"))
    if len(set(names)) < len(names):
        raise ColumnError(Setting("covariates"), f" names a column twice: {quoted(names)}")
    check_columns(frame, names, "data")
    if by is not None:
        check_by(frame, [by], (), "data")
    if by in COLUMNS:
        raise ColumnError(
            f"the result has a column {by!r} of its own", hint="rename the column of the groups", column=by
        )
    if by in names:
        raise ColumnError(
            f"column {by!r} gives the groups and cannot be a covariate, too",
            hint=Message("leave it out of ", Setting("covariates")),
            option="covariates",
            column=by,
        )
    return names


def _column_list(columns: str | Sequence[str]) -> list[str]:
    """Return one column or several as a list."""
    return [columns] if isinstance(columns, str) else list(columns)


def _checked_covariates_of_option(
    columns: str | Sequence[str], covariates: Sequence[str], option: str
) -> list[str]:
    """Return the covariates that an option names; ColumnError where it names another column."""
    names = _column_list(columns)
    for name in names:
        if name not in covariates:
            raise ColumnError(
                Setting(option),
                f" names {name!r}, which is not one of the covariates ({quoted(covariates)})",
                value=name,
                choices=covariates,
                column=name,
            )
    return names


def _values_by_unit(data: pd.DataFrame, column: str, units: Units) -> pd.Series:
    """Return the value of each unit, missing where the cells of all its rows are empty.

    ColumnError where rows of a unit have different values.
    """
    values = data[column].reset_index(drop=True)
    codes, distinct = pd.factorize(values)
    blank = np.flatnonzero([isinstance(value, str) and not value.strip() for value in distinct])
    known_rows = np.flatnonzero((codes >= 0) & ~np.isin(codes, blank))
    unit_of_row = units.codes[known_rows]
    row_of_unit = np.full(units.n, -1)
    row_of_unit[unit_of_row] = known_rows
    is_different = codes[row_of_unit[unit_of_row]] != codes[known_rows]
    if is_different.any():
        _raise_different_values(data, column, units, np.unique(unit_of_row[is_different]))
    # no row is called -1, so that the value of a unit without a known one is missing
    return values.reindex(row_of_unit).reset_index(drop=True)


def _raise_different_values(
    data: pd.DataFrame, column: str, units: Units, differing_units: NDArray[np.integer]
) -> NoReturn:
    """Raise ColumnError for a column that differs within some units, with the values of the first of them."""
    rows = np.flatnonzero(units.codes == differing_units[0])
    values = data[column].iloc[rows].dropna().unique()
    unit_columns = [name for name in units.name.split(", ") if name in data.columns]
    unit_text = row_keys_text(data, unit_columns or ["case"], int(rows[0]))
    # The hint names a finer unit than the one within which values differ.
    finer_unit = ""
    if "task" not in unit_columns:
        finer_unit = ", such as case and task together"
        if "case" not in unit_columns and unit_columns:
            finer_unit = ", such as case, or case and task together"
    raise ColumnError(
        f"column {column!r} differs within {unit_text}{and_n_more_after_first(differing_units.tolist())}: "
        f"{quoted(values)}",
        hint=Message(
            f"keep one value for each {units.name}, as over_views() does, or let ",
            Setting("unit"),
            f" name what has one{finer_unit}",
        ),
        column=column,
        rows=rows.tolist(),
    )


def _keys_and_units_of_groups_and_overall(
    data: pd.DataFrame, by: str | None, units: Units
) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """Return the key of each group, and its units; the last group, or the only one, has all units."""
    all_units = np.arange(units.n)
    if by is None:
        return pd.DataFrame(index=pd.RangeIndex(1)), [all_units]
    groups, keys = index_groups(ColumnCodes(_values_by_unit(data, by, units).to_frame()), [by])
    members = [np.flatnonzero(groups == group) for group in range(len(keys))]
    _, overall_key = pool_over(keys, by, OVERALL)
    return append_key_rows(keys, overall_key), [*members, all_units]


def _continuous_dichotomous_or_categorical(values: pd.Series, name: str, chosen_kind: str | None) -> str:
    """Return the kind of a covariate: `chosen_kind` if given, else the kind that suits the units' values."""
    distinct = _categories_or_sorted_values(values)
    are_numbers = pd.api.types.is_numeric_dtype(values)
    if any(isinstance(value, _TIMES) for value in distinct):
        raise ColumnError(
            f"covariate {name!r} holds dates or times",
            hint="describe numbers made of them, such as years or days",
            column=name,
        )
    if not distinct:
        # A covariate without any known value gets a single row, whose statistics are missing.
        return CONTINUOUS
    if chosen_kind is not None:
        return chosen_kind
    if _true_yes_or_1_if_dichotomous(distinct) is not None:
        return DICHOTOMOUS
    if not are_numbers:
        return CATEGORICAL
    are_whole = all(float(value).is_integer() for value in distinct)
    if are_whole and len(distinct) < _FEWEST_CONTINUOUS:
        return CATEGORICAL
    return CONTINUOUS


def _categories_or_sorted_values(values: pd.Series) -> list[Any]:
    """Return the categories of a Categorical in their order, else the distinct values, sorted."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return list(values.cat.categories)
    distinct = list(values.dropna().unique())
    if any(isinstance(value, str) for value in distinct):
        return sorted(distinct, key=str)
    return sorted(distinct)


def _true_yes_or_1_if_dichotomous(distinct: Sequence[Any]) -> Any | None:
    """Return the value that a dichotomous covariate counts; None for a covariate of another kind."""
    if all(isinstance(value, bool | np.bool_) for value in distinct):
        return True
    if all(isinstance(value, str) for value in distinct):
        spellings = {value.casefold(): value for value in distinct}
        if set(spellings) <= {"no", "yes"}:
            # "yes" in the spelling of the data
            return spellings.get("yes", "yes")
    if set(distinct) <= {0, 1}:
        return 1
    return None


def _one_statistics_row_or_row_per_level(
    values: pd.Series, kind: str, units_of_group: np.ndarray
) -> list[dict[str, Any]]:
    """Return the rows of a covariate in one group: one of statistics if continuous, else one per level."""
    known = values.iloc[units_of_group].dropna()
    counts = {
        "n_units": len(units_of_group),
        "n": len(known),
        "n_missing": len(units_of_group) - len(known),
    }
    if kind == CONTINUOUS:
        numbers = known.astype(np.float64)
        statistics = {
            "mean": numbers.mean(),
            "sd": numbers.std(),
            "median": numbers.median(),
            "q1": numbers.quantile(0.25),
            "q3": numbers.quantile(0.75),
            "min": numbers.min(),
            "max": numbers.max(),
        }
        return [{**counts, **statistics}]
    levels = _categories_or_sorted_values(values)
    if kind == DICHOTOMOUS:
        levels = [_true_yes_or_1_if_dichotomous(levels)]
    rows = []
    for level in levels:
        is_level = known.eq(level)
        if kind == DICHOTOMOUS and isinstance(level, str):
            # "Yes" and "yes" are one level.
            is_level = known.astype(TEXT).str.casefold().eq(level.casefold())
        n_level = int(is_level.sum())
        percent = np.nan
        if len(known):
            percent = 100 * n_level / len(known)
        rows.append({**counts, "level": text_of_level(level), "n_level": n_level, "percent": percent})
    return rows


def text_of_level(level: Any) -> str:
    """Return a level as text, whole numbers without decimals."""
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level)
