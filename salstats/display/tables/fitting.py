"""Tables wider than a page: rows, columns and groups change places so that the table fits."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import NamedTuple, TypeAlias

from salstats.display.tables.record import Table, TableColumn
from salstats.display.tables.rows import table_to_rows
from salstats.display.tables.widths import Paper, TypeSetting

#: Size of type in points, by which a table is measured.
_TYPE_SIZE_POINTS = 7
#: A page, upright (183 mm) and turned on its side (247 mm).
_PAGE = Paper(
    line_widths_points=(518.0, 700.0), gap_points_by_type_size={_TYPE_SIZE_POINTS: 3.0}, type_scale=1.03
)
#: Row and column of a cell of a table.
_CellIndex: TypeAlias = tuple[int, int]
#: All texts of one label, from the outermost heading to the innermost.
_Label: TypeAlias = tuple[str, ...]
#: Positions of labels on several axes, one position per axis.
_Position: TypeAlias = tuple[int, ...]


class LabelAxis(Enum):
    """A dimension along which the cells of a table are labelled."""

    GROUP = "label of a group of rows"
    ROW = "label of a row"
    OUTER_HEADING = "headings above the heading of a column"
    HEADING = "heading of a column"


class Arrangement(NamedTuple):
    """Axes of a table that label groups, rows and columns of a new table, the outermost axis first."""

    groups: tuple[LabelAxis, ...]
    rows: tuple[LabelAxis, ...]
    columns: tuple[LabelAxis, ...]


#: Arrangements of a table that is too wide.
_ARRANGEMENTS = (
    Arrangement(
        groups=(LabelAxis.OUTER_HEADING, LabelAxis.GROUP), rows=(LabelAxis.ROW,), columns=(LabelAxis.HEADING,)
    ),
    Arrangement(
        groups=(LabelAxis.OUTER_HEADING,), rows=(LabelAxis.GROUP, LabelAxis.HEADING), columns=(LabelAxis.ROW,)
    ),
    Arrangement(
        groups=(LabelAxis.OUTER_HEADING, LabelAxis.ROW), rows=(LabelAxis.GROUP,), columns=(LabelAxis.HEADING,)
    ),
)


@dataclass(frozen=True)
class AxisLabels:
    """Labels of a table's rows, or of its columns, on one axis.

    Attributes
    ----------
    distinct : list of tuple of str
        Each label once, in the order of the table.
    positions : list of int
        For each row or column of the table, the position of its label in `distinct`.
    """

    distinct: list[_Label]
    positions: list[int]


def rearranged_to_fit_page(table: Table) -> Table:
    """Return a table whose rows, columns and groups have changed places so that it fits a page.

    A table that fits already, or that may not be rearranged, is returned as it is.

    In a table with outcomes above methods as columns, terms as rows and tasks as groups, outcomes become
    groups of rows. Rows are then terms as before, or the methods of each task with a column per term, or the
    tasks in groups by outcome and term. Of the arrangements that fit, those for an upright page are
    preferred, then the one with the fewest lines. A table that fits in no arrangement stays as it is; files
    of it are cut into parts.
    """
    if not table.may_rearrange or fits_page(table):
        return table
    fitting = []
    for arrangement in _ARRANGEMENTS:
        rearranged = _arranged(table, arrangement)
        if rearranged is not None and fits_page(rearranged):
            fitting.append(rearranged)
    return min(fitting, key=_needs_turned_page_and_n_lines, default=table)


def _needs_turned_page_and_n_lines(table: Table) -> tuple[bool, int]:
    """Return whether the page of a table has to be turned, and the number of its lines."""
    needs_turned_page = not fits_page(table, turned=False)
    n_lines = len(table.stub) + len(set(table.groups))
    return needs_turned_page, n_lines


def fits_page(table: Table, *, turned: bool = True) -> bool:
    """Return whether a table fits on a turned or an upright page, with intervals below their estimates."""
    return _PAGE.fits(table_to_rows(table), TypeSetting(_TYPE_SIZE_POINTS, turned=turned, n_breaks=1))


def _arranged(table: Table, arrangement: Arrangement) -> Table | None:
    """Return the table in an arrangement, None where its cells have no place of their own in it."""
    if not _can_arrange(table, arrangement):
        return None
    has_one_outer_heading = len({column.spanners for column in table.columns}) == 1
    if has_one_outer_heading and arrangement.rows == (LabelAxis.GROUP, LabelAxis.HEADING):
        # an outer heading that all columns share would make one group of all rows
        arrangement = Arrangement(
            groups=(LabelAxis.GROUP,), rows=(LabelAxis.HEADING,), columns=arrangement.columns
        )
    shared_headings = _headings_above_all_columns(table)
    labels = _distinct_labels_and_positions_by_axis(
        table, n_shared=len(shared_headings), rows_become_columns=arrangement.columns == (LabelAxis.ROW,)
    )
    sources = _source_cell_by_position(table, arrangement, labels)
    if sources is None:
        return None
    columns = sorted({column for _, column in sources})
    n_columns_needed = len(columns) * len(labels[LabelAxis.OUTER_HEADING].distinct)
    if arrangement.columns == (LabelAxis.HEADING,) and n_columns_needed > len(table.columns):
        # some headings stand below one outer heading only: groups by outer headings would have empty columns
        return None

    rows_stay = arrangement.rows == (LabelAxis.ROW,)
    source_row_by_new_row = _source_row_by_new_row(table, sources, rows_stay=rows_stay)
    new_rows = sorted(source_row_by_new_row)
    grid = []
    cells = []
    for new_row in new_rows:
        source_cells = [sources.get((new_row, column)) for column in columns]
        grid.append(source_cells)
        cells.append([_cell_text(table, source) for source in source_cells])
    n_group_axes = len(arrangement.groups)
    groups = []
    for new_row in new_rows:
        group_texts = _texts_at_position(labels, arrangement.groups, new_row[:n_group_axes])
        groups.append(", ".join(group_texts))
    if not any(groups):
        groups = []
    if rows_stay:
        stubhead = table.stubhead
        stub = [table.stub[source_row_by_new_row[new_row]] for new_row in new_rows]
        source_rows = [source_row_by_new_row[new_row] for new_row in new_rows]
    else:
        stubhead = _stubhead(table, labels, arrangement.rows)
        stub = [_texts_at_position(labels, arrangement.rows, new_row[n_group_axes:]) for new_row in new_rows]
        source_rows = []  # marks of rows have no row to stand at
    return replace(
        table,
        stubhead=stubhead,
        stub=stub,
        columns=_rearranged_column_headings(table, arrangement, labels, sources, shared_headings),
        cells=cells,
        groups=groups,
        bold=_cell_positions_in_grid(table.bold, grid),
        underline=_cell_positions_in_grid(table.underline, grid),
        rows_with_rule_above=_new_positions_of_rows(table.rows_with_rule_above, source_rows),
        indented_rows=_new_positions_of_rows(table.indented_rows, source_rows),
        foot_rows=_new_positions_of_rows(table.foot_rows, source_rows),
    )


def _can_arrange(table: Table, arrangement: Arrangement) -> bool:
    """Return whether a table has the axes of an arrangement, and columns and rows that it may mix."""
    counts_of_outer_headings = {len(column.spanners) for column in table.columns}
    if len(counts_of_outer_headings) > 1:
        return False
    if arrangement.columns == (LabelAxis.ROW,):
        # each new column holds cells of all old columns, which have to be aligned alike
        return len({column.align for column in table.columns}) <= 1
    if arrangement.rows == (LabelAxis.GROUP,):
        # each old row becomes a group: those of the foot would not stand at the foot any more
        return bool(table.groups) and not table.foot_rows
    return True


def _headings_above_all_columns(table: Table) -> list[str]:
    """Return the outermost headings that stand above all columns."""
    shared = []
    for headings in zip(*(column.spanners for column in table.columns), strict=True):
        if len(set(headings)) > 1:
            break
        shared.append(headings[0])
    return shared


def _distinct_labels_and_positions_by_axis(
    table: Table, *, n_shared: int, rows_become_columns: bool
) -> dict[LabelAxis, AxisLabels]:
    """Return the labels of a table on each axis, without the `n_shared` headings above all columns."""
    groups = table.groups or [""] * len(table.stub)
    return {
        LabelAxis.GROUP: _distinct_with_positions([(group,) for group in groups]),
        LabelAxis.ROW: _distinct_with_positions(
            _row_labels_with_factors(table, rows_become_columns=rows_become_columns)
        ),
        LabelAxis.OUTER_HEADING: _distinct_with_positions(
            [column.spanners[n_shared:] for column in table.columns]
        ),
        LabelAxis.HEADING: _distinct_with_positions([(column.heading,) for column in table.columns]),
    }


def _distinct_with_positions(labels: Sequence[_Label]) -> AxisLabels:
    """Return the distinct labels, and the position of each label among them."""
    distinct = list(dict.fromkeys(labels))
    return AxisLabels(distinct, [distinct.index(label) for label in labels])


def _row_labels_with_factors(table: Table, *, rows_become_columns: bool) -> list[_Label]:
    """Return the label of each row, a level of a factor with its factor in front.

    Where rows become columns, a factor's own row, which holds P of the factor, becomes a column "P" below
    the name of the factor.
    """
    labels: list[_Label] = []
    factor = ""
    for row, stub in enumerate(table.stub):
        if row in table.indented_rows:
            labels.append((factor, *stub))
            continue
        factor = stub[-1]
        has_levels = row + 1 in table.indented_rows
        if rows_become_columns and has_levels:
            labels.append((factor, "P"))
        else:
            labels.append(("", *stub))
    return labels


def _source_cell_by_position(
    table: Table, arrangement: Arrangement, labels: Mapping[LabelAxis, AxisLabels]
) -> dict[tuple[_Position, _Position], _CellIndex] | None:
    """Return the row and column of the cell that moves to each place, None if two cells move to one place.

    The keys are places of the new table: position of the row, position of the column. Rows without text,
    which are headings of the rows below them, are omitted unless rows stay rows.
    """
    rows_stay = arrangement.rows == (LabelAxis.ROW,)
    sources: dict[tuple[_Position, _Position], _CellIndex] = {}
    for row, column in product(range(len(table.cells)), range(len(table.columns))):
        if not rows_stay and not any(table.cells[row]):
            # an empty row is a heading of the rows below it, and is needed only above them
            continue
        new_row = _label_positions_of_cell(labels, (*arrangement.groups, *arrangement.rows), row, column)
        new_column = _label_positions_of_cell(labels, arrangement.columns, row, column)
        if (new_row, new_column) in sources:
            return None
        sources[new_row, new_column] = (row, column)
    return sources


def _label_positions_of_cell(
    labels: Mapping[LabelAxis, AxisLabels], axes: Sequence[LabelAxis], row: int, column: int
) -> tuple[int, ...]:
    """Return the position of a cell's label among the labels of each of some axes."""
    position = []
    for axis in axes:
        is_row_axis = axis in (LabelAxis.GROUP, LabelAxis.ROW)
        index = row if is_row_axis else column
        position.append(labels[axis].positions[index])
    return tuple(position)


