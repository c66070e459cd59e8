"""Read one sheet of a workbook: numbers as numbers, text as text, and an error where a sheet hides cells."""

import re
import sys
import warnings
from collections.abc import Sequence
from io import BytesIO
from numbers import Real
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pandas as pd

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.errors import InputFileError, Message, SalstatsError, Setting, needed_for
from salstats.memory_limit import BYTES_PER_SHEET_CELL, check_size
from salstats.readers.cells import (
    BEYOND_FLOATS_TEXT,
    EXACT_FLOAT_LIMIT,
    TableOptions,
    check_header,
    identifier_or_none_if_unusable,
    is_date_or_time,
)

#: Bytes of memory for each byte of XML.
_XML_BYTES = 16
#: XML that is unpacked has more than this many times the bytes of packed XML; a picture has fewer.
_PACKING_RATIO = 1.5
#: Most bytes of memory that a character of text takes while its column is made.
_CHARACTER_BYTES = 8
#: XML of a formula or of merged cells, behind which an empty cell may be something else.
_HIDING = re.compile(rb"<(?:\w+:)?(?:f|mergeCell)[ />]")
#: Reference of a merged range in XML, such as A1:B2.
_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?ref=["']([^"']*)["']""")


def read_xlsx(file: Path, data: bytes, options: TableOptions) -> pd.DataFrame:
    """Read the cells of one sheet of a workbook; a formula counts as the value stored with it."""
    try:
        with warnings.catch_warnings():
            # openpyxl warns of styles and validations it leaves out; cell values are all that is read
            warnings.simplefilter("ignore", UserWarning)
            header, rows = _read_header_and_rows(file, data, options)
    except InputFileError as error:
        raise error.prefixed(path=file) from error.__cause__
    except SalstatsError:
        raise
    except Exception as error:  # openpyxl raises anything on a damaged workbook
        raise InputFileError(
            f"{file}: not an XLSX workbook, or a damaged one ({error})",
            hint="a text file must be named .csv",
            path=file,
        ) from error
    if not rows:
        return pd.DataFrame({name: _typed_column([], options) for name in header})
    columns = zip(*rows, strict=True)
    return pd.DataFrame(
        {name: _typed_column(cells, options) for name, cells in zip(header, columns, strict=True)}
    )


def sheet_names(file: Path) -> list[str]:
    """List the sheets of a workbook; raise InputFileError where it cannot be opened."""
    with needed_for("an XLSX workbook"):
        from openpyxl import load_workbook

    try:
        with ZipFile(file) as archive:
            _check_unpacked_size(file, archive, file.stat().st_size)
        book = load_workbook(file, read_only=True)
    except SalstatsError:
        raise
    except Exception as error:  # openpyxl raises anything on a damaged workbook
        raise InputFileError(
            f"{file}: not an XLSX workbook, or a damaged one ({error})", path=file
        ) from error
    names = [sheet.title for sheet in book.worksheets]
    book.close()
    return names


def _check_unpacked_size(file: Path, archive: ZipFile, file_bytes: int) -> None:
    """Raise where the files in a workbook's archive unpack to more than the limit of memory."""
    # bytes of the unpacked files, and of the memory that they take
    unpacked = 0
    size = 0
    for member in archive.infolist():
        unpacked += member.file_size
        # any file may be read as XML whatever its name is, except for a picture, which hardly packs
        packs = member.file_size > _PACKING_RATIO * member.compress_size
        if packs or not member.filename.startswith("xl/media/"):
            size += member.file_size * _XML_BYTES
    # a few bytes can unpack to any number
    check_size(size, f"{file}: its {unpacked / (1 << 20):.0f} MB of unpacked XML", file_bytes)


def _read_header_and_rows(
    file: Path, data: bytes, options: TableOptions
) -> tuple[list[str], list[list[Any]]]:
    """Read the header and the rows below it."""
    with needed_for("an XLSX workbook"):
        from openpyxl import load_workbook

    with ZipFile(BytesIO(data)) as archive:
        _check_unpacked_size(file, archive, len(data))
        sheets = [archive.read(name) for name in archive.namelist() if name.startswith("xl/worksheets/")]
        may_hide_cells = any(_HIDING.search(sheet) for sheet in sheets)
        # openpyxl makes every cell of a merged range, which a few bytes can name
        n_merged = sum(_n_merged_cells(sheet) for sheet in sheets)
        check_size(n_merged * BYTES_PER_SHEET_CELL, f"{file}: its {n_merged} merged cells", len(data))
        del sheets
    sheet = _chosen_sheet(file, load_workbook(BytesIO(data), read_only=True, data_only=True), options)
    # the stated extent of a sheet is wrong in some writers' files
    sheet.reset_dimensions()
    location = f"{file}, sheet {sheet.title!r}"
    sheet_rows = sheet.iter_rows()
    header_values = [cell.value for cell in next(sheet_rows, ())]
    while header_values and header_values[-1] is None:
        header_values.pop()
    if not header_values:
        raise InputFileError(
            f"{location}: the first row is empty", hint="it must hold the column names", path=file
        )
    header = [_header_name(value) for value in header_values]
    check_header(file, header)
    rows: list[list[Any]] = []
    n_blank = 0
    n_cells = 0
    n_characters = 0
    for number, cells in enumerate(sheet_rows, start=2):
        # openpyxl fills a row up to its last cell, whatever is in it, and rows down to the last one
        n_cells += len(cells) + 1
        # a text that the file holds once may stand in any number of cells
        n_characters += sum(len(cell.value) for cell in cells if isinstance(cell.value, str))
        size = n_cells * BYTES_PER_SHEET_CELL + n_characters * _CHARACTER_BYTES
        check_size(size, f"{location}: its {n_cells} cells down to row {number}", len(data))
        if all(cell.value is None for cell in cells):
            n_blank += 1
            continue
        if n_blank:
            raise InputFileError(
                f"{location}, row {number - n_blank}: an empty row with data below it",
                rows=[number - n_blank - 2],
                path=file,
            )
        extra = [cell for cell in cells[len(header) :] if cell.value is not None]
        if extra:
            raise InputFileError(
                f"{location}, cell {extra[0].coordinate}: more cells than the header has",
                value=extra[0].coordinate,
                path=file,
            )
        values = [_stored_value_or_none(location, cell, options) for cell in cells[: len(header)]]
        rows.append(values + [None] * (len(header) - len(values)))
    if may_hide_cells and any(None in row for row in rows):
        _refuse_merged_and_unstored_cells(location, load_workbook(BytesIO(data))[sheet.title], rows)
    return header, rows


