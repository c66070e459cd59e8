"""Covariates from other files, joined to scores on case and task."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pandas as pd

from salstats.checks import ColumnError, SalstatsError, quoted
from salstats.frames import IDENTIFIER_COLUMNS, KEY_COLUMNS, join_features
from salstats.readers.cells import PathLike, TableOptions
from salstats.readers.shapes import Layout, combine_case, lacks_case
from salstats.readers.tables import Table, read_table

#: A file or frame of covariates, or covariates by name, each in a file with a task per column.
Join: TypeAlias = PathLike | pd.DataFrame | Mapping[str, PathLike]
#: What is joined: a frame, or a file's cells with the covariate that they are, if they are one.
Joined: TypeAlias = pd.DataFrame | tuple[Table, str | None]


def read_joined(join: Join | Sequence[Join], options: TableOptions) -> list[Joined]:
    """The tables that `join=` names, in order."""
    single = isinstance(join, str | os.PathLike | pd.DataFrame | Mapping)
    entries: Iterable[Any] = [join] if single or not isinstance(join, Iterable) else join
    tables: list[Joined] = []
    for entry in entries:
        if isinstance(entry, pd.DataFrame):
            tables.append(entry)
        elif isinstance(entry, Mapping):
            for name, path in entry.items():
                _check_covariate(name, path)
                tables.append((read_table(path, options), name))
        elif isinstance(entry, str | os.PathLike):
            tables.append((read_table(entry, options), None))
        else:
            raise SalstatsError(
                f"join= takes paths, DataFrames and {{'name': path}}, not {type(entry).__name__}"
            )
    return tables


def _check_covariate(name: object, path: object) -> None:
    """Raise where an entry of a mapping is no name and path."""
    if not isinstance(name, str) or not name.strip() or name in (*IDENTIFIER_COLUMNS, "score"):
        raise SalstatsError(f"join={{{name!r}: ...}} gives no name of a covariate")
    if not isinstance(path, str | os.PathLike):
        raise SalstatsError(f"join={{{name!r}: ...}} must name a file, not a {type(path).__name__}")


def joined_columns(tables: Sequence[Joined]) -> set[str]:
    """The columns of joined files, which `rename=` may name too."""
    return {column for entry in tables if isinstance(entry, tuple) for column in entry[0].columns}


def join_tables(data: pd.DataFrame, tables: Sequence[Joined], layout: Layout) -> pd.DataFrame:
    """Data with the covariates of every table, joined one after the other."""
    for entry in tables:
        if isinstance(entry, pd.DataFrame):
            data = join_features(data, entry)
            continue
        table, covariate = entry
        table = table.renamed({old: new for old, new in layout.rename.items() if old in table.columns})
        if layout.case and "case" not in table.columns and set(layout.case) <= set(table.columns):
            table = combine_case(table, layout.case)
        # the parts of a case's name stand in the scores
        parts = [c for c in layout.case if c in table.columns and c not in KEY_COLUMNS]
        table = table.with_cells(table.cells.drop(columns=parts))
        if "case" not in table.columns:
            raise lacks_case(table, joined=True)
        table = table if covariate is None else _stacked(table, covariate, data)
        # rows are called by their number in the file
        data = join_features(data, table.typed().set_axis(table.rows), name=str(table.file))
    return data


def _stacked(table: Table, name: str, data: pd.DataFrame) -> Table:
    """A table with a task per column as one covariate of cases and tasks."""
    file = table.file
    if "task" not in data.columns:
        raise ColumnError(
            f"join={{{name!r}: {str(file)!r}}} needs a column 'task' in the scores; {file} is joined on it"
        )
    if "task" in table.columns:
        raise ColumnError(f"{file} has a column 'task', so it is not wide by task; join it without {name!r}")
    known = set(pd.unique(data["task"]))
    tasks = [c for c in table.columns if c in known]
    if not tasks:
        raise ColumnError(
            f"{file} has no column named like a task of the scores (columns: {quoted(table.columns)}; "
            f"tasks: {quoted(sorted(known))})"
        )
    keys = [c for c in ("dataset", "case") if c in table.columns]
    cells = table.cells.melt(keys, tasks, var_name="task", value_name=name, ignore_index=False)
    return table.with_cells(cells)
