"""Where pictures, their names and their lines of text stand on paper, in mm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from salstats.display.plots.layout.overlay_picture import Picture, mm_per_pixel
from salstats.display.plots.layout.text_fit import chars_in, wrapped
from salstats.display.plots.layout.theme import MM_PER_PT, TEXT_PT

#: Room of an edge of the figure, between pictures, and between stacks of rows.
EDGE_MM, GAP_MM, STACK_GAP_MM = 1.5, 1.5, 4.0
#: Height of a picture over the width of its box at most.
HIGHEST = 1.6
#: Size of the lines below a picture, the least that is read in print.
TAG_PT = 6.0
_TAG_LINES = 3
#: Between a picture and its text.
NEAR_MM = 0.7

#: Keys of a row, and of its pictures that stand beside each other.
Band = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Placed:
    """A picture, the keys of its row and column, the text below it, and its score (NaN for none)."""

    panel: Picture
    row: str
    column: str
    text: str
    score: float = float("nan")


@dataclass(frozen=True)
class Sheet:
    """Width of a figure, the largest (width, height) of a picture, and what stands beside and above them.

    `column` is the room from side to side of a picture and its texts. `rows` and `columns` have the text of
    each by its key, `side` is the room of the names of rows at the left. `stacks` stand beside each other:
    each has the keys of a row and of its pictures beside each other, from the top down.
    """

    width: float
    box: tuple[float, float]
    column: float
    rows: Mapping[str, str]
    columns: Mapping[str, str]
    side: float
    stacks: Sequence[Sequence[Band]]

    @property
    def stack_mm(self) -> float:
        """How far a stack is right of the one before."""
        across = max(len(columns) for stack in self.stacks for _, columns in stack)
        return self.side + across * (self.column + GAP_MM) - GAP_MM + STACK_GAP_MM


@dataclass(frozen=True)
class Laid:
    """Pictures (a row each, see `_cell`) and texts (`kind`, `x`, `y`, `label`) in mm, y from 0 down."""

    pictures: pd.DataFrame
    texts: pd.DataFrame
    height: float


def lines_mm(text: str, size: float = TEXT_PT) -> float:
    """Height of a text, 0 of none."""
    return (text.count("\n") + 1) * 1.25 * size * MM_PER_PT if text else 0.0


def laid_out(placed: Sequence[Placed], sheet: Sheet) -> Laid:
    """Pictures of a sheet at their places: names at the left, titles above, tags below."""
    at = {(p.row, p.column): number for number, p in enumerate(placed)}
    cells: dict[int, dict[str, Any]] = {}
    texts: list[tuple[str, float, float, str]] = []
    heights = []
    for number, stack in enumerate(sheet.stacks):
        heights.append(_stacked(placed, at, sheet, stack, number * sheet.stack_mm, cells, texts))
    frame = pd.DataFrame(texts, columns=["kind", "x", "y", "label"])
    return Laid(
        pd.DataFrame([cells[number] for number in sorted(cells)]),
        frame[frame["label"] != ""].reset_index(drop=True),
        max(heights),
    )


def _stacked(
    placed: Sequence[Placed],
    at: Mapping[tuple[str, str], int],
    sheet: Sheet,
    stack: Sequence[Band],
    left_mm: float,
    cells: dict[int, dict[str, Any]],
    texts: list[tuple[str, float, float, str]],
) -> float:
    """Height of a stack, whose pictures and texts are added to `cells` and `texts`."""
    down = named = 0.0
    before, above = None, None
    for row, columns in stack:
        if row != before:
            down = max(down, named)
        lefts = {c: left_mm + sheet.side + k * (sheet.column + GAP_MM) for k, c in enumerate(columns)}
        if columns != above and any(sheet.columns[c] for c in columns):
            down += max(lines_mm(sheet.columns[c]) for c in columns) + NEAR_MM
            texts += [("title", left, NEAR_MM - down, sheet.columns[c]) for c, left in lefts.items()]
        if row != before:
            texts.append(("name", left_mm, -down, sheet.rows[row]))
            named = down + lines_mm(sheet.rows[row]) + GAP_MM
        foot = down
        for column, left in lefts.items():
            if (row, column) not in at:
                continue
            number = at[row, column]
            cell = _cell(placed[number], sheet.box, left, -down) | {"picture": str(number)}
            tag = wrapped(placed[number].text, chars_in(sheet.column, TAG_PT), _TAG_LINES)
            end = down + cell["top"] - cell["bottom"]
            texts.append(("tag", left, -end - NEAR_MM, tag))
            foot = max(foot, end + (NEAR_MM + lines_mm(tag, TAG_PT) if tag else 0.0))
            cells[number] = cell
        down = foot + GAP_MM
        before, above = row, columns
    return max(down, named) - GAP_MM


def _cell(p: Placed, box: tuple[float, float], left: float, top: float) -> dict[str, Any]:
    """What a panel shows, and where its picture stands."""
    height, width = p.panel.shape
    mm = mm_per_pixel(p.panel.shape, box)
    return {
        "case": p.panel.case,
        "task": p.panel.task,
        "method": p.panel.method,
        "row": p.row,
        "column": p.column,
        "score": p.score,
        "text": p.text,
        "note": p.panel.note,
        "height": height,
        "width": width,
        "mm_per_pixel": mm,
        "left": left,
        "right": left + width * mm,
        "bottom": top - height * mm,
        "top": top,
    }
