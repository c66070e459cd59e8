"""Otsu's threshold, with the filling and smoothing of the CheXlocalize release."""

import cv2
import numpy as np

from salstats.images.map_steps import box_filter


def above_otsu(grey: np.ndarray) -> np.ndarray:
    """Return the pixels above Otsu's level of a grey image (uint8), with nothing filled and nothing dropped.

    The level is the first that maximises q1 q2 (m1 - m2)^2 over 256 levels in double precision, where q1 and
    q2 are the shares of the pixels up to the level and above it, and m1 and m2 the means of their grey
    levels, as in OpenCV. No pixel of an image of one value is marked, as with the other thresholds; OpenCV
    takes 0 for its level, above which all of them lie.

    Otsu, N. (1979). A threshold selection method from gray-level histograms. IEEE Transactions on Systems,
    Man, and Cybernetics 9(1), 62-66. doi:10.1109/TSMC.1979.4310076
    """
    levels = np.ascontiguousarray(grey)
    _, mask = cv2.threshold(levels, 0, 1, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    above = np.asarray(mask).reshape(grey.shape).view(bool)
    # a level that separates two classes has pixels below it
    if above.all():
        return np.zeros(grey.shape, bool)
    return above


def fill_holes_and_drop_single_pixels(mask: np.ndarray) -> np.ndarray:
    """Fill the holes of a mask (bool) and drop its single pixels; the mask itself if it has none.

    A hole is background that no path over 4 neighbours connects to the border of the image; a single pixel
    is foreground with none among its 8 neighbours. What lies in a hole is filled with it. The CheXlocalize
    scripts draw every contour of more than one point filled (`heatmap_to_segmentation.py`, commit 2a79492),
    which comes to the same.
    """
    grey = np.ascontiguousarray(mask).view(np.uint8)
    contours, hierarchy = cv2.findContours(grey, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    if hierarchy is None:
        return mask
    # a row for each contour, whose last entry is the contour around it, -1 if there is none
    parents = hierarchy[0, :, 3]
    if (parents >= 0).any():
        # a contour in another is the edge of a hole; the outermost contours alone are drawn, filled
        contours, _ = cv2.findContours(grey, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        areas = [contour for contour in contours if len(contour) > 1]
        filled = np.zeros_like(grey)
        cv2.drawContours(filled, areas, contourIdx=-1, color=1, thickness=cv2.FILLED)
        return filled.view(bool)
    single_pixels = [contour[0, 0] for contour in contours if len(contour) == 1]
    if not single_pixels:
        return mask
    # OpenCV's points are (x, y)
    cols, rows = np.stack(single_pixels).T
    cleaned = mask.copy()
    cleaned[rows, cols] = False
    return cleaned


def inverted_grey_smoothed_through_jet(grey: np.ndarray, size: int) -> np.ndarray:
    """Smooth grey levels (uint8) by way of a colour map, as the CheXlocalize scripts do.

    The levels become colours (jet), these become grey again with red and blue exchanged, then come the box
    filter and the negative. The grey of jet does not rise with the level: the negative is 217 at level 0,
    29 at level 96 and 240 at level 255, so that what is bright afterwards is mostly *background*. Here to
    reproduce the scripts (`heatmap_to_segmentation.py`, commit 2a79492), not to be used.
    """
    levels = np.arange(256, dtype=np.uint8)[None]
    colours = cv2.applyColorMap(levels, cv2.COLORMAP_JET)
    # OpenCV's colours are blue, green, red; the scripts read them as red, green, blue
    shade_of_level = np.asarray(cv2.cvtColor(colours, cv2.COLOR_RGB2GRAY))
    shades = np.asarray(cv2.LUT(np.ascontiguousarray(grey), shade_of_level)).reshape(grey.shape)
    return 255 - box_filter(shades, size)
