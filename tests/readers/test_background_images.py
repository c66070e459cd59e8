"""The image of a case: found by its name, read as grey at the size it is printed."""

import numpy as np
import pytest
from PIL import Image
from tests_support import raises

from salstats.errors import InputFileError, SalstatsError, ShapeError, ValueRangeError
from salstats.readers.background_images import check_images, read_grey_for_print


def test_images_are_found_by_the_names_of_cases(tmp_path):
    grey = Image.fromarray(np.full((30, 40), 51, dtype=np.uint8))
    grey.save(tmp_path / "case7.png")
    nested = tmp_path / "valid" / "patient1" / "study2"
    nested.mkdir(parents=True)
    grey.save(nested / "view1_frontal.png")
    for case in ("case7", "patient1_study2_view1_frontal"):
        # an image may have been stored smaller than the masks
        found = read_grey_for_print(tmp_path, case, (60, 80), (15, 20))
        np.testing.assert_allclose(found, np.full((15, 20), 0.2), atol=1e-6)
    assert read_grey_for_print({"a": tmp_path / "case7.png"}, "a", (60, 80), (15, 20)).shape == (15, 20)
    assert read_grey_for_print({}, "a", (60, 80), (15, 20)) is None
    assert read_grey_for_print(None, "a", (60, 80), (15, 20)) is None


def test_sixteen_bits_and_colours_are_read(tmp_path):
    steps = np.linspace(1000, 3000, 40).astype(np.uint16)
    Image.fromarray(np.tile(steps, (30, 1))).save(tmp_path / "deep.png")
    found = read_grey_for_print(tmp_path, "deep", (30, 40), (30, 40))
    np.testing.assert_allclose(found[0], (steps - 1000) / 2000, atol=1e-6)
    colour = np.zeros((30, 40, 3), dtype=np.uint8)
    colour[:, :, 1] = 255
    Image.fromarray(colour).save(tmp_path / "green.png")
    # Pillow's grey of pure green is 150 of 255
    np.testing.assert_allclose(
        read_grey_for_print(tmp_path, "green", (30, 40), (30, 40)), 150 / 255, atol=1e-6
    )


def test_radiographs_of_a_release_are_read_at_the_size_they_are_printed(tmp_path):
    file = tmp_path / "valid" / "patient64541" / "study1" / "view1_frontal.jpg"
    file.parent.mkdir(parents=True)
    grey = np.random.default_rng(6).uniform(0, 255, (29, 36)).astype(np.uint8)
    Image.fromarray(grey).resize((2828, 2320), Image.Resampling.BICUBIC).save(file)
    small = read_grey_for_print(tmp_path, "patient64541_study1_view1_frontal", (2320, 2828), (232, 283))
    whole = np.asarray(Image.open(file))
    assert whole.shape == (2320, 2828)
    # means of blocks of ten pixels; the file is decoded at an eighth of its size, which rounds
    blocks = whole[:, :2820].reshape(232, 10, 282, 10).mean(axis=(1, 3)) / 255
    assert np.corrcoef(small[:, :282].ravel(), blocks.ravel())[0, 1] > 0.99
    assert abs(small.mean() - whole.mean() / 255) < 0.005


def test_a_case_s_name_leads_to_no_file_outside_the_folder(tmp_path):
    inside = tmp_path / "images"
    inside.mkdir()
    Image.fromarray(np.zeros((60, 80), dtype=np.uint8)).save(tmp_path / "secret.png")
    for case in ("../secret", str(tmp_path / "secret")):
        with raises(InputFileError, path=inside, value=case):
            read_grey_for_print(inside, case, (60, 80), (60, 80))


def test_images_are_a_folder_or_a_mapping(tmp_path):
    for images in (None, {}, str(tmp_path), tmp_path):
        assert check_images(images) is images
    with raises(InputFileError, option="images", value=str(tmp_path / "none"), path=tmp_path / "none"):
        check_images(tmp_path / "none")
    with raises(SalstatsError, option="images", match="list"):
        check_images([tmp_path])


@pytest.mark.parametrize(
    "array",
    [np.zeros((3, 4, 2)), np.zeros(4), np.zeros((0, 4)), np.zeros((1, 3, 4, 3))],
)
def test_an_array_that_is_no_image_is_an_error(array):
    with raises(ShapeError, option="images", value="a"):
        read_grey_for_print({"a": array}, "a", (3, 4), (3, 4))


@pytest.mark.parametrize("value", [np.nan, 1j, "x"])
def test_an_image_holds_finite_numbers(value):
    with raises(ValueRangeError, option="images", value="a"):
        read_grey_for_print({"a": np.full((3, 4), value)}, "a", (3, 4), (3, 4))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float32])
def test_arrays_of_grey_and_colour_are_stretched_to_the_print(dtype):
    ramp = np.tile(np.arange(2), (2, 1)).astype(dtype)
    for array in (ramp, np.dstack([ramp] * 3), np.dstack([ramp] * 4)):
        found = read_grey_for_print({"a": array}, "a", (2, 2), (2, 2))
        np.testing.assert_allclose(found, ramp / (255 if dtype == np.uint8 else 1), atol=1e-6)


def test_an_image_has_the_form_of_its_masks_within_rounding():
    image = {"a": np.zeros((100, 200), np.uint8)}
    # 1 in 50, and a pixel of the shorter side
    for mask_shape in ((1000, 2000), (1000, 2050), (1000, 1950)):
        assert read_grey_for_print(image, "a", mask_shape, (10, 20)).shape == (10, 20)
    for mask_shape in ((1000, 2070), (1000, 1930), (2000, 1000)):
        with raises(ShapeError, option="images", value="a"):
            read_grey_for_print(image, "a", mask_shape, (10, 20))


def test_an_image_may_lie_below_a_folder_of_its_split_with_any_ending(tmp_path):
    grey = Image.fromarray(np.full((30, 40), 51, dtype=np.uint8))
    for case, name in (
        ("a", "test/a.PNG"),
        ("b", "b.JPEG"),
        ("patient1_study2_view1_frontal", "train/patient1/study2/view1_frontal.JPG"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        grey.save(tmp_path / name)
        found = read_grey_for_print(tmp_path, case, (30, 40), (30, 40))
        np.testing.assert_allclose(found, 0.2, atol=0.01)
    with raises(InputFileError, option="images", value="c", path=tmp_path) as caught:
        read_grey_for_print(tmp_path, "c", (30, 40), (30, 40))
    assert "and for" not in str(caught.value)
    with raises(InputFileError, match="patient2/study1/view1_frontal.jpg below"):
        read_grey_for_print(tmp_path, "patient2_study1_view1_frontal", (30, 40), (30, 40))
