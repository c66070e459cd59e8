"""Figures above a page go on several, with the same axes; what is added to a figure stays with it."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from display.plots.estimate_figures import decreases, estimates
from tests_support import raises, warns

import salstats as ss
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.pages import figure_on_pages
from salstats.display.plots.layout.theme import LINE_MM, figure_size
from salstats.errors import InputFileError

TASKS = [f"Finding {i:02d}" for i in range(1, 31)]
METHODS = [f"method {i}" for i in range(4)]
MANY = estimates([*TASKS, "Average"], METHODS)
#: Scores of one metric, whose panel has no title.
SCORES = MANY.query("metric == 'iou' and task != 'Average'").assign(
    score=lambda d: d["estimate"], case="a", metric="rating"
)
PAGED = {
    "intervals": lambda width: ss.plot_intervals(MANY, width=width),
    "decrease": lambda width: ss.plot_decrease(
        pd.concat([decreases(dict.fromkeys(TASKS, 30.0), m) for m in METHODS], ignore_index=True), width=width
    ),
    "box": lambda width: ss.plot_box(SCORES, width=width),
    "forest": lambda width: ss.plot_forest(MANY.query("metric == 'iou'"), width=width),
}


def shown(page):
    """Labels of rows, and ends of the axes across, of a page that is drawn."""
    drawn = page.draw(show=False)
    try:
        drawn.canvas.draw()
        texts = [t.get_text() for axes in drawn.axes for t in axes.get_yticklabels() if t.get_visible()]
        return [t for t in texts if t], [axes.get_xlim() for axes in drawn.axes]
    finally:
        plt.close(drawn)


@pytest.mark.parametrize(
    ("name", "width"), [("intervals", 89), ("decrease", 183), ("box", 89), ("forest", 89)]
)
def test_no_page_is_higher_than_paper_and_all_have_every_row_once_on_the_same_axes(name, width):
    pages = PAGED[name](width).pages
    assert len(pages) > 1
    assert all(25.4 * page.theme.getp("figure_size")[1] <= 247.01 for page in pages)
    assert [page.labels.caption.split("\n")[-1] for page in pages] == [
        f"Page {i} of {len(pages)}." for i in range(1, len(pages) + 1)
    ]
    rows, ends = zip(*map(shown, pages), strict=True)
    every = [row.strip() for page in rows for row in page if "Finding" in row]
    # a forest has a row for each method too
    assert sorted(every) == sorted(TASKS * (len(METHODS) if name == "forest" else 1))
    assert all(np.allclose(end, ends[0]) for end in ends)


def test_pages_are_even_and_divided_between_groups_of_rows():
    many = ss.plot_forest(MANY.query("metric == 'iou'"), width=89).pages
    heights = [25.4 * page.theme.getp("figure_size")[1] for page in many]
    # a group with its heading may be more or less
    assert max(heights) - min(heights) < 2 * 30
    for page in many:
        rows, _ = shown(page)
        assert rows[0] in METHODS + TASKS + ["Average"]
        assert not rows[0].startswith("\u2003")


@pytest.mark.slow
def test_figures_of_panels_have_pages_with_the_same_axes():
    pages = ss.plot_coverage(ss.datasets.load_coverage(), width=89).pages
    assert len(pages) > 1
    titles = [t for page in pages for t in page.data["panel"].cat.categories]
    (whole,) = ss.plot_coverage(ss.datasets.load_coverage(), width=183).pages
    assert titles == list(whole.data["panel"].cat.categories)
    ends = [end for page in pages for end in shown(page)[1]]
    assert np.allclose(ends, ends[0])


@pytest.mark.parametrize(
    ("scales", "first_x", "second_x"), [("fixed", [-2, 5], [-2, 5]), ("free_x", [0, 1], [5, 5])]
)
def test_each_page_of_panels_has_the_axes_of_the_numbers_of_all_layers(scales, first_x, second_x):
    frame = pd.DataFrame({"panel": ["A", "A", "B", "B"], "x": [0, 1, 5, np.inf], "y": [1, 2, 3, 4]})
    lines = pd.DataFrame({"at": [-2.0], "name": "no number"})
    figure = (
        Figure(frame, p9.aes("x", "y"))
        + p9.geom_point()
        # in each panel, and without the mapping of the figure
        + p9.geom_vline(p9.aes(xintercept="at"), lines, inherit_aes=False)
        + p9.geom_text(p9.aes(x="name", label="name"), lines, inherit_aes=False)
        + p9.facet_wrap("panel", scales=scales)
        + figure_size(100, 400)
    )
    pages = figure_on_pages(figure, ["A", "B"], n_columns=1, panel_height_mm=150).pages
    assert [page.data["x"].tolist() for page in pages] == [[0, 1], [5, np.inf]]
    axis_ends = [page.layers[-1].geom.data for page in pages]
    assert [ends["panel"].tolist() for ends in axis_ends] == [["A", "A"], ["B", "B"]]
    assert [ends["x"].tolist() for ends in axis_ends] == [first_x, second_x]
    assert [ends["y"].tolist() for ends in axis_ends] == [[1, 4], [1, 4]]
    assert [len(page.layers) for page in pages] == [4, 4]
    # without numbers on an axis nothing is set
    named = Figure(frame.assign(x="a"), p9.aes("x", "y")) + p9.geom_point() + figure_size(100, 400)
    assert [len(page.layers) for page in figure_on_pages(named, ["A", "B"], 1, 150).pages] == [1, 1]


def test_a_figure_is_laid_out_anew_with_what_was_added_and_as_its_frame_was(tmp_path):
    frame = estimates()
    figure = ss.plot_intervals(frame) + p9.labs(title="Mine")
    before = figure.data.copy()
    frame["estimate"] = 0.0
    narrow = figure.at(89)
    assert 25.4 * narrow.theme.getp("figure_size")[0] == pytest.approx(89)
    assert narrow.labels.title == "Mine"
    pd.testing.assert_series_equal(narrow.data["estimate"], before["estimate"])


def test_every_page_is_written_and_none_over_a_file_of_the_users(tmp_path):
    figure = PAGED["intervals"](89) + p9.theme(dpi=20)
    (tmp_path / "fig-2.png").touch()
    with raises(InputFileError, option="overwrite", path=tmp_path / "fig-2.png"):
        ss.save_figure(figure, tmp_path / "fig.png", dpi=20)
    assert not (tmp_path / "fig.png").exists()
    with warns(option="path"):
        ss.save_figure(figure, tmp_path / "fig.png", dpi=20, overwrite=True)
    assert len(list(tmp_path.glob("fig*.png"))) == len(figure.pages)


def test_pages_of_a_divided_panel_begin_at_its_top_and_each_where_the_one_before_ends():
    # rows of 10 mm in groups of 5, of which 3 fit a page of 247 mm
    edges = [-10.0 * row for row in range(1, 61)]
    frame = pd.DataFrame({"x": 0.0, "y": [edge + 5 for edge in edges]})
    figure = Figure(frame, p9.aes("x", "y")) + p9.geom_point() + figure_size(89, 620)
    pages = figure_on_pages(figure, [""], 1, 610, edges=edges, group_ends=edges[4::5]).pages
    limits = [page.coordinates.limits.y for page in pages]
    assert limits == [(-200, 0), (-400, -200), (-600, -400)]
    # the panel's axis and the margins take 20 mm, and the caption a line of 7 points more
    heights = [25.4 * page.theme.getp("figure_size")[1] for page in pages]
    assert heights == pytest.approx([220 + LINE_MM] * 3)
    assert [len(page.data) for page in pages] == [20, 20, 20]


def test_pages_are_as_full_as_groups_let_them_where_even_ones_would_be_too_high():
    edges = [-10.0 * row for row in range(1, 46)]
    frame = pd.DataFrame({"x": 0.0, "y": [edge + 5 for edge in edges]})
    figure = Figure(frame, p9.aes("x", "y")) + p9.geom_point() + figure_size(89, 470)
    # both 150 and 300 mm, thirds of the whole, would end at the first group (300 is as near to the second)
    pages = figure_on_pages(figure, [""], 1, 460, edges=edges, group_ends=[-200.0, -400.0, -450.0]).pages
    assert [page.coordinates.limits.y for page in pages] == [(-200, 0), (-400, -200), (-450, -400)]
