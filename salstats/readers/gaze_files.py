"""The files of a release of gaze recordings, one by one: metadata of a phase, fixations, chest boxes."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

import numpy as np

from salstats.checks import PIXEL, InputFileError, check_folder, check_size, quoted
from salstats.images.center_bias import Box
from salstats.images.fixations import Fixations
from salstats.readers.cells import parse_numbers
from salstats.readers.reading_labels import MAJORITY_GROUPS
from salstats.readers.tables import Table, read_known
from salstats.study import (
    BOX_EMPTY,
    BOX_OUTSIDE,
    NO_BOX,
    NO_DURATION,
    NO_FIXATION,
    OUT_OF_SIGHT,
    SHOWN_OUTSIDE,
)

METADATA = re.compile(r"metadata_phase_(\d+)\.csv")
FIXATIONS, CHEST_BOX = "fixations.csv", "chest_bounding_box.csv"
#: Columns of the metadata that are no labels.
_NAMES = (
    "id",
    "split",
    "eye_tracking_data_discarded",
    "image",
    "dicom_id",
    "subject_id",
    "image_size_x",
    "image_size_y",
)
_SIZES = ("image_size_y", "image_size_x")
_FLAG = "eye_tracking_data_discarded"
_FLAGS = {"true": True, "false": False, "1": True, "0": False}
#: Findings in the readers' own words; all other labels are certainties from 0 to 5, or 0 and 1.
_IN_WORDS = "Other"
_LARGEST_LABEL = 5
#: Column of a position, and what an earlier release of the files calls it.
_POSITIONS = {"y_position": "average_y_position", "x_position": "average_x_position"}
_TIMES = ("timestamp_start_fixation", "timestamp_end_fixation")
_DEGREES = ("angular_resolution_y_pixels_per_degree", "angular_resolution_x_pixels_per_degree")
_SHOWN = tuple(f"{edge}_shown_from_image" for edge in ("ymin", "xmin", "ymax", "xmax"))
_EDGES = ("ymin", "xmin", "ymax", "xmax")
#: A Gaussian at this many standard deviations, squared, is still far above the smallest float64.
_FAR_SQUARED = 1200.0


@dataclass(frozen=True)
class Reading:
    """One row of the metadata: a recording, the image it is of, and what the reader marked."""

    recording: str
    discarded: bool
    image: str
    dicom: str
    patient: str
    shape: tuple[int, int]
    labels: dict[str, float]
    file: Path
    row: int


class Looks(NamedTuple):
    """The fixations of a recording as arrays (see `Fixations`); how many begin before another has ended."""

    points: np.ndarray
    duration: np.ndarray
    sd: np.ndarray
    shown: np.ndarray
    n_overlapping: int


def holds_gaze(folder: Path) -> bool:
    """Whether a folder's names are those of a release of gaze recordings."""
    return any(METADATA.fullmatch(p.name) for p in folder.iterdir())


def find_phases(folder: Path, phases: Iterable[int] | None) -> dict[int, Path]:
    """The metadata of each phase, or of the phases asked for.

    Raises InputFileError where the folder, or a phase of it, is not there.
    """
    check_folder(folder)
    found: dict[int, Path] = {}
    for path in sorted(folder.iterdir()):
        name = METADATA.fullmatch(path.name)
        if name is None:
            continue
        phase = int(name[1])
        if phase in found:
            raise InputFileError(f"{folder} holds {quoted([found[phase].name, path.name])} of one phase")
        found[phase] = path
    if not found:
        inner = folder / "main_data"
        hint = f"; give {inner}" if inner.is_dir() and holds_gaze(inner) else ""
        raise InputFileError(f"{folder} holds no metadata_phase_*.csv{hint}")
    if phases is None:
        return dict(sorted(found.items()))
    wanted = list(dict.fromkeys(phases))
    for phase in wanted:
        if phase not in found:
            raise InputFileError(
                f"{folder} holds no metadata_phase_{phase}.csv (phases: {quoted(sorted(found))})"
            )
    if not wanted:
        raise InputFileError(f"phases= names no phase (phases: {quoted(sorted(found))})")
    return {phase: found[phase] for phase in sorted(wanted)}


