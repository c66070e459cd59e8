import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.images.preparation import Preparation

# images of 8 bits become numbers in single precision the same way, but for the order of two divisions
SINGLE = 1e-6


def test_stretching_by_halves_takes_the_mean_of_pieces():
    image = np.arange(16, dtype=np.float32).reshape(4, 4)
    ready, geometry = Preparation((2, 2), channels=1, interpolation="bilinear").apply(image)
    # a triangle two source pixels to each side: weights 1, 3, 3, 1 (cut at the border: 3, 3, 1)
    weights = np.array([[3, 3, 1, 0], [0, 1, 3, 3]]) / 7
    np.testing.assert_allclose(ready[0], weights @ image @ weights.T, rtol=SINGLE)
    assert geometry.shows_exactly_whole_image


def test_without_antialias_it_takes_the_neighbours_of_each_point():
    image = np.arange(64, dtype=np.float32).reshape(8, 8)
    ready, _ = Preparation((2, 2), channels=1, antialias=False).apply(image)
    # centres of the new pixels lie between rows 1 and 2, and 5 and 6
    expected = [
        [image[1:3, 1:3].mean(), image[1:3, 5:7].mean()],
        [image[5:7, 1:3].mean(), image[5:7, 5:7].mean()],
    ]
    np.testing.assert_allclose(ready[0], expected, rtol=SINGLE)


def test_padding_and_crop_are_in_the_middle():
    image = np.full((4, 2), 200, np.uint8)
    ready, geometry = Preparation((4, 4), fit="inside", pad_value=0.5, channels=1, rescale="none").apply(
        image
    )
    np.testing.assert_array_equal(ready[0], np.tile([0.5, 200, 200, 0.5], (4, 1)))
    assert geometry.offset == (0, 1)
    columns = np.tile(np.arange(8, dtype=np.uint8), (4, 1))
    ready, geometry = Preparation((4, 4), fit="cover", channels=1, rescale="none").apply(columns)
    np.testing.assert_array_equal(ready[0], np.tile([2, 3, 4, 5], (4, 1)))
    assert geometry.offset == (0, -2)


def test_a_crop_larger_than_the_resized_image_is_padded():
    ready, geometry = Preparation((6, 6), fit="shorter", shorter=4, channels=1).apply(np.ones((4, 4)))
    np.testing.assert_array_equal(ready[0], np.pad(np.ones((4, 4)), 1))
    assert geometry.offset == (1, 1)


def test_values_are_rescaled_then_standardised_and_padding_is_standardised_too():
    image = np.zeros((2, 1, 3), np.uint8)
    image[..., 0] = 255
    prepare = Preparation((2, 2), fit="inside", mean=(0.5, 0.5, 0.0), std=(0.5, 0.25, 1))
    ready, _ = prepare.apply(image)
    # one column of the image, one of padding
    np.testing.assert_allclose(ready[:, 0, 0], [1, -2, 0], atol=SINGLE)
    np.testing.assert_allclose(ready[:, 0, 1], [-1, -2, 0], atol=SINGLE)


@pytest.mark.parametrize(
    ("image", "rescale", "expected"),
    [
        (np.array([[0, 255]], np.uint8), "type", [0, 1]),
        (np.array([[0, 65535]], np.uint16), "type", [0, 1]),
        (np.array([[False, True]]), "type", [0, 1]),
        (np.array([[0.0, 7.0]]), "type", [0, 7]),
        (np.array([[10, 30]], np.uint8), "image", [0, 1]),
        (np.array([[-10.0, 30.0]]), "image", [0, 1]),
        (np.array([[5, 5]], np.int64), "image", [0, 0]),
        (np.array([[0, 300]], np.int64), "none", [0, 300]),
        (np.array([[False, True]]), "none", [0, 1]),
    ],
)
def test_each_rescale_does_what_it_says(image, rescale, expected):
    ready, _ = Preparation((1, 2), channels=1, rescale=rescale).apply(image)
    np.testing.assert_allclose(ready[0, 0], expected, atol=SINGLE)


def test_grey_is_repeated_and_colour_becomes_its_brightness():
    grey = np.array([[10, 20]], np.uint8)
    ready, _ = Preparation((1, 2)).apply(grey)
    assert ready.shape == (3, 1, 2)
    assert (ready == ready[:1]).all()
    green = np.zeros((1, 2, 3), np.uint8)
    green[..., 1] = 255
    np.testing.assert_allclose(Preparation((1, 2), channels=1).apply(green)[0], 0.587, atol=SINGLE)


