"""Figures with pages, which can be laid out for another width."""

import matplotlib.pyplot as plt
import pandas as pd
import plotnine as p9
import pytest
from tests_support import raises, warns

from salstats.display.plots.layout import figure as figure_module
from salstats.display.plots.layout.figure import (
    Figure,
    first_page_with_further_pages,
    keep_call_in_figure,
    page_sentence,
)
from salstats.display.plots.layout.theme import figure_size, theme_salstats
from salstats.errors import ValueRangeError

FRAME = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})


def page(number, width=89.0, frame=FRAME):
    points = Figure(frame, p9.aes("x", "y")) + p9.geom_point() + p9.labs(caption=f"Page {number}.")
    return points + theme_salstats() + figure_size(width, 50)


@keep_call_in_figure
def plot_points(frame, *, width=89.0):
    """Draw two pages of points."""
    return first_page_with_further_pages([page(1, width, frame), page(2, width, frame)])


def test_what_is_added_to_a_figure_is_on_all_of_its_pages():
    figure = plot_points(FRAME) + p9.labs(title="Mine")
    assert [one.labels.caption for one in figure.pages] == ["Page 1.", "Page 2."]
    assert [one.labels.title for one in figure.pages] == ["Mine", "Mine"]


def test_a_figure_for_another_width_has_the_additions_and_the_frame_as_it_was():
    frame = FRAME.copy()
    figure = plot_points(frame) + p9.labs(title="Mine")
    frame["x"] = 0.0
    wide = figure.at(183)
    assert 25.4 * wide.theme.getp("figure_size")[0] == pytest.approx(183)
    assert [one.labels.title for one in wide.pages] == ["Mine", "Mine"]
    assert wide.data["x"].tolist() == [1.0, 2.0]


def test_a_figure_of_that_width_is_itself():
    figure = plot_points(FRAME)
    assert figure.at(89.05) is figure
    assert figure.at(89.2) is not figure


def test_a_page_alone_has_no_other_pages_and_no_call():
    alone = plot_points(FRAME).alone()
    assert alone.pages == (alone,)
    assert alone.at(183) is alone


def test_a_figure_without_further_pages_is_its_only_page():
    single = keep_call_in_figure(lambda *, width=89.0: page(1, width))()
    assert isinstance(single, Figure)
    assert single.pages == (single,)


@pytest.mark.parametrize("width", [39, 1001, True, "89"])
def test_a_width_that_cannot_be_printed_is_an_error_before_anything_is_drawn(width):
    with raises(ValueRangeError, option="width", value=width):
        plot_points(None, width=width)


def height_mm(figure):
    return 25.4 * figure.theme.getp("figure_size")[1]


def test_a_page_without_its_caption_is_lower_by_the_lines_of_the_caption():
    figure = plot_points(FRAME)
    bare = figure.without_caption()
    assert bare.labels.caption is None
    assert bare.theme.getp("figure_size")[0] == figure.theme.getp("figure_size")[0]
    assert 3 < height_mm(figure) - height_mm(bare) < 6
    assert figure.labels.caption == "Page 1."


def test_the_caption_of_a_figure_is_one_line_without_the_number_of_its_first_page():
    figure = plot_points(FRAME)
    figure.labels.caption = "Bars: 95% intervals,\nin \\$.\nPage 1 of 2."
    assert figure.caption() == "Bars: 95% intervals, in $."


def test_a_title_makes_a_figure_higher_and_a_caption_is_wrapped_to_its_width():
    figure = plot_points(FRAME)
    assert height_mm(figure + p9.labs(title="Mine")) > height_mm(figure) + 3
    longer = figure + p9.labs(caption="My own words, " * 12)
    assert longer.labels.caption.count("\n") >= 1
    assert height_mm(longer) > height_mm(figure) + 2


def test_larger_text_wraps_the_caption_again():
    figure = plot_points(FRAME) + p9.labs(caption="My own words, " * 12)
    larger = figure + p9.theme(text=p9.element_text(size=10))
    assert larger.labels.caption.count("\n") > figure.labels.caption.count("\n")


def test_a_complete_theme_changes_the_look_and_not_the_layout():
    figure = plot_points(FRAME)
    grey = figure + p9.theme_gray()
    assert grey.theme.getp("figure_size") == figure.theme.getp("figure_size")
    assert grey.theme.getp(("axis_text", "size")) == figure.theme.getp(("axis_text", "size"))
    assert grey.theme.getp("legend_position") == "top"
    drawn = grey.draw()
    assert plt.matplotlib.colors.to_hex(drawn.axes[0].patch.get_facecolor()) == "#ebebeb"
    plt.close(drawn)


def test_a_complete_theme_takes_away_and_brings_lines_of_its_own():
    figure = plot_points(FRAME)
    grid = p9.element_line(color="red")
    with_grid = figure + p9.theme(panel_grid_major=grid, panel_border=p9.element_rect())
    assert not with_grid.theme.themeables.is_blank("panel_grid_major")
    bare = with_grid + p9.theme_void()
    for name in ("panel_grid_major", "panel_border"):
        assert bare.theme.themeables.is_blank(name), name
    # an entry of the figure gives way to the more general one of the theme
    grey = with_grid + p9.theme_gray()
    colour = grey.theme.getp(("panel_grid_major", "color"))
    assert colour == (p9.ggplot() + p9.theme_gray()).theme.getp(("panel_grid_major", "color"))
    assert grey.theme.getp("figure_size") == figure.theme.getp("figure_size")


