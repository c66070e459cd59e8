"""The files of a release of gaze recordings: metadata of a phase, fixations, chest boxes."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.errors import InputFileError, SalstatsError
from salstats.files.paths import check_folder
from salstats.images.center_bias import Box
from salstats.images.fixations import Fixations
from salstats.images.run_lengths import check_shape
from salstats.readers.cells import parse_numbers
from salstats.readers.reading_labels import MAJORITY_GROUPS
from salstats.readers.tables import FileTable, read_format_table
from salstats.study import NO_BOX

METADATA = re.compile(r"metadata_phase_(0|[1-9]\d*)\.csv")
FIXATIONS, CHEST_BOX = "fixations.csv", "chest_bounding_box.csv"
_NAMES = ("id", "image", "dicom_id", "subject_id")
_SIZES = ("image_size_y", "image_size_x")
_FLAG = "eye_tracking_data_discarded"
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
#: Findings in the readers' own words; all other labels are certainties from 0 to 5, or 0 and 1.
_IN_WORDS = "Other"
_LARGEST_LABEL = 5
#: Columns of a position: as an earlier release of the files calls them, and as later ones do.
_POSITION_PAIRS = (("average_y_position", "average_x_position"), ("y_position", "x_position"))
_EDGES = ("ymin", "xmin", "ymax", "xmax")
_OF_FIXATION = (
    "timestamp_start_fixation",
    "timestamp_end_fixation",
    "angular_resolution_y_pixels_per_degree",
    "angular_resolution_x_pixels_per_degree",
    *(f"{edge}_shown_from_image" for edge in _EDGES),
)
#: Why a recording is left out.
DISCARDED = "discarded by its file"
NO_FIXATION, NO_DURATION = "no fixation", "no fixation lasts"
SHOWN_OUTSIDE = "shown part outside the image"
OUT_OF_SIGHT = "all fixations far from the shown part"
#: Why a chest box is, apart from NO_BOX.
BOX_OUTSIDE, BOX_EMPTY = "chest box outside the image", "chest box of no size"
#: A Gaussian at this many standard deviations, squared, is still far above the smallest float64.
_FAR_SQUARED = 1200.0


def holds_gaze(folder: Path) -> bool:
    """Whether a folder's names are those of a release of gaze recordings."""
    return any(METADATA.fullmatch(p.name) for p in folder.iterdir())


def find_phases(folder: Path, phases: Iterable[int] | None = None) -> dict[int, Path]:
    """The metadata of each phase, or of the phases asked for."""
    check_folder(folder)
    found = {int(name[1]): p for p in folder.iterdir() if (name := METADATA.fullmatch(p.name))}
    if not found:
        inner = folder / "main_data"
        hint = f"; give {inner}" if inner.is_dir() and holds_gaze(inner) else ""
        raise InputFileError(f"{folder} holds no metadata_phase_*.csv{hint}")
    for phase in phases or ():
        if phase not in found:
            raise InputFileError(
                f"{folder} holds no metadata_phase_{phase}.csv (phases: {quoted(sorted(found))})"
            )
    return {phase: found[phase] for phase in sorted(found if phases is None else set(phases))}


def read_metadata(file: Path) -> pd.DataFrame:
    """The rows of a phase's metadata, in their order; none where it has a header only.

    Columns: `id`, `image`, `dicom_id`, `subject_id`, `discarded`, `shape` (height, width), `labels` (a dict)
    and `place`, the file and its row.
    """
    table = read_format_table(file, may_be_empty=True)
    table.check_columns([*_NAMES, *_SIZES, _FLAG])
    rows = pd.DataFrame({column: table.filled(column) for column in _NAMES})
    for position, name in enumerate(rows["id"]):
        # a name is joined to the folder's path, so it must not lead out of it
        if name in (".", "..") or any(kind(name).name != name for kind in (PurePosixPath, PureWindowsPath)):
            raise InputFileError(f"{table.place(position, 'id')}: {name!r} is no plain name of a folder")
    rows["discarded"] = pd.Series(table.filled(_FLAG), dtype="str").str.lower().map(_FLAGS)
    odd = np.flatnonzero(rows["discarded"].isna())
    if odd.size:
        flag = table.cells[_FLAG].iloc[odd[0]]
        raise InputFileError(f"{table.place(odd[0], _FLAG)}: {flag!r} is no flag; it is True or False")
    rows["discarded"] = rows["discarded"].astype("bool")
    # the name of a file may hold bytes that no text has, which only a column of objects keeps
    rows["place"] = pd.Series([table.place(position) for position in range(len(table))], dtype=object)
    sizes = zip(table.finite(_SIZES).tolist(), rows["place"], strict=True)
    rows["shape"] = [_shape(size, place) for size, place in sizes]
    rows["labels"] = _labels(table).to_dict("records")
    return rows


