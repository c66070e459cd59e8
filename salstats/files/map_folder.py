"""Write a folder of saliency maps: one table of what they are, one file each, so that a run can go on."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import check_choice
from salstats.errors import InputFileError, SalstatsError, ShapeError
from salstats.files.map_table import (
    COLUMNS,
    MADE,
    MAPS,
    TABLE,
    MapKey,
    MaskCodes,
    TableRow,
    checked_key,
    checked_label,
    checked_map,
    checked_name,
    checked_patient,
    file_inside,
    is_complete,
    read_masks,
    read_rows,
    read_settings,
    row_of,
    settings_key,
    shape_of,
    text_of,
    write_json,
)
from salstats.files.outputs import (
    check_parent,
    lock_folder,
    remove_abandoned,
    replacing,
    unlock_folder,
    writing,
)
from salstats.images.masks import Rle, encode
from salstats.images.run_lengths import check_shape

__all__ = ["MapFolder", "MapKey"]

#: Whose masks there may be: NAME.json, or NAME/TASK/CASE.png.
MASKS = ("truth", "human")
SETTINGS = "settings.json"
#: What may lie in a folder that has no table yet.
_OURS = (*MASKS, *(f"{name}.json" for name in MASKS))


class MapFolder:
    """Write saliency maps into a folder, so that a run that was stopped goes on where it was.

    Use it in a `with` block. Each map is a file of its own that appears only once it is complete, and its row
    follows at once, or with those of the maps that are made `together()` with it. The next run removes what a
    killed one left half done; a map that has no row stays until it is made again.

    Parameters
    ----------
    folder : path
        A new folder, an empty one, or one of maps. Its parent exists.
    settings : mapping, optional
        How the maps of each series are made, in words: series (`method`, `method:model` or
        `method:model:seed`, or a `Series`) -> text; and where a task has more to say, (series, task) ->
        text. It is kept in the folder, and maps of the series that were made in another way are refused.
        With settings, every map added must be of a series that has them.
    overwrite : bool, default False
        Drop the maps of the series in `settings` that are there already; where there are no settings, drop
        all maps. Masks of the truth and of people may then be replaced as well.

    Raises
    ------
    InputFileError
        The folder is a file, holds other files, may not be written in, or has another writer; its table is
        damaged; it holds maps of a series that were made with other settings.

    See Also
    --------
    salstats.readers.map_folder.read_map_folder

    Notes
    -----
    The folder, which anything else may write as well::

        maps.csv          case, task, method, prob, label, path, height, width, model, seed[, patient]
        maps/SERIES/*.npy one map each, float32, of any resolution that covers the whole image
        truth.json        the truth: case -> task -> COCO run-length code, as `write_masks` writes it
        human.json        people's masks, in the same form
        settings.json     series, or series, tabulator and task -> how its maps were made

    `height` and `width` are those of the image; `path` counts from the folder. No two names of files are
    alike, also where upper and lower case are the same; the names that count stand in the table.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from salstats.files.map_folder import MapFolder, MapKey
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
            raise SalstatsError(f"settings must map series to text, not {type(settings).__name__}")
        self._settings = None if settings is None else {settings_key(s): str(t) for s, t in settings.items()}
        _check_folder(self.folder)
        self._lock = lock_folder(self.folder)
        try:
            self._open()
        except BaseException:
            unlock_folder(self._lock)
            raise
        self._is_open = True

    def _open(self) -> None:
        """Read what is there, drop what is to be made anew, and remove what a killed run left."""
        table = self.folder / TABLE
        self._columns: list[str] = []
        self._rows: dict[MapKey, TableRow] = {}
        if table.exists():
            self._columns, self._rows = read_rows(table, resume=True)
        self._added: list[TableRow] = []
        self._is_together, self._changed, self._is_whole = False, False, False
        self._masks: dict[str, MaskCodes] = {}
        #: maps that need no second look: made in this run, or looked at already
        self._complete: set[MapKey] = set()
        self._shapes: dict[str, tuple[int, int]] = {}
        for key, row in self._rows.items():
            shape = shape_of(row)
            if shape is not None:
                self._shapes.setdefault(key.case, shape)
        # another command may be writing a file beside the table, so only old ones are left behind
        remove_abandoned(self.folder)
        maps = self.folder / MAPS
        for place in () if maps.is_symlink() else maps.glob("*"):
            if not place.is_symlink():
                # of whatever age: below, only the holder of the lock writes
                remove_abandoned(place, age=0)
        known = read_settings(self.folder / SETTINGS)
        dropped = self._dropped(known)
        files = [self._file(key) for key in dropped]
        for key in dropped:
            del self._rows[key]
        # the table first: a row must never be there without its map
        self._write_table()
        for file in files:
            if MADE.fullmatch(file.name):
                file.unlink(missing_ok=True)
        if self._settings is not None and {**known, **self._settings} != known:
            write_json(self.folder / SETTINGS, {**known, **self._settings})

    def _file(self, key: MapKey) -> Path:
        """The file of a map that has a row."""
        return file_inside(self.folder, self._rows[key]["path"], f"{self.folder / TABLE}, {key}")

    def _dropped(self, known: Mapping[str, str]) -> list[MapKey]:
        """The maps that are to be made anew; an error where that was not allowed."""
        if self._settings is None:
            return list(self._rows) if self._overwrite else []
        found = [key for key in self._rows if str(key.series) in self._settings]
        if self._overwrite:
            return found
        there = {settings_key(about) for key in found for about in (key.series, (key.series, key.task))}
        for about, wanted in self._settings.items():
            series, _, task = about.partition("\t")
            # of a task that an older folder does not tell of, the series alone is compared
            if about in there and known.get(about, wanted if task else None) != wanted:
                was = (
                    f"were made with {known[about]!r}" if about in known else "do not say how they were made"
                )
                whose = f"{series!r}, task {task!r}," if task else repr(series)
                raise InputFileError(
                    f"{self.folder}: its maps of {whose} {was}, now wanted with {wanted!r}; "
                    "name another folder, or make them anew with overwrite=True"
                )
        return []

    def __contains__(self, key: object) -> bool:
        """Whether a map is there, and complete."""
        wanted = checked_key(key)  # type: ignore[arg-type]
        if wanted in self._complete:
            return True
        if wanted not in self._rows or not is_complete(self._file(wanted)):
            return False
        self._complete.add(wanted)
        return True

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def __iter__(self) -> Iterator[MapKey]:
        """Iterate over the maps that have a row, in its order."""
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
            Finite; larger means more salient. Of any resolution that covers the whole image; stored in
            float32.
        shape : tuple of int
            (height, width) of the image, the same for all maps of a case.
        prob : float
            The model's probability for the task, from 0 to 1; NaN where it is unknown.
        label : float
            Whether the finding is there, 0 or 1; NaN where it is unknown.
        patient : str, optional
            The cluster that the case belongs to.

        Raises
        ------
        ShapeError, ValueRangeError
            The map is none, or holds NaN or infinity; its image has another size beside other maps; prob or
            label is out of range.
        SalstatsError
            The map is there already; the series has no settings; a part of the key is no name.
        InputFileError
            A file cannot be written.
        """
        self._check_open()
        name = checked_key(key)
        if name in self:
            raise SalstatsError(f"{self.folder}: {name} is there already; look with `key in folder` first")
        if self._settings is not None and str(name.series) not in self._settings:
            raise SalstatsError(
                f"{name}: settings= has no entry for this series (entries: {', '.join(self._settings)})"
            )
        array, size = checked_map(saliency, str(name)), check_shape(shape)
        row = row_of(name, size, prob, label, patient)
        self._check_size(name.case, size, str(name))
        # `maps` may be a link that leads elsewhere
        file = file_inside(self.folder, row["path"], str(name))
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(file) as temporary, temporary.open("wb") as stream:
                np.save(stream, array, allow_pickle=False)
        if name in self._rows:
            # of a damaged map: the row is written when the folder is closed
            self._changed |= self._rows[name] != row
        else:
            self._added.append(row)
        self._rows[name] = row
        self._complete.add(name)
        if not self._is_together:
            self._write_added()

    def describe(
        self, labels: Mapping[tuple[str, str], float] | None = None, patients: Mapping[str, str] | None = None
    ) -> None:
        """Set the labels and patients of maps that are there; where none is given, what is there stays.

        Parameters
        ----------
        labels : mapping of (str, str) to 0 or 1, optional
            Case and task -> whether the finding is there.
        patients : mapping of str to str, optional
            Case -> patient.
        """
        self._check_open()
        told = {pair: checked_label(label, f"labels: {pair}") for pair, label in (labels or {}).items()}
        whose = {
            case: checked_patient(patient, f"patients: {case!r}")
            for case, patient in (patients or {}).items()
        }
        for key, row in self._rows.items():
            said = {"label": told.get((key.case, key.task)), "patient": whose.get(key.case)}
            new = {name: text for name, text in said.items() if text and text != row.get(name)}
            row.update(new)
            self._changed |= bool(new)
        if self._changed:
            self._write_table()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let the rows of maps that are made together be written together, at the end of the block."""
        self._is_together = True
        try:
            yield
        finally:
            self._is_together = False
            self._write_added()

    def _write_added(self) -> None:
        """Write rows that are new behind the others; all anew where they have another column."""
        added, self._added = self._added, []
        needs = any(row.get(column) and column not in self._columns for row in added for column in COLUMNS)
        if needs or not self._is_whole:
            self._write_table()
        elif added:
            self._is_whole = False  # until the last row has its end: a disk may be full
            with writing(self.folder / TABLE), (self.folder / TABLE).open("ab") as stream:
                stream.write(text_of(self._columns, added))
            self._is_whole = True

    def _write_table(self) -> None:
        """Write the whole table, in the columns that are there and those that are needed."""
        rows = self._rows.values()
        wanted = [c for c in COLUMNS if c != "patient" or any(row.get(c) for row in rows)]
        self._columns += [c for c in wanted if c not in self._columns]
        header = dict(zip(self._columns, self._columns, strict=True))
        with replacing(self.folder / TABLE) as temporary:
            temporary.write_bytes(text_of(self._columns, [header, *rows]))
        self._changed, self._is_whole = False, True

    def _check_size(self, case: str, shape: tuple[int, int], where: str) -> None:
        """Raise where other maps or masks of a case say that its image has another size."""
        known = self._shapes.setdefault(case, shape)
        if known != shape:
            raise ShapeError(
                f"{where}: the image is {known[0]} x {known[1]} (height x width) beside other maps or masks "
                f"and {shape[0]} x {shape[1]} here"
            )

    def write_masks(self, masks: Mapping[tuple[str, str], Rle | np.ndarray], which: str = "truth") -> None:
        """Write masks of the truth or of people beside those that are there.

        Parameters
        ----------
        masks : mapping
            (case, task) -> mask of the image's size. A task that a case lacks is not on the image, as where
            its mask is empty; a case without any mask has not been looked at.
        which : {"truth", "human"}

        Raises
        ------
        InputFileError
            Another mask of the case and task is there and `overwrite` is False; the folder has a folder of
            this name, or the file is damaged.
        SalstatsError
            A name or a mask is none.
        """
        self._check_open()
        check_choice(which, MASKS, "which")
        file = self.folder / f"{which}.json"
        if (self.folder / which).exists():
            raise InputFileError(
                f"{self.folder / which}: a folder of masks; {file.name} beside it would be twice"
            )
        if not isinstance(masks, Mapping):
            raise SalstatsError(f"masks must map (case, task) to a mask, not {type(masks).__name__}")
        held = self._masks[which] if which in self._masks else read_masks(file)
        found = {case: dict(by_task) for case, by_task in held.items()}
        for pair, mask in masks.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise SalstatsError(f"masks must map (case, task) to a mask; {pair!r} is no such pair")
            case, task = checked_name(pair[0], "case"), checked_name(pair[1], "task")
            rle = mask if isinstance(mask, Rle) else encode(mask)
            self._check_size(case, rle.shape, f"{which}, case {case!r}, task {task!r}")
            code = rle.to_coco()
            if found.setdefault(case, {}).setdefault(task, code) != code and not self._overwrite:
                raise InputFileError(
                    f"{file}: another mask of case {case!r}, task {task!r} is there; overwrite=True "
                    "replaces it"
                )
            found[case][task] = code
        if found != held or not file.exists():
            write_json(file, found)
        self._masks[which] = found

    def close(self) -> None:
        """Write the table and let others write here; a second time does nothing."""
        if not self._is_open:
            return
        try:
            if self._changed or not self._is_whole:
                self._write_table()
        finally:
            self._is_open = False
            unlock_folder(self._lock)

    def __enter__(self) -> "MapFolder":
        """The folder itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Write the table, also after an error: what is complete is kept."""
        self.close()

    def _check_open(self) -> None:
        """Raise where the block of the folder has ended."""
        if not self._is_open:
            raise SalstatsError(f"{self.folder}: closed; write within `with MapFolder(...) as maps:`")


def _check_folder(folder: Path) -> None:
    """Make the folder where it is not there; raise where it is none that maps may be written in."""
    with writing(folder):
        if folder.exists() and not folder.is_dir():
            raise InputFileError(f"cannot write maps into {folder}: it is a file; name a folder")
        if not folder.exists():
            check_parent(folder.absolute())
        folder.mkdir(exist_ok=True)
        names = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
    other = [name for name in names if name not in _OURS]
    if other and TABLE not in names:
        raise InputFileError(
            f"cannot write maps into {folder}: it holds {other[0]!r} and no {TABLE}; name an empty folder, "
            "or one of maps"
        )
