"""Data of a picture: one case, task and method as small arrays."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from salstats.study import Series


@dataclass(frozen=True)
class Picture:
    """Data of one case, task and method, as small arrays that a figure draws.

    Attributes
    ----------
    case, task : str
        The case and the task.
    method : str or None
        The method; None for a picture of the truth only.
    series : tuple of Series
        The series of predictions; several only if they are of human readers.
    shape : tuple of int
        Height and width of the image in pixels, in which outlines and points are given.
    printed : tuple of int
        Height and width of `grey` and `saliency`.
    grey, saliency : ndarray or None
        The image and the map from 0 to 1; None where there is none.
    lines : mapping
        Outlines (row, col) of `truth`, `human` and `mask`, as far as there are such.
    points : mapping
        `peak` of the map and `marked` points of readers, as (row, col).
    people : int
        Number of readers whose masks the `human` outlines are.
    note : str
        Reason why the method has nothing to show, else "".
    threshold, smooth, colormap, cutoff
        Options that the mask was made of the map with; None where they do not apply.
    """

    case: str
    task: str
    method: str | None
    series: tuple[Series, ...]
    shape: tuple[int, int]
    printed: tuple[int, int]
    grey: np.ndarray | None
    saliency: np.ndarray | None
    lines: Mapping[str, list[np.ndarray]]
    points: Mapping[str, np.ndarray]
    people: int = 0
    note: str = ""
    threshold: float | str | None = None
    smooth: int | None = None
    colormap: str | None = None
    cutoff: float | None = None


def mm_per_pixel(shape: tuple[int, int], box: tuple[float, float]) -> float:
    """Size in mm of a pixel of an image, of shape (height, width), in a box of (width, height) in mm."""
    return min(box[0] / shape[1], box[1] / shape[0])
