import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.images.pixel_values import PixelValues
from salstats.metrics.densities import Densities, as_density


def shares(values, **options):
    """Shares of a map that is read as a density, in the map's shape; None where it says nothing."""
    density = as_density(PixelValues(values), **options)
    return None if density is None else density.shares_at(slice(None)).reshape(values.shape)


def test_densities_that_need_no_change_are_not_copied():
    stack = np.array([[[0.0, 2.0]], [[1.0, 2.0]]])
    assert np.shares_memory(Densities(stack, (1, 2)).values, stack)
    assert np.shares_memory(Densities(stack[0], (1, 2)).values, stack)


def test_a_map_is_raised_to_0_only_where_it_is_negative_and_then_a_minimum_is_added():
    np.testing.assert_array_equal(shares(np.array([[-1.0, 0.0, 2.0]])), [[0, 0.25, 0.75]])
    np.testing.assert_array_equal(shares(np.array([[1.0, 1.0, 2.0]])), [[0.25, 0.25, 0.5]])
    np.testing.assert_allclose(shares(np.array([[-1.0, 0.0, 2.0]]), added_to_each_pixel=2), [[0.2, 0.3, 0.5]])


def test_sums_and_correlations_are_those_of_each_density():
    rng = np.random.default_rng(1)
    saliency = 3 + rng.random((5, 7))
    stack = np.stack([2 + rng.random((5, 7)), 4 - saliency + rng.random((5, 7)), np.full((5, 7), 0.5)])
    densities = Densities(stack, (5, 7))
    assert len(densities) == 3
    np.testing.assert_allclose(densities.sums, stack.sum(axis=(1, 2)), rtol=1e-12)
    found = densities.correlations(PixelValues(saliency))
    expected = [np.corrcoef(saliency.ravel(), density.ravel())[0, 1] for density in stack[:2]]
    np.testing.assert_allclose(found[:2], expected, rtol=1e-12)
    # neither a constant density nor a constant map has a correlation
    assert np.isnan(found[2])
    assert np.isnan(densities.correlations(PixelValues(stack[2]))).tolist() == [True] * 3


def test_a_correlation_does_not_depend_on_what_is_added_to_a_density():
    rng = np.random.default_rng(2)
    saliency, counts = rng.random((5, 7)), rng.integers(0, 9, (5, 7))
    # exact in float64, and almost constant
    densities = Densities(np.stack([counts, 1 + counts * 2.0**-40]), (5, 7))
    plain, raised = densities.correlations(PixelValues(saliency))
    assert raised == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("factor", [1e-120, 1e-162, 1e-290])
def test_a_correlation_does_not_depend_on_how_small_values_are(factor):
    rng = np.random.default_rng(0)
    saliency, density = rng.random((64, 64)), rng.random((64, 64))
    densities = Densities(density, (64, 64))
    tiny = densities.correlations(PixelValues(saliency * factor))
    np.testing.assert_allclose(tiny, densities.correlations(PixelValues(saliency)), rtol=1e-9)


def test_correlations_are_pearsons_of_every_density_and_undefined_for_a_constant():
    rng = np.random.default_rng(1)
    # more pixels than are summed at a time
    shape = (300, 400)
    saliency = rng.normal(size=shape)
    stack = np.stack(
        [rng.random(shape), np.full(shape, 0.1), saliency - saliency.min(), saliency.max() - saliency]
    )
    found = Densities(stack, shape).correlations(PixelValues(saliency))
    expected = [np.corrcoef(saliency.ravel(), stack[0].ravel())[0, 1], np.nan, 1, -1]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    constant = Densities(stack, shape).correlations(PixelValues(np.full(shape, 0.1)))
    np.testing.assert_array_equal(constant, np.full(4, np.nan))


def test_a_correlation_with_a_nearly_constant_density_keeps_its_digits():
    rng = np.random.default_rng(2)
    saliency, density = rng.random((64, 64)), 1 + 1e-10 * rng.random((64, 64))
    # density - 1 is exact in float64
    expected = np.corrcoef(saliency.ravel(), density.ravel() - 1)[0, 1]
    found = Densities(density, (64, 64)).correlations(PixelValues(saliency))
    np.testing.assert_allclose(found, [expected], rtol=1e-9)


def test_rounding_carries_no_correlation_past_1():
    # without a bound about every third of these would be above 1 or below -1
    for seed in range(40):
        saliency = np.random.default_rng(seed).random((5, 7))
        found = Densities(np.stack([saliency, 1 - saliency]), (5, 7)).correlations(PixelValues(saliency))
        np.testing.assert_allclose(found, [1, -1], rtol=1e-12)
        assert np.abs(found).max() <= 1


def test_sums_are_those_of_each_density():
    densities = Densities(np.array([[[1, 2]], [[0, 5]], [[0.5, 0.25]]]), (1, 2))
    assert len(densities) == 3
    assert densities.sums.tolist() == [3, 5, 0.75]


@pytest.mark.parametrize("value", [0.0, 0.5, -3.0])
def test_a_constant_map_is_no_density_unless_it_counts_as_uniform(value):
    values = np.full((1, 4), value)
    for minimum in (0, 1e-20):
        assert shares(values, added_to_each_pixel=minimum) is None
        uniform = shares(values, added_to_each_pixel=minimum, constant="uniform")
        np.testing.assert_array_equal(uniform, np.full((1, 4), 0.25))


def test_damaged_arguments_are_named():
    with raises(ShapeError, option="densities", value=(1, 1, 1, 2)):
        Densities(np.ones((1, 1, 1, 2)), (1, 2))
    with raises(ShapeError, option="densities", value=(2, 1)):
        Densities(np.ones((2, 1)), (1, 2))
    with raises(ValueRangeError, option="minimum", value=-1):
        shares(np.eye(2), added_to_each_pixel=-1)
    with raises(ValueRangeError, option="constant", value="none"):
        shares(np.eye(2), constant="none")


def test_one_of_several_densities_is_named_by_its_place():
    several = np.array([[[1.0, 2.0]], [[1.0, -2.0]], [[0.0, 3.0]]])
    with raises(ValueRangeError, option="density 2 of 3"):
        Densities(several, (1, 2))
    with raises(ValueRangeError, option="density"):
        Densities(several[1], (1, 2))
