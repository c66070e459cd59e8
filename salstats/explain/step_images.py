"""Images of which some pixels are shown and the others blanked out, and batches of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch.nn.functional import conv2d

from salstats.checks import ShapeError, ValueRangeError, check_choice

#: What stands where a pixel is not shown.
BASELINES = ("blur", "zero", "mean")
#: Side and standard deviation in pixels of the blur: the evaluation of RISE.
KERNEL, SIGMA = 11, 5.0


@dataclass(frozen=True)
class Baseline:
    """What stands where a pixel is not shown.

    Attributes
    ----------
    name : str
        "blur", "zero", "mean" or "array".
    values : Tensor, optional
        Those given as an array: of shape (1, channels, 1 or height, 1 or width), or (n, ...).
    kernel : int
        Side of the blur in pixels, odd.
    sigma : float
        Standard deviation of the blur in pixels.
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

    def of(self, images: torch.Tensor, places: Any) -> torch.Tensor:
        """Return the baselines of images, which stand at some places of all images."""
        if self.name == "zero":
            return torch.zeros_like(images)
        if self.name == "mean":
            return images.mean(dim=(2, 3), keepdim=True).expand_as(images)
        if self.name == "blur":
            return _blurred(images, self.kernel, self.sigma)
        assert self.values is not None
        values = self.values[places] if self.differs else self.values
        return values.to(images).expand_as(images)


def check_baseline(baseline: Any, shape: tuple[int, ...], kernel: int, sigma: float) -> Baseline:
    """Return what stands where a pixel is not shown, for images of a shape (n, channels, height, width)."""
    if isinstance(baseline, str):
        check_choice(baseline, BASELINES, "baseline")
        if (
            isinstance(kernel, bool)
            or not isinstance(kernel, int | np.integer)
            or kernel < 1
            or not kernel % 2
        ):
            raise ValueRangeError(f"kernel must be an odd number of pixels, not {kernel!r}")
        if not sigma > 0 or not np.isfinite(sigma):
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


def _blurred(images: torch.Tensor, kernel: int, sigma: float) -> torch.Tensor:
    """Return images blurred channel by channel; outside of them is zero."""
    impulse = np.zeros((kernel, kernel))
    impulse[kernel // 2, kernel // 2] = 1
    # what of the Gaussian lies outside the kernel is folded back into it, so that it sums to 1
    weights = torch.from_numpy(gaussian_filter(impulse, sigma, mode="reflect")).to(images)
    n_channels = images.shape[1]
    return conv2d(
        images, weights.expand(n_channels, 1, kernel, kernel), padding=kernel // 2, groups=n_channels
    )


@dataclass(frozen=True)
class Ordered:
    """An image whose pixels have an order; all on the device.

    Attributes
    ----------
    first, last : Tensor of float, shape (channels, height, width)
        The image before the first step and after the last: baseline and image, or the other way round.
    ranks : Tensor of int32, shape (height, width)
        See `pixel_ranks`.
    """

    first: torch.Tensor
    last: torch.Tensor
    ranks: torch.Tensor

    def write(self, out: torch.Tensor, counts: torch.Tensor) -> None:
        """Write the images in which so many pixels are changed; one comparison makes each."""
        changed = self.ranks < counts[:, None, None]
        torch.where(changed[:, None], self.last, self.first, out=out)


def batches(pieces: Iterable[tuple[Ordered, torch.Tensor]], batch_size: int) -> Iterator[torch.Tensor]:
    """Yield the images of consecutive pieces, `batch_size` at a time; the next batch takes the same memory.

    Parameters
    ----------
    pieces : iterable of (Ordered, Tensor of int, shape (k,))
        An image, and after how many pixels to show it.
    batch_size : int
        Images in a batch; the last has what is left.
    """
    buffer: torch.Tensor | None = None
    filled = 0
    for ordered, counts in pieces:
        if buffer is None:
            # as `outputs_of` shows images on a CPU
            on_cpu = ordered.last.device.type == "cpu"
            buffer = torch.empty(
                (batch_size, *ordered.last.shape),
                dtype=ordered.last.dtype,
                device=ordered.last.device,
                memory_format=torch.channels_last if on_cpu else torch.contiguous_format,
            )
        done = 0
        while done < len(counts):
            n = min(batch_size - filled, len(counts) - done)
            ordered.write(buffer[filled : filled + n], counts[done : done + n])
            filled, done = filled + n, done + n
            if filled == batch_size:
                yield buffer
                filled = 0
    if buffer is not None and filled:
        yield buffer[:filled]