def read_metadata(file: Path) -> list[Reading]:
    """The rows of a phase's metadata, in their order; none where it has a header only.

    Raises
    ------
    InputFileError
        A column is missing; a cell is empty, no number or no flag; a recording stands twice or its name is
        no plain name of a folder.
    ColumnError
        A name has blanks around it or holds what nobody sees.
    """
    table = read_known(file, may_be_empty=True)
    table.check_columns([c for c in _NAMES if c != "split"])
    names = {column: table.filled(column) for column in ("id", "image", "dicom_id", "subject_id", _FLAG)}
    for position, name in enumerate(names["id"]):
        # a name is joined to the folder's path, so it must not lead out of it
        if name in (".", "..") or any(kind(name).name != name for kind in (PurePosixPath, PureWindowsPath)):
            raise InputFileError(f"{table.place(position, 'id')}: {name!r} is no plain name of a folder")
    discarded = [_flag(text, table.place(position, _FLAG)) for position, text in enumerate(names[_FLAG])]
    sizes = table.finite(_SIZES)
    odd = (sizes < 1) | (sizes % 1 != 0)
    if odd.any():
        position, column = (int(i) for i in np.argwhere(odd)[0])
        raise InputFileError(
            f"{table.place(position, _SIZES[column])}: {sizes[position, column]:g} is no number of pixels"
        )
    if len(sizes):
        largest = int(sizes.prod(axis=1).argmax())
        height, width = sizes[largest]
        check_size(height * width * PIXEL, f"{table.place(largest)}: {height:g} x {width:g} pixels")
    labels = _labels(table)
    return [
        Reading(
            recording=names["id"][i],
            discarded=discarded[i],
            image=names["image"][i],
            dicom=names["dicom_id"][i],
            patient=names["subject_id"][i],
            shape=(int(sizes[i, 0]), int(sizes[i, 1])),
            labels={label: float(values[i]) for label, values in labels.items()},
            file=file,
            row=i + table.first_row,
        )
        for i in range(len(table))
    ]


def _flag(text: str, place: str) -> bool:
    """A flag in words."""
    if text.lower() not in _FLAGS:
        raise InputFileError(f"{place}: {text!r} is no flag; it is True or False")
    return _FLAGS[text.lower()]


def _labels(table: Table) -> dict[str, np.ndarray]:
    """The columns of labels.

    One that holds anything but labels, as an age does, is none unless it has the name of one; `Other` is in
    words.
    """
    labels: dict[str, np.ndarray] = {}
    for column in table.columns:
        if column in _NAMES:
            continue
        numbers, _, odd = parse_numbers(table.cells[column], table.options)
        values = numbers.to_numpy(copy=True)
        if column == _IN_WORDS:
            values[odd], odd = 1.0, np.zeros(len(values), dtype=bool)
        wrong = odd | (values < 0) | (values > _LARGEST_LABEL)
        if not wrong.any():
            labels[column] = values
        elif column in MAJORITY_GROUPS["abnormal"]:
            position = int(np.flatnonzero(wrong)[0])
            shown = repr(table.cells[column].iloc[position]) if odd[position] else f"{values[position]:g}"
            raise InputFileError(
                f"{table.place(position, column)}: {shown} is no label; labels are 0 to {_LARGEST_LABEL}, or "
                "all of them True and False"
            )
    return labels


def read_fixations(file: Path) -> Fixations:
    """The fixations of a recording that is used; takes and raises what `read_looks` does."""
    return Fixations(*read_looks(file)[:-1])


