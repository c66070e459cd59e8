"""Files of a map folder: its table, the names and paths of maps, masks and settings."""

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

from salstats.checks import invisibility_text, quoted
from salstats.errors import InputFileError, SalstatsError, ShapeError, ValueRangeError
from salstats.files.input_files import read_json
from salstats.files.outputs import replacing_file
from salstats.files.paths import check_is_regular_file_unless_missing
from salstats.frames import seed_without_decimal_zero
from salstats.study import HUMAN, Series

#: Table of a map folder, by which such a folder is recognised.
TABLE_FILE = "maps.csv"
#: Columns of the table, in the order of writing; `patient` only where it is known.
COLUMNS = ("case", "task", "method", "prob", "label", "path", "height", "width", "model", "seed", "patient")
REQUIRED_COLUMNS = ("case", "task", "method", "path")
#: Folder of the maps that `MapFolder` writes.
MAPS_FOLDER = "maps"
#: Cells that stand for an unknown model, seed or patient, also in tables of R and MATLAB.
UNKNOWN_CELLS = ("", "NA", "NaN", "nan")
#: Form of the names of the maps that `MapFolder` writes; no other files are ever removed.
MAP_FILE = re.compile(r"[A-Za-z0-9._+-]+~[0-9a-f]{16}\.npy")
#: Characters of a name that are replaced in the name of a file.
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._+-]+")
#: Number of characters of a name that are kept in the name of a file.
_MAX_SLUG_CHARACTERS = 40
#: Names that Windows reserves for devices, whatever their ending.
_WINDOWS_DEVICE = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)")


class MapKey(NamedTuple):
    """Names of a map: its case, task, method, network and seed.

    Attributes
    ----------
    case, task, method : str
        As in frames. Any visible text: no control characters, no blanks around it.
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
        """Return the method, network and seed."""
        return Series(self.method, self.model, None if self.seed is None else str(self.seed))

    def __str__(self) -> str:
        """Return the map's names as text for messages."""
        return f"case {self.case!r}, task {self.task!r}, method {str(self.series)!r}"


#: Row of the table: column -> text.
TableRow = dict[str, str]
#: Masks as a file holds them: case -> task -> COCO run-length code.
MaskCodes = dict[str, dict[str, dict[str, Any]]]


def checked_key(key: MapKey) -> MapKey:
    """Return a key with its parts as text, a seed of 3.0 as "3"; raise where a part is not a name."""
    if not isinstance(key, tuple) or len(key) not in (3, 4, 5):
        raise SalstatsError(
            f"a map is named by a MapKey(case, task, method, model, seed), not {key!r}",
            option="key",
            value=key,
        )
    texts: dict[str, str | None] = {"model": None, "seed": None}
    for name, value in zip(MapKey._fields, key, strict=False):
        texts[name] = None if value is None else str(value)
    if texts["seed"] is not None:
        texts["seed"] = seed_without_decimal_zero(texts["seed"])
    for name in ("case", "task", "method"):
        checked_name(texts[name], name)
    for name in ("model", "seed"):
        if texts[name] is None:
            continue
        checked_name(texts[name], name)
        if texts[name] in UNKNOWN_CELLS:
            raise SalstatsError(
                f"{name} {texts[name]!r} of a map stands for an unknown one in tables",
                hint="leave it out",
                column=name,
                value=texts[name],
            )
    if texts["method"] == HUMAN:
        raise SalstatsError(
            f"method {HUMAN!r} is that of people, who draw no maps",
            hint='write their masks with write_masks(..., which="human")',
            column="method",
            value=HUMAN,
        )
    return MapKey(**texts)  # type: ignore[arg-type]


def checked_name(value: Any, field: str) -> str:
    """Return the value of a key's field, such as the case, as text; raise where it is not a name."""
    text = "" if value is None else str(value)
    problem = invisibility_text(text) if text else "is empty"
    if problem:
        raise SalstatsError(
            f"{field} {text!r} of a map is not a name: it {problem}", column=field, value=value
        )
    return text


