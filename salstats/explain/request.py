"""The input of a method: one batch of images, their targets, layers, options and random numbers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from salstats.explain.baselines import baseline_of_each_image
from salstats.explain.forward_passes import Passes, dtype_of
from salstats.explain.input_checks import groups_of_equal_images

#: Turns the output of a layer, (b, tokens, channels), into a grid (b, channels, height, width).
Reshape = Callable[[torch.Tensor], torch.Tensor]
#: What a method returns for a request, before the channels are reduced and the sign rule is applied: (b,
#: channels, height, width), on a grid of the method's own.
RawAttributions = torch.Tensor
#: Makes the maps of one image, see `Request.maps_of_all_images`.
MapsOfOneImage = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, np.random.Generator], torch.Tensor]


class DistinctImage(NamedTuple):
    """An image of a request, with the indices of all images that equal it.

    `image` has shape (1, channels, height, width), as has its `baseline`.
    """

    indices: list[int]
    image: torch.Tensor
    baseline: torch.Tensor


@dataclass(frozen=True, kw_only=True)
class Request(Passes):
    """A checked batch of images to be explained by a method.

    Attributes
    ----------
    images : Tensor, shape (b, channels, height, width)
        On the device, of the model's type of number; on any device where only
        `distinct_images_with_indices_and_baselines` is used.
    targets : Tensor of int64, shape (b,)
        On the device.
    seeds : tuple of int
        One per image; equal images have equal ones.
    layers : mapping of str to torch.nn.Module
        The layers to be read, in the order of a pass, as `hooked` takes them; empty if the method has none.
    reshape : callable, optional
        Makes a grid of a layer's tokens.
    options : mapping
        Options of the method, with its defaults filled in.
    equal_image_groups : list of list of int, optional
        The indices of equal images; None if they have to be searched.
    channels, sign, join : str
        As for `explain`. A method with several layers needs them to join its maps.
    """

    images: torch.Tensor
    targets: torch.Tensor
    seeds: tuple[int, ...]
    layers: Mapping[str, nn.Module] = field(default_factory=dict)
    reshape: Reshape | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    equal_image_groups: list[list[int]] | None = None
    channels: str = "sum"
    sign: str = "signed"
    join: str = "average"

    def pass_once(self, images: torch.Tensor) -> None:
        """Pass images through the model once, without gradients, for hooks that record outputs of modules.

        `outputs` may cut a batch into several passes, and repeat images.
        """
        self.batched_outputs_without_gradients(images, len(images))

    def generator(self, image_index: int) -> np.random.Generator:
        """Return a new generator with the seed of an image, which draws the same numbers each time."""
        return np.random.default_rng(self.seeds[image_index])

    def maps_of_all_images(self, maps_of_one_image: MapsOfOneImage) -> torch.Tensor:
        """Make the map of each image and target, (b, 1, height, width), image by image.

        `maps_of_one_image` takes an image (1, channels, height, width), its baseline, its targets and a
        generator of random numbers, and returns a map for each target; its passes serve all targets.
        """
        maps = torch.empty((len(self.images), 1, *self.images.shape[2:]), dtype=torch.float64)
        for indices, image, baseline in self.distinct_images_with_indices_and_baselines():
            targets = self.targets[indices].cpu()
            target_maps = maps_of_one_image(image, baseline, targets, self.generator(indices[0]))
            maps[indices, 0] = target_maps.double()
        return maps

    def distinct_images_with_indices_and_baselines(self) -> Iterator[DistinctImage]:
        """Yield each distinct image once, with its baseline and the indices of the images that equal it."""
        for indices in self.equal_groups():
            image = self.images[indices[:1]].to(device=self.device, dtype=dtype_of(self.model))
            yield DistinctImage(indices, image, baseline_of_each_image(image, self.options["baseline"]))

    def equal_groups(self) -> list[list[int]]:
        """Return the indices of equal images, so that passes that serve all outputs are made once."""
        if self.equal_image_groups is not None:
            return self.equal_image_groups
        return groups_of_equal_images(self.images, self.seeds)
