import numpy as np
import pytest
from scipy import ndimage
from scipy.spatial import distance

from salstats.images.boundaries import boundary, nearest_distances
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


@pytest.mark.parametrize(
    ("shape", "n_pixels", "n_targets", "steps"),
    [
        ((30, 40), 200, 100, (1.0, 1.0)),
        ((30, 40), 200, 100, (0.5, 0.5)),
        ((30, 40), 200, 100, (0.5, 2.0)),
        # few points, which are searched for
        ((300, 400), 20, 3, (1.0, 1.0)),
        ((300, 400), 20, 3, (0.5, 2.0)),
        # distances that single precision does not hold
        ((3, 1500), 50, 1, (2.0, 2.0)),
        # a diagonal over 4096 pixels
        ((2, 4100), 100, 30, (1.0, 1.0)),
    ],
)
def test_distances_are_those_from_the_nearest_target(shape, n_pixels, n_targets, steps):
    rng = np.random.default_rng(0)
    pixels = np.sort(rng.choice(shape[0] * shape[1], n_pixels, replace=False))
    targets = np.sort(rng.choice(shape[0] * shape[1] // 3, n_targets, replace=False))
    found = nearest_distances(pixels, targets, shape, steps)
    pixel_points, target_points = (
        np.column_stack(np.unravel_index(p, shape)) * steps for p in (pixels, targets)
    )
    expected = distance.cdist(pixel_points, target_points).min(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)


def test_without_a_target_there_is_no_distance():
    pixels = np.array([0, 3])
    assert np.isnan(nearest_distances(pixels, pixels[:0], (2, 2), (1.0, 1.0))).all()
