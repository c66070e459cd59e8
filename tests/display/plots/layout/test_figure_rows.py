"""Rows of a figure: as high as what they hold."""

import numpy as np
import pandas as pd
import plotnine as p9
import pytest

import salstats as ss
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.figure_rows import (
    mark_distances_above_row_middle_mm,
    n_closing_summaries,
    row_layout,
)
from salstats.display.plots.layout.theme import LINE_MM


def test_rows_are_as_high_as_their_labels_or_marks_and_do_not_overlap():
    rows = row_layout(["a", "b", "c", "Average"], ["a", "b\nb\nb", "c", "Average"], 1, 1)
    assert rows.heights[1] > rows.heights[0] == rows.heights[2]
    upper, lower = rows.centres + rows.heights / 2, rows.centres - rows.heights / 2
    np.testing.assert_allclose(lower[:2], upper[1:3])
    assert lower[2] > rows.rules[0] > upper[3]
    assert upper[0] == 0
    assert -lower[-1] == pytest.approx(rows.height)
    assert row_layout(["a"], ["a"], 4).height > row_layout(["a"], ["a"], 1).height
    assert list(rows.centres_mm_of(["c", "a", "c"])) == [rows.centres[2], rows.centres[0], rows.centres[2]]


def test_marks_of_a_row_lie_within_it_around_its_middle():
    shifts = mark_distances_above_row_middle_mm([0, 1, 2], 3)
    assert shifts[0] > shifts[1] == 0 > shifts[2]
    assert max(abs(shifts)) < row_layout(["a"], ["a"], 3).height / 2


def test_groups_of_rows_end_where_the_next_begins():
    rows = row_layout(list("abcd"), list("abcd"), starts_group=[True, False, True, False])
    assert rows.group_ends == [rows.lower_edges[1], rows.lower_edges[3]]
    # by default each row is a group
    assert row_layout(["a", "b"], ["a", "b"]).group_ends == row_layout(["a", "b"], ["a", "b"]).lower_edges


def test_a_page_has_the_rows_between_the_ends_of_its_axis():
    rows = row_layout(list("abcd"), list("abcd"))
    page = Figure(pd.DataFrame({"x": [0.0], "y": [0.0]}), p9.aes("x", "y"))
    assert rows.is_row_on_page(page).tolist() == [True] * 4
    ends = (rows.lower_edges[2], rows.lower_edges[0])
    assert rows.is_row_on_page(page + p9.coord_cartesian(ylim=ends)).tolist() == [False, True, True, False]


def test_every_second_row_is_striped_over_its_whole_height():
    rows = row_layout(list("abc"), ["a", "b\nb", "c"])
    stripes, axis = rows.axis_and_stripe_layers()
    assert stripes.data["ymin"].tolist() == pytest.approx([rows.lower_edges[1]])
    assert stripes.data["ymax"].tolist() == pytest.approx([rows.lower_edges[0]])
    (alone,) = rows.axis_and_stripe_layers(striped=False)
    for scale in (axis, alone):
        assert list(scale.breaks) == pytest.approx(list(rows.centres))
        assert tuple(scale.limits) == (-rows.height, 0)


def test_summaries_at_the_end_are_counted():
    assert n_closing_summaries(["Edema", "Overall", "Average"]) == 2
    assert n_closing_summaries(["Overall", "Edema", "Average"]) == 1
    assert n_closing_summaries(["Edema"]) == n_closing_summaries([]) == 0


def means_of_tasks():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    return ss.summarize(scores, by=["method", "task"], average="task", interval="t")


def tops_of(figure, column):
    """Mean vertical position of the marks of each value, 0 at the top."""
    return figure.data.groupby(column)["y"].mean().sort_values(ascending=False)


def test_tasks_stand_above_their_average_and_methods_beside_each_other():
    means = means_of_tasks()
    tops = tops_of(ss.plot_intervals(means), "row_label")
    assert tops.index[-1] == "Average"
    # marks of the methods of a task differ, in one order in every task
    figure = ss.plot_intervals(means)
    order = figure.data.sort_values("y", ascending=False).groupby("row_label")["method_label"].agg(list)
    assert order.map(tuple).nunique() == 1
    assert figure.data["y"].nunique() == len(figure.data)


def test_references_stand_below_the_methods():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    means = ss.summarize(scores, by=["method"], interval="t")
    tops = tops_of(ss.plot_intervals(means), "row_label")
    assert tops.index[-1] == "Human benchmark"
    assert len(tops) == 3
    # also where the others are sorted by their estimates
    assert tops_of(ss.plot_intervals(means, sort="estimate"), "row_label").index[-1] == "Human benchmark"


def test_a_line_stands_between_rows_and_their_summaries_only():
    assert len(row_layout(["a", "Average"], ["a", "Average"], n_closing_rows=1).rules) == 1
    assert row_layout(["Average"], ["Average"], n_closing_rows=1).rules == []
    assert row_layout(["a", "b"], ["a", "b"]).rules == []


def test_summaries_stand_apart_from_the_rows_above_without_a_change_of_height():
    texts = ["a", "b", "Average", "Overall"]
    close = row_layout(texts, texts)
    apart = row_layout(texts, texts, n_closing_rows=2)
    assert apart.heights.tolist() == close.heights.tolist()
    gap = apart.height - close.height
    assert gap > 0
    np.testing.assert_allclose(close.centres - apart.centres, [0, 0, gap, gap])
    # the line halves the gap
    assert apart.rules == pytest.approx([close.lower_edges[1] - gap / 2])


def test_texts_beside_marks_and_marks_of_each_row_make_single_rows_higher():
    plain = row_layout(list("abc"), list("abc")).heights
    tall = row_layout(list("abc"), ["a", "b", "c\nc\nc\nc"], [1, 5, 1], text_lines=[4, 1, 1]).heights
    assert tall[0] == tall[2]
    assert (tall > plain).all()
    # a line of text, or a mark, more
    assert row_layout(["a"], ["a"], text_lines=5).height - tall[0] == pytest.approx(LINE_MM)
    mark_mm = -np.diff(mark_distances_above_row_middle_mm([0, 1], 2))
    assert row_layout(["a"], ["a"], 6).height - tall[1] == pytest.approx(mark_mm)
