"""What a report was made from and by: settings, seed, versions, SHA-256 of the input."""

import hashlib
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

import salstats
from salstats.checks import InputFileError
from salstats.display.report.model import Settings
from salstats.display.text.format import count_text, joined, level_text
from salstats.stats.adjust import find_procedure

#: Packages whose numbers or pictures a report holds, in the order they are listed.
PACKAGES = ("numpy", "pandas", "scipy", "statsmodels", "plotnine", "great-tables", "matplotlib")
_CHUNK = 1 << 20


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, as `sha256sum` prints it.

    Parameters
    ----------
    path : str or path
        Any file; it is read a piece at a time.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    InputFileError
        The file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as file:
            while piece := file.read(_CHUNK):
                digest.update(piece)
    except OSError as error:
        raise InputFileError(f"cannot read {path}: {error.strerror or error}") from error
    return digest.hexdigest()


def frame_digest(frame: pd.DataFrame) -> str:
    r"""Return the SHA-256 of a frame's CSV text, for scores that came as a frame and not as a file.

    Parameters
    ----------
    frame : DataFrame
        Its index is left out.

    Returns
    -------
    str
        That of the file that `frame.to_csv(path, index=False, lineterminator="\n")` writes.
    """
    writer = _Digest()
    frame.to_csv(writer, index=False, lineterminator="\n")
    return writer.hexdigest()


class _Digest:
    """A file that keeps nothing of what is written to it but its SHA-256."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def write(self, text: str) -> int:
        """Take a piece of text in."""
        self._digest.update(text.encode("utf-8", "surrogatepass"))
        return len(text)

    def hexdigest(self) -> str:
        """Digest of all that was written."""
        return self._digest.hexdigest()


def versions() -> dict[str, str]:
    """Versions of salstats, Python and the packages that a report rests on."""
    found = {"salstats": salstats.__version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            # not installed: nothing of it is in the report either
            continue
    return found


def provenance_rows(
    settings: Settings,
    inputs: Sequence[str | os.PathLike[str]],
    scores: pd.DataFrame,
    only: Mapping[str, Any] | None = None,
    *,
    when: datetime | None = None,
) -> tuple[tuple[str, str], ...]:
    """Rows of the report's last table.

    Nothing here tells the machine, the user or a folder, and the time only where it is given: the same
    input gives the same rows.

    Parameters
    ----------
    settings : Settings
        The choices that every analysis shares.
    inputs : sequence of paths
        Files that the scores were read from; without any, the digest is of `scores`.
    scores : DataFrame
        The rows that were analysed.
    only : mapping, optional
        Column -> value that chose these rows from the input.
    when : datetime, optional
        When the report was made, if it should say so.

    Returns
    -------
    tuple of (str, str)
        Name and value, names unique: inputs and their checksums, settings, versions.

    Raises
    ------
    InputFileError
        An input cannot be read.
    """
    rows = [*_input_rows(inputs, scores)]
    procedure = find_procedure(settings.adjust)
    if only:
        rows.append(("Rows used", joined([f"{column} = {value}" for column, value in only.items()])))
    rows += [
        ("Number of rows", count_text(len(scores))),
        ("Reference", settings.reference or "none"),
        ("Unit of resampling and of clusters", settings.unit),
        ("Confidence level", f"{level_text(settings.level)}%"),
        ("Interval of means and contrasts", settings.interval),
        ("Bootstrap replicates", count_text(settings.n_replicates)),
        ("Seed", str(settings.seed)),
        ("Test of contrasts", settings.test),
        (
            "Adjustment for multiple tests",
            procedure.label or "none" if procedure else settings.adjust,
        ),
        ("Style of numbers", settings.style),
        ("Covariates", joined(settings.covariates) if settings.covariates else "none"),
    ]
    rows += [(f"Version of {name}", number) for name, number in versions().items()]
    if when is not None:
        rows.append(("Made", when.isoformat(sep=" ", timespec="seconds")))
    return tuple(rows)


def _input_rows(inputs: Sequence[str | os.PathLike[str]], scores: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield what the scores were read from, and its SHA-256."""
    if not inputs:
        yield "Input", "scores given as a data frame"
        yield "SHA-256 of the scores as CSV", frame_digest(scores)
        return
    names = [Path(path).name for path in inputs]
    # two files of one name in two folders stay two rows
    names = [f"{n} ({names[: i + 1].count(n)})" if names.count(n) > 1 else n for i, n in enumerate(names)]
    yield "Input", joined(names)
    for name, path in zip(names, inputs, strict=True):
        yield f"SHA-256 of {name}", file_digest(path)
