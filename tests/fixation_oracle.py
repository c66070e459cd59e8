"""The fixation oracle's images: a map each, fixations, and what is compared with them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from tests_support import exact_csv

#: Images whose map is constant; pysaliency scores them.
CONSTANT = ("constant_half", "all_zero")


@dataclass(frozen=True)
class Image:
    """`points` and `others` (fixations of the other images, in this one's pixels) are (row, col)."""

    number: int
    name: str
    saliency: np.ndarray
    points: np.ndarray
    others: np.ndarray
    target: np.ndarray
    baseline: np.ndarray


def images(shared: Path) -> list[Image]:
    """The oracle's ten images."""
    inputs = shared / "oracles" / "fixation" / "inputs"
    fixations, others = (exact_csv(inputs / name) for name in ("fixations.csv", "shuffled_nonfixations.csv"))
    with np.load(inputs / "maps.npz") as maps, np.load(inputs / "derived.npz") as derived:
        return [
            Image(
                number,
                name,
                maps[f"map_{number}"],
                fixations.loc[fixations["image"] == number, ["y", "x"]].to_numpy(),
                others.loc[others["image"] == number, ["y", "x"]].to_numpy(),
                derived[f"target_{number}"],
                derived[f"baseline_{number}"],
            )
            for number, name in pd.read_csv(inputs / "images.csv")[["image", "name"]].itertuples(index=False)
        ]


def expected(shared: Path, file: str) -> pd.DataFrame:
    """One of the oracle's tables of results, by image."""
    return exact_csv(shared / "oracles" / "fixation" / "expected" / file).set_index("image")
