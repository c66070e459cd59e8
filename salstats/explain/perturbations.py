"""Methods that look at outputs only: Occlusion, LIME and KernelSHAP.

What they explain is the network's output as it is (a logit, as a rule). One set of forward passes serves all
targets of an image. `mixed_precision` reaches these passes. `baseline` is what a hidden pixel shows: "zero",
"mean" (of each channel of the image), "blur" (as in `insertion`), a number, or an array of shape (channels,)
or (channels, height, width).
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import torch
from captum._utils.models.linear_model import SkLearnLasso, SkLearnLinearRegression
from captum._utils.models.model import Model
from captum.attr import Lime
from captum.attr._core.lime import get_exp_kernel_similarity_function

from salstats.checks import ValueRangeError, check_count
from salstats.explain.attributions import baselines_of
from salstats.explain.request import Request
from salstats.explain.superpixels import superpixels_of

#: Weight of the two samples that a KernelSHAP model must fit: captum's stand-in for infinity.
_MUST_FIT = 1_000_000.0


def run_occlusion(request: Request) -> torch.Tensor:
    """Return how much the target's output falls when a window hides a pixel, mean over the windows.

    Windows start at the first row and column and move by the stride until the image is covered; the last may
    be cut off. captum's definition and, to rounding, its numbers. captum computes each target by itself and
    builds full-size masks: its Occlusion takes 12 times as long for ten targets of an image of 64 x 64
    pixels, and most of the time of one of 224 x 224 pixels.

    Parameters
    ----------
    request : Request
        Options: `window`, side in pixels of the network's input, or (height, width); `stride`, pixels, or
        (rows, columns); `baseline` ("zero").

    Returns
    -------
    Tensor, shape (b, 1, height, width)
        The same for all channels, which are hidden together.

    Raises
    ------
    ShapeError, ValueRangeError
        The baseline fits no image; the window is larger than the image; or a stride is larger than the
        window, which would leave pixels unseen.

    References
    ----------
    Zeiler, M. D. and Fergus, R. (2014). Visualizing and understanding convolutional networks. Computer
    Vision - ECCV 2014, 818-833. doi:10.1007/978-3-319-10590-1_53
    """
    shape = (int(request.images.shape[2]), int(request.images.shape[3]))
    window = _pair(request.options["window"], "window")
    stride = _pair(request.options["stride"], "stride")
    for side, length in zip(window, shape, strict=True):
        if side > length:
            raise ValueRangeError(
                f"window={window} is larger than the image, {shape} pixels; a window of "
                f"{max(1, min(shape) // 8)} is usual"
            )
    if any(step > side for step, side in zip(stride, window, strict=True)):
        raise ValueRangeError(f"stride={stride} is larger than window={window}: pixels would be left unseen")
    boxes = list(product(*(_spans(*sides) for sides in zip(shape, window, stride, strict=True))))
    maps = torch.empty((len(request.images), 1, *shape), dtype=torch.float64)
    for places in request.groups():
        image = request.images[places[:1]]
        targets = request.targets[places].cpu()
        whole = request.outputs(image)[0, targets]
        baseline = baselines_of(image, request.options["baseline"])[0]
        falls = torch.zeros((len(places), *shape), dtype=torch.float64)
        n_windows = torch.zeros(shape, dtype=torch.float64)
        for part in _chunks(boxes, request.batch_size):
            hidden = image.repeat(len(part), 1, 1, 1)
            for copy, (rows, columns) in zip(hidden, part, strict=True):
                copy[:, rows, columns] = baseline[:, rows, columns]
            lost = whole - request.outputs(hidden)[:, targets]
            for fall, (rows, columns) in zip(lost, part, strict=True):
                falls[:, rows, columns] += fall[:, None, None]
                n_windows[rows, columns] += 1
        maps[places, 0] = falls / n_windows
    return maps


def _spans(length: int, side: int, step: int) -> list[slice]:
    """Return where windows lie along a side, the last cut off at the end."""
    n_steps = -(-(length - side) // step)
    return [slice(step * i, min(step * i + side, length)) for i in range(n_steps + 1)]


def _pair(value: Any, option: str) -> tuple[int, int]:
    """Return a number of pixels for rows and one for columns."""
    values = tuple(value) if isinstance(value, list | tuple | np.ndarray) else (value, value)
    if len(values) != 2:
        raise ValueRangeError(f"{option} must be a number of pixels or (rows, columns), not {value!r}")
    rows, columns = (check_count(one, option) for one in values)
    return rows, columns


def run_lime(request: Request) -> torch.Tensor:
    """Return what each superpixel adds to the target's output, in a sparse linear model of it.

    captum's LIME: random half of the superpixels hidden, samples weighted by how alike they are to the image
    (cosine), a Lasso fitted to the outputs. Every superpixel is hidden or shown as one.

    Parameters
    ----------
    request : Request
        Options: `segments`, `n_segments`, see `superpixels_of`; `n_samples` (1000); `alpha` (0.01), weight of
        the Lasso's penalty, in the units of the output: larger leaves fewer superpixels; `kernel_width` (1),
        of the weights; `baseline` ("zero").

    Returns
    -------
    Tensor, shape (b, 1, height, width)

    Raises
    ------
    ShapeError, ValueRangeError
        The baseline or the superpixels fit no image, or a number is out of range.

    References
    ----------
    Ribeiro, M. T., Singh, S. and Guestrin, C. (2016). "Why should I trust you?": explaining the predictions
    of any classifier. Proceedings of the 22nd ACM SIGKDD, 1135-1144. doi:10.1145/2939672.2939778
    """
    alpha, width = (_positive(request.options[name], name) for name in ("alpha", "kernel_width"))
    return _surrogates(
        request,
        lambda generator, n_samples, n_features: generator.random((n_samples, n_features)) < 0.5,
        # cyclic descent draws nothing, but without a seed of its own it moves the global generator
        lambda: SkLearnLasso(alpha=alpha, random_state=0),
        get_exp_kernel_similarity_function("cosine", kernel_width=width),
    )


def run_kernel_shap(request: Request) -> torch.Tensor:
    """Return the Shapley value of each superpixel, estimated by a weighted linear model.

    captum's KernelSHAP: the number of superpixels shown is drawn from the Shapley kernel, which ones at
    random; the samples with none and with all are always there and outweigh the others. Every superpixel is
    hidden or shown as one.

    Parameters
    ----------
    request : Request
        Options: `segments`, `n_segments`, see `superpixels_of`; `n_samples` (1000), at least two more than
        there are superpixels; `baseline` ("zero").

    Returns
    -------
    Tensor, shape (b, 1, height, width)
        The superpixels' values add up to the target's output for the image less that for the baseline.

    Raises
    ------
    ShapeError, ValueRangeError
        The baseline or the superpixels fit no image, or there are fewer samples than superpixels need.

    References
    ----------
    Lundberg, S. M. and Lee, S.-I. (2017). A unified approach to interpreting model predictions. Advances in
    Neural Information Processing Systems 30, 4765-4774. arXiv:1705.07874
    """
    return _surrogates(
        request, shapley_samples, SkLearnLinearRegression, _shapley_weight, n_extra=2, n_least=2
    )


def shapley_samples(generator: np.random.Generator, n_samples: int, n_features: int) -> np.ndarray:
    """Return which superpixels each sample shows: all, none, then as drawn; shape (n_samples, n_features)."""
    numbers = np.arange(1, n_features)
    share = 1 / (numbers * (n_features - numbers))
    shown = generator.choice(numbers, size=n_samples, p=share / share.sum())
    shown[:2] = n_features, 0
    ranks = generator.random((n_samples, n_features)).argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks < shown[:, None])


def _shapley_weight(image: Any, changed: Any, shown: torch.Tensor, **_: Any) -> torch.Tensor:
    """Return the weight of a sample: that of the kernel is in how samples are drawn."""
    n_shown = int(shown.sum())
    return torch.tensor([1.0 if 0 < n_shown < shown.numel() else _MUST_FIT])


def _surrogates(
    request: Request,
    draw: Callable[[np.random.Generator, int, int], np.ndarray],
    linear_model: Callable[[], Any],
    similarity: Callable[..., Any],
    *,
    n_extra: int = 0,
    n_least: int = 1,
) -> torch.Tensor:
    """Return the coefficients of a linear model of the outputs, laid on the superpixels."""
    n_samples = check_count(request.options["n_samples"], "n_samples", 2)
    shape = request.images.shape[2:]
    maps = torch.empty((len(request.images), 1, *shape), dtype=torch.float32)
    for places in request.groups():
        image = request.images[places[:1]]
        segments = superpixels_of(image[0], request.options["segments"], request.options["n_segments"])
        n_features = int(segments.max()) + 1
        if n_features < n_least:
            raise ValueRangeError("an image of one superpixel has nothing to compare; n_segments=49 is usual")
        if n_samples < n_features + n_extra:
            raise ValueRangeError(
                f"n_samples={n_samples} are too few for {n_features} superpixels; take {20 * n_features} "
                "or more, or fewer superpixels"
            )
        samples = draw(request.generator(places[0]), n_samples, n_features)
        data = _Data()
        passes: list[torch.Tensor] = []
        # captum reads its samples in an order that it draws, and starts its linear models at random
        with torch.random.fork_rng(devices=[]):
            Lime(_kept(request, passes), data, similarity, _one_by_one(samples, image.device)).attribute(
                image,
                baselines=baselines_of(image, request.options["baseline"]),
                # of all outputs, which are kept
                target=0,
                feature_mask=torch.as_tensor(segments, device=image.device)[None, None],
                n_samples=n_samples,
                perturbations_per_eval=request.batch_size,
                return_input_shape=False,
            )
            outputs = torch.cat(passes).float()
            for place, target in zip(places, request.targets[places].tolist(), strict=True):
                fitted = linear_model()
                fitted.fit([(data.samples, outputs[:, target], data.weights)])
                maps[place, 0] = fitted.representation().flatten()[torch.from_numpy(segments)]
    return maps


def _one_by_one(samples: np.ndarray, device: torch.device) -> Callable[..., Iterator[torch.Tensor]]:
    """Return what gives captum its samples, in their order."""

    def generate(image: Any, **_: Any) -> Iterator[torch.Tensor]:
        for sample in samples:
            yield torch.as_tensor(sample[None], device=device).long()

    return generate


class _Data(Model):
    """Stands where captum expects a linear model, and keeps what it would be fitted to."""

    def fit(self, train_data: Any, **_: Any) -> None:
        """Keep samples, shape (n_samples, n_features), and their weights, shape (n_samples,)."""
        self.samples, _, self.weights = train_data.dataset.tensors

    def representation(self) -> torch.Tensor:
        """Return no coefficients."""
        return torch.zeros(self.samples.shape[1])

    def __call__(self, x: Any) -> Any:
        """Predict nothing."""
        raise NotImplementedError


def _kept(request: Request, passes: list[torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return forward passes whose outputs are kept."""

    def outputs(images: torch.Tensor) -> torch.Tensor:
        passes.append(request.outputs(images))
        return passes[-1]

    return outputs


def _chunks(items: list[Any], size: int) -> Iterator[list[Any]]:
    """Yield so many items at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _positive(value: Any, option: str) -> float:
    """Return a positive number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
        raise ValueRangeError(f"{option} must be a positive number, not {value!r}")
    return float(value)
