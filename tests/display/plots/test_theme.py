"""Colours and marks that every reader can tell apart, and a font that is there."""

import numpy as np
import pytest

from salstats.display.plots import theme
from salstats.display.plots.theme import PALETTE, REFERENCE, category_colours, category_shapes, font


def linear(hex_colour):
    values = np.array([int(hex_colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lightness(hex_colour):
    """CIE L* of a colour: what is left of it in grey."""
    y = linear(hex_colour) @ [0.2126, 0.7152, 0.0722]
    return 116 * np.cbrt(y) - 16 if y > 0.008856 else 903.3 * y


#: Machado, Oliveira and Fernandes (2009), doi:10.1109/TVCG.2009.113: deuteranopia and protanopia.
BLINDNESS = {
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
}


def lab(rgb):
    xyz = np.array(
        [
            [0.4124, 0.3576, 0.1805],
            [0.2126, 0.7152, 0.0722],
            [0.0193, 0.1192, 0.9505],
        ]
    ) @ np.clip(rgb, 0, 1)
    f = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 0.008856))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_the_first_colours_differ_for_colour_blind_readers(kind):
    seen = [lab(np.array(BLINDNESS[kind]) @ linear(c)) for c in (*PALETTE[:4], REFERENCE)]
    distances = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
    # a difference of 2.3 is just noticeable side by side
    assert min(distances) > 20


def test_the_first_three_colours_and_the_reference_differ_in_grey():
    greys = sorted(lightness(c) for c in (*PALETTE[:3], REFERENCE))
    assert np.diff(greys).min() > 15


def test_colour_and_mark_together_tell_sixty_categories_apart():
    names = [f"m{i}" for i in range(60)]
    colours, shapes = category_colours(names, []), category_shapes(names, [])
    assert len({(colours[n], shapes[n]) for n in names}) == 60


def test_a_reference_is_black_and_takes_no_colour_from_the_others():
    colours = category_colours(["human", "a", "b"], ["human"])
    assert colours == {"human": REFERENCE, "a": PALETTE[0], "b": PALETTE[1]}


def test_font_is_one_that_is_installed():
    assert font() in {entry.name for entry in theme.font_manager.fontManager.ttflist}
