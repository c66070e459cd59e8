"""A table's record as rows of cells, in which a text that spans several cells stands once.

All writers of files read tables in this form.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from salstats.display.tables.record import Table, decimal_point_pads, has_whole_number_row_labels
from salstats.display.text.format import with_no_break_spaces_where_needed
from salstats.display.text.markup import UNPRINTABLE

Align = Literal["left", "center", "right"]
#: White space in a label that becomes one space in print; non-breaking spaces stay.
_WHITE_SPACE = re.compile("[ \t\n\r\f]+")
#: Spaces by which a label is indented in a table that is printed as text.
_N_INDENT_SPACES = 2


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    text : str
        Text on one line.
    align : {"left", "center", "right"}
        Side at which the text stands.
    n_columns, n_rows : int
        Numbers of columns and rows that it spans; 0 rows where a cell above reaches down over it.
    bold, underline, indent : bool
        Marks; `indent` means that the text is indented.
    is_heading : bool
        Whether it is the label of a row, a column or a group.
    pad : str
        Digits that its number lacks in front to have its decimal point below the others'.
    """

    text: str = ""
    align: Align = "left"
    n_columns: int = 1
    n_rows: int = 1
    bold: bool = False
    underline: bool = False
    indent: bool = False
    is_heading: bool = False
    pad: str = ""


@dataclass(frozen=True)
class BodyRow:
    """One row of the body, which is the label of a group (`is_group_label`) or has cells for all columns.

    A thin rule stands above it where `rule_above` is set.
    """

    cells: tuple[Cell, ...]
    is_group_label: bool = False
    rule_above: bool = False


@dataclass(frozen=True)
class TableRows:
    """A table as rows of cells.

    Attributes
    ----------
    title, subtitle : str
        Heading of the table, "" for none.
    head : tuple of tuple of Cell
        Rows of headings; the last one has a heading for each column.
    body : tuple of BodyRow
        Labels of groups and rows of cells.
    notes : tuple of str
        Paragraphs below the table.
    aligns : tuple of str
        Side of each column.
    n_stub : int
        Number of columns, at the left, that hold labels of rows.
    mark_note : str
        The note that says what bold and underlined mean.
    """

    title: str
    subtitle: str
    head: tuple[tuple[Cell, ...], ...]
    body: tuple[BodyRow, ...]
    notes: tuple[str, ...]
    aligns: tuple[Align, ...]
    n_stub: int = 1
    mark_note: str = ""


def table_to_rows(table: Table) -> TableRows:
    """Return a table's record as rows of cells, its texts as any file can hold them."""
    stub_align: Align = "right" if has_whole_number_row_labels(table) else "left"
    aligns = [stub_align] * len(table.stubhead)
    for column in table.columns:
        # decimal points are aligned by pads at the left
        column_align: Align = "right" if column.align == "right" else "left"
        aligns.append(column_align)
    return TableRows(
        title=_printable(table.title or ""),
        subtitle=_printable(table.subtitle or ""),
        head=tuple(_heading_rows(table, aligns)),
        body=tuple(_body_rows(table, aligns)),
        notes=tuple(_printable(note) for note in table.notes if note),
        aligns=tuple(aligns),
        n_stub=len(table.stubhead),
        mark_note=_printable(table.mark_note),
    )


def part_with_stub_and_columns(rows: TableRows, start: int, stop: int) -> TableRows:
    """Return the labels of rows and the columns from `start` to `stop`, without title and notes."""

    def cells_in_kept_columns(cells: Sequence[Cell]) -> tuple[Cell, ...]:
        kept_cells = []
        for column, cell in cells_by_column(cells):
            # the columns that a cell shares with the labels of rows, and with `start` to `stop`
            end = column + cell.n_columns
            n_stub_columns = max(0, min(end, rows.n_stub) - column)
            n_body_columns = max(0, min(end, stop) - max(column, start))
            n_columns = n_stub_columns + n_body_columns
            if n_columns > 0:
                kept_cells.append(replace(cell, n_columns=n_columns))
        return tuple(kept_cells)

    return replace(
        rows,
        title="",
        subtitle="",
        head=tuple(cells_in_kept_columns(cells) for cells in rows.head),
        body=tuple(replace(row, cells=cells_in_kept_columns(row.cells)) for row in rows.body),
        notes=(),
        aligns=(*rows.aligns[: rows.n_stub], *rows.aligns[start:stop]),
    )


