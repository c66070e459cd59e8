"""Table of the characteristics of patients, the first one of a clinical paper."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from great_tables import GT

from salstats.checks import check_choice
from salstats.display.estimates import Estimates
from salstats.display.facts import paragraph
from salstats.display.tables import notes
from salstats.display.tables.great_table import great_table
from salstats.display.tables.grid import read_estimates_to_show
from salstats.display.tables.record import Table, TableColumn
from salstats.display.text.format import (
    MISSING,
    capitalized,
    count_text,
    decimals_of,
    fixed_text,
    interval_text,
    joined,
    noun_of_identifier,
    plural,
)
from salstats.display.text.labels import Labels
from salstats.stats.engine.grouping import OVERALL
from salstats.stats.patient_characteristics import COLUMNS, CONTINUOUS, DICHOTOMOUS, text_of_level

#: Text after the label of a categorical covariate.
_COUNT_SUFFIX = "n (%)"
#: Label of the row that counts patients whose value is missing.
_MISSING_LABEL = "Missing"
#: Significant digits of the width between the quartiles, by which statistics are rounded.
_SIGNIFICANT_DIGITS = 2
#: Significant digits of a covariate that has the same value in all patients of each group.
_DIGITS_OF_EQUAL_VALUES = 3


class _Statistic(NamedTuple):
    """A statistic of continuous covariates: its label, and the columns that it is written from."""

    label: str
    columns: tuple[str, ...]


#: Statistics by their names as an option.
_STATISTICS = {
    "median": _Statistic("median (Q1, Q3)", ("median", "q1", "q3")),
    "mean": _Statistic("mean (SD)", ("mean", "sd")),
    "range": _Statistic("range", ("min", "max")),
}


class _Row(NamedTuple):
    """A row of the table: its label, a text for each group, and whether the label is indented."""

    label: str
    texts: Sequence[str]
    is_indented: bool = False


def table_patients(
    described: pd.DataFrame,
    *,
    statistics: str | Sequence[str] = "median",
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int | None = None,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Tabulate the characteristics of patients: covariates as rows, groups as columns.

    Levels stand below their covariate, with their counts and percentages. A dichotomous covariate has one
    row. Patients whose value is missing are counted in a row of their own, where there are any in a group;
    percentages are of the others. The number of patients stands in the heading of each group.

    Parameters
    ----------
    described : DataFrame
        A frame of `describe_patients`.
    statistics : {"median", "mean", "range"} or sequence of these
        Statistics of continuous covariates: median (quartiles), mean (standard deviation), and smallest and
        largest value. Several stand below each other.
    labels : Mapping, optional
        As for `table_estimates`: `{"age": "Age (years)", "sex": {"F": "Female", "M": "Male"}}`. A list of
        levels, or of groups such as `{"arm": ["Overall", "A", "B"]}`, orders them.
    digits : int, optional
        Decimals of continuous covariates; by default the width between the quartiles has two significant
        digits. Percentages have one decimal.
    style, title
        As for `table_estimates`.

    Returns
    -------
    GT
        A great-tables table.

    Raises
    ------
    ColumnError
        A column of `describe_patients` is missing.
    SalstatsError
        An unknown statistic or style.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> from great_tables import GT
    >>> patients = pd.DataFrame(
    ...     {"patient": ["a", "b", "c"], "age": [61, 70, 48], "sex": ["F", "M", None]}
    ... )
    >>> described = ss.describe_patients(patients, ["age", "sex"], continuous="age")
    >>> isinstance(ss.table_patients(described, labels={"age": "Age (years)", "sex": "Sex"}), GT)
    True
    """
    characteristics = read_estimates_to_show(described, digits, style, "described", COLUMNS)
    names_of_statistics = [statistics] if isinstance(statistics, str) else list(statistics)
    for name in names_of_statistics:
        check_choice(name, tuple(_STATISTICS), "statistics")
    frame = characteristics.frame
    names = Labels(labels, frame)
    # a level such as 1 is a number in a frame that was read from a file
    frame = frame.assign(level=[text_of_level(level) for level in frame["level"]])
    # the first column of such frames is the group, unless there are no groups
    group_column = str(frame.columns[0])
    if group_column == "covariate":
        group_column = "group"
        frame = frame.assign(group=OVERALL)
    groups = names.order(group_column, frame[group_column])

    rows = []
    covariates = frame["covariate"].unique()
    for covariate in names.order("covariate", pd.Categorical(covariates, covariates)):
        of_covariate = frame[frame["covariate"] == covariate]
        by_group = [of_covariate[of_covariate[group_column] == group] for group in groups]
        label = names.value("covariate", covariate)
        if of_covariate["kind"].iloc[0] == CONTINUOUS:
            rows += _continuous_rows(label, by_group, names_of_statistics, digits, style)
        else:
            level_labels = {}
            if of_covariate["kind"].iloc[0] != DICHOTOMOUS:
                levels = of_covariate["level"].unique()
                level_labels = names.label_by_value(covariate, pd.Categorical(levels, levels))
            rows += _counted_rows(label, by_group, level_labels)
        rows += _missing_count_row_if_any(by_group)

    columns = []
    for group in groups:
        n_units = frame.loc[frame[group_column] == group, "n_units"].iloc[0]
        heading = f"{names.value(group_column, group)}, N = {count_text(n_units)}"
        spanners = () if group == OVERALL else (names.column(group_column),)
        columns.append(TableColumn(heading, spanners))
    cells = [list(row.texts) for row in rows]
    table = Table(
        stubhead=("Characteristic",),
        stub=[(row.label,) for row in rows],
        columns=columns,
        cells=cells,
        indented_rows={position for position, row in enumerate(rows) if row.is_indented},
        notes=(_n_definition_and_missing_values_note(characteristics),),
        symbol_note=notes.dash_note(cells),
        title=title,
    )
    return great_table(table, "salstats-patients")


