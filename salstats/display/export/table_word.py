"""A table as a Word document: a real table that a journal's office can edit."""

import io
import zipfile
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from docx import Document
from docx.enum.section import WD_ORIENT
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Mm, Pt

from salstats.display.tables.rows import BodyRow, Cell, TableRows, cells_by_column
from salstats.display.tables.widths import INDENT_EM, PageLayout, Paper, parts_with_layouts

#: Kinds of headings: of one column each, or above several columns.
Heading: TypeAlias = Literal["column", "spanner"]
_FONT = "Arial"
#: Size of type of title, subtitle and document in points; a wide table has smaller type.
_TEXT_PT = 9
_NOTES_PT = 8
#: A4 and its margins.
_PAGE_MM = (210.0, 297.0)
_MARGIN_MM = 20.0
#: Space at each side of a cell's text, in points.
_PAD_POINTS = 4.0
#: Width of the page between its margins in fiftieths of a percent, as Word writes it.
_WHOLE_LINE_FIFTIETHS = 5000
PAPER = Paper(
    line_widths_points=(
        (_PAGE_MM[0] - 2 * _MARGIN_MM) * 72 / 25.4,
        (_PAGE_MM[1] - 2 * _MARGIN_MM) * 72 / 25.4,
    ),
    gap_points_by_type_size=dict.fromkeys((9, 8, 7), _PAD_POINTS),
    # readers may lack Arial: numbers in DejaVu Sans are wider by a seventh, in Calibri and Times narrower
    type_scale=1.2,
)
#: Tables of at most this many rows are kept on one page with their notes.
_MAX_ROWS_TOGETHER = 30
#: Rules above and below a table, and inside it, in eighths of a point.
_HEAVY_RULE = 8
_LIGHT_RULE = 4
#: Space above and below a cell's text, in twentieths of a point.
_SPACE_TWIPS = 20
#: Space above the label of a group, in twentieths of a point.
_GROUP_SPACE_TWIPS = 100
#: Longest title that a document's properties hold.
_MAX_TITLE_LENGTH = 255
#: A blank as wide as a digit.
_FIGURE_SPACE = "\u2007"
#: Word's unit of length is a twentieth of a point.
_TWIPS_PER_POINT = 20
#: A paragraph of four points: Word wants one after a table.
_GAP_PARAGRAPH = (
    f"<w:p {nsdecls('w')}><w:pPr><w:keepNext/>"
    '<w:spacing w:before="0" w:after="0" w:line="80" w:lineRule="exact"/></w:pPr></w:p>'
)
#: Written into every document in place of the time, so that the same table gives the same file.
_NO_TIME = datetime(2000, 1, 1)


def word_document(rows: TableRows) -> bytes:
    """Return a table as a Word document: title, table or its parts, and notes, on a turned page if wide."""
    parts = parts_with_layouts(rows, PAPER)
    _, first_layout = parts[0]
    document = Document()
    _set_page(document, turned=first_layout.turned)
    style = document.styles["Normal"]
    style.font.name = _FONT
    style.font.size = Pt(_TEXT_PT)
    style.element.rPr.rFonts.set(qn("w:eastAsia"), _FONT)
    _set_title_and_clear_other_properties(document, rows.title)
    body = document.element.body
    # the last element describes the page
    for element in list(body)[:-1]:
        body.remove(element)
    for block in _xml_blocks(rows, parts):
        body.insert(len(body) - 1, parse_xml(block))
    return _file_content(document)


def _set_page(document: Any, *, turned: bool) -> None:
    """Set the size and the margins of the page."""
    section = document.sections[0]
    short_side, long_side = map(Mm, _PAGE_MM)
    if turned:
        section.orientation = WD_ORIENT.LANDSCAPE
        section.page_width = long_side
        section.page_height = short_side
    else:
        section.orientation = WD_ORIENT.PORTRAIT
        section.page_width = short_side
        section.page_height = long_side
    margin = Mm(_MARGIN_MM)
    section.left_margin = margin
    section.right_margin = margin
    section.top_margin = margin
    section.bottom_margin = margin


def _set_title_and_clear_other_properties(document: Any, title: str) -> None:
    """Set the title of a document, and remove the properties that name a person or a time."""
    properties = document.core_properties
    properties.title = title[:_MAX_TITLE_LENGTH]
    properties.author = ""
    properties.last_modified_by = ""
    properties.comments = ""
    properties.keywords = ""
    properties.created = _NO_TIME
    properties.modified = _NO_TIME


