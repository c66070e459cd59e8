import numpy as np
import pytest

from salstats.checks import ShapeError, ValueRangeError
from salstats.metrics.densities import as_density, check_densities, check_density, is_constant


def test_what_rounding_can_do_is_constant_and_nothing_more():
    assert is_constant(np.zeros((2, 2)))
    assert is_constant(np.array([[0.3, 0.1 + 0.2]]))
    assert is_constant(np.array([[-1e9, -1e9 - 1e-6]]))
    assert not is_constant(np.array([[1.0, 1.0 + 1e-13]]))
    assert not is_constant(np.array([[0.0, 1e-300]]))


def test_a_density_that_needs_no_change_is_not_copied():
    density = np.array([[0.0, 2.0]])
    assert check_density(density, (1, 2)) is density
    stack = np.stack([density, density])
    assert check_densities(stack, (1, 2)) is stack
    assert check_densities(density, (1, 2)).base is density


def test_a_map_is_raised_to_0_only_where_it_is_negative():
    np.testing.assert_array_equal(as_density(np.array([[-1.0, 0.0, 2.0]])), [[0, 0.25, 0.75]])
    np.testing.assert_array_equal(as_density(np.array([[1.0, 1.0, 2.0]])), [[0.25, 0.25, 0.5]])
    np.testing.assert_array_equal(as_density(np.array([[-3.0, -1.0]])), [[0, 1]])


def test_a_minimum_is_added_after_that_in_the_unit_of_the_map():
    np.testing.assert_allclose(as_density(np.array([[-1.0, 0.0, 2.0]]), minimum=2), [[0.2, 0.3, 0.5]])


@pytest.mark.parametrize("value", [0.0, 0.5, -3.0])
@pytest.mark.parametrize("minimum", [0, 1e-20])
def test_a_constant_map_is_no_density_unless_it_counts_as_uniform(value, minimum):
    values = np.full((1, 4), value)
    assert as_density(values, minimum=minimum) is None
    np.testing.assert_array_equal(
        as_density(values, minimum=minimum, constant="uniform"), np.full((1, 4), 0.25)
    )


def test_numbers_at_the_end_of_the_range_make_a_density():
    for values in ([[-8e307, 8e307]], [[0.0, 1e-307]]):
        np.testing.assert_array_equal(as_density(np.array(values)), [[0, 1]])
    found = check_density([[1.7e308, 1.7e308]], (1, 2))
    np.testing.assert_array_equal(found, [[1, 1]])


def test_damaged_arguments_are_named():
    with pytest.raises(ShapeError, match=r"map \(1, 2\) and truth \(2, 1\) must have the same shape; resize"):
        check_density([[1], [1]], (1, 2), "truth")
    with pytest.raises(ValueRangeError, match="truth must hold real numbers, not <U1"):
        check_density([["a", "b"]], (1, 2), "truth")
    with pytest.raises(ShapeError, match=r"densities have shape \(k, 1, 2\)"):
        check_densities(np.ones((1, 1, 1, 2)), (1, 2))
    with pytest.raises(ValueRangeError, match="minimum must be a number of at least 0, not True"):
        as_density(np.eye(2), minimum=True)
    with pytest.raises(ValueRangeError, match="constant='none' is not known"):
        as_density(np.eye(2), constant="none")
