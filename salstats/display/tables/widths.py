"""Widths of a table's columns, and the type, page and line breaks with which they fit on paper."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from salstats.display.tables.rows import Cell, TableRows, cells_by_column, part_with_stub_and_columns
from salstats.display.text.packing import n_items_per_part_filled_in_order

#: Widths of Helvetica's narrow, wide and other characters, in ems.
_NARROW_EM = 0.3
_WIDE_EM = 0.74
_REGULAR_EM = 0.556
_NARROW_CHARACTERS = " !'(),-./:;I[]fijlrt|\u00a0"
_WIDE_CHARACTERS = "%&+<=>@Mmw\u2212\u2014\u00d7"
#: Bold text is wider than regular text by this factor.
_BOLD_SCALE = 1.08
#: How far a label is indented from the label of the row above it, in ems.
INDENT_EM = 1.0
#: Columns of text are not made narrower than this, in ems.
_NARROWEST_TEXT_EM = 9.0
#: Headings of more than this width are wrapped and do not widen their column, in ems.
_WIDEST_HEADING_EM = 16.0
#: Steps in which the width of a table's parts is raised until all columns fit in the fewest possible parts.
_N_WIDTH_STEPS = 20
#: Tolerance of a comparison of widths, in ems.
_TOLERANCE_EM = 1e-6
#: A cell with a number that only its interval or share may follow.
_NUMBER = re.compile(
    "("
    "[<>≤≥]? ?[-+\u2212\u2013]?\\.?\\d[^ ()]*"  # a number with its signs and marks: "<0.001", "0.57***"
    "|\u2014)"  # or the dash of a missing one
    "(?: ([(\\[].*))?"  # its interval or share in brackets
)
#: A word of more characters may also be broken after a character that joins its pieces.
_LONG_WORD_LENGTH = 20
_WORD_PIECES = re.compile(r"[^_/\-.:;=+]*[_/\-.:;=+]?")
_NO_BREAK_SPACE = "\u00a0"


class TypeSetting(NamedTuple):
    """Type, page and line breaks of a table.

    Attributes
    ----------
    points : int
        Size of type.
    turned : bool
        Whether the page lies on its side.
    n_breaks : int
        How often a number with its interval is broken: 0 not at all, 1 before the interval, 2 also between
        the limits of the interval.
    """

    points: int
    turned: bool
    n_breaks: int


#: Settings in order of preference.
_SETTINGS = (
    TypeSetting(9, turned=False, n_breaks=0),
    TypeSetting(8, turned=False, n_breaks=0),
    TypeSetting(8, turned=False, n_breaks=1),
    TypeSetting(9, turned=True, n_breaks=0),
    TypeSetting(8, turned=True, n_breaks=0),
    TypeSetting(8, turned=True, n_breaks=1),
    TypeSetting(7, turned=True, n_breaks=1),
)
#: Settings of the parts of a table that fits in none of the settings, in order of preference.
_PART_SETTINGS = (TypeSetting(8, turned=True, n_breaks=1), TypeSetting(7, turned=True, n_breaks=1))


class ColumnWidths(NamedTuple):
    """Widths of columns in ems: `natural` without line breaks in text, and the `minimal` ones."""

    natural: list[float]
    minimal: list[float]


class Paper(NamedTuple):
    """Room for a table on a page.

    Attributes
    ----------
    line_widths_points : tuple of float
        Width of a line on an upright and on a turned page, in points.
    gap_points_by_type_size : Mapping of int to float
        Space at each side of a column by size of type, both in points.
    type_scale : float
        Width of the type of a format relative to the widths that this module assumes.
    """

    line_widths_points: tuple[float, float]
    gap_points_by_type_size: Mapping[int, float]
    type_scale: float

    def line_width_points(self, *, turned: bool) -> float:
        """Return the width of a line in points."""
        upright_width, turned_width = self.line_widths_points
        return turned_width if turned else upright_width

    def column_widths_with_gaps_points(
        self, widths_em: Sequence[float], type_size_points: int
    ) -> list[float]:
        """Return the widths of columns in points, with the space at both sides, from widths in ems."""
        gaps_points = 2 * self.gap_points_by_type_size[type_size_points]
        return [width * type_size_points * self.type_scale + gaps_points for width in widths_em]

    def fits(self, rows: TableRows, setting: TypeSetting) -> bool:
        """Return whether a table fits in a setting, its columns as narrow as they can be."""
        minimal_widths = natural_and_minimal_column_widths_em(rows, setting.n_breaks).minimal
        sufficient_width = sum(self.column_widths_with_gaps_points(minimal_widths, setting.points))
        return sufficient_width <= self.line_width_points(turned=setting.turned)


class PageLayout(NamedTuple):
    """The setting of a table on a page with the widths of its columns.

    Attributes
    ----------
    points, turned, n_breaks
        See `TypeSetting`.
    line_width_points : float
        Width of the line in points.
    gap_points : float
        Space at each side of a column in points.
    points_per_em : float
        Points per em of `column_widths_em`.
    column_widths_em : list of float
        Width of each column in ems, without the space at its sides.
    """

    points: int
    turned: bool
    n_breaks: int
    line_width_points: float
    gap_points: float
    points_per_em: float
    column_widths_em: list[float]

    def width_points(self, column: int, n_columns: int = 1) -> float:
        """Return the width of columns side by side with the space between them, in points."""
        widths = self.column_widths_em[column : column + n_columns]
        return sum(widths) * self.points_per_em + 2 * self.gap_points * (n_columns - 1)

    def cell_lines(self, cell: Cell) -> list[str]:
        """Return the lines of a cell's text; each of them may be wrapped further at its spaces."""
        return number_lines(cell.text, self.n_breaks)

    def n_lines(self, cells: Sequence[Cell]) -> int:
        """Return the approximate number of lines of a row."""
        n_lines = 1
        for column, cell in cells_by_column(cells):
            room_em = self._cell_room_em(cell, column)
            n_cell_lines = 0
            for line in self.cell_lines(cell):
                # a line without text is a line
                n_cell_lines += max(1, ceil(cell_text_width_em(cell, line) / room_em))
            n_lines = max(n_lines, n_cell_lines)
        return n_lines

    def wraps(self, cell: Cell, column: int) -> bool:
        """Return whether a cell whose first column is given takes more than one line."""
        if len(self.cell_lines(cell)) > 1:
            return True
        return cell_text_width_em(cell, cell.text) > self._cell_room_em(cell, column)

    def _cell_room_em(self, cell: Cell, column: int) -> float:
        """Return the width of a cell in ems, with a tolerance."""
        return self.width_points(column, cell.n_columns) / self.points_per_em + _TOLERANCE_EM


