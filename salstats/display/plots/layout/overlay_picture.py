"""What overlays are drawn from: one case, task and method as small arrays."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from salstats.study import Series


@dataclass(frozen=True)
class Picture:
    """One case, task and method as it is printed: small arrays that a figure draws."""

    case: str
    task: str
    #: Whose answer it shows, None for the truth alone; and its series, several only where they are people's.
    method: str | None
    series: tuple[Series, ...]
    #: (height, width) of the image, whose pixels outlines and points are in; and as it is printed.
    shape: tuple[int, int]
    printed: tuple[int, int]
    #: The image and the map from 0 to 1, of the printed size; None where there is none.
    grey: np.ndarray | None
    saliency: np.ndarray | None
    #: Outlines (row, col) of `truth`, `human` and `mask`, those that there are.
    lines: Mapping[str, list[np.ndarray]]
    #: `peak` of the map and the `marked` points of people, as (row, col).
    points: Mapping[str, np.ndarray]
    #: Whose masks the `human` outlines are: so many people's.
    people: int = 0
    #: Why the method has nothing to show; empty where it has.
    note: str = ""
    #: What made the mask of the map; None where it was not made so.
    threshold: float | str | None = None
    smooth: int | None = None
    colormap: str | None = None
    cutoff: float | None = None


def mm_per_pixel(shape: tuple[int, int], box: tuple[float, float]) -> float:
    """Size in mm of a pixel of an image of (height, width) that fills a box of (width, height)."""
    return min(box[0] / shape[1], box[1] / shape[0])
