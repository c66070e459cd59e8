"""Finished cases of a long run, kept so that a second run goes on where the first one stopped."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from salstats.errors import InputFileError
from salstats.files.frame_files import put_frame
from salstats.files.outputs import remove_abandoned
from salstats.files.paths import check_plain
from salstats.study import Case

_SUFFIX = ".parquet"


def checkpoint_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder of finished cases, made where it is not there yet."""
    path = Path(folder)
    try:
        if path.exists() and not path.is_dir():
            raise InputFileError(f"cannot keep finished cases in {path}: it is a file; name a folder")
        remove_abandoned(path)
        path.mkdir(exist_ok=True)
        other = [p.name for p in path.iterdir() if p.suffix != _SUFFIX]
    except OSError as error:
        raise InputFileError(f"cannot use the folder {path}: {error.strerror or error}") from error
    if other:
        raise InputFileError(
            f"cannot keep finished cases in {path}: it holds {other[0]!r}; name an empty folder"
        )
    return path


Work = Callable[[tuple[Case, ...]], pd.DataFrame]


def load_or_compute(cases: tuple[Case, ...], *, work: Work, folder: Path, setting: str) -> pd.DataFrame:
    """The frame of some cases: read where an earlier run finished a case, else made and kept.

    Each case has a file of its own, so that other cases and another number of jobs change nothing. It is
    named by the settings and by all that the case is scored from, the content of its maps included.
    """
    return pd.concat([_case_frame(case, work, folder, setting) for case in cases], ignore_index=True)


def _case_frame(case: Case, work: Work, folder: Path, setting: str) -> pd.DataFrame:
    """The frame of one case."""
    file = folder / f"{_digest(case, setting)}{_SUFFIX}"
    if not os.path.lexists(file):
        frame = work((case,))
        put_frame(frame, file)
        return frame
    try:
        check_plain(file)
        frame = pd.read_parquet(file)
    # what pyarrow raises on damaged files is not all of one kind
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InputFileError(f"{file}: the kept case cannot be read ({reason}); delete it") from error
    if list(frame.columns) != list(work(()).columns) or set(frame["case"]) != {case.case}:
        raise InputFileError(f"{file}: not what was kept of case {case.case!r}; delete it")
    return frame


def _digest(case: Case, setting: str) -> str:
    """A name that changes with everything a case's frame depends on."""
    digest = hashlib.sha256(setting.encode())
    truths = {task: (truth.read(), truth.n_instances) for task, truth in case.truths.items()}
    names = (case.case, case.patient, case.shape, case.annotated, dict(case.labels))
    digest.update(repr((names, truths)).encode())
    for prediction in case.predictions:
        digest.update(repr((prediction.task, prediction.series)).encode())
        # what is scored itself: a file can change and keep its size and time, or stand beside others
        content = prediction.read()
        digest.update(repr((content.mask, content.prob, content.label, content.shape)).encode())
        for array in (content.saliency, content.points):
            if array is not None:
                digest.update(repr((array.dtype.str, array.shape)).encode())
                digest.update(array.tobytes())
    return digest.hexdigest()
