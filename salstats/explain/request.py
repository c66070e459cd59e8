"""What a method is asked for: one batch of images, their targets, and what the method needs to know."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from salstats.explain.baselines import baselines_of
from salstats.explain.forward_passes import Passes, dtype_of
from salstats.explain.inputs import equal_images

#: Turns what a layer gives, (b, tokens, channels), into a grid (b, channels, height, width).
Reshape = Callable[[torch.Tensor], torch.Tensor]
#: Makes the maps of one image, see `Request.by_image`.
Make = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, np.random.Generator], torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Request(Passes):
    """One batch, checked.

    Attributes
    ----------
    images : Tensor, shape (b, channels, height, width)
        On the device, of the model's type of number; where only `distinct_images` is used, anywhere.
    targets : Tensor of int64, shape (b,)
        On the device.
    seeds : tuple of int
        One per image; equal images have equal ones.
    layers : mapping of str to torch.nn.Module
        Those asked for, in the order of a pass, as `tapped` takes them; empty where the method has none.
    reshape : callable, optional
        What makes a grid of a layer's tokens.
    options : mapping
        Of the method, with its defaults filled in.
    equal : list of list of int, optional
        The places of equal images, where they are known.
    channels, sign, join : str
        As for `explain`. A method with several layers needs them to join its maps.
    """

    images: torch.Tensor
    targets: torch.Tensor
    seeds: tuple[int, ...]
    layers: Mapping[str, nn.Module] = field(default_factory=dict)
    reshape: Reshape | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    equal: list[list[int]] | None = None
    channels: str = "sum"
    sign: str = "signed"
    join: str = "average"

    def pass_once(self, images: torch.Tensor) -> None:
        """Show the model images in one pass, without gradients, for hooks that note what modules give.

        `outputs` may cut a batch into several passes, and show the same images twice.
        """
        self.forward(images, len(images))

    def generator(self, image: int) -> np.random.Generator:
        """Random numbers of an image: always the same ones."""
        return np.random.default_rng(self.seeds[image])

    def by_image(self, make: Make) -> torch.Tensor:
        """Map of each image and target, (b, 1, height, width), by passes that serve all targets of an image.

        `make` is given an image (1, channels, height, width), its baseline, targets and random numbers, and
        gives a map for each target.
        """
        maps = torch.empty((len(self.images), 1, *self.images.shape[2:]), dtype=torch.float64)
        for places, image, baseline in self.distinct_images():
            made = make(image, baseline, self.targets[places].cpu(), self.generator(places[0]))
            maps[places, 0] = made.double()
        return maps

    def distinct_images(self) -> Iterator[tuple[list[int], torch.Tensor, torch.Tensor]]:
        """Yield the places of equal images, their image (1, channels, height, width) and its baseline."""
        for places in self.groups():
            image = self.images[places[:1]].to(device=self.device, dtype=dtype_of(self.model))
            yield places, image, baselines_of(image, self.options["baseline"])

    def groups(self) -> list[list[int]]:
        """Places of equal images, so that passes that serve all outputs are made once."""
        return equal_images(self.images, self.seeds) if self.equal is None else self.equal
