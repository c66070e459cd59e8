"""A simulated second annotator, who draws every digit again and misses some."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

#: Standard deviation of how far an outline is drawn off, in pixels along rows and columns.
SHIFT = 1.0
#: Chances that an outline is drawn one pixel too tight, as it is, or one pixel too wide.
WIDENING = {-1: 0.3, 0: 0.4, 1: 0.3}
#: Chance of missing a digit, for a large and for a small one.
MISSES = (0.02, 0.15)
#: Area in pixels from which a digit counts as large.
LARGE = 150


@dataclass(frozen=True)
class Drawn:
    """What the annotator made of one digit of a canvas.

    Attributes
    ----------
    mask : ndarray of bool, shape (M, N)
        Empty where every instance was missed.
    points : ndarray of float, shape (n, 2)
        (row, col) of one point for each instance that was seen.
    """

    mask: np.ndarray
    points: np.ndarray


def draw_again(truth: np.ndarray, rng: np.random.Generator) -> Drawn:
    """Return the annotation of a simulated person for the mask of one digit.

    Every instance is moved, drawn tighter or wider, or missed; the point lies near the middle of what was
    drawn. It is made from the truth and no person ever saw the canvas: it stands where a human benchmark
    would, and says nothing of people.

    Parameters
    ----------
    truth : ndarray of bool, shape (M, N)
    rng : Generator
    """
    pieces, n = ndimage.label(truth, structure=np.ones((3, 3)))
    mask = np.zeros_like(truth)
    points = []
    for piece in range(1, n + 1):
        own = pieces == piece
        # all numbers are drawn whether they are used or not: one instance does not change the next
        missed = rng.random() < MISSES[int(np.count_nonzero(own) < LARGE)]
        moved = np.rint(rng.normal(0, SHIFT, size=2)).astype(int)
        widened = rng.choice(list(WIDENING), p=list(WIDENING.values()))
        beside = np.rint(rng.normal(0, SHIFT, size=2))
        if missed:
            continue
        drawn = _widen(_shift(own, *moved), int(widened))
        mask |= drawn
        points.append(_middle(drawn) + beside)
    inside = np.clip(np.reshape(points, (-1, 2)), 0, np.array(truth.shape) - 1)
    return Drawn(mask, inside)


def _shift(mask: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """Return a mask moved by whole pixels; what leaves the canvas is cut off."""
    height, width = mask.shape
    moved = np.zeros_like(mask)
    moved[max(rows, 0) : height + min(rows, 0), max(cols, 0) : width + min(cols, 0)] = mask[
        max(-rows, 0) : height + min(-rows, 0), max(-cols, 0) : width + min(-cols, 0)
    ]
    return moved


def _widen(mask: np.ndarray, by: int) -> np.ndarray:
    """Return a mask one pixel wider or tighter; one that would vanish is left as it is."""
    if by > 0:
        return ndimage.binary_dilation(mask)
    tight = ndimage.binary_erosion(mask) if by < 0 else mask
    return tight if tight.any() else mask


def _middle(mask: np.ndarray) -> np.ndarray:
    """Return the (row, col) that lies deepest in a mask, the first of several."""
    depth = ndimage.distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]
    return np.array(np.unravel_index(np.argmax(depth), mask.shape), dtype=float)
