"""LIME and KernelSHAP: linear models of the outputs for an image of which superpixels are hidden.

They explain the network's output as it is (a logit, as a rule). One set of forward passes serves all
targets of an image. `mixed_precision` applies to these passes; `baseline` is as in `perturbations`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import cosine_similarity

from salstats.checks import check_choice, check_count, check_number
from salstats.errors import Message, Setting, ShapeError, ValueRangeError
from salstats.explain.request import RawAttributions, Request

#: Weight of the two samples that a KernelSHAP model must fit: captum's stand-in for infinity.
_CONSTRAINT_WEIGHT = 1_000_000.0
#: Balance of distance and value for images scaled to 0 to 1: scikit-image's advice for gray images.
_COMPACTNESS = 0.1


class MaskedSamples(NamedTuple):
    """Copies of an image of which superpixels are hidden, and one target's outputs for them."""

    #: 1 for each superpixel that a sample shows, else 0: shape (n_samples, n_superpixels).
    shown: np.ndarray
    #: Output for each sample, shape (n_samples,).
    outputs: np.ndarray
    #: Cosine similarity between each sample and the image, shape (n_samples,).
    cosines: np.ndarray


def run_lime(request: Request) -> RawAttributions:
    """Return the coefficient of each superpixel in a sparse linear model; (b, 1, height, width).

    As captum's LIME (Ribeiro et al. 2016): a random half of the superpixels is hidden, and a Lasso is
    fitted to the outputs with weights exp(-(1 - c)^2 / (2 w^2)), where c is the cosine similarity between a
    sample and the image and w the kernel width. Every superpixel is hidden or shown as one.
    Options: `segments`, `n_segments`, see `superpixel_number_of_each_pixel`; `n_samples` (1000), at least as
    many as there are superpixels; `alpha` (0.01), weight of the Lasso's penalty, in the units of the output:
    larger leaves fewer superpixels; `kernel_width` (1), of the weights; `baseline` ("zero").
    """
    alpha = check_number(request.options["alpha"], "alpha", exclude_zero=True)
    kernel_width = check_number(request.options["kernel_width"], "kernel_width", exclude_zero=True)

    def draw_halves(generator: np.random.Generator, n_samples: int, n_superpixels: int) -> np.ndarray:
        """Draw the superpixels that each sample shows, each with a probability of a half."""
        return generator.random((n_samples, n_superpixels)) < 0.5

    def lasso_coefficient_by_superpixel(samples: MaskedSamples) -> np.ndarray:
        """Return the coefficient of each superpixel in a weighted Lasso."""
        from sklearn.linear_model import Lasso

        weights = np.exp(-((1 - samples.cosines) ** 2) / (2 * kernel_width**2))
        # cyclic descent draws nothing, but without a seed of its own it moves the global generator
        lasso = Lasso(alpha=alpha, random_state=0)
        return np.asarray(lasso.fit(samples.shown, samples.outputs, weights).coef_)

    return _linear_model_maps(request, draw_halves, lasso_coefficient_by_superpixel)


def run_kernel_shap(request: Request) -> RawAttributions:
    """Return the Shapley value of each superpixel, estimated by a linear model; (b, 1, height, width).

    As captum's KernelSHAP (Lundberg & Lee 2017): the number of superpixels shown is drawn from the Shapley
    kernel, and which of them at random; the samples with none and with all are always there and outweigh the
    others, so that the values add up to the target's output for the image minus that for the baseline. Every
    superpixel is hidden or shown as one.
    Options: `segments`, `n_segments`, see `superpixel_number_of_each_pixel`; `n_samples` (1000), at least two
    more than there are superpixels; `baseline` ("zero").
    """

    def shapley_value_by_superpixel(samples: MaskedSamples) -> np.ndarray:
        """Return the coefficient of each superpixel in a weighted linear regression."""
        from sklearn.linear_model import LinearRegression

        # samples are drawn in proportion to the kernel, so that all others have weight 1
        n_superpixels = samples.shown.shape[1]
        n_shown = samples.shown.sum(axis=1)
        some_hidden = (n_shown > 0) & (n_shown < n_superpixels)
        weights = np.where(some_hidden, 1, _CONSTRAINT_WEIGHT).astype(np.float32)
        regression = LinearRegression()
        return np.asarray(regression.fit(samples.shown, samples.outputs, weights).coef_)

    return _linear_model_maps(request, draw_shapley_samples, shapley_value_by_superpixel, n_fixed_samples=2)


