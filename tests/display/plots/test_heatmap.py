"""Heat maps: what shades and numbers say, and which tile stands where."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import caption, estimates, layer_data, layers, scale
from tests_support import raises

import salstats as ss
from salstats.display.plots.layout.theme import LINE_MM
from salstats.errors import SalstatsError

TASKS = ["Edema", "Nodule"]


def means(values, metric="iou", **columns):
    """Means of people and one method on two tasks."""
    methods = ["gradcam", "gradcam", "human", "human"]
    frame = pd.DataFrame({"metric": metric, "method": methods, "task": TASKS * 2, "term": "mean"})
    return frame.assign(estimate=values, **columns)


def shades(figure, metric="iou"):
    """Shade of each method and task."""
    data = figure.data[figure.data["metric"] == metric]
    return dict(zip(zip(data["method"], data["task"], strict=True), data["shade"], strict=True))


def test_the_worst_tile_of_a_panel_is_the_lightest_and_the_best_the_darkest():
    expected = {("gradcam", "Edema"): 0, ("gradcam", "Nodule"): 0.25, ("human", "Edema"): 0.5}
    got = shades(ss.plot_heatmap(means([0.2, 0.3, 0.4, 0.6])))
    assert got == pytest.approx({**expected, ("human", "Nodule"): 1})
    # of a distance the smallest is the best
    distance = shades(ss.plot_heatmap(means([60.0, 50.0, 40.0, 20.0], metric="hd95")), "hd95")
    assert distance == pytest.approx({**expected, ("human", "Nodule"): 1})


def test_each_metric_has_its_own_shades_and_decimals():
    both = pd.concat([means([0.2, 0.3, 0.4, 0.6]), means([60.0, 50.0, 40.0, 20.0], metric="hd95")])
    figure = ss.plot_heatmap(both)
    assert shades(figure) == pytest.approx(shades(figure, "hd95"))
    assert list(figure.data["text"]) == ["0.200", "0.300", "0.400", "0.600", "60.0", "50.0", "40.0", "20.0"]


def test_the_reference_is_the_first_column_and_averages_are_the_last_row():
    frame = means([0.2, 0.3, 0.4, 0.6]).replace({"task": {"Edema": "Average"}})
    figure = ss.plot_heatmap(frame)
    at = figure.data.set_index(["method", "task"])
    assert at.loc["human", "across"].eq(0).all()
    assert at.loc[("human", "Average"), "up"] < at.loc[("human", "Nodule"), "up"]
    first = ss.plot_heatmap(frame, reference="gradcam").data
    assert first.loc[first["method"] == "gradcam", "across"].eq(0).all()


def test_an_estimate_that_is_not_defined_says_so_and_has_no_shade():
    figure = ss.plot_heatmap(means([np.nan, 0.3, 0.4, 0.6]))
    assert np.isnan(shades(figure)["gradcam", "Edema"])
    blank = layer_data(figure, "geom_text")
    assert blank[["task", "words"]].to_numpy().tolist() == [["Edema", "not\ndefined"]]
    assert "1 of 4 estimates is not defined." in caption(figure)


def test_a_tile_without_a_row_in_the_frame_is_white_and_says_so():
    metrics = [means([0.2, 0.3, 0.4, 0.6]).iloc[:3], means([60.0, 50.0, 40.0, 20.0], metric="hd95")]
    figure = ss.plot_heatmap(pd.concat(metrics, ignore_index=True))
    assert len(figure.data) == 7
    blank = layer_data(figure, "geom_text").iloc[0]
    assert (blank["method"], blank["task"], blank["words"]) == ("human", "Nodule", "no\nestimate")
    of_same_place = figure.data[(figure.data["method"] == "human") & (figure.data["task"] == "Nodule")]
    assert of_same_place[["across", "up"]].to_numpy().tolist() == [[blank["across"], blank["up"]]]
    assert blank["panel"] not in set(of_same_place["panel"])
    white = layers(figure, "geom_tile")[1]
    assert (len(white._data), white.geom.aes_params["fill"]) == (1, "white")
    assert "(1 of 8 tiles)" in caption(figure)


def test_a_dash_stands_where_words_do_not_fit_a_tile():
    frame = estimates(methods=[f"m{i}" for i in range(8)], metrics=["iou"]).iloc[1:]
    blank = layer_data(ss.plot_heatmap(frame, width=60), "geom_text")
    assert blank[["method", "task", "words"]].to_numpy().tolist() == [["m0", "Edema", "—"]]


def test_equal_estimates_have_the_shade_in_the_middle():
    assert set(shades(ss.plot_heatmap(means([0.3] * 4))).values()) == {0.5}


def test_limits_stand_below_estimates_where_they_fit():
    limited = means([0.2, 0.3, 0.4, 0.6], conf_low=0.1, conf_high=0.7, conf_level=0.95, interval="t")
    figure = ss.plot_heatmap(limited, style="ama")
    assert set(figure.data["limits"]) == {"0.100 to 0.700"}
    assert set(figure.at(45).data["limits"]) == {""}
    assert "too narrow" in caption(figure.at(45))


def test_of_unknown_metrics_the_largest_is_the_darkest_and_the_bar_says_so():
    figure = ss.plot_heatmap(means([0.2, 0.3, 0.4, 0.6], metric="mine"))
    assert shades(figure, "mine")["human", "Nodule"] == 1
    assert list(scale(figure, "fill").labels) == ["smallest", "largest"]


def test_a_decrease_is_the_better_the_smaller_and_ranks_are_whole():
    decrease = means([10.0, 20.0, 30.0, 50.0]).assign(term="percent_decrease", reference="people")
    assert shades(ss.plot_heatmap(decrease))["gradcam", "Edema"] == 1
    ranks = ss.plot_heatmap(means([1.0, 2.0, 2.0, 1.0]).assign(term="rank"))
    assert list(ranks.data["text"]) == ["1", "2", "2", "1"]
    assert shades(ranks)["gradcam", "Edema"] == 1


def test_methods_and_another_column_are_needed():
    with raises(SalstatsError, option="estimates", column="task"):
        ss.plot_heatmap(means([0.2, 0.3, 0.4, 0.6]).query("task == 'Edema'").drop(columns="task"))
    with raises(SalstatsError, option="estimates", column="method"):
        ss.plot_heatmap(means([0.2, 0.3, 0.4, 0.6]).query("method == 'human'").drop(columns="method"))


def test_dark_tiles_have_white_numbers_with_limits_below_them():
    limits_of_three = {"conf_low": [0.1, 0.2, 0.3, np.nan], "conf_high": [0.7, 0.7, 0.7, np.nan]}
    figure = ss.plot_heatmap(means([0.2, 0.3, 0.4, 0.6], conf_level=0.95, **limits_of_three))
    numbers, limits = layers(figure, "geom_text")
    data = numbers._data.set_index(["method", "task"])
    assert data.loc["gradcam", "ink"].tolist() == ["black", "black"]
    assert data.loc[("human", "Nodule"), "ink"] == "white"
    assert (numbers.mapping["y"], limits.mapping["y"]) == ("upper", "lower")
    # the tile without limits has its number in the middle
    assert len(limits._data) == 3
    assert data.loc[("human", "Nodule"), "upper"] == data.loc[("human", "Nodule"), "up"]
    with_limits = data.drop(("human", "Nodule"))
    assert (with_limits["upper"] > with_limits["up"]).all()
    middle = (with_limits["upper"] + with_limits["lower"]) / 2
    assert middle.tolist() == pytest.approx(list(with_limits["up"]))


def test_rows_stand_below_each_other_with_a_gap_above_averages():
    frame = estimates(tasks=["Edema", "Nodule", "Average"], metrics=["iou"])
    figure = ss.plot_heatmap(frame)
    up = figure.data.drop_duplicates("task").set_index("task")["up"]
    height = 2 * -up["Edema"]
    assert up["Edema"] - up["Nodule"] == pytest.approx(height)
    assert up["Nodule"] - up["Average"] > height + 0.5
    low, high = scale(figure, "y").limits
    assert (low, high) == (pytest.approx(up["Average"] - height / 2), 0)
    assert scale(figure, "x").limits == (-0.5, 1.5)
    assert list(scale(figure, "y").labels) == ["Edema", "Nodule", "Average"]


def test_the_bar_of_a_single_panel_is_named_and_of_several_the_numbers_of_contrasts():
    one = ss.plot_heatmap(means([0.2, 0.3, 0.4, 0.6]))
    assert scale(one, "fill").name == "Mean IoU"
    assert list(scale(one, "fill").labels) == ["worst", "best"]
    mixed = pd.concat([means([0.2, 0.3, 0.4, 0.6]), means([0.2, 0.3, 0.4, 0.6], metric="mine")])
    figure = ss.plot_heatmap(mixed)
    assert scale(figure, "fill").name == ""
    assert list(scale(figure, "fill").labels) == ["worst or smallest", "best or largest"]
    assert "where it is not known which is better" in caption(figure)
    assert "Numbers:" not in caption(figure)
    medians = ss.plot_heatmap(mixed.assign(term="median"))
    assert "Numbers: Median" in caption(medians)


def test_decreases_far_out_do_not_stretch_the_shades():
    values = [10.0, 20.0, 30.0, -2030.0]
    decrease = means(values).assign(term="percent_decrease", reference="people")
    figure = ss.plot_heatmap(decrease)
    got = shades(figure)
    assert got["human", "Nodule"] == 1
    # 10, 20 and 30 % keep their distances
    assert got["gradcam", "Edema"] - got["gradcam", "Nodule"] == pytest.approx(
        got["gradcam", "Nodule"] - got["human", "Edema"]
    )
    assert got["gradcam", "Edema"] > 0.5
    assert "do not stretch its shades" in caption(figure)
    assert "stretch" not in caption(ss.plot_heatmap(means([0.2, 0.3, 0.4, 0.6])))


def test_tiles_fill_their_panel_unless_they_are_of_the_greatest_width():
    many = estimates(methods=[f"m{i}" for i in range(8)], metrics=["iou"])
    full = ss.plot_heatmap(many, width=60)
    assert 60 * full.theme.getp("plot_margin_right") == pytest.approx(1)
    two = means([0.2, 0.3, 0.4, 0.6])
    unused = {
        width: width * ss.plot_heatmap(two, width=width).theme.getp("plot_margin_right")
        for width in (120, 150)
    }
    assert unused[150] - unused[120] == pytest.approx(30)


def test_a_tile_is_as_high_as_the_lines_of_its_numbers_and_of_its_name():
    def heights(frame, **options):
        figure = ss.plot_heatmap(frame, **options)
        height = layers(figure, "geom_tile")[0].geom.aes_params["height"]
        n_lines = max(text.count("\n") + 1 for text in scale(figure, "y").labels)
        return height, n_lines * LINE_MM

    number, name = heights(means([0.2, 0.3, 0.4, 0.6]))
    assert name < number < 2 * LINE_MM
    limits = {"conf_low": 0.1, "conf_high": 0.7, "conf_level": 0.95, "interval": "percentile"}
    number_and_limits, _ = heights(means([0.2, 0.3, 0.4, 0.6], **limits))
    assert 2 * LINE_MM < number_and_limits < 3 * LINE_MM
    long = "A finding whose name takes three lines at the left of a tile of one line"
    tile, names = heights(means([0.2, 0.3, 0.4, 0.6]), labels={"Edema": long}, width=89)
    assert names >= 2 * LINE_MM
    # gaps of 4 % between tiles
    assert tile / 0.96 == pytest.approx(names + 0.6)
