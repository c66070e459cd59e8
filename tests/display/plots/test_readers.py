"""Figures of readers: a line for each, the mean with its limits, panels of metrics."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, layer_data, layers, scale, size_mm
from mrmc_readings import mrmc_frame
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.theme import COLUMN_MM, LINE_MM, PAGE_MM
from salstats.errors import ColumnError, SalstatsError


@pytest.fixture(scope="module")
def scores(drawn_readings):
    """Two metrics of two methods by five readers."""
    columns = {"sncc": "score", "sauc": "hit"}
    return pd.concat([mrmc_frame(drawn_readings, column, metric) for metric, column in columns.items()])


def test_each_reader_has_a_line_and_each_method_its_mean(scores):
    found = ss.mrmc(scores)
    figure = ss.plot_readers(ss.mrmc_readers(scores), means=found)
    assert list(figure.data["panel"].cat.categories) == ["sNCC", "sAUC"]
    # nothing between the figures of a reader and a line
    assert layer_data(figure, "geom_path") is figure.data
    assert layers(figure, "geom_path")[0].mapping["group"] == "reader"
    assert figure.data.groupby(["panel", "reader"], observed=True).size().eq(2).all()
    bars = layer_data(figure, "geom_segment")
    expected = (
        found[found["term"] == "mean"].set_index(["metric", "method"]).loc[:, ["conf_low", "conf_high"]]
    )
    drawn = bars.set_index(["metric", "method"]).loc[expected.index, ["conf_low", "conf_high"]]
    pd.testing.assert_frame_equal(drawn, expected)
    assert size_mm(figure)[0] == pytest.approx(COLUMN_MM)
    assert "Grey: each reader. Black: mean over readers. Bars: 95% Obuchowski-Rockette" in " ".join(
        caption(figure).split()
    )


def test_readers_alone_have_no_bars(scores):
    figure = ss.plot_readers(ss.mrmc_readers(scores.query("metric == 'sncc'")))
    assert not layers(figure, "geom_segment")
    assert figure.labels.x == "Mean sNCC"


def test_means_of_metrics_that_no_reader_has_are_not_drawn(scores):
    found = ss.mrmc(scores)
    readers = ss.mrmc_readers(scores).query("metric == 'sncc'")
    drawn = layer_data(ss.plot_readers(readers, means=found), "geom_segment")
    assert drawn["metric"].tolist() == ["sncc"] * 2
    with raises(SalstatsError, option="means"):
        ss.plot_readers(readers, means=found.query("metric == 'sauc'"))


def test_what_is_drawn_stands_in_the_place_of_its_method(scores):
    figure = ss.plot_readers(ss.mrmc_readers(scores))
    places = figure.data.groupby("method", observed=True)["place"].unique()
    assert {m: list(p) for m, p in places.items()} == {"A": [0], "B": [-1]}


def test_two_figures_of_one_reader_are_refused(scores):
    readers = ss.mrmc_readers(scores)
    with raises(SalstatsError, option="readers", rows=(len(readers),)):
        ss.plot_readers(pd.concat([readers, readers.head(1)]))
    with raises(ColumnError, column="reader", hint="mrmc_readers() makes the frame"):
        ss.plot_readers(readers.drop(columns="reader"))


def readers_frame(**columns):
    """Two readers of two methods, whose labels stand in the order of the alphabet."""
    frame = pd.DataFrame(
        {
            "metric": "iou",
            "method": ["lime", "lime", "gradcam", "gradcam"],
            "reader": ["r1", "r2"] * 2,
            "term": "mean",
            "estimate": [0.2, 0.4, 0.3, 0.5],
        }
    )
    return frame.assign(**columns)


def means_frame(**columns):
    """Means of the same readers, one of them without limits."""
    frame = pd.DataFrame(
        {
            "metric": "iou",
            "method": ["gradcam", "lime", "rise"],
            "term": "mean",
            "estimate": [0.4, 0.3, 0.1],
            "conf_low": [0.1, np.nan, 0.0],
            "conf_high": [0.6, np.nan, 0.2],
        }
    )
    return frame.assign(**columns)


def test_means_stand_a_quarter_of_a_row_below_their_readers_with_bars_where_they_have_limits():
    figure = ss.plot_readers(readers_frame(), means=means_frame())
    places = figure.data.groupby("method", observed=True)["place"].first()
    assert places.to_dict() == {"gradcam": 0.0, "lime": -1.0}
    mean = layer_data(figure, "geom_point", 1)
    assert dict(zip(mean["method"], mean["place"], strict=True)) == {"gradcam": -0.25, "lime": -1.25}
    bar = layers(figure, "geom_segment")[0]
    assert bar._data["method"].tolist() == ["gradcam"]
    assert (bar.mapping["x"], bar.mapping["xend"]) == ("conf_low", "conf_high")
    axis = scale(figure, "y")
    assert (list(axis.breaks), list(axis.labels)) == ([0, -1], ["Grad-CAM", "LIME"])
    low, high = axis.limits
    assert low < -1.25
    assert high > 0
    assert caption(figure).startswith("Grey: each reader. Black: mean over readers.")


def test_areas_have_their_axis_and_their_metric_in_the_caption_and_metrics_one_column_of_panels():
    areas = ss.plot_readers(readers_frame(figure="auc", task="Edema"))
    assert areas.labels.x == "Area under the ROC curve"
    assert caption(areas) == "Metric: IoU. Task: Edema. Grey: each reader."
    both = pd.concat([readers_frame(), readers_frame(metric="hit")])
    figure = ss.plot_readers(both)
    assert figure.labels.x == "Mean score"
    assert figure.facet._ncol == 1
    assert figure.facet.free["x"]
    tasks = pd.concat([readers_frame(task=task) for task in ("Edema", "Nodule")])
    assert list(ss.plot_readers(tasks).data["panel"].cat.categories) == ["Edema", "Nodule"]
    assert ss.plot_readers(tasks).facet._ncol == 2


def test_more_than_four_panels_have_the_width_of_a_page():
    tasks = [readers_frame(task=f"task {i}") for i in range(5)]
    assert size_mm(ss.plot_readers(pd.concat(tasks[:4])))[0] == pytest.approx(COLUMN_MM)
    assert size_mm(ss.plot_readers(pd.concat(tasks)))[0] == pytest.approx(PAGE_MM)


def test_readers_without_an_estimate_are_named():
    frame = readers_frame()
    frame.loc[0, "estimate"] = np.nan
    figure = ss.plot_readers(frame)
    assert len(figure.data) == 3
    assert "not drawn: IoU/LIME/r1." in caption(figure)


def test_names_of_several_lines_have_rows_that_hold_them():
    long_name = "Gradients times input, averaged over noisy copies of the image and over all trainings"
    short, long = (
        ss.plot_readers(readers_frame(), labels={"method": {"lime": name, "gradcam": "Grad-CAM"}})
        for name in ("LIME", long_name)
    )
    n_lines = max(label.count("\n") + 1 for label in scale(long, "y").labels)
    assert n_lines > 2
    # two rows, one for each method
    assert size_mm(short)[1] < size_mm(long)[1]
    assert size_mm(long)[1] > 2 * n_lines * LINE_MM
