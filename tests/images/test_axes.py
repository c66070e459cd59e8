"""Positions of pixels among the samples of a map."""

import numpy as np

from salstats.images.axes import InterpolationAxis


def test_pixels_lie_among_samples_by_half_pixel_centres():
    axis = InterpolationAxis.of(2, 4)
    # centres at -0.25, 0.25, 0.75, 1.25 of the samples, held at the ends
    np.testing.assert_array_equal(axis.low, [0, 0, 0, 1])
    np.testing.assert_array_equal(axis.high, [1, 1, 1, 1])
    np.testing.assert_array_equal(axis.fraction, [0, 0.25, 0.75, 0])
    np.testing.assert_array_equal(axis.first_pixel_after_each_sample, [0, 3, 4])


def test_totals_are_the_sums_of_weights_and_every_pixel_weighs_1():
    for n_samples, n_pixels in ((3, 10), (10, 3), (1, 4), (5, 5)):
        axis = InterpolationAxis.of(n_samples, n_pixels)
        weights = axis.weights.toarray()
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-15)
        np.testing.assert_allclose(weights.sum(axis=0), axis.sample_weight_sums, rtol=1e-14, atol=1e-15)


def test_a_range_of_pixels_is_the_same_part_of_the_axis():
    part = InterpolationAxis.of(4, 9, range(2, 6)).weights.toarray()
    np.testing.assert_array_equal(part, InterpolationAxis.of(4, 9).weights.toarray()[2:6])
