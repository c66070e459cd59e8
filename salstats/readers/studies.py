"""Read a study of whatever format its folder is in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from salstats.checks import InputFileError, check_choice
from salstats.readers.chexlocalize import read_chexlocalize
from salstats.readers.chexlocalize_files import holds_study
from salstats.readers.table_options import PathLike
from salstats.study import Study

#: Format -> its reader, and what tells whether a folder is in it.
_FORMATS: dict[str, tuple[Callable[..., Study], Callable[[Path], bool]]] = {
    "chexlocalize": (read_chexlocalize, holds_study),
}
FORMATS = tuple(_FORMATS)


def read_study(path: PathLike, *, format: str | None = None, **options: Any) -> Study:
    """Read a study from a folder; its format is told by the names of its files.

    Parameters
    ----------
    path : path
        The folder.
    format : {"chexlocalize"}, optional
        The format, where it is to be said.
    **options
        Options of the format's reader, such as `read_chexlocalize`.

    Returns
    -------
    Study

    Raises
    ------
    InputFileError
        No such folder, or one in no known format; and what the format's reader raises.

    Examples
    --------
    >>> from salstats.readers.studies import read_study
    >>> read_study("elsewhere")
    Traceback (most recent call last):
    salstats.checks.InputFileError: elsewhere: no such folder
    """
    folder = Path(path)
    if format is not None:
        return _FORMATS[check_choice(format, FORMATS, "format")][0](folder, **options)
    if not folder.is_dir():
        raise InputFileError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}")
    for reader, fits in _FORMATS.values():
        if fits(folder):
            return reader(folder, **options)
    raise InputFileError(
        f"{folder}: in no format that is known by its files' names (such as gt_segmentations*.json or "
        f"gt_annotations*.json); say it with format= ({', '.join(FORMATS)})"
    )
