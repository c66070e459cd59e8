"""Irregular shapes drawn anew at any place and size."""

import csv

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.images.simulated_masks import draw_centred_contour, irregular_contour_row_col

SQUARE = [(-1.5, -1.5), (-1.5, 1.5), (1.5, 1.5), (1.5, -1.5)]
# a pixel of the outline belongs to the shape or does not: its share of the area at these sizes
PIXELS = 0.03


def test_a_square_marks_the_pixels_whose_centres_lie_inside():
    want = np.zeros((7, 9), bool)
    want[2:5, 3:6] = True
    np.testing.assert_array_equal(draw_centred_contour(SQUARE, (7, 9), smooth=0), want)


def test_pixels_whose_centres_lie_on_the_outline_are_marked():
    corners = [(-1, -1), (-1, 1), (1, 1), (1, -1)]
    want = np.zeros((7, 9), bool)
    want[2:5, 3:6] = True
    np.testing.assert_array_equal(draw_centred_contour(corners, (7, 9), smooth=0), want)


def test_smoothing_takes_the_corners_of_a_square():
    side = [(-4.5, -4.5), (-4.5, 4.5), (4.5, 4.5), (4.5, -4.5)]
    rounded = draw_centred_contour(side, (21, 21), smooth=1)
    plain = draw_centred_contour(side, (21, 21), smooth=0)
    corners = [(6, 6), (6, 14), (14, 6), (14, 14)]
    assert [tuple(p) for p in np.argwhere(plain & ~rounded)] == corners


@pytest.mark.parametrize("name", ["distance", "size_linear", "size_piecewise", "both_linear_truth1",
                                  "both_linear_truthmid", "both_piecewise"])  # fmt: skip
def test_the_oracles_masks_are_drawn_to_the_pixel(shared, name):
    folder = shared / "oracles" / "mrxai"
    drawn = 0
    with np.load(folder / "masks.npz") as oracle, (folder / "results.csv").open() as file:
        for row in csv.DictReader(file):
            if row["simulation"] != name:
                continue
            shift, scale = float(row["shift"]), float(row["scale"])
            mask = draw_centred_contour(oracle["contour"], (256, 256), shift=(shift, shift), scale=scale)
            np.testing.assert_array_equal(mask, oracle[f"{name}__{row['step']}"])
            drawn += 1
    assert drawn == 9


@pytest.mark.parametrize("axis", [0, 1])
def test_the_border_of_the_image_does_not_smooth_the_shape(axis):
    contour = irregular_contour_row_col(radius=20, spread=0, n_points=40)
    mask = draw_centred_contour(contour, (101, 101))
    pixels = np.nonzero(mask)[axis]
    for n_pixels in (-int(pixels.min()), 100 - int(pixels.max())):
        shift = (n_pixels, 0) if axis == 0 else (0, n_pixels)
        moved = draw_centred_contour(contour, (101, 101), shift=shift)
        np.testing.assert_array_equal(moved, np.roll(mask, n_pixels, axis=axis))
        # the shape touches the border
        assert moved.take([0, 100], axis=axis).any()


def test_holes_are_filled():
    # a ring, cut open along a line: the even-odd rule leaves its middle free
    outer = [(-4.5, -4.5), (-4.5, 4.5), (4.5, 4.5), (4.5, -4.5), (-4.5, -4.5)]
    inner = [(-1.5, -1.5), (1.5, -1.5), (1.5, 1.5), (-1.5, 1.5), (-1.5, -1.5)]
    mask = draw_centred_contour(outer + inner, (15, 15), smooth=0)
    np.testing.assert_array_equal(mask, draw_centred_contour(outer[:4], (15, 15), smooth=0))
    assert mask[7, 7]


def test_a_contour_has_equal_angles_and_distances_within_its_spread():
    contour = irregular_contour_row_col(n_points=9, radius=10, spread=0.2, rng=7)
    angle = np.unwrap(np.arctan2(contour[:, 0], contour[:, 1]))
    np.testing.assert_allclose(np.diff(angle), 2 * np.pi / 9)
    distance = np.hypot(*contour.T)
    assert (distance >= 8).all()
    assert (distance <= 12).all()
    assert np.ptp(distance) > 1


def test_a_radius_of_less_than_a_pixel_is_drawn():
    distance = np.hypot(*irregular_contour_row_col(radius=0.5, spread=0).T)
    np.testing.assert_allclose(distance, 0.5)


@pytest.mark.parametrize("options", [{"n_points": 2}, {"radius": 0}, {"spread": 1.0}])
def test_a_contour_that_cannot_be_is_refused(options):
    ((option, value),) = options.items()
    with raises(ValueRangeError, option=option, value=value):
        irregular_contour_row_col(**options)


@pytest.mark.parametrize(
    ("options", "error", "fields"),
    [
        ({"contour": [(0, 0), (1, 1)]}, ShapeError, {"option": "contour", "value": (2, 2)}),
        ({"scale": 0.0}, ValueRangeError, {"option": "scale", "value": 0.0}),
        ({"shift": (3.0, 0.0)}, ValueRangeError, {"option": "shift", "value": (3.0, 0.0)}),
        ({"scale": 0.1, "shift": (0.5, 0.5)}, ValueRangeError, {"option": "contour", "value": None}),
    ],
)
def test_a_drawing_that_cannot_be_is_refused(options, error, fields):
    with raises(error, **fields):
        draw_centred_contour(**{"contour": SQUARE, "shape": (7, 7), "smooth": 0, **options})
