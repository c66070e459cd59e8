"""Write files: checks before any work, then a file under a temporary name, which is renamed at the end."""

import errno
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from salstats.errors import InputFileError, Message, Setting, warn
from salstats.files.paths import check_path_can_be_looked_up, record_output_to_replace

#: Age from which a temporary file counts as left by a killed run: a day.
ABANDONED_AFTER_SECONDS = 86_400.0
#: File in a folder on which the folder's lock is taken.
_LOCK_FILE = ".salstats-lock"
#: Seconds to wait for a folder that another process is about to unlock.
_LOCK_TIMEOUT = 0.2
#: Beginning of a temporary file's name, and its form.
_TEMPORARY_PREFIX = ".salstats-"
_TEMPORARY_NAME = re.compile(r"\.salstats-[a-z0-9_]{8}(\.[a-z]+)?")


def check_target(path: str | os.PathLike[str], suffixes: Sequence[str], *, overwrite: bool = False) -> Path:
    """Return the path of an output file; raise where it cannot be written, before any work is done for it.

    Its ending must be one of `suffixes` (lower case, with dots), its folder must exist and be writable, and
    it may be neither a folder nor, unless `overwrite`, an existing file.
    """
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise InputFileError(
            f"cannot write {target}: its name must end in {', '.join(suffixes)}",
            choices=suffixes,
            path=target,
        )
    check_parent(target)
    if target.is_dir():
        raise InputFileError(f"cannot write {target}: it is a folder", path=target)
    if target.exists() and not target.is_file():
        raise InputFileError(
            f"cannot write {target}: it is a pipe, a socket or a device", hint="name a file", path=target
        )
    if os.path.lexists(target) and not overwrite:
        raise InputFileError(
            f"cannot write {target}: the file exists",
            hint=Message("pass ", Setting("overwrite", True), " to replace it"),
            option="overwrite",
            path=target,
        )
    record_output_to_replace(target)
    remove_abandoned_files(target.parent)
    return target


def page_stems(stem: str, n_pages: int) -> list[str]:
    """Return the name of each page's file, without suffix: STEM, STEM-2, STEM-3, ..."""
    return [stem, *(f"{stem}-{i}" for i in range(2, n_pages + 1))]


def check_parent(target: Path) -> None:
    """Raise where the folder of an output is missing or not writable."""
    check_path_can_be_looked_up(target, "write")
    if not target.parent.is_dir():
        raise InputFileError(
            f"cannot write {target}: the folder {target.parent} does not exist",
            value=target.parent,
            path=target,
        )
    if not os.access(target.parent, os.W_OK):
        raise InputFileError(
            f"cannot write {target}: no right to write in the folder {target.parent}", path=target
        )


@contextmanager
def naming_write_errors(target: Path) -> Iterator[None]:
    """Turn an OSError in the block into an InputFileError that names the file or folder to write."""
    try:
        yield
    except OSError as error:
        raise InputFileError(f"cannot write {target}: {error.strerror or error}", path=target) from error


@contextmanager
def replacing_file(target: Path) -> Iterator[Path]:
    """Yield a temporary file, which replaces the target if the block ends without an error.

    The target's permissions are kept.
    """
    with naming_write_errors(target), _temporary_beside_removed_at_end(target) as temporary:
        yield temporary
        temporary.chmod(permissions_of(target))
        temporary.replace(target)


@contextmanager
def _temporary_beside_removed_at_end(target: Path) -> Iterator[Path]:
    """Yield an empty temporary file in the target's folder, and remove it if it is still there at the end."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=_TEMPORARY_PREFIX, suffix=target.suffix.lower())
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def write_files(files: Sequence[tuple[Path, bytes]]) -> None:
    """Write all files or none: if one cannot be written, those before it become as they were."""
    with ExitStack() as temporaries:
        written = []
        for target, content in files:
            with naming_write_errors(target):
                temporary = temporaries.enter_context(_temporary_beside_removed_at_end(target))
                temporary.write_bytes(content)
                temporary.chmod(permissions_of(target))
            written.append((target, temporary))
        with ExitStack() as undo:
            for target, temporary in written:
                put_back: Callable[[], object] = partial(target.unlink, missing_ok=True)
                with naming_write_errors(target):
                    if target.is_file():
                        former = temporaries.enter_context(_temporary_beside_removed_at_end(target))
                        shutil.copy2(target, former)
                        put_back = partial(former.replace, target)
                    temporary.replace(target)
                undo.callback(put_back)
            # all files are in place, so nothing is undone
            undo.pop_all()


def permissions_of(target: Path) -> int:
    """Return the permissions of a file that exists, else those that a new one would get."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        # the process's umask can only be read by setting it
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def remove_abandoned_files(folder: Path, age: float = ABANDONED_AFTER_SECONDS) -> None:
    """Remove the temporary files in a folder that killed runs left: those not changed for `age` seconds."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            is_temporary = _TEMPORARY_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            if is_temporary and time.time() - entry.stat().st_mtime >= age:
                Path(entry.path).unlink(missing_ok=True)


def acquire_folder_lock(folder: Path) -> FileLock:
    """Lock a folder for writing, until `release_folder_lock` or the end of the process.

    The operating system locks a file in the folder, so that the lock ends with a killed process. A file
    system without locks gives a warning. Raise where another writer has the folder, or no file can be made
    in it.
    """
    # no soft lock, the mere existence of a file, which would outlive a killed process
    lock = FileLock(folder / _LOCK_FILE, timeout=_LOCK_TIMEOUT, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputFileError(
            f"{folder}: another process (or another MapFolder of this one) is writing here",
            hint="wait until it ends",
            path=folder,
        ) from error
    except OSError as error:
        reason = error.strerror or error
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise InputFileError(
                f"{folder}: cannot write there ({reason})", value=error.errno, path=folder
            ) from error
        warn(
            f"{folder}: its file system does not lock files ({reason})",
            value=error.errno,
            hint="make sure that only one process writes here",
            path=folder,
        )
    return lock


def release_folder_lock(lock: FileLock) -> None:
    """Unlock a folder; the file of the lock is removed while it is still locked."""
    # Windows does not remove an open file
    with suppress(OSError):
        Path(lock.lock_file).unlink()
    lock.release()
