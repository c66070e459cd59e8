import numpy as np
import pytest

from salstats.checks import ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
from salstats.explain.superpixels import grid, superpixels_of  # noqa: E402


def image(*shape):
    return torch.zeros(shape)


def test_a_grid_is_counted_row_by_row():
    assert grid((4, 4), 4).tolist() == [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]


def test_cells_of_a_side_that_does_not_divide_differ_by_a_pixel():
    # 10 rows in 3 cells of 3 or 4, 7 columns in 3 cells of 2 or 3
    cells = grid((10, 7), 8)
    assert sorted(np.bincount(cells[:, 0] // 3)) == [3, 3, 4]
    assert sorted(np.bincount(cells[0])) == [2, 2, 3]
    assert np.unique(cells).tolist() == list(range(9))


@pytest.mark.parametrize(("shape", "rows", "columns"), [((30, 10), 6, 2), ((10, 30), 2, 6), ((3, 3), 3, 3)])
def test_cells_are_nearly_square_and_no_smaller_than_a_pixel(shape, rows, columns):
    cells = grid(shape, 12)
    assert len(np.unique(cells[:, 0])) == rows
    assert len(np.unique(cells[0])) == columns


def test_slic_follows_what_the_image_shows():
    pytest.importorskip("skimage", reason="needs the explain extra")
    half = image(1, 20, 20)
    half[:, :, 10:] = 5.0
    segments = superpixels_of(half, "slic", 8)
    assert segments.shape == (20, 20)
    assert not set(segments[:, :10].ravel()) & set(segments[:, 10:].ravel())


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor, lambda given: lambda _: given])
def test_given_ones_are_counted_from_0_without_gaps(kind):
    given = np.array([[7, 7, -2], [30, 30, 30]])
    found = superpixels_of(image(2, 2, 3), kind(given))
    assert found.tolist() == [[1, 1, 0], [2, 2, 2]]


def test_a_function_is_given_the_image():
    picture = torch.arange(6.0).reshape(1, 2, 3)
    found = superpixels_of(picture, lambda shown: (shown[0] > 2).astype(int))
    assert found.tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("segments", "n", "kind", "message"),
    [
        ("cells", 9, ValueRangeError, "segments='cells' is not known; choose one of grid, slic"),
        ("grid", 0, ValueRangeError, "n_segments must be a whole number of at least 1"),
        (np.zeros((3, 2), int), 9, ShapeError, r"segments have shape \(3, 2\); the images have \(2, 3\)"),
        (np.zeros((2, 3)), 9, ValueRangeError, "segments must be whole numbers"),
    ],
)
def test_bad_ones_are_named(segments, n, kind, message):
    with pytest.raises(kind, match=message):
        superpixels_of(image(1, 2, 3), segments, n)
