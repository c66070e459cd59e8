"""The layout of galleries: pictures as large as the fewest pages allow."""

import pytest

from salstats.display.plots.layout.gallery_layout import LEAST_MM, gallery_layout
from salstats.display.plots.layout.overlay_sheet import EDGE_MM, GAP_MM

SQUARE = (100, 100)


def layout_of(n_rows, n_columns, width=183.0):
    names = {f"r{row}": (f"case {row}",) for row in range(n_rows)}
    titles = {f"c{column}": f"Method {column}" for column in range(n_columns)}
    return gallery_layout(names, [SQUARE] * n_rows, titles, width)


def test_a_single_picture_fills_the_width_without_names():
    layout = layout_of(1, 1)
    assert layout.column == pytest.approx(183 - 2 * EDGE_MM)
    assert (layout.names_mm, layout.columns, layout.title_mm) == (0.0, {"c0": ""}, 0.0)


def test_columns_share_the_width_with_the_names_of_rows():
    layout = layout_of(2, 3)
    assert layout.names_mm > 0
    taken = layout.names_mm + 3 * layout.column + 2 * GAP_MM + 2 * EDGE_MM
    assert taken == pytest.approx(183)
    assert layout.column_lines == (("c0", "c1", "c2"),)
    assert layout.title_mm > 0


def test_more_columns_than_fit_are_divided_over_lines_that_are_as_long_as_each_other():
    layout = layout_of(2, 4, width=89.0)
    assert layout.column_lines == (("c0", "c1"), ("c2", "c3"))
    # every line has its own titles
    assert layout.title_mm == 0.0
    assert [band.columns for band in layout.bands_of_row("r0")] == list(layout.column_lines)


def test_pictures_are_smaller_where_that_saves_pages_and_never_below_the_least():
    few = layout_of(2, 2)
    many = layout_of(30, 2)
    assert LEAST_MM <= many.box[0] < few.box[0] <= few.column
    assert many.n_stacks > 1
