"""Tables as text for other programs: CSV, Markdown and JSON."""

import csv
import io
import json
import re
from collections.abc import Sequence

from salstats.display.tables.rows import BodyRow, Cell, TableRows, cells_by_column

#: Heading of the column that holds the labels of groups of rows in CSV.
_GROUP_HEADING = "Group"
#: Characters with which a formula begins in a spreadsheet, also in a text file.
_FORMULA_STARTS = tuple("=+@\t\r")
#: Characters that Markdown or the HTML in it would not show as they are.
_MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|~$^&])")
#: Cells of the row below the headings in Markdown, by the alignment of a column.
_MARKDOWN_RULES = {"left": ":---", "center": ":---:", "right": "---:"}


def csv_text(rows: TableRows) -> str:
    """Return a table as CSV: one row of headings, then its rows; title and notes are left out.

    A heading over several columns stands before those below it ("Grad-CAM: IoU"), the label of a group in
    a first column of its own, the label of several rows in each of them.
    """
    lines = [[_GROUP_HEADING, *_joined_headings(rows)]]
    group = ""
    for row in rows.body:
        if row.is_group_label:
            group = row.cells[0].text
        else:
            lines.append([group, *(cell.text for cell in row.cells)])
    if not _has_groups(rows):
        lines = [line[1:] for line in lines]
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([map(_spreadsheet_text, line) for line in lines])
    return _with_plain_spaces(file.getvalue())


def markdown_text(rows: TableRows) -> str:
    """Return a table in the Markdown of GitHub and pandoc: title, cells below one row of headings, notes.

    A heading over several columns stands before those below it ("Grad-CAM: IoU"), the label of a group in
    bold in a row of its own, the label of several rows in the first of them. Underlined cells are HTML's
    `u`, for which Markdown has no sign.
    """
    paragraphs = []
    if rows.title:
        paragraphs.append(f"**{_escaped_markdown(rows.title)}**")
    if rows.subtitle:
        paragraphs.append(_escaped_markdown(rows.subtitle))
    lines = [
        _markdown_line([_escaped_markdown(heading) for heading in _joined_headings(rows)]),
        _markdown_line([_MARKDOWN_RULES[align] for align in rows.aligns]),
    ]
    for row in rows.body:
        lines.append(_markdown_line(_markdown_cells(row, len(rows.aligns))))
    paragraphs.append("\n".join(lines))
    paragraphs += [_escaped_markdown(note) for note in rows.notes]
    return _with_plain_spaces("\n\n".join(paragraphs)) + "\n"


def json_document_text(rows: TableRows) -> str:
    """Return a table as JSON: `title`, `subtitle`, `columns`, `n_label_columns`, `rows`, `notes`.

    `columns` are the headings of each column, the outermost first; the first `n_label_columns` of them hold
    labels of rows. Each row has its `group` (null without groups), the texts of its `cells`, and the
    positions of its `bold` and `underlined` cells. The label of several rows stands in each of them.
    """
    group: str | None = None
    row_records = []
    for row in rows.body:
        if row.is_group_label:
            group = row.cells[0].text
            continue
        record = {
            "group": group,
            "cells": [cell.text for cell in row.cells],
            "bold": [position for position, cell in enumerate(row.cells) if cell.bold],
            "underlined": [position for position, cell in enumerate(row.cells) if cell.underline],
        }
        row_records.append(record)
    table = {
        "title": rows.title or None,
        "subtitle": rows.subtitle or None,
        "columns": _headings_of_each_column(rows),
        "n_label_columns": rows.n_stub,
        "rows": row_records,
        "notes": list(rows.notes),
    }
    return _with_plain_spaces(json.dumps(table, ensure_ascii=False, indent=2)) + "\n"


def _headings_of_each_column(rows: TableRows) -> list[list[str]]:
    """Return the headings of each column, the outermost first, empty ones left out."""
    headings: list[list[str]] = [[] for _ in rows.aligns]
    for cells in rows.head:
        for column, cell in cells_by_column(cells):
            if cell.text:
                for column_headings in headings[column : column + cell.n_columns]:
                    column_headings.append(cell.text)
    return headings


def _joined_headings(rows: TableRows) -> list[str]:
    """Return the headings of each column as one text: "Grad-CAM: IoU"."""
    return [": ".join(headings) for headings in _headings_of_each_column(rows)]


def _has_groups(rows: TableRows) -> bool:
    """Return whether the rows of a table are grouped."""
    return any(row.is_group_label for row in rows.body)


def _with_plain_spaces(text: str) -> str:
    """Return a text whose no-break spaces are blanks, as programs expect them."""
    return text.replace("\u00a0", " ")


def _spreadsheet_text(text: str) -> str:
    """Return a text, with an apostrophe in front if a spreadsheet would read it as a formula."""
    if text.startswith(_FORMULA_STARTS):
        return f"'{text}"
    return text


def _escaped_markdown(text: str) -> str:
    r"""Return a text that Markdown shows as it is.

    >>> print(_escaped_markdown("0.566 (0.526, 0.606)***"))
    0.566 (0.526, 0.606)\*\*\*
    """
    return _MARKDOWN_SIGNS.sub(r"\\\1", text)


def _markdown_line(texts: Sequence[str]) -> str:
    """Return one line of a table in Markdown."""
    return f"| {' | '.join(texts)} |"


def _markdown_cells(row: BodyRow, n_columns: int) -> list[str]:
    """Return the texts of a row of the body, "" where a label from above extends into it."""
    texts = [_markdown_cell(cell) for cell in row.cells]
    return texts + [""] * (n_columns - len(texts))


def _markdown_cell(cell: Cell) -> str:
    """Return the text of a cell with its marks."""
    if not cell.n_rows or not cell.text:
        return ""
    text = _escaped_markdown(cell.text)
    if cell.indent:
        text = f"&emsp;{text}"
    if cell.underline:
        text = f"<u>{text}</u>"
    if cell.bold:
        text = f"**{text}**"
    return text
