"""Read one sheet of a workbook, numbers as numbers and text as text, and say what a sheet hides."""

import re
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pandas as pd

from salstats.checks import SHEET_CELL, InputFileError, check_size, limit, quoted, warn
from salstats.readers.cells import TableOptions, check_header

#: Formulas and merged cells in a sheet's XML, with or without a namespace prefix.
_FORMULA_OR_MERGE = re.compile(rb"<(?:\w+:)?(f(?=[\s/>])|mergeCell(?=\s))")
_ZEROS = re.compile(r"0{2,}")
#: Rows that a sheet can hold.
_MOST_ROWS = 1_048_576
#: Bytes of memory for one of a part's XML.
_UNPACKED = 16


def read_xlsx(file: Path, data: bytes, options: TableOptions) -> pd.DataFrame:
    """The cells of one sheet of a workbook; a formula counts as the value stored with it."""
    try:
        with warnings.catch_warnings():
            # openpyxl warns of styles and validations it leaves out; cell values are all that is read
            warnings.simplefilter("ignore", UserWarning)
            header, columns, zeros = _read_sheet(file, data, options)
    except InputFileError:
        raise
    except Exception as error:  # openpyxl raises anything on a damaged workbook
        raise InputFileError(
            f"{file}: not an XLSX workbook, or a damaged one ({error}); a text file must be named .csv"
        ) from error
    for name, (cell, shown) in zeros.items():
        warn(
            f"{file}, cell {cell}: column {name!r} holds numbers shown as {shown}; their leading zeros "
            "are not in the file and are lost; store the column as text to keep them"
        )
    return pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in zip(header, columns, strict=True)})


def _read_sheet(
    file: Path, data: bytes, options: TableOptions
) -> tuple[list[str], list[list], dict[str, tuple[str, str]]]:
    """The header, the columns, and per column a cell whose leading zeros are only shown."""
    from openpyxl import load_workbook

    with ZipFile(BytesIO(data)) as archive:
        unpacked = sum(part.file_size for part in archive.infolist() if part.filename.endswith(".xml"))
    # a few bytes can unpack to any number
    check_size(unpacked * _UNPACKED, f"{file}: its {unpacked / (1 << 20):.0f} MB of unpacked XML")
    sheet = _sheet(file, load_workbook(BytesIO(data), read_only=True, data_only=True), options)
    # the stated extent of a sheet is wrong in some writers' files
    sheet.reset_dimensions()
    where = f"{file}, sheet {sheet.title!r}"
    rows = sheet.iter_rows()
    head = [cell.value for cell in next(rows, ())]
    while head and head[-1] is None:
        head.pop()
    if not head:
        raise InputFileError(f"{where}: the first row is empty; it must hold the column names")
    header = ["" if value is None else str(value) for value in head]
    check_header(file, header)
    columns: list[list] = [[] for _ in header]
    zeros: dict[str, tuple[str, str]] = {}
    blank = n_cells = 0
    most = limit() // SHEET_CELL
    for number, cells in enumerate(rows, start=2):
        if number > _MOST_ROWS:
            raise InputFileError(f"{where}: a row number beyond what a sheet holds; the file is damaged")
        # openpyxl fills a row up to its last cell, whatever is in it
        n_cells += len(cells)
        if n_cells > most:
            check_size(n_cells * SHEET_CELL, f"{where}: its {n_cells} cells down to row {number}")
        if all(cell.value is None for cell in cells):
            blank += 1
            continue
        if blank:
            raise InputFileError(f"{where}, row {number - blank}: an empty row with data below it")
        extra = [cell for cell in cells[len(header) :] if cell.value is not None]
        if extra:
            raise InputFileError(f"{where}, cell {extra[0].coordinate}: more cells than the header has")
        for position, name in enumerate(header):
            cell = cells[position] if position < len(cells) else None
            columns[position].append(_value(where, cell, options))
            shown = _shown_zeros(cell)
            if cell is not None and shown:
                zeros.setdefault(name, (cell.coordinate, shown))
    if any(value is None for column in columns for value in column):
        _check_gaps(file, data, sheet.title, len(header), len(columns[0]))
    return header, columns, zeros


def _sheet(file: Path, book: Any, options: TableOptions) -> Any:
    """The sheet to read."""
    names = [sheet.title for sheet in book.worksheets]
    if not names:
        raise InputFileError(f"{file} has no sheet with cells")
    if options.sheet is None and len(names) > 1:
        raise InputFileError(f"{file} has several sheets; choose one with sheet=: {quoted(names)}")
    name = names[0] if options.sheet is None else options.sheet
    if name not in names:
        raise InputFileError(f"{file} has no sheet {name!r}; it has {quoted(names)}")
    return book[name]


def _value(where: str, cell: Any, options: TableOptions) -> object:
    """A cell's value; #N/A is a missing one, another error of the sheet is refused."""
    if cell is None:
        return None
    if cell.data_type == "e":
        if cell.value in options.na:
            return None
        raise InputFileError(
            f"{where}, cell {cell.coordinate}: the spreadsheet's error {cell.value}; "
            "mend it or empty the cell"
        )
    # a sheet's numbers are doubles, also where its file shows more digits
    return float(cell.value) if type(cell.value) is int and abs(cell.value) >= 1 << 53 else cell.value


def _shown_zeros(cell: Any) -> str | None:
    """How a number is shown if that has leading zeros the number has not."""
    if cell is None or not isinstance(cell.value, int | float) or isinstance(cell.value, bool):
        return None
    pattern = str(cell.number_format).split(";")[0]
    if not _ZEROS.fullmatch(pattern):
        return None
    shown = f"{cell.value:0{len(pattern)}.0f}"
    return shown if shown != f"{cell.value:.0f}" else None


def _check_gaps(file: Path, data: bytes, title: str, n_columns: int, n_rows: int) -> None:
    """Raise where an empty cell is a formula without a stored value, or the rest of merged cells."""
    from openpyxl import load_workbook

    with ZipFile(BytesIO(data)) as archive:
        names = [n for n in archive.namelist() if n.startswith("xl/worksheets/") and n.endswith(".xml")]
        found = {kind for name in names for kind in _FORMULA_OR_MERGE.findall(archive.read(name))}
    for merged in load_workbook(BytesIO(data))[title].merged_cells.ranges if b"mergeCell" in found else ():
        if merged.min_col <= n_columns and merged.min_row <= n_rows + 1:
            raise InputFileError(
                f"{file}, sheet {title!r}: cells {merged.coord} are merged; unmerge them and fill each"
            )
    if b"f" not in found:
        return
    rows = [
        load_workbook(BytesIO(data), read_only=True, data_only=values)[title].iter_rows(
            min_row=2, max_row=n_rows + 1, max_col=n_columns
        )
        for values in (True, False)
    ]
    for values, formulas in zip(*rows, strict=True):
        for value, cell in zip(values, formulas, strict=True):
            if cell.data_type == "f" and value.value is None:
                raise InputFileError(
                    f"{file}, sheet {title!r}, cell {cell.coordinate}: the formula {str(cell.value)[:40]} "
                    "has no stored value; open and save the file in a spreadsheet program, or store values"
                )
