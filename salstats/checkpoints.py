"""Finished pieces of a long run, kept so that a second run goes on where the first one stopped."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import InputFileError, SalstatsError
from salstats.frames import write_frame
from salstats.study import Case

_SUFFIX = ".parquet"


def checked_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder of finished pieces, made where it is not there yet."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputFileError(f"cannot keep finished pieces in {path}: it is a file; name a folder")
    other = [p.name for p in path.iterdir() if p.suffix != _SUFFIX] if path.is_dir() else []
    if other:
        raise InputFileError(
            f"cannot keep finished pieces in {path}: it holds {other[0]!r}; name an empty folder"
        )
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise InputFileError(f"cannot make the folder {path}: {error.strerror or error}") from error
    return path


def kept(
    cases: tuple[Case, ...], *, work: Callable[[tuple[Case, ...]], pd.DataFrame], folder: Path, setting: str
) -> pd.DataFrame:
    """Return the frame of a piece: read where an earlier run finished it, else made and kept.

    A piece is known by the settings, the truth, and name, size and time of the files of its predictions:
    a changed file is read again.
    """
    file = folder / f"{_digest(cases, setting)}{_SUFFIX}"
    if file.is_file():
        try:
            return pd.read_parquet(file)
        except (OSError, ValueError) as error:
            raise InputFileError(f"{file}: the kept piece cannot be read ({error}); delete it") from error
    frame = work(cases)
    write_frame(frame, file, overwrite=True)
    return frame


def _digest(cases: tuple[Case, ...], setting: str) -> str:
    """Return a name for a piece that changes with everything its frame depends on."""
    digest = hashlib.sha256(setting.encode())
    for case in cases:
        truths = {task: (truth.read(), truth.n_instances) for task, truth in case.truths.items()}
        names = (case.case, case.patient, case.shape, case.annotated, dict(case.labels))
        digest.update(repr((names, truths)).encode())
        digest.update(repr([(p.task, p.series, *_state(p.source)) for p in case.predictions]).encode())
    return digest.hexdigest()


def _state(source: str) -> tuple[Any, ...]:
    """Return what tells a file from an earlier state of it."""
    try:
        status = Path(source).stat()
    except OSError:
        raise SalstatsError(
            f"finished pieces can be kept of predictions that are files; {source!r} is none"
        ) from None
    return source, status.st_size, status.st_mtime_ns
