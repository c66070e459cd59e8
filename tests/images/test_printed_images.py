"""Pictures at the size they are printed: worked by hand on small arrays."""

import numpy as np

from salstats.images.printed_images import (
    grey_from_0_to_1,
    outlines_as_row_col_lines,
    printed_shape,
    resize_for_print,
)


def test_a_picture_has_the_pixels_that_are_printed_and_no_more_than_a_thousand():
    # 25.4 mm at 300 dots per inch
    assert printed_shape((2320, 2828), 25.4) == (246, 300)
    assert printed_shape((2320, 2828), 500) == (820, 1000)
    assert printed_shape((30, 40), 500) == (30, 40)
    assert printed_shape((1, 4000), 10) == (1, 118)


def test_a_shrunk_image_holds_the_means_of_its_pixels():
    image = np.arange(16.0).reshape(4, 4)
    np.testing.assert_allclose(resize_for_print(image, (2, 2)), [[2.5, 4.5], [10.5, 12.5]])
    # a map that grows is laid over the image by the middles of its pixels
    np.testing.assert_allclose(resize_for_print(np.array([[0.0, 1.0]]), (1, 4)), [[0, 0.25, 0.75, 1]])


def test_outlines_run_through_the_middles_of_the_outermost_pixels():
    mask = np.zeros((6, 7), dtype=bool)
    mask[1:4, 2:6] = True
    (line,) = outlines_as_row_col_lines(mask)
    assert {tuple(p) for p in line} == {(1.5, 2.5), (3.5, 2.5), (3.5, 5.5), (1.5, 5.5)}
    np.testing.assert_array_equal(line[0], line[-1])


def test_holes_and_separate_parts_are_outlined_too():
    mask = np.zeros((12, 20), dtype=bool)
    mask[1:11, 1:11] = True
    mask[4:8, 4:8] = False
    mask[3, 15] = True
    lines = outlines_as_row_col_lines(mask)
    assert len(lines) == 3
    single = min(lines, key=lambda line: np.ptp(line, axis=0).sum())
    assert {tuple(p) for p in single} == {(3, 15), (3, 16), (4, 16), (4, 15)}
    assert outlines_as_row_col_lines(np.zeros((3, 3), dtype=bool)) == []


def test_outlines_stay_within_a_printed_pixel_of_the_mask_s():
    rows, cols = np.mgrid[:400, :400]
    disc = np.hypot(rows - 200, cols - 200) < 150
    (exact,), (simple,) = outlines_as_row_col_lines(disc), outlines_as_row_col_lines(disc, 10)
    assert len(simple) < len(exact) / 2
    radius = np.hypot(*(simple - 200.5).T)
    # a chord of a circle lies at most 0.35 * 10 pixels inside, and 1 for the steps of the pixels
    assert (np.abs(radius - 149.5) < 1.5).all()
    middles = (simple[1:] + simple[:-1]) / 2
    assert np.hypot(*(middles - 200.5).T).min() > 149.5 - 4.5


def test_images_become_grey_from_0_to_1():
    np.testing.assert_allclose(grey_from_0_to_1(np.array([[0, 51, 255]], dtype=np.uint8)), [[0, 0.2, 1]])
    # sixteen bits by their own range
    np.testing.assert_allclose(
        grey_from_0_to_1(np.array([[1000, 2000, 3000]], dtype=np.uint16)), [[0, 0.5, 1]]
    )
    colour = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], dtype=np.uint8)
    np.testing.assert_allclose(grey_from_0_to_1(colour), [[0.299, 0.587, 0.114]], atol=1e-6)
    opacity = np.full((1, 3, 1), 40, dtype=np.uint8)
    np.testing.assert_array_equal(grey_from_0_to_1(np.dstack([colour, opacity])), grey_from_0_to_1(colour))
    np.testing.assert_array_equal(grey_from_0_to_1(np.full((2, 2), 7.0)), 0)
