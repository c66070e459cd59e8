"""Images and masks at the size they are printed: shrunk, scaled to 0 ... 1, grey, outlined."""

import cv2
import numpy as np

from salstats.images.map_steps import rescale

#: Largest number of pixels on the long side of a picture.
MAX_PIXELS = 1000
#: Pixels of a mm in print (300 dots per inch).
PIXELS_PER_MM = 300 / 25.4
#: Largest distance in printed pixels between an outline and its simplification.
_TOLERANCE = 0.35


def printed_shape(shape: tuple[int, int], long_mm: float) -> tuple[int, int]:
    """Return (rows, cols) at which an image is printed, its long side `long_mm` long and never enlarged."""
    long_side = min(MAX_PIXELS, round(long_mm * PIXELS_PER_MM), max(shape))
    scale = max(long_side, 1) / max(shape)
    rows, cols = (max(round(side * scale), 1) for side in shape)
    return rows, cols


def resize_for_print(image: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return an image in float32 at another shape: means of pixels if it shrinks, else bilinear."""
    rows, cols = shape
    shrinks = rows <= image.shape[0] and cols <= image.shape[1]
    interpolation = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    source = np.ascontiguousarray(image, dtype=np.float32)
    resized: np.ndarray = cv2.resize(source, (cols, rows), interpolation=interpolation)
    return resized


def grey_from_0_to_1(image: np.ndarray) -> np.ndarray:
    """Return a grey or RGB(A) image as grey in float32, from 0 to 1; opacity is dropped.

    Bytes are divided by 255, other numbers stretched by the range of their grey.
    """
    grey = image.astype(np.float32)
    if grey.ndim == 3:
        # luma of the television standard, as Pillow's mode "L"
        grey = grey[:, :, :3] @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    if image.dtype == np.uint8:
        return grey / 255
    return rescale(grey)


def outlines_as_row_col_lines(mask: np.ndarray, smallest_detail: float = 1.0) -> list[np.ndarray]:
    """Return outlines of a mask, those of holes too, as closed lines of points (row, col).

    They run through the middles of the outermost pixels, pixel (0, 0) from 0 to 1; the last point is the
    first again. A single pixel is outlined at its edges. Details smaller than `smallest_detail`
    pixels, such as the size of a printed pixel, may be lost.
    """
    pixels = np.ascontiguousarray(mask, dtype=np.uint8)
    contours, _ = cv2.findContours(pixels, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    lines = []
    for contour in contours:
        if len(contour) == 1:
            col, row = contour[0, 0]
            corners = np.array([(0, 0), (0, 1), (1, 1), (1, 0), (0, 0)], dtype=np.float64)
            lines.append(corners + np.array([row, col]))
            continue
        simplified = cv2.approxPolyDP(contour, _TOLERANCE * smallest_detail, True)
        points = simplified[:, 0, ::-1].astype(np.float64) + 0.5
        lines.append(np.vstack([points, points[:1]]))
    return lines
