"""A table as a Word document: a real table that a journal's office can edit."""

import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from docx import Document
from docx.enum.section import WD_ORIENT
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Mm, Pt

from salstats.display.export.table_grid import Grid, Run, Runs, Slot, head_rows, layout, one_line, set_apart
from salstats.display.export.table_widths import (
    INDENT,
    Breaks,
    Column,
    Setting,
    breaks_in,
    columns_of,
    first_fit,
    wrapped,
)

_FONT = "Arial"
#: Sizes of type in points: the table's, the notes', and what to try where columns need more room.
_TABLE_PT, _NOTES_PT = 9.0, 8.0
_SIZES = (9.0, 8.0, 7.0)
#: A4 and its margins in millimetres.
_PAGE_MM = (210.0, 297.0)
_MARGIN_MM = 20.0
_PT_PER_MM = 72 / 25.4
#: A table of more columns than this is turned.
_UPRIGHT_COLUMNS = 7
#: Space at each side of a cell's text, in points.
_PAD = 4.0
#: Columns are a little wider than measured: a reader's Arial may be another.
_WIDER = 1.03
#: Tables of at most this many rows are kept on one page with their notes.
_ROWS_KEPT = 30
#: Rules of a table in eighths of a point: above and below it, and inside.
_HEAVY, _LIGHT = 8, 4
#: Space above and below a cell's text, and above the label of a group, in twentieths of a point.
_SPACE, _GROUP_SPACE = 20, 100
#: A paragraph of four points: Word wants one after a table.
_GAP = (
    f"<w:p {nsdecls('w')}><w:pPr><w:keepNext/>"
    '<w:spacing w:before="0" w:after="0" w:line="80" w:lineRule="exact"/></w:pPr></w:p>'
)
#: Written into every document in place of the time, so that the same table gives the same file.
_NO_TIME = datetime(2000, 1, 1)


@dataclass(frozen=True)
class _Plan:
    """How a table is set: widths of its columns in twentieths of a point, and whether it stays whole."""

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    setting: Setting
    keeps: bool

    @property
    def points(self) -> float:
        """Size of type in points."""
        return self.setting.points / _WIDER

    def width(self, slot: Slot) -> int:
        """Return the width of a cell in twentieths of a point."""
        return sum(self.widths[slot.column : slot.column + slot.cell.colspan])

    def breaks(self, slot: Slot) -> Breaks:
        """Return where lines may end in the column of a cell."""
        width = (self.widths[slot.column] / 20 - 2 * _PAD) / self.setting.points
        return breaks_in(self.columns[slot.column], width, self.setting)


def grid_docx(grid: Grid) -> bytes:
    """Return a table as a Word document: title, table and notes, on a turned page where it is wide."""
    plan = _planned(grid)
    document = Document()
    _set_page(document, plan.setting.turned)
    _set_text(document, grid)
    body = document.element.body
    for element in list(body):
        if element.tag != qn("w:sectPr"):
            body.remove(element)
    title = tuple(replace(run, bold=True) for run in grid.title)
    blocks = [
        *(_paragraph(runs, _TABLE_PT, after=4, keep="keepNext") for runs in (title, grid.subtitle) if runs),
        *([_table(grid, plan)] if grid.n_columns else []),
        _GAP,
        *(_paragraph(note, _NOTES_PT, after=2, keep="keepLines") for note in grid.notes),
    ]
    for block in blocks:
        body.insert(len(body) - 1, parse_xml(block))
    return _packed(document)


def _planned(grid: Grid) -> _Plan:
    """Return how a table is set: upright if it fits, else turned, then with intervals broken."""
    columns = columns_of(grid)
    short, long = ((side - 2 * _MARGIN_MM) * _PT_PER_MM for side in _PAGE_MM)
    small = _SIZES[1:]
    tries: list[tuple[float, bool, Breaks, Sequence[float]]] = [
        (short, False, "text", _SIZES if len(columns) <= _UPRIGHT_COLUMNS else ()),
        (long, True, "text", _SIZES),
        (long, True, "numbers", small),
        (long, True, "anywhere", small[-1:]),
    ]
    settings = [
        Setting(line, points * _WIDER, _PAD, breaks, turned)
        for line, turned, breaks, sizes in tries
        for points in sizes
    ]
    setting, ems = first_fit(columns, settings)
    widths = tuple(int(20 * (width * setting.points + 2 * _PAD)) for width in ems)
    return _Plan(tuple(columns), widths, setting, len(grid.body) <= _ROWS_KEPT)


