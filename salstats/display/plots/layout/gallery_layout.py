"""Layout of a gallery: the size of its pictures, the pictures side by side, and the rows of each page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from salstats.display.plots.layout.overlay_picture import mm_per_pixel
from salstats.display.plots.layout.overlay_sheet import (
    EDGE_MM,
    GAP_MM,
    MAX_HEIGHT_FACTOR,
    STACK_GAP_MM,
    TAG_PT,
    TEXT_GAP_MM,
    Band,
    PictureSheet,
    PlacedPicture,
    lines_height_mm,
    picture_and_text_tables_and_height,
)
from salstats.display.plots.layout.text_fit import chars_in, widest_word_mm, wrapped
from salstats.display.plots.layout.theme import PAGE_HEIGHT_MM
from salstats.display.text.packing import packed_slices

#: Least width in mm of a picture's box, in which a finding is still visible in print.
MIN_PICTURE_MM = 20.0
#: Least width in mm of the room for the names of rows, and its most as a share of the figure's width.
_MIN_NAMES_MM = 16.0
_MAX_NAMES_SHARE = 0.3
#: Most lines of a part of a row's name, and of the title of a column.
_NAME_LINES = 4
_TITLE_LINES = 3
#: Assumed height in mm of the pictures on a page, before the height of the caption is known.
_ASSUMED_PAGE_MM = PAGE_HEIGHT_MM - 45.0
#: Room in mm on a page for the title above and the text below the largest picture.
_OUTSIDE_BOX_MM = 15.0
#: Number of sizes of pictures that are tried, from the largest possible one to the least.
_N_SIZES = 16


@dataclass(frozen=True)
class GalleryLayout:
    """Layout of a gallery, in mm: everything but the division of rows into stacks and pages.

    Attributes
    ----------
    width : float
        Width of the figure.
    box : tuple of float
        Largest width and height of a picture.
    column_mm : float
        Width of a column, the room for a picture and its text; smaller pictures are spread over it.
    names_mm : float
        Width of the room for the names of rows.
    rows, columns : mapping
        Name of each row and title of each column, by their keys.
    column_lines : tuple of tuple of str
        Keys of the columns side by side: each row has a band of pictures for each of these tuples.
    n_stacks : int
        Number of stacks of rows side by side.
    """

    width: float
    box: tuple[float, float]
    column_mm: float
    names_mm: float
    rows: Mapping[str, str]
    columns: Mapping[str, str]
    column_lines: tuple[tuple[str, ...], ...]
    n_stacks: int

    @property
    def common_titles_mm(self) -> float:
        """Return the height of the titles above all rows; 0 if each band has titles of its own."""
        highest = max(map(lines_height_mm, self.columns.values()))
        if len(self.column_lines) > 1 or highest == 0.0:
            return 0.0
        return highest + TEXT_GAP_MM

    def sheet(self, stacks: Sequence[Sequence[Band]]) -> PictureSheet:
        """Return the sheet of some stacks of bands, such as those of a page."""
        return PictureSheet(
            width=self.width,
            box=self.box,
            column_mm=self.column_mm,
            rows=self.rows,
            columns=self.columns,
            names_mm=self.names_mm,
            stacks=stacks,
        )

    def bands_of_row(self, row_key: str) -> list[Band]:
        """Return the bands of pictures of a row, given by its key."""
        return [Band(row_key, columns) for columns in self.column_lines]

    def stacks_of_pages(self, placed: Sequence[PlacedPicture], outside_mm: float) -> list[list[list[Band]]]:
        """Return the stacks of bands of each page.

        `outside_mm` is the height of everything outside the pictures and their texts. A row is divided only
        where it is higher than a page.
        """
        available_mm = PAGE_HEIGHT_MM - outside_mm - self.common_titles_mm
        # bands that stay together, and their heights
        blocks: list[list[Band]] = []
        heights: list[float] = []
        for row in self.rows:
            bands = self.bands_of_row(row)
            pictures = [picture for picture in placed if picture.row == row]
            row_height = (
                picture_and_text_tables_and_height(pictures, self.sheet([bands])).height
                - self.common_titles_mm
                + GAP_MM
            )
            band_height = row_height / len(bands)
            n_fitting = len(bands)
            if row_height > available_mm:
                n_fitting = max(int(available_mm / band_height), 1)
            for start in range(0, len(bands), n_fitting):
                block = bands[start : start + n_fitting]
                blocks.append(block)
                heights.append(band_height * len(block))
        stacks = []
        for stack_blocks in packed_slices(heights, available_mm):
            stack: list[Band] = []
            for block in blocks[stack_blocks]:
                stack += block
            stacks.append(stack)
        return [stacks[start : start + self.n_stacks] for start in range(0, len(stacks), self.n_stacks)]


def gallery_layout(
    row_names: Mapping[str, Sequence[str]],
    image_shapes: Sequence[tuple[int, int] | None],
    column_titles: Mapping[str, str],
    width: float,
) -> GalleryLayout:
    """Return the layout on the fewest pages and, among these, with the largest pictures.

    Parameters
    ----------
    row_names : mapping
        Parts of the name of each row, each on lines of its own, by the key of the row.
    image_shapes : sequence
        Height and width in pixels of the image of each row, None if it is not known.
    column_titles : mapping
        Title of each column by its key.
    width : float
        Width of the figure in mm.
    """
    names_mm = 0.0
    row_texts = dict.fromkeys(row_names, "")
    if len(row_names) > 1:
        names_mm = _row_names_width_mm(row_names, width)
        row_texts = {key: _row_text(name, names_mm) for key, name in row_names.items()}
    if len(row_names) == 1 and len(column_titles) == 1:
        # the caption names a single picture
        column_titles = dict.fromkeys(column_titles, "")
    # width of a stack of the smallest pictures
    min_stack_mm = names_mm + len(column_titles) * (MIN_PICTURE_MM + GAP_MM) - GAP_MM
    # the last stack has no gap at its right
    width_with_gap_mm = width - 2 * EDGE_MM + STACK_GAP_MM
    max_stacks = max(int(width_with_gap_mm // (min_stack_mm + STACK_GAP_MM)), 1)
    candidates = []
    for n_stacks in range(1, min(max_stacks, len(row_names)) + 1):
        candidates += _layouts_of_sizes(row_texts, column_titles, width, names_mm, n_stacks)
    n_pages = []
    for candidate in candidates:
        heights = _approximate_row_heights_mm(candidate, image_shapes)
        stacks = packed_slices(heights, _ASSUMED_PAGE_MM - candidate.common_titles_mm)
        n_pages.append(math.ceil(len(stacks) / candidate.n_stacks))
    fewest_pages = [candidate for candidate, n in zip(candidates, n_pages, strict=True) if n == min(n_pages)]

    def goodness_key(candidate: GalleryLayout) -> tuple[float, int]:
        """Return a sort key: first the largest width of a picture, then the fewest stacks."""
        picture_width, _ = candidate.box
        return picture_width, -candidate.n_stacks

    return max(fewest_pages, key=goodness_key)


def _layouts_of_sizes(
    row_texts: Mapping[str, str],
    column_titles: Mapping[str, str],
    width: float,
    names_mm: float,
    n_stacks: int,
) -> list[GalleryLayout]:
    """Return layouts with pictures of several sizes, from the largest that the width allows to the least.

    `row_texts` and `column_titles` are the names of rows and the titles of columns by their keys, `names_mm`
    is the width of the room for names.
    """
    gaps_mm = (n_stacks - 1) * STACK_GAP_MM
    stack_with_names_mm = (width - 2 * EDGE_MM - gaps_mm) / n_stacks
    stack_mm = stack_with_names_mm - names_mm
    # without the tolerance, a rounding error could exclude a column that just fits
    max_columns = max(int((stack_mm + GAP_MM + 1e-9) // (MIN_PICTURE_MM + GAP_MM)), 1)
    keys = list(column_titles)
    n_lines = math.ceil(len(keys) / max_columns)
    n_columns = math.ceil(len(keys) / n_lines)
    lines = [tuple(keys[start : start + n_columns]) for start in range(0, len(keys), n_columns)]
    column_mm = (stack_mm - (n_columns - 1) * GAP_MM) / n_columns
    title_chars = chars_in(column_mm, bold=True)
    columns = {key: wrapped(title, title_chars, _TITLE_LINES) for key, title in column_titles.items()}
    layouts = []
    for size in np.linspace(column_mm, min(MIN_PICTURE_MM, column_mm), _N_SIZES):
        box_width = float(size)
        box_height = min(MAX_HEIGHT_FACTOR * box_width, _ASSUMED_PAGE_MM - _OUTSIDE_BOX_MM)
        layouts.append(
            GalleryLayout(
                width=width,
                box=(box_width, box_height),
                column_mm=column_mm,
                names_mm=names_mm,
                rows=row_texts,
                columns=columns,
                column_lines=tuple(lines),
                n_stacks=n_stacks,
            )
        )
    return layouts


def _row_names_width_mm(names: Mapping[str, Sequence[str]], width: float) -> float:
    """Return the room in mm for the names of rows: that of the longest word, within limits."""
    widest_word = max(widest_word_mm(name_parts) for name_parts in names.values())
    max_side_mm = max(_MAX_NAMES_SHARE * width, _MIN_NAMES_MM)
    return float(np.clip(widest_word + 2, _MIN_NAMES_MM, max_side_mm))


def _row_text(name_parts: Sequence[str], names_mm: float) -> str:
    """Return the name of a row, each of its parts wrapped to lines of its own, for a room in mm."""
    return "\n".join(wrapped(text, chars_in(names_mm - 1), _NAME_LINES) for text in name_parts)


def _approximate_row_heights_mm(
    layout: GalleryLayout, image_shapes: Sequence[tuple[int, int] | None]
) -> list[float]:
    """Return the approximate height of each row in mm, with one line of text below each picture.

    Images of unknown shape count as squares. If the columns of a row stand on several lines, each line has
    their titles above it.
    """
    titles_mm = 0.0
    if len(layout.column_lines) > 1:
        titles_mm = max(map(lines_height_mm, layout.columns.values())) + TEXT_GAP_MM
    tag_mm = lines_height_mm("x", TAG_PT) + TEXT_GAP_MM
    heights = []
    for shape, name in zip(image_shapes, layout.rows.values(), strict=True):
        height, width = shape or (1, 1)
        picture_mm = height * mm_per_pixel((height, width), layout.box)
        band_mm = titles_mm + picture_mm + tag_mm + GAP_MM
        heights.append(max(len(layout.column_lines) * band_mm, lines_height_mm(name) + GAP_MM))
    return heights