def read_looks(file: Path) -> Looks:
    """The rows of a `fixations.csv`; none where it has a header only.

    Raises
    ------
    InputFileError
        The file or a column is missing; a cell is empty or no finite number; a fixation ends before it
        begins; a degree has no pixels; the part of the image that is shown ends before it begins; a row
        stands twice.
    """
    table = read_known(file, may_be_empty=True)
    columns = [name if name in table.columns else old for name, old in _POSITIONS.items()]
    if any(c not in table.columns for c in columns):
        table.check_columns(_POSITIONS)
    numbers = table.finite([*columns, *_TIMES, *_DEGREES, *_SHOWN])
    points, times, sd, shown = np.split(numbers, (2, 4, 6), axis=1)
    with np.errstate(over="ignore"):
        looks = Looks(points, times[:, 1] - times[:, 0], sd, shown, _n_overlapping(times))
    for wrong, column, what in (
        (np.isinf(looks.duration), _TIMES[1], "the fixation lasts too long to be told"),
        (looks.duration < 0, _TIMES[1], "the fixation ends before it begins"),
        (looks.sd[:, 0] <= 0, _DEGREES[0], "a degree has no pixels"),
        (looks.sd[:, 1] <= 0, _DEGREES[1], "a degree has no pixels"),
        (shown[:, 2] < shown[:, 0], _SHOWN[2], "the shown part ends before it begins"),
        (shown[:, 3] < shown[:, 1], _SHOWN[3], "the shown part ends before it begins"),
    ):
        if wrong.any():
            position = int(np.flatnonzero(wrong)[0])
            cell = table.cells[column].iloc[position]
            raise InputFileError(f"{table.place(position, column)}: {cell!r}; {what}")
    if np.unique(times[:, 0]).size < len(times):
        first = np.unique(numbers, axis=0, return_index=True)[1]
        again = np.setdiff1d(np.arange(len(numbers)), first)
        if again.size:
            raise InputFileError(
                f"{table.place(again[0])}: a fixation that stands in a row above already; remove one"
            )
    return looks


def _n_overlapping(times: np.ndarray) -> int:
    """How many fixations begin before one that began earlier has ended."""
    begins, ends = times[np.argsort(times[:, 0], kind="stable")].T
    return int((begins[1:] < np.maximum.accumulate(ends)[:-1]).sum())


def why_excluded(looks: Looks, shape: tuple[int, int]) -> str | None:
    """Why the fixations of a recording make no map of their image; None where they do."""
    if not len(looks.points):
        return NO_FIXATION
    # half to even, as the map has it
    first, last = np.rint(looks.shown[:, :2]), np.rint(looks.shown[:, 2:])
    if (first < 0).any() or (last > shape).any():
        return SHOWN_OUTSIDE
    lasting = looks.duration > 0
    if not lasting.any():
        return NO_DURATION
    nearest = np.clip(looks.points, first, np.maximum(last - 1, first))
    with np.errstate(over="ignore"):
        squared = (((looks.points - nearest) / looks.sd) ** 2).sum(axis=1)
    seen = (last > first).all(axis=1) & (squared < _FAR_SQUARED)
    return None if (lasting & seen).any() else OUT_OF_SIGHT


def is_outside(points: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Which points, as (row, col), lie in no pixel of an image; a pixel is what `floor` gives."""
    pixels = np.floor(points)
    return np.asarray(((pixels < 0) | (pixels >= shape)).any(axis=1))


def read_box(file: Path, shape: tuple[int, int]) -> tuple[Box | None, str | None]:
    """A chest box, or why there is none that can be used.

    Raises InputFileError where the file is there but damaged: a column is missing, a cell is no finite
    number, there is more than one row.
    """
    if not os.path.lexists(file):
        return None, NO_BOX
    if not file.is_file():
        raise InputFileError(f"{file}: a link to a file that is not there, or no plain file")
    edges = read_known(file, may_be_empty=True).finite(_EDGES)
    if not len(edges):
        return None, NO_BOX
    if len(edges) > 1:
        raise InputFileError(f"{file}: {len(edges)} boxes; a recording has one")
    box = Box(*(float(edge) for edge in edges[0]))
    if box.bottom <= box.top or box.right <= box.left:
        return None, BOX_EMPTY
    if box.top < 0 or box.left < 0 or box.bottom > shape[0] or box.right > shape[1]:
        return None, BOX_OUTSIDE
    return box, None
