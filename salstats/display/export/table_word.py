"""A table as a Word document: a real table that a journal's office can edit."""

import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from docx import Document
from docx.enum.section import WD_ORIENT
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Mm, Pt

from salstats.display.export.table_rows import Cell, Rows, placed
from salstats.display.export.table_widths import (
    INDENT,
    Breaks,
    Column,
    Setting,
    columns_of,
    first_fit,
    number_lines,
)

_FONT = "Arial"
#: Sizes of type in points: the table's and the notes'.
_TABLE_PT, _NOTES_PT = 9.0, 8.0
#: A4, its margins and the lines that they leave, in millimetres and points.
_PAGE_MM = (210.0, 297.0)
_MARGIN_MM = 20.0
_LINE, _TURNED_LINE = ((side - 2 * _MARGIN_MM) * 72 / 25.4 for side in _PAGE_MM)
#: A table of more columns than this is turned.
_UPRIGHT_COLUMNS = 7
#: Space at each side of a cell's text, in points.
_PAD = 4.0
#: Columns are a little wider than measured: a reader's Arial may be another.
_WIDER = 1.03
#: What to try: line, size of type, what may be broken.
_TRIES: list[tuple[float, float, Breaks]] = [
    (_LINE, 9.0, "text"),
    (_LINE, 8.0, "text"),
    (_LINE, 7.0, "text"),
    (_TURNED_LINE, 9.0, "text"),
    (_TURNED_LINE, 8.0, "text"),
    (_TURNED_LINE, 7.0, "text"),
    (_TURNED_LINE, 8.0, "numbers"),
    (_TURNED_LINE, 7.0, "numbers"),
    (_TURNED_LINE, 7.0, "limits"),
]
_SETTINGS = [
    Setting(line, points * _WIDER, _PAD, breaks, line == _TURNED_LINE) for line, points, breaks in _TRIES
]
#: Tables of at most this many rows are kept on one page with their notes.
_ROWS_KEPT = 30
#: Rules of a table in eighths of a point: above and below it, and inside.
_HEAVY, _LIGHT = 8, 4
#: Space above and below a cell's text, and above the label of a group, in twentieths of a point.
_SPACE, _GROUP_SPACE = 20, 100
#: As wide as a digit.
_FIGURE_SPACE = "\u2007"
#: A paragraph of four points: Word wants one after a table.
_GAP = (
    f"<w:p {nsdecls('w')}><w:pPr><w:keepNext/>"
    '<w:spacing w:before="0" w:after="0" w:line="80" w:lineRule="exact"/></w:pPr></w:p>'
)
#: Written into every document in place of the time, so that the same table gives the same file.
_NO_TIME = datetime(2000, 1, 1)


@dataclass(frozen=True)
class _Plan:
    """How a table is set: its columns, and their widths in ems and in twentieths of a point."""

    columns: Sequence[Column]
    ems: Sequence[float]
    setting: Setting

    @property
    def widths(self) -> list[int]:
        """Widths of the columns with the space at their sides."""
        return [int(20 * (width * self.setting.points + 2 * _PAD)) for width in self.ems]

    @property
    def points(self) -> float:
        """Size of type."""
        return self.setting.points / _WIDER


@dataclass(frozen=True)
class _Look:
    """How a row looks: its rules, the space above its text, whether it stays with the next row.

    `heads` is for rows of headings, `spans` for those over several columns.
    """

    top: int = 0
    bottom: int = 0
    keep: bool = False
    space: int = _SPACE
    heads: bool = False
    spans: bool = False


def word_document(rows: Rows) -> bytes:
    """A table as a Word document: title, table and notes, on a turned page where it is wide."""
    columns = columns_of(rows)
    settings = [s for s in _SETTINGS if s.turned or len(columns) <= _UPRIGHT_COLUMNS]
    setting, ems = first_fit(columns, settings)
    document = Document()
    _set_page(document, setting.turned)
    _set_text(document, rows.title)
    body = document.element.body
    for element in list(body):
        if element.tag != qn("w:sectPr"):
            body.remove(element)
    blocks = [
        *([_paragraph(rows.title, _TABLE_PT, after=4, keep="keepNext", bold=True)] if rows.title else []),
        *([_paragraph(rows.subtitle, _TABLE_PT, after=4, keep="keepNext")] if rows.subtitle else []),
        _table(rows, _Plan(columns, ems, setting)),
        _GAP,
        *(_paragraph(note, _NOTES_PT, after=2, keep="keepLines") for note in rows.notes),
    ]
    for block in blocks:
        body.insert(len(body) - 1, parse_xml(block))
    return _packed(document)


def _set_page(document: Any, turned: bool) -> None:
    """Set page size and margins."""
    section = document.sections[0]
    short, long = map(Mm, _PAGE_MM)
    section.orientation = WD_ORIENT.LANDSCAPE if turned else WD_ORIENT.PORTRAIT
    section.page_width, section.page_height = (long, short) if turned else (short, long)
    section.left_margin = section.right_margin = Mm(_MARGIN_MM)
    section.top_margin = section.bottom_margin = Mm(_MARGIN_MM)


def _set_text(document: Any, title: str) -> None:
    """Set the font, and what the document says of itself: its title and nothing personal."""
    style = document.styles["Normal"]
    style.font.name, style.font.size = _FONT, Pt(_TABLE_PT)
    style.element.rPr.rFonts.set(qn("w:eastAsia"), _FONT)
    properties = document.core_properties
    properties.title = title[:255]
    properties.author = properties.last_modified_by = properties.comments = properties.keywords = ""
    properties.created = properties.modified = _NO_TIME


