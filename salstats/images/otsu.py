"""Otsu's threshold, and what the CheXlocalize release does around it: holes, single pixels, smoothing."""

import cv2
import numpy as np

from salstats.checks import ShapeError, ValueRangeError


def grey_levels(values: np.ndarray) -> np.ndarray:
    """Values from 0 to 1 as grey levels: `uint8(255 * x)`, truncated.

    Parameters
    ----------
    values : ndarray of float32, shape (M, N)
        From 0 to 1.

    Returns
    -------
    ndarray of uint8, shape (M, N)

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.otsu import grey_levels
    >>> grey_levels(np.array([[0.0, 0.5, 0.999, 1.0]], np.float32))
    array([[  0, 127, 254, 255]], dtype=uint8)
    """
    grey = np.empty(values.shape, np.uint8)
    return np.multiply(values, np.float32(255), out=grey, casting="unsafe")


def otsu_level(grey: np.ndarray) -> int:
    """Return Otsu's level of a grey image: the foreground is what lies above it.

    Parameters
    ----------
    grey : ndarray of uint8, shape (M, N)

    Returns
    -------
    int
        The first level at which the variance between the two classes is largest; 0 where the image has
        one value only.

    Raises
    ------
    ShapeError
        The image does not have two dimensions, or has no pixels.
    ValueRangeError
        It is not of uint8.

    Notes
    -----
    Maximises q1 q2 (m1 - m2)^2 over 256 levels in double precision, q the shares of the two classes and m
    their means, as OpenCV does.

    References
    ----------
    Otsu, N. (1979). A threshold selection method from gray-level histograms. IEEE Transactions on Systems,
    Man, and Cybernetics 9(1), 62-66. doi:10.1109/TSMC.1979.4310076

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.otsu import otsu_level
    >>> otsu_level(np.array([[10, 10, 12], [200, 210, 12]], np.uint8))
    12
    """
    _check_grey(grey)
    return int(cv2.threshold(np.ascontiguousarray(grey), 0, 1, cv2.THRESH_BINARY | cv2.THRESH_OTSU)[0])


def above_otsu(grey: np.ndarray) -> np.ndarray:
    """What lies above Otsu's level, with nothing filled and nothing dropped.

    Takes and raises what `otsu_level` does.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.otsu import above_otsu
    >>> above_otsu(np.array([[10, 10, 12], [200, 210, 12]], np.uint8)).astype(int)
    array([[0, 0, 0],
           [1, 1, 0]])
    """
    _check_grey(grey)
    _, above = cv2.threshold(np.ascontiguousarray(grey), 0, 1, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    return np.asarray(above).reshape(grey.shape).view(bool)


def _check_grey(grey: np.ndarray) -> None:
    """Raise unless an image is grey, of 8 bits."""
    if grey.ndim != 2 or not grey.size:
        raise ShapeError(f"a grey image must have shape (M, N) with at least one pixel, not {grey.shape}")
    if grey.dtype != np.uint8:
        raise ValueRangeError(f"a grey image must be of uint8, not {grey.dtype}; see grey_levels")


def refill(mask: np.ndarray) -> np.ndarray:
    """A mask with its holes filled and its single pixels dropped.

    Parameters
    ----------
    mask : ndarray of bool, shape (M, N)

    Returns
    -------
    ndarray of bool, shape (M, N)
        A new mask, or `mask` itself where there is nothing to do.

    Notes
    -----
    A hole is background that no path over 4 neighbours connects to the border of the image; a single pixel
    is foreground with none among its 8 neighbours. What lies in a hole is filled with it. The CheXlocalize
    scripts draw every contour of more than one point filled (`heatmap_to_segmentation.py`, commit 2a79492),
    which comes to the same.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.otsu import refill
    >>> ring = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 0, 1], [1, 1, 1, 0, 0]], bool)
    >>> refill(ring).astype(int)
    array([[1, 1, 1, 0, 0],
           [1, 1, 1, 0, 0],
           [1, 1, 1, 0, 0]])
    """
    grey = np.ascontiguousarray(mask).view(np.uint8)
    contours, tree = cv2.findContours(grey, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    if tree is None:
        return mask
    if (tree[0, :, 3] >= 0).any():
        # what lies in a hole has an outline of its own: only the outermost are drawn, and none meets another
        contours, _ = cv2.findContours(grey, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        filled = np.zeros_like(grey)
        cv2.drawContours(filled, [c for c in contours if len(c) > 1], -1, 1, cv2.FILLED)
        return filled.view(bool)
    single = [c[0, 0] for c in contours if len(c) == 1]
    if not single:
        return mask
    cols, rows = np.stack(single).T
    kept = mask.copy()
    kept[rows, cols] = False
    return kept


def jet_smoothed(grey: np.ndarray, size: int) -> np.ndarray:
    """What the CheXlocalize scripts threshold when they smooth: grey levels by way of a colour map.

    Parameters
    ----------
    grey : ndarray of uint8, shape (M, N)
    size : int
        Side of the box filter in pixels.

    Returns
    -------
    ndarray of uint8, shape (M, N)

    Notes
    -----
    The levels become colours (jet), these become grey again with red and blue exchanged, then come the box
    filter and the negative. The grey of jet does not rise with the level: the negative is 217 at level 0,
    29 at level 96 and 240 at level 255, so that what is bright afterwards is mostly *background*. Here to
    reproduce the scripts (`heatmap_to_segmentation.py`, commit 2a79492), not to be used.

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.otsu import jet_smoothed
    >>> jet_smoothed(np.array([[0, 96, 255]], np.uint8), 1)
    array([[217,  29, 240]], dtype=uint8)
    """
    ramp = np.arange(256, dtype=np.uint8)[None]
    # OpenCV's colours are blue, green, red; the scripts read them as red, green, blue
    table = cv2.cvtColor(cv2.applyColorMap(ramp, cv2.COLORMAP_JET), cv2.COLOR_RGB2GRAY)
    shades = np.asarray(cv2.LUT(np.ascontiguousarray(grey), np.asarray(table))).reshape(grey.shape)
    smooth = cv2.boxFilter(shades, -1, (size, size), borderType=cv2.BORDER_REFLECT_101)
    return np.asarray(255 - np.asarray(smooth).reshape(grey.shape))
