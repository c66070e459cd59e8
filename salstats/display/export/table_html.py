"""A table as HTML: for the report's page, and as a page of its own in the look the table has."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from salstats.display.export.table_grid import Cell, Grid, Run, Runs, Slot, head_rows, layout, lines, one_line
from salstats.display.text.markup import Child, Markup, element

_CLASSES = {"left": "left", "center": "center", "right": "num"}
#: A style sheet that a page would have to fetch.
_IMPORT = re.compile(r"@import\s+(?:url\([^)]*\)|\"[^\"]*\"|'[^']*')[^;]*;")
#: The name that great-tables makes up for a table that was given none.
_MADE_UP = re.compile(r'<div id="([a-z]{10})"')


def grid_html(grid: Grid, *, identifier: str) -> str:
    """Return a table as HTML that a page styles: no inline styles, and no names but `identifier`'s own.

    Parameters
    ----------
    grid : Grid
        The table; a title is shown as its caption.
    identifier : str
        Name of the list of notes, `IDENTIFIER-notes`; it must be the only one of its kind on the page.

    Returns
    -------
    str
        A `table`, and below it its notes as `ul class="notes"`. Numbers are of class `num`; rows of the
        body are `tr class="group"` or `summary` where they are; a `tbody` begins where the kind of row does.
    """
    notes_id = f"{identifier}-notes"
    parts: list[Child] = ["\n"]
    if grid.title or grid.subtitle:
        parts += [element("caption", _caption(grid)), "\n"]
    head = [_row(row, "thead") for row in head_rows(grid)]
    if head:
        parts += [element("thead", "\n", head), "\n"]
    for section in _sections(grid):
        parts += [element("tbody", "\n", section), "\n"]
    table = element("table", parts, aria_describedby=notes_id if grid.notes else None)
    if not grid.notes:
        return table
    notes = [[element("li", _text(note)), "\n"] for note in grid.notes]
    return Markup(f"{table}\n{element('ul', chr(10), notes, class_='notes', id=notes_id)}")


def _caption(grid: Grid) -> list[Child]:
    """Return title and subtitle on a line each."""
    both: list[Child] = [_text(grid.title)]
    if grid.subtitle:
        both += [element("br"), element("span", _text(grid.subtitle), class_="subtitle")]
    return both


def _sections(grid: Grid) -> Iterator[list[Child]]:
    """Return the rows of the body in sections: a group with its label, rows of a summary."""
    rows = list(zip(grid.body, layout(grid.body, grid.n_columns), strict=True))
    groups = 0
    keys = []
    for row, _ in rows:
        groups += row.kind == "group"
        keys.append((groups, "summary" in row.kind))
    for _, section in groupby(zip(keys, rows, strict=True), key=lambda pair: pair[0]):
        yield [_row(slots, row.kind) for _, (row, slots) in section]


def _row(slots: Sequence[Slot], kind: str) -> list[Child]:
    """Return one row."""
    shown = [slot for slot in slots if slot.first]
    classes = {"group": "group", "summary": "summary", "grand_summary": "summary"}.get(kind)
    return [element("tr", [_cell(slot.cell, kind) for slot in shown], class_=classes), "\n"]


def _cell(cell: Cell, kind: str) -> Markup:
    """Return one cell; an empty one heads nothing."""
    heads = cell.header and bool(cell.text)
    scope = None
    if heads:
        down = kind == "thead"
        span = cell.colspan if down else cell.rowspan
        scope = ("col" if down else "row") + ("group" if span > 1 or kind == "group" else "")
    classes = _CLASSES[cell.align] + (f" indent-{cell.indent}" if cell.indent else "")
    return element(
        "th" if heads else "td",
        _text(cell.runs),
        scope=scope,
        class_=classes,
        colspan=cell.colspan if cell.colspan > 1 else None,
        rowspan=cell.rowspan if cell.rowspan > 1 else None,
    )


def _text(runs: Runs) -> list[Child]:
    """Return text with its styles, one line per line."""
    found: list[Child] = []
    for index, line in enumerate(lines(runs)):
        found += [element("br")] if index else []
        found += [_styled(run) for run in line]
    return found


def _styled(run: Run) -> Child:
    """Return one run."""
    inner: Child = run.text
    for wanted, tag in (
        (run.superscript, "sup"),
        (run.subscript, "sub"),
        (run.strike, "s"),
        (run.underline, "u"),
        (run.italic, "em"),
        (run.bold, "strong"),
    ):
        inner = element(tag, inner) if wanted else inner
    return inner


def table_page(html: str, title: Runs) -> str:
    """Return the HTML of a great-tables table as a page of its own that asks nothing of the network.

    A made-up name of the table is replaced, so that the same table always gives the same page.
    """
    html = _IMPORT.sub("", html)
    made_up = _MADE_UP.search(html)
    if made_up:
        html = re.sub(rf'(<div id="|#){made_up.group(1)}\b', r"\1table", html)
    name = one_line(title) or "Table"
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", name),
        Markup("<style>body { margin: 1rem; background: #fff; }</style>"),
    ]
    parts = ["<!DOCTYPE html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", html.strip()]
    return "\n".join([*parts, "</body>", "</html>", ""])
