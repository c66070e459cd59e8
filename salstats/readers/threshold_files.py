"""Read tables of thresholds, probability cut-offs and filter sizes, one for each task."""

from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import check_choice
from salstats.errors import ColumnError, SalstatsError, ValueRangeError
from salstats.images.maps import LARGEST_FILTER_SIDE
from salstats.readers.cells import PathLike
from salstats.readers.chexlocalize_maps import canonical_task_name
from salstats.readers.tables import FileTable, read_fixed_columns_table

#: Kind of number -> the columns that may hold it; the CheXlocalize release has `prob_threshold`.
COLUMNS_BY_KIND = {
    "threshold": ("threshold",),
    "cutoff": ("cutoff", "prob_threshold"),
    "smooth": ("smooth",),
}
#: Column of the mean IoU at each cut-off in the release's table; the cut-off of its first maximum counts.
_MEAN_IOU_COLUMN = "mIoU"
#: Name of a task, and of a series of maps, None where a number is for all series.
TaskAndSeries = tuple[str, str | None]
#: Columns that tell one series of maps from another.
_SERIES_COLUMNS = ("method", "model", "seed")


def read_thresholds(path: PathLike, *, what: str | None = None) -> dict[TaskAndSeries, float]:
    """Read one threshold, cut-off or filter size for each task, and for each series where there are several.

    Three forms are read: a value per task (the release's `tuning_results.csv`); every value tried with its
    `mIoU`, of which the first maximum counts (`probability_tuning_results.csv`); and the table that `tune`
    returns, of which the rows with `chosen` count. The value is in the column `threshold`, `cutoff` (or
    `prob_threshold`) or `smooth`, which must be of the kind `what` where that is given. The columns `method`,
    `model` and `seed` name the series.
    """
    if what is not None:
        check_choice(what, tuple(COLUMNS_BY_KIND), "what")
    table = read_fixed_columns_table(Path(path), ColumnError)
    kind, column = _kind_of_threshold_and_column(table, what)
    table.check_columns(["task"], f"each task has its own {kind}")
    tasks = [canonical_task_name(task) for task in table.nonempty_texts("task")]
    keys = pd.Series([*zip(tasks, _series_text_of_each_row(table), strict=True)], dtype=object)
    values = table.numbers(column)
    numbers: dict[TaskAndSeries, float] = {}
    for row in np.flatnonzero(_is_chosen_or_best_mean_iou_row(table, keys)).tolist():
        key = keys[row]
        if key in numbers:
            raise ColumnError(
                f"{table.location(row)}: a second {kind} for {_key_text(key)}",
                hint=f"keep one row, or add a column {_MEAN_IOU_COLUMN!r} or 'chosen' to tell which to use",
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
    """Make the error of a row to use whose number is missing."""
    return ColumnError(
        f"{table.location(row)}: {_key_text(key)} has no defined {kind}", rows=[row], path=table.file
    )


def _kind_of_threshold_and_column(table: FileTable, wanted_kind: str | None) -> tuple[str, str]:
    """Return the kind of number that a table holds, and its column.

    Raise where it has no such column or several, or holds another kind than `wanted_kind`.
    """
    file = table.file
    pairs = []
    wanted_columns: list[str] = []
    for kind, names in COLUMNS_BY_KIND.items():
        pairs += [(kind, name) for name in names if name in table.columns]
        if wanted_kind in (None, kind):
            wanted_columns += names
    if not pairs:
        raise ColumnError(
            f"{file} has no column {' or '.join(map(repr, wanted_columns))}",
            column=wanted_columns[0],
            path=file,
        )
    kind, column = pairs[0]
    if len(pairs) > 1:
        raise ColumnError(
            f"{file} has columns {column!r} and {pairs[1][1]!r}",
            hint="keep one of them",
            column=column,
            path=file,
        )
    if wanted_kind is not None and kind != wanted_kind:
        raise ColumnError(
            f"{file} holds a {kind} for each task, not a {wanted_kind}", column=column, path=file
        )
    return kind, column


def _series_text_of_each_row(table: FileTable) -> list[str] | list[None]:
    """Return the name of each row's series, such as method:model:seed; None without such columns."""
    columns = [column for column in _SERIES_COLUMNS if column in table.columns]
    if not columns:
        return [None] * len(table)
    table.check_columns(["method"], f"it has {columns[0]!r}")
    texts = [
        table.nonempty_texts("method"),
        *(table.text_with_missing_as_empty(column) for column in columns[1:]),
    ]
    # names without the models and seeds that are empty
    return [":".join(filter(None, names)) for names in zip(*texts, strict=True)]


def _is_chosen_or_best_mean_iou_row(table: FileTable, task_and_series_keys: pd.Series) -> np.ndarray:
    """Return True for each row to use: those chosen, or with the first maximum of the mean IoU, or all."""
    if "chosen" in table.columns:
        reason = "is neither True nor False"
        return table.numbers("chosen", lambda v: ~np.isin(v, (0, 1)), reason).astype(bool)
    if _MEAN_IOU_COLUMN not in table.columns:
        return np.ones(len(table), dtype=bool)
    means = pd.Series(table.numbers(_MEAN_IOU_COLUMN)).dropna()
    best_rows = means.groupby(task_and_series_keys[means.index]).idxmax()
    return np.isin(np.arange(len(table)), best_rows)


def _checked_number(table: FileTable, row: int, kind: str, column: str, value: float) -> float:
    """Return a threshold, cut-off or filter size; raise where it is out of range."""
    if kind == "smooth":
        is_valid = 0 <= value <= LARGEST_FILTER_SIDE and value % 1 == 0
        rule = f"a filter is a whole number of pixels from 0 to {LARGEST_FILTER_SIDE}, not {value:g}"
    else:
        is_valid = 0 <= value <= 1
        rule = f"a {kind} lies between 0 and 1, not at {value:g}"
    if not is_valid:
        raise ValueRangeError(
            f"{table.location(row, column)}: {rule}", column=column, rows=[row], path=table.file
        )
    return value


def _key_text(key: TaskAndSeries) -> str:
    """Return a task, and its series where there is one, as text for messages."""
    task, series = key
    if series is None:
        return f"task {task}"
    return f"task {task}, method {series}"
