"""Checks of images, their targets and the outputs of a network; and a search for equal images."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import torch

from salstats.errors import Setting, ShapeError, ValueRangeError


def check_images(images: Any) -> torch.Tensor:
    """Return images as a finite floating-point tensor of shape (n, channels, height, width).

    A tensor stays on its device; a list of tensors is stacked on the CPU.
    """
    if isinstance(images, list | tuple) and images and isinstance(images[0], torch.Tensor):
        images = [image.detach().cpu() for image in images]
    stack = images.detach() if isinstance(images, torch.Tensor) else _float_tensor(images)
    if stack.ndim != 4:
        raise ShapeError(
            Setting("images"),
            f" must have shape (n, channels, height, width), not {tuple(stack.shape)}",
            hint="one image is images[None]",
        )
    if not stack.numel():
        raise ValueRangeError(Setting("images"), f" of shape {tuple(stack.shape)} hold nothing to explain")
    if not stack.is_floating_point():
        stack = stack.float()
    # a sum takes a fraction of the time of a test of each pixel; where it overflows, the test decides
    if not torch.isfinite(stack.sum()):
        is_finite = torch.isfinite(stack).flatten(1).all(dim=1)
        if not is_finite.all():
            index = int((~is_finite).nonzero()[0])
            raise ValueRangeError(f"image {index} is not finite: it holds NaN or infinity", rows=[index])
    return stack


def _float_tensor(images: Any) -> torch.Tensor:
    """Convert an array or nested sequences of numbers to a tensor: float64 if they are that, else float32."""
    try:
        array = np.asarray(images)
    except ValueError as error:
        raise ShapeError(
            Setting("images"),
            " must have shape (n, channels, height, width), and these are not all of one shape",
            hint="explain those of each shape by themselves",
        ) from error
    if array.dtype.kind not in "biuf":
        raise ValueRangeError(
            Setting("images"),
            f" must be an array or a tensor of numbers, not {type(images).__name__} of {array.dtype}",
        )
    is_double = array.dtype.kind == "f" and array.dtype.itemsize >= 8
    number_type = np.float64 if is_double else np.float32
    # torch takes no negative strides, and warns of memory that cannot be written
    return torch.from_numpy(np.require(array, number_type, ["C", "W"]))


def check_targets(targets: Any, n: int, n_outputs: int) -> np.ndarray:
    """Return the index of one output per image, int64."""
    if isinstance(targets, torch.Tensor):
        targets = targets.detach().cpu()
    values = np.asarray(targets)
    if values.dtype.kind not in "iu":
        raise ValueRangeError(
            Setting("targets"),
            f" must be whole numbers, the index of the network's output; got {values.dtype}",
        )
    if values.shape not in ((), (n,)):
        raise ShapeError(
            Setting("targets"), f" must be one number or one per image ({n}), not of shape {values.shape}"
        )
    indices = np.broadcast_to(values, (n,)).astype(np.int64)
    out_of_range = np.flatnonzero((indices < 0) | (indices >= n_outputs))
    if len(out_of_range):
        image = int(out_of_range[0])
        raise ValueRangeError(
            f"target {indices[image]} (image {image}) is out of range: the network has {n_outputs} "
            f"outputs, 0 to {n_outputs - 1}",
            option="targets",
            value=int(indices[image]),
            rows=out_of_range.tolist(),
        )
    return indices


def check_outputs(outputs: Any, n: int) -> torch.Tensor:
    """Return the outputs of a model for n images, checked to be one row for each."""
    if not isinstance(outputs, torch.Tensor) or outputs.ndim != 2 or len(outputs) != n:
        received = type(outputs).__name__
        if isinstance(outputs, torch.Tensor):
            received = str(tuple(outputs.shape))
        raise ShapeError(
            f"the model must give a tensor of shape (n, n_outputs), not {received}",
            hint="wrap it in a module that picks the logits",
            option="model",
        )
    return outputs


def groups_of_equal_images(
    images: torch.Tensor, seeds: Sequence[int] | np.ndarray | None = None
) -> list[list[int]]:
    """Return the indices of equal images, and of equal seeds if these are given, as one list for each."""
    groups: dict[tuple[int, bytes], list[int]] = {}
    # as bytes, since NumPy lacks some of torch's types
    rows = images.cpu().contiguous().flatten(1).view(torch.uint8).numpy()
    pixels = b""
    digest = b""
    for index, row in enumerate(rows):
        previous_pixels = pixels
        pixels = row.tobytes()
        # an image's targets mostly stand side by side, and a comparison takes less than a digest
        if pixels != previous_pixels:
            digest = blake2b(pixels, digest_size=16).digest()
        seed = 0
        if seeds is not None:
            seed = int(seeds[index])
        groups.setdefault((seed, digest), []).append(index)
    return list(groups.values())
