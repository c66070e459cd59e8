"""Pictures of one image share one scale in shares per pixel."""

import numpy as np
import pytest

from salstats.checks import SalstatsError, ShapeError
from salstats.display.plots.theme import MM_PER_INCH
from salstats.studies.lanfredi2021.pictures import plot_pictures, share_per_pixel

# the same shares from numbers rounded once more
ROUNDING = 1e-12


def make_pictures(n=4, shape=(30, 40)):
    rng = np.random.default_rng(3)
    return {f"Picture {i}": share_per_pixel(rng.random(shape)) for i in range(n)}


def drawn(figure):
    """The pictures of a figure by title."""
    (layer,) = [layer for layer in figure.layers if "pictures" in layer.geom.params]
    return layer.geom.params["pictures"]


def size_mm(figure):
    return np.array(figure.theme.getp("figure_size")) * MM_PER_INCH


def test_shares_are_of_the_sum_above_the_least_value():
    # least value 2: 0, 1, 3 of 4
    assert share_per_pixel(np.array([[2, 3, 5]])).tolist() == [[0, 0.25, 0.75]]


def test_a_map_moved_or_stretched_has_the_same_shares():
    saliency = np.random.default_rng(1).random((5, 6))
    assert np.allclose(share_per_pixel(3 * saliency - 7), share_per_pixel(saliency), rtol=ROUNDING)


def test_a_constant_map_is_the_same_everywhere():
    assert (share_per_pixel(np.full((2, 5), 9.0)) == 0.1).all()


def test_one_colour_is_one_share_in_every_picture():
    flat = np.full((20, 20), 1 / 400)
    peaked = np.zeros((20, 20))
    peaked[:10] = 1 / 200
    pictures = drawn(plot_pictures({"flat": flat, "peaked": peaked}))
    # half of the largest share in one, all of it and nothing in the other
    assert len(np.unique(pictures["flat"].reshape(-1, 3), axis=0)) == 1
    assert pictures["peaked"][0, 0].sum() > pictures["flat"][0, 0].sum() > pictures["peaked"][-1, -1].sum()


@pytest.mark.parametrize(("width", "columns"), [(89, 2), (183, 4)])
def test_pictures_stand_in_rows_that_fit_the_width(width, columns):
    figure = plot_pictures(make_pictures(), width=width, note="Case a.")
    assert figure.facet._ncol == columns
    assert np.isclose(size_mm(figure)[0], width)
    assert list(figure.data["picture"]) == [f"Picture {i}" for i in range(4)]
    figure.draw()


def test_the_scale_names_its_unit():
    figure = plot_pictures(make_pictures())
    # 1200 pixels: shares of about 8e-4
    assert figure.guides.fill.title == "Share per pixel \u00d7 10\u207b\u00b3"


def test_a_long_title_is_broken_and_the_figure_higher():
    short, long = make_pictures(), make_pictures()
    long["Grad-CAM (without attention gates)"] = long.pop("Picture 3")
    assert size_mm(plot_pictures(long, width=89))[1] > size_mm(plot_pictures(short, width=89))[1] + 1


def test_pictures_of_several_sizes_are_no_pictures_of_one_image():
    with pytest.raises(ShapeError, match="one shape"):
        plot_pictures({**make_pictures(1), "other": np.ones((3, 3)) / 9})


def test_nothing_to_draw_is_an_error():
    with pytest.raises(SalstatsError, match="no map to draw"):
        plot_pictures({})
