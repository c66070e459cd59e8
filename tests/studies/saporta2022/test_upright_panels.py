"""Fig. 2: the order of its tasks, their names below the axis, and panels side by side where they fit."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import salstats as ss
from salstats.display.export.figure_files import size_inches
from salstats.display.plots.layout.legends import legend_height_mm
from salstats.display.plots.layout.text_fit import caption_height_mm, text_width_mm
from salstats.display.plots.layout.theme import MM_PER_INCH
from salstats.display.text.labels import Labels
from salstats.studies.saporta2022.study_frames import (
    decreases,
    metric_rows,
    rows_of_main_and_people,
)
from salstats.studies.saporta2022.upright_panels import plot_means_by_task_with_upright_names

# Edema has 19 patients and two misses
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(rest on|replicates have no correlation):salstats.errors.SalstatsWarning"
)


@pytest.fixture(scope="module")
def figure_2(nine_tasks, make):
    """Fig. 2 of nine tasks and their average."""
    return make(nine_tasks, "figure_2")["figure_2"].figure


def test_both_parts_of_figure_2_have_the_order_of_their_own_metric(nine_tasks, figure_2):
    choice, data = nine_tasks.inference, figure_2.data
    assert list(data["panel"].cat.categories) == ["a  Mean IoU (95% CI)", "b  Hit rate (95% CI)"]
    orders = []
    for metric in ("iou", "hit"):
        rows = metric_rows(rows_of_main_and_people(nine_tasks, nine_tasks.scores), metric)
        lost = decreases(rows, choice).query("task != 'Average'")
        unsure = lost.assign(unsure=lost["verdict"] != "lower")
        assert unsure["unsure"].nunique() == 2
        want = unsure.sort_values(["unsure", "estimate"], ascending=[True, False])["task"]
        drawn = data[data["metric"] == metric].sort_values("at")["task"].unique()
        assert list(drawn) == [*want, "Average"]
        orders.append(list(drawn))
    assert orders[0] != orders[1]


# 10 tasks of 6.4 mm and an axis of 9 mm make 73 mm, and two panels 146
@pytest.mark.parametrize(("width", "fits"), [(89, False), (145, False), (147, True), (183, True)])
def test_figure_2_is_upright_with_the_tasks_of_each_panel_below_it(figure_2, width, fits):
    drawn = figure_2.at(width).draw()
    try:
        panels = drawn.axes[:2]
        for axes in panels:
            texts = [tick.get_text() for tick in axes.get_xticklabels()]
            assert len(texts) == 10
            assert texts[-1] == "Average"
            assert all(re.search(r"\(0\.\d\d\)$", text) for text in texts[:-1])
            boxes = [tick.get_window_extent() for tick in axes.get_xticklabels()]
            assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
        aside = panels[0].get_position().y0 == panels[1].get_position().y0
        assert aside == fits
    finally:
        pyplot.close(drawn)


def test_panels_below_each_other_are_as_high_as_those_side_by_side(figure_2):
    stacked, aside = (size_inches(figure_2.at(width))[1] * MM_PER_INCH for width in (89, 183))
    # each panel has 45 mm for its points
    assert stacked > 90
    assert 45 < aside < 0.75 * stacked


def upright(n_tasks, auroc=None, width=183):
    """Fig. 2 of drawn scores of one metric."""
    rng = np.random.default_rng(4)
    tasks = [f"task {i}" for i in range(n_tasks)]
    index = pd.MultiIndex.from_product(
        [tasks, ["gradcam", "human"], range(25)], names=["task", "method", "case"]
    )
    scores = index.to_frame(index=False).assign(metric="iou", score=rng.uniform(0.2, 0.8, len(index)))
    scores["case"] = scores["case"].astype("str")
    means = ss.summarize(scores, by=["metric", "method", "task"], interval="t", average="task")
    decrease = ss.percent_decrease(
        scores, reference="human", by=["metric", "task"], average="task", n_replicates=40
    )
    return means, plot_means_by_task_with_upright_names(
        means, decrease, auroc, method="gradcam", labels=Labels(), width=width
    )


def test_points_and_limits_are_those_of_the_frame_and_a_line_parts_the_average():
    means, figure = upright(3)
    drawn = figure.data.sort_values(["task", "method"])[["estimate", "conf_low", "conf_high"]]
    expected = means.sort_values(["task", "method"])[["estimate", "conf_low", "conf_high"]]
    np.testing.assert_array_equal(drawn, expected)
    # three tasks stand at 1 to 3, the average at 4
    assert figure.layers[0]._data["at"].to_list() == [3.5]


def test_an_auroc_stands_behind_its_task_and_the_note_says_what_it_is():
    auroc = pd.DataFrame({"task": ["task 0", "task 1"], "estimate": [0.876, np.nan]})
    figure = upright(2, auroc)[1]
    drawn = figure.draw()
    pyplot.close(drawn)
    texts = {tick.get_text() for tick in drawn.axes[0].get_xticklabels()}
    assert texts == {"task 0 (0.88)", "task 1", "Average"}
    assert "AUROC" in figure.labels.caption
    assert "AUROC" not in upright(2)[1].labels.caption


@pytest.mark.parametrize("width", [89, 183])
def test_a_figure_is_as_high_as_its_parts(width):
    figure = upright(3, width=width)[1]
    # a margin of 1.5 mm above and below, a title of 5 mm, 45 mm for points and 3 for ticks
    parts = 1.5 + 5 + 45 + 3 + text_width_mm("Average") + 1.5
    parts += caption_height_mm(figure.labels.caption)
    parts += legend_height_mm(["Human benchmark", "Grad-CAM"], width)
    assert size_inches(figure)[1] * MM_PER_INCH == pytest.approx(parts)
