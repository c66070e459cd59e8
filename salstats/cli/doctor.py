"""Command that shows what is installed: versions, optional parts, this machine, the embedded data."""

import hashlib
import math
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

#: What each extra for users is needed for; the other extras build and test the package.
_USES_BY_EXTRA = {
    "explain": "the commands make-maps and curves, the functions of ss.explain",
    "dask": "jobs of Python functions on a cluster, by joblib.parallel_config(backend='dask')",
}
#: Commands and functions that need a required package, of packages that not every command needs.
_USES_BY_PACKAGE = {
    "cloudpickle": "plot, gallery, report, reproduce, demo",
    "formulaic": "regress, quantile-regress, and figures and tables of their estimates",
    "great-tables": "table, report, reproduce, demo",
    "loky": "plot, gallery, report, reproduce, demo",
    "lxml": "tables as .docx: table, report, reproduce, demo",
    "matplotlib": "plot, gallery, report, reproduce, demo",
    "openpyxl": "reading .xlsx, in any command",
    "pingouin": "correlate --test percbend and bicor",
    "plotnine": "plot, gallery, report, reproduce, demo",
    "pooch": "datasets.fetch_lanfredi2021()",
    "python-docx": "tables as .docx: table, report, reproduce, demo",
    "statsmodels": (
        "regress, quantile-regress, calibration, adjusted P values, agreement, report, reproduce, demo"
    ),
}
#: Length of a SHA-256 as text.
_N_HEX_DIGITS = 64
_LATEX = ("lualatex", "xelatex", "pdflatex")


def doctor() -> None:
    """Show what is installed and what is missing: versions, optional parts, embedded data."""
    import salstats

    print(f"salstats {salstats.__version__}, Python {platform.python_version()}, {platform.platform()}")
    for heading, lines in (
        ("Installed", _package_lines()),
        ("Optional", _optional_part_lines()),
        ("This machine", _core_and_memory_limit_lines()),
        ("Embedded data", _embedded_data_check_headings_and_texts()),
    ):
        print(f"\n{heading}")
        for name, text in lines:
            print(f"  {name:<24}{text}")


def _requirements_with_versions_or_problems(extra: str = "") -> list[tuple[str, str]]:
    """Return the packages that salstats or one of its extras requires, with their versions or problems."""
    from packaging.requirements import Requirement

    try:
        texts = metadata.requires("salstats") or []
    except metadata.PackageNotFoundError:
        texts = []
    requirements = []
    for requirement in map(Requirement, texts):
        # Every requirement of an extra has a marker.
        applies = not extra
        if requirement.marker is not None:
            applies = requirement.marker.evaluate({"extra": extra})
        if applies and requirement.name != "salstats":
            requirements.append((requirement.name, _version_or_problem(requirement)))
    return requirements


def _version_or_problem(requirement: "Requirement") -> str:
    """Return the installed version of a package, or that it is missing or does not fit."""
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return "missing"
    if requirement.specifier.contains(version, prereleases=True):
        return version
    return f"{version}, but needs {requirement.specifier}"


def _package_lines() -> Iterator[tuple[str, str]]:
    """Yield the folder of the package, the Python that runs, and the required packages."""
    import salstats

    yield "salstats", str(Path(salstats.__file__).parent)
    yield "python", sys.executable
    requirements = _requirements_with_versions_or_problems()
    if not requirements:
        yield "requirements", "unknown: salstats was not installed by pip"
    for name, version in requirements:
        if version == "missing":
            uses = _USES_BY_PACKAGE.get(name, "most commands")
            version += f": needed for {uses}; pip install {name} installs it"
        yield name, version


def _optional_part_lines() -> Iterator[tuple[str, str]]:
    """Yield the optional parts, each with its version or how to install it."""
    from salstats.errors import SalstatsError

    for extra, uses in _USES_BY_EXTRA.items():
        requirements = _requirements_with_versions_or_problems(extra)
        text = ", ".join(f"{name} {version}" for name, version in requirements) or "unknown"
        if any(version == "missing" for _, version in requirements):
            text += f": needed for {uses}; pip install 'salstats[{extra}]' installs it"
        yield extra, text
    try:
        from salstats.display.export.table_png import find_browser

        yield "Chromium", find_browser()
    except ModuleNotFoundError as error:
        yield "Chromium", f"not looked for without {error.name}"
    except SalstatsError as error:
        yield "Chromium", f"missing, needed for tables as .png: {error}"
    programs = [shutil.which(name) for name in _LATEX]
    paths = ", ".join(program for program in programs if program is not None)
    yield "LaTeX", paths or "missing: tables can be written as .tex but not typeset"
    try:
        from salstats.display.plots.layout.theme import font
    except ModuleNotFoundError as error:
        yield "font of figures", f"not looked for without {error.name}"
        return
    font_text = font()
    if font_text.startswith("DejaVu"):
        font_text += ", Matplotlib's own: journals ask for Arial; Liberation Sans has the same widths"
    yield "font of figures", font_text


def _core_and_memory_limit_lines() -> Iterator[tuple[str, str]]:
    """Yield the cores and the memory that this process may use."""
    from salstats.memory_limit import LIMIT_VARIABLE, file_content_memory_limit_bytes

    try:
        import joblib

        yield "cores", f"{joblib.cpu_count()}, which --jobs -1 uses"
    except ModuleNotFoundError:
        yield "cores", "not counted without joblib"
    # The limit of a table grows with its file; this is the largest.
    table_gb = file_content_memory_limit_bytes(file_bytes=math.inf) / 2**30
    file_gb = file_content_memory_limit_bytes() / 2**30
    yield "memory for a table", f"{table_gb:.3g} GB at most; {LIMIT_VARIABLE}=8 in the environment sets 8 GB"
    yield (
        "memory for another file",
        f"{file_gb:.3g} GB at most; {LIMIT_VARIABLE}=8 in the environment sets 8 GB",
    )


def _embedded_data_check_headings_and_texts() -> Iterator[tuple[str, str]]:
    """Yield headings with texts: the embedded data's folder, number of files, those missing or changed."""
    from salstats.files.input_files import data_folder

    folder = data_folder()
    yield "folder", str(folder)
    missing = []
    changed = []
    checksums = _recorded_sha256_by_path(folder)
    for name, checksum in checksums.items():
        file = folder / name
        if not file.is_file():
            missing.append(name)
        elif hashlib.sha256(file.read_bytes()).hexdigest() != checksum:
            changed.append(name)
    if not missing and not changed:
        yield "files", f"{len(checksums)}, all with the right checksum"
        return
    yield "files", str(len(checksums))
    if missing:
        yield "missing", ", ".join(missing)
    if changed:
        yield "changed", ", ".join(changed)


def _recorded_sha256_by_path(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each embedded file, from the table of README.md and from SHA256SUMS files."""
    checksums = {}
    for line in (folder / "README.md").read_text().splitlines():
        # a row of the table: | `file` (what it is) | ... | checksum |
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells[-1]) == _N_HEX_DIGITS:
            name = cells[0].split("`")[1]
            checksums[name] = cells[-1]
    for sums in folder.rglob("SHA256SUMS"):
        for line in sums.read_text().splitlines():
            checksum, name = line.split(maxsplit=1)
            path = sums.parent / name
            checksums[path.relative_to(folder).as_posix()] = checksum
    return checksums
