import numpy as np
import pytest
from scipy import ndimage

from salstats.images.boundaries import boundary
from salstats.images.masks import bounding_box

ELEMENTS = {4: ndimage.generate_binary_structure(2, 1), 8: ndimage.generate_binary_structure(2, 2)}


@pytest.mark.parametrize("neighbours", [4, 8])
def test_boundaries_are_those_of_an_erosion(neighbours):
    rng = np.random.default_rng(0)
    for shape in [(1, 1), (1, 7), (7, 1), (2, 2), (20, 31)]:
        for density in (0, 0.5, 0.9, 1):
            mask = rng.random(shape) < density
            plain = mask & ~ndimage.binary_erosion(mask, ELEMENTS[neighbours])
            for given in (mask, np.asfortranarray(mask), np.pad(mask, 2)[2:-2, 2:-2]):
                found = boundary(given, neighbours=neighbours)
                assert found.dtype == bool
                np.testing.assert_array_equal(found, plain)


def test_a_bounding_box_holds_all_and_no_more():
    mask = np.zeros((6, 7), bool)
    assert bounding_box(mask) is None
    mask[2, 3] = mask[4, 1] = True
    assert bounding_box(mask) == (slice(2, 5), slice(1, 4))
    assert bounding_box(np.ones((2, 3), bool)) == (slice(0, 2), slice(0, 3))
