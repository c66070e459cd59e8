"""A folder of outputs: complete or not there, and never in the place of somebody else's files."""

import glob
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from salstats.errors import InputFileError, Message, Setting
from salstats.files.outputs import A_DAY, check_parent, mode_of
from salstats.files.paths import check_path, mark_output

#: What a temporary folder holds: the new folder, and that whose place it takes.
_MADE, _FORMER = "made", "former"
#: Bytes of a name that leave room for what a temporary folder's name has besides; systems take 255.
_LONGEST_NAME = 240


def check_output_folder(
    folder: Path, *, written: Callable[[Path], set[str]], own: Sequence[str], overwrite: bool
) -> Path:
    """The real path of a folder that may be made, or replaced (`overwrite`) with what an earlier run made.

    `written` gives the names of the files that an earlier run wrote into a folder, `own` are its subfolders.
    """
    check_path(folder, "write")
    folder = folder.resolve()
    check_parent(folder)
    if folder in (Path.cwd(), folder.parent):
        raise InputFileError(
            f"cannot write {folder}: it is the current folder or the root; name a new one in it"
        )
    _recover(folder)
    if folder.exists() and not folder.is_dir():
        raise InputFileError(f"cannot write {folder}: a file of that name exists")
    if folder.is_dir() and any(folder.iterdir()):
        ours = written(folder)
        foreign = [name for name in _found(folder, own) if name not in ours]
        if foreign:
            raise InputFileError(
                f"cannot write {folder}: it holds other files ({foreign[0]}); choose another folder"
            )
        if not overwrite:
            raise InputFileError(
                f"cannot write {folder}: it exists",
                hint=Message("pass ", Setting("overwrite", True), " to replace it"),
                option="overwrite",
                path=folder,
            )
        for name in ours:
            mark_output(folder / name)
    return folder


def _found(folder: Path, own: Sequence[str]) -> list[str]:
    """Everything in a folder but a run's own subfolders; a link is one entry, never followed."""
    subfolders = {folder / name for name in own}
    inside = (f for f in folder.rglob("*") if f.is_symlink() or not f.is_dir() or f not in subfolders)
    return sorted(f.relative_to(folder).as_posix() for f in inside)


@contextmanager
def replacing_folder(folder: Path, check: Callable[[], object]) -> Iterator[Path]:
    """Yield a new folder's path that takes the folder's place once the block ends well and `check` agrees."""
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_prefix(folder)) as temporary:
            made, former = Path(temporary) / _MADE, Path(temporary) / _FORMER
            yield made
            check()
            if folder.exists():
                _keep_modes(folder, made)
                folder.rename(former)
            # a run that is killed here leaves none in place: the next one puts the former one back
            try:
                made.rename(folder)
            except OSError:
                if former.exists():
                    former.rename(folder)
                raise
    except OSError as error:
        raise InputFileError(f"cannot write {folder}: {error.strerror or error}") from error


def _prefix(folder: Path) -> str:
    """How the temporary folders of a folder are called, up to eight characters of their own."""
    name = os.fsencode(folder.name)
    if len(name) > _LONGEST_NAME:
        return f".{hashlib.sha256(name).hexdigest()[:16]}-"
    return f".{folder.name}-"


def _keep_modes(former: Path, made: Path) -> None:
    """Give a new folder, and what is in it, the permissions of that whose place it takes."""
    for new in (made, *made.rglob("*")):
        old = former / new.relative_to(made)
        if old.exists() and old.is_dir() == new.is_dir():
            new.chmod(mode_of(old))


def _recover(folder: Path) -> None:
    """Put back a folder that a killed run moved away, and remove what such runs left a day ago."""
    for left in folder.parent.glob(f"{glob.escape(_prefix(folder))}????????"):
        if left.is_symlink():
            continue
        if (left / _FORMER).is_dir() and not folder.exists():
            (left / _FORMER).rename(folder)
        if time.time() - left.stat().st_mtime >= A_DAY:
            shutil.rmtree(left, ignore_errors=True)
