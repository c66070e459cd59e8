import math
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest
from gaze_oracle import recorded
from scipy.stats import multivariate_normal
from tests_support import raises

from salstats.checks import LARGEST_NUMBER
from salstats.errors import ShapeError, ValueRangeError
from salstats.images.fixations import Fixations, check_density, fixation_density

#: The oracle sums Gaussians in single precision, ours are in double.
OF_MAXIMUM = 1e-6
#: Sums of the same double-precision numbers in another order.
ROUNDING = 1e-13
WHOLE = (0, 0, 5, 7)


def made(*rows, sd=(1, 1), shown=WHOLE):
    """Fixations of (row, col, duration), all of one size and with one part shown."""
    table = np.array(rows, float).reshape(-1, 3)
    n = len(table)
    return Fixations(table[:, :2], table[:, 2], np.tile(sd, (n, 1)), np.tile(shown, (n, 1)))


def arrays(n=3):
    """Four good arrays, to be spoilt one at a time."""
    return {
        "points": np.ones((n, 2)),
        "duration": np.ones(n),
        "sd": np.ones((n, 2)),
        "shown": np.tile(WHOLE, (n, 1)),
    }


def plain(fixations, shape):
    """Each Gaussian on the full grid by scipy, cut to its rectangle, and their weighted sum."""
    grid = np.stack(np.mgrid[: shape[0], : shape[1]], axis=-1)
    total = np.zeros(shape)
    for point, duration, sd, shown in zip(
        fixations.points, fixations.duration, fixations.sd, fixations.shown, strict=True
    ):
        top, left, bottom, right = (round(float(edge)) for edge in shown)
        seen = np.zeros(shape)
        seen[top:bottom, left:right] = 1
        total += duration * seen * multivariate_normal(point, np.diag(sd**2)).pdf(grid)
    return total / total.sum()


def test_maps_are_those_of_the_study(shared):
    gaze = shared / "oracles/gaze"
    expected = np.load(gaze / "expected/fixation_maps_f32.npz")
    index = pd.read_csv(gaze / "expected/fixation_maps_index.csv")
    assert len(index) == len(expected.files) == 34
    n_outside = 0
    for row in index.itertuples():
        shape = (row.height, row.width)
        fixations = recorded(gaze / "inputs/main_data" / row.id)
        n_outside += int(((fixations.points < 0) | (fixations.points >= shape)).any(axis=1).sum())
        density, reference = fixation_density(fixations, shape), expected[row.key]
        assert density.shape == reference.shape
        assert np.abs(density - reference).max() <= OF_MAXIMUM * reference.max(), row.key
        assert density.sum() == pytest.approx(1, abs=ROUNDING)
    assert n_outside > 0


def test_a_drawn_map_by_hand():
    # one pixel away is exp(-1/2) of the peak, in both directions; durations weigh 3 : 1
    density = fixation_density(made((1, 1, 0.3), (1, 3, 0.1), shown=(0, 1, 3, 4)), (3, 5))
    step = math.exp(-1 / 2)
    row = np.array([0, 3 + step**4, 3 * step + step, 3 * step**4 + 1, 0])
    by_hand = np.outer([step, 1, step], row)
    np.testing.assert_allclose(density, by_hand / by_hand.sum(), rtol=ROUNDING)
    assert (density[:, [0, 4]] == 0).all()


def test_maps_are_the_sum_of_gaussians_on_the_full_grid():
    rng = np.random.default_rng(4)
    # more than are multiplied at a time
    n, shape = 600, (40, 60)
    corners = np.sort(rng.uniform(0, [[40], [60]], (n, 2, 2)), axis=2)
    # halves go to the even pixel
    corners[0] = [[0.5, 24.5], [1.5, 33.5]]
    fixations = Fixations(
        rng.uniform(-5, 65, (n, 2)),
        rng.exponential(0.3, n),
        rng.uniform(2, 9, (n, 2)),
        np.concatenate([corners[:, :, 0], corners[:, :, 1]], axis=1),
    )
    expected = plain(fixations, shape)
    np.testing.assert_allclose(fixation_density(fixations, shape), expected, rtol=1e-11, atol=1e-30)


