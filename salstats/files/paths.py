"""Checks of paths: the system can look for them, and they are plain files and no outputs of this run."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from salstats.checks import escape_unprintable
from salstats.errors import InputFileError

#: Files that this run of a command is to replace, by device and number; None where no command runs.
_OUTPUTS: ContextVar[dict[tuple[int, int], Path] | None] = ContextVar("outputs", default=None)


@contextmanager
def forbidding_outputs_as_inputs() -> Iterator[None]:
    """Let no file of `record_output_to_replace` be read, under any name, until the block ends."""
    token = _OUTPUTS.set({})
    try:
        yield
    finally:
        _OUTPUTS.reset(token)


def record_output_to_replace(file: Path) -> None:
    """Record that the run of a command is to replace a file, if it exists."""
    marked = _OUTPUTS.get()
    if marked is not None and file.exists():
        marked[_device_and_number(file)] = file


def check_plain(file: Path) -> None:
    """Raise where a path is a folder, a pipe that reading would wait for, or an output of the same run.

    Every reader calls this before it opens a file.
    """
    check_path_unless_missing(file)
    if not file.exists():
        return
    if not file.is_file():
        problem = "a folder" if file.is_dir() else "no plain file"
        raise InputFileError(f"{file}: {problem}", hint="give a file", path=file)
    marked = _OUTPUTS.get()
    if not marked:
        return
    output = marked.get(_device_and_number(file))
    if output is not None:
        raise InputFileError(
            f"cannot write {output}: this command reads it", hint="choose another file", path=output
        )


def _device_and_number(file: Path) -> tuple[int, int]:
    """Return the device and number of a file, the same behind a link or another spelling of its name."""
    status = file.stat()
    return status.st_dev, status.st_ino


def check_path_unless_missing(path: Path, verb: str = "read") -> None:
    """Raise where the system cannot look for a path, as where its name is too long or holds NUL.

    `verb` is what is to be done with the file, "read" or "write". A link is followed where it is read; where
    it is written the link itself is replaced.
    """
    try:
        path.stat(follow_symlinks=verb == "read")
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InputFileError(f"cannot {verb} {path}: {error.strerror or error}", path=path) from error
    except ValueError as error:
        raise InputFileError(
            f"cannot {verb} {escape_unprintable(str(path))}: no name of a file ({error})", path=path
        ) from error


def check_folder(folder: Path) -> None:
    """Raise where a path is no folder."""
    check_path_unless_missing(folder)
    if not folder.is_dir():
        problem = "not a folder" if folder.exists() else "no such folder"
        raise InputFileError(f"{folder}: {problem}", path=folder)
