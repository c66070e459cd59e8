"""How a gallery is laid out: the size of its pictures, which stand beside each other, and on which page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from salstats.display.plots.layout.overlay_picture import mm_per_pixel
from salstats.display.plots.layout.overlay_sheet import (
    EDGE_MM,
    GAP_MM,
    HIGHEST,
    NEAR_MM,
    STACK_GAP_MM,
    TAG_PT,
    Band,
    Placed,
    Sheet,
    laid_out,
    lines_mm,
)
from salstats.display.plots.layout.pages import PAGE_HEIGHT_MM
from salstats.display.plots.layout.text_fit import chars_in, text_mm, wrapped
from salstats.display.text.packing import packed

#: Width of a picture's box at least: in less of it a finding is not seen in print.
LEAST_MM = 20.0
#: Room of the names of rows: in mm at least, as a part of the figure's width at most; lines of each part.
_SIDE_MM, _SIDE_SHARE, _NAME_LINES = 16.0, 0.3, 4
_TITLE_LINES = 3
#: Height of what stands on a page while its caption is not known.
_GUESS_MM = PAGE_HEIGHT_MM - 45.0
#: Sizes of pictures that are tried, from the largest that the width allows down to the least.
_SIZES = 16


@dataclass(frozen=True)
class Plan:
    """Width of a gallery, the largest (width, height) of a picture, and texts of rows and columns, in mm.

    `column` is the room of a picture and its texts from side to side: pictures that are smaller than the
    width allows are spread over it. `side` is the room of the names of rows, `lines` are the columns that
    stand beside each other: a row has a line of pictures for each. `n_stacks` of rows stand side by side.
    """

    width: float
    box: tuple[float, float]
    column: float
    side: float
    rows: Mapping[str, str]
    columns: Mapping[str, str]
    lines: tuple[tuple[str, ...], ...]
    n_stacks: int

    @property
    def title_mm(self) -> float:
        """Room of the titles above all rows; where columns are on several lines each line has its own."""
        tallest = max(map(lines_mm, self.columns.values()))
        return tallest + NEAR_MM if tallest and len(self.lines) == 1 else 0.0

    def sheet(self, stacks: Sequence[Sequence[Band]]) -> Sheet:
        """Sheet of some lines of rows."""
        return Sheet(self.width, self.box, self.column, self.rows, self.columns, self.side, stacks)

    def bands(self, row: str) -> list[Band]:
        """Keys of a row, and of the pictures on each of its lines."""
        return [(row, columns) for columns in self.lines]

    def pages(self, placed: Sequence[Placed], around: float) -> list[list[list[Band]]]:
        """Stacks of each page, where `around` mm of it are for other things; a row is whole if it can."""
        room = PAGE_HEIGHT_MM - around - self.title_mm
        units: list[tuple[list[Band], float]] = []
        for row in self.rows:
            bands = self.bands(row)
            own = laid_out([p for p in placed if p.row == row], self.sheet([bands]))
            height = own.height - self.title_mm + GAP_MM
            n = len(bands) if height <= room else max(int(len(bands) * room / height), 1)
            parts = [bands[i : i + n] for i in range(0, len(bands), n)]
            units += [(part, height * len(part) / len(bands)) for part in parts]
        ends = accumulate(packed([height for _, height in units], room), initial=0)
        stacks = [[band for own, _ in units[start:end] for band in own] for start, end in pairwise(ends)]
        return [stacks[i : i + self.n_stacks] for i in range(0, len(stacks), self.n_stacks)]


def plan(
    names: Mapping[str, Sequence[str]],
    shapes: Sequence[tuple[int, int] | None],
    titles: Mapping[str, str],
    width: float,
) -> Plan:
    """Layout whose pictures are as large as they can be on the fewest pages, never below the least size.

    `names` has the parts of each row's name by its key, `shapes` are those of the rows' images where they are
    known, `titles` those of columns by their key.
    """
    side = _side_mm(names, width) if len(names) > 1 else 0.0
    beside = {key: _name(parts, side) if len(names) > 1 else "" for key, parts in names.items()}
    # a single picture is named in the caption
    shown = dict.fromkeys(titles, "") if len(names) == len(titles) == 1 else titles
    least = side + len(titles) * (LEAST_MM + GAP_MM) - GAP_MM + STACK_GAP_MM
    most = max(int((width - 2 * EDGE_MM + STACK_GAP_MM) // least), 1)
    plans = [p for n in range(1, min(most, len(names)) + 1) for p in _sized(beside, shown, width, side, n)]
    n_pages = []
    for p in plans:
        n_stacks = len(packed(_guessed(p, shapes), _GUESS_MM - p.title_mm))
        n_pages.append(math.ceil(n_stacks / p.n_stacks))
    fewest = [p for p, n in zip(plans, n_pages, strict=True) if n == min(n_pages)]
    return max(fewest, key=lambda p: (p.box[0], -p.n_stacks))


def _sized(
    rows: Mapping[str, str], titles: Mapping[str, str], width: float, side: float, n_stacks: int
) -> list[Plan]:
    """Layouts of so many stacks with pictures of every size that the width allows."""
    room = (width - 2 * EDGE_MM - (n_stacks - 1) * STACK_GAP_MM) / n_stacks - side
    most = max(int((room + GAP_MM + 1e-9) // (LEAST_MM + GAP_MM)), 1)
    keys, n_lines = list(titles), math.ceil(len(titles) / most)
    across = math.ceil(len(keys) / n_lines)
    lines = tuple(tuple(keys[i : i + across]) for i in range(0, len(keys), across))
    largest = (room - (across - 1) * GAP_MM) / across
    above = {k: wrapped(t, chars_in(largest, bold=True), _TITLE_LINES) for k, t in titles.items()}
    plans = []
    for size in np.linspace(largest, min(LEAST_MM, largest), _SIZES):
        box = (float(size), min(HIGHEST * float(size), _GUESS_MM - 15))
        plans.append(Plan(width, box, largest, side, rows, above, lines, n_stacks))
    return plans


def _side_mm(names: Mapping[str, Sequence[str]], width: float) -> float:
    """Room of the names of rows, in which the longest word fits, within reason."""
    words = [word for parts in names.values() for part in parts for word in part.split()]
    most = max(_SIDE_SHARE * width, _SIDE_MM)
    return float(np.clip(max(map(text_mm, words), default=0.0) + 2, _SIDE_MM, most))


def _name(parts: Sequence[str], side: float) -> str:
    """Name of a row, each part on lines of its own."""
    return "\n".join(wrapped(part, chars_in(side - 1), _NAME_LINES) for part in parts)


def _guessed(layout: Plan, shapes: Sequence[tuple[int, int] | None]) -> list[float]:
    """About how high each row is, with a line of text below; images of unknown size are taken as squares."""
    titles = 0.0 if len(layout.lines) == 1 else max(map(lines_mm, layout.columns.values())) + NEAR_MM
    more = titles + lines_mm("x", TAG_PT) + NEAR_MM + GAP_MM
    heights = [s[0] * mm_per_pixel(s, layout.box) for s in (shape or (1, 1) for shape in shapes)]
    return [
        max(len(layout.lines) * (height + more), lines_mm(name) + GAP_MM)
        for height, name in zip(heights, layout.rows.values(), strict=True)
    ]
