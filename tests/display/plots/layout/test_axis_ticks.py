"""Numbers at an axis: round, told apart, and no more than have room."""

from itertools import pairwise

import pytest

from salstats.display.plots.layout.axis_ticks import (
    axis_breaks,
    log_breaks,
    log_texts,
    number_axes,
    rank_breaks,
    tick_texts,
    vertical_breaks,
)
from salstats.display.plots.layout.text_fit import text_width_mm


@pytest.mark.parametrize(
    ("limits", "texts"),
    [
        ((-0.03, 0.58), ["0.0", "0.2", "0.4"]),
        ((-2.5, 85.0), ["0", "25", "50", "75"]),
        ((-0.06, 0.06), ["−0.05", "0.00", "0.05"]),
        ((1e-9, 2.1e-9), ["0.000000001", "0.000000002"]),
        ((1, 3), ["1", "2", "3"]),
    ],
)
def test_ticks_are_round_numbers_with_the_same_decimals(limits, texts):
    assert tick_texts(axis_breaks(limits, 28.0)) == texts


def test_more_ticks_stand_where_there_is_more_room():
    narrow, wide = (axis_breaks((0.0, 1.0), room) for room in (12.0, 60.0))
    assert 1 < len(narrow) < len(wide)


@pytest.mark.parametrize("limits", [(0.24, 0.87), (-0.49, 0.02), (35.8, 162.1), (-0.0312, 0.0)])
@pytest.mark.parametrize("length", [8.0, 12.0, 14.0, 17.0, 25.0])
def test_texts_of_ticks_never_overlap(limits, length):
    breaks = axis_breaks(limits, length)
    assert breaks
    widths = [text_width_mm(text) for text in tick_texts(breaks)]
    mm_per_unit = length / (limits[1] - limits[0])
    for (first, second), (one, other) in zip(pairwise(breaks), pairwise(widths), strict=True):
        assert (second - first) * mm_per_unit > (one + other) / 2


def test_a_vertical_axis_has_room_for_more_ticks_than_a_horizontal_one():
    # texts above each other are lower than wide
    assert len(vertical_breaks((0.0, 1.0), 20.0)) > len(axis_breaks((0.0, 1.0), 20.0))
    assert vertical_breaks((0.0, 4.0), 60.0) == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_ticks_of_logarithms_have_the_decimals_that_each_needs():
    assert log_texts(log_breaks((0.01, 150.0))) == ["0.01", "0.1", "1", "10", "100"]
    assert len(log_breaks((0.9, 1.2))) > 1


@pytest.mark.parametrize(
    ("n_ranks", "breaks"),
    [
        (1, [1]),
        (2, [1, 2]),
        (5, [1, 2, 3, 4, 5]),
        (10, [1, *range(2, 11)]),
        (11, [1, 2, 4, 6, 8, 10]),
        (45, [1, *range(5, 46, 5)]),
    ],
)
def test_ranks_at_an_axis_are_the_first_and_multiples_of_a_step(n_ranks, breaks):
    assert rank_breaks(n_ranks) == breaks
    assert rank_breaks(12, max_steps=3) == [1, 4, 8, 12]


def test_narrow_logarithmic_axes_have_round_numbers_and_wide_ones_powers():
    assert len(log_breaks((2.2, 2.9))) > 1
    assert log_breaks((0.5, 2000.0), 12.0) == [1.0, 1000.0]
    assert set(log_breaks((0.05, 50.0), 80.0)) >= {0.1, 1.0, 10.0}


def test_axes_of_a_panel_have_breaks_for_its_width_and_height():
    horizontal, vertical = number_axes(width_mm=14.0, height_mm=60.0)
    assert len(horizontal.breaks((0.0, 4.0))) < len(vertical.breaks((0.0, 4.0)))
    assert horizontal.labels([0.5, 1.0]) == ["0.5", "1.0"]


@pytest.mark.parametrize("length", [6.0, 12.0, 25.0, 80.0])
@pytest.mark.parametrize("limits", [(0.013, 12.0), (0.02, 1.4), (0.8, 300.0), (0.1, 10.0)])
def test_a_logarithmic_axis_of_any_length_has_a_number_at_1(limits, length):
    breaks = log_breaks(limits, length)
    assert 1.0 in breaks
    assert breaks == sorted(set(breaks))
    assert limits[0] <= breaks[0] <= breaks[-1] <= limits[1]


@pytest.mark.parametrize("value", [0.5, 3.0, 250.0, 0.3])
def test_an_axis_of_one_value_has_it_as_its_only_number(value):
    limits = (value, value)
    for breaks in (axis_breaks(limits), log_breaks(limits), vertical_breaks(limits, 30.0)):
        assert breaks == pytest.approx([value])


def test_a_number_without_room_at_the_beginning_of_an_axis_is_left_out_alone():
    assert tick_texts(axis_breaks((-0.835, -0.819), 35.0)) == ["−0.830", "−0.825", "−0.820"]


def test_an_axis_of_one_value_of_many_digits_has_no_number():
    assert vertical_breaks((1 / 3, 1 / 3), 30.0) == []
    assert vertical_breaks((-1234.0, -1234.0), 30.0) == [-1234.0]
    assert vertical_breaks((0.0, 0.0), 30.0) == [0.0]


def test_an_axis_without_room_for_two_texts_has_a_single_number_within_it():
    assert axis_breaks((-1.0, 1.0), 3.0) == [0.0]
    [only] = axis_breaks((0.31, 0.33), 3.0)
    assert only == pytest.approx(0.32)
