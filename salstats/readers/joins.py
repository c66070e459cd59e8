"""Covariates from other frames and files, joined to scores on case and task."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from salstats.checks import check_columns, check_frame, quoted
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, Message, SalstatsError, Setting, warn
from salstats.frames import IDENTIFIER_COLUMNS, KEY_COLUMNS, combined_codes, earlier_row_and_first_repeat
from salstats.readers.cells import EXACT_FLOAT_LIMIT, PathLike, TableOptions
from salstats.readers.score_layouts import ScoreLayout, missing_case_error, with_combined_case
from salstats.readers.tables import FileTable, read_table

#: A file or frame of covariates, or a file for each covariate's name, with a task per column.
Join: TypeAlias = PathLike | pd.DataFrame | Mapping[str, PathLike]


class FileToJoin(NamedTuple):
    """The table of a file of covariates."""

    table: FileTable
    #: Name of the covariate that all columns of tasks hold; None where each column is a covariate of its own.
    covariate: str | None


TableToJoin: TypeAlias = pd.DataFrame | FileToJoin


def join_features(scores: pd.DataFrame, features: pd.DataFrame, *, name: str = "features") -> pd.DataFrame:
    """Join covariates to scores on case and task (and data set), never on row position.

    Parameters
    ----------
    scores : DataFrame
        A scores frame.
    features : DataFrame
        One row per case, or per case and task, with covariate columns.
    name : str
        Name of `features` in messages, such as its file.

    Returns
    -------
    DataFrame
        `scores` with its rows, index and identifiers as they are and the columns of `features` added. Cases
        that `features` lacks have NaN, with a warning that counts them.

    Raises
    ------
    ColumnError
        A frame has no column `case`; a case or task of `features` is empty or in two rows; a column is in
        both frames; a column of `features` is named like a task; no case is in both.

    Notes
    -----
    Identifiers are compared as text: the number 7 is "7", and "007" is another case. Floats from 2^53 on are
    an error, as they are not exact.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> scores = pd.DataFrame({"case": ["a", "b"], "method": "gradcam", "metric": "iou", "score": [0.2, 0.4]})
    >>> ss.join_features(scores, pd.DataFrame({"case": ["b", "a"], "size": [3.0, 1.0]}))
      case   method metric  score  size
    0    a  gradcam    iou    0.2   1.0
    1    b  gradcam    iou    0.4   3.0
    """
    return _join(scores, features, name)


def _join(scores: pd.DataFrame, features: pd.DataFrame, name: str, path: Path | None = None) -> pd.DataFrame:
    """Join a frame of covariates, or the table of the file `path`, as `join_features` does."""
    check_frame(scores)
    check_frame(features, name)
    check_columns(scores, ["case"])
    check_columns(features, ["case"], name)
    on = [c for c in ("dataset", "case", "task") if c in features.columns and c in scores.columns]
    if "task" in scores.columns and "task" not in features.columns:
        tasks = set(scores["task"].dropna().astype(TEXT))
        wide = [c for c in features.columns if str(c) in tasks]
        if wide:
            raise ColumnError(
                f"{name} is wide by task (its column {str(wide[0])!r} is a task of the scores)",
                hint=Message("join it with ", Setting("join", {"name": name})),
                option="join",
                column=str(wide[0]),
            )
    shared = [c for c in features.columns if c in scores.columns and c not in on]
    if shared:
        raise ColumnError(
            f"column {quoted(shared[:1])} is in {name} and in the scores",
            hint="rename one of them",
            column=str(shared[0]),
        )
    scores_keys = pd.DataFrame({c: _identifier_text(scores[c], "scores") for c in on})
    features_keys = pd.DataFrame({c: _identifier_text(features[c], name) for c in on})
    row_names = features.index.to_numpy()
    for column in on:
        empty = features_keys[column].isna() | features_keys[column].eq("")
        if empty.any():
            position = int(np.flatnonzero(empty.to_numpy())[0])
            raise ColumnError(
                f"column {column!r} of {name} is empty in row {row_names[position]}",
                hint="every row needs one",
                column=column,
                rows=[position],
                path=path,
            )
    codes = combined_codes(pd.concat([features_keys, scores_keys], ignore_index=True), on)
    features_codes = codes[: len(features_keys)]
    scores_codes = codes[len(features_keys) :]
    if np.bincount(features_codes).max(initial=0) > 1:
        first, second = earlier_row_and_first_repeat(features_codes)
        case = ", ".join(f"{c} {features_keys[c].iloc[first]}" for c in on)
        hint = ""
        if "task" not in on:
            hint = "if they differ by task, both frames need a column 'task'"
        raise ColumnError(
            f"rows {row_names[first]} and {row_names[second]} of {name} are the same case ({case})",
            hint=hint,
            column="case",
            rows=[first, second],
            path=path,
        )
    row_of_code = np.full(int(codes.max()) + 1, -1)
    row_of_code[features_codes] = np.arange(len(features_keys))
    # for each row of the scores the row of the features, -1 where these lack the case
    rows = row_of_code[scores_codes]
    key_names = " and ".join(on)
    if (rows < 0).all():
        first_features = ", ".join(features_keys.iloc[0])
        first_scores = ", ".join(scores_keys.iloc[0].astype(TEXT))
        raise ColumnError(
            f"no {key_names} of {name} is in the scores (first there: {first_features}; in the scores: "
            f"{first_scores})",
            value=first_features,
            choices=[first_scores],
            column="case",
            path=path,
        )
    if (rows < 0).any():
        unmatched = scores_keys[rows < 0].drop_duplicates()
        n_keys = len(scores_keys.drop_duplicates())
        first_unmatched = ", ".join(unmatched.iloc[0].astype(TEXT))
        warn(
            f"{name} has nothing on {len(unmatched)} of {n_keys} {key_names}s (first: {first_unmatched})",
            hint="their covariates are empty",
            value=list(unmatched.itertuples(index=False, name=None)),
            rows=np.flatnonzero(rows < 0).tolist(),
            path=path,
        )
    # the features have no row -1, so that reindexing leaves its cells empty
    added = features.drop(columns=on).reset_index(drop=True).reindex(rows).set_axis(scores.index)
    return pd.concat([scores, added], axis=1)


def _identifier_text(column: pd.Series, frame_name: str) -> pd.Series:
    """Return identifiers as text without an index; a whole number loses a trailing '.0'.

    ColumnError where floats are too large to tell whole numbers apart.
    """
    if pd.api.types.is_float_dtype(column):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        inexact = np.flatnonzero(np.abs(numbers) >= EXACT_FLOAT_LIMIT)
        if inexact.size:
            first = int(inexact[0])
            raise ColumnError(
                f"column {column.name!r} of {frame_name} holds floats from 2^53 on, "
                f"such as {numbers[first]:.0f} in row {column.index[first]}, each of which may stand for "
                "several names",
                hint="make the names text or whole numbers where the frame is made",
                option=frame_name,
                column=str(column.name),
                rows=inexact.tolist(),
            )
        if (column.dropna() % 1 == 0).all():
            column = column.astype("Int64")
    return column.astype(TEXT).reset_index(drop=True)


def read_tables_to_join(join: Join | Sequence[Join], options: TableOptions) -> list[TableToJoin]:
    """Return the frames, and the tables of the files, that `join` names, in its order."""
    entries: Iterable[Any]
    if isinstance(join, str | os.PathLike | pd.DataFrame | Mapping) or not isinstance(join, Iterable):
        entries = [join]
    else:
        entries = join
    tables: list[TableToJoin] = []
    for entry in entries:
        if isinstance(entry, pd.DataFrame):
            tables.append(entry)
        elif isinstance(entry, Mapping):
            for covariate, path in entry.items():
                _check_covariate_name_and_path(covariate, path)
                tables.append(FileToJoin(read_table(path, options), covariate))
        elif isinstance(entry, str | os.PathLike):
            tables.append(FileToJoin(read_table(entry, options), None))
        else:
            raise SalstatsError(
                Setting("join"),
                f" takes paths, DataFrames and {{'name': path}}, not {type(entry).__name__}",
                value=entry,
            )
    return tables


def _check_covariate_name_and_path(name: object, path: object) -> None:
    """Raise where an entry of a mapping is not the name of a covariate and a path."""
    if not isinstance(name, str) or not name.strip() or name in (*IDENTIFIER_COLUMNS, "score"):
        raise SalstatsError(
            Setting("join"), f" gives {name!r}, which cannot be the name of a covariate", value=name
        )
    if not isinstance(path, str | os.PathLike):
        raise SalstatsError(
            Setting("join"),
            f" must name the file of {name!r}, not a {type(path).__name__}",
            value=path,
            column=name,
        )


def all_columns_of_joined_files(tables: Sequence[TableToJoin]) -> set[str]:
    """Return the names of all columns in joined files."""
    return {column for entry in tables if isinstance(entry, FileToJoin) for column in entry.table.columns}


def paths_of_joined_files(tables: Sequence[TableToJoin]) -> list[Path]:
    """Return the paths of joined files."""
    return [entry.table.file for entry in tables if isinstance(entry, FileToJoin)]


def join_tables(data: pd.DataFrame, tables: Sequence[TableToJoin], layout: ScoreLayout) -> pd.DataFrame:
    """Join the covariates of every table to the data, one table after the other."""
    for entry in tables:
        if isinstance(entry, pd.DataFrame):
            data = join_features(data, entry)
            continue
        table, covariate = entry
        rename = {name: new_name for name, new_name in layout.rename.items() if name in table.columns}
        table = table.renamed(rename)
        if (
            layout.case_columns
            and "case" not in table.columns
            and set(layout.case_columns) <= set(table.columns)
        ):
            table = with_combined_case(table, layout.case_columns)
        # the scores already have the columns that a case's name is made of
        case_columns = [c for c in layout.case_columns if c in table.columns and c not in KEY_COLUMNS]
        table = table.with_cells(table.cells.drop(columns=case_columns))
        if "case" not in table.columns:
            raise missing_case_error(table, joined=True)
        if covariate is not None:
            table = _stack_task_columns(table, covariate, data)
        # messages name a row by its number in the file
        data = _join(data, table.typed_frame().set_axis(table.row_numbers), str(table.file), table.file)
    return data


def _stack_task_columns(table: FileTable, covariate: str, scores: pd.DataFrame) -> FileTable:
    """Return a table with a task per column as a table with a row per case and task and one covariate."""
    file = table.file
    if "task" not in scores.columns:
        raise ColumnError(
            Setting("join", {covariate: str(file)}),
            " needs a column 'task' in the scores",
            hint=f"{file} is joined on it",
            column="task",
            path=file,
        )
    if "task" in table.columns:
        raise ColumnError(
            f"{file} has a column 'task', so it is not wide by task",
            hint=f"join it without {covariate!r}",
            option="join",
            column="task",
            path=file,
        )
    score_tasks = set(pd.unique(scores["task"]))
    tasks = [c for c in table.columns if c in score_tasks]
    if not tasks:
        raise ColumnError(
            f"{file} has no column named like a task of the scores (columns: {quoted(table.columns)}; "
            f"tasks: {quoted(sorted(score_tasks))})",
            choices=sorted(score_tasks),
            path=file,
        )
    keys = [c for c in ("dataset", "case") if c in table.columns]
    cells = table.cells.melt(keys, tasks, var_name="task", value_name=covariate, ignore_index=False)
    return table.with_cells(cells)
