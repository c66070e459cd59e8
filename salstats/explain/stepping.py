"""Images whose pixels are shown step by step: in which order, over what, and the network's outputs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch.nn.functional import conv2d

from salstats.checks import ShapeError, ValueRangeError, check_choice, check_count
from salstats.explain.forward import Passes, dtype_of, to_probabilities
from salstats.explain.inputs import equal_images
from salstats.images.map_steps import resize
from salstats.images.maps import SaliencyOnImage, check_saliency

#: Why a map has no order.
CONSTANT = "constant map"


def pixel_ranks(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray | None:
    """Place of each pixel in the order of salience, int32; None for a constant map, which has no order.

    0 is the most salient pixel. A map of another size is laid over the image as `score` does: bilinear,
    half-pixel centres. Equal values follow each other in row-major order.
    """
    values = check_saliency(saliency)
    if SaliencyOnImage(values, shape).is_constant:
        return None
    if values.shape != shape:
        # stretched first, so that single precision neither overflows nor loses a small difference
        lowest = values.min()
        values = resize((values - lowest) / (values.max() - lowest), shape)
    order = np.argsort(-values.ravel(), kind="stable")
    ranks = np.empty(order.size, np.int32)
    ranks[order] = np.arange(order.size, dtype=np.int32)
    return ranks.reshape(shape)


def step_sizes(n_pixels: int, steps: int, chunk: int | None) -> np.ndarray:
    """Numbers of pixels after which the model is asked: `steps` even steps, or steps of `chunk` pixels.

    From 0 to all; no more steps than pixels, and the last one of a chunk takes what is left.
    """
    if chunk is not None:
        return np.append(np.arange(0, n_pixels, check_count(chunk, "chunk")), n_pixels)
    n_steps = min(check_count(steps, "steps"), n_pixels)
    return np.arange(n_steps + 1) * n_pixels // n_steps


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


def check_baseline(baseline: Any, shape: tuple[int, ...], kernel: int, sigma: float) -> Baseline:
    """What stands where a pixel is not shown, for images of a shape (n, channels, height, width)."""
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
    """Images blurred channel by channel; outside of them is zero."""
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
    """Images of consecutive pieces, `batch_size` at a time; the next batch takes the same memory."""
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


@dataclass(frozen=True, kw_only=True)
class Stepping(Passes):
    """A model, its images, and what stands where a pixel is not shown.

    Attributes
    ----------
    images : Tensor, shape (n, channels, height, width)
        Wherever they lie; an image is on the device while it is looked at.
    baseline : Baseline
    """

    images: torch.Tensor
    baseline: Baseline
    #: The image that was looked at last, with its place and baseline.
    _held: list[tuple[int, torch.Tensor, torch.Tensor]] = field(default_factory=list, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width) of the images."""
        height, width = self.images.shape[-2:]
        return int(height), int(width)

    def ends(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Outputs for the whole images and for their baselines; equal images are asked once."""
        groups = [[place] for place in range(len(self.images))]
        if not self.baseline.differs:
            groups = equal_images(self.images)
        inverse = np.empty(len(self.images), np.int64)
        for turn, group in enumerate(groups):
            inverse[group] = turn
        first = [group[0] for group in groups]
        whole, blank = [], []
        for start in range(0, len(first), self.batch_size):
            places = first[start : start + self.batch_size]
            batch = self._on_device(self.images[places])
            whole.append(self.outputs(batch))
            blank.append(self.outputs(self.baseline.of(batch, places)))
        return torch.cat(whole)[inverse], torch.cat(blank)[inverse]

    def ordered(self, place: int, saliency: np.ndarray, *, deleting: bool = False) -> Ordered | None:
        """An image with the order of its pixels; None where the map has no order."""
        ranks = pixel_ranks(saliency, self.shape)
        if ranks is None:
            return None
        image, blank = self._image(place)
        first, last = (image, blank) if deleting else (blank, image)
        return Ordered(first, last, torch.from_numpy(ranks).to(self.device))

    def steps(self, pieces: Iterable[tuple[Ordered, torch.Tensor]]) -> Iterator[torch.Tensor]:
        """Yield the outputs for images at their steps, batch by batch, filled across images."""
        for batch in batches(pieces, self.batch_size):
            yield self.outputs(batch)

    def counts(self, sizes: np.ndarray) -> torch.Tensor:
        """Numbers of pixels as the device compares them."""
        return torch.from_numpy(sizes.astype(np.int32)).to(self.device)

    def _image(self, place: int) -> tuple[torch.Tensor, torch.Tensor]:
        """An image and its baseline."""
        if not self._held or self._held[0][0] != place:
            image = self._on_device(self.images[place : place + 1])
            self._held[:] = [(place, image[0], self.baseline.of(image, [place])[0].contiguous())]
        return self._held[0][1:]

    def _on_device(self, images: torch.Tensor) -> torch.Tensor:
        """Images on the device, in the model's type of number."""
        return images.to(device=self.device, dtype=dtype_of(self.model))


def probabilities(outputs: torch.Tensor, targets: np.ndarray, probability: str) -> np.ndarray:
    """Probability of each row's target, float64; NaN where the model gave it."""
    rows = to_probabilities(outputs, probability)
    return np.asarray(rows[torch.arange(len(rows)), torch.from_numpy(targets)].numpy())


def raise_nan(name: str, n_pixels: int) -> NoReturn:
    """Raise ValueRangeError for an image, with so many pixels changed, for which the model gave NaN."""
    raise ValueRangeError(
        f"{name}: the model gave NaN with {n_pixels} pixels changed; a model that is right on every image, "
        "another baseline or full precision would do"
    )