def test_an_element_without_text_stays_so_unless_the_theme_names_it():
    figure = plot_points(FRAME)
    assert (figure + p9.theme(text=p9.element_text(size=9))).theme.themeables.is_blank("legend_title")
    named = figure + p9.theme(legend_title=p9.element_text(size=9))
    assert not named.theme.themeables.is_blank("legend_title")


@keep_call_in_figure
def plot_bare(frame, *, width=89.0):
    """Draw points without numbers at the axes."""
    return page(1, width, frame) + p9.theme(axis_text=p9.element_blank())


def test_an_axis_without_text_has_none_at_another_width_or_with_larger_text():
    wide = plot_bare(FRAME).at(183)
    larger = plot_bare(FRAME) + p9.theme(text=p9.element_text(size=9))
    assert wide.theme.themeables.is_blank("axis_text")
    assert larger.theme.themeables.is_blank("axis_text")
    assert larger.at(183).theme.themeables.is_blank("axis_text")


@pytest.mark.parametrize("size", [8.3, 9.1, 11.7])
def test_additions_after_larger_text_keep_its_size(size):
    figure = plot_points(FRAME) + p9.theme(text=p9.element_text(size=size)) + p9.labs(title="Mine")
    assert figure.theme.getp(("axis_text", "size")) == pytest.approx(size)
    assert figure.at(120).theme.getp(("axis_text", "size")) == pytest.approx(size)
    assert [page.labels.title for page in figure.pages] == ["Mine", "Mine"]


def test_a_figure_that_was_drawn_takes_additions_and_is_drawn_again():
    figure = plot_points(FRAME) + p9.facet_wrap("x")
    first = figure.draw()
    second = (figure + p9.theme(figure_size=(4, 3))).draw()
    assert len(first.axes) == len(second.axes) == 2
    assert figure.draw() is not first
    plt.close("all")


@keep_call_in_figure
def plot_labelled(frame, *, width=89.0, height=50.0):
    """Draw points with texts of 5 points, and texts of the theme's size."""
    texts = [p9.geom_text(p9.aes(label="x"), size=5), p9.geom_text(p9.aes(label="y"))]
    return page(1, width, frame) + texts + figure_size(width, height)


def test_larger_text_is_that_of_all_texts_on_a_page_of_the_same_width():
    figure = plot_labelled(FRAME)
    larger = figure + p9.theme(text=p9.element_text(size=14))
    assert 25.4 * larger.theme.getp("figure_size")[0] == pytest.approx(89)
    # twice as high, and the line of the caption grows from twice 6 points to 14
    assert height_mm(larger) == pytest.approx(2 * height_mm(figure) + 1.25 * 2 / 72 * 25.4)
    for element in ("axis_text", "axis_title", "legend_text", "plot_caption"):
        assert larger.theme.getp((element, "size")) == pytest.approx(14)
    texts = [layer.geom.aes_params["size"] for layer in larger.layers if isinstance(layer.geom, p9.geom_text)]
    assert texts == [10, 14]


def test_text_that_leaves_no_room_is_an_error_and_a_page_that_becomes_too_high_warns():
    with raises(ValueRangeError, option="width", value=pytest.approx(89)):
        plot_points(FRAME) + p9.theme(text=p9.element_text(size=35))
    # 200 mm become 250 mm
    with warns(option="width"):
        plot_labelled(FRAME, height=200.0) + p9.theme(text=p9.element_text(size=7 * 1.25))
    plot_labelled(FRAME, height=150.0) + p9.theme(text=p9.element_text(size=7 * 1.25))


def test_a_list_of_additions_is_added_one_by_one():
    title, tag = p9.labs(title="Mine " * 40), p9.labs(subtitle="A")
    figure = plot_points(FRAME)
    both = figure + [title, tag]
    assert height_mm(both) == pytest.approx(height_mm(figure + title + tag))
    assert height_mm(both) > height_mm(figure + title)
    # a long title is wrapped to the width
    assert both.labels.title.count("\n") >= 2
    assert both.at(183).labels.title.count("\n") == 1


def test_pages_are_numbered_where_there_are_several():
    assert page_sentence(1, 1) == ""
    assert page_sentence(2, 3) == "Page 2 of 3."


def test_characters_without_a_face_are_drawn_in_the_fallback_fonts_and_others_are_not(monkeypatch):
    monkeypatch.setattr(figure_module, "fallback_fonts", lambda: ("Noto Sans CJK SC",))
    drawn = (plot_points(FRAME) + p9.labs(x="肺", y="Lung")).draw()
    families = {text.get_text(): text.get_fontfamily() for text in drawn.findobj(plt.Text)}
    plt.close(drawn)
    assert families["肺"][-1] == "Noto Sans CJK SC"
    assert "Noto Sans CJK SC" not in families["Lung"]
