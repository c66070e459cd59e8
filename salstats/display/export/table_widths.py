"""How wide a table's columns are, and how they share a page that is too narrow for them."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from salstats.display.export.table_grid import Align, Cell, Grid, Run, Runs, Slot, layout, lines

#: Where lines may end: between words, between an estimate and its interval too, or at every space.
Breaks = Literal["text", "numbers", "anywhere"]
#: Widths of Helvetica's characters in ems; what is not listed is as wide as most small letters. Signs of
#: arithmetic are as wide as TeX's.
_EMS = {
    **dict.fromkeys("'|ijl", 0.22),
    **dict.fromkeys(" !,./:;I[\\]ft\u00a0", 0.28),
    **dict.fromkeys('"()*`r-', 0.34),
    **dict.fromkeys("cksvxyzJ", 0.5),
    **dict.fromkeys("+<=>~\u2212\u00d7±≤≥≠≈", 0.75),
    **dict.fromkeys("&ABEKPSVXYCDHNRUTFLZ", 0.69),
    **dict.fromkeys("GOQMmw", 0.8),
    **dict.fromkeys("%@W—…", 0.95),
}
_OTHER = 0.556
#: Words longer than this may also be broken behind a sign that joins their parts.
_LONG_WORD = 20
_PARTS = re.compile(r"[^_/\-.:;=+]*[_/\-.:;=+]?")
#: Parts longer than this are no language's words; they are broken into pieces of so many letters.
_LONGEST_PART, _CHUNK = 30, 10
#: A text column is not made narrower than this many ems while others can give.
_NARROWEST_TEXT = 9.0
#: A heading longer than this many ems is wrapped rather than have its columns made wider.
_WIDEST_HEADING = 16.0
#: How a number begins, a p-value and a missing one among them.
_NUMBER = re.compile("[<>≤≥]? ?[-+\u2212\u2013]?\\.?\\d|\u2014")
#: An interval in brackets, which stays on one line.
_LIMITS = re.compile("\\((?=[^()]*\\d)(?:[-\\d.,;%\u2212\u2013\u2014∞]|to| )+\\)")
_BEFORE_LIMITS = re.compile(f" (?={_LIMITS.pattern})")


#: Bold text is this much wider than plain text, raised text this much narrower.
_BOLD, _RAISED = 1.08, 0.7
#: How far one level of indentation goes, in ems.
INDENT = 0.6


@dataclass(frozen=True)
class Column:
    """Widths of a column in ems, and how it is aligned.

    Attributes
    ----------
    natural : float
        Without any break.
    text : float
        With breaks in its heading, and in its cells only where they hold text rather than numbers.
    numbers : float
        With breaks between an estimate and its interval too.
    anywhere : float
        With a break at every space.
    align : {"left", "center", "right"}
        How most of its cells are aligned.
    """

    natural: float
    text: float
    numbers: float
    anywhere: float
    align: Align


@dataclass(frozen=True)
class Setting:
    """One way to set a table: how wide the line is in points, the type on it, and where lines may break.

    `name` is what the format calls its size of type; `gap` is the space at each side of a column.
    """

    line: float
    points: float
    gap: float
    breaks: Breaks = "text"
    turned: bool = False
    name: str = ""

    def room(self, n_columns: int) -> float:
        """Return how many ems a line leaves for the text of its columns."""
        return (self.line - 2 * self.gap * n_columns) / self.points


def text_width(text: str) -> float:
    """Return the width of one line of text in ems, as Helvetica sets it."""
    return sum(_EMS.get(letter) or _other_width(letter) for letter in text)


def _other_width(letter: str) -> float:
    """Return the width of a letter that is not in the list: none for accents, full for East Asian ones."""
    if unicodedata.combining(letter):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else _OTHER


def cell_width(cell: Cell) -> float:
    """Return the width of a cell's widest line in ems, its indentation included."""
    widths = [sum(text_width(run.text) * _scale(run) for run in line) for line in lines(cell.runs)]
    return cell.indent * INDENT + max(widths)


def _scale(run: Run) -> float:
    """Return how much wider or narrower than plain text a run is."""
    return (_RAISED if run.superscript or run.subscript else 1.0) * (_BOLD if run.bold else 1.0)


def unbroken(text: str) -> str:
    r"""Return text whose intervals in brackets hold no space at which a line may end.

    Examples
    --------
    >>> unbroken("0.566 (0.526, 0.606)*** (of 3)")
    '0.566 (0.526,\xa00.606)*** (of 3)'
    """
    return _LIMITS.sub(lambda found: found.group().replace(" ", "\u00a0"), text)


def wrapped(runs: Runs, breaks: Breaks) -> Runs:
    """Return text for a column in which it wraps: an interval goes below its estimate, not into two."""
    found = runs
    if breaks != "text":
        found = tuple(replace(run, text=_BEFORE_LIMITS.sub("\n", run.text)) for run in found)
    if breaks != "anywhere":
        found = tuple(replace(run, text=unbroken(run.text)) for run in found)
    return found


