"""Read a study of whatever format its folder is in."""

import inspect
from pathlib import Path
from typing import Any

from salstats.checks import InputFileError, SalstatsError, check_choice, check_folder, quoted
from salstats.readers.cells import PathLike
from salstats.readers.formats import FORMATS, Format
from salstats.readers.gaze_files import holds_gaze
from salstats.study import Study


def read_study(path: PathLike, *, format: str | None = None, **options: Any) -> Study:
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
    >>> from salstats.readers.studies import read_study
    >>> read_study("elsewhere")
    Traceback (most recent call last):
    salstats.checks.InputFileError: elsewhere: no such folder
    """
    folder = Path(path)
    if format is not None:
        found: Format | None = FORMATS[check_choice(format, tuple(FORMATS), "format")]
    else:
        check_folder(folder)
        found = next((each for each in FORMATS.values() if each.recognise(folder)), None)
    if found is not None:
        parameters = inspect.signature(found.read).parameters.values()
        known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        for option in options:
            if option not in known:
                raise SalstatsError(
                    f"format {found.name!r} has no option {option}= (options: {quoted(known)})"
                )
        study: Study = found.read(folder, **options)
        return study
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
