"""Power against cases: lines, panels, marks, and what stands below."""

import matplotlib.pyplot as plt
import pandas as pd
import plotnine as p9
import pytest
from display.plots.estimate_figures import nth_data
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, ValueRangeError


def plan(methods=("gradcam",), effects=(-0.05,), needed=(45,), **columns):
    """A simulated plan of four sizes."""
    rows = [
        {"metric": "iou", "method": method, "reference": "human", "term": "difference", "goal": "difference",
         "effect": effect, "n_cases": n, "power": power, "conf_low": power - 0.02, "conf_high": power + 0.02,
         "width": 1 / n, "target": 0.8, "n_needed": n_needed, "level": 0.95, "interval": "wild",
         "test": "wild", "mc_error": 0.015, "approach": "simulation", "n_studies": 1000}
        for method in methods
        for effect, n_needed in zip(effects, needed, strict=True)
        for n, power in zip((20, 40, 60, 80), (0.4, 0.75, 0.9, 0.96), strict=True)
    ]  # fmt: skip
    frame = pd.DataFrame(rows).assign(**columns)
    return frame.astype({"n_needed": "Int64", "n_cases": "Int64"})


def caption(figure):
    return " ".join(figure.labels.caption.split())


def test_a_line_for_each_effect_says_how_many_cases_it_needs():
    figure = ss.plot_power(plan(effects=(-0.1, -0.05), needed=(45, None)))
    assert list(figure.data["line"].cat.categories) == ["effect −0.1 (45)", "effect −0.05 (> 80)"]
    assert figure.data["shown"].tolist()[:4] == pytest.approx([40, 75, 90, 96])
    assert "Rings: fewest cases for 80% (in brackets)." in caption(figure)
    assert "1,000 simulated studies each" in caption(figure)


def test_rings_lie_on_the_target_where_it_is_reached():
    rings = nth_data(ss.plot_power(plan(effects=(-0.1, -0.05), needed=(45, None))), 4)
    assert rings["n_cases"].tolist() == [45]
    assert rings["shown"].tolist() == [80]
    # or on the curve, where even the smallest size is beyond it
    enough = plan(needed=(20,)).assign(power=[0.85, 0.9, 0.95, 0.97])
    figure = ss.plot_power(enough)
    assert nth_data(figure, 4)["shown"].tolist() == [85]
    assert "(≤ 20)" in caption(figure)


def test_groups_have_panels_with_their_numbers():
    frame = plan(methods=("occlusion", "gradcam"), effects=(-0.1, -0.05), needed=(25, 45))
    frame.loc[frame["method"] == "gradcam", "n_needed"] += 1
    figure = ss.plot_power(frame, labels={"method": ["gradcam", "occlusion"]})
    assert list(figure.data["panel"].cat.categories) == ["Grad-CAM", "Occlusion"]
    assert list(figure.data["line"].cat.categories) == ["effect −0.1", "effect −0.05"]
    found = nth_data(figure, 5).set_index(["panel", "line"])["text"].to_dict()
    assert found == {
        ("Grad-CAM", "effect −0.1"): "26",
        ("Grad-CAM", "effect −0.05"): "46",
        ("Occlusion", "effect −0.1"): "25",
        ("Occlusion", "effect −0.05"): "45",
    }
    assert "Rings: fewest cases for 80% (at the lower right)." in caption(figure)


def test_numbers_of_more_lines_than_have_room_are_in_the_plan():
    effects = (-0.1, -0.08, -0.06, -0.04)
    figure = ss.plot_power(plan(("occlusion", "gradcam"), effects, (10, 20, 30, 40)))
    assert not any(isinstance(layer.geom, p9.geom_text) for layer in figure.layers)
    assert "(in the table of the plan)" in caption(figure)


