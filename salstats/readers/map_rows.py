"""The rows of a map folder's table, each cell checked where it stands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import InputFileError, SalstatsError, check_folder, warn
from salstats.files.map_table import NEEDED, TABLE, UNKNOWN, MapKey, checked_key, file_inside
from salstats.images.map_steps import may_cover
from salstats.images.run_lengths import check_shape
from salstats.readers.map_files import MAP_SUFFIXES
from salstats.readers.tables import Table, read_known

_NAN = float("nan")
#: Pixels of a side at most, of which there may be as many in all.
MOST_SIDE = 2**31 - 1


@dataclass(frozen=True)
class MapRow:
    """One map: what it is, where it lies, and what its row says besides.

    Attributes
    ----------
    key : MapKey
    number : int
        The row of the file, for messages.
    file : Path
    prob, label : float
        NaN where the table does not say.
    shape : tuple of int, optional
        (height, width) of the image.
    patient : str, optional
    """

    key: MapKey
    number: int
    file: Path
    prob: float = _NAN
    label: float = _NAN
    shape: tuple[int, int] | None = None
    patient: str | None = None


def read_map_rows(folder: Path) -> list[MapRow]:
    """What the table of a map folder says, in its order, after a look at every cell.

    Raises
    ------
    InputFileError
        There is no table, or it lacks `case`, `task`, `method` or `path`; a name is empty; a number is none
        or out of range; a file is not there, of a kind that is not read, or outside the folder; two rows are
        of one map.
    """
    table = folder / TABLE
    check_folder(folder)
    cells = read_known(table)
    cells.check_columns(NEEDED, f"a table of maps has {', '.join(NEEDED)}")
    names = {name: cells.filled(name) for name in NEEDED}
    model, seed, patient = (_unknown(cells, name) for name in ("model", "seed", "patient"))
    prob = _numbers(cells, "prob", lambda v: (v >= 0) & (v <= 1), "a probability lies from 0 to 1")
    label = _numbers(cells, "label", lambda v: (v == 0) | (v == 1), "a label is 0 or 1")
    sizes = [
        _numbers(cells, name, _whole, "a size is in whole pixels, from 1") for name in ("height", "width")
    ]
    rows: list[MapRow] = []
    seen: dict[MapKey, int] = {}
    for place, number in enumerate(cells.rows.tolist()):
        where = cells.place(place)
        try:
            named = MapKey(*(names[name][place] for name in NEEDED[:3]))
            key = checked_key(named._replace(model=model[place], seed=seed[place]))
        except SalstatsError as error:
            raise InputFileError(f"{where}: {error}") from error
        if key in seen:
            raise InputFileError(f"{where}: {key} has row {seen[key]} already; remove one of them")
        seen[key] = number
        file = _map_file(folder, names["path"][place], where)
        shape = _shape(sizes[0][place], sizes[1][place], where)
        rows.append(MapRow(key, number, file, float(prob[place]), float(label[place]), shape, patient[place]))
    return rows


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


def _unknown(cells: Table, name: str) -> list[str | None]:
    """A column of names that may be unknown, or be missing altogether."""
    if name not in cells.columns:
        return [None] * len(cells)
    return [None if text in UNKNOWN else text for text in cells.text(name)]


def _numbers(cells: Table, name: str, allowed: Callable[[np.ndarray], np.ndarray], what: str) -> np.ndarray:
    """A column of numbers that are allowed, or NaN."""
    if name not in cells.columns:
        return np.full(len(cells), np.nan)
    said = f"is not allowed; {what}, and an empty cell is unknown"
    return cells.numbers(name, lambda v: ~(np.isnan(v) | allowed(v)), said)


def _whole(values: np.ndarray) -> np.ndarray:
    """Which numbers are positive whole ones."""
    return np.asarray((values >= 1) & (values <= MOST_SIDE) & (values == np.floor(values)))


def _map_file(folder: Path, path: str, where: str) -> Path:
    """The file of a map, which is there and of a kind that is read."""
    file = file_inside(folder, path, where)
    if file.suffix.lower() not in MAP_SUFFIXES:
        raise InputFileError(f"{where}: path {path!r}: a map is read from {', '.join(MAP_SUFFIXES)}")
    if not file.is_file():
        what = "no plain file" if file.exists() else "no such file in the folder"
        raise InputFileError(f"{where}: path {path!r}: {what}")
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
