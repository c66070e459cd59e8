"""The energy-based pointing game against its definition, pixel by pixel, and by hand."""

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ValueRangeError
from salstats.images.masks import encode
from salstats.metrics.energy_inside import energy
from salstats.metrics.registry import METRICS

#: Sums of at most some thousand float64 numbers from 0 to 1 in two orders, and their ratio.
ROUNDING = 1e-12


def interpolated(saliency, shape):
    """A map at an image's size in float64, from the definition: a pixel's centre among the samples'."""
    found = saliency
    for axis, n_pixels in enumerate(shape):
        n_samples = saliency.shape[axis]
        place = np.clip((np.arange(n_pixels) + 0.5) * n_samples / n_pixels - 0.5, 0, n_samples - 1)
        low = np.floor(place).astype(int)
        part = np.expand_dims(place - low, 1 - axis)
        high = np.minimum(low + 1, n_samples - 1)
        found = (1 - part) * found.take(low, axis) + part * found.take(high, axis)
    return found


def drawn(rng, shape):
    """A random mask: specks, a rectangle, or whole columns, so that runs reach over column ends."""
    mask = rng.random(shape) < rng.random()
    kind = rng.integers(3)
    if kind:
        mask[:] = False
        low, high = np.sort(rng.integers(0, shape[1] + 1, 2))
        rows = slice(*np.sort(rng.integers(0, shape[0] + 1, 2))) if kind == 1 else slice(None)
        mask[rows, low:high] = True
    return mask


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_sum_over_the_truth_by_the_sum_over_the_image(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        saliency, shape = rng.normal(size=rng.integers(1, 14, 2)), tuple(rng.integers(1, 20, 2).tolist())
        truth = drawn(rng, shape)
        values = interpolated(np.maximum(saliency, 0), shape)
        expected = values[truth].sum() / values.sum() if truth.any() and values.any() else np.nan
        assert energy(saliency, truth) == pytest.approx(expected, abs=ROUNDING, nan_ok=True)
        np.testing.assert_equal(energy(saliency, encode(truth)), energy(saliency, truth))


def test_by_hand():
    # from two samples to four pixels: 4, 3, 1, 0
    assert energy(np.array([[4.0, 0.0]]), np.array([[1, 1, 0, 0]])) == 7 / 8
    assert energy(np.array([[4.0], [0.0]]), np.array([[0], [1], [0], [1]])) == 3 / 8


@pytest.mark.parametrize("shape", [(7, 7), (40, 30), (90, 80)])
def test_a_constant_positive_map_scores_the_truths_share_of_the_image(shape):
    truth = np.zeros((40, 30), bool)
    truth[3:21, 7:19] = True
    assert energy(np.full(shape, 0.3), truth) == pytest.approx(truth.mean(), abs=ROUNDING)


def test_it_moves_with_the_maps_zero_but_not_with_its_scale():
    saliency, truth = np.array([[1.0, 3.0]]), np.array([[0, 1]])
    assert energy(saliency, truth) == energy(2.0**40 * saliency, truth) == 0.75
    assert energy(saliency + 1, truth) == pytest.approx(4 / 6, abs=ROUNDING)


def test_all_of_it_inside_is_1_and_none_of_it_is_0():
    saliency = np.zeros((9, 9))
    saliency[2, 2] = 1
    # reaches half a sample further than the sample itself on each side
    inside = np.zeros((90, 90), bool)
    inside[10:40, 10:40] = True
    assert energy(saliency, inside) == 1
    assert energy(saliency, ~inside) == 0
    assert energy(saliency, np.ones((90, 90), bool)) == 1
    metric = METRICS["energy"]
    assert (metric.low, metric.high, metric.direction, metric.true_zero) == (0, 1, 1, True)


@pytest.mark.parametrize("saliency", [np.zeros((3, 3)), np.full((3, 3), -1.0)])
def test_a_map_without_a_positive_value_has_none(saliency):
    assert np.isnan(energy(saliency, np.ones((6, 6), bool)))


def test_a_map_that_is_positive_beside_every_pixel_only_has_none():
    # three samples a pixel: the outer two are skipped, as bilinear resizing skips them
    assert np.isnan(energy(np.array([[1.0, 0.0, 1.0]]), np.ones((1, 1), bool)))


def test_an_empty_truth_has_none():
    assert np.isnan(energy(np.ones((3, 3)), np.zeros((6, 6), bool)))


def test_a_map_with_nan_is_refused():
    with raises(ValueRangeError, option="saliency", value=None):
        energy([[np.nan, 1]], np.ones((4, 4), bool))
