"""Rows of a map folder's table, each cell checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from salstats.errors import NO_VALUE, InputFileError, MessagePart, SalstatsError
from salstats.files.map_table import (
    TABLE_FILE,
    UNKNOWN_CELLS,
    MapKey,
    TableRow,
    file_inside,
    read_header_and_rows,
)
from salstats.files.paths import check_is_existing_folder
from salstats.images.run_lengths import check_shape
from salstats.readers.cells import NA_STRINGS
from salstats.readers.map_files import MAP_SUFFIXES, warn_if_map_has_sides_exchanged
from salstats.study import Series

_NAN = float("nan")


@dataclass(frozen=True)
class NumberRule:
    """Condition on the numbers of a column, and the condition as text for a message."""

    is_allowed: Callable[[float], bool]
    text: str


_SIZE_RULE = NumberRule(
    lambda number: number >= 1 and number.is_integer(), "a size is in whole pixels, from 1"
)
#: Column -> rule of its numbers.
_RULES = {
    "prob": NumberRule(lambda number: 0 <= number <= 1, "a probability lies from 0 to 1"),
    "label": NumberRule(lambda number: number in (0, 1), "a label is 0 or 1"),
    "height": _SIZE_RULE,
    "width": _SIZE_RULE,
}


@dataclass(frozen=True)
class MapRow:
    """One map: its names, its file, and the other cells of its row."""

    key: MapKey
    #: number of the row in the file, whose header is row 1
    row_number: int
    file: Path
    prob: float = _NAN
    label: float = _NAN
    #: (height, width) of the image
    shape: tuple[int, int] | None = None
    patient: str | None = None

    @property
    def position(self) -> int:
        """Index of the row among those below the header, from 0."""
        return self.row_number - 2


@dataclass(frozen=True)
class RowLocation:
    """A row of the table, for messages."""

    table: Path
    #: Number of the row in the file; the header is row 1.
    row_number: int

    def __str__(self) -> str:
        """Return the table's path and the row, as text."""
        return f"{self.table}, row {self.row_number}"

    @property
    def position(self) -> int:
        """Index of the row among those below the header, from 0."""
        return self.row_number - 2

    def error(
        self,
        *parts: MessagePart,
        hint: str = "",
        column: str | None = None,
        value: object = NO_VALUE,
        choices: Sequence[str] = (),
    ) -> InputFileError:
        """Make the error of a cell or of the whole row."""
        return InputFileError(
            f"{self}",
            *parts,
            hint=hint,
            column=column,
            value=value,
            choices=choices,
            rows=[self.position],
            path=self.table,
        )


def read_map_rows(folder: Path) -> list[MapRow]:
    """Read the rows of a map folder's table, in its order, and check every cell."""
    check_is_existing_folder(folder)
    _, table = read_header_and_rows(folder / TABLE_FILE)
    if not table:
        raise InputFileError(f"{folder / TABLE_FILE} has a header but no data rows", path=folder / TABLE_FILE)
    rows = []
    for number, (key, row) in enumerate(table.items(), start=2):
        location = RowLocation(folder / TABLE_FILE, number)
        prob = _number_or_nan(row, "prob", location)
        label = _number_or_nan(row, "label", location)
        height = _number_or_nan(row, "height", location)
        width = _number_or_nan(row, "width", location)
        patient: str | None = row.get("patient", "")
        if patient in UNKNOWN_CELLS:
            patient = None
        file = _checked_map_file(folder, row["path"], location)
        shape = _image_shape_or_none(height, width, location)
        rows.append(MapRow(key, number, file, prob, label, shape, patient))
    return rows


def _number_or_nan(row: TableRow, column: str, location: RowLocation) -> float:
    """Return the number of a column, or NaN where the cell is empty or NA."""
    cell = row.get(column, "")
    rule = _RULES[column]
    if cell in NA_STRINGS:
        return _NAN
    try:
        # float() would read 1_000 as a number, so "_" is replaced by text
        number = float(cell.replace("_", "no number"))
    except ValueError:
        # no rule allows NaN
        number = _NAN
    if not rule.is_allowed(number):
        raise location.error(
            f", column {column!r}: {cell!r} is not allowed",
            hint=f"{rule.text}, and an empty cell is unknown",
            column=column,
            value=cell,
        )
    return number


def warn_of_turned_maps(
    rows: Sequence[MapRow], shapes: Mapping[str, tuple[int, int] | None], folder: Path
) -> None:
    """Warn where the first map of a series on an oblong image seems to have rows and columns exchanged."""
    checked_series: set[Series] = set()
    for row in rows:
        shape = shapes.get(row.key.case)
        if shape is None or shape[0] == shape[1] or row.key.series in checked_series:
            continue
        checked_series.add(row.key.series)
        warn_if_map_has_sides_exchanged(
            row.file, shape, f"{folder / TABLE_FILE}, row {row.row_number}", table_rows=[row.position]
        )


def _checked_map_file(folder: Path, path: str, location: RowLocation) -> Path:
    """Return the file of a map; raise where it is missing, outside the folder or of another type."""
    try:
        file = file_inside(folder, path, str(location))
    except InputFileError as error:
        raise error.prefixed(rows=[location.position], path=location.table) from None
    if file.suffix.lower() not in MAP_SUFFIXES:
        raise location.error(
            f": path {path!r}: a map is read from {', '.join(MAP_SUFFIXES)}",
            column="path",
            value=path,
            choices=MAP_SUFFIXES,
        )
    try:
        if file.is_file():
            return file
        problem = "no plain file" if file.exists() else "no such file in the folder"
    except OSError as error:
        problem = str(error.strerror)
    raise location.error(f": path {path[:60]!r}: {problem}", column="path", value=path)


def _image_shape_or_none(height: float, width: float, location: RowLocation) -> tuple[int, int] | None:
    """Return (height, width) as whole numbers, None where both are NaN; raise where only one is."""
    if np.isnan(height) and np.isnan(width):
        return None
    if np.isnan(height) or np.isnan(width):
        empty_column = "height" if np.isnan(height) else "width"
        raise location.error(
            ": only one of height and width is given", hint="give both, or neither", column=empty_column
        )
    try:
        return check_shape((int(height), int(width)), "height and width")
    except SalstatsError as error:
        raise location.error(": ", error.message, value=error.value) from error