def draw_shapley_samples(generator: np.random.Generator, n_samples: int, n_superpixels: int) -> np.ndarray:
    """Draw the superpixels that each sample shows; shape (n_samples, n_superpixels).

    The first sample shows all, the second none. The others show k of the M superpixels with a probability
    proportional to 1 / (k (M - k)), which is, up to a factor, the Shapley kernel summed over the sets of k
    superpixels (Lundberg & Lee 2017).
    """
    numbers = np.arange(1, n_superpixels)
    kernel = 1 / (numbers * (n_superpixels - numbers))
    n_shown = generator.choice(numbers, size=n_samples, p=kernel / kernel.sum())
    n_shown[0] = n_superpixels
    n_shown[1] = 0
    # ranks of random numbers: the superpixels of the n_shown smallest ones are shown
    order = generator.random((n_samples, n_superpixels)).argsort(axis=1)
    ranks = order.argsort(axis=1)
    return np.asarray(ranks < n_shown[:, None])


def _linear_model_maps(
    request: Request,
    draw: Callable[[np.random.Generator, int, int], np.ndarray],
    fit: Callable[[MaskedSamples], np.ndarray],
    n_fixed_samples: int = 0,
) -> torch.Tensor:
    """Return maps with the coefficients, on each superpixel, of a linear model of each target's output.

    `draw` returns the superpixels that each sample shows, `fit` the coefficients. Of the samples
    `n_fixed_samples` are not random; there must be at least as many random ones as superpixels.
    """
    n_samples = check_count(request.options["n_samples"], "n_samples", low=2)

    def coefficient_maps(
        image: torch.Tensor, baseline: torch.Tensor, targets: torch.Tensor, generator: np.random.Generator
    ) -> torch.Tensor:
        """Return the coefficients of each target laid on the superpixels, (targets, height, width)."""
        segments = superpixel_number_of_each_pixel(
            image[0], request.options["segments"], request.options["n_segments"]
        )
        n_superpixels = int(segments.max()) + 1
        if n_superpixels < 2:
            raise _single_superpixel_error(request.options["segments"], request.options["n_segments"])
        n_needed = n_superpixels + n_fixed_samples
        if n_samples < n_needed:
            raise ValueRangeError(
                Setting("n_samples", n_samples),
                f" are too few for {n_superpixels} superpixels, which need {n_needed}",
                hint=f"take {20 * n_superpixels} or more, or fewer superpixels",
            )
        shown = draw(generator, n_samples, n_superpixels)
        outputs, cosines = _sample_outputs_and_cosine_similarities(request, image, baseline, segments, shown)
        coefficients = []
        for target in targets.tolist():
            samples = MaskedSamples(shown.astype(np.float32), outputs[:, target], cosines)
            coefficients.append(fit(samples))
        # (targets, superpixels), laid on the pixels of each superpixel: (targets, height, width)
        return torch.from_numpy(np.stack(coefficients)[:, segments])

    return request.maps_of_all_images(coefficient_maps)


def _single_superpixel_error(segments: Any, n_segments: int) -> ValueRangeError:
    """Make the error for an image of one superpixel, whose hint names the option that gives more."""
    option = "segments"
    hint = Message("give ", Setting("segments"), " of two or more superpixels")
    if isinstance(segments, str) and n_segments < 2:
        option = "n_segments"
        hint = Message(Setting("n_segments", 49), " is usual")
    elif isinstance(segments, str):
        # SLIC may make one superpixel of an image with hardly any contrast, whatever `n_segments` is
        hint = Message(Setting("segments", "grid"), " divides every image")
    return ValueRangeError("an image of one superpixel has nothing to compare", hint=hint, option=option)


