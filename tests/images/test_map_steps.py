"""The steps from a map to a mask: against numpy's interpolation and loops over pixels."""

import numpy as np
import pytest

from salstats.images.map_steps import (
    box_filter,
    grey_levels_of_fractions,
    largest_float32_not_above,
    may_cover_whole_image,
    rescale,
    resize,
    resize_in_float64,
)

#: float32 holds positions among 29 samples to about 2e-6 of the step between two of them.
FLOAT32 = 3e-6


SHAPES = [
    ((20, 20), (61, 47)),  # larger
    ((47, 61), (20, 19)),  # smaller: no antialiasing
    ((40, 60), (20, 30)),  # half
    ((9, 30), (30, 9)),
    ((1, 7), (1, 20)),
    ((7, 1), (3, 5)),
    ((1, 1), (4, 3)),
    ((8, 8), (8, 8)),
    ((5, 9000), (10, 300)),
    ((3, 4), (40_000, 2)),
]


@pytest.mark.parametrize(("given", "shape"), SHAPES)
def test_resize_is_bilinear_between_centres(interpolated, given, shape):
    saliency = np.random.default_rng(0).random(given)
    resized = resize(saliency, shape)
    assert resized.shape == shape
    assert resized.dtype == np.float32
    # float32 holds positions among 9000 samples no better than to 5e-4 of a step
    tolerance = max(FLOAT32, max(given) * 1.2e-7)
    np.testing.assert_allclose(resized, interpolated(saliency, shape), atol=tolerance)


def test_an_even_box_reaches_up_and_left_and_borders_are_mirrored_about_their_pixels():
    spot = np.zeros((5, 5), np.float32)
    spot[2, 2] = 4
    expected = np.zeros((5, 5))
    expected[2:4, 2:4] = 1
    np.testing.assert_array_equal(box_filter(spot, 2), expected)
    np.testing.assert_allclose(box_filter(np.array([[3, 6, 0]], np.float32), 3), [[5, 3, 4]], rtol=1e-6)


def test_a_threshold_compares_as_float64():
    # 0.3 and 0.4 are more than themselves in float32, 0.7 is less
    values = np.array([[0.3, 0.4, 0.7]], np.float32)
    for threshold in (0.3, 0.4, 0.7):
        assert np.array_equal(
            values > largest_float32_not_above(threshold), values.astype(np.float64) > threshold
        )


def test_a_value_beyond_single_precision_becomes_infinite_without_a_warning():
    assert np.isinf(resize(np.array([[0.0, 1e300]]), (1, 2))[0, 1])


@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (1e100, 0), (1, 1e8), (-3, 2)])
def test_a_map_resized_in_its_range_is_the_interpolated_map(interpolated, scale, shift):
    saliency = np.random.default_rng(1).random((6, 7)) * scale + shift
    resized = resize_in_float64(saliency, (15, 13))
    assert resized.dtype == np.float64
    tolerance = FLOAT32 * np.ptp(saliency)
    np.testing.assert_allclose(resized, interpolated(saliency, (15, 13)), rtol=0, atol=tolerance)


def test_a_constant_map_keeps_its_value_at_every_size():
    np.testing.assert_array_equal(resize_in_float64(np.full((3, 4), -0.1), (5, 2)), np.full((5, 2), -0.1))


def test_a_map_is_stretched_to_0_and_1_unless_it_is_constant():
    saliency = np.array([[-2.0, 0.0], [1.0, 6.0]])
    stretched = rescale(saliency)
    assert stretched.dtype == np.float32
    np.testing.assert_array_equal(stretched, [[0, 0.25], [0.375, 1]])
    np.testing.assert_array_equal(rescale(np.full((2, 3), 7.0)), np.zeros((2, 3)))


@pytest.mark.parametrize("size", [1, 3, 5])
def test_a_box_filter_is_the_mean_of_the_mirrored_neighbourhood(size):
    values = np.random.default_rng(2).random((6, 9)).astype(np.float32)
    padded = np.pad(values.astype(float), size // 2, mode="reflect")
    means = np.empty(values.shape)
    for row, col in np.ndindex(values.shape):
        means[row, col] = padded[row : row + size, col : col + size].mean()
    np.testing.assert_allclose(box_filter(values, size), means, atol=1e-6)


def test_grey_levels_are_truncated_not_rounded():
    values = np.array([[0, 0.5 / 255, 0.999, 1]], np.float32)
    grey = grey_levels_of_fractions(values)
    assert grey.dtype == np.uint8
    assert grey.tolist() == [[0, 0, 254, 255]]


@pytest.mark.parametrize("grid", [(1, 1), (2, 3), (7, 7), (14, 9), (40, 60)])
def test_every_image_that_square_cells_cut_into_a_grid_may_be_covered_by_it(grid):
    for cell in (1, 4.5, 16, 33.3):
        # the last row and column of cells may be cut off, or one cell may be left over
        for part in (-0.9, -0.5, 0, 0.5, 0.9):
            shape = tuple((cells + part) * cell for cells in grid)
            assert may_cover_whole_image(grid, shape)


@pytest.mark.parametrize(
    ("grid", "shape"),
    [((4, 6), (300, 200)), ((10, 10), (100, 200)), ((1, 9), (90, 90)), ((20, 10), (90, 90))],
)
def test_a_grid_of_another_form_covers_no_whole_image(grid, shape):
    assert not may_cover_whole_image(grid, shape)
