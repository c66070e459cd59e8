"""The table of a map folder: what a map is called, where its file lies, and its rows as they are written."""

import csv
import hashlib
import io
import math
import os
import re
import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple

import numpy as np

from salstats.checks import (
    InputFileError,
    SalstatsError,
    ShapeError,
    ValueRangeError,
    check_plain,
    hidden,
    quoted,
)
from salstats.files.outputs import replacing
from salstats.study import HUMAN, Series

#: The table that makes a folder one of maps.
TABLE = "maps.csv"
#: Its columns, in the order of writing; `patient` only where it is known.
COLUMNS = ("case", "task", "method", "prob", "label", "path", "height", "width", "model", "seed", "patient")
NEEDED = ("case", "task", "method", "path")
#: The folder of the files made here.
MAPS = "maps"
#: What an unknown model, seed or patient is in a table that R or MATLAB wrote.
UNKNOWN = ("", "NA", "NaN", "nan")
#: Names of the files made here, which alone are ever removed.
_MADE = re.compile(r"[A-Za-z0-9._+-]+~[0-9a-f]{16}\.npy")
#: Characters of a name that a file's name keeps, and how many of them.
_UNSAFE, _LONGEST = re.compile(r"[^A-Za-z0-9._+-]+"), 40
#: Bytes of a file's name, and characters of a path, that file systems take.
_LONGEST_PART, _LONGEST_PATH = 255, 3000
#: How many times longer than one writing of the whole table it is at least to the next.
_TIMES = 20.0
#: A whole number as pandas writes a column that has empty cells, too.
_WHOLE = re.compile(r"(\d+)\.0")


class MapKey(NamedTuple):
    """What a map is: of which case, for which task, by which method, network and seed.

    Attributes
    ----------
    case, task, method : str
        As in frames. Any text that can be read: no control characters, no blanks around it.
    model, seed : str or int, optional
        The network and the seed, where there are several.
    """

    case: str
    task: str
    method: str
    model: str | None = None
    seed: str | int | None = None

    @property
    def series(self) -> Series:
        """The method, network and seed."""
        return Series(self.method, self.model, None if self.seed is None else str(self.seed))

    def __str__(self) -> str:
        """What messages call the map."""
        return f"case {self.case!r}, task {self.task!r}, method {str(self.series)!r}"


#: A row: column -> text.
Row = dict[str, str]


def checked_key(key: MapKey) -> MapKey:
    """A key whose parts are names, as text; a seed of 3.0 is 3.

    Raises
    ------
    SalstatsError
        A part is empty, has blanks around it or control characters, or the method is that of people.
    """
    if not isinstance(key, tuple) or len(key) not in (3, 4, 5):
        raise SalstatsError(f"a map is named by a MapKey(case, task, method, model, seed), not {key!r}")
    parts = [None if part is None else str(part) for part in key]
    if len(parts) == 5 and parts[4] is not None and (whole := _WHOLE.fullmatch(parts[4])):
        parts[4] = whole[1]
    for name, part in zip(MapKey._fields, parts, strict=False):
        if part is None and name in ("model", "seed"):
            continue
        checked_name(part, name)
        if name in ("model", "seed") and part in UNKNOWN:
            raise SalstatsError(f"{name} {part!r} of a map stands for an unknown one in tables; leave it out")
    if parts[2] == HUMAN:
        raise SalstatsError(
            f"method {HUMAN!r} is what people are called, who draw no maps; write their masks with "
            'write_masks(..., which="human")'
        )
    return MapKey(*parts)  # type: ignore[arg-type]


def checked_name(value: Any, what: str) -> str:
    """A case, a task or the like as text, none of it hidden."""
    text = "" if value is None else str(value)
    wrong = hidden(text) if text else "is empty"
    if wrong:
        raise SalstatsError(f"{what} {text!r} of a map is no name: it {wrong}")
    return text


def path_of(key: MapKey) -> str:
    """The path of a map's file in its folder: no two keys have the same one on any file system.

    Examples
    --------
    >>> from salstats.files.map_table import MapKey, path_of
    >>> path_of(MapKey("../a b", "Edema", "gradcam"))
    'maps/gradcam/a-b_Edema~59f34102ac9fe54c.npy'
    """
    # what tells keys apart where their readable parts are cut, replaced, or differ in case only
    digest = hashlib.sha256("\0".join(p or "" for p in checked_key(key)).encode()).hexdigest()[:16]  # type: ignore[misc]
    return f"{MAPS}/{place_of(str(key.series))}/{_slug(key.case)}_{_slug(key.task)}~{digest}.npy"


def place_of(series: str) -> str:
    """The name of the folder that the maps of a series lie in; two can have the same one."""
    return "_".join(map(_slug, series.split(":")))


def is_made_here(name: str) -> bool:
    """Whether a file's name is one of those that `path_of` gives."""
    return _MADE.fullmatch(name) is not None


