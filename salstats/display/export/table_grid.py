"""A finished table as plain rows of cells: what every writer of a table reads."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

Align = Literal["left", "center", "right"]
RowKind = Literal["spanner", "heading", "group", "body", "summary", "grand_summary"]


@dataclass(frozen=True)
class Run:
    r"""A stretch of text in one style; `text` is plain, with "\n" for a line break.

    `mark` says that it is the mark of a footnote; `color` is empty or six hexadecimal digits.
    """

    text: str
    bold: bool = False
    italic: bool = False
    underline: bool = False
    superscript: bool = False
    subscript: bool = False
    strike: bool = False
    mark: bool = False
    color: str = ""


#: Text of one cell, title or note.
Runs = tuple[Run, ...]


@dataclass(frozen=True)
class Cell:
    """One cell; `header` where it names its row or column, `fill` its background as `Run.color`."""

    runs: Runs
    colspan: int = 1
    rowspan: int = 1
    align: Align = "left"
    header: bool = False
    indent: int = 0
    fill: str = ""

    @property
    def text(self) -> str:
        """The cell's text without its styles."""
        return plain(self.runs)


@dataclass(frozen=True)
class Row:
    """One row of cells."""

    cells: tuple[Cell, ...]
    kind: RowKind = "body"


@dataclass(frozen=True)
class Grid:
    """A table: its heading, the rows of its head and body, and the notes below it in order."""

    head: tuple[Row, ...]
    body: tuple[Row, ...]
    title: Runs = ()
    subtitle: Runs = ()
    notes: tuple[Runs, ...] = field(default=())
    n_columns: int = 0


@dataclass(frozen=True)
class Slot:
    """What stands in one row at one place: a cell, or part of a cell that spans several rows."""

    cell: Cell
    column: int
    first: bool = True
    last: bool = True


def set_apart(slots: Iterable[Slot]) -> list[Slot]:
    """Return the label of a group in italics, unless it is in bold already."""
    return [
        slot
        if any(run.bold for run in slot.cell.runs)
        else replace(
            slot, cell=replace(slot.cell, runs=tuple(replace(run, italic=True) for run in slot.cell.runs))
        )
        for slot in slots
    ]


def plain(runs: Iterable[Run]) -> str:
    """Return text without its styles."""
    return "".join(run.text for run in runs)


def one_line(runs: Iterable[Run]) -> str:
    """Return text without its styles on one line, and without marks of footnotes."""
    return " ".join(plain(run for run in runs if not run.mark).split())


def lines(runs: Runs) -> list[Runs]:
    """Return text line by line."""
    found: list[list[Run]] = [[]]
    for run in runs:
        first, *others = run.text.split("\n")
        found[-1].append(replace(run, text=first))
        found += [[replace(run, text=text)] for text in others]
    return [tuple(run for run in line if run.text) for line in found]


def layout(rows: Sequence[Row], n_columns: int) -> list[list[Slot]]:
    """Return for each row what stands in it from left to right, with no column left out.

    A cell that spans rows stands in each of them; empty cells fill what the rows leave open.
    """
    below: dict[int, tuple[Cell, int]] = {}  # column -> cell from above, rows it still covers
    laid = []
    for index, row in enumerate(rows):
        slots: list[Slot] = []
        waiting = list(row.cells)
        column = 0
        while column < n_columns:
            if column in below:
                cell, left = below.pop(column)
                first = False
            else:
                cell = waiting.pop(0) if waiting else Cell(())
                left = min(cell.rowspan, len(rows) - index)
                first = True
            slots.append(Slot(cell, column, first, left == 1))
            if left > 1:
                below[column] = (cell, left - 1)
            column += cell.colspan
        laid.append(slots)
    return laid


def head_rows(grid: Grid) -> list[list[Slot]]:
    """Return the rows of a table's head; a heading that spans rows stands in the last of them."""
    return [
        [
            Slot(replace(slot.cell, rowspan=1) if slot.last else Cell((), slot.cell.colspan), slot.column)
            for slot in row
        ]
        for row in layout(grid.head, grid.n_columns)
    ]


def count_columns(rows: Sequence[Row]) -> int:
    """Return how many columns the rows of one part of a table take, cells that span rows included."""
    taken: list[int] = [0] * len(rows)
    for index, row in enumerate(rows):
        for cell in row.cells:
            for covered in range(index, min(index + cell.rowspan, len(rows))):
                taken[covered] += cell.colspan
    return max(taken, default=0)
