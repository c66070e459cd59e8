"""Ends of axes: those that are given, those of far-out decreases, and the arrows at them."""

import re

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.plots.layout.axis_limits import (
    arrow_layers,
    arrows_note,
    limits_of_cut_axes,
    vertical_lines_within_axes,
    with_bars_cut_at_limits,
)
from salstats.errors import ValueRangeError


def rows(values, panel="IoU", metric="iou", half_width=5.0):
    """Rows of a panel from their estimates."""
    estimate = np.array(values, dtype=float)
    return pd.DataFrame(
        {
            "panel": pd.Categorical([panel] * len(estimate)),
            "metric": metric,
            "row_label": [f"t{i}" for i in range(len(estimate))],
            "estimate": estimate,
            "conf_low": estimate - half_width,
            "conf_high": estimate + half_width,
        }
    )


def ends(frame, limits=None, term="percent_decrease", **options):
    """Ends of the axes by panel."""
    found = limits_of_cut_axes(frame, limits, term, **options)
    return {panel: (low, high) for panel, low, high in found.itertuples(index=False)}


def test_a_decrease_far_out_leaves_the_axis_to_the_others():
    # rows reach 15, 25, 35 and 2,035 from 0: half of them reach 30, so the axis ends before 300
    ((low, high),) = ends(rows([10, 20, 30, -2030])).values()
    assert high == 35
    # room for the arrow beside 0, the smallest of the other numbers
    assert low == pytest.approx(-0.08 * 35)
    # rows without a number have no part in it
    assert ends(rows([10, 20, 30, -2030, np.nan])) == {"IoU": (low, high)}
    assert ends(rows([10, 20, 30, 2030])) == {"IoU": (0, pytest.approx(1.08 * 35))}
    # the room is a share of the axis, on both sides of 0
    assert ends(rows([-10, 20, 30, 2030])) == {"IoU": (-15, pytest.approx(35 + 0.08 * 50))}


def test_numbers_that_are_not_far_out_and_other_terms_are_not_cut():
    assert ends(rows([10, 20, 30, -290])) == {}
    assert ends(rows([-150, -170, -160])) == {}
    assert ends(rows([10, 20, 30, -2030]), term="difference") == {}
    assert ends(rows([0, 0, 0, 50], half_width=0)) == {}


def test_an_interval_far_out_is_cut_and_its_estimate_is_not():
    frame = rows([10, 20, 30])
    frame.loc[0, "conf_low"] = -5000.0
    ((low, high),) = ends(frame).values()
    assert low < 10 < high


def test_limits_are_those_of_all_panels_or_of_some_metrics():
    frame = pd.concat([rows([1.0]), rows([2.0], "HD95", "hd95")]).assign(
        panel=pd.Categorical(["IoU", "HD95"], ["IoU", "HD95"])
    )
    assert ends(frame, (0, 1)) == {"IoU": (0, 1), "HD95": (0, 1)}
    assert ends(frame, {"hd95": (0, 100)}) == {"HD95": (0, 100)}
    with raises(ValueRangeError, option="limits", choices=("iou", "hd95")):
        limits_of_cut_axes(frame, {"dice": (0, 1)}, None)


@pytest.mark.parametrize("limits", [(1, 0), (0, np.inf), (0,), (0, 0), 3, ("a", "b"), {"iou": 3}])
def test_limits_are_two_finite_numbers_in_order(limits):
    with raises(ValueRangeError, option="limits"):
        limits_of_cut_axes(rows([1.0]), limits, None)


def test_no_limits_are_needed_of_estimates_without_metrics():
    frame = rows([1.0]).drop(columns="metric")
    assert ends(frame, {}) == {}
    assert ends(frame, (0, 2)) == {"IoU": (0, 2)}
    with raises(ValueRangeError, option="limits"):
        limits_of_cut_axes(frame, {"iou": (0, 2)}, None)


def test_a_logarithmic_axis_begins_above_0():
    assert ends(rows([1.0]), (0.1, 10), log=True) == {"IoU": (0.1, 10)}
    with raises(ValueRangeError, option="limits"):
        limits_of_cut_axes(rows([1.0]), (0, 10), None, log=True)


