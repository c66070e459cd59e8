"""A table as a record of its texts and marks, which files of every format are written from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from salstats.display.text.format import MINUS

#: Signs that may stand before a number.
_SIGNS = f"<>{MINUS}"


@dataclass(frozen=True)
class TableColumn:
    """A column of cells.

    Attributes
    ----------
    heading : str
        Text above the cells.
    spanners : tuple of str
        Headings above it that it shares with its neighbours, from the outermost; "" for none.
    align : {"point", "left", "right"}
        "point" aligns the decimal points of leading numbers.
    """

    heading: str
    spanners: tuple[str, ...] = ()
    align: Literal["point", "left", "right"] = "point"


@dataclass(frozen=True)
class Table:
    """The texts and marks of a table, which files of every format are written from.

    Attributes
    ----------
    stubhead : tuple of str
        Heading of each column of row labels.
    stub : list of tuple of str
        Labels of each row. Equal labels below each other are merged, except in the last column of labels.
    columns : list of TableColumn
        Columns of cells.
    cells : list of list of str
        Texts by row and column.
    groups : list of str
        Label of each row's group, empty where rows are not grouped.
    bold, underline : set of tuple of int
        Row and column of each marked cell.
    rows_with_rule_above : set of int
        Rows with a thin rule above.
    indented_rows : set of int
        Rows whose label is indented, such as the levels of a factor.
    foot_rows : set of int
        Rows at the foot, whose numbers are of another kind than those above and are aligned at their first
        digit.
    notes : sequence of str
        Paragraphs below the table; empty ones are left out.
    mark_note : str
        Note on what bold and underlined mean, which text without such marks leaves out.
    symbol_note : str
        Note on stars, daggers and dashes, which stands below the abbreviations.
    title, subtitle : str or None
        Heading of the table.
    may_rearrange : bool
        Whether rows, columns and groups may change places where the table is wider than a page, see
        `rearranged_to_fit_page`; its notes then have to name outcomes and methods, not rows and columns.
    axis_headings : tuple of str
        Names of the variables whose values label the groups of rows and the columns, such as "Task" and
        "Method". They head the labels of rows that groups and columns become in a rearranged table.
    """

    stubhead: tuple[str, ...]
    stub: list[tuple[str, ...]]
    columns: list[TableColumn]
    cells: list[list[str]]
    groups: list[str] = field(default_factory=list)
    bold: set[tuple[int, int]] = field(default_factory=set)
    underline: set[tuple[int, int]] = field(default_factory=set)
    rows_with_rule_above: set[int] = field(default_factory=set)
    indented_rows: set[int] = field(default_factory=set)
    foot_rows: set[int] = field(default_factory=set)
    notes: Sequence[str] = ()
    mark_note: str = ""
    symbol_note: str = ""
    title: str | None = None
    subtitle: str | None = None
    may_rearrange: bool = False
    axis_headings: tuple[str, str] = ("", "")


def decimal_point_pads(table: Table, column: int) -> list[str]:
    """Return the digits that each text of a column lacks in front for its decimal point to be aligned.

    The pads are invisible in print: only their width matters. Rows of the foot are aligned at their first
    digit, so that they lack a sign at most.
    """
    if table.columns[column].align != "point":
        return [""] * len(table.cells)
    integer_parts = [_integer_part(row[column]) for row in table.cells]
    signs = []
    for part in integer_parts:
        has_sign = part.startswith(tuple(_SIGNS))
        sign = part[0] if has_sign else ""
        signs.append(sign)
    widest_sign = max(signs, key=len, default="")
    above_foot = [part for row, part in enumerate(integer_parts) if row not in table.foot_rows]
    widest = max(above_foot, key=len, default="")
    pads = []
    for row, texts in enumerate(table.cells):
        if not texts[column]:
            pads.append("")
        elif row in table.foot_rows:
            pads.append(widest_sign[len(signs[row]) :])
        else:
            pads.append(widest[: len(widest) - len(integer_parts[row])])
    return pads


def _integer_part(text: str) -> str:
    """Return what stands before the decimal point of the number with which a text begins, with its sign."""
    number = text.split(" ", 1)[0].rstrip("*%†")
    return number.split(".", 1)[0]


def has_whole_number_row_labels(table: Table) -> bool:
    """Return whether all labels of rows are whole numbers, which are aligned at the right."""
    labels = chain.from_iterable(table.stub)
    return all(label.replace(",", "").isdecimal() for label in labels)
