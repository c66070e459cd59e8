"""A table that is wider than a page: its rows, columns and groups change places so that it fits."""

from dataclasses import replace
from itertools import product, takewhile
from typing import TypeAlias

from salstats.display.export.table_widths import Paper
from salstats.display.tables.record import Column, Table
from salstats.display.tables.rows import rows_of

#: Size of type in points, and a page upright (183 mm) and on its side (247 mm).
_POINTS = 7
_PAGE = Paper((518.0, 700.0), {_POINTS: 3.0}, 1.03)
#: What stands in groups, rows and columns instead: `g` what groups were and `r` what rows were, `o` the outer
#: headings of columns and `c` their own.
_WAYS = (("og", "r", "c"), ("o", "gc", "r"), ("or", "g", "c"))
#: Texts on one axis from the outermost, and places on several axes.
_Key: TypeAlias = tuple[str, ...]
_Place: TypeAlias = tuple[int, ...]


def on_page(table: Table) -> Table:
    """The table, or where it `turns` and is wider than a page, one of the same cells that fits.

    With methods below outcomes in columns, terms in rows and tasks in groups, outcomes become groups of
    rows, and in rows stand terms as before, or the methods of each task with a column per term, or tasks
    in groups by term, too: the shortest of what fits an upright page, else of what fits. A table that fits
    in no way stays as it is, and print cuts it in parts.
    """
    if not table.turns or fits(table):
        return table
    ways = (_arranged(table, *way) for way in _WAYS)
    fitting = [made for made in ways if made is not None and fits(made)]
    return min(fitting, key=_height, default=table)


def _height(table: Table) -> tuple[bool, int]:
    """What is the smaller the better: whether a page has to be turned, and lines."""
    return not fits(table, turned=False), len(table.stub) + len(set(table.groups))


def fits(table: Table, *, turned: bool = True) -> bool:
    """Whether a table fits on a page, by default on its side, with its intervals below their estimates."""
    return _PAGE.fits(rows_of(table), (_POINTS, turned, 1))


def _arranged(table: Table, groups: str, rows: str, columns: str) -> Table | None:
    """The table with these axes in its groups, rows and columns, None where that cannot be."""
    spanners = [column.spanners for column in table.columns]
    mixed = columns == "r" and len({column.align for column in table.columns}) > 1
    if mixed or len(set(map(len, spanners))) > 1 or (rows == "g" and (table.foot or not table.groups)):
        return None
    everywhere = [
        level[0] for level in takewhile(lambda own: len(set(own)) == 1, zip(*spanners, strict=True))
    ]
    if rows == "gc" and len(set(spanners)) == 1:
        groups, rows = "g", "c"
    keys = _axes(table, len(everywhere), split=columns == "r")
    texts = {axis: list(dict.fromkeys(own)) for axis, own in keys.items()}
    at = {axis: [texts[axis].index(key) for key in own] for axis, own in keys.items()}
    shown = range(len(table.cells)) if rows == "r" else [i for i, row in enumerate(table.cells) if any(row)]
    sources: dict[tuple[_Place, _Place], tuple[int, int]] = {}
    for i, j in product(shown, range(len(table.columns))):
        down, across = (
            tuple(at[x][i if x in "gr" else j] for x in part) for part in (groups + rows, columns)
        )
        if sources.setdefault((down, across), (i, j)) != (i, j):
            return None
    across_all = sorted({across for _, across in sources})
    if columns == "c" and len(across_all) * len(texts["o"]) > len(table.columns):
        return None  # what stands below one outer heading does not below another
    # which row each line comes from, where it has something to say
    origin = {
        down: i
        for (down, _), (i, j) in sources.items()
        if table.cells[i][j] or (rows == "r" and not any(table.cells[i]))
    }
    lines = sorted(origin)

    def said(axes: str, place: _Place) -> _Key:
        return tuple(text for x, k in zip(axes, place, strict=True) for text in texts[x][k] if text)

    def column(place: _Place) -> Column:
        *above, own = said(columns, place)
        _, j = next(cell for (_, across), cell in sources.items() if across == place)
        at_foot = columns == "r" and place[0] in {at["r"][i] for i in table.foot}
        return Column(own, () if at_foot else (*everywhere, *above), table.columns[j].align)

    def marked(cells: set[tuple[int, int]]) -> set[tuple[int, int]]:
        return {(k, m) for k, row in enumerate(where) for m, cell in enumerate(row) if cell in cells}

    def kept(own: set[int]) -> set[int]:
        return {k for k, down in enumerate(lines) if rows == "r" and origin[down] in own}

    where = [[sources.get((down, across)) for across in across_all] for down in lines]
    named = [", ".join(said(groups, down[: len(groups)])) for down in lines]
    stub = [table.stub[origin[down]] if rows == "r" else said(rows, down[len(groups) :]) for down in lines]
    heads = {"g": table.axes[0], "c": table.axes[1]}
    heading = tuple(heads[x] for x in rows if x in heads and any(any(text) for text in texts[x]))
    return replace(
        table,
        stubhead=table.stubhead if rows == "r" else heading,
        stub=stub,
        columns=[column(across) for across in across_all],
        cells=[["" if cell is None else table.cells[cell[0]][cell[1]] for cell in row] for row in where],
        groups=named if any(named) else [],
        bold=marked(table.bold),
        underline=marked(table.underline),
        apart=kept(table.apart),
        indent=kept(table.indent),
        foot=kept(table.foot),
    )


def _axes(table: Table, n_everywhere: int, *, split: bool) -> dict[str, list[_Key]]:
    """What each row (`g`, `r`) and column (`o`, `c`) of a table is of, without headings of all columns.

    With `split` a factor's own row is one of P: what it says is P of the whole of it.
    """
    parents = _parents(table)
    factors = {i - 1 for i in table.indent if i - 1 not in table.indent} if split else set()
    rows = [(parents.get(i, ""), *stub) for i, stub in enumerate(table.stub)]
    return {
        "g": [(group,) for group in table.groups or [""] * len(table.stub)],
        "r": [(key[-1], "P") if i in factors else key for i, key in enumerate(rows)],
        "o": [column.spanners[n_everywhere:] for column in table.columns],
        "c": [(column.heading,) for column in table.columns],
    }


def _parents(table: Table) -> dict[int, str]:
    """The label of the row that each row which is set in belongs to."""
    parents: dict[int, str] = {}
    above = ""
    for i, stub in enumerate(table.stub):
        if i in table.indent:
            parents[i] = above
        else:
            above = stub[-1]
    return parents
