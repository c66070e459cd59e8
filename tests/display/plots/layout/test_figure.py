"""Figures with pages, which can be laid out for another width."""

import pandas as pd
import plotnine as p9
import pytest
from tests_support import raises

from salstats.display.plots.layout.figure import Figure, paged_figure, plot_function
from salstats.display.plots.layout.theme import figure_size
from salstats.errors import ValueRangeError

FRAME = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})


def page(number, width=89.0, frame=FRAME):
    points = Figure(frame, p9.aes("x", "y")) + p9.geom_point() + p9.labs(caption=f"Page {number}.")
    return points + figure_size(width, 50)


@plot_function
def plot_points(frame, *, width=89.0):
    """Draw two pages of points."""
    return paged_figure([page(1, width, frame), page(2, width, frame)])


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
    single = plot_function(lambda *, width=89.0: page(1, width))()
    assert isinstance(single, Figure)
    assert single.pages == (single,)


@pytest.mark.parametrize("width", [39, 1001, True, "89"])
def test_a_width_that_cannot_be_printed_is_an_error_before_anything_is_drawn(width):
    with raises(ValueRangeError, option="width", value=width):
        plot_points(None, width=width)