def file_inside(folder: Path, path: str, where: str) -> Path:
    """The file that a path of the table names, which must lie in the folder.

    Parameters
    ----------
    folder : Path
    path : str
        Relative to the folder, with slashes or, from Windows, backslashes.
    where : str
        The row, for messages.

    Raises
    ------
    InputFileError
        The path is empty or absolute, climbs out of the folder, or is a link that leads out of it.

    Examples
    --------
    >>> import pathlib
    >>> from salstats.files.map_table import file_inside
    >>> file_inside(pathlib.Path("study"), "../a.npy", "maps.csv, row 2")
    Traceback (most recent call last):
    salstats.checks.InputFileError: maps.csv, row 2: path '../a.npy' leaves the folder; name a file in it
    """
    # a path of Windows is read as one everywhere: anchors and steps upwards are found in both spellings
    parts = PureWindowsPath(path).parts
    if not parts or not path.isprintable():
        raise InputFileError(f"{where}: path {path!r} names no file")
    if PureWindowsPath(path).anchor or PureWindowsPath(path).drive or path.startswith("~"):
        raise InputFileError(f"{where}: path {path!r} is absolute; it must count from the folder")
    file = folder.joinpath(*parts)
    if max(len(os.fsencode(part)) for part in parts) > _LONGEST_PART or len(path) > _LONGEST_PATH:
        raise InputFileError(f"{where}: path {path[:60]!r}... is longer than the names of files can be")
    if ".." not in parts:
        home = os.path.realpath(folder)
        if os.path.commonpath([home, os.path.realpath(file)]) == home:
            return file
    raise InputFileError(f"{where}: path {path!r} leaves the folder; name a file in it")


