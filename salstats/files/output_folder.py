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
from salstats.files.outputs import ABANDONED_AFTER_SECONDS, check_parent, permissions_of
from salstats.files.paths import check_path_can_be_looked_up, record_output_to_replace

#: Folders in a temporary folder: the one that is written, and the earlier one that it replaces.
_WRITTEN_FOLDER = "made"
_FORMER_FOLDER = "former"
#: Names with more bytes than this leave no room for the rest of a temporary folder's name; systems take 255.
_MAX_NAME_BYTES = 240


def check_output_folder_is_writable(
    folder: Path,
    *,
    written_files: Callable[[Path], set[str]],
    subfolders: Sequence[str],
    overwrite: bool,
) -> Path:
    """Return the real path of an output folder; raise where it can be neither made nor replaced.

    A folder that is not empty is replaced only with `overwrite`, and only if it holds no other files than
    those of an earlier run. `written_files` returns their paths in a folder; `subfolders` are the folders
    that a run makes in it.
    """
    check_path_can_be_looked_up(folder, "write")
    folder = folder.resolve()
    check_parent(folder)
    if folder in (Path.cwd(), folder.parent):
        raise InputFileError(
            f"cannot write {folder}: it is the current folder or the root",
            hint="name a new folder in it",
            path=folder,
        )
    _restore_folder_and_remove_temporaries(folder)
    if folder.exists() and not folder.is_dir():
        raise InputFileError(f"cannot write {folder}: a file of that name exists", path=folder)
    if folder.is_dir() and any(folder.iterdir()):
        replaceable = written_files(folder)
        foreign_files = [
            name for name in _file_and_folder_names_below(folder, subfolders) if name not in replaceable
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


def _file_and_folder_names_below(folder: Path, folders_listed_only_by_contents: Sequence[str]) -> list[str]:
    """List the paths of all files and folders below a folder, at any depth; links are not followed.

    Of the subfolders in `folders_listed_only_by_contents` only the contents are listed, not the folders.
    """
    unlisted_folders = {folder / name for name in folders_listed_only_by_contents}
    entries = []
    for path in folder.rglob("*"):
        is_unlisted = path in unlisted_folders and path.is_dir() and not path.is_symlink()
        if not is_unlisted:
            entries.append(path.relative_to(folder).as_posix())
    return sorted(entries)


@contextmanager
def replacing_folder(folder: Path, check: Callable[[], object]) -> Iterator[Path]:
    """Yield the path of a new folder; it replaces `folder` if the block and `check` end without an error."""
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_temporary_prefix(folder)) as temporary:
            written = Path(temporary) / _WRITTEN_FOLDER
            former = Path(temporary) / _FORMER_FOLDER
            yield written
            check()
            if folder.exists():
                _copy_modes(folder, written)
                folder.rename(former)
            # if the process is killed here, there is no folder, and the next run puts the former one back
            try:
                written.rename(folder)
            except OSError:
                if former.exists():
                    former.rename(folder)
                raise
    except OSError as error:
        raise InputFileError(f"cannot write {folder}: {error.strerror or error}", path=folder) from error


def _temporary_prefix(folder: Path) -> str:
    """Return the first part of the names of a folder's temporary folders; eight characters follow it."""
    name = os.fsencode(folder.name)
    if len(name) > _MAX_NAME_BYTES:
        return f".{hashlib.sha256(name).hexdigest()[:16]}-"
    return f".{folder.name}-"


def _copy_modes(former: Path, written: Path) -> None:
    """Set the permissions of a written folder and its content to those of the former one."""
    for path in (written, *written.rglob("*")):
        former_path = former / path.relative_to(written)
        if former_path.exists() and former_path.is_dir() == path.is_dir():
            path.chmod(permissions_of(former_path))


def _restore_folder_and_remove_temporaries(folder: Path) -> None:
    """Put back a folder that a killed run moved away, and remove temporary folders older than a day."""
    for temporary in folder.parent.glob(f"{glob.escape(_temporary_prefix(folder))}????????"):
        if temporary.is_symlink():
            continue
        if (temporary / _FORMER_FOLDER).is_dir() and not folder.exists():
            (temporary / _FORMER_FOLDER).rename(folder)
        if time.time() - temporary.stat().st_mtime >= ABANDONED_AFTER_SECONDS:
            shutil.rmtree(temporary, ignore_errors=True)