def _shape(size: list[float], place: str) -> tuple[int, int]:
    """The size of an image."""
    try:
        return check_shape([int(n) if n % 1 == 0 else n for n in size], ", ".join(_SIZES))
    except SalstatsError as error:
        raise InputFileError(f"{place}: {error}") from error


def _labels(table: FileTable) -> pd.DataFrame:
    """The columns of labels; one that holds other things, as an age, is none unless it has a label's name."""
    labels = {}
    for column in table.columns:
        if column in (*_NAMES, *_SIZES, _FLAG, "split"):
            continue
        numbers, _, odd = parse_numbers(table.cells[column], table.options)
        values = numbers.to_numpy(copy=True)
        if column == _IN_WORDS:
            values[odd], odd = 1.0, np.zeros(len(values), dtype=bool)
        wrong = np.flatnonzero(odd | (values < 0) | (values > _LARGEST_LABEL))
        if not wrong.size:
            labels[column] = values
        elif column in MAJORITY_GROUPS["abnormal"]:
            cell, place = table.cells[column].iloc[wrong[0]], table.place(wrong[0], column)
            raise InputFileError(
                f"{place}: {cell!r} is no label; labels are 0 to {_LARGEST_LABEL}, or all True and False"
            )
    return pd.DataFrame(labels, index=range(len(table)))


def read_fixations(file: Path) -> Fixations:
    """The fixations of a recording."""
    return read_fixation_rows(file)[0]


def read_fixation_rows(file: Path) -> tuple[Fixations, int]:
    """The rows of a `fixations.csv`, and how many of them begin before another has ended."""
    table = read_format_table(file, may_be_empty=True)
    numbers = table.finite([*_position_columns(table), *_OF_FIXATION])
    points, times, sd, shown = np.split(numbers, (2, 4, 6), axis=1)
    twice = np.flatnonzero(pd.DataFrame(numbers).duplicated())
    if twice.size:
        raise InputFileError(
            f"{table.place(twice[0])}: a fixation that stands in a row above already; remove one"
        )
    try:
        fixations = Fixations(points, times[:, 1] - times[:, 0], sd, shown)
    except SalstatsError as error:
        raise InputFileError(f"{file}: {error} (the first row is fixation 0)") from error
    begins, ends = times[np.argsort(times[:, 0], kind="stable")].T
    return fixations, int((begins[1:] < np.maximum.accumulate(ends)[:-1]).sum())


def _position_columns(table: FileTable) -> tuple[str, str]:
    """The columns of y and x, both of one pair."""
    for pair in _POSITION_PAIRS:
        if set(pair) <= set(table.columns):
            return pair
    halves = [column for pair in _POSITION_PAIRS for column in pair if column in table.columns]
    if len(halves) > 1:
        pairs = " or ".join(" and ".join(map(repr, pair)) for pair in _POSITION_PAIRS)
        raise InputFileError(
            f"{table.file}: x and y of a fixation are in columns of two kinds, {quoted(halves)}; give the "
            f"file both columns of one kind, {pairs}"
        )
    return _POSITION_PAIRS[0] if halves and halves[0] in _POSITION_PAIRS[0] else _POSITION_PAIRS[1]


def why_excluded(fixations: Fixations, shape: tuple[int, int]) -> str | None:
    """Why the fixations of a recording make no map of their image; None where they do."""
    if not len(fixations):
        return NO_FIXATION
    # half to even, as the map has it
    first, last = np.rint(fixations.shown[:, :2]), np.rint(fixations.shown[:, 2:])
    if (first < 0).any() or (last > shape).any():
        return SHOWN_OUTSIDE
    lasting = fixations.duration > 0
    if not lasting.any():
        return NO_DURATION
    nearest = np.clip(fixations.points, first, np.maximum(last - 1, first))
    squared = (((fixations.points - nearest) / fixations.sd) ** 2).sum(axis=1)
    seen = (last > first).all(axis=1) & (squared < _FAR_SQUARED)
    return None if (lasting & seen).any() else OUT_OF_SIGHT


def n_outside(points: np.ndarray, shape: tuple[int, int]) -> int:
    """How many points, as (row, col), lie in no pixel of an image; a pixel is what `floor` gives."""
    pixels = np.floor(points)
    return int(((pixels < 0) | (pixels >= shape)).any(axis=1).sum())


def read_box(file: Path, shape: tuple[int, int]) -> tuple[Box | None, str | None]:
    """A chest box, or why there is none that can be used."""
    if not file.exists() and not file.is_symlink():
        return None, NO_BOX
    edges = read_format_table(file, may_be_empty=True).finite(_EDGES)
    if not len(edges):
        return None, NO_BOX
    if len(edges) > 1:
        raise InputFileError(f"{file}: {len(edges)} boxes; a recording has one")
    box = Box(*edges[0].tolist())
    if box.bottom <= box.top or box.right <= box.left:
        return None, BOX_EMPTY
    if box.top < 0 or box.left < 0 or box.bottom > shape[0] or box.right > shape[1]:
        return None, BOX_OUTSIDE
    return box, None
