"""A table as a record of its texts and marks, which every format is written from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Column:
    """A column of cells.

    Attributes
    ----------
    heading : str
        Its heading.
    spanners : tuple of str
        Headings above it that it shares with its neighbours, from the outermost; empty text is none.
    align : {"point", "left", "right"}
        `point` puts the decimal points of leading numbers below each other.
    """

    heading: str
    spanners: tuple[str, ...] = ()
    align: Literal["point", "left", "right"] = "point"


@dataclass(frozen=True)
class Table:
    """What a table says, in the order it says it; every format is written from this.

    Attributes
    ----------
    stubhead : tuple of str
        Heading of each column of row labels.
    stub : list of tuple of str
        Labels of each row; equal ones below each other are merged, but for the last column.
    columns : list of Column
        The columns of cells.
    cells : list of list of str
        Texts by row and column.
    groups : list of str
        Label of each row's group, or empty where rows are not grouped.
    bold, underline : set of (int, int)
        Row and column of marked cells.
    apart : set of int
        Rows with a thin rule above.
    indent : set of int
        Rows whose label is set in from that of the row above them.
    foot : set of int
        Rows of other numbers than those above, which are aligned among themselves.
    notes : sequence of str
        Paragraphs below the table, what is said of all of it before statistics; empty ones are left out.
    symbols : str
        What marks in cells mean, said below the abbreviations.
    title, subtitle : str or None
        Heading of the table.
    turns : bool
        Rows, columns and groups may change places where the table is wider than a page, see `on_page`; notes
        then name outcomes and methods, not rows and columns.
    axes : (str, str)
        What groups and headings are values of, which heads them where they become row labels.
    """

    stubhead: tuple[str, ...]
    stub: list[tuple[str, ...]]
    columns: list[Column]
    cells: list[list[str]]
    groups: list[str] = field(default_factory=list)
    bold: set[tuple[int, int]] = field(default_factory=set)
    underline: set[tuple[int, int]] = field(default_factory=set)
    apart: set[int] = field(default_factory=set)
    indent: set[int] = field(default_factory=set)
    foot: set[int] = field(default_factory=set)
    notes: Sequence[str] = ()
    symbols: str = ""
    title: str | None = None
    subtitle: str | None = None
    turns: bool = False
    axes: tuple[str, str] = ("", "")


def point_pads(table: Table, column: int) -> list[str]:
    """What each text of a column lacks in front to have its decimal point below the others'."""
    whole = [row[column].split(" ", 1)[0].rstrip("*%†").split(".", 1)[0] for row in table.cells]
    if table.columns[column].align != "point":
        return [""] * len(whole)
    at_foot = [i in table.foot for i in range(len(whole))]
    widest = {
        part: max((own for own, at in zip(whole, at_foot, strict=True) if at == part), key=len, default="")
        for part in (False, True)
    }
    return [
        widest[at][: len(widest[at]) - len(own)] if row[column] else ""
        for row, own, at in zip(table.cells, whole, at_foot, strict=True)
    ]
