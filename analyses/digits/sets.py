"""The canvases that are scored, what is on them, and a simulated annotator, who draws every digit again."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from digits.canvases import DESIGNS, Canvas, load_parts, make_canvases
from salstats.explain.digits import N_DIGITS

#: Standard deviation of how far an outline is drawn off, in pixels along rows and columns.
SHIFT = 1.0
#: Chances that an outline is drawn one pixel too tight, as it is, or one pixel too wide.
WIDENING = {-1: 0.3, 0: 0.4, 1: 0.3}
#: Chance of missing a digit, for a large and for a small one.
MISSES = (0.02, 0.15)
#: Area in pixels from which a digit counts as large.
LARGE = 150


class Drawn(NamedTuple):
    """The annotator's mask of one digit, and (row, col) of a point for each instance that was seen."""

    mask: np.ndarray
    points: np.ndarray


def draw_again(truth: np.ndarray, rng: np.random.Generator) -> Drawn:
    """Annotation of a simulated person for the mask of one digit.

    Every instance is moved, drawn tighter or wider, or missed; the point lies near the middle of what was
    drawn. It is made from the truth and no person ever saw the canvas: it stands where a human benchmark
    would, and says nothing of people.
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
    """A mask moved by whole pixels; what leaves the canvas is cut off."""
    height, width = mask.shape
    moved = np.zeros_like(mask)
    moved[max(rows, 0) : height + min(rows, 0), max(cols, 0) : width + min(cols, 0)] = mask[
        max(-rows, 0) : height + min(-rows, 0), max(-cols, 0) : width + min(-cols, 0)
    ]
    return moved


def _widen(mask: np.ndarray, by: int) -> np.ndarray:
    """A mask one pixel wider or tighter; one that would vanish is left as it is."""
    if by > 0:
        return ndimage.binary_dilation(mask)
    tight = ndimage.binary_erosion(mask) if by < 0 else mask
    return tight if tight.any() else mask


def _middle(mask: np.ndarray) -> np.ndarray:
    """(row, col) that lies deepest in a mask, the first of several."""
    depth = ndimage.distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]
    return np.array(np.unravel_index(np.argmax(depth), mask.shape), dtype=float)


#: Tasks: the ten digits, so named that no file takes them for numbers.
TASKS = tuple(f"digit {d}" for d in range(N_DIGITS))
_TRAIN, _TEST, _ANNOTATOR = 1, 2, 3


class CanvasSet(NamedTuple):
    """One data set's test canvases."""

    design: str
    canvases: tuple[Canvas, ...]

    @property
    def keys(self) -> list[tuple[str, str]]:
        """Case and task of every digit that is there, by canvas and digit."""
        return [(c.name, TASKS[d]) for c in self.canvases for d in sorted(c.truth)]

    @property
    def truth(self) -> dict[tuple[str, str], np.ndarray]:
        """The masks, by case and task."""
        return {(c.name, TASKS[d]): c.truth[d] for c in self.canvases for d in sorted(c.truth)}

    @property
    def images(self) -> np.ndarray:
        """Return the input of a network, once per canvas: float32, (n_canvases, 1, 64, 64)."""
        stack = np.stack([c.image for c in self.canvases])[:, None]
        return (stack / np.float32(255)).astype(np.float32)

    @property
    def asked(self) -> tuple[np.ndarray, np.ndarray]:
        """Images and network outputs, once for every key."""
        places = [i for i, c in enumerate(self.canvases) for _ in c.truth]
        targets = [d for c in self.canvases for d in sorted(c.truth)]
        return self.images[places], np.array(targets)

    @property
    def labels(self) -> np.ndarray:
        """Return whether each digit is on each canvas: (n_canvases, 10)."""
        return np.array([[d in c.truth for d in range(N_DIGITS)] for c in self.canvases])

    def annotations(self) -> dict[tuple[str, str], Drawn]:
        """Draw the masks and points of the simulated annotator, by case and task."""
        place = [d.name for d in DESIGNS].index(self.design)
        rng = np.random.default_rng([_ANNOTATOR, place])
        return {key: draw_again(mask, rng) for key, mask in self.truth.items()}

    def some(self, names: Sequence[str]) -> "CanvasSet":
        """Canvases of these names only."""
        return CanvasSet(self.design, tuple(c for c in self.canvases if c.name in names))


@cache
def make_test_set(design: str, n: int) -> CanvasSet:
    """N canvases of a design with digits that no network was trained on."""
    rng = np.random.default_rng([_TEST, [d.name for d in DESIGNS].index(design)])
    return CanvasSet(design, tuple(make_canvases(load_parts()["test"], design, n, rng=rng)))


@cache
def make_training_canvases(n: int) -> tuple[Canvas, ...]:
    """N canvases of every design for training, the same for all networks."""
    digits = load_parts()["train"]
    made: list[Canvas] = []
    for place, design in enumerate(DESIGNS):
        rng = np.random.default_rng([_TRAIN, place])
        made += make_canvases(digits, design.name, n, rng=rng, prefix="train-")
    return tuple(made)