def test_a_gaussian_is_not_made_whole_again_where_it_is_cut():
    # the same fixation in the middle and on the border of what is shown: half of the second is lost
    middle, edge = (
        fixation_density(made((10, 20, 1), (10, at, 1), sd=(2, 2), shown=(0, 0, 21, 61)), (21, 61))
        for at in (45, 60)
    )
    assert middle[:, 32:].sum() == pytest.approx(0.5, abs=1e-6)
    # the pixels from the centre on: half of the Gaussian and half of its middle column
    kept = 0.5 + 0.5 / (2 * math.sqrt(2 * math.pi))
    assert edge[:, 40:].sum() == pytest.approx(kept / (1 + kept), abs=1e-4)


def test_a_fixation_outside_leaves_its_tail():
    density = fixation_density(made((2, -2, 1)), (5, 7))
    assert density.sum() == pytest.approx(1, abs=ROUNDING)
    assert (np.diff(density[2]) < 0).all()


@pytest.mark.parametrize(
    ("name", "value", "row", "entry"),
    [
        ("points", [[1, 1], [np.nan, 2], [1, 1]], 1, [ANY, 2]),
        ("duration", [1, 1, np.inf], 2, np.inf),
        ("duration", [1, -0.1, 1], 1, -0.1),
        ("sd", [[1, 1], [1, 1], [0, 1]], 2, [0, 1]),
        ("shown", [[0, 0, 5, 7], [0, 6, 5, 5], [0, 0, 5, 7]], 1, [0, 6, 5, 5]),
    ],
)
def test_values_out_of_range_are_named(name, value, row, entry):
    with raises(ValueRangeError, option=name, value=entry, rows=(row,)):
        Fixations(**(arrays() | {name: value}))


@pytest.mark.parametrize("shown", [(0, 0, 6, 7), (0, 0, 5, 7.6), (-1, 0, 5, 7), (0, -0.6, 5, 7)])
def test_a_rectangle_outside_the_image_is_an_error(shown):
    both = Fixations([[1, 1]] * 2, [1, 1], [[1, 1]] * 2, [WHOLE, shown])
    with raises(ValueRangeError, option="shown", value=list(shown), rows=(1,)):
        fixation_density(both, (5, 7))


def test_no_map_without_a_fixation_that_lasts():
    with raises(ValueRangeError, option="fixations", value=0):
        fixation_density(made(), (5, 7))
    with raises(ValueRangeError, option="fixations", value=2):
        fixation_density(made((1, 1, 0), (2, 2, 0)), (5, 7))


def test_no_map_where_no_gaussian_reaches_a_pixel_and_shapes_that_do_not_fit():
    for fixations in (made((1, 1, 1), shown=(2, 2, 2, 4)), made((1, 1000, 1))):
        with raises(ValueRangeError, option="fixations", value=None):
            fixation_density(fixations, (5, 7))
    for name, value in (("points", np.ones((3, 3))), ("duration", np.ones(2)), ("shown", np.ones((3, 2)))):
        with raises(ShapeError, option=name, value=value.shape):
            Fixations(**(arrays() | {name: value}))


def test_a_density_is_numbers_of_0_or_more_in_the_shape_of_the_map():
    density = np.array([[0, 2], [1, 0]], np.uint8)
    checked = check_density(density, (2, 2))
    assert checked.dtype == np.float64
    np.testing.assert_array_equal(checked, density)
    # numbers of the largest size, whose sum is larger
    assert check_density([[LARGEST_NUMBER, LARGEST_NUMBER]], (1, 2)).tolist() == [
        [LARGEST_NUMBER, LARGEST_NUMBER]
    ]
    with raises(ShapeError, option="human", value=(2, 2)):
        check_density(density, (2, 3), "human")
    with raises(ValueRangeError, option="density", value=np.dtype("complex128")):
        check_density([[1j]], (1, 1))


@pytest.mark.parametrize(
    "values", [[0, 0], [1, -1e-9], [1, np.nan], [np.nan, 1], [1, np.inf], [0, 2 * LARGEST_NUMBER]]
)
def test_a_density_that_nobody_can_have_looked_by_is_an_error(values):
    with raises(ValueRangeError, option="density"):
        check_density([values], (1, 2))
