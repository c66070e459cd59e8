"""Cluttered canvases with real handwritten digits on them: images, and the truth of every digit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from salstats.checks import check_choice

#: Shares of the digit images of each part; no image is in two of them.
PARTS = {"train": 0.55, "tune": 0.10, "test": 0.35}
_SPLIT_SEED = 1998


class DigitImages(NamedTuple):
    """Digit images of one part, ink from 0 to 16, which digit each is, and where scikit-learn has it."""

    images: np.ndarray
    digits: np.ndarray
    places: np.ndarray

    def of(self, digit: int) -> np.ndarray:
        """Images of one digit."""
        return self.images[self.digits == digit]


def load_parts() -> dict[str, DigitImages]:
    """1797 handwritten digits, divided into parts that share no image, every digit in the same shares.

    Alpaydin E, Kaynak C. Optical Recognition of Handwritten Digits. UCI Machine Learning Repository, 1998.
    https://doi.org/10.24432/C50P49 (CC BY 4.0). As `sklearn.datasets.load_digits` carries it: its test part,
    bitmaps of 32 x 32 counted in blocks of 4 x 4.
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    rng = np.random.default_rng(_SPLIT_SEED)
    part = np.empty(len(data.target), dtype=object)
    for digit in range(10):
        places = rng.permutation(np.flatnonzero(data.target == digit))
        ends = np.rint(np.cumsum(list(PARTS.values())) * len(places)).astype(int)
        for name, chunk in zip(PARTS, np.split(places, ends[:-1]), strict=True):
            part[chunk] = name
    return {
        name: DigitImages(data.images[part == name], data.target[part == name], np.flatnonzero(part == name))
        for name in PARTS
    }


#: Pixels on a side of a canvas.
SIDE = 64
#: Placements that are tried before a digit is left out.
_TRIES = 60
#: Share of its greatest value from which a pixel of an enlarged digit counts as ink.
INK = 0.4
#: A digit's truth reaches this many pixels beyond its ink, as an outline drawn around it would.
MARGIN = 1


@dataclass(frozen=True)
class Design:
    """Settings of the canvases of one data set."""

    name: str
    #: Fewest and most digits on a canvas.
    n_digits: tuple[int, int]
    #: Smallest and greatest height of a digit in pixels, before it is stretched and turned.
    size: tuple[float, float]
    #: Faintest and strongest ink; 1 is white.
    contrast: tuple[float, float]
    #: Standard deviation of the noise of single pixels.
    noise: float
    #: Range of a smooth, cloudy ground.
    texture: float
    #: Straight strokes, as thick as a pen's.
    n_strokes: int
    #: Corners of digits: true ink, which makes up no digit.
    n_fragments: int


#: The three data sets, the main one first.
DESIGNS = (
    Design("textured", (2, 4), (11, 27), (0.5, 1.0), noise=0.05, texture=0.5, n_strokes=3, n_fragments=3),
    Design("quiet", (2, 4), (11, 27), (0.5, 1.0), noise=0.05, texture=0.0, n_strokes=3, n_fragments=0),
    Design("crowded", (3, 5), (10, 22), (0.5, 1.0), noise=0.08, texture=0.15, n_strokes=5, n_fragments=8),
)
MAIN_DESIGN = DESIGNS[0].name


class Canvas(NamedTuple):
    """A case's image, uint8, and for every digit that is there the pixels of all its instances."""

    name: str
    image: np.ndarray
    truth: dict[int, np.ndarray]


def make_canvases(
    digits: DigitImages, design: str, n: int, *, rng: np.random.Generator, prefix: str = ""
) -> list[Canvas]:
    """N canvases of a design, with digits drawn from `digits` alone.

    The same generator gives the same canvases, pixel for pixel.
    """
    check_choice(design, [d.name for d in DESIGNS], "design")
    chosen = next(d for d in DESIGNS if d.name == design)
    return [_make_canvas(digits, chosen, rng, f"{prefix}{design}-{i:04d}") for i in range(n)]


def _make_canvas(digits: DigitImages, design: Design, rng: np.random.Generator, name: str) -> Canvas:
    """One canvas."""
    ground = _ground(design, rng)
    ink = np.zeros((SIDE, SIDE))
    taken = np.zeros((SIDE, SIDE), dtype=bool)
    truth: dict[int, np.ndarray] = {}
    for digit in _which(design, rng):
        drawn = _draw_digit(digits.of(digit), design, rng)
        at = _free_place(drawn.shape, taken, rng)
        if at is None:
            continue
        window = (slice(at[0], at[0] + drawn.shape[0]), slice(at[1], at[1] + drawn.shape[1]))
        shape = _outline(drawn)
        taken[window] |= ndimage.binary_dilation(shape, iterations=1)
        truth.setdefault(digit, np.zeros((SIDE, SIDE), dtype=bool))[window] |= shape
        ink[window] = np.maximum(ink[window], drawn * rng.uniform(*design.contrast))
    for _ in range(design.n_fragments):
        ink = np.maximum(ink, _fragment(digits, taken, design, rng))
    for _ in range(design.n_strokes):
        ink = np.maximum(ink, _stroke(taken, design, rng))
    image = ground + (1 - ground) * ink + rng.normal(0, design.noise, (SIDE, SIDE))
    return Canvas(name, np.rint(255 * image.clip(0, 1)).astype(np.uint8), truth)


def _which(design: Design, rng: np.random.Generator) -> list[int]:
    """Digits to place; on every fourth canvas one of them comes twice."""
    n = int(rng.integers(design.n_digits[0], design.n_digits[1] + 1))
    drawn = [int(d) for d in rng.choice(10, size=n, replace=False)]
    if rng.random() < 0.25:
        drawn[-1] = drawn[0]
    return drawn