def test_arrows_stand_where_a_bar_or_an_estimate_goes_on():
    frame = rows([0, 8, 12, -20])
    cut = with_bars_cut_at_limits(frame, limits_of_cut_axes(frame, (-10, 10), None))
    assert cut["conf_low"].tolist()[:3] == [-5, 3, 7]
    assert cut["conf_high"].tolist()[:3] == [5, 10, 10]
    assert cut["is_beyond"].tolist() == [False, False, True, True]
    assert cut["right_arrow"].dropna().to_dict() == {1: 10, 2: 10}
    assert cut["left_arrow"].dropna().to_dict() == {3: -10}
    # nothing of the last bar is on the axis, and its arrow has a shaft
    assert cut["conf_low"][3] == -10 < cut["conf_high"][3] < 0


def test_a_limit_without_end_has_no_arrow():
    frame = rows([0.0]).assign(conf_low=-np.inf, conf_high=np.inf)
    cut = with_bars_cut_at_limits(frame, limits_of_cut_axes(frame, (-10, 10), None))
    assert np.isinf(cut[["conf_low", "conf_high"]].to_numpy()).all()
    assert cut[["left_arrow", "right_arrow"]].isna().to_numpy().all()


def test_the_caption_says_what_arrows_are_and_names_estimates_that_no_text_shows():
    frame = rows([0, 8])
    limits = limits_of_cut_axes(frame, (-10, 10), None)
    assert arrows_note(frame, limits, 1, "nature", names_beyond=False) == (
        "Bars that end in an arrow go on beyond the axis."
    )
    beyond = rows([0, 20])
    assert "An arrow without a mark" in arrows_note(beyond, limits, 1, "nature", names_beyond=False)
    assert "Beyond it: IoU/t1 20.0 (15.0, 25.0)." in arrows_note(
        beyond, limits, 1, "nature", names_beyond=True
    )
    assert arrows_note(rows([0]), limits, 1, "nature", names_beyond=True) == ""


def test_lines_beyond_the_axis_are_left_out():
    lines = pd.DataFrame({"panel": ["IoU", "IoU", "other"], "guide": [0.0, 20.0, 20.0]})
    limits = limits_of_cut_axes(rows([1.0]), (-10, 10), None)
    assert vertical_lines_within_axes(lines, "guide", limits)["guide"].tolist() == [0.0, 20.0]


def test_a_logarithmic_axis_is_cut_where_limits_are_not_above_0_and_holds_1():
    assert ends(rows([1, 2], half_width=0.5), term="odds_ratio", log=True) == {}
    ((low, high),) = ends(rows([1, 2], half_width=1.5), term="odds_ratio", log=True).values()
    assert 0.25 < low < 0.5
    assert high == 3.5
    frame = rows([8], half_width=8).assign(conf_high=np.inf)
    ((low, high),) = ends(frame, term="odds_ratio", log=True).values()
    assert 0.5 < low < 1
    assert high == 8


def test_shafts_are_the_same_share_of_a_linear_and_of_a_logarithmic_axis():
    linear = with_bars_cut_at_limits(
        rows([20, -9], half_width=1), limits_of_cut_axes(rows([1]), (0, 10), None)
    )
    share = (10 - linear["conf_low"][0]) / 10
    assert linear["conf_high"][1] / 10 == pytest.approx(share)
    frame = rows([20, 0.01], half_width=0.005)
    log = with_bars_cut_at_limits(frame, limits_of_cut_axes(frame, (0.1, 10), None, log=True), log=True)
    assert (1 - np.log10(log["conf_low"][0])) / 2 == pytest.approx(share)
    assert (np.log10(log["conf_high"][1]) + 1) / 2 == pytest.approx(share)
    assert 0 < share < 0.2


def test_arrows_are_layers_at_the_ends_that_bars_reach():
    frame = rows([0, 8, -20])
    limits = limits_of_cut_axes(frame, (-10, 10), None)
    layers = arrow_layers(with_bars_cut_at_limits(frame, limits), limits, {}, {"color": "black"})
    blank_ends = [next(iter(layer.mapping.values())) for layer in layers[:2]]
    assert blank_ends == ["low", "high"]
    assert [layer.data["estimate"].tolist() for layer in layers[2:]] == [[-20], [8]]
    within = with_bars_cut_at_limits(rows([0]), limits)
    assert len(arrow_layers(within, limits, {}, {})) == 2
    assert arrow_layers(within, limits.head(0), {}, {}) == []


def test_of_many_estimates_beyond_the_axis_some_are_named_and_the_others_counted():
    frame = rows([20] * 30)
    note = arrows_note(frame, limits_of_cut_axes(frame, (-10, 10), None), 1, "nature", names_beyond=True)
    n_more = int(re.search(r" and (\d+) more\.$", note)[1])
    assert note.count("IoU/t") == 30 - n_more > 0
