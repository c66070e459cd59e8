"""Which grouping column goes where in a table, and which row of a frame stands in which cell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, quoted
from salstats.display.text.labels import LAST, Labels

Key = tuple[str, ...]
#: What ends the grouping columns of an estimates frame.
_AFTER_KEYS = ("reference", "formula", "term", "estimate")
#: Which column gives the rows, where nobody says: the first of these that varies.
_ROWS = ("y", "task", "method")


def grouping_columns(frame: pd.DataFrame) -> list[str]:
    """The columns before `reference`, `formula`, `term` and `estimate`."""
    names = [str(c) for c in frame.columns]
    return names[: min((names.index(c) for c in _AFTER_KEYS if c in names), default=0)]


def varies(frame: pd.DataFrame, column: str) -> bool:
    """Whether a column has two values, a missing one counting as one."""
    return bool(frame[column].nunique(dropna=False) > 1)


@dataclass(frozen=True)
class Placement:
    """Grouping columns by where they stand; `constant` ones are said in a note."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    groups: tuple[str, ...]
    constant: tuple[str, ...] = ()

    @property
    def placed(self) -> tuple[str, ...]:
        """All columns that stand in the table."""
        return (*self.groups, *self.rows, *self.columns)


def place(
    frame: pd.DataFrame,
    keys: Sequence[str],
    rows: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    groups: str | Sequence[str] | None = None,
) -> Placement:
    """Where each grouping column stands: as asked for, the rest by what varies.

    Rows are what was correlated with, else tasks, else methods. Methods stand in columns where they are
    not the rows, else metrics do. Metrics that have no place then, and tasks, make groups of rows. What
    else varies stands above the columns; beside the rows where some rows have no value of it.
    """
    given = {name: _asked(keys, value, name) for name, value in
             (("rows", rows), ("columns", columns), ("groups", groups))}  # fmt: skip
    asked = [c for part in given.values() for c in part or ()]
    if len(set(asked)) < len(asked):
        raise ColumnError(f"rows, columns and groups name a column twice: {quoted(asked)}")
    free = [c for c in keys if varies(frame, c) and c not in asked]
    row_part, column_part, group_part = given["rows"], given["columns"], given["groups"]
    if row_part is None:
        first = _row_column(free) or _row_column([c for c in keys if c not in asked])
        nested = [c for c in free if c not in (*_ROWS, "metric", *first) and frame[c].isna().any()]
        row_part = [*first, *nested]
        free = [c for c in free if c not in row_part]
    if column_part is None:
        inner = _first(free, ("method", "metric"))
        above = [c for c in free if c not in (inner, "task") and (c != "metric" or group_part is not None)]
        column_part = [*above, inner] if inner == "method" else [*([inner] if inner else []), *above]
        free = [c for c in free if c not in column_part]
    if group_part is None:
        group_part, free = sorted(free, key=lambda c: c != "metric"), []
    if free:
        raise ColumnError(
            f"grouping column {free[0]!r} has {frame[free[0]].nunique(dropna=False)} values and no place; "
            "add it to rows, columns or groups, or keep the rows of one value"
        )
    placed = {*row_part, *column_part, *group_part}
    constant = tuple(c for c in keys if c not in placed)
    return Placement(tuple(row_part), tuple(column_part), tuple(group_part), constant)


def _asked(keys: Sequence[str], value: str | Sequence[str] | None, option: str) -> list[str] | None:
    """The columns an option names."""
    if value is None:
        return None
    names = [value] if isinstance(value, str) else list(value)
    unknown = [c for c in names if c not in keys]
    if unknown:
        raise ColumnError(
            f"{option} names {unknown[0]!r}, which is no grouping column of the frame "
            f"(grouping columns: {quoted(keys) or 'none'})"
        )
    return names


def _row_column(candidates: Sequence[str]) -> list[str]:
    """The column that gives the rows, metrics only where there is nothing else."""
    by_preference = [*(c for c in _ROWS if c in candidates), *_metric_last(candidates)]
    return by_preference[:1]


def _first(free: Sequence[str], preferred: Sequence[str]) -> str | None:
    """The first preferred column that is free."""
    return next((c for c in preferred if c in free), None)


