"""The rows of a map folder's table, each cell checked where it stands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from salstats.errors import InputFileError, SalstatsError, warn
from salstats.files.map_table import TABLE, UNKNOWN, MapKey, file_inside, read_rows
from salstats.files.paths import check_folder
from salstats.images.map_steps import may_cover
from salstats.images.run_lengths import check_shape
from salstats.readers.cells import NA_STRINGS
from salstats.readers.map_files import MAP_SUFFIXES

_NAN = float("nan")
_PIXELS = (lambda v: v >= 1 and v.is_integer(), "a size is in whole pixels, from 1")
#: Columns of numbers: what is allowed in them, and how that is said.
_ALLOWED: dict[str, tuple[Callable[[float], bool], str]] = {
    "prob": (lambda v: 0 <= v <= 1, "a probability lies from 0 to 1"),
    "label": (lambda v: v in (0, 1), "a label is 0 or 1"),
    "height": _PIXELS,
    "width": _PIXELS,
}


@dataclass(frozen=True)
class MapRow:
    """One map: what it is, where it lies, and what its row says besides."""

    key: MapKey
    #: the row of the file, for messages
    number: int
    file: Path
    prob: float = _NAN
    label: float = _NAN
    #: (height, width) of the image
    shape: tuple[int, int] | None = None
    patient: str | None = None


def read_map_rows(folder: Path) -> list[MapRow]:
    """What the table of a map folder says, in its order, after a look at every cell."""
    check_folder(folder)
    _, table = read_rows(folder / TABLE)
    if not table:
        raise InputFileError(f"{folder / TABLE} has a header but no data rows")
    rows = []
    for number, (key, row) in enumerate(table.items(), start=2):
        where = f"{folder / TABLE}, row {number}"
        prob, label, height, width = (
            _number(row.get(name, ""), f"{where}, column {name!r}", *_ALLOWED[name]) for name in _ALLOWED
        )
        patient = None if row.get("patient", "") in UNKNOWN else row["patient"]
        file = _map_file(folder, row["path"], where)
        rows.append(MapRow(key, number, file, prob, label, _shape(height, width, where), patient))
    return rows


def _number(cell: str, where: str, is_allowed: Callable[[float], bool], what: str) -> float:
    """A number that is allowed, or NaN where the cell is empty or NA."""
    if cell in NA_STRINGS:
        return _NAN
    try:
        # underscores are Python's
        number = float(cell.replace("_", "no number"))
    except ValueError:
        number = _NAN
    if not is_allowed(number):
        raise InputFileError(f"{where}: {cell!r} is not allowed; {what}, and an empty cell is unknown")
    return number


def warn_turned(rows: Sequence[MapRow], shapes: Mapping[str, tuple[int, int] | None], folder: Path) -> None:
    """Warn where the first map of a series that can show it lies across its image: columns before rows."""
    seen: set[Any] = set()
    for row in rows:
        shape = shapes.get(row.key.case)
        if shape is None or shape[0] == shape[1] or row.key.series in seen:
            continue
        seen.add(row.key.series)
        grid = _grid(row.file)
        if len(grid) == 2 and not may_cover(grid, shape) and may_cover(grid[::-1], shape):
            warn(
                f"{folder / TABLE}, row {row.number}: the map is {grid[0]} x {grid[1]} and its image "
                f"{shape[0]} x {shape[1]} (height x width); it looks turned: the first axis of an array runs "
                "from the top down"
            )


def _grid(file: Path) -> tuple[int, ...]:
    """The shape that an array's header says; nothing of files that are not one."""
    if file.suffix.lower() != ".npy":
        return ()
    try:
        return tuple(np.load(file, mmap_mode="r", allow_pickle=False).shape)
    # what is wrong with a map is said when it is scored
    except Exception:
        return ()


def _map_file(folder: Path, path: str, where: str) -> Path:
    """The file of a map, which is there and of a kind that is read."""
    file = file_inside(folder, path, where)
    if file.suffix.lower() not in MAP_SUFFIXES:
        raise InputFileError(f"{where}: path {path!r}: a map is read from {', '.join(MAP_SUFFIXES)}")
    try:
        what = "" if file.is_file() else "no plain file" if file.exists() else "no such file in the folder"
    except OSError as error:
        what = str(error.strerror)
    if what:
        raise InputFileError(f"{where}: path {path[:60]!r}: {what}")
    return file


def _shape(height: float, width: float, where: str) -> tuple[int, int] | None:
    """The size of an image, of which both sides are known or none."""
    if np.isnan(height) and np.isnan(width):
        return None
    if np.isnan(height) or np.isnan(width):
        raise InputFileError(f"{where}: of height and width one is empty; give both, or neither")
    try:
        return check_shape((int(height), int(width)), "height and width")
    except SalstatsError as error:
        raise InputFileError(f"{where}: {error}") from error
