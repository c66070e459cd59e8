"""What a method is asked for: one batch of images, their targets, and what the method needs to know."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from torch import nn

from salstats.explain.forward import Passes

#: Turns what a layer gives, (b, tokens, channels), into a grid (b, channels, height, width).
Reshape = Callable[[torch.Tensor], torch.Tensor]


def bytes_of(image: torch.Tensor) -> bytes:
    """Numbers of an image as bytes, also of types that NumPy does not have."""
    return image.cpu().contiguous().view(torch.uint8).numpy().tobytes()


def equal_images(images: torch.Tensor, seeds: Sequence[int] | np.ndarray | None = None) -> list[list[int]]:
    """Places of equal images, those of equal seeds where they have some."""
    found: dict[tuple[int, bytes], list[int]] = {}
    last: tuple[int, list[int]] | None = None
    for place, image in enumerate(images):
        seed = 0 if seeds is None else int(seeds[place])
        # an image's targets mostly stand side by side
        if last is None or last[0] != seed or not torch.equal(image, images[place - 1]):
            digest = blake2b(bytes_of(image), digest_size=16).digest()
            last = seed, found.setdefault((seed, digest), [])
        last[1].append(place)
    return list(found.values())


@dataclass(frozen=True, kw_only=True)
class Request(Passes):
    """One batch, checked.

    Attributes
    ----------
    images : Tensor, shape (b, channels, height, width)
        On the device, of the model's type of number.
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
    channels, sign : str
        What `explain` does with the result. A method with several layers needs them to join its maps.
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

    def pass_once(self, images: torch.Tensor) -> None:
        """Show the model images in one pass, without gradients, for hooks that note what modules give.

        `outputs` may cut a batch into several passes, and show the same images twice.
        """
        self.forward(images, len(images))

    def generator(self, image: int) -> np.random.Generator:
        """Random numbers of an image: always the same ones."""
        return np.random.default_rng(self.seeds[image])

    def groups(self) -> list[list[int]]:
        """Places of equal images, so that passes that serve all outputs are made once."""
        return equal_images(self.images, self.seeds) if self.equal is None else self.equal
