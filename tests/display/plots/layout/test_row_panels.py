"""Panels that share rows: titles, how many side by side, and lines of labels that leave room."""

from dataclasses import replace

import pandas as pd
import plotnine as p9
import pytest
from display.plots.estimate_figures import layers, scale
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.figure_rows import PlacedRows, row_layout
from salstats.display.plots.layout.row_panels import (
    default_figure_width,
    fitting_rows_with_fewest_broken_words,
    panel_and_axis_titles,
    panel_fits,
    row_figure,
    row_panels,
)
from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.display.plots.layout.theme import LINE_MM, PALETTE
from salstats.errors import SalstatsError

ROWS = row_layout(["a", "b"], ["Edema", "Nodule"])


def titles_of(n, n_columns=None):
    return panel_and_axis_titles(pd.Series(pd.Categorical([f"t{i}" for i in range(n)])), n_columns)


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
    assert panel_fits(ROWS, {}, 89, min_width=alone.panel_width)
    assert not panel_fits(ROWS, {}, 89, min_width=alone.panel_width + 0.01)
    assert alone.panel_width - beside.panel_width == pytest.approx(beside.columns_mm)


def test_labels_are_wrapped_until_the_panel_has_room():
    label = "Enlarged cardiomediastinum on both sides"

    def place(chars):
        lines = label.replace(" ", "\n") if chars < 16 else label
        return PlacedRows(pd.DataFrame({"y": [0.0]}), row_layout([label], [lines]))

    columns = {"Mean (95% CI)": ["0.300 (0.200, 0.400)"]}
    assert not panel_fits(place(24).rows, columns, 89)
    fitted = fitting_rows_with_fewest_broken_words(place, columns, 89)
    assert "\n" in fitted.rows.texts[0]
    assert panel_fits(fitted.rows, fitted.columns, 89)
    wide = fitting_rows_with_fewest_broken_words(place, columns, 183)
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


def test_a_figure_is_as_high_as_its_rows_titles_texts_and_axes():
    grid = row_panels(ROWS, [""], 1, 89)
    # an axis of 5.5 mm and margins of 4 mm
    assert height_mm(grid) == pytest.approx(ROWS.height + 9.5)
    assert height_mm(replace(grid, sides_mm=2.8)) == pytest.approx(ROWS.height + 12.3)
    one_line = row_panels(ROWS, ["t", "u"], 2, 183)
    assert height_mm(one_line) == pytest.approx(ROWS.height + 9.5 + 6)
    three_lines = replace(one_line, titles={"t": "a\nb\nc", "u": ""})
    assert height_mm(three_lines) == pytest.approx(ROWS.height + 9.5 + 3 * 1.1 * LINE_MM + 2)
    below = replace(one_line, n_columns=1)
    assert height_mm(below) == pytest.approx(2 * (ROWS.height + 5.5 + 6) + 4)


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

    fitted = fitting_rows_with_fewest_broken_words(place, {"Mean (95% CI)": ["0.300 (0.200, 0.400)"]}, 40)
    assert fitted.rows.texts == [f"Label on lines of {min(tried)}"]


def test_a_figure_without_room_for_its_marks_names_the_width_that_would_do():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    means = ss.summarize(scores, by=["method"], interval="t")
    with raises(SalstatsError, option="width", value=45) as caught:
        ss.plot_forest(means, width=45)
    sufficient = next(setting.value for setting in caught.value.hint.settings() if setting.option == "width")
    assert 45 < sufficient < 120
    ss.plot_forest(means, width=sufficient)


#: Marks of two panels: Edema in both, Nodule in the first only, whose estimate is a summary.
MARKS = pd.DataFrame(
    {
        "panel": pd.Categorical(["t0", "t0", "t1"], ["t0", "t1"], ordered=True),
        "y": [ROWS.centres[0], ROWS.centres[1], ROWS.centres[0]],
        "estimate": [0.2, 0.4, 5.0],
        "conf_low": [0.1, 0.3, None],
        "conf_high": [0.3, 0.5, None],
        "method_label": "Grad-CAM",
        "fill": ["#FFFFFF", "#004488", "#FFFFFF"],
        "last": [False, True, False],
    }
)
GUIDES = pd.DataFrame({"panel": ["t0", "t1"], "guide": [0.0, 2.0]})


