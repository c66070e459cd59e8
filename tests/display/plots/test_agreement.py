"""Bland-Altman plots: every pair of readings, and the lines and bands of the frame given."""

import numpy as np
import pandas as pd
import pytest
from agreement_readings import frame_of
from display.plots.estimate_figures import caption, layers, scale
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.theme import GUIDE, PALETTE
from salstats.errors import Call, SalstatsError


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    return frame_of(0.3 + 0.4 * rng.random((20, 1)) + rng.normal(0, 0.05, (20, 3)), metric="iou")


@pytest.fixture
def limits(scores):
    return ss.agreement(scores, kind="bland-altman")


def test_a_mark_per_pair_of_readings_and_a_panel_per_pair_of_readers(scores, limits):
    figure = ss.plot_agreement(scores, limits)
    wide = scores.pivot(index="case", columns="reader", values="score")
    panels = list(figure.data["panel"].cat.categories)
    assert panels == ["r0 − r1", "r0 − r2", "r1 − r2"]
    for panel, (first, second) in zip(panels, (("r0", "r1"), ("r0", "r2"), ("r1", "r2")), strict=True):
        rows = figure.data[figure.data["panel"] == panel].sort_values("mean")
        expected = pd.DataFrame(
            {"mean": (wide[first] + wide[second]) / 2, "difference": wide[first] - wide[second]}
        ).sort_values("mean")
        np.testing.assert_allclose(rows[["mean", "difference"]], expected, rtol=1e-12)
    assert figure.labels.y == "Difference in IoU"


def test_lines_and_bands_are_those_of_the_frame(scores, limits):
    figure = ss.plot_agreement(scores, limits)
    lines, bands = layers(figure, "geom_hline")[1:], layers(figure, "geom_rect")
    for layer, band, term in zip(lines, bands, ("bias", "loa_low", "loa_high"), strict=True):
        expected = limits[limits["term"] == term]
        np.testing.assert_array_equal(layer._data["estimate"], expected["estimate"])
        np.testing.assert_array_equal(band._data["conf_low"], expected["conf_low"])
        np.testing.assert_array_equal(band._data["conf_high"], expected["conf_high"])
    assert "Bands: 95% jackknife intervals, unit: case." in caption(figure)


def test_left_out_pairs_are_not_drawn_and_readers_have_labels(scores, limits):
    one = limits[limits["pair"] == "r0 - r2"]
    figure = ss.plot_agreement(scores, one, labels={"reader": {"r2": "Resident"}})
    assert figure.data["panel"].unique().tolist() == ["r0 − Resident"]
    assert len(figure.data) == 20
    assert "Difference: r0 − Resident." in caption(figure)


def test_equal_pairs_are_one_mark_that_says_how_many():
    scores = frame_of(np.array([[1, 2], [1, 2], [1, 2], [2, 2], [3, 1], [3, 3.0]]), metric="rating")
    figure = ss.plot_agreement(scores, ss.agreement(scores, kind="bland-altman"))
    assert sorted(figure.data["n"]) == [1, 1, 1, 3]
    assert "up to 3" in caption(figure)


def test_readings_in_any_order_are_drawn_as_means_of_cases():
    rng = np.random.default_rng(3)
    seeds = [frame_of(rng.random((12, 2)), seed=str(seed)) for seed in range(3)]
    scores = pd.concat(seeds, ignore_index=True)
    for linked, n in ((True, 36), (False, 12)):
        limits = ss.agreement(scores, kind="bland-altman", linked=linked)
        assert len(ss.plot_agreement(scores, limits).data) == n


def test_metrics_have_their_own_axes(scores):
    both = pd.concat([scores, scores.assign(metric="hd95", score=scores["score"] * 100)])
    figure = ss.plot_agreement(both, ss.agreement(both, kind="bland-altman"))
    assert figure.facet.free == {"x": True, "y": True}


def test_other_frames_are_refused(scores, limits):
    with raises(SalstatsError, option="limits", column="term", hint=Call("plot_forest")):
        ss.plot_agreement(scores, ss.agreement(scores).assign(pair="r0 - r1"))
    with raises(SalstatsError, option="limits", column=None):
        ss.plot_agreement(scores.query("reader != 'r1'"), limits)


def test_a_long_name_of_a_metric_takes_two_lines_and_means_of_a_case_are_told():
    rng = np.random.default_rng(2)
    first, again = (frame_of(rng.random((20, 2)), metric="hd95", seed=seed) for seed in (1, 2))
    both = pd.concat([first, again], ignore_index=True)
    figure = ss.plot_agreement(both, ss.agreement(both, kind="bland-altman", linked=False))
    assert figure.labels.y.replace("\n", " ") == "Difference in 95th-percentile Hausdorff distance"
    assert "Marks: means of each case's readings." in caption(figure)