@pytest.mark.parametrize(
    ("options", "option", "value"),
    [
        (dict(fit="squash"), "fit", "squash"),
        (dict(size=(0, 3)), "size", (0, 3)),
        (dict(fit="shorter"), "shorter", None),
        (dict(shorter=256), "shorter", 256),
        (dict(channels=2), "channels", 2),
        (dict(std=0.0), "std", 0.0),
        (dict(mean=(1.0, 2.0)), "mean", (1.0, 2.0)),
    ],
)
def test_bad_options_are_named(options, option, value):
    with raises(ValueRangeError, option=option, value=value):
        Preparation(**options)


@pytest.mark.parametrize(
    ("image", "error", "fields"),
    [
        (np.zeros((4, 4, 4), np.uint8), ShapeError, {"option": "image", "value": (4, 4, 4)}),
        (np.array([[np.inf, 0.0]]), ValueRangeError, {"option": "image", "value": None}),
        (np.zeros((4, 4), np.int64), ValueRangeError, {"option": "rescale", "value": "type", "choices": ()}),
    ],
)
def test_what_is_no_image_is_refused(image, error, fields):
    with raises(error, **fields):
        Preparation((2, 2)).apply(image)


def test_preparations_with_the_same_options_are_equal_and_say_the_same():
    one, other = (Preparation((5, 6), mean=m) for m in ([0.5, 0.5, 0.5], (0.5, 0.5, 0.5)))
    assert one == other
    assert repr(one) == repr(other)
    assert hash(one) == hash(other)


@pytest.mark.torch
@pytest.mark.parametrize("shape", [(301, 203), (97, 400), (333, 333), (256, 1000), (600, 257)], ids=str)
def test_it_gives_what_torchvision_gives(shape):
    pytest.importorskip("torch", reason="needs the explain extra")
    transforms = pytest.importorskip("torchvision", reason="needs the explain extra").transforms
    from PIL import Image

    image = np.random.default_rng(5).integers(0, 256, (*shape, 3), dtype=np.uint8)
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    theirs = transforms.Compose(
        [
            transforms.Resize(256),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize(mean, std),
        ]
    )(Image.fromarray(image)).numpy()
    ours, _ = Preparation(fit="shorter", shorter=256, mean=mean, std=std).apply(image)
    np.testing.assert_allclose(ours, theirs, atol=SINGLE)
    theirs = transforms.Compose([transforms.Resize(64), transforms.CenterCrop(64), transforms.ToTensor()])(
        Image.fromarray(image)
    ).numpy()
    np.testing.assert_allclose(Preparation((64, 64), fit="cover").apply(image)[0], theirs, atol=SINGLE)


@pytest.mark.parametrize("options", [{"fit": "cover"}, {"fit": "shorter", "shorter": 256}])
def test_a_thin_image_takes_no_endless_memory(options):
    with raises(ShapeError, option="fit", value=options["fit"]):
        Preparation(**options).apply(np.zeros((1, 1_000_000), np.uint8))


@pytest.mark.parametrize(
    ("shape", "fitted"),
    [
        ((10, 40), (4, 16)),
        ((40, 10), (16, 4)),
        # halves are rounded up
        ((32, 5), (16, 3)),
        ((5, 32), (3, 16)),
        # a side has at least one pixel
        ((1, 100), (1, 16)),
        ((100, 1), (16, 1)),
    ],
)
def test_an_image_fits_inside_with_its_proportions(shape, fitted):
    prepare = Preparation((16, 16), fit="inside", channels=1, rescale="none")
    ready, geometry = prepare.apply(np.ones(shape, np.uint8))
    filled = np.argwhere(ready[0] == 1)
    assert tuple(np.ptp(filled, axis=0) + 1) == fitted
    assert len(filled) == fitted[0] * fitted[1]
    assert geometry.scale == (fitted[0] / shape[0], fitted[1] / shape[1])
    assert geometry.image_shape_in_input == fitted
    assert not geometry.shows_exactly_whole_image


def test_colours_of_single_precision_are_resized_channel_by_channel():
    image = np.random.default_rng(0).random((9, 7, 3)).astype(np.float32)
    ready, _ = Preparation((5, 4), channels=3).apply(image)
    for channel in range(3):
        alone, _ = Preparation((5, 4), channels=1).apply(image[..., channel])
        np.testing.assert_array_equal(ready[channel], alone[0])
