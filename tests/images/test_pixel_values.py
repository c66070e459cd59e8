from fractions import Fraction

import numpy as np
import pytest

from salstats.images.pixel_values import PixelShares, PixelValues


def test_what_rounding_can_do_is_constant_and_nothing_more():
    assert PixelValues(np.zeros((2, 2))).is_constant
    assert PixelValues(np.array([[0.3, 0.1 + 0.2]])).is_constant
    assert PixelValues(np.array([[-1e9, -1e9 - 1e-6]])).is_constant
    assert not PixelValues(np.array([[1.0, 1.0 + 1e-13]])).is_constant


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9])
def test_a_large_offset_costs_the_deviations_no_digits(offset):
    # more pixels than a block has; whole multiples of 1/1024, to which the offsets are added without rounding
    steps = np.random.default_rng(0).integers(0, 1024, (131, 97))
    n, total, squares = steps.size, int(steps.sum()), int((steps**2).sum())
    exact = (Fraction(squares) - Fraction(total**2, n)) / 1024**2
    pixels = PixelValues(steps / 1024 + offset)
    assert pixels.deviation_norm**2 == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("factor", [1e-120, 1e-162, 1e-290])
def test_a_map_of_tiny_values_is_as_long_as_its_scale(factor):
    values = np.random.default_rng(2).random((64, 64))
    norm = PixelValues(values * factor).deviation_norm
    assert norm == pytest.approx(factor * np.linalg.norm(values - values.mean()), rel=1e-12, abs=0)


def test_shares_of_a_map_far_below_0_keep_their_digits():
    steps = np.random.default_rng(1).integers(0, 1024, (131, 97))
    pixels = PixelValues(steps / 1024 - 1e9)
    found = PixelShares(pixels, raised=-pixels.lowest).shares_at(slice(None))
    lifted = steps - steps.min()
    np.testing.assert_allclose(found, lifted.ravel() / lifted.sum(), rtol=1e-13)


@pytest.mark.parametrize(
    ("raised", "minimum", "expected"),
    [
        (0.0, 0.0, [0, 0.25, 0.75]),
        # 1, 2 and 4 of 7
        (0.0, 1.0, [1 / 7, 2 / 7, 4 / 7]),
        (2.0, 0.0, [2 / 10, 3 / 10, 5 / 10]),
        (2.0, 1.0, [3 / 13, 4 / 13, 6 / 13]),
    ],
)
def test_shares_are_of_the_values_and_what_is_added_to_each(raised, minimum, expected):
    shares = PixelShares(PixelValues(np.array([[0.0, 1.0, 3.0]])), raised=raised, minimum=minimum)
    np.testing.assert_allclose(shares.shares_at(slice(None)), expected, rtol=1e-15)
    np.testing.assert_allclose(shares.shares_at(np.array([2, 0])), [expected[2], expected[0]], rtol=1e-15)
    assert shares.total == 4 + 3 * (raised + minimum)
