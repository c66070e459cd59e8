"""Images whose pixels are shown step by step: in which order, over what, and the network's outputs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import NamedTuple, NoReturn

import numpy as np
import torch

from salstats.checks import check_count
from salstats.errors import ValueRangeError
from salstats.explain.baselines import Baseline
from salstats.explain.forward_passes import Passes, dtype_of, to_probabilities
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
        # stretched first, so that single precision loses no small difference
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


class Ordered(NamedTuple):
    """An image whose pixels have an order: before the first step, after the last, and `pixel_ranks`."""

    first: torch.Tensor
    last: torch.Tensor
    ranks: torch.Tensor

    def with_changed(self, counts: list[int]) -> torch.Tensor:
        """Images in which so many pixels are changed; one comparison makes each."""
        changed = self.ranks < torch.tensor(counts, device=self.ranks.device)[:, None, None]
        return torch.where(changed[:, None], self.last, self.first)


@dataclass(frozen=True, kw_only=True)
class Stepping(Passes):
    """A model, its images, wherever they lie, and what stands where a pixel is not shown."""

    images: torch.Tensor
    baseline: Baseline

    def ends(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Outputs for the whole images and for their baselines; equal images are asked once."""
        groups = [[place] for place in range(len(self.images))]
        if not self.baseline.differs:
            groups = equal_images(self.images)
        whole, blank = [], []
        for start in range(0, len(groups), self.batch_size):
            places = [group[0] for group in groups[start : start + self.batch_size]]
            images = self._on_device(places)
            whole.append(self.outputs(images))
            blank.append(self.outputs(self.baseline.of(images, places)))
        turns = np.empty(len(self.images), np.int64)
        for turn, group in enumerate(groups):
            turns[group] = turn
        return torch.cat(whole)[turns], torch.cat(blank)[turns]

    def ordered(self, place: int, saliency: np.ndarray, *, deleting: bool = False) -> Ordered | None:
        """An image with the order of its pixels; None where the map has no order."""
        ranks = pixel_ranks(saliency, (int(self.images.shape[2]), int(self.images.shape[3])))
        if ranks is None:
            return None
        image = self._on_device([place])
        first, last = self.baseline.of(image, [place])[0], image[0]
        if deleting:
            first, last = last, first
        return Ordered(first, last, torch.from_numpy(ranks).to(self.device))

    def steps(self, pieces: Iterable[tuple[Ordered, np.ndarray]]) -> Iterator[torch.Tensor]:
        """Outputs for images with so many pixels changed, batch by batch, filled across images."""
        asked = ((ordered, n) for ordered, counts in pieces for n in counts.tolist())
        while batch := list(islice(asked, self.batch_size)):
            alike = groupby(batch, key=lambda one: id(one[0]))
            groups = [list(group) for _, group in alike]
            shown = torch.cat([group[0][0].with_changed([n for _, n in group]) for group in groups])
            # channels last as `outputs` has them, also where there is one channel
            order = torch.channels_last if shown.device.type == "cpu" else torch.contiguous_format
            yield self.outputs(torch.empty_like(shown, memory_format=order).copy_(shown))

    def _on_device(self, places: list[int]) -> torch.Tensor:
        """Images on the device, in the model's type of number."""
        return self.images[places].to(device=self.device, dtype=dtype_of(self.model))


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
