"""Ranks of pixels, and the steps they are shown in."""

import numpy as np
import pytest
from tests_support import raises

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from explain.tiny_networks import cnn, count_passes, pictures  # noqa: E402

from salstats.errors import ValueRangeError  # noqa: E402
from salstats.explain.baselines import check_baseline  # noqa: E402
from salstats.explain.pixel_steps import (  # noqa: E402
    PixelSteps,
    changed_pixel_counts,
    pixel_ranks_or_none_for_constant_map,
    raise_for_nan_from_model,
    target_probabilities,
)
from salstats.images.maps import SaliencyOnImage  # noqa: E402

#: Single precision of a small network, in batches of another size.
SINGLE = 1e-6


def test_the_first_pixel_is_the_peak_of_the_map_laid_over_the_image():
    rng = np.random.default_rng(0)
    for shape in ((3, 3), (20, 31), (5, 9), (40, 2)):
        saliency = rng.normal(size=shape)
        ranks = pixel_ranks_or_none_for_constant_map(saliency, (20, 31))
        assert sorted(ranks.ravel()) == list(range(620))
        assert tuple(np.argwhere(ranks == 0)[0]) == SaliencyOnImage(saliency, (20, 31)).peak


@pytest.mark.parametrize("value", [0.0, 0.1, -7.0])
def test_a_constant_map_has_no_ranks(value):
    assert pixel_ranks_or_none_for_constant_map(np.full((3, 3), value), (3, 3)) is None
    assert pixel_ranks_or_none_for_constant_map(np.full((3, 3), value), (8, 5)) is None


@pytest.mark.parametrize("n_pixels", [1, 7, 100, 50176])
@pytest.mark.parametrize("steps", [1, 3, 100, 224])
def test_steps_are_even_and_end_with_the_whole_image(n_pixels, steps):
    sizes = changed_pixel_counts(n_pixels, steps, None)
    assert (sizes[0], sizes[-1], len(sizes)) == (0, n_pixels, min(steps, n_pixels) + 1)
    assert set(np.diff(sizes)) <= {n_pixels // (len(sizes) - 1), -(-n_pixels // (len(sizes) - 1))}


def test_a_chunk_is_a_number_of_pixels_as_in_rise():
    sizes = changed_pixel_counts(224 * 224, 100, 224)
    np.testing.assert_array_equal(sizes, np.arange(225) * 224)
    assert changed_pixel_counts(10, 100, 40).tolist() == [0, 10]


def pixel_steps(model, images, baseline="zero", batch_size=2):
    """Steps of images on the CPU."""
    return PixelSteps(
        model=model,
        device=torch.device("cpu"),
        batch_size=batch_size,
        mixed_precision=False,
        images=images,
        baseline=check_baseline(baseline, tuple(images.shape)),
    )


@pytest.fixture
def images():
    """Four images of two channels, of which two are equal."""
    three = torch.from_numpy(np.stack(list(pictures(3, (6, 8), channels=2).values())))
    return three[[0, 1, 0, 2]]


def outputs_of(model, images):
    with torch.inference_mode():
        return model(images)


def test_outputs_of_images_and_baselines_are_the_networks_and_equal_images_share_a_pass(images):
    model = cnn(channels=2)
    passes = count_passes(model)
    with torch.inference_mode():
        of_images, of_baselines = pixel_steps(model, images, "mean").image_and_baseline_outputs()
    # three different images in two batches, each beside its baseline
    assert passes == [2, 2, 1, 1]
    means = images.mean(dim=(2, 3), keepdim=True).expand_as(images)
    np.testing.assert_allclose(of_images, outputs_of(model, images), rtol=SINGLE, atol=SINGLE)
    np.testing.assert_allclose(of_baselines, outputs_of(model, means), rtol=SINGLE, atol=SINGLE)


def test_equal_images_with_baselines_of_their_own_share_nothing(images):
    model = cnn(channels=2)
    baselines = images.flip(0)
    with torch.inference_mode():
        of_images, of_baselines = pixel_steps(model, images, baselines).image_and_baseline_outputs()
    np.testing.assert_allclose(of_images, outputs_of(model, images), rtol=SINGLE, atol=SINGLE)
    np.testing.assert_allclose(of_baselines, outputs_of(model, baselines), rtol=SINGLE, atol=SINGLE)


def test_pixels_are_shown_or_deleted_from_the_most_salient_on(images):
    saliency = np.random.default_rng(0).normal(size=(6, 8))
    steps = pixel_steps(cnn(channels=2), images, "mean")
    assert steps.ordered_image_or_none_for_constant_map(1, np.ones((6, 8))) is None
    image = images[1].numpy()
    baseline = np.broadcast_to(image.mean(axis=(1, 2), keepdims=True), image.shape)
    for deleting, first, last in ((False, baseline, image), (True, image, baseline)):
        shown = steps.ordered_image_or_none_for_constant_map(
            1, saliency, deleting=deleting
        ).first_image_changed_to_last([0, 5, 48])
        is_changed = saliency >= np.sort(saliency.ravel())[-5]
        expected = [first, np.where(is_changed, last, first), last]
        np.testing.assert_allclose(shown, expected, rtol=SINGLE, atol=SINGLE)
    # unless pixels are deleted they are shown
    (nothing_shown,) = steps.ordered_image_or_none_for_constant_map(1, saliency).first_image_changed_to_last(
        [0]
    )
    np.testing.assert_allclose(nothing_shown, baseline, rtol=SINGLE, atol=SINGLE)


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_outputs_of_steps_are_the_networks_in_batches_across_images(images, batch_size):
    model = cnn(channels=2)
    passes = count_passes(model)
    rng = np.random.default_rng(0)
    steps = pixel_steps(model, images, batch_size=batch_size)
    ordered = [
        steps.ordered_image_or_none_for_constant_map(index, rng.normal(size=(6, 8))) for index in range(4)
    ]
    counts = [np.array([0, 7, 48]), np.array([3]), np.array([1, 2]), np.array([40, 41, 42, 43])]
    with torch.inference_mode():
        batches = list(steps.step_output_batches(zip(ordered, counts, strict=True)))
    assert passes == [len(batch) for batch in batches]
    assert set(passes[:-1]) <= {batch_size}
    changed = [one.first_image_changed_to_last(n.tolist()) for one, n in zip(ordered, counts, strict=True)]
    np.testing.assert_allclose(
        torch.cat(batches), outputs_of(model, torch.cat(changed)), rtol=SINGLE, atol=SINGLE
    )


def test_the_probability_is_that_of_the_target():
    outputs = torch.tensor([[0.0, 2.0, -1.0], [1.0, 0.5, 3.0]])
    probs = target_probabilities(outputs, np.array([1, 0]), "softmax")
    exponentials = np.exp(outputs.numpy().astype(float))
    expected = exponentials[[0, 1], [1, 0]] / exponentials.sum(axis=1)
    np.testing.assert_allclose(probs, expected, rtol=SINGLE)


def test_nan_of_a_model_is_an_error_that_says_where():
    with raises(ValueRangeError, rows=(2,), value=7, match="case 3"):
        raise_for_nan_from_model("case 3", 2, 7)
