"""Thresholds of a map by name, that find the level between background and mask: one record for each.

To add one, write its kernel and its record in `RECORDS`: checks, `--help`, captions, the report's Methods and
the reference page read the record.

Every kernel takes the map in 256 grey levels, `uint8(255 * x)` of the map scaled to 0 to 1, and gives the
pixels above the level. The clean-up of the CheXlocalize release (`otsu.fill_holes_and_drop_single_pixels`)
follows each of them, so that masks of two thresholds differ by the level alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import skimage

from salstats.images.otsu import above_otsu


@dataclass(frozen=True)
class Threshold:
    """A way to find the level between background and mask in a map's grey levels.

    Attributes
    ----------
    name : str
        Value of the option `threshold`.
    label : str
        Stands before "threshold" or "level" in a sentence: "Otsu's", "the triangle".
    source : str
        Definition that is followed, with the DOI of the paper.
    note : str
        Definition of the level in words.
    kernel : callable
        Takes an image of grey levels (uint8, shape (M, N)) and returns the mask (bool) of the pixels above
        the level.
    """

    name: str
    label: str
    source: str
    note: str
    kernel: Callable[[np.ndarray], np.ndarray]


def above_li(grey: np.ndarray) -> np.ndarray:
    """Return the mask of the pixels above Li's level of a grey image (uint8)."""
    return np.asarray(grey > skimage.filters.threshold_li(grey))


def above_yen(grey: np.ndarray) -> np.ndarray:
    """Return the mask of the pixels above Yen's level of a grey image (uint8)."""
    # the library takes the logarithm of the share of pixels above a level, which may round to 0 in single
    # precision; such a level is not chosen
    with np.errstate(divide="ignore"):
        level = skimage.filters.threshold_yen(grey)
    return np.asarray(grey > level)


def above_isodata(grey: np.ndarray) -> np.ndarray:
    """Return the mask of the pixels above the lowest ISODATA level of a grey image; empty without a level."""
    # the library counts in single precision: in an image of more than 2**24 pixels it may lose the few pixels
    # above a level, and then finds no level
    with np.errstate(divide="ignore", invalid="ignore"):
        levels = skimage.filters.threshold_isodata(grey, return_all=True)
    if not len(levels):
        return np.zeros(grey.shape, bool)
    return np.asarray(grey > levels[0])


def above_triangle(grey: np.ndarray) -> np.ndarray:
    """Return the mask of the pixels above the triangle level of a grey image (uint8)."""
    return np.asarray(grey > skimage.filters.threshold_triangle(grey))


def above_mean(grey: np.ndarray) -> np.ndarray:
    """Return the mask of the pixels above the mean of a grey image (uint8)."""
    return np.asarray(grey > skimage.filters.threshold_mean(grey))


#: In the order in which they are listed; the first is the default.
RECORDS = (
    Threshold(
        name="otsu",
        label="Otsu's",
        source="Otsu 1979, doi:10.1109/TSMC.1979.4310076; as OpenCV and the CheXlocalize release",
        note="largest variance between the two classes of pixels",
        kernel=above_otsu,
    ),
    Threshold(
        name="li",
        label="Li's",
        source="Li and Tam 1998, doi:10.1016/S0167-8655(98)00057-9; as scikit-image",
        note="least cross-entropy between the map and its two classes of pixels, by iteration from the mean",
        kernel=above_li,
    ),
    Threshold(
        name="yen",
        label="Yen's",
        source="Yen et al. 1995, doi:10.1109/83.366472; as scikit-image",
        note="largest correlation of the two classes of pixels",
        kernel=above_yen,
    ),
    Threshold(
        name="isodata",
        label="the ISODATA",
        source="Ridler and Calvard 1978, doi:10.1109/TSMC.1978.4310039; as scikit-image",
        note="lowest level that is midway between the means of the two classes of pixels",
        kernel=above_isodata,
    ),
    Threshold(
        name="triangle",
        label="the triangle",
        source="Zack et al. 1977, doi:10.1177/25.7.70454; as scikit-image",
        note="level farthest below the line from the histogram's peak to the end of its longer tail",
        kernel=above_triangle,
    ),
    Threshold(
        name="mean",
        label="the mean",
        source="Glasbey 1993, doi:10.1006/cgip.1993.1040; as scikit-image",
        note="mean of the map's pixels",
        kernel=above_mean,
    ),
)
THRESHOLDS = {record.name: record for record in RECORDS}
OTSU = RECORDS[0].name
