"""Figures of readers: a line for each, the mean with its limits, panels of metrics."""

import pandas as pd
import pytest
from display.plots.estimate_figures import caption, layer_data, layers, size_mm
from mrmc_readings import mrmc_frame
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.theme import COLUMN_MM
from salstats.errors import ColumnError, SalstatsError


@pytest.fixture(scope="module")
def scores(r_data):
    names = ("sncc", "sauc")
    return pd.concat([mrmc_frame(r_data(f"gaze_mrmc_seed_mixing_{m}"), metric=m) for m in names])


def test_each_reader_has_a_line_and_each_method_its_mean(scores):
    found = ss.mrmc(scores)
    figure = ss.plot_readers(ss.mrmc_readers(scores), means=found)
    assert list(figure.data["panel"].cat.categories) == ["sNCC", "sAUC"]
    # nothing between the figures of a reader and a line
    assert layer_data(figure, "geom_path") is figure.data
    assert layers(figure, "geom_path")[0].mapping["group"] == "reader"
    assert figure.data.groupby(["panel", "reader"], observed=True).size().eq(3).all()
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
    assert drawn["metric"].tolist() == ["sncc"] * 3
    with raises(SalstatsError, option="means"):
        ss.plot_readers(readers, means=found.query("metric == 'sauc'"))


def test_what_is_drawn_stands_in_the_place_of_its_method(scores):
    figure = ss.plot_readers(ss.mrmc_readers(scores))
    places = figure.data.groupby("method", observed=True)["place"].unique()
    assert {m: list(p) for m, p in places.items()} == {"thresholded": [0], "uniform": [-1], "weighted": [-2]}


def test_two_figures_of_one_reader_are_refused(scores):
    readers = ss.mrmc_readers(scores)
    with raises(SalstatsError, option="readers", rows=(len(readers),)):
        ss.plot_readers(pd.concat([readers, readers.head(1)]))
    with raises(ColumnError, column="reader", hint="mrmc_readers() makes the frame"):
        ss.plot_readers(readers.drop(columns="reader"))
