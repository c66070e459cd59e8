"""A table as HTML: for the report's page, and as a page of its own in the look that great-tables gives it."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from great_tables import GT

from salstats.checks import SalstatsError
from salstats.display.export.table_widths import lines_of, widths_of
from salstats.display.tables.layout import plain, signed_last
from salstats.display.tables.rows import Cell, Row, Rows, rows_of
from salstats.display.text.format import unbroken
from salstats.display.text.markup import UNPRINTABLE, Child, Markup, element

#: On a screen the head stays in sight, and names of rows and of several columns where a table scrolls;
#: great-tables' own styles have a name to outweigh.
_PAGE = """
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
_STUB = """@media screen {
  .gt_stub { min-width: min(LABELS, 14em); }
  .gt_stub, .gt_spanner_row > :first-child, .gt_col_headings:not(.gt_spanner_row ~ *) > :first-child {
    position: sticky; left: 0; z-index: 1; background: #fff !important;
  }
}
"""
#: Space at the sides of a cell, which the names of several columns keep from those of rows.
_PADDING = "20px"
_CLASSES = {"left": "left", "center": "center", "right": "num"}


def html_table(rows: Rows, *, identifier: str) -> str:
    """A table as HTML that a page styles: no inline styles, and no names but `identifier`'s own.

    Its title is left to the page; `identifier` names the list of notes, `IDENTIFIER-notes`, once on a page.
    Below the `table` stand its notes as `ul class="notes"`. Numbers are of class `num`; a group of rows has a
    `tbody` of its own that begins with `tr class="group"`. Intervals are never broken inside.
    """
    notes_id = f"{identifier}-notes"
    head = element("thead", "\n", [_row(cells, "col") for cells in rows.head])
    bodies = [[element("tbody", "\n", section), "\n"] for section in _sections(rows.body)]
    notes = notes_id if rows.notes else None
    table = element("table", "\n", head, "\n", bodies, aria_describedby=notes)
    if not rows.notes:
        return table
    items = [[element("li", note), "\n"] for note in rows.notes]
    return Markup(f"{table}\n{element('ul', chr(10), items, class_='notes', id=notes_id)}")


def _sections(body: Sequence[Row]) -> Iterator[list[Child]]:
    """The rows of the body in sections, each a group with its label."""
    groups = [sum(row.is_group for row in body[: i + 1]) for i in range(len(body))]
    for _, section in groupby(zip(groups, body, strict=True), key=lambda pair: pair[0]):
        yield [_row(row.cells, "row", _kind(row)) for _, row in section]


def _kind(row: Row) -> str | None:
    """The class of a row of the body."""
    return "group" if row.is_group else "apart" if row.apart else None


def _row(cells: Sequence[Cell], scope: str, kind: str | None = None) -> list[Child]:
    """One row."""
    shown = [_cell(cell, scope, kind) for cell in cells if cell.rows]
    return [element("tr", shown, class_=kind), "\n"]


def _cell(cell: Cell, scope: str, kind: str | None) -> Markup:
    """One cell; an empty one names nothing."""
    names = cell.names and bool(cell.text)
    span = cell.columns if scope == "col" else cell.rows
    text: Child = lines_of(cell.text, 0)[0]
    text = element("u", text) if cell.underline else text
    text = element("strong", text) if cell.bold else text
    return element(
        "th" if names else "td",
        # a cell as wide as the table cannot stay in sight, what stands in it can
        element("span", text) if names and cell.columns > 1 else text,
        scope=scope + ("group" if span > 1 or kind == "group" else "") if names else None,
        class_=_CLASSES[cell.align] + (" indent" if cell.indent else ""),
        colspan=cell.columns if cell.columns > 1 else None,
        rowspan=cell.rows if cell.rows > 1 else None,
    )


def _look(table: GT) -> str:
    """The look of a page, with the width of the names of rows, where the package made the table."""
    record = getattr(table, "record", None)
    if record is None or len(record.stubhead) > 1:
        return _PAGE.replace("LABELS", "0")
    width = min(widths_of(rows_of(record), 0)[0][0], 22)
    return (_PAGE + _STUB).replace("LABELS", f"calc({width:.1f}em + {_PADDING})")


def html_page(table: GT) -> str:
    """A great-tables table as a page of its own without script, called after its title.

    A table without a name is given one, so that the same table always gives the same page; what no file can
    hold is replaced.
    """
    if not isinstance(table, GT):
        raise SalstatsError(
            f"only a great-tables table (GT) can be written, not {type(table).__name__}; "
            "a frame is written with write_frame()"
        )
    named = table if table._options.table_id.value else table.with_id("table")
    named = named._replace(_source_notes=signed_last(named._source_notes))
    html = unbroken(UNPRINTABLE.sub("\ufffd", named.opt_interactive(active=False).as_raw_html()))
    html = re.sub(r'(<th class="gt_group_heading"[^>]*>)(.*?)(?=</th>)', r"\1<span>\2</span>", html)
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", plain(table._heading.title) or "Table"),
        Markup(f"<style>{_look(named)}</style>"),
    ]
    parts = ["<!DOCTYPE html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", html.strip()]
    return "\n".join([*parts, "</body>", "</html>", ""])