def map_path_of(key: MapKey) -> str:
    """Return the path of a map's file in its folder; the paths of two keys differ on any file system.

    Examples
    --------
    >>> from salstats.files.map_table import MapKey, map_path_of
    >>> map_path_of(MapKey("../a b", "Edema", "gradcam"))
    'maps/gradcam/a-b_Edema~59f34102ac9fe54c.npy'
    """
    # a digest of the whole names, as their readable forms may be cut, or differ in upper and lower case only
    names = [str(name or "") for name in checked_key(key)]
    digest = hashlib.sha256("\0".join(names).encode()).hexdigest()[:16]
    series_folder = "_".join(map(_file_name_part, str(key.series).split(":")))
    return (
        f"{MAPS_FOLDER}/{series_folder}/{_file_name_part(key.case)}_{_file_name_part(key.task)}~{digest}.npy"
    )


def file_inside(folder: Path, path: str, location: str) -> Path:
    """Return the file of a path in the table; raise where it does not lie in the folder.

    `path` is relative to the folder, with slashes or, from Windows, backslashes. A path that is empty or
    absolute, has "..", or is a link that leads out of the folder raises InputFileError with the row
    (`location`).

    Examples
    --------
    >>> import pathlib
    >>> from salstats.files.map_table import file_inside
    >>> file_inside(pathlib.Path("study"), "../a.npy", "maps.csv, row 2")
    Traceback (most recent call last):
    salstats.errors.InputFileError: maps.csv, row 2: path '../a.npy' leaves the folder; name a file in it
    """
    # a path of Windows also understands slashes: both spellings are checked on every system
    windows_path = PureWindowsPath(path)
    names = windows_path.parts
    if not names or not path.isprintable():
        raise InputFileError(f"{location}: path {path!r} names no file", column="path", value=path)
    if windows_path.anchor or windows_path.drive or path.startswith("~"):
        raise InputFileError(
            f"{location}: path {path!r} is absolute",
            hint="make it relative to the folder",
            column="path",
            value=path,
        )
    file = folder.joinpath(*names)
    if ".." not in names:
        # a link may lead out of the folder
        real_folder = os.path.realpath(folder)
        if os.path.commonpath([real_folder, os.path.realpath(file)]) == real_folder:
            return file
    raise InputFileError(
        f"{location}: path {path!r} leaves the folder",
        hint="name a file in it",
        column="path",
        value=path,
    )


def read_header_and_rows(file: Path, *, resume: bool = False) -> tuple[list[str], dict[MapKey, TableRow]]:
    """Read the header of a table, and its rows by map, in their order and with every cell as text.

    With `resume`, a last row that its writer could not complete is left out.

    Raise where the file is not CSV, lacks a column, has a row of another length, or two rows of one map.
    """
    check_is_regular_file_unless_missing(file)
    try:
        text = file.read_bytes().decode("utf-8-sig")
        if resume:
            text = _without_cut_row(text)
        records = list(csv.reader(io.StringIO(text.rstrip("\r\n"), newline=""), strict=True))
        header = records[0] if records else []
        rows_of_cells = records[1:]
    except FileNotFoundError as error:
        raise InputFileError(f"{file}: no such file", path=file) from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputFileError(f"{file}: cannot be read as a table ({error})", path=file) from error
    missing = [name for name in REQUIRED_COLUMNS if name not in header]
    if missing or len(set(header)) < len(header):
        problem = "has a column twice"
        missing_column = None
        if missing:
            missing_column = missing[0]
            problem = f"has no column {missing_column!r}"
        raise InputFileError(
            f"{file} {problem} (columns: {quoted(header)})",
            hint="it is not a table of maps",
            column=missing_column,
            choices=header,
            path=file,
        )
    rows: dict[MapKey, TableRow] = {}
    for number, cells in enumerate(rows_of_cells, start=2):
        location = f"{file}, row {number}"
        if len(cells) != len(header):
            raise InputFileError(
                f"{location}: {len(cells)} cells, the header has {len(header)}",
                value=len(cells),
                rows=[number - 2],
                path=file,
            )
        # a cell of blanks only is empty, as in other tables
        row = {name: "" if cell.isspace() else cell for name, cell in zip(header, cells, strict=True)}
        model = None if row.get("model", "") in UNKNOWN_CELLS else row["model"]
        seed = None if row.get("seed", "") in UNKNOWN_CELLS else row["seed"]
        try:
            key = checked_key(MapKey(row["case"], row["task"], row["method"], model, seed))
        except SalstatsError as error:
            raise InputFileError(
                f"{location}: ",
                error.message,
                column=error.column,
                value=error.value,
                rows=[number - 2],
                path=file,
            ) from error
        if key in rows:
            first = list(rows).index(key)
            raise InputFileError(
                f"{location}: {key} has row {first + 2} already",
                hint="remove one of them",
                rows=[first, number - 2],
                path=file,
            )
        rows[key] = row
    return header, rows


