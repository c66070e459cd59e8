"""Maps that were saved as pictures in the colour map jet: read their levels, and recognise their greys."""

from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial import KDTree

from salstats.errors import InputFileError, Message, Setting
from salstats.readers.image_files import read_grey, read_grey_or_rgb

#: Colour maps whose pictures are read.
COLORMAPS = ("jet",)
#: Largest distance of a pixel to the nearest colour of jet, in red, green and blue from 0 to 255. Pixels that
#: enlarging a picture makes between two colours lie within it, those of a picture blended with an image not.
_TOLERANCE = 24
#: Weights of red, green and blue in Pillow's and OpenCV's grey (ITU-R BT.601), in 65,536ths.
_GREY_WEIGHTS = (19595, 38470, 7471)
#: The greys of the darkest blue of Matplotlib's jet and of OpenCV's.
_DARKEST_GREYS = (14, 15)
#: With fewer distinct greys, a picture may be any map.
_MIN_DISTINCT_GREYS = 32


def read_map_picture(file: Path, colormap: str | None = None) -> np.ndarray:
    """Read a map from a PNG or TIFF: grey values as the file has them, or levels of jet, 0 to 255.

    A colour picture is an InputFileError where `colormap` is None, and where it is "jet" but a pixel is far
    from every colour of jet. So is a grey picture that `is_jet_picture_in_grey` takes for one in the colours
    of jet made grey, as two levels of jet can have the same grey.
    """
    if colormap is None:
        pixels = read_grey(
            file,
            hint=Message(
                "a picture in the colours of jet is read with ",
                Setting("colormap", "jet"),
                " where ",
                Setting("maps"),
                " names its folder",
            ),
        )
    else:
        pixels = read_grey_or_rgb(file)
    if pixels.ndim == 3:
        return jet_levels_from_0_to_255(file, pixels)
    if is_jet_picture_in_grey(pixels):
        raise InputFileError(
            f"{file}: looks like a picture in the colours of jet that was made grey, in which red is darker "
            "than yellow",
            hint=Message("save the map's numbers, or keep the colours and give ", Setting("colormap", "jet")),
            path=file,
            value="jet",
        )
    return pixels


def jet_levels_from_0_to_255(file: Path, pixels: np.ndarray) -> np.ndarray:
    """Return the levels, 0 to 255, of a picture (M, N, 3) in OpenCV's or in Matplotlib's colours of jet."""
    red, green, blue = np.moveaxis(pixels.astype(np.int64), -1, 0)
    # each distinct colour, as one whole number, is looked up once
    codes, code_of_pixel = np.unique(65536 * red + 256 * green + blue, return_inverse=True)
    colours = np.column_stack([codes // 65536, codes // 256 % 256, codes % 256])
    distances = np.full(len(colours), np.inf)
    levels = np.zeros(len(colours), np.intp)
    for table in _opencv_and_matplotlib_jet_colours():
        table_distances, table_levels = KDTree(table).query(colours)
        # the table with the smaller distances is the one that drew the picture
        if np.sum(table_distances) < distances.sum():
            distances = np.asarray(table_distances)
            levels = np.asarray(table_levels)
    if distances.max() > _TOLERANCE:
        colour = colours[distances.argmax()].tolist()
        raise InputFileError(
            f"{file}: the colour {tuple(colour)} is not a colour of jet",
            hint="a map that is blended with its image or has a frame cannot be read back; save its numbers",
            path=file,
            value=tuple(colour),
        )
    return np.asarray(levels[code_of_pixel].reshape(pixels.shape[:2]), np.float64)


def is_jet_picture_in_grey(pixels: np.ndarray) -> bool:
    """Return whether a grey picture of 8 bits seems to be a picture in the colours of jet made grey.

    It does if its darkest grey is that of jet's lowest colour, a dark blue (14 or 15 of 255), it has at least
    32 distinct greys, and each is the grey of a colour of jet, as three quarters of those from 14 to 226 are.
    """
    if pixels.dtype != np.uint8:
        return False
    greys = np.flatnonzero(np.bincount(pixels.ravel(), minlength=256))
    # a quick test for nearly every other map, before any colour is looked up
    if len(greys) < _MIN_DISTINCT_GREYS or greys[0] not in _DARKEST_GREYS:
        return False
    for table in _opencv_and_matplotlib_jet_colours():
        # weighted sum, rounded to the nearest whole number
        greys_of_jet = (table.astype(np.int64) @ _GREY_WEIGHTS + 32768) // 65536
        if greys[0] == greys_of_jet.min() and np.isin(greys, greys_of_jet).all():
            return True
    return False


@lru_cache
def _opencv_and_matplotlib_jet_colours() -> tuple[np.ndarray, np.ndarray]:
    """Return the colours of jet by level, (256, 3) red, green and blue: OpenCV's, and Matplotlib's."""
    from matplotlib import colormaps

    levels = np.arange(256, dtype=np.uint8)
    # OpenCV takes a picture, here of a single row
    [blue_green_red] = cv2.applyColorMap(levels[np.newaxis], cv2.COLORMAP_JET)
    return blue_green_red[:, ::-1], colormaps["jet"](levels, bytes=True)[:, :3]