def _xml_blocks(rows: TableRows, parts: Sequence[tuple[TableRows, PageLayout]]) -> list[str]:
    """Return title, subtitle, tables and notes as XML, in the order in which they stand."""
    blocks = []
    if rows.title:
        blocks.append(_paragraph_xml(rows.title, _TEXT_PT, space_below_points=4, keep="keepNext", bold=True))
    if rows.subtitle:
        blocks.append(_paragraph_xml(rows.subtitle, _TEXT_PT, space_below_points=4, keep="keepNext"))
    for part, layout in parts:
        blocks += [_table_xml(part, layout, rows.title), _GAP_PARAGRAPH]
    for note in rows.notes:
        blocks.append(_paragraph_xml(note, _NOTES_PT, space_below_points=2, keep="keepLines"))
    return blocks


def _paragraph_xml(
    text: str, points: float, *, space_below_points: int, keep: str, bold: bool = False
) -> str:
    """Return a paragraph outside the table.

    `space_below_points` is the space below it; `keep` is Word's element that keeps its lines together
    ("keepLines") or keeps it on the page of the next paragraph ("keepNext").
    """
    space = f'<w:spacing w:before="0" w:after="{_TWIPS_PER_POINT * space_below_points}"/>'
    run = _run_xml([text], points, bold=bold)
    return f"<w:p {nsdecls('w')}><w:pPr><w:{keep}/>{space}</w:pPr>{run}</w:p>"


def _run_xml(lines: Sequence[str], points: float, *, bold: bool = False, underline: bool = False) -> str:
    """Return a run of Word: lines of text in one style."""
    styles = ""
    if bold:
        styles += "<w:b/>"
    styles += f'<w:sz w:val="{round(2 * points)}"/>'
    if underline:
        styles += '<w:u w:val="single"/>'
    texts = [f'<w:t xml:space="preserve">{escape(line)}</w:t>' for line in lines]
    return f"<w:r><w:rPr>{styles}</w:rPr>{'<w:br/>'.join(texts)}</w:r>"


def _table_xml(rows: TableRows, layout: PageLayout, title: str) -> str:
    """Return the table itself; its headings are repeated on every page.

    Its width is a share of the line. The widths of columns are preferred ones: Word widens a column whose
    numbers need more room in the font that it uses.
    """
    widths_twips = [_width_twips(layout, column) for column in range(len(layout.column_widths_em))]
    grid = "".join(f'<w:gridCol w:w="{width}"/>' for width in widths_twips)
    caption = ""
    if title:
        caption = f"<w:tblCaption w:val={quoteattr(title[:_MAX_TITLE_LENGTH])}/>"
    line_share = _fiftieths_of_percent_of_line(sum(widths_twips), layout)
    pad_twips = round(_TWIPS_PER_POINT * _PAD_POINTS)
    lines = [*_head_rows_xml(rows, layout), *_body_rows_xml(rows, layout)]
    return (
        f"<w:tbl {nsdecls('w')}><w:tblPr>"
        f'<w:tblW w:w="{line_share}" w:type="pct"/><w:jc w:val="left"/>'
        '<w:tblLayout w:type="autofit"/>'
        f'<w:tblCellMar><w:left w:w="{pad_twips}" w:type="dxa"/>'
        f'<w:right w:w="{pad_twips}" w:type="dxa"/></w:tblCellMar>{caption}'
        f"</w:tblPr><w:tblGrid>{grid}</w:tblGrid>{''.join(lines)}</w:tbl>"
    )


def _head_rows_xml(rows: TableRows, layout: PageLayout) -> list[str]:
    """Return the rows of headings; the last of them holds the headings of columns."""
    lines = []
    last = len(rows.head) - 1
    for level, cells in enumerate(rows.head):
        top_rule = 0
        bottom_rule = 0
        heading: Heading = "spanner"
        if level == 0:
            top_rule = _HEAVY_RULE
        if level == last:
            heading = "column"
            bottom_rule = _LIGHT_RULE if rows.body else _HEAVY_RULE
        lines.append(
            _row_xml(
                BodyRow(cells), layout, top_rule=top_rule, bottom_rule=bottom_rule, keep=True, heading=heading
            )
        )
    return lines


def _body_rows_xml(rows: TableRows, layout: PageLayout) -> list[str]:
    """Return the rows of the body."""
    lines = []
    last = len(rows.body) - 1
    for index, row in enumerate(rows.body):
        top_rule = 0
        bottom_rule = 0
        space = _SPACE_TWIPS
        if row.rule_above:
            top_rule = _LIGHT_RULE
        if index == last:
            bottom_rule = _HEAVY_RULE
        if row.is_group_label and index > 0:
            space = _GROUP_SPACE_TWIPS
        keep = row.is_group_label or len(rows.body) <= _MAX_ROWS_TOGETHER
        lines.append(
            _row_xml(row, layout, top_rule=top_rule, bottom_rule=bottom_rule, keep=keep, space=space)
        )
    return lines


def _width_twips(layout: PageLayout, start: int, n_columns: int = 1) -> int:
    """Return the width of columns side by side with the space at their sides, in twentieths of a point."""
    columns = range(start, start + n_columns)
    return sum(int(_TWIPS_PER_POINT * (layout.width_points(column) + 2 * _PAD_POINTS)) for column in columns)


