"""Small pairs of masks, drawn here: apart, touching, overlapping, of several areas, whole and empty."""

import numpy as np


def boxes(*corners):
    """A mask of 24 x 40 pixels with a box for each (top, left, bottom, right)."""
    mask = np.zeros((24, 40), bool)
    for top, left, bottom, right in corners:
        mask[top:bottom, left:right] = True
    return mask


def mask_pairs():
    """Pairs of truth and mask by name, for what no other library has to confirm."""
    square, whole_image = (4, 4, 10, 10), (0, 0, 24, 40)
    return {
        "touching squares": (boxes(square), boxes((4, 10, 10, 16))),
        "wide boxes": (boxes((2, 3, 8, 30)), boxes((5, 6, 15, 36))),
        "two areas and one": (boxes(square, (14, 25, 20, 35)), boxes((2, 2, 12, 14))),
        "two areas each": (boxes(square, (14, 25, 20, 35)), boxes((3, 5, 12, 14), (16, 27, 19, 31))),
        "single pixels": (boxes((3, 3, 4, 4)), boxes((20, 30, 21, 31))),
        "whole image": (boxes(whole_image), boxes(whole_image)),
        "both empty": (boxes(), boxes()),
        "truth empty": (boxes(), boxes(square)),
        "without mask": (boxes(square), boxes()),
    }
