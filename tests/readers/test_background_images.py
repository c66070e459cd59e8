"""The image of a case: found by its name, read as grey at the size it is printed."""

import numpy as np
from PIL import Image
from tests_support import raises

from salstats.errors import InputFileError
from salstats.readers.background_images import read_grey_for_print


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


def test_the_sample_s_radiographs_are_read_at_the_size_they_are_printed(shared):
    folder = shared / "data" / "chexlocalize_sample"
    case = "patient64541_study1_view1_frontal"
    small = read_grey_for_print(folder, case, (2320, 2828), (232, 283))
    whole = np.asarray(Image.open(folder / "valid/patient64541/study1/view1_frontal.jpg").convert("L"))
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
