"""Files we read: one door for each, and one limit to what reading it may take."""

import json
import os
from pathlib import Path
from typing import Any

from salstats.checks import InputFileError, SalstatsError, check_plain

#: The environment variable that sets the limit.
LIMIT = "SALSTATS_LIMIT_GB"
#: What things take in memory, in bytes: a pixel of a map, a cell of a table, one of a sheet with its XML, a
#: column, and an instruction of a pickle, which may make a container.
PIXEL, CELL, SHEET_CELL, COLUMN, INSTRUCTION = 8, 32, 512, 1 << 16, 1024
_GB = 1 << 30


def limit() -> float:
    """Return how many bytes a file may ask for: an image, a table, a pickle; 1 GB unless the user says more.

    Raises
    ------
    SalstatsError
        The environment variable holds no positive number.

    Examples
    --------
    >>> from salstats.inputs import PIXEL, limit
    >>> int(limit() // PIXEL)  # pixels of an image
    134217728
    """
    text = os.environ.get(LIMIT, "1")
    try:
        given = float(text)
    except ValueError:
        given = 0.0
    if not given > 0:
        raise SalstatsError(
            f"the environment variable {LIMIT} must be a number of gigabytes, not {text[:40]!r}"
        )
    return given * _GB


def too_large(n_bytes: float) -> str:
    """Return what is wrong with something that takes so many bytes in memory; "" within the limit."""
    most = limit()
    if n_bytes <= most:
        return ""
    return (
        f"would take {n_bytes / _GB:.3g} GB of memory, and {most / _GB:g} is the limit; the environment "
        f"variable {LIMIT} raises it"
    )


def check_size(n_bytes: float, what: object) -> None:
    """Raise InputFileError where something that a file asks for is too large."""
    wrong = too_large(n_bytes)
    if wrong:
        raise InputFileError(f"{what} {wrong}")


def read_bytes(file: Path) -> bytes:
    """Return the content of a file that is there, plain, not empty and not too large.

    Raises InputFileError where it is not, or cannot be read.
    """
    try:
        check_plain(file)
        check_size(file.stat().st_size, f"{file}: its content")
        data = file.read_bytes()
    except FileNotFoundError as error:
        raise InputFileError(f"{file}: no such file") from error
    except OSError as error:
        raise InputFileError(f"{file}: cannot be read ({error.strerror or error})") from error
    if not data:
        raise InputFileError(f"{file} is empty")
    return data


def read_json(file: Path) -> Any:
    """Return the content of a JSON file in which no key stands twice; InputFileError where it is none."""
    data = read_bytes(file)
    if not data.strip():
        raise InputFileError(f"{file} is empty")
    try:
        return json.loads(data, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(error.doc.rstrip()) - 1 or "Unterminated" in error.msg
        what = "cut short" if at_end else "not JSON, or damaged"
        said = error.msg.removesuffix(" at")
        raise InputFileError(f"{file}: {what} ({said} in line {error.lineno})") from error
    except UnicodeDecodeError as error:
        raise InputFileError(f"{file}: not JSON; byte {error.start} is no text") from error
    except RecursionError as error:
        raise InputFileError(f"{file}: nested too deeply; it is no file of cases") from error
    except ValueError as error:
        raise InputFileError(f"{file}: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose keys differ."""
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"{twice!r} stands twice in one object; remove one of them")
    return made