def _without_cut_row(text: str) -> str:
    """Return a table's text without its last row where the row's writer could not complete it.

    `MapFolder` ends each row with a line feed. In a table of another program the last row may lack it, and is
    complete if it has as many cells as the header.
    """
    complete_rows, _, last_row = text.rpartition("\n")
    if not complete_rows or not last_row:
        return text
    header = text.partition("\n")[0]
    n_columns = len(next(csv.reader([header])))
    n_cells = len(next(csv.reader([last_row])))
    if MAP_FILE.search(last_row) or n_cells < n_columns:
        return complete_rows
    return text


def csv_bytes_of_rows_without_header(columns: Sequence[str], rows: Iterable[TableRow]) -> bytes:
    """Return rows as bytes of a CSV file, without a header of their own."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in rows:
        writer.writerow([row.get(column, "") for column in columns])
    return stream.getvalue().encode()


def image_shape_of_row(row: TableRow) -> tuple[int, int] | None:
    """Return the image's (height, width) in a row; None where they are not whole numbers."""
    try:
        height = float(row.get("height") or "nan")
        width = float(row.get("width") or "nan")
        shape = (int(height), int(width))
    except (ValueError, OverflowError):
        return None
    if shape != (height, width):
        return None
    return shape


def is_nonempty_file_or_complete_npy(file: Path) -> bool:
    """Return whether a file exists and is not empty; a .npy file must hold a complete array for a map.

    Such an array has real numbers, at least one, and two axes or more.
    """
    try:
        if not file.is_file():
            return False
        if file.suffix.lower() != ".npy":
            return file.stat().st_size > 0
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    # NumPy raises errors of several classes on damaged files
    except Exception:
        return False
    return array.ndim >= 2 and array.size > 0 and array.dtype.kind in "biuf"


def read_mask_codes_by_case_and_task(file: Path) -> MaskCodes:
    """Read COCO's code of each mask, case -> task -> code; an empty dict where the file does not exist."""
    codes = _read_json_object_or_empty(file)
    for case, by_task in codes.items():
        if not isinstance(by_task, dict):
            raise InputFileError(f"{file}, case {case!r}: not an object of tasks", value=case, path=file)
    return codes


def read_settings_text_by_settings_key(file: Path) -> dict[str, str]:
    """Read the settings text of each series, or series and task, by its key; {} without the file."""
    settings = _read_json_object_or_empty(file)
    for series, text in settings.items():
        if not isinstance(text, str):
            raise InputFileError(
                f"{file}: not an object of series and their settings, as text", value=series, path=file
            )
    return settings


def series_or_pair_key(series_or_pair: Any) -> str:
    """Return the key of settings in a file: a series as text, or series and task with a tab between them."""
    # names hold no tab
    if isinstance(series_or_pair, tuple):
        return "\t".join(map(str, series_or_pair))
    return str(series_or_pair)


