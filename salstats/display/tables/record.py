"""A table as a record of its texts and marks, which every format is written from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from salstats.display.text.format import MINUS

#: What may stand before a number.
_SIGNS = f"<>{MINUS}"


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
        Rows of other numbers than those above, which begin below each other.
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
    """What each text of a column lacks in front to have its decimal point below the others'.

    Numbers at the foot are of many kinds and sizes: they begin below each other.
    """
    whole = [row[column].split(" ", 1)[0].rstrip("*%†").split(".", 1)[0] for row in table.cells]
    if table.columns[column].align != "point":
        return [""] * len(whole)
    signs = [own[: own[:1] in _SIGNS] for own in whole]
    widest = max((own for i, own in enumerate(whole) if i not in table.foot), key=len, default="")
    sign = max(signs, key=len, default="")
    return [
        "" if not row[column] else sign[len(mark) :] if i in table.foot else widest[: len(widest) - len(own)]
        for i, (row, own, mark) in enumerate(zip(table.cells, whole, signs, strict=True))
    ]


def is_counted(table: Table) -> bool:
    """Whether all labels of rows are numbers, which stand at the right."""
    return all(label.replace(",", "").isdecimal() for row in table.stub for label in row)
