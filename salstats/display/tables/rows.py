"""A table's record as rows of cells, what spans several of them once: what every writer of a table reads."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from salstats.display.tables.record import Table, is_counted, point_pads
from salstats.display.text.format import unbroken
from salstats.display.text.markup import UNPRINTABLE

Align = Literal["left", "center", "right"]
#: Space that a label may hold and no format shows; a non-breaking space is none of it.
_SPACE = re.compile("[ \t\n\r\f]+")


@dataclass(frozen=True)
class Cell:
    """One cell, its side, the columns and rows it spans, and its marks.

    It spans no rows where a cell above reaches down to it. `names` says that it heads a row or column,
    `pad` what its number lacks in front to have its decimal point below the others'.
    """

    text: str = ""
    align: Align = "left"
    columns: int = 1
    rows: int = 1
    bold: bool = False
    underline: bool = False
    indent: bool = False
    names: bool = False
    pad: str = ""


@dataclass(frozen=True)
class Row:
    """One row of the body: a group's label or cells; `apart` where a rule stands above it."""

    cells: tuple[Cell, ...]
    is_group: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Rows:
    """A table to write: `head` ends with the headings of columns, `n_stub` of which are labels of rows."""

    title: str
    subtitle: str
    head: tuple[tuple[Cell, ...], ...]
    body: tuple[Row, ...]
    notes: tuple[str, ...]
    aligns: tuple[Align, ...]
    n_stub: int = 1
    marks: str = ""  # the note that says what bold and underlined mean


def rows_of(table: Table) -> Rows:
    """A table's record as rows of cells, its texts as any file can hold them."""
    stub: list[Align] = ["right" if is_counted(table) else "left"] * len(table.stubhead)
    aligns: list[Align] = [*stub, *("right" if c.align == "right" else "left" for c in table.columns)]
    return Rows(
        title=_printed(table.title or ""),
        subtitle=_printed(table.subtitle or ""),
        head=tuple(_head(table, aligns)),
        body=tuple(_body(table, aligns)),
        notes=tuple(_printed(note) for note in table.notes if note),
        aligns=tuple(aligns),
        n_stub=len(stub),
        marks=_printed(table.marks),
    )


def cut(rows: Rows, start: int, stop: int) -> Rows:
    """The labels of rows and some of the other columns of a table, without title and notes."""

    def kept(cells: Sequence[Cell]) -> Iterator[Cell]:
        for column, cell in placed(cells):
            end = column + cell.columns
            n = max(0, min(end, rows.n_stub) - column) + max(0, min(end, stop) - max(column, start))
            if n:
                yield replace(cell, columns=n)

    return replace(
        rows,
        title="",
        subtitle="",
        head=tuple(tuple(kept(cells)) for cells in rows.head),
        body=tuple(replace(row, cells=tuple(kept(row.cells))) for row in rows.body),
        notes=(),
        aligns=(*rows.aligns[: rows.n_stub], *rows.aligns[start:stop]),
    )


def text_of(rows: Rows, width: int | None = None, *, escapes: bool = False) -> str:
    """Return a table as text: its title, its cells below their headings, its notes, on lines of a width.

    Cells are bold and underlined by `escapes`, which terminals know; without them no note speaks of it.
    """
    lines: list[list[str]] = []
    codes: dict[tuple[int, int], str] = {}
    for cells in (*rows.head, *(row.cells for row in rows.body)):
        line = [""] * len(rows.aligns)
        for column, cell in placed(cells):
            line[column] = " " * len(cell.pad) + cell.text if cell.rows else ""
            if escapes and cell.rows:
                codes[len(lines), column] = _escapes(cell)
        lines.append(line)
    groups = [False] * len(rows.head) + [row.is_group for row in rows.body]
    told = [line for line, is_group in zip(lines, groups, strict=True) if not is_group]
    widest = [max(map(len, column)) for column in zip(*told, strict=True)]
    ends = [str.rjust if align == "right" else str.ljust for align in rows.aligns]
    texts = []
    for i, line in enumerate(lines):
        padded = [end(text, most) for end, text, most in zip(ends, line, widest, strict=True)]
        marked = [_marked(text, codes.get((i, j), "")) for j, text in enumerate(padded)]
        texts.append("  ".join(marked).rstrip())
    shown = [note for note in rows.notes if escapes or note != rows.marks]
    notes = [line for note in shown for line in (textwrap.wrap(note, width) if width else [note])]
    above = [text for text in (rows.title, rows.subtitle) if text]
    return "\n".join([*above, *texts, *notes])