def _set_page(document: Any, turned: bool) -> None:
    """Set page size and margins."""
    section = document.sections[0]
    short, long = map(Mm, _PAGE_MM)
    section.orientation = WD_ORIENT.LANDSCAPE if turned else WD_ORIENT.PORTRAIT
    section.page_width, section.page_height = (long, short) if turned else (short, long)
    section.left_margin = section.right_margin = Mm(_MARGIN_MM)
    section.top_margin = section.bottom_margin = Mm(_MARGIN_MM)


def _set_text(document: Any, grid: Grid) -> None:
    """Set the font, and what the document says of itself: its title and nothing personal."""
    style = document.styles["Normal"]
    style.font.name, style.font.size = _FONT, Pt(_TABLE_PT)
    style.element.rPr.rFonts.set(qn("w:eastAsia"), _FONT)
    properties = document.core_properties
    properties.title = one_line(grid.title)[:255]
    properties.author = properties.last_modified_by = properties.comments = properties.keywords = ""
    properties.created = properties.modified = _NO_TIME


def _paragraph(runs: Runs, points: float, *, after: float, keep: str) -> str:
    """Return a paragraph outside the table, with space after it and what it is kept together with."""
    text = "".join(_run(run, points) for run in runs)
    space = f'<w:spacing w:before="0" w:after="{round(20 * after)}"/>'
    return f"<w:p {nsdecls('w')}><w:pPr><w:{keep}/>{space}</w:pPr>{text}</w:p>"


def _run(run: Run, points: float) -> str:
    """Return a run of text."""
    styles = (
        (run.bold, "<w:b/>"),
        (run.italic, "<w:i/>"),
        (run.strike, "<w:strike/>"),
        (run.color, f'<w:color w:val="{run.color}"/>'),
        (True, f'<w:sz w:val="{round(2 * points)}"/>'),
        (run.underline, '<w:u w:val="single"/>'),
        (run.superscript, '<w:vertAlign w:val="superscript"/>'),
        (run.subscript, '<w:vertAlign w:val="subscript"/>'),
    )
    shown = "".join(xml for wanted, xml in styles if wanted)
    parts = (f'<w:t xml:space="preserve">{escape(line)}</w:t>' for line in run.text.split("\n"))
    return f"<w:r><w:rPr>{shown}</w:rPr>{'<w:br/>'.join(parts)}</w:r>"


def _table(grid: Grid, plan: _Plan) -> str:
    """Return the table itself."""
    rows = [*_head(grid, plan), *_body(grid, plan)]
    grids = "".join(f'<w:gridCol w:w="{width}"/>' for width in plan.widths)
    said = f"<w:tblCaption w:val={quoteattr(one_line(grid.title)[:255])}/>" if grid.title else ""
    return (
        f"<w:tbl {nsdecls('w')}><w:tblPr>"
        f'<w:tblW w:w="{sum(plan.widths)}" w:type="dxa"/><w:jc w:val="left"/>'
        '<w:tblLayout w:type="fixed"/>'
        f'<w:tblCellMar><w:left w:w="{round(20 * _PAD)}" w:type="dxa"/>'
        f'<w:right w:w="{round(20 * _PAD)}" w:type="dxa"/></w:tblCellMar>{said}'
        f"</w:tblPr><w:tblGrid>{grids}</w:tblGrid>{''.join(rows)}</w:tbl>"
    )


