import json

import numpy as np
import pytest
from scipy import ndimage

from salstats.checks import ShapeError, ValueRangeError
from salstats.images.map_steps import rescale, resize
from salstats.images.otsu import above_otsu, grey_levels, jet_smoothed, otsu_level, refill


@pytest.mark.parametrize("part", ["some_study_maps", "sample_maps"])
def test_levels_are_the_scripts(part, request):
    for case, task, saliency, shape, row in request.getfixturevalue(part):
        level = otsu_level(grey_levels(rescale(resize(saliency, shape))))
        assert level == row["otsu_level"], (case, task)


def test_the_level_maximises_the_variance_between_the_classes():
    grey = np.random.default_rng(0).integers(0, 60, (20, 30)).astype(np.uint8)
    grey[5:15, 5:20] += 90
    between = []
    for level in range(255):
        above = grey > level
        share = above.mean()
        apart = grey[above].mean() - grey[~above].mean() if 0 < share < 1 else 0
        between.append(share * (1 - share) * apart**2)
    assert otsu_level(grey) == np.argmax(between)
    assert np.array_equal(above_otsu(grey), grey > np.argmax(between))


def test_nothing_lies_above_the_level_of_an_image_of_one_value():
    # of value 0, the rescaled constant map
    assert otsu_level(np.zeros((3, 4), np.uint8)) == 0
    assert not above_otsu(np.zeros((3, 4), np.uint8)).any()


def test_grey_levels_are_cut_off_not_rounded():
    values = np.array([[0, 0.9999 / 255, 1 / 255, 0.5, 0.9999, 1]], np.float32)
    np.testing.assert_array_equal(grey_levels(values), [[0, 0, 1, 127, 254, 255]])


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
        assert np.array_equal(refill(mask), refilled(mask))


@pytest.mark.parametrize("sigma", [1, 2, 6])
def test_refill_fills_what_lies_in_holes_of_what_lies_in_holes(sigma):
    smooth = ndimage.gaussian_filter(np.random.default_rng(2).random((400, 500)), sigma)
    mask = smooth > np.median(smooth)
    mask[0], mask[-1], mask[:, 0], mask[:, -1] = (False,) * 4
    mask[1, 1:-1], mask[-2, 1:-1], mask[1:-1, 1], mask[1:-1, -2] = (True,) * 4
    assert refill(mask)[1:-1, 1:-1].all()
    mask[1, 1] = mask[1, 2] = mask[2, 1] = False  # the frame is open at a corner
    assert not refill(mask).all()
    assert np.array_equal(refill(mask), refilled(mask))


@pytest.mark.parametrize("shape", [(40_000, 30), (30, 40_000)])
def test_refill_fills_holes_of_images_longer_than_32767_pixels(shape):
    frame = np.ones(shape, bool)
    frame[3:-3, 3:-3] = False
    assert refill(frame).all()


def test_refill_leaves_the_given_mask_as_it_is():
    mask = np.array([[1, 0, 1, 1, 1], [0, 0, 1, 0, 1], [0, 0, 1, 1, 1]], bool)
    before = mask.copy()
    assert refill(mask).sum() == 9
    assert refill(np.array([[1, 0, 1, 1]], bool)).tolist() == [[False, False, True, True]]
    assert np.array_equal(mask, before)


def test_the_jet_detour_has_the_scripts_greys(shared):
    held = json.loads((shared / "oracles/chexlocalize/jet_gray_lut.json").read_text())
    smoothed = jet_smoothed(np.arange(256, dtype=np.uint8).reshape(16, 16), 1)
    np.testing.assert_array_equal(smoothed.ravel(), 255 - np.array(held["gray_of_u8"]))


def test_a_grey_image_has_two_dimensions_and_bytes():
    with pytest.raises(ShapeError, match="shape"):
        otsu_level(np.zeros(3, np.uint8))
    with pytest.raises(ShapeError, match="at least one pixel"):
        above_otsu(np.zeros((0, 3), np.uint8))
    with pytest.raises(ValueRangeError, match="uint8, not float64"):
        otsu_level(np.zeros((2, 2)))
