"""A finished table as plain rows of cells: what every writer of a table reads."""

from dataclasses import dataclass, field
from typing import Literal

Align = Literal["left", "center", "right"]
RowKind = Literal["spanner", "heading", "group", "body", "summary"]


@dataclass(frozen=True)
class Run:
    """A stretch of text in one style; `text` is plain, with "\\n" for a line break."""

    text: str
    bold: bool = False
    italic: bool = False
    underline: bool = False
    superscript: bool = False


#: Text of one cell, title or note.
Runs = tuple[Run, ...]


@dataclass(frozen=True)
class Cell:
    """One cell; `header` where it names its row or column."""

    runs: Runs
    colspan: int = 1
    rowspan: int = 1
    align: Align = "left"
    header: bool = False

    @property
    def text(self) -> str:
        """The cell's text without its styles."""
        return "".join(run.text for run in self.runs)


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