def parts_with_layouts(rows: TableRows, paper: Paper) -> list[tuple[TableRows, PageLayout]]:
    """Return a table, or where it fits in no setting its parts side by side, each with its layout.

    Every part has the labels of rows. Parts have about the same width, and are cut between outer headings if
    the columns below each of these fit on a page; the title stands above the first, the notes below the last.
    """
    has_one_column = len(rows.aligns) < rows.n_stub + 2
    if has_one_column or any(paper.fits(rows, setting) for setting in _SETTINGS):
        return [(rows, page_layout(rows, paper))]
    setting = _PART_SETTINGS[0]
    widths_points = paper.column_widths_with_gaps_points(
        natural_and_minimal_column_widths_em(rows, setting.n_breaks).minimal, setting.points
    )
    available_points = paper.line_width_points(turned=setting.turned) - sum(widths_points[: rows.n_stub])
    starts = _outer_heading_bounds(rows)
    block_widths_points = [sum(widths_points[start:stop]) for start, stop in pairwise(starts)]
    if max(block_widths_points) > available_points:
        # a block is too wide, so that the table may be cut between any two columns
        starts = list(range(rows.n_stub, len(widths_points) + 1))
        block_widths_points = widths_points[rows.n_stub :]
    parts = []
    block = 0
    for n_blocks in _n_blocks_of_parts(block_widths_points, available_points):
        parts.append(part_with_stub_and_columns(rows, starts[block], starts[block + n_blocks]))
        block += n_blocks
    parts[0] = replace(parts[0], title=rows.title, subtitle=rows.subtitle)
    parts[-1] = replace(parts[-1], notes=rows.notes)
    return [(part, page_layout(part, paper, _PART_SETTINGS)) for part in parts]


