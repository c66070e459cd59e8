"""The folder of a report, which is complete or absent, and never replaces files of somebody else."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import salstats
from salstats.display.export.figure_files import FigureJobs, FigureText
from salstats.display.export.table_files import save_table_as, table_rows
from salstats.display.report.document import Report, ReportItem
from salstats.display.report.page import render_page
from salstats.display.tables.file_formats import RESULT_SUFFIXES
from salstats.files.frame_files import write_frame
from salstats.files.output_folder import check_output_folder_is_writable, replacing_folder
from salstats.files.outputs import page_stems
from salstats.jobs import progress_counter

#: Name of the list of files that a report wrote; only folders of reports have it.
MANIFEST = "report.json"
_PAGE = "index.html"
_SUBFOLDERS = ("tables", "figures", "frames")
#: The PNG, which the page shows, is the last file of a figure's page.
_FIGURE_SUFFIXES = (".pdf", ".png")


def check_report_folder_is_writable(folder: Path, *, overwrite: bool) -> Path:
    """Return the resolved path of a report's folder; raise InputFileError where it may not be made.

    A folder that an earlier report made is replaced if `overwrite` is True.
    """
    return check_output_folder_is_writable(
        folder, written_files=_files_in_manifest, subfolders=_SUBFOLDERS, overwrite=overwrite
    )


def _files_in_manifest(folder: Path) -> set[str]:
    """Return the names of the files that a report wrote into a folder, as its manifest lists them."""
    try:
        names = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {MANIFEST, *map(str, names)}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


@dataclass(frozen=True)
class _WrittenItem:
    """The files of a table or figure, and its content for the page."""

    content: object
    files: tuple[Path, ...]


def write_folder_collecting_warnings(
    report: Report, folder: Path, jobs: FigureJobs, *, progress: bool
) -> list[str]:
    """Write a report's files into a temporary folder, then rename it; return the warnings of its figures."""
    # a file may have been added while the analyses ran
    with replacing_folder(
        folder, lambda: check_report_folder_is_writable(folder, overwrite=True)
    ) as new_folder:
        return _write_files_listing_figure_warnings(report, new_folder, jobs, progress)


def _write_files_listing_figure_warnings(
    report: Report, folder: Path, jobs: FigureJobs, progress: bool
) -> list[str]:
    """Write all files of a report into a new folder, and return the warnings of its figures."""
    for name in _SUBFOLDERS:
        (folder / name).mkdir(parents=True)
    items = [item for section in report.sections for item in section.items]
    figures = [item for item in items if not item.is_table]
    tables = [item for item in items if item.is_table]
    # figures may be drawn in a second process while the tables are written
    n_pages = 0
    for item in figures:
        for page, files in zip(item.drawing, _figure_files_by_page(item, folder), strict=True):
            jobs.add(page, files, FigureText(f"{item.number}. {item.title}", item.caption))
            n_pages += 1
    written_items: dict[str, _WrittenItem] = {}
    with progress_counter(len(tables), "Tables", progress=progress) as count:
        for item in tables:
            written_items[item.key] = _write_table(item, folder)
            count(1)
    with progress_counter(n_pages, "Figures", progress=progress) as count:
        figure_warnings = [f"in the figures: {text}" for text in jobs.finish_and_list_warnings(count)]
    for item in figures:
        written_items[item.key] = _read_drawn_figure(item, folder)
    report = _write_frames_and_add_files(report, written_items, folder)
    report = replace(report, warnings=(*report.warnings, *figure_warnings))
    with progress_counter(None, "Page", progress=progress):
        _write_text(folder / _PAGE, render_page(report))
    _write_text(folder / MANIFEST, _manifest_text(report))
    return figure_warnings


def _figure_files_by_page(item: ReportItem, folder: Path) -> list[list[Path]]:
    """Return the files of each page of a figure."""
    files = []
    for name in page_stems(item.key, len(item.drawing)):
        files.append([folder / "figures" / f"{name}{suffix}" for suffix in _FIGURE_SUFFIXES])
    return files


def _write_table(item: ReportItem, folder: Path) -> _WrittenItem:
    """Write a table under its number and title."""
    files = [folder / "tables" / f"{item.key}{suffix}" for suffix in RESULT_SUFFIXES]
    save_table_as(item.drawing.tab_header(f"{item.number}. {item.title}"), files)
    return _WrittenItem(table_rows(item.drawing), tuple(files))


def _read_drawn_figure(item: ReportItem, folder: Path) -> _WrittenItem:
    """Return the files of a figure that was drawn, and as its content the PNG of each page."""
    files_of_pages = _figure_files_by_page(item, folder)
    pictures = tuple(files[-1].read_bytes() for files in files_of_pages)
    files = [file for files_of_page in files_of_pages for file in files_of_page]
    return _WrittenItem(pictures, tuple(files))


def _write_frames_and_add_files(report: Report, written: Mapping[str, _WrittenItem], folder: Path) -> Report:
    """Write the frames of tables and figures, and return the report with contents and files of its items."""
    sections = []
    for section in report.sections:
        items = []
        for item in section.items:
            frame_file = write_frame(item.frame, folder / "frames" / f"{item.key}.csv")
            files = [*written[item.key].files, frame_file]
            names = tuple(file.relative_to(folder).as_posix() for file in files)
            items.append(replace(item, content=written[item.key].content, files=names))
        sections.append(replace(section, items=tuple(items)))
    return replace(report, sections=tuple(sections))


def _manifest_text(report: Report) -> str:
    """Return the manifest of a written report as JSON."""
    files = [_PAGE]
    for section in report.sections:
        for item in section.items:
            files += item.files
    manifest = {
        "salstats": salstats.__version__,
        "title": report.title,
        "provenance": dict(report.provenance),
        "files": sorted(files),
    }
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def _write_text(file: Path, text: str) -> None:
    """Write text; bytes in the names of files that are not valid text are written as escapes."""
    file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
