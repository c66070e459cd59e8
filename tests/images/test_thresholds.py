import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage import filters
from tests_support import raises

from salstats.errors import ValueRangeError
from salstats.images.map_steps import grey_levels_of_fractions, rescale, resize
from salstats.images.maps import SaliencyOnImage
from salstats.images.otsu import fill_holes_and_drop_single_pixels
from salstats.images.thresholds import OTSU, RECORDS, THRESHOLDS

LIBRARY = {
    "li": filters.threshold_li,
    "yen": filters.threshold_yen,
    "isodata": filters.threshold_isodata,
    "triangle": filters.threshold_triangle,
    "mean": filters.threshold_mean,
}
#: Here maps are enlarged before they are stretched, in the package stretched before they are enlarged: in
#: single precision single pixels get another grey level, which moves the edge of a mask by as much.
PIXELS_THAT_DIFFER = 5

HAND_MADE = {
    "two values, bright spot": np.array([[0, 0, 0], [0, 255, 255]], np.uint8),
    "two values, dark spot": np.array([[255, 255, 255], [255, 0, 255]], np.uint8),
    "neighbouring levels": np.array([[254, 255, 254]], np.uint8),
    "three values": np.array([[0, 1, 255, 255]], np.uint8),
    "ramp": np.arange(256, dtype=np.uint8).reshape(16, 16),
    "skewed": np.array([[0] * 50 + [10] * 20 + [40] * 7 + [200] * 3 + [255]], np.uint8),
}


def test_the_family_of_the_option_is_known_and_otsu_comes_first():
    assert list(THRESHOLDS) == ["otsu", *LIBRARY]
    assert OTSU == "otsu"
    assert all(record.source and record.note and record.label for record in RECORDS)


@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize("image", HAND_MADE.values(), ids=HAND_MADE)
def test_hand_made_images_are_cut_at_the_library_s_level(name, image):
    before = image.copy()
    np.testing.assert_array_equal(THRESHOLDS[name].kernel(image), image > LIBRARY[name](image.copy()))
    np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        # 1335 / 81 = 16.5
        ("mean", [False, False, True, True, True]),
        # 0 to 40 have the mean 480 / 77 = 6.2, 200 and 255 have 855 / 4 = 213.75: 110 is midway, and below 40
        # no level is midway between the means of its classes
        ("isodata", [False, False, False, True, True]),
    ],
)
def test_levels_by_hand(name, marked):
    image = HAND_MADE["skewed"]
    values = np.array([0, 10, 40, 200, 255])
    assert set(image[THRESHOLDS[name].kernel(image)]) == set(values[marked])


@pytest.fixture(scope="module")
def drawn_maps():
    """Blurred maps of a coarse grid on images of some hundred pixels, the first of which is constant."""
    rng = np.random.default_rng(7)
    maps = [("c0", "Edema", np.zeros((20, 20), np.float32), (457, 435), None)]
    for number in range(1, 200):
        saliency = gaussian_filter(rng.gamma(0.3, size=(20, 20)), rng.uniform(0.5, 3)).astype(np.float32)
        shape = tuple(rng.integers(300, 600, 2))
        maps.append((f"c{number}", "Edema", saliency, shape, None))
    return maps


@pytest.mark.parametrize("part", ["drawn_maps", "sample_maps"])
@pytest.mark.parametrize("name", LIBRARY)
def test_masks_of_maps_are_the_library_s_after_the_release_s_clean_up(name, part, request):
    maps = list(request.getfixturevalue(part))
    n_seen = 0
    for case, task, saliency, shape, _ in maps[::4]:
        laid = SaliencyOnImage(saliency, shape)
        mask = laid.mask(name)
        if laid.is_constant:
            assert not mask.any()
            continue
        grey = grey_levels_of_fractions(rescale(resize(saliency, shape)))
        expected = fill_holes_and_drop_single_pixels(grey > LIBRARY[name](grey))
        assert np.count_nonzero(mask != expected) <= PIXELS_THAT_DIFFER, (case, task)
        n_seen += bool(mask.any())
    assert n_seen >= 5


@pytest.mark.parametrize("name", THRESHOLDS)
@pytest.mark.parametrize("value", [0, 7, 255])
def test_an_image_of_one_value_has_nothing_above_its_level(name, value):
    assert not THRESHOLDS[name].kernel(np.full((3, 4), value, np.uint8)).any()


@pytest.mark.parametrize("name", THRESHOLDS)
def test_a_constant_map_has_an_empty_mask_and_a_map_with_nan_is_refused(name):
    for value in (0.0, -3.5, 0.1):
        assert not SaliencyOnImage(np.full((4, 5), value), (9, 7), smooth=3).mask(name).any()
    with raises(ValueRangeError, option="saliency", value=None):
        SaliencyOnImage(np.full((4, 5), np.nan), (9, 7))


@pytest.mark.parametrize("name", THRESHOLDS)
def test_a_map_smoothed_to_one_grey_level_has_an_empty_mask(name):
    spot = np.zeros((40, 40))
    spot[20, 20] = 1.0  # means over 25 x 25 pixels are 1/625 at most: grey level 0 everywhere
    laid = SaliencyOnImage(spot, spot.shape, smooth=25)
    assert not laid.is_constant
    assert not laid.mask(name).any()


@pytest.mark.parametrize("name", THRESHOLDS)
def test_maps_of_two_values_mark_the_upper_one_with_holes_filled_and_single_pixels_dropped(name):
    ring = np.zeros((9, 12))
    ring[2:7, 2:7] = 1.0
    ring[4, 4] = 0.0
    ring[4, 9] = 1.0
    expected = np.zeros((9, 12), bool)
    expected[2:7, 2:7] = True
    np.testing.assert_array_equal(SaliencyOnImage(ring, ring.shape).mask(name), expected)


@pytest.mark.parametrize("name", THRESHOLDS)
def test_images_of_more_pixels_than_single_precision_counts_have_a_mask(name):
    image = np.zeros((4100, 4100), np.uint8)
    image[0, 0] = 255
    assert np.count_nonzero(THRESHOLDS[name].kernel(image)) <= 1
    image[1, 1] = 3
    assert np.count_nonzero(THRESHOLDS[name].kernel(image)) <= 2
    dark = 255 - image
    assert np.count_nonzero(THRESHOLDS[name].kernel(dark)) >= dark.size - 2