def _n_blocks_of_parts(widths: Sequence[float], available: float) -> list[int]:
    """Return the number of blocks in each part: as few parts as possible, of about the same width."""
    fewest_parts = n_items_per_part_filled_in_order(widths, available)
    mean_width = sum(widths) / len(fewest_parts)
    # the smallest width of parts, from the mean on in small steps, that needs no further part
    for step in range(_N_WIDTH_STEPS):
        width = mean_width + step / _N_WIDTH_STEPS * available
        n_blocks_of_parts = n_items_per_part_filled_in_order(widths, min(width, available))
        if len(n_blocks_of_parts) == len(fewest_parts):
            return n_blocks_of_parts
    return fewest_parts


def _outer_heading_bounds(rows: TableRows) -> list[int]:
    """Return the first column below each of the outermost headings that differ, then the end."""
    for cells in rows.head:
        starts = [column for column, _ in cells_by_column(cells) if column >= rows.n_stub]
        if len(starts) > 1:
            break
    return [*starts, len(rows.aligns)]


def page_layout(rows: TableRows, paper: Paper, settings: Sequence[TypeSetting] = _SETTINGS) -> PageLayout:
    """Return the layout in the first setting in which a table fits.

    Where it fits in none, the last setting is taken with columns narrower than their words.
    """
    setting = next((candidate for candidate in settings if paper.fits(rows, candidate)), settings[-1])
    line_width_points = paper.line_width_points(turned=setting.turned)
    gap_points = paper.gap_points_by_type_size[setting.points]
    points_per_em = setting.points * paper.type_scale
    natural, minimal = natural_and_minimal_column_widths_em(rows, setting.n_breaks)
    available_em = (line_width_points - 2 * gap_points * len(natural)) / points_per_em
    return PageLayout(
        points=setting.points,
        turned=setting.turned,
        n_breaks=setting.n_breaks,
        line_width_points=line_width_points,
        gap_points=gap_points,
        points_per_em=points_per_em,
        column_widths_em=_widths_em_filling_room(natural, minimal, available_em),
    )


def _widths_em_filling_room(
    natural: Sequence[float], minimal: Sequence[float], available_em: float
) -> list[float]:
    """Return widths of columns that fill the available room, at most the natural widths.

    Room beyond the minimal widths is shared in proportion to what each column lacks of its natural width.
    Where the room is smaller than the minimal widths, these are reduced in proportion.
    """
    spare_em = available_em - sum(minimal)
    if spare_em < 0:
        return [width * available_em / sum(minimal) for width in minimal]
    shortfall_em = sum(natural) - sum(minimal)
    share = 1.0
    if shortfall_em:
        share = min(1.0, spare_em / shortfall_em)
    return [low + share * (high - low) for low, high in zip(minimal, natural, strict=True)]


def natural_and_minimal_column_widths_em(rows: TableRows, n_breaks: int) -> ColumnWidths:
    """Return the natural and the minimal widths of columns in ems."""
    headings = rows.head[-1]
    body = [row.cells for row in rows.body if not row.is_group_label]
    natural = []
    minimal = []
    for column in range(len(rows.aligns)):
        widths = [_natural_and_smallest_heading_width_em(headings[column], n_breaks)]
        widths += [_cell_widths_em(cells[column], n_breaks) for cells in body]
        natural.append(max(width.natural for width in widths))
        minimal.append(max(width.minimal for width in widths))
    # a heading above several columns that is wider than they are widens each of them
    for cells in rows.head[:-1]:
        for start, cell in cells_by_column(cells):
            stop = start + cell.n_columns
            heading_width = _natural_and_smallest_heading_width_em(cell, n_breaks).natural
            missing_width = max(0.0, heading_width - sum(natural[start:stop]))
            for column in range(start, stop):
                natural[column] += missing_width / cell.n_columns
    return ColumnWidths(natural, minimal)