def _source_row_by_new_row(
    table: Table, sources: Mapping[tuple[_Position, _Position], _CellIndex], *, rows_stay: bool
) -> dict[_Position, int]:
    """Return the old row of each new row, without new rows that have no text and are not headings."""
    rows = {}
    for (new_row, _), (row, column) in sources.items():
        is_heading = rows_stay and not any(table.cells[row])
        if table.cells[row][column] or is_heading:
            rows[new_row] = row
    return rows


def _texts_at_position(
    labels: Mapping[LabelAxis, AxisLabels], axes: Sequence[LabelAxis], position: _Position
) -> _Label:
    """Return the texts at a position, the outermost first, without empty ones."""
    texts: list[str] = []
    for axis, index in zip(axes, position, strict=True):
        texts += [text for text in labels[axis].distinct[index] if text]
    return tuple(texts)


def _stubhead(table: Table, labels: Mapping[LabelAxis, AxisLabels], axes: Sequence[LabelAxis]) -> _Label:
    """Return the headings of row labels that were groups or headings of columns, for axes that have texts."""
    group_name, heading_name = table.axis_headings
    names = {LabelAxis.GROUP: group_name, LabelAxis.HEADING: heading_name}
    stubhead = []
    for axis in axes:
        has_texts = any(any(label) for label in labels[axis].distinct)
        if axis in names and has_texts:
            stubhead.append(names[axis])
    return tuple(stubhead)


