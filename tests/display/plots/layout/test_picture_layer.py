"""A map over its image: worked by hand on small arrays."""

import numpy as np

from salstats.display.plots.layout.picture_layer import GROUND, colours_of, opacity, scale_colours, tinted


def test_saliency_of_zero_leaves_the_image_as_it_is():
    grey = np.array([[0.0, 0.5, 1.0]])
    plain = tinted(grey, None)
    np.testing.assert_array_equal(plain, np.repeat([[[0], [128], [255]]], 3, axis=2))
    np.testing.assert_array_equal(tinted(grey, np.zeros((1, 3))), plain)
    assert plain.dtype == np.uint8


def test_more_saliency_is_lighter_and_covers_no_less():
    steps = np.linspace(0, 1, 11)
    light = colours_of(steps) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light) > 0).all()
    assert (np.diff(opacity(steps)) >= 0).all()
    assert opacity(np.array(1.0)) < 1
    # over black and over white the largest saliency is still told from none
    for ground in (0.0, 1.0):
        low, high = tinted(np.full((1, 2), ground), np.array([[0.0, 1.0]]))[0].astype(int)
        assert np.abs(high - low).max() > 80


def test_the_scale_shows_the_colours_of_the_picture():
    colours = scale_colours(3)
    over_grey = tinted(np.full((1, 3), GROUND), np.array([[0.0, 0.5, 1.0]]))[0]
    assert colours == ["#{:02X}{:02X}{:02X}".format(*c) for c in over_grey]
    assert len(set(colours)) == 3