def _fiftieths_of_percent_of_line(width_twips: int, layout: PageLayout) -> int:
    """Return a width as a share of the line, in fiftieths of a percent."""
    return round(_WHOLE_LINE_FIFTIETHS * width_twips / (_TWIPS_PER_POINT * layout.line_width_points))


def _row_xml(
    row: BodyRow,
    layout: PageLayout,
    *,
    top_rule: int,
    bottom_rule: int,
    keep: bool,
    space: int = _SPACE_TWIPS,
    heading: Heading | None = None,
) -> str:
    """Return a row, which is never broken over two pages.

    Parameters
    ----------
    row : BodyRow
        The cells.
    layout : PageLayout
        Sizes of type and columns.
    top_rule, bottom_rule : int
        Thickness of the rules above and below in eighths of a point, 0 for none.
    keep : bool
        Whether the row stays on the page of the next one.
    space : int
        Space above the texts in twentieths of a point.
    heading : {"column", "spanner"}, optional
        Kind of headings in a row of the head.
    """
    rules = ""
    if top_rule:
        rules += _rule_xml("top", top_rule)
    if bottom_rule:
        rules += _rule_xml("bottom", bottom_rule)
    cells = []
    for column, cell in cells_by_column(row.cells):
        properties = [f'<w:tcW w:w="{_width_twips(layout, column, cell.n_columns)}" w:type="dxa"/>']
        if cell.n_columns > 1:
            properties.append(f'<w:gridSpan w:val="{cell.n_columns}"/>')
        if cell.n_rows > 1:
            properties.append('<w:vMerge w:val="restart"/>')
        elif cell.n_rows == 0:
            properties.append("<w:vMerge/>")
        if rules:
            properties.append(f"<w:tcBorders>{rules}</w:tcBorders>")
        vertical_align = "bottom" if heading else "top"
        properties.append(f'<w:vAlign w:val="{vertical_align}"/>')
        # the rule below a spanner belongs to its paragraph, so that rules of neighbours do not touch
        has_rule = heading == "spanner" and bool(cell.text)
        paragraph = _cell_paragraph_xml(cell, layout, keep=keep, space=space, has_rule=has_rule)
        cells.append(f"<w:tc><w:tcPr>{''.join(properties)}</w:tcPr>{paragraph}</w:tc>")
    properties_of_row = "<w:cantSplit/>"
    if heading:
        # repeated on each page
        properties_of_row += "<w:tblHeader/>"
    return f"<w:tr><w:trPr>{properties_of_row}</w:trPr>{''.join(cells)}</w:tr>"


def _cell_paragraph_xml(cell: Cell, layout: PageLayout, *, keep: bool, space: int, has_rule: bool) -> str:
    """Return the paragraph in a cell, empty where a cell from above extends into it."""
    properties = []
    if keep:
        properties.append("<w:keepNext/>")
    if has_rule:
        properties.append(f"<w:pBdr>{_rule_xml('bottom', _LIGHT_RULE)}</w:pBdr>")
    properties.append(f'<w:spacing w:before="{space}" w:after="{_SPACE_TWIPS}"/>')
    if cell.indent:
        properties.append(f'<w:ind w:left="{round(_TWIPS_PER_POINT * layout.points * INDENT_EM)}"/>')
    properties.append(f'<w:jc w:val="{cell.align}"/>')
    text = ""
    if cell.n_rows:
        text = _cell_runs_xml(cell, layout)
    return f"<w:p><w:pPr>{''.join(properties)}</w:pPr>{text}</w:p>"


def _cell_runs_xml(cell: Cell, layout: PageLayout) -> str:
    """Return the lines of a cell with its marks, its number padded to align the decimal points."""
    text = _run_xml(layout.cell_lines(cell), layout.points, bold=cell.bold, underline=cell.underline)
    if not cell.pad:
        return text
    pad = _run_xml([_FIGURE_SPACE * len(cell.pad)], layout.points)
    return pad + text


def _rule_xml(side: str, eighths_of_point: int) -> str:
    """Return a rule at one side of a cell or paragraph, its thickness in eighths of a point."""
    return f'<w:{side} w:val="single" w:sz="{eighths_of_point}" w:space="1" w:color="000000"/>'


def _file_content(document: Any) -> bytes:
    """Return the bytes of a document's file, without the time at which it was written."""
    dated_file = io.BytesIO()
    document.save(dated_file)
    undated_file = io.BytesIO()
    with (
        zipfile.ZipFile(dated_file) as dated,
        zipfile.ZipFile(undated_file, "w", zipfile.ZIP_DEFLATED) as undated,
    ):
        for name in dated.namelist():
            # a member that is described by its name alone has the date at which zip files begin
            undated.writestr(zipfile.ZipInfo(name), dated.read(name), zipfile.ZIP_DEFLATED)
    return undated_file.getvalue()
