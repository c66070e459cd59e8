"""Panels that share rows: titles, how many side by side, and lines of labels that leave room."""

from dataclasses import replace

import pandas as pd
import plotnine as p9
import pytest
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.figure_rows import PlacedRows, row_layout
from salstats.display.plots.layout.row_panels import (
    default_figure_width,
    fitting_rows,
    panel_fits,
    panel_titles,
    row_panels,
)
from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.errors import SalstatsError

ROWS = row_layout(["a", "b"], ["Edema", "Nodule"])


def titles_of(n, n_columns=None):
    return panel_titles(pd.Series(pd.Categorical([f"t{i}" for i in range(n)])), n_columns)


@pytest.mark.parametrize(("n", "n_columns"), [(2, 2), (3, 3), (4, 2), (5, 2)])
def test_two_panels_stand_side_by_side_or_all_three(n, n_columns):
    assert titles_of(n).n_columns == n_columns


def test_the_title_of_a_single_panel_is_that_of_its_axis():
    assert titles_of(1) == ([""], "t0", 1)


def test_no_more_columns_than_panels():
    assert titles_of(2, 5).n_columns == 2


@pytest.mark.parametrize(("n_columns", "n_panels", "width"), [(1, 3, 89), (2, 1, 89), (2, 2, 183)])
def test_panels_side_by_side_take_a_page(n_columns, n_panels, width):
    assert default_figure_width(n_columns, ["t"] * n_panels) == width


def test_panels_that_would_be_narrow_stand_below_each_other():
    assert row_panels(ROWS, ["t0", "t1"], 2, 183).n_columns == 2
    assert row_panels(ROWS, ["t0", "t1"], 2, 50).n_columns == 1


@pytest.mark.parametrize(("width", "n_columns"), [(183, 3), (89, 1)])
def test_three_panels_stand_all_beside_or_all_below_each_other(width, n_columns):
    assert row_panels(ROWS, ["t0", "t1", "t2"], 3, width).n_columns == n_columns


def test_columns_of_text_take_their_room_from_the_panels():
    alone = row_panels(ROWS, ["t0"], 1, 89)
    beside = row_panels(ROWS, ["t0"], 1, 89, {"n": ["1,000", "2"]})
    assert alone.panel_width - beside.panel_width == pytest.approx(beside.columns_mm)


def test_labels_are_wrapped_until_the_panel_has_room():
    label = "Enlarged cardiomediastinum on both sides"

    def place(chars):
        lines = label.replace(" ", "\n") if chars < 16 else label
        return PlacedRows(pd.DataFrame({"y": [0.0]}), row_layout([label], [lines]))

    columns = {"Mean (95% CI)": ["0.300 (0.200, 0.400)"]}
    assert not panel_fits(place(24).rows, columns, 89)
    fitted = fitting_rows(place, columns, 89)
    assert "\n" in fitted.rows.texts[0]
    assert panel_fits(fitted.rows, fitted.columns, 89)
    wide = fitting_rows(place, columns, 183)
    assert wide.rows.texts == [label]
    assert wide.columns == columns


def test_axis_title_caption_and_legend_make_the_figure_higher():
    grid = row_panels(ROWS, [""], 1, 89)

    def height(x_title="", notes=(), legend=()):
        elements = grid.elements(x_title, notes, legend)
        return 25.4 * (p9.ggplot() + elements).theme.getp("figure_size")[1]

    assert height("Mean") == pytest.approx(height() + 4.0)
    assert height(notes=["A sentence."]) > height()
    assert height(legend=["Grad-CAM"]) > height()


def height_mm(grid):
    return 25.4 * (p9.ggplot() + grid.elements("", (), ())).theme.getp("figure_size")[1]


def test_titles_and_headings_make_panels_higher():
    grid = row_panels(ROWS, [""], 1, 89)
    titled = row_panels(ROWS, ["t0", "t1"], 1, 89)
    two_lines = row_panels(ROWS, ["t0", "t1"], 1, 89, {"n\npairs": ["1", "2"]})
    # two panels below each other are more than twice as high as one without a title
    assert height_mm(titled) > 1.5 * height_mm(grid)
    title_of_two_lines = replace(grid, titles={"t0": "a\nb"})
    assert height_mm(title_of_two_lines) == height_mm(replace(grid, heading_lines=2)) > height_mm(grid)
    assert two_lines.heading_lines == 2
    assert grid.heading_lines == 0
    sided = row_panels(ROWS, [""], 1, 89, has_sides=True)
    assert sided.sides_mm > grid.sides_mm == 0


def test_titles_stand_above_headings_only_where_they_need_the_room_over_the_columns():
    columns = {"n": ["1,000 (2,000, 3,000)", "2"]}

    def lines(title):
        grid = row_panels(ROWS, [title, "t"], 1, 89, columns)
        widest = max(text_width_mm(line, bold=True) for line in grid.titles[title].split("\n"))
        return grid.titles[title], widest > grid.panel_width

    assert lines("Short") == ("Short", False)
    for title in ("many words " * 30, "Aworderthanthepanelisandnowhereablank"):
        text, is_over_columns = lines(title)
        assert text.endswith("\n")
        assert is_over_columns


def test_the_narrowest_rows_are_taken_where_nothing_fits():
    tried = []

    def place(chars):
        tried.append(chars)
        return PlacedRows(pd.DataFrame({"y": [0.0]}), row_layout(["a"], [f"Label on lines of {chars}"]))

    fitted = fitting_rows(place, {"Mean (95% CI)": ["0.300 (0.200, 0.400)"]}, 40)
    assert fitted.rows.texts == [f"Label on lines of {min(tried)}"]


def test_a_figure_without_room_for_its_marks_names_the_width_that_would_do():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    means = ss.summarize(scores, by=["method"], interval="t")
    with raises(SalstatsError, option="width", value=45) as caught:
        ss.plot_forest(means, width=45)
    sufficient = next(setting.value for setting in caught.value.hint.settings() if setting.option == "width")
    assert 45 < sufficient < 120
    ss.plot_forest(means, width=sufficient)
