"""Ranks of pixels, and the steps they are shown in."""

import numpy as np
import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.pixel_steps import changed_pixel_counts, pixel_ranks_from_most_salient  # noqa: E402
from salstats.images.maps import SaliencyOnImage  # noqa: E402


def test_the_first_pixel_is_the_peak_of_the_map_laid_over_the_image():
    rng = np.random.default_rng(0)
    for shape in ((3, 3), (20, 31), (5, 9), (40, 2)):
        saliency = rng.normal(size=shape)
        ranks = pixel_ranks_from_most_salient(saliency, (20, 31))
        assert sorted(ranks.ravel()) == list(range(620))
        assert tuple(np.argwhere(ranks == 0)[0]) == SaliencyOnImage(saliency, (20, 31)).peak


@pytest.mark.parametrize("value", [0.0, 0.1, -7.0])
def test_a_constant_map_has_no_ranks(value):
    assert pixel_ranks_from_most_salient(np.full((3, 3), value), (3, 3)) is None
    assert pixel_ranks_from_most_salient(np.full((3, 3), value), (8, 5)) is None


@pytest.mark.parametrize("n_pixels", [1, 7, 100, 50176])
@pytest.mark.parametrize("steps", [1, 3, 100, 224])
def test_steps_are_even_and_end_with_the_whole_image(n_pixels, steps):
    sizes = changed_pixel_counts(n_pixels, steps, None)
    assert (sizes[0], sizes[-1], len(sizes)) == (0, n_pixels, min(steps, n_pixels) + 1)
    assert set(np.diff(sizes)) <= {n_pixels // (len(sizes) - 1), -(-n_pixels // (len(sizes) - 1))}


def test_a_chunk_is_a_number_of_pixels_as_in_rise():
    sizes = changed_pixel_counts(224 * 224, 100, 224)
    np.testing.assert_array_equal(sizes, np.arange(225) * 224)
    assert changed_pixel_counts(10, 100, 40).tolist() == [0, 10]
