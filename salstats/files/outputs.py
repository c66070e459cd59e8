"""Files we write: checked before any work, written under a temporary name, then renamed."""

import errno
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from salstats.errors import InputFileError, Message, Setting, warn
from salstats.files.paths import check_path, mark_output

#: Seconds after which a temporary file is one that a killed run has left.
A_DAY = 86_400.0
#: The file of a folder that is locked, and seconds in which it may be given back while it is asked for.
_LOCK, _PATIENCE = ".salstats-lock", 0.2
#: What files are called until they are complete.
_PREFIX, _TEMPORARY = ".salstats-", re.compile(r"\.salstats-[a-z0-9_]{8}(\.[a-z]+)?")


def check_target(path: str | os.PathLike[str], suffixes: Sequence[str], *, overwrite: bool = False) -> Path:
    """The path of an output file, checked before any work is done for it.

    InputFileError where its ending is none of `suffixes` (lower case, with dots), its folder does not exist
    or may not be written in, it is a folder, or it exists and `overwrite` is False.
    """
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise InputFileError(f"cannot write {target}: its name must end in {', '.join(suffixes)}")
    check_parent(target)
    if target.is_dir():
        raise InputFileError(f"cannot write {target}: it is a folder")
    if target.exists() and not target.is_file():
        raise InputFileError(f"cannot write {target}: it is a pipe, a socket or a device; name a file")
    if os.path.lexists(target) and not overwrite:
        raise InputFileError(
            f"cannot write {target}: the file exists",
            hint=Message("pass ", Setting("overwrite", True), " to replace it"),
            option="overwrite",
            path=target,
        )
    mark_output(target)
    remove_abandoned(target.parent)
    return target


def page_names(stem: str, n_pages: int) -> list[str]:
    """What the files of a figure's or table's pages are called, without suffix."""
    return [stem, *(f"{stem}-{i}" for i in range(2, n_pages + 1))]


def check_parent(target: Path) -> None:
    """Raise InputFileError where what is to be made has no folder, or one that is not ours to write in."""
    check_path(target, "write")
    if not target.parent.is_dir():
        raise InputFileError(f"cannot write {target}: the folder {target.parent} does not exist")
    if not os.access(target.parent, os.W_OK):
        raise InputFileError(f"cannot write {target}: no right to write in the folder {target.parent}")


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Say which file or folder the system cannot write."""
    try:
        yield
    except OSError as error:
        raise InputFileError(f"cannot write {target}: {error.strerror or error}") from error


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary file beside the target that takes its place and mode once the block ends well."""
    with writing(target):
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=_PREFIX, suffix=target.suffix.lower())
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(mode_of(target))
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def write_files(files: Sequence[tuple[Path, bytes]]) -> None:
    """Write files, all of them or none."""
    with ExitStack() as written:
        for target, content in files:
            written.enter_context(replacing(target)).write_bytes(content)


def mode_of(target: Path) -> int:
    """The permissions of a file that is there, else those of a new one."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        # the process's mask can only be read by setting it
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def remove_abandoned(folder: Path, age: float = A_DAY) -> None:
    """Remove the temporary files of runs that were killed: those that nobody has written in for so long."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            ours = _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            if ours and time.time() - entry.stat().st_mtime >= age:
                Path(entry.path).unlink(missing_ok=True)


def lock_folder(folder: Path) -> FileLock:
    """The right to write in a folder that exists, held until `unlock_folder` or the end of the process.

    A lock of the operating system on a file of the folder, so that a killed process leaves none behind. Where
    the file system has none a warning says so. InputFileError where another writer has the folder, or no file
    can be made in it.
    """
    # a lock by the file's mere being there would outlive a killed process
    lock = FileLock(folder / _LOCK, timeout=_PATIENCE, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputFileError(
            f"{folder}: another process (or another MapFolder of this one) is writing here; wait until it "
            "ends"
        ) from error
    except OSError as error:
        said = error.strerror or error
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise InputFileError(f"{folder}: cannot write there ({said})") from error
        warn(
            f"{folder}: its file system locks no files ({said}); see to it that only one process writes here"
        )
    return lock


def unlock_folder(lock: FileLock) -> None:
    """Give a folder back: the file is removed while it is still locked."""
    with suppress(OSError):  # Windows removes no open file
        Path(lock.lock_file).unlink()
    lock.release()
