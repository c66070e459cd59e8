"""Panels in a grid: how many side by side, their size, and the figure around them."""

import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from tests_support import raises

from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.panel_grid import MIN_PANEL_MM, group_titles, panel_grid
from salstats.display.plots.layout.theme import LINE_MM
from salstats.display.text.labels import Labels
from salstats.errors import ValueRangeError


def names(n):
    return [f"t{i}" for i in range(n)]


@pytest.mark.parametrize(
    ("n", "n_columns", "width"),
    [(1, 1, 89), (2, 2, 89), (4, 2, 89), (5, 5, 183), (6, 3, 183), (25, 5, 183), (26, 7, 183)],
)
def test_panels_are_spread_evenly_over_rows_in_a_column_or_on_a_page(n, n_columns, width):
    grid = panel_grid(names(n))
    assert (grid.n_columns, grid.width) == (n_columns, width)


def test_panels_fill_the_width_and_are_no_narrower_than_the_least():
    grid = panel_grid(names(9), 9, 89)
    assert grid.panel_width >= MIN_PANEL_MM
    assert grid.n_columns < 9
    wide = panel_grid(names(2), 2, 183, left_mm=20.0)
    assert wide.left_mm + 2 * wide.panel_width + 5.0 + 2.0 == pytest.approx(183)
    # at the right of the last panel
    figure = p9.ggplot() + wide.elements(30)
    assert 183 * figure.theme.getp("plot_margin_right") == pytest.approx(2.0)


def test_a_panel_is_as_wide_as_the_longest_word_of_its_title():
    long_title = "Pneumonoultramicroscopicsilicovolcanoconiosis"
    assert panel_grid([long_title, "b"], 2, 89).n_columns == 1


def test_fewer_panels_stand_side_by_side_below_titles_of_many_lines_by_default():
    long_title = (
        "Interstitial oedema with Kerley B lines, both lower zones, with or without effusion, Grad-CAM"
    )
    titles = [f"{long_title} {i}" for i in range(9)]
    grid = panel_grid(titles, width=89)
    assert grid.n_columns < panel_grid(names(9), width=89).n_columns
    assert max(title.count("\n") for title in grid.titles.values()) < 6
    assert panel_grid(titles, 3, 89).n_columns == 3


def test_own_axes_need_room_beside_each_panel_and_below_each_row():
    shared = panel_grid(names(4), 2, 183)
    own = panel_grid(names(4), 2, 183, free_axes=True)
    assert own.panel_width < shared.panel_width
    shared_height = shared.height_without_legend_and_caption(30)
    own_height = own.height_without_legend_and_caption(30)
    assert own_height - shared_height == pytest.approx(4.0)


def test_a_panels_height_is_a_share_of_its_width_within_limits():
    assert panel_grid(["a"], 1, 89).panel_height(0.1) == 13.0
    assert panel_grid(["a"], 1, 183).panel_height(2) == 48.0
    grid = panel_grid(["a"], 1, 59)
    assert grid.panel_height(0.5) == pytest.approx(0.5 * grid.panel_width)


def test_captions_legends_and_further_room_make_the_figure_higher():
    def height(**options):
        figure = p9.ggplot() + panel_grid(["a"]).elements(30, **options)
        return 25.4 * figure.theme.getp("figure_size")[1]

    plain = height()
    assert height(further_mm=7.0) == pytest.approx(plain + 7.0)
    assert height(notes=["A sentence."]) > plain
    assert height(legend=["Grad-CAM", "LIME"]) > plain
    assert height(notes=[""]) == plain
    assert panel_grid(["a"]).width_of_legend_above_panels([]) == 0


def test_a_number_of_columns_below_one_is_an_error():
    with raises(ValueRangeError, option="n_columns", value=0):
        panel_grid(["a"], 0)


def test_a_panel_is_called_by_all_grouping_columns():
    frame = pd.DataFrame({"metric": ["iou", "hit"], "task": ["b", "a"]})
    titles = group_titles(frame, Labels(), ["metric", "task"])
    assert list(titles) == ["IoU, b", "Hit rate, a"]
    assert list(np.asarray(group_titles(frame, Labels(), []))) == ["", ""]


@pytest.mark.parametrize("free_axes", [False, True])
def test_panels_are_those_of_a_column_with_wrapped_titles_and_their_own_axes_where_they_are_free(free_axes):
    grid = panel_grid(["Pulmonary oedema of both lungs", "b", "c"], 3, 89, free_axes=free_axes)
    [facet, _] = grid.facet_elements("task")
    assert facet.vars == ["task"]
    assert facet._ncol == grid.n_columns
    assert facet.free == {"x": free_axes, "y": free_axes}
    titles = {title: facet.labeller.cols_labeller.func(title) for title in grid.titles}
    assert titles == grid.titles
    assert "\n" in titles["Pulmonary oedema of both lungs"]
    assert panel_grid(["a"]).facet_elements("panel") == []


def test_legends_stand_over_the_middle_of_the_panels():
    grid = panel_grid(names(2), 2, 102, left_mm=10.0)
    # 90 mm of panels between 10 and 2 mm: a legend of 30 mm begins 30 mm from their left
    assert grid.legend_justification(30.0) == 0.5
    texts = ["Grad-CAM", "LIME"]
    figure = p9.ggplot() + grid.elements(30, legend=texts)
    assert figure.theme.getp("legend_justification_top") == grid.legend_justification(
        grid.width_of_legend_above_panels(texts)
    )
    assert grid.width_of_legend_above_panels(texts) > grid.width_of_legend_above_panels(texts[:1]) > 0


def test_panels_that_belong_together_fill_rows_of_their_own():
    # five panels side by side would divide the groups of three
    assert panel_grid(names(12), width=183, n_together=3).n_columns == 3
    assert panel_grid(names(12), width=183).n_columns == 4
    assert panel_grid(names(12), width=183, n_together=12).n_columns == 4


def test_panels_beyond_a_page_are_divided_into_pages():
    titles = names(60)
    frame = pd.DataFrame({"panel": pd.Categorical(titles, titles, ordered=True), "x": 1.0, "y": 1.0})
    grid = panel_grid(titles, 5, 183)
    figure = Figure(frame, p9.aes("x", "y")) + p9.geom_point() + grid.elements(30.0)
    pages = grid.divided_into_pages(figure, 30.0).pages
    assert len(pages) > 1
    assert [title for page in pages for title in page.data["panel"]] == titles
    assert all(len(page.data) % 5 == 0 for page in pages)


def test_titles_of_axes_are_wrapped_and_make_the_figure_higher():
    grid = panel_grid(["a"], 1, 60)
    title = "Overlap of the saliency map with the region that the radiologists have marked"
    figure = p9.ggplot() + grid.elements(30, x=title, y=title)
    lines = figure.labels.x.split("\n")
    assert len(lines) == figure.labels.y.count("\n") + 1 == 2
    short = p9.ggplot() + grid.elements(30, x="x", y=title)
    heights = [25.4 * one.theme.getp("figure_size")[1] for one in (figure, short)]
    assert heights[0] - heights[1] == pytest.approx(LINE_MM)
