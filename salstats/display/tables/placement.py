"""Grouping columns of a frame as rows, columns and groups of a table, and the frame's row in each cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.display.estimates import Estimates
from salstats.display.text.format import is_missing
from salstats.display.text.labels import SUMMARY_LABELS, Labels
from salstats.errors import ColumnError, Message, SalstatsError, Setting
from salstats.stats.patient_characteristics import text_of_level

#: Names of columns, or a row's values or labels in them.
Key: TypeAlias = tuple[str, ...]
#: A row's values of columns as positions in the order of their labels.
RanksOfRow: TypeAlias = tuple[int, ...]
#: An option that names one column or several, or leaves the choice to the table.
Columns: TypeAlias = str | Sequence[str] | None
#: The first of these columns that varies gives the rows by default.
_DEFAULT_ROWS = ("y", "pair", "task", "method")


class ColumnPlacement(NamedTuple):
    """Grouping columns by where they stand in a table; `constant` ones stand in a note."""

    rows: Key
    columns: Key
    groups: Key
    constant: Key = ()

    @property
    def shown_columns(self) -> Key:
        """All columns that stand in the table."""
        return (*self.groups, *self.rows, *self.columns)


def choose_placement(
    estimates: Estimates,
    keys: Sequence[str],
    rows: Columns = None,
    columns: Columns = None,
    groups: Columns = None,
) -> ColumnPlacement:
    """Return where each grouping column stands: as options say, the others by a rule.

    Rows are the second variables of correlations (`y`), else pairs, else tasks, else methods. Methods stand
    in columns where they are not the rows, else metrics do. Metrics that have no place then, and tasks, make
    groups of rows. Other columns that vary stand above the columns, or label rows as well where some rows
    have no value of them.
    """
    row_columns = checked_columns_of_option(keys, rows, "rows")
    heading_columns = checked_columns_of_option(keys, columns, "columns")
    group_columns = checked_columns_of_option(keys, groups, "groups")
    named = [*(row_columns or ()), *(heading_columns or ()), *(group_columns or ())]
    if len(set(named)) < len(named):
        raise ColumnError(
            Setting("rows"),
            ", ",
            Setting("columns"),
            " and ",
            Setting("groups"),
            f" name a column twice: {quoted(named)}",
        )
    frame = estimates.frame
    unplaced = [column for column in keys if estimates.varies(column) and column not in named]
    if row_columns is None:
        row_columns = _default_row_columns(
            frame, unplaced, [column for column in keys if column not in named]
        )
        unplaced = [column for column in unplaced if column not in row_columns]
    if heading_columns is None:
        heading_columns = _default_heading_columns(unplaced, has_groups=group_columns is not None)
        unplaced = [column for column in unplaced if column not in heading_columns]
    if group_columns is None:
        # metrics are the outermost groups
        group_columns = sorted(unplaced, key=lambda column: column != "metric")
        unplaced = []
    if unplaced:
        column = unplaced[0]
        raise ColumnError(
            f"grouping column {column!r} has {frame[column].nunique(dropna=False)} values and no place",
            hint=Message(
                "add it to ",
                Setting("rows"),
                ", ",
                Setting("columns"),
                " or ",
                Setting("groups"),
                ", or keep the rows of one value",
            ),
            column=column,
        )
    in_table = (*row_columns, *heading_columns, *group_columns)
    constant = tuple(column for column in keys if column not in in_table)
    return ColumnPlacement(tuple(row_columns), tuple(heading_columns), tuple(group_columns), constant)


def _default_row_columns(
    frame: pd.DataFrame, unplaced_varying: Sequence[str], unplaced: Sequence[str]
) -> list[str]:
    """Return the columns that label rows by default.

    One of the columns without a place that vary (`unplaced_varying`) labels the rows, or where there are
    none, one of all `unplaced` columns. Other varying columns label them as well if they have missing
    values.
    """
    candidates = unplaced_varying or unplaced
    preferred = [column for column in _DEFAULT_ROWS if column in candidates]
    # metrics only where there is nothing else
    preferred += sorted(candidates, key=lambda column: column == "metric")
    rows = preferred[:1]
    for column in unplaced_varying:
        is_further = column not in (*_DEFAULT_ROWS, "metric", *rows)
        if is_further and frame[column].isna().any():
            rows.append(column)
    return rows


def _default_heading_columns(unplaced_varying: Sequence[str], *, has_groups: bool) -> list[str]:
    """Return the columns that give headings of columns by default, the outermost first.

    Methods are the innermost, so that they stand side by side; without methods, metrics are the outermost.
    Metrics without a place make groups of rows, unless other columns were named for these (`has_groups`).
    """
    main_heading = None
    if "method" in unplaced_varying:
        main_heading = "method"
    elif "metric" in unplaced_varying:
        main_heading = "metric"
    further = []
    for column in unplaced_varying:
        makes_groups = column == "task" or (column == "metric" and not has_groups)
        if column != main_heading and not makes_groups:
            further.append(column)
    if main_heading == "method":
        return [*further, "method"]
    if main_heading == "metric":
        return ["metric", *further]
    return further


def checked_columns_of_option(keys: Sequence[str], value: Columns, option: str) -> list[str] | None:
    """Return the grouping columns that an option names, None where it names none; raise for other columns."""
    if value is None:
        return None
    names = [value] if isinstance(value, str) else list(value)
    unknown = [name for name in names if name not in keys]
    if unknown:
        raise ColumnError(
            Setting(option),
            f" names {unknown[0]!r}, which is no grouping column of the frame "
            f"(grouping columns: {quoted(keys) or 'none'})",
            value=unknown[0],
            choices=keys,
            column=unknown[0],
        )
    return names


@dataclass(frozen=True)
class CellGrid:
    """The rows of a frame in the cells of a table.

    Attributes
    ----------
    placement : ColumnPlacement
        Where the grouping columns stand.
    group_labels, row_labels : list of tuple of str
        Labels of the group of each row, and of the row.
    column_labels : list of tuple of str
        Headings of each column from the outermost, one column without headings where nothing stands there.
    frame_rows : array of int, shape (n_rows, n_columns)
        The frame's row in each cell, -1 where there is none.
    is_summary_row : list of bool
        Whether each row is an average or all others pooled.
    """

    placement: ColumnPlacement
    group_labels: list[Key]
    row_labels: list[Key]
    column_labels: list[Key]
    frame_rows: np.ndarray
    is_summary_row: list[bool]


def grid_of_frame_row_numbers(frame: pd.DataFrame, placement: ColumnPlacement, labels: Labels) -> CellGrid:
    """Return the frame's row in each cell of a table, rows and columns in the order of labels."""
    texts = {}
    for column in placement.shown_columns:
        texts[column] = [labels.value(column, value) for value in frame[column]]
    # rows of the frame with equal ranks share a row, or a column, of the table
    row_ranks = _label_ranks_of_each_row(frame, (*placement.groups, *placement.rows), labels)
    column_ranks = _label_ranks_of_each_row(frame, placement.columns, labels)
    distinct_row_ranks = sorted(set(row_ranks))
    distinct_column_ranks = sorted(set(column_ranks))
    table_row_of = {ranks: table_row for table_row, ranks in enumerate(distinct_row_ranks)}
    table_column_of = {ranks: table_column for table_column, ranks in enumerate(distinct_column_ranks)}
    frame_rows = np.full((len(distinct_row_ranks), len(distinct_column_ranks)), -1)
    for frame_row in range(len(frame)):
        cell = (table_row_of[row_ranks[frame_row]], table_column_of[column_ranks[frame_row]])
        if frame_rows[cell] >= 0:
            name = ", ".join(f"{column} {texts[column][frame_row]}" for column in placement.shown_columns)
            raise SalstatsError(
                f"{name or 'the table'} has two estimates in one cell (rows {frame_rows[cell]} and "
                f"{frame_row} of the frame)",
                hint="keep one of them, or add the column they differ in to the grouping columns",
                rows=(int(frame_rows[cell]), frame_row),
            )
        frame_rows[cell] = frame_row

    def label_tuples_of_rows(label_columns: Key, label_rows: Sequence[int]) -> list[Key]:
        """Return the labels of some columns in some rows of the frame."""
        labels_of_rows = []
        for frame_row in label_rows:
            labels_of_rows.append(tuple(texts[column][frame_row] for column in label_columns))
        return labels_of_rows

    # the first row of the frame in each row, and in each column, of the table has its labels
    first_of_rows = [row_ranks.index(ranks) for ranks in distinct_row_ranks]
    first_of_columns = [column_ranks.index(ranks) for ranks in distinct_column_ranks]
    is_summary_row = []
    for frame_row in first_of_rows:
        is_summary_row.append(
            any(frame[column].iloc[frame_row] in SUMMARY_LABELS for column in placement.rows)
        )
    return CellGrid(
        placement,
        group_labels=label_tuples_of_rows(placement.groups, first_of_rows),
        row_labels=label_tuples_of_rows(placement.rows, first_of_rows),
        column_labels=label_tuples_of_rows(placement.columns, first_of_columns),
        frame_rows=frame_rows,
        is_summary_row=is_summary_row,
    )


