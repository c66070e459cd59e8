"""What is installed: versions, optional parts and what brings them, this machine, the embedded data."""

import hashlib
import math
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

#: Extras that a user may want; the others build and test the package.
_EXTRAS = ("explain", "dask")
_LATEX = ("lualatex", "xelatex", "pdflatex")


def doctor() -> None:
    """Show what is installed and what is missing: versions, optional parts, embedded data."""
    import salstats

    print(f"salstats {salstats.__version__}, Python {platform.python_version()}, {platform.platform()}")
    for heading, lines in (
        ("Installed", _installed()),
        ("Optional", _optional()),
        ("This machine", _machine()),
        ("Embedded data", _data()),
    ):
        print(f"\n{heading}")
        for name, text in lines:
            print(f"  {name:<24}{text}")


def _requirements(extra: str = "") -> list[tuple[str, str]]:
    """Return what salstats or an extra of it needs, each with its version or what is wrong with that."""
    from packaging.requirements import Requirement

    try:
        texts = metadata.requires("salstats") or []
    except metadata.PackageNotFoundError:
        texts = []
    requirements = []
    for one in map(Requirement, texts):
        wanted = one.marker is None or one.marker.evaluate({"extra": extra})
        if not wanted or (extra and one.marker is None) or one.name == "salstats":
            continue
        try:
            version = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            version = "missing"
        else:
            version += (
                "" if one.specifier.contains(version, prereleases=True) else f", but needs {one.specifier}"
            )
        requirements.append((one.name, version))
    return requirements


def _installed() -> Iterator[tuple[str, str]]:
    """Where the package is, and what it stands on."""
    import salstats

    yield "salstats", str(Path(salstats.__file__).parent)
    yield "python", sys.executable
    yield from _requirements() or [("requirements", "unknown: salstats was not installed by pip")]


def _optional() -> Iterator[tuple[str, str]]:
    """What more can be had, and what brings it."""
    from salstats.display.export.table_png import find_browser
    from salstats.display.plots.layout.theme import font
    from salstats.errors import SalstatsError

    for extra in _EXTRAS:
        needed = _requirements(extra)
        versions = ", ".join(f"{name} {version}" for name, version in needed) or "unknown"
        missing = any(version == "missing" for _, version in needed)
        yield extra, f"{versions}: pip install 'salstats[{extra}]' brings it" if missing else versions
    try:
        yield "Chromium", find_browser()
    except SalstatsError as error:
        yield "Chromium", f"missing: {error}"
    programs = [path for name in _LATEX if (path := shutil.which(name))]
    yield "LaTeX", ", ".join(programs) or "missing: tables are written as .tex all the same, but not set"
    face = font()
    if face.startswith("DejaVu"):
        face += ", Matplotlib's own: journals ask for Arial, and Liberation Sans is as wide"
    yield "font of figures", face


def _machine() -> Iterator[tuple[str, str]]:
    """Cores and memory, as far as this process may use them."""
    import joblib

    from salstats.memory_limit import LIMIT, limit

    yield "cores", f"{joblib.cpu_count()}, which --jobs -1 uses"
    table_gb = limit(file_bytes=math.inf) / 2**30
    other_gb = limit() / 2**30
    yield "memory for a table", f"{table_gb:.3g} GB at most; {LIMIT}=8 in the environment sets 8 GB"
    yield "memory for another file", f"{other_gb:.3g} GB at most; {LIMIT}=8 in the environment sets 8 GB"


def _data() -> Iterator[tuple[str, str]]:
    """Where the embedded data are, and whether they are as they were made."""
    from salstats.files.inputs import data_folder

    folder = data_folder()
    yield "folder", str(folder)
    listed = dict(
        re.findall(r"^\| `([^`]+)` .*\| ([0-9a-f]{64}) \|$", (folder / "README.md").read_text(), re.M)
    )
    for sums in folder.rglob("SHA256SUMS"):
        for line in sums.read_text().splitlines():
            checksum, name = line.split(maxsplit=1)
            listed[(sums.parent / name).relative_to(folder).as_posix()] = checksum
    missing = [name for name in listed if not (folder / name).is_file()]
    changed = [
        name
        for name, checksum in listed.items()
        if name not in missing and hashlib.sha256((folder / name).read_bytes()).hexdigest() != checksum
    ]
    yield "files", f"{len(listed)}, " + ("" if missing or changed else "all as their checksums say")
    for what, names in (("missing", missing), ("changed", changed)):
        if names:
            yield what, ", ".join(names)
