"""From raw attributions to maps: channels reduced, sign kept, layers joined, resized and smoothed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np
import torch

from salstats.errors import warn
from salstats.images.map_steps import box_filter, resize

#: Ways to reduce the channels of a pixel to one number.
CHANNELS = ("sum", "mean", "max", "abs_max")
#: Ways to treat the sign of a map.
SIGNS = ("positive", "absolute", "signed")
#: Ways to join the maps of several layers.
JOINS = ("average", "sum")
#: Grids of the maps: the method's own, or the pixels of the network's input.
RESOLUTIONS = ("image", "network")


def reduce_channels(attributions: torch.Tensor, channels: str) -> np.ndarray:
    """Reduce channels to one number per pixel, float64 (n, height, width).

    "abs_max" is the largest absolute value.
    """
    # MPS has no double precision: first to the CPU
    values = attributions.detach().cpu().double()
    if channels == "sum":
        return values.sum(dim=1).numpy()
    if channels == "mean":
        return values.mean(dim=1).numpy()
    if channels == "abs_max":
        values = values.abs()
    return values.amax(dim=1).numpy()


def apply_sign_rule(maps: np.ndarray, sign: str) -> np.ndarray:
    """Set negative values to 0 ("positive"), take absolute values ("absolute") or keep them ("signed")."""
    if sign == "positive":
        return np.maximum(maps, 0)
    if sign == "absolute":
        return np.abs(maps)
    return maps


def mean_of_scaled_layers_by_image(
    maps_of_layers: Sequence[np.ndarray], sign: str, shape: tuple[int, int]
) -> np.ndarray:
    """Return each image's mean of the raw maps of layers, each scaled by its own range; float32 (n, *shape).

    The sign rule comes first. A map is then stretched to [0, 1], where a constant map becomes 0; with
    "signed" it is divided by its largest absolute value instead, so that 0 stays 0. This is the rule of
    pytorch-grad-cam without the 1e-7 that the library adds to each range, which shrinks maps of small values,
    as networks with many outputs have them.
    """
    total = np.zeros((len(maps_of_layers[0]), *shape), np.float32)
    for layer_maps in maps_of_layers:
        signed_maps = apply_sign_rule(layer_maps.astype(np.float64), sign)
        for image, values in enumerate(signed_maps):
            if sign != "signed":
                values = values - values.min()
            largest = np.abs(values).max()
            if largest > 0:
                values = values / largest
            total[image] += resize(values, shape)
    return total / len(maps_of_layers)


def sum_of_layers_by_image(maps_of_layers: Sequence[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Return each image's sum of the raw maps of layers, none of them scaled; float32 (n, *shape).

    A CAM is a sum over the channels of a layer, so this is the sum over the channels of all layers.
    """
    total = np.zeros((len(maps_of_layers[0]), *shape), np.float32)
    for layer_maps in maps_of_layers:
        for image, values in enumerate(layer_maps):
            total[image] += resize(values, shape)
    return total


def resize_and_smooth(
    maps: np.ndarray, shape: tuple[int, int], resolution: str, smooth: int = 1
) -> np.ndarray:
    """Resize maps to a resolution, and smooth them there by a box filter; float32.

    "image" is `shape`, that of the network's input: bilinear, half-pixel centres, no antialiasing, as `score`
    resizes. The border of the filter is mirrored about its pixels; a side of 1 is no filter.
    """
    map_shape = maps.shape[1:]
    if resolution == "image":
        map_shape = shape
    finished = np.empty((len(maps), *map_shape), np.float32)
    for index, values in enumerate(maps):
        resized = values.astype(np.float32) if values.shape == map_shape else resize(values, map_shape)
        if smooth > 1:
            resized = box_filter(resized, smooth)
        finished[index] = resized
    return finished


@dataclass
class _MapCounts:
    """Numbers of maps and of constant maps, by method."""

    maps: Counter[str] = field(default_factory=Counter)
    constant: Counter[str] = field(default_factory=Counter)


#: Counts of several calls of `explain` that end in one warning.
_MAP_COUNTS: ContextVar[_MapCounts | None] = ContextVar("_MAP_COUNTS", default=None)


@contextmanager
def constant_maps_counted() -> Iterator[None]:
    """Count the constant maps of all calls of `explain` made meanwhile, and warn once for each method."""
    counts = _MapCounts()
    token = _MAP_COUNTS.set(counts)
    try:
        yield
    finally:
        _MAP_COUNTS.reset(token)
    for method, n_constant in counts.constant.items():
        _warn_of_constant_maps(method, n_constant, counts.maps[method])


def warn_of_or_count_constant_maps(method: str, maps: np.ndarray) -> None:
    """Warn of constant maps, shape (n, height, width), or add them to the counts of several calls."""
    n_constant = int((maps.max(axis=(1, 2)) == maps.min(axis=(1, 2))).sum())
    counts = _MAP_COUNTS.get()
    if counts is None:
        _warn_of_constant_maps(method, n_constant, len(maps))
    else:
        counts.maps[method] += len(maps)
        counts.constant[method] += n_constant


def _warn_of_constant_maps(method: str, n_constant: int, n_maps: int) -> None:
    """Warn that maps are constant, if any is."""
    if n_constant:
        warn(
            f"method {method!r}: {n_constant} of {n_maps} maps have one value everywhere and point at "
            "nothing; they are kept, and scored as empty masks",
            hint="a softmax or sigmoid as the network's last layer can be the cause; explain it without that",
            column="method",
            value=method,
        )
