"""A case, a task and a method as small arrays, from which a figure draws a picture."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from salstats.study import Series


@dataclass(frozen=True)
class Picture:
    """A case, a task and a method as small arrays.

    Attributes
    ----------
    case, task : str
        The case and the task.
    method : str or None
        The method; None for a picture of the truth only.
    series : tuple of Series
        The series of predictions; several only if they are of human readers.
    shape : tuple of int
        Height and width of the image in pixels, the unit of outlines and points.
    printed_shape : tuple of int
        Height and width of `grey` and `saliency`, which are as fine as can be printed.
    grey, saliency : ndarray or None
        The image, from 0 to 1, and the map in its own unit; None where there is none.
    outlines : mapping
        Outlines by their kind, "truth", "human" or "mask", of the kinds that the picture has; each outline
        is an array of points (row, col).
    points : mapping
        Points (row, col) by their kind: "peak" of the map, "marked" by readers.
    n_readers : int
        Number of readers whose masks have the outlines "human".
    note : str
        Reason why the method has nothing to show, else "".
    threshold, smooth, colormap, cutoff
        Options by which the mask was derived from the map; None where they do not apply.
    """

    case: str
    task: str
    method: str | None
    series: tuple[Series, ...]
    shape: tuple[int, int]
    printed_shape: tuple[int, int]
    grey: np.ndarray | None
    saliency: np.ndarray | None
    outlines: Mapping[str, list[np.ndarray]]
    points: Mapping[str, np.ndarray]
    n_readers: int = 0
    note: str = ""
    threshold: float | str | None = None
    smooth: int | None = None
    colormap: str | None = None
    cutoff: float | None = None


def picture_without_map_and_outlines(picture: Picture) -> Picture:
    """Return the picture of the image only, without map, outlines and points."""
    return replace(
        picture,
        method=None,
        series=(),
        saliency=None,
        outlines={},
        points={},
        note="",
        threshold=None,
    )


def saliency_range(pictures: Iterable[Picture]) -> tuple[float, float] | None:
    """Return the smallest and the largest value of the maps of pictures, None without a map."""
    maps = [picture.saliency for picture in pictures if picture.saliency is not None]
    if not maps:
        return None
    return float(min(values.min() for values in maps)), float(max(values.max() for values in maps))


def mm_per_pixel(shape: tuple[int, int], box: tuple[float, float]) -> float:
    """Return the size in mm of a pixel of an image that fills a box.

    `shape` is the height and width of the image in pixels, `box` the width and height of the box in mm.
    """
    height, width = shape
    box_width, box_height = box
    return min(box_width / width, box_height / height)
