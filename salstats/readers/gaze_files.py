"""The files of a release of gaze recordings: metadata of a phase, fixations, chest boxes."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.errors import InputFileError, SalstatsError
from salstats.files.paths import check_is_existing_folder
from salstats.images.center_bias import Box
from salstats.images.fixations import Fixations
from salstats.images.run_lengths import check_shape
from salstats.readers.cells import parse_numbers
from salstats.readers.reading_labels import MAJORITY_GROUPS
from salstats.readers.tables import FileTable, read_fixed_columns_table
from salstats.study import NO_BOX

METADATA_FILE = re.compile(r"metadata_phase_(0|[1-9]\d*)\.csv")
FIXATIONS_FILE = "fixations.csv"
CHEST_BOX_FILE = "chest_bounding_box.csv"
_ID_COLUMNS = ("id", "image", "dicom_id", "subject_id")
_SIZE_COLUMNS = ("image_size_y", "image_size_x")
_DISCARDED_COLUMN = "eye_tracking_data_discarded"
_BOOL_OF_CELL = {"true": True, "1": True, "false": False, "0": False}
#: Column of findings in the readers' own words; all other labels are certainties from 0 to 5, or 0 and 1.
_FREE_TEXT_COLUMN = "Other"
_LARGEST_LABEL = 5
#: Names of a position's columns: in an earlier release of the files, and in later ones.
_POSITION_COLUMNS = (("average_y_position", "average_x_position"), ("y_position", "x_position"))
_EDGE_COLUMNS = ("ymin", "xmin", "ymax", "xmax")
_FIXATION_COLUMNS = (
    "timestamp_start_fixation",
    "timestamp_end_fixation",
    "angular_resolution_y_pixels_per_degree",
    "angular_resolution_x_pixels_per_degree",
    *(f"{edge}_shown_from_image" for edge in _EDGE_COLUMNS),
)
#: Reasons for which a recording is left out.
DISCARDED = "discarded by its file"
NO_FIXATION = "no fixation"
#: All fixations last 0 seconds.
NO_DURATION = "no fixation lasts"
SHOWN_OUTSIDE = "shown part outside the image"
OUT_OF_SIGHT = "all fixations far from the shown part"
#: Reasons for which a chest box is left out, apart from NO_BOX.
BOX_OUTSIDE = "chest box outside the image"
BOX_EMPTY = "chest box of no size"
#: Squared distance in standard deviations below which a Gaussian, exp(-distance**2 / 2), is well above the
#: smallest float64.
_VISIBLE_SQUARED_DISTANCE = 1200.0


def holds_gaze(folder: Path) -> bool:
    """Return whether a folder holds metadata of a release of gaze recordings, by its name."""
    return any(METADATA_FILE.fullmatch(p.name) for p in folder.iterdir())


def metadata_file_of_phase(folder: Path, phases: Iterable[int] | None = None) -> dict[int, Path]:
    """Return the metadata file of every phase, or of some phases, in their order."""
    check_is_existing_folder(folder)
    files: dict[int, Path] = {}
    for file in folder.iterdir():
        name = METADATA_FILE.fullmatch(file.name)
        if name:
            files[int(name[1])] = file
    if not files:
        hint = ""
        main_data = folder / "main_data"
        if main_data.is_dir() and holds_gaze(main_data):
            hint = f"give {main_data}"
        raise InputFileError(f"{folder} holds no metadata_phase_*.csv", hint=hint, path=folder)
    if phases is None:
        return dict(sorted(files.items()))
    chosen = sorted(set(phases))
    for phase in chosen:
        if phase not in files:
            raise InputFileError(
                f"{folder} holds no metadata_phase_{phase}.csv (phases: {quoted(sorted(files))})",
                option="phases",
                value=phase,
                choices=map(str, sorted(files)),
                path=folder,
            )
    return {phase: files[phase] for phase in chosen}


def read_metadata(file: Path) -> pd.DataFrame:
    """Read the rows of a phase's metadata, in their order; an empty frame where the file has only a header.

    Columns: `id`, `image`, `dicom_id`, `subject_id`, `discarded`, `shape` (height, width), `labels` (a dict
    of finding to number), and the row's `file`, `position` (its index from 0) and `location` as text.
    """
    table = read_fixed_columns_table(file, may_be_empty=True)
    table.check_columns([*_ID_COLUMNS, *_SIZE_COLUMNS, _DISCARDED_COLUMN])
    rows = pd.DataFrame({column: table.nonempty_texts(column) for column in _ID_COLUMNS})
    for position, name in enumerate(rows["id"]):
        # a name is joined to the folder's path, so it must not lead out of it
        is_plain = PurePosixPath(name).name == name and PureWindowsPath(name).name == name
        if name in (".", "..") or not is_plain:
            raise InputFileError(
                f"{table.location(position, 'id')}: {name!r} is not a plain name of a folder",
                column="id",
                value=name,
                rows=[position],
                path=file,
            )
    flags = pd.Series(table.nonempty_texts(_DISCARDED_COLUMN), dtype=TEXT).str.lower().map(_BOOL_OF_CELL)
    no_flags = np.flatnonzero(flags.isna())
    if no_flags.size:
        position = int(no_flags[0])
        flag = table.cells[_DISCARDED_COLUMN].iloc[position]
        raise InputFileError(
            f"{table.location(position, _DISCARDED_COLUMN)}: {flag!r} is neither True nor False",
            column=_DISCARDED_COLUMN,
            value=flag,
            rows=[position],
            path=file,
        )
    rows["discarded"] = flags.astype("bool")
    locations = [table.location(position) for position in range(len(table))]
    # the name of a file may hold bytes that no text has, which only a column of objects keeps
    rows["location"] = pd.Series(locations, dtype=object)
    rows["file"] = pd.Series([file] * len(table), dtype=object)
    rows["position"] = range(len(table))
    sizes = table.finite_numbers(_SIZE_COLUMNS).tolist()
    shapes = [_image_shape(size, table, position) for position, size in enumerate(sizes)]
    rows["shape"] = pd.Series(shapes, dtype=object)
    rows["labels"] = pd.Series(_columns_holding_only_labels_0_to_5(table).to_dict("records"), dtype=object)
    return rows


def _image_shape(height_and_width: list[float], table: FileTable, position: int) -> tuple[int, int]:
    """Return a row's (height, width) as whole numbers; raise where they are not an image's size."""
    # fractions stay, so that check_shape raises for them
    sides = [int(side) if side % 1 == 0 else side for side in height_and_width]
    try:
        return check_shape(sides, ", ".join(_SIZE_COLUMNS))
    except SalstatsError as error:
        raise InputFileError(
            f"{table.location(position)}: ",
            error.message,
            value=tuple(sides),
            rows=[position],
            path=table.file,
        ) from error


def _columns_holding_only_labels_0_to_5(table: FileTable) -> pd.DataFrame:
    """Return the columns of labels, numbers from 0 to 5, one row for each row of the file.

    A column with other cells is left out, or is an error if it has the name of one of the study's labels.
    """
    labels = {}
    for column in table.columns:
        if column in (*_ID_COLUMNS, *_SIZE_COLUMNS, _DISCARDED_COLUMN, "split"):
            continue
        numbers, _, is_text = parse_numbers(table.cells[column], table.options)
        values = np.array(numbers, dtype=np.float64)
        if column == _FREE_TEXT_COLUMN:
            # a finding that is described is present
            values[is_text] = 1.0
            is_text = np.zeros(len(values), dtype=bool)
        no_labels = np.flatnonzero(is_text | (values < 0) | (values > _LARGEST_LABEL))
        if not no_labels.size:
            labels[column] = values
        elif column in MAJORITY_GROUPS["abnormal"]:
            position = int(no_labels[0])
            cell = table.cells[column].iloc[position]
            raise InputFileError(
                f"{table.location(position, column)}: {cell!r} is not a label",
                hint=f"labels are 0 to {_LARGEST_LABEL}, or all True and False",
                column=column,
                value=cell,
                rows=[position],
                path=table.file,
            )
    return pd.DataFrame(labels, index=range(len(table)))


def read_fixations(file: Path) -> Fixations:
    """Read the fixations of a recording."""
    return read_fixations_and_n_overlapping(file)[0]


def read_fixations_and_n_overlapping(file: Path) -> tuple[Fixations, int]:
    """Read a `fixations.csv`; return its fixations and how many of them begin before another has ended."""
    table = read_fixed_columns_table(file, may_be_empty=True)
    numbers = table.finite_numbers([*_y_and_x_columns(table), *_FIXATION_COLUMNS])
    # columns: y and x; start and end; pixels per degree along y and x; top, left, bottom and right on screen
    points, times, sd, edges_on_screen = np.split(numbers, (2, 4, 6), axis=1)
    repeated = np.flatnonzero(pd.DataFrame(numbers).duplicated())
    if repeated.size:
        position = int(repeated[0])
        raise InputFileError(
            f"{table.location(position)}: the fixation is in a row above already",
            hint="remove one",
            rows=[position],
            path=file,
        )
    start, end = times.T
    duration = end - start
    try:
        # the standard deviation of a fixation's Gaussian is one degree
        fixations = Fixations(points, duration, sd, edges_on_screen)
    except SalstatsError as error:
        raise InputFileError(
            f"{file}: ",
            error.message,
            " (the first row is fixation 0)",
            column=error.option,
            value=error.value,
            rows=error.rows,
            path=file,
        ) from error
    order = np.argsort(start, kind="stable")
    # a fixation overlaps if it starts before the latest end of those that started earlier
    latest_end = np.maximum.accumulate(end[order])
    n_overlapping = int((start[order][1:] < latest_end[:-1]).sum())
    return fixations, n_overlapping


def _y_and_x_columns(table: FileTable) -> tuple[str, str]:
    """Return the names of the columns of y and x, in an earlier or a later release of the files.

    Where only one of them is there, or none, the caller's check raises for the missing one. Raise where they
    are of different releases.
    """
    for pair in _POSITION_COLUMNS:
        if set(pair) <= set(table.columns):
            return pair
    earlier_pair, later_pair = _POSITION_COLUMNS
    present = [column for column in (*earlier_pair, *later_pair) if column in table.columns]
    if len(present) > 1:
        raise InputFileError(
            f"{table.file}: x and y of a fixation are in columns of two kinds, {quoted(present)}",
            hint=f"give the file both columns of one kind, {earlier_pair[0]!r} and {earlier_pair[1]!r} or "
            f"{later_pair[0]!r} and {later_pair[1]!r}",
            column=present[0],
            path=table.file,
        )
    if present and present[0] in earlier_pair:
        return earlier_pair
    return later_pair


def exclusion_reason_or_none(fixations: Fixations, shape: tuple[int, int]) -> str | None:
    """Return why the fixations of a recording make no map of their image; None where they make one."""
    if not len(fixations):
        return NO_FIXATION
    # corners of the part of the image on screen; halves are rounded to even numbers, as in the map
    top_left = np.rint(fixations.shown[:, :2])
    bottom_right = np.rint(fixations.shown[:, 2:])
    if (top_left < 0).any() or (bottom_right > shape).any():
        return SHOWN_OUTSIDE
    is_lasting = fixations.duration > 0
    if not is_lasting.any():
        return NO_DURATION
    # the pixel on screen that is nearest to each fixation
    nearest = np.clip(fixations.points, top_left, np.maximum(bottom_right - 1, top_left))
    squared_distance = (((fixations.points - nearest) / fixations.sd) ** 2).sum(axis=1)
    shows_something = (bottom_right > top_left).all(axis=1)
    is_visible = shows_something & (squared_distance < _VISIBLE_SQUARED_DISTANCE)
    if not (is_lasting & is_visible).any():
        return OUT_OF_SIGHT
    return None


def n_points_outside(points: np.ndarray, shape: tuple[int, int]) -> int:
    """Count the points (row, col) outside an image of (height, width), after rounding down to a pixel."""
    pixels = np.floor(points)
    return int(((pixels < 0) | (pixels >= shape)).any(axis=1).sum())


def read_inside_box_or_exclusion_reason(file: Path, shape: tuple[int, int]) -> tuple[Box | None, str | None]:
    """Read a chest box: (box, None), or (None, reason) where there is none that can be used."""
    if not file.exists() and not file.is_symlink():
        return None, NO_BOX
    edges = read_fixed_columns_table(file, may_be_empty=True).finite_numbers(_EDGE_COLUMNS)
    if not len(edges):
        return None, NO_BOX
    if len(edges) > 1:
        raise InputFileError(
            f"{file}: {len(edges)} boxes", hint="a recording has one", value=len(edges), path=file
        )
    box = Box(*edges[0].tolist())
    if box.bottom <= box.top or box.right <= box.left:
        return None, BOX_EMPTY
    if box.top < 0 or box.left < 0 or box.bottom > shape[0] or box.right > shape[1]:
        return None, BOX_OUTSIDE
    return box, None
