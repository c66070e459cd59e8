"""Workbooks of one sheet as bytes: in memory, so that a full disk meets one writing, and without a date."""

import datetime as dt
import io
import re
import zipfile
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

#: Rows and characters of a cell that a sheet holds; whole numbers that are exact in it, as in doubles.
_MOST_ROWS, _LONGEST, _EXACT = 1_048_576, 32_767, 1 << 53
#: What XML does not hold.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    """A workbook of one sheet: numbers exact, text as text, also where it begins with '='.

    A whole number that a double does not hold is text, and so are infinity and dates (in ISO form). The same
    rows are the same bytes. ValueError where there are more rows than a sheet holds, or a value is none of a
    cell.
    """
    if len(rows) > _MOST_ROWS:
        raise ValueError(f"a sheet holds no {len(rows) - 1} rows and a header; write .csv or .parquet")
    sheet = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
    types = "".join(
        f'<Override PartName="/xl/{place}" ContentType="{_KIND}.{name}+xml"/>'
        for name, place in (("sheet.main", "workbook.xml"), ("worksheet", "worksheets/sheet1.xml"))
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="r0"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r0" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in parts.items():
            # of 1980, as a ZipInfo is by itself
            archive.writestr(zipfile.ZipInfo(name), _HEAD + text, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def _cell(value: Any) -> str:
    """A cell; one without a value is empty, so that its neighbours stay where they are."""
    if value is None:
        return "<c/>"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return f'<c t="b"><v>{value:d}</v></c>'
    if isinstance(value, int | float):
        if np.isfinite(value) if isinstance(value, float) else abs(value) < _EXACT:
            return f"<c><v>{value!r}</v></c>"
        value = repr(value)
    if isinstance(value, dt.datetime) and value.time() == dt.time() and value.tzinfo is None:
        # as CSV has it
        value = value.date()
    if isinstance(value, dt.date | dt.time):
        value = value.isoformat()
    if isinstance(value, dt.timedelta):
        value = str(value)
    if isinstance(value, str):
        if _ILLEGAL.search(value) or len(value) > _LONGEST:
            raise ValueError(f"{value[:60]!r} holds a character that a workbook cannot, or too many")
        text = escape(value, {"\r": "&#13;"})
        return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
    raise ValueError(f"{value!r} is no value of a workbook's cell")
