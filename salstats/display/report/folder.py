"""A report's folder: complete or not there, and never in the place of somebody else's files."""

import json
from dataclasses import replace
from pathlib import Path

import salstats
from salstats.display.export.figure_files import FigureJobs
from salstats.display.export.table_files import save_table_as, table_rows
from salstats.display.export.table_rows import Rows
from salstats.display.report.model import Report
from salstats.display.report.page import render_page
from salstats.files.frame_files import write_frame
from salstats.files.output_folder import checked_folder, replacing_folder

#: Lists what a report wrote; a folder without it is somebody else's.
MANIFEST = "report.json"
_SUBFOLDERS = ("tables", "figures", "frames")
_TABLE_SUFFIXES = (".csv", ".html", ".tex", ".docx")
_FIGURE_SUFFIXES = (".pdf", ".png")


def check_folder(folder: Path, *, overwrite: bool) -> Path:
    """Real path of a folder that may be made, or replaced with what an earlier report made."""
    return checked_folder(folder, written=_written, own=_SUBFOLDERS, overwrite=overwrite)


def _written(folder: Path) -> set[str]:
    """Names of the files that a report wrote into a folder, as its manifest lists them."""
    try:
        listed = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {MANIFEST, *map(str, listed)}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def write_folder(report: Report, folder: Path, figures: FigureJobs) -> list[str]:
    """Write a report's files under a temporary name, then name the folder; return warnings of drawing."""
    # somebody may have put a file there while the report was made
    with replacing_folder(folder, lambda: check_folder(folder, overwrite=True)) as made:
        return _write(report, made, figures)


def _write(report: Report, made: Path, jobs: FigureJobs) -> list[str]:
    """Write tables, figures, frames, the page and the list of files into a new folder."""
    for name in _SUBFOLDERS:
        (made / name).mkdir(parents=True)
    items = [item for section in report.sections for item in section.items]
    kinds = {
        item.key: ("tables", _TABLE_SUFFIXES) if item.is_table else ("figures", _FIGURE_SUFFIXES)
        for item in items
    }
    targets = {
        key: [made / place / f"{key}{suffix}" for suffix in suffixes]
        for key, (place, suffixes) in kinds.items()
    }
    for item in items:
        if not item.is_table:
            jobs.add(item.display, targets[item.key])
    tables: dict[str, Rows] = {}
    files: dict[str, list[str]] = {}
    for item in items:
        if item.is_table:
            titled = item.display.tab_header(f"{item.number}. {item.title}")
            save_table_as(titled, targets[item.key])
            tables[item.key] = table_rows(item.display)
        frame = write_frame(item.frame, made / "frames" / f"{item.key}.csv")
        files[item.key] = [f"{path.parent.name}/{path.name}" for path in (*targets[item.key], frame)]
    warned = [f"in the figures: {text}" for text in jobs.finish()]
    report = replace(report, warnings=(*report.warnings, *warned))
    figures = {item.key: targets[item.key][-1].read_bytes() for item in items if not item.is_table}
    page = render_page(report, tables=tables, figures=figures, files=files)
    (made / "index.html").write_text(page, encoding="utf-8", newline="\n")
    listed = ["index.html", *(name for names in files.values() for name in names)]
    manifest = {
        "salstats": salstats.__version__,
        "title": report.title,
        "provenance": dict(report.provenance),
        "files": sorted(listed),
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    (made / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")
    return warned