def _sample_outputs_and_cosine_similarities(
    request: Request, image: torch.Tensor, baseline: torch.Tensor, segments: np.ndarray, shown: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the outputs (n_samples, n_outputs) for samples of an image, and their cosines to the image.

    `segments` has the number of each pixel's superpixel, `shown` the superpixels that each sample shows.
    """
    device_segments = torch.as_tensor(segments, device=image.device)
    flat_image = image.flatten(1).float()
    outputs = []
    cosines = []
    for batch in torch.as_tensor(shown, device=image.device).split(request.batch_size):
        # (samples, 1, height, width), for all channels
        pixel_is_shown = batch[:, device_segments][:, None]
        samples = torch.where(pixel_is_shown, image, baseline)
        outputs.append(request.outputs(samples).float())
        cosine = cosine_similarity(flat_image, samples.flatten(1).float())
        cosines.append(cosine.cpu())
    return torch.cat(outputs).numpy(), torch.cat(cosines).numpy()


def superpixel_number_of_each_pixel(
    image: torch.Tensor,
    segments: str | np.ndarray | Callable[[np.ndarray], np.ndarray] = "grid",
    n_segments: int = 49,
) -> np.ndarray:
    """Return the number of the superpixel of each pixel of an image (channels, height, width).

    Superpixels are counted from 0 without gaps. With `segments="grid"` they are nearly square cells, the same
    for all images; sides that do not divide give cells that differ by a pixel. With "slic" they are
    scikit-image's SLIC, by place and value. An array gives them for all images; a callable takes an image and
    returns them. `n_segments` is their approximate number, for "grid" and "slic".
    """
    shape = (int(image.shape[1]), int(image.shape[2]))
    if isinstance(segments, str):
        check_choice(segments, ("grid", "slic"), "segments")
        check_count(n_segments, "n_segments")
        labels = (
            grid_cell_numbers(shape, n_segments) if segments == "grid" else _slic_numbers(image, n_segments)
        )
    else:
        values: Any = segments
        if callable(segments):
            values = segments(image.cpu().numpy())
        if isinstance(values, torch.Tensor):
            values = values.cpu()
        labels = np.asarray(values)
        if labels.shape != shape:
            raise ShapeError(
                Setting("segments"),
                f" have shape {labels.shape}; the images have {shape}, height and width",
            )
        if labels.dtype.kind not in "iu":
            raise ValueRangeError(
                Setting("segments"),
                f" must be whole numbers, one for each superpixel, not {labels.dtype}",
            )
    # numbers from 0 without gaps
    _, numbers = np.unique(labels, return_inverse=True)
    return numbers.reshape(shape)


def grid_cell_numbers(shape: tuple[int, int], n_segments: int) -> np.ndarray:
    """Return the number of each pixel's cell, in a grid of about `n_segments` nearly square cells.

    Cells are counted row by row.
    """
    height, width = shape
    n_rows = min(max(round((n_segments * height / width) ** 0.5), 1), height, n_segments)
    n_columns = min(max(round(n_segments / n_rows), 1), width)
    rows = np.arange(height) * n_rows // height
    columns = np.arange(width) * n_columns // width
    return np.asarray(rows[:, None] * n_columns + columns)


def _slic_numbers(image: torch.Tensor, n_segments: int) -> np.ndarray:
    """Return the number of each pixel's SLIC superpixel.

    Achanta et al. 2012, doi:10.1109/TPAMI.2012.120, by scikit-image.
    """
    from skimage.segmentation import slic

    values: Any = image.detach().cpu().double().numpy()
    labels = slic(values, n_segments=n_segments, compactness=_COMPACTNESS, channel_axis=0, convert2lab=False)
    return np.asarray(labels)
