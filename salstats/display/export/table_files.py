"""Tables to files: HTML, LaTeX, Word, CSV and PNG, all from what the table itself shows."""

import os
from collections.abc import Iterable
from pathlib import Path

from great_tables import GT

from salstats.checks import InputFileError
from salstats.display.export.browser import find_browser
from salstats.display.export.table_csv import grid_csv
from salstats.display.export.table_grid import Grid
from salstats.display.export.table_html import table_page
from salstats.display.export.table_latex import grid_latex
from salstats.display.export.table_markup import html_grid, table_html
from salstats.files.outputs import check_target, replacing

TABLE_SUFFIXES = (".html", ".tex", ".docx", ".csv", ".png")


def save_table(table: GT, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    r"""Write a table as HTML, LaTeX, Word, CSV or PNG.

    Every format is written from the HTML that the table gives, so that what was added to the table
    (`.tab_header()`, `.tab_footnote()`, `.tab_style()` ...) is in all of them.

    Parameters
    ----------
    table : GT
        Any great-tables table.
    path : str or path
        Where to, by its ending:

        - `.html`: a page of its own, in the look the table has.
        - `.tex`: a `table` or `longtable` with booktabs rules, to be read in with `\input`; its first
          lines name the packages it needs. It can be referred to as `tab:` and the name of the file.
        - `.docx`: a Word document with a real table.
        - `.csv`: the text of the cells under one row of headings; no title, no notes.
        - `.png`: a picture at 300 dots per inch, which takes Chromium, Chrome or Edge.
    overwrite : bool
        Replace a file that is there already.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    InputFileError
        Another ending; the folder does not exist or may not be written in; the file exists and
        `overwrite` is False.
    SalstatsError
        Not a great-tables table; for `.png`, no browser, or a table too long for one picture.

    Notes
    -----
    Bold, italics, underlining, strike-through, raised and lowered text, alignment, indentation and the
    colours given to single cells are kept in `.tex` and `.docx`; fonts and decoration of the whole table
    are not, and of links only the text is. A picture inside a cell becomes its alternative text.

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
    save_table_as(table, [target])
    return target


def save_table_as(table: GT, targets: Iterable[Path]) -> Grid:
    """Write a table to several files whose names end in their formats; return it as rows of cells.

    The table is rendered once.
    """
    targets = list(targets)
    if any(target.suffix.lower() == ".png" for target in targets):
        find_browser()
    html = table_html(table)
    grid = html_grid(html)
    for target in targets:
        try:
            with replacing(target) as temporary:
                _write(html, grid, target, temporary)
        except OSError as error:
            raise InputFileError(f"cannot write {target}: {error.strerror or error}") from error
    return grid


def _write(html: str, grid: Grid, target: Path, temporary: Path) -> None:
    """Write one file in the format of its ending."""
    suffix = target.suffix.lower()
    if suffix == ".html":
        temporary.write_text(table_page(html, grid.title), encoding="utf-8", newline="\n")
    elif suffix == ".tex":
        temporary.write_text(grid_latex(grid, label=target.stem), encoding="utf-8", newline="\n")
    elif suffix == ".csv":
        # with a byte order mark, or Excel takes a dash for three other signs
        temporary.write_text(grid_csv(grid), encoding="utf-8-sig", newline="\n")
    elif suffix == ".docx":
        # imported late: python-docx takes a while to load, and few sessions write Word documents
        from salstats.display.export.table_word import grid_docx

        temporary.write_bytes(grid_docx(grid))
    else:
        from salstats.display.export.table_png import page_png

        page_png(table_page(html, grid.title), temporary)
