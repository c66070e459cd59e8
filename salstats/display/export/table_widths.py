"""How wide a table's columns are, and the setting in which they fit on a page."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Literal

from salstats.display.export.table_rows import Cell, Rows, placed

#: Widths of Helvetica's narrow and wide signs, and of the others, in ems.
_NARROW, _WIDE, _OTHER = 0.3, 0.74, 0.556
_NARROW_SIGNS = " !'()*,-./:;I[]fijlrt|\u00a0"
_WIDE_SIGNS = "%&+<=>@Mmw\u2212\u2014\u00d7"
_BOLD = 1.08
#: How far a label is set in from that of the row above it, in ems.
INDENT = 1.0
#: Columns of text are not made narrower than this many ems, headings not wider before they wrap.
_NARROWEST, _WIDEST_HEADING = 9.0, 16.0
#: A number, its interval or share behind it, and nothing else.
_NUMBER = re.compile("([<>≤≥]? ?[-+\u2212\u2013]?\\.?\\d[^ ()]*|\u2014)(?: ([(\\[].*))?")
#: Words longer than this may also be broken behind a sign that joins their parts, else into pieces.
_LONG_WORD = 20
_PARTS = re.compile(r"[^_/\-.:;=+]*[_/\-.:;=+]?")
_LONGEST_PART, _CHUNK = 30, 10
_NBSP = "\u00a0"
#: Halving finds widths only so nearly.
_CLOSE = 0.01

#: What may be broken at most: text, intervals from their estimates too, limits from each other too.
Breaks = Literal["text", "numbers", "limits"]


@dataclass(frozen=True)
class Column:
    """Widths of a column in ems, the more of it is broken the smaller.

    Attributes
    ----------
    natural : float
        Nothing is.
    text : float
        Text is, numbers are not.
    numbers : float
        Intervals stand below their estimates.
    limits : float
        Limits of an interval stand below each other.
    """

    natural: float
    text: float
    numbers: float
    limits: float


@dataclass(frozen=True)
class Setting:
    """One way to set a table.

    Attributes
    ----------
    line, points, gap : float
        Width of the line, size of type and space at each side of a column, in points.
    breaks : Breaks
        What may be broken at most.
    turned : bool
        Whether the page is turned.
    name : str
        What a format calls the size of type.
    """

    line: float
    points: float
    gap: float
    breaks: Breaks = "text"
    turned: bool = False
    name: str = ""

    def room(self, n_columns: int) -> float:
        """How many ems the line leaves for the text of its columns."""
        return (self.line - 2 * self.gap * n_columns) / self.points


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


def number_parts(text: str) -> tuple[str, ...]:
    r"""The parts of a number with its interval between which a line may end, nothing for other text.

    Examples
    --------
    >>> number_parts("0.566 (0.526, 0.606)***"), number_parts("0.5"), number_parts("2 of 3 methods")
    (('0.566', '(0.526,\xa00.606)***'), ('0.5',), ())
    """
    found = _NUMBER.fullmatch(text)
    return tuple(part.replace(" ", _NBSP) for part in found.groups() if part) if found else ()


def number_lines(text: str, column: Column, width: float) -> tuple[str, ...]:
    """The lines of a number with its interval in a column of a width, nothing for other text."""
    parts = number_parts(text)
    if len(parts) < 2 or width >= column.text - _CLOSE:
        return (" ".join(parts),) if parts else ()
    if width >= column.numbers - _CLOSE:
        return parts
    return (parts[0], *(line for part in parts[1:] for line in part.split(_NBSP)))


def word_parts(word: str) -> list[str]:
    """The parts of a word between which a line may end: one, unless the word is long.

    Examples
    --------
    >>> word_parts("a_name"), word_parts("a_name_of_more_than_twenty")
    (['a_name'], ['a_', 'name_', 'of_', 'more_', 'than_', 'twenty'])
    """
    if len(word) <= _LONG_WORD:
        return [word]
    return [
        part[i : i + _CHUNK] if len(part) > _LONGEST_PART else part
        for part in _PARTS.findall(word)
        if part
        for i in range(0, len(part) if len(part) > _LONGEST_PART else 1, _CHUNK)
    ]


def columns_of(rows: Rows) -> list[Column]:
    """The widths of every column of a table."""
    columns = [_widths(cell, heads=True) for cell in rows.head[-1]]
    for row in rows.body:
        if not row.is_group:
            own = map(_widths, row.cells)
            columns = [_wider(column, cell) for column, cell in zip(columns, own, strict=True)]
    for cells in rows.head[:-1]:
        for first, cell in placed(cells):
            span = columns[first : first + cell.columns]
            missing = _widths(cell, heads=True).natural - sum(column.natural for column in span)
            if missing > 0:
                columns[first : first + cell.columns] = [
                    replace(column, natural=column.natural + missing / len(span)) for column in span
                ]
    return columns


def _widths(cell: Cell, heads: bool = False) -> Column:
    """The widths of one cell; a heading is wrapped rather than have its column wide."""
    scale, indent = _BOLD if cell.bold else 1.0, INDENT * cell.indent

    def ems(text: str) -> float:
        return text_width(text) * scale + indent

    natural = ems(cell.pad + cell.text)
    parts = number_parts(cell.text)
    if parts:
        estimate, *interval = (cell.pad + parts[0], *parts[1:])
        limits = [limit for part in interval for limit in part.split(_NBSP)]
        return Column(
            natural, natural, max(map(ems, (estimate, *interval))), max(map(ems, (estimate, *limits)))
        )
    longest = max((ems(part) for word in cell.text.split(" ") for part in word_parts(word)), default=indent)
    if heads:
        return Column(max(longest, min(natural, _WIDEST_HEADING)), *[longest] * 3)
    return Column(natural, min(natural, max(longest, _NARROWEST)), longest, longest)


def _wider(one: Column, other: Column) -> Column:
    """The larger of each width."""
    return Column(*map(max, astuple(one), astuple(other)))


def first_fit(columns: Sequence[Column], settings: Sequence[Setting]) -> tuple[Setting, list[float]]:
    """The first setting in which columns fit, and their widths in ems; wide ones give first.

    Where they fit in none, it is the last one, with columns narrower than their longest words.
    """
    for setting in settings:
        room = setting.room(len(columns))
        natural = [column.natural for column in columns]
        least = [float(getattr(column, setting.breaks)) for column in columns]
        if sum(natural) <= room:
            return setting, natural
        if sum(least) <= room:
            return setting, _shared(natural, least, room)
    setting = settings[-1]
    return setting, [width * setting.room(len(columns)) / sum(least) for width in least]


def _shared(natural: Sequence[float], least: Sequence[float], room: float) -> list[float]:
    """Widths cut at the same width, none below its least, that together take the room."""
    low, high = 0.0, max(natural)
    for _ in range(40):  # halving finds that width
        middle = (low + high) / 2
        widths = [min(own, max(middle, need)) for own, need in zip(natural, least, strict=True)]
        low, high = (middle, high) if sum(widths) <= room else (low, middle)
    return [min(own, max(low, need)) for own, need in zip(natural, least, strict=True)]
