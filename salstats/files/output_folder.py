"""Folders of outputs, which are complete or do not exist, and never replace other files."""

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
from salstats.files.outputs import A_DAY, check_parent, permissions_of
from salstats.files.paths import check_path_unless_missing, record_output_to_replace

#: Folders in a temporary folder: the one that is written, and the one that it replaces.
_WRITTEN = "made"
_FORMER = "former"
#: Bytes of a name that leave room for what a temporary folder's name has besides; systems take 255.
_LONGEST_NAME = 240


def check_output_folder(
    folder: Path,
    *,
    written_files: Callable[[Path], set[str]],
    subfolders: Sequence[str],
    overwrite: bool,
) -> Path:
    """Return the real path of a folder that may be made, or may replace that of an earlier run (`overwrite`).

    `written_files` gives the names of the files that an earlier run wrote into a folder; `subfolders` are the
    folders that a run makes in it.
    """
    check_path_unless_missing(folder, "write")
    folder = folder.resolve()
    check_parent(folder)
    if folder in (Path.cwd(), folder.parent):
        raise InputFileError(
            f"cannot write {folder}: it is the current folder or the root",
            hint="name a new one in it",
            path=folder,
        )
    _restore_folder_and_remove_temporaries(folder)
    if folder.exists() and not folder.is_dir():
        raise InputFileError(f"cannot write {folder}: a file of that name exists", path=folder)
    if folder.is_dir() and any(folder.iterdir()):
        replaceable = written_files(folder)
        foreign_files = [
            name for name in _paths_below_except_subfolders(folder, subfolders) if name not in replaceable
        ]
        if foreign_files:
            raise InputFileError(
                f"cannot write {folder}: it holds other files ({foreign_files[0]})",
                hint="choose another folder",
                value=foreign_files[0],
                path=folder,
            )
        if not overwrite:
            raise InputFileError(
                f"cannot write {folder}: it exists",
                hint=Message("pass ", Setting("overwrite", True), " to replace it"),
                option="overwrite",
                path=folder,
            )
        for name in replaceable:
            record_output_to_replace(folder / name)
    return folder


def _paths_below_except_subfolders(folder: Path, subfolders: Sequence[str]) -> list[str]:
    """List everything in a folder but the subfolders of a run; a link is one entry, never followed."""
    folders_of_run = {folder / name for name in subfolders}
    entries = []
    for path in folder.rglob("*"):
        is_folder_of_run = path in folders_of_run and path.is_dir() and not path.is_symlink()
        if not is_folder_of_run:
            entries.append(path.relative_to(folder).as_posix())
    return sorted(entries)


@contextmanager
def replacing_folder(folder: Path, check: Callable[[], object]) -> Iterator[Path]:
    """Yield a new folder that takes the folder's place once the block and `check` end without an error."""
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_temporary_prefix(folder)) as temporary:
            written = Path(temporary) / _WRITTEN
            former = Path(temporary) / _FORMER
            yield written
            check()
            if folder.exists():
                _copy_modes(folder, written)
                folder.rename(former)
            # a run that is killed here leaves no folder: the next run puts the former one back
            try:
                written.rename(folder)
            except OSError:
                if former.exists():
                    former.rename(folder)
                raise
    except OSError as error:
        raise InputFileError(f"cannot write {folder}: {error.strerror or error}", path=folder) from error


def _temporary_prefix(folder: Path) -> str:
    """Return the beginning of the names of a folder's temporary folders, which have eight more characters."""
    name = os.fsencode(folder.name)
    if len(name) > _LONGEST_NAME:
        return f".{hashlib.sha256(name).hexdigest()[:16]}-"
    return f".{folder.name}-"


def _copy_modes(former: Path, written: Path) -> None:
    """Give a written folder, and its content, the permissions of the former one."""
    for path in (written, *written.rglob("*")):
        former_path = former / path.relative_to(written)
        if former_path.exists() and former_path.is_dir() == path.is_dir():
            path.chmod(permissions_of(former_path))


def _restore_folder_and_remove_temporaries(folder: Path) -> None:
    """Put back a folder that a killed run moved away, and remove temporary folders older than a day."""
    for temporary in folder.parent.glob(f"{glob.escape(_temporary_prefix(folder))}????????"):
        if temporary.is_symlink():
            continue
        if (temporary / _FORMER).is_dir() and not folder.exists():
            (temporary / _FORMER).rename(folder)
        if time.time() - temporary.stat().st_mtime >= A_DAY:
            shutil.rmtree(temporary, ignore_errors=True)
