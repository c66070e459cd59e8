"""Memory that the content of a file may take, and how much is free."""

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

from salstats.errors import InputFileError, SalstatsError

#: The environment variable that sets the limit.
LIMIT = "SALSTATS_LIMIT_GB"
#: What things take in memory, in bytes: a pixel of a map, a cell of a table, one of a sheet with its XML, a
#: column, and an instruction of a pickle, which may make a container.
PIXEL, CELL, SHEET_CELL, COLUMN, INSTRUCTION = 8, 32, 512, 1 << 16, 1024
_GB = 1 << 30
#: Seconds for which the memory that is free is not looked up again.
_SECONDS_KNOWN = 1.0
#: Honest files take less than this many times their bytes: text of zeros packs to a thousandth.
_PROPORTION = 1000
#: Where Linux lists the control groups, which limit the memory of a container.
_GROUPS = Path("/sys/fs/cgroup")


def limit(file_bytes: float = 0) -> float:
    """Return how many bytes the content of a file may take in memory: an image, a table, a pickle.

    The environment variable says how many gigabytes. Without it they are half of the memory that is free, and
    at most 1 GB or, where `file_bytes` says how large the file is, 1000 times that: what asks for more is out
    of proportion to the file.

    Raises
    ------
    SalstatsError
        The environment variable holds no positive number.

    Examples
    --------
    >>> from salstats.memory_limit import limit
    >>> limit() <= 2**30
    True
    >>> limit(file_bytes=2**24) >= limit()
    True
    """
    text = os.environ.get(LIMIT)
    if text is None:
        return min(_free_memory() / 2, max(_GB, _PROPORTION * file_bytes))
    try:
        given = float(text)
    except ValueError:
        given = 0.0
    if not given > 0:
        raise SalstatsError(
            f"the environment variable {LIMIT} must be a number of gigabytes, not {text[:40]!r}"
        )
    return given * _GB


@dataclass
class _FreeMemory:
    """Bytes that this process could still take, and the time at which they were looked up."""

    n_bytes: float = 0.0
    time: float = -math.inf


_LAST_FREE_MEMORY = _FreeMemory()


def _free_memory() -> float:
    """Return how many bytes this process may still take, looked up once a second at most."""
    now = time.monotonic()
    if now - _LAST_FREE_MEMORY.time >= _SECONDS_KNOWN:
        _LAST_FREE_MEMORY.n_bytes = _look_up_free_memory()
        _LAST_FREE_MEMORY.time = now
    return _LAST_FREE_MEMORY.n_bytes


def _look_up_free_memory() -> float:
    """Return how many bytes this process may still take: what the machine has, or less in a container."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        # a system without this file does not say what is free
        return 2.0 * _GB
    kilobytes = next((line.split()[1] for line in lines if line.startswith("MemAvailable")), None)
    free = 2.0 * _GB if kilobytes is None else 1024.0 * int(kilobytes)
    return min([free, *map(_free_in_group, _memory_groups())])


def _memory_groups() -> list[Path]:
    """Folders of the control groups that may limit this process's memory, of both versions."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    groups = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        root = _GROUPS / "memory" if controllers == "memory" else _GROUPS
        if controllers in ("", "memory"):
            folder = root / group.lstrip("/")
            # in a container the path may be that of the host, of which only the root is there
            groups += [folder, *(parent for parent in folder.parents if parent.is_relative_to(root))]
    return groups


def _free_in_group(folder: Path) -> float:
    """Return how many bytes a control group may still take; infinite where it has no limit."""
    for most, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        try:
            limited = float((folder / most).read_text())
            taken = float((folder / used).read_text())
            statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        # there is no such file, or it says "max"
        except (OSError, ValueError):
            continue
        # pages of files that were read are given back when memory is short
        reclaimable = float(statistics.get("total_inactive_file", statistics.get("inactive_file", 0)))
        return max(limited - taken + reclaimable, 0.0)
    return math.inf


def too_large(n_bytes: float, file_bytes: float = 0) -> str:
    """Return why something of so many bytes is too large for the limit of memory; "" where it is not."""
    most = limit(file_bytes)
    return "" if n_bytes <= most else _beyond(n_bytes, most)


def _beyond(n_bytes: float, most: float) -> str:
    """Say that something takes more memory than the limit, and which limit would do."""
    n_allowed = math.ceil(n_bytes / _GB)
    return (
        f"would take {n_bytes / _GB:.3g} GB of memory, and {most / _GB:.3g} is the limit; "
        f"set {LIMIT}={n_allowed} in the environment to allow {n_allowed} GB"
    )


def check_size(n_bytes: float, what: object, file_bytes: float = 0) -> None:
    """Raise InputFileError where something that a file asks for is too large; see `limit`."""
    wrong = too_large(n_bytes, file_bytes)
    if wrong:
        raise InputFileError(f"{what} {wrong}")
