"""plot_calibration(): points at the mean predictions, bars, lines, panels and the numbers in the panels."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import layer_data, layers
from scipy import special
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError

SCORES = ss.datasets.load_simulated()
CURVES = ss.calibration_curve(SCORES, "prob", "label")
CALIBRATION = ss.calibration(SCORES, "prob", "label")


def words(figure):
    drawn = figure.draw(show=False)
    texts = [text.get_text() for text in drawn.findobj(plt.Text)]
    plt.close(drawn)
    return " ".join(texts).replace("\n", " ").replace("\N{MINUS SIGN}", "-")


def overconfident(models):
    """Predictions that are too extreme, of several models."""
    rng = np.random.default_rng(4)
    log_odds = np.tile(rng.normal(0, 2, 300), len(models))
    label = (rng.random(len(log_odds)) < special.expit(log_odds / 2)).astype(int)
    model = np.repeat(models, 300)
    return pd.DataFrame({"model": model, "prob": special.expit(log_odds), "label": label})


def test_each_task_is_a_panel_with_its_points():
    figure = ss.plot_calibration(CURVES, calibration=CALIBRATION)
    assert figure.data["panel"].nunique() == SCORES["task"].nunique()
    pd.testing.assert_series_equal(figure.data["predicted"], CURVES["predicted"])
    assert "Wilson" in words(figure)


@pytest.mark.parametrize(("width", "has_limits"), [(183, True), (89, False)])
def test_limits_are_written_where_a_panel_is_wide(width, has_limits):
    text = words(ss.plot_calibration(CURVES, calibration=CALIBRATION, width=width))
    slopes = CALIBRATION[CALIBRATION["term"] == "calibration_slope"]
    for row in slopes.itertuples():
        assert f"Slope {row.estimate:.2f}" in text
        assert (f"Slope {row.estimate:.2f} ({row.conf_low:.2f}, {row.conf_high:.2f})" in text) == has_limits


def test_numbers_stand_off_the_marks():
    """The rows are overconfident: at large predictions they lie low, where the upper left is free."""
    data = overconfident(["a"])
    for bad, corner in ((data, "lower right"), (data.assign(label=0), "upper left")):
        rows = ss.calibration_curve(bad, "prob", "label", by=())
        numbers = CALIBRATION.head(3).drop(columns="task")
        drawn = ss.plot_calibration(rows, calibration=numbers).draw(show=False)
        [text] = [text for text in drawn.findobj(plt.Text) if text.get_text().startswith("Intercept")]
        assert (text.get_ha() == "left") == (corner == "upper left")
        assert text.get_position() == ((0, 1) if corner == "upper left" else (1, 0))
        plt.close(drawn)


LOWER_RIGHT, RIGHT, UPPER_LEFT, LOWER_LEFT = (
    (0.97, 0.08, 0.12),
    (0.97, 0.6, 0.7),
    (0.03, 0.3, 0.95),
    (0.03, 0, 0.1),
)


@pytest.mark.parametrize(
    ("marks", "alignment"),
    [
        ([LOWER_RIGHT], "left"),
        ([RIGHT], "right"),
        ([UPPER_LEFT], "right"),
        ([LOWER_RIGHT, UPPER_LEFT], "right"),
        ([LOWER_LEFT, LOWER_RIGHT], "left"),
    ],
)
def test_numbers_stand_in_the_corner_with_fewer_marks(marks, alignment):
    curve = ss.calibration_curve(overconfident(["a"]), "prob", "label", by=()).head(len(marks))
    predicted, conf_low, conf_high = np.transpose(marks)
    curve = curve.assign(predicted=predicted, estimate=(conf_low + conf_high) / 2)
    curve = curve.assign(conf_low=conf_low, conf_high=conf_high)
    figure = ss.plot_calibration(curve, calibration=CALIBRATION.head(3).drop(columns="task"))
    # three lines of 3 mm are more than a tenth of a panel's height
    [text_layer] = layers(figure, "geom_text")
    assert text_layer.geom.aes_params["ha"] == alignment


def test_bars_at_the_bottom_are_a_histogram_of_the_predictions():
    """Ten bins of about equal numbers of predictions: the wider the bin, the lower its bar."""
    data = overconfident(["a"])
    curves = ss.calibration_curve(data, "prob", "label", by=())
    figure = ss.plot_calibration(curves)
    bars = layer_data(figure, "geom_rect")
    width = bars["right"] - bars["left"]
    assert list(bars["left"]) == pytest.approx(list(curves["bin_low"]))
    assert list(bars["right"]) == pytest.approx(list(curves["bin_high"]))
    area = width * (bars["top"] - bars["bottom"])
    assert list(area / area.sum()) == pytest.approx(list(curves["n"] / len(data)))
    # bars do not reach the points, none of which lies below 0
    assert bars["top"].max() < 0
    # a strip below the rates, which go from 0 to 1
    assert -0.5 < bars["bottom"].min() == bars["bottom"].max()


def test_a_bin_of_equal_predictions_has_a_bar():
    data = pd.DataFrame({"prob": [0.2] * 40 + [0.7] * 40, "label": [0, 1] * 40})
    figure = ss.plot_calibration(ss.calibration_curve(data, "prob", "label"))
    bars = layer_data(figure, "geom_rect")
    assert (bars["right"] > bars["left"]).all()
    assert bars["top"].nunique() == 1
    assert list(bars["left"] + bars["right"]) == pytest.approx([0.4, 1.4])


def test_models_have_panels_of_their_own():
    data = overconfident(["a", "b", "c"])
    curves = ss.calibration_curve(data, "prob", "label", by="model")
    figure = ss.plot_calibration(curves, calibration=ss.calibration(data, "prob", "label", by="model"))
    assert figure.data.groupby("panel", observed=True)["method_label"].nunique().tolist() == [1, 1, 1]
    assert words(figure).count("Intercept ") == 3


def test_calibration_of_other_curves_is_an_error():
    # each curve has three terms
    for wrong in (CALIBRATION.head(3), pd.concat([CALIBRATION, CALIBRATION])):
        with raises(SalstatsError, option="calibration", value=len(wrong) // 3):
            ss.plot_calibration(CURVES, calibration=wrong)
    with raises(ColumnError, column="term"):
        ss.plot_calibration(CURVES, calibration=CALIBRATION.drop(columns="term"))
