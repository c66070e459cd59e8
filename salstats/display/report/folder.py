"""A report's folder: complete or not there, and never in the place of somebody else's files."""

import json
from dataclasses import replace
from pathlib import Path

import salstats
from salstats.display.export.figure_files import FigureJobs
from salstats.display.export.table_files import save_table_as, table_rows
from salstats.display.export.table_rows import Rows
from salstats.display.report.model import Item, Report
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
    figures = [item for item in items if not item.is_table]
    for item in figures:
        jobs.add(item.display, _targets(item, made))
    written: dict[str, Rows | bytes] = {
        item.key: _written_table(item, made) for item in items if item.is_table
    }
    frames = {item.key: write_frame(item.frame, made / "frames" / f"{item.key}.csv") for item in items}
    warned = [f"in the figures: {text}" for text in jobs.finish()]
    written |= {item.key: _targets(item, made)[-1].read_bytes() for item in figures}

    def finished(item: Item) -> Item:
        files = [path.relative_to(made).as_posix() for path in (*_targets(item, made), frames[item.key])]
        return replace(item, content=written[item.key], files=tuple(files))

    sections = [replace(part, items=tuple(map(finished, part.items))) for part in report.sections]
    report = replace(report, sections=tuple(sections), warnings=(*report.warnings, *warned))
    page = render_page(report)
    (made / "index.html").write_text(page, encoding="utf-8", newline="\n")
    listed = ["index.html", *(file for part in sections for item in part.items for file in item.files)]
    manifest = {
        "salstats": salstats.__version__,
        "title": report.title,
        "provenance": dict(report.provenance),
        "files": sorted(listed),
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    (made / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")
    return warned


def _targets(item: Item, made: Path) -> list[Path]:
    """Files of a table or figure; of a figure the PNG last, which the page shows."""
    folder, suffixes = ("tables", _TABLE_SUFFIXES) if item.is_table else ("figures", _FIGURE_SUFFIXES)
    return [made / folder / f"{item.key}{suffix}" for suffix in suffixes]


def _written_table(item: Item, made: Path) -> Rows:
    """Rows of a table, which is written under its number and title."""
    save_table_as(item.display.tab_header(f"{item.number}. {item.title}"), _targets(item, made))
    return table_rows(item.display)