def _rearranged_column_headings(
    table: Table,
    arrangement: Arrangement,
    labels: Mapping[LabelAxis, AxisLabels],
    sources: Mapping[tuple[_Position, _Position], _CellIndex],
    headings_above_all: Sequence[str],
) -> list[TableColumn]:
    """Return the new columns, aligned as the column that their first cell comes from."""
    first_columns: dict[_Position, TableColumn] = {}
    for (_, position), (_, column) in sources.items():
        first_columns.setdefault(position, table.columns[column])
    foot_positions = {labels[LabelAxis.ROW].positions[row] for row in table.foot_rows}
    columns = []
    for position in sorted(first_columns):
        *outer, heading = _texts_at_position(labels, arrangement.columns, position)
        spanners = (*headings_above_all, *outer)
        if arrangement.columns == (LabelAxis.ROW,) and position[0] in foot_positions:
            # the columns were rows: those of the foot are no estimates, which the shared headings name
            spanners = ()
        columns.append(TableColumn(heading, spanners, first_columns[position].align))
    return columns


def _cell_text(table: Table, cell: _CellIndex | None) -> str:
    """Return the text of a cell, "" for None."""
    if cell is None:
        return ""
    row, column = cell
    return table.cells[row][column]


def _cell_positions_in_grid(
    cells: Collection[_CellIndex], grid: Sequence[Sequence[_CellIndex | None]]
) -> set[_CellIndex]:
    """Return the row and column at which some of a table's cells stand in a new grid."""
    positions = set()
    for row, line in enumerate(grid):
        positions |= {(row, column) for column, cell in enumerate(line) if cell in cells}
    return positions


def _new_positions_of_rows(rows: Collection[int], source_rows: Sequence[int]) -> set[int]:
    """Return the positions of the new rows whose old row is one of `rows`."""
    return {new_row for new_row, row in enumerate(source_rows) if row in rows}
