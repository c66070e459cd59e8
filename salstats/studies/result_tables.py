"""Tables of results: a row for each row of a frame, cells by column or by function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from great_tables import GT
from pandas.api.types import is_numeric_dtype

from salstats.display.tables.great_table import great_table
from salstats.display.tables.record import Table, TableColumn
from salstats.display.text.format import count_text, fixed_text

#: Source of the cells below a heading of a table: a column, a column and its decimals, or a function of the
#: row. Numbers of a column without decimals are rounded to whole numbers.
CellSource = str | tuple[str, int] | Callable[[Any], str]


def table_of(
    rows: pd.DataFrame,
    table_id: str,
    stub: Mapping[str, CellSource],
    columns: Mapping[Any, CellSource],
    *,
    groups: CellSource | None = None,
    notes: Sequence[str] = (),
    **options: Any,
) -> GT:
    """Make a table with a row for each row of a frame.

    Parameters
    ----------
    rows : DataFrame
        Rows of the table.
    table_id : str
        Identifier of the table in HTML.
    stub : mapping of str to CellSource
        Row labels by their heading.
    columns : mapping of str or TableColumn to CellSource
        Cells by their heading. Text of a column of the frame is aligned to the left, its numbers to the
        right.
    groups : CellSource, optional
        Heading above consecutive rows.
    notes : sequence of str
        Notes below the table.
    **options
        Fields of `Table`.
    """
    labels = []
    cells = []
    group_names = []
    for row in rows.itertuples(index=False):
        labels.append(tuple(_cell_text(source, row) for source in stub.values()))
        cells.append([_cell_text(source, row) for source in columns.values()])
        if groups is not None:
            group_names.append(_cell_text(groups, row))
    headings = [_table_column_aligned_by_type(heading, source, rows) for heading, source in columns.items()]
    table = Table(tuple(stub), labels, headings, cells, groups=group_names, notes=notes, **options)
    return great_table(table, table_id)


def _cell_text(source: CellSource, row: Any) -> str:
    """Return the text of the source that a source has for a row."""
    if callable(source):
        return source(row)
    if isinstance(source, tuple):
        column, decimals = source
        return fixed_text(getattr(row, column), decimals)
    value = getattr(row, source)
    if isinstance(value, str):
        return value
    return count_text(value)


def _table_column_aligned_by_type(
    heading: str | TableColumn, source: CellSource, rows: pd.DataFrame
) -> TableColumn:
    """Return a heading as a column; a column of the frame is aligned by its type."""
    if isinstance(heading, TableColumn):
        return heading
    if not isinstance(source, str):
        return TableColumn(heading)
    if is_numeric_dtype(rows[source]):
        return TableColumn(heading, align="right")
    return TableColumn(heading, align="left")
