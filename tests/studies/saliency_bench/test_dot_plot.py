"""Panels of estimates: where each point and its limits stand."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from salstats.display.export.figure_files import size_inches
from salstats.display.plots.layout.theme import MM_PER_INCH, PAGE_MM
from salstats.display.text.labels import Labels
from salstats.studies.saliency_bench.dot_plot import plot_dots

METHODS = ("gradcam", "rise", "ig")
MODELS = ("resnet", "vgg")
SETS = ("birds", "cats")


def estimates_of(methods=METHODS, models=MODELS, **columns):
    """An estimate for each data set, metric, model and method."""
    keys = [SETS, ("iou", "hit"), models, methods]
    index = pd.MultiIndex.from_product(keys, names=["dataset", "metric", "model", "method"])
    frame = index.to_frame(index=False)
    return frame.assign(estimate=np.linspace(0.1, 0.9, len(frame)), **columns)


def plotted(frame, **options):
    labels = {"method": list(METHODS), "model": list(MODELS), "dataset": list(SETS)}
    panels = {"across": "metric", "down": "dataset"}
    axis = {"title": "Score", "limits": (0, 1), "breaks": [0, 0.5, 1]}
    return plot_dots(frame, names=Labels(labels), **panels | axis | options)


def drawn_axes(figure):
    drawn = figure.draw()
    plt.close(drawn)
    return drawn.axes


def test_methods_stand_below_each_other_and_models_share_their_row_evenly():
    data = plotted(estimates_of()).data
    middle = data.groupby("method")["y"].mean()
    # rows are one apart, from 0 down in the order of the labels
    assert middle[list(METHODS)].to_list() == pytest.approx([0, -1, -2], abs=1e-12)
    for _, rows in data.groupby(["dataset", "metric", "method"]):
        by_model = rows.set_index("model")["y"]
        assert by_model["resnet"] - by_model["vgg"] == pytest.approx(0.3, rel=1e-9)


def test_a_single_model_stands_in_the_middle_of_its_row():
    data = plotted(estimates_of(models=("vgg",))).data
    assert sorted(set(data["y"])) == [-2, -1, 0]


def test_the_axis_names_the_methods_at_their_rows():
    axes = drawn_axes(plotted(estimates_of()))[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert dict(zip(axes.get_yticks(), names, strict=True)) == {
        0: "Grad-CAM",
        -1: "RISE",
        -2: Labels().value("method", "ig"),
    }
    # the axis ends a little beyond the limits of 0 and 1
    low, high = axes.get_xlim()
    assert -0.1 < low < 0
    assert 1 < high < 1.1


@pytest.mark.parametrize(("down", "n_panels"), [("dataset", 4), (None, 2)])
def test_panels_stand_side_by_side_and_below_each_other(down, n_panels):
    frame = estimates_of()
    if down is None:
        frame = frame[frame["dataset"] == "cats"]
    figure = plotted(frame, down=down)
    assert len(drawn_axes(figure)) == n_panels
    np.testing.assert_array_equal(figure.data["estimate"], frame["estimate"])


def n_layers(frame, **options):
    return len(plotted(frame, **options).layers)


def test_limits_are_drawn_where_there_are_any_and_the_guide_where_it_is_set():
    frame = estimates_of()
    limits = frame.assign(conf_low=frame["estimate"] - 0.1, conf_high=frame["estimate"] + 0.1)
    assert n_layers(frame) == n_layers(limits.assign(conf_low=np.nan)) == 1
    assert n_layers(limits) == n_layers(frame, guide=0.5) == 2
    some = limits.assign(conf_low=limits["conf_low"].where(limits["model"] == "vgg"))
    bars = plotted(some).layers[0]._data
    assert set(bars["model"]) == {"vgg"}


def test_lines_of_rows_are_thinner_than_the_guide():
    axes = drawn_axes(plotted(estimates_of(), guide=0.5))[0]
    guide, *_ = axes.collections
    for line in axes.get_ygridlines():
        assert 0 < line.get_linewidth() < guide.get_linewidths()[0]


def height_mm(figure):
    width, height = size_inches(figure)
    assert width * MM_PER_INCH == pytest.approx(PAGE_MM, abs=0.5)
    return height * MM_PER_INCH


def test_a_figure_grows_with_its_rows_up_to_a_page():
    one = height_mm(plotted(estimates_of(methods=METHODS[:1])))
    three = height_mm(plotted(estimates_of()))
    assert one < three < 235
    many = [f"m{i}" for i in range(60)]
    assert height_mm(plotted(estimates_of(methods=many))) == pytest.approx(235, abs=0.1)