def _continuous_rows(
    label: str, by_group: Sequence[pd.DataFrame], statistics: Sequence[str], digits: int | None, style: str
) -> list[_Row]:
    """Return the row of a continuous covariate, or the rows of several statistics below its label."""
    rows = []
    for name in statistics:
        statistic = _STATISTICS[name]
        decimals = digits
        if decimals is None:
            decimals = _decimals_of_statistic(pd.concat(by_group), statistic)
        texts = [_statistic_text(group_rows, name, decimals, style) for group_rows in by_group]
        rows.append(_Row(statistic.label, texts))
    if len(rows) == 1:
        return [_Row(f"{label}, {rows[0].label}", rows[0].texts)]
    heading = _Row(label, [""] * len(by_group))
    indented = [_Row(capitalized(row.label), row.texts, is_indented=True) for row in rows]
    return [heading, *indented]


def _decimals_of_statistic(rows: pd.DataFrame, statistic: _Statistic) -> int:
    """Return the decimals of a statistic of one covariate, the same in all groups.

    There are none where all values are whole numbers; else the width between the quartiles, or the range
    where it is 0, has two significant digits.
    """
    numbers = rows[list(statistic.columns)].to_numpy(dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    width = (rows["q3"] - rows["q1"]).max()
    if not width > 0:
        width = (rows["max"] - rows["min"]).max()
    if (numbers == np.round(numbers)).all():
        return 0
    if width > 0:
        return decimals_of(width, _SIGNIFICANT_DIGITS)
    return decimals_of(np.abs(numbers).max(), _DIGITS_OF_EQUAL_VALUES)


def _statistic_text(rows: pd.DataFrame, statistic: str, digits: int, style: str) -> str:
    """Return a statistic of a continuous covariate from the one row of a group, a dash without a row."""
    if rows.empty:
        return MISSING
    row = rows.iloc[0]
    if statistic == "median":
        return interval_text(row["median"], row["q1"], row["q3"], digits, style)
    if row["n"] == 0:
        return MISSING
    if statistic == "mean":
        return f"{fixed_text(row['mean'], digits)} ({fixed_text(row['sd'], digits)})"
    return f"{fixed_text(row['min'], digits)} to {fixed_text(row['max'], digits)}"


def _counted_rows(
    label: str, by_group: Sequence[pd.DataFrame], level_labels: Mapping[str, str]
) -> list[_Row]:
    """Return the row of a dichotomous covariate, which has no labels of levels, or the rows of all levels."""
    heading = f"{label}, {_COUNT_SUFFIX}"
    if not level_labels:
        return [_Row(heading, [_level_count_and_percent_text(group_rows) for group_rows in by_group])]
    rows = [_Row(heading, [""] * len(by_group))]
    for level, level_label in level_labels.items():
        texts = [
            _level_count_and_percent_text(group_rows[group_rows["level"] == level]) for group_rows in by_group
        ]
        rows.append(_Row(level_label, texts, is_indented=True))
    return rows


def _level_count_and_percent_text(rows: pd.DataFrame) -> str:
    """Return how many patients have a level, and their percentage, from the one row of a group and level."""
    if rows.empty or rows["n"].iloc[0] == 0:
        return MISSING
    row = rows.iloc[0]
    return f"{count_text(row['n_level'])} ({fixed_text(row['percent'], 1)})"


def _missing_count_row_if_any(by_group: Sequence[pd.DataFrame]) -> list[_Row]:
    """Return the row that counts patients whose value is missing, an empty list where there are none."""
    texts = []
    for group_rows in by_group:
        text = MISSING
        if not group_rows.empty:
            text = count_text(group_rows["n_missing"].iloc[0])
        texts.append(text)
    if set(texts) <= {"0", MISSING}:
        return []
    return [_Row(_MISSING_LABEL, texts, is_indented=True)]


def _n_definition_and_missing_values_note(characteristics: Estimates) -> str:
    """Return what N counts and, where values are missing, that these are left out."""
    unit = str(characteristics.only_non_missing_value("unit") or "unit")
    units = plural(unit)
    unit_columns = unit.split(", ")
    if len(unit_columns) == 2:
        units = f"pairs of {joined([noun_of_identifier(column) for column in unit_columns])}"
    count_note = f"N, {units}."
    if not characteristics.numbers("n_missing").any():
        return count_note
    return paragraph(count_note, "Missing values are left out of percentages and statistics.")