def figure_of_marks(frame=MARKS, rows=ROWS, guides=GUIDES, **options):
    return row_figure(frame, rows, x_title="Mean", notes=[], guides=guides, **options)


def estimates_of(layers):
    return [layer.geom.data["estimate"].tolist() for layer in layers]


def test_marks_have_bars_where_they_have_limits_and_summaries_are_diamonds():
    figure = figure_of_marks(methods={"gradcam": "Grad-CAM"})
    assert dict(figure.mapping) == {"x": "estimate", "y": "y"}
    [bar] = [layer for layer in layers(figure, "geom_segment") if "conf_low" in layer.mapping.values()]
    assert (bar.mapping["x"], bar.mapping["xend"], bar.mapping["yend"]) == ("conf_low", "conf_high", "y")
    assert bar.geom.data["estimate"].tolist() == [0.2, 0.4]
    mark, diamond = layers(figure, "geom_point")
    assert estimates_of([mark, diamond]) == [[0.2, 5.0], [0.4]]
    assert {mark.mapping[name] for name in ("color", "shape")} == {"method_label"}
    assert diamond.geom.aes_params["shape"] == "D"
    assert mark.mapping["fill"] == diamond.mapping["fill"] == "fill"
    assert isinstance(scale(figure, "fill"), p9.scale_fill_identity)


def test_marks_without_methods_are_squares_of_one_colour_and_none_stands_beyond_the_axis():
    limits = pd.DataFrame({"panel": ["t1"], "low": [0.0], "high": [1.0]})
    plain = MARKS.drop(columns=["fill", "last"])
    plain.loc[0, "estimate"] = float("nan")
    figure = figure_of_marks(plain, limits=limits)
    mark, arrow = layers(figure, "geom_point")
    assert mark.geom.data["estimate"].tolist() == [0.4]
    assert (mark.geom.aes_params["shape"], mark.geom.aes_params["color"]) == ("s", PALETTE[0])
    assert "color" not in mark.mapping
    assert (arrow.geom.data["estimate"].tolist(), arrow.geom.aes_params["color"]) == ([5.0], PALETTE[0])
    # the guide of the second panel lies beyond its axis, too
    [guide] = layers(figure, "geom_vline")
    assert guide.geom.data["panel"].tolist() == ["t0"]


def test_bounds_of_margins_within_the_axis_are_dotted_lines():
    margins = pd.DataFrame({"panel": ["t0", "t1"], "bound": [0.1, 3.0]})
    limits = pd.DataFrame({"panel": ["t1"], "low": [0.0], "high": [1.0]})
    guide, margin = layers(figure_of_marks(margins=margins, limits=limits), "geom_vline")
    assert guide.mapping["xintercept"] == "guide"
    assert (margin.mapping["xintercept"], margin.geom.data["bound"].tolist()) == ("bound", [0.1])
    assert margin.geom.aes_params["linetype"] == "dotted"
    # as thin as the axis
    assert margin.geom.aes_params["size"] == 0.4
    assert len(layers(figure_of_marks(margins=margins.head(0)), "geom_vline")) == 1