def test_panels_of_one_pair_are_named_by_what_differs():
    scores = ss.datasets.load_simulated().query("metric == 'iou' and method != 'occlusion'")
    figure = ss.plot_agreement(scores, ss.agreement(scores, over="method", by="task", kind="bland-altman"))
    assert figure.data["panel"].unique()[0] == "Atelectasis"
    assert "Difference: Grad-CAM − Human benchmark." in caption(figure)


def test_each_line_has_its_number(scores, limits):
    figure = ss.plot_agreement(scores, limits)
    for layer, term in zip(layers(figure, "geom_text"), ("bias", "loa_low", "loa_high"), strict=True):
        numbers = layer._data["text"].str.replace("−", "-").astype(float)
        np.testing.assert_allclose(numbers, limits.loc[limits["term"] == term, "estimate"], atol=0.005)


@pytest.mark.filterwarnings("ignore:.*:salstats.errors.SalstatsWarning")
def test_pairs_without_limits_are_not_drawn_and_named(scores):
    """Reader r2 has none of the cases of the others."""
    apart = scores.assign(case=scores["case"].where(scores["reader"] != "r2", "other " + scores["case"]))
    figure = ss.plot_agreement(apart, ss.agreement(apart, kind="bland-altman"))
    assert list(figure.data["pair"].unique()) == ["r0 − r1"]
    assert "r0 − r2 and" in caption(figure)
    assert "r1 − r2" in caption(figure)


def test_bias_and_limits_differ_in_colour_and_type_of_line_and_limits_have_numbers_inside(scores, limits):
    figure = ss.plot_agreement(scores, limits)
    zero, *lines = layers(figure, "geom_hline")
    assert zero.geom.aes_params["color"] == GUIDE
    assert zero.geom.data["yintercept"].tolist() == [0]
    colours = [PALETTE[0], PALETTE[1], PALETTE[1]]
    assert [line.geom.aes_params["color"] for line in lines] == colours
    assert [line.geom.aes_params["linetype"] for line in lines] == ["solid", "dashed", "dashed"]
    for band, colour in zip(layers(figure, "geom_rect"), colours, strict=True):
        assert band.geom.aes_params["fill"] == colour
        assert (band._data["left"].iloc[0], band._data["right"].iloc[0]) == (-np.inf, np.inf)
    numbers = layers(figure, "geom_text")
    assert [number.geom.aes_params["color"] for number in numbers] == colours
    assert [number.geom.aes_params["va"] for number in numbers] == ["bottom", "bottom", "top"]
    assert (figure.labels.x, figure.theme.getp("legend_position")) == ("Mean IoU", "none")


def test_more_points_are_more_transparent_and_very_many_are_cells(scores, limits, monkeypatch):
    [points] = layers(ss.plot_agreement(scores, limits), "geom_point")
    # 20 points in a panel
    assert (points.geom.aes_params["alpha"], points.geom.aes_params["size"]) == (0.7, 0.9)
    assert not points.raster
    rng = np.random.default_rng(1)
    many = frame_of(rng.random((150, 2)), metric="iou")
    limits_of_many = ss.agreement(many, kind="bland-altman")
    [points] = layers(ss.plot_agreement(many, limits_of_many), "geom_point")
    assert points.geom.aes_params["alpha"] == pytest.approx(60 / 150)
    monkeypatch.setattr("salstats.display.plots.agreement.CELL_POINTS", 149)
    cells = layers(ss.plot_agreement(many, limits_of_many), "geom_rect")[-1]
    assert cells._data["count"].sum() == 150
    monkeypatch.setattr("salstats.display.plots.agreement.CELL_POINTS", 150)
    assert layers(ss.plot_agreement(many, limits_of_many), "geom_point")


def test_equal_pairs_have_larger_marks():
    scores = frame_of(np.array([[1, 2], [1, 2], [1, 2], [2, 2], [3, 1], [3, 3.0]]), metric="rating")
    figure = ss.plot_agreement(scores, ss.agreement(scores, kind="bland-altman"))
    [points] = layers(figure, "geom_point")
    assert points.mapping["size"] == "n"
    assert list(scale(figure, "size").palette(np.array([0.0, 1.0]))) == pytest.approx([0.9, 3.0])


def test_axes_of_several_metrics_name_none(scores):
    both = pd.concat([scores, scores.assign(metric="hd95", score=scores["score"] * 100)])
    figure = ss.plot_agreement(both, ss.agreement(both, kind="bland-altman"))
    assert (figure.labels.x, figure.labels.y) == ("Mean score", "Difference in score")
    assert figure.data["panel"].nunique() == 6


@pytest.mark.parametrize("terms", [["bias"], ["loa_low"], ["loa_low", "loa_high"]])
def test_any_of_the_three_lines_of_a_pair_is_enough(scores, limits, terms):
    figure = ss.plot_agreement(scores, limits[limits["term"].isin(terms)])
    assert list(figure.data["panel"].cat.categories) == ["r0 − r1", "r0 − r2", "r1 − r2"]
    # beside the line at 0
    lines = layers(figure, "geom_hline")[1:]
    assert [line._data["term"].tolist() for line in lines] == [[term] * 3 for term in terms]
