"""Workbooks of one sheet as bytes, made in memory and without a date: equal rows give equal bytes."""

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

#: Largest number of rows of a sheet.
_MAX_ROWS = 1_048_576
#: Largest number of characters of a cell.
_MAX_CHARACTERS = 32_767
#: Whole numbers below this are exact in a sheet, whose numbers are doubles.
_EXACT_NUMBER_LIMIT = 1 << 53
#: Characters that XML cannot hold.
_ILLEGAL_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
#: First line of an XML file, namespaces of its elements, and the beginning of content types.
_XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN_NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE_NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE_NAMESPACE = "http://schemas.openxmlformats.org/package/2006"
_CONTENT_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    """Return the bytes of a workbook of one sheet; text stays text, also where it begins with "=".

    A whole number that a double cannot hold exactly becomes text, and so do infinity and dates (in ISO form).
    Equal rows give equal bytes. Raise where there are more rows than a sheet holds, or a value cannot be a
    cell.
    """
    if len(rows) > _MAX_ROWS:
        raise SalstatsError(
            f"a sheet cannot hold {len(rows) - 1} rows and a header; write .csv or .parquet",
            value=len(rows) - 1,
        )
    sheet = "".join(f"<row>{''.join(map(_cell_xml, row))}</row>" for row in rows)
    content_types = (
        f'<Override PartName="/xl/workbook.xml" ContentType="{_CONTENT_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_CONTENT_TYPE}.worksheet+xml"/>'
    )
    # the files of an Office Open XML workbook (ECMA-376), by their names in the archive
    xml_files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE_NAMESPACE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{content_types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE_NAMESPACE}/relationships">'
        f'<Relationship Id="r" Type="{_OFFICE_NAMESPACE}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN_NAMESPACE}" xmlns:r="{_OFFICE_NAMESPACE}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="r0"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE_NAMESPACE}/relationships">'
        f'<Relationship Id="r0" Type="{_OFFICE_NAMESPACE}/worksheet" Target="worksheets/sheet1.xml"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN_NAMESPACE}"><sheetData>{sheet}</sheetData>'
        "</worksheet>",
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in xml_files.items():
            # a ZipInfo without a date has a constant one, in 1980
            archive.writestr(zipfile.ZipInfo(name), _XML_DECLARATION + text, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _cell_xml(value: Any) -> str:
    """Return the XML of a cell; None gives an empty cell, so that later cells stay in their columns."""
    if value is None:
        return "<c/>"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return f'<c t="b"><v>{value:d}</v></c>'
    if _is_held_exactly_as_double(value):
        return f"<c><v>{value!r}</v></c>"
    text = _nonempty_cell_text(value)
    if _ILLEGAL_IN_XML.search(text) or len(text) > _MAX_CHARACTERS:
        raise SalstatsError(
            f"{text[:60]!r} holds too many characters for a workbook, or one that it cannot hold",
            value=value,
        )
    escaped = escape(text, {"\r": "&#13;"})
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escaped}</t></is></c>'


def _is_held_exactly_as_double(value: Any) -> bool:
    """Return whether a value is a number that a sheet, whose numbers are doubles, holds exactly."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) < _EXACT_NUMBER_LIMIT


def _nonempty_cell_text(value: Any) -> str:
    """Return a value as text, dates and times in ISO form; raise where it cannot be a cell."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dt.datetime) and value.time() == dt.time() and value.tzinfo is None:
        # without the time, as pandas writes such dates to CSV
        return value.date().isoformat()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return str(value)
    raise SalstatsError(f"{value!r} cannot be the value of a workbook's cell", value=value)