def plain_text(rows: TableRows, note_width: int | None = None, *, with_terminal_styles: bool = False) -> str:
    """Return a table as text: its title, its cells below their headings, its notes, wrapped at `note_width`.

    With `with_terminal_styles` cells are bold and underlined by the codes of terminals; without them the
    note on these marks is left out.
    """
    grid = [_text_or_empty_of_each_column(cells, rows) for cells in rows.head]
    codes = [_terminal_codes_by_column(cells, rows) for cells in rows.head]
    is_group_label = [False] * len(rows.head)
    for row in rows.body:
        grid.append(_text_or_empty_of_each_column(row.cells, rows))
        codes.append(_terminal_codes_by_column(row.cells, rows))
        is_group_label.append(row.is_group_label)
    # the label of a group may be longer than the column that it begins in
    lines_without_groups = [line for line, group in zip(grid, is_group_label, strict=True) if not group]
    widths = [max(map(len, column)) for column in zip(*lines_without_groups, strict=True)]
    lines = []
    for texts, line_codes in zip(grid, codes, strict=True):
        padded = []
        for text, width_of_column, align in zip(texts, widths, rows.aligns, strict=True):
            padded.append(_padded(text, width_of_column, align))
        if with_terminal_styles:
            padded = [_with_escape_codes(text, code) for text, code in zip(padded, line_codes, strict=True)]
        lines.append("  ".join(padded).rstrip())
    notes: list[str] = []
    for note in rows.notes:
        if note == rows.mark_note and not with_terminal_styles:
            continue
        if note_width:
            notes += textwrap.wrap(note, note_width)
        else:
            notes.append(note)
    title_lines = [text for text in (rows.title, rows.subtitle) if text]
    return "\n".join([*title_lines, *lines, *notes])


def _text_or_empty_of_each_column(cells: Sequence[Cell], rows: TableRows) -> list[str]:
    """Return the text of each column in a row, "" where a cell from the left or above extends into it."""
    texts = [""] * len(rows.aligns)
    for column, cell in cells_by_column(cells):
        if cell.n_rows:
            n_blanks = len(cell.pad)
            if cell.indent:
                n_blanks += _N_INDENT_SPACES
            texts[column] = " " * n_blanks + cell.text
    return texts


def _padded(text: str, width: int, align: Align) -> str:
    """Return a text padded with spaces to a width."""
    if align == "right":
        return text.rjust(width)
    return text.ljust(width)


def _terminal_codes_by_column(cells: Sequence[Cell], rows: TableRows) -> list[str]:
    """Return the codes of terminal escapes in each column: "1;4" is bold and underlined.

    Headings are not bold, so that bold marks the best estimates only.
    """
    codes = [""] * len(rows.aligns)
    for column, cell in cells_by_column(cells):
        if not cell.n_rows:
            continue
        numbers = []
        if cell.bold and not cell.is_heading:
            numbers.append("1")
        if cell.underline:
            numbers.append("4")
        codes[column] = ";".join(numbers)
    return codes


def _with_escape_codes(padded: str, codes: str) -> str:
    """Return a padded text with its escape codes, which leave out the spaces around it."""
    text = padded.strip()
    if not codes or not text:
        return padded
    return padded.replace(text, f"\x1b[{codes}m{text}\x1b[0m", 1)


