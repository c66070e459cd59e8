"""A table as a record of its texts and marks, which every format is written from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from salstats.display.text.format import MINUS

#: What may stand before a number.
_SIGNS = f"<>{MINUS}"


@dataclass(frozen=True)
class Column:
    """A column of cells."""

    heading: str
    # headings above it that it shares with its neighbours, from the outermost; empty text is none
    spanners: tuple[str, ...] = ()
    # `point` puts the decimal points of leading numbers below each other
    align: Literal["point", "left", "right"] = "point"


@dataclass(frozen=True)
class Table:
    """What a table says, in the order it says it; every format is written from this."""

    stubhead: tuple[str, ...]  # heading of each column of row labels
    # labels of each row; equal ones below each other are merged, but for the last column
    stub: list[tuple[str, ...]]
    columns: list[Column]
    cells: list[list[str]]  # texts by row and column
    # label of each row's group, or empty where rows are not grouped
    groups: list[str] = field(default_factory=list)
    # bold, underline: row and column of marked cells
    bold: set[tuple[int, int]] = field(default_factory=set)
    underline: set[tuple[int, int]] = field(default_factory=set)
    apart: set[int] = field(default_factory=set)  # rows with a thin rule above
    # rows whose label is set in from that of the row above them
    indent: set[int] = field(default_factory=set)
    # rows of other numbers than those above, which begin below each other
    foot: set[int] = field(default_factory=set)
    # paragraphs below the table, what is said of all of it before statistics; empty ones are left out
    notes: Sequence[str] = ()
    # what bold and underlined mean, which text without such marks leaves out
    marks: str = ""
    symbols: str = ""  # what stars, daggers and dashes mean, said below the abbreviations
    # title, subtitle: heading of the table
    title: str | None = None
    subtitle: str | None = None
    # rows, columns and groups may change places where the table is wider than a page, see `on_page`; notes
    # then name outcomes and methods, not rows and columns
    turns: bool = False
    # what groups and headings are values of, which heads them where they become row labels
    axes: tuple[str, str] = ("", "")


def point_pads(table: Table, column: int) -> list[str]:
    """What each text of a column lacks in front to have its decimal point below the others'."""
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
