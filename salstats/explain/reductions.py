"""From raw attributions to maps: channels reduced, sign kept, layers joined, resized and smoothed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import torch

from salstats.checks import warn
from salstats.images.map_steps import box_filter, resize

#: How the channels of a pixel become one number.
CHANNELS = ("sum", "mean", "max", "abs_max")
#: What is kept of a signed map.
SIGNS = ("positive", "absolute", "signed")
#: The grid of the maps: the method's own, or the pixels of the network's input.
RESOLUTIONS = ("image", "network")


def reduce_channels(attributions: torch.Tensor, channels: str) -> np.ndarray:
    """Return one number per pixel.

    Parameters
    ----------
    attributions : Tensor, shape (n, channels, height, width)
    channels : {"sum", "mean", "max", "abs_max"}
        "max": the largest value. "abs_max": the largest absolute value, which has no sign.

    Returns
    -------
    ndarray of float64, shape (n, height, width)

    Examples
    --------
    >>> import torch
    >>> from salstats.explain.reductions import reduce_channels
    >>> pixel = torch.tensor([1.0, -4.0, 0.0]).reshape(1, 3, 1, 1)
    >>> [reduce_channels(pixel, rule).item() for rule in ("sum", "mean", "max", "abs_max")]
    [-3.0, -1.0, 1.0, 4.0]
    """
    # MPS has no double precision: first to the CPU
    values = attributions.detach().cpu().double()
    if channels == "abs_max":
        return values.abs().amax(dim=1).numpy()
    if channels == "max":
        return values.amax(dim=1).numpy()
    return (values.mean(dim=1) if channels == "mean" else values.sum(dim=1)).numpy()


def keep_sign(maps: np.ndarray, sign: str) -> np.ndarray:
    """Return maps whose negative values are 0 ("positive"), turned ("absolute") or kept ("signed").

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.explain.reductions import keep_sign
    >>> [keep_sign(np.array([-2.0, 1.0]), rule).tolist() for rule in ("positive", "absolute", "signed")]
    [[0.0, 1.0], [2.0, 1.0], [-2.0, 1.0]]
    """
    if sign == "positive":
        return np.maximum(maps, 0)
    return np.abs(maps) if sign == "absolute" else maps


def join_layers(maps: Sequence[np.ndarray], sign: str, shape: tuple[int, int]) -> np.ndarray:
    """Return the mean of the maps of several layers, each scaled by its own range.

    Parameters
    ----------
    maps : sequence of ndarray of float, shape (n, m, k)
        One per layer, of any grid, raw.
    sign : {"positive", "absolute", "signed"}
        Applied first. A map is then stretched to [0, 1]; one with "signed" is divided by its largest
        absolute value, so that 0 stays 0.
    shape : tuple of int
        (height, width) that each is resized to before the mean.

    Returns
    -------
    ndarray of float32, shape (n, height, width)
        A layer whose map is constant counts as 0.

    Notes
    -----
    The rule of pytorch-grad-cam but for its 1e-7 added to each range, which shrinks maps of small values,
    as networks with many outputs have them.
    """
    joined = np.zeros((len(maps[0]), *shape), np.float32)
    for layer in maps:
        for place, values in enumerate(keep_sign(layer.astype(np.float64), sign)):
            shifted = values if sign == "signed" else values - values.min()
            span = np.abs(shifted).max()
            joined[place] += resize(shifted / span if span > 0 else shifted, shape)
    return joined / len(maps)


def finish(maps: np.ndarray, shape: tuple[int, int], resolution: str, smooth: int = 1) -> np.ndarray:
    """Return maps at the resolution asked for, smoothed there.

    Parameters
    ----------
    maps : ndarray of float, shape (n, m, k)
    shape : tuple of int
        (height, width) of the network's input.
    resolution : {"image", "network"}
        "image": `shape`; bilinear, half-pixel centres, no antialiasing, as `score` resizes.
    smooth : int
        Side of a box filter in pixels of the resolution, 1 for none; the border is mirrored about its pixels.

    Returns
    -------
    ndarray of float32, shape (n, height, width)
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
