"""The text that a table shows as CSV that a spreadsheet opens."""

import csv
import io

from salstats.display.export.table_grid import Cell, Grid, Row, Run, layout

_RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
_LOWERED = str.maketrans("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋")
#: Heading of the column that holds the labels of groups of rows.
_GROUP = "Group"


#: A spreadsheet takes what begins so for a formula, also in a text file; an apostrophe makes it text.
_FORMULA = tuple("=+@\t\r")


def grid_csv(grid: Grid) -> str:
    """Return the text of a table: one row of headings, then its rows; title and notes are left out.

    A spanner stands before the headings below it ("Grad-CAM: IoU"), the label of a group in a first column
    of its own, what spans rows in each of them. Marks of footnotes are left out with the notes.
    """
    rows = []
    grouped = any(row.kind == "group" for row in grid.body)
    headings = _headings(grid)
    if any(headings) or grouped:
        rows.append([_GROUP, *headings] if grouped else headings)
    group = ""
    for row, slots in zip(grid.body, layout(grid.body, grid.n_columns), strict=True):
        if row.kind == "group":
            group = " ".join(filter(None, map(_text, row.cells)))
            continue
        cells = [""] * grid.n_columns
        for slot in slots:
            cells[slot.column] = _text(slot.cell)
        rows.append([_label(row, group), *cells] if grouped else cells)
    file = io.StringIO()
    safe = [[f"'{text}" if text[:1] in _FORMULA else text for text in row] for row in rows]
    csv.writer(file, lineterminator="\n").writerows(safe)
    return file.getvalue()


def _label(row: Row, group: str) -> str:
    """Return the group a row is in; a summary of the whole table is in none."""
    return "" if row.kind == "grand_summary" else group


def _headings(grid: Grid) -> list[str]:
    """Return one heading per column, its spanners before it."""
    found: list[list[str]] = [[] for _ in range(grid.n_columns)]
    for slots in layout(grid.head, grid.n_columns):
        for slot in slots:
            text = _text(slot.cell)
            if slot.last and text:
                for column in range(slot.column, slot.column + slot.cell.colspan):
                    found[column].append(text)
    return [": ".join(texts) for texts in found]


def _text(cell: Cell) -> str:
    """Return the text of a cell on one line, without marks of footnotes."""
    return " ".join("".join(_plain(run) for run in cell.runs if not run.mark).split())


def _plain(run: Run) -> str:
    """Return a run; raised and lowered digits are signs of their own, or 10² would become 102."""
    if run.superscript:
        return run.text.translate(_RAISED)
    return run.text.translate(_LOWERED) if run.subscript else run.text
