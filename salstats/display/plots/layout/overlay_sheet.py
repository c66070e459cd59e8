"""Positions in mm of pictures, of the names of rows and columns, and of texts below pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from salstats.display.plots.layout.overlay_picture import Picture, mm_per_pixel
from salstats.display.plots.layout.text_fit import chars_in, wrapped
from salstats.display.plots.layout.theme import MM_PER_PT, TEXT_PT

#: Room in mm at the edges of the figure, between pictures, and between stacks of rows side by side.
EDGE_MM = 1.5
GAP_MM = 1.5
STACK_GAP_MM = 4.0
#: Largest height of a picture, as a multiple of the width of its box.
MAX_HEIGHT_FACTOR = 1.6
#: Size in points of texts below pictures, the smallest that is legible in print, and their most lines.
TAG_PT = 6.0
_TAG_LINES = 3
#: Room in mm between a picture and its text.
TEXT_GAP_MM = 0.7
#: Height of a line of text over its size.
_LINE_FACTOR = 1.25


class Band(NamedTuple):
    """Pictures side by side: the key of their row, and the keys of their columns.

    A row of many columns has several bands below each other.
    """

    row: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class PlacedPicture:
    """A picture (`content`), the keys of its row and column, the text below it, and its score (or NaN)."""

    content: Picture
    row: str
    column: str
    text: str
    score: float = float("nan")


@dataclass(frozen=True)
class PictureSheet:
    """Layout of a figure of pictures, in mm.

    Attributes
    ----------
    width : float
        Width of the figure.
    box : tuple of float
        Largest width and height of a picture.
    column_mm : float
        Width of a column: the room for a picture and its text.
    rows, columns : mapping
        Name of each row and title of each column, by their keys.
    names_mm : float
        Width of the room for the names of rows at the left.
    stacks : sequence
        Stacks that stand side by side; each is a sequence of bands from the top down.
    """

    width: float
    box: tuple[float, float]
    column_mm: float
    rows: Mapping[str, str]
    columns: Mapping[str, str]
    names_mm: float
    stacks: Sequence[Sequence[Band]]

    @property
    def stack_width_with_gap_mm(self) -> float:
        """Return the distance from the left edge of a stack to that of the next."""
        n_columns = max(len(band.columns) for stack in self.stacks for band in stack)
        return self.names_mm + n_columns * (self.column_mm + GAP_MM) - GAP_MM + STACK_GAP_MM


@dataclass(frozen=True)
class SheetTables:
    """Positions on a sheet in mm; vertical ones are 0 at the top and negative below.

    Attributes
    ----------
    pictures : DataFrame
        A row for each picture, with the columns of `_picture_row_from_box_left_top` and `picture`, its number
        as text.
    texts : DataFrame
        A row for each text: its `kind` ("name" of a row, "title" of a column or "tag" of a picture), its
        position `x` and `y`, and its `label`.
    height : float
        Height of the highest stack.
    """

    pictures: pd.DataFrame
    texts: pd.DataFrame
    height: float


class _Text(NamedTuple):
    """Row of `SheetTables.texts`."""

    kind: str
    x: float
    y: float
    label: str


def lines_height_mm(text: str, size_pt: float = TEXT_PT) -> float:
    """Return the height in mm of a text of a size in points, 0 of an empty text."""
    if not text:
        return 0.0
    n_lines = text.count("\n") + 1
    return n_lines * _LINE_FACTOR * size_pt * MM_PER_PT


def picture_and_text_tables_and_height(placed: Sequence[PlacedPicture], sheet: PictureSheet) -> SheetTables:
    """Return the positions of pictures and of names at their left, titles above and texts below them."""
    stacks = []
    for number, bands in enumerate(sheet.stacks):
        stack = _Stack(placed, sheet, left=number * sheet.stack_width_with_gap_mm)
        for band in bands:
            stack.add(band)
        stacks.append(stack)
    picture_rows: dict[int, dict[str, Any]] = {}
    texts: list[_Text] = []
    for stack in stacks:
        picture_rows |= stack.picture_rows
        texts += stack.texts
    text_table = pd.DataFrame(texts, columns=list(_Text._fields))
    return SheetTables(
        pictures=pd.DataFrame([picture_rows[number] for number in sorted(picture_rows)]),
        texts=text_table[text_table["label"] != ""].reset_index(drop=True),
        height=max(stack.height for stack in stacks),
    )


class _Stack:
    """Bands below each other, to which bands are added from the top down.

    Attributes
    ----------
    picture_rows : dict
        Rows of the table of pictures, by the number of the picture in `placed`.
    texts : list
        Names, titles and tags of the bands.
    """

    def __init__(self, placed: Sequence[PlacedPicture], sheet: PictureSheet, left: float) -> None:
        """Start an empty stack with its left edge at `left` mm."""
        self.placed = placed
        self.sheet = sheet
        self.left = left
        self.picture_rows: dict[int, dict[str, Any]] = {}
        self.texts: list[_Text] = []
        self._number_of = {(picture.row, picture.column): number for number, picture in enumerate(placed)}
        # distances from the top to the lower end of the pictures and of the name of the row
        self._depth = 0.0
        self._name_depth = 0.0
        self._last_band: Band | None = None

    @property
    def height(self) -> float:
        """Return the height of the stack in mm."""
        return max(self._depth, self._name_depth) - GAP_MM

    def add(self, band: Band) -> None:
        """Add a band, with the name of its row and titles of its columns unless the last band has them."""
        last_band = self._last_band
        is_new_row = last_band is None or band.row != last_band.row
        has_new_columns = last_band is None or band.columns != last_band.columns
        if is_new_row:
            self._depth = max(self._depth, self._name_depth)
        # left edge of each column
        lefts = {}
        for index, column in enumerate(band.columns):
            lefts[column] = self.left + self.sheet.names_mm + index * (self.sheet.column_mm + GAP_MM)
        if has_new_columns:
            self._add_titles(lefts)
        if is_new_row:
            name = self.sheet.rows[band.row]
            self.texts.append(_Text("name", self.left, -self._depth, name))
            self._name_depth = self._depth + lines_height_mm(name) + GAP_MM
        band_depth = self._depth
        for column, left in lefts.items():
            if (band.row, column) in self._number_of:
                picture_depth = self._add_picture_and_return_lower_end(
                    self._number_of[band.row, column], left
                )
                band_depth = max(band_depth, picture_depth)
        self._depth = band_depth + GAP_MM
        self._last_band = band

    def _add_titles(self, lefts: Mapping[str, float]) -> None:
        """Add the titles of columns with given left edges, if there are any."""
        titles = {column: self.sheet.columns[column] for column in lefts}
        if not any(titles.values()):
            return
        self._depth += max(map(lines_height_mm, titles.values())) + TEXT_GAP_MM
        for column, title in titles.items():
            # the position of a title is that of its lower edge
            self.texts.append(_Text("title", lefts[column], TEXT_GAP_MM - self._depth, title))

    def _add_picture_and_return_lower_end(self, number: int, left: float) -> float:
        """Add a picture with its text, and return the distance from the top to their lower end."""
        picture = self.placed[number]
        picture_row = _picture_row_from_box_left_top(picture, self.sheet.box, left, top=-self._depth)
        self.picture_rows[number] = picture_row | {"picture": str(number)}
        tag = wrapped(picture.text, chars_in(self.sheet.column_mm, TAG_PT), _TAG_LINES)
        depth = self._depth + picture_row["top"] - picture_row["bottom"]
        self.texts.append(_Text("tag", left, -depth - TEXT_GAP_MM, tag))
        if tag:
            depth += TEXT_GAP_MM + lines_height_mm(tag, TAG_PT)
        return depth


def _picture_row_from_box_left_top(
    picture: PlacedPicture, box: tuple[float, float], left: float, top: float
) -> dict[str, Any]:
    """Return a row of the table of pictures: contents of a picture, its size in pixels, its position in mm.

    The picture fills the box, of (width, height), from its left and upper edge.
    """
    height, width = picture.content.shape
    pixel_mm = mm_per_pixel(picture.content.shape, box)
    return {
        "case": picture.content.case,
        "task": picture.content.task,
        "method": picture.content.method,
        "row": picture.row,
        "column": picture.column,
        "score": picture.score,
        "text": picture.text,
        "note": picture.content.note,
        "height": height,
        "width": width,
        "mm_per_pixel": pixel_mm,
        "left": left,
        "right": left + width * pixel_mm,
        "bottom": top - height * pixel_mm,
        "top": top,
    }
