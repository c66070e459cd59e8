"""Read tables of thresholds, probability cut-offs and filter sizes, one for each task."""

from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import check_choice
from salstats.errors import ColumnError, ValueRangeError
from salstats.images.maps import LARGEST_BOX
from salstats.readers.cells import PathLike
from salstats.readers.chexlocalize_maps import task_name
from salstats.readers.tables import FileTable, read_format_table

#: What a table may say -> the columns that say it; the second of `cutoff` is the release's.
COLUMNS = {"threshold": ("threshold",), "cutoff": ("cutoff", "prob_threshold"), "smooth": ("smooth",)}
#: The release's table of cut-offs has every cut-off tried with this; the first maximum is the one.
_MIOU = "mIoU"
#: What tells one series of maps from another.
_SERIES = ("method", "model", "seed")


def read_thresholds(path: PathLike, *, what: str | None = None) -> dict[tuple[str, str | None], float]:
    """One number for each task, (task, series or None) -> threshold, cut-off or filter size to use.

    Three forms are read: a value per task (the release's `tuning_results.csv`); every value tried with its
    `mIoU`, of which the first maximum counts (`probability_tuning_results.csv`); and the table that `tune`
    gives, of which the rows `chosen` count. The column is `threshold`, `cutoff` (`prob_threshold`) or
    `smooth`, that of `what` where it is given; `method`, `model` and `seed` say where values differ by the
    series (`method[:model[:seed]]`).
    """
    if what is not None:
        check_choice(what, tuple(COLUMNS), "what")
    table = read_format_table(Path(path), ColumnError)
    kind, column = _value_column(table, what)
    table.check_columns(["task"], f"each task has its own {kind}")
    tasks = [task_name(task) for task in table.filled("task")]
    frame = pd.DataFrame({"key": [*zip(tasks, _methods(table), strict=True)], "value": table.numbers(column)})
    chosen: dict[tuple[str, str | None], float] = {}
    for row, key, value in frame[_counting(table, frame["key"])].itertuples():
        if key in chosen:
            raise ColumnError(
                f"{table.place(row)}: a second {kind} for {_named(key)}; one row each, or a column {_MIOU!r} "
                "or 'chosen' that says which"
            )
        if np.isnan(value):
            raise ColumnError(f"{table.place(row)}: {_named(key)} has no defined {kind}")
        chosen[key] = _checked(value, kind, table.place(row, column))
    without = frame["key"][~frame["key"].isin(chosen)]
    if len(without):
        raise ColumnError(
            f"{table.file}: {_named(without.iloc[0])} has no defined {kind}; give it one, or leave it out"
        )
    return chosen


def _value_column(table: FileTable, what: str | None) -> tuple[str, str]:
    """What a table says and the column that says it."""
    file = table.file
    found = [(kind, name) for kind, names in COLUMNS.items() for name in names if name in table.columns]
    wanted = [name for kind, names in COLUMNS.items() if what in (None, kind) for name in names]
    if not found:
        raise ColumnError(f"{file} has no column {' or '.join(map(repr, wanted))}")
    if len(found) > 1:
        raise ColumnError(f"{file} has columns {found[0][1]!r} and {found[1][1]!r}; keep one of them")
    if what is not None and found[0][0] != what:
        raise ColumnError(f"{file} holds a {found[0][0]} for each task, and a {what} is wanted")
    return found[0]


def _methods(table: FileTable) -> list[str] | list[None]:
    """The series of each row, None where the table does not tell methods apart."""
    columns = [c for c in _SERIES if c in table.columns]
    if not columns:
        return [None] * len(table)
    table.check_columns(["method"], f"it has {columns[0]!r}")
    texts = [table.filled("method"), *(table.text(c) for c in columns[1:])]
    return [":".join(filter(None, parts)) for parts in zip(*texts, strict=True)]


def _counting(table: FileTable, keys: pd.Series) -> np.ndarray:
    """Which rows count: those chosen, or the first maximum of the mean IoU, or all."""
    if "chosen" in table.columns:
        said = "is neither True nor False"
        return table.numbers("chosen", lambda v: ~np.isin(v, (0, 1)), said).astype(bool)
    if _MIOU not in table.columns:
        return np.ones(len(table), dtype=bool)
    means = pd.Series(table.numbers(_MIOU)).dropna()
    return np.isin(np.arange(len(table)), means.groupby(keys[means.index]).idxmax())


def _checked(value: float, kind: str, where: str) -> float:
    """A value within its range."""
    if kind == "smooth":
        if not 0 <= value <= LARGEST_BOX or value % 1:
            raise ValueRangeError(
                f"{where}: a filter is a whole number of pixels from 0 to {LARGEST_BOX}, not {value:g}"
            )
    elif not 0 <= value <= 1:
        raise ValueRangeError(f"{where}: a {kind} lies between 0 and 1, not at {value:g}")
    return value


def _named(key: tuple[str, str | None]) -> str:
    """A task, and its method where there is one, for a message."""
    return f"task {key[0]}" + ("" if key[1] is None else f", method {key[1]}")
