"""Formats of studies: the name of each, how its folders are recognised, and its reader."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from salstats.checks import check_choice, quoted
from salstats.errors import Call, InputFileError, Message, SalstatsError, Setting
from salstats.files.paths import check_is_existing_folder
from salstats.study import Study


@dataclass(frozen=True)
class Format:
    """A format of studies: its name, how it is recognised, and its reader."""

    #: Name in `read_study(format=)`
    name: str
    #: Description, for help
    label: str
    #: Names of files by which it is recognised, for messages
    file_names: str
    #: Module of `salstats.readers` whose `recognise(folder)` returns whether a folder is in the format
    module: str
    #: Name of the module's function that reads a folder and returns a Study
    reader: str

    def recognise(self, folder: Path) -> bool:
        """Return whether a folder is in this format."""
        return bool(import_module(f"salstats.readers.{self.module}").recognise(folder))

    @property
    def read(self) -> Callable[..., Any]:
        """The reader, imported: a function that takes a folder and its own options and returns a Study."""
        function: Callable[..., Any] = getattr(import_module(f"salstats.readers.{self.module}"), self.reader)
        return function


_ROWS = (
    # first, as a folder with a table of maps is a map folder, whatever other files it holds
    Format("maps", "a map folder", "maps.csv, readers", "map_folder", "read_map_folder"),
    Format(
        "chexlocalize",
        "the CheXlocalize release",
        "gt_segmentations*.json, gt_annotations*.json",
        "chexlocalize",
        "read_chexlocalize",
    ),
    Format("mrxai2025", "images beside their masks", "*/*_mask.tif", "mrxai2025", "read_mrxai2025"),
    Format(
        "saliency_bench", "Saliency-Bench", "attention_label/*.csv", "saliency_bench", "read_saliency_bench"
    ),
    Format("coco", "COCO annotations and results", "instances*.json, *.coco.json", "coco", "read_coco"),
    Format(
        "folders",
        "folders of maps and masks with equal names",
        "truth/CASE.png beside maps/CASE.npy or maps/METHOD/CASE.npy",
        "case_folders",
        "read_folders",
    ),
)
FORMATS = {row.name: row for row in _ROWS}


def read_study(
    path: str | os.PathLike[str] | None = None, *, format: str | None = None, **options: Any
) -> Study:
    """Read a study from a folder, whose format follows from the names of its files, or from several folders.

    Parameters
    ----------
    path : path, optional
        The folder. Without it `maps`, `masks` and `truth` name folders whose files have equal names, see
        `salstats.readers.case_folders.read_folders`.
    format : str, optional
        Name of the format, one of `salstats.readers.formats.FORMATS`; by default it is recognised, and
        "folders" without a path.
    **options
        Options of the format's reader, such as `read_folders`, `read_map_folder` or `read_chexlocalize`.

    Returns
    -------
    Study

    Raises
    ------
    InputFileError
        No such folder, or one in no known format; and what the format's reader raises.
    SalstatsError
        An option that the format's reader does not have; neither a path nor options.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, salstats as ss
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for folder in ("cams", "masks"):
    ...         (pathlib.Path(place) / folder).mkdir()
    ...         np.save(pathlib.Path(place) / folder / "img1.npy", np.eye(8))
    ...     study = ss.read_study(maps={"gradcam": f"{place}/cams"}, truth=f"{place}/masks")
    >>> study.cases[0].case, study.tasks, study.series[0].method
    ('img1', ('finding',), 'gradcam')
    """
    if format is not None:
        study_format = FORMATS[check_choice(format, tuple(FORMATS), "format")]
    elif path is not None:
        study_format = _first_recognised_format(Path(path))
    else:
        study_format = FORMATS["folders"]
    if path is None and not options:
        raise SalstatsError("no study is named", hint=_smallest_study_hint(), option="path")
    folder_parameter, *parameters = inspect.signature(study_format.read).parameters.values()
    if path is None and folder_parameter.default is folder_parameter.empty:
        raise SalstatsError(
            Setting("format", study_format.name), " needs the path of a folder", option="path"
        )
    format_options = [parameter.name for parameter in parameters]
    for option in options:
        if option not in format_options:
            owners = [f.name for f in FORMATS.values() if option in inspect.signature(f.read).parameters]
            hint = f"it belongs to {quoted(owners)}" if owners else ""
            raise SalstatsError(
                f"format {study_format.name!r} has no option {option!r} (options: {quoted(format_options)})",
                hint=hint,
                option=option,
                choices=format_options,
            )
    study: Study = study_format.read(None if path is None else Path(path), **options)
    return study


def _first_recognised_format(folder: Path) -> Format:
    """Return the first format that recognises a folder; raise where none does."""
    check_is_existing_folder(folder)
    for study_format in FORMATS.values():
        if study_format.recognise(folder):
            return study_format
    from salstats.readers.gaze_files import holds_gaze

    if holds_gaze(folder):
        raise InputFileError(
            f"{folder} holds recordings of gaze",
            hint=Message(
                "read them with read_gaze() and score maps against them with ", Call("score_gaze", ("study",))
            ),
            path=folder,
        )
    # "." would not tell in a message which folder it is
    folder_name = str(folder) if folder.name else str(folder.absolute())
    from salstats.readers.map_files import MAP_SUFFIXES

    maps_folder = "MAPS"
    if any(path.suffix.lower() in MAP_SUFFIXES for path in folder.iterdir()):
        maps_folder = folder_name
    raise InputFileError(
        f"{folder_name} is a study in no known format",
        hint=Message(
            _smallest_study_hint(maps_folder), "; ", Setting("format"), " names another (page 'Formats')"
        ),
        option="format",
        choices=FORMATS,
        path=folder_name,
    )


def _smallest_study_hint(maps_folder: str = "MAPS") -> Message:
    """Return a hint with the files of the smallest study, the options that take them, and a page's name."""
    return Message(
        "the smallest study is MAPS/img1.npy and MASKS/img1.png: ",
        Setting("maps", {"METHOD": maps_folder}),
        " and ",
        Setting("truth", "MASKS"),
        " (page 'Maps and masks')",
    )