def test_titles_of_panels_end_on_one_line_and_axes_are_shared_where_they_have_to_be():
    grid = replace(row_panels(ROWS, ["t0", "t1"], 2, 183), titles={"t0": "a", "t1": "b\nb"}, heading_lines=3)
    for common_axis in (False, True):
        elements = grid.elements("", (), (), common_axis=common_axis)
        [facet] = [element for element in elements if isinstance(element, p9.facet_wrap)]
        title = facet.labeller.cols_labeller.func
        assert (title("t0"), title("t1")) == ("\n\na", "\nb\nb")
        assert facet.free == {"x": not common_axis, "y": False}
    # without headings the title of most lines decides
    elements = replace(grid, heading_lines=0).elements("", (), ())
    [facet] = [element for element in elements if isinstance(element, p9.facet_wrap)]
    assert [facet.labeller.cols_labeller.func(title) for title in ("t0", "t1")] == ["\na", "b\nb"]
    alone = row_panels(ROWS, [""], 1, 89).elements("", (), ())
    assert not any(isinstance(element, p9.facet_wrap) for element in alone)


def test_a_logarithmic_axis_has_its_own_numbers_and_a_high_figure_lines_to_its_axis():
    grid = row_panels(ROWS, [""], 1, 89)
    linear, log = (grid.elements("", (), (), log=is_log)[0] for is_log in (False, True))
    assert linear.labels([0.01, 1.0]) == ["0.01", "1.00"]
    assert log.labels([0.01, 1.0]) == ["0.01", "1"]
    many = row_layout([*range(30)], [str(number) for number in range(30)])
    high = p9.ggplot() + row_panels(many, [""], 1, 89).elements("Mean", (), ())
    assert not high.theme.themeables.is_blank("panel_grid_major_x")
    assert (p9.ggplot() + grid.elements("Mean", (), ())).theme.themeables.is_blank("panel_grid_major_x")


def test_a_panel_higher_than_a_page_is_divided_below_groups_of_rows():
    values = [*range(90)]
    rows = row_layout(
        values,
        [str(value) for value in values],
        starts_group=[value % 10 == 0 for value in values],
    )
    frame = pd.DataFrame({"panel": pd.Categorical([""] * 90), "y": rows.centres, "estimate": 0.5})
    guides = pd.DataFrame({"panel": [""], "guide": [0.0]})
    figure = figure_of_marks(frame.assign(conf_low=0.4, conf_high=0.6), rows, guides)
    firsts = [page.data["y"].max() for page in figure.pages]
    assert len(firsts) > 1
    assert all(value % 10 == 0 for value, y in zip(values, rows.centres, strict=True) if y in firsts)


def test_an_axis_without_a_title_has_no_room_for_one():
    grid = row_panels(ROWS, [""], 1, 89)
    for title in ("Mean", ""):
        theme = (p9.ggplot() + grid.elements(title, (), ())).theme
        assert theme.themeables.is_blank("axis_title_x") == (not title)


@pytest.mark.parametrize(
    ("panels", "legend", "top_mm", "legend_gap_mm"),
    [
        # the title of the columns of text stands in the margin, or between legend and panel
        ([""], [], 6.0, 6.0),
        ([""], ["Grad-CAM"], 1.5, 6.0),
        # it stands beside the titles of panels
        (["t0", "t1"], [], 1.5, 2.0),
        (["t0", "t1"], ["Grad-CAM"], 1.5, 2.0),
    ],
)
def test_the_room_around_panels_is_that_of_their_columns_and_headings(panels, legend, top_mm, legend_gap_mm):
    grid = row_panels(ROWS, panels, 1, 89, {"n": ["1,000", "2"]}, has_sides=True)
    theme = (p9.ggplot() + grid.elements("Mean", (), legend)).theme
    expected = {
        # the edge of the figure beyond the columns
        "plot_margin_right": grid.columns_mm + 1.5,
        "plot_margin_top": top_mm,
        "legend_box_spacing": legend_gap_mm,
        # a gap on both sides of the columns
        "panel_spacing_x": grid.columns_mm + 2 * 3,
        "panel_spacing_y": 2 + grid.sides_mm,
    }
    # plotnine takes all of them as shares of the width
    found = {name: 89 * theme.getp(name) for name in expected}
    assert found == pytest.approx(expected)
    assert theme.getp(("axis_title_x", "margin")).t == pytest.approx((1 + grid.sides_mm) / 89)
