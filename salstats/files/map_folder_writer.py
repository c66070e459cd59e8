"""Write a folder of saliency maps, a file for each and a table of all, so that a stopped run can continue."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import check_choice
from salstats.errors import InputFileError, Message, SalstatsError, Setting, ShapeError
from salstats.files.map_table import (
    COLUMNS,
    MAP_FILE,
    MAPS_FOLDER,
    TABLE_FILE,
    MapKey,
    MaskCodes,
    TableRow,
    checked_key,
    checked_label_text,
    checked_map,
    checked_name,
    checked_patient_text_empty_for_none,
    csv_bytes_of_rows_without_header,
    file_inside,
    image_shape_of_row,
    is_nonempty_file_or_complete_npy,
    map_row,
    read_header_and_rows,
    read_mask_codes_by_case_and_task,
    read_settings_text_by_settings_key,
    series_or_pair_key,
    write_json,
)
from salstats.files.outputs import (
    acquire_folder_lock,
    check_parent,
    naming_write_errors,
    release_folder_lock,
    remove_abandoned_files,
    replacing_file,
)
from salstats.images.masks import Rle, encode
from salstats.images.run_lengths import check_shape

__all__ = ["MapFolder", "MapKey"]

#: Kinds of masks, each in KIND.json or KIND/TASK/CASE.png.
MASK_KINDS = ("truth", "human")
SETTINGS_FILE = "settings.json"
#: Names of files and folders that a folder without a table may hold.
_NAMES_ALLOWED_WITHOUT_TABLE = (*MASK_KINDS, *(f"{kind}.json" for kind in MASK_KINDS))


class MapFolder:
    """Write saliency maps into a folder, so that a run that was stopped can continue.

    Use it in a `with` block. Each map is a file of its own that appears only once it is complete, and its row
    is written right after it, or with the rows of other maps at the end of a `rows_written_together()` block.
    The next run removes the incomplete files of a killed one; a map without a row stays until it is made
    again.

    Parameters
    ----------
    folder : path
        A new folder, an empty one, or one of maps. Its parent exists.
    settings : mapping, optional
        Description of how the maps of each series are made: series (`method`, `method:model` or
        `method:model:seed`, or a `Series`) -> text; for settings of a single task, (series, task) -> text.
        They are kept in the folder; maps of the series with other settings are an error. With settings, every
        map added must be of a series that has them.
    overwrite : bool, default False
        Delete the maps of the series in `settings` that are there already; without settings, delete all
        maps. Masks of the truth and of people may then be replaced as well.

    Raises
    ------
    InputFileError
        The folder is a file, holds other files, cannot be written in, or has another writer; its table is
        damaged; it holds maps of a series that were made with other settings.

    See Also
    --------
    salstats.readers.map_folder.read_map_folder

    Notes
    -----
    The folder, which other programs may write as well::

        maps.csv          case, task, method, prob, label, path, height, width, model, seed[, patient]
        maps/SERIES/*.npy a map each, float32, of any resolution; it covers the whole image
        truth.json        the truth: case -> task -> COCO run-length code, as `write_masks` writes it
        human.json        people's masks, in the same form
        settings.json     series, or series, tabulator and task -> how its maps were made

    `height` and `width` are those of the image; `path` is relative to the folder. Names of files differ even
    on a disk that takes upper and lower case as the same; the names in the table are those that count.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from salstats.files.map_folder_writer import MapFolder, MapKey
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = pathlib.Path(place) / "study"
    ...     with MapFolder(folder) as maps:
    ...         maps.add(MapKey("a/1", "Edema", "gradcam"), np.eye(2), prob=0.75, shape=(8, 8))
    ...         maps.write_masks({("a/1", "Edema"): np.eye(8, dtype=bool)})
    ...     with MapFolder(folder) as maps:
    ...         print([MapKey(case, "Edema", "gradcam") in maps for case in ("a/1", "b")])
    ...     print((folder / "maps.csv").read_text().split()[1])
    [True, False]
    a/1,Edema,gradcam,0.75,,maps/gradcam/a-1_Edema~1d379776b6faab86.npy,8,8,,
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        settings: Mapping[Any, str] | None = None,
        overwrite: bool = False,
    ) -> None:
        self.folder = Path(folder)
        self._overwrite = overwrite
        if settings is not None and not isinstance(settings, Mapping):
            raise SalstatsError(
                f"settings must map series to text, not {type(settings).__name__}", option="settings"
            )
        self._settings: dict[str, str] | None = None
        if settings is not None:
            self._settings = {series_or_pair_key(key): str(text) for key, text in settings.items()}
        _make_or_check_map_folder(self.folder)
        self._lock = acquire_folder_lock(self.folder)
        try:
            self._read_table_and_delete_overwritten_maps()
        except BaseException:
            release_folder_lock(self._lock)
            raise
        self._is_open = True

    def _read_table_and_delete_overwritten_maps(self) -> None:
        """Read the table, delete the maps to be made anew, and remove the temporary files of killed runs."""
        table = self.folder / TABLE_FILE
        self._columns: list[str] = []
        self._rows: dict[MapKey, TableRow] = {}
        if table.exists():
            self._columns, self._rows = read_header_and_rows(table, resume=True)
        #: rows that are not yet in the table's file
        self._added: list[TableRow] = []
        #: whether a `rows_written_together` block is open, at whose end added rows are written
        self._is_together = False
        #: whether a row has changed that the table's file has already
        self._changed = False
        #: whether the table's file is complete, to its last line end
        self._is_whole = False
        #: masks of the files read or written so far, by kind
        self._masks: dict[str, MaskCodes] = {}
        #: maps that are complete: made in this run, or checked already
        self._complete: set[MapKey] = set()
        self._shapes: dict[str, tuple[int, int]] = {}
        for key, row in self._rows.items():
            shape = image_shape_of_row(row)
            if shape is not None:
                self._shapes.setdefault(key.case, shape)
        self._remove_temporary_files()
        stored_settings = read_settings_text_by_settings_key(self.folder / SETTINGS_FILE)
        overwritten = self._maps_overwritten_else_settings_checked(stored_settings)
        files = [self._map_file(key) for key in overwritten]
        for key in overwritten:
            del self._rows[key]
        # the table is written first, so that it never has a row without a map
        self._write_table()
        for file in files:
            # files of other programs have other names, and stay
            if MAP_FILE.fullmatch(file.name):
                file.unlink(missing_ok=True)
        if self._settings is not None:
            all_settings = {**stored_settings, **self._settings}
            if all_settings != stored_settings:
                write_json(self.folder / SETTINGS_FILE, all_settings)

    def _remove_temporary_files(self) -> None:
        """Remove the temporary files of killed runs; links to folders are not followed."""
        # another command may be writing a file beside the table, so only old files are removed
        remove_abandoned_files(self.folder)
        maps = self.folder / MAPS_FOLDER
        if maps.is_symlink():
            return
        for series_folder in maps.glob("*"):
            if not series_folder.is_symlink():
                # files of any age are removed, as only the holder of the lock writes into these folders
                remove_abandoned_files(series_folder, age=0)

    def _map_file(self, key: MapKey) -> Path:
        """Return the file of a map that has a row."""
        return file_inside(self.folder, self._rows[key]["path"], f"{self.folder / TABLE_FILE}, {key}")

    def _maps_overwritten_else_settings_checked(self, stored_settings: Mapping[str, str]) -> list[MapKey]:
        """List the maps to be made anew; raise where settings differ and `overwrite` is False."""
        if self._settings is None:
            return list(self._rows) if self._overwrite else []
        maps = [key for key in self._rows if str(key.series) in self._settings]
        if self._overwrite:
            return maps
        keys_of_maps = {series_or_pair_key(key.series) for key in maps}
        keys_of_maps |= {series_or_pair_key((key.series, key.task)) for key in maps}
        for settings_name, text in self._settings.items():
            if settings_name not in keys_of_maps:
                continue
            series, _, task = settings_name.partition("\t")
            stored_text = stored_settings.get(settings_name)
            # older folders have no settings of tasks, and only those of the series are compared
            lacks_task = stored_text is None and task != ""
            if stored_text != text and not lacks_task:
                raise self._different_settings_error(series, task, stored_text, text)
        return []

    def _different_settings_error(
        self, series: str, task: str, stored_text: str | None, text: str
    ) -> InputFileError:
        """Make the error of maps that were made with other settings."""
        owner = f"{series!r}, task {task!r}," if task else repr(series)
        origin = "do not say how they were made"
        if stored_text is not None:
            origin = f"were made with {stored_text!r}"
        return InputFileError(
            f"{self.folder}: its maps of {owner} {origin}, and new ones would be made with {text!r}",
            hint=Message("name another folder, or make them anew with ", Setting("overwrite", True)),
            option="overwrite",
            value=(series, task) if task else series,
            path=self.folder,
        )

    def __contains__(self, key: object) -> bool:
        """Return whether a map has a row and its file is complete."""
        map_key = checked_key(key)  # type: ignore[arg-type]
        if map_key in self._complete:
            return True
        if map_key not in self._rows or not is_nonempty_file_or_complete_npy(self._map_file(map_key)):
            return False
        self._complete.add(map_key)
        return True

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def __iter__(self) -> Iterator[MapKey]:
        """Iterate over the maps that have a row, in the order of the rows."""
        return iter(tuple(self._rows))

    def add(
        self,
        key: MapKey,
        saliency: Any,
        *,
        shape: tuple[int, int],
        prob: float = float("nan"),
        label: float = float("nan"),
        patient: str | None = None,
    ) -> None:
        """Write one map and its row.

        Parameters
        ----------
        key : MapKey
        saliency : array_like of number, shape (m, n)
            Finite; larger means more salient. Of any resolution; it must cover the whole image. Stored in
            float32.
        shape : tuple of int
            (height, width) of the image, the same for all maps of a case.
        prob : float
            The model's probability for the task, from 0 to 1; NaN where it is unknown.
        label : float
            1 if the image shows the finding, else 0; NaN where it is unknown.
        patient : str, optional
            The patient of the case.

        Raises
        ------
        ShapeError, ValueRangeError
            The map is not two-dimensional, or holds NaN or infinity; `shape` differs from that of other maps
            of the case; prob or label is out of range.
        SalstatsError
            The map is there already; the series has no settings; a part of the key is not a name.
        InputFileError
            A file cannot be written.
        """
        self._check_open()
        name = checked_key(key)
        if name in self:
            raise SalstatsError(
                f"{self.folder}: {name} is there already",
                hint="test `key in folder` first",
                option="key",
                value=name,
                path=self.folder,
            )
        if self._settings is not None and str(name.series) not in self._settings:
            raise SalstatsError(
                f"{name}: ",
                Setting("settings"),
                f" has no entry for this series (entries: {', '.join(self._settings)})",
                choices=self._settings,
            )
        array = checked_map(saliency, str(name))
        size = check_shape(shape)
        row = map_row(name, size, prob, label, patient)
        _check_same_size(size, self._shapes.get(name.case, size), str(name))
        # raises where `maps` is a link that leads out of the folder
        file = file_inside(self.folder, row["path"], str(name))
        with naming_write_errors(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing_file(file) as temporary, temporary.open("wb") as stream:
                np.save(stream, array, allow_pickle=False)
        if name in self._rows:
            # the map replaces a damaged one; its row is written when the folder is closed
            self._changed |= self._rows[name] != row
        else:
            self._added.append(row)
        self._rows[name] = row
        self._shapes.setdefault(name.case, size)
        self._complete.add(name)
        if not self._is_together:
            self._write_added_rows()

    def describe(
        self, labels: Mapping[tuple[str, str], float] | None = None, patients: Mapping[str, str] | None = None
    ) -> None:
        """Set the labels and patients of maps that have a row; maps without an entry keep theirs.

        Parameters
        ----------
        labels : mapping of (str, str) to 0 or 1, optional
            Case and task -> 1 if the image shows the finding, else 0.
        patients : mapping of str to str, optional
            Case -> patient.
        """
        self._check_open()
        label_texts = {
            pair: checked_label_text(label, f"labels: {pair}") for pair, label in (labels or {}).items()
        }
        patient_texts = {
            case: checked_patient_text_empty_for_none(patient, f"patients: {case!r}")
            for case, patient in (patients or {}).items()
        }
        for key, row in self._rows.items():
            cells = {
                "label": label_texts.get((key.case, key.task)),
                "patient": patient_texts.get(key.case),
            }
            for column, text in cells.items():
                if text and text != row.get(column):
                    row[column] = text
                    self._changed = True
        if self._changed:
            self._write_table()

    @contextmanager
    def rows_written_together(self) -> Iterator[None]:
        """Write the rows of the maps that are added in a `with` block together, at its end."""
        self._is_together = True
        try:
            yield
        finally:
            self._is_together = False
            self._write_added_rows()

    def _write_added_rows(self) -> None:
        """Append new rows to the table's file; write the whole file where they need another column."""
        added = self._added
        self._added = []
        filled_columns = {column for column in COLUMNS if any(row.get(column) for row in added)}
        if not filled_columns <= set(self._columns) or not self._is_whole:
            self._write_table()
        elif added:
            # if the disk is full, the last row is cut off, and the table is written again
            self._is_whole = False
            with (
                naming_write_errors(self.folder / TABLE_FILE),
                (self.folder / TABLE_FILE).open("ab") as stream,
            ):
                stream.write(csv_bytes_of_rows_without_header(self._columns, added))
            self._is_whole = True

    def _write_table(self) -> None:
        """Write the whole table: the columns that it has, and the further ones that its rows need."""
        rows = self._rows.values()
        has_patients = any(row.get("patient") for row in rows)
        for column in COLUMNS:
            is_needed = column != "patient" or has_patients
            if is_needed and column not in self._columns:
                self._columns.append(column)
        header = dict(zip(self._columns, self._columns, strict=True))
        with replacing_file(self.folder / TABLE_FILE) as temporary:
            temporary.write_bytes(csv_bytes_of_rows_without_header(self._columns, [header, *rows]))
        self._changed = False
        self._is_whole = True

    def write_masks(self, masks: Mapping[tuple[str, str], Rle | np.ndarray], which: str = "truth") -> None:
        """Write masks of the truth or of people beside those in the folder.

        Parameters
        ----------
        masks : mapping
            (case, task) -> mask of the image's size. Where a case has masks of other tasks only, the finding
            is absent, as with an empty mask; nobody has looked at a case without any mask.
        which : {"truth", "human"}
            Masks of the truth or of people.

        Raises
        ------
        InputFileError
            Another mask of the case and task is there and `overwrite` is False; the folder has a folder of
            this name, or the file is damaged.
        SalstatsError
            A name or a mask is invalid.
        """
        self._check_open()
        check_choice(which, MASK_KINDS, "which")
        file = self.folder / f"{which}.json"
        if (self.folder / which).exists():
            raise InputFileError(
                f"{self.folder / which}: a folder of masks, beside which there can be no {file.name}",
                path=self.folder / which,
            )
        if not isinstance(masks, Mapping):
            raise SalstatsError(
                f"masks must map (case, task) to a mask, not {type(masks).__name__}", option="masks"
            )
        stored_codes = self._masks[which] if which in self._masks else read_mask_codes_by_case_and_task(file)
        codes = {case: dict(by_task) for case, by_task in stored_codes.items()}
        shapes: dict[str, tuple[int, int]] = {}
        for pair, mask in masks.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise SalstatsError(
                    f"masks must map (case, task) to a mask; {pair!r} is not such a pair", option="masks"
                )
            case = checked_name(pair[0], "case")
            task = checked_name(pair[1], "task")
            rle = mask if isinstance(mask, Rle) else encode(mask)
            first_shape = self._shapes.get(case) or shapes.setdefault(case, rle.shape)
            _check_same_size(rle.shape, first_shape, f"{which}, case {case!r}, task {task!r}")
            code = rle.to_coco()
            stored_code = codes.setdefault(case, {}).setdefault(task, code)
            if stored_code != code and not self._overwrite:
                raise InputFileError(
                    f"{file}: another mask of case {case!r}, task {task!r} is there",
                    hint=Message(Setting("overwrite", True), " replaces it"),
                    option="overwrite",
                    path=file,
                )
            codes[case][task] = code
        if codes != stored_codes or not file.exists():
            write_json(file, codes)
        self._masks[which] = codes
        # only now, as after an error above the masks are not written
        self._shapes |= shapes

    def close(self) -> None:
        """Write the table and release the lock; a second call does nothing."""
        if not self._is_open:
            return
        try:
            if self._changed or not self._is_whole:
                self._write_table()
        finally:
            self._is_open = False
            release_folder_lock(self._lock)

    def __enter__(self) -> "MapFolder":
        """Return the folder itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Write the table, also after an error, so that complete maps keep their rows; release the lock."""
        self.close()

    def _check_open(self) -> None:
        """Raise where the folder has been closed."""
        if not self._is_open:
            raise SalstatsError(
                f"{self.folder}: closed", path=self.folder, hint="write within `with MapFolder(...) as maps:`"
            )


def _check_same_size(shape: tuple[int, int], first_shape: tuple[int, int], name: str) -> None:
    """Raise where the (height, width) of a map or mask is not that of the case's first one."""
    if first_shape != shape:
        raise ShapeError(
            f"{name}: the image is {first_shape[0]} x {first_shape[1]} (height x width) beside other "
            f"maps or masks and {shape[0]} x {shape[1]} here",
            option="shape",
            value=shape,
        )


def _make_or_check_map_folder(folder: Path) -> None:
    """Make the folder where it does not exist; raise where maps may not be written into it."""
    with naming_write_errors(folder):
        if folder.exists() and not folder.is_dir():
            raise InputFileError(
                f"cannot write maps into {folder}: it is a file", hint="name a folder", path=folder
            )
        if not folder.exists():
            check_parent(folder.absolute())
        folder.mkdir(exist_ok=True)
        names = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
    foreign_names = [name for name in names if name not in _NAMES_ALLOWED_WITHOUT_TABLE]
    if foreign_names and TABLE_FILE not in names:
        raise InputFileError(
            f"cannot write maps into {folder}: it holds {foreign_names[0]!r} and no {TABLE_FILE}",
            hint="name an empty folder, or one of maps",
            value=foreign_names[0],
            path=folder,
        )
