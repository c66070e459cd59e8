import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.baselines import baseline_of_each_image, black_baseline, check_baseline  # noqa: E402
from salstats.images.preparation import Preparation  # noqa: E402

IMAGES = torch.arange(2 * 3 * 4 * 5, dtype=torch.float64).reshape(2, 3, 4, 5)


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("zero", torch.zeros(2, 3, 1, 1)),
        ("mean", IMAGES.mean(dim=(2, 3), keepdim=True)),
        (2.5, torch.full((1, 1, 1, 1), 2.5)),
        ([1.0, 2.0, 3.0], torch.tensor([1.0, 2.0, 3.0]).reshape(1, 3, 1, 1)),
        (IMAGES[0], IMAGES[:1]),
        (IMAGES, IMAGES),
    ],
    ids=["zero", "mean", "number", "by channel", "one image", "each image"],
)
def test_a_baseline_fills_every_pixel_of_its_image(baseline, expected):
    values = check_baseline(baseline, tuple(IMAGES.shape)).for_images(IMAGES)
    assert torch.equal(values, expected.to(IMAGES).expand_as(IMAGES))


def test_baselines_of_each_image_are_chosen_by_its_index():
    baseline = check_baseline(IMAGES, tuple(IMAGES.shape))
    assert baseline.has_array_for_each_image
    assert torch.equal(baseline.for_images(IMAGES[1:], [1]), IMAGES[1:])
    assert not check_baseline(IMAGES[0], tuple(IMAGES.shape)).has_array_for_each_image


def test_the_blur_spreads_a_pixel_over_its_kernel_and_adds_up_to_it():
    images = torch.zeros(1, 2, 31, 31, dtype=torch.float64)
    images[0, 0, 15, 15] = 1
    blurred = check_baseline("blur", tuple(images.shape)).for_images(images)
    rows, columns = torch.nonzero(blurred[0, 0], as_tuple=True)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (10, 20, 10, 20)
    assert blurred[0, 0].sum().item() == pytest.approx(1, abs=1e-12)
    assert blurred[0, 0].argmax() == 15 * 31 + 15
    assert not blurred[0, 1].any()


def test_a_black_pixel_is_standardised_by_the_preparation():
    baseline = black_baseline(Preparation((8, 8), channels=1, mean=0.5, std=0.25))
    assert baseline.values.item() == -2


def test_a_baseline_says_what_it_is_in_frames():
    assert check_baseline("blur", (1, 1, 8, 8), kernel=5, sigma=1.5).label == "blur (5 px, SD 1.5 px)"
    assert check_baseline("zero", (1, 1, 8, 8)).label == "zero"


@pytest.mark.parametrize(
    ("options", "kind", "option"),
    [
        ({"baseline": np.zeros((2, 2))}, ShapeError, "baseline"),
        ({"baseline": float("inf")}, ValueRangeError, "baseline"),
        ({"baseline": ["a"]}, ValueRangeError, "baseline"),
        ({"baseline": "blur", "kernel": 4}, ValueRangeError, "kernel"),
        ({"baseline": "blur", "sigma": 0}, ValueRangeError, "sigma"),
        ({"baseline": "blur", "kernel": 0}, ValueRangeError, "kernel"),
        ({"baseline": "blur", "sigma": float("inf")}, ValueRangeError, "sigma"),
    ],
)
def test_a_baseline_that_fits_no_image_is_named(options, kind, option):
    with raises(kind, option=option):
        check_baseline(options.pop("baseline"), (1, 3, 4, 5), **options)


def test_baselines_of_images_have_their_shape_in_memory_order():
    assert baseline_of_each_image(IMAGES, [1.0, 2.0, 3.0]).is_contiguous()
    with raises(ValueRangeError, option="baseline", value="white"):
        baseline_of_each_image(IMAGES, "white")


def test_a_checked_baseline_is_itself_unless_black_has_other_channels():
    zero = check_baseline("zero", (1, 3, 4, 5))
    assert check_baseline(zero, (1, 1, 8, 8)) is zero
    black = black_baseline(Preparation((4, 5), channels=3, mean=[0.5, 0.25, 0], std=[0.5, 0.5, 1]))
    assert check_baseline(black, tuple(IMAGES.shape)) is black
    filled = black.for_images(IMAGES)
    assert torch.equal(filled, torch.tensor([-1.0, -0.5, 0]).reshape(1, 3, 1, 1).to(IMAGES).expand_as(IMAGES))
    with raises(ShapeError, option="baseline", value="black"):
        check_baseline(black, (1, 1, 4, 5))


def test_a_kernel_of_one_pixel_blurs_nothing():
    baseline = check_baseline("blur", tuple(IMAGES.shape), kernel=1, sigma=2)
    assert torch.allclose(baseline.for_images(IMAGES), IMAGES)
