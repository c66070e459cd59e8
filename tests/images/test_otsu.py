import json

import numpy as np
import pytest
from scipy import ndimage

from salstats.images.map_steps import grey_levels_of_fractions, rescale, resize
from salstats.images.otsu import (
    above_otsu,
    fill_holes_and_drop_single_pixels,
    inverted_grey_smoothed_through_jet,
)


@pytest.mark.parametrize("part", ["some_study_maps", "sample_maps"])
def test_levels_are_the_scripts(part, request):
    for case, task, saliency, shape, row in request.getfixturevalue(part):
        grey = grey_levels_of_fractions(rescale(resize(saliency, shape)))
        assert np.array_equal(above_otsu(grey), grey > row["otsu_level"]), (case, task)
    # of an image of one value, the rescaled constant map
    assert not above_otsu(np.zeros((3, 4), np.uint8)).any()


def test_grey_levels_are_cut_off_not_rounded():
    values = np.array([[0, 0.9999 / 255, 1 / 255, 0.5, 0.9999, 1]], np.float32)
    np.testing.assert_array_equal(grey_levels_of_fractions(values), [[0, 0, 1, 127, 254, 255]])


def refilled(mask):
    """Holes filled and single pixels dropped, by labelling."""
    filled = ndimage.binary_fill_holes(mask)
    labels, n = ndimage.label(filled, np.ones((3, 3)))
    sizes = np.bincount(labels.ravel(), minlength=n + 1)
    return filled & (sizes[labels] > 1)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.6, 0.7, 0.9])
def test_refill_is_filling_and_dropping_by_labels(share):
    rng = np.random.default_rng(1)
    for _ in range(200):
        mask = rng.random(rng.integers(1, 25, 2)) < share
        assert np.array_equal(fill_holes_and_drop_single_pixels(mask), refilled(mask))


@pytest.mark.parametrize("sigma", [1, 2, 6])
def test_refill_fills_what_lies_in_holes_of_what_lies_in_holes(sigma):
    smooth = ndimage.gaussian_filter(np.random.default_rng(2).random((400, 500)), sigma)
    mask = smooth > np.median(smooth)
    mask[0], mask[-1], mask[:, 0], mask[:, -1] = (False,) * 4
    mask[1, 1:-1], mask[-2, 1:-1], mask[1:-1, 1], mask[1:-1, -2] = (True,) * 4
    assert fill_holes_and_drop_single_pixels(mask)[1:-1, 1:-1].all()
    mask[1, 1] = mask[1, 2] = mask[2, 1] = False  # the frame is open at a corner
    assert not fill_holes_and_drop_single_pixels(mask).all()
    assert np.array_equal(fill_holes_and_drop_single_pixels(mask), refilled(mask))


@pytest.mark.parametrize("shape", [(40_000, 30), (30, 40_000)])
def test_refill_fills_holes_of_images_longer_than_32767_pixels(shape):
    frame = np.ones(shape, bool)
    frame[3:-3, 3:-3] = False
    assert fill_holes_and_drop_single_pixels(frame).all()


def test_the_jet_detour_has_the_scripts_greys(shared):
    held = json.loads((shared / "oracles/chexlocalize/jet_gray_lut.json").read_text())
    smoothed = inverted_grey_smoothed_through_jet(np.arange(256, dtype=np.uint8).reshape(16, 16), 1)
    np.testing.assert_array_equal(smoothed.ravel(), 255 - np.array(held["gray_of_u8"]))
