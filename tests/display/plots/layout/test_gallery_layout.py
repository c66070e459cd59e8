"""The layout of galleries: pictures as large as the fewest pages allow."""

import pytest

from salstats.display.plots.layout.gallery_layout import MIN_PICTURE_MM, gallery_layout
from salstats.display.plots.layout.overlay_picture import Picture
from salstats.display.plots.layout.overlay_sheet import (
    EDGE_MM,
    GAP_MM,
    STACK_GAP_MM,
    TEXT_GAP_MM,
    PlacedPicture,
    lines_height_mm,
    picture_and_text_tables_and_height,
)
from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.display.plots.layout.theme import PAGE_HEIGHT_MM

SQUARE = (100, 100)


def layout_of(n_rows, n_columns, width=183.0):
    names = {f"r{row}": (f"case {row}",) for row in range(n_rows)}
    titles = {f"c{column}": f"Method {column}" for column in range(n_columns)}
    return gallery_layout(names, [SQUARE] * n_rows, titles, width)


def test_a_single_picture_fills_the_width_without_names():
    layout = layout_of(1, 1)
    assert layout.column_mm == pytest.approx(183 - 2 * EDGE_MM)
    assert (layout.names_mm, layout.columns, layout.common_titles_mm) == (0.0, {"c0": ""}, 0.0)


def test_columns_share_the_width_with_the_names_of_rows():
    layout = layout_of(2, 3)
    assert layout.names_mm > 0
    taken = layout.names_mm + 3 * layout.column_mm + 2 * GAP_MM + 2 * EDGE_MM
    assert taken == pytest.approx(183)
    assert layout.column_lines == (("c0", "c1", "c2"),)
    assert layout.common_titles_mm > 0


def test_more_columns_than_fit_are_divided_over_lines_that_are_as_long_as_each_other():
    layout = layout_of(2, 4, width=89.0)
    assert layout.column_lines == (("c0", "c1"), ("c2", "c3"))
    # every line has its own titles
    assert layout.common_titles_mm == 0.0
    assert [band.columns for band in layout.bands_of_row("r0")] == list(layout.column_lines)


def test_pictures_are_smaller_where_that_saves_pages_and_never_below_the_least():
    few = layout_of(2, 2)
    many = layout_of(30, 2)
    assert MIN_PICTURE_MM <= many.box[0] < few.box[0] <= few.column_mm
    assert many.n_stacks > 1


def placed_pictures(n_rows, n_columns):
    picture = Picture(
        case="a", task="Edema", method=None, series=(), shape=SQUARE, printed_shape=SQUARE, grey=None,
        saliency=None, outlines={}, points={},
    )  # fmt: skip
    return [
        PlacedPicture(picture, row=f"r{row}", column=f"c{column}", text="")
        for row in range(n_rows)
        for column in range(n_columns)
    ]


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "width", "n_pages"), [(2, 2, 183.0, 1), (60, 2, 183.0, None), (40, 4, 89.0, None)]
)
def test_pages_have_every_band_once_in_order_and_none_is_too_high(n_rows, n_columns, width, n_pages):
    layout = layout_of(n_rows, n_columns, width)
    placed = placed_pictures(n_rows, n_columns)
    outside_mm = 20.0
    pages = layout.stacks_of_pages(placed, outside_mm)
    bands = [band for page in pages for stack in page for band in stack]
    assert bands == [band for row in layout.rows for band in layout.bands_of_row(row)]
    assert all(1 <= len(page) <= layout.n_stacks for page in pages)
    rows = [{band.row for band in stack} for page in pages for stack in page]
    for page in pages:
        on_page = {band.row for stack in page for band in stack}
        pictures = [picture for picture in placed if picture.row in on_page]
        height = picture_and_text_tables_and_height(pictures, layout.sheet(page)).height
        assert height <= PAGE_HEIGHT_MM - outside_mm + 1e-6
    # no row is on two pages or in two stacks, and the page is full
    assert sum(map(len, rows)) == n_rows
    assert n_pages in (None, len(pages))
    assert all(len(page) == layout.n_stacks for page in pages[:-1])


def test_a_row_that_is_higher_than_a_page_is_divided():
    layout = layout_of(1, 4, 89.0)
    pages = layout.stacks_of_pages(placed_pictures(1, 4), PAGE_HEIGHT_MM - layout.box[1] - 1)
    assert [[band.columns for band in stack] for page in pages for stack in page] == [
        [columns] for columns in layout.column_lines
    ]


def layout_of_names(names, shapes=None, width=183.0):
    rows = {f"r{number}": name for number, name in enumerate(names)}
    return gallery_layout(rows, shapes or [SQUARE] * len(rows), {"c0": "", "c1": ""}, width)


def test_names_of_rows_have_the_room_of_their_longest_word_within_limits():
    assert layout_of_names([("a",), ("b",)]).names_mm == 16.0
    word = "Pneumonoultramicroscopic"
    room = layout_of_names([(word,), ("b",)]).names_mm
    assert room == pytest.approx(text_width_mm(word) + 2)
    assert layout_of_names([(4 * word,), ("b",)]).names_mm == pytest.approx(0.3 * 183)
    # the parts of a name stand on lines of their own
    assert layout_of_names([("a", "Edema"), ("b", "Edema")]).rows == {"r0": "a\nEdema", "r1": "b\nEdema"}


def test_flat_pictures_are_larger_than_high_ones_on_as_many_pages_and_unknown_shapes_are_squares():
    names = [(f"case {number}",) for number in range(30)]
    flat, square, unknown = (layout_of_names(names, [shape] * 30) for shape in ((40, 100), SQUARE, None))
    assert flat.box[0] > square.box[0]
    assert unknown == square


def test_a_page_has_room_for_titles_of_columns_and_texts_below_pictures():
    layout = layout_of(2, 2)
    common_titles_mm = lines_height_mm(layout.columns["c0"]) + TEXT_GAP_MM
    assert layout.common_titles_mm == pytest.approx(common_titles_mm)
    sheet = layout.sheet([layout.bands_of_row("r0")])
    assert (sheet.width, sheet.box, sheet.column_mm, sheet.names_mm) == (
        183.0,
        layout.box,
        layout.column_mm,
        layout.names_mm,
    )


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("n_stacks", [1, 2, 3])
def test_stacks_stand_side_by_side_as_long_as_pictures_have_their_least_width(n_columns, n_stacks):
    # names of 16 mm, and many rows, which need as many stacks as possible
    stack_mm = 16 + n_columns * MIN_PICTURE_MM + (n_columns - 1) * GAP_MM
    least_width = 2 * EDGE_MM + n_stacks * stack_mm + (n_stacks - 1) * STACK_GAP_MM
    just_fitting = layout_of(200, n_columns, width=least_width + 0.01)
    assert just_fitting.names_mm == 16
    assert just_fitting.n_stacks == n_stacks
    assert just_fitting.box[0] == pytest.approx(MIN_PICTURE_MM, abs=0.01)
    # one stack there is at any width
    assert layout_of(200, n_columns, width=least_width - 0.01).n_stacks == max(n_stacks - 1, 1)
