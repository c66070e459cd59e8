"""Images and masks at the size they are printed: shrunk, scaled to 0 ... 1, grey, outlined."""

import cv2
import numpy as np

from salstats.images.map_steps import rescale

#: Pixels that a picture has at most on its long side, and those of a mm in print (300 dots per inch).
MOST_PIXELS, PIXELS_PER_MM = 1000, 300 / 25.4
#: Distance in printed pixels that an outline may be off where it is simplified.
_OFF = 0.35


def printed_shape(shape: tuple[int, int], long_mm: float) -> tuple[int, int]:
    """(rows, cols) of a picture of an image of some shape whose long side is printed so long."""
    most = min(MOST_PIXELS, round(long_mm * PIXELS_PER_MM), max(shape))
    scale = max(most, 1) / max(shape)
    rows, cols = (max(round(side * scale), 1) for side in shape)
    return rows, cols


def resize_for_print(image: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Array of float32 at another shape: means of pixels where it shrinks, else bilinear."""
    rows, cols = shape
    smaller = rows <= image.shape[0] and cols <= image.shape[1]
    way = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
    found: np.ndarray = cv2.resize(
        np.ascontiguousarray(image, dtype=np.float32), (cols, rows), interpolation=way
    )
    return found


def grey_image(array: np.ndarray) -> np.ndarray:
    """Image, grey or RGB(A), as grey from 0 to 1: bytes by 255, other numbers by their own range."""
    image = array.astype(np.float32)
    if image.ndim == 3:
        # luma of the television standard, as Pillow's mode "L"
        image = image[:, :, :3] @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    return image / 255 if array.dtype == np.uint8 else rescale(image)


def outlines(mask: np.ndarray, pixel: float = 1.0) -> list[np.ndarray]:
    """Outlines of a mask, those of holes too, as closed lines of points (row, col).

    They run through the middles of the outermost pixels, pixel (0, 0) from 0 to 1; the last point is the
    first again. A single pixel is outlined at its edges. What is smaller than a printed pixel, `pixel` of the
    mask, need not be kept.
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
