"""What an overlay is drawn from, as small arrays: the tinted picture, outlines, the length of a scale bar."""

from collections.abc import Sequence

import cv2
import matplotlib as mpl
import numpy as np

#: Pixels that a picture has at most on its long side, and those of a mm in print (300 dots per inch).
MOST_PIXELS, PIXELS_PER_MM = 1000, 300 / 25.4
#: Ground where there is no image, 0 (black) to 1.
GROUND = 0.45
#: Part of the colour scale that is used: its dark end would only hide the image.
_COLOURS, _FIRST, _LAST = "inferno", 0.30, 0.95
#: How much of the image the largest saliency covers, and from which saliency on this is so.
_COVER, _FULL = 0.62, 0.5
#: Distance in printed pixels that an outline may be off where it is simplified.
_OFF = 0.35


def printed_shape(shape: tuple[int, int], long_mm: float) -> tuple[int, int]:
    """Return (rows, cols) of a picture of an image of some shape whose long side is printed so long."""
    most = min(MOST_PIXELS, round(long_mm * PIXELS_PER_MM), max(shape))
    scale = max(most, 1) / max(shape)
    rows, cols = (max(round(side * scale), 1) for side in shape)
    return rows, cols


def resized(image: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return an array of float32 at another shape: means of pixels where it shrinks, else bilinear."""
    rows, cols = shape
    smaller = rows <= image.shape[0] and cols <= image.shape[1]
    way = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
    found: np.ndarray = cv2.resize(
        np.ascontiguousarray(image, dtype=np.float32), (cols, rows), interpolation=way
    )
    return found


def scaled(saliency: np.ndarray) -> np.ndarray:
    """Return a map brought to 0 to 1; one that is the same everywhere is 0."""
    low, high = float(saliency.min()), float(saliency.max())
    if high <= low:
        return np.zeros(saliency.shape)
    return np.asarray((saliency.astype(np.float64) - low) / (high - low))


def tinted(grey: np.ndarray, saliency: np.ndarray | None) -> np.ndarray:
    """Return the picture of an image with a map over it.

    Parameters
    ----------
    grey : ndarray of float, shape (rows, cols)
        From 0, black, to 1.
    saliency : ndarray of float, shape (rows, cols), optional
        From 0, which leaves the image as it is, to 1.

    Returns
    -------
    ndarray of uint8, shape (rows, cols, 3)
    """
    picture = np.repeat(grey[:, :, None].astype(np.float64), 3, axis=2)
    if saliency is not None:
        cover = cover_of(saliency)[:, :, None]
        picture = (1 - cover) * picture + cover * colours_of(saliency)
    return np.asarray(np.round(255 * np.clip(picture, 0, 1)), dtype=np.uint8)


def cover_of(saliency: np.ndarray) -> np.ndarray:
    """Return how much of the image each saliency covers, 0 to 1."""
    return np.asarray(_COVER * np.clip(saliency / _FULL, 0, 1))


def colours_of(saliency: np.ndarray) -> np.ndarray:
    """Return the colour of each saliency, 0 to 1 in red, green and blue along the last axis."""
    return np.asarray(mpl.colormaps[_COLOURS](_FIRST + (_LAST - _FIRST) * saliency)[..., :3])


def scale_colours(n: int = 21) -> list[str]:
    """Return the colours of the scale from 0 to 1 as they look over a middle grey."""
    steps = np.linspace(0, 1, n)[None, :]
    mixed = tinted(np.full(steps.shape, GROUND), steps)[0]
    return [f"#{r:02X}{g:02X}{b:02X}" for r, g, b in mixed]


def outlines(mask: np.ndarray, pixel: float = 1.0) -> list[np.ndarray]:
    """Return the outlines of a mask, those of holes too, as closed lines.

    Parameters
    ----------
    mask : ndarray of bool, shape (M, N)
    pixel : float
        Size of a printed pixel in pixels of the mask: what is smaller need not be kept.

    Returns
    -------
    list of ndarray of float, shape (n, 2)
        Points (row, col) through the middles of the outermost pixels, pixel (0, 0) from 0 to 1; the last
        is the first again. A single pixel is outlined at its edges.
    """
    found, _ = cv2.findContours(
        np.ascontiguousarray(mask, dtype=np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE
    )
    lines = []
    for contour in found:
        if len(contour) == 1:
            col, row = contour[0, 0]
            corners = np.array([(0, 0), (0, 1), (1, 1), (1, 0), (0, 0)], dtype=np.float64)
            lines.append(corners + np.array([row, col]))
            continue
        kept = cv2.approxPolyDP(contour, _OFF * pixel, True)[:, 0, ::-1].astype(np.float64) + 0.5
        lines.append(np.vstack([kept, kept[:1]]))
    return lines


def bar_length(width: float, per_unit: float = 1.0) -> float:
    """Return a round length, in units, of about a quarter of an image's width.

    Parameters
    ----------
    width : float
        Of the image, in pixels.
    per_unit : float
        Pixels of a unit.
    """
    room = 0.3 * width / per_unit
    power = 10.0 ** np.floor(np.log10(room))
    return float(max(step * power for step in (1, 2, 5) if step * power <= room))


def grey_of(array: np.ndarray) -> np.ndarray:
    """Return an image as grey from 0 to 1: bytes by 255, other numbers by their own range.

    Parameters
    ----------
    array : ndarray, shape (M, N), (M, N, 3) or (M, N, 4)
        Grey, or colours in red, green, blue (and opacity, which is left out).
    """
    image = array.astype(np.float32)
    if image.ndim == 3:
        # luma of the television standard, as Pillow's mode "L"
        image = image[:, :, :3] @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    return image / 255 if array.dtype == np.uint8 else scaled(image)


def joined_lines(lines: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of all lines below each other, and the number of each point's line."""
    if not lines:
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    return np.vstack(lines), np.repeat(np.arange(len(lines)), [len(line) for line in lines])
