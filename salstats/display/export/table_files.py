"""Tables to files: HTML and PNG as great-tables shows them, other formats from a table's record."""

import os
from collections.abc import Callable, Collection
from pathlib import Path

from great_tables import GT

from salstats.checks import check_number
from salstats.display.export.table_html import html_page
from salstats.display.export.table_latex import latex_table
from salstats.display.export.table_png import find_browser, table_pngs_by_sheet
from salstats.display.export.table_text import csv_text, json_document_text, markdown_text
from salstats.display.tables.file_formats import ANY_TABLE_SUFFIXES, TABLE_SUFFIXES
from salstats.display.tables.great_table import current_record_of
from salstats.display.tables.rows import TableRows, table_to_rows
from salstats.errors import Call, Message, SalstatsError, Setting, needed_for
from salstats.files.outputs import check_target, page_stems, write_files


def save_table(
    table: GT,
    path: str | os.PathLike[str],
    *,
    width: float | None = None,
    dpi: float = 300,
    overwrite: bool = False,
) -> Path:
    r"""Write a table as HTML, LaTeX, Word, CSV, Markdown, JSON or PNG.

    All but HTML and PNG are written from the record that a table of this package carries: its cells with
    what is bold or underlined, headings, groups, title and notes. What `.tab_header()` and
    `.tab_source_note()` add is in it, and cells that `.tab_style()` makes bold or underlined.

    Parameters
    ----------
    table : GT
        A table of a `table_...` function; for `.html` and `.png` any great-tables table.
    path : str or path
        Where to, by its ending:

        - `.html`: a page of its own, in the look the table has.
        - `.tex`: a `table` or `longtable` with booktabs rules, to be read in with `\input`; its first
          lines name the packages it needs. It can be referred to as `tab:` and the name of the file.
        - `.docx`: a Word document with a real table.
        - `.csv`: the text of the cells, stars and daggers with it, under one row of headings. Title and
          notes are left out, and with them what is bold or underlined: take them from another format.
        - `.md`: a table in the Markdown of GitHub and pandoc, with title and notes.
        - `.json`: title, headings, texts of the cells, which of them are bold or underlined, and notes.
        - `.png`: a picture, which takes Chromium, Chrome or Edge; of a table higher than a page several,
          table2.png, table2-2.png and so on, each with head and labels.

        What is wider than a page on its side is cut in parts below each other in `.tex` and `.docx`, each
        with the labels of the rows.
    width : float, optional
        Width of a `.png` in mm, such as 89 or 183; by default what the columns need. Columns that need more
        have their intervals below their estimates, then smaller letters, of 6 points at least.
    dpi : float
        Dots per inch of a `.png`, written into the file.
    overwrite : bool
        Replace a file that is there already.

    Returns
    -------
    Path
        Where it was written, its first page where there are several.

    Raises
    ------
    InputFileError
        Another ending; the folder does not exist or may not be written in; the file exists and
        `overwrite` is False.
    SalstatsError
        Not a great-tables table; for all endings but `.html` and `.png`, a table that was made otherwise, or
        that great-tables changed since in a way that its record does not hold, such as colours; for
        `.png`, no browser, a table too long for one picture or too wide for `width`, or a `dpi` too high for
        it; `width` for another ending.

    Examples
    --------
    >>> import pathlib, tempfile, salstats as ss
    >>> means = ss.summarize(ss.datasets.load_simulated(), by=["metric", "method", "task"])
    >>> table = ss.table_estimates(means).tab_header("Mean IoU and hit rate")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ss.save_table(table, pathlib.Path(folder) / "table2.tex")
    ...     file.name, r"\toprule" in file.read_text(encoding="utf-8")
    ('table2.tex', True)
    """
    target = check_target(path, TABLE_SUFFIXES, overwrite=overwrite)
    check_number(dpi, "dpi", exclude_zero=True)
    if width is not None:
        check_number(width, "width", exclude_zero=True)
        if target.suffix.lower() != ".png":
            raise SalstatsError(
                Setting("width", width),
                f" is the width of a picture, and {target.name} is none",
                hint="write .png, or leave it out",
                option="width",
                value=width,
            )
    save_table_as(table, [target], width=width, dpi=dpi, overwrite=overwrite)
    return target


def save_table_as(
    table: GT,
    targets: Collection[Path],
    *,
    width: float | None = None,
    dpi: float = 300,
    overwrite: bool = True,
) -> None:
    """Write a table to several files whose names end in their formats; it is rendered once at most.

    `width` in mm and `dpi` are those of pictures, see `save_table`.
    """
    if not isinstance(table, GT):
        raise SalstatsError(
            f"only a great-tables table (GT) can be written, not {type(table).__name__}",
            hint=Message("a frame is written with ", Call("write_frame")),
            option="table",
        )
    suffixes = {target.suffix.lower() for target in targets}
    if ".png" in suffixes:
        find_browser()
    # each of the two takes a while, and most files need only one of them
    page = ""
    rows = None
    if suffixes & set(ANY_TABLE_SUFFIXES):
        page = html_page(table)
    if suffixes - set(ANY_TABLE_SUFFIXES):
        rows = table_rows(table)
    for target in targets:
        if target.suffix.lower() == ".png":
            contents = table_pngs_by_sheet(page, width, dpi)
        else:
            contents = [_content_unless_png(page, rows, target)]
        files = [target.with_stem(name) for name in page_stems(target.stem, len(contents))]
        for file in files[1:]:
            check_target(file, TABLE_SUFFIXES, overwrite=overwrite)
        write_files(list(zip(files, contents, strict=True)))


def table_rows(table: GT) -> TableRows:
    """Return a table as rows of cells; SalstatsError where its record does not hold all that it shows."""
    return table_to_rows(current_record_of(table))


def _content_unless_png(page: str, rows: TableRows | None, target: Path) -> bytes:
    """Return the content of a table's file in any format but PNG.

    `page` is the table as HTML; `rows` is for formats that are written from the table's record.
    """
    suffix = target.suffix.lower()
    if rows is None or suffix == ".html":
        return page.encode()
    return CONTENT_FUNCTIONS[suffix](rows, target)


def _latex_content(rows: TableRows, target: Path) -> bytes:
    """Return the LaTeX of a table, whose label is the name of its file."""
    return latex_table(rows, label=target.stem).encode()


def _word_content(rows: TableRows, target: Path) -> bytes:
    """Return a Word document of a table; the functions of all formats take the `target`."""
    # imported late: python-docx takes a while to load, and few sessions write Word documents
    with needed_for("a Word document"):
        from salstats.display.export.table_word import word_document

    return word_document(rows)


def _csv_content(rows: TableRows, target: Path) -> bytes:
    """Return the CSV of a table, with a byte order mark, without which Excel misreads dashes."""
    return csv_text(rows).encode("utf-8-sig")


def _markdown_content(rows: TableRows, target: Path) -> bytes:
    """Return the Markdown of a table."""
    return markdown_text(rows).encode()


def _json_content(rows: TableRows, target: Path) -> bytes:
    """Return the JSON of a table."""
    return json_document_text(rows).encode()


#: Functions that return the content of a file, by the endings of the formats that are written from a record.
CONTENT_FUNCTIONS: dict[str, Callable[[TableRows, Path], bytes]] = {
    ".tex": _latex_content,
    ".docx": _word_content,
    ".csv": _csv_content,
    ".md": _markdown_content,
    ".json": _json_content,
}
