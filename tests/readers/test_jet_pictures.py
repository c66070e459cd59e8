"""Pictures in the colours of jet: their levels, and greys that were made of them."""

import cv2
import numpy as np
import pytest
from matplotlib import colormaps
from PIL import Image
from tests_support import raises

from salstats.errors import InputFileError
from salstats.readers.jet_pictures import is_jet_picture_in_grey, jet_levels_from_0_to_255, read_map_picture

#: A smooth map, its levels from 0 to 255.
ROWS, COLS = np.mgrid[:60, :80]
SMOOTH = np.exp(-((ROWS - 25) ** 2 + (COLS - 50) ** 2) / 400)
LEVELS = np.uint8(np.round(255 * (SMOOTH - SMOOTH.min()) / (SMOOTH.max() - SMOOTH.min())))


def opencv(levels):
    """The picture that OpenCV draws, in red, green and blue."""
    return cv2.cvtColor(cv2.applyColorMap(levels, cv2.COLORMAP_JET), cv2.COLOR_BGR2RGB)


def matplotlib(levels):
    """The picture that Matplotlib draws."""
    return colormaps["jet"](levels, bytes=True)[..., :3]


DRAWN = pytest.mark.parametrize("draw", [opencv, matplotlib])


def saved(tmp_path, pixels):
    """A picture of these pixels."""
    file = tmp_path / "a.png"
    Image.fromarray(pixels).save(file)
    return file


def test_every_level_of_opencv_is_read_back():
    ramp = np.arange(256, dtype=np.uint8)[None]
    assert (jet_levels_from_0_to_255("a.png", opencv(ramp)) == ramp).all()


def test_levels_of_matplotlib_are_read_back_but_for_three_that_have_the_colour_of_another():
    ramp = np.arange(256, dtype=np.uint8)[None]
    found = jet_levels_from_0_to_255("a.png", matplotlib(ramp))
    assert (matplotlib(found.astype(np.uint8)) == matplotlib(ramp)).all()
    assert (found != ramp).sum() == 256 - len(np.unique(matplotlib(ramp)[0], axis=0))


@DRAWN
def test_an_enlarged_picture_has_the_levels_between(draw):
    large = cv2.resize(draw(LEVELS), (240, 180), interpolation=cv2.INTER_LINEAR)
    expected = cv2.resize(LEVELS, (240, 180), interpolation=cv2.INTER_LINEAR)
    assert np.abs(jet_levels_from_0_to_255("a.png", large) - expected).max() <= 8


@DRAWN
def test_a_map_over_its_image_is_refused(tmp_path, draw):
    image = np.random.default_rng(0).integers(0, 256, (*LEVELS.shape, 1))
    file = saved(tmp_path, np.uint8(0.5 * draw(LEVELS) + 0.5 * image))
    with raises(InputFileError, path=file):
        read_map_picture(file, "jet")


@DRAWN
def test_colours_need_the_name_of_their_colormap(tmp_path, draw):
    file = saved(tmp_path, draw(LEVELS))
    with raises(InputFileError, path=file, value="RGB") as caught:
        read_map_picture(file)
    assert [setting.option for setting in caught.value.hint.settings()] == ["colormap", "maps"]
    assert np.abs(read_map_picture(file, "jet") - LEVELS).max() <= 2


@DRAWN
@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("colormap", [None, "jet"])
def test_a_picture_that_was_made_grey_is_refused(tmp_path, draw, mode, colormap):
    file = tmp_path / "a.png"
    Image.fromarray(draw(LEVELS)).convert("L").convert(mode).save(file)
    with raises(InputFileError, path=file, value="jet"):
        read_map_picture(file, colormap)


@pytest.mark.parametrize("low", [0, 14, 15, 40])
@pytest.mark.parametrize("high", [120, 221, 226, 255])
def test_a_grey_map_is_a_map(tmp_path, low, high):
    grey = np.uint8(np.round(low + (high - low) * (LEVELS / 255)))
    assert not is_jet_picture_in_grey(grey)
    assert (read_map_picture(saved(tmp_path, grey), "jet") == grey).all()


def test_few_levels_and_other_types_tell_nothing():
    few = np.asarray(Image.fromarray(opencv(LEVELS // 16 * 16)).convert("L"))
    assert not is_jet_picture_in_grey(few)
    assert not is_jet_picture_in_grey(LEVELS.astype(np.uint16))
