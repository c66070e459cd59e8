"""A table's record as rows of cells, what spans several of them once: what every writer of a table reads."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from salstats.display.tables.layout import Table, point_pads
from salstats.display.text.markup import UNPRINTABLE

Align = Literal["left", "center", "right"]
#: Space that a label may hold and no format shows; a non-breaking space is none of it.
_SPACE = re.compile("[ \t\n\r\f]+")


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes
    ----------
    text : str
        Its text.
    align : {"left", "center", "right"}
        Its side.
    columns, rows : int
        How many of each it spans; no rows where a cell above reaches down to it.
    bold, underline, indent : bool
        Its marks.
    names : bool
        Whether it names its row or column.
    pad : str
        What its number lacks in front to have its decimal point below the others'.
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
    """A table to write: heading, rows of headings and of the body, notes.

    Attributes
    ----------
    title, subtitle : str
        Its heading, empty where there is none.
    head : tuple of tuple of Cell
        Rows of headings; all but the last hold headings that span several columns.
    body : tuple of Row
        The rows below them.
    notes : tuple of str
        Paragraphs below the table.
    aligns : tuple of {"left", "right"}
        The side of each column.
    """

    title: str
    subtitle: str
    head: tuple[tuple[Cell, ...], ...]
    body: tuple[Row, ...]
    notes: tuple[str, ...]
    aligns: tuple[Align, ...]


def rows_of(table: Table) -> Rows:
    """A table's record as rows of cells, its texts as any file can hold them."""
    aligns: list[Align] = ["right" if column.align == "right" else "left" for column in table.columns]
    stub: list[Align] = ["left"] * len(table.stubhead)
    return Rows(
        title=_printed(table.title or ""),
        subtitle=_printed(table.subtitle or ""),
        head=tuple(_head(table, aligns)),
        body=tuple(_body(table, aligns)),
        notes=tuple(_printed(note) for note in table.notes if note),
        aligns=tuple([*stub, *aligns]),
    )


def placed(cells: Sequence[Cell]) -> Iterator[tuple[int, Cell]]:
    """The cells of a row, each with its first column."""
    column = 0
    for cell in cells:
        yield column, cell
        column += cell.columns


def _printed(text: str) -> str:
    """A text on one line, what no file can hold replaced."""
    return UNPRINTABLE.sub("\ufffd", _SPACE.sub(" ", text)).strip(" ")


def _head(table: Table, aligns: Sequence[Align]) -> Iterator[tuple[Cell, ...]]:
    """The rows of headings, the outermost first."""
    columns = table.columns
    for level in range(max((len(c.spanners) for c in columns), default=0)):
        over = []
        for spanners, run in groupby(columns, key=lambda column: column.spanners[: level + 1]):
            n_columns = len(list(run))
            text = _printed(spanners[level]) if len(spanners) > level else ""
            over += [Cell(text, "center", n_columns, names=True)] if text else [Cell()] * n_columns
        yield (*([Cell()] * len(table.stubhead)), *over)
    yield (
        *(Cell(_printed(text), names=True) for text in table.stubhead),
        *(Cell(_printed(c.heading), align, names=True) for c, align in zip(columns, aligns, strict=True)),
    )


def _body(table: Table, aligns: Sequence[Align]) -> Iterator[Row]:
    """The rows of the body, groups in the order in which they come."""
    pads = [point_pads(table, j) for j in range(len(table.columns))]
    groups = table.groups or [""] * len(table.stub)
    first = {group: i for i, group in reversed(list(enumerate(groups)))}
    order = sorted(range(len(groups)), key=lambda i: first[groups[i]])
    for group, members in groupby(order, key=lambda i: groups[i]):
        if group:
            label = Cell(_printed(group), columns=len(table.stubhead) + len(aligns), bold=True, names=True)
            yield Row((label,), is_group=True)
        rows = list(members)
        for place, i in enumerate(rows):
            stub = _stub([table.stub[j] for j in rows], place)
            cells = [
                Cell(
                    _printed(text),
                    aligns[j],
                    bold=(i, j) in table.bold,
                    underline=(i, j) in table.underline,
                    pad=pads[j][i],
                )
                for j, text in enumerate(table.cells[i])
            ]
            stub[-1] = replace(stub[-1], indent=i in table.indent)
            yield Row((*stub, *cells), apart=i in table.apart)


def _stub(labels: Sequence[tuple[str, ...]], place: int) -> list[Cell]:
    """The labels of one row of a group; equal ones below each other span rows, but for the last."""
    cells = []
    own = labels[place]
    for level, text in enumerate(own):
        span = 1
        if level < len(own) - 1:
            same = [other[: level + 1] == own[: level + 1] for other in labels]
            above = place > 0 and same[place - 1]
            below = same[place:]
            span = 0 if above else below.index(False) if False in below else len(below)
        cells.append(Cell(_printed(text), rows=span, names=True))
    return cells
