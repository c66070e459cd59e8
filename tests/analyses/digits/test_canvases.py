"""Canvases come from seeds alone, their truth is where the digits are, and no digit is in two parts."""

import numpy as np
import pytest
from scipy import ndimage

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from digits.canvases import DESIGNS, SIDE, DigitImages, load_parts, make_canvases  # noqa: E402
from digits.sets import (  # noqa: E402
    draw_again,
    make_test_set,
    make_training_canvases,
)

NAMES = [d.name for d in DESIGNS]


@pytest.fixture(scope="module")
def parts():
    return load_parts()


def pixels(canvases):
    return np.stack([c.image for c in canvases])


def test_no_handwritten_digit_is_in_two_parts(parts):
    places = np.concatenate([p.places for p in parts.values()])
    assert len(places) == len(set(places.tolist())) == 1797
    seen = {name: {image.tobytes() for image in part.images} for name, part in parts.items()}
    assert not seen["train"] & seen["test"]
    assert not seen["train"] & seen["tune"]
    assert not seen["tune"] & seen["test"]


@pytest.mark.parametrize("design", NAMES)
def test_a_seed_gives_the_same_canvases_and_another_seed_others(parts, design):
    first, again, other = (
        make_canvases(parts["test"], design, 5, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert np.array_equal(pixels(first), pixels(again))
    assert all(a.truth.keys() == b.truth.keys() for a, b in zip(first, again, strict=True))
    assert not np.array_equal(pixels(first), pixels(other))


def test_more_canvases_begin_with_the_same_ones():
    assert np.array_equal(
        pixels(make_test_set("quiet", 3).canvases), pixels(make_test_set("quiet", 6).canvases[:3])
    )


def test_canvases_hold_only_the_digits_that_were_given(parts):
    # a part whose every image is one white block: a canvas without clutter is brighter in every truth
    blocks = DigitImages(np.full((10, 8, 8), 16.0), np.arange(10), np.arange(10))
    for canvas in make_canvases(blocks, "quiet", 8, rng=np.random.default_rng(0)):
        for mask in canvas.truth.values():
            inside = ndimage.binary_erosion(mask, iterations=2)
            # ink of at least half of white over a ground of a tenth
            assert canvas.image[inside].mean() > 0.4 * 255


def test_training_and_test_canvases_share_none():
    train = {c.image.tobytes() for c in make_training_canvases(20)}
    test = {c.image.tobytes() for name in NAMES for c in make_test_set(name, 20).canvases}
    assert not train & test
    assert len(train) == len(test) == 60


@pytest.mark.parametrize("design", NAMES)
def test_every_digit_is_in_one_piece_and_apart_from_the_others(design):
    eight = np.ones((3, 3))
    for canvas in make_test_set(design, 40).canvases:
        masks = list(canvas.truth.values())
        assert masks
        together = np.any(masks, axis=0)
        pieces = [ndimage.label(mask, structure=eight)[1] for mask in masks]
        assert set(pieces) <= {1, 2}
        assert ndimage.label(together, structure=eight)[1] == sum(pieces)
        assert canvas.image.shape == (SIDE, SIDE)
        assert canvas.image.dtype == np.uint8


def drawn_masks(seed):
    rng = np.random.default_rng(seed)
    return [draw_again(m, rng) for c in make_test_set("quiet", 40).canvases for m in c.truth.values()]


def test_the_simulated_annotator_draws_near_the_truth_but_not_on_it():
    truths = [m for c in make_test_set("quiet", 40).canvases for m in c.truth.values()]
    overlaps = []
    for truth, drawn in zip(truths, drawn_masks(0), strict=True):
        far = ndimage.distance_transform_edt(~truth)
        # four standard deviations of the shift along both axes, and one pixel wider
        assert not drawn.mask.any() or far[drawn.mask].max() <= np.hypot(5, 5) + 1
        if drawn.mask.any():
            overlaps.append(np.count_nonzero(drawn.mask & truth) / np.count_nonzero(drawn.mask | truth))
    assert 0.6 < np.mean(overlaps) < 0.85
    assert np.std(overlaps) > 0.05
