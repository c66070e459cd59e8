"""Images whose pixels change step by step: the order of pixels, the sizes of steps, the network's outputs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import NamedTuple, NoReturn

import numpy as np
import torch

from salstats.checks import check_count
from salstats.errors import Message, Setting, ValueRangeError
from salstats.explain.baselines import Baseline
from salstats.explain.forward_passes import Passes, dtype_of, to_probabilities
from salstats.explain.input_checks import groups_of_equal_images
from salstats.images.map_steps import resize
from salstats.images.maps import SaliencyOnImage, check_saliency

#: Reason in frames for a map that gives pixels no order.
CONSTANT_MAP = "constant map"


def pixel_ranks_or_none_for_constant_map(saliency: np.ndarray, shape: tuple[int, int]) -> np.ndarray | None:
    """Return the rank of each pixel in the order of salience, int32; None for a constant map.

    0 is the most salient pixel. A map of another size is laid over the image as `score` does: bilinear,
    half-pixel centres. Equal values follow each other in row-major order.
    """
    values = check_saliency(saliency)
    if SaliencyOnImage(values, shape).is_constant:
        return None
    if values.shape != shape:
        # stretched to [0, 1] first, as the resize rounds to single precision
        lowest = values.min()
        values = resize((values - lowest) / (values.max() - lowest), shape)
    order = np.argsort(-values.ravel(), kind="stable")
    ranks = np.empty(order.size, np.int32)
    ranks[order] = np.arange(order.size, dtype=np.int32)
    return ranks.reshape(shape)


def changed_pixel_counts(n_pixels: int, steps: int, chunk: int | None) -> np.ndarray:
    """Return the number of changed pixels after each step: `steps` even steps, or steps of `chunk` pixels.

    The first number is 0, the last is all pixels; there are at most as many steps as pixels. With `chunk` the
    last step changes the pixels that are left.
    """
    if chunk is not None:
        return np.append(np.arange(0, n_pixels, check_count(chunk, "chunk")), n_pixels)
    n_steps = min(check_count(steps, "steps"), n_pixels)
    return np.arange(n_steps + 1) * n_pixels // n_steps


class OrderedImage(NamedTuple):
    """An image before the first step and after the last, and the order in which its pixels change."""

    #: Shape (channels, height, width), as `last_image`.
    first_image: torch.Tensor
    last_image: torch.Tensor
    #: Rank of each pixel, (height, width); that of rank 0 changes first.
    ranks: torch.Tensor

    def first_image_changed_to_last(self, counts: list[int]) -> torch.Tensor:
        """Return an image for each number of changed pixels, shape (len(counts), channels, height, width)."""
        n_changed = torch.tensor(counts, device=self.ranks.device)
        # (counts, height, width), the same for all channels
        is_changed = self.ranks < n_changed[:, None, None]
        return torch.where(is_changed[:, None], self.last_image, self.first_image)


@dataclass(frozen=True, kw_only=True)
class PixelSteps(Passes):
    """A model, its images, and the baseline of hidden pixels."""

    images: torch.Tensor
    baseline: Baseline

    def image_and_baseline_outputs(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the outputs (n, n_outputs) for the whole images, and those for their baselines.

        Equal images share a pass, unless each image has a baseline of its own.
        """
        if self.baseline.has_array_for_each_image:
            groups = [[index] for index in range(len(self.images))]
        else:
            groups = groups_of_equal_images(self.images)
        image_outputs = []
        baseline_outputs = []
        for start in range(0, len(groups), self.batch_size):
            indices = [group[0] for group in groups[start : start + self.batch_size]]
            images = self._images_on_device(indices)
            image_outputs.append(self.outputs(images))
            baseline_outputs.append(self.outputs(self.baseline.for_images(images, indices)))
        group_of_image = np.empty(len(self.images), np.int64)
        for number, group in enumerate(groups):
            group_of_image[group] = number
        return torch.cat(image_outputs)[group_of_image], torch.cat(baseline_outputs)[group_of_image]

    def ordered_image_or_none_for_constant_map(
        self, index: int, saliency: np.ndarray, *, deleting: bool = False
    ) -> OrderedImage | None:
        """Return an image and its baseline with the order of pixels by a map; None for a constant map.

        The steps go from the baseline to the image, or with `deleting` from the image to the baseline.
        """
        ranks = pixel_ranks_or_none_for_constant_map(
            saliency, (int(self.images.shape[2]), int(self.images.shape[3]))
        )
        if ranks is None:
            return None
        images = self._images_on_device([index])
        image = images[0]
        baseline = self.baseline.for_images(images, [index])[0]
        device_ranks = torch.from_numpy(ranks).to(self.device)
        if deleting:
            return OrderedImage(image, baseline, device_ranks)
        return OrderedImage(baseline, image, device_ranks)

    def step_output_batches(self, steps: Iterable[tuple[OrderedImage, np.ndarray]]) -> Iterator[torch.Tensor]:
        """Yield the outputs for images after steps, a batch at a time, in the order of `steps`.

        `steps` gives for each image how many of its pixels are changed in each step. A batch holds
        `batch_size` steps, the last one fewer, of one image or several.
        """
        single_steps = ((ordered, count) for ordered, counts in steps for count in counts.tolist())
        while batch := list(islice(single_steps, self.batch_size)):
            changed_images = []
            for _, image_steps in groupby(batch, key=lambda step: id(step[0])):
                steps_of_image = list(image_steps)
                ordered, _ = steps_of_image[0]
                counts = [count for _, count in steps_of_image]
                changed_images.append(ordered.first_image_changed_to_last(counts))
            images = torch.cat(changed_images)
            # `outputs` prefers channels last on a CPU. Its `contiguous` would leave the strides of images
            # with a single channel as they are; a copy sets them.
            memory_format = torch.contiguous_format
            if images.device.type == "cpu":
                memory_format = torch.channels_last
            yield self.outputs(torch.empty_like(images, memory_format=memory_format).copy_(images))

    def _images_on_device(self, indices: list[int]) -> torch.Tensor:
        """Return images on the device, in the model's type of number."""
        return self.images[indices].to(device=self.device, dtype=dtype_of(self.model))


def target_probabilities(outputs: torch.Tensor, targets: np.ndarray, probability: str) -> np.ndarray:
    """Return the probability of each row's target, float64; NaN where the model gave it."""
    probs = to_probabilities(outputs, probability)
    row = torch.arange(len(probs))
    return np.asarray(probs[row, torch.from_numpy(targets)].numpy())


def raise_for_nan_from_model(image_name: str, image_index: int, n_changed_pixels: int) -> NoReturn:
    """Raise ValueRangeError for an image with changed pixels for which a model gave NaN."""
    raise ValueRangeError(
        f"{image_name}: the model gave NaN with {n_changed_pixels} pixels changed",
        hint=Message(
            "a model that is right on every image, another ",
            Setting("baseline"),
            " or full precision would do",
        ),
        value=n_changed_pixels,
        rows=[image_index],
    )
