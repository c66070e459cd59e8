import tracemalloc

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ValueRangeError
from salstats.images.geometry import Geometry
from salstats.images.map_steps import resize
from salstats.images.preparation import Preparation

# single precision: about 1e-7 of the values' range, times the few sums of an interpolation
SINGLE = 2e-6
SHAPES = [(301, 203), (97, 400), (224, 224), (64, 65), (33, 31), (1, 5), (511, 256)]
FITS = [
    dict(fit="stretch"),
    dict(fit="inside"),
    dict(fit="cover"),
    dict(fit="shorter", shorter=72),
    dict(fit="shorter", shorter=40),
]


@pytest.mark.parametrize("fit", FITS, ids=lambda f: "-".join(map(str, f.values())))
@pytest.mark.parametrize("shape", [s for s in SHAPES if min(s) > 5], ids=str)
@pytest.mark.parametrize("size", [(64, 64), (61, 80)], ids=str)
def test_a_spot_drawn_on_the_image_is_where_the_geometry_says(fit, shape, size):
    # a bright spot, prepared; its centre of mass in what the network gets, back on the image
    prepare = Preparation(size, channels=1, rescale="none", **fit)
    centre = (shape[0] // 2, shape[1] // 2)
    geometry = prepare.apply(np.zeros(shape))[1]
    # in the input the spot must be many pixels wide, or its centre cannot be told
    spread = np.array([4, 4]) / geometry.scale
    rows, cols = np.ogrid[: shape[0], : shape[1]]
    image = np.exp(-(((rows - centre[0]) / spread[0]) ** 2) / 2 - (((cols - centre[1]) / spread[1]) ** 2) / 2)
    ready = prepare.apply(image)[0][0].astype(float)
    weights = ready / ready.sum()
    found = [(weights.sum(axis=1) @ np.arange(size[0]), weights.sum(axis=0) @ np.arange(size[1]))]
    error = geometry.points_to_image(found)[0] - centre
    assert np.abs(error).max() < 0.5


@pytest.mark.parametrize("fit", FITS, ids=lambda f: "-".join(map(str, f.values())))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_points_go_to_the_network_and_back(fit, shape):
    geometry = Preparation((61, 80), **fit).apply(np.zeros(shape))[1]
    points = np.random.default_rng(0).uniform(0, shape, (20, 2))
    # rounding of a product and a sum of numbers up to 1,000
    np.testing.assert_allclose(geometry.points_to_image(geometry.to_network(points)), points, atol=1e-10)


@pytest.mark.parametrize("grid", [(7, 7), (3, 5), (224, 224), (1, 1), (400, 600)], ids=str)
@pytest.mark.parametrize("shape", [(301, 203), (50, 90), (7, 7), (1, 1)], ids=str)
def test_where_the_input_is_the_whole_image_it_is_the_resizing_of_score(grid, shape):
    saliency = np.random.default_rng(1).normal(size=grid)
    geometry = Geometry.stretched(shape, (224, 224))
    assert geometry.shows_exactly_whole_image
    np.testing.assert_allclose(geometry.to_image(saliency), resize(saliency, shape), atol=SINGLE)


def test_padding_is_left_behind_and_the_rest_of_the_map_stays_where_it_was():
    geometry = Preparation((8, 8), fit="inside").apply(np.zeros((16, 8)))[1]
    saliency = np.zeros((8, 8))
    # columns 2 to 5 of the input hold the image
    saliency[:, 2:6] = np.arange(1, 5)
    saliency[:, [0, 1, 6, 7]] = 99
    on_image = geometry.to_image(saliency, shape=geometry.image_shape_in_input)
    np.testing.assert_array_equal(on_image, np.tile(np.arange(1, 5), (8, 1)))


def test_what_was_cropped_away_is_never_salient():
    geometry = Preparation((8, 8), fit="cover").apply(np.zeros((8, 20)))[1]
    saliency = np.random.default_rng(2).uniform(5, 6, (8, 8))
    on_image = geometry.to_image(saliency)
    np.testing.assert_allclose(on_image[:, 6:14], saliency, atol=SINGLE)
    np.testing.assert_array_equal(on_image[:, :6], on_image[:, 6:14].min())
    np.testing.assert_array_equal(on_image[:, 14:], on_image[:, 6:14].min())
    assert np.isnan(geometry.to_image(saliency, outside=np.nan)[:, :6]).all()
    assert not np.isnan(geometry.to_image(saliency, outside=np.nan)[:, 6:14]).any()
    assert (geometry.to_image(saliency, outside=-1)[:, 14:] == -1).all()


def test_the_lowest_value_seen_is_taken_at_pixels_only():
    # columns 2 to 5 are seen; the last sample, 1, lies between the centres of columns 5 and 6
    geometry = Geometry((1, 8), (1, 4), (1, 1), (0, -2))
    on_image = geometry.to_image([[9, 9, 9, 9, 9, 9, 9, 1]])
    np.testing.assert_array_equal(on_image, [[5, 5, 9, 9, 9, 5, 5, 5]])


def test_a_map_of_the_image_is_enlarged_between_paddings_of_the_input():
    # the image, twice as large, covers rows 1 to 4 and columns 2 to 5; samples lie 1/4 and 3/4 apart
    geometry = Geometry((2, 2), (6, 8), (2, 2), (1, 2))
    in_input = geometry.to_network_input([[1, 5], [9, 13]])
    cols = np.array([1, 2, 4, 5])
    rows = np.array([0, 2, 6, 8])
    want = np.ones((6, 8))
    want[1:5, 2:6] = rows[:, None] + cols
    np.testing.assert_array_equal(in_input, want)


def test_a_map_kept_at_the_network_s_resolution_is_close_to_one_laid_on_the_image_at_once():
    # the smallest frame that loses next to nothing: two samplings against one
    for fit in ("inside", "cover"):
        geometry = Preparation((224, 224), fit=fit).apply(np.zeros((1000, 800)))[1]
        saliency = np.random.default_rng(3).uniform(size=(7, 7))
        in_threads = geometry.to_image(saliency)
        kept = geometry.to_image(saliency, shape=geometry.image_shape_in_input)
        assert max(kept.shape) <= 280
        seen = ~np.isnan(geometry.to_image(saliency, outside=np.nan))
        # away from the cut edge, where the fill begins
        inner = np.zeros_like(seen)
        rows, cols = (np.flatnonzero(seen.any(axis=a)) for a in (1, 0))
        inner[rows[0] + 4 : rows[-1] - 3, cols[0] + 4 : cols[-1] - 3] = True
        # at a kink, where slopes of 1/32 a pixel meet, a quarter of their difference is lost along each axis
        assert np.abs(resize(kept, (1000, 800)) - in_threads)[inner].max() < 1 / 32


def test_a_frame_never_has_more_pixels_than_the_image():
    assert Preparation((224, 224)).apply(np.zeros((50, 40)))[1].image_shape_in_input == (50, 40)


def test_what_cannot_be_is_named():
    geometry = Geometry((100, 100), (10, 10), (1, 1), (-45, -45))
    with raises(ValueRangeError, option="saliency", value=None):
        geometry.to_image(np.full((2, 2), np.nan))
    with raises(ValueRangeError, option="shape", value=(2, 2)):
        geometry.to_image(np.eye(3), shape=(2, 2))
    with raises(ValueRangeError, option="offset", value=(-100, 0)):
        Geometry((100, 100), (10, 10), (1, 1), (-100, 0))
    with raises(ValueRangeError, option="offset", value=(0, 10)):
        Geometry((100, 100), (10, 10), (1, 1), (0, 10))
    with raises(ValueRangeError, option="scale", value=(0, 1)):
        Geometry((100, 100), (10, 10), (0, 1))


def test_a_large_image_needs_no_second_array_of_its_size():
    geometry = Geometry((2500, 2000), (224, 224), (0.0896, 0.0896), (0, 22))
    saliency = np.random.default_rng(6).uniform(size=(224, 224))
    tracemalloc.start()
    try:
        on_image = geometry.to_image(saliency)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # beside the result, a piece of it and the map stretched along one axis
    assert peak < 1.25 * on_image.nbytes
