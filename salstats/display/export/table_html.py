"""A table as HTML: for the report's page, and as a page of its own in the look that great-tables gives it."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from great_tables import GT

from salstats.display.tables.great_table import PrintedTable, text_of_html
from salstats.display.tables.rows import BodyRow, Cell, TableRows, table_to_rows
from salstats.display.tables.widths import natural_and_minimal_column_widths_em, number_lines
from salstats.display.text.format import with_no_break_spaces_where_needed
from salstats.display.text.markup import UNPRINTABLE, Child, Markup, element

#: What a heading stands for, a column or a row, as in HTML's attribute `scope`.
Scope: TypeAlias = Literal["col", "row"]
#: On a screen the head, the labels of rows and headings of several columns stay in sight while a table
#: scrolls. `!important` overrides the styles of great-tables, whose selectors have the table's id.
_PAGE_CSS = """
body { margin: 1rem; background: #fff; }
@media screen {
  body > div { max-height: calc(100vh - 2rem); padding: 0 !important; }
  thead { position: sticky; top: 0; z-index: 2; background: #fff; box-shadow: 0 1px; }
  .gt_group_heading span { position: sticky; left: 8px; }
  .gt_column_spanner_outer {
    background: #fff linear-gradient(#000, #000) bottom / calc(100% - 8px) 1px no-repeat !important;
  }
  .gt_column_spanner {
    position: sticky; left: LABELS; right: 8px; width: auto !important; border-bottom: 0 !important;
  }
}
"""
_STUB_CSS = """@media screen {
  .gt_stub { min-width: min(LABELS, 14em); }
  .gt_stub, .gt_spanner_row > :first-child, .gt_col_headings:not(.gt_spanner_row ~ *) > :first-child {
    position: sticky; left: 0; z-index: 1; background: #fff !important;
  }
}
"""
#: Space at the sides of a cell, by which headings of several columns stay away from labels of rows.
_CELL_PADDING = "20px"
#: Largest width at which a column of row labels stays in sight, in ems.
_WIDEST_LABELS_EM = 22
#: The id of ten random letters that great-tables gives to a table without a name.
_RANDOM_ID = re.compile('^<div id="([a-z]{10})"')
#: The cell with the title of a table.
_TITLE_CELL = re.compile('<td [^>]*class="gt_heading gt_title[^>]*>(.*?)</td>', re.DOTALL)
#: Class of a cell by its side.
_ALIGN_CLASSES = {"left": "left", "center": "center", "right": "num"}


def html_table(rows: TableRows, *, identifier: str) -> str:
    """Return a table as HTML that the page around it styles, without inline styles and without its title.

    Below the `table` stand its notes as `ul class="notes"` with the id `IDENTIFIER-notes`, so that an
    identifier may be used once on a page. Numbers are of class `num`; a group of rows has a `tbody` of its
    own that begins with `tr class="group"`. Intervals are never broken inside.
    """
    notes_id = f"{identifier}-notes"
    head = element("thead", "\n", [_row(cells, "col") for cells in rows.head])
    bodies = [[element("tbody", "\n", section), "\n"] for section in _body_sections(rows.body)]
    if not rows.notes:
        return element("table", "\n", head, "\n", bodies)
    table = element("table", "\n", head, "\n", bodies, aria_describedby=notes_id)
    items = [[element("li", note), "\n"] for note in rows.notes]
    notes = element("ul", "\n", items, class_="notes", id=notes_id)
    return Markup(f"{table}\n{notes}")


def _body_sections(body: Sequence[BodyRow]) -> Iterator[list[Child]]:
    """Yield the rows of the body in sections: a new one begins at each row that is a group's label."""
    section: list[Child] = []
    for row in body:
        if row.is_group_label and section:
            yield section
            section = []
        section.append(_row(row.cells, scope="row", row_class=_row_class(row)))
    if section:
        yield section


def _row_class(row: BodyRow) -> str | None:
    """Return the class of a row of the body."""
    if row.is_group_label:
        return "group"
    if row.rule_above:
        return "apart"
    return None


def _row(cells: Sequence[Cell], scope: Scope, row_class: str | None = None) -> list[Child]:
    """Return one row, whose headings are those of columns or rows by `scope`."""
    contents = [_cell(cell, scope, row_class) for cell in cells if cell.n_rows]
    return [element("tr", contents, class_=row_class), "\n"]


def _cell(cell: Cell, scope: Scope, row_class: str | None) -> Markup:
    """Return one cell; a heading without text becomes a `td`."""
    is_heading = cell.is_heading and bool(cell.text)
    # with no breaks there is one line
    text: Child = number_lines(cell.text, n_breaks=0)[0]
    if cell.underline:
        text = element("u", text)
    if cell.bold:
        text = element("strong", text)
    if is_heading and cell.n_columns > 1:
        # a cell as wide as the table scrolls out of sight, but a span inside it can stay
        text = element("span", text)
    tag = "td"
    attributes: dict[str, str | int] = {}
    if is_heading:
        tag = "th"
        attributes["scope"] = _scope_or_group_scope(cell, scope, row_class)
    classes = _ALIGN_CLASSES[cell.align]
    if cell.indent:
        classes += " indent"
    attributes["class_"] = classes
    if cell.n_columns > 1:
        attributes["colspan"] = cell.n_columns
    if cell.n_rows > 1:
        attributes["rowspan"] = cell.n_rows
    return element(tag, text, **attributes)


def _scope_or_group_scope(cell: Cell, scope: Scope, row_class: str | None) -> str:
    """Return the attribute `scope` of a heading, such as "colgroup" where it heads several columns."""
    spans_columns = scope == "col" and cell.n_columns > 1
    spans_rows = scope == "row" and cell.n_rows > 1
    if spans_columns or spans_rows or row_class == "group":
        return f"{scope}group"
    return scope


def _page_style(table: GT) -> str:
    """Return the style of a page, with the width of the row labels if the package made the table."""
    if not isinstance(table, PrintedTable) or len(table.record.stubhead) > 1:
        return _PAGE_CSS.replace("LABELS", "0")
    width = min(
        natural_and_minimal_column_widths_em(table_to_rows(table.record), 0).natural[0], _WIDEST_LABELS_EM
    )
    return (_PAGE_CSS + _STUB_CSS).replace("LABELS", f"calc({width:.1f}em + {_CELL_PADDING})")


def html_page(table: GT) -> str:
    """Return a great-tables table as a page of its own without scripts, with the table's title as its title.

    A table without an id is given one, so that the same table always gives the same page; characters that no
    file can hold are replaced.
    """
    raw_html = table.opt_interactive(active=False).as_raw_html()
    html = with_no_break_spaces_where_needed(UNPRINTABLE.sub("\ufffd", raw_html))
    random_id = _RANDOM_ID.search(html)
    if random_id is not None:
        html = html.replace(random_id[1], "table")
    title = "Table"
    title_cell = _TITLE_CELL.search(html)
    if title_cell is not None:
        title = text_of_html(title_cell[1])
    # the text of a group's label is wrapped to stay in sight where a table scrolls
    html = re.sub(r'(<th class="gt_group_heading"[^>]*>)(.*?)(?=</th>)', r"\1<span>\2</span>", html)
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        f"<style>{_page_style(table)}</style>",
        "</head>",
        "<body>",
        html.strip(),
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)
