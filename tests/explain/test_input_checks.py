import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.input_checks import check_images, check_outputs, check_targets, groups_of_equal_images  # noqa: E402


def test_images_keep_their_precision_and_whole_numbers_become_single():
    assert check_images(np.ones((1, 1, 2, 2))).dtype == torch.float64
    assert check_images(np.ones((1, 1, 2, 2), np.float32)).dtype == torch.float32
    assert check_images(np.ones((1, 1, 2, 2), np.uint8)).dtype == torch.float32


@pytest.mark.parametrize(
    ("images", "kind", "rows"),
    [
        (np.ones((1, 2, 2)), ShapeError, ()),
        (np.ones((0, 1, 2, 2)), ValueRangeError, ()),
        ([np.ones((1, 2, 2)), np.ones((1, 3, 2))], ShapeError, ()),
        ([[[["a"]]]], ValueRangeError, ()),
    ],
)
def test_what_are_no_images_is_an_error(images, kind, rows):
    with raises(kind, option="images", rows=rows):
        check_images(images)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_image_with_a_pixel_that_is_no_number_is_named(value):
    images = np.ones((3, 1, 2, 2))
    images[1:, 0, 1, 0] = value
    with raises(ValueRangeError, rows=(1,)):
        check_images(images)


def test_tensors_in_a_list_are_stacked_and_views_of_an_array_are_taken():
    images = torch.arange(8.0).reshape(2, 1, 2, 2)
    assert torch.equal(check_images([images[0], images[1]]), images)
    assert torch.equal(check_images(images.numpy()[::-1]), images.flip(0))
    assert torch.equal(check_images(images.requires_grad_()), images)


def test_large_images_whose_sum_overflows_are_finite():
    assert check_images(torch.full((1, 1, 4, 4), 3e38)).max() == torch.tensor(3e38)


def test_one_target_is_that_of_every_image():
    assert check_targets(2, 3, 4).tolist() == [2, 2, 2]
    assert check_targets(torch.tensor([0, 3]), 2, 4).tolist() == [0, 3]


@pytest.mark.parametrize(
    ("targets", "kind", "rows"),
    [
        (4, ValueRangeError, (0, 1)),
        (-1, ValueRangeError, (0, 1)),
        ([0, 4], ValueRangeError, (1,)),
        ([0, 1, 2], ShapeError, ()),
        (0.5, ValueRangeError, ()),
    ],
)
def test_targets_that_are_no_outputs_are_named(targets, kind, rows):
    with raises(kind, option="targets", rows=rows):
        check_targets(targets, 2, 4)


@pytest.mark.parametrize(
    ("outputs", "received"),
    [
        (torch.zeros(3), r"\(3,\)"),
        (torch.zeros(2, 4), r"\(2, 4\)"),
        (torch.zeros(3, 4, 1), r"\(3, 4, 1\)"),
        ([[0.0]] * 3, "list"),
    ],
)
def test_outputs_are_one_row_for_each_image(outputs, received):
    with raises(ShapeError, option="model", match=f"not {received}"):
        check_outputs(outputs, 3)
    assert check_outputs(torch.ones(3, 1), 3).shape == (3, 1)


def test_equal_images_are_grouped_also_apart_and_by_their_seeds():
    images = torch.tensor([0.0, 1.0, 0.0, 0.0]).reshape(4, 1, 1, 1)
    assert groups_of_equal_images(images) == [[0, 2, 3], [1]]
    assert groups_of_equal_images(images, [5, 5, 6, 5]) == [[0, 3], [1], [2]]