def _escapes(cell: Cell) -> str:
    """Return the numbers of the terminal's escapes for a cell's marks: "1;4" is bold and underlined."""
    codes = ["1"] if cell.bold and not cell.names else []
    if cell.underline:
        codes.append("4")
    return ";".join(codes)


def _marked(padded: str, codes: str) -> str:
    """Return a padded text with its escapes, the blanks around it without."""
    text = padded.strip()
    if not codes or not text:
        return padded
    return padded.replace(text, f"\x1b[{codes}m{text}\x1b[0m", 1)


def placed(cells: Sequence[Cell]) -> Iterator[tuple[int, Cell]]:
    """The cells of a row, each with its first column."""
    column = 0
    for cell in cells:
        yield column, cell
        column += cell.columns


def _printed(text: str) -> str:
    """A text on one line, kept together where no line ends, what no file can hold replaced."""
    return unbroken(UNPRINTABLE.sub("\ufffd", _SPACE.sub(" ", text)).strip(" "))


def _head(table: Table, aligns: Sequence[Align]) -> Iterator[tuple[Cell, ...]]:
    """The rows of headings, the outermost first."""
    for level in range(max((len(c.spanners) for c in table.columns), default=0)):
        over = [Cell()] * len(table.stubhead)
        for spanners, run in groupby(table.columns, key=lambda column: column.spanners[: level + 1]):
            n_columns = len(list(run))
            text = _printed(spanners[level]) if len(spanners) > level else ""
            over += [Cell(text, "center", n_columns, names=True)] if text else [Cell()] * n_columns
        yield tuple(over)
    headings = (*table.stubhead, *(column.heading for column in table.columns))
    yield tuple(Cell(_printed(text), align, names=True) for text, align in zip(headings, aligns, strict=True))


def _body(table: Table, aligns: Sequence[Align]) -> Iterator[Row]:
    """The rows of the body, groups in the order in which they come."""
    pads = [point_pads(table, j) for j in range(len(table.columns))]
    groups = table.groups or [""] * len(table.stub)
    for group in dict.fromkeys(groups):
        members = [i for i, own in enumerate(groups) if own == group]
        if group:
            yield Row((Cell(_printed(group), columns=len(aligns), bold=True, names=True),), is_group=True)
        for i, spans in zip(members, _spans([table.stub[i] for i in members]), strict=True):
            *outer, _ = range(len(spans))
            stub = [
                Cell(
                    _printed(text),
                    aligns[level],
                    rows=rows,
                    names=True,
                    indent=i in table.indent and level not in outer,
                )
                for level, (text, rows) in enumerate(zip(table.stub[i], spans, strict=True))
            ]
            cells = [
                Cell(
                    _printed(text),
                    aligns[len(stub) + j],
                    bold=(i, j) in table.bold,
                    underline=(i, j) in table.underline,
                    pad=pads[j][i],
                )
                for j, text in enumerate(table.cells[i])
            ]
            yield Row((*stub, *cells), apart=i in table.apart)


def _spans(labels: Sequence[tuple[str, ...]]) -> list[list[int]]:
    """Rows that each label reaches down over: equal ones below each other are one, but for the last."""
    spans = [[1] * len(own) for own in labels]
    for level in range(len(labels[0]) - 1):
        for _, run in groupby(range(len(labels)), key=lambda i: labels[i][: level + 1]):
            first, *below = run
            spans[first][level] += len(below)
            for i in below:
                spans[i][level] = 0
    return spans
