"""A lock that ends with its process, however that ends: one writer per folder."""

import errno
import os
import weakref
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from salstats.checks import InputFileError, warn

#: The file that is locked; it is removed when the lock is given back.
NAME = ".salstats-lock"
#: Seconds in which a lock may be given back while it is asked for.
_PATIENCE = 0.2
#: What a file system says that has no locks.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


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
    A lock of the operating system on a file of the folder, so that a killed process leaves no lock behind.
    Where the file system has none a warning says so.

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
        # a lock by the file's mere being there would outlive a killed process
        lock = FileLock(file, timeout=_PATIENCE, thread_local=False, fallback_to_soft=False)
        try:
            folder.stat()
            lock.acquire()
        except Timeout as error:
            raise InputFileError(
                f"{folder}: another process (or another MapFolder of this one) is writing here; wait until "
                "it ends"
            ) from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise InputFileError(f"{folder}: cannot write there ({error.strerror or error})") from error
            warn(
                f"{folder}: its file system locks no files ({error.strerror or error}); see to it that only "
                "one process writes here"
            )
        self._finish = weakref.finalize(self, _release, lock, file, os.getpid())

    def release(self) -> None:
        """Give the folder back; a second time does nothing."""
        self._finish()


def _release(lock: FileLock, file: Path, process: int) -> None:
    """Remove the file while it is still locked, then unlock it."""
    # a forked child has the open file too, and must not take the lock of its parent away
    if os.getpid() == process:
        with suppress(OSError):  # Windows removes no open file
            file.unlink()
        lock.release()
