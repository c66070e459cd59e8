"""Workbooks of one sheet as bytes, made in memory and without a date: the same rows are the same bytes."""

import datetime as dt
import io
import math
import re
import zipfile
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from salstats.errors import SalstatsError

#: Rows that a sheet holds.
_MAX_ROWS = 1_048_576
#: Characters that a cell holds.
_MAX_CHARACTERS = 32_767
#: Whole numbers below this are exact in a sheet, whose numbers are doubles.
_EXACT = 1 << 53
#: Characters that XML does not hold.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
#: First line of an XML file, namespaces of its elements, and the beginning of content types.
_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_CONTENT_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    """Make a workbook of one sheet: numbers exact, text as text, also where it begins with '='.

    A whole number that a double does not hold is text, and so are infinity and dates (in ISO form). The same
    rows are the same bytes. SalstatsError where there are more rows than a sheet holds, or a value is none
    of a cell.
    """
    if len(rows) > _MAX_ROWS:
        raise SalstatsError(
            f"a sheet holds no {len(rows) - 1} rows and a header; write .csv or .parquet",
            value=len(rows) - 1,
        )
    sheet = "".join(f"<row>{''.join(map(_cell_xml, row))}</row>" for row in rows)
    content_types = (
        f'<Override PartName="/xl/workbook.xml" ContentType="{_CONTENT_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_CONTENT_TYPE}.worksheet+xml"/>'
    )
    # the files of an Office Open XML workbook (ECMA-376), by their names in the archive
    xml_files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{content_types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="r0"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r0" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in xml_files.items():
            # a ZipInfo without a date is of 1980
            archive.writestr(zipfile.ZipInfo(name), _DECLARATION + text, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _cell_xml(value: Any) -> str:
    """Write a cell; one without a value is empty, so that the cells after it stay in their columns."""
    if value is None:
        return "<c/>"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return f'<c t="b"><v>{value:d}</v></c>'
    if _is_exact_number(value):
        return f"<c><v>{value!r}</v></c>"
    text = _cell_text(value)
    if _ILLEGAL.search(text) or len(text) > _MAX_CHARACTERS:
        raise SalstatsError(
            f"{text[:60]!r} holds a character that a workbook cannot, or too many", value=value
        )
    escaped = escape(text, {"\r": "&#13;"})
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escaped}</t></is></c>'


def _is_exact_number(value: Any) -> bool:
    """Return whether a value is a number that a sheet, whose numbers are doubles, holds exactly."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) < _EXACT


def _cell_text(value: Any) -> str:
    """Return a value that is no exact number as text: dates and times in ISO form."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dt.datetime) and value.time() == dt.time() and value.tzinfo is None:
        # without the time, as CSV has it
        return value.date().isoformat()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return str(value)
    raise SalstatsError(f"{value!r} is no value of a workbook's cell", value=value)