class MapTable:
    """The table of a folder that is written to: a row that is added follows the others in the file at once.

    Parameters
    ----------
    file : Path
        It need not be there.

    Attributes
    ----------
    rows : dict of MapKey to Row
        In the order of the file.

    Raises
    ------
    InputFileError
        It is no CSV, lacks a column, has a row of another length, or two rows of one map.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.rows: dict[MapKey, Row] = {}
        self._columns: list[str] = []
        self._added: list[Row] = []
        # whether the end of the file is one that rows can follow; whether rows in it have changed
        self._open_ended, self._changed, self._due = False, False, 0.0
        if file.exists():
            self._read()

    def put(self, key: MapKey, row: Row) -> None:
        """Add a row, or put it in the place of the map's former one."""
        former = self.rows.get(key)
        self.rows[key] = row
        if former is None:
            self._added.append(row)
        self._changed |= former is not None and former != row

    def drop(self, key: MapKey) -> Row:
        """Take a row out and return it."""
        self._changed = True
        return self.rows.pop(key)

    def write(self, *, all_of_it: bool = True) -> None:
        """Write what is new: added rows behind the others, all anew where rows have changed.

        Without `all_of_it`, changed rows wait until writing all is a small part of the time.
        """
        wanted = [c for c in COLUMNS if c != "patient" or any(row.get(c) for row in self._added)]
        fits = self._open_ended and set(wanted) <= set(self._columns)
        try:
            if not fits or (self._changed and (all_of_it or time.monotonic() >= self._due)):
                started = time.monotonic()
                self._columns += [c for c in wanted if c not in self._columns]
                header = dict(zip(self._columns, self._columns, strict=True))
                with replacing(self._file) as temporary:
                    temporary.write_bytes(self._text([header, *self.rows.values()]))
                self._open_ended, self._changed = True, False
                self._due = time.monotonic() + _TIMES * (time.monotonic() - started)
            elif self._added:
                self._append()
        except OSError as error:
            raise InputFileError(f"cannot write {self._file}: {error.strerror or error}") from error
        self._added = []

    def _append(self) -> None:
        """Write rows behind the others; what a full disk cut is taken back."""
        size = self._file.stat().st_size
        try:
            with self._file.open("ab") as stream:
                stream.write(self._text(self._added))
        except OSError:
            os.truncate(self._file, size)
            raise

    def _text(self, rows: Iterable[Row]) -> bytes:
        """Rows as they stand in the file."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerows([row.get(c, "") for c in self._columns] for row in rows)
        return written.getvalue().encode()

    def _read(self) -> None:
        """Read the rows, every cell as text."""
        file = self._file
        check_plain(file)
        try:
            text = file.read_bytes().decode("utf-8-sig")
            lines = _cells(text)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InputFileError(f"{file}: cannot be read as a table ({error})") from error
        self._open_ended = text.endswith("\n") and all(lines)
        self._columns = header = lines[0] if lines else []
        missing = [name for name in NEEDED if name not in header]
        if missing or len(set(header)) < len(header):
            what = f"has no column {missing[0]!r}" if missing else "has a column twice"
            raise InputFileError(f"{file}: {what} (columns: {quoted(header)}); it is no table of maps")
        for number, cells in enumerate(lines[1:], start=2):
            # programs that write tables end them with empty lines, too
            if not cells:
                continue
            if len(cells) != len(header):
                raise InputFileError(
                    f"{file}, row {number}: {len(cells)} cells, the header has {len(header)}"
                )
            row = dict(zip(header, cells, strict=True))
            try:
                key = checked_key(key_of(row))
            except SalstatsError as error:
                raise InputFileError(f"{file}, row {number}: {error}") from error
            if key in self.rows:
                raise InputFileError(f"{file}, row {number}: {key} has a row already; remove one of them")
            self.rows[key] = row


def _cells(text: str) -> list[list[str]]:
    """The cells of a table, without a last row that its writer was stopped in: its map has no row."""
    whole, _, last = text.rpartition("\n")
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        if not (whole and last):
            raise
        return list(csv.reader(io.StringIO(whole, newline=""), strict=True))
    # rows that are written here have an end
    if whole and last and (len(lines[-1]) < len(lines[0]) or _MADE.search(last)):
        lines.pop()
    return lines


def key_of(row: Mapping[str, str]) -> MapKey:
    """What the map of a row is."""
    model, seed = (None if row.get(name, "") in UNKNOWN else row[name] for name in ("model", "seed"))
    return MapKey(row["case"], row["task"], row["method"], model, seed)


def shape_of(row: Mapping[str, str]) -> tuple[int, int] | None:
    """Return (height, width) of the image as a row says it; None where it says no whole numbers."""
    try:
        height, width = (float(row.get(name) or "nan") for name in ("height", "width"))
    except ValueError:
        return None
    return (int(height), int(width)) if height.is_integer() and width.is_integer() else None


def is_complete(file: Path) -> bool:
    """Whether a file is there and, where it is an array, one of a map and as long as it says."""
    try:
        if not file.is_file():
            return False
        if file.suffix.lower() != ".npy":
            return file.stat().st_size > 0
        with file.open("rb") as stream:
            version = np.lib.format.read_magic(stream)
            form = np.lib.format
            read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
            with warnings.catch_warnings():
                # NumPy warns of files of Python 2
                warnings.simplefilter("ignore")
                shape, _, dtype = read(stream)
            if len(shape) < 2 or any(side < 1 for side in shape) or dtype.kind not in "biuf":
                return False
            return file.stat().st_size == stream.tell() + dtype.itemsize * math.prod(shape)
    # what NumPy raises on damaged headers is not all of one kind
    except Exception:
        return False


def checked_map(saliency: Any, name: str) -> np.ndarray:
    """A map in float32, finite and of two dimensions."""
    try:
        array = np.asarray(saliency)
    except ValueError as error:
        raise ShapeError(f"{name}: a map must have shape (height, width), all rows of one length") from error
    if array.ndim != 2 or not array.size:
        raise ShapeError(f"{name}: a map must have shape (height, width) and a pixel, not {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueRangeError(f"{name}: a map must hold real numbers, not {array.dtype}")
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(array, dtype=np.float32)
    n_bad = array.size - int(np.count_nonzero(np.isfinite(single)))
    if n_bad:
        what = "NaN or infinite" if not np.isfinite(array).all() else "too large for float32"
        raise ValueRangeError(f"{name}: {n_bad} of {array.size} pixels of the map are {what}")
    return single


def checked_prob(prob: float, name: str) -> float:
    """A probability, or NaN."""
    if not _is_number(prob) or (not np.isnan(prob) and not 0 <= prob <= 1):
        raise ValueRangeError(f"{name}: prob must lie from 0 to 1, not {prob!r}; NaN where it is unknown")
    return float(prob)


def checked_label(label: float, name: str) -> str:
    """A label as text, empty where it is unknown."""
    if not _is_number(label) or (not np.isnan(label) and label not in (0, 1)):
        raise ValueRangeError(f"{name}: label must be 0 or 1, not {label!r}; NaN where it is unknown")
    return "" if np.isnan(label) else str(int(label))


def checked_patient(patient: Any, name: str) -> str:
    """A patient as text, empty where there is none."""
    if patient is None:
        return ""
    text = str(patient)
    if text in UNKNOWN or text != text.strip() or not text.isprintable():
        raise ValueRangeError(
            f"{name}: patient {text!r} is no name: it is empty or stands for an unknown one in tables, has "
            "blanks around it, or holds control characters; None where it is unknown"
        )
    return text


def _is_number(value: Any) -> bool:
    """Whether a value is one real number."""
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf"


def number_text(value: float) -> str:
    """A number as the shortest text that reads back as the same; nothing for NaN."""
    return "" if np.isnan(value) else repr(float(value))


def _slug(name: str) -> str:
    """A name as a part of a file's name: plain letters, no dots or dashes in front."""
    return _UNSAFE.sub("-", name).strip(".-")[:_LONGEST] or "x"
