"""A folder of outputs: complete or not there, and never in the place of somebody else's files."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from salstats.checks import InputFileError, mark_output
from salstats.outputs import check_parent


def checked_folder(
    folder: Path, *, written: Callable[[Path], set[str]], own: Sequence[str], overwrite: bool
) -> Path:
    """Return the real path of a folder that may be made, or replaced with what an earlier run made.

    Parameters
    ----------
    folder : Path
    written : callable
        Takes the folder and returns the names of the files that an earlier run wrote into it.
    own : sequence of str
        Subfolders that a run makes.
    overwrite : bool
        Whether what an earlier run made may be replaced.
    """
    folder = folder.resolve()
    check_parent(folder)
    if folder in (Path.cwd(), folder.parent):
        raise InputFileError(
            f"cannot write {folder}: it is the current folder or the root; name a new one in it"
        )
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
                f"cannot write {folder}: it exists; pass overwrite=True (--overwrite) to replace it"
            )
        for name in ours:
            mark_output(folder / name)
    return folder


def _found(folder: Path, own: Sequence[str]) -> list[str]:
    """Return everything in a folder but a run's own subfolders; a link is one entry, never followed."""
    subfolders = {folder / name for name in own}
    inside = (f for f in folder.rglob("*") if f.is_symlink() or not f.is_dir() or f not in subfolders)
    return sorted(f.relative_to(folder).as_posix() for f in inside)


@contextmanager
def replacing_folder(folder: Path, check: Callable[[], object]) -> Iterator[Path]:
    """Yield a new folder's path that takes the folder's place once the block ends well.

    `check` is called before anything is replaced: somebody may have put a file there meanwhile.
    """
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
            made, former = Path(temporary) / "made", Path(temporary) / "former"
            yield made
            check()
            if folder.exists():
                folder.rename(former)
            try:
                made.rename(folder)
            except OSError:
                if former.exists():
                    former.rename(folder)
                raise
    except OSError as error:
        raise InputFileError(f"cannot write {folder}: {error.strerror or error}") from error
