"""The files of a map folder: its table, what a map is called and where it lies, masks and settings."""

import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple

import numpy as np

from salstats.checks import hidden, quoted
from salstats.errors import InputFileError, SalstatsError, ShapeError, ValueRangeError
from salstats.files.inputs import read_json
from salstats.files.outputs import replacing
from salstats.files.paths import check_plain
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
MADE = re.compile(r"[A-Za-z0-9._+-]+~[0-9a-f]{16}\.npy")
#: Characters of a name that a file's name keeps, and how many of them.
_UNSAFE, _LONGEST = re.compile(r"[^A-Za-z0-9._+-]+"), 40
#: Names of Windows' devices, whatever stands behind a dot.
_DEVICE = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)")
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
TableRow = dict[str, str]
#: Masks as a file holds them: case -> task -> COCO run-length code.
MaskCodes = dict[str, dict[str, dict[str, Any]]]


def checked_key(key: MapKey) -> MapKey:
    """A key whose parts are names, as text; a seed of 3.0 is 3."""
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
    place = "_".join(map(_slug, str(key.series).split(":")))
    return f"{MAPS}/{place}/{_slug(key.case)}_{_slug(key.task)}~{digest}.npy"


def file_inside(folder: Path, path: str, where: str) -> Path:
    """The file that a path of the table names, which must lie in the folder.

    `path` counts from the folder, with slashes or, from Windows, backslashes. InputFileError names the row
    (`where`) of one that is empty or absolute, climbs out of the folder, or is a link that leads out of it.

    Examples
    --------
    >>> import pathlib
    >>> from salstats.files.map_table import file_inside
    >>> file_inside(pathlib.Path("study"), "../a.npy", "maps.csv, row 2")
    Traceback (most recent call last):
    salstats.errors.InputFileError: maps.csv, row 2: path '../a.npy' leaves the folder; name a file in it
    """
    # a path of Windows is read as one everywhere: anchors and steps upwards are found in both spellings
    parts = PureWindowsPath(path).parts
    if not parts or not path.isprintable():
        raise InputFileError(f"{where}: path {path!r} names no file")
    if PureWindowsPath(path).anchor or PureWindowsPath(path).drive or path.startswith("~"):
        raise InputFileError(f"{where}: path {path!r} is absolute; it must count from the folder")
    file = folder.joinpath(*parts)
    if ".." not in parts:
        home = os.path.realpath(folder)
        if os.path.commonpath([home, os.path.realpath(file)]) == home:
            return file
    raise InputFileError(f"{where}: path {path!r} leaves the folder; name a file in it")


def read_rows(file: Path, *, resume: bool = False) -> tuple[list[str], dict[MapKey, TableRow]]:
    """The header of a table, and its rows in their order, every cell as text.

    To `resume`, a last row that its writer was stopped in is left out: its map has no row.

    InputFileError where it is no CSV, lacks a column, has a row of another length, or two rows of one map.
    """
    check_plain(file)
    try:
        text = file.read_bytes().decode("utf-8-sig")
        whole, _, last = text.rpartition("\n")
        if resume and whole and last:
            # rows that are written here have an end; those of other programs may lack the last one
            n_cells, n_columns = (len(next(csv.reader([t]))) for t in (last, text.partition("\n")[0]))
            text = whole if MADE.search(last) or n_cells < n_columns else text
        records = csv.reader(io.StringIO(text.rstrip("\r\n"), newline=""), strict=True)
        header, *lines = [*records] or [[]]
    except FileNotFoundError as error:
        raise InputFileError(f"{file}: no such file") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputFileError(f"{file}: cannot be read as a table ({error})") from error
    missing = [name for name in NEEDED if name not in header]
    if missing or len(set(header)) < len(header):
        what = f"has no column {missing[0]!r}" if missing else "has a column twice"
        raise InputFileError(f"{file} {what} (columns: {quoted(header)}); it is no table of maps")
    rows: dict[MapKey, TableRow] = {}
    for number, cells in enumerate(lines, start=2):
        where = f"{file}, row {number}"
        if len(cells) != len(header):
            raise InputFileError(f"{where}: {len(cells)} cells, the header has {len(header)}")
        row = dict(zip(header, cells, strict=True))
        model, seed = (None if row.get(name, "") in UNKNOWN else row[name] for name in ("model", "seed"))
        try:
            key = checked_key(MapKey(row["case"], row["task"], row["method"], model, seed))
        except SalstatsError as error:
            raise InputFileError(f"{where}: {error}") from error
        if key in rows:
            raise InputFileError(
                f"{where}: {key} has row {[*rows].index(key) + 2} already; remove one of them"
            )
        rows[key] = row
    return header, rows