def test_formulas_have_no_band_and_readers_are_lines():
    parts = [
        plan(effects=(0.05,), needed=(n,)).assign(n_readers=readers) for readers, n in ((4, 70), (6, 50))
    ]
    frame = pd.concat(parts).drop(
        columns=["conf_low", "conf_high", "n_studies", "metric", "method", "reference"]
    )
    figure = ss.plot_power(frame.assign(approach="formula", term="mrmc"))
    assert list(figure.data["line"].cat.categories) == ["4 readers (70)", "6 readers (50)"]
    assert caption(figure) == "Effect: 0.05. Rings: fewest cases for 80% (in brackets). By formula."
    # target, line, points, rings, and what keeps 0 and 100 in view
    assert len(figure.layers) == 5


def test_widths_are_drawn_without_target():
    figure = ss.plot_power(plan(), show="width")
    assert figure.data["shown"].tolist() == pytest.approx([1 / 20, 1 / 40, 1 / 60, 1 / 80])
    assert figure.labels.y == "Mean width of the 95% interval"
    of_width = ss.plot_power(plan(goal="width", widest=0.1))
    assert of_width.labels.y.replace("\n", " ") == "Chance of 95% interval up to 0.1 wide (%)"
    wide = ss.plot_power(plan(goal="width", widest=0.1), show="width")
    assert "Dashed: the width planned for, 0.1." in caption(wide)


def test_what_is_no_plan_is_refused():
    with raises(ColumnError, column="goal"):
        ss.plot_power(plan().drop(columns="goal"))
    with raises(ValueRangeError, option="show", value="cost", choices=("power", "width")):
        ss.plot_power(plan(), show="cost")


def test_a_single_size_is_a_point():
    frame = plan(effects=(-0.1, -0.05), needed=(20, None)).query("n_cases == 20")
    figure = ss.plot_power(frame)
    drawn = [type(layer.geom).__name__ for layer in figure.layers]
    assert "geom_line" not in drawn
    assert "geom_linerange" in drawn
    assert "Bars: 95% intervals of the power" in caption(figure)
    # a line of one point warns
    plt.close(figure.draw(show=False))


def test_limits_of_the_needed_cases_are_bars_as_far_as_the_axis_reaches():
    frame = plan(effects=(-0.1, -0.05), needed=(45, 60)).assign(n_low=[31] * 4 + [10] * 4, n_high=70, sd=0.2)
    frame.loc[frame["effect"] == -0.05, "n_high"] = 200
    figure = ss.plot_power(frame.assign(unit="case", n_pilot=12, caution="small pilot"))
    # behind the target and the bands
    bars = nth_data(figure, 2)
    assert bars["n_cases"].tolist() == [31, 20]
    assert bars["limit"].tolist() == [70, 80]
    # one below the other
    assert bars["shown"].iloc[0] > bars["shown"].iloc[1]
    assert list(figure.data["line"].cat.categories) == [
        "effect −0.1 (45 [31 to 70])",
        "effect −0.05 (60 [10 to 200])",
    ]
    assert "SD as in a pilot of 12 cases, 0.2 per case." in caption(figure)
    assert "no better than from 20 normal differences" in caption(figure)
    plt.close(figure.draw(show=False))
    widths = ss.plot_power(frame.assign(unit="case"), show="width")
    assert "geom_segment" not in [type(layer.geom).__name__ for layer in widths.layers]


def texts_of(figure):
    return [layer.geom for layer in figure.layers if isinstance(layer.geom, p9.geom_text)]


def test_numbers_of_cases_stand_above_each_other_at_the_end_of_the_axis():
    frame = plan(methods=("occlusion", "gradcam"), effects=(-0.1, -0.05), needed=(25, 45))
    figure = ss.plot_power(frame)
    [texts] = texts_of(figure)
    assert texts.data["x"].eq(80).all()
    of_panel = texts.data[texts.data["panel"] == "Occlusion"].set_index("line")["y"]
    # the last line of the legend stands at the bottom
    assert of_panel["effect −0.05"] == 0
    assert of_panel["effect −0.1"] > 0
    # three lines have room, and four have not
    three = plan(("occlusion", "gradcam"), (-0.1, -0.08, -0.06), (10, 20, 30))
    assert texts_of(ss.plot_power(three))
    assert not texts_of(ss.plot_power(plan(effects=(-0.1, -0.05), needed=(25, 45))))


