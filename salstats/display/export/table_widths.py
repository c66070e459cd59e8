"""How wide a table's columns are, and how it is set so that they fit on a page."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil
from typing import NamedTuple, TypeAlias

from salstats.display.tables.rows import Cell, Rows, cut, placed
from salstats.display.text.packing import packed

#: Widths of Helvetica's narrow and wide signs, and of the others, in ems.
_NARROW, _WIDE, _OTHER = 0.3, 0.74, 0.556
_NARROW_SIGNS = " !'(),-./:;I[]fijlrt|\u00a0"
_WIDE_SIGNS = "%&+<=>@Mmw\u2212\u2014\u00d7"
_BOLD = 1.08
#: How far a label is set in from that of the row above it, in ems.
INDENT = 1.0
#: Columns of text are not made narrower than this many ems, headings not wider before they wrap.
_NARROWEST, _WIDEST_HEADING = 9.0, 16.0
#: A number, its interval or share behind it, and nothing else.
_NUMBER = re.compile("([<>≤≥]? ?[-+\u2212\u2013]?\\.?\\d[^ ()]*|\u2014)(?: ([(\\[].*))?")
#: A word of more signs may also be broken behind one that joins its parts.
_LONG_WORD = 20
_PARTS = re.compile(r"[^_/\-.:;=+]*[_/\-.:;=+]?")
_NBSP = "\u00a0"
Setting: TypeAlias = tuple[int, bool, int]
#: Size of type in points, whether the page is turned, and how often a number with its interval is broken:
#: not at all, or before the interval. The first that fits is taken.
_SETTINGS: tuple[Setting, ...] = (
    (9, False, 0),
    (8, False, 0),
    (8, False, 1),
    (9, True, 0),
    (8, True, 0),
    (8, True, 1),
    (7, True, 1),
)
#: How the parts are set of a table that fits in none.
_PARTS_SET: tuple[Setting, ...] = ((8, True, 1), (7, True, 1))


class Paper(NamedTuple):
    """Room of a table, in points.

    `lines` are the widths of an upright and of a turned line, `gaps` the space at each side of a column by
    size of type; type is so much `wider` than it is measured here.
    """

    lines: tuple[float, float]
    gaps: Mapping[int, float]
    wider: float

    def taken(self, widths: Sequence[float], points: int) -> list[float]:
        """What columns of widths in ems take with the space at their sides."""
        return [width * points * self.wider + 2 * self.gaps[points] for width in widths]

    def fits(self, rows: Rows, setting: Setting) -> bool:
        """Whether a table fits in a setting, its columns as narrow as they can be."""
        points, turned, breaks = setting
        return sum(self.taken(widths_of(rows, breaks)[1], points)) <= self.lines[turned]


class Plan(NamedTuple):
    """How a table is set: type in points, page, width of the line, and of each column in ems.

    `gap` is the space at each side of a column in points, `em` an em of the widths.
    """

    points: int
    turned: bool
    breaks: int
    line: float
    gap: float
    em: float
    widths: list[float]

    def room(self, column: int, n_columns: int = 1) -> float:
        """The width of columns side by side in points, with the space between them."""
        widths = self.widths[column : column + n_columns]
        return sum(widths) * self.em + 2 * self.gap * (n_columns - 1)

    def lines(self, cell: Cell) -> list[str]:
        """The lines that a cell's text is given; a text may be broken further at its spaces."""
        return lines_of(cell.text, self.breaks)

    def n_lines(self, cells: Sequence[Cell]) -> int:
        """How many lines a row takes, about."""
        counts = [1]
        for column, cell in placed(cells):
            room = self.room(column, cell.columns) / self.em + 1e-6
            counts.append(sum(max(1, ceil(width_of(cell, line) / room)) for line in self.lines(cell)))
        return max(counts)

    def wraps(self, cell: Cell, column: int) -> bool:
        """Whether a cell takes more than one line."""
        room = self.room(column, cell.columns) / self.em + 1e-6
        return len(self.lines(cell)) > 1 or width_of(cell, cell.text) > room


def parts_of(rows: Rows, paper: Paper) -> list[tuple[Rows, Plan]]:
    """A table, or where it fits in no setting its parts, each with its labels of rows and its plan.

    Parts are cut between outer headings where these have room, and are about as wide as each other; the title
    stands above the first, the notes below the last.
    """
    if len(rows.aligns) < rows.n_stub + 2 or any(paper.fits(rows, s) for s in _SETTINGS):
        return [(rows, plan_of(rows, paper))]
    points, turned, breaks = _PARTS_SET[0]
    own = paper.taken(widths_of(rows, breaks)[1], points)
    room = paper.lines[turned] - sum(own[: rows.n_stub])
    starts = _block_starts(rows)
    blocks = [sum(own[a:b]) for a, b in pairwise(starts)]
    if max(blocks) > room:
        starts, blocks = list(range(rows.n_stub, len(own) + 1)), own[rows.n_stub :]
    n_parts = len(packed(blocks, room))
    limits = (sum(blocks) / n_parts + k / 20 * room for k in range(20))
    sizes = next(s for s in (packed(blocks, min(limit, room)) for limit in limits) if len(s) == n_parts)
    found, block = [], 0
    for size in sizes:
        found.append(cut(rows, starts[block], starts[block + size]))
        block += size
    found[0] = replace(found[0], title=rows.title, subtitle=rows.subtitle)
    found[-1] = replace(found[-1], notes=rows.notes)
    return [(part, plan_of(part, paper, _PARTS_SET)) for part in found]


