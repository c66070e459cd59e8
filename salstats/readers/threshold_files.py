"""Read tables of thresholds, probability cut-offs and filter sizes, one for each task."""

from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import check_choice
from salstats.errors import ColumnError, SalstatsError, ValueRangeError
from salstats.images.maps import LARGEST_BOX
from salstats.readers.cells import PathLike
from salstats.readers.chexlocalize_maps import canonical_task_name
from salstats.readers.tables import FileTable, read_known_format_table

#: Kind of number -> the columns that may hold it; `prob_threshold` is that of the CheXlocalize release.
COLUMNS = {"threshold": ("threshold",), "cutoff": ("cutoff", "prob_threshold"), "smooth": ("smooth",)}
#: Column of the mean IoU at each cut-off of the release's table; the cut-off of the first maximum counts.
_MIOU = "mIoU"
#: Name of a task, and of a series of maps, None where a number is that of all series.
TaskAndSeries = tuple[str, str | None]
#: Columns that tell one series of maps from another.
_SERIES = ("method", "model", "seed")


def read_thresholds(path: PathLike, *, what: str | None = None) -> dict[TaskAndSeries, float]:
    """Read one number for each task: (task, series or None) -> threshold, cut-off or filter size to use.

    Three forms are read: a value per task (the release's `tuning_results.csv`); every value tried with its
    `mIoU`, of which the first maximum counts (`probability_tuning_results.csv`); and the table that `tune`
    gives, of which the rows `chosen` count. The column is `threshold`, `cutoff` (`prob_threshold`) or
    `smooth`, that of `what` where it is given; `method`, `model` and `seed` say where values differ by the
    series (`method[:model[:seed]]`).
    """
    if what is not None:
        check_choice(what, tuple(COLUMNS), "what")
    table = read_known_format_table(Path(path), ColumnError)
    kind, column = _kind_and_column(table, what)
    table.check_columns(["task"], f"each task has its own {kind}")
    tasks = [canonical_task_name(task) for task in table.nonempty_texts("task")]
    keys = pd.Series([*zip(tasks, _series_text_of_each_row(table), strict=True)], dtype=object)
    values = table.numbers(column)
    numbers: dict[TaskAndSeries, float] = {}
    for row in np.flatnonzero(_is_row_to_use(table, keys)).tolist():
        key = keys[row]
        if key in numbers:
            raise ColumnError(
                f"{table.location(row)}: a second {kind} for {_key_text(key)}",
                hint=f"one row each, or a column {_MIOU!r} or 'chosen' that says which",
                column=column,
                rows=[row],
                path=table.file,
            )
        if np.isnan(values[row]):
            raise _undefined_error(table, row, key, kind)
        numbers[key] = _checked_number(table, row, kind, column, float(values[row]))
    rows_without = np.flatnonzero(~keys.isin(numbers))
    if rows_without.size:
        key = keys[int(rows_without[0])]
        raise ColumnError(
            f"{table.file}: {_key_text(key)} has no defined {kind}",
            hint="give it one, or leave it out",
            rows=rows_without.tolist(),
            path=table.file,
        )
    return numbers


def _undefined_error(table: FileTable, row: int, key: TaskAndSeries, kind: str) -> SalstatsError:
    """Make the error of a row that should hold a number and holds none."""
    return ColumnError(
        f"{table.location(row)}: {_key_text(key)} has no defined {kind}", rows=[row], path=table.file
    )


def _kind_and_column(table: FileTable, what: str | None) -> tuple[str, str]:
    """Return the kind of number that a table holds, and its column."""
    file = table.file
    pairs = [(kind, name) for kind, names in COLUMNS.items() for name in names if name in table.columns]
    if not pairs:
        columns = [name for kind, names in COLUMNS.items() if what in (None, kind) for name in names]
        raise ColumnError(
            f"{file} has no column {' or '.join(map(repr, columns))}", column=columns[0], path=file
        )
    kind, column = pairs[0]
    if len(pairs) > 1:
        raise ColumnError(
            f"{file} has columns {column!r} and {pairs[1][1]!r}",
            hint="keep one of them",
            column=column,
            path=file,
        )
    if what is not None and kind != what:
        raise ColumnError(
            f"{file} holds a {kind} for each task, and a {what} is wanted", column=column, path=file
        )
    return kind, column


def _series_text_of_each_row(table: FileTable) -> list[str] | list[None]:
    """Return the series of each row, None where the table does not tell methods apart."""
    columns = [column for column in _SERIES if column in table.columns]
    if not columns:
        return [None] * len(table)
    table.check_columns(["method"], f"it has {columns[0]!r}")
    texts = [table.nonempty_texts("method"), *(table.text_or_empty(column) for column in columns[1:])]
    # a model or seed that is empty does not apply
    return [":".join(filter(None, names)) for names in zip(*texts, strict=True)]


def _is_row_to_use(table: FileTable, keys: pd.Series) -> np.ndarray:
    """Return a mask of the rows that count: those chosen, or the first maximum of the mean IoU, or all."""
    if "chosen" in table.columns:
        reason = "is neither True nor False"
        return table.numbers("chosen", lambda v: ~np.isin(v, (0, 1)), reason).astype(bool)
    if _MIOU not in table.columns:
        return np.ones(len(table), dtype=bool)
    means = pd.Series(table.numbers(_MIOU)).dropna()
    best_rows = means.groupby(keys[means.index]).idxmax()
    return np.isin(np.arange(len(table)), best_rows)


def _checked_number(table: FileTable, row: int, kind: str, column: str, value: float) -> float:
    """Return a threshold, cut-off or filter size; ValueRangeError where it is out of range."""
    if kind == "smooth":
        is_valid = 0 <= value <= LARGEST_BOX and value % 1 == 0
        rule = f"a filter is a whole number of pixels from 0 to {LARGEST_BOX}, not {value:g}"
    else:
        is_valid = 0 <= value <= 1
        rule = f"a {kind} lies between 0 and 1, not at {value:g}"
    if not is_valid:
        raise ValueRangeError(
            f"{table.location(row, column)}: {rule}", column=column, rows=[row], path=table.file
        )
    return value


def _key_text(key: TaskAndSeries) -> str:
    """Write a task, and its method where there is one, for a message."""
    task, series = key
    if series is None:
        return f"task {task}"
    return f"task {task}, method {series}"
