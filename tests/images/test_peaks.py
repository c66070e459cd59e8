import numpy as np
import pytest

from salstats.images.peaks import maximum_and_points

#: Sums of a few products of numbers up to 3 in float64.
ROUNDED = 1e-12


@pytest.mark.parametrize("levels", [None, 3, 1])
def test_maxima_are_those_of_the_interpolated_map(interpolated, levels):
    rng = np.random.default_rng(0)
    for trial in range(300):
        given, shape = rng.integers(1, 30, 2), tuple(rng.integers(1, 40, 2))
        if trial % 10 == 0:
            given = shape
        saliency = rng.normal(size=given) if levels is None else np.round(rng.random(given) * levels)
        expected = interpolated(saliency, shape)
        value, points = maximum_and_points(saliency, shape)
        assert abs(value - expected.max()) < ROUNDED
        np.testing.assert_array_equal(points, np.argwhere(expected >= expected.max() - ROUNDED))
        np.testing.assert_array_equal(maximum_and_points(saliency, shape, every=False)[1], points[:1])


def test_a_constant_map_is_largest_everywhere():
    # 0.1 is no sum of its parts in float64
    value, points = maximum_and_points(np.full((3, 4), 0.1), (7, 9))
    assert value == 0.1
    assert len(points) == 63


def test_values_that_only_rounding_tells_apart_are_equal():
    more = 0.1 + 0.2
    assert more > 0.3
    rows = np.array([[0.0], [0.3], [0.0], [0.0], [more], [0.0]])
    for every, expected in ((True, [[1, 0], [4, 0]]), (False, [[1, 0]])):
        assert maximum_and_points(rows, (6, 1), every=every)[1].tolist() == expected
    assert maximum_and_points(rows.T, (1, 6))[1].tolist() == [[0, 1], [0, 4]]


def test_samples_between_the_pixels_promise_but_do_not_decide():
    # of nine samples every third, from the second on, has a pixel
    more = 0.1 + 0.2
    rows = np.array([[1.0], [0.3], [0.0], [0.0], [more], [0.0], [0.0], [0.0], [0.5]])
    value, points = maximum_and_points(rows, (3, 1))
    assert value == more
    assert points.tolist() == [[0, 0], [1, 0]]