def _metric_last(columns: Sequence[str]) -> list[str]:
    """Columns with `metric` behind the others."""
    return sorted(columns, key=lambda c: c == "metric")


@dataclass(frozen=True)
class Slots:
    """A frame laid out.

    Attributes
    ----------
    placement : Placement
        Which column stands where.
    groups, rows : list of tuple of str
        Labels of each table row's group and of the row itself.
    columns : list of tuple of str
        Labels of each column, from the outermost heading; one empty tuple where nothing stands in columns.
    index : ndarray of int, shape (rows, columns)
        Row of the frame in each cell, -1 where there is none.
    last : list of bool
        Whether a table row is an average or pooled.
    """

    placement: Placement
    groups: list[Key]
    rows: list[Key]
    columns: list[Key]
    index: np.ndarray
    last: list[bool]

    @property
    def group_labels(self) -> list[str]:
        """Label of each table row's group, nothing where rows are not grouped."""
        return [", ".join(group) for group in self.groups] if self.placement.groups else []

    @property
    def apart(self) -> set[int]:
        """The first average or pooled row of each group that has others."""
        return {
            i
            for i in range(1, len(self.rows))
            if self.last[i] and not self.last[i - 1] and self.groups[i] == self.groups[i - 1]
        }


def lay_out(frame: pd.DataFrame, placement: Placement, labels: Labels) -> Slots:
    """Which row of the frame stands in which cell, rows and columns in the order of labels."""
    ranks, texts = {}, {}
    for column in placement.placed:
        values = labels.categorical(frame, column)
        ranks[column] = np.asarray(values.codes)
        texts[column] = [labels.value(column, v) for v in frame[column]]
    down = (*placement.groups, *placement.rows)
    row_of, row_first = _positions(ranks, down, len(frame))
    column_of, column_first = _positions(ranks, placement.columns, len(frame))
    index = np.full((len(row_first), len(column_first)), -1)
    for i, cell in enumerate(zip(row_of, column_of, strict=True)):
        if index[cell] >= 0:
            raise SalstatsError(
                f"{_named(texts, placement, i)} has two estimates in one cell (rows {index[cell]} and {i} of "
                "the frame); keep one of them, or add the column they differ in to the grouping columns"
            )
        index[cell] = i
    return Slots(
        placement=placement,
        groups=[tuple(texts[c][i] for c in placement.groups) for i in row_first],
        rows=[tuple(texts[c][i] for c in placement.rows) for i in row_first],
        columns=[tuple(texts[c][i] for c in placement.columns) for i in column_first],
        index=index,
        last=[any(frame[c].iloc[i] in LAST for c in placement.rows) for i in row_first],
    )


def key_of(frame: pd.DataFrame, row: int, columns: Sequence[str]) -> tuple[str, ...]:
    """A row's values of some columns as text, missing ones empty."""
    values = (frame[c].iloc[row] for c in columns)
    return tuple("" if v is None or v != v else str(v) for v in values)


def ordered_groups(frame: pd.DataFrame, columns: Sequence[str], labels: Labels) -> dict[tuple[str, ...], str]:
    """The label of each combination of some columns' values, in the order of labels."""
    if not columns:
        return {(): ""}
    first = frame.drop_duplicates(list(columns)).reset_index(drop=True)
    slots = lay_out(first, Placement(tuple(columns), (), ()), labels)
    return {
        key_of(first, i, columns): ", ".join(row)
        for row, (i,) in zip(slots.rows, slots.index.tolist(), strict=True)
    }


def _positions(ranks: dict[str, np.ndarray], columns: Sequence[str], n: int) -> tuple[np.ndarray, list[int]]:
    """Each frame row's place among the distinct keys in order, and a frame row of each key."""
    keys = [tuple(int(ranks[c][i]) for c in columns) for i in range(n)]
    order = {key: place for place, key in enumerate(sorted(set(keys)))}
    places = np.array([order[key] for key in keys], dtype=np.int64)
    first = {place: i for i, place in reversed(list(enumerate(places)))}
    return places, [first[place] for place in range(len(order))]


def _named(texts: dict[str, list[str]], placement: Placement, i: int) -> str:
    """The keys of a frame row for a message."""
    return ", ".join(f"{c} {texts[c][i]}" for c in placement.placed) or "the table"