def test_bands_are_power_in_percent_behind_the_lines_and_the_target_is_dashed():
    figure = ss.plot_power(plan())
    target, band, line, points, ring, _ = figure.layers
    assert target.geom.data["yintercept"].tolist() == [80]
    assert target.geom.aes_params["linetype"] == "dashed"
    assert (band.mapping["ymin"], band.mapping["ymax"]) == ("100 * conf_low", "100 * conf_high")
    assert line.mapping["linetype"] == "line"
    assert not points.show_legend
    assert ring.geom.aes_params["fill"] == "white"
    assert [geom.geom.data["y"].tolist() for geom in figure.layers[-1:]] == [[0, 100]]
    # a single line has no legend, and its number of cases stands in the caption
    assert figure.theme.getp("legend_position") == "none"
    assert "Rings: fewest cases for 80% (45)." in caption(figure)
    assert "Bands: 95% intervals of the power" in caption(figure)
    assert caption(figure).startswith(
        "Metric: IoU. Method: Grad-CAM. Reference: Human benchmark. Effect: −0.05."
    )


def test_widths_have_no_band_rings_or_end_at_a_hundred():
    figure = ss.plot_power(plan(), show="width")
    assert [type(layer.geom).__name__ for layer in figure.layers] == ["geom_line", "geom_point", "geom_blank"]
    assert figure.layers[-1].geom.data["y"].tolist() == [0]
    assert "Rings" not in caption(figure)
    assert "Bands" not in caption(figure)
    wide = ss.plot_power(plan(goal="width", widest=0.1), show="width")
    assert wide.layers[0].geom.data["yintercept"].tolist() == [0.1]
    assert "Effect" not in caption(ss.plot_power(plan(goal="width", widest=0.1)))


def test_an_axis_of_one_size_begins_at_zero_and_cases_are_named_by_the_user():
    figure = ss.plot_power(plan().query("n_cases == 20"), labels={"n_cases": "Images"})
    blanks = [layer.geom.data for layer in figure.layers if type(layer.geom).__name__ == "geom_blank"]
    assert blanks[-1]["x"].tolist() == [0]
    assert figure.labels.x == "Images"
    assert ss.plot_power(plan()).labels.x == "Cases"
    [points] = [layer for layer in figure.layers if type(layer.geom).__name__ == "geom_point"]
    assert points.show_legend


def test_a_curve_that_needs_fewer_or_more_cases_than_planned_has_no_ring_and_one_at_its_end_has_one():
    frame = plan(effects=(-0.1, -0.08, -0.05), needed=(10, 80, 90))
    rings = nth_data(ss.plot_power(frame), 4)
    # the power at 80 cases is 96, above the target
    assert rings[["n_cases", "shown"]].values.tolist() == [[80, 96]]


def test_a_bar_without_an_upper_limit_reaches_the_end_and_one_outside_the_axis_is_not_drawn():
    effects = (-0.1, -0.08, -0.06, -0.05)
    frame = plan(effects=effects, needed=(45, 45, 45, 45))
    limits = {-0.1: (31, None), -0.08: (80, 90), -0.06: (5, 20), -0.05: (None, 70)}
    frame["n_low"] = frame["effect"].map(lambda effect: limits[effect][0])
    frame["n_high"] = frame["effect"].map(lambda effect: limits[effect][1])
    figure = ss.plot_power(frame.assign(unit="case", n_pilot=12, sd=0.2, caution=""))
    [bars] = [layer.geom.data for layer in figure.layers if type(layer.geom).__name__ == "geom_segment"]
    assert bars[["n_cases", "limit", "shown"]].values.tolist() == [[31, 80, 80]]
    assert "Rings and thick lines: fewest cases" in caption(figure)