def _paragraph(text: str, points: float, *, after: int, keep: str, bold: bool = False) -> str:
    """A paragraph outside the table, with space after it and what it is kept together with."""
    space = f'<w:spacing w:before="0" w:after="{20 * after}"/>'
    run = _run([text], points, bold=bold)
    return f"<w:p {nsdecls('w')}><w:pPr><w:{keep}/>{space}</w:pPr>{run}</w:p>"


def _run(lines: Sequence[str], points: float, *, bold: bool = False, underline: bool = False) -> str:
    """Lines of text in one style."""
    styles = "<w:b/>" if bold else ""
    styles += f'<w:sz w:val="{round(2 * points)}"/>'
    styles += '<w:u w:val="single"/>' if underline else ""
    parts = (f'<w:t xml:space="preserve">{escape(line)}</w:t>' for line in lines)
    return f"<w:r><w:rPr>{styles}</w:rPr>{'<w:br/>'.join(parts)}</w:r>"


def _table(rows: Rows, plan: _Plan) -> str:
    """The table itself."""
    grid = "".join(f'<w:gridCol w:w="{width}"/>' for width in plan.widths)
    caption = f"<w:tblCaption w:val={quoteattr(rows.title[:255])}/>" if rows.title else ""
    return (
        f"<w:tbl {nsdecls('w')}><w:tblPr>"
        f'<w:tblW w:w="{sum(plan.widths)}" w:type="dxa"/><w:jc w:val="left"/>'
        '<w:tblLayout w:type="fixed"/>'
        f'<w:tblCellMar><w:left w:w="{round(20 * _PAD)}" w:type="dxa"/>'
        f'<w:right w:w="{round(20 * _PAD)}" w:type="dxa"/></w:tblCellMar>{caption}'
        f"</w:tblPr><w:tblGrid>{grid}</w:tblGrid>{''.join(_head(rows, plan))}{''.join(_body(rows, plan))}"
        "</w:tbl>"
    )


def _head(rows: Rows, plan: _Plan) -> Iterator[str]:
    """The rows of headings, which are repeated on every page."""
    for level, cells in enumerate(rows.head):
        last = level == len(rows.head) - 1
        below = (_LIGHT if rows.body else _HEAVY) if last else 0
        yield _row(cells, plan, _Look(0 if level else _HEAVY, below, keep=True, heads=True, spans=not last))


def _body(rows: Rows, plan: _Plan) -> Iterator[str]:
    """The rows of the body: a rule above rows set apart, space above a group."""
    for index, row in enumerate(rows.body):
        look = _Look(
            top=_LIGHT if row.apart else 0,
            bottom=_HEAVY if index == len(rows.body) - 1 else 0,
            keep=row.is_group or len(rows.body) <= _ROWS_KEPT,
            space=_GROUP_SPACE if row.is_group and index else _SPACE,
        )
        yield _row(row.cells, plan, look)


def _row(cells: Sequence[Cell], plan: _Plan, look: _Look) -> str:
    """A row, which is never broken over two pages."""
    repeats = "<w:tblHeader/>" if look.heads else ""
    shown = "".join(_cell(cell, column, plan, look) for column, cell in placed(cells))
    return f"<w:tr><w:trPr><w:cantSplit/>{repeats}</w:trPr>{shown}</w:tr>"


def _cell(cell: Cell, column: int, plan: _Plan, look: _Look) -> str:
    """One cell."""
    width = sum(plan.widths[column : column + cell.columns])
    rules = "".join(_rule(side, size) for side, size in (("top", look.top), ("bottom", look.bottom)) if size)
    properties = (
        f'<w:tcW w:w="{width}" w:type="dxa"/>',
        f'<w:gridSpan w:val="{cell.columns}"/>' if cell.columns > 1 else "",
        '<w:vMerge w:val="restart"/>' if cell.rows > 1 else "" if cell.rows else "<w:vMerge/>",
        f"<w:tcBorders>{rules}</w:tcBorders>" if rules else "",
        f'<w:vAlign w:val="{"bottom" if look.heads else "top"}"/>',
    )
    # the rule below a heading belongs to its paragraph, so that neighbours' rules do not touch
    about = (
        "<w:keepNext/>" if look.keep else "",
        f"<w:pBdr>{_rule('bottom', _LIGHT)}</w:pBdr>" if look.spans and cell.text else "",
        f'<w:spacing w:before="{look.space}" w:after="{_SPACE}"/>',
        f'<w:ind w:left="{round(20 * plan.points * INDENT)}"/>' if cell.indent else "",
        f'<w:jc w:val="{cell.align}"/>',
    )
    lines = () if look.heads else number_lines(cell.text, plan.columns[column], plan.ems[column])
    text = _marked(cell, lines or (cell.text,), plan.points) if cell.rows else ""
    paragraph = f"<w:p><w:pPr>{''.join(about)}</w:pPr>{text}</w:p>"
    return f"<w:tc><w:tcPr>{''.join(properties)}</w:tcPr>{paragraph}</w:tc>"


def _marked(cell: Cell, lines: Sequence[str], points: float) -> str:
    """The lines of a cell with its marks, its number moved to where the decimal points stand."""
    pad = _run([_FIGURE_SPACE * len(cell.pad)], points) if cell.pad else ""
    return pad + _run(lines, points, bold=cell.bold, underline=cell.underline)


def _rule(side: str, size: int) -> str:
    """A rule at one side of a cell or paragraph."""
    return f'<w:{side} w:val="single" w:sz="{size}" w:space="1" w:color="000000"/>'


def _packed(document: Any) -> bytes:
    """A document as the bytes of its file, without the time at which it was made."""
    made, again = io.BytesIO(), io.BytesIO()
    document.save(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, old.read(name))
    return again.getvalue()