def _head(grid: Grid, plan: _Plan) -> Iterator[str]:
    """Return the rows of headings, which are repeated on every page."""
    rows = head_rows(grid)
    for index, slots in enumerate(rows):
        last = index == len(rows) - 1
        below = _LIGHT if grid.body else _HEAVY
        look = _Look(
            top=0 if index else _HEAVY, bottom=below if last else 0, keep=True, heads=True, spans=not last
        )
        yield _row(slots, plan, look)


def _body(grid: Grid, plan: _Plan) -> Iterator[str]:
    """Return the rows of the body: a rule where a summary begins or ends, space above a group."""
    rows = layout(grid.body, grid.n_columns)
    for index, (row, slots) in enumerate(zip(grid.body, rows, strict=True)):
        is_group = row.kind == "group"
        changes = index > 0 and not is_group and grid.body[index - 1].kind not in ("group", row.kind)
        look = _Look(
            top=_HEAVY if index == 0 and not grid.head else _LIGHT if changes else 0,
            bottom=_HEAVY if index == len(rows) - 1 else 0,
            keep=plan.keeps or is_group,
            space=_GROUP_SPACE if is_group and index else _SPACE,
        )
        yield _row(set_apart(slots) if is_group else slots, plan, look)


@dataclass(frozen=True)
class _Look:
    """How a row looks: its rules, the space above its text, whether it stays with the next row.

    `heads` is for rows of headings, `spans` for those of spanners.
    """

    top: int = 0
    bottom: int = 0
    keep: bool = False
    space: int = _SPACE
    heads: bool = False
    spans: bool = False


def _row(slots: Sequence[Slot], plan: _Plan, look: _Look) -> str:
    """Return a row, which is never broken over two pages."""
    repeats = "<w:tblHeader/>" if look.heads else ""
    cells = "".join(_cell(slot, plan, look) for slot in slots)
    return f"<w:tr><w:trPr><w:cantSplit/>{repeats}</w:trPr>{cells}</w:tr>"


def _cell(slot: Slot, plan: _Plan, look: _Look) -> str:
    """Return one cell."""
    cell = slot.cell
    rules = "".join(_rule(side, size) for side, size in (("top", look.top), ("bottom", look.bottom)) if size)
    merged = ""
    if not (slot.first and slot.last):
        merged = '<w:vMerge w:val="restart"/>' if slot.first else "<w:vMerge/>"
    properties = (
        f'<w:tcW w:w="{plan.width(slot)}" w:type="dxa"/>',
        f'<w:gridSpan w:val="{cell.colspan}"/>' if cell.colspan > 1 else "",
        merged,
        f"<w:tcBorders>{rules}</w:tcBorders>" if rules else "",
        f'<w:shd w:val="clear" w:color="auto" w:fill="{cell.fill}"/>' if cell.fill else "",
        f'<w:vAlign w:val="{"bottom" if look.heads else "top"}"/>',
    )
    # the rule below a spanner belongs to its paragraph, so that neighbours' rules do not touch
    about = (
        "<w:keepNext/>" if look.keep else "",
        f"<w:pBdr>{_rule('bottom', _LIGHT)}</w:pBdr>" if look.spans and cell.text else "",
        f'<w:spacing w:before="{look.space}" w:after="{_SPACE}"/>',
        f'<w:ind w:left="{round(20 * plan.points * INDENT * cell.indent)}"/>' if cell.indent else "",
        f'<w:jc w:val="{cell.align}"/>',
    )
    runs = cell.runs if slot.first else ()
    text = "".join(_run(run, plan.points) for run in wrapped(runs, plan.breaks(slot)))
    paragraph = f"<w:p><w:pPr>{''.join(about)}</w:pPr>{text}</w:p>"
    return f"<w:tc><w:tcPr>{''.join(properties)}</w:tcPr>{paragraph}</w:tc>"


def _rule(side: str, size: int) -> str:
    """Return a rule at one side of a cell or paragraph."""
    return f'<w:{side} w:val="single" w:sz="{size}" w:space="1" w:color="000000"/>'


def _packed(document: Any) -> bytes:
    """Return a document as the bytes of its file, without the time at which it was made."""
    made, again = io.BytesIO(), io.BytesIO()
    document.save(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, old.read(name))
    return again.getvalue()
