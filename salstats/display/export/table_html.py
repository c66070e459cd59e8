"""A table as HTML: for the report's page, and as a page of its own in the look that great-tables gives it."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from great_tables import GT

from salstats.checks import SalstatsError
from salstats.display.export.table_rows import Cell, Row, Rows
from salstats.display.export.table_widths import lines_of
from salstats.display.tables.layout import plain, signed_last
from salstats.display.text.markup import UNPRINTABLE, Child, Markup, element

_CLASSES = {"left": "left", "center": "center", "right": "num"}


def html_table(rows: Rows, *, identifier: str) -> str:
    """A table as HTML that a page styles: no inline styles, and no names but `identifier`'s own.

    Parameters
    ----------
    rows : Rows
        The table; its title is left to the page.
    identifier : str
        Name of the list of notes, `IDENTIFIER-notes`; it must be the only one of its kind on the page.

    Returns
    -------
    str
        A `table`, and below it its notes as `ul class="notes"`. Numbers are of class `num`; a group of rows
        has a `tbody` of its own that begins with `tr class="group"`. Intervals are never broken inside.
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
    return element(
        "th" if names else "td",
        element("strong", text) if cell.bold else text,
        scope=scope + ("group" if span > 1 or kind == "group" else "") if names else None,
        class_=_CLASSES[cell.align] + (" indent" if cell.indent else ""),
        colspan=cell.columns if cell.columns > 1 else None,
        rowspan=cell.rows if cell.rows > 1 else None,
    )


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
    html = UNPRINTABLE.sub("\ufffd", named.opt_interactive(active=False).as_raw_html())
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", plain(table._heading.title) or "Table"),
        Markup("<style>body { margin: 1rem; background: #fff; }</style>"),
    ]
    parts = ["<!DOCTYPE html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", html.strip()]
    return "\n".join([*parts, "</body>", "</html>", ""])
