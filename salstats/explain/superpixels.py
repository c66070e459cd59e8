"""LIME and KernelSHAP: linear models of the outputs for an image of which superpixels are hidden.

What they explain is the network's output as it is (a logit, as a rule). One set of forward passes serves all
targets of an image. `mixed_precision` reaches these passes; `baseline` is as in `perturbations`.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch.nn.functional import cosine_similarity

from salstats.checks import check_choice, check_count, check_number
from salstats.errors import ShapeError, ValueRangeError
from salstats.explain.request import Request

#: Weight of the two samples that a KernelSHAP model must fit: captum's stand-in for infinity.
_MUST_FIT = 1_000_000.0
#: Between nearness in place and in value, of images scaled to 0 to 1: scikit-image's advice for gray images.
_COMPACTNESS = 0.1


def run_lime(request: Request) -> torch.Tensor:
    """Share of each superpixel in the target's output, by a sparse linear model; (b, 1, height, width).

    As captum's LIME (Ribeiro et al. 2016): random half of the superpixels hidden, samples weighted by how
    alike they are to the image (cosine), a Lasso fitted to the outputs. Every superpixel is hidden or shown
    as one.
    Options: `segments`, `n_segments`, see `superpixels_of`; `n_samples` (1000); `alpha` (0.01), weight of the
    Lasso's penalty, in the units of the output: larger leaves fewer superpixels; `kernel_width` (1), of the
    weights; `baseline` ("zero").
    """
    alpha, width = (
        check_number(request.options[name], name, exclude_low=True) for name in ("alpha", "kernel_width")
    )

    def draw(generator: np.random.Generator, n_samples: int, n_features: int) -> np.ndarray:
        return generator.random((n_samples, n_features)) < 0.5

    def fit(shown: np.ndarray, outputs: np.ndarray, cosines: np.ndarray) -> np.ndarray:
        from sklearn.linear_model import Lasso

        weights = np.exp(-((1 - cosines) ** 2) / (2 * width**2))
        # cyclic descent draws nothing, but without a seed of its own it moves the global generator
        return np.asarray(Lasso(alpha=alpha, random_state=0).fit(shown, outputs, weights).coef_)

    return _surrogates(request, draw, fit)


def run_kernel_shap(request: Request) -> torch.Tensor:
    """Shapley value of each superpixel, estimated by a weighted linear model; (b, 1, height, width).

    As captum's KernelSHAP (Lundberg & Lee 2017): the number of superpixels shown is drawn from the Shapley
    kernel, which ones at random; the samples with none and with all are always there and outweigh the others,
    so that the values add up to the target's output for the image less that for the baseline. Every
    superpixel is hidden or shown as one.
    Options: `segments`, `n_segments`, see `superpixels_of`; `n_samples` (1000), at least two more than there
    are superpixels; `baseline` ("zero").
    """

    def fit(shown: np.ndarray, outputs: np.ndarray, cosines: np.ndarray) -> np.ndarray:
        from sklearn.linear_model import LinearRegression

        # the kernel's own weights are in how samples are drawn
        n_shown = shown.sum(axis=1)
        weights = np.where((n_shown > 0) & (n_shown < shown.shape[1]), 1, _MUST_FIT).astype(np.float32)
        return np.asarray(LinearRegression().fit(shown, outputs, weights).coef_)

    return _surrogates(request, shapley_samples, fit, n_extra=2)


def shapley_samples(generator: np.random.Generator, n_samples: int, n_features: int) -> np.ndarray:
    """Which superpixels each sample shows: all, none, then as drawn; shape (n_samples, n_features)."""
    numbers = np.arange(1, n_features)
    share = 1 / (numbers * (n_features - numbers))
    shown = generator.choice(numbers, size=n_samples, p=share / share.sum())
    shown[:2] = n_features, 0
    ranks = generator.random((n_samples, n_features)).argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks < shown[:, None])


def _surrogates(
    request: Request,
    draw: Callable[[np.random.Generator, int, int], np.ndarray],
    fit: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    n_extra: int = 0,
) -> torch.Tensor:
    """Coefficients of a linear model of the outputs, laid on the superpixels.

    `draw` gives which superpixels each sample shows, `fit` the coefficients of samples, outputs and the
    cosines between samples and image.
    """
    n_samples = check_count(request.options["n_samples"], "n_samples", 2)

    def of_image(
        image: torch.Tensor, baseline: torch.Tensor, targets: torch.Tensor, generator: np.random.Generator
    ) -> torch.Tensor:
        segments = superpixels_of(image[0], request.options["segments"], request.options["n_segments"])
        n_features = int(segments.max()) + 1
        if n_features < 2:
            raise ValueRangeError("an image of one superpixel has nothing to compare; n_segments=49 is usual")
        if n_samples < n_features + n_extra:
            raise ValueRangeError(
                f"n_samples={n_samples} are too few for {n_features} superpixels; take {20 * n_features} "
                "or more, or fewer superpixels"
            )
        shown = draw(generator, n_samples, n_features)
        of_pixels, outputs, cosines = torch.as_tensor(segments, device=image.device), [], []
        for part in torch.as_tensor(shown, device=image.device).split(request.batch_size):
            changed = torch.where(part[:, of_pixels][:, None], image, baseline)
            outputs.append(request.outputs(changed).float())
            cosines.append(cosine_similarity(image.flatten(1).float(), changed.flatten(1).float()).cpu())
        found, likeness = torch.cat(outputs).numpy(), torch.cat(cosines).numpy()
        coefficients = [fit(shown.astype(np.float32), found[:, k], likeness) for k in targets.tolist()]
        return torch.from_numpy(np.stack(coefficients)[:, segments])

    return request.by_image(of_image)


def superpixels_of(
    image: torch.Tensor,
    segments: str | np.ndarray | Callable[[np.ndarray], np.ndarray] = "grid",
    n_segments: int = 49,
) -> np.ndarray:
    """Superpixel of each pixel of an image (channels, height, width), counted from 0 without gaps.

    `segments` is "grid": nearly square cells, the same for all images; sides that do not divide give cells
    that differ by a pixel. "slic": scikit-image's SLIC, by place and value. An array gives them for all
    images; a callable takes an image and returns them. `n_segments` says about how many, for "grid" and
    "slic".
    """
    shape = (int(image.shape[1]), int(image.shape[2]))
    if isinstance(segments, str):
        check_choice(segments, ("grid", "slic"), "segments")
        check_count(n_segments, "n_segments")
        found = grid(shape, n_segments) if segments == "grid" else _slic(image, n_segments)
    else:
        found = segments(image.cpu().numpy()) if callable(segments) else segments
        found = np.asarray(found.cpu() if isinstance(found, torch.Tensor) else found)
        if found.shape != shape:
            raise ShapeError(f"segments have shape {found.shape}; the images have {shape}, height and width")
        if found.dtype.kind not in "iu":
            raise ValueRangeError(
                f"segments must be whole numbers, one for each superpixel, not {found.dtype}"
            )
    return np.unique(found, return_inverse=True)[1].reshape(shape)


def grid(shape: tuple[int, int], n_segments: int) -> np.ndarray:
    """Cells, nearly square and about so many, counted row by row."""
    height, width = shape
    n_rows = min(max(round((n_segments * height / width) ** 0.5), 1), height)
    n_columns = min(max(round(n_segments / n_rows), 1), width)
    rows = np.arange(height) * n_rows // height
    columns = np.arange(width) * n_columns // width
    return np.asarray(rows[:, None] * n_columns + columns)


def _slic(image: torch.Tensor, n_segments: int) -> np.ndarray:
    """SLIC superpixels."""
    from skimage.segmentation import slic

    values, options = image.detach().cpu().double().numpy(), {"channel_axis": 0, "convert2lab": False}
    return np.asarray(slic(values, n_segments=n_segments, compactness=_COMPACTNESS, **options))
