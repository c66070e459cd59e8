import warnings

import numpy as np
import pytest
from skimage.morphology import convex_hull_image
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.images.hulls import convex_hull, large_regions_off_border_mask, mask_from_padded_square


def drawn(*rows):
    """A mask as it looks: # is foreground."""
    return np.array([[pixel == "#" for pixel in row] for row in rows])


@pytest.fixture(scope="module")
def lungs(shared):
    """Lungs of seven images as a network marks them on 256 x 256 pixels, and what the study made of them."""
    gaze = shared / "oracles/gaze"
    given, hulls = np.load(gaze / "inputs/maps.npz"), np.load(gaze / "expected/convex_hull.npz")
    cases = [name.removeprefix("hull256_") for name in hulls.files if name.startswith("hull256_")]
    assert len(cases) == 7
    return {
        case: (given[f"{case}_lungs256"], hulls[f"hull256_{case}"], hulls[f"hull_{case}"]) for case in cases
    }


def test_the_hull_of_the_lungs_is_the_study_s(lungs):
    for case, (mask, hull, on_image) in lungs.items():
        # every mask holds specks and a region at the border, which the study removes
        assert large_regions_off_border_mask(mask).sum() < mask.sum()
        assert convex_hull(mask).sum() > hull.sum()
        np.testing.assert_array_equal(convex_hull(large_regions_off_border_mask(mask)), hull, err_msg=case)
        np.testing.assert_array_equal(mask_from_padded_square(hull, on_image.shape), on_image, err_msg=case)


def test_hulls_are_scikit_image_s():
    rng = np.random.default_rng(0)
    n_larger = 0
    for _ in range(500):
        mask = rng.random(rng.integers(1, 40, 2)) < rng.choice([0.005, 0.05, 0.3])
        hull = convex_hull(mask)
        with warnings.catch_warnings():
            # of an empty mask it warns
            warnings.simplefilter("ignore", UserWarning)
            np.testing.assert_array_equal(hull, convex_hull_image(mask))
        n_larger += hull.sum() > mask.sum()
    assert n_larger > 300


def test_a_drawn_hull_by_hand():
    # the line from (0, 1/2) to (2, 7/2), right middles of the upper and the lower corner, passes (1, 2)
    mask = drawn(
        "#....",
        ".....",
        "#..#.",
    )
    np.testing.assert_array_equal(
        convex_hull(mask),
        drawn(
            "#....",
            "###..",
            "####.",
        ),
    )


def test_size_counts_sides_and_the_border_counts_corners():
    mask = drawn(
        "......",
        ".#....",
        "..#...",
        "......",
        "....##",
        "...#..",
    )
    # apart, two pixels at a corner are too small for 2 of 36
    assert not large_regions_off_border_mask(mask, min_share_of_image=2 / 36).any()
    # and without a least size both stay; (5, 3) and (4, 4) touch the border
    np.testing.assert_array_equal(
        np.argwhere(large_regions_off_border_mask(mask, min_share_of_image=0)), [[1, 1], [2, 2]]
    )


def test_a_mask_comes_back_from_its_square_by_hand():
    # an image of 2 x 4 on a square of 8: four rows of padding, then each pixel had 2 x 2
    square = np.zeros((8, 8), bool)
    square[2, 0] = square[4, 6] = True
    np.testing.assert_array_equal(mask_from_padded_square(square, (2, 4)), drawn("#...", "...#"))
    # only the first of the two pixels counts
    square[:] = False
    square[3, 1] = True
    assert not mask_from_padded_square(square, (2, 4)).any()
    np.testing.assert_array_equal(mask_from_padded_square(square.T, (4, 2)), np.zeros((4, 2)))


def test_the_padding_leaves_a_band_as_wide_as_the_image():
    # rows: (8 - 8 * 3/8) / 2 = 2.5, so rows 3 to 5: the upper padding is the larger one
    square = np.arange(8)[:, None] * np.ones((1, 8)) == 3
    np.testing.assert_array_equal(mask_from_padded_square(square, (3, 8)).any(axis=1), [True, False, False])
    square = np.arange(8)[:, None] * np.ones((1, 8)) == 5
    np.testing.assert_array_equal(mask_from_padded_square(square, (3, 8)).any(axis=1), [False, False, True])


def test_what_cannot_be_is_named():
    for function in (
        convex_hull,
        large_regions_off_border_mask,
        lambda mask: mask_from_padded_square(mask, (4, 4)),
    ):
        with raises(ValueRangeError, option="mask", value=np.dtype(float)):
            function(np.array([[0.0, 0.5]]))
    with raises(ShapeError, option="mask", value=(4, 5)):
        mask_from_padded_square(np.zeros((4, 5), bool), (4, 4))
