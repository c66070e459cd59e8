"""Locks that end with their process, however that ends: one writer per folder, and what was left behind."""

import errno
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from salstats.checks import InputFileError, warn

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: The file that is locked; it is removed when the lock is given back.
NAME = ".salstats-lock"
#: What a file system says whose file another process has locked.
_TAKEN = (errno.EACCES, errno.EAGAIN)


class FolderLock:
    """The right to write in a folder, held until `release()` or the end of the process.

    Parameters
    ----------
    folder : Path
        It exists.

    Raises
    ------
    InputFileError
        Another writer has the folder, or no file can be made in it.

    Notes
    -----
    A lock of the operating system on a file of the folder (`flock`), so that a killed process leaves no
    lock behind. Where the file system has none a warning says so, and Windows is not guarded.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from salstats.files.folder_lock import FolderLock
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     held = FolderLock(pathlib.Path(folder))
    ...     try:
    ...         FolderLock(pathlib.Path(folder))
    ...     except ValueError as error:
    ...         print(str(error).removeprefix(folder))
    ...     held.release()
    : another process (or another MapFolder of this one) is writing here; wait until it ends
    """

    def __init__(self, folder: Path) -> None:
        file = folder / NAME
        handle = _locked(folder, file)
        self._finish = weakref.finalize(self, _release, handle, file, os.getpid())

    def release(self) -> None:
        """Give the folder back; a second time does nothing."""
        self._finish()


def _locked(folder: Path, file: Path) -> int:
    """Return an open file that is locked, and is still the one of that name."""
    while True:
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as error:
            raise InputFileError(f"{folder}: cannot write there ({error.strerror or error})") from error
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _TAKEN:
                os.close(handle)
                raise InputFileError(
                    f"{folder}: another process (or another MapFolder of this one) is writing here; wait "
                    "until it ends"
                ) from error
            warn(
                f"{folder}: its file system locks no files ({error.strerror or error}); see to it that only "
                "one process writes here"
            )
        # the last holder may have removed the file between our opening and our locking it
        if _same(handle, file):
            return handle
        os.close(handle)


def _same(handle: int, file: Path) -> bool:
    """Return whether an open file is the one that has the name now."""
    try:
        there = file.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), there)


def _release(handle: int, file: Path, process: int) -> None:
    """Remove the file while it is still locked, then unlock it."""
    # a forked child has the open file too, and must not take the lock of its parent away
    ours = os.getpid() == process and _same(handle, file)
    if fcntl is None:  # Windows removes no open file
        os.close(handle)
    if ours:
        file.unlink(missing_ok=True)
    if fcntl is not None:
        os.close(handle)


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Hold a file, made where it is not there, so that others see that its process lives."""
    if fcntl is None:  # Windows renames no open file
        yield
        return
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        # some file systems have no locks: there nothing counts as abandoned
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def is_abandoned(file: Path) -> bool:
    """Return whether the process that held a file was killed; False where that cannot be known."""
    if fcntl is None:
        return False
    try:
        handle = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
