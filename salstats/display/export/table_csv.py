"""A table as CSV that a spreadsheet opens: the text of its cells."""

import csv
import io

from salstats.display.export.table_rows import Rows, placed

#: Heading of the column that holds the labels of groups of rows.
_GROUP = "Group"
#: A spreadsheet takes what begins so for a formula, also in a text file; an apostrophe makes it text.
_FORMULA = tuple("=+@\t\r")


def csv_text(rows: Rows) -> str:
    """A table as CSV: one row of headings, then its rows; title and notes are left out.

    A heading over several columns stands before those below it ("Grad-CAM: IoU"), the label of a group in
    a first column of its own, what spans rows in each of them.
    """
    above: list[list[str]] = [[] for _ in rows.aligns]
    for cells in rows.head:
        for column, cell in placed(cells):
            for covered in above[column : column + cell.columns]:
                covered += [cell.text] if cell.text else []
    headings = [": ".join(texts) for texts in above]
    grouped = any(row.is_group for row in rows.body)
    lines = [[_GROUP, *headings] if grouped else headings]
    group = ""
    for row in rows.body:
        if row.is_group:
            group = row.cells[0].text
        else:
            texts = [cell.text for cell in row.cells]
            lines.append([group, *texts] if grouped else texts)
    file = io.StringIO()
    safe = [[f"'{text}" if text[:1] in _FORMULA else text for text in line] for line in lines]
    csv.writer(file, lineterminator="\n").writerows(safe)
    return file.getvalue()