class WidthRange(NamedTuple):
    """Widths of a text in ems: without line breaks, and as narrow as it can be."""

    natural: float
    minimal: float


def _natural_and_smallest_heading_width_em(cell: Cell, n_breaks: int) -> WidthRange:
    """Return the natural and the minimal width of a heading, which is wrapped where it is long."""
    if _NUMBER.fullmatch(cell.text):
        # a number is broken before and in its interval only, as in the cells below
        return _cell_widths_em(cell, n_breaks)
    piece_width = _widest_piece_width_em(cell)
    width = cell_text_width_em(cell, cell.pad + cell.text)
    return WidthRange(max(piece_width, min(width, _WIDEST_HEADING_EM)), piece_width)


def _cell_widths_em(cell: Cell, n_breaks: int) -> WidthRange:
    """Return the natural and the minimal width of a cell of the body, which for numbers are the same."""
    if _NUMBER.fullmatch(cell.text):
        first_line, *further_lines = number_lines(cell.text, n_breaks)
        lines = [cell.pad + first_line, *further_lines]
        width = max(cell_text_width_em(cell, line) for line in lines)
        return WidthRange(width, width)
    width = cell_text_width_em(cell, cell.pad + cell.text)
    piece_width = _widest_piece_width_em(cell)
    if n_breaks:
        # where numbers are broken to save room, text becomes as narrow as its words
        return WidthRange(width, piece_width)
    return WidthRange(width, min(width, max(piece_width, _NARROWEST_TEXT_EM)))


def _widest_piece_width_em(cell: Cell) -> float:
    """Return the width of the widest piece of a cell's text between two possible ends of a line."""
    pieces = []
    for word in cell.text.split(" "):
        pieces += word_pieces(word)
    return max(cell_text_width_em(cell, piece) for piece in pieces)


def cell_text_width_em(cell: Cell, text: str) -> float:
    """Return the width of a text in the type of a cell, in ems."""
    width = text_width_em(text)
    if cell.bold:
        width *= _BOLD_SCALE
    if cell.indent:
        width += INDENT_EM
    return width


def text_width_em(text: str) -> float:
    """Return the approximate width of a line of text in a sans serif, in ems."""
    return sum(map(_character_width_em, text))


def _character_width_em(character: str) -> float:
    """Return the width of one character in ems: 0 for combining accents, 1 for wide East Asian ones."""
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in _NARROW_CHARACTERS:
        return _NARROW_EM
    if character in _WIDE_CHARACTERS or character.isupper():
        return _WIDE_EM
    return _REGULAR_EM


def number_lines(text: str, n_breaks: int) -> list[str]:
    r"""Return the lines of a number with its interval, broken `n_breaks` times; other text is one line.

    Examples
    --------
    >>> number_lines("0.5 (0.4, 0.6)", 0), number_lines("0.5 (0.4, 0.6)", 1)
    (['0.5 (0.4,\xa00.6)'], ['0.5', '(0.4,\xa00.6)'])
    """
    match = _NUMBER.fullmatch(text)
    if not match:
        return [text]
    lines = [group.replace(" ", _NO_BREAK_SPACE) for group in match.groups() if group]
    if n_breaks == 0:
        return [" ".join(lines)]
    if n_breaks == 1:
        return lines
    # also between the limits
    return " ".join(lines).replace(_NO_BREAK_SPACE, " ").split(" ")


def word_pieces(word: str) -> list[str]:
    """Return the pieces of a word between which a line may end: one, unless the word is long.

    Examples
    --------
    >>> word_pieces("a_name"), word_pieces("a_name_of_more_than_twenty")
    (['a_name'], ['a_', 'name_', 'of_', 'more_', 'than_', 'twenty'])
    """
    if len(word) <= _LONG_WORD_LENGTH:
        return [word]
    return [piece for piece in _WORD_PIECES.findall(word) if piece]
