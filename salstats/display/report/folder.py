"""A report's folder: complete or not there, and never in the place of somebody else's files."""

import json
from dataclasses import replace
from itertools import chain
from pathlib import Path

import salstats
from salstats.display.export.figure_files import FigureJobs
from salstats.display.export.table_files import save_table_as, table_rows
from salstats.display.report.document import Item, Report
from salstats.display.report.page import render_page
from salstats.display.tables.rows import Rows
from salstats.files.frame_files import write_frame
from salstats.files.output_folder import check_output_folder, replacing_folder
from salstats.files.outputs import page_names
from salstats.jobs import counting

#: Lists what a report wrote; a folder without it is somebody else's.
MANIFEST = "report.json"
_SUBFOLDERS = ("tables", "figures", "frames")
_TABLE_SUFFIXES = (".csv", ".html", ".tex", ".docx")
_FIGURE_SUFFIXES = (".pdf", ".png")


def check_folder(folder: Path, *, overwrite: bool) -> Path:
    """Real path of a folder that may be made, or replaced with what an earlier report made."""
    return check_output_folder(folder, written=_written, own=_SUBFOLDERS, overwrite=overwrite)


def _written(folder: Path) -> set[str]:
    """Names of the files that a report wrote into a folder, as its manifest lists them."""
    try:
        listed = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {MANIFEST, *map(str, listed)}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def write_folder(report: Report, folder: Path, figures: FigureJobs, *, progress: bool = False) -> list[str]:
    """Write a report's files under a temporary name, then name the folder; return warnings of drawing."""
    # somebody may have put a file there while the report was made
    with replacing_folder(folder, lambda: check_folder(folder, overwrite=True)) as made:
        return _write(report, made, figures, progress)


def _write(report: Report, made: Path, jobs: FigureJobs, progress: bool) -> list[str]:
    """Write tables, figures, frames, the page and the list of files into a new folder."""
    for name in _SUBFOLDERS:
        (made / name).mkdir(parents=True)
    items = [item for section in report.sections for item in section.items]
    tables = [item for item in items if item.is_table]
    pages = {item.key: _page_files(item, made) for item in items if not item.is_table}
    drawn = [
        pair
        for item in items
        if item.key in pages
        for pair in zip(item.display, pages[item.key], strict=True)
    ]
    for page, files in drawn:
        jobs.add(page, files)
    written: dict[str, Rows | tuple[bytes, ...]] = {}
    frames = {item.key: write_frame(item.frame, made / "frames" / f"{item.key}.csv") for item in items}
    with counting(len(tables), "Tables", progress=progress) as count:
        for item in tables:
            written[item.key] = _written_table(item, made)
            count(1)
    with counting(len(drawn), "Figures", progress=progress) as count:
        warned = [f"in the figures: {text}" for text in jobs.finish(count)]
    written |= {key: tuple(page[-1].read_bytes() for page in files) for key, files in pages.items()}

    def finished(item: Item) -> Item:
        own = _table_files(item, made) if item.is_table else chain.from_iterable(pages[item.key])
        files = [path.relative_to(made).as_posix() for path in (*own, frames[item.key])]
        return replace(item, content=written[item.key], files=tuple(files))

    sections = [replace(part, items=tuple(map(finished, part.items))) for part in report.sections]
    report = replace(report, sections=tuple(sections), warnings=(*report.warnings, *warned))
    with counting(None, "Page", progress=progress):
        page = render_page(report)
        _write_text(made / "index.html", page)
    listed = ["index.html", *(file for part in sections for item in part.items for file in item.files)]
    manifest = {
        "salstats": salstats.__version__,
        "title": report.title,
        "provenance": dict(report.provenance),
        "files": sorted(listed),
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    _write_text(made / MANIFEST, text + "\n")
    return warned


def _write_text(file: Path, text: str) -> None:
    """Write text; bytes of a file's name that are no text stand as escapes."""
    file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def _table_files(item: Item, made: Path) -> list[Path]:
    """Files of a table."""
    return [made / "tables" / f"{item.key}{suffix}" for suffix in _TABLE_SUFFIXES]


def _page_files(item: Item, made: Path) -> list[list[Path]]:
    """Files of each page of a figure; the PNG, which the page shows, last."""
    names = page_names(item.key, len(item.display))
    return [[made / "figures" / f"{name}{suffix}" for suffix in _FIGURE_SUFFIXES] for name in names]


def _written_table(item: Item, made: Path) -> Rows:
    """Rows of a table, which is written under its number and title."""
    save_table_as(item.display.tab_header(f"{item.number}. {item.title}"), _table_files(item, made))
    return table_rows(item.display)
