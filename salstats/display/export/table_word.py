"""A table as a Word document: a real table that a journal's office can edit."""

import io
import zipfile
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from docx import Document
from docx.enum.section import WD_ORIENT
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Mm, Pt

from salstats.display.export.table_widths import INDENT, Paper, Plan, parts_of
from salstats.display.tables.rows import Cell, Row, Rows, placed

_FONT = "Arial"
#: Sizes of type in points: the table's where it fits, and the notes'.
_TABLE_PT, _NOTES_PT = 9, 8
#: A4 and its margins.
_PAGE_MM = (210.0, 297.0)
_MARGIN_MM = 20.0
#: Space at each side of a cell's text, in points.
_PAD = 4.0
#: Columns are a little wider than measured: a reader's Arial may be another.
_PAPER = Paper(
    ((_PAGE_MM[0] - 2 * _MARGIN_MM) * 72 / 25.4, (_PAGE_MM[1] - 2 * _MARGIN_MM) * 72 / 25.4),
    dict.fromkeys((9, 8, 7), _PAD),
    1.03,
)
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


def word_document(rows: Rows) -> bytes:
    """A table as a Word document: title, table or its parts, and notes, on a turned page if wide."""
    parts = parts_of(rows, _PAPER)
    plan = parts[0][1]
    document = Document()
    section = document.sections[0]
    section.orientation = WD_ORIENT.LANDSCAPE if plan.turned else WD_ORIENT.PORTRAIT
    section.page_width, section.page_height = map(Mm, _PAGE_MM[::-1] if plan.turned else _PAGE_MM)
    section.left_margin = section.right_margin = section.top_margin = section.bottom_margin = Mm(_MARGIN_MM)
    style = document.styles["Normal"]
    style.font.name, style.font.size = _FONT, Pt(_TABLE_PT)
    style.element.rPr.rFonts.set(qn("w:eastAsia"), _FONT)
    about = document.core_properties
    about.title = rows.title[:255]
    # nothing personal, and no time
    about.author = about.last_modified_by = about.comments = about.keywords = ""
    about.created = about.modified = _NO_TIME
    body = document.element.body
    for element in list(body)[:-1]:
        body.remove(element)
    blocks = [
        *([_paragraph(rows.title, _TABLE_PT, after=4, keep="keepNext", bold=True)] if rows.title else []),
        *([_paragraph(rows.subtitle, _TABLE_PT, after=4, keep="keepNext")] if rows.subtitle else []),
        *(block for part, own in parts for block in (_table(part, own, rows.title), _GAP)),
        *(_paragraph(note, _NOTES_PT, after=2, keep="keepLines") for note in rows.notes),
    ]
    for block in blocks:
        body.insert(len(body) - 1, parse_xml(block))
    return _packed(document)


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


def _table(rows: Rows, plan: Plan, title: str) -> str:
    """The table itself; its headings are repeated on every page."""
    widths = [_twips(plan, column) for column in range(len(plan.widths))]
    grid = "".join(f'<w:gridCol w:w="{width}"/>' for width in widths)
    caption = f"<w:tblCaption w:val={quoteattr(title[:255])}/>" if title else ""
    last = len(rows.head) - 1
    head = [
        _row(
            Row(cells),
            plan,
            top=0 if level else _HEAVY,
            bottom=(_LIGHT if rows.body else _HEAVY) if level == last else 0,
            keep=True,
            heads="columns" if level == last else "spans",
        )
        for level, cells in enumerate(rows.head)
    ]
    body = [
        _row(
            row,
            plan,
            top=_LIGHT if row.apart else 0,
            bottom=_HEAVY if index == len(rows.body) - 1 else 0,
            keep=row.is_group or len(rows.body) <= _ROWS_KEPT,
            space=_GROUP_SPACE if row.is_group and index else _SPACE,
        )
        for index, row in enumerate(rows.body)
    ]
    return (
        f"<w:tbl {nsdecls('w')}><w:tblPr>"
        f'<w:tblW w:w="{sum(widths)}" w:type="dxa"/><w:jc w:val="left"/><w:tblLayout w:type="fixed"/>'
        f'<w:tblCellMar><w:left w:w="{round(20 * _PAD)}" w:type="dxa"/>'
        f'<w:right w:w="{round(20 * _PAD)}" w:type="dxa"/></w:tblCellMar>{caption}'
        f"</w:tblPr><w:tblGrid>{grid}</w:tblGrid>{''.join(head + body)}</w:tbl>"
    )


def _twips(plan: Plan, column: int, n_columns: int = 1) -> int:
    """The width of columns side by side with the space at their sides, in twentieths of a point."""
    return sum(int(20 * (plan.room(j) + 2 * _PAD)) for j in range(column, column + n_columns))


def _row(
    row: Row, plan: Plan, *, top: int, bottom: int, keep: bool, space: int = _SPACE, heads: str = ""
) -> str:
    """A row, which is never broken over two pages: its rules, and whether it stays with the next one.

    `heads` says of rows of headings whether they are of "columns" or "spans" of them.
    """
    rules = "".join(_rule(side, size) for side, size in (("top", top), ("bottom", bottom)) if size)
    cells = []
    for column, cell in placed(row.cells):
        properties = (
            f'<w:tcW w:w="{_twips(plan, column, cell.columns)}" w:type="dxa"/>',
            f'<w:gridSpan w:val="{cell.columns}"/>' if cell.columns > 1 else "",
            '<w:vMerge w:val="restart"/>' if cell.rows > 1 else "" if cell.rows else "<w:vMerge/>",
            f"<w:tcBorders>{rules}</w:tcBorders>" if rules else "",
            f'<w:vAlign w:val="{"bottom" if heads else "top"}"/>',
        )
        # the rule below a heading belongs to its paragraph, so that neighbours' rules do not touch
        about = (
            "<w:keepNext/>" if keep else "",
            f"<w:pBdr>{_rule('bottom', _LIGHT)}</w:pBdr>" if heads == "spans" and cell.text else "",
            f'<w:spacing w:before="{space}" w:after="{_SPACE}"/>',
            f'<w:ind w:left="{round(20 * plan.points * INDENT)}"/>' if cell.indent else "",
            f'<w:jc w:val="{cell.align}"/>',
        )
        text = _text(cell, plan) if cell.rows else ""
        paragraph = f"<w:p><w:pPr>{''.join(about)}</w:pPr>{text}</w:p>"
        cells.append(f"<w:tc><w:tcPr>{''.join(properties)}</w:tcPr>{paragraph}</w:tc>")
    repeats = "<w:tblHeader/>" if heads else ""
    return f"<w:tr><w:trPr><w:cantSplit/>{repeats}</w:trPr>{''.join(cells)}</w:tr>"


def _text(cell: Cell, plan: Plan) -> str:
    """The lines of a cell with its marks, its number moved to where the decimal points stand."""
    pad = _run([_FIGURE_SPACE * len(cell.pad)], plan.points) if cell.pad else ""
    return pad + _run(plan.lines(cell), plan.points, bold=cell.bold, underline=cell.underline)


def _rule(side: str, size: int) -> str:
    """A rule at one side of a cell or paragraph."""
    return f'<w:{side} w:val="single" w:sz="{size}" w:space="1" w:color="000000"/>'


def _packed(document: Any) -> bytes:
    """A document as the bytes of its file, without the time at which it was made."""
    made, again = io.BytesIO(), io.BytesIO()
    document.save(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name), old.read(name), zipfile.ZIP_DEFLATED)
    return again.getvalue()