def text_of(columns: Sequence[str], rows: Iterable[TableRow]) -> bytes:
    """Rows as they stand in the file."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([row.get(c, "") for c in columns] for row in rows)
    return written.getvalue().encode()


def shape_of(row: TableRow) -> tuple[int, int] | None:
    """(height, width) of the image as a row says it; None where it says no whole numbers."""
    try:
        height, width = (float(row.get(name) or "nan") for name in ("height", "width"))
        return (int(height), int(width)) if height == int(height) and width == int(width) else None
    except (ValueError, OverflowError):
        return None


def is_complete(file: Path) -> bool:
    """Whether a file is there and, where it is an array, one of a map and as long as it says."""
    try:
        if not file.is_file():
            return False
        if file.suffix.lower() != ".npy":
            return file.stat().st_size > 0
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    # what NumPy raises on damaged files is not all of one kind
    except Exception:
        return False
    return array.ndim >= 2 and array.size > 0 and array.dtype.kind in "biuf"


def read_masks(file: Path) -> MaskCodes:
    """The masks of a file; none where it is not there."""
    found = _read_object(file)
    odd = [case for case, by_task in found.items() if not isinstance(by_task, dict)]
    if odd:
        raise InputFileError(f"{file}, case {odd[0]!r}: not an object of tasks")
    return found


def read_settings(file: Path) -> dict[str, str]:
    """How the maps of each series are made; nothing where the file is not there."""
    found = _read_object(file)
    if not all(isinstance(text, str) for text in found.values()):
        raise InputFileError(f"{file}: not an object of series and their settings, as text")
    return found


def settings_key(settings: Any) -> str:
    """What settings are about: a series, or the task of one; no name holds a tabulator."""
    return "\t".join(map(str, settings)) if type(settings) is tuple else str(settings)


def _read_object(file: Path) -> dict[str, Any]:
    """The object of a JSON file, empty where it is not there."""
    found = read_json(file) if file.exists() else {}
    if not isinstance(found, dict):
        raise InputFileError(f"{file}: not an object")
    return found


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Replace a JSON file."""
    with replacing(file) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")


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
        raise ValueRangeError(f"{name}: {n_bad} of {array.size} pixels of the map are NaN or infinite")
    return single


def row_of(key: MapKey, shape: tuple[int, int], prob: float, label: float, patient: str | None) -> TableRow:
    """The row of a map, each cell checked."""
    return {
        "case": key.case,
        "task": key.task,
        "method": key.method,
        "prob": checked_prob(prob, str(key)),
        "label": checked_label(label, str(key)),
        "path": path_of(key),
        "height": str(shape[0]),
        "width": str(shape[1]),
        "model": key.model or "",
        "seed": str(key.seed or ""),
        "patient": checked_patient(patient, str(key)),
    }


def checked_prob(prob: float, name: str) -> str:
    """A probability as text, empty where it is unknown."""
    if not _is_number(prob) or prob < 0 or prob > 1:
        raise ValueRangeError(f"{name}: prob must lie from 0 to 1, not {prob!r}; NaN where it is unknown")
    # the shortest text that reads back as the same number
    return "" if np.isnan(prob) else repr(float(prob))


def checked_label(label: float, name: str) -> str:
    """A label as text, empty where it is unknown."""
    if not _is_number(label) or (label == label and label not in (0, 1)):
        raise ValueRangeError(f"{name}: label must be 0 or 1, not {label!r}; NaN where it is unknown")
    return "" if np.isnan(label) else str(int(label))


def checked_patient(patient: Any, name: str) -> str:
    """A patient as text, empty where there is none."""
    text = "" if patient is None else str(patient)
    if patient is not None and (text in UNKNOWN or hidden(text)):
        raise ValueRangeError(
            f"{name}: patient {text!r} is no name: it is empty or stands for an unknown one in tables, has "
            "blanks around it, or holds control characters; None where it is unknown"
        )
    return text


def _is_number(value: Any) -> bool:
    """Whether a value is one real number."""
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf"


def _slug(name: str) -> str:
    """A name as a part of a file's name: plain letters, no dots or dashes in front, no dot at the end."""
    plain = _UNSAFE.sub("-", name).strip(".-")[:_LONGEST].rstrip(".")
    return _DEVICE.sub(r"\1_", plain) or "x"
