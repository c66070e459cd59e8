"""Memory that the content of a file may take, and how much is free."""

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

from salstats.errors import InputFileError, SalstatsError

#: The environment variable that sets the limit.
LIMIT_VARIABLE = "SALSTATS_LIMIT_GB"
#: Bytes in memory of a pixel of a map.
BYTES_PER_PIXEL = 8
#: Bytes in memory of a cell of a table.
BYTES_PER_CELL = 32
#: Bytes in memory of a cell of a sheet with its XML.
BYTES_PER_SHEET_CELL = 512
#: Bytes in memory of a column of a table, whatever its length.
BYTES_PER_COLUMN = 1 << 16
#: Bytes in memory of an instruction of a pickle, which may make a container.
BYTES_PER_INSTRUCTION = 1024
_GB = 1 << 30
#: Bytes that are taken to be free where the system does not say what is.
_UNKNOWN_FREE = 2.0 * _GB
#: Seconds after which the free memory is read again.
_REFRESH_SECONDS = 1.0
#: Largest ratio of a content's memory to the bytes of its file: zeros compress to a thousandth.
_LARGEST_RATIO = 1000
#: Folder in which Linux lists the control groups, which limit the memory of a container.
_CONTROL_GROUPS_FOLDER = Path("/sys/fs/cgroup")


def file_content_memory_limit_bytes(file_bytes: float = 0) -> float:
    """Return how many bytes the content of a file may take in memory: an image, a table, a pickle.

    The environment variable SALSTATS_LIMIT_GB sets it in gigabytes. Without it the limit is half of the free
    memory, and at most 1 GB or 1000 times `file_bytes`, the size of the file.

    Raises
    ------
    SalstatsError
        The environment variable holds no positive number.

    Examples
    --------
    >>> from salstats.memory_limit import file_content_memory_limit_bytes
    >>> file_content_memory_limit_bytes() <= 2**30
    True
    >>> file_content_memory_limit_bytes(file_bytes=2**24) >= file_content_memory_limit_bytes()
    True
    """
    text = os.environ.get(LIMIT_VARIABLE)
    if text is None:
        return min(_free_memory_bytes() / 2, max(_GB, _LARGEST_RATIO * file_bytes))
    try:
        gigabytes = float(text)
    except ValueError:
        gigabytes = 0.0
    # also raises for NaN, which is not above 0
    if not gigabytes > 0:
        raise SalstatsError(
            f"the environment variable {LIMIT_VARIABLE} must be a number of gigabytes, not {text[:40]!r}",
            option=LIMIT_VARIABLE,
            value=text,
        )
    return gigabytes * _GB


@dataclass
class _FreeMemory:
    """Bytes that this process could still take, and the time at which they were read."""

    n_bytes: float = 0.0
    time: float = -math.inf


_LAST_FREE_MEMORY = _FreeMemory()


def _free_memory_bytes() -> float:
    """Return how many bytes this process may still take, read once a second at most."""
    seconds = time.monotonic()
    if seconds - _LAST_FREE_MEMORY.time >= _REFRESH_SECONDS:
        _LAST_FREE_MEMORY.n_bytes = _read_free_memory_bytes()
        _LAST_FREE_MEMORY.time = seconds
    return _LAST_FREE_MEMORY.n_bytes


def _read_free_memory_bytes() -> float:
    """Return how many bytes this process may still take: what the machine has, or less in a container."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        # a system without this file does not say what is free
        return _UNKNOWN_FREE
    free = _UNKNOWN_FREE
    for line in lines:
        # such as "MemAvailable:   16318420 kB"
        if line.startswith("MemAvailable"):
            _, kilobytes, *_ = line.split()
            free = 1024.0 * int(kilobytes)
            break
    return min([free, *map(_free_bytes_in_group, _control_group_folders())])


def _control_group_folders() -> list[Path]:
    """List the folders of the control groups, of both versions, that may limit this process's memory."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    groups = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "memory":
            # version 1 has a hierarchy of groups for each resource
            root = _CONTROL_GROUPS_FOLDER / "memory"
        elif controllers == "":
            root = _CONTROL_GROUPS_FOLDER
        else:
            continue
        folder = root / group.lstrip("/")
        # in a container the path may be that of the host, of which only the root exists
        groups += [folder, *(parent for parent in folder.parents if parent.is_relative_to(root))]
    return groups


def _free_bytes_in_group(folder: Path) -> float:
    """Return how many bytes a control group may still take; infinite where it has no limit."""
    file_pairs = (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    )
    for limit_file, usage_file in file_pairs:
        try:
            limit_bytes = float((folder / limit_file).read_text())
            usage_bytes = float((folder / usage_file).read_text())
            statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        # the file does not exist, or it holds the word "max"
        except (OSError, ValueError):
            continue
        # pages of files that were read are given back when memory is short
        reclaimable = float(statistics.get("total_inactive_file", statistics.get("inactive_file", 0)))
        return max(limit_bytes - usage_bytes + reclaimable, 0.0)
    return math.inf


def problem_text_if_too_large(n_bytes: float, file_bytes: float = 0) -> str:
    """Return why something of so many bytes is too large for the limit of memory; "" where it is not."""
    limit_bytes = file_content_memory_limit_bytes(file_bytes)
    if n_bytes <= limit_bytes:
        return ""
    sufficient_gb = math.ceil(n_bytes / _GB)
    return (
        f"would take {n_bytes / _GB:.3g} GB of memory, and {limit_bytes / _GB:.3g} is the limit; "
        f"set {LIMIT_VARIABLE}={sufficient_gb} in the environment to allow {sufficient_gb} GB"
    )


def check_size(n_bytes: float, subject: object, file_bytes: float = 0) -> None:
    """Raise InputFileError if content of a file would take more than `file_content_memory_limit_bytes`.

    `subject` begins the message: a file, or a file and its part. The value of the error is `n_bytes`.
    """
    reason = problem_text_if_too_large(n_bytes, file_bytes)
    if reason:
        raise InputFileError(f"{subject} {reason}", option=LIMIT_VARIABLE, value=n_bytes)