def _label_ranks_of_each_row(frame: pd.DataFrame, columns: Key, labels: Labels) -> list[RanksOfRow]:
    """Return, for each row of a frame, the positions of its values of some columns in the order of labels."""
    if not columns:
        return [()] * len(frame)
    codes_of_columns = [labels.categorical(frame, column).codes.tolist() for column in columns]
    return list(zip(*codes_of_columns, strict=True))


def key_of(frame: pd.DataFrame, row: int, columns: Sequence[str]) -> Key:
    """Return a row's values of some columns as text, missing ones empty.

    Seeds are whole numbers in one frame and floats in another, in which some are missing.
    """
    key = []
    for column in columns:
        value = frame[column].iloc[row]
        if is_missing(value):
            key.append("")
        else:
            key.append(text_of_level(value))
    return tuple(key)


def ordered_group_labels(frame: pd.DataFrame, columns: Sequence[str], labels: Labels) -> dict[Key, str]:
    """Return the label of each combination of some columns' values, in the order of labels."""
    if not columns:
        return {(): ""}
    combinations = frame.drop_duplicates(list(columns)).reset_index(drop=True)
    grid = grid_of_frame_row_numbers(
        combinations, ColumnPlacement(rows=tuple(columns), columns=(), groups=()), labels
    )
    frame_rows = grid.frame_rows[:, 0].tolist()
    groups = {}
    for row_labels, frame_row in zip(grid.row_labels, frame_rows, strict=True):
        groups[key_of(combinations, frame_row, columns)] = ", ".join(row_labels)
    return groups