def word_parts(word: str) -> list[str]:
    """Return the parts of a word between which a line may end: one, unless the word is long.

    Examples
    --------
    >>> word_parts("a_name"), word_parts("a_name_of_more_than_twenty")
    (['a_name'], ['a_', 'name_', 'of_', 'more_', 'than_', 'twenty'])
    """
    if len(word) <= _LONG_WORD:
        return [word]
    parts = [part for part in _PARTS.findall(word) if part]
    return [
        part[i : i + _CHUNK] if len(part) > _LONGEST_PART else part
        for part in parts
        for i in range(0, len(part) if len(part) > _LONGEST_PART else 1, _CHUNK)
    ]


def columns_of(grid: Grid) -> list[Column]:
    """Return the widths of every column of a table."""
    head = [slot for row in layout(grid.head, grid.n_columns) for slot in row if slot.first]
    rows = [row for row in grid.body if row.kind != "group"]
    body = [slot for row in layout(rows, grid.n_columns) for slot in row if slot.first]
    columns = [_column(_alone(head, index), _alone(body, index)) for index in range(grid.n_columns)]
    return _widened(columns, [slot for slot in head + body if slot.cell.colspan > 1])


def _alone(slots: Sequence[Slot], index: int) -> list[Cell]:
    """Return the cells with text that stand in one column alone."""
    return [s.cell for s in slots if s.column == index and s.cell.colspan == 1 and s.cell.text]


def _column(headings: Sequence[Cell], cells: Sequence[Cell]) -> Column:
    """Return the widths of a column from the cells that stand in it alone."""
    every = [*headings, *cells]
    own = cells or headings
    aligns = [cell.align for cell in own]
    align: Align = max(("left", "right", "center"), key=aligns.count)
    widths = [_heading_width(cell) for cell in headings] + [cell_width(cell) for cell in cells]
    natural = max(widths, default=1.0)
    anywhere = max((_longest(cell) for cell in every), default=1.0)
    numbers = max((_longest(cell, whole=True) for cell in every), default=1.0)
    if 2 * sum(bool(_NUMBER.match(cell.text)) for cell in own) < len(own):
        text = min(natural, max(numbers, _NARROWEST_TEXT))
    else:
        text = max([numbers, *(cell_width(cell) for cell in cells)])
    return Column(natural, text, numbers, anywhere, align)


def _heading_width(cell: Cell) -> float:
    """Return the width a heading asks for: a long one is wrapped rather than have its columns wider."""
    return max(_longest(cell), min(cell_width(cell), _WIDEST_HEADING))


def _longest(cell: Cell, *, whole: bool = False) -> float:
    """Return the width of the longest piece that is never broken; `whole` keeps intervals in one."""
    widths = [
        text_width(part) * _scale(run)
        for run in cell.runs
        for word in re.split(r"[ \n\t]+", unbroken(run.text) if whole else run.text)
        for part in word_parts(word)
    ]
    return cell.indent * INDENT + max(widths, default=0.0)


def _widened(columns: Sequence[Column], spanning: Iterable[Slot]) -> list[Column]:
    """Return columns wide enough for the cells that span several of them."""
    widened = list(columns)
    for slot in spanning:
        span = range(slot.column, min(slot.column + slot.cell.colspan, len(widened)))
        missing = _heading_width(slot.cell) - sum(widened[index].natural for index in span)
        if missing > 0:
            for index in span:
                column = widened[index]
                widened[index] = replace(column, natural=column.natural + missing / len(span))
    return widened


def first_fit(columns: Sequence[Column], settings: Sequence[Setting]) -> tuple[Setting, list[float]]:
    """Return the first setting in which columns fit, and their widths in ems.

    Where they fit in none, it is the last one, with columns too narrow for their longest words.
    """
    for setting in settings:
        widths = fitted(columns, setting)
        if widths is not None:
            return setting, widths
    least = [column.anywhere for column in columns]
    return settings[-1], [width * settings[-1].room(len(columns)) / sum(least) for width in least]


def fitted(columns: Sequence[Column], setting: Setting) -> list[float] | None:
    """Return columns' widths in ems in one setting, None where they do not fit; wide ones give first."""
    least = [float(getattr(column, setting.breaks)) for column in columns]
    room = setting.room(len(columns))
    if sum(least) > room:
        return None
    if sum(column.natural for column in columns) <= room:
        return [column.natural for column in columns]
    low, high = 0.0, max(column.natural for column in columns)
    for _ in range(40):  # halving finds the width at which wide columns are cut
        middle = (low + high) / 2
        low, high = (middle, high) if sum(_cut(columns, least, middle)) <= room else (low, middle)
    return _cut(columns, least, low)


def breaks_in(column: Column, width: float, setting: Setting) -> Breaks:
    """Return where lines may end in a column of this width: numbers stay whole where there is room."""
    return setting.breaks if width < column.text - 0.01 else "text"


def _cut(columns: Sequence[Column], least: Sequence[float], widest: float) -> list[float]:
    """Return widths that are at most `widest`, but never less than the least."""
    return [min(column.natural, max(widest, low)) for column, low in zip(columns, least, strict=True)]