def cells_by_column(cells: Sequence[Cell]) -> Iterator[tuple[int, Cell]]:
    """Yield the cells of a row, each after the number of its first column."""
    column = 0
    for cell in cells:
        yield column, cell
        column += cell.n_columns


def _printable(text: str) -> str:
    """Return a text on one line, with non-breaking spaces where words belong together.

    Characters that no file can hold become U+FFFD.
    """
    one_line = _WHITE_SPACE.sub(" ", text)
    return with_no_break_spaces_where_needed(UNPRINTABLE.sub("\ufffd", one_line).strip(" "))


def _heading_rows(table: Table, aligns: Sequence[Align]) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of headings, the outermost first."""
    n_levels = max((len(column.spanners) for column in table.columns), default=0)
    for level in range(n_levels):
        yield _spanner_cells(table, level)
    headings = [*table.stubhead, *(column.heading for column in table.columns)]
    cells = []
    for text, align in zip(headings, aligns, strict=True):
        cells.append(Cell(_printable(text), align, is_heading=True))
    yield tuple(cells)


def _spanner_cells(table: Table, level: int) -> tuple[Cell, ...]:
    """Return one row of headings that columns share.

    Neighbouring columns share a heading if it and all headings above it are the same.
    """
    cells = [Cell()] * len(table.stubhead)
    for spanners, run in groupby(table.columns, key=lambda column: column.spanners[: level + 1]):
        n_columns = len(list(run))
        text = ""
        if len(spanners) > level:
            text = _printable(spanners[level])
        if text:
            cells.append(Cell(text, "center", n_columns, is_heading=True))
        else:
            cells += [Cell()] * n_columns
    return tuple(cells)


def _body_rows(table: Table, aligns: Sequence[Align]) -> Iterator[BodyRow]:
    """Yield the rows of the body, groups in the order in which they come."""
    pads = [decimal_point_pads(table, column) for column in range(len(table.columns))]
    groups = table.groups or [""] * len(table.stub)
    for group in dict.fromkeys(groups):
        if group:
            label = Cell(_printable(group), n_columns=len(aligns), bold=True, is_heading=True)
            yield BodyRow((label,), is_group_label=True)
        members = [row for row, label_of_row in enumerate(groups) if label_of_row == group]
        spans = _row_spans_of_labels([table.stub[row] for row in members])
        for row, row_spans in zip(members, spans, strict=True):
            cells = _stub_cells_of_all_levels(table, row, row_spans, aligns)
            for column, text in enumerate(table.cells[row]):
                cell = Cell(
                    _printable(text),
                    aligns[len(table.stubhead) + column],
                    bold=(row, column) in table.bold,
                    underline=(row, column) in table.underline,
                    pad=pads[column][row],
                )
                cells.append(cell)
            yield BodyRow(tuple(cells), rule_above=row in table.rows_with_rule_above)


def _stub_cells_of_all_levels(
    table: Table, row: int, spans: Sequence[int], aligns: Sequence[Align]
) -> list[Cell]:
    """Return the labels of a row as cells; only the last label is indented."""
    labels = table.stub[row]
    cells = []
    for level, (text, span) in enumerate(zip(labels, spans, strict=True)):
        is_last = level == len(labels) - 1
        indent = is_last and row in table.indented_rows
        cells.append(Cell(_printable(text), aligns[level], n_rows=span, is_heading=True, indent=indent))
    return cells


def _row_spans_of_labels(labels: Sequence[tuple[str, ...]]) -> list[list[int]]:
    """Return how many rows each label of each row spans, 0 where the label above reaches down over it.

    Equal labels below each other become one, except the last label of each row.
    """
    spans = [[1] * len(row_labels) for row_labels in labels]
    for level in range(len(labels[0]) - 1):
        for _, run in groupby(range(len(labels)), key=lambda row: labels[row][: level + 1]):
            first, *later_rows = run
            spans[first][level] += len(later_rows)
            for row in later_rows:
                spans[row][level] = 0
    return spans
