"""Which grouping column goes where in a table, and which row of a frame stands in which cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, quoted
from salstats.display.estimates import Estimates
from salstats.display.text.labels import LAST, Labels

Key = tuple[str, ...]
#: One column, several, or what goes by itself.
Columns = str | Sequence[str] | None
#: Which column gives the rows, where nobody says: the first of these that varies.
_ROWS = ("y", "pair", "task", "method")


class Placement(NamedTuple):
    """Grouping columns by where they stand; `constant` ones are said in a note."""

    rows: Key
    columns: Key
    groups: Key
    constant: Key = ()

    @property
    def placed(self) -> Key:
        """All columns that stand in the table."""
        return (*self.groups, *self.rows, *self.columns)


def place(
    estimates: Estimates,
    keys: Sequence[str],
    rows: Columns = None,
    columns: Columns = None,
    groups: Columns = None,
) -> Placement:
    """Where each grouping column stands: as asked for, the rest by what varies.

    Rows are what was correlated with, else tasks, else methods. Methods stand in columns where they are
    not the rows, else metrics do. Metrics that have no place then, and tasks, make groups of rows. What
    else varies stands above the columns; beside the rows where some rows have no value of it.
    """
    down, across = named_columns(keys, rows, "rows"), named_columns(keys, columns, "columns")
    apart = named_columns(keys, groups, "groups")
    asked = [*(down or ()), *(across or ()), *(apart or ())]
    if len(set(asked)) < len(asked):
        raise ColumnError(f"rows, columns and groups name a column twice: {quoted(asked)}")
    frame = estimates.frame
    free = [c for c in keys if estimates.varies(c) and c not in asked]
    if down is None:
        # metrics only where there is nothing else
        left = free or [c for c in keys if c not in asked]
        first = [*(c for c in _ROWS if c in left), *sorted(left, key=lambda c: c == "metric")][:1]
        nested = [c for c in free if c not in (*_ROWS, "metric", *first) and frame[c].isna().any()]
        down = [*first, *nested]
        free = [c for c in free if c not in down]
    if across is None:
        inner = [c for c in ("method", "metric") if c in free][:1]
        above = [c for c in free if c not in (*inner, "task") and (c != "metric" or apart is not None)]
        across = [*above, *inner] if inner == ["method"] else [*inner, *above]
        free = [c for c in free if c not in across]
    if apart is None:
        apart, free = sorted(free, key=lambda c: c != "metric"), []
    if free:
        raise ColumnError(
            f"grouping column {free[0]!r} has {frame[free[0]].nunique(dropna=False)} values and no place; "
            "add it to rows, columns or groups, or keep the rows of one value"
        )
    constant = tuple(c for c in keys if c not in (*down, *across, *apart))
    return Placement(tuple(down), tuple(across), tuple(apart), constant)


def named_columns(keys: Sequence[str], value: Columns, option: str) -> list[str] | None:
    """The grouping columns that an option names."""
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


@dataclass(frozen=True)
class Slots:
    """A frame laid out: labels of each row's group, of the row and of each column from the outermost heading.

    `index` is the row of the frame in each cell, -1 where there is none; `last` says which rows are averages
    or pooled. Where nothing stands in columns there is one without a label.
    """

    placement: Placement
    groups: list[Key]
    rows: list[Key]
    columns: list[Key]
    index: np.ndarray
    last: list[bool]


def lay_out(frame: pd.DataFrame, placement: Placement, labels: Labels) -> Slots:
    """Which row of the frame stands in which cell, rows and columns in the order of labels."""
    ranks = {c: labels.categorical(frame, c).codes for c in placement.placed}
    texts = {c: [labels.value(c, v) for v in frame[c]] for c in placement.placed}
    down, across = (
        [tuple(int(ranks[c][i]) for c in part) for i in range(len(frame))]
        for part in ((*placement.groups, *placement.rows), placement.columns)
    )
    row_of, column_of = ({key: j for j, key in enumerate(sorted(set(keys)))} for keys in (down, across))
    index = np.full((len(row_of), len(column_of)), -1)
    for i, cell in enumerate((row_of[d], column_of[a]) for d, a in zip(down, across, strict=True)):
        if index[cell] >= 0:
            named = ", ".join(f"{c} {texts[c][i]}" for c in placement.placed) or "the table"
            raise SalstatsError(
                f"{named} has two estimates in one cell (rows {index[cell]} and {i} of the frame); keep one "
                "of them, or add the column they differ in to the grouping columns"
            )
        index[cell] = i

    def of(columns: Key, keys: Sequence[tuple[int, ...]]) -> list[Key]:
        return [tuple(texts[c][keys.index(key)] for c in columns) for key in sorted(set(keys))]

    last = [any(frame[c].iloc[down.index(key)] in LAST for c in placement.rows) for key in row_of]
    groups, rows = of(placement.groups, down), of(placement.rows, down)
    return Slots(placement, groups, rows, of(placement.columns, across), index, last)


def key_of(frame: pd.DataFrame, row: int, columns: Sequence[str]) -> Key:
    """A row's values of some columns as text, missing ones empty."""
    values = (frame[c].iloc[row] for c in columns)
    return tuple("" if v is None or v != v else str(v) for v in values)


def ordered_groups(frame: pd.DataFrame, columns: Sequence[str], labels: Labels) -> dict[Key, str]:
    """The label of each combination of some columns' values, in the order of labels."""
    if not columns:
        return {(): ""}
    first = frame.drop_duplicates(list(columns)).reset_index(drop=True)
    slots = lay_out(first, Placement(tuple(columns), (), ()), labels)
    places = slots.index[:, 0].tolist()
    return {key_of(first, i, columns): ", ".join(row) for row, i in zip(slots.rows, places, strict=True)}