def _header_name(value: Any) -> str:
    """Return a cell of the header as text, "" where it is empty."""
    return "" if value is None else str(value)


def _n_merged_cells(sheet_xml: bytes) -> int:
    """Count the cells of the merged ranges of a sheet's XML."""
    from openpyxl.utils import range_boundaries

    n_cells = 0
    for reference in _MERGED.findall(sheet_xml):
        try:
            first_col, first_row, last_col, last_row = range_boundaries(reference.decode())
            n_cells += (last_col - first_col + 1) * (last_row - first_row + 1)
        except (ValueError, TypeError):
            # no range of cells; openpyxl says what is wrong with it
            continue
    return n_cells


def _chosen_sheet(file: Path, book: Any, options: TableOptions) -> Any:
    """Return the sheet to read."""
    names = [sheet.title for sheet in book.worksheets]
    if options.sheet is None and len(names) > 1:
        raise InputFileError(
            f"{file} has several sheets ({quoted(names)})",
            hint=Message("choose one, as in ", Setting("sheet", names[0])),
            option="sheet",
            choices=names,
            path=file,
        )
    name = names[0] if options.sheet is None else options.sheet
    if name not in names:
        raise InputFileError(
            f"{file} has no sheet {name!r}",
            hint=f"it has {quoted(names)}",
            option="sheet",
            value=name,
            choices=names,
            path=file,
        )
    return book[name]


def _stored_value_or_none(location: str, cell: Any, options: TableOptions) -> object:
    """Return a cell's value; #N/A is a missing one, another error of the spreadsheet is an error here."""
    if cell.data_type == "e" and cell.value not in options.na:
        raise InputFileError(
            f"{location}, cell {cell.coordinate}: the spreadsheet's error {cell.value}",
            hint="mend it or empty the cell",
            value=cell.coordinate,
        )
    if isinstance(cell.value, int) and abs(cell.value) > sys.float_info.max:
        raise InputFileError(
            f"{location}, cell {cell.coordinate}: {BEYOND_FLOATS_TEXT}", value=cell.coordinate
        )
    return None if cell.data_type == "e" else cell.value


def _typed_column(values: Sequence[Any], options: TableOptions) -> pd.Series:
    """Return cells as numbers where all are, else as text; as they stand where one is a date."""
    present = [value for value in values if value is not None]
    if any(map(is_date_or_time, present)):
        return pd.Series(values, dtype=object)
    if present and all(isinstance(value, bool) for value in present):
        return pd.Series(values, dtype="boolean")
    if all(isinstance(value, Real) for value in present):
        # a sheet's numbers are doubles, also where its file shows more digits
        return pd.Series(values, dtype="float64")
    if any(isinstance(value, int | float) and abs(value) >= EXACT_FLOAT_LIMIT for value in present):
        # as names they are refused, and so must stay numbers
        return pd.Series(values, dtype=object)
    return pd.Series([_cell_text(value, options.decimal) for value in values], dtype=TEXT)


def _cell_text(value: Any, decimal: str) -> str | None:
    """Return a cell as text: a number with the decimal mark of the column's other cells, None where empty."""
    if value is None:
        return None
    if isinstance(value, float):
        return str(identifier_or_none_if_unusable(value)).replace(".", decimal)
    return str(value)


def _refuse_merged_and_unstored_cells(location: str, sheet: Any, rows: Sequence[Sequence[Any]]) -> None:
    """Raise where an empty cell is a formula without a stored value, or the rest of merged cells."""
    for merged in sheet.merged_cells.ranges:
        if merged.min_col <= len(rows[0]) and merged.min_row <= len(rows) + 1:
            raise InputFileError(
                f"{location}: cells {merged.coord} are merged",
                hint="unmerge them and fill each",
                value=merged.coord,
            )
    for row_number, row in enumerate(rows, start=2):
        for column_number, value in enumerate(row, start=1):
            if value is not None:
                continue
            cell = sheet.cell(row_number, column_number)
            if cell.data_type == "f":
                raise InputFileError(
                    f"{location}, cell {cell.coordinate}: the formula {str(cell.value)[:40]} has no stored "
                    "value",
                    hint="open and save the file in a spreadsheet program, or store values",
                    value=cell.coordinate,
                )
