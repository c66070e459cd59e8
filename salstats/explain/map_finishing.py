"""From raw attributions to maps: channels reduced, sign kept, layers joined, resized and smoothed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import torch

from salstats.errors import warn
from salstats.images.map_steps import box_filter, resize

#: How the channels of a pixel become one number.
CHANNELS = ("sum", "mean", "max", "abs_max")
#: What is kept of a signed map.
SIGNS = ("positive", "absolute", "signed")
#: How the maps of several layers become one.
JOINS = ("average", "sum")
#: The grid of the maps: the method's own, or the pixels of the network's input.
RESOLUTIONS = ("image", "network")


def reduce_channels(attributions: torch.Tensor, channels: str) -> np.ndarray:
    """One number per pixel, float64 (n, height, width); "abs_max" is the largest size, without its sign."""
    # MPS has no double precision: first to the CPU
    values = attributions.detach().cpu().double()
    values = values.abs() if channels == "abs_max" else values
    reduce = {"sum": values.sum, "mean": values.mean}.get(channels, values.amax)
    return reduce(dim=1).numpy()


def keep_sign(maps: np.ndarray, sign: str) -> np.ndarray:
    """Maps whose negative values are 0 ("positive"), turned ("absolute") or kept ("signed")."""
    if sign == "positive":
        return np.maximum(maps, 0)
    return np.abs(maps) if sign == "absolute" else maps


def join_layers(maps: Sequence[np.ndarray], sign: str, shape: tuple[int, int]) -> np.ndarray:
    """Mean of the raw maps of several layers, each scaled by its own range; float32 (n, *shape).

    The sign rule comes first. A map is then stretched to [0, 1]; one with "signed" is divided by its largest
    absolute value, so that 0 stays 0. A constant map counts as 0. This is the rule of pytorch-grad-cam but
    for its 1e-7 added to each range, which shrinks maps of small values, as networks with many outputs have
    them.
    """
    joined = np.zeros((len(maps[0]), *shape), np.float32)
    for layer in maps:
        for place, values in enumerate(keep_sign(layer.astype(np.float64), sign)):
            shifted = values if sign == "signed" else values - values.min()
            span = np.abs(shifted).max()
            joined[place] += resize(shifted / span if span > 0 else shifted, shape)
    return joined / len(maps)


def sum_layers(maps: Sequence[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Sum of the raw maps of several layers, none of them scaled; float32 (n, *shape).

    A CAM is a sum over the channels of a layer, so that this is the sum over the channels of all layers.
    """
    total = np.zeros((len(maps[0]), *shape), np.float32)
    for layer in maps:
        for place, values in enumerate(layer):
            total[place] += resize(values, shape)
    return total


def finish(maps: np.ndarray, shape: tuple[int, int], resolution: str, smooth: int = 1) -> np.ndarray:
    """Maps at the resolution asked for, smoothed there by a box filter; float32.

    "image" is `shape`, of the network's input: bilinear, half-pixel centres, no antialiasing, as `score`
    resizes. The border of the filter is mirrored about its pixels; a side of 1 is none.
    """
    size = maps.shape[1:] if resolution == "network" else shape
    finished = np.empty((len(maps), *size), np.float32)
    for place, values in enumerate(maps):
        laid = values.astype(np.float32) if values.shape == size else resize(values, size)
        finished[place] = laid if smooth == 1 else box_filter(laid, smooth)
    return finished


#: (maps, constant maps) of each method, where several calls of `explain` belong together.
_COUNTS: ContextVar[tuple[Counter[str], Counter[str]] | None] = ContextVar("_COUNTS", default=None)


@contextmanager
def said_together() -> Iterator[None]:
    """Let calls of `explain` that are made meanwhile say together, at the end, how many maps are constant."""
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    token = _COUNTS.set(counts)
    try:
        yield
    finally:
        _COUNTS.reset(token)
    for method, n_constant in counts[1].items():
        _warn(method, n_constant, counts[0][method])


def say_constant(method: str, maps: np.ndarray) -> None:
    """Warn of maps, shape (n, height, width), that are constant; or count them, to be said together."""
    n_constant = int((maps.max(axis=(1, 2)) == maps.min(axis=(1, 2))).sum())
    counts = _COUNTS.get()
    if counts is not None:
        counts[0][method] += len(maps)
        counts[1][method] += n_constant
    else:
        _warn(method, n_constant, len(maps))


def _warn(method: str, n_constant: int, n: int) -> None:
    """Say that maps are constant, if any is."""
    if n_constant:
        warn(
            f"method {method!r}: {n_constant} of {n} maps have one value everywhere and point at nothing; "
            "they are kept, and scored as empty masks"
        )