def _block_starts(rows: Rows) -> list[int]:
    """First columns of what stands below the outermost headings that differ, then the end."""
    for cells in rows.head:
        starts = [column for column, _ in placed(cells) if column >= rows.n_stub]
        if len(starts) > 1:
            break
    return [*starts, len(rows.aligns)]


def plan_of(rows: Rows, paper: Paper, settings: Sequence[Setting] = _SETTINGS) -> Plan:
    """The first setting in which a table fits, else the last with columns narrower than their words."""
    points, turned, breaks = next((s for s in settings if paper.fits(rows, s)), settings[-1])
    line, gap, em = paper.lines[turned], paper.gaps[points], points * paper.wider
    natural, least = widths_of(rows, breaks)
    room = (line - 2 * gap * len(natural)) / em
    spare = room - sum(least)
    wanted = sum(natural) - sum(least)
    if spare < 0:
        widths = [width * room / sum(least) for width in least]
    else:
        share = min(1.0, spare / wanted) if wanted else 1.0
        widths = [own + share * (wide - own) for own, wide in zip(least, natural, strict=True)]
    return Plan(points, turned, breaks, line, gap, em, widths)


def widths_of(rows: Rows, breaks: int) -> tuple[list[float], list[float]]:
    """The widths in ems that columns want, and those that they need."""
    lines = [rows.head[-1], *(row.cells for row in rows.body if not row.is_group)]
    both = [
        [_widths(line[j], breaks, heads=i == 0) for i, line in enumerate(lines)]
        for j in range(len(rows.aligns))
    ]
    natural, least = ([max(own[k] for own in column) for column in both] for k in (0, 1))
    for cells in rows.head[:-1]:
        for first, cell in placed(cells):
            own = slice(first, first + cell.columns)
            missing = _widths(cell, breaks, heads=True)[0] - sum(natural[own])
            natural[own] = [width + max(0.0, missing) / cell.columns for width in natural[own]]
    return natural, least


def _widths(cell: Cell, breaks: int, heads: bool) -> tuple[float, float]:
    """The widths that one cell wants and needs; a heading is wrapped rather than have its column wide."""
    if _NUMBER.fullmatch(cell.text):
        first, *others = lines_of(cell.text, breaks)
        width = max(width_of(cell, cell.pad + first), *(width_of(cell, line) for line in others), 0.0)
        return width, width
    own = width_of(cell, cell.pad + cell.text)
    longest = max(width_of(cell, part) for word in cell.text.split(" ") for part in word_parts(word))
    if heads:
        return max(longest, min(own, _WIDEST_HEADING)), longest
    return own, longest if breaks else min(own, max(longest, _NARROWEST))


def width_of(cell: Cell, text: str) -> float:
    """The width of a text of a cell in ems."""
    return text_width(text) * (_BOLD if cell.bold else 1.0) + INDENT * cell.indent


def text_width(text: str) -> float:
    """The width of a line of text in ems, about as a sans serif sets it."""
    return sum(map(_sign_width, text))


def _sign_width(sign: str) -> float:
    """The width of one sign: none for accents, full for East Asian ones."""
    if unicodedata.combining(sign):
        return 0.0
    if unicodedata.east_asian_width(sign) in "WF":
        return 1.0
    return _NARROW if sign in _NARROW_SIGNS else _WIDE if sign in _WIDE_SIGNS or sign.isupper() else _OTHER


def lines_of(text: str, breaks: int) -> list[str]:
    r"""The lines of a number with its interval, broken as often; other text is one line."""
    found = _NUMBER.fullmatch(text)
    if not found:
        return [text]
    parts = [part.replace(" ", _NBSP) for part in found.groups() if part]
    if breaks == 0:
        return [" ".join(parts)]
    return parts if breaks == 1 else [line for part in parts for line in part.split(_NBSP)]


def word_parts(word: str) -> list[str]:
    """The parts of a word between which a line may end: one, unless the word is long.

    Examples
    --------
    >>> word_parts("a_name"), word_parts("a_name_of_more_than_twenty")
    (['a_name'], ['a_', 'name_', 'of_', 'more_', 'than_', 'twenty'])
    """
    return [word] if len(word) <= _LONG_WORD else [part for part in _PARTS.findall(word) if part]
