"""The canvases that are scored, what is on them, and the simulated annotator's answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from salstats.explain.digits.annotator import Drawn, draw_again
from salstats.explain.digits.canvases import DESIGNS, Canvas, make_canvases
from salstats.explain.digits.digit_images import load_parts
from salstats.explain.digits.networks import N_DIGITS, as_input

#: Tasks: the ten digits, so named that no file takes them for numbers.
TASKS = tuple(f"digit {d}" for d in range(N_DIGITS))
_TRAIN, _TEST, _ANNOTATOR = 1, 2, 3


@dataclass(frozen=True)
class CanvasSet:
    """One data set's test canvases.

    Attributes
    ----------
    design : str
    canvases : tuple of Canvas
    """

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
        """What a network takes, once per canvas: float32, (n_canvases, 1, 64, 64)."""
        return as_input(np.stack([c.image for c in self.canvases]))

    @property
    def asked(self) -> tuple[np.ndarray, np.ndarray]:
        """Images and network outputs, once for every key."""
        places = [i for i, c in enumerate(self.canvases) for _ in c.truth]
        targets = [d for c in self.canvases for d in sorted(c.truth)]
        return self.images[places], np.array(targets)

    @property
    def labels(self) -> np.ndarray:
        """Whether a digit is there: (n_canvases, 10)."""
        return np.array([[d in c.truth for d in range(N_DIGITS)] for c in self.canvases])

    def annotations(self) -> dict[tuple[str, str], Drawn]:
        """Return what the simulated annotator drew, by case and task."""
        place = [d.name for d in DESIGNS].index(self.design)
        rng = np.random.default_rng([_ANNOTATOR, place])
        return {key: draw_again(mask, rng) for key, mask in self.truth.items()}

    def some(self, names: Sequence[str]) -> "CanvasSet":
        """Return the canvases of these names only."""
        return CanvasSet(self.design, tuple(c for c in self.canvases if c.name in names))


@cache
def make_test_set(design: str, n: int) -> CanvasSet:
    """Return n canvases of a design with digits that no network was trained on."""
    rng = np.random.default_rng([_TEST, [d.name for d in DESIGNS].index(design)])
    return CanvasSet(design, tuple(make_canvases(load_parts()["test"], design, n, rng=rng)))


@cache
def make_training_canvases(n: int) -> tuple[Canvas, ...]:
    """Return n canvases of every design for training, the same for all networks."""
    digits = load_parts()["train"]
    made: list[Canvas] = []
    for place, design in enumerate(DESIGNS):
        rng = np.random.default_rng([_TRAIN, place])
        made += make_canvases(digits, design.name, n, rng=rng, prefix="train-")
    return tuple(made)
