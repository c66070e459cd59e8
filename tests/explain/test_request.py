import numpy as np
import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")


def request_of(images, seeds, **options):
    from salstats.explain.request import Request

    return Request(
        model=torch.nn.Flatten(),
        device=torch.device("cpu"),
        images=torch.tensor(images),
        targets=torch.zeros(len(images), dtype=torch.int64),
        seeds=tuple(seeds),
        batch_size=2,
        **options,
    )


IMAGES = np.arange(12, dtype=np.float32).reshape(3, 1, 2, 2)


def test_an_image_has_the_same_random_numbers_each_time():
    asked = request_of(IMAGES, (4, 5, 4))
    first = asked.generator(0).random(3)
    np.testing.assert_array_equal(asked.generator(0).random(3), first)
    np.testing.assert_array_equal(asked.generator(2).random(3), first)
    np.testing.assert_array_equal(first, np.random.default_rng(4).random(3))
    assert (asked.generator(1).random(3) != first).all()


def test_groups_hold_images_that_share_pixels_and_seed():
    images = IMAGES[[0, 1, 0, 0, 1]]
    assert request_of(images, (1, 1, 1, 2, 1)).groups() == [[0, 2], [1, 4], [3]]


def test_outputs_are_made_in_batches_without_gradients():
    asked = request_of(IMAGES, (0, 0, 0))
    outputs = asked.outputs(asked.images.requires_grad_(True))
    assert outputs.dtype == torch.float64
    assert not outputs.requires_grad
    np.testing.assert_array_equal(outputs, IMAGES.reshape(3, 4))
