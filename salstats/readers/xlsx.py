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
    check_header_names_are_distinct_and_filled,
    identifier_or_none_if_date_or_huge,
    is_date_or_time,
)

#: Bytes of memory for each byte of XML.
_MEMORY_PER_XML_BYTE = 16
#: Unpacking enlarges XML by more than this factor, and a picture by less.
_MIN_XML_PACKING_RATIO = 1.5
#: Largest number of bytes of memory for a character of text while its column is made.
_MEMORY_PER_CHARACTER = 8
#: Beginning of the XML of a formula or of merged cells; where there are some, an empty cell may not be empty.
_FORMULA_OR_MERGED_XML = re.compile(rb"<(?:\w+:)?(?:f|mergeCell)[ />]")
#: XML of a merged range, and its reference, such as A1:B2.
_MERGED_RANGE_XML = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?ref=["']([^"']*)["']""")


def read_xlsx_sheet_with_typed_columns(file: Path, data: bytes, options: TableOptions) -> pd.DataFrame:
    """Read one sheet of a workbook as columns of numbers, Booleans or text.

    A formula counts as the value stored with it.
    """
    try:
        with warnings.catch_warnings():
            # openpyxl warns of styles and validations that it leaves out, which are not needed
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
    """List the names of a workbook's sheets; raise where it cannot be opened."""
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
    """Raise where the XML files in a workbook's archive need more than the memory limit."""
    unpacked_bytes = 0
    memory_bytes = 0
    for member in archive.infolist():
        unpacked_bytes += member.file_size
        # every file counts as XML, except for one that has the folder and the small packing of a picture
        is_packed_like_xml = member.file_size > _MIN_XML_PACKING_RATIO * member.compress_size
        if is_packed_like_xml or not member.filename.startswith("xl/media/"):
            memory_bytes += member.file_size * _MEMORY_PER_XML_BYTE
    # a few bytes can unpack to any number of bytes
    content = f"{file}: its {unpacked_bytes / (1 << 20):.0f} MB of unpacked XML"
    check_size(memory_bytes, content, file_bytes)


def _read_header_and_rows(
    file: Path, data: bytes, options: TableOptions
) -> tuple[list[str], list[list[Any]]]:
    """Read the header of the chosen sheet, and the rows below it with None in empty cells."""
    with needed_for("an XLSX workbook"):
        from openpyxl import load_workbook

    with ZipFile(BytesIO(data)) as archive:
        _check_unpacked_size(file, archive, len(data))
        sheets = [archive.read(name) for name in archive.namelist() if name.startswith("xl/worksheets/")]
        has_formulas_or_merged_cells = any(_FORMULA_OR_MERGED_XML.search(sheet) for sheet in sheets)
        # openpyxl makes every cell of a merged range, however large, from its short reference
        n_merged = sum(_n_cells_in_merged_ranges(sheet) for sheet in sheets)
        check_size(n_merged * BYTES_PER_SHEET_CELL, f"{file}: its {n_merged} merged cells", len(data))
        del sheets
    sheet = _named_or_only_sheet(file, load_workbook(BytesIO(data), read_only=True, data_only=True), options)
    # some programs write a wrong extent of the sheet, which openpyxl would believe
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
    check_header_names_are_distinct_and_filled(file, header)
    rows: list[list[Any]] = []
    n_blank = 0
    n_cells = 0
    n_characters = 0
    for number, cells in enumerate(sheet_rows, start=2):
        # openpyxl also makes the empty cells before the last one of a row, and the empty rows
        n_cells += len(cells) + 1
        # any number of cells can share a text that the file holds once
        n_characters += sum(len(cell.value) for cell in cells if isinstance(cell.value, str))
        size = n_cells * BYTES_PER_SHEET_CELL + n_characters * _MEMORY_PER_CHARACTER
        check_size(size, f"{location}: its {n_cells} cells down to row {number}", len(data))
        if all(cell.value is None for cell in cells):
            n_blank += 1
            continue
        if n_blank:
            first_blank = number - n_blank
            raise InputFileError(
                f"{location}, row {first_blank}: an empty row with data below it",
                # counted from 0 below the header, which is row 1
                rows=[first_blank - 2],
                path=file,
            )
        extra = [cell for cell in cells[len(header) :] if cell.value is not None]
        if extra:
            raise InputFileError(
                f"{location}, cell {extra[0].coordinate}: more cells than the header has",
                value=extra[0].coordinate,
                path=file,
            )
        values = [_spreadsheet_value_or_none_if_na(location, cell, options) for cell in cells[: len(header)]]
        rows.append(values + [None] * (len(header) - len(values)))
    if has_formulas_or_merged_cells and any(None in row for row in rows):
        _refuse_merged_and_unstored_cells(location, load_workbook(BytesIO(data))[sheet.title], rows)
    return header, rows


def _header_name(value: Any) -> str:
    """Return a cell of the header as text, "" where it is empty."""
    return "" if value is None else str(value)


def _n_cells_in_merged_ranges(sheet_xml: bytes) -> int:
    """Count the cells in the merged ranges of a sheet's XML."""
    from openpyxl.utils import range_boundaries

    n_cells = 0
    for reference in _MERGED_RANGE_XML.findall(sheet_xml):
        try:
            first_col, first_row, last_col, last_row = range_boundaries(reference.decode())
            n_cells += (last_col - first_col + 1) * (last_row - first_row + 1)
        except (ValueError, TypeError):
            # not a range of cells; openpyxl will raise an error for it
            continue
    return n_cells


def _named_or_only_sheet(file: Path, book: Any, options: TableOptions) -> Any:
    """Return the sheet of the option, or the only one; raise where there are several or no such sheet."""
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


def _spreadsheet_value_or_none_if_na(location: str, cell: Any, options: TableOptions) -> object:
    """Return the value of a spreadsheet's cell, None for its errors in `options.na`; raise for others."""
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
    """Return cells as numbers or bool where all are, else as text.

    Cells stay as they are where one is a date, or a number too large to be exact among text.
    """
    present = [value for value in values if value is not None]
    if any(map(is_date_or_time, present)):
        return pd.Series(values, dtype=object)
    if present and all(isinstance(value, bool) for value in present):
        return pd.Series(values, dtype="boolean")
    if all(isinstance(value, Real) for value in present):
        # a spreadsheet's numbers are doubles, even if its file shows more digits
        return pd.Series(values, dtype="float64")
    if any(isinstance(value, int | float) and abs(value) >= EXACT_FLOAT_LIMIT for value in present):
        # they stay numbers, as a name read from such a number is an error
        return pd.Series(values, dtype=object)
    return pd.Series([_cell_text(value, options.decimal) for value in values], dtype=TEXT)


def _cell_text(value: Any, decimal: str) -> str | None:
    """Return a cell as text: a number with the decimal mark of the column's other cells, None where empty."""
    if value is None:
        return None
    if isinstance(value, float):
        # `_typed_column` keeps numbers without an exact text apart, so this one has a text
        text = identifier_or_none_if_date_or_huge(value)
        return str(text).replace(".", decimal)
    return str(value)


def _refuse_merged_and_unstored_cells(location: str, sheet: Any, rows: Sequence[Sequence[Any]]) -> None:
    """Raise where an empty cell has a formula without a stored value, or cells are merged."""
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
