"""A map over its image: worked by hand on small arrays."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
import pytest
from skimage.color import rgb2gray
from tests_support import raises

from salstats.display.plots.layout.picture_layer import (
    DEFAULT_STYLE,
    GROUND,
    MapStyle,
    colour_bar,
    geom_picture,
    map_style,
)
from salstats.errors import SalstatsError, ValueRangeError


def test_only_of_colour_maps_that_begin_dark_the_lighter_part_is_used():
    names = ["inferno", "viridis", "hsv", "spring", "coolwarm", "rainbow", "bwr", "Spectral", "Reds"]
    n_dark = 0
    for name in names:
        colour_map = plt.get_cmap(name)
        saliency = np.array([0.0, 0.25, 0.5, 1.0])
        used = saliency
        if rgb2gray(np.array(colour_map(0.0)[:3])) < 0.2:
            used = 0.30 + 0.65 * saliency
            n_dark += 1
        np.testing.assert_allclose(map_style(name, 0.6).rgb_of(saliency), colour_map(used)[:, :3])
    assert n_dark == 5


def test_saliency_of_zero_leaves_the_image_as_it_is():
    grey = np.array([[0.0, 0.5, 1.0]])
    plain = DEFAULT_STYLE.tinted_image(grey, None)
    np.testing.assert_array_equal(plain, np.repeat([[[0], [128], [255]]], 3, axis=2))
    np.testing.assert_array_equal(DEFAULT_STYLE.tinted_image(grey, np.zeros((1, 3))), plain)
    assert plain.dtype == np.uint8


def test_more_saliency_is_lighter_and_covers_no_less():
    steps = np.linspace(0, 1, 11)
    light = DEFAULT_STYLE.rgb_of(steps) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light) > 0).all()
    assert (np.diff(DEFAULT_STYLE.opacity(steps)) >= 0).all()
    assert DEFAULT_STYLE.opacity(np.array(1.0)) < 1
    # over black and over white the largest saliency is still told from none
    for ground in (0.0, 1.0):
        low, high = DEFAULT_STYLE.tinted_image(np.full((1, 2), ground), np.array([[0.0, 1.0]]))[0].astype(int)
        assert np.abs(high - low).max() > 80


def test_the_scale_shows_the_colours_of_the_picture():
    colours = DEFAULT_STYLE.scale_colours(3)
    over_grey = DEFAULT_STYLE.tinted_image(np.full((1, 3), GROUND), np.array([[0.0, 0.5, 1.0]]))[0]
    assert colours == ["#{:02X}{:02X}{:02X}".format(*c) for c in over_grey]
    assert len(set(colours)) == 3


def test_maps_with_limits_of_their_own_are_scaled_by_them_and_others_by_their_range():
    values = np.array([[1.0, 2.0, 5.0]])
    np.testing.assert_allclose(DEFAULT_STYLE.scaled_to_limits(values), [[0, 0.25, 1]])
    np.testing.assert_allclose(MapStyle(limits=(0, 4)).scaled_to_limits(values), [[0.25, 0.5, 1]])
    np.testing.assert_array_equal(DEFAULT_STYLE.scaled_to_limits(np.full((1, 2), 3.0)), [[0, 0]])


def test_a_map_without_opacity_leaves_the_image():
    grey = np.array([[0.0, 1.0]])
    np.testing.assert_array_equal(
        map_style("viridis", 0).tinted_image(grey, np.ones((1, 2))), DEFAULT_STYLE.tinted_image(grey, None)
    )


def test_another_colour_map_is_used_from_end_to_end_unless_it_begins_dark():
    np.testing.assert_allclose(
        map_style("Blues", 1).rgb_of(np.array([0.0]))[0], [0.969, 0.984, 1.0], atol=1e-3
    )
    viridis = map_style("viridis", 1).rgb_of(np.array([0.0]))[0]
    assert viridis @ [0.2126, 0.7152, 0.0722] > 0.25


@pytest.mark.parametrize(("cmap", "alpha", "option"), [("infernoo", 0.5, "cmap"), ("jet", 1.5, "alpha")])
def test_an_unknown_colour_map_or_opacity_is_an_error(cmap, alpha, option):
    with raises(ValueRangeError, option=option):
        map_style(cmap, alpha)


def test_pictures_are_drawn_at_their_places_and_none_is_left_out_in_silence():
    pictures = {"a": np.zeros((2, 3, 3), dtype=np.uint8), "b": np.full((2, 3, 3), 255, dtype=np.uint8)}
    frame = pd.DataFrame(
        {"left": [0.0, 5.0], "right": [4.0, 9.0], "bottom": [-3.0, -3.0], "top": 0.0, "name": ["a", "b"]}
    )
    place = p9.aes(xmin="left", xmax="right", ymin="bottom", ymax="top", label="name")
    figure = p9.ggplot(frame) + geom_picture(place, pictures=pictures)
    drawn = figure.draw(show=False)
    images = drawn.axes[0].images
    plt.close(drawn)
    assert [tuple(image.get_extent()) for image in images] == [(0, 4, -3, 0), (5, 9, -3, 0)]
    for image, name in zip(images, pictures, strict=True):
        np.testing.assert_array_equal(image.get_array(), pictures[name])
    narrow = p9.ggplot(frame) + geom_picture(place, pictures=pictures) + p9.xlim(0, 6)
    with raises(SalstatsError, value="b"):
        narrow.draw(show=False)
    plt.close("all")


def test_the_scale_of_maps_lies_below_the_pictures_with_its_title_at_the_left():
    bar = colour_bar("Saliency", 80)
    assert (bar.title, bar.position, bar.direction, bar.order) == ("Saliency", "bottom", "horizontal", 3)
    assert bar.theme.getp("legend_title_position") == "left"
    assert bar.theme.getp("legend_key_width") == 80
