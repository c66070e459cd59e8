"""Read a study of whatever format its folder is in."""

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from salstats.checks import InputFileError, SalstatsError, check_choice, quoted
from salstats.readers.cells import PathLike
from salstats.readers.chexlocalize import read_chexlocalize
from salstats.readers.chexlocalize_files import holds_study
from salstats.readers.gaze_files import holds_gaze
from salstats.readers.map_folder import holds_maps, read_map_folder
from salstats.readers.mrxai2025 import holds_pairs, read_mrxai2025
from salstats.readers.saliency_bench import holds_saliency_bench, read_saliency_bench
from salstats.study import Study

#: Format -> its reader, and what tells whether a folder is in it.
_FORMATS: dict[str, tuple[Callable[..., Study], Callable[[Path], bool]]] = {
    # first: a table of maps says what a folder is, whatever lies beside it
    "maps": (read_map_folder, holds_maps),
    "chexlocalize": (read_chexlocalize, holds_study),
    "mrxai2025": (read_mrxai2025, holds_pairs),
    "saliency_bench": (read_saliency_bench, holds_saliency_bench),
}
FORMATS = tuple(_FORMATS)


def read_study(path: PathLike, *, format: str | None = None, **options: Any) -> Study:
    """Read a study from a folder; its format is told by the names of its files.

    Parameters
    ----------
    path : path
        The folder.
    format : {"maps", "chexlocalize", "mrxai2025", "saliency_bench"}, optional
        The format, where it is to be said.
    **options
        Options of the format's reader: `read_map_folder`, `read_chexlocalize`, `read_mrxai2025` or
        `read_saliency_bench`.

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
        check_choice(format, FORMATS, "format")
    elif not folder.is_dir():
        raise InputFileError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}")
    for name, (reader, fits) in _FORMATS.items():
        if name == format or (format is None and fits(folder)):
            _check_options(options, reader, name)
            return reader(folder, **options)
    if holds_gaze(folder):
        raise InputFileError(
            f"{folder} holds recordings of gaze; read them with read_gaze() and score maps against them with "
            "score_gaze() (salstats gaze)"
        )
    raise InputFileError(
        f"{folder}: in no format that is known by its files' names (such as maps.csv, "
        "gt_segmentations*.json, gt_annotations*.json, */*_mask.tif or attention_label/*.csv); say it with "
        f"format= ({', '.join(FORMATS)})"
    )


def _check_options(options: Iterable[str], reader: Callable[..., Study], name: str) -> None:
    """Raise where a format's reader lacks an option."""
    known = [p.name for p in inspect.signature(reader).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise SalstatsError(f"format {name!r} has no option {option}= (options: {quoted(known)})")
