"""What stands where a pixel is not shown."""

from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch.nn.functional import conv2d

from salstats.checks import check_choice
from salstats.errors import ShapeError, ValueRangeError
from salstats.images.preparation import Preparation

BASELINES = ("blur", "zero", "mean")
#: Side and standard deviation in pixels of the blur: the evaluation of RISE.
KERNEL, SIGMA = 11, 5.0


class Baseline(NamedTuple):
    """A baseline, checked.

    Attributes
    ----------
    name : str
        "blur", "zero", "mean", "black" or "array".
    values : Tensor, optional
        Those of "black" and "array": of shape (1, channels, 1 or height, 1 or width), or (n, ...).
    kernel, sigma : int, float
        Side and standard deviation of the blur in pixels.
    """

    name: str
    values: torch.Tensor | None = None
    kernel: int = KERNEL
    sigma: float = SIGMA

    @property
    def differs(self) -> bool:
        """Whether each image has a baseline of its own that is not made of its pixels."""
        return self.values is not None and len(self.values) > 1

    @property
    def text(self) -> str:
        """What frames say of it."""
        return f"blur ({self.kernel} px, SD {self.sigma:g} px)" if self.name == "blur" else self.name

    def of(self, images: torch.Tensor, places: Any = slice(None)) -> torch.Tensor:
        """Baselines of images, which stand at some places of all images."""
        if self.name == "zero":
            return torch.zeros_like(images)
        if self.name == "mean":
            return images.mean(dim=(2, 3), keepdim=True).expand_as(images)
        if self.name == "blur":
            return _blurred(images, self.kernel, self.sigma)
        assert self.values is not None
        values = self.values[places] if self.differs else self.values
        return values.to(images).expand_as(images)


def black(preparation: Preparation) -> Baseline:
    """Return what a preparation makes of a black pixel, by channel: 0 less the mean, by the SD."""
    ready, _ = preparation.apply(np.zeros(preparation.size, np.uint8))
    # the middle is always a pixel of the image, and never one of its padding
    height, width = preparation.size
    pixel = ready[:, height // 2, width // 2].astype(np.float64)
    return Baseline("black", torch.from_numpy(pixel.reshape(1, -1, 1, 1)))


def check_baseline(
    baseline: Any, shape: tuple[int, ...], kernel: int = KERNEL, sigma: float = SIGMA
) -> Baseline:
    """What stands where a pixel is not shown, for images of a shape (n, channels, height, width)."""
    if isinstance(baseline, Baseline):
        if baseline.name == "black":
            _check_channels(baseline, shape[1])
        return baseline
    if isinstance(baseline, str):
        check_choice(baseline, BASELINES, "baseline")
        if kernel < 1 or kernel % 2 != 1:
            raise ValueRangeError(f"kernel must be an odd number of pixels, not {kernel!r}")
        if not 0 < sigma < np.inf:
            raise ValueRangeError(f"sigma must be a positive number of pixels, not {sigma!r}")
        return Baseline(baseline, kernel=int(kernel), sigma=float(sigma))
    array = baseline.detach().cpu().numpy() if isinstance(baseline, torch.Tensor) else np.asarray(baseline)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise ValueRangeError("baseline must hold finite numbers, or be one of " + ", ".join(BASELINES))
    fits = {(): (1, 1, 1, 1), shape[1:2]: (1, shape[1], 1, 1), shape[1:]: (1, *shape[1:]), shape: shape}
    if array.shape not in fits:
        raise ShapeError(
            f"baseline has shape {array.shape}; it must be a number or of shape (channels,), "
            f"(channels, height, width) or that of the images, {tuple(shape)}"
        )
    return Baseline("array", torch.tensor(array.reshape(fits[array.shape]), dtype=torch.float64))


def _check_channels(baseline: Baseline, n_channels: int) -> None:
    """Raise where images have other channels than the preparation that made a black baseline."""
    assert baseline.values is not None
    of_black = baseline.values.shape[1]
    if of_black != n_channels:
        raise ShapeError(
            f"the network's preparation makes images of {of_black} channels, and these have {n_channels}; "
            "baseline='black' needs images that this preparation made, baseline='zero' takes any"
        )


def baselines_of(images: torch.Tensor, baseline: Any) -> torch.Tensor:
    """Baseline of each image, in the images' shape."""
    return check_baseline(baseline, (1, *images.shape[1:])).of(images).contiguous()


def _blurred(images: torch.Tensor, kernel: int, sigma: float) -> torch.Tensor:
    """Images blurred channel by channel; outside of them is zero."""
    impulse = np.zeros((kernel, kernel))
    impulse[kernel // 2, kernel // 2] = 1
    # what of the Gaussian lies outside the kernel is folded back into it, so that it sums to 1
    weights = torch.from_numpy(gaussian_filter(impulse, sigma, mode="reflect")).to(images)
    n_channels = images.shape[1]
    return conv2d(
        images, weights.expand(n_channels, 1, kernel, kernel), padding=kernel // 2, groups=n_channels
    )