def _draw_digit(images: np.ndarray, design: Design, rng: np.random.Generator) -> np.ndarray:
    """One digit's ink from 0 to 1: enlarged, stretched and turned, cut to what it covers."""
    image = images[rng.integers(len(images))] / 16.0
    height = rng.uniform(*design.size)
    # wide for its height and narrow are as likely, so that elongation has a range
    width = height * np.exp(rng.uniform(np.log(0.55), np.log(1.5)))
    angle = np.deg2rad(rng.uniform(-30, 30))
    return _warp(image, height, width, angle)


def _warp(image: np.ndarray, height: float, width: float, angle: float) -> np.ndarray:
    """An 8 x 8 digit of a given size and turn, by bilinear interpolation of doubled pixels."""
    # cubic splines of the 8 x 8 grid first: strokes of bilinear pixels look like stairs
    smooth = ndimage.zoom(image, 3, order=3, mode="grid-constant", grid_mode=True).clip(0, 1)
    cos, sin = np.cos(angle), np.sin(angle)
    side = int(np.ceil(np.hypot(height, width))) + 2
    scale = np.array([smooth.shape[0] / height, smooth.shape[1] / width])
    matrix = np.array([[cos, sin], [-sin, cos]]) * scale[:, None]
    centre, middle = (np.array(smooth.shape) - 1) / 2, np.full(2, (side - 1) / 2)
    # an image made smaller is averaged first, or thin strokes break
    blurred = ndimage.gaussian_filter(smooth, np.maximum(0, scale / 2 - 0.5), mode="constant")
    drawn = ndimage.affine_transform(
        blurred, matrix, centre - matrix @ middle, output_shape=(side, side), order=1, mode="constant"
    )
    drawn = drawn / drawn.max()
    rows, cols = np.nonzero(drawn >= INK)
    grown = slice(max(rows.min() - 2, 0), rows.max() + 3), slice(max(cols.min() - 2, 0), cols.max() + 3)
    return drawn[grown]


def _outline(drawn: np.ndarray) -> np.ndarray:
    """Return the truth of a digit: its ink and a margin, holes filled, in one piece."""
    shape = ndimage.binary_dilation(drawn >= INK, structure=np.ones((3, 3)), iterations=MARGIN)
    shape = ndimage.binary_fill_holes(shape)
    pieces, n = ndimage.label(shape, structure=np.ones((3, 3)))
    if n > 1:
        shape = pieces == 1 + np.argmax(np.bincount(pieces.ravel())[1:])
    return shape


def _free_place(shape: Sequence[int], taken: np.ndarray, rng: np.random.Generator) -> tuple[int, int] | None:
    """A corner where a box fits and meets no other digit, or None if none is found."""
    for _ in range(_TRIES):
        row, col = (int(rng.integers(0, SIDE - s + 1)) if s <= SIDE else -1 for s in shape)
        if min(row, col) >= 0 and not taken[row : row + shape[0], col : col + shape[1]].any():
            return row, col
    return None


def _ground(design: Design, rng: np.random.Generator) -> np.ndarray:
    """Ground: dark, and cloudy where the design says so."""
    ground = np.full((SIDE, SIDE), rng.uniform(0.05, 0.15))
    clouds = sum(
        weight * _unit(ndimage.gaussian_filter(rng.normal(size=(SIDE, SIDE)), width, mode="wrap"))
        for weight, width in ((0.6, 6.0), (0.4, 2.0))
    )
    return ground + design.texture * clouds


def _unit(values: np.ndarray) -> np.ndarray:
    """Values brought to 0 to 1."""
    return (values - values.min()) / (values.max() - values.min())


def _fragment(digits: DigitImages, taken: np.ndarray, design: Design, rng: np.random.Generator) -> np.ndarray:
    """A canvas with a corner of some digit where no digit is."""
    ink = np.zeros((SIDE, SIDE))
    image = digits.images[rng.integers(len(digits.images))]
    row, col = rng.integers(0, 2, size=2) * 4
    corner = np.zeros((8, 8))
    corner[2:6, 2:6] = image[row : row + 4, col : col + 4] / 16.0
    size = rng.uniform(design.size[0], design.size[1])
    angle = np.deg2rad(rng.uniform(0, 360))
    contrast = rng.uniform(*design.contrast)
    if corner.max() == 0:
        return ink
    drawn = _warp(corner, size, size, angle)
    at = _free_place(drawn.shape, taken, rng)
    if at is not None:
        ink[at[0] : at[0] + drawn.shape[0], at[1] : at[1] + drawn.shape[1]] = drawn * contrast
    return ink


def _stroke(taken: np.ndarray, design: Design, rng: np.random.Generator) -> np.ndarray:
    """A canvas with one straight stroke, which ends where a digit begins."""
    start = rng.uniform(0, SIDE, size=2)
    angle = rng.uniform(0, 2 * np.pi)
    length = rng.uniform(8, 24)
    half = rng.uniform(0.5, 1.2)
    contrast = rng.uniform(*design.contrast)
    rows, cols = np.mgrid[:SIDE, :SIDE]
    along = (rows - start[0]) * np.sin(angle) + (cols - start[1]) * np.cos(angle)
    across = (rows - start[0]) * np.cos(angle) - (cols - start[1]) * np.sin(angle)
    away = np.hypot(across, along - along.clip(0, length))
    return np.where(taken, 0.0, contrast * (half + 0.5 - away).clip(0, 1))
