"""Check paths: the system can look for them, and they are plain files that this run does not write."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from salstats.checks import escape_unprintable
from salstats.errors import InputFileError

#: Existing files that this run of a command will replace, by device and inode number; None without a command.
_OUTPUTS: ContextVar[dict[tuple[int, int], Path] | None] = ContextVar("outputs", default=None)


@contextmanager
def forbidding_to_read_outputs() -> Iterator[None]:
    """Within the block, make it an error to read a file given to `record_output_to_replace`.

    `check_is_regular_file_unless_missing` raises the error.
    """
    token = _OUTPUTS.set({})
    try:
        yield
    finally:
        _OUTPUTS.reset(token)


def record_output_to_replace(file: Path) -> None:
    """Record that the run of a command will replace a file, if it exists."""
    outputs = _OUTPUTS.get()
    if outputs is not None and file.exists():
        outputs[_device_and_inode(file)] = file


def check_is_regular_file_unless_missing(file: Path) -> None:
    """Raise where a path is not a plain file (reading a pipe would wait), or is an output of the same run.

    A missing file passes. Every reader calls this before it opens a file.
    """
    check_path_can_be_looked_up(file)
    if not file.exists():
        return
    if not file.is_file():
        problem = "a folder" if file.is_dir() else "not a plain file"
        raise InputFileError(f"{file}: {problem}", hint="give a file", path=file)
    outputs = _OUTPUTS.get()
    if not outputs:
        return
    output = outputs.get(_device_and_inode(file))
    if output is not None:
        raise InputFileError(
            f"cannot write {output}: this command reads it", hint="choose another file", path=output
        )


def _device_and_inode(file: Path) -> tuple[int, int]:
    """Return the device and inode number of a file, which a link or another spelling of its name shares."""
    status = file.stat()
    return status.st_dev, status.st_ino


def check_path_can_be_looked_up(path: Path, verb: str = "read") -> None:
    """Raise where the system cannot look for a path, for example as its name is too long or holds NUL.

    `verb`, "read" or "write", is what will be done with the file. A link is followed for reading; for writing
    it is not, as the link itself is replaced.
    """
    try:
        path.stat(follow_symlinks=verb == "read")
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InputFileError(f"cannot {verb} {path}: {error.strerror or error}", path=path) from error
    except ValueError as error:
        raise InputFileError(
            f"cannot {verb} {escape_unprintable(str(path))}: not a name of a file ({error})", path=path
        ) from error


def check_is_existing_folder(folder: Path) -> None:
    """Raise where a path does not exist or is not a folder."""
    check_path_can_be_looked_up(folder)
    if not folder.is_dir():
        problem = "not a folder" if folder.exists() else "no such folder"
        raise InputFileError(f"{folder}: {problem}", path=folder)
