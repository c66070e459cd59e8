"""The formats of studies: what each is called, what its folders are known by, and what reads it, or any."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from salstats.checks import check_choice, quoted
from salstats.errors import InputFileError, SalstatsError
from salstats.files.paths import check_folder
from salstats.study import Study


@dataclass(frozen=True)
class Format:
    """One row of the registry."""

    #: name in `read_study(format=)`
    name: str
    #: what it is, for help
    label: str
    #: names of files that it is known by, for messages
    signs: str
    #: the file in `salstats/readers`, whose `recognise(folder)` says whether a folder is in the format
    module: str
    #: its function that reads a folder and returns a Study
    reader: str

    def recognise(self, folder: Path) -> bool:
        """Whether a folder is in this format."""
        return bool(import_module(f"salstats.readers.{self.module}").recognise(folder))

    @property
    def read(self) -> Callable[..., Any]:
        """The reader, imported when it is asked for: takes a folder and its own options, returns a Study."""
        function: Callable[..., Any] = getattr(import_module(f"salstats.readers.{self.module}"), self.reader)
        return function


_ROWS = (
    # first: a table of maps says what a folder is, whatever lies beside it
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
)
FORMATS = {row.name: row for row in _ROWS}


def read_study(path: str | os.PathLike[str], *, format: str | None = None, **options: Any) -> Study:
    """Read a study from a folder; its format is told by the names of its files.

    Parameters
    ----------
    path : path
        The folder.
    format : str, optional
        The format's name, where it is to be said; one of `salstats.readers.formats.FORMATS`.
    **options
        Options of the format's reader, such as `read_map_folder` or `read_chexlocalize`.

    Returns
    -------
    Study

    Raises
    ------
    InputFileError
        No such folder, or one in no known format; and what the format's reader raises.
    SalstatsError
        An option that the format's reader does not have.

    Examples
    --------
    >>> from salstats.readers.formats import read_study
    >>> read_study("elsewhere")
    Traceback (most recent call last):
    salstats.errors.InputFileError: elsewhere: no such folder
    """
    folder = Path(path)
    if format is not None:
        found = FORMATS[check_choice(format, tuple(FORMATS), "format")]
    else:
        found = _recognised(folder)
    parameters = inspect.signature(found.read).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            others = [f.name for f in FORMATS.values() if option in inspect.signature(f.read).parameters]
            there = f"; it belongs to {quoted(others)}" if others else ""
            raise SalstatsError(
                f"format {found.name!r} has no option {option!r} (options: {quoted(known)}){there}"
            )
    study: Study = found.read(folder, **options)
    return study


def _recognised(folder: Path) -> Format:
    """The format that knows a folder by the names of its files."""
    check_folder(folder)
    for each in FORMATS.values():
        if each.recognise(folder):
            return each
    from salstats.readers.gaze_files import holds_gaze

    if holds_gaze(folder):
        raise InputFileError(
            f"{folder} holds recordings of gaze; read them with read_gaze() and score maps against them with "
            "score_gaze() (salstats gaze)"
        )
    signs = ", ".join(each.signs for each in FORMATS.values())
    raise InputFileError(
        f"{folder}: in no format that is known by its files' names (such as {signs}); say it with format= "
        f"({', '.join(FORMATS)})"
    )
