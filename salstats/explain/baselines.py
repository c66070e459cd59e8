"""Values of the pixels that are hidden from a network."""

from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch.nn.functional import conv2d

from salstats.checks import check_choice
from salstats.errors import Message, Setting, ShapeError, ValueRangeError
from salstats.images.preparation import Preparation

#: Baselines by name that need no more than the image.
BASELINES = ("blur", "zero", "mean")
#: Side in pixels of the blur, as in the evaluation of RISE.
BLUR_KERNEL = 11
#: Standard deviation in pixels of the blur, as in the evaluation of RISE.
BLUR_SIGMA = 5.0


class Baseline(NamedTuple):
    """A checked baseline.

    Attributes
    ----------
    name : str
        "blur", "zero", "mean", "black" or "array".
    values : Tensor, optional
        Values of "black" and "array": of shape (1, channels, 1 or height, 1 or width), or (n, ...).
    kernel, sigma : int, float
        Side and standard deviation of the blur in pixels.
    """

    name: str
    values: torch.Tensor | None = None
    kernel: int = BLUR_KERNEL
    sigma: float = BLUR_SIGMA

    @property
    def has_array_for_each_image(self) -> bool:
        """Return whether each image has its own values, which are not made from its pixels."""
        return self.values is not None and len(self.values) > 1

    @property
    def label(self) -> str:
        """Return the text of the column `baseline` in frames."""
        if self.name == "blur":
            return f"blur ({self.kernel} px, SD {self.sigma:g} px)"
        return self.name

    def for_images(self, images: torch.Tensor, indices_among_all_images: Any = slice(None)) -> torch.Tensor:
        """Return the baselines of images, in their shape.

        `indices_among_all_images` matter for an array that holds a baseline for each of all images.
        """
        if self.name == "zero":
            return torch.zeros_like(images)
        if self.name == "mean":
            return images.mean(dim=(2, 3), keepdim=True).expand_as(images)
        if self.name == "blur":
            return _blurred(images, self.kernel, self.sigma)
        assert self.values is not None
        values = self.values[indices_among_all_images] if self.has_array_for_each_image else self.values
        return values.to(images).expand_as(images)


def black_baseline(preparation: Preparation) -> Baseline:
    """Return the baseline with a preparation's value of a black pixel, (0 - mean) / SD in each channel."""
    prepared, _ = preparation.apply(np.zeros(preparation.size, np.uint8))
    # the middle is always a pixel of the image, and never one of its padding
    height, width = preparation.size
    pixel = prepared[:, height // 2, width // 2].astype(np.float64)
    return Baseline("black", torch.from_numpy(pixel.reshape(1, -1, 1, 1)))


def check_baseline(
    baseline: Any, shape: tuple[int, ...], kernel: int = BLUR_KERNEL, sigma: float = BLUR_SIGMA
) -> Baseline:
    """Return the baseline of an option's value for images of a shape (n, channels, height, width).

    The value is a name of `BASELINES`, numbers, or a `Baseline`, which is returned as it is. `kernel` and
    `sigma` are used only with a name.
    """
    if isinstance(baseline, Baseline):
        if baseline.name == "black":
            _check_channels_match(baseline, shape[1])
        return baseline
    if isinstance(baseline, str):
        check_choice(baseline, BASELINES, "baseline")
        if kernel < 1 or kernel % 2 != 1:
            raise ValueRangeError(
                Setting("kernel"), f" must be an odd number of pixels, not {kernel!r}", value=kernel
            )
        if not 0 < sigma < np.inf:
            raise ValueRangeError(
                Setting("sigma"), f" must be a positive number of pixels, not {sigma!r}", value=sigma
            )
        return Baseline(baseline, kernel=int(kernel), sigma=float(sigma))
    array = baseline.detach().cpu().numpy() if isinstance(baseline, torch.Tensor) else np.asarray(baseline)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ValueRangeError(
            Setting("baseline"),
            " must hold finite numbers, or be one of " + ", ".join(BASELINES),
            choices=BASELINES,
        )
    values_shapes = {
        (): (1, 1, 1, 1),
        shape[1:2]: (1, shape[1], 1, 1),
        shape[1:]: (1, *shape[1:]),
        shape: shape,
    }
    if array.shape not in values_shapes:
        raise ShapeError(
            Setting("baseline"),
            f" has shape {array.shape}; it must be a number or of shape (channels,), "
            f"(channels, height, width) or that of the images, {tuple(shape)}",
            value=array.shape,
        )
    values = torch.tensor(array.reshape(values_shapes[array.shape]), dtype=torch.float64)
    return Baseline("array", values)


def _check_channels_match(baseline: Baseline, n_channels: int) -> None:
    """Raise ShapeError if images have not as many channels as the black baseline of a preparation."""
    assert baseline.values is not None
    n_black = baseline.values.shape[1]
    if n_black != n_channels:
        raise ShapeError(
            f"the network's preparation makes images of {n_black} channels, and these have {n_channels}",
            hint=Message(
                Setting("baseline", "black"), " needs images that this preparation made, ",
                Setting("baseline", "zero"), " takes any",
            ),
            option="baseline",
            value="black",
        )  # fmt: skip


def baseline_of_each_image(images: torch.Tensor, baseline: Any) -> torch.Tensor:
    """Return the baseline of each image, in the images' shape."""
    return check_baseline(baseline, (1, *images.shape[1:])).for_images(images).contiguous()


def _blurred(images: torch.Tensor, kernel: int, sigma: float) -> torch.Tensor:
    """Blur images channel by channel; pixels outside of them count as 0."""
    impulse = np.zeros((kernel, kernel))
    impulse[kernel // 2, kernel // 2] = 1
    # the part of the Gaussian outside the kernel is folded back into it, so that the weights sum to 1
    weights = torch.from_numpy(gaussian_filter(impulse, sigma, mode="reflect")).to(images)
    n_channels = images.shape[1]
    kernels = weights.expand(n_channels, 1, kernel, kernel)
    return conv2d(images, kernels, padding=kernel // 2, groups=n_channels)
