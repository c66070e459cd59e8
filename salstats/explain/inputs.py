"""What comes in: images, their targets, what the network made of them; and which images are equal."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import torch

from salstats.errors import ShapeError, ValueRangeError


def check_images(images: Any) -> torch.Tensor:
    """Images as a tensor of shape (n, channels, height, width), finite, where they lie."""
    if isinstance(images, list | tuple) and images and isinstance(images[0], torch.Tensor):
        images = [one.detach().cpu() for one in images]
    stack = images.detach() if isinstance(images, torch.Tensor) else _tensor(images)
    if stack.ndim != 4:
        raise ShapeError(
            f"images must have shape (n, channels, height, width), not {tuple(stack.shape)}; one image is "
            "images[None]"
        )
    if not stack.numel():
        raise ValueRangeError(f"images of shape {tuple(stack.shape)} hold nothing to explain")
    stack = stack if stack.is_floating_point() else stack.float()
    # isfinite of every pixel takes many times as long as a sum, which may overflow
    finite = torch.isfinite(stack.sum()) or torch.isfinite(stack).flatten(1).all(dim=1)
    if not finite.all():
        at = int((~finite).nonzero()[0])
        raise ValueRangeError(f"image {at} is not finite: it holds NaN or infinity")
    return stack


def _tensor(images: Any) -> torch.Tensor:
    """An array or nested sequences as a tensor."""
    try:
        array = np.asarray(images)
    except ValueError as error:
        raise ShapeError(
            "images must have shape (n, channels, height, width), and these are not all of one shape; "
            "explain those of each shape by themselves"
        ) from error
    if array.dtype.kind not in "biuf":
        raise ValueRangeError(
            f"images must be an array or a tensor of numbers, not {type(images).__name__} of {array.dtype}"
        )
    double = array.dtype.kind == "f" and array.dtype.itemsize >= 8
    # torch takes no steps backwards, and warns of memory that cannot be written
    return torch.from_numpy(np.require(array, np.float64 if double else np.float32, ["C", "W"]))


def check_targets(targets: Any, n: int, n_outputs: int) -> np.ndarray:
    """One output's index per image, int64."""
    given = targets.detach().cpu().numpy() if isinstance(targets, torch.Tensor) else np.asarray(targets)
    if given.dtype.kind not in "iu":
        raise ValueRangeError(
            f"targets must be whole numbers, the index of the network's output; got {given.dtype}"
        )
    if given.shape not in ((), (n,)):
        raise ShapeError(f"targets must be one number or one per image ({n}), not of shape {given.shape}")
    every = np.broadcast_to(given, (n,)).astype(np.int64)
    wrong = np.flatnonzero((every < 0) | (every >= n_outputs))
    if len(wrong):
        raise ValueRangeError(
            f"target {every[wrong[0]]} (image {wrong[0]}) is out of range: the network has {n_outputs} "
            f"outputs, 0 to {n_outputs - 1}"
        )
    return every


def check_outputs(outputs: Any, n: int) -> torch.Tensor:
    """What a model gave for n images, if it is one row of outputs for each."""
    if not isinstance(outputs, torch.Tensor) or outputs.ndim != 2 or len(outputs) != n:
        shape = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise ShapeError(
            f"the model must give a tensor of shape (n, n_outputs), not {shape}; wrap it in a module that "
            "picks the logits"
        )
    return outputs


def equal_images(images: torch.Tensor, seeds: Sequence[int] | np.ndarray | None = None) -> list[list[int]]:
    """Places of equal images, those of equal seeds where they have some."""
    found: dict[tuple[int, bytes], list[int]] = {}
    # as bytes, since NumPy lacks some of torch's types
    rows = images.cpu().contiguous().flatten(1).view(torch.uint8).numpy()
    numbers = digest = b""
    for place, row in enumerate(rows):
        before = numbers
        numbers = row.tobytes()
        # an image's targets mostly stand side by side, and a comparison takes less than a digest
        if numbers != before:
            digest = blake2b(numbers, digest_size=16).digest()
        found.setdefault((0 if seeds is None else int(seeds[place]), digest), []).append(place)
    return list(found.values())
