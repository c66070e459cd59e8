"""A network asked about images whose pixels are shown step by step: what all such questions share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import torch
from torch import nn

from salstats.checks import ValueRangeError
from salstats.explain.forward import dtype_of, to_probabilities
from salstats.explain.layout import outputs_of
from salstats.explain.pixel_order import pixel_ranks
from salstats.explain.request import bytes_of
from salstats.explain.step_images import Baseline, Ordered, batches


@dataclass
class Stepping:
    """A model in evaluation mode, its images, and what stands where a pixel is not shown.

    Attributes
    ----------
    model : torch.nn.Module
    images : Tensor, shape (n, channels, height, width)
        Wherever they lie; an image is on the device while it is looked at.
    baseline : Baseline
    device : torch.device
    batch_size : int
    mixed_precision : bool
    """

    model: nn.Module
    images: torch.Tensor
    baseline: Baseline
    device: torch.device
    batch_size: int
    mixed_precision: bool = False
    _held: tuple[int, torch.Tensor, torch.Tensor] | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width) of the images."""
        height, width = self.images.shape[-2:]
        return int(height), int(width)

    def outputs(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the outputs for images of one batch: float64 on the CPU, (b, n_outputs)."""
        return outputs_of(
            self.model,
            batch,
            batch_size=len(batch),
            device=self.device,
            mixed_precision=self.mixed_precision,
        )

    def ends(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the outputs for the whole images and for their baselines; equal images are asked once."""
        first, inverse = _distinct(self.images, each=self.baseline.differs)
        whole, blank = [], []
        for start in range(0, len(first), self.batch_size):
            places = first[start : start + self.batch_size]
            batch = self._on_device(self.images[places])
            whole.append(self.outputs(batch))
            blank.append(self.outputs(self.baseline.of(batch, places)))
        return torch.cat(whole)[inverse], torch.cat(blank)[inverse]

    def ordered(self, place: int, saliency: np.ndarray, *, deleting: bool = False) -> Ordered | None:
        """Return an image with the order of its pixels; None where the map has no order."""
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
        """Return numbers of pixels as the device compares them."""
        return torch.from_numpy(sizes.astype(np.int32)).to(self.device)

    def _image(self, place: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return an image and its baseline; those asked for last are kept."""
        if self._held is None or self._held[0] != place:
            image = self._on_device(self.images[place : place + 1])
            self._held = (place, image[0], self.baseline.of(image, [place])[0].contiguous())
        return self._held[1:]

    def _on_device(self, images: torch.Tensor) -> torch.Tensor:
        """Return images on the device, in the model's type of number."""
        return images.to(device=self.device, dtype=dtype_of(self.model))


def _distinct(images: torch.Tensor, *, each: bool) -> tuple[list[int], list[int]]:
    """Return the first places of images that differ, and which of them every image is."""
    if each:
        return list(range(len(images))), list(range(len(images)))
    known: dict[bytes, int] = {}
    first: list[int] = []
    inverse: list[int] = []
    for place, image in enumerate(images):
        key = bytes_of(image)
        if key not in known:
            known[key] = len(first)
            first.append(place)
        inverse.append(known[key])
    return first, inverse


def probabilities(outputs: torch.Tensor, targets: np.ndarray, probability: str) -> np.ndarray:
    """Return the probability of each row's target, float64; NaN where the model gave it."""
    rows = to_probabilities(outputs, probability)
    return np.asarray(rows[torch.arange(len(rows)), torch.from_numpy(targets)].numpy())


def raise_nan(name: str, n_pixels: int) -> NoReturn:
    """Raise ValueRangeError for an image, with so many pixels changed, for which the model gave NaN."""
    raise ValueRangeError(
        f"{name}: the model gave NaN with {n_pixels} pixels changed; a model that is right on every image, "
        "another baseline or full precision would do"
    )
