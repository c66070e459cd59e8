"""Several densities of one image on one colour scale."""

import numpy as np
import pandas as pd
import pytest

from salstats.display.plots.layout.theme import MM_PER_INCH
from salstats.scoring.density_figures import plot_densities, shares_above_minimum


def layers(figure):
    return [layer._data for layer in figure.layers if isinstance(layer._data, pd.DataFrame)]


def make_pictures(n=4, shape=(30, 40)):
    rng = np.random.default_rng(3)
    return {f"Picture {i}": shares_above_minimum(rng.random(shape)) for i in range(n)}


def drawn(figure):
    """The pictures of a figure by title."""
    (layer,) = [layer for layer in figure.layers if "pictures" in layer.geom.params]
    return layer.geom.params["pictures"]


def size_mm(figure):
    return np.array(figure.theme.getp("figure_size")) * MM_PER_INCH


def test_shares_are_of_the_sum_above_the_least_value():
    # least value 2: 0, 1, 3 of 4
    assert shares_above_minimum(np.array([[2, 3, 5]])).tolist() == [[0, 0.25, 0.75]]
    assert shares_above_minimum(np.full((1, 4), 3.0)).tolist() == [[0.25] * 4]


def test_one_colour_is_one_share_in_every_picture():
    flat = np.full((20, 20), 1 / 400)
    peaked = np.zeros((20, 20))
    peaked[:10] = 1 / 200
    pictures = drawn(plot_densities({"flat": flat, "peaked": peaked}))
    # half of the largest share in one, all of it and nothing in the other
    assert len(np.unique(pictures["flat"].reshape(-1, 3), axis=0)) == 1
    assert pictures["peaked"][0, 0].sum() > pictures["flat"][0, 0].sum() > pictures["peaked"][-1, -1].sum()


@pytest.mark.parametrize(("width", "columns"), [(89, 2), (183, 4)])
def test_pictures_stand_in_rows_that_fit_the_width(width, columns):
    figure = plot_densities(make_pictures(), width=width, notes=["Case a."])
    assert figure.facet._ncol == columns
    assert np.isclose(size_mm(figure)[0], width)
    assert list(figure.data["picture"]) == [f"Picture {i}" for i in range(4)]
    figure.draw()


@pytest.mark.parametrize(
    ("titles", "shape", "width", "columns"),
    [
        (["A", "B", "C"], (30, 40), 183, 3),
        (["A", "B", "C", "D", "E"], (40, 30), 183, 5),
        (["A", "B", "C", "D", "E", "F"], (30, 40), 183, 3),
        (
            ["A method", "Another with a name of several words, which needs two lines or three"],
            (30, 40),
            89,
            2,
        ),
        # the longest word of a title is wider than a third of the figure
        (["Pneumonoultramicroscopicsilicovolcanoconiosis", "B", "C"], (30, 40), 183, 2),
        (["Pneumonoultramicroscopicsilicovolcanoconiosis", "B"], (30, 40), 50, 1),
    ],
)
def test_panels_fill_the_figure_and_keep_the_shape_of_the_image(titles, shape, width, columns):
    maps = dict.fromkeys(titles, np.full(shape, 1 / np.prod(shape)))
    drawn = plot_densities(maps, width=width, notes=["Case a."]).draw()
    drawn.draw_without_rendering()
    inches = drawn.get_size_inches()
    boxes = [axis.get_position() for axis in drawn.axes]
    left, right = (
        np.array([getattr(box, side) for box in boxes]) * inches[0] * MM_PER_INCH for side in ("x0", "x1")
    )
    low, high = (
        np.array([getattr(box, side) for box in boxes]) * inches[1] * MM_PER_INCH for side in ("y0", "y1")
    )
    assert len(np.unique(left.round(1))) == columns
    # all panels are of one size, with the proportions of the image
    np.testing.assert_allclose((high - low) / (right - left), shape[0] / shape[1], rtol=0.01)
    # and they would be narrower if the height of the figure left too little room for titles and caption
    assert left.min() == pytest.approx(width - right.max(), abs=0.1)
    assert left.min() < 2
    if columns > 1:
        gaps = left[1:columns] - right[: columns - 1]
        np.testing.assert_allclose(gaps, 2, atol=0.1)
    # no more room than for the lines of a title above, and for the scale and the caption below
    n_lines = 3 if any(" " in title for title in titles) else 1
    assert inches[1] * MM_PER_INCH - high.max() < 6 + 4 * n_lines
    assert low.min() < 16


def test_maps_lie_over_the_image_and_a_panel_without_one_shows_it():
    image = np.tile(np.linspace(0, 1, 40, dtype=np.float32), (30, 1))
    one = np.zeros((30, 40))
    one[:, :20] = 1 / 600
    points = {"Fixations": np.array([[2.0, 3.0], [20.0, 30.0]])}
    figure = plot_densities({"Fixations": None, "Map": one}, grey=image, points=points)
    bare, laid = (drawn(figure)[name].astype(int) for name in ("Fixations", "Map"))
    assert (bare == np.round(255 * image)[:, :, None]).all()
    # in colour where the map is, and the image as it is elsewhere
    assert (np.ptp(laid[:, :20], axis=2) > 60).all()
    assert (laid[:, 21:] == bare[:, 21:]).all()
    (at,) = [d for d in layers(figure) if list(d.columns) == ["x", "y", "picture", "line"]][:1]
    assert at[["x", "y"]].to_numpy().tolist() == [[3.5, 27.5], [30.5, 9.5]]
    figure.draw()


@pytest.mark.parametrize(
    ("largest", "power", "scale_end"), [(1.0, "", 1), (0.25, " × 10⁻¹", 2.5), (0.002, " × 10⁻³", 2)]
)
def test_shares_are_read_off_a_colour_bar_in_a_power_of_ten(largest, power, scale_end):
    shares = np.zeros((30, 40))
    shares[0, 0] = largest
    shares[1:] = (1 - largest) / 1160
    figure = plot_densities({"Map": shares})
    assert figure.guides.fill.title == f"Share per pixel{power}"
    (scale,) = [scale for scale in figure.scales if "fill" in scale.aesthetics]
    assert scale.limits == pytest.approx((0, scale_end))


def test_outlines_are_drawn_in_white_on_black_from_the_corner_of_the_image():
    pictures = make_pictures(2)
    outline = np.array([[0.0, 0.0], [10.0, 20.0], [30.0, 40.0]])
    figure = plot_densities(pictures, lines={"Picture 1": [outline, outline[:2]]})
    paths = [layer for layer in figure.layers if type(layer.geom).__name__ == "geom_path"]
    assert [path.geom.aes_params["color"] for path in paths] == ["black", "white"]
    sizes = [path.geom.aes_params["size"] for path in paths]
    assert sizes[0] > sizes[1]
    for path in paths:
        # x from the left and y from the bottom of 30 rows
        assert path._data[["x", "y"]].to_numpy().tolist() == [
            [0, 30], [20, 20], [40, 0], [0, 30], [20, 20],
        ]  # fmt: skip
        assert path._data.groupby("line", observed=True).size().tolist() == [3, 2]
        assert set(path._data["picture"]) == {"Picture 1"}
    without = plot_densities(pictures)
    assert not [layer for layer in without.layers if type(layer.geom).__name__ == "geom_path"]
