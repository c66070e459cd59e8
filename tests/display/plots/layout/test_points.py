"""Points that would hide each other are spread, and very many are counted in cells."""

import numpy as np
import pandas as pd
import pytest

from salstats.display.plots.layout.points import (
    are_few_integers,
    are_zero_or_one,
    evenly_spread_fractions_in_groups,
    integers_spread_into_lanes,
    point_density_cell_layers,
)

ONES = np.ones(100)
SHARES = evenly_spread_fractions_in_groups([pd.Series(ONES)])


def test_outcomes_are_zeros_and_ones_and_nothing_else():
    assert are_zero_or_one(np.array([0.0, 1.0, 1.0]))
    assert not are_zero_or_one(np.array([0.0, 0.5, 1.0]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 1, 2, 2], True),
        ([1, 1, 1, 1], False),
        ([1, 2, 3, 4], False),
        ([1, 1, 2.5, 2.5], False),
        (list(range(12)) * 2, True),
        (list(range(13)) * 2, False),
    ],
)
def test_a_few_integers_are_two_to_twelve_that_repeat(values, expected):
    assert are_few_integers(np.array(values, dtype=float)) is expected


def test_shares_of_a_group_are_spread_evenly_and_groups_have_their_own():
    assert np.abs(np.sort(SHARES) - np.linspace(0, 1, 100)).max() < 0.03
    for n_points in range(2, 100):
        # places on a circle: the first points of a group leave no larger gap than twice the mean one
        gaps = np.diff(np.sort([*SHARES[:n_points], SHARES[:n_points].min() + 1]))
        assert gaps.max() < 2 / n_points
    groups = pd.Series([0, 1] * 50)
    shares = evenly_spread_fractions_in_groups([groups])
    assert (shares[::2] == shares[1::2]).all()


def test_integers_stay_nearer_to_their_value_than_to_the_next_and_lanes_do_not_mix():
    left = integers_spread_into_lanes(np.repeat([1.0, 2.0], 50), np.zeros(100), 2, SHARES)
    right = integers_spread_into_lanes(np.repeat([1.0, 2.0], 50), np.ones(100), 2, SHARES)
    assert np.abs(left - np.repeat([1.0, 2.0], 50)).max() <= 0.35
    assert left[:50].max() < 1.0 < right[:50].min()


def test_cells_count_every_point_once():
    points = pd.DataFrame({"panel": "a", "x": [0.0, 0.0, 1.0], "y": [0.0, 0.0, 1.0]})
    cells = point_density_cell_layers(points, "#666666")[0].data
    assert cells["count"].tolist() == [2, 1]
    assert cells["x_end"].max() == pytest.approx(1.0)
    alike = point_density_cell_layers(points.assign(x=0.5, y=0.5), "#666666")[0].data
    assert alike["count"].tolist() == [3]


def test_a_panel_has_forty_cells_to_a_side_and_fuller_ones_are_darker():
    places = np.arange(41.0)
    points = pd.DataFrame({"panel": "a", "x": places, "y": 2 * places})
    layer, scale = point_density_cell_layers(points, "#666666")
    cells = layer.data
    assert (cells["x_end"] - cells["x"]).tolist() == pytest.approx([1.0] * 40)
    assert (cells["y_end"] - cells["y"]).tolist() == pytest.approx([2.0] * 40)
    # the last cell also has the point at its end
    assert cells["count"].tolist() == [1] * 39 + [2]
    assert layer.mapping["alpha"] == "powered"
    assert cells["powered"].iloc[-1] == pytest.approx(2**0.25)
    assert scale.breaks == pytest.approx([count**0.25 for count in (1, 10, 100, 1000, 10_000)])
    assert layer.aes_params["fill"] == "#666666"
    emptiest, fullest = scale.palette(np.array([0.0, 1.0]))
    # the emptiest cell is still seen
    assert 0.1 < emptiest < 0.5
    assert fullest == 1


def test_a_single_integer_has_lanes_within_its_unit():
    lanes = integers_spread_into_lanes(np.zeros(2), np.array([0, 1]), 2, np.array([0.5, 0.5]))
    # the middle of a lane of 0.35 to either side
    assert lanes.tolist() == pytest.approx([-0.175, 0.175])
