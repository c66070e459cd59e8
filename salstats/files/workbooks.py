"""Workbooks of one sheet as bytes: in memory, so that a full disk meets one writing, and without a date."""

import datetime as dt
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

#: Rows and characters of a cell that a sheet holds; whole numbers that are exact in it, as in doubles.
_MOST_ROWS, _LONGEST, _EXACT = 1_048_576, 32_767, 1 << 53
#: What XML does not hold.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
#: How dates and times are shown, by style, from 1; an instant is a day as well, and so stands first.
_SHOWN = {
    dt.datetime: "yyyy-mm-dd h:mm:ss",
    dt.date: "yyyy-mm-dd",
    dt.time: "h:mm:ss",
    dt.timedelta: "[hh]:mm:ss",
}
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
#: Name, place and kind of the parts that a workbook is made of beside what leads to it.
_PARTS = (("worksheet", "worksheets/sheet1.xml"), ("styles", "styles.xml"))


def workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    """A workbook of one sheet: numbers exact, text as text, also where it begins with '='.

    A whole number that a double does not hold is text, and so is infinity. The same rows are the same bytes.
    ValueError where there are more rows than a sheet holds, or a value is none of a cell.
    """
    if len(rows) > _MOST_ROWS:
        raise ValueError(f"a sheet holds no {len(rows) - 1} rows and a header; write .csv or .parquet")
    letters = [_letters(place) for place in range(len(rows[0]))]
    sheet = "".join(_row(number, row, letters) for number, row in enumerate(rows, start=1))
    types = "".join(
        f'<Override PartName="/xl/{place}" ContentType="{_KIND}.{name}+xml"/>'
        for name, place in (("sheet.main", "workbook.xml"), *_PARTS)
    )
    links = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/{name}" Target="{place}"/>'
        for number, (name, place) in enumerate(_PARTS)
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="r0"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{links}'
        "</Relationships>",
        "xl/styles.xml": _styles(),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in parts.items():
            # of 1980, as a ZipInfo is by itself
            archive.writestr(zipfile.ZipInfo(name), _HEAD + text, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def _row(number: int, row: Iterable[Any], letters: Sequence[str]) -> str:
    """A row of cells; None has none."""
    cells = (
        f'<c r="{letter}{number}"{_cell(value)}</c>'
        for letter, value in zip(letters, row, strict=True)
        if value is not None
    )
    return f'<row r="{number}">{"".join(cells)}</row>'


def _cell(value: Any) -> str:
    """What stands in a cell behind its place."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return f' t="b"><v>{value:d}</v>'
    if isinstance(value, int | float):
        if np.isfinite(value) if isinstance(value, float) else abs(value) < _EXACT:
            return f"><v>{value!r}</v>"
        value = repr(value)
    if isinstance(value, str):
        if _ILLEGAL.search(value) or len(value) > _LONGEST:
            raise ValueError(f"{value[:60]!r} holds a character that a workbook cannot, or too many")
        return f' t="inlineStr"><is><t xml:space="preserve">{escape(value, {chr(13): "&#13;"})}</t></is>'
    for style, kind in enumerate(_SHOWN, start=1):
        if isinstance(value, kind):
            # imported late: few tables have dates
            from openpyxl.utils.datetime import to_excel

            return f' s="{style}"><v>{to_excel(value)!r}</v>'
    raise ValueError(f"{value!r} is no value of a workbook's cell")


def _styles() -> str:
    """The styles of dates and times, behind the one that everything else has."""
    formats = "".join(
        f'<numFmt numFmtId="{163 + style}" formatCode={quoteattr(shown)}/>'
        for style, shown in enumerate(_SHOWN.values(), start=1)
    )
    numbers = (0, *range(164, 164 + len(_SHOWN)))
    used = "".join(f'<xf numFmtId="{n}" xfId="0" applyNumberFormat="1"/>' for n in numbers)
    return (
        f'<styleSheet xmlns="{_MAIN}"><numFmts count="{len(_SHOWN)}">{formats}</numFmts>'
        '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
        f'<cellXfs count="{1 + len(_SHOWN)}">{used}</cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
    )


def _letters(place: int) -> str:
    """What a column is called: A ... Z, AA ...

    >>> [_letters(place) for place in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    text = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(65 + rest) + text
    return text