def _read_json_object_or_empty(file: Path) -> dict[str, Any]:
    """Read the object in a JSON file as a dict, empty where the file does not exist."""
    content = read_json(file) if file.exists() else {}
    if not isinstance(content, dict):
        raise InputFileError(f"{file}: not an object", value=type(content).__name__, path=file)
    return content


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file, and replace an earlier one."""
    with replacing_file(file) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")


def checked_map(saliency: Any, name: str) -> np.ndarray:
    """Return a map in float32; raise where it is not two-dimensional, numeric and finite."""
    try:
        array = np.asarray(saliency)
    except ValueError as error:
        raise ShapeError(
            f"{name}: a map must have shape (height, width), all rows of one length", option="saliency"
        ) from error
    if array.ndim != 2 or not array.size:
        raise ShapeError(
            f"{name}: a map must have shape (height, width) and a pixel, not {array.shape}",
            option="saliency",
            value=array.shape,
        )
    if array.dtype.kind not in "biuf":
        raise ValueRangeError(
            f"{name}: a map must hold real numbers, not {array.dtype}", option="saliency", value=array.dtype
        )
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(array, dtype=np.float32)
    n_bad = array.size - int(np.count_nonzero(np.isfinite(single)))
    if n_bad:
        raise ValueRangeError(
            f"{name}: {n_bad} of {array.size} pixels of the map are NaN or infinite",
            option="saliency",
            value=n_bad,
        )
    return single


def map_row(key: MapKey, shape: tuple[int, int], prob: float, label: float, patient: str | None) -> TableRow:
    """Make the table's row of a map; raise where a probability, label or patient is invalid."""
    return {
        "case": key.case,
        "task": key.task,
        "method": key.method,
        "prob": checked_prob_text(prob, str(key)),
        "label": checked_label_text(label, str(key)),
        "path": map_path_of(key),
        "height": str(shape[0]),
        "width": str(shape[1]),
        "model": key.model or "",
        "seed": str(key.seed or ""),
        "patient": checked_patient_text_empty_for_none(patient, str(key)),
    }


def checked_prob_text(prob: float, name: str) -> str:
    """Return a probability as text, "" where it is NaN; raise where it is not from 0 to 1."""
    if not _is_real_scalar_or_bool(prob) or prob < 0 or prob > 1:
        raise ValueRangeError(
            f"{name}: prob must lie from 0 to 1, not {prob!r}; NaN where it is unknown",
            option="prob",
            value=prob,
        )
    # the shortest text that reads back as the same number
    return "" if np.isnan(prob) else repr(float(prob))


def checked_label_text(label: float, name: str) -> str:
    """Return a label as text, "" where it is NaN; raise where it is not 0 or 1."""
    if not _is_real_scalar_or_bool(label) or (not np.isnan(label) and label not in (0, 1)):
        raise ValueRangeError(
            f"{name}: label must be 0 or 1, not {label!r}; NaN where it is unknown",
            option="label",
            value=label,
        )
    return "" if np.isnan(label) else str(int(label))


def checked_patient_text_empty_for_none(patient: Any, name: str) -> str:
    """Return a patient as text, "" for None; raise where it is not a name."""
    text = "" if patient is None else str(patient)
    if patient is not None and (text in UNKNOWN_CELLS or invisibility_text(text)):
        raise ValueRangeError(
            f"{name}: patient {text!r} is not a name: it is empty or stands for an unknown one in tables, "
            "has blanks around it, or holds control characters; None where it is unknown",
            option="patient",
            value=patient,
        )
    return text


def _is_real_scalar_or_bool(value: Any) -> bool:
    """Return whether a value is a single real number or bool."""
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf"


def _file_name_part(name: str) -> str:
    """Return a name as a part of a file's name: ASCII letters, digits and `._+-`, at most 40 characters.

    It has no dot or dash at its beginning and no dot at its end, and is "x" if nothing is left. A name that
    Windows reserves for a device gets "_" after it.
    """
    slug = _UNSAFE_CHARACTERS.sub("-", name).strip(".-")[:_MAX_SLUG_CHARACTERS].rstrip(".")
    return _WINDOWS_DEVICE.sub(r"\1_", slug) or "x"
