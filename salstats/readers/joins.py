"""Covariates from other files, joined to scores on case and task."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, quoted, warn
from salstats.frames import IDENTIFIER_COLUMNS, KEY_COLUMNS, join_features
from salstats.readers.cases import combine_case, lacks_case
from salstats.readers.cells import covariate, covariate_text
from salstats.readers.shapes import Layout, renamed, typed
from salstats.readers.tables import PathLike, TableOptions, read_table

#: A file or frame of covariates, or covariates by name, each in a file with a task per column.
Join: TypeAlias = PathLike | pd.DataFrame | Mapping[str, PathLike]


@dataclass(frozen=True)
class JoinedTable:
    """A table to join: of a file its cells as they stand, and the covariate it is, if it is one."""

    table: pd.DataFrame
    file: Path | None = None
    covariate: str | None = None


def read_joined(join: Join | Sequence[Join] | None, options: TableOptions) -> list[JoinedTable]:
    """Return the tables that `join=` names, in order, with the columns their files have."""
    if join is None:
        return []
    single = isinstance(join, str | os.PathLike | pd.DataFrame | Mapping)
    entries: Iterable[Any] = [join] if single or not isinstance(join, Iterable) else join
    tables = []
    for entry in entries:
        if isinstance(entry, pd.DataFrame):
            tables.append(JoinedTable(entry))
        elif isinstance(entry, Mapping):
            for name, path in entry.items():
                _check_covariate(name, path)
                tables.append(JoinedTable(read_table(path, options), Path(path), name))
        elif isinstance(entry, str | os.PathLike):
            tables.append(JoinedTable(read_table(entry, options), Path(entry)))
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


def joined_columns(tables: Sequence[JoinedTable]) -> set[str]:
    """Return the columns of joined files, which `rename=` may name too."""
    return {str(column) for joined in tables if joined.file is not None for column in joined.table.columns}


def join_tables(
    data: pd.DataFrame, tables: Sequence[JoinedTable], layout: Layout, options: TableOptions
) -> pd.DataFrame:
    """Return data with the covariates of every table, joined one after the other."""
    for joined in tables:
        if joined.file is None:
            data = join_features(data, joined.table)
            continue
        file = joined.file
        rename = {old: new for old, new in layout.rename.items() if old in joined.table.columns}
        raw, first_row = renamed(joined.table, rename, file)
        if layout.case and "case" not in raw.columns and set(layout.case) <= set(raw.columns):
            raw = combine_case(raw, layout.case, file, first_row)
        # the parts of a case's name stand in the scores
        raw = raw.drop(columns=[c for c in layout.case if c in raw.columns and c not in KEY_COLUMNS])
        if "case" not in raw.columns:
            raise lacks_case(raw, file, options, joined=True)
        if joined.covariate is None:
            features = typed(raw, file, options, first_row)
            rows = np.arange(len(raw)) + first_row
        else:
            features, rows = _stack_covariate(raw, joined.covariate, data, file, options, first_row)
        # rows are called by their number in the file
        data = join_features(data, features.set_axis(rows), name=str(file))
    return data


def _stack_covariate(
    raw: pd.DataFrame, name: str, data: pd.DataFrame, file: Path, options: TableOptions, first_row: int
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a file with a task per column as one covariate of cases and tasks, and its rows there."""
    shown = f"join={{{name!r}: {str(file)!r}}}"
    if "task" not in data.columns:
        raise ColumnError(f"{shown} needs a column 'task' in the scores; {file} is joined on it")
    if "task" in raw.columns:
        raise ColumnError(f"{file} has a column 'task', so it is not wide by task; join it without {name!r}")
    known = set(pd.unique(data["task"]))
    tasks = [c for c in raw.columns if c in known]
    if not tasks:
        raise ColumnError(
            f"{file} has no column named like a task of the scores (columns: {quoted(raw.columns)}; "
            f"tasks: {quoted(sorted(known))})"
        )
    values = {task: covariate(raw[task], file, options, first_row) for task in tasks}
    texts = [task for task in tasks if isinstance(values[task].dtype, pd.StringDtype)]
    if texts and len(texts) < len(tasks):
        number = next(task for task in tasks if task not in texts)
        warn(f"{file}: column {texts[0]!r} holds text and {number!r} numbers; {name} is read as text")
        values = {task: covariate_text(column) for task, column in values.items()}
    kept = typed(raw[[c for c in ("dataset", "case") if c in raw.columns]], file, options, first_row)
    parts = []
    for task in tasks:
        part = kept.copy()
        part["task"] = pd.Series(task, index=part.index, dtype="str")
        part[name] = values[task]
        parts.append(part)
    return pd.concat(parts, ignore_index=True), np.tile(np.arange(len(raw)) + first_row, len(tasks))
