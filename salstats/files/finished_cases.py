"""Frames of finished cases, stored so that another run continues where the first one stopped."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from salstats.coded_text import TEXT
from salstats.errors import InputFileError
from salstats.files.frame_files import write_frame_to_target
from salstats.files.outputs import remove_abandoned_files
from salstats.files.paths import check_is_regular_file_unless_missing
from salstats.study import Case

_SUFFIX = ".parquet"


def make_or_check_checkpoint_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder of finished cases, made if missing; raise where it has other files."""
    path = Path(folder)
    try:
        if path.exists() and not path.is_dir():
            raise InputFileError(
                f"cannot keep finished cases in {path}: it is a file", hint="name a folder", path=path
            )
        remove_abandoned_files(path)
        path.mkdir(exist_ok=True)
        foreign_files = [entry.name for entry in path.iterdir() if entry.suffix != _SUFFIX]
    except OSError as error:
        raise InputFileError(f"cannot use the folder {path}: {error.strerror or error}", path=path) from error
    if foreign_files:
        raise InputFileError(
            f"cannot keep finished cases in {path}: it holds {foreign_files[0]!r}",
            hint="name an empty folder",
            value=foreign_files[0],
            path=path,
        )
    return path


#: Function that computes the frame of some cases; of no cases, a frame without rows.
CasesToFrame = Callable[[tuple[Case, ...]], pd.DataFrame]


def load_or_compute_frame(
    cases: tuple[Case, ...], *, work: CasesToFrame, folder: Path, settings_text: str
) -> pd.DataFrame:
    """Return the frame of some cases: read where an earlier run finished a case, else computed and stored.

    Each case has a file of its own, so that a run with other cases or more jobs uses the same files. The name
    of a file is a digest of `settings_text`, which is version and rules as text, and of all data that the
    case is scored from, the content of its maps included.
    """
    return pd.concat([_case_frame(case, work, folder, settings_text) for case in cases], ignore_index=True)


def _case_frame(case: Case, work: CasesToFrame, folder: Path, settings_text: str) -> pd.DataFrame:
    """Return the frame of one case: its file where an earlier run wrote one, else computed and written."""
    file = folder / f"{_case_digest(case, settings_text)}{_SUFFIX}"
    if not os.path.lexists(file):
        frame = work((case,))
        write_frame_to_target(frame, file)
        return frame
    try:
        check_is_regular_file_unless_missing(file)
        frame = pd.read_parquet(file)
    # pyarrow raises errors of several classes on damaged files
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InputFileError(
            f"{file}: the kept case cannot be read ({reason})", hint="delete it", path=file
        ) from error
    empty_frame = work(())
    if list(frame.columns) != list(empty_frame.columns) or set(frame["case"]) != {case.case}:
        raise InputFileError(
            f"{file}: not the frame of case {case.case!r}", hint="delete it", value=case.case, path=file
        )
    # pandas 2 reads text from Parquet files as Python objects
    return frame.astype({column: TEXT for column in empty_frame if empty_frame[column].dtype == TEXT})


def _case_digest(case: Case, settings_text: str) -> str:
    """Return a hexadecimal digest that changes with everything on which a case's frame depends."""
    digest = hashlib.sha256(settings_text.encode())
    truths = {task: (truth.read(), truth.n_instances) for task, truth in case.truths.items()}
    names = (case.case, case.patient, case.shape, case.annotated, dict(case.labels))
    digest.update(repr((names, truths)).encode())
    for prediction in case.predictions:
        digest.update(repr((prediction.task, prediction.series)).encode())
        # the content itself, as a file can change and keep its size and time
        content = prediction.read()
        digest.update(repr((content.mask, content.prob, content.label, content.shape)).encode())
        for array in (content.saliency, content.points):
            if array is not None:
                digest.update(repr((array.dtype.str, array.shape)).encode())
                digest.update(array.tobytes())
    return digest.hexdigest()
