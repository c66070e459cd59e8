import numpy as np
import pytest
from scipy import special

from salstats.stats.models.residual_checks import normal_quantiles, quartile_line, smooth_curve

SPEED = np.repeat(
    np.array([4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 24, 25], dtype=float),
    [2, 2, 1, 1, 3, 2, 4, 4, 4, 3, 2, 3, 4, 3, 5, 1, 1, 4, 1],
)
DISTANCE = np.array(
    [2, 10, 4, 22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34, 34, 46, 26, 36, 60, 80, 20, 26]
    + [54, 32, 40, 32, 40, 50, 42, 56, 76, 84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85],
    dtype=float,
)


def test_normal_quantiles_are_those_of_qqnorm_in_r():
    # R: qqnorm(c(3, 1, 2, 5, 4))$x
    expected = [0.0, -1.1797611, -0.4972006, 1.1797611, 0.4972006]
    np.testing.assert_allclose(normal_quantiles(np.array([3.0, 1.0, 2.0, 5.0, 4.0])), expected, atol=5e-8)
    # more than ten values: (i - 1/2) / n
    np.testing.assert_allclose(special.ndtr(normal_quantiles(np.arange(20.0))), (np.arange(20) + 0.5) / 20)


def test_quartile_line_passes_through_both_quartiles():
    values = np.array([1.0, 2.0, 4.0, 8.0, 20.0])
    intercept, slope = quartile_line(values)
    # R's type 7 quartiles are 2 and 8
    z = special.ndtri(0.75)
    assert intercept - slope * z == pytest.approx(2)
    assert intercept + slope * z == pytest.approx(8)


def test_smooth_curve_is_lowess_of_r():
    x, y = smooth_curve(SPEED, DISTANCE)
    assert x.tolist() == sorted(set(SPEED))
    # R: lowess(cars), as its help page draws it
    first = [4.965459, 13.124495, 15.858633, 18.579691, 21.280313, 24.129277, 27.119549, 30.027276]
    np.testing.assert_allclose(y[:8], first, atol=5e-7)


def test_a_curve_through_two_values_follows_their_mean_where_it_is_not_robust():
    rng = np.random.default_rng(3)
    x = rng.random(800)
    y = (rng.random(800) < 0.15) - 0.15  # a correct model of a rare outcome
    curve = smooth_curve(x, y, robust=False)[1]
    assert np.abs(curve).max() < 0.1
    assert smooth_curve(x, y)[1].max() < -0.1  # the rarer value is taken for outliers


def test_heights_within_a_hundredth_of_the_range_are_interpolated_as_in_r():
    """R's `delta` is 0.01 of the range of x, 9.999 here: heights from 0 up to the last but one are a line."""
    dense = np.linspace(0, 9.9, 60)
    heights = smooth_curve(np.append(-990.0, dense), np.sin(np.append(-990.0, dense))).height
    np.testing.assert_allclose(np.diff(heights[1:-1], 2), 0, atol=1e-12)
    # With a range of 909.9 the last fitted value before the end is 9.06.
    shorter = smooth_curve(np.append(-900.0, dense), np.sin(np.append(-900.0, dense))).height
    assert np.abs(np.diff(shorter[1:-1], 2)).max() > 1e-6


@pytest.mark.parametrize(("x", "n_heights"), [([1, 2, 1, 2, 2], 0), ([1, 2, 1, 3, 2], 3)])
def test_a_smooth_curve_needs_three_distinct_values(x, n_heights):
    curve = smooth_curve(np.array(x, dtype=float), np.arange(5.0))
    assert curve.height.shape == (n_heights,)
    assert curve[0].tolist() == [1, 2, 3][:n_heights]
